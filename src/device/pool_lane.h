/* SPDX-License-Identifier: Apache-2.0
 *
 * lane: the blocks that a stream has given back and that only the stream itself may use
 * until it is done: lists by size class of blocks parked in a pool. Constant time;
 * needs no memory. The lists have the lock of one of the pool's caches: the cache of the thread
 * that opened the stream first, since most blocks come from there, and one lock is enough to park
 * them.
 */
#ifndef SPAD_DEVICE_POOL_LANE_H
#define SPAD_DEVICE_POOL_LANE_H

#include "device/pool.h"

typedef struct spad__lane {
    bool has_home;
    uint32_t home;              /* the cache whose lock guards the lists and their blocks */
    uint32_t heads[SPAD__BINS]; /* number of a parked block; 0: none */
} spad__lane;

/* Before anything else. A second time changes nothing. */
void spad__lane_open(spad__lane *lane, spad_pool *pool);
spad_status spad__lane_alloc(spad_allocation *out, spad__lane *lane, spad_pool *pool, int64_t bytes,
                             int64_t align, spad_error *error);
spad_status spad__lane_free(spad__lane *lane, spad_pool *pool, const spad_allocation *block,
                            spad_error *error);

/* Gives all blocks to the pool; the caller has waited for the stream. Returns their number. */
int64_t spad__lane_drain(spad__lane *lane, spad_pool *pool);

#endif
