/* SPDX-License-Identifier: Apache-2.0
 *
 * Plans with vector clocks: what may share bytes, what is refused and how it is said, the set of
 * buffers that makes the bound, pins, aliases, CSV.
 */
#include "support/support.h"

#include <string.h>

#include "base/random.h"
#include "spad/plan.h"

static spad_plan *read_plan(const char *csv, const spad_host *host, spad_error *error) {
    spad_plan *plan;
    if (spad_plan_create(&plan, host, error) != SPAD_OK) return NULL;
    if (spad_plan_read_csv(plan, csv, strlen(csv), "x.csv", NULL, error) == SPAD_OK) return plan;
    spad_plan_destroy(plan);
    return NULL;
}

/* Two programs, each with a chain of two; what one has, the other may have at any time. */
static const char chains[] = "id,lower,upper,size\n"
                             "a1,0:0,1:0,10\na2,1:0,2:0,8\nb1,0:0,0:1,7\nb2,0:1,0:2,9\n";

static void chains_share_bytes_and_programs_do_not(void **state) {
    (void)state;
    spad_error error;
    spad_plan_result *result;
    spad_plan *plan = read_plan(chains, NULL, &error);
    assert_non_null(plan);
    assert_ok(spad_plan_solve(&result, plan, NULL, &error), &error);
    assert_int_equal(result->verdict, SPAD_PLAN_OPTIMAL);
    assert_int_equal(result->height, 19); /* the larger of each */
    assert_int_equal(result->together_bytes, 19);
    assert_int_equal(result->proof, SPAD_PLAN_BY_PAIRS);
    assert_int_equal(result->together_count, 2);
    assert_int_equal(result->together[0], 0);
    assert_int_equal(result->together[1], 3);
    spad_plan_result_destroy(result);
    spad_plan_destroy(plan);
}

static void a_plan_that_shares_too_much_is_refused(void **state) {
    (void)state;
    spad_error error;
    spad_plan *plan = read_plan(chains, NULL, &error);
    assert_non_null(plan);
    const spad_plan_place places[] = {{0, 0}, {0, 0}, {10, 0}, {7, 0}}; /* b2 over a1 and a2 */
    assert_int_equal(spad_plan_check(NULL, plan, places, 4, &error), SPAD_ERR_OVERLAP);
    assert_string_equal(error.message, "buffers 'a1' at 0 and 'b2' at 7 share bytes, and their "
                                       "clocks do not order them");
    const spad_plan_place apart[] = {{0, 0}, {0, 0}, {10, 0}, {10, 0}};
    int64_t height;
    assert_ok(spad_plan_check(&height, plan, apart, 4, &error), &error);
    assert_int_equal(height, 19);
    spad_plan_destroy(plan);
}

static void why_it_does_not_fit_names_the_set(void **state) {
    (void)state;
    spad_error error;
    spad_plan_result *result;
    spad_plan_reason *reason;
    test_text text;
    test_text_init(&text);
    spad_plan *plan = read_plan(chains, NULL, &error);
    assert_non_null(plan);
    assert_ok(spad_plan_set_capacity(plan, 18, &error), &error);
    assert_ok(spad_plan_solve(&result, plan, NULL, &error), &error);
    assert_int_equal(result->verdict, SPAD_PLAN_INFEASIBLE);
    assert_ok(spad_plan_explain(&reason, plan, result, 0, NULL, &error), &error);
    assert_int_equal(reason->live_count, 2);
    assert_ok(spad_plan_write(plan, result, reason, SPAD_FORMAT_TEXT, &text.sink, &error), &error);
    assert_non_null(
        strstr(text.bytes, "bound     19 B (2 buffers of which no two may share bytes)"));
    assert_non_null(strstr(text.bytes, "why: 2 buffers of which no two may share bytes take 19 B, "
                                       "capacity 18 B, over by 1 B"));
    assert_ok(spad_plan_write(plan, result, reason, SPAD_FORMAT_JSON, &text.sink, &error), &error);
    assert_non_null(strstr(text.bytes, "\"proof\": \"pairs\""));
    assert_non_null(strstr(text.bytes, "\"together\""));
    spad_plan_reason_destroy(reason);
    spad_plan_result_destroy(result);
    spad_plan_destroy(plan);
    test_text_free(&text);
}

static void pins_that_no_clock_orders_clash(void **state) {
    (void)state;
    spad_error error;
    spad_plan_result *result;
    /* by the sums of the clocks the two are one after the other */
    spad_plan *plan = read_plan("id,lower,upper,size,offset\n"
                                "a,0:0,1:0,8,0\nb,0:1,0:2,8,4\n",
                                NULL, &error);
    assert_non_null(plan);
    assert_ok(spad_plan_solve(&result, plan, NULL, &error), &error);
    assert_int_equal(result->verdict, SPAD_PLAN_INFEASIBLE);
    assert_int_equal(result->clash, SPAD_PLAN_CLASH_PINS);
    spad_plan_result_destroy(result);
    spad_plan_destroy(plan);
}

