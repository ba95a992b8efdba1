/* SPDX-License-Identifier: Apache-2.0
 * Reports: every writer, colours, comparing, and failing host memory. */
#include <stdio.h>
#include <string.h>

#include "report/report.h"
#include "spad/experimental/report_parts.h"
#include "support/kernels.h"
#include "support/reports.h"

static void fill(spad_report *report) {
    spad_error error;
    test_report_add(report, test_box("a<b>&\"'", 0, 4, 0, 16, 0, 4));
    spad_report_box ring = test_box("r[0]", 0, 2, 16, 8, 1, 9);
    ring.slots = 2;
    ring.padding = 3;
    ring.line = 1;
    ring.shape = SPAD_SHAPE(2, 5);
    ring.dtype = SPAD_UINT8;
    test_report_add(report, ring);
    ring.name = "r[1]";
    ring.rect.byte = 20;
    ring.slot = 1;
    ring.open = true;
    test_report_add(report, ring);
    spad_report_box nowhere = test_box(NULL, 0, 1, SPAD_NO_BYTE, 4, 0, 2);
    test_report_add(report, nowhere);
    const spad_report_bar bar = {.row = "e",
                                 .name = "op",
                                 .begin = 2,
                                 .end = 5,
                                 .ready = 1,
                                 .wait = "data",
                                 .critical = true,
                                 .line = 1};
    assert_ok(spad_report_add_bar(report, &bar, &error), &error);
    spad_finding finding = {.severity = SPAD_SEVERITY_ADVICE, .line = 1, .time = 3};
    strcpy(finding.message, "be careful with a rather long sentence that goes on and on until it "
                            "is longer than one line of a terminal");
    strcpy(finding.subject, "r[0]");
    finding.note_count = 1;
    strcpy(finding.notes[0].message, "here");
    finding.notes[0].line = 1;
    assert_ok(spad_report_add_finding(report, &finding, &error), &error);
    assert_ok(spad_report_set_source(report, "f", "line </script>\n", 15, &error), &error);
    assert_ok(spad_report_add_note(report, "a note", &error), &error);
}

static void writers_write_the_same_twice_and_report_a_full_disk(void **state) {
    (void)state;
    spad_report *report = test_report_new();
    fill(report);
    for (int w = 0; w < TEST_FORMATS; w++) {
        test_text once;
        test_text again;
        spad_error error;
        test_text_init(&once);
        test_text_init(&again);
        assert_ok(spad_report_write(report, test_formats[w], &once.sink, &error), &error);
        assert_ok(spad_report_write(report, test_formats[w], &again.sink, &error), &error);
        assert_int_equal(once.count, again.count);
        assert_memory_equal(once.bytes, again.bytes, once.count);
        test_text_clear(&again);
        again.fail_after = once.count / 2;
        assert_int_equal(spad_report_write(report, test_formats[w], &again.sink, &error),
                         SPAD_ERR_IO);
        test_text_free(&once);
        test_text_free(&again);
    }
    spad_report_destroy(report);
}

static void an_empty_report_can_be_written(void **state) {
    (void)state;
    spad_report *report = test_report_new();
    for (int w = 0; w < TEST_FORMATS; w++) {
        test_text text;
        spad_error error;
        test_text_init(&text);
        assert_ok(spad_report_write(report, test_formats[w], &text.sink, &error), &error);
        assert_true(text.count > 0);
        test_text_free(&text);
    }
    spad_report_space facts;
    spad_error error;
    assert_ok(spad_report_get_space(&facts, report, 0, &error), &error);
    assert_int_equal(facts.usable, TOY_BYTES - 4);
    assert_int_equal(facts.peak_bytes, 0);
    spad_report_destroy(report);
}

/* No line of a text is wider than a terminal, whatever the names and numbers are. */
static void text_fits_80_columns(void **state) {
    (void)state;
    char name[400];
    memset(name, 'n', sizeof name - 1);
    name[sizeof name - 1] = '\0';
    spad_report *report = test_report_new();
    fill(report);
    test_report_add(report, test_box(name, 0, 1, 0, 1, 0, 1));
    for (int i = 0; i < 40; i++) {
        snprintf(name, sizeof name, "stem%d[0]", i);
        test_report_add(report, test_box(name, 0, 1, 30, 2, i, i + 1));
    }
    test_text text;
    spad_error error;
    test_text_init(&text);
    assert_ok(spad_report_write(report, SPAD_FORMAT_TEXT, &text.sink, &error), &error);
    size_t column = 0;
    for (size_t i = 0; i < text.count; i++) {
        const unsigned char c = (unsigned char)text.bytes[i];
        column = c == '\n' ? 0 : column + ((c & 0xC0) != 0x80);
        assert_true(column <= 80);
        assert_true(c == '\n' || (c >= 0x20 && c < 0x7F));
    }
    assert_non_null(strstr(text.bytes, "CONFLICT"));
    assert_non_null(strstr(text.bytes, "* 18 more names"));
    test_text_free(&text);
    spad_report_destroy(report);
}

