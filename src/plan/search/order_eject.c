/* SPDX-License-Identifier: Apache-2.0
 *
 * Guided ejection search (Nagata and Braysy 2009) over an order of boxes, with the heads and tails
 * of job-shop scheduling (Carlier and Pinson 1989): a section is a machine, and height is time.
 *
 * A plan is kept as an order: of two boxes that live together, the earlier one is below. An order
 * leaves open where exactly a box is. `head` is its lowest offset, with everything before it as low
 * as possible; `late` is its highest, with everything after it as high as the target allows. So a
 * box has room between the k-th and the next of those that live together with it exactly when
 *     least late of those after it - highest top (head + size) of those before it >= its size:
 * all before it move down to their heads, all after it move up to their lates. All free bytes
 * between the boxes of a stack count, wherever they are, while a place among boxes that do not move
 * (eject.c) needs them in one piece.
 *
 * A box that has no room goes where the boxes in its way have the least weight
 * together: either those below it that reach too high, or those above that reach too low. They
 * are taken out, and the box becomes heavier. The heaviest box that is out is next. The target is
 * reached when none is out. Weights are kept when the target changes.
 *
 * Fixed boxes have one offset, which is their head and their late. They may have no order that
 * satisfies a box between them, so there is a third choice: on the highest fixed box below it.
 *
 * Heads are computed in order by a skyline over the sections, lates from the other end. Both
 * are kept for every 32nd box of the order, so a change in the middle costs half a pass. O(boxes x
 * sections of a box / 8) for one step; the window should not be large (peaks_first.c).
 */
#include "plan/search/order_eject.h"

#include <string.h>

#include "base/assert.h"
#include "base/checked.h"
#include "base/heap.h"
#include "plan/problem/sort.h"
#include "plan/problem/units.h"

enum {
    STRIDE = 32, /* boxes between two kept skylines */
    GROWTH = 4,  /* times the first weight, when a box has no room */
    STEPS_PER_STOP = 16,
    LOG_HEAVIEST = 16 * 256, /* of a first weight */
    ORDER_WEIGHT_MAX = 1 << 30
};

/* The same code twice on x86-64: most of the time is spent in loops over skylines, and AVX2, which
 * the compiler may not take for granted, halves it. The results are the same. */
#define ORDER_INLINE __attribute__((always_inline))
#if defined(__x86_64__)
#define ORDER_WIDE __attribute__((target("avx2")))
#endif

static const int64_t immovable = INT64_C(1) << 50; /* more than all weights */

/* A box in place; slots are in order. */
typedef struct ordered_slot {
    int32_t box;
    int32_t begin;
    int32_t end;
    int32_t size;
    int32_t head;
    int32_t late;
} ordered_slot;

typedef struct ordered_box {
    int32_t origin;
    int32_t begin;
    int32_t end;
    int32_t size;
    int32_t weight;
    int32_t first_weight;
    bool fixed;
} ordered_box;

/* A slot that lives together with the box at hand. */
typedef struct ordered_near {
    int32_t slot;
    int32_t top; /* when sunk */
    int32_t late;
    int64_t weight;
} ordered_near;

/* Where the box at hand goes: before the near slot of that number, at an offset. */
typedef struct ordered_place {
    int32_t before;
    int32_t offset;
    int64_t cost;
} ordered_place;

/*
 * Invariants, after every step
 *   slots are in an order: of two that live together the first is below
 *   head <= late of every slot, equal if fixed
 *   head[k] of kept skylines: after the first k * STRIDE slots; tail[k]: before the last k * STRIDE
 */
struct spad__order_ejector {
    spad_host host;
    spad__arena arena;
    spad__random *random;
    spad__stop *stop;
    int32_t most_boxes;
    int32_t most_sections;
    int32_t sections;
    int64_t unit;
    int32_t target;
    int32_t count;
    ordered_box *boxes;
    ordered_slot *slots;
    int32_t placed;
    int32_t *out; /* a heap, the heaviest first */
    int32_t out_count;
    ordered_near *near;
    int32_t *below;     /* per cut: the highest top before it, */
    int32_t *above;     /* and the least late after it */
    int32_t *fixed_top; /* the same as below, of fixed ones only */
    int32_t near_count;
    bool has_fixed;
    bool wide; /* the processor has AVX2 */
    int32_t *skyline;
    int32_t *heads; /* kept skylines */
    int32_t *lates;
    spad__row *rows;
    int64_t looks;
};

/* ---- skylines ------------------------------------------------------------------------ */

