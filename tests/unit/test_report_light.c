/* SPDX-License-Identifier: Apache-2.0
 *
 * The light picture: small whatever there is, complete where there is little, and the grid below
 * it.
 */
#include "support/support.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/random.h"
#include "report/density.h"
#include "spad/spad.h"

/* ---- the grid ----------------------------------------------------------------------- */

static void levels_follow_what_is_covered(void **state) {
    (void)state;
    const spad_host host = spad__host_or_default(NULL);
    spad__density grid;
    assert_true(spad__density_make(&grid, &host, 25, 10, 10));
    assert_int_equal(grid.columns, 3);
    assert_int_equal(grid.rows, 1);
    assert_int_equal(spad__density_level(&grid, 0, 0), 0);
    spad__density_add(&grid, 5, 0, 15, 10); /* half of two cells */
    assert_int_equal(spad__density_level(&grid, 0, 0), 2);
    assert_int_equal(spad__density_level(&grid, 1, 0), 2);
    assert_int_equal(spad__density_level(&grid, 2, 0), 0);
    assert_int_equal(grid.cover[0], 50);
    spad__density_add(&grid, 20, 3, 20, 3); /* nothing is still seen */
    assert_int_equal(spad__density_level(&grid, 2, 0), 1);
    spad__density_add(&grid, 0, 0, 10, 10);
    assert_int_equal(spad__density_level(&grid, 0, 0), SPAD__DENSITY_LEVELS);
    spad__density_add(&grid, 40, 0, 50, 10); /* outside */
    spad__density_add(&grid, 0, 40, 10, 50);
    assert_int_equal(grid.begun[0], 2);  /* two begin in the first column, */
    assert_int_equal(grid.begun[1], -1); /* one of them ended there */
    spad__density_free(&grid, &host);
}

/* ---- the picture -------------------------------------------------------------------- */

typedef struct amounts {
    int boxes;
    int bars;
    int rows;
    int name; /* characters */
} amounts;

static spad_status make_report(spad_report **out, amounts a, const spad_host *host) {
    const spad_report_options options = {.host = host};
    const spad_target *target;
    spad_error error;
    spad__random random = {9};
    char name[2000];
    assert_ok(spad_target_find(&target, "trn2", &error), &error);
    spad_status status = spad_report_create(out, target, &options, &error);
    for (int i = 0; i < a.boxes && status == SPAD_OK; i++) {
        snprintf(name, sizeof name, "b%d<%0*d", i, a.name, 0);
        const int64_t begin = spad__random_in(&random, 0, 1000000);
        const spad_report_box box = {.name = name,
                                     .space = (size_t)(i % 2),
                                     .rect = {0, 1, 64 * spad__random_in(&random, 0, 3000), 64},
                                     .begin = begin,
                                     .end = begin + spad__random_in(&random, 1, 4000),
                                     .family = SPAD_NO_FAMILY};
        status = spad_report_add_box(*out, &box, &error);
    }
    for (int i = 0; i < a.bars && status == SPAD_OK; i++) {
        char row[32];
        snprintf(row, sizeof row, "row %d", i % a.rows);
        const int64_t begin = 1000 * (i / a.rows);
        const spad_report_bar bar = {
            .row = row, .name = name, .begin = begin, .end = begin + 900, .ready = begin};
        status = spad_report_add_bar(*out, &bar, &error);
    }
    for (int i = 0; i < 16 && status == SPAD_OK; i++)
        status = spad_report_add_note(*out, a.name > 100 ? name : "a note", &error);
    if (status != SPAD_OK) {
        spad_report_destroy(*out);
        *out = NULL;
    }
    return status;
}

static test_text light(amounts a) {
    spad_report *report;
    spad_error error;
    test_text text;
    test_text_init(&text);
    assert_int_equal(make_report(&report, a, NULL), SPAD_OK);
    assert_ok(spad_report_write(report, SPAD_FORMAT_LIGHT, &text.sink, &error), &error);
    spad_report_destroy(report);
    return text;
}

static size_t count_of(const test_text *text, const char *what) {
    size_t n = 0;
    for (const char *at = text->bytes; (at = strstr(at, what)) != NULL; at++) n++;
    return n;
}

static void any_amount_is_small(void **state) {
    (void)state;
    const amounts all[] = {{20000, 0, 1, 3},
                           {300, 0, 1, 1500},
                           {2000, 20000, 7, 20},
                           {100, 4000, 2000, 1000},
                           {0, 3000, 3, 30}};
    for (size_t i = 0; i < sizeof all / sizeof *all; i++) {
        test_text text = light(all[i]);
        assert_true(text.count < 100000);
        assert_true(count_of(&text, "<title>") > 10);
        assert_true(count_of(&text, "class=\"d1\"") > 0);
        assert_int_equal(count_of(&text, "</svg>"), 1);
        test_text_free(&text);
    }
}

static void a_few_are_all_drawn(void **state) {
    (void)state;
    spad_report *report;
    spad_error error;
    const spad_target *target;
    test_text text;
    test_text_init(&text);
    assert_ok(spad_target_find(&target, "trn2", &error), &error);
    assert_ok(spad_report_create(&report, target, NULL, &error), &error);
    for (int i = 0; i < 100; i++) {
        char name[16];
        snprintf(name, sizeof name, "b%d", i);
        const spad_report_box box = {.name = name,
                                     .rect = {0, 1, 64 * (i % 10), 64},
                                     .begin = i / 10,
                                     .end = i / 10 + 1,
                                     .family = SPAD_NO_FAMILY};
        assert_ok(spad_report_add_box(report, &box, &error), &error);
    }
    assert_ok(spad_report_write(report, SPAD_FORMAT_LIGHT, &text.sink, &error), &error);
    assert_int_equal(count_of(&text, "<title>b"), 100);
    assert_null(strstr(text.bytes, "shades of gray"));
    assert_non_null(strstr(text.bytes, ".spad-light .t{")); /* the style is its own */
    /* no ground, and text in the colour of the page around it, which may be dark */
    assert_null(strstr(text.bytes, "height=\"100%\""));
    assert_non_null(strstr(text.bytes, ".spad-light text{fill:currentColor}"));
    assert_non_null(strstr(text.bytes, ".spad-light .d1,.spad-light .d2,"));
    text.count = 0;
    assert_ok(spad_report_write(report, SPAD_FORMAT_SVG, &text.sink, &error),
              &error); /* for paper */
    assert_non_null(strstr(text.bytes, "height=\"100%\" fill=\"#fff\"/>"));
    assert_null(strstr(text.bytes, "currentColor"));
    spad_report_destroy(report);
    test_text_free(&text);
}

static spad_status draw_light(const spad_host *host, void *context) {
    spad_report *report;
    spad_error error;
    test_text text;
    (void)context;
    spad_status status = make_report(&report, (amounts){12, 8, 2, 3}, host);
    if (status != SPAD_OK) return status;
    test_text_init(&text);
    status = spad_report_write(report, SPAD_FORMAT_LIGHT, &text.sink, &error);
    test_text_free(&text);
    spad_report_destroy(report);
    return status;
}

static void memory_may_fail(void **state) {
    (void)state;
    test_fail_each_allocation(draw_light, NULL);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(levels_follow_what_is_covered),
        cmocka_unit_test(any_amount_is_small),
        cmocka_unit_test(a_few_are_all_drawn),
        cmocka_unit_test(memory_may_fail),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
