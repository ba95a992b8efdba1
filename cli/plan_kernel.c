/* SPDX-License-Identifier: Apache-2.0
 *
 * spad plan K.spad: the whole street for a kernel: read, place what is left to the
 * planner, check, and say how it stands.
 */
#include <stdio.h>
#include <string.h>

#include "cli.h"
#include "plan_kernel.h"

/* "name on target (N = 8, S = 3): " */
static void print_head(FILE *out, const spad_kernel *kernel) {
    fprintf(out, "%s on %s", spad_kernel_name(kernel), spad_kernel_target(kernel)->name);
    const size_t count = spad_kernel_param_count(kernel);
    for (size_t i = 0; i < count; i++) {
        const spad_kernel_param *param = spad_kernel_get_param(kernel, i);
        fprintf(out, "%s%s = %lld", i == 0 ? " (" : ", ", param->name, (long long)param->value);
    }
    fputs(count > 0 ? "): " : ": ", out);
}

static void print_summary(FILE *out, const spad_layout *layout, const spad_check *check) {
    const spad_kernel *kernel = spad_layout_kernel(layout);
    print_head(out, kernel);
    fprintf(out, "%s, %s\n", spad_layout_fits(layout) ? "fits" : "does not fit",
            spad_verdict_name(spad_check_verdict(check)));
}

static cli_exit write_placements(const spad_layout *layout, const char *path) {
    FILE *file = cli_open_output(path);
    if (file == NULL) return CLI_INTERNAL;
    const spad_sink sink = spad_sink_file(file);
    spad_error error;
    const bool written = spad_layout_write_csv(layout, &sink, &error) == SPAD_OK;
    if (!written) cli_say("writing '%s' failed", path);
    return cli_close_output(file, path) && written ? CLI_FINE : CLI_INTERNAL;
}

static cli_exit show_json(const cli_kernel *input, const spad_layout *layout,
                          const spad_check *check) {
    cli_list object;
    spad_error error;
    cli_object_open(&object);
    cli_object_key(&object, "layout");
    spad_status status = spad_layout_write_json(layout, &object.items, &error);
    cli_object_key(&object, "check");
    if (status == SPAD_OK) {
        status = spad_check_write_json(check, input->kernel, &object.items, &error);
    }
    cli_object_close(&object);
    return status == SPAD_OK ? CLI_FINE : cli_fail(&error);
}

static cli_exit show_text(FILE *out, const cli_kernel *input, const spad_layout *layout,
                          const spad_check *check) {
    const spad_sink sink = spad_sink_file(out);
    spad_error error;
    print_summary(out, layout, check);
    spad_status status = spad_layout_write_text(layout, &sink, &error);
    if (status == SPAD_OK) {
        status = spad_check_write_text(check, input->kernel, input->text.bytes, input->text.length,
                                       &sink, &error);
    }
    if (!spad_layout_fits(layout)) {
        fprintf(out, "'spad fit %s' says what would fit\n", input->path);
    }
    return status == SPAD_OK ? CLI_FINE : cli_fail(&error);
}

static cli_exit show(const cli_kernel *input, const spad_layout *layout, const spad_check *check,
                     const plan_kernel_words *words) {
    cli_exit exit = CLI_FINE;
    if (words->output != NULL && spad_layout_fits(layout)) {
        exit = write_placements(layout, words->output);
    }
    if (exit != CLI_FINE) return exit;
    const bool rows_on_stdout = words->output != NULL && strcmp(words->output, "-") == 0;
    if (words->json) return show_json(input, layout, check);
    return show_text(rows_on_stdout ? stderr : stdout, input, layout, check);
}

cli_exit cli_plan_kernel(const cli_kernel *input, const plan_kernel_words *words) {
    spad_layout *layout;
    spad_check *check = NULL;
    spad_error error;
    const spad_status status = spad_layout_create(&layout, input->kernel, &words->layout, &error);
    if (status != SPAD_OK) {
        const cli_exit exit = cli_fail(&error);
        return status == SPAD_ERR_NO_FIT ? CLI_FINDINGS : exit;
    }
    const spad_check_options options = {.place = spad_layout_place, .ctx = layout};
    cli_exit exit = CLI_FINE;
    if (spad_check_kernel(&check, input->kernel, &options, &error) != SPAD_OK) {
        exit = cli_fail(&error);
    }
    if (exit == CLI_FINE) exit = show(input, layout, check, words);
    const bool right = check != NULL && spad_check_get_counts(check).errors == 0;
    if (exit == CLI_FINE && (!right || !spad_layout_fits(layout))) exit = CLI_FINDINGS;
    spad_check_destroy(check);
    spad_layout_destroy(layout);
    return exit;
}
