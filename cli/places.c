/* SPDX-License-Identifier: Apache-2.0
 *
 * From a file to places, for the commands that need no more than that: a kernel through
 * its layout, a CSV file through the planner.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cli.h"

static cli_exit place_kernel(cli_places *out, cli_text text, const char *path,
                             const cli_plan_words *words) {
    spad_error error;
    if (words->capacity != NULL || words->space != NULL) {
        cli_message("option '%s' is for CSV files",
                    words->capacity != NULL ? "--capacity" : "--space");
        free(text.bytes);
        return CLI_USAGE;
    }
    const cli_exit exit = cli_parse_kernel(&out->kernel, path, text, &words->kernel);
    if (exit != CLI_FINE) return exit;
    if (spad_layout_create_checked(&out->layout, NULL, out->kernel.kernel, NULL, NULL, &error) !=
        SPAD_OK) {
        return cli_fail_kernel(&error, path, words->kernel.json);
    }
    out->target = spad_kernel_get_target(out->kernel.kernel);
    out->fits = spad_layout_fits(out->layout);
    return CLI_FINE;
}

static void make_up_target(cli_made_up *out, const spad_plan *plan) {
    out->space = (spad_space){.name = "memory",
                              .about = "",
                              .lanes = spad_plan_get_lanes(plan),
                              .bytes = spad_plan_get_capacity(plan),
                              .alignment = 1,
                              .granule = 1};
    out->target = (spad_target){.name = "plan",
                                .about = "buffers with known lifetimes",
                                .family = "host",
                                .space_count = 1,
                                .spaces = &out->space};
}

/* The memory that rows of a CSV file are for. */
static cli_exit take_space(cli_places *out, const cli_plan_words *words) {
    spad_error error;
    int64_t capacity;
    if ((words->kernel.target == NULL) != (words->space == NULL)) {
        cli_message("options '--target' and '--space' go together");
        return CLI_USAGE;
    }
    if (words->space != NULL) {
        const cli_exit exit = cli_find_target(&out->target, &out->owned, words->kernel.target);
        if (exit != CLI_FINE) return exit;
        if (spad_target_find_space(&out->space, out->target, words->space, &error) != SPAD_OK ||
            spad_plan_set_space(out->plan, &out->target->spaces[out->space], &error) != SPAD_OK) {
            return cli_fail(&error);
        }
    }
    if (words->capacity == NULL) return CLI_FINE;
    if (!cli_take_bytes("--capacity", words->capacity, 0, &capacity)) return CLI_USAGE;
    return spad_plan_set_capacity(out->plan, capacity, &error) == SPAD_OK ? CLI_FINE
                                                                          : cli_fail(&error);
}

/* What became of reading rows: faults, and how a column `end` was taken. CLI_FINE: continue. */
static cli_exit show_rows(spad_status status, const spad_diagnostics *faults, bool inclusive,
                          const spad_error *error, const char *path, const cli_plan_words *words) {
    if (status != SPAD_OK && spad_diagnostics_count(faults) > 0) {
        const spad_sink messages = cli_sink(stderr, false), results = spad_sink_file(stdout);
        spad_diagnostics_write(faults, SPAD_FORMAT_TEXT, &messages, NULL);
        if (words->kernel.json) spad_diagnostics_write(faults, SPAD_FORMAT_JSON, &results, NULL);
        return CLI_USAGE;
    }
    if (status != SPAD_OK) return cli_fail_input(error, path, words->kernel.json);
    if (inclusive)
        cli_message("column 'end' is taken as the last time of each buffer; with "
                    "'--end-exclusive' it is the one after it");
    return CLI_FINE;
}

cli_exit cli_read_rows(cli_row_reader *read, void *into, const cli_text *text, const char *path,
                       const cli_plan_words *words) {
    spad_diagnostics *faults;
    spad_error error;
    bool inclusive = false;
    if (spad_diagnostics_create(&faults, NULL, &error) != SPAD_OK) return cli_fail(&error);
    const spad_plan_csv_options options = {
        .end_exclusive = words->end_exclusive, .end_inclusive = &inclusive, .diagnostics = faults};
    const spad_status status = read(into, text, cli_input_name(path), &options, &error);
    const cli_exit exit = show_rows(status, faults, inclusive, &error, path, words);
    spad_diagnostics_destroy(faults);
    return exit;
}