/* What the user wrote stands in the data of the page only, without '<'. */
static void the_page_keeps_markup_in_its_data(void **state) {
    (void)state;
    spad_report *report = test_report_new();
    fill(report);
    test_text text;
    spad_error error;
    test_text_init(&text);
    assert_ok(spad_report_write(report, SPAD_FORMAT_HTML, &text.sink, &error), &error);
    char *data = strstr(text.bytes, "id=\"data\">");
    assert_non_null(data);
    char *end = strstr(data, "</script>");
    assert_non_null(end);
    *end = '\0';
    assert_null(strchr(data + 10, '<'));
    assert_non_null(strstr(data, "a\\u003cb\\u003e\\u0026\\\"'"));
    assert_non_null(strstr(data, "line \\u003c/script\\u003e"));
    assert_true(text.count < 180000);
    test_text_free(&text);
    spad_report_destroy(report);
}

/* ---- colours ----------------------------------------------------------------------- */

/* The first names of a map have colours of their own; a name keeps its colour, whatever its index.
 */
static void colours_of_the_first_names_differ(void **state) {
    (void)state;
    static const char *const names[] = {"a", "b", "c", "k[0]", "v#1", "q",
                                        "s", "o", "p", "z",    "y",   "x[2]"};
    enum { COUNT = sizeof names / sizeof names[0] };
    spad__colours colours = {0};
    for (size_t i = 0; i < COUNT; i++) {
        assert_int_equal(spad__colour_of(&colours, names[i]), (int)i);
    }
    assert_int_equal(colours.count, SPAD__COLOURS);
    for (size_t i = 0; i < COUNT; i++) {
        assert_int_equal(spad__colour_of(&colours, names[i]), (int)i);
    }
    assert_int_equal(spad__colour_of(&colours, "k[7]"), 3);
    assert_in_range(spad__colour_of(&colours, "one more"), 0, SPAD__COLOURS - 1);
    assert_int_equal(colours.count, SPAD__COLOURS);
}

/* ---- comparing --------------------------------------------------------------------- */

static void a_comparison_names_every_change(void **state) {
    (void)state;
    spad_report *a = test_report_new();
    spad_report *b = test_report_new();
    test_report_add(a, test_box("same", 0, 1, 0, 4, 0, 4));
    test_report_add(b, test_box("same", 0, 1, 0, 4, 0, 4));
    test_report_add(a, test_box("moved", 0, 1, 4, 4, 0, 4));
    test_report_add(b, test_box("moved", 1, 1, 4, 4, 0, 4));
    test_report_add(a, test_box("grew", 0, 1, 8, 4, 0, 4));
    test_report_add(b, test_box("grew", 0, 1, 8, 6, 0, 5));
    test_report_add(a, test_box("gone", 0, 1, 14, 4, 0, 4));
    test_report_add(b, test_box("new", 0, 1, 14, 4, 0, 4));
    test_report_add(a, test_box("twice", 0, 1, 20, 4, 4, 8));
    test_report_add(a, test_box("twice", 0, 1, 20, 4, 0, 4));
    test_report_add(b, test_box("twice", 0, 1, 20, 4, 0, 4));
    static const unsigned expected[] = {
        0, SPAD_DIFF_MOVED, SPAD_DIFF_SIZED | SPAD_DIFF_TIMED, SPAD_DIFF_GONE, SPAD_DIFF_GONE,
        0, SPAD_DIFF_NEW};
    spad_report_diff *diff;
    spad_error error;
    assert_ok(spad_report_diff_create(&diff, a, b, NULL, &error), &error);
    assert_int_equal(spad_report_diff_count(diff), 7);
    for (size_t i = 0; i < 7; i++)
        assert_int_equal(spad_report_diff_get(diff, i)->what, expected[i]);
    assert_null(spad_report_diff_get(diff, 7));
    test_text text;
    test_text_init(&text);
    assert_ok(spad_report_diff_write(diff, SPAD_FORMAT_TEXT, &text.sink, &error), &error);
    assert_string_equal(text.bytes,
                        "toy -> toy\n"
                        "  pad                  live peak            20 ->            18 B  -2\n"
                        "                       highest              24 ->            24 B\n"
                        "  2 the same, 2 gone, 1 new, 1 moved, 1 sized, 1 timed\n"
                        "  moved                    moved 4 -> 4 (lane 1)\n"
                        "  grew                     grew 4 -> 6 B, lives [0, 4) -> [0, 5)\n"
                        "  gone                     gone: 4 B at 14\n"
                        "  twice                    gone: 4 B at 20\n"
                        "  new                      new: 4 B at 14\n");
    test_text_clear(&text);
    assert_ok(spad_report_diff_write(diff, SPAD_FORMAT_HTML, &text.sink, &error), &error);
    test_text_clear(&text);
    assert_ok(spad_report_diff_write(diff, SPAD_FORMAT_JSON, &text.sink, &error), &error);
    test_text_free(&text);
    spad_report_diff_destroy(diff);
    spad_report_destroy(a);
    spad_report_destroy(b);
}

