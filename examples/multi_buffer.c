/* SPDX-License-Identifier: Apache-2.0
 *
 * Double buffering: a scope of two sections. Every turn of the loop allocates
 * in the next section, so that a load can fill one buffer while the engines
 * still read the other. Prints the manager's log as a tree.
 * After the third NKI example of the SbufManager manual.
 */
#include <stdio.h>

#include "spad/spad.h"

enum { TURNS = 4 };

static spad_status kernel(spad_stack *sbm, spad_error *error) {
    /* closed on every way out of this function */
    SPAD_STACK_SCOPE(scope, sbm, 2, "double_buffer", error);
    spad_status status = scope.status;
    for (int i = 0; i < TURNS && status == SPAD_OK; i++) {
        spad_rect buf;
        status = spad_stack_alloc_stack(&buf, sbm, SPAD_SHAPE(128, 512), SPAD_BFLOAT16, NULL, NULL,
                                        error);
        /* load to buf, compute on the buffer of the turn before */
        if (status == SPAD_OK) status = spad_stack_increment_section(sbm, error);
    }
    return status;
}

int main(void) {
    const spad_target *chip;
    spad_trace *trace = NULL;
    spad_stack *sbm = NULL;
    spad_error error;
    spad_status status = spad_target_find(&chip, "trn2", &error);
    if (status == SPAD_OK) status = spad_trace_create(&trace, chip, NULL, &error);
    if (status == SPAD_OK) {
        const spad_stack_options options = {.trace = trace};
        status = spad_stack_create(&sbm, chip, "sbuf", 0, SPAD_STACK_TO_THE_TOP, &options, &error);
    }
    if (status == SPAD_OK) status = kernel(sbm, &error);
    const spad_sink out = spad_sink_file(stdout);
    if (status == SPAD_OK) status = spad_stack_flush_log(sbm, &out, &error);
    if (status != SPAD_OK) fprintf(stderr, "multi_buffer: %s\n", error.message);
    spad_stack_destroy(sbm);
    spad_trace_destroy(trace);
    return status == SPAD_OK ? 0 : 1;
}
