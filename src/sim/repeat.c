/* SPDX-License-Identifier: Apache-2.0
 *
 * When does a loop do the same again? From its text:
 *
 * Every expression has a period and a step (kernel/affine_step.h). The period of a loop makes all
 * indices of its body move by a constant, rings come round, and parts of tiles stay where they
 * are. Slots of a tensor without a ring may move on, if all accesses move alike and nothing
 * outside of the loop reads or writes them.
 *
 * Conditions may change once (i > 0, i + 1 < N): spad__period_reach bounds them with
 * intervals and says how far they stay as they are.
 */
#include "base/assert.h"
#include "base/checked.h"
#include "kernel/affine_step.h"
#include "kernel/kernel.h"
#include "sim/sim.h"

/* How an expression moves with a loop. Other loops restart, or stand still around it. */
static bool find_motion(const spad_kernel *kernel, spad_expr expr, int64_t loop,
                        spad__affine_step *out) {
    const spad__moves moves = {.kernel = kernel, .param = -1, .loop = loop, .loop_step = 1};
    return spad__affine_step_of(&moves, expr, out) == SPAD__EVEN;
}

/* ---- the body of a loop ------------------------------------------------------------ */

typedef struct study {
    const spad_kernel *kernel;
    int64_t loop;
    size_t first; /* statements of the body */
    size_t end;
    int64_t period;
    bool planned; /* auto tensors on chip have addresses, too */
    bool settled; /* the period holds for all expressions: rings and shifts are examined */
    spad__period *out;
} study;

/* The step of an expression in one period of the study; before it is settled, its period
 * becomes part of that of the study. */
static bool step_of(study *s, spad_expr expr, int64_t *step) {
    spad__affine_step m;
    *step = 0;
    if (!find_motion(s->kernel, expr, s->loop, &m)) return false;
    if (s->settled) return spad__mul(m.step, s->period / m.period, step);
    return spad__lcm(s->period, m.period, &s->period) && s->period <= SPAD__PERIOD_MAX;
}

static bool does_not_move(study *s, spad_expr expr) {
    int64_t step;
    return step_of(s, expr, &step) && step == 0;
}

/* How the slot of an access moves. *factor: what the period must be multiplied with. */
static bool slot_step(const study *s, const spad_kernel_tensor *t, const int64_t *steps,
                      int64_t tile, int64_t *factor, int64_t *shift) {
    const spad__moves moves = {.kernel = s->kernel, .param = -1, .loop = s->loop};
    int64_t rounds;
    *shift = 0;
    switch (spad__tile_return(&moves, t, steps, &rounds)) {
    case SPAD__RETURNS: return spad__lcm(*factor, rounds, factor);
    case SPAD__TOO_FAR: return false;
    case SPAD__MOVES_ON: break;
    }
    *shift = tile;
    return t->mode == SPAD_MODE_AUTO || tile == 0;
}

static bool index_steps(study *s, const spad_kernel_access *a, int64_t *steps) {
    for (size_t i = 0; i < a->index_count; i++) {
        if (!step_of(s, a->index[i], &steps[i])) return false;
    }
    return true;
}

static bool is_touched_outside(const study *s, int64_t home, unsigned kind) {
    for (size_t i = 0; i < s->kernel->statements.count; i++) {
        const spad_statement *st = &s->kernel->statements.items[i];
        if (i >= s->first && i < s->end) continue;
        for (size_t k = 0; k < st->access_count; k++) {
            const spad_kernel_access *a = &s->kernel->accesses.items[st->first_access + k];
            const bool same = s->kernel->tensors.items[a->tensor].home == home;
            if (same && (a->kind & kind) != 0) return true;
        }
    }
    return false;
}

static bool is_read(const study *s, int64_t home) {
    for (size_t i = 0; i < s->kernel->accesses.count; i++) {
        const spad_kernel_access *a = &s->kernel->accesses.items[i];
        if (s->kernel->tensors.items[a->tensor].home == home && (a->kind & SPAD_ACCESS_READ) != 0) {
            return true;
        }
    }
    return false;
}

/* Does a tensor have an address, so that another may have the same bytes? */
static bool has_address(const study *s, const spad_kernel_tensor *t) {
    const bool off_chip = s->kernel->target->spaces[t->space].off_chip;
    return t->mode != SPAD_MODE_AUTO || (s->planned && !off_chip);
}

