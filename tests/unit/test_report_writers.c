/* SPDX-License-Identifier: Apache-2.0
 * Reports: names, numbers and times of every kind, in the form of each writer; and what becomes
 * of traces, plans and comparisons that are unusual. */
#include <stdio.h>
#include <string.h>

#include "base/text.h"
#include "report/report.h"
#include "spad/experimental/report_parts.h"
#include "spad/experimental/trace_queries.h"
#include "support/reports.h"

static test_text written(const spad_report *report, spad_format format) {
    spad_error error;
    test_text text;
    test_text_init(&text);
    assert_ok(spad_report_write(report, format, &text.sink, &error), &error);
    return text;
}

static bool holds(const test_text *text, const char *piece, size_t length) {
    for (size_t i = 0; i + length <= text->count; i++) {
        if (memcmp(text->bytes + i, piece, length) == 0) return true;
    }
    return false;
}

/* ---- names ------------------------------------------------------------------------- */

static void each_writer_shows_names_in_its_form(void **state) {
    (void)state;
    static const struct {
        const char *name;
        const char *text, *svg, *html;
    } cases[] = {
        {"plain", "plain", "plain", "\"plain\""},
        {NULL, "(unnamed)", "(unnamed)", "null"},
        {"", "(unnamed)", "(unnamed)", "\"\""},
        {"bad\xFFutf", "bad?utf", "bad\xEF\xBF\xBDutf", "\"bad\\ufffdutf\""},
        {"end\xC3", "end?", "end\xEF\xBF\xBD", "\"end\\ufffd\""},
        {"li\nne", "li?ne", "li\xEF\xBF\xBDne", "\"li\\u000ane\""},
        {"de\x7Fl", "de?l", "de\xEF\xBF\xBDl", "\"de\\u007fl\""},
        {"quo\"te\\", "quo\"te\\", "quo&#34;te\\", "\"quo\\\"te\\\\\""},
        {"<i>&'", "<i>&'", "&#60;i&#62;&#38;&#39;", "\"\\u003ci\\u003e\\u0026'\""},
        {"se\xE2\x80\xA8p", "se?p", "se\xEF\xBF\xBDp", "\"se\\u2028p\""},
        {"se\xE2\x80\xA9q", "se?q", "se\xEF\xBF\xBDq", "\"se\\u2029q\""},
        {"[first]", "[first]", "[first]", "\"[first]\""},
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        const struct {
            spad_format format;
            const char *piece;
        } forms[] = {{SPAD_FORMAT_TEXT, cases[i].text},
                     {SPAD_FORMAT_SVG, cases[i].svg},
                     {SPAD_FORMAT_HTML, cases[i].html}};
        spad_report *report = test_report_new();
        test_report_add(report, test_box(cases[i].name, 0, 4, 0, 36, 0, 24));
        for (size_t f = 0; f < sizeof forms / sizeof forms[0]; f++) {
            test_text text = written(report, forms[f].format);
            if (!holds(&text, forms[f].piece, strlen(forms[f].piece))) {
                print_error("case %zu, form %zu: no %s\n", i, f, forms[f].piece);
                fail();
            }
            test_text_free(&text);
        }
        spad_report_destroy(report);
    }
}

static void sizes_are_short(void **state) {
    (void)state;
    static const struct {
        int64_t bytes;
        const char *text;
    } cases[] = {{0, "0 B"},           {1023, "1023 B"},
                 {1024, "1 KiB"},      {1536, "1.5 KiB"},
                 {2017, "2 KiB"}, /* 1.97 */
                 {-1536, "-1.5 KiB"},  {INT64_C(3) << 40, "3 TiB"},
                 {INT64_MAX, "8 EiB"}, {INT64_MIN, "-8 EiB"}};
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        spad_error error;
        test_text text;
        test_text_init(&text);
        spad__out out;
        spad__out_start_text(&out, &text.sink);
        spad__out_bytes_short(&out, cases[i].bytes);
        assert_ok(spad__out_finish(&out, &error), &error);
        assert_string_equal(text.bytes, cases[i].text);
        test_text_free(&text);
    }
}

/* ---- traces ------------------------------------------------------------------------ */

static void allocate(spad_trace *trace, spad_tensor tensor) {
    spad_error error;
    int64_t number;
    assert_ok(spad_trace_alloc(&number, trace, &tensor, tensor.rect.byte, &error), &error);
}

