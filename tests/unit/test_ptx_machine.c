/* SPDX-License-Identifier: Apache-2.0
 *
 * The executor of PTX: what instructions compute (tests/ptx/machine.cu, with the numbers that the
 * same file gives on a host), values that are not known, loops without end, limits, and runs
 * without host memory.
 */
#include "unit/ptx_events.h"

#include <stdlib.h>

#include "frontend/ptx/run/ptx_shared.h"
#include "support/files.h"

/* ---- numbers of whole kernels -----------------------------------------------------------------
 */

enum { INPUTS = 1024, THREADS = 64, OUTPUTS = 64 * THREADS, OUT = 0x10000000, IN = 0x20000000 };

static uint64_t next_random(uint64_t *state) {
    *state ^= *state << 13;
    *state ^= *state >> 7;
    *state ^= *state << 17;
    return *state * UINT64_C(0x9E3779B97F4A7C15);
}

/* As main() of machine.cu. */
static void fill_inputs(uint64_t *in) {
    uint64_t state = UINT64_C(88172645463325252);
    for (int n = 0; n < INPUTS; n++) {
        in[n] = next_random(&state);
        switch (next_random(&state) % 10) {
        case 0: in[n] = 0; break;
        case 1: in[n] = UINT64_MAX; break;
        case 2: in[n] >>= next_random(&state) % 64; break;
        case 3: in[n] = UINT64_C(1) << next_random(&state) % 64; break;
        case 4: in[n] &= UINT64_C(0xff000000ff); break;
        case 5: in[n] = 0 - next_random(&state) % 50; break;
        default: break;
        }
    }
}

typedef struct numbers {
    uint64_t in[INPUTS];
    uint64_t out[OUTPUTS];
    uint8_t known[OUTPUTS * 8];
} numbers;

static spad_status ignore_event(void *context, const spad__ptx_event *event, spad_error *error) {
    (void)context, (void)event, (void)error;
    return SPAD_OK;
}

static const spad__ptx_sink no_sink = {.add = ignore_event};

static void put_parameters(uint8_t *parameters, int32_t n) {
    const uint64_t addresses[2] = {OUT, IN};
    memcpy(parameters, addresses, sizeof addresses);
    memcpy(parameters + sizeof addresses, &n, sizeof n);
}

/* The bytes that are not known are 0. */
static void run_numbers(const spad__ptx_module *module, const spad__ptx_function *kernel,
                        numbers *x, int32_t n, uint32_t ctas) {
    uint8_t parameters[20];
    put_parameters(parameters, n);
    memset(x->out, 0, sizeof x->out);
    memset(x->known, 1, sizeof x->known);
    spad__ptx_buffer buffers[] = {
        {.address = IN, .bytes = sizeof x->in, .data = (uint8_t *)x->in, .known = NULL},
        {.address = OUT, .bytes = sizeof x->out, .data = (uint8_t *)x->out, .known = x->known},
    };
    const spad__ptx_launch launch = {.kernel = kernel,
                                     .grid = {ctas, 1, 1},
                                     .block = {THREADS, 1, 1},
                                     .cluster = {ctas, 1, 1},
                                     .parameters = parameters,
                                     .parameter_bytes = sizeof parameters,
                                     .buffers = buffers,
                                     .buffer_count = 2,
                                     .most_steps = 1000000,
                                     .most_events = 100000};
    spad__ptx_result result;
    spad_error error = {0};
    const spad_host host = spad__host_or_default(NULL);
    assert_ok(spad__ptx_run(&result, module, &launch, &no_sink, NULL, &host, &error), &error);
    assert_false(result.stuck);
    assert_int_equal(result.remarks.count, 0);
    spad__ptx_result_free(&result, &host);
}

static uint64_t add_to_hash(uint64_t hash, const numbers *x) {
    for (int n = 0; n < OUTPUTS; n++) {
        uint64_t value = x->out[n];
        for (int b = 0; b < 8; b++) value = x->known[8 * n + b] != 0 ? value : 0;
        hash = (hash ^ value) * UINT64_C(0x100000001b3);
    }
    return hash;
}

