/* SPDX-License-Identifier: Apache-2.0
 *
 * Compares what two shapes of a kernel compute. A parameter may set the depth of a ring and also
 * the amount of work; doing less work must not count as a better depth. Two shapes do the same work
 * if they run the same operations on the same off-chip data, in any order (a sum of hashes).
 */
#ifndef SPAD_SIM_SAME_WORK_H
#define SPAD_SIM_SAME_WORK_H

#include "kernel/kernel.h"

typedef struct spad__kernel_work {
    uint64_t sum;
    bool known; /* the run was not too long, and had no fault */
} spad__kernel_work;

/* O(events), at most 10^6 of them. */
spad_status spad__find_work(const spad_kernel *kernel, const spad_host *host,
                            spad__kernel_work *out, spad_error *error);

#endif
