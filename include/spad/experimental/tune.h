/* SPDX-License-Identifier: Apache-2.0
 *
 * tune: how deep should the rings of a kernel be?
 *
 * The simulator (spad/sim.h) gives the time of each combination of depths, and the planner
 * (spad/layout.h) whether it fits, with lifetimes that agents order as in spad_analysis. The result
 * is the shortest makespan with the places of the planner and, among equals, the fewest bytes, with
 * the frontier between bytes and time. Tensors that are declared in a loop are hoisted out of it if
 * that is faster (docs/tune-how.md).
 *
 * Depths with which the check (spad/check.h) finds the kernel wrong are not examined.
 * Externally synchronised.
 */
#ifndef SPAD_TUNE_H
#define SPAD_TUNE_H

#ifndef SPAD_EXPERIMENTAL
#error "spad/experimental/tune.h may change in any version: define SPAD_EXPERIMENTAL"
#endif

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "spad/experimental/kernel_rows.h"
#include "spad/experimental/sim.h"

#ifdef __cplusplus
extern "C" {
#endif

typedef struct spad_tune spad_tune;

/** How far a search has come. */
typedef struct spad_tune_progress {
    int64_t nanoseconds;
    int64_t simulations;
    int64_t makespan; /**< of the fastest choice so far, as if no tensors shared bytes;
                           SPAD_UNBOUNDED: none */
    int64_t bound;    /**< no choice is faster; 0: not known yet */
} spad_tune_progress;

/** Zeroed is the default. */
typedef struct spad_tune_options {
    int64_t depth_most;      /**< deepest ring; 0: SPAD_TUNE_DEPTH. Depths that are of no use, more
                                  than tiles or than the space holds, are not examined */
    int64_t exhaustive_most; /**< combinations that are all examined; beyond that a descent is
                                  made; 0: SPAD_TUNE_EXHAUSTIVE; -1: never all */
    int64_t operations_most; /**< that are simulated, of all simulations; the search ends then, with
                                  what it has; 0: SPAD_TUNE_OPERATIONS */
    int64_t timeout_ns;      /**< 0: none. A cut: the search ends then, with what it has */
    bool steps;              /**< tune a kernel with assumed costs, too; its times are then in the
                                  unit of spad_tune_totals.simulated */
    spad_watch watch;        /**< a cancelled call has no result */
    /** Called regularly from the calling thread. A value other than 0 ends the search as if time
     * were up: it has the best choice so far. */
    int (*progress)(void *context, const spad_tune_progress *progress);
    void *context;
    const spad_host *host;
} spad_tune_options;

#define SPAD_TUNE_DEPTH INT64_C(8)
#define SPAD_TUNE_EXHAUSTIVE INT64_C(512)
#define SPAD_TUNE_OPERATIONS INT64_C(20000000)

/** The first ones that are examined; the others stay as they are. */
#define SPAD_TUNE_KNOBS 64

typedef enum spad_knob_kind {
    SPAD_KNOB_RING, /**< depth of a ring: an auto tensor with block dimensions */
    SPAD_KNOB_PARAM /**< a parameter that rings and synchronisation depend on */
} spad_knob_kind;

/** Something that can be chosen. A tensor that was hoisted has a ring, too: `written` is what it
 * has in its loop. */
typedef struct spad_tune_knob {
    spad_knob_kind kind;
    const char *name; /**< of the tensor or parameter; borrowed from the kernel */
    int64_t tensor;   /**< -1: a parameter */
    int64_t written;  /**< the value in the kernel; slots, for a ring */
    int64_t chosen;
    size_t value_count; /**< values that were allowed, the smallest first */
    const int64_t *values;
} spad_tune_knob;

typedef struct spad_tune_totals {
    int64_t written;         /**< makespan of the original kernel */
    int64_t written_planned; /**< the same with the places of the planner */
    int64_t written_bytes;
    int64_t written_placed; /**< bytes that its layout takes of all memories on chip, over all
                               lanes, as spad_layout_create_checked gives it; 0: no layout exists */
    const int64_t
        *written_spaces; /**< the same for each space of the target; NULL: no layout exists */
    bool written_fits;
    int64_t makespan; /**< of the choice; SPAD_UNBOUNDED: nothing fits */
    int64_t bytes;
    int64_t placed;        /**< the same of the choice */
    const int64_t *spaces; /**< the same per space */
    int64_t planned;       /**< makespan with the places that the planner gives, where tensors may
                                share bytes; SPAD_UNBOUNDED: nothing fits */
    int64_t deepest;       /**< makespan with all knobs at their largest: without transfers that
                                compete for an engine no choice is faster; SPAD_UNBOUNDED: a cut came
                                before it, or it is stuck */
    int64_t bound;         /**< work of the busiest engine: no choice is faster */
    bool exhaustive;       /**< all combinations of the values of the knobs were examined */
    bool sampled;          /**< not every depth is such a value: beyond 16, only some are */
    int64_t combinations;
    int64_t simulations;
    int64_t operations;        /**< of all simulations, repetitions that were skipped not counted */
    int64_t left;              /**< knobs beyond SPAD_TUNE_KNOBS */
    bool cut;                  /**< the search ended at the limit of operations or of time */
    spad_sim_totals simulated; /**< of the original kernel; its unit is that of all times here */
} spad_tune_totals;

/**
 * Tunes a kernel. Statuses of spad_sim_create, spad_layout_create and spad_check_create;
 * SPAD_ERR_ARGUMENT: bad options, a kernel with a deadlock, or one with assumed costs unless
 * `steps` is set: depths chosen from them mean nothing on the chip; SPAD_ERR_TIME: the time
 * limit passed before the original kernel was simulated; SPAD_ERR_CANCELLED. The kernel
 * is borrowed until the result is destroyed.
 */
SPAD_API spad_status spad_tune_create(spad_tune **out, const spad_kernel *kernel,
                                      const spad_tune_options *options, spad_error *error);

/** Frees it. NULL is fine. */
SPAD_API void spad_tune_destroy(spad_tune *tune);

/** The figures of the search and of the choice. */
SPAD_API spad_tune_totals spad_tune_get_totals(const spad_tune *tune);

/** The kernel with the chosen depths and hoisted tensors; NULL: nothing fits. Borrowed. */
SPAD_API const spad_kernel *spad_tune_get_chosen(const spad_tune *tune);

/* Rows by number; NULL beyond the count. Borrowed. */

/** Number of knobs. */
SPAD_API size_t spad_tune_knob_count(const spad_tune *tune);

/** A knob by number; NULL beyond the count. Borrowed. */
SPAD_API const spad_tune_knob *spad_tune_get_knob(const spad_tune *tune, size_t number);

/** Writes totals, knobs, the frontier and hoists as TEXT or JSON. */
SPAD_API spad_status spad_tune_write(const spad_tune *tune, spad_format format,
                                     const spad_sink *sink, spad_error *error);

#ifdef __cplusplus
}
#endif
#endif
