/* SPDX-License-Identifier: Apache-2.0
 *
 * Several memories with many buffers, by prices.
 *
 * Every byte of a bounded memory gets a price at every moment. With prices, the cheapest way of
 * each buffer through the memories is found alone; the sum over all buffers, less what the rooms
 * are worth at these prices, is a lower bound whatever the prices are (Lagrangian relaxation). They
 * go up where a memory has too little room and down where it has too much (subgradient steps),
 * which makes the bound better.
 *
 * An assignment takes the buffers one after the other, those first that lose most per byte and
 * moment elsewhere; each takes its cheapest way at these prices among those that have room. Then
 * each buffer in turn leaves and takes the cheapest way without prices, until nothing changes, and
 * some buffers around one moment leave together and come back in another order, as long as that
 * does not cost more. Rooms are bytes at moments; the planner has the last word on places.
 *
 * A step costs O(phases x memories^2 + moments), a way with room also the moments of its phases.
 * Numbers of steps depend on the size of the problem only, so results are the same every time
 * unless the time is over.
 */
#include "plan/tiers/tier_relax.h"

#include <string.h>

#include "base/checked.h"
#include "base/random.h"
#include "plan/problem/sort.h"

enum {
    RELAX_STEPS = 400,
    RELAX_WORK = 60000000, /* phases x memories^2 of all steps together, at most */
    REFILL_PASSES = 12,
    SWAPS_MAX = 4000,
    LEAVING_MAX = 40 /* buffers that leave together */
};

struct spad__relax {
    const spad__tiers *tiers;
    const spad__phase *phases;
    const int32_t *first;
    int32_t moment_count;
    int32_t memories;
    int64_t effort; /* steps of each kind, at most */
    spad__limit *limit;
    spad__arena arena;
    double *price;    /* per memory and moment */
    double *best;     /* the prices of the best bound */
    double *sum;      /* per memory: prices of all moments before */
    int64_t *load;    /* per memory and moment */
    int64_t *room;    /* per memory: of an assignment */
    int64_t *squeeze; /* per memory and moment: less room, where the planner needs it */
    bool *full;       /* scratch, per moment */
    double *table;    /* scratch of a way */
    int8_t *back;
    int32_t *memory; /* per phase */
    int32_t *saved;  /* of the buffers that left */
    int64_t *cost;   /* per buffer */
    spad__row *rows; /* buffers in order */
    int32_t *leaving;
};

static int64_t phase_bytes(const spad__relax *r, const spad__phase *p) {
    const spad__tier_buffer *b = &r->tiers->buffers.items[p->buffer];
    int64_t size;
    return spad__align_up(b->size, b->alignment, &size) ? size : INT64_MAX;
}

static bool is_bounded(const spad__relax *r, int32_t m) {
    return r->tiers->memories.items[m].capacity != SPAD_UNBOUNDED;
}

/* ---- ways -------------------------------------------------------------------------- */

/* Has a memory room for a phase, at every moment of it? */
static bool relax_has_room(const spad__relax *r, const spad__phase *p, int32_t m) {
    if (!is_bounded(r, m)) return true;
    const int64_t most = r->room[m] - phase_bytes(r, p);
    const int64_t *load = &r->load[(size_t)m * ((size_t)r->moment_count + 1)];
    const int64_t *squeeze = &r->squeeze[(size_t)m * ((size_t)r->moment_count + 1)];
    for (int32_t t = p->from; t < p->until; t++)
        if (load[t] + squeeze[t] > most) return false;
    return p->from == p->until ? most >= 0 : true;
}

/* What a phase pays for its bytes. */
static double phase_price(const spad__relax *r, const spad__phase *p, int32_t m) {
    const double *sum = &r->sum[(size_t)m * ((size_t)r->moment_count + 1)];
    return (double)r->tiers->buffers.items[p->buffer].size * (sum[p->until] - sum[p->from]);
}

/* The cheapest way of a buffer, with prices, and within the rooms if that is asked for; its phases
 * get the memories. Negative: none. */
