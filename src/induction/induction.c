/* SPDX-License-Identifier: Apache-2.0
 *
 * Shifts of expressions, and which of them a trip count allows.
 *
 * The shift of an expression is its change when the parameter, or the variable of
 * a growing loop, advances by one step (kernel/affine_step.h). Where an expression repeats only
 * after several steps, the step is multiplied by that number and everything is examined again. So
 * the step ends as the least common multiple of all divisors.
 */
#include "induction/induction.h"

#include <string.h>

#include "base/checked.h"
#include "kernel/kernel.h"

/* A period beyond this is not worth its runs. */
enum { STEP_MAX = 4096 };

typedef struct probe {
    spad__induction *induction;
    const spad_kernel *kernel;
    int64_t factor; /* > 1: the step must be raised by it */
    bool noted;     /* what shifts rely on goes into the induction */
} probe;

/* Which values move on: the parameter, the variable of a loop, or both. */
typedef struct probed_step {
    bool param;
    int64_t loop; /* -1: none */
} probed_step;

/* Keeps the first reason. `name` may be NULL. */
static bool refuse(probe *l, spad__refusal_kind kind, const char *name) {
    spad__refusal *refusal = &l->induction->refusal;
    if (refusal->kind == SPAD__NOT_REFUSED) *refusal = (spad__refusal){.kind = kind, .name = name};
    return false;
}

static spad__moves moves_of(const probe *l, probed_step moves) {
    return spad__induction_moves(l->induction, l->kernel, moves.param, moves.loop,
                                 l->noted ? l->induction->relies : NULL);
}

/* ---- shifts of expressions --------------------------------------------------------- */

/* The change of an expression in a step; it may depend on loops that do not grow. False: it
 * has none (refused), or the step is raised. */
static bool affine_of(probe *l, spad_expr expr, probed_step moves, spad__affine *out) {
    const spad__moves all = moves_of(l, moves);
    int64_t period;
    bool divides;
    const spad__evenness even = spad__affine_of(&all, expr, out, &period, &divides);
    if (divides && moves.param && moves.loop < 0) l->induction->rests = true;
    if (even == SPAD__UNEVEN) return refuse(l, SPAD__REFUSED_UNEVEN, NULL);
    l->factor = even == SPAD__TOO_LONG ? INT64_MAX : period;
    return l->factor == 1;
}

/* The same for a change that is a number. */
static bool shift_of(probe *l, spad_expr expr, probed_step moves, int64_t *out) {
    spad__affine affine;
    if (!affine_of(l, expr, moves, &affine)) return false;
    *out = affine.constant;
    if (affine.count > 0) return refuse(l, SPAD__REFUSED_UNEVEN, NULL);
    return true;
}

/* ---- declarations ------------------------------------------------------------------ */

/* A number that may not change when the parameter grows. */
static bool require_same(probe *l, spad_amount amount, const char *name) {
    int64_t shift;
    if (!shift_of(l, amount.expr, (probed_step){true, -1}, &shift)) return false;
    if (shift != 0) return refuse(l, SPAD__REFUSED_SIZE, name);
    return true;
}

/* The same for amounts that are not sizes: other values of the parameter are worth a try. */
static bool require_unmoved(probe *l, spad_amount amount, const char *name) {
    if (require_same(l, amount, name)) return true;
    spad__refusal *refusal = &l->induction->refusal;
    if (refusal->kind == SPAD__REFUSED_SIZE) refusal->kind = SPAD__REFUSED_CHANGES;
    return false;
}

static bool require_same_list(probe *l, spad_amounts list, const char *name) {
    for (size_t i = 0; i < list.count; i++) {
        if (!require_same(l, list.items[i], name)) return false;
    }
    return true;
}

/* What is in an input before the start would change if it grew. */
static bool probe_input(probe *l, const spad_kernel_tensor *t) {
    const bool off_chip = spad_kernel_get_target(l->kernel)->spaces[t->space].off_chip;
    const bool shared = !off_chip || t->mode != SPAD_MODE_AUTO || t->ring.count > 0;
    if ((t->flags & SPAD_TENSOR_INPUT) == 0 || !shared) return true;
    for (size_t i = 0; i < t->blocks.count; i++) {
        int64_t grows;
        if (!shift_of(l, t->blocks.items[i].expr, (probed_step){true, -1}, &grows)) return false;
        if (grows != 0) return refuse(l, SPAD__REFUSED_MORE_INPUT, t->name);
    }
    return true;
}

/* Only the first block dimension of a tensor may grow, so that tiles keep their numbers;
 * where numbers do not count, any. */
