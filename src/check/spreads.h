/* SPDX-License-Identifier: Apache-2.0
 *
 * Which threads of an agent access which bytes, where the accesses state it (`spread`), and whether
 * the threads have met between two of them.
 *
 *     NAME      each byte is accessed by one thread, as the division of that name has it: the same
 *               in two accesses to a tensor means the same thread for each byte, and another name
 *               that some byte is of another thread
 *     all       each byte is accessed by several threads
 *     one       one thread accesses all of it, always the same one
 *     together  all threads as one operation: who waits for its end waits for all of it
 *     unknown   by some threads
 *
 * All threads of an agent run its statements in the same order, so what one of them has done before
 * a `sync` of all of them is over for each of them after it. That is the only way in which a thread
 * learns how far another one is, but for the end of an operation of one thread on a unit, where it
 * has no group, and for arrivals, which are of all threads unless they are elected: phases tell of
 * them to all that wait.
 */
#ifndef SPAD_CHECK_SPREADS_H
#define SPAD_CHECK_SPREADS_H

#include "check/order.h"

typedef struct spad__spreads {
    int32_t *met; /* per event: the last event of its agent before it at which all threads meet; -1:
                     none. NULL: nothing states a spread */
} spad__spreads;

/* Must the threads of the agent meet between two accesses to the same bytes? */
typedef enum spad__meeting { SPAD__MEET_NOT, SPAD__MEET_MAYBE, SPAD__MEET_MUST } spad__meeting;

/* Freed with spad__spreads_free, also after a failure. SPAD_ERR_HOST_MEMORY. O(events). */
spad_status spad__spreads_list(spad__spreads *spreads, const spad__order *order, spad_error *error);
void spad__spreads_free(spad__spreads *spreads, const spad__order *order);

/* Accesses x and y of two events, ordered for one thread of their agent: what is missing between
 * them for the others? MEET_NOT: nothing. SPAD_ERR_HOST_MEMORY. */
spad_status spad__spreads_lack(const spad__spreads *spreads, const spad__clash *pair,
                               spad__meeting *lack, spad_error *error);

/* The same for an access of an event and the init or invalidate of an mbarrier in its bytes, which
 * one thread does: the event `other`, before the access (`first`) or after it. */
spad_status spad__spreads_lack_barrier(const spad__spreads *spreads, spad__order *order,
                                       int32_t event, size_t access, int32_t other, bool first,
                                       spad__meeting *lack, spad_error *error);

/* An mbarrier is initialised and invalidated by one thread: the threads of the agent meet before
 * others wait for it, and after. */
spad_status spad__spreads_find(const spad__spreads *spreads, spad__order *order, spad_error *error);

#endif
