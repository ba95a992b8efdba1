/* SPDX-License-Identifier: Apache-2.0
 *
 * One change of a kernel: what is kept, and why others are not. The two kernels are written down
 * here, so that each differs from the first in the one thing that decides.
 */
#include "support/support.h"

#include <string.h>

#include "analysis/advice.h"
#include "spad/spad.h"
#include "support/kernels.h"

/* ---- helpers ----------------------------------------------------------------------- */

static spad_advice *start(const spad_kernel *kernel, int64_t trials) {
    spad_advice *advice;
    spad_error error;
    /* all kinds are left out: the search measures the kernel and offers nothing */
    const spad_advice_options options = {.skip = (1u << SPAD_ADVICE_KINDS) - 1,
                                         .trials_most = trials};
    assert_ok(spad_advice_create(&advice, kernel, &options, &error), &error);
    assert_int_equal(spad_advice_count(advice), 0);
    assert_int_equal(spad_advice_get_totals(advice).trials, 0);
    return advice;
}

static spad_advice_change change_of(spad_advice_kind kind) {
    return (spad_advice_change){.kind = kind, .name = "x", .other = "", .operation = ""};
}

/* The changed kernel is taken over in both cases: a leak or a double free shows under ASan. */
static void expect_taken(const char *before, const char *after, spad_advice_kind kind,
                         bool expected) {
    spad_kernel *given = test_parse(before);
    spad_kernel *changed = test_parse(after);
    spad_advice *advice = start(given, 1);
    const spad_advice_change change = change_of(kind);
    spad_error error;
    bool taken;
    assert_true(spad_advice_get_totals(advice).proved);
    assert_ok(spad__advice_try(advice, changed, &change, &taken, &error), &error);
    if (taken != expected) print_error("before:\n%s\nafter:\n%s\n", before, after);
    assert_int_equal(taken, expected);
    assert_int_equal(spad_advice_count(advice), expected ? 1 : 0);
    assert_ptr_equal(spad_advice_get_kernel(advice), expected ? changed : given);
    assert_int_equal(spad_advice_get_totals(advice).trials, 1);
    spad_advice_destroy(advice);
    spad_kernel_destroy(given);
}

/* One ring with a load and a store in each iteration. */
#define PARAM_LOOP(param, ring, time, more)                                                  \
    "kernel k on trn2\nparam " param " = 6\n"                                                \
    "tensor in : hbm bf16 [" param "] (128, 64) input\n"                                     \
    "tensor out : hbm bf16 [" param "] (128, 64) output\n"                                   \
    "tensor x : sbuf bf16 [" param "] (128, 64) " ring "\n" more "for i in 0.." param " {\n" \
    "dma l reads in[i] writes x[i] cost " time "\ndma o reads x[i] writes out[i] cost " time \
    "\n}\n"
#define LOOP(ring, time, more) PARAM_LOOP("N", ring, time, more)

#define UNKNOWN                                                                           \
    "kernel unknown on sm_90\ntensor y : shared u8 [100000] (1) mod base 0 free 100000\n" \
    "simt w writes y[0] cost 1 ns\nsimt r reads y[0] cost 1 ns\n"

static const char base[] = LOOP("ring 2", "100 ns", "");

/* ---- what is lost ------------------------------------------------------------------ */

static void changes_that_lose_something(void **state) {
    (void)state;
    static const char *const worse[] = {
        /* it does not fit; proved for N = 6 alone; for all M, not for all N */
        LOOP("ring 1", "100 ns", "tensor y : sbuf u8 (128, 300000)\nvector e writes y\n"),
        LOOP("", "50 ns", ""),
        PARAM_LOOP("M", "ring 1", "50 ns", ""),
        /* a warning: it is never read; slower; in steps */
        LOOP("ring 1", "50 ns", "tensor y : sbuf bf16 (128, 64)\nvector e writes y cost 1 ns\n"),
        LOOP("ring 1", "150 ns", ""),
        "kernel k on sm_87\ntensor y : shared u8 (4)\nsimt w writes y\nsimt r reads y\n",
        "kernel stuck on sm_90\nbarrier b count 2\nagent p { sync b }\n",
        "kernel wrong on trn2\ntensor y : sbuf u8 (128, 4)\nvector r reads y\n",
        UNKNOWN,
    };
    for (size_t i = 0; i < sizeof worse / sizeof *worse; i++) {
        for (int kind = 0; kind < SPAD_ADVICE_KINDS; kind++) {
            expect_taken(base, worse[i], (spad_advice_kind)kind, false);
        }
    }
}

