/* SPDX-License-Identifier: Apache-2.0
 *
 * Searches over unusual kernels: rings by dimension, spaces without an end, tensors that cannot be
 * hoisted, many points, and counts at the ends of 64 bits. */
#include <stdio.h>
#include <string.h>

#include "sim/tune.h"
#include "spad/spad.h"
#include "support/kernels.h"
#include "support/support.h"

static spad_tune *tune(const spad_kernel *kernel, int64_t depth_most) {
    const spad_tune_options options = {.depth_most = depth_most};
    spad_tune *made;
    spad_error error;
    assert_ok(spad_tune_create(&made, kernel, &options, &error), &error);
    return made;
}

/* The values of a knob as "1 2 3". */
static void assert_values(const spad_tune *made, size_t number, const char *name,
                          const char *expected) {
    const spad_tune_knob *knob = spad_tune_get_knob(made, number);
    char text[200] = "";
    assert_non_null(knob);
    assert_string_equal(knob->name, name);
    for (size_t i = 0; i < knob->value_count; i++) {
        snprintf(text + strlen(text), sizeof text - strlen(text), "%s%lld", i > 0 ? " " : "",
                 (long long)knob->values[i]);
    }
    assert_string_equal(text, expected);
}

/* A ring with a number for each dimension is examined where whole rows are its steps. */
static void rings_by_dimension_have_steps(void **state) {
    (void)state;
    spad_kernel *kernel = test_parse("kernel k on trn2\n"
                                     "tensor x : sbuf u8 [6, 4] (128, 8) ring [2, 4]\n"
                                     "tensor y : sbuf u8 [6, 4] (128, 8) ring [2, 2]\n"
                                     "tensor z : sbuf u8 [6, 4] (128, 8) ring [6, 4]\n"
                                     "tensor v : sbuf u8 [6, 4] (128, 8) ring [1, 2]\n"
                                     "for i in 0..6 { for j in 0..4 {\n"
                                     "dma load writes x[i, j], y[i, j], z[i, j], v[i, j]\n"
                                     "vector r reads x[i, j], y[i, j], z[i, j], v[i, j] } }\n");
    spad_tune *made = tune(kernel, 3);
    assert_values(made, 0, "x", "4 8 12");
    assert_int_equal(spad_tune_get_knob(made, 0)->written, 8);
    for (size_t i = 1; i < spad_tune_knob_count(made); i++) {
        assert_string_not_equal(spad_tune_get_knob(made, i)->name, "y");
    }
    spad_tune_destroy(made);
    spad_kernel_destroy(kernel);
}

/* Depths that a larger N needs are kept, although they are of no use at N = 6. */
static void rings_that_other_shapes_need(void **state) {
    (void)state;
    spad_kernel *kernel =
        test_parse("kernel k on trn2\nparam N = 6\ntensor in : hbm bf16 [N] (128, 64) input\n"
                   "tensor x : sbuf bf16 [N] (128, 64) ring 4\n"
                   "tensor y : sbuf bf16 [N] (128, 64) ring 4\n"
                   "tensor out : hbm bf16 [N] (128, 64) output\nfor i in 0..N {\n"
                   "dma l reads in[i] writes x[i] cost 1 ns\n"
                   "scalar e reads x[i] writes y[i] cost 9 ns\n"
                   "scalar b reads y[min(i, max(i - 3, 40))] updates x[i] cost 9 ns\n"
                   "dma s reads x[i] writes out[i] cost 1 ns\n}\n");
    spad_tune *made = tune(kernel, 6);
    assert_values(made, 0, "x", "1 2 3 4 5 6");
    assert_values(made, 1, "y", "4 5 6");
    spad_tune_destroy(made);
    spad_kernel_destroy(kernel);
}

/* ---- spaces ------------------------------------------------------------------------ */

static const spad_space spaces[] = {
    {.name = "endless", .lanes = 1, .bytes = SPAD_UNBOUNDED, .alignment = 1, .granule = 1},
    {.name = "wide",
     .lanes = INT64_C(1) << 40,
     .bytes = INT64_C(1) << 40,
     .alignment = 1,
     .granule = 1},
};
static const spad_engine engines[] = {
    {.name = "e", .about = "", .count = 1, .reads = 3, .writes = 3},
    {.name = "f", .about = "", .count = 1, .reads = 3, .writes = 3},
};
static const spad_target target = {.name = "far",
                                   .about = "",
                                   .family = "",
                                   .space_count = 2,
                                   .spaces = spaces,
                                   .engine_count = 2,
                                   .engines = engines};

/* Where the space has no end that can be counted, the usual depths are examined. */
static void a_space_without_end_has_room(void **state) {
    (void)state;
    static const char *const shapes[] = {"endless u8 [40] (64)", "wide u8 [40] (64, 64)"};
    for (size_t i = 0; i < 2; i++) {
        char text[400];
        const spad_kernel_options options = {.target = &target};
        snprintf(text, sizeof text,
                 "kernel k on far\ntensor x : %s ring 1\nfor i in 0..40 {\n"
                 "e load writes x[i] cost 9 ns\nf op reads x[i] cost 9 ns }\n",
                 shapes[i]);
        spad_kernel *kernel = test_parse_with(text, &options);
        assert_int_equal(spad__tune_room(kernel, spad_kernel_get_tensor(kernel, 0)), INT64_MAX);
        spad_tune *made = tune(kernel, 4);
        assert_values(made, 0, "x", "1 2 3 4");
        assert_int_equal(spad_tune_get_knob(made, 0)->chosen, 2);
        spad_tune_destroy(made);
        made = tune(kernel, INT64_MAX);
        assert_int_equal(spad_tune_get_knob(made, 0)->chosen, 2);
        assert_true(spad_tune_get_totals(made).sampled);
        spad_tune_destroy(made);
        spad_kernel_destroy(kernel);
    }
}

