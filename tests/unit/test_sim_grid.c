/* SPDX-License-Identifier: Apache-2.0
 *
 * Grids: occupancy, waves, tails, shares of the memory; registers of threads; what bounds a kernel;
 * the words of the kernel language for it. The clock is 1 GHz. */
#include <stdio.h>
#include <string.h>

#include "kernel/kernel.h"
#include "kernel/kernel_builder.h"
#include "layout/occupancy.h"
#include "sim/sim_report.h"
#include "spad/spad.h"
#include "support/kernels.h"
#include "support/support.h"

enum { NS = 1000 };

static const char chip_text[] =
    "target chip\n"
    "units 10\n"
    "groups 8\n"
    "limits { warp 32; registers 65536; unit_threads 1024; register_step 256 }\n"
    "space shared { bytes 100 KiB; reserved 1 KiB }\n"
    "space registers { bytes 256 KiB; thread 1020 }\n"
    "space global { off chip; rate 100 B/ns estimate; cache 1 MiB rate 400 B/ns }\n"
    "engine simt {\n"
    "    clock 1 GHz source \"s\"\n"
    "    elements 64 fma source \"s\"\n"
    "    reads shared, registers, global; writes shared, registers, global\n"
    "}\n"
    "engine copy {\n"
    "    path global to shared rate 64 B/ns source \"s\"\n"
    "    reads global; writes shared\n"
    "}\n"
    "engine tensor { reads shared; writes registers }\n";

typedef struct run {
    spad_target *chip;
    spad_kernel *kernel;
} run;

static run start_run(const char *text) {
    run r;
    spad_error error;
    if (spad_target_parse(&r.chip, chip_text, strlen(chip_text), "chip", NULL, NULL, &error) !=
        SPAD_OK) {
        fail_msg("%s", error.message);
    }
    const spad_kernel_options options = {.target = r.chip};
    r.kernel = test_parse_with(text, &options);
    return r;
}

static void end_run(run *r) {
    spad_kernel_destroy(r->kernel);
    spad_target_destroy(r->chip);
}

static spad_sim *simulate(const run *r, int64_t grid) {
    spad_sim *sim;
    spad_error error;
    const spad_sim_options options = {.grid = grid};
    if (spad_sim_create(&sim, r->kernel, &options, &error) != SPAD_OK)
        fail_msg("%s", error.message);
    return sim;
}

/* A block of 40 KiB: two on a unit. It loads 6400 bytes, 100 ns alone, and works 64 ns on them. */
#define BLOCK(more)                                \
    "kernel k on chip\n"                           \
    "tensor g : global u8 (6400) input " more "\n" \
    "tensor s : shared u8 (40000)\n"               \
    "tensor x : registers f32 (64, 64)\n"          \
    "copy load reads g writes s(0..6400)\n"        \
    "simt fma reads s(0..4096) updates x\n"

static void waves_and_tails(void **state) {
    (void)state;
    run r = start_run(BLOCK(""));
    static const struct {
        int64_t blocks, waves, tail, per_unit, time;
    } cases[] = {
        /* alone: 100 + 64; ten units share 100 B/ns: 640 + 64 */
        {1, 0, 1, 1, 164},
        {5, 0, 5, 1, 320 + 64},
        {10, 1, 0, 1, 704},
        /* two on a unit: the path is busy for both, twice 640 */
        {20, 1, 0, 2, 1280},
        {40, 2, 0, 2, 2560},
        {41, 2, 1, 2, 2560 + 164},
        {35, 1, 15, 2, 1280 + 1280},
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        spad_sim *sim = simulate(&r, cases[i].blocks);
        const spad__sim_grid g = spad__sim_get_grid(sim);
        if (g.waves != cases[i].waves || g.tail != cases[i].tail ||
            g.per_unit != cases[i].per_unit ||
            spad_sim_get_totals(sim).time != cases[i].time * NS) {
            fail_msg("%lld blocks: %lld waves, %lld, %lld on a unit, %lld ps",
                     (long long)cases[i].blocks, (long long)g.waves, (long long)g.tail,
                     (long long)g.per_unit, (long long)spad_sim_get_totals(sim).time);
        }
        assert_int_equal(g.occupancy.limit, SPAD__OCCUPANCY_SPACE);
        assert_int_equal(g.occupancy.blocks, 2);
        spad_sim_destroy(sim);
    }
    end_run(&r);
}