static void kernels_give_the_numbers_of_the_host(void **state) {
    (void)state;
    static const struct {
        const char *name;
        uint64_t hash;
    } expected[] = {
        {"ints", UINT64_C(0x2d41243088a28e2b)}, {"bits", UINT64_C(0xaab08f92e3ba1e35)},
        {"flow", UINT64_C(0xae26070c9cb867fc)}, {"floats", UINT64_C(0xb735137a41f25fa5)},
        {"warp", UINT64_C(0xa56c6c15e5ea9014)}, {"smem", UINT64_C(0xda5d45b3b18ef3df)},
    };
    static numbers x;
    char *text = test_read_file("tests/ptx/machine.ptx");
    const spad__source source = {"machine.ptx", text, strlen(text)};
    spad__ptx_module module;
    spad_error error = {0};
    assert_ok(spad__ptx_parse(&module, NULL, &source, NULL, &error), &error);
    size_t found = 0;
    for (size_t f = 0; f < module.functions.count; f++) {
        const spad__ptx_function *kernel = &module.functions.items[f];
        if (!kernel->entry) continue;
        size_t row = 0;
        while (strcmp(expected[row].name, kernel->name) != 0) row++;
        uint64_t hash = 1;
        fill_inputs(x.in);
        for (int32_t n = 0; n < 3; n++) {
            run_numbers(&module, kernel, &x, n, n == 2 ? 2 : 1);
            hash = add_to_hash(hash, &x);
        }
        if (hash != expected[row].hash) print_error("kernel %s\n", kernel->name);
        assert_true(hash == expected[row].hash);
        found++;
    }
    assert_int_equal(found, sizeof expected / sizeof expected[0]);
    spad__ptx_module_free(&module);
    free(text);
}

/* ---- single instructions ----------------------------------------------------------------------
 */

#define HEAD ".version 8.7\n.target sm_90a\n.address_size 64\n"
#define ENTRY                                                                      \
    ".visible .entry k(.param .u64 out, .param .u64 in, .param .u32 n) {\n"        \
    ".reg .b16 %h<20>;\n.reg .b32 %r<20>;\n.reg .f32 %f<20>;\n.reg .b64 %d<20>;\n" \
    ".reg .b128 %q<4>;\n.reg .pred %p<10>;\nld.param.u64 %d1, [out];\n"            \
    "ld.param.u64 %d2, [in];\nld.param.u32 %r1, [n];\n"
#define END "ret;\n}\n"

typedef struct text_run {
    uint64_t out[8];
    uint8_t known[64];
    uint64_t in[8];
    bool hide; /* contents of in are not known */
    uint32_t threads;
    int64_t most_steps;
    int64_t most_events;
    spad__limit *limit;
    spad__ptx_sink sink;
    bool answer;
    long choices;
    spad__ptx_result result;
} text_run;

static bool answer_choice(void *context, spad__ptx_remark_kind kind, int32_t instruction,
                          int32_t cta, int32_t warp) {
    text_run *run = context;
    (void)kind, (void)instruction, (void)cta, (void)warp;
    run->choices++;
    return run->answer;
}

static spad_status run_text(text_run *run, const char *text, const spad_host *given,
                            spad_error *error) {
    const spad__source source = {"k.ptx", text, strlen(text)};
    const spad_host host = spad__host_or_default(given);
    spad__ptx_module module;
    run->result = (spad__ptx_result){0};
    spad_status status = spad__ptx_parse(&module, given, &source, NULL, error);
    if (status != SPAD_OK) return status;
    uint8_t parameters[20];
    put_parameters(parameters, 7);
    memset(run->out, 0, sizeof run->out);
    memset(run->known, 1, sizeof run->known);
    spad__ptx_buffer buffers[] = {
        {.address = OUT,
         .bytes = sizeof run->out,
         .data = (uint8_t *)run->out,
         .known = run->known},
        {.address = IN,
         .bytes = sizeof run->in,
         .data = run->hide ? NULL : (uint8_t *)run->in,
         .known = NULL},
    };
    const spad__ptx_launch launch = {.kernel = &module.functions.items[module.functions.count - 1],
                                     .grid = {1, 1, 1},
                                     .block = {run->threads != 0 ? run->threads : 1, 1, 1},
                                     .cluster = {1, 1, 1},
                                     .parameters = parameters,
                                     .parameter_bytes = sizeof parameters,
                                     .buffers = buffers,
                                     .buffer_count = 2,
                                     .most_steps = run->most_steps != 0 ? run->most_steps : 1000000,
                                     .most_events = run->most_events != 0 ? run->most_events : 1000,
                                     .limit = run->limit};
    const spad__ptx_choices choices = {run, answer_choice};
    status = spad__ptx_run(&run->result, &module, &launch,
                           run->sink.add != NULL ? &run->sink : &no_sink, &choices, &host, error);
    spad__ptx_module_free(&module);
    return status;
}

static void finish_run(text_run *run) {
    const spad_host host = spad__host_or_default(NULL);
    spad__ptx_result_free(&run->result, &host);
}

/* One thread computes into out[0]. */
static void expect_long(const char *body, uint64_t expected) {
    char text[4000];
    snprintf(text, sizeof text, "%s%s%s", HEAD ENTRY, body, "st.global.b64 [%d1], %d3;\n" END);
    text_run run = {.in = {5, 6, 7}};
    spad_error error = {0};
    assert_ok(run_text(&run, text, NULL, &error), &error);
    if (run.known[0] == 0 || run.out[0] != expected) {
        print_error("%s: %s 0x%llx\n", body, run.known[0] ? "is" : "is not known",
                    (unsigned long long)run.out[0]);
    }
    assert_true(run.known[0] != 0 && run.out[0] == expected);
    finish_run(&run);
}