static void padding_is_known_from_shape_and_type(void **state) {
    (void)state;
    static const int64_t good[] = {4, 10};
    static const int64_t wrong[] = {4, -1};
    static const struct {
        spad_shape shape;
        spad_dtype dtype;
        size_t space;
        int64_t bytes;
        int64_t padding;
    } cases[] = {
        {{.rank = 0}, SPAD_UINT8, 0, 16, 0},
        {{.rank = 2, .dims = good}, SPAD_DTYPE_NONE, 0, 16, 0},
        {{.rank = 2, .dims = good}, SPAD_UINT8, 0, 16, 6},
        {{.rank = 2, .dims = good}, SPAD_UINT8, 1, 64, 24}, /* of one lane */
        {{.rank = 2, .dims = good}, SPAD_UINT8, 0, 8, 0},   /* a smaller place */
        {{.rank = 2, .dims = wrong}, SPAD_UINT8, 0, 8, 0},  /* a wrong shape */
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        spad_error error;
        spad_trace *trace;
        assert_ok(spad_trace_create(&trace, &test_report_target, NULL, &error), &error);
        allocate(trace, (spad_tensor){.name = "x",
                                      .shape = cases[i].shape,
                                      .dtype = cases[i].dtype,
                                      .mode = SPAD_MODE_AT,
                                      .space = cases[i].space,
                                      .rect = {0, 1, 0, cases[i].bytes},
                                      .scope = -1});
        spad_report *report = test_report_new();
        assert_ok(spad_report_add_trace(report, trace, &error), &error);
        assert_int_equal(spad_report_get_box(report, 0)->padding, cases[i].padding);
        spad_report_destroy(report);
        spad_trace_destroy(trace);
    }
}

/* Scopes deeper than the timeline has rows share the last one. */
static void deep_scopes_share_a_row(void **state) {
    (void)state;
    enum { DEPTH = 40 };
    spad_error error;
    spad_trace *trace;
    int64_t parent = -1;
    assert_ok(spad_trace_create(&trace, &test_report_target, NULL, &error), &error);
    for (int i = 0; i < DEPTH; i++) {
        assert_ok(spad_trace_open_scope(&parent, trace, 0, "s", 2, parent, 0, &error), &error);
        allocate(trace, (spad_tensor){.name = "x",
                                      .shape = {.rank = 0},
                                      .mode = i % 2 == 0 ? SPAD_MODE_STACK : SPAD_MODE_HEAP,
                                      .rect = {0, 1, 0, 8},
                                      .scope = parent,
                                      .section = 1});
    }
    spad_report *report = test_report_new();
    assert_ok(spad_report_add_trace(report, trace, &error), &error);
    /* sections are slots for what is on the stack only */
    assert_int_equal(spad_report_get_box(report, 0)->slots, 2);
    assert_int_equal(spad_report_get_box(report, 0)->slot, 1);
    assert_int_equal(spad_report_get_box(report, 1)->slots, 0);
    test_text text = written(report, SPAD_FORMAT_JSON);
    assert_non_null(strstr(text.bytes, "\"pad scope 31\""));
    assert_non_null(strstr(text.bytes, "\"pad scope 32+\""));
    assert_null(strstr(text.bytes, "\"pad scope 33"));
    test_text_free(&text);
    spad_report_destroy(report);
    spad_trace_destroy(trace);
}

/* ---- plans ------------------------------------------------------------------------- */

static spad_plan *plan_of(const char *csv) {
    spad_error error;
    spad_plan *plan;
    assert_ok(spad_plan_create(&plan, NULL, &error), &error);
    assert_ok(spad_plan_read_csv(plan, csv, strlen(csv), "x.csv", NULL, &error), &error);
    return plan;
}

