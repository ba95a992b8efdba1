/* SPDX-License-Identifier: Apache-2.0
 *
 * A hash index over an array that its user owns: from the hash of a key to the numbers of the
 * items that may have that key. What a key is, and when two are equal, only the user knows, so
 * looking one up is a loop over candidates:
 *
 *     spad__probe probe = spad__index_probe(&index, hash);
 *     for (size_t i; (i = spad__probe_next(&probe)) != SPAD__NO_ITEM;)
 *         if (has_key(&items[i], key)) return i;
 *
 * Open addressing with linear probing, at most three quarters full. A slot holds 32 bits of the
 * hash, so that growing needs no keys and most candidates of other keys are never seen. Removing
 * moves later slots of a run back into the hole (Knuth, volume 3, 6.4, algorithm R), so there are
 * no tombstones and the cost does not grow with what was removed. Every call is O(1) expected;
 * growing and clearing are O(slots).
 */
#ifndef SPAD_BASE_INDEX_H
#define SPAD_BASE_INDEX_H

#include "base/hash.h"
#include "base/memory.h"

#define SPAD__NO_ITEM SIZE_MAX

typedef struct spad__index_slot {
    uint32_t tag;    /* of the hash; the low bits say where the slot would be in an empty index */
    uint32_t number; /* + 1; 0: empty */
} spad__index_slot;

/* Zeroed is empty. */
typedef struct spad__index {
    spad__index_slot *slots;
    size_t capacity; /* a power of two, or 0 */
    size_t count;
} spad__index;

typedef struct spad__probe {
    const spad__index *index;
    size_t at;
    uint32_t tag;
} spad__probe;

/* The high half of a product, because the low bits of a user's hash may be poor. */
static inline uint32_t spad__index_tag(uint64_t hash) {
    return (uint32_t)((hash ^ hash >> 29) * SPAD__HASH_FACTOR >> 32);
}

static inline spad__probe spad__index_probe(const spad__index *index, uint64_t hash) {
    const uint32_t tag = spad__index_tag(hash);
    return (spad__probe){.index = index, .at = tag, .tag = tag};
}

/* The next candidate, in no order that means anything; SPAD__NO_ITEM: there is no other. */
static inline size_t spad__probe_next(spad__probe *probe) {
    const spad__index *index = probe->index;
    if (index->capacity == 0) return SPAD__NO_ITEM;
    for (;;) {
        const spad__index_slot slot = index->slots[probe->at & (index->capacity - 1)];
        if (slot.number == 0) return SPAD__NO_ITEM;
        probe->at++;
        if (slot.tag == probe->tag) return slot.number - 1;
    }
}

/* Room for `extra` more items. False: no memory, or the numbers do not fit; nothing changed. */
bool spad__index_reserve(spad__index *index, const spad_host *host, size_t extra);
/* Adds an item for which there is room; the same hash may be there already. */
void spad__index_add(spad__index *index, uint64_t hash, size_t number);
/* Removes an item that was added with this hash. */
void spad__index_remove(spad__index *index, uint64_t hash, size_t number);
/* Removes all items and keeps the room. */
void spad__index_clear(spad__index *index);
/* Does the invariant of index.c hold? O(slots), times the length of runs. */
bool spad__index_is_valid(const spad__index *index);
void spad__index_free(spad__index *index, const spad_host *host);

#endif
