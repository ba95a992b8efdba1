/* SPDX-License-Identifier: Apache-2.0
 *
 * The inside of a pool, for pool.c, which allocates and frees, pool_state.c, which answers
 * questions, and pool_lane.c, which parks blocks: they stay allocated in the pool, but their
 * users' handles are stale, and they are known by a number.
 */
#ifndef SPAD_DEVICE_POOL_H
#define SPAD_DEVICE_POOL_H

#include <pthread.h>
#include <stdalign.h>

#include "base/assert.h"
#include "device/lock.h"
#include "device/range.h"
#include "spad/device/pool.h"
#include "spad/trace.h"

enum {
    SPAD__CACHES = 32,      /* a power of two */
    SPAD__CACHE_BINS = 192, /* classes up to 31744 blocks: 2 MiB of 64 bytes */
    SPAD__LINE = 64         /* of the processor's caches */
};

/* A handle leads to a ticket: one for every piece of the range, with the same number.
 * It belongs to the user of the block, to a list, or to neither. */
typedef struct spad__ticket {
    alignas(32) int64_t address;
    int64_t asked;           /* bytes its user wanted */
    _Atomic uint64_t handle; /* of its user: generation and number; without one no number */
    uint32_t next;           /* in its list */
    uint16_t size_class;     /* bin of its piece */
    uint8_t list;            /* where it goes when it is freed; 0: it is of no class's size */
    _Atomic uint8_t home;    /* the cache whose lock guards it */
} spad__ticket;

/* Freed blocks of a class. */
typedef struct spad__list {
    uint32_t first; /* 0: none */
    uint16_t room;  /* for more; none in list 0 */
} spad__list;

typedef struct spad__cache {
    spad__spin lock;
    /* How far the bytes allocated now are below the peak: one number to change, whose sign shows
     * when the peak is passed. Numbers that change together are apart: written one by one and read
     * as one vector they would stall. */
    int64_t bytes_below;
    int64_t peak_bytes;
    int64_t blocks_below;
    int64_t peak_blocks;
    int64_t frees; /* so far */
    int64_t failures;
    int64_t freed_bytes;
    spad__list lists[SPAD__CACHE_BINS];
    char apart[2 * SPAD__LINE]; /* from the next one, another thread's: lines are read in pairs */
} spad__cache;

typedef struct spad__pool_chunk {
    spad_allocation block; /* of the memory below */
    int64_t bytes;         /* in whole blocks */
    int64_t position;      /* where it begins when chunks are counted as one memory, see
                              spad__pool_position */
    uint32_t first;        /* piece */
} spad__pool_chunk;

/* Tickets live in segments, each twice as long as the one before, so that they never move
 * and can be read while more are made. Segment s has 2^s tickets; the first is number 10, and
 * number 32 is never made. */
enum { SPAD__SEGMENT_BITS = 10, SPAD__SEGMENTS = 33 };

struct spad_pool {
    /* read by everyone */
    _Atomic(spad__ticket *) segments[SPAD__SEGMENTS]; /* NULL: not yet made */
    uint32_t cache_mask;                              /* number of caches - 1 */
    unsigned granule_bits;
    int64_t granule;
    uint64_t cache_end;                /* the caches serve requests of fewer bytes */
    uint64_t maker;                    /* the thread that made the pool; its cache is number 0 */
    spad__cache *caches[SPAD__CACHES]; /* one more than the mask */
    uint8_t limits[SPAD__CACHE_BINS];  /* most blocks in a list */
    char apart[2 * SPAD__LINE];        /* from the fields that change */

    pthread_mutex_t mutex; /* guards the next fields, and the host */
    spad__range range;
    spad_host host;
    spad_memory below; /* no calls: a fixed range */
    spad_pool_options options;
    SPAD_ARRAY(spad__pool_chunk) chunks;
    int64_t capacity;
    uint64_t first_handle;                /* of every ticket, without a number */
    uint32_t used_caches;                 /* bit c: blocks may be in cache c */
    void *segment_blocks[SPAD__SEGMENTS]; /* the blocks that hold the segments */
    void *cache_block;                    /* the block that holds the caches */
};

