/* SPDX-License-Identifier: Apache-2.0
 *
 * A radix sort from the lowest byte up (LSD). Bytes that are the same in
 * every key are skipped, so that times and sizes of a few thousand different
 * values take two or three passes; short arrays are sorted by insertion.
 */
#include "plan/sort.h"

#include <string.h>

#include "base/assert.h"

enum { SHORT_ARRAY = 40 };

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
