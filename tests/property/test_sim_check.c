/* SPDX-License-Identifier: Apache-2.0
 *
 * The simulator beside the check and the executor (support/executor.h), on random kernels with
 * synchronisation (support/random_kernel.h). The simulator runs one of the orders that there are:
 *   - it is not stuck where the check proves a kernel;
 *   - it is not stuck where no execution is;
 *   - it is stuck where every execution is.
 * Left out of the comparison with the executor and counted: kernels that misuse a barrier or an
 * mbarrier, cannot be run to the end, or are too large to visit.
 *
 *   test_sim_check [COUNT [SEED]]
 */
#include "support/support.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "spad/spad.h"
#include "support/executor.h"
#include "support/random_kernel.h"

enum { SHOWN = 6 };

static long kernels = 6000;
static uint64_t first_seed = 1;

typedef struct tally {
    long made;
    long proved;  /* by the check */
    long all_end; /* says the executor */
    long all_stuck;
    long either; /* some executions end and others do not */
    long left_out;
    long faults;
} tally;

static void show(tally *t, const char *what, uint64_t seed, const char *text, const char *stuck) {
    if (t->faults++ >= SHOWN) return;
    printf("---- %s, seed %llu\n%s  sim: %s\n", what, (unsigned long long)seed, text,
           stuck != NULL ? stuck : "ran to its end");
}

static bool is_proved(const spad_kernel *kernel) {
    const spad_check_options options = {.one_shape = true, .no_advice = true};
    spad_check *check;
    spad_error error;
    assert_ok(spad_check_kernel(&check, kernel, &options, &error), &error);
    const spad_verdict verdict = spad_check_verdict(check);
    spad_check_destroy(check);
    return verdict == SPAD_VERDICT_PROVED_SHAPE || verdict == SPAD_VERDICT_PROVED_ALL;
}

static void compare(tally *t, uint64_t seed, const char *text, const spad_kernel *kernel) {
    const executor_options options = {.states_max = 20000, .ends = true};
    spad_sim *sim;
    if (spad_sim_kernel(&sim, kernel, NULL, NULL) != SPAD_OK) return; /* a run that fails */
    const char *stuck = spad_sim_stuck(sim);
    const executor_result run = executor_run(kernel, &options);
    t->made++;
    if (is_proved(kernel)) {
        t->proved++;
        if (stuck != NULL) show(t, "stuck where the check proves", seed, text, stuck);
    }
    if (!run.decided || run.wrong != 0) {
        t->left_out++;
    } else if (!run.some_stuck) {
        t->all_end++;
        if (stuck != NULL) show(t, "stuck where no execution is", seed, text, stuck);
    } else if (!run.some_end) {
        t->all_stuck++;
        if (stuck == NULL) show(t, "not stuck where every execution is", seed, text, stuck);
    } else {
        t->either++;
    }
    spad_sim_destroy(sim);
}

static void the_simulator_runs_one_of_all_executions(void **state) {
    (void)state;
    tally t = {0};
    for (long i = 0; i < kernels; i++) {
        const uint64_t seed = first_seed + (uint64_t)i;
        char text[RANDOM_KERNEL_TEXT];
        spad_kernel *kernel;
        random_kernel(seed, text);
        if (spad_kernel_parse(&kernel, text, strlen(text), "k", NULL, NULL, NULL) != SPAD_OK) {
            continue;
        }
        if (!spad_kernel_is_implicit(kernel)) compare(&t, seed, text, kernel);
        spad_kernel_destroy(kernel);
    }
    printf("%ld kernels with synchronisation: %ld proved; of all executions of %ld all end, of %ld "
           "all are stuck, of %ld some; left out %ld\n",
           t.made, t.proved, t.all_end, t.all_stuck, t.either, t.left_out);
    assert_int_equal(t.faults, 0);
    /* all three statements were put to the test */
    assert_true(t.proved * 20 > t.made && t.all_end * 20 > t.made && t.all_stuck * 100 > t.made);
}

int main(int count, char **arguments) {
    if (count > 1) kernels = strtol(arguments[1], NULL, 10);
    if (count > 2) first_seed = strtoull(arguments[2], NULL, 10);
    const struct CMUnitTest tests[] = {cmocka_unit_test(the_simulator_runs_one_of_all_executions)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
