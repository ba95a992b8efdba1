/* SPDX-License-Identifier: Apache-2.0
 *
 * Layouts, checks, simulations, fits and reports know their kernel: each pair of different kernels
 * is refused with both in the message, and objects of equal kernels belong together.
 */
#include "support/support.h"

#include <stdio.h>
#include <string.h>

#include "spad/spad.h"
#include "verify/verify.h"

static const char rows_text[] = "kernel rows on trn2\n"
                                "param N = 8\n"
                                "tensor x : sbuf bf16 [N] (128, 64) ring 2\n"
                                "tensor y : hbm bf16 [N] (128, 64) output\n"
                                "for i in 0..N {\n"
                                "    dma load writes x[i]\n"
                                "    dma store reads x[i] writes y[i]\n"
                                "}\n";
static const char one_text[] = "kernel one on trn2\n"
                               "tensor z : sbuf bf16 (128, 8)\n"
                               "vector fill writes z\n";
static const char large_text[] = "kernel large on trn2\n"
                                 "tensor z : sbuf bf16 [4] (128, 65536) ring 4\n"
                                 "for i in 0..4 { vector fill writes z[i] }\n";

static spad_kernel *parse(const char *text, const spad_kernel_options *options) {
    spad_kernel *kernel;
    spad_error error;
    assert_ok(spad_kernel_parse(&kernel, text, strlen(text), "k.spad", options, NULL, &error),
              &error);
    return kernel;
}

/* All that can be made from a kernel. */
typedef struct made {
    spad_kernel *kernel;
    spad_layout *layout;
    spad_check *check;
    spad_sim *sim;
    spad_fit *fit;
} made;

static made make(spad_kernel *kernel) {
    made m = {.kernel = kernel};
    spad_error error;
    const spad_fit_options quick = {.timeout_ns = 1000000};
    assert_ok(spad_layout_create(&m.layout, kernel, NULL, &error), &error);
    assert_ok(spad_check_create(&m.check, kernel, NULL, &error), &error);
    assert_ok(spad_sim_create(&m.sim, kernel, NULL, &error), &error);
    assert_ok(spad_fit_create(&m.fit, m.layout, &quick, &error), &error);
    return m;
}

static void end(made *m) {
    spad_fit_destroy(m->fit);
    spad_sim_destroy(m->sim);
    spad_check_destroy(m->check);
    spad_layout_destroy(m->layout);
    spad_kernel_destroy(m->kernel);
}

/* ---- what takes objects of two kernels --------------------------------------------- */

typedef spad_status (*pair)(const made *a, const made *b, spad_error *error);

static spad_report *draw(const made *m) {
    spad_report *report;
    spad_error error;
    assert_ok(spad_report_create(&report, spad_kernel_get_target(m->kernel), NULL, &error), &error);
    assert_ok(spad_report_add_layout(report, m->layout, m->sim, 0, &error), &error);
    return report;
}