/* Two blocks on a unit, each in ten steps: 100 ns of an engine, then 60 ns of its own. */
#define STEPS(more)                                                       \
    "kernel k on chip\n"                                                  \
    "tensor g : global u8 (4000) input reused 1000\n"                     \
    "tensor s : shared u8 (40000)\n"                                      \
    "group loads\n"                                                       \
    "unit cp on copy free\n"                                              \
    "agent a of 128 threads {\n"                                          \
    "    for i in 0..10 {\n" more "        tensor multiply cost 100 ns\n" \
    "        simt go_on cost 0 ns latency 60 ns\n"                        \
    "    }\n"                                                             \
    "}\n"
#define AND_WAIT                                           \
    "        cp load reads g writes s(0..4000) in loads\n" \
    "        commit loads\n"                               \
    "        wait loads pending 0\n"

/* Blocks that do not wait for memory take as long as if they did the same at the same time: 200 ns
 * of the engine for both, then 60 ns. Those that wait for memory, 100 ns in each step, fill each
 * other's waiting. */
static void blocks_in_step(void **state) {
    (void)state;
    static const struct {
        const char *text;
        int64_t alone, wave;
    } cases[] = {
        {STEPS(""), 10 * 160, 10 * 260},
        /* the second is 100 ns later, and does 10 steps of 260 ns from there on */
        {STEPS(AND_WAIT), 10 * 260, 100 + 10 * 260},
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        run r = start_run(cases[i].text);
        spad_sim *alone = simulate(&r, 10);
        spad_sim *both = simulate(&r, 20);
        assert_int_equal(spad__sim_get_grid(both).per_unit, 2);
        assert_int_equal(spad__sim_get_grid(alone).wave_time, cases[i].alone * NS);
        assert_int_equal(spad__sim_get_grid(both).wave_time, cases[i].wave * NS);
        spad_sim_destroy(alone);
        spad_sim_destroy(both);
        end_run(&r);
    }
}

/* The lines of the text about the grid. */
static void grids_in_words(void **state) {
    (void)state;
    static const struct {
        int64_t blocks;
        const char *words;
    } cases[] = {
        {1,
         "grid       1 block in 164.000 ns, 1 on each of 10 units;\n           1 in 164.000 ns\n"},
        {5,
         "grid       5 blocks in 384.000 ns, 1 on each of 10 units;\n           5 in 384.000 ns\n"},
        {10, ", 1 on each of 10 units;\n           1 wave of 10 in 704.000 ns\n"},
        {20, "no more fit (shared);\n           1 wave of 20 in 1.280 us\n"},
        {41,
         "no more fit (shared);\n           2 waves of 20 in 1.280 us, then 1 in 164.000 ns\n"}};
    run r = start_run(BLOCK(""));
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        spad_sim *sim = simulate(&r, cases[i].blocks);
        test_text text;
        spad_error error;
        test_text_init(&text);
        assert_ok(spad_sim_write(sim, SPAD_FORMAT_TEXT, &text.sink, &error), &error);
        if (strstr(text.bytes, cases[i].words) == NULL) print_error("%s", text.bytes);
        assert_non_null(strstr(text.bytes, cases[i].words));
        test_text_free(&text);
        spad_sim_destroy(sim);
    }
    end_run(&r);
}

/* Blocks that use the same bytes: the cache serves all but one. */
static void reuse_leaves_the_cache(void **state) {
    (void)state;
    run r = start_run(BLOCK("reused 10"));
    spad_sim *sim = simulate(&r, 10);
    /* 640 bytes of memory and 6400 of the cache for each of ten units: 64 and 160 ns */
    assert_int_equal(spad_sim_get_totals(sim).time, (160 + 64) * NS);
    assert_int_equal(spad_sim_get_totals(sim).by_origin[SPAD_ORIGIN_PUBLISHED], 2);
    spad_sim_destroy(sim);
    end_run(&r);
    r = start_run(BLOCK("reused 2"));
    sim = simulate(&r, 10);
    assert_int_equal(spad_sim_get_totals(sim).time, (320 + 64) * NS);
    assert_int_equal(spad_sim_get_totals(sim).by_origin[SPAD_ORIGIN_ESTIMATE], 1);
    spad_sim_destroy(sim);
    end_run(&r);
}

