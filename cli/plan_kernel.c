/* SPDX-License-Identifier: Apache-2.0
 *
 * spad plan K.spad: the whole analysis of a kernel, with its places as CSV and its pictures.
 */
#include <stdio.h>

#include "cli.h"
#include "plan_kernel.h"

static spad_status write_placements(const spad_sink *sink, const void *layout, spad_error *error) {
    return spad_layout_write_csv(layout, sink, error);
}

static cli_exit show(const spad_analysis *analysis, const plan_kernel_words *words) {
    const spad_layout *layout = spad_analysis_get_layout(analysis);
    spad_error error;
    if (words->output != NULL && spad_layout_fits(layout)) {
        const cli_exit exit = cli_write_file(words->output, write_placements, layout);
        if (exit != CLI_FINE) return exit;
    }
    const spad_sink sink = spad_sink_file(cli_summary_file(&words->pictures, words->output));
    const spad_status status = words->json ? spad_analysis_write_json(analysis, &sink, &error)
                                           : spad_analysis_write_text(analysis, &sink, &error);
    if (status != SPAD_OK) return cli_fail(&error);
    return cli_draw_analysis(&words->pictures, analysis);
}

cli_exit cli_plan_kernel(const cli_kernel *input, const plan_kernel_words *words) {
    const spad_analysis_options options = {.timeout_ns = words->layout.timeout_ns,
                                           .layout = words->layout,
                                           .source = input->text.bytes,
                                           .source_length = input->text.length};
    spad_analysis *analysis;
    spad_error error;
    if (words->fix) {
        const spad_advice_options changes = {.timeout_ns = words->layout.timeout_ns,
                                             .steps = words->steps};
        return cli_fix(input, words->output, &changes, words->json);
    }
    if (spad_analysis_create(&analysis, input->kernel, &options, &error) != SPAD_OK) {
        return cli_fail(&error);
    }
    const spad_error *fault = spad_analysis_get_fault(analysis, SPAD_PART_LAYOUT);
    cli_exit exit =
        fault == NULL ? show(analysis, words) : cli_fail_kernel(fault, input->path, words->json);
    if (exit == CLI_FINE && spad_check_get_counts(spad_analysis_get_check(analysis)).errors > 0) {
        exit = CLI_FINDINGS;
    }
    spad_analysis_destroy(analysis);
    return exit;
}
