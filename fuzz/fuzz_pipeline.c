/* SPDX-License-Identifier: Apache-2.0
 *
 * The whole pipeline over a kernel, all of it on one host and one sink: reading, layout, check,
 * simulation, tuning, what would fit, trace, plan of the trace, reports in every format,
 * comparison, tables in every language. It is run twice: once as it is, and once with a request
 * for memory or a write that fails; both must end in the same bytes (faults.h).
 *
 * Input: the text of a kernel; then, optionally, a NUL and
 *     1 byte   which fault (fuzz_fault)
 *     3 bytes  N, modulo what the first run needed
 *     1 byte   stages that are left out, so that mutations of long kernels are fast
 * so that every kernel file is an input.
 */
#include "faults.h"
#include "spad/spad.h"
#include "verify/verify.h"

enum {
    EVENTS_MAX = 1500,
    OPERATIONS_MAX = 1500,
    TUNE_OPERATIONS_MAX = 4000,
    DRAWN_MAX = 400,
    NODES_MAX = 300
};

/* Bits of what is left out. */
enum {
    NO_CHECK = 1,
    NO_SIM = 2,
    NO_TUNE = 4,
    NO_FIT = 8,
    NO_TRACE = 16,
    NO_REPORT = 32,
    NO_DIFF = 64,
    NO_EMIT = 128
};

typedef struct controls {
    size_t length; /* of the text */
    fuzz_fault fault;
    uint32_t at;
    unsigned without;
} controls;

static controls read_controls(const uint8_t *data, size_t size) {
    const uint8_t *nul = size > 0 ? memchr(data, 0, size) : NULL;
    controls c = {.length = nul != NULL ? (size_t)(nul - data) : size};
    if (nul == NULL) return c;
    fuzz_input in = {nul + 1, size - c.length - 1};
    c.fault = (fuzz_fault)(fuzz_next(&in) % FUZZ_FAULTS);
    for (int i = 0; i < 3; i++) c.at |= (uint32_t)fuzz_next(&in) << (8 * i);
    c.without = fuzz_next(&in);
    return c;
}

/* What has been made so far; NULL: not, or it could not be made. */
typedef struct pipeline {
    fuzz_run *run;
    const char *text;
    size_t length;
    unsigned without;
    spad_kernel *kernel;
    spad_layout *layout;
    spad_check *check;
    spad_sim *sim;
} pipeline;

/* A failure that is an answer is part of what is compared. */
static void write_failure(fuzz_run *run) {
    const spad_error failed = run->error;
    MUST(run, spad_error_write_json(&failed, "fuzz", &run->sink, &run->error));
    run->error = failed;
}

/* ---- reading ----------------------------------------------------------------------- */

static void write_faults(fuzz_run *run, const spad_diagnostics *faults) {
    spad_check *check;
    MUST(run, spad_diagnostics_write(faults, SPAD_FORMAT_TEXT, &run->sink, &run->error));
    MUST(run, spad_diagnostics_write(faults, SPAD_FORMAT_JSON, &run->sink, &run->error));
    MUST_OUT(run, check,
             spad_check_create_from_faults(&check, faults, "fuzz", &run->host, &run->error));
    MUST(run, spad_check_write_json(check, NULL, &run->sink, &run->error));
    const spad_check *const checks[] = {check};
    MUST(run, spad_check_write_sarif(checks, 1, &run->sink, &run->error));
    spad_check_destroy(check);
}

/* Diagnostics collect the faults of one reading, so they are made anew with it. */
static spad_status parse(pipeline *p, spad_diagnostics **faults) {
    fuzz_run *run = p->run;
    const spad_kernel_options options = {.host = &run->host};
    spad_diagnostics_destroy(*faults);
    *faults = NULL;
    const spad_status status = spad_diagnostics_create(faults, &run->host, &run->error);
    if (status != SPAD_OK) return status;
    return spad_kernel_parse(&p->kernel, p->text, p->length, "fuzz", &options, *faults,
                             &run->error);
}

