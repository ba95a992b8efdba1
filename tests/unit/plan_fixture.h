/* SPDX-License-Identifier: Apache-2.0
 *
 * A problem of the planner and its checked answer, for the tests of the planner. */
#ifndef SPAD_TEST_PLAN_FIXTURE_H
#define SPAD_TEST_PLAN_FIXTURE_H

#include "support/support.h"

#include "spad/plan.h"

static inline spad_plan *new_plan(void) {
    spad_error error;
    spad_plan *plan;
    assert_ok(spad_plan_create(&plan, NULL, &error), &error);
    return plan;
}

static inline size_t add(spad_plan *plan, spad_plan_buffer buffer) {
    spad_error error;
    size_t number;
    assert_ok(spad_plan_add(&number, plan, &buffer, &error), &error);
    return number;
}

static inline spad_plan_result *solve(const spad_plan *plan, const spad_plan_options *options) {
    spad_error error;
    spad_plan_result *result;
    assert_ok(spad_plan_solve(&result, plan, options, &error), &error);
    if (result->verdict <= SPAD_PLAN_FEASIBLE)
        assert_ok(spad_plan_check(NULL, plan, result->places, result->count, &error), &error);
    return result;
}

#endif
