/* SPDX-License-Identifier: Apache-2.0
 *
 * Rules, advice and limits of the checker, and a check without memory.
 */
#include "check_life_fixture.h"

#include <stdlib.h>

#include "support/files.h"
#include "support/places.h"

/* ---- rules ------------------------------------------------------------------------- */

static void places_of_tiles(void **state) {
    (void)state;
    expect(IN_OUT "tensor x : sbuf bf16 [2] (128, 512) at 212000\n"
                  "dma load reads in[0] writes x[0]\n"
                  "dma store reads x[0] writes out[0]\n",
           "4:8 SPAD-OUT-OF-SPACE x2: 'x[0]' takes bytes [212,000, 213,024) of sbuf, which has "
           "212,984 "
           "for tensors and reserves 16,392 after them; move it, make it smaller, or use fewer "
           "slots\n");
    /* 10^9 tiles with the step of a slot: the last one */
    expect("kernel k on sm_80\n"
           "tensor g : global f32 (1) output\n"
           "tensor s : shared f32 [1000000000] (1) at 0\n"
           "simt a writes s[0]\n"
           "simt b reads s[0] writes g\n",
           "3:8 SPAD-OUT-OF-SPACE x1: 's[999999999]' takes bytes [3,999,999,996, 4,000,000,000) of "
           "shared, which has 166,912 for tensors and reserves 1,024 after them; move it, make it "
           "smaller, or use fewer slots\n");
    expect(
        "kernel k on sm_80\n"
        "tensor g : global f32 (4) output\n"
        "tensor s : shared f32 [4] (4) at 0 step 18\n"
        "simt a writes s[0]\n"
        "simt b reads s[0] writes g\n",
        "3:8 SPAD-MISALIGNED x2: 's[1]' starts at byte 18 of shared, which is not a multiple of 4; "
        "try 20\n");
    /* the third tile of 1536 bytes in banks of 2048 is the first that crosses */
    expect("kernel k on trn2\n"
           "tensor o : sbuf f32 (128, 192) at 0 output\n"
           "tensor p : psum f32 [3] (128, 192) at 0\n"
           "vector a writes p[0]\n"
           "vector b reads p[0] writes o\n",
           "3:8 SPAD-BANK-CROSSED x1: 'p[2]' takes bytes [1,536, 2,304) of psum and crosses the "
           "boundary of a bank "
           "of 2,048; start it at a bank, or cut it in pieces of at most 2,048 "
           "bytes\n");
    expect("kernel k on trn2\n"
           "tensor o : sbuf f32 (128, 600) output\n"
           "tensor p : psum f32 (128, 600)\n"
           "vector a writes p\n"
           "vector b reads p writes o\n",
           "3:8 SPAD-BANK-CROSSED x1: 'p' takes bytes [0, 2,400) of psum and crosses the boundary "
           "of a bank "
           "of 2,048; start it at a bank, or cut it in pieces of at most 2,048 bytes\n");
}

/* A planner that puts everything at one place. */
static bool place_there(void *context, int64_t tensor, int64_t slot, spad_rect *rect) {
    const spad_rect *there = context;
    (void)tensor;
    rect->lane = there->lane;
    rect->byte = there->byte + slot * 1024;
    return true;
}

static void expect_there(const char *text, spad_rect there, const char *expectation) {
    spad_kernel *kernel = test_parse(text);
    spad_layout *layout = test_layout_with(kernel, place_there, &there);
    expect_kernel(kernel, &(spad_check_options){.layout = layout}, expectation);
    spad_layout_destroy(layout);
    spad_kernel_destroy(kernel);
}

/* What a planner has put into the bytes of a tensor that is never written does not matter. */
static void reads_of_what_nobody_writes(void **state) {
    (void)state;
    spad_rect there = {0};
    expect_there(
        "kernel k on sm_80\n"
        "tensor g : global f32 (64) output\n"
        "tensor x : shared f32 (64)\n"
        "tensor u : shared f32 (64)\n"
        "simt a writes x\n"
        "simt b reads x writes g\n"
        "simt c reads u\n",
        there,
        "7:14 SPAD-UNINITIALISED-READ x1: c reads 'u', but nothing writes it anywhere; write it "
        "first, or declare it as input\n"
        "  4:8 declared here\n");
}

static void places_of_the_planner(void **state) {
    (void)state;
    static const char text[] = IN_OUT "tensor x : sbuf bf16 [8] (64, 512) ring 2\n"
                                      "for i in 0..8 {\n"
                                      "    dma load reads in[i](0..64, ..) writes x[i]\n"
                                      "    dma store reads x[i] writes out[i](0..64, ..)\n"
                                      "}\n";
    spad_rect there = {.lane = 64, .byte = 0};
    expect_there(text, there, "");
    there.lane = 32;
    expect_there(text, there,
                 "4:8 SPAD-START-LANE x2: 'x[0]': a tile of 64 lanes cannot start at lane 32 of "
                 "'sbuf'; 33 to 64 lanes start at 0 or 64\n");
    there = (spad_rect){.lane = 64, .byte = -1024};
    expect_there(
        text, there,
        "4:8 SPAD-OUT-OF-SPACE x1: 'x[0]' takes bytes [-1,024, 0) of sbuf, which has 212,984 "
        "for tensors and reserves 16,392 after them; move it, make it smaller, or use "
        "fewer slots\n");
}

