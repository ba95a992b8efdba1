/* SPDX-License-Identifier: Apache-2.0
 *
 * Changes of kernels: depths of rings, aliases, and searches that end early. Loads:
 * test_advice_loads.c.
 */
#include "advice_fixture.h"
#include "spad/experimental/kernel_rows.h"

/* ---- rings ------------------------------------------------------------------------- */

#define RING(depth, costs)                                                      \
    "kernel k on trn2\nparam N = 8\ntensor in : hbm bf16 [N] (128, 64) input\n" \
    "tensor out : hbm bf16 [N] (128, 64) output\n"                              \
    "tensor x : sbuf bf16 [N] (128, 64) ring " depth "\nfor i in 0..N {\n"      \
    "dma l reads in[i] writes x[i] " costs "\nvector m updates x[i] " costs     \
    "\ndma o reads x[i] writes out[i] " costs "\n}\n"

static void rings_are_as_deep_as_they_help(void **state) {
    (void)state;
    expect_kind(RING("1", "cost 100 ns"), SPAD_ADVICE_DEEPER, "x:1>2 ");
    expect_kind(RING("2", "cost 100 ns"), SPAD_ADVICE_DEEPER, "");
    expect_kind(RING("7", "cost 100 ns"), SPAD_ADVICE_SHORTER, "x:7>2 ");
    expect_kind(RING("2", "cost 100 ns"), SPAD_ADVICE_SHORTER, "");
    expect_kind(
        "kernel k on trn2\nparam N = 8\ntensor in : hbm bf16 [N] (128, 64) input\n"
        "tensor out : hbm bf16 [N] (128, 64) output\n"
        "tensor x : sbuf bf16 [N] (128, 64)\nfor i in 0..N {\n"
        "dma l reads in[i] writes x[i] cost 9 ns\ndma o reads x[i] writes out[i] cost 9 ns\n"
        "}\n",
        SPAD_ADVICE_SHORTER, "x:8>1 "); /* a place for every tile */
}

/* A reader that is one tile late needs two slots, whatever the time. */
static void no_ring_is_too_short(void **state) {
    (void)state;
    expect_kind("kernel k on trn2\nparam N = 8\ntensor in : hbm bf16 [N] (128, 64) input\n"
                "tensor out : hbm bf16 [N] (128, 64) output\n"
                "tensor x : sbuf bf16 [N] (128, 64) ring 3\nfor i in 0..N {\n"
                "dma l reads in[i] writes x[i] cost 100 ns\n"
                "if i > 0 { dma o reads x[i - 1] writes out[i - 1] cost 1 ns }\n}\n"
                "dma o reads x[N - 1] writes out[N - 1] cost 1 ns\n",
                SPAD_ADVICE_SHORTER, "x:3>2 ");
}

/* A ring is read further back from N = 43 on. The proof for N = 6 does not see it, so the changed
 * kernel is compared at other shapes. */
#define READ_FURTHER_BACK_FROM(i)                                                            \
    "kernel k on trn2\nparam N = 6\ntensor in : hbm bf16 [N] (128, 64) input\n"              \
    "tensor x : sbuf bf16 [N] (128, 64) ring 4\ntensor y : sbuf bf16 [N] (128, 64) ring 4\n" \
    "tensor out : hbm bf16 [N] (128, 64) output\nfor i in 0..N {\n"                          \
    "dma l reads in[i] writes x[i] cost 1 ns\nscalar e reads x[i] writes y[i] cost 9 ns\n"   \
    "scalar b reads y[min(i, max(i - 3, " i "))] updates x[i] cost 9 ns\n"                   \
    "dma s reads x[i] writes out[i] cost 1 ns\n}\n"

