/* SPDX-License-Identifier: Apache-2.0
 *
 * Which loops the simulator may skip: for each rule of sim/repeat.c a body that obeys it and one
 * that breaks it. A skipped loop and one that is run have the same result in any case. */
#include <stdio.h>
#include <string.h>

#include "sim/sim.h"
#include "sim/sim_report.h"
#include "spad/spad.h"
#include "support/kernels.h"
#include "support/support.h"

enum { TEXT_MAX = 2000 };

static spad_sim *simulate(const spad_kernel *kernel, spad_layout *layout, bool no_repeat) {
    const spad_sim_options options = {.no_repeat = no_repeat, .repeat_after = 1, .layout = layout};
    spad_sim *sim;
    spad_error error;
    assert_ok(spad_sim_create(&sim, kernel, &options, &error), &error);
    return sim;
}

static bool is_same(const spad_kernel *kernel, const spad_sim *a, const spad_sim *b) {
    const spad_sim_totals x = spad_sim_get_totals(a);
    const spad_sim_totals y = spad_sim_get_totals(b);
    bool same = x.makespan == y.makespan && x.operations == y.operations &&
                a->waits.count == b->waits.count;
    for (size_t i = 0; i < spad_kernel_get_target(kernel)->engine_count; i++) {
        same = same && spad__sim_get_engine(a, i).busy == spad__sim_get_engine(b, i).busy;
    }
    for (size_t i = 0; same && i < a->waits.count; i++) {
        const spad__sim_wait *w = &a->waits.items[i];
        const spad__sim_wait *v = &b->waits.items[i];
        same = w->statement == v->statement && w->count == v->count && w->total == v->total;
    }
    return same;
}

/* What stands in front of the loop, its body, what comes after it, and whether the loop is
 * skipped. */
typedef struct loop_case {
    const char *front;
    const char *body;
    const char *after;
    bool skipped;
} loop_case;

static void run_case(const loop_case *c, bool planned) {
    char text[TEXT_MAX];
    spad_error error;
    spad_layout *layout = NULL;
    snprintf(text, sizeof text, "kernel k on trn2\nparam N = 3000\n%s\nfor i in 0..N {\n%s\n}\n%s",
             c->front, c->body, c->after != NULL ? c->after : "");
    spad_kernel *kernel = test_parse(text);
    if (planned) assert_ok(spad_layout_create(&layout, kernel, NULL, &error), &error);
    spad_sim *run = simulate(kernel, layout, true);
    spad_sim *skip = simulate(kernel, layout, false);
    const bool skipped = skip->repeats.count > 0;
    if (!is_same(kernel, run, skip) || skipped != c->skipped) {
        print_error("%srun %lld ps, skipped %lld ps, %s\n", text,
                    (long long)spad_sim_get_totals(run).makespan,
                    (long long)spad_sim_get_totals(skip).makespan,
                    skipped ? "skipped" : "not skipped");
        fail();
    }
    spad_sim_destroy(run);
    spad_sim_destroy(skip);
    spad_layout_destroy(layout);
    spad_kernel_destroy(kernel);
}

static void run_cases(const loop_case *cases, size_t count, bool planned) {
    for (size_t i = 0; i < count; i++) run_case(&cases[i], planned);
}

/* ---- parts of tiles ---------------------------------------------------------------- */

#define IN "tensor in : hbm bf16 (128, 8000) input\ntensor t : sbuf bf16 [2] (128, 8)"
#define USE "\nvector op reads t[i % 2] cost 30 ns"

static void parts_keep_their_size(void **state) {
    (void)state;
    static const loop_case cases[] = {
        {IN, "dma load reads in(.., i..i + 8) writes t[i % 2]" USE, NULL, true},
        {IN, "dma load reads in(.., i) writes t[i % 2]" USE, NULL, true},
        {IN, "dma load reads in(.., 0..i + 8) writes t[i % 2]" USE, NULL, false},
        {IN, "dma load reads in(.., i..2 * i + 8) writes t[i % 2]" USE, NULL, false},
        {IN, "dma load reads in(.., i % 4..i % 4 + 8) writes t[i % 2]" USE, NULL, true},
        /* of a tile that the loop writes they stay where they are */
        {IN, "dma load reads in writes t[i % 2](.., 0..4)" USE, NULL, true},
        {IN, "dma load reads in writes t[i % 2](.., i % 4..i % 4 + 4)" USE, NULL, true},
        {"tensor t : sbuf bf16 (128, 4000)", "dma load writes t(.., i..i + 8)", NULL, false},
        {"tensor t : sbuf bf16 (128, 4000)", "dma load writes t(.., 0..i + 8)", NULL, false},
    };
    run_cases(cases, sizeof cases / sizeof cases[0], false);
}

/* ---- slots ------------------------------------------------------------------------- */

#define LOAD_AND_USE(index)                     \
    "dma load writes t[" index "] cost 10 ns\n" \
    "vector op reads t[" index "] cost 30 ns"

