/* SPDX-License-Identifier: Apache-2.0
 * Reports: boxes from traces, logs, plans, kernels and simulations. */
#include <stdio.h>
#include <string.h>

#include "report/report.h"
#include "sim/sim_report.h"
#include "spad/experimental/report_parts.h"
#include "spad/experimental/trace_queries.h"
#include "support/kernels.h"
#include "support/reports.h"

static void a_trace_gives_boxes_and_scopes(void **state) {
    (void)state;
    spad_trace *trace;
    spad_error error;
    int64_t scope;
    int64_t number;
    assert_ok(spad_trace_create(&trace, &test_report_target, NULL, &error), &error);
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
    spad_report *report = test_report_new();
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
    spad_report *report = test_report_new();
    test_report_add(report, test_box("before", 0, 1, 0, 1, 0, 1)); /* numbers count from here */
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
    assert_ok(spad_plan_read_csv(plan, csv, strlen(csv), "x.csv", NULL, &error), &error);
    assert_ok(spad_plan_solve(&result, plan, NULL, &error), &error);
    spad_report *report = test_report_new();
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

static void a_kernel_gives_tiles(void **state) {
    (void)state;
    spad_kernel *kernel = test_parse(test_ring_text);
    spad_layout *layout;
    spad_report *report;
    spad_error error;
    assert_ok(spad_layout_create(&layout, kernel, NULL, &error), &error);
    assert_ok(spad_report_create(&report, spad_kernel_get_target(kernel), NULL, &error), &error);
    assert_ok(spad_report_add_layout(report, layout, NULL, 0, &error), &error);
    assert_int_equal(spad_report_box_count(report), 6);
    for (size_t i = 0; i < 6; i++) {
        const spad_report_box *box = spad_report_get_box(report, i);
        char name[16];
        snprintf(name, sizeof name, "x[%zu]", i);
        spad_rect rect;
        assert_string_equal(box->name, name);
        assert_true(spad_layout_get_place(&rect, layout, 0, (int64_t)(i % 2)));
        assert_int_equal(box->rect.byte, rect.byte);
        assert_int_equal(box->slot, i % 2);
        assert_int_equal(box->slots, 2);
        assert_int_equal(box->line, 3);
        assert_int_equal(box->end - box->begin, 2); /* load, then store */
    }
    assert_int_equal(report->bars.count, 12);
    assert_int_equal(report->note_count, 0);
    spad_report_destroy(report);

    assert_ok(spad_report_create(&report, spad_kernel_get_target(kernel), NULL, &error), &error);
    assert_ok(spad_report_add_layout(report, layout, NULL, 10, &error), &error);
    assert_true(spad_report_box_count(report) < 6);
    assert_string_equal(report->notes[0], "not all of the run is drawn");
    spad_report_destroy(report);
    spad_layout_destroy(layout);
    spad_kernel_destroy(kernel);
}

static void a_simulation_gives_times_and_waits(void **state) {
    (void)state;
    spad_kernel *kernel = test_parse(test_ring_text);
    spad_layout *layout;
    spad_report *report;
    spad_sim *sim;
    spad_error error;
    assert_ok(spad_layout_create(&layout, kernel, NULL, &error), &error);
    const spad_sim_options options = {.layout = layout, .no_repeat = true};
    assert_ok(spad_sim_create(&sim, kernel, &options, &error), &error);
    assert_ok(spad_report_create(&report, spad_kernel_get_target(kernel), NULL, &error), &error);
    assert_ok(spad_report_add_layout(report, layout, sim, 0, &error), &error);
    assert_string_equal(report->time_unit, "ns");
    assert_null(report->badge);
    assert_int_equal(spad_report_box_count(report), 6);
    assert_int_equal(report->bars.count, spad__sim_row_count(sim));
    for (size_t i = 0; i < 6; i++) { /* rows alternate: load, store */
        const spad__sim_row load = spad__sim_get_row(sim, 2 * i);
        const spad__sim_row store = spad__sim_get_row(sim, 2 * i + 1);
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
    assert_int_equal(critical, spad__sim_path_count(sim));
    spad_report_space facts;
    assert_ok(spad_report_get_space(&facts, report, 0, &error), &error);
    assert_int_equal(facts.conflicts, 0);
    spad_report_destroy(report);
    spad_sim_destroy(sim);
    spad_layout_destroy(layout);
    spad_kernel_destroy(kernel);
}

static void assert_has(const spad_report *report, spad_format format, const char *text) {
    test_text out;
    spad_error error;
    test_text_init(&out);
    assert_ok(spad_report_write(report, format, &out.sink, &error), &error);
    if (strstr(out.bytes, text) == NULL) print_error("%s is not in %s\n", text, out.bytes);
    assert_non_null(strstr(out.bytes, text));
    test_text_free(&out);
}

/* Assumed costs: steps, or a time with a badge, in every kind of output. */
static void assumed_times_have_a_badge(void **state) {
    (void)state;
    static const struct {
        const char *cost, *unit, *badge, *length;
        int64_t end;
        const char *left_out;
    } cases[] = {
        {"", "steps", "4 of 4 costs assumed: steps, not time", "\"dur\": 1", 4, ""},
        {"cost 7 cycles", "assumed ns", "4 of 4 costs assumed, at 1 us or 1 ns a cycle: not a",
         "\"dur\": 0.007", 2014, ""},
        {"cost 7 ns", "assumed ns", "2 of 4 costs assumed, at 1 us: not a", "\"dur\": 0.007", 2014,
         ""},
        {"", "steps", "4 of 4 costs assumed: steps, not time; not counted: 3 sums", "\"dur\": 1", 4,
         "uncounted \"3 sums\"\n"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        char text[256];
        snprintf(text, sizeof text,
                 "kernel k on sm_103\n%stensor t : shared u8 [2] (64) ring 1\nfor i in 0..2 {\n"
                 "simt fill writes t[i] %s\nsimt use reads t[i]\n}\n",
                 cases[i].left_out, cases[i].cost);
        spad_kernel *kernel = test_parse(text);
        spad_layout *layout;
        spad_report *report;
        spad_sim *sim;
        spad_error error;
        assert_ok(spad_layout_create(&layout, kernel, NULL, &error), &error);
        assert_ok(spad_sim_create(&sim, kernel, NULL, &error), &error);
        assert_ok(spad_report_create(&report, spad_kernel_get_target(kernel), NULL, &error),
                  &error);
        assert_ok(spad_report_add_layout(report, layout, sim, 0, &error), &error);
        assert_string_equal(report->time_unit, cases[i].unit);
        assert_int_equal(report->bars.items[report->bars.count - 1].bar.end, cases[i].end);
        static const spad_format forms[] = {SPAD_FORMAT_TEXT, SPAD_FORMAT_SVG, SPAD_FORMAT_HTML,
                                            SPAD_FORMAT_JSON, SPAD_FORMAT_TRACE};
        for (size_t w = 0; w < sizeof forms / sizeof forms[0]; w++) {
            assert_has(report, forms[w], cases[i].badge);
        }
        assert_has(report, SPAD_FORMAT_TRACE, cases[i].length);
        assert_has(report, SPAD_FORMAT_TRACE, "\"engines (");
        assert_has(report, SPAD_FORMAT_SVG, cases[i].unit);
        spad_report_destroy(report);
        spad_sim_destroy(sim);
        spad_layout_destroy(layout);
        spad_kernel_destroy(kernel);
    }
}

typedef struct assumed {
    spad_layout *layout;
    spad_sim *sim;
} assumed;

/* A failed call leaves unit and badge as they were. */
static spad_status draw_assumed(const spad_host *host, void *context) {
    const assumed *in = context;
    const spad_report_options options = {.host = host};
    const spad_kernel *kernel = spad_layout_get_kernel(in->layout);
    spad_report *report;
    spad_status status =
        spad_report_create(&report, spad_kernel_get_target(kernel), &options, NULL);
    if (status != SPAD_OK) return status;
    status = spad_report_add_layout(report, in->layout, in->sim, 0, NULL);
    assert_string_equal(report->time_unit, status == SPAD_OK ? "steps" : "event");
    assert_int_equal(report->badge != NULL, status == SPAD_OK);
    spad_report_destroy(report);
    return status;
}

#define TIMED                                                \
    "kernel k on trn2\ntensor t : sbuf bf16 (128, 512)\n"    \
    "tensor u : sbuf bf16 (128, 512)\nvector add writes t\n" \
    "scalar exp reads t writes u cost 100 ns\n"

static spad_status draw_timed(const spad_host *host, void *context) {
    const assumed *in = context;
    const spad_report_options options = {.host = host};
    const spad_kernel *kernel = spad_layout_get_kernel(in->layout);
    spad_report *report;
    spad_status status =
        spad_report_create(&report, spad_kernel_get_target(kernel), &options, NULL);
    if (status != SPAD_OK) return status;
    status = spad_report_add_layout(report, in->layout, in->sim, 0, NULL);
    assert_int_equal(report->roofs.count, status == SPAD_OK ? 2 : 0);
    assert_int_equal(report->costs != NULL, status == SPAD_OK);
    assert_int_equal(report->bound != NULL, status == SPAD_OK);
    spad_report_destroy(report);
    return status;
}

/* Where all costs are known: what bounds the kernel, and what each roof rests on. */
static void known_times_have_roofs(void **state) {
    (void)state;
    spad_kernel *kernel = test_parse(TIMED);
    assumed in;
    spad_report *report;
    spad_error error;
    assert_ok(spad_layout_create(&in.layout, kernel, NULL, &error), &error);
    assert_ok(spad_sim_create(&in.sim, kernel, NULL, &error), &error);
    assert_ok(spad_report_create(&report, spad_kernel_get_target(kernel), NULL, &error), &error);
    assert_ok(spad_report_add_layout(report, in.layout, in.sim, 0, &error), &error);
    assert_null(report->badge);
    assert_string_equal(report->costs, "1 published, 1 in the kernel");
    assert_has(report, SPAD_FORMAT_JSON, "\"basis\": \"published\"");
    assert_has(report, SPAD_FORMAT_JSON, "\"basis\": \"in the kernel\"");
    assert_has(report, SPAD_FORMAT_JSON, "\"bound\": \"bounded by ");
    assert_has(report, SPAD_FORMAT_HTML, "\"roofs\":[[");
    assert_has(report, SPAD_FORMAT_HTML, "\"costs\":\"1 published, 1 in the kernel\"");
    spad_report_destroy(report);
    test_fail_each_allocation(draw_timed, &in);
    spad_sim_destroy(in.sim);
    spad_layout_destroy(in.layout);
    spad_kernel_destroy(kernel);
}

/* Bytes of operations are those of all lanes, with and without a simulation; an update counts on
 * both sides. */
static void operations_have_their_bytes(void **state) {
    (void)state;
    spad_kernel *kernel = test_parse(TIMED "vector add2 reads u updates t\n");
    spad_layout *layout;
    spad_sim *sim;
    spad_error error;
    assert_ok(spad_layout_create(&layout, kernel, NULL, &error), &error);
    assert_ok(spad_sim_create(&sim, kernel, NULL, &error), &error);
    for (int timed = 0; timed < 2; timed++) {
        const int64_t tile = 128 * 512 * 2;
        const int64_t wanted[3][2] = {{0, tile}, {tile, tile}, {2 * tile, tile}};
        spad_report *report;
        assert_ok(spad_report_create(&report, spad_kernel_get_target(kernel), NULL, &error),
                  &error);
        assert_ok(spad_report_add_layout(report, layout, timed ? sim : NULL, 0, &error), &error);
        assert_int_equal(report->bars.count, 3);
        for (size_t i = 0; i < 3; i++) {
            assert_int_equal(report->bars.items[i].bar.reads, wanted[i][0]);
            assert_int_equal(report->bars.items[i].bar.writes, wanted[i][1]);
        }
        assert_has(report, SPAD_FORMAT_JSON, "\"reads\": 262144, \"writes\": 131072");
        spad_report_destroy(report);
    }
    spad_sim_destroy(sim);
    spad_layout_destroy(layout);
    spad_kernel_destroy(kernel);
}

#define MOVED(way)                                                        \
    "kernel k on trn2\ntensor t : sbuf u8 (128, 64)\ndma fill writes t\n" \
    "dma move may " way " t moves 9000000000000000000 may " way " t moves 9000000000000000000\n"

/* A sum of bytes that 64 bits do not hold stays at the largest number. */
static void too_many_bytes_stay_the_largest_number(void **state) {
    (void)state;
    static const char *const kernels[] = {MOVED("reads"), MOVED("writes")};
    for (int writes = 0; writes < 2; writes++) {
        spad_kernel *kernel = test_parse(kernels[writes]);
        spad_layout *layout;
        spad_report *report;
        spad_error error;
        assert_ok(spad_layout_create(&layout, kernel, NULL, &error), &error);
        assert_ok(spad_report_create(&report, spad_kernel_get_target(kernel), NULL, &error),
                  &error);
        assert_ok(spad_report_add_layout(report, layout, NULL, 0, &error), &error);
        const spad_report_bar *bar = &report->bars.items[1].bar;
        assert_int_equal(writes ? bar->writes : bar->reads, INT64_MAX);
        assert_int_equal(writes ? bar->reads : bar->writes, 0);
        spad_report_destroy(report);
        spad_layout_destroy(layout);
        spad_kernel_destroy(kernel);
    }
}

/* What the layout rounds a slot up to, and its alignment; places that a user gives have neither. */
static void boxes_have_what_rounding_takes(void **state) {
    (void)state;
    spad_kernel *kernel =
        test_parse("kernel k on sm_90\ntensor a : shared u8 [4] (100) ring 2 align 64\n"
                   "tensor b : shared u8 (100) at 4096\ntensor out : global u8 [4] (100) output\n"
                   "for i in 0..4 {\ncopy load writes a[i]\nsimt add reads a[i] writes b\n"
                   "simt store reads b writes out[i]\n}\n");
    spad_layout *layout;
    spad_report *report;
    spad_error error;
    assert_ok(spad_layout_create(&layout, kernel, NULL, &error), &error);
    assert_ok(spad_report_create(&report, spad_kernel_get_target(kernel), NULL, &error), &error);
    assert_ok(spad_report_add_layout(report, layout, NULL, 0, &error), &error);
    int64_t seen = 0;
    for (size_t i = 0; i < report->boxes.count; i++) {
        const spad_report_box *box = &report->boxes.items[i];
        const bool planned = box->name[0] == 'a';
        assert_int_equal(box->alignment, planned ? 64 : 0);
        assert_int_equal(box->rounding, planned && box->slot == 0 ? 28 : 0);
        seen += box->rounding;
    }
    assert_true(seen > 0);
    spad_report_destroy(report);
    spad_layout_destroy(layout);
    spad_kernel_destroy(kernel);
}

static void every_allocation_for_a_badge_may_fail(void **state) {
    (void)state;
    spad_kernel *kernel = test_parse("kernel k on sm_103\ntensor t : shared u8 [2] (64) ring 1\n"
                                     "for i in 0..2 {\nsimt fill writes t[i]\n"
                                     "simt use reads t[i]\n}\n");
    assumed in;
    spad_error error;
    assert_ok(spad_layout_create(&in.layout, kernel, NULL, &error), &error);
    assert_ok(spad_sim_create(&in.sim, kernel, NULL, &error), &error);
    test_fail_each_allocation(draw_assumed, &in);
    spad_sim_destroy(in.sim);
    spad_layout_destroy(in.layout);
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
                               "for s in 0..2 { init full[s]; init empty[s] }\n"
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
    const spad_sim_options options = {.layout = layout, .no_repeat = true};
    assert_ok(spad_sim_create(&sim, kernel, &options, &error), &error);
    for (int with = 0; with < 2; with++) {
        spad_report *report;
        assert_ok(spad_report_create(&report, spad_kernel_get_target(kernel), NULL, &error),
                  &error);
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
    assert_ok(spad_report_create(&report, spad_kernel_get_target(kernel), NULL, &error), &error);
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

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_trace_gives_boxes_and_scopes),
        cmocka_unit_test(a_log_gives_blocks),
        cmocka_unit_test(a_plan_gives_pieces_and_families),
        cmocka_unit_test(a_kernel_gives_tiles),
        cmocka_unit_test(a_simulation_gives_times_and_waits),
        cmocka_unit_test(assumed_times_have_a_badge),
        cmocka_unit_test(known_times_have_roofs),
        cmocka_unit_test(operations_have_their_bytes),
        cmocka_unit_test(too_many_bytes_stay_the_largest_number),
        cmocka_unit_test(boxes_have_what_rounding_takes),
        cmocka_unit_test(every_allocation_for_a_badge_may_fail),
        cmocka_unit_test(agents_are_drawn_slot_by_slot),
        cmocka_unit_test(what_does_not_fit_is_drawn_above_the_limit),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