static void rings_are_as_deep_as_other_shapes_need(void **state) {
    (void)state;
    spad_kernel *kernel = test_parse(READ_FURTHER_BACK_FROM("40"));
    spad_advice *advice = advise(kernel, NULL);
    const spad_kernel *changed = spad_advice_get_kernel(advice);
    test_text text;
    assert_true(spad_advice_get_totals(advice).proved);
    assert_true(spad_advice_count(advice) > 0);
    assert_true(spad_advice_get_totals(advice).shapes > 0);
    for (size_t i = 0; i < spad_advice_count(advice); i++) {
        assert_string_not_equal(spad_advice_get(advice, i)->name, "y");
    }
    const spad_define defines[] = {{"N", 60}};
    const spad_kernel_options options = {.defines = defines, .define_count = 1};
    spad_kernel *larger;
    spad_check *check;
    spad_error error;
    assert_ok(spad_kernel_reshape(&larger, changed, &options, &error), &error);
    assert_ok(spad_check_create(&check, larger, NULL, &error), &error);
    assert_int_equal(spad_check_get_counts(check).errors, 0);
    spad_check_destroy(check);
    spad_kernel_destroy(larger);
    test_text_init(&text);
    assert_ok(spad_advice_write(advice, SPAD_FORMAT_TEXT, &text.sink, &error), &error);
    assert_non_null(strstr(text.bytes, "proved for this shape only, as before; right, too, at "));
    assert_non_null(strstr(text.bytes, ", where conditions change their outcome\n"));
    test_text_free(&text);
    spad_advice_destroy(advice);
    spad_kernel_destroy(kernel);
}

/* The same from N = 400003 on, which takes too many events to try: nothing is offered. */
static void rings_stay_where_a_shape_cannot_be_tried(void **state) {
    (void)state;
    spad_kernel *kernel = test_parse(READ_FURTHER_BACK_FROM("400000"));
    spad_advice *advice = advise(kernel, NULL);
    assert_true(spad_advice_get_totals(advice).proved);
    assert_int_equal(spad_advice_count(advice), 0);
    spad_advice_destroy(advice);
    spad_kernel_destroy(kernel);
}

/* Without figures only on request. */
static void assumed_costs_decide_no_depth(void **state) {
    (void)state;
    spad_kernel *kernel = test_parse("kernel k on 910b\n"
                                     "param N = 8\n"
                                     "param S = 6\n"
                                     "unit mte2 fifo\n"
                                     "unit mte3 fifo\n"
                                     "counter full\n"
                                     "counter free = S\n"
                                     "tensor in : gm u8 [N] (64) input\n"
                                     "tensor out : gm u8 [N] (64) output\n"
                                     "tensor x : ub u8 [N] (64) ring S\n"
                                     "agent a {\n"
                                     "for n in 0..N {\n"
                                     "take free on mte2\n"
                                     "mte2 l reads in[n] writes x[n]\n"
                                     "signal full on mte2\n"
                                     "take full on mte3\n"
                                     "mte3 s reads x[n] writes out[n] cost 100 ns\n"
                                     "signal free on mte3\n"
                                     "}\n"
                                     "drain all\n"
                                     "}\n");
    const spad_advice_options steps = {.steps = true};
    spad_advice *advice = advise(kernel, NULL);
    const spad_time_unit unit = spad_advice_get_totals(advice).simulated.unit;
    const bool known = unit == SPAD_TIME_REAL || unit == SPAD_TIME_CYCLES;
    assert_int_equal(spad_advice_count(advice), known ? 1 : 0);
    spad_advice_destroy(advice);
    advice = advise(kernel, &steps);
    assert_int_equal(spad_advice_count(advice), 1);
    const spad_advice_change *c = spad_advice_get(advice, 0);
    assert_true(c->param && c->from == 6 && c->to == 2);
    assert_string_equal(c->name, "S");
    spad_advice_destroy(advice);
    spad_kernel_destroy(kernel);
}

/* No figures of the chip: everything is a step. */
#define STEPS(declare, slots, free)                                                            \
    "kernel k on sm_87\nparam N = 8\n" declare "counter full\ncounter free = " free "\n"       \
    "tensor in : global u8 [N] (64) input\ntensor out : global u8 [N] (64) output\n"           \
    "tensor x : shared u8 [N] (64) ring " slots "\n"                                           \
    "agent p { for n in 0..N {\ntake free\nsimt l reads in[n] writes x[n]\nsignal full\n} }\n" \
    "agent c { for n in 0..N {\ntake full\nsimt s reads x[n] writes out[n]\nsignal free\n} }\n"

