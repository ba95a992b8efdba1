/* SPDX-License-Identifier: Apache-2.0
 * The planner: what it refuses, and what the validator catches. */
#include "plan_fixture.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "plan/problem/stop.h"

/* ---- what is refused --------------------------------------------------------------- */

static void buffers_that_break_their_own_rules_are_refused(void **state) {
    (void)state;
    static const spad_plan_gap backwards = {.lower = 3, .upper = 2};
    static const spad_plan_gap wide = {.lower = 1, .upper = 2, .window_upper = 99};
    static const struct {
        spad_plan_buffer buffer;
        spad_status status;
        const char *message;
    } cases[] = {
        {{.name = "a", .lower = 5, .upper = 5, .size = 1},
         SPAD_ERR_ARGUMENT,
         "buffer 'a' lives from 5 to 5: upper must be above lower"},
        {{.lower = 0, .upper = 1, .size = -4},
         SPAD_ERR_ARGUMENT,
         "buffer number 1 has a negative size of -4 B"},
        {{.name = "a", .lower = 0, .upper = 1, .size = 4, .alignment = -2},
         SPAD_ERR_ALIGNMENT,
         "buffer 'a' has alignment -2; use 1 for none"},
        {{.name = "taken", .lower = 0, .upper = 1, .size = 4},
         SPAD_ERR_NAME,
         "there is already a buffer 'taken'"},
        {{.name = "a", .lower = 0, .upper = 1, .size = 4, .pinned = true, .offset = 98},
         SPAD_ERR_BOUNDS,
         "buffer 'a' is pinned at 98 and ends at 102, above the capacity of 100 B"},
        {{.name = "a", .lower = 0, .upper = 1, .size = 4, .pinned = true, .offset = -1},
         SPAD_ERR_BOUNDS,
         "buffer 'a' is pinned at offset -1"},
        {{.name = "a",
          .lower = 0,
          .upper = 1,
          .size = 4,
          .alignment = 8,
          .pinned = true,
          .offset = 4},
         SPAD_ERR_ALIGNMENT,
         "buffer 'a' is pinned at 4, which is not a multiple of its alignment 8"},
        {{.name = "a", .lower = 0, .upper = 1, .size = 4, .bank = 8, .pinned = true, .offset = 6},
         SPAD_ERR_BOUNDS,
         "buffer 'a' is pinned at 6 and crosses a boundary of its 8 B banks"},
        {{.name = "a", .lower = 0, .upper = 1, .size = 4, .pinned = true, .lane = 1},
         SPAD_ERR_LANES,
         "buffer 'a' of 1 lanes is pinned at lane 1, which is not a start lane for it"},
        {{.name = "a", .lower = 0, .upper = 1, .size = 9, .bank = 8},
         SPAD_ERR_NO_FIT,
         "buffer 'a' of 9 B does not fit a bank of 8 B"},
        {{.name = "a", .lower = 0, .upper = 1, .size = 4, .alignment = 3, .bank = 8},
         SPAD_ERR_ALIGNMENT,
         "buffer 'a' has alignment 3 and banks of 8 B; one must divide the other"},
        {{.name = "a", .lower = 0, .upper = 1, .size = 4, .lanes = 2},
         SPAD_ERR_LANES,
         "buffer 'a' takes 2 lanes; no start lane allows that on 1 lanes"},
        {{.name = "a", .lower = 0, .upper = 9, .size = 4, .gap_count = 1, .gaps = &backwards},
         SPAD_ERR_ARGUMENT,
         "gap 3-2 of buffer 'a' is empty, outside the lifetime or not after the gap before it"},
        {{.name = "a", .lower = 0, .upper = 9, .size = 4, .gap_count = 1, .gaps = &wide},
         SPAD_ERR_BOUNDS,
         "window 0:99 of a gap of buffer 'a' is outside its 4 B"},
        {{.name = "a", .lower = 0, .upper = 1, .size = INT64_MAX},
         SPAD_ERR_OVERFLOW,
         "buffer 'a' has a size of 9,223,372,036,854,775,807 B; the most is "
         "9,223,372,036,854,775,806 B"},
        {{.name = "a", .lower = 0, .upper = 1, .size = 4, .bank = -8},
         SPAD_ERR_ARGUMENT,
         "buffer 'a' has banks of -8 B; use 0 for none"}};
    spad_plan *plan = new_plan();
    spad_error error;
    assert_ok(spad_plan_set_capacity(plan, 100, &error), &error);
    add(plan, (spad_plan_buffer){.name = "taken", .lower = 0, .upper = 1, .size = 1});
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        assert_int_equal(spad_plan_add(NULL, plan, &cases[i].buffer, &error), cases[i].status);
        assert_string_equal(error.message, cases[i].message);
        assert_int_equal(spad_plan_count(plan), 1);
    }
    assert_int_equal(spad_plan_set_capacity(plan, -1, &error), SPAD_ERR_ARGUMENT);
    assert_int_equal(spad_plan_alias(plan, 0, 0, &error), SPAD_ERR_ARGUMENT);
    assert_int_equal(spad_plan_apart(plan, 0, 7, &error), SPAD_ERR_ARGUMENT);
    const spad_space space = {.name = "s", .lanes = 1, .bytes = 10};
    assert_int_equal(spad_plan_set_space(plan, &space, &error), SPAD_ERR_ARGUMENT);
    spad_plan_destroy(plan);
}

