/* SPDX-License-Identifier: Apache-2.0
 *
 * Rates, paths and grids at the ends of 64 bits: what fits is right, what does not is refused with
 * the reason. Chips are made here, with figures that no file has.
 */
#include <stdio.h>
#include <string.h>

#include "sim/sim_report.h"
#include "spad/spad.h"
#include "support/kernels.h"
#include "support/support.h"

#define FAR_MOST INT64_MAX
#define TWO_62 "4611686018427387904"

enum { NS = 1000 };

typedef struct chip {
    spad_engine engine;
    int64_t units;
    int64_t launch_ns;
    int64_t groups;
    int64_t rate; /* of the memory off the chip */
    int64_t cache_rate;
    int64_t queue;
} chip;

typedef struct outcome {
    spad_status status;
    spad_error error;
    spad_sim_totals totals;
    spad__sim_grid grid;
    bool has_line; /* its text has the line that was asked for */
} outcome;

static bool has_line(const spad_sim *sim, const char *line) {
    test_text text;
    spad_error error;
    test_text_init(&text);
    assert_ok(spad_sim_write(sim, SPAD_FORMAT_TEXT, &text.sink, &error), &error);
    const bool found = strstr(text.bytes, line) != NULL;
    test_text_free(&text);
    return found;
}

static outcome simulate_and_ask(const chip *c, const char *text, int64_t grid, const char *line) {
    const spad_space spaces[] = {
        {.name = "pad", .lanes = 1, .bytes = SPAD_UNBOUNDED, .alignment = 1, .granule = 1},
        {.name = "wide", .lanes = 1 << 20, .bytes = SPAD_UNBOUNDED, .alignment = 1, .granule = 1},
        {.name = "far",
         .lanes = 1,
         .bytes = SPAD_UNBOUNDED,
         .alignment = 1,
         .granule = 1,
         .off_chip = true,
         .bytes_per_us = c->rate,
         .cache_bytes_per_us = c->cache_rate,
         .cache_bytes = c->cache_rate > 0,
         .queue_permille = c->queue},
    };
    spad_engine engine = c->engine;
    engine.name = "e";
    engine.about = "";
    engine.count = engine.count > 0 ? engine.count : 1;
    engine.reads = engine.writes = 7;
    const spad_target target = {.name = "chip",
                                .about = "",
                                .family = "",
                                .units = c->units,
                                .launch_ns = c->launch_ns,
                                .max_groups = c->groups,
                                .space_count = 3,
                                .spaces = spaces,
                                .engine_count = 1,
                                .engines = &engine};
    const spad_kernel_options options = {.target = &target};
    const spad_sim_options how = {.grid = grid};
    spad_kernel *kernel = test_parse_with(text, &options);
    outcome o = {0};
    spad_sim *sim;
    o.status = spad_sim_create(&sim, kernel, &how, &o.error);
    if (o.status == SPAD_OK) {
        o.totals = spad_sim_get_totals(sim);
        o.grid = spad__sim_get_grid(sim);
        o.has_line = line != NULL && has_line(sim, line);
    }
    spad_sim_destroy(sim);
    spad_kernel_destroy(kernel);
    return o;
}

static outcome simulate(const chip *c, const char *text, int64_t grid) {
    return simulate_and_ask(c, text, grid, NULL);
}

static void expect_time(const chip *c, const char *text, int64_t grid, int64_t time) {
    const outcome o = simulate(c, text, grid);
    if (o.status != SPAD_OK) fail_msg("%s\n%s", o.error.message, text);
    assert_int_equal(o.totals.time, time);
}

static void expect_too_long(const chip *c, const char *text, int64_t grid, const char *message) {
    const outcome o = simulate(c, text, grid);
    if (o.status != SPAD_ERR_OVERFLOW) fail_msg("no overflow, but %d:\n%s", o.status, text);
    if (strstr(o.error.message, message) == NULL) fail_msg("%s\n%s", o.error.message, text);
}

