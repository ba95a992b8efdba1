/* SPDX-License-Identifier: Apache-2.0
 * Several memories: what is refused, limits, words, memory. Small ones: property/test_tiers_exact.
 */
#include <string.h>

#include "base/random.h"
#include "spad/tiers.h"
#include "support/support.h"

static const spad_tier sram = {.name = "sram", .capacity = 100, .cost = 0};
static const spad_tier dram = {.name = "dram", .capacity = SPAD_UNBOUNDED, .cost = 1};

static spad_tiers *new_tiers(void) {
    spad_error error;
    spad_tiers *tiers;
    assert_ok(spad_tiers_create(&tiers, NULL, &error), &error);
    assert_ok(spad_tiers_add_memory(NULL, tiers, &sram, &error), &error);
    assert_ok(spad_tiers_add_memory(NULL, tiers, &dram, &error), &error);
    return tiers;
}

static void add(spad_tiers *tiers, const char *name, int64_t size, int64_t first, int64_t last) {
    spad_error error;
    const int64_t uses[] = {first, last};
    const spad_tier_buffer b = {
        .name = name, .size = size, .use_count = 2, .uses = uses, .home = SPAD_NO_MEMORY};
    assert_ok(spad_tiers_add(NULL, tiers, &b, &error), &error);
}

static spad_tiers_result *solve(const spad_tiers *tiers, const spad_plan_options *options) {
    spad_error error;
    spad_tiers_result *r;
    assert_ok(spad_tiers_solve(&r, tiers, options, &error), &error);
    return r;
}

/* x waits for a long time, and its bytes are needed meanwhile: out and back in. */
static void a_buffer_that_waits_is_spilled(void **state) {
    (void)state;
    spad_tiers *tiers = new_tiers();
    add(tiers, "x", 60, 0, 9);
    add(tiers, "y", 90, 3, 4);
    spad_tiers_result *r = solve(tiers, NULL);
    assert_int_equal(r->verdict, SPAD_PLAN_OPTIMAL);
    assert_int_equal(r->cost, 120);
    assert_int_equal(r->bound, 120);
    assert_int_equal(r->stay_count, 4);
    assert_int_equal(r->moved, 120);
    test_text sink;
    test_text_init(&sink);
    spad_error error;
    assert_ok(spad_tiers_write_text(tiers, r, &sink.sink, &error), &error);
    assert_string_equal(sink.bytes, "cost      120\nbound     120\nmoved     120 B\n"
                                    "verdict   optimal\nsram: 90 B of 100, 3 stays\n"
                                    "dram: 60 B, 1 stay\nnot in the cheapest memory:\n"
                                    "  x (60 B) in dram from 1 to 9\n"
                                    "no other choice costs less: proved\n");
    test_text_free(&sink);
    spad_tiers_result_destroy(r);
    spad_tiers_destroy(tiers);
}

static void constants_come_back_for_nothing(void **state) {
    (void)state;
    spad_error error;
    spad_tiers *tiers = new_tiers();
    const int64_t uses[] = {0, 9};
    const spad_tier_buffer weights = {
        .size = 60, .use_count = 2, .uses = uses, .home = 1, .constant = true};
    assert_ok(spad_tiers_add(NULL, tiers, &weights, &error), &error);
    add(tiers, NULL, 90, 3, 4);
    spad_tiers_result *r = solve(tiers, NULL);
    assert_int_equal(r->cost, 120); /* read twice, never written back */
    spad_tiers_result_destroy(r);
    spad_tiers_destroy(tiers);
}

static void what_fits_nowhere_is_infeasible(void **state) {
    (void)state;
    spad_error error;
    spad_tiers *tiers = new_tiers();
    const int64_t use = 0;
    const spad_tier_buffer b = {
        .size = 101, .use_count = 1, .uses = &use, .memories = 1, .home = SPAD_NO_MEMORY};
    assert_ok(spad_tiers_add(NULL, tiers, &b, &error), &error);
    spad_tiers_result *r = solve(tiers, NULL);
    assert_int_equal(r->verdict, SPAD_PLAN_INFEASIBLE);
    assert_true(r->cost == SPAD_UNBOUNDED && r->stay_count == 0);
    test_text sink;
    test_text_init(&sink);
    assert_ok(spad_tiers_write_text(tiers, r, &sink.sink, &error), &error);
    assert_string_equal(sink.bytes, "verdict   infeasible: no choice of memories has room for all "
                                    "buffers\n");
    test_text_free(&sink);
    spad_tiers_result_destroy(r);
    spad_tiers_destroy(tiers);
}

static void refused(spad_status got, spad_status wanted, const spad_error *error,
                    const char *message) {
    assert_int_equal(got, wanted);
    assert_string_equal(error->message, message);
}

