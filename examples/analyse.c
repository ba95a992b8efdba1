/* SPDX-License-Identifier: Apache-2.0
 *
 * A kernel from text to places, verdict, times and a page: parse, analyse, print, draw.
 */
#include <stdio.h>
#include <string.h>

#include "spad/spad.h"

static const char text[] =
    "kernel exp_rows on trn2\nparam N = 16\n"
    "tensor in  : hbm  bf16 [N] (128, 512) input\n"
    "tensor x   : sbuf bf16 [N] (128, 512) ring 2\n"
    "tensor out : hbm  bf16 [N] (128, 512) output\n"
    "for i in 0..N { dma load reads in[i] writes x[i]; scalar exp updates x[i]\n"
    "                dma store reads x[i] writes out[i] }\n";

int main(int argc, char **argv) {
    const size_t length = strlen(text);
    spad_kernel *kernel = NULL;
    spad_analysis *analysis = NULL;
    spad_report *report = NULL;
    spad_error e;
    FILE *page = fopen(argc > 1 ? argv[1] : "/dev/null", "wb");
    if (page == NULL) return 1;
    const spad_sink out = spad_sink_file(stdout), file = spad_sink_file(page);

    spad_status failed = spad_kernel_parse(&kernel, text, length, "exp.spad", NULL, NULL, &e);
    if (!failed) failed = spad_analysis_create(&analysis, kernel, NULL, &e);
    if (!failed) failed = spad_analysis_write(analysis, SPAD_FORMAT_TEXT, &out, &e);
    if (!failed) failed = spad_report_create(&report, spad_kernel_get_target(kernel), NULL, &e);
    if (!failed) failed = spad_report_add_analysis(report, analysis, &e);
    if (!failed) failed = spad_report_write(report, SPAD_FORMAT_HTML, &file, &e);
    if (failed) fprintf(stderr, "%s\n", e.message);
    spad_report_destroy(report);
    spad_analysis_destroy(analysis);
    spad_kernel_destroy(kernel);
    return fclose(page) != 0 || failed;
}
