/* SPDX-License-Identifier: Apache-2.0
 *
 * The simulator on kernels small enough to draw: the statements of the NKI direct
 * allocation guide about one and two physical tiles and about hoisting, the durations of
 * the targets, exclusions, causes, the critical path, long loops, and all failures.
 */
#include "sim/sim.h"
#include "sim/sim_report.h"
#include "sim/tune.h"
#include "sim_fixture.h"
#include "target/target.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "support/files.h"

/* ---- the guide --------------------------------------------------------------------- */

#define LOAD_EXP(ring)                                \
    "kernel load_exp on trn2\n"                       \
    "tensor t : sbuf bf16 [16] (128, 512) " ring "\n" \
    "for i in 0..16 parallel {\n"                     \
    "    dma    load writes t[i] cost 100 ns\n"       \
    "    scalar exp  reads t[i]  cost 100 ns\n"       \
    "}\n"

/* One tile: 1. load 2. exp 3. load 4. exp ... */
static void one_tile_serialises(void **state) {
    (void)state;
    run r = start(LOAD_EXP("ring 1"));
    for (size_t i = 0; i < 16; i++) {
        const int64_t t = (int64_t)i * 200;
        assert_row(&r, 2 * i, "load", t, t + 100);
        assert_row(&r, 2 * i + 1, "exp", t + 100, t + 200);
    }
    assert_int_equal(makespan(&r), 3200000);
    /* and this is why: every load but the first waits until exp has read */
    const spad__sim_row load = spad__sim_get_row(r.sim, 2);
    assert_int_equal(load.kind, SPAD__WAIT_READER);
    assert_int_equal(load.cause, 1);
    assert_int_equal(load.wait, 100000);
    assert_int_equal(load.tensor, 0);
    assert_int_equal(load.slot, 0);
    assert_int_equal(spad__sim_path_count(r.sim), 32);
    stop(&r);
}

/* Two: step s has load(s) into one tile beside exp(s - 1) from the other. */
static void two_tiles_overlap(void **state) {
    (void)state;
    run r = start(LOAD_EXP("ring 2"));
    for (size_t i = 0; i < 16; i++) {
        const int64_t t = (int64_t)i * 100;
        assert_row(&r, 2 * i, "load", t, t + 100);
        assert_row(&r, 2 * i + 1, "exp", t + 100, t + 200);
    }
    assert_int_equal(makespan(&r), 1700000);
    const spad__sim_engine scalar = spad__sim_get_engine(r.sim, 2);
    assert_int_equal(scalar.busy, 1600000);
    assert_int_equal(scalar.idle, 100000);
    assert_int_equal(scalar.operations, 16);
    stop(&r);
    assert_int_equal(makespan_of(LOAD_EXP("ring 3")), 1700000);
    assert_int_equal(makespan_of(LOAD_EXP("mod base 0 free 2")), 1700000);
    assert_int_equal(makespan_of(LOAD_EXP("mod base 0 free 1")), 3200000);
}

/* A tensor that is declared in the loop has one live tile; in front of it, it has eight. */
static void hoisting_helps(void **state) {
    (void)state;
    assert_int_equal(makespan_of(IN_LOOP), 1600000);
    const char *hoisted = "kernel hoisted on trn2\n"
                          "tensor t : sbuf bf16 [8] (128, 512) mod base 0 free 8\n"
                          "for i in 0..8 {\n"
                          "    dma    load writes t[i] cost 100 ns\n"
                          "    scalar exp  reads t[i]  cost 100 ns\n"
                          "}\n";
    assert_int_equal(makespan_of(hoisted), 900000);
    const spad_define hoist = {"t", 8};
    const spad_sim_options options = {.hoists = &hoist, .hoist_count = 1};
    run r = start_with(IN_LOOP, NULL, &options);
    assert_int_equal(makespan(&r), 900000);
    stop(&r);

    spad_kernel *kernel = test_parse(IN_LOOP);
    spad_tune *tune;
    spad_error error;
    assert_ok(spad_tune_create(&tune, kernel, NULL, &error), &error);
    assert_int_equal(spad_tune_knob_count(tune), 0); /* an address: it is not done */
    assert_int_equal(tune->hoists.count, 1);
    const spad__tune_hoist *h = &tune->hoists.items[0];
    assert_int_equal(h->tensor, 0);
    assert_int_equal(h->tiles, 2); /* more give nothing */
    assert_int_equal(h->makespan, 900000);
    assert_int_equal(h->bytes, 128 * 1024);
    spad_tune_destroy(tune);
    spad_kernel_destroy(kernel);
}

