/* SPDX-License-Identifier: Apache-2.0
 *
 * The hash index. Invariant: between the first slot of an item, which its tag gives, and the slot
 * where it is, no slot is empty; so a probe that meets an empty slot has seen all candidates.
 */
#include "base/index.h"

#include <string.h>

#include "base/assert.h"

enum { FIRST_SLOTS = 16 };

static bool has_room(size_t capacity, size_t count) {
    return count <= capacity - capacity / 4; /* so one slot at least stays empty */
}

static void put_slot(spad__index *index, spad__index_slot slot) {
    size_t at = slot.tag;
    while (index->slots[at & (index->capacity - 1)].number != 0) at++;
    index->slots[at & (index->capacity - 1)] = slot;
}

bool spad__index_reserve(spad__index *index, const spad_host *host, size_t extra) {
    if (extra >= UINT32_MAX || index->count >= UINT32_MAX - extra) return false;
    const size_t count = index->count + extra;
    if (has_room(index->capacity, count)) return true;
    spad__index wider = {.capacity = index->capacity == 0 ? FIRST_SLOTS : 2 * index->capacity,
                         .count = index->count};
    while (!has_room(wider.capacity, count)) wider.capacity *= 2;
    wider.slots = spad__new_array(host, wider.capacity, sizeof *wider.slots);
    if (wider.slots == NULL) return false;
    for (size_t i = 0; i < index->capacity; i++) {
        if (index->slots[i].number != 0) put_slot(&wider, index->slots[i]);
    }
    spad__index_free(index, host);
    *index = wider;
    spad__assert_valid(spad__index_is_valid(index)); /* paid for by the items since the last time */
    return true;
}

void spad__index_add(spad__index *index, uint64_t hash, size_t number) {
    spad__assert(has_room(index->capacity, index->count + 1) && number < UINT32_MAX);
    put_slot(index, (spad__index_slot){spad__index_tag(hash), (uint32_t)number + 1});
    index->count++;
}

void spad__index_remove(spad__index *index, uint64_t hash, size_t number) {
    const size_t mask = index->capacity - 1;
    size_t hole = spad__index_tag(hash) & mask;
    while (index->slots[hole].number != (uint32_t)number + 1) {
        spad__assert(index->slots[hole].number != 0); /* or it was never added */
        hole = (hole + 1) & mask;
    }
    for (size_t i = (hole + 1) & mask; index->slots[i].number != 0; i = (i + 1) & mask) {
        /* a slot may move into the hole unless its first slot is after the hole */
        const size_t distance = (i - index->slots[i].tag) & mask;
        if (distance < ((i - hole) & mask)) continue;
        index->slots[hole] = index->slots[i];
        hole = i;
    }
    index->slots[hole] = (spad__index_slot){0};
    index->count--;
}

void spad__index_clear(spad__index *index) {
    if (index->count > 0) memset(index->slots, 0, index->capacity * sizeof *index->slots);
    index->count = 0;
}

bool spad__index_is_valid(const spad__index *index) {
    const size_t mask = index->capacity - 1;
    size_t used = 0;
    if (index->capacity == 0) return index->slots == NULL && index->count == 0;
    if ((index->capacity & mask) != 0 || !has_room(index->capacity, index->count)) return false;
    for (size_t i = 0; i < index->capacity; i++) {
        if (index->slots[i].number == 0) continue;
        used++;
        for (size_t at = index->slots[i].tag & mask; at != i; at = (at + 1) & mask) {
            if (index->slots[at].number == 0) return false;
        }
    }
    return used == index->count;
}

void spad__index_free(spad__index *index, const spad_host *host) {
    spad__free(host, index->slots, index->capacity * sizeof *index->slots);
    *index = (spad__index){0};
}
