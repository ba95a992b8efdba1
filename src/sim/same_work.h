/* SPDX-License-Identifier: Apache-2.0
 *
 * What a kernel computes. A parameter that is the depth of rings may also decide what is computed,
 * and less work is no better depth. So the operations of two shapes are compared: the same ones on
 * the same parts of memory off the chip, in any order (a sum of hashes over the run).
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
