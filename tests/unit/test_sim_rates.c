/* SPDX-License-Identifier: Apache-2.0
 *
 * Costs from the rates of a target: multiply-adds, elements, paths; latency and occupation; agents
 * that share an engine; where figures come from. Times are exact: the clock is 1 GHz. */
#include <string.h>

#include "sim/sim.h"
#include "sim/sim_report.h"
#include "spad/spad.h"
#include "support/kernels.h"
#include "support/support.h"
#include "target/target.h"

enum { NS = 1000 };

static const char chip_text[] =
    "target chip\n"
    "space shared { bytes 228 KiB }\n"
    "space registers { bytes 256 KiB; thread 1020 }\n"
    "space global { off chip; rate 100 B/ns source \"sheet\"; cache 1 MiB rate 400 B/ns }\n"
    "units 10\n"
    "groups 8\n"
    "engine tensor {\n"
    "    clock 1 GHz source \"a\"\n"
    "    macs 1024 at bf16 source \"b\"\n"
    "    macs 512 at f32 estimate\n"
    "    latency 50 cycles\n"
    "    shortest 8 cycles\n"
    "    reads shared, registers; writes registers\n"
    "}\n"
    "engine simt {\n"
    "    clock 1 GHz\n"
    "    elements 128 fma source \"c\"\n"
    "    elements 16 exp measured \"d\"\n"
    "    threads 128\n"
    "    path shared to registers rate 128 B/cycle latency 30 cycles\n"
    "    path registers to global rate 32 B/ns latency 500 ns\n"
    "    reads shared, registers, global; writes shared, registers, global\n"
    "}\n"
    "engine copy {\n"
    "    path global to shared rate 64 B/ns latency 600 ns source \"e\"\n"
    "    path shared to global rate 64 B/ns latency 600 ns estimate\n"
    "    reads shared, global; writes shared, global\n"
    "}\n"
    "engine plain { reads registers; writes registers }\n";

static spad_target *make_chip(void) {
    spad_target *chip;
    spad_error error;
    if (spad_target_parse(&chip, chip_text, strlen(chip_text), "chip", NULL, NULL, &error) !=
        SPAD_OK) {
        fail_msg("%s", error.message);
    }
    return chip;
}

typedef struct run {
    spad_target *chip;
    spad_kernel *kernel;
    spad_sim *sim;
    spad_sim_totals totals;
} run;

#define TENSORS                                        \
    "kernel k on chip\n"                               \
    "tensor g  : global bf16 [64] (64, 64)\n"          \
    "tensor a  : shared bf16 (128, 64)\n"              \
    "tensor b  : shared bf16 (64, 256)\n"              \
    "tensor ring : shared bf16 [64] (64, 64) ring 8\n" \
    "tensor c  : registers f32 (128, 256)\n"           \
    "tensor p  : registers f32 (128, 64)\n"            \
    "tensor x  : registers f32 (64, 64)\n"             \
    "tensor y  : registers f32 (64, 64)\n"

static run start_run(const char *text) {
    run r = {.chip = make_chip()};
    const spad_kernel_options options = {.target = r.chip};
    spad_error error;
    r.kernel = test_parse_with(text, &options);
    if (spad_sim_create(&r.sim, r.kernel, NULL, &error) != SPAD_OK) fail_msg("%s", error.message);
    assert_null(spad_sim_get_stuck(r.sim));
    r.totals = spad_sim_get_totals(r.sim);
    return r;
}

static void end_run(run *r) {
    spad_sim_destroy(r->sim);
    spad_kernel_destroy(r->kernel);
    spad_target_destroy(r->chip);
}

/* One operation: its occupation, the time from its start to its result, and the whole time. */
static void check_one(const char *operation, int64_t busy, int64_t result, int64_t makespan) {
    char text[2048];
    snprintf(text, sizeof text, "%s%s\n", TENSORS, operation);
    run r = start_run(text);
    const spad__sim_row row = spad__sim_get_row(r.sim, 0);
    if (row.end - row.start != busy || row.done - row.start != result ||
        r.totals.makespan != makespan) {
        fail_msg("%s: busy %lld, result %lld, makespan %lld", operation,
                 (long long)(row.end - row.start), (long long)(row.done - row.start),
                 (long long)r.totals.makespan);
    }
    end_run(&r);
}

