/* SPDX-License-Identifier: Apache-2.0
 *
 * The non-elected threads of agents that elect one (agent_threads.h), in happens-before: their
 * points are numbered after those of the event graph and its phases.
 *
 * Their own order is that of a graph (event_graph.h). Beyond it
 *   - a phase comes after the arrivals of all threads that count for it, after their way into a
 *     `sync`, and after the end of their part of an operation that arrives or delivers at its end;
 *   - what comes out of a `sync`, or waits for a parity, comes after the phase. The wait must mean
 *     this phase for a thread that knows only what it has waited for itself;
 *   - an operation on a unit of the order `same` (wgmma) is one of all threads: what waits for the
 *     end of one part waits for both.
 * These orders are implied for the elected thread, which does all that the non-elected ones do. So
 * they do not change the order between points of the event graph.
 */
#ifndef SPAD_ORDER_NON_ELECTED_H
#define SPAD_ORDER_NON_ELECTED_H

#include "order/happens_before.h"

/* Has the kernel such agents? */
bool spad__kernel_elects(const spad_kernel *kernel);

/* Adds the points and their edges to an order that has its phases. False: no memory. For the
 * builder of models. */
bool spad__non_elected_add(spad__happens_before *hb, const spad__event_graph *non_elected);

/* Two events that are ordered for the elected threads: is x, its reads or also its writes, before y
 * for all threads? What all threads of one agent do is compared thread by thread: which of them
 * accesses which bytes is not known. SPAD_ERR_HOST_MEMORY. */
spad_status spad__non_elected_ordered(spad__happens_before *hb, int32_t x, bool writes, int32_t y,
                                      bool *ordered, spad_error *error);

/* Are the other threads over with x when the elected one begins y? Also true if they do not run x.
 */
spad_status spad__non_elected_over(spad__happens_before *hb, int32_t x, bool writes, int32_t y,
                                   bool *over, spad_error *error);

/* Do the other threads access the memory of a tensor as well, or has each thread its own? */
bool spad__non_elected_share(const spad_kernel *kernel, int64_t tensor);

#endif
