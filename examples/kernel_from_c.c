/* SPDX-License-Identifier: Apache-2.0
 *
 * A kernel without text: the load, exp, store loop of docs/kernel.md from C calls. It is
 * printed as text, and its first iterations are walked: which tile, which slot, where.
 */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

#include "spad/spad.h"

/* Every call of the builder can fail; the first failure ends the program. */
static void check(spad_status status, const spad_error *error) {
    if (status == SPAD_OK) return;
    fprintf(stderr, "%s: %s\n", spad_status_code(status), error->message);
    exit(1);
}

/* A tensor of n tiles of 128 x 512 in bf16. */
static int64_t add_tensor(spad_kernel_builder *b, const spad_target *target, const char *name,
                          const char *space, spad_expr n, spad_kernel_tensor tensor) {
    const spad_amount blocks = {.expr = n};
    const spad_amount dims[] = {{.value = 128}, {.value = 512}};
    spad_error error;
    int64_t number;
    tensor.name = name;
    tensor.dtype = SPAD_BFLOAT16;
    tensor.blocks = (spad_amounts){1, &blocks};
    tensor.dims = (spad_amounts){2, dims};
    check(spad_target_find_space(&tensor.space, target, space, &error), &error);
    check(spad_kernel_builder_tensor(&number, b, &tensor, &error), &error);
    return number;
}

/* An operation that reads one tile and writes another, or only writes (reads < 0). */
static void add_operation(spad_kernel_builder *b, const char *engine, const char *name,
                          int64_t reads, int64_t writes, spad_expr i) {
    spad_kernel_access access = {.index_count = 1, .index = &i};
    spad_error error;
    check(spad_kernel_builder_operation(b, engine, name, &error), &error);
    access.tensor = reads;
    access.kind = SPAD_ACCESS_READ;
    if (reads >= 0) check(spad_kernel_builder_access(b, &access, &error), &error);
    access.tensor = writes;
    access.kind = SPAD_ACCESS_WRITE;
    check(spad_kernel_builder_access(b, &access, &error), &error);
}

static spad_kernel *build(void) {
    const spad_amount two = {.value = 2};
    const spad_target *target;
    spad_kernel_builder *b;
    spad_kernel *kernel;
    spad_error error;
    spad_expr n;
    spad_expr i;
    check(spad_target_find(&target, "trn2", &error), &error);
    check(spad_kernel_builder_create(&b, "exp_rows", "load, exp, store", target, NULL, &error),
          &error);
    check(spad_kernel_builder_param(&n, b, "N", (spad_amount){.value = 16}, &error), &error);
    const spad_kernel_tensor ring = {.ring = {1, &two}};
    const spad_kernel_tensor modulo = {
        .mode = SPAD_MODE_MOD, .byte = {.value = 4096}, .free = {1, &two}};
    const spad_kernel_tensor result = {.flags = SPAD_TENSOR_OUTPUT};
    const int64_t x = add_tensor(b, target, "x", "sbuf", n, ring);
    const int64_t y = add_tensor(b, target, "y", "sbuf", n, modulo);
    const int64_t out = add_tensor(b, target, "out", "hbm", n, result);
    check(spad_kernel_builder_for(&i, b, "i", (spad_amount){0}, (spad_amount){.expr = n}, true,
                                  &error),
          &error);
    add_operation(b, "dma", "load", -1, x, i);
    add_operation(b, "scalar", "exp", x, y, i);
    add_operation(b, "dma", "store", y, out, i);
    check(spad_kernel_builder_end(b, &error), &error);
    check(spad_kernel_builder_finish(&kernel, b, &error), &error);
    spad_kernel_builder_destroy(b);
    return kernel;
}

static void show(const spad_kernel *kernel, const spad_walk_event *event) {
    printf("%s", spad_kernel_get_statement(kernel, (size_t)event->statement)->name);
    for (size_t a = 0; a < event->access_count; a++) {
        const spad_walk_access *access = &event->accesses[a];
        printf("%s %s[%" PRId64 "]", access->kind == SPAD_ACCESS_READ ? " reads" : " writes",
               spad_kernel_get_tensor(kernel, (size_t)access->tensor)->name, access->tile);
        if (access->placed) {
            printf(" at byte %" PRId64, access->rect.byte);
        } else {
            printf(" in slot %" PRId64, access->slot);
        }
    }
    printf("\n");
}

int main(void) {
    const spad_sink sink = spad_sink_file(stdout);
    const spad_walk_event *event;
    spad_error error;
    spad_walk *walk;
    spad_kernel *kernel = build();
    check(spad_kernel_write_text(kernel, &sink, &error), &error);
    check(spad_walk_create(&walk, kernel, NULL, &error), &error);
    for (int operations = 0; operations < 9;) { /* three iterations */
        check(spad_walk_next(&event, walk, &error), &error);
        if (event->kind != SPAD_WALK_OPERATION) continue;
        show(kernel, event);
        operations++;
    }
    spad_walk_destroy(walk);
    spad_kernel_destroy(kernel);
    return 0;
}
