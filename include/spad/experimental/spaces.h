/* SPDX-License-Identifier: Apache-2.0
 *
 * spaces: one CSV text whose rows are in several memories (docs/planner.md, "Several memories").
 * Where every row names one memory, each memory is planned alone, with all rules of plan.h. Where
 * rows may be in one of several, the least cost decides: each use reads or writes all bytes of a
 * buffer in the memory in which it is then, at the cost of that memory, and a move costs its bytes
 * in both.
 */
#ifndef SPAD_SPACES_H
#define SPAD_SPACES_H

#ifndef SPAD_EXPERIMENTAL
#error "spad/experimental/spaces.h may change in any version: define SPAD_EXPERIMENTAL"
#endif

#include "spad/plan.h"
#include "spad/target.h"

#ifdef __cplusplus
extern "C" {
#endif

/** Memories that a problem may have. */
#define SPAD_TIERS_MEMORIES 16

/** A memory. */
typedef struct spad_tier {
    const char *name; /**< for texts; copied; NULL: a number */
    int64_t capacity; /**< bytes; SPAD_UNBOUNDED: no limit */
    int64_t cost;     /**< of one byte that is read or written there; 0: free */
} spad_tier;

/** A buffer in one place of a memory, from the beginning of one use or move to the end. */
typedef struct spad_tier_stay {
    size_t buffer;
    size_t memory;
    int64_t lower; /**< in [lower, upper) */
    int64_t upper;
    int64_t offset;
} spad_tier_stay;

/** The choice of memories. */
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

/** Memories and the rows of a text. Externally synchronised; solving only reads it. */
typedef struct spad_spaces spad_spaces;

/** Without memories. SPAD_ERR_HOST_MEMORY. */
SPAD_API spad_status spad_spaces_create(spad_spaces **out, const spad_host *host,
                                        spad_error *error);

/** Frees it. NULL is fine. */
SPAD_API void spad_spaces_destroy(spad_spaces *spaces);

/** Memories that rows name but nobody added come from this target, with its capacities and rules;
 *  their cost is their number. The target must outlive the object. */
SPAD_API void spad_spaces_set_target(spad_spaces *spaces, const spad_target *target);

/** Adds a memory, fast ones first; *out (optional) is its number. With a target it takes the rules
 * of the space of that name, if any, and SPAD_UNBOUNDED means the capacity of that space.
 *  SPAD_ERR_ARGUMENT: without a name, a negative capacity or cost, too many, or after the rows;
 *  SPAD_ERR_NAME: the name is taken; SPAD_ERR_BOUNDS: more than the space has. */
SPAD_API spad_status spad_spaces_add_memory(size_t *out, spad_spaces *spaces,
                                            const spad_tier *memory, spad_error *error);

/** Does the header of a CSV text have a column `space`? */
SPAD_API bool spad_spaces_in_csv(const char *text, size_t length);

/**
 * Reads the rows of a text as spad_plan_read_csv does, once. The column `space` has the name
 * of a memory, or several with '|' between them, of which one is chosen; empty or without the
 * column: any. Without memories and target the names of the text are memories without limits, each
 * at the cost of its number, counted from 0. If a row may choose, then four more columns count:
 * `uses` (times at which all its bytes are read or written, separated by blanks; empty: the first
 * and the last of its life), `home` (the memory that has its bytes before), `kept` and `constant`
 * (yes or no: `home` needs its bytes after the last use, or has them all the time), and none of the
 * rows may have a pin, a hint, gaps, lanes, banks, aliases, slices, in_place, apart or avoid. With
 * a target, the offset of a row that may choose is a multiple of the alignment and the granule of
 * each memory that it names. On an error nothing is added.
 */
SPAD_API spad_status spad_spaces_read_csv(spad_spaces *spaces, const char *text, size_t length,
                                          const char *file, const spad_plan_csv_options *options,
                                          spad_error *error);

/** Number of memories. */
SPAD_API size_t spad_spaces_count(const spad_spaces *spaces);

/** A memory; borrowed. NULL beyond the count. */
SPAD_API const spad_tier *spad_spaces_get(const spad_spaces *spaces, size_t number);

/** Its space in the target; NULL: it has none. */
SPAD_API const spad_space *spad_spaces_get_space(const spad_spaces *spaces, size_t number);

/** The part of a result that is about one memory. */
typedef struct spad_spaces_part {
    const spad_plan *plan;          /**< its buffers; where rows may choose: the stays in it */
    const spad_plan_result *result; /**< NULL: not planned */
    const spad_plan_reason *reason; /**< why it does not fit; NULL: it fits */
} spad_spaces_part;

/** The result of a solve. Owned by the caller. */
typedef struct spad_spaces_result {
    spad_plan_verdict verdict;      /**< of all memories together */
    size_t count;                   /**< memories */
    const spad_spaces_part *parts;  /**< per memory */
    const spad_tiers_result *tiers; /**< cost, bound, bytes moved and stays where rows may choose;
                                         NULL: every row names one memory */
    void *owned;
} spad_spaces_result;

/** Plans all memories. A memory without a capacity is minimised whatever the goal. The deadline is
 *  divided among the memories that are left; the other options are those of spad_plan_solve; where
 *  rows may choose, timeout_ns and node_limit count (0: 20000 sets of decisions).
 * SPAD_ERR_ARGUMENT: no text was read. */
SPAD_API spad_status spad_spaces_solve(spad_spaces_result **out, const spad_spaces *spaces,
                                       const spad_plan_options *options, spad_error *error);

/** Frees it. NULL is fine. */
SPAD_API void spad_spaces_result_destroy(spad_spaces_result *result);

/** Writes, for each memory, what spad_plan_write does, as TEXT or JSON, which has every place.
 * Where rows may choose, TEXT has cost, bound, bytes moved and the buffers outside of their
 * cheapest memory. */
SPAD_API spad_status spad_spaces_write(const spad_spaces *spaces, const spad_spaces_result *result,
                                       spad_format format, const spad_sink *sink,
                                       spad_error *error);

/** Writes the rows of the text in their order, with the columns space, offset and, if a memory has
 *  several lanes, lane at the end. A buffer that moves has a row for each of its stays, with the
 *  ends of that stay, and from the second on the id "x.2", "x.3" (and more points if there is such
 *  a buffer). SPAD_ERR_ARGUMENT: a memory without a plan, or not the text that was read. */
SPAD_API spad_status spad_spaces_write_csv(const spad_spaces *spaces,
                                           const spad_spaces_result *result, const char *text,
                                           size_t length, const spad_sink *sink, spad_error *error);

#ifdef __cplusplus
}
#endif
#endif
