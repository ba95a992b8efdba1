/* SPDX-License-Identifier: Apache-2.0
 *
 * Which fences a kernel has, and which of them come between two points.
 */
#ifndef SPAD_ORDER_FENCES_H
#define SPAD_ORDER_FENCES_H

#include "order/order.h"

/* Fences of one kind by one agent: points[first .. end), in a total order, which the bisection of
 * spad__fences_between relies on. Arrivals on a unit take effect when its operations are done, in
 * the order of the unit and not of the agent, so they are a run of their own. */
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
    uint64_t proxy_spaces; /* that threads and the async proxy access */
    uint64_t needed;       /* fences of the target that a unit needs */
} spad__fences;

/* The fence that a pair of accesses needs: a proxy fence for a space, or a fence of the target. */
typedef struct spad__fence_need {
    int64_t fence; /* -1: a proxy fence */
    uint64_t spaces;
    unsigned when;
    int32_t agent; /* whose; -1: of any agent */
    bool init;     /* after the init of an mbarrier: one for that is enough */
} spad__fence_need;

/* Two accesses to the same bytes that are ordered in every execution. */
typedef struct spad__fence_pair {
    int32_t first; /* events */
    int32_t second;
    size_t space;
    int32_t from; /* points: where the first ends, and where the second starts */
    int32_t to;
} spad__fence_pair;

/* Lists the fences of all agents. Freed with spad__fences_free, also after a failure.
 * SPAD_ERR_HOST_MEMORY. */
spad_status spad__fences_list(spad__fences *fences, spad__order *order, spad_error *error);
void spad__fences_free(spad__fences *fences);

/* Sets *found if such a fence lies between two points in every execution. */
spad_status spad__fences_between(spad__fences *fences, const spad__fence_need *need, int32_t from,
                                 int32_t to, bool *found, spad_error *error);

/* True if the event accesses memory through the async proxy. */
bool spad__is_async(const spad__order *order, const spad__event *event);

/* Sets *lacking if the first access is generic, the second async, and no proxy fence is between. */
spad_status spad__fences_lack_proxy(spad__fences *fences, const spad__fence_pair *pair,
                                    bool *lacking, spad_error *error);

/* Is a fence missing that a unit of the kernel needs beyond the proxy? *need: the first one. */
spad_status spad__fences_lack_unit(spad__fences *fences, const spad__fence_pair *pair,
                                   spad__fence_need *need, bool *lacking, spad_error *error);

/* The first operation of an agent that needs a fence of its own (SPAD_FENCE_ISSUE) and has none
 * before it; -1: none exists. O(events of the agent). */
int32_t spad__find_unfenced(const spad__fences *fences, int64_t fence, size_t agent);

/* A finding about that. */
spad_status spad__report_unfenced(const spad__fences *fences, int64_t fence, int32_t event,
                                  spad_error *error);

#endif