static void expect_word(const char *body, uint32_t expected) {
    char text[4096];
    snprintf(text, sizeof text, "%scvt.u64.u32 %%d3, %%r2;\n", body);
    expect_long(text, expected);
}

static void expect_half(const char *body, uint32_t expected) {
    char text[2000];
    snprintf(text, sizeof text, "%scvt.u32.u16 %%r2, %%h2;\n", body);
    expect_word(text, expected);
}

static void half_precision(void **state) {
    (void)state;
    expect_half("cvt.rn.f16.f32 %h2, 0f3F800000;\n", 0x3c00);
    expect_half("cvt.rn.f16.f32 %h2, 0f477FF000;\n", 0x7c00); /* 65520 */
    expect_half("cvt.rz.f16.f32 %h2, 0f477FF000;\n", 0x7bff);
    expect_half("cvt.rn.satfinite.f16.f32 %h2, 0f7F800000;\n", 0x7bff);
    expect_half("cvt.rn.bf16.f32 %h2, 0f3F808000;\n", 0x3f80); /* a tie */
    expect_half("cvt.rn.relu.bf16.f32 %h2, 0fBF800000;\n", 0);
    expect_half("mov.b16 %h3, 0x3c00;\nadd.f16 %h2, %h3, %h3;\n", 0x4000);
    expect_half("mov.b16 %h3, 0x3c01;\nfma.rn.f16 %h2, %h3, %h3, %h3;\n", 0x4002);
    expect_half("mov.b16 %h3, 0x3f80;\nmul.bf16 %h2, %h3, %h3;\n", 0x3f80);
    expect_word("cvt.rn.f16x2.f32 %r2, 0f40000000, 0f3F800000;\n", 0x40003c00);
    expect_word("mov.b32 %r3, 0x40003c00;\nadd.f16x2 %r2, %r3, %r3;\n", 0x44004000);
    expect_word("mov.b32 %r3, 0xc0003c00;\nmax.f16x2 %r2, %r3, 0;\n", 0x00003c00);
    expect_word("mov.b32 %r3, 0xc0003c00;\nsetp.gt.f16x2 %p1|%p2, %r3, 0;\n"
                "selp.u32 %r4, 1, 0, %p1;\nselp.u32 %r5, 2, 0, %p2;\nadd.u32 %r2, %r4, %r5;\n",
                1);
    expect_word("mov.b16 %h3, 0x3c00;\ncvt.f32.f16 %f1, %h3;\nmov.b32 %r2, %f1;\n", 0x3f800000);
    expect_word("cvt.rna.tf32.f32 %r2, 0f3F801000;\n", 0x3f802000);
}

static void small_floats(void **state) {
    (void)state;
    expect_half("cvt.rn.satfinite.e4m3x2.f32 %h2, 0f43E00000, 0f3F800000;\n", 0x7e38);
    expect_half("cvt.rn.satfinite.e4m3x2.f32 %h2, 0f44000000, 0f7FC00000;\n", 0x7e7f);
    expect_half("cvt.rn.satfinite.e5m2x2.f32 %h2, 0f47800000, 0fBF800000;\n", 0x7bbc);
    expect_word("mov.b16 %h3, 0x7e38;\ncvt.rn.f16x2.e4m3x2 %r2, %h3;\n", 0x5f003c00);
}

static void floats_with_modifiers(void **state) {
    (void)state;
    expect_word("add.rz.f32 %f1, 0f3F800000, 0f33800001;\nmov.b32 %r2, %f1;\n", 0x3f800000);
    expect_word("add.rp.f32 %f1, 0f3F800000, 0f2F800000;\nmov.b32 %r2, %f1;\n", 0x3f800001);
    expect_word("add.sat.f32 %f1, 0f3F800000, 0f3F800000;\nmov.b32 %r2, %f1;\n", 0x3f800000);
    expect_word("mul.ftz.f32 %f1, 0f00800000, 0f3F000000;\nmov.b32 %r2, %f1;\n", 0);
    expect_word("mul.f32 %f1, 0f00800000, 0f3F000000;\nmov.b32 %r2, %f1;\n", 0x00400000);
    expect_word("min.NaN.f32 %f1, 0f7FFFFFFF, 0f3F000000;\nmov.b32 %r2, %f1;\n", 0x7fffffff);
    expect_word("min.f32 %f1, 0f80000000, 0f00000000;\nmov.b32 %r2, %f1;\n", 0x80000000);
    expect_word("min.xorsign.abs.f32 %f1, 0fC0000000, 0f3F000000;\nmov.b32 %r2, %f1;\n",
                0xbf000000);
    expect_word("cvt.rni.s32.f32 %r2, 0f40200000;\n", 2); /* 2.5 */
    expect_word("cvt.rpi.u32.f32 %r2, 0fC0200000;\n", 0);
    expect_word("cvt.rzi.s32.f32 %r2, 0f7F800000;\n", INT32_MAX);
    expect_word("cvt.sat.u8.s32 %r2, 300;\n", 255);
    expect_word("cvt.sat.s8.s32 %r2, -300;\n", 0xffffff80);
    expect_word("cvt.pack.sat.u8.s32.b32 %r2, 300, -5, 0x1234;\n", 0x1234ff00);
    expect_word("testp.subnormal.f32 %p1, 0f00000001;\nselp.u32 %r2, 1, 0, %p1;\n", 1);
    expect_word("set.gt.u32.f32 %r2, 0f3F800000, 0f00000000;\n", UINT32_MAX);
    expect_word("set.gt.f32.s32 %f1, 5, 3;\nmov.b32 %r2, %f1;\n", 0x3f800000);
    expect_word("slct.u32.s32 %r2, 1, 2, -1;\n", 2);
}

