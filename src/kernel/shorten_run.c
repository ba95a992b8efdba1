/* SPDX-License-Identifier: Apache-2.0
 *
 * Such a loop has an IF around its body that lets the iterations of a run pass: i < E
 * (builder_loop.c). With b the first i and c = b + keep it becomes
 *
 *     i < E and i < c + (E - c) % period
 *
 * which is i < E while E < c, since the right side is at least c then, and i < c + (E - c) % period
 * from c on, since that is at most E. The counter then ends in front of c + period, whatever the
 * parameters are.
 */
#include "kernel/shorten_run.h"

#include "base/assert.h"
#include "base/checked.h"

/* The IF that stands for the bounds of a loop; NULL: it has none. */
static spad_statement *guard_of(const spad_kernel *kernel, int64_t loop) {
    const size_t number = kernel->loops.items[loop].statement + 1;
    if (number >= kernel->statements.count) return NULL;
    spad_statement *s = &kernel->statements.items[number];
    return (s->flags & SPAD_IF_OF_LOOP) != 0 && s->kind == SPAD_STATEMENT_IF && s->loop == loop
               ? s
               : NULL;
}

bool spad__loop_can_be_shortened(const spad_kernel *kernel, int64_t loop) {
    const int64_t step = kernel->loops.items[loop].step.value;
    const spad_statement *guard = guard_of(kernel, loop);
    return guard != NULL && guard->comparison_count == 1 && (step == 1 || step == -1);
}

spad_status spad__kernel_shorten(spad_kernel *kernel, int64_t loop, int64_t keep, int64_t period,
                                 spad_error *error) {
    spad__kernel_builder builder = {.kernel = kernel}; /* expressions need no more */
    spad_kernel_loop *row = &kernel->loops.items[loop];
    spad_statement *guard = guard_of(kernel, loop);
    spad__assert(guard != NULL); /* spad__loop_can_be_shortened */
    spad_comparison *both = spad__arena_array(&kernel->arena, 2, sizeof *both);
    if (both == NULL) return spad__fail_host_memory(error);
    int64_t from, end;
    if (!spad__add(row->begin.value, keep, &from) || !spad__add(from, period - 1, &end)) {
        return spad__fail(error, SPAD_ERR_OVERFLOW, "a loop ends beyond 64 bits");
    }
    both[0] = guard->comparisons[0];
    both[1] = both[0];
    spad_expr number, rest, turns;
    spad_status status = spad__kernel_builder_number(&number, &builder, from, error);
    if (status == SPAD_OK) {
        status = spad__kernel_builder_apply(&rest, &builder, SPAD_EXPR_SUB, both[0].right, number,
                                            error);
    }
    if (status == SPAD_OK) status = spad__kernel_builder_number(&turns, &builder, period, error);
    if (status == SPAD_OK) {
        status = spad__kernel_builder_apply(&rest, &builder, SPAD_EXPR_MOD, rest, turns, error);
    }
    if (status == SPAD_OK) {
        status = spad__kernel_builder_apply(&both[1].right, &builder, SPAD_EXPR_ADD, number, rest,
                                            error);
    }
    if (status != SPAD_OK) return status;
    guard->comparisons = both;
    guard->comparison_count = 2;
    row->end = (spad_amount){.value = end};
    return SPAD_OK;
}