static void grid_of_the_kernel(void **state) {
    (void)state;
    run r = start_run("kernel k on chip\nparam G = 20\ngrid G * 2\n"
                      "tensor x : registers f32 (64, 64)\nsimt fma updates x\n");
    assert_int_equal(spad__kernel_get_grid(r.kernel), 40);
    spad_sim *sim = simulate(&r, 0);
    assert_int_equal(spad__sim_get_grid(sim).blocks, 40);
    assert_int_equal(spad__sim_get_grid(sim).per_unit, 4);
    assert_int_equal(spad_sim_get_totals(sim).time, 4 * 64 * NS);
    assert_int_equal(spad_sim_get_totals(sim).makespan, 64 * NS);
    spad_sim_destroy(sim);
    sim = simulate(&r, 10);
    assert_int_equal(spad__sim_get_grid(sim).blocks, 10);
    spad_sim_destroy(sim);
    const spad_sim_options negative = {.grid = -1};
    spad_error error;
    assert_int_equal(spad_sim_create(&sim, r.kernel, &negative, &error), SPAD_ERR_ARGUMENT);
    const spad_sim_options large = {.grid = INT64_MAX};
    assert_int_equal(spad_sim_create(&sim, r.kernel, &large, &error), SPAD_ERR_OVERFLOW);
    end_run(&r);
}

static void target_without_units(void **state) {
    (void)state;
    spad_kernel *kernel = test_parse("kernel k on sm_103\ngrid 7\nsimt op cost 5 ns\n");
    spad_sim *sim;
    assert_int_equal(spad_sim_create(&sim, kernel, NULL, NULL), SPAD_OK);
    assert_int_equal(spad__sim_get_grid(sim).blocks, 7);
    assert_int_equal(spad__sim_get_grid(sim).units, 0);
    assert_int_equal(spad_sim_get_totals(sim).time, 5 * NS);
    spad_sim_destroy(sim);
    spad_kernel_destroy(kernel);
}

/* ---- the language ------------------------------------------------------------------ */

static void clauses_are_written_and_read(void **state) {
    (void)state;
    static const char text[] = "kernel k on chip\n"
                               "param G = 3\n"
                               "grid G * 4\n"
                               "tensor g : global float32 (64, 64) reused G input\n"
                               "tensor x : registers float32 (64, 64)\n"
                               "simt op reads g updates x cost 5 ns latency G cycles\n"
                               "simt other updates x latency 7 ns work 2 fma, G exp, 1 reduce\n";
    run r = start_run(text);
    test_text out;
    test_text_init(&out);
    assert_int_equal(spad_kernel_write_text(r.kernel, &out.sink, NULL), SPAD_OK);
    assert_string_equal(out.bytes, text);
    test_text_free(&out);
    end_run(&r);
}

static void faults_of_the_language(void **state) {
    (void)state;
    static const struct {
        const char *line;
        const char *message;
    } faults[] = {
        {"grid 0", "at least one"},
        {"grid 4\ngrid 5", "a second grid"},
        {"for i in 0..2 { grid 4 }", "outside of all blocks"},
        {"simt op updates x latency 5", "'cycles' or 'ns'"},
        {"simt op updates x latency 0 - 5 ns", "negative"},
        {"simt op updates x work 1", "'fma', 'exp', 'convert' or 'reduce'"},
        {"simt op updates x work 0 fma", "at least 1"},
        {"simt op updates x work 1 mac", "'fma', 'exp', 'convert' or 'reduce'"},
        {"tensor h : global f32 (4) reused 0 - 1", "negative"},
    };
    run r = start_run("kernel k on chip\n");
    for (size_t i = 0; i < sizeof faults / sizeof faults[0]; i++) {
        char text[512];
        snprintf(text, sizeof text, "kernel k on chip\ntensor x : registers f32 (64, 64)\n%s\n",
                 faults[i].line);
        const spad_kernel_options options = {.target = r.chip};
        spad_kernel *kernel;
        spad_error error;
        assert_int_equal(
            spad_kernel_parse(&kernel, text, strlen(text), "f", &options, NULL, &error),
            SPAD_ERR_SYNTAX);
        if (strstr(error.message, faults[i].message) == NULL) {
            fail_msg("%s: %s", faults[i].line, error.message);
        }
    }
    end_run(&r);
}