typedef struct spad__ticket_place {
    uint64_t segment;
    uint64_t index;
} spad__ticket_place;

static inline spad__ticket_place spad__ticket_place_of(uint32_t number) {
    const uint64_t sum = (uint64_t)number + (1u << SPAD__SEGMENT_BITS);
    const uint64_t segment = spad__top_bit(sum);
    return (spad__ticket_place){.segment = segment, .index = sum ^ UINT64_C(1) << segment};
}

/* The ticket of a piece that has been held. */
static inline spad__ticket *spad__ticket_at(const spad_pool *pool, uint32_t number) {
    const spad__ticket_place p = spad__ticket_place_of(number);
    spad__assert(number != 0 && p.segment < SPAD__SEGMENTS - 1);
    return atomic_load_explicit(&pool->segments[p.segment], memory_order_relaxed) + p.index;
}

/* A ticket without a user gets one: the next generation of its handle. Under the lock of
 * its owner. */
static inline uint64_t spad__ticket_give(spad__ticket *t, uint32_t number) {
    spad__assert((uint32_t)atomic_load_explicit(&t->handle, memory_order_relaxed) == 0);
    const uint64_t handle =
        atomic_load_explicit(&t->handle, memory_order_relaxed) + ((uint64_t)1 << 32 | number);
    atomic_store_explicit(&t->handle, handle, memory_order_relaxed);
    return handle;
}

/* Its user's handle is stale from now on. */
static inline void spad__ticket_end(spad__ticket *t, uint64_t handle) {
    spad__assert(atomic_load_explicit(&t->handle, memory_order_relaxed) == handle);
    atomic_store_explicit(&t->handle, handle >> 32 << 32, memory_order_relaxed);
}

/* The size class (range.h) of a request of bytes >= 0: all blocks of the class have room for it. No
 * bytes take as much as one. */
static inline uint32_t spad__pool_class(const spad_pool *pool, int64_t bytes) {
    spad__assert(bytes >= 0);
    const uint64_t size = (uint64_t)bytes;
    return spad__bin_of((size - (size != 0)) >> pool->granule_bits) + 1;
}

/* The size of blocks of a class. */
static inline int64_t spad__pool_class_bytes(const spad_pool *pool, uint32_t size_class) {
    return (int64_t)(spad__bin_lower(size_class) << pool->granule_bits);
}

/* Is it an alignment, a power of two, that every block has anyway? */
static inline bool spad__pool_has_alignment(const spad_pool *pool, int64_t align) {
    const uint64_t below = (uint64_t)align - 1;
    return ((uint64_t)align & below) == 0 && below < (uint64_t)pool->granule;
}

/* Empties all caches into the range. Under the mutex. */
void spad__pool_empty_caches(spad_pool *pool);

/* Per cent of the free bytes that are not in the largest hole. */
int spad__pool_fragmentation(int64_t free_bytes, int64_t largest);

/* An address as a place in the memory of the pool as a whole: the chunks one after the other, each
 * at the lowest place where it has room when it is taken. It does not depend on where the memory
 * below has its chunks, so that two runs of a program give the same places. SPAD_NO_BYTE: no chunk
 * has it, or the place does not fit 64 bits. O(chunks). */
int64_t spad__pool_position(spad_pool *pool, int64_t address);

/* The number of the calling thread's cache, in which there may be blocks from now on. */
uint32_t spad__pool_home(spad_pool *pool);

/* Parks a live block, whose home is from now on the one given: returns with its lock held.
 * SPAD_ERR_STALE: it is not live; no lock is held. */
spad_status spad__pool_park(spad__ticket **parked, spad_pool *pool, const spad_allocation *block,
                            uint32_t home, spad_error *error);

/* The block again, for a user who wants `bytes` of it. */
static inline spad_allocation spad__pool_unpark(spad__ticket *t, uint32_t number, int64_t bytes) {
    return (spad_allocation){
        .address = t->address, .bytes = bytes, .handle = spad__ticket_give(t, number)};
}

#endif
