/* SPDX-License-Identifier: Apache-2.0
 *
 * Offsets in one arena: buffers with a size, an alignment and a lifetime go to
 * offsets so that no two that are live together share bytes.
 *
 * TileLang's way (merge_shared_memory_allocations.cc): walk in order of
 * (begin, larger first, name); give the bytes of ended buffers back to a sorted
 * list of free blocks; take the free block that is left with the least, or stretch
 * the last one if it ends at the top, or go to the top. O(n^2) worst case, in
 * practice near n log n.
 *
 * Ours: several orders, first fit and best fit in each, TileLang's answer as one
 * more; the lowest top wins, and the search ends when the lower bound is met.
 * O(n^2) for each of at most a dozen tries; large inputs get fewer tries.
 *
 * This is not a call of the planner (plan/): a block has a handful of buffers, for which one of the
 * first tries meets the bound almost always, so the time to set up a problem would be most of it;
 * and TileLang's way has to be here in any case, since its addresses are promised.
 */
#include <stdlib.h>
#include <string.h>

#include "alloc/block/block.h"
#include "base/checked.h"
#include "base/error.h"

/* An item in some order: lower keys first, then names if asked, then numbers. */
typedef struct ranked_item {
    int64_t key;
    int64_t second_key;
    const char *name; /* NULL: names do not matter */
    size_t item;
} ranked_item;

static int by_rank(const void *a, const void *b) {
    const ranked_item *x = a;
    const ranked_item *y = b;
    if (x->key != y->key) return x->key < y->key ? -1 : 1;
    if (x->second_key != y->second_key) return x->second_key < y->second_key ? -1 : 1;
    const int names = x->name != NULL && y->name != NULL ? strcmp(x->name, y->name) : 0;
    if (names != 0) return names;
    return x->item < y->item ? -1 : x->item > y->item;
}

static void sort(ranked_item *order, size_t count) {
    if (count > 1) qsort(order, count, sizeof *order, by_rank);
}

/* Offsets never pass the sum of all sizes and alignments, so that after this check
 * no sum below can overflow. */
static bool sums_fit(const block_item *items, size_t count) {
    int64_t sum = 0;
    for (size_t i = 0; i < count; i++) {
        if (!spad__add(sum, items[i].bytes, &sum) || !spad__add(sum, items[i].align, &sum)) {
            return false;
        }
        if (items[i].at > 0 && !spad__add(sum, items[i].at, &sum)) return false;
    }
    return true;
}

static int64_t top_of(const block_item *items, size_t count) {
    int64_t top = 0;
    for (size_t i = 0; i < count; i++) top = spad__max(top, items[i].at + items[i].bytes);
    return top;
}

/* ---- the peak ---------------------------------------------------------------------- */

static void rank_ends(ranked_item *order, const block_item *items, size_t count) {
    for (size_t i = 0; i < count; i++) order[i] = (ranked_item){items[i].end, 0, NULL, i};
    sort(order, count);
}

static void rank_begins(ranked_item *order, const block_item *items, size_t count) {
    for (size_t i = 0; i < count; i++) order[i] = (ranked_item){items[i].begin, 0, NULL, i};
    sort(order, count);
}

/* begins, ends: room for `count` each. */
static void find_peak(int64_t *bytes, int64_t *time, const block_item *items, size_t count,
                      ranked_item *begins, ranked_item *ends) {
    *bytes = 0;
    *time = -1;
    rank_begins(begins, items, count);
    rank_ends(ends, items, count);
    int64_t live = 0;
    size_t ended = 0;
    for (size_t i = 0; i < count; i++) {
        const block_item *item = &items[begins[i].item];
        while (ended < count && ends[ended].key <= item->begin) {
            live -= items[ends[ended++].item].bytes;
        }
        live += item->bytes;
        if (live <= *bytes) continue;
        *bytes = live;
        *time = item->begin;
    }
}

spad_status spad__block_peak(int64_t *bytes, int64_t *time, const block_item *items, size_t count,
                             const spad_host *host, spad_error *error) {
    *bytes = 0;
    *time = -1;
    if (count == 0) return SPAD_OK;
    ranked_item *room = spad__new_array(host, count, 2 * sizeof *room);
    if (room == NULL) return spad__fail_host_memory(error);
    find_peak(bytes, time, items, count, room, room + count);
    spad__free(host, room, 2 * count * sizeof *room);
    return SPAD_OK;
}

/* ---- TileLang's way ---------------------------------------------------------------- */

typedef struct hole {
    int64_t begin;
    int64_t end;
} hole;

/* Free blocks, sorted, never touching each other. */
typedef struct holes {
    hole *items; /* room for twice the items and one */
    size_t count;
} holes;

static void remove_hole(holes *h, size_t i) {
    h->count--;
    memmove(&h->items[i], &h->items[i + 1], (h->count - i) * sizeof h->items[0]);
}

