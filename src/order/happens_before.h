/* SPDX-License-Identifier: Apache-2.0
 *
 * Happens-before: which points precede which in every execution.
 *
 * Built from an event graph and the phases that the executor found. Each phase of a barrier or
 * mbarrier becomes a point after all its contributions and before its waits. A counter whose
 * signals are ordered becomes edges, and so does a wait that needs every signal that can precede
 * it. Any other wait for a counter is a need: an amount, from any senders (gains).
 *
 * Why one run answers a query: all conditions are monotone (a point that happens never disables
 * another), so every schedule ends in the same set of points. Hence "e before f in every execution"
 * holds iff f does not happen in a run that never executes e.
 *
 * Why one run answers a whole chain: hold back the first point of the chain until nothing else can
 * happen, release it, hold back the next, and so on. The clock of a point is the number of points
 * of the chain that happened before it, and each of them was necessary. O(points + edges) per
 * chain. A point on no chain is decided by the chains of its successors, or by a run of its own.
 *
 * Invariants: edges join different points; needs are sorted by object and amount, so that a run
 * satisfies them in that order; a need adds one to the indegree of its point; clocks[c][p] is only
 * valid for the edges of the last spad__happens_before_link.
 *
 * `memory`: the order of memory instead of execution; `relaxed` statements carry none.
 */
#ifndef SPAD_ORDER_HAPPENS_BEFORE_H
#define SPAD_ORDER_HAPPENS_BEFORE_H

#include "order/executor.h"

/* A wait for an amount that several chains add up to. */
typedef struct spad__need {
    int64_t amount;
    int64_t most; /* the largest sum that can precede it; known once its chain was run */
    int32_t point;
    int32_t object;
} spad__need;

/* The amount that a point adds to an object with such waits. */
typedef struct spad__gain {
    int64_t amount;
    int32_t point;
    int32_t object;
} spad__gain;

typedef struct spad__happens_before {
    spad_host host;
    const spad__event_graph *graph;
    bool memory;
    const spad__event_graph *non_elected; /* borrowed (non_elected.h); NULL: no agent elects */
    int32_t non_elected_base;             /* the number of their first point */
    int32_t points; /* in this order: of the graph, phases, of the non-elected threads, levels
                       (waits for many signals) */
    int32_t chains; /* in this order: of the graph, one per object, of the non-elected threads */
    SPAD_ARRAY(spad__edge) edges;
    int32_t *first; /* successors, as in the executor */
    int32_t *successors;
    int32_t *indegree;
    int32_t *chain; /* per point; -1: none */
    int32_t *index;
    int32_t *need_at; /* per point; -1: none */
    size_t linked_points;
    size_t linked_edges;
    int32_t *phase_base;          /* per object, and one more: point of its phase 1 */
    SPAD_ARRAY(spad__need) needs; /* by object, then amount */
    SPAD_ARRAY(spad__gain) gains; /* by point */
    int32_t *first_need;          /* per object, and one more */
    int32_t *first_gain;          /* per point, and one more */
    int64_t *initial;             /* per object */
    int32_t **clocks;             /* per chain; NULL: not yet run */
    size_t clock_count;
    int32_t *spent; /* per chain: points of searches that saved a run of it */
    /* of a run */
    int32_t *missing;
    int32_t *stack;
    int32_t *trail;   /* of a search */
    int64_t *values;  /* per object */
    int32_t *reached; /* per object: needs that are satisfied */
    int32_t *seen;    /* per point: the search that came by */
    int32_t search;
    int32_t frozen;  /* the point that `reachable` is about; -1 */
    bool *reachable; /* points that happen although `frozen` is held back */
} spad__happens_before;

/* non_elected: NULL, or the graph of the non-elected threads; it must outlive `hb`. Freed with
 * spad__happens_before_free, also after a failure. SPAD_ERR_HOST_MEMORY. */
spad_status spad__happens_before_build(spad__happens_before *hb, const spad__executor *executor,
                                       const spad__event_graph *non_elected, bool memory,
                                       spad_error *error);
void spad__happens_before_free(spad__happens_before *hb);

/* An edge; false: no memory. For the builder. */
bool spad__happens_before_add_edge(spad__happens_before *hb, int32_t from, int32_t to);

/* Its tables, from its edges, needs and gains; false: no memory. For the builder. */
bool spad__happens_before_link(spad__happens_before *hb);
void spad__happens_before_unlink(spad__happens_before *hb);

/* Fills in the clocks of a chain. SPAD_ERR_HOST_MEMORY. */
spad_status spad__happens_before_run(spad__happens_before *hb, int32_t chain, spad_error *error);

/* The point of a phase, from 1; -1: it never completes. */
int32_t spad__happens_before_phase(const spad__happens_before *hb, int32_t object, int64_t phase);

/* Whether an agent waits for a point, so that the agent cannot have ended before it. PERHAPS: sums
 * of signals decide; spad__ordered_before with the ends of the agents is the exact answer. */
enum { SPAD__AWAITED_NEVER, SPAD__AWAITED_PERHAPS, SPAD__AWAITED_SURELY };
/* One mark per point. `units`: points that a unit waits for count as well, and so do signals that
 * may satisfy a wait. O(points + edges). */
void spad__happens_before_mark_awaited(spad__happens_before *hb, bool units, uint8_t *marks);

/* Sets *before if `e` precedes `f` in every execution, or e == f. SPAD_ERR_HOST_MEMORY. */
spad_status spad__ordered_before(spad__happens_before *hb, int32_t e, int32_t f, bool *before,
                                 spad_error *error);

#endif
