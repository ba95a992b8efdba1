/* SPDX-License-Identifier: Apache-2.0
 * How an error happens, in the page of a report: rows, steps, what is red, and the arrows. */
#include "spad/experimental/report_parts.h"
#include "support/kernels.h"
#include "support/support.h"

#include <stdio.h>
#include <string.h>

#include "finding/findings.h"
#include "spad/check.h"
#include "spad/report.h"

/* A ring whose count, depth or parity is for the test to choose. */
#define GEMM(COUNT, RING, FULL)                                                                \
    "kernel k on sm_90\nparam N = 6\nunit tma on copy free proxy\n"                            \
    "mbarrier full[3] count 1\nmbarrier empty[3] count " COUNT "\n"                            \
    "tensor a : global u8 [N] (64) input\ntensor x : shared u8 [N] (64) ring " RING "\n"       \
    "tensor o : global u8 [N] (64) output\n"                                                   \
    "for s in 0..3 { init full[s]; init empty[s] }\nfence\n"                                   \
    "agent load { for k in 0..N { wait empty[k % 3] parity (k / 3 + 1) % 2\n"                  \
    "arrive full[k % 3] expect 64\ntma copy reads a[k] writes x[k] delivers full[k % 3] } }\n" \
    "agent use { for k in 0..N { wait full[k % 3] parity " FULL "\n"                           \
    "simt add reads x[k] writes o[k]\narrive empty[k % 3] } }\n"

static spad_check *checked(const char *text, const spad_host *host, spad_error *error) {
    spad_kernel *kernel = test_parse(text);
    const spad_check_options options = {.no_advice = true, .host = host};
    spad_check *check = NULL;
    if (spad_check_create(&check, kernel, &options, error) != SPAD_OK) check = NULL;
    spad_kernel_destroy(kernel);
    return check;
}

static size_t count_of(const char *page, const char *piece) {
    size_t count = 0;
    for (const char *at = strstr(page, piece); at != NULL; at = strstr(at + 1, piece)) count++;
    return count;
}

static void write_page(const spad_check *check, test_text *page) {
    const spad_target *target;
    spad_report *report;
    spad_error error;
    assert_ok(spad_target_find(&target, "sm_90", &error), &error);
    assert_ok(spad_report_create(&report, target, NULL, &error), &error);
    assert_ok(spad_report_add_check(report, check, &error), &error);
    test_text_init(page);
    assert_ok(spad_report_write(report, SPAD_FORMAT_HTML, &page->sink, &error), &error);
    spad_report_destroy(report);
}

static const spad__witness_step *step_named(const spad__witness *w, const char *text, bool wrong) {
    for (size_t i = 0; i < w->step_count; i++) {
        if (strcmp(w->steps[i].text, text) == 0 && w->steps[i].wrong == wrong) return &w->steps[i];
    }
    return NULL;
}

/* Columns go up along each row and each arrow, and no two steps are in one place. */
static void assert_drawable(const spad__witness *w) {
    assert_true(w->row_count > 0 && w->step_count > 0);
    for (size_t i = 0; i < w->step_count; i++) {
        assert_true(w->steps[i].row < w->row_count && w->steps[i].column < w->columns);
        for (size_t k = i + 1; k < w->step_count; k++) {
            assert_true(w->steps[i].row != w->steps[k].row ||
                        w->steps[i].column != w->steps[k].column);
        }
    }
    for (size_t i = 0; i < w->arrow_count; i++) {
        assert_true(w->steps[w->arrows[i].from].column < w->steps[w->arrows[i].to].column);
    }
}

static void a_race_has_both_accesses_in_red(void **state) {
    (void)state;
    spad_error error;
    spad_check *check = checked(GEMM("1", "2", "k / 3 % 2"), NULL, &error);
    assert_non_null(check);
    assert_int_equal(check->witnesses.count, 1);
    const spad__witness *w = &check->witnesses.items[0];
    assert_int_equal(w->code, SPAD_FINDING_RACE);
    assert_drawable(w);
    size_t wrong = 0;
    for (size_t i = 0; i < w->step_count; i++) {
        if (!w->steps[i].wrong) continue;
        wrong++;
        assert_int_equal(w->steps[i].kind, SPAD__STEP_OPERATION);
        assert_true(w->steps[i].line > 0);
    }
    assert_int_equal(wrong, 2);
    test_text page;
    write_page(check, &page);
    assert_int_equal(count_of(page.bytes, "<section id=\"witnesses\">"), 1);
    assert_int_equal(count_of(page.bytes, "class=\"step wrong\""), 2);
    assert_int_equal(count_of(page.bytes, "<g class=\"step "), w->step_count);
    test_text_free(&page);
    spad_check_destroy(check);
}

