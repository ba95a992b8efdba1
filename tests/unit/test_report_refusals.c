/* SPDX-License-Identifier: Apache-2.0
 * Reports: what cannot be drawn or compared, and what is cut short. */
#include <stdio.h>
#include <string.h>

#include "spad/experimental/report_parts.h"
#include "support/kernels.h"
#include "support/reports.h"

static void refuse(spad_report *report, spad_report_box box, spad_status status,
                   const char *message) {
    spad_error error;
    assert_int_equal(spad_report_add_box(report, &box, &error), status);
    assert_string_equal(error.message, message);
}

static void what_cannot_be_drawn_is_refused(void **state) {
    (void)state;
    spad_report *report = test_report_new();
    spad_error error;
    spad_report_box box = test_box("b", 0, 1, 0, 4, 3, 3);
    refuse(report, box, SPAD_ERR_ARGUMENT, "a box lives from 3 to 3: that is not a time range");
    box.end = 4;
    box.space = 2;
    refuse(report, box, SPAD_ERR_ARGUMENT, "target toy has no space number 2");
    box.space = 0;
    box.padding = 5;
    refuse(report, box, SPAD_ERR_ARGUMENT,
           "a box of 1 lanes and 4 bytes, 5 of them padding, cannot be drawn");
    box.padding = 0;
    box.rect.byte = INT64_MAX - 1;
    refuse(report, box, SPAD_ERR_OVERFLOW, "the sizes or times of the boxes do not fit 64 bits");
    const spad_report_bar bar = {.row = "e", .begin = 4, .end = 4, .ready = 4};
    assert_int_equal(spad_report_add_bar(report, &bar, &error), SPAD_ERR_ARGUMENT);
    assert_string_equal(error.message,
                        "a bar that is ready at 4 and runs from 4 to 4 cannot be drawn");
    for (int i = 0; i < 16; i++) assert_ok(spad_report_add_note(report, "n", &error), &error);
    assert_int_equal(spad_report_add_note(report, "n", &error), SPAD_ERR_ARGUMENT);
    assert_string_equal(error.message, "a report has at most 16 notes");
    spad_report_space facts;
    assert_int_equal(spad_report_get_space(&facts, report, 2, &error), SPAD_ERR_ARGUMENT);
    assert_int_equal(spad_report_box_count(report), 0);
    spad_report_destroy(report);
    assert_int_equal(spad_report_create(&report, NULL, NULL, &error), SPAD_ERR_ARGUMENT);
    assert_string_equal(error.message, "a report needs a target with memory spaces");
    assert_null(report);
    spad_report_destroy(NULL);
    spad_report_diff_destroy(NULL);
}

/* One field wrong at a time. */
static void each_wrong_field_is_refused(void **state) {
    (void)state;
    spad_report *report = test_report_new();
    spad_error error;
    const spad_report_box good = test_box("b", 0, 1, 0, 4, 0, 4);
    spad_report_box bad[13];
    for (size_t i = 0; i < 13; i++) bad[i] = good;
    bad[0].rect.bytes = -1;
    bad[1].rect.lanes = -1;
    bad[2].padding = -1;
    bad[3].padding = 5;
    bad[4].shape.rank = SPAD_RANK_MAX + 1;
    bad[5].slots = -1;
    bad[6].mode = SPAD_MODE_COUNT;
    bad[7].family = SPAD_NO_FAMILY - 1;
    bad[8].family = (int64_t)INT32_MAX + 1;
    bad[9].rounding = -1;
    bad[10].alignment = -1;
    bad[11].rect.lane = INT64_MAX;
    bad[12].begin = INT64_MIN;
    for (size_t i = 0; i < 13; i++) {
        assert_int_equal(spad_report_add_box(report, &bad[i], &error),
                         i < 11 ? SPAD_ERR_ARGUMENT : SPAD_ERR_OVERFLOW);
        assert_string_equal(error.subject, "b");
        assert_int_equal(spad_report_box_count(report), 0);
    }
    spad_report_box large = good; /* two of them are more bytes than a number holds */
    large.rect.bytes = INT64_MAX;
    test_report_add(report, large);
    large.rect.byte = SPAD_NO_BYTE;
    assert_int_equal(spad_report_add_box(report, &large, &error), SPAD_ERR_OVERFLOW);
    static const spad_report_bar bars[] = {
        {.row = NULL, .begin = 1, .end = 2, .ready = 1},
        {.row = "e", .begin = 1, .end = 1, .ready = 1},
        {.row = "e", .begin = 1, .end = 2, .ready = 2},
        {.row = "e", .begin = 1, .end = INT64_MAX, .ready = -1},
        {.row = "e", .begin = 1, .end = 2, .ready = 1, .reads = -1},
        {.row = "e", .begin = 1, .end = 2, .ready = 1, .writes = -1},
    };
    for (size_t i = 0; i < sizeof bars / sizeof bars[0]; i++) {
        assert_int_equal(spad_report_add_bar(report, &bars[i], &error), SPAD_ERR_ARGUMENT);
    }
    static const spad_target nothing = {.name = "nothing"};
    spad_report *none;
    assert_int_equal(spad_report_create(&none, &nothing, NULL, &error), SPAD_ERR_ARGUMENT);
    assert_null(none);
    assert_int_equal(spad_report_box_count(report), 1);
    spad_report_destroy(report);
}

