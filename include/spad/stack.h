/* SPDX-License-Identifier: Apache-2.0
 *
 * stack: a manager for one region of a memory space, with scopes.
 *
 *     lower                     stack ->        <- heap                  upper
 *     | outer scope | inner scope |    free     | heap tensors, newest first |
 *
 * The stack grows up from the lower bound; what a scope allocated is freed
 * when it closes. The heap grows down from the upper bound and is freed by
 * hand, newest first. A scope can be cut into sections for multi-buffering:
 * every increment moves to the next one and the last wraps to the first, so
 * that a loop body allocates in turn at each of them.
 *
 * It does all that the SbufManager of the NKI library does, in three behaviours
 * (spad_stack_behaviour). Every call is O(1) amortised unless its comment
 * has another cost; a refusal for lack of room also examines everything live. A failed call changes
 * nothing. Externally synchronised.
 */
#ifndef SPAD_STACK_H
#define SPAD_STACK_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "spad/dtype.h"
#include "spad/target.h"
#include "spad/trace.h"

#ifdef __cplusplus
extern "C" {
#endif

typedef struct spad_stack spad_stack;

typedef enum spad_stack_behaviour {
    /** As the manual promises: overflow is checked after alignment, heap bases
     *  are aligned, pop_heap restores exactly, names are unique, start lanes obey
     *  the target, live tensors never share bytes (but see spad_stack_overlap). */
    SPAD_STACK_EXACT,
    /** The NKI library of April 2026, address for address: overflow is checked
     *  before alignment, a heap alignment rounds the end and not the base, and
     *  pop_heap may leak padding. Addresses can be negative. */
    SPAD_STACK_LIBRARY_2026_04,
    /** The version after it: heap bases are aligned (4 by default) and pop_heap
     *  restores exactly; the rest as before. */
    SPAD_STACK_LIBRARY_LATER
} spad_stack_behaviour;

/** Zeroed is the default. */
typedef struct spad_stack_options {
    size_t struct_size; /**< see SPAD_OPTIONS_INIT */
    spad_stack_behaviour behaviour;
    bool automatic;    /**< leave addresses to the planner */
    bool default_heap; /**< spad_stack_alloc allocates on the heap */
    bool strict;       /**< library behaviours: the library's address where it keeps its documented
                            contract, an error where it does not. An exact manager is strict */
    bool use_reserved; /**< let an exact manager reach into the reserve of the space */
    bool manual_log;   /**< the tree of the library's manual in the library behaviours, too */
    spad_trace *trace; /**< where to log; borrowed until destroy; NULL: nowhere */
    const spad_host *host;
} spad_stack_options;

/** Upper bound: the end of what the space has for tensors. */
#define SPAD_STACK_TO_THE_TOP INT64_MIN

/**
 * A manager over [lower, upper) of a space, owned by the caller. The target is
 * borrowed until destroy. options == NULL: all defaults. In the exact behaviour
 * 0 <= lower <= upper <= usable bytes of the space (SPAD_ERR_BOUNDS), unless it is automatic;
 * if that is switched off later, tensors outside of the space do not fit.
 * SPAD_ERR_UNKNOWN: no such space. SPAD_ERR_ARGUMENT: the trace is of another target.
 */
SPAD_API spad_status spad_stack_create(spad_stack **out, const spad_target *target,
                                       const char *space, int64_t lower, int64_t upper,
                                       const spad_stack_options *options, spad_error *error);

/** A manager in automatic mode over the whole of a space. */
SPAD_API spad_status spad_stack_create_auto(spad_stack **out, const spad_target *target,
                                            const char *space, const spad_stack_options *options,
                                            spad_error *error);

/** Frees the manager, whatever is still allocated in it. NULL is fine. The trace stays. */
SPAD_API void spad_stack_destroy(spad_stack *stack);

/* ---- scopes ------------------------------------------------------------------------ */

/**
 * Opens a scope. interleave: number of sections; exact and strict managers require at
 * least 1 (SPAD_ERR_ARGUMENT). The name is copied; NULL and "" mean unnamed.
 */
SPAD_API spad_status spad_stack_open_scope(spad_stack *stack, int64_t interleave, const char *name,
                                           spad_error *error);

/** Closes the innermost scope and frees what it holds. SPAD_ERR_NO_SCOPE.
 *  O(tensors freed). */
SPAD_API spad_status spad_stack_close_scope(spad_stack *stack, spad_error *error);

/**
 * Goes to the next section of the innermost scope. Tensors of an earlier round in that
 * section are freed. SPAD_ERR_NO_SCOPE. O(tensors freed).
 */
SPAD_API spad_status spad_stack_increment_section(spad_stack *stack, spad_error *error);

/**
 * A scope that closes when its guard goes out of (C) scope, with compilers that
 * have the cleanup attribute:
 *
 *     SPAD_STACK_SCOPE(guard, stack, 2, "double_buffer", &error);
 *     if (guard.status != SPAD_OK) return guard.status;
 *
 * Scopes opened inside and left open are closed with it; a scope that was already
 * closed is ignored. Closing cannot fail.
 */
typedef struct spad_stack_guard {
    spad_status status; /**< of the opening */
    spad_stack *stack;  /**< NULL: nothing to close */
    size_t depth;       /**< scopes that were open before */
    uint64_t serial;    /**< distinguishes its scope from a later one */
} spad_stack_guard;

/** Opens the scope of a guard; used by SPAD_STACK_SCOPE. */
SPAD_API spad_stack_guard spad_stack_enter(spad_stack *stack, int64_t interleave, const char *name,
                                           spad_error *error);

/** Closes the scope of a guard, if it was opened. */
SPAD_API void spad_stack_leave(spad_stack_guard *guard);

#define SPAD_STACK_SCOPE(guard, stack, interleave, name, error)         \
    __attribute__((cleanup(spad_stack_leave))) spad_stack_guard guard = \
        spad_stack_enter(stack, interleave, name, error)

/* ---- allocation -------------------------------------------------------------------- */

/** Alignment: the size of the element. The address is always also a multiple of the
 *  alignment of the space. */
#define SPAD_ALIGN_DEFAULT 0

/** Where a tensor goes. Zeroed is the default; a NULL place is the same. */
typedef struct spad_stack_place {
    int64_t align;     /**< bytes, at least 1, or SPAD_ALIGN_DEFAULT */
    int64_t base_lane; /**< first lane (partition) */
    const char *space; /**< NULL: the manager's own; for another one see spad_stack_alloc */
    bool list_shape;   /**< the log shows the shape as a list of Python, [128, 512] */
} spad_stack_place;

/**
 * Allocates a tensor on the stack, in the innermost scope. shape[0] is the
 * number of lanes; the rest gives the bytes per lane. name: NULL or "" for unnamed,
 * or a name that no tensor of this manager has had (exact and strict managers,
 * SPAD_ERR_NAME). *out is the rectangle; its byte is SPAD_NO_BYTE in automatic mode.
 * A tensor that grows into a section of the round before examines its tensors.
 *
 * SPAD_ERR_NO_FIT: error->needed, available (after alignment), largest_hole;
 * spad_stack_list_live lists who holds the rest. SPAD_ERR_NO_SCOPE, SPAD_ERR_SHAPE,
 * SPAD_ERR_DTYPE, SPAD_ERR_ALIGNMENT, SPAD_ERR_LANES, SPAD_ERR_OVERFLOW,
 * SPAD_ERR_SPACE (another space), SPAD_ERR_BOUNDS (larger than a bank).
 */
SPAD_API spad_status spad_stack_alloc_stack(spad_rect *out, spad_stack *stack, spad_shape shape,
                                            spad_dtype dtype, const char *name,
                                            const spad_stack_place *place, spad_error *error);

/** The same on the heap; needs no scope. */
SPAD_API spad_status spad_stack_alloc_heap(spad_rect *out, spad_stack *stack, spad_shape shape,
                                           spad_dtype dtype, const char *name,
                                           const spad_stack_place *place, spad_error *error);

/**
 * On the heap if options.default_heap is set, else on the stack. A place in another space
 * that is off chip gives a tensor with a name and a size that is not placed,
 * counted or logged.
 */
SPAD_API spad_status spad_stack_alloc(spad_rect *out, spad_stack *stack, spad_shape shape,
                                      spad_dtype dtype, const char *name,
                                      const spad_stack_place *place, spad_error *error);

/** Frees the newest heap tensor. SPAD_ERR_HEAP_EMPTY. */
SPAD_API spad_status spad_stack_pop_heap(spad_stack *stack, spad_error *error);

/* ---- questions --------------------------------------------------------------------- */

/** Bytes per lane of the region. */
SPAD_API int64_t spad_stack_get_total_space(const spad_stack *stack);

/** Bytes per lane between stack and heap. The library behaviours and automatic mode can make it
 *  negative. */
SPAD_API int64_t spad_stack_get_free_space(const spad_stack *stack);

/** Bytes per lane of the region that are not free. */
SPAD_API int64_t spad_stack_get_used_space(const spad_stack *stack);

/** Where the next stack tensor would go, before alignment. SPAD_ERR_NO_ADDRESS: automatic. */
SPAD_API spad_status spad_stack_get_address(int64_t *out, const spad_stack *stack,
                                            spad_error *error);

/** Where the heap ends. SPAD_ERR_NO_ADDRESS: automatic. */
SPAD_API spad_status spad_stack_get_heap_address(int64_t *out, const spad_stack *stack,
                                                 spad_error *error);

/** Moves the stack address up to a multiple of align (the library's default is 32).
 *  Like the library's, it does not outlast a section. SPAD_ERR_NO_ADDRESS: automatic. */
SPAD_API spad_status spad_stack_align(spad_stack *stack, int64_t align, spad_error *error);

/** The prefix is put in front of every later tensor name. Copied; NULL means "". */
SPAD_API spad_status spad_stack_set_prefix(spad_stack *stack, const char *prefix,
                                           spad_error *error);

/** Valid as long as the manager, so that it can be saved and set again. */
SPAD_API const char *spad_stack_get_prefix(const spad_stack *stack);

/** Automatic mode can be switched at any time; the cursors stay. */
SPAD_API void spad_stack_set_automatic(spad_stack *stack, bool automatic);

/** Peaks in bytes per lane, padding included, and counts since creation. */
typedef struct spad_stack_stats {
    int64_t peak_stack;
    int64_t peak_heap;
    int64_t peak_combined;
    int64_t stack_allocations;
    int64_t heap_allocations;
} spad_stack_stats;

/** The statistics of the manager. */
SPAD_API spad_stack_stats spad_stack_get_stats(const spad_stack *stack);

/** A tensor that is allocated now. Borrowed until the next change. */
typedef struct spad_stack_tensor {
    int64_t number;   /**< counted from 0 in order of allocation by this manager */
    const char *name; /**< with its prefix; NULL: unnamed */
    spad_rect rect;   /**< its byte is SPAD_NO_BYTE for one from automatic mode */
    spad_mode mode;   /**< SPAD_MODE_STACK or SPAD_MODE_HEAP */
} spad_stack_tensor;

/**
 * The live tensors, largest first (equal sizes in order of allocation): fills
 * out[0 .. min(returned, capacity)) and returns how many there are. With a small
 * capacity the largest are given. O(live x log capacity).
 */
SPAD_API size_t spad_stack_list_live(spad_stack_tensor *out, size_t capacity,
                                     const spad_stack *stack);

/**
 * Two sections of one scope that share bytes. Sections of unequal size can do
 * that across a wrap: the section that begins again has grown into its neighbour,
 * whose tensors of the previous round are not freed yet.
 */
typedef struct spad_stack_overlap {
    int64_t newer; /**< numbers of the two tensors, as in spad_stack_tensor */
    int64_t older;
    const char *newer_name; /**< NULL: unnamed */
    const char *older_name;
    spad_rect newer_rect;
    spad_rect older_rect;
} spad_stack_overlap;

#define SPAD_STACK_OVERLAPS_KEPT 4096

/** How many overlaps there were; the first SPAD_STACK_OVERLAPS_KEPT can be read. */
SPAD_API int64_t spad_stack_overlap_count(const spad_stack *stack);

/** An overlap by number; NULL beyond what is kept. Borrowed until the next change. */
SPAD_API const spad_stack_overlap *spad_stack_get_overlap(const spad_stack *stack, size_t index);

/* ---- checkpoint and rollback ------------------------------------------------------- */

/** A state to come back to. Plain data for the manager it is from; the fields are private. */
typedef struct spad_stack_checkpoint {
    const spad_stack *stack;
    int64_t stack_address;
    int64_t heap_address;
    size_t depth;
    uint64_t scope_serial; /* of the innermost scope */
    uint64_t increments;   /* of its sections */
    int64_t next_section;
    int64_t scope_high;
    int64_t section_newest; /* number of its newest tensor */
    size_t heap_count;
    int64_t heap_newest; /* number of its tensor */
    size_t name_count;
    int64_t overlap_count;
    spad_stack_stats stats;
} spad_stack_checkpoint;

/** The state now, for spad_stack_rollback. */
SPAD_API spad_stack_checkpoint spad_stack_mark(const spad_stack *stack);

/**
 * Undoes everything since the checkpoint: scopes opened since are closed,
 * tensors freed, and cursors, names, high-water marks, overlaps and statistics are
 * as they were; prefix and automatic mode stay as they are now. SPAD_ERR_STALE:
 * a scope of then has been closed or has changed its section, a tensor of then has
 * been popped or undone, or the checkpoint is from another manager; nothing is
 * changed. O(what is undone).
 */
SPAD_API spad_status spad_stack_rollback(spad_stack *stack, const spad_stack_checkpoint *checkpoint,
                                         spad_error *error);

/* ---- the log ----------------------------------------------------------------------- */

/** Writes what was logged since the last call as a tree, as the behaviour draws
 *  it; nothing without a trace, or when nothing happened. */
SPAD_API spad_status spad_stack_flush_log(spad_stack *stack, const spad_sink *sink,
                                          spad_error *error);

/** Writes the library's line of statistics. */
SPAD_API spad_status spad_stack_write_stats(const spad_stack *stack, const spad_sink *sink,
                                            spad_error *error);

#ifdef __cplusplus
}
#endif
#endif
