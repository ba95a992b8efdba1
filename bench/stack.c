/* SPDX-License-Identifier: Apache-2.0
 *
 * Cost of an allocation of the scoped manager beside a bare bump pointer: scopes
 * of eight tensors, opened and closed over and over. The bump pointer does the
 * least that can be called an allocator: align, compare, add, and restore at
 * the end of a scope. The manager also checks the request, multiplies the shape
 * and keeps a list of what is live.
 */
#include <stdio.h>

#include "bench.h"
#include "spad/spad.h"

enum { SCOPES = 200000, TENSORS = 8, RUNS = 9 };
static const int64_t ALLOCATIONS = (int64_t)SCOPES * TENSORS;

/* ---- the bare bump pointer --------------------------------------------------------- */

typedef struct bump {
    int64_t next;
    int64_t end;
} bump;

__attribute__((noinline)) static int64_t bump_alloc(bump *b, int64_t bytes, int64_t align) {
    const int64_t address = (b->next + align - 1) / align * align;
    if (address + bytes > b->end) return -1;
    b->next = address + bytes;
    return address;
}

__attribute__((noinline)) static int64_t bump_open(const bump *b) {
    return b->next;
}

__attribute__((noinline)) static void bump_close(bump *b, int64_t mark) {
    b->next = mark;
}

static volatile int64_t kept; /* keeps the compiler from dropping the work */

static void run_bump(void *context) {
    bump *b = context;
    int64_t sum = 0;
    for (int s = 0; s < SCOPES; s++) {
        const int64_t mark = bump_open(b);
        for (int t = 0; t < TENSORS; t++) sum += bump_alloc(b, 64 + t, 2);
        bump_close(b, mark);
    }
    kept = sum;
}

/* ---- the manager ------------------------------------------------------------------- */

static void run_stack(void *context) {
    spad_stack *stack = context;
    int64_t sum = 0;
    spad_rect rect;
    for (int s = 0; s < SCOPES; s++) {
        spad_stack_open_scope(stack, 1, NULL, NULL);
        for (int t = 0; t < TENSORS; t++) {
            const int64_t dims[] = {128, 32 + t};
            spad_stack_alloc_stack(&rect, stack, (spad_shape){2, dims}, SPAD_BFLOAT16, NULL, NULL,
                                   NULL);
            sum += rect.byte;
        }
        spad_stack_close_scope(stack, NULL);
    }
    kept = sum;
}

/* A fresh trace each time: it grows with every event. */
static void run_traced(void *context) {
    const spad_target *chip = context;
    spad_trace *trace;
    spad_stack *stack;
    if (spad_trace_create(&trace, chip, NULL, NULL) != SPAD_OK) return;
    const spad_stack_options options = {.trace = trace};
    if (spad_stack_create(&stack, chip, "sbuf", 0, SPAD_STACK_TO_THE_TOP, &options, NULL) ==
        SPAD_OK) {
        run_stack(stack);
        spad_stack_destroy(stack);
    }
    spad_trace_destroy(trace);
}

static void report(const char *what, double ns, double bump_ns) {
    printf("%-44s %7.2f ns   %5.2fx\n", what, ns, ns / bump_ns);
}

int main(void) {
    const spad_target *chip;
    spad_stack *stack;
    spad_error error;
    if (spad_target_find(&chip, "trn2", &error) != SPAD_OK ||
        spad_stack_create(&stack, chip, "sbuf", 0, SPAD_STACK_TO_THE_TOP, NULL, &error) !=
            SPAD_OK) {
        fprintf(stderr, "bench_stack: %s\n", error.message);
        return 1;
    }
    bump b = {.next = 0, .end = spad_stack_get_total_space(stack)};
    const double bump_ns = bench_best(RUNS, ALLOCATIONS, run_bump, &b);
    printf("per allocation, scopes of %d tensors included (best of %d runs)\n", TENSORS, RUNS);
    report("bare bump pointer", bump_ns, bump_ns);
    report("spad_stack, exact, no log", bench_best(RUNS, ALLOCATIONS, run_stack, stack), bump_ns);
    report("spad_stack, exact, with a trace",
           bench_best(RUNS, ALLOCATIONS, run_traced, (void *)(uintptr_t)chip), bump_ns);
    spad_stack_destroy(stack);
    return 0;
}
