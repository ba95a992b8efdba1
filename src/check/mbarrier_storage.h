/* SPDX-License-Identifier: Apache-2.0
 *
 * Bytes of shared memory that mbarriers have: by `at`, or by the layout.
 *
 * An mbarrier is an opaque object of 64 bits. From its init to its invalidate nothing but
 * operations on mbarriers may touch its bytes, and a tile that was there before is gone [PTX ISA,
 * mbarrier object, mbarrier.init, mbarrier.inval].
 */
#ifndef SPAD_CHECK_MBARRIER_STORAGE_H
#define SPAD_CHECK_MBARRIER_STORAGE_H

#include "check/order_pass.h"
#include "order/fences.h"
#include "order/thread_maps.h"

/* The bytes of one object, and what holds them by now (marks). */
typedef struct spad__mbarrier_bytes {
    size_t space;
    int64_t byte;
    int32_t object; /* of the events */
    int32_t init;   /* the event that marked bytes last; -1: none */
    uint8_t lost;   /* bytes, as bits, that an init has written over, and nothing since then */
    uint8_t unsure; /* of those, what only an access that may write has written since */
    int32_t writers[SPAD_MBARRIER_BYTES]; /* the last access that wrote each byte; -1: none */
} spad__mbarrier_bytes;

/* Sorted by space and byte; two objects may have bytes in common. */
typedef struct spad__mbarrier_storage {
    const spad__events *events;
    SPAD_ARRAY(spad__mbarrier_bytes) items;
    int32_t *of_object; /* per object: its item; -1: none. NULL: there are no items */
} spad__mbarrier_storage;

/* No items where no mbarrier has a place. Freed with spad__mbarrier_storage_free, also after a
 * failure. SPAD_ERR_HOST_MEMORY. */
spad_status spad__mbarrier_storage_list(spad__mbarrier_storage *storage, const spad__events *events,
                                        const spad__run *run, spad_error *error);
void spad__mbarrier_storage_free(spad__mbarrier_storage *storage);

/* The bytes of an item that an access touches, as bits. */
uint8_t spad__mbarrier_touched(const spad__mbarrier_bytes *item, const spad_walk_access *access);

/* The items from *first up to the one returned are the only ones that an access may touch. */
size_t spad__mbarrier_range(const spad__mbarrier_storage *storage, const spad_walk_access *access,
                            size_t *first);

/* Findings about accesses that are not ordered with the live ranges of mbarriers in their bytes. */
spad_status spad__find_mbarrier_races(spad__order *order, spad__fences *fences,
                                      const spad__thread_maps *maps, spad_error *error);

/* An event happens, in an order in which all accesses are apart from live ranges: an init writes
 * over what is there, and reads of it are findings. */
spad_status spad__mbarrier_storage_event(spad__mbarrier_storage *storage, spad__order *order,
                                         spad__run *run, int32_t event, spad_error *error);

/* The kernel ends: outputs are read. */
spad_status spad__mbarrier_storage_end(const spad__mbarrier_storage *storage, spad__order *order,
                                       spad__run *run, spad_error *error);

#endif
