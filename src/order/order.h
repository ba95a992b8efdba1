/* SPDX-License-Identifier: Apache-2.0
 *
 * The analysed order of one run: its events, the event graph, one execution, and happens-before.
 * The passes of check/ that look for deadlocks and races read it.
 */
#ifndef SPAD_ORDER_ORDER_H
#define SPAD_ORDER_ORDER_H

#include "order/happens_before.h"

typedef struct spad__order {
    spad__run *run;
    spad__events events;
    spad__event_graph graph;
    spad__event_graph non_elected; /* empty unless an agent elects a thread */
    spad__executor executor;
    spad__happens_before execution_order;
    spad__happens_before memory_order; /* only built if a statement is relaxed */
    spad__happens_before *visible;     /* borrowed: the order that decides races */
    int32_t *rank;                     /* per point: when it happened in the run; -1: it did not */
    int32_t *actions;                  /* grouped by object, in the order of the run */
    int32_t *first_action;             /* per object, and one more: into `actions` */
    bool open; /* phases differ from run to run, or the run got stuck: races cannot be decided */
} spad__order;

/* Adds a finding about two events; -1: none. */
static inline spad_status spad__order_find(spad__order *order, spad_finding *finding, int32_t event,
                                           int32_t other, spad_error *error) {
    const spad__event *events = order->events.items.items;
    return spad__add_finding(order->run, finding, event >= 0 ? events[event].statement : -1,
                             other >= 0 ? events[other].statement : -1, error);
}

/* One access of an event. */
typedef struct spad__race_touch {
    int32_t event;
    int32_t access;
} spad__race_touch;

/* Two accesses to the same bytes whose order is wrong or unknown. */
typedef struct spad__clash {
    spad__order *order;
    spad__race_touch first; /* the one that happened first in the run */
    spad__race_touch second;
    bool fed;      /* the first access found the tile that it reads */
    bool executed; /* the execution is ordered, and memory is not */
} spad__clash;

/* True if only the device knows which bytes the access touches. */
static inline bool spad__clash_may_touch(const spad__clash *clash, spad__race_touch touch) {
    const spad_walk_access *access = &clash->order->events.accesses.items[touch.access];
    return (access->kind & SPAD_ACCESS_MAY) != 0;
}

#endif
