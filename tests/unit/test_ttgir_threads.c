/* SPDX-License-Identifier: Apache-2.0
 *
 * Barriers between the warps of a partition, where the text has them: which warps access which
 * bytes by their layouts, which operations let warps meet, and what is reported of recorded kernels
 * in which one barrier at a time is missing.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "support/files.h"
#include "ttgir_fixture.h"

#define MET OPEN("ttg.shared = 65536 : i32, spad.barriers, ")
#define MORE                                                                                      \
    "#wide = #ttg.blocked<{sizePerThread = [1, 4], threadsPerWarp = [8, 4], warpsPerCTA = [1, "   \
    "4], order = [1, 0]}>\n"                                                                      \
    "#other = #ttg.blocked<{sizePerThread = [4, 1], threadsPerWarp = [8, 4], warpsPerCTA = [2, "  \
    "2], order = [0, 1]}>\n"                                                                      \
    "#turned = #ttg.blocked<{sizePerThread = [4, 1], threadsPerWarp = [8, 4], warpsPerCTA = [1, " \
    "4], order = [0, 1]}>\n"                                                                      \
    "#same = #ttg.linear<{register = [[0, 1], [0, 2], [0, 32], [16, 0], [32, 0]], lane = [[0, "   \
    "4], [0, 8], [0, 16], [1, 0], [2, 0]], warp = [[4, 0], [8, 0]], block = []}>\n"               \
    "#mixed = #ttg.linear<{register = [[0, 1], [0, 2], [0, 32], [16, 0], [48, 0]], lane = [[0, "  \
    "4], [0, 8], [0, 16], [1, 0], [2, 0]], warp = [[4, 1], [8, 0]], block = []}>\n"               \
    "#short = #ttg.linear<{register = [[0, 1]], lane = [[0, 2], [0, 4], [0, 8], [0, 16], [0, "    \
    "32]], warp = [[4, 0], [8, 0]], block = []}>\n"                                               \
    "#two = #ttg.blocked<{sizePerThread = [1, 4], threadsPerWarp = [4, 8], warpsPerCTA = [2, "    \
    "1], order = [1, 0]}>\n"                                                                      \
    "#tile = #ttg.swizzled_shared<{vec = 1, perPhase = 1, maxPhase = 1, order = [1, 0]}>\n"
#define M "!ttg.memdesc<64x64xf32, #tile, #smem, mutable>"
#define H "!ttg.memdesc<64x32xf32, #tile, #smem, mutable>"
#define T(layout) "tensor<64x64xf32, " layout ">"
#define ALLOC "    %t = ttg.local_alloc {allocation.offset = 0 : i32} : () -> " M "\n"
#define STORE(layout) "    ttg.local_store %x, %t : " T(layout) " -> " M "\n"
#define LOAD(layout) "    %l = ttg.local_load %t : " M " -> " T(layout) "\n"
#define HALF                                                                                    \
    "    %h = ttg.memdesc_subslice %t[0, 32] : " M " -> " H "\n    %k = ttg.local_load %h : " H \
    " -> tensor<64x32xf32, "
#define PAIR(first, second) MORE MET ALLOC STORE(first) LOAD(second) CLOSE

static void layouts_say_which_warp_has_what(void **state) {
    (void)state;
    static const test_ttgir_sample samples[] = {
        /* the same warps, by other threads and in other registers */
        {PAIR("#down", "#down"), {"store writes t spread map1", "load_l reads t spread map1"}},
        {PAIR("#down", "#same"), {"writes t spread map1", "reads t spread map1"}},
        {PAIR("#same", "#mixed"), {"writes t spread map1", "reads t spread map1"}},
        {PAIR("#down", "#wide"), {"writes t spread map1", "reads t spread map2"}},
        {PAIR("#down", "#other"), {"writes t spread map1", "reads t spread map2"}},
        {PAIR("#down", "#short"), {"writes t spread map1", "reads t spread map1"}},
        /* tiles of products: rows of 16 by one warp after another */
        {PAIR("#mma", "#mma"), {"writes t spread map1", "reads t spread map1"}},
        {PAIR("#mma", "#mma2"), {"writes t spread map1", "reads t spread map2"}},
        /* operands: two warps have the same rows, or columns */
        {PAIR("#down", "#ttg.dot_op<{opIdx = 0, parent = #mma2, kWidth = 2}>"),
         {"writes t spread map1", "reads t spread all"}},
        {PAIR("#down", "#ttg.dot_op<{opIdx = 1, parent = #mma2, kWidth = 2}>"),
         {"writes t spread map1", "reads t spread all"}},
        {PAIR("#down", "#ttg.dot_op<{opIdx = 0, parent = #mma, kWidth = 2}>"),
         {"writes t spread map1", "reads t spread map2"}},
        /* where they also write the same, each has what it reads */
        {PAIR("#ttg.dot_op<{opIdx = 1, parent = #mma2, kWidth = 2}>",
              "#ttg.dot_op<{opIdx = 1, parent = #mma2, kWidth = 2}>"),
         {"writes t spread unknown", "reads t spread unknown"}},
        /* not known: other layouts, for other numbers of warps, parts */
        {PAIR("#none", "#odd"), {"writes t spread unknown", "reads t spread unknown"}},
        {PAIR("#two", "#ring"), {"writes t spread unknown", "reads t spread unknown"}},
        {PAIR("#down", "#ttg.dot_op<{opIdx = 0, parent = #down, kWidth = 2}>"), {"spread unknown"}},
        {PAIR("#down", "#ttg.dot_op<{opIdx = 7, parent = #mma, kWidth = 2}>"), {"spread unknown"}},
        {MORE MET ALLOC STORE("#down") HALF "#down>\n" CLOSE,
         {"load_k reads t(.., 32..64) spread unknown"}},
        {MORE MET ALLOC STORE("#down") HALF
         "#ttg.dot_op<{opIdx = 0, parent = #mma2, kWidth = 2}>>\n" CLOSE,
         {"load_k reads t(.., 32..64) spread all"}},
        /* a view of it that is turned has the turned layout */
        {MORE MET ALLOC STORE(
             "#down") "    %u = ttg.memdesc_trans %t {order = array<i32: 1, 0>} : " M " -> " M
                      "\n    %l = ttg.local_load %u : " M " -> " T("#turned") "\n" CLOSE,
         {"writes t spread map1", "reads t spread map1"}},
        {MORE MET ALLOC STORE(
             "#down") "    %u = ttg.memdesc_trans %t {order = array<i32: 1, 0>} : " M " -> " M
                      "\n    %l = ttg.local_load %u : " M " -> " T("#down") "\n" CLOSE,
         {"writes t spread map1", "reads t spread map2"}},
        /* slices: the rows of one column, which all warps have, or of one row */
        {MORE MET "    %t = ttg.local_alloc {allocation.offset = 0 : i32} : () -> " TILE "\n"
                  "    ttg.local_store %x, %t : tensor<256xf32, #ttg.slice<{dim = 1, parent = "
                  "#down}>> -> " TILE "\n    %l = ttg.local_load %t : " TILE
                  " -> tensor<256xf32, #ttg.slice<{dim = 0, parent = #down}>>\n" CLOSE,
         {"writes t spread map1", "reads t spread all"}},
        {MORE MET "    %t = ttg.local_alloc {allocation.offset = 0 : i32} : () -> " TILE "\n"
                  "    ttg.local_store %x, %t : tensor<256xf32, #ttg.slice<{dim = 1, parent = "
                  "#same}>> -> " TILE "\n    %l = ttg.local_load %t : " TILE
                  " -> tensor<256xf32, #ttg.slice<{dim = 1, parent = #ring}>>\n" CLOSE,
         {"writes t spread map1", "reads t spread unknown"}},
    };
    CHECK_SAMPLES(samples);
}