/* A proof for one shape is kept by one for this shape, whatever its words, and by a stronger one.
 */
static void proofs_of_one_shape(void **state) {
    (void)state;
    static const char shape[] = LOOP("", "100 ns", "");
    expect_taken(shape, LOOP("", "50 ns", ""), SPAD_ADVICE_DEEPER, true);
    expect_taken(shape, PARAM_LOOP("M", "", "50 ns", ""), SPAD_ADVICE_DEEPER, true);
    expect_taken(shape, LOOP("ring 2", "100 ns", ""), SPAD_ADVICE_SHORTER, true);
}

/* Another unit of time is no comparison: a step is not a picosecond. */
static void times_of_another_unit(void **state) {
    (void)state;
    static const char steps[] = "kernel k on sm_87\ntensor y : shared u8 (64)\nsimt w writes y\n"
                                "simt r reads y\n";
    static const char real[] = "kernel k on sm_87\ntensor y : shared u8 (64)\n"
                               "simt w writes y cost 1000 ns\nsimt r reads y cost 1000 ns\n";
    static const char smaller[] = "kernel k on sm_87\ntensor y : shared u8 (32)\nsimt w writes y\n"
                                  "simt r reads y\n";
    expect_taken(real, steps, SPAD_ADVICE_DEEPER, false);
    expect_taken(steps, smaller, SPAD_ADVICE_SHORTER, true);
}

/* ---- what is gained ---------------------------------------------------------------- */

static void each_kind_has_its_gain(void **state) {
    (void)state;
    static const char faster[] = LOOP("ring 2", "90 ns", "");
    static const char smaller[] = LOOP("ring 1", "100 ns", "");
    static const char larger[] = LOOP("ring 3", "100 ns", "");
    static const char faster_and_larger[] = LOOP("ring 3", "90 ns", "");
    const struct {
        const char *after;
        bool taken[SPAD_ADVICE_KINDS]; /* load, deeper, shorter, alias */
    } cases[] = {
        {base, {true, false, false, false}}, /* no less: only a load may be the same */
        {faster, {true, true, false, false}},
        {smaller, {true, false, true, true}}, /* loads and stores have one engine */
        {larger, {false, false, false, false}},
        {faster_and_larger, {true, true, false, false}},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        for (int kind = 0; kind < SPAD_ADVICE_KINDS; kind++) {
            expect_taken(base, cases[i].after, (spad_advice_kind)kind, cases[i].taken[kind]);
        }
        expect_taken(base, cases[i].after, SPAD_ADVICE_KINDS, false); /* no kind at all */
    }
}

/* An alias declares fewer bytes; it must not make the layout larger. */
static void aliases_take_no_more_bytes(void **state) {
    (void)state;
#define TWO(y, order)                                                              \
    "kernel k on sm_90\ntensor x : shared u8 (64)\ntensor y : shared u8 (" y ")\n" \
    "agent a {\n" order "}\n"
    static const char apart[] = TWO("64", "simt a writes x cost 1 ns\nsimt b reads x cost 1 ns\n"
                                          "simt c writes y cost 1 ns\nsimt d reads y cost 1 ns\n");
    static const char together[] =
        TWO("32", "simt a writes x cost 1 ns\nsimt c writes y cost 1 ns\n"
                  "simt b reads x cost 1 ns\nsimt d reads y cost 1 ns\n");
    static const char less[] = TWO("32", "simt a writes x cost 1 ns\nsimt b reads x cost 1 ns\n"
                                         "simt c writes y cost 1 ns\nsimt d reads y cost 1 ns\n");
#undef TWO
    expect_taken(apart, less, SPAD_ADVICE_ALIAS, true);      /* the layout shared bytes already */
    expect_taken(apart, together, SPAD_ADVICE_ALIAS, false); /* 96 bytes placed, not 64 */
}

/* ---- limits ------------------------------------------------------------------------ */

static int stop_now(void *context) {
    return *(const int *)context;
}

