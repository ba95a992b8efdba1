/* SPDX-License-Identifier: Apache-2.0
 *
 * walk: runs a kernel in program order, one event at a time.
 *
 * The caller pulls events. A walk stores its position and no history, so a kernel of
 * 10^9 iterations starts at once and can be abandoned at any event. Its memory is
 * proportional to the depth of the kernel and the tiles of its scoped tensors. An event
 * costs O(1) plus its accesses, and every iteration of a loop gives an event even if
 * its body gives none, so no call takes long.
 *
 * A kernel with agents has one program per agent and one for main: walk each
 * separately, or all in the order of the text. Externally synchronised; any number of
 * walks may run over one kernel.
 */
#ifndef SPAD_WALK_H
#define SPAD_WALK_H

#ifndef SPAD_EXPERIMENTAL
#error "spad/experimental/walk.h may change in any version: define SPAD_EXPERIMENTAL"
#endif

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "spad/experimental/kernel_rows.h"
#include "spad/layout.h"

#ifdef __cplusplus
extern "C" {
#endif

typedef struct spad_walk spad_walk;

typedef enum spad_walk_kind {
    SPAD_WALK_END,    /**< end of the program; all later calls return it again */
    SPAD_WALK_TENSOR, /**< a declaration ran: all tiles of `tensor` start a new life */
    SPAD_WALK_ALLOC,  /**< `tile` of `tensor` becomes live; tile -1: all tiles */
    SPAD_WALK_FREE,   /**< `tile` of `tensor` becomes dead; tile -1: all tiles */
    SPAD_WALK_SCOPE_OPEN,
    SPAD_WALK_SCOPE_CLOSE,
    SPAD_WALK_SECTION,    /**< amount: the section that begins */
    SPAD_WALK_LOOP_BEGIN, /**< loop */
    SPAD_WALK_ITERATION,  /**< loop, value: what it counts; precedes the body */
    SPAD_WALK_LOOP_END,
    SPAD_WALK_OPERATION,   /**< accesses, completions */
    SPAD_WALK_SYNC,        /**< a synchronisation statement; see the kind of the statement */
    SPAD_WALK_FORK,        /**< main starts the agents */
    SPAD_WALK_AGENT_BEGIN, /**< agent */
    SPAD_WALK_AGENT_END,
    SPAD_WALK_JOIN /**< main continues after the agents */
} spad_walk_kind;

/**
 * Bytes that an operation touches. They are in slot `slot` of `home`, the tensor that
 * owns the storage. When `placed`, rect is the place in the space; otherwise the slot
 * has no place yet, and rect is relative to the start of the slot.
 *
 * The bytes are `runs` runs of rect.bytes per lane, at distances of `stride`: a part of
 * a tile need not be contiguous.
 */
typedef struct spad_walk_access {
    size_t row; /**< number in the access table of the kernel */
    int64_t tensor;
    unsigned kind; /**< SPAD_ACCESS_... */
    int64_t tile;  /**< row-major number of the tile */
    int64_t life;  /**< number of runs of the declaration before this life */
    bool live;     /**< false: a scoped tensor that was freed, or whose section is over. Other
                        tensors have ALLOC and FREE events instead */
    bool placed;
    int64_t home;
    int64_t slot;        /**< slot of the home */
    spad_rect tile_rect; /**< the whole tile */
    spad_rect rect;
    int64_t runs;
    int64_t stride;
    int64_t moved; /**< bytes moved, over all lanes: the bytes of the part, unless the kernel
                        states another number */
} spad_walk_access;

typedef struct spad_walk_completion {
    size_t row; /**< number in the completion table of the kernel */
    spad_completion_kind kind;
    int64_t object;
    int64_t element; /**< row-major number in its array */
    int64_t amount;  /**< bytes, arrivals, or the value that is added */
    unsigned flags;
} spad_walk_completion;

/** Borrowed until the next call. In fields that a kind does not use, row numbers are -1 and other
 *  values 0. */
typedef struct spad_walk_event {
    spad_walk_kind kind;
    int64_t time; /**< number of events before it */
    int64_t statement;
    int64_t agent;
    int64_t loop;
    int64_t value;
    int64_t tensor;
    int64_t tile;
    int64_t life;
    int64_t object;  /**< sync object */
    int64_t element; /**< row-major number in its array */
    int64_t amount;
    int64_t expect; /**< arrive: bytes to expect */
    int64_t cost;   /**< operation: the cost in the kernel, in the unit of its cost_kind */
    size_t access_count;
    const spad_walk_access *accesses;
    size_t completion_count;
    const spad_walk_completion *completions;
} spad_walk_event;

/** All agents, one after the other in the order of the text. */
#define SPAD_WALK_ALL (-1)

/** Zeroed is the default: walks main. */
typedef struct spad_walk_options {
    int64_t agent;             /**< the agent to walk; 0: main; SPAD_WALK_ALL */
    const spad_layout *layout; /**< places of the tensors that have no address in the kernel; a
                                    layout of the same kernel, borrowed until destroy; NULL:
                                    these tensors have no place */
    spad_trace *trace;         /**< receives the log of the scoped managers; NULL: no log */
    const spad_host *host;
} spad_walk_options;

/** Creates a walk, at the start of the program. The kernel is borrowed. SPAD_ERR_ARGUMENT: no such
 *  agent, or the layout is of another kernel. */
SPAD_API spad_status spad_walk_create(spad_walk **out, const spad_kernel *kernel,
                                      const spad_walk_options *options, spad_error *error);

/** Frees it. NULL is fine. */
SPAD_API void spad_walk_destroy(spad_walk *walk);

/**
 * Returns the next event. A failed call ends the walk: later calls fail in the same way.
 * SPAD_ERR_BOUNDS: an index or range leaves its tensor in this iteration.
 * SPAD_ERR_SHAPE: a part of a tile is not evenly spaced runs of bytes.
 * SPAD_ERR_ARGUMENT: an amount is negative, or a parity is not 0 or 1.
 * SPAD_ERR_NOT_LIVE: a heap tensor that is freed is not the newest. SPAD_ERR_NO_FIT and
 * others from the scoped managers. The error has the location in the text.
 */
SPAD_API spad_status spad_walk_next(const spad_walk_event **out, spad_walk *walk,
                                    spad_error *error);

/**
 * Directly after an ITERATION event: continues as if the event had been for this later
 * value of the loop variable, in O(1). For analyses that have found that a loop repeats.
 * Scoped managers do not change. SPAD_ERR_ARGUMENT: the last event was another.
 * SPAD_ERR_BOUNDS: the loop does not reach this value any more.
 */
SPAD_API spad_status spad_walk_jump(spad_walk *walk, int64_t value, spad_error *error);

/** Values of the loop variables, by number of the loop; valid for loops that are running. */
SPAD_API const int64_t *spad_walk_get_values(const spad_walk *walk);

/** Number of running loops. */
SPAD_API size_t spad_walk_loop_count(const spad_walk *walk);

/** Number of the running loop at a depth; 0 is the outermost; -1: no such depth. */
SPAD_API int64_t spad_walk_get_loop(const spad_walk *walk, size_t depth);

/** Most events and tiles that spad_kernel_write_trace examines. */
#define SPAD_KERNEL_TRACE_EVENTS INT64_C(10000000)
#define SPAD_KERNEL_TRACE_TILES INT64_C(1000000)

/**
 * Writes what a whole run allocates on chip to a trace of the same target. Each tile
 * (of a ring: each slot) lives from the first event that touches it to the last. Tiles
 * that agents touch live from fork to join, because the order of agents is unknown. An
 * access through an alias keeps the tensor that owns the bytes alive. The scoped managers
 * log their tensors. Two walks, so O(events). SPAD_ERR_ARGUMENT: more events or tiles
 * than the limits; the trace then has part of them.
 */
SPAD_API spad_status spad_kernel_write_trace(const spad_kernel *kernel, spad_trace *trace,
                                             const spad_host *host, spad_error *error);

#ifdef __cplusplus
}
#endif
#endif