#define MMA_OF(words) "#ttg.nvidia_mma<{" words "}>"
#define MMA2(words) MMA_OF("versionMajor = 2, versionMinor = 0, " words)
#define BLOCKED(size, lanes, warps, order)                                                     \
    "#ttg.blocked<{sizePerThread = " size ", threadsPerWarp = " lanes ", warpsPerCTA = " warps \
    ", order = " order "}>"
#define LINEAR(registers, lanes, warps) \
    "#ttg.linear<{register = " registers ", lane = " lanes ", warp = " warps ", block = []}>"
#define OPERAND(words) "#ttg.dot_op<{" words "}>"

/* Which warp has what is not known where a layout cannot be read, or is no layout. */
static void layouts_of_which_nothing_is_known(void **state) {
    (void)state;
    static const char *const layouts[] = {
        BLOCKED("4", "[4, 8]", "[4, 1]", "[1, 0]"),
        BLOCKED("[1, 4]", "[32]", "[4, 1]", "[1, 0]"),
        BLOCKED("[1, 4]", "[4, 8]", "[4]", "[1, 0]"),
        BLOCKED("[1, 4]", "[4, 8]", "[4, 1]", "[0]"),
        /* no order of two dimensions */
        BLOCKED("[1, 4]", "[4, 8]", "[4, 1]", "[0, 2]"),
        BLOCKED("[1, 4]", "[4, 8]", "[4, 1]", "[0, 0]"),
        /* no powers of two, and more than there are */
        BLOCKED("[1, 4]", "[4, 8]", "[3, 1]", "[1, 0]"),
        BLOCKED("[3, 4]", "[4, 8]", "[4, 1]", "[1, 0]"),
        BLOCKED("[65536, 4]", "[4, 8]", "[4, 1]", "[1, 0]"),
        BLOCKED("[1, 4]", "[65536, 8]", "[4, 1]", "[1, 0]"),
        BLOCKED("[1, 4]", "[4, 8]", "[128, 1]", "[1, 0]"),
        BLOCKED("[1, 4]", "[4, 8]", "[64, 2]", "[1, 0]"),
        MMA_OF("warpsPerCTA = [4, 1], instrShape = [16, 8]"),
        MMA_OF("versionMajor = x, warpsPerCTA = [4, 1], instrShape = [16, 8]"),
        MMA_OF("versionMajor = 1, warpsPerCTA = [4, 1], instrShape = [16, 8]"),
        MMA_OF("versionMajor = 5, warpsPerCTA = [4, 1], instrShape = [16, 8]"),
        MMA2("warpsPerCTA = [4], instrShape = [16, 8]"),
        MMA2("warpsPerCTA = [4, 1], instrShape = [16]"),
        MMA2("warpsPerCTA = [4, 1], instrShape = [4294967296, 8]"),
        LINEAR("4", "[]", "[]"),
        LINEAR("[[0, 1]]", "4", "[]"),
        LINEAR("[[0, 1]]", "[]", "4"),
        LINEAR("[[0, 1]]", "[]", "[[1, 0], [2, 0], [4, 0], [8, 0], [16, 0], [32, 0], [0, 2]]"),
        LINEAR("[[0, -1]]", "[]", "[[1, 0], [2, 0]]"),
        OPERAND("opIdx = 0"),
        OPERAND("parent = #mma2"),
        OPERAND("opIdx = x, parent = #mma2"),
        OPERAND("opIdx = -1, parent = #mma2"),
        OPERAND("opIdx = 1, parent = " MMA2("warpsPerCTA = [4, 1]")),
        "#ttg.slice<{dim = 0}>",
        "#ttg.slice<{parent = #down}>",
        "#ttg.slice<{dim = x, parent = #down}>",
        "#ttg.slice<{dim = -1, parent = #down}>",
        "#ttg.slice<{dim = 3, parent = #down}>",
    };
    for (size_t i = 0; i < sizeof layouts / sizeof *layouts; i++) {
        test_text text;
        test_text_init(&text);
        test_text_put(&text, "#a = %s\n%s", layouts[i], MORE);
        test_text_put(&text, "%s", MET ALLOC STORE("#down") LOAD("#a") CLOSE);
        const test_ttgir_sample sample = {text.bytes, {"load_l reads t spread unknown\n"}};
        test_ttgir_read(&sample);
        test_text_free(&text);
    }
}

