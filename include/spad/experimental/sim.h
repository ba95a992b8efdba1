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
#include "spad/experimental/occupancy.h"
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

/** Why an operation did not start earlier. */
typedef enum spad_wait_kind {
    SPAD_WAIT_NONE,    /**< it started right after the previous one, or at time 0 */
    SPAD_WAIT_ENGINE,  /**< another operation occupied the engine */
    SPAD_WAIT_DATA,    /**< the bytes it reads were being written */
    SPAD_WAIT_READER,  /**< the bytes it writes were being read: the ring is full */
    SPAD_WAIT_WRITER,  /**< the bytes it writes were being written */
    SPAD_WAIT_PORT,    /**< an engine that shares a port was using the memory */
    SPAD_WAIT_STARTUP, /**< the start-up of the transfer */
    SPAD_WAIT_WINDOW,  /**< the operation SPAD_SIM_WINDOW before it had not started */
    SPAD_WAIT_SYNC,    /**< a synchronisation statement */
    SPAD_WAIT_ISSUE,   /**< its agent was busy with another operation */
    SPAD_WAIT_KINDS
} spad_wait_kind;

/** "data", "reader" and so on. Static storage. */
SPAD_API const char *spad_wait_kind_name(spad_wait_kind kind);

/** One operation that was run. Row numbers that do not apply are -1. */
typedef struct spad_sim_row {
    int64_t statement;
    int64_t agent;
    int64_t engine;
    int64_t start;
    int64_t end;    /**< of its occupation of the engine */
    int64_t done;   /**< its result is there: `end`, or later by its latency */
    int64_t wait;   /**< from the end of the previous operation (of its engine; of its statement
                         for transfers; of its agent or unit) until it needed only its engine */
    int64_t queued; /**< from then to its start: other operations occupied the engine */
    spad_wait_kind kind; /**< reason of `wait` */
    int64_t cause;       /**< the row that `wait` was for */
    int64_t blocker; /**< the previous row on the critical path: the last one that it waited for */
    int64_t tensor;  /**< data, reader, writer: the tensor */
    int64_t slot;    /**< and its slot */
    int64_t object;  /**< sync: the object; drain has none */
    int64_t element; /**< and its number in the array */
    int64_t path;    /**< number of the path of its engine that it takes; -1: the engine itself */
    size_t value_count;    /**< number of loops around the statement */
    const int64_t *values; /**< what they count, outermost first; borrowed */
} spad_sim_row;

/** An engine of the target: busy + idle is the makespan. Of an engine whose units work for several
 *  agents at once, the mean of these units; of an engine with paths, the busiest of them and of the
 *  engine itself. */
typedef struct spad_sim_engine {
    int64_t busy;
    int64_t idle;
    int64_t operations;
    int64_t active; /**< time in which an operation is under way, from its start-up on to its
                       result: what a profiler counts of copies. About, where operations begin in
                       another order than they are issued */
} spad_sim_engine;

/** The unit of the times in a result. Without figures there is no time. */
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
    char uncounted[SPAD_UNCOUNTED_TEXT]; /**< work of the kernel that no time is counted for, as
                                              spad_kernel_get_uncounted() names it, cut if it is
                                              longer; "": none */
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

/**
 * The time of a grid. Blocks run in waves: `per_unit` of them on each unit of the chip. A wave
 * takes as long as one block with its share of the chip's memory rate, and at least as long as the
 * busiest engine or path needs for all blocks of its unit. The last wave has fewer blocks where the
 * others are full.
 */
typedef struct spad_sim_grid {
    int64_t blocks;   /**< 0: there is no grid */
    int64_t units;    /**< of the chip; 0: not known, and then there is no time */
    int64_t per_unit; /**< blocks on a unit at a time, in a wave that is full */
    spad_occupancy occupancy;
    int64_t waves;     /**< that are full */
    int64_t tail;      /**< blocks of the last one; 0: all are full */
    int64_t wave_time; /**< of a full wave */
    int64_t tail_time;
} spad_sim_grid;

/** The grid of a simulation. All zero without one. */
SPAD_API spad_sim_grid spad_sim_get_grid(const spad_sim *sim);

