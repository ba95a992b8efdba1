/* SPDX-License-Identifier: Apache-2.0
 *
 * Exact search for items of any shape, by deciding conflicts.
 *
 * Every item has an offset and a lane, each as low as the decisions so far
 * allow. A conflict is a pair of pieces in use together, or a pair of
 * buffers kept apart; it is settled in one of four ways: a below b, b below
 * a, a left of b, b left of a; or, where one may be in place of the other, in a
 * fifth: in the same place. Each way is one difference constraint
 * "x >= y + distance" between offsets or between lanes, or some: two of them make two values
 * equal. Constraints of this
 * form, together with any rule about single values (alignment, banks, start
 * lanes, pins), have a least solution, found by raising values until all hold:
 * the minimum of two solutions, item by item, is a solution too. So:
 *   - if the least solution breaks no conflict, it is the lowest plan that agrees
 *     with the decisions;
 *   - otherwise some broken conflict must be decided, and its ways are all
 *     there are.
 * Depth first over these decisions is therefore exact, whatever the rules are.
 * A plan that is found lowers the limit on all tops; a search that ends proves
 * that the best plan is optimal.
 *
 * Circles. Decisions may contradict each other in a cycle, and raising would then continue up
 * to the limit. Let L be a common multiple of all alignments and banks: offsets that are
 * L higher are as legal. Say the values x obey all decisions but the newest, "v >= u +
 * distance", and let z be the least solution above x. If z has u at least L above x, then
 * max(x, z - L), value by value, is a solution too: an older decision holds in x and in z - L,
 * so in their maximum; the newest holds in z - L, from which u has its value. But it is lower
 * than z, which was the least. So u rises by less than L, or no solution exists. Where all
 * distances are positive, as between lanes, a cycle can never hold and L is 1. Where lanes may be
 * required to be equal, they end at the last one.
 *
 * The broken conflict with the fewest ways that respect the limit is decided first,
 * then the lowest one; of its ways the one that raises least. Cost of a node:
 * O(conflicts) to look for it and O(decisions) to raise. For problems of up to a
 * hundred items or so; boxes have a faster search (valley.c).
 */
#include "plan/search/pairs.h"

#include "base/assert.h"
#include "base/checked.h"
#include "plan/problem/shapes.h"

enum {
    WAYS = 5,
    WAY_EDGES = 4, /* same place: offsets and lanes, from both sides */
    MAX_CONFLICTS = 1 << 22,
    STEP_WORK = 64,                     /* of a node or a raised value, next to what it scans, */
    PAIR_WORK_PER_CLOCK_CHECK = 1 << 14 /* in conflicts, pairs or edges that are examined */
};

/* value[to] >= value[from] + distance; variable 2i is the offset of item i, 2i + 1
 * its lane. */
typedef struct edge {
    int32_t from;
    int32_t to;
    int64_t distance;
    int32_t next; /* older edge with the same `from`, or -1 */
} edge;

typedef struct order_change {
    int32_t variable;
    int64_t old;
} order_change;

typedef struct decision {
    int32_t edge_mark;
    int32_t change_mark;
    int32_t way_next;
    int32_t way_count;
    spad__conflict conflict;
    int8_t ways[WAYS]; /* see edges_of */
} decision;

typedef struct searcher {
    spad__pairs *pairs;
    const spad__model *m;
    spad_host host;
    spad__arena arena;
    int64_t limit; /* highest top that is still of interest */
    int64_t *value;
    int32_t *newest_edge; /* per variable */
    int32_t *queue;       /* ring of variables whose value has risen */
    bool *queued;
    int32_t variables;
    bool positive; /* all distances are: a cycle of decisions cannot hold */
    int64_t
        period; /* an offset rises by less than this when a decision is made that begins at it */
    int64_t lane_rise; /* and a lane by at most this */
    bool no_memory;
    bool cut;
    int64_t steps;
    int64_t work; /* since the last look at the clock */
    SPAD_ARRAY(spad__conflict) conflicts;
    SPAD_ARRAY(edge) edges;
    SPAD_ARRAY(order_change) changes;
    SPAD_ARRAY(decision) decisions;
} searcher;