#define WHOLE(shape, layout)                                                                      \
    MORE MET "    %t = ttg.local_alloc {allocation.offset = 0 : i32} : () -> !ttg.memdesc<" shape \
             "xi8, #tile, #smem, mutable>\n    %l = ttg.local_load %t : !ttg.memdesc<" shape      \
             "xi8, #tile, #smem, mutable> -> tensor<" shape "xi8, " layout ">\n" CLOSE

static void layouts_of_other_sizes(void **state) {
    (void)state;
    static const test_ttgir_sample samples[] = {
        /* rows that are sums of others: the same elements of a warp */
        {PAIR("#same", LINEAR("[[0, 1], [0, 3], [0, 32], [16, 0], [48, 0]]",
                              "[[0, 4], [0, 12], [0, 16], [1, 0], [3, 0]]", "[[4, 0], [8, 0]]")),
         {"writes t spread map1", "reads t spread map1"}},
        {PAIR("#same", LINEAR("[[0, 3], [0, 2], [0, 32], [48, 0], [16, 0]]",
                              "[[0, 12], [0, 8], [0, 16], [3, 0], [2, 0]]", "[[4, 3], [8, 0]]")),
         {"writes t spread map1", "reads t spread map1"}},
        /* slices that are written out, one in another */
        {MORE MET
         "    %t = ttg.local_alloc {allocation.offset = 0 : i32} : () -> " TILE "\n"
         "    %l = ttg.local_load %t : " TILE
         " -> tensor<256xf32, #ttg.slice<{dim = 1, parent = #ttg.slice<{dim = 1, parent = "
         "#ttg.blocked<{sizePerThread = [1, 1, 4], threadsPerWarp = [4, 1, 8], warpsPerCTA "
         "= [4, 1, 1], order = [2, 1, 0]}>}>}>>\n" CLOSE,
         {"reads t spread map1"}},
        /* more elements than are looked at, and a number of them that is no power of two */
        {WHOLE("131072x131072", "#down"), {"reads t spread unknown"}},
        {WHOLE("48x64", "#down"), {"reads t spread unknown"}},
    };
    CHECK_SAMPLES(samples);
}

