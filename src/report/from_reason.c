/* SPDX-License-Identifier: Apache-2.0
 *
 * The verdict of a plan as notes of a report, with the words of src/plan.
 */
#include <string.h>

#include "base/error.h"
#include "base/text.h"
#include "plan/problem/problem.h"
#include "report/report.h"

typedef void (*reason_writer)(spad__out *out, const spad_plan *plan, const spad_plan_result *result,
                              const spad_plan_reason *reason, const char *separator);

/* "optimal: height 12,288 B (12 KiB), no plan is lower than 12,288 B" */
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
        spad__out_format(out, ": height %s, no plan is lower than %s",
                         spad__both_sizes(result->height).text,
                         spad__exact_size(result->bound).text);
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

/* The sentence of a change, or of a set, in the arena; NULL: no memory. */
static const char *change_text(spad_report *report, const spad_plan *plan,
                               const spad_plan_change *change, const spad_plan_spill *set) {
    spad__memo memo = {.host = &report->host};
    const spad_sink sink = spad__memo_sink(&memo);
    spad__out out;
    spad__out_start(&out, &sink);
    if (change != NULL)
        spad__plan_write_change(&out, plan, change);
    else
        spad__plan_write_spill(&out, plan, set);
    const char *text = NULL;
    if (spad__out_finish(&out, NULL) == SPAD_OK)
        text = spad__arena_copy(&report->texts, memo.text.items, memo.text.count);
    spad__memo_free(&memo);
    return text;
}

/* The boxes of the plan with changes, as a report of their own. */
static spad_status draw_changes(spad_report *report, const spad_plan *plan,
                                const spad_plan_change *changes, size_t change_count,
                                spad_plan_place *places, spad_report **out, spad_error *error) {
    const size_t count = plan->buffers.count;
    const spad_report_options options = {.host = &report->host, .time_unit = report->time_unit};
    spad_plan changed = *plan;
    changed.buffers.items = spad__new_array(&report->host, count, sizeof *changed.buffers.items);
    if (changed.buffers.items == NULL) return spad__fail_host_memory(error);
    memcpy(changed.buffers.items, plan->buffers.items, count * sizeof *plan->buffers.items);
    for (size_t i = 0; i < change_count; i++) {
        spad_plan_buffer *buffer = &changed.buffers.items[changes[i].buffer];
        spad__plan_apply_change(buffer, &changes[i]);
        if (changes[i].kind == SPAD_PLAN_SPILL) buffer->upper = buffer->lower; /* has no box */
    }
    spad_plan_result result = {.count = count, .places = places};
    result.fingerprint = spad_plan_get_fingerprint(&changed);
    spad_status status = spad_report_create(out, report->target, &options, error);
    if (status == SPAD_OK)
        status = spad_report_add_plan(*out, &changed, &result, report->plan_space, error);
    spad__free(&report->host, changed.buffers.items, count * sizeof *changed.buffers.items);
    return status;
}

/* The boxes of the plan without the buffers of a set. */
static spad_status draw_set(spad_report *report, const spad_plan *plan, const spad_plan_spill *set,
                            spad_report **out, spad_error *error) {
    spad_plan_change *changes = spad__new_array(&report->host, set->count, sizeof *changes);
    if (changes == NULL) return spad__fail_host_memory(error);
    for (size_t k = 0; k < set->count; k++)
        changes[k] = (spad_plan_change){.kind = SPAD_PLAN_SPILL, .buffer = set->buffers[k]};
    const spad_status status =
        draw_changes(report, plan, changes, set->count, set->places, out, error);
    spad__free(&report->host, changes, set->count * sizeof *changes);
    return status;
}

/* The sets, for the same table. */
static spad_status take_sets(spad_report *report, const spad_plan *plan,
                             const spad_plan_reason *reason, spad_error *error) {
    spad_status status = SPAD_OK;
    for (size_t i = 0; i < reason->spill_count && status == SPAD_OK; i++) {
        const spad_plan_spill *set = &reason->spills[i];
        spad__report_change *row = &report->changes.items[report->changes.count];
        *row = (spad__report_change){.text = change_text(report, plan, NULL, set),
                                     .leaves = set->bytes};
        if (row->text == NULL) return spad__fail_host_memory(error);
        report->changes.count++;
        if (set->places != NULL) status = draw_set(report, plan, set, &row->with, error);
    }
    return status;
}

/* The changes one by one, for a table. */
static spad_status take_changes(spad_report *report, const spad_plan *plan,
                                const spad_plan_reason *reason, spad_error *error) {
    if (!spad__array_reserve(&report->host, &report->changes,
                             reason->change_count + reason->spill_count))
        return spad__fail_host_memory(error);
    for (size_t i = 0; i < reason->change_count; i++) {
        const spad_plan_change *change = &reason->changes[i];
        const spad_plan_buffer *buffer = &plan->buffers.items[change->buffer];
        const char *name = buffer->name;
        spad__report_change row = {.text = change_text(report, plan, change, NULL)};
        if (name != NULL) row.name = spad__arena_copy(&report->texts, name, strlen(name));
        if (row.text == NULL || (name != NULL && row.name == NULL))
            return spad__fail_host_memory(error);
        row.leaves = change->kind != SPAD_PLAN_ALIGN ? buffer->size : 0;
        report->changes.items[report->changes.count++] = row;
        if (change->places == NULL) continue;
        spad_report **with = &report->changes.items[report->changes.count - 1].with;
        const spad_status status =
            draw_changes(report, plan, change, 1, change->places, with, error);
        if (status != SPAD_OK) return status;
    }
    return take_sets(report, plan, reason, error);
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
        if (status == SPAD_OK && reason->clash == SPAD_PLAN_NO_CLASH)
            spad__report_note_in_tables(report);
        if (status == SPAD_OK && spad__plan_has_remedy(reason)) {
            status = add_reason(report, spad__plan_write_remedy, plan, result, reason, error);
            if (status == SPAD_OK) spad__report_note_in_tables(report);
        }
        report->works_at = reason->works_at != SPAD_UNBOUNDED ? reason->works_at : 0;
        if (status == SPAD_OK) status = take_changes(report, plan, reason, error);
    }
    if (status != SPAD_OK) spad__report_restore(report, before);
    return status;
}
