/* SPDX-License-Identifier: Apache-2.0
 *
 * The planner against brute force: on small problems with every kind of rule mixed in, the
 * height is the lowest one, the verdict is "infeasible" exactly when nothing fits, the bound and
 * its proof hold, and every plan obeys every rule.
 *
 *     test_plan_exact [PROBLEMS [SEED [lanes]]]
 *
 * With `lanes` every problem has several lanes, and most have no other rule than an alignment.
 *
 * The oracle knows nothing of the planner: it tries every offset and lane of
 * every item and paints bytes into one word per moment and lane; plans are checked by painting
 * them, too. It works on small numbers; the planner gets the same problem, by calls or as CSV,
 * with times moved and stretched, and bytes multiplied, which changes neither the order of
 * times nor the ratio of heights.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/checked.h"
#include "base/error.h"
#include "base/random.h"
#include "spad/plan.h"
#include "support/support.h"

enum {
    MOMENTS = 6,
    LANES = 4,
    BUFFERS = 8,
    FEWER = 4,
    MORE_ON_LANES = 6,
    WITH_IN_PLACE = 5,
    MOST_GAPS = 2,
    TALLEST = 60,          /* bits of a word that are painted */
    LEAST_TO_COUNT = 1000, /* problems, from which on all kinds are met */
    TEXT = 4096
};

static int64_t problems = 10000;
static uint64_t seed = 2026;
static bool only_lanes;

/* ---- the oracle -------------------------------------------------------------------- */

typedef struct oracle {
    int count;
    spad_plan_buffer buffer[BUFFERS]; /* in small numbers */
    spad_plan_gap gaps[BUFFERS][MOST_GAPS];
    int group[BUFFERS]; /* alias group: the lowest buffer in it */
    int pair_count;
    int apart[2 * BUFFERS][2];
    int in_place_count;
    int in_place[2 * BUFFERS][2]; /* output, input */
    bool may_share[BUFFERS][BUFFERS];
    bool any_effect;
    int64_t delta[BUFFERS]; /* in its group: offset less that of the lowest buffer of it */
    int slice_count;
    int slice[2 * BUFFERS][2]; /* slice, whole */
    int64_t slice_at[2 * BUFFERS];
    bool contradiction; /* slices and aliases that no plan can obey */
    int height;
    const spad_space *space; /* in small numbers; NULL: one lane, no rules */
    int64_t offset[BUFFERS];
    int64_t lane[BUFFERS];
    bool placed[BUFFERS];
    int lanes;
    int urgency[BUFFERS];             /* of a group */
    uint64_t bytes[BUFFERS][MOMENTS]; /* in use, counted from the offset */
    uint64_t painted[MOMENTS][LANES];
} oracle;

static uint64_t bits(int64_t from, int64_t until) {
    return from >= until ? 0 : (((UINT64_C(1) << (until - from)) - 1) << from);
}

static uint64_t bytes_at(const spad_plan_buffer *b, int64_t moment) {
    if (moment < b->lower || moment >= b->upper) return 0;
    for (size_t k = 0; k < b->gap_count; k++)
        if (b->gaps[k].lower <= moment && moment < b->gaps[k].upper)
            return bits(b->gaps[k].window_lower, b->gaps[k].window_upper);
    return bits(0, b->size);
}

static bool start_lane_allowed(const spad_space *space, int64_t lanes, int64_t lane) {
    if (lane + lanes > space->lanes) return false;
    if (space->lane_rule_count == 0) return true;
    for (size_t i = 0; i < space->lane_rule_count; i++) {
        const spad_lane_rule *rule = &space->lane_rules[i];
        if (lanes < rule->lanes_min || lanes > rule->lanes_max) continue;
        for (size_t k = 0; k < rule->start_count; k++)
            if (rule->starts[k] == lane) return true;
    }
    return false;
}

static bool member_allowed(const oracle *o, int i, int64_t offset, int64_t lane) {
    const spad_plan_buffer *b = &o->buffer[i];
    if (offset + b->size > o->height || offset % b->alignment != 0) return false;
    if (b->bank > 0 && offset / b->bank != (offset + b->size - 1) / b->bank) return false;
    if (b->pinned && (b->offset != offset || b->lane != lane)) return false;
    return o->space == NULL ? lane == 0 : start_lane_allowed(o->space, b->lanes, lane);
}

static bool kept_apart(const oracle *o) {
    for (int k = 0; k < o->pair_count; k++) {
        const int i = o->apart[k][0];
        const int j = o->apart[k][1];
        if (!o->placed[i] || !o->placed[j]) continue;
        const spad_plan_buffer *a = &o->buffer[i];
        const spad_plan_buffer *b = &o->buffer[j];
        if (a->size == 0 || b->size == 0) continue;
        if (o->offset[i] < o->offset[j] + b->size && o->offset[j] < o->offset[i] + a->size &&
            o->lane[i] < o->lane[j] + b->lanes && o->lane[j] < o->lane[i] + a->lanes)
            return false;
    }
    return true;
}

static void set_placed(oracle *o, int group, bool placed) {
    for (int i = group; i < o->count; i++)
        if (o->group[i] == group) o->placed[i] = placed;
}

/* Do two buffers with places share a byte at a moment? */
static bool collide_at(const oracle *o, int i, int j, int t) {
    return (o->bytes[i][t] << o->offset[i] & o->bytes[j][t] << o->offset[j]) != 0 &&
           o->lane[i] < o->lane[j] + o->buffer[j].lanes &&
           o->lane[j] < o->lane[i] + o->buffer[i].lanes;
}

