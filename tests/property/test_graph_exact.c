/* SPDX-License-Identifier: Apache-2.0
 *
 * Orders of graphs against brute force: every order of a small graph is tried, its lives are
 * counted byte by byte, and the lowest peak is the one that was proved.
 *
 *     test_graph_exact [GRAPHS [SEED]]
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/random.h"
#include "plan/graph/graph.h"
#include "spad/experimental/graph.h"
#include "support/support.h"

enum { OPS = 7, TENSORS = 9 };

static int64_t graphs = 10000;
static uint64_t seed = 2026;

typedef struct tensor {
    int64_t size;
    int producer; /* -1: given */
    bool reads[OPS];
    int readers;
    bool kept;
} tensor;

typedef struct oracle {
    int ops;
    int tensors;
    int64_t scratch[OPS];
    tensor tensor[TENSORS];
    bool after[OPS][OPS];
    int order[OPS];
    int64_t lowest; /* -1: no order at all */
} oracle;

static int position(const oracle *o, int op) {
    int at = 0;
    while (o->order[at] != op) at++;
    return at;
}

static bool obeys(const oracle *o) {
    for (int a = 0; a < o->ops; a++)
        for (int b = 0; b < o->ops; b++)
            if (o->after[a][b] && position(o, a) < position(o, b)) return false;
    for (int i = 0; i < o->tensors; i++)
        for (int v = 0; v < o->ops; v++)
            if (o->tensor[i].producer >= 0 && o->tensor[i].reads[v] &&
                position(o, v) < position(o, o->tensor[i].producer))
                return false;
    return true;
}

static bool is_alive(const oracle *o, const tensor *t, int time) {
    const int from = t->producer < 0 ? 0 : position(o, t->producer);
    if (time < from) return false;
    if (t->kept || (t->producer >= 0 && time == from)) return true;
    for (int v = 0; v < o->ops; v++)
        if (t->reads[v] && position(o, v) >= time) return true;
    return false;
}

static int64_t peak_of(const oracle *o) {
    int64_t most = 0;
    for (int time = 0; time < o->ops; time++) {
        int64_t sum = o->scratch[o->order[time]];
        for (int i = 0; i < o->tensors; i++)
            if (is_alive(o, &o->tensor[i], time)) sum += o->tensor[i].size;
        if (sum > most) most = sum;
    }
    return most;
}

static void try_orders(oracle *o, int count) {
    if (count == o->ops) {
        if (!obeys(o)) return;
        const int64_t peak = peak_of(o);
        if (o->lowest < 0 || peak < o->lowest) o->lowest = peak;
        return;
    }
    for (int k = count; k < o->ops; k++) {
        const int moved = o->order[k];
        o->order[k] = o->order[count];
        o->order[count] = moved;
        try_orders(o, count + 1);
        o->order[count] = o->order[k];
        o->order[k] = moved;
    }
}

/* ---- random graphs ----------------------------------------------------------------- */

static void random_tensor(spad__random *random, const oracle *o, tensor *t) {
    *t = (tensor){.size = spad__random_in(random, 0, 9),
                  .producer = (int)spad__random_in(random, -1, o->ops - 1),
                  .kept = spad__random_below(random, 6) == 0};
    for (int v = 0; v < o->ops; v++) {
        /* mostly forwards in a hidden order, so that circles are rare */
        const bool forward = v > t->producer || spad__random_below(random, 40) == 0;
        if (v == t->producer || !forward || spad__random_below(random, 3) > 0) continue;
        t->reads[v] = true;
        t->readers++;
    }
}

static void random_graph(spad__random *random, oracle *o, spad_graph *graph) {
    spad_error error;
    o->ops = (int)spad__random_in(random, 0, OPS - 1 + (spad__random_below(random, 20) == 0));
    o->tensors = (int)spad__random_in(random, 0, TENSORS);
    for (int v = 0; v < o->ops; v++) {
        o->order[v] = v;
        o->scratch[v] = spad__random_below(random, 4) == 0 ? spad__random_in(random, 1, 5) : 0;
        assert_ok(spad_graph_add_node(NULL, graph, o->scratch[v], &error), &error);
    }
    for (int i = 0; i < o->tensors; i++) {
        tensor *t = &o->tensor[i];
        random_tensor(random, o, t);
        size_t readers[2 * OPS];
        size_t count = 0;
        for (int v = o->ops - 1; v >= 0; v--) {
            if (t->reads[v]) readers[count++] = (size_t)v;
            if (t->reads[v] && v % 2 == 0) readers[count++] = (size_t)v; /* twice is as once */
        }
        const spad_graph_tensor given = {.size = t->size,
                                         .producer =
                                             t->producer < 0 ? SPAD_NO_NODE : (size_t)t->producer,
                                         .reader_count = count,
                                         .readers = readers,
                                         .kept = t->kept};
        assert_ok(spad_graph_add_tensor(NULL, graph, &given, &error), &error);
    }
    for (int n = 0; n < 2 && o->ops > 1; n++) {
        const int a = (int)spad__random_below(random, (uint64_t)o->ops);
        const int b = (int)spad__random_below(random, (uint64_t)o->ops);
        if (a <= b && spad__random_below(random, 30) > 0) continue;
        if (a == b) continue;
        o->after[a][b] = true;
        assert_ok(spad_graph_add_after(graph, (size_t)a, (size_t)b, &error), &error);
    }
}

