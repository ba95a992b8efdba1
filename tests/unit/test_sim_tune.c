/* SPDX-License-Identifier: Apache-2.0
 *
 * The tuner: hoisting, depths that fit, and the searches that have to end. */
#include "sim/tune.h"
#include "sim_fixture.h"
#include "spad/experimental/kernel_rows.h"

#include <stdio.h>
#include <string.h>

/* The tuner does it: the kernel that it writes is as fast as promised, right, and reads the same.
 */
static void tensors_are_hoisted(void **state) {
    (void)state;
    static const struct {
        const char *text;
        const char *declaration; /* in the chosen kernel; NULL: it is only advice */
    } cases[] = {
        {"kernel k on trn2\nfor i in 0..8 {\ntensor t : sbuf bf16 (128, 512) align 64\n"
         "dma load writes t cost 100 ns\nscalar exp reads t cost 100 ns\n}\n",
         "tensor t : sbuf bfloat16 [8] (128, 512) ring 2 align 64\nfor"},
        {"kernel k on trn2\nparam N = 9\nfor j in 0..2 { for i in 1..N {\n"
         "tensor t : sbuf bf16 [2] (128, 512)\n"
         "dma load writes t[j] cost 100 ns\nscalar exp reads t[j] cost 100 ns\n} }\n",
         "tensor t : sbuf bfloat16 [2, N, 2] (128, 512) ring [1, 2, 2]\nfor"},
        /* two of a name */
        {"kernel k on trn2\nfor i in 0..8 {\ntensor t : sbuf bf16 (128, 512)\n"
         "dma load writes t cost 100 ns\nscalar exp reads t cost 100 ns\n}\n"
         "for i in 0..8 {\ntensor t : sbuf bf16 (128, 512)\ndma load writes t cost 100 ns\n"
         "scalar exp reads t cost 100 ns\n}\n",
         NULL},
        {IN_LOOP, NULL},
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        spad_kernel *kernel = test_parse(cases[i].text);
        spad_tune *tune;
        spad_error error;
        test_text text;
        test_text_init(&text);
        assert_ok(spad_tune_create(&tune, kernel, NULL, &error), &error);
        const spad_tune_totals totals = spad_tune_get_totals(tune);
        const spad__tune_hoist *hoist = &tune->hoists.items[0];
        assert_non_null(hoist);
        assert_int_equal(hoist->applied, cases[i].declaration != NULL);
        assert_ok(spad_kernel_write_text(spad_tune_get_chosen(tune), &text.sink, &error), &error);
        if (cases[i].declaration != NULL) {
            assert_non_null(strstr(text.bytes, cases[i].declaration));
            assert_true(totals.makespan < totals.written);
            assert_int_equal(totals.makespan, hoist->makespan);
            assert_int_equal(makespan_of(text.bytes), totals.makespan);
        } else {
            assert_int_equal(totals.makespan, totals.written);
        }
        test_text_free(&text);
        spad_tune_destroy(tune);
        spad_kernel_destroy(kernel);
    }
}

/* A parameter that says how much is computed is no depth, even if only slots depend on it. */
static void less_work_is_no_depth(void **state) {
    (void)state;
    static const char *const texts[] = {
        "kernel k on sm_90\nparam W = 3\ntensor out : global u8 [8] (64) output\n"
        "tensor x : shared u8 [W] (64) ring W\n"
        "agent a { for i in 0..W {\nsimt w writes x[i] cost 5 ns\n"
        "simt r reads x[i] writes out[i] cost 5 ns\n} }\n",
        "kernel k on sm_90\nparam W = 3\ntensor in : global u8 [9] (64) input\n"
        "tensor out : global u8 [8] (64) output\ntensor x : shared u8 [8] (64) ring W\n"
        "agent a { for i in 0..2 {\nsimt l reads in[i + W] writes x[i] cost 5 ns\n"
        "simt r reads x[i] writes out[i] cost 5 ns\n} }\n"};
    for (size_t i = 0; i < 2; i++) {
        spad_kernel *kernel = test_parse(texts[i]);
        spad_tune *tune;
        spad_error error;
        assert_ok(spad_tune_create(&tune, kernel, NULL, &error), &error);
        assert_int_equal(spad_tune_knob_count(tune), 1);
        assert_int_equal(spad_tune_get_knob(tune, 0)->value_count, 1);
        assert_int_equal(spad_tune_get_knob(tune, 0)->values[0], 3);
        spad_tune_destroy(tune);
        spad_kernel_destroy(kernel);
    }
}

