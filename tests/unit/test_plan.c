/* SPDX-License-Identifier: Apache-2.0
 * The planner: problems, solving, checking. */
#include "support/support.h"

#include "spad/plan.h"

static void an_empty_problem_has_an_empty_plan(void **state) {
    (void)state;
    spad_error error;
    spad_plan *plan;
    spad_plan_result *result;
    assert_ok(spad_plan_create(&plan, NULL, &error), &error);
    assert_ok(spad_plan_solve(&result, plan, NULL, &error), &error);
    assert_int_equal(result->verdict, SPAD_PLAN_OPTIMAL);
    assert_int_equal(result->height, 0);
    spad_plan_result_destroy(result);
    spad_plan_destroy(plan);
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(an_empty_problem_has_an_empty_plan)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
