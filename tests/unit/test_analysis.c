/* SPDX-License-Identifier: Apache-2.0
 *
 * One analysis of a kernel: its parts are those that separate calls give, faults of a part
 * leave the others, notes are data, and every way to run out of memory leaves nothing.
 */
#include "support/support.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "spad/spad.h"

#define ROWS                                        \
    "kernel rows on trn2\nparam N = 16\n"           \
    "tensor in  : hbm  bf16 [N] (128, 512) input\n" \
    "tensor out : hbm  bf16 [N] (128, 512) output\n"
#define LOOP                                                                           \
    "for i in 0..N {\n  dma load reads in[i] writes x[i]\n  scalar exp updates x[i]\n" \
    "  dma store reads x[i] writes out[i]\n}\n"

static const char right[] = ROWS "tensor x : sbuf bf16 [N] (128, 512) ring 2\n" LOOP;
static const char too_deep[] = ROWS "tensor x : sbuf bf16 [N] (128, 131072) ring 2\n"
                                    "for i in 0..N {\n  dma load writes x[i]\n"
                                    "  scalar exp updates x[i]\n"
                                    "  dma store reads x[i] writes out[i]\n}\n";
static const char too_wide[] = "kernel wide on trn2\ntensor p : psum f32 (128, 1024)\n"
                               "tensor engine writes p\n";
static const char stuck[] = "kernel stuck on sm_90\nbarrier b count 2\nagent p { sync b }\n";

/* ---- helpers ----------------------------------------------------------------------- */

typedef struct fixture {
    spad_kernel *kernel;
    spad_analysis *analysis;
    const char *text;
} fixture;

static fixture analyse(const char *text, spad_analysis_options options) {
    fixture f = {.text = text};
    spad_error error;
    options.source = text;
    options.source_length = strlen(text);
    assert_ok(spad_kernel_parse(&f.kernel, text, strlen(text), "k.spad", NULL, NULL, &error),
              &error);
    assert_ok(spad_analysis_create(&f.analysis, f.kernel, &options, &error), &error);
    return f;
}

static void drop(fixture *f) {
    spad_analysis_destroy(f->analysis);
    spad_kernel_destroy(f->kernel);
}

static test_text written(const spad_analysis *analysis, spad_format format) {
    test_text text;
    spad_error error;
    test_text_init(&text);
    assert_ok(spad_analysis_write(analysis, format, &text.sink, &error), &error);
    return text;
}

static void assert_note(const fixture *f, size_t number, spad_analysis_note_code code,
                        const char *words) {
    test_text text;
    spad_error error;
    const spad_analysis_note *note = spad_analysis_get_note(f->analysis, number);
    assert_non_null(note);
    assert_int_equal(note->code, code);
    test_text_init(&text);
    assert_ok(spad_analysis_write_note(f->analysis, number, &text.sink, &error), &error);
    assert_string_equal(text.bytes, words);
    test_text_free(&text);
}

/* ---- parts ------------------------------------------------------------------------- */

/* The text is that of the parts, computed apart. */
static void test_parts_are_those_of_separate_calls(void **unused) {
    (void)unused;
    fixture f = analyse(right, (spad_analysis_options){0});
    spad_layout *layout;
    spad_check *check;
    spad_sim *sim;
    spad_error error;
    assert_ok(spad_layout_create(&layout, f.kernel, NULL, &error), &error);
    assert_ok(spad_check_create(&check, f.kernel, &(spad_check_options){.layout = layout}, &error),
              &error);
    assert_ok(spad_sim_create(&sim, f.kernel, &(spad_sim_options){.layout = layout}, &error),
              &error);
    test_text apart;
    test_text_init(&apart);
    assert_ok(spad_layout_write(layout, SPAD_FORMAT_TEXT, &apart.sink, &error), &error);
    test_text all = written(f.analysis, SPAD_FORMAT_TEXT);
    assert_non_null(strstr(all.bytes, apart.bytes));
    test_text_clear(&apart);
    assert_ok(spad_check_write_text(check, f.kernel, right, strlen(right), &apart.sink, &error),
              &error);
    assert_non_null(strstr(all.bytes, apart.bytes));
    assert_non_null(strstr(all.bytes, "rows on trn2 (N = 16): fits, proved for all trip counts\n"));
    assert_int_equal(spad_sim_get_totals(spad_analysis_get_sim(f.analysis)).makespan,
                     spad_sim_get_totals(sim).makespan);
    assert_int_equal(spad_fit_count(spad_analysis_get_fit(f.analysis)), 0);
    assert_ptr_equal(spad_analysis_get_kernel(f.analysis), f.kernel);
    assert_true(spad_analysis_is_fine(f.analysis));
    for (int part = 0; part <= SPAD_PARTS; part++) {
        assert_null(spad_analysis_get_fault(f.analysis, (spad_analysis_part)part));
    }
    test_text_free(&apart);
    test_text_free(&all);
    spad_sim_destroy(sim);
    spad_check_destroy(check);
    spad_layout_destroy(layout);
    drop(&f);
}