static void calls_of_the_builder(void **state) {
    (void)state;
    run r = start_run("kernel k on chip\n");
    spad__kernel_builder *builder;
    const spad_amount five = {.value = 5};
    const spad_kernel_options options = {.target = r.chip};
    assert_int_equal(spad__kernel_builder_create(&builder, "k", "", r.chip, &options, NULL),
                     SPAD_OK);
    assert_int_equal(spad__kernel_builder_latency(builder, SPAD_COST_NS, five, NULL),
                     SPAD_ERR_ARGUMENT); /* no operation */
    assert_int_equal(spad__kernel_builder_work(builder, SPAD_WORK_EXP, five, NULL),
                     SPAD_ERR_ARGUMENT);
    assert_int_equal(spad__kernel_builder_operation(builder, "simt", "op", NULL), SPAD_OK);
    assert_int_equal(spad__kernel_builder_latency(builder, SPAD_COST_TARGET, five, NULL),
                     SPAD_ERR_ARGUMENT);
    assert_int_equal(spad__kernel_builder_latency(builder, SPAD_COST_NS, five, NULL), SPAD_OK);
    assert_int_equal(spad__kernel_builder_work(builder, SPAD_WORK_MAC, five, NULL),
                     SPAD_ERR_ARGUMENT);
    assert_int_equal(spad__kernel_builder_work(builder, SPAD_WORKS, five, NULL), SPAD_ERR_ARGUMENT);
    assert_int_equal(spad__kernel_builder_work(builder, SPAD_WORK_EXP, five, NULL), SPAD_OK);
    spad__kernel_builder_destroy(builder);
    end_run(&r);
}

/* ---- occupancy --------------------------------------------------------------------- */

static void check_occupancy(const char *text, int64_t blocks, spad__occupancy_limit limit,
                            int64_t each) {
    run r = start_run(text);
    spad_layout *layout;
    assert_int_equal(spad_layout_create(&layout, r.kernel, NULL, NULL), SPAD_OK);
    const spad__occupancy o = spad__occupancy_get(r.kernel, layout);
    if (o.blocks != blocks || o.limit != limit || o.each != each) {
        fail_msg("%s%lld blocks by %s, %lld each", text, (long long)o.blocks,
                 spad__occupancy_limit_name(o.limit), (long long)o.each);
    }
    spad_layout_destroy(layout);
    end_run(&r);
}

static void what_limits_blocks(void **state) {
    (void)state;
    check_occupancy("kernel k on chip\n", 8, SPAD__OCCUPANCY_GROUPS, 1);
    check_occupancy(
        "kernel k on chip\ntensor s : shared u8 (20000)\ncopy c writes s\nsimt r reads s\n", 4,
        SPAD__OCCUPANCY_SPACE, 21024);
    check_occupancy("kernel k on chip\nagent a of 300 threads { simt op cost 1 ns }\n", 3,
                    SPAD__OCCUPANCY_THREADS, 300);
    /* 100 registers in each of 128 threads are 104: a warp has them in steps of 256 */
    check_occupancy("kernel k on chip\n"
                    "agent a of 128 threads registers 100 { simt op cost 1 ns }\n",
                    4, SPAD__OCCUPANCY_REGISTERS, 128 * 104);
    check_occupancy("kernel k on chip\nagent a of 128 threads registers 200 { simt op cost 1 ns }\n"
                    "agent b { simt op cost 1 ns }\n",
                    8, SPAD__OCCUPANCY_GROUPS, 1); /* b does not state its threads */
    check_occupancy("kernel k on chip\nagent a of 128 threads {\n"
                    "    tensor x : registers f32 (128, 200)\n    simt op updates x\n}\n",
                    2, SPAD__OCCUPANCY_REGISTERS, 128 * 200);
    assert_string_equal(spad__occupancy_limit_name(SPAD__OCCUPANCY_LIMITS), "?");
}

