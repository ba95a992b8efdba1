/* SPDX-License-Identifier: Apache-2.0
 *
 * graph: operations and the tensors between them, whose order is free within their dependencies.
 * Which order needs the least memory? Exact on small graphs, good and with a bound on large ones
 * (docs/planner.md, "Order freedom").
 */
#ifndef SPAD_GRAPH_H
#define SPAD_GRAPH_H

#ifndef SPAD_EXPERIMENTAL
#error "spad/experimental/graph.h may change in any version: define SPAD_EXPERIMENTAL"
#endif

#include "spad/plan.h"

#ifdef __cplusplus
extern "C" {
#endif

/** Externally synchronised; reordering only reads it. */
typedef struct spad_graph spad_graph;

/** "No operation". */
#define SPAD_NO_NODE SIZE_MAX

/** Bytes that operations write and read. They are live from the operation that writes them (from
 *  the beginning without one) to the last that reads them (to the end with `kept`); those that
 *  nothing reads only while they are written. */
typedef struct spad_graph_tensor {
    int64_t size;
    size_t producer; /**< number of an operation, or SPAD_NO_NODE: there from the beginning */
    size_t reader_count;
    const size_t *readers; /**< numbers of operations; one may come several times; copied */
    bool kept;             /**< live to the end */
} spad_graph_tensor;

/** An empty graph. SPAD_ERR_HOST_MEMORY. */
SPAD_API spad_status spad_graph_create(spad_graph **out, const spad_host *host, spad_error *error);

/** Frees it. NULL is fine. */
SPAD_API void spad_graph_destroy(spad_graph *graph);

/** Adds an operation that needs `scratch` bytes while it runs; *out (optional) is its number,
 *  counted from 0. SPAD_ERR_ARGUMENT: negative. */
SPAD_API spad_status spad_graph_add_node(size_t *out, spad_graph *graph, int64_t scratch,
                                         spad_error *error);

/** Adds a tensor; *out (optional) is its number. Its readers run after its producer.
 * SPAD_ERR_ARGUMENT: a negative size, an operation that there is not, or a producer that reads it;
 * SPAD_ERR_OVERFLOW: all sizes together do not fit 64 bits. */
SPAD_API spad_status spad_graph_add_tensor(size_t *out, spad_graph *graph,
                                           const spad_graph_tensor *tensor, spad_error *error);

/** `later` runs after `earlier` although it reads nothing of it. */
SPAD_API spad_status spad_graph_add_after(spad_graph *graph, size_t later, size_t earlier,
                                          spad_error *error);

/** An order and its proof. */
typedef struct spad_graph_result {
    spad_plan_verdict verdict; /**< optimal or feasible */
    size_t count;
    size_t *order;  /**< numbers of operations, first to last */
    int64_t peak;   /**< of that order */
    int64_t before; /**< of the operations in the order in which they were added; SPAD_UNBOUNDED:
                       that is against a dependency */
    int64_t bound;  /**< no order has a lower peak */
    int64_t nodes;  /**< sets of operations that were looked at */
    int64_t nanoseconds;
    void *owned;
} spad_graph_result;

/** Looks for the order with the lowest peak. Of the options, timeout_ns, node_limit (0: a million
 * sets of operations, for the proof) and seed (not used) count. SPAD_ERR_ARGUMENT: dependencies in
 * a circle, or options outside their range. */
SPAD_API spad_status spad_graph_reorder(spad_graph_result **out, const spad_graph *graph,
                                        const spad_plan_options *options, spad_error *error);

/** Frees it. NULL is fine. */
SPAD_API void spad_graph_result_destroy(spad_graph_result *result);

/** Adds a buffer for every tensor and every scratch to a plan, live as in that order: operation k
 * of the order is time k. Tensor i becomes buffer first + i (*first is optional), scratches follow
 * for operations that have any, in the order of their numbers. Nothing is added on an error. */
SPAD_API spad_status spad_plan_add_graph(size_t *first, spad_plan *plan, const spad_graph *graph,
                                         const size_t *order, size_t count, spad_error *error);

#ifdef __cplusplus
}
#endif
#endif
