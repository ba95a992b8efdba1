/* SPDX-License-Identifier: Apache-2.0
 *
 * Calls that are cut: by the clock at its first, second, third ... reading, and by the caller at
 * each of the times that it is asked. A cut check claims no more than a whole one, a cut search
 * says that it was cut, and a cancelled call has no result and leaves nothing.
 *
 * The clock is one of our own that goes on by a millisecond with every reading; the program is
 * linked with --wrap=clock_gettime. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "spad/spad.h"
#include "support/files.h"
#include "support/kernels.h"
#include "support/support.h"

enum { TICK = 1000000, CUTS_MOST = 300 };

static int64_t readings;

int __wrap_clock_gettime(clockid_t clock, struct timespec *out);

int __wrap_clock_gettime(clockid_t clock, struct timespec *out) {
    (void)clock;
    readings++;
    out->tv_sec = (time_t)(readings / 1000);
    out->tv_nsec = (long)(readings % 1000 * TICK);
    return 0;
}

/* The caller says no when it is asked for the n-th time; 0: never. */
typedef struct caller {
    long asked;
    long refuses;
} caller;

static int refuse(void *context) {
    caller *c = context;
    return ++c->asked == c->refuses;
}

static spad_watch watch_of(caller *c) {
    return (spad_watch){refuse, c};
}

/* ---- kernels ----------------------------------------------------------------------- */

static const char *const names[] = {
    "01_exp_rows",
    "01_tensor_add",
    "07_gemm_sm80",
    "08_gemm_sm90",
    "09_flash_attention_2",
    "11_add_queues",
    "11_online_softmax",
    "wrong/15_index_outside",
    "wrong/20_required_depth",
    "wrong/36_unwritten_output",
    "wrong/37_parallel_dependence",
    "wrong/40_race",
    "wrong/42_parity_of_empty",
    "wrong/43_flipped_parity",
    "wrong/43_stale_parity",
    "wrong/46_late_expect",
    "wrong/54_free_in_use",
    "wrong/60_serial_tensor",
};

enum { NAMES = sizeof names / sizeof names[0] };

/* Those with more operations than are run between two looks. */
static const char *const long_names[] = {"02_matmul_1_tiled", "12_gemm_cube"};

enum { LONG_NAMES = sizeof long_names / sizeof long_names[0] };

static spad_kernel *kernel_of(const char *name) {
    char path[128];
    snprintf(path, sizeof path, TEST_KERNELS "/%s.spad", name);
    char *text = test_read_file(path);
    spad_kernel *kernel = test_parse_named(text, path, NULL);
    free(text);
    return kernel;
}

/* Two rings and a tensor in the loop, which may be hoisted: all that a search does. There are more
 * operations than are run between two looks. */
#define TUNABLE(columns)                                     \
    "kernel k on trn2\n"                                     \
    "tensor x : sbuf bf16 [300] (128, " columns ") ring 1\n" \
    "tensor y : sbuf bf16 [300] (128, " columns ") ring 1\n" \
    "for i in 0..300 {\n"                                    \
    "    tensor t : sbuf bf16 (128, " columns ")\n"          \
    "    dma load writes x[i] cost 4 ns\n"                   \
    "    scalar exp reads x[i] writes t cost 10 ns\n"        \
    "    vector mul reads t writes y[i] cost 10 ns\n"        \
    "    dma store reads y[i] cost 4 ns\n"                   \
    "}\n"

/* All that helps fits in the first one, nothing of it in the second, some of it in the third, and
 * in the last not even the kernel as it is. */
static const char *const tunables[] = {TUNABLE("16"), TUNABLE("30000"), TUNABLE("24000"),
                                       TUNABLE("50000")};

enum { TUNABLES = sizeof tunables / sizeof tunables[0] };

/* ---- the clock --------------------------------------------------------------------- */

static bool claims_no_more(spad_verdict cut, spad_verdict whole) {
    switch (cut) {
    case SPAD_VERDICT_WRONG: return whole == SPAD_VERDICT_WRONG;
    case SPAD_VERDICT_PROVED_ALL: return whole == SPAD_VERDICT_PROVED_ALL;
    case SPAD_VERDICT_PROVED_SHAPE:
        return whole == SPAD_VERDICT_PROVED_ALL || whole == SPAD_VERDICT_PROVED_SHAPE;
    case SPAD_VERDICT_UNKNOWN: return true;
    }
    return false;
}