static void a_memory_that_is_not_used_does_not_hide_the_limit_of_another(void **state) {
    (void)state;
    spad_kernel *kernel = test_parse("kernel k on sm_100\ntensor t : tmem f32 (128, 256)\nsimt "
                                     "fill writes t\nsimt op reads t\n");
    spad_layout *layout;
    assert_int_equal(spad_layout_create(&layout, kernel, NULL, NULL), SPAD_OK);
    const spad__occupancy o = spad__occupancy_get(kernel, layout);
    const spad_target *target = spad_kernel_get_target(kernel);
    assert_int_equal(o.limit, SPAD__OCCUPANCY_SPACE);
    assert_string_equal(target->spaces[o.space].name, "tmem");
    assert_int_equal(o.blocks, 2);
    spad_layout_destroy(layout);
    spad_kernel_destroy(kernel);
}

/* The main program counts as an agent does. Agents are threads of the same block. */
static void threads_of_the_main_program(void **state) {
    (void)state;
    check_occupancy("kernel k on chip\nthreads 300\nsimt op cost 1 ns\n", 3,
                    SPAD__OCCUPANCY_THREADS, 300);
    check_occupancy("kernel k on chip\nthreads 256 registers 128\nsimt op cost 1 ns\n", 2,
                    SPAD__OCCUPANCY_REGISTERS, 256 * 128);
    check_occupancy("kernel k on chip\nthreads 256\ntensor x : registers f32 (256, 128)\n"
                    "simt op updates x\n",
                    2, SPAD__OCCUPANCY_REGISTERS, 256 * 128);
    /* no thread has more than 255: the rest is spilled */
    check_occupancy("kernel k on chip\nthreads 128\ntensor x : registers f32 (128, 400)\n"
                    "simt op updates x\n",
                    2, SPAD__OCCUPANCY_REGISTERS, 256 * 128);
    check_occupancy("kernel k on chip\nthreads 128\nagent a of 300 threads { simt op cost 1 ns }\n",
                    3, SPAD__OCCUPANCY_THREADS, 300);
    check_occupancy("kernel k on chip\nthreads 400\nagent a { simt op cost 1 ns }\n", 2,
                    SPAD__OCCUPANCY_THREADS, 400);
}

static void assert_occupancy_text(const char *text, const char *wanted) {
    run r = start_run(text);
    test_text out;
    test_text_init(&out);
    assert_int_equal(spad_occupancy_write_text(r.kernel, NULL, &out.sink, NULL), SPAD_OK);
    assert_string_equal(out.bytes, wanted);
    test_text_clear(&out);
    assert_int_equal(spad_occupancy_write_json(r.kernel, NULL, &out.sink, NULL), SPAD_OK);
    assert_non_null(strstr(out.bytes, "\"blocks\""));
    test_text_free(&out);
    end_run(&r);
}

static void registers_in_words(void **state) {
    (void)state;
    assert_occupancy_text("kernel k on chip\nagent a {\n    tensor x : registers f32 (128, 480)\n"
                          "    simt op updates x\n}\n",
                          "occupancy: 8 blocks on a unit, limited by blocks: a unit has at most 8\n"
                          "registers: a would need 480 in each of 128 threads: at most 255 "
                          "(threads are not stated)\n");
    assert_occupancy_text(
        "kernel k on chip\nagent a of 256 threads registers 232 {\n"
        "    tensor x : registers f32 (128, 128)\n    simt op updates x\n}\n",
        "occupancy: 1 block on a unit, limited by registers: 59,392 each of 65,536\n"
        "registers: a takes 64 of the 232 in each of 256 threads\n");
    assert_occupancy_text("kernel k on chip\ntensor s : shared u8 (200000)\ncopy c writes s\n",
                          "occupancy: no block fits a unit: shared, 201,024 of 102,400\n");
    spad_kernel *kernel = test_parse("kernel k on trn2\n");
    test_text out;
    test_text_init(&out);
    assert_int_equal(spad_occupancy_write_text(kernel, NULL, &out.sink, NULL), SPAD_OK);
    assert_int_equal(strlen(out.bytes), 0);
    assert_int_equal(spad_occupancy_write_json(kernel, NULL, &out.sink, NULL), SPAD_OK);
    assert_string_equal(out.bytes, "null\n");
    assert_int_equal(spad__occupancy_get_agent(kernel, 9).bytes, 0);
    test_text_free(&out);
    spad_kernel_destroy(kernel);
}

