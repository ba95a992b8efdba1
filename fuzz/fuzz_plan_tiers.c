/* SPDX-License-Identifier: Apache-2.0
 *
 * Graphs whose order is free and buffers in several memories, made of any bytes: results agree with
 * themselves and with the planner.
 */
#include <stdint.h>
#include <stdlib.h>

#include "plan/graph/graph.h"
#include "plan/tiers/tiers.h"
#include "spad/experimental/graph.h"

typedef struct bytes {
    const uint8_t *at;
    const uint8_t *end;
} bytes;

static int64_t take(bytes *b, int64_t below) {
    return b->at < b->end ? *b->at++ % below : 0;
}

/* ---- graphs ------------------------------------------------------------------------ */

static void judge_order(const spad_graph *graph, const spad_graph_result *r) {
    spad_error error;
    int64_t peak;
    if (spad__graph_get_peak(&peak, graph, r->order, r->count, &error) != SPAD_OK) abort();
    if (peak != r->peak || r->bound > r->peak || r->peak > r->before) abort();
    if ((r->verdict == SPAD_PLAN_OPTIMAL) != (r->bound == r->peak)) abort();
    spad_plan *plan;
    if (spad_plan_create(&plan, NULL, &error) != SPAD_OK) return;
    if (spad_plan_add_graph(NULL, plan, graph, r->order, r->count, &error) != SPAD_OK) abort();
    spad_plan_destroy(plan);
}

static void make_graph(bytes *b, int64_t unit) {
    spad_error error;
    spad_graph *graph;
    spad_graph_result *r;
    if (spad_graph_create(&graph, NULL, &error) != SPAD_OK) return;
    const int64_t count = take(b, 20);
    for (int64_t i = 0; i < count; i++)
        (void)spad_graph_add_node(NULL, graph, take(b, 4) * unit, &error);
    while (b->at < b->end && b->end - b->at > 60) {
        size_t readers[3];
        spad_graph_tensor t = {.size = (take(b, 64) - 1) * unit};
        t.producer = (size_t)take(b, 22);
        if (t.producer == 21) t.producer = SPAD_NO_NODE;
        t.kept = take(b, 5) == 0;
        t.reader_count = (size_t)take(b, 4);
        for (size_t k = 0; k < t.reader_count; k++) readers[k] = (size_t)take(b, 21);
        t.readers = readers;
        (void)spad_graph_add_tensor(NULL, graph, &t, &error); /* many are refused */
        if (take(b, 8) == 0)
            (void)spad_graph_add_after(graph, (size_t)take(b, 21), (size_t)take(b, 21), &error);
    }
    const spad_plan_options options = {.node_limit = 300};
    if (spad_graph_reorder(&r, graph, &options, &error) == SPAD_OK) {
        judge_order(graph, r);
        spad_graph_result_destroy(r);
    }
    spad_graph_destroy(graph);
}

/* ---- memories ---------------------------------------------------------------------- */

static void judge_tiers(const spad_tiers_result *r, const int64_t *capacity, const int64_t *sizes) {
    if (r->bound > r->cost) abort();
    if ((r->verdict == SPAD_PLAN_OPTIMAL) != (r->bound == r->cost && r->cost != SPAD_UNBOUNDED))
        abort();
    for (size_t k = 0; k < r->stay_count; k++) {
        const spad_tier_stay *x = &r->stays[k];
        if (x->lower > x->upper || x->offset < 0) abort();
        if (x->lower < x->upper && x->offset > capacity[x->memory] - sizes[x->buffer]) abort();
    }
}

static void make_tiers(bytes *b, int64_t unit) {
    spad_error error;
    spad__tiers *tiers;
    spad_tiers_result *r;
    int64_t capacity[4];
    int64_t sizes[12];
    size_t count = 0;
    if (spad__tiers_create(&tiers, NULL, &error) != SPAD_OK) return;
    const int64_t memories = take(b, 4);
    for (int64_t m = 0; m < memories; m++) {
        capacity[m] = take(b, 3) == 0 ? SPAD_UNBOUNDED : take(b, 64) * unit;
        const spad_tier memory = {.capacity = capacity[m], .cost = take(b, 5)};
        (void)spad__tiers_add_memory(NULL, tiers, &memory, &error);
    }
    while (b->at < b->end && count < 12) {
        int64_t uses[4];
        int64_t at = take(b, 8);
        spad__tier_buffer x = {.size = take(b, 32) * unit, .uses = uses};
        x.use_count = (size_t)take(b, 5);
        for (size_t k = 0; k < x.use_count; k++, at += take(b, 9)) uses[k] = at;
        x.memories = (uint32_t)take(b, 16);
        x.home = (size_t)take(b, 6);
        if (x.home >= 4) x.home = SPAD__NO_MEMORY;
        x.kept = take(b, 3) == 0;
        x.constant = take(b, 3) == 0;
        x.alignment = take(b, 5);
        if (spad__tiers_add(NULL, tiers, &x, &error) == SPAD_OK) sizes[count++] = x.size;
    }
    const spad_plan_options options = {.node_limit = 60};
    if (spad__tiers_solve(&r, tiers, &options, &error) == SPAD_OK) {
        judge_tiers(r, capacity, sizes);
        spad__tiers_result_destroy(r);
    }
    spad__tiers_destroy(tiers);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    bytes b = {data, data + size};
    const int64_t unit = take(&b, 2) == 0 ? 1 : INT64_C(1) << 40;
    if (take(&b, 2) == 0)
        make_graph(&b, unit);
    else
        make_tiers(&b, unit);
    return 0;
}
