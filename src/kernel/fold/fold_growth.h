/* SPDX-License-Identifier: Apache-2.0
 *
 * Folded runs of one program as one, with a parameter.
 */
#ifndef SPAD_KERNEL_FOLD_FOLD_GROWTH_H
#define SPAD_KERNEL_FOLD_FOLD_GROWTH_H

#include "kernel/fold/fold_agents.h"

typedef struct spad__fold_growth {
    spad__folder *f;
    const spad__fold_request *request;
    size_t run_count;
    size_t section_count;
    const spad__fold_section *runs[SPAD__FOLD_RUNS]; /* the sections of each */
} spad__fold_growth;

/* Fills `out`, one section for each of a run, with nodes that have slopes. False: no memory. */
bool spad__fold_grow(const spad__fold_growth *g, spad__fold_section *out,
                     spad__fold_refusal *refusal);

#endif
