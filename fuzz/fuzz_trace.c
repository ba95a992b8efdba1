/* SPDX-License-Identifier: Apache-2.0
 *
 * Calls of a trace in any order, with any numbers, and with a request for memory that fails: each
 * appends one event, or fails and appends nothing (faults.h). What a trace says about itself is
 * compared with a count over its tables, and everything that reads traces is given it: trees, the
 * planner, reports.
 *
 * Input: 1 byte which fault, 2 bytes N; then records of an operation byte and its numbers.
 */
#include "faults.h"
#include "spad/spad.h"

enum { CALLS_MAX = 128, LISTED = 8 };

static const spad_space spaces[] = {
    {.name = "pad", .about = "", .lanes = 128, .bytes = 4096, .alignment = 1, .granule = 1},
    {.name = "far", .about = "", .lanes = 1, .bytes = SPAD_UNBOUNDED, .alignment = 1, .granule = 1},
};
static const spad_target target = {.name = "toy", .about = "", .space_count = 2, .spaces = spaces};

static int64_t next_number(fuzz_input *in) {
    static const int64_t edges[] = {INT64_MAX, INT64_MIN, -1,           SPAD_NO_BYTE,
                                    4096,      128,       INT64_MAX / 2};
    const int first = fuzz_next(in);
    if (first >= 249) return edges[first - 249];
    return first % 64;
}

static const char *next_name(fuzz_input *in) {
    static const char *const names[] = {NULL, "", "a", "b", "a\nb", "\x1b[0m", "name, quoted \""};
    return names[fuzz_next(in) % (sizeof names / sizeof *names)];
}

static void add_tensor(fuzz_run *run, spad_trace *trace, fuzz_input *in) {
    const int what = fuzz_next(in);
    const int64_t dims[] = {next_number(in), next_number(in)};
    const spad_tensor tensor = {
        .name = next_name(in),
        .shape = {what & 1 ? 2 : 0, dims},
        .dtype = (spad_dtype)(fuzz_next(in) % (SPAD_DTYPE_COUNT + 1)),
        .mode = (spad_mode)(fuzz_next(in) % (SPAD_MODE_COUNT + 1)),
        .space = fuzz_next(in) % 3U,
        .rect = {next_number(in), next_number(in), next_number(in), next_number(in)},
        .scope = what & 2 ? next_number(in) : -1,
        .section = what & 4 ? next_number(in) : 0};
    const int64_t address = what & 8 ? next_number(in) : tensor.rect.byte;
    int64_t number;
    TRY(run, spad_trace_alloc(&number, trace, &tensor, address, &run->error));
}

static void call(fuzz_run *run, spad_trace *trace, fuzz_input *in) {
    int64_t number;
    const int what = fuzz_next(in) % 8;
    if (what < 3) {
        add_tensor(run, trace, in);
        return;
    }
    const size_t space = fuzz_next(in) % 3U;
    const int64_t a = next_number(in);
    const int64_t b = next_number(in);
    const int64_t c = next_number(in);
    switch (what) {
    case 3: {
        const char *name = next_name(in);
        TRY(run, spad_trace_open_scope(&number, trace, space, name, a, b, c, &run->error));
        break;
    }
    case 4: TRY(run, spad_trace_close_scope(trace, a, b, c, &run->error)); break;
    case 5: TRY(run, spad_trace_section(trace, a, b, c, &run->error)); break;
    case 6:
        if (b % 4 == 1) {
            TRY(run, spad_trace_copy(trace, space, a, c, b, b % 8 == 1, &run->error));
        } else if (b % 4 == 2) {
            TRY(run, spad_trace_reserve_copy(trace, &run->error));
        } else if (b % 4 == 3) {
            spad_trace_release_copy(trace);
        } else {
            TRY(run, spad_trace_rollback(trace, space, a, &run->error));
        }
        break;
    default: TRY(run, spad_trace_free(trace, a, b, c, &run->error));
    }
}

/* ---- what it says about itself ----------------------------------------------------- */

static bool alive(const spad_tensor *t, size_t space, int64_t time) {
    return t->space == space && t->t_begin <= time &&
           (t->t_end == SPAD_OPEN_END || time < t->t_end);
}

static void check_live(const spad_trace *trace, size_t space, int64_t time) {
    int64_t listed[LISTED];
    size_t count;
    size_t wanted = 0;
    REQUIRE(spad_trace_list_live(&count, listed, LISTED, trace, space, time, NULL) == SPAD_OK);
    for (size_t i = 0; i < spad_trace_tensor_count(trace); i++) {
        wanted += alive(spad_trace_get_tensor(trace, i), space, time);
    }
    REQUIRE(count == wanted);
    for (size_t i = 0; i < count && i < LISTED; i++) {
        const spad_tensor *t = spad_trace_get_tensor(trace, (size_t)listed[i]);
        REQUIRE(t != NULL && alive(t, space, time));
        if (i == 0) continue;
        const spad_tensor *before = spad_trace_get_tensor(trace, (size_t)listed[i - 1]);
        REQUIRE(before->rect.bytes >= t->rect.bytes);
    }
}