/* A skipped part is missing and nothing is wrong with that; JSON has null for it. */
static void test_parts_can_be_skipped(void **unused) {
    (void)unused;
    for (unsigned skip = 0; skip < 1u << SPAD_PARTS; skip++) {
        fixture f = analyse(right, (spad_analysis_options){.skip = skip});
        const bool layout = (skip & 1u << SPAD_PART_LAYOUT) == 0;
        const bool fit = (skip & 1u << SPAD_PART_FIT) == 0;
        assert_int_equal(spad_analysis_get_layout(f.analysis) != NULL, layout);
        assert_int_equal(spad_analysis_get_check(f.analysis) != NULL,
                         (skip & 1u << SPAD_PART_CHECK) == 0);
        assert_int_equal(spad_analysis_get_sim(f.analysis) != NULL,
                         (skip & 1u << SPAD_PART_SIM) == 0);
        assert_int_equal(spad_analysis_get_fit(f.analysis) != NULL, layout && fit);
        assert_true(spad_analysis_is_fine(f.analysis));
        test_text text = written(f.analysis, SPAD_FORMAT_TEXT);
        test_text json = written(f.analysis, SPAD_FORMAT_JSON);
        assert_int_equal(strncmp(text.bytes, "rows on trn2 (N = 16):", 22), 0);
        assert_int_equal(strstr(json.bytes, "\"layout\": null") == NULL, layout);
        assert_int_equal(strstr(json.bytes, "\"engines\": null") == NULL,
                         (skip & 1u << SPAD_PART_SIM) == 0);
        test_text_free(&text);
        test_text_free(&json);
        drop(&f);
    }
}

/* Two tiles that are never live together have the same bytes, and the second load waits for the
 * first store. What synchronisation orders waits no longer than before. */
static void test_shared_bytes_have_a_price(void **unused) {
    (void)unused;
    static const char *const texts[] = {
        "kernel waits on trn2\ntensor in : hbm bf16 [2] (128, 512) input\n"
        "tensor out : hbm bf16 [2] (128, 512) output\ntensor x : sbuf bf16 [2] (128, 512) ring 2\n"
        "dma load reads in[0] writes x[0]\ndma store reads x[0] writes out[0]\n"
        "dma load reads in[1] writes x[1]\ndma store reads x[1] writes out[1]\n",
        "kernel ordered on sm_90\ntensor o : global u8 [2] (64) output\n"
        "tensor a : shared u8 (64)\ntensor b : shared u8 (64)\n"
        "agent one { simt w writes a\n simt r reads a writes o[0]\n"
        " simt w writes b\n simt r reads b writes o[1] }\n"};
    for (int i = 0; i < 2; i++) {
        fixture f = analyse(texts[i], (spad_analysis_options){0});
        const int64_t shared = spad_sim_get_totals(spad_analysis_get_sim(f.analysis)).makespan;
        const int64_t apart = spad_analysis_get_apart(f.analysis);
        spad_sim *sim;
        spad_error error;
        assert_ok(spad_sim_create(&sim, f.kernel, NULL, &error), &error);
        assert_int_equal(apart, spad_sim_get_totals(sim).makespan);
        assert_int_equal(apart < shared, i == 0);
        assert_true(apart <= shared);
        spad_sim_destroy(sim);
        test_text text = written(f.analysis, SPAD_FORMAT_TEXT);
        assert_int_equal(strstr(text.bytes, "shared bytes cost") != NULL, i == 0);
        test_text_free(&text);
        drop(&f);
    }
    fixture f = analyse(stuck, (spad_analysis_options){0});
    assert_int_equal(spad_analysis_get_apart(f.analysis), SPAD_UNBOUNDED);
    drop(&f);
    f = analyse(right, (spad_analysis_options){.sim = &(spad_sim_options){.operation_limit = 3}});
    assert_int_equal(spad_analysis_get_apart(f.analysis), SPAD_UNBOUNDED); /* no simulation */
    drop(&f);
}

