/* SPDX-License-Identifier: Apache-2.0
 *
 * The order check from the inside: events, net, one run of the machine, the model,
 * and the findings that they give.
 */
#ifndef SPAD_CHECK_ORDER_H
#define SPAD_CHECK_ORDER_H

#include "check/causes.h"

typedef struct spad__order {
    spad__run *run;
    spad__events events;
    spad__net net;
    spad__net others; /* threads beside the elected ones, if the kernel has such agents */
    spad__machine machine;
    spad__causes model;    /* order of execution */
    spad__causes memory;   /* order of memory; only if something is relaxed */
    spad__causes *visible; /* the one that races are judged by */
    int32_t *rank;         /* per point: when it happened in the run; -1: it did not */
    int32_t *actions;      /* of each object, as they happened */
    int32_t *first_action; /* per object, and one more: into `actions` */
    bool open; /* phases differ from run to run, or the run got stuck: races cannot be judged */
} spad__order;

/* Judges events that were collected: adds all findings about them. */
spad_status spad__order_judge(const spad__events *events, spad__run *run, spad_error *error);

/* Would the events be right? Judges them, and no finding stays. */
spad_status spad__order_try(const spad__events *events, const spad__run *run, bool *right,
                            spad_error *error);

/* Errors were found, after the first `before` findings: if they are due to a count or to expected
 * bytes, there is one finding about that instead, or a note (mend.c). The events are as before in
 * the end. SPAD_ERR_HOST_MEMORY. */
spad_status spad__mend_numbers(spad__events *events, const spad__run *run, size_t before,
                               bool *done, spad_error *error);

/* The same for deadlocks that are due to arrivals that are missing: they point at the agent that
 * should arrive. Completions of one operation may be in another order in the end. */
spad_status spad__mend_arrivals(spad__events *events, const spad__run *run, size_t before,
                                spad_error *error);

/* Errors were found: adds notes to them if they are due to the parity of a wait (`done`). The
 * events are as before in the end. SPAD_ERR_HOST_MEMORY. */
spad_status spad__hint_parity(spad__events *events, const spad__run *run, bool *done,
                              spad_error *error);

/* Adds a finding about two events; -1: none. */
static inline spad_status spad__order_find(spad__order *order, spad_finding *finding, int32_t event,
                                           int32_t other, spad_error *error) {
    const spad__event *events = order->events.items.items;
    return spad__add_finding(order->run, finding, event >= 0 ? events[event].statement : -1,
                             other >= 0 ? events[other].statement : -1, error);
}

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

/* Two accesses to the same bytes that are not ordered as they must be. */
typedef struct spad__race_touch {
    int32_t event;
    int32_t access;
} spad__race_touch;

typedef struct spad__clash {
    spad__order *order;
    spad__race_touch first; /* in the run */
    spad__race_touch second;
    bool fed;      /* the first found the tile that it reads */
    bool executed; /* they are ordered, but not for memory */
} spad__clash;

spad_status spad__report_race(const spad__clash *clash, spad_error *error);
spad_status spad__report_fence(const spad__clash *clash, spad_error *error);

/* They are ordered for the elected threads of their agents, and not for all. */
spad_status spad__report_threads(const spad__clash *clash, spad_error *error);

/* They are ordered for each thread of their agent by itself, and its threads do not meet between, or
 * it is not certain that they have to. */
spad_status spad__report_meeting(const spad__clash *clash, bool certain, spad_error *error);

/* The same for another fence of the target; when: SPAD_FENCE_BEFORE, SPAD_FENCE_AFTER, or 0. */
spad_status spad__report_fence_of(const spad__clash *clash, int64_t fence, unsigned when,
                                  spad_error *error);

/* The same tile, also under another name if one of the names is never written. */
bool spad__same_tile(const spad_kernel *kernel, const spad_walk_access *a,
                     const spad_walk_access *b);

/* Lifetimes, in an order in which the events of a kernel without races may happen. */
spad_status spad__order_lifetimes(spad__order *order, spad_error *error);

#endif
