/* SPDX-License-Identifier: Apache-2.0
 *
 * The simulator with figures at the ends of 64 bits, with options that are wrong, and its text
 * where there is much or little to show. */
#include <stdio.h>
#include <string.h>

#include "sim/sim_report.h"
#include "spad/spad.h"
#include "support/kernels.h"
#include "support/support.h"

/* ---- costs ------------------------------------------------------------------------- */

static const spad_space far_spaces[] = {
    {.name = "pad", .lanes = 1, .bytes = SPAD_UNBOUNDED, .alignment = 1, .granule = 1},
    {.name = "wide", .lanes = 1 << 20, .bytes = SPAD_UNBOUNDED, .alignment = 1, .granule = 1},
};

/* One operation of an engine with these figures. */
static spad_status run_on(spad_engine engine, const char *text, spad_error *error) {
    engine.name = "e";
    engine.about = "";
    engine.count = 4;
    engine.reads = engine.writes = 3;
    const spad_target target = {.name = "far",
                                .about = "",
                                .family = "",
                                .space_count = 2,
                                .spaces = far_spaces,
                                .engine_count = 1,
                                .engines = &engine};
    const spad_kernel_options options = {.target = &target};
    spad_kernel *kernel = test_parse_with(text, &options);
    spad_sim *sim;
    const spad_status status = spad_sim_create(&sim, kernel, NULL, error);
    spad_sim_destroy(sim);
    spad_kernel_destroy(kernel);
    return status;
}

#define OP(type, bytes, clauses) \
    "kernel k on far\ntensor t : pad " type " (" bytes ")\ne op " clauses

static void costs_that_do_not_fit_are_refused(void **state) {
    (void)state;
    static const struct {
        spad_engine engine;
        const char *text;
        spad_status status;
    } cases[] = {
        /* transfers: the bytes, their time, the start-up */
        {{.bytes_per_us = 1000}, OP("u8", "4096", "writes t\n"), SPAD_OK},
        {{.bytes_per_us = 1}, OP("u8", "1152921504606846976", "writes t\n"), SPAD_ERR_OVERFLOW},
        {{.bytes_per_us = 1000, .fixed_ns = INT64_MAX},
         OP("u8", "8", "writes t\n"),
         SPAD_ERR_OVERFLOW},
        {{.bytes_per_us = INT64_MAX},
         OP("u8", "4611686018427387904", "reads t, t, t\n"),
         SPAD_ERR_OVERFLOW},
        {{.bytes_per_us = 1000, .fixed_ns = 4000000000000000},
         OP("u8", "8", "writes t\ne op reads t\ne op writes t\n"),
         SPAD_ERR_OVERFLOW},
        /* computing: the elements, the cycles, what is added to dependent operations */
        {{.clock_khz = 1000, .width = 1}, OP("u8", "4096", "writes t\n"), SPAD_OK},
        {{.clock_khz = 1, .width = 1},
         OP("u8", "1152921504606846976", "writes t\n"),
         SPAD_ERR_OVERFLOW},
        {{.clock_khz = 1, .width = 1, .fixed_cycles = INT64_MAX},
         OP("u8", "8", "writes t\n"),
         SPAD_ERR_OVERFLOW},
        {{.clock_khz = 1, .width = 1, .min_cycles = INT64_MAX},
         OP("u8", "8", "writes t\n"),
         SPAD_ERR_OVERFLOW},
        {{.clock_khz = 1000, .width = 1},
         "kernel k on far\ntensor t : wide u8 (8, 140737488355328)\ne op writes t\n",
         SPAD_ERR_OVERFLOW},
        /* without figures every operation counts as the same */
        {{.clock_khz = 1000}, OP("u8", "4611686018427387904", "writes t\n"), SPAD_OK},
        {{.width = 1}, OP("u8", "4611686018427387904", "writes t\n"), SPAD_OK},
        {{0}, OP("u8", "8", "writes t cost 9223372036854775807 cycles\n"), SPAD_ERR_OVERFLOW},
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        spad_error error = {0};
        const spad_status status = run_on(cases[i].engine, cases[i].text, &error);
        if (status != cases[i].status) print_error("case %zu: %s\n", i, error.message);
        assert_int_equal(status, cases[i].status);
        if (status != SPAD_OK) assert_non_null(strstr(error.message, "more than 2^63 picoseconds"));
    }
}

