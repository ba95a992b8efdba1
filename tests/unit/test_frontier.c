/* SPDX-License-Identifier: Apache-2.0
 *
 * Layouts between the fewest bytes and the least time: what each costs is measured, the fastest
 * takes no longer than apart, a layout by hand is never beaten by less than itself, and every one
 * is right.
 */
#include "spad/experimental/kernel_rows.h"
#include "support/kernels.h"
#include "support/support.h"

#include <stdio.h>
#include <string.h>

#include "base/checked.h"
#include "base/random.h"
#include "spad/check.h"
#include "spad/experimental/frontier.h"

static spad_frontier *find(const spad_kernel *kernel, bool release) {
    const spad_frontier_options options = {.release = release};
    spad_error error;
    spad_frontier *frontier;
    assert_ok(spad_frontier_create(&frontier, kernel, &options, &error), &error);
    return frontier;
}

static int64_t makespan_with(const spad_kernel *kernel, const spad_layout *layout) {
    const spad_sim_options options = {.layout = layout};
    spad_error error;
    spad_sim *sim;
    assert_ok(spad_sim_create(&sim, kernel, &options, &error), &error);
    const int64_t makespan = spad_sim_get_totals(sim).makespan;
    spad_sim_destroy(sim);
    return makespan;
}

static bool is_right(const spad_kernel *kernel, const spad_layout *layout) {
    const spad_check_options options = {.layout = layout};
    spad_error error;
    spad_check *check;
    assert_ok(spad_check_create(&check, kernel, &options, &error), &error);
    const bool right = spad_check_get_counts(check).errors == 0;
    spad_check_destroy(check);
    return right;
}

/* Points are in order, measured, right, and one of them is each choice. */
static void assert_frontier(const spad_frontier *f) {
    const spad_kernel *kernel = spad_frontier_get_kernel(f);
    const size_t count = spad_frontier_point_count(f);
    for (size_t i = 0; i < count; i++) {
        const spad_frontier_point *p = spad_frontier_get_point(f, i);
        assert_true(spad_layout_fits(p->layout));
        assert_int_equal(makespan_with(kernel, p->layout), p->makespan);
        assert_true(is_right(kernel, p->layout));
        if (i == 0) continue;
        assert_true(p->bytes > p[-1].bytes && p->makespan < p[-1].makespan);
    }
    assert_null(spad_frontier_get_point(f, count));
    if (count == 0) return;
    assert_ptr_equal(spad_frontier_choose(f, SPAD_FOR_BYTES), spad_frontier_get_point(f, 0));
    assert_ptr_equal(spad_frontier_choose(f, SPAD_FOR_TIME), spad_frontier_get_point(f, count - 1));
}

/* ---- a pipeline -------------------------------------------------------------------- */

/* Two tiles that program order lets share bytes: then the second load waits for the first store. */
#define PIPELINE(first, second)                              \
    "kernel pipeline on trn2\n"                              \
    "tensor in  : hbm bf16 [2] (128, 2048) input\n"          \
    "tensor out : hbm bf16 [2] (128, 2048) output\n"         \
    "tensor a   : sbuf bf16 (128, 2048)" first "\n"          \
    "tensor b   : sbuf bf16 (128, 2048)" second "\n"         \
    "dma load  reads in[0] writes a\nvector one updates a\n" \
    "dma store reads a writes out[0]\n"                      \
    "dma load  reads in[1] writes b\nvector two updates b\n" \
    "dma store reads b writes out[1]\n"

static void time_costs_bytes(void **state) {
    (void)state;
    spad_kernel *k = test_parse(PIPELINE("", ""));
    spad_frontier *f = find(k, false);
    const spad_frontier_totals t = spad_frontier_get_totals(f);
    assert_frontier(f);
    assert_int_equal(spad_frontier_point_count(f), 2);
    assert_int_equal(spad_frontier_get_point(f, 0)->bytes, 128 * 4096);
    assert_int_equal(spad_frontier_get_point(f, 1)->bytes, 128 * 8192);
    assert_int_equal(spad_frontier_get_point(f, 1)->makespan, t.apart);
    assert_int_equal(spad_frontier_get_point(f, 0)->makespan, t.written);
    assert_int_equal(t.written_bytes, 128 * 4096);
    assert_true(t.written > t.apart && t.apart >= t.simulated.bound && !t.cut);
    spad_frontier_destroy(f);
    spad_kernel_destroy(k);
}

