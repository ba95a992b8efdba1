/* SPDX-License-Identifier: Apache-2.0
 *
 * The verdict of a plan as notes of a report, with the words of src/plan.
 */
#include "base/error.h"
#include "base/text.h"
#include "plan/problem.h"
#include "report/report.h"

typedef void (*reason_writer)(spad__out *out, const spad_plan *plan, const spad_plan_result *result,
                              const spad_plan_reason *reason, const char *separator);

/* "optimal: height 12288 B, no plan is lower than 12288 B" */
static void write_plan_verdict(spad__out *out, const spad_plan *plan,
                               const spad_plan_result *result, const spad_plan_reason *reason,
                               const char *separator) {
    (void)plan;
    (void)reason;
    (void)separator;
    spad__out_string(out, spad_plan_verdict_name(result->verdict));
    if (result->places == NULL) {
        spad__out_string(out, ": no plan");
    } else {
        spad__out_format(out, ": height %lld B, no plan is lower than %lld B",
                         (long long)result->height, (long long)result->bound);
    }
}

static spad_status add_reason(spad_report *report, reason_writer write, const spad_plan *plan,
                              const spad_plan_result *result, const spad_plan_reason *reason,
                              spad_error *error) {
    spad__memo memo = {.host = &report->host};
    const spad_sink sink = spad__memo_sink(&memo);
    spad__out out;
    spad__out_start(&out, &sink);
    write(&out, plan, result, reason, "; ");
    spad__out_bytes(&out, "", 1);
    spad_status status =
        spad__out_finish(&out, NULL) == SPAD_OK ? SPAD_OK : spad__fail_host_memory(error);
    if (status == SPAD_OK) status = spad_report_add_note(report, memo.text.items, error);
    spad__memo_free(&memo);
    return status;
}

spad_status spad_report_add_reason(spad_report *report, const spad_plan *plan,
                                   const spad_plan_result *result, const spad_plan_reason *reason,
                                   spad_error *error) {
    const spad__mark before = spad__report_mark(report);
    spad_status status = spad__plan_match_reason(plan, result, reason, error);
    if (status == SPAD_OK)
        status = add_reason(report, write_plan_verdict, plan, result, reason, error);
    if (status == SPAD_OK && reason != NULL && reason->found == NULL) {
        status = add_reason(report, spad__plan_write_why, plan, result, reason, error);
        if (status == SPAD_OK && spad__plan_has_remedy(reason)) {
            status = add_reason(report, spad__plan_write_remedy, plan, result, reason, error);
        }
    }
    if (status != SPAD_OK) spad__report_restore(report, before);
    return status;
}
