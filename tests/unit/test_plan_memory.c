/* SPDX-License-Identifier: Apache-2.0
 *
 * Failing memory at problems of many sizes. Small arrays share a block of an arena, so at one size
 * only a few of them are the first in a new block; over many sizes most of them are. */
#include <limits.h>

#include "base/random.h"
#include "plan/tiers/tiers.h"
#include "plan_fixture.h"
#include "spad/experimental/graph.h"

enum { SIZES = 48 };

static int64_t size_number(long k) {
    return 3 + k * 5 + k * k / 4;
}

/* Runs `act` on a problem that is complete, with each of its first `most` requests failing in turn.
 */
static void sweep(test_host *host, spad_status (*act)(const void *problem), const void *problem,
                  long most) {
    const long blocks = host->live_blocks;
    for (long n = 1; n <= most; n++) {
        host->fail_at = host->calls + n;
        const spad_status status = act(problem);
        const bool ended = host->calls < host->fail_at;
        host->fail_at = 0;
        assert_int_equal(host->live_blocks, blocks);
        assert_int_equal(status, ended ? SPAD_OK : SPAD_ERR_HOST_MEMORY);
        if (ended) return;
    }
}

static spad_status solve_and_check(const void *problem) {
    spad_error error;
    spad_plan_result *result = NULL;
    const spad_plan_options options = {.node_limit = 3};
    spad_status status = spad_plan_solve(&result, problem, &options, &error);
    if (status == SPAD_OK && result->verdict <= SPAD_PLAN_FEASIBLE)
        status = spad_plan_check(NULL, problem, result->places, result->count, &error);
    spad_plan_result_destroy(result);
    return status;
}

typedef void (*fill_plan)(spad_plan *plan, int64_t count);

static void sweep_plans(fill_plan fill, long sizes) {
    for (long k = 0; k < test_effort(sizes); k++) {
        test_host host;
        test_host_init(&host);
        spad_error error;
        spad_plan *plan;
        assert_ok(spad_plan_create(&plan, &host.host, &error), &error);
        fill(plan, size_number(k));
        sweep(&host, solve_and_check, plan, LONG_MAX);
        spad_plan_destroy(plan);
        test_host_assert_clean(&host);
    }
}

static void fill_boxes(spad_plan *plan, int64_t count) {
    spad__random random = {(uint64_t)count};
    for (int64_t i = 0; i < count; i++) {
        const int64_t lower = spad__random_in(&random, 0, count);
        add(plan, (spad_plan_buffer){.lower = lower,
                                     .upper = lower + spad__random_in(&random, 1, 9),
                                     .size = spad__random_in(&random, 1, 60)});
    }
}

/* Gaps, alignments, pins, hints, aliases, slices, pairs in place and pairs kept apart. */
static void fill_groups(spad_plan *plan, int64_t count) {
    spad__random random = {(uint64_t)count + 1};
    spad_error error;
    for (int64_t i = 0; i < count; i++) {
        const spad_plan_gap gap = {i + 1, i + 2, 0, 0};
        const size_t n = add(plan, (spad_plan_buffer){.lower = i,
                                                      .upper = i + (i % 6 == 0 ? 4 : 2),
                                                      .size = 8 * spad__random_in(&random, 2, 9),
                                                      .alignment = i % 4 == 0 ? 8 : 1,
                                                      .gap_count = i % 6 == 0,
                                                      .gaps = &gap,
                                                      .pinned = i % 16 == 15,
                                                      .offset = 1024,
                                                      .hinted = i % 5 == 0,
                                                      .hint = 64});
        if (i % 6 == 3) assert_ok(spad_plan_in_place(plan, n, n - 1, &error), &error);
        if (i % 6 == 5) assert_ok(spad_plan_apart(plan, n, n - 3, &error), &error);
        if (i % 12 == 8) assert_ok(spad_plan_alias(plan, n, n - 4, &error), &error);
    }
    const size_t part = add(plan, (spad_plan_buffer){.lower = 0, .upper = 2, .size = 8});
    assert_ok(spad_plan_slice(plan, part, 0, 8, &error), &error);
}

static void fill_lanes(spad_plan *plan, int64_t count) {
    static const spad_space space = {.name = "lanes",
                                     .lanes = 4,
                                     .bytes = 1 << 20,
                                     .alignment = 1,
                                     .granule = 1,
                                     .bank_bytes = 64,
                                     .banks_exclusive = true};
    spad__random random = {(uint64_t)count + 2};
    spad_error error;
    assert_ok(spad_plan_set_space(plan, &space, &error), &error);
    for (int64_t i = 0; i < count; i++)
        add(plan, (spad_plan_buffer){.lower = i,
                                     .upper = i + spad__random_in(&random, 1, 5),
                                     .size = spad__random_in(&random, 1, 40),
                                     .lanes = spad__random_in(&random, 1, 3)});
}