/* ---- memory ------------------------------------------------------------------------ */

typedef struct inputs {
    spad_layout *layout;
    spad_sim *sim;
    spad_plan *plan;
    spad_plan_result *result;
} inputs;

static spad_status draw_all(const spad_host *host, void *context) {
    const inputs *in = context;
    const spad_report_options options = {.title = "t", .host = host};
    spad_report *report;
    spad_report_diff *diff = NULL;
    spad_error error;
    const spad_target *chip = spad_kernel_get_target(spad_layout_get_kernel(in->layout));
    spad_status status = spad_report_create(&report, chip, &options, &error);
    if (status != SPAD_OK) return status;
    status = spad_report_add_layout(report, in->layout, in->sim, 0, &error);
    if (status == SPAD_OK) status = spad_report_add_plan(report, in->plan, in->result, 0, &error);
    if (status == SPAD_OK) status = spad_report_set_source(report, "f", "x", 1, &error);
    for (int w = 0; w < TEST_FORMATS && status == SPAD_OK; w++) {
        test_text text;
        test_text_init(&text);
        status = spad_report_write(report, test_formats[w], &text.sink, &error);
        test_text_free(&text);
    }
    if (status == SPAD_OK) status = spad_report_diff_create(&diff, report, report, host, &error);
    if (status == SPAD_OK) {
        test_text text;
        test_text_init(&text);
        status = spad_report_diff_write(diff, SPAD_FORMAT_HTML, &text.sink, &error);
        test_text_free(&text);
    }
    spad_report_diff_destroy(diff);
    spad_report_destroy(report);
    return status;
}

static void every_allocation_may_fail(void **state) {
    (void)state;
    static const char csv[] = "id,lower,upper,size,alias\na,0,4,8,p\nb,2,6,8,p\n";
    spad_kernel *kernel = test_parse(test_ring_text);
    inputs in;
    spad_error error;
    assert_ok(spad_layout_create(&in.layout, kernel, NULL, &error), &error);
    const spad_sim_options options = {.layout = in.layout};
    assert_ok(spad_sim_create(&in.sim, kernel, &options, &error), &error);
    assert_ok(spad_plan_create(&in.plan, NULL, &error), &error);
    assert_ok(spad_plan_read_csv(in.plan, csv, strlen(csv), "x.csv", NULL, &error), &error);
    assert_ok(spad_plan_solve(&in.result, in.plan, NULL, &error), &error);
    test_fail_each_allocation(draw_all, &in);
    spad_plan_result_destroy(in.result);
    spad_plan_destroy(in.plan);
    spad_sim_destroy(in.sim);
    spad_layout_destroy(in.layout);
    spad_kernel_destroy(kernel);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(writers_write_the_same_twice_and_report_a_full_disk),
        cmocka_unit_test(an_empty_report_can_be_written),
        cmocka_unit_test(text_fits_80_columns),
        cmocka_unit_test(the_page_keeps_markup_in_its_data),
        cmocka_unit_test(colours_of_the_first_names_differ),
        cmocka_unit_test(a_comparison_names_every_change),
        cmocka_unit_test(every_allocation_may_fail),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