#define EIGHT                                                                                     \
    "#scales = #ttng.tensor_memory_scales_encoding<>\n#half = #ttg.blocked<{sizePerThread = [1, " \
    "4], "                                                                                        \
    "threadsPerWarp = [32, 1], warpsPerCTA = [4, 2], order = [1, 0]}>\nmodule attributes "        \
    "{\"ttg.num-warps\" = 8 : i32, ttg.shared = 4096 : i32, spad.barriers, ttg.target = "         \
    "\"cuda:100\"} {\n  tt.func public @f(%p: i32) {\n"
#define S8 "!ttg.memdesc<128x4xi8, #scales, #ttng.tensor_memory, mutable>"
/* Scales are kept several times: which warp has which of their bytes is not known. */
static void scales_of_eight_warps(void **state) {
    (void)state;
    static const test_ttgir_sample samples[] = {
        {EIGHT "    %a = ttng.tmem_alloc : () -> " S8 "\n    ttng.tmem_store %p, %a, %p : "
               "tensor<128x8xi8, #half> -> " S8 "\n" CLOSE,
         {"writes a spread unknown\n"}},
    };
    CHECK_SAMPLES(samples);
}

/* Accesses whose type says nothing, or something else than the memory. */
static void types_that_do_not_say_it(void **state) {
    (void)state;
    static const test_ttgir_sample samples[] = {
        {MORE MET ALLOC STORE("#down") "    %l = ttg.local_load %t : " M " -> f32\n" CLOSE,
         {"load_l reads t spread unknown"}},
        {MORE MET ALLOC STORE("#down") "    %l = ttg.local_load %t : " M
                                       " -> tensor<4xnone>\n" CLOSE,
         {"load_l reads t spread unknown"}},
        {MORE MET ALLOC STORE("#down") "    %l = ttg.local_load %t : " M
                                       " -> tensor<1024xf32, #row>\n" CLOSE,
         {"load_l reads t spread unknown"}},
        {MORE MET ALLOC STORE("#down") "    %l = ttg.local_load %t : " M
                                       " -> tensor<64x32xf32, #down>\n" CLOSE,
         {"load_l reads t spread unknown"}},
        /* a tile in another shape, and in an order that is no permutation */
        {MORE MET ALLOC STORE("#down") "    %u = ttg.memdesc_reshape %t : " M
                                       " -> !ttg.memdesc<64x64xi32, #tile, #smem, mutable>\n"
                                       "    %l = ttg.local_load %u : " M
                                       " -> " T("#down") "\n" CLOSE,
         {"load_l reads t spread unknown"}},
        {MORE MET ALLOC STORE(
             "#down") "    %u = ttg.memdesc_trans %t {order = array<i32: 0, 0>} : " M " -> " M
                      "\n    %l = ttg.local_load %u : " M " -> " T("#down") "\n" CLOSE,
         {"load_l reads t spread unknown"}},
        /* a row of it, with the type of all of it */
        {MORE MET ALLOC STORE(
             "#down") "    %n = arith.constant 3 : i32\n    %u = ttg.memdesc_index %t[%n] : " M
                      " -> " M "\n    %l = ttg.local_load %u : " M " -> " T("#down") "\n" CLOSE,
         {"spread unknown"}},
        /* copies by pointers whose type is not there */
        {MORE MET ALLOC "    %k = ttg.async_copy_global_to_local %p, %t : i32\n" CLOSE,
         {"writes t spread unknown"}},
        /* conversions and sums without a tensor, or with one that is not known */
        {MORE MET "    %s = ttg.convert_layout %x {allocation.offset = 0 : i32, allocation.size = "
                  "64 : i32} : f32 -> " T("#down") "\n" CLOSE,
         {"writes s_scratch spread unknown\nsync meet by 1\nsimt convert_s reads s_scratch spread "
          "unknown"}},
        {MORE MET "    %s = ttg.convert_layout %x {allocation.offset = 0 : i32, allocation.size = "
                  "64 : i32} : " T("#down") " -> tensor<64x64xnone, #down>\n" CLOSE,
         {"convert_s reads s_scratch spread unknown"}},
    };
    CHECK_SAMPLES(samples);
}

