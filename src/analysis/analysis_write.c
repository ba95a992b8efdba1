/* SPDX-License-Identifier: Apache-2.0
 *
 * An analysis in words and as JSON. All prose about an analysis is made here, from its
 * data, with the pieces that the writers of its parts use themselves.
 */
#include <stdio.h>
#include <string.h>

#include "analysis/analysis.h"
#include "analysis/fit.h"
#include "base/error.h"
#include "base/text.h"
#include "kernel/kernel.h"
#include "layout/layout.h"
#include "layout/occupancy.h"
#include "sim/sim_report.h"
#include "spad/experimental/analysis_notes.h"
#include "verify/verify.h"

/* ---- notes ------------------------------------------------------------------------- */

const char *spad_analysis_note_name(spad_analysis_note_code code) {
    switch (code) {
    case SPAD_ANALYSIS_DOES_NOT_FIT: return "does-not-fit";
    case SPAD_ANALYSIS_TOO_SMALL: return "too-small";
    case SPAD_ANALYSIS_PEAK: return "peak";
    case SPAD_ANALYSIS_VERDICT: return "verdict";
    }
    return "?";
}

enum { CODES_IN_A_NOTE = 3 };

/* "4 errors: SPAD-RACE, SPAD-DEADLOCK": what a reader sees besides how many there are. */
static void write_errors(spad__out *out, const spad_check *check) {
    const int64_t errors = spad_check_get_counts(check).errors;
    spad_finding_code codes[CODES_IN_A_NOTE];
    size_t count = 0, more = 0;
    spad__out_format(out, "%lld error%s", (long long)errors, errors == 1 ? "" : "s");
    for (size_t i = 0; i < spad_check_finding_count(check); i++) {
        const spad_finding *f = spad_check_get_finding(check, i);
        size_t k = 0;
        if (f->severity != SPAD_SEVERITY_ERROR) continue;
        while (k < count && codes[k] != f->code) k++;
        if (k < count || more > 0) continue;
        if (count == CODES_IN_A_NOTE) {
            more++;
            continue;
        }
        codes[count++] = f->code;
        spad__out_format(out, "%s%s", count == 1 ? ": " : ", ", spad_finding_name(f->code));
    }
    if (more > 0) spad__out_string(out, " and others");
}

/* "wrong" alone says nothing: reports have a badge for that. */
static void write_verdict_note(spad__out *out, const spad_check *check) {
    const char *reason = spad_check_get_reason(check);
    char text[SPAD__REASON_MAX * 2];
    if (spad_check_get_counts(check).errors > 0 && reason[0] == '\0') {
        write_errors(out, check);
        return;
    }
    spad__verdict_text(text, sizeof text, spad_check_get_verdict(check), reason);
    spad__out_string(out, text);
}

spad_status spad_analysis_write_note(const spad_analysis *analysis, size_t number,
                                     const spad_sink *sink, spad_error *error) {
    const spad_analysis_note *note = spad_analysis_get_note(analysis, number);
    spad__out out;
    if (note == NULL) {
        return spad__fail(error, SPAD_ERR_ARGUMENT, "there is no note %zu; the analysis has %zu",
                          number, analysis->notes.count);
    }
    spad__out_start_text(&out, sink);
    switch (note->code) {
    case SPAD_ANALYSIS_DOES_NOT_FIT: spad__out_string(&out, "does not fit"); break;
    case SPAD_ANALYSIS_TOO_SMALL:
        spad__fit_write_space(&out, analysis->fit, analysis->layout, note->space, "; ");
        break;
    case SPAD_ANALYSIS_PEAK: spad__layout_write_peak(&out, analysis->layout, note->space); break;
    case SPAD_ANALYSIS_VERDICT: write_verdict_note(&out, analysis->check); break;
    }
    return spad__out_finish(&out, error);
}

/* ---- text -------------------------------------------------------------------------- */

/* "exp_rows on trn2 (N = 8, S = 3): fits, proved for all trip counts" */
static void write_summary(spad__out *out, const spad_analysis *a) {
    const spad_kernel *kernel = a->kernel;
    spad__out_one_line(out, kernel->name);
    spad__out_string(out, " on ");
    spad__out_one_line(out, kernel->target->name);
    spad__write_params(out, kernel);
    spad__out_string(out, ":");
    if (a->layout != NULL) {
        spad__out_string(out, spad_layout_fits(a->layout) ? " fits" : " does not fit");
    }
    if (a->check != NULL) {
        spad__out_string(out, a->layout != NULL ? ", " : " ");
        spad__out_string(out, spad_verdict_name(spad_check_get_verdict(a->check)));
    }
    spad__out_string(out, "\n");
}

/* "tensor 82.1 %, vector 40.0 %": engines that ran something. False: none did. */
static bool write_shares(spad__out *out, const spad_analysis *a, int64_t makespan) {
    const spad_target *target = a->kernel->target;
    const char *separator = "engines: ";
    bool any = false;
    for (size_t i = 0; i < target->engine_count; i++) {
        const spad__sim_engine engine = spad__sim_get_engine(a->sim, i);
        if (engine.operations == 0 || makespan < 1000) continue;
        const double part = (double)engine.busy / (double)makespan;
        const long long share = (long long)(part * 1000.0);
        spad__out_string(out, separator);
        spad__out_one_line(out, target->engines[i].name);
        spad__out_format(out, " %lld.%lld %%", share / 10, share % 10);
        separator = ", ";
        any = true;
    }
    return any;
}

/* "engines: tensor 82.1 %, vector 40.0 % busy in 12.345 us", or "... busy in 17 steps; 23 of 23
 * costs assumed: steps, not time" */
