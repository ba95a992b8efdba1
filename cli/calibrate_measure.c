/* SPDX-License-Identifier: Apache-2.0
 *
 * Runs the measurements of spad calibrate: writes their source into a folder of its own, compiles
 * it with nvcc, runs it on the device and reads what it prints.
 */
#define _POSIX_C_SOURCE 200809L
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "calibrate.h"

enum { PATH_ROOM = 512, SKIPPED = 77 };

/* The folder of one run. */
typedef struct workshop {
    char folder[PATH_ROOM];
    char source[PATH_ROOM];
    char header[PATH_ROOM];
    char program[PATH_ROOM];
    char figures[PATH_ROOM];
} workshop;

static bool name_file(char *out, const char *folder, const char *name) {
    const int length = snprintf(out, PATH_ROOM, "%s/%s", folder, name);
    return length > 0 && length < PATH_ROOM;
}

static bool open_workshop(workshop *w) {
    const char *base = getenv("TMPDIR");
    if (base == NULL || base[0] == '\0') base = "/tmp";
    if (!name_file(w->folder, base, "spad-calibrate-XXXXXX") || mkdtemp(w->folder) == NULL) {
        cli_message("cannot make a folder in '%s': %s", base, strerror(errno));
        w->folder[0] = '\0';
        return false;
    }
    return name_file(w->source, w->folder, "figures.cu") &&
           name_file(w->header, w->folder, "hopper.h") &&
           name_file(w->program, w->folder, "figures") &&
           name_file(w->figures, w->folder, "figures.csv");
}

static void close_workshop(const workshop *w) {
    if (w->folder[0] == '\0') return;
    unlink(w->source);
    unlink(w->header);
    unlink(w->program);
    unlink(w->figures);
    rmdir(w->folder);
}

static bool put_file(const char *path, const char *bytes, size_t size) {
    FILE *file = fopen(path, "wb");
    bool fine = file != NULL && fwrite(bytes, 1, size, file) == size;
    if (file != NULL && fclose(file) != 0) fine = false;
    if (!fine) cli_message("cannot write '%s': %s", path, strerror(errno));
    return fine;
}

static bool compile(workshop *w) {
    char flags[] = "-O3", standard[] = "-std=c++17", output[] = "-o";
    char code[] = "-gencode=arch=compute_90a,code=sm_90a";
    char *const words[] = {cli_find_nvcc(), flags,  standard,   code,
                           w->source,       output, w->program, NULL};
    const int exit_code = cli_run_program(words, NULL);
    if (exit_code == 0) return true;
    cli_message("the measurements were not compiled; 'spad calibrate' needs nvcc of CUDA 12 or "
                "later, on the path or in NVCC");
    return false;
}

static cli_exit measure_in(cli_text *out, workshop *w, int64_t device) {
    char number[24];
    snprintf(number, sizeof number, "%" PRId64, device);
    if (!put_file(w->source, cli_cuda_cu, cli_cuda_cu_size) ||
        !put_file(w->header, cli_cuda_h, cli_cuda_h_size) || !compile(w)) {
        return CLI_INTERNAL;
    }
    char *const words[] = {w->program, number, NULL};
    const int exit_code = cli_run_program(words, w->figures);
    if (exit_code == 0) return cli_read(out, w->figures, CLI_TEXT_MIB);
    if (exit_code == SKIPPED) return CLI_USAGE; /* it said why */
    cli_message("the measurements ended with exit code %d", exit_code);
    return CLI_INTERNAL;
}

cli_exit cli_measure(cli_text *out, int64_t device) {
    workshop w = {.folder = ""};
    const cli_exit exit = open_workshop(&w) ? measure_in(out, &w, device) : CLI_INTERNAL;
    close_workshop(&w);
    return exit;
}
