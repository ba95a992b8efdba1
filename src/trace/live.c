/* SPDX-License-Identifier: Apache-2.0
 *
 * Questions about one moment of a trace: who is live, and where is room.
 *
 * Both scan the tensors that began before it.
 */
#include "base/checked.h"
#include "base/error.h"
#include "base/interval.h"
#include "base/largest.h"
#include "spad/experimental/trace_queries.h"
#include "trace/trace.h"

static bool is_live(const spad_tensor *tensor, size_t space, int64_t time) {
    return tensor->space == space && tensor->t_begin <= time && time < tensor->t_end;
}

/* ---- the largest first ------------------------------------------------------------- */

static bool larger_tensor_first(const void *context, const void *a, const void *b) {
    const spad_trace *trace = context;
    const int64_t x = *(const int64_t *)a;
    const int64_t y = *(const int64_t *)b;
    const int64_t x_bytes = trace->tensors.items[x].rect.bytes;
    const int64_t y_bytes = trace->tensors.items[y].rect.bytes;
    return x_bytes != y_bytes ? x_bytes > y_bytes : x < y;
}

spad_status spad_trace_list_live(size_t *count, int64_t *numbers, size_t capacity,
                                 const spad_trace *trace, size_t space, int64_t time,
                                 spad_error *error) {
    *count = 0;
    spad_space_stats stats;
    const spad_status status = spad_trace_get_stats(&stats, trace, space, error);
    if (status != SPAD_OK) return status;
    spad__largest list = {.items = (char *)numbers,
                          .item_size = sizeof *numbers,
                          .capacity = capacity,
                          .before = larger_tensor_first,
                          .context = trace};
    for (size_t t = 0; t < trace->tensors.count; t++) {
        const spad_tensor *tensor = &trace->tensors.items[t];
        if (tensor->t_begin > time) break; /* later ones begin later still */
        if (!is_live(tensor, space, time)) continue;
        const int64_t number = (int64_t)t;
        ++*count;
        spad__largest_offer(&list, &number);
    }
    spad__largest_finish(&list);
    return SPAD_OK;
}

/* ---- room -------------------------------------------------------------------------- */

typedef SPAD_ARRAY(spad__interval) interval_list;

static bool collect_intervals(interval_list *list, const spad_trace *trace, size_t space,
                              int64_t time) {
    for (size_t t = 0; t < trace->tensors.count; t++) {
        const spad_tensor *tensor = &trace->tensors.items[t];
        if (tensor->t_begin > time) break;
        if (!is_live(tensor, space, time) || tensor->rect.byte == SPAD_NO_BYTE) continue;
        if (!spad__array_reserve(&trace->host, list, 1)) return false;
        int64_t end;
        if (!spad__add(tensor->rect.byte, tensor->rect.bytes, &end)) end = INT64_MAX;
        list->items[list->count++] = (spad__interval){.begin = tensor->rect.byte, .end = end};
    }
    return true;
}

spad_status spad_trace_get_largest_hole(int64_t *bytes, int64_t *at, const spad_trace *trace,
                                        size_t space, int64_t time, int64_t lower, int64_t upper,
                                        spad_error *error) {
    *bytes = 0;
    *at = lower;
    spad_space_stats stats;
    const spad_status status = spad_trace_get_stats(&stats, trace, space, error);
    if (status != SPAD_OK) return status;
    int64_t extent;
    if (!spad__sub(upper, lower, &extent) || extent < 0) {
        return spad__fail(error, SPAD_ERR_ARGUMENT, "[%lld, %lld) is not a region",
                          (long long)lower, (long long)upper);
    }
    interval_list list = {0};
    if (!collect_intervals(&list, trace, space, time)) {
        spad__array_free(&trace->host, &list);
        return spad__fail_host_memory(error);
    }
    *bytes = spad__largest_gap(at, list.items, list.count, lower, upper);
    spad__array_free(&trace->host, &list);
    return SPAD_OK;
}