static bool read_kernel(pipeline *p) {
    fuzz_run *run = p->run;
    spad_diagnostics *faults = NULL;
    p->kernel = NULL;
    TRY(run, parse(p, &faults));
    REQUIRE((run->status == SPAD_OK) == (p->kernel != NULL));
    if (run->status == SPAD_OK) {
        MUST(run, spad_kernel_write_text(p->kernel, &run->sink, &run->error));
    } else {
        REQUIRE(run->status == SPAD_ERR_SYNTAX && spad_diagnostics_count(faults) >= 1);
        write_failure(run);
        write_faults(run, faults);
    }
    spad_diagnostics_destroy(faults);
    return p->kernel != NULL;
}

/* ---- places, verdicts, times ------------------------------------------------------- */

static void lay_out(pipeline *p) {
    fuzz_run *run = p->run;
    const spad_layout_options options = {.host = &run->host};
    const spad_check_options checks = {.event_limit = EVENTS_MAX, .host = &run->host};
    TRY_OUT(
        run, p->layout,
        spad_layout_create_checked(&p->layout, NULL, p->kernel, &options, &checks, &run->error));
    if (p->layout == NULL) {
        write_failure(run);
        return;
    }
    MUST(run, spad_layout_write(p->layout, SPAD_FORMAT_TEXT, &run->sink, &run->error));
    MUST(run, spad_layout_write(p->layout, SPAD_FORMAT_TABLE, &run->sink, &run->error));
    MUST(run, spad_layout_write(p->layout, SPAD_FORMAT_JSON, &run->sink, &run->error));
    MUST(run, spad_layout_write(p->layout, SPAD_FORMAT_CSV, &run->sink, &run->error));
}

static void check(pipeline *p, const spad_error *no_layout) {
    fuzz_run *run = p->run;
    const spad_check_options options = {
        .layout = p->layout, .event_limit = EVENTS_MAX, .host = &run->host};
    MUST_OUT(run, p->check, spad_check_create(&p->check, p->kernel, &options, &run->error));
    if (p->layout != NULL) {
        MUST(run, spad__check_add_layout(p->check, p->layout, &run->error));
    } else {
        MUST(run, spad__check_add_fault(p->check, no_layout, &run->error));
    }
    const spad_check *const checks[] = {p->check};
    MUST(run,
         spad_check_write_text(p->check, p->kernel, p->text, p->length, &run->sink, &run->error));
    MUST(run, spad_check_write_json(p->check, p->kernel, &run->sink, &run->error));
    MUST(run, spad_check_write_sarif(checks, 1, &run->sink, &run->error));
}

static void simulate(pipeline *p) {
    fuzz_run *run = p->run;
    const spad_sim_options options = {
        .layout = p->layout, .operation_limit = OPERATIONS_MAX, .host = &run->host};
    TRY_OUT(run, p->sim, spad_sim_create(&p->sim, p->kernel, &options, &run->error));
    if (p->sim == NULL) {
        write_failure(run);
        return;
    }
    MUST(run, spad_sim_write(p->sim, SPAD_FORMAT_TEXT, &run->sink, &run->error));
    MUST(run, spad_sim_write(p->sim, SPAD_FORMAT_JSON, &run->sink, &run->error));
}

/* What tuning chose has to hold for a layout of its own. */
static void tune(pipeline *p) {
    fuzz_run *run = p->run;
    const spad_tune_options options = {.depth_most = 3,
                                       .exhaustive_most = 12,
                                       .operations_most = TUNE_OPERATIONS_MAX,
                                       .steps = true, /* most kernels have no costs */
                                       .host = &run->host};
    spad_tune *tune;
    TRY_OUT(run, tune, spad_tune_create(&tune, p->kernel, &options, &run->error));
    if (tune == NULL) {
        write_failure(run);
        return;
    }
    MUST(run, spad_tune_write(tune, SPAD_FORMAT_TEXT, &run->sink, &run->error));
    MUST(run, spad_tune_write(tune, SPAD_FORMAT_JSON, &run->sink, &run->error));
    const spad_tune_totals totals = spad_tune_get_totals(tune);
    const spad_kernel *chosen = spad_tune_get_chosen(tune);
    REQUIRE((chosen != NULL) == (totals.planned != SPAD_UNBOUNDED));
    if (chosen != NULL) {
        MUST(run, spad_kernel_write_text(chosen, &run->sink, &run->error));
    }
    spad_tune_destroy(tune);
}