static double relaxed_way(spad__relax *r, int32_t buffer, bool prices, bool rooms) {
    const spad__tier_buffer *b = &r->tiers->buffers.items[buffer];
    const int32_t count = r->memories;
    const spad__phase *phases = &r->phases[r->first[buffer]];
    const int32_t last = r->first[buffer + 1] - r->first[buffer] - 1;
    for (int32_t k = 0; k <= last; k++) {
        for (int32_t m = 0; m < count; m++) {
            double *here = &r->table[k * count + m];
            double before = 0;
            *here = -1;
            if ((b->memories >> m & 1) == 0 || (rooms && !relax_has_room(r, &phases[k], m)))
                continue;
            for (int32_t f = 0; k > 0 && f < count; f++) {
                const double from = r->table[(k - 1) * count + f];
                if (from < 0) continue;
                const double cost = from + (double)spad__tier_move_cost(r->tiers, b, f, m);
                if (*here >= 0 && cost >= *here) continue;
                *here = cost;
                r->back[k * count + m] = (int8_t)f;
            }
            if (k > 0 && *here < 0) continue;
            before = k > 0 ? *here : 0;
            *here = before + (double)spad__tier_phase_cost(r->tiers, b, k, m) +
                    (prices ? phase_price(r, &phases[k], m) : 0);
        }
    }
    int32_t best = -1;
    for (int32_t m = 0; m < count; m++)
        if (r->table[last * count + m] >= 0 &&
            (best < 0 || r->table[last * count + m] < r->table[last * count + best]))
            best = m;
    if (best < 0) return -1;
    const double cost = r->table[last * count + best];
    for (int32_t k = last; k >= 0; k--) {
        r->memory[r->first[buffer] + k] = best;
        if (k > 0) best = r->back[k * count + best];
    }
    return cost;
}

/* What the way of a buffer costs without prices. */
static int64_t cost_of_way(const spad__relax *r, int32_t buffer) {
    const spad__tier_buffer *b = &r->tiers->buffers.items[buffer];
    int64_t cost = 0;
    for (int32_t k = r->first[buffer]; k < r->first[buffer + 1]; k++) {
        if (k > r->first[buffer])
            cost += spad__tier_move_cost(r->tiers, b, r->memory[k - 1], r->memory[k]);
        cost += spad__tier_phase_cost(r->tiers, b, k - r->first[buffer], r->memory[k]);
    }
    return cost;
}

/* Adds the bytes of a buffer to the loads, or takes them (sign -1). */
static void load_buffer(spad__relax *r, int32_t buffer, int64_t sign) {
    for (int32_t k = r->first[buffer]; k < r->first[buffer + 1]; k++) {
        const spad__phase *p = &r->phases[k];
        if (!is_bounded(r, r->memory[k])) continue;
        int64_t *load = &r->load[(size_t)r->memory[k] * ((size_t)r->moment_count + 1)];
        const int64_t bytes = sign * phase_bytes(r, p);
        for (int32_t t = p->from; t < p->until; t++) load[t] += bytes;
    }
}

/* ---- the bound --------------------------------------------------------------------- */

static void sum_prices(spad__relax *r, const double *price) {
    const int32_t moments = r->moment_count;
    for (int32_t m = 0; m < r->memories; m++) {
        const size_t base = (size_t)m * ((size_t)moments + 1);
        r->sum[base] = 0;
        for (int32_t t = 0; t < moments; t++)
            r->sum[base + (size_t)t + 1] = r->sum[base + (size_t)t] + price[base + (size_t)t];
    }
}

/* The bound at the prices, and the loads of the ways that they lead to; loads here are without
 * alignment, so that this is a bound for any plan. */