static void what_is_no_problem_is_refused(void **state) {
    (void)state;
    spad_error e;
    spad_tiers_result *r;
    const int64_t back[] = {3, 3};
    const spad_tier bad = {.capacity = -1};
    spad_tiers *tiers;
    assert_ok(spad_tiers_create(&tiers, NULL, &e), &e);
    refused(spad_tiers_add_memory(NULL, tiers, &bad, &e), SPAD_ERR_ARGUMENT, &e,
            "a memory of -1 B at a cost of 0 per byte: neither may be negative");
    spad_tier_buffer b = {.size = 1, .use_count = 1, .uses = back, .home = SPAD_NO_MEMORY};
    refused(spad_tiers_add(NULL, tiers, &b, &e), SPAD_ERR_ARGUMENT, &e,
            "a buffer is in memories that there are not: there are 0");
    assert_ok(spad_tiers_add_memory(NULL, tiers, &sram, &e), &e);
    b.use_count = 2;
    refused(spad_tiers_add(NULL, tiers, &b, &e), SPAD_ERR_ARGUMENT, &e,
            "use 1, at moment 3, is not after the one before it");
    b.use_count = 0;
    refused(spad_tiers_add(NULL, tiers, &b, &e), SPAD_ERR_ARGUMENT, &e,
            "a buffer without uses is nowhere");
    b.use_count = 1;
    b.kept = true;
    refused(spad_tiers_add(NULL, tiers, &b, &e), SPAD_ERR_ARGUMENT, &e,
            "a buffer that is kept or constant needs a home");
    b.kept = false;
    b.memories = 2;
    assert_int_equal(spad_tiers_add(NULL, tiers, &b, &e), SPAD_ERR_ARGUMENT);
    b.memories = 0;
    b.home = 1;
    assert_int_equal(spad_tiers_add(NULL, tiers, &b, &e), SPAD_ERR_ARGUMENT);
    b.home = 0;
    b.size = -1;
    refused(spad_tiers_add(NULL, tiers, &b, &e), SPAD_ERR_ARGUMENT, &e,
            "a size of -1 B with an alignment of 0: neither may be negative");
    b.size = INT64_MAX / 2;
    refused(spad_tiers_add(NULL, tiers, &b, &e), SPAD_ERR_OVERFLOW, &e,
            "what all buffers could cost together does not fit 64 bits");
    b.size = 1;
    assert_ok(spad_tiers_add(NULL, tiers, &b, &e), &e);
    assert_int_equal(spad_tiers_add_memory(NULL, tiers, &dram, &e), SPAD_ERR_ARGUMENT);
    const spad_plan_options negative = {.node_limit = -1};
    assert_int_equal(spad_tiers_solve(&r, tiers, &negative, &e), SPAD_ERR_ARGUMENT);
    spad_tiers_destroy(tiers);
    spad_tiers_destroy(NULL);
    spad_tiers_result_destroy(NULL);
}

/* Many buffers: a plan, and a bound below it. */
static void a_large_problem_has_a_plan_and_a_bound(void **state) {
    (void)state;
    spad__random random = {11};
    spad_tiers *tiers = new_tiers();
    for (int64_t i = 0; i < 150; i++) {
        const int64_t first = spad__random_in(&random, 0, 300);
        add(tiers, NULL, spad__random_in(&random, 5, 30), first,
            first + spad__random_in(&random, 1, 40));
    }
    const spad_plan_options options = {.node_limit = 400};
    spad_tiers_result *r = solve(tiers, &options);
    assert_int_equal(r->verdict, SPAD_PLAN_FEASIBLE);
    assert_true(0 < r->bound && r->bound < r->cost && r->nodes <= 400);
    spad_tiers_result_destroy(r);
    spad_tiers_destroy(tiers);
}

static spad_status solve_tiers(const spad_host *host, void *context) {
    (void)context;
    spad_tiers *tiers;
    spad_tiers_result *r = NULL;
    spad_error error;
    spad_status status = spad_tiers_create(&tiers, host, &error);
    if (status != SPAD_OK) return status;
    status = spad_tiers_add_memory(NULL, tiers, &sram, &error);
    if (status == SPAD_OK) status = spad_tiers_add_memory(NULL, tiers, &dram, &error);
    for (int64_t i = 0; i < 5 && status == SPAD_OK; i++) {
        const int64_t uses[] = {i, i + 2, i + 7};
        const spad_tier_buffer b = {
            .name = "b", .size = 30 + i, .use_count = 3, .uses = uses, .home = SPAD_NO_MEMORY};
        status = spad_tiers_add(NULL, tiers, &b, &error);
    }
    const spad_plan_options options = {.node_limit = 12};
    if (status == SPAD_OK) status = spad_tiers_solve(&r, tiers, &options, &error);
    spad_tiers_result_destroy(r);
    spad_tiers_destroy(tiers);
    return status;
}

static void every_allocation_of_tiers_may_fail(void **state) {
    (void)state;
    test_fail_each_allocation(solve_tiers, NULL);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_buffer_that_waits_is_spilled),
        cmocka_unit_test(constants_come_back_for_nothing),
        cmocka_unit_test(what_fits_nowhere_is_infeasible),
        cmocka_unit_test(what_is_no_problem_is_refused),
        cmocka_unit_test(a_large_problem_has_a_plan_and_a_bound),
        cmocka_unit_test(every_allocation_of_tiers_may_fail),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
