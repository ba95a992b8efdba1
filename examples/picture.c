/* SPDX-License-Identifier: Apache-2.0
 *
 * A picture of what a scoped manager did: allocate, then turn the trace into a report. With a
 * file name the page is written there; without one a map of letters goes to stdout.
 */
#include <stdio.h>

#include "spad/spad.h"

enum { TURNS = 6 };

/* Weights stay, tiles take turns in two sections. */
static spad_status kernel(spad_stack *sbm, spad_error *error) {
    spad_rect rect;
    SPAD_STACK_SCOPE(scope, sbm, 1, "kernel", error);
    spad_status status = scope.status;
    if (status == SPAD_OK)
        status = spad_stack_alloc_stack(&rect, sbm, SPAD_SHAPE(128, 1024), SPAD_BFLOAT16, "weights",
                                        NULL, error);
    SPAD_STACK_SCOPE(loop, sbm, 2, "rows", error);
    if (status == SPAD_OK) status = loop.status;
    for (int i = 0; i < TURNS && status == SPAD_OK; i++) {
        char name[32];
        snprintf(name, sizeof name, "row[%d]", i);
        status = spad_stack_alloc_stack(&rect, sbm, SPAD_SHAPE(128, 512), SPAD_BFLOAT16, name, NULL,
                                        error);
        if (status == SPAD_OK) status = spad_stack_increment_section(sbm, error);
    }
    return status;
}

static spad_status draw(const spad_trace *trace, const char *path, spad_error *error) {
    const spad_report_options options = {.title = "a loop over two sections"};
    spad_report *report;
    spad_status status = spad_report_create(&report, spad_trace_get_target(trace), &options, error);
    if (status != SPAD_OK) return status;
    FILE *file = path != NULL ? fopen(path, "wb") : stdout;
    if (file != NULL) {
        const spad_sink sink = spad_sink_file(file);
        status = spad_report_add_trace(report, trace, error);
        if (status == SPAD_OK && path != NULL)
            status = spad_report_write(report, SPAD_FORMAT_HTML, &sink, error);
        if (status == SPAD_OK && path == NULL)
            status = spad_report_write(report, SPAD_FORMAT_TEXT, &sink, error);
        if (path != NULL) fclose(file);
    } else {
        perror(path);
    }
    spad_report_destroy(report);
    return status;
}

int main(int argc, char **argv) {
    const spad_target *chip;
    spad_trace *trace = NULL;
    spad_stack *sbm = NULL;
    spad_error error;
    spad_status status = spad_target_find(&chip, "trn2", &error);
    if (status == SPAD_OK) status = spad_trace_create(&trace, chip, NULL, &error);
    if (status == SPAD_OK) {
        const spad_stack_options options = {.trace = trace};
        status = spad_stack_create(&sbm, chip, "sbuf", 0, SPAD_STACK_TO_THE_TOP, &options, &error);
    }
    if (status == SPAD_OK) status = kernel(sbm, &error);
    if (status == SPAD_OK) status = draw(trace, argc > 1 ? argv[1] : NULL, &error);
    if (status != SPAD_OK) fprintf(stderr, "picture: %s\n", error.message);
    spad_stack_destroy(sbm);
    spad_trace_destroy(trace);
    return status == SPAD_OK ? 0 : 1;
}