#define K "kernel k on chip\n"
#define LONG_OPERATION "more than 2^63 picoseconds"

/* ---- multiply-adds and elements ---------------------------------------------------- */

static const spad_rate mac = {.work = SPAD_WORK_MAC, .dtype = SPAD_UINT8, .per_cycle = 1};
static const spad_rate fma_rate = {.work = SPAD_WORK_FMA, .per_cycle = 1};

#define PRODUCT(size)                                                \
    K "tensor a : pad u8 (" size ")\ntensor b : pad u8 (" size ")\n" \
      "tensor c : pad u8 (" size ")\ne mm reads a, b writes c\n"

/* The root of three sizes that are not multiplied in 64 bits. */
static void products_of_large_operands(void **state) {
    (void)state;
    spad_rate rate = mac;
    chip c = {.engine = {.clock_khz = 1000000, .rate_count = 1, .rates = &rate}};
    expect_time(&c, PRODUCT("100"), 0, 1000 * NS);
    rate.per_cycle = INT64_C(1) << 40; /* root of 2^120: 2^60 */
    expect_time(&c, PRODUCT("1099511627776"), 0, (INT64_C(1) << 20) * NS);
    rate.per_cycle = FAR_MOST; /* root of 2^186: as much as 64 bits hold */
    expect_time(&c, PRODUCT(TWO_62), 0, 1 * NS);
    rate.per_cycle = 1;
    expect_too_long(&c, PRODUCT(TWO_62), 0, LONG_OPERATION);
}

/* A rate for another type of the same size serves; one of another kind does not. */
static void rates_of_other_types(void **state) {
    (void)state;
    const spad_rate rates[] = {
        {.work = SPAD_WORK_MAC, .dtype = SPAD_FLOAT16, .per_cycle = 5},
        {.work = SPAD_WORK_FMA, .per_cycle = 7},
        {.work = SPAD_WORK_MAC, .dtype = SPAD_INT8, .per_cycle = 10},
    };
    const chip c = {.engine = {.clock_khz = 1000000, .rate_count = 3, .rates = rates}};
    expect_time(&c, PRODUCT("100"), 0, 100 * NS);
}

/* Elements of half a byte: twice as many as bytes, and a row of an odd number is rounded up. */
static void elements_of_half_a_byte(void **state) {
    (void)state;
    static const char text[] =
        K "tensor a : wide uint4 (1048576, 8796093022207)\ne op reads a, a writes a\n";
    chip c = {.engine = {.clock_khz = 1000000, .rate_count = 1, .rates = &mac}};
    expect_too_long(&c, text, 0, LONG_OPERATION);
    c.engine.rates = &fma_rate;
    expect_too_long(&c, text, 0, LONG_OPERATION);
}

/* An agent of one thread has one part of the engine; and what is added to its cycles. */
static void threads_and_cycles(void **state) {
    (void)state;
    static const char one[] =
        K "tensor a : pad u8 (4096)\nagent t of 1 threads { e fma writes a }\n";
    static const char most[] =
        K "tensor a : pad u8 (1000000000000)\nagent t of 1 threads { e fma writes a }\n";
    chip c = {
        .engine = {.clock_khz = 1000000, .rate_count = 1, .rates = &fma_rate, .threads = 1 << 30}};
    expect_time(&c, one, 0, INT64_C(4096) * (1 << 30) * NS);
    expect_too_long(&c, most, 0, LONG_OPERATION);
    c.engine.threads = 0;
    c.engine.fixed_cycles = FAR_MOST;
    expect_too_long(&c, one, 0, LONG_OPERATION);
}

/* ---- paths ------------------------------------------------------------------------- */

#define MOVE(size)                                                         \
    K "tensor g : far u8 (" size ") input\ntensor s : pad u8 (" size ")\n" \
      "e load reads g writes s\n"

