/* SPDX-License-Identifier: Apache-2.0
 *
 * The bound of spaces with several lanes: what it is, that a plan reaches it without a search, and
 * what is left out of it.
 */
#include <string.h>

#include "plan_fixture.h"

static const int64_t quarters[] = {0, 32, 64, 96};
static const int64_t halves[] = {0, 64};
static const int64_t first[] = {0};
static const spad_lane_rule rules[] = {
    {1, 32, 4, quarters}, {33, 64, 2, halves}, {65, 128, 1, first}};
static const spad_space ruled = {.name = "ruled",
                                 .lanes = 128,
                                 .bytes = SPAD_UNBOUNDED,
                                 .alignment = 1,
                                 .granule = 1,
                                 .lane_rule_count = 3,
                                 .lane_rules = rules};
static const spad_space unruled = {
    .name = "unruled", .lanes = 128, .bytes = SPAD_UNBOUNDED, .alignment = 1, .granule = 1};

typedef struct bound_case {
    const spad_space *space;
    int64_t bound;
    spad_plan_proof proof;
    const char *csv;
} bound_case;

static spad_plan *read_case(const bound_case *c) {
    spad_error error;
    spad_plan *plan;
    assert_ok(spad_plan_create(&plan, NULL, &error), &error);
    assert_ok(spad_plan_set_space(plan, c->space, &error), &error);
    assert_ok(spad_plan_read_csv(plan, c->csv, strlen(c->csv), "c.csv", NULL, &error), &error);
    return plan;
}

/* Reached by the first plan: one node is allowed, and the verdict is optimal. */
static const bound_case reached[] = {
    /* two wide tiles are never beside each other; the average would be 15 */
    {&unruled, 20, SPAD_PLAN_BY_LANES,
     "id,lower,upper,size,lanes\na,0,9,10,96\nb,0,9,10,96\n"
     "c,0,9,1,1\n"},
    /* the largest narrower tile is above or below the widest, */
    {&unruled, 26, SPAD_PLAN_BY_LANES,
     "id,lower,upper,size,lanes\na,0,9,10,128\nb,0,9,10,128\n"
     "c,0,9,6,1\nd,0,9,5,1\n"},
    /* but beside one that leaves it room */
    {&unruled, 20, SPAD_PLAN_BY_LANES,
     "id,lower,upper,size,lanes\na,0,9,10,96\nb,0,9,10,96\n"
     "c,0,9,6,32\n"},
    {&unruled, 17, SPAD_PLAN_BY_LANES, "id,lower,upper,size,lanes\na,0,9,10,96\nb,0,9,7,33\n"},
    /* a tile of one lane takes a quarter from all others */
    {&ruled, 14, SPAD_PLAN_BY_LANES,
     "id,lower,upper,size,lanes\na,0,9,10,128\nb,0,9,2,1\n"
     "c,0,9,2,1\nd,0,9,2,1\ne,0,9,2,1\nf,0,9,2,1\ng,0,9,2,1\n"
     "h,0,9,2,1\ni,0,9,2,1\n"},
    /* one of 65 lanes three of them, and half of a pair of halves */
    {&ruled, 13, SPAD_PLAN_BY_LANES,
     "id,lower,upper,size,lanes\na,0,9,10,65\nb,0,9,3,33\n"
     "c,0,9,3,33\n"},
    /* tiles on a third of the lanes: at most two are beside each other if they are on more */
    {&unruled, 8, SPAD_PLAN_BY_LANES,
     "id,lower,upper,size,lanes\na,0,9,4,43\nb,0,9,4,43\n"
     "c,0,9,4,43\nd,0,9,4,43\n"},
    /* sizes rounded up to the alignment, less the rounding of the topmost */
    {&unruled, 13, SPAD_PLAN_BY_LANES,
     "id,lower,upper,size,lanes,alignment\na,0,9,5,96,8\n"
     "b,0,9,5,96,8\nc,8,9,5,1,8\n"},
    {&unruled, 21, SPAD_PLAN_BY_LANES,
     "id,lower,upper,size,lanes,alignment\na,0,9,5,128,8\n"
     "b,0,9,5,128,8\nc,8,9,5,1,8\n"},
    /* not with a buffer of which a part is in use: it may lie in what rounding adds */
    {&unruled, 7, SPAD_PLAN_BY_LOAD,
     "id,lower,upper,size,lanes,alignment,gaps\na,0,9,4,128,8,\n"
     "b,0,9,7,128,8,0-9@4:7\nc,0,9,0,1,8,\n"},
    /* only at the moment of both */
    {&unruled, 10, SPAD_PLAN_BY_LOAD, "id,lower,upper,size,lanes\na,0,4,10,128\nb,4,9,10,96\n"},
    /* aliases share their bytes, also with what is above the stack */
    {&unruled, 10, SPAD_PLAN_BY_LOAD,
     "id,lower,upper,size,lanes,alias\na,0,9,10,128,g\n"
     "b,0,9,6,1,g\n"},
    {&unruled, 18, SPAD_PLAN_BY_LANES,
     "id,lower,upper,size,lanes,alias\na,0,9,10,128,g\n"
     "b,0,9,6,96,g\nc,0,9,8,100,\nd,0,9,1,1,\n"},
    /* banks, where all tiles take the lane in the middle */
    {&ruled, 16, SPAD_PLAN_BY_BANKS,
     "id,lower,upper,size,lanes,bank\na,0,9,6,128,10\n"
     "b,0,9,6,96,10\n"},
    {&ruled, 6, SPAD_PLAN_BY_LOAD,
     "id,lower,upper,size,lanes,bank\na,0,9,6,64,10\n"
     "b,0,9,6,64,10\n"},
    /* and buffers kept apart */
    {&ruled, 12, SPAD_PLAN_BY_PAIRS,
     "id,lower,upper,size,lanes,apart\na,0,4,6,128,b\n"
     "b,4,9,6,96,\n"},
    /* of an item only the bytes of the buffer that is kept apart count, and its lanes */
    {&unruled, 11, SPAD_PLAN_BY_SEARCH,
     "id,lower,upper,size,lanes,gaps,alias,apart\na,8,9,7,128,,,\nb,0,2,4,128,0-2,g,a\n"
     "c,2,5,5,128,,g,\n"},
    {&ruled, 6, SPAD_PLAN_BY_BUFFER,
     "id,lower,upper,size,lanes,apart\na,0,4,6,32,b\n"
     "b,4,9,6,32,\n"},
};