/* Sums over a loop that is not run to its end. */
static void sums_of_skipped_loops_are_checked(void **state) {
    (void)state;
    static const struct {
        const char *body;
        int64_t trips;
        spad_status status;
    } cases[] = {
        {"vector op cost 0 ns", INT64_MAX - 1, SPAD_OK},
        {"vector op cost 0 ns\nvector op cost 0 ns", INT64_MAX - 1,
         SPAD_ERR_OVERFLOW},                                       /* a count */
        {"vector op cost 1 ns", INT64_MAX - 1, SPAD_ERR_OVERFLOW}, /* the time */
        /* the waits of two engines are longer than the whole */
        {"dma load writes t cost 1 ns\nvector op reads t cost 1 ns\nscalar op reads t cost 1 ns",
         INT64_MAX / 2200, SPAD_OK},
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        spad_error error = {0};
        char text[500];
        spad_sim *sim;
        snprintf(text, sizeof text,
                 "kernel k on trn2\ntensor t : sbuf u8 (128, 4)\nfor i in 0..%lld {\n%s\n}\n",
                 (long long)cases[i].trips, cases[i].body);
        spad_kernel *kernel = test_parse(text);
        const spad_status status = spad_sim_create(&sim, kernel, NULL, &error);
        assert_int_equal(status, cases[i].status);
        if (status == SPAD_OK) {
            assert_true(spad_sim_get_totals(sim).operations >= cases[i].trips);
        } else {
            assert_non_null(strstr(error.message, "more than 2^63 picoseconds or operations"));
        }
        spad_sim_destroy(sim);
        spad_kernel_destroy(kernel);
    }
}

/* ---- options ----------------------------------------------------------------------- */

static void options_that_are_wrong_are_refused(void **state) {
    (void)state;
    spad_error error = {0};
    spad_sim *sim;
    spad_kernel *kernel = test_parse("kernel k on trn2\nvector op cost 1 ns\n");
    static const spad_sim_options wrong[] = {{.operation_limit = -3}, {.repeat_after = -3}};
    for (size_t i = 0; i < sizeof wrong / sizeof wrong[0]; i++) {
        assert_int_equal(spad_sim_create(&sim, kernel, &wrong[i], &error), SPAD_ERR_ARGUMENT);
        assert_string_equal(error.message, "a limit of -3 operations is negative");
        assert_null(sim);
    }
    assert_ok(spad_sim_create(&sim, kernel, NULL, &error), &error);
    const size_t engines = spad_kernel_get_target(kernel)->engine_count;
    assert_int_equal(spad__sim_get_engine(sim, engines).operations, 0); /* beyond the last */
    assert_int_equal(spad__sim_get_engine(sim, SIZE_MAX).busy, 0);
    spad_sim_destroy(sim);
    spad_kernel_destroy(kernel);
}

/* ---- text -------------------------------------------------------------------------- */

static test_text text_of(const char *source) {
    spad_error error;
    spad_sim *sim;
    test_text text;
    const spad_sim_options options = {.repeat_after = 1};
    spad_kernel *kernel = test_parse(source);
    test_text_init(&text);
    assert_ok(spad_sim_create(&sim, kernel, &options, &error), &error);
    assert_ok(spad_sim_write(sim, SPAD_FORMAT_TEXT, &text.sink, &error), &error);
    spad_sim_destroy(sim);
    spad_kernel_destroy(kernel);
    return text;
}

/* Does the text have `length` times the letter, one after another? */
static bool has_run(const char *text, char letter, size_t length) {
    size_t run = 0;
    for (; *text != '\0' && run < length; text++) run = *text == letter ? run + 1 : 0;
    return run == length;
}

static void the_timeline_has_letters_of_operations(void **state) {
    (void)state;
    test_text text = text_of("kernel k on trn2\nvector Add cost 10 ns\nvector _op cost 10 ns\n"
                             "vector zero cost 0 ns\nscalar mul cost 20 ns\n");
    assert_true(has_run(text.bytes, 'a', 3));
    assert_true(has_run(text.bytes, 'X', 3)); /* no letter, and the other of two in turn */
    assert_true(has_run(text.bytes, 'm', 3));
    assert_false(has_run(text.bytes, 'z', 3)); /* it takes no time */
    test_text_free(&text);
}

static void many_repetitions_are_counted(void **state) {
    (void)state;
    char source[1000] = "kernel k on trn2\n";
    for (int i = 0; i < 6; i++) {
        snprintf(source + strlen(source), sizeof source - strlen(source),
                 "for i%d in 0..5000 { vector op cost %d + i%d %% 2 ns }\n", i, 3 + i, i);
    }
    test_text text = text_of(source);
    assert_non_null(strstr(text.bytes, "repeats    loop i0 from "));
    assert_non_null(strstr(text.bytes, ": 2 iterations in "));
    assert_non_null(strstr(text.bytes, "repeats    loop i3 from "));
    assert_null(strstr(text.bytes, "repeats    loop i4 from "));
    assert_non_null(strstr(text.bytes, "           and 2 more\n"));
    test_text_free(&text);
}

static void a_kernel_without_operations_has_no_timeline(void **state) {
    (void)state;
    test_text text = text_of("kernel k on trn2\n");
    assert_non_null(strstr(text.bytes, "operations: 0"));
    assert_null(strstr(text.bytes, "a column"));
    test_text_free(&text);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(costs_that_do_not_fit_are_refused),
        cmocka_unit_test(sums_of_skipped_loops_are_checked),
        cmocka_unit_test(options_that_are_wrong_are_refused),
        cmocka_unit_test(the_timeline_has_letters_of_operations),
        cmocka_unit_test(many_repetitions_are_counted),
        cmocka_unit_test(a_kernel_without_operations_has_no_timeline),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