static void expect_text(const char *kernel_text, const spad_advice_options *options,
                        const char *expected) {
    spad_kernel *kernel = test_parse(kernel_text);
    spad_advice *advice = advise(kernel, options);
    test_text text;
    spad_error error;
    test_text_init(&text);
    assert_ok(spad_advice_write(advice, SPAD_FORMAT_TEXT, &text.sink, &error), &error);
    assert_string_equal(text.bytes, expected);
    test_text_free(&text);
    spad_advice_destroy(advice);
    spad_kernel_destroy(kernel);
}

static void steps_decide_on_request(void **state) {
    (void)state;
    const spad_advice_options steps = {.steps = true};
    const spad_advice_options skip = {.skip = 1u << SPAD_ADVICE_SHORTER};
    const spad_advice_options shallow = {.depth_most = 1};
    expect_text(STEPS("param S = 6\n", "S", "S"), NULL,
                "no changes: 16 steps as before\n16 of 16 costs assumed: steps, not time\n"
                "depths of rings stay, because of that; --steps shortens them where that takes no "
                "more steps\n");
    expect_text(STEPS("param S = 6\n", "S", "S"), &steps,
                "line 3: parameter 'S' 1 instead of 6: 16 steps as before, 320 B less placed, "
                "320 B less declared\n1 change: 16 steps as before, 320 B less placed, "
                "320 B less declared\nproved as before: for all N >= 1; other values of S were "
                "not tried\n"
                "16 of 16 costs assumed: steps, not time\n");
    expect_text(STEPS("param S = 6\n", "S", "S"), &skip,
                "no changes: 16 steps as before\n16 of 16 costs assumed: steps, not time\n");
    expect_text(RING("2", "cost 100 ns"), NULL, "no changes: 1.600 us as before\n");
    expect_text(RING("1", "cost 100 ns"), NULL,
                "line 5: ring of 'x' 2 instead of 1: 1.600 us instead of 2.400 us, 16,384 B more "
                "placed, 16,384 B more declared\n1 change: 1.600 us instead of 2.400 us, 16,384 B "
                "more placed, 16,384 B more declared\nproved as before: for all N >= 1\n");
    expect_text(RING("1", "cost 100 ns"), &shallow, "no changes: 2.400 us as before\n");
}

/* Which numbers are no depths. */
static void numbers_that_stay(void **state) {
    (void)state;
    static const struct {
        const char *text;
        const char *expected;
    } cases[] = {
        {STEPS("param S = 6\n", "S", "S - 1"), "S:6>2 "}, /* one slot: no free one at all */
        {STEPS("param S = 6 fixed\n", "S", "S"), ""},
        {STEPS("param S = 6\ntensor y : global u8 [S] (64)\n", "S", "S"), ""},
        {STEPS("param S = 6\ntensor y : global u8 (64, S)\n", "S", "S"), ""},
        {STEPS("", "6", "6"), ""}, /* the counter has six */
        {"kernel k on sm_87\nparam S = 4\ntensor out : global u8 [4] (64) output\n"
         "tensor x : shared u8 [S] (64)\nagent a { for n in 0..4 {\nsimt w writes x[n]\n"
         "simt r reads x[n] writes out[n]\n} }\n",
         ""}, /* fewer tiles than there are uses of them */
        {"kernel k on trn2\nparam N = 8\ntensor in : hbm bf16 [N] (128, 64) input\n"
         "tensor far : hbm bf16 [N] (128, 64)\ntensor out : hbm bf16 [N] (128, 64) output\n"
         "for i in 0..N {\ntensor x : sbuf bf16 (128, 64)\ndma l reads in[i] writes x\n"
         "dma o reads x writes far[i]\ndma p reads far[i] writes x\n"
         "dma q reads x writes out[i]\n}\n",
         ""}, /* off the chip */
        {"kernel k on trn2\nparam N = 4\ntensor in : hbm bf16 [N, 2] (128, 64) input\n"
         "tensor out : hbm bf16 [N, 2] (128, 64) output\n"
         "tensor x : sbuf bf16 [N, 2] (128, 64) ring [3, 2]\nfor i in 0..N { for j in 0..2 {\n"
         "dma l reads in[i, j] writes x[i, j]\ndma o reads x[i, j] writes out[i, j]\n} }\n",
         ""}, /* two numbers */
        {"kernel k on trn2\nparam N = 4\ntensor in : hbm bf16 [N] (128, 64) input\n"
         "tensor out : hbm bf16 [2, N] (128, 64) output\nfor a in 0..1 {\n"
         "tensor x : sbuf bf16 [N] (128, 64) ring 4\nfor i in 0..N {\n"
         "dma l reads in[i] writes x[i]\ndma o reads x[i] writes out[0, i]\n} }\nfor b in 0..1 {\n"
         "tensor x : sbuf bf16 [N] (128, 64) ring 4\nfor i in 0..N {\n"
         "dma l reads in[i] writes x[i]\ndma o reads x[i] writes out[1, i]\n} }\n",
         ""}, /* two rings with one name */
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        expect_kind(cases[i].text, SPAD_ADVICE_SHORTER, cases[i].expected);
    }
}

