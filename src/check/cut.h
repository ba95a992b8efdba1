/* SPDX-License-Identifier: Apache-2.0
 *
 * A cut through a run: everything that can happen while one agent stands still.
 *
 * That is the state in front of a point of the agent which the model gives away with the
 * clocks of the agent's chain (causes.h). It does not depend on who was faster, so it is
 * what to compare when the question is whether agents that run side by side repeat
 * themselves: see prove.c.
 */
#ifndef SPAD_CHECK_CUT_H
#define SPAD_CHECK_CUT_H

#include "check/order.h"
#include "check/prove.h"

typedef struct spad__cut {
    const spad__order *order;
    int64_t agent;        /* that stands still */
    const int32_t *clock; /* of its chain, per point */
    int32_t index;        /* of its next point */
} spad__cut;

/* The state of a cut as numbers: where the other agents stand, operations and queued
 * statements that are under way, and synchronisation objects; all counted from where the
 * loops of the group stand. */
spad_status spad__cut_state(const spad__cut *cut, const spad__watch *watch, size_t group,
                            int64_t periods, spad__state *state, spad_error *error);

/* Numbers the runs of growing loops in all events, if a watch needs it. SPAD_ERR_HOST_MEMORY. */
spad_status spad__cut_number_runs(const spad__order *order, spad__watch *watch, spad_error *error);

/* Has an agent (-1: any) an event in a growing loop of a group (-1: any)? */
bool spad__acts_in_growth(const spad__order *order, const spad__growth *growth, int64_t agent,
                          int64_t group);

#endif
