/* SPDX-License-Identifier: Apache-2.0
 *
 * The files of a check: unknown values around the proof, and results as JSON.
 */
#ifndef SPAD_VERIFY_VERIFY_H
#define SPAD_VERIFY_VERIFY_H

#include "base/text.h"
#include "finding/findings.h"
#include "spad/check.h"

/* A check as one value of a larger document; kernel NULL: of a text that cannot be read. */
void spad__json_check(spad__json *json, const spad_check *check, const spad_kernel *kernel);

/* Proves the kernel of `run` (prove/prove.h) for all values that are not known. */
spad_status spad__prove_unknowns(spad__run *run, spad_error *error);

/* "proved for all N >= 1", "unknown: " and the reason, "wrong". */
void spad__verdict_text(char *text, size_t size, spad_verdict verdict, const char *reason);

/* Adds an error SPAD-DOES-NOT-FIT for every memory that is too small in a layout of the checked
 * kernel. SPAD_ERR_HOST_MEMORY; SPAD_ERR_ARGUMENT: the layout of another kernel. */
spad_status spad__check_add_layout(spad_check *check, const spad_layout *layout, spad_error *error);

/* The same for a kernel without a layout: `fault` is the error of spad_layout_create. */
spad_status spad__check_add_fault(spad_check *check, const spad_error *fault, spad_error *error);

#endif
