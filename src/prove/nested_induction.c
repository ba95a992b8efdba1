/* SPDX-License-Identifier: Apache-2.0
 *
 * Loops that grow inside of a loop that grows.
 *
 * A causal kernel works on T tiles, and tile t has T - t blocks: with T grow the loop over t (the
 * outer one) and the runs of the loop over blocks (the inner one). Let inner iterations repeat
 * themselves after Q of them, and take the kernel K'(T) whose inner runs of L >= D iterations are
 * cut to D + (L - D) % Q (kernel/shorten_run.h), while nothing else changes. Then:
 *
 * 1. If in a run of that length the state is the same as Q iterations before, with all agents in
 * the same run, then Q iterations more of that run change nothing of what follows (prove.c).
 * Nothing but the bounds of the inner loop depends on how long a run is: indices and waits of what
 * is on the chip come round after Q iterations (`shift` and `raise` are 0). So K(T), whose runs are
 *    longer by multiples of Q, each run by as many for all agents, is right if K'(T) is.
 * 2. K'(T) has one loop that grows, since inner runs have fewer than D + Q iterations whatever T
 * is. It is proved for all T as any other trip count. How far a round advances a cursor depends on
 * its length, so the places of cursors are part of the state. A period that is inserted there is
 * equal to the one before it, so its inner runs repeat themselves as well.
 *
 * Indices off the chip may move with the inner loop: that they stay inside is a matter of bounds,
 * which are sums (stays_inside). Writes there would have to be compared with each other in all
 * iterations, so there is no proof if the inner loop has any.
 */
#include "base/checked.h"
#include "kernel/evaluate.h"
#include "kernel/shorten_run.h"
#include "prove/prover.h"

/* Attempts with longer runs; and the largest numbers in indices that are looked at. */
enum { KEEPS = 3 };
static const int64_t factor_max = INT64_C(1) << 28;

/* ---- sums ---------------------------------------------------------------------------- */

/* param x P + outer x t + inner x i + something from least to most. */
typedef struct sum {
    int64_t param;
    int64_t outer;
    int64_t inner;
    int64_t least;
    int64_t most;
} sum;

typedef struct nest {
    spad__prover *p;
    const spad_kernel *kernel;
    size_t param;
    bool *inner;        /* per loop */
    int64_t *values;    /* per loop and cursor: scratch */
    size_t outer_count; /* loops */
    sum length;         /* of an inner run */
    sum end;            /* of the outer loops; their begin is `begin` */
    int64_t begin;
    spad__induction induction; /* of the inner runs */
} nest;

static bool has_trip(const nest *n, spad_expr expr) {
    return spad__expr_has(n->kernel, expr, SPAD_EXPR_PARAM, (int64_t)n->param);
}

/* By how much an expression changes when the parameter (loop -1), or a loop, moves on by 1. */
static bool sum_factor(const nest *n, spad_expr expr, int64_t loop, int64_t *out) {
    const spad__moves moves = {.kernel = n->kernel,
                               .param = loop < 0 ? (int64_t)n->param : -1,
                               .param_step = 1,
                               .loop = loop,
                               .loop_step = 1};
    spad__affine affine;
    int64_t period;
    if (spad__affine_of(&moves, expr, &affine, &period, NULL) != SPAD__EVEN) return false;
    *out = affine.constant;
    return period == 1 && affine.count == 0 && *out > -factor_max && *out < factor_max;
}

/* Other loops have bounds that do not change. */
static bool add_other_loops(const nest *n, spad_expr expr, int64_t outer, int64_t inner, sum *out) {
    for (size_t i = 0; i < spad_kernel_loop_count(n->kernel); i++) {
        const spad_kernel_loop *loop = spad_kernel_get_loop(n->kernel, i);
        int64_t factor, first, last;
        n->values[i] = 0;
        if ((int64_t)i == outer || (int64_t)i == inner) continue;
        if (!spad__expr_has(n->kernel, expr, SPAD_EXPR_VARIABLE, (int64_t)i)) continue;
        if (!sum_factor(n, expr, (int64_t)i, &factor) ||
            !spad__mul(factor, loop->begin.value, &first) ||
            !spad__mul(factor, spad__max(loop->end.value - 1, loop->begin.value), &last)) {
            return false;
        }
        if (!spad__add(out->least, spad__min(first, last), &out->least) ||
            !spad__add(out->most, spad__max(first, last), &out->most)) {
            return false;
        }
    }
    return true;
}