static spad_status layout_and_sim(const made *a, const made *b, spad_error *error) {
    spad_report *report;
    assert_ok(spad_report_create(&report, spad_kernel_get_target(a->kernel), NULL, error), error);
    const spad_status status = spad_report_add_layout(report, a->layout, b->sim, 0, error);
    if (status != SPAD_OK) assert_int_equal(spad_report_box_count(report), 0);
    spad_report_destroy(report);
    return status;
}
static spad_status report_and_layout(const made *a, const made *b, spad_error *error) {
    spad_report *report = draw(a);
    const size_t before = spad_report_box_count(report);
    const spad_status status = spad_report_add_layout(report, b->layout, NULL, 0, error);
    if (status != SPAD_OK) assert_int_equal(spad_report_box_count(report), before);
    spad_report_destroy(report);
    return status;
}
static spad_status report_and_buffers(const made *a, const made *b, spad_error *error) {
    spad_report *report = draw(a);
    const size_t before = spad_report_box_count(report);
    const spad_status status = spad_report_add_buffers(report, b->layout, error);
    if (status != SPAD_OK) assert_int_equal(spad_report_box_count(report), before);
    spad_report_destroy(report);
    return status;
}
static spad_status report_and_check(const made *a, const made *b, spad_error *error) {
    spad_report *report = draw(a);
    const spad_status status = spad_report_add_check(report, b->check, error);
    spad_report_destroy(report);
    return status;
}
/* All parts of it, or none: it is of its kernel all the same. */
static spad_status report_and_analysis(const made *a, const made *b, spad_error *error) {
    spad_status status = SPAD_OK;
    for (unsigned skip = 0; skip < 1u << SPAD_PARTS; skip += (1u << SPAD_PARTS) - 1) {
        const spad_analysis_options options = {.skip = skip};
        spad_analysis *analysis;
        spad_report *report = draw(a);
        const size_t before = spad_report_box_count(report);
        assert_ok(spad_analysis_create(&analysis, b->kernel, &options, error), error);
        status = spad_report_add_analysis(report, analysis, error);
        if (status != SPAD_OK) assert_int_equal(spad_report_box_count(report), before);
        spad_analysis_destroy(analysis);
        spad_report_destroy(report);
    }
    return status;
}
/* The check came first, and its kernel is gone. */
static spad_status check_then_layout(const made *a, const made *b, spad_error *error) {
    spad_report *report;
    spad_check *check;
    spad_kernel *copy;
    assert_ok(spad_kernel_reshape(&copy, a->kernel, NULL, error), error);
    assert_ok(spad_check_create(&check, copy, NULL, error), error);
    spad_kernel_destroy(copy);
    assert_ok(spad_report_create(&report, spad_kernel_get_target(a->kernel), NULL, error), error);
    assert_ok(spad_report_add_check(report, check, error), error);
    spad_check_destroy(check);
    const spad_status status = spad_report_add_layout(report, b->layout, NULL, 0, error);
    spad_report_destroy(report);
    return status;
}
static spad_status kernel_and_place_check(const made *a, const made *b, spad_error *error) {
    const spad_check_options options = {.layout = b->layout};
    spad_check *check;
    const spad_status status = spad_check_create(&check, a->kernel, &options, error);
    if (status != SPAD_OK) assert_null(check);
    spad_check_destroy(check);
    return status;
}
static spad_status kernel_and_place_sim(const made *a, const made *b, spad_error *error) {
    const spad_sim_options options = {.layout = b->layout};
    spad_sim *sim;
    const spad_status status = spad_sim_create(&sim, a->kernel, &options, error);
    if (status != SPAD_OK) assert_null(sim);
    spad_sim_destroy(sim);
    return status;
}
static spad_status kernel_and_place_walk(const made *a, const made *b, spad_error *error) {
    const spad_walk_options options = {.layout = b->layout};
    spad_walk *walk;
    const spad_status status = spad_walk_create(&walk, a->kernel, &options, error);
    if (status != SPAD_OK) assert_null(walk);
    spad_walk_destroy(walk);
    return status;
}
static spad_status check_and_layout(const made *a, const made *b, spad_error *error) {
    const size_t before = spad_check_finding_count(a->check);
    const spad_verdict verdict = spad_check_get_verdict(a->check);
    const spad_status status = spad__check_add_layout(a->check, b->layout, error);
    if (status != SPAD_OK) {
        assert_int_equal(spad_check_finding_count(a->check), before);
        assert_int_equal(spad_check_get_verdict(a->check), verdict);
    }
    return status;
}
static spad_status kernel_and_check_text(const made *a, const made *b, spad_error *error) {
    test_text text;
    test_text_init(&text);
    const spad_status status =
        spad_check_write_text(b->check, a->kernel, NULL, 0, &text.sink, error);
    if (status != SPAD_OK) assert_int_equal(text.count, 0);
    test_text_free(&text);
    return status;
}
static spad_status kernel_and_check_json(const made *a, const made *b, spad_error *error) {
    test_text text;
    test_text_init(&text);
    const spad_status status = spad_check_write_json(b->check, a->kernel, &text.sink, error);
    if (status != SPAD_OK) assert_int_equal(text.count, 0);
    test_text_free(&text);
    return status;
}
static spad_status layout_and_fit_text(const made *a, const made *b, spad_error *error) {
    test_text text;
    test_text_init(&text);
    const spad_status status =
        spad_fit_write(b->fit, a->layout, SPAD_FORMAT_TEXT, &text.sink, error);
    if (status != SPAD_OK) assert_int_equal(text.count, 0);
    test_text_free(&text);
    return status;
}
static spad_status layout_and_fit_json(const made *a, const made *b, spad_error *error) {
    test_text text;
    test_text_init(&text);
    const spad_status status =
        spad_fit_write(b->fit, a->layout, SPAD_FORMAT_JSON, &text.sink, error);
    if (status != SPAD_OK) assert_int_equal(text.count, 0);
    test_text_free(&text);
    return status;
}