/* ---- raising ----------------------------------------------------------------------- */

static void check_clock(searcher *s) {
    spad__listener *listener = s->pairs->stop->listener;
    if (listener != NULL) {
        listener->progress.height = s->pairs->height;
        listener->progress.nodes = s->pairs->nodes;
    }
    if (spad__stopped(s->pairs->stop)) s->cut = true;
}

/* Counts work that only the clock limits; false: time to stop. */
static bool work(searcher *s, int64_t amount) {
    s->work += amount;
    if (s->work > PAIR_WORK_PER_CLOCK_CHECK) {
        s->work = 0;
        check_clock(s);
    }
    return !s->cut;
}

/* Counts a step against the limits; false: time to stop. */
static bool count_search_step(searcher *s) {
    if (s->steps == s->pairs->step_limit) return s->cut = true, false;
    s->steps++;
    return work(s, STEP_WORK);
}

/* The lowest legal value of a variable at or above `least`; false: above the limit. */
static bool legal_value(const searcher *s, int32_t variable, int64_t least, int64_t *out) {
    spad__assert(variable >= 0 && variable < s->variables);
    const spad__item *item = &s->m->items[variable / 2];
    if (variable % 2 == 1) {
        *out = spad__item_next_lane(s->m, item, least);
        return *out >= 0;
    }
    return spad__item_next_offset(s->m, item, least, out) && *out <= s->limit - item->size;
}

static bool raise_value(searcher *s, int32_t variable, int64_t least) {
    int64_t value;
    if (!legal_value(s, variable, least, &value)) return false;
    if (!spad__array_reserve(&s->host, &s->changes, 1)) {
        s->no_memory = s->cut = true;
        return false;
    }
    spad__assert(value >= least &&
                 value > s->value[variable]); /* values only rise, and so it ends */
    s->changes.items[s->changes.count++] = (order_change){variable, s->value[variable]};
    s->value[variable] = value;
    return true;
}

/* Raises the value that the newest edge requires, and those that depend on it. False: it cannot
 * hold. */
static bool propagate(searcher *s) {
    const edge *newest = &s->edges.items[s->edges.count - 1];
    const int32_t origin = newest->from;
    const int64_t most = s->positive ? 0 : origin % 2 == 1 ? s->lane_rise : s->period - 1;
    const int64_t origin_least = s->value[origin];
    int32_t head = 0;
    int32_t count = 0;
    s->queue[count++] = origin;
    s->queued[origin] = true;
    bool holds = true;
    while (count > 0) {
        spad__assert(count <= s->variables); /* each is in the ring once */
        const int32_t from = s->queue[head];
        head = head + 1 == s->variables ? 0 : head + 1;
        count--;
        s->queued[from] = false;
        for (int32_t e = s->newest_edge[from]; holds && e >= 0; e = s->edges.items[e].next) {
            holds = work(s, 1);
            const int32_t to = s->edges.items[e].to;
            const int64_t least = s->value[from] + s->edges.items[e].distance;
            if (!holds || s->value[to] >= least) continue;
            holds = count_search_step(s) && raise_value(s, to, least);
            if (to == origin && s->value[origin] - origin_least > most) holds = false;
            if (!holds || s->queued[to]) continue;
            const int32_t tail =
                head + count < s->variables ? head + count : head + count - s->variables;
            s->queue[tail] = to;
            count++;
            s->queued[to] = true;
        }
    }
    return holds;
}

/* ---- decisions --------------------------------------------------------------------- */

static bool add_order_edge(searcher *s, edge e) {
    spad__assert(s->edges.count < s->edges.capacity && e.from != e.to);
    e.next = s->newest_edge[e.from];
    s->newest_edge[e.from] = (int32_t)s->edges.count;
    s->edges.items[s->edges.count++] = e;
    return propagate(s);
}