/* Depths beyond the first grow by a part of themselves, and stop at the end. */
static void depths_end_within_64_bits(void **state) {
    (void)state;
    assert_int_equal(spad__tune_next(1), 2);
    assert_int_equal(spad__tune_next(15), 16);
    assert_int_equal(spad__tune_next(16), 20);
    assert_int_equal(spad__tune_next(INT64_MAX - 5), INT64_MAX);
    assert_int_equal(spad__tune_next(INT64_MAX), INT64_MAX);
}

/* ---- what is shown ----------------------------------------------------------------- */

static test_text text_of(const spad_tune *made, bool json) {
    test_text text;
    spad_error error;
    test_text_init(&text);
    assert_ok(json ? spad_tune_write(made, SPAD_FORMAT_JSON, &text.sink, &error)
                   : spad_tune_write(made, SPAD_FORMAT_TEXT, &text.sink, &error),
              &error);
    return text;
}

/* Each slot more makes it a little faster: more points than are shown. */
static void many_points_are_counted(void **state) {
    (void)state;
    spad_kernel *kernel = test_parse("kernel k on trn2\n"
                                     "tensor x : sbuf u8 [96] (128, 8) ring 1\n"
                                     "for i in 0..96 {\n"
                                     "if i % 48 < 24 { dma load writes x[i] cost 1 ns }\n"
                                     "else { dma load writes x[i] cost 19 ns }\n"
                                     "vector r reads x[i] cost 10 ns }\n");
    spad_tune *made = tune(kernel, 24);
    test_text text = text_of(made, false);
    assert_int_equal(made->points.count, 18); /* 1 to 16, 20 and 24 */
    assert_non_null(strstr(text.bytes, "   16\n               and 2 more\n"));
    assert_non_null(strstr(text.bytes, "combinations of these depths\n"));
    test_text_free(&text);
    spad_tune_destroy(made);
    spad_kernel_destroy(kernel);
}

/* Nothing fits: no depth is chosen, and times that are not there are null. */
static void nothing_that_fits_is_null(void **state) {
    (void)state;
    spad_kernel *kernel = test_parse("kernel k on trn2\n"
                                     "tensor x : sbuf u8 [4] (128, 300000) ring 1\n"
                                     "for i in 0..4 { dma load writes x[i] cost 9 ns\n"
                                     "vector r reads x[i] cost 9 ns }\n");
    spad_tune *made = tune(kernel, 2);
    test_text text = text_of(made, true);
    assert_null(spad_tune_get_chosen(made));
    assert_non_null(strstr(text.bytes, "\"fits\": false"));
    assert_non_null(strstr(text.bytes, "\"makespan_ps\": null"));
    assert_null(strstr(text.bytes, "\"chosen\""));
    test_text_free(&text);
    spad_tune_destroy(made);
    spad_kernel_destroy(kernel);
}

/* A kernel without rings has no table of depths. */
static void a_kernel_without_rings_has_one_time(void **state) {
    (void)state;
    spad_kernel *kernel = test_parse("kernel k on trn2\nvector op cost 9 ns\n");
    spad_tune *made = tune(kernel, 2);
    test_text text = text_of(made, false);
    assert_int_equal(spad_tune_knob_count(made), 0);
    assert_non_null(strstr(text.bytes, "as it is   9.000 ns\n"));
    assert_null(strstr(text.bytes, "depths\n"));
    test_text_free(&text);
    spad_tune_destroy(made);
    spad_kernel_destroy(kernel);
}

/* Tensors of a loop that cannot be hoisted: off chip, and another name of one. */
static void what_is_not_on_chip_stays_in_its_loop(void **state) {
    (void)state;
    spad_kernel *kernel = test_parse("kernel k on trn2\ntensor a : sbuf u8 (128, 16)\n"
                                     "for i in 0..8 {\ntensor h : hbm u8 (128, 16)\n"
                                     "tensor v : sbuf u8 (128, 16) alias of a\n"
                                     "vector w writes v cost 9 ns\n"
                                     "dma store reads a writes h cost 9 ns\n"
                                     "dma load reads h cost 9 ns }\n");
    spad_tune *made = tune(kernel, 2);
    assert_int_equal(made->hoists.count, 0);
    assert_int_equal(spad_tune_knob_count(made), 0);
    spad_tune_destroy(made);
    spad_kernel_destroy(kernel);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(rings_by_dimension_have_steps),
        cmocka_unit_test(rings_that_other_shapes_need),
        cmocka_unit_test(a_space_without_end_has_room),
        cmocka_unit_test(depths_end_within_64_bits),
        cmocka_unit_test(what_is_not_on_chip_stays_in_its_loop),
        cmocka_unit_test(many_points_are_counted),
        cmocka_unit_test(nothing_that_fits_is_null),
        cmocka_unit_test(a_kernel_without_rings_has_one_time),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
