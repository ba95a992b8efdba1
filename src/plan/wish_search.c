/* SPDX-License-Identifier: Apache-2.0
 *
 * Wishes at the least cost, exactly.
 *
 * Wishes that are obeyed are rules: a pin, or a pair kept apart. So whether a set of wishes can be
 * obeyed together is a question for the planner, within the limit of the height. A *core* is a set
 * that cannot, and of which every part that has one wish less can: every plan denies at least one
 * of its wishes. The search denies them in turn: the first; the second, and the first is obeyed;
 * and so on. These cases exclude each other and are all there are, so a search that ends is a
 * proof, unless the planner did not decide some set.
 *
 * Cores that have no wish in common, found one after the other before the search, give a bound: the
 * cheapest wish of each, together. A wish that cannot be obeyed alone is a core of one. For large
 * problems only cores of one or two buffers that stay are looked for: places that are not legal any
 * more, or that two buffers would share while both are alive.
 *
 * A check costs a solve of the planner; there are WISH_CHECKS of them at most.
 */
#include <string.h>

#include "base/checked.h"
#include "plan/model.h"
#include "plan/near.h"
#include "plan/wishes.h"

enum {
    WISH_CHECKS = 4000,
    WISH_CHECK_NODES = 50000,
    FEW_WISH_BUFFERS = 64, /* more are not searched */
    FEW_WISHES = 512,
    CORES_MAX = 4096,
    DEEPEST_DENIAL = 512
};

typedef struct wish_core {
    size_t count;
    int32_t *wishes; /* cheapest first */
} wish_core;

typedef struct wish_search {
    const spad__wishes *wishes;
    spad__arena arena;
    int32_t checks;
    bool *denied; /* per wish: it may be broken */
    bool *forced; /* per wish: it is obeyed, by an earlier case */
    bool *asked;  /* scratch: the set that is checked */
    size_t core_count;
    wish_core *cores;
    spad_plan_place *best_places;
    int64_t best;
    bool cut; /* not all was tried */
    bool no_memory;
} wish_search;

/* ---- the planner as an oracle ------------------------------------------------------ */

/* The plan with the wishes that are asked for as rules, within the limit. */
static spad_status make_wish_plan(spad_plan **out, const wish_search *s) {
    const spad__wishes *w = s->wishes;
    const spad_plan *plan = w->plan;
    spad_status status = spad_plan_create(out, &plan->host, NULL);
    if (status == SPAD_OK && plan->space != NULL)
        status = spad_plan_set_space(*out, plan->space, NULL);
    if (status == SPAD_OK) status = spad_plan_set_capacity(*out, w->limit, NULL);
    size_t k = 0; /* wishes of buffers come first, in the order of buffers */
    for (size_t i = 0; i < plan->buffers.count && status == SPAD_OK; i++) {
        spad_plan_buffer b = plan->buffers.items[i];
        b.name = NULL;
        if (k < w->count && w->items[k].b == SIZE_MAX && w->items[k].a == i) {
            if (s->asked[k]) {
                b.pinned = true;
                b.offset = w->previous[i].offset;
                b.lane = w->previous[i].lane;
            }
            k++;
        }
        status = spad_plan_add(NULL, *out, &b, NULL);
    }
    for (size_t i = 0; i < plan->aliases.count && status == SPAD_OK; i++)
        status = spad_plan_alias(*out, (size_t)plan->aliases.items[i].a,
                                 (size_t)plan->aliases.items[i].b, NULL);
    for (size_t i = 0; i < plan->slices.count && status == SPAD_OK; i++)
        status =
            spad_plan_slice(*out, (size_t)plan->slices.items[i].slice,
                            (size_t)plan->slices.items[i].whole, plan->slices.items[i].at, NULL);
    for (size_t i = 0; i < plan->in_places.count && status == SPAD_OK; i++)
        status = spad_plan_in_place(*out, (size_t)plan->in_places.items[i].a,
                                    (size_t)plan->in_places.items[i].b, NULL);
    for (size_t i = 0; i < plan->aparts.count && status == SPAD_OK; i++)
        status = spad_plan_apart(*out, (size_t)plan->aparts.items[i].a,
                                 (size_t)plan->aparts.items[i].b, NULL);
    for (; k < w->count && status == SPAD_OK; k++)
        if (s->asked[k]) status = spad_plan_apart(*out, w->items[k].a, w->items[k].b, NULL);
    return status;
}

static void keep_wish_places(wish_search *s, const spad_plan_place *places) {
    const int64_t cost = spad__wishes_cost(s->wishes, places);
    if (cost >= s->best) return;
    s->best = cost;
    memcpy(s->best_places, places, s->wishes->plan->buffers.count * sizeof *places);
}

/* Can the wishes that are asked for be obeyed? 1: yes, and the plan was looked at; 0: proved that
 * not; -1: not known. */