static void a_check_that_is_cut_claims_no_more(void **state) {
    (void)state;
    size_t weaker = 0;
    for (size_t i = 0; i < NAMES; i++) {
        spad_kernel *kernel = kernel_of(names[i]);
        spad_check *whole;
        assert_int_equal(spad_check_create(&whole, kernel, NULL, NULL), SPAD_OK);
        const spad_verdict verdict = spad_check_get_verdict(whole);
        for (int64_t n = 1; n <= CUTS_MOST; n += 1 + n / 8) {
            const spad_check_options options = {.timeout_ns = n * TICK};
            spad_check *check;
            assert_int_equal(spad_check_create(&check, kernel, &options, NULL), SPAD_OK);
            const spad_verdict found = spad_check_get_verdict(check);
            if (!claims_no_more(found, verdict)) print_error("%s, %d\n", names[i], (int)n);
            assert_true(claims_no_more(found, verdict));
            assert_true(spad_check_get_counts(check).errors <= spad_check_get_counts(whole).errors);
            weaker += found != verdict;
            spad_check_destroy(check);
        }
        spad_check_destroy(whole);
        spad_kernel_destroy(kernel);
    }
    assert_true(weaker >= NAMES);
}

static void a_simulation_that_is_cut_fails(void **state) {
    (void)state;
    size_t cut = 0;
    for (size_t i = 0; i < LONG_NAMES; i++) {
        spad_kernel *kernel = kernel_of(long_names[i]);
        spad_sim *whole;
        spad_error error = {0};
        const spad_status expected = spad_sim_create(&whole, kernel, NULL, &error);
        for (int64_t n = 1; n <= 20; n++) {
            const spad_sim_options options = {.timeout_ns = n * TICK};
            spad_sim *sim;
            const spad_status status = spad_sim_create(&sim, kernel, &options, &error);
            if (status == SPAD_ERR_TIME) {
                assert_non_null(strstr(error.message, "time is up after "));
                assert_null(sim);
                cut++;
                continue;
            }
            assert_int_equal(status, expected);
            if (status == SPAD_OK) {
                assert_int_equal(spad_sim_get_totals(sim).makespan,
                                 spad_sim_get_totals(whole).makespan);
            }
            spad_sim_destroy(sim);
        }
        spad_sim_destroy(whole);
        spad_kernel_destroy(kernel);
    }
    assert_true(cut > 0);
}

/* Returns how many searches were cut. */
static size_t cut_search(const spad_kernel *kernel) {
    spad_tune *whole;
    spad_error error;
    size_t cut = 0;
    const spad_tune_options patient = {.depth_most = 2};
    assert_ok(spad_tune_create(&whole, kernel, &patient, &error), &error);
    const spad_tune_totals all = spad_tune_get_totals(whole);
    assert_false(all.cut);
    for (int64_t n = 1; n <= 80; n++) {
        const spad_tune_options options = {.depth_most = 2, .timeout_ns = n * TICK};
        spad_tune *tune;
        const spad_status status = spad_tune_create(&tune, kernel, &options, &error);
        if (status == SPAD_ERR_TIME) { /* before the kernel as it is was simulated */
            assert_null(tune);
            continue;
        }
        assert_ok(status, &error);
        const spad_tune_totals some = spad_tune_get_totals(tune);
        assert_true(some.cut || some.planned == all.planned);
        assert_true(some.planned >= all.bound);
        assert_true(some.simulations <= all.simulations);
        assert_true((spad_tune_get_chosen(tune) != NULL) == (some.planned != SPAD_UNBOUNDED));
        cut += some.cut;
        spad_tune_destroy(tune);
    }
    spad_tune_destroy(whole);
    return cut;
}

static void a_search_that_is_cut_says_so(void **state) {
    (void)state;
    for (size_t i = 0; i < TUNABLES; i++) {
        spad_kernel *kernel = test_parse(tunables[i]);
        const size_t cut = cut_search(kernel);
        if (cut == 0) print_error("%zu\n", i);
        assert_true(cut > 0);
        spad_kernel_destroy(kernel);
    }
}

/* ---- the caller -------------------------------------------------------------------- */