static spad_status hoist_scenario(const spad_host *host, void *context) {
    spad_kernel *kernel;
    const spad_status status = spad_kernel_hoist(&kernel, context, 0, 2, host, NULL);
    spad_kernel_destroy(kernel);
    return status;
}

static void not_everything_can_be_hoisted(void **state) {
    (void)state;
    static const char *const texts[] = {
        "kernel k on trn2\ntensor t : sbuf u8 (128, 4)\nvector w writes t\n",
        "kernel k on trn2\nfor i in 0..2 {\ntensor t : sbuf u8 (128, 4) at 0\nvector w writes "
        "t\n}\n",
        "kernel k on trn2\nfor i in 0..2 {\ntensor t : sbuf u8 (128, 4)\nalloc t\nfree t\n}\n",
        "kernel k on trn2\nfor i in 0..2 {\ntensor t : sbuf u8 (128, 4)\n"
        "tensor u : sbuf u8 (128, 4) alias of t\nvector w writes u\n}\n",
        "kernel k on trn2\nfor i in 0..2 {\ntensor t : sbuf u8 [2, 2] (128, 4) ring 3\n"
        "vector w writes t[0, 0]\n}\n"};
    spad_kernel *hoisted;
    spad_error error;
    for (size_t i = 0; i < sizeof texts / sizeof texts[0]; i++) {
        spad_kernel *kernel = test_parse(texts[i]);
        assert_int_equal(spad_kernel_hoist(&hoisted, kernel, 0, 2, NULL, &error),
                         SPAD_ERR_ARGUMENT);
        assert_string_equal(error.message,
                            "only an auto tensor that is declared in a loop, without aliases, "
                            "alloc and free, can be hoisted");
        assert_null(hoisted);
        spad_kernel_destroy(kernel);
    }
    spad_kernel *kernel = test_parse("kernel k on trn2\nfor i in 0..2 {\n"
                                     "tensor t : sbuf u8 (128, 4)\nvector w writes t\n}\n");
    test_fail_each_allocation(hoist_scenario, kernel);
    spad_kernel_destroy(kernel);
}

static void rings_that_would_be_wrong_are_not_chosen(void **state) {
    (void)state;
    /* both tiles of a pair are alive at once: one slot is too few */
    spad_kernel *kernel = test_parse("kernel k on trn2\n"
                                     "tensor x : sbuf bf16 [8] (128, 16) ring 4\n"
                                     "for i in 0..4 {\n"
                                     "    dma one writes x[2 * i] cost 1 ns\n"
                                     "    dma two writes x[2 * i + 1] cost 1 ns\n"
                                     "    vector add reads x[2 * i], x[2 * i + 1] cost 1 ns\n"
                                     "}\n");
    spad_tune *tune;
    spad_error error;
    assert_ok(spad_tune_create(&tune, kernel, NULL, &error), &error);
    assert_int_equal(spad_tune_knob_count(tune), 1);
    const spad_tune_knob *knob = spad_tune_get_knob(tune, 0);
    assert_string_equal(knob->name, "x");
    assert_int_equal(knob->values[0], 2);
    assert_int_equal(knob->written, 4);
    assert_true(knob->chosen >= 2);
    spad_tune_destroy(tune);
    spad_kernel_destroy(kernel);
}

static int64_t planned_makespan(const spad_kernel *kernel) {
    spad_layout *layout;
    spad_sim *sim;
    spad_error error;
    assert_ok(spad_layout_create(&layout, kernel, NULL, &error), &error);
    const spad_sim_options options = {.layout = layout};
    assert_ok(spad_sim_create(&sim, kernel, &options, &error), &error);
    const int64_t makespan = spad_sim_get_totals(sim).makespan;
    spad_sim_destroy(sim);
    spad_layout_destroy(layout);
    return makespan;
}

