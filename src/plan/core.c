/* SPDX-License-Identifier: Apache-2.0
 *
 * In a large problem the peak is often narrow: a few per cent of the sections have
 * most of the load, and only there does waste cost height. So the boxes over those
 * sections are packed first, without the rest of time, which is a much smaller
 * problem; the others are then packed around them (skyline.c), where there is room.
 * O(n + sections).
 */
#include "plan/core.h"

#include "base/checked.h"

static bool allocate(spad__core *c, size_t n, size_t sections) {
    spad__boxes *b = &c->boxes;
    spad__arena *arena = &b->arena;
    c->origin = spad__arena_new(arena, (n + 1) * sizeof *c->origin);
    b->begin = spad__arena_new(arena, (n + 1) * sizeof *b->begin);
    b->end = spad__arena_new(arena, (n + 1) * sizeof *b->end);
    b->size = spad__arena_new(arena, (n + 1) * sizeof *b->size);
    b->first = spad__arena_new(arena, (sections + 2) * sizeof *b->first);
    b->load = spad__arena_new(arena, (sections + 2) * sizeof *b->load);
    return c->origin != NULL && b->begin != NULL && b->end != NULL && b->size != NULL &&
           b->first != NULL && b->load != NULL;
}

/* number[s]: busy sections before s, for s up to the number of sections. */
static void number_busy(const spad__boxes *whole, int64_t percent, int32_t *number) {
    const int64_t busy = whole->max_load / 100 * percent;
    int32_t count = 0;
    for (int32_t s = 0; s < whole->sections; s++) {
        number[s] = count;
        count += whole->load[s] >= busy;
    }
    number[whole->sections] = count;
}

bool spad__core_build(spad__core *c, const spad__boxes *whole, int64_t percent) {
    *c = (spad__core){.boxes.arena.host = whole->arena.host};
    spad__boxes *b = &c->boxes;
    int32_t *number = spad__arena_new(&b->arena, ((size_t)whole->sections + 1) * sizeof *number);
    if (number == NULL) return false;
    number_busy(whole, percent, number);
    b->sections = number[whole->sections];
    b->unit = whole->unit;
    b->max_load = whole->max_load;
    if (!allocate(c, (size_t)whole->count, (size_t)b->sections)) return false;
    for (int32_t i = 0; i < whole->count; i++) {
        const int32_t begin = number[whole->begin[i]];
        const int32_t end = number[whole->end[i]];
        if (begin == end) continue;
        const int32_t k = b->count++;
        b->begin[k] = begin;
        b->end[k] = end;
        b->size[k] = whole->size[i];
        b->first[begin + 1]++;
        c->origin[k] = i;
    }
    for (int32_t s = 0; s < whole->sections; s++) b->load[number[s]] = whole->load[s];
    for (int32_t s = 0; s < b->sections; s++) b->first[s + 1] += b->first[s];
    return true;
}

void spad__core_free(spad__core *c) {
    spad__arena_free(&c->boxes.arena);
}