/* A parameter that says how much is computed is no depth, even if only slots depend on it. */
static void less_work_is_no_advice(void **state) {
    (void)state;
    expect_kind("kernel k on sm_90\nparam W = 3\ntensor out : global u8 [8] (64) output\n"
                "tensor x : shared u8 [W] (64)\n"
                "agent a { for i in 0..W {\nsimt w writes x[i] cost 5 ns\n"
                "simt r reads x[i] writes out[i] cost 5 ns\n} }\n",
                SPAD_ADVICE_SHORTER, "");
}

/* Depths that cannot be chosen alone: places that are given, a parameter that any value may have,
 * one that tiles of an input depend on, and a ring that nothing but another number of tiles fits.
 */
static void depths_that_are_not_chosen(void **state) {
    (void)state;
    expect_kind("kernel k on trn2\nparam N = 8\ntensor in : hbm bf16 [N] (128, 64) input\n"
                "tensor out : hbm bf16 [N] (128, 64) output\n"
                "tensor x : sbuf bf16 [N] (128, 64) mod base 0 free 4\nfor i in 0..N {\n"
                "dma l reads in[i] writes x[i] cost 9 ns\n"
                "dma o reads x[i] writes out[i] cost 9 ns\n}\n",
                SPAD_ADVICE_SHORTER, "");
    expect_kind(STEPS("param S = 6\ntensor y : shared u8 [S] (64) input\n", "S", "S"),
                SPAD_ADVICE_SHORTER, "");
    expect_kind("kernel k on sm_87\nparam S = 4 any\ntensor out : global u8 [S] (64) output\n"
                "tensor x : shared u8 [S] (64) ring 2\nagent a { for n in 0..S {\n"
                "simt w writes x[n]\nsimt r reads x[n] writes out[n]\n} }\n",
                SPAD_ADVICE_SHORTER, "x:2>1 ");
    /* with three slots an index leaves its tensor */
    expect_kind("kernel k on sm_87\nparam S = 4\ntensor out : global u8 [4] (64) output\n"
                "tensor x : shared u8 [4] (64) ring S\nagent a { for n in 0..4 {\n"
                "simt w writes x[n + 4 - S]\nsimt r reads x[n + 4 - S] writes out[n]\n} }\n",
                SPAD_ADVICE_SHORTER, "");
}

/* Cycles of a chip without a clock are times as well. */
static void cycles_decide_depths(void **state) {
    (void)state;
    expect_text("kernel k on sm_87\nparam N = 8\ntensor in : global u8 [N] (64) input\n"
                "tensor out : global u8 [N] (64) output\ntensor x : shared u8 [N] (64) ring 3\n"
                "for n in 0..N {\nsimt l reads in[n] writes x[n] cost 5 cycles\n"
                "simt s reads x[n] writes out[n] cost 5 cycles\n}\n",
                NULL,
                "line 5: ring of 'x' 1 instead of 3: 80 cycles as before, 128 B less placed, 128 B "
                "less declared\n1 change: 80 cycles as before, 128 B less placed, 128 B less "
                "declared\nproved as before: for all N >= 1\n16 of 16 costs without a "
                "clock: cycles, not time\n");
}