#define SUMS(axis, bytes)                                                                    \
    "    %s = \"tt.reduce\"(%x) <{axis = " axis " : i32}> ({\n    ^bb0(%a: f32, %b: f32):\n" \
    "      %c = arith.addf %a, %b : f32\n      tt.reduce.return %c : f32\n    }) "           \
    "{allocation.offset = 0 : i32, allocation.size = " bytes                                 \
    " : i32} : (" T("#down") ") -> tensor<64xf32, #ttg.slice<{dim = " axis ", parent = #down}>>\n"
#define PART_SUM(attributes, type)                                                             \
    "    %s = \"tt.reduce\"(%x) <{" attributes "}> ({\n    ^bb0(%a: f32, %b: f32):\n"          \
    "      tt.reduce.return %a : f32\n    }) {allocation.offset = 0 : i32, allocation.size = " \
    "512 : i32} : (" type ") -> tensor<64xf32, #row>\n"
#define SCANNED                                                                           \
    "    %s = \"tt.scan\"(%x) <{axis = 0 : i32, reverse = false}> ({\n    ^bb0(%a: f32, " \
    "%b: f32):\n      tt.scan.return %a : f32\n    }) {allocation.offset = 0 : i32, "     \
    "allocation.size = 512 : i32} : (" T("#down") ") -> " T("#down") "\n"
