/* SPDX-License-Identifier: Apache-2.0
 *
 * spad sim: how long a kernel takes, and what its engines wait for.
 */
#include <stdio.h>

#include "cli.h"

typedef struct sim_words {
    cli_kernel_words kernel;
    cli_pictures pictures;
    const char *timeout;
    int64_t grid;
    bool apart;
} sim_words;

static cli_exit show(const spad_sim *sim, const sim_words *words) {
    const spad_sink sink = cli_sink(cli_summary_file(&words->pictures, NULL), words->kernel.json);
    spad_error error;
    const spad_status status = words->kernel.json
                                   ? spad_sim_write(sim, SPAD_FORMAT_JSON, &sink, &error)
                                   : spad_sim_write(sim, SPAD_FORMAT_TEXT, &sink, &error);
    if (status != SPAD_OK) return cli_fail(&error);
    return spad_sim_get_stuck(sim) != NULL ? CLI_FINDINGS : CLI_FINE;
}

/* The time of a kernel that is wrong is shown, and means little. */
static cli_exit show_check(const spad_check *check, const cli_kernel *input) {
    const spad_check_counts counts = spad_check_get_counts(check);
    const int64_t errors = counts.errors + counts.compiler_faults;
    if (spad_check_passes(check)) return CLI_FINE;
    cli_message("%s is wrong, %lld error%s: 'spad check' shows %s",
                spad_kernel_get_name(input->kernel), (long long)errors, errors > 1 ? "s" : "",
                errors > 1 ? "them" : "it");
    return CLI_FINDINGS;
}

/* Checks and simulates, with the places of the planner or as if no two slots shared bytes. */
static cli_exit analyse(spad_analysis **out, const cli_kernel *input, const sim_words *words,
                        bool planned, bool json) {
    const spad_analysis_options options = {
        .skip = 1u << SPAD_PART_FIT | (planned ? 0 : 1u << SPAD_PART_LAYOUT),
        .timeout_ns = cli_time_left(words->pictures.timeout_ns, words->pictures.started),
        .source = input->text.bytes,
        .source_length = input->text.length,
        .sim = &(spad_sim_options){.grid = words->grid}};
    spad_error error;
    if (spad_analysis_create(out, input->kernel, &options, &error) != SPAD_OK) {
        return cli_fail(&error);
    }
    const spad_error *fault = spad_analysis_get_fault(*out, SPAD_PART_LAYOUT);
    if (fault == NULL) fault = spad_analysis_get_fault(*out, SPAD_PART_SIM);
    return fault == NULL ? CLI_FINE : cli_fail_kernel(fault, input->path, json);
}

/* The picture has the places of the planner. */
static cli_exit draw(const spad_analysis *analysis, const cli_kernel *input,
                     const sim_words *words) {
    spad_analysis *placed = NULL;
    cli_exit exit = CLI_FINE;
    if (!cli_wants_pictures(&words->pictures)) return CLI_FINE;
    if (words->apart) exit = analyse(&placed, input, words, true, false);
    if (exit == CLI_FINE) {
        exit = cli_draw_analysis(&words->pictures, placed != NULL ? placed : analysis);
    }
    spad_analysis_destroy(placed);
    return exit;
}

static cli_exit simulate(const cli_kernel *input, const sim_words *words) {
    spad_analysis *analysis = NULL;
    cli_exit exit = analyse(&analysis, input, words, !words->apart, words->kernel.json);
    if (exit == CLI_FINE) exit = show(spad_analysis_get_sim(analysis), words);
    if (exit == CLI_FINE) exit = show_check(spad_analysis_get_check(analysis), input);
    if (exit <= CLI_FINDINGS && analysis != NULL) {
        const cli_exit drawn = draw(analysis, input, words);
        if (drawn != CLI_FINE) exit = drawn;
    }
    spad_analysis_destroy(analysis);
    return exit;
}

static cli_exit run_sim(const cli_command *command, int count, char **arguments) {
    sim_words words = {.pictures.started = cli_clock()};
    const cli_option options[] = {CLI_KERNEL_OPTIONS(words.kernel),
                                  CLI_PICTURE_OPTIONS(words.pictures),
                                  {.name = "--apart", .flag = &words.apart},
                                  {.name = "--timeout", .value = &words.timeout},
                                  {.name = "--json", .flag = &words.kernel.json},
                                  {.name = NULL}};
    cli_exit exit;
    if (!cli_take_options(command, options, &count, arguments, &exit)) return exit;
    if (count != 1) {
        cli_message("one kernel is needed; see 'spad sim --help'");
        return CLI_USAGE;
    }
    if (words.timeout != NULL &&
        !cli_take_seconds("--timeout", words.timeout, &words.pictures.timeout_ns)) {
        return CLI_USAGE;
    }
    if (!cli_pictures_fit(&words.pictures, words.kernel.json, NULL)) return CLI_USAGE;
    words.kernel.launch.timeout_ns = words.pictures.timeout_ns;
    cli_kernel input;
    exit = cli_read_kernel(&input, arguments[0], &words.kernel);
    if (exit != CLI_FINE) return exit;
    /* a launch has its own grid */
    const char *grid = cli_is_ptx(input.path, &input.text) ? NULL : words.kernel.launch.grid;
    exit = grid == NULL || cli_take_number("--grid", grid, 1, &words.grid)
               ? simulate(&input, &words)
               : CLI_USAGE;
    cli_free_kernel(&input);
    return exit;
}

const cli_command cli_sim = {
    .name = "sim",
    .about = "how long a kernel takes, and what its engines wait for",
    .usage =
        "usage: spad sim KERNEL.spad [options]\n"
        "\n"
        "Runs a kernel on a first-order model of its engines: makespan, busy and idle time\n"
        "of every engine, a timeline, what was waited for, the critical path. '-' is stdin.\n"
        "\n" CLI_KERNEL_USAGE CLI_LAUNCH_USAGE
        "  --apart                   tensors without an address share no bytes; without it, they\n"
        "                            are where the planner places them\n"
        "  --grid N                  the kernel is one of N blocks: the time of all of them\n"
        "  --timeout SECONDS         fail if it takes longer\n"
        "  --json                    the result as JSON\n" CLI_PICTURE_USAGE "\n"
        "exit status: 0 it ran to its end, 1 deadlock or it is wrong, 2 bad input, 3 the output\n"
        "could not be written; docs/sim-how.md describes the model\n",
    .run = run_sim};
