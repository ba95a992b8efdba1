/* SPDX-License-Identifier: Apache-2.0
 *
 * Options, messages and JSON lists of the commands.
 */
#define _POSIX_C_SOURCE 200809L
#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "cli.h"

/* ---- messages ---------------------------------------------------------------------- */

enum { LINE_MAX_BYTES = 16384 };

/* One line, cut where it is absurdly long. Words of the command line and names from files may hold
 * anything; what would act on the terminal is not shown. */
CLI_PRINTF_LIST(2)
static void print_clean(FILE *out, const char *format, va_list arguments) {
    char line[LINE_MAX_BYTES];
    vsnprintf(line, sizeof line, format, arguments);
    spad_text_clean(line);
    fputs(line, out);
}

void cli_message(const char *format, ...) {
    va_list arguments;
    va_start(arguments, format);
    fputs("spad: ", stderr);
    print_clean(stderr, format, arguments);
    fputc('\n', stderr);
    va_end(arguments);
}

void cli_print(FILE *out, const char *format, ...) {
    va_list arguments;
    va_start(arguments, format);
    print_clean(out, format, arguments);
    va_end(arguments);
}

static cli_exit exit_of(const spad_error *error) {
    return error->code <= SPAD_ERR_HOST_MEMORY ? CLI_INTERNAL : CLI_USAGE;
}

cli_exit cli_fail(const spad_error *error) {
    if (error->line > 0) {
        cli_message("%s:%ld:%ld: %s", error->file, (long)error->line, (long)error->column,
                    error->message);
    } else {
        cli_message("%s", error->message);
    }
    return exit_of(error);
}

cli_exit cli_fail_input(const spad_error *error, const char *path, bool json) {
    const spad_sink results = spad_sink_file(stdout);
    if (json) spad_error_write_json(error, cli_input_name(path), &results, NULL);
    if (error->line > 0) return cli_fail(error);
    cli_message("%s: %s", cli_input_name(path), error->message);
    return exit_of(error);
}

cli_exit cli_fail_kernel(const spad_error *error, const char *path, bool json) {
    const cli_exit exit = cli_fail_input(error, path, json);
    const bool wrong = error->line > 0 || error->code == SPAD_ERR_NO_FIT;
    return exit == CLI_USAGE && wrong ? CLI_FINDINGS : exit;
}

enum { FEW_NAMES = 8 }; /* so many are listed where none of them is near */

/* "; it is one of a, b, c"; of few and short names. */
static void list_names(char *field, size_t size, const char *const *names, size_t count) {
    size_t used = 0;
    for (size_t i = 0; i < count && used < size; i++) {
        const char *before = i == 0 ? "; it is one of " : ", ";
        used += (size_t)snprintf(field + used, size - used, "%s%s", before, names[i]);
    }
}

cli_exit cli_unknown(const char *what, const char *word, const char *const *names, size_t count,
                     const char *help) {
    char hint[256];
    spad_close_names(hint, sizeof hint, word, names, count);
    if (hint[0] == '\0' && count <= FEW_NAMES) list_names(hint, sizeof hint, names, count);
    cli_message("unknown %s '%s'%s", what, word, hint);
    cli_message("see '%s'", help);
    return CLI_USAGE;
}

/* ---- options ----------------------------------------------------------------------- */

/* What follows the name of an option in a word: NULL, it is another option;
 * "", the name alone; or "=VALUE"; or "VALUE" after a name of one letter. */
static const char *after_name(const char *word, const char *name) {
    const size_t length = strlen(name);
    if (strncmp(word, name, length) != 0) return NULL;
    if (word[length] == '\0' || word[length] == '=') return word + length;
    return length == 2 && name[1] != '-' ? word + length : NULL; /* -DN=64 */
}

static cli_exit unknown_option(const cli_command *command, const cli_option *options,
                               const char *word) {
    const char *names[32];
    size_t count = 0;
    for (; options[count].name != NULL && count + 1 < sizeof names / sizeof names[0]; count++) {
        names[count] = options[count].name;
    }
    names[count++] = "--help";
    char help[64];
    snprintf(help, sizeof help, "spad %s --help", command->name);
    return cli_unknown("option", word, names, count, help);
}

static bool set_value(const cli_option *option, const char *value) {
    if (option->words == NULL) {
        *option->value = value;
        return true;
    }
    const size_t room = sizeof option->words->items / sizeof option->words->items[0];
    if (option->words->count == room) {
        cli_message("option '%s' is given more than %zu times", option->name, room);
        return false;
    }
    option->words->items[option->words->count++] = value;
    return true;
}

/* A value that was forgotten must not swallow the option after it; "-" and "-1" are values. */
static bool looks_like_option(const char *word) {
    return strncmp(word, "--", 2) == 0;
}

