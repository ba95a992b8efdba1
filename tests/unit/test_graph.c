/* SPDX-License-Identifier: Apache-2.0
 * Graphs of operations: refusals, limits, large ones, memory. Small ones:
 * property/test_graph_exact. */
#include <stdlib.h>
#include <string.h>

#include "base/random.h"
#include "plan/graph/graph.h"
#include "spad/experimental/graph.h"
#include "support/support.h"

static spad_graph *new_graph(size_t operations) {
    spad_error error;
    spad_graph *graph;
    assert_ok(spad_graph_create(&graph, NULL, &error), &error);
    for (size_t i = 0; i < operations; i++)
        assert_ok(spad_graph_add_node(NULL, graph, 0, &error), &error);
    return graph;
}

static void tensor(spad_graph *graph, int64_t size, size_t producer, size_t reader) {
    spad_error error;
    const spad_graph_tensor t = {
        .size = size, .producer = producer, .reader_count = 1, .readers = &reader};
    assert_ok(spad_graph_add_tensor(NULL, graph, &t, &error), &error);
}

static void refused(spad_status got, spad_status wanted, const spad_error *error,
                    const char *message) {
    assert_int_equal(got, wanted);
    assert_string_equal(error->message, message);
}

static void orders_are_checked(void **state) {
    (void)state;
    spad_error e;
    int64_t peak;
    size_t number;
    spad_graph *graph = new_graph(3);
    tensor(graph, 8, 0, 1);
    assert_ok(spad_graph_add_after(graph, 2, 1, &e), &e);
    const size_t good[] = {0, 1, 2};
    const size_t twice[] = {0, 1, 1};
    const size_t beyond[] = {0, 1, 3};
    const size_t early[] = {1, 0, 2};
    const size_t before[] = {0, 2, 1};
    assert_ok(spad__graph_get_peak(&peak, graph, good, 3, &e), &e);
    assert_int_equal(peak, 8);
    refused(spad__graph_get_peak(&peak, graph, good, 2, &e), SPAD_ERR_ARGUMENT, &e,
            "2 numbers are not an order of all 3 operations");
    assert_int_equal(spad__graph_get_peak(&peak, graph, twice, 3, &e), SPAD_ERR_ARGUMENT);
    assert_int_equal(spad__graph_get_peak(&peak, graph, beyond, 3, &e), SPAD_ERR_ARGUMENT);
    refused(spad__graph_get_peak(&peak, graph, early, 3, &e), SPAD_ERR_ARGUMENT, &e,
            "operation 1 comes before operation 0, which it depends on");
    refused(spad__graph_get_peak(&peak, graph, before, 3, &e), SPAD_ERR_ARGUMENT, &e,
            "operation 2 comes before operation 1, which it depends on");
    spad_plan *plan;
    assert_ok(spad_plan_create(&plan, NULL, &e), &e);
    assert_int_equal(spad_plan_add_graph(&number, plan, graph, early, 3, &e), SPAD_ERR_ARGUMENT);
    assert_int_equal(spad_plan_count(plan), 0);
    spad_plan_destroy(plan);
    spad_graph_destroy(graph);
    spad_graph_destroy(NULL);
    spad_graph_result_destroy(NULL);
}

static void graphs_are_checked(void **state) {
    (void)state;
    spad_error e;
    spad_graph *graph = new_graph(2);
    const size_t reader = 1;
    spad_graph_tensor t = {.size = INT64_MAX, .producer = 0, .reader_count = 1, .readers = &reader};
    assert_ok(spad_graph_add_tensor(NULL, graph, &t, &e), &e);
    refused(spad_graph_add_node(NULL, graph, 1, &e), SPAD_ERR_OVERFLOW, &e,
            "the sizes of all tensors and scratches together do not fit 64 bits");
    refused(spad_graph_add_node(NULL, graph, -1, &e), SPAD_ERR_ARGUMENT, &e,
            "a scratch of -1 B is negative");
    t = (spad_graph_tensor){.producer = 1, .reader_count = 1, .readers = &reader};
    refused(spad_graph_add_tensor(NULL, graph, &t, &e), SPAD_ERR_ARGUMENT, &e,
            "operation 1 reads a tensor that it writes");
    t.producer = 2;
    refused(spad_graph_add_tensor(NULL, graph, &t, &e), SPAD_ERR_ARGUMENT, &e,
            "there is no operation 2: there are 2, counted from 0");
    refused(spad_graph_add_after(graph, 1, 1, &e), SPAD_ERR_ARGUMENT, &e,
            "operation 1 after itself");
    spad_graph_result *r;
    const spad_plan_options negative = {.timeout_ns = -1};
    assert_int_equal(spad_graph_reorder(&r, graph, &negative, &e), SPAD_ERR_ARGUMENT);
    const spad_plan_options no_nodes = {.node_limit = -1};
    refused(spad_graph_reorder(&r, graph, &no_nodes, &e), SPAD_ERR_ARGUMENT, &e,
            "a deadline of 0 ns and -1 nodes: neither may be negative");
    assert_null(r);
    assert_ok(spad_graph_reorder(&r, graph, NULL, &e), &e);
    assert_true(r->peak == INT64_MAX && r->verdict == SPAD_PLAN_OPTIMAL);
    spad_graph_result_destroy(r);
    assert_ok(spad_graph_add_after(graph, 0, 1, &e), &e);
    refused(spad_graph_reorder(&r, graph, NULL, &e), SPAD_ERR_ARGUMENT, &e,
            "the dependencies of the operations form a circle: no order obeys them");
    spad_graph_destroy(graph);
}

