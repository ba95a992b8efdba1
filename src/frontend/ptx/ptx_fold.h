/* SPDX-License-Identifier: Apache-2.0
 *
 * The kernel of an executed launch with its loops found again, and with a trip count as a parameter
 * where further launches show that it follows from an argument.
 */
#ifndef SPAD_FRONTEND_PTX_FOLD_H
#define SPAD_FRONTEND_PTX_FOLD_H

#include "base/memory.h"
#include "spad/experimental/ptx.h"

/* Executes a launch. *out: its straight kernel; NULL: the run shows errors, or takes too long. */
typedef struct spad__ptx_executor {
    void *context;
    spad_status (*run)(void *context, spad_kernel **out, const spad_ptx_launch *launch,
                       spad_error *error);
} spad__ptx_executor;

typedef struct spad__ptx_fold_request {
    const spad_kernel *straight;
    const spad_ptx_launch *launch;
    const char *assumption; /* of proofs about the launch */
    bool repeatable;        /* the launch may be executed again with other arguments */
    const spad__ptx_executor *executor;
} spad__ptx_fold_request;

enum { SPAD__PTX_FOLDING_MAX = 240 };

typedef struct spad__ptx_folded {
    spad_kernel *kernel; /* owned by the caller; NULL: it stays straight */
    int64_t loops;
    char text[SPAD__PTX_FOLDING_MAX]; /* what was done, or why not */
} spad__ptx_folded;

spad_status spad__ptx_fold(spad__ptx_folded *out, const spad__ptx_fold_request *request,
                           const spad_host *host, spad_error *error);

#endif