static void sums_beyond_64_bits_are_an_error(void **state) {
    (void)state;
    spad_plan *plan = new_plan();
    spad_error error;
    spad_plan_result *result;
    for (int i = 0; i < 3; i++)
        add(plan, (spad_plan_buffer){.lower = 0, .upper = 9, .size = INT64_MAX / 2});
    assert_int_equal(spad_plan_solve(&result, plan, NULL, &error), SPAD_ERR_OVERFLOW);
    assert_null(result);
    assert_string_equal(error.message, "the sizes of all buffers together do not fit 64 bits");
    spad_plan_destroy(plan);
}

static void banks_of_aliases_that_do_not_nest_are_an_error(void **state) {
    (void)state;
    spad_plan *plan = new_plan();
    spad_error error;
    spad_plan_result *result;
    const size_t a = add(plan, (spad_plan_buffer){.lower = 0, .upper = 9, .size = 4, .bank = 6});
    const size_t b = add(plan, (spad_plan_buffer){.lower = 0, .upper = 9, .size = 4, .bank = 8});
    const size_t between = add(plan, (spad_plan_buffer){.lower = 0, .upper = 9, .size = 4});
    const size_t odd =
        add(plan, (spad_plan_buffer){.lower = 0, .upper = 9, .size = 4, .alignment = 5});
    assert_int_equal(spad_plan_alias(plan, a, b, &error), SPAD_ERR_ALIGNMENT);
    assert_string_equal(
        error.message,
        "aliases number 0 and number 1 have banks of 6 and 8 B; one must divide the other");
    assert_int_equal(spad_plan_alias(plan, odd, b, &error), SPAD_ERR_ALIGNMENT);
    assert_string_equal(error.message, "aliases number 3 and number 1 have the common alignment 5 "
                                       "and a bank of 8 B; one must divide the other");
    /* each pair is fine, the group is not */
    assert_ok(spad_plan_alias(plan, a, between, &error), &error);
    assert_ok(spad_plan_alias(plan, between, b, &error), &error);
    assert_int_equal(spad_plan_solve(&result, plan, NULL, &error), SPAD_ERR_ALIGNMENT);
    assert_string_equal(error.message, "an alias group has banks of 6 B and banks of 8 B; one must "
                                       "divide the other");
    assert_ok(spad_plan_alias(plan, between, odd, &error), &error);
    assert_int_equal(spad_plan_solve(&result, plan, NULL, &error), SPAD_ERR_ALIGNMENT);
    assert_string_equal(error.message,
                        "an alias group has alignment 5 B and banks of 6 B; one must "
                        "divide the other");
    spad_plan_destroy(plan);
}

