/* SPDX-License-Identifier: Apache-2.0
 *
 * Advice from the inside. advice.c searches, advice_try.c decides about one change, advice_load.c
 * finds loads that can leave their loop, advice_depth.c depths of rings, and advice_write.c shows
 * what was found.
 */
#ifndef SPAD_ANALYSIS_ADVICE_H
#define SPAD_ANALYSIS_ADVICE_H

#include "base/limit.h"
#include "base/memory.h"
#include "kernel/edit.h"
#include "prove/compare_shapes.h"
#include "spad/experimental/advice.h"
#include "spad/finding.h"

/* How good a kernel is. */
typedef struct spad__standing {
    bool fine;    /* it fits, is right, runs to its end, and is proved */
    int strength; /* of its verdict */
    char reason[2 * SPAD_MESSAGE_MAX];
    int64_t warnings;
    spad_advice_cost cost;
    spad_sim_totals simulated;
} spad__standing;

struct spad_advice {
    spad_host host;
    spad__arena arena; /* names */
    const spad_kernel *given;
    spad_kernel *owned;          /* with the changes so far; NULL: there are none */
    spad__standing now;          /* of the kernel with the changes so far */
    spad_advice_options options; /* limits are filled in */
    spad__limit limit;
    SPAD_ARRAY(spad_advice_change) changes;
    spad_advice_totals totals;
    spad__agreement agreement; /* of the kernel with the changes so far and the given one */
};

/* The kernel with the changes so far. */
const spad_kernel *spad__advice_kernel(const spad_advice *advice);

/* Is there no time, or are there no trials left? Then the search is cut. SPAD_ERR_CANCELLED. */
spad_status spad__advice_check_limit(spad_advice *advice, bool *over, spad_error *error);

/* What is known of a kernel. */
spad_status spad__advice_measure(const spad_advice *advice, const spad_kernel *kernel,
                                 spad__standing *out, spad_error *error);

/* Takes over a changed kernel, and keeps the change if nothing is lost and it gains what its kind
 * is for. Names of the change are copied. */
spad_status spad__advice_try(spad_advice *advice, spad_kernel *changed,
                             const spad_advice_change *change, bool *taken, spad_error *error);

/* ---- loads ------------------------------------------------------------------------- */

/* A load that gives the same in all iterations of the loops that it can leave. */
typedef struct spad__load {
    size_t statement;
    int64_t loop; /* outermost one that it leaves */
    int64_t tensor;
    spad__edit edit; /* with the array of the caller */
} spad__load;

/* Is the statement such a load? `to`: room for a number per statement. */
bool spad__find_load(const spad_kernel *kernel, size_t statement, int64_t *to, spad__load *load);

/* ---- depths ------------------------------------------------------------------------ */

/* Tries other depths of all rings: one kind of change. *taken: one was kept. */
spad_status spad__advice_try_depths(spad_advice *advice, spad_advice_kind kind, bool *taken,
                                    spad_error *error);

#endif
