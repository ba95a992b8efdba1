/* SPDX-License-Identifier: Apache-2.0
 *
 * Blocks of a cluster that touch the memory of one another: what each operation becomes, which
 * blocks do it, and what is found where a wait, an arrival or a meeting of the blocks is missing.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "spad/spad.h"
#include "support/files.h"
#include "support/support.h"
#include "support/ttgir.h"

#undef HEAD
#undef CLOSE
#define SHARED_OF(name, rank, cga)                                                                \
    "#" name " = #ttg.swizzled_shared<{vec = 1, perPhase = 1, maxPhase = 1, order = [" rank "], " \
    "CGALayout = " cga "}>\n"
#define OPEN(blocks, chip, pairs, more)                                                 \
    "#smem = #ttg.shared_memory\nmodule attributes {" more "\"ttg.num-ctas\" = " blocks \
    " : i32, \"ttg.num-warps\" = 4 : i32, ttg.target = \"cuda:" chip                    \
    "\", \"ttng.two-ctas\" = " pairs                                                    \
    "} {\n  tt.func public @f(%d: !tt.tensordesc<64x64xf16, #tile>, %p: !tt.ptr<f16>, " \
    "%K: i32, %x: tensor<64x64xf32, #side>) {\n    %c0 = arith.constant 0 : i32\n"      \
    "    %true = arith.constant true\n"
#define CLOSE "    tt.return\n  }\n}\n"
#define TILE "!ttg.memdesc<64x64xf16, #tile, #smem, mutable>"
#define OWN "!ttg.memdesc<2xi64, #own, #smem, mutable>"
#define ONE "!ttg.memdesc<1xi64, #one, #smem, mutable>"
#define ALLOC_TILE "    %s = ttg.local_alloc : () -> " TILE "\n"
#define ALLOC_OWN \
    "    %b = ttg.local_alloc : () -> " OWN "\n    ttng.init_barrier %b, 1 : " OWN "\n"
#define ALLOC_ONE \
    "    %j = ttg.local_alloc : () -> " ONE "\n    ttng.init_barrier %j, 1 : " ONE "\n"
#define LAYOUTS(cga)                                 \
    SHARED_OF("tile", "1, 0", cga)                   \
    SHARED_OF("own", "0", "[[1]]")                   \
    SHARED_OF("one", "0", "[[0]]")                   \
    "#side = #ttg.blocked<{sizePerThread = [1, 4], " \
    "threadsPerWarp = [4, 8], warpsPerCTA = [4, 1]," \
    " order = [1, 0], CGALayout = [[0, 1]]}>\n"      \
    "#top = #ttg.blocked<{sizePerThread = [1, 4], "  \
    "threadsPerWarp = [4, 8], warpsPerCTA = [4, 1]," \
    " order = [1, 0], CGALayout = [[1, 0]]}>\n"
#define TWO LAYOUTS("[[0, 0]]") OPEN("2", "90", "false", "")
#define HALVES LAYOUTS("[[1, 0]]") OPEN("2", "90", "false", "")
#define KNOWN \
    LAYOUTS("[[0, 0]]") OPEN("2", "90", "false", "spad.barriers, ttg.shared = 65536 : i32, ")
#define COPY(attributes)                                                                   \
    "    ttng.async_tma_copy_global_to_local %d[%c0, %c0] %s, %b, %true " attributes " : " \
    "!tt.tensordesc<64x64xf16, #tile>, " OWN " -> " TILE "\n"

/* ---- what operations become ------------------------------------------------------------ */

