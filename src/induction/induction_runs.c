/* SPDX-License-Identifier: Apache-2.0
 *
 * Runs of growing loops: how many are over when a statement is reached.
 *
 * Take a growing loop and the statement, and the loops that are around both. Each iteration of such
 * a loop that is over has run the growing loop as often as the loops between them say; and if the
 * loop stands in front of the statement in the innermost of them, that is once more. The
 * sum over all growing loops of an agent is affine in the loops around the statement. The bounds of
 * all loops are constants, and so are their trip counts, which fit 64 bits: the builder sees to it;
 * a loop whose bounds change has a guard in it.
 */
#include "base/assert.h"
#include "base/checked.h"
#include "induction/induction.h"
#include "kernel/evaluate.h"
#include "kernel/kernel.h"

/* Adds the runs of one loop. */
static bool add_runs(const spad_kernel *kernel, size_t statement, const spad_kernel_loop *growing,
                     spad__affine *runs) {
    int64_t around[SPAD__LOOPS_DEEP];
    int64_t above[SPAD__LOOPS_DEEP];
    const size_t depth = spad__loops_around(kernel, (int64_t)statement, around);
    const size_t levels = spad__loops_around(kernel, (int64_t)growing->statement, above);
    size_t common = 0;
    while (common < depth && common < levels && around[common] == above[common]) common++;
    const size_t end = spad_kernel_get_statement(kernel, growing->statement)->end;
    int64_t times = 1; /* runs in one iteration of the loop at a level */
    for (size_t i = levels; i-- > 0;) {
        const spad_kernel_loop *loop = spad_kernel_get_loop(kernel, (size_t)above[i]);
        int64_t before;
        if (i < common) { /* iterations that are over */
            if (!spad__affine_add_loop(runs, above[i], times) ||
                !spad__mul(times, loop->begin.value, &before) ||
                !spad__sub(runs->constant, before, &runs->constant)) {
                return false;
            }
        }
        if (!spad__mul(times, loop->end.value - loop->begin.value, &times)) return false;
        if (i == common && statement >= end && /* all of it is in front of the statement */
            !spad__add(runs->constant, times, &runs->constant)) {
            return false;
        }
    }
    if (common < levels || statement < end) return true;
    return spad__add(runs->constant, 1, &runs->constant);
}

/* The runs by one agent. */
static bool runs_of_agent(const spad__induction *induction, const spad_kernel *kernel,
                          size_t statement, size_t group, int64_t agent, spad__affine *runs,
                          bool *any) {
    *runs = (spad__affine){.constant = 0};
    *any = false;
    for (size_t i = 0; i < spad_kernel_loop_count(kernel); i++) {
        const spad_kernel_loop *loop = spad_kernel_get_loop(kernel, i);
        if (induction->group[i] != (int32_t)group) continue;
        if (spad_kernel_get_statement(kernel, loop->statement)->agent != agent) continue;
        *any = true;
        if (induction->guarded[i]) return false;
        if (!add_runs(kernel, statement, loop, runs)) return false;
    }
    return true;
}

bool spad__induction_runs(const spad__induction *induction, const spad_kernel *kernel,
                          size_t statement, size_t group, spad__affine *runs) {
    const int64_t own = spad_kernel_get_statement(kernel, statement)->agent;
    bool any;
    bool found = false;
    if (!runs_of_agent(induction, kernel, statement, group, own, runs, &any)) return false;
    if (any) return true;
    for (size_t a = 0; a < spad_kernel_agent_count(kernel); a++) { /* all others, or none */
        spad__affine more;
        if ((int64_t)a == own) continue;
        if (!runs_of_agent(induction, kernel, statement, group, (int64_t)a, &more, &any))
            return false;
        if (!any) continue;
        if (own != 0 && a != 0) return false; /* side by side: no order is known */
        if (found && !spad__affine_equal(runs, &more)) return false;
        *runs = more;
        found = true;
    }
    return true;
}

