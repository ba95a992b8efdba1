/* SPDX-License-Identifier: Apache-2.0
 *
 * spad plan: offsets for the buffers of a CSV file, or the places of a kernel. Files of other
 * compilers are for the Python package.
 */
#define _POSIX_C_SOURCE 200809L
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cli.h"
#include "plan_kernel.h"
#include "plan_options.h"
#include "plan_spaces.h"
#include "progress.h"

typedef struct plan_words {
    const cli_option *options; /* that fill in the rest */
    cli_plan_words input;
    cli_words spaces; /* one without a capacity is also in input.space */
    const char *timeout;
    int64_t started; /* of the command, in nanoseconds of a clock */
    const char *seed;
    const char *threads;
    const char *output;
    cli_pictures pictures;
    const char *goal;
    const char *arena;
    const char *alignment;
    const char *max_file;
    const char *previous; /* an earlier plan */
    bool count_moves;
    const char *reuse_steps;
    const char *reuse_cost;
    const char *slack;
    bool no_views;
    bool frontier;
    bool release;
    bool steps;
    bool minimize;
    bool fix;
    cli_progress progress;
} plan_words;

/* ---- how hard to look -------------------------------------------------------------- */

/* What both kinds of input take: how long and how hard to look. */
static bool read_effort(const plan_words *words, int64_t *nanoseconds, uint64_t *seed,
                        int32_t *threads) {
    int64_t number = 0;
    if (words->timeout != NULL && !cli_take_seconds("--timeout", words->timeout, nanoseconds))
        return false;
    if (words->seed != NULL) {
        if (!cli_take_number("--seed", words->seed, 0, &number)) return false;
        *seed = (uint64_t)number;
    }
    if (words->threads != NULL) {
        if (!cli_take_number("--threads", words->threads, 1, &number)) return false;
        *threads = number < 64 ? (int32_t)number : 64;
    }
    return true;
}

/* A proof may take forever, and few wait that long for one that they have not asked for. */
enum { CSV_SECONDS = 30 };

/* The time for reading a large file counts; a first plan is made in any case. */
static bool read_options(spad_plan_options *options, bool bounded, plan_words *words) {
    options->timeout_ns = CSV_SECONDS * INT64_C(1000000000);
    if (!read_effort(words, &options->timeout_ns, &options->seed, &options->threads)) return false;
    options->timeout_ns = cli_time_left(options->timeout_ns, words->started);
    options->goal = bounded && !words->minimize ? SPAD_PLAN_DECIDE : SPAD_PLAN_MINIMIZE;
    options->progress = cli_progress_plan;
    options->context = &words->progress;
    return true;
}

/* ---- output ------------------------------------------------------------------------ */

typedef struct placed_rows {
    const spad_plan *plan;
    const spad_plan_result *result;
    const cli_text *text;
} placed_rows;

static spad_status write_rows(const spad_sink *sink, const void *context, spad_error *error) {
    const placed_rows *r = context;
    return spad_plan_write_csv(r->plan, 0, r->result, r->text->bytes, r->text->length, sink, error);
}

/* The plan as a report, on the memory that it is for. */
static cli_exit draw(const cli_places *rows, const spad_plan_result *result,
                     const spad_plan_reason *reason, const plan_words *words, const char *file) {
    const spad_report_options options = {.title = file, .time_unit = "time"};
    spad_report *report;
    spad_error error;
    if (spad_report_create(&report, rows->target, &options, &error) != SPAD_OK) {
        return cli_fail(&error);
    }
    spad_status status = spad_report_add_plan(report, rows->plan, result, rows->space, &error);
    if (status == SPAD_OK)
        status = spad_report_add_reason(report, rows->plan, result, reason, &error);
    const cli_exit exit =
        status == SPAD_OK ? cli_write_pictures(&words->pictures, report) : cli_fail(&error);
    spad_report_destroy(report);
    return exit;
}

