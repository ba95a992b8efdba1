/* SPDX-License-Identifier: Apache-2.0
 *
 * Graphs of operations: building one, the peak of an order, an order as a planning problem. Every
 * call is O(size of what it is given), peaks and plans O(graph).
 */
#include "plan/graph/graph.h"

#include <stdlib.h>
#include <string.h>

#include "base/assert.h"
#include "base/checked.h"
#include "base/error.h"
#include "plan/problem/problem.h"

spad_status spad_graph_create(spad_graph **out, const spad_host *host, spad_error *error) {
    *out = NULL;
    const spad_host memory = spad__host_or_default(host);
    spad_graph *graph = spad__new(&memory, sizeof *graph);
    if (graph == NULL) return spad__fail_host_memory(error);
    graph->host = memory;
    graph->arena.host = memory;
    *out = graph;
    return SPAD_OK;
}

void spad_graph_destroy(spad_graph *graph) {
    if (graph == NULL) return;
    const spad_host host = graph->host;
    spad__array_free(&host, &graph->scratch);
    spad__array_free(&host, &graph->tensors);
    spad__array_free(&host, &graph->afters);
    spad__arena_free(&graph->arena);
    spad__free(&host, graph, sizeof *graph);
}

/* ---- building ---------------------------------------------------------------------- */

static spad_status add_graph_bytes(const spad_graph *graph, int64_t bytes, const char *what,
                                   int64_t *total, spad_error *error) {
    if (bytes < 0)
        return spad__fail(error, SPAD_ERR_ARGUMENT, "%s of %lld B is negative", what,
                          (long long)bytes);
    if (spad__add(graph->total, bytes, total)) return SPAD_OK;
    return spad__fail(error, SPAD_ERR_OVERFLOW,
                      "the sizes of all tensors and scratches together do not fit 64 bits");
}

spad_status spad_graph_add_node(size_t *out, spad_graph *graph, int64_t scratch,
                                spad_error *error) {
    int64_t total = 0;
    const spad_status status = add_graph_bytes(graph, scratch, "a scratch", &total, error);
    if (status != SPAD_OK) return status;
    if (graph->scratch.count >= INT32_MAX / 4)
        return spad__fail(error, SPAD_ERR_ARGUMENT, "a graph has at most %d operations",
                          INT32_MAX / 4);
    if (!spad__array_reserve(&graph->host, &graph->scratch, 1))
        return spad__fail_host_memory(error);
    graph->total = total;
    if (out != NULL) *out = graph->scratch.count;
    graph->scratch.items[graph->scratch.count++] = scratch;
    return SPAD_OK;
}

static spad_status check_graph_node(const spad_graph *graph, size_t node, spad_error *error) {
    if (node < graph->scratch.count) return SPAD_OK;
    return spad__fail(error, SPAD_ERR_ARGUMENT,
                      "there is no operation %zu: there are %zu, counted from 0", node,
                      graph->scratch.count);
}

static spad_status check_graph_tensor(const spad_graph *graph, const spad_graph_tensor *t,
                                      spad_error *error) {
    spad_status status = SPAD_OK;
    if (t->producer != SPAD_NO_NODE) status = check_graph_node(graph, t->producer, error);
    for (size_t k = 0; k < t->reader_count && status == SPAD_OK; k++) {
        status = check_graph_node(graph, t->readers[k], error);
        if (status == SPAD_OK && t->readers[k] == t->producer)
            status = spad__fail(error, SPAD_ERR_ARGUMENT,
                                "operation %zu reads a tensor that it writes", t->producer);
    }
    return status;
}

static int compare_nodes(const void *x, const void *y) {
    const size_t a = *(const size_t *)x;
    const size_t b = *(const size_t *)y;
    return (a > b) - (a < b);
}

