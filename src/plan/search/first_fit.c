/* SPDX-License-Identifier: Apache-2.0
 *
 * First answers for problems with rules that boxes do not know: alignments,
 * pins, gaps, aliases, keep-apart, banks, lanes.
 *
 * First fit: pins are placed before everything else; then items in some order,
 * each at its lowest legal place. An item that is placed forbids an open range
 * of offsets for each pair of pieces in use together; sorted by their begin,
 * the ranges are walked once from offset 0 up. If time runs out before there is any plan,
 * the remaining items are piled up on top. Orders: by size, area, and
 * lifetime, then the best one again with the items at the top moved to the
 * front and a few others swapped ("squeaky wheel", Joslin and Clements 1999).
 * For an order O(n log n + pairs that live together); no conflict graph is kept.
 */
#include "plan/search/first_fit.h"

#include "base/assert.h"
#include "base/checked.h"
#include "base/heap.h"
#include "base/random.h"
#include "plan/problem/near.h"
#include "plan/problem/shapes.h"
#include "plan/problem/sort.h"
#include "plan/problem/units.h"

enum { ROUNDS = 40, ROUNDS_LARGE = 6, LARGE = 2000, WORK_PER_CLOCK_CHECK = 1 << 14 };

typedef struct offset_range {
    int64_t begin; /* offsets with begin < offset < end are forbidden */
    int64_t end;
} offset_range;

typedef struct fitter {
    const spad__model *m;
    spad__arena arena;
    int32_t *order;
    int32_t *best_order;
    spad__near near; /* items placed so far */
    spad_plan_place *place;
    spad__row *rows;
    spad__row *scratch;
    SPAD_ARRAY(offset_range) ranges;
    int32_t *apart_first; /* aparts of item i: [apart_first[i], apart_first[i + 1]) of apart_with */
    spad__conflict *apart_with;
    bool no_memory;
    spad__stop *stop;
    int64_t work; /* pairs of pieces, and ranges, since the last look at the clock */
    bool late;    /* time is over */
} fitter;

/* Counts work; every now and then that is a look at the clock. */
static void count_work(fitter *f, int64_t amount) {
    f->work += amount;
    if (f->late || f->work <= WORK_PER_CLOCK_CHECK) return;
    f->work = 0;
    f->late = spad__stopped(f->stop);
}

/* ---- forbidden ranges -------------------------------------------------------------- */

static bool lanes_overlap(const spad__conflict *c, int64_t lane_a, int64_t lane_b) {
    return lane_a < lane_b + c->lanes_b && lane_b < lane_a + c->lanes_a;
}

/* Forbids c->a the offsets on a lane that item c->b, at its place, rules out. */
static void forbid(fitter *f, const spad__conflict *c, int64_t lane) {
    const spad_plan_place *other = &f->place[c->b];
    if (!lanes_overlap(c, lane, other->lane)) return;
    if (!spad__array_reserve(&f->m->arena.host, &f->ranges, 2)) {
        f->no_memory = true;
        return;
    }
    spad__assert(other->offset >= 0 && c->above > -c->below); /* else the range would be empty */
    /* offset of b - offset of a < above, > -below */
    offset_range range = {other->offset - c->above, other->offset + c->below};
    if (c->in_place && lane == other->lane) { /* but in its place is allowed */
        const int64_t place = other->offset - c->same;
        f->ranges.items[f->ranges.count++] = (offset_range){range.begin, place};
        range.begin = place;
    }
    f->ranges.items[f->ranges.count++] = range;
}

static void forbid_by_item(fitter *f, int32_t i, int32_t j, int64_t lane) {
    const spad__item *a = &f->m->items[i];
    const spad__item *b = &f->m->items[j];
    for (int32_t k = 0; k < a->piece_count; k++) {
        const spad__piece *p = &f->m->pieces[a->piece_first + k];
        for (int32_t l = 0; l < b->piece_count; l++) {
            const spad__piece *q = &f->m->pieces[b->piece_first + l];
            if (!spad__pieces_overlap(p, q)) continue;
            const spad__conflict c = spad__conflict_of(f->m, i, p, j, q);
            forbid(f, &c, lane);
        }
    }
}

static bool is_done(const fitter *f, int32_t i) {
    return f->place[i].offset >= 0;
}

static void collect_ranges(fitter *f, int32_t i, int64_t lane) {
    f->ranges.count = 0;
    spad__near_walk walk = spad__near_of(&f->near, i);
    for (int32_t j = spad__near_next(&walk); j >= 0; j = spad__near_next(&walk)) {
        f->work += (int64_t)f->m->items[i].piece_count * f->m->items[j].piece_count;
        forbid_by_item(f, i, j, lane);
    }
    for (int32_t k = f->apart_first[i]; k < f->apart_first[i + 1]; k++)
        if (is_done(f, f->apart_with[k].b)) forbid(f, &f->apart_with[k], lane);
    count_work(f, 16 + (int64_t)f->ranges.count);
}

static bool begins_later(const offset_range *ranges, offset_range a, offset_range b) {
    (void)ranges;
    return a.begin > b.begin;
}

