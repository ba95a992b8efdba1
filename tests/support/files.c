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

/* One side of a hunk: its lines without the mark in front, and without those of the other side. */
static char *side_of_hunk(const char *hunk, const char *end, char other) {
    char *side = calloc(1, (size_t)(end - hunk) + 1);
    assert_non_null(side);
    char *to = side;
    for (const char *line = hunk; line < end;) {
        const size_t length = strcspn(line, "\n") + 1;
        const size_t mark = *line != '\n';
        if (*line != other) {
            memcpy(to, line + mark, length - mark);
            to += length - mark;
        }
        line += length;
    }
    return side;
}

/* The only place where whole lines are in a text. */
static char *only_place(char *text, const char *lines) {
    char *found = NULL;
    int count = 0;
    for (char *at = strstr(text, lines); at != NULL; at = strstr(at + 1, lines)) {
        if (at > text && at[-1] != '\n') continue;
        found = at;
        count++;
    }
    if (count != 1) print_error("%d times in the kernel:\n%s", count, lines);
    assert_int_equal(count, 1);
    return found;
}

char *test_apply_diff(const char *text, const char *diff, size_t length) {
    const size_t room = strlen(text) + length + 1;
    char *changed = calloc(1, room);
    assert_non_null(changed);
    memcpy(changed, text, strlen(text));
    const char *const end = diff + length;
    for (const char *hunk = diff; hunk < end;) {
        const char *next = strstr(hunk, "@@\n");
        const char *const stop = next != NULL && next < end ? next : end;
        char *from = side_of_hunk(hunk, stop, '+');
        char *to = side_of_hunk(hunk, stop, '-');
        char *at = only_place(changed, from);
        memmove(at + strlen(to), at + strlen(from), strlen(at + strlen(from)) + 1);
        memcpy(at, to, strlen(to));
        free(from);
        free(to);
        hunk = stop < end ? stop + strlen("@@\n") : end;
    }
    return changed;
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