/* Takes words[*at], which starts with "--", and its value. */
static bool take_option(const cli_command *command, const cli_option *options, int *at, int total,
                        char **words, cli_exit *exit) {
    const char *word = words[*at];
    const char *rest = NULL;
    const cli_option *option = options;
    while (option->name != NULL && (rest = after_name(word, option->name)) == NULL) option++;
    *exit = CLI_USAGE;
    if (rest == NULL) {
        *exit = unknown_option(command, options, word);
    } else if (option->flag != NULL && *rest != '\0') {
        cli_message("option '%s' takes no value", option->name);
    } else if (option->flag != NULL) {
        *option->flag = true;
        return true;
    } else if (*rest != '\0') {
        return set_value(option, *rest == '=' ? rest + 1 : rest);
    } else if (*at + 1 < total && looks_like_option(words[*at + 1])) {
        const char *next = words[*at + 1];
        cli_message(
            "option '%s' needs a value, and '%s' looks like an option; a file of that name is "
            "'./%s'",
            option->name, next, next);
    } else if (*at + 1 < total) {
        return set_value(option, words[++*at]);
    } else {
        cli_message("option '%s' needs a value", option->name);
    }
    return false;
}

bool cli_take_options(const cli_command *command, const cli_option *options, int *count,
                      char **words, cli_exit *exit) {
    const int total = *count;
    bool options_end = false;
    int colors;
    *count = 0;
    for (int i = 0; i < total; i++) {
        char *word = words[i];
        if (options_end || word[0] != '-' || word[1] == '\0') {
            words[(*count)++] = word;
        } else if (strcmp(word, "--") == 0) {
            options_end = true;
        } else if (strcmp(word, "--help") == 0 || strcmp(word, "-h") == 0) {
            fputs(command->usage, stdout);
            *exit = CLI_FINE;
            return false;
        } else if ((colors = cli_count_color(words + i, total - i)) > 0) {
            *exit = CLI_USAGE;
            if (!cli_take_color(words + i, colors)) return false;
            i += colors - 1;
        } else if (!take_option(command, options, &i, total, words, exit)) {
            return false;
        }
    }
    return true;
}

bool cli_take_number(const char *option, const char *word, int64_t least, int64_t *out) {
    char *end;
    errno = 0;
    const long long value = strtoll(word, &end, 10);
    *out = value;
    if (errno == 0 && end != word && *end == '\0' && value >= least) return true;
    if (errno == ERANGE && *end == '\0' && value > 0) {
        cli_message("option '%s' needs a whole number below 2^63, not '%s'", option, word);
        return false;
    }
    cli_message("option '%s' needs a whole number of at least %lld, not '%s'", option,
                (long long)least, word);
    return false;
}

bool cli_take_bytes(const char *option, const char *word, int64_t least, int64_t *out) {
    if (spad_bytes_parse(out, word, strlen(word)) && *out >= least) return true;
    cli_message("option '%s' needs bytes, at least %lld, such as 4096, 0x1000 or 4KiB, not '%s'",
                option, (long long)least, word);
    return false;
}

bool cli_take_seconds(const char *option, const char *word, int64_t *out) {
    const char *p = word;
    int64_t value = 0;
    int decimals = -1;
    for (; *p != '\0' && value < INT64_MAX / 100; p++) {
        if (*p == '.' && decimals < 0) {
            decimals = 0;
        } else if (*p >= '0' && *p <= '9' && decimals < 9) {
            value = value * 10 + (*p - '0');
            decimals += decimals >= 0;
        } else {
            break;
        }
    }
    bool fine = *p == '\0' && p != word && value > 0;
    for (int k = decimals < 0 ? 0 : decimals; k < 9 && fine; k++) {
        fine = value < INT64_MAX / 10;
        if (fine) value *= 10;
    }
    *out = value;
    if (!fine) cli_message("option '%s' needs seconds, such as 0.5, not '%s'", option, word);
    return fine;
}

int64_t cli_clock(void) {
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (int64_t)now.tv_sec * 1000000000 + now.tv_nsec;
}

int64_t cli_time_left(int64_t timeout_ns, int64_t started) {
    if (timeout_ns == 0) return 0;
    const int64_t left = timeout_ns - (cli_clock() - started);
    return left > 1 ? left : 1;
}

/* ---- JSON -------------------------------------------------------------------------- */

/* Puts two blanks in front of every line, and leaves out the line end after
 * the item: the next comma or bracket brings it. */
static int write_indented(void *context, const char *bytes, size_t count) {
    cli_list *list = context;
    for (size_t i = 0; i < count; i++) {
        if (list->line_start) fputs("\n  ", stdout);
        list->line_start = bytes[i] == '\n';
        if (!list->line_start) fputc(bytes[i], stdout);
    }
    return ferror(stdout) ? -1 : 0;
}

void cli_list_open(cli_list *list) {
    *list = (cli_list){.items = {.write = write_indented, .context = list}};
    fputc('[', stdout);
}

void cli_list_next(cli_list *list) {
    if (list->any) fputc(',', stdout);
    list->any = true;
    list->line_start = true;
}

void cli_list_close(cli_list *list) {
    fputs(list->any ? "\n]\n" : "]\n", stdout);
}

void cli_object_open(cli_list *list) {
    *list = (cli_list){.items = {.write = write_indented, .context = list}};
    fputc('{', stdout);
}

void cli_object_key(cli_list *list, const char *key) {
    printf("%s\n  \"%s\": ", list->any ? "," : "", key);
    list->any = true;
    list->line_start = false;
}

void cli_object_close(cli_list *list) {
    fputs(list->any ? "\n}\n" : "}\n", stdout);
}
