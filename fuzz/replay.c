/* SPDX-License-Identifier: Apache-2.0
 *
 * Runs a fuzz target over files: every argument is a file or a folder of
 * files and folders. Fails if a file cannot be read, or if there was none.
 */
#define _POSIX_C_SOURCE 200809L
#include <dirent.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

/* Returns the number of files run, or -1. */
static long replay_file(const char *path) {
    FILE *file = fopen(path, "rb");
    if (file == NULL || fseek(file, 0, SEEK_END) != 0) {
        perror(path);
        return -1;
    }
    const long size = ftell(file);
    rewind(file);
    /* A block of exactly the size, so that reading beyond it is caught. */
    uint8_t *data = size > 0 ? malloc((size_t)size) : NULL;
    const size_t got = data != NULL ? fread(data, 1, (size_t)size, file) : 0;
    fclose(file);
    if (size < 0 || got != (size_t)size) {
        perror(path);
        free(data);
        return -1;
    }
    LLVMFuzzerTestOneInput(data, got);
    free(data);
    return 1;
}

static long replay(const char *path);

static long replay_folder(DIR *folder, const char *path) {
    long count = 0;
    const struct dirent *entry;
    while (count >= 0 && (entry = readdir(folder)) != NULL) {
        if (entry->d_name[0] == '.') continue;
        char name[4096];
        snprintf(name, sizeof name, "%s/%s", path, entry->d_name);
        const long run = replay(name);
        count = run < 0 ? -1 : count + run;
    }
    closedir(folder);
    return count;
}

static long replay(const char *path) {
    DIR *folder = opendir(path);
    return folder != NULL ? replay_folder(folder, path) : replay_file(path);
}

int main(int argc, char **argv) {
    long total = 0;
    for (int i = 1; i < argc; i++) {
        const long count = replay(argv[i]);
        if (count < 0) return 1;
        total += count;
    }
    printf("%ld inputs\n", total);
    return total > 0 ? 0 : 1;
}