static void slots_come_round(void **state) {
    (void)state;
    static const loop_case cases[] = {
        {"tensor t : sbuf bf16 [N] (128, 64) ring 3", LOAD_AND_USE("i"), NULL, true},
        {"tensor t : sbuf bf16 [N, 4] (128, 8) ring [3, 2]", LOAD_AND_USE("i, i % 4"), NULL, true},
        {"tensor t : sbuf bf16 [N] (32, 64) mod base 0 free 3", LOAD_AND_USE("i"), NULL, true},
        {"tensor t : sbuf bf16 [N] (32, 64) mod base 0 par 3", LOAD_AND_USE("i"), NULL, true},
        {"tensor t : psum f32 [N] (128, 64) mod banks 3",
         "scalar load writes t[i] cost 10 ns\nvector op reads t[i] cost 30 ns", NULL, true},
        {"tensor a : sbuf u8 (128, 4096)\ntensor t : sbuf bf16 [N] (128, 64) alias of a ring 3",
         LOAD_AND_USE("i"), NULL, true},
        {"tensor a : sbuf u8 [2] (128, 4096)\n"
         "tensor t : sbuf bf16 [9] (128, 64) alias of a[1]",
         LOAD_AND_USE("i % 9"), NULL, true},
        /* one that does not come round */
        {"tensor t : sbuf bf16 [N] (128, 16) at 0", LOAD_AND_USE("i"), NULL, false},
        {"tensor t : sbuf bf16 [N] (128, 16) at 0", LOAD_AND_USE("i % 7"), NULL, true},
    };
    run_cases(cases, sizeof cases / sizeof cases[0], false);
}

static void slots_move_on_alike(void **state) {
    (void)state;
    static const loop_case cases[] = {
        {"tensor t : sbuf bf16 [2 * N] (128, 2)", LOAD_AND_USE("i"), NULL, true},
        {"tensor t : sbuf bf16 [2 * N] (128, 2)",
         "dma load writes t[i] cost 10 ns\nvector op reads t[2 * i] cost 30 ns", NULL, false},
        {"tensor t : sbuf bf16 [2 * N] (128, 2)",
         "dma load writes t[i] cost 10 ns\nvector op reads t[i / 2] cost 30 ns", NULL, false},
        /* what the loop wrote is read after it */
        {"tensor t : sbuf bf16 [2 * N] (128, 2)", LOAD_AND_USE("i"), "vector end reads t[N - 1]",
         false},
        /* nothing reads it at all */
        {"tensor t : sbuf bf16 [2 * N] (128, 2)", "dma load writes t[i] cost 10 ns",
         "dma more writes t[N - 1]", true},
    };
    run_cases(cases, sizeof cases / sizeof cases[0], false);
}

/* With the planner's places a tile that moves on has addresses, which may be another's. */
static void slots_with_addresses_do_not_move(void **state) {
    (void)state;
    static const loop_case cases[] = {
        {"tensor t : sbuf bf16 [2 * N] (128, 2)", LOAD_AND_USE("i"), NULL, false},
        {"tensor t : sbuf bf16 [N] (128, 2) ring 3", LOAD_AND_USE("i"), NULL, true},
        {"tensor t : hbm bf16 [N] (128, 2)",
         "dma store writes t[i] cost 10 ns\ndma load reads t[i] cost 30 ns", NULL, true},
    };
    run_cases(cases, sizeof cases / sizeof cases[0], true);
}

/* ---- periods ----------------------------------------------------------------------- */

static void periods_have_a_limit(void **state) {
    (void)state;
    static const loop_case cases[] = {
        {"tensor t : sbuf bf16 [4] (128, 2)", LOAD_AND_USE("(i % 70001) % 4"), NULL, false},
        {"tensor t : sbuf bf16 [4] (128, 2)", LOAD_AND_USE("(i % 257 + i % 263) % 4"), NULL, false},
        {"tensor t : sbuf bf16 [300] (128, 2)",
         "dma load writes t[i % 257] cost 10 ns\nvector op reads t[i % 263] cost 30 ns", NULL,
         false},
        {"tensor t : sbuf bf16 [N] (128, 2) ring 257\ntensor u : sbuf bf16 [N] (128, 2) ring 263",
         LOAD_AND_USE("i") "\nvector more reads u[i] cost 3 ns\ndma u writes u[i] cost 3 ns", NULL,
         false},
        {"tensor t : sbuf bf16 [4] (128, 2)", LOAD_AND_USE("(i / 70001) % 4"), NULL, false},
    };
    run_cases(cases, sizeof cases / sizeof cases[0], false);
}

