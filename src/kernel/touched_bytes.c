/* SPDX-License-Identifier: Apache-2.0 */
#include "kernel/touched_bytes.h"

#include "base/checked.h"

static int64_t last_byte(const spad__bytes *b) { /* one after */
    return b->rect.byte + (b->runs - 1) * b->stride + b->rect.bytes;
}

/* Does [from, to) meet one of the runs? */
static bool meets_run(const spad__bytes *b, int64_t from, int64_t to) {
    if (to <= b->rect.byte || from >= last_byte(b)) return false;
    if (b->runs == 1) return true;
    /* the first run that ends after `from` */
    int64_t k = spad__floor_div(from - b->rect.byte - b->rect.bytes, b->stride) + 1;
    k = spad__max(k, 0);
    return k < b->runs && b->rect.byte + k * b->stride < to;
}

/* Runs at the same distance meet if one run of `a` meets those of `b` wherever it is moved to:
 * runs k and j are (k - j) strides apart, and each difference from 1 - runs of b to runs of a - 1
 * occurs. */
static bool meets_shifted(const spad__bytes *a, const spad__bytes *b) {
    /* the first difference at which the run of a ends after the start of that of b */
    const int64_t ahead = b->rect.byte - a->rect.byte - a->rect.bytes;
    const int64_t least = spad__max(spad__floor_div(ahead, a->stride) + 1, 1 - b->runs);
    return least <= a->runs - 1 && a->rect.byte + least * a->stride < b->rect.byte + b->rect.bytes;
}

bool spad__bytes_overlap(const spad__bytes *a, const spad__bytes *b) {
    if (a->rect.lane >= b->rect.lane + b->rect.lanes ||
        b->rect.lane >= a->rect.lane + a->rect.lanes || a->rect.byte >= last_byte(b) ||
        b->rect.byte >= last_byte(a)) {
        return false;
    }
    if (a->runs > b->runs) return spad__bytes_overlap(b, a);
    if (a->runs > 1 && a->stride == b->stride) return meets_shifted(a, b);
    for (int64_t k = 0; k < a->runs; k++) {
        const int64_t from = a->rect.byte + k * a->stride;
        if (meets_run(b, from, from + a->rect.bytes)) return true;
    }
    return false;
}

bool spad__bytes_equal(const spad__bytes *a, const spad__bytes *b) {
    return a->rect.lane == b->rect.lane && a->rect.lanes == b->rect.lanes &&
           a->rect.byte == b->rect.byte && a->rect.bytes == b->rect.bytes && a->runs == b->runs &&
           (a->runs == 1 || a->stride == b->stride);
}

bool spad__bytes_cover(const spad__bytes *a, const spad__bytes *b) {
    if (a->rect.lane > b->rect.lane ||
        b->rect.lane + b->rect.lanes > a->rect.lane + a->rect.lanes) {
        return false;
    }
    if (a->runs == 1) return a->rect.byte <= b->rect.byte && last_byte(b) <= last_byte(a);
    return a->runs == b->runs && a->stride == b->stride && a->rect.byte == b->rect.byte &&
           a->rect.bytes >= b->rect.bytes;
}
