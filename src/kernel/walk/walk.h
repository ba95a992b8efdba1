/* SPDX-License-Identifier: Apache-2.0
 *
 * A walk from the inside. It has three files: walk.c for its life and control,
 * walk_access.c for what operations and synchronisation touch, walk_scope.c for tensors
 * and scopes. Failures are kept in walk->error.
 */
#ifndef SPAD_KERNEL_WALK_WALK_H
#define SPAD_KERNEL_WALK_WALK_H

#include "base/memory.h"
#include "kernel/kernel.h"
#include "spad/experimental/walk.h"

typedef struct spad__walk_frame {
    size_t statement;
    bool begins;        /* a loop whose first iteration event is still to come */
    int64_t sections;   /* of a scope */
    int64_t increments; /* how often it went to the next one */
} spad__walk_frame;

/* One life of a scoped tensor. */
typedef struct spad__walk_scoped_tensor {
    spad_rect *rects; /* per tile; NULL before the first life */
    size_t scope;     /* frame that it belongs to + 1; 0: none (heap) */
    int64_t increments;
    bool live;
} spad__walk_scoped_tensor;

/* The manager of a space; heap: tensors on it, newest last. */
typedef struct spad__walk_manager {
    spad_stack *stack;
    SPAD_ARRAY(int64_t) heap;
} spad__walk_manager;

struct spad_walk {
    spad_host host;
    const spad_kernel *kernel;
    spad_walk_options options;
    size_t at;   /* next statement */
    size_t stop; /* end of the program */
    bool forked;
    bool joined;
    int64_t agent;
    spad__walk_frame *frames;
    size_t frame_count;
    int64_t *values; /* per loop */
    int64_t *waited; /* per element of all objects, of main and then of the agent: waits for the
                        next phase, modulo 2; NULL: there are none */
    size_t *first_element; /* per object, in `waited` */
    size_t elements;
    int64_t *lives;                   /* per tensor: declarations that ran */
    spad__walk_scoped_tensor *scoped; /* per tensor; NULL: none is scoped */
    spad__walk_manager *managers;     /* per space; NULL: none is scoped */
    spad_walk_access *accesses;
    size_t access_room;
    spad_walk_completion *completions;
    size_t completion_room;
    int64_t time;
    spad_walk_event event;
    spad_status failed;
    spad_error error; /* of the call that failed */
};

/* A zeroed table, or NULL; NULL for an empty one, too. */
static inline void *spad__walk_take(spad_walk *walk, size_t count, size_t size) {
    return count > 0 ? spad__new_array(&walk->host, count, size) : NULL;
}

/* Opens a frame: a loop, a scope or an agent. */
static inline void spad__walk_push(spad_walk *walk, size_t statement) {
    walk->frames[walk->frame_count++] = (spad__walk_frame){.statement = statement};
}

/* ---- what operations and synchronisation touch ------------------------------------- */

int64_t spad__walk_value(const spad_walk *walk, spad_expr expr);

/* The row-major number that index expressions name. */
spad_status spad__walk_number(spad_walk *walk, const char *name, spad_amounts dims,
                              const spad_expr *exprs, spad_location location, int64_t *number);

/* A whole tile as an access to it would have it now; kind 0, no row (SIZE_MAX). Of a scoped
 * tensor that was declared. */
void spad__walk_tile_access(const spad_walk *walk, int64_t tensor, int64_t tile,
                            spad_walk_access *access);

/* These run one statement and fill in the event. */
spad_status spad__walk_operation(spad_walk *walk, const spad_statement *s);
spad_status spad__walk_sync(spad_walk *walk, const spad_statement *s);

/* ---- tensors and scopes ------------------------------------------------------------ */

/* A manager for every space that has a region or a scoped tensor. */
spad_status spad__walk_make_managers(spad_walk *walk, spad_error *error);

spad_status spad__walk_tensor(spad_walk *walk, const spad_statement *s);
spad_status spad__walk_tile(spad_walk *walk, const spad_statement *s); /* alloc and free */
spad_status spad__walk_open_scope(spad_walk *walk, const spad_statement *s, size_t number);
spad_status spad__walk_close_scope(spad_walk *walk, const spad_statement *s);
spad_status spad__walk_next_section(spad_walk *walk, const spad_statement *s);

#endif
