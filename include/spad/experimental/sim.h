/* SPDX-License-Identifier: Apache-2.0
 *
 * sim: how long a kernel takes, and what its engines wait for.
 *
 * A first-order model (docs/sim-how.md): every operation runs on one engine, for a duration
 * from the kernel or the target. In a kernel without synchronisation it starts when its
 * engine is free, the bytes it reads are written, and the bytes it writes are no longer
 * read or written. In a kernel with agents, units and synchronisation it starts when
 * the waits of the program allow it. Loops whose state repeats are extrapolated: the
 * result is the same, and 10^9 iterations cost no more than a few thousand.
 *
 * Times are whole picoseconds from the start. The result owns its rows; the kernel is
 * borrowed and must outlive it. Externally synchronised.
 */
#ifndef SPAD_SIM_H
#define SPAD_SIM_H

#ifndef SPAD_EXPERIMENTAL
#error "spad/experimental/sim.h may change in any version: define SPAD_EXPERIMENTAL"
#endif

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "spad/experimental/kernel_rows.h"
#include "spad/layout.h"

#ifdef __cplusplus
extern "C" {
#endif

typedef struct spad_sim spad_sim;

/** Zeroed is the default. */
typedef struct spad_sim_options {
    const spad_layout *layout; /**< of the same kernel: places of auto tensors; NULL: auto tensors
                                    have no addresses and share no bytes with others */
    /** Simulates as if a tensor that is declared in a loop were declared before it, with that
     *  many slots. By name of the tensor. For kernels without synchronisation. */
    const spad_define *hoists;
    size_t hoist_count;
    int64_t grid;            /**< blocks of the grid; the kernel is one of them; 0: as the kernel
                                  states, or one block alone on the chip */
    bool no_repeat;          /**< run every iteration */
    int64_t repeat_after;    /**< operations that are always run; 0: SPAD_SIM_REPEAT_AFTER */
    int64_t operation_limit; /**< most operations that are run, without extrapolated ones; 0:
                                  SPAD_SIM_OPERATIONS */
    int64_t timeout_ns;      /**< 0: no limit. The call fails when it is reached */
    spad_watch watch;        /**< the call fails when it is cancelled */
    const spad_host *host;
} spad_sim_options;

#define SPAD_SIM_OPERATIONS INT64_C(1000000)

/** Most iterations, operations and synchronisation statements that are run. */
#define SPAD_SIM_EVENTS INT64_C(20000000)
/** Number of steps between two checks of clock and watch; the current event is finished first. A
 *  step is an event or an equal amount of work: the comparison of an access with one earlier
 *  access, or of eight numbers of two states. An access is compared at most with the accesses of
 *  operations in the window. */
#define SPAD_SIM_LOOK 1024
#define SPAD_SIM_REPEAT_AFTER INT64_C(4096)

/** An operation starts no earlier than the one that many before it in the program: queues of
 *  engines are finite. For kernels without synchronisation. */
#define SPAD_SIM_WINDOW 1024

/** A step, the duration of an operation for which neither kernel nor target has figures, and a
 *  cycle of an engine without a clock, in picoseconds. Neither is a time: see spad_time_unit. */
#define SPAD_SIM_UNKNOWN INT64_C(1000000)
#define SPAD_SIM_CYCLE INT64_C(1000)

/** What the times of a result are. Without figures there is no time. */
typedef enum spad_time_unit {
    SPAD_TIME_REAL,   /**< all costs are known: picoseconds */
    SPAD_TIME_MIXED,  /**< some are: picoseconds in which the others are assumptions */
    SPAD_TIME_CYCLES, /**< all are cycles of engines without a clock: SPAD_SIM_CYCLE each */
    SPAD_TIME_STEPS,  /**< none is known: every operation is a step, of SPAD_SIM_UNKNOWN */
    SPAD_TIME_UNITS
} spad_time_unit;

/** "time", "mixed", "cycles", "steps". Static storage. */
SPAD_API const char *spad_time_unit_name(spad_time_unit unit);

/** Bytes of a text about work that is not counted. */
#define SPAD_UNCOUNTED_TEXT 160

typedef struct spad_sim_totals {
    int64_t makespan;   /**< of the kernel: of one block, where there is a grid */
    int64_t time;       /**< of the whole grid; the makespan without one */
    int64_t operations; /**< extrapolated ones included */
    int64_t unknown;    /**< operations without a known duration: a step each */
    int64_t bound;      /**< work of the busiest engine: no order of operations takes less time */
    int64_t unclocked;  /**< operations in cycles of an engine without a clock */
    int64_t by_kernel;  /**< operations with a cost in the kernel */
    int64_t by_origin[SPAD_ORIGINS];     /**< operations with a cost from the target, by where its
                                              figures come from */
    spad_time_unit unit;                 /**< what the times of this result are */
    char uncounted[SPAD_UNCOUNTED_TEXT]; /**< work of the kernel that no time is counted for,
                                              cut if it is longer; "": none */
} spad_sim_totals;

/**
 * Simulates a kernel. A deadlock is a result and not a failure. SPAD_ERR_ARGUMENT: bad
 * options, or more operations or events than the limits. SPAD_ERR_TIME,
 * SPAD_ERR_CANCELLED: the simulation was not completed. SPAD_ERR_UNKNOWN: a hoist names no
 * tensor in a loop. SPAD_ERR_OVERFLOW: a time exceeds 64 bits. SPAD_ERR_HOST_MEMORY. Also
 * the statuses of spad_walk_next.
 */
SPAD_API spad_status spad_sim_create(spad_sim **out, const spad_kernel *kernel,
                                     const spad_sim_options *options, spad_error *error);

/** Frees it. NULL is fine. */
SPAD_API void spad_sim_destroy(spad_sim *sim);

/** The figures of the whole run. */
SPAD_API spad_sim_totals spad_sim_get_totals(const spad_sim *sim);

/** A sentence that describes the deadlock; NULL: the kernel ran to its end. The rest of the
 *  result covers the time up to the deadlock. Borrowed. */
SPAD_API const char *spad_sim_get_stuck(const spad_sim *sim);

#define SPAD_TIME_TEXT 64

/** Formats picoseconds as "12.345 us": in the unit with one to three digits before the point
 *  (seconds: any number), truncated after the third decimal. Returns the field. */
SPAD_API const char *spad_time_text(int64_t picoseconds, char field[SPAD_TIME_TEXT]);

/** Formats a time of a result in its unit: "12.345 us", "~12.345 us" where some costs are assumed,
 *  "345 cycles", "17 steps". Returns the field. */
SPAD_API const char *spad_time_unit_text(spad_time_unit unit, int64_t picoseconds,
                                         char field[SPAD_TIME_TEXT]);

#define SPAD_BADGE_TEXT 384

/** "262 of 262 costs assumed: steps, not time; not counted: 12 element-wise operations" and so on,
 *  to show beside every figure of a result. NULL: all costs are known, none is an estimate, and
 *  nothing is left out. Returns the field. */
SPAD_API const char *spad_sim_badge_text(const spad_sim_totals *totals,
                                         char field[SPAD_BADGE_TEXT]);

#define SPAD_SIM_JSON_ROWS 1000

/** Writes totals, engines, a timeline of the first operations, causes and the critical path as
 * TEXT, at most 80 columns wide unless names are long, or as JSON, with the first
 * SPAD_SIM_JSON_ROWS rows. */
SPAD_API spad_status spad_sim_write(const spad_sim *sim, spad_format format, const spad_sink *sink,
                                    spad_error *error);

#ifdef __cplusplus
}
#endif
#endif
