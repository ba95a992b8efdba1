/* SPDX-License-Identifier: Apache-2.0
 *
 * The scoped manager: checkpoints, and guards for C scopes.
 *
 * A checkpoint remembers the innermost scope, the newest heap tensor and the
 * cursors. It can be returned to as long as those two still exist and the
 * scope has not changed its section: then everything since lies on top, and
 * undoing it is dropping what is newer.
 */
#include "alloc/stack.h"
#include "base/error.h"

spad_stack_checkpoint spad_stack_mark(const spad_stack *stack) {
    spad_stack_checkpoint mark = {
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
        const stack_section *section = spad__stack_section(stack, top);
        mark.scope_serial = top->serial;
        mark.increments = top->increments;
        mark.next_section = top->next_section;
        mark.scope_high = top->high;
        mark.section_newest = section->newest;
    }
    if (stack->heap.count > 0) {
        const int64_t newest = stack->heap.items[stack->heap.count - 1].record;
        mark.heap_newest = stack->records.items[newest].number;
    }
    return mark;
}

static spad_status check_fresh(const spad_stack *stack, const spad_stack_checkpoint *mark,
                               spad_error *error) {
    if (mark->depth > 0) {
        const stack_scope *scope =
            mark->depth <= stack->scopes.count ? &stack->scopes.items[mark->depth - 1] : NULL;
        if (scope == NULL || scope->serial != mark->scope_serial) {
            return spad__fail(error, SPAD_ERR_STALE,
                              "the checkpoint is stale: a scope that was open then is closed");
        }
        if (scope->increments != mark->increments) {
            spad__fail(error, SPAD_ERR_STALE,
                       "the checkpoint is stale: its scope has gone to another section");
            spad__fact_names(error, scope->name, NULL);
            return SPAD_ERR_STALE;
        }
    }
    if (mark->heap_count > 0) {
        const stack_heap_entry *entry =
            mark->heap_count <= stack->heap.count ? &stack->heap.items[mark->heap_count - 1] : NULL;
        if (entry == NULL || stack->records.items[entry->record].number != mark->heap_newest) {
            return spad__fail(error, SPAD_ERR_STALE,
                              "the checkpoint is stale: a heap tensor of then has been popped");
        }
    }
    return SPAD_OK;
}

/* Trace events that undoing needs: one for each tensor and scope, and its own. */
static size_t count_events(const spad_stack *stack, const spad_stack_checkpoint *mark) {
    size_t count = 1 + stack->heap.count - mark->heap_count;
    for (size_t d = mark->depth; d < stack->scopes.count; d++) {
        const stack_scope *scope = &stack->scopes.items[d];
        for (size_t i = 0; i < scope->entered; i++) {
            const stack_section *section = &stack->sections.items[scope->first_section + i];
            count += spad__stack_count_records(stack, section, -1);
        }
        count++;
    }
    if (mark->depth > 0) {
        const stack_section *section =
            spad__stack_section(stack, &stack->scopes.items[mark->depth - 1]);
        count += spad__stack_count_records(stack, section, mark->section_newest);
    }
    return count;
}

static void restore(spad_stack *stack, const spad_stack_checkpoint *mark) {
    stack->sp = mark->stack_address;
    stack->hp = mark->heap_address;
    stack->stats = mark->stats; /* with it, the numbers given out */
    spad__names_truncate(&stack->names, mark->name_count);
    stack->overlap_count = mark->overlap_count;
    if ((int64_t)stack->overlaps.count > mark->overlap_count) {
        stack->overlaps.count = (size_t)mark->overlap_count;
    }
}

spad_status spad_stack_rollback(spad_stack *stack, const spad_stack_checkpoint *checkpoint,
                                spad_error *error) {
    spad_status status = check_fresh(stack, checkpoint, error);
    if (status != SPAD_OK) return status;
    if (stack->trace != NULL) {
        status = spad_trace_reserve(stack->trace, count_events(stack, checkpoint), error);
        if (status != SPAD_OK) return status;
        spad_trace_rollback(stack->trace, NULL);
    }
    while (stack->heap.count > checkpoint->heap_count) spad__stack_drop_heap(stack);
    while (stack->scopes.count > checkpoint->depth) spad__stack_drop_scope(stack);
    stack_scope *top = spad__stack_top(stack);
    if (top != NULL) {
        stack_section *section = spad__stack_section(stack, top);
        spad__stack_end_records(stack, section, checkpoint->section_newest);
        top->next_section = checkpoint->next_section;
        top->high = checkpoint->scope_high;
    }
    restore(stack, checkpoint);
    return SPAD_OK;
}

/* ---- guards ------------------------------------------------------------------------------ */

spad_stack_guard spad_stack_enter(spad_stack *stack, int64_t interleave, const char *name,
                                  spad_error *error) {
    spad_stack_guard guard = {.stack = stack, .depth = stack->scopes.count};
    guard.status = spad_stack_open_scope(stack, interleave, name, error);
    if (guard.status != SPAD_OK) guard.stack = NULL;
    return guard;
}

/* Host memory can only be missing for the trace; the scopes are then left open. */
void spad_stack_leave(spad_stack_guard *guard) {
    if (guard->stack == NULL) return;
    while (guard->stack->scopes.count > guard->depth) {
        if (spad_stack_close_scope(guard->stack, NULL) != SPAD_OK) break;
    }
    guard->stack = NULL;
}
