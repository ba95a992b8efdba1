/* SPDX-License-Identifier: Apache-2.0
 * Lines of the program that a kernel was made from: text, calls, findings. */
#include "kernel/kernel.h"
#include "spad/experimental/kernel_rows.h"
#include "support/kernels.h"
#include "support/support.h"

#include <stdio.h>
#include <string.h>

#include "kernel/kernel_builder.h"
#include "spad/check.h"

static const char text[] = "kernel k on trn2\n"
                           "source 0 \"dir/main.py\" 7\n"
                           "source 1 \"lib.py\" 12 from 0 \"x = nl.ndarray(\\\"a\\\")\"\n"
                           "source 2 \"lib.py\" 14 from 0\n"
                           "tensor out : hbm float32 (128, 4) output from 0\n"
                           "tensor x : sbuf float32 (128, 4) at 0 from 1\n"
                           "tensor y : sbuf float32 (128, 4) at 0\n"
                           "vector set writes x from 1\n"
                           "vector set writes y cost 5 ns from 2\n"
                           "for i in 0..3 {\n"
                           "    dma store reads x writes out from 0\n"
                           "}\n";

static void sources_are_written_and_read(void **state) {
    (void)state;
    spad_kernel *kernel = test_parse(text);
    test_text again;
    spad_error error;
    test_text_init(&again);
    assert_ok(spad_kernel_write_text(kernel, &again.sink, &error), &error);
    assert_string_equal(again.bytes, text);
    test_text_free(&again);
    assert_int_equal(spad_kernel_source_count(kernel), 3);
    assert_null(spad_kernel_get_source(kernel, 3));
    const spad_kernel_source *one = spad_kernel_get_source(kernel, 1);
    assert_string_equal(one->file, "lib.py");
    assert_string_equal(one->code, "x = nl.ndarray(\"a\")");
    assert_int_equal(one->line, 12);
    assert_int_equal(one->caller, 0);
    assert_int_equal(spad_kernel_get_statement(kernel, 0)->source, 0);
    assert_int_equal(spad_kernel_get_statement(kernel, 2)->source, -1);
    assert_int_equal(spad__kernel_find_source(kernel, 9), 2);
    assert_int_equal(spad__kernel_find_source(kernel, 7), -1);  /* a statement without one */
    assert_int_equal(spad__kernel_find_source(kernel, 2), -1);  /* no statement */
    assert_int_equal(spad__kernel_find_source(kernel, 99), -1); /* after the text */
    assert_int_equal(spad__kernel_find_source(kernel, 0), -1);
    spad_kernel_destroy(kernel);
}

static void a_reshaped_kernel_keeps_them(void **state) {
    (void)state;
    spad_kernel *kernel = test_parse(text);
    spad_kernel *same;
    spad_error error;
    assert_ok(spad_kernel_reshape(&same, kernel, NULL, &error), &error);
    assert_int_equal(spad_kernel_source_count(same), 3);
    assert_int_equal(spad__kernel_find_source(same, 9), 2);
    spad_kernel_destroy(same);
    spad_kernel_destroy(kernel);
}

static void findings_name_the_users_lines(void **state) {
    (void)state;
    spad_kernel *kernel = test_parse(text);
    spad_check *check;
    spad_error error;
    assert_ok(spad_check_create(&check, kernel, NULL, &error), &error);
    const spad_finding *f = spad_check_get_finding(check, 0);
    assert_int_equal(f->code, SPAD_FINDING_LIFETIME_CONFLICT);
    assert_string_equal(f->place, "main.py:7");
    assert_string_equal(f->notes[0].place, "lib.py:14, called at main.py:7");
    test_text shown;
    test_text_init(&shown);
    assert_ok(spad_check_write_text(check, kernel, text, sizeof text - 1, &shown.sink, &error),
              &error);
    assert_non_null(strstr(shown.bytes, "    at main.py:7\n"));
    assert_non_null(strstr(shown.bytes, "    at lib.py:14, called at main.py:7\n"));
    test_text_clear(&shown);
    assert_ok(spad_check_write_json(check, kernel, &shown.sink, &error), &error);
    assert_non_null(strstr(shown.bytes, "\"place\": \"lib.py:14, called at main.py:7\""));
    test_text_free(&shown);
    spad_check_destroy(check);
    spad_kernel_destroy(kernel);
}