SPAD__HEAP_DOWN(range_heap, const offset_range *, offset_range, begins_later, SPAD__HEAP_PUT)

/* A heap sort by begin: no memory, O(k log k). */
static void sort_ranges(offset_range *r, size_t count) {
    for (size_t k = count / 2; k-- > 0;) range_heap_down(r, r, count, k);
    for (size_t last = count; last-- > 1;) {
        const offset_range top = r[0];
        r[0] = r[last];
        r[last] = top;
        range_heap_down(r, r, last, 0);
    }
}

static bool offset_is_valid(const fitter *f, int64_t offset) {
    for (size_t k = 0; k < f->ranges.count; k++) {
        if (f->ranges.items[k].begin < offset && offset < f->ranges.items[k].end) return false;
    }
    return true;
}
/* The lowest legal offset outside all ranges; false: none. */
static bool lowest_offset(const fitter *f, const spad__item *item, int64_t *out) {
    int64_t offset;
    if (!spad__item_next_offset(f->m, item, 0, &offset)) return false;
    for (size_t k = 0; k < f->ranges.count; k++) {
        const offset_range *r = &f->ranges.items[k];
        spad__assert(k == 0 || r[-1].begin <= r->begin);
        if (offset <= r->begin) break;
        if (offset >= r->end) continue;
        if (!spad__item_next_offset(f->m, item, r->end, &offset)) return false;
    }
    spad__assert_valid(f->ranges.count > SPAD__FEW || offset_is_valid(f, offset));
    *out = offset;
    return true;
}

/* ---- one order --------------------------------------------------------------------- */

static bool put_item(fitter *f, int32_t i, spad_plan_place place, int64_t *top) {
    spad__assert(place.offset >= 0 && place.lane >= 0 && !is_done(f, i));
    const spad__item *item = &f->m->items[i];
    int64_t end;
    if (!spad__add(place.offset, item->size, &end) || end == SPAD_UNBOUNDED) return false;
    f->place[i] = place;
    *top = spad__max(*top, end);
    if (item->piece_count > 0) spad__near_put(&f->near, i);
    return true;
}

/* Puts an item at its lowest place over all lanes, or over those that there was time for; false:
 * it has none. */
static bool fit_item(fitter *f, int32_t i, int64_t *top) {
    const spad__item *item = &f->m->items[i];
    spad_plan_place best = {.offset = -1};
    for (int64_t lane = spad__item_next_lane(f->m, item, 0);
         lane >= 0 && !(f->late && best.offset >= 0);
         lane = spad__item_next_lane(f->m, item, lane + 1)) {
        collect_ranges(f, i, lane);
        if (f->no_memory) return false;
        sort_ranges(f->ranges.items, f->ranges.count);
        int64_t offset;
        if (!lowest_offset(f, item, &offset)) continue;
        if (best.offset < 0 || offset < best.offset) best = (spad_plan_place){offset, lane};
        if (best.offset == 0) break;
    }
    return best.offset >= 0 && put_item(f, i, best, top);
}

/* Puts an item above all others. */
static bool pile_item(fitter *f, int32_t i, int64_t *top) {
    const spad__item *item = &f->m->items[i];
    int64_t offset;
    const int64_t lane = spad__item_next_lane(f->m, item, 0);
    return spad__item_next_offset(f->m, item, item->piece_count > 0 ? *top : 0, &offset) &&
           put_item(f, i, (spad_plan_place){offset, lane}, top);
}

/* Pins do not collide: the model has no clash. */
static bool put_pins(fitter *f, int64_t *top) {
    for (int32_t i = 0; i < f->m->item_count; i++) {
        const spad__item *item = &f->m->items[i];
        const spad_plan_place place = {item->offset, item->lane};
        if (item->pinned && !put_item(f, i, place, top)) return false;
    }
    return true;
}

/* The height of first fit in the order, or -1: not placed, above the limit, or out of time. The
 * first plan, which has no limit, is finished in any case. */
static int64_t fit_order(fitter *f, int64_t limit) {
    int64_t top = 0;
    spad__near_clear(&f->near);
    for (int32_t i = 0; i < f->m->item_count; i++) f->place[i].offset = -1;
    if (!put_pins(f, &top) || top > limit) return -1;
    for (int32_t k = 0; k < f->m->item_count; k++) {
        const int32_t i = f->order[k];
        if (f->m->items[i].pinned) continue;
        if (f->late && limit != INT64_MAX) return -1;
        if (!(f->late ? pile_item(f, i, &top) : fit_item(f, i, &top)) || top > limit) return -1;
    }
    return top;
}

/* ---- orders ------------------------------------------------------------------------ */

static int64_t item_key(const fitter *f, int32_t i, int32_t kind) {
    const spad__item *item = &f->m->items[i];
    const int64_t size = spad__log2(item->size + 1) + spad__log2(item->lanes);
    const int64_t life = spad__log2(item->end - item->begin + 1);
    switch (kind) {
    case 0: return size * 4096 + life;
    case 1: return (size + life) * 4096 + size;
    default: return life * 4096 + size;
    }
}

