/* SPDX-License-Identifier: Apache-2.0
 *
 * Sort by begin, then one walk with the highest end seen so far.
 */
#include "base/interval.h"

#include <stdlib.h>

#include "base/assert.h"
#include "base/checked.h"
#include "base/compare.h"

static int by_begin(const void *a, const void *b) {
    const spad__interval *x = a;
    const spad__interval *y = b;
    const int order = spad__compare(x->begin, y->begin);
    return order != 0 ? order : spad__compare(x->end, y->end);
}

static void sort_intervals(spad__interval *intervals, size_t count) {
    if (count > 1) qsort(intervals, count, sizeof *intervals, by_begin);
}

int64_t spad__largest_gap(int64_t *at, spad__interval *intervals, size_t count, int64_t lower,
                          int64_t upper) {
    sort_intervals(intervals, count);
    int64_t largest = 0;
    int64_t floor = lower; /* everything in [lower, floor) has been examined */
    *at = lower;
    for (size_t i = 0; i <= count; i++) {
        spad__assert(i == 0 || i == count || intervals[i - 1].begin <= intervals[i].begin);
        if (i < count && intervals[i].begin >= intervals[i].end) continue; /* touches nothing */
        const int64_t next = i < count ? spad__min(intervals[i].begin, upper) : upper;
        if (next > floor && next - floor > largest) {
            largest = next - floor;
            *at = floor;
        }
        if (i < count) floor = spad__max(floor, intervals[i].end);
    }
    spad__assert(largest >= 0 && (largest == 0 || (lower <= *at && *at + largest <= upper)));
    return largest;
}

int64_t spad__covered_bytes(spad__interval *intervals, size_t count) {
    sort_intervals(intervals, count);
    int64_t bytes = 0;
    int64_t end = INT64_MIN; /* everything below has been counted */
    for (size_t i = 0; i < count; i++) {
        bytes += spad__max(intervals[i].end - spad__max(intervals[i].begin, end), 0);
        end = spad__max(end, intervals[i].end);
    }
    return bytes;
}
