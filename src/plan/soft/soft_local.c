/* SPDX-License-Identifier: Apache-2.0
 *
 * Local search: lowers the cost of a plan item by item.
 *
 * Each item in turn tries the places where its soft constraints might hold, next to something:
 * where it was in the earlier plan, the bottom, and on top of and below each item that it overlaps
 * in time or should not share bytes with. Of the places that are free it takes the one of least
 * cost. If the place of the earlier plan is not free, what is there goes elsewhere in the same way,
 * and all of it stays so if that costs less. Two beginnings are tried: the plan without
 * constraints, and the earlier plan as far as it is legal, with the others put in one after the
 * other.
 *
 * A pass costs, for each item, the square of the items that it overlaps in time or should avoid.
 */
#include <string.h>

#include "base/checked.h"
#include "plan/problem/model.h"
#include "plan/problem/near.h"
#include "plan/problem/sort.h"
#include "plan/soft/soft.h"

enum { SOFT_PASSES = 8, SOFT_PLACES = 256, SOFT_BLOCKERS = 4, EVICTIONS = 20, NOT_PLACED = -1 };

typedef struct soft_local {
    const spad__soft_list *constraints;
    spad__model model;
    spad__near near;
    spad_plan_place *place; /* per item; offset NOT_PLACED: not in the plan yet */
    int32_t *first;         /* soft constraints of item i: of[first[i]] to of[first[i + 1]] */
    int32_t *of;
    int32_t *evicted; /* per item: how often it had to leave its place */
    int32_t *queue;   /* items without a place: a ring of item_count + 1 */
    int32_t head;
    int32_t tail;
} soft_local;

/* ---- cost -------------------------------------------------------------------------- */

static spad_plan_place buffer_place(const soft_local *l, size_t buffer) {
    spad_plan_place place = l->place[l->model.item_of[buffer]];
    place.offset += spad__delta(&l->model, buffer);
    return place;
}

static bool local_constraint_holds(const soft_local *l, const spad__soft_constraint *constraint) {
    const spad_plan_buffer *buffers = l->constraints->plan->buffers.items;
    const spad_plan_place x = buffer_place(l, constraint->a);
    if (constraint->b == SIZE_MAX) {
        const spad_plan_place *old = &l->constraints->previous[constraint->a];
        return x.offset == old->offset && x.lane == old->lane;
    }
    if (l->place[l->model.item_of[constraint->b]].offset == NOT_PLACED) return true;
    const spad_plan_place y = buffer_place(l, constraint->b);
    return !(x.offset < y.offset + buffers[constraint->b].size &&
             y.offset < x.offset + buffers[constraint->a].size &&
             x.lane < y.lane + buffers[constraint->b].lanes &&
             y.lane < x.lane + buffers[constraint->a].lanes);
}

/* What the soft constraints of one item cost. */
static int64_t item_cost(const soft_local *l, int32_t i) {
    int64_t cost = 0;
    for (int32_t k = l->first[i]; k < l->first[i + 1]; k++) {
        const spad__soft_constraint *constraint = &l->constraints->items[l->of[k]];
        const size_t other =
            (size_t)l->model.item_of[constraint->a] == (size_t)i ? constraint->b : constraint->a;
        if (other != SIZE_MAX && l->place[l->model.item_of[other]].offset == NOT_PLACED) continue;
        if (!local_constraint_holds(l, constraint)) cost += constraint->cost;
    }
    return cost;
}

static int64_t local_cost(const soft_local *l) {
    int64_t cost = 0;
    for (size_t k = 0; k < l->constraints->count; k++)
        if (!local_constraint_holds(l, &l->constraints->items[k]))
            cost += l->constraints->items[k].cost;
    return cost;
}

/* ---- one item ---------------------------------------------------------------------- */

/* Is the place of an item legal and free? Up to SOFT_BLOCKERS that are in the way are listed; NULL:
 * they are not asked for. *count: how many, or more than SOFT_BLOCKERS. */