static void undo(searcher *s, const decision *d) {
    while (s->edges.count > (size_t)d->edge_mark) {
        const edge *e = &s->edges.items[--s->edges.count];
        spad__assert(s->newest_edge[e->from] == (int32_t)s->edges.count);
        s->newest_edge[e->from] = e->next;
    }
    while (s->changes.count > (size_t)d->change_mark) {
        const order_change *c = &s->changes.items[--s->changes.count];
        s->value[c->variable] = c->old;
    }
}

static bool is_broken(const searcher *s, const spad__conflict *c) {
    spad__assert(c->a != c->b);
    const int64_t d = s->value[2 * c->b] - s->value[2 * c->a];
    if (d >= c->above || -d >= c->below) return false;
    const int64_t l = s->value[2 * c->b + 1] - s->value[2 * c->a + 1];
    if (c->in_place && d == c->same && l == 0) return false;
    return l < c->lanes_a && -l < c->lanes_b;
}

/* The edges of a way to settle a conflict; their number. */
static int32_t edges_of(const searcher *s, const spad__conflict *c, int32_t kind, edge *out) {
    const int32_t a = 2 * c->a;
    const int32_t b = 2 * c->b;
    switch (kind) {
    case 0: return out[0] = (edge){a, b, c->above, -1}, 1;
    case 1: return out[0] = (edge){b, a, c->below, -1}, 1;
    case 2: return out[0] = (edge){a + 1, b + 1, c->lanes_a, -1}, 1;
    case 3: return out[0] = (edge){b + 1, a + 1, c->lanes_b, -1}, 1;
    default: break;
    }
    out[0] = (edge){a, b, c->same, -1};
    out[1] = (edge){b, a, -c->same, -1};
    out[2] = (edge){a + 1, b + 1, 0, -1};
    out[3] = (edge){b + 1, a + 1, 0, -1};
    return s->m->plan->lanes > 1 ? 4 : 2;
}

/* How far edges raise offsets at once; -1: beyond the limit. */
static int64_t rise_of(const searcher *s, const edge *edges, int32_t count) {
    int64_t rise = 0;
    for (int32_t k = 0; k < count; k++) {
        const edge *e = &edges[k];
        const int64_t least = s->value[e->from] + e->distance;
        int64_t value;
        if (count > 1 && s->value[e->to] >= least) continue; /* holds already */
        if (!legal_value(s, e->to, least, &value)) return -1;
        if (e->to % 2 == 0) rise += value - s->value[e->to];
    }
    return rise;
}

/* Lists the ways to settle a conflict that respect the limit, the cheapest first. */
static int32_t list_ways(const searcher *s, const spad__conflict *c, int8_t *ways) {
    int64_t cost[WAYS];
    int32_t count = 0;
    for (int32_t k = 0; k < (c->in_place ? WAYS : WAYS - 1); k++) {
        edge edges[WAY_EDGES];
        const int64_t rise = rise_of(s, edges, edges_of(s, c, k, edges));
        if (rise < 0) continue;
        int32_t at = count++;
        for (; at > 0 && cost[at - 1] > rise; at--) {
            cost[at] = cost[at - 1];
            ways[at] = ways[at - 1];
        }
        cost[at] = rise;
        ways[at] = (int8_t)k;
    }
    return count;
}

/* Picks the conflict to decide. False: none is broken, the values are a plan; or time to stop. */
static bool choose_decision(searcher *s, decision *d) {
    bool found = false;
    int64_t lowest = 0;
    for (size_t k = 0; k < s->conflicts.count; k++) {
        const spad__conflict *c = &s->conflicts.items[k];
        if (!work(s, 1)) return false;
        if (!is_broken(s, c)) continue;
        const int64_t height = spad__max(s->value[2 * c->a], s->value[2 * c->b]);
        int8_t ways[WAYS];
        const int32_t count = list_ways(s, c, ways);
        if (found && (count > d->way_count || (count == d->way_count && height >= lowest)))
            continue;
        found = true;
        lowest = height;
        d->way_count = count;
        d->conflict = *c;
        for (int32_t w = 0; w < count; w++) d->ways[w] = ways[w];
        if (count == 0) return true;
    }
    return found;
}

