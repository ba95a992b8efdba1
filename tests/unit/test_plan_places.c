/* SPDX-License-Identifier: Apache-2.0
 * Plans that spad_plan_check refuses: each rule of a place, broken on its own. */
#include <string.h>

#include "spad/plan.h"
#include "support/support.h"

static const int64_t starts[] = {0, 2};
static const spad_lane_rule rules[] = {
    {.lanes_min = 1, .lanes_max = 1, .start_count = 2, .starts = starts},
    {.lanes_min = 2, .lanes_max = 4, .start_count = 1, .starts = starts},
};
static const spad_space space = {.name = "pad",
                                 .lanes = 4,
                                 .bytes = 64,
                                 .alignment = 1,
                                 .granule = 1,
                                 .lane_rules = rules,
                                 .lane_rule_count = 2};

/* Buffers a (8 B, alignment 4, bank 16), b (two lanes), c (pinned at 32, lane 2), d (as c, an alias
 * of a) and e (to be kept apart from b). */
static spad_plan *make(void) {
    spad_error error;
    spad_plan *plan;
    static const spad_plan_buffer buffers[] = {
        {.name = "a", .upper = 4, .size = 8, .alignment = 4, .bank = 16},
        {.name = "b", .upper = 4, .size = 8, .lanes = 2},
        {.name = "c", .upper = 4, .size = 8, .pinned = true, .offset = 32, .lane = 2},
        {.name = "d", .lower = 4, .upper = 8, .size = 8, .alignment = 4},
        {.name = "e", .lower = 4, .upper = 8, .size = 8},
    };
    assert_ok(spad_plan_create(&plan, NULL, &error), &error);
    assert_ok(spad_plan_set_space(plan, &space, &error), &error);
    for (size_t i = 0; i < 5; i++)
        assert_ok(spad_plan_add(NULL, plan, &buffers[i], &error), &error);
    assert_ok(spad_plan_alias(plan, 0, 3, &error), &error);
    assert_ok(spad_plan_apart(plan, 1, 4, &error), &error);
    return plan;
}

static void each_broken_rule_is_named(void **state) {
    (void)state;
    static const spad_plan_place good[] = {{0, 0}, {8, 0}, {32, 2}, {0, 0}, {16, 0}};
    static const struct {
        size_t buffer;
        spad_plan_place place;
        spad_status status;
        const char *words;
    } cases[] = {
        {0, {-4, 0}, SPAD_ERR_BOUNDS, "leaves the capacity of 64 B"},
        {0, {60, 0}, SPAD_ERR_BOUNDS, "leaves the capacity of 64 B"},
        {0, {INT64_MAX - 3, 0}, SPAD_ERR_BOUNDS, "leaves the capacity of 64 B"},
        {0, {2, 0}, SPAD_ERR_ALIGNMENT, "is not a multiple of its alignment 4"},
        {0, {12, 0}, SPAD_ERR_BOUNDS, "crosses a bank of 16 B"},
        {2, {40, 2}, SPAD_ERR_NO_FIT, "is pinned at 32, lane 2, but placed at 40, lane 2"},
        {2, {32, 0}, SPAD_ERR_NO_FIT, "is pinned at 32, lane 2, but placed at 32, lane 0"},
        {1, {8, -1}, SPAD_ERR_LANES, "'b' of 2 lanes may not start at lane -1"},
        {1, {8, 3}, SPAD_ERR_LANES, "'b' of 2 lanes may not start at lane 3"},
        {1, {8, 2}, SPAD_ERR_LANES, "'b' of 2 lanes may not start at lane 2"},
        {4, {16, 1}, SPAD_ERR_LANES, "'e' of 1 lanes may not start at lane 1"},
        {3, {16, 0}, SPAD_ERR_NO_FIT, "are aliases but not in the same place"},
        {3, {0, 2}, SPAD_ERR_NO_FIT, "are aliases but not in the same place"},
        {4, {12, 0}, SPAD_ERR_OVERLAP, "'b' at 8 and 'e' at 12"},
        {1, {4, 0}, SPAD_ERR_OVERLAP, "'a' at 0 and 'b' at 4"},
    };
    spad_error error = {0};
    int64_t height;
    spad_plan *plan = make();
    assert_ok(spad_plan_check(&height, plan, good, 5, &error), &error);
    assert_int_equal(height, 40);
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        spad_plan_place places[5];
        memcpy(places, good, sizeof places);
        places[cases[i].buffer] = cases[i].place;
        if (spad_plan_check(NULL, plan, places, 5, &error) != cases[i].status ||
            strstr(error.message, cases[i].words) == NULL) {
            print_error("case %zu: %s\n", i, error.message);
            fail();
        }
    }
    spad_plan_destroy(plan);
}

