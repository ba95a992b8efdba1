/* SPDX-License-Identifier: Apache-2.0
 *
 * Three-way comparisons of numbers for qsort: negative, zero or positive. An order over several
 * fields is
 *     int order = spad__compare(a->first, b->first);
 *     if (order == 0) order = spad__compare(a->second, b->second);
 * and ends with a field that no two items share, so that every machine sorts alike.
 */
#ifndef SPAD_BASE_COMPARE_H
#define SPAD_BASE_COMPARE_H

#include <stddef.h>
#include <stdint.h>

static inline int spad__compare(int64_t a, int64_t b) {
    return (a > b) - (a < b);
}

/* For arrays of int64_t. */
static inline int spad__compare_int64(const void *left, const void *right) {
    return spad__compare(*(const int64_t *)left, *(const int64_t *)right);
}

/* Something with bytes, by its number in some array: the largest first. */
typedef struct spad__sized {
    int64_t bytes;
    size_t number;
} spad__sized;

static inline int spad__compare_sized(const void *left, const void *right) {
    const spad__sized *a = left;
    const spad__sized *b = right;
    const int order = spad__compare(b->bytes, a->bytes);
    return order != 0 ? order : spad__compare((int64_t)a->number, (int64_t)b->number);
}

#endif
