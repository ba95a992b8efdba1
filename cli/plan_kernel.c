/* SPDX-License-Identifier: Apache-2.0
 *
 * spad plan K.spad: the whole analysis of a kernel, with its places as CSV and its pictures.
 */
#include <stdio.h>
#include <string.h>

#include "cli.h"
#include "plan_kernel.h"
#include "progress.h"
#include "spad/experimental/kernel_rows.h"

static spad_status write_placements(const spad_sink *sink, const void *layout, spad_error *error) {
    return spad_layout_write(layout, SPAD_FORMAT_CSV, sink, error);
}

static cli_exit show(const spad_analysis *analysis, const plan_kernel_words *words) {
    const spad_layout *layout = spad_analysis_get_layout(analysis);
    spad_error error;
    if (words->output != NULL && spad_layout_fits(layout)) {
        const cli_exit exit = cli_write_file(words->output, write_placements, layout);
        if (exit != CLI_FINE) return exit;
    }
    const spad_sink sink = cli_sink(cli_summary_file(&words->pictures, words->output), words->json);
    const spad_status status = words->json
                                   ? spad_analysis_write(analysis, SPAD_FORMAT_JSON, &sink, &error)
                                   : spad_analysis_write(analysis, SPAD_FORMAT_TEXT, &sink, &error);
    if (status != SPAD_OK) return cli_fail(&error);
    if (!words->json) {
        const cli_exit exit =
            cli_print_layout(cli_summary_file(&words->pictures, words->output), layout);
        if (exit != CLI_FINE) return exit;
    }
    return cli_draw_analysis(&words->pictures, analysis);
}

/* Why a layout is missing. A page shows what a scoped manager holds when it refuses a tensor. */
static cli_exit show_fault(const spad_analysis *analysis, const cli_kernel *input,
                           const plan_kernel_words *words) {
    const spad_error *fault = spad_analysis_get_fault(analysis, SPAD_PART_LAYOUT);
    const cli_exit drawn =
        fault->code == SPAD_ERR_NO_FIT ? cli_draw_analysis(&words->pictures, analysis) : CLI_FINE;
    const cli_exit failed = cli_fail_kernel(fault, input->path, words->json);
    return drawn > failed ? drawn : failed;
}

/* The analysis of a kernel, with a layout that was made (NULL: one of its own). */
static cli_exit analyse(const cli_kernel *input, const spad_kernel *kernel,
                        const spad_layout *layout, const plan_kernel_words *words) {
    const spad_analysis_options options = {.timeout_ns = words->layout.timeout_ns,
                                           .watch = cli_watch_interrupt(),
                                           .layout = &words->layout,
                                           .made_layout = layout,
                                           .source = input->text.bytes,
                                           .source_length = input->text.length};
    spad_analysis *analysis;
    spad_error error;
    cli_progress_start();
    const spad_status status = spad_analysis_create(&analysis, kernel, &options, &error);
    cli_progress_end(words->layout.context);
    if (status != SPAD_OK && cli_interrupted()) {
        cli_message("interrupted before there was a result");
        return CLI_FINDINGS;
    }
    if (status != SPAD_OK) return cli_fail(&error);
    if (cli_interrupted()) cli_message("interrupted: this is the best so far");
    const spad_error *fault = spad_analysis_get_fault(analysis, SPAD_PART_LAYOUT);
    cli_exit exit = fault == NULL ? show(analysis, words) : show_fault(analysis, input, words);
    if (exit == CLI_FINE && !spad_check_passes(spad_analysis_get_check(analysis))) {
        exit = CLI_FINDINGS;
    }
    spad_analysis_destroy(analysis);
    return exit;
}

static cli_exit show_frontier(const spad_frontier *frontier, bool json) {
    const spad_sink sink = cli_sink(stdout, json);
    spad_error error;
    const spad_status status = json
                                   ? spad_frontier_write(frontier, SPAD_FORMAT_JSON, &sink, &error)
                                   : spad_frontier_write(frontier, SPAD_FORMAT_TEXT, &sink, &error);
    if (status != SPAD_OK) return cli_fail(&error);
    return spad_frontier_point_count(frontier) > 0 ? CLI_FINE : CLI_FINDINGS;
}

/* Places by simulated overlap. What does not fit at all is shown as it is. */
static cli_exit plan_by_overlap(const cli_kernel *input, const plan_kernel_words *words) {
    const spad_frontier_options options = {.release = words->release,
                                           .steps = words->steps,
                                           .timeout_ns = words->layout.timeout_ns,
                                           .seed = words->layout.seed};
    spad_frontier *frontier;
    spad_error error;
    if (spad_frontier_create(&frontier, input->kernel, &options, &error) != SPAD_OK) {
        return cli_fail_kernel(&error, input->path, words->json);
    }
    cli_exit exit;
    if (words->frontier) {
        exit = show_frontier(frontier, words->json);
    } else {
        const bool time = strcmp(words->goal, "time") == 0;
        const spad_frontier_point *point =
            spad_frontier_choose(frontier, time ? SPAD_FOR_TIME : SPAD_FOR_BYTES);
        exit = analyse(input, spad_frontier_get_kernel(frontier),
                       point != NULL ? point->layout : NULL, words);
    }
    spad_frontier_destroy(frontier);
    return exit;
}

/* The kernel without its addresses, placed by program order. */
static cli_exit plan_released(const cli_kernel *input, const plan_kernel_words *words) {
    spad_kernel *released;
    spad_error error;
    if (spad_kernel_release(&released, input->kernel, NULL, &error) != SPAD_OK) {
        return cli_fail_kernel(&error, input->path, words->json);
    }
    const cli_exit exit = analyse(input, released, NULL, words);
    spad_kernel_destroy(released);
    return exit;
}

cli_exit cli_plan_kernel(const cli_kernel *input, const plan_kernel_words *words) {
    if (words->fix) {
        const spad_advice_options changes = {.timeout_ns = words->layout.timeout_ns,
                                             .steps = words->steps};
        return cli_fix(input, words->output, &changes, words->json);
    }
    if (words->goal != NULL || words->frontier) return plan_by_overlap(input, words);
    if (words->release) return plan_released(input, words);
    return analyse(input, input->kernel, NULL, words);
}
