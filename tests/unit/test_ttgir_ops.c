/* SPDX-License-Identifier: Apache-2.0
 *
 * What single operations of TTGIR become: statements of the kernel, for those that the recorded
 * kernels do not have, in the pretty and in the generic form.
 */
#include <stdio.h>
#include <string.h>

#include "frontend/gpu/scalar.h"
#include "spad/spad.h"
#include "support/support.h"

#define HEAD(chip)                                                                                 \
    "#shared = #ttg.nvmma_shared<{swizzlingByteWidth = 64, transposed = false, elementBitWidth = " \
    "16}>\n"                                                                                       \
    "#plain = #ttg.nvmma_shared<{swizzlingByteWidth = 0, transposed = false, elementBitWidth = "   \
    "16}>\n"                                                                                       \
    "#bar = #ttg.swizzled_shared<{vec = 1, perPhase = 1, maxPhase = 1, order = [0]}>\n"            \
    "#tmem = #ttng.tensor_memory_encoding<blockM = 128, blockN = 64, colStride = 1>\n"             \
    "#smem = #ttg.shared_memory\n#loc = loc(\"a.py\":7:0)\n#loc1 = loc(\"user\"(#loc))\n"          \
    "#loc2 = loc(callsite(#loc at #loc3))\n#loc3 = loc(\"b.py\":9:0)\n"                            \
    "#loc4 = loc(fused[#loc1, #loc3])\n"                                                           \
    "module attributes {\"ttg.num-ctas\" = 1 : i32, \"ttg.num-warps\" = 8 : i32, "                 \
    "ttg.shared = 5000 : i32, ttg.tensor_memory_size = 64 : i32, ttg.target = \"cuda:" chip        \
    "\"} {\n  tt.func public @f(%p: !tt.ptr<f16>, %d: !tt.tensordesc<64x64xf16, #shared>, %K: "    \
    "i32, %c: i1) {\n    %c0 = arith.constant 0 : i32\n    %c1 = arith.constant 1 : i32\n"         \
    "    %c2 = arith.constant 2 : i32\n    %c3 = arith.constant 3 : i32\n"                         \
    "    %true = arith.constant true\n    %false = arith.constant false\n"
#define CLOSE "    tt.return\n  }\n}\n"
#define S2 "!ttg.memdesc<64x64xf16, #shared, #smem, mutable>"
#define S3 "!ttg.memdesc<3x64x64xf16, #shared, #smem, mutable>"
#define B1 "!ttg.memdesc<1xi64, #bar, #smem, mutable>"
#define T2 "!ttg.memdesc<128x64xf32, #tmem, #ttng.tensor_memory, mutable>"
#define ALLOC_S "    %x = ttg.local_alloc : () -> " S2 "\n"
#define ALLOC_R "    %x = ttg.local_alloc : () -> " S3 "\n"
#define ALLOC_B "    %b = ttg.local_alloc : () -> " B1 "\n    ttng.init_barrier %b, 2 : " B1 "\n"
#define ALLOC_T "    %t = ttng.tmem_alloc : () -> " T2 "\n"

typedef struct sample {
    const char *text;
    const char *wanted[5];
} sample;

static void read_sample(const sample *s) {
    spad_kernel *kernel;
    spad_error error;
    test_text shown;
    spad_diagnostics *faults;
    const spad_sink out = spad_sink_file(stderr);
    test_text_init(&shown);
    assert_ok(spad_diagnostics_create(&faults, NULL, &error), &error);
    const spad_status status =
        spad_kernel_read_ttgir(&kernel, NULL, s->text, strlen(s->text), "k", NULL, faults, &error);
    if (status == SPAD_ERR_SYNTAX) spad_diagnostics_write(faults, SPAD_FORMAT_TEXT, &out, NULL);
    assert_ok(status, &error);
    assert_ok(spad_kernel_write_text(kernel, &shown.sink, &error), &error);
    for (size_t i = 0; i < 5 && s->wanted[i] != NULL; i++) {
        if (strstr(shown.bytes, s->wanted[i]) == NULL) {
            print_error("no '%s' in\n%s", s->wanted[i], shown.bytes);
        }
        assert_non_null(strstr(shown.bytes, s->wanted[i]));
    }
    spad_kernel_destroy(kernel);
    spad_diagnostics_destroy(faults);
    test_text_free(&shown);
}

#define CHECK_SAMPLES(list) \
    for (size_t i = 0; i < sizeof(list) / sizeof *(list); i++) read_sample(&(list)[i])

