/* SPDX-License-Identifier: Apache-2.0
 *
 * range: who has which bytes of some address ranges ("chunks"). The bookkeeping
 * is outside the memory it is about, which therefore can be a device's.
 *
 * Every chunk is cut into pieces without gaps. A piece is free or held; free
 * neighbours do not exist, because freeing joins them. Free pieces hang in bins
 * by size, as in TLSF (Masmano, Ripoll, Crespo and Real, ECRTS 2004): sixteen
 * bins to a power of two and a bitmap of those that are not empty, so that
 * holding and freeing take a constant number of steps. Only a request that no
 * higher bin can serve looks through the bins of its own size, so that nothing
 * that would fit is refused.
 *
 * Sizes and addresses are multiples of the granule, a power of two.
 *
 * Externally synchronised, with one exception: piece numbers are stable and
 * spad__range_piece may be called at any time, and what is marked "holder" in a
 * piece belongs to whoever holds it.
 */
#ifndef SPAD_DEVICE_RANGE_H
#define SPAD_DEVICE_RANGE_H

#include <stdalign.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

#include "base/memory.h"

/* A piece has a cache line of its own: neighbours belong to different threads. */
enum { SPAD__LINE = 64 };
typedef struct spad__piece {
    alignas(SPAD__LINE) int64_t address;
    int64_t bytes;
    int64_t asked;               /* holder: bytes its user wanted */
    uint32_t before;             /* neighbours in the chunk; 0: none */
    uint32_t after;              /* in a piece that is not in use: the next of these */
    uint32_t previous;           /* free: in its bin; held: the holder's */
    uint32_t next;               /* likewise */
    _Atomic uint32_t generation; /* holder: odd while a user has it; only ever grows */
    _Atomic uint16_t home;       /* holder: which of its caches it belongs to */
    uint8_t list;                /* holder: which list of the cache it goes to; 0: none */
    bool is_free;
} spad__piece;

/* A bin holds pieces of [lower, next lower) granules. Below 16 granules every size
 * has its own; above, a power of two has sixteen. */
enum {
    SPAD__BIN_BITS = 4,
    SPAD__BIN_SUB = 1 << SPAD__BIN_BITS,
    SPAD__BIN_LEVELS = 64 - SPAD__BIN_BITS,
    SPAD__BINS = SPAD__BIN_LEVELS * SPAD__BIN_SUB
};

static inline int spad__top_bit(uint64_t value) { /* value > 0 */
    return 63 - __builtin_clzll(value);
}

/* The bin that holds pieces of so many granules. */
static inline uint32_t spad__bin_of(uint64_t granules) {
    if (granules < SPAD__BIN_SUB) return (uint32_t)granules;
    const int shift = spad__top_bit(granules) - SPAD__BIN_BITS;
    return (uint32_t)((shift << SPAD__BIN_BITS) + (int)(granules >> shift));
}

/* The least number of granules in a bin. */
static inline uint64_t spad__bin_lower(uint32_t bin) {
    if (bin < SPAD__BIN_SUB) return bin;
    const uint32_t shift = (bin >> SPAD__BIN_BITS) - 1;
    return (uint64_t)(SPAD__BIN_SUB + (bin & (SPAD__BIN_SUB - 1))) << shift;
}

/* The least bin all of whose pieces have so many granules, at least one. */
static inline uint32_t spad__bin_above(uint64_t granules) {
    return spad__bin_of(granules - 1) + 1;
}

/* Pieces live in segments, each twice as long as the one before, so that they never
 * move. Number 0 is no piece. */
enum { SPAD__SEGMENT_BITS = 10, SPAD__SEGMENTS = 32 - SPAD__SEGMENT_BITS };

typedef struct spad__range {
    /* read by everyone */
    int64_t granule;
    int granule_bits;
    _Atomic uint32_t piece_count; /* ever made; the first is not used */
    _Atomic(spad__piece *) segments[SPAD__SEGMENTS];
    char apart[SPAD__LINE]; /* from what changes with every call */

    uint64_t levels;                 /* bit l: some bin of level l is not empty */
    uint16_t subs[SPAD__BIN_LEVELS]; /* bit s: bin s of the level is not empty */
    uint32_t bins[SPAD__BINS];       /* first piece; 0: empty */
    uint32_t spare;                  /* pieces not in use, linked through `after` */
    uint32_t spare_count;
    uint32_t first_generation;
    int64_t free_bytes;
    int64_t held_bytes;
    int64_t peak_bytes; /* of what was held */
    int64_t holes;

    spad_host host;
    void *segment_blocks[SPAD__SEGMENTS]; /* what the segments lie in */
} spad__range;

/* granule: a power of two. first_generation makes handles of different ranges differ. */
void spad__range_init(spad__range *range, int64_t granule, uint32_t first_generation,
                      const spad_host *host);
void spad__range_deinit(spad__range *range);

/* The piece with a number that is known to be one. */
static inline spad__piece *spad__range_at(const spad__range *range, uint32_t number) {
    const uint32_t place = number + (1u << SPAD__SEGMENT_BITS);
    const int top = spad__top_bit(place);
    return atomic_load_explicit(&range->segments[top - SPAD__SEGMENT_BITS], memory_order_relaxed) +
           (place - (1u << top));
}

/* The same for any number: NULL if there never was such a piece. */
static inline spad__piece *spad__range_piece(const spad__range *range, uint32_t number) {
    const uint32_t count = atomic_load_explicit(&range->piece_count, memory_order_acquire);
    return number != 0 && number < count ? spad__range_at(range, number) : NULL;
}

/* Adds [address, address + bytes) as one free piece; 0: no host memory. */
uint32_t spad__range_add(spad__range *range, int64_t address, int64_t bytes);

/* Takes a chunk away, given its first piece, if all of it is free. */
bool spad__range_remove(spad__range *range, uint32_t first);

/* Makes sure that the next hold lacks no host memory. */
bool spad__range_reserve(spad__range *range);

/* Holds a piece of `bytes` > 0, a multiple of the granule, at a multiple of align, a
 * power of two. 0: nothing that is free fits. spad__range_reserve comes first. */
uint32_t spad__range_hold(spad__range *range, int64_t bytes, int64_t align);

/* Gives a held piece back; free neighbours join it. */
void spad__range_free(spad__range *range, uint32_t number);

/* The largest free piece. O(pieces in the highest bin that is not empty). */
int64_t spad__range_largest(const spad__range *range);

/* For checks: the first invariant of a chunk that does not hold, or NULL. The sums grow by
 * what is in the chunk. O(pieces). */
typedef struct spad__range_sums {
    int64_t free_bytes;
    int64_t held_bytes;
    int64_t holes;
} spad__range_sums;
const char *spad__range_chunk_fault(const spad__range *range, uint32_t first,
                                    spad__range_sums *sums);
/* The same for the bins and for the sums over all chunks. */
const char *spad__range_fault(const spad__range *range, const spad__range_sums *sums);

#endif
