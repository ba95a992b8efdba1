/* SPDX-License-Identifier: Apache-2.0
 *
 * A kernel with synchronisation while it is simulated. agents.c moves time on: who runs
 * where; sync.c has the objects of a kernel and which operation changed them last. What an object
 * does is in order/sync.h.
 */
#ifndef SPAD_SIM_AGENTS_H
#define SPAD_SIM_AGENTS_H

#include "order/sync.h"
#include "sim/sim.h"

/* Why a runner is where it is now: the operation, and the object it waited at. */
typedef struct spad__cause {
    spad__wait_kind kind;
    int64_t row;
    int64_t object;
    int64_t element;
} spad__cause;

/* One element of a barrier, counter or mbarrier of a block. */
typedef struct spad__sim_object {
    spad__sync_object sync;
    int64_t row;   /* operation that last let waits pass; -1 */
    bool by_agent; /* it was a statement that did, and not what an operation delivers */
} spad__sim_object;

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
    size_t blocks;             /* that run together, each with objects of its own */
    spad__sim_object *objects; /* of block 0, then of block 1 ... */
    size_t object_count;       /* of a block */
    size_t *first;             /* per sync object */
    spad__bundles *bundles;    /* per agent of all blocks and sync object */
    bool failed;               /* memory ran out in a commit */
    int64_t overflown;         /* an object whose amounts do not fit 64 bits; -1: none */
} spad__objects;

bool spad__objects_make(spad__objects *objects, const spad_host *host, const spad_kernel *kernel,
                        size_t blocks);
void spad__objects_free(spad__objects *objects);

/* The objects of a block as they are at its beginning. */
void spad__objects_reset(spad__objects *objects, size_t block);

/* Agents of all blocks are numbered in one row: those of block 0, then those of block 1 ... */
spad__sim_object *spad__objects_get(const spad__objects *objects, int64_t agent, int64_t object,
                                    int64_t element);

/* A statement of synchronisation as it was walked. */
typedef struct spad__request {
    int64_t statement;
    spad_statement_kind kind;
    int64_t agent;
    int64_t object;
    int64_t element;
    spad__sync_change change; /* SYNC: ENTER, and from the first attempt on LEAVE */
} spad__request;

/* Tries it: true if it happened, false if it has to wait. `row`: the operation that causes it.
 * *cause_row: what a wait was released by. */
bool spad__objects_try(spad__objects *objects, spad__request *request, int64_t row,
                       int64_t *cause_row);

/* The effects of an operation when it ends. */
void spad__objects_complete(spad__objects *objects, int64_t agent,
                            const spad_walk_completion *completion, int64_t row);

/* An operation joins the open bundle of a group, or ends. *bundle: which one. */
bool spad__objects_join(spad__objects *objects, int64_t agent, int64_t group, size_t *bundle);
void spad__objects_leave(spad__objects *objects, int64_t agent, int64_t group, size_t bundle,
                         int64_t row);

/* Was it the arrival of an agent or unit that let the wait at an mbarrier pass? */
bool spad__objects_by_agent(const spad__objects *objects, const spad__request *request);

/* "full[2]: parity 0 of phase 1, 1 arrival and 64 bytes missing" and so on. */
void spad__objects_describe(const spad__objects *objects, const spad__request *request, char *field,
                            size_t size);

/* ---- who runs what ----------------------------------------------------------------- */

/* An operation from its issue to its end. */
typedef struct spad__task {
    spad__sim_row row;
    int64_t agent; /* the runner that issued it; row.agent is the kernel's agent */
    spad__cost cost;
    int64_t group;
    size_t bundle;
    size_t completion_count;
    int64_t issued;
    bool released;     /* it occupies its engine no longer; its result is not there yet */
    spad__cause cause; /* of its issue */
} spad__task;

/* An operation of a unit whose result is not there yet while the unit goes on, or a signal that
 * waits for it. */
typedef struct spad__flight {
    bool is_task;
    size_t task;
    spad__request request;
    size_t runner;
    int64_t done; /* when it takes effect */
    int64_t row;
} spad__flight;

