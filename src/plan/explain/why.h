/* SPDX-License-Identifier: Apache-2.0
 *
 * What the search for changes that make a plan fit shares: the problem, a copy of its buffers
 * that may be changed, and the time.
 */
#ifndef SPAD_PLAN_EXPLAIN_WHY_H
#define SPAD_PLAN_EXPLAIN_WHY_H

#include "base/limit.h"
#include "plan/problem/problem.h"

enum { SPAD__ATTEMPT_NODES = 20000 };

/* The reason and all its parts. */
typedef struct spad__why {
    spad_plan_reason reason;
    spad_plan_result *found;
    spad__arena arena;
} spad__why;

typedef struct spad__explorer {
    const spad_plan *plan;
    const spad_plan_result *result;
    spad__why *out;
    spad_plan changed; /* shares everything with the problem but the buffers */
    spad_plan_change *changes;
    size_t *tried; /* buffers to change, largest first */
    size_t tried_count;
    size_t places_kept;
    spad__limit limit;
    int64_t reserve; /* ns that single changes leave for sets */
} spad__explorer;

/* Is the buffer live at the time, and needs its bytes? */
bool spad__is_live(const spad_plan_buffer *buffer, int64_t time);

/* While a problem is solved: has the caller cancelled? The context is the limit. */
int spad__attempt_ask(void *context, const spad_plan_progress *progress);

/* A cancelled call has no result: SPAD_ERR_CANCELLED. */
spad_status spad__attempt_goes_on(const spad__explorer *x, spad_error *error);

/* Solves the changed problem. *found: a plan within the capacity, owned by the caller; NULL: no
 * plan was found, or the time is over. SPAD_ERR_HOST_MEMORY, SPAD_ERR_CANCELLED. */
spad_status spad__attempt(spad__explorer *x, spad_plan_result **found, spad_error *error);

/* A copy of the places of a result; NULL: there is no room for them (SPAD_PLAN_PLACES_KEPT). */
spad_status spad__keep_places(spad__explorer *x, const spad_plan_result *result,
                              spad_plan_place **out, spad_error *error);

/* Fills in the sets of buffers to spill (spill.c). */
spad_status spad__find_spills(spad__explorer *x, spad_error *error);

#endif
