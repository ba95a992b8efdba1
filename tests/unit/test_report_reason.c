/* SPDX-License-Identifier: Apache-2.0
 *
 * Notes of a report about a plan: the verdict, why it does not fit, and what would.
 */
#include "support/support.h"

#include <string.h>

#include "spad/spad.h"

static const char rows[] = "id,lower,upper,size\na,0,4,60\nb,2,6,50\n";
static const char pins[] = "id,lower,upper,size,offset\na,0,4,8,0\nb,2,6,8,4\n";

typedef struct fixture {
    spad_plan *plan;
    spad_plan_result *result;
    spad_plan_reason *reason; /* NULL: it fits */
} fixture;

static fixture solve(const char *csv, int64_t capacity) {
    fixture f = {0};
    spad_error error;
    assert_ok(spad_plan_create(&f.plan, NULL, &error), &error);
    assert_ok(spad_plan_set_capacity(f.plan, capacity, &error), &error);
    assert_ok(spad_plan_read_csv(f.plan, csv, strlen(csv), "x.csv", NULL, &error), &error);
    assert_ok(spad_plan_solve(&f.result, f.plan, NULL, &error), &error);
    if (f.result->verdict == SPAD_PLAN_INFEASIBLE) {
        assert_ok(spad_plan_explain(&f.reason, f.plan, f.result, 0, NULL, &error), &error);
    }
    return f;
}

static void drop(fixture *f) {
    spad_plan_reason_destroy(f->reason);
    spad_plan_result_destroy(f->result);
    spad_plan_destroy(f->plan);
}

/* The notes of the report, as its JSON has them. */
static test_text written(const fixture *f, spad_format format) {
    spad_report *report;
    const spad_target *target;
    spad_error error;
    test_text json;
    test_text_init(&json);
    assert_ok(spad_target_find(&target, "trn2", &error), &error);
    assert_ok(spad_report_create(&report, target, NULL, &error), &error);
    assert_ok(spad_report_add_plan(report, f->plan, f->result, 0, &error), &error);
    assert_ok(spad_report_add_reason(report, f->plan, f->result, f->reason, &error), &error);
    assert_ok(spad_report_write(report, format, &json.sink, &error), &error);
    spad_report_destroy(report);
    return json;
}

static test_text notes_of(const fixture *f) {
    return written(f, SPAD_FORMAT_JSON);
}

/* The page has the changes one by one, with what leaves the peak. */
static void test_changes_are_in_the_page(void **unused) {
    (void)unused;
    fixture f = solve(rows, 100);
    test_text html = written(&f, SPAD_FORMAT_HTML);
    assert_non_null(strstr(html.bytes, "\"changes\":[["));
    assert_non_null(
        strstr(html.bytes, "[\"b\",\"fits if 'b' (50 B) is moved to another memory\",50]"));
    test_text_free(&html);
    drop(&f);
    f = solve(rows, 200);
    html = written(&f, SPAD_FORMAT_HTML);
    assert_null(strstr(html.bytes, "\"changes\":[["));
    test_text_free(&html);
    drop(&f);
}

/* The places of each change are a plan of the problem with that change, and the page has its boxes.
 */
