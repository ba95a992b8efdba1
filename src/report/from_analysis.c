/* SPDX-License-Identifier: Apache-2.0
 *
 * A report from an analysis: the boxes of its layout over the time of its simulation,
 * its notes, its source and its findings.
 */
#include <string.h>

#include "analysis/analysis.h"
#include "base/error.h"
#include "base/text.h"
#include "kernel/kernel.h"
#include "report/report.h"
#include "spad/experimental/analysis_notes.h"
#include "spad/experimental/kernel_rows.h"
#include "spad/experimental/report_parts.h"

/* The text of a memo, as a string in the arena of the report. */
static const char *copy_memo(spad_report *report, const spad__memo *memo) {
    return spad__arena_copy(&report->texts, memo->text.items, memo->text.count);
}

static spad_status add_analysis_notes(spad_report *report, const spad_analysis *analysis,
                                      spad_error *error) {
    spad__memo memo = {.host = &report->host};
    const spad_sink sink = spad__memo_sink(&memo);
    spad_status status = SPAD_OK;
    for (size_t i = 0; i < spad_analysis_note_count(analysis) && status == SPAD_OK; i++) {
        memo.text.count = 0;
        if (spad_analysis_write_note(analysis, i, &sink, NULL) != SPAD_OK ||
            sink.write(sink.context, "", 1) != 0) {
            status = spad__fail_host_memory(error); /* a memo fails for nothing else */
        } else if (report->note_count < SPAD__NOTES) {
            status = spad_report_add_note(report, memo.text.items, error);
            if (status == SPAD_OK &&
                spad_analysis_get_note(analysis, i)->code != SPAD_ANALYSIS_VERDICT)
                spad__report_note_in_tables(report);
        }
    }
    spad__memo_free(&memo);
    return status;
}

/* "exp_rows (N = 16)", for a report that was made without a title. */
static spad_status set_title(spad_report *report, const spad_kernel *kernel, spad_error *error) {
    if (report->is_titled) return SPAD_OK;
    spad__memo memo = {.host = &report->host};
    const spad_sink sink = spad__memo_sink(&memo);
    spad__out out;
    spad__out_start(&out, &sink);
    spad__out_string(&out, kernel->name);
    spad__write_params(&out, kernel);
    const char *title = spad__out_finish(&out, NULL) == SPAD_OK ? copy_memo(report, &memo) : NULL;
    spad__memo_free(&memo);
    if (title == NULL) return spad__fail_host_memory(error);
    report->title = title;
    return SPAD_OK;
}

spad_status spad_report_add_analysis(spad_report *report, const spad_analysis *analysis,
                                     spad_error *error) {
    const spad_kernel *kernel = spad_analysis_get_kernel(analysis);
    const spad_layout *layout = spad_analysis_get_layout(analysis);
    const spad__mark before = spad__report_mark(report);
    const spad__origin origin = spad__origin_of(kernel);
    spad_status status = spad__report_take_origin(report, "analysis", &origin, error);
    if (status == SPAD_OK) status = set_title(report, kernel, error);
    if (status == SPAD_OK && layout != NULL) {
        /* what does not fit is drawn over statements, and has no places to be simulated with */
        const spad_sim *sim = spad_layout_fits(layout) ? spad_analysis_get_sim(analysis) : NULL;
        status = spad_report_add_layout(report, layout, sim, 0, error);
    }
    const spad_error *failure = spad_analysis_get_fault(analysis, SPAD_PART_LAYOUT);
    if (status == SPAD_OK && failure != NULL)
        status = spad__report_add_refusal(report, kernel, failure, error);
    if (status == SPAD_OK) status = add_analysis_notes(report, analysis, error);
    if (status == SPAD_OK && spad_analysis_get_fit(analysis) != NULL) {
        status = spad__report_take_fit(report, layout, spad_analysis_get_fit(analysis), error);
    }
    if (status == SPAD_OK && analysis->source != NULL) {
        const char *file = spad_kernel_get_file(kernel);
        status = spad_report_set_source(report, file != NULL ? file : "<kernel>", analysis->source,
                                        analysis->source_length, error);
    }
    if (status == SPAD_OK && spad_analysis_get_check(analysis) != NULL) {
        status = spad_report_add_check(report, spad_analysis_get_check(analysis), error);
    }
    if (status != SPAD_OK) spad__report_restore(report, before);
    return status;
}
