/* SPDX-License-Identifier: Apache-2.0
 *
 * A radix sort from the lowest byte up (LSD). Bytes that are the same in
 * every key are skipped, so that times and sizes of a few thousand different
 * values take two or three passes; short arrays are sorted by insertion.
 * Arrays of some hundred keys that are spread well, such as the offsets in a
 * plan, take one pass by their leading bits and then insertion.
 */
#include "plan/problem/sort.h"

#include <string.h>

#include "base/assert.h"

enum {
    SHORT_ARRAY = 40,
    MEDIUM_ARRAY = 8192,
    MOST_BUCKETS = 1024,
    LONG_BUCKET = 16 /* rows; beyond it insertion takes too long */
};

static void sort_by_insertion(spad__row *rows, size_t count) {
    for (size_t i = 1; i < count; i++) {
        const spad__row row = rows[i];
        size_t k = i;
        for (; k > 0 && rows[k - 1].key > row.key; k--) rows[k] = rows[k - 1];
        rows[k] = row;
    }
}

static void sort_by_byte(const spad__row *from, spad__row *to, size_t count, int shift) {
    size_t position[256] = {0};
    for (size_t i = 0; i < count; i++) position[from[i].key >> shift & 255]++;
    size_t sum = 0;
    for (int digit = 0; digit < 256; digit++) {
        const size_t here = position[digit];
        position[digit] = sum;
        sum += here;
    }
    for (size_t i = 0; i < count; i++) to[position[from[i].key >> shift & 255]++] = from[i];
}

/* By the leading ones of the lowest `bits` bits, the others being equal in all rows; then by
 * insertion. False: too many rows have the same leading bits, and nothing is changed. */
static bool sort_by_bucket(spad__row *rows, spad__row *scratch, size_t count, int bits) {
    uint32_t position[MOST_BUCKETS] = {0};
    int log = 6;
    while (log < 10 && (size_t)1 << log < count) log++;
    const int shift = bits > log ? bits - log : 0;
    const uint64_t mask = (UINT64_C(1) << log) - 1;
    for (size_t i = 0; i < count; i++) position[rows[i].key >> shift & mask]++;
    uint32_t sum = 0;
    uint32_t largest = 0;
    for (uint64_t k = 0; k <= mask; k++) {
        const uint32_t here = position[k];
        largest = here > largest ? here : largest;
        position[k] = sum;
        sum += here;
    }
    if (largest > LONG_BUCKET && shift > 0) return false;
    for (size_t i = 0; i < count; i++) scratch[position[rows[i].key >> shift & mask]++] = rows[i];
    memcpy(rows, scratch, count * sizeof *rows);
    if (shift > 0) sort_by_insertion(rows, count);
    return true;
}

static bool rows_are_valid(const spad__row *rows, size_t count) {
    for (size_t i = 1; i < count; i++) {
        if (rows[i - 1].key > rows[i].key) return false;
    }
    return true;
}
void spad__sort_rows(spad__row *rows, spad__row *scratch, size_t count) {
    if (count <= SHORT_ARRAY) {
        sort_by_insertion(rows, count);
        return;
    }
    uint64_t all = rows[0].key;
    uint64_t any = rows[0].key;
    for (size_t i = 1; i < count; i++) {
        all &= rows[i].key;
        any |= rows[i].key;
    }
    if (all == any) return;
    const int bits = 64 - __builtin_clzll(all ^ any);
    if (count <= MEDIUM_ARRAY && sort_by_bucket(rows, scratch, count, bits)) {
        spad__assert_valid(rows_are_valid(rows, count));
        return;
    }
    spad__row *from = rows;
    spad__row *to = scratch;
    for (int shift = 0; shift < 64; shift += 8) {
        if (((all ^ any) >> shift & 255) == 0) continue;
        sort_by_byte(from, to, count, shift);
        spad__row *const swap = from;
        from = to;
        to = swap;
    }
    spad__assert_valid(rows_are_valid(from, count));
    if (from != rows) memcpy(rows, from, count * sizeof *rows);
}