static void copies_and_arrivals(void **state) {
    (void)state;
    static const test_ttgir_sample samples[] = {
        /* block 0 copies to both; our places are the same in both */
        {TWO ALLOC_TILE ALLOC_OWN "    ttng.barrier_expect %b, 8192, %true : " OWN "\n" COPY(
             "{multicast}") "    ttng.wait_barrier %b, %c0 : " OWN "\n" CLOSE,
         {"cluster 2\n", "tensor s_block1 : shared[1] float16 (64, 64) like s_block0",
          "tma load reads d writes s_block0, s_block1 delivers b_bar[0] by 8192 delivers b_bar[1] "
          "by 8192\n    wait b_bar[0] parity 0\n}\n",
          "    arrive b_bar[1] by 1 expect 8192\n    wait b_bar[1] parity 0\n}\n"}},
        {TWO ALLOC_TILE ALLOC_OWN COPY("{multicast}") CLOSE,
         {"mbarrier b_bar[2] count 1 each block\n", "barrier cluster count 2\n",
          "    init b_bar[0] count 1\n    fence\n    sync cluster by 1\n", "agent block1 of 128"}},
        /* without multicast each has its own */
        {HALVES ALLOC_TILE ALLOC_OWN ALLOC_ONE COPY("") CLOSE,
         {"tma load reads d writes s_block0 delivers b_bar[0]\n",
          "tma load reads d writes s_block1 delivers b_bar[1]\n"}},
        /* one mbarrier for both: block 0 initialises and waits, both arrive */
        {TWO ALLOC_ONE "    ttng.arrive_barrier %j, 1 : " ONE
                       "\n    ttng.wait_barrier %j, %c0 : " ONE "\n    ttng.inval_barrier %j : " ONE
                       "\n" CLOSE,
         {"    init j_bar[0] count 2\n",
          "    arrive j_bar[0] by 1\n    wait j_bar[0] parity 0\n    invalidate j_bar[0]\n}\n",
          "    sync cluster by 1\n    arrive j_bar[0] by 1\n}\n"}},
        /* block 0 for all; and each for all */
        {TWO ALLOC_OWN "    ttng.arrive_barrier %b, 2 {fromCTA = 0 : i32} : " OWN "\n" CLOSE,
         {"    arrive b_bar[0] by 2\n    arrive b_bar[1] by 2\n}\n", "    sync cluster by 1\n}\n"}},
        {TWO ALLOC_OWN "    ttng.barrier_expect %b, 64 {fromCTA = 0 : i32}, %true : " OWN
                       "\n" CLOSE,
         {"    arrive b_bar[0] by 1 expect 64\n    arrive b_bar[1] by 1 expect 64\n}\n"}},
        {TWO ALLOC_OWN "    ttng.arrive_barrier %b, 1 {multicastCTA = 1 : i32} : " OWN "\n" CLOSE,
         {"    arrive b_bar[0] by 1\n    arrive b_bar[1] by 1\n}\nagent block1",
          "block1 of 128 threads {\n    init b_bar[1] count 1\n    fence\n    sync cluster by 1\n"
          "    arrive b_bar[0] by 1\n    arrive b_bar[1] by 1\n}\n"}},
        /* what data decides, all blocks decide alike */
        {TWO ALLOC_OWN
         "    %v = tt.load %p : !tt.ptr<i1>\n    scf.if %v {\n      ttng.arrive_barrier "
         "%b, 1 {multicastCTA = 1 : i32} : " OWN "\n    }\n" CLOSE,
         {"each block\nunknown v in 0..2 = [1]\nagent block0",
          "block1 of 128 threads {\n    init b_bar[1] count 1\n    fence\n    sync cluster by 1\n  "
          "  "
          "if v != 0 {\n"}},
        {TWO ALLOC_OWN "    ttng.arrive_barrier %b, 1 {fromCTA = 1 : i32} : " OWN "\n" CLOSE,
         {"    arrive b_bar[0] by 1\n}\n", "    arrive b_bar[1] by 1\n}\n"}},
        /* at no other block */
        {TWO ALLOC_OWN
         "    ttng.arrive_barrier %b, 1 {multicastCTA = 0 : i32, fromCTA = 1 : i32} : " OWN
         "\n" CLOSE,
         {"    arrive b_bar[0] by 1\n}\n", "    arrive b_bar[1] by 1\n}\n"}},
    };
    CHECK_SAMPLES(samples);
}