static void write_analysis_engines(spad__out *out, const spad_analysis *a) {
    const spad_sim_totals totals = spad_sim_get_totals(a->sim);
    char time[SPAD_TIME_TEXT];
    char field[SPAD_BADGE_TEXT];
    if (write_shares(out, a, totals.makespan)) {
        spad__out_format(out, " busy in %s",
                         spad_time_unit_text(totals.unit, totals.makespan, time));
        const char *badge = spad_sim_badge_text(&totals, field);
        spad__out_string(out, badge != NULL ? "; " : "");
        spad__out_string(out, badge != NULL ? badge : "");
        spad__out_string(out, "\n");
    }
    if (a->apart < totals.makespan) {
        char less[SPAD_TIME_TEXT];
        spad__out_format(out, "shared bytes cost %s: %s if no tensors shared any\n",
                         spad_time_unit_text(totals.unit, totals.makespan - a->apart, less),
                         spad_time_unit_text(totals.unit, a->apart, time));
    }
    if (spad_sim_get_stuck(a->sim) != NULL) {
        spad__out_string(out, "stuck: ");
        spad__out_string(out, spad_sim_get_stuck(a->sim));
        spad__out_string(out, "\n");
    }
}

static void write_fault(spad__out *out, const char *start, const spad_error *fault) {
    if (fault == NULL) return;
    spad__out_string(out, start);
    spad__out_string(out, fault->message);
    spad__out_string(out, "\n");
}

static spad_status write_analysis_text(const spad_analysis *analysis, const spad_sink *sink,
                                       spad_error *error) {
    spad__out out;
    spad_status status;
    spad__out_start_text(&out, sink);
    write_summary(&out, analysis);
    write_fault(&out, "not placed: ", spad_analysis_get_fault(analysis, SPAD_PART_LAYOUT));
    status = spad__out_finish(&out, error);
    if (status == SPAD_OK && analysis->layout != NULL) {
        status = spad_layout_write(analysis->layout, SPAD_FORMAT_TEXT, sink, error);
    }
    if (status == SPAD_OK && analysis->layout != NULL) {
        status = spad_occupancy_write_text(analysis->kernel, analysis->layout, sink, error);
    }
    if (status == SPAD_OK && analysis->fit != NULL) {
        status = spad_fit_write(analysis->fit, analysis->layout, SPAD_FORMAT_TEXT, sink, error);
    }
    spad__out_start_text(&out, sink);
    if (analysis->sim != NULL) write_analysis_engines(&out, analysis);
    write_fault(&out, "engines: not simulated: ", spad_analysis_get_fault(analysis, SPAD_PART_SIM));
    if (status == SPAD_OK) status = spad__out_finish(&out, error);
    if (status == SPAD_OK && analysis->check != NULL) {
        status = spad_check_write_text(analysis->check, analysis->kernel, analysis->source,
                                       analysis->source_length, sink, error);
    }
    return status;
}

/* ---- JSON -------------------------------------------------------------------------- */

static void json_analysis_engines(spad__json *json, const spad_analysis *a) {
    const spad_target *target = a->kernel->target;
    const spad_sim_totals totals = spad_sim_get_totals(a->sim);
    spad__json_open(json, '{');
    spad__json_key_int(json, "makespan_ps", totals.makespan);
    if (a->apart == SPAD_UNBOUNDED) {
        spad__json_key_string(json, "apart_ps", NULL);
    } else {
        spad__json_key_int(json, "apart_ps", a->apart);
    }
    spad__json_key_int(json, "operations", totals.operations);
    spad__json_costs(json, &totals);
    spad__json_unit(json, &totals);
    spad__json_key_open(json, "busy_ps", '{');
    for (size_t i = 0; i < target->engine_count; i++) {
        const spad__sim_engine engine = spad__sim_get_engine(a->sim, i);
        if (engine.operations > 0) {
            spad__json_key_int(json, target->engines[i].name, engine.busy);
        }
    }
    spad__json_close(json, '}');
    spad__json_close(json, '}');
}

static spad_status write_analysis_json(const spad_analysis *analysis, const spad_sink *sink,
                                       spad_error *error) {
    spad__out out;
    spad__json json;
    spad__out_start(&out, sink);
    spad__json_start(&json, &out);
    spad__json_open(&json, '{');
    spad__json_key(&json, "layout");
    if (analysis->layout != NULL) {
        spad__json_layout(&json, analysis->layout);
    } else {
        spad__json_string(&json, NULL);
    }
    spad__json_key(&json, "occupancy");
    if (analysis->layout != NULL) {
        spad__json_occupancy(&json, analysis->kernel, analysis->layout);
    } else {
        spad__json_string(&json, NULL);
    }
    spad__json_key(&json, "check");
    if (analysis->check != NULL) {
        spad__json_check(&json, analysis->check, analysis->kernel);
    } else {
        spad__json_string(&json, NULL);
    }
    spad__json_key(&json, "engines");
    if (analysis->sim != NULL) {
        json_analysis_engines(&json, analysis);
    } else {
        spad__json_string(&json, NULL);
    }
    spad__json_close(&json, '}');
    spad__json_end(&json);
    return spad__out_finish(&out, error);
}

spad_status spad_analysis_write(const spad_analysis *analysis, spad_format format,
                                const spad_sink *sink, spad_error *error) {
    if (format == SPAD_FORMAT_TEXT) return write_analysis_text(analysis, sink, error);
    if (format == SPAD_FORMAT_JSON) return write_analysis_json(analysis, sink, error);
    return spad__fail_format(error);
}