static void wide_registers(void **state) {
    (void)state;
    expect_long("mov.b64 %d4, 17;\nmov.b64 %d5, 18;\nmov.b128 %q1, {%d4, %d5};\n"
                "mov.b128 %q2, %q1;\nmov.b128 {%d6, %d7}, %q2;\nshl.b64 %d7, %d7, 8;\n"
                "or.b64 %d3, %d6, %d7;\n",
                0x1211);
    expect_long("ld.global.v2.b64 {%d4, %d5}, [%d2];\nadd.u64 %d3, %d4, %d5;\n", 11);
    expect_long("ld.global.b128 %q1, [%d2];\nmov.b128 {%d6, %d3}, %q1;\n", 6);
    expect_long("mov.b32 %r3, 0x04030201;\nmov.b32 {%h1, %h2}, %r3;\n"
                "mov.b64 %d3, {%h2, %h1, %h2, %h1};\n",
                UINT64_C(0x0201040302010403));
}

static void addresses(void **state) {
    (void)state;
    expect_long(".shared .b32 s[4];\nmov.u64 %d4, s;\ncvta.shared.u64 %d5, %d4;\n"
                "st.u32 [%d5+8], 77;\nld.shared.u32 %r3, [s+8];\ncvt.u64.u32 %d3, %r3;\n",
                77);
    expect_long(".local .b8 l[8];\nmov.u64 %d4, l;\ncvta.local.u64 %d5, %d4;\n"
                "isspacep.local %p1, %d5;\nisspacep.shared %p2, %d5;\nst.local.u16 [l+2], 5;\n"
                "ld.s16 %h1, [%d5+2];\ncvt.u32.u16 %r2, %h1;\n@%p1 add.u32 %r2, %r2, 256;\n"
                "@%p2 add.u32 %r2, %r2, 512;\ncvt.u64.u32 %d3, %r2;\n",
                261);
    expect_long("mov.b64 %d4, n;\ncvta.param.u64 %d5, %d4;\nld.u32 %r2, [%d5];\n"
                "cvt.u64.u32 %d3, %r2;\n",
                7);
    expect_word(".shared .b32 s;\nmov.u32 %r3, s;\nmapa.shared::cluster.u32 %r2, %r3, 3;\n",
                3 << 24);
    expect_word("getctarank.shared::cluster.u32 %r2, 0x5000010;\n", 5);
    expect_word("ld.global.s8 %r2, [%d2];\nld.global.u8 %r3, [%d2+8];\nadd.u32 %r2, %r2, %r3;\n",
                11);
}

/* ---- memory -----------------------------------------------------------------------------------
 */

static void variables_have_places(void **state) {
    (void)state;
    const char *text =
        HEAD ".const .align 4 .b32 c[2] = {11, 22};\n.global .align 4 .b32 g[2] = {33};\n"
             ".shared .align 4 .b8 unused[100];\n.shared .align 16 .b8 first[20];\n"
             ".extern .shared .align 128 .b8 more[];\n"
             ".func f() {\n.shared .align 8 .b8 inner[8];\n.reg .b32 %r<2>;\nmov.u32 %r1, inner;\n"
             "ret;\n}\n"
             ".entry k() {\n.reg .b32 %r<2>;\nmov.u32 %r1, first;\nmov.u32 %r1, more;\ncall f;\n"
             "ret;\n}\n";
    const spad__source source = {"k.ptx", text, strlen(text)};
    spad__ptx_module module;
    spad_error error = {0};
    assert_ok(spad__ptx_parse(&module, NULL, &source, NULL, &error), &error);
    const spad__ptx_function *kernel = &module.functions.items[1];
    spad__ptx_layout layout;
    int64_t offset = 0;
    assert_true(spad__ptx_lay_out(&layout, &module, kernel, &module.arena.host));
    assert_int_equal(layout.static_shared, 32);
    assert_int_equal(layout.dynamic_at, 128);
    assert_string_equal(spad__ptx_shared_variable(&layout, &module, 19, &offset)->name, "first");
    assert_int_equal(offset, 19);
    assert_string_equal(spad__ptx_shared_variable(&layout, &module, 24, &offset)->name, "inner");
    assert_null(spad__ptx_shared_variable(&layout, &module, 22, &offset));
    spad__ptx_layout_free(&layout, &module, &module.arena.host);
    assert_true(spad__ptx_variable_address(&module, 1) == SPAD__PTX_GLOBAL_BASE);
    assert_true(spad__ptx_variable_address(&module, 2) == 0);
    spad__ptx_module_free(&module);
}

