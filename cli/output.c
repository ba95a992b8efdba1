/* SPDX-License-Identifier: Apache-2.0
 *
 * Files that commands write: the pictures of a report, and any other.
 */
#define _POSIX_C_SOURCE 200809L
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cli.h"

cli_exit cli_write_file(const char *path,
                        spad_status (*write)(const spad_sink *sink, const void *ctx,
                                             spad_error *error),
                        const void *ctx) {
    spad_error error;
    FILE *file = cli_open_output(path);
    if (file == NULL) return CLI_INTERNAL;
    const spad_sink sink = spad_sink_file(file);
    const spad_status status = write(&sink, ctx, &error);
    cli_exit exit = CLI_FINE;
    if (status == SPAD_ERR_IO) {
        cli_say("writing '%s' failed", path);
        exit = CLI_INTERNAL;
    } else if (status != SPAD_OK) {
        exit = cli_fail(&error);
    }
    return cli_close_output(file, path) ? exit : CLI_INTERNAL;
}

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
    if (users > 1) cli_say("two options would write to stdout; give one of them a file");
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

/* ---- reasons as notes -------------------------------------------------------------- */

typedef spad_status (*text_writer)(const spad_sink *sink, const void *ctx, spad_error *error);

/* What a writer writes, as one string; freed with free(). */
static spad_status write_to_memory(char **out, text_writer write, const void *ctx,
                                   spad_error *error) {
    size_t length;
    FILE *memory = open_memstream(out, &length);
    spad_status status = SPAD_ERR_HOST_MEMORY;
    if (memory != NULL) {
        const spad_sink sink = spad_sink_file(memory);
        status = write(&sink, ctx, error);
        if (fclose(memory) != 0 || status == SPAD_ERR_IO) status = SPAD_ERR_HOST_MEMORY;
    }
    if (status == SPAD_ERR_HOST_MEMORY) {
        *error = (spad_error){.code = status};
        snprintf(error->message, sizeof error->message, "out of memory");
    }
    return status;
}

/* A note per line; lines that are indented by two blanks go on with the one before. The text is
 * written over. */
static spad_status add_lines(spad_report *report, char *text, spad_error *error) {
    spad_status status = SPAD_OK;
    char *to = text;
    for (const char *from = text; *from != '\0' && status == SPAD_OK; from++) {
        if (*from != '\n') {
            *to++ = *from;
        } else if (from[1] == ' ') {
            *to++ = ';';
            from++; /* the second blank stays */
        } else {
            *to = '\0';
            status = spad_report_add_note(report, text, error);
            to = text;
        }
    }
    return status;
}

typedef struct unfit_plan {
    const spad_plan *plan;
    const spad_plan_result *result;
    const spad_plan_reason *reason;
} unfit_plan;

static spad_status write_plan_text(const spad_sink *sink, const void *ctx, spad_error *error) {
    const unfit_plan *u = ctx;
    return spad_plan_write_text(u->plan, u->result, u->reason, sink, error);
}

spad_status cli_note_plan(spad_report *report, const spad_plan *plan,
                          const spad_plan_result *result, const spad_plan_reason *reason,
                          spad_error *error) {
    const unfit_plan u = {plan, result, reason};
    char *text = NULL;
    spad_status status = write_to_memory(&text, write_plan_text, &u, error);
    char *why = status == SPAD_OK ? strstr(text, "\nwhy: ") : NULL;
    if (why != NULL) status = add_lines(report, why + 1, error);
    free(text);
    return status;
}

static spad_status write_fit(const spad_sink *sink, const void *layout, spad_error *error) {
    spad_fit *fit;
    spad_status status = spad_fit_find(&fit, layout, NULL, error);
    if (status != SPAD_OK) return status;
    status = spad_fit_write_text(fit, layout, sink, error);
    spad_fit_destroy(fit);
    return status;
}

static spad_status write_layout(const spad_sink *sink, const void *layout, spad_error *error) {
    return spad_layout_write_text(layout, sink, error);
}

/* The line "peak of SPACE: ..." of a layout in words. */
static spad_status note_peak(spad_report *report, char *text, const char *space,
                             spad_error *error) {
    char start[128];
    snprintf(start, sizeof start, "\npeak of %.100s: ", space);
    char *line = strstr(text, start);
    char *end = line != NULL ? strchr(line + 1, '\n') : NULL;
    if (end == NULL) return SPAD_OK;
    *end = '\0';
    const spad_status status = spad_report_add_note(report, line + 1, error);
    *end = '\n';
    return status;
}

