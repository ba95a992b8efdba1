/* SPDX-License-Identifier: Apache-2.0
 * The arithmetic of a launch. Vectors marked CuBIE are of its own tests
 * (tests/batchsolving/test_SolverKernel.py). */
#include "support/support.h"

#include <string.h>

#include "base/random.h"
#include "spad/experimental/launch.h"

static spad_error error;

static void fails(spad_status got, spad_status wanted, const char *message) {
    assert_int_equal(got, wanted);
    assert_string_equal(error.message, message);
}

/* ---- a run ------------------------------------------------------------------------- */

static void skew_makes_the_stride_odd(void **state) {
    (void)state;
    static const struct {
        int64_t elements;
        spad_dtype precision;
        int64_t pad;
        int64_t bytes;
        int64_t words;
        int64_t short_bytes;
    } rows[] = {
        {0, SPAD_FLOAT32, 0, 0, 0, 0},     {1, SPAD_FLOAT32, 0, 4, 1, 0},
        {6, SPAD_FLOAT32, 4, 28, 7, 0},    {21, SPAD_FLOAT32, 0, 84, 21, 0},
        {70, SPAD_FLOAT32, 4, 284, 71, 0}, {0, SPAD_FLOAT64, 0, 0, 0, 0},
        {6, SPAD_FLOAT64, 0, 48, 12, 0},   {7, SPAD_FLOAT64, 0, 56, 14, 0},
        {6, SPAD_FLOAT16, 4, 16, 7, 12},   {7, SPAD_FLOAT16, 0, 14, 7, 14},
    };
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        spad_run_shared run;
        assert_ok(spad_run_shared_of(&run, rows[i].elements, rows[i].precision, &error), &error);
        assert_int_equal(run.elements, rows[i].elements);
        assert_int_equal(run.pad, rows[i].pad);
        assert_int_equal(run.bytes, rows[i].bytes);
        assert_int_equal(run.stride_words, rows[i].words);
        assert_int_equal(run.short_bytes, rows[i].short_bytes);
        if (rows[i].precision == SPAD_FLOAT32 && run.elements > 0) {
            assert_int_equal(run.stride_words % 2, 1);
        }
    }
    spad_run_shared run;
    fails(spad_run_shared_of(&run, 1, SPAD_INT32, &error), SPAD_ERR_DTYPE,
          "precision int32 of a run is not one of float16, float32, float64");
    fails(spad_run_shared_of(&run, -2, SPAD_FLOAT32, &error), SPAD_ERR_ARGUMENT,
          "a run of -2 shared elements; give 0 or more");
    fails(spad_run_shared_of(&run, INT64_MAX / 4, SPAD_FLOAT64, &error), SPAD_ERR_OVERFLOW,
          "the bytes of a run of 2305843009213693951 float64 elements do not fit 64 bits");
    assert_int_equal(run.bytes, 0);
}

/* ---- a block ----------------------------------------------------------------------- */

