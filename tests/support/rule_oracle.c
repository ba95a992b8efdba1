/* SPDX-License-Identifier: Apache-2.0
 *
 * Brute force over all rules; see rule_oracle.h. Buffers that are tied by aliases and slices are
 * one group with one place. Groups without a rule between them are searched apart from each other,
 * which is what makes trying everything short enough. */
#include "support/rule_oracle.h"

#include <string.h>

#include "base/checked.h"

/* ---- what the rules mean ----------------------------------------------------------- */

/* Zeros are defaults; a space has an alignment, granules and banks for all. */
static spad_plan_buffer completed(spad_plan_buffer b, const rule_problem *p) {
    const spad_space *space = &p->space;
    if (b.lanes == 0) b.lanes = 1;
    if (b.alignment == 0) b.alignment = 1;
    if (p->in_space) {
        if (b.bank == 0 && space->banks_exclusive) b.bank = space->bank_bytes;
        int64_t common = b.alignment;
        while (common % space->alignment != 0) common += b.alignment;
        b.alignment = common;
        int64_t granules = (b.size + space->granule - 1) / space->granule;
        while (space->power_of_two && (granules & (granules - 1)) != 0) granules++;
        b.size = granules * space->granule;
    }
    if (b.size == 0) b.bank = 0;
    return b;
}

static uint64_t bits(int64_t from, int64_t until) {
    return ((UINT64_C(1) << (until - from)) - 1) << from;
}

static uint64_t bytes_at(const spad_plan_buffer *b, int64_t moment) {
    if (moment < b->lower || moment >= b->upper) return 0;
    for (size_t k = 0; k < b->gap_count; k++)
        if (b->gaps[k].lower <= moment && moment < b->gaps[k].upper)
            return bits(b->gaps[k].window_lower, b->gaps[k].window_upper);
    return bits(0, b->size);
}

static bool clock_before(const spad_plan_buffer *a, const spad_plan_buffer *b) {
    for (size_t k = 0; k < a->clock_count; k++)
        if (a->upper_clock[k] > b->lower_clock[k]) return false;
    return true;
}

/* Puts b at a + distance, with the groups of both. */
static void tie(rule_oracle *o, int a, int b, int64_t distance) {
    const int ga = o->group[a], gb = o->group[b];
    const int low = ga < gb ? ga : gb;
    const int64_t move = o->delta[a] + distance - o->delta[b];
    int64_t lowest = 0;
    if (ga == gb) {
        o->contradiction = o->contradiction || move != 0;
        return;
    }
    for (int i = 0; i < o->p->count; i++) {
        if (o->group[i] == gb) o->delta[i] += move;
        if (o->group[i] == ga || o->group[i] == gb) o->group[i] = low;
        if (o->group[i] == low) lowest = spad__min(lowest, o->delta[i]);
    }
    for (int i = 0; i < o->p->count; i++)
        if (o->group[i] == low) o->delta[i] -= lowest;
}

static void find_groups(rule_oracle *o) {
    const rule_problem *p = o->p;
    for (int i = 0; i < p->count; i++) o->group[i] = i;
    for (int i = 0; i < p->count; i++) tie(o, p->alias[i], i, 0);
    for (int i = 0; i < p->count; i++)
        if (p->whole[i] >= 0) tie(o, p->whole[i], i, p->at[i]);
}

static void join_near(rule_oracle *o, int i, int j) {
    o->near[o->group[i]][o->group[j]] = o->near[o->group[j]][o->group[i]] = true;
}

/* True if a constraint on two buffers has no effect: they are live together, or have no bytes. */
static bool is_idle_constraint(const rule_oracle *o, int i, int j) {
    const spad_plan_buffer *a = &o->buffer[i];
    const spad_plan_buffer *b = &o->buffer[j];
    if (o->group[i] == o->group[j] || a->size == 0 || b->size == 0) return true;
    return a->clock_count == 0 && a->gap_count == 0 && b->gap_count == 0 && a->lower < b->upper &&
           b->lower < a->upper;
}

