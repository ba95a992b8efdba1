/* SPDX-License-Identifier: Apache-2.0
 *
 * The pictures of a report that commands write.
 */
#define _POSIX_C_SOURCE 200809L
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cli.h"

/* ---- pictures ---------------------------------------------------------------------- */

static spad_status write_html(const spad_sink *sink, const void *report, spad_error *error) {
    return spad_report_write_html(report, sink, error);
}

static spad_status write_svg(const spad_sink *sink, const void *report, spad_error *error) {
    return spad_report_write_svg(report, sink, error);
}

static spad_status write_trace(const spad_sink *sink, const void *report, spad_error *error) {
    return spad_report_write_trace(report, sink, error);
}

static spad_status write_data(const spad_sink *sink, const void *report, spad_error *error) {
    return spad_report_write_json(report, sink, error);
}

static spad_status write_snapshot(const spad_sink *sink, const void *report, spad_error *error) {
    return spad_report_write_snapshot(report, sink, error);
}

static spad_status write_text(const spad_sink *sink, const void *report, spad_error *error) {
    return spad_report_write_text(report, sink, error);
}

static int is_stdout(const char *path) {
    return path != NULL && strcmp(path, "-") == 0;
}

/* How many documents go to stdout. */
static int count_documents(const cli_pictures *p, const char *other) {
    return is_stdout(p->html) + is_stdout(p->svg) + is_stdout(p->trace) + is_stdout(p->data) +
           is_stdout(p->snapshot) + is_stdout(other);
}

bool cli_pictures_fit(const cli_pictures *p, bool json, const char *other) {
    const int users = json + p->text + count_documents(p, other);
    if (users > 1) cli_message("two options would write to stdout; give one of them a file");
    return users <= 1;
}

FILE *cli_summary_file(const cli_pictures *p, const char *other) {
    return count_documents(p, other) > 0 ? stderr : stdout;
}

bool cli_wants_pictures(const cli_pictures *p) {
    return p->html != NULL || p->svg != NULL || p->trace != NULL || p->data != NULL ||
           p->snapshot != NULL || p->text;
}

cli_exit cli_write_pictures(const cli_pictures *p, const spad_report *report) {
    cli_exit exit = CLI_FINE;
    if (p->text) exit = cli_write_file("-", write_text, report);
    if (exit == CLI_FINE && p->html != NULL) exit = cli_write_file(p->html, write_html, report);
    if (exit == CLI_FINE && p->svg != NULL) exit = cli_write_file(p->svg, write_svg, report);
    if (exit == CLI_FINE && p->trace != NULL) exit = cli_write_file(p->trace, write_trace, report);
    if (exit == CLI_FINE && p->data != NULL) exit = cli_write_file(p->data, write_data, report);
    if (exit == CLI_FINE && p->snapshot != NULL)
        exit = cli_write_file(p->snapshot, write_snapshot, report);
    return exit;
}

/* ---- kernels ----------------------------------------------------------------------- */

void cli_kernel_title(char field[CLI_TITLE], const spad_kernel *kernel) {
    const size_t size = CLI_TITLE;
    size_t used = (size_t)snprintf(field, size, "%.120s", spad_kernel_get_name(kernel));
    const size_t count = spad_kernel_param_count(kernel);
    for (size_t i = 0; i < count && used < size; i++) {
        const spad_kernel_param *param = spad_kernel_get_param(kernel, i);
        used += (size_t)snprintf(field + used, size - used, "%s%.60s = %lld", i == 0 ? " (" : ", ",
                                 param->name, (long long)param->value);
    }
    if (count > 0 && used < size) snprintf(field + used, size - used, ")");
}

cli_exit cli_draw_analysis(const cli_pictures *pictures, const spad_analysis *analysis) {
    spad_report *report;
    spad_error error;
    if (!cli_wants_pictures(pictures)) return CLI_FINE;
    const spad_target *target = spad_kernel_get_target(spad_analysis_get_kernel(analysis));
    const spad_report_options options = {
        .timeout_ns = cli_time_left(pictures->timeout_ns, pictures->started)};
    if (spad_report_create(&report, target, &options, &error) != SPAD_OK) return cli_fail(&error);
    const spad_status status = spad_report_add_analysis(report, analysis, &error);
    const cli_exit exit =
        status == SPAD_OK ? cli_write_pictures(pictures, report) : cli_fail(&error);
    spad_report_destroy(report);
    return exit;
}
