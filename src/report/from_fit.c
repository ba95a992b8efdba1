/* SPDX-License-Identifier: Apache-2.0
 *
 * What makes a kernel fit, as rows of a table, each with the buffers of the layout after it. Other
 * numbers (parameters, rings) are another kernel, which is laid out again; of buffers that are
 * moved or aligned otherwise the planner's places are known.
 */
#include <string.h>

#include "analysis/fit.h"
#include "base/error.h"
#include "base/text.h"
#include "kernel/kernel.h"
#include "report/from_kernel.h"
#include "report/report.h"
#include "spad/experimental/kernel_rows.h"

/* The boxes of a layout with the planner's places after a change, if it has any of its own. SPAD_OK
 * and NULL: the layout is not what they were made for. */
static spad_status draw_layout(const spad_report *report, const spad_layout *layout,
                               const spad_fit_change *change, const spad__fit_detail *detail,
                               spad_report **out, spad_error *error) {
    const spad__placing with = {.space = change->space,
                                .places = detail->places,
                                .spilled = detail->spilled,
                                .spilled_count = detail->spilled_count};
    const spad_report_options options = {.host = &report->host};
    bool fine = detail->places != NULL || spad_layout_fits(layout);
    for (size_t i = 0; fine && i < spad_layout_space_count(layout); i++) {
        const spad_layout_space *row = spad_layout_get_space(layout, i);
        if (detail->places != NULL && row->space == change->space)
            fine = row->planned_count == detail->place_count;
    }
    if (!fine) return SPAD_OK;
    spad_status status = spad_report_create(out, report->target, &options, error);
    if (status == SPAD_OK)
        status =
            spad__report_add_placing(*out, layout, detail->places != NULL ? &with : NULL, error);
    if (status != SPAD_OK) {
        spad_report_destroy(*out);
        *out = NULL;
    }
    return status;
}

/* The same for the kernel with other numbers, which is laid out again. NULL also where it has no
 * layout. */
static spad_status draw_reshaped(const spad_report *report, const spad_kernel *kernel,
                                 const spad_fit_change *change, const spad__fit_detail *detail,
                                 spad_report **out, spad_error *error) {
    const spad_kernel_options numbers = {.defines = detail->defines,
                                         .define_count = detail->define_count,
                                         .rings = detail->rings,
                                         .ring_count = detail->ring_count,
                                         .host = &report->host};
    const spad_layout_options layouts = {.timeout_ns = SPAD_FIT_TIMEOUT, .host = &report->host};
    const spad_check_options checks = {.no_advice = true, .host = &report->host};
    spad_kernel *changed;
    spad_layout *layout = NULL;
    spad_status status = spad_kernel_reshape(&changed, kernel, &numbers, NULL);
    if (status != SPAD_OK) return spad__attempted(status, error);
    status = spad_layout_create_checked(&layout, NULL, changed, &layouts, &checks, NULL);
    if (status == SPAD_OK)
        status = draw_layout(report, layout, change, detail, out, error);
    else
        status = spad__attempted(status, error);
    spad_layout_destroy(layout);
    spad_kernel_destroy(changed);
    return status;
}

static const char *words_of_change(spad_report *report, const spad_fit_change *change) {
    spad__memo memo = {.host = &report->host};
    const spad_sink sink = spad__memo_sink(&memo);
    spad__out out;
    spad__out_start(&out, &sink);
    spad__fit_write_change(&out, change);
    const char *text = NULL;
    if (spad__out_finish(&out, NULL) == SPAD_OK)
        text = spad__arena_copy(&report->texts, memo.text.items, memo.text.count);
    spad__memo_free(&memo);
    return text;
}

static spad_status take_change(spad_report *report, const spad_layout *layout,
                               const spad_fit_change *change, const spad__fit_detail *detail,
                               spad_error *error) {
    spad__report_change row = {.text = words_of_change(report, change), .leaves = change->saved};
    row.name = spad__arena_copy(&report->texts, change->name, strlen(change->name));
    if (row.text == NULL || row.name == NULL ||
        !spad__array_reserve(&report->host, &report->changes, 1))
        return spad__fail_host_memory(error);
    const spad_kernel *kernel = spad_layout_get_kernel(layout);
    spad_status status = SPAD_OK;
    if (detail->define_count + detail->ring_count > 0)
        status = draw_reshaped(report, kernel, change, detail, &row.with, error);
    else if (detail->places != NULL)
        status = draw_layout(report, layout, change, detail, &row.with, error);
    if (status == SPAD_OK) report->changes.items[report->changes.count++] = row;
    return status;
}

spad_status spad__report_take_fit(spad_report *report, const spad_layout *layout,
                                  const spad_fit *fit, spad_error *error) {
    spad_status status = SPAD_OK;
    for (size_t i = 0; i < spad_fit_count(fit) && status == SPAD_OK; i++)
        status =
            take_change(report, layout, spad_fit_get(fit, i), spad__fit_get_detail(fit, i), error);
    return status;
}
