/* SPDX-License-Identifier: Apache-2.0
 *
 * A kernel with synchronisation while it is simulated. agents.c moves time on: who runs
 * where; sync.c has the state of barriers, counters, mbarriers and groups.
 */
#ifndef SPAD_SIM_AGENTS_H
#define SPAD_SIM_AGENTS_H

#include "sim/sim.h"

/* Why somebody is where it is now: the operation, and the object it waited at. */
typedef struct spad__cause {
    spad_wait_kind kind;
    int64_t row;
    int64_t object;
    int64_t element;
} spad__cause;

/* One element of a barrier, counter or mbarrier. */
typedef struct spad__object {
    int64_t value; /* contributions so far; value of a counter; arrivals that are missing */
    int64_t count; /* that complete a phase */
    int64_t bytes; /* mbarrier: that are still expected */
    int64_t phase; /* phases that are complete */
    int64_t row;   /* operation behind the last change; -1 */
} spad__object;

/* Operations between two commits of a group by an agent. */
typedef struct spad__bundle {
    int64_t running;
} spad__bundle;

typedef struct spad__bundles {
    SPAD_ARRAY(spad__bundle) items; /* the last one is open */
    size_t done;                    /* bundles in front that are complete */
    int64_t row;                    /* operation of them that ended last, + 1 */
} spad__bundles;

typedef struct spad__objects {
    const spad_host *host;
    const spad_kernel *kernel;
    spad__object *objects;
    size_t object_count;
    size_t *first;          /* per sync object */
    spad__bundles *bundles; /* per agent and sync object */
    bool failed;            /* memory ran out in a commit */
} spad__objects;

bool spad__objects_make(spad__objects *objects, const spad_host *host, const spad_kernel *kernel);
void spad__objects_free(spad__objects *objects);

spad__object *spad__objects_get(const spad__objects *objects, int64_t object, int64_t element);

/* A statement of synchronisation as it was walked. */
typedef struct spad__request {
    int64_t statement;
    spad_statement_kind kind;
    unsigned flags;
    int64_t agent;
    int64_t object;
    int64_t element;
    int64_t amount;
    int64_t expect;
    int64_t phase;    /* barrier: that must be complete; set by the first attempt */
    bool contributed; /* barrier: set by the first attempt */
} spad__request;

/* Tries it: true if it happened, false if it has to wait. `row`: the operation behind it.
 * *cause_row: what a wait was released by. */
bool spad__objects_try(spad__objects *objects, spad__request *request, int64_t row,
                       int64_t *cause_row);

/* What an operation does when it ends. */
void spad__objects_complete(spad__objects *objects, const spad_walk_completion *completion,
                            int64_t row);

/* An operation joins the open bundle of a group, or ends. *bundle: which one. */
bool spad__objects_join(spad__objects *objects, int64_t agent, int64_t group, size_t *bundle);
void spad__objects_leave(spad__objects *objects, int64_t agent, int64_t group, size_t bundle,
                         int64_t row);

/* "full[2]: parity 0 of phase 1, 1 arrival and 64 bytes missing" and so on. */
void spad__objects_describe(const spad__objects *objects, const spad__request *request, char *field,
                            size_t size);

#endif