static void wrong_sources_are_refused(void **state) {
    (void)state;
    static const char *const wrong[][2] = {
        {"source 1 \"a.py\" 3\n", "sources are numbered in their order: this is 0"},
        {"source 0 \"\" 3\n", "a source has a file and a line"},
        {"source 0 \"a.py\" 0 - 3\n", "-3 is no line"},
        {"source 0 \"a.py\" 3 from 0\n", "no such source: 0; there are 0"},
        {"source 0 \"a.py\" 3 from 0 - 2\n", "no such source: -2"},
        {"source 0 7\n", "the name of a file"},
        {"vector a from 0\n", "no such source: 0; there are 0"},
        {"tensor x : sbuf f32 (128, 4) from 5\n", "no such source: 5"},
        {"vector a from b\n", "'b'"},
    };
    for (size_t i = 0; i < sizeof wrong / sizeof wrong[0]; i++) {
        char whole[256];
        spad_kernel *kernel;
        spad_error error;
        snprintf(whole, sizeof whole, "kernel k on trn2\n%s", wrong[i][0]);
        assert_int_equal(
            spad_kernel_parse(&kernel, whole, strlen(whole), "k.spad", NULL, NULL, &error),
            SPAD_ERR_SYNTAX);
        if (strstr(error.message, wrong[i][1]) == NULL) print_error("%s\n", error.message);
        assert_non_null(strstr(error.message, wrong[i][1]));
    }
}

static spad_status build(const spad_host *host, void *context) {
    (void)context;
    const spad_kernel_options options = {.host = host};
    const spad_target *chip;
    spad__kernel_builder *b;
    spad_kernel *kernel = NULL;
    int64_t source;
    spad_status status = spad_target_find(&chip, "trn2", NULL);
    if (status == SPAD_OK) {
        status = spad__kernel_builder_create(&b, "k", "", chip, &options, NULL);
    }
    if (status != SPAD_OK) return status;
    status = spad__kernel_builder_source(&source, b, "a.py", 3, "code", -1, NULL);
    if (status == SPAD_OK) status = spad__kernel_builder_from(b, source, NULL);
    if (status == SPAD_OK) status = spad__kernel_builder_operation(b, "vector", "op", NULL);
    if (status == SPAD_OK) status = spad__kernel_builder_finish(&kernel, b, NULL);
    if (status == SPAD_OK) assert_int_equal(spad_kernel_get_statement(kernel, 0)->source, 0);
    spad_kernel_destroy(kernel);
    spad__kernel_builder_destroy(b);
    return status;
}

static void calls_make_them_too(void **state) {
    (void)state;
    const spad_target *chip;
    spad__kernel_builder *b;
    spad_error error;
    int64_t source = 5;
    test_fail_each_allocation(build, NULL);
    assert_ok(spad_target_find(&chip, "trn2", &error), &error);
    assert_ok(spad__kernel_builder_create(&b, "k", "", chip, NULL, &error), &error);
    assert_int_equal(spad__kernel_builder_source(&source, b, NULL, 3, NULL, -1, &error),
                     SPAD_ERR_ARGUMENT);
    assert_int_equal(spad__kernel_builder_source(&source, b, "a", -1, NULL, -1, &error),
                     SPAD_ERR_ARGUMENT);
    assert_int_equal(source, -1);
    assert_int_equal(spad__kernel_builder_from(b, 0, &error), SPAD_ERR_UNKNOWN);
    assert_int_equal(spad__kernel_builder_from(b, -2, &error), SPAD_ERR_UNKNOWN);
    spad__kernel_builder_destroy(b);
}