static void test_changes_have_their_plans(void **unused) {
    (void)unused;
    static const char wide[] =
        "id,lower,upper,size,alignment\na,0,4,60,1\nb,2,6,50,1\nc,5,9,40,1\n";
    fixture f = solve(wide, 100);
    spad_error error;
    assert_true(f.reason->change_count >= 3); /* shorter lives and moves */
    for (size_t k = 0; k < f.reason->change_count; k++) {
        const spad_plan_change *change = &f.reason->changes[k];
        spad_plan *changed;
        int64_t height;
        assert_non_null(change->places);
        assert_ok(spad_plan_create(&changed, NULL, &error), &error);
        assert_ok(spad_plan_set_capacity(changed, 100, &error), &error);
        for (size_t i = 0; i < spad_plan_count(f.plan); i++) {
            spad_plan_buffer b = *spad_plan_get(f.plan, i);
            if (i == change->buffer && change->kind == SPAD_PLAN_SPILL) b.size = 0;
            if (i == change->buffer && change->kind == SPAD_PLAN_SHORTEN)
                *(change->late ? &b.lower : &b.upper) = change->amount;
            assert_ok(spad_plan_add(NULL, changed, &b, &error), &error);
        }
        assert_ok(
            spad_plan_check(&height, changed, change->places, spad_plan_count(changed), &error),
            &error);
        assert_true(height <= 100);
        spad_plan_destroy(changed);
    }
    test_text html = written(&f, SPAD_FORMAT_HTML);
    const char *with = strstr(html.bytes, "\"with\":[[0,{");
    assert_non_null(with);
    for (size_t k = 1; k < f.reason->change_count; k++) {
        char wanted[32];
        snprintf(wanted, sizeof wanted, ",\n[%zu,{", k);
        assert_non_null(strstr(with, wanted));
    }
    test_text_free(&html);
    drop(&f);
}

/* Where one change is not enough, each set has a plan of the others, and the page has its boxes. */
static void test_sets_have_their_plans(void **unused) {
    (void)unused;
    static const char three[] = "id,lower,upper,size\na,0,9,60\nb,0,9,70\nc,0,9,80\n";
    fixture f = solve(three, 100);
    spad_error error;
    assert_int_equal(f.reason->change_count, 0);
    assert_int_equal(f.reason->spill_count, 1);
    const spad_plan_spill *set = &f.reason->spills[0];
    spad_plan *changed;
    int64_t height;
    assert_int_equal(set->count, 2);
    assert_non_null(set->places);
    assert_ok(spad_plan_create(&changed, NULL, &error), &error);
    assert_ok(spad_plan_set_capacity(changed, 100, &error), &error);
    for (size_t i = 0; i < spad_plan_count(f.plan); i++) {
        spad_plan_buffer b = *spad_plan_get(f.plan, i);
        if (i == set->buffers[0] || i == set->buffers[1]) b.size = 0;
        assert_ok(spad_plan_add(NULL, changed, &b, &error), &error);
    }
    assert_ok(spad_plan_check(&height, changed, set->places, 3, &error), &error);
    assert_true(height == 80 || height == 60);
    spad_plan_destroy(changed);
    test_text html = written(&f, SPAD_FORMAT_HTML);
    const char *with = strstr(html.bytes, "\"with\":[[0,{");
    assert_non_null(with);
    assert_non_null(strstr(with, "\"boxes\":{\"count\":1,"));
    test_text_free(&html);
    drop(&f);
}

static void test_a_plan_that_fits_has_its_verdict(void **unused) {
    (void)unused;
    fixture f = solve(rows, 200);
    test_text json = notes_of(&f);
    assert_non_null(strstr(json.bytes, "\"optimal: height 110 B, no plan is lower than 110 B\""));
    assert_null(strstr(json.bytes, "why: "));
    test_text_free(&json);
    drop(&f);
}

static void test_one_that_does_not_has_reasons(void **unused) {
    (void)unused;
    fixture f = solve(rows, 100);
    test_text json = notes_of(&f);
    assert_non_null(
        strstr(json.bytes, "\"infeasible: height 110 B, no plan is lower than 110 B\""));
    assert_non_null(strstr(json.bytes,
                           "\"why: at time 2 110 B are live, capacity 100 B, over by 10 B; live: "
                           "'a', 60 B, from 0 to 4; live: 'b', 50 B, from 2 to 6\""));
    assert_non_null(strstr(json.bytes, "\"smallest capacity known to work: 110 B; fits if "));
    test_text_free(&json);
    drop(&f);
}