static const struct {
    pair call;
    const char *first;
    const char *second;
} pairs[] = {
    {layout_and_sim, "layout is of kernel ", "simulation"},
    {report_and_layout, "report is of kernel ", "layout"},
    {report_and_buffers, "report is of kernel ", "layout"},
    {report_and_check, "report is of kernel ", "check"},
    {report_and_analysis, "report is of kernel ", "analysis"},
    {check_then_layout, "report is of kernel ", "layout"},
    {kernel_and_place_check, "kernel is ", "layout"},
    {kernel_and_place_sim, "kernel is ", "layout"},
    {kernel_and_place_walk, "kernel is ", "layout"},
    {check_and_layout, "check is of kernel ", "layout"},
    {kernel_and_check_text, "kernel is ", "check"},
    {kernel_and_check_json, "kernel is ", "check"},
    {layout_and_fit_text, "layout is of kernel ", "list of changes"},
    {layout_and_fit_json, "layout is of kernel ", "list of changes"},
};
enum { PAIRS = sizeof pairs / sizeof *pairs };

/* ---- tests ------------------------------------------------------------------------- */

/* `labels`: of both kernels; NULL for the second: all that is shown of it is the same. */
static void refuse_all(const made *a, const made *b, const char *first, const char *second) {
    for (int p = 0; p < PAIRS; p++) {
        char wanted[SPAD_MESSAGE_MAX];
        spad_error error;
        snprintf(wanted, sizeof wanted,
                 "the %s%s, but the %s is of %s%s: make both from one kernel", pairs[p].first,
                 first, pairs[p].second, second != NULL ? "kernel " : "",
                 second != NULL ? second : "another kernel of that name and target");
        assert_int_equal(pairs[p].call(a, b, &error), SPAD_ERR_ARGUMENT);
        assert_string_equal(error.message, wanted);
        assert_string_equal(error.subject, spad_kernel_get_name(a->kernel));
        assert_string_equal(error.other, spad_kernel_get_name(b->kernel));
    }
}

static void objects_of_different_kernels_are_refused(void **state) {
    (void)state;
    const spad_define sixteen = {"N", 16};
    const spad_define three = {"x", 3};
    const spad_kernel_options params = {.defines = &sixteen, .define_count = 1};
    const spad_kernel_options rings = {.rings = &three, .ring_count = 1};
    char other_chip[sizeof rows_text];
    memcpy(other_chip, rows_text, sizeof rows_text);
    *strchr(other_chip, '2') = '1';
    made rows = make(parse(rows_text, NULL));
    made one = make(parse(one_text, NULL));
    made shaped = make(parse(rows_text, &params));
    made deeper = make(parse(rows_text, &rings));
    made chip = make(parse(other_chip, NULL));
    refuse_all(&rows, &one, "'rows' (N = 8) on trn2", "'one' on trn2");
    refuse_all(&one, &rows, "'one' on trn2", "'rows' (N = 8) on trn2");
    refuse_all(&rows, &shaped, "'rows' (N = 8) on trn2", "'rows' (N = 16) on trn2");
    refuse_all(&rows, &chip, "'rows' (N = 8) on trn2", "'rows' (N = 8) on trn1");
    refuse_all(&rows, &deeper, "'rows' (N = 8) on trn2", NULL);
    end(&chip);
    end(&deeper);
    end(&shaped);
    end(&one);
    end(&rows);
}

