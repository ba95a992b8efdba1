/* SPDX-License-Identifier: Apache-2.0
 *
 * The planner against brute force: on a hundred thousand small problems with
 * every kind of rule mixed in, the height is the lowest one and "infeasible" is
 * said exactly when nothing fits.
 *
 * The oracle knows nothing of the planner: it tries every offset and lane of
 * every item and paints bytes into one word per moment and lane. It works on small numbers;
 * the planner gets the same problem with times moved and stretched, and bytes multiplied, which
 * changes neither the order of times nor the ratio of heights.
 */
#include <string.h>

#include "base/random.h"
#include "spad/plan.h"
#include "support/support.h"

enum {
    MOMENTS = 6,
    LANES = 4,
    BUFFERS = 8,
    FEWER = 4,
    MOST_GAPS = 2,
    TALLEST = 60, /* bits of a word that are painted */
    INSTANCES = 100000
};

/* ---- the oracle -------------------------------------------------------------------- */

typedef struct oracle {
    int count;
    spad_plan_buffer buffer[BUFFERS]; /* in small numbers */
    spad_plan_gap gaps[BUFFERS][MOST_GAPS];
    int group[BUFFERS]; /* alias group: the lowest buffer in it */
    int pair_count;
    int apart[2 * BUFFERS][2];
    int height;
    const spad_space *space; /* NULL: one lane */
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
    if (lane + lanes > LANES) return false;
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

/* Paints the group; false when bytes are taken. */
static bool paint(oracle *o, int group, int64_t offset, int64_t lane) {
    uint64_t mine[MOMENTS][LANES];
    memset(mine, 0, sizeof mine);
    for (int i = group; i < o->count; i++) {
        if (o->group[i] != group) continue;
        const int64_t lanes = o->buffer[i].lanes;
        o->offset[i] = offset;
        o->lane[i] = lane;
        for (int t = 0; t < MOMENTS; t++)
            for (int64_t l = lane; l < lane + lanes; l++) mine[t][l] |= o->bytes[i][t] << offset;
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
        if (o->group[i] == group && !member_allowed(o, i, offset, lane)) return false;
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

/* A height below which there is no use in trying: the bytes of some moment. */
static int crowd(const oracle *o) {
    int most = 0;
    for (int t = 0; t < MOMENTS; t++) {
        int sum = 0;
        for (int group = 0; group < o->count; group++) {
            int largest = 0; /* aliases may share their bytes */
            for (int i = group; i < o->count; i++) {
                if (o->group[i] != group) continue;
                const spad_plan_buffer *b = &o->buffer[i];
                const int mine = (int)b->lanes * __builtin_popcountll(o->bytes[i][t]);
                if (mine > largest) largest = mine;
            }
            sum += largest;
        }
        if (sum > most) most = sum;
    }
    return (most + o->lanes - 1) / o->lanes;
}

static void look_at_buffers(oracle *o) {
    o->lanes = o->space == NULL ? 1 : LANES;
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
        for (int64_t lane = 0; lane < LANES && !any; lane++) {
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

/* The lowest height, or IMPOSSIBLE, or TOO_TALL for a word. */
static int lowest_height(oracle *o) {
    for (int k = 0; k < o->pair_count; k++)
        if (o->group[o->apart[k][0]] == o->group[o->apart[k][1]] &&
            o->buffer[o->apart[k][0]].size > 0 && o->buffer[o->apart[k][1]].size > 0)
            return IMPOSSIBLE;
    if (some_group_has_no_lane(o)) return IMPOSSIBLE;
    /* what is not pinned fits above the pins, so only they can be impossible */
    o->height = TALLEST;
    look_at_buffers(o);
    wipe(o);
    if (!place_rest(o, true)) return IMPOSSIBLE;
    for (o->height = crowd(o); o->height <= TALLEST; o->height++) {
        wipe(o);
        if (place_rest(o, false)) return o->height;
    }
    return TOO_TALL;
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
} kinds;

static kinds random_kinds(spad__random *random) {
    kinds k = {0};
    k.moved = spad__random_below(random, 4) == 0;
    k.large = spad__random_below(random, 4) == 0;
    if (spad__random_below(random, 3) == 0) return k; /* plain */
    bool *const flags[] = {&k.alignment, &k.pins,  &k.gaps,  &k.aliases, &k.aparts,
                           &k.lanes,     &k.ruled, &k.banks, &k.hints};
    for (size_t i = 0; i < sizeof flags / sizeof *flags; i++)
        *flags[i] = spad__random_below(random, 3) == 0;
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

static spad_plan_buffer random_buffer(spad__random *random, const kinds *k, spad_plan_gap *gaps) {
    static const int64_t alignments[] = {1, 2, 4, 3, 6};
    static const int64_t banks[] = {8, 6, 12, 16};
    spad_plan_buffer b = {.lower = spad__random_in(random, 0, MOMENTS - 1), .lanes = 1};
    b.upper = spad__random_in(random, b.lower + 1, MOMENTS);
    b.size = spad__random_in(random, spad__random_below(random, 16) == 0 ? 0 : 1, 5);
    b.alignment = k->alignment ? alignments[spad__random_below(random, 5)] : 1;
    if (k->lanes) b.lanes = spad__random_in(random, 1, LANES);
    if (k->banks && b.size > 0 && spad__random_below(random, 2) == 0)
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

static void join_groups(oracle *o, int a, int b) {
    const int low = o->group[a] < o->group[b] ? o->group[a] : o->group[b];
    const int old_a = o->group[a];
    const int old_b = o->group[b];
    for (int i = 0; i < o->count; i++)
        if (o->group[i] == old_a || o->group[i] == old_b) o->group[i] = low;
}

static void random_problem(oracle *o, spad_plan *plan, const kinds *k, const scale *s,
                           spad__random *random) {
    spad_error error;
    const int wanted = (int)spad__random_in(random, 1, k->lanes ? FEWER : BUFFERS);
    for (int tries = 0; tries < wanted; tries++) {
        spad_plan_gap gaps[MOST_GAPS];
        o->buffer[o->count] = random_buffer(random, k, o->gaps[o->count]);
        const spad_plan_buffer b = scaled(o->buffer[o->count], s, gaps);
        /* refused: pins off an alignment or a start lane, alignments and banks that do not nest */
        if (spad_plan_add(NULL, plan, &b, &error) != SPAD_OK) continue;
        o->group[o->count] = o->count;
        o->count++;
    }
    for (int n = 0; k->aliases && o->count > 1 && n < 2; n++) {
        const int a = (int)spad__random_below(random, (uint64_t)o->count);
        const int b = (int)spad__random_below(random, (uint64_t)o->count);
        if (a == b || spad_plan_alias(plan, (size_t)a, (size_t)b, &error) != SPAD_OK) continue;
        join_groups(o, a, b);
    }
    for (int n = 0; k->aparts && o->count > 1 && n < 2; n++) {
        const int a = (int)spad__random_below(random, (uint64_t)o->count);
        const int b = (int)spad__random_below(random, (uint64_t)o->count);
        if (a == b) continue;
        assert_ok(spad_plan_apart(plan, (size_t)a, (size_t)b, &error), &error);
        o->apart[o->pair_count][0] = a;
        o->apart[o->pair_count++][1] = b;
    }
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

static void solve_and_compare(spad_plan *plan, spad_plan_goal goal, int64_t capacity,
                              int64_t lowest) {
    spad_error error;
    const spad_plan_options options = {.goal = goal, .seed = 1};
    spad_plan_result *result;
    assert_ok(spad_plan_set_capacity(plan, capacity, &error), &error);
    assert_ok(spad_plan_solve(&result, plan, &options, &error), &error);
    if (lowest < 0 || capacity < lowest) {
        assert_int_equal(result->verdict, SPAD_PLAN_INFEASIBLE);
        assert_true((lowest < 0) == (result->clash != SPAD_PLAN_NO_CLASH));
    } else {
        int64_t height;
        assert_true(result->verdict == SPAD_PLAN_OPTIMAL || goal == SPAD_PLAN_DECIDE);
        assert_true(result->verdict <= SPAD_PLAN_FEASIBLE);
        assert_ok(spad_plan_check(&height, plan, result->places, result->count, &error), &error);
        assert_int_equal(height, result->height);
        assert_true(height >= lowest && result->bound <= lowest);
        if (goal == SPAD_PLAN_MINIMIZE) assert_int_equal(height, lowest);
    }
    spad_plan_result_destroy(result);
}

/* Solves one problem and compares; returns what the oracle said. */
static int compare_one(const kinds *k, spad__random *random) {
    const bool odd = spad__random_below(random, 2) == 0;
    const spad_space space = {.name = "test",
                              .lanes = LANES,
                              .bytes = SPAD_UNBOUNDED,
                              .alignment = 1,
                              .granule = 1,
                              .lane_rule_count = !k->ruled ? 0
                                                 : odd     ? 3
                                                           : 2,
                              .lane_rules = odd ? odd_rules : even_rules};
    const scale s = random_scale(random, k);
    oracle o = {.space = k->lanes ? &space : NULL};
    spad_error error;
    spad_plan *plan;
    assert_ok(spad_plan_create(&plan, NULL, &error), &error);
    if (k->lanes) assert_ok(spad_plan_set_space(plan, &space, &error), &error);
    random_problem(&o, plan, k, &s, random);
    const int lowest = is_taken(plan) ? lowest_height(&o) : TOO_TALL;
    const int64_t height = lowest < 0 ? lowest : lowest * s.byte;
    if (lowest != TOO_TALL) solve_and_compare(plan, SPAD_PLAN_MINIMIZE, SPAD_UNBOUNDED, height);
    if (lowest > 0) {
        solve_and_compare(plan, SPAD_PLAN_DECIDE, height, height);
        solve_and_compare(plan, SPAD_PLAN_DECIDE, height - 1, height);
    }
    spad_plan_destroy(plan);
    return lowest;
}

static void heights_agree_with_brute_force(void **state) {
    (void)state;
    spad__random random = {2026};
    int impossible = 0;
    int skipped = 0;
    for (int n = 0; n < INSTANCES; n++) {
        const kinds k = random_kinds(&random);
        const int lowest = compare_one(&k, &random);
        impossible += lowest == IMPOSSIBLE;
        skipped += lowest == TOO_TALL;
    }
    assert_true(impossible > INSTANCES / 1000); /* both verdicts were met */
    assert_true(skipped < INSTANCES / 50);
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(heights_agree_with_brute_force)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