static inline ORDER_INLINE int32_t highest(const int32_t *restrict skyline, int32_t begin,
                                           int32_t end) {
    int32_t most = skyline[begin];
    for (int32_t s = begin + 1; s < end; s++) most = skyline[s] > most ? skyline[s] : most;
    return most;
}

static inline ORDER_INLINE int32_t lowest(const int32_t *restrict skyline, int32_t begin,
                                          int32_t end) {
    int32_t least = skyline[begin];
    for (int32_t s = begin + 1; s < end; s++) least = skyline[s] < least ? skyline[s] : least;
    return least;
}

static inline ORDER_INLINE void level(int32_t *restrict skyline, int32_t begin, int32_t end,
                                      int32_t height) {
    for (int32_t s = begin; s < end; s++) skyline[s] = height;
}

/* Heads of the slots from `from` on. */
static inline ORDER_INLINE void sink_slots(spad__order_ejector *s, int32_t from) {
    const size_t room = (size_t)s->sections * sizeof *s->skyline;
    int32_t k = from / STRIDE * STRIDE;
    s->looks += s->placed - k;
    if (k == 0) level(s->heads, 0, s->sections, 0);
    memcpy(s->skyline, s->heads + (size_t)(k / STRIDE) * (size_t)s->sections, room);
    while (k < s->placed) {
        ordered_slot *const slot = &s->slots[k];
        if (!s->boxes[slot->box].fixed) slot->head = highest(s->skyline, slot->begin, slot->end);
        level(s->skyline, slot->begin, slot->end, slot->head + slot->size);
        if (++k % STRIDE == 0)
            memcpy(s->heads + (size_t)(k / STRIDE) * (size_t)s->sections, s->skyline, room);
    }
}

/* Lates of all but the last `same` slots. */
static inline ORDER_INLINE void raise_slots(spad__order_ejector *s, int32_t same) {
    const size_t room = (size_t)s->sections * sizeof *s->skyline;
    int32_t k = same / STRIDE * STRIDE; /* from the end */
    s->looks += s->placed - k;
    if (k == 0) level(s->lates, 0, s->sections, s->target);
    memcpy(s->skyline, s->lates + (size_t)(k / STRIDE) * (size_t)s->sections, room);
    while (k < s->placed) {
        ordered_slot *const slot = &s->slots[s->placed - 1 - k];
        if (!s->boxes[slot->box].fixed)
            slot->late = lowest(s->skyline, slot->begin, slot->end) - slot->size;
        level(s->skyline, slot->begin, slot->end, slot->late);
        if (++k % STRIDE == 0)
            memcpy(s->lates + (size_t)(k / STRIDE) * (size_t)s->sections, s->skyline, room);
    }
}

#ifdef ORDER_WIDE
ORDER_WIDE static void ordered_wide(spad__order_ejector *s, int32_t from, int32_t same) {
    sink_slots(s, from);
    raise_slots(s, same);
}
#endif

/* Heads and lates after a change that left the slots before `from` and the last `same` as they
 * were. */
static void ordered_all(spad__order_ejector *s, int32_t from, int32_t same) {
#ifdef ORDER_WIDE
    if (s->wide) {
        ordered_wide(s, from, same);
        return;
    }
#endif
    sink_slots(s, from);
    raise_slots(s, same);
}

/* ---- boxes that are out -------------------------------------------------------------- */

static bool ordered_heavier(const spad__order_ejector *s, int32_t i, int32_t j) {
    const int32_t x = s->boxes[i].weight;
    const int32_t y = s->boxes[j].weight;
    return x != y ? x > y : i < j;
}

SPAD__HEAP(ordered_heap, const spad__order_ejector *, int32_t, ordered_heavier, SPAD__HEAP_PUT)

static void ordered_out(spad__order_ejector *s, int32_t i) {
    spad__assert(s->out_count < s->count && !s->boxes[i].fixed);
    s->out[s->out_count] = i;
    ordered_heap_up(s, s->out, (size_t)s->out_count++);
}

static int32_t ordered_next(spad__order_ejector *s) {
    spad__assert(s->out_count > 0);
    const int32_t box = s->out[0];
    s->out[0] = s->out[--s->out_count];
    if (s->out_count > 1) ordered_heap_down(s, s->out, (size_t)s->out_count, 0);
    return box;
}

/* ---- a place for a box --------------------------------------------------------------- */

