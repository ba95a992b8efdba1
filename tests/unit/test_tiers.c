/* SPDX-License-Identifier: Apache-2.0
 * Several memories: what is refused, limits, words, memory. Small ones: property/test_tiers_exact.
 */
#include <stdlib.h>
#include <string.h>

#include "base/random.h"
#include "plan/tiers/tiers.h"
#include "support/support.h"

static const spad_tier sram = {.name = "sram", .capacity = 100, .cost = 0};
static const spad_tier dram = {.name = "dram", .capacity = SPAD_UNBOUNDED, .cost = 1};

static spad__tiers *new_tiers(void) {
    spad_error error;
    spad__tiers *tiers;
    assert_ok(spad__tiers_create(&tiers, NULL, &error), &error);
    assert_ok(spad__tiers_add_memory(NULL, tiers, &sram, &error), &error);
    assert_ok(spad__tiers_add_memory(NULL, tiers, &dram, &error), &error);
    return tiers;
}

static void add(spad__tiers *tiers, const char *name, int64_t size, int64_t first, int64_t last) {
    spad_error error;
    const int64_t uses[] = {first, last};
    const spad__tier_buffer b = {
        .name = name, .size = size, .use_count = 2, .uses = uses, .home = SPAD__NO_MEMORY};
    assert_ok(spad__tiers_add(NULL, tiers, &b, &error), &error);
}

static spad_tiers_result *solve(const spad__tiers *tiers, const spad_plan_options *options) {
    spad_error error;
    spad_tiers_result *r;
    assert_ok(spad__tiers_solve(&r, tiers, options, &error), &error);
    return r;
}

/* x waits for a long time, and its bytes are needed meanwhile: out and back in. */
static void a_buffer_that_waits_is_spilled(void **state) {
    (void)state;
    spad__tiers *tiers = new_tiers();
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
    assert_ok(spad__tiers_write_text(tiers, r, &sink.sink, &error), &error);
    assert_string_equal(sink.bytes,
                        "cost      120\nbound     120\nmoved     120 B\n"
                        "verdict   optimal\nsram: 90 B of 100, 3 stays\n"
                        "dram: 60 B, 1 stay\nnot in the cheapest memory: 1 buffer, 120 B moved\n"
                        "  x (60 B) in dram from 1 to 9\n"
                        "no other choice costs less: proved\n");
    test_text_free(&sink);
    spad__tiers_result_destroy(r);
    spad__tiers_destroy(tiers);
}

static void constants_come_back_for_nothing(void **state) {
    (void)state;
    spad_error error;
    spad__tiers *tiers = new_tiers();
    const int64_t uses[] = {0, 9};
    const spad__tier_buffer weights = {
        .size = 60, .use_count = 2, .uses = uses, .home = 1, .constant = true};
    assert_ok(spad__tiers_add(NULL, tiers, &weights, &error), &error);
    add(tiers, NULL, 90, 3, 4);
    spad_tiers_result *r = solve(tiers, NULL);
    assert_int_equal(r->cost, 120); /* read twice, never written back */
    spad__tiers_result_destroy(r);
    spad__tiers_destroy(tiers);
}