/* Three banks of which the first and the last do not nest, though neighbours do. */
static void all_banks_of_a_group_are_compared(void **state) {
    (void)state;
    static const int64_t banks[] = {3000000019, 1, 3000000013};
    spad_plan *plan = new_plan();
    spad_error error;
    spad_plan_result *result;
    for (size_t i = 0; i < 3; i++)
        add(plan, (spad_plan_buffer){.lower = 0, .upper = 9, .size = 1, .bank = banks[i]});
    assert_ok(spad_plan_alias(plan, 0, 1, &error), &error);
    assert_ok(spad_plan_alias(plan, 1, 2, &error), &error);
    assert_int_equal(spad_plan_solve(&result, plan, NULL, &error), SPAD_ERR_ALIGNMENT);
    spad_plan_destroy(plan);
}

static void options_outside_their_range_are_refused(void **state) {
    (void)state;
    static const spad_plan_options cases[] = {
        {.goal = (spad_plan_goal)7}, {.timeout_ns = -1}, {.node_limit = -1}, {.threads = -2}};
    spad_plan *plan = new_plan();
    spad_error error;
    spad_plan_result *result;
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++)
        assert_int_equal(spad_plan_solve(&result, plan, &cases[i], &error), SPAD_ERR_ARGUMENT);
    assert_string_equal(error.message, "a deadline of 0 ns, 0 nodes and -2 threads: none of them "
                                       "may be negative; 0 is no limit");
    spad_plan_destroy(plan);
}

static void a_capacity_is_within_the_space(void **state) {
    (void)state;
    const spad_space pad = {
        .name = "pad", .lanes = 1, .bytes = 100, .reserved = 10, .alignment = 1, .granule = 1};
    spad_plan *plan = new_plan();
    spad_error error;
    assert_ok(spad_plan_set_space(plan, &pad, &error), &error);
    assert_int_equal(spad_plan_set_capacity(plan, 91, &error), SPAD_ERR_BOUNDS);
    assert_string_equal(error.message, "a capacity of 91 B is more than the 90 B of space 'pad'");
    assert_int_equal(spad_plan_get_capacity(plan), 90);
    spad_plan_destroy(plan);
}

/* An alias group for whose lanes no common start is legal has no plan at all. */
static void aliases_need_a_lane_in_common(void **state) {
    (void)state;
    static const int64_t two[] = {2, 1};
    static const int64_t more[] = {0, 0};
    static const spad_lane_rule rules[] = {
        {.lanes_min = 1, .lanes_max = 2, .start_count = 2, .starts = two},
        {.lanes_min = 3, .lanes_max = 4, .start_count = 1, .starts = more}};
    const spad_space pad = {.name = "pad",
                            .lanes = 4,
                            .bytes = 100,
                            .alignment = 1,
                            .granule = 1,
                            .lane_rule_count = 2,
                            .lane_rules = rules};
    spad_plan *plan = new_plan();
    spad_error error;
    spad_plan_result *result;
    assert_ok(spad_plan_set_space(plan, &pad, &error), &error);
    const spad_plan_buffer narrow = {.lower = 0, .upper = 1, .size = 0, .lanes = 2};
    const spad_plan_buffer wide = {.lower = 0, .upper = 1, .size = 2, .lanes = 4};
    assert_ok(spad_plan_add(NULL, plan, &narrow, &error), &error);
    assert_ok(spad_plan_add(NULL, plan, &wide, &error), &error);
    assert_ok(spad_plan_alias(plan, 0, 1, &error), &error);
    assert_ok(spad_plan_solve(&result, plan, NULL, &error), &error);
    assert_int_equal(result->verdict, SPAD_PLAN_INFEASIBLE);
    assert_int_equal(result->clash, SPAD_PLAN_CLASH_ALIAS_LANES);
    assert_int_equal(result->clash_first, 0);
    assert_int_equal(result->clash_second, 1);
    spad_plan_result_destroy(result);
    spad_plan_destroy(plan);
}

/* A name with a NUL in it is not the one it begins with. */
static void names_are_compared_whole(void **state) {
    (void)state;
    enum { LONG = 100000 };
    char *csv = calloc(1, LONG);
    assert_non_null(csv);
    const size_t head = (size_t)sprintf(csv, "id,lower,upper,size,apart\na,0,1,1,a");
    memset(csv + head + 1, 'x', LONG - head - 1); /* after a NUL */
    spad_plan *plan = new_plan();
    spad_error error;
    assert_int_not_equal(spad_plan_read_csv(plan, csv, LONG, "nul.csv", NULL, &error), SPAD_OK);
    assert_int_equal(spad_plan_count(plan), 0);
    spad_plan_destroy(plan);
    free(csv);
}

