/* SPDX-License-Identifier: Apache-2.0
 *
 * A program of an NVIDIA GPU while a front end reads it: everything that the languages share.
 *
 *     scalar.h          whole numbers as expressions of iterations and sizes
 *     memory_objects.h  buffers and views of them
 *     gpu_threads.h     which warps touch which bytes
 *     recorded.h        operations, synchronisation, loops and conditions, in the order of the
 * program branch.h          conditions, also those that data decides data_iterations.h loops whose
 * trip count data decides gpu_cluster.h     blocks that touch each other's memory launch_grid.h the
 * block that is described gpu_emission.h    the kernel, through its builder
 *
 * Nothing here knows a language. A front end numbers the places of its text (*sites*, 0 and up) and
 * answers questions about them through spad__gpu_text.
 *
 * A front end reads the program in passes, each from scratch (spad__gpu_begin_pass). The first has
 * expressions for all numbers, so that loops stay loops. If something that matters has no
 * expression, the pass is *unresolved*, and the next mode is tried.
 */
#ifndef SPAD_FRONTEND_GPU_GPU_PROGRAM_H
#define SPAD_FRONTEND_GPU_GPU_PROGRAM_H

#include "frontend/gpu/branch.h"
#include "frontend/gpu/gpu_emission.h"
#include "frontend/gpu/launch_grid.h"
#include "kernel/kernel_builder.h"

/* How numbers are taken, in the order in which they are tried. */
typedef enum spad__gpu_mode {
    SPAD__GPU_SYMBOLIC,       /* expressions; loops stay loops */
    SPAD__GPU_CONCRETE,       /* the given sizes; loops are unrolled */
    SPAD__GPU_ANY_ITERATIONS, /* expressions; loops that data ends have any trip count */
    SPAD__GPU_WHOLE_STEPS     /* the same, and their ends are whole steps away from their starts */
} spad__gpu_mode;

typedef enum spad__gpu_outcome {
    SPAD__GPU_GOOD,
    SPAD__GPU_UNRESOLVED, /* something that matters has no expression */
    SPAD__GPU_FAILED      /* a diagnostic was reported, or host memory ran out */
} spad__gpu_outcome;

/* Assumptions and omissions of the kernel: the first site of each kind. */
typedef enum spad__gpu_assumption {
    SPAD__ASSUME_TILES,           /* cluster launch control hands out a given number of tiles */
    SPAD__ASSUME_TRIPS,           /* an inner loop has the same trip count each time */
    SPAD__ASSUME_WHOLE_STEPS,     /* a loop goes in whole steps from 0 */
    SPAD__ASSUME_LOAD_REPEATS,    /* a load gives the value of earlier loads of its place */
    SPAD__ASSUME_LOAD_UNREAD,     /* a load is left out where its product is */
    SPAD__ASSUME_NO_EARLY_RETURN, /* a return that only some blocks of the grid take is not taken */
    SPAD__ASSUME_RETURN,          /* a return before the end is taken, by the given sizes */
    SPAD__ASSUME_NO_ITERATIONS,   /* a loop has no iterations, by the given sizes */
    SPAD__ASSUMPTIONS
} spad__gpu_assumption;

typedef struct spad__gpu_assumptions {
    int32_t sites[SPAD__ASSUMPTIONS]; /* -1: not assumed */
    int32_t repeated[2];              /* conditions that are the same in each iteration */
    int repeated_count;               /* 3: there are more */
} spad__gpu_assumptions;

/* An argument of the program. Its position is its number in SPAD__SCALAR_ARGUMENT. */
typedef struct spad__gpu_argument {
    char name[SPAD__GPU_NAME];
    bool integer; /* a size */
    bool given;   /* by the caller; else `value` is a default */
    bool stored;  /* something may be stored through it, or where it leads is unknown */
    int64_t value;
} spad__gpu_argument;

/* Registers of the chip, as far as its target describes them. */
typedef enum spad__gpu_registers {
    SPAD__GPU_NO_REGISTERS,
    SPAD__GPU_THREAD_REGISTERS, /* threads have registers */
    SPAD__GPU_MATRIX_REGISTERS  /* and products have operands in them */
} spad__gpu_registers;

/* The text that is read; all functions are called with `context`. */
typedef struct spad__gpu_text {
    void *context;
    /* Writes a name for the operation at a site (SPAD__GPU_NAME bytes); "": it has none. */
    void (*name_site)(const void *context, int32_t site, char *name);
    /* Tells the builder where the statements come from that are added next. */
    spad_status (*go_to)(const void *context, spad__kernel_builder *builder, int32_t site,
                         spad_error *error);
    /* Reports a diagnostic about a site. */
    void (*report)(const void *context, int32_t site, const char *message);
} spad__gpu_text;

struct spad__gpu {
    const spad_host *host;
    const spad_target *target;
    spad__gpu_registers registers;
    spad__gpu_text text;
    spad__gpu_grid grid;
    SPAD_ARRAY(spad__gpu_argument) arguments; /* the same in all passes */
    /* of the pass */
    spad__gpu_mode mode;
    spad__gpu_outcome outcome;
    int32_t unresolved_site;
    char unresolved[120]; /* what has no expression */
    bool dry;             /* only numbers and views count; nothing is recorded or reported */
    int32_t site;         /* that is read */
    spad__scalars scalars;
    spad__gpu_memory memory;
    spad__gpu_records records;
    spad__gpu_cluster cluster;
    spad__gpu_unknowns unknowns;
    spad__gpu_assumptions assumptions;
    spad__gpu_emission emission;
};

/* Forgets the last pass. Arrays keep their capacity. */
void spad__gpu_begin_pass(spad__gpu *g, spad__gpu_mode mode);
void spad__gpu_free(spad__gpu *g);

/* Host memory ran out: reading ends. Returns false. */
bool spad__gpu_no_memory(spad__gpu *g);
/* Something that matters has no expression. The first reason is kept. */
void spad__gpu_unresolved(spad__gpu *g, const char *why);
/* Reports a diagnostic about the site that is read. A dry run reports none, because the next one
 * does. */
void spad__gpu_fail(spad__gpu *g, const char *format, ...) SPAD_PRINTF(2, 3);
/* A number as an expression of iterations and sizes; unresolved for this reason where it has none.
 */
spad__scalar spad__gpu_resolve(spad__gpu *g, spad__scalar n, const char *why);
/* Keeps the first site of an assumption. Not while dry. */
void spad__gpu_assume(spad__gpu *g, spad__gpu_assumption what, int32_t site);
/* The condition at the site that is read is assumed to be the same in each iteration. */
void spad__gpu_assume_repeats(spad__gpu *g);

static inline bool spad__gpu_is_concrete(const spad__gpu *g) {
    return g->mode == SPAD__GPU_CONCRETE;
}

#endif