#define TWO_OF_EACH                                \
    "tensor in  : hbm bf16 [2] (128, 512) input\n" \
    "tensor out : hbm bf16 [2] (128, 512) output\n"

/* The planner lets tensors share bytes, and then one waits for the other: what is chosen is the
 * fastest with its places, and never slower there than the kernel as it is. */
static void depths_are_compared_with_their_places(void **state) {
    (void)state;
    static const struct {
        const char *text;
        int64_t written, written_planned, makespan, planned;
        int64_t depths[2];
    } cases[] = {
        /* of all depths with one makespan, not the fewest bytes: y and x would share them */
        {"kernel k on trn2\n" TWO_OF_EACH "tensor x : sbuf bf16 [8] (128, 512) ring 2\n"
         "tensor y : sbuf bf16 [8] (128, 512) ring 2 input\n"
         "dma l1 reads in[0] writes y[1]\ndma s1 reads y[1] writes out[0]\n"
         "dma l2 reads in[1] writes x[2]\ndma s2 reads x[2] writes out[1]\n",
         3668522,
         3668522,
         3668522,
         3668522,
         {1, 2}},
        /* both slots are on the same bytes, so a second gives nothing */
        {"kernel k on trn2\n" TWO_OF_EACH "tensor x : sbuf bf16 [2] (128, 512) ring 2\n"
         "dma load reads in[0] writes x[0]\ndma store reads x[0] writes out[0]\n"
         "dma load reads in[1] writes x[1]\ndma store reads x[1] writes out[1]\n",
         3668522,
         6624696,
         6624696,
         6624696,
         {1, 0}},
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        spad_kernel *kernel = test_parse(cases[i].text);
        spad_tune *tune;
        spad_error error;
        assert_ok(spad_tune_create(&tune, kernel, NULL, &error), &error);
        const spad_tune_totals totals = spad_tune_get_totals(tune);
        assert_int_equal(totals.written, cases[i].written);
        assert_int_equal(totals.written_planned, cases[i].written_planned);
        assert_int_equal(totals.makespan, cases[i].makespan);
        assert_int_equal(totals.planned, cases[i].planned);
        assert_int_equal(planned_makespan(spad_tune_get_chosen(tune)), totals.planned);
        for (size_t k = 0; k < spad_tune_knob_count(tune); k++) {
            assert_int_equal(spad_tune_get_knob(tune, k)->chosen, cases[i].depths[k]);
        }
        const size_t last = tune->points.count - 1; /* the fastest of the frontier */
        assert_int_equal(tune->points.items[last].planned, totals.planned);
        assert_int_equal(tune->points.items[last].bytes, totals.bytes);
        spad_tune_destroy(tune);
        spad_kernel_destroy(kernel);
    }
}

#define LOAD_EXP_STORE                              \
    "kernel k on trn2\nparam N = 8\n"               \
    "tensor in  : hbm bf16 [8] (128, 512) input\n"  \
    "tensor out : hbm bf16 [8] (128, 512) output\n" \
    "for i in 0..N {\n"                             \
    "    tensor a : sbuf bf16 (128, 512)\n"         \
    "    tensor b : sbuf bf16 (128, 512)\n"         \
    "    dma    load  reads in[i] writes a\n"       \
    "    scalar exp   reads a writes b\n"           \
    "    dma    store reads b writes out[i]\n"      \
    "}\n"

/* Two tensors help each other: depths are searched again when both are in front of the loop, and
 * tuning what was tuned finds nothing more. It runs for no iterations too. */