static void test_pins_that_clash_are_drawn(void **unused) {
    (void)unused;
    fixture f = solve(pins, SPAD_UNBOUNDED);
    test_text json = notes_of(&f);
    assert_non_null(strstr(json.bytes, "\"infeasible: no plan\""));
    assert_non_null(strstr(json.bytes, "are pinned and share bytes while both are live\""));
    assert_null(strstr(json.bytes, "smallest capacity"));
    test_text_free(&json);
    drop(&f);
}

static void test_a_stale_result_is_refused(void **unused) {
    (void)unused;
    fixture f = solve(rows, 200);
    spad_report *report;
    const spad_target *target;
    spad_error error;
    const spad_plan_buffer more = {.name = "c", .lower = 0, .upper = 1, .size = 1};
    assert_ok(spad_plan_add(NULL, f.plan, &more, &error), &error);
    assert_ok(spad_target_find(&target, "trn2", &error), &error);
    assert_ok(spad_report_create(&report, target, NULL, &error), &error);
    assert_int_equal(spad_report_add_reason(report, f.plan, f.result, NULL, &error),
                     SPAD_ERR_STALE);
    spad_report_destroy(report);
    drop(&f);
}

static spad_status everything(const spad_host *host, void *context) {
    const fixture *f = context;
    const spad_report_options options = {.host = host};
    const spad_target *target;
    spad_report *report;
    spad_error error;
    assert_ok(spad_target_find(&target, "trn2", &error), &error);
    spad_status status = spad_report_create(&report, target, &options, &error);
    if (status != SPAD_OK) return status;
    status = spad_report_add_plan(report, f->plan, f->result, 0, &error);
    if (status == SPAD_OK) {
        status = spad_report_add_reason(report, f->plan, f->result, f->reason, &error);
    }
    test_text html;
    test_text_init(&html);
    if (status == SPAD_OK) status = spad_report_write(report, SPAD_FORMAT_HTML, &html.sink, &error);
    test_text_free(&html);
    spad_report_destroy(report);
    return status;
}

static void test_without_memory(void **unused) {
    (void)unused;
    fixture f = solve(rows, 100);
    test_fail_each_allocation(everything, &f);
    drop(&f);
    f = solve("id,lower,upper,size\na,0,9,60\nb,0,9,70\nc,0,9,80\n", 100); /* a set */
    test_fail_each_allocation(everything, &f);
    drop(&f);
}

/* ---- kernels ------------------------------------------------------------------------ */

static const char deep[] = "kernel deep on trn2\nparam N = 4\nparam S = 4\n"
                           "tensor in : hbm u8 [N] (128, 65536) input\n"
                           "tensor x : sbuf u8 [N] (128, 65536) ring S\n"
                           "for i in 0..N {\n"
                           "    dma load reads in[i] writes x[i]\n"
                           "    scalar use reads x[i]\n"
                           "}\n";

typedef struct kernel_fixture {
    spad_kernel *kernel;
    spad_analysis *analysis;
} kernel_fixture;

static kernel_fixture analyse_text(const char *text) {
    kernel_fixture f;
    spad_error error;
    assert_ok(spad_kernel_parse(&f.kernel, text, strlen(text), "deep.spad", NULL, NULL, &error),
              &error);
    assert_ok(spad_analysis_create(&f.analysis, f.kernel, NULL, &error), &error);
    return f;
}

static spad_status draw_kernel(const spad_host *host, void *context) {
    const kernel_fixture *f = context;
    const spad_report_options options = {.host = host};
    spad_report *report;
    spad_error error;
    test_text html;
    spad_status status =
        spad_report_create(&report, spad_kernel_get_target(f->kernel), &options, &error);
    if (status != SPAD_OK) return status;
    test_text_init(&html);
    status = spad_report_add_analysis(report, f->analysis, &error);
    if (status == SPAD_OK) status = spad_report_write(report, SPAD_FORMAT_HTML, &html.sink, &error);
    if (status == SPAD_OK) {
        const char *change = strstr(html.bytes, "[\"S\",\"fits with -D S=3 instead of 4\",65536]");
        assert_non_null(change);
        assert_non_null(strstr(html.bytes, "[\"x\",\"fits if 'x' is moved to another memory\","));
        const char *with = strstr(html.bytes, "\"with\":[[0,{");
        assert_non_null(with);
        assert_non_null(strstr(with, ",\n[1,{")); /* the planner's places without 'x' */
    }
    test_text_free(&html);
    spad_report_destroy(report);
    return status;
}

