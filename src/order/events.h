/* SPDX-License-Identifier: Apache-2.0
 *
 * The events of a kernel of one shape as flat lists, without loops and scopes: one walk per agent.
 * The order check works on these lists.
 *
 * Events are numbered agent by agent, the main program first, and within an agent in program order.
 * So the events of agent a are [firsts[a], firsts[a + 1]), and comparing two numbers of one agent
 * compares their program order. Nothing here points into a walk. O(events) time and memory.
 */
#ifndef SPAD_ORDER_EVENTS_H
#define SPAD_ORDER_EVENTS_H

#include "finding/findings.h"

/* One event. Numbers are -1 where a kind has none. ALLOC and FREE carry their slots as accesses
 * that write, so that a use after a free is a race like any other; for aliases and scoped tensors
 * they carry none. */
typedef struct spad__event {
    spad_walk_kind kind; /* TENSOR, ALLOC, FREE, OPERATION, SYNC, FORK or JOIN */
    int32_t agent;
    int32_t statement;
    int32_t unit;   /* the unit that it is issued to or queued on; DRAIN: -1 for all */
    int32_t object; /* dense number of a synchronisation object; OPERATION: its group */
    unsigned flags; /* SPAD_SYNC_... */
    int64_t tensor; /* TENSOR, ALLOC, FREE */
    int64_t tile;
    int64_t amount;
    int64_t expect;
    size_t first_value; /* values of the loops around it, outermost first, then the positions of
                           the cursors of its agent that a walk tracks */
    size_t first_access;
    size_t access_count;
    size_t first_completion;
    size_t completion_count;
} spad__event;

/* A completion of an operation; `object` is dense. */
typedef struct spad__event_completion {
    spad_completion_kind kind;
    int32_t object;
    int64_t amount;
    unsigned flags;
} spad__event_completion;

/* A synchronisation object: one element of a declaration. */
typedef struct spad__object {
    int32_t sync;
    int64_t element;
    spad_sync_kind kind;
    int64_t count;
} spad__object;

typedef struct spad__events {
    spad_host host;
    const spad_kernel *kernel;
    SPAD_ARRAY(spad__event) items;
    SPAD_ARRAY(spad_walk_access) accesses;
    int32_t *storage; /* per access: its storage; only accesses with equal numbers can overlap */
    int32_t storages;
    SPAD_ARRAY(spad__event_completion) completions;
    SPAD_ARRAY(int64_t) values;
    SPAD_ARRAY(spad__object) objects;
    SPAD_ARRAY(size_t) firsts; /* per agent, and one more: number of its first event */
    const char *gap;           /* why events are missing; NULL: the lists are complete */
} spad__events;

/* Walks the kernel. A kernel that is too long or that cannot be walked leaves a gap and gives
 * SPAD_OK. Freed with spad__events_free, also after a failure. SPAD_ERR_HOST_MEMORY. */
spad_status spad__events_collect(spad__events *events, const spad__run *run, spad_error *error);
void spad__events_free(spad__events *events);

/* True if the cursor belongs to the agent and a walk tracks it. */
bool spad__has_cursor(const spad_kernel *kernel, int64_t agent, size_t cursor);

/* "load (producer), iteration k = 4": an event in words; `field` of SPAD__PHRASE_MAX. */
enum { SPAD__PHRASE_MAX = 160 };
void spad__event_phrase(const spad__events *events, const spad__event *event, char *field);

/* "full[2]": an object in words. */
void spad__object_phrase(const spad__events *events, int32_t object, char *field);

#endif