static void what_fits_nowhere_is_infeasible(void **state) {
    (void)state;
    spad_error error;
    spad__tiers *tiers = new_tiers();
    const int64_t use = 0;
    const spad__tier_buffer b = {
        .size = 101, .use_count = 1, .uses = &use, .memories = 1, .home = SPAD__NO_MEMORY};
    assert_ok(spad__tiers_add(NULL, tiers, &b, &error), &error);
    spad_tiers_result *r = solve(tiers, NULL);
    assert_int_equal(r->verdict, SPAD_PLAN_INFEASIBLE);
    assert_true(r->cost == SPAD_UNBOUNDED && r->stay_count == 0);
    test_text sink;
    test_text_init(&sink);
    assert_ok(spad__tiers_write_text(tiers, r, &sink.sink, &error), &error);
    assert_string_equal(sink.bytes, "verdict   infeasible: no choice of memories has room for all "
                                    "buffers\nbuffer 0 has 101 B, more than any memory that it "
                                    "may be in\n");
    test_text_free(&sink);
    spad__tiers_result_destroy(r);
    spad__tiers_destroy(tiers);
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
    spad__tiers *tiers;
    assert_ok(spad__tiers_create(&tiers, NULL, &e), &e);
    refused(spad__tiers_add_memory(NULL, tiers, &bad, &e), SPAD_ERR_ARGUMENT, &e,
            "a memory of -1 B at a cost of 0 per byte: neither may be negative");
    spad__tier_buffer b = {.size = 1, .use_count = 1, .uses = back, .home = SPAD__NO_MEMORY};
    refused(spad__tiers_add(NULL, tiers, &b, &e), SPAD_ERR_ARGUMENT, &e,
            "a buffer is in memories that there are not: there are 0");
    assert_ok(spad__tiers_add_memory(NULL, tiers, &sram, &e), &e);
    b.use_count = 2;
    refused(spad__tiers_add(NULL, tiers, &b, &e), SPAD_ERR_ARGUMENT, &e,
            "use 1, at moment 3, is not after the one before it");
    b.use_count = 0;
    refused(spad__tiers_add(NULL, tiers, &b, &e), SPAD_ERR_ARGUMENT, &e,
            "a buffer without uses is nowhere");
    b.use_count = 1;
    b.kept = true;
    refused(spad__tiers_add(NULL, tiers, &b, &e), SPAD_ERR_ARGUMENT, &e,
            "a buffer that is kept or constant needs a home");
    b.kept = false;
    b.memories = 2;
    assert_int_equal(spad__tiers_add(NULL, tiers, &b, &e), SPAD_ERR_ARGUMENT);
    b.memories = 0;
    b.home = 1;
    assert_int_equal(spad__tiers_add(NULL, tiers, &b, &e), SPAD_ERR_ARGUMENT);
    b.home = 0;
    b.size = -1;
    refused(spad__tiers_add(NULL, tiers, &b, &e), SPAD_ERR_ARGUMENT, &e,
            "a size of -1 B with an alignment of 0: neither may be negative");
    b.size = INT64_MAX / 2;
    refused(spad__tiers_add(NULL, tiers, &b, &e), SPAD_ERR_OVERFLOW, &e,
            "what all buffers could cost together does not fit 64 bits");
    b.size = 1;
    assert_ok(spad__tiers_add(NULL, tiers, &b, &e), &e);
    assert_int_equal(spad__tiers_add_memory(NULL, tiers, &dram, &e), SPAD_ERR_ARGUMENT);
    const spad_plan_options negative = {.node_limit = -1};
    assert_int_equal(spad__tiers_solve(&r, tiers, &negative, &e), SPAD_ERR_ARGUMENT);
    spad__tiers_destroy(tiers);
    spad__tiers_destroy(NULL);
    spad__tiers_result_destroy(NULL);
}

/* Many buffers: a plan, and a bound below it. */
static void a_large_problem_has_a_plan_and_a_bound(void **state) {
    (void)state;
    spad__random random = {11};
    spad__tiers *tiers = new_tiers();
    for (int64_t i = 0; i < 150; i++) {
        const int64_t first = spad__random_in(&random, 0, 300);
        add(tiers, NULL, spad__random_in(&random, 5, 30), first,
            first + spad__random_in(&random, 1, 40));
    }
    const spad_plan_options options = {.node_limit = 400};
    spad_tiers_result *r = solve(tiers, &options);
    assert_int_equal(r->verdict, SPAD_PLAN_FEASIBLE);
    assert_true(0 < r->bound && r->bound < r->cost && r->nodes <= 400);
    spad__tiers_result_destroy(r);
    spad__tiers_destroy(tiers);
}

