/* SPDX-License-Identifier: Apache-2.0
 *
 * Where buffers are, at the least cost.
 *
 * A buffer with k uses has 2k - 1 phases: its uses, one moment each, and what is between them. In
 * each phase it is in one memory. Uses and moves cost; the cost of a buffer is that of a way
 * through its phases, so the cheapest way of one buffer is found phase by phase (`cheapest_way`),
 * within the memories that are allowed in each phase. The sum over all buffers is a lower bound.
 *
 * If these ways fit, they are optimal. If a memory has too little room at some moment, at least one
 * of the buffers in it must be elsewhere in that phase. The search tries them in turn: the first is
 * elsewhere; the first stays and the second is elsewhere; and so on, the least loss per byte
 * first. These cases exclude each other and are all there are. If every moment has room but the
 * planner proves that the stays of a memory do not fit side by side, the same is done with all
 * phases in that memory. So a search that ends is a proof.
 *
 * At the moment that has too little room, enough bytes must leave, and each buffer that leaves
 * costs its loss: the cheapest choice by loss per byte, the last one in part, is added to the
 * bound.
 *
 * Before the search that is done for many moments with different buffers, which gives the bound of
 * the result where the search is ended (`bound_by_moments`). With many buffers a better bound and a
 * first plan come from prices (tier_relax.c).
 *
 * A node costs O(phases). Depth is at most the number of phases times memories.
 */
#include <string.h>

#include "base/assert.h"
#include "base/checked.h"
#include "base/limit.h"
#include "base/options.h"
#include "plan/problem/sort.h"
#include "plan/problem/stop.h"
#include "plan/tiers/tier_relax.h"
#include "plan/tiers/tiers.h"

enum {
    TIER_NODES = 20000,
    FIT_NODES = 200000, /* to place the stays of a memory, if they are few, */
    FIT_NODES_MANY = 2000,
    FEW_STAYS = 24,
    DEEPEST_TIER = 4000,
    REPAIRS = 40,
    MANY_BUFFERS = 4,  /* these begin with prices, */
    MANY_PHASES = 4000 /* and these end with them */
};

typedef struct tier_choice {
    int32_t phase;
    int64_t loss; /* INT64_MAX: it cannot be elsewhere */
} tier_choice;

typedef struct tier_search {
    const spad__tiers *tiers;
    spad__arena arena;
    spad__limit limit;
    int32_t phase_count;
    spad__phase *phases;
    int32_t *first; /* phases of buffer b: [first[b], first[b + 1]) */
    int64_t *cost;  /* of the way of each buffer */
    int64_t *moments;
    int32_t moment_count;
    int64_t *room;  /* per memory: its capacity, or less */
    int64_t shrink; /* by which part of the load it becomes less */
    int64_t *load;  /* scratch, per moment */
    int64_t *table; /* scratch of a way: cost of each phase in each memory, */
    int8_t *back;   /* and the memory before it */
    int64_t node_limit;
    int64_t nodes;
    int64_t bound;        /* of the first node */
    int64_t best;         /* SPAD_UNBOUNDED: no plan */
    int32_t *best_memory; /* per spad__phase */
    int64_t *best_offset; /* per spad__phase */
    int64_t *offset;      /* of the plan that is looked at */
    bool cut;             /* not all was tried */
    bool no_memory;
} tier_search;

/* ---- one buffer -------------------------------------------------------------------- */

/* The cheapest memory to come from to `memory` in phase k. */
static void find_cheapest_before(tier_search *s, const spad__tier_buffer *b, int32_t k,
                                 int32_t memory) {
    const int32_t count = (int32_t)s->tiers->memories.count;
    int64_t *here = &s->table[k * count + memory];
    *here = INT64_MAX;
    for (int32_t m = 0; m < count; m++) {
        const int64_t before = s->table[(k - 1) * count + m];
        if (before == INT64_MAX) continue;
        const int64_t cost = before + spad__tier_move_cost(s->tiers, b, m, memory);
        if (cost >= *here) continue;
        *here = cost;
        s->back[k * count + memory] = (int8_t)m;
    }
    if (*here != INT64_MAX) *here += spad__tier_phase_cost(s->tiers, b, k, memory);
}

/* The cheapest way of a buffer within what is allowed; INT64_MAX: none. With `take` its phases get
 * the memories of it. */