static void multiply_adds(void **state) {
    (void)state;
    /* 128 x 64 by 64 x 256: 2097152 multiply-adds */
    check_one("tensor mma reads a, b writes c", 2048 * NS, 2098 * NS, 2098 * NS);
    /* order and further operands make no difference */
    check_one("tensor mma reads b, x, a updates c", 2048 * NS, 2098 * NS, 2098 * NS);
    /* p is f32, b is bf16: multiplied as bf16 */
    check_one("tensor mma reads p, b updates c", 2048 * NS, 2098 * NS, 2098 * NS);
    check_one("tensor mma reads x, y writes x", 512 * NS, 562 * NS, 562 * NS);
    /* parts of tiles */
    check_one("tensor mma reads a(0..64, ..), b(.., 0..64) writes x", 256 * NS, 306 * NS, 306 * NS);
    check_one("tensor mma reads x(0..1, 0..1), y(0..1, 0..1) writes x(0..1, 0..1)", 8 * NS, 58 * NS,
              58 * NS);
}

static void elements_and_work(void **state) {
    (void)state;
    check_one("simt fma updates x", 32 * NS, 32 * NS, 32 * NS);
    check_one("simt exp updates x", 256 * NS, 256 * NS, 256 * NS);
    check_one("simt scale reads y updates x", 32 * NS, 32 * NS, 32 * NS); /* an estimate */
    check_one("simt softmax updates x work 2 fma, 1 exp", 256 * NS, 256 * NS, 256 * NS);
}

static void paths(void **state) {
    (void)state;
    /* 8 KiB at 128 B a cycle, after 30 cycles */
    check_one("simt ld reads ring[0] writes x", 64 * NS, 64 * NS, 94 * NS);
    /* out of registers the bytes at the destination count: half of those of f32 */
    check_one("simt st reads x writes g[0]", 256 * NS, 256 * NS, 756 * NS);
    check_one("copy load reads g[0] writes ring[0]", 128 * NS, 128 * NS, 728 * NS);
    /* with work of its own, what takes longer counts */
    check_one("simt ld reads ring[0] writes x work 1 exp", 256 * NS, 256 * NS, 256 * NS);
    check_one("simt ld reads ring[0] writes x work 1 fma", 64 * NS, 64 * NS, 94 * NS);
}

static void costs_in_the_kernel(void **state) {
    (void)state;
    check_one("tensor mma reads a, b writes c cost 64 cycles latency 600 ns", 64 * NS, 664 * NS,
              664 * NS);
    check_one("tensor mma reads a, b writes c latency 100 cycles", 2048 * NS, 2148 * NS, 2148 * NS);
    check_one("tensor mma reads a, b writes c cost 5 ns", 5 * NS, 5 * NS, 5 * NS);
    check_one("plain op reads x cost 7 cycles latency 3 cycles", 7 * NS, 10 * NS, 10 * NS);
}

static void count_origins(const char *operation, spad_origin origin) {
    char text[2048];
    snprintf(text, sizeof text, "%s%s\n", TENSORS, operation);
    run r = start_run(text);
    for (int i = 0; i < SPAD_ORIGINS; i++) {
        if (r.totals.by_origin[i] != (i == (int)origin)) {
            fail_msg("%s: %lld costs are %s", operation, (long long)r.totals.by_origin[i],
                     spad__origin_name((spad_origin)i));
        }
    }
    assert_int_equal(r.totals.unit, SPAD_TIME_REAL);
    end_run(&r);
}

static void origins(void **state) {
    (void)state;
    count_origins("tensor mma reads a, b writes c", SPAD_ORIGIN_PUBLISHED);
    count_origins("tensor mma reads x, y writes x", SPAD_ORIGIN_ESTIMATE);
    count_origins("simt fma updates x", SPAD_ORIGIN_PUBLISHED);
    count_origins("simt exp updates x", SPAD_ORIGIN_MEASURED);
    count_origins("simt other updates x", SPAD_ORIGIN_ESTIMATE);
    count_origins("simt ld reads ring[0] writes x", SPAD_ORIGIN_STATED);
    count_origins("copy st reads ring[0] writes g[0]", SPAD_ORIGIN_ESTIMATE);
    run r = start_run(TENSORS "simt fma updates x cost 5 ns\nplain op reads x\n"
                              "tensor mma reads a writes c\n" /* no second factor */
                              "simt convert updates x\n"      /* no such rate */
                              "tensor mma reads a, b\n" /* no result */);
    assert_int_equal(r.totals.by_kernel, 1);
    assert_int_equal(r.totals.unknown, 4);
    assert_int_equal(r.totals.unit, SPAD_TIME_MIXED);
    end_run(&r);
}

