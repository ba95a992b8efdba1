/* SPDX-License-Identifier: Apache-2.0
 *
 * The executor: runs an event graph once, each point as soon as it can happen.
 *
 * Its state is a count of missing predecessors per point and a few numbers per object, in plain
 * arrays. A point that is ready but held back by its object is parked there, and examined again
 * when the object changes. Deterministic: first ready, first done. O(points + edges), plus each
 * look at a parked point.
 *
 * The run is one possible execution, so every error in it is real. The converse needs a proof: that
 * its phases are the phases of every execution is shown afterwards, with happens-before
 * (check/phases.c).
 *
 * Invariants: a point is in the queue at most once, and only with no missing predecessor; a parked
 * point is in the list of exactly one object; order[0 .. happened) is a total order that contains
 * all edges between its points.
 */
#ifndef SPAD_ORDER_EXECUTOR_H
#define SPAD_ORDER_EXECUTOR_H

#include "order/event_graph.h"

typedef struct spad__object_state {
    spad__sync_object sync;
    int32_t parked; /* first point that waits here; -1 */
    int32_t last;   /* barrier: newest entry of this phase; -1 */
} spad__object_state;

/* An agent arrives twice at one phase of a barrier. */
enum { SPAD__SYNC_REENTRY = 1 << 16 };

typedef struct spad__sync_error {
    unsigned kind; /* SPAD__SYNC_REENTRY, or one of the errors SPAD__SYNC_... of sync.h */
    int32_t action;
} spad__sync_error;

typedef struct spad__executor {
    spad__event_graph *graph; /* its actions get their phases */
    int32_t *first;           /* per point, and one more: its first successor */
    int32_t *successors;
    int32_t *missing;
    int32_t *next; /* parked after a point; -1 */
    spad__object_state *objects;
    int32_t *order; /* points as they happened */
    int32_t happened;
    int32_t *queue; /* ready points, in a cycle: a point is in it once */
    size_t head;
    size_t tail;
    size_t room;
    SPAD_ARRAY(spad__sync_error) errors;
} spad__executor;

/* Runs the graph to its end, or until nothing can happen. Freed with spad__executor_free, also
 * after a failure. SPAD_ERR_HOST_MEMORY. */
spad_status spad__executor_run(spad__executor *executor, spad__event_graph *graph,
                               spad_error *error);
void spad__executor_free(spad__executor *executor);

#endif
