/* SPDX-License-Identifier: Apache-2.0
 *
 * Layouts of tensors that cannot be read, and what the blocks of a cluster have of them.
 */
#include <stdio.h>
#include <string.h>

#include "ttgir_fixture.h"

/* ---- layouts that cannot be read -------------------------------------------------------- */

#define ROWS "tensor<64x64xf32, #a>"
#define BLOCKED(size, lanes, warps)                                                            \
    "#ttg.blocked<{sizePerThread = " size ", threadsPerWarp = " lanes ", warpsPerCTA = " warps \
    ", order = [1, 0]}>"
#define BASE "[0, 1], "
#define BASES_OF_8 BASE BASE BASE BASE BASE BASE BASE BASE

/* The sum of a tensor of that type, where "#a" is the layout in the last line of the text. */
static void write_sum(char *text, size_t size, const char *head, const char *layout,
                      const char *type) {
    const int length =
        snprintf(text, size, "%s%s%s%s%s", head,
                 "    %s = \"tt.reduce\"(%x) <{axis = 0 : i32}> ({\n    ^bb0(%a: f32, %b: f32):\n"
                 "      tt.reduce.return %a : f32\n    }) : (",
                 type, ") -> f32\n" CLOSE "#a = ", layout);
    assert_in_range(length, 1, size - 1);
}