/* With outputs in place, bytes that are painted may be shared: every pair is looked at. */
static bool group_collides(const oracle *o, int group) {
    for (int i = group; i < o->count; i++) {
        for (int j = 0; o->group[i] == group && j < o->count; j++) {
            if (!o->placed[j] || o->group[j] == group) continue;
            if (o->may_share[i][j] && o->offset[i] == o->offset[j] && o->lane[i] == o->lane[j])
                continue;
            for (int t = 0; t < MOMENTS; t++)
                if (collide_at(o, i, j, t)) return true;
        }
    }
    return false;
}

/* Paints the group; false when bytes are taken. */
static bool paint(oracle *o, int group, int64_t offset, int64_t lane) {
    uint64_t mine[MOMENTS][LANES];
    memset(mine, 0, sizeof mine);
    for (int i = group; i < o->count; i++) {
        if (o->group[i] != group) continue;
        const int64_t lanes = o->buffer[i].lanes;
        o->offset[i] = offset + o->delta[i];
        o->lane[i] = lane;
        for (int t = 0; t < MOMENTS; t++)
            for (int64_t l = lane; l < lane + lanes; l++)
                mine[t][l] |= o->bytes[i][t] << o->offset[i];
    }
    if (o->in_place_count > 0) {
        if (group_collides(o, group)) return false;
        set_placed(o, group, true);
        return kept_apart(o);
    }
    for (int t = 0; t < MOMENTS; t++)
        for (int l = 0; l < o->lanes; l++)
            if (mine[t][l] & o->painted[t][l]) return false;
    for (int t = 0; t < MOMENTS; t++)
        for (int l = 0; l < o->lanes; l++) o->painted[t][l] |= mine[t][l];
    set_placed(o, group, true);
    return kept_apart(o);
}

static bool group_is_pinned(const oracle *o, int group) {
    for (int i = group; i < o->count; i++)
        if (o->group[i] == group && o->buffer[i].pinned) return true;
    return false;
}

/* A group that is not placed, pins first, then the largest; -1: none is left. */
static int next_group(const oracle *o) {
    int found = -1;
    for (int i = 0; i < o->count; i++) {
        if (o->group[i] != i || o->placed[i]) continue;
        if (found < 0 || o->urgency[i] > o->urgency[found]) found = i;
    }
    return found;
}

static bool group_allowed(const oracle *o, int group, int64_t offset, int64_t lane) {
    for (int i = group; i < o->count; i++)
        if (o->group[i] == group && !member_allowed(o, i, offset + o->delta[i], lane)) return false;
    return true;
}

static bool place_rest(oracle *o, bool pins_only) {
    const int group = next_group(o);
    if (group < 0 || (pins_only && !group_is_pinned(o, group))) return true;
    for (int64_t offset = 0; offset <= o->height; offset++) {
        for (int64_t lane = 0; lane < o->lanes; lane++) {
            if (!group_allowed(o, group, offset, lane)) continue;
            uint64_t saved[MOMENTS][LANES];
            memcpy(saved, o->painted, sizeof saved);
            if (paint(o, group, offset, lane) && place_rest(o, pins_only)) return true;
            memcpy(o->painted, saved, sizeof saved);
            set_placed(o, group, false);
        }
    }
    return false;
}

/* The bytes of a moment, each piece rounded up, over the lanes among which they may be divided. */
static int load_at(const oracle *o, int t, int rounding, int lanes) {
    int sum = 0;
    for (int group = 0; group < o->count; group++) {
        uint64_t used[LANES] = {0}; /* aliases may share their bytes */
        for (int i = group; i < o->count; i++) {
            if (o->group[i] != group || o->bytes[i][t] == 0) continue;
            const int from = __builtin_ctzll(o->bytes[i][t]);
            const int bytes = __builtin_popcountll(o->bytes[i][t]);
            const int mine = (bytes + rounding - 1) / rounding * rounding;
            for (int l = 0; l < (lanes == 1 ? 1 : (int)o->buffer[i].lanes); l++)
                used[l] |= bits(from + o->delta[i], from + o->delta[i] + mine);
        }
        for (int l = 0; l < LANES; l++) sum += __builtin_popcountll(used[l]);
    }
    return (sum + lanes - 1) / lanes;
}

/* Bytes that may be shared at a moment, at most. */
static int shared_at(const oracle *o, int t) {
    int64_t most[BUFFERS] = {0}; /* of an output, with one of its inputs */
    int64_t sum = 0;
    for (int k = 0; k < o->in_place_count; k++) {
        const int i = o->in_place[k][0];
        const int j = o->in_place[k][1];
        if (!o->may_share[i][j] || o->bytes[i][t] == 0 || o->bytes[j][t] == 0) continue;
        most[i] = spad__max(most[i], spad__min(o->buffer[i].size, o->buffer[j].size));
    }
    for (int i = 0; i < o->count; i++) sum += most[i];
    return (int)sum;
}

/* A height below which there is no use in trying: the bytes of some moment. */
static int crowd(const oracle *o, int lanes) {
    int most = 0;
    for (int t = 0; t < MOMENTS; t++) {
        const int load = load_at(o, t, 1, lanes) - shared_at(o, t);
        if (load > most) most = load;
    }
    return most;
}