/* What would make it fit, and what is alive at the peak of each memory that is too small. */
static spad_status note_layout(spad_report *report, const spad_layout *layout, spad_error *error) {
    const spad_target *target = spad_kernel_target(spad_layout_kernel(layout));
    char *fits = NULL;
    char *peaks = NULL;
    spad_status status = spad_report_add_note(report, "does not fit", error);
    if (status == SPAD_OK) status = write_to_memory(&fits, write_fit, layout, error);
    if (status == SPAD_OK) status = add_lines(report, fits, error);
    if (status == SPAD_OK) status = write_to_memory(&peaks, write_layout, layout, error);
    for (size_t i = 0; i < spad_layout_space_count(layout) && status == SPAD_OK; i++) {
        const spad_layout_space *row = spad_layout_get_space(layout, i);
        if (row->verdict == SPAD_PLAN_OPTIMAL || row->verdict == SPAD_PLAN_FEASIBLE) continue;
        status = note_peak(report, peaks, target->spaces[row->space].name, error);
    }
    free(fits);
    free(peaks);
    return status;
}

/* ---- kernels ----------------------------------------------------------------------- */

static spad_status add_findings(spad_report *report, const spad_check *check, spad_error *error) {
    char note[SPAD_MESSAGE_MAX + 64];
    snprintf(note, sizeof note, "%s: %s", spad_verdict_name(spad_check_verdict(check)),
             spad_check_reason(check));
    spad_status status = spad_report_add_note(report, note, error);
    return status == SPAD_OK ? spad_report_add_check(report, check, error) : status;
}

void cli_kernel_title(char field[CLI_TITLE], const spad_kernel *kernel) {
    const size_t size = CLI_TITLE;
    size_t used = (size_t)snprintf(field, size, "%.120s", spad_kernel_name(kernel));
    const size_t count = spad_kernel_param_count(kernel);
    for (size_t i = 0; i < count && used < size; i++) {
        const spad_kernel_param *param = spad_kernel_get_param(kernel, i);
        used += (size_t)snprintf(field + used, size - used, "%s%.60s = %lld", i == 0 ? " (" : ", ",
                                 param->name, (long long)param->value);
    }
    if (count > 0 && used < size) snprintf(field + used, size - used, ")");
}

spad_status cli_report_kernel(spad_report **out, const cli_kernel *input, const spad_layout *layout,
                              const spad_check *check, const spad_sim *sim, spad_error *error) {
    char title[CLI_TITLE];
    cli_kernel_title(title, input->kernel);
    const spad_report_options options = {.title = title};
    spad_status status =
        spad_report_create(out, spad_kernel_target(input->kernel), &options, error);
    if (status != SPAD_OK) return status;
    if (layout != NULL) status = spad_report_add_layout(*out, layout, sim, 0, error);
    if (status == SPAD_OK && layout != NULL && !spad_layout_fits(layout)) {
        status = note_layout(*out, layout, error);
    }
    if (status == SPAD_OK) {
        status = spad_report_set_source(*out, cli_input_name(input->path), input->text.bytes,
                                        input->text.length, error);
    }
    if (status == SPAD_OK && check != NULL) status = add_findings(*out, check, error);
    if (status != SPAD_OK) {
        spad_report_destroy(*out);
        *out = NULL;
    }
    return status;
}

/* Every iteration if there are not too many, else those around repetitions that are skipped.
 * NULL: it cannot be run. */
static spad_sim *simulate(const spad_layout *layout) {
    spad_sim_options options = {.place = spad_layout_place,
                                .ctx = (void *)(uintptr_t)layout,
                                .no_repeat = true,
                                .operation_limit = SPAD_REPORT_EVENTS};
    const spad_kernel *kernel = spad_layout_kernel(layout);
    spad_sim *sim = NULL;
    spad_error error;
    if (spad_sim_kernel(&sim, kernel, &options, &error) == SPAD_OK) return sim;
    options.no_repeat = false;
    options.operation_limit = 0;
    return spad_sim_kernel(&sim, kernel, &options, &error) == SPAD_OK ? sim : NULL;
}

cli_exit cli_draw_kernel(const cli_pictures *pictures, const cli_kernel *input,
                         const spad_layout *layout, const spad_check *check, bool simulated) {
    spad_report *report;
    spad_error error;
    if (!cli_wants_pictures(pictures)) return CLI_FINE;
    spad_sim *sim =
        simulated && layout != NULL && spad_layout_fits(layout) ? simulate(layout) : NULL;
    const spad_status status = cli_report_kernel(&report, input, layout, check, sim, &error);
    spad_sim_destroy(sim);
    if (status != SPAD_OK) return cli_fail(&error);
    const cli_exit exit = cli_write_pictures(pictures, report);
    spad_report_destroy(report);
    return exit;
}
