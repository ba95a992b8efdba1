/* SPDX-License-Identifier: Apache-2.0
 *
 * How simulations and searches end early: the clock and the caller are asked once in a bounded
 * number of steps, a cancelled call has no result and leaves nothing, a search that time has cut
 * says so, and depths that no kernel can use cost nothing.
 */
#define _POSIX_C_SOURCE 200809L
#include "sim/tune.h"
#include "support/kernels.h"
#include "support/support.h"

#include <stdio.h>
#include <string.h>
#include <time.h>

#include "sim/sim.h"
#include "spad/spad.h"

/* Counts how often it is asked, and cancels at one of them, or lets time run out there. */
typedef struct asked {
    int64_t count;
    int64_t cancel_at; /* 0: never */
    int64_t sleep_at;  /* 0: never */
    int64_t sleep_ns;
} asked;

static int64_t now_ns(void) {
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (int64_t)now.tv_sec * 1000000000 + now.tv_nsec;
}

static int ask(void *context) {
    asked *a = context;
    a->count++;
    if (a->count == a->sleep_at) {
        for (const int64_t end = now_ns() + a->sleep_ns; now_ns() < end;) {
        }
    }
    return a->count == a->cancel_at;
}

/* ---- simulations ------------------------------------------------------------------- */

/* Kernels of both kinds, without anything that repeats. */
static const char *const plain =
    "kernel k on trn2\nparam N = 20000\ntensor t : sbuf bf16 [4] (128, 64)\n"
    "for i in 0..N { dma load writes t[i % 4] cost 10 ns\n vector op reads t[i % 4] cost 7 ns }\n";
static const char *const synchronised =
    "kernel k on sm_90\nparam N = 20000\ncounter c\ncounter d\n"
    "agent a { for i in 0..N { simt op cost 10 ns\n signal c } }\n"
    "agent b { for i in 0..N { wait c >= i + 1\n tensor mma cost 7 ns\n signal d } }\n";

static void the_caller_is_asked_in_a_bounded_number_of_steps(void **state) {
    (void)state;
    const char *const texts[] = {plain, synchronised};
    for (size_t i = 0; i < sizeof texts / sizeof texts[0]; i++) {
        asked a = {0};
        const spad_sim_options options = {.no_repeat = true, .watch = {ask, &a}};
        spad_kernel *kernel = test_parse(texts[i]);
        spad_sim *sim;
        spad_error error;
        assert_ok(spad_sim_create(&sim, kernel, &options, &error), &error);
        assert_int_equal(spad_sim_get_totals(sim).operations, 40000);
        assert_true(a.count >= 40000 / SPAD_SIM_LOOK);
        spad_sim_destroy(sim);
        spad_kernel_destroy(kernel);
    }
}

/* Cancelled when asked for the k-th time, no more than k times as many steps were made. */
static void a_simulation_ends_when_it_is_cancelled(void **state) {
    (void)state;
    const char *const texts[] = {plain, synchronised};
    for (size_t i = 0; i < sizeof texts / sizeof texts[0]; i++) {
        spad_kernel *kernel = test_parse(texts[i]);
        for (int64_t k = 1; k <= 5; k++) {
            test_host host;
            test_host_init(&host);
            asked a = {.cancel_at = k};
            const spad_sim_options options = {
                .no_repeat = true, .watch = {ask, &a}, .host = &host.host};
            spad_sim *sim;
            spad_error error;
            long long done = -1;
            assert_int_equal(spad_sim_create(&sim, kernel, &options, &error), SPAD_ERR_CANCELLED);
            assert_null(sim);
            assert_int_equal(a.count, k);
            assert_int_equal(
                sscanf(error.message, "the call was cancelled after %lld operations", &done), 1);
            assert_in_range(done, 0, k * SPAD_SIM_LOOK);
            test_host_assert_clean(&host);
        }
        spad_kernel_destroy(kernel);
    }
}

