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
 * Sizes and addresses are multiples of the granule, a power of two. A piece is known by its
 * number, which it keeps as long as it is held. Externally synchronised.
 */
#ifndef SPAD_DEVICE_RANGE_H
#define SPAD_DEVICE_RANGE_H

#include <stdbool.h>
#include <stdint.h>

#include "base/assert.h"
#include "base/memory.h"

typedef struct spad__range_piece {
    int64_t address;
    int64_t bytes;     /* 0: not in use */
    uint32_t before;   /* neighbours in the chunk; 0: none */
    uint32_t after;    /* in a piece that is not in use: the next of these */
    uint32_t previous; /* free: in its bin; 0: none */
    uint32_t next;
    bool is_free;
} spad__range_piece;

/* A bin holds pieces of [lower, next lower) granules. Below 16 granules every size
 * has its own; above, a power of two has sixteen. */
#if defined(SPAD_PROOF_FEW_BINS) /* up to 15 granules: proofs/lists.c examines all of them */
enum { SPAD__BIN_BITS = 1, SPAD__BIN_LEVELS = 4 };
#else
enum { SPAD__BIN_BITS = 4, SPAD__BIN_LEVELS = 64 - SPAD__BIN_BITS };
#endif
enum { SPAD__BIN_SUB = 1 << SPAD__BIN_BITS, SPAD__BINS = SPAD__BIN_LEVELS * SPAD__BIN_SUB };

static inline unsigned spad__top_bit(uint64_t value) { /* value > 0 */
    spad__assert(value > 0);
    return (unsigned)__builtin_clzll(value) ^ 63; /* 63 - ... compiles to more */
}

/* The bin that holds pieces of `granules` granules. */
static inline uint32_t spad__bin_of(uint64_t granules) {
    const unsigned shift = spad__top_bit(granules | SPAD__BIN_SUB) - SPAD__BIN_BITS;
    return (shift << SPAD__BIN_BITS) + (uint32_t)(granules >> shift);
}

/* The least number of granules in a bin. */
static inline uint64_t spad__bin_lower(uint32_t bin) {
    spad__assert(bin < SPAD__BINS);
    if (bin < SPAD__BIN_SUB) return bin;
    const uint32_t shift = (bin >> SPAD__BIN_BITS) - 1;
    return (uint64_t)(SPAD__BIN_SUB + (bin & (SPAD__BIN_SUB - 1))) << shift;
}

/* The least bin all of whose pieces have `granules` granules, at least one. */
static inline uint32_t spad__bin_above(uint64_t granules) {
    spad__assert(granules > 0);
    return spad__bin_of(granules - 1) + 1;
}

typedef struct spad__range {
    spad_host host;
    int64_t granule;
    unsigned granule_bits;
    uint64_t levels;                      /* bit l: some bin of level l is not empty */
    uint16_t subs[SPAD__BIN_LEVELS];      /* bit s: bin s of the level is not empty */
    uint32_t bins[SPAD__BINS];            /* first piece; 0: empty */
    SPAD_ARRAY(spad__range_piece) pieces; /* number 0 is not a piece */
    uint32_t spare;                       /* pieces not in use, linked through `after` */
    uint32_t spare_count;
    int64_t free_bytes;
    int64_t held_bytes;
    int64_t peak_bytes; /* most held bytes so far */
    int64_t holes;
} spad__range;

/* granule: a power of two. */
void spad__range_init(spad__range *range, int64_t granule, const spad_host *host);
void spad__range_deinit(spad__range *range);

/* A piece by its number, until the next piece is made. */
static inline spad__range_piece *spad__range_at(const spad__range *range, uint32_t number) {
    spad__assert(number > 0 && number < range->pieces.count);
    return &range->pieces.items[number];
}

/* Adds [address, address + bytes) as one free piece; 0: no host memory. */
uint32_t spad__range_add(spad__range *range, int64_t address, int64_t bytes);

/* Takes a chunk away, given its first piece, if all of it is free. */
bool spad__range_remove(spad__range *range, uint32_t first);

/* Makes sure that `holds` holds lack no host memory, all but one of them without an alignment
 * above the granule. All numbers that they can return are below range->pieces.count then. */
bool spad__range_reserve(spad__range *range, uint32_t holds);

/* Holds a piece of `bytes` > 0, a multiple of the granule, at a multiple of align, a
 * power of two. 0: nothing that is free fits. spad__range_reserve comes first. */
uint32_t spad__range_hold(spad__range *range, int64_t bytes, int64_t align);

/* Gives a held piece back; free neighbours join it. */
void spad__range_free(spad__range *range, uint32_t number);

/* The largest free piece. O(pieces in the highest bin that is not empty). */
int64_t spad__range_largest(const spad__range *range);

/* For checks: the first invariant of a chunk that does not hold, or NULL. The sums grow by
 * the pieces of the chunk. O(pieces). */
typedef struct spad__range_sums {
    int64_t free_bytes;
    int64_t held_bytes;
    int64_t holes;
} spad__range_sums;
const char *spad__range_chunk_violation(const spad__range *range, uint32_t first,
                                        spad__range_sums *sums);
/* The same for the bins and for the sums over all chunks. */
const char *spad__range_violation(const spad__range *range, const spad__range_sums *sums);
/* For assertions: all of it, without knowing the chunks. O(pieces + bins). */
bool spad__range_is_valid(const spad__range *range);

#endif