static void planned_tensors_can_clash(void **state) {
    (void)state;
    static const char text[] = IN_OUT "tensor x : sbuf bf16 (128, 512)\n"
                                      "tensor y : sbuf bf16 (128, 512)\n"
                                      "dma load reads in[0] writes x\n"
                                      "dma load reads in[1] writes y\n"
                                      "vector add reads x updates y\n"
                                      "dma store reads y writes out[0]\n";
    spad_rect there = {0};
    expect(text, "");
    expect_there(text, there,
                 "8:18 SPAD-LIFETIME-CONFLICT x1: add reads 'x', but bytes [0, 1,024) of lanes [0, "
                 "128) of sbuf hold 'y', written by load; place them apart, or read it earlier\n"
                 "  7:1 load writes 'y' here\n");
}

static void walks_that_fail(void **state) {
    (void)state;
    expect(IN_OUT "tensor x : sbuf bf16 [8] (128, 512) ring 2\n"
                  "for i in 0..8 {\n"
                  "    if i < 8 { dma load reads in[i] writes x[i + 1] }\n"
                  "    if i > 0 { dma store reads x[i] writes out[i] }\n"
                  "}\n",
           "6:44 SPAD-INDEX-OUTSIDE x1: index 8 is outside 'x', which has 8; iteration i = 7\n");
    expect(
        IN_OUT "region sbuf 0..4096 as exact\n"
               "scope s {\n"
               "    for i in 0..8 {\n"
               "        tensor x : sbuf bf16 (128, 512) stack\n"
               "        dma load reads in[i] writes x\n"
               "        dma store reads x writes out[i]\n"
               "    }\n"
               "}\n",
        "7:16 SPAD-DOES-NOT-FIT x1: stack: x.4.0 needs 1,024 B per lane at alignment 2, 0 of 4,096 "
        "B are free; largest live: x 1,024 B, (unnamed) 1,024 B, (unnamed) 1,024 B; close a scope, "
        "pop the heap or use smaller tiles\n");
}

/* ---- advice ------------------------------------------------------------------------ */

static void advice_can_be_left_out(void **state) {
    (void)state;
    static const char text[] = IN_OUT "tensor x : sbuf bf16 [2] (128, 32) ring 4\n"
                                      "dma load reads in[0](.., 0..32) writes x[0]\n"
                                      "dma store reads x[0] writes out[0](.., 0..32)\n";
    expect(text,
           "4:8 SPAD-DEEP-RING x1: 'x' has 4 slots for 2 tiles; the others are never used\n"
           "5:1 SPAD-SHORT-ROW x1: load moves 64 bytes per lane of 'x' at a time; transfers are "
           "slow below 512: move several tiles at once\n"
           "6:1 SPAD-SHORT-ROW x1: store moves 64 bytes per lane of 'x' at a time; transfers are "
           "slow below 512: move several tiles at once\n");
    const spad_check_options options = {.no_advice = true};
    expect_with(text, &options, "");
}

static void groups_in_one_bank(void **state) {
    (void)state;
    static const char text[] = "kernel k on trn2\n"
                               "tensor a : sbuf bf16 (128, 128) at 0 input\n"
                               "tensor o : sbuf f32 [2] (128, 256) at 4096 output\n"
                               "tensor p : psum f32 (128, 256) at 0\n"
                               "tensor q : psum f32 (128, 256) at %s\n"
                               "tensor m reads a writes p\n"
                               "tensor m reads a writes q\n"
                               "tensor m reads a updates p\n"
                               "vector e reads p writes o[0]\n"
                               "vector e reads q writes o[1]\n";
    char kernel[1024];
    snprintf(kernel, sizeof kernel, text, "1024");
    expect(kernel,
           "8:1 SPAD-SHARED-BANK x1: m adds to 'p' in bank 0 of psum, where 'q' was written "
           "in between; give the two groups banks of their own\n"
           "  7:1 'q' is written here\n");
    snprintf(kernel, sizeof kernel, text, "2048");
    expect(kernel, "");
}

/* ---- limits ------------------------------------------------------------------------ */

static void limits_leave_the_verdict_open(void **state) {
    (void)state;
    spad_kernel *kernel = test_parse(IN_OUT "tensor x : sbuf bf16 [8] (128, 512) ring 2\n"
                                            "for i in 0..8 {\n"
                                            "    dma load reads in[i] writes x[i]\n"
                                            "    dma store reads x[i] writes out[i]\n"
                                            "}\n");
    const spad_check_options few = {.event_limit = 10};
    spad_check *check;
    spad_error error;
    assert_ok(spad_check_create(&check, kernel, &few, &error), &error);
    assert_int_equal(spad_check_get_verdict(check), SPAD_VERDICT_UNKNOWN);
    assert_string_equal(spad_check_get_reason(check), "the kernel has more events than the limit");
    assert_int_equal(spad_check_get_counts(check).events, 10);
    spad_check_destroy(check);
    spad_kernel_destroy(kernel);
}