/* Writes the summary; constraints: their result, or NULL. */
static spad_status summarise(const spad_plan *plan, const spad_plan_result *result,
                             const spad_plan_reason *reason, const spad_soft_result *constraints,
                             const plan_words *words, spad_error *error) {
    FILE *out = cli_summary_file(&words->pictures, words->output);
    const bool json = words->input.kernel.json;
    const spad_sink sink = cli_sink(out, json);
    spad_status status;
    if (json && constraints != NULL) {
        cli_list list;
        cli_object_open(&list);
        cli_object_key(&list, "plan");
        status = spad_plan_write(plan, result, reason, SPAD_FORMAT_JSON, &list.items, error);
        cli_object_key(&list, "soft");
        if (status == SPAD_OK)
            status = spad_soft_write(constraints, SPAD_FORMAT_JSON, &list.items, error);
        cli_object_close(&list);
        return status;
    }
    if (json) return spad_plan_write(plan, result, reason, SPAD_FORMAT_JSON, &sink, error);
    status = spad_plan_write(plan, result, reason, SPAD_FORMAT_TEXT, &sink, error);
    if (status == SPAD_OK && constraints != NULL)
        status = spad_soft_write(constraints, SPAD_FORMAT_TEXT, &sink, error);
    return status;
}

static cli_exit show(const cli_places *input, const spad_plan_result *result,
                     const spad_soft_result *constraints, const plan_words *words,
                     const cli_text *text, const char *file) {
    const spad_plan *plan = input->plan;
    spad_error error;
    spad_plan_reason *reason = NULL;
    const bool fits = result->verdict == SPAD_PLAN_OPTIMAL || result->verdict == SPAD_PLAN_FEASIBLE;
    if (!fits && spad_plan_explain(&reason, plan, result, 0, NULL, &error) != SPAD_OK)
        return cli_fail_input(&error, file, words->input.kernel.json);
    if (reason != NULL && reason->found != NULL) {
        const cli_exit found = show(input, reason->found, NULL, words, text, file);
        spad_plan_reason_destroy(reason);
        return found;
    }
    cli_exit exit = fits ? CLI_FINE : CLI_FINDINGS;
    if (words->output != NULL && !fits)
        cli_message("'%s' is not written: there is no plan within the capacity", words->output);
    const placed_rows rows = {plan, result, text};
    if (fits && words->output != NULL) exit = cli_write_file(words->output, write_rows, &rows);
    const spad_status status = summarise(plan, result, reason, constraints, words, &error);
    cli_exit drawn = status == SPAD_OK ? CLI_FINE : cli_fail(&error);
    if (drawn == CLI_FINE && fits && !words->input.kernel.json)
        drawn = cli_print_plan(cli_summary_file(&words->pictures, words->output), plan, result);
    if (drawn == CLI_FINE && cli_wants_pictures(&words->pictures)) {
        drawn = draw(input, result, reason, words, file);
    }
    spad_plan_reason_destroy(reason);
    return drawn == CLI_FINE ? exit : drawn;
}

/* ---- soft constraints ------------------------------------------------------------------------ */

static bool has_soft_constraints(const plan_words *words, const spad_plan *plan) {
    return words->previous != NULL || words->reuse_steps != NULL || spad_plan_avoid_count(plan) > 0;
}

/* Reads the numbers of the options. */
static bool read_soft_constraints(spad_soft_constraints *constraints, const plan_words *words) {
    constraints->reuse_cost = 1;
    *(words->count_moves ? &constraints->move_cost : &constraints->move_byte_cost) = 1;
    return (words->reuse_steps == NULL ||
            cli_take_number("--reuse-steps", words->reuse_steps, 0, &constraints->reuse_steps)) &&
           (words->reuse_cost == NULL ||
            cli_take_number("--reuse-cost", words->reuse_cost, 0, &constraints->reuse_cost)) &&
           (words->slack == NULL ||
            cli_take_bytes("--slack", words->slack, 0, &constraints->slack));
}

/* The places of an earlier plan; freed with free(). */
static cli_exit read_previous(spad_plan_place **out, const spad_plan *plan, const char *path,
                              bool json) {
    cli_text text;
    spad_error error;
    const size_t count = spad_plan_count(plan);
    cli_exit exit = cli_read(&text, path, CLI_ROWS_MIB);
    if (exit != CLI_FINE) return exit;
    *out = calloc(count + 1, sizeof **out);
    if (*out == NULL) {
        cli_message("out of memory");
        exit = CLI_INTERNAL;
    } else if (spad_plan_read_places(*out, count, plan, text.bytes, text.length,
                                     cli_input_name(path), &error) != SPAD_OK) {
        exit = cli_fail_input(&error, path, json);
    }
    free(text.bytes);
    return exit;
}

