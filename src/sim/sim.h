/* SPDX-License-Identifier: Apache-2.0
 *
 * The simulator from the inside. sim.c makes a simulation and answers, block.c runs one block;
 * record.c keeps what comes out; flow.c runs kernels without synchronisation, agents.c those with
 * it; places.c knows who touches which bytes until when; repeat.c knows when a loop does the same
 * again; cost.c has the durations.
 */
#ifndef SPAD_SIM_SIM_H
#define SPAD_SIM_SIM_H

#include "base/index.h"
#include "base/limit.h"
#include "base/memory.h"
#include "base/text.h"
#include "kernel/touched_bytes.h"
#include "sim/sim_report.h"
#include "spad/experimental/walk.h"

typedef SPAD_ARRAY(int64_t) spad__numbers;

/* What one statement has of the critical path. */
typedef struct spad__path_part {
    int64_t statement;
    int64_t time;
    int64_t count;
} spad__path_part;

/* When operations were under way, lately: stretches that do not touch, in order. */
enum { SPAD__ACTIVE_MAX = 64 };
typedef struct spad__stretch {
    int64_t begin;
    int64_t end;
} spad__stretch;
typedef struct spad__active {
    size_t count;
    int64_t floor; /* what is before it is counted */
    spad__stretch items[SPAD__ACTIVE_MAX];
} spad__active;

/* All waits of one statement for one cause, extrapolated ones included. */
typedef struct spad__sim_wait {
    int64_t statement;
    spad__wait_kind kind;
    int64_t other;  /* the statement that it waited for; -1: none */
    int64_t tensor; /* or -1 */
    int64_t object; /* or -1 */
    int64_t count;
    int64_t total;
} spad__sim_wait;

/* A loop that was extrapolated: from `value` on its state repeats every `period` iterations, which
 *  together take `time`; `times` such periods were skipped. */
typedef struct spad__sim_repeat {
    int64_t loop;
    int64_t value;
    int64_t period;
    int64_t times;
    int64_t time;
    size_t row; /* the first row after it */
} spad__sim_repeat;

struct spad_sim {
    spad_host host;
    const spad_kernel *kernel;
    const spad_target *target;
    spad_sim_options options; /* limits are filled in */
    SPAD_ARRAY(spad__sim_row) rows;
    SPAD_ARRAY(size_t) first_values; /* per row, into `values` */
    spad__numbers values;
    SPAD_ARRAY(spad__sim_wait) waits;
    spad__index wait_index; /* of the causes; of no use once they are sorted */
    SPAD_ARRAY(spad__sim_repeat) repeats;
    SPAD_ARRAY(size_t) path;
    SPAD_ARRAY(spad__path_part) path_parts; /* in the order of the text */
    spad__sim_engine *engines;              /* per engine of the target */
    /* What can be occupied: the engines themselves, then the paths of each. Then two counts per
     * space: what the memory of the chip and its cache take for all transfers, in a grid. */
    spad__sim_engine *parts;
    size_t part_count;
    size_t *first_path;   /* per engine: the part of its path 0 */
    size_t first_memory;  /* the part of space 0 */
    int64_t load;         /* thousandths of its share of that memory that a block uses */
    spad__active *active; /* per part */
    unsigned char *basis; /* per part: 1 + number of a word, of the least certain cost; 0: none */
    int64_t active_units; /* that share the memory of the chip; 0: no grid */
    int64_t together;     /* blocks that run side by side on the unit; 0: one */
    int64_t blocks;       /* of the unit that begin later; 0: all begin together */
    int64_t in_step_time; /* of a wave: what its blocks take in step; 0: not asked for */
    int64_t in_step;      /* blocks of the unit that do the same at the same time; 0: one */
    spad__sim_grid grid;
    SPAD_ARRAY(spad__sim_roof) roofs;
    spad_sim_totals totals;
    bool is_stuck;
    char stuck[SPAD_MESSAGE_MAX];
    int64_t events; /* of all walks */
    int64_t
        steps; /* since clock and caller were last asked: events, and work that counts as such */
    spad__limit limit;
};

/* ---- durations (cost.c) ------------------------------------------------------------ */

typedef struct spad__cost {
    int64_t startup;   /* before the engine is taken */
    int64_t busy;      /* of the engine */
    int64_t latency;   /* from then on, until the result is there */
    int64_t dependent; /* more if it reads what the one before it on the engine wrote */
    int64_t path;      /* of its engine that it takes; -1: the engine itself */
    int64_t need;      /* of the capacity of that */
    size_t memory;     /* the space off chip that it reads or writes, where that is shared */
    int64_t shared[2]; /* what that memory and its cache take for it, at the unit's share */
    spad_origin origin;
    bool by_kernel; /* its cost is in the kernel */
    bool known;     /* false: neither kernel nor target has a figure */
    bool unclocked; /* in cycles of an engine without a clock */
} spad__cost;