static void what_does_not_fit_64_bits_is_refused(void **state) {
    (void)state;
    spad_error e;
    spad__tiers *tiers;
    const int64_t late = INT64_MAX;
    const int64_t use = 0;
    size_t number;
    spad_tier memory = {.cost = -1};
    assert_ok(spad__tiers_create(&tiers, NULL, &e), &e);
    refused(spad__tiers_add_memory(NULL, tiers, &memory, &e), SPAD_ERR_ARGUMENT, &e,
            "a memory of 0 B at a cost of -1 per byte: neither may be negative");
    memory = (spad_tier){.capacity = SPAD_UNBOUNDED, .cost = INT64_MAX / 64};
    for (size_t m = 0; m < SPAD_TIERS_MEMORIES; m++) {
        assert_ok(spad__tiers_add_memory(&number, tiers, &memory, &e), &e);
        assert_int_equal(number, m);
    }
    assert_int_equal(spad__tiers_add_memory(NULL, tiers, &memory, &e), SPAD_ERR_ARGUMENT);
    spad__tier_buffer b = {
        .size = 1, .alignment = -1, .use_count = 1, .uses = &use, .home = SPAD__NO_MEMORY};
    refused(spad__tiers_add(NULL, tiers, &b, &e), SPAD_ERR_ARGUMENT, &e,
            "a size of 1 B with an alignment of -1: neither may be negative");
    b.alignment = 0;
    b.uses = &late;
    assert_int_equal(spad__tiers_add(NULL, tiers, &b, &e), SPAD_ERR_ARGUMENT);
    b.uses = &use;
    b.size = INT64_MAX - 3;
    b.alignment = 8;
    assert_int_equal(spad__tiers_add(NULL, tiers, &b, &e), SPAD_ERR_OVERFLOW);
    b.alignment = 1;
    b.size = 8; /* its cost alone */
    assert_int_equal(spad__tiers_add(NULL, tiers, &b, &e), SPAD_ERR_OVERFLOW);
    b.size = 4; /* 12 times its bytes and cost are 48 of 64 parts, twice that is too much */
    assert_ok(spad__tiers_add(&number, tiers, &b, &e), &e);
    assert_int_equal(number, 0);
    refused(spad__tiers_add(&number, tiers, &b, &e), SPAD_ERR_OVERFLOW, &e,
            "what all buffers could cost together does not fit 64 bits");
    spad__tiers_destroy(tiers);
    /* bytes that cost nothing are still summed */
    assert_ok(spad__tiers_create(&tiers, NULL, &e), &e);
    memory = (spad_tier){.capacity = SPAD_UNBOUNDED};
    assert_ok(spad__tiers_add_memory(NULL, tiers, &memory, &e), &e);
    b.size = INT64_MAX / 16;
    assert_ok(spad__tiers_add(NULL, tiers, &b, &e), &e);
    assert_int_equal(spad__tiers_add(NULL, tiers, &b, &e), SPAD_ERR_OVERFLOW);
    spad_tiers_result *r;
    const spad_plan_options negative = {.timeout_ns = -1};
    refused(spad__tiers_solve(&r, tiers, &negative, &e), SPAD_ERR_ARGUMENT, &e,
            "a deadline of -1 ns and 0 nodes: neither may be negative");
    assert_null(r);
    spad__tiers_destroy(tiers);
}

static void assert_text(const spad__tiers *tiers, const spad_tiers_result *r, const char *wanted) {
    spad_error error;
    test_text sink;
    test_text_init(&sink);
    assert_ok(spad__tiers_write_text(tiers, r, &sink.sink, &error), &error);
    assert_string_equal(sink.bytes, wanted);
    test_text_free(&sink);
}

/* The cheapest memory comes last, and one buffer may not be in it. */
static void what_has_no_name_has_a_number(void **state) {
    (void)state;
    spad_error error;
    spad__tiers *tiers;
    assert_ok(spad__tiers_create(&tiers, NULL, &error), &error);
    const spad_tier memories[] = {{.capacity = SPAD_UNBOUNDED, .cost = 2}, {.capacity = 8}};
    for (size_t m = 0; m < 2; m++)
        assert_ok(spad__tiers_add_memory(NULL, tiers, &memories[m], &error), &error);
    const int64_t use = 3;
    for (uint32_t allowed = 0; allowed < 2; allowed++) {
        for (int64_t size = 7; size < 9; size++) {
            const spad__tier_buffer b = {.size = size,
                                         .use_count = 1,
                                         .uses = &use,
                                         .memories = allowed,
                                         .home = SPAD__NO_MEMORY};
            assert_ok(spad__tiers_add(NULL, tiers, &b, &error), &error);
        }
    }
    spad_tiers_result *r = solve(tiers, NULL);
    assert_text(tiers, r,
                "cost      44\nbound     44\nmoved     0 B\nverdict   optimal\n"
                "memory 0: 22 B, 3 stays\nmemory 1: 8 B of 8, 1 stay\n"
                "not in the cheapest memory: 1 buffer, 0 B moved\n  buffer 0 (7 B) in memory 0 "
                "from 3 to 4\n"
                "no other choice costs less: proved\n");
    r->verdict = SPAD_PLAN_FEASIBLE; /* then nothing is proved */
    assert_text(tiers, r,
                "cost      44\nbound     44\nmoved     0 B\nverdict   feasible\n"
                "memory 0: 22 B, 3 stays\nmemory 1: 8 B of 8, 1 stay\n"
                "not in the cheapest memory: 1 buffer, 0 B moved\n  buffer 0 (7 B) in memory 0 "
                "from 3 to 4\n"
                "whether another choice costs less is not known; none is below 44\n");
    spad__tiers_result_destroy(r);
    spad__tiers_destroy(tiers);
}

