/* SPDX-License-Identifier: Apache-2.0
 *
 * What benchmarks share: a clock, the best of several runs, and kernels.
 */
#ifndef SPAD_BENCH_H
#define SPAD_BENCH_H

#include <stdint.h>
#include <time.h>

/* N iterations of a load, an operation and a store, with two tiles of each tensor. */
#define BENCH_ROWS(N)                                              \
    "kernel exp_rows on trn2\n"                                    \
    "param N = " #N "\n"                                           \
    "tensor x   : sbuf bf16 [N] (128, 512) ring 2\n"               \
    "tensor y   : sbuf bf16 [N] (128, 512) mod base 4096 free 2\n" \
    "tensor out : hbm bf16 [N] (128, 512) output\n"                \
    "for i in 0..N parallel {\n"                                   \
    "    dma    load  writes x[i]\n"                               \
    "    scalar exp   reads x[i] writes y[i]\n"                    \
    "    dma    store reads y[i] writes out[i]\n"                  \
    "}\n"

/* A producer and a consumer with four places and mbarriers; the costs of a copy and of a product
 * may be empty. */
#define BENCH_RING(N, COPY_COST, PRODUCT_COST)                     \
    "kernel ring on sm_90\n"                                       \
    "param S = 4\n"                                                \
    "param N = " #N "\n"                                           \
    "unit tma on copy free proxy\n"                                \
    "mbarrier full[S] count 1\n"                                   \
    "mbarrier empty[S] count 1\n"                                  \
    "tensor a : shared fp16 [N] (128, 64) ring S\n"                \
    "for s in 0..S { init full[s]; init empty[s] }\n"              \
    "agent producer { for k in 0..N {\n"                           \
    "    wait empty[k % S] parity (k / S + 1) % 2\n"               \
    "    arrive full[k % S] expect 16 KiB\n"                       \
    "    tma load writes a[k] delivers full[k % S]" COPY_COST "\n" \
    "} }\n"                                                        \
    "agent consumer { for k in 0..N {\n"                           \
    "    wait full[k % S] parity k / S % 2\n"                      \
    "    tensor mma reads a[k]" PRODUCT_COST "\n"                  \
    "    arrive empty[k % S]\n"                                    \
    "} }\n"

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
