/* SPDX-License-Identifier: Apache-2.0
 *
 * Options, messages, input and JSON lists of the commands.
 */
#define _POSIX_C_SOURCE 200809L
#include <errno.h>
#include <limits.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>

#include "cli.h"

/* ---- messages ---------------------------------------------------------------------- */

void cli_say(const char *format, ...) {
    va_list arguments;
    va_start(arguments, format);
    fputs("spad: ", stderr);
    vfprintf(stderr, format, arguments);
    fputc('\n', stderr);
    va_end(arguments);
}

static cli_exit exit_of(const spad_error *error) {
    return error->code <= SPAD_ERR_HOST_MEMORY ? CLI_INTERNAL : CLI_USAGE;
}

cli_exit cli_fail(const spad_error *error) {
    if (error->line > 0) {
        cli_say("%s:%ld:%ld: %s", error->file, (long)error->line, (long)error->column,
                error->message);
    } else {
        cli_say("%s", error->message);
    }
    return exit_of(error);
}

cli_exit cli_fail_input(const spad_error *error, const char *path, bool json) {
    const spad_sink results = spad_sink_file(stdout);
    if (json) spad_error_write_json(error, cli_input_name(path), &results, NULL);
    if (error->line > 0) return cli_fail(error);
    cli_say("%s: %s", cli_input_name(path), error->message);
    return exit_of(error);
}

cli_exit cli_fail_kernel(const spad_error *error, const char *path, bool json) {
    const cli_exit exit = cli_fail_input(error, path, json);
    const bool wrong = error->line > 0 || error->code == SPAD_ERR_NO_FIT;
    return exit == CLI_USAGE && wrong ? CLI_FINDINGS : exit;
}

cli_exit cli_unknown(const char *what, const char *word, const char *const *names, size_t count,
                     const char *help) {
    char hint[256];
    spad_close_names(hint, sizeof hint, word, names, count);
    cli_say("unknown %s '%s'%s", what, word, hint);
    cli_say("see '%s'", help);
    return CLI_USAGE;
}

/* ---- options ----------------------------------------------------------------------- */

/* What follows the name of an option in a word: NULL, it is another option;
 * "", the name alone; or "=VALUE"; or "VALUE" behind a name of one letter. */
static const char *behind_name(const char *word, const char *name) {
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
        cli_say("option '%s' is given more than %zu times", option->name, room);
        return false;
    }
    option->words->items[option->words->count++] = value;
    return true;
}

/* Takes words[*at], which starts with "--", and its value. */
static bool take_option(const cli_command *command, const cli_option *options, int *at, int total,
                        char **words, cli_exit *exit) {
    const char *word = words[*at];
    const char *rest = NULL;
    const cli_option *option = options;
    while (option->name != NULL && (rest = behind_name(word, option->name)) == NULL) option++;
    *exit = CLI_USAGE;
    if (option->name == NULL) {
        *exit = unknown_option(command, options, word);
    } else if (option->flag != NULL && *rest != '\0') {
        cli_say("option '%s' takes no value", option->name);
    } else if (option->flag != NULL) {
        *option->flag = true;
        return true;
    } else if (*rest != '\0') {
        return set_value(option, *rest == '=' ? rest + 1 : rest);
    } else if (*at + 1 < total) {
        return set_value(option, words[++*at]);
    } else {
        cli_say("option '%s' needs a value", option->name);
    }
    return false;
}

bool cli_take_options(const cli_command *command, const cli_option *options, int *count,
                      char **words, cli_exit *exit) {
    const int total = *count;
    bool options_end = false;
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
        cli_say("option '%s' needs a whole number below 2^63, not '%s'", option, word);
        return false;
    }
    cli_say("option '%s' needs a whole number of at least %lld, not '%s'", option, (long long)least,
            word);
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
    if (!fine) cli_say("option '%s' needs seconds, such as 0.5, not '%s'", option, word);
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

/* ---- files that are in use --------------------------------------------------------- */

/* What has been read or written, so that nothing is written over. A command has few; those that
 * do not fit are not looked after. */
typedef struct used_file {
    dev_t device;
    ino_t number;
    bool written;
} used_file;

static used_file used_files[64];
static size_t used_count;

static bool describe_file(int descriptor, used_file *out) {
    struct stat about;
    if (fstat(descriptor, &about) != 0 || !S_ISREG(about.st_mode)) return false;
    *out = (used_file){about.st_dev, about.st_ino, false};
    return true;
}

