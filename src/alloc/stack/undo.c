/* SPDX-License-Identifier: Apache-2.0
 *
 * The scoped manager: checkpoints, and guards for C scopes.
 *
 * A checkpoint remembers the innermost scope, the newest tensor of its section,
 * the newest heap tensor and the cursors. It can be returned to as long as those
 * three still exist and the scope has not changed its section: then everything
 * since is on top, and undoing it is dropping what is newer.
 */
#include "alloc/stack/stack.h"
#include "base/assert.h"
#include "base/checked.h"
#include "base/error.h"
#include "spad/experimental/trace_queries.h"

spad_stack_checkpoint spad_stack_mark(const spad_stack *stack) {
    spad_stack_checkpoint mark = {
        .stack = stack,
        .stack_address = stack->sp,
        .heap_address = stack->hp,
        .depth = stack->scopes.count,
        .heap_count = stack->heap.count,
        .heap_newest = -1,
        .section_newest = -1,
        .name_count = stack->names.names.count,
        .overlap_count = stack->overlap_count,
        .stats = stack->stats,
    };
    const stack_scope *top = spad__stack_top(stack);
    if (top != NULL) {
        const int64_t newest = spad__stack_section(stack, top)->newest;
        mark.scope_serial = top->serial;
        mark.increments = top->increments;
        mark.next_section = top->next_section;
        mark.scope_high = top->high;
        if (newest != -1) mark.section_newest = stack->records.items[newest].number;
    }
    if (stack->heap.count > 0) {
        const int64_t newest = stack->heap.items[stack->heap.count - 1].record;
        mark.heap_newest = stack->records.items[newest].number;
    }
    return mark;
}

static spad_status stale(const char *why, const char *scope, spad_error *error) {
    spad__fail(error, SPAD_ERR_STALE, "the checkpoint is stale: %s", why);
    spad__fact_names(error, scope, NULL);
    return SPAD_ERR_STALE;
}

/* The record of the section that was the newest one then; -1: there was none.
 * Numbers fall along the list, and none is given twice. */
static spad_status find_newest(int64_t *out, const spad_stack *stack, const stack_scope *scope,
                               const spad_stack_checkpoint *mark, spad_error *error) {
    int64_t r = spad__stack_section(stack, scope)->newest;
    while (r != -1 && stack->records.items[r].number > mark->section_newest) {
        r = stack->records.items[r].next;
    }
    *out = r;
    const int64_t number = r != -1 ? stack->records.items[r].number : -1;
    if (number == mark->section_newest) return SPAD_OK;
    return stale("a tensor that was live then has been undone", scope->name, error);
}

static spad_status check_fresh(int64_t *section_newest, const spad_stack *stack,
                               const spad_stack_checkpoint *mark, spad_error *error) {
    *section_newest = -1;
    if (mark->stack != stack) return stale("it is from another manager", NULL, error);
    if (mark->heap_count > 0) {
        const stack_heap_entry *entry =
            mark->heap_count <= stack->heap.count ? &stack->heap.items[mark->heap_count - 1] : NULL;
        if (entry == NULL || stack->records.items[entry->record].number != mark->heap_newest) {
            return stale("a heap tensor that was live then has been popped", NULL, error);
        }
    }
    if (mark->depth == 0) return SPAD_OK;
    const stack_scope *scope =
        mark->depth <= stack->scopes.count ? &stack->scopes.items[mark->depth - 1] : NULL;
    if (scope == NULL || scope->serial != mark->scope_serial) {
        return stale("a scope that was open then is closed", NULL, error);
    }
    if (scope->increments != mark->increments) {
        return stale("its scope has moved to another section", scope->name, error);
    }
    return find_newest(section_newest, stack, scope, mark, error);
}

/* The lower of the two: a checkpoint from a time that has itself been undone
 * brings no peak of that time back. */
static spad_stack_stats earlier_stats(spad_stack_stats a, spad_stack_stats b) {
    return (spad_stack_stats){
        .peak_stack = spad__min(a.peak_stack, b.peak_stack),
        .peak_heap = spad__min(a.peak_heap, b.peak_heap),
        .peak_combined = spad__min(a.peak_combined, b.peak_combined),
        .stack_allocations = spad__min(a.stack_allocations, b.stack_allocations),
        .heap_allocations = spad__min(a.heap_allocations, b.heap_allocations),
    };
}

static void restore(spad_stack *stack, const spad_stack_checkpoint *mark) {
    spad__assert(stack->scopes.count == mark->depth && stack->heap.count == mark->heap_count);
    spad__assert(mark->name_count <= stack->names.names.count);
    stack->sp = mark->stack_address;
    stack->hp = mark->heap_address;
    stack->stats = earlier_stats(stack->stats, mark->stats);
    spad__stack_expect_peaks(stack);
    spad__names_truncate(&stack->names, mark->name_count);
    stack->overlap_count = spad__min(stack->overlap_count, mark->overlap_count);
    if ((int64_t)stack->overlaps.count > stack->overlap_count) {
        stack->overlaps.count = (size_t)stack->overlap_count;
    }
}

spad_status spad_stack_rollback(spad_stack *stack, const spad_stack_checkpoint *checkpoint,
                                spad_error *error) {
    int64_t section_newest;
    spad_status status = check_fresh(&section_newest, stack, checkpoint, error);
    if (status != SPAD_OK) return status;
    if (stack->trace != NULL) {
        const stack_scope *innermost = spad__stack_top(stack);
        status = spad_trace_rollback(stack->trace, stack->space_number,
                                     innermost != NULL ? innermost->traced : -1, error);
        if (status != SPAD_OK) return status;
    }
    while (stack->heap.count > checkpoint->heap_count) spad__stack_drop_heap(stack);
    while (stack->scopes.count > checkpoint->depth) spad__stack_drop_scope(stack);
    stack_scope *top = spad__stack_top(stack);
    if (top != NULL) {
        spad__stack_end_records(stack, spad__stack_section(stack, top), section_newest);
        top->next_section = checkpoint->next_section;
        top->high = checkpoint->scope_high;
    }
    restore(stack, checkpoint);
    spad__assert_valid(stack->records.count + stack->scopes.count > SPAD__FEW ||
                       spad__stack_is_valid(stack));
    return SPAD_OK;
}

/* ---- guards ------------------------------------------------------------------------ */

spad_stack_guard spad_stack_enter(spad_stack *stack, int64_t interleave, const char *name,
                                  spad_error *error) {
    spad_stack_guard guard = {.stack = stack, .depth = stack->scopes.count};
    guard.status = spad_stack_open_scope(stack, interleave, name, error);
    if (guard.status == SPAD_OK) {
        const stack_scope *top = spad__stack_top(stack);
        spad__assert(top != NULL);
        guard.serial = top->serial;
    } else {
        guard.stack = NULL;
    }
    return guard;
}

void spad_stack_leave(spad_stack_guard *guard) {
    spad_stack *stack = guard->stack;
    guard->stack = NULL;
    if (stack == NULL) return;
    while (stack->scopes.count > guard->depth &&
           stack->scopes.items[guard->depth].serial == guard->serial) {
        spad_stack_close_scope(stack, NULL); /* cannot fail: a scope is open */
    }
}
