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
    int64_t timeout_ns; /* for all of it; 0: none */
    int64_t started;
    bool planned;
} sim_words;

static cli_exit show(const spad_sim *sim, const sim_words *words) {
    const spad_sink sink = spad_sink_file(cli_summary_file(&words->pictures, NULL));
    spad_error error;
    const spad_status status = words->kernel.json ? spad_sim_write_json(sim, &sink, &error)
                                                  : spad_sim_write_text(sim, &sink, &error);
    if (status != SPAD_OK) return cli_fail(&error);
    return spad_sim_stuck(sim) != NULL ? CLI_FINDINGS : CLI_FINE;
}

/* The planner has its own time where none is given. */
static spad_layout_options layout_options(const sim_words *words) {
    return (spad_layout_options){.timeout_ns = cli_time_left(words->timeout_ns, words->started)};
}

/* With the places of the planner; what does not fit has none. */
static cli_exit simulate(const cli_kernel *input, const sim_words *words) {
    const spad_layout_options planner = layout_options(words);
    spad_sim_options options = {0};
    spad_layout *layout = NULL;
    spad_sim *sim;
    spad_error error;
    if (words->planned) {
        if (spad_layout_create(&layout, input->kernel, &planner, &error) != SPAD_OK) {
            return cli_fail_kernel(&error, input->path, words->kernel.json);
        }
        options.place = spad_layout_place;
        options.ctx = layout;
    }
    options.timeout_ns = cli_time_left(words->timeout_ns, words->started);
    cli_exit exit = CLI_FINE;
    if (spad_sim_kernel(&sim, input->kernel, &options, &error) != SPAD_OK) {
        exit = cli_fail_kernel(&error, input->path, words->kernel.json);
    } else {
        exit = show(sim, words);
        spad_sim_destroy(sim);
    }
    spad_layout_destroy(layout);
    return exit;
}

/* The picture has the places of the planner. */
static cli_exit draw(const cli_kernel *input, const sim_words *words) {
    const spad_layout_options planner = layout_options(words);
    spad_layout *layout;
    spad_error error;
    if (!cli_wants_pictures(&words->pictures)) return CLI_FINE;
    if (spad_layout_create(&layout, input->kernel, &planner, &error) != SPAD_OK) {
        return cli_fail_kernel(&error, input->path, false);
    }
    const cli_exit exit = cli_draw_kernel(&words->pictures, input, layout, NULL, true);
    spad_layout_destroy(layout);
    return exit;
}

static cli_exit run_sim(const cli_command *command, int count, char **arguments) {
    sim_words words = {.started = cli_clock()};
    const cli_option options[] = {CLI_KERNEL_OPTIONS(words.kernel),
                                  CLI_PICTURE_OPTIONS(words.pictures),
                                  {.name = "--planned", .flag = &words.planned},
                                  {.name = "--timeout", .value = &words.timeout},
                                  {.name = "--json", .flag = &words.kernel.json},
                                  {.name = NULL}};
    cli_exit exit;
    if (!cli_take_options(command, options, &count, arguments, &exit)) return exit;
    if (count != 1) {
        cli_say("one kernel is needed; see 'spad sim --help'");
        return CLI_USAGE;
    }
    if (words.timeout != NULL && !cli_take_seconds("--timeout", words.timeout, &words.timeout_ns)) {
        return CLI_USAGE;
    }
    if (!cli_pictures_fit(&words.pictures, words.kernel.json, NULL)) return CLI_USAGE;
    cli_kernel input;
    exit = cli_read_kernel(&input, arguments[0], &words.kernel);
    if (exit != CLI_FINE) return exit;
    exit = simulate(&input, &words);
    if (exit <= CLI_FINDINGS) {
        const cli_exit drawn = draw(&input, &words);
        if (drawn != CLI_FINE) exit = drawn;
    }
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
        "  --planned                 tensors lie where the planner puts them; without it\n"
        "                            those without an address share no bytes\n"
        "  --timeout SECONDS         fail if it takes longer\n"
        "  --json                    the result as JSON\n" CLI_PICTURE_USAGE "\n"
        "exit status: 0 it ran to its end, 1 deadlock or it is wrong, 2 bad input, 3 the output\n"
        "could not be written; docs/sim.md has the model\n",
    .run = run_sim};
