/* SPDX-License-Identifier: Apache-2.0
 * Random problems in which every two rules meet; see rule_problem.h. */
#include "support/rule_problem.h"

#include <stdio.h>
#include <string.h>

#include "base/error.h"
#include "support/support.h"

const char *const rule_names[RULES] = {
#define RULE_TEXT_OF(name, text) text,
    RULE_LIST(RULE_TEXT_OF)
#undef RULE_TEXT_OF
};

/* ---- which rules go together ------------------------------------------------------- */

const char *rule_obstacle(rule a, rule b) {
    static const struct {
        rule a, b;
        const char *why;
    } obstacles[] = {
        {RULE_END, RULE_CLOCK, "a clock has no last moment: refused"},
        {RULE_CLOCK, RULE_GAP, "gaps need plain times: refused"},
        {RULE_CLOCK, RULE_WINDOW, "gaps need plain times: refused"},
        {RULE_CLOCK, RULE_IN_PLACE, "a clock has no last moment: refused"},
        {RULE_CLOCK, RULE_REUSE, "clocks have no steps between two lives: refused"},
        {RULE_PREVIOUS, RULE_SPACE, "soft constraints of options are for one memory: refused"},
        {RULE_REUSE, RULE_SPACE, "soft constraints of options are for one memory: refused"},
        {RULE_SLACK, RULE_SPACE, "soft constraints of options are for one memory: refused"},
    };
    for (size_t k = 0; k < sizeof obstacles / sizeof *obstacles; k++)
        if ((obstacles[k].a == a && obstacles[k].b == b) ||
            (obstacles[k].a == b && obstacles[k].b == a))
            return obstacles[k].why;
    return NULL;
}

/* What a rule needs in order to mean anything. */
static uint32_t rule_needs(rule r) {
    switch (r) {
    case RULE_LANE: return RULE_BIT(RULE_OFFSET) | RULE_BIT(RULE_LANES);
    case RULE_STARTS: return RULE_BIT(RULE_LANES);
    case RULE_INSIDE: return RULE_BIT(RULE_SLICE);
    case RULE_DECIDE: return RULE_BIT(RULE_CAPACITY);
    case RULE_SLACK: return RULE_BIT(RULE_PREVIOUS);
    default: return 0;
    }
}

static bool suits_all(uint32_t set, rule r) {
    for (int k = 0; k < RULES; k++)
        if ((set & RULE_BIT(k)) != 0 && rule_obstacle((rule)k, r) != NULL) return false;
    return true;
}

static bool include(uint32_t *set, rule r) {
    const uint32_t more = RULE_BIT(r) | rule_needs(r);
    for (int k = 0; k < RULES; k++)
        if ((more & RULE_BIT(k)) != 0 && !suits_all(*set, (rule)k)) return false;
    *set |= more;
    return true;
}

uint32_t rule_choose(spad__random *random) {
    uint32_t set = 0;
    rule a, b;
    do {
        a = (rule)spad__random_below(random, RULES);
        b = (rule)spad__random_below(random, RULES);
        set = 0;
    } while (a == b || !include(&set, a) || !include(&set, b));
    for (int k = 0; k < RULES; k++)
        if (spad__random_below(random, 12) == 0) (void)include(&set, (rule)k);
    return set;
}

/* ---- buffers ----------------------------------------------------------------------- */

static bool wants(const rule_problem *p, rule r) {
    return (p->wanted & RULE_BIT(r)) != 0;
}

/* Is a rule of a buffer tried for this one? */
static bool now(const rule_problem *p, rule r, spad__random *random) {
    return wants(p, r) && spad__random_below(random, 2) == 0;
}

static void random_life(rule_problem *p, spad_plan_buffer *b, int n, spad__random *random) {
    if (!wants(p, RULE_CLOCK)) {
        b->lower = spad__random_in(random, 0, RULE_MOMENTS - 1);
        b->upper = spad__random_in(random, b->lower + 1, RULE_MOMENTS);
        return;
    }
    for (int k = 0; k < RULE_CLOCKS; k++) {
        p->clocks[n][0][k] = spad__random_in(random, 0, 3);
        p->clocks[n][1][k] = p->clocks[n][0][k] + spad__random_in(random, k, 2);
    }
    b->clock_count = RULE_CLOCKS;
    b->lower_clock = p->clocks[n][0];
    b->upper_clock = p->clocks[n][1];
}