static spad_status read_plan_rows(void *into, const cli_text *text, const char *name,
                                  const spad_plan_csv_options *options, spad_error *error) {
    return spad_plan_read_csv(into, text->bytes, text->length, name, options, error);
}

cli_exit cli_read_buffers(cli_places *out, const cli_text *text, const char *path,
                          const cli_plan_words *words) {
    spad_error error;
    *out = (cli_places){0};
    if (words->kernel.defines.count > 0 || words->kernel.rings.count > 0) {
        cli_message("options '-D' and '--ring' are for kernels, and '%s' is not a kernel",
                    cli_input_name(path));
        return CLI_USAGE;
    }
    if (spad_plan_create(&out->plan, NULL, &error) != SPAD_OK) return cli_fail(&error);
    cli_exit exit = take_space(out, words);
    if (exit != CLI_FINE) return exit;
    exit = cli_read_rows(read_plan_rows, out->plan, text, path, words);
    if (exit != CLI_FINE) return exit;
    if (out->target == NULL) {
        make_up_target(&out->made_up, out->plan);
        out->target = &out->made_up.target;
    }
    return CLI_FINE;
}

static cli_exit place_buffers(cli_places *out, const cli_text *text, const char *path,
                              const cli_plan_words *words) {
    const spad_plan_options options = {.seed = 1};
    spad_error error;
    if (spad_spaces_in_csv(text->bytes, text->length)) {
        cli_message("'%s' has rows in several memories, which only 'spad plan' takes; its '-o' "
                    "writes them with their places",
                    cli_input_name(path));
        return CLI_USAGE;
    }
    const cli_exit exit = cli_read_buffers(out, text, path, words);
    if (exit != CLI_FINE) return exit;
    if (spad_plan_solve(&out->result, out->plan, &options, &error) != SPAD_OK) {
        return cli_fail_input(&error, path, words->kernel.json);
    }
    out->fits =
        out->result->verdict == SPAD_PLAN_OPTIMAL || out->result->verdict == SPAD_PLAN_FEASIBLE;
    return CLI_FINE;
}

cli_exit cli_find_places(cli_places *out, const char *path, const cli_plan_words *words) {
    cli_text text;
    *out = (cli_places){0};
    cli_exit exit = cli_read(&text, path, CLI_ROWS_MIB);
    if (exit != CLI_FINE) return exit;
    if (cli_is_kernel(path, &text)) return place_kernel(out, text, path, words);
    exit = cli_refuse_foreign(path, &text) ? CLI_USAGE : place_buffers(out, &text, path, words);
    free(text.bytes);
    return exit;
}

/* Rows without an id are counted from 1. */
static void name_row(char *field, size_t size, const spad_plan *plan, size_t number) {
    const char *name = spad_plan_get(plan, number)->name;
    if (name != NULL)
        snprintf(field, size, "'%.80s'", name);
    else
        snprintf(field, size, "row %zu", number + 1);
}

void cli_clash_sentence(char field[CLI_CLASH_MAX], const spad_plan *plan,
                        const spad_plan_result *result) {
    char first[96];
    char second[96];
    name_row(first, sizeof first, plan, result->clash_first);
    name_row(second, sizeof second, plan, result->clash_second);
    snprintf(field, CLI_CLASH_MAX, "there is no plan: the rules of %s and %s exclude each other",
             first, second);
}

void cli_free_places(cli_places *places) {
    spad_layout_destroy(places->layout);
    cli_free_kernel(&places->kernel);
    spad_plan_result_destroy(places->result);
    spad_plan_destroy(places->plan);
    spad_target_destroy(places->owned);
    *places = (cli_places){0};
}