static void aliases_share_bytes_in_any_order(void **state) {
    (void)state;
    spad_error error;
    spad_plan_result *result;
    spad_plan *plan = read_plan("id,lower,upper,size,alias\n"
                                "a,0:0,1:0,8,g\nb,0:1,0:2,6,g\nc,0:0,0:1,4,\n",
                                NULL, &error);
    assert_non_null(plan);
    assert_ok(spad_plan_solve(&result, plan, NULL, &error), &error);
    assert_int_equal(result->height, 12);
    assert_ok(spad_plan_check(NULL, plan, result->places, 3, &error), &error);
    spad_plan_result_destroy(result);
    spad_plan_destroy(plan);
}

static void bad_clocks_are_refused_with_their_cell(void **state) {
    static const struct {
        const char *csv;
        spad_status status;
        int line;
        int column;
        const char *message;
    } cases[] = {
        {"id,lower,upper,size\na,0:0,1,8\n", SPAD_ERR_SYNTAX, 2, 7,
         "lower has 2 numbers and upper has 1"},
        {"id,lower,upper,size\na,0:x,1:1,8\n", SPAD_ERR_SYNTAX, 2, 3,
         "lower '0:x' is not a vector clock such as 2:1"},
        {"id,lower,upper,size\na,0:,1:1,8\n", SPAD_ERR_SYNTAX, 2, 3,
         "lower '0:' is not a vector clock such as 2:1"},
        {"id,start,end,size\na,0:0,1:1,8\n", SPAD_ERR_SYNTAX, 2, 7,
         "column 'end' is a last moment, which vector clocks do not have; name it 'upper'"},
        {"id,lower,upper,size\na,0:0,1:0,8\nb,0,1,8\n", SPAD_ERR_ARGUMENT, 3, 3,
         "buffer 'b' has clocks of 0 numbers and the buffers before it of 2; all buffers of a plan "
         "have as many (0: plain times)"},
        {"id,lower,upper,size\na,0:2,1:1,8\n", SPAD_ERR_ARGUMENT, 2, 7,
         "number 2 of the clocks of buffer 'a' goes back from 2 to 1"},
        {"id,lower,upper,size\na,1:1,1:1,8\n", SPAD_ERR_ARGUMENT, 2, 7,
         "buffer 'a' lives from 2 to 2: upper must be above lower"},
        {"id,lower,upper,size\na,0:0,9223372036854775807:1,8\n", SPAD_ERR_OVERFLOW, 2, 7,
         "the sum of the clocks of buffer 'a' does not fit 64 bits"},
        {"id,lower,upper,size,gaps\na,0:0,4:4,8,1-2\n", SPAD_ERR_ARGUMENT, 2, 13,
         "buffer 'a' has gaps and vector clocks; gaps need plain times"},
    };
    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        spad_plan *plan;
        spad_error error;
        assert_ok(spad_plan_create(&plan, NULL, &error), &error);
        assert_int_equal(
            spad_plan_read_csv(plan, cases[i].csv, strlen(cases[i].csv), "x.csv", NULL, &error),
            cases[i].status);
        assert_string_equal(error.message, cases[i].message);
        assert_int_equal(error.line, cases[i].line);
        assert_int_equal(error.column, cases[i].column);
        assert_int_equal(spad_plan_count(plan), 0);
        spad_plan_destroy(plan);
    }
}

static void clocks_and_plans_have_limits(void **state) {
    (void)state;
    static int64_t zero[SPAD_PLAN_CLOCKS + 1];
    static int64_t one[SPAD_PLAN_CLOCKS + 1];
    for (size_t k = 0; k <= SPAD_PLAN_CLOCKS; k++) one[k] = 1;
    spad_plan *plan;
    spad_error error;
    spad_plan_buffer buffer = {
        .size = 1, .clock_count = SPAD_PLAN_CLOCKS + 1, .lower_clock = zero, .upper_clock = one};
    assert_ok(spad_plan_create(&plan, NULL, &error), &error);
    assert_int_equal(spad_plan_add(NULL, plan, &buffer, &error), SPAD_ERR_ARGUMENT);
    assert_string_equal(error.message, "buffer number 0: a vector clock has at most 256 numbers, "
                                       "and a plan with vector clocks at most 2048 buffers");
    buffer.clock_count = 2;
    for (int i = 0; i < SPAD_PLAN_CLOCK_BUFFERS; i++)
        assert_ok(spad_plan_add(NULL, plan, &buffer, &error), &error);
    assert_int_equal(spad_plan_add(NULL, plan, &buffer, &error), SPAD_ERR_ARGUMENT);
    spad_plan_destroy(plan);
}