/* ---- durations --------------------------------------------------------------------- */

/* The figures of the nki.isa reference, the architecture guides and the DMA guide. */
static void durations_are_those_of_the_target(void **state) {
    (void)state;
    static const struct {
        const char *target;
        const char *statements;
        int64_t picoseconds; /* of the last operation */
    } cases[] = {
        /* 128 x 128 x 512 bf16: 512 cycles of 2.8 and 2.4 GHz; fp32 takes four times that */
        {"trn1", "tensor m reads a(.., 0..128), a writes p", 182858},
        {"trn2", "tensor m reads a(.., 0..128), a writes p", 213334},
        {"trn2", "tensor m reads f(.., 0..128), f writes p", 853334},
        /* activation of 512: 366 ns and 427 ns; never under 64 cycles */
        {"trn1", "scalar exp reads a writes b", 365715},
        {"trn2", "scalar exp reads a writes b", 426667},
        {"trn2", "scalar exp reads a(.., 0..8) writes b(.., 0..8)", 53334},
        {"trn2", "scalar exp reads a(0..4, ..) writes b(0..4, ..)", 426667}, /* lanes are free */
        /* vector copies of 512: N / 4 in bf16, N / 2 from PSUM; a reduction reads all of it */
        {"trn2", "vector c reads a writes b", 133334},
        {"trn2", "vector c reads p writes b", 266667},
        {"trn2", "vector sum reads a writes b(.., 0)", 133334},
        /* an element of 64 bits counts as two of 32: 512 cycles, and 256 for half of the bytes */
        {"trn2", "vector c reads w writes w", 533334},
        {"trn2", "vector c reads f writes f", 266667},
        {"trn3", "scalar exp reads a writes b", 213334}, /* 256 a cycle */
        /* 128 KiB over 16 engines of 23 B/ns; 8 lanes over one of them */
        {"trn2", "dma load reads h writes a", 356174},
        {"trn2", "dma load reads h(0..8, ..) writes a(0..8, ..)", 356174},
        {"trn1", "dma load reads h writes a", 481883},
        {"trn2", "scalar exp writes b cost 12 cycles", 10000},
        {"trn2", "scalar exp writes b cost 12 ns", 12000},
        {"trn2", "\"sync\" nothing", SPAD_SIM_UNKNOWN},
        {"sm_103", "simt nothing", SPAD_SIM_UNKNOWN},
        {"sm_103", "simt nothing cost 7 cycles", 7 * SPAD_SIM_CYCLE},
        /* one that reads what the one before it wrote takes 100 cycles more */
        {"trn2", "scalar one writes a\nscalar two reads a writes b", 426667 + 83334},
        {"trn2", "scalar one writes a\nscalar two updates a", 426667},
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        char text[1024];
        const bool neuron = strncmp(cases[i].target, "trn", 3) == 0;
        snprintf(text, sizeof text, "kernel k on %s\n%s%s\n", cases[i].target,
                 neuron ? "tensor a : sbuf bf16 (128, 512)\ntensor b : sbuf bf16 (128, 512)\n"
                          "tensor f : sbuf f32 (128, 512)\ntensor w : sbuf i64 (128, 512)\ntensor "
                          "p : psum f32 (128, 512)\n"
                          "tensor h : hbm bf16 (128, 512) input\n"
                        : "",
                 cases[i].statements);
        run r = start(text);
        const spad__sim_row row = spad__sim_get_row(r.sim, spad__sim_row_count(r.sim) - 1);
        if (row.end - row.start != cases[i].picoseconds) print_error("%s\n", text);
        assert_int_equal(row.end - row.start, cases[i].picoseconds);
        assert_int_equal(spad_sim_get_totals(r.sim).unknown,
                         cases[i].picoseconds == SPAD_SIM_UNKNOWN);
        stop(&r);
    }
}

