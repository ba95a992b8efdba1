/* SPDX-License-Identifier: Apache-2.0
 *
 * Rules that exclude each other at any capacity. Whatever is not pinned can go above
 * everything else, so only these can be impossible:
 *   two members of an alias group pinned at different places
 *   a pin that breaks the alignment, bank or start lanes of an alias
 *   buffers of an alias group, or of one whole, that share bytes but are kept apart
 *   an alias group whose members have no start lane in common
 *   slices and aliases that put two buffers at different distances (found with the items)
 *   two pins that share a byte while both are live, or that are kept apart
 * Found once, they are a proof, and the two buffers are the reason to report.
 *
 * Pins are taken in the order of their lowest byte, and the highest top so far is kept for every
 * section (a tree of range maxima, as in check.c): a piece overlaps an earlier one exactly when
 * the highest top over its sections is above its lowest byte. Lanes are not examined by that,
 * and aliases may overlap, so with either of them earlier pieces are then examined one by
 * one. O(n log n), and for every such look O(n).
 */
#include "plan/problem/clash.h"

#include "base/assert.h"
#include "base/checked.h"
#include "plan/problem/near.h"
#include "plan/problem/shapes.h"
#include "plan/problem/sort.h"

typedef struct finder {
    spad__model *m;
    spad__arena arena;
    int32_t *first; /* per item: its first member, or -1 */
    int32_t *pin;   /* per item: its first member with a pin, or -1 */
    spad_plan_place *place;
    size_t pinned;    /* pieces with a place, by their lowest byte: */
    spad__row *rows;  /* value: the piece; and room for as many */
    int32_t *owner;   /* per piece: its item */
    int64_t *highest; /* tops; sections are leaves at [section_count, 2 x) */
    int64_t *whole;   /* tops that hold for a whole subtree */
} finder;

static bool found(finder *f, spad_plan_clash kind, int32_t a, int32_t b) {
    spad__assert(a >= 0 && b >= 0 && a != b && f->m->clash.kind == SPAD_PLAN_NO_CLASH);
    f->m->clash = (spad__plan_clash){kind, (size_t)a, (size_t)b};
    return true;
}

/* Whether a member at byte `delta` of its group may be where the group is pinned. */
static bool suits(const spad_plan *plan, const spad_plan_buffer *b, const spad__item *item,
                  int64_t delta) {
    int64_t offset;
    int64_t top;
    return item->offset >= 0 && spad__add(item->offset, delta, &offset) &&
           offset % b->alignment == 0 && spad__add(offset, b->size, &top) &&
           (b->bank == 0 || offset % b->bank <= b->bank - b->size) &&
           spad__plan_start_lane(plan, b->lanes, item->lane) == item->lane;
}

/* The first member that is at the beginning of the group of i. */
static int32_t lowest_member(const finder *f, int32_t i) {
    int32_t k = 0;
    while (f->m->item_of[k] != f->m->item_of[i] || spad__delta(f->m, (size_t)k) != 0) k++;
    return k;
}

static bool clash_in_group(finder *f) {
    const spad_plan *plan = f->m->plan;
    const int32_t n = (int32_t)plan->buffers.count;
    for (int32_t i = 0; i < n; i++) {
        const spad_plan_buffer *b = &plan->buffers.items[i];
        const int32_t item = f->m->item_of[i];
        if (f->first[item] < 0) f->first[item] = i;
        if (!b->pinned) continue;
        if (f->pin[item] < 0) f->pin[item] = i;
        const spad__item *pinned = &f->m->items[item]; /* as its first pin has it */
        if (b->offset - spad__delta(f->m, (size_t)i) != pinned->offset || b->lane != pinned->lane)
            return found(f, SPAD_PLAN_CLASH_ALIAS_PINS, f->pin[item], i);
    }
    for (int32_t i = 0; i < n; i++) {
        const int32_t item = f->m->item_of[i];
        if (f->pin[item] < 0 ||
            suits(plan, &plan->buffers.items[i], &f->m->items[item], spad__delta(f->m, (size_t)i)))
            continue;
        /* a pin too low for its group: what begins the group would be below 0 */
        const int32_t other = f->pin[item] != i ? i : lowest_member(f, i);
        return found(f, SPAD_PLAN_CLASH_ALIAS_RULE, f->pin[item], other);
    }
    return false;
}