/* An expression as a sum; -1: it has no such loop. */
static bool sum_of(const nest *n, spad_expr expr, int64_t outer, int64_t inner, sum *out) {
    const int64_t value = spad_kernel_get_param(n->kernel, n->param)->value;
    int64_t rest;
    *out = (sum){.param = 0};
    if (spad__expr_has(n->kernel, expr, SPAD_EXPR_UNKNOWN, -1) ||
        !sum_factor(n, expr, -1, &out->param) ||
        (outer >= 0 && !sum_factor(n, expr, outer, &out->outer)) ||
        (inner >= 0 && !sum_factor(n, expr, inner, &out->inner)) ||
        !add_other_loops(n, expr, outer, inner, out)) {
        return false;
    }
    if (!spad__mul(out->param, value, &rest) ||
        !spad__sub(spad__kernel_evaluate(n->kernel, expr, n->values), rest, &rest)) {
        return false;
    }
    return spad__add(out->least, rest, &out->least) && spad__add(out->most, rest, &out->most) &&
           out->least > -factor_max && out->most < factor_max;
}

static sum difference(sum left, sum right) {
    return (sum){left.param - right.param, left.outer - right.outer, left.inner - right.inner,
                 left.least - right.most, left.most - right.least};
}

static bool is_same_sum(sum left, sum right) {
    return left.param == right.param && left.outer == right.outer && left.inner == right.inner &&
           left.least == right.least && left.most == right.most;
}

/* ---- loops ---------------------------------------------------------------------------- */

static bool grows_with(const nest *n, int64_t loop) {
    const spad_kernel_loop *row = spad_kernel_get_loop(n->kernel, (size_t)loop);
    return has_trip(n, row->end.expr) || has_trip(n, row->begin.expr) || has_trip(n, row->from) ||
           has_trip(n, row->to);
}

/* The outermost loop around a loop, or it itself, that grows; *count of them; -1: none. */
static int64_t growing_around(const nest *n, int64_t loop, size_t *count) {
    int64_t found = -1;
    *count = 0;
    for (; loop >= 0; loop = spad_kernel_get_loop(n->kernel, (size_t)loop)->outer) {
        if (!grows_with(n, loop)) continue;
        found = loop;
        ++*count;
    }
    return found;
}

/* All outer loops have the same bounds, and all inner ones run equally long. */
static bool take_outer(nest *n, const spad_kernel_loop *loop) {
    sum end;
    if (has_trip(n, loop->begin.expr) || loop->from != 0) return false;
    if (!sum_of(n, loop->end.expr, -1, -1, &end) || end.least != end.most) return false;
    if (n->outer_count++ == 0) {
        n->end = end;
        n->begin = loop->begin.value;
    }
    return n->begin == loop->begin.value && is_same_sum(n->end, end) && n->begin > -factor_max &&
           n->begin < factor_max;
}

static bool take_inner(nest *n, int64_t number, int64_t outer, bool first) {
    const spad_kernel_loop *loop = spad_kernel_get_loop(n->kernel, (size_t)number);
    sum from, to;
    if (!spad__loop_can_be_shortened(n->kernel, number) ||
        !sum_of(n, loop->from, outer, -1, &from) || !sum_of(n, loop->to, outer, -1, &to)) {
        return false;
    }
    const sum length = difference(to, from);
    if (first) n->length = length;
    n->inner[number] = true;
    return length.least == length.most && is_same_sum(n->length, length) && length.outer >= -1 &&
           length.outer <= 1;
}

static bool find_loops(nest *n) {
    bool any = false;
    for (size_t i = 0; i < spad_kernel_loop_count(n->kernel); i++) {
        const spad_kernel_loop *loop = spad_kernel_get_loop(n->kernel, i);
        size_t count;
        const int64_t outer = growing_around(n, (int64_t)i, &count);
        if (loop->parallel || spad__loop_breaks(n->kernel, (int64_t)i)) return false;
        if (!grows_with(n, (int64_t)i)) continue;
        if (count > 2) return false;
        if (count == 1 && !take_outer(n, loop)) return false;
        if (count == 2 && !take_inner(n, (int64_t)i, outer, !any)) return false;
        any = any || count == 2;
    }
    return any;
}