#define MEETS "sync meet by 1\n"
static void operations_let_warps_meet(void **state) {
    (void)state;
    static const test_ttgir_sample samples[] = {
        {MORE MET ALLOC STORE("#down") "    ttg.barrier local\n" LOAD("#wide") CLOSE,
         {"barrier meet count 1", "writes t spread map1\n" MEETS "simt load_l"}},
        {MORE MET ALLOC STORE("#down") "    gpu.barrier\n" LOAD("#wide") CLOSE,
         {"writes t spread map1\n" MEETS}},
        {MORE MET ALLOC STORE("#down") "    ttg.barrier all\n" LOAD("#wide") CLOSE,
         {"writes t spread map1\n" MEETS}},
        {MORE MET ALLOC STORE("#down") "    ttg.barrier global_read\n" LOAD("#wide") CLOSE,
         {"writes t spread map1\nsimt load_l"}},
        /* scratch memory */
        {MORE MET SUM("0", " {allocation.offset = 0 : i32, allocation.size = 16 : i32}",
                      "tensor<1024xf32, #row>") CLOSE,
         {"writes s_scratch spread unknown\n" MEETS "simt reduce_s reads s_scratch spread all"}},
        {MORE MET "    %s = ttg.convert_layout %x {allocation.offset = 0 : i32, allocation.size = "
                  "16384 : i32} : " T("#down") " -> " T("#wide") "\n" CLOSE,
         {"writes s_scratch spread map1\n" MEETS "simt convert_s reads s_scratch spread map2"}},
        {MORE MET "    %s = ttg.convert_layout %x {allocation.offset = 0 : i32, allocation.size = "
                  "16384 : i32} : " T("#down") " -> " T("#same") "\n" CLOSE,
         {"writes s_scratch spread map1\nsimt convert_s reads s_scratch spread map1"}},
        {MORE MET "    %s = ttg.convert_layout %x {allocation.offset = 0 : i32, allocation.size = "
                  "16384 : i32} : " T("#none") " -> " T("#same") "\n" CLOSE,
         {"writes s_scratch spread unknown\n" MEETS "simt convert_s reads s_scratch spread "
          "unknown"}},
        {MORE MET "    %s = ttg.convert_layout %x {allocation.offset = 0 : i32, allocation.size = "
                  "16384 : i32} : " T("#down") " -> " T(
                      "#ttg.dot_op<{opIdx = 0, parent = #mma2, kWidth = 2}>") "\n" CLOSE,
         {"writes s_scratch spread map1\n" MEETS "simt convert_s reads s_scratch spread all"}},
        {MORE MET
         "    ttng.tensormap_create %p, %p, [%K], [%K], [], [%K] {allocation.offset = 0 : "
         "i32, allocation.size = 128 : i32, elem_type = 3 : i32} : (!tt.ptr<i8>, !tt.ptr<i8>, i32, "
         "i32, i32) -> ()\n" CLOSE,
         {"spread one\nsimt tensormap reads tensormap_scratch spread one"}},
        /* the first element of a reduction to a tensor is in all warps along the axis, and what the
         * warps of a scan hand on is read by all; where one warp has all of the axis nothing is
         * known of the others */
        {MORE MET SUMS("0", "512") CLOSE,
         {"writes s_scratch spread unknown\n" MEETS
          "simt reduce_s reads s_scratch(0..4) spread all, s_scratch(4..512) spread unknown"}},
        {MORE MET SUMS("0", "4") CLOSE, {"simt reduce_s reads s_scratch spread all"}},
        {MORE MET SUMS("1", "512") CLOSE, {"simt reduce_s reads s_scratch spread unknown"}},
        {MORE MET SUMS("2", "512") CLOSE, {"simt reduce_s reads s_scratch spread unknown"}},
        {MORE MET PART_SUM("axis = 0 : i32", "f32") CLOSE, {"reads s_scratch spread unknown"}},
        {MORE MET PART_SUM("axis = 0 : i32", "tensor<64x64xnone, #down>") CLOSE,
         {"reads s_scratch spread unknown"}},
        {MORE MET PART_SUM("axes = 0 : i32", T("#down")) CLOSE, {"reads s_scratch spread unknown"}},
        {MORE MET PART_SUM("axis = -1 : i32", T("#down")) CLOSE,
         {"reads s_scratch spread unknown"}},
        {MORE MET PART_SUM("axis = 0 : i32", T("#none")) CLOSE, {"reads s_scratch spread unknown"}},
        {MORE MET SCANNED CLOSE,
         {"writes s_scratch spread unknown\n" MEETS "simt scan_s reads s_scratch spread all"}},
        /* atomic operations, by their order and by whether they hand a result to all */
        {MORE MET "    %o = tt.atomic_rmw add, acq_rel, gpu, %p, %K {allocation.offset = 0 : i32, "
                  "allocation.size = 4 : i32} : (!tt.ptr<i32>, i32) -> i32\n"
                  "    %q = arith.addi %o, %K : i32\n" CLOSE,
         {MEETS "tensor o_scratch",
          "writes o_scratch spread unknown\n" MEETS "simt atomic_o reads o_scratch spread all"}},
        {MORE MET ALLOC STORE("#down") "    %o = tt.atomic_rmw add, acquire, gpu, %p, %K : "
                                       "(!tt.ptr<i32>, i32) -> i32\n" LOAD("#wide") CLOSE,
         {"writes t spread map1\n" MEETS "simt load_l"}},
        {MORE MET ALLOC STORE("#down") "    %o = tt.atomic_rmw add, release, gpu, %p, %K : "
                                       "(!tt.ptr<i32>, i32) -> i32\n" LOAD("#wide") CLOSE,
         {"writes t spread map1\n" MEETS "simt load_l"}},
        {MORE MET ALLOC STORE("#down") "    %o = tt.atomic_rmw add, relaxed, gpu, %p, %K : "
                                       "(!tt.ptr<i32>, i32) -> i32\n" LOAD("#wide") CLOSE,
         {"writes t spread map1\nsimt load_l"}},
        /* an arrival that has no barrier of its own, as with 3.6: one thread arrives for itself */
        {MORE MET
         "    %m = ttg.local_alloc {allocation.offset = 0 : i32} : () -> "
         "!ttg.memdesc<1xi64, #flat, #smem, mutable>\n"
         "    ttng.init_barrier %m, 1 : !ttg.memdesc<1xi64, #flat, #smem, mutable>\n"
         "    ttng.arrive_barrier %m, 1 : !ttg.memdesc<1xi64, #flat, #smem, mutable>\n" CLOSE,
         {"mbarrier m_bar count 1 at 0\n", "fence\n" MEETS "arrive m_bar by 1\n"}},
        {MORE MET "    %m = ttg.local_alloc {allocation.offset = 0 : i32} : () -> "
                  "!ttg.memdesc<1xi64, #flat, #smem, mutable>\n"
                  "    ttng.init_barrier %m, 1 : !ttg.memdesc<1xi64, #flat, #smem, mutable>\n"
                  "    ttng.arrive_barrier %m, 1 {spad.alone} : !ttg.memdesc<1xi64, #flat, #smem, "
                  "mutable>\n" CLOSE,
         {"fence\narrive m_bar by 1 elected\n"}},
        /* what data decides: they meet in both cases, or perhaps not at all */
        {MORE MET "    %d = tt.load %p : !tt.ptr<i1>\n" ALLOC STORE(
             "#down") "    scf.if %d {\n      ttg.barrier local\n    } else {\n      ttg.barrier "
                      "local\n    }\n" LOAD("#wide") CLOSE,
         {"writes t spread map1\n" MEETS "simt load_l"}},
        {MORE MET "    %d = tt.load %p : !tt.ptr<i1>\n" ALLOC STORE(
             "#down") "    scf.if %d {\n      ttg.barrier local\n    }\n" LOAD("#wide") CLOSE,
         {"writes t spread map1\nsimt load_l"}},
        {MORE MET ALLOC STORE("#down") "    scf.for %i = %K to %K step %K : i32 {\n"
                                       "      ttg.barrier local\n    }\n" LOAD("#wide") CLOSE,
         {"writes t spread map1\nsimt load_l"}},
    };
    CHECK_SAMPLES(samples);
}