/* Two rings, one after the other, with one trial at a time. */
static void rings_one_after_another(void **state) {
    (void)state;
    static const char two[] =
        "kernel k on trn2\nparam N = 8\ntensor in : hbm bf16 [N] (128, 64) input\n"
        "tensor out : hbm bf16 [N] (128, 64) output\n"
        "tensor x : sbuf bf16 [N] (128, 64) ring 3\ntensor y : sbuf bf16 [N] (128, 64) ring 3\n"
        "for i in 0..N {\ndma l reads in[i] writes x[i] cost 9 ns\n"
        "vector m reads x[i] writes y[i] cost 1 ns\ndma o reads y[i] writes out[i] cost 9 ns\n}\n";
    expect_kind(two, SPAD_ADVICE_SHORTER, "x:3>1 y:3>1 ");
}

/* ---- aliases ----------------------------------------------------------------------- */

static void epilogues_get_the_bytes_of_rings(void **state) {
    (void)state;
    /* so is declared before the ring, after it, and is too large for a tile of it */
    static const struct {
        const char *before;
        const char *after;
        const char *expected;
    } cases[] = {
        {"tensor so : shared u8 (64)\n", "", "so>x "},
        {"", "tensor so : shared u8 (64)\n", "so>x "},
        {"", "tensor so : shared u8 (65)\n", ""},
        {"", "tensor so : shared u8 (64) at 4096\n", ""},
        {"", "tensor so : shared u8 (64)\ntensor part : shared u8 (32) alias of so\n", ""}};
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        char text[1000];
        snprintf(text, sizeof text,
                 "kernel k on sm_90\nparam N = 5\ntensor out : global u8 [2] (64) output\n"
                 "tensor in : global u8 [N] (64) input\n%s"
                 "tensor x : shared u8 [N] (64) ring 2\n%s"
                 "agent a {\ntensor acc : registers u8 (64)\nsimt z writes acc\nfor n in 0..N {\n"
                 "simt l reads in[n] writes x[n]\nsimt m reads x[n] updates acc\n}\n"
                 "simt e reads acc writes so\nsimt o reads so writes out[0], out[1]\n}\n",
                 cases[i].before, cases[i].after);
        expect_kind(text, SPAD_ADVICE_ALIAS, cases[i].expected);
    }
}

/* The ring is still in use when the result of a tile is written. */
static void rings_in_use_are_no_place(void **state) {
    (void)state;
    expect_kind(
        "kernel k on sm_90\nparam N = 5\ntensor out : global u8 [N] (64) output\n"
        "tensor in : global u8 [N] (64) input\ntensor x : shared u8 [N] (64) ring 2\n"
        "tensor so : shared u8 (64)\ncounter full\ncounter free = 2\n"
        "agent p { for n in 0..N {\ntake free\nsimt l reads in[n] writes x[n]\nsignal full\n"
        "} }\nagent c { for n in 0..N {\ntake full\nsimt m reads x[n] writes so\n"
        "signal free\nsimt o reads so writes out[n]\n} }\n",
        SPAD_ADVICE_ALIAS, "");
}

/* Tensors that no ring can hold: off the chip, in lanes that are given, or in more lanes. */
static void places_that_are_no_alias(void **state) {
    (void)state;
    static const char *const so[] = {"sbuf u8 (64, 64)", "hbm u8 (64, 64)",
                                     "sbuf u8 (64, 64) lane 64", "sbuf u8 (64, 64) lane N - N",
                                     "sbuf u8 (128, 64)"};
    for (size_t i = 0; i < sizeof so / sizeof *so; i++) {
        char text[1000];
        snprintf(text, sizeof text,
                 "kernel k on trn2\nparam N = 5\ntensor out : hbm u8 (64, 64) output\n"
                 "tensor in : hbm u8 [N] (64, 64) input\ntensor x : sbuf u8 [N] (64, 64) ring 2\n"
                 "tensor so : %s\ntensor acc : sbuf u8 (64, 64)\ncounter c\nagent a {\n"
                 "vector z writes acc\nfor n in 0..N {\ndma l reads in[n] writes x[n]\n"
                 "vector m reads x[n] updates acc\n}\n%s e reads acc writes so\n"
                 "dma o reads so writes out\nsignal c\n}\n",
                 so[i], i == 1 ? "dma" : "vector");
        expect_kind(text, SPAD_ADVICE_ALIAS, i == 0 ? "so>x " : "");
    }
}

