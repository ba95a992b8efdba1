/* SPDX-License-Identifier: Apache-2.0
 *
 * Unusual loops, simulated twice: with iterations that are skipped where they repeat, and
 * with every iteration run. Both have the same figures. */
#include <stdio.h>
#include <string.h>

#include "sim/sim.h"
#include "sim/sim_report.h"
#include "spad/spad.h"
#include "support/kernels.h"
#include "support/support.h"

static spad_sim *simulate(const spad_kernel *kernel, bool no_repeat) {
    const spad_sim_options options = {.repeat_after = 1, .no_repeat = no_repeat};
    spad_sim *sim;
    spad_error error;
    assert_ok(spad_sim_create(&sim, kernel, &options, &error), &error);
    return sim;
}

static int64_t waited(const spad_sim *sim) {
    int64_t total = 0;
    for (size_t i = 0; i < sim->waits.count; i++) {
        total += sim->waits.items[i].total;
    }
    return total;
}

static void assert_same_figures(const spad_kernel *kernel, const spad_sim *a, const spad_sim *b) {
    const spad_sim_totals x = spad_sim_get_totals(a);
    const spad_sim_totals y = spad_sim_get_totals(b);
    assert_int_equal(x.makespan, y.makespan);
    assert_int_equal(x.operations, y.operations);
    assert_int_equal(x.unknown, y.unknown);
    assert_int_equal(x.bound, y.bound);
    assert_int_equal(waited(a), waited(b));
    assert_int_equal(spad_sim_get_stuck(a) != NULL, spad_sim_get_stuck(b) != NULL);
    for (size_t e = 0; e < spad_kernel_get_target(kernel)->engine_count; e++) {
        assert_int_equal(spad__sim_get_engine(a, e).busy, spad__sim_get_engine(b, e).busy);
    }
}

#define TRN "kernel k on trn2\nparam N = 3000\nparam K = 3\n"
#define SM "kernel k on sm_90\nparam N = 600\n"
#define X "tensor x : sbuf bf16 [N] (128, 16) ring 3\n"