static void look_at_buffers(oracle *o) {
    o->lanes = o->space == NULL ? 1 : (int)o->space->lanes;
    memset(o->urgency, 0, sizeof o->urgency);
    for (int i = 0; i < o->count; i++) {
        const spad_plan_buffer *b = &o->buffer[i];
        o->urgency[o->group[i]] += (int)((b->upper - b->lower) * b->size * b->lanes);
        if (b->pinned) o->urgency[o->group[i]] += 1 << 20;
        for (int t = 0; t < MOMENTS; t++) o->bytes[i][t] = bytes_at(b, t);
    }
}

static void wipe(oracle *o) {
    memset(o->painted, 0, sizeof o->painted);
    memset(o->placed, 0, sizeof o->placed);
}

enum { IMPOSSIBLE = -1, TOO_TALL = -2 };

/* An alias group for which no lane is legal. */
static bool some_group_has_no_lane(const oracle *o) {
    for (int group = 0; group < o->count; group++) {
        bool any = o->group[group] != group;
        for (int64_t lane = 0; lane < o->lanes && !any; lane++) {
            bool legal = true;
            for (int i = group; i < o->count; i++)
                if (o->group[i] == group && o->space != NULL)
                    legal = legal && start_lane_allowed(o->space, o->buffer[i].lanes, lane);
            any = legal;
        }
        if (!any) return true;
    }
    return false;
}

/* Two of one group that share bytes wherever it is: they start at one lane. */
static bool overlap_in_group(const oracle *o, int i, int j) {
    return o->group[i] == o->group[j] && o->buffer[i].size > 0 && o->buffer[j].size > 0 &&
           o->delta[i] < o->delta[j] + o->buffer[j].size &&
           o->delta[j] < o->delta[i] + o->buffer[i].size;
}

/* The lowest height, or IMPOSSIBLE, or TOO_TALL for a word. */
static int lowest_height(oracle *o) {
    look_at_buffers(o);
    for (int k = 0; k < o->pair_count; k++)
        if (overlap_in_group(o, o->apart[k][0], o->apart[k][1])) return IMPOSSIBLE;
    if (o->contradiction || some_group_has_no_lane(o)) return IMPOSSIBLE;
    /* what is not pinned fits above the pins, so only they can be impossible */
    o->height = TALLEST;
    wipe(o);
    if (!place_rest(o, true)) return IMPOSSIBLE;
    for (o->height = crowd(o, o->lanes); o->height <= TALLEST; o->height++) {
        wipe(o);
        if (place_rest(o, false)) return o->height;
    }
    return TOO_TALL;
}

/* The height of a plan that obeys every rule but a capacity; -1: it does not. */
static int height_of_plan(oracle *o, const spad_plan_place *places, int64_t byte) {
    int height = 0;
    o->height = TALLEST;
    wipe(o);
    for (int i = 0; i < o->count; i++) {
        const int group = o->group[i];
        if (places[i].offset - places[group].offset != (o->delta[i] - o->delta[group]) * byte ||
            places[i].lane != places[group].lane)
            return -1;
        if (places[i].offset % byte != 0 || places[i].offset < 0 || places[i].lane < 0 ||
            places[i].lane >= o->lanes || places[i].offset / byte + o->buffer[i].size > TALLEST)
            return -1;
        const int top = (int)(places[i].offset / byte + o->buffer[i].size);
        if (top > height) height = top;
        if (group != i) continue;
        const int64_t offset = places[i].offset / byte - o->delta[i];
        if (!group_allowed(o, i, offset, places[i].lane)) return -1;
        if (!paint(o, i, offset, places[i].lane)) return -1;
    }
    return height;
}

/* ---- random problems --------------------------------------------------------------- */

static const int64_t any_start[] = {0, 1, 2, 3};
static const int64_t even_start[] = {0, 2};
static const int64_t odd_start[] = {3, 1};
static const int64_t second_start[] = {1};
static const spad_lane_rule even_rules[] = {{1, 1, 4, any_start}, {2, 4, 2, even_start}};
/* nothing of one or two lanes starts at lane 0 */
static const spad_lane_rule odd_rules[] = {
    {1, 1, 2, odd_start}, {2, 2, 1, second_start}, {3, 4, 2, even_start}};

typedef struct kinds {
    bool alignment, pins, gaps, aliases, aparts, lanes, ruled, banks, moved, large, hints;
    bool slices, in_place;
    bool same;  /* one alignment for all */
    bool space; /* with rules of its own */
    bool csv;
} kinds;

static kinds random_kinds(spad__random *random) {
    kinds k = {0};
    k.moved = spad__random_below(random, 4) == 0;
    k.large = spad__random_below(random, 4) == 0;
    k.csv = spad__random_below(random, 2) == 0;
    k.same = spad__random_below(random, 2) == 0;
    k.space = spad__random_below(random, 4) == 0;
    if (only_lanes && spad__random_below(random, 4) > 0) {
        k.lanes = true;
        k.ruled = spad__random_below(random, 3) > 0;
        k.alignment = spad__random_below(random, 2) == 0;
        return k;
    }
    if (spad__random_below(random, 3) == 0) return k; /* plain */
    bool *const flags[] = {&k.alignment, &k.pins,  &k.gaps,  &k.aliases, &k.aparts,  &k.lanes,
                           &k.ruled,     &k.banks, &k.hints, &k.slices,  &k.in_place};
    for (size_t i = 0; i < sizeof flags / sizeof *flags; i++)
        *flags[i] = spad__random_below(random, 3) == 0;
    k.lanes = k.lanes || only_lanes;
    return k;
}

