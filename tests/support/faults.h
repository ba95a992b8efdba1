/* SPDX-License-Identifier: Apache-2.0
 *
 * Texts with one fault each, for the readers of our languages: where it is, and its message. */
#ifndef SPAD_TEST_FAULTS_H
#define SPAD_TEST_FAULTS_H

#include <stddef.h>

#include "spad/source.h"

typedef struct test_fault {
    const char *text;
    int line; /* of the text */
    int column;
    int width;
    const char *message;
} test_fault;

/* Reads a text as a file of that name; asserts that it gives no object when it fails. */
typedef spad_status (*test_reader)(const char *text, const char *file,
                                   spad_diagnostics *diagnostics, spad_error *error);

/* Every text between `before` and `after` has its fault and no other. */
void test_check_faults(test_reader read, const char *before, const char *after,
                       const test_fault *cases, size_t count);

#define TEST_FAULTS(read, before, after, cases) \
    test_check_faults(read, before, after, cases, sizeof(cases) / sizeof(cases)[0])

#endif