static double bound_at_prices(spad__relax *r) {
    const int32_t moments = r->moment_count;
    const size_t stride = (size_t)moments + 1;
    double value = 0;
    double size = 0; /* of all that was added, for what doubles lose */
    sum_prices(r, r->price);
    memset(r->load, 0, (size_t)r->memories * stride * sizeof *r->load);
    for (size_t b = 0; b < r->tiers->buffers.count; b++) {
        value += relaxed_way(r, (int32_t)b, true, false);
        for (int32_t k = r->first[b]; k < r->first[b + 1]; k++) {
            int64_t *load = &r->load[(size_t)r->memory[k] * stride];
            load[r->phases[k].from] += r->tiers->buffers.items[b].size;
            load[r->phases[k].until] -= r->tiers->buffers.items[b].size;
        }
    }
    size = value;
    for (int32_t m = 0; m < r->memories; m++) {
        for (int32_t t = 1; t <= moments; t++)
            r->load[(size_t)m * stride + (size_t)t] += r->load[(size_t)m * stride + (size_t)t - 1];
        if (!is_bounded(r, m)) continue;
        const double worth = r->sum[(size_t)m * stride + (size_t)moments] *
                             (double)r->tiers->memories.items[m].capacity;
        value -= worth;
        size += worth;
    }
    return value - size * 1e-9 - 1;
}

/* The square of the steps that are possible. */
static double square_of_excess(const spad__relax *r) {
    double square = 0;
    for (int32_t m = 0; m < r->memories; m++) {
        if (!is_bounded(r, m)) continue;
        const int64_t capacity = r->tiers->memories.items[m].capacity;
        for (int32_t t = 0; t < r->moment_count; t++) {
            const size_t at = (size_t)m * ((size_t)r->moment_count + 1) + (size_t)t;
            const double excess = (double)(r->load[at] - capacity);
            if (excess > 0 || r->price[at] > 0) square += excess * excess;
        }
    }
    return square;
}

static void step_prices(spad__relax *r, double step) {
    for (int32_t m = 0; m < r->memories; m++) {
        if (!is_bounded(r, m)) continue;
        const int64_t capacity = r->tiers->memories.items[m].capacity;
        for (int32_t t = 0; t < r->moment_count; t++) {
            const size_t at = (size_t)m * ((size_t)r->moment_count + 1) + (size_t)t;
            r->price[at] += step * (double)(r->load[at] - capacity);
            if (r->price[at] < 0) r->price[at] = 0;
        }
    }
}

/* ---- an assignment ----------------------------------------------------------------- */

/* What a buffer loses per byte and moment if it is where bytes cost most: the larger, the earlier
 * it takes its room. */
static double density_of_loss(const spad__relax *r, int32_t buffer) {
    const spad__tier_buffer *b = &r->tiers->buffers.items[buffer];
    int64_t low = INT64_MAX;
    int64_t high = 0;
    for (int32_t m = 0; m < r->memories; m++) {
        if ((b->memories >> m & 1) == 0) continue;
        low = spad__min(low, r->tiers->memories.items[m].cost);
        high = spad__max(high, r->tiers->memories.items[m].cost);
    }
    const int32_t from = r->phases[r->first[buffer]].from;
    const int32_t until = r->phases[r->first[buffer + 1] - 1].until;
    return (double)(high - low) * (double)b->use_count / (double)(until - from + 1);
}

static void order_buffers(spad__relax *r) {
    const size_t count = r->tiers->buffers.count;
    for (size_t b = 0; b < count; b++) {
        const double density = density_of_loss(r, (int32_t)b);
        const int64_t key = density < 1e15 ? (int64_t)(density * 1024) : INT64_MAX / 2;
        r->rows[b] = (spad__row){spad__sort_key(-key), (int32_t)b};
    }
    spad__sort_rows(r->rows, r->rows + count, count);
}

/* All buffers one after the other. False: one has no room. */
static bool fill_rooms(spad__relax *r, bool prices, int64_t *total) {
    *total = 0;
    memset(r->load, 0, (size_t)r->memories * ((size_t)r->moment_count + 1) * sizeof *r->load);
    for (size_t k = 0; k < r->tiers->buffers.count; k++) {
        const int32_t b = r->rows[k].value;
        if (relaxed_way(r, b, prices, true) < 0) return false;
        load_buffer(r, b, 1);
        r->cost[b] = cost_of_way(r, b);
        *total += r->cost[b];
    }
    return true;
}