static bool has_in_place(const rule_problem *p, int i, int j) {
    for (int k = 0; k < p->in_place_count; k++)
        if ((p->in_place[k].a == i && p->in_place[k].b == j) ||
            (p->in_place[k].a == j && p->in_place[k].b == i))
            return true;
    return false;
}

static void add_cost(rule_oracle *o, int i, int j, int64_t cost) {
    if (is_idle_constraint(o, i, j) || cost == 0) return;
    o->pair_cost[i][j] += cost;
    o->pair_cost[j][i] += cost;
    join_near(o, i, j);
}

static void find_costs(rule_oracle *o) {
    const rule_problem *p = o->p;
    for (int k = 0; k < p->avoid_count; k++)
        add_cost(o, p->avoid[k].a, p->avoid[k].b, p->avoid[k].cost);
    for (int i = 0; i < p->count; i++) {
        const spad_plan_buffer *b = &o->buffer[i];
        if (!b->pinned && b->size > 0 && p->previous[i].offset >= 0)
            o->move_cost[i] =
                p->constraints.move_cost + b->size * b->lanes * p->constraints.move_byte_cost;
        for (int j = 0; j < p->count; j++) {
            const int64_t steps = o->buffer[j].lower - b->upper;
            if (i != j && steps >= 0 && steps < p->constraints.reuse_steps &&
                !has_in_place(p, i, j))
                add_cost(o, i, j, p->constraints.reuse_cost);
        }
    }
}

static void find_conflicts(rule_oracle *o) {
    const rule_problem *p = o->p;
    for (int k = 0; k < p->apart_count; k++) {
        const int i = p->apart[k].a, j = p->apart[k].b;
        o->meets[i][j] = o->meets[j][i] = true;
        join_near(o, i, j);
    }
    for (int k = 0; k < p->in_place_count; k++) {
        const spad_plan_buffer *output = &o->buffer[p->in_place[k].a];
        const spad_plan_buffer *input = &o->buffer[p->in_place[k].b];
        if (input->lower <= output->lower && input->upper <= output->lower + 1)
            o->may_share[p->in_place[k].a][p->in_place[k].b] =
                o->may_share[p->in_place[k].b][p->in_place[k].a] = true;
    }
    for (int i = 0; i < p->count; i++) {
        for (int j = 0; j < i; j++) {
            const spad_plan_buffer *a = &o->buffer[i];
            const spad_plan_buffer *b = &o->buffer[j];
            if (o->group[i] == o->group[j]) continue;
            if (a->clock_count > 0 && !clock_before(a, b) && !clock_before(b, a))
                o->meets[i][j] = o->meets[j][i] = true;
            if (o->meets[i][j]) join_near(o, i, j);
            for (int t = 0; t < RULE_MOMENTS; t++)
                if (o->bytes[i][t] != 0 && o->bytes[j][t] != 0) join_near(o, i, j);
        }
    }
}

void rule_oracle_start(rule_oracle *o, const rule_problem *p) {
    *o = (rule_oracle){.p = p, .lanes = p->in_space ? (int)p->space.lanes : 1};
    for (int i = 0; i < p->count; i++) {
        o->buffer[i] = completed(p->buffer[i], p);
        for (int t = 0; t < RULE_MOMENTS && p->buffer[i].clock_count == 0; t++)
            o->bytes[i][t] = bytes_at(&o->buffer[i], t);
    }
    find_groups(o);
    find_conflicts(o);
    find_costs(o);
}

/* ---- places ------------------------------------------------------------------------ */

static bool lane_allowed(const rule_problem *p, int64_t lanes, int64_t lane) {
    if (!p->in_space) return lane == 0;
    if (lane + lanes > p->space.lanes) return false;
    if (p->space.lane_rule_count == 0) return true;
    for (size_t i = 0; i < p->space.lane_rule_count; i++) {
        const spad_lane_rule *row = &p->space.lane_rules[i];
        if (lanes < row->lanes_min || lanes > row->lanes_max) continue;
        for (size_t k = 0; k < row->start_count; k++)
            if (row->starts[k] == lane) return true;
    }
    return false;
}