/* Names the member with which the lanes in common of a group run out. */
static bool found_lanes(finder *f, int32_t number) {
    spad__item so_far = f->m->items[number];
    so_far.rule_count = 0;
    for (size_t i = (size_t)f->first[number]; i < f->m->plan->buffers.count; i++) {
        if (f->m->item_of[i] != number) continue;
        so_far.rule_count++; /* on several lanes every member has one */
        if (spad__item_next_lane(f->m, &so_far, 0) < 0)
            return found(f, SPAD_PLAN_CLASH_ALIAS_LANES, f->first[number], (int32_t)i);
    }
    return false;
}

static bool clash_of_lanes(finder *f) {
    for (int32_t i = 0; i < f->m->item_count && f->m->plan->lanes > 1; i++)
        if (!f->m->items[i].pinned && spad__item_next_lane(f->m, &f->m->items[i], 0) < 0)
            return found_lanes(f, i);
    return false;
}

/* Whether two buffers of one item share bytes: they start at one lane, so only bytes matter. */
static bool overlap_in_item(const spad__model *m, spad__pair pair) {
    const int64_t a = spad__delta(m, (size_t)pair.a);
    const int64_t b = spad__delta(m, (size_t)pair.b);
    return a < b + m->plan->buffers.items[pair.b].size &&
           b < a + m->plan->buffers.items[pair.a].size;
}

static bool clash_of_aparts(finder *f) {
    const spad_plan *plan = f->m->plan;
    int32_t k = 0; /* in the model, where pairs without bytes or of one item are left out */
    for (size_t n = 0; n < plan->aparts.count; n++) {
        const spad__pair pair = plan->aparts.items[n];
        if (plan->buffers.items[pair.a].size == 0 || plan->buffers.items[pair.b].size == 0)
            continue;
        if (f->m->item_of[pair.a] == f->m->item_of[pair.b]) {
            if (!overlap_in_item(f->m, pair)) continue;
            return found(f, SPAD_PLAN_CLASH_ALIAS_APART, pair.a, pair.b);
        }
        const spad__conflict *c = &f->m->aparts[k++];
        spad__assert(k <= f->m->apart_count && c->a == f->m->item_of[pair.a]);
        if (f->pin[c->a] >= 0 && f->pin[c->b] >= 0 &&
            spad__conflict_holds(c, &f->place[c->a], &f->place[c->b]))
            return found(f, SPAD_PLAN_CLASH_APART_PINS, pair.a, pair.b);
    }
    return false;
}

/* Pins that may be live together by their vector clocks, although not by the sums of these. */
static bool clash_of_unordered(finder *f) {
    for (int32_t k = f->m->explicit_aparts; k < f->m->apart_count; k++) {
        const spad__conflict *c = &f->m->aparts[k];
        const int32_t a = f->pin[c->a];
        const int32_t b = f->pin[c->b];
        if (a >= 0 && b >= 0 && spad__conflict_holds(c, &f->place[c->a], &f->place[c->b]))
            return found(f, SPAD_PLAN_CLASH_PINS, a < b ? a : b, a < b ? b : a);
    }
    return false;
}

/* The highest top over sections [begin, end). */
static int64_t highest_over(const finder *f, int32_t begin, int32_t end) {
    spad__assert(0 <= begin && begin < end && end <= f->m->section_count);
    const int32_t leaves = f->m->section_count;
    int64_t top = INT64_MIN;
    for (int32_t l = begin + leaves, r = end + leaves; l < r; l /= 2, r /= 2) {
        if (l % 2 == 1) top = spad__max(top, f->highest[l++]);
        if (r % 2 == 1) top = spad__max(top, f->highest[--r]);
    }
    for (int32_t k = (begin + leaves) / 2; k > 0; k /= 2) top = spad__max(top, f->whole[k]);
    for (int32_t k = (end - 1 + leaves) / 2; k > 0; k /= 2) top = spad__max(top, f->whole[k]);
    return top;
}

static void raise_node(const finder *f, int32_t node, int64_t top) {
    f->highest[node] = spad__max(f->highest[node], top);
    f->whole[node] = spad__max(f->whole[node], top);
}

static void raise_over(const finder *f, int32_t begin, int32_t end, int64_t top) {
    spad__assert(0 <= begin && begin < end && end <= f->m->section_count);
    const int32_t leaves = f->m->section_count;
    for (int32_t l = begin + leaves, r = end + leaves; l < r; l /= 2, r /= 2) {
        if (l % 2 == 1) raise_node(f, l++, top);
        if (r % 2 == 1) raise_node(f, --r, top);
    }
    for (int32_t k = (begin + leaves) / 2; k > 0; k /= 2)
        f->highest[k] = spad__max(f->highest[k], top);
    for (int32_t k = (end - 1 + leaves) / 2; k > 0; k /= 2)
        f->highest[k] = spad__max(f->highest[k], top);
}

