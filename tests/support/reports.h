/* SPDX-License-Identifier: Apache-2.0
 *
 * What the tests of reports share: a small target, boxes on it, a kernel with a ring, and the
 * list of writers.
 */
#ifndef SPAD_TEST_REPORTS_H
#define SPAD_TEST_REPORTS_H

#include "spad/spad.h"
#include "support/support.h"

enum { TOY_LANES = 4, TOY_BYTES = 40, TOY_TIMES = 24 };

/* A space "pad" of four lanes, with reserved bytes and banks, and "far" without a limit. */
extern const spad_target test_report_target;

/* These fail the test if the call does. */
spad_report *test_report_new(void);
void test_report_add(spad_report *report, spad_report_box box);

spad_report_box test_box(const char *name, int64_t lane, int64_t lanes, int64_t byte, int64_t bytes,
                         int64_t begin, int64_t end);

/* A kernel of trn2 with a ring of two. */
extern const char test_ring_text[];

enum { TEST_FORMATS = 6 };
extern const spad_format test_formats[TEST_FORMATS];

#endif