static bool is_place_free(const soft_local *l, int32_t i, int32_t *blockers, int32_t *count) {
    const spad__model *m = &l->model;
    *count = 0;
    spad__near_walk walk = spad__near_of(&l->near, i);
    for (int32_t j = spad__near_next(&walk); j >= 0; j = spad__near_next(&walk)) {
        if (j == i || l->place[j].offset == NOT_PLACED || !spad__items_collide(m, i, j, l->place))
            continue;
        if (blockers == NULL) return false;
        if (*count < SOFT_BLOCKERS) blockers[*count] = j;
        ++*count;
    }
    for (int32_t k = 0; k < m->apart_count; k++) {
        const spad__conflict *c = &m->aparts[k];
        if (c->a != i && c->b != i) continue;
        const int32_t j = c->a == i ? c->b : c->a;
        if (l->place[j].offset == NOT_PLACED ||
            !spad__conflict_holds(c, &l->place[c->a], &l->place[c->b]))
            continue;
        if (blockers == NULL) return false;
        if (*count < SOFT_BLOCKERS) blockers[*count] = j;
        ++*count;
    }
    return *count == 0;
}

static bool is_place_legal(const soft_local *l, int32_t i, const spad_plan_place *place) {
    const spad__item *item = &l->model.items[i];
    int64_t offset;
    return place->offset >= 0 && place->offset <= l->constraints->limit - item->size &&
           spad__item_next_offset(&l->model, item, place->offset, &offset) &&
           offset == place->offset &&
           spad__item_next_lane(&l->model, item, place->lane) == place->lane;
}

typedef struct soft_places {
    int32_t count;
    spad_plan_place items[SOFT_PLACES];
} soft_places;

/* Adds the lowest legal place from an offset on. */
static void offer_place(const soft_local *l, int32_t i, soft_places *places, int64_t from,
                        int64_t lane) {
    spad_plan_place place = {.lane = lane};
    if (places->count == SOFT_PLACES || from < 0) return;
    if (!spad__item_next_offset(&l->model, &l->model.items[i], from, &place.offset)) return;
    if (is_place_legal(l, i, &place)) places->items[places->count++] = place;
}

/* Next to another item: on top of it, and below it. */
static void offer_beside(const soft_local *l, int32_t i, int32_t j, soft_places *places) {
    if (j == i || l->place[j].offset == NOT_PLACED) return;
    const spad__item *mine = &l->model.items[i];
    const int64_t lane = l->place[i].lane;
    offer_place(l, i, places, l->place[j].offset + l->model.items[j].size, lane);
    const int64_t below = l->place[j].offset - mine->size;
    if (below >= 0) offer_place(l, i, places, below - below % mine->alignment, lane);
}

/* The earlier places come first. */
static void list_places(const soft_local *l, int32_t i, soft_places *places) {
    places->count = 0;
    for (int32_t k = l->first[i]; k < l->first[i + 1]; k++) {
        const spad__soft_constraint *constraint = &l->constraints->items[l->of[k]];
        if (constraint->b != SIZE_MAX || places->count == SOFT_PLACES) continue;
        spad_plan_place old = l->constraints->previous[constraint->a];
        if (old.offset < spad__delta(&l->model, constraint->a)) continue;
        old.offset -= spad__delta(&l->model, constraint->a);
        if (is_place_legal(l, i, &old)) places->items[places->count++] = old;
    }
    offer_place(l, i, places, 0, l->place[i].lane);
    for (int32_t k = l->first[i]; k < l->first[i + 1] && places->count < SOFT_PLACES / 2; k++) {
        const spad__soft_constraint *constraint = &l->constraints->items[l->of[k]];
        if (constraint->b == SIZE_MAX) continue;
        const int32_t x = l->model.item_of[constraint->a];
        offer_beside(l, i, x == i ? l->model.item_of[constraint->b] : x, places);
    }
    spad__near_walk walk = spad__near_of(&l->near, i);
    for (int32_t j = spad__near_next(&walk); j >= 0 && places->count < SOFT_PLACES;
         j = spad__near_next(&walk))
        offer_beside(l, i, j, places);
}

