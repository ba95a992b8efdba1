/* SPDX-License-Identifier: Apache-2.0
 *
 * Lives in a layout that are shorter than they seem: mbarriers between `init` and `invalidate`,
 * tensors in halves of an `if` that never run, tiles of a kernel that has errors elsewhere.
 */
#include "spad/experimental/report_parts.h"
#include "support/kernels.h"
#include "support/support.h"

#include <stdio.h>
#include <string.h>

#include "spad/check.h"
#include "spad/experimental/tensor_order.h"
#include "spad/layout.h"
#include "spad/report.h"

static int64_t height_of(const char *text) {
    spad_kernel *k = test_parse(text);
    spad_layout *layout;
    spad_error error;
    assert_ok(spad_layout_create(&layout, k, NULL, &error), &error);
    const int64_t height =
        spad_layout_space_count(layout) > 0 ? spad_layout_get_space(layout, 0)->height : 0;
    spad_layout_destroy(layout);
    spad_kernel_destroy(k);
    return height;
}

/* ---- mbarriers --------------------------------------------------------------------- */

#define TWO                                                         \
    "kernel k on sm_90\nparam N = 4\nunit tma on copy free proxy\n" \
    "mbarrier a[2] count 1\nmbarrier b count 1\n"                   \
    "tensor g : global u8 (64) input\ntensor x : shared u8 (64)\n"
#define INIT_A "init a[0]\ninit a[1]\n"
#define END_A "invalidate a[1]\ninvalidate a[0]\n"
#define USE_B "init b\narrive b\nwait b parity 0\ninvalidate b\n"

static void mbarriers_share_bytes_after_their_end(void **state) {
    (void)state;
    static const struct {
        const char *text;
        int64_t height;
    } cases[] = {
        {TWO INIT_A "arrive a[0]\nwait a[0] parity 0\n" END_A USE_B, 16},
        {TWO USE_B INIT_A "arrive a[1]\n" END_A, 16},
        /* a new life in every iteration, also of a delivery */
        {TWO "for i in 0..N {\n" INIT_A "arrive a[0] expect 64\n"
             "tma load reads g writes x delivers a[0]\nwait a[0] parity 0\n" END_A USE_B "}\n",
         64 + 16},
        {TWO "for i in 0..N {\n" INIT_A "for j in 0..N { if j == 2 { break } }\n" END_A USE_B "}\n",
         16},
        {TWO INIT_A USE_B END_A, 24}, /* at the same time */
        {TWO INIT_A "invalidate a[0]\n" USE_B, 24},
        {TWO "init a[0]\n" END_A USE_B, 24}, /* the other one begins somewhere else */
        {TWO "init a[0]\ninvalidate a[0]\n" USE_B, 24},
        {TWO "arrive a[0]\n" INIT_A END_A USE_B, 24},
        {TWO INIT_A END_A USE_B "arrive a[0]\n", 24},
        {TWO INIT_A END_A USE_B "expect a[0] by 64\n", 24},
        {TWO INIT_A END_A USE_B "wait a[0] parity 0\n", 24},
        {TWO INIT_A END_A USE_B "tma load reads g writes x delivers a[0]\n", 24 + 64},
        {TWO INIT_A END_A INIT_A END_A USE_B, 24}, /* twice */
        {TWO "for i in 0..2 { init a[i] }\n" END_A USE_B, 24},
        {TWO INIT_A "if N == 1 {\n" END_A "}\n" USE_B, 24},
        {TWO "if N == 1 {\n" INIT_A END_A "}\n" USE_B, 24},
        {TWO "for i in 0..N {\n" INIT_A "if i == 2 { break }\n" END_A USE_B "}\n", 24},
        {TWO "agent p {\n" INIT_A END_A USE_B "}\n", 24},
        {TWO INIT_A "agent p { arrive a[0] }\nagent q { wait a[0] parity 0 }\n" END_A USE_B, 16},
        {TWO "invalidate a[0]\n" INIT_A END_A USE_B, 24},
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        print_message("case %zu\n", i);
        assert_int_equal(height_of(cases[i].text), cases[i].height);
    }
}

