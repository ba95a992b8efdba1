/* SPDX-License-Identifier: Apache-2.0
 *
 * Files that commands write: the pictures of a report, and any other.
 */
#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "cli.h"

cli_exit cli_write_file(const char *path,
                        spad_status (*write)(const spad_sink *sink, const void *ctx,
                                             spad_error *error),
                        const void *ctx) {
    spad_error error;
    FILE *file = strcmp(path, "-") == 0 ? stdout : fopen(path, "wb");
    if (file == NULL) {
        cli_say("cannot write '%s': %s", path, strerror(errno));
        return CLI_INTERNAL;
    }
    const spad_sink sink = spad_sink_file(file);
    const spad_status status = write(&sink, ctx, &error);
    const bool closed = file == stdout || fclose(file) == 0;
    if (status != SPAD_OK && status != SPAD_ERR_IO) return cli_fail(&error);
    if (status == SPAD_OK && closed) return CLI_FINE;
    cli_say("writing '%s' failed", path);
    return CLI_INTERNAL;
}

/* ---- pictures -------------------------------------------------------------------- */

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