static void fit(pipeline *p) {
    fuzz_run *run = p->run;
    const spad_fit_options options = {.host = &run->host};
    spad_fit *fit;
    MUST_OUT(run, fit, spad_fit_create(&fit, p->layout, &options, &run->error));
    if (spad_layout_fits(p->layout)) REQUIRE(spad_fit_count(fit) == 0);
    MUST(run, spad_fit_write(fit, p->layout, SPAD_FORMAT_TEXT, &run->sink, &run->error));
    MUST(run, spad_fit_write(fit, p->layout, SPAD_FORMAT_JSON, &run->sink, &run->error));
    spad_fit_destroy(fit);
}

/* ---- reports ----------------------------------------------------------------------- */

static spad_report *make_report(pipeline *p, const char *title) {
    fuzz_run *run = p->run;
    const spad_report_options options = {.title = title, .host = &run->host};
    const spad_target *target = spad_kernel_get_target(p->kernel);
    spad_report *report;
    MUST_OUT(run, report, spad_report_create(&report, target, &options, &run->error));
    return report;
}

static void write_report(fuzz_run *run, const spad_report *report) {
    MUST(run, spad_report_write(report, SPAD_FORMAT_TEXT, &run->sink, &run->error));
    MUST(run, spad_report_write(report, SPAD_FORMAT_SVG, &run->sink, &run->error));
    MUST(run, spad_report_write(report, SPAD_FORMAT_HTML, &run->sink, &run->error));
    MUST(run, spad_report_write(report, SPAD_FORMAT_JSON, &run->sink, &run->error));
    MUST(run, spad_report_write(report, SPAD_FORMAT_TRACE, &run->sink, &run->error));
}

static void compare(pipeline *p, const spad_report *report) {
    fuzz_run *run = p->run;
    spad_report *buffers = make_report(p, "buffers");
    spad_report_diff *diff;
    TRY(run, spad_report_add_buffers(buffers, p->layout, &run->error));
    if (run->status != SPAD_OK) write_failure(run);
    MUST_OUT(run, diff, spad_report_diff_create(&diff, report, buffers, &run->host, &run->error));
    MUST(run, spad_report_diff_write(diff, SPAD_FORMAT_TEXT, &run->sink, &run->error));
    MUST(run, spad_report_diff_write(diff, SPAD_FORMAT_JSON, &run->sink, &run->error));
    MUST(run, spad_report_diff_write(diff, SPAD_FORMAT_HTML, &run->sink, &run->error));
    spad_report_diff_destroy(diff);
    spad_report_destroy(buffers);
}

static void report(pipeline *p) {
    fuzz_run *run = p->run;
    spad_report *report = make_report(p, spad_kernel_get_name(p->kernel));
    if (p->layout != NULL) {
        TRY(run, spad_report_add_layout(report, p->layout, p->sim, DRAWN_MAX, &run->error));
        if (run->status != SPAD_OK) write_failure(run);
    }
    for (size_t i = 0; p->check != NULL && i < spad_check_finding_count(p->check); i++) {
        const spad_finding *finding = spad_check_get_finding(p->check, i);
        MUST(run, spad_report_add_finding(report, finding, &run->error));
    }
    MUST(run, spad_report_set_source(report, "fuzz", p->text, p->length, &run->error));
    MUST(run, spad_report_add_note(report, "a note", &run->error));
    write_report(run, report);
    if (p->layout != NULL && !(p->without & NO_DIFF)) compare(p, report);
    spad_report_destroy(report);
}

/* ---- tables ------------------------------------------------------------------------ */

static void write_table(fuzz_run *run, const spad_emit *table) {
    for (int lang = 0; lang < SPAD_EMIT_LANGS; lang++) {
        if (lang == SPAD_EMIT_TILELANG) continue; /* has not every memory; fuzz_report calls it */
        MUST(run, spad_emit_write(table, (spad_emit_lang)lang, &run->sink, &run->error));
    }
}

static spad_emit *make_table(pipeline *p) {
    fuzz_run *run = p->run;
    spad_emit *table;
    MUST_OUT(run, table,
             spad_emit_create(&table, spad_kernel_get_target(p->kernel),
                              spad_kernel_get_name(p->kernel), &run->host, &run->error));
    return table;
}