static void variables_have_contents(void **state) {
    (void)state;
    const char *text =
        HEAD ".const .align 4 .b32 c[2] = {11, 22};\n.global .align 4 .b32 g[2] = {33};\n"
             ".global .align 8 .u64 p = generic(g);\n" ENTRY
             "ld.const.u32 %r2, [c+4];\nld.global.u64 %d3, [p];\nld.u32 %r3, [%d3];\n"
             "atom.global.add.u32 %r4, [g], 5;\nld.global.u32 %r5, [g];\nmov.u64 %d4, c;\n"
             "cvta.const.u64 %d4, %d4;\nld.u32 %r6, [%d4];\n"
             "st.global.v4.b32 [%d1], {%r2, %r3, %r4, %r5};\nst.global.u32 [%d1+16], %r6;\n" END;
    text_run run = {0};
    spad_error error = {0};
    assert_ok(run_text(&run, text, NULL, &error), &error);
    assert_true(run.out[0] == (UINT64_C(33) << 32 | 22) && run.out[1] == (UINT64_C(38) << 32 | 33));
    assert_true(run.out[2] == 11);
    finish_run(&run);
}

static void wrong_addresses_are_remarks(void **state) {
    (void)state;
    ptx_expect((ptx_run){.threads = 1},
               PTX_HEAD ".reg .b32 %r<4>;\n.reg .b64 %d<4>;\n.shared .align 4 .b8 s[8];\n"
                        "st.shared.u32 [s+8], 1;\nst.shared.u16 [s+1], 1;\nmov.u64 %d1, 0x5000;\n"
                        "ld.global.u32 %r1, [%d1];\nld.local.u32 %r1, [64];\n"
                        "st.shared.u32 [%r1], 2;\nret;\n}\n",
               "0.0 own wr 0:1-3\n"
               "0.0 own wr 0:0-8\n"
               "! out-of-shared: the CTA has 8 bytes of shared memory\n"
               "! misaligned: an access of 2 bytes must start at a multiple of them\n"
               "! out-of-global: no buffer of the launch has these bytes\n"
               "! out-of-local: no variable of the thread has these bytes\n"
               "! unknown-address: a shared address depends on data: it may be any byte of its "
               "variable\n");
}

/* 32 lanes in a body with one shared word and their number in %r1: the remarks. */
static void expect_remarks(const char *body, const char *remarks) {
    char text[2000];
    snprintf(text, sizeof text, "%s%s%s",
             PTX_HEAD ".reg .b32 %r<6>;\n.reg .pred %p<3>;\n.shared .align 4 .b32 s[40];\n"
                      "mov.u32 %r1, %tid.x;\nsetp.lt.u32 %p1, %r1, 4;\n",
             body, "ret;\n}\n");
    ptx_expect((ptx_run){.threads = 32, .only = "!"}, text, remarks);
}

static void masks_have_the_lanes_that_are_here(void **state) {
    (void)state;
    expect_remarks("elect.sync _|%p2, 0xff0;\n", "! bad-mask: lane 0, mask 0xff0\n");
    expect_remarks("bar.warp.sync 0xf;\n", "! bad-mask: lane 4, mask 0xf\n");
    expect_remarks("shfl.sync.idx.b32 %r2, %r1, 0, 31, 0x7fffffff;\n",
                   "! bad-mask: lane 31, mask 0x7fffffff\n");
    expect_remarks("@%p1 elect.sync _|%p2, 0xf;\n@%p1 bar.warp.sync 0xf;\nbar.warp.sync -1;\n"
                   "@!%p1 redux.sync.add.u32 %r2, %r1, 0xfffffff0;\n",
                   "");
}