/* Time that runs out between two questions is noticed at the next. */
static void a_simulation_without_time_is_no_simulation(void **state) {
    (void)state;
    const char *const texts[] = {plain, synchronised};
    for (size_t i = 0; i < sizeof texts / sizeof texts[0]; i++) {
        asked a = {.sleep_at = 3, .sleep_ns = INT64_C(300000000)};
        const spad_sim_options options = {
            .no_repeat = true, .timeout_ns = INT64_C(200000000), .watch = {ask, &a}};
        spad_kernel *kernel = test_parse(texts[i]);
        spad_sim *sim;
        spad_error error;
        assert_int_equal(spad_sim_create(&sim, kernel, &options, &error), SPAD_ERR_TIME);
        assert_null(sim);
        assert_int_equal(a.count, 3);
        spad_kernel_destroy(kernel);
    }
}

/* Steps of a simulation, in units of SPAD_SIM_LOOK. */
static int64_t steps_of(const char *text, int64_t count) {
    const spad_define define = {"M", count};
    const spad_kernel_options shape = {.defines = &define, .define_count = 1};
    asked a = {0};
    const spad_sim_options options = {.watch = {ask, &a}};
    spad_sim *sim;
    spad_error error;
    spad_kernel *kernel = test_parse_with(text, &shape);
    assert_ok(spad_sim_create(&sim, kernel, &options, &error), &error);
    spad_sim_destroy(sim);
    spad_kernel_destroy(kernel);
    return a.count;
}

/* Four times as many places are about four times as much work: those that are outside of their
 * space, those of a space without a size, and those that all share bytes with one other. */
static void work_grows_with_the_places(void **state) {
    (void)state;
    static const char *const texts[] = {
        "kernel k on trn2\nparam M = 1\ntensor w : sbuf bf16 [M] (128, 8) mod base 0 free M\n"
        "for i in 0..M { dma load writes w[i] }\n",
        "kernel k on trn2\nparam M = 1\ntensor w : sbuf bf16 [M] (128, 8) mod base 0 free M\n"
        "tensor big : sbuf bf16 (128, 8192) at 0\n"
        "for i in 0..M { dma load writes w[i]\n vector op reads big }\n",
        "kernel k on trn2\nparam M = 1\ntensor w : hbm bf16 [M] (1, 8) mod base 0 free M\n"
        "for i in 0..M { dma load writes w[i] }\n",
        "kernel k on trn2\nparam M = 1\ntensor w : sbuf bf16 [M] (1, 8)\n"
        "for i in 0..M { dma load writes w[i] }\n"};
    for (size_t i = 0; i < sizeof texts / sizeof texts[0]; i++) {
        const int64_t few = steps_of(texts[i], 20000);
        const int64_t many = steps_of(texts[i], 80000);
        assert_true(few > 0);
        assert_true(many <= 6 * few);
    }
}

/* ---- everything else that can be cancelled ----------------------------------------- */

static const char *const tunable =
    "kernel k on trn2\ntensor x : sbuf bf16 [64] (128, 512) ring 2\n"
    "tensor y : sbuf bf16 [64] (128, 512) ring 1\ntensor out : hbm bf16 [64] (128, 512) output\n"
    "for i in 0..64 { tensor z : sbuf bf16 (128, 8)\n dma load writes x[i]\n"
    " scalar exp reads x[i] writes y[i], z\n dma store reads y[i] writes out[i] }\n";

typedef spad_status (*call)(const spad_kernel *kernel, spad_watch watch, const spad_host *host);

static spad_status call_tune(const spad_kernel *kernel, spad_watch watch, const spad_host *host) {
    const spad_tune_options options = {.depth_most = 3, .watch = watch, .host = host};
    spad_tune *tune;
    const spad_status status = spad_tune_create(&tune, kernel, &options, NULL);
    assert_true((tune == NULL) == (status != SPAD_OK));
    spad_tune_destroy(tune);
    return status;
}

static spad_status call_check(const spad_kernel *kernel, spad_watch watch, const spad_host *host) {
    const spad_check_options options = {.watch = watch, .host = host};
    spad_check *check;
    const spad_status status = spad_check_create(&check, kernel, &options, NULL);
    assert_true((check == NULL) == (status != SPAD_OK));
    spad_check_destroy(check);
    return status;
}

static spad_status call_layout(const spad_kernel *kernel, spad_watch watch, const spad_host *host) {
    const spad_layout_options options = {.watch = watch, .host = host};
    spad_layout *layout;
    const spad_status status = spad_layout_create(&layout, kernel, &options, NULL);
    assert_true((layout == NULL) == (status != SPAD_OK));
    spad_layout_destroy(layout);
    return status;
}