static void changes_after_the_limit(void **state) {
    (void)state;
    static const char faster[] = LOOP("ring 2", "90 ns", "");
    spad_kernel *given = test_parse(base);
    spad_advice *advice = start(given, 1);
    const spad_advice_change change = change_of(SPAD_ADVICE_DEEPER);
    spad_error error;
    bool taken;
    int stop = 0;
    assert_ok(spad__advice_try(advice, test_parse(faster), &change, &taken, &error), &error);
    assert_true(taken);
    assert_false(spad_advice_get_totals(advice).cut);
    const spad_kernel *first = spad_advice_get_kernel(advice);
    /* the one trial is used up */
    assert_ok(spad__advice_try(advice, test_parse(base), &change, &taken, &error), &error);
    assert_false(taken);
    assert_true(spad_advice_get_totals(advice).cut);
    assert_int_equal(spad_advice_get_totals(advice).trials, 1);
    /* a cancelled call keeps what there is */
    advice->limit.watch = (spad_watch){stop_now, &stop};
    stop = 1;
    assert_int_equal(spad__advice_try(advice, test_parse(base), &change, &taken, &error),
                     SPAD_ERR_CANCELLED);
    assert_false(taken);
    assert_ptr_equal(spad_advice_get_kernel(advice), first);
    assert_int_equal(spad_advice_count(advice), 1);
    spad_advice_destroy(advice);
    spad_kernel_destroy(given);
}

/* ---- words ------------------------------------------------------------------------- */

/* A kernel that was built has no lines. */
static void changes_without_a_line(void **state) {
    (void)state;
    static const char faster[] = LOOP("ring 2", "90 ns", "");
    spad_kernel *given = test_parse(base);
    spad_advice *advice = start(given, 1);
    spad_advice_change change = change_of(SPAD_ADVICE_DEEPER);
    spad_error error;
    test_text text;
    bool taken;
    change.from = 1;
    change.to = 2;
    assert_ok(spad__advice_try(advice, test_parse(faster), &change, &taken, &error), &error);
    test_text_init(&text);
    assert_ok(spad_advice_write(advice, SPAD_FORMAT_TEXT, &text.sink, &error), &error);
    assert_memory_equal(text.bytes, "ring of 'x' 2 instead of 1: ", 28);
    test_text_free(&text);
    spad_advice_destroy(advice);
    spad_kernel_destroy(given);
    assert_string_equal(spad_advice_kind_name(SPAD_ADVICE_KINDS), "?");
}

/* ---- no memory --------------------------------------------------------------------- */

/* Names so long that each takes a block of its own. */
static spad_status keep_long_names(const spad_host *host, void *context) {
    static char name[3][70000];
    spad_kernel *given = test_parse(context);
    const spad_advice_options options = {.skip = (1u << SPAD_ADVICE_KINDS) - 1, .host = host};
    spad_advice *advice;
    for (int i = 0; i < 3; i++) memset(name[i], 'a' + i, sizeof name[i] - 1);
    spad_status status = spad_advice_create(&advice, given, &options, NULL);
    if (status == SPAD_OK) {
        const spad_advice_change change = {
            .kind = SPAD_ADVICE_LOAD, .name = name[0], .other = name[1], .operation = name[2]};
        bool taken;
        status = spad__advice_try(advice, test_parse(context), &change, &taken, NULL);
        assert_int_equal(taken, status == SPAD_OK);
        assert_int_equal(spad_advice_count(advice), status == SPAD_OK ? 1 : 0);
        if (taken) assert_string_equal(spad_advice_get(advice, 0)->operation, name[2]);
    }
    spad_advice_destroy(advice);
    spad_kernel_destroy(given);
    return status;
}

static void no_memory_for_a_change(void **state) {
    (void)state;
    static char text[] = "kernel k on trn2\ntensor y : sbuf u8 (128, 4)\nvector w writes y\n"
                         "vector r reads y\n";
    test_fail_each_with_retries(keep_long_names, text);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(changes_that_lose_something), cmocka_unit_test(proofs_of_one_shape),
        cmocka_unit_test(times_of_another_unit),       cmocka_unit_test(each_kind_has_its_gain),
        cmocka_unit_test(aliases_take_no_more_bytes),  cmocka_unit_test(changes_after_the_limit),
        cmocka_unit_test(changes_without_a_line),      cmocka_unit_test(no_memory_for_a_change),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