static int64_t cheapest_way(tier_search *s, int32_t buffer, bool take) {
    const spad__tier_buffer *b = &s->tiers->buffers.items[buffer];
    const int32_t count = (int32_t)s->tiers->memories.count;
    spad__phase *phases = &s->phases[s->first[buffer]];
    const int32_t last = s->first[buffer + 1] - s->first[buffer] - 1;
    for (int32_t k = 0; k <= last; k++) {
        for (int32_t m = 0; m < count; m++) {
            const bool allowed = phases[k].allowed >> m & 1;
            if (allowed && k > 0)
                find_cheapest_before(s, b, k, m);
            else
                s->table[k * count + m] =
                    allowed ? spad__tier_phase_cost(s->tiers, b, 0, m) : INT64_MAX;
        }
    }
    int32_t best = 0;
    for (int32_t m = 1; m < count; m++)
        if (s->table[last * count + m] < s->table[last * count + best]) best = m;
    const int64_t cost = s->table[last * count + best];
    for (int32_t k = last; take && cost != INT64_MAX && k >= 0; k--) {
        phases[k].memory = best;
        if (k > 0) best = s->back[k * count + best];
    }
    return cost;
}

/* What it costs more if a phase is not where it is; INT64_MAX: it has to be there. */
static int64_t loss_of(tier_search *s, int32_t number) {
    spad__phase *p = &s->phases[number];
    const uint32_t before = p->allowed;
    p->allowed &= ~(UINT32_C(1) << p->memory);
    const int64_t cost = p->allowed == 0 ? INT64_MAX : cheapest_way(s, p->buffer, false);
    p->allowed = before;
    return cost == INT64_MAX ? INT64_MAX : cost - s->cost[p->buffer];
}

/* ---- room -------------------------------------------------------------------------- */

static int64_t size_of(const tier_search *s, const spad__phase *p) {
    return s->tiers->buffers.items[p->buffer].size;
}

/* The moment at which most bytes are missing in a memory of a capacity; -1: none. */
static int32_t moment_of_load(tier_search *s, int32_t memory, int64_t capacity, int64_t *missing) {
    memset(s->load, 0, ((size_t)s->moment_count + 1) * sizeof *s->load);
    for (int32_t k = 0; k < s->phase_count; k++) {
        const spad__phase *p = &s->phases[k];
        if (p->memory != memory) continue;
        s->load[p->from] += size_of(s, p);
        s->load[p->until] -= size_of(s, p);
    }
    int32_t worst = -1;
    *missing = 0;
    int64_t sum = 0;
    for (int32_t t = 0; t < s->moment_count; t++) {
        sum += s->load[t];
        if (sum - capacity <= *missing) continue;
        *missing = sum - capacity;
        worst = t;
    }
    return worst;
}

static bool begins_stay(const tier_search *s, int32_t k) {
    return k == s->first[s->phases[k].buffer] || s->phases[k - 1].memory != s->phases[k].memory;
}

/* Places the stays of a memory; *fits: 1, 0: proved that they do not, -1: not known. */
static spad_status fit_memory(tier_search *s, int32_t memory, int32_t *fits) {
    spad_plan *plan;
    spad_plan_result *result = NULL;
    spad_status status = spad_plan_create(&plan, &s->tiers->host, NULL);
    if (status == SPAD_OK)
        status = spad_plan_set_capacity(plan, s->tiers->memories.items[memory].capacity, NULL);
    for (int32_t k = 0; k < s->phase_count && status == SPAD_OK; k++) {
        const spad__phase *p = &s->phases[k];
        if (p->memory != memory || !begins_stay(s, k)) continue;
        int32_t end = k + 1;
        while (end < s->first[p->buffer + 1] && s->phases[end].memory == memory) end++;
        const spad__tier_buffer *b = &s->tiers->buffers.items[p->buffer];
        const spad_plan_buffer stay = {.lower = p->from,
                                       .upper = s->phases[end - 1].until,
                                       .size = b->size,
                                       .alignment = b->alignment};
        /* between two uses at successive moments there is no time */
        const spad_plan_buffer none = {.lower = p->from, .upper = p->from + 1};
        status = spad_plan_add(NULL, plan, stay.lower < stay.upper ? &stay : &none, NULL);
    }
    const bool few = status == SPAD_OK && spad_plan_count(plan) <= FEW_STAYS;
    const spad_plan_options options = {.goal = SPAD_PLAN_DECIDE,
                                       .node_limit = few ? FIT_NODES : FIT_NODES_MANY,
                                       .timeout_ns = spad__limit_left(&s->limit)};
    if (status == SPAD_OK) status = spad_plan_solve(&result, plan, &options, NULL);
    if (status == SPAD_OK) {
        *fits = result->verdict <= SPAD_PLAN_FEASIBLE     ? 1
                : result->verdict == SPAD_PLAN_INFEASIBLE ? 0
                                                          : -1;
        spad__assert(result->places !=
                     NULL); /* without pins, a plan that is too high has them, too */
        size_t at = 0;
        for (int32_t k = 0; k < s->phase_count; k++) {
            if (s->phases[k].memory != memory) continue;
            s->offset[k] = begins_stay(s, k) ? result->places[at++].offset : s->offset[k - 1];
        }
    }
    spad_plan_result_destroy(result);
    spad_plan_destroy(plan);
    return status;
}

