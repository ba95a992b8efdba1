/* SPDX-License-Identifier: Apache-2.0
 *
 * tiers: several memories at once, fast and slow ones. Which buffer is where at which of its uses,
 * so that the bytes moved and the accesses to slow memories cost the least and every memory has
 * room (docs/planner.md, "Several memories").
 */
#ifndef SPAD_TIERS_H
#define SPAD_TIERS_H

#ifndef SPAD_EXPERIMENTAL
#error "spad/experimental/tiers.h may change in any version: define SPAD_EXPERIMENTAL"
#endif

#include "spad/plan.h"

#ifdef __cplusplus
extern "C" {
#endif

/** A problem: memories and buffers. Externally synchronised; solving only reads it. */
typedef struct spad_tiers spad_tiers;

/** Memories that a problem may have. */
#define SPAD_TIERS_MEMORIES 16

/** "No memory". */
#define SPAD_NO_MEMORY SIZE_MAX

typedef struct spad_tier {
    const char *name; /**< for texts; copied; NULL: a number */
    int64_t capacity; /**< bytes; SPAD_UNBOUNDED: no limit */
    int64_t cost;     /**< of one byte that is read or written there; 0: free */
} spad_tier;

/** A buffer that is used at some moments. Each use reads or writes all its bytes in the memory in
 *  which it is then, at `size` times the cost of that memory. Between two uses it is in one memory;
 *  to move it costs its bytes in both. Wherever it comes to be, it may have another offset. */
typedef struct spad_tier_buffer {
    const char *name;
    int64_t size;
    int64_t alignment; /**< 0: 1 */
    size_t use_count;
    const int64_t *uses; /**< moments, ascending; copied */
    uint32_t memories;   /**< bit m: it may be in memory m; 0: in all */
    size_t home;         /**< memory of its bytes before the first use; SPAD_NO_MEMORY: written by
                              its first use, wherever that is */
    bool kept;           /**< its bytes are needed in `home` after the last use */
    bool constant;       /**< `home` has them all the time: to go back there costs nothing */
} spad_tier_buffer;

/** An empty problem. SPAD_ERR_HOST_MEMORY. */
SPAD_API spad_status spad_tiers_create(spad_tiers **out, const spad_host *host, spad_error *error);

/** Frees it. NULL is fine. */
SPAD_API void spad_tiers_destroy(spad_tiers *tiers);

/** Adds a memory; *out (optional) is its number. SPAD_ERR_ARGUMENT: a negative capacity or cost, or
 *  too many. */
SPAD_API spad_status spad_tiers_add_memory(size_t *out, spad_tiers *tiers, const spad_tier *memory,
                                           spad_error *error);

/** Adds a buffer; *out (optional) is its number. SPAD_ERR_ARGUMENT: a negative size or alignment,
 * no uses, uses that do not ascend, memories that there are not, kept or constant without a home;
 *  SPAD_ERR_OVERFLOW: all that all buffers could cost does not fit 64 bits. */
SPAD_API spad_status spad_tiers_add(size_t *out, spad_tiers *tiers, const spad_tier_buffer *buffer,
                                    spad_error *error);

/** A buffer in one place of a memory, from the beginning of one use or move to the end. */
typedef struct spad_tier_stay {
    size_t buffer;
    size_t memory;
    int64_t lower; /**< in [lower, upper) */
    int64_t upper;
    int64_t offset;
} spad_tier_stay;

typedef struct spad_tiers_result {
    spad_plan_verdict verdict;
    int64_t cost;  /**< of the best plan; SPAD_UNBOUNDED: none exists */
    int64_t bound; /**< no plan costs less */
    int64_t moved; /**< bytes that are moved between memories */
    size_t stay_count;
    spad_tier_stay *stays; /**< by buffer, then by time */
    int64_t nodes;
    int64_t nanoseconds;
    void *owned;
} spad_tiers_result;

/** Looks for the plan of least cost. Of the options, timeout_ns and node_limit count; node_limit 0:
 *  20000 sets of decisions. SPAD_ERR_ARGUMENT: options outside their range. */
SPAD_API spad_status spad_tiers_solve(spad_tiers_result **out, const spad_tiers *tiers,
                                      const spad_plan_options *options, spad_error *error);

/** Frees it. NULL is fine. */
SPAD_API void spad_tiers_result_destroy(spad_tiers_result *result);

/** Writes a few lines: cost, bound, verdict, bytes moved, what every memory has, and the buffers
 * that are not in the cheapest memory that they may be in, the most expensive first. */
SPAD_API spad_status spad_tiers_write_text(const spad_tiers *tiers, const spad_tiers_result *result,
                                           const spad_sink *sink, spad_error *error);

#ifdef __cplusplus
}
#endif
#endif
