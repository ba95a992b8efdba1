/* SPDX-License-Identifier: Apache-2.0
 *
 * sim: how long a kernel takes, and what its engines wait for.
 *
 * A first-order model (docs/sim.md): every operation runs on one engine for as long
 * as the kernel or the target says. In a kernel without synchronisation it starts when
 * its engine is free, what it reads is written, and what it writes is no longer read
 * or written, byte by byte. In a kernel with agents, units and synchronisation it
 * starts when the program says so. Loops that repeat themselves are not run to their
 * end: the result is the same, and 10^9 iterations cost no more than a few.
 *
 * Times are whole picoseconds from the start. The result owns its rows; the kernel is
 * borrowed and must live as long. Externally synchronised.
 */
#ifndef SPAD_SIM_H
#define SPAD_SIM_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "spad/kernel.h"
#include "spad/layout.h"

#ifdef __cplusplus
extern "C" {
#endif

typedef struct spad_sim spad_sim;

/** Zeroed is the default. */
typedef struct spad_sim_options {
    const spad_layout *layout; /**< of the kernel that is simulated: places of auto tensors; NULL:
                                    nothing is planned, and auto tensors share no bytes with
                                    others */
    /** What if a tensor that is declared in a loop stood in front of it, with that many
     *  tiles by turns? By name of the tensor. For kernels without synchronisation. */
    const spad_define *hoists;
    size_t hoist_count;
    bool no_repeat;          /**< run every iteration */
    int64_t repeat_after;    /**< operations that are run in any case; 0: SPAD_SIM_REPEAT_AFTER */
    int64_t operation_limit; /**< that are run, not counting repetitions; 0:
                                  SPAD_SIM_OPERATIONS */
    int64_t timeout_ns;      /**< 0: none. A cut, which fails: there is no half of a result */
    spad_watch watch;        /**< likewise */
    const spad_host *host;
} spad_sim_options;

#define SPAD_SIM_OPERATIONS INT64_C(1000000)

/** Iterations, operations and statements of synchronisation that are run at most. */
#define SPAD_SIM_EVENTS INT64_C(20000000)
/** Steps after which clock and watch are asked, when the event that makes them is over. A step is
 * an event, or as much work: a touch of bytes that an access is compared with, eight numbers of a
 *  state that is compared with another. An access is compared with what the operations in the
 *  window touch at most. */
#define SPAD_SIM_LOOK 1024
#define SPAD_SIM_REPEAT_AFTER INT64_C(4096)

/** An operation is examined when the one that many before it in the program has started:
 *  queues of engines are not endless. For kernels without synchronisation. */
#define SPAD_SIM_WINDOW 1024

/** Duration of an operation for which neither kernel nor target has figures, and of a cycle of
 *  an engine without a clock; picoseconds. */
#define SPAD_SIM_UNKNOWN INT64_C(1000000)
#define SPAD_SIM_CYCLE INT64_C(1000)

/** Why an operation did not start earlier. */
typedef enum spad_wait_kind {
    SPAD_WAIT_NONE,    /**< right after the one before, or at the start */
    SPAD_WAIT_ENGINE,  /**< another operation had the engine */
    SPAD_WAIT_DATA,    /**< what it reads was being written */
    SPAD_WAIT_READER,  /**< what it writes was being read: the ring is full */
    SPAD_WAIT_WRITER,  /**< what it writes was being written */
    SPAD_WAIT_PORT,    /**< an engine that shares a port used the memory */
    SPAD_WAIT_STARTUP, /**< the start-up of a transfer */
    SPAD_WAIT_WINDOW,  /**< too far ahead of the program */
    SPAD_WAIT_SYNC,    /**< a statement of synchronisation */
    SPAD_WAIT_ISSUE,   /**< its agent was busy with another operation */
    SPAD_WAIT_KINDS
} spad_wait_kind;

/** "data", "reader" and so on. Static storage. */
SPAD_API const char *spad_wait_kind_name(spad_wait_kind kind);

/** One operation that was run. */
typedef struct spad_sim_row {
    int64_t statement;
    int64_t agent;
    int64_t engine;
    int64_t start;
    int64_t end;
    int64_t wait;        /**< from the end of the one before it (of its engine; of its statement for
                              transfers; of its agent or unit) until nothing but the engine was missing */
    int64_t queued;      /**< from then to its start: others had the engine */
    spad_wait_kind kind; /**< what `wait` was for */
    int64_t cause;       /**< row that `wait` was for; -1: none */
    int64_t blocker;     /**< row in front of it on the critical path: the last that it waited for;
                              -1: none */
    int64_t tensor;      /**< data, reader, writer: the tensor that it touches; -1 */
    int64_t slot;        /**< and its slot */
    int64_t object;      /**< sync: the object; -1: none, as for drain */
    int64_t element;
    size_t value_count;    /**< loops around the statement, the outermost first */
    const int64_t *values; /**< values of their variables; borrowed */
} spad_sim_row;

/** An engine of the target: busy + idle is the makespan. */
typedef struct spad_sim_engine {
    int64_t busy;
    int64_t idle;
    int64_t operations;
} spad_sim_engine;

/** All waiting of one statement for one cause, repetitions included. */
typedef struct spad_sim_wait {
    int64_t statement;
    spad_wait_kind kind;
    int64_t other;  /**< statement that it waited for; -1: none */
    int64_t tensor; /**< or -1 */
    int64_t object; /**< or -1 */
    int64_t count;
    int64_t total;
} spad_sim_wait;

/** A loop that was not run to its end: from `value` on it repeats itself every `period`
 *  iterations, each `time` long; `times` such periods were skipped. */
typedef struct spad_sim_repeat {
    int64_t loop;
    int64_t value;
    int64_t period;
    int64_t times;
    int64_t time;
    size_t row; /**< the first row after it */
} spad_sim_repeat;

typedef struct spad_sim_totals {
    int64_t makespan;
    int64_t operations; /**< repetitions included */
    int64_t unknown;    /**< of them without a known duration */
    int64_t bound;      /**< work of the busiest engine: no order of operations is faster */
} spad_sim_totals;

/**
 * Simulates a kernel. SPAD_ERR_ARGUMENT: bad options, or more operations or events than the
 * limits. SPAD_ERR_TIME, SPAD_ERR_CANCELLED: it was not run to its end.
 * SPAD_ERR_UNKNOWN: a hoist that names no tensor in a loop. SPAD_ERR_OVERFLOW: too long.
 * Statuses of spad_walk_next. SPAD_ERR_HOST_MEMORY. A deadlock is a result.
 */
SPAD_API spad_status spad_sim_create(spad_sim **out, const spad_kernel *kernel,
                                     const spad_sim_options *options, spad_error *error);

/** Frees it. NULL is fine. */
SPAD_API void spad_sim_destroy(spad_sim *sim);

/** The figures of the whole run. */
SPAD_API spad_sim_totals spad_sim_get_totals(const spad_sim *sim);

/** One sentence about a deadlock: who waits for what; NULL: the kernel ran to its end. The
 *  rest of the result is up to there. Borrowed. */
SPAD_API const char *spad_sim_get_stuck(const spad_sim *sim);

/** By number of the engine in the target. All zero beyond the count. */
SPAD_API spad_sim_engine spad_sim_get_engine(const spad_sim *sim, size_t number);

/** Number of rows: operations that were run. */
SPAD_API size_t spad_sim_row_count(const spad_sim *sim);

/** A row by number, in the order in which operations were scheduled. All -1 beyond the count. */
SPAD_API spad_sim_row spad_sim_get_row(const spad_sim *sim, size_t number);

/** Number of causes of waits. */
SPAD_API size_t spad_sim_wait_count(const spad_sim *sim);

/** A cause by number, the longest total first; NULL beyond the count. Borrowed. */
SPAD_API const spad_sim_wait *spad_sim_get_wait(const spad_sim *sim, size_t number);

/** Number of loops whose repetitions were skipped. */
SPAD_API size_t spad_sim_repeat_count(const spad_sim *sim);

/** A skipped repetition by number; NULL beyond the count. Borrowed. */
SPAD_API const spad_sim_repeat *spad_sim_get_repeat(const spad_sim *sim, size_t number);

/** Number of operations on the critical path. */
SPAD_API size_t spad_sim_path_count(const spad_sim *sim);

/** The critical path: the row of its operation `number`, the first operation first. Each starts
 *  when the one before it ends, apart from start-ups and periods that were skipped. */
SPAD_API size_t spad_sim_get_path(const spad_sim *sim, size_t number);

#define SPAD_TIME_TEXT 64

/** "12.345 us" from picoseconds: the unit in which it has one to three digits in front of the
 *  point (seconds: any number); what is after the third decimal is cut. Returns the field. */
SPAD_API const char *spad_time_text(int64_t picoseconds, char field[SPAD_TIME_TEXT]);

#define SPAD_SIM_JSON_ROWS 1000

/** Writes totals, engines, a timeline of the first operations, causes and the critical path as
 *  text of at most 80 columns, if no name is long. */
SPAD_API spad_status spad_sim_write_text(const spad_sim *sim, const spad_sink *sink,
                                         spad_error *error);

/** Writes the same as JSON, with the first SPAD_SIM_JSON_ROWS rows. */
SPAD_API spad_status spad_sim_write_json(const spad_sim *sim, const spad_sink *sink,
                                         spad_error *error);

#ifdef __cplusplus
}
#endif
#endif