/* Parts that are there already are used, and must be of this kernel. */
static void test_parts_of_the_caller(void **unused) {
    (void)unused;
    fixture f = analyse(right, (spad_analysis_options){0});
    fixture g = analyse(too_deep, (spad_analysis_options){0});
    const spad_analysis_options mine = {.made_layout = spad_analysis_get_layout(f.analysis),
                                        .made_check = spad_analysis_get_check(f.analysis),
                                        .made_sim = spad_analysis_get_sim(f.analysis)};
    spad_analysis *again;
    spad_error error;
    assert_ok(spad_analysis_create(&again, f.kernel, &mine, &error), &error);
    assert_ptr_equal(spad_analysis_get_layout(again), mine.made_layout);
    assert_ptr_equal(spad_analysis_get_check(again), mine.made_check);
    assert_ptr_equal(spad_analysis_get_sim(again), mine.made_sim);
    spad_analysis_destroy(again);
    const spad_analysis_options others[] = {
        {.made_layout = spad_analysis_get_layout(g.analysis)},
        {.made_check = spad_analysis_get_check(g.analysis)},
        {.made_sim = spad_analysis_get_sim(g.analysis)},
    };
    static const char *const words[] = {"layout", "check", "simulation"};
    for (int i = 0; i < 3; i++) {
        assert_int_equal(spad_analysis_create(&again, f.kernel, &others[i], &error),
                         SPAD_ERR_ARGUMENT);
        assert_null(again);
        assert_non_null(strstr(error.message, words[i]));
    }
    drop(&g);
    drop(&f);
}

/* ---- what is wrong ----------------------------------------------------------------- */

static void test_what_does_not_fit_has_notes(void **unused) {
    (void)unused;
    fixture f = analyse(too_deep, (spad_analysis_options){0});
    assert_false(spad_analysis_is_fine(f.analysis));
    assert_int_equal(spad_analysis_note_count(f.analysis), 4);
    assert_note(&f, 0, SPAD_ANALYSIS_DOES_NOT_FIT, "does not fit");
    assert_int_equal(spad_analysis_get_note(f.analysis, 1)->code, SPAD_ANALYSIS_TOO_SMALL);
    assert_note(&f, 2, SPAD_ANALYSIS_PEAK,
                "live peak of sbuf: 524,288 B (512 KiB) at line 6 (for i): x 2 x 262,144");
    assert_note(&f, 3, SPAD_ANALYSIS_VERDICT,
                "wrong: it does not fit; apart from that, proved for all N "
                ">= 1");
    assert_null(spad_analysis_get_note(f.analysis, 4));
    spad_error error;
    test_text text;
    test_text_init(&text);
    assert_int_equal(spad_analysis_write_note(f.analysis, 4, &text.sink, &error),
                     SPAD_ERR_ARGUMENT);
    assert_string_equal(error.message, "there is no note 4; the analysis has 4");
    assert_string_equal(spad_analysis_note_name(SPAD_ANALYSIS_TOO_SMALL), "too-small");
    assert_string_equal(spad_analysis_note_name((spad_analysis_note_code)99), "?");
    test_text_free(&text);
    /* without a search for changes there are no changes to note */
    fixture g = analyse(too_deep, (spad_analysis_options){.skip = 1u << SPAD_PART_FIT});
    assert_int_equal(spad_analysis_note_count(g.analysis), 3);
    drop(&g);
    drop(&f);
}

/* A layout that cannot be made is a fault of that part, and an error of the check. */
static void test_faults_leave_other_parts(void **unused) {
    (void)unused;
    fixture f = analyse(too_wide, (spad_analysis_options){0});
    const spad_error *fault = spad_analysis_get_fault(f.analysis, SPAD_PART_LAYOUT);
    assert_null(spad_analysis_get_layout(f.analysis));
    assert_null(spad_analysis_get_fit(f.analysis));
    assert_non_null(fault);
    assert_int_equal(fault->code, SPAD_ERR_NO_FIT);
    assert_true(spad_check_get_counts(spad_analysis_get_check(f.analysis)).errors > 0);
    assert_false(spad_analysis_is_fine(f.analysis));
    test_text text = written(f.analysis, SPAD_FORMAT_TEXT);
    assert_non_null(strstr(text.bytes, "not placed: "));
    test_text_free(&text);
    drop(&f);

    f = analyse(right, (spad_analysis_options){
                           .sim = &(spad_sim_options){.operation_limit = 3, .no_repeat = true}});
    assert_null(spad_analysis_get_sim(f.analysis));
    assert_non_null(spad_analysis_get_fault(f.analysis, SPAD_PART_SIM));
    assert_non_null(spad_analysis_get_layout(f.analysis));
    assert_false(spad_analysis_is_fine(f.analysis));
    text = written(f.analysis, SPAD_FORMAT_TEXT);
    assert_non_null(strstr(text.bytes, "engines: not simulated: "));
    test_text_free(&text);
    drop(&f);
}

