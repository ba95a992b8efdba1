/* SPDX-License-Identifier: Apache-2.0
 *
 * The non-elected threads of agents that elect one (agent_threads.h), in happens-before: their
 * points are numbered after those of the event graph and its phases.
 *
 * Their program order is a graph of its own (event_graph.h). The edges beyond it:
 *   - a phase comes after the arrivals of all threads that count for it, after their entry into a
 *     `sync`, and after the end of their part of an operation that arrives or delivers at its end;
 *   - the return from a `sync`, and a wait for a parity, come after the phase, provided that the
 *     parity identifies the phase for a thread that knows only what it has waited for itself;
 *   - an operation on a unit of the order `same` (wgmma) belongs to all threads: a wait for the end
 *     of one part waits for both.
 * Each of these edges is already implied for the elected thread, which runs everything that the
 * non-elected threads run. So they leave the order between points of the event graph unchanged.
 */
#ifndef SPAD_ORDER_NON_ELECTED_H
#define SPAD_ORDER_NON_ELECTED_H

#include "order/happens_before.h"

/* True if an agent of the kernel elects a thread. */
bool spad__kernel_elects(const spad_kernel *kernel);

/* Adds the points and their edges to an order that has its phases. False: no memory. For the
 * builder of models. */
bool spad__non_elected_add(spad__happens_before *hb, const spad__event_graph *non_elected);

/* For two events that are ordered for the elected threads: sets *ordered if x (its reads, or with
 * `writes` also its writes) precedes y for all threads. Two events of one agent that all threads
 * run are compared thread by thread only, since nothing says which thread accesses which bytes;
 * thread maps decide the rest (thread_maps.h). SPAD_ERR_HOST_MEMORY. */
spad_status spad__non_elected_ordered(spad__happens_before *hb, int32_t x, bool writes, int32_t y,
                                      bool *ordered, spad_error *error);

/* Sets *over if the non-elected threads have finished x when the elected one begins y. Also true if
 * they do not run x. */
spad_status spad__non_elected_over(spad__happens_before *hb, int32_t x, bool writes, int32_t y,
                                   bool *over, spad_error *error);

/* True if all threads access the same memory of a tensor; false if each has its own. */
bool spad__non_elected_share(const spad_kernel *kernel, int64_t tensor);

#endif
