/* SPDX-License-Identifier: Apache-2.0
 *
 * A kernel whose scoped manager refuses a tensor has no layout, but a page all the same: what the
 * manager holds until then, from a walk with a trace, and the refused tensor without an address.
 * So the sum of what is live is above the capacity where the walk ends. O(events of the walk).
 *
 * Where the walk allocates more than SPAD_REPORT_EVENTS tensors, only those are drawn that are
 * live at the refusal.
 */
#include "base/error.h"
#include "kernel/kernel.h"
#include "report/report.h"
#include "spad/experimental/walk.h"

/* Walks until the manager refuses; the kernel did so before, so the walk ends. */
static spad_status walk_to_refusal(spad_trace *trace, spad_report *report,
                                   const spad_kernel *kernel, spad_error *error) {
    const spad_walk_options options = {.trace = trace, .host = &report->host};
    const spad_walk_event *event;
    spad_walk *walk;
    spad_error refusal;
    spad_status status = spad_walk_create(&walk, kernel, &options, error);
    if (status != SPAD_OK) return status;
    do {
        status = spad_walk_next(&event, walk, &refusal);
        if (status == SPAD_OK && event->kind == SPAD_WALK_END) break;
        if (status == SPAD_OK) status = spad__report_step(report, &refusal);
    } while (status == SPAD_OK);
    spad_walk_destroy(walk);
    if (status == SPAD_OK || status == SPAD_ERR_NO_FIT) return SPAD_OK;
    if (error != NULL) *error = refusal;
    return status;
}

static spad_status add_held(spad_report *report, const spad_trace *trace, spad_error *error) {
    const size_t count = spad_trace_tensor_count(trace);
    spad_status status = SPAD_OK;
    if (count <= (size_t)SPAD_REPORT_EVENTS) return spad_report_add_trace(report, trace, error);
    for (size_t i = 0; i < count && status == SPAD_OK; i++) {
        const spad_tensor *tensor = spad_trace_get_tensor(trace, i);
        if (tensor->t_end == SPAD_OPEN_END)
            status = spad__report_add_tensor(report, trace, tensor, error);
    }
    if (status == SPAD_OK && report->note_count < SPAD__NOTES)
        status = spad_report_add_note(report, "not all of the run is drawn", error);
    return status;
}

/* The tensor that is declared where the failure is; NULL: it is about none. */
static const spad_kernel_tensor *refused_tensor(const spad_kernel *kernel,
                                                const spad_error *failure) {
    for (size_t i = 0; i < kernel->tensors.count; i++) {
        const spad_kernel_tensor *t = &kernel->tensors.items[i];
        if (t->location.line == failure->line && t->location.column == failure->column &&
            (t->mode == SPAD_MODE_STACK || t->mode == SPAD_MODE_HEAP))
            return t;
    }
    return NULL;
}

spad_status spad__report_add_refusal(spad_report *report, const spad_kernel *kernel,
                                     const spad_error *failure, spad_error *error) {
    const spad_kernel_tensor *tensor = refused_tensor(kernel, failure);
    if (failure->code != SPAD_ERR_NO_FIT || tensor == NULL) return SPAD_OK;
    spad_trace *trace;
    spad_status status = spad__report_take_program(report, kernel, error);
    if (status == SPAD_OK) status = spad_trace_create(&trace, kernel->target, &report->host, error);
    if (status != SPAD_OK) return status;
    status = walk_to_refusal(trace, report, kernel, error);
    if (status == SPAD_OK) status = add_held(report, trace, error);
    const int64_t now = (int64_t)spad_trace_event_count(trace);
    spad_trace_destroy(trace);
    if (status != SPAD_OK) return status;
    const spad_report_box box = {
        .name = failure->subject,
        .dtype = tensor->dtype,
        .mode = tensor->mode,
        .space = tensor->space,
        .rect = {.lanes = tensor->tile_lanes, .byte = SPAD_NO_BYTE, .bytes = failure->needed},
        .begin = now > 0 ? now - 1 : 0,
        .end = now > 0 ? now : 1,
        .open = true,
        .family = SPAD_NO_FAMILY,
        .line = failure->line};
    return spad_report_add_box(report, &box, error);
}