static void another_clock_is_another_problem(void **state) {
    (void)state;
    spad_error error;
    spad_plan *a = read_plan("lower,upper,size\n0:1,1:1,8\n", NULL, &error);
    spad_plan *b = read_plan("lower,upper,size\n1:0,1:1,8\n", NULL, &error);
    assert_non_null(a);
    assert_non_null(b);
    assert_true(spad_plan_get_fingerprint(a) != spad_plan_get_fingerprint(b));
    spad_plan_destroy(a);
    spad_plan_destroy(b);
}

/* The search for the heaviest set ends: random pairs kept apart, and more buffers than it looks
 * at. What it has found by then is a bound, and the plan is right. */
static void the_search_for_a_set_ends(void **state) {
    (void)state;
    static const int counts[] = {180, 700};
    for (size_t c = 0; c < 2; c++) {
        spad__random random = {c + 1};
        spad_plan *plan;
        spad_plan_result *result;
        spad_error error;
        assert_ok(spad_plan_create(&plan, NULL, &error), &error);
        for (int i = 0; i < counts[c]; i++) {
            const spad_plan_buffer buffer = {
                .lower = i, .upper = i + 1, .size = 1 + (int64_t)spad__random_below(&random, 9)};
            assert_ok(spad_plan_add(NULL, plan, &buffer, &error), &error);
        }
        for (int i = 0; i < counts[c]; i++)
            for (int j = 0; j < i; j++)
                if (spad__random_below(&random, 4) > 0)
                    assert_ok(spad_plan_apart(plan, (size_t)i, (size_t)j, &error), &error);
        const spad_plan_options options = {.node_limit = 1000};
        assert_ok(spad_plan_solve(&result, plan, &options, &error), &error);
        assert_true(result->together_count > 2);
        assert_true(result->bound >= result->together_bytes && result->bound <= result->height);
        int64_t height;
        assert_ok(spad_plan_check(&height, plan, result->places, result->count, &error), &error);
        assert_int_equal(height, result->height);
        spad_plan_result_destroy(result);
        spad_plan_destroy(plan);
    }
}

/* Sizes whose rounded sum does not fit 64 bits count as they are. */
static void sums_that_do_not_fit_are_not_rounded(void **state) {
    (void)state;
    spad_plan *plan;
    spad_plan_result *result;
    spad_error error;
    assert_ok(spad_plan_create(&plan, NULL, &error), &error);
    const spad_plan_buffer buffers[] = {
        {.lower = 0, .upper = 1, .size = 3, .alignment = INT64_C(1) << 62},
        {.lower = 1, .upper = 2, .size = 3, .alignment = INT64_C(1) << 62}};
    for (size_t i = 0; i < 2; i++)
        assert_ok(spad_plan_add(NULL, plan, &buffers[i], &error), &error);
    assert_ok(spad_plan_apart(plan, 0, 1, &error), &error);
    assert_ok(spad_plan_solve(&result, plan, NULL, &error), &error);
    assert_int_equal(result->height, (INT64_C(1) << 62) + 3);
    assert_int_equal(result->together_count, 2);
    assert_int_equal(result->together_bytes, 6);
    spad_plan_result_destroy(result);
    spad_plan_destroy(plan);
}

static spad_status plan_and_solve(const spad_host *host, void *context) {
    spad_error error = {.code = SPAD_OK};
    spad_plan_result *result;
    (void)context;
    spad_plan *plan = read_plan(chains, host, &error);
    if (plan == NULL) return error.code;
    const spad_status status = spad_plan_solve(&result, plan, NULL, &error);
    if (status == SPAD_OK) spad_plan_result_destroy(result);
    spad_plan_destroy(plan);
    return status;
}

static void failing_allocations_leak_nothing(void **state) {
    (void)state;
    test_fail_each_allocation(plan_and_solve, NULL);
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(chains_share_bytes_and_programs_do_not),
                                       cmocka_unit_test(a_plan_that_shares_too_much_is_refused),
                                       cmocka_unit_test(why_it_does_not_fit_names_the_set),
                                       cmocka_unit_test(pins_that_no_clock_orders_clash),
                                       cmocka_unit_test(aliases_share_bytes_in_any_order),
                                       cmocka_unit_test(bad_clocks_are_refused_with_their_cell),
                                       cmocka_unit_test(clocks_and_plans_have_limits),
                                       cmocka_unit_test(another_clock_is_another_problem),
                                       cmocka_unit_test(the_search_for_a_set_ends),
                                       cmocka_unit_test(sums_that_do_not_fit_are_not_rounded),
                                       cmocka_unit_test(failing_allocations_leak_nothing)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
