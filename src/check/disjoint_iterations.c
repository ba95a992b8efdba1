/* SPDX-License-Identifier: Apache-2.0
 *
 * Iterations of a loop that touch different parts of a tensor, seen from its indices.
 *
 * Take one index of the tensor, or one range inside its tiles, and write it as c * i + r, where i
 * counts the iterations. In one run of the loop, r depends on the loops inside only. If all
 * accesses in the loop have the same c, and their r are within |c| of each other, then two
 * iterations never touch the same part: c * i moves on by at least |c|. O(accesses x loops), and
 * independent of how often the loops run.
 */
#include "check/disjoint_iterations.h"
#include "kernel/evaluate.h"

#include "base/checked.h"
#include "kernel/affine.h"
#include "kernel/kernel.h"

/* How all accesses so far use one dimension: [least, end) without what the loops around add. */
typedef struct dimension {
    bool used;
    bool apart; /* all of them have the same factors of the loop and of those around it */
    int64_t factor;
    int64_t least;
    int64_t end;
    int64_t outer[SPAD__LOOPS_DEEP]; /* factors of the loops around, the outermost first */
} dimension;

typedef struct access_spot {
    const spad_kernel *kernel;
    int64_t loop;
    size_t statement;
} access_spot;

/* By how much an expression grows with one iteration of a loop; false: not by a constant. */
static bool factor_of(const spad_kernel *kernel, spad_expr expr, int64_t loop, int64_t *factor) {
    const spad__moves moves = {
        .kernel = kernel, .param = -1, .param_step = 0, .loop = loop, .loop_step = 1};
    spad__affine step;
    int64_t period;
    if (spad__affine_of(&moves, expr, &step, &period, NULL) != SPAD__EVEN) return false;
    *factor = step.constant;
    return period == 1 && step.count == 0;
}

/* Adds what a loop inside adds to the value of an expression in its first iteration. */
static bool widen_rest(const spad_kernel_loop *loop, int64_t factor, int64_t *least,
                       int64_t *most) {
    const int64_t trips = loop->end.value - loop->begin.value;
    int64_t more;
    if (trips <= 1) return true;
    return spad__mul(factor, trips - 1, &more) && spad__add(*least, spad__min(more, 0), least) &&
           spad__add(*most, spad__max(more, 0), most);
}

/* An expression as factors and the range of its rest: its values in the first iteration of the loop
 * and of those around it. */
static bool split_expression(access_spot at, spad_expr expr, dimension *out) {
    int64_t loops[SPAD__LOOPS_DEEP];
    int64_t first[SPAD__LOOPS_DEEP];
    const size_t depth = spad__loops_around(at.kernel, (int64_t)at.statement, loops);
    bool inside = false;
    *out = (dimension){.used = true, .apart = true};
    if (at.kernel->loops.count > SPAD__LOOPS_DEEP) return false;
    for (size_t i = 0; i < at.kernel->loops.count; i++) {
        first[i] = at.kernel->loops.items[i].begin.value;
    }
    for (size_t d = 0; d < depth; d++) { /* no cursor: it would not be even */
        int64_t factor;
        if (!factor_of(at.kernel, expr, loops[d], &factor)) return false;
    }
    out->least = out->end = spad__kernel_evaluate(at.kernel, expr, first);
    for (size_t d = 0; d < depth; d++) {
        int64_t factor;
        if (!factor_of(at.kernel, expr, loops[d], &factor)) return false;
        if (loops[d] == at.loop) {
            out->factor = factor;
            inside = true;
        } else if (!inside) {
            out->outer[d] = factor;
        } else if (!widen_rest(&at.kernel->loops.items[loops[d]], factor, &out->least, &out->end)) {
            return false;
        }
    }
    return true;
}

static bool same_factors(const dimension *left, const dimension *right) {
    bool same = left->factor == right->factor;
    for (size_t d = 0; d < SPAD__LOOPS_DEEP; d++) same = same && left->outer[d] == right->outer[d];
    return same;
}

/* One access more: [from, to) of a dimension; to is 0: one element. */
static void add_dimension_use(access_spot at, spad_expr from, spad_expr to, dimension *all) {
    dimension low, high;
    const bool fine = from != 0 && split_expression(at, from, &low) &&
                      (to == 0 || (split_expression(at, to, &high) && same_factors(&low, &high)));
    if (!fine) {
        all->used = true;
        all->apart = false;
        return;
    }
    if (to != 0) low.end = high.end;
    if (to == 0 && !spad__add(low.end, 1, &low.end)) low.apart = false;
    if (!all->used) {
        *all = low;
        return;
    }
    all->apart = all->apart && low.apart && same_factors(all, &low);
    all->least = spad__min(all->least, low.least);
    all->end = spad__max(all->end, low.end);
}

static bool is_dimension_apart(const dimension *d) {
    int64_t width;
    if (!d->used || !d->apart || d->factor == 0 || !spad__sub(d->end, d->least, &width)) {
        return false;
    }
    return d->factor < 0 ? d->factor > INT64_MIN && width <= -d->factor : width <= d->factor;
}

/* Accesses to a tensor by the statements inside of a loop. */
typedef struct uses {
    unsigned kinds; /* 1: reads, 2: adds, 4: writes */
    dimension index[SPAD_RANK_MAX];
    dimension range[SPAD_RANK_MAX];
} uses;

static void add_access(access_spot at, const spad_kernel_access *access, uses *all) {
    const bool adds = access->kind == SPAD_ACCESS_UPDATE || access->kind == SPAD_ACCESS_ADD;
    all->kinds |= adds ? 2u : (access->kind & SPAD_ACCESS_WRITE) != 0 ? 4u : 1u;
    for (size_t d = 0; d < access->index_count; d++) {
        add_dimension_use(at, access->index[d], 0, &all->index[d]);
    }
    for (size_t d = 0; d < SPAD_RANK_MAX; d++) {
        const bool part = d < access->range_count;
        add_dimension_use(at, part ? access->ranges[d].from : 0, part ? access->ranges[d].to : 0,
                          &all->range[d]);
    }
}

static bool is_inside(const spad_kernel *kernel, size_t statement, int64_t loop) {
    int64_t around = kernel->statements.items[statement].loop;
    while (around >= 0 && around != loop) around = kernel->loops.items[around].outer;
    return around >= 0;
}

bool spad__iterations_apart(const spad_kernel *kernel, int64_t loop, int64_t tensor) {
    uses all = {.kinds = 0};
    if (is_inside(kernel, kernel->tensors.items[tensor].statement, loop)) return true;
    for (size_t s = 0; s < kernel->statements.count; s++) {
        const spad_statement *statement = &kernel->statements.items[s];
        const access_spot at = {kernel, loop, s};
        if (statement->kind != SPAD_STATEMENT_OPERATION || !is_inside(kernel, s, loop)) continue;
        for (size_t a = 0; a < statement->access_count; a++) {
            const spad_kernel_access *access = &kernel->accesses.items[statement->first_access + a];
            if (access->tensor == tensor) add_access(at, access, &all);
        }
    }
    if (all.kinds <= 2) return true; /* all read, or all add */
    for (size_t d = 0; d < SPAD_RANK_MAX; d++) {
        if (is_dimension_apart(&all.index[d]) || is_dimension_apart(&all.range[d])) return true;
    }
    return false;
}