/* What a unit writes over an mbarrier needs a fence, which the kernel may not have. */
static void mbarriers_share_nothing_with_tensors(void **state) {
    (void)state;
    assert_int_equal(height_of(TWO INIT_A END_A USE_B "simt w writes x\nsimt r reads x\n"),
                     16 + 64);
    /* a place that is given is an obstacle at all times */
    assert_int_equal(height_of(TWO "tensor y : shared u8 (64) at 0\n" INIT_A END_A USE_B
                                   "simt w writes y\nsimt r reads y\n"),
                     64 + 24);
}

#define TILE                                                             \
    "tensor a : global u8 (1024) input\ntensor t : shared u8 (1024)%s\n" \
    "tensor o : global u8 (1024) output\n"
#define TILE_USES "simt fill reads a writes t\nsimt use reads t writes o\n"
#define LIFE "init full\narrive full\nwait full parity 0\n"

/* The bound of the first space of a text; its layout is `height` bytes high. */
static int64_t bound_of(const char *mbarrier, const char *rest, const char *place, int64_t height,
                        spad_plan_verdict verdict) {
    char text[1024];
    spad_layout *layout;
    snprintf(text, sizeof text, "kernel k on sm_90\n%s\n" TILE "%s", mbarrier, place, rest);
    spad_kernel *kernel = test_parse(text);
    assert_int_equal(spad_layout_create(&layout, kernel, NULL, NULL), SPAD_OK);
    const spad_layout_space *row = spad_layout_get_space(layout, 0);
    const int64_t bound = row->bound;
    assert_int_equal(row->height, height);
    assert_int_equal(row->verdict, verdict);
    spad_layout_destroy(layout);
    spad_kernel_destroy(kernel);
    return bound;
}

/* A tile that is used up before the `init`, or begins after the `invalidate`, could have the bytes
 * of the mbarrier, if the kernel places both: then nothing is claimed of lower layouts. */
static void lower_layouts_with_mbarriers_over_tiles_are_not_excluded(void **state) {
    (void)state;
    const char *one = "mbarrier full count 1";
    assert_int_equal(bound_of(one, TILE_USES LIFE, "", 1032, SPAD_PLAN_FEASIBLE), 1024);
    assert_int_equal(
        bound_of(one, LIFE "invalidate full\n" TILE_USES, "", 1032, SPAD_PLAN_FEASIBLE), 1024);
    assert_int_equal(bound_of(one, "for i in 0..4 {\n" LIFE "invalidate full\n}\n" TILE_USES, "",
                              1032, SPAD_PLAN_FEASIBLE),
                     1024);
    assert_int_equal(
        bound_of(one, "agent g {\n" LIFE "}\n" TILE_USES, "", 1032, SPAD_PLAN_FEASIBLE), 1024);
    /* both are needed at one time */
    assert_int_equal(bound_of(one, LIFE TILE_USES, "", 1032, SPAD_PLAN_OPTIMAL), 1032);
    assert_int_equal(bound_of(one, LIFE TILE_USES "invalidate full\n", "", 1032, SPAD_PLAN_OPTIMAL),
                     1032);
    assert_int_equal(bound_of(one, TILE_USES, "", 1032, SPAD_PLAN_OPTIMAL), 1032);
    /* the lower one, by hand */
    assert_int_equal(
        bound_of("mbarrier full count 1 at 0", TILE_USES LIFE, " at 0", 1024, SPAD_PLAN_OPTIMAL),
        1024);
    /* what the kernel places outside of the memory fits in no layout */
    assert_int_equal(bound_of("mbarrier full count 1 at 0", TILE_USES LIFE, " at 400000", 401024,
                              SPAD_PLAN_INFEASIBLE),
                     401024);
}

/* ---- mbarriers over tiles ----------------------------------------------------------- */

#define COPY                                                                    \
    "kernel k on sm_90\nparam N = 4\nunit tma on copy free proxy\ngroup g\n"    \
    "mbarrier b count 1\nmbarrier c count 1\ntensor a : global u8 (64) input\n" \
    "tensor o : global u8 (64) output\ntensor x : shared u8 (64)\n"
#define LOAD_X \
    "tma load reads a writes x in g\ncommit g\nwait g pending 0\nsimt r reads x writes o\n"