static bool probe_tensor(probe *l, size_t number) {
    const spad_kernel_tensor *t = spad_kernel_get_tensor(l->kernel, number);
    const spad_amount plain[] = {t->byte, t->lane, t->bank, t->step, t->align};
    const spad_amounts lists[] = {t->dims, t->ring, t->steps, t->free, t->par, t->banks};
    for (size_t i = 0; i < sizeof plain / sizeof plain[0]; i++) {
        if (!require_same(l, plain[i], t->name)) return false;
    }
    if (!probe_input(l, t)) return false;
    const bool by_index = t->ring.count > 1 || t->mode == SPAD_MODE_MOD;
    for (size_t i = 1; l->induction->tracked[number] && !by_index && i < t->blocks.count; i++) {
        const spad_amount extent = t->blocks.items[i];
        const bool same_slots = t->ring.count > 0; /* which hold other tiles */
        if (same_slots ? !require_unmoved(l, extent, t->name) : !require_same(l, extent, t->name)) {
            return false;
        }
    }
    for (size_t i = 0; i < sizeof lists / sizeof lists[0]; i++) {
        if (!require_same_list(l, lists[i], t->name)) return false;
    }
    return true;
}

static bool probe_params(probe *l) {
    for (size_t i = 0; i < spad_kernel_param_count(l->kernel); i++) {
        const spad_kernel_param *param = spad_kernel_get_param(l->kernel, i);
        int64_t shift;
        if (i == l->induction->param) continue;
        if (!shift_of(l, param->preset.expr, (probed_step){true, -1}, &shift)) return false;
        if (shift != 0) return refuse(l, SPAD__REFUSED_FOLLOWED, param->name);
    }
    return true;
}

static bool probe_syncs(probe *l) {
    for (size_t i = 0; i < spad_kernel_sync_count(l->kernel); i++) {
        const spad_kernel_sync *sync = spad_kernel_get_sync(l->kernel, i);
        if (!require_same_list(l, sync->dims, sync->name) ||
            !require_same(l, sync->count, sync->name) ||
            (sync->placed && !require_same(l, sync->byte, sync->name))) {
            return false;
        }
    }
    return true;
}

static bool probe_declarations(probe *l) {
    const spad_kernel *kernel = l->kernel;
    if (!probe_params(l)) return false;
    for (size_t i = 0; i < spad_kernel_tensor_count(kernel); i++) {
        if (!probe_tensor(l, i)) return false;
    }
    for (size_t i = 0; i < spad_kernel_region_count(kernel); i++) {
        const spad_kernel_region *region = spad_kernel_get_region(kernel, i);
        if (!require_same(l, region->lower, "region") ||
            !require_same(l, region->upper, "region")) {
            return false;
        }
    }
    for (size_t i = 0; i < spad_kernel_agent_count(kernel); i++) {
        const spad_kernel_agent *agent = spad_kernel_get_agent(kernel, i);
        if (!require_same(l, agent->threads, agent->name) ||
            !require_same(l, agent->registers, agent->name)) {
            return false;
        }
    }
    for (size_t i = 0; i < spad_kernel_unknown_count(kernel); i++) {
        const spad_kernel_unknown *unknown = spad_kernel_get_unknown(kernel, i);
        if (!require_same_list(l, unknown->dims, unknown->name) ||
            !require_same(l, unknown->least, unknown->name) ||
            !require_same(l, unknown->end, unknown->name)) {
            return false;
        }
    }
    return probe_syncs(l);
}

/* ---- loops ------------------------------------------------------------------------- */

static bool probe_loop(probe *l, size_t number, size_t *main_groups, bool *agents) {
    spad__induction *g = l->induction;
    const spad_kernel_loop *loop = spad_kernel_get_loop(l->kernel, number);
    if (!require_unmoved(l, loop->begin, loop->name)) return false;
    if (g->cut_loops != NULL) {
        g->extra[number] = g->cut_loops[number] ? g->step : 0;
    } else if (!shift_of(l, loop->end.expr, (probed_step){true, -1}, &g->extra[number])) {
        return false;
    }
    g->group[number] = -1;
    if (g->extra[number] == 0) return true;
    if (g->extra[number] < 0) return refuse(l, SPAD__REFUSED_SHORTER, loop->name);
    for (int64_t outer = loop->outer; outer >= 0;
         outer = spad_kernel_get_loop(l->kernel, (size_t)outer)->outer) {
        if (g->extra[outer] != 0) {
            return refuse(l, SPAD__REFUSED_NESTED, loop->name);
        }
    }
    const spad_statement *statement = spad_kernel_get_statement(l->kernel, loop->statement);
    if (statement->agent == 0) {
        g->group[number] = (int32_t)(*main_groups)++;
    } else {
        *agents = true;
        g->group[number] = INT32_MAX; /* the last group; numbered when all are known */
    }
    return true;
}