/* Numbers that 64 bits do not hold are the largest that they do: no block fits. */
static void blocks_that_are_too_large(void **state) {
    (void)state;
    assert_occupancy_text(
        "kernel k on chip\nagent a of 9223372036854775807 threads registers 8 { simt op cost 1 ns "
        "}\n",
        "occupancy: no block fits a unit: threads, 9,223,372,036,854,775,807 of 1,024\n");
    assert_occupancy_text(
        "kernel k on chip\nagent a of 9223372036854775807 threads { simt op cost 1 "
        "ns }\nagent b of 9223372036854775807 threads { simt op cost 1 ns }\n",
        "occupancy: no block fits a unit: threads, 9,223,372,036,854,775,807 of 1,024\n");
    assert_occupancy_text(
        "kernel k on chip\ntensor s : shared u8 [2] (4611686018427387000)\n"
        "tensor t : shared u8 (4611686018427387000)\ncopy c writes s[0], t\n",
        "occupancy: no block fits a unit: shared, 9,223,372,036,854,775,807 of 102,400\n");
    /* an alias takes nothing, and registers that no agent uses do not count */
    assert_occupancy_text("kernel k on chip\ntensor s : shared u8 (20000)\n"
                          "tensor v : shared u8 (20000) alias of s\n"
                          "tensor x : registers f32 (64)\ncopy c writes s\n",
                          "occupancy: 4 blocks on a unit, limited by shared: 21,024 B each of "
                          "102,400\n");
    assert_occupancy_text("kernel k on chip\nagent a of 600 threads { simt op cost 1 ns }\n",
                          "occupancy: 1 block on a unit, limited by threads: 600 each of 1,024\n");
}

/* ---- roofs ------------------------------------------------------------------------- */

static void check_bound(const char *operations, spad__bound_kind kind, const char *words) {
    char text[1024];
    snprintf(text, sizeof text, "%s%s", BLOCK(""), operations);
    run r = start_run(text);
    spad_sim *sim = simulate(&r, 0);
    test_text out;
    test_text_init(&out);
    assert_int_equal(spad__sim_get_bound_kind(sim), kind);
    assert_int_equal(spad_sim_write(sim, SPAD_FORMAT_TEXT, &out.sink, NULL), SPAD_OK);
    if (strstr(out.bytes, words) == NULL) fail_msg("no '%s' in\n%s", words, out.bytes);
    assert_int_equal(spad__sim_get_roof(sim, 99).engine, -1);
    test_text_free(&out);
    spad_sim_destroy(sim);
    end_run(&r);
}

static void what_bounds_a_kernel(void **state) {
    (void)state;
    check_bound("", SPAD__BOUND_LATENCY,
                "bounded    by latency: copy global to shared works 60.9 %");
    check_bound("simt op updates x cost 900 ns\n", SPAD__BOUND_VECTOR,
                "bounded    by vector: simt works 90.6 %");
    check_bound("copy more reads g writes s(6400..12800)\n"
                "copy more reads g writes s(12800..19200)\n",
                SPAD__BOUND_COPIES, "bounded    by copies: copy global to shared works 100.0 %");
    assert_string_equal(spad__bound_kind_name(SPAD__BOUND_MATRIX), "matrix");
    assert_string_equal(spad__bound_kind_name(SPAD__BOUND_KINDS), "?");
}

