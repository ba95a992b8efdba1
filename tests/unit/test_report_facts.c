/* SPDX-License-Identifier: Apache-2.0
 * Reports: facts against a count of every byte at every time. */
#include <string.h>

#include "base/random.h"
#include "report/report.h"
#include "spad/experimental/report_parts.h"
#include "support/reports.h"

static bool is_alive(const spad_report_box *box, int64_t time) {
    return box->begin <= time && time < box->end;
}

static bool clash(const spad_report_box *a, const spad_report_box *b) {
    const bool relatives = a->family >= 0 && a->family == b->family;
    const bool placed = a->rect.byte != SPAD_NO_BYTE && b->rect.byte != SPAD_NO_BYTE;
    return !relatives && placed && a->begin < b->end && b->begin < a->end &&
           spad_rect_overlaps(a->rect, b->rect);
}

/* Bytes in use in a lane at a time, byte by byte; used: which ones. */
static int64_t count_live(const spad_report *report, int64_t lane, int64_t time, bool *used) {
    int64_t live = 0;
    memset(used, 0, TOY_BYTES * sizeof *used);
    for (size_t i = 0; i < spad_report_box_count(report); i++) {
        const spad_report_box *box = spad_report_get_box(report, i);
        if (!is_alive(box, time)) continue;
        if (box->rect.byte == SPAD_NO_BYTE) live += box->rect.bytes;
        if (box->rect.byte == SPAD_NO_BYTE || lane < box->rect.lane ||
            lane >= box->rect.lane + box->rect.lanes) {
            continue;
        }
        for (int64_t b = 0; b < box->rect.bytes; b++) used[box->rect.byte + b] = true;
    }
    for (int b = 0; b < TOY_BYTES; b++) live += used[b];
    return live;
}

static void check_conflicts(const spad__picture *p) {
    const spad_report *report = p->report;
    for (size_t i = 0; i < p->count; i++) {
        bool any = false;
        for (size_t j = 0; j < p->count && !any; j++) {
            any = i != j && clash(&report->boxes.items[i], &report->boxes.items[j]);
        }
        assert_int_equal(p->partner[i] >= 0, any);
        if (any) assert_true(clash(&report->boxes.items[i], &report->boxes.items[p->partner[i]]));
    }
}

static void check_live(const spad__picture *p, const spad__view *view) {
    bool used[TOY_BYTES];
    int64_t peak = -1;
    int64_t peak_time = 0;
    size_t step = 0;
    for (int64_t t = 0; t < TOY_TIMES; t++) {
        int64_t most = 0;
        for (int64_t lane = 0; lane < TOY_LANES; lane++) {
            const int64_t live = count_live(p->report, lane, t, used);
            if (live > most) most = live;
        }
        while (step + 1 < view->steps.count && view->steps.items[step + 1].time <= t) step++;
        const int64_t curve = view->steps.items[step].time <= t ? view->steps.items[step].live : 0;
        assert_int_equal(curve, most);
        if (most > peak) {
            peak = most;
            peak_time = t;
        }
    }
    assert_int_equal(view->facts.peak_bytes, peak);
    if (peak > 0) assert_int_equal(view->facts.peak_time, peak_time);
}

/* The largest hole at the peak belongs to a lane with the peak's bytes. */
static void check_hole(const spad__picture *p, const spad__view *view) {
    bool used[TOY_BYTES];
    bool found = false;
    for (int64_t lane = 0; lane < TOY_LANES && !found; lane++) {
        if (count_live(p->report, lane, view->facts.peak_time, used) != view->facts.peak_bytes) {
            continue;
        }
        int64_t hole = 0;
        int64_t run = 0;
        for (int64_t b = 0; b < view->facts.usable; b++) {
            run = used[b] ? 0 : run + 1;
            if (run > hole) hole = run;
        }
        found = hole == view->facts.largest_hole;
    }
    assert_true(found);
}

