/* SPDX-License-Identifier: Apache-2.0
 *
 * Parking: what lanes (lane.h) need of a pool beyond its public face. A parked block stays
 * allocated in the pool, but its user's handle is stale; it is known by a number.
 */
#ifndef SPAD_DEVICE_POOL_H
#define SPAD_DEVICE_POOL_H

#include "spad/pool.h"

/* The size class (range.h) of a request: all blocks of the class have room for it. */
uint32_t spad__pool_class(const spad_pool *pool, int64_t bytes);
/* The size of blocks of a class. */
int64_t spad__pool_class_bytes(const spad_pool *pool, uint32_t size_class);
/* What all addresses are multiples of. */
int64_t spad__pool_granule(const spad_pool *pool);

/* Parks a live block. SPAD_ERR_STALE: it is not live. */
spad_status spad__pool_park(uint32_t *number, uint32_t *size_class, spad_pool *pool,
                            const spad_allocation *block, spad_error *error);
/* A word that belongs to whoever parked the block. */
uint32_t *spad__pool_link(spad_pool *pool, uint32_t number);
/* The block again, for a user who wants `bytes` of it. */
spad_allocation spad__pool_unpark(spad_pool *pool, uint32_t number, int64_t bytes);

#endif