static bool look_at_loops(probe *l) {
    spad__induction *g = l->induction;
    const size_t count = spad_kernel_loop_count(l->kernel);
    size_t main_groups = 0;
    bool agents = false;
    for (size_t i = 0; i < count; i++) {
        if (!probe_loop(l, i, &main_groups, &agents)) return false;
    }
    for (size_t i = 0; i < count; i++) {
        if (g->group[i] == INT32_MAX) g->group[i] = (int32_t)main_groups;
    }
    g->groups = main_groups + agents;
    if (g->groups == 0) return refuse(l, SPAD__REFUSED_NO_LOOP, NULL);
    return true;
}

static void find_growing_loops_around(probe *l) {
    spad__induction *g = l->induction;
    for (size_t s = 0; s < spad_kernel_statement_count(l->kernel); s++) {
        int64_t loop = spad_kernel_get_statement(l->kernel, s)->loop;
        while (loop >= 0 && g->extra[loop] == 0) {
            loop = spad_kernel_get_loop(l->kernel, (size_t)loop)->outer;
        }
        g->inside[s] = (int32_t)loop;
    }
}

/* ---- statements -------------------------------------------------------------------- */

/* An expression that must be the same in every period and for every value of the parameter. */
static bool require_still(probe *l, size_t statement, spad_expr expr) {
    int64_t shift;
    const int64_t loop = l->induction->inside[statement];
    if (!shift_of(l, expr, (probed_step){true, -1}, &shift)) return false;
    if (shift == 0 && !shift_of(l, expr, (probed_step){false, loop}, &shift)) return false;
    if (shift != 0) return refuse(l, SPAD__REFUSED_AMOUNT, NULL);
    return true;
}

/* How the statement relates to a group of growing loops. */
typedef struct use {
    bool in;
    bool before; /* in the text, and no loop comes back to it */
} use;

static use use_of(const probe *l, size_t statement, size_t group) {
    const spad__induction *g = l->induction;
    const int64_t inside = g->inside[statement];
    const int64_t agent = spad_kernel_get_statement(l->kernel, statement)->agent;
    use u = {.in = inside >= 0 && g->group[inside] == (int32_t)group, .before = true};
    for (size_t i = 0; i < spad_kernel_loop_count(l->kernel); i++) {
        if (g->group[i] != (int32_t)group) continue;
        const spad_kernel_loop *loop = spad_kernel_get_loop(l->kernel, i);
        const int64_t owner = spad_kernel_get_statement(l->kernel, loop->statement)->agent;
        if (agent == owner || agent == 0) {
            u.before = u.before && statement < loop->statement && loop->outer < 0;
        }
    }
    return u;
}

/* Moves seen of an index of a tensor, or of the values of a counter: one for all groups. */
typedef struct seen {
    bool starts_anew;       /* each run of a growing loop begins where the first did */
    bool carries_on;        /* each run goes on where the one before ended */
    spad__refusal_kind why; /* it does not restart */
    bool outside;           /* of a group in which it moves */
    int64_t beyond;         /* of places outside that move with the parameter */
} seen;

/* The rows of `shift` or `raise`, and the moves seen. */
typedef struct marks {
    bool *known; /* per group and column */
    seen *seen;  /* per column */
    int64_t *shift;
    size_t columns;
    size_t column;
    const char *name;
} marks;

/* First pass, inside of a group: an index moves with its loop, all in the same way. */
static bool probe_inside(probe *l, size_t statement, spad_expr expr, size_t group, marks m) {
    int64_t shift;
    const size_t row = group * m.columns + m.column;
    if (!shift_of(l, expr, (probed_step){false, l->induction->inside[statement]}, &shift))
        return false;
    if (!m.known[row]) {
        m.known[row] = true;
        m.shift[row] = shift;
    }
    if (m.shift[row] != shift) return refuse(l, SPAD__REFUSED_APART, m.name);
    return true;
}

/* By how much an index must move with the parameter if it carries on: with every run of a growing
 * loop that is over. */
static bool carried(const probe *l, size_t statement, marks m, spad__affine *out) {
    *out = (spad__affine){.constant = 0};
    for (size_t group = 0; group < l->induction->groups; group++) {
        const int64_t shift = m.shift[group * m.columns + m.column];
        spad__affine runs;
        if (shift == 0) continue;
        if (!spad__induction_runs(l->induction, l->kernel, statement, group, &runs) ||
            !spad__affine_add(out, &runs, shift)) {
            return false;
        }
    }
    return true;
}

