/* SPDX-License-Identifier: Apache-2.0
 *
 * Half-open intervals on the address axis, and the room between them.
 */
#ifndef SPAD_BASE_INTERVAL_H
#define SPAD_BASE_INTERVAL_H

#include <stddef.h>
#include <stdint.h>

typedef struct spad__interval {
    int64_t begin;
    int64_t end;
} spad__interval;

/* Bytes of the largest run in [lower, upper) that no interval touches; *at is
 * where the lowest such run begins. Sorts the intervals. O(n log n). */
int64_t spad__largest_gap(int64_t *at, spad__interval *intervals, size_t count, int64_t lower,
                          int64_t upper);

/* Bytes that one interval at least touches. Sorts them. O(n log n). */
int64_t spad__covered_bytes(spad__interval *intervals, size_t count);

#endif