/* ---- the search -------------------------------------------------------------------- */

/* Is a phase in a memory, at a moment (-1: at any)? Then also one between uses at successive
 * moments counts: elsewhere, it would let the buffer come back at another offset. */
static bool is_choice(const tier_search *s, const spad__phase *p, int32_t memory, int32_t moment) {
    if (p->memory != memory || size_of(s, p) == 0) return false;
    return moment < 0 || (p->from <= moment && moment < p->until);
}

/* The moment at which a memory has most bytes. */
static int32_t busiest_moment(tier_search *s, int32_t memory) {
    int64_t most;
    const int32_t moment = moment_of_load(s, memory, -1, &most);
    return moment < 0 ? 0 : moment;
}

/* What leaves first: the least loss per byte, at the busiest moment before others. */
static double rank_of_choice(const tier_search *s, const tier_choice *choice, int32_t busiest) {
    const spad__phase *p = &s->phases[choice->phase];
    const double rank = (double)choice->loss / (double)size_of(s, p);
    return p->from <= busiest && busiest < p->until ? rank : rank + 1e30;
}

/* Those phases, by that rank; their number. */
static int32_t list_choices(tier_search *s, int32_t memory, int32_t moment, tier_choice *out) {
    const int32_t busiest = moment >= 0 ? moment : busiest_moment(s, memory);
    int32_t count = 0;
    for (int32_t k = 0; k < s->phase_count; k++) {
        const spad__phase *p = &s->phases[k];
        if (!is_choice(s, p, memory, moment)) continue;
        const tier_choice mine = {k, loss_of(s, k)};
        const double rank = rank_of_choice(s, &mine, busiest);
        int32_t at = count++;
        for (; at > 0 && rank_of_choice(s, &out[at - 1], busiest) > rank; at--)
            out[at] = out[at - 1];
        out[at] = mine;
    }
    return count;
}

/* The least loss with which so many bytes leave, the last buffer in part; INT64_MAX: they cannot.
 * A buffer has at most one phase at a moment, so losses add up. */
static int64_t least_loss(const tier_search *s, const tier_choice *choices, int32_t count,
                          int64_t missing) {
    int64_t sum = 0;
    for (int32_t k = 0; k < count && missing > 0; k++) {
        const int64_t size = size_of(s, &s->phases[choices[k].phase]);
        if (choices[k].loss == INT64_MAX) return INT64_MAX;
        /* rounded down, so that it stays a bound whatever doubles make of it */
        const double part = missing < size ? (double)missing / (double)size : 1.0;
        const double loss = part < 1.0 ? (double)choices[k].loss * part * (1.0 - 1e-9) - 1.0
                                       : (double)choices[k].loss;
        sum += part < 1.0 ? (loss > 0 ? (int64_t)loss : 0) : choices[k].loss;
        missing -= size;
    }
    return missing > 0 ? INT64_MAX : sum - (sum >> 30); /* their order is that of doubles */
}

static int64_t total_cost(const tier_search *s) {
    int64_t sum = 0;
    for (size_t b = 0; b < s->tiers->buffers.count; b++) sum += s->cost[b];
    return sum;
}

/* The stays of a memory were not placed, and it is not known whether that can be done: from now on
 * plans have less in it, and the search is no proof. */
static bool shrink_room(tier_search *s, int32_t memory, int32_t *moment, int64_t *missing) {
    int64_t load;
    s->cut = true;
    (void)moment_of_load(s, memory, 0, &load);
    s->room[memory] = spad__max(spad__min(s->room[memory], load) - load / s->shrink - 1, 0);
    if (s->shrink > 4) s->shrink /= 2;
    *moment = moment_of_load(s, memory, s->room[memory], missing);
    return true;
}

