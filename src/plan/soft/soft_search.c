/* SPDX-License-Identifier: Apache-2.0
 *
 * Minimum-cost soft constraints, exactly: an implicit hitting set search over minimal cores (Reiter
 * 1987 for conflict sets, Davies and Bacchus 2011 for MaxSAT).
 *
 * A constraint that must hold is a hard rule: a pin, or a pair kept apart. So the planner decides,
 * within the limit of the height, whether a set of constraints can hold together. A *core* is a
 * minimal set that cannot: every plan violates at least one of its constraints. The search branches
 * over a core: the first is violated; the second is violated and the first holds; and so on. These
 * cases exclude each other and cover all plans, so a search that ends is a proof, unless the
 * planner left some set undecided.
 *
 * Disjoint cores, found one after the other before the search, give a lower bound: the sum of the
 * cheapest constraint of each. A constraint that cannot hold alone is a core of one. In large
 * problems only cores of one or two staying buffers are looked for: places that are not legal any
 * more, or that two buffers would share while both are live.
 *
 * A check costs a solve of the planner; there are SOFT_CHECKS of them at most.
 */
#include <string.h>

#include "base/assert.h"
#include "base/checked.h"
#include "plan/problem/model.h"
#include "plan/problem/near.h"
#include "plan/soft/soft.h"

enum {
    SOFT_CHECKS = 4000,
    SOFT_CHECK_NODES = 50000,
    SOFT_SEARCH_BUFFERS_MAX = 64, /* more are not searched */
    SOFT_SEARCH_CONSTRAINTS_MAX = 512,
    CORES_MAX = 4096,
    SOFT_SEARCH_DEPTH_MAX = 512
};

typedef struct soft_core {
    size_t count;
    int32_t *constraints; /* cheapest first */
} soft_core;

typedef struct soft_search {
    const spad__soft_list *constraints;
    spad__arena arena;
    int32_t checks;
    bool *violated; /* per constraint: it may be violated */
    bool *required; /* per constraint: it must hold, because an earlier case covers its violation */
    bool *asked;    /* scratch: the set that is checked */
    size_t core_count;
    soft_core *cores;
    spad_plan_place *best_places;
    int64_t best;
    bool cut; /* not all was tried */
    bool no_memory;
} soft_search;

/* ---- the planner as an oracle ------------------------------------------------------ */

