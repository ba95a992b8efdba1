/* SPDX-License-Identifier: Apache-2.0
 *
 * The inside of the executor: a kernel as points, operations and atoms of memory.
 */
#ifndef SPAD_TEST_EXECUTOR_MODEL_H
#define SPAD_TEST_EXECUTOR_MODEL_H

#include <stdlib.h>

#include "base/error.h"
#include "support/executor.h"
#include "support/support.h"

enum { POINTS_MAX = 2048, OPS_MAX = 1024, CELLS_MAX = 1 << 20, AGENTS_MAX = 30 };

/* A growing array; a test stops when memory ends. */
#define LIST(type)      \
    struct {            \
        type *items;    \
        size_t count;   \
        size_t reserve; \
    }

static inline void *list_grown(void *items, size_t *reserve, size_t size) {
    *reserve = *reserve == 0 ? 16 : *reserve * 2;
    void *block = realloc(items, *reserve * size);
    assert_non_null(block);
    return block;
}

#define PUSH(list, ...)                                                                         \
    do {                                                                                        \
        if ((list)->count == (list)->reserve) {                                                 \
            (list)->items = list_grown((list)->items, &(list)->reserve, sizeof *(list)->items); \
        }                                                                                       \
        (list)->items[(list)->count++] = __VA_ARGS__;                                           \
    } while (0)

typedef enum action {
    ACTION_NONE,
    ACTION_START,      /* of op: its accesses begin; without a unit they are also over */
    ACTION_END,        /* of op: `ends` are done */
    ACTION_CONTRIBUTE, /* to a barrier */
    ACTION_LEAVE,      /* a barrier */
    ACTION_SIGNAL,
    ACTION_WAIT,
    ACTION_TAKE,
    ACTION_INIT,
    ACTION_ARRIVE,
    ACTION_EXPECT,
    ACTION_PARITY,
    ACTION_INVALIDATE,
    ACTION_FENCE,
    ACTION_JOIN,  /* the other threads of an agent arrive where all do */
    ACTION_FOLLOW /* the other threads of an agent pass a wait: it is over, or the first one has */
} action;

typedef struct point {
    action action;
    bool listed; /* in the list of its agent: later points of the agent come after it */
    bool eager;  /* happens as soon as it can */
    bool lazy;   /* happens when something needs it */
    bool drop;
    int agent;
    int list; /* number of the list that it stands in, or was made with */
    int op;
    int object; /* first value of its sync object in a state */
    int64_t amount;
    int64_t expect;
    int64_t statement;
    int64_t unit;  /* a statement that is queued there; -1: none */
    int64_t fence; /* FENCE: of the target; -1: a proxy fence for all memory */
    unsigned when; /* FENCE: SPAD_FENCE_BEFORE, SPAD_FENCE_AFTER */
    int first;     /* FOLLOW: the wait of the first thread */
    int threads; /* JOIN, and an arrival of all threads: number of its agent among those of several
                    threads; -1 */
    unsigned ends; /* END: SPAD_ACCESS_READ, SPAD_ACCESS_WRITE, or both */
} point;

/* Point `before` comes before point `after`. */
typedef struct order {
    int before;
    int after;
} order;

typedef struct access {
    spad_walk_access walk;
    int op;
    int64_t home_life; /* life of the tensor that owns the storage */
    bool held;         /* no access: the bytes of an mbarrier, in the space `space` */
    size_t space;
    size_t first_atom;
    size_t atom_count;
} access;

typedef struct completion {
    spad_walk_completion walk;
    int object;
} completion;

typedef struct op {
    int agent;
    int64_t statement;
    int64_t unit; /* -1: over when it starts */
    bool proxy;
    int64_t fence;       /* of the target that its unit needs; -1: none */
    bool one;            /* of the elected thread of its agent */
    bool others;         /* of the other threads of its agent: a copy of one of all threads */
    spad_walk_kind life; /* ALLOC or FREE; else OPERATION */
    int64_t life_tensor; /* ALLOC, FREE: of this tensor */
    int64_t life_tile;   /* -1: all */
    int start;
    int read_end;
    int write_end;
    size_t first_access;
    size_t access_count;
    size_t first_completion;
    size_t completion_count;
    int64_t group;
    int64_t bundle; /* number of the commit that took it; -1: none */
} op;

/* Two operations touch a common byte: which accesses of mine meet which of the other. */
typedef struct conflict {
    int other;
    bool read_write;
    bool write_read;
    bool write_write;
    uint64_t written; /* spaces where mine writes */
    uint64_t read;    /* spaces where mine only reads */
} conflict;

/* An mbarrier that has bytes: the number of its first value in a state, and of its `access`. */
typedef struct held {
    int object;
    size_t access;
} held;

/* What stands in an agent's list for a unit; unit -1: for all units. */
typedef struct queued {
    int64_t unit;
    int op; /* -1: a statement */
    int point;
    bool blocks; /* later operations wait for it */
} queued;