/* By hand with a gap: as fast, in fewer bytes; or slower than need be. */
static void layouts_by_hand_are_matched(void **state) {
    (void)state;
    static const char *const kernels[] = {
        PIPELINE(" at 0", " at 65536"), PIPELINE(" at 0", " at 0"), PIPELINE(" at 0", " at 2048")};
    for (size_t i = 0; i < 3; i++) {
        spad_kernel *k = test_parse(kernels[i]);
        spad_frontier *f = find(k, true);
        const spad_frontier_totals t = spad_frontier_get_totals(f);
        assert_frontier(f);
        const spad_frontier_point *fast = spad_frontier_choose(f, SPAD_FOR_TIME);
        const spad_frontier_point *small = spad_frontier_choose(f, SPAD_FOR_BYTES);
        assert_true(fast->makespan <= t.written && small->bytes <= t.written_bytes);
        bool matched = false;
        for (size_t n = 0; n < spad_frontier_point_count(f); n++) {
            const spad_frontier_point *p = spad_frontier_get_point(f, n);
            matched = matched || (p->makespan <= t.written && p->bytes <= t.written_bytes);
        }
        assert_true(matched);
        assert_true(spad_frontier_get_kernel(f) != k);
        spad_frontier_destroy(f);
        f = find(k, false); /* nothing to place */
        assert_ptr_equal(spad_frontier_get_kernel(f), k);
        assert_int_equal(spad_frontier_point_count(f), 1);
        assert_int_equal(spad_frontier_get_point(f, 0)->makespan,
                         spad_frontier_get_totals(f).written);
        spad_frontier_destroy(f);
        spad_kernel_destroy(k);
    }
}

/* ---- random programs --------------------------------------------------------------- */

enum { TILES = 10, PROGRAMS = 60 };

/* Tiles that are loaded, worked on and stored, in random order and at random addresses. */
static void random_program(char *text, size_t size, spad__random *random) {
    size_t used = (size_t)snprintf(text, size,
                                   "kernel random on trn2\ntensor in : hbm bf16 (128, 4096) input\n"
                                   "tensor out : hbm bf16 [10] (128, 4096) output\n");
    for (int i = 0; i < TILES; i++) {
        const int columns = (int)spad__random_in(random, 1, 8) * 256;
        used += (size_t)snprintf(text + used, size - used, "tensor t%d : sbuf bf16 (128, %d)", i,
                                 columns);
        if (spad__random_below(random, 2) == 0)
            used += (size_t)snprintf(text + used, size - used, " at %d", i * 8192);
        used += (size_t)snprintf(text + used, size - used, "\n");
    }
    for (int i = 0; i < TILES; i++) {
        used += (size_t)snprintf(text + used, size - used, "dma load writes t%d\n", i);
        const int uses = (int)spad__random_in(random, 1, 3);
        for (int n = 0; n < uses; n++) {
            static const char *const engines[] = {"vector", "scalar", "gpsimd"};
            const int back = i - (int)spad__random_below(random, 3);
            used +=
                (size_t)snprintf(text + used, size - used, "%s work reads t%d updates t%d\n",
                                 engines[spad__random_below(random, 3)], back < 0 ? 0 : back, i);
        }
        used += (size_t)snprintf(text + used, size - used, "dma store reads t%d writes out[%d]\n",
                                 i, i);
    }
    assert_true(used < size);
}