/** What bounds the time of a kernel. */
typedef enum spad_bound_kind {
    SPAD_BOUND_LATENCY, /**< waiting: nothing is busy for most of the time */
    SPAD_BOUND_COPIES,  /**< a path, or an engine that copies */
    SPAD_BOUND_MATRIX,  /**< an engine that multiplies matrices */
    SPAD_BOUND_VECTOR,  /**< another engine */
    SPAD_BOUND_KINDS
} spad_bound_kind;

/** "latency", "copies", "matrix", "vector". Static storage. */
SPAD_API const char *spad_bound_kind_name(spad_bound_kind kind);

/** A roof: an engine, or a path of one, that operations use; in a grid also a memory off chip and
 *  its cache, at the share of one unit: all that is read and written counts. */
typedef struct spad_sim_roof {
    int64_t engine;    /**< -1: a memory, or beyond the count */
    int64_t path;      /**< -1: the engine itself */
    int64_t memory;    /**< number of the space; -1: an engine, or beyond the count */
    bool cache;        /**< of that memory, its cache */
    const char *basis; /**< what its time rests on, of several the least certain: "measured",
                            "published", "of the target", "estimated", "in the kernel", "assumed".
                            Static storage; NULL beyond the count */
    spad_bound_kind kind;
    int64_t busy; /**< the time in which all its work could be done: no kernel with this work takes
                       less */
} spad_sim_roof;

/** Number of roofs. */
SPAD_API size_t spad_sim_roof_count(const spad_sim *sim);

/** A roof by number, the busiest first. */
SPAD_API spad_sim_roof spad_sim_get_roof(const spad_sim *sim, size_t number);

/** A roof bounds a kernel from this share of the time on, in thousandths; below it, waiting does.
 */
#define SPAD_BOUND_SHARE 800

/** What bounds the kernel: the kind of the busiest roof, if it is busy for SPAD_BOUND_SHARE of the
 *  makespan. */
SPAD_API spad_bound_kind spad_sim_get_bound_kind(const spad_sim *sim);

/** A sentence that describes the deadlock; NULL: the kernel ran to its end. The rest of the
 *  result covers the time up to the deadlock. Borrowed. */
SPAD_API const char *spad_sim_get_stuck(const spad_sim *sim);

/** An engine by its number in the target. All zero beyond the count. */
SPAD_API spad_sim_engine spad_sim_get_engine(const spad_sim *sim, size_t number);

/** A path of an engine by its number there: busy + idle is the makespan. All zero beyond the
 *  count. */
SPAD_API spad_sim_engine spad_sim_get_engine_path(const spad_sim *sim, size_t engine, size_t path);

/** Number of rows: operations that were run. */
SPAD_API size_t spad_sim_row_count(const spad_sim *sim);

/** A row by number, in the order in which operations were scheduled. All -1 beyond the count. */
SPAD_API spad_sim_row spad_sim_get_row(const spad_sim *sim, size_t number);

/** Number of operations on the critical path. */
SPAD_API size_t spad_sim_path_count(const spad_sim *sim);

/** The critical path: the row of its operation `number`, in time order. Each starts when the
 *  previous one ends, apart from start-ups and skipped periods. */
SPAD_API size_t spad_sim_get_path(const spad_sim *sim, size_t number);

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

/** "12 published, 3 measured, 4 estimates, 5 in the kernel, 6 assumed": where costs come from.
 * NULL: no cost has a figure of the target. Returns the field. */
SPAD_API const char *spad_sim_costs_text(const spad_sim_totals *totals,
                                         char field[SPAD_BADGE_TEXT]);

#define SPAD_SIM_JSON_ROWS 1000

/** Writes totals, engines, a timeline of the first operations, causes and the critical path as
 *  text, at most 80 columns wide unless names are long. */
SPAD_API spad_status spad_sim_write_text(const spad_sim *sim, const spad_sink *sink,
                                         spad_error *error);

/** Writes the same as JSON, with the first SPAD_SIM_JSON_ROWS rows. */
SPAD_API spad_status spad_sim_write_json(const spad_sim *sim, const spad_sink *sink,
                                         spad_error *error);

#ifdef __cplusplus
}
#endif
#endif
