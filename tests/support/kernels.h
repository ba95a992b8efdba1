/* SPDX-License-Identifier: Apache-2.0
 *
 * Kernels from texts that must be right: a fault ends the test, and the faults are printed. */
#ifndef SPAD_TEST_KERNELS_H
#define SPAD_TEST_KERNELS_H

#include "spad/check.h"
#include "spad/kernel.h"

/* A text as the file "k.spad". The kernel is destroyed by the caller. */
spad_kernel *test_parse(const char *text);
spad_kernel *test_parse_with(const char *text, const spad_kernel_options *options);
spad_kernel *test_parse_named(const char *text, const char *name,
                              const spad_kernel_options *options);

/* A check of one shape of the kernel, with each of its allocations failing. */
void test_check_without_memory(const spad_kernel *kernel);

/* The check of a text has a finding with exactly that message. */
void test_check_says(const char *text, const char *message);

/* The check of a text ends with that verdict. */
void test_check_ends(const char *text, spad_verdict verdict);

#endif