static int32_t can_obey(wish_search *s) {
    spad_plan *plan = NULL;
    spad_plan_result *result = NULL;
    int32_t answer = -1;
    if (s->no_memory || s->checks >= WISH_CHECKS || spad__limit_reached(s->wishes->time)) return -1;
    s->checks++;
    const spad_plan_options options = {.goal = SPAD_PLAN_DECIDE,
                                       .node_limit = WISH_CHECK_NODES,
                                       .timeout_ns = spad__limit_left(s->wishes->time)};
    spad_status status = make_wish_plan(&plan, s);
    if (status == SPAD_OK) status = spad_plan_solve(&result, plan, &options, NULL);
    if (status == SPAD_ERR_HOST_MEMORY) {
        s->no_memory = true;
    } else if (status != SPAD_OK) {
        answer = 0; /* a pin that breaks a rule of its buffer */
    } else if (result->verdict <= SPAD_PLAN_FEASIBLE) {
        answer = 1;
        keep_wish_places(s, result->places);
    } else if (result->verdict == SPAD_PLAN_INFEASIBLE) {
        answer = 0;
    }
    spad_plan_result_destroy(result);
    spad_plan_destroy(plan);
    return answer;
}

/* ---- cores ------------------------------------------------------------------------- */

/* The set that is asked for cannot be obeyed: takes wishes out of it as long as that is proved of
 * the rest, the most expensive last, so that cheap ones go. NULL: no memory, or too many cores. */
static const wish_core *find_core(wish_search *s) {
    const size_t count = s->wishes->count;
    for (size_t k = 0; k < count && !s->no_memory; k++) {
        if (!s->asked[k] || s->forced[k]) continue;
        s->asked[k] = false;
        if (can_obey(s) != 0) s->asked[k] = true;
    }
    if (s->no_memory || s->core_count == CORES_MAX) return NULL;
    wish_core *core = &s->cores[s->core_count];
    core->count = 0;
    for (size_t k = 0; k < count; k++) core->count += s->asked[k];
    core->wishes = spad__arena_array(&s->arena, core->count + 1, sizeof *core->wishes);
    if (core->wishes == NULL) {
        s->no_memory = true;
        return NULL;
    }
    size_t at = 0;
    for (size_t k = 0; k < count; k++) {
        if (!s->asked[k]) continue;
        size_t place = at++;
        for (;
             place > 0 && s->wishes->items[core->wishes[place - 1]].cost > s->wishes->items[k].cost;
             place--)
            core->wishes[place] = core->wishes[place - 1];
        core->wishes[place] = (int32_t)k;
    }
    s->core_count++;
    return core;
}

/* A core none of whose wishes is denied; NULL: none is known. */
static const wish_core *known_core(const wish_search *s) {
    for (size_t k = 0; k < s->core_count; k++) {
        bool hit = false;
        for (size_t i = 0; i < s->cores[k].count && !hit; i++)
            hit = s->denied[s->cores[k].wishes[i]];
        if (!hit) return &s->cores[k];
    }
    return NULL;
}

/* What cores without common wishes cost at least. */
static int64_t bound_by_cores(wish_search *s) {
    const size_t count = s->wishes->count;
    int64_t bound = 0;
    bool *left = spad__arena_array(&s->arena, count + 1, sizeof *left);
    if (left == NULL) {
        s->no_memory = true;
        return 0;
    }
    memset(left, 1, count * sizeof *left);
    for (;;) {
        memcpy(s->asked, left, count * sizeof *left);
        if (can_obey(s) != 0) return bound;
        const wish_core *core = find_core(s);
        if (core == NULL || core->count == 0) return bound;
        bound += s->wishes->items[core->wishes[0]].cost;
        for (size_t i = 0; i < core->count; i++) left[core->wishes[i]] = false;
    }
}

/* ---- the search -------------------------------------------------------------------- */

static void deny_wishes(wish_search *s, int64_t cost, int32_t depth);

/* One wish of a core after the other is denied; those before it are obeyed. */
static void deny_each(wish_search *s, const wish_core *core, int64_t cost, int32_t depth) {
    bool *mine = spad__arena_array(&s->arena, core->count + 1, sizeof *mine);
    if (mine == NULL) {
        s->no_memory = s->cut = true;
        return;
    }
    for (size_t i = 0; i < core->count; i++) {
        const int32_t k = core->wishes[i];
        mine[i] = !s->forced[k];
        if (!mine[i] || s->no_memory) continue;
        s->denied[k] = true;
        deny_wishes(s, cost + s->wishes->items[k].cost, depth + 1);
        s->denied[k] = false;
        s->forced[k] = true;
    }
    for (size_t i = 0; i < core->count; i++)
        if (mine[i]) s->forced[core->wishes[i]] = false;
}

static void deny_wishes(wish_search *s, int64_t cost, int32_t depth) {
    if (cost >= s->best || s->no_memory) return;
    if (depth > DEEPEST_DENIAL) {
        s->cut = true;
        return;
    }
    const wish_core *core = known_core(s);
    if (core == NULL) {
        for (size_t k = 0; k < s->wishes->count; k++) s->asked[k] = !s->denied[k];
        const int32_t answer = can_obey(s);
        if (answer == 1) return; /* it was kept, and costs no more than what is denied */
        if (answer == 0) core = find_core(s);
        if (core == NULL) {
            s->cut = true;
            return;
        }
    }
    deny_each(s, core, cost, depth);
}