/* One store, two values at one place: what is read afterwards is not known. */
static void lanes_collide(void **state) {
    (void)state;
    expect_remarks("and.b32 %r2, %r1, 1;\nst.shared.u32 [s], %r2;\n"
                   "bar.warp.sync -1;\nld.shared.u32 %r3, [s];\nbar.sync %r3;\n",
                   "! lanes-collide: lane 0\n"
                   "! unknown-operand: number of the barrier is not known: taken as 0\n");
    expect_remarks("mov.u32 %r2, 3;\n@%p1 mov.u32 %r2, 4;\n@%p1 st.shared.u32 [s], %r2;\n"
                   "bar.warp.sync -1;\nld.shared.u32 %r3, [s];\nbar.sync %r3;\n",
                   "");
    expect_remarks("shl.b32 %r2, %r1, 2;\nmov.u32 %r3, s;\nadd.u32 %r3, %r3, %r2;\n"
                   "st.shared.u32 [%r3], %r1;\n",
                   "");
}

/* ---- values that are not known ----------------------------------------------------------------
 */

#define LOAD "ld.global.u32 %r2, [%d2];\nsetp.gt.s32 %p1, %r2, 3;\n"

static void expect_hidden(text_run *run, const char *body, uint64_t first, bool second_known) {
    char text[4000];
    snprintf(text, sizeof text, "%s%s%s", HEAD ENTRY LOAD, body,
             "st.global.u32 [%d1], %r5;\nst.global.u32 [%d1+8], %r6;\n" END);
    spad_error error = {0};
    run->hide = true;
    assert_ok(run_text(run, text, NULL, &error), &error);
    assert_true(run->known[0] != 0 && run->out[0] == first);
    assert_int_equal(run->known[8], second_known);
    finish_run(run);
}

static void what_only_computes_is_skipped(void **state) {
    (void)state;
    text_run run = {0};
    const char *branch = "mov.u32 %r5, 4;\nmov.u32 %r6, 5;\n@%p1 bra A;\nadd.u32 %r6, %r6, 1;\n"
                         "A:\nadd.u32 %r5, %r5, 1;\n";
    expect_hidden(&run, branch, 5, false);
    const char *loop = "mov.u32 %r5, 4;\nmov.u32 %r6, 0;\nA:\nadd.u32 %r6, %r6, 1;\n"
                       "setp.lt.u32 %p2, %r6, %r2;\n@%p2 bra A;\nadd.u32 %r5, %r5, 2;\n";
    expect_hidden(&run, loop, 6, false);
    const char *guarded = "mov.u32 %r5, 4;\nmov.u32 %r6, 0;\n@%p1 mov.u32 %r6, 3;\n";
    expect_hidden(&run, guarded, 4, false);
    const char *decided = "mov.u32 %r5, 4;\nand.b32 %r6, %r2, 0;\nselp.u32 %r5, 9, 9, %p1;\n";
    expect_hidden(&run, decided, 9, true);
    assert_int_equal(run.choices, 0);
    assert_int_equal(run.result.remarks.count, 0);
}

static void traps_are_not_chosen(void **state) {
    (void)state;
    text_run run = {.answer = true};
    expect_hidden(&run, "mov.u32 %r5, 1;\nmov.u32 %r6, 2;\n@%p1 bra A;\nbra B;\nA:\ntrap;\nB:\n", 1,
                  true);
    expect_hidden(&run, "mov.u32 %r5, 1;\nmov.u32 %r6, 2;\n@%p1 trap;\n", 1, true);
    assert_int_equal(run.choices, 0);
}

static void other_branches_are_choices(void **state) {
    (void)state;
    const char *body = "mov.u32 %r5, 1;\nmov.u32 %r6, 2;\n@%p1 bra A;\nbar.sync 0;\n"
                       "mov.u32 %r5, 3;\nA:\n";
    text_run run = {.answer = true};
    expect_hidden(&run, body, 1, true);
    assert_int_equal(run.choices, 1);
    run.answer = false;
    expect_hidden(&run, body, 3, true);
    assert_int_equal(run.choices, 2);
}

static void loops_on_data_are_left(void **state) {
    (void)state;
    const char *body = "mov.u32 %r5, 0;\nmov.u32 %r6, 2;\nA:\nbar.sync 0;\nadd.u32 %r5, %r5, 1;\n"
                       "ld.global.u32 %r2, [%d2];\nsetp.gt.s32 %p1, %r2, 3;\n@%p1 bra A;\n";
    text_run run = {.answer = true};
    expect_hidden(&run, body, 9, true);
    assert_int_equal(run.choices, 9);
    run.answer = false;
    expect_hidden(&run, body, 1, true);
}

static spad_status add_kind(void *context, const spad__ptx_event *event, spad_error *error) {
    test_text *text = context;
    (void)error;
    for (int32_t n = 0; n < event->access_count; n++) {
        const spad__ptx_bytes *run = &event->runs[event->accesses[n].first_run];
        test_text_put(text, "%d %d-%d\n", event->accesses[n].kind, (int)run->begin, (int)run->end);
    }
    return SPAD_OK;
}