static bool is_allowed(const rule_oracle *o, int i, int64_t offset, int64_t lane, int64_t limit) {
    const spad_plan_buffer *b = &o->buffer[i];
    if (offset < 0 || offset + b->size > limit || offset % b->alignment != 0) return false;
    if (b->bank > 0 && offset / b->bank != (offset + b->size - 1) / b->bank) return false;
    if (b->pinned && (b->offset != offset || b->lane != lane)) return false;
    return lane_allowed(o->p, b->lanes, lane);
}

static bool share_a_byte(const rule_oracle *o, int i, int j) {
    const spad_plan_place *x = &o->place[i];
    const spad_plan_place *y = &o->place[j];
    return o->buffer[i].size > 0 && o->buffer[j].size > 0 &&
           x->offset < y->offset + o->buffer[j].size && y->offset < x->offset + o->buffer[i].size &&
           x->lane < y->lane + o->buffer[j].lanes && y->lane < x->lane + o->buffer[i].lanes;
}

/* May two buffers with places not be there? */
static bool collide(const rule_oracle *o, int i, int j) {
    if (!share_a_byte(o, i, j)) return false;
    if (o->meets[i][j]) return true;
    if (o->group[i] == o->group[j]) return false;
    if (o->may_share[i][j] && o->place[i].offset == o->place[j].offset &&
        o->place[i].lane == o->place[j].lane)
        return false;
    for (int t = 0; t < RULE_MOMENTS; t++)
        if (((o->bytes[i][t] << o->place[i].offset) & (o->bytes[j][t] << o->place[j].offset)) != 0)
            return true;
    return false;
}

/* Puts a group there. False: a rule is broken; then it is not placed. *cost: what it adds. */
static bool put_group(rule_oracle *o, int g, int64_t offset, int64_t lane, int64_t limit,
                      int64_t *cost) {
    const int n = o->p->count;
    for (int i = g; i < n; i++) {
        if (o->group[i] != g) continue;
        o->place[i] = (spad_plan_place){offset + o->delta[i], lane};
        if (!is_allowed(o, i, o->place[i].offset, lane, limit)) return false;
    }
    for (int i = g; i < n; i++) {
        if (o->group[i] != g) continue;
        if (o->place[i].offset != o->p->previous[i].offset || lane != o->p->previous[i].lane)
            *cost += o->move_cost[i];
        for (int j = 0; j < n; j++) {
            const bool earlier = o->group[j] == g ? j < i : o->placed[j];
            if (!earlier) continue;
            if (collide(o, i, j)) return false;
            if (o->pair_cost[i][j] > 0 && share_a_byte(o, i, j)) *cost += o->pair_cost[i][j];
        }
    }
    for (int i = g; i < n; i++)
        if (o->group[i] == g) o->placed[i] = true;
    return true;
}

static void take_group(rule_oracle *o, int g) {
    for (int i = g; i < o->p->count; i++)
        if (o->group[i] == g) o->placed[i] = false;
}

/* ---- searches ---------------------------------------------------------------------- */

/* Groups that rules connect with a first one, in an order in which each has one before it. */
typedef struct part {
    int count;
    int group[RULE_BUFFERS];
} part;

static part part_of(const rule_oracle *o, int first, bool *seen) {
    part c = {1, {first}};
    seen[first] = true;
    for (int k = 0; k < c.count; k++) {
        for (int g = 0; g < o->p->count; g++) {
            if (o->group[g] != g || seen[g] || !o->near[c.group[k]][g]) continue;
            seen[g] = true;
            c.group[c.count++] = g;
        }
    }
    return c;
}

