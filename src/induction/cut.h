/* SPDX-License-Identifier: Apache-2.0
 *
 * A cut through a run: everything that can happen while one agent stands still.
 *
 * That is the state in front of a point of the agent which happens-before gives away with the
 * clocks of the agent's chain (happens_before.h). It does not depend on who was faster, so it is
 * what to compare when the question is whether agents that run side by side repeat
 * themselves: see prove.c.
 */
#ifndef SPAD_INDUCTION_CUT_H
#define SPAD_INDUCTION_CUT_H

#include "induction/agent_sets.h"
#include "induction/recurrence.h"
#include "order/order.h"

typedef struct spad__cut {
    const spad__order *order;
    int64_t agent;                /* that stands still */
    const int32_t *clock;         /* of its chain, per point */
    int32_t index;                /* of its next point */
    const spad__agent_sets *sets; /* the state is about the set of the agent and the main program;
                                     NULL: about all agents */
    const int32_t *owner;         /* per object: the set that uses it; -1: none */
} spad__cut;

/* Is an agent a part of the state? */
static inline bool spad__cut_has(const spad__cut *cut, size_t agent) {
    return cut->sets == NULL || agent == 0 || cut->sets->of[agent] == cut->sets->of[cut->agent];
}

/* The state of a cut as numbers: where the other agents stand, operations and queued
 * statements that are under way, and synchronisation objects; all counted from where the
 * loops of the group stand. */
spad_status spad__cut_state(const spad__cut *cut, const spad__watch *watch, size_t group,
                            int64_t periods, spad__state *state, spad_error *error);

/* Numbers the runs of growing loops that have events. SPAD_ERR_HOST_MEMORY. */
spad_status spad__cut_number_runs(const spad__order *order, spad__watch *watch, spad_error *error);

/* How many such runs an agent has. */
int32_t spad__cut_count_runs(const spad__order *order, const spad__watch *watch, size_t agent);

/* Has an agent (-1: any) an event in a growing loop of a group (-1: any)? */
bool spad__acts_in_growing_loop(const spad__order *order, const spad__induction *induction,
                                int64_t agent, int64_t group);

#endif