/* ---- the search -------------------------------------------------------------------- */

/* False: something sits higher than is still of interest. */
static bool within_limit(const searcher *s) {
    for (int32_t i = 0; i < s->m->item_count; i++)
        if (s->value[2 * i] > s->limit - s->m->items[i].size) return false;
    return true;
}

/* The values are a plan: legal, and no two items collide. */
static bool values_are_valid(const searcher *s) {
    for (int32_t k = 0; k < s->variables; k++) {
        int64_t value;
        if (!legal_value(s, k, s->value[k], &value) || value != s->value[k]) return false;
    }
    for (size_t k = 0; k < s->conflicts.count; k++) {
        if (is_broken(s, &s->conflicts.items[k])) return false;
    }
    return true;
}
static void keep_ordered_plan(searcher *s) {
    spad__assert_valid(s->m->item_count > SPAD__FEW || values_are_valid(s));
    for (int32_t i = 0; i < s->m->item_count; i++)
        s->pairs->place[i] = (spad_plan_place){s->value[2 * i], s->value[2 * i + 1]};
    s->pairs->height = spad__items_height(s->m, s->pairs->place);
    spad__assert(s->pairs->height <= s->limit); /* every plan is lower than the one before */
    s->limit = s->pairs->height - 1;
}

/* Adds the edges of a way one by one; each holds with all before it, or the way fails. */
static bool add_way(searcher *s, const spad__conflict *c, int32_t kind) {
    edge edges[WAY_EDGES];
    const int32_t count = edges_of(s, c, kind, edges);
    bool holds = true;
    for (int32_t k = 0; k < count && holds; k++) holds = add_order_edge(s, edges[k]);
    return holds;
}

/* Takes the next way of the newest decision that has one; false: none is left. */
static bool advance(searcher *s) {
    while (s->decisions.count > 0) {
        decision *d = &s->decisions.items[s->decisions.count - 1];
        spad__assert(d->way_next <= d->way_count && d->way_count <= WAYS);
        undo(s, d);
        if (s->cut) return false;
        if (d->way_next == d->way_count) {
            s->decisions.count--;
            continue;
        }
        if (add_way(s, &d->conflict, d->ways[d->way_next++])) return true;
    }
    return false;
}

static void search_orders(searcher *s) {
    for (;;) {
        if (!spad__array_reserve(&s->host, &s->decisions, 1) ||
            !spad__array_reserve(&s->host, &s->edges, WAY_EDGES)) {
            s->no_memory = s->cut = true;
            return;
        }
        if (!count_search_step(s)) return;
        s->pairs->nodes++;
        decision d = {.edge_mark = (int32_t)s->edges.count,
                      .change_mark = (int32_t)s->changes.count};
        if (within_limit(s)) {
            if (choose_decision(s, &d)) {
                s->decisions.items[s->decisions.count++] = d;
            } else if (s->cut) {
                return;
            } else {
                keep_ordered_plan(s);
                if (s->pairs->height <= s->pairs->enough) return;
            }
        }
        if (!advance(s)) return;
    }
}

/* ---- set-up ------------------------------------------------------------------------ */

static bool add_conflict(searcher *s, const spad__conflict *c) {
    if (s->conflicts.count >= MAX_CONFLICTS) return s->pairs->too_large = s->cut = true, false;
    if (!spad__array_reserve(&s->host, &s->conflicts, 1)) return s->no_memory = true, false;
    s->conflicts.items[s->conflicts.count++] = *c;
    if (c->above <= 0 || c->below <= 0 || c->in_place) s->positive = false;
    if (c->in_place) s->lane_rise = s->m->plan->lanes;
    return true;
}