static void blocks_are_halved_until_they_fit(void **state) {
    (void)state;
    static const struct {
        int64_t threads;
        int64_t shared;
        int64_t run;
        int64_t runs;
        int64_t limit;
        int64_t threads_out;
        int64_t shared_out;
        unsigned warnings;
    } rows[] = {
        /* CuBIE */
        {256, 320 * 256, 320, 65536, 49152, 64, 20480, 0},
        {256, 1200 * 256, 1200, 65536, 49152, 32, 38400, SPAD_LAUNCH_OVER_TARGET},
        {256, 4096 * 256, 4096, 65536, 49152, 8, 32768, SPAD_LAUNCH_SUB_WARP},
        {256, 16384, 64, 65536, 49152, 256, 16384, 0},
        /* bounds: 32768 is too much, 49152 is not; one run of exactly the limit */
        {256, 32767, 127, 65536, 49152, 256, 32767, 0},
        {256, 32768, 128, 65536, 49152, 128, 16384, 0},
        {32, 49152, 1536, 65536, 49152, 32, 49152, SPAD_LAUNCH_OVER_TARGET},
        {32, 49184, 1537, 65536, 49152, 16, 24592, SPAD_LAUNCH_SUB_WARP},
        {32, 98304, 3072, 65536, 49152, 16, 49152, SPAD_LAUNCH_SUB_WARP},
        {256, 49152 * 256, 49152, 65536, 49152, 1, 49152, SPAD_LAUNCH_SUB_WARP},
        /* sizes that are no power of two stop at a warp, then continue below it */
        {100, 90000, 900, 65536, 49152, 32, 28800, 0},
        {50, 100000, 2000, 65536, 49152, 16, 32000, SPAD_LAUNCH_SUB_WARP},
        {7, 70000, 10000, 65536, 49152, 3, 30000, SPAD_LAUNCH_SUB_WARP},
        /* fewer runs than threads: halving helps only below that */
        {256, 40000, 4000, 10, 49152, 32, 40000, SPAD_LAUNCH_OVER_TARGET},
        {256, 60000, 6000, 10, 49152, 8, 48000, SPAD_LAUNCH_SUB_WARP},
        {256, 0, 0, 65536, 49152, 256, 0, 0},
        {256, 0, 0, 0, 0, 256, 0, 0},
    };
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        spad_launch_size block;
        assert_ok(spad_launch_limit(&block, rows[i].threads, rows[i].shared, rows[i].run,
                                    rows[i].runs, rows[i].limit, &error),
                  &error);
        assert_int_equal(block.threads, rows[i].threads_out);
        assert_int_equal(block.shared_bytes, rows[i].shared_out);
        assert_int_equal(block.warnings, rows[i].warnings);
    }
}

static void a_run_beyond_the_limit_fits_no_block(void **state) {
    (void)state;
    spad_launch_size block;
    fails(spad_launch_limit(&block, 256, 50000 * 256, 50000, 65536, 49152, &error), SPAD_ERR_NO_FIT,
          "a single run takes 50000 bytes of shared memory and a block has 49152; move buffers to "
          "local memory");
    assert_int_equal(error.needed, 50000);
    assert_int_equal(error.available, 49152);
    /* one thread cannot be halved, whatever a run takes */
    fails(spad_launch_limit(&block, 1, 100000, 8, 65536, 49152, &error), SPAD_ERR_NO_FIT,
          "a single run takes 100000 bytes of shared memory and a block has 49152; move buffers to "
          "local memory");
    fails(spad_launch_limit(&block, 0, 1, 1, 1, 1, &error), SPAD_ERR_ARGUMENT,
          "a block needs at least one thread and numbers of 0 or more; given 0 threads, 1 bytes, "
          "1 bytes per run, 1 runs, limit 1 bytes");
    fails(spad_launch_limit(&block, 256, 1, INT64_MAX, 2, 1, &error), SPAD_ERR_OVERFLOW,
          "2 runs of 9223372036854775807 bytes in a block do not fit 64 bits");
    assert_int_equal(block.threads, 0);
}

static void a_block_uses_its_budget_up(void **state) {
    (void)state;
    static const struct {
        int64_t threads, run, runs, budget, threads_out, shared_out;
        unsigned warnings;
    } rows[] = {
        {256, 320, 65536, 49152, 128, 40960, 0}, /* 153 would fit, in warps it is 128 */
        {256, 320, 65536, 98304, 256, 81920, 0},
        {256, 192, 65536, 49152, 256, 49152, 0}, /* to the last byte */
        {256, 193, 65536, 49152, 224, 43232, 0},
        {256, 320, 10, 49152, 128, 3200, 0},
        {256, 4096, 65536, 49152, 12, 49152, SPAD_LAUNCH_SUB_WARP},
        {256, 49152, 65536, 49152, 1, 49152, SPAD_LAUNCH_SUB_WARP},
        {16, 4, 65536, 49152, 16, 64, 0}, /* fewer were asked for */
        {100, 4, 65536, 49152, 96, 384, 0},
        {256, 0, 65536, 0, 256, 0, 0},
        {INT64_MAX, 1, INT64_MAX, INT64_MAX, INT64_MAX - 31, INT64_MAX - 31, 0},
    };
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        spad_launch_size block;
        assert_ok(spad_launch_fit_budget(&block, rows[i].threads, rows[i].run, rows[i].runs,
                                         rows[i].budget, &error),
                  &error);
        assert_int_equal(block.threads, rows[i].threads_out);
        assert_int_equal(block.shared_bytes, rows[i].shared_out);
        assert_int_equal(block.warnings, rows[i].warnings);
    }
    spad_launch_size block;
    fails(spad_launch_fit_budget(&block, 256, 49153, 65536, 49152, &error), SPAD_ERR_NO_FIT,
          "a single run takes 49153 bytes of shared memory and a block has 49152; move buffers to "
          "local memory");
    assert_int_equal(error.needed, 49153);
    fails(spad_launch_fit_budget(&block, 0, 4, 1, 49152, &error), SPAD_ERR_ARGUMENT,
          "a block needs at least one thread and one run, and bytes of 0 or more; given 0 threads, "
          "1 runs of 4 bytes, a budget of 49152 bytes");
    assert_int_equal(spad_launch_fit_budget(&block, 1, -1, 1, 1, NULL), SPAD_ERR_ARGUMENT);
    assert_int_equal(spad_launch_fit_budget(&block, 1, 1, 0, 1, NULL), SPAD_ERR_ARGUMENT);
    assert_int_equal(spad_launch_fit_budget(&block, 1, 1, 1, -1, NULL), SPAD_ERR_ARGUMENT);
    assert_int_equal(block.threads, 0);
}

