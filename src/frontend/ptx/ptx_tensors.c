/* SPDX-License-Identifier: Apache-2.0
 *
 * Sorts the runs of all accesses and joins those that overlap.
 *
 * A kernel that moves single words leaves thousands of ranges that only touch. Beyond
 * MOST_APART of them, ranges that touch are joined as well: the verdict is the same, and the kernel
 * has fewer names.
 */
#include "frontend/ptx/ptx_tensors.h"

#include <stdlib.h>

enum { MOST_APART = 64 };

static int compare_ranges(const void *left, const void *right) {
    const spad__ptx_tensor *a = left, *b = right;
    if (a->tensor_memory != b->tensor_memory) return a->tensor_memory ? 1 : -1;
    if (a->cta != b->cta) return a->cta < b->cta ? -1 : 1;
    if (a->begin != b->begin) return a->begin < b->begin ? -1 : 1;
    return (a->end > b->end) - (a->end < b->end);
}

static void collect_touched_ranges(spad__ptx_tensors *out, const spad__ptx_log *log) {
    for (size_t i = 0; i < log->events.count; i++) {
        const spad__ptx_logged *e = &log->events.items[i];
        for (int32_t k = 0; k < e->event.access_count; k++) {
            const spad__ptx_event_access *a = spad__ptx_log_access(log, e, k);
            for (int32_t r = 0; r < a->run_count; r++) {
                const spad__ptx_bytes *run = spad__ptx_log_run(log, e, a, r);
                out->items.items[out->items.count++] =
                    (spad__ptx_tensor){.cta = a->cta,
                                       .tensor_memory = a->tensor_memory,
                                       .atomic = (a->kind & SPAD__PTX_ATOMIC) != 0 &&
                                                 (a->kind & SPAD__PTX_UPDATE) == SPAD__PTX_UPDATE,
                                       .remote = a->cta != e->event.cta,
                                       .begin = run->begin,
                                       .end = run->end,
                                       .row = -1};
            }
        }
    }
}

/* Joins neighbours of a sorted list that overlap, or with `touching` those without a gap too. */
static void join_ranges(spad__ptx_tensors *tensors, bool touching) {
    size_t kept = 0;
    for (size_t i = 0; i < tensors->items.count; i++) {
        const spad__ptx_tensor next = tensors->items.items[i];
        spad__ptx_tensor *last = kept > 0 ? &tensors->items.items[kept - 1] : NULL;
        const bool same = last != NULL && last->cta == next.cta &&
                          last->tensor_memory == next.tensor_memory &&
                          (next.begin < last->end || (touching && next.begin == last->end));
        if (!same) {
            tensors->items.items[kept++] = next;
            continue;
        }
        if (next.end > last->end) last->end = next.end;
        last->atomic = last->atomic || next.atomic;
        last->remote = last->remote || next.remote;
    }
    tensors->items.count = kept;
}

bool spad__ptx_find_tensors(spad__ptx_tensors *out, const spad__ptx_log *log) {
    *out = (spad__ptx_tensors){0};
    if (!spad__array_reserve(&log->host, &out->items, log->runs.count)) return false;
    collect_touched_ranges(out, log);
    if (out->items.count == 0) return true;
    qsort(out->items.items, out->items.count, sizeof *out->items.items, compare_ranges);
    join_ranges(out, false);
    if (out->items.count > MOST_APART) join_ranges(out, true);
    return true;
}

void spad__ptx_tensors_free(spad__ptx_tensors *tensors, const spad_host *host) {
    spad__array_free(host, &tensors->items);
}

spad__ptx_tensor *spad__ptx_tensor_of(const spad__ptx_tensors *tensors, bool tensor_memory,
                                      int32_t cta, int64_t begin) {
    const spad__ptx_tensor key = {.cta = cta, .tensor_memory = tensor_memory, .begin = begin};
    size_t low = 0, high = tensors->items.count; /* the last one that starts at or before `begin` */
    while (low < high) {
        const size_t middle = low + (high - low) / 2;
        const spad__ptx_tensor *t = &tensors->items.items[middle];
        const spad__ptx_tensor start = {
            .cta = t->cta, .tensor_memory = t->tensor_memory, .begin = t->begin};
        if (compare_ranges(&start, &key) <= 0) {
            low = middle + 1;
        } else {
            high = middle;
        }
    }
    if (low == 0) return NULL;
    spad__ptx_tensor *t = &tensors->items.items[low - 1];
    return t->tensor_memory == tensor_memory && t->cta == cta && begin < t->end ? t : NULL;
}
