/* SPDX-License-Identifier: Apache-2.0
 *
 * Cost of an operation in the simulator beside the walk that it drives: load, exp, store
 * with rings of two, and a producer and a consumer with mbarriers. Then what a loop of
 * 10^9 iterations costs, and a search for depths.
 */
#include <stdio.h>
#include <string.h>

#include "bench.h"
#include "spad/spad.h"

enum { ITERATIONS = 100000, RUNS = 5 };

static const char rows_text[] = BENCH_ROWS(100000);
static const char ring_text[] = BENCH_RING(100000, " cost 90 ns", " cost 100 ns");

static volatile int64_t kept; /* keeps the compiler from dropping the work */

static void run_walk(void *context) {
    const spad_walk_options options = {.agent = SPAD_WALK_ALL};
    const spad_walk_event *event;
    spad_walk *walk;
    if (spad_walk_create(&walk, context, &options, NULL) != SPAD_OK) return;
    do {
        if (spad_walk_next(&event, walk, NULL) != SPAD_OK) break;
    } while (event->kind != SPAD_WALK_END);
    spad_walk_destroy(walk);
}

static void simulate(const spad_kernel *kernel, bool all) {
    const spad_sim_options options = {.no_repeat = all};
    spad_sim *sim;
    if (spad_sim_create(&sim, kernel, &options, NULL) != SPAD_OK) return;
    kept = spad_sim_get_totals(sim).makespan;
    spad_sim_destroy(sim);
}

static void run_all(void *context) {
    simulate(context, true);
}

static void run_repeating(void *context) {
    simulate(context, false);
}

static void run_tune(void *context) {
    spad_tune *tune;
    if (spad_tune_create(&tune, context, NULL, NULL) != SPAD_OK) return;
    kept = spad_tune_get_totals(tune).makespan;
    spad_tune_destroy(tune);
}

static spad_kernel *parse(const char *text, int64_t n) {
    const spad_define define = {"N", n};
    const spad_kernel_options options = {.defines = &define, .define_count = 1};
    spad_kernel *kernel;
    spad_error error;
    if (spad_kernel_parse(&kernel, text, strlen(text), NULL, &options, NULL, &error) == SPAD_OK) {
        return kernel;
    }
    fprintf(stderr, "bench_sim: %s\n", error.message);
    return NULL;
}

static void compare(const char *what, const char *text, int64_t operations) {
    spad_kernel *kernel = parse(text, ITERATIONS);
    spad_kernel *large = parse(text, 1000000000);
    if (kernel != NULL && large != NULL) {
        const int64_t items = operations * ITERATIONS;
        const double walk = bench_best(RUNS, items, run_walk, kernel);
        const double sim = bench_best(RUNS, items, run_all, kernel);
        const double repeat = bench_best(RUNS, 1, run_repeating, large);
        printf("%-24s walk %6.1f ns   sim %6.1f ns   %5.2fx   %5.1f million a second\n", what, walk,
               sim, sim / walk, 1e3 / sim);
        printf("%-24s 10^9 iterations in %.2f ms\n", "", repeat * 1e-6);
    }
    spad_kernel_destroy(kernel);
    spad_kernel_destroy(large);
}

int main(void) {
    printf("per operation, every iteration run (best of %d runs)\n", RUNS);
    compare("load, exp, store", rows_text, 3);
    compare("producer, consumer", ring_text, 2);
    spad_kernel *kernel = parse(rows_text, 1000000000);
    if (kernel == NULL) return 1;
    printf("%-24s tuned in %.2f ms\n", "load, exp, store",
           bench_best(RUNS, 1, run_tune, kernel) * 1e-6);
    spad_kernel_destroy(kernel);
    return 0;
}