static void random_gaps(const rule_problem *p, spad_plan_buffer *b, spad_plan_gap *gaps,
                        spad__random *random) {
    int64_t from = b->lower;
    b->gaps = gaps;
    while (b->gap_count < RULE_GAPS && from < b->upper) {
        const bool window = now(p, RULE_WINDOW, random) && b->size > 0;
        if (!window && !now(p, RULE_GAP, random)) return;
        spad_plan_gap *gap = &gaps[b->gap_count++];
        *gap = (spad_plan_gap){.lower = spad__random_in(random, from, b->upper - 1)};
        gap->upper = spad__random_in(random, gap->lower + 1, b->upper);
        if (window) {
            gap->window_lower = spad__random_in(random, 0, b->size - 1);
            gap->window_upper = spad__random_in(random, gap->window_lower + 1, b->size);
        }
        from = gap->upper;
    }
}

static spad_plan_buffer random_row(rule_problem *p, int n, spad__random *random) {
    static const int64_t alignments[] = {2, 4, 3};
    static const int64_t banks[] = {4, 8, 6};
    spad_plan_buffer b = {0};
    random_life(p, &b, n, random);
    b.size = spad__random_in(random, 1, 4);
    if (wants(p, RULE_EMPTY) && spad__random_below(random, 3) == 0) b.size = 0;
    if (now(p, RULE_ALIGNMENT, random)) b.alignment = alignments[spad__random_below(random, 3)];
    if (now(p, RULE_LANES, random)) b.lanes = spad__random_in(random, 2, RULE_LANE_COUNT);
    if (now(p, RULE_BANK, random)) b.bank = banks[spad__random_below(random, 3)];
    if (now(p, RULE_OFFSET, random) && spad__random_below(random, 2) == 0) {
        b.pinned = true;
        b.offset = spad__random_in(random, 0, 3) * 4;
        if (now(p, RULE_LANE, random)) b.lane = spad__random_in(random, 1, 2);
    }
    if (now(p, RULE_HINT, random)) {
        b.hinted = true;
        b.hint = spad__random_in(random, 0, 10);
    }
    random_gaps(p, &b, p->gaps[n], random);
    return b;
}

static void random_space(rule_problem *p, const char *name, spad__random *random) {
    static const int64_t any[] = {0, 1, 2, 3};
    static const int64_t even[] = {0, 2};
    static const int64_t odd[] = {3, 1};
    static const spad_lane_rule even_rules[] = {{1, 1, 4, any}, {2, 4, 2, even}};
    static const spad_lane_rule odd_rules[] = {{1, 2, 2, odd}, {3, 4, 2, even}};
    static const rule rules[] = {RULE_LANES, RULE_STARTS, RULE_GRANULE,
                                 RULE_POWER, RULE_BANKS,  RULE_ALIGNED};
    for (size_t k = 0; k < sizeof rules / sizeof *rules; k++)
        p->in_space = p->in_space || wants(p, rules[k]);
    p->space = (spad_space){.name = name,
                            .lanes = wants(p, RULE_LANES) ? RULE_LANE_COUNT : 1,
                            .bytes = SPAD_UNBOUNDED,
                            .alignment = 1,
                            .granule = 1};
    if (wants(p, RULE_STARTS)) {
        const bool is_odd = spad__random_below(random, 2) == 0;
        p->space.lane_rule_count = 2;
        p->space.lane_rules = is_odd ? odd_rules : even_rules;
    }
    if (wants(p, RULE_ALIGNED)) p->space.alignment = INT64_C(2) << spad__random_below(random, 2);
    if (wants(p, RULE_GRANULE)) p->space.granule = spad__random_in(random, 2, 3);
    p->space.power_of_two = wants(p, RULE_POWER);
    p->space.banks_exclusive = wants(p, RULE_BANKS);
    if (wants(p, RULE_BANKS)) p->space.bank_bytes = INT64_C(8) << spad__random_below(random, 2);
}

