/* SPDX-License-Identifier: Apache-2.0
 *
 * All that the agents of a kernel of one shape do, as flat lists: one walk per
 * agent, without loops and scopes. What the order check works on.
 *
 * Events are numbered agent by agent: those of main first, then those of agent 1
 * and so on; the ones of an agent are in its program order. Nothing in here points
 * into a walk. O(events) time and memory.
 */
#ifndef SPAD_ORDER_EVENTS_H
#define SPAD_ORDER_EVENTS_H

#include "finding/findings.h"

/* One event. Numbers are -1 where a kind has none. ALLOC and FREE carry the slots that they
 * are about as accesses that write; those of aliases and of scoped tensors carry none. */
typedef struct spad__event {
    spad_walk_kind kind; /* TENSOR, ALLOC, FREE, OPERATION, SYNC, FORK or JOIN */
    int32_t agent;
    int32_t statement;
    int32_t unit;   /* that it is issued to or queued on; DRAIN: -1 is all */
    int32_t object; /* dense number of a synchronisation object; OPERATION: its group */
    unsigned flags; /* SPAD_SYNC_... */
    int64_t tensor; /* TENSOR, ALLOC, FREE */
    int64_t tile;
    int64_t amount;
    int64_t expect;
    size_t first_value; /* values of the loops around it, the outermost first; then the places of
                           the cursors of its agent that a walk keeps */
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
    int32_t *storage; /* per access: number of its storage */
    int32_t storages;
    SPAD_ARRAY(spad__event_completion) completions;
    SPAD_ARRAY(int64_t) values;
    SPAD_ARRAY(spad__object) objects;
    SPAD_ARRAY(size_t) firsts; /* per agent, and one more: number of its first event */
    const char *gap;           /* why not everything is here; NULL: it is */
} spad__events;

/* Walks the kernel. A kernel that is too long or that cannot be walked leaves a gap and gives
 * SPAD_OK. Freed with spad__events_free, also after a failure. SPAD_ERR_HOST_MEMORY. */
spad_status spad__events_collect(spad__events *events, const spad__run *run, spad_error *error);
void spad__events_free(spad__events *events);

/* Is it a cursor of the agent that a walk keeps? */
bool spad__has_cursor(const spad_kernel *kernel, int64_t agent, size_t cursor);

/* "load (producer), iteration k = 4": an event in words; `field` of SPAD__PHRASE_MAX. */
enum { SPAD__PHRASE_MAX = 160 };
void spad__event_phrase(const spad__events *events, const spad__event *event, char *field);

/* "full[2]": an object in words. */
void spad__object_phrase(const spad__events *events, int32_t object, char *field);

#endif
