/* SPDX-License-Identifier: Apache-2.0
 *
 * The texts of the lines that a kernel was compiled from, out of the files of its program. Files
 * that cannot be read are left out: reports then name the line without its text.
 */
#define _XOPEN_SOURCE 700
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "cli.h"

enum { LINE_ROOM = 160, PATH_ROOM = 4096 };

/* A relative name is relative to the folder of the module. */
static bool find_source_file(char path[PATH_ROOM], const char *name, const char *module) {
    const char *slash = strrchr(module, '/');
    const int folder = name[0] == '/' || slash == NULL ? 0 : (int)(slash - module) + 1;
    const int length = snprintf(path, PATH_ROOM, "%.*s%s", folder, module, name);
    struct stat about;
    return length > 0 && length < PATH_ROOM && stat(path, &about) == 0 && S_ISREG(about.st_mode) &&
           about.st_size <= (off_t)CLI_TEXT_MIB << 20;
}

/* The line at `at`, cut to the room. */
static void take_line(char out[LINE_ROOM], const char *at, const char *end) {
    size_t used = 0;
    for (; at < end && *at != '\n' && *at != '\r' && used + 1 < LINE_ROOM; at++)
        out[used++] = *at == '\t' ? ' ' : *at;
    out[used] = '\0';
    spad_text_clean(out);
}

/* Starts of lines; NULL: no memory. */
static const char **find_lines(const cli_text *text, size_t *count) {
    const char *end = text->bytes + text->length;
    *count = 1;
    for (const char *at = text->bytes; (at = memchr(at, '\n', (size_t)(end - at))) != NULL; at++)
        ++*count;
    const char **lines = malloc(*count * sizeof *lines);
    if (lines == NULL) return NULL;
    size_t number = 0;
    lines[number++] = text->bytes;
    for (const char *at = text->bytes; (at = memchr(at, '\n', (size_t)(end - at))) != NULL;)
        lines[number++] = ++at;
    return lines;
}

/* All sources from `first` on that are in its file. */
static void fill_file(spad_kernel *kernel, size_t first, const cli_text *text) {
    const char *file = spad_kernel_get_source(kernel, first)->file;
    size_t count;
    const char **lines = find_lines(text, &count);
    for (size_t i = first; lines != NULL && i < spad_kernel_source_count(kernel); i++) {
        const spad_kernel_source *source = spad_kernel_get_source(kernel, i);
        char line[LINE_ROOM];
        if (source->line < 1 || (size_t)source->line > count || strcmp(source->file, file) != 0)
            continue;
        take_line(line, lines[source->line - 1], text->bytes + text->length);
        spad_kernel_set_code(kernel, i, line, NULL);
    }
    free(lines);
}

static bool has_older(const spad_kernel *kernel, size_t source) {
    const char *file = spad_kernel_get_source(kernel, source)->file;
    for (size_t i = 0; i < source; i++) {
        if (strcmp(spad_kernel_get_source(kernel, i)->file, file) == 0) return true;
    }
    return false;
}

void cli_read_program(spad_kernel *kernel, const char *module) {
    char path[PATH_ROOM];
    for (size_t i = 0; i < spad_kernel_source_count(kernel); i++) {
        cli_text text;
        if (has_older(kernel, i) ||
            !find_source_file(path, spad_kernel_get_source(kernel, i)->file, module) ||
            cli_read(&text, path, CLI_TEXT_MIB) != CLI_FINE)
            continue;
        fill_file(kernel, i, &text);
        free(text.bytes);
    }
}