/* Branches of a large and a small tensor each, given level by level: better one after another. */
static spad_graph *branches(size_t count) {
    spad_graph *graph = new_graph(2 * count + 1);
    for (size_t i = 0; i < count; i++) {
        tensor(graph, 100, i, count + i);
        tensor(graph, 1 + (int64_t)(i % 3), count + i, 2 * count);
    }
    return graph;
}

static void branches_run_one_after_another(void **state) {
    (void)state;
    spad_error error;
    spad_graph_result *r;
    static const size_t counts[] = {4, 40, 3000}; /* the last has too many operations for sets */
    for (size_t k = 0; k < 3; k++) {
        spad_graph *graph = branches(counts[k]);
        assert_ok(spad_graph_reorder(&r, graph, NULL, &error), &error);
        assert_true(r->before >= 100 * (int64_t)counts[k]);
        assert_true(r->peak < 100 + 3 * (int64_t)counts[k]);
        assert_true(r->bound <= r->peak);
        if (k == 0) assert_int_equal(r->verdict, SPAD_PLAN_OPTIMAL);
        spad_graph_result_destroy(r);
        spad_graph_destroy(graph);
    }
}

/* A graph that is too large for a proof has a bound all the same, and limits hold. */
static void limits_leave_an_order_and_a_bound(void **state) {
    (void)state;
    spad_error error;
    spad_graph_result *r;
    spad__random random = {3};
    spad_graph *graph = new_graph(60);
    for (size_t i = 0; i < 120; i++) {
        const size_t from = (size_t)spad__random_below(&random, 50);
        tensor(graph, spad__random_in(&random, 1, 1000), from,
               from + 1 + (size_t)spad__random_below(&random, 9));
    }
    const spad_plan_options few = {.node_limit = 500};
    assert_ok(spad_graph_reorder(&r, graph, &few, &error), &error);
    assert_true(r->bound > 0 && r->bound <= r->peak && r->peak <= r->before);
    assert_true(r->nodes <= 4 * 560); /* four searches; the last set may add all its successors */
    const int64_t peak = r->peak;
    spad_graph_result_destroy(r);
    const spad_plan_options short_time = {.timeout_ns = 1};
    assert_ok(spad_graph_reorder(&r, graph, &short_time, &error), &error);
    assert_true(r->peak <= r->before && r->bound <= peak);
    spad_graph_result_destroy(r);
    spad_graph_destroy(graph);
}

static spad_status reorder_all(const spad_host *host, void *context) {
    (void)context;
    spad_graph *graph;
    spad_graph_result *r = NULL;
    spad_plan *plan = NULL;
    spad_error error;
    spad_status status = spad_graph_create(&graph, host, &error);
    if (status != SPAD_OK) return status;
    for (int64_t i = 0; i < 9 && status == SPAD_OK; i++)
        status = spad_graph_add_node(NULL, graph, i % 4, &error);
    for (size_t i = 0; i < 8 && status == SPAD_OK; i++) {
        const size_t reader = i < 4 ? i + 4 : 8;
        const spad_graph_tensor t = {
            .size = 7 + (int64_t)(i * i % 5), .producer = i, .reader_count = 1, .readers = &reader};
        status = spad_graph_add_tensor(NULL, graph, &t, &error);
    }
    if (status == SPAD_OK) status = spad_graph_add_after(graph, 7, 4, &error);
    if (status == SPAD_OK) status = spad_graph_reorder(&r, graph, NULL, &error);
    if (status == SPAD_OK) status = spad_plan_create(&plan, host, &error);
    if (status == SPAD_OK)
        status = spad_plan_add_graph(NULL, plan, graph, r->order, r->count, &error);
    spad_plan_destroy(plan);
    spad_graph_result_destroy(r);
    spad_graph_destroy(graph);
    return status;
}

static void every_allocation_of_graphs_may_fail(void **state) {
    (void)state;
    test_fail_each_allocation(reorder_all, NULL);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(orders_are_checked),
        cmocka_unit_test(graphs_are_checked),
        cmocka_unit_test(branches_run_one_after_another),
        cmocka_unit_test(limits_leave_an_order_and_a_bound),
        cmocka_unit_test(every_allocation_of_graphs_may_fail),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
