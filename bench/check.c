/* SPDX-License-Identifier: Apache-2.0
 *
 * Cost of an access in the lifetime check, beside a bare walk of the same kernel: load, exp,
 * store with a ring of two and a modulo allocation; a matrix multiplication in a PSUM bank;
 * and attention with tiles that are written and read in slices. Then the whole check of one shape
 * of a producer and a consumer: their order, through mbarriers.
 */
#include <stdio.h>
#include <string.h>

#include "bench.h"
#include "check/passes.h"
#include "spad/spad.h"

enum { EVENTS = 2000000, RUNS = 5, ITERATIONS = 20000 };

typedef struct bench_case {
    const char *name;
    const char *text;
    spad_kernel *kernel;
    int64_t accesses;
} bench_case;

static bench_case cases[] = {
    {"load, exp, store", BENCH_ROWS(1000000000), NULL, 0},
    {"matmul, tiled",
     "kernel matmul on trn2\n"
     "param M = 1000000\n"
     "tensor lhs : sbuf bf16 [M, 8] (128, 128) mod base 0 free [1, 2]\n"
     "tensor rhs : sbuf bf16 [M, 8] (128, 512) mod base 512 free [1, 2]\n"
     "tensor acc : psum f32 [M] (128, 512) mod banks 2\n"
     "tensor res : sbuf bf16 [M] (128, 512) mod base 4096 free 2\n"
     "for m in 0..M {\n"
     "    for k in 0..8 {\n"
     "        dma load writes lhs[m, k]\n"
     "        dma load writes rhs[m, k]\n"
     "        if k == 0 { tensor mm reads lhs[m, k], rhs[m, k] writes acc[m] }\n"
     "        if k > 0 { tensor mm reads lhs[m, k], rhs[m, k] updates acc[m] }\n"
     "    }\n"
     "    vector evict reads acc[m] writes res[m]\n"
     "    dma    store reads res[m]\n"
     "}\n",
     NULL, 0},
    {"attention, slices",
     "kernel attention on trn2\n"
     "param Q = 100000\n"
     "tensor qk : psum f32 [Q, 8] (128, 512) mod banks [1, 7]\n"
     "tensor row : sbuf f32 [Q] (128, 4096) mod base 0 free 2\n"
     "tensor exps : sbuf bf16 (128, 4096) at 40000\n"
     "tensor tp : psum bf16 [Q, 32] (128, 128) mod banks [1, 7]\n"
     "tensor scores : sbuf bf16 (128, 4096) at 60000\n"
     "for i in 0..Q {\n"
     "    for j in 0..8 {\n"
     "        tensor qk writes qk[i, j]\n"
     "        vector max reads qk[i, j] writes row[i](.., j * 512..j * 512 + 512)\n"
     "    }\n"
     "    for j in 0..8 {\n"
     "        scalar exp reads row[i](.., j * 512..j * 512 + 512) writes exps(.., j * 512..j * 512 "
     "+ 512)\n"
     "    }\n"
     "    for t in 0..32 {\n"
     "        tensor tp reads exps(.., t * 128..t * 128 + 128) writes tp[i, t]\n"
     "        vector copy reads tp[i, t] writes scores(.., t * 128..t * 128 + 128)\n"
     "    }\n"
     "    vector use reads scores\n"
     "}\n",
     NULL, 0},
};

static const char ring_text[] = BENCH_RING(20000, "", "");

static volatile int64_t kept; /* keeps the compiler from dropping the work */

static void run_walk(void *context) {
    const bench_case *c = context;
    const spad_walk_event *event;
    spad_walk *walk;
    int64_t sum = 0;
    if (spad_walk_create(&walk, c->kernel, NULL, NULL) != SPAD_OK) return;
    for (int64_t i = 0; i < EVENTS && spad_walk_next(&event, walk, NULL) == SPAD_OK; i++) {
        for (size_t a = 0; a < event->access_count; a++) sum += event->accesses[a].rect.byte;
    }
    kept = sum;
    spad_walk_destroy(walk);
}

/* The lifetime check of the first events, without the other parts. */
static void run_check(void *context) {
    bench_case *c = context;
    const spad_check_options options = {.event_limit = EVENTS, .finding_limit = 10};
    spad_check check = {.host = spad__host_or_default(NULL)};
    spad__limit limit;
    spad__run run = {.kernel = c->kernel, .options = &options, .check = &check, .limit = &limit};
    if (spad__limit_start(&limit, 0, (spad_watch){0}, NULL) != SPAD_OK ||
        spad__check_lifetimes(&run, NULL) != SPAD_OK || check.counts.errors > 0) {
        fprintf(stderr, "bench_check: '%s' has errors\n", c->name);
    }
    c->accesses = check.counts.accesses;
    spad__array_free(&check.host, &check.found);
}

static void run_order(void *payload) {
    const spad_check_options options = {.one_shape = true};
    spad_check *check;
    if (spad_check_create(&check, payload, &options, NULL) != SPAD_OK) return;
    kept = spad_check_get_counts(check).errors;
    spad_check_destroy(check);
}

static int measure_order(void) {
    spad_kernel *kernel;
    spad_error error;
    if (spad_kernel_parse(&kernel, ring_text, strlen(ring_text), NULL, NULL, NULL, &error) !=
        SPAD_OK) {
        fprintf(stderr, "bench_check: %s\n", error.message);
        return 1;
    }
    printf("%-20s check %6.1f ns an iteration\n", "producer, consumer",
           bench_best(RUNS, ITERATIONS, run_order, kernel));
    spad_kernel_destroy(kernel);
    return 0;
}

static int run_case(bench_case *c) {
    spad_error error;
    if (spad_kernel_parse(&c->kernel, c->text, strlen(c->text), NULL, NULL, NULL, &error) !=
        SPAD_OK) {
        fprintf(stderr, "bench_check: %s\n", error.message);
        return 1;
    }
    run_check(c);
    const double walk_ns = bench_best(RUNS, c->accesses, run_walk, c);
    const double check_ns = bench_best(RUNS, c->accesses, run_check, c);
    printf("%-20s walk %6.1f ns   check %6.1f ns   %5.2fx   %6.1f million a second\n", c->name,
           walk_ns, check_ns, check_ns / walk_ns, 1e3 / check_ns);
    spad_kernel_destroy(c->kernel);
    return 0;
}

int main(void) {
    int faults = 0;
    printf("per access, walk included (best of %d runs of %d events)\n", RUNS, EVENTS);
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) faults += run_case(&cases[i]);
    faults += measure_order();
    return faults != 0;
}