static void a_deadlock_has_its_waits_in_red(void **state) {
    (void)state;
    spad_error error;
    spad_check *check = checked(GEMM("2", "3", "k / 3 % 2"), NULL, &error);
    assert_non_null(check);
    assert_int_equal(check->witnesses.count, 1);
    const spad__witness *w = &check->witnesses.items[0];
    assert_int_equal(w->code, SPAD_FINDING_DEADLOCK);
    assert_drawable(w);
    assert_non_null(step_named(w, "wait empty[0]", true));
    assert_non_null(step_named(w, "wait full[0]", true));
    assert_int_equal(step_named(w, "wait empty[0]", true)->column, w->columns - 1);
    /* the one arrival that has come goes there in vain; others let waits go on */
    size_t vain = 0;
    for (size_t i = 0; i < w->arrow_count; i++) vain += w->arrows[i].in_vain;
    assert_int_equal(vain, 1);
    assert_true(w->arrow_count > 1);
    test_text page;
    write_page(check, &page);
    assert_int_equal(count_of(page.bytes, "<path class=\"vain\""), 1);
    assert_int_equal(count_of(page.bytes, "<path class=\"release\""), w->arrow_count - 1);
    test_text_free(&page);
    spad_check_destroy(check);
}

static void a_wait_that_is_lapped_is_drawn(void **state) {
    (void)state;
    spad_error error;
    spad_check *check = checked("kernel k on sm_90\nmbarrier full count 1\ninit full\n"
                                "agent producer { arrive full; arrive full }\n"
                                "agent consumer { wait full parity 0; wait full parity 1 }\n",
                                NULL, &error);
    assert_non_null(check);
    bool lapped = false;
    for (size_t i = 0; i < check->witnesses.count; i++) {
        assert_drawable(&check->witnesses.items[i]);
        lapped = lapped || check->witnesses.items[i].code == SPAD_FINDING_LAPPED_WAIT;
    }
    assert_true(lapped);
    spad_check_destroy(check);
}

static void what_is_right_has_none(void **state) {
    (void)state;
    spad_error error;
    spad_check *check = checked(GEMM("1", "3", "k / 3 % 2"), NULL, &error);
    assert_non_null(check);
    assert_int_equal(check->witnesses.count, 0);
    test_text page;
    write_page(check, &page);
    assert_int_equal(count_of(page.bytes, "<section id=\"witnesses\">"), 0);
    test_text_free(&page);
    spad_check_destroy(check);
}

/* Many agents and a long text: what has no room is left out. */
static void what_has_no_room_is_left_out(void **state) {
    (void)state;
    char text[4096] = "kernel k on sm_90\nbarrier b count 99\n";
    size_t used = strlen(text);
    spad_error error;
    for (int i = 0; i < 40; i++) {
        used += (size_t)snprintf(text + used, sizeof text - used,
                                 "agent a_long_name_of_an_agent_with_number_%d { sync b }\n", i);
    }
    spad_check *check = checked(text, NULL, &error);
    assert_non_null(check);
    assert_int_equal(check->witnesses.count, 1);
    assert_drawable(&check->witnesses.items[0]);
    assert_int_equal(check->witnesses.items[0].row_count, SPAD__WITNESS_ROWS);
    spad_check_destroy(check);
}

static spad_status everything(const spad_host *host, void *context) {
    const char *text = context;
    const spad_report_options options = {.host = host};
    const spad_target *target;
    spad_error error;
    spad_check *check = checked(text, host, &error);
    if (check == NULL) return error.code;
    spad_report *report = NULL;
    assert_int_equal(spad_target_find(&target, "sm_90", &error), SPAD_OK);
    spad_status status = spad_report_create(&report, target, &options, &error);
    if (status == SPAD_OK) status = spad_report_add_check(report, check, &error);
    spad_report_destroy(report);
    spad_check_destroy(check);
    return status;
}

static void nothing_is_lost_without_memory(void **state) {
    (void)state;
    char count[] = GEMM("2", "3", "k / 3 % 2"); /* another count is right */
    char ring[] = GEMM("1", "2", "k / 3 % 2");  /* another depth is */
    char arrival[] = "kernel k on sm_90\nmbarrier m count 1\ntensor x : shared u8 (64)\ninit m\n"
                     "agent p { simt fill writes x }\n" /* an arrival is missing */
                     "agent q { wait m parity 0; simt use reads x }\n";
    test_fail_each_allocation(everything, count);
    test_fail_each_allocation(everything, ring);
    test_fail_each_allocation(everything, arrival);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_race_has_both_accesses_in_red),
        cmocka_unit_test(a_deadlock_has_its_waits_in_red),
        cmocka_unit_test(a_wait_that_is_lapped_is_drawn),
        cmocka_unit_test(what_is_right_has_none),
        cmocka_unit_test(what_has_no_room_is_left_out),
        cmocka_unit_test(nothing_is_lost_without_memory),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