/* The readers, sorted, each once. NULL: no memory. */
static size_t *copy_readers(spad_graph *graph, const spad_graph_tensor *t, size_t *count) {
    size_t *readers = spad__arena_array(&graph->arena, t->reader_count + 1, sizeof *readers);
    *count = 0;
    if (readers == NULL) return NULL;
    for (size_t k = 0; k < t->reader_count; k++) readers[k] = t->readers[k];
    if (t->reader_count > 0) qsort(readers, t->reader_count, sizeof *readers, compare_nodes);
    for (size_t k = 0; k < t->reader_count; k++)
        if (*count == 0 || readers[*count - 1] != readers[k]) readers[(*count)++] = readers[k];
    return readers;
}

spad_status spad_graph_add_tensor(size_t *out, spad_graph *graph, const spad_graph_tensor *tensor,
                                  spad_error *error) {
    int64_t total = 0;
    spad_status status = add_graph_bytes(graph, tensor->size, "a tensor", &total, error);
    if (status == SPAD_OK) status = check_graph_tensor(graph, tensor, error);
    if (status != SPAD_OK) return status;
    spad_graph_tensor t = *tensor;
    const spad__arena_mark mark = spad__arena_here(&graph->arena);
    t.readers = copy_readers(graph, tensor, &t.reader_count);
    if (t.readers == NULL || !spad__array_reserve(&graph->host, &graph->tensors, 1)) {
        spad__arena_rewind(&graph->arena, mark);
        return spad__fail_host_memory(error);
    }
    graph->total = total;
    if (out != NULL) *out = graph->tensors.count;
    graph->tensors.items[graph->tensors.count++] = t;
    return SPAD_OK;
}

spad_status spad_graph_add_after(spad_graph *graph, size_t later, size_t earlier,
                                 spad_error *error) {
    spad_status status = check_graph_node(graph, later, error);
    if (status == SPAD_OK) status = check_graph_node(graph, earlier, error);
    if (status == SPAD_OK && later == earlier)
        status = spad__fail(error, SPAD_ERR_ARGUMENT, "operation %zu after itself", later);
    if (status != SPAD_OK) return status;
    if (!spad__array_reserve(&graph->host, &graph->afters, 2)) return spad__fail_host_memory(error);
    graph->afters.items[graph->afters.count++] = later;
    graph->afters.items[graph->afters.count++] = earlier;
    return SPAD_OK;
}

/* ---- orders ------------------------------------------------------------------------ */

/* place[node] is its position. False: the order does not have every operation once. */
static bool find_positions(const spad_graph *graph, const size_t *order, size_t count,
                           size_t *place) {
    if (count != graph->scratch.count) return false;
    for (size_t i = 0; i < count; i++) place[i] = SIZE_MAX;
    for (size_t i = 0; i < count; i++) {
        if (order[i] >= count || place[order[i]] != SIZE_MAX) return false;
        place[order[i]] = i;
    }
    return true;
}

static spad_status fail_order(size_t later, size_t earlier, spad_error *error) {
    return spad__fail(error, SPAD_ERR_ARGUMENT,
                      "operation %zu comes before operation %zu, which it depends on", later,
                      earlier);
}

static spad_status check_dependencies(const spad_graph *graph, const size_t *place,
                                      spad_error *error) {
    for (size_t i = 0; i < graph->tensors.count; i++) {
        const spad_graph_tensor *t = &graph->tensors.items[i];
        for (size_t k = 0; t->producer != SPAD_NO_NODE && k < t->reader_count; k++)
            if (place[t->readers[k]] < place[t->producer])
                return fail_order(t->readers[k], t->producer, error);
    }
    for (size_t k = 0; k < graph->afters.count; k += 2)
        if (place[graph->afters.items[k]] < place[graph->afters.items[k + 1]])
            return fail_order(graph->afters.items[k], graph->afters.items[k + 1], error);
    return SPAD_OK;
}