static void gaps_and_windows_become_boxes(void **state) {
    (void)state;
    static const spad_plan_gap gaps[] = {{0, 2, 0, 0},   /* from the beginning: no box before it */
                                         {4, 6, 2, 6},   /* four bytes stay */
                                         {8, 10, 0, 0}}; /* to the end */
    spad_error error;
    spad_plan *plan;
    spad_plan_result *result;
    assert_ok(spad_plan_create(&plan, NULL, &error), &error);
    const spad_plan_buffer buffer = {
        .name = "g", .size = 8, .lower = 0, .upper = 10, .gaps = gaps, .gap_count = 3};
    assert_ok(spad_plan_add(NULL, plan, &buffer, &error), &error);
    assert_ok(spad_plan_solve(&result, plan, NULL, &error), &error);
    spad_report *report = test_report_new();
    assert_int_equal(spad_report_add_plan(report, plan, result, 2, &error), SPAD_ERR_ARGUMENT);
    assert_string_equal(error.message, "target toy has no space number 2");
    assert_ok(spad_report_add_plan(report, plan, result, 0, &error), &error);
    static const struct {
        int64_t begin, end, byte, bytes;
    } wanted[] = {{2, 4, 0, 8}, {4, 6, 2, 4}, {6, 8, 0, 8}};
    assert_int_equal(spad_report_box_count(report), 3);
    for (size_t i = 0; i < 3; i++) {
        const spad_report_box *box = spad_report_get_box(report, i);
        assert_int_equal(box->begin, wanted[i].begin);
        assert_int_equal(box->end, wanted[i].end);
        assert_int_equal(box->rect.byte, wanted[i].byte);
        assert_int_equal(box->rect.bytes, wanted[i].bytes);
    }
    spad_report_destroy(report);
    spad_plan_result_destroy(result);
    spad_plan_destroy(plan);
}

static void a_plan_without_buffers_adds_nothing(void **state) {
    (void)state;
    spad_error error;
    spad_plan *plan = plan_of("id,lower,upper,size\n");
    spad_plan_result *result;
    assert_ok(spad_plan_solve(&result, plan, NULL, &error), &error);
    spad_report *report = test_report_new();
    assert_ok(spad_report_add_plan(report, plan, result, 0, &error), &error);
    assert_int_equal(spad_report_box_count(report), 0);
    spad_report_destroy(report);
    spad_plan_result_destroy(result);
    spad_plan_destroy(plan);
}

/* ---- comparing --------------------------------------------------------------------- */

static void a_comparison_shows_one_sided_spaces_and_lanes(void **state) {
    (void)state;
    spad_error error;
    spad_report_diff *diff;
    spad_report *before = test_report_new();
    spad_report *after = test_report_new();
    test_report_add(before, test_box("lane", 0, 1, 0, 8, 0, 4));
    test_report_add(after, test_box("lane", 2, 1, 0, 8, 0, 5));
    test_report_add(before, test_box("less", 0, 4, 8, 8, 0, 4));
    test_report_add(after, test_box("less", 0, 2, 8, 4, 0, 4));
    spad_report_box far = test_box("far away", 0, 1, 0, 16, 0, 4);
    far.space = 1;
    test_report_add(after, far);
    assert_ok(spad_report_diff_create(&diff, before, after, NULL, &error), &error);
    test_text text;
    test_text_init(&text);
    assert_ok(spad_report_diff_write(diff, SPAD_FORMAT_TEXT, &text.sink, &error), &error);
    assert_non_null(strstr(text.bytes, "moved 0 -> 0 (lane 2), lives [0, 4) -> [0, 5)"));
    assert_non_null(strstr(text.bytes, "shrank 8 -> 4 B (4 -> 2 lanes)"));
    assert_non_null(strstr(text.bytes, "new: 16 B at 0"));
    assert_non_null(
        strstr(text.bytes, "far                  live peak             0 ->            16 B"));
    test_text_clear(&text);
    assert_ok(spad_report_diff_write(diff, SPAD_FORMAT_JSON, &text.sink, &error), &error);
    assert_non_null(strstr(text.bytes, "\"before\": null"));
    assert_null(strstr(text.bytes, "\"after\": null"));
    spad_report_diff_destroy(diff);
    /* the other way round it is gone */
    assert_ok(spad_report_diff_create(&diff, after, before, NULL, &error), &error);
    test_text_clear(&text);
    assert_ok(spad_report_diff_write(diff, SPAD_FORMAT_TEXT, &text.sink, &error), &error);
    assert_non_null(strstr(text.bytes, "gone: 16 B at 0"));
    assert_non_null(strstr(text.bytes, "grew 4 -> 8 B (2 -> 4 lanes)"));
    assert_non_null(
        strstr(text.bytes, "far                  live peak            16 ->             0 B"));
    test_text_clear(&text);
    assert_ok(spad_report_diff_write(diff, SPAD_FORMAT_JSON, &text.sink, &error), &error);
    assert_non_null(strstr(text.bytes, "\"after\": null"));
    spad_report_diff_destroy(diff);
    test_text_free(&text);
    spad_report_destroy(before);
    spad_report_destroy(after);
}

