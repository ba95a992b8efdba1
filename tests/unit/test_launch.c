/* SPDX-License-Identifier: Apache-2.0
 * The arithmetic of a launch. Vectors marked CuBIE are of its own tests
 * (tests/batchsolving/test_SolverKernel.py, tests/integrators/test_memory_heuristics.py). */
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

/* ---- placement --------------------------------------------------------------------- */

static void candidates_follow_the_thresholds(void **state) {
    (void)state;
    enum { N = SPAD_PLACEMENT_NONE, S = SPAD_PLACEMENT_STATE_PAIR };
    enum { W = SPAD_PLACEMENT_WORK, P = SPAD_PLACEMENT_PARAMS };
    enum { ERK = SPAD_METHOD_ERK, DIRK = SPAD_METHOD_DIRK };
    static const struct {
        int method;
        spad_placement_sizes sizes; /* method, item, footprint, state pair, work, params */
        int expected[3];
    } rows[] = {
        {DIRK, {0, 4, 3583, 8, 8, 512}, {N}},
        {DIRK, {0, 4, 3584, 1024, 2048, 512}, {S, W, P}},
        {DIRK, {0, 4, 3584, 1025, 2049, 511}, {N}},
        {DIRK, {0, 4, 3584, 1025, 1, 512}, {W, P}},
        {DIRK, {0, 4, 3584, 1025, 0, 512}, {P}},
        {DIRK, {0, 8, 9999, 8, 8, 9999}, {W}}, /* pair and parameters only in float32 */
        {DIRK, {0, 2, 9999, 8, 0, 9999}, {N}},
        {SPAD_METHOD_FIRK, {0, 4, 3584, 8, 0, 0}, {S}},
        {SPAD_METHOD_BACKWARD_EULER, {0, 4, 3584, 8, 0, 0}, {S}},
        {ERK, {0, 4, 511, 8, 8, 512}, {N}},
        {ERK, {0, 4, 512, 8, 512, 512}, {W}},
        {ERK, {0, 4, 3583, 8, 512, 512}, {W}},
        {ERK, {0, 4, 512, 8, 513, 512}, {N}},
        {ERK, {0, 4, 512, 8, 0, 512}, {N}},
        {ERK, {0, 4, 3584, 1024, 8, 512}, {S, P}},
        {ERK, {0, 4, 3584, 1025, 8, 512}, {P}},
        {ERK, {0, 8, 3584, 2048, 8, 512}, {S}}, /* bound times item / 4 */
        {ERK, {0, 8, 3584, 2049, 8, 512}, {N}},
        {ERK, {0, 2, 3584, 8, 8, 512}, {N}},
        {SPAD_METHOD_OTHER, {0, 4, 3584, 8, 8, 512}, {N}},
    };
    const spad_placement_thresholds thresholds = spad_placement_thresholds_of("8.9");
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        spad_placement_sizes sizes = rows[i].sizes;
        sizes.method = (spad_method)rows[i].method;
        spad_placement_group got[SPAD_PLACEMENT_CANDIDATES_MAX];
        size_t expected = 0;
        while (expected < 3 && rows[i].expected[expected] != N) expected++;
        assert_int_equal(spad_placement_list_candidates(got, &sizes, &thresholds), expected);
        for (size_t k = 0; k < expected; k++) assert_int_equal(got[k], rows[i].expected[k]);
    }
}

static void thresholds_stand_for_every_gpu(void **state) {
    (void)state;
    const spad_placement_thresholds t = spad_placement_thresholds_of("8.9");
    assert_int_equal(t.heavy_spill, 3584);
    assert_int_equal(t.spill_floor, 512);
    assert_int_equal(t.state_pair_max, 1024);
    assert_int_equal(t.work_max, 2048);
    assert_int_equal(t.explicit_work_max, 512);
    assert_int_equal(t.params_min, 512);
    const spad_placement_thresholds other = spad_placement_thresholds_of("0.0");
    const spad_placement_thresholds none = spad_placement_thresholds_of(NULL);
    assert_memory_equal(&t, &other, sizeof t);
    assert_memory_equal(&t, &none, sizeof t);
}

/* A loop with 100 states and a backward Euler step below it. */
typedef struct integrator {
    spad_registry *registry;
    spad_component loop;
    spad_component step;
} integrator;

static void add(integrator *r, spad_component c, const char *name, int64_t size, bool persistent,
                const char *aliases) {
    const spad_registry_buffer buffer = {.name = name,
                                         .size = size,
                                         .location = SPAD_REGISTRY_LOCATION_LOCAL,
                                         .persistent = persistent,
                                         .aliases = aliases};
    assert_ok(spad_registry_register(r->registry, c, &buffer, &error), &error);
}

static integrator build(void) {
    integrator r;
    assert_ok(spad_registry_create(&r.registry, NULL, &error), &error);
    assert_ok(spad_registry_add(&r.loop, r.registry, "loop", SPAD_FLOAT32, &error), &error);
    assert_ok(spad_registry_add(&r.step, r.registry, "step", SPAD_FLOAT32, &error), &error);
    add(&r, r.step, "increment_cache", 100, true, NULL);
    add(&r, r.step, "scratch", 300, false, NULL);
    add(&r, r.step, "view", 50, false, "scratch");
    spad_component solver; /* in the step: its totals are not the step's own work */
    assert_ok(spad_registry_add(&solver, r.registry, "solver", SPAD_FLOAT32, &error), &error);
    const spad_registry_buffer delta = {.name = "delta", .size = 10};
    assert_ok(spad_registry_register(r.registry, solver, &delta, &error), &error);
    assert_ok(spad_registry_register_child(NULL, r.registry, r.step, solver, "solver", &error),
              &error);
    add(&r, r.loop, "state", 100, false, NULL);
    add(&r, r.loop, "proposed_state", 100, false, NULL);
    add(&r, r.loop, "parameters", 200, false, NULL);
    assert_ok(spad_registry_register_child(NULL, r.registry, r.loop, r.step, "algorithm", &error),
              &error);
    return r;
}