/* Boxes without a name or an address, other lanes, and memories that only one side has. */
static void a_comparison_names_what_is_strange(void **state) {
    (void)state;
    spad_report *a = test_report_new();
    spad_report *b = test_report_new();
    test_report_add(a, test_box(NULL, 0, 1, 0, 4, 0, 4));
    test_report_add(b, test_box(NULL, 0, 3, 0, 4, 0, 4));
    test_report_add(a, test_box("lost", 0, 1, SPAD_NO_BYTE, 4, 0, 4));
    spad_report_box far = test_box("far", 0, 1, 64, 4, 0, 4);
    far.space = 1;
    test_report_add(b, far);
    spad_report_diff *diff;
    spad_error error;
    test_text text;
    test_text_init(&text);
    assert_ok(spad_report_diff_create(&diff, a, b, NULL, &error), &error);
    assert_ok(spad_report_diff_write(diff, SPAD_FORMAT_TEXT, &text.sink, &error), &error);
    assert_non_null(strstr(text.bytes, "(1 -> 3 lanes)"));
    assert_non_null(strstr(text.bytes, "gone: 4 B at no address"));
    assert_non_null(strstr(text.bytes, "new: 4 B at 64"));
    assert_non_null(
        strstr(text.bytes, "  far                  live peak             0 ->             4 B"));
    test_text_free(&text);
    spad_report_diff_destroy(diff);
    spad_report_destroy(a);
    spad_report_destroy(b);
}

/* Long lists are cut, long names too, findings without a line and bars without a name are shown. */
static void long_reports_are_cut(void **state) {
    (void)state;
    spad_report *report = test_report_new();
    spad_error error;
    char name[96];
    for (int i = 0; i < 30; i++) {
        snprintf(name, sizeof name, "%c%s", 'a' + i % 26,
                 i % 2 == 0 ? "_a_name_that_goes_on_and_on_and_on_and_on_until_it_does_not_fit"
                            : "");
        test_report_add(report, test_box(name, i % 3, 1, i, 1, 0, 4));
    }
    spad_report_box far = test_box("below", 0, 1, -3000, 100, 0, 4);
    far.space = 1;
    test_report_add(report, far);
    test_report_add(report, test_box("none", 0, 1, SPAD_NO_BYTE, 4, 0, 4));
    test_report_add(report, test_box("empty", 0, 1, 3, 0, 0, 4));
    const spad_report_bar bar = {.row = "e", .begin = 1, .end = 2, .ready = 1};
    assert_ok(spad_report_add_bar(report, &bar, &error), &error);
    const spad_finding finding = {
        .code = SPAD_FINDING_DEAD_WRITE, .severity = SPAD_SEVERITY_WARNING, .message = "something"};
    assert_ok(spad_report_add_finding(report, &finding, &error), &error);
    char note[400];
    memset(note, 'x', sizeof note - 1); /* no blank to break it at */
    note[sizeof note - 1] = '\0';
    memcpy(note + 130, "\xE2\x82\xAC\xE2\x82\xAC\xE2\x82\xAC\xE2\x82\xAC", 12);
    assert_ok(spad_report_add_note(report, note, &error), &error);
    assert_ok(spad_report_set_source(report, NULL, "text", 4, &error), &error);
    static const struct {
        int writer;
        const char *piece;
    } cases[] = {{0, "smaller ones\n"}, {0, "something"}, {0, "-3"}, {4, "(unnamed)"}};
    for (int w = 0; w < TEST_FORMATS; w++) {
        test_text text;
        test_text_init(&text);
        assert_ok(spad_report_write(report, test_formats[w], &text.sink, &error), &error);
        assert_true(text.count > 0);
        for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
            if (cases[i].writer != w) continue;
            if (strstr(text.bytes, cases[i].piece) == NULL) print_error("%s\n", text.bytes);
            assert_non_null(strstr(text.bytes, cases[i].piece));
        }
        test_text_free(&text);
    }
    spad_report_destroy(report);
}

