/* SPDX-License-Identifier: Apache-2.0
 * What the tests of reports share. See reports.h. */
#include "support/reports.h"

static const spad_space spaces[] = {
    {.name = "pad",
     .lanes = TOY_LANES,
     .bytes = TOY_BYTES,
     .reserved = 4,
     .alignment = 1,
     .granule = 1,
     .bank_bytes = 8},
    {.name = "far", .lanes = 1, .bytes = SPAD_UNBOUNDED, .alignment = 1, .granule = 1},
};
const spad_target test_report_target = {
    .name = "toy", .about = "a toy", .space_count = 2, .spaces = spaces};

spad_report *test_report_new(void) {
    spad_report *report;
    spad_error error;
    assert_ok(spad_report_create(&report, &test_report_target, NULL, &error), &error);
    return report;
}

spad_report_box test_box(const char *name, int64_t lane, int64_t lanes, int64_t byte, int64_t bytes,
                         int64_t begin, int64_t end) {
    return (spad_report_box){.name = name,
                             .rect = {lane, lanes, byte, bytes},
                             .begin = begin,
                             .end = end,
                             .family = SPAD_NO_FAMILY};
}

void test_report_add(spad_report *report, spad_report_box box) {
    spad_error error;
    assert_ok(spad_report_add_box(report, &box, &error), &error);
}

const char test_ring_text[] = "kernel ring on trn2\n"
                              "param N = 6\n"
                              "tensor x   : sbuf bf16 [N] (128, 512) ring 2\n"
                              "tensor in  : hbm bf16 [N] (128, 512) input\n"
                              "tensor out : hbm bf16 [N] (128, 512) output\n"
                              "for i in 0..N {\n"
                              "    dma load  reads in[i] writes x[i]\n"
                              "    dma store reads x[i] writes out[i]\n"
                              "}\n";

const spad_format test_formats[TEST_FORMATS] = {SPAD_FORMAT_TEXT,  SPAD_FORMAT_SVG,
                                                SPAD_FORMAT_HTML,  SPAD_FORMAT_JSON,
                                                SPAD_FORMAT_TRACE, SPAD_FORMAT_LIGHT};