/* ---- memory ------------------------------------------------------------------------ */

typedef struct inputs {
    spad_trace *trace;
    spad_plan *plan;
    spad_plan_result *result;
} inputs;

/* Adds and draws everything, named so that each text needs memory of its own. */
static spad_status draw(spad_report *report, const inputs *in, spad_error *error) {
    char name[600];
    memset(name, 'n', sizeof name - 1);
    name[sizeof name - 1] = '\0';
    spad_report_box box = test_box(name, 0, 4, 0, 8, 0, 4);
    const spad_report_bar bar = {.row = name, .name = name + 1, .end = 4, .wait = name + 2};
    spad_finding finding = {.code = SPAD_FINDING_RACE, .message = "m"};
    spad_status status = spad_report_add_trace(report, in->trace, error);
    if (status == SPAD_OK) status = spad_report_add_plan(report, in->plan, in->result, 0, error);
    if (status == SPAD_OK) status = spad_report_add_box(report, &box, error);
    if (status == SPAD_OK) status = spad_report_add_bar(report, &bar, error);
    if (status == SPAD_OK) status = spad_report_add_note(report, name, error);
    if (status == SPAD_OK) status = spad_report_add_finding(report, &finding, error);
    if (status == SPAD_OK) status = spad_report_set_source(report, name, name, 600, error);
    for (int w = 0; w < TEST_FORMATS && status == SPAD_OK; w++) {
        test_text text;
        test_text_init(&text);
        status = spad_report_write(report, test_formats[w], &text.sink, error);
        test_text_free(&text);
    }
    return status;
}

static spad_status draw_and_compare(const spad_host *host, void *payload) {
    const spad_report_options options = {.title = "a title", .time_unit = "step", .host = host};
    spad_error error;
    spad_report *reports[2] = {NULL, NULL};
    spad_report_diff *diff = NULL;
    spad_status status = SPAD_OK;
    for (int i = 0; i < 2 && status == SPAD_OK; i++) {
        status = spad_report_create(&reports[i], &test_report_target, &options, &error);
        if (status == SPAD_OK) status = draw(reports[i], payload, &error);
    }
    if (status == SPAD_OK)
        status = spad_report_diff_create(&diff, reports[0], reports[1], host, &error);
    spad_report_diff_destroy(diff);
    spad_report_destroy(reports[0]);
    spad_report_destroy(reports[1]);
    return status;
}

static void every_allocation_may_fail(void **state) {
    (void)state;
    spad_error error;
    inputs in = {.plan = plan_of("id,lower,upper,size,alias\na,0,4,8,q\nb,2,6,8,p\nc,4,8,8,p\n"
                                 "d,6,9,8,q\n")};
    int64_t scope;
    assert_ok(spad_plan_solve(&in.result, in.plan, NULL, &error), &error);
    assert_ok(spad_trace_create(&in.trace, &test_report_target, NULL, &error), &error);
    assert_ok(spad_trace_open_scope(&scope, in.trace, 0, "s", 1, -1, 0, &error), &error);
    allocate(in.trace, (spad_tensor){.name = "x",
                                     .shape = SPAD_SHAPE(1, 8),
                                     .dtype = SPAD_UINT8,
                                     .mode = SPAD_MODE_STACK,
                                     .rect = {0, 1, 0, 8},
                                     .scope = scope});
    test_fail_each_allocation(draw_and_compare, &in);
    spad_trace_destroy(in.trace);
    spad_plan_result_destroy(in.result);
    spad_plan_destroy(in.plan);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(each_writer_shows_names_in_its_form),
        cmocka_unit_test(sizes_are_short),
        cmocka_unit_test(padding_is_known_from_shape_and_type),
        cmocka_unit_test(deep_scopes_share_a_row),
        cmocka_unit_test(gaps_and_windows_become_boxes),
        cmocka_unit_test(a_plan_without_buffers_adds_nothing),
        cmocka_unit_test(a_comparison_shows_one_sided_spaces_and_lanes),
        cmocka_unit_test(every_allocation_may_fail),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