static void nothing_costs_nothing(void **state) {
    (void)state;
    spad__tiers *tiers = new_tiers();
    spad_tiers_result *r = solve(tiers, NULL);
    assert_int_equal(r->verdict, SPAD_PLAN_OPTIMAL);
    assert_true(r->cost == 0 && r->bound == 0 && r->stay_count == 0);
    spad__tiers_result_destroy(r);
    spad__tiers_destroy(tiers);
}

/* One node, or no time: neither a plan nor a proof that there is none. */
static void limits_may_leave_nothing(void **state) {
    (void)state;
    spad__tiers *tiers = new_tiers();
    add(tiers, "x", 60, 0, 9);
    add(tiers, "y", 90, 3, 4);
    const spad_plan_options limits[] = {{.node_limit = 1}, {.timeout_ns = 1}};
    for (size_t k = 0; k < 2; k++) {
        spad_tiers_result *r = solve(tiers, &limits[k]);
        assert_int_equal(r->verdict, SPAD_PLAN_UNKNOWN);
        assert_true(r->cost == SPAD_UNBOUNDED && r->bound <= 120);
        assert_text(tiers, r, "verdict   unknown: no plan was found within the limits\n");
        spad__tiers_result_destroy(r);
    }
    spad__tiers_destroy(tiers);
}

/* Every use is in one stay of its buffer, and no two stays share a byte at a moment. */
static void check_stays(const spad_tier *memories, const spad__tier_buffer *buffers, size_t count,
                        const spad_tiers_result *r) {
    for (size_t k = 0; k < r->stay_count; k++) {
        const spad_tier_stay *a = &r->stays[k];
        const int64_t top = a->offset + buffers[a->buffer].size;
        assert_true(a->offset >= 0 && top <= memories[a->memory].capacity);
        for (size_t j = 0; j < k; j++) {
            const spad_tier_stay *b = &r->stays[j];
            if (a->memory != b->memory || a->lower >= b->upper || b->lower >= a->upper) continue;
            assert_true(top <= b->offset || b->offset + buffers[b->buffer].size <= a->offset);
        }
    }
    for (size_t i = 0; i < count; i++) {
        for (size_t u = 0; u < buffers[i].use_count; u++) {
            int in = 0;
            for (size_t k = 0; k < r->stay_count; k++)
                in += r->stays[k].buffer == i && r->stays[k].lower <= buffers[i].uses[u] &&
                      buffers[i].uses[u] < r->stays[k].upper;
            assert_int_equal(in, 1);
        }
    }
}

/* Three memories with an end, uses at successive moments, constants, and too little room for
 * some: what is found is a plan, and a bound is not above it. */
static void small_problems_have_plans(void **state) {
    (void)state;
    enum { MOST = 24 };
    int verdicts[4] = {0};
    spad__random random = {23};
    for (int run = 0; run < 300; run++) {
        spad_error error;
        spad__tiers *tiers;
        spad__tier_buffer buffers[MOST];
        int64_t uses[MOST][3];
        const spad_tier memories[] = {{.capacity = spad__random_in(&random, 8, 30), .cost = 0},
                                      {.capacity = spad__random_in(&random, 8, 30), .cost = 1},
                                      {.capacity = spad__random_in(&random, 10, 60), .cost = 2}};
        const size_t count = (size_t)spad__random_in(&random, 4, MOST);
        assert_ok(spad__tiers_create(&tiers, NULL, &error), &error);
        for (size_t m = 0; m < 3; m++)
            assert_ok(spad__tiers_add_memory(NULL, tiers, &memories[m], &error), &error);
        for (size_t i = 0; i < count; i++) {
            uses[i][0] = spad__random_in(&random, 0, 12);
            for (size_t u = 1; u < 3; u++)
                uses[i][u] = uses[i][u - 1] + spad__random_in(&random, 1, 2);
            buffers[i] = (spad__tier_buffer){.size = spad__random_in(&random, 1, 9),
                                             .use_count = (size_t)spad__random_in(&random, 1, 3),
                                             .uses = uses[i],
                                             .home = SPAD__NO_MEMORY,
                                             .constant = i % 4 == 0};
            if (i % 4 == 0) buffers[i].home = 2;
            if (i == 0 && run % 10 == 0) buffers[i].size = 61; /* larger than any memory */
            assert_ok(spad__tiers_add(NULL, tiers, &buffers[i], &error), &error);
        }
        const spad_plan_options options = {.node_limit = 60};
        spad_tiers_result *r = solve(tiers, &options);
        verdicts[r->verdict]++;
        assert_true(r->bound <= r->cost);
        if (r->verdict <= SPAD_PLAN_FEASIBLE) check_stays(memories, buffers, count, r);
        spad__tiers_result_destroy(r);
        spad__tiers_destroy(tiers);
    }
    for (size_t v = 0; v < 4; v++) assert_true(verdicts[v] > 0);
}

