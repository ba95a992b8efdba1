/* SPDX-License-Identifier: Apache-2.0
 *
 * What makes a kernel fit, as rows of a table. A change of one parameter or of one ring is another
 * kernel, which is laid out again: the report keeps its boxes.
 */
#include <string.h>

#include "base/error.h"
#include "base/text.h"
#include "check/fit.h"
#include "kernel/kernel.h"
#include "report/report.h"

/* The kernel with the change. SPAD_OK and NULL: it is no change of a number in it. */
static spad_status make_changed(const spad_report *report, const spad_kernel *kernel,
                                const spad_fit_change *change, spad_kernel **out,
                                spad_error *error) {
    const spad_define number = {change->name, change->to};
    const bool param = change->kind == SPAD_FIT_PARAM;
    const bool ring = change->kind == SPAD_FIT_RING;
    const spad_kernel_options options = {.defines = &number,
                                         .define_count = param,
                                         .rings = &number,
                                         .ring_count = ring,
                                         .host = &report->host};
    *out = NULL;
    if (!param && !ring) return SPAD_OK;
    return spad__attempted(spad_kernel_reshape(out, kernel, &options, NULL), error);
}

/* The boxes of the kernel with the change. SPAD_OK and NULL: there is no layout that fits. */
static spad_status draw_changed(const spad_report *report, const spad_kernel *kernel,
                                spad_report **out, spad_error *error) {
    const spad_layout_options layouts = {.timeout_ns = SPAD_FIT_TIMEOUT, .host = &report->host};
    const spad_check_options checks = {.no_advice = true, .host = &report->host};
    const spad_report_options options = {.host = &report->host};
    spad_layout *layout;
    spad_status status = spad_layout_create_checked(&layout, NULL, kernel, &layouts, &checks, NULL);
    if (status != SPAD_OK) return spad__attempted(status, error);
    if (spad_layout_fits(layout)) {
        status = spad_report_create(out, report->target, &options, error);
        if (status == SPAD_OK) status = spad_report_add_layout(*out, layout, NULL, 0, error);
        if (status != SPAD_OK) {
            spad_report_destroy(*out);
            *out = NULL;
        }
    }
    spad_layout_destroy(layout);
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

static spad_status take_change(spad_report *report, const spad_kernel *kernel,
                               const spad_fit_change *change, spad_error *error) {
    spad__report_change row = {.text = words_of_change(report, change), .leaves = change->saved};
    row.name = spad__arena_copy(&report->texts, change->name, strlen(change->name));
    if (row.text == NULL || row.name == NULL ||
        !spad__array_reserve(&report->host, &report->changes, 1))
        return spad__fail_host_memory(error);
    spad_kernel *changed;
    spad_status status = make_changed(report, kernel, change, &changed, error);
    if (status == SPAD_OK && changed != NULL)
        status = draw_changed(report, changed, &row.with, error);
    spad_kernel_destroy(changed);
    if (status == SPAD_OK) report->changes.items[report->changes.count++] = row;
    return status;
}

spad_status spad__report_take_fit(spad_report *report, const spad_kernel *kernel,
                                  const spad_fit *fit, spad_error *error) {
    spad_status status = SPAD_OK;
    for (size_t i = 0; i < spad_fit_count(fit) && status == SPAD_OK; i++)
        status = take_change(report, kernel, spad_fit_get(fit, i), error);
    return status;
}