static void views(void **state) {
    (void)state;
    static const sample list[] = {
        {HEAD("90") ALLOC_S "    %y = ttg.memdesc_subslice %x[0, 32] : " S2
                            " -> !ttg.memdesc<64x32xf16, #shared, #smem, mutable>\n"
                            "    %z = ttg.memdesc_trans %y {order = array<i32: 1, 0>} : " S2
                            " -> " S2 "\n    %w = ttg.memdesc_subslice %z[16, 8] : " S2
                            " -> !ttg.memdesc<16x8xf16, #shared, #smem, mutable>\n"
                            "    ttg.local_store %p, %w : " S2 "\n    ttg.local_load %y : " S2
                            " -> tensor<64x32xf16>\n" CLOSE,
         {"tensor x : shared float16 (64, 64) align 512\n", "simt store writes x(8..16, 48..64)",
          "simt load reads x(.., 32..64)"}},
        {HEAD("90") ALLOC_R "    %r = ttg.memdesc_reinterpret %x : " S3 " -> " S3
                            "\n    %s = ttg.memdesc_reshape %r : " S3 " -> " S3
                            "\n    ttg.local_scatter %s[%p], %p : " S3
                            "\n    %g = ttg.local_gather %s[%p] : " S3 " -> tensor<4xf16>\n" CLOSE,
         {"simt scatter may writes x[0], x[1], x[2]", "simt load_g reads x[0], x[1], x[2]"}},
        {HEAD(
             "90") "    %x = ttg.local_alloc : () -> !ttg.memdesc<4x32xf32, #bar, #smem, mutable>\n"
                   "    %r = ttg.memdesc_index %x[%c2] : " S2 " -> " S2
                   "\n    ttg.local_store %p, %r : " S2 "\n" CLOSE,
         {"tensor x : shared float32 [4] (32)", "writes x[2]"}},
        {HEAD("90") "    %x = ttg.local_alloc : () -> !ttg.memdesc<4x32xf32, #plain, #smem>\n"
                    "    %r = ttg.memdesc_index %x[%c2] : " S2 " -> " S2
                    "\n    ttg.local_store %p, %r : " S2 "\n" CLOSE,
         {"tensor x : shared float32 (4, 32) align 128\n", "writes x(2..3, ..)"}},
        {HEAD("90") "    %x = ttg.local_alloc %p {allocation.offset = 256 : i32} : "
                    "(tensor<64x64xf16>) -> " S2 " loc(#loc1)\n" CLOSE,
         {"tensor user : shared float16 (64, 64) at 256 align 512 from 0\n",
          "source 0 \"a.py\" 7\n", "simt store_user writes user from 0\n"}},
        {HEAD("90") "    %x = ttg.local_alloc %p : (tensor<64x64xf16>) -> " S2
                    " loc(#loc2)\n" CLOSE,
         {"source 0 \"b.py\" 9\n", "source 1 \"a.py\" 7 from 0\n", "writes x from 1\n"}},
        {HEAD("90") "    %x = ttg.local_alloc %p : (tensor<64x64xf16>) -> " S2
                    " loc(#loc4)\n" CLOSE,
         {"tensor user : shared"}},
        {HEAD("90") "    %x = ttg.local_alloc %p : (tensor<64x64xf16>) -> " S2
                    " loc(unknown)\n" CLOSE,
         {"tensor x : shared"}},
        {HEAD("90") "    %x = \"ttg.local_alloc\"(%p) <{\"allocation.offset\" = 64 : i32}> : "
                    "(tensor<64x64xf16>) -> " S2 "\n" CLOSE,
         {"tensor x : shared float16 (64, 64) at 64"}},
    };
    CHECK_SAMPLES(list);
}