static void test_what_gets_stuck_is_not_fine(void **unused) {
    (void)unused;
    fixture f = analyse(stuck, (spad_analysis_options){.skip = 1u << SPAD_PART_CHECK});
    assert_false(spad_analysis_is_fine(f.analysis));
    test_text text = written(f.analysis, SPAD_FORMAT_TEXT);
    assert_non_null(strstr(text.bytes, "\nstuck: "));
    test_text_free(&text);
    drop(&f);
}

static void test_bad_options(void **unused) {
    (void)unused;
    fixture f = analyse(right, (spad_analysis_options){0});
    spad_analysis *analysis = f.analysis;
    spad_error error;
    const spad_analysis_options negative = {.timeout_ns = -1};
    assert_int_equal(spad_analysis_create(&analysis, f.kernel, &negative, &error),
                     SPAD_ERR_ARGUMENT);
    assert_null(analysis);
    assert_string_equal(error.message, "a timeout of -1 ns is negative");
    spad_analysis_destroy(NULL);
    drop(&f);
}

/* No time at all: nothing is claimed that was not examined. */
static void test_time_runs_out(void **unused) {
    (void)unused;
    fixture f = analyse(right, (spad_analysis_options){.timeout_ns = 1});
    const spad_verdict verdict = spad_check_get_verdict(spad_analysis_get_check(f.analysis));
    assert_true(verdict == SPAD_VERDICT_UNKNOWN || verdict == SPAD_VERDICT_PROVED_SHAPE);
    drop(&f);
}

/* Limits of the parts are cut to that of all of them, and stay where they are tighter. */
static void test_limits_of_parts(void **unused) {
    (void)unused;
    const int64_t long_time = INT64_C(1000000000000);
    const spad_analysis_options cases[] = {
        {.timeout_ns = long_time, .check = &(spad_check_options){.timeout_ns = 1}},
        {.timeout_ns = 1,
         .check = &(spad_check_options){.timeout_ns = long_time},
         .sim = &(spad_sim_options){.timeout_ns = long_time}}};
    for (size_t i = 0; i < 2; i++) {
        fixture f = analyse(right, cases[i]);
        const spad_verdict verdict = spad_check_get_verdict(spad_analysis_get_check(f.analysis));
        assert_true(verdict == SPAD_VERDICT_UNKNOWN || verdict == SPAD_VERDICT_PROVED_SHAPE);
        drop(&f);
    }
}

/* A run is simulated to its end where the caller asks for more iterations than it has. */
static void test_iterations_of_the_caller(void **unused) {
    (void)unused;
    fixture all =
        analyse(right, (spad_analysis_options){.sim = &(spad_sim_options){.repeat_after = 1000}});
    fixture few =
        analyse(right, (spad_analysis_options){.sim = &(spad_sim_options){.repeat_after = 1}});
    const spad_sim_totals a = spad_sim_get_totals(spad_analysis_get_sim(all.analysis));
    const spad_sim_totals b = spad_sim_get_totals(spad_analysis_get_sim(few.analysis));
    assert_int_equal(a.makespan, b.makespan);
    assert_int_equal(a.operations, 48);
    assert_int_equal(b.operations, 48);
    drop(&all);
    drop(&few);
}

/* A layout that cannot be described is a finding where the check has none of its own. */
static void test_faults_become_findings(void **unused) {
    (void)unused;
    fixture f =
        analyse("kernel k on sm_90\nmbarrier m[4611686018427387904] count 1\n"
                "tensor x : shared u8 (64)\nagent a {\nsimt w writes x\nsimt r reads x\n}\n",
                (spad_analysis_options){0});
    const spad_check *check = spad_analysis_get_check(f.analysis);
    const spad_error *fault = spad_analysis_get_fault(f.analysis, SPAD_PART_LAYOUT);
    assert_non_null(fault);
    assert_null(spad_analysis_get_layout(f.analysis));
    assert_false(spad_analysis_is_fine(f.analysis));
    assert_int_equal(spad_check_get_counts(check).errors, 1);
    const spad_finding *finding = spad_check_get_finding(check, 0);
    assert_int_equal(finding->code, SPAD_FINDING_DOES_NOT_FIT);
    assert_string_equal(finding->message, "4611686018427387904 mbarriers do not fit 64 bits");
    assert_int_equal(finding->line, 2);
    test_text text = written(f.analysis, SPAD_FORMAT_TEXT);
    assert_non_null(strstr(text.bytes, "not placed: "));
    test_text_free(&text);
    drop(&f);
}