#define FILL_X "simt w reads a writes x\nsimt r reads x writes o\n"
#define USE_C "init c\narrive c\nwait c parity 0\ninvalidate c\n"

/* With errors in none of its bytes. */
static test_laid_out place_right(const char *text) {
    const test_laid_out placed = test_lay_out(text);
    if (placed.check != NULL)
        assert_int_not_equal(spad_check_get_verdict(placed.check), SPAD_VERDICT_WRONG);
    return placed;
}

static void mbarriers_share_bytes_by_the_order(void **state) {
    (void)state;
    static const struct {
        const char *text;
        int64_t height;
        spad_plan_verdict verdict;
    } cases[] = {
        {COPY FILL_X USE_B USE_C, 64, SPAD_PLAN_OPTIMAL}, /* the tile is used up */
        {COPY USE_B USE_C FILL_X, 64, SPAD_PLAN_OPTIMAL}, /* it begins after them */
        {COPY USE_B "fence\n" USE_C "fence\n" LOAD_X, 64, SPAD_PLAN_OPTIMAL},
        {COPY USE_B USE_C LOAD_X, 64 + 8, SPAD_PLAN_OPTIMAL}, /* a copy without a proxy fence */
        {COPY "init b\n" FILL_X "arrive b\nwait b parity 0\ninvalidate b\n" USE_C, 64 + 8,
         SPAD_PLAN_OPTIMAL},
        {COPY "init b\narrive b\nwait b parity 0\n" FILL_X USE_C, 64 + 8, SPAD_PLAN_OPTIMAL},
        /* in halves of an if of each round, where the text says nothing */
        {COPY "for i in 0..N {\n if i % 2 == 0 {\n" USE_B FILL_X "}\n else {\n" USE_C "}\n}\n", 64,
         SPAD_PLAN_OPTIMAL},
        /* agents take turns with the tile */
        {COPY "barrier all count 2\nagent p {\n" USE_B "sync all\n}\n"
              "agent q {\nsync all\n" FILL_X USE_C "}\n",
         64, SPAD_PLAN_OPTIMAL},
        {COPY "agent p {\n" USE_B "}\nagent q {\n" FILL_X USE_C "}\n", 64 + 8, SPAD_PLAN_OPTIMAL},
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        print_message("case %zu\n", i);
        test_laid_out placed = place_right(cases[i].text);
        assert_int_equal(placed.row->height, cases[i].height);
        assert_int_equal(placed.row->verdict, cases[i].verdict);
        test_laid_out_free(&placed);
    }
}

/* One of two mbarriers under a name ends before the tile begins: another layout may put it there.
 */
static void uneven_mbarriers_leave_the_bound_open(void **state) {
    (void)state;
    test_laid_out placed = test_lay_out(
        "kernel k on sm_90\nmbarrier b[2] count 1\ntensor a : global u8 (64) input\n"
        "tensor o : global u8 (64) output\ntensor x : shared u8 (64)\ninit b[0]\ninit b[1]\n"
        "arrive b[0]\nwait b[0] parity 0\ninvalidate b[0]\n" FILL_X
        "arrive b[1]\nwait b[1] parity 0\ninvalidate b[1]\n");
    assert_int_equal(placed.row->height, 64 + 16);
    assert_true(placed.row->bound <= 64 + 8);
    assert_int_equal(placed.row->verdict, SPAD_PLAN_FEASIBLE);
    test_laid_out_free(&placed);
}

/* The text would let x have the bytes of y, and the copy needs a fence for that. */
static void tiles_without_a_fence_are_kept_apart(void **state) {
    (void)state;
    static const struct {
        const char *fence;
        int64_t height;
    } cases[] = {{"", 128}, {"fence\n", 64}};
    for (size_t i = 0; i < 2; i++) {
        char text[1024];
        snprintf(text, sizeof text,
                 COPY "tensor y : shared u8 (64)\nsimt w reads a writes y\n"
                      "simt r reads y writes o\n%s" LOAD_X,
                 cases[i].fence);
        test_laid_out placed = place_right(text);
        assert_int_equal(placed.row->height, cases[i].height + 16); /* unused mbarriers */
        test_laid_out_free(&placed);
    }
}