/* Each buffer leaves and takes its cheapest way. */
static void refill_rooms(spad__relax *r, int64_t *total) {
    bool changed = true;
    for (int32_t pass = 0; pass < REFILL_PASSES && pass < r->effort && changed; pass++) {
        changed = false;
        for (size_t k = 0; k < r->tiers->buffers.count; k++) {
            const int32_t b = r->rows[k].value;
            if (k % 64 == 0 && spad__limit_reached(r->limit)) return;
            load_buffer(r, b, -1);
            (void)relaxed_way(r, b, false, true); /* its old way has room */
            load_buffer(r, b, 1);
            const int64_t cost = cost_of_way(r, b);
            if (cost < r->cost[b]) changed = true;
            *total += cost - r->cost[b];
            r->cost[b] = cost;
        }
    }
}

/* Buffers that are live at a moment, some of them, in any order. */
static int32_t choose_leaving(spad__relax *r, spad__random *random, int32_t moment) {
    int32_t count = 0;
    int64_t met = 0;
    for (size_t b = 0; b < r->tiers->buffers.count; b++) {
        if (r->phases[r->first[b]].from > moment || r->phases[r->first[b + 1] - 1].until <= moment)
            continue;
        met++;
        if (count < LEAVING_MAX) {
            r->leaving[count++] = (int32_t)b;
        } else {
            const uint64_t place = spad__random_below(random, (uint64_t)met);
            if (place < LEAVING_MAX) r->leaving[place] = (int32_t)b;
        }
    }
    for (int32_t k = count; k > 1; k--) {
        const int32_t j = (int32_t)spad__random_below(random, (uint64_t)k);
        const int32_t swapped = r->leaving[j];
        r->leaving[j] = r->leaving[k - 1];
        r->leaving[k - 1] = swapped;
    }
    return count;
}

static void copy_ways(spad__relax *r, int32_t count, bool save) {
    int32_t *saved = r->saved;
    for (int32_t k = 0; k < count; k++) {
        const int32_t from = r->first[r->leaving[k]];
        const size_t phases = (size_t)(r->first[r->leaving[k] + 1] - from);
        memcpy(save ? saved : &r->memory[from], save ? &r->memory[from] : saved,
               phases * sizeof *saved);
        saved += phases;
    }
}

/* Some buffers leave and come back in another order, half of the times at prices; what costs more
 * is taken back. */
static void swap_buffers(spad__relax *r, spad__random *random, int64_t *total) {
    const int32_t moment = (int32_t)spad__random_below(random, (uint64_t)r->moment_count);
    const int32_t count = choose_leaving(r, random, moment);
    const bool prices = spad__random_below(random, 2) == 0;
    int64_t before = 0;
    int64_t after = 0;
    copy_ways(r, count, true);
    for (int32_t k = 0; k < count; k++) {
        before += r->cost[r->leaving[k]];
        load_buffer(r, r->leaving[k], -1);
    }
    int32_t back = 0;
    for (; back < count; back++) {
        if (relaxed_way(r, r->leaving[back], prices, true) < 0) break;
        load_buffer(r, r->leaving[back], 1);
        after += cost_of_way(r, r->leaving[back]);
        if (after > before) {
            back++;
            break;
        }
    }
    if (back == count && after <= before) {
        for (int32_t k = 0; k < count; k++) r->cost[r->leaving[k]] = cost_of_way(r, r->leaving[k]);
        *total += after - before;
        return;
    }
    for (int32_t k = 0; k < back; k++) load_buffer(r, r->leaving[k], -1);
    copy_ways(r, count, false);
    for (int32_t k = 0; k < count; k++) load_buffer(r, r->leaving[k], 1);
}

