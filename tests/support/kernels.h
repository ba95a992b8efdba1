/* SPDX-License-Identifier: Apache-2.0
 *
 * Kernels from texts that must be right, with layouts and checks: a fault ends the test, and the
 * faults are printed. */
#ifndef SPAD_TEST_KERNELS_H
#define SPAD_TEST_KERNELS_H

#include "spad/check.h"
#include "spad/experimental/kernel_rows.h"
#include "spad/layout.h"

/* A text as the file "k.spad". The kernel is destroyed by the caller. */
spad_kernel *test_parse(const char *text);
spad_kernel *test_parse_with(const char *text, const spad_kernel_options *options);
spad_kernel *test_parse_named(const char *text, const char *name,
                              const spad_kernel_options *options);

/* A text is read, and its kernel used (NULL: it is not), with each of the allocations failing. The
 * use returns the status of its first failed call and frees all it made. */
typedef spad_status test_kernel_use(const spad_kernel *kernel, const spad_host *host);
void test_read_without_memory(const char *text, test_kernel_use *use);

/* Uses of a kernel: a check, a layout, a layout with its check. */
spad_status test_use_check(const spad_kernel *kernel, const spad_host *host);
spad_status test_use_layout(const spad_kernel *kernel, const spad_host *host);
spad_status test_use_checked_layout(const spad_kernel *kernel, const spad_host *host);

/* A text with the layout in which tiles share bytes where a check proves it. */
typedef struct test_laid_out {
    spad_kernel *kernel;
    spad_layout *layout;
    spad_check *check;            /* NULL: none was needed */
    const spad_layout_space *row; /* the first one of the layout */
} test_laid_out;

test_laid_out test_lay_out(const char *text);
void test_laid_out_free(test_laid_out *placed);

/* A check of one shape of the kernel, with each of its allocations failing. */
void test_check_without_memory(const spad_kernel *kernel);

/* The check of a text has a finding with exactly that message. */
void test_check_says(const char *text, const char *message);

/* The check of a text ends with that verdict. */
void test_check_ends(const char *text, spad_verdict verdict);

#endif
