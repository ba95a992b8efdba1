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
    const char *grid_word;
    int64_t grid;
    bool planned;
} sim_words;

static cli_exit show(const spad_sim *sim, const sim_words *words) {
    const spad_sink sink = cli_sink(cli_summary_file(&words->pictures, NULL), words->kernel.json);
    spad_error error;
    const spad_status status = words->kernel.json ? spad_sim_write_json(sim, &sink, &error)
                                                  : spad_sim_write_text(sim, &sink, &error);
    if (status != SPAD_OK) return cli_fail(&error);
    return spad_sim_get_stuck(sim) != NULL ? CLI_FINDINGS : CLI_FINE;
}

/* Simulates, with the places of the planner or as if no two slots shared bytes. */
static cli_exit analyse(spad_analysis **out, const cli_kernel *input, const sim_words *words,
                        bool planned, bool json) {
    const spad_analysis_options options = {
        .skip =
            1u << SPAD_PART_CHECK | 1u << SPAD_PART_FIT | (planned ? 0 : 1u << SPAD_PART_LAYOUT),
        .timeout_ns = cli_time_left(words->pictures.timeout_ns, words->pictures.started),
        .source = input->text.bytes,
        .source_length = input->text.length,
        /* what is drawn runs longer before repetitions are skipped */
        .sim = {.grid = words->grid, .repeat_after = planned ? 0 : SPAD_SIM_REPEAT_AFTER}};
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
    if (!words->planned) exit = analyse(&placed, input, words, true, false);
    if (exit == CLI_FINE) {
        exit = cli_draw_analysis(&words->pictures, placed != NULL ? placed : analysis);
    }
    spad_analysis_destroy(placed);
    return exit;
}

static cli_exit simulate(const cli_kernel *input, const sim_words *words) {
    spad_analysis *analysis = NULL;
    cli_exit exit = analyse(&analysis, input, words, words->planned, words->kernel.json);
    if (exit == CLI_FINE) exit = show(spad_analysis_get_sim(analysis), words);
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
                                  {.name = "--planned", .flag = &words.planned},
                                  {.name = "--grid", .value = &words.grid_word},
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
    if (words.grid_word != NULL && !cli_take_number("--grid", words.grid_word, 1, &words.grid)) {
        return CLI_USAGE;
    }
    if (!cli_pictures_fit(&words.pictures, words.kernel.json, NULL)) return CLI_USAGE;
    cli_kernel input;
    exit = cli_read_kernel(&input, arguments[0], &words.kernel);
    if (exit != CLI_FINE) return exit;
    exit = simulate(&input, &words);
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
        "\n" CLI_KERNEL_USAGE
        "  --planned                 tensors are where the planner places them; without it,\n"
        "                            tensors without an address share no bytes\n"
        "  --grid N                  the kernel is one of N blocks: the time of all of them\n"
        "  --timeout SECONDS         fail if it takes longer\n"
        "  --json                    the result as JSON\n" CLI_PICTURE_USAGE "\n"
        "exit status: 0 it ran to its end, 1 deadlock or it is wrong, 2 bad input, 3 the output\n"
        "could not be written; docs/sim.md describes the model\n",
    .run = run_sim};