typedef struct subject {
    const spad_kernel *kernel;
    const spad_layout *layout;
    const spad_host *host;
} subject;

static spad_status check_it(const subject *s, spad_watch watch) {
    const spad_check_options options = {.host = s->host, .watch = watch};
    spad_check *check;
    const spad_status status = spad_check_create(&check, s->kernel, &options, NULL);
    assert_true((status == SPAD_OK) == (check != NULL));
    spad_check_destroy(check);
    return status;
}

static spad_status simulate_it(const subject *s, spad_watch watch) {
    const spad_sim_options options = {.host = s->host, .watch = watch};
    spad_sim *sim;
    const spad_status status = spad_sim_create(&sim, s->kernel, &options, NULL);
    assert_true((status == SPAD_OK) == (sim != NULL));
    spad_sim_destroy(sim);
    return status;
}

static spad_status tune_it(const subject *s, spad_watch watch) {
    const spad_tune_options options = {.host = s->host, .watch = watch, .depth_most = 2};
    spad_tune *tune;
    const spad_status status = spad_tune_create(&tune, s->kernel, &options, NULL);
    assert_true((status == SPAD_OK) == (tune != NULL));
    spad_tune_destroy(tune);
    return status;
}

static spad_status fit_it(const subject *s, spad_watch watch) {
    const spad_fit_options options = {.host = s->host, .watch = watch};
    spad_fit *fit;
    const spad_status status = spad_fit_create(&fit, s->layout, &options, NULL);
    assert_true((status == SPAD_OK) == (fit != NULL));
    spad_fit_destroy(fit);
    return status;
}

typedef spad_status (*call)(const subject *s, spad_watch watch);

/* Refuses at every time that is asked, or at some of them. Returns how often. */
static long refuse_each(call run, const spad_kernel *kernel, const spad_layout *layout) {
    caller patient = {0};
    subject s = {kernel, layout, NULL};
    const spad_status expected = run(&s, watch_of(&patient));
    long refused = 0;
    for (long n = 1; n <= patient.asked; n += 1 + patient.asked / test_effort(480)) {
        caller c = {.refuses = n};
        test_host host;
        test_host_init(&host);
        s.host = &host.host;
        const spad_status status = run(&s, watch_of(&c));
        if (c.asked >= n) assert_int_equal(status, SPAD_ERR_CANCELLED);
        if (c.asked < n) assert_int_equal(status, expected);
        refused += c.asked >= n;
        test_host_assert_clean(&host);
    }
    return refused;
}

static void a_cancelled_call_has_no_result(void **state) {
    (void)state;
    long checks = 0;
    long sims = 0;
    for (size_t i = 0; i < NAMES; i++) {
        spad_kernel *kernel = kernel_of(names[i]);
        checks += refuse_each(check_it, kernel, NULL);
        spad_kernel_destroy(kernel);
    }
    for (size_t i = 0; i < LONG_NAMES; i++) {
        spad_kernel *kernel = kernel_of(long_names[i]);
        sims += refuse_each(simulate_it, kernel, NULL);
        spad_kernel_destroy(kernel);
    }
    assert_true(checks > NAMES);
    assert_true(sims > 0);
    for (size_t i = 0; i < TUNABLES; i++) {
        spad_kernel *kernel = test_parse(tunables[i]);
        assert_true(refuse_each(tune_it, kernel, NULL) > 10);
        spad_kernel_destroy(kernel);
    }
}

/* ---- progress ------------------------------------------------------------------------ */

typedef struct listener {
    long calls;
    long ends;    /* at that call; 0: never */
    int64_t last; /* what may only grow */
    int64_t best; /* what may only fall */
} listener;

static int hear_tune(void *context, const spad_tune_progress *p) {
    listener *l = context;
    assert_true(p->nanoseconds >= 0 && p->simulations >= l->last);
    assert_true(p->makespan <= l->best && p->makespan >= p->bound);
    l->last = p->simulations;
    l->best = p->makespan;
    return ++l->calls == l->ends;
}

