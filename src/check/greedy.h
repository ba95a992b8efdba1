/* SPDX-License-Identifier: Apache-2.0
 *
 * The machine: one run of a net in which everything happens as soon as it can.
 *
 * Its state is a count of missing predecessors per point and a few numbers per
 * object, in plain arrays. A point that is ready but whose object holds it back is
 * parked at the object and examined again when the object changes. Deterministic:
 * first ready, first done. O(points + edges), and every look at a parked point.
 *
 * The run is one execution, so what goes wrong in it can go wrong. That the phases it
 * finds are those of every execution is for the model to show (phases.c).
 */
#ifndef SPAD_CHECK_GREEDY_H
#define SPAD_CHECK_GREEDY_H

#include "check/net.h"

typedef struct spad__object_state {
    spad__sync_object sync;
    int32_t parked; /* first point that waits here; -1 */
    int32_t last;   /* barrier: newest entry of this phase; -1 */
} spad__object_state;

/* What went wrong: one of SPAD__SYNC_... that is a fault, or */
enum { SPAD__FAULT_REENTRY = 1 << 16 }; /* an agent arrives twice at one phase of a barrier */

typedef struct spad__fault {
    unsigned kind;
    int32_t action;
} spad__fault;

typedef struct spad__machine {
    spad__net *net; /* its actions get their phases */
    int32_t *first; /* per point, and one more: its first successor */
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
    SPAD_ARRAY(spad__fault) faults;
} spad__machine;

/* Runs the net to its end, or until nothing can happen. Freed with spad__machine_free, also
 * after a failure. SPAD_ERR_HOST_MEMORY. */
spad_status spad__machine_run(spad__machine *machine, spad__net *net, spad_error *error);
void spad__machine_free(spad__machine *machine);

#endif