/* A program of Triton, shortened. The order lets the buffer have the bytes of q. The text would
 * let the scratch tile have those of v[2], and a copy comes there without a fence: it is kept
 * apart, and the buffer is not. */
static void tiles_that_the_order_shares_are_fenced(void **state) {
    (void)state;
    test_laid_out placed = place_right(
        "kernel k on sm_100\n"
        "param N_tiles = 3 fixed\n"
        "unit tma on copy free proxy\n"
        "unit tc5 on tensor same proxy\n"
        "barrier meet count 1\n"
        "mbarrier q_bar count 1\n"
        "mbarrier acc_bar[2] count 1\n"
        "mbarrier acc_bar_3[3] count 1\n"
        "mbarrier acc_bar_4[3] count 1\n"
        "tensor q_desc : global float16 (128, 64) input\n"
        "tensor k_desc : global float16 (64, 64) input\n"
        "tensor v_desc : global float16 (64, 64) input\n"
        "tensor q : shared float16 (128, 64) align 1024\n"
        "tensor k : shared float16 [3] (64, 64) align 1024\n"
        "tensor v : shared float16 [3] (64, 64) align 1024\n"
        "tensor s : tmem float32 (128, 64)\n"
        "tensor buffer : shared float16 (128, 64) align 1024\n"
        "init q_bar count 1\n"
        "fence\n"
        "sync meet by 1\n"
        "arrive q_bar by 1 expect 16384\n"
        "tma load_q reads q_desc writes q spread one delivers q_bar\n"
        "wait q_bar parity 0\n"
        "init acc_bar[0] count 1\n"
        "init acc_bar[1] count 1\n"
        "init acc_bar_3[1] count 1\n"
        "init acc_bar_4[0] count 1\n"
        "init acc_bar_4[1] count 1\n"
        "init acc_bar_4[2] count 1\n"
        "fence\n"
        "sync meet by 1\n"
        "arrive acc_bar_4[0] by 1 expect 8192\n"
        "tma load_v reads v_desc writes v[0] spread one delivers acc_bar_4[0]\n"
        "arrive acc_bar_3[1] by 1 expect 8192\n"
        "tma load_k reads k_desc writes k[1] spread one delivers acc_bar_3[1]\n"
        "arrive acc_bar[0] by 1 on tc5\n"
        "arrive acc_bar_4[1] by 1 expect 8192\n"
        "tma load_v reads v_desc writes v[1] spread one delivers acc_bar_4[1]\n"
        "tensor acc_scratch : shared uint8 (512) align 128\n"
        "simt convert_acc writes acc_scratch spread map3\n"
        "wait acc_bar_4[0] parity 0\n"
        "wait acc_bar_3[1] parity 0\n"
        "tc5 dot_s reads q spread one, k[1] spread one writes s spread one\n"
        "arrive acc_bar[1] by 1 on tc5\n"
        "arrive acc_bar_4[2] by 1 expect 8192\n"
        "tma load_v reads v_desc writes v[2] spread one delivers acc_bar_4[2]\n"
        "for i in 0..N_tiles {\n"
        "    wait acc_bar[(i - 1) % 2] parity ((i - 1) / 2 + 1) % 2\n"
        "    wait acc_bar_4[(i + 1) % 3] parity (i + 1) / 3 % 2\n"
        "    arrive acc_bar[i % 2] by 1 on tc5\n"
        "    arrive acc_bar_4[i % 3] by 1 expect 8192\n"
        "    tma load_v reads v_desc writes v[i % 3] spread one delivers acc_bar_4[i % 3]\n"
        "}\n"
        "simt store writes buffer spread map1\n"
        "wait acc_bar_4[1] parity 1\n"
        "wait acc_bar_4[2] parity 1\n");
    assert_int_equal(placed.row->height, 49736);         /* 65608 with all apart */
    assert_true(placed.row->bound < placed.row->height); /* of slots apart nothing is claimed */
    assert_int_equal(placed.row->verdict, SPAD_PLAN_FEASIBLE);
    test_laid_out_free(&placed);
}

/* ---- halves of an if ----------------------------------------------------------------- */