/* A start-up delays its transfer, not the engine: the second hides after the first. */
static void start_ups_overlap(void **state) {
    (void)state;
    run r = start("kernel k on trn2\n"
                  "tensor a : sbuf bf16 [2] (128, 512)\n"
                  "for i in 0..2 { dma load writes a[i] }\n");
    const spad__sim_row one = spad__sim_get_row(r.sim, 0);
    const spad__sim_row two = spad__sim_get_row(r.sim, 1);
    assert_int_equal(one.start, 1300000);
    assert_int_equal(one.kind, SPAD__WAIT_STARTUP);
    assert_int_equal(two.start, one.end);
    assert_int_equal(two.wait, 0);
    assert_int_equal(two.kind, SPAD__WAIT_NONE);
    stop(&r);
}

/* What was written last decides whether an operation depends on the one before it on its engine,
 * also where tensors share bytes. */
static void old_bytes_are_no_dependence(void **state) {
    (void)state;
#define SHARED(address)                                            \
    "kernel k on trn2\n"                                           \
    "tensor a : sbuf bf16 (128, 64) at 0\n"                        \
    "tensor b : sbuf bf16 (128, 32) at " address "\n"              \
    "tensor c : sbuf bf16 (128, 32) at 512\nvector one writes a\n" \
    "scalar two writes b cost 1000 ns\nvector three reads b writes c\n"
    run apart = start(SHARED("1024"));
    run shared = start(SHARED("0"));
    const spad__sim_row a = spad__sim_get_row(apart.sim, 2);
    const spad__sim_row b = spad__sim_get_row(shared.sim, 2);
    assert_int_equal(a.end - a.start, b.end - b.start);
    stop(&apart);
    stop(&shared);
    /* and it does depend on what is left of it */
    run part = start("kernel k on trn2\ntensor a : sbuf bf16 (128, 64) at 0\n"
                     "tensor b : sbuf bf16 (128, 32) at 0\ntensor c : sbuf bf16 (128, 64) at 512\n"
                     "vector one writes a\nscalar two writes b\nvector three reads a writes c\n");
    const spad__sim_row c = spad__sim_get_row(part.sim, 2);
    assert_true(c.end - c.start > a.end - a.start);
    stop(&part);
}

/* ---- engines ----------------------------------------------------------------------- */

/* v2: vector and gpsimd share the port to SBUF, vector and scalar that to PSUM. */
static void ports_are_shared_on_v2(void **state) {
    (void)state;
#define TWO(target, one, two)                                                                  \
    "kernel k on " target "\ntensor a : sbuf bf16 (128, 64)\ntensor b : sbuf bf16 (128, 64)\n" \
    "tensor p : psum f32 (128, 64)\ntensor q : psum f32 (128, 64)\n" one " cost 10 ns\n" two   \
    " cost 10 ns\n"
    run r = start(TWO("trn1", "vector one writes a", "gpsimd two writes b"));
    assert_row(&r, 1, "two", 10, 20);
    assert_int_equal(spad__sim_get_row(r.sim, 1).kind, SPAD__WAIT_PORT);
    assert_int_equal(spad__sim_get_row(r.sim, 1).blocker, 0);
    stop(&r);
    assert_int_equal(makespan_of(TWO("trn2", "vector one writes a", "gpsimd two writes b")), 10000);
    assert_int_equal(makespan_of(TWO("trn1", "vector one writes p", "gpsimd two writes b")), 10000);
    assert_int_equal(makespan_of(TWO("trn1", "scalar one writes p", "vector two writes q")), 20000);
    assert_int_equal(makespan_of(TWO("trn1", "scalar one writes a", "vector two writes q")), 10000);
}

/* Bytes decide: halves of a tile do not meet, and two names of the same bytes do. */
static void bytes_decide(void **state) {
    (void)state;
#define BYTES(one, two)                                          \
    "kernel k on trn2\ntensor a : sbuf bf16 (128, 4, 64) at 0\n" \
    "tensor b : sbuf bf16 (128, 64) at 64\n"                     \
    "vector one " one " cost 10 ns\nscalar two " two " cost 10 ns\n"
    assert_int_equal(makespan_of(BYTES("writes a(0..64, .., ..)", "writes a(64..128, .., ..)")),
                     10000);
    assert_int_equal(makespan_of(BYTES("writes a(.., .., 0..32)", "reads a(.., .., 32..64)")),
                     10000);
    assert_int_equal(makespan_of(BYTES("writes a(.., .., 0..33)", "reads a(.., .., 32..64)")),
                     20000);
    assert_int_equal(makespan_of(BYTES("writes a(.., 0, 0..32)", "writes b")), 10000);
    assert_int_equal(makespan_of(BYTES("writes a(.., 0, 0..33)", "writes b")), 20000);
    assert_int_equal(makespan_of(BYTES("reads a(.., 1, ..)", "writes b")), 20000);
    assert_int_equal(makespan_of(BYTES("reads a(.., 1, ..)", "reads b")), 10000);
}