/* The life of a tensor in an order; false: it has none. */
static bool life_in_order(const spad_graph *graph, const spad_graph_tensor *t, const size_t *place,
                          int64_t *lower, int64_t *upper) {
    *lower = t->producer == SPAD_NO_NODE ? 0 : (int64_t)place[t->producer];
    *upper = t->producer == SPAD_NO_NODE ? 0 : *lower + 1;
    for (size_t k = 0; k < t->reader_count; k++)
        *upper = spad__max(*upper, (int64_t)place[t->readers[k]] + 1);
    if (t->kept) *upper = (int64_t)graph->scratch.count;
    return *lower < *upper;
}

/* Positions of an order that obeys all dependencies. Free `place`, which has count + 1 numbers. */
static spad_status check_graph_order(size_t **place, const spad_graph *graph, const size_t *order,
                                     size_t count, spad_error *error) {
    *place = spad__new_array(&graph->host, graph->scratch.count + 1, sizeof **place);
    if (*place == NULL) return spad__fail_host_memory(error);
    if (find_positions(graph, order, count, *place))
        return check_dependencies(graph, *place, error);
    return spad__fail(error, SPAD_ERR_ARGUMENT,
                      "%zu numbers are not an order of all %zu operations", count,
                      graph->scratch.count);
}

spad_status spad__graph_get_peak(int64_t *out, const spad_graph *graph, const size_t *order,
                                 size_t count, spad_error *error) {
    size_t *place;
    spad_status status = check_graph_order(&place, graph, order, count, error);
    const size_t room = graph->scratch.count + 1;
    int64_t *change = spad__new_array(&graph->host, room, sizeof *change);
    if (status == SPAD_OK && change == NULL) status = spad__fail_host_memory(error);
    if (status == SPAD_OK) {
        for (size_t i = 0; i < graph->tensors.count; i++) {
            const spad_graph_tensor *t = &graph->tensors.items[i];
            int64_t lower;
            int64_t upper;
            if (!life_in_order(graph, t, place, &lower, &upper)) continue;
            change[lower] += t->size;
            change[upper] -= t->size;
        }
        *out = 0;
        for (size_t k = 0; k < count; k++) {
            if (k > 0) change[k] += change[k - 1];
            *out = spad__max(*out, change[k] + graph->scratch.items[order[k]]);
        }
    }
    spad__free(&graph->host, place, room * sizeof *place);
    spad__free(&graph->host, change, room * sizeof *change);
    return status;
}

static spad_status add_live_ranges(spad_plan *plan, const spad_graph *graph, const size_t *place,
                                   spad_error *error) {
    spad_status status = SPAD_OK;
    for (size_t i = 0; i < graph->tensors.count && status == SPAD_OK; i++) {
        const spad_graph_tensor *t = &graph->tensors.items[i];
        spad_plan_buffer b = {.size = t->size};
        if (!life_in_order(graph, t, place, &b.lower, &b.upper)) {
            b.size = 0; /* never live: a buffer all the same, so that numbers agree */
            b.upper = b.lower + 1;
        }
        status = spad_plan_add(NULL, plan, &b, error);
    }
    for (size_t v = 0; v < graph->scratch.count && status == SPAD_OK; v++) {
        const spad_plan_buffer b = {.size = graph->scratch.items[v],
                                    .lower = (int64_t)place[v],
                                    .upper = (int64_t)place[v] + 1};
        if (b.size > 0) status = spad_plan_add(NULL, plan, &b, error);
    }
    return status;
}

spad_status spad_plan_add_graph(size_t *first, spad_plan *plan, const spad_graph *graph,
                                const size_t *order, size_t count, spad_error *error) {
    size_t *place;
    const size_t before = plan->buffers.count;
    spad_status status = check_graph_order(&place, graph, order, count, error);
    if (status == SPAD_OK) status = add_live_ranges(plan, graph, place, error);
    if (status != SPAD_OK) spad__plan_forget(plan, before);
    if (status == SPAD_OK && first != NULL) *first = before;
    spad__free(&graph->host, place, (graph->scratch.count + 1) * sizeof *place);
    return status;
}

/* ---- for the search ---------------------------------------------------------------- */