static void deny(seen *s, spad__refusal_kind why) {
    if (s->starts_anew) s->why = why;
    s->starts_anew = false;
}

/* Second pass: how an index moves with the parameter. If runs restart it stays inside of its
 * group, and outside it stays or moves as far as those inside. */
static bool probe_carry(probe *l, size_t statement, spad_expr expr, marks m) {
    spad__affine moves;
    spad__affine runs;
    seen *s = &m.seen[m.column];
    if (!affine_of(l, expr, (probed_step){true, -1}, &moves)) return false;
    s->carries_on =
        s->carries_on && carried(l, statement, m, &runs) && spad__affine_equal(&moves, &runs);
    if (moves.count > 0) deny(s, SPAD__REFUSED_UNEVEN);
    for (size_t group = 0; group < l->induction->groups; group++) {
        const size_t row = group * m.columns + m.column;
        const use u = use_of(l, statement, group);
        s->outside = s->outside || (!u.in && !u.before && m.shift[row] != 0);
        if (moves.count > 0 || moves.constant == 0) continue;
        if (u.in) {
            deny(s, SPAD__REFUSED_FROM_END);
            continue;
        }
        if (m.known[row] ? m.shift[row] != moves.constant
                         : s->beyond != 0 && s->beyond != moves.constant) {
            deny(s, SPAD__REFUSED_APART);
        }
        if (!m.known[row]) s->beyond = moves.constant;
    }
    return true;
}

static bool probe_index(probe *l, size_t statement, int64_t tensor, const spad_expr *index,
                        size_t count, bool second, marks m) {
    spad__induction *g = l->induction;
    if (!g->tracked[tensor]) return true;
    m.name = spad_kernel_get_tensor(l->kernel, (size_t)tensor)->name;
    for (size_t d = 0; d < count; d++) {
        m.column = g->first_dim[tensor] + d;
        if (second && !probe_carry(l, statement, index[d], m)) return false;
        for (size_t group = 0; !second && group < g->groups; group++) {
            if (use_of(l, statement, group).in && !probe_inside(l, statement, index[d], group, m)) {
                return false;
            }
        }
    }
    return true;
}

/* Values that waits on a counter ask for are compared by size, so outside of the group it
 * counts on which side of it they stand. */
static bool probe_wait(probe *l, size_t statement, const spad_statement *s, bool second, marks m) {
    spad__induction *g = l->induction;
    m.name = spad_kernel_get_sync(l->kernel, (size_t)s->item)->name;
    m.column = (size_t)s->item;
    spad__affine moves;
    spad__affine runs;
    if (second) {
        seen *about = &m.seen[m.column];
        if (!affine_of(l, s->amount, (probed_step){true, -1}, &moves)) return false;
        about->carries_on = about->carries_on && carried(l, statement, m, &runs) &&
                            spad__affine_equal(&moves, &runs);
        if (moves.count > 0) deny(about, SPAD__REFUSED_UNEVEN);
    }
    for (size_t group = 0; group < g->groups; group++) {
        const use u = use_of(l, statement, group);
        const int64_t shift = m.shift[group * m.columns + m.column];
        if (!second && u.in && !probe_inside(l, statement, s->amount, group, m)) return false;
        if (!second || moves.count > 0) continue;
        if (u.in && moves.constant != 0) deny(&m.seen[m.column], SPAD__REFUSED_FROM_END);
        if (!u.in && moves.constant != (u.before ? 0 : shift)) {
            deny(&m.seen[m.column], SPAD__REFUSED_WAITS_APART);
        }
    }
    return true;
}

/* After both passes: restarts where that is possible, or carries on. */
static bool settle_carry(probe *l, marks m, bool *carry, const char *name) {
    const seen *s = &m.seen[m.column];
    carry[m.column] = !s->starts_anew && s->carries_on;
    if (carry[m.column]) l->induction->carries = true;
    if (!carry[m.column] && s->outside) l->induction->meets = true;
    if (s->starts_anew || s->carries_on) return true;
    return refuse(l, s->why, s->why == SPAD__REFUSED_UNEVEN ? NULL : name);
}

static bool settle_all(probe *l, marks tiles, marks waits) {
    spad__induction *g = l->induction;
    g->carries = g->meets = false;
    for (size_t t = 0; t < spad_kernel_tensor_count(l->kernel); t++) {
        const spad_kernel_tensor *tensor = spad_kernel_get_tensor(l->kernel, t);
        for (size_t d = 0; d < tensor->blocks.count; d++) {
            tiles.column = g->first_dim[t] + d;
            if (!settle_carry(l, tiles, g->carry, tensor->name)) return false;
        }
    }
    for (size_t i = 0; i < spad_kernel_sync_count(l->kernel); i++) {
        waits.column = i;
        const char *name = spad_kernel_get_sync(l->kernel, i)->name;
        if (!settle_carry(l, waits, g->carry_waits, name)) return false;
    }
    return true;
}

