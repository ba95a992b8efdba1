/* SPDX-License-Identifier: Apache-2.0
 *
 * The arithmetic of a launch: shared memory of a run, size of a block, chunks of
 * runs. Figures and order of decisions after CuBIE 0.3.1: BatchSolverKernel
 * (shared_memory_needs_padding, limit_blocksize) and MemoryManager
 * (get_chunk_parameters). Quotients are exact where CuBIE's go through floating
 * point, so a chunk that just fits is never cut short by rounding.
 */
#include "spad/experimental/launch.h"

#include <string.h>

#include "base/assert.h"
#include "base/checked.h"
#include "base/error.h"

/* ---- shared memory of a run -------------------------------------------------------- */

spad_status spad_run_shared_of(spad_run_shared *out, int64_t elements, spad_dtype precision,
                               spad_error *error) {
    memset(out, 0, sizeof *out);
    if (precision != SPAD_FLOAT16 && precision != SPAD_FLOAT32 && precision != SPAD_FLOAT64) {
        return spad__fail(error, SPAD_ERR_DTYPE,
                          "precision %s of a run is not one of float16, float32, float64",
                          spad_dtype_name(precision));
    }
    if (elements < 0) {
        return spad__fail(error, SPAD_ERR_ARGUMENT, "a run of %lld shared elements; give 0 or more",
                          (long long)elements);
    }
    const bool is_wide = precision == SPAD_FLOAT64;
    const bool is_padded = !is_wide && elements > 0 && elements % 2 == 0;
    spad_run_shared run = {.elements = elements, .pad = is_padded ? 4 : 0};
    int64_t stride_bytes;
    if (!spad__mul(elements, spad_dtype_bytes(precision), &run.bytes) ||
        !spad__add(run.bytes, run.pad, &run.bytes) ||
        !spad__mul(elements, is_wide ? 2 : 1, &run.stride_words) ||
        !spad__add(run.stride_words, is_padded, &run.stride_words) ||
        !spad__mul(run.stride_words, 4, &stride_bytes)) {
        return spad__fail(error, SPAD_ERR_OVERFLOW,
                          "the bytes of a run of %lld %s elements do not fit 64 bits",
                          (long long)elements, spad_dtype_name(precision));
    }
    run.short_bytes = spad__max(0, stride_bytes - run.bytes);
    *out = run;
    return SPAD_OK;
}

/* ---- size of a block --------------------------------------------------------------- */

static void set_threads(spad_launch_size *block, int64_t threads, int64_t run_bytes, int64_t runs) {
    block->threads = threads;
    block->shared_bytes = run_bytes * spad__min(runs, threads); /* checked by the caller */
}

static spad_status one_run_too_large(int64_t run_bytes, int64_t limit, spad_error *error) {
    spad__fail(error, SPAD_ERR_NO_FIT,
               "a single run takes %lld bytes of shared memory and a block has %lld; move buffers "
               "to local memory",
               (long long)run_bytes, (long long)limit);
    spad__fact_amounts(error, run_bytes, limit, SPAD_NO_FACT);
    return SPAD_ERR_NO_FIT;
}

spad_status spad_launch_limit(spad_launch_size *out, int64_t threads, int64_t shared_bytes,
                              int64_t run_bytes, int64_t runs, int64_t limit, spad_error *error) {
    memset(out, 0, sizeof *out);
    if (threads < 1 || shared_bytes < 0 || run_bytes < 0 || runs < 0 || limit < 0) {
        return spad__fail(error, SPAD_ERR_ARGUMENT,
                          "a block needs at least one thread and numbers of 0 or more; given %lld "
                          "threads, %lld bytes, %lld bytes per run, %lld runs, limit %lld bytes",
                          (long long)threads, (long long)shared_bytes, (long long)run_bytes,
                          (long long)runs, (long long)limit);
    }
    int64_t most;
    if (!spad__mul(run_bytes, spad__min(runs, threads), &most)) {
        return spad__fail(error, SPAD_ERR_OVERFLOW,
                          "%lld runs of %lld bytes in a block do not fit 64 bits",
                          (long long)spad__min(runs, threads), (long long)run_bytes);
    }
    spad_launch_size block = {.threads = threads, .shared_bytes = shared_bytes};
    while (block.shared_bytes >= SPAD_LAUNCH_TARGET_BYTES && block.threads > SPAD_WARP_THREADS) {
        set_threads(&block, spad__max(SPAD_WARP_THREADS, block.threads / 2), run_bytes, runs);
    }
    if (block.shared_bytes > limit) {
        if (run_bytes > limit) return one_run_too_large(run_bytes, limit, error);
        block.warnings = SPAD_LAUNCH_SUB_WARP;
        while (block.shared_bytes > limit && block.threads > 1) {
            set_threads(&block, block.threads / 2, run_bytes, runs);
        }
        if (block.shared_bytes > limit) return one_run_too_large(block.shared_bytes, limit, error);
    } else if (block.shared_bytes >= SPAD_LAUNCH_TARGET_BYTES) {
        block.warnings = SPAD_LAUNCH_OVER_TARGET;
    }
    *out = block;
    return SPAD_OK;
}