static void add_hole(holes *h, int64_t begin, int64_t end) {
    if (begin == end) return;
    size_t i = 0;
    while (i < h->count && h->items[i].end < begin) i++;
    if (i < h->count && h->items[i].end == begin) { /* grow the one in front */
        h->items[i].end = end;
        if (i + 1 < h->count && h->items[i + 1].begin == end) {
            h->items[i].end = h->items[i + 1].end;
            remove_hole(h, i + 1);
        }
        return;
    }
    if (i < h->count && h->items[i].begin == end) { /* or the one after */
        h->items[i].begin = begin;
        return;
    }
    memmove(&h->items[i + 1], &h->items[i], (h->count - i) * sizeof h->items[0]);
    h->items[i] = (hole){begin, end};
    h->count++;
}

/* Takes [at, at + bytes) out of hole i, which may end before it. */
static void carve_hole(holes *h, size_t i, int64_t at, int64_t bytes) {
    const hole taken = h->items[i];
    remove_hole(h, i);
    add_hole(h, taken.begin, at);
    if (at + bytes < taken.end) add_hole(h, at + bytes, taken.end);
}

static int64_t place_one(holes *h, int64_t *top, const block_item *item) {
    size_t best = h->count;
    int64_t best_rest = INT64_MAX;
    for (size_t i = 0; i < h->count; i++) {
        const hole *o = &h->items[i];
        const int64_t rest = o->end - o->begin - item->bytes;
        if (spad__align_up_fits(o->begin, item->align) + item->bytes <= o->end &&
            rest < best_rest) {
            best = i;
            best_rest = rest;
        }
    }
    if (best == h->count && h->count > 0) { /* stretch the last one */
        const hole *last = &h->items[h->count - 1];
        if (last->end == *top && spad__align_up_fits(last->begin, item->align) < *top)
            best = h->count - 1;
    }
    int64_t at;
    if (best < h->count) {
        at = spad__align_up_fits(h->items[best].begin, item->align);
        carve_hole(h, best, at, item->bytes);
    } else {
        at = spad__align_up_fits(*top, item->align);
        add_hole(h, *top, at);
    }
    *top = spad__max(*top, at + item->bytes);
    return at;
}

/* starts, ends, room: space for count, count and 2 x count + 1 items. */
static void place_as_tilelang(block_item *items, size_t count, ranked_item *starts,
                              ranked_item *ends, hole *room) {
    for (size_t i = 0; i < count; i++) {
        const char *name = items[i].name != NULL ? items[i].name : "";
        starts[i] = (ranked_item){items[i].begin, -items[i].bytes, name, i};
    }
    sort(starts, count);
    rank_ends(ends, items, count);
    holes h = {.items = room};
    int64_t top = 0;
    size_t ended = 0;
    for (size_t i = 0; i < count; i++) {
        block_item *item = &items[starts[i].item];
        /* what has ended has begun before, so it has an offset */
        for (; ended < count && ends[ended].key <= item->begin; ended++) {
            const block_item *gone = &items[ends[ended].item];
            add_hole(&h, gone->at, gone->at + gone->bytes);
        }
        item->at = place_one(&h, &top, item);
    }
}

static void place_in_row(block_item *items, size_t count, ranked_item *order) {
    for (size_t i = 0; i < count; i++) {
        order[i] = (ranked_item){0, 0, items[i].name != NULL ? items[i].name : "", i};
    }
    sort(order, count);
    int64_t top = 0;
    for (size_t i = 0; i < count; i++) {
        block_item *item = &items[order[i].item];
        item->at = spad__align_up_fits(top, item->align);
        top = item->at + item->bytes;
    }
}

/* ---- ours -------------------------------------------------------------------------- */

enum { ORDERS = 6, FEW_ORDERS = 2, MANY_ITEMS = 2000 };

/* By what items are taken in turn, the first two being the best for many. */
static ranked_item rank(const block_item *item, size_t number, int order) {
    const int64_t life = item->end - item->begin; /* both >= 0 */
    int64_t area;
    if (!spad__mul(item->bytes, life, &area)) area = INT64_MAX;
    switch (order) {
    case 0: return (ranked_item){-item->bytes, -life, NULL, number};
    case 1: return (ranked_item){item->begin, -item->bytes, NULL, number};
    case 2: return (ranked_item){-area, -item->bytes, NULL, number};
    case 3: return (ranked_item){-life, -item->bytes, NULL, number};
    case 4: return (ranked_item){-item->align, -item->bytes, NULL, number};
    default: return (ranked_item){item->end, -item->bytes, NULL, number};
    }
}

/* Items that have an offset, lowest first. */
typedef struct shelf {
    const block_item *items;
    size_t *numbers;
    size_t count;
} shelf;

static void put_on_shelf(shelf *s, size_t number) {
    size_t i = s->count++;
    const int64_t at = s->items[number].at;
    for (; i > 0 && s->items[s->numbers[i - 1]].at > at; i--) s->numbers[i] = s->numbers[i - 1];
    s->numbers[i] = number;
}