/* ---- the comparison ---------------------------------------------------------------- */

static void check_result(oracle *o, const spad_graph *graph, const spad_graph_result *r) {
    spad_error error;
    int64_t peak;
    assert_int_equal(r->count, o->ops);
    for (int k = 0; k < o->ops; k++) o->order[k] = (int)r->order[k];
    assert_true(obeys(o));
    assert_int_equal(r->peak, peak_of(o));
    assert_ok(spad__graph_get_peak(&peak, graph, r->order, r->count, &error), &error);
    assert_int_equal(peak, r->peak);
    assert_true(r->bound <= o->lowest && o->lowest <= r->peak && r->peak <= r->before);
    assert_true((r->verdict == SPAD_PLAN_OPTIMAL) == (r->bound == r->peak));
    spad_plan *plan;
    assert_ok(spad_plan_create(&plan, NULL, &error), &error);
    size_t first;
    assert_ok(spad_plan_add_graph(&first, plan, graph, r->order, r->count, &error), &error);
    assert_true(first == 0 && spad_plan_count(plan) >= (size_t)o->tensors);
    spad_plan_result *solved;
    assert_ok(spad_plan_solve(&solved, plan, NULL, &error), &error);
    assert_int_equal(solved->peak_load, r->peak);
    spad_plan_result_destroy(solved);
    spad_plan_destroy(plan);
}

static void compare_one(spad__random *random, int64_t *circles, int64_t *better) {
    oracle o = {.lowest = -1};
    spad_error error;
    spad_graph *graph;
    assert_ok(spad_graph_create(&graph, NULL, &error), &error);
    random_graph(random, &o, graph);
    int identity[OPS];
    for (int v = 0; v < o.ops; v++) identity[v] = v;
    const int64_t before = obeys(&o) ? peak_of(&o) : SPAD_UNBOUNDED;
    try_orders(&o, 0);
    assert_memory_equal(identity, o.order, sizeof *identity * (size_t)o.ops);
    spad_graph_result *r;
    const spad_status status = spad_graph_reorder(&r, graph, NULL, &error);
    if (o.lowest < 0) {
        assert_int_equal(status, SPAD_ERR_ARGUMENT);
        assert_null(r);
        ++*circles;
    } else {
        assert_ok(status, &error);
        assert_int_equal(r->before, before);
        check_result(&o, graph, r);
        assert_int_equal(r->verdict, SPAD_PLAN_OPTIMAL);
        assert_int_equal(r->peak, o.lowest);
        *better += r->peak < r->before && r->before != SPAD_UNBOUNDED;
        spad_graph_result_destroy(r);
        const spad_plan_options few = {.node_limit = 1 + (int64_t)spad__random_below(random, 6)};
        assert_ok(spad_graph_reorder(&r, graph, &few, &error), &error);
        check_result(&o, graph, r);
        spad_graph_result_destroy(r);
    }
    spad_graph_destroy(graph);
}

static void orders_agree_with_brute_force(void **state) {
    (void)state;
    spad__random random = {seed};
    int64_t circles = 0;
    int64_t better = 0;
    for (int64_t n = 0; n < graphs; n++) compare_one(&random, &circles, &better);
    assert_true(graphs < 1000 || (circles > graphs / 100 && better > graphs / 20));
}

int main(int argc, char **argv) {
    if (argc > 1) graphs = strtoll(argv[1], NULL, 10);
    if (argc > 2) seed = strtoull(argv[2], NULL, 10);
    const struct CMUnitTest tests[] = {cmocka_unit_test(orders_agree_with_brute_force)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