static void blocks_meet(void **state) {
    (void)state;
    static const test_ttgir_sample samples[] = {
        /* in a loop, and with operations of other dialects before it */
        {TWO ALLOC_TILE ALLOC_OWN "    a.b %K\n    tt.assert %true\n"
                                  "    scf.for %i = %c0 to %K step %K : i32 {\n"
                                  "      ttng.cluster_barrier\n    }\n" COPY("{multicast}") CLOSE,
         {"    sync cluster by 1\n    for ", "        sync cluster by 1\n    }\n    tma load"}},
        /* a relaxed meeting orders mbarriers that a fence has released */
        {KNOWN ALLOC_TILE ALLOC_OWN "    ttng.fence_mbarrier_init_release_cluster\n"
                                    "    ttng.cluster_barrier {relaxed = true}\n" COPY(
                                        "{multicast}") "    ttng.cluster_barrier\n" CLOSE,
         {"    sync meet[0] by 1\n    sync cluster by 1\n    tma load",
          "    sync cluster by 1\n    free s_block0\n    invalidate b_bar[0]\n}\n",
          "    sync cluster by 1\n    free s_block1\n    invalidate b_bar[1]\n}\n"}},
        {KNOWN ALLOC_TILE ALLOC_OWN
         "    ttng.cluster_barrier {relaxed = true}\n" COPY("{multicast}") CLOSE,
         {"    sync meet[0] by 1\n    tma load"}},
        /* values that go from block to block */
        {KNOWN
         "    %y = ttg.convert_layout %x {allocation.offset = 0 : i32, allocation.size = 256 : "
         "i32} : tensor<64x64xf32, #side> -> tensor<64x64xf32, #top>\n" CLOSE,
         {"simt convert_y writes y_scratch_block0(0..256)",
          "    sync meet[0] by 1\n    sync cluster by 1\n    simt convert_y reads "
          "y_scratch_block0(0..256) spread unknown, y_scratch_block1(0..256) spread unknown\n",
          "free y_scratch_block1\n"}},
        {KNOWN
         "    %s = \"tt.reduce\"(%x) <{axis = 1 : i32}> ({\n    ^bb0(%u: f32, %v: f32):\n      "
         "tt.reduce.return %u : f32\n    }) {allocation.offset = 0 : i32, allocation.size = "
         "16 : i32} : (tensor<64x64xf32, #side>) -> f32\n" CLOSE,
         {"    sync cluster by 1\n    simt reduce_s reads s_scratch_block0(0..16) spread all, "
          "s_scratch_block1(0..16) spread all\n"}},
        /* without a size nothing is known of it */
        {TWO "    %y = ttg.convert_layout %x : tensor<64x64xf32, #side> -> tensor<64x64xf32, "
             "#top>\n" CLOSE,
         {"agent block1"}},
        /* stores that nothing waits for: the check reports them, and asks for no end of their bytes
         */
        {KNOWN ALLOC_TILE ALLOC_OWN COPY(
             "{multicast}") "    ttng.async_tma_copy_local_to_global %d[%c0, %c0] %s : "
                            "!tt.tensordesc<64x64xf16, "
                            "#tile>, " TILE "\n" CLOSE,
         {"    commit stores\n    invalidate b_bar[0]\n}\n"}},
    };
    CHECK_SAMPLES(samples);
}

#define TMEM(blocks, pairs)                                                                    \
    "#tmem = #ttng.tensor_memory_encoding<blockM = 64, blockN = 64, colStride = 1, CGALayout " \
    "= " blocks ", twoCTAs = " pairs ">\n"
#define ACC "!ttg.memdesc<128x64xf32, #tmem, #ttng.tensor_memory, mutable>"
#define PRODUCT(attributes)                                    \
    "    %a = ttng.tmem_alloc : () -> " ACC                    \
    "\n    %q = ttng.tc_gen5_mma %s, %s, %a[], %true, %true, " \
    "%b[%true] {" attributes "} : " TILE ", " TILE ", " ACC ", " OWN "\n"