static void sizes_are_read_from_the_registry(void **state) {
    (void)state;
    integrator r = build();
    spad_placement_sizes sizes;
    assert_ok(spad_placement_measure(&sizes, r.registry, r.loop, r.step, SPAD_METHOD_BACKWARD_EULER,
                                     100, 200, &error),
              &error);
    assert_int_equal(sizes.item, 4);
    assert_int_equal(sizes.footprint, 4 * (400 + 350 + 100));
    assert_int_equal(sizes.state_pair, 800);
    assert_int_equal(sizes.work, 1600); /* the view aliases */
    assert_int_equal(sizes.params, 800);
    fails(
        spad_placement_measure(&sizes, r.registry, r.loop, r.step, SPAD_METHOD_ERK, -1, 2, &error),
        SPAD_ERR_ARGUMENT, "-1 states and 2 parameters; give 0 or more of each");
    fails(spad_placement_measure(&sizes, r.registry, r.loop, r.step, SPAD_METHOD_ERK, INT64_MAX, 2,
                                 &error),
          SPAD_ERR_OVERFLOW, "the bytes that 'loop' and 'step' declare do not fit 64 bits");
    assert_int_equal(
        spad_placement_measure(&sizes, r.registry, 99, r.step, SPAD_METHOD_ERK, 1, 1, NULL),
        SPAD_ERR_STALE);
    assert_int_equal(
        spad_placement_measure(&sizes, r.registry, r.loop, 99, SPAD_METHOD_ERK, 1, 1, NULL),
        SPAD_ERR_STALE);
    spad_registry_destroy(r.registry);
}

static void a_group_with_a_location_of_the_user_is_skipped(void **state) {
    (void)state;
    integrator r = build();
    spad_placement_sizes sizes = {.method = SPAD_METHOD_BACKWARD_EULER,
                                  .item = 4,
                                  .footprint = 4000,
                                  .state_pair = 800,
                                  .work = 1600,
                                  .params = 800};
    const spad_placement_thresholds t = spad_placement_thresholds_of(NULL);
    static const struct {
        const char *keys[4];
        size_t count;
        spad_placement_group expected;
    } rows[] = {
        {{NULL}, 0, SPAD_PLACEMENT_STATE_PAIR},
        {{"dt_location", "state", "algorithm_shared_location", "stat_location"},
         4,
         SPAD_PLACEMENT_STATE_PAIR},
        {{"state_location"}, 1, SPAD_PLACEMENT_WORK}, /* CuBIE */
        {{"proposed_state_location"}, 1, SPAD_PLACEMENT_WORK},
        {{"state_location", "solver_shared_location"}, 2, SPAD_PLACEMENT_WORK},
        {{"state_location", "view_location"}, 2, SPAD_PLACEMENT_PARAMS},
        {{"view_location", "state_location", "parameters_location"}, 3, SPAD_PLACEMENT_NONE},
    };
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        assert_int_equal(
            spad_placement_choose(&sizes, &t, r.registry, r.step, rows[i].keys, rows[i].count),
            rows[i].expected);
    }
    const char *const key[] = {"state_location"};
    assert_int_equal(spad_placement_choose(&sizes, &t, r.registry, 99, key, 1),
                     SPAD_PLACEMENT_WORK);
    spad_registry_destroy(r.registry);
}

static int64_t shared_size(const integrator *r, spad_component c) {
    int64_t size;
    assert_ok(spad_registry_get_size(&size, r->registry, c, SPAD_REGISTRY_REGION_SHARED,
                                     SPAD_REGISTRY_UNIT_ELEMENT, &error),
              &error);
    return size;
}

static void a_group_is_moved_as_a_whole(void **state) {
    (void)state;
    integrator r = build();
    assert_int_equal(spad_placement_apply(r.registry, r.loop, r.step, SPAD_PLACEMENT_NONE), 0);
    assert_int_equal(shared_size(&r, r.loop), 10);
    assert_int_equal(spad_placement_apply(r.registry, r.loop, r.step, SPAD_PLACEMENT_STATE_PAIR),
                     2);
    assert_int_equal(shared_size(&r, r.loop), 210);
    assert_int_equal(spad_placement_apply(r.registry, r.loop, r.step, SPAD_PLACEMENT_PARAMS), 1);
    assert_int_equal(shared_size(&r, r.loop), 410);
    assert_int_equal(spad_placement_apply(r.registry, r.loop, r.step, SPAD_PLACEMENT_WORK), 3);
    assert_int_equal(shared_size(&r, r.step), 410); /* the view inside scratch */
    assert_int_equal(spad_placement_apply(r.registry, r.step, r.loop, SPAD_PLACEMENT_PARAMS), 0);
    spad_registry_destroy(r.registry);
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
        cmocka_unit_test(candidates_follow_the_thresholds),
        cmocka_unit_test(thresholds_stand_for_every_gpu),
        cmocka_unit_test(sizes_are_read_from_the_registry),
        cmocka_unit_test(a_group_with_a_location_of_the_user_is_skipped),
        cmocka_unit_test(a_group_is_moved_as_a_whole),
        cmocka_unit_test(runs_are_cut_into_chunks),
        cmocka_unit_test(chunks_are_the_largest_that_fit),
        cmocka_unit_test(what_cannot_be_cut_is_an_error),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
