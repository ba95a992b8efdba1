/* SPDX-License-Identifier: Apache-2.0
 *
 * A kernel whose runs of a loop are shorter: what stays of each is the same modulo a period.
 */
#ifndef SPAD_KERNEL_SHORTEN_RUN_H
#define SPAD_KERNEL_SHORTEN_RUN_H

#include "kernel/kernel.h"

/* Is it a loop whose bounds change with those around it, in steps of 1 or -1? */
bool spad__loop_can_be_shortened(const spad_kernel *kernel, int64_t loop);

/* Runs of the loop with L >= keep iterations get their first keep + (L - keep) % period ones only,
 * so none has keep + period. The loop must be one that can be shortened. After a failure the kernel
 * is of no use. The statuses of spad__kernel_builder_apply. */
spad_status spad__kernel_shorten(spad_kernel *kernel, int64_t loop, int64_t keep, int64_t period,
                                 spad_error *error);

#endif
