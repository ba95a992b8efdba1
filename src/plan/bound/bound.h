/* SPDX-License-Identifier: Apache-2.0
 *
 * Lower bounds on the height of any plan; see bound.c.
 */
#ifndef SPAD_PLAN_BOUND_BOUND_H
#define SPAD_PLAN_BOUND_BOUND_H

#include "plan/problem/model.h"
#include "plan/problem/stop.h"

typedef struct spad__bound {
    int64_t height;        /* no plan is lower */
    spad_plan_proof proof; /* and why */
    int32_t section;       /* where that shows; -1: no sections */
    int32_t item;          /* whose top it is; -1: of no item */
    int64_t load; /* of the section with the largest load: lane-bytes over lanes, rounded up */
    int32_t peak; /* the first section that has it; -1: no sections */
    /* Items that may not share bytes, two by two, with more bytes than any section has; the list is
     * in the arena of the model. Only where pairs are kept apart. */
    const int32_t *clique;
    int64_t clique_bytes;
    int32_t clique_count; /* 0: a section has as much, or none was looked for */
} spad__bound;

/* SPAD_ERR_HOST_MEMORY, SPAD_ERR_OVERFLOW. */
spad_status spad__bound_find(spad__bound *bound, spad__model *model, spad__stop *stop,
                             spad_error *error);

#endif
