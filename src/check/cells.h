/* SPDX-License-Identifier: Apache-2.0
 *
 * Cells: the bytes of one storage, cut where accesses begin and end, and put together
 * again where all accesses agree. Two accesses share bytes iff they share a cell.
 *
 * Most storages are touched in a few ways (a tile, its halves), so there are a few cells
 * and an access touches one or two of them, however many rows its runs have. Exact:
 * cells are found by refining a partition of all cut bytes with one access after another.
 */
#ifndef SPAD_CHECK_CELLS_H
#define SPAD_CHECK_CELLS_H

#include "base/memory.h"
#include "spad/experimental/walk.h"

typedef struct spad__cells {
    int32_t count;
    SPAD_ARRAY(int32_t) touched; /* cells of shape 0, then of shape 1 ... */
    SPAD_ARRAY(size_t) ends;     /* per shape: where its cells end in `touched` */
} spad__cells;

/* Cells of the accesses with these numbers, which share a storage; shapes[i]: the shape of the
 * access numbers[i]. *too_many: there would be too many pieces, and nothing is made. Freed with
 * spad__cells_free, also after a failure. SPAD_ERR_HOST_MEMORY. */
spad_status spad__cells_make(spad__cells *cells, const spad_host *host,
                             const spad_walk_access *accesses, const int32_t *numbers, size_t count,
                             int32_t *shapes, bool *too_many, spad_error *error);
void spad__cells_free(spad__cells *cells, const spad_host *host);

#endif