static spad_status create(const spad_host *host, void *context) {
    spad_sim *sim;
    const spad_sim_options options = {.grid = 35, .host = host};
    const spad_status status = spad_sim_create(&sim, context, &options, NULL);
    spad_sim_destroy(sim);
    return status;
}

static void kernels_without_work(void **state) {
    (void)state;
    run r = start_run("kernel k on chip\ntensor x : shared u8 (64)\n");
    spad_sim *sim = simulate(&r, 0);
    assert_int_equal(spad__sim_roof_count(sim), 0);
    assert_int_equal(spad__sim_get_roof(sim, 0).path, -1);
    assert_int_equal(spad__sim_get_bound_kind(sim), SPAD__BOUND_LATENCY);
    test_text out;
    test_text_init(&out);
    assert_int_equal(spad_sim_write(sim, SPAD_FORMAT_TEXT, &out.sink, NULL), SPAD_OK);
    assert_null(strstr(out.bytes, "bounded"));
    test_text_free(&out);
    spad_sim_destroy(sim);
    end_run(&r);
    r = start_run("kernel k on chip\nsimt op cost 0 ns\n"); /* no time at all */
    sim = simulate(&r, 3);
    assert_int_equal(spad__sim_roof_count(sim), 1);
    assert_int_equal(spad__sim_get_bound_kind(sim), SPAD__BOUND_LATENCY);
    assert_int_equal(spad_sim_get_totals(sim).time, 0);
    spad_sim_destroy(sim);
    end_run(&r);
    r = start_run("kernel k on chip\nsimt op cost 10000000000000 ns\n"); /* 10^16 ps */
    sim = simulate(&r, 0);
    assert_int_equal(spad__sim_roof_count(sim), 1);
    assert_int_equal(spad__sim_get_roof(sim, 0).busy, INT64_C(10000000000000000));
    assert_int_equal(spad__sim_get_bound_kind(sim), SPAD__BOUND_VECTOR);
    spad_sim_destroy(sim);
    end_run(&r);
}

/* ---- overflow ---------------------------------------------------------------------- */

/* A chip with memories of 2^60 bytes and the given clauses. */
#define HUGE(units, simt, path)                                                  \
    "target chip\n" units "space shared { bytes 1152921504606846976 }\n"         \
    "space global { off chip; rate 1 MB/s estimate; cache 1 MiB rate 1 MB/s }\n" \
    "engine simt { clock 1 GHz source \"s\"\n" simt                              \
    "reads shared, global; writes shared, global }\n"                            \
    "engine copy { clock 1 kHz source \"s\"\npath global to shared " path        \
    " source \"s\"\nreads global; writes shared }\n"

static spad_status simulate_huge(const char *chip, const char *body, int64_t grid,
                                 spad_error *error) {
    spad_target *target;
    char text[600];
    assert_ok(spad_target_parse(&target, chip, strlen(chip), "chip", NULL, NULL, error), error);
    snprintf(text, sizeof text, "kernel k on chip\n%s", body);
    spad_kernel *kernel = test_parse_with(text, &(spad_kernel_options){.target = target});
    spad_sim *sim;
    const spad_status status =
        spad_sim_create(&sim, kernel, &(spad_sim_options){.grid = grid}, error);
    assert_int_equal(status == SPAD_OK, sim != NULL);
    spad_sim_destroy(sim);
    spad_kernel_destroy(kernel);
    spad_target_destroy(target);
    return status;
}

#define LOAD(bytes)                                                              \
    "tensor g : global u8 (" bytes ") input\ntensor s : shared u8 (" bytes ")\n" \
    "copy load reads g writes s\n"
#define FMA "elements 64 fma source \"s\"\n"