/* An error of the program is a finding of each check, and stays with the kernel. */
static void faults_are_findings(void **state) {
    (void)state;
    static const char faulty[] = "kernel k on trn2\n"
                                 "source 0 \"a.py\" 12\n"
                                 "fault \"it traps\" 3 from 0\n"
                                 "fault \"it ends early\"\n";
    spad_kernel *kernel = test_parse(faulty);
    spad_check *check;
    spad_error error;
    test_text again;
    test_text_init(&again);
    assert_ok(spad_kernel_write_text(kernel, &again.sink, &error), &error);
    assert_string_equal(again.bytes, faulty);
    test_text_free(&again);
    assert_ok(spad_check_create(&check, kernel, NULL, &error), &error);
    assert_int_equal(spad_check_get_verdict(check), SPAD_VERDICT_WRONG);
    assert_int_equal(spad_check_finding_count(check), 2);
    const spad_finding *late = spad_check_get_finding(check, 0);
    const spad_finding *early = spad_check_get_finding(check, 1);
    assert_int_equal(late->code, SPAD_FINDING_EXECUTION);
    assert_string_equal(late->message, "it ends early");
    assert_string_equal(late->place, "");
    assert_string_equal(early->message, "it traps");
    assert_string_equal(early->place, "a.py:12");
    assert_int_equal(early->count, 3);
    assert_int_equal(early->line, 3);
    assert_int_equal(early->program.line, 0); /* the text is the user's own */
    spad_check_destroy(check);
    static const char program[] = "1\n2\n3\n4\n5\n6\n7\n8\n9\n10\n11\n\ta = b\r\n13";
    assert_ok(spad_kernel_set_program(kernel, "a.py", program, strlen(program), &error), &error);
    assert_string_equal(spad_kernel_get_source(kernel, 0)->code, " a = b");
    assert_ok(spad_kernel_set_program(kernel, "a.py", "short", 5, &error), &error);
    assert_string_equal(spad_kernel_get_source(kernel, 0)->code, " a = b");
    assert_int_equal(spad_kernel_set_program(kernel, "b.py", "", 0, &error), SPAD_ERR_UNKNOWN);
    assert_string_equal(error.message, "no source is in the file 'b.py'");
    spad_kernel_destroy(kernel);
}

/* A chain that is longer than the field ends with a whole place. */
static void long_chains_are_cut(void **state) {
    (void)state;
    char deep[8192] = "kernel k on trn2\nsource 0 \"file_with_a_name_of_some_length.py\" 1\n";
    for (int i = 1; i < 20; i++) {
        char row[128];
        snprintf(row, sizeof row, "source %d \"file_with_a_name_of_some_length.py\" %d from %d\n",
                 i, i + 1, i - 1);
        strncat(deep, row, sizeof deep - strlen(deep) - 1);
    }
    strncat(deep, "tensor x : sbuf f32 (128, 4) from 19\n", sizeof deep - strlen(deep) - 1);
    spad_kernel *kernel = test_parse(deep);
    spad_check *check;
    spad_error error;
    assert_ok(spad_check_create(&check, kernel, NULL, &error), &error);
    const spad_finding *f = spad_check_get_finding(check, 0); /* never used */
    assert_string_equal(f->place, "file_with_a_name_of_some_length.py:20, called at "
                                  "file_with_a_name_of_some_length.py:19, called at "
                                  "file_with_a_name_of_some_length.py:18, called at "
                                  "file_with_a_name_of_some_length.py:17");
    spad_check_destroy(check);
    spad_kernel_destroy(kernel);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(sources_are_written_and_read),
        cmocka_unit_test(a_reshaped_kernel_keeps_them),
        cmocka_unit_test(findings_name_the_users_lines),
        cmocka_unit_test(wrong_sources_are_refused),
        cmocka_unit_test(calls_make_them_too),
        cmocka_unit_test(faults_are_findings),
        cmocka_unit_test(long_chains_are_cut),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