/* ---- indices ------------------------------------------------------------------------- */

/* The least value with a round that has an inner iteration, at least 1: it is the first or the last
 * round that has the most of them. */
static int64_t first_value(const nest *n) {
    const sum *l = &n->length;
    const bool last = l->outer > 0;
    const int64_t param = l->param + (last ? l->outer * n->end.param : 0);
    const int64_t rest = l->least + l->outer * (last ? n->end.least - 1 : n->begin);
    return param > 0 ? spad__max(1, spad__floor_div(param - rest, param)) : 1; /* 1 - rest, up */
}

/* Is a x P + b at least 0 for all such values? */
static bool stays_positive(const nest *n, int64_t a, int64_t b) {
    int64_t least;
    return a >= 0 && spad__mul(a, first_value(n), &least) && spad__add(least, b, &least) &&
           least >= 0;
}

/* Is param x P + outer x t + least at least 0 in all rounds that have an inner iteration? Where it
 * falls with t, the last such round decides, and otherwise the first: it is at most, or at least,
 * what the bounds of the outer loop say, and what a length of 1 says. */
static bool is_positive_in_iterations(const nest *n, sum f) {
    const sum *l = &n->length;
    if (f.outer >= 0) {
        if (stays_positive(n, f.param, f.least + f.outer * n->begin)) return true;
        return l->outer == 1 &&
               stays_positive(n, f.param - f.outer * l->param, f.least + f.outer * (1 - l->least));
    }
    if (stays_positive(n, f.param + f.outer * n->end.param,
                       f.least + f.outer * (n->end.least - 1))) {
        return true;
    }
    return l->outer == -1 &&
           stays_positive(n, f.param + f.outer * l->param, f.least + f.outer * (l->least - 1));
}

/* The same with the inner iteration, which is first 0 and last one less than the length. */
static bool is_positive(const nest *n, sum f) {
    const sum *l = &n->length;
    const sum first = {.param = f.param, .outer = f.outer, .least = f.least};
    const sum last = {.param = f.param + f.inner * l->param,
                      .outer = f.outer + f.inner * l->outer,
                      .least = f.least + f.inner * (l->least - 1)};
    return is_positive_in_iterations(n, first) && is_positive_in_iterations(n, last);
}

/* The index counts iterations from where the loop begins, which may not be 0. */
static bool stays_inside(const nest *n, spad_expr index, spad_amount extent, int64_t outer,
                         int64_t inner) {
    const spad_kernel_loop *loop = spad_kernel_get_loop(n->kernel, (size_t)inner);
    const int64_t far = INT64_MAX / 4; /* differences of such numbers fit */
    const int64_t size = spad__min(extent.value, far);
    sum at, end = {.least = size, .most = size};
    if (!sum_of(n, index, outer, inner, &at)) return false;
    if (extent.expr != 0 && !sum_of(n, extent.expr, -1, -1, &end)) return false;
    int64_t begin;
    if (!spad__mul(at.inner, loop->begin.value, &begin) || !spad__add(at.least, begin, &at.least) ||
        !spad__add(at.most, begin, &at.most) || at.least < -far || at.most > far) {
        return false;
    }
    sum room = difference(end, at);
    room.least -= 1;
    return is_positive(n, at) && is_positive(n, room);
}

