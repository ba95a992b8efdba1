/* SPDX-License-Identifier: Apache-2.0
 *
 * A graph as the caller gave it, and what its orders need; see graph.c.
 */
#ifndef SPAD_PLAN_GRAPH_GRAPH_H
#define SPAD_PLAN_GRAPH_GRAPH_H

#include "base/memory.h"
#include "spad/experimental/graph.h"

/*
 * Invariants
 *   every number of an operation is below the count of nodes
 *   the sizes of all tensors and all scratches together fit 64 bits
 *   the readers of a tensor are sorted, each once; the producer is not one of them
 */
struct spad_graph {
    spad_host host;
    spad__arena arena; /* readers */
    int64_t total;
    SPAD_ARRAY(int64_t) scratch; /* per operation */
    SPAD_ARRAY(spad_graph_tensor) tensors;
    SPAD_ARRAY(size_t) afters; /* pairs: later, earlier */
};

/* Lists of numbers, one list for each item: those of item i are [first[i], first[i + 1]). */
typedef struct spad__lists {
    int32_t *first;
    int32_t *numbers;
} spad__lists;

/* What a search needs of a graph. */
typedef struct spad__deps {
    const spad_graph *graph;
    spad__arena arena;
    int32_t count;
    spad__lists earlier; /* per operation: those that run before it; some several times */
    spad__lists later;   /* per operation: those that run after it; as often */
    spad__lists inputs;  /* per operation: tensors that it reads */
    int64_t *during;     /* per operation: bytes that it writes, and its scratch */
    int64_t *left;       /* per operation: bytes of what it writes that stay live after it */
    int64_t initial;     /* bytes live at the beginning */
} spad__deps;

/* SPAD_ERR_HOST_MEMORY. Free it in every case. */
spad_status spad__deps_build(spad__deps *deps, const spad_graph *graph);
void spad__deps_free(spad__deps *deps);

/* The bytes live at the busiest operation of an order: what is live before it, what it writes,
 * and its scratch. SPAD_ERR_ARGUMENT: not an order of all operations, or against a dependency. */
spad_status spad__graph_get_peak(int64_t *out, const spad_graph *graph, const size_t *order,
                                 size_t count, spad_error *error);

#endif
