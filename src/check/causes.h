/* SPDX-License-Identifier: Apache-2.0
 *
 * The model: what must come before what, in every execution.
 *
 * Made from a net and the phases that the machine found. Each phase of a barrier or
 * mbarrier is a point after all its contributions and in front of its waits. A counter
 * whose signals come one after another is edges too, and so is a wait that needs every
 * signal there can be before it; other waits need an amount, from any sender. All of it is
 * monotone: nothing that happens takes away from another, so every order of doing things ends in
 * the same state, and "e before f" is decided by a run that holds e back: e comes before f in every
 * execution iff f does not happen.
 *
 * One run decides it for a whole chain: hold back the first point of the chain until
 * nothing else can happen, let it happen, hold back the next ... The clock of a point is
 * the number of points of the chain that happened before it, all of them necessary.
 * O(points + edges) per chain. A point that is on no chain is held back as well by
 * holding back what waits for it, if that is on a chain, or by a run of its own.
 *
 * `memory`: the order of memory instead of execution; `relaxed` statements carry none.
 */
#ifndef SPAD_CHECK_CAUSES_H
#define SPAD_CHECK_CAUSES_H

#include "check/greedy.h"

/* A wait for an amount that several chains add up to. */
typedef struct spad__need {
    int64_t amount;
    int64_t most; /* that there can be before it; known when its chain was run */
    int32_t point;
    int32_t object;
} spad__need;

/* What a point adds to an object that has such waits. */
typedef struct spad__gain {
    int64_t amount;
    int32_t point;
    int32_t object;
} spad__gain;

typedef struct spad__causes {
    spad_host host;
    const spad__net *net;
    bool memory;
    const spad__net *others; /* threads beside the elected ones (others.h); NULL: none */
    int32_t others_base;     /* the model's number of their first point */
    int32_t points; /* those of the net, then phases, then those of the other threads, then levels:
                       waits for many signals */
    int32_t chains; /* those of the net, then one per object, then those of the other threads */
    SPAD_ARRAY(spad__edge) edges;
    int32_t *first; /* successors, as in the machine */
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
    int32_t *reached; /* per object: needs that are met */
    int32_t *seen;    /* per point: the search that came by */
    int32_t search;
    int32_t frozen; /* the point that `alive` is about; -1 */
    bool *alive;    /* points that happen although `frozen` is held back */
} spad__causes;

/* `others`: NULL, or the threads beside the elected ones (spad__net_build_others). Freed with
 * spad__causes_free, also after a failure. SPAD_ERR_HOST_MEMORY. */
spad_status spad__causes_build(spad__causes *model, const spad__machine *machine,
                               const spad__net *others, bool memory, spad_error *error);
void spad__causes_free(spad__causes *model);

/* An edge; false: no memory. For the builder. */
bool spad__causes_add_edge(spad__causes *model, int32_t from, int32_t to);

/* Its tables, from its edges, needs and gains; false: no memory. For the builder. */
bool spad__causes_link(spad__causes *model);
void spad__causes_unlink(spad__causes *model);

/* Fills in the clocks of a chain. SPAD_ERR_HOST_MEMORY. */
spad_status spad__causes_run(spad__causes *model, int32_t chain, spad_error *error);

/* The point of a phase, from 1; -1: it never completes. */
int32_t spad__causes_phase(const spad__causes *model, int32_t object, int64_t phase);

/* Does anything wait for a point? `own`: a point that does not count. */
bool spad__causes_awaited(spad__causes *model, int32_t point, int32_t own);

/* Does `e` come before `f` in every execution? Also true for e == f. SPAD_ERR_HOST_MEMORY. */
spad_status spad__causes_before(spad__causes *model, int32_t e, int32_t f, bool *before,
                                spad_error *error);

#endif