/* May slots of this tensor move on? All accesses alike, and none outside that would meet them. */
static bool note_shift(study *s, const spad_kernel_tensor *t, int64_t shift, bool *seen) {
    int64_t *kept = &s->out->shifts[t->home];
    if (seen[t->home]) return *kept == shift;
    seen[t->home] = true;
    *kept = shift;
    const spad_kernel_tensor *home = &s->kernel->tensors.items[t->home];
    if (shift == 0) return true;
    return !has_address(s, home) &&
           (!is_read(s, t->home) || !is_touched_outside(s, t->home, SPAD_ACCESS_UPDATE));
}

/* A part that moves in a tile keeps its size, and so its cost. */
static bool keeps_size(study *s, const spad_kernel_access *a) {
    for (size_t i = 0; i < a->range_count; i++) {
        int64_t from;
        int64_t to;
        if (a->ranges[i].to == 0) continue;
        if (!step_of(s, a->ranges[i].from, &from) || !step_of(s, a->ranges[i].to, &to)) {
            return false;
        }
        if (from != to) return false;
    }
    return true;
}

static bool study_access(study *s, const spad_kernel_access *a, int64_t *factor, bool *seen) {
    const spad_kernel_tensor *t = &s->kernel->tensors.items[a->tensor];
    int64_t steps[SPAD_RANK_MAX] = {0};
    int64_t tile;
    int64_t shift;
    if (!s->out->written[t->home]) return keeps_size(s, a); /* nothing waits for its readers */
    if (!index_steps(s, a, steps) || !spad__tile_step(t, steps, &tile)) return false;
    for (size_t i = 0; i < a->range_count; i++) {
        if (!does_not_move(s, a->ranges[i].from) || !does_not_move(s, a->ranges[i].to))
            return false;
    }
    if (!s->settled || !slot_step(s, t, steps, tile, factor, &shift)) return !s->settled;
    return seen == NULL || note_shift(s, t, shift, seen);
}

static bool is_scoped(const study *s, const spad_statement *st) {
    if (st->kind == SPAD_STATEMENT_SCOPE || st->kind == SPAD_STATEMENT_SECTION) return true;
    if (st->kind != SPAD_STATEMENT_TENSOR && st->kind != SPAD_STATEMENT_FREE) return false;
    const spad_mode mode = s->kernel->tensors.items[st->item].mode;
    return mode == SPAD_MODE_STACK || mode == SPAD_MODE_HEAP;
}

static bool study_statement(study *s, const spad_statement *st, int64_t *factor, bool *seen) {
    int64_t step;
    if (is_scoped(s, st)) return false;
    if (st->kind == SPAD_STATEMENT_BREAK) return false;
    if ((st->flags & SPAD_SYNC_NEXT) != 0 && st->amount == 0) return false; /* as with cursors */
    if (st->kind == SPAD_STATEMENT_CURSOR || st->kind == SPAD_STATEMENT_ADVANCE) {
        return s->kernel->cursors.items[st->item].even; /* otherwise a jump would not advance it */
    }
    for (size_t i = 0; i < st->index_count; i++) {
        if (st->kind != SPAD_STATEMENT_ALLOC && st->kind != SPAD_STATEMENT_FREE &&
            !does_not_move(s, st->index[i])) {
            return false;
        }
    }
    if (st->kind != SPAD_STATEMENT_SCOPE && !does_not_move(s, st->amount)) return false;
    if (!does_not_move(s, st->expect) || !does_not_move(s, st->cost)) return false;
    for (size_t i = 0; i < st->comparison_count; i++) {
        if (!step_of(s, st->comparisons[i].left, &step) ||
            !step_of(s, st->comparisons[i].right, &step)) {
            return false;
        }
    }
    for (size_t i = 0; i < st->completion_count; i++) {
        const spad_kernel_completion *c = &s->kernel->completions.items[st->first_completion + i];
        if (!does_not_move(s, c->amount)) return false;
        for (size_t k = 0; k < c->index_count; k++) {
            if (!does_not_move(s, c->index[k])) return false;
        }
    }
    for (size_t i = 0; i < st->access_count; i++) {
        const spad_kernel_access *a = &s->kernel->accesses.items[st->first_access + i];
        if (!study_access(s, a, factor, seen)) return false;
    }
    return true;
}

static bool study_body(study *s, int64_t *factor, bool *seen) {
    *factor = 1;
    for (size_t i = s->first; i < s->end; i++) {
        if (!study_statement(s, &s->kernel->statements.items[i], factor, seen)) return false;
    }
    return true;
}