/* Two tensors of which each is too large; with rings of one tile, one of them fits. */
static const char wider[] = "kernel wider on sm_80\n"
                            "param N = 4\n"
                            "tensor g : global fp16 [N] (128, 400) input\n"
                            "tensor a : shared fp16 [N] (128, 400) ring 3\n"
                            "tensor b : shared fp16 [N] (128, 400) ring 3\n"
                            "for i in 0..N {\n"
                            "    simt load reads g[i] writes a[i]\n"
                            "    simt load reads g[i] writes b[i]\n"
                            "    simt add reads a[i], b[i] writes a[i]\n"
                            "}\n";

static spad_status draw_sets(const spad_host *host, void *context) {
    const kernel_fixture *f = context;
    const spad_fit_options fits = {.host = host};
    const spad_report_options options = {.host = host};
    spad_fit *fit;
    spad_report *report;
    spad_error error;
    spad_status status =
        spad_fit_create(&fit, spad_analysis_get_layout(f->analysis), &fits, &error);
    if (status != SPAD_OK) return status;
    assert_int_equal(spad_fit_count(fit), 3);
    spad_fit_destroy(fit);
    status = spad_report_create(&report, spad_kernel_get_target(f->kernel), &options, &error);
    if (status != SPAD_OK) return status;
    status = spad_report_add_analysis(report, f->analysis, &error);
    if (status == SPAD_OK) {
        test_text html;
        test_text_init(&html);
        status = spad_report_write(report, SPAD_FORMAT_HTML, &html.sink, &error);
        if (status == SPAD_OK) {
            const char *with = strstr(html.bytes, "\"with\":[[0,{");
            assert_non_null(with);
            assert_non_null(strstr(html.bytes, "fits with --ring a=1 --ring b=1 if 'a' is moved"));
            assert_non_null(strstr(with, ",\n[1,{"));
            assert_non_null(strstr(with, ",\n[2,{"));
            assert_null(strstr(with, ",\n[3,{"));
        }
        test_text_free(&html);
    }
    spad_report_destroy(report);
    return status;
}

static void test_sets_of_a_kernel_are_laid_out(void **unused) {
    (void)unused;
    kernel_fixture f = analyse_text(wider);
    test_fail_each_allocation(draw_sets, &f);
    spad_analysis_destroy(f.analysis);
    spad_kernel_destroy(f.kernel);
}

static void test_a_kernel_with_a_change_is_laid_out(void **unused) {
    (void)unused;
    kernel_fixture f = analyse_text(deep);
    test_fail_each_allocation(draw_kernel, &f);
    spad_analysis_destroy(f.analysis);
    spad_kernel_destroy(f.kernel);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_a_plan_that_fits_has_its_verdict),
        cmocka_unit_test(test_one_that_does_not_has_reasons),
        cmocka_unit_test(test_changes_have_their_plans),
        cmocka_unit_test(test_sets_have_their_plans),
        cmocka_unit_test(test_changes_are_in_the_page),
        cmocka_unit_test(test_pins_that_clash_are_drawn),
        cmocka_unit_test(test_a_stale_result_is_refused),
        cmocka_unit_test(test_without_memory),
        cmocka_unit_test(test_a_kernel_with_a_change_is_laid_out),
        cmocka_unit_test(test_sets_of_a_kernel_are_laid_out),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