/* ---- the validator ----------------------------------------------------------------- */

static void the_validator_names_what_is_wrong(void **state) {
    (void)state;
    spad_plan *plan = new_plan();
    spad_error error;
    add(plan, (spad_plan_buffer){.name = "a", .lower = 0, .upper = 5, .size = 8, .alignment = 4});
    add(plan, (spad_plan_buffer){.name = "b", .lower = 4, .upper = 9, .size = 8, .bank = 16});
    add(plan, (spad_plan_buffer){.name = "c", .lower = 20, .upper = 22, .size = 8});
    add(plan, (spad_plan_buffer){.name = "d", .lower = 30, .upper = 32, .size = 8});
    add(plan, (spad_plan_buffer){.name = "p", .lower = 40, .upper = 42, .size = 8, .pinned = true});
    assert_ok(spad_plan_alias(plan, 0, 2, &error), &error);
    assert_ok(spad_plan_apart(plan, 0, 3, &error), &error);
    assert_ok(spad_plan_set_capacity(plan, 100, &error), &error);
    static const spad_plan_place right[5] = {{0, 0}, {16, 0}, {0, 0}, {8, 0}, {0, 0}};
    int64_t height;
    assert_ok(spad_plan_check(&height, plan, right, 5, &error), &error);
    assert_int_equal(height, 24);
    static const struct {
        size_t buffer;
        spad_plan_place place;
        spad_status status;
        const char *message;
    } wrong[] = {
        {0,
         {2, 0},
         SPAD_ERR_ALIGNMENT,
         "offset 2 of buffer 'a' is not a multiple of its alignment 4"},
        {1,
         {4, 0},
         SPAD_ERR_OVERLAP,
         "buffers 'a' at 0 and 'b' at 4 share bytes while both are "
         "live"},
        {1, {12, 0}, SPAD_ERR_BOUNDS, "buffer 'b' at offset 12 with 8 B crosses a bank of 16 B"},
        {3,
         {93, 0},
         SPAD_ERR_BOUNDS,
         "buffer 'd' at offset 93 with 8 B leaves the capacity of 100 "
         "B"},
        {3,
         {-1, 0},
         SPAD_ERR_BOUNDS,
         "buffer 'd' at offset -1 with 8 B leaves the capacity of 100 "
         "B"},
        {2,
         {8, 0},
         SPAD_ERR_NO_FIT,
         "buffers 'a' at 0 and 'c' at 8 are aliases but not in the "
         "same place"},
        {3,
         {7, 0},
         SPAD_ERR_OVERLAP,
         "buffers 'a' at 0 and 'd' at 7 must be kept apart but share "
         "bytes"},
        {4, {1, 0}, SPAD_ERR_NO_FIT, "buffer 'p' is pinned at 0, lane 0, but placed at 1, lane 0"},
        {3, {8, 1}, SPAD_ERR_LANES, "buffer 'd' of 1 lanes may not start at lane 1"}};
    for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++) {
        spad_plan_place places[5];
        memcpy(places, right, sizeof places);
        places[wrong[i].buffer] = wrong[i].place;
        assert_int_equal(spad_plan_check(NULL, plan, places, 5, &error), wrong[i].status);
        assert_string_equal(error.message, wrong[i].message);
    }
    assert_int_equal(spad_plan_check(NULL, plan, right, 4, &error), SPAD_ERR_ARGUMENT);
    spad_plan_destroy(plan);
}

