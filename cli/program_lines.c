/* SPDX-License-Identifier: Apache-2.0
 *
 * The files of the program that a kernel was compiled from. Those that cannot be read are left out:
 * findings then name the line without its text.
 */
#define _XOPEN_SOURCE 700
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "cli.h"

enum { PATH_ROOM = 4096 };

/* A relative name is relative to the folder of the module. */
static bool find_source_file(char path[PATH_ROOM], const char *name, const char *module) {
    const char *slash = strrchr(module, '/');
    const int folder = name[0] == '/' || slash == NULL ? 0 : (int)(slash - module) + 1;
    const int length = snprintf(path, PATH_ROOM, "%.*s%s", folder, module, name);
    struct stat about;
    return length > 0 && length < PATH_ROOM && stat(path, &about) == 0 && S_ISREG(about.st_mode) &&
           about.st_size <= (off_t)CLI_TEXT_MIB << 20;
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
        spad_kernel_set_program(kernel, spad_kernel_get_source(kernel, i)->file, text.bytes,
                                text.length, NULL);
        free(text.bytes);
    }
}