static void depths_are_searched_again_after_hoisting(void **state) {
    (void)state;
    spad_kernel *kernel = test_parse(LOAD_EXP_STORE);
    spad_tune *tune;
    spad_tune *again;
    spad_error error;
    assert_ok(spad_tune_create(&tune, kernel, NULL, &error), &error);
    const spad_tune_totals totals = spad_tune_get_totals(tune);
    assert_int_equal(tune->hoists.count, 2);
    assert_int_equal(spad_tune_knob_count(tune), 2);
    for (size_t i = 0; i < 2; i++) {
        const spad_tune_knob *knob = spad_tune_get_knob(tune, i);
        const spad__tune_hoist *hoist = &tune->hoists.items[i];
        assert_true(hoist->applied);
        assert_int_equal(knob->tensor, 2 + (int64_t)i); /* of the kernel that was given */
        assert_ptr_equal(knob->name, spad_kernel_get_tensor(kernel, 2 + i)->name);
        assert_int_equal(knob->written, 1);
        assert_int_equal(knob->chosen, i == 0 ? 5 : 3);
        assert_int_equal(hoist->tensor, knob->tensor);
        assert_int_equal(hoist->tiles, knob->chosen);
        assert_int_equal(hoist->bytes, (knob->chosen - 1) * 128 * 1024);
    }
    assert_ok(spad_tune_create(&again, spad_tune_get_chosen(tune), NULL, &error), &error);
    assert_int_equal(spad_tune_get_totals(again).planned, totals.planned);
    assert_int_equal(spad_tune_get_totals(again).bytes, totals.bytes);
    spad_tune_destroy(again);

    const spad_define none = {"N", 0};
    const spad_kernel_options options = {.defines = &none, .define_count = 1};
    spad_kernel *empty;
    assert_ok(spad_kernel_reshape(&empty, spad_tune_get_chosen(tune), &options, &error), &error);
    spad_kernel_destroy(empty);
    spad_tune_destroy(tune);
    spad_kernel_destroy(kernel);
}

/* `[S] ... ring S`: the tiles are the slots, so S is a depth, too; in another place it is a size.
 */
static void tiles_that_are_slots_have_a_depth(void **state) {
    (void)state;
    static const char text[] =
        "kernel ring on sm_100\nparam S = 2\nparam KT = 6\nunit tma on copy free\n"
        "mbarrier full[S] count 1\nmbarrier empty[S] count 1\n"
        "tensor sa : shared fp16 [%s] (128, 64) ring S\n"
        "for s in 0..S { init full[s]; init empty[s] }\n"
        "agent producer { for k in 0..KT {\n"
        "    wait empty[k %% S] parity (k / S + 1) %% 2\n    arrive full[k %% S] expect 16 KiB\n"
        "    tma load writes sa[k %% S] delivers full[k %% S] cost 300 ns\n} }\n"
        "agent consumer { for k in 0..KT {\n    wait full[k %% S] parity k / S %% 2\n"
        "    tensor mma reads sa[k %% S] cost 100 ns\n    arrive empty[k %% S]\n} }\n";
    static const char *const counts[] = {"S", "S + 1"};
    for (size_t i = 0; i < 2; i++) {
        char kernel_text[1024];
        snprintf(kernel_text, sizeof kernel_text, text, counts[i]);
        spad_kernel *kernel = test_parse(kernel_text);
        spad_tune *tune;
        spad_error error;
        const spad_tune_options options = {.depth_most = 12};
        assert_ok(spad_tune_create(&tune, kernel, &options, &error), &error);
        assert_int_equal(spad_tune_knob_count(tune), i == 0);
        if (i == 0) {
            const spad_tune_knob *knob = spad_tune_get_knob(tune, 0);
            assert_string_equal(knob->name, "S");
            assert_int_equal(knob->values[knob->value_count - 1], 12); /* not only to 8 */
        }
        spad_tune_destroy(tune);
        spad_kernel_destroy(kernel);
    }
}

/* In a kernel with synchronisation the parameter is tuned, and barriers come along. */
static void parameters_are_tuned_where_barriers_depend_on_them(void **state) {
    (void)state;
    spad_kernel *kernel = test_parse(RING("4"));
    spad_tune *tune;
    spad_error error;
    assert_ok(spad_tune_create(&tune, kernel, NULL, &error), &error);
    assert_int_equal(spad_tune_knob_count(tune), 1);
    const spad_tune_knob *knob = spad_tune_get_knob(tune, 0);
    assert_int_equal(knob->kind, SPAD_KNOB_PARAM);
    assert_string_equal(knob->name, "S");
    assert_int_equal(knob->chosen, 2);
    assert_int_equal(spad_tune_get_totals(tune).makespan, 700000);
    assert_int_equal(tune->points.count, 2); /* 1 and 2 */
    assert_int_equal(spad_kernel_get_param(spad_tune_get_chosen(tune), 0)->value, 2);
    assert_null(spad_tune_get_knob(tune, 1));
    spad_tune_destroy(tune);
    spad_kernel_destroy(kernel);
}

