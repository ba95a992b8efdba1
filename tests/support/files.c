/* SPDX-License-Identifier: Apache-2.0 */
#include "support/files.h"

#include <dirent.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "support/support.h"

enum { PATH_ROOM = 512, TEXT_MAX = 1 << 17 };

char *test_read_file(const char *path) {
    char whole[PATH_ROOM];
    snprintf(whole, sizeof whole, "%s/%s", SPAD_SOURCE_DIR, path);
    FILE *file = fopen(whole, "rb");
    if (file == NULL) print_error("cannot open %s\n", whole);
    assert_non_null(file);
    char *text = calloc(1, TEXT_MAX);
    assert_non_null(text);
    assert_true(fread(text, 1, TEXT_MAX - 1, file) < TEXT_MAX - 1);
    fclose(file);
    return text;
}

static int compare_names(const void *left, const void *right) {
    return strcmp(left, right);
}

void test_list_kernels(test_files *files, const char *folder) {
    char whole[PATH_ROOM];
    snprintf(whole, sizeof whole, "%s/%s", SPAD_SOURCE_DIR, folder);
    DIR *directory = opendir(whole);
    assert_non_null(directory);
    files->count = 0;
    for (const struct dirent *entry; (entry = readdir(directory)) != NULL;) {
        const char *end = strrchr(entry->d_name, '.');
        if (end == NULL || strcmp(end, ".spad") != 0) continue;
        assert_true(files->count < TEST_FILES_MAX && strlen(entry->d_name) < TEST_NAME_MAX);
        snprintf(files->names[files->count++], TEST_NAME_MAX, "%.63s", entry->d_name);
    }
    closedir(directory);
    qsort(files->names, files->count, sizeof files->names[0], compare_names);
}
