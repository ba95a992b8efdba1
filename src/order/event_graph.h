/* SPDX-License-Identifier: Apache-2.0
 *
 * The event graph: the points in time of a kernel of one shape, and the edges known without running
 * it.
 *
 * A statement is one point of its agent; `sync` is two, entry and return. An operation on a unit is
 * issued by its agent and has three points of its own: it starts, has read, is done. A statement
 * queued on a unit has two, its issue and the point where it happens. Program order, the order of
 * units, commit groups, drains, fork and join hold in every execution, so they are edges from the
 * start. Barriers, counters and mbarriers order points only through the phase that each action
 * belongs to: the executor (executor.h) runs the actions once to find the phases, and
 * happens-before (happens_before.h) turns these into edges.
 *
 * A chain is a list of points in a total order: the points of an agent, the statements that an
 * agent queues on a unit, the operations of a serial unit. One run of the graph answers all queries
 * about a chain (happens_before.h), so the fewer chains, the cheaper the queries.
 *
 * Invariants: an edge joins two different points, and the edges have no cycle; the points of a
 * chain have the indices 1, 2, 3 ... in the order of its edges; the actions of a point are
 * [first_action, first_action + action_count), in the order in which they take effect.
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
    int32_t previous; /* the point before it of its agent or queue: a wait is reached there; -1 */
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

/* Groups the edges by their begin: the successors of point p are successors[first[p]] up to
 * successors[first[p + 1]], in the order of the edges; indegree counts the edges to a point. The
 * tables must be zero, and `first` has one number more than there are points. O(points + edges). */
void spad__edges_link(const spad__edge *edges, size_t count, size_t points, int32_t *first,
                      int32_t *successors, int32_t *indegree);

/* The points where the accesses of an event begin, and where they end: its reads, or with `writes`
 * its writes as well. */
int32_t spad__event_graph_first(const spad__event_graph *graph, int32_t event);
int32_t spad__event_graph_last(const spad__event_graph *graph, int32_t event, bool writes);

#endif