static void order_by(fitter *f, int32_t kind) {
    const int32_t n = f->m->item_count;
    for (int32_t i = 0; i < n; i++)
        f->rows[i] = (spad__row){~spad__sort_key(item_key(f, i, kind)), i};
    spad__sort_rows(f->rows, f->scratch, (size_t)n);
    for (int32_t i = 0; i < n; i++) f->order[i] = f->rows[i].value;
}

/* The best order with the items at the top, and some random ones, further in front. */
static void disturb_order(fitter *f, const spad_plan_place *best, int64_t height,
                          spad__random *random) {
    const int32_t n = f->m->item_count;
    for (int32_t k = 0; k < n; k++) {
        const int32_t i = f->best_order[k];
        int64_t key = (int64_t)k * 16;
        const bool top = best[i].offset + f->m->items[i].size == height;
        if (top || spad__random_below(random, 8) == 0)
            key -= spad__random_in(random, 0, 16 * (int64_t)n / (top ? 1 : 4) + 16);
        f->rows[k] = (spad__row){spad__sort_key(key), i};
    }
    spad__sort_rows(f->rows, f->scratch, (size_t)n);
    for (int32_t k = 0; k < n; k++) f->order[k] = f->rows[k].value;
}

/* ---- set-up ------------------------------------------------------------------------ */

static void index_aparts(fitter *f) {
    const spad__model *m = f->m;
    for (int32_t k = 0; k < m->apart_count; k++) {
        f->apart_first[m->aparts[k].a + 1]++;
        f->apart_first[m->aparts[k].b + 1]++;
    }
    for (int32_t i = 0; i < m->item_count; i++) f->apart_first[i + 1] += f->apart_first[i];
    for (int32_t k = 0; k < m->apart_count; k++) {
        const spad__conflict c = m->aparts[k];
        f->apart_with[f->apart_first[c.a]++] = c;
        f->apart_with[f->apart_first[c.b]++] = (spad__conflict){.a = c.b,
                                                                .b = c.a,
                                                                .above = c.below,
                                                                .below = c.above,
                                                                .lanes_a = c.lanes_b,
                                                                .lanes_b = c.lanes_a};
    }
    for (int32_t i = m->item_count; i > 0; i--) f->apart_first[i] = f->apart_first[i - 1];
    spad__assert(f->apart_first[m->item_count] == 2 * m->apart_count);
    f->apart_first[0] = 0;
}

static bool fitter_start(fitter *f, const spad__model *m, spad__stop *stop) {
    *f = (fitter){.m = m, .arena.host = m->arena.host, .stop = stop};
    const size_t n = (size_t)m->item_count + 1;
    f->order = spad__arena_array(&f->arena, n, sizeof *f->order);
    f->best_order = spad__arena_array(&f->arena, n, sizeof *f->best_order);
    f->place = spad__arena_array(&f->arena, n, sizeof *f->place);
    f->rows = spad__arena_array(&f->arena, n, sizeof *f->rows);
    f->scratch = spad__arena_array(&f->arena, n, sizeof *f->scratch);
    f->apart_first = spad__arena_array(&f->arena, n + 1, sizeof *f->apart_first);
    f->apart_with =
        spad__arena_array(&f->arena, 2 * (size_t)m->apart_count + 1, sizeof *f->apart_with);
    if (f->order == NULL || f->best_order == NULL || f->place == NULL || f->rows == NULL ||
        f->scratch == NULL || f->apart_first == NULL || f->apart_with == NULL ||
        !spad__near_start(&f->near, m, &f->arena))
        return false;
    index_aparts(f);
    return true;
}

spad_status spad__fit_run(const spad__model *m, uint64_t seed, int64_t enough, spad__stop *stop,
                          spad_plan_place *place, int64_t *height) {
    fitter f;
    spad__random random = {seed};
    *height = SPAD_UNBOUNDED;
    bool ok = fitter_start(&f, m, stop);
    const int32_t rounds = m->item_count > LARGE ? ROUNDS_LARGE : ROUNDS;
    for (int32_t round = 0; ok && round<rounds && * height> enough; round++) {
        if (round > 0 && spad__stopped(stop)) break;
        if (round < 3)
            order_by(&f, round);
        else if (*height != SPAD_UNBOUNDED)
            disturb_order(&f, place, *height, &random);
        else
            break; /* an item that fits nowhere never will: 64 bits are not enough */
        const int64_t limit = *height == SPAD_UNBOUNDED ? INT64_MAX : *height - 1;
        const int64_t top = fit_order(&f, limit);
        if (f.no_memory) ok = false;
        if (top < 0) continue;
        spad__assert(top <= limit && top == spad__items_height(m, f.place));
        *height = top;
        if (stop->listener != NULL)
            stop->listener->progress.height = spad__min(stop->listener->progress.height, top);
        for (int32_t i = 0; i < m->item_count; i++) {
            place[i] = f.place[i];
            f.best_order[i] = f.order[i];
        }
    }
    spad__array_free(&m->arena.host, &f.ranges);
    spad__arena_free(&f.arena);
    return ok ? SPAD_OK : SPAD_ERR_HOST_MEMORY;
}