/* The lowest gap that holds the item, or of all gaps the one with the least left over. */
static int64_t find_shelf_gap(const shelf *s, const block_item *item, bool best_fit) {
    int64_t cursor = 0; /* nothing live together with the item reaches beyond it so far */
    int64_t best = -1;
    int64_t best_rest = INT64_MAX;
    for (size_t i = 0; i < s->count; i++) {
        const block_item *other = &s->items[s->numbers[i]];
        if (item->begin >= other->end || other->begin >= item->end) continue;
        const int64_t at = spad__align_up_fits(cursor, item->align);
        if (at + item->bytes <= other->at) {
            const int64_t rest = other->at - cursor - item->bytes;
            if (!best_fit) return at;
            if (rest < best_rest) {
                best_rest = rest;
                best = at;
            }
        }
        cursor = spad__max(cursor, other->at + other->bytes);
    }
    return best >= 0 ? best : spad__align_up_fits(cursor, item->align);
}

/* pins: the given offsets, -1 for items that are free to move. */
static void place_in_order(block_item *items, size_t count, const ranked_item *order,
                           const int64_t *pins, size_t *numbers, bool best_fit) {
    shelf s = {.items = items, .numbers = numbers};
    for (size_t i = 0; i < count; i++) {
        items[i].at = pins[i];
        if (pins[i] >= 0) put_on_shelf(&s, i);
    }
    for (size_t i = 0; i < count; i++) {
        const size_t number = order[i].item;
        if (pins[number] >= 0) continue;
        items[number].at = find_shelf_gap(&s, &items[number], best_fit);
        put_on_shelf(&s, number);
    }
}

/* Room for the work on `count` items, in one block. */
typedef struct workspace {
    ranked_item *order;
    ranked_item *ends;
    hole *holes; /* 2 x count + 1 */
    int64_t *pins;
    int64_t *best; /* offsets of the best answer so far */
    size_t *numbers;
} workspace;

static void keep_if_better(int64_t *top, const block_item *items, size_t count, int64_t *best) {
    const int64_t new_top = top_of(items, count);
    if (new_top >= *top) return;
    *top = new_top;
    for (size_t i = 0; i < count; i++) best[i] = items[i].at;
}

static void place_best(block_item *items, size_t count, workspace *w) {
    int64_t bound;
    int64_t time;
    int64_t top = INT64_MAX;
    bool pinned = false;
    find_peak(&bound, &time, items, count, w->order, w->ends);
    for (size_t i = 0; i < count; i++) {
        w->pins[i] = items[i].at;
        if (items[i].at < 0) continue;
        pinned = true;
        bound = spad__max(bound, items[i].at + items[i].bytes);
    }
    if (!pinned) {
        place_as_tilelang(items, count, w->order, w->ends, w->holes);
        keep_if_better(&top, items, count, w->best);
    }
    const int orders = count > MANY_ITEMS ? FEW_ORDERS : ORDERS;
    for (int order = 0; order < orders && top > bound; order++) {
        for (size_t i = 0; i < count; i++) w->order[i] = rank(&items[i], i, order);
        sort(w->order, count);
        for (int best_fit = 0; best_fit < 2; best_fit++) {
            place_in_order(items, count, w->order, w->pins, w->numbers, best_fit != 0);
            keep_if_better(&top, items, count, w->best);
        }
    }
    for (size_t i = 0; i < count; i++) items[i].at = w->best[i];
}

spad_status spad__block_place(int64_t *top, block_item *items, size_t count, block_placing placing,
                              const spad_host *host, spad_error *error) {
    *top = 0;
    if (count == 0) return SPAD_OK;
    if (!sums_fit(items, count)) {
        return spad__fail(error, SPAD_ERR_OVERFLOW,
                          "the bytes of %zu buffers together do not fit 64 bits", count);
    }
    const size_t per_item =
        2 * sizeof(ranked_item) + 2 * sizeof(hole) + 2 * sizeof(int64_t) + sizeof(size_t);
    const size_t size = (count + 1) * per_item;
    char *room = spad__new_array(host, count + 1, per_item);
    if (room == NULL) return spad__fail_host_memory(error);
    workspace w = {.order = (ranked_item *)(void *)room};
    w.ends = w.order + count;
    w.holes = (hole *)(void *)(w.ends + count);
    w.pins = (int64_t *)(void *)(w.holes + 2 * count + 1);
    w.best = w.pins + count;
    w.numbers = (size_t *)(void *)(w.best + count);
    switch (placing) {
    case BLOCK_PLACE_TILELANG: place_as_tilelang(items, count, w.order, w.ends, w.holes); break;
    case BLOCK_PLACE_BY_NAME_IN_ROW: place_in_row(items, count, w.order); break;
    default: place_best(items, count, &w);
    }
    spad__free(host, room, size);
    *top = top_of(items, count);
    return SPAD_OK;
}
