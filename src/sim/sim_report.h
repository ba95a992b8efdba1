/* SPDX-License-Identifier: Apache-2.0
 *
 * The facts of a simulated run, and helpers that the reports of simulator, tuner and analysis
 * share.
 */
#ifndef SPAD_SIM_SIM_REPORT_H
#define SPAD_SIM_SIM_REPORT_H

#include "base/text.h"
#include "layout/occupancy.h"
#include "spad/experimental/sim.h"

/* Why an operation did not start earlier. */
typedef enum spad__wait_kind {
    SPAD__WAIT_NONE,    /* it started right after the previous one, or at time 0 */
    SPAD__WAIT_ENGINE,  /* another operation occupied the engine */
    SPAD__WAIT_DATA,    /* the bytes it reads were being written */
    SPAD__WAIT_READER,  /* the bytes it writes were being read: the ring is full */
    SPAD__WAIT_WRITER,  /* the bytes it writes were being written */
    SPAD__WAIT_PORT,    /* an engine that shares a port was using the memory */
    SPAD__WAIT_STARTUP, /* the start-up of the transfer */
    SPAD__WAIT_WINDOW,  /* the operation SPAD_SIM_WINDOW before it had not started */
    SPAD__WAIT_SYNC,    /* a synchronisation statement */
    SPAD__WAIT_ISSUE,   /* its agent was busy with another operation */
    SPAD__WAIT_KINDS
} spad__wait_kind;

/* One operation that was run. Row numbers that do not apply are -1. */
typedef struct spad__sim_row {
    int64_t statement;
    int64_t agent;
    int64_t engine;
    int64_t start;
    int64_t end;          /* of its occupation of the engine */
    int64_t done;         /* its result is there: `end`, or later by its latency */
    int64_t wait;         /* from the end of the previous operation (of its engine; of its statement
                               for transfers; of its agent or unit) until it needed only its engine */
    int64_t queued;       /* from then to its start: other operations occupied the engine */
    spad__wait_kind kind; /* reason of `wait` */
    int64_t cause;        /* the row that `wait` was for */
    int64_t blocker;    /* the previous row on the critical path: the last one that it waited for */
    int64_t tensor;     /* data, reader, writer: the tensor */
    int64_t slot;       /* and its slot */
    int64_t object;     /* sync: the object; drain has none */
    int64_t element;    /* and its number in the array */
    int64_t path;       /* number of the path of its engine that it takes; -1: the engine itself */
    size_t value_count; /* number of loops around the statement */
    const int64_t *values; /* what they count, outermost first; borrowed */
} spad__sim_row;

/* An engine of the target: busy + idle is the makespan. Of an engine whose units work for several
 *  agents at once, the mean of these units; of an engine with paths, the busiest of them and of the
 *  engine itself. */
typedef struct spad__sim_engine {
    int64_t busy;
    int64_t idle;
    int64_t operations;
    int64_t active; /* time in which an operation is under way, from its start-up on to its
                       result: what a profiler counts of copies. About, where operations begin in
                       another order than they are issued */
} spad__sim_engine;

/*
 * The time of a grid. Blocks run in waves: `per_unit` of them on each unit of the chip. A wave
 * takes as long as one block with its share of the chip's memory rate, and at least as long as the
 * busiest engine or path needs for all blocks of its unit. The last wave has fewer blocks where the
 * others are full.
 */
typedef struct spad__sim_grid {
    int64_t blocks;   /* 0: no grid */
    int64_t units;    /* of the chip; 0: not known, and then no time */
    int64_t per_unit; /* blocks on a unit at a time, in a wave that is full */
    spad__occupancy occupancy;
    int64_t waves;     /* that are full */
    int64_t tail;      /* blocks of the last one; 0: all are full */
    int64_t wave_time; /* of a full wave */
    int64_t tail_time;
} spad__sim_grid;