static void list_pins(finder *f) {
    const spad__model *m = f->m;
    for (int32_t i = 0; i < m->item_count; i++) {
        if (!m->items[i].pinned) continue;
        for (int32_t k = 0; k < m->items[i].piece_count; k++) {
            const int32_t piece = m->items[i].piece_first + k;
            const int64_t lowest = m->items[i].offset + m->pieces[piece].lo;
            f->owner[piece] = i;
            f->rows[f->pinned++] = (spad__row){spad__sort_key(lowest), piece};
        }
    }
    spad__sort_rows(f->rows, f->rows + m->piece_count, f->pinned);
}

/* Whether two pieces with a place share a byte. */
static bool pieces_collide(const finder *f, int32_t p, int32_t q) {
    const spad__piece *a = &f->m->pieces[p];
    const spad__piece *b = &f->m->pieces[q];
    const int32_t i = f->owner[p];
    const int32_t j = f->owner[q];
    if (i == j || !spad__pieces_overlap(a, b)) return false;
    const spad__conflict c = spad__conflict_of(f->m, i, a, j, b);
    return spad__conflict_holds(&c, &f->place[i], &f->place[j]);
}

static bool clash_of_pins(finder *f) {
    list_pins(f);
    for (int32_t k = 1; k < 2 * f->m->section_count; k++) f->highest[k] = f->whole[k] = INT64_MIN;
    for (size_t n = 0; n < f->pinned; n++) {
        const int32_t p = f->rows[n].value;
        const spad__piece *piece = &f->m->pieces[p];
        const int64_t offset = f->m->items[f->owner[p]].offset;
        const bool over = highest_over(f, piece->begin, piece->end) > offset + piece->lo;
        for (size_t k = 0; over && k < n; k++) {
            const int32_t q = f->rows[k].value;
            if (!pieces_collide(f, p, q)) continue;
            const int32_t a = f->pin[f->owner[p]];
            const int32_t b = f->pin[f->owner[q]];
            return found(f, SPAD_PLAN_CLASH_PINS, a < b ? a : b, a < b ? b : a);
        }
        raise_over(f, piece->begin, piece->end, offset + piece->hi);
    }
    return false;
}

static bool finder_start(finder *f) {
    const size_t n = (size_t)f->m->item_count + 1;
    f->first = spad__arena_array(&f->arena, n, sizeof *f->first);
    f->pin = spad__arena_array(&f->arena, n, sizeof *f->pin);
    f->place = spad__arena_array(&f->arena, n, sizeof *f->place);
    const size_t pieces = (size_t)f->m->piece_count + 1;
    const size_t nodes = 2 * (size_t)f->m->section_count + 1;
    f->rows = spad__arena_array(&f->arena, pieces, 2 * sizeof *f->rows);
    f->owner = spad__arena_array(&f->arena, pieces, sizeof *f->owner);
    f->highest = spad__arena_array(&f->arena, nodes, sizeof *f->highest);
    f->whole = spad__arena_array(&f->arena, nodes, sizeof *f->whole);
    if (f->first == NULL || f->pin == NULL || f->place == NULL || f->rows == NULL ||
        f->owner == NULL || f->highest == NULL || f->whole == NULL)
        return false;
    for (int32_t i = 0; i < f->m->item_count; i++) {
        f->first[i] = f->pin[i] = -1;
        f->place[i] = (spad_plan_place){f->m->items[i].offset, f->m->items[i].lane};
    }
    return true;
}

/* Nothing can clash without pins, aliases or pairs kept apart. */
static bool may_clash(const spad__model *m) {
    const spad_plan *plan = m->plan;
    if ((size_t)m->item_count < plan->buffers.count || plan->aparts.count > 0) return true;
    for (size_t i = 0; i < plan->buffers.count; i++)
        if (plan->buffers.items[i].pinned) return true;
    return false;
}

bool spad__clash_find(spad__model *m) {
    if (m->clash.kind != SPAD_PLAN_NO_CLASH || !may_clash(m)) return true;
    finder f = {.m = m, .arena.host = m->arena.host};
    const bool ok = finder_start(&f);
    if (ok && !clash_in_group(&f) && !clash_of_lanes(&f) && !clash_of_aparts(&f) &&
        !clash_of_unordered(&f))
        (void)clash_of_pins(&f);
    spad__arena_free(&f.arena);
    return ok;
}
