/* SPDX-License-Identifier: Apache-2.0
 *
 * The states, by their keys, that an exact search has proved to have no solution.
 *
 * A key is the sum of the keys of everything that the state depends on, so it does not depend on
 * the order of the choices that led there, and a change costs an addition and a subtraction. It has
 * two independent halves: the table keeps the 64-bit tag in the place that the slot gives. A
 * look-up is wrong with probability 2^-64, so N look-ups of a proof with at most N x 2^-64, below
 * 10^-9 for 10^10 nodes. An entry may replace another one: a forgotten state is searched again.
 */
#ifndef SPAD_PLAN_SEARCH_FAILURES_H
#define SPAD_PLAN_SEARCH_FAILURES_H

#include <stdbool.h>

#include "base/hash.h"
#include "base/memory.h"

typedef struct spad__search_key {
    uint64_t slot;
    uint64_t tag;
} spad__search_key;

static inline spad__search_key spad__keys_sum(spad__search_key a, spad__search_key b) {
    return (spad__search_key){a.slot + b.slot, a.tag + b.tag};
}

static inline spad__search_key spad__keys_less(spad__search_key a, spad__search_key b) {
    return (spad__search_key){a.slot - b.slot, a.tag - b.tag};
}

/* Two hashes of one slack that have nothing to do with each other. Every bit of the
 * slack counts: it is mixed by itself before the section comes in. */
static inline uint64_t spad__slack_hash(uint64_t salt, int32_t section, int64_t slack) {
    return spad__hash_finish(spad__hash_finish((uint64_t)slack ^ salt) +
                             (uint64_t)section * SPAD__HASH_FACTOR);
}

/* The key of a section with this slack. */
static inline spad__search_key spad__slack_key(int32_t section, int64_t slack) {
    return (spad__search_key){
        .slot = spad__slack_hash(UINT64_C(0xA24BAED4963EE407), section, slack),
        .tag = spad__slack_hash(UINT64_C(0x8EBC6AF09C88C6E3), section, slack)};
}

typedef struct spad__failures {
    SPAD_ARRAY(uint64_t) table; /* capacity: a power of two; count: entries written */
} spad__failures;

bool spad__failures_init(spad__failures *failures, const spad_host *host); /* false: no memory */
void spad__failures_free(spad__failures *failures, const spad_host *host);

static inline bool spad__failures_has(const spad__failures *failures, spad__search_key key) {
    return failures->table.items[key.slot & (failures->table.capacity - 1)] == key.tag;
}

/* Once half full the table starts again four times as large, up to its limit and where the host
 * has the memory. */
void spad__failures_add(spad__failures *failures, const spad_host *host, spad__search_key key);

#endif