static bool probe_operation(probe *l, size_t statement, const spad_statement *s, bool second,
                            marks tiles) {
    for (size_t i = s->first_access; i < s->first_access + s->access_count; i++) {
        const spad_kernel_access *access = spad_kernel_get_access(l->kernel, i);
        if (!probe_index(l, statement, access->tensor, access->index, access->index_count, second,
                         tiles)) {
            return false;
        }
        for (size_t r = 0; r < access->range_count; r++) {
            if (!require_still(l, statement, access->ranges[r].from) ||
                !require_still(l, statement, access->ranges[r].to) ||
                !require_still(l, statement, access->ranges[r].step)) {
                return false;
            }
        }
    }
    for (size_t i = s->first_completion; i < s->first_completion + s->completion_count; i++) {
        const spad_kernel_completion *completion = spad_kernel_get_completion(l->kernel, i);
        if (!require_still(l, statement, completion->amount)) return false;
        for (size_t d = 0; d < completion->index_count; d++) {
            if (!require_still(l, statement, completion->index[d])) return false;
        }
    }
    return true;
}

static bool probe_comparisons(probe *l, size_t statement, const spad_statement *s) {
    for (size_t i = 0; i < s->comparison_count; i++) {
        const spad_expr sides[] = {s->comparisons[i].left, s->comparisons[i].right};
        for (size_t side = 0; side < 2; side++) {
            spad__affine affine;
            if (spad__expr_has(l->kernel, sides[side], SPAD_EXPR_STAGE, -1) ||
                spad__expr_has(l->kernel, sides[side], SPAD_EXPR_PHASE, -1)) {
                return refuse(l, SPAD__REFUSED_UNEVEN,
                              NULL); /* condition_windows.c keeps no cursors */
            }
            if (!affine_of(l, sides[side], (probed_step){true, l->induction->inside[statement]},
                           &affine) ||
                !affine_of(l, sides[side], (probed_step){true, -1}, &affine)) {
                return false;
            }
        }
    }
    return true;
}

static bool probe_statement(probe *l, size_t number, bool second, marks tiles, marks waits) {
    const spad_statement *s = spad_kernel_get_statement(l->kernel, number);
    if (s->kind == SPAD_STATEMENT_FOR || s->kind == SPAD_STATEMENT_TENSOR) return true;
    if ((s->flags & SPAD_SYNC_NEXT) != 0 && s->amount == 0) {
        return refuse(l, SPAD__REFUSED_UNEVEN, NULL);
    }
    if (s->kind == SPAD_STATEMENT_BREAK)
        return true; /* conditions say when (condition_windows.c) */
    if (s->kind == SPAD_STATEMENT_IF) return probe_comparisons(l, number, s);
    if (s->kind == SPAD_STATEMENT_OPERATION) return probe_operation(l, number, s, second, tiles);
    if (s->kind == SPAD_STATEMENT_ALLOC || s->kind == SPAD_STATEMENT_FREE) {
        return probe_index(l, number, s->item, s->index, s->index_count, second, tiles);
    }
    for (size_t d = 0; d < s->index_count; d++) {
        if (!require_still(l, number, s->index[d])) return false;
    }
    if (!require_still(l, number, s->expect)) return false;
    if (s->kind == SPAD_STATEMENT_WAIT_VALUE) return probe_wait(l, number, s, second, waits);
    return require_still(l, number, s->amount);
}

/* ---- tiles come back to the same bytes --------------------------------------------- */

static bool require_same_bytes(probe *l, size_t tensor, const int64_t *shift) {
    const spad_kernel_tensor *t = spad_kernel_get_tensor(l->kernel, tensor);
    const spad__moves all = moves_of(l, (probed_step){true, -1});
    int64_t moves;
    switch (spad__tile_return(&all, t, shift, &moves)) {
    case SPAD__RETURNS: l->factor = moves; return moves == 1;
    case SPAD__TOO_FAR: return refuse(l, SPAD__REFUSED_TOO_MANY_TILES, t->name);
    case SPAD__MOVES_ON: break;
    }
    if (spad_kernel_get_target(l->kernel)->spaces[t->space].off_chip) {
        return refuse(l, SPAD__REFUSED_OFF_CHIP, t->name);
    }
    return refuse(l, SPAD__REFUSED_MORE_MEMORY, t->name);
}