/* Lists the slots that live together with a box, and the free space at each cut between them. */
static void ordered_list_near(spad__order_ejector *s, const ordered_box *b) {
    int32_t n = 0;
    for (int32_t k = 0; k < s->placed; k++) {
        const ordered_slot *slot = &s->slots[k];
        s->near[n].slot = k;
        n += slot->begin < b->end && slot->end > b->begin;
    }
    s->near_count = n;
    s->looks += s->placed;
    s->below[0] = 0;
    s->fixed_top[0] = 0;
    for (int32_t k = 0; k < n; k++) {
        ordered_near *const near = &s->near[k];
        const ordered_slot *slot = &s->slots[near->slot];
        const bool fixed = s->boxes[slot->box].fixed;
        near->top = slot->head + slot->size;
        near->late = slot->late;
        near->weight = fixed ? immovable : s->boxes[slot->box].weight;
        s->below[k + 1] = near->top > s->below[k] ? near->top : s->below[k];
        s->fixed_top[k + 1] = fixed && near->top > s->fixed_top[k] ? near->top : s->fixed_top[k];
    }
    s->above[n] = s->target;
    for (int32_t k = n - 1; k >= 0; k--)
        s->above[k] = s->near[k].late < s->above[k + 1] ? s->near[k].late : s->above[k + 1];
}

/* Total weight of the boxes in the way at an offset and a cut; stops counting at `most`. */
static int64_t cost_at(const spad__order_ejector *s, int32_t cut, int32_t offset, int32_t size,
                       int64_t most) {
    int64_t cost = 0;
    for (int32_t k = cut; k < s->near_count && cost < most; k++) {
        if (s->above[k] >= offset + size) break;
        if (s->near[k].late < offset + size) cost += s->near[k].weight;
    }
    for (int32_t k = cut - 1; k >= 0 && cost < most; k--) {
        if (s->below[k + 1] <= offset) break;
        if (s->near[k].top > offset) cost += s->near[k].weight;
    }
    return cost;
}

static void ordered_consider(const spad__order_ejector *s, int32_t cut, int32_t offset,
                             int32_t size, ordered_place *best) {
    if (offset < 0 || offset > s->target - size) return;
    const int64_t cost = cost_at(s, cut, offset, size, best->cost);
    if (cost < best->cost) *best = (ordered_place){cut, offset, cost};
}

static int32_t within(int32_t offset, int32_t most) {
    return offset < 0 ? 0 : offset > most ? most : offset;
}

/* The first cut with room; else the one where the boxes in the way weigh least. Cuts are tried from
 * a random one on, so that one of several alike is not always the same. */
static ordered_place ordered_find(spad__order_ejector *s, const ordered_box *b) {
    const int32_t cuts = s->near_count + 1;
    const int32_t size = b->size;
    const int32_t most = s->target - size;
    for (int32_t k = 0; k < cuts; k++)
        if (s->above[k] - s->below[k] >= size) return (ordered_place){k, s->below[k], 0};
    ordered_place best = {-1, 0, immovable};
    int32_t k = (int32_t)spad__random_below(s->random, (uint64_t)cuts);
    for (int32_t tried = 0; tried < cuts; tried++, k = k + 1 < cuts ? k + 1 : 0) {
        ordered_consider(s, k, within(s->below[k], most), size, &best);
        ordered_consider(s, k, within(s->above[k] - size, most), size, &best);
        if (s->has_fixed) ordered_consider(s, k, s->fixed_top[k], size, &best);
    }
    return best;
}

/* ---- one step ------------------------------------------------------------------------ */

/* Takes out the boxes in the way of a place. Returns the slot before which the box goes;
 * *first, *same: slots that stay as they are, from either end. */
static int32_t make_way(spad__order_ejector *s, const ordered_place *place, int32_t size,
                        int32_t *first, int32_t *same) {
    const int32_t n = s->near_count;
    int32_t at = place->before < n ? s->near[place->before].slot : s->placed;
    /* where the box has room, either side of the slots between is as good */
    if (n > 0 && place->before > 0 && spad__random_next(s->random) & 1)
        at = s->near[place->before - 1].slot + 1;
    *first = at;
    int32_t last = at;
    int32_t gone = 0;
    if (place->cost > 0) {
        for (int32_t k = 0; k < n; k++) {
            const ordered_near *near = &s->near[k];
            const bool out =
                k < place->before ? near->top > place->offset : near->late < place->offset + size;
            if (!out) continue;
            *first = near->slot < *first ? near->slot : *first;
            last = near->slot + 1 > last ? near->slot + 1 : last;
            ordered_out(s, s->slots[near->slot].box);
            s->slots[near->slot].box = -1;
            gone += near->slot < at;
        }
    }
    *same = s->placed - last;
    int32_t kept = *first;
    for (int32_t k = *first; k < s->placed; k++)
        if (s->slots[k].box >= 0) s->slots[kept++] = s->slots[k];
    s->placed = kept;
    return at - gone;
}