/* ---- limits ------------------------------------------------------------------------ */

static void kernels_without_a_proof_have_no_advice(void **state) {
    (void)state;
    static const char *const texts[] = {
        HEAD "tensor s : sbuf bf16 (128, 64)\nfor i in 0..N {\n" X "dma q reads w[0] writes s\n}\n",
        "kernel k on trn2\ntensor x : sbuf u8 (128, 300000)\nvector m writes x\n",
        "kernel stuck on sm_90\nbarrier b count 2\nagent p { sync b }\n"};
    for (size_t i = 0; i < 3; i++) {
        spad_kernel *kernel = test_parse(texts[i]);
        spad_advice *advice = advise(kernel, NULL);
        test_text text;
        spad_error error;
        test_text_init(&text);
        assert_false(spad_advice_get_totals(advice).proved);
        assert_int_equal(spad_advice_count(advice), 0);
        assert_ptr_equal(spad_advice_get_kernel(advice), kernel);
        assert_null(spad_advice_get(advice, 0));
        assert_ok(spad_advice_write(advice, SPAD_FORMAT_TEXT, &text.sink, &error), &error);
        assert_string_equal(text.bytes,
                            "no changes: the kernel is not proved, and a change keeps a proof\n");
        test_text_free(&text);
        spad_advice_destroy(advice);
        spad_kernel_destroy(kernel);
    }
}

static const char both[] = HEAD S "for i in 0..N {\ndma q reads w[0] writes s\n" X "}\n";

static void searches_can_be_cut(void **state) {
    (void)state;
    spad_kernel *kernel = test_parse(both);
    const spad_advice_options one = {.trials_most = 1};
    spad_advice *advice = advise(kernel, &one);
    assert_int_equal(spad_advice_count(advice), 1);
    assert_true(spad_advice_get_totals(advice).cut);
    assert_int_equal(spad_advice_get_totals(advice).trials, 1);
    test_text text;
    spad_error error;
    test_text_init(&text);
    assert_ok(spad_advice_write(advice, SPAD_FORMAT_TEXT, &text.sink, &error), &error);
    assert_non_null(strstr(text.bytes, "the search ended at a limit"));
    test_text_free(&text);
    spad_advice_destroy(advice);
    const spad_advice_options soon = {.timeout_ns = 1};
    assert_ok(spad_advice_create(&advice, kernel, &soon, &error), &error);
    assert_int_equal(spad_advice_count(advice), 0);
    spad_advice_destroy(advice);
    spad_kernel_destroy(kernel);
}

static int end_it(void *context) {
    int *left = context;
    return --*left < 0;
}

static void bad_options_and_cancelled_calls(void **state) {
    (void)state;
    spad_kernel *kernel = test_parse(both);
    spad_advice *advice;
    spad_error error;
    const spad_advice_options bad[] = {{.depth_most = -1}, {.trials_most = -2}, {.timeout_ns = -3}};
    for (size_t i = 0; i < 3; i++) {
        assert_int_equal(spad_advice_create(&advice, kernel, &bad[i], &error), SPAD_ERR_ARGUMENT);
        assert_null(advice);
    }
    bool done = false;
    for (int asks = 0; !done && asks < 2000; asks++) {
        int left = asks;
        const spad_advice_options watched = {.watch = {end_it, &left}};
        const spad_status status = spad_advice_create(&advice, kernel, &watched, &error);
        done = status == SPAD_OK;
        if (!done) assert_int_equal(status, SPAD_ERR_CANCELLED);
        spad_advice_destroy(advice);
    }
    assert_true(done);
    assert_string_equal(spad_advice_kind_name(SPAD_ADVICE_LOAD), "load");
    assert_string_equal(spad_advice_kind_name(SPAD_ADVICE_DEEPER), "deeper");
    assert_string_equal(spad_advice_kind_name(SPAD_ADVICE_SHORTER), "shorter");
    assert_string_equal(spad_advice_kind_name(SPAD_ADVICE_ALIAS), "alias");
    assert_string_equal(spad_advice_kind_name(SPAD_ADVICE_KINDS), "?");
    spad_advice_destroy(NULL);
    spad_kernel_destroy(kernel);
}