typedef struct spad__entry {
    bool is_task;
    size_t task;
    spad__request request;
    int64_t issued;
    spad__cause cause;
} spad__entry;

typedef enum spad__runner_state {
    SPAD__GOES_ON,
    SPAD__WAITS,
    SPAD__WAKES, /* its wait is over, and it will see that */
    SPAD__WANTS,
    SPAD__WORKS,
    SPAD__ENDED,
    SPAD__NOT_BEGUN
} spad__runner_state;

/* An agent, or the queue of a unit for one agent: order and queue of a unit are per agent. */
typedef struct spad__runner {
    int64_t agent; /* itself, or whose queue it is */
    spad__runner_state state;
    size_t task;   /* SPAD__WANTS, WORKS */
    int64_t ready; /* SPAD__WANTS: since when; SPAD__WAKES: when it goes on */
    int64_t turn;  /* SPAD__WANTS: its place among those that want the same */
    int64_t end;   /* SPAD__WORKS: until when; of the task before otherwise */
    int64_t row;   /* of the task; of the one before otherwise; -1 */
    spad__cause cause;
    spad__request request; /* SPAD__WAITS */
    /* agents */
    spad_walk *walk;
    bool joins;
    int64_t jump;      /* to be added to the variable of its outermost loop at its next iteration */
    int64_t statement; /* where it is: the last event */
    int64_t loop;      /* its outermost open loop; -1 */
    const spad_walk_event *held; /* it found the queue of its unit full */
    /* queues of units */
    int64_t unit;
    SPAD_ARRAY(spad__entry) queue;
    size_t head;
    size_t flying;  /* entries that are still to take effect */
    int64_t landed; /* when the last of them does */
} spad__runner;

/* A state at the head of an iteration, relative to time and iterations. */
typedef struct spad__agents_snapshot {
    bool valid;
    int64_t now;
    size_t rows;
    spad__numbers ends;   /* per runner: of what it did last */
    spad__numbers light;  /* what changes quickly */
    spad__numbers state;  /* everything else */
    spad__numbers values; /* per agent: of the variable of its outermost open loop */
    spad__numbers loops;  /* per agent: the number of that loop; -1: none */
    spad__numbers counts;
} spad__agents_snapshot;

typedef struct spad__agents_loop {
    bool studied;
    spad__period period;
    spad__agents_snapshot saved;
    int64_t patience; /* iterations until another state is saved */
    int64_t seen;     /* since then */
} spad__agents_loop;

typedef struct spad__agents_run {
    spad_sim *sim;
    spad__objects objects;
    spad__runner *runners; /* agents of each block, then queues of units */
    size_t agent_count;    /* of all blocks */
    size_t agents_each;    /* of a block */
    int64_t blocks_left;   /* that begin when one is over */
    size_t count;
    size_t *queues;    /* per unit and agent: the runner; 0: the agent does not use the unit */
    size_t queue_most; /* entries after which an agent waits with the next */
    int64_t *busy;     /* per engine and path: how much of it is taken */
    int64_t *last;     /* per engine and path: row that ended last */
    SPAD_ARRAY(spad__flight) flights; /* in the order in which they began */
    /* Tasks, and lists of the same length for the values and the completions of each. */
    SPAD_ARRAY(spad__task) tasks;
    spad__numbers values;
    SPAD_ARRAY(spad_walk_completion) completions;
    size_t values_each;
    size_t completions_each;
    SPAD_ARRAY(size_t) ended; /* tasks that can be used again */
    int64_t now;
    spad__agents_loop *loop_states; /* per loop */
    spad__numbers scratch;
} spad__agents_run;

/* The values of a task: of the loops around it. */
static inline int64_t *spad__task_values(spad__agents_run *c, size_t number) {
    return c->values.items + number * c->values_each;
}

/* An agent is at the head of an iteration: jumps to a later one if everything is as it has
 * been before (agents_repeat.c). */
spad_status spad__agents_repeat(spad__agents_run *run, size_t agent, const spad_walk_event *event,
                                spad_error *error);
void spad__agents_free_loops(spad__agents_run *run);

#endif
