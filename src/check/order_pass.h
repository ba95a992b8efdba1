/* SPDX-License-Identifier: Apache-2.0
 *
 * The passes over the analysed order of one shape (order/order.h): deadlocks, phases, limits,
 * races, live ranges of agents that run side by side, and the repairs that they suggest.
 */
#ifndef SPAD_CHECK_ORDER_PASS_H
#define SPAD_CHECK_ORDER_PASS_H

#include "order/order.h"

/* Judges events that were collected: adds all findings about them. */
spad_status spad__check_events(const spad__events *events, spad__run *run, spad_error *error);

/* Would the events be right? Judges them, and no finding stays. */
spad_status spad__try_events(const spad__events *events, const spad__run *run, bool *right,
                             spad_error *error);

/* Errors were found, after the first `before` findings: if they are due to a count or to expected
 * bytes, there is one finding about that instead, or a note (repair.c). The events are as before in
 * the end. SPAD_ERR_HOST_MEMORY. */
spad_status spad__repair_numbers(spad__events *events, const spad__run *run, size_t before,
                                 bool *done, spad_error *error);

/* The same for deadlocks that are due to arrivals that are missing: they point at the agent that
 * should arrive. Completions of one operation may be in another order in the end. */
spad_status spad__repair_arrivals(spad__events *events, const spad__run *run, size_t before,
                                  spad_error *error);

/* Errors were found: adds notes to them if they are due to the parity of a wait (`done`). The
 * events are as before in the end. SPAD_ERR_HOST_MEMORY. */
spad_status spad__hint_parity(spad__events *events, const spad__run *run, bool *done,
                              spad_error *error);

/* The same for a wait of a group that leaves too much pending: all errors are of one cause, and say
 * which statement to change (`done`). The events are as before in the end. */
spad_status spad__repair_waits(spad__events *events, const spad__run *run, size_t before,
                               bool *done, spad_error *error);

/* Keeps how a finding happens, for a picture (witness.c): `events` are those that it is about. Only
 * of the run that is shown, and one of each code. SPAD_ERR_HOST_MEMORY. */
spad_status spad__add_witness(spad__order *order, const spad_finding *finding,
                              const int32_t *events, size_t count, spad_error *error);

/* Findings about synchronisation objects. Sets `open`. */
spad_status spad__find_stuck(spad__order *order, spad_error *error);
spad_status spad__find_phases(spad__order *order, spad_error *error);
spad_status spad__find_leftovers(spad__order *order, spad_error *error);

/* Findings about what the chip can count: flags, bytes and arrivals of mbarriers. */
spad_status spad__find_limits(spad__order *order, spad_error *error);

/* Findings about bytes. */
spad_status spad__find_races(spad__order *order, spad_error *error);

/* Adds a finding about the events `late` and `early` of a clash. A warning if one of the accesses
 * may touch other bytes: the verdict is unknown then. */
spad_status spad__find_clash(const spad__clash *clash, spad_finding *finding, int32_t late,
                             int32_t early, spad_error *error);

spad_status spad__report_race(const spad__clash *clash, spad_error *error);
spad_status spad__report_fence(const spad__clash *clash, spad_error *error);

/* They are ordered for the elected threads of their agents, and not for all. */
spad_status spad__report_threads(const spad__clash *clash, spad_error *error);

/* Both write the same value, in either order. */
spad_status spad__report_same_value(const spad__clash *clash, spad_error *error);

/* A proxy fence is between them, and none of the agent of the first. */
spad_status spad__report_writer_fence(const spad__clash *clash, spad_error *error);

/* They are ordered for each thread of their agent by itself, and no barrier of it lies
 * between them; `certain`: one is needed. */
spad_status spad__report_missing_barrier(const spad__clash *clash, bool certain, spad_error *error);

/* The same for another fence of the target; when: SPAD_FENCE_BEFORE, SPAD_FENCE_AFTER, or 0. */
spad_status spad__report_fence_of(const spad__clash *clash, int64_t fence, unsigned when,
                                  spad_error *error);

/* The same tile, also under another name if one of the names is never written. */
bool spad__same_tile(const spad_kernel *kernel, const spad_walk_access *a,
                     const spad_walk_access *b);

/* Lifetimes, in an order in which the events of a kernel without races may happen. */
spad_status spad__order_lifetimes(spad__order *order, spad_error *error);

#endif
