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

/* A report and the form that goes to a file. */
typedef struct picture_form {
    const spad_report *report;
    spad_format format;
} picture_form;

static spad_status write_form(const spad_sink *sink, const void *object, spad_error *error) {
    const picture_form *form = object;
    return spad_report_write(form->report, form->format, sink, error);
}

static int is_stdout(const char *path) {
    return path != NULL && strcmp(path, "-") == 0;
}

/* How many documents go to stdout. */
static int count_documents(const cli_pictures *p, const char *other) {
    return is_stdout(p->html) + is_stdout(p->svg) + is_stdout(p->trace) + is_stdout(p->data) +
           is_stdout(other);
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
    return p->html != NULL || p->svg != NULL || p->trace != NULL || p->data != NULL || p->text;
}

cli_exit cli_write_pictures(const cli_pictures *p, const spad_report *report) {
    const struct {
        const char *path;
        spad_format format;
    } wanted[] = {{p->text ? "-" : NULL, SPAD_FORMAT_TEXT},
                  {p->html, SPAD_FORMAT_HTML},
                  {p->svg, SPAD_FORMAT_SVG},
                  {p->trace, SPAD_FORMAT_TRACE},
                  {p->data, SPAD_FORMAT_JSON}};
    cli_exit exit = CLI_FINE;
    for (size_t i = 0; i < sizeof wanted / sizeof *wanted && exit == CLI_FINE; i++) {
        const picture_form form = {report, wanted[i].format};
        if (wanted[i].path != NULL) exit = cli_write_file(wanted[i].path, write_form, &form);
    }
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
