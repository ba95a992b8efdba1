/* SPDX-License-Identifier: Apache-2.0
 *
 * spad tune: choose ring depths for the shortest makespan that fits.
 */
#include <stdio.h>
#include <string.h>

#include "cli.h"
#include "progress.h"

typedef struct tune_words {
    cli_kernel_words kernel;
    const char *output;
    const char *depth;
    const char *timeout;
    bool steps;
    bool release;
    int64_t started;
    cli_progress progress;
} tune_words;

static spad_status write_kernel(const spad_sink *sink, const void *kernel, spad_error *error) {
    return spad_kernel_write_text(kernel, sink, error);
}

/* ---- JSON: the document of the layouts in the one of the tuner ----------------------- */

#define DOCUMENT_END "\n}\n"

/* The end of a document is held back, so that there can be more in it. */
typedef struct held_end {
    FILE *file;
    char bytes[sizeof DOCUMENT_END - 1];
    size_t count;
} held_end;

static int write_held(void *context, const char *bytes, size_t count) {
    held_end *held = context;
    for (size_t i = 0; i < count; i++) {
        if (held->count == sizeof held->bytes) {
            if (putc(held->bytes[0], held->file) == EOF) return 1;
            memmove(held->bytes, held->bytes + 1, --held->count);
        }
        held->bytes[held->count++] = bytes[i];
    }
    return 0;
}

/* Lines of a document in another one; without the end of the last one. */
typedef struct inner_lines {
    FILE *file;
    bool ended; /* a line: if there is another one, it is further in */
} inner_lines;

static int write_inner(void *context, const char *bytes, size_t count) {
    inner_lines *lines = context;
    for (size_t i = 0; i < count; i++) {
        if (lines->ended && fputs("\n  ", lines->file) == EOF) return 1;
        lines->ended = bytes[i] == '\n';
        if (!lines->ended && putc(bytes[i], lines->file) == EOF) return 1;
    }
    return 0;
}

static spad_status write_json(const spad_tune *tune, const spad_frontier *layouts, FILE *file,
                              spad_error *error) {
    held_end held = {.file = file};
    inner_lines lines = {.file = file};
    const spad_sink outer = {.write = write_held, .context = &held};
    const spad_sink inner = {.write = write_inner, .context = &lines};
    spad_status status = spad_tune_write(tune, SPAD_FORMAT_JSON, &outer, error);
    if (status != SPAD_OK) return status;
    fputs(",\n  \"layouts\": ", file);
    if (layouts != NULL) {
        status = spad_frontier_write(layouts, SPAD_FORMAT_JSON, &inner, error);
    } else {
        fputs("null", file);
    }
    fputs(DOCUMENT_END, file);
    return status;
}

/* ---- the command ------------------------------------------------------------------------ */

/* The layouts of the chosen kernel between the fewest bytes and the least time; NULL: nothing was
 * chosen, or there was no time for them, or the user wants to wait no longer. */
static cli_exit find_layouts(spad_frontier **out, const spad_tune *tune, const tune_words *words) {
    const spad_frontier_options options = {
        .release = words->release,
        .steps = words->steps,
        .timeout_ns = cli_time_left(SPAD_FRONTIER_TIMEOUT, words->started)};
    const spad_kernel *chosen = spad_tune_get_chosen(tune);
    spad_error error;
    *out = NULL;
    if (chosen == NULL || cli_interrupted()) return CLI_FINE;
    const spad_status status = spad_frontier_create(out, chosen, &options, &error);
    return status == SPAD_OK || status == SPAD_ERR_TIME ? CLI_FINE : cli_fail(&error);
}

static cli_exit show(const spad_tune *tune, const spad_frontier *layouts, const tune_words *words) {
    const spad_kernel *chosen = spad_tune_get_chosen(tune);
    spad_error error;
    if (words->output != NULL && chosen != NULL) {
        const cli_exit written = cli_write_file(words->output, write_kernel, chosen);
        if (written != CLI_FINE) return written;
    }
    const bool to_stdout = words->output != NULL && strcmp(words->output, "-") == 0;
    FILE *file = to_stdout ? stderr : stdout;
    const spad_sink sink = cli_sink(file, words->kernel.json);
    spad_status status;
    if (words->kernel.json) {
        status = write_json(tune, layouts, file, &error);
    } else {
        status = spad_tune_write(tune, SPAD_FORMAT_TEXT, &sink, &error);
        const bool several =
            layouts != NULL && (spad_frontier_point_count(layouts) > 1 || words->release);
        if (status == SPAD_OK && several) {
            fputs("\n", file);
            status = spad_frontier_write(layouts, SPAD_FORMAT_TEXT, &sink, &error);
        }
    }
    if (status != SPAD_OK) return cli_fail(&error);
    return chosen != NULL ? CLI_FINE : CLI_FINDINGS;
}

