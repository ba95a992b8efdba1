/* SPDX-License-Identifier: Apache-2.0
 *
 * How many events a run of a kernel has, from the numbers of iterations alone: known at once,
 * however many there are.
 */
#ifndef SPAD_KERNEL_EVENT_BOUND_H
#define SPAD_KERNEL_EVENT_BOUND_H

#include "spad/experimental/kernel_rows.h"

/* At most: whatever conditions leave out. INT64_MAX: or more. */
int64_t spad__events_most(const spad_kernel *kernel);

/* At least: without anything that is under a condition. */
int64_t spad__events_least(const spad_kernel *kernel);

#endif