/* Moves an item to its free place of least cost. False: it has none. */
static bool settle_item(soft_local *l, int32_t i) {
    const spad_plan_place before = l->place[i];
    int32_t count;
    bool found = before.offset != NOT_PLACED;
    if (l->model.items[i].pinned) return found;
    if (found) found = is_place_free(l, i, NULL, &count);
    spad_plan_place best = before;
    int64_t least = found ? item_cost(l, i) : INT64_MAX;
    soft_places places;
    list_places(l, i, &places);
    for (int32_t k = 0; k < places.count && least > 0; k++) {
        l->place[i] = places.items[k];
        const int64_t cost = item_cost(l, i);
        if (cost >= least || !is_place_free(l, i, NULL, &count)) continue;
        least = cost;
        best = places.items[k];
        found = true;
    }
    l->place[i] = best;
    return found;
}

/* ---- what is in the way ------------------------------------------------------------ */

/* Puts an item where it was, and what is there elsewhere, if that costs less. */
static void push_to(soft_local *l, int32_t i, const spad_plan_place *old) {
    int32_t blockers[SOFT_BLOCKERS];
    spad_plan_place before[SOFT_BLOCKERS];
    int32_t count;
    const spad_plan_place mine = l->place[i];
    l->place[i] = *old;
    if (is_place_free(l, i, blockers, &count) || count > SOFT_BLOCKERS) {
        l->place[i] = mine;
        return;
    }
    l->place[i] = mine;
    int64_t sum = item_cost(l, i);
    bool fine = true;
    for (int32_t k = 0; k < count; k++) {
        before[k] = l->place[blockers[k]];
        sum += item_cost(l, blockers[k]);
        fine = fine && !l->model.items[blockers[k]].pinned;
    }
    if (fine) l->place[i] = *old;
    for (int32_t k = 0; k < count && fine; k++) l->place[blockers[k]].offset = NOT_PLACED;
    int32_t placed = 0;
    for (; placed < count && fine; placed++) fine = settle_item(l, blockers[placed]);
    int64_t now = fine ? item_cost(l, i) : 0;
    for (int32_t k = 0; k < count && fine; k++) now += item_cost(l, blockers[k]);
    if (fine && now < sum) return;
    l->place[i] = mine;
    for (int32_t k = 0; k < count; k++) l->place[blockers[k]] = before[k];
}

static void push_back(soft_local *l, int32_t i) {
    if (l->model.items[i].pinned) return;
    for (int32_t k = l->first[i]; k < l->first[i + 1]; k++) {
        const spad__soft_constraint *constraint = &l->constraints->items[l->of[k]];
        if (constraint->b != SIZE_MAX || local_constraint_holds(l, constraint)) continue;
        spad_plan_place old = l->constraints->previous[constraint->a];
        old.offset -= spad__delta(&l->model, constraint->a);
        if (is_place_legal(l, i, &old)) push_to(l, i, &old);
    }
}

static void improve_items(soft_local *l) {
    int64_t cost = local_cost(l);
    for (int32_t pass = 0; pass < SOFT_PASSES && cost > 0; pass++) {
        for (int32_t i = 0; i < l->model.item_count; i++) {
            if (l->first[i] == l->first[i + 1] || item_cost(l, i) == 0) continue;
            if (spad__limit_reached(l->constraints->time)) return;
            (void)settle_item(l, i);
            push_back(l, i);
        }
        const int64_t now = local_cost(l);
        if (now >= cost) return;
        cost = now;
    }
}

/* ---- beginnings -------------------------------------------------------------------- */

