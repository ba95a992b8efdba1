/* SPDX-License-Identifier: Apache-2.0
 *
 * The simulator beside the check and the executor (support/executor.h), on random kernels with
 * synchronisation (support/random_kernel.h). The simulator runs one of the orders that there are:
 *   - it is not stuck where the check proves a kernel;
 *   - it is not stuck where no execution is;
 *   - it is stuck where every execution is;
 *   - the check finds no deadlock where no execution is stuck.
 * Every second kernel is one of agents that share units, in which waits are queued and drained, and
 * in which bytes come to an mbarrier before or after they are expected.
 * Left out of the comparison with the executor and counted: kernels that misuse a barrier or an
 * mbarrier, cannot be run to the end, or are too large to visit.
 *
 *   test_sim_check [COUNT [SEED]]
 */
#include "base/error.h"
#include "support/support.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/random.h"
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

/* ---- agents that share units ------------------------------------------------------- */

typedef struct maker {
    spad__random random;
    char *bytes;
    size_t used;
} maker;

SPAD_PRINTF(2, 3) static void put(maker *t, const char *format, ...) {
    va_list arguments;
    va_start(arguments, format);
    t->used +=
        (size_t)vsnprintf(t->bytes + t->used, RANDOM_KERNEL_TEXT - t->used, format, arguments);
    va_end(arguments);
    assert_true(t->used < RANDOM_KERNEL_TEXT);
}

static int below(maker *t, int count) {
    return (int)spad__random_below(&t->random, (uint64_t)count);
}

static char one_of(maker *t, const char *letters) {
    return letters[below(t, (int)strlen(letters))];
}

/* The three things of a phase, in one of six orders, and a wait for it. */
static void put_phase(maker *t) {
    int left[] = {0, 1, 2};
    for (int count = 3; count > 0; count--) {
        const int pick = below(t, count);
        switch (left[pick]) {
        case 0: put(t, "    %c op delivers m by 8\n    drain all\n", one_of(t, "uv")); break;
        case 1: put(t, "    arrive m\n"); break;
        default: put(t, "    expect m by 8\n"); break;
        }
        left[pick] = left[count - 1];
    }
    put(t, "    wait m parity 0\n");
}

static void put_mbarrier(maker *t) {
    switch (below(t, 5)) {
    case 0: put(t, "    %c op delivers m by 8\n", one_of(t, "uv")); break;
    case 1: put(t, "    arrive m expect 8\n"); break;
    case 2: put(t, "    wait m parity %d\n", below(t, 2)); break;
    default: put_phase(t); break;
    }
}

static void put_statement(maker *t) {
    char on[8] = "";
    if (below(t, 2) == 0) snprintf(on, sizeof on, " on %c", one_of(t, "uv"));
    switch (below(t, 13)) {
    case 0:
    case 1: put(t, "    %c op cost %d ns\n", one_of(t, "uv"), below(t, 3)); break;
    case 2:
    case 3: put(t, "    %c op signals %c\n", one_of(t, "uv"), one_of(t, "cd")); break;
    case 4:
    case 5: put(t, "    wait %c >= %d%s\n", one_of(t, "cd"), 1 + below(t, 2), on); break;
    case 6: put(t, "    signal %c%s\n", one_of(t, "cd"), on); break;
    case 7: put(t, "    drain all\n"); break;
    case 8: put(t, "    drain %c\n", one_of(t, "uv")); break;
    case 9:
    case 10: put_mbarrier(t); break;
    case 11:
        put(t, "    %c op in g\n    commit g\n    wait g pending %d\n", one_of(t, "uv"),
            below(t, 2));
        break;
    default:
        if (below(t, 2) == 0) {
            put(t, "    sync b\n");
        } else {
            put(t, "    arrive b by %d\n", 1 + below(t, 2));
        }
    }
}

static void shared_units(uint64_t seed, char *bytes) {
    maker t = {.random = {seed * 2 + 1}, .bytes = bytes};
    put(&t,
        "kernel k on sm_90\nunit u on copy %s\nunit v on tensor %s\ncounter c\ncounter d\n"
        "barrier b count 2\nmbarrier m count 1\ngroup g\ninit m\n",
        below(&t, 2) == 0 ? "fifo" : "free", below(&t, 2) == 0 ? "serial" : "fifo");
    const int agents = 2 + below(&t, 2);
    for (int a = 0; a < agents; a++) {
        put(&t, "agent a%d {\n", a);
        for (int i = 2 + below(&t, 4); i > 0; i--) put_statement(&t);
        put(&t, "}\n");
    }
}

/* ---- comparing --------------------------------------------------------------------- */

typedef struct judgement {
    bool proved;
    bool stuck; /* something never ends */
} judgement;

static judgement judge(const spad_kernel *kernel) {
    const spad_check_options options = {.one_shape = true, .no_advice = true};
    spad_check *check;
    spad_error error;
    assert_ok(spad_check_create(&check, kernel, &options, &error), &error);
    const spad_verdict verdict = spad_check_get_verdict(check);
    judgement j = {.proved =
                       verdict == SPAD_VERDICT_PROVED_SHAPE || verdict == SPAD_VERDICT_PROVED_ALL};
    for (size_t i = 0; i < spad_check_finding_count(check); i++) {
        j.stuck = j.stuck || spad_check_get_finding(check, i)->code == SPAD_FINDING_DEADLOCK;
    }
    spad_check_destroy(check);
    return j;
}

static void compare(tally *t, uint64_t seed, const char *text, const spad_kernel *kernel) {
    const executor_options options = {.states_max = 20000, .ends = true};
    spad_sim *sim;
    if (spad_sim_create(&sim, kernel, NULL, NULL) != SPAD_OK) return; /* a run that fails */
    const char *stuck = spad_sim_get_stuck(sim);
    const executor_result run = executor_run(kernel, &options);
    t->made++;
    const judgement j = judge(kernel);
    if (j.proved) {
        t->proved++;
        if (stuck != NULL) show(t, "stuck where the check proves", seed, text, stuck);
    }
    if (!run.decided || run.wrong != 0) {
        t->left_out++;
    } else if (!run.some_stuck) {
        t->all_end++;
        if (stuck != NULL) show(t, "stuck where no execution is", seed, text, stuck);
        if (j.stuck && spad_kernel_unknown_count(kernel) == 0) /* else it may be for other values */
            show(t, "the check finds a deadlock, and no execution is stuck", seed, text, stuck);
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
        if (seed % 2 == 0) {
            random_kernel(seed, text);
        } else {
            shared_units(seed, text);
        }
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
    /* all statements were put to the test */
    assert_true(t.proved * 20 > t.made && t.all_end * 20 > t.made && t.all_stuck * 100 > t.made);
}

int main(int count, char **arguments) {
    if (count > 1) kernels = strtol(arguments[1], NULL, 10);
    if (count > 2) first_seed = strtoull(arguments[2], NULL, 10);
    const struct CMUnitTest tests[] = {cmocka_unit_test(the_simulator_runs_one_of_all_executions)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
