/* SPDX-License-Identifier: Apache-2.0
 *
 * Emission: from the records of a program to a kernel, through its builder.
 *
 * Trip counts become parameters where they depend on sizes: K / 64 iterations become K_tiles, and
 * every other use of that expression follows, so that a proof for all K_tiles is one for all K. A
 * size that is also used by itself, as a number, makes the parameter fixed: then nothing is claimed
 * about other values.
 */
#ifndef SPAD_FRONTEND_GPU_GPU_EMISSION_H
#define SPAD_FRONTEND_GPU_GPU_EMISSION_H

#include "frontend/gpu/recorded.h"
#include "kernel/kernel_builder.h"
#include "spad/experimental/kernel_rows.h"

enum { SPAD__GPU_DEPTH = 256 }; /* of nested loops and conditions */

/* A size, or an expression of sizes, that became a parameter of the kernel. */
typedef struct spad__gpu_param {
    char name[SPAD__GPU_NAME];
    spad__scalar trips; /* how often a loop runs: the value of the parameter */
    spad__scalar node;  /* value * step; the same as trips where step is 1 */
    int64_t step;
    int64_t value;
    bool any;           /* the program finds it out while it runs */
    uint64_t arguments; /* bits of the arguments that it stands for */
    spad_expr expr;
} spad__gpu_param;

/* A loop or condition of the kernel that is open. */
typedef struct spad__gpu_open_block {
    spad__scalar condition; /* holds inside; below 0: none */
    bool shortened; /* a loop with a condition for its last iterations: two blocks of the kernel */
} spad__gpu_open_block;

typedef struct spad__gpu_emission {
    spad__kernel_builder *builder; /* owned until the kernel is finished */
    SPAD_ARRAY(spad__gpu_param) params;
    uint64_t used_arguments;          /* sizes that are used as numbers, outside of parameters */
    SPAD_ARRAY(spad_expr) iterations; /* by loop: its variable */
    spad__gpu_open_block open[SPAD__GPU_DEPTH];
    int depth;                /* open blocks; open[1..depth] */
    SPAD_ARRAY(char *) names; /* owned; SPAD__GPU_NAME bytes each */
} spad__gpu_emission;

/* Emits the records into emission.builder, which the caller has created, and finishes the kernel.
 * Loops are numbered below `loops`. */
spad_status spad__gpu_emit(spad__gpu *g, spad_kernel **out, size_t loops, const char *file,
                           spad_error *error);

#endif
