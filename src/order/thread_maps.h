/* SPDX-License-Identifier: Apache-2.0
 *
 * Thread maps: which threads of an agent access which bytes, where the accesses state it
 * (`spread`), and whether a barrier of the agent lies between two of them.
 *
 *     NAME      each byte is accessed by one thread, as the division of that name has it: the same
 *               in two accesses to a tensor means the same thread for each byte, and another name
 *               that some byte is of another thread
 *     all       each byte is accessed by several threads
 *     one       one thread accesses all of it, always the same one
 *     together  all threads as one operation: who waits for its end waits for all of it
 *     lanes     each lane of the memory is accessed by one thread, whatever the tensor
 *     unknown   by some threads
 *
 * All threads of an agent run its statements in the same order, so the accesses of any thread
 * before a `sync` of all of them are over for every thread after it. A thread learns of the
 * progress of another one in two other ways only: it waits for the end of an operation that one
 * thread issued to a unit without a group, or for a phase whose arrivals come from all threads (all
 * that are not elected).
 */
#ifndef SPAD_ORDER_THREAD_MAPS_H
#define SPAD_ORDER_THREAD_MAPS_H

#include "order/order.h"

typedef enum spad__thread_map_kind {
    SPAD__THREADS_NOT_STATED,
    SPAD__THREADS_NAMED,
    SPAD__THREADS_ALL,
    SPAD__THREADS_TOGETHER,
    SPAD__THREADS_ONE,
    SPAD__THREADS_BY_LANE,
    SPAD__THREADS_UNKNOWN
} spad__thread_map_kind;

/* Which thread accesses which bytes of a tile. A value: two maps are the same division iff their
 * fields are equal. */
typedef struct spad__thread_map {
    spad__thread_map_kind kind;
    int32_t name; /* NAMED: the first row of the kernel's accesses with this name; else -1 */
} spad__thread_map;

static inline bool spad__thread_map_equal(spad__thread_map a, spad__thread_map b) {
    return a.kind == b.kind && a.name == b.name;
}

/* Of one run. Both are NULL if no access states a map: then nothing is examined. */
typedef struct spad__thread_maps {
    spad__thread_map *of_row; /* per access of the kernel */
    int32_t *last_barrier;    /* per event: the last event of its agent before it that is a barrier
                                 of all threads of the agent; -1: none */
} spad__thread_maps;

/* Whether two accesses to the same bytes need a barrier of the agent between them. MAYBE: the maps
 * do not decide it. */
typedef enum spad__barrier_need {
    SPAD__BARRIER_NOT_NEEDED,
    SPAD__BARRIER_MAYBE_NEEDED,
    SPAD__BARRIER_NEEDED
} spad__barrier_need;

/* Freed with spad__thread_maps_free, also after a failure. SPAD_ERR_HOST_MEMORY. O(events +
 * accesses). */
spad_status spad__thread_maps_list(spad__thread_maps *maps, const spad__order *order,
                                   spad_error *error);
void spad__thread_maps_free(spad__thread_maps *maps, const spad__order *order);

/* Two accesses that are ordered for one thread of their agent: *lack is the barrier that is missing
 * for the other threads. SPAD_ERR_HOST_MEMORY. */
spad_status spad__thread_maps_lack(const spad__thread_maps *maps, const spad__clash *pair,
                                   spad__barrier_need *lack, spad_error *error);

/* The same for an access of an event and the init or invalidate of an mbarrier in its bytes, which
 * one thread does: the event `other`, before the access (`first`) or after it. */
spad_status spad__thread_maps_lack_mbarrier(const spad__thread_maps *maps, spad__order *order,
                                            int32_t event, size_t access, int32_t other, bool first,
                                            spad__barrier_need *lack, spad_error *error);

/* An mbarrier is initialised and invalidated by one thread: a barrier of the agent lies
 * between that and waits of the other threads. */
spad_status spad__thread_maps_find(const spad__thread_maps *maps, spad__order *order,
                                   spad_error *error);

#endif
