/* SPDX-License-Identifier: Apache-2.0
 *
 * spad calibrate: measures a device and writes a target file with what it is.
 */
#define _POSIX_C_SOURCE 200809L
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "calibrate.h"

static const char usage[] =
    "usage: spad calibrate DEVICE [-o OUT.chip] [--figures OUT.csv] [--name NAME]\n"
    "       spad calibrate FIGURES.csv [-o OUT.chip] [--name NAME]\n"
    "\n"
    "Measures a GPU (DEVICE is cuda:0, cuda:1 ...) with small programs, which nvcc compiles, and\n"
    "writes a target file with rates, latencies and their spread: 'spad sim --target OUT.chip' is\n"
    "then in the time of that device. Needs compute capability 9.0. With a file of figures that\n"
    "were measured before, fits the same target file without a device. See docs/calibrate.md\n"
    "\n"
    "  -o OUT.chip               the target file; stdout without it\n"
    "  --figures OUT.csv         the single measurements as well\n"
    "  --name NAME               the name of the target; 'measured' without it\n";

/* "spad calibrate cuda:0, 2026-11-15", of the day of the measurement. */
enum { ORIGIN_ROOM = 160 };

static bool is_device(const char *word, int64_t *number) {
    if (strncmp(word, "cuda:", 5) != 0) return false;
    char *end;
    *number = strtoll(word + 5, &end, 10);
    return word[5] >= '0' && word[5] <= '9' && *end == '\0';
}

/* The figures with a first line that says where they come from. */
static cli_exit measure(cli_text *text, char origin[ORIGIN_ROOM], int64_t device) {
    cli_text measured = {0};
    const cli_exit exit = cli_measure(&measured, device);
    if (exit != CLI_FINE) return exit;
    char day[16] = "?";
    const time_t now = time(NULL);
    struct tm parts;
    if (gmtime_r(&now, &parts) != NULL) strftime(day, sizeof day, "%Y-%m-%d", &parts);
    snprintf(origin, ORIGIN_ROOM, "spad calibrate cuda:%lld, %s", (long long)device, day);
    const size_t size = measured.length + ORIGIN_ROOM + 8;
    text->bytes = malloc(size);
    if (text->bytes != NULL) {
        text->length = (size_t)snprintf(text->bytes, size, "# %s\n%s", origin, measured.bytes);
    }
    free(measured.bytes);
    if (text->bytes != NULL) return CLI_FINE;
    cli_message("out of memory");
    return CLI_INTERNAL;
}

/* Figures from a file; its first line says where they come from. */
static cli_exit read_recorded(cli_text *text, char origin[ORIGIN_ROOM], const char *path) {
    const cli_exit exit = cli_read(text, path, CLI_TEXT_MIB);
    if (exit != CLI_FINE) return exit;
    const size_t length = strcspn(text->bytes, "\n");
    if (text->bytes[0] != '#' || length < 3 || length - 2 >= ORIGIN_ROOM ||
        memchr(text->bytes, '"', length) != NULL) {
        cli_message("%s:1: figures begin with '# ' and where they come from", cli_input_name(path));
        return CLI_USAGE;
    }
    memcpy(origin, text->bytes + 2, length - 2);
    origin[length - 2] = '\0';
    return CLI_FINE;
}

/* A text that is complete, as cli_write_file wants it. */
static spad_status write_text(const spad_sink *sink, const void *context, spad_error *error) {
    (void)error;
    const cli_text *text = context;
    return sink->write(sink->context, text->bytes, text->length) == 0 ? SPAD_OK : SPAD_ERR_IO;
}

static cli_exit write_chip(const cli_figures *figures, const char *name, const char *origin,
                           const char *path) {
    cli_text chip = {0};
    FILE *out = open_memstream(&chip.bytes, &chip.length);
    if (out == NULL) {
        cli_message("out of memory");
        return CLI_INTERNAL;
    }
    const bool complete = cli_write_chip(out, figures, name, origin);
    cli_exit exit = fclose(out) == 0 ? CLI_FINE : CLI_INTERNAL;
    if (exit == CLI_FINE && !complete) exit = CLI_USAGE;
    if (exit == CLI_FINE) exit = cli_write_file(path, write_text, &chip);
    free(chip.bytes);
    return exit;
}

static cli_exit run(const cli_command *command, int count, char **words) {
    const char *out = "-";
    const char *figures_path = NULL;
    const char *name = "measured";
    const cli_option options[] = {{.name = "-o", .value = &out},
                                  {.name = "--figures", .value = &figures_path},
                                  {.name = "--name", .value = &name},
                                  {0}};
    cli_exit exit;
    if (!cli_take_options(command, options, &count, words, &exit)) return exit;
    if (count != 1) {
        cli_message("calibrate needs a device or a file of figures; 'spad calibrate --help'");
        return CLI_USAGE;
    }
    cli_text text = {0};
    char origin[ORIGIN_ROOM];
    int64_t device;
    const bool measures = is_device(words[0], &device);
    exit = measures ? measure(&text, origin, device) : read_recorded(&text, origin, words[0]);
    if (exit == CLI_FINE && measures && figures_path != NULL) {
        exit = cli_write_file(figures_path, write_text, &text);
    }
    cli_figures *figures = exit == CLI_FINE ? malloc(sizeof *figures) : NULL;
    if (figures != NULL) {
        exit = cli_read_figures(figures, &text, words[0]);
        if (exit == CLI_FINE) exit = write_chip(figures, name, origin, out);
    } else if (exit == CLI_FINE) {
        cli_message("out of memory");
        exit = CLI_INTERNAL;
    }
    free(figures);
    free(text.bytes);
    return exit;
}

const cli_command cli_calibrate = {
    .name = "calibrate",
    .about = "measure a GPU and write a target file with its figures",
    .usage = usage,
    .run = run,
};