/* 212984 bytes a lane: three tiles of 64 KiB fit, and the best that fits is taken. */
static void what_does_not_fit_is_not_chosen(void **state) {
    (void)state;
#define WIDE(bytes)                                     \
    "kernel k on trn2\n"                                \
    "tensor x : sbuf u8 [16] (128, " bytes ") ring 1\n" \
    "for i in 0..16 {\n"                                \
    "    dma load writes x[i] cost 10 ns\n"             \
    "    vector a reads x[i] cost 10 ns\n"              \
    "    scalar b reads x[i] cost 10 ns\n"              \
    "    gpsimd c reads x[i] cost 40 ns\n"              \
    "}\n"
    spad_kernel *kernel = test_parse(WIDE("65536"));
    spad_tune *tune;
    spad_error error;
    assert_ok(spad_tune_create(&tune, kernel, NULL, &error), &error);
    assert_int_equal(spad_tune_get_knob(tune, 0)->chosen, 2);
    assert_true(spad_tune_get_totals(tune).written_fits);
    spad_tune_destroy(tune);
    spad_kernel_destroy(kernel);

    kernel = test_parse(WIDE("150000"));
    assert_ok(spad_tune_create(&tune, kernel, NULL, &error), &error);
    assert_int_equal(spad_tune_get_knob(tune, 0)->chosen, 1);
    assert_false(tune->points.items[tune->points.count - 1].fits);
    spad_tune_destroy(tune);
    spad_kernel_destroy(kernel);

    kernel = test_parse(WIDE("250000"));
    assert_ok(spad_tune_create(&tune, kernel, NULL, &error), &error);
    assert_null(spad_tune_get_chosen(tune));
    assert_false(spad_tune_get_totals(tune).written_fits);
    assert_int_equal(spad_tune_get_totals(tune).makespan, SPAD_UNBOUNDED);
    spad_tune_options options = {.depth_most = -1};
    spad_tune *none;
    assert_int_equal(spad_tune_create(&none, kernel, &options, &error), SPAD_ERR_ARGUMENT);
    assert_string_equal(error.message, "a limit of -1 is negative");
    spad_tune_destroy(tune);
    spad_kernel_destroy(kernel);
}

/* ---- too much ---------------------------------------------------------------------- */

/* Many rings, and more to run than allowed: it ends, with something that fits. */
static void a_search_ends(void **state) {
    (void)state;
    char text[16384] = "kernel k on trn2\n";
    for (int i = 0; i < 70; i++) {
        char more[200];
        snprintf(more, sizeof more,
                 "tensor t%d : sbuf u8 [9] (128, 4) ring 2\n"
                 "for i in 0..9 { dma l writes t%d[i]; vector r reads t%d[i] }\n",
                 i, i, i);
        strcat(text, more);
    }
    spad_kernel *kernel = test_parse(text);
    const spad_tune_options options = {.depth_most = 2, .operations_most = 20000};
    spad_tune *tune;
    spad_error error;
    test_text out;
    test_text_init(&out);
    assert_ok(spad_tune_create(&tune, kernel, &options, &error), &error);
    const spad_tune_totals totals = spad_tune_get_totals(tune);
    assert_true(totals.cut);
    assert_int_equal(totals.left, 6);
    assert_int_equal(spad_tune_knob_count(tune), SPAD_TUNE_KNOBS);
    assert_true(totals.operations < 30000);
    assert_non_null(spad_tune_get_chosen(tune));
    assert_true(totals.makespan <= totals.written);
    assert_ok(spad_tune_write(tune, SPAD_FORMAT_TEXT, &out.sink, &error), &error);
    assert_non_null(strstr(out.bytes, "there is too much to run\nleft       6 rings as they are"));
    test_text_free(&out);
    spad_tune_destroy(tune);
    spad_kernel_destroy(kernel);
}