/* Homes that the loop writes. One with an address counts as written if any of its space is. */
static void find_written(study *s) {
    bool spaces[SPAD_SPACES_MAX] = {false};
    for (size_t i = s->first; i < s->end; i++) {
        const spad_statement *st = &s->kernel->statements.items[i];
        for (size_t k = 0; k < st->access_count; k++) {
            const spad_kernel_access *a = &s->kernel->accesses.items[st->first_access + k];
            if ((a->kind & SPAD_ACCESS_WRITE) == 0) continue;
            const spad_kernel_tensor *t =
                &s->kernel->tensors.items[s->kernel->tensors.items[a->tensor].home];
            s->out->written[t->home] = true;
            if (has_address(s, t)) spaces[t->space] = true;
        }
    }
    for (size_t i = 0; i < s->kernel->tensors.count; i++) {
        const spad_kernel_tensor *t = &s->kernel->tensors.items[i];
        if (t->home == (int64_t)i && has_address(s, t) && spaces[t->space]) {
            s->out->written[i] = true;
        }
    }
}

/* Three looks: periods of all expressions; what rings need on top; how slots move. */
static bool find_period(study *s, bool *seen) {
    int64_t factor;
    if (!study_body(s, &factor, NULL)) return false;
    s->settled = true;
    if (!study_body(s, &factor, NULL)) return false;
    if (!spad__mul(s->period, factor, &s->period) || s->period > SPAD__PERIOD_MAX) return false;
    return study_body(s, &factor, seen) && factor == 1;
}

bool spad__period_of(spad__period *out, const spad_host *host, const spad_kernel *kernel,
                     int64_t loop, spad__bytes_mode bytes) {
    const size_t tensors = kernel->tensors.count;
    const size_t statement = kernel->loops.items[loop].statement;
    *out = (spad__period){.period = 1};
    out->shifts = spad__new_array(host, tensors + 1, sizeof *out->shifts);
    out->written = spad__new_array(host, tensors + 1, sizeof *out->written);
    bool *seen = spad__new_array(host, tensors + 1, sizeof *seen);
    const bool fine = out->shifts != NULL && out->written != NULL && seen != NULL;
    if (fine) {
        study s = {.kernel = kernel,
                   .loop = loop,
                   .first = statement + 1,
                   .end = kernel->statements.items[statement].end,
                   .period = 1,
                   .planned = bytes == SPAD__BYTES_PLANNED,
                   .out = out};
        if (bytes != SPAD__BYTES_IGNORED) find_written(&s);
        out->repeats = find_period(&s, seen);
        out->period = s.period;
    }
    spad__free(host, seen, (tensors + 1) * sizeof *seen);
    if (!fine) spad__period_free(out, host, kernel);
    return fine;
}

void spad__period_free(spad__period *period, const spad_host *host, const spad_kernel *kernel) {
    const size_t tensors = kernel->tensors.count;
    spad__free(host, period->shifts, (tensors + 1) * sizeof *period->shifts);
    spad__free(host, period->written, (tensors + 1) * sizeof *period->written);
    *period = (spad__period){0};
}

/* ---- conditions -------------------------------------------------------------------- */

typedef struct value_range {
    int64_t low;
    int64_t high;
} value_range;

typedef struct box {
    const spad_kernel *kernel;
    const int64_t *values; /* of the loops around */
    int64_t loop;
    value_range own; /* values of that loop */
    size_t body;     /* its statements */
    size_t end;
} box;

static value_range range_of_loop(const box *b, int64_t loop) {
    const spad_kernel_loop *l = &b->kernel->loops.items[loop];
    if (loop == b->loop) return b->own;
    if (l->statement < b->body || l->statement >= b->end) {
        return (value_range){b->values[loop], b->values[loop]};
    }
    return (value_range){l->begin.value, spad__max(l->end.value - 1, l->begin.value)};
}

static value_range multiply(value_range a, value_range b) {
    const int64_t p[4] = {a.low * b.low, a.low * b.high, a.high * b.low, a.high * b.high};
    value_range r = {p[0], p[0]};
    for (int i = 1; i < 4; i++) {
        r.low = spad__min(r.low, p[i]);
        r.high = spad__max(r.high, p[i]);
    }
    return r;
}

/* Bounds of an expression in the box. The builder has seen to it that nothing overflows on
 * larger ranges than these. What has the place of a cursor in it does not move evenly, and a loop
 * with such a condition has no period. */