static void bytes_on_paths(void **state) {
    (void)state;
    spad_path path = {.from = 2, .to = 0, .bytes_per_us = 1000};
    chip c = {.engine = {.path_count = 1, .paths = &path}};
    expect_time(&c, MOVE("500"), 0, 500 * NS);
    /* sums of bytes, and their time */
    expect_too_long(&c,
                    K "tensor g : far u8 (" TWO_62 ") input\ntensor s : pad u8 (4)\n"
                      "e load reads g, g writes s\n",
                    0, LONG_OPERATION);
    path.bytes_per_us = 0;
    path.bytes_per_kilocycle = 1000;
    c.engine.clock_khz = 1; /* a cycle is a millisecond */
    expect_time(&c, MOVE("5"), 0, INT64_C(5000000) * NS);
    expect_too_long(&c, MOVE("10000000000"), 0, LONG_OPERATION);
    /* without a clock there are cycles, and no time */
    c.engine.clock_khz = 0;
    const outcome o = simulate(&c, MOVE("5"), 0);
    assert_int_equal(o.totals.unit, SPAD_TIME_CYCLES);
    assert_int_equal(o.totals.makespan, 5 * SPAD_SIM_CYCLE);
}

/* Latency in cycles, on a path whose rate is in time; with a clock, and without. */
static void latencies_of_paths(void **state) {
    (void)state;
    spad_path path = {.from = 2, .to = 0, .bytes_per_us = 1000, .latency_cycles = 7};
    chip c = {.engine = {.path_count = 1, .paths = &path, .clock_khz = 1000000}};
    expect_time(&c, MOVE("500"), 0, 507 * NS);
    c.engine.clock_khz = 0;
    assert_int_equal(simulate(&c, MOVE("500"), 0).totals.unit, SPAD_TIME_CYCLES);
    path.latency_cycles = 0;
    path.latency_ns = FAR_MOST / 1000; /* the sum with its own time */
    expect_too_long(&c, MOVE("500"), 0, LONG_OPERATION);
}

/* Of two paths the one that takes longest counts, in either order. */
static void operations_on_two_paths(void **state) {
    (void)state;
    static const char text[] = K "tensor g : far u8 (600) input\ntensor s : pad u8 (600)\n"
                                 "tensor w : wide u8 (1, 600)\ne load reads g writes s, w\n";
    spad_path paths[] = {{.from = 2, .to = 0, .bytes_per_us = 1000},
                         {.from = 2, .to = 1, .bytes_per_us = 2000}};
    chip c = {.engine = {.path_count = 2, .paths = paths}};
    expect_time(&c, text, 0, 600 * NS);
    paths[1].bytes_per_us = 500;
    expect_time(&c, text, 0, 1200 * NS);
    /* an engine that also computes is no copy engine: several of it work side by side */
    c.engine.width = 1;
    c.engine.clock_khz = 1000;
    assert_int_equal(simulate(&c, text, 0).status, SPAD_OK);
}

/* ---- the memory of the chip -------------------------------------------------------- */

static void shares_of_the_memory(void **state) {
    (void)state;
    const spad_path path = {.from = 2, .to = 0, .bytes_per_us = FAR_MOST};
    chip c = {.engine = {.path_count = 1, .paths = &path}, .units = 1000, .groups = 1};
    c.rate = 1000;
    expect_time(&c, MOVE("500"), 1000, 500000 * NS);
    /* one block reads the memory for all; the cache serves each of them, and is slow */
    c.cache_rate = 1;
    expect_too_long(&c,
                    K "tensor g : far u8 (100000000000) input reused 1000000000\n"
                      "tensor s : pad u8 (100000000000)\ne load reads g writes s\n",
                    1000, LONG_OPERATION);
    c.cache_rate = 0;
    expect_too_long(&c, MOVE(TWO_62), 1000, LONG_OPERATION);
}