static void objects_of_equal_kernels_belong_together(void **state) {
    (void)state;
    const spad_define eight = {"N", 8};
    const spad_kernel_options same = {.defines = &eight, .define_count = 1};
    made rows = make(parse(rows_text, NULL));
    made again = make(parse(rows_text, &same));
    for (int p = 0; p < PAIRS; p++) {
        spad_error error;
        assert_ok(pairs[p].call(&rows, &rows, &error), &error);
        assert_ok(pairs[p].call(&rows, &again, &error), &error);
    }
    end(&again);
    end(&rows);
}

/* Lines are shown with what refers to them. */
static void other_lines_are_another_kernel(void **state) {
    (void)state;
    char moved_text[sizeof rows_text + 1] = "\n";
    strcat(moved_text, rows_text);
    made rows = make(parse(rows_text, NULL));
    made moved = make(parse(moved_text, NULL));
    refuse_all(&rows, &moved, "'rows' (N = 8) on trn2", NULL);
    end(&moved);
    end(&rows);
}

/* A simulation of what does not fit is not drawn, but it has to be of that kernel all the same. */
static void what_does_not_fit_is_looked_at_too(void **state) {
    (void)state;
    made large = make(parse(large_text, NULL));
    made one = make(parse(one_text, NULL));
    assert_false(spad_layout_fits(large.layout));
    refuse_all(&large, &one, "'large' on trn2", "'one' on trn2");
    refuse_all(&one, &large, "'one' on trn2", "'large' on trn2");
    end(&one);
    end(&large);
}

static void many_parameters_are_cut_before_the_target(void **state) {
    (void)state;
    char text[4096];
    size_t used = (size_t)snprintf(text, sizeof text,
                                   "kernel a_kernel_with_quite_a_long_name_that_goes_on_and_on on "
                                   "trn2\n");
    for (int i = 0; i < 30; i++)
        used += (size_t)snprintf(text + used, sizeof text - used,
                                 "param a_parameter_with_a_long_name_%d = %d000000000000\n", i, i);
    snprintf(text + used, sizeof text - used, "%s", strchr(one_text, '\n') + 1);
    made many = make(parse(text, NULL));
    made one = make(parse(one_text, NULL));
    spad_error error;
    assert_int_equal(layout_and_sim(&many, &one, &error), SPAD_ERR_ARGUMENT);
    assert_string_equal(
        error.message,
        "the layout is of kernel 'a_kernel_with_quite_a_long_name_' (a_parameter_with "
        "= 0, a_parameter_with = 1000000000000, ...) on trn2, but the simulation is "
        "of kernel 'one' on trn2: make both from one kernel");
    end(&one);
    end(&many);
}

static void the_check_of_a_text_belongs_to_no_kernel(void **state) {
    (void)state;
    static const char bad[] = "kernel k on trn2\ntensor x : sbuff bf16 (128, 4)\n";
    spad_diagnostics *faults;
    spad_kernel *none;
    spad_check *check;
    spad_report *report;
    spad_error error;
    made one = make(parse(one_text, NULL));
    assert_ok(spad_diagnostics_create(&faults, NULL, &error), &error);
    assert_int_equal(spad_kernel_parse(&none, bad, strlen(bad), "k.spad", NULL, faults, &error),
                     SPAD_ERR_SYNTAX);
    assert_ok(spad_check_create_from_faults(&check, faults, "k.spad", NULL, &error), &error);
    report = draw(&one);
    assert_int_equal(spad_report_add_check(report, check, &error), SPAD_ERR_ARGUMENT);
    assert_string_equal(error.message,
                        "the report is of kernel 'one' on trn2, but the check belongs to a text "
                        "that cannot be read: make both from one kernel");
    spad_report_destroy(report);
    assert_int_equal(spad__check_add_layout(check, one.layout, &error), SPAD_ERR_ARGUMENT);
    assert_ok(spad_report_create(&report, spad_kernel_get_target(one.kernel), NULL, &error),
              &error);
    assert_ok(spad_report_add_check(report, check, &error), &error);
    spad_report_destroy(report);
    spad_check_destroy(check);
    spad_diagnostics_destroy(faults);
    end(&one);
}