static void ranges_rule_out_halves(void **state) {
    (void)state;
    static const struct {
        const char *condition;
        bool needed;
    } cases[] = {
        {"i < 0", false},
        {"i >= 0", true},
        {"i * 64 < 4096 - 4096", false},
        {"i * 64 < 4096", true},
        {"0 - i > 0", false},
        {"-i >= 1", false},
        {"i % 4 > 3", false},
        {"i % 4 == 3", true},
        {"i / 2 < 0", false},
        {"M < 3", false},
        {"M * 2 == 6", true},
        {"M != 3", false},
        {"min(i, M) > 3", false},
        {"max(i, M) < 3", false},
        {"max(i, M) < 4", true},
        {"N < 0", true},
        {"i < N", true},
        {"i + N < 0", true},
        {"i <= 0 - 1", false},
        {"3 < i % 3", false},
        {"j > 7", false},
        {"j == 7", true},
        {"j * -1 > 0", false},
        {"i - j < 0 - 7", false},
        {"i > 0 and i < 0", false},
        {"i < 0 or j > 7", false},
        {"i < 0 or j > 6", true},
        /* numbers at the ends of 64 bits */
        {"-L + 1 == -9223372036854775806", true},
        {"-L + 1 > -9223372036854775806", false},
        {"-L - 1 < -9223372036854775807", true},
        {"L * -1 > -9223372036854775807", false},
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        char text[512];
        snprintf(text, sizeof text,
                 "kernel k on sm_90\nparam N = 4\nparam M = 3 fixed\n"
                 "param L = 9223372036854775807 fixed\ntensor x : shared u8 (64)\n"
                 "for i in 0..N {\n for j in 0..8 {\n  if %s {\n   simt w writes x\n"
                 "   simt r reads x\n  }\n }\n}\n",
                 cases[i].condition);
        print_message("%s\n", cases[i].condition);
        assert_int_equal(height_of(text), cases[i].needed ? 64 : 0);
    }
}

static void many_mbarriers_keep_their_bytes(void **state) {
    (void)state;
    assert_int_equal(height_of("kernel k on sm_90\nmbarrier a[65] count 1\nmbarrier b count 1\n"
                               "init a[0]\ninvalidate a[0]\n" USE_B),
                     66 * 8);
    assert_int_equal(height_of("kernel k on sm_90\nmbarrier a count 1\nmbarrier b[2, 2] count 1\n"
                               "init a\ninvalidate a\ninit b[0, 0]\ninit b[0, 1]\ninit b[1, 0]\n"
                               "init b[1, 1]\ninvalidate b[0, 0]\ninvalidate b[0, 1]\n"
                               "invalidate b[1, 0]\ninvalidate b[1, 1]\n"),
                     4 * 8);
}

/* ---- drawn --------------------------------------------------------------------------- */

/* Conflicts that the page shows in the first memory of a layout. */
static int64_t drawn_conflicts(const spad_layout *layout) {
    const spad_target *target = spad_kernel_get_target(spad_layout_get_kernel(layout));
    spad_report_space facts;
    spad_report *report;
    spad_error error;
    assert_ok(spad_report_create(&report, target, NULL, &error), &error);
    assert_ok(spad_report_add_layout(report, layout, NULL, 1000, &error), &error);
    const size_t space = spad_layout_get_space(layout, 0)->space;
    assert_ok(spad_report_get_space(&facts, report, space, &error), &error);
    spad_report_destroy(report);
    return facts.conflicts;
}

/* The page has no conflict where they take turns. */
static void shared_mbarriers_are_drawn_without_conflicts(void **state) {
    (void)state;
    spad_kernel *k = test_parse(TWO INIT_A END_A USE_B "simt w writes x\nsimt r reads x\n");
    spad_error error;
    spad_layout *layout;
    assert_ok(spad_layout_create(&layout, k, NULL, &error), &error);
    assert_int_equal(drawn_conflicts(layout), 0);
    spad_layout_destroy(layout);
    spad_kernel_destroy(k);
}

