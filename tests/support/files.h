/* SPDX-License-Identifier: Apache-2.0
 *
 * Files of the source tree that tests read: the kernels that we ship, and the manual. Paths are
 * relative to the root of the tree. */
#ifndef SPAD_TEST_FILES_H
#define SPAD_TEST_FILES_H

#include <stddef.h>

#define TEST_KERNELS "examples/kernels"

/* The text of a file with a NUL after it; freed by the caller. */
char *test_read_file(const char *path);

/* The text with a diff of the manual applied; freed by the caller. Of a hunk the lines with '-' go,
 * those with '+' come, and the others stay; without those with '+' it is in the text exactly once.
 * A line "@@" separates hunks. */
char *test_apply_diff(const char *text, const char *diff, size_t length);

enum { TEST_FILES_MAX = 128, TEST_NAME_MAX = 64 };

/* Names of the kernels in a folder, sorted. */
typedef struct test_files {
    size_t count;
    char names[TEST_FILES_MAX][TEST_NAME_MAX];
} test_files;

void test_list_kernels(test_files *files, const char *folder);

#endif
