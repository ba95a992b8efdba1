/* SPDX-License-Identifier: Apache-2.0
 *
 * The simulator on kernels small enough to draw: the statements of the NKI direct
 * allocation guide about one and two physical tiles and about hoisting, the durations of
 * the targets, exclusions, every kind of synchronisation, causes, the critical path, long
 * loops, and all failures.
 */
#include "support/kernels.h"
#include "support/support.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "spad/spad.h"
#include "support/files.h"

typedef struct run {
    spad_kernel *kernel;
    spad_sim *sim;
} run;

static run start_with(const char *text, const spad_kernel_options *shape,
                      const spad_sim_options *options) {
    run r = {.kernel = test_parse_with(text, shape)};
    spad_error error;
    assert_ok(spad_sim_create(&r.sim, r.kernel, options, &error), &error);
    return r;
}

static run start(const char *text) {
    return start_with(text, NULL, NULL);
}

static void stop(run *r) {
    spad_sim_destroy(r->sim);
    spad_kernel_destroy(r->kernel);
}

static int64_t makespan(const run *r) {
    return spad_sim_get_totals(r->sim).makespan;
}

/* Start and end of a row in nanoseconds. */
static void assert_row(const run *r, size_t number, const char *name, int64_t start_ns,
                       int64_t end_ns) {
    const spad_sim_row row = spad_sim_get_row(r->sim, number);
    const spad_statement *s = spad_kernel_get_statement(r->kernel, (size_t)row.statement);
    assert_string_equal(s->name, name);
    assert_int_equal(row.start, start_ns * 1000);
    assert_int_equal(row.end, end_ns * 1000);
}

static int64_t makespan_of(const char *text) {
    run r = start(text);
    const int64_t time = makespan(&r);
    stop(&r);
    return time;
}

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
    const spad_sim_row load = spad_sim_get_row(r.sim, 2);
    assert_int_equal(load.kind, SPAD_WAIT_READER);
    assert_int_equal(load.cause, 1);
    assert_int_equal(load.wait, 100000);
    assert_int_equal(load.tensor, 0);
    assert_int_equal(load.slot, 0);
    assert_int_equal(spad_sim_path_count(r.sim), 32);
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
    const spad_sim_engine scalar = spad_sim_get_engine(r.sim, 2);
    assert_int_equal(scalar.busy, 1600000);
    assert_int_equal(scalar.idle, 100000);
    assert_int_equal(scalar.operations, 16);
    stop(&r);
    assert_int_equal(makespan_of(LOAD_EXP("ring 3")), 1700000);
    assert_int_equal(makespan_of(LOAD_EXP("mod base 0 free 2")), 1700000);
    assert_int_equal(makespan_of(LOAD_EXP("mod base 0 free 1")), 3200000);
}

#define IN_LOOP                                  \
    "kernel in_loop on trn2\n"                   \
    "for i in 0..8 {\n"                          \
    "    tensor t : sbuf bf16 (128, 512) at 0\n" \
    "    dma    load writes t cost 100 ns\n"     \
    "    scalar exp  reads t  cost 100 ns\n"     \
    "}\n"

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
    assert_int_equal(spad_tune_hoist_count(tune), 1);
    const spad_tune_hoist *h = spad_tune_get_hoist(tune, 0);
    assert_int_equal(h->tensor, 0);
    assert_int_equal(h->tiles, 2); /* more give nothing */
    assert_int_equal(h->makespan, 900000);
    assert_int_equal(h->bytes, 128 * 1024);
    spad_tune_destroy(tune);
    spad_kernel_destroy(kernel);
}

/* The tuner does it: the kernel that it writes is as fast as promised, right, and reads the same.
 */
static void tensors_are_hoisted(void **state) {
    (void)state;
    static const struct {
        const char *text;
        const char *declaration; /* in the chosen kernel; NULL: it is only advice */
    } cases[] = {
        {"kernel k on trn2\nfor i in 0..8 {\ntensor t : sbuf bf16 (128, 512) align 64\n"
         "dma load writes t cost 100 ns\nscalar exp reads t cost 100 ns\n}\n",
         "tensor t : sbuf bfloat16 [8] (128, 512) ring 2 align 64\nfor"},
        {"kernel k on trn2\nparam N = 9\nfor j in 0..2 { for i in 1..N {\n"
         "tensor t : sbuf bf16 [2] (128, 512)\n"
         "dma load writes t[j] cost 100 ns\nscalar exp reads t[j] cost 100 ns\n} }\n",
         "tensor t : sbuf bfloat16 [2, N, 2] (128, 512) ring [1, 2, 2]\nfor"},
        /* two of a name */
        {"kernel k on trn2\nfor i in 0..8 {\ntensor t : sbuf bf16 (128, 512)\n"
         "dma load writes t cost 100 ns\nscalar exp reads t cost 100 ns\n}\n"
         "for i in 0..8 {\ntensor t : sbuf bf16 (128, 512)\ndma load writes t cost 100 ns\n"
         "scalar exp reads t cost 100 ns\n}\n",
         NULL},
        {IN_LOOP, NULL},
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        spad_kernel *kernel = test_parse(cases[i].text);
        spad_tune *tune;
        spad_error error;
        test_text text;
        test_text_init(&text);
        assert_ok(spad_tune_create(&tune, kernel, NULL, &error), &error);
        const spad_tune_totals totals = spad_tune_get_totals(tune);
        const spad_tune_hoist *hoist = spad_tune_get_hoist(tune, 0);
        assert_non_null(hoist);
        assert_int_equal(hoist->applied, cases[i].declaration != NULL);
        assert_ok(spad_kernel_write_text(spad_tune_get_chosen(tune), &text.sink, &error), &error);
        if (cases[i].declaration != NULL) {
            assert_non_null(strstr(text.bytes, cases[i].declaration));
            assert_true(totals.makespan < totals.written);
            assert_int_equal(totals.makespan, hoist->makespan);
            assert_int_equal(makespan_of(text.bytes), totals.makespan);
        } else {
            assert_int_equal(totals.makespan, totals.written);
        }
        test_text_free(&text);
        spad_tune_destroy(tune);
        spad_kernel_destroy(kernel);
    }
}

