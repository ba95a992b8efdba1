/* SPDX-License-Identifier: Apache-2.0
 *
 * Loops that are skipped against loops that are run: every operator in the indices and in the
 * conditions of a loop. Conditions change late, when the simulator has long seen that the loop
 * repeats itself, and operations after them take very different times: a change that is
 * overlooked, or expected at the wrong iteration, is a different result.
 */
#include "sim/sim.h"
#include "sim/sim_report.h"
#include "support/kernels.h"
#include "support/support.h"

#include <stdio.h>
#include <string.h>

#include "spad/spad.h"

enum { TEXT_MAX = 2000 };

static spad_sim *simulate(const spad_kernel *kernel, bool no_repeat) {
    const spad_sim_options options = {.no_repeat = no_repeat, .repeat_after = 1};
    spad_sim *sim;
    spad_error error;
    assert_ok(spad_sim_create(&sim, kernel, &options, &error), &error);
    return sim;
}

/* Iterations that were not run. */
static int64_t skipped(const spad_sim *sim) {
    int64_t count = 0;
    for (size_t i = 0; i < sim->repeats.count; i++) {
        const spad__sim_repeat *r = &sim->repeats.items[i];
        count += r->period * r->times;
    }
    return count;
}

static bool is_same(const spad_kernel *kernel, const spad_sim *a, const spad_sim *b) {
    const spad_sim_totals x = spad_sim_get_totals(a);
    const spad_sim_totals y = spad_sim_get_totals(b);
    bool same = x.makespan == y.makespan && x.operations == y.operations && x.bound == y.bound &&
                (spad_sim_get_stuck(a) == NULL) == (spad_sim_get_stuck(b) == NULL) &&
                a->waits.count == b->waits.count;
    for (size_t i = 0; i < spad_kernel_get_target(kernel)->engine_count; i++) {
        const spad__sim_engine e = spad__sim_get_engine(a, i);
        const spad__sim_engine f = spad__sim_get_engine(b, i);
        same = same && e.busy == f.busy && e.operations == f.operations;
    }
    for (size_t i = 0; same && i < a->waits.count; i++) {
        const spad__sim_wait *w = &a->waits.items[i];
        const spad__sim_wait *v = &b->waits.items[i];
        same = w->statement == v->statement && w->count == v->count && w->total == v->total;
    }
    return same;
}

/* Skipping changes nothing, and at least `least` iterations are skipped. */
static void compare(const char *text, int64_t least) {
    spad_kernel *kernel = test_parse(text);
    spad_sim *run = simulate(kernel, true);
    spad_sim *skip = simulate(kernel, false);
    const int64_t count = skipped(skip);
    if (!is_same(kernel, run, skip) || count < least) {
        printf("%s  run %lld ps, skipped %lld ps, %lld iterations not run\n", text,
               (long long)spad_sim_get_totals(run).makespan,
               (long long)spad_sim_get_totals(skip).makespan, (long long)count);
        fail();
    }
    assert_int_equal(skipped(run), 0);
    spad_sim_destroy(run);
    spad_sim_destroy(skip);
    spad_kernel_destroy(kernel);
}

/* ---- conditions -------------------------------------------------------------------- */

/* A condition on the way of a load; with agents, of an agent that another one follows. */
static void compare_condition(const char *condition, int64_t least) {
    char text[TEXT_MAX];
    snprintf(
        text, sizeof text,
        "kernel k on trn2\nparam N = 8000\nparam K = 7\nunknown u in 0..3 = 1\n"
        "tensor t : sbuf bf16 [4] (128, 64)\nfor i in 0..N {\n if %s {\n"
        "  dma load writes t[i %% 4] cost 3 ns\n } else {\n"
        "  dma slow writes t[i %% 4] cost 50 ns\n }\n vector op reads t[i %% 4] cost 7 ns\n}\n",
        condition);
    compare(text, least);
    snprintf(text, sizeof text,
             "kernel k on sm_90\nparam N = 8000\nparam K = 7\nunknown u in 0..3 = 1\n"
             "counter full\ncounter empty = 4\n"
             "agent a { for i in 0..N {\n take empty\n if %s {\n  copy load cost 3 ns\n } else {\n"
             "  copy slow cost 50 ns\n }\n signal full\n} }\n"
             "agent b { for i in 0..N {\n take full\n simt op cost 7 ns\n signal empty\n} }\n",
             condition);
    compare(text, least);
}

static void conditions_are_bounded(void **state) {
    (void)state;
    static const char *const conditions[] = {
        "i + 10 < 6000",
        "i - 10 < 6000",
        "6000 - i > 10",
        "10 - i > -6000",
        "2 * i < 12000",
        "i * -2 > -12000",
        "-i > -6000",
        "-(i + 1) * 2 > -12000",
        "i / 7 < 800",
        "-i / 7 > -800",
        "i + i % 4 < 6000",
        "i - (i + 3) % 4 < 6000",
        "2 * i + 5 % 3 < 12000",
        "i - (5 - i) % 3 < 6000",
        "N - i > N / 4",
        "i < N - N / 4 + K * 2 - K % 4",
        "(N + 4) % 7 < i",
        "i / K + i / 2 < 3600",
        "i != 6000",
        "i == 5",
        "6000 == i",
        "N == 8000",
        "min(i, i + 3) < 6000",
        "max(i - 4, i) < 6000",
        "i + u < 6000",
    };
    for (size_t i = 0; i < sizeof conditions / sizeof conditions[0]; i++) {
        compare_condition(conditions[i], 500);
    }
}

