/* SPDX-License-Identifier: Apache-2.0
 *
 * Changes that make a kernel fit.
 */
#include "fit_fixture.h"

#include <string.h>

/* 232448 bytes are there. */
#define LOOP                                                                               \
    "tensor in : global u8 [N] (60000) input\ntensor out : global u8 [N] (60000) output\n" \
    "for i in 0..N {\nsimt w reads in[i] writes x[i]\nsimt r reads x[i], y writes out[i]\n}\n"

static void a_ring_becomes_shallower(void **state) {
    (void)state;
    expect("kernel k on sm_90\nparam N = 9\n"
           "tensor y : shared u8 (1000) input\ntensor x : shared u8 [N] (60000) ring 5\n" LOOP,
           "shared is 68,552 B (66.9 KiB) too small: 301,000 B are needed together (proved)\n"
           "  fits with --ring x=3 instead of 5, which saves 120,000 B\n"
           "  fits if 'x' is moved to another memory, which saves 300,000 B\n");
    expect("kernel k on sm_90\nparam N = 9\nparam S = 4\n"
           "tensor y : shared u8 (1000) input\ntensor x : shared u8 [N] (60000) ring S\n" LOOP,
           "shared is 8,552 B (8.4 KiB) too small: 241,000 B are needed together (proved)\n"
           "  fits with -D S=3 instead of 4, which saves 60,000 B\n"
           "  fits if 'x' is moved to another memory, which saves 240,000 B\n");
}

#define DEEP(x, y)                                             \
    "kernel k on sm_90\nparam N = 500\n"                       \
    "tensor in : global u8 [N] (1000) input\n"                 \
    "tensor out : global u8 [N] (1000) output\n"               \
    "tensor x : shared u8 [N] (1000) " x "\n"                  \
    "tensor y : shared u8 [N] (1000) " y "\n"                  \
    "for i in 0..N {\nsimt l reads in[i] writes x[i]\n"        \
    "simt e reads x[i] writes y[i]\nsimt s reads y[i] writes " \
    "out[i]\n}\n"

/* The largest depths, however far away, alone and together. */
static void the_largest_depth_is_found(void **state) {
    (void)state;
    expect(DEEP("ring 250", "ring 2"),
           "shared is 19,552 B (19.1 KiB) too small: 252,000 B are needed together (proved)\n"
           "  fits with --ring x=230 instead of 250, which saves 20,000 B\n"
           "  fits if 'x' is moved to another memory, which saves 250,000 B\n");
    expect(DEEP("ring 130", "ring 110"),
           "shared is 7,552 B (7.4 KiB) too small: 240,000 B are needed together (proved)\n"
           "  fits with --ring x=122 instead of 130, which saves 8,000 B\n"
           "  fits with --ring y=102 instead of 110, which saves 8,000 B\n"
           "  fits if 'y' is moved to another memory, which saves 110,000 B\n"
           "  fits if 'x' is moved to another memory, which saves 130,000 B\n");
    expect(DEEP("ring 250", "ring 240"),
           "shared is 257,552 B (251.5 KiB) too small: 490,000 B are needed together (proved)\n"
           "  fits with --ring x=116 --ring y=116, which saves 258,000 B\n");
    /* tensors without a ring can have one */
    expect(DEEP("", ""),
           "shared is 767,552 B (749.6 KiB) too small: 1,000,000 B are needed together (proved)\n"
           "  fits with --ring x=116 --ring y=116, which saves 768,000 B\n");
}

/* Two tiles are in use: the reader is one after. */
static void a_wrong_ring_is_named_as_such(void **state) {
    (void)state;
    fixture f;
    set_up(&f, "kernel k on sm_90\nparam N = 9\ntensor x : shared u8 [N] (120000) ring 2\n"
               "tensor in : global u8 [N] (120000) input\n"
               "tensor out : global u8 [N] (120000) output\n"
               "simt w reads in[0] writes x[0]\n"
               "for i in 1..N {\nsimt w reads in[i] writes x[i]\n"
               "simt r reads x[i - 1] writes out[i - 1]\n}\n"
               "simt r reads x[N - 1] writes out[N - 1]\n");
    const spad_fit_change *last = spad_fit_get(f.fit, spad_fit_count(f.fit) - 1);
    assert_int_equal(last->kind, SPAD_FIT_RING);
    assert_string_equal(last->name, "x");
    assert_int_equal(last->from, 2);
    assert_int_equal(last->to, 1);
    assert_int_not_equal(last->wrong, SPAD_FINDING_NONE);
    assert_non_null(strstr(f.text.bytes,
                           "  fits with --ring x=1 instead of 2, which saves 120,000 B, "
                           "but is wrong then: SPAD-"));
    assert_null(spad_fit_get(f.fit, spad_fit_count(f.fit)));
    tear_down(&f);
}

