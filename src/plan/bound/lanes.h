/* SPDX-License-Identifier: Apache-2.0
 *
 * Lower bounds on the height of any plan from the lanes of a space; see lanes.c.
 */
#ifndef SPAD_PLAN_BOUND_LANES_H
#define SPAD_PLAN_BOUND_LANES_H

#include "plan/problem/model.h"

typedef struct spad__lane_bound {
    int64_t height;  /* no plan is lower */
    int32_t section; /* where that shows; -1: nothing does */
} spad__lane_bound;

/* Whether every tile of `lanes` lanes takes this lane, wherever it starts. */
bool spad__lanes_force(const spad_plan *plan, int64_t lanes, int64_t lane);

/* SPAD_ERR_HOST_MEMORY. */
spad_status spad__lanes_bound(spad__lane_bound *bound, const spad__model *model);

#endif
