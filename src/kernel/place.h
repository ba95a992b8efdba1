/* SPDX-License-Identifier: Apache-2.0
 *
 * Places of tiles, of parts of tiles and of mbarriers.
 */
#ifndef SPAD_KERNEL_PLACE_H
#define SPAD_KERNEL_PLACE_H

#include "kernel/kernel.h"

/* The index of a tile by its row-major number. */
void spad__tile_index(const spad_kernel_tensor *tensor, int64_t tile, int64_t *index);

/* The slot of a tile: its own number, or its place in the ring. */
int64_t spad__tile_slot(const spad_kernel_tensor *tensor, int64_t tile, const int64_t *index);

/* The place of a tile of a tensor that is not an alias. False: it is not in the kernel; then
 * lane and byte are 0. */
bool spad__tile_place(const spad_kernel *kernel, const spad_kernel_tensor *tensor, int64_t tile,
                      const int64_t *index, spad_rect *rect);

/* The number of the row of instance 0 of a space. */
static inline size_t spad__first_instance(const spad_target *target, size_t space) {
    return target->spaces[space].instance > 0 ? target->spaces[space].instance_of : space;
}

/* The space that mbarriers are in. False: the target has none. */
bool spad__barrier_space(const spad_kernel *kernel, size_t *space);
/* How many mbarriers of an object one block has. */
int64_t spad__mbarriers_of_block(const spad_kernel_sync *sync);
/* The place of an element of an array whose first element is at byte `first`. */
void spad__barrier_place(const spad_kernel *kernel, size_t sync, int64_t element, int64_t first,
                         size_t *space, int64_t *byte);

/* A part of a tile, from the start of the tile. */
typedef struct spad__part {
    int64_t lane;
    int64_t lanes;
    int64_t byte;
    int64_t bytes;
    int64_t runs;
    int64_t stride; /* 0 for one run */
} spad__part;

/* `count` elements of a dim, at least one, `step` apart. */
typedef struct spad__dim_range {
    int64_t from;
    int64_t count;
    int64_t step;
} spad__dim_range;

/* A range of every dim; lanes have a step of 1. False: not evenly spaced runs. */
bool spad__part_of_tile(const spad_kernel_tensor *tensor, bool lanes_first,
                        const spad__dim_range *ranges, spad__part *part);

/* Is it the planner that places this tensor? On-chip spaces only. */
bool spad__is_planned(const spad_kernel *kernel, const spad_kernel_tensor *tensor);

#endif