/* A ready transfer overtakes one that waits; those of one statement stay in order. */
static void transfers_overtake(void **state) {
    (void)state;
    run r = start("kernel k on trn2\n"
                  "tensor a : sbuf bf16 (128, 64)\ntensor b : sbuf bf16 (128, 64)\n"
                  "tensor h : hbm bf16 (128, 64) output\n"
                  "scalar exp   writes a cost 50 ns\n"
                  "dma    store reads a writes h cost 10 ns\n"
                  "dma    load  writes b cost 20 ns\n"
                  "dma    more  reads b cost 40 ns\n");
    assert_row(&r, 1, "store", 50, 60);
    assert_row(&r, 2, "load", 0, 20);
    assert_row(&r, 3, "more", 60, 100); /* 30 ns until the store are too few */
    const spad__sim_row more = spad__sim_get_row(r.sim, 3);
    assert_int_equal(more.wait, 20000);
    assert_int_equal(more.kind, SPAD__WAIT_DATA);
    assert_int_equal(more.queued, 40000);
    assert_int_equal(more.blocker, 1);
    stop(&r);
}

/* ---- long loops -------------------------------------------------------------------- */

static void a_billion_iterations_are_exact(void **state) {
    (void)state;
    const char *text = "kernel k on trn2\nparam N = 16\n"
                       "tensor x : sbuf bf16 [N] (128, 512) ring 3\n"
                       "tensor h : hbm bf16 [N] (128, 512) output\n"
                       "for i in 0..N {\n"
                       "    if i % 5 == 0 { gpsimd odd reads x[i] cost 3 ns }\n"
                       "    dma    load  writes x[i] cost 70 ns\n"
                       "    scalar exp   updates x[i] cost 100 ns\n"
                       "    if i < N - 1 { vector all reads x[i] cost 40 ns }\n"
                       "    dma    store reads x[i] writes h[i] cost 10 ns\n"
                       "}\n";
    for (int64_t rest = 0; rest < 16; rest++) {
        int64_t times[2];
        for (int large = 0; large < 2; large++) {
            const spad_define define = {"N", (large ? INT64_C(1000000005) : 5000) / 15 * 15 + rest};
            const spad_kernel_options shape = {.defines = &define, .define_count = 1};
            const spad_sim_options all = {.no_repeat = true};
            run r = start_with(text, &shape, large ? NULL : &all);
            times[large] = makespan(&r);
            const spad_sim_totals t = spad_sim_get_totals(r.sim);
            assert_int_equal(t.operations, 4 * define.value - 1 + (define.value + 4) / 5);
            assert_int_equal(r.sim->repeats.count, large);
            if (large) assert_true(spad__sim_row_count(r.sim) < 20000);
            stop(&r);
        }
        /* the scalar engine is never idle once it has begun */
        assert_int_equal(times[1] - times[0], (INT64_C(1000000005) - 5010 + 15) / 15 * 15 * 100000);
    }
}