/* Puts the next box in; false: it has no place at all. */
static bool ordered_step(spad__order_ejector *s) {
    const int32_t i = ordered_next(s);
    ordered_box *const b = &s->boxes[i];
    ordered_list_near(s, b);
    const ordered_place place = ordered_find(s, b);
    if (place.before < 0) {
        ordered_out(s, i);
        return false;
    }
    if (place.cost > 0)
        b->weight = (int32_t)spad__min((int64_t)b->weight + (int64_t)GROWTH * b->first_weight,
                                       ORDER_WEIGHT_MAX);
    int32_t first;
    int32_t same;
    const int32_t at = make_way(s, &place, b->size, &first, &same);
    memmove(&s->slots[at + 1], &s->slots[at], (size_t)(s->placed - at) * sizeof *s->slots);
    s->slots[at] = (ordered_slot){.box = i, .begin = b->begin, .end = b->end, .size = b->size};
    s->placed++;
    ordered_all(s, first, same);
    return true;
}

/* Every slot is where it can be, and no two that live together overlap when sunk. */
static bool slots_are_valid(const spad__order_ejector *s) {
    for (int32_t k = 0; k < s->placed; k++) {
        const ordered_slot *a = &s->slots[k];
        if (a->head < 0 || a->head > a->late || a->late + a->size > s->target) return false;
        for (int32_t j = 0; j < k; j++) {
            const ordered_slot *c = &s->slots[j];
            if (c->begin >= a->end || a->begin >= c->end) continue;
            if (c->head + c->size > a->head || c->late + c->size > a->late) return false;
        }
    }
    return true;
}

bool spad__order_ejector_run(spad__order_ejector *s, int64_t looks) {
    const int64_t until = s->looks + looks;
    for (int32_t step = 0; s->out_count > 0; step++) {
        if (s->looks > until) return false;
        if (step % STEPS_PER_STOP == 0 && spad__stopped(s->stop)) return false;
        if (!ordered_step(s)) return false;
        spad__assert_valid(s->count > SPAD__FEW || slots_are_valid(s));
    }
    return true;
}

/* ---- a window ------------------------------------------------------------------------ */

void spad__order_ejector_clear(spad__order_ejector *s, int32_t sections, int64_t unit,
                               int64_t target) {
    spad__assert(sections > 0 && sections <= s->most_sections && unit > 0);
    spad__assert(target > 0 && target / unit <= SPAD__ORDER_HEIGHT_MAX);
    s->sections = sections;
    s->unit = unit;
    s->target = (int32_t)(target / unit);
    s->count = 0;
    s->placed = 0;
    s->out_count = 0;
    s->has_fixed = false;
}

/* area^0.6: large and long boxes are hard to place. */
static int32_t ordered_weight(int64_t size, int32_t width) {
    const int32_t log = (spad__log2(size) + spad__log2(width)) * 6 / 10;
    const int32_t capped = log < LOG_HEAVIEST ? log : LOG_HEAVIEST;
    return (int32_t)((INT64_C(256) + capped % 256) << (capped / 256 + 4) >> 8);
}

void spad__order_ejector_add(spad__order_ejector *s, const spad__order_box *box) {
    spad__assert(s->count < s->most_boxes && box->begin < box->end && box->end <= s->sections);
    spad__assert(!box->fixed || box->offset >= 0);
    const int32_t i = s->count++;
    const int64_t size = (box->size + s->unit - 1) / s->unit;
    spad__assert(size <= SPAD__ORDER_HEIGHT_MAX && (box->offset < 0 || box->offset % s->unit == 0));
    const int32_t first = ordered_weight(size, box->end - box->begin);
    const int64_t weight = spad__max(first, (int64_t)first * box->burden / SPAD__ORDER_BURDEN);
    s->boxes[i] = (ordered_box){.origin = box->box,
                                .begin = box->begin,
                                .end = box->end,
                                .size = (int32_t)size,
                                .weight = (int32_t)spad__min(weight, ORDER_WEIGHT_MAX),
                                .first_weight = first,
                                .fixed = box->fixed};
    s->has_fixed |= box->fixed;
    if (box->offset < 0) {
        ordered_out(s, i);
        return;
    }
    const int32_t offset = (int32_t)(box->offset / s->unit);
    s->rows[s->placed] = (spad__row){(uint64_t)offset, i};
    s->placed++;
}