/* One that is wrong at another shape is named with that shape. */
static void a_ring_that_other_shapes_need_is_named(void **state) {
    (void)state;
    fixture f;
    set_up(&f, "kernel k on sm_90\nparam N = 9\ntensor x : shared u8 [N] (120000) ring 2\n"
               "tensor in : global u8 [N] (120000) input\n"
               "tensor out : global u8 [N] (120000) output\n"
               "for i in 0..N {\nsimt w reads in[i] writes x[i]\n"
               "simt r reads x[min(i, max(i - 1, 20))] writes out[i]\n}\n");
    const spad_fit_change *last = spad_fit_get(f.fit, spad_fit_count(f.fit) - 1);
    assert_int_equal(last->kind, SPAD_FIT_RING);
    assert_int_equal(last->to, 1);
    assert_int_not_equal(last->wrong, SPAD_FINDING_NONE);
    assert_non_null(last->wrong_at);
    assert_non_null(strstr(f.text.bytes, ", but is wrong then with N = 2"));
    tear_down(&f);
}

static void extents_are_not_touched(void **state) {
    (void)state;
    expect("kernel k on sm_90\nparam N = 5\ntensor y : shared u8 (1000) input\n"
           "tensor x : shared u8 [N] (60000) ring N\n" LOOP,
           "shared is 68,552 B (66.9 KiB) too small: 301,000 B are needed together (proved)\n"
           "  fits if 'x' is moved to another memory, which saves 300,000 B\n");
}

static void there_may_be_no_change(void **state) {
    (void)state;
    expect("kernel k on sm_90\ntensor x : shared u8 (233000) at 0\nsimt w writes x\n",
           "shared is 552 B too small: the kernel places tensors up to byte 233,000\n"
           "  no change was found that makes it fit\n");
    expect("kernel k on sm_90\ntensor x : shared u8 (1000)\nsimt w writes x\n", "");
}

static void json_is_a_list(void **state) {
    (void)state;
    fixture f;
    spad_error error;
    set_up(&f, "kernel k on sm_90\nparam N = 9\n"
               "tensor y : shared u8 (1000) input\ntensor x : shared u8 [N] (60000) ring 4\n" LOOP);
    test_text_clear(&f.text);
    assert_ok(spad_fit_write(f.fit, f.layout, SPAD_FORMAT_JSON, &f.text.sink, &error), &error);
    static const char first[] = "[\n  {\n    \"space\": \"shared\",\n    \"kind\": \"ring\",\n"
                                "    \"name\": \"x\",\n    \"from\": 4,\n    \"to\": 3,\n"
                                "    \"saved\": 60000,\n    \"wrong\": null,\n"
                                "    \"wrong_at\": null\n  },\n";
    assert_memory_equal(f.text.bytes, first, strlen(first));
    f.text.fail_after = 5;
    test_text_clear(&f.text);
    assert_int_equal(spad_fit_write(f.fit, f.layout, SPAD_FORMAT_JSON, &f.text.sink, &error),
                     SPAD_ERR_IO);
    assert_int_equal(spad_fit_write(f.fit, f.layout, SPAD_FORMAT_TEXT, &f.text.sink, &error),
                     SPAD_ERR_IO);
    const spad_fit_options negative = {.timeout_ns = -5};
    spad_fit *none;
    assert_int_equal(spad_fit_create(&none, f.layout, &negative, &error), SPAD_ERR_ARGUMENT);
    assert_string_equal(error.message, "a timeout of -5 ns is negative");
    tear_down(&f);
    assert_string_equal(spad_fit_kind_name(SPAD_FIT_ALIGN), "align");
    assert_string_equal(spad_fit_kind_name((spad_fit_kind)99), "?");
}

#define TOO_MUCH                                                             \
    "kernel k on sm_90\nparam N = 9\ntensor y : shared u8 (150000) input\n"  \
    "tensor z : shared u8 (150000) input\ntensor x : shared u8 [N] (60000) " \
    "ring 4\ntensor v : shared u8 (8)\n" LOOP "simt end reads y, z writes v\n"