typedef struct executor {
    const spad_kernel *kernel;
    const executor_options *options;
    executor_result result;
    bool too_large;
    /* collected */
    LIST(point) points;
    LIST(order) orders;
    LIST(access) accesses;
    size_t given;        /* so many of them are inputs, before the start; their op is -1 */
    size_t first_result; /* from here on: tiles of outputs that are read at the end; op is -1 */
    size_t end_results;  /* and so far; bytes of mbarriers come after them */
    LIST(held) held;
    LIST(completion) completions;
    LIST(op) ops;
    LIST(queued) queue; /* of the agent at hand */
    LIST(order) shared; /* ends of the two parts of an operation that is one of all threads */
    LIST(int) loose;    /* points that its next point waits for */
    LIST(int)
    agent_points;     /* first of each list, and one more: agents, and after an agent its
                         other threads if one is elected */
    LIST(int) firsts; /* per event of the agent at hand: its first point */
    int fork;
    int join;
    int64_t *lives;        /* per tensor: of the agent at hand */
    bool *waits_for_reads; /* per group */
    int *taker;            /* per value: who takes from a counter; 0: no agent, or SEVERAL */
    /* memory */
    LIST(int) atoms; /* of accesses */
    size_t atom_count;
    LIST(conflict) conflicts;
    size_t *first_conflict; /* per op, and one more */
    /* state: words of points that have happened, then values */
    size_t words;
    size_t values;
    int *object_base; /* per sync object */
    int sync_values;  /* so many are of sync objects and agents */
    int thread_lists; /* agents of several threads */
    int thread_base;  /* for each of them and each of those values: THREAD_... */
    int agent_base;   /* per agent: the time of the barrier that it is in */
    int memory_base;  /* per atom: 1 + access that wrote it; 0: none, or an input of its own */
    int *alive_base;  /* per tensor with ALLOC or FREE: a flag per tile; else -1 */
} executor;

enum { SEVERAL = -1 };

/* Numbers of a sync object in a state. */
enum { BARRIER_TIMES, BARRIER_SUM, BARRIER_AGENTS, BARRIER_VALUES };
enum {
    MBARRIER_ALIVE,
    MBARRIER_PHASE,
    MBARRIER_PENDING,
    MBARRIER_ARRIVALS,
    MBARRIER_BYTES,
    MBARRIER_VALUES
};

/* Arrivals of all threads of an agent at an object: those of the first thread, those of the others,
 * and of the first one when a round was complete last. Waits are over when the others have arrived
 * as well. */
enum { THREAD_FIRST, THREAD_OTHERS, THREAD_NEEDED, THREAD_VALUES };

/* The exploration: what is collected from all states, and the states to come. */
typedef struct explorer {
    executor *e;
    const int *counts; /* per value: the count of a barrier */
    uint64_t *needs;   /* per point: words of points before it */
    uint64_t *must;    /* per point: words of what had happened whenever it did */
    int64_t *low;      /* per point: phases at a parity wait, or at an expect */
    int64_t *high;
    unsigned char *late; /* op x op: LATE_... of the first at a start of the second */
    size_t state_bytes;
    LIST(unsigned char) stack;
    uint64_t *seen; /* hashes; 0: free */
    size_t seen_room;
    size_t seen_count;
} explorer;

enum { LATE_READS = 1, LATE_WRITES = 2 };

/* One state: its two parts. */
typedef struct state {
    uint64_t *done;
    int32_t *values;
} state;

static inline bool executor_is_done(const state *s, int p) {
    return (s->done[p / 64] >> (p % 64) & 1) != 0;
}

/* executor_collect.c: points and operations from walks. False: the walk fails. */
bool executor_collect(executor *e);

/* executor_memory.c: atoms of accesses, conflicts of operations. */
void executor_cut(executor *e);
void executor_find_conflicts(executor *e);

/* executor_memory.c: do threads and the async proxy access a space? */
bool executor_has_proxies(const executor *e, size_t space);

/* executor_memory.c: is every byte of every output written? */
void executor_look_at_outputs(executor *e);

/* executor_step.c: may a point happen, for its sync object; it happens. */
bool executor_is_let(const explorer *x, const state *s, int number);
void executor_happen(explorer *x, state *s, int number);

/* Notes the phase that a wait or contribution meets: point, or points + completion. */
void executor_note_phase(explorer *x, size_t p, int64_t phase);

/* Something is wrong: the first one counts. */
void executor_say(executor *e, unsigned wrong, const char *format, ...) SPAD_PRINTF(3, 4);
int executor_line(const executor *e, int64_t statement);

/* Does a read find its tile in bytes that are as they were at the start, or that a write
 * left? The second: the tile, or for a tensor that is never written itself, whatever was
 * written to that tile of its storage. */
bool executor_is_view(const executor *e, int64_t tensor);
bool executor_share_atom(const executor *e, const access *a, const access *b);
bool executor_is_given(const executor *e, const access *reader);
bool executor_is_same(const executor *e, const access *reader, const access *writer);

#endif