static spad_status advise_with(const spad_host *host, void *kernel) {
    const spad_advice_options options = {.host = host, .steps = true};
    spad_advice *advice;
    const spad_status status = spad_advice_create(&advice, kernel, &options, NULL);
    spad_advice_destroy(advice);
    return status;
}

static void failing_allocations_leak_nothing(void **state) {
    (void)state;
    static const char *const texts[] = {
        "kernel k on trn2\ntensor in : hbm bf16 [2] (128, 64) input\n"
        "tensor out : hbm bf16 [2] (128, 64) output\ntensor s : sbuf bf16 (128, 64)\n"
        "for i in 0..2 {\ndma q reads in[0] writes s\ndma o reads s writes out[i]\n}\n",
        "kernel k on sm_90\ntensor out : global u8 (64) output\n"
        "tensor in : global u8 [3] (64) input\ntensor x : shared u8 [3] (64) ring 3\n"
        "tensor so : shared u8 (64)\n"
        "agent a {\nsimt l reads in[0] writes x[0]\nsimt m reads x[0]\nsimt l reads in[1] writes "
        "x[1]\n"
        "simt m reads x[1]\nsimt e writes so\nsimt o reads so writes out\n}\n"};
    for (size_t i = 0; i < 2; i++) {
        spad_kernel *kernel = test_parse(texts[i]);
        test_fail_each_allocation(advise_with, kernel);
        spad_kernel_destroy(kernel);
    }
    spad_kernel *kernel =
        test_parse("kernel k on sm_87\nparam S = 2\ncounter full\ncounter free = S\n"
                   "tensor out : global u8 (64) output\ntensor x : shared u8 [2] (64) ring S\n"
                   "agent p {\ntake free\nsimt l writes x[0]\nsignal full\n}\n"
                   "agent c {\ntake full\nsimt s reads x[0] writes out\nsignal free\n}\n");
    test_fail_each_allocation(advise_with, kernel); /* a parameter: what is computed is compared */
    spad_kernel_destroy(kernel);
}

static void sinks_that_fail(void **state) {
    (void)state;
    spad_kernel *kernel = test_parse(both);
    spad_advice *advice = advise(kernel, NULL);
    for (int json = 0; json < 2; json++) {
        for (size_t room = 0; room < 200; room += 50) {
            test_text text;
            spad_error error;
            test_text_init(&text);
            text.fail_after = room;
            assert_int_equal(json ? spad_advice_write(advice, SPAD_FORMAT_JSON, &text.sink, &error)
                                  : spad_advice_write(advice, SPAD_FORMAT_TEXT, &text.sink, &error),
                             SPAD_ERR_IO);
            test_text_free(&text);
        }
    }
    spad_advice_destroy(advice);
    spad_kernel_destroy(kernel);
}
int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(rings_are_as_deep_as_they_help),
        cmocka_unit_test(no_ring_is_too_short),
        cmocka_unit_test(rings_are_as_deep_as_other_shapes_need),
        cmocka_unit_test(rings_stay_where_a_shape_cannot_be_tried),
        cmocka_unit_test(assumed_costs_decide_no_depth),
        cmocka_unit_test(steps_decide_on_request),
        cmocka_unit_test(numbers_that_stay),
        cmocka_unit_test(less_work_is_no_advice),
        cmocka_unit_test(epilogues_get_the_bytes_of_rings),
        cmocka_unit_test(rings_in_use_are_no_place),
        cmocka_unit_test(kernels_without_a_proof_have_no_advice),
        cmocka_unit_test(searches_can_be_cut),
        cmocka_unit_test(bad_options_and_cancelled_calls),
        cmocka_unit_test(failing_allocations_leak_nothing),
        cmocka_unit_test(sinks_that_fail),
        cmocka_unit_test(depths_that_are_not_chosen),
        cmocka_unit_test(cycles_decide_depths),
        cmocka_unit_test(rings_one_after_another),
        cmocka_unit_test(places_that_are_no_alias),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