spad_status spad_launch_fit(spad_launch_size *out, int64_t elements, spad_dtype precision,
                            int64_t threads, int64_t runs, int64_t limit, spad_error *error) {
    memset(out, 0, sizeof *out);
    spad_run_shared run;
    spad_status status = spad_run_shared_of(&run, elements, precision, error);
    if (status != SPAD_OK) return status;
    int64_t shared_bytes;
    if (!spad__mul(run.bytes, spad__max(0, spad__min(runs, threads)), &shared_bytes)) {
        return spad__fail(error, SPAD_ERR_OVERFLOW,
                          "%lld runs of %lld bytes in a block do not fit 64 bits",
                          (long long)spad__min(runs, threads), (long long)run.bytes);
    }
    status = spad_launch_limit(out, threads, shared_bytes, run.bytes, runs, limit, error);
    if (status == SPAD_OK) out->shared_bytes = spad__max(4, out->shared_bytes);
    return status;
}

spad_status spad_launch_fit_budget(spad_launch_size *out, int64_t threads, int64_t run_bytes,
                                   int64_t runs, int64_t budget, spad_error *error) {
    memset(out, 0, sizeof *out);
    if (threads < 1 || runs < 1 || run_bytes < 0 || budget < 0) {
        return spad__fail(error, SPAD_ERR_ARGUMENT,
                          "a block needs at least one thread and one run, and bytes of 0 or more; "
                          "given %lld threads, %lld runs of %lld bytes, a budget of %lld bytes",
                          (long long)threads, (long long)runs, (long long)run_bytes,
                          (long long)budget);
    }
    if (run_bytes > budget) return one_run_too_large(run_bytes, budget, error);
    int64_t most = threads;
    if (run_bytes > 0) most = spad__min(threads, budget / run_bytes);
    const bool sub_warp = most < spad__min(threads, SPAD_WARP_THREADS);
    if (most > SPAD_WARP_THREADS) most -= most % SPAD_WARP_THREADS;
    spad_launch_size block = {.warnings = sub_warp ? SPAD_LAUNCH_SUB_WARP : 0};
    set_threads(&block, most, run_bytes, runs); /* at most the budget, so it fits 64 bits */
    spad__assert(block.threads >= 1 && block.shared_bytes <= budget);
    *out = block;
    return SPAD_OK;
}

/* ---- chunks ------------------------------------------------------------------------ */

/* floor(a x b / c) for 0 <= a, 0 <= b <= c, 0 < c, so that the result is at most
 * a: schoolbook multiplication bit by bit, with the remainder below c. */
static int64_t share_of(int64_t a, int64_t b, int64_t c) {
    const uint64_t divisor = (uint64_t)c;
    uint64_t quotient = 0;
    uint64_t rest = 0;
    for (int bit = 62; bit >= 0; bit--) {
        quotient *= 2;
        rest *= 2; /* below 2c, so below 2^64 */
        if (rest >= divisor) {
            rest -= divisor;
            quotient++;
        }
        if ((uint64_t)a >> bit & 1) rest += (uint64_t)b;
        if (rest >= divisor) {
            rest -= divisor;
            quotient++;
        }
    }
    return (int64_t)quotient;
}

static spad_status no_chunk(int64_t needed, int64_t available, const char *why, spad_error *error) {
    spad__fail(error, SPAD_ERR_NO_FIT,
               "%s: %lld bytes are needed and %lld are available; free memory, or request less",
               why, (long long)needed, (long long)available);
    spad__fact_amounts(error, needed, available, SPAD_NO_FACT);
    return SPAD_ERR_NO_FIT;
}

spad_status spad_chunks_of(spad_chunks *out, int64_t runs, int64_t chunkable, int64_t unchunkable,
                           int64_t available, int64_t free_bytes, spad_error *error) {
    memset(out, 0, sizeof *out);
    if (runs < 1 || chunkable < 0 || unchunkable < 0 || available < 0 || free_bytes < 0) {
        return spad__fail(error, SPAD_ERR_ARGUMENT,
                          "chunks need at least one run and sizes of 0 or more; given %lld runs, "
                          "%lld and %lld bytes, %lld available, %lld free",
                          (long long)runs, (long long)chunkable, (long long)unchunkable,
                          (long long)available, (long long)free_bytes);
    }
    int64_t request;
    if (!spad__add(chunkable, unchunkable, &request)) {
        return spad__fail(error, SPAD_ERR_OVERFLOW, "the bytes of the request do not fit 64 bits");
    }
    if (request < available) {
        *out = (spad_chunks){.runs = runs, .count = 1, .far_over_limit = false};
        return SPAD_OK;
    }
    if (chunkable == 0) {
        return no_chunk(request, available, "none of the arrays can be cut into chunks", error);
    }
    if (unchunkable >= available) {
        return no_chunk(unchunkable, available, "the arrays that cannot be cut do not fit", error);
    }
    const int64_t largest = share_of(runs, available - unchunkable, chunkable);
    if (largest == 0) return no_chunk(request, available, "not even one run fits", error);
    *out = (spad_chunks){
        .runs = largest,
        .count = runs / largest + (runs % largest != 0),
        .far_over_limit = free_bytes > 0 && (request - 1) / 20 >= free_bytes, /* > 20 x */
    };
    return SPAD_OK;
}