static void random_gaps(spad__random *random, spad_plan_buffer *b, spad_plan_gap *gaps) {
    int64_t from = b->lower;
    b->gaps = gaps;
    while (b->gap_count < MOST_GAPS && from < b->upper && spad__random_below(random, 3) > 0) {
        spad_plan_gap *gap = &gaps[b->gap_count++];
        gap->lower = spad__random_in(random, from, b->upper - 1);
        gap->upper = spad__random_in(random, gap->lower + 1, b->upper);
        gap->window_lower = spad__random_in(random, 0, b->size);
        gap->window_upper = spad__random_in(random, gap->window_lower, b->size);
        from = gap->upper;
    }
}

static spad_plan_buffer random_buffer(spad__random *random, const kinds *k, int64_t same,
                                      spad_plan_gap *gaps) {
    static const int64_t alignments[] = {1, 2, 4, 3, 6};
    static const int64_t banks[] = {8, 6, 12, 16};
    spad_plan_buffer b = {.lower = spad__random_in(random, 0, MOMENTS - 1)};
    b.upper = spad__random_in(random, b.lower + 1, MOMENTS);
    b.size = spad__random_in(random, spad__random_below(random, 16) == 0 ? 0 : 1, 5);
    if (k->alignment) b.alignment = k->same ? same : alignments[spad__random_below(random, 5)];
    if (k->lanes) b.lanes = spad__random_in(random, 0, LANES);
    if (k->banks && spad__random_below(random, 2) == 0)
        b.bank = banks[spad__random_below(random, 4)];
    if (k->pins && spad__random_below(random, 4) == 0) {
        b.pinned = true;
        b.offset = spad__random_in(random, 0, 8) / 4 * 4;
        b.lane = k->lanes ? spad__random_in(random, 0, 1) : 0;
    }
    if (k->hints && spad__random_below(random, 2) == 0) {
        b.hinted = true;
        b.hint = spad__random_in(random, 0, 12);
    }
    if (k->gaps && b.upper - b.lower > 1) random_gaps(random, &b, gaps);
    return b;
}

static spad_space random_space(spad__random *random, const kinds *k) {
    const bool odd = spad__random_below(random, 2) == 0;
    spad_space space = {.name = "test",
                        .lanes = k->lanes ? LANES : 1,
                        .bytes = SPAD_UNBOUNDED,
                        .alignment = 1,
                        .granule = 1};
    if (k->lanes && k->ruled) {
        space.lane_rule_count = odd ? 3 : 2;
        space.lane_rules = odd ? odd_rules : even_rules;
    }
    if (!k->space) return space;
    space.alignment = INT64_C(1) << spad__random_below(random, 3);
    space.granule = spad__random_in(random, 1, 3);
    space.power_of_two = spad__random_below(random, 3) == 0;
    space.bank_bytes = INT64_C(8) << spad__random_below(random, 2);
    space.banks_exclusive = spad__random_below(random, 3) == 0;
    space.reserved = spad__random_in(random, 0, 3);
    return space;
}

