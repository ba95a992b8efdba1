/* SPDX-License-Identifier: Apache-2.0
 *
 * Rules that exclude each other at any capacity. Whatever is not pinned can go above
 * everything else, so only these can be impossible:
 *   two members of an alias group pinned at different places
 *   a pin that breaks the alignment, bank or start lanes of an alias
 *   aliases that are also kept apart
 *   an alias group whose members have no start lane in common
 *   two pins that share a byte while both are alive, or that are kept apart
 * Found once, they are a proof, and the two buffers are the reason to tell.
 * O(n log n) and the pairs of pins that live together.
 */
#include "plan/clash.h"

#include "base/checked.h"
#include "plan/near.h"

typedef struct finder {
    spad__model *m;
    spad__arena arena;
    int32_t *first; /* per item: its first member, or -1 */
    int32_t *pin;   /* per item: its first member with a pin, or -1 */
    spad_plan_place *place;
    spad__near near;
} finder;

static bool found(finder *f, spad_plan_clash kind, int32_t a, int32_t b) {
    f->m->clash = (spad__clash){kind, (size_t)a, (size_t)b};
    return true;
}

/* Whether a member may be where its group is pinned. */
static bool suits(const spad_plan *plan, const spad_plan_buffer *b, const spad__item *item) {
    int64_t top;
    return item->offset % b->alignment == 0 && spad__add(item->offset, b->size, &top) &&
           (b->bank == 0 || item->offset % b->bank <= b->bank - b->size) &&
           spad__plan_start_lane(plan, b->lanes, item->lane) == item->lane;
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
        const spad_plan_buffer *other = &plan->buffers.items[f->pin[item]];
        if (b->offset != other->offset || b->lane != other->lane)
            return found(f, SPAD_PLAN_CLASH_ALIAS_PINS, f->pin[item], i);
    }
    for (int32_t i = 0; i < n; i++) {
        const int32_t item = f->m->item_of[i];
        if (f->pin[item] >= 0 && !suits(plan, &plan->buffers.items[i], &f->m->items[item]))
            return found(f, SPAD_PLAN_CLASH_ALIAS_RULE, f->pin[item], i);
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

static bool clash_of_aparts(finder *f) {
    const spad_plan *plan = f->m->plan;
    int32_t k = 0; /* in the model, where pairs without bytes are left out */
    for (size_t n = 0; n < plan->aparts.count; n++) {
        const spad__pair pair = plan->aparts.items[n];
        if (plan->buffers.items[pair.a].size == 0 || plan->buffers.items[pair.b].size == 0)
            continue;
        const spad__conflict *c = &f->m->aparts[k++];
        if (c->a == c->b) return found(f, SPAD_PLAN_CLASH_ALIAS_APART, pair.a, pair.b);
        if (f->pin[c->a] >= 0 && f->pin[c->b] >= 0 &&
            spad__conflict_holds(c, &f->place[c->a], &f->place[c->b]))
            return found(f, SPAD_PLAN_CLASH_APART_PINS, pair.a, pair.b);
    }
    return false;
}

static bool clash_of_pins(finder *f) {
    for (int32_t i = 0; i < f->m->item_count; i++) {
        if (!f->m->items[i].pinned || f->m->items[i].piece_count == 0) continue;
        spad__near_walk walk = spad__near_of(&f->near, i);
        for (int32_t j = spad__near_next(&walk); j >= 0; j = spad__near_next(&walk))
            if (spad__items_collide(f->m, i, j, f->place))
                return found(f, SPAD_PLAN_CLASH_PINS, f->pin[j], f->pin[i]);
        spad__near_put(&f->near, i);
    }
    return false;
}

static bool finder_start(finder *f) {
    const size_t n = (size_t)f->m->item_count + 1;
    f->first = spad__arena_array(&f->arena, n, sizeof *f->first);
    f->pin = spad__arena_array(&f->arena, n, sizeof *f->pin);
    f->place = spad__arena_array(&f->arena, n, sizeof *f->place);
    if (f->first == NULL || f->pin == NULL || f->place == NULL ||
        !spad__near_start(&f->near, f->m, &f->arena))
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
    if (plan->aliases.count > 0 || plan->aparts.count > 0) return true;
    for (size_t i = 0; i < plan->buffers.count; i++)
        if (plan->buffers.items[i].pinned) return true;
    return false;
}

bool spad__clash_find(spad__model *m) {
    if (!may_clash(m)) return true;
    finder f = {.m = m, .arena.host = m->arena.host};
    const bool ok = finder_start(&f);
    if (ok && !clash_in_group(&f) && !clash_of_lanes(&f) && !clash_of_aparts(&f))
        (void)clash_of_pins(&f);
    spad__arena_free(&f.arena);
    return ok;
}