/* Improves an assignment and hands it out. */
static void finish_assignment(spad__relax *r, int64_t rounds, int32_t *memory, int64_t *cost) {
    spad__random random = {1};
    refill_rooms(r, cost);
    for (int64_t n = 0; n < rounds && n < r->effort && !spad__limit_reached(r->limit); n++)
        swap_buffers(r, &random, cost);
    refill_rooms(r, cost);
    memcpy(memory, r->memory, (size_t)r->first[r->tiers->buffers.count] * sizeof *memory);
}

bool spad__relax_assign(spad__relax *r, const int64_t *room, int32_t *memory, int64_t *cost) {
    const size_t stride = (size_t)r->moment_count + 1;
    memcpy(r->room, room, (size_t)r->memories * sizeof *room);
    memset(r->squeeze, 0, (size_t)r->memories * stride * sizeof *r->squeeze);
    sum_prices(r, r->best);
    order_buffers(r);
    if (!fill_rooms(r, true, cost) && !fill_rooms(r, false, cost)) return false;
    const int64_t most = 20 * (int64_t)r->tiers->buffers.count;
    finish_assignment(r, r->moment_count > 0 ? spad__min(most, SWAPS_MAX) : 0, memory, cost);
    return true;
}

/* Less room where something was placed too high. */
static void squeeze_rooms(spad__relax *r, const int64_t *offset) {
    const size_t stride = (size_t)r->moment_count + 1;
    for (int32_t m = 0; m < r->memories; m++) {
        if (!is_bounded(r, m)) continue;
        const int64_t capacity = r->tiers->memories.items[m].capacity;
        memset(r->full, 0, stride * sizeof *r->full);
        for (int32_t k = 0; k < r->first[r->tiers->buffers.count]; k++) {
            const spad__phase *p = &r->phases[k];
            if (r->memory[k] != m ||
                offset[k] <= capacity - r->tiers->buffers.items[p->buffer].size)
                continue;
            for (int32_t t = p->from; t < p->until; t++) r->full[t] = true;
        }
        for (int32_t t = 0; t < r->moment_count; t++)
            if (r->full[t]) r->squeeze[(size_t)m * stride + (size_t)t] += 1 + capacity / 256;
    }
}

/* Is a buffer where there are too many bytes now? */
static bool is_too_much(const spad__relax *r, int32_t buffer) {
    for (int32_t k = r->first[buffer]; k < r->first[buffer + 1]; k++) {
        const int32_t m = r->memory[k];
        const size_t base = (size_t)m * ((size_t)r->moment_count + 1);
        if (!is_bounded(r, m)) continue;
        for (int32_t t = r->phases[k].from; t < r->phases[k].until; t++)
            if (r->load[base + (size_t)t] + r->squeeze[base + (size_t)t] > r->room[m]) return true;
    }
    return false;
}

bool spad__relax_repair(spad__relax *r, const int64_t *offset, int32_t *memory, int64_t *cost) {
    squeeze_rooms(r, offset);
    for (size_t k = r->tiers->buffers.count; k-- > 0;) { /* those first that lose least */
        const int32_t b = r->rows[k].value;
        if (!is_too_much(r, b)) continue;
        load_buffer(r, b, -1);
        if (relaxed_way(r, b, true, true) < 0) return false;
        load_buffer(r, b, 1);
        *cost -= r->cost[b];
        r->cost[b] = cost_of_way(r, b);
        *cost += r->cost[b];
    }
    finish_assignment(r, spad__min((int64_t)r->tiers->buffers.count, SWAPS_MAX / 8), memory, cost);
    return true;
}

/* ---- the best prices --------------------------------------------------------------- */

/* What a first assignment costs, towards which the bound goes up; without one, all that buffers
 * could cost. */
static double first_cost(spad__relax *r) {
    int64_t total;
    for (int32_t m = 0; m < r->memories; m++) r->room[m] = r->tiers->memories.items[m].capacity;
    order_buffers(r);
    if (!fill_rooms(r, false, &total)) return (double)r->tiers->most;
    return (double)total;
}