static void check_trace(fuzz_run *run, const spad_trace *trace) {
    const int64_t end = (int64_t)spad_trace_event_count(trace);
    for (size_t space = 0; space < target.space_count; space++) {
        spad_space_stats stats;
        REQUIRE(spad_trace_get_stats(&stats, trace, space, NULL) == SPAD_OK);
        int64_t total = 0;
        int64_t live = 0;
        for (size_t i = 0; i < spad_trace_tensor_count(trace); i++) {
            const spad_tensor *t = spad_trace_get_tensor(trace, i);
            total += t->space == space;
            live += t->space == space && t->t_end == SPAD_OPEN_END;
        }
        REQUIRE(stats.total_tensors == total && stats.live_tensors == live);
        REQUIRE(stats.peak_bytes >= stats.live_bytes);
        for (int64_t time = 0; time <= end; time += 1 + end / 8) {
            int64_t bytes;
            int64_t at;
            check_live(trace, space, time);
            MUST(run, spad_trace_get_largest_hole(&bytes, &at, trace, space, time, 0, 4096,
                                                  &run->error));
            REQUIRE(bytes >= 0 && bytes <= 4096);
            if (bytes > 0) REQUIRE(at >= 0 && at + bytes <= 4096);
        }
    }
}

/* ---- everything that reads it ------------------------------------------------------ */

static void plan_it(fuzz_run *run, const spad_trace *trace, size_t space) {
    spad_plan *plan;
    spad_plan_result *result;
    const spad_plan_options options = {.node_limit = 50};
    MUST_OUT(run, plan, spad_plan_create(&plan, &run->host, &run->error));
    MUST(run, spad_plan_set_space(plan, &spaces[space], &run->error));
    TRY(run, spad_plan_add_trace(NULL, plan, trace, space, &run->error));
    if (run->status != SPAD_OK) REQUIRE(spad_plan_count(plan) == 0);
    TRY_OUT(run, result, spad_plan_solve(&result, plan, &options, &run->error));
    if (result != NULL && result->verdict <= SPAD_PLAN_FEASIBLE) {
        int64_t height;
        TRY(run, spad_plan_check(&height, plan, result->places, result->count, &run->error));
        REQUIRE(run->status == SPAD_OK && height == result->height);
    }
    spad_plan_result_destroy(result);
    spad_plan_destroy(plan);
}

static void read_it(fuzz_run *run, const spad_trace *trace) {
    const size_t events = spad_trace_event_count(trace);
    const spad_report_options options = {.title = "t", .host = &run->host};
    spad_report *report;
    for (int style = SPAD_TREE_EXACT; style <= SPAD_TREE_LIBRARY; style++) {
        MUST(run, spad_trace_write_tree(trace, SPAD_ALL_SPACES, 0, events, (spad_tree_style)style,
                                        &run->sink, &run->error));
    }
    MUST_OUT(run, report, spad_report_create(&report, &target, &options, &run->error));
    TRY(run, spad_report_add_trace(report, trace, &run->error));
    if (run->status != SPAD_OK) REQUIRE(spad_report_box_count(report) == 0);
    MUST(run, spad_report_write(report, SPAD_FORMAT_JSON, &run->sink, &run->error));
    MUST(run, spad_report_write(report, SPAD_FORMAT_TEXT, &run->sink, &run->error));
    spad_report_destroy(report);
    for (size_t space = 0; space < target.space_count; space++) plan_it(run, trace, space);
}

static void run_all(fuzz_run *run, fuzz_input in) {
    spad_trace *trace;
    MUST_OUT(run, trace, spad_trace_create(&trace, &target, &run->host, &run->error));
    for (int i = 0; i < CALLS_MAX && in.size > 0; i++) {
        const size_t before = spad_trace_event_count(trace);
        call(run, trace, &in);
        REQUIRE(spad_trace_event_count(trace) == before + (run->status == SPAD_OK));
    }
    check_trace(run, trace);
    read_it(run, trace);
    spad_trace_destroy(trace);
    REQUIRE(run->blocks == 0);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    fuzz_input in = {data, size};
    const fuzz_fault fault = (fuzz_fault)(fuzz_next(&in) % FUZZ_FAULTS);
    const uint64_t at = fuzz_next(&in) + 256U * fuzz_next(&in);
    fuzz_run plain;
    fuzz_run faulty;
    fuzz_run_init(&plain, FUZZ_NO_FAULT, 0);
    run_all(&plain, in);
    const uint64_t steps = fault == FUZZ_WRITE ? plain.written : plain.requests;
    fuzz_run_init(&faulty, fault, steps > 0 ? 1 + at % steps : 0);
    run_all(&faulty, in);
    REQUIRE(plain.text.count == faulty.text.count);
    REQUIRE(memcmp(plain.text.bytes, faulty.text.bytes, plain.text.count) == 0);
    free(plain.text.bytes);
    free(faulty.text.bytes);
    return 0;
}
