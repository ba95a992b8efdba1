/* SPDX-License-Identifier: Apache-2.0
 *
 * The order of tensors slot by slot: tiles of one tensor of which some are over, tiles that are
 * written piece by piece, and what is claimed where slots are not told apart.
 */
#include "support/support.h"

#include <stdio.h>
#include <string.h>

#include "layout/tensor_order.h"
#include "spad/analysis.h"
#include "spad/experimental/kernel_rows.h"
#include "spad/experimental/tensor_order.h"
#include "support/kernels.h"

static int64_t number_of(const spad_kernel *kernel, const char *name) {
    for (size_t i = 0; i < spad_kernel_tensor_count(kernel); i++)
        if (strcmp(spad_kernel_get_tensor(kernel, i)->name, name) == 0) return (int64_t)i;
    fail_msg("no tensor '%s'", name);
    return -1;
}

static void expect_layout(const char *text, int64_t height, spad_plan_verdict verdict) {
    spad_error error;
    spad_layout *layout;
    spad_kernel *k = test_parse(text);
    assert_ok(spad_layout_create_checked(&layout, NULL, k, NULL, NULL, &error), &error);
    const spad_layout_space *row = spad_layout_get_space(layout, 0);
    assert_int_equal(row->height, height);
    assert_int_equal(row->verdict, verdict);
    assert_true(row->bound <= row->height);
    spad_layout_destroy(layout);
    spad_kernel_destroy(k);
}

static void expect_sharing(const char *text, const char *a, const char *b, bool share) {
    spad_error error;
    spad_tensor_order *order;
    spad_kernel *k = test_parse(text);
    assert_ok(spad_tensor_order_create(&order, k, NULL, &error), &error);
    assert_int_equal(spad_tensor_order_may_share(order, number_of(k, a), number_of(k, b)), share);
    assert_int_equal(spad__tensor_order_pair_count(order), share);
    spad_tensor_order_destroy(order);
    spad_kernel_destroy(k);
}

/* x[0] is over when y begins, and x[1] is not. */
#define ONE_OF_TWO(place)                                                         \
    "kernel k on sm_90\nbarrier go count 2\n"                                     \
    "tensor x : shared u8 [2] (64) " place "\ntensor y : shared u8 (64)\n"        \
    "agent one {\n simt w writes x[0]\n simt w writes x[1]\n simt r reads x[0]\n" \
    " sync go\n simt r reads x[1]\n}\n"                                           \
    "agent two {\n sync go\n simt w writes y\n simt r reads y\n}\n"

static void a_tile_lies_over_one_of_a_tensor(void **state) {
    (void)state;
    expect_layout(ONE_OF_TWO(""), 128, SPAD_PLAN_OPTIMAL);
    expect_layout(ONE_OF_TWO("ring 2"), 128, SPAD_PLAN_OPTIMAL);
    expect_sharing(ONE_OF_TWO(""), "x", "y", false); /* not all of it */
    /* a place that is given is looked at as a whole, so nothing is said of lower layouts */
    expect_layout(ONE_OF_TWO("at 0"), 192, SPAD_PLAN_FEASIBLE);
}

/* The one tile that the planner places lies over what the kernel has placed. */
static void a_tile_lies_over_one_that_is_given(void **state) {
    (void)state;
    expect_layout("kernel k on sm_90\nbarrier go count 2\n"
                  "tensor x : shared u8 (64) at 0\ntensor y : shared u8 (64)\n"
                  "agent one {\n simt w writes x\n simt r reads x\n sync go\n}\n"
                  "agent two {\n sync go\n simt w writes y\n simt r reads y\n}\n",
                  64, SPAD_PLAN_OPTIMAL);
}

/* Tiles of a tensor that take turns need one place; the slots of a ring are as many as it says. */
static void tiles_of_a_tensor_take_turns(void **state) {
    (void)state;
    static const struct {
        const char *place;
        int64_t height;
    } cases[] = {{"", 64}, {"ring 2", 128}};
    for (size_t i = 0; i < 2; i++) {
        char text[500];
        snprintf(text, sizeof text,
                 "kernel k on sm_90\nbarrier go count 2\ntensor x : shared u8 [2] (64) %s\n"
                 "agent one {\n simt w writes x[0]\n simt r reads x[0]\n sync go\n}\n"
                 "agent two {\n sync go\n simt w writes x[1]\n simt r reads x[1]\n}\n",
                 cases[i].place);
        expect_layout(text, cases[i].height, SPAD_PLAN_OPTIMAL);
    }
}

