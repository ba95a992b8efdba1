/* SPDX-License-Identifier: Apache-2.0
 *
 * Problems for the planner, made from a seed: perfect packings, whose lowest
 * height is known, and shapes of any size for measuring. Used by tests and
 * bench.
 */
#ifndef SPAD_PACKING_H
#define SPAD_PACKING_H

#include "spad/plan.h"

typedef enum packing_shape {
    PACKING_STACK,   /* nested lifetimes, as of calls */
    PACKING_RANDOM,  /* any beginning, lifetimes of all lengths */
    PACKING_TRAINING /* long forward-to-backward lifetimes, short ones, a few whole ones */
} packing_shape;

/* A rectangle of `height` bytes cut at random into `count` buffers that fill it without
 * a gap, so that no plan is lower. */
spad_status packing_perfect(spad_plan *plan, int32_t count, int64_t height, uint64_t seed,
                            spad_error *error);

spad_status packing_shaped(spad_plan *plan, packing_shape shape, int32_t count, uint64_t seed,
                           spad_error *error);

#endif