static void a_launch_is_planned_from_its_elements(void **state) {
    (void)state;
    spad_launch_size block;
    const int64_t limit = SPAD_LAUNCH_DEFAULT_LIMIT;
    assert_ok(spad_launch_fit(&block, 21, SPAD_FLOAT32, 256, 65536, limit, &error), &error);
    assert_int_equal(block.threads, 256);
    assert_int_equal(block.shared_bytes, 21504);
    assert_ok(spad_launch_fit(&block, 70, SPAD_FLOAT32, 256, 65536, limit, &error), &error);
    assert_int_equal(block.threads, 64);
    assert_int_equal(block.shared_bytes, 18176);
    assert_ok(spad_launch_fit(&block, 0, SPAD_FLOAT32, 256, 65536, limit, &error), &error);
    assert_int_equal(block.shared_bytes, 4); /* dynamic memory needs a size */
    assert_ok(spad_launch_fit(&block, 70, SPAD_FLOAT32, 256, 3, limit, &error), &error);
    assert_int_equal(block.threads, 256);
    assert_int_equal(block.shared_bytes, 3 * 284);
    assert_int_equal(spad_launch_fit(&block, 1, SPAD_BOOL, 256, 1, limit, NULL), SPAD_ERR_DTYPE);
    assert_int_equal(spad_launch_fit(&block, 1, SPAD_FLOAT32, 0, 1, limit, NULL),
                     SPAD_ERR_ARGUMENT);
    assert_int_equal(spad_launch_fit(&block, 1, SPAD_FLOAT32, -5, 1, limit, NULL),
                     SPAD_ERR_ARGUMENT);
    fails(spad_launch_fit(&block, INT64_C(1) << 59, SPAD_FLOAT32, 256, 65536, limit, &error),
          SPAD_ERR_OVERFLOW, "256 runs of 2305843009213693956 bytes in a block do not fit 64 bits");
    assert_int_equal(spad_launch_fit(&block, 12500, SPAD_FLOAT32, 256, 65536, limit, NULL),
                     SPAD_ERR_NO_FIT);
}

/* ---- chunks ------------------------------------------------------------------------ */