static void limits_are_kept(void **state) {
    (void)state;
    const char *text = "kernel k on trn2\nparam N = 5000\n"
                       "tensor x : sbuf bf16 [N] (128, 2)\n"
                       "for i in 0..N { vector op writes x[i * 7 % N] cost 1 ns }\n";
    spad_kernel *kernel = test_parse(text);
    spad_error error;
    spad_sim *sim;
    spad_sim_options options = {.operation_limit = 4999};
    assert_int_equal(spad_sim_create(&sim, kernel, &options, &error), SPAD_ERR_ARGUMENT);
    assert_null(sim);
    assert_string_equal(error.message, "more than 4,999 operations, and no loop that repeats "
                                       "itself; define smaller parameters");
    options.operation_limit = 5000;
    assert_ok(spad_sim_create(&sim, kernel, &options, &error), &error);
    spad_sim_destroy(sim);
    options.operation_limit = -2;
    assert_int_equal(spad_sim_create(&sim, kernel, &options, &error), SPAD_ERR_ARGUMENT);
    assert_string_equal(error.message, "a limit of -2 operations is negative");
    spad_define hoist = {"x", 2};
    options = (spad_sim_options){.hoists = &hoist, .hoist_count = 1};
    assert_int_equal(spad_sim_create(&sim, kernel, &options, &error), SPAD_ERR_UNKNOWN);
    assert_string_equal(error.message, "no tensor 'x' is declared in a loop");
    spad_kernel_destroy(kernel);

    kernel = test_parse(IN_LOOP);
    hoist = (spad_define){"t", 0};
    assert_int_equal(spad_sim_create(&sim, kernel, &options, &error), SPAD_ERR_ARGUMENT);
    assert_string_equal(error.message, "tensor 't' cannot be hoisted to fewer than one tile");
    spad_kernel_destroy(kernel);

    kernel = test_parse("kernel k on trn2\nunit queue on dma serial\nqueue op\n");
    assert_int_equal(spad_sim_create(&sim, kernel, &options, &error), SPAD_ERR_ARGUMENT);
    assert_string_equal(error.message, "kernel 'k' has synchronisation: its tensors cannot be "
                                       "hoisted, because that does not adjust it");
    spad_kernel_destroy(kernel);

    kernel = test_parse("kernel k on sm_90\ncounter many[9223372036854775807]\ncounter c\n"
                        "agent p { signal c }\nagent q { take c }\n");
    assert_int_equal(spad_sim_create(&sim, kernel, NULL, &error), SPAD_ERR_ARGUMENT);
    assert_string_equal(error.message, "there are more than 1000000 synchronisation objects with "
                                       "'many'; define a smaller parameter");
    spad_kernel_destroy(kernel);
}

