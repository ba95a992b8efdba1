/* SPDX-License-Identifier: Apache-2.0
 *
 * A trace as a planning problem: event numbers are times, tensors without an
 * address are buffers, tensors with one are pins.
 */
#include <stdio.h>
#include <string.h>

#include "base/checked.h"
#include "base/error.h"
#include "plan/problem/problem.h"
#include "spad/experimental/trace_queries.h"

enum { LABEL_SIZE = 24 }; /* '#' and any 64-bit number */

/* The name, or if it is taken, the name with the tensor's number after it, or the next
 * number that makes it free; in the arena. NULL: no memory. */
static const char *free_name(spad_plan *plan, const char *name, size_t number) {
    const size_t length = strlen(name);
    if (spad__plan_find(plan, name, length) < 0) return name;
    char *longer = spad__arena_new(&plan->arena, length + LABEL_SIZE);
    if (longer == NULL) return NULL;
    memcpy(longer, name, length);
    do {
        snprintf(longer + length, LABEL_SIZE, "#%zu", number++);
    } while (spad__plan_find(plan, longer, strlen(longer)) >= 0);
    return longer;
}

static spad_status add_tensor(spad_plan *plan, const spad_tensor *tensor, size_t number,
                              int64_t end, spad_error *error) {
    spad_plan_buffer buffer = {
        .lower = tensor->t_begin,
        .upper = spad__min(tensor->t_end, end),
        .size = tensor->rect.bytes,
        .lanes = tensor->rect.lanes,
    };
    if (tensor->rect.byte != SPAD_NO_BYTE) {
        buffer.pinned = true;
        buffer.offset = tensor->rect.byte;
        buffer.lane = tensor->rect.lane;
    } else { /* as the online allocators align by default */
        buffer.alignment = spad_dtype_bytes(tensor->dtype);
    }
    if (tensor->name != NULL && *tensor->name != '\0') {
        buffer.name = free_name(plan, tensor->name, number);
        if (buffer.name == NULL) return spad__fail_host_memory(error);
    }
    return spad_plan_add(NULL, plan, &buffer, error);
}

spad_status spad_plan_add_trace(size_t *first, spad_plan *plan, const spad_trace *trace,
                                size_t space, spad_error *error) {
    const size_t before = plan->buffers.count;
    const spad__arena_mark mark = spad__arena_here(&plan->arena);
    const int64_t end = (int64_t)spad_trace_event_count(trace);
    if (first != NULL) *first = SIZE_MAX;
    spad_space_stats stats;
    spad_status status =
        spad_trace_get_stats(&stats, trace, space, error); /* is there such a space? */
    for (size_t i = 0; status == SPAD_OK && i < spad_trace_tensor_count(trace); i++) {
        const spad_tensor *tensor = spad_trace_get_tensor(trace, i);
        if (tensor->space == space) status = add_tensor(plan, tensor, i, end, error);
    }
    if (status != SPAD_OK) {
        spad__plan_forget(plan, before);
        spad__arena_rewind(&plan->arena, mark);
        return status;
    }
    if (first != NULL) *first = before;
    return SPAD_OK;
}