/* Nor where one is over a tile: it is drawn while the tile is not. */
static void mbarriers_over_tiles_are_drawn_without_conflicts(void **state) {
    (void)state;
    static const char *const texts[] = {
        COPY FILL_X USE_B USE_C,
        COPY "for i in 0..N {\n if i % 2 == 0 {\n" USE_B FILL_X "}\n else {\n" USE_C "}\n}\n",
        COPY "barrier all count 2\nagent p {\n" USE_B "sync all\n}\n"
             "agent q {\nsync all\n" FILL_X USE_C "}\n",
    };
    for (size_t i = 0; i < sizeof texts / sizeof texts[0]; i++) {
        test_laid_out placed = test_lay_out(texts[i]);
        assert_int_equal(placed.row->height, 64);
        assert_int_equal(drawn_conflicts(placed.layout), 0);
        test_laid_out_free(&placed);
    }
}

/* ---- halves of an if that never run ------------------------------------------------ */

#define HALVES                                               \
    "kernel k on sm_90\nparam N = 4\nparam U = 1\n"          \
    "tensor a : shared u8 (64)\ntensor b : shared u8 (64)\n" \
    "simt w writes b\n"
#define THEN(condition) \
    HALVES "if " condition " { simt w writes a\n simt r reads a }\nsimt r reads b\n"
#define ELSE(condition)    \
    HALVES "if " condition \
           " { simt idle } else { simt w writes a\n simt r reads a }\nsimt r reads b\n"

static void halves_that_never_run_need_nothing(void **state) {
    (void)state;
    static const struct {
        const char *text;
        int64_t height;
    } cases[] = {
        {THEN("(512 + 63) / 64 == 0"), 64},
        {THEN("1 == 2 or 3 != 3"), 64},
        {THEN("N == 1 and 2 < 1"), 64},
        {THEN("2 <= 1 or 1 > 2 or 1 >= 2"), 64},
        {THEN("1 < 2"), 128},
        {THEN("1 == 2 or N == 1"), 128},
        {THEN("N == 4"), 128},
        {ELSE("1 == 1"), 64},
        {ELSE("N == 1 or 1 == 1"), 64},
        {ELSE("1 == 1 and N == 4"), 128},
        {ELSE("1 != 1"), 128},
        {HALVES
         "for i in 0..N { if i == 9 { simt w writes a\n simt r reads a } }\nsimt r reads b\n",
         128},
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        print_message("case %zu\n", i);
        assert_int_equal(height_of(cases[i].text), cases[i].height);
    }
}

/* ---- kernels with errors ----------------------------------------------------------- */

/* The arrival of agent p may come after the end of m. */
#define LATE                                                                        \
    "kernel k on sm_90\nmbarrier m count 1\ntensor o : global u8 [2] (64) output\n" \
    "tensor a : shared u8 (64)\ntensor b : shared u8 (64)\ninit m\n"                \
    "agent p { arrive m }\n"

static void errors_elsewhere_do_not_keep_tiles_apart(void **state) {
    (void)state;
    static const struct {
        const char *text;
        int64_t height;
        bool in_doubt;
    } cases[] = {
        {LATE "agent q { invalidate m\n simt w writes a\n simt r reads a writes o[0]\n"
              " simt w writes b\n simt r reads b writes o[1] }\n",
         64 + 8, true},
        {LATE "agent q { invalidate m\n simt w writes a\n simt w writes b\n"
              " simt r reads b writes o[1]\n simt r reads a writes o[0] }\n",
         128 + 8, false},
        /* a wait that may be late leaves phases open, and no order is examined */
        {LATE "agent q { invalidate m\n simt w writes a\n simt r reads a writes o[0] }\n"
              "agent r { wait m parity 0\n simt w writes b\n simt r reads b writes o[1] }\n",
         128 + 8, false},
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        test_laid_out placed = test_lay_out(cases[i].text);
        spad_error error;
        print_message("case %zu\n", i);
        assert_int_equal(placed.row->height, cases[i].height);
        assert_int_equal(placed.row->agents_in_doubt, cases[i].in_doubt);
        if (cases[i].in_doubt) {
            assert_int_equal(placed.row->verdict, SPAD_PLAN_FEASIBLE); /* nothing is claimed */
            test_text text;
            test_text_init(&text);
            assert_ok(spad_layout_write(placed.layout, SPAD_FORMAT_TABLE, &text.sink, &error),
                      &error);
            assert_non_null(strstr(text.bytes, "fits in the order of a kernel with errors"));
            test_text_clear(&text);
            assert_ok(spad_layout_write(placed.layout, SPAD_FORMAT_JSON, &text.sink, &error),
                      &error);
            assert_non_null(strstr(text.bytes, "agents_in_doubt"));
            test_text_free(&text);
            assert_int_equal(spad_check_get_verdict(placed.check), SPAD_VERDICT_WRONG);
        }
        test_laid_out_free(&placed);
    }
}