static void emit(pipeline *p) {
    fuzz_run *run = p->run;
    spad_emit *table = make_table(p);
    TRY(run, spad_emit_add_layout(table, p->layout, &run->error));
    REQUIRE((run->status == SPAD_ERR_NO_FIT) == !spad_layout_fits(p->layout));
    if (run->status != SPAD_OK) write_failure(run);
    write_table(run, table);
    spad_emit_destroy(table);
}

/* ---- trace and plan ---------------------------------------------------------------- */

/* A run of the kernel has few events. */
static bool is_short(const spad_kernel *kernel) {
    const spad_walk_options options = {.agent = SPAD_WALK_ALL};
    spad_walk *walk;
    REQUIRE(spad_walk_create(&walk, kernel, &options, NULL) == SPAD_OK);
    const spad_walk_event *event = NULL;
    int count = 0;
    while (count < EVENTS_MAX && (event == NULL || event->kind != SPAD_WALK_END)) {
        if (spad_walk_next(&event, walk, NULL) != SPAD_OK) break;
        count++;
    }
    const bool ended = event != NULL && event->kind == SPAD_WALK_END;
    spad_walk_destroy(walk);
    return ended;
}

static void show_plan(pipeline *p, size_t space, const spad_plan *plan) {
    fuzz_run *run = p->run;
    const spad_plan_options options = {.node_limit = NODES_MAX, .timeout_ns = 1000000000};
    spad_plan_result *result;
    spad_plan_reason *reason = NULL;
    TRY_OUT(run, result, spad_plan_solve(&result, plan, &options, &run->error));
    if (result == NULL) {
        write_failure(run);
        return;
    }
    const bool fits = result->verdict <= SPAD_PLAN_FEASIBLE;
    if (!fits) {
        MUST_OUT(run, reason,
                 spad_plan_explain(&reason, plan, result, 1000000000, NULL, &run->error));
    }
    MUST(run, spad_plan_write(plan, result, reason, SPAD_FORMAT_TEXT, &run->sink, &run->error));
    MUST(run, spad_plan_write(plan, result, reason, SPAD_FORMAT_JSON, &run->sink, &run->error));
    if (fits) {
        spad_report *report = make_report(p, "plan");
        spad_emit *table = make_table(p);
        MUST(run, spad_report_add_plan(report, plan, result, space, &run->error));
        MUST(run, spad_emit_add_plan(table, plan, result, space, &run->error));
        MUST(run, spad_report_write(report, SPAD_FORMAT_JSON, &run->sink, &run->error));
        write_table(run, table);
        spad_emit_destroy(table);
        spad_report_destroy(report);
    }
    spad_plan_reason_destroy(reason);
    spad_plan_result_destroy(result);
}

static void plan_trace(pipeline *p, const spad_trace *trace, size_t space) {
    fuzz_run *run = p->run;
    spad_plan *plan;
    MUST_OUT(run, plan, spad_plan_create(&plan, &run->host, &run->error));
    MUST(run,
         spad_plan_set_space(plan, &spad_kernel_get_target(p->kernel)->spaces[space], &run->error));
    TRY(run, spad_plan_add_trace(NULL, plan, trace, space, &run->error));
    if (run->status != SPAD_OK) write_failure(run);
    if (spad_plan_count(plan) > 0) show_plan(p, space, plan);
    spad_plan_destroy(plan);
}

/* The trace of a failed call has a part of the run, so it is made anew with it. */
static spad_status write_trace(pipeline *p, spad_trace **trace) {
    fuzz_run *run = p->run;
    spad_trace_destroy(*trace);
    *trace = NULL;
    const spad_status status =
        spad_trace_create(trace, spad_kernel_get_target(p->kernel), &run->host, &run->error);
    if (status != SPAD_OK) return status;
    return spad_kernel_write_trace(p->kernel, *trace, &run->host, &run->error);
}

