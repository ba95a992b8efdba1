/* SPDX-License-Identifier: Apache-2.0
 *
 * Which bytes accesses touch: do two of them share some?
 *
 * Bytes are identified by a storage: the space for what is placed, a slot of its own
 * for what is not. Inside a storage an access is evenly spaced runs on some lanes.
 */
#ifndef SPAD_CHECK_BYTES_H
#define SPAD_CHECK_BYTES_H

#include "spad/walk.h"

typedef struct spad__storage {
    int64_t home; /* space when placed: -1 - space */
    int64_t slot; /* 0 when placed */
} spad__storage;

spad__storage spad__access_storage(const spad_kernel *kernel, const spad_walk_access *access);

/* A total order. */
int spad__storage_compare(spad__storage a, spad__storage b);

/* Of accesses with one storage. O(runs) of the access with fewer. */
bool spad__access_overlaps(const spad_walk_access *a, const spad_walk_access *b);

/* Does `a` touch every byte of `b`? May say no where the runs of both differ. */
bool spad__access_covers(const spad_walk_access *a, const spad_walk_access *b);

#endif