static const struct {
    const char *text;
    bool skips; /* there are iterations that are not run */
} loops[] = {
    /* comparisons that are decided for the rest of a loop, and those that are not */
    {TRN X "for i in 0..N { vector w writes x[i] cost 9 ns\n"
           "if K == 3 { scalar r reads x[i] cost 7 ns } }\n",
     true},
    {TRN X "for i in 0..N { vector w writes x[i] cost 9 ns\n"
           "if i != 500 { scalar r reads x[i] cost 7 ns } }\n",
     true},
    {TRN X "for i in 0..N { vector w writes x[i] cost 9 ns\n"
           "if i == N { scalar r reads x[i] cost 7 ns } }\n",
     true},
    {TRN X "for i in 0..N { vector w writes x[i] cost 9 ns\n"
           "if i + 1 == N + i - 2999 { scalar r reads x[i] cost 7 ns } }\n",
     true},
    {TRN X "for i in 0..N { vector w writes x[i] cost 9 ns\n"
           "if i % 4 == i % 2 { scalar r reads x[i] cost 7 ns } }\n",
     true},
    {TRN X "for i in 0..N { for j in 0..3 { vector w writes x[i] cost 9 ns\n"
           "if i != j { scalar r reads x[i] cost 7 ns } } }\n",
     true},
    {TRN X "for i in 0..N { for j in 0..K { vector w writes x[i] cost 9 ns\n"
           "if i / 7 != j { scalar r reads x[i] cost 7 ns } } }\n",
     true},
    {TRN X "for j in 0..3 { for i in 0..N { vector w writes x[i] cost 9 ns\n"
           "if j == 1 { scalar r reads x[i] cost 7 ns }\nif j != 2 { scalar s cost 2 ns } } }\n",
     true},
    {TRN X
     "for j in 0..3 { for i in 0..N { vector w writes x[i] cost 9 ns\n"
     "if i == j { scalar r reads x[i] cost 7 ns }\nif i != j + 9 { scalar s cost 2 ns } } }\n",
     true},
    {TRN X "for j in 0..3 { for i in 0..N { vector w writes x[i] cost 9 ns\n"
           "if i + j == 2990 { scalar r reads x[i] cost 7 ns }\n"
           "if j <= i { scalar s cost 2 ns } } }\n",
     true},
    {TRN X "for j in 0..3 { for i in 0..N { vector w writes x[i] cost 9 ns\n"
           "if i % 2 == j { scalar r reads x[i] cost 7 ns }\n"
           "if i >= 2000 + j { scalar s cost 2 ns } } }\n",
     true},
    {TRN X "for i in 0..N { for j in 0..2 { vector w writes x[i] cost 9 ns\n"
           "for l in 0..2 { if l == j { scalar r reads x[i] cost 7 ns } } } }\n",
     true},
    /* costs and sizes that move */
    {TRN X "for i in 0..N { vector w writes x[i] cost i ns }\n", false},
    {TRN X "for i in 0..N { vector w writes x[i] cost i % 5 ns }\n", true},
    {TRN X "for i in 0..N { vector w writes x[i] cost i / 3 % 5 ns }\n", true},
    {TRN "tensor x : sbuf bf16 (128, 3100)\n"
         "for i in 0..N { dma load writes x(.., i..i + 8)\nvector r reads x(.., i..i + 8) }\n",
     false},
    {TRN "tensor x : sbuf bf16 (128, 3100) input\n"
         "for i in 0..N { vector r reads x(.., i..i + 8) }\n",
     true},
    {TRN "tensor x : sbuf bf16 (128, 3100) input\n"
         "for i in 0..N { vector r reads x(.., 0..i + 1) }\n",
     false},
    {TRN "tensor x : sbuf bf16 (128, 3100) input\n"
         "for i in 0..N { vector r reads x(.., 0..i / 2 % 7 + 1) }\n",
     true},
    /* tiles that come again late, or never */
    {TRN "tensor x : sbuf bf16 [97] (128, 4)\ntensor y : sbuf bf16 [89] (128, 4)\n"
         "tensor z : sbuf bf16 [83] (128, 4)\n"
         "for i in 0..N { vector w writes x[i % 97], y[i % 89], z[i % 83] cost 9 ns }\n",
     false},
    {TRN "tensor x : sbuf bf16 [N] (128, 4) mod base 64 free 7\n"
         "tensor y : sbuf bf16 [N] (128, 4) mod base 4096 free 11\n"
         "for i in 0..N { vector w writes x[i] cost 9 ns\nscalar r reads x[i] writes y[i] }\n",
     true},
    {TRN "tensor x : sbuf bf16 [N] (128, 4) at 64\n"
         "for i in 0..N { vector w writes x[i] cost 9 ns\nscalar r reads x[i] cost 8 ns }\n",
     false},
    {TRN "tensor x : sbuf bf16 [N] (128, 16)\n"
         "for i in 0..N { vector w writes x[i] cost 9 ns\nscalar r reads x[i] cost 8 ns }\n",
     true},
    {TRN
     "tensor x : sbuf bf16 [N] (128, 16)\n"
     "for i in 0..N { vector w writes x[N - 1 - i] cost 9 ns\nscalar r reads x[0] cost 8 ns }\n",
     false},
    {TRN "tensor x : sbuf bf16 [N] (128, 16)\ntensor y : sbuf bf16 (128, 16) alias of x[5]\n"
         "for i in 0..N { vector w writes x[i] cost 9 ns\nscalar r reads y cost 8 ns }\n",
     false},
    /* memory that is allocated in the loop */
    {TRN "region sbuf 0..64 KiB as exact\nscope rows {\nfor i in 0..200 {\n"
         "tensor t : sbuf bf16 (128, 16) stack\nvector w writes t cost 9 ns\n"
         "scalar r reads t cost 8 ns } }\n",
     false},
    {TRN "region sbuf 0..64 KiB as exact\nfor i in 0..N { scope rows sections 2 {\n"
         "tensor t : sbuf bf16 (128, 16) stack\nvector w writes t cost 9 ns\nnext section\n"
         "} }\n",
     false},
    {TRN "tensor t : sbuf bf16 [4] (128, 16)\nfor i in 0..N {\nalloc t[i % 4]\n"
         "vector w writes t[i % 4] cost 9 ns\nfree t[i % 4] }\n",
     true},
    /* agents: amounts and objects that move */
    {SM "counter c\nagent p { for i in 0..N { simt w cost 9 ns\nsignal c by 1 } }\n"
        "agent q { for i in 0..N { take c\nsimt r cost 5 ns } }\n",
     true},
    {SM "counter c\nagent p { for i in 0..N { simt w cost 9 ns\nsignal c by i % 3 + 1 } }\n"
        "agent q { for i in 0..N { take c by 1\nsimt r cost 5 ns } }\n",
     false},
    {SM "counter c\nagent p { for i in 0..N { simt w cost 9 ns\nsignal c by i + 1 } }\n"
        "agent q { for i in 0..N { take c by i + 1\nsimt r cost 5 ns } }\n",
     false},
    {SM "counter c[4]\nagent p { for i in 0..N { simt w cost 9 ns\nsignal c[i % 4] } }\n"
        "agent q { for i in 0..N { take c[i % 4]\nsimt r cost 5 ns } }\n",
     true},
    {SM "counter c\nagent p { for i in 0..N { simt w cost 9 ns signals c } }\n"
        "agent q { for i in 0..N - 200 { take c\nsimt r cost 5 ns } }\n"
        "agent r { for i in 0..N { for j in 0..2 { simt z cost 3 ns } } }\n",
     true},
    {SM "counter c\nagent p { for i in 0..N { simt w cost 9 ns\nsignal c } }\n"
        "agent q { for i in 0..2 { for j in 0..N / 2 { take c\nsimt r cost 5 ns } } }\n",
     false},
};