static void trace(pipeline *p) {
    fuzz_run *run = p->run;
    spad_trace *trace = NULL;
    TRY(run, write_trace(p, &trace));
    if (run->status != SPAD_OK) write_failure(run);
    const size_t events = spad_trace_event_count(trace);
    for (int style = SPAD_TREE_EXACT; style <= SPAD_TREE_LIBRARY; style++) {
        MUST(run, spad_trace_write_tree(trace, SPAD_ALL_SPACES, 0, events, (spad_tree_style)style,
                                        &run->sink, &run->error));
    }
    spad_report *report = make_report(p, "trace");
    TRY(run, spad_report_add_trace(report, trace, &run->error));
    if (run->status != SPAD_OK) write_failure(run);
    MUST(run, spad_report_write(report, SPAD_FORMAT_JSON, &run->sink, &run->error));
    spad_report_destroy(report);
    const size_t spaces = spad_kernel_get_target(p->kernel)->space_count;
    for (size_t i = 0; i < spaces; i++) plan_trace(p, trace, i);
    spad_trace_destroy(trace);
}

/* ---- all of it --------------------------------------------------------------------- */

static void run_all(fuzz_run *run, const uint8_t *data, const controls *c) {
    pipeline p = {
        .run = run, .text = (const char *)data, .length = c->length, .without = c->without};
    if (read_kernel(&p)) {
        lay_out(&p);
        const spad_error no_layout = run->error;
        if (!(p.without & NO_CHECK)) check(&p, &no_layout);
        if (!(p.without & NO_SIM)) simulate(&p);
        const bool brief = is_short(p.kernel);
        if (brief && !(p.without & NO_TUNE)) tune(&p);
        if (p.layout != NULL && !(p.without & NO_FIT)) fit(&p);
        if (brief && !(p.without & NO_TRACE)) trace(&p);
        if (!(p.without & NO_REPORT)) report(&p);
        if (p.layout != NULL && !(p.without & NO_EMIT)) emit(&p);
    }
    spad_sim_destroy(p.sim);
    spad_check_destroy(p.check);
    spad_layout_destroy(p.layout);
    spad_kernel_destroy(p.kernel);
    REQUIRE(run->blocks == 0);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    const controls c = read_controls(data, size);
    fuzz_run plain;
    fuzz_run faulty;
    fuzz_run_init(&plain, FUZZ_NO_FAULT, 0);
    run_all(&plain, data, &c);
    const uint64_t steps = c.fault == FUZZ_WRITE ? plain.written : plain.requests;
    fuzz_run_init(&faulty, c.fault, steps > 0 ? 1 + c.at % steps : 0);
    run_all(&faulty, data, &c);
    if (c.fault != FUZZ_NO_FAULT && steps > 0) REQUIRE(faulty.fault == FUZZ_NO_FAULT); /* met */
    REQUIRE(plain.text.count == faulty.text.count);
    REQUIRE(memcmp(plain.text.bytes, faulty.text.bytes, plain.text.count) == 0);
    free(plain.text.bytes);
    free(faulty.text.bytes);
    return 0;
}

#ifdef SPAD_LIBFUZZER
size_t LLVMFuzzerMutate(uint8_t *data, size_t size, size_t max_size);
size_t LLVMFuzzerCustomMutator(uint8_t *data, size_t size, size_t max_size, unsigned seed);

/* Half of the time the text, half of the time what follows its NUL. */
size_t LLVMFuzzerCustomMutator(uint8_t *data, size_t size, size_t max_size, unsigned seed) {
    enum { CONTROLS = 6 };
    const size_t length = read_controls(data, size).length;
    uint8_t kept[CONTROLS] = {0};
    const size_t tail = size - length < CONTROLS ? size - length : CONTROLS;
    if (max_size <= CONTROLS) return LLVMFuzzerMutate(data, size, max_size);
    memcpy(kept, data + length, tail);
    size_t used = length < max_size - CONTROLS ? length : max_size - CONTROLS;
    if (seed % 2 == 0) {
        used = LLVMFuzzerMutate(data, used, max_size - CONTROLS);
        if (tail == 0) return used;
    } else {
        for (size_t i = 1; i < CONTROLS; i++) kept[i] = (uint8_t)(seed >> (i * 5) ^ seed >> 3);
        kept[1] = (uint8_t)(1 + seed / 2 % 3);
        if (seed % 4 == 1) kept[5] = 0;
    }
    memcpy(data + used, kept, CONTROLS);
    return used + CONTROLS;
}
#endif