/* SPAD_ERR_OVERFLOW. */
spad_status spad__sim_cost(spad__cost *out, const spad_sim *sim, const spad_walk_event *event,
                           spad_error *error);

/* Does the engine move data, and nothing else? Then its operations need not run in order. */
bool spad__is_copy_engine(const spad_engine *engine);

/* Blocks that a simulation has in all. */
static inline int64_t spad__sim_blocks(const spad_sim *sim) {
    const int64_t most = sim->together > sim->blocks ? sim->together : sim->blocks;
    return most > 1 ? most : 1;
}

/* The resource that an operation occupies: its engine, or a path of it. */
static inline size_t spad__sim_part(const spad_sim *sim, int64_t engine, int64_t path) {
    return path < 0 ? (size_t)engine : sim->first_path[engine] + (size_t)path;
}

/* The basis of a cost, the most certain first: origins of figures, then these. */
enum { SPAD__BASIS_KERNEL = SPAD_ORIGINS, SPAD__BASIS_ASSUMED, SPAD__BASES };

/* How much of a part can be taken at a time: threads, units, or 1. */
int64_t spad__sim_capacity(const spad_sim *sim, size_t part);

/* ---- what comes out (record.c) ----------------------------------------------------- */

/* The values of the loops around a statement, the outermost first, in a list of
 * SPAD__LOOPS_DEEP; returns how many. */
size_t spad__sim_values(const spad_kernel *kernel, int64_t statement, const int64_t *of_loops,
                        int64_t *list);

/* Adds an operation with its list of values, and counts it: its engine, its waiting, the
 * makespan. SPAD_ERR_ARGUMENT: beyond the limit. */
spad_status spad__sim_add(spad_sim *sim, const spad__sim_row *row, const spad__cost *cost,
                          spad_error *error);

/* Skips time: `by` later everything goes on. False: it exceeds 64 bits. */
bool spad__sim_skip_time(spad_sim *sim, int64_t by);

/* Checks the limits. SPAD_ERR_TIME, SPAD_ERR_CANCELLED. */
spad_status spad__sim_check_limit(spad_sim *sim, spad_error *error);

/* Counts an event of a walk, and looks once in SPAD_SIM_LOOK steps. Work inside of an event adds to
 * `steps` itself. SPAD_ERR_ARGUMENT: there are too many events. */
spad_status spad__sim_count_event(spad_sim *sim, spad_error *error);

/* All counts in a fixed order, for repetition: a copy, and adding `times` what came since. */
bool spad__sim_copy_counts(spad_sim *sim, spad__numbers *counts);
bool spad__sim_repeat_counts(spad_sim *sim, const spad__numbers *since, int64_t times);

spad_status spad__sim_fail_long(const spad_sim *sim, int64_t statement, spad_error *error);

/* The two ways to run a kernel. */
spad_status spad__sim_implicit(spad_sim *sim, spad_error *error);
spad_status spad__sim_explicit(spad_sim *sim, spad_error *error);

/* ---- the grid (grid.c) and roofs (roofline.c) --------------------------------------- */

/* Part of its share of the chip's memory that a block uses is what is left in `load` (load.c). */
enum { SPAD__LOAD_MOST = 990 }; /* thousandths */
spad_status spad__sim_find_load(spad_sim *sim, spad_error *error);

/* An empty simulation; *out is set also on a failure. */
spad_status spad__sim_make(spad_sim **out, const spad_kernel *kernel,
                           const spad_sim_options *options, spad__limit limit, spad_error *error);

/* Another simulation of the same kernel with the same options; *out is set also on a failure. */
spad_status spad__sim_again(spad_sim **out, const spad_sim *sim, spad_error *error);

/* Simulates a block. */
spad_status spad__sim_block(spad_sim *sim, spad_error *error);

/* How the blocks of a grid are distributed. SPAD_ERR_ARGUMENT: a negative number of blocks. */
spad_status spad__grid_start(spad_sim *sim, spad_error *error);

/* Blocks that each unit has, and the units that work: in a full wave, in the last one. */
typedef struct spad__wave {
    int64_t blocks; /* 0: no such wave */
    int64_t units;
} spad__wave;
spad__wave spad__grid_full_wave(const spad_sim *sim);
spad__wave spad__grid_last_wave(const spad_sim *sim);

/* The time of the grid; `full`, `last`: of the blocks of a unit in these waves; `rounds`: what a
 * unit takes whose blocks begin as soon as others end, 0: they begin in waves. False: it exceeds 64
 * bits. */
bool spad__grid_finish(spad_sim *sim, const spad_sim *full, const spad_sim *last, int64_t rounds);