static void random_box(spad_report *report, spad__random *random) {
    const int64_t lane = (int64_t)spad__random_below(random, TOY_LANES);
    const int64_t lanes = 1 + (int64_t)spad__random_below(random, (uint64_t)(TOY_LANES - lane));
    const int64_t byte = (int64_t)spad__random_below(random, TOY_BYTES - 12);
    const int64_t begin = (int64_t)spad__random_below(random, TOY_TIMES - 1);
    const int64_t end =
        begin + 1 + (int64_t)spad__random_below(random, (uint64_t)(TOY_TIMES - begin));
    spad_report_box box = test_box("x", lane, lanes, byte, (int64_t)spad__random_below(random, 12),
                                   begin, end <= TOY_TIMES ? end : TOY_TIMES);
    if (spad__random_below(random, 10) == 0) box.rect.byte = SPAD_NO_BYTE;
    if (spad__random_below(random, 3) == 0) box.family = (int64_t)spad__random_below(random, 3);
    test_report_add(report, box);
}

static void facts_are_those_of_a_count(void **state) {
    (void)state;
    spad__random random = {7};
    for (int round = 0; round < 400; round++) {
        spad_report *report = test_report_new();
        const uint64_t boxes = 1 + spad__random_below(&random, 24);
        for (uint64_t i = 0; i < boxes; i++) random_box(report, &random);
        spad__picture p;
        spad_error error;
        assert_ok(spad__picture_make(&p, report, &error), &error);
        assert_int_equal(p.view_count, 1);
        check_conflicts(&p);
        check_live(&p, &p.views[0]);
        check_hole(&p, &p.views[0]);
        spad_report_space facts;
        assert_ok(spad_report_get_space(&facts, report, 0, &error), &error);
        assert_memory_equal(&facts, &p.views[0].facts, sizeof facts);
        spad__picture_free(&p);
        spad_report_destroy(report);
    }
}

/* An alias in between must not hide the stranger after it. */
static void relatives_hide_no_conflict(void **state) {
    (void)state;
    spad_report *report = test_report_new();
    spad_report_box a = test_box("a", 0, 1, 0, 8, 0, 10);
    spad_report_box alias = test_box("alias", 0, 1, 0, 8, 1, 20);
    spad_report_box stranger = test_box("stranger", 0, 1, 4, 8, 2, 12);
    spad_report_box late = test_box("late", 0, 1, 0, 8, 11, 13);
    a.family = alias.family = late.family = 3;
    test_report_add(report, a);
    test_report_add(report, alias);
    test_report_add(report, stranger);
    test_report_add(report, late);
    spad__picture p;
    spad_error error;
    assert_ok(spad__picture_make(&p, report, &error), &error);
    assert_int_equal(p.partner[0], 2);
    assert_int_equal(p.partner[1], 2);
    assert_int_equal(p.partner[3], 2);
    assert_true(p.partner[2] == 1 || p.partner[2] == 0 || p.partner[2] == 3);
    spad__picture_free(&p);
    spad_report_destroy(report);
}

static void many_start_lanes_are_sampled(void **state) {
    (void)state;
    static const spad_space wide[] = {
        {.name = "wide", .lanes = 100000, .bytes = 64, .alignment = 1, .granule = 1}};
    const spad_target chip = {.name = "wide", .about = "", .space_count = 1, .spaces = wide};
    spad_report *report;
    spad_error error;
    spad_report_space facts;
    assert_ok(spad_report_create(&report, &chip, NULL, &error), &error);
    for (int i = 0; i < 5000; i++) test_report_add(report, test_box("t", i * 20, 20, 0, 8, 0, 4));
    assert_ok(spad_report_get_space(&facts, report, 0, &error), &error);
    assert_true(facts.sampled);
    assert_int_equal(facts.peak_bytes, 8);
    assert_int_equal(facts.conflicts, 0);
    spad_report_destroy(report);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(facts_are_those_of_a_count),
        cmocka_unit_test(relatives_hide_no_conflict),
        cmocka_unit_test(many_start_lanes_are_sampled),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