/* The places of buffers as those of items. */
static void take_soft_start(soft_local *l, const spad_plan_place *places) {
    for (size_t k = 0; k < l->constraints->plan->buffers.count; k++) {
        spad_plan_place *place = &l->place[l->model.item_of[k]];
        *place = places[k];
        place->offset -= spad__delta(&l->model, k);
    }
}

static void give_places(const soft_local *l, spad_plan_place *places) {
    for (size_t k = 0; k < l->constraints->plan->buffers.count; k++) places[k] = buffer_place(l, k);
}

static void enqueue(soft_local *l, int32_t i) {
    l->place[i].offset = NOT_PLACED;
    l->queue[l->tail] = i;
    l->tail = l->tail == l->model.item_count ? 0 : l->tail + 1;
}

/* What it costs to clear a place for an item: more for what had to leave before. INT64_MAX: a pin
 * is there. */
static int64_t eviction_cost(const soft_local *l, int32_t i, int64_t limit) {
    const spad__model *m = &l->model;
    int64_t cost = 0;
    spad__near_walk walk = spad__near_of(&l->near, i);
    for (int32_t j = spad__near_next(&walk); j >= 0 && cost < limit; j = spad__near_next(&walk)) {
        if (j == i || l->place[j].offset == NOT_PLACED || !spad__items_collide(m, i, j, l->place))
            continue;
        if (m->items[j].pinned) return INT64_MAX;
        cost += (1 + m->items[j].size / 64) * (1 + l->evicted[j]);
    }
    return cost;
}

/* Puts an item where the least has to leave, which then waits for a place. False: pins are
 * everywhere. */
static bool evict_for(soft_local *l, int32_t i) {
    soft_places places;
    spad_plan_place best = {.offset = NOT_PLACED};
    int64_t least = INT64_MAX;
    list_places(l, i, &places);
    for (int32_t k = 0; k < places.count; k++) {
        l->place[i] = places.items[k];
        const int64_t cost = eviction_cost(l, i, least);
        if (cost >= least) continue;
        least = cost;
        best = places.items[k];
    }
    l->place[i] = best;
    if (best.offset == NOT_PLACED) return false;
    spad__near_walk walk = spad__near_of(&l->near, i);
    for (int32_t j = spad__near_next(&walk); j >= 0; j = spad__near_next(&walk)) {
        if (j == i || l->place[j].offset == NOT_PLACED ||
            !spad__items_collide(&l->model, i, j, l->place))
            continue;
        l->evicted[j]++;
        enqueue(l, j);
    }
    l->evicted[i]++;
    return true;
}

/* Places what waits; what it clears away waits in its turn. False: that did not end. Pairs kept
 * apart are not cleared. */
static bool place_waiting(soft_local *l) {
    const int64_t most = 1000 + EVICTIONS * (int64_t)l->model.item_count;
    for (int64_t n = 0; l->head != l->tail; n++) {
        const int32_t i = l->queue[l->head];
        l->head = l->head == l->model.item_count ? 0 : l->head + 1;
        if (n > most || spad__limit_reached(l->constraints->time)) return false;
        if (settle_item(l, i)) continue;
        if (l->model.apart_count > 0 || !evict_for(l, i)) return false;
    }
    return true;
}

/* The earlier plan as far as it is legal; then the others, the largest first. False: one of them
 * has no place. */
static bool begin_with_previous(soft_local *l, spad__row *rows) {
    const spad__model *m = &l->model;
    int32_t count;
    size_t left = 0;
    for (int32_t i = 0; i < m->item_count; i++)
        l->place[i].offset = m->items[i].pinned ? m->items[i].offset : NOT_PLACED;
    for (size_t k = 0; k < l->constraints->count && l->constraints->items[k].b == SIZE_MAX; k++) {
        const size_t buffer = l->constraints->items[k].a;
        const int32_t i = m->item_of[buffer];
        spad_plan_place old = l->constraints->previous[buffer];
        old.offset -= spad__delta(m, buffer);
        if (l->place[i].offset != NOT_PLACED || !is_place_legal(l, i, &old)) continue;
        l->place[i] = old;
        if (!is_place_free(l, i, NULL, &count)) l->place[i].offset = NOT_PLACED;
    }
    for (int32_t i = 0; i < m->item_count; i++)
        if (l->place[i].offset == NOT_PLACED)
            rows[left++] = (spad__row){spad__sort_key(-m->items[i].size), i};
    spad__sort_rows(rows, rows + m->item_count + 1, left);
    l->head = l->tail = 0;
    for (size_t k = 0; k < left; k++) enqueue(l, rows[k].value);
    return place_waiting(l);
}

