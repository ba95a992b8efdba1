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

/* Makes known faults of the compiler of the kernel findings of their own severity. The verdict
 * stays: the kernel is wrong, whoever made it so. Last of all, since passes count errors. */
void spad__blame_compiler(spad_check *check, const spad_kernel *kernel);

/* Gives findings without one a fingerprint, in their order; kernel NULL: it is not known. */
void spad__name_findings(spad_check *check, const spad_kernel *kernel);

/* Finds which findings are of one cause. */
void spad__find_causes(spad_check *check);

/* The last step of a check: whose fault findings are, which of them the user wants to hear of, and
 * which are of one cause. */
void spad__settle(spad_check *check, const spad_kernel *kernel, const spad_check_policy *policy);

/* Adds an error SPAD-DOES-NOT-FIT for every memory that is too small in a layout of the checked
 * kernel. SPAD_ERR_HOST_MEMORY; SPAD_ERR_ARGUMENT: the layout of another kernel. */
spad_status spad__check_add_layout(spad_check *check, const spad_layout *layout, spad_error *error);

/* The same for a kernel without a layout: `fault` is the error of spad_layout_create. */
spad_status spad__check_add_fault(spad_check *check, const spad_error *fault, spad_error *error);

#endif