static void skipped_iterations_change_no_figure(void **state) {
    (void)state;
    for (size_t i = 0; i < sizeof loops / sizeof loops[0]; i++) {
        spad_kernel *kernel = test_parse(loops[i].text);
        spad_sim *some = simulate(kernel, false);
        spad_sim *all = simulate(kernel, true);
        assert_int_equal(all->repeats.count, 0);
        if ((some->repeats.count > 0) != loops[i].skips) {
            print_error("%zu:\n%s", i, loops[i].text);
        }
        assert_int_equal(some->repeats.count > 0, loops[i].skips);
        assert_same_figures(kernel, some, all);
        spad_sim_destroy(all);
        spad_sim_destroy(some);
        spad_kernel_destroy(kernel);
    }
}

/* ---- agents that run for long ------------------------------------------------------ */

/* Sums over iterations that are not run. */
static void sums_of_agents_are_checked(void **state) {
    (void)state;
    static const struct {
        const char *first; /* before the loop */
        const char *body;
        int64_t trips;
        spad_status status;
    } cases[] = {
        {"", "simt op cost 0 ns", INT64_MAX - 1, SPAD_OK},
        {"", "simt op cost 0 ns\nsimt op cost 0 ns", INT64_MAX - 1, SPAD_ERR_OVERFLOW},
        {"", "simt op cost 1 ns", INT64_MAX - 1, SPAD_ERR_OVERFLOW},
        {"simt op cost 4000000000000000 ns\n", "simt op cost 1 ns", INT64_C(6000000000000000),
         SPAD_ERR_OVERFLOW},
        {"simt op cost 1000000000000000 ns\n", "simt op cost 1 ns", INT64_C(6000000000000000),
         SPAD_OK},
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        const spad_sim_options options = {.repeat_after = 1};
        spad_error error = {0};
        char text[300];
        spad_sim *sim;
        snprintf(text, sizeof text, "kernel k on sm_90\nagent a { %sfor i in 0..%lld {\n%s } }\n",
                 cases[i].first, (long long)cases[i].trips, cases[i].body);
        spad_kernel *kernel = test_parse(text);
        const spad_status status = spad_sim_create(&sim, kernel, &options, &error);
        if (status != cases[i].status) print_error("case %zu: %s\n", i, error.message);
        assert_int_equal(status, cases[i].status);
        if (status == SPAD_OK) {
            assert_true(spad_sim_get_totals(sim).operations >= cases[i].trips);
        } else {
            assert_non_null(strstr(error.message, "more than 2^63 picoseconds"));
            assert_null(sim);
        }
        spad_sim_destroy(sim);
        spad_kernel_destroy(kernel);
    }
}

/* ---- text -------------------------------------------------------------------------- */

static void shares_of_large_figures_are_right(void **state) {
    (void)state;
    char field[SPAD_TIME_TEXT];
    assert_string_equal(spad__share_text(1, 0, field), "0.0 %");
    assert_string_equal(spad__share_text(1, 3, field), "33.3 %");
    assert_string_equal(spad__share_text(INT64_MAX, INT64_MAX, field), "100.0 %");
    assert_string_equal(spad__share_text(INT64_MAX / 4, INT64_MAX, field), "25.0 %");
}

/* The timeline ends where iterations are skipped. */
static void the_timeline_ends_at_a_skipped_loop(void **state) {
    (void)state;
    test_text text;
    spad_error error;
    spad_kernel *kernel = test_parse("kernel k on sm_90\nagent a {\n"
                                     "for i in 0..5000 { simt op cost 9 ns }\n"
                                     "for i in 0..40 { simt last cost 9 ns } }\n");
    spad_sim *sim = simulate(kernel, false);
    test_text_init(&text);
    assert_int_equal(sim->repeats.count, 2);
    const size_t rows = sim->repeats.items[0].row;
    assert_true(rows < spad__sim_row_count(sim));
    assert_ok(spad_sim_write(sim, SPAD_FORMAT_TEXT, &text.sink, &error), &error);
    char first[64];
    snprintf(first, sizeof first, "operations: the first %zu, ", rows);
    assert_non_null(strstr(text.bytes, first));
    assert_non_null(strstr(text.bytes, ": 1 iteration in "));
    test_text_free(&text);
    spad_sim_destroy(sim);
    spad_kernel_destroy(kernel);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(skipped_iterations_change_no_figure),
        cmocka_unit_test(sums_of_agents_are_checked),
        cmocka_unit_test(shares_of_large_figures_are_right),
        cmocka_unit_test(the_timeline_ends_at_a_skipped_loop),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
