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
        {0, {2, 0}, SPAD_ERR_ALIGNMENT, "is no multiple of its alignment 4"},
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

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(each_broken_rule_is_named),
        cmocka_unit_test(an_empty_buffer_crosses_no_bank),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
