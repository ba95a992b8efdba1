/* SPDX-License-Identifier: Apache-2.0
 *
 * Block indices and rings: walking a box of indices, and the modulo formula
 * that the NKI compiler and the NKI library share.
 */
#ifndef SPAD_ALLOC_DIRECT_RING_H
#define SPAD_ALLOC_DIRECT_RING_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/assert.h"
#include "spad/dtype.h"

/* The place of an index in a ring of counts[d] tiles along each dim, row-major,
 * the last dim fastest. NULL is the empty tuple: always 0. The product
 * of the counts must fit. */
static inline int64_t spad__ring_line(size_t rank, const int64_t *counts, const int64_t *index) {
    int64_t line = 0;
    for (size_t d = 0; d < rank && counts != NULL; d++) {
        spad__assert(counts[d] >= 1 && index[d] >= 0);
        line = line * counts[d] + index[d] % counts[d];
    }
    return line;
}

/* The next index of a box in row-major order; false after the last. Starts
 * from all zeros. */
static inline bool spad__next_index(size_t rank, const int64_t *extents, int64_t *index) {
    for (size_t d = rank; d-- > 0;) {
        if (++index[d] < extents[d]) return true;
        index[d] = 0;
    }
    return false;
}

/* The index of item number `number` of a box in row-major order. */
static inline void spad__index_of(size_t rank, const int64_t *extents, int64_t number,
                                  int64_t *index) {
    for (size_t d = rank; d-- > 0;) {
        spad__assert(extents[d] >= 1 && number >= 0);
        index[d] = number % extents[d];
        number /= extents[d];
    }
}

/* *tiles: product of the counts, 1 for the empty tuple. SPAD_ERR_SHAPE: neither
 * empty nor one for each of `rank` block dims. SPAD_ERR_ARGUMENT: a count below 1.
 * SPAD_ERR_OVERFLOW. `what` names the tuple in messages. */
spad_status spad__ring_tiles(int64_t *tiles, spad_shape counts, size_t rank, const char *what,
                             spad_error *error);

#endif