/* A memory without room at some moment, or whose stays do not fit (moment -1); memory -1: all fit.
 */
static bool find_conflict(tier_search *s, int32_t *memory, int32_t *moment, int64_t *missing) {
    const int32_t count = (int32_t)s->tiers->memories.count;
    for (*memory = 0; *memory < count; ++*memory) {
        if (s->tiers->memories.items[*memory].capacity == SPAD_UNBOUNDED) continue;
        *moment = moment_of_load(s, *memory, s->room[*memory], missing);
        if (*moment >= 0) return true;
    }
    *moment = -1;
    *missing = 0;
    for (*memory = 0; *memory < count; ++*memory) {
        int32_t fits;
        if (fit_memory(s, *memory, &fits) != SPAD_OK) return s->no_memory = s->cut = true;
        if (fits == 0) return true;
        if (fits < 0) return shrink_room(s, *memory, moment, missing);
    }
    *memory = -1;
    return false;
}

static void keep_tiers(tier_search *s, int64_t cost) {
    s->best = cost;
    for (int32_t k = 0; k < s->phase_count; k++) s->best_memory[k] = s->phases[k].memory;
    memcpy(s->best_offset, s->offset, (size_t)s->phase_count * sizeof *s->offset);
}

static bool tiers_spent(tier_search *s) {
    if (s->no_memory || s->nodes >= s->node_limit || spad__limit_reached(&s->limit)) s->cut = true;
    return s->no_memory || s->nodes >= s->node_limit || s->limit.status != SPAD_OK;
}

static void search_tiers(tier_search *s, int32_t depth);

/* Tries the choices in turn: one is elsewhere, those before it stay. */
static void try_choices(tier_search *s, const tier_choice *choices, int32_t count, int32_t memory,
                        int32_t depth) {
    uint32_t *saved = spad__arena_array(&s->arena, (size_t)count + 1, sizeof *saved);
    if (saved == NULL) {
        s->no_memory = s->cut = true;
        return;
    }
    int32_t k = 0;
    for (; k < count && !tiers_spent(s); k++) {
        spad__phase *p = &s->phases[choices[k].phase];
        const int32_t buffer = p->buffer;
        saved[k] = p->allowed;
        p->allowed &= ~(UINT32_C(1) << memory);
        s->cost[buffer] = cheapest_way(s, buffer, true);
        if (s->cost[buffer] != INT64_MAX) search_tiers(s, depth + 1);
        p->allowed = UINT32_C(1) << memory; /* from now on it stays */
        s->cost[buffer] = cheapest_way(s, buffer, true);
        if (s->cost[buffer] == INT64_MAX) {
            k++;
            break;
        }
    }
    while (k-- > 0) {
        spad__phase *p = &s->phases[choices[k].phase];
        p->allowed = saved[k];
        s->cost[p->buffer] = cheapest_way(s, p->buffer, true);
    }
}

static void search_tiers(tier_search *s, int32_t depth) {
    const int64_t cost = total_cost(s);
    if (s->best != SPAD_UNBOUNDED && cost >= s->best) return;
    if (tiers_spent(s)) return;
    s->nodes++;
    int32_t memory;
    int32_t moment;
    int64_t missing;
    if (!find_conflict(s, &memory, &moment, &missing)) {
        keep_tiers(s, cost);
        return;
    }
    if (s->no_memory) return;
    const spad__arena_mark mark = spad__arena_here(&s->arena);
    size_t room = 1;
    for (int32_t k = 0; k < s->phase_count; k++)
        room += is_choice(s, &s->phases[k], memory, moment);
    tier_choice *choices = spad__arena_array(&s->arena, room, sizeof *choices);
    if (choices == NULL || depth > DEEPEST_TIER) {
        if (choices == NULL) s->no_memory = true;
        s->cut = true;
    } else {
        const int32_t count = list_choices(s, memory, moment, choices);
        const int64_t loss = moment >= 0 ? least_loss(s, choices, count, missing) : 0;
        if (loss != INT64_MAX && (s->best == SPAD_UNBOUNDED || cost + loss < s->best))
            try_choices(s, choices, count, memory, depth);
    }
    spad__arena_rewind(&s->arena, mark);
}

/* ---- the bound of all moments ------------------------------------------------------ */

