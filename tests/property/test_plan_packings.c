/* SPDX-License-Identifier: Apache-2.0
 *
 * Problems whose answer is known: perfect packings are found, packings with one
 * byte too many are never "solved", and the validator catches every mutation of a
 * plan that has no room to move.
 */
#include <string.h>

#include "base/random.h"
#include "spad/plan.h"
#include "support/packing.h"
#include "support/support.h"

static spad_plan *perfect_of(int32_t count, int64_t height, uint64_t seed) {
    spad_error error;
    spad_plan *plan;
    assert_ok(spad_plan_create(&plan, NULL, &error), &error);
    assert_ok(packing_perfect(plan, count, height, seed, &error), &error);
    return plan;
}

static spad_plan *perfect(int32_t count, uint64_t seed) {
    return perfect_of(count, 1000, seed);
}

static void perfect_packings_are_found(void **state) {
    (void)state;
    for (int32_t count = 20; count <= 300; count += 35) {
        for (uint64_t seed = 1; seed <= 3; seed++) {
            spad_plan *plan = perfect(count, seed);
            spad_error error;
            spad_plan_result *result;
            int64_t height;
            assert_ok(spad_plan_solve(&result, plan, NULL, &error), &error);
            assert_int_equal(result->verdict, SPAD_PLAN_OPTIMAL);
            assert_ok(spad_plan_check(&height, plan, result->places, result->count, &error),
                      &error);
            assert_int_equal(height, 1000);
            spad_plan_result_destroy(result);
            spad_plan_destroy(plan);
        }
    }
}

/* Thousands of buffers, and next to no choice that is taken back. */
static void large_perfect_packings_are_found(void **state) {
    (void)state;
    static const int32_t counts[] = {700, 2000, 9000};
    for (size_t k = 0; k < sizeof counts / sizeof *counts; k++) {
        spad_plan *plan = perfect_of(counts[k], INT64_C(1) << 30, k + 1);
        const spad_plan_options options = {.node_limit = 8 * (int64_t)counts[k]};
        spad_error error;
        spad_plan_result *result;
        assert_ok(spad_plan_solve(&result, plan, &options, &error), &error);
        assert_int_equal(result->verdict, SPAD_PLAN_OPTIMAL);
        assert_int_equal(result->height, INT64_C(1) << 30);
        assert_ok(spad_plan_check(NULL, plan, result->places, result->count, &error), &error);
        spad_plan_result_destroy(result);
        spad_plan_destroy(plan);
    }
}

/* Heights that many buffers have in common, so that many choices look alike: only the exact search
 * finds the packing, and it must get nearly all of the nodes, before the first plan is lowered and
 * after. */
static void packings_of_few_heights_are_found(void **state) {
    (void)state;
    static const struct {
        int32_t count;
        uint64_t seed;
        int64_t nodes;
    } cases[] = {{1000, 16, 400 * 1000}, {2000, 5, 1800 * 1000}};
    for (size_t k = 0; k < sizeof cases / sizeof *cases; k++) {
        spad_plan *plan = perfect_of(cases[k].count, 4096, cases[k].seed);
        const spad_plan_options options = {.seed = cases[k].seed, .node_limit = cases[k].nodes};
        spad_error error;
        spad_plan_result *result;
        assert_ok(spad_plan_solve(&result, plan, &options, &error), &error);
        assert_int_equal(result->verdict, SPAD_PLAN_OPTIMAL);
        assert_int_equal(result->height, 4096);
        assert_ok(spad_plan_check(NULL, plan, result->places, result->count, &error), &error);
        spad_plan_result_destroy(result);
        spad_plan_destroy(plan);
    }
}

/* One buffer a byte larger: the load of its moment alone is too much; and a capacity one
 * byte smaller. Both are proved at once. */
static void one_byte_too_many_is_infeasible(void **state) {
    (void)state;
    for (uint64_t seed = 1; seed <= 20; seed++) {
        spad_plan *plan = perfect(60, seed);
        spad_error error;
        spad_plan_result *result;
        const spad_plan_options options = {.goal = SPAD_PLAN_DECIDE, .node_limit = 100000};
        assert_ok(spad_plan_set_capacity(plan, 999, &error), &error);
        assert_ok(spad_plan_solve(&result, plan, &options, &error), &error);
        assert_int_equal(result->verdict, SPAD_PLAN_INFEASIBLE);
        assert_int_equal(result->bound, 1000);
        spad_plan_result_destroy(result);
        spad_plan_destroy(plan);
    }
}

/* The largest load is 12, the lowest plan 13: the load bound is not enough, the search
 * has to prove it. */
