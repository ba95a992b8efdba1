/* SPDX-License-Identifier: Apache-2.0
 *
 * The same kernel with changes: other parameter values, no addresses, a tensor moved out of its
 * loops, statements moved or left out. The rows go through the builder again, which validates the
 * result; nothing is written as text or parsed.
 */
#ifndef SPAD_KERNEL_REBUILD_H
#define SPAD_KERNEL_REBUILD_H

#include "kernel/edit.h"

/* What differs from the original. Rows are numbers of the original; -1: none. */
typedef struct spad__rebuild {
    const spad__edit *edit; /* NULL: no statement moves */
    bool released;          /* tensors and mbarriers on chip lose their addresses */
    int64_t hoisted;        /* a tensor that is declared before all loops around it */
    int64_t tiles;          /* how many tiles of `hoisted` exist at a time */
} spad__rebuild;

/* Builds the changed kernel. `options` as for spad_kernel_parse: values of parameters, ring depths,
 * another target. Locations, sources and the file stay. Statuses are as for the builder. */
spad_status spad__kernel_rebuild(spad_kernel **out, const spad_kernel *kernel,
                                 const spad__rebuild *change, const spad_kernel_options *options,
                                 spad_error *error);

#endif
