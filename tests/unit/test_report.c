/* SPDX-License-Identifier: Apache-2.0
 *
 * Reports: facts against a count of every byte at every time, boxes from traces, plans
 * and kernels, every writer, comparing, refusals and failing host memory. */
#include "support/kernels.h"
#include "support/support.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/random.h"
#include "report/report.h"
#include "spad/spad.h"

enum { LANES = 4, BYTES = 40, TIMES = 24 };

static const spad_space spaces[] = {
    {.name = "pad",
     .lanes = LANES,
     .bytes = BYTES,
     .reserved = 4,
     .alignment = 1,
     .granule = 1,
     .bank_bytes = 8},
    {.name = "far", .lanes = 1, .bytes = SPAD_UNBOUNDED, .alignment = 1, .granule = 1},
};
static const spad_target target = {
    .name = "toy", .about = "a toy", .space_count = 2, .spaces = spaces};

static spad_report *make(void) {
    spad_report *report;
    spad_error error;
    assert_ok(spad_report_create(&report, &target, NULL, &error), &error);
    return report;
}

static spad_report_box box_at(const char *name, int64_t lane, int64_t lanes, int64_t byte,
                              int64_t bytes, int64_t begin, int64_t end) {
    return (spad_report_box){.name = name,
                             .rect = {lane, lanes, byte, bytes},
                             .begin = begin,
                             .end = end,
                             .family = SPAD_NO_FAMILY};
}

static void add(spad_report *report, spad_report_box box) {
    spad_error error;
    assert_ok(spad_report_add_box(report, &box, &error), &error);
}

