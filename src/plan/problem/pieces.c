/* SPDX-License-Identifier: Apache-2.0
 *
 * Fewer pieces for the same item. A chain of reshapes is one alias group whose members follow each
 * other, and a gap in which nothing else lives has no effect: joined, such an item is a box, for
 * which there is a faster search.
 *
 * Two pieces of an item with the same bytes and lanes whose sections overlap or touch are one. If
 * they only touch, there may be a time between them at which the item is not in use. But a piece of
 * another item that is in use only then has a section of its own, which would be between
 * them; any other one is also in use with one of the two. So no conflict is added. A piece whose
 * bytes, sections and lanes are within those of another piece of the item adds nothing.
 * O(k) for the k pieces of one buffer, O(k log k) for those of a group, and O(k^2) for the last
 * rule, which is left out above FEW_PIECES.
 */
#include "plan/problem/pieces.h"

#include <stdlib.h>

#include "plan/problem/in_place.h"

enum { FEW_PIECES = 16 };

static int compare_two(int64_t a, int64_t b) {
    return (a > b) - (a < b);
}

static int by_bytes(const void *x, const void *y) {
    const spad__piece *a = x;
    const spad__piece *b = y;
    if (a->lo != b->lo) return compare_two(a->lo, b->lo);
    if (a->hi != b->hi) return compare_two(a->hi, b->hi);
    if (a->lanes != b->lanes) return compare_two(a->lanes, b->lanes);
    if (a->begin != b->begin) return compare_two(a->begin, b->begin);
    return compare_two(a->buffer, b->buffer);
}

static int by_first_section(const void *x, const void *y) {
    const spad__piece *a = x;
    const spad__piece *b = y;
    return a->begin != b->begin ? compare_two(a->begin, b->begin) : by_bytes(x, y);
}

static bool is_within(const spad__piece *a, const spad__piece *b) {
    return b->lo <= a->lo && a->hi <= b->hi && b->begin <= a->begin && a->end <= b->end &&
           a->lanes <= b->lanes;
}

/* Pieces that follow each other with the same bytes; what is left of them. */
static int32_t join_touching(spad__piece *p, int32_t count) {
    int32_t last = 0;
    for (int32_t k = 1; k < count; k++) {
        const bool alike = p[k].lo == p[last].lo && p[k].hi == p[last].hi &&
                           p[k].lanes == p[last].lanes && p[k].begin <= p[last].end;
        if (!alike)
            p[++last] = p[k];
        else if (p[k].end > p[last].end)
            p[last].end = p[k].end;
    }
    return last + 1;
}

/* Of equal pieces there is only one by now. */
static int32_t drop_inner(spad__piece *p, int32_t count) {
    for (int32_t k = 0; k < count;) {
        bool inside = false;
        for (int32_t j = 0; j < count && !inside; j++) inside = j != k && is_within(&p[k], &p[j]);
        if (inside)
            p[k] = p[--count];
        else
            k++;
    }
    return count;
}

static int32_t join_group(spad__piece *p, int32_t count) {
    qsort(p, (size_t)count, sizeof *p, by_bytes);
    count = join_touching(p, count);
    if (count <= FEW_PIECES) count = drop_inner(p, count);
    qsort(p, (size_t)count, sizeof *p, by_first_section);
    return count;
}

void spad__pieces_join(spad__model *m) {
    for (int32_t i = 0; i < m->item_count; i++) {
        spad__item *item = &m->items[i];
        const int32_t before = item->piece_count;
        if (before < 2 || spad__in_place_takes_part(m, item)) continue;
        spad__piece *p = &m->pieces[item->piece_first];
        /* the pieces of one buffer are in the order of time */
        const bool group = p[0].buffer != p[before - 1].buffer;
        item->piece_count = group ? join_group(p, before) : join_touching(p, before);
        for (int32_t k = item->piece_count; k < before; k++) p[k] = (spad__piece){.lanes = 0};
    }
}
