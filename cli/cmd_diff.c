/* SPDX-License-Identifier: Apache-2.0
 *
 * spad diff: two plans, or two kernels, side by side.
 */
#include <stdio.h>

#include "cli.h"

typedef struct diff_words {
    cli_plan_words plan;
    cli_words defines_b;
    cli_words rings_b;
    const char *target_b;
    cli_pictures pictures; /* the page alone */
} diff_words;

static spad_status write_html(const spad_sink *sink, const void *diff, spad_error *error) {
    return spad_report_diff_write(diff, SPAD_FORMAT_HTML, sink, error);
}

static spad_status make_report(spad_report **out, const cli_places *places, const char *path,
                               spad_error *error) {
    const bool kernel = places->layout != NULL;
    char title[CLI_TITLE];
    if (kernel) cli_kernel_title(title, places->kernel.kernel);
    const spad_report_options options = {.title = kernel ? title : cli_input_name(path),
                                         .time_unit = "time"};
    spad_status status = spad_report_create(out, places->target, &options, error);
    if (status != SPAD_OK) return status;
    if (kernel) {
        status = spad_report_add_buffers(*out, places->layout, error);
        if (status == SPAD_OK && !places->fits) {
            status = spad_report_add_note(*out, "does not fit", error);
        }
    } else if (places->result->places != NULL) {
        status = spad_report_add_plan(*out, places->plan, places->result, places->space, error);
    }
    if (status != SPAD_OK) {
        spad_report_destroy(*out);
        *out = NULL;
    }
    return status;
}

static cli_exit show(const spad_report *before, const spad_report *after, const diff_words *words) {
    spad_report_diff *diff;
    spad_error error;
    if (spad_report_diff_create(&diff, before, after, NULL, &error) != SPAD_OK) {
        return cli_fail(&error);
    }
    const spad_sink sink =
        cli_sink(cli_summary_file(&words->pictures, NULL), words->plan.kernel.json);
    const spad_status status = words->plan.kernel.json
                                   ? spad_report_diff_write(diff, SPAD_FORMAT_JSON, &sink, &error)
                                   : spad_report_diff_write(diff, SPAD_FORMAT_TEXT, &sink, &error);
    cli_exit exit = status == SPAD_OK ? CLI_FINE : cli_fail(&error);
    if (exit == CLI_FINE && words->pictures.html != NULL) {
        exit = cli_write_file(words->pictures.html, write_html, diff);
    }
    spad_report_diff_destroy(diff);
    return exit;
}

/* A file without any plan has nothing to compare. */
static cli_exit expect_plan(const cli_places *places, const char *path, bool json) {
    if (places->result == NULL || places->result->clash == SPAD_PLAN_NO_CLASH) return CLI_FINE;
    char sentence[CLI_CLASH_MAX];
    cli_clash_sentence(sentence, places->plan, places->result);
    spad_error error = {.code = SPAD_ERR_OVERLAP};
    snprintf(error.message, sizeof error.message, "%s; see 'spad plan %.100s'", sentence, path);
    cli_fail_input(&error, path, json);
    return CLI_FINDINGS;
}

static cli_exit compare(const cli_places places[2], char **paths, const diff_words *words) {
    spad_report *reports[2] = {NULL, NULL};
    spad_error error;
    spad_status status = make_report(&reports[0], &places[0], paths[0], &error);
    if (status == SPAD_OK) status = make_report(&reports[1], &places[1], paths[1], &error);
    const cli_exit exit =
        status == SPAD_OK ? show(reports[0], reports[1], words) : cli_fail(&error);
    spad_report_destroy(reports[0]);
    spad_report_destroy(reports[1]);
    return exit;
}

/* What holds for the second file: its own words where it has some. */
static cli_plan_words second_words(const diff_words *words) {
    cli_plan_words second = words->plan;
    if (words->defines_b.count > 0) second.kernel.defines = words->defines_b;
    if (words->rings_b.count > 0) second.kernel.rings = words->rings_b;
    if (words->target_b != NULL) second.kernel.target = words->target_b;
    return second;
}

static cli_exit run_diff(const cli_command *command, int count, char **arguments) {
    diff_words words = {0};
    const cli_option options[] = {CLI_PLAN_OPTIONS(words.plan),
                                  {.name = "--define-b", .words = &words.defines_b},
                                  {.name = "--ring-b", .words = &words.rings_b},
                                  {.name = "--target-b", .value = &words.target_b},
                                  {.name = "--report", .value = &words.pictures.html},
                                  {.name = "--json", .flag = &words.plan.kernel.json},
                                  {.name = NULL}};
    cli_exit exit;
    if (!cli_take_options(command, options, &count, arguments, &exit)) return exit;
    if (count != 2) {
        cli_message("two files are needed; see 'spad diff --help'");
        return CLI_USAGE;
    }
    if (!cli_pictures_fit(&words.pictures, words.plan.kernel.json, NULL)) return CLI_USAGE;
    cli_places places[2] = {{0}, {0}};
    const cli_plan_words second = second_words(&words);
    exit = cli_find_places(&places[0], arguments[0], &words.plan);
    if (exit == CLI_FINE) exit = cli_find_places(&places[1], arguments[1], &second);
    if (exit == CLI_FINE) exit = expect_plan(&places[0], arguments[0], words.plan.kernel.json);
    if (exit == CLI_FINE) exit = expect_plan(&places[1], arguments[1], words.plan.kernel.json);
    if (exit == CLI_FINE) exit = compare(places, arguments, &words);
    cli_free_places(&places[0]);
    cli_free_places(&places[1]);
    return exit;
}

const cli_command cli_diff = {
    .name = "diff",
    .about = "what moved, grew and vanished between two plans or kernels",
    .usage =
        "usage: spad diff A B [options]\n"
        "\n"
        "Places two kernels or CSV files (rows with an offset keep it), and compares them box by\n"
        "box, with the peaks of each memory. A kernel has a box per slot, and its time axis is\n"
        "statement numbers, independent of trip counts.\n"
        "\n"
        "  --report OUT.html         a page with both on one time axis\n"
        "  --json                    the comparison as JSON (docs/schema)\n"
        "  --define-b NAME=N         a parameter of the second kernel; -D then applies to\n"
        "                            the first only\n"
        "  --ring-b TENSOR=N         the same for a ring\n"
        "  --target-b TARGET         the same for the chip\n"
        "\n" CLI_PLAN_USAGE "\n"
        "exit status: 0 compared, 1 one of them has no plan, 2 bad input, 3 the output "
        "could\n"
        "not be written\n",
    .run = run_diff};