static value_range range_of(const box *b, spad_expr expr) {
    const spad_expr_info info = spad_kernel_get_expr(b->kernel, expr);
    value_range stack[SPAD_EXPR_MAX] SPAD__FILLED_BY_LOOP;
    size_t top = 0;
    for (size_t i = 0; i < info.node_count; i++) {
        const spad_expr_node *node = &info.nodes[i];
        spad__assert(node->op != SPAD_EXPR_STAGE && node->op != SPAD_EXPR_PHASE);
        if (node->op == SPAD_EXPR_NUMBER) {
            stack[top++] = (value_range){node->value, node->value};
        } else if (node->op == SPAD_EXPR_PARAM) {
            const int64_t value = b->kernel->params.items[node->value].value;
            stack[top++] = (value_range){value, value};
        } else if (node->op == SPAD_EXPR_VARIABLE) {
            stack[top++] = range_of_loop(b, node->value);
        } else if (node->op == SPAD_EXPR_UNKNOWN) {
            const spad_kernel_unknown *u = &b->kernel->unknowns.items[node->value];
            stack[top - 1] = (value_range){u->least.value, u->end.value - 1};
        } else if (node->op == SPAD_EXPR_NEGATE) {
            stack[top - 1] = (value_range){-stack[top - 1].high, -stack[top - 1].low};
        } else {
            const value_range right = stack[--top];
            value_range *left = &stack[top - 1];
            switch (node->op) {
            case SPAD_EXPR_ADD:
                *left = (value_range){left->low + right.low, left->high + right.high};
                break;
            case SPAD_EXPR_SUB:
                *left = (value_range){left->low - right.high, left->high - right.low};
                break;
            case SPAD_EXPR_MUL: *left = multiply(*left, right); break;
            case SPAD_EXPR_SMALLER:
                *left = (value_range){spad__min(left->low, right.low),
                                      spad__min(left->high, right.high)};
                break;
            case SPAD_EXPR_LARGER:
                *left = (value_range){spad__max(left->low, right.low),
                                      spad__max(left->high, right.high)};
                break;
            case SPAD_EXPR_DIV:
                *left = (value_range){spad__floor_div(left->low, right.low),
                                      spad__floor_div(left->high, right.low)};
                break;
            default: {
                const int64_t low = spad__floor_div(left->low, right.low);
                const bool one = low == spad__floor_div(left->high, right.low);
                *left =
                    one ? (value_range){left->low - low * right.low, left->high - low * right.low}
                        : (value_range){0, right.low - 1};
                break;
            }
            }
        }
    }
    return stack[0];
}

/* Does a comparison have the same answer everywhere in the box? */
static bool is_decided(const box *b, const spad_comparison *c) {
    const value_range l = range_of(b, c->left);
    const value_range r = range_of(b, c->right);
    switch (c->relation) {
    case SPAD_EQUAL:
    case SPAD_NOT_EQUAL:
        return l.high < r.low || r.high < l.low ||
               (l.low == l.high && r.low == r.high && l.low == r.low);
    case SPAD_LESS:
    case SPAD_GREATER_EQUAL: return l.high < r.low || l.low >= r.high;
    default: return l.high <= r.low || l.low > r.high;
    }
}

/* Comparisons whose two sides move alike need not be decided: they repeat. */
static bool repeats(const box *b, const spad_comparison *c) {
    spad__affine_step left;
    spad__affine_step right;
    return find_motion(b->kernel, c->left, b->loop, &left) &&
           find_motion(b->kernel, c->right, b->loop, &right) &&
           spad__affine_step_alike(&left, &right);
}

static bool all_decided(const box *b) {
    for (size_t i = b->body; i < b->end; i++) {
        const spad_statement *st = &b->kernel->statements.items[i];
        for (size_t k = 0; k < st->comparison_count; k++) {
            if (!repeats(b, &st->comparisons[k]) && !is_decided(b, &st->comparisons[k])) {
                return false;
            }
        }
    }
    return true;
}

int64_t spad__period_reach(const spad__period *period, const spad_kernel *kernel, int64_t loop,
                           const int64_t *values, int64_t from, int64_t to) {
    const size_t statement = kernel->loops.items[loop].statement;
    box b = {.kernel = kernel,
             .values = values,
             .loop = loop,
             .own = {from, 0},
             .body = statement + 1,
             .end = kernel->statements.items[statement].end};
    /* The last value must still come, for the walk to continue from there. */
    int64_t high = (kernel->loops.items[loop].end.value - 1 - to) / period->period;
    int64_t low = 0;
    while (low < high) {
        const int64_t middle = low + (high - low + 1) / 2;
        b.own.high = to + middle * period->period - 1;
        if (all_decided(&b)) {
            low = middle;
        } else {
            high = middle - 1;
        }
    }
    return low;
}