/* Without addresses, or without barriers, nothing is stated. */
static void barriers_are_for_addresses(void **state) {
    (void)state;
    static const struct {
        const char *text;
        bool barriers;
    } texts[] = {
        {MORE MET ALLOC STORE("#down") LOAD("#wide") CLOSE, true},
        {MORE PLACED ALLOC STORE("#down") "    ttg.barrier local\n" LOAD("#wide") CLOSE, true},
        {MORE PLACED ALLOC STORE("#down") LOAD("#wide") CLOSE, false},
        {MORE PLACED ALLOC STORE("#down") "    gpu.barrier\n" LOAD("#wide") CLOSE, false},
        {MORE PLACED ALLOC STORE("#down") "    ttg.barrier global_read\n" LOAD("#wide") CLOSE,
         false},
        {MORE RAW ALLOC STORE("#down") "    ttg.barrier local\n" LOAD("#wide") CLOSE, false},
    };
    for (size_t i = 0; i < sizeof texts / sizeof texts[0]; i++) {
        spad_ttgir_info info;
        test_text out;
        spad_kernel *kernel = read_with(texts[i].text, &info);
        assert_true(info.barriers == texts[i].barriers);
        test_text_init(&out);
        assert_int_equal(spad_kernel_write_text(kernel, &out.sink, NULL), SPAD_OK);
        assert_true((strstr(out.bytes, "spread") != NULL) == texts[i].barriers);
        assert_true((strstr(out.bytes, "sync") != NULL) == (i == 1));
        test_text_free(&out);
        spad_kernel_destroy(kernel);
    }
}

/* ---- recorded kernels ------------------------------------------------------------------ */

/* What is said when each barrier in turn is missing: r: reported; h: nothing changes. */
typedef struct recorded {
    const char *file;
    spad_define sizes[3];
    size_t size_count;
    const char *without;
} recorded;

static const recorded kernels[] = {
    /* 3: the last wait of copies, before the end */
    {"softmax_sm80_s3_v39_placed", {{"rows", 512}}, 1, "rrh"},
    {"layer_norm_sm80_v39_placed", {{"N", 4096}}, 1, "r"},
    {"calls_sm90_v39_placed", {{"N", 4096}, {"rows", 3}}, 2, "r"},
    /* 2: another barrier comes after the same wait */
    {"matmul_sm80_s2_v39_placed", {{"K", 320}}, 1, "rhrrr"},
    {"matmul_sm90_s1_w8_v39_placed", {{"K", 320}}, 1, "r"},
    /* the thread that expects bytes issues the copy; each warp waits for products of its group;
     * nothing comes after the last one */
    {"matmul_tma_sm90_s1_v39_placed", {{"K", 320}}, 1, "hhrhrhrh"},
    {"persistent_sm90_s2_v39_placed", {{"M", 512}, {"N", 512}, {"K", 320}}, 3, "hhhhhhrrh"},
    {"matmul_tma_cluster2_sm90_s3_v39_placed", {{"K", 320}}, 1, "hhhhhhhhr"},
    /* 2, 3: in a partition of one warp; 5: nothing comes after it */
    {"matmul_tma_ws_sm100_s2_v39_placed", {{"K", 320}}, 1, "rhhrh"},
    /* a reduction to a tensor, and a scan, whose result several warps read, before other scratch
     * memory has its bytes */
    {"along_sm90_v39_placed", {{"N", 64}}, 0, "r"},
    {"scratch_sm90_v39_placed", {{"N", 64}}, 0, "rr"},
    /* 5, 10: the product has a barrier of its own; 9, 12: each warp has its lanes of tensor memory,
     * which it loads and stores itself; 14: nothing comes after it */
    {"attention_sm100_s1_v39_placed", {{"N", 256}}, 1, "hrhrhrhrhhrhrh"},
};

