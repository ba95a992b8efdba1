/* SPDX-License-Identifier: Apache-2.0
 *
 * frontier: layouts of a kernel between the fewest bytes and the least time.
 *
 * In a kernel without synchronisation, tensors that share bytes wait for each other. A layout with
 * the fewest bytes shares wherever program order allows it, and engines that could work side by
 * side take turns. Here a simulation (spad/sim.h) says when each slot is in use, and the planner
 * lets slots share bytes only if they are apart in time, too: this layout takes no longer than one
 * in which nothing is shared. Times that are cut short give the layouts in between. Every layout is
 * simulated, and the frontier is of what was measured (docs/tune-how.md).
 *
 * Externally synchronised.
 */
#ifndef SPAD_FRONTIER_H
#define SPAD_FRONTIER_H

#ifndef SPAD_EXPERIMENTAL
#error "spad/experimental/frontier.h may change in any version: define SPAD_EXPERIMENTAL"
#endif

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "spad/experimental/sim.h"
#include "spad/layout.h"

#ifdef __cplusplus
extern "C" {
#endif

typedef struct spad_frontier spad_frontier;

/** Zeroed is the default. */
typedef struct spad_frontier_options {
    bool release; /**< place the tensors that have addresses, too (spad_kernel_release), unless
                       only the addresses of the kernel fit */
    bool steps;   /**< answer even if costs are assumed */
    int64_t timeout_ns; /**< for the search; 0: SPAD_FRONTIER_TIMEOUT. Results are deterministic
                             unless it is reached */
    uint64_t seed;
    spad_watch watch; /**< a cancelled call has no result */
    const spad_host *host;
} spad_frontier_options;

#define SPAD_FRONTIER_TIMEOUT INT64_C(10000000000)

/** A layout that fits, and how long the kernel takes with it. */
typedef struct spad_frontier_point {
    int64_t makespan;          /**< picoseconds, in the unit of the totals */
    int64_t bytes;             /**< up to the tops of all memories on chip, over all lanes */
    const spad_layout *layout; /**< of spad_frontier_get_kernel */
} spad_frontier_point;

typedef struct spad_frontier_totals {
    int64_t apart;   /**< makespan if no tensors shared bytes; SPAD_UNBOUNDED: not simulated */
    int64_t written; /**< makespan with the addresses of the kernel, and of the planner where it
                          has none; SPAD_UNBOUNDED: it does not fit */
    int64_t written_bytes;     /**< of that layout, as in a point; 0: it does not fit */
    int64_t layouts;           /**< that were tried */
    bool cut;                  /**< time was up before all were */
    spad_sim_totals simulated; /**< its unit is that of all times here */
} spad_frontier_totals;

/** What matters first; the other decides between equals. */
typedef enum spad_frontier_goal { SPAD_FOR_TIME, SPAD_FOR_BYTES } spad_frontier_goal;

/**
 * Finds the frontier. With synchronisation sharing adds no wait, so there is one point, the layout
 * of spad_layout_create_checked. Without a layout that fits none exists. Statuses of
 * spad_sim_create, spad_layout_create, spad_kernel_release; SPAD_ERR_ARGUMENT: bad options, a
 * kernel that is deadlocked, or one with assumed costs unless `steps` is set. The kernel is
 * borrowed until the result is destroyed.
 */
SPAD_API spad_status spad_frontier_create(spad_frontier **out, const spad_kernel *kernel,
                                          const spad_frontier_options *options, spad_error *error);

/** Frees it. NULL is fine. */
SPAD_API void spad_frontier_destroy(spad_frontier *frontier);

/** The figures of the search. */
SPAD_API spad_frontier_totals spad_frontier_get_totals(const spad_frontier *frontier);

/** The kernel of the layouts: the one that was given, or without its addresses. Borrowed. */
SPAD_API const spad_kernel *spad_frontier_get_kernel(const spad_frontier *frontier);

/** Number of points. */
SPAD_API size_t spad_frontier_point_count(const spad_frontier *frontier);

/** A point by number, the fewest bytes first: each is faster than all with fewer bytes. NULL beyond
 *  the count. Borrowed. */
SPAD_API const spad_frontier_point *spad_frontier_get_point(const spad_frontier *frontier,
                                                            size_t number);

/** The point that suits a goal best: the fastest, or the one with the fewest bytes. NULL: nothing
 *  fits. Borrowed. */
SPAD_API const spad_frontier_point *spad_frontier_choose(const spad_frontier *frontier,
                                                         spad_frontier_goal goal);

/** Writes the totals and every point as TEXT, a table, or as JSON. */
SPAD_API spad_status spad_frontier_write(const spad_frontier *frontier, spad_format format,
                                         const spad_sink *sink, spad_error *error);

#ifdef __cplusplus
}
#endif
#endif