/* ---- facts against a count --------------------------------------------------------- */

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
    memset(used, 0, BYTES * sizeof *used);
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
    for (int b = 0; b < BYTES; b++) live += used[b];
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
    bool used[BYTES];
    int64_t peak = -1;
    int64_t peak_time = 0;
    size_t step = 0;
    for (int64_t t = 0; t < TIMES; t++) {
        int64_t most = 0;
        for (int64_t lane = 0; lane < LANES; lane++) {
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
    bool used[BYTES];
    bool found = false;
    for (int64_t lane = 0; lane < LANES && !found; lane++) {
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
    const int64_t lane = (int64_t)spad__random_below(random, LANES);
    const int64_t lanes = 1 + (int64_t)spad__random_below(random, (uint64_t)(LANES - lane));
    const int64_t byte = (int64_t)spad__random_below(random, BYTES - 12);
    const int64_t begin = (int64_t)spad__random_below(random, TIMES - 1);
    const int64_t end = begin + 1 + (int64_t)spad__random_below(random, (uint64_t)(TIMES - begin));
    spad_report_box box = box_at("x", lane, lanes, byte, (int64_t)spad__random_below(random, 12),
                                 begin, end <= TIMES ? end : TIMES);
    if (spad__random_below(random, 10) == 0) box.rect.byte = SPAD_NO_BYTE;
    if (spad__random_below(random, 3) == 0) box.family = (int64_t)spad__random_below(random, 3);
    add(report, box);
}

static void facts_are_those_of_a_count(void **state) {
    (void)state;
    spad__random random = {7};
    for (int round = 0; round < 400; round++) {
        spad_report *report = make();
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
    spad_report *report = make();
    spad_report_box a = box_at("a", 0, 1, 0, 8, 0, 10);
    spad_report_box alias = box_at("alias", 0, 1, 0, 8, 1, 20);
    spad_report_box stranger = box_at("stranger", 0, 1, 4, 8, 2, 12);
    spad_report_box late = box_at("late", 0, 1, 0, 8, 11, 13);
    a.family = alias.family = late.family = 3;
    add(report, a);
    add(report, alias);
    add(report, stranger);
    add(report, late);
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
    for (int i = 0; i < 5000; i++) add(report, box_at("t", i * 20, 20, 0, 8, 0, 4));
    assert_ok(spad_report_get_space(&facts, report, 0, &error), &error);
    assert_true(facts.sampled);
    assert_int_equal(facts.peak_bytes, 8);
    assert_int_equal(facts.conflicts, 0);
    spad_report_destroy(report);
}

/* ---- where boxes come from --------------------------------------------------------- */

static void a_trace_gives_boxes_and_scopes(void **state) {
    (void)state;
    spad_trace *trace;
    spad_error error;
    int64_t scope;
    int64_t number;
    assert_ok(spad_trace_create(&trace, &target, NULL, &error), &error);
    assert_ok(spad_trace_open_scope(&scope, trace, 0, "s", 2, -1, 0, &error), &error);
    const spad_tensor tensor = {.name = "t",
                                .shape = SPAD_SHAPE(4, 3),
                                .dtype = SPAD_UINT16,
                                .mode = SPAD_MODE_STACK,
                                .rect = {0, 4, 8, 8},
                                .scope = scope,
                                .section = 1};
    assert_ok(spad_trace_alloc(&number, trace, &tensor, 8, &error), &error);
    assert_ok(spad_trace_close_scope(trace, scope, 8, 8, &error), &error);
    spad_report *report = make();
    assert_ok(spad_report_add_trace(report, trace, &error), &error);
    const spad_report_box *box = spad_report_get_box(report, 0);
    assert_int_equal(spad_report_box_count(report), 1);
    assert_string_equal(box->name, "t");
    assert_int_equal(box->padding, 2); /* 3 x 2 bytes in 8 */
    assert_int_equal(box->slot, 1);
    assert_int_equal(box->slots, 2);
    assert_true(box->open);
    assert_int_equal(box->end, 3);
    assert_string_equal(report->rows.items[0], "pad scope 0");
    assert_int_equal(report->bars.items[0].bar.end, 2);
    assert_null(spad_report_get_box(report, 1));
    spad_report_destroy(report);
    spad_trace_destroy(trace);
}

static void a_log_gives_blocks(void **state) {
    (void)state;
    static const char text[] = "Thread,Time,Action,Pointer,Size,Stream\n"
                               "0,0,allocate,0x1000,64,0x0\n"
                               "0,1,allocate,0x1040,32,0x1\n"
                               "0,2,allocate failure,0x0,99,0x0\n"
                               "0,3,free,0x1000,64,0x0\n"
                               "0,4,allocate,0x1000,16,0x1\n"
                               "0,5,free,0x9999,1,0x0\n";
    spad_log *log;
    spad_error error;
    assert_ok(spad_log_parse(&log, text, strlen(text), "x.log", NULL, &error), &error);
    spad_report *report = make();
    add(report, box_at("before", 0, 1, 0, 1, 0, 1)); /* numbers count from here */
    assert_ok(spad_report_add_log(report, log, 1, &error), &error);
    assert_int_equal(spad_report_box_count(report), 4);
    const spad_report_box *first = spad_report_get_box(report, 1);
    const spad_report_box *second = spad_report_get_box(report, 2);
    assert_string_equal(first->name, "stream 0[0]");
    assert_int_equal(first->end, 3);
    assert_false(first->open);
    assert_int_equal(second->rect.byte, 64);
    assert_true(second->open);
    assert_int_equal(second->end, 6);
    spad_report_space facts;
    assert_ok(spad_report_get_space(&facts, report, 1, &error), &error);
    assert_int_equal(facts.peak_bytes, 96);
    assert_int_equal(facts.conflicts, 0);
    assert_int_equal(spad_report_add_log(report, log, 2, &error), SPAD_ERR_ARGUMENT);
    assert_int_equal(spad_report_box_count(report), 4);
    spad_report_destroy(report);
    spad_log_destroy(log);
}

static void a_plan_gives_pieces_and_families(void **state) {
    (void)state;
    static const char csv[] = "id,lower,upper,size,gaps,alias\n"
                              "a,0,10,8,2-4 6-8@2:4,\n"
                              "b,0,4,4,,pair\n"
                              "c,1,9,6,,pair\n";
    spad_plan *plan;
    spad_plan_result *result;
    spad_error error;
    assert_ok(spad_plan_create(&plan, NULL, &error), &error);
    assert_ok(spad_plan_read_csv(plan, csv, strlen(csv), "x.csv", &error), &error);
    assert_ok(spad_plan_solve(&result, plan, NULL, &error), &error);
    spad_report *report = make();
    assert_ok(spad_report_add_plan(report, plan, result, 1, &error), &error);
    assert_int_equal(spad_report_box_count(report), 6); /* three pieces, a window, two aliases */
    const spad_report_box *window = spad_report_get_box(report, 2);
    assert_int_equal(window->begin, 6);
    assert_int_equal(window->rect.byte, result->places[0].offset + 2);
    assert_int_equal(window->rect.bytes, 2);
    assert_int_equal(spad_report_get_box(report, 0)->family, SPAD_NO_FAMILY);
    assert_int_equal(spad_report_get_box(report, 4)->family,
                     spad_report_get_box(report, 5)->family);
    spad_report_space facts;
    assert_ok(spad_report_get_space(&facts, report, 1, &error), &error);
    assert_int_equal(facts.conflicts, 0);
    assert_int_equal(facts.top, result->height);
    assert_int_equal(facts.peak_bytes, result->peak_load);
    spad_report_destroy(report);
    spad_plan_result_destroy(result);
    spad_plan_destroy(plan);
}

static const char ring_text[] = "kernel ring on trn2\n"
                                "param N = 6\n"
                                "tensor x   : sbuf bf16 [N] (128, 512) ring 2\n"
                                "tensor in  : hbm bf16 [N] (128, 512) input\n"
                                "tensor out : hbm bf16 [N] (128, 512) output\n"
                                "for i in 0..N {\n"
                                "    dma load  reads in[i] writes x[i]\n"
                                "    dma store reads x[i] writes out[i]\n"
                                "}\n";

static void a_kernel_gives_tiles(void **state) {
    (void)state;
    spad_kernel *kernel = test_parse(ring_text);
    spad_layout *layout;
    spad_report *report;
    spad_error error;
    assert_ok(spad_layout_create(&layout, kernel, NULL, &error), &error);
    assert_ok(spad_report_create(&report, spad_kernel_target(kernel), NULL, &error), &error);
    assert_ok(spad_report_add_layout(report, layout, NULL, 0, &error), &error);
    assert_int_equal(spad_report_box_count(report), 6);
    for (size_t i = 0; i < 6; i++) {
        const spad_report_box *box = spad_report_get_box(report, i);
        char name[16];
        snprintf(name, sizeof name, "x[%zu]", i);
        spad_rect rect;
        assert_string_equal(box->name, name);
        assert_true(spad_layout_place(layout, 0, (int64_t)(i % 2), &rect));
        assert_int_equal(box->rect.byte, rect.byte);
        assert_int_equal(box->slot, i % 2);
        assert_int_equal(box->slots, 2);
        assert_int_equal(box->line, 3);
        assert_int_equal(box->end - box->begin, 2); /* load, then store */
    }
    assert_int_equal(report->bars.count, 12);
    assert_int_equal(report->note_count, 0);
    spad_report_destroy(report);

    assert_ok(spad_report_create(&report, spad_kernel_target(kernel), NULL, &error), &error);
    assert_ok(spad_report_add_layout(report, layout, NULL, 10, &error), &error);
    assert_true(spad_report_box_count(report) < 6);
    assert_string_equal(report->notes[0], "not all of the run is drawn");
    spad_report_destroy(report);
    spad_layout_destroy(layout);
    spad_kernel_destroy(kernel);
}

static void a_simulation_gives_times_and_waits(void **state) {
    (void)state;
    spad_kernel *kernel = test_parse(ring_text);
    spad_layout *layout;
    spad_report *report;
    spad_sim *sim;
    spad_error error;
    assert_ok(spad_layout_create(&layout, kernel, NULL, &error), &error);
    const spad_sim_options options = {.place = spad_layout_place, .ctx = layout, .no_repeat = true};
    assert_ok(spad_sim_kernel(&sim, kernel, &options, &error), &error);
    assert_ok(spad_report_create(&report, spad_kernel_target(kernel), NULL, &error), &error);
    assert_ok(spad_report_add_layout(report, layout, sim, 0, &error), &error);
    assert_string_equal(report->time_unit, "ns");
    assert_int_equal(spad_report_box_count(report), 6);
    assert_int_equal(report->bars.count, spad_sim_row_count(sim));
    for (size_t i = 0; i < 6; i++) { /* rows alternate: load, store */
        const spad_sim_row load = spad_sim_get_row(sim, 2 * i);
        const spad_sim_row store = spad_sim_get_row(sim, 2 * i + 1);
        const spad_report_box *box = spad_report_get_box(report, i);
        assert_int_equal(box->begin, load.start / 1000);
        assert_int_equal(box->end, store.end / 1000);
    }
    size_t waits = 0;
    size_t critical = 0;
    for (size_t i = 0; i < report->bars.count; i++) {
        waits += report->bars.items[i].bar.wait != NULL;
        critical += report->bars.items[i].bar.critical;
    }
    assert_true(waits > 0);
    assert_int_equal(critical, spad_sim_path_count(sim));
    spad_report_space facts;
    assert_ok(spad_report_get_space(&facts, report, 0, &error), &error);
    assert_int_equal(facts.conflicts, 0);
    spad_report_destroy(report);
    spad_sim_destroy(sim);
    spad_layout_destroy(layout);
    spad_kernel_destroy(kernel);
}

/* Agents: slots from fork to join without a simulation, tiles with one. Barriers are there. */
static void agents_are_drawn_slot_by_slot(void **state) {
    (void)state;
    static const char text[] = "kernel pair on sm_90\n"
                               "param N = 6\n"
                               "unit tma on copy free proxy\n"
                               "mbarrier full[2] count 1\n"
                               "mbarrier empty[2] count 1\n"
                               "tensor g : global f32 [N] (1024) input\n"
                               "tensor o : global f32 [N] (1024) output\n"
                               "tensor x : shared f32 [N] (1024) ring 2\n"
                               "agent make {\n"
                               "    for i in 0..N {\n"
                               "        if i >= 2 { wait empty[i % 2] parity (i / 2 + 1) % 2 }\n"
                               "        arrive full[i % 2] expect 4096\n"
                               "        tma load reads g[i] writes x[i] delivers full[i % 2]\n"
                               "    }\n"
                               "}\n"
                               "agent use {\n"
                               "    for i in 0..N {\n"
                               "        wait full[i % 2] parity (i / 2) % 2\n"
                               "        simt work reads x[i] writes o[i]\n"
                               "        arrive empty[i % 2]\n"
                               "    }\n"
                               "}\n";
    spad_kernel *kernel = test_parse(text);
    spad_layout *layout;
    spad_sim *sim;
    spad_error error;
    assert_ok(spad_layout_create(&layout, kernel, NULL, &error), &error);
    const spad_sim_options options = {.place = spad_layout_place, .ctx = layout, .no_repeat = true};
    assert_ok(spad_sim_kernel(&sim, kernel, &options, &error), &error);
    for (int with = 0; with < 2; with++) {
        spad_report *report;
        assert_ok(spad_report_create(&report, spad_kernel_target(kernel), NULL, &error), &error);
        assert_ok(spad_report_add_layout(report, layout, with ? sim : NULL, 0, &error), &error);
        assert_int_equal(spad_report_box_count(report), with ? 6 + 2 : 2 + 2);
        assert_string_equal(spad_report_get_box(report, 1)->name, "x[1]");
        spad__picture p;
        assert_ok(spad__picture_make(&p, report, &error), &error);
        assert_int_equal(p.views[0].facts.conflicts, 0);
        spad__picture_free(&p);
        spad_report_destroy(report);
    }
    spad_sim_destroy(sim);
    spad_layout_destroy(layout);
    spad_kernel_destroy(kernel);
}

static void what_does_not_fit_is_drawn_above_the_limit(void **state) {
    (void)state;
    static const char text[] = "kernel big on trn2\n"
                               "tensor x  : sbuf u8 [3] (128, 100000)\n"
                               "tensor in : hbm u8 [3] (128, 100000) input\n"
                               "tensor o  : hbm u8 [3] (128, 100000) output\n"
                               "for i in 0..3 { dma load reads in[i] writes x[i] }\n"
                               "for i in 0..3 { dma store reads x[i] writes o[i] }\n";
    spad_kernel *kernel = test_parse(text);
    spad_layout *layout;
    spad_report *report;
    spad_report_space facts;
    spad_error error;
    assert_ok(spad_layout_create(&layout, kernel, NULL, &error), &error);
    assert_false(spad_layout_fits(layout));
    assert_ok(spad_report_create(&report, spad_kernel_target(kernel), NULL, &error), &error);
    assert_ok(spad_report_add_layout(report, layout, NULL, 0, &error), &error);
    assert_ok(spad_report_get_space(&facts, report, 0, &error), &error);
    assert_int_equal(facts.boxes, 3);
    assert_int_equal(facts.top, 300000);
    assert_true(facts.top > facts.usable);
    assert_string_equal(report->time_unit, "statement");
    spad_report_destroy(report);
    spad_layout_destroy(layout);
    spad_kernel_destroy(kernel);
}

/* ---- writers ----------------------------------------------------------------------- */

typedef spad_status (*writer)(const spad_report *, const spad_sink *, spad_error *);
static const writer writers[] = {spad_report_write_text,  spad_report_write_svg,
                                 spad_report_write_html,  spad_report_write_json,
                                 spad_report_write_trace, spad_report_write_snapshot};
enum { WRITERS = sizeof writers / sizeof writers[0] };

static void fill(spad_report *report) {
    spad_error error;
    add(report, box_at("a<b>&\"'", 0, 4, 0, 16, 0, 4));
    spad_report_box ring = box_at("r[0]", 0, 2, 16, 8, 1, 9);
    ring.slots = 2;
    ring.padding = 3;
    ring.line = 1;
    ring.shape = SPAD_SHAPE(2, 5);
    ring.dtype = SPAD_UINT8;
    add(report, ring);
    ring.name = "r[1]";
    ring.rect.byte = 20;
    ring.slot = 1;
    ring.open = true;
    add(report, ring);
    spad_report_box nowhere = box_at(NULL, 0, 1, SPAD_NO_BYTE, 4, 0, 2);
    add(report, nowhere);
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
    spad_report *report = make();
    fill(report);
    for (int w = 0; w < WRITERS; w++) {
        test_text once;
        test_text again;
        spad_error error;
        test_text_init(&once);
        test_text_init(&again);
        assert_ok(writers[w](report, &once.sink, &error), &error);
        assert_ok(writers[w](report, &again.sink, &error), &error);
        assert_int_equal(once.count, again.count);
        assert_memory_equal(once.bytes, again.bytes, once.count);
        test_text_clear(&again);
        again.fail_after = once.count / 2;
        assert_int_equal(writers[w](report, &again.sink, &error), SPAD_ERR_IO);
        test_text_free(&once);
        test_text_free(&again);
    }
    spad_report_destroy(report);
}

static void an_empty_report_can_be_written(void **state) {
    (void)state;
    spad_report *report = make();
    for (int w = 0; w < WRITERS; w++) {
        test_text text;
        spad_error error;
        test_text_init(&text);
        assert_ok(writers[w](report, &text.sink, &error), &error);
        assert_true(text.count > 0);
        test_text_free(&text);
    }
    spad_report_space facts;
    spad_error error;
    assert_ok(spad_report_get_space(&facts, report, 0, &error), &error);
    assert_int_equal(facts.usable, BYTES - 4);
    assert_int_equal(facts.peak_bytes, 0);
    spad_report_destroy(report);
}

/* No line of a text is wider than a terminal, whatever the names and numbers are. */
static void text_fits_80_columns(void **state) {
    (void)state;
    char name[400];
    memset(name, 'n', sizeof name - 1);
    name[sizeof name - 1] = '\0';
    spad_report *report = make();
    fill(report);
    add(report, box_at(name, 0, 1, 0, 1, 0, 1));
    for (int i = 0; i < 40; i++) {
        snprintf(name, sizeof name, "stem%d[0]", i);
        add(report, box_at(name, 0, 1, 30, 2, i, i + 1));
    }
    test_text text;
    spad_error error;
    test_text_init(&text);
    assert_ok(spad_report_write_text(report, &text.sink, &error), &error);
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
    spad_report *report = make();
    fill(report);
    test_text text;
    spad_error error;
    test_text_init(&text);
    assert_ok(spad_report_write_html(report, &text.sink, &error), &error);
    char *data = strstr(text.bytes, "id=\"data\">");
    assert_non_null(data);
    char *end = strstr(data, "</script>");
    assert_non_null(end);
    *end = '\0';
    assert_null(strchr(data + 10, '<'));
    assert_non_null(strstr(data, "a\\u003cb\\u003e\\u0026\\\"'"));
    assert_non_null(strstr(data, "line \\u003c/script\\u003e"));
    assert_true(text.count < 120000);
    test_text_free(&text);
    spad_report_destroy(report);
}

static size_t count_words(const test_text *text, const char *word) {
    const size_t length = strlen(word);
    size_t count = 0;
    for (size_t i = 0; i + length <= text->count; i++) {
        count += memcmp(text->bytes + i, word, length) == 0;
    }
    return count;
}

/* Words that come again are written once: what lives on is one block, and what is at one byte
 * together lies in several segments, each named three times (its kind, its frame, its event). */
static void a_snapshot_has_segments_in_layers(void **state) {
    (void)state;
    spad_report *report = make();
    fill(report);
    const spad_report_box box = box_at("over", 0, 4, 0, 16, 3, 5);
    add(report, box); /* the first one ends at 4 */
    add(report, box_at("after", 0, 4, 0, 16, 5, 6));
    add(report, box_at("beside", 2, 1, 0, 16, 5, 6));
    test_text text;
    spad_error error;
    test_text_init(&text);
    assert_ok(spad_report_write_snapshot(report, &text.sink, &error), &error);
    assert_int_equal(count_words(&text, "active_allocated"), 1);
    assert_int_equal(count_words(&text, target.spaces[0].name), 3 * 3 + 1);
    assert_int_equal(count_words(&text, "after"), 2 + 1);
    assert_int_equal(count_words(&text, "total_size"), 1);
    test_text_free(&text);
    spad_report_destroy(report);
}

/* ---- colours ----------------------------------------------------------------------- */

static int apart(int a, int b) {
    const int d = a > b ? a - b : b - a;
    return d < 360 - d ? d : 360 - d;
}

/* The first names of a map can be distinguished; a name keeps its colour, whatever its index. */
static void colours_are_far_from_each_other(void **state) {
    (void)state;
    static const char *const names[] = {"a", "b", "c", "k[0]", "v#1", "q",
                                        "s", "o", "p", "z",    "y",   "x[2]"};
    enum { COUNT = sizeof names / sizeof names[0] };
    spad__hues hues = {0};
    int seen[COUNT];
    for (size_t i = 0; i < COUNT; i++) {
        seen[i] = spad__hue_of(&hues, names[i]);
        const int least = i < 4 ? 48 : i < 8 ? 24 : 12;
        for (size_t k = 0; k < i; k++) assert_true(apart(seen[i], seen[k]) >= least);
    }
    assert_int_equal(hues.count, SPAD__HUES);
    for (size_t i = 0; i < COUNT; i++) assert_int_equal(spad__hue_of(&hues, names[i]), seen[i]);
    assert_int_equal(spad__hue_of(&hues, "k[7]"), seen[3]);
    assert_in_range(spad__hue_of(&hues, "one more"), 0, 359);
    assert_int_equal(hues.count, SPAD__HUES);
}

/* ---- comparing --------------------------------------------------------------------- */

static void a_comparison_names_every_change(void **state) {
    (void)state;
    spad_report *a = make();
    spad_report *b = make();
    add(a, box_at("same", 0, 1, 0, 4, 0, 4));
    add(b, box_at("same", 0, 1, 0, 4, 0, 4));
    add(a, box_at("moved", 0, 1, 4, 4, 0, 4));
    add(b, box_at("moved", 1, 1, 4, 4, 0, 4));
    add(a, box_at("grew", 0, 1, 8, 4, 0, 4));
    add(b, box_at("grew", 0, 1, 8, 6, 0, 5));
    add(a, box_at("gone", 0, 1, 14, 4, 0, 4));
    add(b, box_at("new", 0, 1, 14, 4, 0, 4));
    add(a, box_at("twice", 0, 1, 20, 4, 4, 8));
    add(a, box_at("twice", 0, 1, 20, 4, 0, 4));
    add(b, box_at("twice", 0, 1, 20, 4, 0, 4));
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
    assert_ok(spad_report_diff_write_text(diff, &text.sink, &error), &error);
    assert_string_equal(text.bytes,
                        "toy -> toy\n"
                        "  pad                  peak           20 ->           18 B  -2\n"
                        "                       top            24 ->           24 B\n"
                        "  2 the same, 2 gone, 1 new, 1 moved, 1 sized, 1 timed\n"
                        "  moved                    moved 4 -> 4 (lane 1)\n"
                        "  grew                     grew 4 -> 6 B, lives [0, 4) -> [0, 5)\n"
                        "  gone                     gone: 4 B at 14\n"
                        "  twice                    gone: 4 B at 20\n"
                        "  new                      new: 4 B at 14\n");
    test_text_clear(&text);
    assert_ok(spad_report_diff_write_html(diff, &text.sink, &error), &error);
    test_text_clear(&text);
    assert_ok(spad_report_diff_write_json(diff, &text.sink, &error), &error);
    test_text_free(&text);
    spad_report_diff_destroy(diff);
    spad_report_destroy(a);
    spad_report_destroy(b);
}

/* ---- refusals ---------------------------------------------------------------------- */

static void refuse(spad_report *report, spad_report_box box, spad_status status,
                   const char *message) {
    spad_error error;
    assert_int_equal(spad_report_add_box(report, &box, &error), status);
    assert_string_equal(error.message, message);
}

static void what_cannot_be_drawn_is_refused(void **state) {
    (void)state;
    spad_report *report = make();
    spad_error error;
    spad_report_box box = box_at("b", 0, 1, 0, 4, 3, 3);
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
    spad_report *report = make();
    spad_error error;
    const spad_report_box good = box_at("b", 0, 1, 0, 4, 0, 4);
    spad_report_box bad[11];
    for (size_t i = 0; i < 11; i++) bad[i] = good;
    bad[0].rect.bytes = -1;
    bad[1].rect.lanes = -1;
    bad[2].padding = -1;
    bad[3].padding = 5;
    bad[4].shape.rank = SPAD_RANK_MAX + 1;
    bad[5].slots = -1;
    bad[6].mode = SPAD_MODE_COUNT;
    bad[7].family = SPAD_NO_FAMILY - 1;
    bad[8].family = (int64_t)INT32_MAX + 1;
    bad[9].rect.lane = INT64_MAX;
    bad[10].begin = INT64_MIN;
    for (size_t i = 0; i < 11; i++) {
        assert_int_equal(spad_report_add_box(report, &bad[i], &error),
                         i < 9 ? SPAD_ERR_ARGUMENT : SPAD_ERR_OVERFLOW);
        assert_string_equal(error.subject, "b");
        assert_int_equal(spad_report_box_count(report), 0);
    }
    spad_report_box large = good; /* two of them are more bytes than a number holds */
    large.rect.bytes = INT64_MAX;
    add(report, large);
    large.rect.byte = SPAD_NO_BYTE;
    assert_int_equal(spad_report_add_box(report, &large, &error), SPAD_ERR_OVERFLOW);
    static const spad_report_bar bars[] = {
        {.row = NULL, .begin = 1, .end = 2, .ready = 1},
        {.row = "e", .begin = 1, .end = 1, .ready = 1},
        {.row = "e", .begin = 1, .end = 2, .ready = 2},
        {.row = "e", .begin = 1, .end = INT64_MAX, .ready = -1},
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
    spad_report *a = make();
    spad_report *b = make();
    add(a, box_at(NULL, 0, 1, 0, 4, 0, 4));
    add(b, box_at(NULL, 0, 3, 0, 4, 0, 4));
    add(a, box_at("lost", 0, 1, SPAD_NO_BYTE, 4, 0, 4));
    spad_report_box far = box_at("far", 0, 1, 64, 4, 0, 4);
    far.space = 1;
    add(b, far);
    spad_report_diff *diff;
    spad_error error;
    test_text text;
    test_text_init(&text);
    assert_ok(spad_report_diff_create(&diff, a, b, NULL, &error), &error);
    assert_ok(spad_report_diff_write_text(diff, &text.sink, &error), &error);
    assert_non_null(strstr(text.bytes, "(1 -> 3 lanes)"));
    assert_non_null(strstr(text.bytes, "gone: 4 B at no address"));
    assert_non_null(strstr(text.bytes, "new: 4 B at 64"));
    assert_non_null(
        strstr(text.bytes, "  far                  peak            0 ->            4 B"));
    test_text_free(&text);
    spad_report_diff_destroy(diff);
    spad_report_destroy(a);
    spad_report_destroy(b);
}

/* Long lists are cut, long names too, findings without a line and bars without a name are shown. */
static void long_reports_are_cut(void **state) {
    (void)state;
    spad_report *report = make();
    spad_error error;
    char name[96];
    for (int i = 0; i < 30; i++) {
        snprintf(name, sizeof name, "%c%s", 'a' + i % 26,
                 i % 2 == 0 ? "_a_name_that_goes_on_and_on_and_on_and_on_until_it_does_not_fit"
                            : "");
        add(report, box_at(name, i % 3, 1, i, 1, 0, 4));
    }
    spad_report_box far = box_at("below", 0, 1, -3000, 100, 0, 4);
    far.space = 1;
    add(report, far);
    add(report, box_at("none", 0, 1, SPAD_NO_BYTE, 4, 0, 4));
    add(report, box_at("empty", 0, 1, 3, 0, 0, 4));
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
    for (int w = 0; w < WRITERS; w++) {
        test_text text;
        test_text_init(&text);
        assert_ok(writers[w](report, &text.sink, &error), &error);
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
    static const spad_target other = {.name = "other", .space_count = 1, .spaces = spaces};
    spad_trace *trace;
    spad_error error;
    assert_ok(spad_trace_create(&trace, &other, NULL, &error), &error);
    spad_report *report = make();
    assert_int_equal(spad_report_add_trace(report, trace, &error), SPAD_ERR_ARGUMENT);
    assert_string_equal(error.message, "the trace is of another target than 'toy'");
    spad_trace_destroy(trace);
    spad_kernel *kernel = test_parse(ring_text);
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
    spad_report *report = make();
    spad_report_box box = box_at("far", 0, 1, INT64_MAX - 10, 10, INT64_MAX - 5, INT64_MAX);
    add(report, box);
    box = box_at("low", -3, 2, INT64_MIN + 1, 5, INT64_MIN, INT64_MIN + 3);
    add(report, box);
    const spad_report_bar bar = {
        .row = "e", .name = "op", .begin = INT64_MAX - 2, .end = INT64_MAX, .ready = 1};
    spad_error error;
    assert_ok(spad_report_add_bar(report, &bar, &error), &error);
    for (int w = 0; w < WRITERS; w++) {
        test_text text;
        test_text_init(&text);
        assert_ok(writers[w](report, &text.sink, &error), &error);
        test_text_free(&text);
    }
    spad_report_destroy(report);
}

/* ---- memory ------------------------------------------------------------------------ */

typedef struct inputs {
    spad_layout *layout;
    spad_sim *sim;
    spad_plan *plan;
    spad_plan_result *result;
} inputs;

static spad_status draw_all(const spad_host *host, void *payload) {
    const inputs *in = payload;
    const spad_report_options options = {.title = "t", .host = host};
    spad_report *report;
    spad_report_diff *diff = NULL;
    spad_error error;
    const spad_target *chip = spad_kernel_target(spad_layout_kernel(in->layout));
    spad_status status = spad_report_create(&report, chip, &options, &error);
    if (status != SPAD_OK) return status;
    status = spad_report_add_layout(report, in->layout, in->sim, 0, &error);
    if (status == SPAD_OK) status = spad_report_add_plan(report, in->plan, in->result, 0, &error);
    if (status == SPAD_OK) status = spad_report_set_source(report, "f", "x", 1, &error);
    for (int w = 0; w < WRITERS && status == SPAD_OK; w++) {
        test_text text;
        test_text_init(&text);
        status = writers[w](report, &text.sink, &error);
        test_text_free(&text);
    }
    if (status == SPAD_OK) status = spad_report_diff_create(&diff, report, report, host, &error);
    if (status == SPAD_OK) {
        test_text text;
        test_text_init(&text);
        status = spad_report_diff_write_html(diff, &text.sink, &error);
        test_text_free(&text);
    }
    spad_report_diff_destroy(diff);
    spad_report_destroy(report);
    return status;
}

static void every_allocation_may_fail(void **state) {
    (void)state;
    static const char csv[] = "id,lower,upper,size,alias\na,0,4,8,p\nb,2,6,8,p\n";
    spad_kernel *kernel = test_parse(ring_text);
    inputs in;
    spad_error error;
    assert_ok(spad_layout_create(&in.layout, kernel, NULL, &error), &error);
    const spad_sim_options options = {.place = spad_layout_place, .ctx = in.layout};
    assert_ok(spad_sim_kernel(&in.sim, kernel, &options, &error), &error);
    assert_ok(spad_plan_create(&in.plan, NULL, &error), &error);
    assert_ok(spad_plan_read_csv(in.plan, csv, strlen(csv), "x.csv", &error), &error);
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
        cmocka_unit_test(each_wrong_field_is_refused),
        cmocka_unit_test(a_comparison_names_what_is_strange),
        cmocka_unit_test(long_reports_are_cut),
        cmocka_unit_test(facts_are_those_of_a_count),
        cmocka_unit_test(relatives_hide_no_conflict),
        cmocka_unit_test(many_start_lanes_are_sampled),
        cmocka_unit_test(a_trace_gives_boxes_and_scopes),
        cmocka_unit_test(a_log_gives_blocks),
        cmocka_unit_test(a_plan_gives_pieces_and_families),
        cmocka_unit_test(a_kernel_gives_tiles),
        cmocka_unit_test(a_simulation_gives_times_and_waits),
        cmocka_unit_test(agents_are_drawn_slot_by_slot),
        cmocka_unit_test(what_does_not_fit_is_drawn_above_the_limit),
        cmocka_unit_test(writers_write_the_same_twice_and_report_a_full_disk),
        cmocka_unit_test(an_empty_report_can_be_written),
        cmocka_unit_test(text_fits_80_columns),
        cmocka_unit_test(the_page_keeps_markup_in_its_data),
        cmocka_unit_test(a_snapshot_has_segments_in_layers),
        cmocka_unit_test(colours_are_far_from_each_other),
        cmocka_unit_test(a_comparison_names_every_change),
        cmocka_unit_test(what_cannot_be_drawn_is_refused),
        cmocka_unit_test(another_target_is_refused),
        cmocka_unit_test(extreme_numbers_are_written),
        cmocka_unit_test(every_allocation_may_fail),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