/* ---- pairs ------------------------------------------------------------------------- */

static bool random_two(const rule_problem *p, rule r, spad__random *random, int *a, int *b) {
    if (!wants(p, r) || p->count < 2) return false;
    *a = (int)spad__random_below(random, (uint64_t)p->count);
    *b = (int)spad__random_below(random, (uint64_t)p->count);
    return *a != *b;
}

static void random_aliases(rule_problem *p, spad_plan *plan, spad__random *random) {
    int a, b;
    if (!random_two(p, RULE_ALIAS, random, &a, &b)) return;
    if (spad_plan_alias(plan, (size_t)a, (size_t)b, NULL) != SPAD_OK) return;
    p->alias[a] = p->alias[b] = a < b ? a : b;
}

static void random_slices(rule_problem *p, spad_plan *plan, spad__random *random) {
    int a, b;
    for (int n = 0, made = 0; n < 12 && made < 2; n++) {
        if (!random_two(p, RULE_SLICE, random, &a, &b) || p->whole[a] >= 0) continue;
        const int64_t at = spad__random_in(random, 0, 3);
        if (spad_plan_slice(plan, (size_t)a, (size_t)b, at, NULL) != SPAD_OK) continue;
        p->whole[a] = b;
        p->at[a] = at;
        made++;
    }
}

static bool are_tied(const rule_problem *p, int a, int b) {
    return p->alias[a] == p->alias[b] || p->whole[a] == b || p->whole[b] == a ||
           (p->whole[a] >= 0 && p->whole[a] == p->whole[b]);
}

static void random_pairs(rule_problem *p, spad__random *random) {
    int a, b;
    for (int n = 0; n < 2; n++)
        if (random_two(p, RULE_APART, random, &a, &b) && p->apart_count < RULE_PAIRS)
            p->apart[p->apart_count++] = (rule_pair){a, b, 0};
    for (int n = 0; n < 12 && p->apart_count < RULE_PAIRS; n++) {
        if (!random_two(p, RULE_INSIDE, random, &a, &b) || !are_tied(p, a, b)) continue;
        p->apart[p->apart_count++] = (rule_pair){a, b, 0};
        break;
    }
    for (int n = 0; n < 12 && p->in_place_count < 2; n++) {
        if (!random_two(p, RULE_IN_PLACE, random, &a, &b)) continue;
        const spad_plan_buffer *output = &p->buffer[a];
        const spad_plan_buffer *input = &p->buffer[b];
        const bool dies = input->lower <= output->lower && input->upper <= output->lower + 1;
        if (!dies && n % 4 != 0) continue; /* a few that have no effect */
        p->in_place[p->in_place_count++] = (rule_pair){a, b, 0};
    }
    for (int n = 0; n < 3; n++)
        if (random_two(p, RULE_AVOID, random, &a, &b))
            p->avoid[p->avoid_count++] = (rule_pair){a, b, spad__random_in(random, 0, 5)};
}

static void random_soft_constraints(rule_problem *p, spad__random *random) {
    for (int i = 0; i < RULE_BUFFERS; i++) {
        p->previous[i] = (spad_plan_place){.offset = -1};
        if (!now(p, RULE_PREVIOUS, random)) continue;
        p->previous[i].offset = spad__random_in(random, 0, 8);
        if (wants(p, RULE_LANES)) p->previous[i].lane = spad__random_in(random, 0, 2);
    }
    if (wants(p, RULE_PREVIOUS)) {
        p->constraints.move_cost = spad__random_in(random, 0, 2);
        p->constraints.move_byte_cost = spad__random_in(random, 0, 2);
    }
    if (wants(p, RULE_REUSE)) {
        p->constraints.reuse_steps = spad__random_in(random, 1, 3);
        p->constraints.reuse_cost = spad__random_in(random, 1, 3);
    }
    if (wants(p, RULE_SLACK)) p->constraints.slack = spad__random_in(random, 1, 3);
}