/* What bounds the time of a kernel. */
typedef enum spad__bound_kind {
    SPAD__BOUND_LATENCY, /* waiting: nothing is busy for most of the time */
    SPAD__BOUND_COPIES,  /* a path, or an engine that copies */
    SPAD__BOUND_MATRIX,  /* an engine that multiplies matrices */
    SPAD__BOUND_VECTOR,  /* another engine */
    SPAD__BOUND_KINDS
} spad__bound_kind;

/* A roof: an engine, or a path of one, that operations use; in a grid also a memory off chip and
 *  its cache, at the share of one unit: all that is read and written counts. */
typedef struct spad__sim_roof {
    int64_t engine;    /* -1: a memory, or beyond the count */
    int64_t path;      /* -1: the engine itself */
    int64_t memory;    /* number of the space; -1: an engine, or beyond the count */
    bool cache;        /* of that memory, its cache */
    const char *basis; /* what its time rests on, of several the least certain: "measured",
                            "published", "of the target", "estimated", "in the kernel", "assumed".
                            Static storage; NULL beyond the count */
    spad__bound_kind kind;
    int64_t busy; /* the time in which all its work could be done: no kernel with this work takes
                       less */
} spad__sim_roof;

/* A roof bounds a kernel from this share of the time on, in thousandths; below it, waiting does.
 */
#define SPAD__BOUND_SHARE 800

/* "41.2 %" of a whole that is above 0. */
const char *spad__share_text(int64_t part, int64_t whole, char field[SPAD_TIME_TEXT]);

/* The part of spad_sim_badge_text that is about costs; NULL: none. Returns the field. */
const char *spad__costs_badge(const spad_sim_totals *totals, char field[SPAD_BADGE_TEXT]);

/* The key "costs": how many come from where. */
void spad__json_costs(spad__json *json, const spad_sim_totals *totals);

/* The keys "unknown", "assumed", "unit" and "uncounted": whether the times of a result are times,
 * and what they leave out. */
void spad__json_unit(spad__json *json, const spad_sim_totals *totals);

/* "latency", "copies", "matrix", "vector". Static storage. */
const char *spad__bound_kind_name(spad__bound_kind kind);

/* "data", "reader" and so on. Static storage. */
const char *spad__wait_kind_name(spad__wait_kind kind);

/* "12 published, 3 measured, 4 estimates, 5 in the kernel, 6 assumed": where costs come from.
 * NULL: no cost has a figure of the target. Returns the field. */
const char *spad__sim_costs_text(const spad_sim_totals *totals, char field[SPAD_BADGE_TEXT]);

/* An engine by its number in the target. All zero beyond the count. */
spad__sim_engine spad__sim_get_engine(const spad_sim *sim, size_t number);

/* A path of an engine by its number there: busy + idle is the makespan. All zero beyond the
 *  count. */
spad__sim_engine spad__sim_get_engine_path(const spad_sim *sim, size_t engine, size_t path);

/* The grid of a simulation. All zero without one. */
spad__sim_grid spad__sim_get_grid(const spad_sim *sim);

/* The critical path: the row of its operation `number`, in time order. Each starts when the
 *  previous one ends, apart from start-ups and skipped periods. */
size_t spad__sim_get_path(const spad_sim *sim, size_t number);

/* A row by number, in the order in which operations were scheduled. All -1 beyond the count. */
spad__sim_row spad__sim_get_row(const spad_sim *sim, size_t number);

/* Number of operations on the critical path. */
size_t spad__sim_path_count(const spad_sim *sim);

/* Number of roofs. */
size_t spad__sim_roof_count(const spad_sim *sim);

/* Number of rows: operations that were run. */
size_t spad__sim_row_count(const spad_sim *sim);

/* A roof by number, the busiest first. */
spad__sim_roof spad__sim_get_roof(const spad_sim *sim, size_t number);

/* What bounds the kernel: the kind of the busiest roof, if it is busy for SPAD__BOUND_SHARE of the
 *  makespan. */
spad__bound_kind spad__sim_get_bound_kind(const spad_sim *sim);

#endif