/* What a transfer waits for others, where the queue is absurdly long. */
static void queues_that_do_not_end(void **state) {
    (void)state;
    const spad_path paths[] = {{.from = 2, .to = 0, .bytes_per_us = 1000000},
                               {.from = 0, .to = 2, .bytes_per_us = 1000000}};
    static const char both[] = K "tensor g : far u8 (500) input\ntensor o : far u8 (500) output\n"
                                 "tensor s : pad u8 (500)\ne load reads g writes s\n"
                                 "e store reads s writes o\n";
    chip c = {.engine = {.path_count = 2, .paths = paths}, .units = 100, .groups = 1};
    c.rate = 1000000;
    c.queue = 4000;
    const outcome some = simulate(&c, both, 100);
    assert_int_equal(some.status, SPAD_OK);
    assert_true(some.totals.time > 2 * 50 * NS); /* 100 units share the rate: 50 ns each way */
    c.queue = FAR_MOST;
    expect_too_long(&c, both, 100, LONG_OPERATION);
    /* a wait that fits by itself, and not with the latency */
    const spad_path late = {
        .from = 2, .to = 0, .bytes_per_us = 1000000, .latency_ns = INT64_C(5000000000000000)};
    c.engine.path_count = 1;
    c.engine.paths = &late;
    c.queue = INT64_C(1) << 60;
    expect_too_long(&c, MOVE("500"), 100, LONG_OPERATION);
    /* no time at all: nothing is in use */
    c.queue = 500;
    expect_time(&c, K "e op cost 0 ns\n", 100, 0);
}

/* ---- grids ------------------------------------------------------------------------- */

#define GRID_LONG "the grid takes more than 2^63 picoseconds; use a smaller one"

static void grids_that_take_too_long(void **state) {
    (void)state;
    chip c = {.units = 2, .groups = 2};
    expect_time(&c, K "e op cost 1000 ns\n", 4, 2000 * NS);
    expect_too_long(&c, K "e op cost 5000000000000000 ns\n", 4, GRID_LONG); /* two on a unit */
    c.groups = 1;
    expect_too_long(&c, K "e op cost 5000000000000000 ns\n", 4, GRID_LONG); /* two waves */
    c.launch_ns = FAR_MOST;
    expect_too_long(&c, K "e op cost 1 ns\n", 4, GRID_LONG);
    c.launch_ns = FAR_MOST / 1000;
    expect_too_long(&c, K "e op cost 1 ns\n", 2, GRID_LONG); /* a wave and the launch */
    c.launch_ns = FAR_MOST / 1000 - 3;
    expect_too_long(&c, K "e op cost 2 ns\n", 3, GRID_LONG); /* and the tail */
    expect_time(&c, K "e op cost 1 ns\n", 3, (FAR_MOST / 1000 - 1) * NS);
}

/* As many units as 64 bits hold: a wave has them all, and is not full. */
static void grids_of_very_many_units(void **state) {
    (void)state;
    const chip c = {.units = INT64_C(1) << 62, .groups = 2};
    const outcome o = simulate_and_ask(&c, K "e op cost 1 ns\n", FAR_MOST,
                                       "1 wave of 9,223,372,036,854,775,807 in 2.000 ns\n");
    assert_int_equal(o.status, SPAD_OK);
    assert_true(o.has_line);
    assert_int_equal(o.grid.per_unit, 2);
    assert_int_equal(o.grid.waves, 1); /* INT64_MAX blocks in a wave of at least that many */
    assert_int_equal(o.grid.tail, 0);
    assert_int_equal(o.totals.time, 2 * NS);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(products_of_large_operands),
        cmocka_unit_test(rates_of_other_types),
        cmocka_unit_test(elements_of_half_a_byte),
        cmocka_unit_test(threads_and_cycles),
        cmocka_unit_test(bytes_on_paths),
        cmocka_unit_test(latencies_of_paths),
        cmocka_unit_test(operations_on_two_paths),
        cmocka_unit_test(shares_of_the_memory),
        cmocka_unit_test(queues_that_do_not_end),
        cmocka_unit_test(grids_that_take_too_long),
        cmocka_unit_test(grids_of_very_many_units),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