/* The plan with the soft constraints that are asked for as rules, within the limit. */
static spad_status make_constrained_plan(spad_plan **out, const soft_search *s) {
    const spad__soft_list *w = s->constraints;
    const spad_plan *plan = w->plan;
    spad_status status = spad_plan_create(out, &plan->host, NULL);
    if (status == SPAD_OK && plan->space != NULL)
        status = spad_plan_set_space(*out, plan->space, NULL);
    if (status == SPAD_OK) status = spad_plan_set_capacity(*out, w->limit, NULL);
    size_t k = 0; /* soft constraints of buffers come first, in the order of buffers */
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

static void keep_soft_places(soft_search *s, const spad_plan_place *places) {
    const int64_t cost = spad__soft_cost(s->constraints, places);
    if (cost >= s->best) return;
    s->best = cost;
    memcpy(s->best_places, places, s->constraints->plan->buffers.count * sizeof *places);
}

/* Can the requested constraints hold together? 1: yes, and the plan was looked at; 0: proved that
 * not; -1: not known. */
static int32_t can_obey(soft_search *s) {
    spad_plan *plan = NULL;
    spad_plan_result *result = NULL;
    int32_t answer = -1;
    if (s->no_memory || s->checks >= SOFT_CHECKS || spad__limit_reached(s->constraints->time))
        return -1;
    s->checks++;
    const spad_plan_options options = {.goal = SPAD_PLAN_DECIDE,
                                       .node_limit = SOFT_CHECK_NODES,
                                       .timeout_ns = spad__limit_left(s->constraints->time)};
    spad_status status = make_constrained_plan(&plan, s);
    if (status == SPAD_OK) status = spad_plan_solve(&result, plan, &options, NULL);
    spad__assert(status != SPAD_OK || result != NULL);
    if (status == SPAD_ERR_HOST_MEMORY) {
        s->no_memory = true;
    } else if (status != SPAD_OK) {
        answer = 0; /* a pin that breaks a rule of its buffer */
    } else if (result->verdict <= SPAD_PLAN_FEASIBLE) {
        answer = 1;
        keep_soft_places(s, result->places);
    } else if (result->verdict == SPAD_PLAN_INFEASIBLE) {
        answer = 0;
    }
    spad_plan_result_destroy(result);
    spad_plan_destroy(plan);
    return answer;
}

/* ---- cores ------------------------------------------------------------------------- */

/* The requested set cannot hold: takes constraints out of it as long as that is proved of
 * the rest, the most expensive last, so that cheap ones go. NULL: no memory, or too many cores. */
static const soft_core *find_core(soft_search *s) {
    const size_t count = s->constraints->count;
    for (size_t k = 0; k < count && !s->no_memory; k++) {
        if (!s->asked[k] || s->required[k]) continue;
        s->asked[k] = false;
        if (can_obey(s) != 0) s->asked[k] = true;
    }
    if (s->no_memory || s->core_count == CORES_MAX) return NULL;
    soft_core *core = &s->cores[s->core_count];
    core->count = 0;
    for (size_t k = 0; k < count; k++) core->count += s->asked[k];
    core->constraints = spad__arena_array(&s->arena, core->count + 1, sizeof *core->constraints);
    if (core->constraints == NULL) {
        s->no_memory = true;
        return NULL;
    }
    size_t at = 0;
    for (size_t k = 0; k < count; k++) {
        if (!s->asked[k]) continue;
        size_t place = at++;
        for (; place > 0 && s->constraints->items[core->constraints[place - 1]].cost >
                                s->constraints->items[k].cost;
             place--)
            core->constraints[place] = core->constraints[place - 1];
        core->constraints[place] = (int32_t)k;
    }
    s->core_count++;
    return core;
}

/* A core none of whose constraints is violated; NULL: none is known. */
static const soft_core *known_core(const soft_search *s) {
    for (size_t k = 0; k < s->core_count; k++) {
        bool hit = false;
        for (size_t i = 0; i < s->cores[k].count && !hit; i++)
            hit = s->violated[s->cores[k].constraints[i]];
        if (!hit) return &s->cores[k];
    }
    return NULL;
}

/* A lower bound of the cost: disjoint cores, the cheapest constraint of each. */
static int64_t bound_by_cores(soft_search *s) {
    const size_t count = s->constraints->count;
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
        const soft_core *core = find_core(s);
        if (core == NULL || core->count == 0) return bound;
        bound += s->constraints->items[core->constraints[0]].cost;
        for (size_t i = 0; i < core->count; i++) left[core->constraints[i]] = false;
    }
}

/* ---- the search -------------------------------------------------------------------- */

static void violate_core(soft_search *s, int64_t cost, int32_t depth);

/* Violates one constraint of a core after the other; those before it must hold. */
static void violate_each(soft_search *s, const soft_core *core, int64_t cost, int32_t depth) {
    bool *mine = spad__arena_array(&s->arena, core->count + 1, sizeof *mine);
    if (mine == NULL) {
        s->no_memory = s->cut = true;
        return;
    }
    for (size_t i = 0; i < core->count; i++) {
        const int32_t k = core->constraints[i];
        mine[i] = !s->required[k];
        if (!mine[i] || s->no_memory) continue;
        s->violated[k] = true;
        violate_core(s, cost + s->constraints->items[k].cost, depth + 1);
        s->violated[k] = false;
        s->required[k] = true;
    }
    for (size_t i = 0; i < core->count; i++)
        if (mine[i]) s->required[core->constraints[i]] = false;
}

static void violate_core(soft_search *s, int64_t cost, int32_t depth) {
    if (cost >= s->best || s->no_memory) return;
    if (depth > SOFT_SEARCH_DEPTH_MAX) {
        s->cut = true;
        return;
    }
    const soft_core *core = known_core(s);
    if (core == NULL) {
        for (size_t k = 0; k < s->constraints->count; k++) s->asked[k] = !s->violated[k];
        const int32_t answer = can_obey(s);
        if (answer == 1) return; /* it was kept, and costs no more than what is denied */
        if (answer == 0) core = find_core(s);
        if (core == NULL) {
            s->cut = true;
            return;
        }
    }
    violate_each(s, core, cost, depth);
}

/* ---- cores of large problems ------------------------------------------------------- */

