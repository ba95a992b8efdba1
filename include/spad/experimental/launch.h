/* SPDX-License-Identifier: Apache-2.0
 *
 * launch: how much shared memory a block of threads takes, how large a block
 * can be, and how many runs fit on the device at a time. One thread makes one run.
 *
 * All of it is arithmetic; figures and order of decisions are those of CuBIE
 * 0.3.1 (BatchSolverKernel, mem_manager), in exact integers.
 */
#ifndef SPAD_LAUNCH_H
#define SPAD_LAUNCH_H

#ifndef SPAD_EXPERIMENTAL
#error "spad/experimental/launch.h may change in any version: define SPAD_EXPERIMENTAL"
#endif

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "spad/dtype.h"

#ifdef __cplusplus
extern "C" {
#endif

/* ---- shared memory of one run ------------------------------------------------------ */

/** The shared memory of one run. */
typedef struct spad_run_shared {
    int64_t elements;
    int64_t pad;          /**< bytes of skew after it: 0 or 4 */
    int64_t bytes;        /**< what a launch requests per run, with the pad */
    int64_t stride_words; /**< 32-bit words from one run to the next */
    int64_t short_bytes;  /**< by how much the request is short of that stride: CuBIE spaces
                               float16 elements 4 bytes apart but requests 2 each. 0: enough */
} spad_run_shared;

/**
 * An even number of elements gets 4 bytes of skew, so that the stride is an odd
 * number of words and neighbouring runs use different banks. Not for float64:
 * it would be misaligned. SPAD_ERR_DTYPE: not a float of 2, 4 or 8 bytes.
 * SPAD_ERR_ARGUMENT: negative. SPAD_ERR_OVERFLOW.
 */
SPAD_API spad_status spad_run_shared_of(spad_run_shared *out, int64_t elements,
                                        spad_dtype precision, spad_error *error);

/* ---- size of a block --------------------------------------------------------------- */

/** Dynamic shared memory per block that still leaves room for other blocks and the cache. */
#define SPAD_LAUNCH_TARGET_BYTES 32768
/** Shared memory that a block gets without opting in for more, on every NVIDIA GPU. */
#define SPAD_LAUNCH_DEFAULT_LIMIT 49152
#define SPAD_WARP_THREADS 32

/** Warnings about a block. */
enum {
    SPAD_LAUNCH_OVER_TARGET = 1, /**< one warp takes 32 KiB or more: fewer blocks at a time */
    SPAD_LAUNCH_SUB_WARP = 2     /**< fewer threads than a warp, or it could not be launched */
};

typedef struct spad_launch_size {
    int64_t threads;
    int64_t shared_bytes; /**< dynamic shared memory of the block */
    unsigned warnings;
} spad_launch_size;

/**
 * Halves a block that requests `shared_bytes` until it is below the target, but
 * not below a warp; then, only if `limit` (bytes per block of the device) leaves
 * no choice, below a warp. After a halving the request is run_bytes x min(runs,
 * threads). SPAD_ERR_NO_FIT: a single run, or the request of one thread, exceeds
 * the limit.
 * SPAD_ERR_ARGUMENT: threads < 1 or a negative number. SPAD_ERR_OVERFLOW.
 */
SPAD_API spad_status spad_launch_limit(spad_launch_size *out, int64_t threads, int64_t shared_bytes,
                                       int64_t run_bytes, int64_t runs, int64_t limit,
                                       spad_error *error);

/** All steps, from elements per run to the launch. The request is at least 4 bytes, since a
 *  launch with dynamic shared memory must request some. */
SPAD_API spad_status spad_launch_fit(spad_launch_size *out, int64_t elements, spad_dtype precision,
                                     int64_t threads, int64_t runs, int64_t limit,
                                     spad_error *error);

/**
 * The largest block of at most `threads` whose runs fit a stated budget of shared memory: whole
 * warps as long as more than one fits, otherwise as many threads as there is room for
 * (SPAD_LAUNCH_SUB_WARP). Where spad_launch_limit halves as CuBIE does, this uses the budget up.
 * SPAD_ERR_NO_FIT: a single run takes more than the budget. SPAD_ERR_ARGUMENT: threads or
 * runs < 1, or a negative number.
 */
SPAD_API spad_status spad_launch_fit_budget(spad_launch_size *out, int64_t threads,
                                            int64_t run_bytes, int64_t runs, int64_t budget,
                                            spad_error *error);

/* ---- chunks of runs on a device ---------------------------------------------------- */

typedef struct spad_chunks {
    int64_t runs;        /**< of one chunk; the last one may have fewer */
    int64_t count;       /**< of chunks */
    bool far_over_limit; /**< the request is more than 20 times the free memory */
} spad_chunks;

/**
 * Cuts `runs` so that arrays of `chunkable` bytes, which shrink with the runs,
 * and of `unchunkable` bytes, which do not, fit in `available` bytes. One chunk
 * if the request is below it; otherwise the largest whole number of runs. free_bytes
 * (0: not known) is for the warning only. SPAD_ERR_NO_FIT: nothing can be cut, the
 * rest alone is too large, or not even one run fits. SPAD_ERR_ARGUMENT, SPAD_ERR_OVERFLOW.
 */
SPAD_API spad_status spad_chunks_of(spad_chunks *out, int64_t runs, int64_t chunkable,
                                    int64_t unchunkable, int64_t available, int64_t free_bytes,
                                    spad_error *error);

#ifdef __cplusplus
}
#endif
#endif
