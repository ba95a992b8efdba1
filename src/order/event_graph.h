/* SPDX-License-Identifier: Apache-2.0
 *
 * The event graph: the points in time of a kernel of one shape, and their known predecessors.
 *
 * A statement is one point of its agent; `sync` is two, entry and return. An
 * operation on a unit is issued by its agent and has three points of its own: it
 * starts, has read, is done. A statement that is queued on a unit is issued too, and
 * happens at a point of its own. Program order, the order of units, commit groups,
 * drains, fork and join are edges, known beforehand. What goes through barriers,
 * counters and mbarriers are actions of points: the executor (executor.h) runs them once and finds
 * the phase of each, which happens-before (happens_before.h) turns into edges.
 *
 * A chain is a list of points that edges put in a total order: those of an agent,
 * what an agent queues on a unit, the operations of a serial unit.
 */
#ifndef SPAD_ORDER_EVENT_GRAPH_H
#define SPAD_ORDER_EVENT_GRAPH_H

#include "order/events.h"
#include "order/sync.h"

typedef enum spad__point_kind {
    SPAD__POINT_STEP,   /* a statement of an agent, or its issue */
    SPAD__POINT_RETURN, /* of `sync` */
    SPAD__POINT_START,  /* of an operation on a unit; the next two follow it */
    SPAD__POINT_READ,   /* it has read */
    SPAD__POINT_DONE,   /* it has written */
    SPAD__POINT_QUEUED, /* a queued statement happens */
    SPAD__POINT_PHASE   /* a phase of an object is complete; only in happens-before */
} spad__point_kind;

typedef struct spad__point {
    spad__point_kind kind;
    int32_t event;    /* -1: begin or end of an agent */
    int32_t chain;    /* -1: none */
    int32_t index;    /* in the chain, from 1 */
    int32_t previous; /* of its agent, or queue: what waits is reached there; -1: none */
    int32_t first_action;
    int32_t action_count;
} spad__point;

/* What a point does to an object (order/sync.h). */
typedef struct spad__action {
    spad__action_kind kind;
    int32_t point;
    int32_t object;
    unsigned flags; /* SPAD_SYNC_... */
    int64_t amount;
    int64_t expect;
    /* Found by the executor. ENTER, LEAVE, ARRIVE, EXPECT, DELIVER: phase that it belongs to,
     * from 1. PARITY: phases that were complete when it passed. WAIT, TAKE: what all signals
     * must have added up to. INVALIDATE: the phase that is open; `expect` is the number
     * of arrivals that it lacks. */
    int64_t phase;
} spad__action;

typedef struct spad__edge {
    int32_t from;
    int32_t to;
} spad__edge;

typedef struct spad__event_graph {
    spad_host host;
    const spad__events *events;
    SPAD_ARRAY(spad__point) points;
    SPAD_ARRAY(spad__action) actions;
    SPAD_ARRAY(spad__edge) edges;
    int32_t *step;  /* per event: its point in the agent */
    int32_t *start; /* per event: START of an operation, QUEUED of a statement; else -1 */
    int32_t chains;
    int32_t end; /* the last point of main */
} spad__event_graph;

/* Freed with spad__event_graph_free, also after a failure. SPAD_ERR_HOST_MEMORY. */
spad_status spad__event_graph_build(spad__event_graph *graph, const spad__events *events,
                                    spad_error *error);
void spad__event_graph_free(spad__event_graph *graph);

/* The points of the non-elected threads of all agents that elect one (agent_threads.h), and the
 * edges between them; step and start are -1 for what they do not run. They have no actions:
 * non_elected.h has what they bring and wait for. The first and the last point of an agent have no
 * event. */
spad_status spad__event_graph_build_non_elected(spad__event_graph *graph,
                                                const spad__events *events, spad_error *error);

/* Lists of successors: those of point p are successors[first[p]] up to first[p + 1], in the order
 * of the edges; indegree counts the edges to a point. The tables are zero before; first has one
 * number more than there are points. O(points + edges). */
void spad__edges_link(const spad__edge *edges, size_t count, size_t points, int32_t *first,
                      int32_t *successors, int32_t *indegree);

/* Where the accesses of an event begin, and end: of those that read, or also write. */
int32_t spad__event_graph_first(const spad__event_graph *graph, int32_t event);
int32_t spad__event_graph_last(const spad__event_graph *graph, int32_t event, bool writes);

#endif
