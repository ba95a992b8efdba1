/* SPDX-License-Identifier: Apache-2.0
 *
 * Sums up the unplaced boxes inside a valley (valley.c), section by section.
 *
 * Gaps. In a plan in which no box can be moved down, the floor of a valley is covered, side by side
 * and without a gap, by the boxes that rest on it and by sections that give up bytes. Where no
 * section has slack there are only boxes: one may rest there only if a chain of boxes leads from
 * the left border to its begin, and another from its end to the right border. Every box that rests
 * there is in such a chain, so dropping the others loses no plan, and few are left.
 *
 * O(boxes and sections of the valley).
 */
#include "plan/search/tally.h"

#define NO_SIZE INT64_MAX

bool spad__tallies_allocate(spad__tallies *t, spad__arena *arena, const spad__boxes *boxes) {
    const size_t n = (size_t)boxes->count;
    const size_t s = (size_t)boxes->sections + 2;
    t->boxes = boxes;
    t->at = spad__arena_array(arena, s, sizeof *t->at);
    t->unplaced = spad__arena_array(arena, n / 64 + 1, sizeof *t->unplaced);
    t->inside = spad__arena_array(arena, n, sizeof *t->inside);
    return t->at != NULL && t->unplaced != NULL && t->inside != NULL;
}

/* Counts the boxes inside a valley that are in a chain. They are listed by begin, so chains from
 * the left are complete, and those from the right are when they are needed. */
static void count_chained(spad__tallies *t, int32_t kinds) {
    const spad__boxes *b = t->boxes;
    for (int32_t k = kinds - 1; k >= 0; k--) {
        const int32_t begin = b->begin[t->inside[k]];
        const int32_t end = b->end[t->inside[k]];
        if (!t->at[end].to_right) continue;
        t->at[begin].to_right = true;
        if (!t->at[begin].from_left) continue;
        t->at[begin].count++;
        t->at[end].count--;
    }
}

/* `tight` is a constant where it is called: most of the time of a search is spent here. */
static inline bool tally_valley(spad__tallies *t, int32_t l, int32_t r, bool tight) {
    const spad__boxes b = *t->boxes;
    spad__tally *const at = t->at;
    for (int32_t s = l; s <= r; s++) at[s] = (spad__tally){0, NO_SIZE, NO_SIZE, 0, false, false};
    at[l].from_left = true;
    at[r].to_right = true;
    int32_t before = -1;
    int32_t kinds = 0;
    const int32_t stop = b.first[r];
    for
        SPAD__EACH_UNPLACED(t, i, b.first[l], stop) {
            const int32_t end = b.end[i];
            if (end > r) continue;
            const int32_t begin = b.begin[i];
            const int64_t size = b.size[i];
            const int32_t kind = !(b.twin[i] && before == i - 1);
            before = i;
            at[begin].sum += size;
            at[end].sum -= size;
            if (size < at[begin].least_begin) at[begin].least_begin = size;
            if (size < at[end].least_end) at[end].least_end = size;
            if (tight) {
                at[end].from_left |= at[begin].from_left;
                t->inside[kinds] = i;
                kinds += kind;
            } else {
                at[begin].count += kind;
                at[end].count -= kind;
            }
        }
    if (tight) count_chained(t, kinds);
    return before >= 0;
}

bool spad__tally_boxes(spad__tallies *t, int32_t l, int32_t r) {
    return t->tight ? tally_valley(t, l, r, true) : tally_valley(t, l, r, false);
}