static cli_exit solve_soft(const cli_places *input, plan_words *words,
                           const spad_plan_options *options, const cli_text *text,
                           const char *file) {
    spad_soft_constraints constraints = {0};
    spad_plan_place *previous = NULL;
    spad_soft_result *result;
    spad_error error;
    if (!read_soft_constraints(&constraints, words)) return CLI_USAGE;
    cli_exit exit = CLI_FINE;
    const bool json = words->input.kernel.json;
    if (words->previous != NULL)
        exit = read_previous(&previous, input->plan, words->previous, json);
    constraints.previous = previous;
    if (exit == CLI_FINE) {
        cli_progress_start();
        const spad_status status =
            spad_plan_solve_soft(&result, input->plan, &constraints, options, &error);
        cli_progress_end(&words->progress);
        if (status != SPAD_OK) {
            exit = cli_fail_input(&error, file, json);
        } else {
            if (cli_interrupted()) cli_message("interrupted: this is the best so far");
            exit = show(input, result->plan, result, words, text, file);
            spad_soft_result_destroy(result);
        }
    }
    free(previous);
    return exit;
}

static cli_exit solve(const cli_places *input, plan_words *words, const cli_text *text,
                      const char *file) {
    spad_plan_options options = {.seed = 1};
    spad_plan_result *result;
    spad_error error;
    const bool bounded = spad_plan_get_capacity(input->plan) != SPAD_UNBOUNDED;
    if (!read_options(&options, bounded, words)) return CLI_USAGE;
    if (has_soft_constraints(words, input->plan))
        return solve_soft(input, words, &options, text, file);
    if (words->slack != NULL) {
        cli_message("option '--slack' needs a soft constraint: '--previous', '--reuse-steps' or a "
                    "column 'avoid'");
        return CLI_USAGE;
    }
    cli_progress_start();
    const spad_status status = spad_plan_solve(&result, input->plan, &options, &error);
    cli_progress_end(&words->progress);
    if (status != SPAD_OK) return cli_fail_input(&error, file, words->input.kernel.json);
    if (cli_interrupted()) cli_message("interrupted: this is the best so far");
    const cli_exit exit = show(input, result, NULL, words, text, file);
    spad_plan_result_destroy(result);
    return exit;
}

/* Rows of several memories. */
static cli_exit plan_spaces(plan_words *words, const cli_text *text, const char *path) {
    spad_plan_options options = {.seed = 1};
    if (!read_options(&options, true, words)) return CLI_USAGE;
    const plan_spaces_words spaces = {.input = &words->input,
                                      .spaces = &words->spaces,
                                      .options = &options,
                                      .output = words->output,
                                      .pictures = &words->pictures};
    cli_progress_start();
    const cli_exit exit = cli_plan_spaces(text, path, &spaces);
    cli_progress_end(&words->progress);
    return exit;
}

static cli_exit plan_buffers(plan_words *words, const cli_text *text, const char *path) {
    cli_places input;
    const bool several = cli_has_spaces(text, &words->spaces);
    if (!cli_plan_options_fit(words->options, several ? PLAN_SPACES : PLAN_ROWS, path))
        return CLI_USAGE;
    if (several) return plan_spaces(words, text, path);
    if (words->spaces.count > 0) words->input.space = words->spaces.items[0];
    cli_exit exit = cli_read_buffers(&input, text, path, &words->input);
    if (exit == CLI_FINE) exit = solve(&input, words, text, cli_input_name(path));
    cli_free_places(&input);
    return exit;
}

/* Takes ownership of the text. */
static cli_exit plan_kernel(plan_words *words, cli_text text, const char *path) {
    plan_kernel_words kernel_words = {.output = words->output,
                                      .json = words->input.kernel.json,
                                      .pictures = words->pictures,
                                      .goal = words->goal,
                                      .frontier = words->frontier,
                                      .release = words->release,
                                      .fix = words->fix,
                                      .steps = words->steps};
    spad_layout_options *effort = &kernel_words.layout;
    cli_kernel input = {.text = text};
    cli_exit exit = CLI_USAGE;
    const bool any_goal = words->goal == NULL || strcmp(words->goal, "time") == 0 ||
                          strcmp(words->goal, "bytes") == 0;
    if (!any_goal) {
        cli_message("option '--for' takes 'time' or 'bytes', not '%s'", words->goal);
    } else if (cli_plan_options_fit(words->options, PLAN_KERNEL, path) &&
               read_effort(words, &effort->timeout_ns, &effort->seed, &effort->threads)) {
        effort->progress = cli_progress_layout;
        effort->context = &words->progress;
        exit = cli_parse_kernel(&input, path, text, &words->input.kernel);
        if (exit == CLI_FINE) exit = cli_plan_kernel(&input, &kernel_words);
    }
    cli_free_kernel(&input);
    return exit;
}