/* ---- overlap ----------------------------------------------------------------------- */

/* Without synchronisation: a dependent operation waits for the result, another one for the engine.
 */
static void latency_without_synchronisation(void **state) {
    (void)state;
    run r = start_run(TENSORS "tensor mma reads a, b writes c cost 10 ns latency 100 ns\n"
                              "tensor mma reads a, b writes x cost 10 ns latency 100 ns\n");
    assert_int_equal(r.totals.makespan, 120 * NS);
    end_run(&r);
    r = start_run(TENSORS "tensor mma reads a, b writes c cost 10 ns latency 100 ns\n"
                          "tensor mma reads a, b updates c cost 10 ns latency 100 ns\n");
    assert_int_equal(r.totals.makespan, 220 * NS);
    assert_int_equal(spad__sim_get_row(r.sim, 1).kind, SPAD__WAIT_DATA);
    end_run(&r);
}

#define UNIT(order) "unit mma on tensor " order "\n"

/* A unit goes on with the next operation; the group is done when the last result is there. */
static void latency_on_a_unit(void **state) {
    (void)state;
    static const char *const orders[] = {"same proxy", "free", "fifo", "serial"};
    static const int64_t times[] = {120, 120, 120, 220};
    for (size_t i = 0; i < 4; i++) {
        char text[2048];
        snprintf(text, sizeof text,
                 "%sunit mma on tensor %s\ngroup mmas\n"
                 "agent one {\n"
                 "    mma first reads a, b writes c in mmas cost 10 ns latency 100 ns\n"
                 "    mma second reads a, b updates c in mmas cost 10 ns latency 100 ns\n"
                 "    commit mmas\n"
                 "    wait mmas pending 0\n"
                 "    simt store updates x cost 1 ns\n"
                 "}\n",
                 TENSORS, orders[i]);
        run r = start_run(text);
        assert_int_equal(r.totals.makespan, (times[i] + 1) * NS);
        end_run(&r);
    }
}

/* `arrive on UNIT` takes effect with the result, and delays nothing; a drain waits for it. */
static void signals_after_a_latency(void **state) {
    (void)state;
    run r = start_run(
        TENSORS UNIT("same proxy") "mbarrier done count 1\ninit done\nfence\n"
                                   "agent one {\n"
                                   "    mma first reads a, b writes c cost 10 ns latency 100 ns\n"
                                   "    arrive done on mma\n"
                                   "    mma second reads a, b writes x cost 10 ns latency 40 ns\n"
                                   "}\n"
                                   "agent two {\n"
                                   "    wait done parity 0\n"
                                   "    simt op updates y cost 1 ns\n"
                                   "}\n");
    const spad__sim_row second = spad__sim_get_row(r.sim, 1);
    assert_int_equal(second.start, 10 * NS);
    assert_int_equal(second.done, 60 * NS);
    assert_int_equal(spad__sim_get_row(r.sim, 2).start, 110 * NS);
    end_run(&r);
    r = start_run(
        TENSORS UNIT("fifo") "agent one {\n"
                             "    mma first reads a, b writes c cost 10 ns latency 100 ns\n"
                             "    drain mma\n"
                             "    mma second reads a, b writes x cost 10 ns latency 40 ns\n"
                             "    drain all\n"
                             "    simt op updates y cost 1 ns\n"
                             "}\n");
    assert_int_equal(spad__sim_get_row(r.sim, 1).start, 110 * NS);
    assert_int_equal(spad__sim_get_row(r.sim, 2).start, 160 * NS);
    end_run(&r);
}

/* Two agents share the tensor unit: while one waits for its result, the other one occupies it. */
static void agents_share_an_engine(void **state) {
    (void)state;
    run r = start_run(TENSORS "agent one { tensor mma reads a, b updates c cost 30 ns latency 60 "
                              "ns\n tensor mma reads a, b updates c cost 30 ns latency 60 ns }\n"
                              "agent two { tensor mma reads a, b updates x cost 30 ns latency 60 "
                              "ns\n tensor mma reads a, b updates x cost 30 ns latency 60 ns }\n");
    assert_int_equal(r.totals.makespan, 210 * NS); /* 30 + 2 x 90 */
    assert_int_equal(spad__sim_get_engine(r.sim, 0).busy, 120 * NS);
    end_run(&r);
}