static void times_that_do_not_fit(void **state) {
    (void)state;
    static const struct {
        const char *chip;
        const char *body;
        int64_t grid;
        spad_status expected;
    } cases[] = {
        {HUGE("units 2\n", FMA, "rate 1 B/ns"), "simt op cost 5000000000000000 ns\n", 1, SPAD_OK},
        {HUGE("units 2\n", FMA, "rate 1 B/ns"), "simt op cost 5000000000000000 ns\n", 4,
         SPAD_ERR_OVERFLOW}, /* two on a unit */
        {HUGE("units 2 launch 5 us\n", FMA, "rate 1 B/ns"), "simt op cost 9223372036854775 ns\n", 2,
         SPAD_ERR_OVERFLOW}, /* and the launch */
        {HUGE("units 2 launch 9300000000000000 ns\n", FMA, "rate 1 B/ns"), "simt op cost 5 ns\n", 2,
         SPAD_ERR_OVERFLOW},
        /* bytes at the rates of a path, in time and in cycles of a millisecond */
        {HUGE("", FMA, "rate 1 MB/s"), LOAD("100000000000000"), 0, SPAD_ERR_OVERFLOW},
        {HUGE("", FMA, "rate 1 B/cycle"), LOAD("100000000000000"), 0, SPAD_ERR_OVERFLOW},
        {HUGE("", FMA, "rate 1 B/cycle"), LOAD("100000000000"), 0, SPAD_ERR_OVERFLOW},
        /* the same bytes at the share of a unit */
        {HUGE("units 1000\n", FMA, "rate 1 B/ns"), LOAD("100000000000000"), 1000,
         SPAD_ERR_OVERFLOW},
        {HUGE("units 1000\n", FMA, "rate 1000000 B/ns"), LOAD("100000000000000000"), 1000,
         SPAD_ERR_OVERFLOW},
        /* a latency alone, and one with the time of the transfer */
        {HUGE("", FMA, "rate 1 B/ns latency 9300000000000000 ns"), LOAD("64"), 0,
         SPAD_ERR_OVERFLOW},
        {HUGE("", FMA, "rate 1 MB/s latency 9000000000000000 ns"), LOAD("400000000000"), 0,
         SPAD_ERR_OVERFLOW},
        {HUGE("", FMA "latency 9300000000000000 ns\n", "rate 1 B/ns"),
         "tensor s : shared u8 (64)\nsimt op writes s\n", 0, SPAD_ERR_OVERFLOW},
        /* elements: several operations on each, and cycles of a clock */
        {HUGE("", FMA, "rate 1 B/ns"),
         "tensor s : shared u8 (1000000000000000000)\nsimt op writes s work 1000 fma\n", 0,
         SPAD_ERR_OVERFLOW},
        {HUGE("", FMA, "rate 1 B/ns"),
         "tensor s : shared u8 (1000000000000000000)\nsimt op writes s\n", 0, SPAD_ERR_OVERFLOW},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        spad_error error;
        const spad_status status =
            simulate_huge(cases[i].chip, cases[i].body, cases[i].grid, &error);
        if (status != cases[i].expected) {
            fail_msg("case %zu: %s %s", i, spad_status_code(status),
                     status != SPAD_OK ? error.message : "");
        }
    }
}

static void failing_allocations(void **state) {
    (void)state;
    run r = start_run(BLOCK(""));
    test_fail_each_allocation(create, r.kernel);
    end_run(&r);
    r = start_run(STEPS(AND_WAIT)); /* two blocks side by side, and at the same time */
    test_fail_each_allocation(create, r.kernel);
    end_run(&r);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(waves_and_tails),
        cmocka_unit_test(grids_in_words),
        cmocka_unit_test(reuse_leaves_the_cache),
        cmocka_unit_test(grid_of_the_kernel),
        cmocka_unit_test(target_without_units),
        cmocka_unit_test(clauses_are_written_and_read),
        cmocka_unit_test(faults_of_the_language),
        cmocka_unit_test(calls_of_the_builder),
        cmocka_unit_test(what_limits_blocks),
        cmocka_unit_test(a_memory_that_is_not_used_does_not_hide_the_limit_of_another),
        cmocka_unit_test(threads_of_the_main_program),
        cmocka_unit_test(registers_in_words),
        cmocka_unit_test(blocks_that_are_too_large),
        cmocka_unit_test(what_bounds_a_kernel),
        cmocka_unit_test(kernels_without_work),
        cmocka_unit_test(times_that_do_not_fit),
        cmocka_unit_test(failing_allocations),
        cmocka_unit_test(blocks_in_step),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