/* Two agents, each with its own order. */
static void fill_clocks(spad_plan *plan, int64_t count) {
    spad__random random = {(uint64_t)count + 3};
    for (int64_t i = 0; i < count && i < 90; i++) {
        const int64_t lower[2] = {i % 2 == 0 ? i : i / 8, i % 2 == 0 ? i / 8 : i};
        const int64_t upper[2] = {lower[0] + (i % 2 == 0 ? 3 : 1), lower[1] + (i % 2 == 0 ? 1 : 3)};
        add(plan, (spad_plan_buffer){.size = spad__random_in(&random, 1, 50),
                                     .clock_count = 2,
                                     .lower_clock = lower,
                                     .upper_clock = upper});
    }
}

static void boxes_of_every_size(void **state) {
    (void)state;
    sweep_plans(fill_boxes, 2 * SIZES);
}

static void groups_of_every_size(void **state) {
    (void)state;
    sweep_plans(fill_groups, SIZES);
}

static void lanes_of_every_size(void **state) {
    (void)state;
    sweep_plans(fill_lanes, SIZES / 3);
}

static void clocks_of_every_size(void **state) {
    (void)state;
    sweep_plans(fill_clocks, SIZES / 3);
}

/* ---- graphs and tiers -------------------------------------------------------------- */

static spad_status reorder(const void *problem) {
    spad_error error;
    spad_graph_result *result = NULL;
    const spad_plan_options options = {.node_limit = 2};
    const spad_status status = spad_graph_reorder(&result, problem, &options, &error);
    spad_graph_result_destroy(result);
    return status;
}

static void graphs_of_every_size(void **state) {
    (void)state;
    for (long k = 0; k < test_effort(2 * SIZES); k++) {
        test_host host;
        test_host_init(&host);
        spad_error error;
        spad_graph *graph;
        const size_t count = (size_t)size_number(k);
        assert_ok(spad_graph_create(&graph, &host.host, &error), &error);
        for (size_t i = 0; i < count; i++) {
            size_t number;
            assert_ok(spad_graph_add_node(&number, graph, (int64_t)i % 5, &error), &error);
            assert_int_equal(number, i);
        }
        for (size_t i = 0; i + 2 < count; i++) {
            const size_t readers[] = {i + 1, i + 2};
            const spad_graph_tensor t = {.size = 3 + (int64_t)(i * i % 11),
                                         .producer = i,
                                         .reader_count = 1 + i % 2,
                                         .readers = readers};
            size_t number;
            assert_ok(spad_graph_add_tensor(&number, graph, &t, &error), &error);
            assert_int_equal(number, i);
        }
        sweep(&host, reorder, graph, LONG_MAX);
        spad_graph_destroy(graph);
        test_host_assert_clean(&host);
    }
}

static spad_status solve_tiers(const void *problem) {
    spad_error error;
    spad_tiers_result *result = NULL;
    const spad_plan_options options = {.node_limit = 3};
    const spad_status status = spad__tiers_solve(&result, problem, &options, &error);
    spad__tiers_result_destroy(result);
    return status;
}

/* One buffer with many uses, many with few, and few or many memories: the arrays of the search have
 * sizes of every ratio. */
static void tiers_of_every_size(void **state) {
    (void)state;
    enum { LONGEST = 400, SET_UP = 32 };
    spad__random random = {4};
    for (long k = 0; k < test_effort(4 * SIZES); k++) {
        test_host host;
        test_host_init(&host);
        spad_error error;
        spad__tiers *tiers;
        int64_t uses[LONGEST];
        const int64_t longest = spad__random_in(&random, 1, 1 + k % LONGEST);
        const int64_t count = spad__random_in(&random, 2, 20 << k % 7);
        const int64_t memories = spad__random_in(&random, 2, SPAD_TIERS_MEMORIES);
        assert_ok(spad__tiers_create(&tiers, &host.host, &error), &error);
        for (int64_t m = 0; m < memories; m++) {
            const spad_tier memory = {.capacity = 40 + 20 * m, .cost = m};
            assert_ok(spad__tiers_add_memory(NULL, tiers, &memory, &error), &error);
        }
        for (int64_t i = 0; i < count; i++) {
            const int64_t used = i == 0 ? longest : 1 + i % 3;
            for (int64_t u = 0; u < used; u++) uses[u] = i + 2 * u;
            const spad__tier_buffer b = {.size = 2 + i % 30,
                                         .use_count = (size_t)used,
                                         .uses = uses,
                                         .home = SPAD__NO_MEMORY};
            assert_ok(spad__tiers_add(NULL, tiers, &b, &error), &error);
        }
        sweep(&host, solve_tiers, tiers, k < 2 ? LONG_MAX : SET_UP);
        spad__tiers_destroy(tiers);
        test_host_assert_clean(&host);
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(boxes_of_every_size),  cmocka_unit_test(groups_of_every_size),
        cmocka_unit_test(lanes_of_every_size),  cmocka_unit_test(clocks_of_every_size),
        cmocka_unit_test(graphs_of_every_size), cmocka_unit_test(tiers_of_every_size)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