/* Bytes of a memory at every moment, by the cheapest ways, without buffers in `used`. */
static void load_memory(tier_search *s, int32_t memory, const bool *used) {
    memset(s->load, 0, ((size_t)s->moment_count + 1) * sizeof *s->load);
    for (int32_t k = 0; k < s->phase_count; k++) {
        const spad__phase *p = &s->phases[k];
        if (p->memory != memory || used[p->buffer]) continue;
        for (int32_t t = p->from; t < p->until; t++) s->load[t] += size_of(s, p);
    }
}

/* The choices at a moment whose buffers are not used; they become used, and are taken from the
 * loads. */
static int32_t use_buffers(tier_search *s, int32_t memory, int32_t moment, bool *used,
                           tier_choice *choices) {
    const int32_t all = list_choices(s, memory, moment, choices);
    int32_t count = 0;
    for (int32_t k = 0; k < all; k++)
        if (!used[s->phases[choices[k].phase].buffer]) choices[count++] = choices[k];
    for (int32_t k = 0; k < count; k++) {
        const int32_t buffer = s->phases[choices[k].phase].buffer;
        used[buffer] = true;
        for (int32_t j = s->first[buffer]; j < s->first[buffer + 1]; j++)
            for (int32_t t = s->phases[j].from; t < s->phases[j].until; t++)
                if (s->phases[j].memory == memory) s->load[t] -= size_of(s, &s->phases[j]);
    }
    return count;
}

/* The moment with the largest load; -1: there are no moments. */
static int32_t fullest_moment(const tier_search *s) {
    int32_t best = s->moment_count > 0 ? 0 : -1;
    for (int32_t t = 1; t < s->moment_count; t++)
        if (s->load[t] > s->load[best]) best = t;
    return best;
}

/* Moments whose buffers differ, the fullest first: at each, so many bytes must leave that are
 * missing even if all buffers of earlier ones leave for nothing, and what that costs adds up.
 * False: no memory. */
static bool bound_by_moments(tier_search *s) {
    const size_t buffers = s->tiers->buffers.count;
    const spad__arena_mark mark = spad__arena_here(&s->arena);
    bool *used = spad__arena_array(&s->arena, buffers + 1, sizeof *used);
    tier_choice *choices =
        spad__arena_array(&s->arena, (size_t)s->phase_count + 1, sizeof *choices);
    bool possible = true;
    for (size_t m = 0; used != NULL && choices != NULL && m < s->tiers->memories.count; m++) {
        const int64_t capacity = s->tiers->memories.items[m].capacity;
        if (capacity == SPAD_UNBOUNDED) continue;
        load_memory(s, (int32_t)m, used);
        for (int32_t t; possible && (t = fullest_moment(s)) >= 0 && s->load[t] > capacity;) {
            const int64_t missing = s->load[t] - capacity;
            const int32_t count = use_buffers(s, (int32_t)m, t, used, choices);
            const int64_t loss = least_loss(s, choices, count, missing);
            possible = loss != INT64_MAX;
            if (possible) s->bound += loss;
        }
    }
    if (!possible) s->bound = SPAD_UNBOUNDED;
    const bool ok = used != NULL && choices != NULL;
    spad__arena_rewind(&s->arena, mark);
    return ok;
}

/* ---- many buffers ------------------------------------------------------------------ */

/* The stays of a memory were placed, some of them above its capacity. Those go to memories without
 * a limit, at the least cost; the others stay where they are. False: one cannot go. */
static bool drop_tops(tier_search *s, int32_t memory) {
    const spad__tiers *t = s->tiers;
    uint32_t open = 0;
    bool fine = true;
    for (size_t m = 0; m < t->memories.count; m++)
        if (t->memories.items[m].capacity == SPAD_UNBOUNDED) open |= UINT32_C(1) << m;
    for (size_t b = 0; b < t->buffers.count && fine; b++) {
        const spad__tier_buffer *buffer = &t->buffers.items[b];
        const int64_t most = t->memories.items[memory].capacity - buffer->size;
        bool above = false;
        for (int32_t k = s->first[b]; k < s->first[b + 1]; k++) {
            spad__phase *p = &s->phases[k];
            const bool leaves = p->memory == memory && s->offset[k] > most;
            p->allowed = open & buffer->memories;
            if (!leaves) p->allowed |= UINT32_C(1) << p->memory;
            above = above || leaves;
        }
        if (above) fine = cheapest_way(s, (int32_t)b, true) != INT64_MAX;
        for (int32_t k = s->first[b]; k < s->first[b + 1]; k++)
            s->phases[k].allowed = buffer->memories;
    }
    return fine;
}