/* An agent of 32 threads has a quarter of the SIMT issue, and four of them run side by side. */
static void agents_split_the_issue(void **state) {
    (void)state;
    run r = start_run(TENSORS "agent one of 32 threads { simt fma updates x }\n");
    assert_int_equal(r.totals.makespan, 128 * NS);
    assert_int_equal(spad__sim_get_engine(r.sim, 1).busy, 32 * NS);
    end_run(&r);
    r = start_run(TENSORS "tensor z : registers f32 [4] (64, 64)\n"
                          "agent part[4] as w of 32 threads { simt fma updates z[w] }\n");
    assert_int_equal(r.totals.makespan, 128 * NS);
    assert_int_equal(spad__sim_get_engine(r.sim, 1).busy, 128 * NS);
    end_run(&r);
    r = start_run(TENSORS "agent one of 128 threads { simt fma updates x }\n"
                          "agent two of 256 threads { simt fma updates y }\n");
    assert_int_equal(r.totals.makespan, 64 * NS);
    end_run(&r);
}

/* Paths of an engine are side by side; transfers on one path share its rate, and their latencies
 * overlap. */
static void transfers_share_a_path(void **state) {
    (void)state;
    run r = start_run(TENSORS "unit tma on copy free\ngroup loads\n"
                              "agent one {\n"
                              "    for i in 0..8 { tma load reads g[i] writes ring[i] in loads }\n"
                              "    commit loads\n"
                              "    wait loads pending 0\n"
                              "}\n");
    assert_int_equal(r.totals.makespan, (600 + 8 * 128) * NS);
    assert_int_equal(spad__sim_get_engine_path(r.sim, 2, 0).busy, 1024 * NS);
    assert_int_equal(spad__sim_get_engine_path(r.sim, 2, 0).operations, 8);
    assert_int_equal(spad__sim_get_engine_path(r.sim, 2, 1).operations, 0);
    assert_int_equal(spad__sim_get_engine_path(r.sim, 2, 2).busy, 0);
    assert_int_equal(spad__sim_get_engine_path(r.sim, 9, 0).busy, 0);
    end_run(&r);
    r = start_run(TENSORS "unit tma on copy free\nunit out on copy free\ngroup loads\n"
                          "agent one {\n"
                          "    tma load reads g[0] writes ring[0] in loads\n"
                          "    out store reads ring[1] writes g[1] in loads\n"
                          "    commit loads\n"
                          "    wait loads pending 0\n"
                          "}\n");
    assert_int_equal(r.totals.makespan, 728 * NS);
    end_run(&r);
}

/* Skipping iterations gives what running them gives, with results in flight. */
static void repetition_with_latencies(void **state) {
    (void)state;
    static const char text[] =
        TENSORS "param N = 3000\nunit mma on tensor same proxy\nunit tma on copy free proxy\n"
                "mbarrier full[4] count 1\nmbarrier empty[4] count 1\n"
                "tensor in : shared bf16 [N] (64, 64) ring 4\n"
                "for s in 0..4 { init full[s]; init empty[s] }\nfence\n"
                "agent producer {\n"
                "    for k in 0..N {\n"
                "        wait empty[k % 4] parity (k / 4 + 1) % 2\n"
                "        arrive full[k % 4] expect 8192\n"
                "        tma load reads g[0] writes in[k] delivers full[k % 4]\n"
                "    }\n"
                "}\n"
                "agent consumer {\n"
                "    for k in 0..N {\n"
                "        wait full[k % 4] parity k / 4 % 2\n"
                "        mma mul reads in[k], b updates x cost 40 ns latency 170 ns\n"
                "        arrive empty[k % 4] on mma\n"
                "    }\n"
                "}\n";
    spad_target *chip = make_chip();
    const spad_kernel_options options = {.target = chip};
    spad_kernel *kernel = test_parse_with(text, &options);
    spad_sim *quick;
    spad_sim *slow;
    const spad_sim_options skipping = {.repeat_after = 100};
    const spad_sim_options running = {.no_repeat = true};
    assert_int_equal(spad_sim_create(&quick, kernel, &skipping, NULL), SPAD_OK);
    assert_int_equal(spad_sim_create(&slow, kernel, &running, NULL), SPAD_OK);
    assert_true(quick->repeats.count > 0);
    assert_true(spad__sim_row_count(quick) < 1000);
    const spad_sim_totals a = spad_sim_get_totals(quick);
    const spad_sim_totals b = spad_sim_get_totals(slow);
    assert_int_equal(a.makespan, b.makespan);
    assert_int_equal(a.operations, b.operations);
    assert_int_equal(a.by_kernel, 3000);
    assert_int_equal(a.by_origin[SPAD_ORIGIN_PUBLISHED], 3000);
    for (size_t i = 0; i < 4; i++) {
        assert_int_equal(spad__sim_get_engine(quick, i).busy, spad__sim_get_engine(slow, i).busy);
    }
    spad_sim_destroy(quick);
    spad_sim_destroy(slow);
    spad_kernel_destroy(kernel);
    spad_target_destroy(chip);
}