/* All runs of loops of a group by the agent of its first loop, from begin to end. */
static bool total_of_agent(const spad__induction *induction, const spad_kernel *kernel,
                           size_t first, int64_t *total) {
    const size_t head = spad_kernel_get_loop(kernel, first)->statement;
    const int64_t agent = spad_kernel_get_statement(kernel, head)->agent;
    *total = 0;
    for (size_t i = first; i < spad_kernel_loop_count(kernel); i++) {
        const spad_kernel_loop *loop = spad_kernel_get_loop(kernel, i);
        const int64_t owner = spad_kernel_get_statement(kernel, loop->statement)->agent;
        if (owner != agent && agent != 0) break;
        if (owner != agent || induction->group[i] != induction->group[first]) continue;
        if (induction->guarded[i]) return false;
        int64_t times = 1;
        for (int64_t l = loop->outer; l >= 0;) {
            const spad_kernel_loop *outer = spad_kernel_get_loop(kernel, (size_t)l);
            if (!spad__mul(times, outer->end.value - outer->begin.value, &times)) return false;
            l = outer->outer;
        }
        if (!spad__add(*total, times, total)) return false;
    }
    return true;
}

/* Have all agents with loops of a group the same number of runs? */
static bool have_same_total(const spad__induction *induction, const spad_kernel *kernel,
                            size_t group) {
    int64_t first = 0; /* 0: of none so far */
    int64_t before = -1;
    for (size_t i = 0; i < spad_kernel_loop_count(kernel);
         i++) { /* loops of an agent are together */
        if (induction->group[i] != (int32_t)group) continue;
        const size_t head = spad_kernel_get_loop(kernel, i)->statement;
        const int64_t agent = spad_kernel_get_statement(kernel, head)->agent;
        int64_t total;
        if (agent == before) continue;
        before = agent;
        if (!total_of_agent(induction, kernel, i, &total)) return false;
        if (total == 0) continue;
        if (first != 0 && first != total) return false;
        first = total;
    }
    return true;
}

void spad__induction_find_guarded(spad__induction *induction, const spad_kernel *kernel) {
    size_t end = 0; /* of the outermost `if` that is open */
    for (size_t i = 0; i < spad_kernel_statement_count(kernel); i++) {
        const spad_statement *s = spad_kernel_get_statement(kernel, i);
        const bool branch = s->kind == SPAD_STATEMENT_IF || s->kind == SPAD_STATEMENT_ELSE;
        if (branch && s->end > end) end = s->end;
        if (s->kind != SPAD_STATEMENT_FOR) continue;
        induction->guarded[s->item] = i < end;
        for (int64_t l = s->loop; l >= 0; l = spad_kernel_get_loop(kernel, (size_t)l)->outer) {
            if (spad__loop_breaks(kernel, l)) induction->guarded[s->item] = true;
        }
    }
}

void spad__induction_count_runs(spad__induction *induction, const spad_kernel *kernel) {
    int32_t known = -1; /* the group that `same` is about */
    bool same = false;
    for (size_t i = 0; i < spad_kernel_loop_count(kernel); i++) {
        if (induction->extra[i] == 0) continue;
        spad__assert(induction->group[i] >= 0); /* what grows is in a group */
        const size_t group = (size_t)induction->group[i];
        const size_t head = spad_kernel_get_loop(kernel, i)->statement;
        if (known != induction->group[i]) same = have_same_total(induction, kernel, group);
        known = induction->group[i];
        induction->counted[i] =
            same && spad__induction_runs(induction, kernel, head, group, &induction->runs[i]);
    }
}

int64_t spad__induction_run_length(const spad__induction *induction, const spad_kernel *kernel,
                                   int64_t loop, const int64_t *values) {
    const spad_kernel_loop *row = spad_kernel_get_loop(kernel, (size_t)loop);
    spad__assert(induction->cut_loops != NULL && row->from != 0); /* bounds that change */
    int64_t length;
    if (!spad__sub(spad__kernel_evaluate(kernel, row->to, values),
                   spad__kernel_evaluate(kernel, row->from, values), &length)) {
        return 0;
    }
    return length;
}