/* What the memories of all phases cost. */
static int64_t cost_of_phases(const tier_search *s) {
    int64_t cost = 0;
    for (int32_t k = 0; k < s->phase_count; k++) {
        const spad__phase *p = &s->phases[k];
        const spad__tier_buffer *b = &s->tiers->buffers.items[p->buffer];
        const int32_t first = s->first[p->buffer];
        if (k > first)
            cost += spad__tier_move_cost(s->tiers, b, s->phases[k - 1].memory, p->memory);
        cost += spad__tier_phase_cost(s->tiers, b, k - first, p->memory);
    }
    return cost;
}

/* Places what is in the memories, those with a limit first, since what is too high may leave them.
 * False: there is no such plan. */
static bool place_assignment(tier_search *s, bool drop, bool *whole) {
    *whole = true;
    for (int32_t pass = 0; pass < 2; pass++) {
        for (int32_t m = 0; m < (int32_t)s->tiers->memories.count; m++) {
            int32_t fits;
            const bool open = s->tiers->memories.items[m].capacity == SPAD_UNBOUNDED;
            if (open != (pass == 1)) continue;
            if (fit_memory(s, m, &fits) != SPAD_OK) s->no_memory = true;
            if (s->no_memory) return false;
            if (fits == 1) continue;
            *whole = false;
            if (open || !drop || !drop_tops(s, m)) return false;
        }
    }
    return true;
}

/* Places an assignment; what is too high goes elsewhere if that is allowed. True: there is a plan,
 * which is kept if it is the best. */
static bool keep_assignment(tier_search *s, const int32_t *memory, bool drop, bool *whole) {
    for (int32_t k = 0; k < s->phase_count; k++) s->phases[k].memory = memory[k];
    if (!place_assignment(s, drop, whole)) return false;
    const int64_t cost = cost_of_phases(s);
    if (s->best == SPAD_UNBOUNDED || cost < s->best) keep_tiers(s, cost);
    return true;
}

/* An assignment, repaired until the planner places all of it. Without time, what is too high goes
 * elsewhere. */
static bool assign_many(tier_search *s, spad__relax *relax) {
    const size_t memories = s->tiers->memories.count;
    int64_t *room = spad__arena_array(&s->arena, memories + 1, sizeof *room);
    int32_t *memory = spad__arena_array(&s->arena, (size_t)s->phase_count + 1, sizeof *memory);
    if (room == NULL || memory == NULL) return false;
    for (size_t m = 0; m < memories; m++) room[m] = s->tiers->memories.items[m].capacity;
    int64_t cost;
    bool whole = false;
    bool found = spad__relax_assign(relax, room, memory, &cost);
    for (int32_t n = 0; n < REPAIRS && n < s->node_limit && found && !s->no_memory; n++) {
        const bool last =
            n + 1 == REPAIRS || n + 1 == s->node_limit || spad__limit_reached(&s->limit);
        (void)keep_assignment(s, memory, last, &whole);
        if (whole || last) break;
        found = spad__relax_repair(relax, s->offset, memory, &cost);
    }
    for (size_t b = 0; b < s->tiers->buffers.count; b++) /* the search begins with these ways */
        s->cost[b] = cheapest_way(s, (int32_t)b, true);
    return !s->no_memory;
}

/* A bound and a first plan by prices. False: no memory. */
static bool start_many(tier_search *s) {
    spad__relax *relax = spad__relax_create(s->tiers, s->phases, s->first, s->moment_count,
                                            s->node_limit, &s->limit);
    if (relax == NULL) return false;
    const int64_t bound = spad__relax_bound(relax);
    if (bound > s->bound && s->bound != SPAD_UNBOUNDED) s->bound = bound;
    const bool fine = assign_many(s, relax);
    spad__relax_free(relax);
    return fine;
}

/* ---- set-up and result ------------------------------------------------------------- */

static int32_t number_of_moment(const tier_search *s, int64_t time) {
    int32_t low = 0;
    int32_t high = s->moment_count - 1;
    while (low < high) {
        const int32_t middle = low + (high - low) / 2;
        if (s->moments[middle] < time)
            low = middle + 1;
        else
            high = middle;
    }
    return low;
}