static void findings_can_be_limited(void **state) {
    (void)state;
    spad_kernel *kernel = test_parse(IN_OUT "tensor x : sbuf bf16 [3] (128, 512)\n"
                                            "dma a reads x[0] writes out[0]\n"
                                            "dma b reads x[1] writes out[1]\n"
                                            "dma c reads x[2] writes out[2]\n");
    const spad_check_options few = {.finding_limit = 2};
    spad_check *check;
    spad_error error;
    assert_ok(spad_check_create(&check, kernel, &few, &error), &error);
    assert_int_equal(spad_check_finding_count(check), 2);
    assert_int_equal(spad_check_get_verdict(check), SPAD_VERDICT_WRONG);
    spad_check_destroy(check);
    spad_kernel_destroy(kernel);
    /* warnings that come first do not hide an error: nothing is proved then */
    kernel = test_parse("kernel k on trn2\ntensor w : sbuf bf16 (128, 4) at 0\n"
                        "tensor a : sbuf bf16 (128, 4)\ntensor b : sbuf bf16 (128, 4)\n"
                        "tensor c : sbuf bf16 (128, 4)\nvector set writes w, a, b\n"
                        "vector use reads w, a, b, c\n");
    assert_ok(spad_check_create(&check, kernel, &few, &error), &error);
    assert_int_equal(spad_check_finding_count(check), 2);
    assert_int_equal(spad_check_get_counts(check).errors, 1);
    assert_int_equal(spad_check_get_counts(check).warnings, 1);
    assert_int_equal(spad_check_get_finding(check, 0)->code, SPAD_FINDING_UNINITIALISED_READ);
    assert_int_equal(spad_check_get_verdict(check), SPAD_VERDICT_WRONG);
    spad_check_destroy(check);
    spad_kernel_destroy(kernel);
}

/* ---- memory ------------------------------------------------------------------------ */

static spad_status check_with(const spad_host *host, void *context) {
    const spad_check_options options = {.host = host};
    spad_check *check;
    const spad_status status = spad_check_create(&check, context, &options, NULL);
    spad_check_destroy(check);
    return status;
}

static void every_allocation_may_fail(void **state) {
    (void)state;
    static const char *const texts[] = {
        /* findings of many kinds, parts of tiles, aliases, scopes, alloc */
        IN_OUT "tensor t1 : sbuf bf16 [8] (128, 512) mod base 0 free 2\n"
               "tensor u : sbuf bf16 [3] (64, 512) at 8192\n"
               "tensor v : sbuf bf16 [2] (128, 256)\n"
               "alloc v\n"
               "for i in 0..8 {\n"
               "    for j in 0..2 { dma load reads in[i](j * 64..j * 64 + 64, ..) writes t1[i](j * "
               "64..j * 64 + 64, ..) }\n"
               "    dma half reads in[i](0..64, 0..9) writes u[i % 3](.., 0..9)\n"
               "    vector step reads u[i % 3] updates v[i % 2](.., i * 9..i * 9 + 4)\n"
               "}\n"
               "for i in 0..8 { dma store reads t1[i] writes out[i] }\n",
        IN_OUT "tensor x : sbuf bf16 [8] (128, 512) ring 2 input\n"
               "for i in 0..8 parallel {\n"
               "    dma load reads in[i](0..64, ..) writes x[i / 2](0..64, ..), out[0](0..64, ..)\n"
               "    dma store reads x[i] writes out[i](.., i..i + 9)\n"
               "}\n",
        IN_OUT "scope s sections 2 {\n"
               "    for i in 0..8 {\n"
               "        tensor x : sbuf bf16 (128, 512) stack\n"
               "        tensor y : sbuf bf16 (128, 512) heap\n"
               "        dma load reads in[i] writes x, y\n"
               "        dma store reads x, y writes out[i]\n"
               "        free y\n"
               "        next section\n"
               "    }\n"
               "    tensor z : sbuf bf16 (128, 512) stack\n"
               "    dma load reads in[0] writes z\n"
               "}\n"
               "dma store reads z writes out[0]\n",
    };
    for (size_t i = 0; i < sizeof texts / sizeof texts[0]; i++) {
        spad_kernel *kernel = test_parse(texts[i]);
        test_fail_each_allocation(check_with, kernel);
        spad_kernel_destroy(kernel);
    }
}
int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(reads_of_what_nobody_writes),
        cmocka_unit_test(places_of_tiles),
        cmocka_unit_test(places_of_the_planner),
        cmocka_unit_test(planned_tensors_can_clash),
        cmocka_unit_test(walks_that_fail),
        cmocka_unit_test(advice_can_be_left_out),
        cmocka_unit_test(groups_in_one_bank),
        cmocka_unit_test(limits_leave_the_verdict_open),
        cmocka_unit_test(findings_can_be_limited),
        cmocka_unit_test(every_allocation_may_fail),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
