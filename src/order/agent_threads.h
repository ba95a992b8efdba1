/* SPDX-License-Identifier: Apache-2.0
 *
 * Threads inside an agent: which of them run a statement, and what they know of the phases of
 * mbarriers.
 *
 * An agent of several threads that has something `elected` is two in the order of events: the
 * elected thread, which runs all statements, and the others, which run
 *   - operations that are not elected, and the commits, group waits and drains about them,
 *   - a `sync` to which the agent brings all its threads, or 1 at a barrier that counts agents,
 *   - arrivals of all threads, or of one thread of each warp,
 *   - waits for a parity that are not elected.
 * All else is of the elected thread, counters among it.
 *
 * A wait for a parity means one phase for a thread that has waited for the phase before. After a
 * barrier of the agent all know what one of them has waited for.
 */
#ifndef SPAD_ORDER_AGENT_THREADS_H
#define SPAD_ORDER_AGENT_THREADS_H

#include "order/event_graph.h"

/* Has an agent several threads, and does one of them do something alone? Never the main program. */
bool spad__agent_elects(const spad_kernel *kernel, int64_t agent);

/* Is an event a barrier of all threads of its agent? Those of the main program have one where
 * agents begin and end. */
bool spad__is_barrier_of_agent(const spad_kernel *kernel, const spad__event *event);

/* Do the other threads of an agent of so many run an event, too? */
bool spad__non_elected_run(const spad_kernel *kernel, const spad__event *event, int64_t threads);

/* Of one agent, up to an event; by object. */
typedef struct spad__known_phases {
    int64_t *seen;  /* phases that the elected thread has waited for */
    int64_t *known; /* those that each thread knows of */
} spad__known_phases;

/* False: no memory. Freed with spad__phases_free, also after that. */
bool spad__phases_init(spad__known_phases *phases, const spad__event_graph *graph);
void spad__phases_free(spad__known_phases *phases, const spad__event_graph *graph);

/* The start of an agent: nothing was waited for. */
void spad__phases_begin(spad__known_phases *phases, const spad__event_graph *graph);

/* The next event of an agent of so many threads, in the graph of the elected ones. Of a wait for a
 * parity: *phase is the phase, and the result whether it is this one for every thread. */
bool spad__phases_see(spad__known_phases *phases, const spad__event_graph *graph,
                      const spad__event *event, int64_t threads, int64_t *phase);

#endif