/* What zero means, and the rules that a space has for every buffer. */
static spad_plan_buffer completed(spad_plan_buffer b, const spad_space *space) {
    if (b.lanes == 0) b.lanes = 1;
    if (b.alignment == 0) b.alignment = 1;
    if (space != NULL) {
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

/* How the planner sees times and bytes. */
typedef struct scale {
    int64_t time_base;
    int64_t time_step;
    int64_t byte;
} scale;

static scale random_scale(spad__random *random, const kinds *k) {
    scale s = {0, 1, 1};
    if (k->moved) {
        s.time_step = INT64_C(1) << spad__random_below(random, 58);
        s.time_base = -spad__random_in(random, 0, MOMENTS) * s.time_step - 3;
    }
    if (k->large) s.byte = spad__random_in(random, 1, INT64_C(1) << spad__random_below(random, 50));
    return s;
}

static spad_plan_buffer scaled(spad_plan_buffer b, const scale *s, spad_plan_gap *gaps) {
    b.lower = s->time_base + b.lower * s->time_step;
    b.upper = s->time_base + b.upper * s->time_step;
    b.size *= s->byte;
    b.alignment *= s->byte;
    b.bank *= s->byte;
    b.offset *= s->byte;
    b.hint *= s->byte;
    for (size_t i = 0; i < b.gap_count; i++)
        gaps[i] =
            (spad_plan_gap){s->time_base + b.gaps[i].lower * s->time_step,
                            s->time_base + b.gaps[i].upper * s->time_step,
                            b.gaps[i].window_lower * s->byte, b.gaps[i].window_upper * s->byte};
    b.gaps = gaps;
    return b;
}

static spad_space scaled_space(spad_space space, const scale *s) {
    space.alignment *= s->byte;
    space.granule *= s->byte;
    space.bank_bytes *= s->byte;
    space.reserved *= s->byte;
    return space;
}

/* Puts b at a + distance, with the groups of both. */
static void join_groups(oracle *o, int a, int b, int64_t distance) {
    const int low = o->group[a] < o->group[b] ? o->group[a] : o->group[b];
    const int old_a = o->group[a];
    const int old_b = o->group[b];
    const int64_t move = o->delta[a] + distance - o->delta[b];
    if (old_a == old_b) {
        if (move != 0) o->contradiction = true;
        return;
    }
    int64_t lowest = 0;
    for (int i = 0; i < o->count; i++) {
        if (o->group[i] == old_b) o->delta[i] += move;
        if (o->group[i] == old_a || o->group[i] == old_b) o->group[i] = low;
        if (o->group[i] == low && o->delta[i] < lowest) lowest = o->delta[i];
    }
    for (int i = 0; i < o->count; i++)
        if (o->group[i] == low) o->delta[i] -= lowest;
}

/* The same problem for both. given: the buffers as the planner gets them. */
typedef struct instance {
    oracle o;
    kinds k;
    scale s;
    spad_space small;
    spad_space large;
    spad_space limited; /* with the capacity of a problem that is read back */
    spad_plan_buffer given[BUFFERS];
    spad_plan_gap gaps[BUFFERS][MOST_GAPS];
    int alias_group[BUFFERS]; /* without slices */
} instance;

/* As many as the oracle can try in a short time. */
static int most_buffers(const kinds *k) {
    const bool others = k->pins || k->gaps || k->aliases || k->aparts || k->banks || k->space ||
                        k->slices || k->in_place;
    if (!k->lanes) return k->in_place ? WITH_IN_PLACE : BUFFERS;
    return only_lanes && !others ? MORE_ON_LANES : FEWER;
}

static void random_buffers(instance *in, spad_plan *plan, spad__random *random) {
    oracle *o = &in->o;
    spad_error error;
    const int wanted = (int)spad__random_in(random, 1, most_buffers(&in->k));
    const int64_t same = spad__random_in(random, 2, 6);
    for (int tries = 0; tries < wanted; tries++) {
        const int n = o->count;
        const spad_plan_buffer b = random_buffer(random, &in->k, same, o->gaps[n]);
        in->given[n] = scaled(b, &in->s, in->gaps[n]);
        /* refused: pins off an alignment or a start lane, alignments and banks that do not nest */
        if (spad_plan_add(NULL, plan, &in->given[n], &error) != SPAD_OK) continue;
        o->buffer[n] = completed(b, o->space);
        o->group[n] = n;
        o->count++;
    }
}

static bool random_pair(spad__random *random, int count, int *a, int *b) {
    *a = (int)spad__random_below(random, (uint64_t)count);
    *b = (int)spad__random_below(random, (uint64_t)count);
    return *a != *b;
}

static void random_slices(instance *in, spad_plan *plan, spad__random *random) {
    oracle *o = &in->o;
    spad_error error;
    int a;
    int b;
    for (int n = 0; in->k.slices && o->count > 1 && n < 6 && o->slice_count < 3; n++) {
        if (!random_pair(random, o->count, &a, &b)) continue;
        const int64_t at = spad__random_in(random, 0, 4);
        /* refused: not inside, off its alignment, other banks */
        if (spad_plan_slice(plan, (size_t)a, (size_t)b, at * in->s.byte, &error) != SPAD_OK)
            continue;
        join_groups(o, b, a, at);
        o->slice[o->slice_count][0] = a;
        o->slice[o->slice_count][1] = b;
        o->slice_at[o->slice_count++] = at;
    }
}

static void random_in_place(instance *in, spad_plan *plan, spad__random *random) {
    oracle *o = &in->o;
    spad_error error;
    int a;
    int b;
    for (int n = 0; in->k.in_place && o->count > 1 && n < 12 && o->in_place_count < 6; n++) {
        if (!random_pair(random, o->count, &a, &b)) continue;
        const spad_plan_buffer *output = &in->given[a];
        const spad_plan_buffer *input = &in->given[b];
        const bool dies = input->lower <= output->lower && input->upper <= output->lower + 1;
        if (!dies && n % 4 != 0) continue; /* a few that have no effect */
        assert_ok(spad_plan_in_place(plan, (size_t)a, (size_t)b, &error), &error);
        if (dies) o->may_share[a][b] = o->may_share[b][a] = o->any_effect = true;
        o->in_place[o->in_place_count][0] = a;
        o->in_place[o->in_place_count++][1] = b;
    }
}

static void random_problem(instance *in, spad_plan *plan, spad__random *random) {
    oracle *o = &in->o;
    spad_error error;
    int a;
    int b;
    random_buffers(in, plan, random);
    for (int n = 0; in->k.aliases && o->count > 1 && n < 2; n++) {
        if (!random_pair(random, o->count, &a, &b)) continue;
        if (spad_plan_alias(plan, (size_t)a, (size_t)b, &error) == SPAD_OK) join_groups(o, a, b, 0);
    }
    memcpy(in->alias_group, o->group, sizeof in->alias_group);
    random_slices(in, plan, random);
    random_in_place(in, plan, random);
    for (int n = 0; in->k.aparts && o->count > 1 && n < 2; n++) {
        if (!random_pair(random, o->count, &a, &b)) continue;
        assert_ok(spad_plan_apart(plan, (size_t)a, (size_t)b, &error), &error);
        o->apart[o->pair_count][0] = a;
        o->apart[o->pair_count++][1] = b;
    }
}

/* ---- as CSV ------------------------------------------------------------------------ */

#define HEADER \
    "lower,id,size,upper,alignment,hint,gaps,offset,lane,lanes,bank,slice,in_place,alias,apart\n"

typedef struct page {
    char text[TEXT];
    size_t used;
} page;

SPAD_PRINTF(2, 3) static void put(page *p, const char *format, ...) {
    va_list arguments;
    va_start(arguments, format);
    const int more = vsnprintf(p->text + p->used, TEXT - p->used, format, arguments);
    va_end(arguments);
    assert_true(more >= 0 && (size_t)more < TEXT - p->used);
    p->used += (size_t)more;
}

static void put_gaps(page *p, const spad_plan_buffer *b) {
    for (size_t k = 0; k < b->gap_count; k++) {
        const spad_plan_gap *gap = &b->gaps[k];
        put(p, "%s%lld-%lld", k > 0 ? " " : "", (long long)gap->lower, (long long)gap->upper);
        if (gap->window_lower == gap->window_upper) continue;
        put(p, "@%lld:%lld", (long long)gap->window_lower, (long long)gap->window_upper);
    }
}

static void put_row(page *p, const instance *in, int i) {
    const spad_plan_buffer *b = &in->given[i];
    put(p, "%lld,b%d,%lld,%lld,", (long long)b->lower, i, (long long)b->size, (long long)b->upper);
    if (b->alignment > 0) put(p, "%lld", (long long)b->alignment);
    put(p, ",%lld,", b->hinted ? (long long)b->hint : -1LL);
    put_gaps(p, b);
    put(p, b->pinned ? ",%lld,%lld," : ",-1,,", (long long)b->offset, (long long)b->lane);
    if (b->lanes > 0) put(p, "%lld", (long long)b->lanes);
    put(p, ",");
    if (b->bank > 0) put(p, "%lld", (long long)b->bank);
    put(p, ",");
    for (int k = 0; k < in->o.slice_count; k++)
        if (in->o.slice[k][0] == i)
            put(p, " b%d@%lld", in->o.slice[k][1], (long long)(in->o.slice_at[k] * in->s.byte));
    put(p, ",");
    for (int k = 0; k < in->o.in_place_count; k++)
        if (in->o.in_place[k][0] == i) put(p, " b%d", in->o.in_place[k][1]);
    put(p, ",group%d,", in->alias_group[i]);
    for (int k = 0; k < in->o.pair_count; k++)
        if (in->o.apart[k][0] == i) put(p, " b%d", in->o.apart[k][1]);
    put(p, "\n");
}

/* The problem as CSV in a space of a capacity; NULL: refused, as the pairs of an alias group
 * are others there, and with a pin above the capacity. */
static spad_plan *read_back(instance *in, int64_t capacity) {
    page p = {.used = 0};
    spad_error error;
    spad_plan *plan;
    in->limited = in->large;
    if (capacity != SPAD_UNBOUNDED) in->limited.bytes = capacity + in->large.reserved;
    assert_ok(spad_plan_create(&plan, NULL, &error), &error);
    if (in->o.space != NULL) assert_ok(spad_plan_set_space(plan, &in->limited, &error), &error);
    put(&p, "%s", HEADER);
    for (int i = 0; i < in->o.count; i++) put_row(&p, in, i);
    const spad_status status = spad_plan_read_csv(plan, p.text, p.used, "p.csv", NULL, &error);
    if (status == SPAD_OK) {
        if (in->o.space == NULL) assert_ok(spad_plan_set_capacity(plan, capacity, &error), &error);
        return plan;
    }
    spad_plan_destroy(plan);
    const bool above = status == SPAD_ERR_BOUNDS && capacity != SPAD_UNBOUNDED;
    if (!above && !(status == SPAD_ERR_ALIGNMENT && (in->k.aliases || in->k.slices)))
        fail_msg("%s\n%s", error.message, p.text);
    return NULL;
}

/* ---- the comparison ---------------------------------------------------------------- */

/* Whether the planner takes the problem at all: it refuses groups whose banks do not nest. */
static bool is_taken(const spad_plan *plan) {
    spad_error error;
    spad_plan_result *result;
    const spad_plan_options options = {.node_limit = 1};
    const spad_status status = spad_plan_solve(&result, plan, &options, &error);
    spad_plan_result_destroy(result);
    assert_true(status == SPAD_OK || status == SPAD_ERR_ALIGNMENT);
    return status == SPAD_OK;
}

/* What divides the first byte of every piece, wherever it is: sizes count as rounded up to it in
 * the bound. Without windows: what divides the first byte of every item, which is at least that. */
static int64_t largest_divisor(int64_t a, int64_t b) {
    return b == 0 ? a : largest_divisor(b, a % b);
}

static int common_grain(const oracle *o, bool windows) {
    int64_t common = 0;
    for (int group = 0; group < o->count; group++) {
        if (o->group[group] != group) continue;
        int64_t mine = 1;
        bool bytes = false;
        for (int i = group; i < o->count; i++) {
            if (o->group[i] != group) continue;
            const int64_t step = mine;
            while (mine % o->buffer[i].alignment != 0) mine += step;
            for (int t = 0; t < MOMENTS; t++) {
                if (o->bytes[i][t] == 0) continue;
                bytes = true;
                if (windows)
                    common = largest_divisor(common, __builtin_ctzll(o->bytes[i][t]) + o->delta[i]);
            }
        }
        if (bytes) common = largest_divisor(common, mine);
    }
    return common == 0 ? 1 : (int)common;
}

static int64_t in_place_results; /* optimal, with pairs that have an effect */
static int64_t by_lanes;         /* results of which the lanes prove the bound */

/* The moment of the oracle at a time of the planner. */
static int moment_of(const instance *in, int64_t time) {
    return (int)((time - in->s.time_base) / in->s.time_step);
}

/* The lowest height of the buffers of one moment, with no rule between them but the lanes. */
static int height_of_moment(const oracle *all, int moment) {
    oracle o = *all;
    o.pair_count = 0;
    for (int i = 0; i < o.count; i++) {
        spad_plan_buffer *b = &o.buffer[i];
        b->pinned = false;
        b->bank = 0;
        if (all->bytes[i][moment] == 0) b->size = 0;
        b->lower = spad__max(b->lower, moment);
        b->upper = spad__min(b->upper, moment + 1);
        b->gaps = o.gaps[i];
    }
    return lowest_height(&o);
}

/* Is the bound what its proof says, and the peak where it should be? */
static void check_proof(const instance *in, const spad_plan_result *r, int64_t lowest) {
    const oracle *o = &in->o;
    const int64_t byte = in->s.byte;
    const int lanes = (int)r->peak_lanes;
    if (o->in_place_count > 0) { /* then loads have no simple form */
        assert_true(r->clash != SPAD_PLAN_NO_CLASH || r->bound <= lowest);
        in_place_results += r->verdict == SPAD_PLAN_OPTIMAL && o->any_effect;
        return;
    }
    if (o->contradiction) return;     /* nor where nothing has a place */
    const bool any = crowd(o, 1) > 0; /* bytes at some moment */
    const int peak = any ? moment_of(in, r->peak_time) : 0;
    assert_in_range(peak, 0, MOMENTS - 1);
    assert_true(lanes == 1 || lanes == o->lanes);
    assert_int_equal(r->peak_load, byte == 1 || lanes == 1
                                       ? load_at(o, peak, 1, lanes) * byte
                                       : r->peak_load); /* averages are rounded in bytes */
    if (lanes == 1) assert_int_equal(r->peak_load, crowd(o, 1) * byte);
    if (r->clash != SPAD_PLAN_NO_CLASH) return;
    assert_true(r->bound <= lowest);
    assert_true(r->bound >= r->peak_load);
    if (r->proof == SPAD_PLAN_BY_LOAD && any) {
        const int moment = moment_of(in, r->bound_time);
        const int grain = lanes == 1 ? common_grain(o, false) : 1;
        assert_true(r->bound <= load_at(o, moment, grain, lanes) * byte);
    }
    if (lanes == 1 && any) { /* rounding counts, less that of one piece, at every moment */
        const int grain = common_grain(o, true);
        for (int t = 0; t < MOMENTS; t++)
            assert_true(r->bound > (load_at(o, t, grain, 1) - grain) * byte);
    }
    if (r->proof == SPAD_PLAN_BY_LOAD) {
        return;
    } else if (r->proof == SPAD_PLAN_BY_BUFFER) {
        const spad_plan_buffer *b = &o->buffer[r->bound_buffer];
        int64_t offset = 0;
        for (int i = 0; i < o->count; i++)
            if (o->group[i] == o->group[r->bound_buffer] && o->buffer[i].pinned)
                offset = o->buffer[i].offset - o->delta[i];
        assert_int_equal(r->bound, (offset + o->delta[r->bound_buffer] + b->size) * byte);
    } else if (r->proof == SPAD_PLAN_BY_LANES) {
        by_lanes++;
        assert_true(r->bound <= height_of_moment(o, moment_of(in, r->bound_time)) * byte);
    } else if (r->proof == SPAD_PLAN_BY_SEARCH) {
        assert_true(r->nodes > 0);
    }
}

/* What holds whatever limits there were. */
static void check_result(instance *in, const spad_plan *plan, const spad_plan_result *r,
                         int64_t lowest) {
    const int64_t capacity = spad_plan_get_capacity(plan);
    const bool fits = lowest >= 0 && lowest <= capacity;
    spad_error error;
    check_proof(in, r, lowest);
    assert_int_equal(r->count, in->o.count);
    assert_true((r->clash != SPAD_PLAN_NO_CLASH) == (lowest < 0));
    if (r->verdict == SPAD_PLAN_INFEASIBLE) assert_false(fits);
    if (r->verdict == SPAD_PLAN_OPTIMAL) assert_int_equal(r->height, lowest);
    if (r->verdict <= SPAD_PLAN_FEASIBLE) {
        assert_true(fits && r->height <= capacity);
        assert_ok(spad_plan_check(NULL, plan, r->places, r->count, &error), &error);
    }
    assert_true((r->places == NULL) == (r->height == SPAD_UNBOUNDED));
    if (r->places == NULL) return;
    assert_true(r->height >= lowest);
    /* a plan above the capacity may be too tall for a word */
    if (r->height > TALLEST * in->s.byte) return;
    assert_int_equal(height_of_plan(&in->o, r->places, in->s.byte) * in->s.byte, r->height);
}

static void solve_and_compare(instance *in, const spad_plan *plan, spad_plan_goal goal,
                              int64_t lowest) {
    const spad_plan_options options = {.goal = goal, .seed = 1};
    const int64_t capacity = spad_plan_get_capacity(plan);
    spad_error error;
    spad_plan_result *r;
    assert_ok(spad_plan_solve(&r, plan, &options, &error), &error);
    check_result(in, plan, r, lowest);
    if (lowest < 0 || capacity < lowest) {
        assert_int_equal(r->verdict, SPAD_PLAN_INFEASIBLE);
        assert_true(lowest < 0 || r->bound > capacity);
    } else if (goal == SPAD_PLAN_MINIMIZE) {
        assert_int_equal(r->verdict, SPAD_PLAN_OPTIMAL);
        assert_int_equal(r->bound, lowest);
    } else {
        assert_true(r->verdict <= SPAD_PLAN_FEASIBLE);
    }
    spad_plan_result_destroy(r);
}

/* With few nodes nothing need be found, but the verdict must be right. */
static void solve_with_few_nodes(instance *in, const spad_plan *plan, int64_t nodes,
                                 int64_t lowest) {
    const spad_plan_options options = {.node_limit = nodes, .seed = (uint64_t)nodes};
    spad_error error;
    spad_plan_result *r;
    assert_ok(spad_plan_solve(&r, plan, &options, &error), &error);
    check_result(in, plan, r, lowest);
    assert_true(r->nodes <= nodes);
    spad_plan_result_destroy(r);
}

/* Capacities around the lowest height, for both goals; lowest > 0. */
static void compare_capacities(instance *in, spad_plan *plan, int64_t lowest, int64_t more) {
    spad_error error;
    const int64_t capacities[] = {lowest - 1, lowest, lowest + more};
    for (int n = 0; n < 3; n++) {
        assert_ok(spad_plan_set_capacity(plan, capacities[n], &error), &error);
        solve_and_compare(in, plan, SPAD_PLAN_DECIDE, lowest);
        if (n == 0 || more % 4 == 0) solve_and_compare(in, plan, SPAD_PLAN_MINIMIZE, lowest);
        if (n > 0) continue;
        spad_plan *again = in->k.csv ? read_back(in, capacities[n]) : NULL;
        if (again != NULL) solve_and_compare(in, again, SPAD_PLAN_MINIMIZE, lowest);
        spad_plan_destroy(again);
    }
}

/* Solves one problem and compares; returns the verdict of the oracle. */
static int compare_one(instance *in, spad__random *random) {
    in->small = random_space(random, &in->k);
    in->s = random_scale(random, &in->k);
    in->large = scaled_space(in->small, &in->s);
    in->o.space = in->k.lanes || in->k.space ? &in->small : NULL;
    spad_error error;
    spad_plan *plan;
    assert_ok(spad_plan_create(&plan, NULL, &error), &error);
    if (in->o.space != NULL) assert_ok(spad_plan_set_space(plan, &in->large, &error), &error);
    random_problem(in, plan, random);
    const int lowest = is_taken(plan) ? lowest_height(&in->o) : TOO_TALL;
    const int64_t height = lowest < 0 ? lowest : lowest * in->s.byte;
    const int64_t few = spad__random_in(random, 1, 20);
    if (lowest != TOO_TALL) {
        solve_and_compare(in, plan, SPAD_PLAN_MINIMIZE, height);
        solve_with_few_nodes(in, plan, few, height);
        spad_plan *again = in->k.csv ? read_back(in, SPAD_UNBOUNDED) : NULL;
        if (again != NULL) solve_and_compare(in, again, SPAD_PLAN_MINIMIZE, height);
        spad_plan_destroy(again);
    }
    if (lowest > 0) compare_capacities(in, plan, height, few * in->s.byte);
    spad_plan_destroy(plan);
    return lowest;
}

typedef struct comparison {
    instance in;
    int64_t number;
} comparison;

static void write_problem(page *p, const instance *in) {
    if (in->o.space != NULL)
        put(p, "# lanes %d, alignment %d, granule %d, power of two %d, banks %d (%d), rules %d\n",
            (int)in->small.lanes, (int)in->small.alignment, (int)in->small.granule,
            in->small.power_of_two, (int)in->small.bank_bytes, in->small.banks_exclusive,
            (int)in->small.lane_rule_count);
    put(p, "%s", HEADER);
    for (int i = 0; i < in->o.count; i++) put_row(p, in, i);
}

/* Shows the problem at which the comparison has stopped. */
static int show_last(void **state) {
    const comparison *c = *state;
    page p = {.used = 0};
    if (c == NULL) return 0;
    write_problem(&p, &c->in);
    fprintf(stderr, "problem %lld of seed %llu:\n%s", (long long)c->number,
            (unsigned long long)seed, p.text);
    return 0;
}

static void plans_agree_with_brute_force(void **state) {
    static comparison c; /* outlives a failed assertion */
    spad__random random = {seed};
    int64_t impossible = 0;
    int64_t skipped = 0;
    *state = &c;
    for (c.number = 0; c.number < problems; c.number++) {
        c.in = (instance){.k = random_kinds(&random)};
        const int lowest = compare_one(&c.in, &random);
        impossible += lowest == IMPOSSIBLE;
        skipped += lowest == TOO_TALL;
    }
    *state = NULL;
    if (problems < LEAST_TO_COUNT) return;
    assert_true(by_lanes > problems / 100);
    assert_true(in_place_results > problems / 100);
    assert_true(impossible > problems / 1000); /* both verdicts were met */
    assert_true(skipped < problems / 20);
}

int main(int argc, char **argv) {
    if (argc > 1) problems = strtoll(argv[1], NULL, 10);
    if (argc > 2) seed = strtoull(argv[2], NULL, 10);
    only_lanes = argc > 3 && strcmp(argv[3], "lanes") == 0;
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_teardown(plans_agree_with_brute_force, show_last)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
