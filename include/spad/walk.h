/* SPDX-License-Identifier: Apache-2.0
 *
 * walk: runs a kernel in program order, one event at a time.
 *
 * A walk is pulled: it holds where it stands and nothing of what has been, so a
 * kernel of 10^9 iterations starts at once and can be left at any event. Its
 * memory is the depth of the kernel and the tiles of its scoped tensors. An event
 * costs O(1) plus the accesses it carries, and a loop without any event in its
 * body still gives one per iteration, so no call takes long.
 *
 * A kernel with agents has one program per agent and one for main: walk each on
 * its own, or all in the order of the text. Externally synchronised; any number of
 * walks may run over one kernel.
 */
#ifndef SPAD_WALK_H
#define SPAD_WALK_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "spad/kernel.h"
#include "spad/layout.h"

#ifdef __cplusplus
extern "C" {
#endif

typedef struct spad_walk spad_walk;

typedef enum spad_walk_kind {
    SPAD_WALK_END,    /**< of the program; then forever */
    SPAD_WALK_TENSOR, /**< a declaration ran: a new life of all tiles of `tensor` */
    SPAD_WALK_ALLOC,  /**< `tile` of `tensor` becomes alive; tile -1: all */
    SPAD_WALK_FREE,   /**< the reverse */
    SPAD_WALK_SCOPE_OPEN,
    SPAD_WALK_SCOPE_CLOSE,
    SPAD_WALK_SECTION,    /**< amount: the section that begins */
    SPAD_WALK_LOOP_BEGIN, /**< loop */
    SPAD_WALK_ITERATION,  /**< loop, value of its variable; before the body */
    SPAD_WALK_LOOP_END,
    SPAD_WALK_OPERATION,   /**< accesses, completions */
    SPAD_WALK_SYNC,        /**< one of the statements of synchronisation; see its kind */
    SPAD_WALK_FORK,        /**< main starts the agents */
    SPAD_WALK_AGENT_BEGIN, /**< agent */
    SPAD_WALK_AGENT_END,
    SPAD_WALK_JOIN /**< main continues after the agents */
} spad_walk_kind;

/**
 * Bytes that an operation touches. They are in `home`, the tensor that owns the
 * storage, in its slot. When `placed`, rect is the place in the space; otherwise
 * the planner has not spoken, and rect counts from the start of the slot.
 *
 * The bytes are `runs` pieces of rect.bytes per lane, `stride` from start to start:
 * a part of a tile need not be in one piece.
 */
typedef struct spad_walk_access {
    size_t row; /**< the access in the kernel's table */
    int64_t tensor;
    unsigned kind; /**< SPAD_ACCESS_... */
    int64_t tile;  /**< row-major number of the tile */
    int64_t life;  /**< which run of the declaration it belongs to, from 0 */
    bool live;     /**< false: a scoped tensor that was freed, or whose section is over. For other
                        tensors ALLOC and FREE events say it */
    bool placed;
    int64_t home;
    int64_t slot;        /**< slot of the home */
    spad_rect tile_rect; /**< the whole tile */
    spad_rect rect;
    int64_t runs;
    int64_t stride;
} spad_walk_access;

typedef struct spad_walk_completion {
    size_t row; /**< in the kernel's table */
    spad_completion_kind kind;
    int64_t object;
    int64_t element; /**< row-major number in its array */
    int64_t amount;  /**< bytes, arrivals or what is added */
    unsigned flags;
} spad_walk_completion;

/** Borrowed until the next call. What a kind does not use is 0, numbers of rows -1. */
typedef struct spad_walk_event {
    spad_walk_kind kind;
    int64_t time; /**< events before it */
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
    int64_t expect; /**< arrive: bytes that are expected with it */
    int64_t cost;   /**< operation: as the kernel says, in its cost_kind */
    size_t access_count;
    const spad_walk_access *accesses;
    size_t completion_count;
    const spad_walk_completion *completions;
} spad_walk_event;

/** All agents, one after the other in the order of the text. */
#define SPAD_WALK_ALL (-1)

/** Zeroed walks main. */
typedef struct spad_walk_options {
    int64_t agent;             /**< whose program; 0: main; SPAD_WALK_ALL */
    const spad_layout *layout; /**< places of the tensors that have no address of their own; a
                                    layout of the same kernel, borrowed until destroy; NULL:
                                    nothing is planned */
    spad_trace *trace;         /**< where the scoped managers log; NULL: nowhere */
    const spad_host *host;
} spad_walk_options;

/** A walk that stands at the start. The kernel is borrowed. SPAD_ERR_ARGUMENT: no such agent, or
 *  the layout of another kernel. */
SPAD_API spad_status spad_walk_create(spad_walk **out, const spad_kernel *kernel,
                                      const spad_walk_options *options, spad_error *error);

/** Frees it. NULL is fine. */
SPAD_API void spad_walk_destroy(spad_walk *walk);

/**
 * The next event. A failed call ends the walk: later ones fail in the same way.
 * SPAD_ERR_BOUNDS: an index or range leaves its tensor in this iteration.
 * SPAD_ERR_SHAPE: a part of a tile that is not evenly spaced runs of bytes.
 * SPAD_ERR_ARGUMENT: an amount that is negative or no parity. SPAD_ERR_NOT_LIVE: a
 * heap tensor is freed that is not the newest. From the scoped managers: SPAD_ERR_NO_FIT
 * and others. The error has the location in the text.
 */
SPAD_API spad_status spad_walk_next(const spad_walk_event **out, spad_walk *walk,
                                    spad_error *error);

/**
 * Straight after an ITERATION event: continues as if it had been for this later value of
 * the loop's variable, in O(1). For analyses that have seen a loop repeat itself.
 * Scoped managers stay as they are. SPAD_ERR_ARGUMENT: not after such an event.
 * SPAD_ERR_BOUNDS: a value that does not come any more.
 */
SPAD_API spad_status spad_walk_jump(spad_walk *walk, int64_t value, spad_error *error);

/** Values of the loop variables, by number of the loop; meaningful for open loops. */
SPAD_API const int64_t *spad_walk_get_values(const spad_walk *walk);

/** Number of open loops. */
SPAD_API size_t spad_walk_loop_count(const spad_walk *walk);

/** Number of the open loop at a depth, 0 is the outermost; -1: no such depth. */
SPAD_API int64_t spad_walk_get_loop(const spad_walk *walk, size_t depth);

/** Events and tiles that spad_kernel_write_trace examines. */
#define SPAD_KERNEL_TRACE_EVENTS INT64_C(10000000)
#define SPAD_KERNEL_TRACE_TILES INT64_C(1000000)

/**
 * Writes what a whole run allocates on chip to a trace of the same target: each tile
 * (of a ring: each slot) lives from the first event that touches it to the last; what
 * agents touch lives from fork to join, because their order is unknown. Aliases keep the
 * tensor alive that owns their bytes. Scoped tensors are logged by their managers.
 * Two walks, so O(events). SPAD_ERR_ARGUMENT: more events or tiles than the limits;
 * the trace then has part of them.
 */
SPAD_API spad_status spad_kernel_write_trace(const spad_kernel *kernel, spad_trace *trace,
                                             const spad_host *host, spad_error *error);

#ifdef __cplusplus
}
#endif
#endif