/* The verdict, with what was said of a missing barrier. */
static spad_verdict judge(const char *text, size_t length, const recorded *r, int *missing) {
    const spad_kernel_options options = {.defines = r->sizes, .define_count = r->size_count};
    const spad_check_options how = {.one_shape = true, .no_advice = true};
    spad_kernel *kernel;
    spad_check *check;
    spad_error error;
    assert_ok(spad_kernel_read_ttgir(&kernel, NULL, text, length, "k", &options, NULL, &error),
              &error);
    assert_ok(spad_check_create(&check, kernel, &how, &error), &error);
    *missing = 0;
    for (size_t i = 0; i < spad_check_finding_count(check); i++) {
        *missing += spad_check_get_finding(check, i)->code == SPAD_FINDING_MISSING_SYNC;
    }
    const spad_verdict verdict = spad_check_get_verdict(check);
    spad_check_destroy(check);
    spad_kernel_destroy(kernel);
    return verdict;
}

/* Keeps it a text of which the barriers are known, without any of them too. */
static char *mark(const char *text, size_t *length) {
    static const char word[] = "spad.barriers, ";
    const char *at = strstr(text, "module attributes {");
    assert_non_null(at);
    const size_t before = (size_t)(at - text) + sizeof "module attributes {" - 1;
    char *out = malloc(*length + sizeof word);
    assert_non_null(out);
    memcpy(out, text, before);
    memcpy(out + before, word, sizeof word - 1);
    memcpy(out + before + sizeof word - 1, text + before, *length - before + 1);
    *length += sizeof word - 1;
    return out;
}

static void each_barrier_is_missed(void **state) {
    (void)state;
    for (size_t k = 0; k < sizeof kernels / sizeof kernels[0]; k++) {
        const recorded *r = &kernels[k];
        char path[512];
        int missing;
        snprintf(path, sizeof path, "tests/ttgir/%s.ttgir", r->file);
        char *file = test_read_file(path);
        size_t length = strlen(file);
        char *text = mark(file, &length);
        assert_int_equal(judge(text, length, r, &missing), SPAD_VERDICT_PROVED_SHAPE);
        size_t number = 0;
        for (char *at = text; (at = strstr(at, "ttg.barrier local")) != NULL; number++) {
            char *end = strchr(at, '\n');
            char line[256];
            const size_t width = (size_t)(end - at);
            assert_true(width < sizeof line);
            memcpy(line, at, width);
            memset(at, ' ', width);
            const spad_verdict verdict = judge(text, length, r, &missing);
            const char said = missing > 0 && verdict == SPAD_VERDICT_WRONG           ? 'r'
                              : missing == 0 && verdict == SPAD_VERDICT_PROVED_SHAPE ? 'h'
                                                                                     : '?';
            if (number >= strlen(r->without) || said != r->without[number]) {
                print_error("%s, barrier %zu: %c\n", r->file, number + 1, said);
            }
            assert_true(number < strlen(r->without) && said == r->without[number]);
            memcpy(at, line, width);
            at = end;
        }
        assert_int_equal(number, strlen(r->without));
        free(text);
        free(file);
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(layouts_say_which_warp_has_what),
        cmocka_unit_test(layouts_of_which_nothing_is_known),
        cmocka_unit_test(layouts_of_other_sizes),
        cmocka_unit_test(types_that_do_not_say_it),
        cmocka_unit_test(scales_of_eight_warps),
        cmocka_unit_test(operations_let_warps_meet),
        cmocka_unit_test(barriers_are_for_addresses),
        cmocka_unit_test(each_barrier_is_missed),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
