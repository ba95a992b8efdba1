/* SPDX-License-Identifier: Apache-2.0
 *
 * trace_queries: the rest of spad/trace.h: events that allocators log, and what a trace knows at
 * its end.
 */
#ifndef SPAD_TRACE_QUERIES_H
#define SPAD_TRACE_QUERIES_H

#ifndef SPAD_EXPERIMENTAL
#error "spad/experimental/trace_queries.h may change in any version: define SPAD_EXPERIMENTAL"
#endif

#include "spad/trace.h"

#ifdef __cplusplus
extern "C" {
#endif

/** Opens a scope; *out is its number. The name is copied; NULL and "" mean unnamed. parent: an
 *  open scope of the same space, or -1. */
SPAD_API spad_status spad_trace_open_scope(int64_t *out, spad_trace *trace, size_t space,
                                           const char *name, int64_t degree, int64_t parent,
                                           int64_t start, spad_error *error);

/** Closes a scope. bytes: given back, as logs show them; high_water: largest use inside it. */
SPAD_API spad_status spad_trace_close_scope(spad_trace *trace, int64_t scope, int64_t bytes,
                                            int64_t high_water, spad_error *error);

/** A scope moves to another section, which starts at `address`. */
SPAD_API spad_status spad_trace_section(spad_trace *trace, int64_t scope, int64_t section,
                                        int64_t address, spad_error *error);

/** Marks that the allocator went back to an earlier state. scope: as in spad_trace_free. */
SPAD_API spad_status spad_trace_rollback(spad_trace *trace, size_t space, int64_t scope,
                                         spad_error *error);

/** Takes the memory for the event of a copy that is about to begin, so that its end does not
 *  lack any. Each is followed by spad_trace_copy, or by spad_trace_release_copy if it failed. */
SPAD_API spad_status spad_trace_reserve_copy(spad_trace *trace, spad_error *error);

/** Gives back what spad_trace_reserve_copy took; nothing happens if none exists. */
SPAD_API void spad_trace_release_copy(spad_trace *trace);

/** Number of scopes. */
SPAD_API size_t spad_trace_scope_count(const spad_trace *trace);

/** A scope by number; NULL beyond the count. Borrowed until the trace is written again. */
SPAD_API const spad_scope *spad_trace_get_scope(const spad_trace *trace, size_t number);

/** Statistics of a space. O(1). SPAD_ERR_ARGUMENT: no such space. */
SPAD_API spad_status spad_trace_get_stats(spad_space_stats *out, const spad_trace *trace,
                                          size_t space, spad_error *error);

/**
 * The tensors of a space that are live at a time, largest first (equal sizes
 * in order of allocation). Fills numbers[0 .. min(*count, capacity)) and sets
 * *count to how many there are; with a small capacity the largest are given.
 * O(tensors x log capacity), no memory. At the peak: time = stats.peak_time.
 */
SPAD_API spad_status spad_trace_list_live(size_t *count, int64_t *numbers, size_t capacity,
                                          const spad_trace *trace, size_t space, int64_t time,
                                          spad_error *error);

/**
 * The largest run of bytes in [lower, upper) that no live tensor with an
 * address touches in any lane. *at: where it begins. SPAD_ERR_ARGUMENT: upper is
 * below lower, or their difference does not fit 64 bits. O(n log n).
 */
SPAD_API spad_status spad_trace_get_largest_hole(int64_t *bytes, int64_t *at,
                                                 const spad_trace *trace, size_t space,
                                                 int64_t time, int64_t lower, int64_t upper,
                                                 spad_error *error);

#ifdef __cplusplus
}
#endif
#endif
