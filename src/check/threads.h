/* SPDX-License-Identifier: Apache-2.0
 *
 * What the threads of an agent know of the phases of mbarriers.
 *
 * A wait for a parity means one phase for a thread that has waited for the phase before. All
 * threads wait where their agent does; where they meet, all know what one of them has waited for.
 */
#ifndef SPAD_CHECK_THREADS_H
#define SPAD_CHECK_THREADS_H

#include "check/order.h"

/* Of one agent, up to an event; by object. */
typedef struct spad__known_phases {
    int64_t *seen;  /* phases that the agent has waited for */
    int64_t *known; /* those that each of its threads knows of */
} spad__known_phases;

/* False: no memory. Freed with spad__phases_free, also after that. */
bool spad__phases_init(spad__known_phases *phases, const spad__order *order);
void spad__phases_free(spad__known_phases *phases, const spad__order *order);

/* The start of an agent: nothing was waited for. */
void spad__phases_begin(spad__known_phases *phases, const spad__order *order);

/* The next event of an agent of so many threads. Of a wait for a parity: *phase is the phase, and
 * the result whether it is this one for every thread. */
bool spad__phases_see(spad__known_phases *phases, const spad__order *order,
                      const spad__event *event, int64_t threads, int64_t *phase);

/* Does a `sync` bring together all threads of an agent? */
bool spad__threads_meet_at(const spad__event *sync, int64_t threads);

/* Has an agent several threads, and does one of them run something alone? */
bool spad__agent_elects(const spad_kernel *kernel, int64_t agent);

#endif