/* ---- cores of large problems ------------------------------------------------------- */

/* May an item be at the previous place of its buffer? */
static bool is_legal_before(const spad__wishes *w, const spad__model *m, size_t buffer,
                            spad_plan_place *place) {
    const spad__item *item = &m->items[m->item_of[buffer]];
    int64_t offset;
    *place = w->previous[buffer];
    if (place->offset < spad__delta(m, buffer)) return false;
    place->offset -= spad__delta(m, buffer);
    if (item->pinned) return place->offset == item->offset && place->lane == item->lane;
    return place->offset <= w->limit - item->size &&
           spad__item_next_offset(m, item, place->offset, &offset) && offset == place->offset &&
           spad__item_next_lane(m, item, place->lane) == place->lane;
}

/* Buffers that cannot stay, and pairs that cannot both stay, each buffer in one of them. */
static spad_status bound_by_places(const spad__wishes *w, int64_t *bound) {
    spad__model m;
    spad_status status = spad__model_build(&m, w->plan, NULL);
    spad__near near;
    spad_plan_place *place = NULL;
    int32_t *wish = NULL; /* per item: that of a buffer that may stay, or one of these: */
    enum { NO_WISH = -1, LOST_WISH = -2 /* the item is in `near` all the same */ };
    if (status == SPAD_OK) {
        place = spad__arena_array(&m.arena, (size_t)m.item_count + 1, sizeof *place);
        wish = spad__arena_array(&m.arena, (size_t)m.item_count + 1, sizeof *wish);
        if (place == NULL || wish == NULL || !spad__near_start(&near, &m, &m.arena))
            status = SPAD_ERR_HOST_MEMORY;
    }
    for (int32_t i = 0; status == SPAD_OK && i < m.item_count; i++) wish[i] = NO_WISH;
    for (size_t k = 0; status == SPAD_OK && k < w->count && w->items[k].b == SIZE_MAX; k++) {
        const int32_t i = m.item_of[w->items[k].a];
        spad_plan_place old;
        if (!is_legal_before(w, &m, w->items[k].a, &old)) {
            *bound += w->items[k].cost;
            continue;
        }
        if (wish[i] >= 0 || m.items[i].piece_count == 0) continue;
        place[i] = old;
        spad__near_walk walk = spad__near_of(&near, i);
        int32_t other = spad__near_next(&walk);
        while (other >= 0 && (wish[other] < 0 || !spad__items_collide(&m, i, other, place)))
            other = spad__near_next(&walk);
        if (other >= 0) {
            *bound += spad__min(w->items[k].cost, w->items[wish[other]].cost);
            wish[other] = LOST_WISH;
        } else {
            if (wish[i] == NO_WISH) spad__near_put(&near, i);
            wish[i] = (int32_t)k;
        }
        if (k % 64 == 0 && spad__limit_reached(w->time)) break;
    }
    spad__model_free(&m);
    return status;
}

/* ---- both -------------------------------------------------------------------------- */

static bool start_wish_search(wish_search *s, int64_t best, const spad_plan_place *places) {
    const size_t count = s->wishes->count + 1;
    const size_t buffers = s->wishes->plan->buffers.count;
    s->denied = spad__arena_array(&s->arena, count, sizeof *s->denied);
    s->forced = spad__arena_array(&s->arena, count, sizeof *s->forced);
    s->asked = spad__arena_array(&s->arena, count, sizeof *s->asked);
    s->cores = spad__arena_array(&s->arena, CORES_MAX, sizeof *s->cores);
    s->best_places = spad__arena_array(&s->arena, buffers + 1, sizeof *s->best_places);
    s->best = best;
    if (s->denied == NULL || s->forced == NULL || s->asked == NULL || s->cores == NULL ||
        s->best_places == NULL)
        return false;
    memcpy(s->best_places, places, buffers * sizeof *places);
    return true;
}

spad_status spad__wishes_search(const spad__wishes *wishes, spad_plan_place *places, int64_t *best,
                                int64_t *bound) {
    const size_t buffers = wishes->plan->buffers.count;
    if (buffers > FEW_WISH_BUFFERS || wishes->count > FEW_WISHES)
        return bound_by_places(wishes, bound);
    wish_search s = {.wishes = wishes, .arena.host = wishes->plan->host};
    spad_status status = SPAD_ERR_HOST_MEMORY;
    if (start_wish_search(&s, *best, places)) {
        *bound = bound_by_cores(&s);
        if (s.best > *bound) deny_wishes(&s, 0, 0);
        if (!s.cut) *bound = s.best;
        if (!s.no_memory) status = SPAD_OK;
        *best = s.best;
        memcpy(places, s.best_places, buffers * sizeof *places);
    }
    spad__arena_free(&s.arena);
    return status;
}