/* Work of which nothing is used has the time that the simulation gives, if that is a time. */
static void test_wasted_work_has_a_time(void **unused) {
    (void)unused;
    static const struct {
        const char *cost;
        const char *words; /* NULL: no time at all */
    } cases[] = {{"cost 40 ns", "40.000 ns"}, {"cost 7 cycles", "7 cycles"}, {"", NULL}};
    for (size_t i = 0; i < 3; i++) {
        char kernel[400];
        snprintf(
            kernel, sizeof kernel,
            "kernel k on sm_87\ntensor x : shared u8 (64)\ntensor out : global u8 (64) output\n"
            "simt first writes x %s\nsimt w writes x %s\nsimt r reads x writes out %s\n",
            cases[i].cost, cases[i].cost, cases[i].cost);
        fixture f = analyse(kernel, (spad_analysis_options){0});
        test_text text = written(f.analysis, SPAD_FORMAT_TEXT);
        const char *line = strstr(text.bytes, "warning: first writes 'x'");
        assert_non_null(line);
        const char *end = strstr(line, "[SPAD-DEAD-WRITE]");
        assert_non_null(end);
        if (cases[i].words != NULL) {
            const char *time = strstr(line, cases[i].words);
            assert_true(time != NULL && time < end);
        } else {
            assert_memory_equal(line, "warning: first writes 'x', and nothing reads it", 47);
        }
        test_text_free(&text);
        drop(&f);
    }
}

/* Operations that take no time have no share of it. */
static void test_work_without_time(void **unused) {
    (void)unused;
    fixture f = analyse("kernel k on sm_90\ntensor x : shared u8 (64)\nsimt w writes x cost 0 ns\n"
                        "simt r reads x cost 0 ns\n",
                        (spad_analysis_options){0});
    test_text text = written(f.analysis, SPAD_FORMAT_TEXT);
    assert_null(strstr(text.bytes, "engines:"));
    assert_non_null(strstr(text.bytes, "k on sm_90: fits, proved"));
    test_text_free(&text);
    drop(&f);
    f = analyse(too_deep, (spad_analysis_options){0});
    text = written(f.analysis, SPAD_FORMAT_TEXT);
    assert_memory_equal(text.bytes, "rows on trn2 (N = 16): does not fit, ", 37);
    test_text_free(&text);
    drop(&f);
}

static int end_after(void *context) {
    int *left = context;
    return --*left < 0;
}

/* A cancelled call says so, wherever it was, and gives nothing. */
static void test_cancelled(void **unused) {
    (void)unused;
    fixture f = analyse(right, (spad_analysis_options){0});
    bool done = false;
    int cancelled = 0;
    for (int asks = 0; !done && asks < 2000; asks++) {
        int left = asks;
        spad_analysis *analysis;
        spad_error error;
        const spad_analysis_options options = {.watch = {end_after, &left}};
        const spad_status status = spad_analysis_create(&analysis, f.kernel, &options, &error);
        done = status == SPAD_OK;
        if (!done) {
            assert_int_equal(status, SPAD_ERR_CANCELLED);
            assert_int_equal(error.code, SPAD_ERR_CANCELLED);
            assert_null(analysis);
            cancelled++;
        }
        spad_analysis_destroy(analysis);
    }
    assert_true(done);
    assert_true(cancelled > 3); /* in every part */
    drop(&f);
}

/* ---- reports ----------------------------------------------------------------------- */

static void test_report_has_all_of_it(void **unused) {
    (void)unused;
    fixture f = analyse(too_deep, (spad_analysis_options){0});
    spad_report *report;
    spad_error error;
    test_text json;
    test_text_init(&json);
    assert_ok(spad_report_create(&report, spad_kernel_get_target(f.kernel), NULL, &error), &error);
    assert_ok(spad_report_add_analysis(report, f.analysis, &error), &error);
    assert_ok(spad_report_write(report, SPAD_FORMAT_JSON, &json.sink, &error), &error);
    assert_non_null(strstr(json.bytes, "\"rows (N = 16)\""));
    assert_non_null(strstr(json.bytes, "\"does not fit\""));
    assert_non_null(strstr(json.bytes, "live peak of sbuf: 524,288 B (512 KiB)"));
    assert_non_null(strstr(json.bytes, "SPAD-DOES-NOT-FIT"));
    assert_non_null(strstr(json.bytes, "tensor x : sbuf"));
    test_text_free(&json);
    spad_report_destroy(report);
    drop(&f);
}

