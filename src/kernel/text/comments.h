/* SPDX-License-Identifier: Apache-2.0
 *
 * Comments of a kernel's text; see comments.c.
 */
#ifndef SPAD_KERNEL_TEXT_COMMENTS_H
#define SPAD_KERNEL_TEXT_COMMENTS_H

#include "kernel/kernel.h"

/* Keeps the comments of `source` with the rows that were read from it. Once, after the last row.
 * False: no memory. */
bool spad__keep_comments(spad_kernel *kernel, const spad__source *source);

/* The comments of one line of that source: `count` of them from the returned one on. */
const spad__comment *spad__comments_of(const spad_kernel *kernel, int32_t line, size_t *count);

#endif