static void random_programs_have_right_frontiers(void **state) {
    (void)state;
    spad__random random = {17};
    size_t points = 0;
    for (int n = 0; n < PROGRAMS; n++) {
        char text[8192];
        random_program(text, sizeof text, &random);
        spad_kernel *k = test_parse(text);
        spad_frontier *f = find(k, true);
        const spad_frontier_totals t = spad_frontier_get_totals(f);
        assert_frontier(f);
        points += spad_frontier_point_count(f);
        /* all of it fits, so nothing need wait for shared bytes */
        assert_true(spad_frontier_choose(f, SPAD_FOR_TIME)->makespan <= t.apart);
        /* a transfer that waits may let another one overtake it, and the whole be faster */
        assert_true(spad_frontier_choose(f, SPAD_FOR_TIME)->makespan <= t.written ||
                    t.written < t.apart);
        assert_true(spad_frontier_choose(f, SPAD_FOR_BYTES)->bytes <= t.written_bytes);
        spad_frontier_destroy(f);
        spad_kernel_destroy(k);
    }
    assert_true(points > 2 * PROGRAMS);
}

/* ---- refusals ---------------------------------------------------------------------- */

static void costs_must_be_known(void **state) {
    (void)state;
    spad_kernel *k = test_parse("kernel k on sm_70\ntensor a : shared fp16 (64, 64)\n"
                                "simt zero writes a\n");
    spad_error error;
    spad_frontier *f;
    spad_frontier_options options = {0};
    assert_int_equal(spad_frontier_create(&f, k, &options, &error), SPAD_ERR_ARGUMENT);
    assert_null(f);
    assert_non_null(strstr(error.message, "1 of 1 operations have no cost on 'sm_70'"));
    options.steps = true;
    assert_ok(spad_frontier_create(&f, k, &options, &error), &error);
    assert_int_equal(spad_frontier_get_totals(f).simulated.unit, SPAD_TIME_STEPS);
    test_text text;
    test_text_init(&text);
    assert_ok(spad_frontier_write(f, SPAD_FORMAT_TEXT, &text.sink, &error), &error);
    assert_non_null(strstr(text.bytes, "steps, not time"));
    test_text_free(&text);
    spad_frontier_destroy(f);
    options.timeout_ns = -1;
    assert_int_equal(spad_frontier_create(&f, k, &options, &error), SPAD_ERR_ARGUMENT);
    spad_kernel_destroy(k);
}

/* Some costs in steps are no time either, with synchronisation or without. */
static void costs_of_two_kinds_are_no_time(void **state) {
    (void)state;
    static const char *const texts[] = {
        "kernel k on sm_87\ntensor a : shared u8 (64)\nsimt w writes a cost 5 ns\nsimt r reads a\n",
        "kernel k on sm_87\ntensor a : shared u8 (64)\ncounter c\nagent p { simt w writes a\n"
        "signal c }\nagent q { take c\nsimt r reads a }\n",
        "kernel k on sm_87\ntensor a : shared u8 (64)\ncounter c\nagent p { simt w writes a cost 5 "
        "ns\nsignal c }\nagent q { take c\nsimt r reads a }\n",
    };
    for (size_t i = 0; i < sizeof texts / sizeof *texts; i++) {
        spad_kernel *k = test_parse(texts[i]);
        spad_frontier *f;
        spad_error error;
        assert_int_equal(spad_frontier_create(&f, k, NULL, &error), SPAD_ERR_ARGUMENT);
        assert_null(f);
        assert_non_null(strstr(error.message, "operations have no cost on 'sm_87'"));
        assert_ok(spad_frontier_create(&f, k, &(spad_frontier_options){.steps = true}, &error),
                  &error);
        assert_int_equal(spad_frontier_point_count(f), 1);
        spad_frontier_destroy(f);
        spad_kernel_destroy(k);
    }
}

/* With synchronisation the waits are the program's. */
#define AGENTS(size)                                                           \
    "kernel two on trn2\ntensor a : sbuf bf16 (128, " size ")\ncounter done\n" \
    "agent one { vector fill writes a cost 10 ns\nsignal done }\n"             \
    "agent two { wait done >= 1\nscalar use reads a cost 10 ns }\n"