/* Random buffers in a small memory and one without an end, with or without alignments: a plan from
 * however few steps is a plan. With one step, what was placed too high leaves the small memory. */
static void large_problem(int64_t count, int64_t capacity, uint64_t seed, bool aligned,
                          const spad_plan_options *options) {
    const spad_tier memories[] = {{.name = "sram", .capacity = capacity, .cost = 0}, dram};
    spad__random random = {seed};
    spad_error error;
    spad__tiers *tiers;
    spad__tier_buffer *buffers = calloc((size_t)count, sizeof *buffers);
    int64_t(*uses)[3] = calloc((size_t)count, sizeof *uses);
    assert_true(buffers != NULL && uses != NULL);
    assert_ok(spad__tiers_create(&tiers, NULL, &error), &error);
    for (size_t m = 0; m < 2; m++)
        assert_ok(spad__tiers_add_memory(NULL, tiers, &memories[m], &error), &error);
    for (int64_t i = 0; i < count; i++) {
        uses[i][0] = spad__random_in(&random, 0, count);
        for (size_t u = 1; u < 3; u++) uses[i][u] = uses[i][u - 1] + spad__random_in(&random, 1, 8);
        buffers[i] = (spad__tier_buffer){.size = spad__random_in(&random, 5, 40),
                                         .alignment = aligned ? 32 : 1,
                                         .use_count = 3,
                                         .uses = uses[i],
                                         .home = SPAD__NO_MEMORY};
        assert_ok(spad__tiers_add(NULL, tiers, &buffers[i], &error), &error);
    }
    spad_tiers_result *r = solve(tiers, options);
    assert_true(r->bound <= r->cost);
    if (r->verdict <= SPAD_PLAN_FEASIBLE)
        check_stays(memories, buffers, (size_t)count, r);
    else
        assert_true(options->timeout_ns > 0);
    spad__tiers_result_destroy(r);
    spad__tiers_destroy(tiers);
    free(buffers);
    free(uses);
}

static void few_steps_give_a_plan(void **state) {
    (void)state;
    const spad_plan_options limits[] = {{.node_limit = 1},
                                        {.node_limit = 2},
                                        {.node_limit = 50},
                                        {.timeout_ns = 1, .node_limit = 50},
                                        {.timeout_ns = 1000000, .node_limit = 50}};
    for (uint64_t seed = 1; seed <= 24; seed++)
        large_problem(60 + 2 * (int64_t)seed, 100 + 10 * (int64_t)seed, seed, seed % 2 == 0,
                      &limits[seed / 2 % 5]);
    large_problem(900, 200, 3, false, &limits[1]); /* more phases than the search takes */
}

static spad_status solve_tiers(const spad_host *host, void *context) {
    (void)context;
    spad__tiers *tiers;
    spad_tiers_result *r = NULL;
    spad_error error;
    spad_status status = spad__tiers_create(&tiers, host, &error);
    if (status != SPAD_OK) return status;
    status = spad__tiers_add_memory(NULL, tiers, &sram, &error);
    if (status == SPAD_OK) status = spad__tiers_add_memory(NULL, tiers, &dram, &error);
    for (int64_t i = 0; i < 5 && status == SPAD_OK; i++) {
        const int64_t uses[] = {i, i + 2, i + 7};
        const spad__tier_buffer b = {
            .name = "b", .size = 30 + i, .use_count = 3, .uses = uses, .home = SPAD__NO_MEMORY};
        status = spad__tiers_add(NULL, tiers, &b, &error);
    }
    const spad_plan_options options = {.node_limit = 12};
    if (status == SPAD_OK) status = spad__tiers_solve(&r, tiers, &options, &error);
    spad__tiers_result_destroy(r);
    spad__tiers_destroy(tiers);
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
        cmocka_unit_test(what_does_not_fit_64_bits_is_refused),
        cmocka_unit_test(what_has_no_name_has_a_number),
        cmocka_unit_test(nothing_costs_nothing),
        cmocka_unit_test(limits_may_leave_nothing),
        cmocka_unit_test(small_problems_have_plans),
        cmocka_unit_test(few_steps_give_a_plan),
        cmocka_unit_test(every_allocation_of_tiers_may_fail),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