static void note_file(FILE *file, bool written) {
    used_file mine;
    if (used_count == sizeof used_files / sizeof used_files[0]) return;
    if (!describe_file(fileno(file), &mine)) return;
    mine.written = written;
    used_files[used_count++] = mine;
}

/* Why a file must not be written over; NULL: it may. */
static const char *why_in_use(const char *path) {
    struct stat about;
    if (stat(path, &about) != 0 || !S_ISREG(about.st_mode)) return NULL;
    for (size_t i = 0; i < used_count; i++) {
        const used_file *used = &used_files[i];
        if (used->device != about.st_dev || used->number != about.st_ino) continue;
        return used->written ? "another output is there already" : "it is the input";
    }
    return NULL;
}

/* ---- output ------------------------------------------------------------------------ */

FILE *cli_open_output(const char *path) {
    if (strcmp(path, "-") == 0) return stdout;
    const char *why = why_in_use(path);
    FILE *file = why == NULL ? fopen(path, "wb") : NULL;
    if (file == NULL) cli_say("cannot write '%s': %s", path, why != NULL ? why : strerror(errno));
    if (file != NULL) note_file(file, true);
    return file;
}

bool cli_close_output(FILE *file, const char *path) {
    const bool fine = file == stdout ? fflush(file) == 0 : (fclose(file) == 0);
    if (!fine) cli_say("writing '%s' failed", path);
    return fine;
}

/* ---- input ------------------------------------------------------------------------- */

const char *cli_input_name(const char *path) {
    return strcmp(path, "-") == 0 ? "<stdin>" : path;
}

/* Reads to the end; returns why not, or NULL. */
static const char *read_all(cli_text *out, FILE *file, size_t most, const char *too_large) {
    size_t capacity = 0;
    for (;;) {
        if (out->length == capacity) {
            capacity = capacity == 0 ? 1 << 14 : capacity * 2;
            char *grown = realloc(out->bytes, capacity);
            if (grown == NULL) return "out of memory";
            out->bytes = grown;
        }
        const size_t got = fread(out->bytes + out->length, 1, capacity - out->length, file);
        out->length += got;
        if (out->length > most) return too_large;
        if (got == 0) return ferror(file) ? strerror(errno) : NULL;
    }
}

/* A file that says its size need not be read to know that it is too large. */
static bool says_larger(FILE *file, size_t most) {
    const bool seeks = fseek(file, 0, SEEK_END) == 0;
    const long size = seeks ? ftell(file) : -1;
    rewind(file);
    return size > 0 && size != LONG_MAX && (size_t)size > most; /* a directory says LONG_MAX */
}

bool cli_read(cli_text *out, const char *path, cli_limit mebibytes) {
    const size_t most = (size_t)mebibytes << 20;
    char too_large[64];
    snprintf(too_large, sizeof too_large, "larger than %d MiB", (int)mebibytes);
    const bool is_stdin = strcmp(path, "-") == 0;
    *out = (cli_text){0};
    FILE *file = is_stdin ? stdin : fopen(path, "rb");
    const char *why = NULL;
    if (file == NULL)
        why = strerror(errno);
    else if (is_stdin && feof(stdin))
        why = "it has been read before";
    else if (!is_stdin && says_larger(file, most))
        why = too_large;
    else
        why = read_all(out, file, most, too_large);
    if (file != NULL && !is_stdin) note_file(file, false);
    if (file != NULL && !is_stdin) fclose(file);
    if (why == NULL) return true;
    cli_say("cannot read '%s': %s", cli_input_name(path), why);
    free(out->bytes);
    *out = (cli_text){0};
    return false;
}

/* ---- JSON -------------------------------------------------------------------------- */

/* Puts two blanks in front of every line, and leaves out the line end behind
 * the item: the next comma or bracket brings it. */
static int write_indented(void *ctx, const char *bytes, size_t count) {
    cli_list *list = ctx;
    for (size_t i = 0; i < count; i++) {
        if (list->line_start) fputs("\n  ", stdout);
        list->line_start = bytes[i] == '\n';
        if (!list->line_start) fputc(bytes[i], stdout);
    }
    return ferror(stdout) ? -1 : 0;
}

void cli_list_open(cli_list *list) {
    *list = (cli_list){.items = {.write = write_indented, .ctx = list}};
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
    *list = (cli_list){.items = {.write = write_indented, .ctx = list}};
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