static void several_changes_where_one_is_not_enough(void **state) {
    (void)state;
    expect("kernel k on sm_90\nparam N = 3\n"
           "tensor x : shared u8 (150000) input\ntensor y : shared u8 (140000) input\n"
           "tensor z : shared u8 (120000) input\ntensor w : shared u8 (1000)\n"
           "simt w reads x, y, z writes w\n",
           "shared is 178,552 B (174.4 KiB) too small: 411,000 B are needed together (proved)\n"
           "  fits if 'y' and 'z' are moved to another memory, which saves 260,000 B\n");
    expect(TOO_MUCH,
           "shared is 307,552 B (300.3 KiB) too small: 540,000 B are needed together (proved)\n"
           "  fits with --ring x=1 if 'y' is moved to another memory, which saves 330,000 B\n"
           "  fits with --ring x=1 if 'z' is moved to another memory, which saves 330,000 B\n"
           "  fits if 'x' and 'y' are moved to another memory, which saves 390,000 B\n");
    fixture f;
    set_up(&f, TOO_MUCH);
    test_text_clear(&f.text);
    spad_error error;
    assert_ok(spad_fit_write(f.fit, f.layout, SPAD_FORMAT_JSON, &f.text.sink, &error), &error);
    assert_non_null(strstr(f.text.bytes, "\"kind\": \"spills\",\n    \"name\": \"'y'\",\n"
                                         "    \"with\": \"--ring x=1\",\n"));
    tear_down(&f);
    assert_string_equal(spad_fit_kind_name(SPAD_FIT_SPILLS), "spills");
}

/* x and z meet in no operation; x and y, and y and z, do. */
#define CHAIN                                                                              \
    "kernel k on sm_90\nparam N = 3\ntensor in : global u8 [N] (40000) input\n"            \
    "tensor out : global u8 [N] (40000) output\ntensor x : shared u8 [N] (40000) ring 2\n" \
    "tensor y : shared u8 [N] (40000) ring 2\ntensor z : shared u8 [N] (40000) ring 2\n"   \
    "for i in 0..N {\nsimt a reads in[i] writes x[i]\nsimt b reads x[i] writes y[i]\n"     \
    "simt c reads y[i] writes z[i]\nsimt d reads z[i] writes out[i]\n}\n"

/* The same without rings. */
#define SINGLE                                                                                  \
    "kernel k on sm_90\ntensor x : shared u8 (80000)\ntensor y : shared u8 (80000)\n"           \
    "tensor z : shared u8 (80000)\nfor i in 0..2 {\nsimt a writes x\nsimt b reads x writes y\n" \
    "simt c reads y writes z\nsimt d reads z\n}\n"

static void tensors_take_turns(void **state) {
    (void)state;
    expect(CHAIN, "shared is 7,552 B (7.4 KiB) too small: 240,000 B are needed together (proved)\n"
                  "  fits with --ring x=1 instead of 2, which saves 40,000 B\n"
                  "  fits with --ring y=1 instead of 2, which saves 40,000 B\n"
                  "  fits with --ring z=1 instead of 2, which saves 40,000 B\n"
                  "  fits with --ring x=1 --ring y=1 --ring z=1, which saves 120,000 B\n"
                  "  fits if 'z' is an alias of 'x' (they are not needed together), which saves "
                  "80,000 B\n"
                  "  fits if 'x' is moved to another memory, which saves 80,000 B\n"
                  "  fits if 'y' is moved to another memory, which saves 80,000 B\n"
                  "  fits if 'z' is moved to another memory, which saves 80,000 B\n");
    expect(SINGLE, "shared is 7,552 B (7.4 KiB) too small: 240,000 B are needed together (proved)\n"
                   "  fits if 'z' is an alias of 'x' (they are not needed together), which saves "
                   "80,000 B\n"
                   "  fits if 'x' is moved to another memory, which saves 80,000 B\n"
                   "  fits if 'y' is moved to another memory, which saves 80,000 B\n"
                   "  fits if 'z' is moved to another memory, which saves 80,000 B\n");
    assert_string_equal(spad_fit_kind_name(SPAD_FIT_ALIAS), "alias");
}

/* What is there after the line of the space, of a kernel whose rings have one slot. */
static void expect_no_alias(const char *kernel) {
    fixture f;
    set_up(&f, kernel);
    assert_true(spad_fit_count(f.fit) > 0);
    for (size_t i = 0; i < spad_fit_count(f.fit); i++)
        assert_int_not_equal(spad_fit_get(f.fit, i)->kind, SPAD_FIT_ALIAS);
    tear_down(&f);
}