/* The words as the user gave them; taking the options moves them. */
typedef struct given_words {
    int count;
    char **words;
} given_words;

static given_words keep_words(int count, char **words) {
    const given_words given = {count, calloc((size_t)count + 1, sizeof *words)};
    if (given.words == NULL)
        cli_message("out of memory");
    else
        memcpy(given.words, words, (size_t)count * sizeof *words);
    return given;
}

static cli_exit plan_model(given_words given) {
    return cli_run_python("model", "a file of another compiler", given.count, given.words);
}

/* The beginning of most files says what they are: then no more of them is read here. */
static bool begins_like_model(const char *path) {
    char bytes[1 << 16];
    cli_text head = {.bytes = bytes};
    return cli_read_head(&head, sizeof bytes, path) && !cli_is_kernel(path, &head) &&
           cli_is_model(path, &head);
}

/* One of which all had to be read. Python reads it once more, which a pipe does not allow. */
static cli_exit plan_late_model(given_words given, const char *path) {
    char byte;
    if (cli_read_head(&(cli_text){.bytes = &byte}, 1, path)) return plan_model(given);
    cli_message("a file of another compiler has to have a name; it cannot be read from %s",
                strcmp(path, "-") == 0 ? "stdin" : "a pipe");
    return CLI_USAGE;
}

static cli_exit run_words(plan_words *words, given_words given, int count, char **arguments) {
    if (count != 1) {
        cli_message("one kernel, CSV file or model is needed; see 'spad plan --help'");
        return CLI_USAGE;
    }
    const char *path = arguments[0];
    if (cli_is_model_name(path)) return plan_model(given);
    if (!cli_pictures_fit(&words->pictures, words->input.kernel.json, words->output))
        return CLI_USAGE;
    if (begins_like_model(path)) return plan_model(given);
    words->started = cli_clock();
    cli_text text;
    cli_exit exit = cli_read(&text, path, CLI_ROWS_MIB);
    if (exit != CLI_FINE) return exit;
    if (cli_is_kernel(path, &text)) return plan_kernel(words, text, path);
    if (cli_is_model(path, &text)) {
        exit = plan_late_model(given, path);
    } else if (cli_refuse_foreign(path, &text)) {
        exit = CLI_USAGE;
    } else {
        exit = plan_buffers(words, &text, path);
    }
    free(text.bytes);
    return exit;
}

static cli_exit run_plan(const cli_command *command, int count, char **arguments) {
    plan_words words = {0};
    const cli_option options[] = {{.name = "--space", .words = &words.spaces},
                                  CLI_PLAN_OPTIONS(words.input), /* its --space comes too late */
                                  {.name = "--for", .value = &words.goal},
                                  {.name = "--frontier", .flag = &words.frontier},
                                  {.name = "--release", .flag = &words.release},
                                  {.name = "--steps", .flag = &words.steps},
                                  {.name = "--minimize", .flag = &words.minimize},
                                  {.name = "--previous", .value = &words.previous},
                                  {.name = "--count-moves", .flag = &words.count_moves},
                                  {.name = "--reuse-steps", .value = &words.reuse_steps},
                                  {.name = "--reuse-cost", .value = &words.reuse_cost},
                                  {.name = "--slack", .value = &words.slack},
                                  {.name = "--fix", .flag = &words.fix},
                                  {.name = "--arena", .value = &words.arena},
                                  {.name = "--alignment", .value = &words.alignment},
                                  {.name = "--max-file", .value = &words.max_file},
                                  {.name = "--no-views", .flag = &words.no_views},
                                  {.name = "--timeout", .value = &words.timeout},
                                  {.name = "--seed", .value = &words.seed},
                                  {.name = "--threads", .value = &words.threads},
                                  {.name = "-o", .value = &words.output},
                                  {.name = "--output", .value = &words.output},
                                  CLI_PICTURE_OPTIONS(words.pictures),
                                  {.name = "--json", .flag = &words.input.kernel.json},
                                  CLI_PROGRESS_OPTIONS(words.progress),
                                  {.name = NULL}};
    cli_exit exit;
    words.options = options;
    const given_words given = keep_words(count, arguments);
    if (given.words == NULL) return CLI_INTERNAL;
    if (cli_take_options(command, options, &count, arguments, &exit))
        exit = run_words(&words, given, count, arguments);
    free(given.words);
    return exit;
}