static void synchronised_kernels_have_one_layout(void **state) {
    (void)state;
    spad_kernel *k = test_parse(AGENTS("64"));
    spad_frontier *f = find(k, true);
    assert_int_equal(spad_frontier_point_count(f), 1);
    assert_ptr_equal(spad_frontier_get_kernel(f), k);
    assert_int_equal(spad_frontier_get_point(f, 0)->makespan, 20000);
    assert_int_equal(spad_frontier_get_totals(f).written, 20000);
    spad_frontier_destroy(f);
    spad_kernel_destroy(k);
    k = test_parse(AGENTS("300000"));
    f = find(k, false);
    assert_int_equal(spad_frontier_point_count(f), 0);
    spad_frontier_destroy(f);
    spad_kernel_destroy(k);
    spad_error error;
    k = test_parse("kernel stuck on trn2\ncounter done\ntensor a : sbuf bf16 (128, 64)\n"
                   "agent one { wait done >= 1\nvector fill writes a cost 10 ns }\n"
                   "agent two { scalar use writes a cost 10 ns }\n");
    assert_int_equal(spad_frontier_create(&f, k, NULL, &error), SPAD_ERR_ARGUMENT);
    assert_non_null(strstr(error.message, "deadlocked"));
    spad_kernel_destroy(k);
}

static void what_does_not_fit_has_no_point(void **state) {
    (void)state;
    spad_kernel *k = test_parse("kernel big on trn2\ntensor a : sbuf bf16 (128, 200000)\n"
                                "vector fill writes a\n");
    spad_frontier *f = find(k, false);
    spad_error error;
    test_text text;
    assert_frontier(f);
    assert_int_equal(spad_frontier_point_count(f), 0);
    assert_null(spad_frontier_choose(f, SPAD_FOR_TIME));
    assert_int_equal(spad_frontier_get_totals(f).written, SPAD_UNBOUNDED);
    test_text_init(&text);
    assert_ok(spad_frontier_write(f, SPAD_FORMAT_TEXT, &text.sink, &error), &error);
    assert_non_null(strstr(text.bytes, "nothing fits"));
    test_text_clear(&text);
    assert_ok(spad_frontier_write(f, SPAD_FORMAT_JSON, &text.sink, &error), &error);
    assert_non_null(strstr(text.bytes, "\"written_ps\": null"));
    test_text_free(&text);
    spad_frontier_destroy(f);
    spad_kernel_destroy(k);
}

/* By hand two tiles take turns within an iteration; a planned slot is needed in all of the loop. */
static void addresses_stay_if_only_they_fit(void **state) {
    (void)state;
    spad_kernel *k =
        test_parse("kernel turns on trn2\ntensor out : hbm bf16 [4] (128, 60000) output\n"
                   "tensor a : sbuf bf16 (128, 60000) at 0\n"
                   "tensor b : sbuf bf16 (128, 60000) at 0\n"
                   "for i in 0..4 {\nvector one writes a\ndma store reads a writes out[i]\n"
                   "vector two writes b\ndma store reads b writes out[i]\n}\n");
    spad_frontier *f = find(k, true);
    assert_frontier(f);
    assert_ptr_equal(spad_frontier_get_kernel(f), k);
    assert_int_equal(spad_frontier_point_count(f), 1);
    spad_frontier_destroy(f);
    spad_kernel_destroy(k);
}

/* Only part of it fits with nothing shared: the fastest that does is taken. */
static void full_memories_share(void **state) {
    (void)state;
    spad_kernel *k = test_parse(
        "kernel full on trn2\ntensor in : hbm bf16 [6] (128, 32768) input\n"
        "tensor out : hbm bf16 [6] (128, 32768) output\n"
        "tensor a : sbuf bf16 (128, 32768)\ntensor b : sbuf bf16 (128, 32768)\n"
        "tensor c : sbuf bf16 (128, 32768)\ntensor d : sbuf bf16 (128, 32768)\n"
        "tensor e : sbuf bf16 (128, 32768)\n"
        "dma load reads in[0] writes a\nvector work updates a\ndma store reads a writes out[0]\n"
        "dma load reads in[1] writes b\nvector work updates b\ndma store reads b writes out[1]\n"
        "dma load reads in[2] writes c\nvector work updates c\ndma store reads c writes out[2]\n"
        "dma load reads in[3] writes d\nvector work updates d\ndma store reads d writes out[3]\n"
        "dma load reads in[4] writes e\nvector work updates e\ndma store reads e writes out[4]\n");
    spad_frontier *f = find(k, false);
    assert_frontier(f);
    const spad_frontier_point *fast = spad_frontier_choose(f, SPAD_FOR_TIME);
    assert_true(fast->bytes > 128 * 65536);
    assert_true(fast->makespan < spad_frontier_get_totals(f).written);
    spad_frontier_destroy(f);
    spad_kernel_destroy(k);
}

