/* SPDX-License-Identifier: Apache-2.0
 *
 * trace: the append-only event log of one walk through a kernel.
 *
 * Everything that allocates writes a trace; everything that analyses reads
 * one. An allocator appends what it did (scope opened, tensor placed, tensor
 * freed); the trace keeps three tables over the events, so that readers need
 * not replay them: tensors with rectangle and lifetime, scopes with high-water
 * mark, and statistics per memory space.
 *
 * Time is the number of an event: the first has time 0. A tensor lives in
 * [t_begin, t_end). Appending costs O(1) amortised. Nothing that was written
 * is ever changed, except that ends and high-water marks are filled in.
 * Externally synchronised; const functions may run concurrently.
 */
#ifndef SPAD_TRACE_H
#define SPAD_TRACE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "spad/dtype.h"
#include "spad/target.h"

#ifdef __cplusplus
extern "C" {
#endif

/** rect.byte of a tensor that has no address (yet): placed by the planner, or off chip. */
#define SPAD_NO_BYTE INT64_MIN

/** t_end of what has not ended. */
#define SPAD_OPEN_END INT64_MAX

/** How a tensor gets its place. Any mode without an address is left to the planner. */
typedef enum spad_mode {
    SPAD_MODE_AUTO,  /**< the planner */
    SPAD_MODE_AT,    /**< given by the user */
    SPAD_MODE_MOD,   /**< modulo rings */
    SPAD_MODE_FUNC,  /**< a callback */
    SPAD_MODE_STACK, /**< scoped stack */
    SPAD_MODE_HEAP,  /**< heap beside the stack */
    SPAD_MODE_POOL,
    SPAD_MODE_ALIAS, /**< shares the bytes of another tensor */
    SPAD_MODE_COUNT
} spad_mode;

/** "stack", "heap" and so on; "?" for an invalid mode. Static storage. */
SPAD_API const char *spad_mode_name(spad_mode mode);

/** One tensor, from its allocation to its end. Strings and dims are borrowed from the trace. */
typedef struct spad_tensor {
    const char *name; /**< NULL: unnamed */
    spad_shape shape; /**< may have rank 0 when only the rectangle is known */
    spad_dtype dtype;
    spad_mode mode;
    size_t space;    /**< number of the space in the target */
    spad_rect rect;  /**< rect.byte is SPAD_NO_BYTE without an address */
    int64_t scope;   /**< number of the scope in which it was allocated; -1: none. A stack tensor
                          ends with it, a heap tensor may outlive it */
    int64_t section; /**< section of that scope, from 0 */
    int64_t t_begin;
    int64_t t_end;   /**< SPAD_OPEN_END while live */
    bool list_shape; /**< the tree shows the shape as a list of Python, [128, 512] */
} spad_tensor;

/** One scope, from open to close. */
typedef struct spad_scope {
    const char *name;   /**< NULL: unnamed; borrowed from the trace */
    size_t space;       /**< number of the space whose allocations it holds */
    int64_t degree;     /**< sections for multi-buffering */
    int64_t parent;     /**< number of the scope around it; -1: none */
    int32_t depth;      /**< scopes around it */
    int64_t start;      /**< address at which it began */
    int64_t high_water; /**< bytes it held at its highest, inner scopes included; 0 until closed */
    int64_t t_begin;
    int64_t t_end; /**< SPAD_OPEN_END while open */
} spad_scope;

typedef enum spad_event_kind {
    SPAD_EVENT_SCOPE_OPEN,
    SPAD_EVENT_SCOPE_CLOSE,
    SPAD_EVENT_SECTION, /**< the next section of the scope was entered */
    SPAD_EVENT_ALLOC,
    SPAD_EVENT_FREE,
    SPAD_EVENT_ROLLBACK, /**< a return to a checkpoint: the frees and closes after it undo things */
    SPAD_EVENT_COPY      /**< bytes were copied, or on a stream the copy was started */
} spad_event_kind;

/** One event; its time is its number. */
typedef struct spad_event {
    spad_event_kind kind;
    int32_t depth;   /**< scopes around it: an opened or closed scope does not count itself */
    size_t space;    /**< number of the space that it is about */
    int64_t tensor;  /**< alloc, free: number of the tensor; copy: of the destination, -1 if it is
                          not in the trace, such as the program's memory; otherwise -1 */
    int64_t source;  /**< copy: number of the tensor that is read, or -1; otherwise -1 */
    int64_t scope;   /**< scope open and close, section: number of the scope; otherwise -1 */
    int64_t address; /**< scope open, section: where allocation continues; alloc: the address that
                          logs show, which for one library behaviour differs from rect.byte */
    int64_t bytes;   /**< scope close: bytes given back, as the log shows them; copy: bytes copied,
                          over all lanes */
    int64_t count;   /**< section: its number; free from a heap: tensors left on it; copy: 1 on a
                          stream, 0 otherwise */
} spad_event;

/** Statistics of one space. Bytes are per lane, as chip manuals count. */
typedef struct spad_space_stats {
    int64_t live_tensors;
    int64_t live_bytes;
    int64_t peak_bytes;   /**< largest sum of live bytes */
    int64_t peak_time;    /**< event at which that was first reached; -1: nothing was allocated */
    int64_t peak_tensors; /**< tensors live at that moment */
    int64_t total_tensors;
    int64_t total_bytes; /**< sum over all allocations, ended or not; stops at INT64_MAX */
} spad_space_stats;

typedef struct spad_trace spad_trace;

/** An empty trace, owned by the caller. The target is borrowed until the trace is destroyed. */
SPAD_API spad_status spad_trace_create(spad_trace **out, const spad_target *target,
                                       const spad_host *host, spad_error *error);

/** Frees it. NULL is fine. */
SPAD_API void spad_trace_destroy(spad_trace *trace);

/** The target it is of. Borrowed. */
SPAD_API const spad_target *spad_trace_get_target(const spad_trace *trace);

/* ---- writing ----------------------------------------------------------------
 * For allocators and front ends. Each call appends one event, or fails and
 * appends nothing: SPAD_ERR_HOST_MEMORY, or SPAD_ERR_ARGUMENT for a number that
 * names nothing. Opening a scope and allocating a tensor also take the memory
 * for their end, so that closing and freeing never lack any. Several allocators
 * can write one trace: scopes nest by their parents, not by their order. */

/**
 * *out: number of the new tensor. Name and shape are copied; t_begin and t_end
 * are set by the trace. `address` is what logs show (see spad_event). The
 * rectangle has lanes from 0 on and ends that fit 64 bits. It may reach beyond the
 * space, on either side: a trace records what was done (the NKI library does so),
 * and others judge it.
 */
SPAD_API spad_status spad_trace_alloc(int64_t *out, spad_trace *trace, const spad_tensor *tensor,
                                      int64_t address, spad_error *error);

/** scope: the innermost scope open at this moment, for logs, or -1. heap_left: see
 *  spad_event.count. SPAD_ERR_NOT_LIVE: the tensor has ended already. */
SPAD_API spad_status spad_trace_free(spad_trace *trace, int64_t tensor, int64_t scope,
                                     int64_t heap_left, spad_error *error);

/**
 * Bytes are copied from one tensor to another. -1: a side that the trace does not have, such as
 * memory of the program, or a tensor that is older than the trace. space: of the destination, or
 * of the source if the destination is the program. on_stream: the call may have returned before
 * the bytes were there. Takes a place that was reserved, if there is one.
 * SPAD_ERR_ARGUMENT: no such tensor or space, or bytes < 0. SPAD_ERR_NOT_LIVE: a tensor that has
 * ended.
 */
SPAD_API spad_status spad_trace_copy(spad_trace *trace, size_t space, int64_t to, int64_t from,
                                     int64_t bytes, bool on_stream, spad_error *error);

/* ---- reading ----------------------------------------------------------------------- */

/** Number of events. */
SPAD_API size_t spad_trace_event_count(const spad_trace *trace);

/** Number of tensors. */
SPAD_API size_t spad_trace_tensor_count(const spad_trace *trace);

/** An event by number; NULL beyond the count. Borrowed until the trace is written again. */
SPAD_API const spad_event *spad_trace_get_event(const spad_trace *trace, size_t number);

/** A tensor by number; NULL beyond the count. Borrowed until the trace is written again. */
SPAD_API const spad_tensor *spad_trace_get_tensor(const spad_trace *trace, size_t number);

/** Which tree spad_trace_write_tree draws. */
typedef enum spad_tree_style {
    SPAD_TREE_EXACT,  /**< the tree of the NKI library's manual: freed= is what the scope held */
    SPAD_TREE_LIBRARY /**< what the NKI library prints: sections at the end of a scope as well */
} spad_tree_style;

/** Every space: see spad_trace_write_tree. */
#define SPAD_ALL_SPACES SIZE_MAX

/**
 * Writes events [from, to) of one space, or of all, as a tree of scopes, sections
 * and allocations, with the headline "[SBM] Allocations:"; nothing at all if
 * there are none.
 */
SPAD_API spad_status spad_trace_write_tree(const spad_trace *trace, size_t space, size_t from,
                                           size_t to, spad_tree_style style, const spad_sink *sink,
                                           spad_error *error);

#ifdef __cplusplus
}
#endif
#endif
