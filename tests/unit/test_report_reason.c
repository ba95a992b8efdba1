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
    assert_ok(spad_plan_read_csv(f.plan, csv, strlen(csv), "x.csv", &error), &error);
    assert_ok(spad_plan_solve(&f.result, f.plan, NULL, &error), &error);
    if (f.result->verdict == SPAD_PLAN_INFEASIBLE) {
        assert_ok(spad_plan_explain(&f.reason, f.plan, f.result, 0, &error), &error);
    }
    return f;
}

static void drop(fixture *f) {
    spad_plan_reason_destroy(f->reason);
    spad_plan_result_destroy(f->result);
    spad_plan_destroy(f->plan);
}

/* The notes of the report, as its JSON has them. */
typedef spad_status report_writer(const spad_report *report, const spad_sink *sink,
                                  spad_error *error);

static test_text written(const fixture *f, report_writer *write) {
    spad_report *report;
    const spad_target *target;
    spad_error error;
    test_text json;
    test_text_init(&json);
    assert_ok(spad_target_find(&target, "trn2", &error), &error);
    assert_ok(spad_report_create(&report, target, NULL, &error), &error);
    assert_ok(spad_report_add_plan(report, f->plan, f->result, 0, &error), &error);
    assert_ok(spad_report_add_reason(report, f->plan, f->result, f->reason, &error), &error);
    assert_ok(write(report, &json.sink, &error), &error);
    spad_report_destroy(report);
    return json;
}

static test_text notes_of(const fixture *f) {
    return written(f, spad_report_write_json);
}

/* The page has the changes one by one, with what leaves the peak. */
static void test_changes_are_in_the_page(void **unused) {
    (void)unused;
    fixture f = solve(rows, 100);
    test_text html = written(&f, spad_report_write_html);
    assert_non_null(strstr(html.bytes, "\"changes\":[["));
    assert_non_null(
        strstr(html.bytes, "[\"b\",\"fits if 'b' (50 B) is moved to another memory\",50]"));
    test_text_free(&html);
    drop(&f);
    f = solve(rows, 200);
    html = written(&f, spad_report_write_html);
    assert_null(strstr(html.bytes, "\"changes\":[["));
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
                           "\"why: at time 2 110 B are alive, capacity 100 B, over by 10 B; alive: "
                           "'a', 60 B, from 0 to 4; alive: 'b', 50 B, from 2 to 6\""));
    assert_non_null(strstr(json.bytes, "\"smallest capacity known to work: 110 B; fits if "));
    test_text_free(&json);
    drop(&f);
}

static void test_pins_that_clash_are_drawn(void **unused) {
    (void)unused;
    fixture f = solve(pins, SPAD_UNBOUNDED);
    test_text json = notes_of(&f);
    assert_non_null(strstr(json.bytes, "\"infeasible: no plan\""));
    assert_non_null(strstr(json.bytes, "are pinned and share bytes while both are alive\""));
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
    spad_report_destroy(report);
    return status;
}

static void test_without_memory(void **unused) {
    (void)unused;
    fixture f = solve(rows, 100);
    test_fail_each_allocation(everything, &f);
    drop(&f);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_a_plan_that_fits_has_its_verdict),
        cmocka_unit_test(test_one_that_does_not_has_reasons),
        cmocka_unit_test(test_changes_are_in_the_page),
        cmocka_unit_test(test_pins_that_clash_are_drawn),
        cmocka_unit_test(test_a_stale_result_is_refused),
        cmocka_unit_test(test_without_memory),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