/* Checks the accesses of a statement in an inner loop. An index that wraps has been examined. */
static bool are_accesses_fine(const nest *n, const spad_statement *s, int64_t outer,
                              int64_t inner) {
    int64_t shift;
    for (size_t i = s->first_access; i < s->first_access + s->access_count; i++) {
        const spad_kernel_access *access = spad_kernel_get_access(n->kernel, i);
        const spad_kernel_tensor *t = spad_kernel_get_tensor(n->kernel, (size_t)access->tensor);
        const bool writes = (access->kind & SPAD_ACCESS_WRITE) != 0;
        if (writes && !n->induction.tracked[access->tensor]) return false;
        if (writes && (t->flags & SPAD_TENSOR_OUTPUT) != 0) return false;
        for (size_t d = 0; d < access->index_count; d++) {
            if (spad__induction_shift(&n->induction, n->kernel, access->index[d], false, inner,
                                      &shift) &&
                shift == 0) {
                continue;
            }
            if (!stays_inside(n, access->index[d], t->blocks.items[d], outer, inner)) return false;
        }
    }
    return s->cost_kind == SPAD_COST_TARGET ||
           (spad__induction_shift(&n->induction, n->kernel, s->cost, false, inner, &shift) &&
            shift == 0);
}

static bool are_statements_fine(const nest *n) {
    for (size_t i = 0; i < spad_kernel_statement_count(n->kernel); i++) {
        const spad_statement *s = spad_kernel_get_statement(n->kernel, i);
        const int64_t inner = n->induction.inside[i];
        size_t count;
        if (inner < 0) continue;
        const int64_t outer = growing_around(n, inner, &count);
        if (s->kind == SPAD_STATEMENT_TENSOR || s->kind == SPAD_STATEMENT_ALLOC ||
            s->kind == SPAD_STATEMENT_FREE) {
            return false;
        }
        if (s->kind == SPAD_STATEMENT_OPERATION && !are_accesses_fine(n, s, outer, inner)) {
            return false;
        }
    }
    return true;
}

/* ---- inner runs ------------------------------------------------------------------------ */

/* True if every index of on-chip memory wraps after a step that is the same for every value. */
static bool wraps_evenly(const nest *n) {
    const spad__induction *g = &n->induction;
    if (g->refusal.kind != SPAD__NOT_REFUSED || g->carries || g->relies[n->param]) return false;
    for (size_t i = 0; i < g->groups * g->dims; i++) {
        if (g->shift[i] != 0) return false;
    }
    for (size_t i = 0; i < g->groups * spad_kernel_sync_count(n->kernel); i++) {
        if (g->raise[i] != 0) return false;
    }
    return true;
}

/* Twice the stages of all cursors that a walk keeps: a multiple of what brings each of them back;
 * 0: too many. */
static int64_t period_of_cursors(const spad_kernel *kernel) {
    enum { CURSOR_PERIOD_MAX = 64 };
    int64_t period = 1;
    for (size_t i = 0; i < spad_kernel_cursor_count(kernel); i++) {
        const spad_kernel_cursor *cursor = spad_kernel_get_cursor(kernel, i);
        if (cursor->even) continue;
        if (!spad__lcm(period, 2 * cursor->count.value, &period) || period > CURSOR_PERIOD_MAX)
            return 0;
    }
    return period;
}

/* ---- the outer loop ---------------------------------------------------------------------- */

/* Is there a proof for all values with this step? The trip count stays if there is. */
static spad_status prove_step(nest *n, int64_t step, bool *proved, spad_error *error) {
    spad__prover *p = n->p;
    const int64_t given = spad_kernel_get_param(p->kernel, n->param)->value;
    const spad__induction_request of = {.param = n->param, .step = step, .holds_cursors = true};
    const spad__shape s = {.values = {given}};
    spad_kernel *kernel;
    spad__trip *t = &p->trips[0];
    *t = (spad__trip){.given = given, .induction = {.param = n->param}};
    *proved = false;
    p->count = 1;
    spad_status status = spad__shape_kernel(p, &s, &kernel, error);
    bool fine = status == SPAD_OK && kernel != NULL;
    if (fine) status = spad__induction_init_of(&t->induction, kernel, &of, &p->host, error);
    spad_kernel_destroy(kernel);
    if (!fine || status != SPAD_OK) {
        p->count = 0;
        return status;
    }
    fine = t->induction.refusal.kind == SPAD__NOT_REFUSED && !t->induction.skipped;
    if (fine) status = spad__trips_repeat(p, error);
    fine = fine && status == SPAD_OK && p->count == 1;
    if (fine) status = spad__shapes_prove(p, error);
    *proved = fine && status == SPAD_OK && p->all_shapes.outcome == SPAD__ALL_RIGHT &&
              !p->all_shapes.seen_wrong;
    if (!*proved) spad__trips_free(p);
    return status;
}

