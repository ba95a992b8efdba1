/* SPDX-License-Identifier: Apache-2.0
 *
 * spad emit: places as source text for C, CUDA, NKI, TileLang, or as JSON or CSV.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cli.h"

typedef struct emit_words {
    cli_plan_words plan;
    const char *lang;
    const char *output;
    const char *name;
} emit_words;

typedef struct emission {
    const spad_emit *table;
    spad_emit_lang lang;
} emission;

static spad_status write_table(const spad_sink *sink, const void *context, spad_error *error) {
    const emission *e = context;
    return spad_emit_write(e->table, e->lang, sink, error);
}

static cli_exit find_lang(spad_emit_lang *out, const char *word) {
    const char *names[SPAD_EMIT_LANGS];
    for (int i = 0; i < SPAD_EMIT_LANGS; i++) {
        names[i] = spad_emit_lang_name((spad_emit_lang)i);
        *out = (spad_emit_lang)i;
        if (strcmp(word, names[i]) == 0) return CLI_FINE;
    }
    return cli_unknown("language", word, names, SPAD_EMIT_LANGS, "spad emit --help");
}

/* "dir/exp_rows.csv" -> "exp_rows" */
static void name_of_file(char *field, size_t size, const char *path) {
    const char *slash = strrchr(path, '/');
    const char *start = slash != NULL ? slash + 1 : path;
    const char *dot = strrchr(start, '.');
    const size_t length = dot != NULL && dot > start ? (size_t)(dot - start) : strlen(start);
    snprintf(field, size, "%.*s", (int)(length < size ? length : size - 1), start);
}

static cli_exit emit(const cli_places *places, const char *path, const emit_words *words) {
    char name[256];
    spad_emit *table;
    spad_error error;
    spad_emit_lang lang;
    cli_exit exit = find_lang(&lang, words->lang);
    if (exit != CLI_FINE) return exit;
    const bool kernel = places->layout != NULL;
    if (kernel)
        snprintf(name, sizeof name, "%.255s", spad_kernel_get_name(places->kernel.kernel));
    else
        name_of_file(name, sizeof name, strcmp(path, "-") == 0 ? "spad" : path);
    if (spad_emit_create(&table, places->target, words->name != NULL ? words->name : name, NULL,
                         &error) != SPAD_OK) {
        return cli_fail(&error);
    }
    const spad_status status =
        kernel ? spad_emit_add_layout(table, places->layout, &error)
               : spad_emit_add_plan(table, places->plan, places->result, places->space, &error);
    const emission e = {table, lang};
    if (status == SPAD_ERR_NO_FIT) {
        cli_fail(&error);
        exit = CLI_FINDINGS;
    } else if (status != SPAD_OK) {
        exit = cli_fail(&error);
    } else {
        exit = cli_write_file(words->output != NULL ? words->output : "-", write_table, &e);
    }
    spad_emit_destroy(table);
    return exit;
}

/* The hint repeats what decides whether it fits. */
static void report_no_fit(const char *path, const cli_plan_words *words) {
    const char *const options[][2] = {{" --target ", words->kernel.target},
                                      {" --space ", words->space},
                                      {" --capacity ", words->capacity}};
    char given[256] = "";
    for (size_t i = 0; i < sizeof options / sizeof *options; i++) {
        const size_t used = strlen(given);
        if (options[i][1] != NULL)
            snprintf(given + used, sizeof given - used, "%s%s", options[i][0], options[i][1]);
    }
    cli_message("%s: it does not fit, so there is nothing to emit; see 'spad plan %s%s'", path,
                path, given);
}

static cli_exit run_emit(const cli_command *command, int count, char **arguments) {
    emit_words words = {.lang = "c"};
    const cli_option options[] = {CLI_PLAN_OPTIONS(words.plan),
                                  {.name = "--lang", .value = &words.lang},
                                  {.name = "--name", .value = &words.name},
                                  {.name = "-o", .value = &words.output},
                                  {.name = "--output", .value = &words.output},
                                  {.name = "--force", .flag = &words.plan.kernel.force},
                                  {.name = NULL}};
    cli_exit exit;
    if (!cli_take_options(command, options, &count, arguments, &exit)) return exit;
    if (count != 1) {
        cli_message("one kernel or CSV file is needed; see 'spad emit --help'");
        return CLI_USAGE;
    }
    cli_places places;
    exit = cli_find_places(&places, arguments[0], &words.plan);
    if (exit == CLI_FINE && !places.fits) {
        report_no_fit(arguments[0], &words.plan);
        exit = CLI_FINDINGS;
    }
    if (exit == CLI_FINE && places.layout != NULL) {
        exit = cli_check_first(&places.kernel, places.layout, "emitted", 0, &words.plan.kernel);
    }
    if (exit == CLI_FINE) exit = emit(&places, arguments[0], &words);
    cli_free_places(&places);
    return exit;
}

const cli_command cli_emit = {
    .name = "emit",
    .about = "places as source text for C, CUDA, NKI, TileLang, or as JSON or CSV",
    .usage =
        "usage: spad emit FILE [options]\n"
        "\n"
        "Places the tensors of a kernel, or the buffers of a CSV file, and writes a\n"
        "file to include: offset, bytes, lanes, alignment, ring depth and stride of each, the\n"
        "total of each memory, and checks against the limits of the chip.\n"
        "\n"
        "  --lang c|cuda|nki|tilelang|json|csv\n"
        "                            a header (C99, C++), the same with typed pointers, Python\n"
        "                            with tensors at their addresses, or with allocations, or\n"
        "                            data; default: c\n"
        "  --name NAME               prefix of every identifier; default: name of the kernel\n"
        "                            or file\n"
        "  -o, --output OUT          default: stdout\n"
        "  --force                   emit even if the kernel is wrong\n"
        "\n" CLI_PLAN_USAGE "\n"
        "exit status: 0 fine, 1 it does not fit or is wrong, 2 bad input, 3 the output could not\n"
        "be written; see docs/emit.md\n",
    .run = run_emit};