static spad_status tune_on(const spad_host *host, void *context) {
    spad_kernel *kernel = context;
    const spad_tune_options options = {.depth_most = 2, .host = host};
    spad_tune *tune;
    spad_error error;
    const spad_status status = spad_tune_create(&tune, kernel, &options, &error);
    spad_tune_destroy(tune);
    return status;
}

static void every_allocation_of_the_tuner_may_fail(void **state) {
    (void)state;
    spad_kernel *kernel = test_parse("kernel k on trn2\n"
                                     "tensor x : sbuf bf16 [4] (128, 16) ring 1\n"
                                     "for i in 0..4 {\n"
                                     "    tensor t : sbuf bf16 (128, 16)\n"
                                     "    dma load writes x[i] cost 10 ns\n"
                                     "    scalar exp reads x[i] writes t cost 10 ns\n"
                                     "    vector mul reads t cost 10 ns\n"
                                     "}\n");
    test_fail_each_allocation(tune_on, kernel);
    spad_kernel_destroy(kernel);
}

/* Depths that are chosen from assumed costs mean nothing on the chip. */
static void assumed_costs_are_refused(void **state) {
    (void)state;
#define TWO_STEPS(first, second)                                       \
    "kernel k on sm_103\ntensor t : shared fp16 [8] (64, 64) ring 1\n" \
    "for i in 0..8 {\ncopy load writes t[i] " first "\ntensor mma reads t[i] " second "\n}\n"
    static const struct {
        const char *text;
        spad_time_unit unit;
        bool refused;
    } cases[] = {
        {TWO_STEPS("", ""), SPAD_TIME_STEPS, true},
        {TWO_STEPS("cost 100 ns", ""), SPAD_TIME_MIXED, true},
        {TWO_STEPS("cost 100 cycles", "cost 100 ns"), SPAD_TIME_MIXED, true},
        {TWO_STEPS("cost 100 cycles", "cost 100 cycles"), SPAD_TIME_CYCLES, false},
        {TWO_STEPS("cost 100 ns", "cost 100 ns"), SPAD_TIME_REAL, false},
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        spad_kernel *kernel = test_parse(cases[i].text);
        for (int steps = 0; steps < 2; steps++) {
            const spad_tune_options options = {.steps = steps != 0};
            const bool refused = cases[i].refused && !options.steps;
            spad_tune *tune;
            spad_error error;
            assert_int_equal(spad_tune_create(&tune, kernel, &options, &error),
                             refused ? SPAD_ERR_ARGUMENT : SPAD_OK);
            if (refused) {
                assert_null(tune);
                assert_non_null(strstr(error.message, "write `cost N ns` in the kernel"));
                assert_int_equal(error.needed, 16);
                assert_string_equal(error.subject, "k");
                continue;
            }
            assert_int_equal(spad_tune_get_totals(tune).simulated.unit, cases[i].unit);
            assert_int_equal(spad_tune_get_knob(tune, 0)->chosen, 2);
            spad_tune_destroy(tune);
        }
        spad_kernel_destroy(kernel);
    }
#undef TWO_STEPS
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(tensors_are_hoisted),
        cmocka_unit_test(less_work_is_no_depth),
        cmocka_unit_test(not_everything_can_be_hoisted),
        cmocka_unit_test(every_allocation_of_the_tuner_may_fail),
        cmocka_unit_test(rings_that_would_be_wrong_are_not_chosen),
        cmocka_unit_test(depths_are_compared_with_their_places),
        cmocka_unit_test(depths_are_searched_again_after_hoisting),
        cmocka_unit_test(tiles_that_are_slots_have_a_depth),
        cmocka_unit_test(parameters_are_tuned_where_barriers_depend_on_them),
        cmocka_unit_test(what_does_not_fit_is_not_chosen),
        cmocka_unit_test(a_search_ends),
        cmocka_unit_test(assumed_costs_are_refused),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
