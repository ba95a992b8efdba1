/* SPDX-License-Identifier: Apache-2.0
 *
 * Stable sorting by 64-bit keys, linear in the number of rows.
 */
#ifndef SPAD_PLAN_PROBLEM_SORT_H
#define SPAD_PLAN_PROBLEM_SORT_H

#include <stddef.h>
#include <stdint.h>

typedef struct spad__row {
    uint64_t key;
    int32_t value;
} spad__row;

/* Sorts rows by key, smallest first, equal keys in their old order. scratch
 * has room for as many rows. O(count x bytes in which keys differ). */
void spad__sort_rows(spad__row *rows, spad__row *scratch, size_t count);

/* A key that orders signed numbers. */
static inline uint64_t spad__sort_key(int64_t value) {
    return (uint64_t)value ^ (UINT64_C(1) << 63);
}

static inline int64_t spad__sort_value(uint64_t key) {
    return (int64_t)(key ^ (UINT64_C(1) << 63));
}

#endif