/* Conditions that come round make a period; they are skipped as well. */
static void conditions_come_round(void **state) {
    (void)state;
    static const char *const conditions[] = {
        "i % 4 != 1",       "i / 3 % 2 == 0", "(i + K) % 5 < 2",
        "(i - K) % 6 == 0", "i * 3 % 4 == 1", "-i % 3 == 1",
    };
    for (size_t i = 0; i < sizeof conditions / sizeof conditions[0]; i++) {
        compare_condition(conditions[i], 500);
    }
}

/* A period that is longer than what is left is not skipped. */
static void long_periods_are_run(void **state) {
    (void)state;
    compare_condition("i % 9000 < 6000", 0);
    compare_condition("(5000 - i) % 9000 < 5001", 0);
}

/* Values of loops inside are intervals, too. */
static void conditions_of_inner_loops_are_bounded(void **state) {
    (void)state;
    static const char *const conditions[] = {
        "i + j < 6000",
        "i - j < 6000",
        "i * 3 + j * 2 < 18000",
        "(i + j) / 5 < 1200",
        "i + j % 5 < 6000",
        "i + (j + 4) % 5 < 6000",
        "i + (j + 4) % 5 * 1000 >= 5000",
        "i - (j + 9) % 20 < 5990",
        "i + j % 2 < 6000",
        "i + j / 2 < 6000",
        "-(i + j) > -6000",
    };
    for (size_t i = 0; i < sizeof conditions / sizeof conditions[0]; i++) {
        char text[TEXT_MAX];
        snprintf(text, sizeof text,
                 "kernel k on trn2\nparam N = 8000\ntensor t : sbuf bf16 [4] (128, 64)\n"
                 "for i in 0..N {\n for j in 0..3 {\n  if %s {\n"
                 "   dma load writes t[i %% 4] cost 3 ns\n  } else {\n"
                 "   dma slow writes t[i %% 4] cost 50 ns\n  }\n }\n"
                 " vector op reads t[i %% 4] cost 7 ns\n}\n",
                 conditions[i]);
        compare(text, 500);
    }
}

/* ---- indices ----------------------------------------------------------------------- */

/* Which slot is touched decides what is waited for. Parts that are constants count as one. */
static void indices_move_with_the_loop(void **state) {
    (void)state;
    static const char *const indices[] = {
        "i % 4",
        "(i + K + 2) % 4",
        "(i + K - 2) % 4",
        "(K - i) % 4",
        "(i + (K + 2)) % 4",
        "(i + (K - 2)) % 4",
        "(i + K * 2) % 4",
        "(i * (K - 4)) % 4",
        "(i + K / 2) % 4",
        "(i + K % 4) % 4",
        "(i + (-K) / 2 + 8) % 4",
        "(i + (-K) % 4) % 4",
        "(i + i / 5) % 4",
        "(i / (K / 2)) % 4",
        "(i % (K % 4 + 1)) % 4",
        "(K * 2 - 3 * i) % 4",
        "-i % 4",
    };
    for (size_t i = 0; i < sizeof indices / sizeof indices[0]; i++) {
        for (int64_t k = 7; k < 10; k += 2) {
            char text[TEXT_MAX];
            snprintf(text, sizeof text,
                     "kernel k on trn2\nparam N = 8000\nparam K = %lld\n"
                     "tensor t : sbuf bf16 [4] (128, 64)\nfor i in 0..N {\n"
                     " dma load writes t[%s] cost 10 ns\n vector op reads t[i %% 4] cost 30 ns\n"
                     " scalar next updates t[%s] cost 3 ns\n}\n",
                     (long long)k, indices[i], indices[i]);
            compare(text, 500);
        }
    }
}

/* Slots of a tensor with a tile for every iteration move on: by how much is part of the state, so
 * a step that is not right is a loop that is never skipped. */
static void slots_move_on(void **state) {
    (void)state;
    static const char *const indices[] = {
        "i",           "i * (K + 2)", "i * (K - 4)",   "i * (K * 2)", "i * (K / 2)",
        "i * (K % 4)", "i / (K / 2)", "i * 2 + i / 3", "(K + 1) * i", "i * 3 - i % 2",
    };
    for (size_t i = 0; i < sizeof indices / sizeof indices[0]; i++) {
        char text[TEXT_MAX];
        snprintf(text, sizeof text,
                 "kernel k on trn2\nparam N = 8000\nparam K = 7\nunknown u in 0..3 = 1\n"
                 "tensor t : sbuf bf16 [120000] (128, 64)\nfor i in 0..N {\n"
                 " dma load writes t[%s] cost 10 ns\n vector op reads t[%s] cost 30 ns\n}\n",
                 indices[i], indices[i]);
        compare(text, 500);
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(conditions_are_bounded),
        cmocka_unit_test(conditions_come_round),
        cmocka_unit_test(long_periods_are_run),
        cmocka_unit_test(conditions_of_inner_loops_are_bounded),
        cmocka_unit_test(indices_move_with_the_loop),
        cmocka_unit_test(slots_move_on),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