static void only_tensors_that_are_never_needed_together_take_turns(void **state) {
    (void)state;
    /* an operation would have to work in place */
    expect_no_alias("kernel k on sm_90\nparam N = 9\ntensor x : shared u8 [N] (60000) ring 2\n"
                    "tensor y : shared u8 [N] (60000) ring 2\nfor i in 0..N {\n"
                    "simt a writes x[i]\nsimt b reads x[i] writes y[i]\nsimt c reads y[i]\n}\n");
    /* x is read after z was written */
    expect_no_alias("kernel k on sm_90\nparam N = 9\ntensor x : shared u8 [N] (60000) ring 2\n"
                    "tensor z : shared u8 [N] (60000) ring 2\nfor i in 0..N {\n"
                    "simt a writes x[i]\nsimt b writes z[i]\nsimt c reads x[i]\n"
                    "simt d reads z[i]\n}\n");
    /* the tiles are not the same, or too large, or an input */
    expect_no_alias("kernel k on sm_90\nparam N = 9\ntensor x : shared u8 [N] (60000) ring 2\n"
                    "tensor w : shared u8 [2, N] (50000) ring 2\n"
                    "tensor v : shared u8 [8] (50000) ring 2\n"
                    "tensor z : shared u8 [N] (70000) ring 2 input\nfor i in 0..N {\n"
                    "simt a writes x[i]\nsimt c reads x[i]\nsimt b writes w[0, i], v[i % 8]\n"
                    "simt d reads w[0, i], v[i % 8], z[i]\n}\n");
}

#define GIVEN(use)                                                                   \
    "kernel k on sm_90\ntensor a : shared u8 (120000) at 0\n"                        \
    "tensor b : shared u8 (120000) at 120000\nsimt w writes a\nsimt r reads a\n" use \
    "simt r reads b\n"

static void addresses_of_the_kernel_may_be_given_up(void **state) {
    (void)state;
    expect(GIVEN("simt w writes b\n"),
           "shared is 7,552 B (7.4 KiB) too small: the kernel places tensors up to byte 240,000\n"
           "  fits if the planner chooses the addresses that the kernel gives ('spad plan "
           "--release'), which saves 120,000 B\n");
    assert_string_equal(spad_fit_kind_name(SPAD_FIT_RELEASE), "release");
    /* b is read as what was written through another address */
    expect("kernel k on sm_90\ntensor a : shared u8 (120000) at 120000\n"
           "tensor b : shared u8 (120000) at 120000\nsimt w writes a\nsimt r reads b\n",
           "shared is 7,552 B (7.4 KiB) too small: the kernel places tensors up to byte 240,000\n"
           "  no change was found that makes it fit\n");
}

static spad_status scenario(const spad_host *host, void *context) {
    const spad_fit_options options = {.host = host};
    spad_fit *fit;
    const spad_status status = spad_fit_create(&fit, context, &options, NULL);
    spad_fit_destroy(fit);
    return status;
}

static void every_allocation_may_fail(void **state) {
    (void)state;
    fixture f;
    set_up(&f, "kernel k on sm_90\nparam N = 3\n"
               "tensor y : shared u8 (1000) input\ntensor x : shared u8 [N] (120000) ring 2\n"
               "for i in 0..N { simt w reads y writes x[i] }\n");
    test_fail_each_allocation(scenario, f.layout);
    tear_down(&f);
    set_up(&f, "kernel k on sm_90\nparam N = 3\ntensor x : shared u8 [N] (120000) ring 2\n"
               "tensor y : shared u8 [N] (110000) ring 2\n"
               "for i in 0..N { simt w writes x[i], y[i] }\n");
    assert_int_equal(spad_fit_get(f.fit, 0)->kind, SPAD_FIT_RINGS);
    test_fail_each_allocation(scenario, f.layout);
    tear_down(&f);
    static const char *const kernels[] = {TOO_MUCH, SINGLE, GIVEN("simt w writes b\n")};
    for (size_t i = 0; i < sizeof kernels / sizeof *kernels; i++) {
        set_up(&f, kernels[i]);
        test_fail_each_allocation(scenario, f.layout);
        tear_down(&f);
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_ring_becomes_shallower),
        cmocka_unit_test(the_largest_depth_is_found),
        cmocka_unit_test(a_wrong_ring_is_named_as_such),
        cmocka_unit_test(a_ring_that_other_shapes_need_is_named),
        cmocka_unit_test(extents_are_not_touched),
        cmocka_unit_test(there_may_be_no_change),
        cmocka_unit_test(json_is_a_list),
        cmocka_unit_test(several_changes_where_one_is_not_enough),
        cmocka_unit_test(tensors_take_turns),
        cmocka_unit_test(only_tensors_that_are_never_needed_together_take_turns),
        cmocka_unit_test(addresses_of_the_kernel_may_be_given_up),
        cmocka_unit_test(every_allocation_may_fail),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