static void runs_are_cut_into_chunks(void **state) {
    (void)state;
    static const struct {
        int64_t runs;
        int64_t chunkable;
        int64_t unchunkable;
        int64_t available;
        int64_t free_bytes;
        int64_t chunk;
        int64_t count;
        bool far;
    } rows[] = {
        {100, 1000, 50, 1051, 0, 100, 1, false}, /* below: one */
        {100, 1000, 0, 1000, 0, 100, 1, false},  /* exactly: all of them, by division */
        {100, 1000, 50, 1050, 0, 100, 1, false},
        {100, 1000, 50, 1049, 0, 99, 2, false},
        {100, 1000, 50, 550, 0, 50, 2, false},
        {100, 1000, 50, 559, 0, 50, 2, false},
        {100, 1000, 50, 100, 0, 5, 20, false},
        {100, 1000, 50, 60, 0, 1, 100, false},
        {100, 2000, 0, 100, 100, 5, 20, false},
        {100, 2001, 0, 100, 100, 4, 25, true},
        {7, 70, 0, 21, 0, 2, 4, false} /* the last one is smaller */,
        {255, 14280, 0, 3472, 0, 62, 5, false}, /* floating point gives 61 */
        {INT64_MAX, INT64_MAX, 0, INT64_MAX, 0, INT64_MAX, 1, false},
        {1000000000, INT64_C(80000000000000), 0, INT64_C(79999999999999), 0, 999999999, 2, false},
    };
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        spad_chunks chunks;
        assert_ok(spad_chunks_of(&chunks, rows[i].runs, rows[i].chunkable, rows[i].unchunkable,
                                 rows[i].available, rows[i].free_bytes, &error),
                  &error);
        assert_int_equal(chunks.runs, rows[i].chunk);
        assert_int_equal(chunks.count, rows[i].count);
        assert_int_equal(chunks.far_over_limit, rows[i].far);
    }
}

static void chunks_are_the_largest_that_fit(void **state) {
    (void)state;
    spad__random random = {20};
    for (int i = 0; i < 100000; i++) {
        const int64_t runs = spad__random_in(&random, 1, 3000);
        const int64_t chunkable = spad__random_in(&random, 0, 100000);
        const int64_t unchunkable = spad__random_in(&random, 0, 500);
        const int64_t available = spad__random_in(&random, 0, 20000);
        spad_chunks chunks;
        const spad_status status =
            spad_chunks_of(&chunks, runs, chunkable, unchunkable, available, 0, &error);
        /* small numbers: products are exact */
        const int64_t room = available - unchunkable;
        if (chunkable + unchunkable < available) {
            assert_int_equal(chunks.runs, runs);
        } else if (chunkable == 0 || room <= 0 || room * runs < chunkable) {
            assert_int_equal(status, SPAD_ERR_NO_FIT);
            continue;
        } else {
            assert_true(chunks.runs * chunkable <= room * runs);
            assert_true((chunks.runs + 1) * chunkable > room * runs);
        }
        assert_int_equal(status, SPAD_OK);
        assert_true(chunks.count * chunks.runs >= runs);
        assert_true((chunks.count - 1) * chunks.runs < runs);
    }
}

static void what_cannot_be_cut_is_an_error(void **state) {
    (void)state;
    spad_chunks chunks;
    fails(spad_chunks_of(&chunks, 10, 0, 500, 400, 0, &error), SPAD_ERR_NO_FIT,
          "none of the arrays can be cut into chunks: 500 bytes are needed and 400 are available; "
          "free memory, or request less");
    fails(spad_chunks_of(&chunks, 10, 100, 400, 400, 0, &error), SPAD_ERR_NO_FIT,
          "the arrays that cannot be cut do not fit: 400 bytes are needed and 400 are available; "
          "free memory, or request less");
    fails(spad_chunks_of(&chunks, 10, 1000, 350, 400, 0, &error), SPAD_ERR_NO_FIT,
          "not even one run fits: 1350 bytes are needed and 400 are available; free memory, or "
          "request less");
    assert_int_equal(error.needed, 1350);
    assert_int_equal(error.available, 400);
    fails(spad_chunks_of(&chunks, 0, 1, 2, 3, 4, &error), SPAD_ERR_ARGUMENT,
          "chunks need at least one run and sizes of 0 or more; given 0 runs, 1 and 2 bytes, 3 "
          "available, 4 free");
    fails(spad_chunks_of(&chunks, 1, INT64_MAX, 1, 3, 4, &error), SPAD_ERR_OVERFLOW,
          "the bytes of the request do not fit 64 bits");
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(skew_makes_the_stride_odd),
        cmocka_unit_test(blocks_are_halved_until_they_fit),
        cmocka_unit_test(a_run_beyond_the_limit_fits_no_block),
        cmocka_unit_test(a_block_uses_its_budget_up),
        cmocka_unit_test(a_launch_is_planned_from_its_elements),
        cmocka_unit_test(runs_are_cut_into_chunks),
        cmocka_unit_test(chunks_are_the_largest_that_fit),
        cmocka_unit_test(what_cannot_be_cut_is_an_error),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