/* ---- limits ------------------------------------------------------------------------ */

static int cancel_at(void *context) {
    int *left = context;
    return --*left < 0;
}

static void calls_can_be_ended(void **state) {
    (void)state;
    spad_kernel *k = test_parse(PIPELINE("", ""));
    spad_error error;
    spad_frontier *f;
    int64_t ended = 0;
    for (int after = 0; after < 400; after++) {
        int left = after;
        const spad_frontier_options options = {.watch = {cancel_at, &left}};
        const spad_status status = spad_frontier_create(&f, k, &options, &error);
        if (status == SPAD_OK) {
            spad_frontier_destroy(f);
            break;
        }
        assert_int_equal(status, SPAD_ERR_CANCELLED);
        ended++;
    }
    assert_true(ended > 0);
    /* a small kernel is simulated between two looks at the clock; then the search is cut */
    const spad_frontier_options short_time = {.timeout_ns = 1};
    assert_ok(spad_frontier_create(&f, k, &short_time, &error), &error);
    assert_true(spad_frontier_get_totals(f).cut && spad_frontier_point_count(f) > 0);
    test_text text;
    test_text_init(&text);
    assert_ok(spad_frontier_write(f, SPAD_FORMAT_TEXT, &text.sink, &error), &error);
    assert_non_null(strstr(text.bytes, "cut by the time limit"));
    test_text_free(&text);
    spad_frontier_destroy(f);
    spad_kernel_destroy(k);
    k = test_parse(
        "kernel big on trn2\ntensor a : sbuf bf16 (128, 200000)\nvector fill writes a\n");
    assert_ok(spad_frontier_create(&f, k, &short_time, &error), &error);
    assert_true(spad_frontier_get_totals(f).cut && spad_frontier_point_count(f) == 0);
    test_text_init(&text);
    assert_ok(spad_frontier_write(f, SPAD_FORMAT_TEXT, &text.sink, &error), &error);
    assert_non_null(strstr(text.bytes, "no layout that fits was found in time"));
    test_text_free(&text);
    spad_frontier_destroy(f);
    spad_kernel_destroy(k);
}

static spad_status find_and_write(const spad_host *host, void *context) {
    const spad_frontier_options options = {.release = true, .host = host};
    spad_error error;
    spad_frontier *f;
    const spad_status status = spad_frontier_create(&f, context, &options, &error);
    if (status == SPAD_OK) assert_int_equal(spad_frontier_point_count(f), 2);
    spad_frontier_destroy(f);
    return status;
}

static void every_allocation_may_fail(void **state) {
    (void)state;
    spad_kernel *k = test_parse(PIPELINE(" at 0", ""));
    test_fail_each_allocation(find_and_write, k);
    spad_kernel_destroy(k);
}

/* ---- releasing --------------------------------------------------------------------- */