static void test_title_of_the_caller_stays(void **unused) {
    (void)unused;
    fixture f = analyse(right, (spad_analysis_options){0});
    const spad_report_options options = {.title = "mine"};
    spad_report *report;
    spad_error error;
    test_text json;
    test_text_init(&json);
    assert_ok(spad_report_create(&report, spad_kernel_get_target(f.kernel), &options, &error),
              &error);
    assert_ok(spad_report_add_analysis(report, f.analysis, &error), &error);
    assert_ok(spad_report_write(report, SPAD_FORMAT_JSON, &json.sink, &error), &error);
    assert_non_null(strstr(json.bytes, "\"mine\""));
    assert_null(strstr(json.bytes, "rows (N = 16)"));
    test_text_free(&json);
    spad_report_destroy(report);
    drop(&f);
}

/* ---- no memory, no room ------------------------------------------------------------ */

static spad_status everything(const spad_host *host, void *text) {
    spad_kernel *kernel;
    spad_analysis *analysis = NULL;
    spad_report *report = NULL;
    const spad_kernel_options kernel_options = {.host = host};
    const spad_report_options report_options = {.host = host};
    const spad_analysis_options options = {
        .host = host, .source = text, .source_length = strlen(text)};
    spad_status status =
        spad_kernel_parse(&kernel, text, strlen(text), NULL, &kernel_options, NULL, NULL);
    if (status != SPAD_OK) return status;
    status = spad_analysis_create(&analysis, kernel, &options, NULL);
    if (status == SPAD_OK) {
        status = spad_report_create(&report, spad_kernel_get_target(kernel), &report_options, NULL);
    }
    if (status == SPAD_OK) {
        status = spad_report_add_analysis(report, analysis, NULL);
        if (status != SPAD_OK) assert_int_equal(spad_report_box_count(report), 0);
    }
    spad_report_destroy(report);
    spad_analysis_destroy(analysis);
    spad_kernel_destroy(kernel);
    return status;
}

static void test_without_memory(void **unused) {
    (void)unused;
    test_fail_each_allocation(everything, (void *)(uintptr_t)right);
    test_fail_each_allocation(everything, (void *)(uintptr_t)too_wide);
}

static void test_sinks_that_fail(void **unused) {
    (void)unused;
    static const spad_format forms[] = {SPAD_FORMAT_TEXT, SPAD_FORMAT_JSON};
    fixture f = analyse(right, (spad_analysis_options){0});
    for (int w = 0; w < 2; w++) {
        test_text whole = written(f.analysis, forms[w]);
        for (size_t room = 0; room < whole.count; room += 97) {
            test_text text;
            spad_error error;
            test_text_init(&text);
            text.fail_after = room;
            assert_int_equal(spad_analysis_write(f.analysis, forms[w], &text.sink, &error),
                             SPAD_ERR_IO);
            test_text_free(&text);
        }
        test_text_free(&whole);
    }
    drop(&f);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_parts_are_those_of_separate_calls),
        cmocka_unit_test(test_parts_can_be_skipped),
        cmocka_unit_test(test_shared_bytes_have_a_price),
        cmocka_unit_test(test_parts_of_the_caller),
        cmocka_unit_test(test_what_does_not_fit_has_notes),
        cmocka_unit_test(test_faults_leave_other_parts),
        cmocka_unit_test(test_what_gets_stuck_is_not_fine),
        cmocka_unit_test(test_bad_options),
        cmocka_unit_test(test_time_runs_out),
        cmocka_unit_test(test_report_has_all_of_it),
        cmocka_unit_test(test_title_of_the_caller_stays),
        cmocka_unit_test(test_without_memory),
        cmocka_unit_test(test_sinks_that_fail),
        cmocka_unit_test(test_limits_of_parts),
        cmocka_unit_test(test_iterations_of_the_caller),
        cmocka_unit_test(test_faults_become_findings),
        cmocka_unit_test(test_wasted_work_has_a_time),
        cmocka_unit_test(test_work_without_time),
        cmocka_unit_test(test_cancelled),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