static void barriers_and_copies(void **state) {
    (void)state;
    static const sample list[] = {
        {HEAD("90") ALLOC_B "    ttng.arrive_barrier %b, 2, %true : " B1
                            "\n    ttng.wait_barrier %b, %c0, %true deps %b : " B1 "\n"
                            "    ttng.inval_barrier %b : " B1 "\n" CLOSE,
         {"mbarrier b_bar count 2\n", "init b_bar count 2\nfence\n", "arrive b_bar by 2\n",
          "wait b_bar parity 0\n", "invalidate b_bar\n"}},
        {HEAD("90") ALLOC_S ALLOC_B
         "    ttg.async_copy_global_to_local %p, %x : tensor<64x64x!tt.ptr<f16>> -> "
         "<64x64xf16>\n    ttng.async_copy_mbarrier_arrive %b {noIncrement} : " B1 "\n" CLOSE,
         {"cp load reads p writes x in loads\n", "arrive b_bar by 1 on cp\n"}},
        {HEAD("90") ALLOC_S ALLOC_B "    ttng.arrive_barrier %b, 1, %false : " B1
                                    "\n    ttng.barrier_expect %b, 64, %false : " B1
                                    "\n    ttng.wait_barrier %b, %c0, %false : " B1
                                    "\n    ttng.tc_gen5_commit %b, %false : " B1
                                    "\n    ttng.async_tma_gather %d[%p, %c0] %x, %b, %true : i32\n"
                                    "    ttng.async_tma_scatter %d[%p, %c0] %x : i32\n"
                                    "    ttng.async_tma_reduce add, %d[%c0, %c0] %x : i32\n"
                                    "    ttng.async_tma_store_wait {pendings = 1 : i32}\n" CLOSE,
         {"tma load reads d writes x delivers b_bar\n", "tma store reads x adds d in stores\n",
          "tma reduce reads x adds d in stores\n", "wait stores pending 1 reads\n"}},
        {HEAD("90") ALLOC_S "    %r = ttng.warp_group_dot %x, %x, %p {isAsync = false} : " S2
                            " * " S2 " -> tensor<64x64xf32>\n" CLOSE,
         {"wgmma dot_r reads x, x writes r_r in mmas\ncommit mmas\nwait mmas pending 0\n"}},
        {HEAD("90") ALLOC_S
         "    %r = ttng.warp_group_dot %p, %x, %p {isAsync = true} : tensor<64x64xf16> * " S2
         " -> tensor<640x640xf32>\n" CLOSE,
         {"wgmma dot_r reads x, r_r in mmas\n"}},
    };
    CHECK_SAMPLES(list);
}

static void tensor_memory(void **state) {
    (void)state;
    static const sample list[] = {
        {HEAD("100") ALLOC_S ALLOC_B ALLOC_T
         "    ttng.tc_gen5_mma %x, %x, %t[], %false, %true : i32\n"
         "    ttng.tc_gen5_mma %x, %x, %t[%p], %true, %true, %b[%true], %b[%false] : i32\n"
         "    %u = ttng.tmem_subslice %t {N = 32 : i32} : " T2
         " -> !ttg.memdesc<128x32xf32, #tmem, #ttng.tensor_memory>\n"
         "    %v = ttng.tmem_load %u : " T2 " -> tensor<128x32xf32>\n"
         "    ttng.tmem_store %p, %u, %true : i32\n    ttng.tmem_store %p, %u, %false : "
         "i32\n" CLOSE,
         {"tensor t : tmem float32 (128, 64)\n", "tc5 dot reads x, x writes t\n",
          "tc5 dot reads x, x updates t\narrive b_bar by 1 on tc5\n",
          "simt load_v reads t(.., 32..64)\n", "simt store writes t(.., 32..64)\n"}},
        {HEAD("100") ALLOC_S ALLOC_B ALLOC_T
         "    %sa = ttng.tmem_alloc %p : (i32) -> !ttg.memdesc<128x4xi8, #tmem, "
         "#ttng.tensor_memory>\n"
         "    ttng.tmem_copy %x, %sa, %b : i32\n    ttng.tmem_copy %x, %sa : i32\n"
         "    ttng.tc_gen5_mma_scaled %x, %x, %t, %sa, %sa, %true, %true lhs = e4m3 rhs = e4m3, "
         "%b[%true] {is_async} : i32\n"
         "    ttng.tc_gen5_commit %b : i32\n    ttng.fence_async_shared {bCluster = false}\n" CLOSE,
         {"simt store_sa writes sa\n", "tc5 copy reads x writes sa\narrive b_bar by 1 on tc5\n",
          "tc5 dot reads x, x, sa, sa updates t\narrive b_bar by 1 on tc5\n", "fence shared\n"}},
        {HEAD("100") "    %t = ttng.tmem_alloc : () -> !ttg.memdesc<2x128x64xf32, #tmem, "
                     "#ttng.tensor_memory, mutable>\n    %u = ttg.memdesc_index %t[%c1] : i32\n"
                     "    ttng.tmem_store %p, %u, %true : i32\n" CLOSE,
         {"tensor t : tmem float32 [2] (128, 64)\n", "writes t[1]\n"}},
    };
    CHECK_SAMPLES(list);
}

#define STORE(stage)                                             \
    "      %y = ttg.memdesc_index %x[" stage "] : " S3 " -> " S2 \
    "\n      ttg.local_store %p, %y : " S2 "\n"
#define LOOP "    scf.for %i = %c0 to %K step %c1  : i32 {\n"