static void searches_prove_what_the_load_does_not(void **state) {
    (void)state;
    static const int64_t rows[][3] = {{6, 8, 2}, {2, 8, 3}, {1, 3, 4}, {0, 6, 3},
                                      {3, 8, 3}, {3, 4, 1}, {0, 1, 2}, {7, 8, 4},
                                      {5, 7, 3}, {2, 5, 2}, {1, 2, 4}};
    spad_plan *plan;
    spad_error error;
    spad_plan_result *result;
    assert_ok(spad_plan_create(&plan, NULL, &error), &error);
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        const spad_plan_buffer b = {.lower = rows[i][0], .upper = rows[i][1], .size = rows[i][2]};
        assert_ok(spad_plan_add(NULL, plan, &b, &error), &error);
    }
    assert_ok(spad_plan_solve(&result, plan, NULL, &error), &error);
    assert_int_equal(result->verdict, SPAD_PLAN_OPTIMAL);
    assert_int_equal(result->peak_load, 12);
    assert_int_equal(result->height, 13);
    assert_int_equal(result->bound, 13);
    spad_plan_result_destroy(result);
    spad_plan_destroy(plan);
}

/* In a perfect packing every byte is taken at every moment, so any other offset of any
 * buffer overlaps something or leaves the capacity. */
static void every_mutation_is_caught(void **state) {
    (void)state;
    spad__random random = {3};
    for (uint64_t seed = 1; seed <= 5; seed++) {
        spad_plan *plan = perfect(80, seed);
        spad_error error;
        spad_plan_result *result;
        assert_ok(spad_plan_set_capacity(plan, 1000, &error), &error);
        assert_ok(spad_plan_solve(&result, plan, NULL, &error), &error);
        for (int k = 0; k < 1000; k++) {
            const size_t i = (size_t)spad__random_below(&random, result->count);
            const spad_plan_place before = result->places[i];
            do result->places[i].offset = spad__random_in(&random, -3, 1003);
            while (result->places[i].offset == before.offset);
            const spad_status status =
                spad_plan_check(NULL, plan, result->places, result->count, &error);
            assert_true(status == SPAD_ERR_OVERLAP || status == SPAD_ERR_BOUNDS);
            result->places[i] = before;
        }
        spad_plan_result_destroy(result);
        spad_plan_destroy(plan);
    }
}

static void large_problems_are_near_their_load(void **state) {
    (void)state;
    for (int shape = 0; shape < 3; shape++) {
        spad_plan *plan;
        spad_error error;
        spad_plan_result *result;
        assert_ok(spad_plan_create(&plan, NULL, &error), &error);
        assert_ok(packing_shaped(plan, (packing_shape)shape, 20000, 5, &error), &error);
        assert_ok(spad_plan_solve(&result, plan, NULL, &error), &error);
        assert_ok(spad_plan_check(NULL, plan, result->places, result->count, &error), &error);
        assert_true(result->height - result->bound <= result->bound / 100);
        spad_plan_result_destroy(result);
        spad_plan_destroy(plan);
    }
}

/* Beyond 2^16 buffers time is cut into strips: the plans hold, and so does every
 * promise when host memory runs out on the way. */
static void very_large_problems_are_cut_into_strips(void **state) {
    (void)state;
    for (uint64_t seed = 0; seed < 2; seed++) {
        for (int shape = 0; shape < 3; shape++) {
            spad_plan *plan;
            spad_error error;
            spad_plan_result *result;
            assert_ok(spad_plan_create(&plan, NULL, &error), &error);
            assert_ok(packing_shaped(plan, (packing_shape)shape, 70000, seed + 11, &error), &error);
            const spad_plan_options options = {.timeout_ns = INT64_C(2000000000)};
            assert_ok(spad_plan_solve(&result, plan, &options, &error), &error);
            assert_ok(spad_plan_check(NULL, plan, result->places, result->count, &error), &error);
            assert_true(result->height - result->bound <= result->bound / 10);
            spad_plan_result_destroy(result);
            spad_plan_destroy(plan);
        }
    }
}

/* The sweep of test_fail_each_allocation in growing steps: a solve of this size
 * makes too many allocations for all of them. */
static void large_solves_survive_failing_allocations(void **state) {
    (void)state;
    bool ended = false;
    for (long n = 1; !ended; n += 1 + n / 3) {
        test_host host;
        test_host_init(&host);
        spad_plan *plan;
        spad_error error;
        spad_plan_result *result = NULL;
        assert_ok(spad_plan_create(&plan, &host.host, &error), &error);
        assert_ok(packing_shaped(plan, PACKING_RANDOM, 70000, 3, &error), &error);
        host.fail_at = host.calls + n;
        const spad_plan_options options = {.timeout_ns = INT64_C(1000000000)};
        const spad_status status = spad_plan_solve(&result, plan, &options, &error);
        ended = host.calls < host.fail_at;
        assert_int_equal(status, ended ? SPAD_OK : SPAD_ERR_HOST_MEMORY);
        spad_plan_result_destroy(result);
        spad_plan_destroy(plan);
        test_host_assert_clean(&host);
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(perfect_packings_are_found),
                                       cmocka_unit_test(large_perfect_packings_are_found),
                                       cmocka_unit_test(packings_of_few_heights_are_found),
                                       cmocka_unit_test(one_byte_too_many_is_infeasible),
                                       cmocka_unit_test(searches_prove_what_the_load_does_not),
                                       cmocka_unit_test(every_mutation_is_caught),
                                       cmocka_unit_test(large_problems_are_near_their_load),
                                       cmocka_unit_test(very_large_problems_are_cut_into_strips),
                                       cmocka_unit_test(large_solves_survive_failing_allocations)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
