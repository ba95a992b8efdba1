/* SPDX-License-Identifier: Apache-2.0
 *
 * Gaps between intervals: sort by begin, then one walk with the highest end
 * seen so far.
 */
#include "base/interval.h"

#include <stdlib.h>

#include "base/assert.h"
#include "base/checked.h"

static int by_begin(const void *a, const void *b) {
    const spad__interval *x = a;
    const spad__interval *y = b;
    if (x->begin != y->begin) return x->begin < y->begin ? -1 : 1;
    return (x->end > y->end) - (x->end < y->end);
}

int64_t spad__largest_gap(int64_t *at, spad__interval *intervals, size_t count, int64_t lower,
                          int64_t upper) {
    if (count > 1) qsort(intervals, count, sizeof *intervals, by_begin);
    int64_t largest = 0;
    int64_t floor = lower; /* everything in [lower, floor) has been looked at */
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
