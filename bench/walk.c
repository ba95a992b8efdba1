/* SPDX-License-Identifier: Apache-2.0
 *
 * Cost of an access in a walk beside the same loop written in C: load, exp, store with
 * a ring of two and a modulo allocation. The C loop does the least that gives the same
 * numbers: the tile, its slot and its address.
 */
#include <stdio.h>
#include <string.h>

#include "bench.h"
#include "spad/spad.h"

enum { ITERATIONS = 1000000, ACCESSES = 5, RUNS = 5 };

static const char text[] = BENCH_ROWS(1000000000);

static volatile int64_t kept; /* keeps the compiler from dropping the work */

__attribute__((noinline)) static int64_t touch(int64_t tile, int64_t slots, int64_t base) {
    return base + tile % slots * 1024;
}

static void run_loop(void *context) {
    const int64_t slots = *(const int64_t *)context;
    int64_t sum = 0;
    for (int64_t i = 0; i < ITERATIONS; i++) {
        sum += touch(i, slots, 0) + touch(i, slots, 0) + touch(i, slots, 4096);
        sum += touch(i, slots, 4096) + touch(i, INT64_MAX, 0);
    }
    kept = sum;
}

/* The first iterations of a kernel that has a thousand times as many. */
static void run_walk(void *context) {
    const spad_kernel *kernel = context;
    const spad_walk_event *event;
    spad_walk *walk;
    int64_t sum = 0;
    if (spad_walk_create(&walk, kernel, NULL, NULL) != SPAD_OK) return;
    for (int64_t accesses = 0; accesses < (int64_t)ITERATIONS * ACCESSES;) {
        if (spad_walk_next(&event, walk, NULL) != SPAD_OK) break;
        for (size_t a = 0; a < event->access_count; a++) sum += event->accesses[a].rect.byte;
        accesses += (int64_t)event->access_count;
    }
    kept = sum;
    spad_walk_destroy(walk);
}

static void report(const char *what, double ns, double loop_ns) {
    printf("%-44s %7.2f ns   %5.2fx   %6.1f million a second\n", what, ns, ns / loop_ns, 1e3 / ns);
}

int main(void) {
    spad_kernel *kernel;
    spad_error error;
    int64_t slots = 2;
    if (spad_kernel_parse(&kernel, text, strlen(text), NULL, NULL, NULL, &error) != SPAD_OK) {
        fprintf(stderr, "bench_walk: %s\n", error.message);
        return 1;
    }
    const int64_t items = (int64_t)ITERATIONS * ACCESSES;
    const double loop_ns = bench_best(RUNS, items, run_loop, &slots);
    printf("per access, loop and operations included (best of %d runs)\n", RUNS);
    report("the loop in C", loop_ns, loop_ns);
    report("spad_walk", bench_best(RUNS, items, run_walk, kernel), loop_ns);
    spad_kernel_destroy(kernel);
    return 0;
}