/* More errors than a check shows are compared as well. */
static void many_errors_do_not_keep_tiles_apart(void **state) {
    (void)state;
    test_text text;
    test_text_init(&text);
    test_text_put(&text, "kernel k on sm_90\ntensor o : global u8 [2] (64) output\n"
                         "tensor a : shared u8 (64)\ntensor b : shared u8 (64)\n"
                         "tensor u : shared u8 (64)\nagent p {\n");
    for (int i = 0; i < SPAD_CHECK_FINDINGS + 10; i++) test_text_put(&text, "simt e reads u\n");
    test_text_put(&text, "simt w writes a\nsimt r reads a writes o[0]\n"
                         "simt w writes b\nsimt r reads b writes o[1]\n}\n");
    test_laid_out placed = test_lay_out(text.bytes);
    assert_int_equal(placed.row->height, 64);
    assert_true(placed.row->agents_in_doubt);
    assert_int_equal(spad_check_finding_count(placed.check), SPAD_CHECK_FINDINGS);
    test_laid_out_free(&placed);
    test_text_free(&text);
}

/* A race beside an arrival that may be late is found as well. */
static void late_arrivals_hide_no_races(void **state) {
    (void)state;
    spad_kernel *k = test_parse(LATE "agent q { invalidate m\n simt w writes a }\n"
                                     "agent r { simt r reads a writes o[0] }\n");
    spad_error error;
    spad_check *check;
    bool late = false;
    bool race = false;
    assert_ok(spad_check_create(&check, k, NULL, &error), &error);
    for (size_t i = 0; i < spad_check_finding_count(check); i++) {
        const spad_finding_code code = spad_check_get_finding(check, i)->code;
        late = late || code == SPAD_FINDING_MBARRIER_LIFE;
        race = race || code == SPAD_FINDING_RACE;
    }
    assert_true(late && race);
    spad_check_destroy(check);
    spad_kernel_destroy(k);
}

static void every_allocation_may_fail(void **state) {
    (void)state;
    test_read_without_memory(LATE "agent q { invalidate m\n simt w writes a\n"
                                  " simt r reads a writes o[0]\n simt w writes b\n"
                                  " simt r reads b writes o[1] }\n",
                             test_use_checked_layout);
    test_read_without_memory(TWO INIT_A END_A USE_B "simt w writes x\nsimt r reads x\n",
                             test_use_checked_layout);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(mbarriers_share_bytes_after_their_end),
        cmocka_unit_test(mbarriers_share_nothing_with_tensors),
        cmocka_unit_test(lower_layouts_with_mbarriers_over_tiles_are_not_excluded),
        cmocka_unit_test(mbarriers_share_bytes_by_the_order),
        cmocka_unit_test(uneven_mbarriers_leave_the_bound_open),
        cmocka_unit_test(tiles_without_a_fence_are_kept_apart),
        cmocka_unit_test(tiles_that_the_order_shares_are_fenced),
        cmocka_unit_test(ranges_rule_out_halves),
        cmocka_unit_test(many_mbarriers_keep_their_bytes),
        cmocka_unit_test(shared_mbarriers_are_drawn_without_conflicts),
        cmocka_unit_test(mbarriers_over_tiles_are_drawn_without_conflicts),
        cmocka_unit_test(halves_that_never_run_need_nothing),
        cmocka_unit_test(errors_elsewhere_do_not_keep_tiles_apart),
        cmocka_unit_test(many_errors_do_not_keep_tiles_apart),
        cmocka_unit_test(late_arrivals_hide_no_races),
        cmocka_unit_test(every_allocation_may_fail),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
