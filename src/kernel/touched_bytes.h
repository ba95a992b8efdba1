/* SPDX-License-Identifier: Apache-2.0
 *
 * Which bytes an access touches inside its tile's storage: evenly spaced runs on some lanes. Do two
 * of them share a byte, and does one touch all that another touches?
 */
#ifndef SPAD_KERNEL_TOUCHED_BYTES_H
#define SPAD_KERNEL_TOUCHED_BYTES_H

#include "spad/experimental/walk.h"

/* rect: lanes x one run, the first; the others start `stride` bytes after each other. A run is not
 * longer than the stride. As in spad_walk_access. */
typedef struct spad__bytes {
    spad_rect rect;
    int64_t runs;
    int64_t stride; /* of no meaning for one run */
} spad__bytes;

static inline spad__bytes spad__bytes_of(const spad_walk_access *access) {
    return (spad__bytes){.rect = access->rect, .runs = access->runs, .stride = access->stride};
}

/* Exact. O(1) where one has one run or both have the same stride, else O(runs) of the one with
 * fewer. */
bool spad__bytes_overlap(const spad__bytes *a, const spad__bytes *b);

/* Does `a` touch every byte of `b`? May say no where both have several runs that differ. */
bool spad__bytes_cover(const spad__bytes *a, const spad__bytes *b);

/* Do they touch the same bytes in the same runs? */
bool spad__bytes_equal(const spad__bytes *a, const spad__bytes *b);

#endif