/* Sums, rounded sums and common multiples. */
static void numbers_beyond_64_bits_are_errors(void **state) {
    (void)state;
    static const spad_space space = {.name = "odd",
                                     .lanes = 1,
                                     .bytes = SPAD_UNBOUNDED,
                                     .alignment = (INT64_C(1) << 40) + 1,
                                     .granule = 1};
    static const struct {
        const char *csv;
        bool space;
        spad_status status;
    } cases[] = {
        /* each fits, and so does their sum, but not rounded up */
        {"lower,upper,size,alignment\n0,9,1,4000000000000000000\n0,9,1,4000000000000000000\n"
         "0,9,1,4000000000000000000\n",
         false, SPAD_ERR_OVERFLOW},
        /* mixed alignments: only the boxes are rounded */
        {"lower,upper,size,alignment\n0,9,1,4000000000000000000\n0,9,1,2000000000000000000\n"
         "0,9,1,4000000000000000000\n",
         false, SPAD_ERR_OVERFLOW},
        {"lower,upper,size,alignment\n0,9,9000000000000000000,1\n0,9,1,4000000000000000000\n",
         false, SPAD_ERR_OVERFLOW},
        {"lower,upper,size,alignment\n0,9,1,1099511627775\n", true, SPAD_ERR_OVERFLOW},
        {"lower,upper,size,alignment,alias\n0,9,1,4611686018427387903,g\n"
         "0,9,1,4611686018427387904,g\n",
         false, SPAD_ERR_OVERFLOW},
        /* any two have a common multiple, all three have none */
        {"lower,upper,size,alignment,alias\n0,9,1,2097152,g\n0,9,1,4782969,g\n"
         "0,9,1,1220703125,g\n",
         false, SPAD_ERR_OVERFLOW},
        {"lower,end,size\n0,9223372036854775807,1\n", false, SPAD_ERR_OVERFLOW}};
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        spad_plan *plan = new_plan();
        spad_error error;
        spad_plan_result *result = NULL;
        if (cases[i].space) assert_ok(spad_plan_set_space(plan, &space, &error), &error);
        spad_status status =
            spad_plan_read_csv(plan, cases[i].csv, strlen(cases[i].csv), "c.csv", NULL, &error);
        if (status == SPAD_OK) status = spad_plan_solve(&result, plan, NULL, &error);
        assert_int_equal(status, cases[i].status);
        assert_null(result);
        spad_plan_destroy(plan);
    }
}

/* A space may have no start lane for some numbers of lanes. */
static void lanes_without_a_rule_are_refused(void **state) {
    (void)state;
    static const int64_t start[] = {0};
    static const spad_lane_rule rules[] = {{1, 1, 1, start}};
    static const spad_space space = {.name = "ruled",
                                     .lanes = 4,
                                     .bytes = 64,
                                     .alignment = 1,
                                     .granule = 1,
                                     .lane_rule_count = 1,
                                     .lane_rules = rules};
    spad_plan *plan = new_plan();
    spad_error error;
    assert_ok(spad_plan_set_space(plan, &space, &error), &error);
    const spad_plan_buffer two = {.upper = 1, .size = 1, .lanes = 2};
    assert_int_equal(spad_plan_add(NULL, plan, &two, &error), SPAD_ERR_LANES);
    add(plan, (spad_plan_buffer){.upper = 1, .size = 1});
    const spad_plan_place elsewhere = {.lane = 1};
    assert_int_equal(spad_plan_check(NULL, plan, &elsewhere, 1, &error), SPAD_ERR_LANES);
    spad_plan_destroy(plan);
}

static void deadlines_do_not_wrap(void **state) {
    (void)state;
    assert_int_equal(spad__deadline(0), INT64_MAX);
    assert_int_equal(spad__deadline(INT64_MAX), INT64_MAX);
    assert_true(spad__deadline(INT64_C(1) << 60) < INT64_MAX);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(buffers_that_break_their_own_rules_are_refused),
        cmocka_unit_test(sums_beyond_64_bits_are_an_error),
        cmocka_unit_test(banks_of_aliases_that_do_not_nest_are_an_error),
        cmocka_unit_test(all_banks_of_a_group_are_compared),
        cmocka_unit_test(options_outside_their_range_are_refused),
        cmocka_unit_test(a_capacity_is_within_the_space),
        cmocka_unit_test(numbers_beyond_64_bits_are_errors),
        cmocka_unit_test(lanes_without_a_rule_are_refused),
        cmocka_unit_test(deadlines_do_not_wrap),
        cmocka_unit_test(the_validator_names_what_is_wrong),
        cmocka_unit_test(aliases_need_a_lane_in_common),
        cmocka_unit_test(names_are_compared_whole),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