static void guarded_accesses_may_happen(void **state) {
    (void)state;
    test_text kinds;
    test_text_init(&kinds);
    text_run run = {.threads = 2, .sink = {&kinds, add_kind}};
    spad_error error = {0};
    const char *text = HEAD ENTRY
        ".shared .align 4 .b8 s[16];\nmov.u32 %r1, %tid.x;\nshl.b32 %r2, %r1, 2;\n"
        "mov.u32 %r3, s;\nadd.u32 %r3, %r3, %r2;\nmov.u32 %r5, %clock;\nsetp.eq.u32 %p1, %r5, 0;\n"
        "st.shared.u32 [%r3], 1;\n@%p1 st.shared.u32 [%r3], 2;\n@%p1 ld.shared.u32 %r6, [%r3+8];\n"
        "@%p1 red.shared.add.u32 [%r3], 1;\nld.volatile.shared.u32 %r6, [%r5];\n" END;
    assert_ok(run_text(&run, text, NULL, &error), &error);
    assert_string_equal(kinds.bytes, "2 0-8\n34 0-8\n33 8-16\n55 0-8\n49 0-16\n");
    finish_run(&run);
    test_text_free(&kinds);
}

/* Both ways of a branch are run as accesses that may happen. */
static void branches_around_accesses(void **state) {
    (void)state;
    test_text kinds;
    test_text_init(&kinds);
    text_run run = {.sink = {&kinds, add_kind}};
    expect_hidden(&run,
                  ".shared .b32 s[4];\nst.shared.u32 [s], 8;\nmov.u32 %r6, 2;\n@%p1 bra A;\n"
                  "st.shared.u32 [s], 1;\nmov.u32 %r6, 3;\nbra B;\nA:\nst.shared.u32 [s+4], 2;\n"
                  "setp.eq.u32 %p2, %r2, 9;\n@%p2 bra B;\nst.shared.u32 [s+8], 2;\n"
                  "B:\nst.shared.u32 [s+12], 3;\nld.shared.u32 %r5, [s+12];\n",
                  3, false);
    assert_string_equal(kinds.bytes, "2 0-4\n34 4-8\n34 8-12\n34 0-4\n2 12-16\n1 12-16\n");
    assert_int_equal(run.choices, 0);
    assert_int_equal(run.result.remarks.count, 0);
    test_text_free(&kinds);
}

/* ---- loops without end, limits ------------------------------------------------------------------
 */

static void spins_are_left(void **state) {
    (void)state;
    text_run run = {.in = {1}};
    spad_error error = {0};
    const char *flag =
        HEAD ENTRY "A:\nld.volatile.global.u32 %r2, [%d2];\nsetp.ne.u32 %p1, %r2, 3;\n@%p1 bra A;\n"
                   "st.global.u32 [%d1], 6;\n" END;
    assert_ok(run_text(&run, flag, NULL, &error), &error);
    assert_int_equal(run.out[0], 6);
    assert_false(run.result.stuck);
    assert_int_equal(run.result.remarks.count, 1);
    assert_int_equal(run.result.remarks.items[0].kind, SPAD__PTX_SPIN);
    finish_run(&run);
    assert_ok(run_text(&run, HEAD ENTRY "A:\nbra A;\n" END, NULL, &error), &error);
    assert_true(run.result.stuck);
    finish_run(&run);
}

/* A warp that spins lets the one run that it waits for. */
static void spins_wait_for_others(void **state) {
    (void)state;
    text_run run = {.threads = 64};
    spad_error error = {0};
    const char *text = HEAD ENTRY
        ".shared .u32 flag;\nmov.u32 %r3, %tid.x;\nsetp.lt.u32 %p2, %r3, 32;\n"
        "st.shared.u32 [flag], 0;\nbar.sync 0;\n@!%p2 bra B;\n"
        "A:\nld.volatile.shared.u32 %r2, [flag];\nsetp.eq.u32 %p1, %r2, 0;\n@%p1 bra A;\n"
        "st.global.u32 [%d1], %r2;\nret;\nB:\nst.volatile.shared.u32 [flag], 8;\n" END;
    assert_ok(run_text(&run, text, NULL, &error), &error);
    assert_int_equal(run.out[0], 8);
    assert_int_equal(run.result.remarks.count, 0);
    finish_run(&run);
}

static void expect_failure(text_run *run, const char *text, spad_status status,
                           const char *message) {
    spad_error error = {0};
    assert_int_equal(run_text(run, text, NULL, &error), status);
    if (strstr(error.message, message) == NULL) print_error("found: %s\n", error.message);
    assert_non_null(strstr(error.message, message));
    finish_run(run);
}

static int cancel(void *context) {
    int *left = context;
    return --*left < 0;
}