static bool probe_places(probe *l) {
    const spad__induction *g = l->induction;
    for (size_t group = 0; group < g->groups; group++) {
        for (size_t t = 0; t < spad_kernel_tensor_count(l->kernel); t++) {
            const int64_t *shift = &g->shift[group * g->dims + g->first_dim[t]];
            if (g->tracked[t] && !require_same_bytes(l, t, shift)) return false;
        }
    }
    return true;
}

/* ---- indices and costs stay in range ----------------------------------------------- */

/* How an expression changes in the first iterations of the growing loop around a statement, and in
 * the last ones; in between its value is in between. */
typedef struct index_drift {
    int64_t least;
    int64_t most;
} index_drift;

static bool drift_of(probe *l, size_t statement, spad_expr expr, index_drift *out) {
    spad__affine first, last;
    int64_t least, most;
    if (!affine_of(l, expr, (probed_step){true, -1}, &first) ||
        !affine_of(l, expr, (probed_step){true, l->induction->inside[statement]}, &last)) {
        return false;
    }
    if (!spad__affine_range(&first, l->kernel, &out->least, &out->most) ||
        !spad__affine_range(&last, l->kernel, &least, &most)) {
        return refuse(l, SPAD__REFUSED_UNEVEN, NULL);
    }
    out->least = spad__min(out->least, least);
    out->most = spad__max(out->most, most);
    return true;
}

/* Is an index examined when the kernel is made, for all iterations, and counts for nothing else?
 * It then need not move in even steps if its bounds are inside at every value. */
static bool is_examined_once(const probe *l, size_t statement, int64_t tensor) {
    return !l->induction->tracked[tensor] &&
           !spad_kernel_get_statement(l->kernel, statement)->guarded;
}

static bool moves_evenly(const probe *l, size_t statement, spad_expr expr) {
    probe copy = *l;
    spad__induction induction = *l->induction; /* for reasons that are not shown */
    int64_t shift;
    copy.induction = &induction;
    copy.noted = false;
    return shift_of(&copy, expr, (probed_step){true, -1}, &shift) &&
           shift_of(&copy, expr, (probed_step){true, l->induction->inside[statement]}, &shift);
}

/* An index that is inside must not run out of its tensor when both grow. */
static bool require_inside(probe *l, size_t statement, spad_expr index, const spad_kernel_tensor *t,
                           spad_amount extent) {
    int64_t grows;
    index_drift moves;
    if (!drift_of(l, statement, index, &moves)) return false;
    if (!shift_of(l, extent.expr, (probed_step){true, -1}, &grows)) return false;
    if (moves.least >= 0 && moves.most <= grows) return true;
    if (moves.least < 0) return refuse(l, SPAD__REFUSED_INDEX_FALLS, t->name);
    if (grows != 0) return refuse(l, SPAD__REFUSED_INDEX_FASTER, t->name);
    refuse(l, SPAD__REFUSED_TILES, t->name);
    l->induction->refusal.tiles = extent.value;
    l->induction->refusal.along = t->blocks.count > 1;
    return false;
}

static bool require_all_inside(probe *l, size_t statement, int64_t tensor, const spad_expr *index,
                               size_t count) {
    const spad_kernel_tensor *t = spad_kernel_get_tensor(l->kernel, (size_t)tensor);
    for (size_t d = 0; d < count; d++) {
        const spad_amount extent = t->blocks.items[d];
        if (is_examined_once(l, statement, tensor) &&
            spad__induction_index_settled(l->kernel, index[d], extent) &&
            !(moves_evenly(l, statement, index[d]) && moves_evenly(l, statement, extent.expr))) {
            continue;
        }
        if (!require_inside(l, statement, index[d], t, extent)) return false;
    }
    return true;
}

static bool probe_ranges(probe *l, size_t number, const spad_statement *s) {
    index_drift moves;
    for (size_t i = s->first_access; i < s->first_access + s->access_count; i++) {
        const spad_kernel_access *access = spad_kernel_get_access(l->kernel, i);
        if (!require_all_inside(l, number, access->tensor, access->index, access->index_count)) {
            return false;
        }
    }
    if (s->cost_kind == SPAD_COST_TARGET) return true;
    if (!drift_of(l, number, s->cost, &moves)) return false;
    if (moves.least < 0) return refuse(l, SPAD__REFUSED_COST_FALLS, s->name);
    return true;
}

/* Is a loop around a statement that does not run, and does not grow either? With other values of
 * other parameters it may. */