void spad__order_ejector_start(spad__order_ejector *s) {
    spad__sort_rows(s->rows, s->rows + s->most_boxes, (size_t)s->placed);
    for (int32_t k = 0; k < s->placed; k++) {
        const int32_t i = s->rows[k].value;
        const ordered_box *b = &s->boxes[i];
        const int32_t offset = (int32_t)s->rows[k].key;
        s->slots[k] = (ordered_slot){i, b->begin, b->end, b->size, offset, offset};
    }
    ordered_all(s, 0, 0);
    spad__assert_valid(s->count > SPAD__FEW || slots_are_valid(s));
}

void spad__order_ejector_aim(spad__order_ejector *s, int64_t target) {
    spad__assert(target > 0 && target / s->unit <= SPAD__ORDER_HEIGHT_MAX);
    s->target = (int32_t)(target / s->unit);
    int32_t kept = 0;
    for (int32_t k = 0; k < s->placed; k++) {
        if (s->slots[k].head + s->slots[k].size > s->target)
            ordered_out(s, s->slots[k].box);
        else
            s->slots[kept++] = s->slots[k];
    }
    s->placed = kept;
    ordered_all(s, 0, 0);
}

void spad__order_ejector_narrow(spad__order_ejector *s) {
    s->wide = false;
}

int64_t spad__order_ejector_looks(const spad__order_ejector *s) {
    return s->looks;
}

void spad__order_ejector_burdens(const spad__order_ejector *s, int32_t *burden) {
    for (int32_t i = 0; i < s->count; i++) {
        const ordered_box *b = &s->boxes[i];
        const int64_t parts = (int64_t)b->weight * SPAD__ORDER_BURDEN / b->first_weight;
        burden[b->origin] = (int32_t)spad__min(parts, ORDER_WEIGHT_MAX);
    }
}

void spad__order_ejector_read(const spad__order_ejector *s, int64_t *offset) {
    spad__assert(s->out_count == 0 && s->placed == s->count);
    for (int32_t k = 0; k < s->placed; k++)
        offset[s->boxes[s->slots[k].box].origin] = s->slots[k].head * s->unit;
}

/* ---- life ---------------------------------------------------------------------------- */

static bool allocate_ejector_arrays(spad__order_ejector *s) {
    const size_t n = (size_t)s->most_boxes;
    const size_t kept = (n / STRIDE + 1) * (size_t)s->most_sections;
    s->boxes = spad__arena_array(&s->arena, n, sizeof *s->boxes);
    s->slots = spad__arena_array(&s->arena, n + 1, sizeof *s->slots);
    s->out = spad__arena_array(&s->arena, n, sizeof *s->out);
    s->near = spad__arena_array(&s->arena, n + 1, sizeof *s->near);
    s->below = spad__arena_array(&s->arena, n + 1, sizeof *s->below);
    s->above = spad__arena_array(&s->arena, n + 1, sizeof *s->above);
    s->fixed_top = spad__arena_array(&s->arena, n + 1, sizeof *s->fixed_top);
    s->skyline = spad__arena_array(&s->arena, (size_t)s->most_sections, sizeof *s->skyline);
    s->heads = spad__arena_array(&s->arena, kept, sizeof *s->heads);
    s->lates = spad__arena_array(&s->arena, kept, sizeof *s->lates);
    s->rows = spad__arena_array(&s->arena, n, 2 * sizeof *s->rows);
    return s->boxes != NULL && s->slots != NULL && s->out != NULL && s->near != NULL &&
           s->below != NULL && s->above != NULL && s->fixed_top != NULL && s->skyline != NULL &&
           s->heads != NULL && s->lates != NULL && s->rows != NULL;
}

spad__order_ejector *spad__order_ejector_create(const spad_host *host, int32_t boxes,
                                                int32_t sections, spad__random *random,
                                                spad__stop *stop) {
    spad__order_ejector *s = spad__new(host, sizeof *s);
    if (s == NULL) return NULL;
    *s = (spad__order_ejector){.host = *host,
                               .arena.host = *host,
                               .random = random,
                               .stop = stop,
                               .most_boxes = boxes,
                               .most_sections = sections};
#ifdef ORDER_WIDE
    s->wide = __builtin_cpu_supports("avx2");
#endif
    if (allocate_ejector_arrays(s)) return s;
    spad__order_ejector_destroy(s);
    return NULL;
}

void spad__order_ejector_destroy(spad__order_ejector *s) {
    if (s == NULL) return;
    const spad_host host = s->host;
    spad__arena_free(&s->arena);
    spad__free(&host, s, sizeof *s);
}
