/* SPDX-License-Identifier: Apache-2.0
 *
 * The semantics of synchronisation objects: the only place that knows the state of a barrier,
 * counter or mbarrier, and how actions change it. The check applies actions without time
 * (order/executor.c), the simulator with it (sim/sync.c). Both keep their own queues of waiting
 * actions, and report the errors that come back as values.
 *
 * An object is changed by one action at a time. An action that waits (LEAVE, WAIT, TAKE, PARITY)
 * is applied only when spad__sync_passes says so; the others always pass.
 *
 *   barrier   contributions add up to its count; then a phase is complete and the sum starts
 *             again at 0. Contributions beyond the count are lost.
 *   counter   a sum that signals raise and takes lower. A wait only compares.
 *   mbarrier  a phase is complete at the moment at which no arrival is missing and the expected
 *             bytes are those that were delivered, whichever action comes last. Bytes may be
 *             delivered before they are expected. Between invalidate and init, and before the
 *             first init, nothing changes it. `drop` lowers the arrivals of later phases.
 *   group     bundles of operations, closed by a commit. A wait for all but n of them is over
 *             when the others are complete, however many there are.
 *
 * Source: PTX ISA (bar, mbarrier: phase completion, transaction count, parity waits; cp.async
 * groups); counters are the semaphores of Neuron and the flags of Ascend.
 *
 * The queue of a unit is not an object: the check turns the orders that a unit allows into edges
 * (order/event_graph.c), and the simulator serves a queue one entry after another, which all of
 * them allow.
 */
#ifndef SPAD_ORDER_SYNC_H
#define SPAD_ORDER_SYNC_H

#include "spad/experimental/walk.h"

typedef enum spad__action_kind {
    SPAD__ACTION_ENTER,  /* barrier: amount */
    SPAD__ACTION_LEAVE,  /* barrier: waits for the phase of its entry */
    SPAD__ACTION_SIGNAL, /* counter */
    SPAD__ACTION_WAIT,
    SPAD__ACTION_TAKE,
    SPAD__ACTION_INIT, /* mbarrier */
    SPAD__ACTION_INVALIDATE,
    SPAD__ACTION_ARRIVE,
    SPAD__ACTION_EXPECT,
    SPAD__ACTION_DELIVER,
    SPAD__ACTION_PARITY
} spad__action_kind;

/* One element of a barrier, counter or mbarrier. */
typedef struct spad__sync_object {
    int64_t count; /* barrier: contributions of a phase; mbarrier: arrivals of a phase */
    int64_t value; /* barrier: contributions so far; counter: its value; mbarrier: arrivals that
                      are missing */
    int64_t taken; /* counter: all takes so far; value + taken is the sum of all signals */
    int64_t bytes; /* mbarrier: expected less delivered; may be negative */
    int64_t phase; /* complete phases, over all lives */
    int64_t base;  /* mbarrier: phases before this life */
    bool live;     /* mbarrier: initialised, and not invalidated */
} spad__sync_object;

/* An action on an object. */
typedef struct spad__sync_change {
    spad__action_kind kind;
    unsigned flags; /* SPAD_SYNC_... */
    int64_t amount;
    int64_t expect; /* ARRIVE: bytes */
    int64_t phase;  /* LEAVE: phase of its entry; else set by spad__sync_apply */
} spad__sync_change;

/* The outcome of an action: a set. */
enum {
    SPAD__SYNC_RELEASES = 1 << 0,   /* waits at the object may pass now */
    SPAD__SYNC_OVERFLOWS = 1 << 1,  /* a sum beyond 64 bits, which stays at its limit */
    SPAD__SYNC_NOT_LIVE = 1 << 2,   /* an mbarrier that is not initialised, or no longer */
    SPAD__SYNC_INIT_TWICE = 1 << 3, /* without an invalidate between */
    SPAD__SYNC_SURPLUS = 1 << 4,    /* more than the phase lacks */
    SPAD__SYNC_NO_ARRIVALS = 1 << 5 /* drop leaves no arrivals for later phases */
};

/* Elements of all declarations of a kernel; the check and the simulator refuse more. */
#define SPAD__SYNC_OBJECTS_MAX INT64_C(1000000)

/* The object of a declaration, as it is before the kernel starts. */
spad__sync_object spad__sync_initial(spad_sync_kind kind, int64_t count);

/* True for actions that may have to wait. */
static inline bool spad__sync_waits(spad__action_kind kind) {
    return kind == SPAD__ACTION_LEAVE || kind == SPAD__ACTION_WAIT || kind == SPAD__ACTION_TAKE ||
           kind == SPAD__ACTION_PARITY;
}

/* True for actions that may change the object; other waits only compare. */
static inline bool spad__sync_changes(spad__action_kind kind) {
    return kind == SPAD__ACTION_TAKE || !spad__sync_waits(kind);
}

/* True if the action can happen now. Inline: the simulator asks in its inner loop. */
static inline bool spad__sync_passes(const spad__sync_object *o, const spad__sync_change *c) {
    switch (c->kind) {
    case SPAD__ACTION_LEAVE: return o->phase >= c->phase;
    case SPAD__ACTION_WAIT:
    case SPAD__ACTION_TAKE: return o->value >= c->amount;
    case SPAD__ACTION_PARITY: return ((o->phase - o->base) & 1) != c->amount;
    default: return true;
    }
}

/* Does an action. change->phase becomes
 *   ENTER, ARRIVE, EXPECT, DELIVER, INVALIDATE   the open phase, from 1, over all lives
 *   PARITY                                       the complete phases
 *   WAIT, TAKE                                   the sum of all signals that lets it pass */
unsigned spad__sync_apply(spad__sync_object *object, spad__sync_change *change);

/* The action of a statement about an object, other than of a group. SYNC: ENTER, then LEAVE. */
static inline spad__action_kind spad__sync_action(spad_statement_kind statement,
                                                  spad_sync_kind object) {
    switch (statement) {
    case SPAD_STATEMENT_SYNC: return SPAD__ACTION_ENTER;
    case SPAD_STATEMENT_ARRIVE:
        return object == SPAD_SYNC_BARRIER ? SPAD__ACTION_ENTER : SPAD__ACTION_ARRIVE;
    case SPAD_STATEMENT_SIGNAL: return SPAD__ACTION_SIGNAL;
    case SPAD_STATEMENT_WAIT_VALUE: return SPAD__ACTION_WAIT;
    case SPAD_STATEMENT_TAKE: return SPAD__ACTION_TAKE;
    case SPAD_STATEMENT_INIT: return SPAD__ACTION_INIT;
    case SPAD_STATEMENT_EXPECT: return SPAD__ACTION_EXPECT;
    case SPAD_STATEMENT_WAIT_PARITY: return SPAD__ACTION_PARITY;
    default: return SPAD__ACTION_INVALIDATE;
    }
}

/* The action of the end of an operation. */
static inline spad__action_kind spad__sync_completion(spad_completion_kind completion) {
    switch (completion) {
    case SPAD_COMPLETION_DELIVER: return SPAD__ACTION_DELIVER;
    case SPAD_COMPLETION_ARRIVE: return SPAD__ACTION_ARRIVE;
    default: return SPAD__ACTION_SIGNAL;
    }
}

/* Of a group: how many of its oldest bundles must be complete for a wait that leaves `pending`. */
static inline int64_t spad__group_due(int64_t committed, int64_t pending) {
    return committed > pending ? committed - pending : 0;
}

#endif
