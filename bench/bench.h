/* SPDX-License-Identifier: Apache-2.0
 *
 * What benchmarks share: a clock, and the best of several runs.
 */
#ifndef SPAD_BENCH_H
#define SPAD_BENCH_H

#include <stdint.h>
#include <time.h>

static inline double bench_seconds(void) {
    struct timespec now;
    timespec_get(&now, TIME_UTC);
    return (double)now.tv_sec + (double)now.tv_nsec * 1e-9;
}

/* Nanoseconds per item: the least of `runs` calls of body(context), each of
 * which does `items` items. The least is the run that was disturbed least. */
static inline double bench_best(int runs, int64_t items, void (*body)(void *), void *context) {
    double best = 1e99;
    for (int i = 0; i < runs; i++) {
        const double start = bench_seconds();
        body(context);
        const double took = bench_seconds() - start;
        if (took < best) best = took;
    }
    return best * 1e9 / (double)items;
}

#endif
