/* SPDX-License-Identifier: Apache-2.0
 *
 * In a large problem the peak is often narrow: a few per cent of the sections have
 * most of the load, and only there does waste cost height. So the boxes over a window
 * of sections around the peak are packed first, without the rest of time, which is a
 * much smaller problem; the others are then packed around them (skyline.c), where there
 * is room. Two boxes that both reach into the window and are live together outside it are
 * live together at its border, so a plan of the core is one in all sections.
 * O(n + sections).
 */
#include "plan/search/narrow_peak.h"

#include "base/checked.h"

static bool allocate_core(spad__core *c, size_t n, size_t sections) {
    c->origin = spad__arena_array(&c->boxes.arena, n + 1, sizeof *c->origin);
    return c->origin != NULL && spad__boxes_take(&c->boxes, n, sections);
}

/* The run of sections around the peak with at least that share of its load. */
static void find_window(const spad__boxes *whole, int64_t percent, int32_t *begin, int32_t *end) {
    const int64_t busy = whole->max_load / 100 * percent;
    *begin = whole->peak;
    *end = whole->peak + 1;
    while (*begin > 0 && whole->load[*begin - 1] >= busy) (*begin)--;
    while (*end < whole->sections && whole->load[*end] >= busy) (*end)++;
}

static int32_t clip(int32_t section, int32_t begin, int32_t end) {
    return (section < begin ? begin : section > end ? end : section) - begin;
}

bool spad__core_build(spad__core *c, const spad__boxes *whole, int64_t percent) {
    *c = (spad__core){.boxes.arena.host = whole->arena.host};
    spad__boxes *b = &c->boxes;
    int32_t window_begin;
    int32_t window_end;
    find_window(whole, percent, &window_begin, &window_end);
    b->sections = window_end - window_begin;
    b->unit = whole->unit;
    b->max_load = whole->max_load;
    if (!allocate_core(c, (size_t)whole->count, (size_t)b->sections)) return false;
    for (int32_t i = 0; i < whole->count; i++) {
        const int32_t begin = clip(whole->begin[i], window_begin, window_end);
        const int32_t end = clip(whole->end[i], window_begin, window_end);
        if (begin == end) continue;
        const int32_t k = b->count++;
        b->begin[k] = begin;
        b->end[k] = end;
        b->size[k] = whole->size[i];
        b->first[begin + 1]++;
        c->origin[k] = i;
    }
    for (int32_t s = 0; s < b->sections; s++) {
        b->load[s] = whole->load[window_begin + s];
        b->first[s + 1] += b->first[s];
    }
    return true;
}

void spad__core_free(spad__core *c) {
    spad__arena_free(&c->boxes.arena);
}