static spad_status call_fit(const spad_kernel *kernel, spad_watch watch, const spad_host *host) {
    const spad_layout_options planner = {.host = host};
    const spad_fit_options options = {.watch = watch, .host = host};
    spad_layout *layout;
    spad_fit *fit;
    assert_int_equal(spad_layout_create(&layout, kernel, &planner, NULL), SPAD_OK);
    assert_false(spad_layout_fits(layout));
    const spad_status status = spad_fit_create(&fit, layout, &options, NULL);
    assert_true((fit == NULL) == (status != SPAD_OK));
    spad_fit_destroy(fit);
    spad_layout_destroy(layout);
    return status;
}

/* Cancels at the first, second, third ... question, until a call needs no more. */
static void cancel_at_each(call work, const char *text) {
    spad_kernel *kernel = test_parse(text);
    spad_status status = SPAD_ERR_CANCELLED;
    int64_t k = 0;
    while (status == SPAD_ERR_CANCELLED) {
        test_host host;
        test_host_init(&host);
        asked a = {.cancel_at = ++k};
        status = work(kernel, (spad_watch){ask, &a}, &host.host);
        test_host_assert_clean(&host);
        if (status == SPAD_ERR_CANCELLED) {
            assert_int_equal(a.count, k); /* never asked again after that */
        } else {
            assert_true(a.count < k);
        }
    }
    assert_int_equal(status, SPAD_OK);
    assert_true(k > 1); /* it was asked at all */
    spad_kernel_destroy(kernel);
}

static void calls_can_be_cancelled_at_each_question(void **state) {
    (void)state;
    cancel_at_each(call_tune, tunable);
    cancel_at_each(call_check, plain);
    cancel_at_each(call_layout, tunable);
    cancel_at_each(call_fit, "kernel k on trn2\ntensor x : sbuf bf16 [64] (128, 16384) ring 8\n"
                             "tensor out : hbm bf16 [64] (128, 16384) output\nfor i in 0..64 {\n"
                             " dma load writes x[i]\n dma store reads x[i] writes out[i] }\n");
}

/* ---- the tuner --------------------------------------------------------------------- */

/* Time runs out at each question: there is no result, or one that says that it was cut, is no
 * worse than the kernel as it is, and claims nothing that was not examined. */
static void a_search_that_time_cuts_says_so(void **state) {
    (void)state;
    spad_kernel *kernel = test_parse(tunable);
    bool cut = true;
    int64_t results = 0;
    const spad_tune_options all = {.depth_most = 2};
    spad_tune *reference;
    assert_int_equal(spad_tune_create(&reference, kernel, &all, NULL), SPAD_OK);
    const spad_tune_totals whole = spad_tune_get_totals(reference);
    assert_false(whole.cut);
    spad_tune_destroy(reference);
    for (int64_t k = 1; cut; k++) {
        asked a = {.sleep_at = k, .sleep_ns = 60000000};
        const spad_tune_options options = {
            .depth_most = 2, .timeout_ns = 50000000, .watch = {ask, &a}};
        spad_tune *tune;
        spad_error error;
        const spad_status status = spad_tune_create(&tune, kernel, &options, &error);
        if (status == SPAD_ERR_TIME) continue;
        assert_ok(status, &error);
        const spad_tune_totals t = spad_tune_get_totals(tune);
        cut = a.count >= k;
        results += t.cut;
        if (t.cut) {
            assert_false(t.exhaustive);
        } else { /* the last question of all: everything was examined */
            assert_int_equal(t.simulations, whole.simulations);
            assert_int_equal(t.planned, whole.planned);
        }
        assert_true(t.written_fits);
        assert_true(t.planned <= t.written_planned);
        assert_non_null(spad_tune_get_chosen(tune));
        for (size_t i = 0; i < tune->points.count; i++) {
            assert_true(tune->points.items[i].fits); /* all of them do */
        }
        spad_tune_destroy(tune);
    }
    assert_true(results > 0);
    spad_kernel_destroy(kernel);
}

