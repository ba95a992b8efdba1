/* SPDX-License-Identifier: Apache-2.0
 *
 * Which fences a kernel has, and which of them come between two points.
 */
#ifndef SPAD_CHECK_FENCES_H
#define SPAD_CHECK_FENCES_H

#include "check/order.h"

/* Fences of one kind by one agent: `points` from first to end, in its order. What it arrives on a
 * unit is a list of its own, in the order of the unit: it comes when the operations are done. */
typedef struct spad__fence_run {
    int64_t fence; /* of the target; -1: a proxy fence for all memory */
    int64_t unit;  /* of arrivals; -1: fences that are statements */
    unsigned when; /* SPAD_FENCE_BEFORE, SPAD_FENCE_AFTER, or 0 */
    int32_t agent;
    size_t first;
    size_t end;
} spad__fence_run;

typedef struct spad__fences {
    spad__order *order;
    SPAD_ARRAY(int32_t) points;
    SPAD_ARRAY(spad__fence_run) runs;
} spad__fences;

/* What is looked for: a proxy fence for one of the spaces, or a fence of the target. */
typedef struct spad__fence_need {
    int64_t fence; /* -1: a proxy fence */
    uint64_t spaces;
    unsigned when;
    int32_t agent; /* whose; -1: of any agent */
} spad__fence_need;

/* Lists the fences of all agents. Freed with spad__fences_free, also after a failure.
 * SPAD_ERR_HOST_MEMORY. */
spad_status spad__fences_list(spad__fences *fences, spad__order *order, spad_error *error);
void spad__fences_free(spad__fences *fences);

/* Does such a fence come after one point and before another, in every execution? */
spad_status spad__fences_between(spad__fences *fences, const spad__fence_need *need, int32_t from,
                                 int32_t to, bool *found, spad_error *error);

/* Spaces that are accessed by threads and through the async proxy; bits. */
uint64_t spad__proxy_spaces(const spad_target *target);

/* The fence that the operations of an event need; NULL: none. *number: of it. */
const spad_fence_rule *spad__fence_of_event(const spad__order *order, const spad__event *event,
                                            int64_t *number);

/* The first operation of an agent that needs a fence of its own (SPAD_FENCE_ISSUE) and has none
 * before it; -1: none exists. O(events of the agent). */
int32_t spad__find_unfenced(const spad__fences *fences, int64_t fence, size_t agent);

/* A finding about that. */
spad_status spad__report_unfenced(const spad__fences *fences, int64_t fence, int32_t event,
                                  spad_error *error);

#endif