/* The mbarrier has bytes of x[0], which is over; x[1] is not. */
static void an_mbarrier_lies_over_one_tile(void **state) {
    (void)state;
    expect_layout("kernel k on sm_90\nunit tma on copy free proxy\nmbarrier full count 1\n"
                  "tensor g : global u8 (64) input\ntensor x : shared u8 [2] (64)\n"
                  "tensor y : shared u8 (32)\n"
                  "simt w writes x[0]\nsimt w writes x[1]\nsimt r reads x[0]\ninit full\nfence\n"
                  "arrive full expect 32\ntma load reads g(0..32) writes y delivers full\n"
                  "wait full parity 0\nsimt r reads y\nsimt r reads x[1]\n",
                  128, SPAD_PLAN_OPTIMAL);
}

/* Two rounds reach two of the four slots; the tile after the loop lies over any of them. Or data
 * decides whether one is reached. */
static void slots_that_no_round_reaches_are_as_the_others(void **state) {
    (void)state;
    expect_sharing("kernel k on sm_90\nunknown u\nbarrier go count 2\n"
                   "tensor x : shared u8 [2] (64)\ntensor y : shared u8 (64)\n"
                   "agent one {\n simt w writes x[0]\n simt r reads x[0]\n"
                   " if u == 1 { simt w writes x[1] }\n sync go\n}\n"
                   "agent two {\n sync go\n simt w writes y\n simt r reads y\n}\n",
                   "x", "y", true);
    expect_sharing("kernel k on sm_90\nparam N = 2\nbarrier go count 2\n"
                   "tensor x : shared u8 [N] (64) ring 4\ntensor y : shared u8 (64)\n"
                   "agent one {\n for i in 0..N { simt w writes x[i]\n simt r reads x[i] }\n"
                   " sync go\n}\n"
                   "agent two {\n sync go\n simt w writes y\n simt r reads y\n}\n",
                   "x", "y", true);
}

/* Which slot is the last one depends on N: with this one it is x[1], and y may not lie over x[0]. A
 * number that does not change, and the stages of a cursor. */
static void parameters_move_all_slots(void **state) {
    (void)state;
    static const struct {
        const char *params;
        const char *cursor;
        const char *index;
        const char *advance;
        int64_t height;
        spad_plan_verdict verdict;
    } cases[] = {{"param N = 4", "", "i % 2", "", 192, SPAD_PLAN_OPTIMAL},
                 {"param N = 4 fixed", "", "i % 2", "", 128, SPAD_PLAN_OPTIMAL},
                 {"param N = 4 fixed", "cursor s, p mod 2", "s", "if i > 0 { advance s }", 192,
                  SPAD_PLAN_FEASIBLE}};
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        char text[600];
        snprintf(text, sizeof text,
                 "kernel k on sm_90\n%s\nbarrier go count 2\n"
                 "tensor x : shared u8 [2] (64)\ntensor y : shared u8 (64)\n"
                 "agent one {\n %s\n for i in 0..N { simt w writes x[%s]\n"
                 " simt r reads x[%s]\n %s\n }\n sync go\n simt r reads x[1]\n}\n"
                 "agent two {\n sync go\n simt w writes y\n simt r reads y\n}\n",
                 cases[i].params, cases[i].cursor, cases[i].index, cases[i].index,
                 cases[i].advance);
        expect_layout(text, cases[i].height, cases[i].verdict);
    }
}

/* Too many slots to tell them apart: a layout, and no claim. */
static void many_slots_are_not_claimed(void **state) {
    (void)state;
    static const struct {
        int slots;
        spad_plan_verdict verdict;
    } cases[] = {{600, SPAD_PLAN_OPTIMAL}, {1025, SPAD_PLAN_FEASIBLE}};
    for (size_t i = 0; i < 2; i++) {
        char text[500];
        snprintf(text, sizeof text,
                 "kernel k on sm_90\nbarrier go count 2\ntensor x : shared u8 [%d] (64)\n"
                 "tensor y : shared u8 (64)\n"
                 "agent one {\n for i in 0..%d { simt w writes x[i] }\n"
                 " for i in 0..%d { simt r reads x[i] }\n sync go\n simt r reads x[0]\n}\n"
                 "agent two {\n simt w writes y\n simt r reads y\n sync go\n}\n",
                 cases[i].slots, cases[i].slots, cases[i].slots);
        expect_layout(text, 64 * (cases[i].slots + 1), cases[i].verdict);
    }
}