static bool is_never_run(const probe *l, const spad_statement *s) {
    const spad_kernel_loop *loop;
    for (int64_t number = s->loop; number >= 0; number = loop->outer) {
        loop = spad_kernel_get_loop(l->kernel, (size_t)number);
        if (l->induction->extra[number] == 0 && loop->begin.value >= loop->end.value) {
            l->induction->skipped =
                l->induction->skipped ||
                spad__expr_has(l->kernel, loop->begin.expr, SPAD_EXPR_PARAM, -1) ||
                spad__expr_has(l->kernel, loop->end.expr, SPAD_EXPR_PARAM, -1);
            return true;
        }
    }
    return false;
}

/* Extents stay at 1 or more; extents of indexed tensors also have room for the indices. */
static bool probe_extents(probe *l) {
    for (size_t i = 0; i < spad_kernel_tensor_count(l->kernel); i++) {
        const spad_kernel_tensor *t = spad_kernel_get_tensor(l->kernel, i);
        for (size_t d = 0; d < t->blocks.count; d++) {
            int64_t grows;
            if (spad__induction_extent_settled(l->kernel, t->blocks.items[d])) continue;
            if (!shift_of(l, t->blocks.items[d].expr, (probed_step){true, -1}, &grows))
                return false;
            if (grows < 0) return refuse(l, SPAD__REFUSED_EXTENT_FALLS, t->name);
        }
    }
    return true;
}

static bool probe_bounds(probe *l) {
    if (!probe_extents(l)) return false;
    for (size_t i = 0; i < spad_kernel_statement_count(l->kernel); i++) {
        const spad_statement *s = spad_kernel_get_statement(l->kernel, i);
        if (is_never_run(l, s)) continue;
        const bool tile = s->kind == SPAD_STATEMENT_ALLOC || s->kind == SPAD_STATEMENT_FREE;
        if (tile && !require_all_inside(l, i, s->item, s->index, s->index_count)) return false;
        if (s->kind == SPAD_STATEMENT_OPERATION && !probe_ranges(l, i, s)) return false;
    }
    return true;
}

/* ---- the whole probe --------------------------------------------------------------- */

static void clear_marks(marks *m, size_t groups) {
    for (size_t i = 0; i < groups * m->columns; i++) {
        m->known[i] = false;
        m->shift[i] = 0;
    }
    for (size_t i = 0; i < m->columns; i++) {
        m->seen[i] = (seen){.starts_anew = true, .carries_on = true};
    }
}

/* One pass with the step as it is. */
static bool probe_once(probe *l, marks tiles, marks waits) {
    const spad__induction *g = l->induction;
    if (!look_at_loops(l) || !probe_declarations(l)) return false;
    find_growing_loops_around(l);
    clear_marks(&tiles, g->groups);
    clear_marks(&waits, g->groups);
    for (int second = 0; second < 2; second++) {
        for (size_t s = 0; s < spad_kernel_statement_count(l->kernel); s++) {
            if (!probe_statement(l, s, second == 1, tiles, waits)) return false;
        }
    }
    return settle_all(l, tiles, waits) && probe_places(l) &&
           (g->cut_loops != NULL || probe_bounds(l));
}

/* A parameter that is computed from others represents them. If steps rely on the rest of the
 * parameter itself, they are not the same for all its values. */
static void require_even(probe *l) {
    const bool *relies = l->induction->relies;
    const spad__moves all = moves_of(l, (probed_step){true, -1});
    for (size_t i = spad_kernel_param_count(l->kernel); i-- > 0;) {
        if (relies[i]) spad__moves_rely(&all, spad_kernel_get_param(l->kernel, i)->preset.expr);
    }
    if (l->induction->param == SPAD__NO_PARAM) return;
    if (relies[l->induction->param]) refuse(l, SPAD__REFUSED_UNEVEN, NULL);
}

static void find_walked(const probe *l) {
    if (l->induction->cut_loops != NULL) l->induction->walked = true;
    for (size_t i = 0; i < spad_kernel_cursor_count(l->kernel); i++) {
        if (!spad_kernel_get_cursor(l->kernel, i)->even) l->induction->walked = true;
    }
    for (size_t i = 0; i < spad_kernel_statement_count(l->kernel); i++) {
        const spad_statement *s = spad_kernel_get_statement(l->kernel, i);
        if (s->kind == SPAD_STATEMENT_BREAK) l->induction->walked = true;
    }
}

static void probe_param(probe *l, marks tiles, marks waits) {
    spad__induction *g = l->induction;
    while (!probe_once(l, tiles, waits)) {
        if (l->factor <= 1) return;           /* refused */
        if (l->factor > STEP_MAX / g->step) { /* also where no factor was found */
            refuse(l, SPAD__REFUSED_TOO_LONG, NULL);
            return;
        }
        g->step *= l->factor;
        l->factor = 1;
    }
    require_even(l);
    find_walked(l);
    spad__induction_count_runs(g, l->kernel);
    if (g->cut_loops == NULL) spad__induction_find_write_collisions(g, l->kernel, g->begins);
}