/* All beginnings and ends of uses, sorted, each once. */
static bool find_moments(tier_search *s) {
    const spad__tiers *t = s->tiers;
    size_t uses = 0;
    for (size_t b = 0; b < t->buffers.count; b++) uses += t->buffers.items[b].use_count;
    if (uses > INT32_MAX / 8) return false;
    spad__row *rows = spad__arena_array(&s->arena, 2 * uses + 1, 2 * sizeof *rows);
    s->moments = spad__arena_array(&s->arena, 2 * uses + 1, sizeof *s->moments);
    s->load = spad__arena_array(&s->arena, 2 * uses + 2, sizeof *s->load);
    if (rows == NULL || s->moments == NULL || s->load == NULL) return false;
    size_t n = 0;
    for (size_t b = 0; b < t->buffers.count; b++) {
        for (size_t k = 0; k < t->buffers.items[b].use_count; k++) {
            rows[n++].key = spad__sort_key(t->buffers.items[b].uses[k]);
            rows[n++].key = spad__sort_key(t->buffers.items[b].uses[k] + 1);
        }
    }
    spad__sort_rows(rows, rows + n, n);
    for (size_t k = 0; k < n; k++)
        if (k == 0 || rows[k].key != rows[k - 1].key)
            s->moments[s->moment_count++] = (int64_t)(rows[k].key ^ (UINT64_C(1) << 63));
    return true;
}

static void fill_phases(tier_search *s) {
    const spad__tiers *t = s->tiers;
    for (size_t b = 0; b < t->buffers.count; b++) {
        const spad__tier_buffer *buffer = &t->buffers.items[b];
        s->first[b] = s->phase_count;
        for (size_t k = 0; k < buffer->use_count; k++) {
            const int32_t from = number_of_moment(s, buffer->uses[k]);
            const int32_t until = number_of_moment(s, buffer->uses[k] + 1);
            spad__phase p = {.buffer = (int32_t)b, .from = from, .until = until};
            p.allowed = buffer->memories;
            s->phases[s->phase_count++] = p;
            if (k + 1 == buffer->use_count) break;
            p.from = until;
            p.until = number_of_moment(s, buffer->uses[k + 1]);
            s->phases[s->phase_count++] = p;
        }
    }
    s->first[t->buffers.count] = s->phase_count;
}

static bool start_tiers(tier_search *s) {
    const spad__tiers *t = s->tiers;
    size_t phases = 1;
    size_t longest = 1;
    for (size_t b = 0; b < t->buffers.count; b++) {
        phases += 2 * t->buffers.items[b].use_count;
        if (2 * t->buffers.items[b].use_count > longest)
            longest = 2 * t->buffers.items[b].use_count;
    }
    if (!find_moments(s)) return false;
    const size_t memories = t->memories.count + 1;
    s->phases = spad__arena_array(&s->arena, phases, sizeof *s->phases);
    s->first = spad__arena_array(&s->arena, t->buffers.count + 1, sizeof *s->first);
    s->cost = spad__arena_array(&s->arena, t->buffers.count + 1, sizeof *s->cost);
    s->table = spad__arena_array(&s->arena, longest, memories * sizeof *s->table);
    s->back = spad__arena_array(&s->arena, longest, memories);
    s->best_memory = spad__arena_array(&s->arena, phases, sizeof *s->best_memory);
    s->best_offset = spad__arena_array(&s->arena, phases, sizeof *s->best_offset);
    s->offset = spad__arena_array(&s->arena, phases, sizeof *s->offset);
    s->room = spad__arena_array(&s->arena, memories, sizeof *s->room);
    if (s->phases == NULL || s->first == NULL || s->cost == NULL || s->table == NULL ||
        s->back == NULL || s->best_memory == NULL || s->best_offset == NULL || s->offset == NULL ||
        s->room == NULL)
        return false;
    fill_phases(s);
    for (size_t m = 0; m < t->memories.count; m++) s->room[m] = t->memories.items[m].capacity;
    for (size_t b = 0; b < t->buffers.count; b++) {
        s->cost[b] = cheapest_way(s, (int32_t)b, true);
        spad__assert(s->cost[b] != INT64_MAX); /* no phase has lost a memory yet */
    }
    s->bound = total_cost(s);
    if (!bound_by_moments(s)) return false;
    return t->buffers.count < MANY_BUFFERS || s->bound == SPAD_UNBOUNDED || start_many(s);
}

void spad__tiers_result_destroy(spad_tiers_result *result) {
    if (result == NULL) return;
    const spad_host host = *(const spad_host *)result->owned;
    spad__free(&host, result->owned, sizeof(spad_host));
    spad__free(&host, result->stays, (result->stay_count + 1) * sizeof *result->stays);
    spad__free(&host, result, sizeof *result);
}