/* In each round x is written in pieces, read, and y takes its turn. */
static void pieces_begin_a_value(void **state) {
    (void)state;
    static const struct {
        const char *writes;
        bool share;
    } cases[] = {
        {"simt w writes x\n", true},
        {"simt w writes x(0..32)\n simt v writes x(32..64)\n", true},
        {"simt w writes x(32..64)\n simt v writes x(0..40)\n", true},
        {"simt w writes x(0..32)\n simt r reads x(0..16)\n simt v writes x(32..64)\n", true},
        {"simt w writes x(0..32)\n simt r reads x(16..48)\n simt v writes x(32..64)\n", false},
        {"simt w writes x(0..32)\n simt v writes x(33..64)\n", false},
        {"simt w writes x(0..32)\n simt v may writes x(32..64)\n", false},
        {"simt w writes x(0..32)\n simt v updates x(32..64)\n", false},
        {"simt w writes x(0..64 by 2)\n simt v writes x(1..64 by 2)\n", false}, /* not followed */
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        char text[500];
        snprintf(text, sizeof text,
                 "kernel k on sm_90\nparam N = 3\ntensor x : shared u8 (64)\n"
                 "tensor y : shared u8 (64)\nagent one {\n simt z writes x\n for i in 0..N {\n"
                 " %s simt r reads x(0..1)\n simt w writes y\n simt r reads y\n}\n}\n",
                 cases[i].writes);
        expect_sharing(text, "x", "y", cases[i].share);
    }
}

/* The first piece is not one of those that the tile is written with at last: what comes between
 * lies over it. */
static void older_pieces_are_left_out(void **state) {
    (void)state;
    expect_sharing("kernel k on sm_90\ntensor x : shared u8 (64)\ntensor y : shared u8 (64)\n"
                   "agent one {\n simt w writes x(16..48)\n simt w writes y\n simt r reads y\n"
                   " simt w writes x(0..32)\n simt w writes x(32..64)\n simt r reads x\n}\n",
                   "x", "y", true);
    /* of two mbarriers one may lie over x: nothing is said of lower layouts */
    expect_layout("kernel k on sm_90\nmbarrier b[2] count 1\ntensor x : shared u8 (16)\n"
                  "agent one {\n simt w writes x(4..12)\n init b[0]\n invalidate b[0]\n"
                  " simt w writes x(0..8)\n simt w writes x(8..16)\n init b[1]\n"
                  " simt r reads x\n}\n",
                  32, SPAD_PLAN_FEASIBLE);
}

/* A run that is too long has the order of fewer rounds, in which x has other slots. */
static void other_shapes_have_other_slots(void **state) {
    (void)state;
    for (int late = 0; late < 2; late++) {
        char text[700];
        snprintf(text, sizeof text,
                 "kernel k on sm_90\nparam N = 20\nparam M = 4000\nbarrier go count 2\n"
                 "tensor x : shared u8 [N] (64)\ntensor y : shared u8 (64)\n"
                 "agent one {\n simt w writes x[0]\n simt w writes x[1]\n simt r reads x[1]\n"
                 " for m in 0..M { for n in 0..5 { simt q reads x[0]\n simt q2 reads x[0] } }\n"
                 "%s sync go\n%s}\n"
                 "agent two {\n sync go\n simt w writes y\n simt r reads y\n}\n",
                 late != 0 ? "" : " simt r reads x[0]\n", late != 0 ? " simt r reads x[0]\n" : "");
        expect_layout(text, late != 0 ? 192 : 128, SPAD_PLAN_FEASIBLE);
    }
}

static spad_status lay_out_checked(const spad_host *host, void *kernel) {
    const spad_layout_options options = {.host = host};
    const spad_check_options check = {.host = host};
    spad_layout *layout;
    const spad_status status =
        spad_layout_create_checked(&layout, NULL, kernel, &options, &check, NULL);
    if (status == SPAD_OK) spad_layout_destroy(layout);
    return status;
}

static void failing_allocations_leak_nothing(void **state) {
    (void)state;
    spad_kernel *k = test_parse(ONE_OF_TWO(""));
    test_fail_each_allocation(lay_out_checked, k);
    spad_kernel_destroy(k);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_tile_lies_over_one_of_a_tensor),
        cmocka_unit_test(a_tile_lies_over_one_that_is_given),
        cmocka_unit_test(tiles_of_a_tensor_take_turns),
        cmocka_unit_test(an_mbarrier_lies_over_one_tile),
        cmocka_unit_test(slots_that_no_round_reaches_are_as_the_others),
        cmocka_unit_test(parameters_move_all_slots),
        cmocka_unit_test(many_slots_are_not_claimed),
        cmocka_unit_test(pieces_begin_a_value),
        cmocka_unit_test(older_pieces_are_left_out),
        cmocka_unit_test(other_shapes_have_other_slots),
        cmocka_unit_test(failing_allocations_leak_nothing)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