static void *new_rows(spad__arena *arena, size_t count, size_t size, bool *failed) {
    void *items = spad__arena_array(arena, count, size);
    *failed = *failed || items == NULL;
    return items;
}

static bool reserve(spad__induction *g, const spad_kernel *kernel, marks *tiles, marks *waits) {
    const size_t loops = spad_kernel_loop_count(kernel) + 1; /* no fewer than groups */
    const size_t tensors = spad_kernel_tensor_count(kernel);
    const size_t syncs = spad_kernel_sync_count(kernel);
    spad__arena *arena = &g->arena;
    bool failed = false;
    g->first_dim = new_rows(arena, tensors + 1, sizeof *g->first_dim, &failed);
    for (size_t i = 0; i < tensors && !failed; i++) {
        g->first_dim[i] = g->dims;
        g->dims += spad_kernel_get_tensor(kernel, i)->blocks.count;
    }
    g->extra = new_rows(arena, loops, sizeof *g->extra, &failed);
    g->group = new_rows(arena, loops, sizeof *g->group, &failed);
    g->inside =
        new_rows(arena, spad_kernel_statement_count(kernel) + 1, sizeof *g->inside, &failed);
    g->tracked = new_rows(arena, tensors + 1, sizeof *g->tracked, &failed);
    g->kinds = new_rows(arena, tensors + 1, sizeof *g->kinds, &failed);
    g->left_out = new_rows(arena, tensors + 1, sizeof *g->left_out, &failed);
    g->relies = new_rows(arena, spad_kernel_param_count(kernel) + 1, sizeof *g->relies, &failed);
    g->late = new_rows(arena, spad_kernel_param_count(kernel) + 1, sizeof *g->late, &failed);
    g->shift = new_rows(arena, loops, (g->dims + 1) * sizeof *g->shift, &failed);
    g->raise = new_rows(arena, loops, (syncs + 1) * sizeof *g->raise, &failed);
    g->carry = new_rows(arena, g->dims + 1, sizeof *g->carry, &failed);
    g->carry_waits = new_rows(arena, syncs + 1, sizeof *g->carry_waits, &failed);
    g->runs = new_rows(arena, loops, sizeof *g->runs, &failed);
    g->guarded = new_rows(arena, loops, sizeof *g->guarded, &failed);
    g->begins =
        new_rows(arena, loops + spad_kernel_cursor_count(kernel), sizeof *g->begins, &failed);
    g->counted = new_rows(arena, loops, sizeof *g->counted, &failed);
    *tiles = (marks){.shift = g->shift, .columns = g->dims};
    *waits = (marks){.shift = g->raise, .columns = syncs};
    tiles->known = new_rows(arena, loops, (g->dims + 1) * sizeof *tiles->known, &failed);
    tiles->seen = new_rows(arena, g->dims + 1, sizeof *tiles->seen, &failed);
    waits->known = new_rows(arena, loops, (syncs + 1) * sizeof *waits->known, &failed);
    waits->seen = new_rows(arena, syncs + 1, sizeof *waits->seen, &failed);
    return !failed;
}

spad_status spad__induction_init_of(spad__induction *induction, const spad_kernel *kernel,
                                    const spad__induction_request *of, const spad_host *host,
                                    spad_error *error) {
    const bool *part = of->part;
    *induction = (spad__induction){.arena = {.host = *host},
                                   .param = of->param,
                                   .step = of->step,
                                   .holds_cursors = of->holds_cursors,
                                   .cut_loops = of->cut_loops,
                                   .keep = of->keep};
    marks tiles;
    marks waits;
    if (!reserve(induction, kernel, &tiles, &waits)) {
        spad__induction_free(induction);
        return spad__fail_host_memory(error);
    }
    for (size_t t = 0; part != NULL && t < spad_kernel_tensor_count(kernel); t++) {
        induction->left_out[t] = !part[t];
    }
    probe l = {.induction = induction, .kernel = kernel, .factor = 1, .noted = true};
    spad__induction_find_tracked(induction, kernel);
    spad__induction_find_guarded(induction, kernel);
    if (of->param != SPAD__NO_PARAM && spad_kernel_get_param(kernel, of->param)->fixed) {
        refuse(&l, SPAD__REFUSED_SIZE, spad_kernel_get_param(kernel, of->param)->name);
    } else {
        probe_param(&l, tiles, waits);
    }
    return SPAD_OK;
}

void spad__induction_free(spad__induction *induction) {
    spad__arena_free(&induction->arena);
}