static void runs_are_limited(void **state) {
    (void)state;
    const char *count = HEAD ENTRY
        "mov.u64 %d3, 0;\nA:\nadd.u64 %d3, %d3, 1;\nadd.u64 %d4, %d3, %d4;\nbra A;\n" END;
    expect_failure(&(text_run){.most_steps = 100000}, count, SPAD_ERR_TIME,
                   "the kernel runs for more than 100000 instructions");
    const char *accesses = HEAD ENTRY ".shared .u32 s;\nmov.u64 %d3, 0;\nA:\nadd.u64 %d3, %d3, "
                                      "1;\nst.shared.u32 [s], %r1;\nbra A;\n" END;
    expect_failure(&(text_run){0}, accesses, SPAD_ERR_TIME,
                   "the kernel makes more than 1000 accesses");
    int left = 3;
    spad__limit limit;
    spad_error error = {0};
    assert_ok(spad__limit_start(&limit, 0, (spad_watch){cancel, &left}, &error), &error);
    expect_failure(&(text_run){.most_steps = INT64_MAX, .limit = &limit}, count, SPAD_ERR_CANCELLED,
                   "cancelled");
}

static void what_cannot_run_has_a_line(void **state) {
    (void)state;
    text_run run = {0};
    expect_failure(&run, HEAD ENTRY "frobnicate.u32 %r1, %r1;\n" END, SPAD_ERR_UNKNOWN, "line 14:");
    const char *endless = HEAD ".func f() {\ncall f;\nret;\n}\n" ENTRY "call f;\n" END;
    expect_failure(&run, endless, SPAD_ERR_UNKNOWN, "calls are nested too deeply");
    const char *pointer =
        HEAD ".func f() {\nret;\n}\n" ENTRY "ld.global.u64 %d3, [%d2];\nP: .callprototype ()_();\n"
             "call %d3, (), P;\n" END;
    expect_failure(&run, pointer, SPAD_ERR_UNKNOWN, "which function is called is not known");
    const char *outside = HEAD ".extern .func g();\n" ENTRY "call g;\n" END;
    expect_failure(&run, outside, SPAD_ERR_UNKNOWN, "not defined in this module");
    run.threads = 2000;
    expect_failure(&run, HEAD ENTRY END, SPAD_ERR_ARGUMENT, "a block has 1 to 1024 threads");
}

/* ---- without host memory ------------------------------------------------------------------------
 */

static spad_status run_everything(const spad_host *host, void *context) {
    (void)context;
    text_run run = {.hide = true, .threads = 40};
    const char *text =
        HEAD ".global .u32 g[4];\n.func (.param .u32 o) f(.param .u32 i) {\n.reg .b32 %r<4>;\n"
             ".local .b32 l[40];\nld.param.u32 %r1, [i];\nst.local.u32 [l+4], %r1;\n"
             "ld.local.u32 %r2, [l+4];\nst.param.u32 [o], %r2;\nret;\n}\n" ENTRY
             ".shared .u32 s[64];\n.param .u32 a;\n.param .u32 b;\nst.param.u32 [a], %r1;\n"
             "call (b), f, (a);\nld.param.u32 %r3, [b];\nst.shared.u32 [s], %r3;\n" LOAD
             "@%p1 bra A;\nadd.u32 %r3, %r3, 1;\nA:\nB:\nbar.sync 0;\n@%p1 bra B;\n"
             "st.global.u32 [%d1], %r2;\nst.global.u32 [g], %r2;\nmov.u32 %r4, 0;\n"
             "C:\nld.volatile.shared.u32 %r4, [s];\nsetp.ne.u32 %p2, %r4, 99;\n@%p2 bra C;\n" END;
    spad_error error = {0};
    const spad_host memory = spad__host_or_default(host);
    const spad_status status = run_text(&run, text, host, &error);
    spad__ptx_result_free(&run.result, &memory);
    return status;
}

static void every_allocation_may_fail(void **state) {
    (void)state;
    test_fail_each_allocation(run_everything, NULL);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(kernels_give_the_numbers_of_the_host),
        cmocka_unit_test(half_precision),
        cmocka_unit_test(small_floats),
        cmocka_unit_test(floats_with_modifiers),
        cmocka_unit_test(wide_registers),
        cmocka_unit_test(addresses),
        cmocka_unit_test(variables_have_places),
        cmocka_unit_test(variables_have_contents),
        cmocka_unit_test(wrong_addresses_are_remarks),
        cmocka_unit_test(masks_have_the_lanes_that_are_here),
        cmocka_unit_test(lanes_collide),
        cmocka_unit_test(what_only_computes_is_skipped),
        cmocka_unit_test(traps_are_not_chosen),
        cmocka_unit_test(other_branches_are_choices),
        cmocka_unit_test(loops_on_data_are_left),
        cmocka_unit_test(guarded_accesses_may_happen),
        cmocka_unit_test(branches_around_accesses),
        cmocka_unit_test(spins_are_left),
        cmocka_unit_test(spins_wait_for_others),
        cmocka_unit_test(runs_are_limited),
        cmocka_unit_test(what_cannot_run_has_a_line),
        cmocka_unit_test(every_allocation_may_fail),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
