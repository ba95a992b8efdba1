/* SPDX-License-Identifier: Apache-2.0
 *
 * The launch: which block of the grid the kernel describes.
 *
 * A kernel describes one block, or one cluster, so the numbers of the grid are plain values. The
 * caller may give them; a front end fills in its own defaults.
 */
#ifndef SPAD_FRONTEND_GPU_LAUNCH_GRID_H
#define SPAD_FRONTEND_GPU_LAUNCH_GRID_H

#include <stdint.h>

typedef struct spad__gpu_grid {
    int64_t size;     /* blocks in x, as the program sees it */
    int64_t block[3]; /* the block that is described: x, y, z */
    int64_t tiles;    /* that cluster launch control hands out to this block */
} spad__gpu_grid;

#endif