static void long_times_overflow(void **state) {
    (void)state;
    static const struct {
        const char *text;
        const char *message;
    } cases[] = {
        {"kernel k on trn2\nvector op cost 9300000000000000 ns\n",
         "operation 'op' takes more than 2^63 picoseconds"},
        {"kernel k on trn2\nfor i in 0..3 { vector op cost 4000000000000000 ns }\n",
         "the kernel takes more than 2^63 picoseconds or operations; define smaller parameters"},
        {"kernel k on trn2\nparam N = 9000000000000000000\n"
         "for i in 0..N { vector op cost 1 ns }\n",
         "the kernel takes more than 2^63 picoseconds or operations; define smaller parameters"},
        {"kernel k on trn2\nunit u on vector serial\nfor i in 0..3 { u op cost 4000000000000000 ns "
         "}\n",
         "the kernel takes more than 2^63 picoseconds or operations; define smaller parameters"},
        {"kernel k on trn2\ncounter c\nparam N = 4611686018427387904\n"
         "agent a { for i in 0..N { vector op cost 0 ns; vector op cost 0 ns } }\n"
         "agent b { for i in 0..N { scalar op cost 0 ns } }\n",
         "the kernel takes more than 2^63 picoseconds or operations; define smaller parameters"},
        {"kernel k on trn2\ncounter c\nparam M = 9223372036854775807\n"
         "agent a { signal c by M; signal c }\nagent b { wait c >= M }\n",
         "the amounts at 'c' do not fit 64 bits; use smaller ones"},
        {"kernel k on trn2\nmbarrier m count 1\nparam M = 9223372036854775807\ninit m\n"
         "agent p { expect m by M; expect m by M }\nagent q { wait m parity 0 }\n",
         "the amounts at 'm' do not fit 64 bits; use smaller ones"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        spad_kernel *kernel = test_parse(cases[i].text);
        spad_sim *sim;
        spad_error error;
        assert_int_equal(spad_sim_create(&sim, kernel, NULL, &error), SPAD_ERR_OVERFLOW);
        assert_string_equal(error.message, cases[i].message);
        assert_true(error.line > 0);
        spad_kernel_destroy(kernel);
    }
}

/* Loops without operations end, too; and a timeout is a cut. */
static void there_is_an_end(void **state) {
    (void)state;
    static const char *const texts[] = {
        "kernel k on trn2\nparam N = 1000000000000\nfor i in 0..N { if i == N - 1 { vector op } "
        "}\n",
        "kernel k on trn2\nparam N = 1000000000000\ncounter c\nfor i in 0..N { signal c }\n"};
    for (size_t i = 0; i < sizeof texts / sizeof texts[0]; i++) {
        spad_kernel *kernel = test_parse(texts[i]);
        const spad_sim_options options = {.timeout_ns = 1};
        spad_sim *sim;
        spad_error error;
        assert_int_equal(spad_sim_create(&sim, kernel, NULL, &error), SPAD_ERR_ARGUMENT);
        assert_string_equal(error.message, "more than 20,000,000 events, and no loop that repeats "
                                           "itself; define smaller parameters");
        assert_int_equal(spad_sim_create(&sim, kernel, &options, &error), SPAD_ERR_TIME);
        assert_string_equal(error.message, "time is up after 0 operations; allow more, or define "
                                           "smaller parameters");
        const spad_sim_options negative = {.timeout_ns = -1};
        assert_int_equal(spad_sim_create(&sim, kernel, &negative, &error), SPAD_ERR_ARGUMENT);
        assert_string_equal(error.message, "a timeout of -1 ns is negative");
        spad_kernel_destroy(kernel);
    }
}

/* Two vector cores work side by side: neither is busy for longer than the kernel takes. */
static void units_of_an_engine_work_for_several_agents(void **state) {
    (void)state;
    spad_kernel *kernel =
        test_parse("kernel k on 910b\ntensor a : ub f32 (64)\ntensor b : ub[1] f32 (64)\n"
                   "agent v { for i in 0..4 { vector w writes a cost 100 ns } }\n"
                   "agent u { for i in 0..3 { vector w writes b cost 100 ns } }\n");
    spad_sim *sim;
    spad_error error;
    size_t vector;
    assert_ok(spad__target_find_engine(&vector, spad_kernel_get_target(kernel), "vector", &error),
              &error);
    assert_ok(spad_sim_create(&sim, kernel, NULL, &error), &error);
    assert_int_equal(spad_sim_get_totals(sim).makespan, 400000);
    assert_int_equal(spad__sim_get_engine(sim, vector).busy, 350000);
    assert_int_equal(spad__sim_get_engine(sim, vector).idle, 50000);
    assert_int_equal(spad_sim_get_totals(sim).bound, 350000);
    spad_sim_destroy(sim);
    spad_kernel_destroy(kernel);
}

/* ---- the kernels that we ship ------------------------------------------------------ */

/* Everything a result promises about itself. */
static void assert_consistent(const run *r) {
    const spad_sim_totals t = spad_sim_get_totals(r->sim);
    const size_t engines = spad_kernel_get_target(r->kernel)->engine_count;
    assert_null(spad_sim_get_stuck(r->sim));
    for (size_t e = 0; e < engines; e++) {
        const spad__sim_engine engine = spad__sim_get_engine(r->sim, e);
        assert_true(engine.idle >= 0 && engine.busy <= t.bound);
        assert_int_equal(engine.busy + engine.idle, t.makespan);
    }
    assert_true(t.bound <= t.makespan);
    int64_t before = 0;
    for (size_t i = 0; i < spad__sim_path_count(r->sim); i++) {
        const spad__sim_row row = spad__sim_get_row(r->sim, spad__sim_get_path(r->sim, i));
        assert_true(row.start >= before);
        before = row.end;
    }
    if (spad__sim_path_count(r->sim) > 0) assert_int_equal(before, t.makespan);
    for (size_t i = 1; i < r->sim->waits.count; i++) {
        assert_true(r->sim->waits.items[i].total <= r->sim->waits.items[i - 1].total);
    }
    assert_int_equal(spad__sim_get_path(r->sim, spad__sim_path_count(r->sim)), SIZE_MAX);
    assert_int_equal(spad__sim_get_row(r->sim, spad__sim_row_count(r->sim)).statement, -1);
}

static void assert_narrow(const char *text) {
    for (const char *line = text; *line != '\0';) {
        const char *end = strchr(line, '\n');
        assert_non_null(end);
        if (end - line > 80) print_error("%.*s\n", (int)(end - line), line);
        assert_true(end - line <= 80);
        line = end + 1;
    }
}

static void all_examples_run_to_their_end(void **state) {
    (void)state;
    test_files files;
    test_list_kernels(&files, TEST_KERNELS);
    assert_true(files.count >= 24);
    for (size_t i = 0; i < files.count; i++) {
        char path[512];
        test_text shown;
        snprintf(path, sizeof path, TEST_KERNELS "/%s", files.names[i]);
        char *text = test_read_file(path);
        run r = start(text);
        assert_consistent(&r);
        test_text_init(&shown);
        assert_int_equal(spad_sim_write(r.sim, SPAD_FORMAT_TEXT, &shown.sink, NULL), SPAD_OK);
        assert_narrow(shown.bytes);
        test_text_free(&shown);
        stop(&r);
        free(text);
    }
}

/* ---- host memory and sinks --------------------------------------------------------- */

static const char implicit_text[] = "kernel k on trn1\nparam N = 3000\n"
                                    "tensor x : sbuf bf16 [N] (128, 16) ring 2\n"
                                    "tensor y : sbuf bf16 [N] (128, 16) mod base 4096 free 2\n"
                                    "tensor z : sbuf bf16 (128, 16) at 4096\n"
                                    "tensor h : hbm bf16 [N] (128, 16) output\n"
                                    "for i in 0..N {\n"
                                    "    dma load writes x[i]\nvector a reads x[i] writes y[i]\n"
                                    "    gpsimd b reads y[i], z\ndma store reads y[i] writes h[i]\n"
                                    "}\n";

static const char explicit_text[] =
    "kernel k on sm_90\nunit tma on copy free\ngroup g\nbarrier all count 2\nmbarrier m count 1\n"
    "agent a { for i in 0..40 { tma load in g\ncommit g\nwait g pending 1 }\nsync all }\n"
    "agent b { simt op arrives m\nwait m parity 0\nsync all }\n";

static spad_status simulate_on(const spad_host *host, void *context) {
    spad_kernel *kernel = context;
    const spad_sim_options options = {.repeat_after = 1, .host = host};
    spad_sim *sim;
    spad_error error;
    const spad_status status = spad_sim_create(&sim, kernel, &options, &error);
    spad_sim_destroy(sim);
    return status;
}

static void every_allocation_may_fail(void **state) {
    (void)state;
    spad_kernel *kernel = test_parse(implicit_text);
    test_fail_each_allocation(simulate_on, kernel);
    spad_kernel_destroy(kernel);
    kernel = test_parse(explicit_text);
    test_fail_each_allocation(simulate_on, kernel);
    spad_kernel_destroy(kernel);
}

static void a_broken_sink_is_reported(void **state) {
    (void)state;
    run r = start(LOAD_EXP("ring 2"));
    test_text text;
    test_text_init(&text);
    text.fail_after = 100;
    assert_int_equal(spad_sim_write(r.sim, SPAD_FORMAT_TEXT, &text.sink, NULL), SPAD_ERR_IO);
    assert_int_equal(spad_sim_write(r.sim, SPAD_FORMAT_JSON, &text.sink, NULL), SPAD_ERR_IO);
    spad_tune *tune;
    assert_int_equal(spad_tune_create(&tune, r.kernel, NULL, NULL), SPAD_OK);
    assert_int_equal(spad_tune_write(tune, SPAD_FORMAT_TEXT, &text.sink, NULL), SPAD_ERR_IO);
    assert_int_equal(spad_tune_write(tune, SPAD_FORMAT_JSON, &text.sink, NULL), SPAD_ERR_IO);
    spad_tune_destroy(tune);
    test_text_free(&text);
    stop(&r);
}

static void names_are_complete(void **state) {
    (void)state;
    for (int kind = 0; kind < SPAD__WAIT_KINDS; kind++) {
        assert_string_not_equal(spad__wait_kind_name((spad__wait_kind)kind), "?");
    }
    assert_string_equal(spad__wait_kind_name(SPAD__WAIT_KINDS), "?");
    assert_string_equal(spad__wait_kind_name(SPAD__WAIT_READER), "reader");
    assert_string_equal(spad__wait_kind_name(SPAD__WAIT_ISSUE), "issue");
}

/* Without figures there is no time: the unit of a result follows from the kinds of its costs. */
static void the_unit_follows_the_costs(void **state) {
    (void)state;
    static const struct {
        const char *target, *first, *second;
        spad_time_unit unit;
        const char *text;  /* the makespan */
        const char *badge; /* NULL: a real time */
    } cases[] = {
        {"sm_103", "", "", SPAD_TIME_STEPS, "6,000 steps",
         "6,000 of 6,000 costs assumed: steps, not time"},
        {"sm_103", "cost 5 cycles", "cost 2 cycles", SPAD_TIME_CYCLES, "21,000 cycles",
         "6,000 of 6,000 costs without a clock: cycles, not time"},
        {"sm_103", "cost 5 ns", "cost 2 ns", SPAD_TIME_REAL, "21.000 us", NULL},
        {"sm_103", "cost 5 ns", "", SPAD_TIME_MIXED, "~3.015 ms",
         "3,000 of 6,000 costs assumed, at 1 us: not a real time"},
        {"sm_103", "cost 5 ns", "cost 2 cycles", SPAD_TIME_MIXED, "~21.000 us",
         "3,000 of 6,000 costs assumed, at 1 ns a cycle: not a real time"},
        {"sm_103", "cost 5 cycles", "", SPAD_TIME_MIXED, "~3.015 ms",
         "6,000 of 6,000 costs assumed, at 1 us or 1 ns a cycle: not a real time"},
        {"trn1", "cost 14 cycles", "cost 14 cycles", SPAD_TIME_REAL, "60.000 us", NULL},
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        const char *engine = strcmp(cases[i].target, "sm_103") == 0 ? "simt" : "scalar";
        char text[256];
        char field[SPAD_BADGE_TEXT];
        snprintf(text, sizeof text, "kernel k on %s\nfor i in 0..3000 {\n%s a %s\n%s b %s\n}\n",
                 cases[i].target, engine, cases[i].first, engine, cases[i].second);
        for (int all = 0; all < 2; all++) { /* extrapolated operations count, too */
            const spad_sim_options options = {.no_repeat = all != 0, .repeat_after = 64};
            run r = start_with(text, NULL, &options);
            const spad_sim_totals totals = spad_sim_get_totals(r.sim);
            char time[SPAD_TIME_TEXT];
            assert_int_equal(totals.unit, cases[i].unit);
            assert_string_equal(spad_time_unit_text(totals.unit, totals.makespan, time),
                                cases[i].text);
            const char *badge = spad_sim_badge_text(&totals, field);
            if (cases[i].badge == NULL) {
                assert_null(badge);
            } else {
                assert_string_equal(badge, cases[i].badge);
            }
            stop(&r);
        }
    }
}

static void units_have_words(void **state) {
    (void)state;
    char field[SPAD_TIME_TEXT];
    assert_string_equal(spad_time_unit_text(SPAD_TIME_STEPS, SPAD_SIM_UNKNOWN, field), "1 step");
    assert_string_equal(spad_time_unit_text(SPAD_TIME_STEPS, 322580, field), "0.322 steps");
    assert_string_equal(spad_time_unit_text(SPAD_TIME_STEPS, 0, field), "0 steps");
    assert_string_equal(spad_time_unit_text(SPAD_TIME_CYCLES, SPAD_SIM_CYCLE, field), "1 cycle");
    assert_string_equal(spad_time_unit_text(SPAD_TIME_CYCLES, 2500, field), "2.500 cycles");
    assert_string_equal(spad_time_unit_name(SPAD_TIME_REAL), "time");
    assert_string_equal(spad_time_unit_name(SPAD_TIME_MIXED), "mixed");
    assert_string_equal(spad_time_unit_name(SPAD_TIME_CYCLES), "cycles");
    assert_string_equal(spad_time_unit_name(SPAD_TIME_STEPS), "steps");
    assert_string_equal(spad_time_unit_name(SPAD_TIME_UNITS), "?");
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(one_tile_serialises),
        cmocka_unit_test(two_tiles_overlap),
        cmocka_unit_test(hoisting_helps),
        cmocka_unit_test(durations_are_those_of_the_target),
        cmocka_unit_test(start_ups_overlap),
        cmocka_unit_test(old_bytes_are_no_dependence),
        cmocka_unit_test(ports_are_shared_on_v2),
        cmocka_unit_test(bytes_decide),
        cmocka_unit_test(transfers_overtake),
        cmocka_unit_test(a_billion_iterations_are_exact),
        cmocka_unit_test(limits_are_kept),
        cmocka_unit_test(long_times_overflow),
        cmocka_unit_test(there_is_an_end),
        cmocka_unit_test(units_of_an_engine_work_for_several_agents),
        cmocka_unit_test(all_examples_run_to_their_end),
        cmocka_unit_test(every_allocation_may_fail),
        cmocka_unit_test(a_broken_sink_is_reported),
        cmocka_unit_test(names_are_complete),
        cmocka_unit_test(the_unit_follows_the_costs),
        cmocka_unit_test(units_have_words),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
