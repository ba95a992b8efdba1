/* SPDX-License-Identifier: Apache-2.0
 *
 * The table of known failures; see failures.h. O(1) for each call, apart from a larger table. */
#include "plan/search/failures.h"

#include "base/assert.h"

enum {
    TABLE_FIRST = 1 << 9,
    TABLE_LARGEST = 1 << 20 /* 8 MiB: stays near the processor */
};

bool spad__failures_init(spad__failures *failures, const spad_host *host) {
    failures->table.items = spad__new_array(host, TABLE_FIRST, sizeof *failures->table.items);
    if (failures->table.items == NULL) return false;
    failures->table.capacity = TABLE_FIRST;
    failures->table.count = 0;
    return true;
}

void spad__failures_free(spad__failures *failures, const spad_host *host) {
    spad__array_free(host, &failures->table);
}

void spad__failures_add(spad__failures *failures, const spad_host *host, spad__search_key key) {
    if (failures->table.count > failures->table.capacity / 2 &&
        failures->table.capacity < TABLE_LARGEST) {
        const size_t larger = failures->table.capacity * 4;
        uint64_t *items = spad__new_array(host, larger, sizeof *items);
        if (items != NULL) {
            spad__array_free(host, &failures->table);
            failures->table.items = items;
            failures->table.capacity = larger;
        }
    }
    spad__assert((failures->table.capacity & (failures->table.capacity - 1)) == 0);
    failures->table.items[key.slot & (failures->table.capacity - 1)] = key.tag;
    failures->table.count++;
}