static bool list_item_conflicts(searcher *s, int32_t i, int32_t j) {
    const spad__item *a = &s->m->items[i];
    const spad__item *b = &s->m->items[j];
    if (!work(s, 1)) return false;
    if (a->begin >= b->end || b->begin >= a->end) return true;
    for (int32_t k = 0; k < a->piece_count; k++) {
        if (!work(s, b->piece_count)) return false;
        const spad__piece *p = &s->m->pieces[a->piece_first + k];
        for (int32_t l = 0; l < b->piece_count; l++) {
            const spad__piece *q = &s->m->pieces[b->piece_first + l];
            if (!spad__pieces_overlap(p, q)) continue;
            const spad__conflict c = spad__conflict_of(s->m, i, p, j, q);
            if (!add_conflict(s, &c)) return false;
        }
    }
    return true;
}

static bool list_conflicts(searcher *s) {
    for (int32_t i = 0; i < s->m->item_count; i++)
        for (int32_t j = i + 1; j < s->m->item_count; j++)
            if (!list_item_conflicts(s, i, j)) return false;
    for (int32_t k = 0; k < s->m->apart_count; k++)
        if (!add_conflict(s, &s->m->aparts[k])) return false;
    return true;
}

/* A common multiple of all alignments and banks; INT64_MAX when none exists in 64 bits. */
static int64_t common_period(const spad__model *m) {
    int64_t period = 1;
    for (int32_t i = 0; i < m->item_count; i++) {
        const spad__item *item = &m->items[i];
        if (!spad__lcm(period, item->alignment, &period)) return INT64_MAX;
        for (int32_t k = 0; item->banked && k < item->rule_count; k++) {
            const int64_t bank = m->rules[item->rule_first + k].bank;
            if (bank > 0 && !spad__lcm(period, bank, &period)) return INT64_MAX;
        }
    }
    return period;
}

static bool searcher_start(searcher *s) {
    s->variables = 2 * s->m->item_count;
    const size_t room = (size_t)s->variables + 1;
    s->value = spad__arena_array(&s->arena, room, sizeof *s->value);
    s->newest_edge = spad__arena_array(&s->arena, room, sizeof *s->newest_edge);
    s->queue = spad__arena_array(&s->arena, room, sizeof *s->queue);
    s->queued = spad__arena_array(&s->arena, room, sizeof *s->queued);
    if (s->value == NULL || s->newest_edge == NULL || s->queue == NULL || s->queued == NULL)
        return s->no_memory = true, false;
    for (int32_t k = 0; k < s->variables; k++) s->newest_edge[k] = -1;
    return list_conflicts(s);
}

/* Every variable at its lowest legal value; false: one has none below the limit. */
static bool lowest_values(searcher *s) {
    for (int32_t k = 0; k < s->variables; k++)
        if (!legal_value(s, k, 0, &s->value[k])) return false;
    return true;
}

spad_status spad__pairs_run(spad__pairs *pairs) {
    searcher s = {.pairs = pairs,
                  .m = pairs->model,
                  .host = pairs->model->arena.host,
                  .arena.host = pairs->model->arena.host,
                  .positive = true,
                  .period = common_period(pairs->model)};
    s.limit = spad__min(pairs->capacity, pairs->height - 1);
    pairs->complete = pairs->too_large = false;
    if (searcher_start(&s)) {
        if (lowest_values(&s)) search_orders(&s);
        pairs->complete = !s.cut && !(pairs->height <= pairs->enough);
    }
    spad__array_free(&s.host, &s.conflicts);
    spad__array_free(&s.host, &s.edges);
    spad__array_free(&s.host, &s.changes);
    spad__array_free(&s.host, &s.decisions);
    spad__arena_free(&s.arena);
    return s.no_memory ? SPAD_ERR_HOST_MEMORY : SPAD_OK;
}