/* A buffer without bytes crosses nothing, wherever it is. */
static void an_empty_buffer_crosses_no_bank(void **state) {
    (void)state;
    spad_error error = {0};
    spad_plan *plan;
    const spad_plan_buffer empty = {.name = "none", .upper = 4, .size = 0, .bank = 16};
    assert_ok(spad_plan_create(&plan, NULL, &error), &error);
    assert_ok(spad_plan_add(NULL, plan, &empty, &error), &error);
    for (int64_t offset = 0; offset <= 32; offset++) {
        const spad_plan_place place = {offset, 0};
        assert_ok(spad_plan_check(NULL, plan, &place, 1, &error), &error);
    }
    spad_plan_destroy(plan);
}

/* Buffers that break their own rules are not added. */
static void buffers_that_cannot_be_are_refused(void **state) {
    (void)state;
    static const spad_plan_gap below = {1, 2, -1, 4};
    static const spad_plan_gap backwards = {1, 2, 4, 2};
    static const spad_plan_gap above = {1, 2, 0, 9};
    static const spad_plan_gap right = {1, 2, 2, 8};
    static const struct {
        spad_plan_buffer buffer;
        bool added;
    } cases[] = {
        {{.upper = 4, .size = 8, .gaps = &right, .gap_count = 1}, true},
        {{.upper = 4, .size = 8, .gaps = &below, .gap_count = 1}, false},
        {{.upper = 4, .size = 8, .gaps = &backwards, .gap_count = 1}, false},
        {{.upper = 4, .size = 8, .gaps = &above, .gap_count = 1}, false},
        {{.upper = 4, .size = 8, .pinned = true, .lane = 2}, true},
        {{.upper = 4, .size = 8, .pinned = true, .lane = -1}, false},
        {{.upper = 4, .size = 8, .pinned = true, .lane = 1}, false}, /* no start lane */
        {{.upper = 4, .size = 8, .pinned = true, .lane = 4}, false},
        {{.upper = 4, .size = 8, .pinned = true, .lane = 2, .lanes = 2}, false},
        {{.upper = 4, .size = 8, .lanes = 5}, false},
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        spad_error error = {0};
        spad_plan *plan;
        assert_ok(spad_plan_create(&plan, NULL, &error), &error);
        assert_ok(spad_plan_set_space(plan, &space, &error), &error);
        const spad_status status = spad_plan_add(NULL, plan, &cases[i].buffer, &error);
        if ((status == SPAD_OK) != cases[i].added) print_error("case %zu\n", i);
        assert_int_equal(status == SPAD_OK, cases[i].added);
        assert_int_equal(spad_plan_count(plan), cases[i].added);
        if (status != SPAD_OK) assert_true(error.message[0] != '\0');
        spad_plan_destroy(plan);
    }
}

/* A time limit beyond the end of the clock is no limit. */
static void the_longest_time_limit_is_none(void **state) {
    (void)state;
    spad_error error = {0};
    spad_plan *plan;
    spad_plan_result *result;
    spad_plan_reason *reason;
    const spad_plan_options options = {.timeout_ns = INT64_MAX};
    assert_ok(spad_plan_create(&plan, NULL, &error), &error);
    assert_ok(spad_plan_set_capacity(plan, 12, &error), &error);
    for (int i = 0; i < 2; i++) {
        const spad_plan_buffer buffer = {.upper = 4, .size = 8};
        assert_ok(spad_plan_add(NULL, plan, &buffer, &error), &error);
    }
    assert_ok(spad_plan_solve(&result, plan, &options, &error), &error);
    assert_int_equal(result->verdict, SPAD_PLAN_INFEASIBLE);
    assert_ok(spad_plan_explain(&reason, plan, result, INT64_MAX, NULL, &error), &error);
    assert_int_equal(reason->over, 4);
    assert_int_equal(reason->works_at, 16);
    assert_true(reason->change_count > 0);
    spad_plan_reason_destroy(reason);
    spad_plan_result_destroy(result);
    spad_plan_destroy(plan);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(each_broken_rule_is_named),
        cmocka_unit_test(an_empty_buffer_crosses_no_bank),
        cmocka_unit_test(buffers_that_cannot_be_are_refused),
        cmocka_unit_test(the_longest_time_limit_is_none),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
