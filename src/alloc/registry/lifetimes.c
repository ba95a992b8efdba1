/* SPDX-License-Identifier: Apache-2.0
 *
 * Do two buffers share bytes while both are live?
 *
 * A sweep over time. The buffers that are live stand in a binary tree over all
 * buffers sorted by offset, whose nodes know the one that ends highest. When a
 * buffer [start, end) begins to live, the highest end among the live ones that
 * begin below `end` decides: if that is above `start`, the two overlap, else
 * no pair with this one does. O(n log n) time, O(n) memory; how the buffers came
 * to share bytes does not matter.
 */
#include "alloc/registry/registry.h"

#include <stdlib.h>

#include "base/checked.h"
#include "base/moment.h"

/* A buffer that takes part. */
typedef struct life_span {
    int64_t start;
    int64_t end;
    size_t buffer;
} life_span;

static int by_start(const void *a, const void *b) {
    const life_span *x = a;
    const life_span *y = b;
    if (x->start != y->start) return x->start < y->start ? -1 : 1;
    return (x->buffer > y->buffer) - (x->buffer < y->buffer);
}

/* Leaf i is tree[leaves + i], the root tree[1]; a node holds 1 + the number of
 * the living span below it that ends highest, or 0. */
typedef struct life_sweep {
    life_span *spans; /* sorted by start */
    size_t count;
    size_t leaves; /* a power of two */
    size_t *tree;
    size_t *rank; /* by buffer: its place in spans */
    spad__moment *events;
} life_sweep;

static size_t higher(const life_sweep *s, size_t a, size_t b) {
    if (a == 0 || b == 0) return a + b;
    return s->spans[b - 1].end > s->spans[a - 1].end ? b : a;
}

static void set_live(const life_sweep *s, size_t number, bool live) {
    size_t node = s->leaves + number;
    s->tree[node] = live ? number + 1 : 0;
    for (node /= 2; node > 0; node /= 2) {
        s->tree[node] = higher(s, s->tree[2 * node], s->tree[2 * node + 1]);
    }
}

/* Spans that begin below an offset. */
static size_t count_below(const life_sweep *s, int64_t offset) {
    size_t low = 0;
    size_t high = s->count;
    while (low < high) {
        const size_t middle = low + (high - low) / 2;
        if (s->spans[middle].start < offset) {
            low = middle + 1;
        } else {
            high = middle;
        }
    }
    return low;
}

/* Of the living among the first `count` spans the one that ends highest: 1 + number, or 0. */
static size_t highest_of_first(const life_sweep *s, size_t count) {
    size_t best = 0;
    size_t left = s->leaves;
    size_t right = s->leaves + count;
    for (; left < right; left /= 2, right /= 2) {
        if (left % 2 == 1) best = higher(s, best, s->tree[left++]);
        if (right % 2 == 1) best = higher(s, best, s->tree[--right]);
    }
    return best;
}

static spad_status report_overlap(const registry_slot *slot, const life_span *a, const life_span *b,
                                  spad_registry_unit unit, spad_error *error) {
    if (a->buffer > b->buffer) {
        const life_span *swap = a;
        a = b;
        b = swap;
    }
    const spad_registry_buffer *x = &slot->group->buffers.items[a->buffer].declared;
    const spad_registry_buffer *y = &slot->group->buffers.items[b->buffer].declared;
    spad__fail(
        error, SPAD_ERR_OVERLAP,
        "buffers '%s' and '%s' of component '%s' share %s [%lld, %lld) and are both live "
        "in steps [%lld, %lld); drop the alias, or end one of them earlier",
        x->name, y->name, slot->name, unit == SPAD_REGISTRY_UNIT_ELEMENT ? "elements" : "bytes",
        (long long)spad__max(a->start, b->start), (long long)spad__min(a->end, b->end),
        (long long)spad__max(x->t_begin, y->t_begin), (long long)spad__min(x->t_end, y->t_end));
    spad__fact_names(error, x->name, y->name);
    return SPAD_ERR_OVERLAP;
}

static bool takes_part(const registry_slot *slot, const registry_layout *layout, size_t i) {
    const spad_registry_slice *slice = &layout->slices.items[i];
    return slice->region == SPAD_REGISTRY_REGION_SHARED && slice->length > 0 &&
           spad__registry_has_lifetime(&slot->group->buffers.items[i].declared);
}

static void fill_spans(life_sweep *s, const registry_slot *slot, const registry_layout *layout) {
    size_t n = 0;
    for (size_t i = 0; i < layout->slices.count; i++) {
        if (!takes_part(slot, layout, i)) continue;
        const spad_registry_slice *slice = &layout->slices.items[i];
        const spad_registry_buffer *buffer = &slot->group->buffers.items[i].declared;
        s->spans[n] = (life_span){slice->offset, slice->offset + slice->length, i};
        s->events[2 * n] = (spad__moment){buffer->t_begin, i, true};
        s->events[2 * n + 1] = (spad__moment){buffer->t_end, i, false};
        n++;
    }
    qsort(s->spans, s->count, sizeof *s->spans, by_start);
    for (size_t i = 0; i < s->count; i++) s->rank[s->spans[i].buffer] = i;
    spad__sort_moments(s->events, 2 * s->count);
}

static spad_status run_life_sweep(const life_sweep *s, const registry_slot *slot,
                                  spad_registry_unit unit, spad_error *error) {
    for (size_t i = 0; i < 2 * s->count; i++) {
        const size_t number = s->rank[s->events[i].buffer];
        if (s->events[i].begins) {
            const life_span *born = &s->spans[number];
            const size_t found = highest_of_first(s, count_below(s, born->end));
            if (found != 0 && s->spans[found - 1].end > born->start) {
                return report_overlap(slot, &s->spans[found - 1], born, unit, error);
            }
        }
        set_live(s, number, s->events[i].begins);
    }
    return SPAD_OK;
}

spad_status spad__registry_check_lifetimes(const spad_host *host, const registry_slot *slot,
                                           const registry_layout *layout, spad_registry_unit unit,
                                           spad_error *error) {
    life_sweep s = {.leaves = 1};
    for (size_t i = 0; i < layout->slices.count; i++) s.count += takes_part(slot, layout, i);
    if (s.count < 2) return SPAD_OK;
    while (s.leaves < s.count) s.leaves *= 2;
    spad__arena memory = {.host = *host};
    s.spans = spad__arena_array(&memory, s.count, sizeof *s.spans);
    s.events = spad__arena_array(&memory, s.count, 2 * sizeof *s.events);
    s.tree = spad__arena_array(&memory, s.leaves, 2 * sizeof *s.tree);
    s.rank = spad__arena_array(&memory, layout->slices.count, sizeof *s.rank);
    spad_status status;
    if (s.spans == NULL || s.events == NULL || s.tree == NULL || s.rank == NULL) {
        status = spad__fail_host_memory(error);
    } else {
        fill_spans(&s, slot, layout);
        status = run_life_sweep(&s, slot, unit, error);
    }
    spad__arena_free(&memory);
    return status;
}