/* ---- limits ------------------------------------------------------------------------ */

static void times_that_do_not_fit(void **state) {
    (void)state;
    static const char *const operations[] = {
        "copy load reads h writes s",
        "simt ld reads s writes h work 1 fma",
        "simt fma updates h",
        "simt op updates x latency 9223372036854775807 ns cost 1 ns",
        "simt op updates x latency 9223372036854775807 cycles cost 1 ns",
        "simt op updates x cost 9223372036854775 ns latency 9223372036854775 ns",
    };
    for (size_t i = 0; i < sizeof operations / sizeof operations[0]; i++) {
        char text[2048];
        spad_target *chip = make_chip();
        const spad_kernel_options options = {.target = chip};
        spad_sim *sim;
        spad_error error;
        snprintf(text, sizeof text,
                 "%stensor h : global u8 (2305843009213693951)\ntensor s : shared u8 (64)\n%s\n",
                 TENSORS, operations[i]);
        spad_kernel *kernel = test_parse_with(text, &options);
        const spad_status status = spad_sim_create(&sim, kernel, NULL, &error);
        if (status != SPAD_ERR_OVERFLOW) fail_msg("%s: status %d", operations[i], (int)status);
        spad_kernel_destroy(kernel);
        spad_target_destroy(chip);
    }
    /* the root of a product beyond 64 bits is one */
    run r = start_run(TENSORS "tensor big : shared bf16 [4] (1048576, 1048576)\n"
                              "tensor sum : registers f32 (1048576, 1048576)\n"
                              "tensor mma reads big[0], big[1] writes sum\n");
    assert_int_equal(r.totals.makespan, (INT64_C(1) << 50) * NS + 50 * NS);
    end_run(&r);
}

static spad_status simulate(const spad_host *host, void *context) {
    spad_kernel *kernel = context;
    spad_sim *sim;
    const spad_sim_options options = {.host = host};
    const spad_status status = spad_sim_create(&sim, kernel, &options, NULL);
    spad_sim_destroy(sim);
    return status;
}

static void failing_allocations(void **state) {
    (void)state;
    spad_target *chip = make_chip();
    const spad_kernel_options options = {.target = chip};
    spad_kernel *kernel = test_parse_with(
        TENSORS UNIT("same proxy") "mbarrier done count 1\ninit done\nfence\n"
                                   "agent one {\n"
                                   "    mma first reads a, b writes c cost 10 ns latency 100 ns\n"
                                   "    arrive done on mma\n"
                                   "    wait done parity 0\n"
                                   "}\n",
        &options);
    test_fail_each_allocation(simulate, kernel);
    spad_kernel_destroy(kernel);
    spad_target_destroy(chip);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(multiply_adds),
        cmocka_unit_test(elements_and_work),
        cmocka_unit_test(paths),
        cmocka_unit_test(costs_in_the_kernel),
        cmocka_unit_test(origins),
        cmocka_unit_test(latency_without_synchronisation),
        cmocka_unit_test(latency_on_a_unit),
        cmocka_unit_test(signals_after_a_latency),
        cmocka_unit_test(agents_share_an_engine),
        cmocka_unit_test(agents_split_the_issue),
        cmocka_unit_test(transfers_share_a_path),
        cmocka_unit_test(repetition_with_latencies),
        cmocka_unit_test(times_that_do_not_fit),
        cmocka_unit_test(failing_allocations),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