static void layouts_that_are_not_known(void **state) {
    (void)state;
    static const struct {
        const char *layout;
        const char *type;
    } cases[] = {
        {"#ttg.blocked<{threadsPerWarp = [4, 8], warpsPerCTA = [4, 1]}>", ROWS},
        {BLOCKED("4", "[4, 8]", "[4, 1]"), ROWS},
        {BLOCKED("[0, 4]", "[4, 8]", "[4, 1]"), ROWS},
        {BLOCKED("[1, 1, 1, 1, 1, 1, 1]", "[4, 8]", "[4, 1]"), ROWS},
        {BLOCKED("[1, 4]", "[32]", "[4, 1]"), ROWS},
        {BLOCKED("[1, 4]", "[4, 8]", "[4]"), ROWS},
        {"#ttg.blocked<{sizePerThread = [1, 4", ROWS},
        {"#ttg.nvidia_mma<{warpsPerCTA = [4, 1], instrShape = [16]}>", ROWS},
        {"#ttg.nvidia_mma<{warpsPerCTA = [4], instrShape = [16, 64, 16]}>", ROWS},
        {"#ttg.linear<{register = 4, lane = [], warp = []}>", ROWS},
        {"#ttg.linear<{register = [" BASES_OF_8 BASES_OF_8 "[0, 1]], lane = [], warp = []}>", ROWS},
        {"#ttg.linear<{register = [[1]], lane = [], warp = []}>", ROWS},
        {"#ttg.linear<{register = [[0, 1]], warp = []}>", ROWS},
        {"#ttg.linear<{register = [[0, 1]], lane = []}>", ROWS},
        {"#ttg.linear<{register = [[0, 1", ROWS},
        {"#ttg.linear<{register = [[0, 1]", ROWS},
        {"#ttg.linear<{register = [[0, 1],", ROWS},
        {"#ttg.linear<{register = [", ROWS},
        {"#ttg.slice<{dim = 0}>", ROWS},
        {"#ttg.slice<{parent = #down}>", ROWS},
        {"#ttg.slice<{dim = x, parent = #down}>", ROWS},
        {"#ttg.slice<{dim = -1, parent = #down}>", ROWS},
        {"#ttg.slice<{dim = 0, parent = #down}>", "tensor<2x2x2x2x2x2xf32, #a>"},
        {"#ttg.slice<{dim = 0, parent = #ttg.blocked<{sizePerThread = [1, 4", ROWS},
        {"#ttg.slice<{dim = 0, parent = #ttg.blocked<{sizePerThread = [1, 4\n#b = x", ROWS},
        {"#ttg.slice<{dim = 0, parent = #ttg.blocked<{a -> b}>}>", ROWS},
        /* more bytes than there are numbers for */
        {BLOCKED("[1, 1, 1]", "[1, 1, 32]", "[4, 1, 1]"),
         "tensor<4x1099511627776x1099511627776xf32, #a>"},
        {BLOCKED("[1, 4]", "[4, 8]", "[4, 1]"), "tensor<64x1152921504606846976xf32, #a>"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        char text[8192];
        spad_ttgir_info info;
        write_sum(text, sizeof text, RAW, cases[i].layout, cases[i].type);
        spad_kernel_destroy(read_with(text, &info));
        if (strstr(info.scratch, "1 not counted") == NULL) print_error("%s\n", cases[i].layout);
        assert_non_null(strstr(info.scratch, "1 not counted, the first is \"tt.reduce\""));
    }
}

/* Without its end, whatever number its last token has. */
static void layouts_at_the_end(void **state) {
    (void)state;
    static const char *const cut[] = {
        "#ttg.linear<{register = [[0, 1", "#ttg.linear<{register = [[0, 1]",
        "#ttg.linear<{register = [[0, 1],", "#ttg.slice<{dim = 0, parent = #ttg.linear<{register"};
    for (int fill = 0; fill < 1200; fill++) { /* the list of tokens is full for some of them */
        char head[8192] = "#b =", text[16384];
        spad_ttgir_info info;
        size_t length = strlen(head);
        for (int i = 0; i < fill / 4; i++, length += 2) memcpy(head + length, " x", 2);
        snprintf(head + length, sizeof head - length, "\n%s", RAW);
        write_sum(text, sizeof text, head, cut[fill % 4], ROWS);
        spad_kernel_destroy(read_with(text, &info));
        assert_non_null(strstr(info.scratch, "1 not counted"));
    }
}

/* What blocks of a cluster have of a tensor is not known: it may be of another block. */
static void blocks_that_are_not_known(void **state) {
    (void)state;
    static const struct {
        const char *layout;
        const char *type;
    } cases[] = {
        {"x", "tensor<64x64xf32>"},
        {"x", "f32"},
        {"x", "tensor<64xnothing, #a>"},
        {"#ttg.dot_op<{opIdx = 0, parent = #a}>", ROWS},
        {"#ttg.slice<{dim = 0, parent = #a}>", ROWS},
        {"#ttg.dot_op<{opIdx = 0, parent = #down}>", ROWS},
        {"#ttg.slice<{parent = #down}>", ROWS},
        {"#ttg.slice<{dim = x, parent = #down}>", ROWS},
        {"#ttg.slice<{dim = -1, parent = #down}>", ROWS},
        {"#ttg.slice<{dim = 3, parent = #down}>", ROWS},
        {"#ttg.slice<{dim = 1, parent = #down}>", ROWS},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        char text[8192];
        const test_ttgir_fault fault = {
            text, "'\"tt.reduce\"' moves values between the blocks of the cluster"};
        write_sum(text, sizeof text, OPEN("\"ttg.num-ctas\" = 2 : i32, "), cases[i].layout,
                  cases[i].type);
        test_ttgir_refuse(&fault);
    }
}

/* ---- clusters ------------------------------------------------------------------------- */

#define TWO(attributes) OPEN("\"ttg.num-ctas\" = 2 : i32, " attributes)
#define HALF                                                                              \
    "#half = #ttg.swizzled_shared<{vec = 1, perPhase = 1, maxPhase = 1, order = [1, 0], " \
    "CGALayout = [[1, 0]]}>\n"
#define ONE                                                                                       \
    "#one = #ttg.swizzled_shared<{vec = 1, perPhase = 1, maxPhase = 1, order = [0], CGALayout = " \
    "[[0]]}>\n"
#define OWN                                                                                       \
    "#own = #ttg.swizzled_shared<{vec = 1, perPhase = 1, maxPhase = 1, order = [0], CGALayout = " \
    "[[1]]}>\n"
#define SIDE                                                                                    \
    "#side = #ttg.blocked<{sizePerThread = [1, 4], threadsPerWarp = [4, 8], warpsPerCTA = [4, " \
    "1], order = [1, 0], CGALayout = [[0, 1]]}>\n"
#define TOP                                                                                        \
    "#top = #ttg.blocked<{sizePerThread = [1, 4], threadsPerWarp = [4, 8], warpsPerCTA = [4, 1], " \
    "order = [1, 0], CGALayout = [[1, 0]]}>\n"
#define BARRIER(layout)                                                                   \
    "    %b = ttg.local_alloc : () -> !ttg.memdesc<2xi64, #" layout ", #smem, mutable>\n" \
    "    ttng.init_barrier %b, 1 : !ttg.memdesc<2xi64, #" layout ", #smem, mutable>\n"
#define CROSS(from, to)                                                                           \
    "    %y = ttg.convert_layout %x : tensor<64x64xf32, #" from "> -> tensor<64x64xf32, #" to ">" \
    "\n"

static void blocks_have_their_own_memory(void **state) {
    (void)state;
    spad_ttgir_info info;
    static const test_ttgir_sample samples[] = {
        {HALF TWO("") "    %t = ttg.local_alloc %x : (tensor<128x64xf16>) -> "
                      "!ttg.memdesc<128x64xf16, #half, #smem>\n    ttng.cluster_barrier\n"
                      "    ttng.cluster_arrive {relaxed = false}\n    ttng.cluster_wait\n" CLOSE,
         {"tensor t : shared float16 (64, 64)"}},
        {OWN TWO("\"ttng.two-ctas\" = false, ") BARRIER("own") CLOSE, {"mbarrier b_bar count 1"}},
        {OWN TWO("\"ttng.two-ctas\" = false, ")
             BARRIER("own") "    ttng.init_barrier %b, 1 : i32\n    ttng.init_barrier %b, 1 : "
                            "!ttg.memdesc<2xnone, #one>\n" CLOSE,
         {"mbarrier b_bar count 1"}},
        {TWO("") "    %o = tt.atomic_rmw add, acq_rel, gpu, %p, %K : (!tt.ptr<i32>, i32) -> i32\n"
                 "    tt.atomic_rmw add, acq_rel, gpu, %p, %K : (!tt.ptr<i32>, i32) -> i32\n" CLOSE,
         {"kernel f on sm_90"}},
        {ONE TWO("") BARRIER("one") CLOSE, {"mbarrier b_bar count 1"}}, /* 3.6: one for each */
        {SIDE TWO("") SUM("0", "", "tensor<64x64xf32, #side>") CLOSE, {"uint8 (512)"}},
        {SIDE TWO("") SUM("0", "", "tensor<64xf32, #ttg.slice<{dim = 1, parent = #side}>>") CLOSE,
         {"uint8 (16)"}},
        {SIDE TWO(
             "ttg.shared = 100000 : i32, ") "    %y = ttg.convert_layout %x {allocation.offset = 0 "
                                            ": i32} : tensor<64x64xf32, "
                                            "#side> -> tensor<64x64xf32, #side>\n" CLOSE,
         {"uint8 (8192) at 0"}},
        {SIDE TWO("") "    %m = ttng.tc_gen5 {two_ctas = false, multicast = 0 : i32}\n" CLOSE,
         {NULL}},
    };
    CHECK_SAMPLES(samples);
    spad_kernel *kernel = read_with(samples[0].text, &info);
    assert_int_equal(info.blocks, 2);
    spad_kernel_destroy(kernel);
    static const test_ttgir_fault faults[] = {
        {RAW "    %r = ttng.map_to_remote_buffer %p, %K : i32\n" CLOSE,
         "'ttng.map_to_remote_buffer' is memory of another block of the cluster in a way that is "
         "not known; compile with num_ctas=1"},
        {TWO("") "    ttng.async_tma_gather %p {multicast} : i32\n" CLOSE,
         "'ttng.async_tma_gather' accesses memory of other blocks of the cluster in a way"},
        {TWO("") "    ttng.arrive_barrier %p, 1 {multicastCTA = 1 : i32} : i32\n" CLOSE,
         "a barrier that is not in allocated memory"},
        {SIDE TWO("") CROSS("side", "down") CLOSE, "moves values between the blocks"},
        {SIDE TWO("") SUM("2", "", "tensor<64x64xf32, #side>") CLOSE, "moves values between"},
        {SIDE TWO("") SUM("-1", "", "tensor<64x64xf32, #side>") CLOSE, "moves values between"},
        {SIDE TWO("") SCAN("1", "tensor<64x64xf32, #side>") CLOSE, "moves values between"},
        {SIDE TWO("") "    %z = tt.gather %x[%x] : (tensor<64x64xf32, #side>) -> "
                      "tensor<64x64xf32, #side>\n" CLOSE,
         "'tt.gather' moves values between"},
        {SIDE TWO("") "    %y = ttg.convert_layout %x : tensor<64x64xf32, #side> -> f32\n" CLOSE,
         "moves values between"},
        {SIDE TWO("") "    %y = ttg.convert_layout %x : tensor<64x64xf32, #side> -> "
                      "tensor<64xf32, #ttg.slice<{dim = 0, parent = #side}>>\n" CLOSE,
         "moves values between"},
        {SIDE "#four = #ttg.blocked<{CGALayout = [[0, 1], [0, 2]]}>\n" TWO("") CROSS("side", "four")
             CLOSE,
         "moves values between"},
        {TWO("") "    %o = tt.atomic_cas acq_rel, gpu, %p, %K, %K : (!tt.ptr<i32>, i32, i32) -> "
                 "i32\n    %q = arith.addi %o, %K : i32\n" CLOSE,
         "'tt.atomic_cas' moves values between"},
        {TWO("") "    %o = tt.atomic_rmw add, acq_rel, gpu, %p, %K : (!tt.ptr<i32>, i32) -> i32\n"
                 "    %q = arith.addi %o, %K : i32\n" CLOSE,
         "'tt.atomic_rmw' moves values between"},
    };
    CHECK_FAULTS(faults);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(layouts_that_are_not_known),
        cmocka_unit_test(layouts_at_the_end),
        cmocka_unit_test(blocks_that_are_not_known),
        cmocka_unit_test(blocks_have_their_own_memory),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
