/* SPDX-License-Identifier: Apache-2.0
 *
 * Hashes of 64 bits. They are the same on every machine, but no output may depend on the order of a
 * hash table: who walks over items walks over their array.
 */
#ifndef SPAD_BASE_HASH_H
#define SPAD_BASE_HASH_H

#include <stddef.h>
#include <stdint.h>

#define SPAD__HASH_FACTOR UINT64_C(0x9E3779B97F4A7C15) /* 2^64 / golden ratio, odd (Knuth, 6.4) */

/* A hash of all that went into `hash` and of one more number; the first one is 0. */
static inline uint64_t spad__hash_add(uint64_t hash, int64_t value) {
    hash = (hash ^ (uint64_t)value) * SPAD__HASH_FACTOR;
    return hash ^ hash >> 29;
}

/* The finishing step of SplitMix64: every bit of z reaches every bit of the result. */
static inline uint64_t spad__hash_finish(uint64_t z) {
    z = (z ^ (z >> 30)) * UINT64_C(0xBF58476D1CE4E5B9);
    z = (z ^ (z >> 27)) * UINT64_C(0x94D049BB133111EB);
    return z ^ (z >> 31);
}

/* FNV-1a (Fowler, Noll, Vo): of a text, and of a text with more after it. */
#define SPAD__HASH_OF_NOTHING UINT64_C(0xCBF29CE484222325)

static inline uint64_t spad__hash_more(uint64_t hash, const char *text, size_t length) {
    for (size_t i = 0; i < length; i++) {
        hash = (hash ^ (unsigned char)text[i]) * UINT64_C(0x100000001B3);
    }
    return hash;
}

static inline uint64_t spad__hash_text(const char *text, size_t length) {
    return spad__hash_more(SPAD__HASH_OF_NOTHING, text, length);
}

#endif