/* Do inner runs repeat themselves in one shape, which has long ones? Otherwise larger values need
 * not be tried. *wrong: longer runs cannot help. */
static spad_status try_cut_iterations(nest *n, bool *repeat, bool *wrong, spad_error *error) {
    spad__prover *p = n->p;
    spad__shape s = {.values = {p->cut->keep + 2 * p->cut->period + 8}};
    p->trips[0] = (spad__trip){.induction = {.param = n->param}};
    p->count = p->work > p->work_most ? 0 : 1;
    *repeat = false;
    *wrong = p->count == 0;
    if (*wrong) return SPAD_OK;
    p->unwatched = true; /* it is about the inner runs alone */
    const spad_status status = spad__shape_try(p, &s, error);
    p->unwatched = false;
    p->count = 0;
    *wrong = !s.possible || s.errors > 0 || s.gap != NULL;
    *repeat = !*wrong && s.cut_iterations_repeat;
    return status;
}

/* Longer and longer runs stay as they are; steps are multiples of the inner one. */
static spad_status prove_outer(nest *n, bool *proved, spad_error *error) {
    spad__prover *p = n->p;
    const int64_t period = n->induction.step;
    const int64_t cursors = period_of_cursors(n->kernel);
    spad_status status = SPAD_OK;
    for (int64_t more = 0; more < KEEPS && !*proved && status == SPAD_OK; more++) {
        const spad__cut_iterations cut = {
            .loops = n->inner, .keep = (2 + more) * period + 2 + 2 * more, .period = period};
        bool repeat, wrong;
        p->cut = &cut;
        status = try_cut_iterations(n, &repeat, &wrong, error);
        for (int64_t m = 1; m <= cursors && !*proved && status == SPAD_OK; m++) {
            if (!repeat || cursors % m != 0 || p->work > p->work_most || spad__is_late(p->run))
                continue;
            p->exhausted = false;
            status = prove_step(n, m * period, proved, error);
        }
        p->cut = NULL;
        if (wrong) break;
    }
    return status;
}

/* Forgets the attempts. */
static void leave(spad__prover *p, size_t fixed) {
    p->fixed = fixed;
    p->warned_count = 0;
    p->all_shapes = (spad__all_shapes){.outcome = SPAD__NOT_ALL};
}

spad_status spad__prove_nested(spad__prover *p, bool *proved, spad_error *error) {
    const size_t fixed = p->fixed;
    *proved = false;
    if (p->count > 0 || fixed != 1 || !p->left[0].nested || p->seen_wrong) return SPAD_OK;
    const spad_kernel *kernel = p->kernel;
    const size_t loops = spad_kernel_loop_count(kernel);
    const size_t room = loops + spad_kernel_cursor_count(kernel);
    nest n = {.p = p, .kernel = kernel, .param = p->left[0].param};
    n.inner = spad__new_array(&p->host, loops, sizeof *n.inner);
    n.values = spad__new_array(&p->host, room, sizeof *n.values);
    spad_status status = SPAD_OK;
    if (n.inner == NULL || n.values == NULL) {
        status = spad__fail_host_memory(error);
    } else if (find_loops(&n)) {
        const spad__induction_request of = {
            .param = SPAD__NO_PARAM, .step = 1, .cut_loops = n.inner};
        status = spad__induction_init_of(&n.induction, kernel, &of, &p->host, error);
        const bool made = status == SPAD_OK;
        if (made && wraps_evenly(&n) && are_statements_fine(&n)) {
            p->work = 0;
            p->work_most = SPAD__JOINT_WORK_MAX;
            status = prove_outer(&n, proved, error);
        }
        if (made) spad__induction_free(&n.induction);
    }
    if (*proved) {
        p->fixed = 0;
        p->why[0] = '\0';
        p->in_parts = true;
    } else {
        leave(p, fixed);
    }
    spad__free(&p->host, n.inner, loops * sizeof *n.inner);
    spad__free(&p->host, n.values, room * sizeof *n.values);
    return status;
}