int64_t spad__relax_bound(spad__relax *r) {
    const size_t cells = (size_t)r->memories * ((size_t)r->moment_count + 1);
    const int64_t work = (int64_t)r->first[r->tiers->buffers.count] * r->memories * r->memories + 1;
    const int64_t least = spad__min(RELAX_STEPS, 20 * (int64_t)r->tiers->buffers.count);
    const int64_t steps = spad__min(spad__min(least, r->effort), 10 + RELAX_WORK / work);
    const double above = first_cost(r);
    double best = -1;
    double theta = 1;
    int32_t stale = 0;
    for (int64_t n = 0; n < steps && !spad__limit_reached(r->limit); n++) {
        double value = bound_at_prices(r);
        if (value > best) {
            best = value;
            memcpy(r->best, r->price, cells * sizeof *r->best);
            stale = 0;
        } else if (++stale == 20) {
            theta *= 0.6;
            stale = 0;
            memcpy(r->price, r->best, cells * sizeof *r->best);
            value = bound_at_prices(r);
        }
        const double square = square_of_excess(r);
        if (square <= 0 || value >= above || theta < 1e-4) break;
        step_prices(r, theta * (above - value) / square);
    }
    return best > 0 ? (int64_t)best : 0;
}

/* ---- set-up ------------------------------------------------------------------------ */

static bool start_relax(spad__relax *r) {
    const size_t memories = (size_t)r->memories + 1;
    const size_t cells = memories * ((size_t)r->moment_count + 1);
    const size_t buffers = r->tiers->buffers.count;
    const size_t phases = (size_t)r->first[buffers] + 1;
    r->price = spad__arena_array(&r->arena, cells, sizeof *r->price);
    r->best = spad__arena_array(&r->arena, cells, sizeof *r->best);
    r->sum = spad__arena_array(&r->arena, cells, sizeof *r->sum);
    r->load = spad__arena_array(&r->arena, cells, sizeof *r->load);
    r->room = spad__arena_array(&r->arena, memories, sizeof *r->room);
    r->squeeze = spad__arena_array(&r->arena, cells, sizeof *r->squeeze);
    r->full = spad__arena_array(&r->arena, (size_t)r->moment_count + 1, sizeof *r->full);
    r->table = spad__arena_array(&r->arena, phases, memories * sizeof *r->table);
    r->back = spad__arena_array(&r->arena, phases, memories);
    r->memory = spad__arena_array(&r->arena, phases, sizeof *r->memory);
    r->saved = spad__arena_array(&r->arena, phases, sizeof *r->saved);
    r->cost = spad__arena_array(&r->arena, buffers + 1, sizeof *r->cost);
    r->rows = spad__arena_array(&r->arena, 2 * buffers + 2, sizeof *r->rows);
    r->leaving = spad__arena_array(&r->arena, LEAVING_MAX, sizeof *r->leaving);
    return r->price != NULL && r->best != NULL && r->sum != NULL && r->load != NULL &&
           r->room != NULL && r->squeeze != NULL && r->full != NULL && r->table != NULL &&
           r->back != NULL && r->memory != NULL && r->saved != NULL && r->cost != NULL &&
           r->rows != NULL && r->leaving != NULL;
}

spad__relax *spad__relax_create(const spad__tiers *tiers, const spad__phase *phases,
                                const int32_t *first, int32_t moment_count, int64_t effort,
                                spad__limit *limit) {
    spad__relax *r = spad__new(&tiers->host, sizeof *r);
    if (r == NULL) return NULL;
    *r = (spad__relax){.tiers = tiers,
                       .phases = phases,
                       .first = first,
                       .moment_count = moment_count,
                       .memories = (int32_t)tiers->memories.count,
                       .effort = effort,
                       .limit = limit,
                       .arena.host = tiers->host};
    if (start_relax(r)) return r;
    spad__relax_free(r);
    return NULL;
}

void spad__relax_free(spad__relax *r) {
    if (r == NULL) return;
    const spad_host host = r->tiers->host;
    spad__arena_free(&r->arena);
    spad__free(&host, r, sizeof *r);
}