static void addresses_are_released(void **state) {
    (void)state;
    spad_kernel *k = test_parse("kernel k on trn2\nparam N = 4\n"
                                "tensor a : sbuf bf16 [N] (128, 64) mod base 4096 free 2\n"
                                "tensor b : sbuf bf16 [4, 6] (128, 64) mod base 0 free [2, 3]\n"
                                "tensor c : sbuf bf16 [3] (32, 64) at 0 lane 32 step 256\n"
                                "tensor d : sbuf bf16 (128, 64) alias of a[1]\n"
                                "tensor e : sbuf bf16 (128, 64)\n"
                                "vector work writes a[0], b[0, 0], c[0], e\n");
    spad_kernel *released;
    spad_error error;
    assert_ok(spad_kernel_release(&released, k, NULL, &error), &error);
    static const struct {
        spad_mode mode;
        int64_t slots;
    } expected[] = {{SPAD_MODE_AUTO, 2},
                    {SPAD_MODE_AUTO, 6},
                    {SPAD_MODE_AUTO, 3},
                    {SPAD_MODE_ALIAS, 1},
                    {SPAD_MODE_AUTO, 1}};
    for (size_t i = 0; i < 5; i++) {
        const spad_kernel_tensor *t = spad_kernel_get_tensor(released, i);
        assert_int_equal(t->mode, expected[i].mode);
        assert_int_equal(t->slots, expected[i].slots);
        assert_int_equal(t->location.line, spad_kernel_get_tensor(k, i)->location.line);
    }
    assert_int_equal(spad_kernel_get_tensor(released, 2)->lane.value, 0);
    spad_kernel_destroy(released);
    spad_kernel_destroy(k);
}

/* ---- uses -------------------------------------------------------------------------- */

static void uses_keep_slots_apart(void **state) {
    (void)state;
    spad_kernel *k = test_parse(PIPELINE("", ""));
    spad_error error;
    spad_layout *layout;
    static const struct {
        spad_layout_use uses[2];
        int64_t height; /* -1: refused */
    } cases[] = {
        {{{2, 0, 0, 10}, {3, 0, 10, 20}}, 4096},     {{{2, 0, 0, 11}, {3, 0, 10, 20}}, 8192},
        {{{3, 0, 0, 10}, {2, 0, 10, 20}}, 8192},     {{{2, 0, 0, 10}, {2, 0, 0, 1}}, 8192},
        {{{2, 0, 0, 5}, {2, 0, 3, 9}}, 8192},        {{{2, 1, 0, 10}, {3, 0, 10, 20}}, -1},
        {{{9, 0, 0, 10}, {3, 0, 10, 20}}, -1},       {{{-1, 0, 0, 10}, {3, 0, 10, 20}}, -1},
        {{{0, 0, 0, 10}, {3, 0, 10, 20}}, -1},       {{{2, -1, 0, 10}, {3, 0, 10, 20}}, -1},
        {{{2, 0, -1, 10}, {3, 0, 10, 20}}, -1},      {{{2, 0, 11, 10}, {3, 0, 10, 20}}, -1},
        {{{2, 0, 0, INT64_MAX}, {3, 0, 10, 20}}, -1}};
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        const spad_layout_options options = {.uses = cases[i].uses, .use_count = 2};
        const spad_status status = spad_layout_create(&layout, k, &options, &error);
        assert_int_equal(status, cases[i].height < 0 ? SPAD_ERR_ARGUMENT : SPAD_OK);
        if (status != SPAD_OK) continue;
        const spad_layout_space *row = spad_layout_get_space(layout, 0);
        if (row->height != cases[i].height) print_error("case %zu\n", i);
        assert_int_equal(row->height, cases[i].height);
        assert_true(row->timed && row->verdict == SPAD_PLAN_OPTIMAL);
        spad_layout_destroy(layout);
    }
    spad_kernel_destroy(k);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(time_costs_bytes),
        cmocka_unit_test(layouts_by_hand_are_matched),
        cmocka_unit_test(random_programs_have_right_frontiers),
        cmocka_unit_test(costs_must_be_known),
        cmocka_unit_test(costs_of_two_kinds_are_no_time),
        cmocka_unit_test(synchronised_kernels_have_one_layout),
        cmocka_unit_test(what_does_not_fit_has_no_point),
        cmocka_unit_test(addresses_stay_if_only_they_fit),
        cmocka_unit_test(full_memories_share),
        cmocka_unit_test(calls_can_be_ended),
        cmocka_unit_test(every_allocation_may_fail),
        cmocka_unit_test(addresses_are_released),
        cmocka_unit_test(uses_keep_slots_apart),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
