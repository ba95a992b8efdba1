/* SPDX-License-Identifier: Apache-2.0
 *
 * Scopes: tensors of a phase go away with it, tensors that outlive phases sit
 * on the heap. The layout is that of by_hand.c without a single sum.
 * After the second NKI example of the SbufManager manual.
 */
#include <stdio.h>

#include "spad/spad.h"

static spad_error error;

/* Shows where a tensor went, or why it went nowhere. */
static int show(const char *name, spad_status status, spad_rect rect) {
    if (status != SPAD_OK) {
        fprintf(stderr, "scopes: %s\n", error.message);
        return 0;
    }
    printf("%s.address = (%lld, %lld)\n", name, (long long)rect.lane, (long long)rect.byte);
    return 1;
}

static int kernel(spad_stack *sbm) {
    const spad_shape small = SPAD_SHAPE(128, 256);
    const spad_shape large = SPAD_SHAPE(128, 512);
    spad_rect r;

    if (!show("weights",
              spad_stack_alloc_heap(&r, sbm, small, SPAD_BFLOAT16, "weights", NULL, &error), r))
        return 0;

    spad_stack_open_scope(sbm, 1, "outer", &error);
    if (!show("buf1", spad_stack_alloc_stack(&r, sbm, large, SPAD_BFLOAT16, "buf1", NULL, &error),
              r))
        return 0;

    spad_stack_open_scope(sbm, 1, "inner", &error);
    if (!show("buf2", spad_stack_alloc_stack(&r, sbm, small, SPAD_BFLOAT16, "buf2", NULL, &error),
              r))
        return 0;
    if (!show("buf3", spad_stack_alloc_stack(&r, sbm, small, SPAD_BFLOAT16, "buf3", NULL, &error),
              r))
        return 0;
    spad_stack_close_scope(sbm, &error);

    if (!show("buf4", spad_stack_alloc_stack(&r, sbm, large, SPAD_BFLOAT16, "buf4", NULL, &error),
              r))
        return 0;
    spad_stack_close_scope(sbm, &error);

    return spad_stack_pop_heap(sbm, &error) == SPAD_OK;
}

int main(void) {
    const spad_target *chip;
    spad_stack *sbm;
    /* the manual's addresses count the reserve in: see by_hand.c */
    const spad_stack_options options = {.use_reserved = true};
    if (spad_target_find(&chip, "trn3", &error) != SPAD_OK ||
        spad_stack_create(&sbm, chip, "sbuf", 0, SPAD_STACK_TO_THE_TOP, &options, &error) !=
            SPAD_OK) {
        fprintf(stderr, "scopes: %s\n", error.message);
        return 1;
    }
    const int ok = kernel(sbm);
    spad_stack_destroy(sbm);
    return ok ? 0 : 1;
}