/* ---- comparisons ------------------------------------------------------------------- */

static void a_comparison_of_reports_that_changed_is_refused(void **state) {
    (void)state;
    static const spad_format forms[] = {SPAD_FORMAT_TEXT, SPAD_FORMAT_JSON, SPAD_FORMAT_HTML};
    const spad_report_box box = {.name = "b",
                                 .mode = SPAD_MODE_AT,
                                 .rect = {0, 1, 0, 8},
                                 .begin = 0,
                                 .end = 1,
                                 .family = SPAD_NO_FAMILY};
    made one = make(parse(one_text, NULL));
    for (int side = 0; side < 2; side++) {
        spad_report *reports[2] = {draw(&one), draw(&one)};
        spad_report_diff *diff;
        spad_error error;
        test_text text;
        test_text_init(&text);
        assert_ok(spad_report_diff_create(&diff, reports[0], reports[1], NULL, &error), &error);
        for (int w = 0; w < 3; w++)
            assert_ok(spad_report_diff_write(diff, forms[w], &text.sink, &error), &error);
        test_text_clear(&text);
        for (int i = 0; i < 100; i++)
            assert_ok(spad_report_add_box(reports[side], &box, &error), &error);
        for (int w = 0; w < 3; w++) {
            assert_int_equal(spad_report_diff_write(diff, forms[w], &text.sink, &error),
                             SPAD_ERR_STALE);
            assert_string_equal(error.message,
                                side == 0 ? "the first report has changed since it was compared "
                                            "(boxes: 1 then, 101 now): compare again"
                                          : "the second report has changed since it was compared "
                                            "(boxes: 1 then, 101 now): compare again");
        }
        assert_int_equal(text.count, 0);
        test_text_free(&text);
        spad_report_diff_destroy(diff);
        spad_report_destroy(reports[0]);
        spad_report_destroy(reports[1]);
    }
    end(&one);
}

/* ---- memory ------------------------------------------------------------------------ */

static spad_status draw_under(const spad_host *host, void *context) {
    const made *m = context;
    const spad_report_options options = {.host = host};
    spad_report *report;
    spad_error error;
    spad_status status =
        spad_report_create(&report, spad_kernel_get_target(m->kernel), &options, &error);
    if (status != SPAD_OK) return status;
    status = spad_report_add_layout(report, m->layout, m->sim, 0, &error);
    if (status == SPAD_OK) status = spad_report_add_check(report, m->check, &error);
    spad_report_destroy(report);
    return status;
}

static void every_allocation_may_fail(void **state) {
    (void)state;
    made one = make(parse(one_text, NULL));
    assert_true(spad_check_finding_count(one.check) > 0); /* z is never read */
    test_fail_each_allocation(draw_under, &one);
    end(&one);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(objects_of_different_kernels_are_refused),
        cmocka_unit_test(objects_of_equal_kernels_belong_together),
        cmocka_unit_test(other_lines_are_another_kernel),
        cmocka_unit_test(what_does_not_fit_is_looked_at_too),
        cmocka_unit_test(many_parameters_are_cut_before_the_target),
        cmocka_unit_test(the_check_of_a_text_belongs_to_no_kernel),
        cmocka_unit_test(a_comparison_of_reports_that_changed_is_refused),
        cmocka_unit_test(every_allocation_may_fail),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