static spad_status hoist_scenario(const spad_host *host, void *context) {
    spad_kernel *kernel;
    const spad_status status = spad_kernel_hoist(&kernel, context, 0, 2, host, NULL);
    spad_kernel_destroy(kernel);
    return status;
}

static void not_everything_can_be_hoisted(void **state) {
    (void)state;
    static const char *const texts[] = {
        "kernel k on trn2\ntensor t : sbuf u8 (128, 4)\nvector w writes t\n",
        "kernel k on trn2\nfor i in 0..2 {\ntensor t : sbuf u8 (128, 4) at 0\nvector w writes "
        "t\n}\n",
        "kernel k on trn2\nfor i in 0..2 {\ntensor t : sbuf u8 (128, 4)\nalloc t\nfree t\n}\n",
        "kernel k on trn2\nfor i in 0..2 {\ntensor t : sbuf u8 (128, 4)\n"
        "tensor u : sbuf u8 (128, 4) alias of t\nvector w writes u\n}\n",
        "kernel k on trn2\nfor i in 0..2 {\ntensor t : sbuf u8 [2, 2] (128, 4) ring 3\n"
        "vector w writes t[0, 0]\n}\n"};
    spad_kernel *hoisted;
    spad_error error;
    for (size_t i = 0; i < sizeof texts / sizeof texts[0]; i++) {
        spad_kernel *kernel = test_parse(texts[i]);
        assert_int_equal(spad_kernel_hoist(&hoisted, kernel, 0, 2, NULL, &error),
                         SPAD_ERR_ARGUMENT);
        assert_string_equal(error.message,
                            "only an auto tensor that is declared in a loop, without aliases, "
                            "alloc and free, can be hoisted");
        assert_null(hoisted);
        spad_kernel_destroy(kernel);
    }
    spad_kernel *kernel = test_parse("kernel k on trn2\nfor i in 0..2 {\n"
                                     "tensor t : sbuf u8 (128, 4)\nvector w writes t\n}\n");
    test_fail_each_allocation(hoist_scenario, kernel);
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
        {"sm_90", "simt nothing", SPAD_SIM_UNKNOWN},
        {"sm_90", "simt nothing cost 7 cycles", 7 * SPAD_SIM_CYCLE},
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
        const spad_sim_row row = spad_sim_get_row(r.sim, spad_sim_row_count(r.sim) - 1);
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
    const spad_sim_row one = spad_sim_get_row(r.sim, 0);
    const spad_sim_row two = spad_sim_get_row(r.sim, 1);
    assert_int_equal(one.start, 1300000);
    assert_int_equal(one.kind, SPAD_WAIT_STARTUP);
    assert_int_equal(two.start, one.end);
    assert_int_equal(two.wait, 0);
    assert_int_equal(two.kind, SPAD_WAIT_NONE);
    stop(&r);
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
    assert_int_equal(spad_sim_get_row(r.sim, 1).kind, SPAD_WAIT_PORT);
    assert_int_equal(spad_sim_get_row(r.sim, 1).blocker, 0);
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
    const spad_sim_row more = spad_sim_get_row(r.sim, 3);
    assert_int_equal(more.wait, 20000);
    assert_int_equal(more.kind, SPAD_WAIT_DATA);
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
            assert_int_equal(spad_sim_repeat_count(r.sim), large);
            if (large) assert_true(spad_sim_row_count(r.sim) < 20000);
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
    assert_string_equal(error.message, "more than 4999 operations, and no loop that repeats "
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
        assert_string_equal(error.message, "more than 20000000 events, and no loop that repeats "
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

/* ---- synchronisation --------------------------------------------------------------- */

#define AGENTS "kernel k on sm_90\n"

/* A barrier starts anew when it is complete: what was contributed beyond its count is gone. */
static void barriers_start_anew(void **state) {
    (void)state;
    run r = start(AGENTS "barrier b count 2\nagent p { arrive b by 3\n sync b }\n"
                         "agent q { simt op cost 5 ns }\n");
    assert_non_null(spad_sim_get_stuck(r.sim));
    stop(&r);
}

/* Order and queue of a unit are per agent: what one agent waits for there holds up no other, and
 * `drain all` waits for what the agent has issued itself. */
static void queues_are_per_agent(void **state) {
    (void)state;
    static const char *const texts[] = {AGENTS "unit u on copy fifo\ncounter c\n"
                                               "agent p { wait c >= 1 on u\n u first cost 5 ns }\n"
                                               "agent q { u second signals c cost 5 ns }\n",
                                        AGENTS
                                        "unit u on copy fifo\ncounter c\n"
                                        "agent p { wait c >= 1 on u\n u first cost 5 ns }\n"
                                        "agent q { u second cost 5 ns\n drain all\n signal c }\n"};
    for (size_t i = 0; i < sizeof texts / sizeof texts[0]; i++) {
        run r = start(texts[i]);
        assert_null(spad_sim_get_stuck(r.sim));
        assert_row(&r, 0, "second", 0, 5);
        assert_row(&r, 1, "first", 5, 10);
        stop(&r);
    }
}

/* Queues are long, but not a reason to be stuck: more is issued before what the unit waits for. */
static void full_queues_are_no_deadlock(void **state) {
    (void)state;
    run r = start(AGENTS "unit u on copy fifo\ncounter c\nagent p {\n wait c >= 1 on u\n"
                         " for i in 0..5000 { u op cost 1 ns }\n signal c }\nagent q { }\n");
    assert_null(spad_sim_get_stuck(r.sim));
    assert_int_equal(spad_sim_get_totals(r.sim).operations, 5000);
    stop(&r);
}

static void barriers_release_all(void **state) {
    (void)state;
    run r =
        start(AGENTS "barrier all count 3\n"
                     "agent a { simt one cost 10 ns\nsync all\nsimt two cost 5 ns }\n"
                     "agent b { tensor three cost 30 ns\nsync all by 1\ntensor four cost 5 ns }\n"
                     "agent c { copy five cost 20 ns\narrive all\ncopy six cost 1 ns }\n"
                     "simt seven cost 1 ns\n");
    assert_row(&r, 3, "six", 20, 21);
    assert_row(&r, 4, "two", 30, 35);
    assert_row(&r, 5, "four", 30, 35);
    assert_row(&r, 6, "seven", 35, 36);
    const spad_sim_row two = spad_sim_get_row(r.sim, 4);
    assert_int_equal(two.kind, SPAD_WAIT_SYNC);
    assert_int_equal(two.object, 0);
    assert_int_equal(two.wait, 20000);
    assert_int_equal(two.cause, 1); /* three */
    assert_int_equal(two.agent, 1);
    stop(&r);
}

static void counters_count(void **state) {
    (void)state;
    run r = start(AGENTS "counter c = 1\ncounter d\n"
                         "agent a { simt one cost 10 ns signals c by 2\nsimt two cost 10 ns\n"
                         "          signal d }\n"
                         "agent b { take c\ntensor three cost 3 ns\ntake c by 2\n"
                         "          tensor four cost 3 ns\nwait d >= 1\ntensor five cost 3 ns }\n");
    assert_row(&r, 1, "three", 0, 3);
    assert_row(&r, 3, "four", 10, 13);
    assert_row(&r, 4, "five", 20, 23);
    stop(&r);
}

/* The example of docs/kernel.md: full and empty, four stages. */
static void mbarriers_have_phases(void **state) {
    (void)state;
#define RING(stages)                                                      \
    AGENTS "param S = " stages "\nparam KT = 6\nunit tma on copy free\n"  \
           "mbarrier full[S] count 1\nmbarrier empty[S] count 1\n"        \
           "tensor sa : shared fp16 [KT] (128, 64) ring S\n"              \
           "for s in 0..S { init full[s]; init empty[s] }\n"              \
           "agent producer { for k in 0..KT {\n"                          \
           "    wait empty[k % S] parity (k / S + 1) % 2\n"               \
           "    arrive full[k % S] expect 16 KiB\n"                       \
           "    tma load writes sa[k] delivers full[k % S] cost 100 ns\n" \
           "} }\n"                                                        \
           "agent consumer { for k in 0..KT {\n"                          \
           "    wait full[k % S] parity k / S % 2\n"                      \
           "    tensor mma reads sa[k] cost 100 ns\n"                     \
           "    arrive empty[k % S]\n"                                    \
           "} }\n"
    assert_int_equal(makespan_of(RING("1")), 1200000);
    assert_int_equal(makespan_of(RING("2")), 700000);
    assert_int_equal(makespan_of(RING("4")), 700000);
}

static void groups_bound_what_is_pending(void **state) {
    (void)state;
    run r = start(AGENTS "unit cp on copy free\ngroup g\n"
                         "for i in 0..3 { cp load cost 10 ns in g\ncommit g }\n"
                         "wait g pending 1\nsimt one cost 1 ns\nwait g pending 0\n"
                         "simt two cost 1 ns\ncommit g\nwait g pending 0\nsimt three cost 1 ns\n");
    assert_row(&r, 2, "one", 20, 21);
    assert_row(&r, 3, "load", 20, 30);
    assert_row(&r, 4, "two", 30, 31);
    assert_row(&r, 5, "three", 31, 32);
    assert_int_equal(spad_sim_get_row(r.sim, 4).cause, 3);
    stop(&r);
}

static void units_queue_their_waits(void **state) {
    (void)state;
    run r = start("kernel k on 910b\nunit mte2 fifo\nunit vector fifo\ncounter f\n"
                  "mte2 load cost 10 ns\nsignal f on mte2\nmte2 more cost 10 ns\n"
                  "take f on vector\nvector add cost 5 ns\nvector mul cost 5 ns\n"
                  "drain vector\ndrain all\nscalar last cost 1 ns\n");
    assert_row(&r, 0, "load", 0, 10);
    assert_row(&r, 1, "more", 10, 20);
    assert_row(&r, 2, "add", 10, 15);
    assert_row(&r, 3, "mul", 15, 20);
    assert_row(&r, 4, "last", 20, 21);
    const spad_sim_row add = spad_sim_get_row(r.sim, 2);
    assert_int_equal(add.kind, SPAD_WAIT_SYNC);
    assert_int_equal(add.cause, 0);
    stop(&r);
}

/* Two agents want the same engine: the one that is ready first has it, then the other. */
static void engines_are_shared_in_turn(void **state) {
    (void)state;
    run r = start(AGENTS "agent a { copy x cost 5 ns\ntensor one cost 10 ns }\n"
                         "agent b { simt y cost 4 ns\ntensor two cost 10 ns }\n");
    assert_row(&r, 2, "two", 4, 14);
    assert_row(&r, 3, "one", 14, 24);
    const spad_sim_row one = spad_sim_get_row(r.sim, 3);
    assert_int_equal(one.queued, 9000);
    assert_int_equal(one.blocker, 2);
    assert_int_equal(one.wait, 0);
    stop(&r);
}

/* What is too much for a phase is lost: no sum can be too large. */
static void too_many_contributions_are_lost(void **state) {
    (void)state;
    static const char *const texts[] = {
        "kernel k on trn2\nparam M = 9223372036854775807\nbarrier b count M\n"
        "agent p { arrive b by M - 1; arrive b by M }\nagent q { sync b by M }\n",
        "kernel k on trn2\nmbarrier m count 1\nparam M = 9223372036854775807\ninit m\n"
        "unit u on dma serial\nagent p { arrive m by M; u op arrives m by M }\n"
        "agent q { wait m parity 1 }\n",
    };
    for (size_t i = 0; i < sizeof texts / sizeof texts[0]; i++) {
        run r = start(texts[i]);
        assert_null(spad_sim_get_stuck(r.sim));
        stop(&r);
    }
}

/* Bytes that were delivered before: the phase is complete when they are expected. */
static void an_expectation_can_complete_a_phase(void **state) {
    (void)state;
    run r = start(
        AGENTS "unit u on copy free\nmbarrier m count 1\ninit m\nu op delivers m by 8 cost 1 ns\n"
               "drain all\narrive m\nexpect m by 8\nwait m parity 0\nsimt op cost 1 ns\n");
    assert_null(spad_sim_get_stuck(r.sim));
    assert_int_equal(spad_sim_get_totals(r.sim).makespan, 2000);
    stop(&r);
}

static void deadlocks_are_named(void **state) {
    (void)state;
    static const struct {
        const char *text;
        const char *message;
    } cases[] = {
        {AGENTS "barrier all[2] count 2\nagent a { simt op cost 7 ns\nsync all[1] }\nagent b { }\n",
         "deadlock at 7 ns: 'a' waits for barrier 'all[1]', where 1 of 2 have arrived (line 4)"},
        {AGENTS "counter c = 1\ntake c by 2\n",
         "deadlock at 0 ns: 'main' waits for counter 'c' to be 2, which is 1 (line 3)"},
        {AGENTS "mbarrier m count 2\ninit m\narrive m expect 64\nwait m parity 0\n",
         "deadlock at 0 ns: 'main' waits for parity 0 of mbarrier 'm', where 1 arrivals and 64 "
         "bytes are missing (line 5)"},
        {AGENTS "mbarrier m count 1\narrive m\nwait m parity 0\n",
         "deadlock at 0 ns: 'main' waits for parity 0 of mbarrier 'm', which is not initialised "
         "(line 4)"},
        {"kernel k on 910b\nunit vector fifo\ncounter c\ntake c on vector\nvector op\n",
         "deadlock at 0 ns: 'vector' waits for counter 'c' to be 1, which is 0 (line 4)"},
        {"kernel k on 910b\nunit vector fifo\ncounter c\ntake c on vector\ndrain all\n",
         "deadlock at 0 ns: 'main' waits for a drain (line 5)"},
        {AGENTS "unit cp on copy free\nunit q on copy fifo\ngroup g\ncounter c\n"
                "take c on cp\ncp load in g\ncommit g\nwait g pending 0\n",
         "deadlock at 0 ns: 'main' waits for group 'g' (line 9)"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        run r = start(cases[i].text);
        assert_non_null(spad_sim_get_stuck(r.sim));
        assert_string_equal(spad_sim_get_stuck(r.sim), cases[i].message);
        stop(&r);
    }
    spad_kernel *kernel = test_parse(cases[1].text);
    spad_tune *tune;
    spad_error error;
    assert_int_equal(spad_tune_create(&tune, kernel, NULL, &error), SPAD_ERR_ARGUMENT);
    assert_string_equal(error.message, "kernel 'k' is deadlocked; `spad sim` shows where");
    spad_kernel_destroy(kernel);
}

/* ---- the kernels that we ship ------------------------------------------------------ */

/* Everything a result promises about itself. */
static void assert_consistent(const run *r) {
    const spad_sim_totals t = spad_sim_get_totals(r->sim);
    const size_t engines = spad_kernel_get_target(r->kernel)->engine_count;
    assert_null(spad_sim_get_stuck(r->sim));
    for (size_t e = 0; e < engines; e++) {
        const spad_sim_engine engine = spad_sim_get_engine(r->sim, e);
        assert_true(engine.idle >= 0 && engine.busy <= t.bound);
        assert_int_equal(engine.busy + engine.idle, t.makespan);
    }
    assert_true(t.bound <= t.makespan);
    int64_t before = 0;
    for (size_t i = 0; i < spad_sim_path_count(r->sim); i++) {
        const spad_sim_row row = spad_sim_get_row(r->sim, spad_sim_get_path(r->sim, i));
        assert_true(row.start >= before);
        before = row.end;
    }
    if (spad_sim_path_count(r->sim) > 0) assert_int_equal(before, t.makespan);
    for (size_t i = 1; i < spad_sim_wait_count(r->sim); i++) {
        assert_true(spad_sim_get_wait(r->sim, i)->total <= spad_sim_get_wait(r->sim, i - 1)->total);
    }
    assert_null(spad_sim_get_wait(r->sim, spad_sim_wait_count(r->sim)));
    assert_null(spad_sim_get_repeat(r->sim, spad_sim_repeat_count(r->sim)));
    assert_int_equal(spad_sim_get_path(r->sim, spad_sim_path_count(r->sim)), SIZE_MAX);
    assert_int_equal(spad_sim_get_row(r->sim, spad_sim_row_count(r->sim)).statement, -1);
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
        assert_int_equal(spad_sim_write_text(r.sim, &shown.sink, NULL), SPAD_OK);
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

static spad_status tune_on(const spad_host *host, void *context) {
    spad_kernel *kernel = context;
    const spad_tune_options options = {.depth_most = 2, .host = host};
    spad_tune *tune;
    spad_error error;
    const spad_status status = spad_tune_create(&tune, kernel, &options, &error);
    spad_tune_destroy(tune);
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

static void every_allocation_of_the_tuner_may_fail(void **state) {
    (void)state;
    spad_kernel *kernel = test_parse("kernel k on trn2\n"
                                     "tensor x : sbuf bf16 [4] (128, 16) ring 1\n"
                                     "for i in 0..4 {\n"
                                     "    tensor t : sbuf bf16 (128, 16)\n"
                                     "    dma load writes x[i] cost 10 ns\n"
                                     "    scalar exp reads x[i] writes t cost 10 ns\n"
                                     "    vector mul reads t cost 10 ns\n"
                                     "}\n");
    test_fail_each_allocation(tune_on, kernel);
    spad_kernel_destroy(kernel);
}

static void a_broken_sink_is_reported(void **state) {
    (void)state;
    run r = start(LOAD_EXP("ring 2"));
    test_text text;
    test_text_init(&text);
    text.fail_after = 100;
    assert_int_equal(spad_sim_write_text(r.sim, &text.sink, NULL), SPAD_ERR_IO);
    assert_int_equal(spad_sim_write_json(r.sim, &text.sink, NULL), SPAD_ERR_IO);
    spad_tune *tune;
    assert_int_equal(spad_tune_create(&tune, r.kernel, NULL, NULL), SPAD_OK);
    assert_int_equal(spad_tune_write_text(tune, &text.sink, NULL), SPAD_ERR_IO);
    assert_int_equal(spad_tune_write_json(tune, &text.sink, NULL), SPAD_ERR_IO);
    spad_tune_destroy(tune);
    test_text_free(&text);
    stop(&r);
}

static void names_are_complete(void **state) {
    (void)state;
    for (int kind = 0; kind < SPAD_WAIT_KINDS; kind++) {
        assert_string_not_equal(spad_wait_kind_name((spad_wait_kind)kind), "?");
    }
    assert_string_equal(spad_wait_kind_name(SPAD_WAIT_KINDS), "?");
    assert_string_equal(spad_wait_kind_name(SPAD_WAIT_READER), "reader");
    assert_string_equal(spad_wait_kind_name(SPAD_WAIT_ISSUE), "issue");
}

/* ---- the tuner --------------------------------------------------------------------- */

static void rings_that_would_be_wrong_are_not_chosen(void **state) {
    (void)state;
    /* both tiles of a pair are alive at once: one slot is too few */
    spad_kernel *kernel = test_parse("kernel k on trn2\n"
                                     "tensor x : sbuf bf16 [8] (128, 16) ring 4\n"
                                     "for i in 0..4 {\n"
                                     "    dma one writes x[2 * i] cost 1 ns\n"
                                     "    dma two writes x[2 * i + 1] cost 1 ns\n"
                                     "    vector add reads x[2 * i], x[2 * i + 1] cost 1 ns\n"
                                     "}\n");
    spad_tune *tune;
    spad_error error;
    assert_ok(spad_tune_create(&tune, kernel, NULL, &error), &error);
    assert_int_equal(spad_tune_knob_count(tune), 1);
    const spad_tune_knob *knob = spad_tune_get_knob(tune, 0);
    assert_string_equal(knob->name, "x");
    assert_int_equal(knob->values[0], 2);
    assert_int_equal(knob->written, 4);
    assert_true(knob->chosen >= 2);
    spad_tune_destroy(tune);
    spad_kernel_destroy(kernel);
}

static int64_t planned_makespan(const spad_kernel *kernel) {
    spad_layout *layout;
    spad_sim *sim;
    spad_error error;
    assert_ok(spad_layout_create(&layout, kernel, NULL, &error), &error);
    const spad_sim_options options = {.layout = layout};
    assert_ok(spad_sim_create(&sim, kernel, &options, &error), &error);
    const int64_t makespan = spad_sim_get_totals(sim).makespan;
    spad_sim_destroy(sim);
    spad_layout_destroy(layout);
    return makespan;
}

#define TWO_OF_EACH                                \
    "tensor in  : hbm bf16 [2] (128, 512) input\n" \
    "tensor out : hbm bf16 [2] (128, 512) output\n"

/* The planner lets tensors share bytes, and then one waits for the other: what is chosen is the
 * fastest with its places, and never slower there than the kernel as it is. */
static void depths_are_compared_with_their_places(void **state) {
    (void)state;
    static const struct {
        const char *text;
        int64_t written, written_planned, makespan, planned;
        int64_t depths[2];
    } cases[] = {
        /* of all depths with one makespan, not the fewest bytes: y and x would share them */
        {"kernel k on trn2\n" TWO_OF_EACH "tensor x : sbuf bf16 [8] (128, 512) ring 2\n"
         "tensor y : sbuf bf16 [8] (128, 512) ring 2 input\n"
         "dma l1 reads in[0] writes y[1]\ndma s1 reads y[1] writes out[0]\n"
         "dma l2 reads in[1] writes x[2]\ndma s2 reads x[2] writes out[1]\n",
         3668522,
         3668522,
         3668522,
         3668522,
         {1, 2}},
        /* both slots are on the same bytes, so a second gives nothing */
        {"kernel k on trn2\n" TWO_OF_EACH "tensor x : sbuf bf16 [2] (128, 512) ring 2\n"
         "dma load reads in[0] writes x[0]\ndma store reads x[0] writes out[0]\n"
         "dma load reads in[1] writes x[1]\ndma store reads x[1] writes out[1]\n",
         3668522,
         6624696,
         6624696,
         6624696,
         {1, 0}},
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        spad_kernel *kernel = test_parse(cases[i].text);
        spad_tune *tune;
        spad_error error;
        assert_ok(spad_tune_create(&tune, kernel, NULL, &error), &error);
        const spad_tune_totals totals = spad_tune_get_totals(tune);
        assert_int_equal(totals.written, cases[i].written);
        assert_int_equal(totals.written_planned, cases[i].written_planned);
        assert_int_equal(totals.makespan, cases[i].makespan);
        assert_int_equal(totals.planned, cases[i].planned);
        assert_int_equal(planned_makespan(spad_tune_get_chosen(tune)), totals.planned);
        for (size_t k = 0; k < spad_tune_knob_count(tune); k++) {
            assert_int_equal(spad_tune_get_knob(tune, k)->chosen, cases[i].depths[k]);
        }
        const size_t last = spad_tune_point_count(tune) - 1; /* the fastest of the frontier */
        assert_int_equal(spad_tune_get_point(tune, last)->planned, totals.planned);
        assert_int_equal(spad_tune_get_point(tune, last)->bytes, totals.bytes);
        spad_tune_destroy(tune);
        spad_kernel_destroy(kernel);
    }
}

#define LOAD_EXP_STORE                              \
    "kernel k on trn2\nparam N = 8\n"               \
    "tensor in  : hbm bf16 [8] (128, 512) input\n"  \
    "tensor out : hbm bf16 [8] (128, 512) output\n" \
    "for i in 0..N {\n"                             \
    "    tensor a : sbuf bf16 (128, 512)\n"         \
    "    tensor b : sbuf bf16 (128, 512)\n"         \
    "    dma    load  reads in[i] writes a\n"       \
    "    scalar exp   reads a writes b\n"           \
    "    dma    store reads b writes out[i]\n"      \
    "}\n"

/* Two tensors help each other: depths are searched again when both are in front of the loop, and
 * tuning what was tuned finds nothing more. It runs for no iterations too. */
static void depths_are_searched_again_after_hoisting(void **state) {
    (void)state;
    spad_kernel *kernel = test_parse(LOAD_EXP_STORE);
    spad_tune *tune;
    spad_tune *again;
    spad_error error;
    assert_ok(spad_tune_create(&tune, kernel, NULL, &error), &error);
    const spad_tune_totals totals = spad_tune_get_totals(tune);
    assert_int_equal(spad_tune_hoist_count(tune), 2);
    assert_int_equal(spad_tune_knob_count(tune), 2);
    for (size_t i = 0; i < 2; i++) {
        const spad_tune_knob *knob = spad_tune_get_knob(tune, i);
        const spad_tune_hoist *hoist = spad_tune_get_hoist(tune, i);
        assert_true(hoist->applied);
        assert_int_equal(knob->tensor, 2 + (int64_t)i); /* of the kernel that was given */
        assert_ptr_equal(knob->name, spad_kernel_get_tensor(kernel, 2 + i)->name);
        assert_int_equal(knob->written, 1);
        assert_int_equal(knob->chosen, i == 0 ? 5 : 3);
        assert_int_equal(hoist->tensor, knob->tensor);
        assert_int_equal(hoist->tiles, knob->chosen);
        assert_int_equal(hoist->bytes, (knob->chosen - 1) * 128 * 1024);
    }
    assert_ok(spad_tune_create(&again, spad_tune_get_chosen(tune), NULL, &error), &error);
    assert_int_equal(spad_tune_get_totals(again).planned, totals.planned);
    assert_int_equal(spad_tune_get_totals(again).bytes, totals.bytes);
    spad_tune_destroy(again);

    const spad_define none = {"N", 0};
    const spad_kernel_options options = {.defines = &none, .define_count = 1};
    spad_kernel *empty;
    assert_ok(spad_kernel_reshape(&empty, spad_tune_get_chosen(tune), &options, &error), &error);
    spad_kernel_destroy(empty);
    spad_tune_destroy(tune);
    spad_kernel_destroy(kernel);
}

/* In a kernel with synchronisation the parameter is tuned, and barriers come along. */
static void parameters_are_tuned_where_barriers_depend_on_them(void **state) {
    (void)state;
    spad_kernel *kernel = test_parse(RING("4"));
    spad_tune *tune;
    spad_error error;
    assert_ok(spad_tune_create(&tune, kernel, NULL, &error), &error);
    assert_int_equal(spad_tune_knob_count(tune), 1);
    const spad_tune_knob *knob = spad_tune_get_knob(tune, 0);
    assert_int_equal(knob->kind, SPAD_KNOB_PARAM);
    assert_string_equal(knob->name, "S");
    assert_int_equal(knob->chosen, 2);
    assert_int_equal(spad_tune_get_totals(tune).makespan, 700000);
    assert_int_equal(spad_tune_point_count(tune), 2); /* 1 and 2 */
    assert_int_equal(spad_kernel_get_param(spad_tune_get_chosen(tune), 0)->value, 2);
    assert_null(spad_tune_get_knob(tune, 1));
    assert_null(spad_tune_get_point(tune, 2));
    assert_null(spad_tune_get_hoist(tune, 0));
    spad_tune_destroy(tune);
    spad_kernel_destroy(kernel);
}

/* 212984 bytes a lane: three tiles of 64 KiB fit, and the best that fits is taken. */
static void what_does_not_fit_is_not_chosen(void **state) {
    (void)state;
#define WIDE(bytes)                                     \
    "kernel k on trn2\n"                                \
    "tensor x : sbuf u8 [16] (128, " bytes ") ring 1\n" \
    "for i in 0..16 {\n"                                \
    "    dma load writes x[i] cost 10 ns\n"             \
    "    vector a reads x[i] cost 10 ns\n"              \
    "    scalar b reads x[i] cost 10 ns\n"              \
    "    gpsimd c reads x[i] cost 40 ns\n"              \
    "}\n"
    spad_kernel *kernel = test_parse(WIDE("65536"));
    spad_tune *tune;
    spad_error error;
    assert_ok(spad_tune_create(&tune, kernel, NULL, &error), &error);
    assert_int_equal(spad_tune_get_knob(tune, 0)->chosen, 2);
    assert_true(spad_tune_get_totals(tune).written_fits);
    spad_tune_destroy(tune);
    spad_kernel_destroy(kernel);

    kernel = test_parse(WIDE("150000"));
    assert_ok(spad_tune_create(&tune, kernel, NULL, &error), &error);
    assert_int_equal(spad_tune_get_knob(tune, 0)->chosen, 1);
    assert_false(spad_tune_get_point(tune, spad_tune_point_count(tune) - 1)->fits);
    spad_tune_destroy(tune);
    spad_kernel_destroy(kernel);

    kernel = test_parse(WIDE("250000"));
    assert_ok(spad_tune_create(&tune, kernel, NULL, &error), &error);
    assert_null(spad_tune_get_chosen(tune));
    assert_false(spad_tune_get_totals(tune).written_fits);
    assert_int_equal(spad_tune_get_totals(tune).makespan, SPAD_UNBOUNDED);
    spad_tune_options options = {.depth_most = -1};
    spad_tune *none;
    assert_int_equal(spad_tune_create(&none, kernel, &options, &error), SPAD_ERR_ARGUMENT);
    assert_string_equal(error.message, "a limit of -1 is negative");
    spad_tune_destroy(tune);
    spad_kernel_destroy(kernel);
}

/* ---- too much ---------------------------------------------------------------------- */

/* Many rings, and more to run than allowed: it ends, with something that fits. */
static void a_search_ends(void **state) {
    (void)state;
    char text[16384] = "kernel k on trn2\n";
    for (int i = 0; i < 70; i++) {
        char more[200];
        snprintf(more, sizeof more,
                 "tensor t%d : sbuf u8 [9] (128, 4) ring 2\n"
                 "for i in 0..9 { dma l writes t%d[i]; vector r reads t%d[i] }\n",
                 i, i, i);
        strcat(text, more);
    }
    spad_kernel *kernel = test_parse(text);
    const spad_tune_options options = {.depth_most = 2, .operations_most = 20000};
    spad_tune *tune;
    spad_error error;
    test_text out;
    test_text_init(&out);
    assert_ok(spad_tune_create(&tune, kernel, &options, &error), &error);
    const spad_tune_totals totals = spad_tune_get_totals(tune);
    assert_true(totals.cut);
    assert_int_equal(totals.left, 6);
    assert_int_equal(spad_tune_knob_count(tune), SPAD_TUNE_KNOBS);
    assert_true(totals.operations < 30000);
    assert_non_null(spad_tune_get_chosen(tune));
    assert_true(totals.makespan <= totals.written);
    assert_ok(spad_tune_write_text(tune, &out.sink, &error), &error);
    assert_non_null(strstr(out.bytes, "there is too much to run\nleft       6 rings as they are"));
    test_text_free(&out);
    spad_tune_destroy(tune);
    spad_kernel_destroy(kernel);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(one_tile_serialises),
        cmocka_unit_test(two_tiles_overlap),
        cmocka_unit_test(hoisting_helps),
        cmocka_unit_test(tensors_are_hoisted),
        cmocka_unit_test(not_everything_can_be_hoisted),
        cmocka_unit_test(durations_are_those_of_the_target),
        cmocka_unit_test(start_ups_overlap),
        cmocka_unit_test(ports_are_shared_on_v2),
        cmocka_unit_test(bytes_decide),
        cmocka_unit_test(transfers_overtake),
        cmocka_unit_test(a_billion_iterations_are_exact),
        cmocka_unit_test(limits_are_kept),
        cmocka_unit_test(long_times_overflow),
        cmocka_unit_test(there_is_an_end),
        cmocka_unit_test(barriers_start_anew),
        cmocka_unit_test(queues_are_per_agent),
        cmocka_unit_test(full_queues_are_no_deadlock),
        cmocka_unit_test(barriers_release_all),
        cmocka_unit_test(counters_count),
        cmocka_unit_test(mbarriers_have_phases),
        cmocka_unit_test(groups_bound_what_is_pending),
        cmocka_unit_test(units_queue_their_waits),
        cmocka_unit_test(engines_are_shared_in_turn),
        cmocka_unit_test(too_many_contributions_are_lost),
        cmocka_unit_test(an_expectation_can_complete_a_phase),
        cmocka_unit_test(deadlocks_are_named),
        cmocka_unit_test(all_examples_run_to_their_end),
        cmocka_unit_test(every_allocation_may_fail),
        cmocka_unit_test(every_allocation_of_the_tuner_may_fail),
        cmocka_unit_test(a_broken_sink_is_reported),
        cmocka_unit_test(names_are_complete),
        cmocka_unit_test(rings_that_would_be_wrong_are_not_chosen),
        cmocka_unit_test(depths_are_compared_with_their_places),
        cmocka_unit_test(depths_are_searched_again_after_hoisting),
        cmocka_unit_test(parameters_are_tuned_where_barriers_depend_on_them),
        cmocka_unit_test(what_does_not_fit_is_not_chosen),
        cmocka_unit_test(a_search_ends),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
