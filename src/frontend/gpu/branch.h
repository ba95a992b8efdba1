/* SPDX-License-Identifier: Apache-2.0
 *
 * Conditions of the program, including those that only data decides.
 *
 * A branch is opened, its first side recorded, then optionally its other side, and closed. A side
 * without an effect on memory of the chip leaves no record. A condition that data decides becomes
 * an unknown value of the kernel: both outcomes are checked. One unknown stands for the whole run,
 * so the condition must be the same in all iterations around it, or be assumed to be
 * (spad__gpu_program.h: SPAD__GPU_ANY_ITERATIONS).
 */
#ifndef SPAD_FRONTEND_GPU_BRANCH_H
#define SPAD_FRONTEND_GPU_BRANCH_H

#include "frontend/gpu/gpu_cluster.h"
#include "kernel/kernel_builder.h"
#include "spad/experimental/kernel_rows.h"

enum { SPAD__GPU_UNKNOWNS = 10 }; /* 1024 combinations */

/* Facts about a condition that data may decide. */
typedef struct spad__gpu_decision {
    int64_t key; /* the same in each block of a cluster; below 0: it cannot be kept */
    bool steady; /* the same in all iterations around it */
    char name[SPAD__GPU_NAME];
} spad__gpu_decision;

typedef struct spad__gpu_unknown {
    spad__scalar scalars[SPAD__GPU_BLOCKS]; /* by block of a cluster; below 0: none */
    int64_t key;
    char name[SPAD__GPU_NAME];
    spad_expr expr; /* once it is emitted */
} spad__gpu_unknown;

typedef struct spad__gpu_unknowns {
    spad__gpu_unknown items[SPAD__GPU_UNKNOWNS];
    size_t count;
} spad__gpu_unknowns;

typedef struct spad__gpu_branch {
    spad__scalar condition;
    spad__gpu_decision decision;
    int32_t site;
    size_t before, opened, middle; /* records */
    bool has_else;
} spad__gpu_branch;

void spad__gpu_open_branch(spad__gpu *g, spad__gpu_branch *branch, spad__scalar condition,
                           const spad__gpu_decision *decision);
void spad__gpu_else_branch(spad__gpu *g, spad__gpu_branch *branch);
void spad__gpu_close_branch(spad__gpu *g, spad__gpu_branch *branch);
/* Instead of else and close: takes the records back if they touch no memory of the chip. False:
 * they do. */
bool spad__gpu_drop_branch(spad__gpu *g, spad__gpu_branch *branch);
/* True if only data, and neither iterations nor sizes, gives the number. */
bool spad__gpu_is_data(spad__gpu *g, spad__scalar n);
/* Takes records from `first` back if they are barriers of warps only. False: they are more. */
bool spad__gpu_drop_barriers(spad__gpu *g, size_t first);

#endif