/* Engines and paths by how busy they are. False: no memory. */
bool spad__find_roofs(spad_sim *sim);

/* The lines about them in the text of a simulation; "copy global to shared". */
void spad__write_roofs(spad__out *out, const spad_sim *sim);
const char *spad__bound_advice(const spad_sim *sim); /* what would help */
void spad__roof_name(const spad_sim *sim, const spad__sim_roof *roof, char *field, size_t size);

/* ---- units (unit.c) ---------------------------------------------------------------- */

/* The unit of the times of a result, from its counts. */
spad_time_unit spad__sim_unit(const spad_sim_totals *totals);

/* Picoseconds of a step or a cycle; 1 for real and mixed times. */
int64_t spad__time_unit_size(spad_time_unit unit);

/* ---- bytes (places.c) -------------------------------------------------------------- */

/* An access touches bytes until `end`. */
typedef struct spad__touch {
    spad__bytes bytes;
    bool writes;
    int64_t end;
    int64_t row; /* the operation */
} spad__touch;

/* A thing with bytes of its own: a slot of a tensor that is not placed, or a rectangle of a space.
 */
typedef struct spad__place {
    bool placed;
    int64_t home;   /* placed: the space */
    int64_t slot;   /* placed: 0 */
    spad_rect rect; /* placed */
    SPAD_ARRAY(spad__touch) touches;
    SPAD_ARRAY(size_t) neighbours; /* places that share bytes with it */
} spad__place;

typedef SPAD_ARRAY(size_t) spad__numbered;

/* A stretch of the bytes of a space: the rectangles that touch it, and those that start in it. */
typedef struct spad__page {
    spad__numbered all;
    spad__numbered starts;
} spad__page;

/* The pages of a space, which is longer than they are together if something is outside of it. */
typedef struct spad__pages {
    int64_t bytes; /* of a page */
    spad__page items[];
} spad__pages;

typedef struct spad__places {
    const spad_host *host;
    int64_t *steps; /* counts touches and places that are examined */
    const spad_target *target;
    SPAD_ARRAY(spad__place) places;
    size_t swept;        /* places that the last sweep has left */
    spad__pages **pages; /* per space, where some are needed */
    spad__index index;   /* of the places */
} spad__places;

void spad__places_free(spad__places *places);

/* The place of an access; `slot` as the caller counts slots. SIZE_MAX: no memory. */
size_t spad__places_find(spad__places *places, const spad_kernel *kernel,
                         const spad_walk_access *access, int64_t slot);

/* Calls for every touch that an access must wait for. */
typedef void (*spad__touch_visit)(void *context, const spad__touch *touch);
void spad__places_visit(const spad__places *places, size_t place, const spad__bytes *bytes,
                        bool writes, spad__touch_visit visit, void *context);

/* Notes a touch, and forgets those that no one needs to wait for any more: ends at or before
 * `floor`, and what a write covers, which has waited for it. */
bool spad__places_touch(spad__places *places, size_t place, const spad__touch *touch,
                        int64_t floor);

/* Forgets touches that are not kept, and places without any, if there are many; numbers of places
 * do not hold after it. False: no memory. */
typedef bool (*spad__touch_keep)(const void *context, const spad__touch *touch);
bool spad__places_sweep(spad__places *places, spad__touch_keep keep, const void *context);

/* Moves the slots of unplaced tensors on by shifts[home] x times. False: they do not fit. */
bool spad__places_shift(spad__places *places, const int64_t *shifts, int64_t times);

/* ---- repetition (repeat.c) --------------------------------------------------------- */

/* A loop whose iterations do the same every `period` ones, apart from conditions that
 * change for good. */
typedef struct spad__period {
    bool repeats;
    int64_t period;
    int64_t *shifts; /* per tensor: what its slots move by in a period */
    bool *written;   /* per tensor: as a home, inside the loop */
} spad__period;

/* Which bytes count: none, because waits are those of the program; those of the kernel; also
 * those that the planner gave to auto tensors. */
typedef enum spad__bytes_mode {
    SPAD__BYTES_IGNORED,
    SPAD__BYTES_GIVEN,
    SPAD__BYTES_PLANNED
} spad__bytes_mode;

/* Looks at the text of a loop. False: no memory. */
bool spad__period_of(spad__period *out, const spad_host *host, const spad_kernel *kernel,
                     int64_t loop, spad__bytes_mode bytes);
void spad__period_free(spad__period *period, const spad_host *host, const spad_kernel *kernel);

/* The number of periods from value `to` on in which all conditions hold as they do in
 * [from, to), with the loops around at `values`. */
int64_t spad__period_reach(const spad__period *period, const spad_kernel *kernel, int64_t loop,
                           const int64_t *values, int64_t from, int64_t to);

#endif
