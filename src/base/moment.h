/* SPDX-License-Identifier: Apache-2.0
 *
 * Begins and ends of buffers in the order of time, for sweeps and traces: what
 * ends at a time goes before what begins then.
 */
#ifndef SPAD_BASE_MOMENT_H
#define SPAD_BASE_MOMENT_H

#include <stdbool.h>
#include <stdint.h>
#include <stdlib.h>

#include "base/compare.h"

typedef struct spad__moment {
    int64_t time;
    size_t buffer;
    bool begins;
} spad__moment;

static inline int spad__by_moment(const void *a, const void *b) {
    const spad__moment *x = a;
    const spad__moment *y = b;
    int order = spad__compare(x->time, y->time);
    if (order == 0) order = spad__compare(x->begins, y->begins);
    return order != 0 ? order : spad__compare((int64_t)x->buffer, (int64_t)y->buffer);
}

static inline void spad__sort_moments(spad__moment *moments, size_t count) {
    if (count > 1) qsort(moments, count, sizeof *moments, spad__by_moment);
}

#endif