static void numbers(void **state) {
    (void)state;
    static const sample list[] = {
        {HEAD("90") ALLOC_R LOOP
         "      %a = arith.andi %i, %c1 : i32\n      %b = arith.shli %a, %c1 : i32\n"
         "      %e = arith.minsi %b, %c2 : i32\n      %f = arith.maxsi %e, %c0 : i32\n" STORE(
             "%f") "    }\n" CLOSE,
         {"param K_tiles = 4096\n", "writes x[min(i % 2 * 2, 2)]"}},
        {HEAD("90") ALLOC_R LOOP
         "      %a = arith.shrsi %i, %c1 : i32\n      %b = arith.remui %a, %c3 : i32\n"
         "      %e = arith.extsi %b : i32 to i64\n      %f = arith.trunci %e : i64 to i32\n"
         "      %g = arith.index_cast %f : i32 to index\n" STORE("%g") "    }\n" CLOSE,
         {"writes x[i / 2 % 3]"}},
        {HEAD("90") ALLOC_R LOOP
         "      %a = arith.cmpi ne, %i, %c2 : i32\n      %b = arith.cmpi ugt, %i, %c1 : i32\n"
         "      %e = arith.andi %a, %b : i1\n      scf.if %e {\n" STORE(
             "%c0") "      } else {\n" STORE("%c1") "      }\n    }\n" CLOSE,
         {"    if i != 2 and 1 < i {\n        simt store writes x[0]\n    } else {\n        "
          "simt store writes x[1]\n    }\n"}},
        {HEAD("90") ALLOC_R LOOP
         "      %a = arith.cmpi ule, %i, %c2 : i32\n      %b = arith.cmpi uge, %i, %c3 : i32\n"
         "      %e = arith.ori %a, %b : i1\n      scf.if %e {\n" STORE(
             "%c0") "      }\n    }\n" CLOSE,
         {"    if i <= 2 or 3 <= i {\n"}},
        {HEAD("90") ALLOC_R LOOP
         "      %a = arith.cmpi slt, %i, %c2 : i32\n      %b = arith.xori %a, %true : i1\n"
         "      %e = arith.cmpi eq, %i, %c3 : i32\n      %g = arith.select %a, %e, %b : i1\n"
         "      scf.if %g {\n" STORE("%c0") "      }\n    }\n" CLOSE,
         {"    if i < 2 and i == 3 or i >= 2 and i >= 2 {\n"}},
        {HEAD("90") ALLOC_R LOOP
         "      %a = arith.cmpi slt, %i, %c2 : i32\n"
         "      %r = scf.if %a -> (i32) {\n        scf.yield %c1 : i32\n      } else {\n"
         "        scf.yield %c0 : i32\n      }\n      %q = arith.cmpi eq, %r, %c1 : i32\n"
         "      scf.if %a {\n      }\n    }\n    %n = arith.ceildivsi %K, %c3 : i32\n"
         "    scf.for %j = %c1 to %n step %c2  : i32 {\n" STORE("%c0") "    }\n" CLOSE,
         {"param K_tiles = 683\n"}},
        {HEAD("90") ALLOC_R "    %n = arith.floordivsi %K, %c2 : i32\n    scf.if %true {\n" STORE(
             "%c2") "    }\n    scf.if %false {\n" STORE("%c1") "    }\n" CLOSE,
         {"simt store writes x[2]\n"}},
        {HEAD("90") ALLOC_R
         "    %r = scf.for %i = %c0 to %K step %c1 iter_args(%a = %c0) -> (i32)  : i32 {\n"
         "      scf.for %j = %c0 to %i step %c1  : i32 {\n" STORE(
             "%a") "      }\n      %n = arith.xori %a, %c1 : i32\n      scf.yield %n : i32\n"
                   "    }\n    %y = ttg.memdesc_index %x[%r] : i32\n    ttg.local_store %p, %y : "
                   "i32\n" CLOSE,
         {"for i in 0..K_tiles {\n    for i_2 in 0..i {\n        simt store writes x[i % "
          "2]\n",
          "writes x[K_tiles % 2]\n"}},
    };
    CHECK_SAMPLES(list);
}