/* Without a simulation of the kernel as it is there is nothing to show. */
static void a_search_needs_time_for_the_kernel_as_it_is(void **state) {
    (void)state;
    const spad_tune_options none = {.timeout_ns = 1};
    const spad_tune_options negative = {.timeout_ns = -1};
    spad_kernel *kernel = test_parse(plain);
    spad_tune *tune;
    spad_error error;
    assert_int_equal(spad_tune_create(&tune, kernel, &none, &error), SPAD_ERR_TIME);
    assert_null(tune);
    assert_int_equal(spad_tune_create(&tune, kernel, &negative, &error), SPAD_ERR_ARGUMENT);
    assert_string_equal(error.message, "a timeout of -1 ns is negative");
    spad_kernel_destroy(kernel);
}

/* Depths that no ring can use are not examined, whatever is asked for; where many are of use,
 * some of them represent all, and the result says so. */
static void depths_are_those_that_can_be_of_use(void **state) {
    (void)state;
    const int64_t depths[] = {64, 65536, 2305843009213693950, INT64_MAX};
    spad_kernel *kernel = test_parse(tunable);
    for (size_t i = 0; i < sizeof depths / sizeof depths[0]; i++) {
        const spad_tune_options options = {.depth_most = depths[i]};
        spad_tune *tune;
        spad_error error;
        assert_ok(spad_tune_create(&tune, kernel, &options, &error), &error);
        const spad_tune_knob *knob = spad_tune_get_knob(tune, 0);
        assert_true(knob->value_count <= 24);
        for (size_t k = 0; k < 16; k++) assert_int_equal(knob->values[k], (int64_t)k + 1);
        assert_int_equal(knob->values[knob->value_count - 1], 64); /* one for every tile */
        assert_true(spad_tune_get_totals(tune).sampled);
        assert_true(spad_tune_get_totals(tune).simulations < 1000);
        spad_tune_destroy(tune);
    }
    const spad_tune_options usual = {0};
    spad_tune *tune;
    assert_int_equal(spad_tune_create(&tune, kernel, &usual, NULL), SPAD_OK);
    assert_false(spad_tune_get_totals(tune).sampled);
    spad_tune_destroy(tune);
    spad_kernel_destroy(kernel);
}

/* A ring of a parameter grows until it holds all tiles, or more than the space. */
static void parameters_grow_as_far_as_rings_can(void **state) {
    (void)state;
    static const char format[] =
        "kernel k on sm_90\nparam S = 2\nparam N = 1000\nmbarrier full[S] count 1\n"
        "mbarrier empty[S] count 1\ntensor t : shared bf16 [N] (1, %d) ring S\n"
        "for s in 0..S { init full[s]\n init empty[s] }\nfence\n"
        "agent a { for i in 0..N { wait empty[i %% S] parity (i / S + 1) %% 2\n"
        " copy load writes t[i] cost 5 ns\n arrive full[i %% S] } }\n"
        "agent b { for i in 0..N { wait full[i %% S] parity i / S %% 2\n"
        " simt op reads t[i] cost 5 ns\n arrive empty[i %% S] } }\n"
        "for s in 0..S { invalidate full[s]\n invalidate empty[s] }\n";
    const struct {
        int elements;
        int64_t most; /* slots of the shared memory, and one more */
    } cases[] = {{8192, 16}, {16384, 9}};
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        char text[1000];
        snprintf(text, sizeof text, format, cases[i].elements);
        spad_kernel *kernel = test_parse(text);
        const spad_tune_options options = {.depth_most = 2305843009213693950};
        spad_tune *tune;
        spad_error error;
        assert_ok(spad_tune_create(&tune, kernel, &options, &error), &error);
        const spad_tune_knob *knob = spad_tune_get_knob(tune, 0);
        assert_string_equal(knob->name, "S");
        assert_true(knob->value_count > 2);
        assert_true(knob->values[knob->value_count - 1] <= cases[i].most);
        spad_tune_destroy(tune);
        spad_kernel_destroy(kernel);
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_caller_is_asked_in_a_bounded_number_of_steps),
        cmocka_unit_test(a_simulation_ends_when_it_is_cancelled),
        cmocka_unit_test(a_simulation_without_time_is_no_simulation),
        cmocka_unit_test(work_grows_with_the_places),
        cmocka_unit_test(calls_can_be_cancelled_at_each_question),
        cmocka_unit_test(a_search_that_time_cuts_says_so),
        cmocka_unit_test(a_search_needs_time_for_the_kernel_as_it_is),
        cmocka_unit_test(depths_are_those_that_can_be_of_use),
        cmocka_unit_test(parameters_grow_as_far_as_rings_can),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