static void another_target_is_refused(void **state) {
    (void)state;
    const spad_target other = {
        .name = "other", .space_count = 1, .spaces = test_report_target.spaces};
    spad_trace *trace;
    spad_error error;
    assert_ok(spad_trace_create(&trace, &other, NULL, &error), &error);
    spad_report *report = test_report_new();
    assert_int_equal(spad_report_add_trace(report, trace, &error), SPAD_ERR_ARGUMENT);
    assert_string_equal(error.message, "the trace is of another target than 'toy'");
    spad_trace_destroy(trace);
    spad_kernel *kernel = test_parse(test_ring_text);
    spad_layout *layout;
    assert_ok(spad_layout_create(&layout, kernel, NULL, &error), &error);
    assert_int_equal(spad_report_add_layout(report, layout, NULL, 0, &error), SPAD_ERR_ARGUMENT);
    assert_string_equal(error.message, "the kernel is for another target than 'toy'");
    spad_layout_destroy(layout);
    spad_kernel_destroy(kernel);
    spad_report_destroy(report);
}

/* Numbers at the ends of 64 bits: nothing overflows, everything is written. */
static void extreme_numbers_are_written(void **state) {
    (void)state;
    spad_report *report = test_report_new();
    spad_report_box box = test_box("far", 0, 1, INT64_MAX - 10, 10, INT64_MAX - 5, INT64_MAX);
    test_report_add(report, box);
    box = test_box("low", -3, 2, INT64_MIN + 1, 5, INT64_MIN, INT64_MIN + 3);
    test_report_add(report, box);
    const spad_report_bar bar = {
        .row = "e", .name = "op", .begin = INT64_MAX - 2, .end = INT64_MAX, .ready = 1};
    spad_error error;
    assert_ok(spad_report_add_bar(report, &bar, &error), &error);
    for (int w = 0; w < TEST_FORMATS; w++) {
        test_text text;
        test_text_init(&text);
        assert_ok(spad_report_write(report, test_formats[w], &text.sink, &error), &error);
        test_text_free(&text);
    }
    spad_report_destroy(report);
}

static const char refused_text[] = "kernel refused on trn2\n"
                                   "param N = 3\n"
                                   "tensor in : hbm bf16 (128, 60000) input\n"
                                   "scope outer {\n"
                                   "    tensor a : sbuf bf16 (128, 60000) stack\n"
                                   "    dma load reads in writes a\n"
                                   "    for i in 0..N { scope inner {\n"
                                   "        tensor s : sbuf bf16 (128, 16) heap\n"
                                   "        scalar exp reads a(.., 0..16) writes s\n"
                                   "        free s } }\n"
                                   "    tensor b : sbuf bf16 (128, 50000) stack\n"
                                   "    scalar exp reads a(.., 0..50000) writes b\n"
                                   "}\n";

static spad_status draw_refused(const spad_host *host, void *context) {
    const spad_report_options drawn = {.host = host};
    const spad_analysis *analysis = context;
    const spad_kernel *kernel = spad_analysis_get_kernel(analysis);
    spad_report *report = NULL;
    spad_error error;
    spad_report_space facts;
    spad_status status =
        spad_report_create(&report, spad_kernel_get_target(kernel), &drawn, &error);
    if (status == SPAD_OK) {
        status = spad_report_add_analysis(report, analysis, &error);
        if (status != SPAD_OK) assert_int_equal(spad_report_box_count(report), 0);
    }
    if (status == SPAD_OK) {
        const size_t last = spad_report_box_count(report) - 1;
        const spad_report_box *box = spad_report_get_box(report, last);
        assert_int_equal(last, 4); /* a, three times s, b */
        assert_string_equal(box->name, "b");
        assert_int_equal(box->rect.byte, SPAD_NO_BYTE);
        assert_int_equal(box->line, 11);
        status = spad_report_get_space(&facts, report, 0, &error);
        if (status == SPAD_OK) assert_int_equal(facts.peak_bytes, 220000);
    }
    spad_report_destroy(report);
    return status;
}

/* A scoped manager that refuses a tensor: what it holds is drawn, and the tensor. */
static void what_a_manager_refuses_is_drawn(void **state) {
    (void)state;
    spad_error error;
    spad_kernel *kernel;
    assert_ok(spad_kernel_parse(&kernel, refused_text, strlen(refused_text), "r.spad", NULL, NULL,
                                &error),
              &error);
    spad_analysis *analysis;
    assert_ok(spad_analysis_create(&analysis, kernel, NULL, &error), &error);
    test_fail_each_with_retries(draw_refused, analysis); /* the refusal can do without its facts */
    spad_analysis_destroy(analysis);
    spad_kernel_destroy(kernel);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(what_a_manager_refuses_is_drawn),
        cmocka_unit_test(each_wrong_field_is_refused),
        cmocka_unit_test(a_comparison_names_what_is_strange),
        cmocka_unit_test(long_reports_are_cut),
        cmocka_unit_test(what_cannot_be_drawn_is_refused),
        cmocka_unit_test(another_target_is_refused),
        cmocka_unit_test(extreme_numbers_are_written),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