/* Writes the stays of the best plan, or counts them (out NULL); and the bytes that move. */
static size_t write_stays(const tier_search *s, spad_tier_stay *out, int64_t *moved) {
    size_t count = 0;
    *moved = 0;
    for (int32_t k = 0; k < s->phase_count; k++) {
        const spad__phase *p = &s->phases[k];
        const spad__tier_buffer *b = &s->tiers->buffers.items[p->buffer];
        const size_t memory = (size_t)s->best_memory[k];
        const bool first = k == s->first[p->buffer];
        const bool last = k + 1 == s->first[p->buffer + 1];
        const size_t before = first ? b->home : (size_t)s->best_memory[k - 1];
        if (before != memory && before != SPAD__NO_MEMORY && !(b->constant && memory == b->home))
            *moved += b->size;
        if (last && b->kept && !b->constant && memory != b->home) *moved += b->size;
        if (!first && before == memory) {
            if (out != NULL) out[count - 1].upper = s->moments[p->until];
            continue;
        }
        if (out != NULL)
            out[count] = (spad_tier_stay){.buffer = (size_t)p->buffer,
                                          .memory = memory,
                                          .lower = s->moments[p->from],
                                          .upper = s->moments[p->until],
                                          .offset = s->best_offset[k]};
        count++;
    }
    return count;
}

static spad_status make_result(spad_tiers_result **out, const tier_search *s) {
    const spad_host *memory = &s->tiers->host;
    spad_tiers_result *r = spad__new(memory, sizeof *r);
    spad_host *host = spad__new(memory, sizeof *host);
    int64_t moved = 0;
    const size_t count = s->best == SPAD_UNBOUNDED ? 0 : write_stays(s, NULL, &moved);
    spad_tier_stay *stays = spad__new_array(memory, count + 1, sizeof *stays);
    if (r == NULL || host == NULL || stays == NULL) {
        spad__free(memory, r, sizeof *r);
        spad__free(memory, host, sizeof *host);
        spad__free(memory, stays, (count + 1) * sizeof *stays);
        return SPAD_ERR_HOST_MEMORY;
    }
    *host = *memory;
    if (count > 0) (void)write_stays(s, stays, &moved);
    const bool found = s->best != SPAD_UNBOUNDED;
    *r = (spad_tiers_result){.cost = s->best,
                             .bound = s->cut && s->bound < s->best ? s->bound : s->best,
                             .moved = moved,
                             .stay_count = count,
                             .stays = stays,
                             .nodes = s->nodes,
                             .owned = host};
    const bool proved = r->bound == r->cost;
    r->verdict = found ? (proved ? SPAD_PLAN_OPTIMAL : SPAD_PLAN_FEASIBLE)
                       : (proved ? SPAD_PLAN_INFEASIBLE : SPAD_PLAN_UNKNOWN);
    *out = r;
    return SPAD_OK;
}

spad_status spad__tiers_solve(spad_tiers_result **out, const spad__tiers *tiers,
                              const spad_plan_options *options, spad_error *error) {
    const int64_t started = spad__clock();
    spad_plan_options o;
    *out = NULL;
    spad_status status = SPAD__COPY_OPTIONS(&o, options, error);
    if (status == SPAD_OK) status = spad__check_effort(o.timeout_ns, o.node_limit, error);
    if (status != SPAD_OK) return status;
    tier_search s = {
        .tiers = tiers, .arena.host = tiers->host, .best = SPAD_UNBOUNDED, .shrink = 64};
    s.node_limit = o.node_limit > 0 ? o.node_limit : TIER_NODES;
    status = spad__limit_start(&s.limit, o.timeout_ns, (spad_watch){0}, error);
    if (status == SPAD_OK && !start_tiers(&s)) status = SPAD_ERR_HOST_MEMORY;
    if (status == SPAD_OK) {
        if (s.phase_count > MANY_PHASES && s.best != SPAD_UNBOUNDED)
            s.cut = true; /* a node costs too much, and one more buffer elsewhere is little */
        else if (s.best == SPAD_UNBOUNDED || s.best > s.bound)
            search_tiers(&s, 0);
        status = s.no_memory ? SPAD_ERR_HOST_MEMORY : make_result(out, &s);
    }
    if (*out != NULL) (*out)->nanoseconds = spad__clock() - started;
    spad__arena_free(&s.arena);
    return status == SPAD_ERR_HOST_MEMORY ? spad__fail_host_memory(error) : status;
}