const cli_command cli_plan = {
    .name = "plan",
    .about = "places for a kernel's tensors, or for buffers with known lifetimes",
    .usage =
        "usage: spad plan KERNEL.spad [options]\n"
        "       spad plan FILE.csv [options]\n"
        "       spad plan MODEL [options]\n"
        "\n"
        "For a kernel: gives every tensor that has no address a place, checks the kernel, and\n"
        "shows how full each memory is and where the peak is.\n"
        "\n" CLI_KERNEL_USAGE
        "  -o, --output OUT.csv      the places: space, tensor, slot, lane, byte and so on\n"
        "  --for time|bytes          places by simulated overlap: the least time that fits, then\n"
        "                            the fewest bytes, or the other way round\n"
        "  --frontier                only the table of layouts between the two\n"
        "  --release                 place the tensors that have an address, too\n"
        "  --fix                     instead: changes that make it smaller or faster and keep its\n"
        "                            proof; -o OUT.spad writes the kernel with them\n"
        "  --steps                   for --for, --frontier and --fix: even if costs are assumed\n"
        "\n"
        "For a CSV file: gives every buffer an offset so that buffers that are live at the\n"
        "same time share no byte. FILE has the columns id, lower, upper, size, and optionally\n"
        "alignment, hint, gaps, offset (a pin), lane, lanes, bank, alias, apart, slice, in_place,\n"
        "avoid, space (and then uses, home, kept, constant).\n"
        "\n"
        "  --capacity N              bytes per lane, such as 196608 or 192KiB; without it,\n"
        "                            minimize the height\n"
        "  --end-exclusive           column 'end' is the time after the last one, as 'upper' is\n"
        "  --target T --space S      capacity, lanes and rules of a memory of a chip\n"
        "  --space NAME[=N][@COST]   one of several memories, fast ones first: its bytes, and "
        "what\n"
        "                            a byte costs that is read or written there (0, 1, 2 and so\n"
        "                            on); rows name theirs in the column space, such as sram or\n"
        "                            sram|dram, or may be in any\n"
        "  --minimize                minimize the height even with a capacity\n"
        "  --previous OLD.csv        an earlier plan (-o): the fewest bytes are at other places,\n"
        "                            if that costs no height\n"
        "  --count-moves             with --previous: the fewest buffers instead\n"
        "  --reuse-steps N           bytes are not used again by what begins less than N steps\n"
        "                            after their buffer ended, if that costs no height\n"
        "  --reuse-cost N            with --reuse-steps: what each such pair costs; default 1\n"
        "  --slack N                 bytes of height that these constraints may cost\n"
        "  -o, --output OUT.csv      the rows of FILE with the column offset (and lane)\n"
        "\n"
        "For a file of another compiler (.tflite, .onnx, IREE, XLA, traces and snapshots of "
        "PyTorch,\n"
        "logs of RMM): compares with what it had; see docs/compilers.md\n"
        "\n"
        "  -o, --output OUT          OUT.tflite: the model with the plan in it; OUT.csv: the "
        "buffers\n"
        "  --arena NAME              of several arenas, the one to draw and to write\n"
        "  --alignment N             of the offsets of an ONNX model\n"
        "  --max-file BYTES          else 1 GiB\n"
        "  --no-views                ONNX: no value is in another one\n"
        "\n"
        "For all; '-' is stdin or stdout:\n"
        "\n"
        "  --timeout SECONDS         stop then, with the best so far; default for CSV\n"
        "                            files: 30\n"
        "  --seed N, --threads N     one thread and one seed always give the same plan\n"
        "  --progress[=json]         progress on stderr\n"
        "  --json                    the result as JSON\n" CLI_PICTURE_USAGE "\n"
        "exit status: 0 it fits and has no errors (or none found, if the verdict is unknown),\n"
        "1 it does not fit, was not found in time or has errors, 2 bad input, 3 the output could\n"
        "not be written; see docs/layout.md and docs/planner.md\n",
    .run = run_plan};
