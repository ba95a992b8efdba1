/* SPDX-License-Identifier: Apache-2.0
 *
 * Findings that no run of a kernel gives: faults of a text that cannot be read, and
 * memories that are too small. With them every report (text, JSON, SARIF) says all that
 * is wrong.
 */
#include <stdio.h>
#include <stdlib.h>

#include "check/passes.h"
#include "kernel/kernel.h"
#include "verify/verify.h"

/* Adds an error, at its place in the order. The verdict becomes wrong, and known findings stay. */
static spad_status add(spad_check *check, const spad_finding *finding, int64_t statement,
                       spad_error *error) {
    if (!spad__array_reserve(&check->host, &check->found, 1)) return spad__fail_host_memory(error);
    check->found.items[check->found.count++] =
        (spad__found){.finding = *finding, .statement = statement, .other = -1};
    check->counts.errors++;
    spad__sort_findings(check);
    spad__name_findings(check, NULL);
    spad__find_causes(check);
    return SPAD_OK;
}

/* "it does not fit; apart from that, proved for this shape: ..." */
static void qualify_verdict(spad_check *check, const char *why) {
    char otherwise[SPAD__REASON_MAX * 2];
    char reason[SPAD__REASON_MAX * 3];
    if (check->verdict == SPAD_VERDICT_WRONG) return;
    spad__verdict_text(otherwise, sizeof otherwise, check->verdict, check->reason);
    snprintf(reason, sizeof reason, "%s; apart from that, %s", why, otherwise);
    spad__copy_cut(check->reason, sizeof check->reason, reason);
    check->verdict = SPAD_VERDICT_WRONG;
}

/* ---- a text that cannot be read ---------------------------------------------------- */

spad_status spad_check_create_from_faults(spad_check **out, const spad_diagnostics *faults,
                                          const char *file, const spad_host *host,
                                          spad_error *error) {
    const spad_host memory = spad__host_or_default(host);
    *out = NULL;
    spad_check *check = spad__new(&memory, sizeof *check);
    if (check == NULL) return spad__fail_host_memory(error);
    check->host = memory;
    check->verdict = SPAD_VERDICT_WRONG;
    spad__copy_cut(check->reason, sizeof check->reason, "the text cannot be read");
    for (size_t i = 0; i < spad_diagnostics_count(faults); i++) {
        const spad_diagnostic *fault = spad_diagnostics_get(faults, i);
        spad_finding finding;
        spad__finding_init(&finding, SPAD_FINDING_SYNTAX, "%s", fault->message);
        spad__copy_cut(finding.file, sizeof finding.file, file != NULL ? file : "");
        spad__point_finding(&finding, (spad_location){fault->line, fault->column, fault->width});
        const spad_status status = add(check, &finding, (int64_t)i, error);
        if (status != SPAD_OK) {
            spad_check_destroy(check);
            return status;
        }
    }
    *out = check;
    return SPAD_OK;
}

/* ---- memories that are too small --------------------------------------------------- */

static bool is_too_small(const spad_layout_space *row) {
    return row->verdict != SPAD_PLAN_OPTIMAL && row->verdict != SPAD_PLAN_FEASIBLE;
}

static void describe(spad_finding *finding, const spad_layout_space *row, const spad_space *space) {
    const char *each = space->lanes > 1 ? " per lane" : "";
    if (row->peak_bytes > row->capacity && !row->agents_apart) {
        spad__finding_init(finding, SPAD_FINDING_DOES_NOT_FIT,
                           "%s is too small: %s%s are needed at the same time, and it has %s; "
                           "'spad fit' shows what would fit",
                           space->name, spad__exact_size(row->peak_bytes).text, each,
                           spad__exact_size(row->capacity).text);
    } else {
        spad__finding_init(finding, SPAD_FINDING_DOES_NOT_FIT,
                           "no layout of %s %s within %s%s; 'spad fit' shows what would fit",
                           space->name,
                           row->verdict == SPAD_PLAN_INFEASIBLE ? "exists" : "was found",
                           spad__exact_size(row->capacity).text, each);
    }
}

/* At the declaration of the largest tensor of the peak, with a note at the peak itself. */
static spad_status add_space(spad_check *check, const spad_layout *layout,
                             const spad_layout_space *row, spad_error *error) {
    const spad_kernel *k = spad_layout_get_kernel(layout);
    spad_finding finding;
    int64_t statement = row->peak_statement;
    describe(&finding, row, &k->target->spaces[row->space]);
    if (k->file != NULL) spad__copy_cut(finding.file, sizeof finding.file, k->file);
    for (size_t i = 0; i < row->alive_count; i++) {
        const spad_layout_buffer *buffer = spad_layout_get_buffer(layout, row->alive[i]);
        if (buffer->tensor < 0) continue;
        const spad_kernel_tensor *tensor = &k->tensors.items[buffer->tensor];
        spad__finding_set_names(&finding, tensor->name, NULL);
        spad__point_finding(&finding, tensor->location);
        statement = (int64_t)tensor->statement;
        break;
    }
    if ((size_t)row->peak_statement < k->statements.count) {
        spad__point_note(spad__finding_add_note(&finding, "the peak is here"),
                         k->statements.items[row->peak_statement].location);
    }
    return add(check, &finding, statement, error);
}

spad_status spad__check_add_layout(spad_check *check, const spad_layout *layout,
                                   spad_error *error) {
    const spad__origin laid_out = spad__origin_of(spad_layout_get_kernel(layout));
    const spad_status match =
        spad__match_origins("check", &check->origin, "layout", &laid_out, error);
    if (match != SPAD_OK) return match;
    for (size_t i = 0; i < spad_layout_space_count(layout); i++) {
        const spad_layout_space *row = spad_layout_get_space(layout, i);
        if (!is_too_small(row)) continue;
        const spad_status status = add_space(check, layout, row, error);
        if (status != SPAD_OK) return status;
    }
    if (!spad_layout_fits(layout)) qualify_verdict(check, "it does not fit");
    return SPAD_OK;
}

spad_status spad__check_add_fault(spad_check *check, const spad_error *fault, spad_error *error) {
    spad_finding finding;
    spad__finding_init(&finding, SPAD_FINDING_DOES_NOT_FIT, "%s", fault->message);
    spad__finding_set_names(&finding, fault->subject, NULL);
    spad__copy_cut(finding.file, sizeof finding.file, fault->file);
    spad__point_finding(&finding, (spad_location){fault->line, fault->column, 1});
    const spad_status status = add(check, &finding, -1, error);
    if (status == SPAD_OK) qualify_verdict(check, "it has no layout");
    return status;
}