/* May an item be at the previous place of its buffer? */
static bool is_legal_before(const spad__soft_list *w, const spad__model *m, size_t buffer,
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
static spad_status bound_by_places(const spad__soft_list *w, int64_t *bound) {
    spad__model m;
    spad_status status = spad__model_build(&m, w->plan, NULL);
    spad__near near;
    spad_plan_place *place = NULL;
    int32_t *constraint_of = NULL; /* per item: that of a buffer that may stay, or one of these: */
    enum { NO_CONSTRAINT = -1, VIOLATED_CONSTRAINT = -2 /* the item is in `near` all the same */ };
    if (status == SPAD_OK) {
        place = spad__arena_array(&m.arena, (size_t)m.item_count + 1, sizeof *place);
        constraint_of =
            spad__arena_array(&m.arena, (size_t)m.item_count + 1, sizeof *constraint_of);
        if (place == NULL || constraint_of == NULL || !spad__near_start(&near, &m, &m.arena))
            status = SPAD_ERR_HOST_MEMORY;
    }
    for (int32_t i = 0; status == SPAD_OK && i < m.item_count; i++)
        constraint_of[i] = NO_CONSTRAINT;
    for (size_t k = 0; status == SPAD_OK && k < w->count && w->items[k].b == SIZE_MAX; k++) {
        const int32_t i = m.item_of[w->items[k].a];
        spad_plan_place old;
        if (!is_legal_before(w, &m, w->items[k].a, &old)) {
            *bound += w->items[k].cost;
            continue;
        }
        if (constraint_of[i] >= 0 || m.items[i].piece_count == 0) continue;
        place[i] = old;
        spad__near_walk walk = spad__near_of(&near, i);
        int32_t other = spad__near_next(&walk);
        while (other >= 0 &&
               (constraint_of[other] < 0 || !spad__items_collide(&m, i, other, place)))
            other = spad__near_next(&walk);
        if (other >= 0) {
            *bound += spad__min(w->items[k].cost, w->items[constraint_of[other]].cost);
            constraint_of[other] = VIOLATED_CONSTRAINT;
        } else {
            if (constraint_of[i] == NO_CONSTRAINT) spad__near_put(&near, i);
            constraint_of[i] = (int32_t)k;
        }
        if (k % 64 == 0 && spad__limit_reached(w->time)) break;
    }
    spad__model_free(&m);
    return status;
}

/* ---- both -------------------------------------------------------------------------- */

static bool start_soft_search(soft_search *s, int64_t best, const spad_plan_place *places) {
    const size_t count = s->constraints->count + 1;
    const size_t buffers = s->constraints->plan->buffers.count;
    s->violated = spad__arena_array(&s->arena, count, sizeof *s->violated);
    s->required = spad__arena_array(&s->arena, count, sizeof *s->required);
    s->asked = spad__arena_array(&s->arena, count, sizeof *s->asked);
    s->cores = spad__arena_array(&s->arena, CORES_MAX, sizeof *s->cores);
    s->best_places = spad__arena_array(&s->arena, buffers + 1, sizeof *s->best_places);
    s->best = best;
    if (s->violated == NULL || s->required == NULL || s->asked == NULL || s->cores == NULL ||
        s->best_places == NULL)
        return false;
    memcpy(s->best_places, places, buffers * sizeof *places);
    return true;
}

spad_status spad__soft_search(const spad__soft_list *constraints, spad_plan_place *places,
                              int64_t *best, int64_t *bound) {
    const size_t buffers = constraints->plan->buffers.count;
    if (buffers > SOFT_SEARCH_BUFFERS_MAX || constraints->count > SOFT_SEARCH_CONSTRAINTS_MAX)
        return bound_by_places(constraints, bound);
    soft_search s = {.constraints = constraints, .arena.host = constraints->plan->host};
    spad_status status = SPAD_ERR_HOST_MEMORY;
    if (start_soft_search(&s, *best, places)) {
        *bound = bound_by_cores(&s);
        if (s.best > *bound) violate_core(&s, 0, 0);
        if (!s.cut) *bound = s.best;
        if (!s.no_memory) status = SPAD_OK;
        *best = s.best;
        memcpy(places, s.best_places, buffers * sizeof *places);
    }
    spad__arena_free(&s.arena);
    return status;
}
