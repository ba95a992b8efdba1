/* SPDX-License-Identifier: Apache-2.0
 *
 * Runs the C blocks of the manual pages (blocks.awk makes them into functions).
 * Each gets a fresh manager over 4096 bytes of trn2's SBUF with a scope open, and a
 * kernel, placed, that places tensor x directly, and the host as a device. */
#include <stdio.h>
#include <string.h>

#include "spad/device.h"
#include "spad/spad.h"

#define BLOCK_ARGUMENTS                                                                   \
    const spad_target *target, spad_stack *sbm, spad_direct *placed, spad_device *device, \
        spad_error *block_error

/* What a block may use without declaring it. */
#define BLOCK_VARIABLES                                                                    \
    spad_status status = SPAD_OK;                                                          \
    spad_rect rect;                                                                        \
    const spad_shape shape = SPAD_SHAPE(128, 16);                                          \
    const int n = 4;                                                                       \
    (void)target, (void)sbm, (void)placed, (void)device, (void)rect, (void)shape, (void)n, \
        (void)allocate_with_tile;

#define error (*block_error)

typedef struct block {
    const char *place;
    const char *code;
    const char *message;
    spad_status (*run)(BLOCK_ARGUMENTS);
} block;

static spad_status allocate_with_tile(spad_stack *sbm, int64_t elements, spad_error *block_error) {
    spad_rect rect;
    return spad_stack_alloc_stack(&rect, sbm, SPAD_SHAPE(128, 8, elements), SPAD_BFLOAT16, NULL,
                                  NULL, block_error);
}

#include "doc_blocks.inc"

#undef error

static int run(const block *b) {
    const spad_direct_tensor x = {.name = "x",
                                  .space = "sbuf",
                                  .dtype = SPAD_BFLOAT16,
                                  .tile = SPAD_SHAPE(128, 512),
                                  .mode = SPAD_MODE_MOD};
    const spad_target *target;
    spad_trace *trace;
    spad_stack *stack;
    spad_direct *placed;
    spad_device *device;
    spad_error error = {.message = ""};
    if (spad_target_find(&target, "trn2", &error) ||
        spad_trace_create(&trace, target, NULL, &error))
        return 1;
    const spad_stack_options options = {.trace = trace};
    if (spad_stack_create(&stack, target, "sbuf", 0, 4096, &options, &error) ||
        spad_stack_open_scope(stack, 1, "phase", &error) ||
        spad_direct_create(&placed, target, NULL, &error) ||
        spad_direct_declare(NULL, placed, &x, &error) ||
        spad_device_open(&device, "host", NULL, &error))
        return 1;
    int faults = 0;
    const spad_status status = b->run(target, stack, placed, device, &error);
    spad_finding finding;
    const int found = status == SPAD_OK && spad_direct_list_findings(&finding, 1, placed) > 0;
    const char *code = found ? spad_finding_name(finding.code) : spad_status_code(status);
    const char *message = found ? finding.message : error.message;
    if (strcmp(code, b->code) != 0) {
        printf("%s: ends with %s, expected %s: %s\n", b->place, code, b->code, message);
        faults++;
    } else if ((found || status != SPAD_OK) && strcmp(message, b->message) != 0) {
        printf("%s: message\n  %s\nexpected\n  %s\n", b->place, message, b->message);
        faults++;
    }
    spad_device_close(device, NULL);
    spad_direct_destroy(placed);
    spad_stack_destroy(stack);
    spad_trace_destroy(trace);
    return faults;
}

/* Every status that a caller can meet has a bad block. Running out of host memory, a
 * broken sink, a driver that fails, a call that is ended and a fault of ours cannot be shown in a
 * few lines. */
static int missing_codes(void) {
    static const char *const codes[] = {
#define CODE(name, value, code, sentence) code,
        SPAD_STATUS_LIST(CODE)
#undef CODE
    };
    int missing = 0;
    for (size_t c = 0; c < sizeof codes / sizeof codes[0]; c++) {
        if (strcmp(codes[c], "SPAD-HOST-MEMORY") == 0 || strcmp(codes[c], "SPAD-IO") == 0 ||
            strcmp(codes[c], "SPAD-DEVICE") == 0 || strcmp(codes[c], "SPAD-INTERNAL") == 0 ||
            strcmp(codes[c], "SPAD-TIME") == 0 || strcmp(codes[c], "SPAD-CANCELLED") == 0) {
            continue;
        }
        int found = 0;
        for (size_t i = 0; i < sizeof blocks / sizeof blocks[0]; i++) {
            found |= strcmp(blocks[i].code, codes[c]) == 0;
        }
        if (!found) printf("docs/errors.md shows no bad example of %s\n", codes[c]);
        missing += !found;
    }
    return missing;
}

int main(void) {
    int faults = missing_codes();
    for (size_t i = 0; i < sizeof blocks / sizeof blocks[0]; i++) faults += run(&blocks[i]);
    printf("%zu blocks, %d faults\n", sizeof blocks / sizeof blocks[0], faults);
    return faults != 0;
}