static void partitions(void **state) {
    (void)state;
#define WS(x, stage)                                                                             \
    "    ttg.warp_specialize(%x, %c0) attributes {requestedRegisters = array<i32: 24>}\n"        \
    "    default {\n" STORE(                                                                     \
        stage) "      ttg.warp_yield\n    }\n"                                                   \
               "    partition0(%q: " S3 ", %n: i32) num_warps(2) {\n"                            \
               "      %y = ttg.memdesc_index %q[%n] : i32\n      ttg.local_store %n, %y : i32\n" \
               "      ttg.warp_return\n    } : (" S3 ", i32) -> ()\n"
    static const sample list[] = {
        {HEAD("90") ALLOC_R WS(x, "%c1") CLOSE,
         {"agent default_warps of 256 threads {\n    simt store writes x[1]\n}\n",
          "agent partition0 of 64 threads registers 24 {\n    simt store writes x[0]\n}\n"}},
        {HEAD("90") ALLOC_R WS(x, "%c1") STORE("%c2") WS(x, "%c1") STORE("%c0") CLOSE,
         {"barrier join count 2\n",
          "x[1]\n    sync join by 1\n    simt store writes x[2]\n    sync join by 1\n    "
          "simt "
          "store writes x[1]\n    sync join by 1\n}\n",
          "x[0]\n    sync join by 1\n    sync join by 1\n    simt store writes x[0]\n    "
          "sync "
          "join by 1\n}\nsimt store writes x[0]\n"}},
        {HEAD("90") ALLOC_R
         "    scf.for %i = %c0 to %c2 step %c1  : i32 {\n" WS(x, "%i") "    }\n" CLOSE,
         {"barrier join count 2\n", "writes x[0]\n    sync join by 1\n    sync join by 1\n"}},
    };
    CHECK_SAMPLES(list);
}

/* ---- closed forms ---------------------------------------------------------------------- */

enum { ROUNDS = 12 };

/* Stages and phases of a ring that moves by `step` a round in a loop of a loop, against a run. */
static void rings_against_a_run(int64_t stages, int64_t first, int64_t phase, int64_t step) {
    test_host counted;
    test_host_init(&counted);
    spad__scalars s = {.host = &counted.host};
    const spad__scalar count = spad__scalar_number(&s, stages);
    const spad__scalar inits[2] = {spad__scalar_number(&s, first), spad__scalar_number(&s, phase)};
    spad__scalar at = spad__scalar_carried(&s, 1, 0), bit = spad__scalar_carried(&s, 1, 1);
    for (int64_t i = 0; i < step; i++) {
        const spad__scalar next =
            spad__scalar_make(&s, SPAD__SCALAR_ADD, at, spad__scalar_number(&s, 1));
        const spad__scalar wrap = spad__scalar_make(&s, SPAD__SCALAR_AT_MOST, count, next);
        bit = spad__scalar_select(&s, wrap, spad__scalar_not(&s, bit), bit);
        at = spad__scalar_select(&s, wrap, spad__scalar_number(&s, 0), next);
    }
    const spad__scalar nexts[2] = {at, bit};
    spad__scalar lasts[2];
    const spad__scalar round = spad__scalar_iteration(&s, 1);
    spad__scalar_solve(&s, 1, spad__scalar_number(&s, ROUNDS), SPAD__NO_SCALAR, 2, inits, nexts,
                       lasts);
    int64_t stage = first, wanted = phase;
    for (int64_t i = 0; i < ROUNDS; i++) {
        for (int64_t k = 0; k < step; k++) {
            if (stage + 1 >= stages) wanted ^= 1;
            stage = stage + 1 >= stages ? 0 : stage + 1;
        }
        int64_t found;
        const spad__scalar here = spad__scalar_number(&s, i);
        spad__scalar value = spad__scalar_replace(&s, spad__scalar_resolve(&s, at), round, here);
        assert_true(spad__scalar_known(&s, value, &found));
        assert_int_equal(found, stage);
        value = spad__scalar_replace(&s, spad__scalar_resolve(&s, bit), round, here);
        assert_true(spad__scalar_known(&s, value, &found));
        assert_int_equal(found, wanted);
    }
    int64_t found;
    assert_true(spad__scalar_known(&s, lasts[0], &found));
    assert_int_equal(found, stage);
    assert_true(spad__scalar_known(&s, lasts[1], &found));
    assert_int_equal(found, wanted);
    spad__scalars_free(&s);
    test_host_assert_clean(&counted);
}

static void rings(void **state) {
    (void)state;
    for (int64_t stages = 1; stages <= 5; stages++) {
        for (int64_t first = -1; first < stages; first++) {
            for (int64_t step = 1; step <= 3; step++) {
                rings_against_a_run(stages, first, 0, step);
                rings_against_a_run(stages, first, 1, step);
            }
        }
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(views),         cmocka_unit_test(barriers_and_copies),
        cmocka_unit_test(tensor_memory), cmocka_unit_test(numbers),
        cmocka_unit_test(partitions),    cmocka_unit_test(rings),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