void rule_problem_make(rule_problem *p, uint32_t wanted, spad__random *random) {
    spad_plan *plan;
    spad_error error;
    *p = (rule_problem){.wanted = wanted, .capacity = SPAD_UNBOUNDED};
    random_space(p, "m0", random);
    assert_ok(spad_plan_create(&plan, NULL, &error), &error);
    if (p->in_space) assert_ok(spad_plan_set_space(plan, &p->space, &error), &error);
    const bool hard = wants(p, RULE_LANES) || wants(p, RULE_PREVIOUS) || wants(p, RULE_REUSE) ||
                      wants(p, RULE_AVOID);
    const int64_t most = hard ? RULE_BUFFERS - 1 : RULE_BUFFERS;
    const int aim = (int)spad__random_in(random, 2, most);
    for (int tries = 0; tries < 40 && p->count < aim; tries++) {
        /* refused: pins off an alignment or a start lane, banks that are too small or do not nest
         */
        p->buffer[p->count] = random_row(p, p->count, random);
        if (spad_plan_add(NULL, plan, &p->buffer[p->count], NULL) == SPAD_OK) p->count++;
    }
    for (int i = 0; i < RULE_BUFFERS; i++) {
        p->alias[i] = i;
        p->whole[i] = -1;
    }
    random_aliases(p, plan, random);
    random_slices(p, plan, random);
    random_pairs(p, random);
    random_soft_constraints(p, random);
    spad_plan_destroy(plan);
}

/* ---- the rules that it has --------------------------------------------------------- */

static uint32_t rules_of_pairs(const rule_pair *pairs, int count, int i, rule r) {
    for (int k = 0; k < count; k++)
        if (pairs[k].a == i || pairs[k].b == i) return RULE_BIT(r);
    return 0;
}

uint32_t rule_problem_of_buffer(const rule_problem *p, const int *group, int i) {
    const spad_plan_buffer *b = &p->buffer[i];
    uint32_t set = rules_of_pairs(p->in_place, p->in_place_count, i, RULE_IN_PLACE) |
                   rules_of_pairs(p->avoid, p->avoid_count, i, RULE_AVOID);
    for (int k = 0; k < p->apart_count; k++) {
        const rule_pair *pair = &p->apart[k];
        if (pair->a == i || pair->b == i)
            set |= RULE_BIT(group[pair->a] == group[pair->b] ? RULE_INSIDE : RULE_APART);
    }
    if (b->size == 0) set |= RULE_BIT(RULE_EMPTY);
    if (b->alignment > 1) set |= RULE_BIT(RULE_ALIGNMENT);
    if (b->hinted) set |= RULE_BIT(RULE_HINT);
    for (size_t k = 0; k < b->gap_count; k++)
        set |= RULE_BIT(b->gaps[k].window_upper > 0 ? RULE_WINDOW : RULE_GAP);
    if (b->pinned) set |= RULE_BIT(RULE_OFFSET);
    if (b->pinned && b->lane > 0) set |= RULE_BIT(RULE_LANE);
    if (b->lanes > 1) set |= RULE_BIT(RULE_LANES);
    if (b->bank > 0) set |= RULE_BIT(RULE_BANK);
    if (p->previous[i].offset >= 0) set |= RULE_BIT(RULE_PREVIOUS);
    for (int j = 0; j < p->count; j++) {
        if (j != i && p->alias[j] == p->alias[i]) set |= RULE_BIT(RULE_ALIAS);
        if (p->whole[j] == i || p->whole[i] == j) set |= RULE_BIT(RULE_SLICE);
    }
    return set;
}

uint32_t rule_problem_of_all(const rule_problem *p) {
    static const rule whole[] = {RULE_END,   RULE_CLOCK,   RULE_STARTS, RULE_GRANULE, RULE_POWER,
                                 RULE_BANKS, RULE_ALIGNED, RULE_REUSE,  RULE_SLACK,   RULE_SPACE};
    uint32_t set = 0;
    for (size_t k = 0; k < sizeof whole / sizeof *whole; k++) set |= p->wanted & RULE_BIT(whole[k]);
    if (p->capacity != SPAD_UNBOUNDED) set |= RULE_BIT(RULE_CAPACITY);
    if (p->goal == SPAD_PLAN_DECIDE) set |= RULE_BIT(RULE_DECIDE);
    return set;
}

