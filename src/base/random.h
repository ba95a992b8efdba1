/* SPDX-License-Identifier: Apache-2.0
 *
 * Random numbers that are the same on every machine: SplitMix64 (Steele, Lea
 * and Flood, OOPSLA 2014). Small state, any seed is good, passes BigCrush.
 */
#ifndef SPAD_BASE_RANDOM_H
#define SPAD_BASE_RANDOM_H

#include "base/hash.h"

typedef struct spad__random {
    uint64_t state; /* the seed, then a counter */
} spad__random;

static inline uint64_t spad__random_next(spad__random *random) {
    return spad__hash_finish(random->state += SPAD__HASH_FACTOR);
}

/* In [0, bound), bound > 0. The bias is below bound / 2^64. */
static inline uint64_t spad__random_below(spad__random *random, uint64_t bound) {
    return spad__random_next(random) % bound;
}

/* In [low, high], low <= high, for ranges of less than 2^63. */
static inline int64_t spad__random_in(spad__random *random, int64_t low, int64_t high) {
    return low + (int64_t)spad__random_below(random, (uint64_t)(high - low) + 1);
}

#endif
