/* SPDX-License-Identifier: Apache-2.0
 *
 * Lower bounds on the height of any plan; see bound.c.
 */
#ifndef SPAD_PLAN_BOUND_H
#define SPAD_PLAN_BOUND_H

#include "plan/model.h"

typedef struct spad__bound {
    int64_t height;  /* no plan is lower */
    int64_t load;    /* largest load of a section: lane-bytes over lanes, rounded up */
    int32_t section; /* the first section that has it; -1: no sections */
} spad__bound;

/* SPAD_ERR_HOST_MEMORY, SPAD_ERR_OVERFLOW. */
spad_status spad__bound_find(spad__bound *bound, const spad__model *model, spad_error *error);

#endif