static cli_exit tune_kernel(const cli_kernel *input, tune_words *words) {
    spad_tune_options options = {
        .steps = words->steps, .progress = cli_progress_tune, .context = &words->progress};
    spad_tune *tune;
    spad_error error;
    if (words->depth != NULL && !cli_take_number("--depth", words->depth, 1, &options.depth_most)) {
        return CLI_USAGE;
    }
    if (words->timeout != NULL &&
        !cli_take_seconds("--timeout", words->timeout, &options.timeout_ns)) {
        return CLI_USAGE;
    }
    const cli_exit right =
        cli_check_first(input, NULL, "tuned", options.timeout_ns, &words->kernel);
    if (right != CLI_FINE) return right;
    options.timeout_ns = cli_time_left(options.timeout_ns, words->started);
    cli_progress_start();
    const spad_status status = spad_tune_create(&tune, input->kernel, &options, &error);
    cli_progress_end(&words->progress);
    if (status == SPAD_ERR_TIME && cli_interrupted()) {
        cli_message("interrupted before there was a result");
        return CLI_FINDINGS;
    }
    if (status != SPAD_OK) return cli_fail_kernel(&error, input->path, words->kernel.json);
    if (cli_interrupted()) cli_message("interrupted: this is the best so far");
    spad_frontier *layouts;
    cli_exit exit = find_layouts(&layouts, tune, words);
    if (exit == CLI_FINE) exit = show(tune, layouts, words);
    spad_frontier_destroy(layouts);
    spad_tune_destroy(tune);
    return exit;
}

static cli_exit run_tune(const cli_command *command, int count, char **arguments) {
    tune_words words = {.started = cli_clock()};
    const cli_option options[] = {CLI_KERNEL_OPTIONS(words.kernel),
                                  {.name = "--depth", .value = &words.depth},
                                  {.name = "--timeout", .value = &words.timeout},
                                  {.name = "-o", .value = &words.output},
                                  {.name = "--output", .value = &words.output},
                                  {.name = "--force", .flag = &words.kernel.force},
                                  {.name = "--steps", .flag = &words.steps},
                                  {.name = "--release", .flag = &words.release},
                                  {.name = "--json", .flag = &words.kernel.json},
                                  CLI_PROGRESS_OPTIONS(words.progress),
                                  {.name = NULL}};
    cli_exit exit;
    if (!cli_take_options(command, options, &count, arguments, &exit)) return exit;
    if (count != 1) {
        cli_message("one kernel is needed; see 'spad tune --help'");
        return CLI_USAGE;
    }
    const cli_pictures none = {0};
    if (!cli_pictures_fit(&none, words.kernel.json, words.output)) return CLI_USAGE;
    cli_kernel input;
    exit = cli_read_kernel(&input, arguments[0], &words.kernel);
    if (exit != CLI_FINE) return exit;
    exit = tune_kernel(&input, &words);
    cli_free_kernel(&input);
    return exit;
}

const cli_command cli_tune = {
    .name = "tune",
    .about = "choose ring depths for the shortest makespan that fits",
    .usage =
        "usage: spad tune KERNEL.spad [options]\n"
        "\n"
        "Chooses the depths of a kernel's rings: the shortest makespan with the planner's places,\n"
        "then the fewest bytes; prints the frontier between bytes and time. Tensors that are\n"
        "declared in a loop are moved out of it if that is faster and fits. '-' is stdin.\n"
        "\n" CLI_KERNEL_USAGE "  --depth N                 the deepest ring to try (8)\n"
        "  --timeout SECONDS         end the search then, with the best so far\n"
        "  -o, --output OUT.spad     the kernel with the chosen depths and hoists\n"
        "  --force                   tune even if the kernel is wrong\n"
        "  --steps                   tune even if costs are assumed: an operation without a\n"
        "                            figure is one step\n"
        "  --release                 show layouts in which tensors with an address are placed, "
        "too\n"
        "  --json                    the result as JSON\n"
        "  --progress[=json]         progress on stderr\n"
        "\n"
        "exit status: 0 fine, 1 nothing fits or it is wrong, 2 bad input, 3 the output could\n"
        "not be written;\n"
        "docs/tune-how.md explains the search\n",
    .run = run_tune};