static void bounds_are_reached_without_a_search(void **state) {
    (void)state;
    const spad_plan_options options = {.node_limit = 1};
    for (size_t i = 0; i < sizeof reached / sizeof *reached; i++) {
        spad_plan *plan = read_case(&reached[i]);
        spad_plan_result *result = solve(plan, &options);
        if (result->bound != reached[i].bound || result->proof != reached[i].proof)
            fail_msg("case %zu: bound %lld by %d", i, (long long)result->bound, result->proof);
        assert_int_equal(result->verdict, SPAD_PLAN_OPTIMAL);
        spad_plan_result_destroy(result);
        spad_plan_destroy(plan);
    }
}

/* More numbers of lanes than stacks are looked at, and a rule with more starts than a set has
 * points: a weaker bound, which holds. */
static void what_is_left_out_weakens_the_bound(void **state) {
    (void)state;
    const bound_case many = {&unruled, 0, SPAD_PLAN_BY_LANES,
                             "id,lower,upper,size,lanes\na,0,9,1,128\nb,0,9,1,120\nc,0,9,1,112\n"
                             "d,0,9,1,104\ne,0,9,1,96\nf,0,9,1,88\ng,0,9,4,40\n"};
    spad_plan *plan = read_case(&many);
    spad_plan_result *result = solve(plan, NULL);
    assert_in_range(result->bound, 8, 9);
    assert_int_equal(result->verdict, SPAD_PLAN_OPTIMAL);
    spad_plan_result_destroy(result);
    spad_plan_destroy(plan);
    int64_t starts[100];
    for (int64_t k = 0; k < 100; k++) starts[k] = 99 - k;
    const spad_lane_rule one = {1, 128, 100, starts};
    spad_space fine = ruled;
    fine.lane_rule_count = 1;
    fine.lane_rules = &one;
    const bound_case c = {&fine, 0, SPAD_PLAN_BY_LANES,
                          "id,lower,upper,size,lanes\na,0,9,3,29\nb,0,9,3,100\n"};
    plan = read_case(&c);
    result = solve(plan, NULL);
    assert_int_equal(result->bound, 6);
    spad_plan_result_destroy(result);
    spad_plan_destroy(plan);
}

/* Sums that do not fit 64 bits with several points per tile bound nothing; the rest does. */
static void large_sizes_are_bounded(void **state) {
    (void)state;
    spad_space pair = unruled;
    pair.lanes = 2;
    const bound_case c = {&pair, 0, SPAD_PLAN_BY_LANES,
                          "id,lower,upper,size,lanes\na,0,9,4000000000000000000,1\n"
                          "b,0,9,4000000000000000000,1\nc,0,9,300000000000000000,2\n"};
    spad_plan *plan = read_case(&c);
    spad_plan_result *result = solve(plan, NULL);
    assert_int_equal(result->height, INT64_C(4300000000000000000));
    assert_int_equal(result->verdict, SPAD_PLAN_OPTIMAL);
    spad_plan_result_destroy(result);
    spad_plan_destroy(plan);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(bounds_are_reached_without_a_search),
        cmocka_unit_test(what_is_left_out_weakens_the_bound),
        cmocka_unit_test(large_sizes_are_bounded),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