static void products_of_pairs(void **state) {
    (void)state;
    static const test_ttgir_sample samples[] = {
        {TMEM("[[1, 0]]", "true") LAYOUTS("[[1, 0]]") OPEN("2", "100", "true", "")
             ALLOC_TILE ALLOC_OWN PRODUCT(
                 "is_async, two_ctas") "    ttng.tc_gen5_commit %b, %true : " OWN "\n" CLOSE,
         {"tensor a_block1 : tmem[1] float32 (64, 64) like a_block0\n",
          "    tc5 dot_q reads s_block0, s_block1, s_block0, s_block1 updates a_block0, a_block1\n"
          "    arrive b_bar[0] by 1 on tc5\n    arrive b_bar[1] by 1 on tc5\n"
          "    arrive b_bar[0] by 1 on tc5\n    arrive b_bar[1] by 1 on tc5\n}\n",
          "    sync cluster by 1\n}\n"}},
        /* beyond the pair: one arrival for all of them */
        {TMEM("[[1, 0], [2, 0]]", "true") SHARED_OF("tile", "1, 0", "[[1, 0], [0, 0]]")
             SHARED_OF("own", "0", "[[1], [2]]") "#side = #ttg.blocked<{order = [1, 0]}>\n" OPEN(
                 "4", "100", "true", "")
                 ALLOC_TILE ALLOC_OWN PRODUCT(
                     "is_async, multicast, two_ctas") "    ttng.tc_gen5_commit %b descs %s : " OWN
                                                      ", " TILE "\n" CLOSE,
         {"    drain tc5\n    tc5 commit arrives b_bar[0] arrives b_bar[1] arrives b_bar[2] "
          "arrives "
          "b_bar[3] cost 0 cycles",
          "agent block3 of 128 threads {\n    init b_bar[3] count 1\n    fence\n    sync cluster "
          "by "
          "1\n}\n",
          "    tc5 dot_q reads s_block2, s_block3, s_block2, s_block3 updates a_block2, "
          "a_block3\n"}},
        /* scales go to the memory of both */
        {TMEM("[[1, 0]]", "true") LAYOUTS("[[1, 0]]") OPEN("2", "100", "true", "")
             ALLOC_TILE ALLOC_OWN "    %a = ttng.tmem_alloc : () -> " ACC
                                  "\n    ttng.tmem_copy %s, %a, %b : " TILE ", " ACC ", " OWN
                                  "\n" CLOSE,
         {"    tc5 copy reads s_block0, s_block1 writes a_block0, a_block1\n"
          "    arrive b_bar[0] by 1 on tc5\n    arrive b_bar[1] by 1 on tc5\n}\n"}},
        /* each block for itself, with an arrival at both */
        {TMEM("[[1, 0]]", "false") LAYOUTS("[[0, 0]]") OPEN("2", "100", "false", "")
             ALLOC_TILE ALLOC_OWN PRODUCT("is_async, multicast") CLOSE,
         {"    tc5 dot_q reads s_block0, s_block0 updates a_block0\n    drain tc5\n    tc5 commit "
          "arrives b_bar[0] arrives b_bar[1] cost 0 cycles",
          "    tc5 dot_q reads s_block1, s_block1 updates a_block1\n"}},
    };
    CHECK_SAMPLES(samples);
}

#define PART_OF(from, shape)                                                       \
    "    %y = ttg.memdesc_subslice %s[" from "] : " TILE " -> !ttg.memdesc<" shape \
    "xf16, #tile, #smem, mutable, 64x64>\n    ttg.local_store %x, %y : i32\n"

/* A block has its part of the rows of a tile, and all of their columns. */
static void parts_of_tiles(void **state) {
    (void)state;
    static const test_ttgir_sample samples[] = {
        {HALVES ALLOC_TILE ALLOC_ONE PART_OF("0, 32", "64x32") CLOSE,
         {"simt store writes s_block0(.., 32..64)\n", "simt store writes s_block1(.., 32..64)\n"}},
        {HALVES ALLOC_TILE ALLOC_ONE PART_OF("0, 0", "64x64") CLOSE,
         {"simt store writes s_block0\n"}},
    };
    static const test_ttgir_fault faults[] = {
        {HALVES ALLOC_TILE ALLOC_ONE PART_OF("32, 0", "32x64") CLOSE,
         "a part of a dimension that the blocks of the cluster divide"},
        {HALVES ALLOC_TILE ALLOC_ONE PART_OF("0, 0", "32x64") CLOSE,
         "a part of a dimension that the blocks of the cluster divide"},
    };
    CHECK_SAMPLES(samples);
    CHECK_FAULTS(faults);
}