static bool start_soft_local(soft_local *l) {
    const spad__soft_list *w = l->constraints;
    spad__arena *arena = &l->model.arena;
    const size_t items = (size_t)l->model.item_count;
    l->place = spad__arena_array(arena, items + 1, sizeof *l->place);
    l->first = spad__arena_array(arena, items + 2, sizeof *l->first);
    l->of = spad__arena_array(arena, 2 * w->count + 1, sizeof *l->of);
    l->evicted = spad__arena_array(arena, items + 1, sizeof *l->evicted);
    l->queue = spad__arena_array(arena, items + 1, sizeof *l->queue);
    if (l->place == NULL || l->first == NULL || l->of == NULL || l->evicted == NULL ||
        l->queue == NULL || !spad__near_start(&l->near, &l->model, arena))
        return false;
    for (int32_t i = 0; i < l->model.item_count; i++)
        if (l->model.items[i].piece_count > 0) spad__near_put(&l->near, i);
    for (size_t k = 0; k < w->count; k++) {
        l->first[l->model.item_of[w->items[k].a] + 1]++;
        if (w->items[k].b != SIZE_MAX) l->first[l->model.item_of[w->items[k].b] + 1]++;
    }
    for (size_t i = 0; i < items; i++) l->first[i + 1] += l->first[i];
    for (size_t k = w->count;
         k-- > 0;) { /* backwards, so that first[i + 1] becomes the start of i */
        l->of[--l->first[l->model.item_of[w->items[k].a] + 1]] = (int32_t)k;
        if (w->items[k].b != SIZE_MAX)
            l->of[--l->first[l->model.item_of[w->items[k].b] + 1]] = (int32_t)k;
    }
    for (size_t i = 0; i < items; i++) l->first[i] = l->first[i + 1];
    l->first[items] = 0;
    for (size_t k = 0; k < w->count; k++) l->first[items] += w->items[k].b != SIZE_MAX ? 2 : 1;
    return true;
}

/* Keeps the places if they cost less. */
static void keep_cheaper_places(const soft_local *l, spad_plan_place *places, int64_t *best) {
    const int64_t cost = local_cost(l);
    if (cost >= *best) return;
    *best = cost;
    give_places(l, places);
}

spad_status spad__soft_improve(const spad__soft_list *constraints, spad_plan_place *places,
                               int64_t *best) {
    soft_local l = {.constraints = constraints};
    const int64_t before = *best;
    spad_status status = spad__model_build(&l.model, constraints->plan, NULL);
    if (status == SPAD_OK) {
        spad__row *rows =
            spad__arena_array(&l.model.arena, 2 * (size_t)l.model.item_count + 2, sizeof *rows);
        if (rows == NULL || !start_soft_local(&l)) {
            status = SPAD_ERR_HOST_MEMORY;
        } else {
            take_soft_start(&l, places); /* also the lanes of what is placed again */
            if (constraints->previous != NULL && begin_with_previous(&l, rows)) {
                improve_items(&l);
                keep_cheaper_places(&l, places, best);
            }
            if (*best == before) { /* the other beginning is not better, or does not exist */
                take_soft_start(&l, places);
                improve_items(&l);
                keep_cheaper_places(&l, places, best);
            }
        }
    }
    spad__model_free(&l.model);
    return status;
}
