/* SPDX-License-Identifier: Apache-2.0
 *
 * Threads inside an agent: which of them run a statement, and which mbarrier phases they know to be
 * complete.
 *
 * An agent of several threads with an `elected` statement counts as two in the order of events: the
 * elected thread, which runs all statements, and the non-elected threads, which run
 *   - operations that are not elected, and the commits, group waits and drains about them,
 *   - a `sync` to which the agent brings all its threads, or 1 at a barrier that counts agents,
 *   - arrivals of all threads, or of one thread of each warp,
 *   - waits for a parity that are not elected.
 * Everything else, counters included, is run by the elected thread alone.
 *
 * A parity is one bit, so waiting for it identifies a phase only for a thread that knows the phase
 * before it to be complete. A thread knows the phases that it has waited for, and after a barrier
 * of the agent also those that any thread of the agent has waited for.
 */
#ifndef SPAD_ORDER_AGENT_THREADS_H
#define SPAD_ORDER_AGENT_THREADS_H

#include "order/event_graph.h"

/* True if the agent has several threads and one of them runs a statement alone. Never true of the
 * main program. */
bool spad__agent_elects(const spad_kernel *kernel, int64_t agent);

/* True if the event is a barrier of all threads of its agent. Fork and join are barriers of the
 * threads of the main program. */
bool spad__is_barrier_of_agent(const spad_kernel *kernel, const spad__event *event);

/* True if the non-elected threads run the event as well; `threads`: of its agent. */
bool spad__non_elected_run(const spad_kernel *kernel, const spad__event *event, int64_t threads);

/* The state of one agent in front of an event, per object. Invariant: known <= seen. */
typedef struct spad__known_phases {
    int64_t *seen;  /* phases that the elected thread has waited for */
    int64_t *known; /* phases that every thread of the agent knows to be complete */
} spad__known_phases;

/* False: no memory. Freed with spad__phases_free, also after that. */
bool spad__phases_init(spad__known_phases *phases, const spad__event_graph *graph);
void spad__phases_free(spad__known_phases *phases, const spad__event_graph *graph);

/* The start of an agent: nothing was waited for. */
void spad__phases_begin(spad__known_phases *phases, const spad__event_graph *graph);

/* Advances over the next event of an agent, in the graph of the elected threads. True at a wait for
 * a parity that means *phase for every thread. */
bool spad__phases_see(spad__known_phases *phases, const spad__event_graph *graph,
                      const spad__event *event, int64_t threads, int64_t *phase);

#endif