#define ANSWER "!ttg.memdesc<2xi64, #one, #smem, mutable>"
#define ROUND                                                                                   \
    "      %r = ttg.local_alloc : () -> " ANSWER "\n      ttng.clc_try_cancel %r, %b : " ANSWER \
    ", " OWN "\n      ttng.wait_barrier %b, %c0 : " OWN                                         \
    "\n      %l = ttng.clc_load_result %r : " ANSWER                                            \
    " -> i128\n      %m = ttng.clc_is_canceled %l : i128 -> i1\n      %n = "                    \
    "ttng.clc_get_program_id %l, x : i128 -> i32\n"

/* Block 0 asks, and the answer is in all of them; how often is data. */
static void work_that_is_handed_out(void **state) {
    (void)state;
    static const test_ttgir_sample samples[] = {
        {TWO ALLOC_OWN
         "    %w = scf.while (%h = %true) : (i1) -> i1 {\n      scf.condition(%h) %h : "
         "i1\n    } do {\n    ^bb0(%g: i1):\n" ROUND "      scf.yield %m : i1\n    }\n" CLOSE,
         {"param trips = 3 any\n",
          "tma try_cancel writes r_block0, r_block1 delivers b_bar[0] by 16 delivers b_bar[1] by "
          "16",
          "simt load_l reads r_block1\n"}},
    };
    CHECK_SAMPLES(samples);
    static const test_ttgir_fault faults[] = {
        {TWO ALLOC_OWN "    ttng.clc_try_cancel %p, %b : i32, " OWN "\n" CLOSE, "not known"},
        {TWO ALLOC_OWN "    ttng.clc_try_cancel %b, %p : " OWN ", i32\n" CLOSE, "not known"},
    };
    CHECK_FAULTS(faults);
    /* what has no expression is run, for as many tiles as are given */
    static const char text[] = TWO ALLOC_OWN
        "    %w:2 = scf.while (%h = %true, %o = %K) : (i1, i32) -> (i1, i32) {\n"
        "      scf.condition(%h) %h, %o : i1, i32\n    } do {\n    ^bb0(%g: i1, %e: "
        "i32):\n" ROUND "      %z = arith.muli %e, %e : i32\n      %k = arith.remsi %z, "
        "%e : i32\n      ttng.wait_barrier %b, %k : " OWN
        "\n      scf.yield %m, %z : i1, i32\n    }\n" CLOSE;
    const spad_define sizes[] = {{"K", 1}, {"clc_tiles", 2}};
    const spad_kernel_options options = {.defines = sizes, .define_count = 2};
    spad_kernel *kernel;
    spad_ttgir_info info;
    spad_error error;
    assert_ok(
        spad_kernel_read_ttgir(&kernel, &info, text, strlen(text), "k", &options, NULL, &error),
        &error);
    assert_true(info.together && info.unrolled);
    assert_string_equal(info.approximated, "cluster launch control hands out 2 tiles (clc_tiles)");
    spad_kernel_destroy(kernel);
}

#define COLUMNS "!ttg.memdesc<64x32xf16, #tile, #smem, mutable>"
#define ROWS "!ttg.memdesc<32x64xf16, #tile, #smem, mutable>"
#define STORED(value, type) "    ttg.local_store %p, " value " : " type "\n"