static void times_and_conditions_move_with_the_loop(void **state) {
    (void)state;
    static const loop_case cases[] = {
        {"tensor t : sbuf bf16 [2] (128, 2)",
         "dma load writes t[i % 2] cost 10 + i % 3 ns\nvector op reads t[i % 2] cost 30 ns", NULL,
         true},
        {"tensor t : sbuf bf16 [2] (128, 2)",
         "dma load writes t[i % 2] cost 10 + i ns\nvector op reads t[i % 2] cost 30 ns", NULL,
         false},
        {"tensor t : sbuf bf16 [2] (128, 2)",
         "if i % 70001 < 1000 { "
         "dma load writes t[i % 2] cost 10 ns }" USE,
         NULL, false},
        {"tensor t : sbuf bf16 [2] (128, 2)",
         "if 1000 > i % 70001 { "
         "dma load writes t[i % 2] cost 10 ns }" USE,
         NULL, false},
        {"tensor t : sbuf bf16 [2] (128, 2)",
         "if i != 2000 { dma load writes t[i % 2] cost 10 ns }" USE, NULL, true},
        {"tensor t : sbuf bf16 [2] (128, 2)",
         "if i == 2000 { dma load writes t[i % 2] cost 10 ns }" USE, NULL, true},
    };
    run_cases(cases, sizeof cases / sizeof cases[0], false);
}

/* ---- lives ------------------------------------------------------------------------- */

static void managers_are_not_skipped(void **state) {
    (void)state;
    static const loop_case cases[] = {
        {"",
         "tensor t : sbuf bf16 (128, 8)\ndma load writes t cost 10 ns\nvector op reads t cost "
         "30 ns",
         NULL, true},
        {"", "scope s {\ntensor t : sbuf bf16 (128, 8) stack\ndma load writes t cost 10 ns\n}",
         NULL, false},
        {"", "tensor t : sbuf bf16 (128, 8) heap\ndma load writes t cost 10 ns\nfree t", NULL,
         false},
    };
    run_cases(cases, sizeof cases / sizeof cases[0], false);
    static const char sections[] =
        "kernel k on trn2\nscope s sections 2 { for i in 0..3000 {\n"
        "tensor t : sbuf bf16 (128, 8) stack\ndma load writes t cost 10 ns\n"
        "vector op reads t cost 30 ns\nnext section\n} }\n";
    spad_kernel *kernel = test_parse(sections);
    spad_sim *sim = simulate(kernel, NULL, false);
    assert_int_equal(sim->repeats.count, 0);
    assert_int_equal(spad_sim_get_totals(sim).operations, 6000);
    spad_sim_destroy(sim);
    spad_kernel_destroy(kernel);
}

/* ---- agents ------------------------------------------------------------------------ */

static void objects_of_agents_stand_still(void **state) {
    (void)state;
    static const struct {
        const char *objects;
        const char *first;
        const char *second;
        bool skipped;
    } cases[] = {
        {"counter c", "simt a cost 10 ns\nsignal c", "take c\nsimt b cost 30 ns", true},
        {"counter c", "simt a cost 10 ns\nsignal c by i % 3 + 1",
         "take c by i % 3 + 1\nsimt b cost 30 ns", true},
        {"counter c", "simt a cost 10 ns\nsignal c", "wait c >= i + 1\nsimt b cost 30 ns", false},
        {"counter c[2]", "simt a cost 10 ns\nsignal c[i % 2]", "take c[i % 2]\nsimt b cost 30 ns",
         true},
        {"counter c[3000]", "simt a cost 10 ns\nsignal c[i]", "take c[i]\nsimt b cost 30 ns",
         false},
        {"counter c\ncounter e = 2", "take e\ncopy a signals c cost 10 ns",
         "take c\nsimt b cost 30 ns\nsignal e", true},
        {"counter c\ncounter e = 2", "take e\ncopy a signals c by i + 1 cost 10 ns",
         "take c\nsimt b cost 30 ns\nsignal e", false},
        {"counter c[3000]\ncounter e = 2", "take e\ncopy a signals c[i] cost 10 ns",
         "take c[i]\nsimt b cost 30 ns\nsignal e", false},
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        char text[TEXT_MAX];
        snprintf(text, sizeof text,
                 "kernel k on sm_90\n%s\nagent p { for i in 0..3000 {\n%s\n} }\n"
                 "agent q { for i in 0..3000 {\n%s\n} }\n",
                 cases[i].objects, cases[i].first, cases[i].second);
        spad_kernel *kernel = test_parse(text);
        spad_sim *run = simulate(kernel, NULL, true);
        spad_sim *skip = simulate(kernel, NULL, false);
        const bool skipped = skip->repeats.count > 0;
        if (!is_same(kernel, run, skip) || skipped != cases[i].skipped) {
            print_error("%s%s\n", text, skipped ? "skipped" : "not skipped");
            fail();
        }
        spad_sim_destroy(run);
        spad_sim_destroy(skip);
        spad_kernel_destroy(kernel);
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(parts_keep_their_size),
        cmocka_unit_test(slots_come_round),
        cmocka_unit_test(slots_move_on_alike),
        cmocka_unit_test(slots_with_addresses_do_not_move),
        cmocka_unit_test(periods_have_a_limit),
        cmocka_unit_test(times_and_conditions_move_with_the_loop),
        cmocka_unit_test(managers_are_not_skipped),
        cmocka_unit_test(objects_of_agents_stand_still),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