/* ---- as a text --------------------------------------------------------------------- */

SPAD_PRINTF(2, 3) static void put(rule_text *t, const char *format, ...) {
    va_list arguments;
    va_start(arguments, format);
    const int more = vsnprintf(t->bytes + t->used, sizeof t->bytes - t->used, format, arguments);
    va_end(arguments);
    assert_true(more >= 0 && (size_t)more < sizeof t->bytes - t->used);
    t->used += (size_t)more;
}

static void put_number(rule_text *t, bool present, int64_t number) {
    if (present) put(t, "%lld", (long long)number);
    put(t, ",");
}

static void put_life(rule_text *t, const spad_plan_buffer *b, int64_t last) {
    if (b->clock_count == 0) {
        put(t, "%lld,%lld,", (long long)b->lower, (long long)(b->upper - last));
        return;
    }
    const int64_t *const ends[] = {b->lower_clock, b->upper_clock};
    for (int e = 0; e < 2; e++)
        for (size_t k = 0; k < b->clock_count; k++)
            put(t, "%lld%s", (long long)ends[e][k], k + 1 < b->clock_count ? ":" : ",");
}

static void put_gaps(rule_text *t, const spad_plan_buffer *b, int64_t last) {
    for (size_t k = 0; k < b->gap_count; k++) {
        const spad_plan_gap *gap = &b->gaps[k];
        put(t, " %lld-%lld", (long long)gap->lower, (long long)(gap->upper - last));
        if (gap->window_upper > 0)
            put(t, "@%lld:%lld", (long long)gap->window_lower, (long long)gap->window_upper);
    }
    put(t, ",");
}

static void put_ids(rule_text *t, const rule_pair *pairs, int count, int i, int m, bool costs) {
    for (int k = 0; k < count; k++) {
        if (pairs[k].a != i) continue;
        put(t, " m%d_%d", m, pairs[k].b);
        if (costs) put(t, ":%lld", (long long)pairs[k].cost);
    }
    put(t, ",");
}

static void put_row(rule_text *t, const rule_problem *p, int i, int m) {
    const spad_plan_buffer *b = &p->buffer[i];
    const int64_t last = wants(p, RULE_END);
    put(t, "m%d_%d,", m, i);
    put_life(t, b, last);
    put_number(t, true, b->size);
    put_number(t, b->alignment > 0, b->alignment);
    put_number(t, b->hinted, b->hint);
    put_gaps(t, b, last);
    put_number(t, b->pinned, b->offset);
    put_number(t, b->pinned, b->lane);
    put_number(t, b->lanes > 0, b->lanes);
    put_number(t, b->bank > 0, b->bank);
    put(t, "g%d,", p->alias[i]);
    if (p->whole[i] >= 0) put(t, "m%d_%d@%lld", m, p->whole[i], (long long)p->at[i]);
    put(t, ",");
    put_ids(t, p->apart, p->apart_count, i, m, false);
    put_ids(t, p->in_place, p->in_place_count, i, m, false);
    put_ids(t, p->avoid, p->avoid_count, i, m, true);
    put(t, "%s\n", !wants(p, RULE_SPACE) ? "" : m == 0 ? "m0" : "m1");
}

void rule_problem_write(rule_text *t, const rule_problem *problems, int count) {
    t->used = 0;
    put(t,
        "id,lower,%s,size,alignment,hint,gaps,offset,lane,lanes,bank,alias,slice,apart,in_place,",
        wants(problems, RULE_END) ? "end" : "upper");
    put(t, "avoid,%s\n", wants(problems, RULE_SPACE) ? "space" : "other");
    for (int m = 0; m < count; m++)
        for (int i = 0; i < problems[m].count; i++) put_row(t, &problems[m], i, m);
}

void rule_problem_write_previous(rule_text *t, const rule_problem *p) {
    t->used = 0;
    put(t, "id,lower,upper,size,offset,lane\n");
    for (int i = 0; i < p->count; i++)
        put(t, "m0_%d,0,1,1,%lld,%lld\n", i, (long long)p->previous[i].offset,
            (long long)p->previous[i].lane);
}