/* Parts of memory of which each block has half of the rows. */
static void parts_of_halves(void **state) {
    (void)state;
    static const test_ttgir_sample samples[] = {
        {HALVES ALLOC_TILE "    %h = ttg.memdesc_subslice %s[0, 32] : " TILE " -> " COLUMNS
                           "\n" STORED("%h", COLUMNS) CLOSE,
         {"tensor s : shared float16 (32, 64)", "simt store writes s(.., 32..64)\n"}},
        {HALVES ALLOC_TILE "    %h = ttg.memdesc_reinterpret %s : " TILE " -> " TILE
                           "\n    %k = ttg.memdesc_subslice %h[0, 0] : " TILE " -> " COLUMNS
                           "\n" STORED("%k", COLUMNS) CLOSE,
         {"simt store writes s(.., 0..32)\n"}},
        /* a ring of them, all of which are other bytes too */
        {HALVES
         "    %s = ttg.local_alloc : () -> !ttg.memdesc<3x64x64xf16, #tile, #smem, mutable>\n"
         "    %h = ttg.memdesc_reinterpret %s : i32 -> !ttg.memdesc<3x64x32xf32, #tile, "
         "#smem, mutable>\n" STORED("%h", "i32") CLOSE,
         {"tensor s : shared float16 [3] (32, 64)", "simt store writes s[0], s[1], s[2]\n"}},
    };
    CHECK_SAMPLES(samples);
    static const test_ttgir_fault faults[] = {
        {HALVES ALLOC_TILE "    %h = ttg.memdesc_subslice %s[32, 0] : " TILE " -> " ROWS "\n" CLOSE,
         "a part of a dimension that the blocks of the cluster divide"},
        {HALVES ALLOC_TILE "    scf.for %i = %c0 to %K step %K : i32 {\n"
                           "    %h = ttg.memdesc_subslice %s[0, 0] : " TILE " -> " ROWS
                           "\n    }\n" CLOSE,
         "a part of a dimension that the blocks of the cluster divide"},
    };
    CHECK_FAULTS(faults);
}

static void what_is_refused(void **state) {
    (void)state;
    static const test_ttgir_fault faults[] = {
        {TWO ALLOC_OWN
         "    ttng.arrive_barrier %b, 1 {multicastCTA = 1 : i32} : " OWN
         "\n    ttg.warp_specialize(%K)\n    default {\n      ttg.warp_yield\n    }\n"
         "    partition0(%n: i32) num_warps(4) {\n      scf.for %i = %n to %n step %n : i32 {\n"
         "        ttng.cluster_barrier\n      }\n      ttg.warp_return\n    } : (i32) -> "
         "()\n" CLOSE,
         "blocks of a cluster meet in a partition of warps"},
        {TWO ALLOC_OWN
         "    ttng.arrive_barrier %b, 1 {multicastCTA = 1 : i32} : " OWN
         "\n    ttg.warp_specialize() attributes {requestedRegisters = array<i32: 24>}\n"
         "    default {\n      ttg.warp_yield\n    }\n    partition0() num_warps(4) {\n      "
         "ttng.cluster_barrier\n      ttg.warp_return\n    } : () -> ()\n" CLOSE,
         "blocks of a cluster meet in a partition of warps"},
        {TWO ALLOC_OWN "    ttng.arrive_barrier %b, 1 {two_ctas} : " OWN "\n" CLOSE,
         "'ttng.arrive_barrier' accesses memory of other blocks of the cluster in a way that is "
         "not "
         "known; compile with num_ctas=1"},
        {LAYOUTS("[[0, 0]]") OPEN("32", "90", "false", "") ALLOC_TILE ALLOC_OWN COPY("{multicast}")
             CLOSE,
         "'ttng.async_tma_copy_global_to_local' accesses memory of other blocks"},
        /* one mbarrier for all, without a word of it at the arrival */
        {LAYOUTS("[[0, 0]]") OPEN("32", "90", "false", "") ALLOC_ONE
         "    ttng.arrive_barrier %j, 1 : " ONE "\n    ttng.wait_barrier %j, %c0 : " ONE "\n" CLOSE,
         "'ttng.init_barrier' has an mbarrier of several blocks of a cluster of more than 16, and "
         "works in a way that is not known; compile with num_ctas=1"},
        {LAYOUTS("[[0, 0]]") OPEN("3", "90", "false", "") ALLOC_OWN CLOSE,
         "a cluster of 3 blocks, which is no power of 2"},
        {TWO ALLOC_OWN "    ttng.async_shared_store %x, %b, %b : i32\n" CLOSE,
         "'ttng.async_shared_store' is not known"},
    };
    CHECK_FAULTS(faults);
}

/* ---- what is found -------------------------------------------------------------------- */

/* A line of a recorded kernel that is left out, and what the check says: r: reported; h: no error.
 */
typedef struct recorded {
    const char *file;
    const char *op;
    const char *without;
} recorded;