/* first has the sizes of the lists, one further; makes beginnings of them. */
static bool start_lists(spad__deps *d, spad__lists *lists) {
    for (int32_t v = 0; v < d->count; v++) lists->first[v + 1] += lists->first[v];
    lists->numbers =
        spad__arena_array(&d->arena, (size_t)lists->first[d->count] + 1, sizeof *lists->numbers);
    return lists->numbers != NULL;
}

/* Where the next entries of the lists go. */
typedef struct list_ends {
    int32_t *earlier;
    int32_t *later;
    int32_t *inputs;
} list_ends;

/* Counts (while there are no numbers) or writes an entry. */
static void list_number(spad__lists *lists, int32_t *ends, size_t node, size_t number) {
    const int32_t at = ends[node]++;
    if (lists->numbers != NULL) lists->numbers[at] = (int32_t)number;
}

static void fill_lists(spad__deps *d, list_ends ends) {
    const spad_graph *g = d->graph;
    for (size_t i = 0; i < g->tensors.count; i++) {
        const spad_graph_tensor *t = &g->tensors.items[i];
        for (size_t k = 0; k < t->reader_count; k++) {
            list_number(&d->inputs, ends.inputs, t->readers[k], i);
            if (t->producer == SPAD_NO_NODE) continue;
            list_number(&d->earlier, ends.earlier, t->readers[k], t->producer);
            list_number(&d->later, ends.later, t->producer, t->readers[k]);
        }
    }
    for (size_t k = 0; k < g->afters.count; k += 2) {
        list_number(&d->earlier, ends.earlier, g->afters.items[k], g->afters.items[k + 1]);
        list_number(&d->later, ends.later, g->afters.items[k + 1], g->afters.items[k]);
    }
}

static void sum_bytes(spad__deps *d) {
    const spad_graph *g = d->graph;
    for (int32_t v = 0; v < d->count; v++) d->during[v] = g->scratch.items[v];
    for (size_t i = 0; i < g->tensors.count; i++) {
        const spad_graph_tensor *t = &g->tensors.items[i];
        const bool used = t->reader_count > 0 || t->kept;
        if (t->producer == SPAD_NO_NODE) {
            if (used) d->initial += t->size;
            continue;
        }
        d->during[t->producer] += t->size;
        if (used) d->left[t->producer] += t->size;
    }
}

spad_status spad__deps_build(spad__deps *d, const spad_graph *graph) {
    *d = (spad__deps){.graph = graph, .arena.host = graph->host};
    d->count = (int32_t)graph->scratch.count;
    const size_t n = (size_t)d->count + 2;
    d->earlier.first = spad__arena_array(&d->arena, n, sizeof(int32_t));
    d->later.first = spad__arena_array(&d->arena, n, sizeof(int32_t));
    d->inputs.first = spad__arena_array(&d->arena, n, sizeof(int32_t));
    int32_t *at = spad__arena_array(&d->arena, n, 3 * sizeof *at);
    d->during = spad__arena_array(&d->arena, n, sizeof *d->during);
    d->left = spad__arena_array(&d->arena, n, sizeof *d->left);
    if (d->earlier.first == NULL || d->later.first == NULL || d->inputs.first == NULL ||
        at == NULL || d->during == NULL || d->left == NULL)
        return SPAD_ERR_HOST_MEMORY;
    fill_lists(d, (list_ends){d->earlier.first + 1, d->later.first + 1, d->inputs.first + 1});
    if (!start_lists(d, &d->earlier) || !start_lists(d, &d->later) || !start_lists(d, &d->inputs))
        return SPAD_ERR_HOST_MEMORY;
    memcpy(at, d->earlier.first, n * sizeof *at);
    memcpy(at + n, d->later.first, n * sizeof *at);
    memcpy(at + 2 * n, d->inputs.first, n * sizeof *at);
    fill_lists(d, (list_ends){at, at + n, at + 2 * n});
    sum_bytes(d);
    return SPAD_OK;
}

void spad__deps_free(spad__deps *d) {
    spad__arena_free(&d->arena);
}