static void a_search_may_be_ended_by_its_listener(void **state) {
    (void)state;
    spad_error error;
    for (size_t i = 0; i < TUNABLES; i++) {
        spad_kernel *kernel = test_parse(tunables[i]);
        listener all = {.best = SPAD_UNBOUNDED};
        spad_tune_options options = {.depth_most = 2, .progress = hear_tune, .context = &all};
        spad_tune *whole;
        assert_ok(spad_tune_create(&whole, kernel, &options, &error), &error);
        assert_false(spad_tune_get_totals(whole).cut);
        assert_true(all.calls > 0);
        for (long n = 1; n <= all.calls; n++) {
            listener some = {.ends = n, .best = SPAD_UNBOUNDED};
            spad_tune *tune;
            options.context = &some;
            const spad_status status = spad_tune_create(&tune, kernel, &options, &error);
            assert_int_equal(some.calls, n);       /* it is not called again */
            if (status == SPAD_ERR_TIME) continue; /* before the kernel as it is was simulated */
            assert_ok(status, &error);
            assert_true(spad_tune_get_totals(tune).planned >= spad_tune_get_totals(whole).planned);
            spad_tune_destroy(tune);
        }
        spad_tune_destroy(whole);
        spad_kernel_destroy(kernel);
    }
}

static int hear_layout(void *context, const spad_layout_progress *p) {
    listener *l = context;
    assert_string_equal(p->name, "shared");
    assert_true(p->plan.nanoseconds >= 0 && p->plan.bound > 0);
    return ++l->calls == l->ends;
}

/* Tensors of many sizes with many lives: the planner has to search. */
static spad_kernel *made_to_be_searched(void) {
    static char text[32768];
    size_t used = (size_t)snprintf(text, sizeof text, "kernel k on sm_90\n");
    for (int i = 0; i < 120; i++) {
        used += (size_t)snprintf(text + used, sizeof text - used, "tensor t%d : shared u8 (%d)\n",
                                 i, 128 + i * 7919 % 3001);
    }
    for (int i = 0; i < 160; i++) {
        if (i < 120) {
            used += (size_t)snprintf(text + used, sizeof text - used, "simt w writes t%d\n", i);
        }
        const int ends = i - 5 - i * 37 % 35;
        if (ends < 0 || ends >= 120) continue;
        used += (size_t)snprintf(text + used, sizeof text - used, "simt r reads t%d\n", ends);
    }
    assert_true(used < sizeof text);
    return test_parse(text);
}

static void a_layout_may_be_ended_by_its_listener(void **state) {
    (void)state;
    spad_error error;
    spad_kernel *kernel = made_to_be_searched();
    listener all = {0};
    spad_layout_options options = {
        .timeout_ns = 2000 * (int64_t)TICK, .progress = hear_layout, .context = &all};
    spad_layout *layout;
    assert_ok(spad_layout_create(&layout, kernel, &options, &error), &error);
    spad_layout_destroy(layout);
    assert_true(all.calls > 2);
    listener first = {.ends = 1};
    options.context = &first;
    const int64_t before = readings;
    assert_ok(spad_layout_create(&layout, kernel, &options, &error), &error);
    assert_true(spad_layout_fits(layout));
    assert_true(first.calls <= 2 && readings - before < 200); /* none of the time is spent */
    spad_layout_destroy(layout);
    spad_kernel_destroy(kernel);
}

static void a_cancelled_fit_has_no_result(void **state) {
    (void)state;
    spad_layout *layout;
    spad_error error;
    spad_kernel *kernel = test_parse("kernel k on sm_90\nparam N = 3\nparam S = 2\n"
                                     "tensor x : shared u8 [N] (120000) ring 2\n"
                                     "tensor y : shared u8 [N] (110000) ring S\n"
                                     "for i in 0..N { simt w writes x[i], y[i] }\n");
    assert_ok(spad_layout_create(&layout, kernel, NULL, &error), &error);
    assert_true(refuse_each(fit_it, kernel, layout) > 0);
    spad_layout_destroy(layout);
    spad_kernel_destroy(kernel);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_check_that_is_cut_claims_no_more),
        cmocka_unit_test(a_simulation_that_is_cut_fails),
        cmocka_unit_test(a_search_that_is_cut_says_so),
        cmocka_unit_test(a_cancelled_call_has_no_result),
        cmocka_unit_test(a_cancelled_fit_has_no_result),
        cmocka_unit_test(a_search_may_be_ended_by_its_listener),
        cmocka_unit_test(a_layout_may_be_ended_by_its_listener),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
