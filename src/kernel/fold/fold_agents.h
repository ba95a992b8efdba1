/* SPDX-License-Identifier: Apache-2.0
 *
 * Folding of kernels with agents: of one kernel, or of several that one program gave for different
 * values of an argument.
 */
#ifndef SPAD_KERNEL_FOLD_FOLD_AGENTS_H
#define SPAD_KERNEL_FOLD_FOLD_AGENTS_H

#include "kernel/fold/fold.h"

enum { SPAD__FOLD_RUNS = 4, SPAD__FOLD_TRIPS = 8 };

/* Runs of one program. Of the first one the folded kernel is made; the others say how its numbers
 * grow with a parameter. */
typedef struct spad__fold_request {
    const spad_kernel *kernels[SPAD__FOLD_RUNS];
    int64_t values[SPAD__FOLD_RUNS]; /* of the parameter */
    size_t count;                    /* 1: no parameter */
    const char *param;               /* its name */
    const char *assumption;          /* instead of the kernel's own; NULL: that */
    bool keeps_locations;            /* findings point where they do in the straight kernel */
} spad__fold_request;

/* Why folding failed. */
typedef enum spad__fold_refusal {
    SPAD__FOLDED,
    SPAD__FOLD_NOT_STRAIGHT, /* it has loops, parameters or unknown values already */
    SPAD__FOLD_NO_LOOPS,     /* nothing is repeated three times */
    SPAD__FOLD_NO_GROWTH,    /* no trip count depends on the parameter */
    SPAD__FOLD_DIFFERS,      /* the runs are not the same loops with other trip counts */
    SPAD__FOLD_NOT_EXACT     /* the loops are not exactly the statements */
} spad__fold_refusal;

typedef struct spad__fold_result {
    spad_kernel *kernel; /* owned by the caller; NULL: see `refusal` */
    spad__fold_refusal refusal;
    int64_t loops;                         /* outermost ones, of all agents */
    int64_t trip_counts[SPAD__FOLD_TRIPS]; /* of all loops, each once, the largest first */
    size_t trip_count;
} spad__fold_result;

spad_status spad__fold_agents(spad__fold_result *out, const spad__fold_request *request,
                              const spad_host *host, spad_error *error);

/* Is a run that was not folded exactly the folded kernel with this value of its parameter? */
spad_status spad__fold_has_run(bool *same, const spad_kernel *folded, const spad_define *define,
                               const spad_kernel *straight, spad_error *error);

/* Other words for what a proof about the folded kernel rests on. */
spad_status spad__fold_assume(spad_kernel *folded, const char *assumption, spad_error *error);

/* Writes the declarations and all sections. */
typedef struct spad__fold_plan {
    spad__folder *f;
    const spad__fold_request *request;
    const spad__fold_section *sections;
    size_t section_count;
    const char *param; /* NULL: none; then nodes have slopes */
    int64_t param_value;
} spad__fold_plan;
spad_status spad__fold_build_agents(spad_kernel **out, const spad__fold_plan *plan,
                                    spad_error *error);

/* Compares a kernel statement by statement with its folded form. */
spad_status spad__fold_is_exact(bool *same, const spad__folder *f, const spad_kernel *straight,
                                const spad_kernel *folded, spad_error *error);

#endif
