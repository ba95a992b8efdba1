/* SPDX-License-Identifier: Apache-2.0
 *
 * First fit for items of any shape, alone: the searches after it would hide what it does not find.
 */
#include "plan/search/first_fit.h"
#include "support/support.h"

/* One buffer of `size` beside pins that live with it. */
typedef struct around {
    int64_t pin[2][2]; /* offset, size; size 0: none */
    int64_t size;
    int64_t alignment;
    int64_t offset; /* expected */
} around;

static void fit_around(const around *c) {
    spad_error error;
    spad_plan *plan;
    spad__model model;
    spad_plan_place places[3];
    int64_t height;
    int64_t expected = c->offset + c->size;
    assert_ok(spad_plan_create(&plan, NULL, &error), &error);
    spad_plan_buffer b = {
        .name = "free", .upper = 4, .size = c->size, .alignment = c->alignment, .lanes = 1};
    assert_ok(spad_plan_add(NULL, plan, &b, &error), &error);
    for (int i = 0; i < 2; i++) {
        if (c->pin[i][1] == 0) continue;
        b = (spad_plan_buffer){.name = i == 0 ? "first" : "second",
                               .upper = 4,
                               .size = c->pin[i][1],
                               .alignment = 1,
                               .lanes = 1,
                               .pinned = true,
                               .offset = c->pin[i][0]};
        assert_ok(spad_plan_add(NULL, plan, &b, &error), &error);
        if (b.offset + b.size > expected) expected = b.offset + b.size;
    }
    assert_ok(spad__model_build(&model, plan, &error), &error);
    atomic_bool over = false;
    spad__stop stop = {.deadline = INT64_MAX, .now = &over};
    assert_int_equal(spad__fit_run(&model, 1, 0, &stop, places, &height), SPAD_OK);
    assert_int_equal(places[0].offset, c->offset);
    assert_int_equal(height, expected);
    spad__model_free(&model);
    spad_plan_destroy(plan);
}

/* A hole takes a buffer of exactly its size, and none that is one byte larger. */
static void holes_are_filled_to_the_last_byte(void **state) {
    (void)state;
    static const around cases[] = {
        {.pin = {{10, 10}}, .size = 10, .alignment = 1, .offset = 0},
        {.pin = {{10, 10}}, .size = 11, .alignment = 1, .offset = 20},
        {.pin = {{0, 10}, {20, 10}}, .size = 10, .alignment = 1, .offset = 10},
        {.pin = {{0, 10}, {20, 10}}, .size = 11, .alignment = 1, .offset = 30},
        {.pin = {{20, 10}, {0, 10}}, .size = 10, .alignment = 1, .offset = 10},
        {.pin = {{0, 9}, {32, 8}}, .size = 16, .alignment = 16, .offset = 16},
        {.pin = {{0, 9}, {32, 8}}, .size = 17, .alignment = 16, .offset = 48},
        {.pin = {{0, 16}, {16, 16}}, .size = 1, .alignment = 1, .offset = 32},
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) fit_around(&cases[i]);
}

/* Any plan will do, but there has to be one. */
static void without_a_capacity_every_plan_is_enough(void **state) {
    (void)state;
    const spad_plan_options options = {.goal = SPAD_PLAN_DECIDE};
    spad_plan *plan;
    spad_plan_result *result;
    spad_error error;
    assert_ok(spad_plan_create(&plan, NULL, &error), &error);
    const spad_plan_buffer b = {.lower = 0, .upper = 1, .size = 5};
    for (int i = 0; i < 3; i++) assert_ok(spad_plan_add(NULL, plan, &b, &error), &error);
    assert_ok(spad_plan_solve(&result, plan, &options, &error), &error);
    assert_true(result->verdict <= SPAD_PLAN_FEASIBLE && result->places != NULL);
    spad_plan_result_destroy(result);
    spad_plan_destroy(plan);
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(without_a_capacity_every_plan_is_enough),
                                       cmocka_unit_test(holes_are_filled_to_the_last_byte)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