/* Places group k of a part and all after it. True: with less cost than known. */
static bool place_from(rule_oracle *o, const part *c, int k, int64_t cost) {
    if (cost >= o->least) return false;
    if (k == c->count ||
        k == RULE_BUFFERS) { /* the bound tells the compiler where recursion ends */
        o->least = cost;
        return true;
    }
    bool found = false;
    for (int64_t offset = 0; offset <= o->limit; offset++) {
        for (int64_t lane = 0; lane < o->lanes; lane++) {
            int64_t more = cost;
            if (!put_group(o, c->group[k], offset, lane, o->limit, &more)) continue;
            found = place_from(o, c, k + 1, more) || found;
            take_group(o, c->group[k]);
            if (o->least == 0) return true;
        }
    }
    return found;
}

/* The least cost of a part; INT64_MAX: it does not fit. */
static int64_t least_of(rule_oracle *o, const part *c, int64_t limit) {
    memset(o->placed, 0, sizeof o->placed);
    o->limit = limit;
    o->least = INT64_MAX;
    (void)place_from(o, c, 0, 0);
    return o->least;
}

static bool group_is_pinned(const rule_oracle *o, int g) {
    for (int i = g; i < o->p->count; i++)
        if (o->group[i] == g && o->buffer[i].pinned) return true;
    return false;
}

/* Has a group a place below `most`, beside what is placed? Then it is put there. */
static bool has_place(rule_oracle *o, int g, int64_t most) {
    int64_t cost = 0;
    for (int64_t offset = 0; offset < most; offset++)
        for (int64_t lane = 0; lane < o->lanes; lane++)
            if (put_group(o, g, offset, lane, INT64_MAX / 2, &cost)) return true;
    return false;
}

/* Whatever is not pinned fits above all the rest if it has a place at all, since places come again
 * every 24 bytes. So only pins together, and a group alone, can be impossible. */
static bool is_possible(rule_oracle *o) {
    memset(o->placed, 0, sizeof o->placed);
    for (int g = 0; g < o->p->count; g++) {
        if (o->group[g] != g || group_is_pinned(o, g)) continue;
        if (!has_place(o, g, 24)) return false;
        take_group(o, g);
    }
    for (int g = 0; g < o->p->count; g++)
        if (o->group[g] == g && group_is_pinned(o, g) && !has_place(o, g, RULE_TALLEST))
            return false;
    return true;
}

int64_t rule_oracle_lowest(rule_oracle *o) {
    if (o->contradiction || !is_possible(o)) return RULE_IMPOSSIBLE;
    bool seen[RULE_BUFFERS] = {0};
    const rule_oracle before = *o;
    int64_t height = 0;
    memset(o->move_cost, 0, sizeof o->move_cost); /* any plan will do */
    memset(o->pair_cost, 0, sizeof o->pair_cost);
    for (int g = 0; g < o->p->count && height <= RULE_TALLEST; g++) {
        if (o->group[g] != g || seen[g]) continue;
        const part c = part_of(o, g, seen);
        while (height <= RULE_TALLEST && least_of(o, &c, height) == INT64_MAX) height++;
    }
    *o = before;
    return height <= RULE_TALLEST ? height : RULE_TOO_TALL;
}

int64_t rule_oracle_least(rule_oracle *o, int64_t limit) {
    bool seen[RULE_BUFFERS] = {0};
    int64_t sum = 0;
    for (int g = 0; g < o->p->count; g++) {
        if (o->group[g] != g || seen[g]) continue;
        const part c = part_of(o, g, seen);
        sum += least_of(o, &c, limit);
    }
    return sum;
}

bool rule_oracle_accepts(rule_oracle *o, const spad_plan_place *places, int64_t *height,
                         int64_t *cost) {
    *height = *cost = 0;
    memset(o->placed, 0, sizeof o->placed);
    for (int i = 0; i < o->p->count; i++) {
        const int g = o->group[i];
        if (places[i].offset < 0 || places[i].offset > RULE_TALLEST || places[i].lane < 0 ||
            places[i].offset - o->delta[i] != places[g].offset - o->delta[g] ||
            places[i].lane != places[g].lane)
            return false;
        *height = spad__max(*height, places[i].offset + o->buffer[i].size);
        if (g == i &&
            !put_group(o, g, places[i].offset - o->delta[i], places[i].lane, INT64_MAX / 2, cost))
            return false;
    }
    return true;
}