static const recorded lines[] = {
    /* the copy of block 0 comes after the wait of both; the last meeting: block 0 arrives there */
    {"gluon_multicast_cluster2_sm90_s2_v39_placed", "ttng.wait_barrier", "rr"},
    {"gluon_multicast_cluster2_sm90_s2_v39_placed", "ttng.arrive_barrier", "r"},
    {"gluon_multicast_cluster2_sm90_s2_v39_placed", "ttng.cluster_barrier", "rr"},
    {"gluon_multicast_cluster2_sm90_s2_v39_placed", "ttng.fence_mbarrier_init", "r"},
    /* the last meeting: the wait for `done` comes after all that the other block does */
    {"gluon_pair_ws_cluster2_sm100_s2_v39_placed", "ttng.wait_barrier", "rrr"},
    {"gluon_pair_ws_cluster2_sm100_s2_v39_placed", "ttng.cluster_barrier", "rh"},
    {"gluon_pair_ws_cluster2_sm100_s2_v39_placed", "ttng.fence_mbarrier_init", "r"},
    {"gluon_pair_ws_cluster2_sm100_s2_v39_placed", "ttng.tc_gen5_commit", "r"},
    {"gluon_pair_ws_cluster2_sm100_s2_v39_placed", "ttng.barrier_expect", "r"},
    {"gluon_pair_ws_cluster4_sm100_s2_v39_placed", "ttng.wait_barrier", "rrr"},
    {"gluon_softmax_cluster2_sm90_v39_placed", "ttng.cluster_barrier", "rr"},
    {"gluon_gathered_cluster2_sm90_v39_placed", "ttng.cluster_barrier", "rr"},
    {"gluon_gathered_cluster2_sm90_v39_placed", "ttng.arrive_barrier", "r"},
};

static bool is_wrong(const char *text, size_t length) {
    const spad_define sizes[] = {{"tiles", 4}};
    const spad_kernel_options options = {.defines = sizes,
                                         .define_count = strstr(text, "%tiles: i32") ? 1U : 0U};
    const spad_check_options how = {.one_shape = true, .no_advice = true};
    spad_kernel *kernel;
    spad_check *check;
    spad_error error;
    assert_ok(spad_kernel_read_ttgir(&kernel, NULL, text, length, "k", &options, NULL, &error),
              &error);
    assert_ok(spad_check_create(&check, kernel, &how, &error), &error);
    const bool wrong = spad_check_get_verdict(check) == SPAD_VERDICT_WRONG;
    spad_check_destroy(check);
    spad_kernel_destroy(kernel);
    return wrong;
}

static void each_line_is_missed(void **state) {
    (void)state;
    for (size_t i = 0; i < sizeof lines / sizeof *lines; i++) {
        char path[128], found[16] = "";
        snprintf(path, sizeof path, "tests/ttgir/%s.ttgir", lines[i].file);
        char *text = test_read_file(path);
        if (i == 0 || strcmp(lines[i].file, lines[i - 1].file) != 0) {
            assert_false(is_wrong(text, strlen(text)));
        }
        size_t count = 0;
        for (char *at = text; (at = strstr(at, lines[i].op)) != NULL;) {
            char *end = strchr(at, '\n');
            const size_t length = (size_t)(end - at);
            char *kept = malloc(length);
            assert_non_null(kept);
            memcpy(kept, at, length);
            memset(at, ' ', length);
            found[count++] = is_wrong(text, strlen(text)) ? 'r' : 'h';
            memcpy(at, kept, length);
            free(kept);
            at = end;
        }
        if (strcmp(found, lines[i].without) != 0)
            print_error("%s: %s\n", lines[i].file, lines[i].op);
        assert_string_equal(found, lines[i].without);
        free(text);
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(copies_and_arrivals), cmocka_unit_test(blocks_meet),
        cmocka_unit_test(products_of_pairs),   cmocka_unit_test(work_that_is_handed_out),
        cmocka_unit_test(parts_of_halves),     cmocka_unit_test(what_is_refused),
        cmocka_unit_test(each_line_is_missed), cmocka_unit_test(parts_of_tiles),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
