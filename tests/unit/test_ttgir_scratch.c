/* SPDX-License-Identifier: Apache-2.0
 *
 * Scratch memory of operations on registers: its size by the layouts or by the text, its address,
 * and what the check says where it is over something else. Functions that are called.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "frontend/ttgir/ttgir.h"
#include "ttgir_fixture.h"

/* ---- sizes ---------------------------------------------------------------------------- */

static void sizes_follow_from_layouts(void **state) {
    (void)state;
    static const test_ttgir_sample samples[] = {
        {RAW SUM("0", "", "tensor<1024xf32, #row>") CLOSE,
         {"tensor s_scratch : shared uint8 (16) align 128", "simt reduce_s writes s_scratch",
          "simt reduce_s reads s_scratch"}},
        {RAW SUM("0", "", "tensor<64x64xf32, #down>") CLOSE, {"uint8 (1024)"}},
        {RAW SUM("0", "", "tensor<64x64xf32, #down>, tensor<64x64xi16, #down>") CLOSE,
         {"uint8 (1536)"}},
        {RAW SUM("0", "", "tensor<64xf32, #ttg.slice<{dim = 1, parent = #down}>>") CLOSE,
         {"uint8 (16)"}},
        {RAW SUM("0", "", "tensor<64x128xf32, #mma>") CLOSE, {"uint8 (2048)"}},
        {RAW SUM("1", "", "tensor<64x64xf32, #mma2>") CLOSE, {"uint8 (512)"}},
        {RAW SUM("1", "", "tensor<16x16xf32, #linear>") CLOSE, {"uint8 (256)"}},
        {RAW SUM("0", "", "tensor<16xf32, #ttg.slice<{dim = 0, parent = #linear}>>") CLOSE,
         {"uint8 (16)"}},
        {RAW SUM("0", "",
                 "tensor<64xf32, #ttg.slice<{dim = 1, parent = #ttg.blocked<{sizePerThread = [1, "
                 "4], threadsPerWarp = [4, 8], warpsPerCTA = [4, 1]}>}>>") CLOSE,
         {"uint8 (16)"}},
        /* of 4 warps only 2 have rows of their own */
        {RAW SUM("0", "", "tensor<8x32xf32, #down>") CLOSE, {"uint8 (256)"}},
        {RAW SCAN("0", "tensor<64x64xf32, #down>") CLOSE, {"uint8 (4096)", "simt scan_s"}},
        {RAW "    %h = tt.histogram %x : tensor<1024xi32, #row> -> tensor<16xi32, #row>\n" CLOSE,
         {"uint8 (128)", "simt histogram_h"}},
        {RAW "    %h = tt.histogram %x : tensor<1024xi32, #row> -> tensor<256xi32, #row>\n" CLOSE,
         {"uint8 (1024)"}},
        {RAW "    %o = tt.atomic_rmw add, acq_rel, gpu, %p, %K : (!tt.ptr<i32>, i32) -> i32\n"
             "    %q = arith.addi %o, %K : i32\n" CLOSE,
         {"uint8 (4)", "simt atomic_o"}},
        {RAW "    %o = tt.atomic_cas acq_rel, gpu, %p, %K, %K : (!tt.ptr<i64>, i64) -> i64\n"
             "    %q = arith.addi %o, %K : i64\n" CLOSE,
         {"uint8 (8)"}},
        /* threads 16 to 127 have what the first ones have */
        {RAW "    %o = tt.atomic_rmw fadd, acq_rel, gpu, %p, %x : (tensor<64x!tt.ptr<f32>, "
             "#row>, tensor<64xf32, #row>) -> tensor<64xf32, #row>\n"
             "    %q = arith.addf %o, %o : tensor<64xf32, #row>\n" CLOSE,
         {"uint8 (256)"}},
        {RAW "    ttng.tensormap_create %p, %p, [%K], [%K], [], [%K] {elem_type = 3 : i32} : "
             "(!tt.ptr<i8>, !tt.ptr<i8>, i32, i32, i32) -> ()\n" CLOSE,
         {"uint8 (128)", "simt tensormap"}},
    };
    CHECK_SAMPLES(samples);
}

static void none_is_needed(void **state) {
    (void)state;
    static const char *const texts[] = {
        RAW SUM("1", "", "tensor<64x64xf32, #down>") CLOSE,
        RAW SUM("0", "", "tensor<64xf32, #ttg.slice<{dim = 0, parent = #down}>>") CLOSE,
        RAW SUM("1", "", "tensor<64x128xf32, #mma>") CLOSE,
        RAW SCAN("1", "tensor<64x64xf32, #down>") CLOSE,
        RAW SUM("0", "", "tensor<16xf32, #ttg.slice<{dim = 1, parent = #linear}>>") CLOSE,
        RAW SUM("0", "",
                "tensor<8x8xf32, #ttg.linear<{register = [[0, 1]], lane = [[1, 0]], warp = "
                "[]}>>") CLOSE,
        RAW "    tt.atomic_rmw add, acq_rel, gpu, %p, %K : (!tt.ptr<i32>, i32) -> i32\n" CLOSE,
        RAW "    %o = tt.atomic_rmw add, acq_rel, gpu, %p, %K : (!tt.ptr<i32>, i32) -> i32\n" CLOSE,
        RAW "    %o = tt.atomic_rmw fadd, acq_rel, gpu, %p, %x : (tensor<512x!tt.ptr<f32>, #row>, "
            "tensor<512xf32, #row>) -> tensor<512xf32, #row>\n"
            "    %q = arith.addf %o, %o : tensor<512xf32, #row>\n" CLOSE,
        PLACED SUM("0", "", "tensor<1024xf32, #row>") CLOSE, /* the pass gave it no address */
        PLACED SUM("0", " {allocation.offset = 0 : i32, allocation.size = -4 : i32}",
                   "tensor<1024xf32, #row>") CLOSE,
    };
    for (size_t i = 0; i < sizeof texts / sizeof *texts; i++) {
        spad_ttgir_info info;
        spad_kernel *kernel = read_with(texts[i], &info);
        for (size_t k = 0; k < spad_kernel_tensor_count(kernel); k++) {
            const char *name = spad_kernel_get_tensor(kernel, k)->name;
            if (strstr(name, "scratch") != NULL) print_error("%s in %zu\n", name, i);
            assert_null(strstr(name, "scratch"));
        }
        assert_string_equal(info.scratch, "");
        spad_kernel_destroy(kernel);
    }
}

static void what_is_not_known_is_said(void **state) {
    (void)state;
#define CONVERT(attributes)                             \
    "    %y = ttg.convert_layout %x" attributes         \
    " : tensor<64x64xf32, #down> -> tensor<64x64xf32, " \
    "#mma>\n"
    static const struct {
        const char *text;
        const char *scratch; /* of the info */
        const char *tensor;  /* in the kernel; NULL: none */
    } cases[] = {
        {RAW CONVERT("") CLOSE, "1 not counted, the first is ttg.convert_layout in line 12", NULL},
        {RAW SUM("0", "", "tensor<1024xf32, #row>")
             CONVERT("") "    %z = tt.gather %x[%y] {axis = 0 : i32} : (tensor<64xf32, #row>, "
                         "tensor<64xi32, "
                         "#row>) -> tensor<64xf32, #row>\n" CLOSE,
         "1 sized by its layouts, 2 not counted, the first is ttg.convert_layout in line 17",
         "uint8 (16)"},
        {RAW SUM("0", "", "tensor<1024xf32, #row>") SUM("0", "", "tensor<2048xf32, #row>") CLOSE,
         "2 sized by their layouts", "uint8 (16)"},
        {RAW SUM("0", "", "tensor<1024xf32, #nothing>") CLOSE,
         "1 not counted, the first is \"tt.reduce\" in line 12", NULL},
        {RAW SUM("0", "", "tensor<1024xf32>") CLOSE, "1 not counted", NULL},
        {RAW SUM("3", "", "tensor<1024xf32, #row>") CLOSE, "1 not counted", NULL},
        {RAW SUM("0", "", "tensor<96xf32, #row>") CLOSE, "1 not counted", NULL},
        {RAW SUM("0", "", "tensor<1024xf32, #down>") CLOSE, "1 not counted", NULL},
        {RAW SUM("0", "", "tensor<64xf32, #mma>") CLOSE, "1 not counted", NULL},
        {RAW SUM("0", "", "tensor<64xf32, #ring>") CLOSE, "1 not counted", NULL},
        {RAW SUM("0", "", "tensor<64xf32, #odd>") CLOSE, "1 not counted", NULL},
        {RAW SUM("0", "", "tensor<64xf32, #ttg.slice<{dim = 7, parent = #down}>>") CLOSE,
         "1 not counted", NULL},
        {RAW SCAN("0", "tensor<64x64xf32, #mma>") CLOSE, "1 not counted", NULL},
        {RAW "    %h = tt.histogram %x : tensor<1024xi32, #row> -> i32\n" CLOSE, "1 not counted",
         NULL},
        {RAW "    %o = tt.atomic_rmw add, acq_rel, gpu, %p, %K : !tt.ptr<i32>\n"
             "    %q = arith.addi %o, %K : i32\n" CLOSE,
         "1 not counted", NULL},
        {RAW "    %o = tt.atomic_rmw add, acq_rel, gpu, %p, %K : (!tt.ptr<i32>, i32) -> i31\n"
             "    %q = arith.addi %o, %K : i32\n" CLOSE,
         "1 not counted", NULL},
        {RAW "    %o = tt.atomic_rmw add, acq_rel, gpu, %p, %K : (i32) -> tensor<16xf32, #none>\n"
             "    %q = arith.addi %o, %K : i32\n" CLOSE,
         "1 not counted", NULL},
        {RAW "    %o = tt.atomic_rmw add, acq_rel, gpu, %p, %K : (i32) -> tensor<64x64xf32, #mma>\n"
             "    %q = arith.addi %o, %K : i32\n" CLOSE,
         "1 not counted", NULL},
        {RAW "    %s = \"tt.reduce\"(%x) ({\n      tt.reduce.return %K : f32\n    }) : "
             "(tensor<1024xf32, #row>) -> f32\n" CLOSE,
         "1 not counted", NULL},
        {RAW SUM("0", "", "f32") CLOSE, "1 not counted", NULL},
        {RAW SUM("-1", "", "tensor<1024xf32, #row>") CLOSE, "1 not counted", NULL},
        {RAW SCAN("-1", "tensor<64x64xf32, #down>") CLOSE, "1 not counted", NULL},
        {RAW "    %h = tt.histogram %x : tensor<1024xi32, #row> -> tensor<16xnone, #row>\n" CLOSE,
         "1 not counted", NULL},
        {RAW "    %h = tt.histogram %x : tensor<1024xi32, #row> -> "
             "tensor<4611686018427387904xi32, #row>\n" CLOSE,
         "1 not counted", NULL},
        {RAW "    %o = tt.atomic_rmw add, acq_rel, gpu, %p, %K : (i32) -> tensor<16xnone, #row>\n"
             "    %q = arith.addi %o, %K : i32\n" CLOSE,
         "1 not counted", NULL},
        {RAW "    %o = tt.atomic_rmw add, acq_rel, gpu, %p, %K : (i32) -> "
             "tensor<4611686018427387904x1xf32, #down>\n    %q = arith.addi %o, %K : i32\n" CLOSE,
         "1 not counted", NULL},
        {PLACED "    %z = tt.gather %x[%x] {axis = 0 : i32, allocation.offset = 1024 : i32} : "
                "f32\n" CLOSE,
         "1 sized by its layouts", "uint8 (3072) at 1024"},
        {PLACED "    %y = ttg.convert_layout %x {allocation.offset = 0 : i32} : "
                "tensor<4611686018427387904xf32, #row> -> tensor<64xf32, #row>\n" CLOSE,
         "1 sized by its layouts", "uint8 (4096) at 0"},
        /* with an address: at most the tensor, and what is left up to the end */
        {PLACED CONVERT(" {allocation.offset = 1024 : i32}") CLOSE, "1 sized by its layouts",
         "uint8 (3072) at 1024"},
        {PLACED SUM("0", " {allocation.offset = 0 : i32}", "tensor<1024xf32, #none>") CLOSE,
         "1 sized by its layouts", "uint8 (4096) at 0"},
        {PLACED CONVERT(" {allocation.offset = 0 : i32, allocation.size = 512 : i32}") CLOSE, "",
         "uint8 (512) at 0"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        spad_ttgir_info info;
        spad_error error;
        test_text shown;
        test_text_init(&shown);
        spad_kernel *kernel = read_with(cases[i].text, &info);
        if (strstr(info.scratch, cases[i].scratch) == NULL) print_error("%s\n", info.scratch);
        assert_non_null(strstr(info.scratch, cases[i].scratch));
        assert_ok(spad_kernel_write_text(kernel, &shown.sink, &error), &error);
        const char *wanted = cases[i].tensor != NULL ? cases[i].tensor : "scratch";
        if ((strstr(shown.bytes, wanted) != NULL) != (cases[i].tensor != NULL)) {
            print_error("case %zu: '%s' in\n%s", i, wanted, shown.bytes);
        }
        assert_int_equal(strstr(shown.bytes, wanted) != NULL, cases[i].tensor != NULL);
        test_text_free(&shown);
        spad_kernel_destroy(kernel);
    }
}

/* ---- the check ------------------------------------------------------------------------ */

static void expect_verdict(const char *text, spad_finding_code code) {
    spad_ttgir_info info;
    spad_check *check;
    spad_error error;
    spad_kernel *kernel = read_with(text, &info);
    assert_ok(spad_check_create(&check, kernel, NULL, &error), &error);
    const spad_verdict verdict = spad_check_get_verdict(check);
    if ((verdict == SPAD_VERDICT_WRONG) != (code != 0)) {
        print_error("verdict %d of %s\n", (int)verdict, strstr(text, "tt.func"));
    }
    assert_int_equal(verdict == SPAD_VERDICT_WRONG, code != 0);
    if (code != 0) assert_int_equal(spad_check_get_finding(check, 0)->code, code);
    spad_check_destroy(check);
    spad_kernel_destroy(kernel);
}

/* A tile of 1 KiB at 0, written before the sum and read after it. */
#define BEFORE                                                                  \
    "    %t = ttg.local_alloc {allocation.offset = 0 : i32} : () -> " TILE "\n" \
    "    ttg.local_store %x, %t : tensor<256xf32, #row> -> " TILE "\n"
#define AFTER "    %v = ttg.local_load %t : " TILE " -> tensor<256xf32, #row>\n"
#define COPY                                                                              \
    "    %t = ttg.local_alloc {allocation.offset = 0 : i32} : () -> " TILE "\n"           \
    "    %k = ttg.async_copy_global_to_local %p, %t : tensor<256x!tt.ptr<f32>, #row> -> " \
    "<256xf32, "                                                                          \
    "#flat, #smem, mutable>\n    %g = ttg.async_commit_group tokens %k\n"
#define WAIT "    %w = ttg.async_wait %g {num = 0 : i32}\n"
#define SUM_AT(offset)                                                              \
    SUM("0", " {allocation.offset = " offset " : i32, allocation.size = 16 : i32}", \
        "tensor<1024xf32, #row>")

static void scratch_is_checked(void **state) {
    (void)state;
    expect_verdict(PLACED BEFORE SUM_AT("1024") AFTER CLOSE, 0);
    expect_verdict(PLACED BEFORE SUM_AT("896") AFTER CLOSE, SPAD_FINDING_LIFETIME_CONFLICT);
    expect_verdict(PLACED BEFORE AFTER SUM_AT("896") CLOSE, 0);
    expect_verdict(PLACED COPY WAIT AFTER SUM_AT("0") CLOSE, 0);
    expect_verdict(PLACED COPY SUM_AT("1024") WAIT AFTER CLOSE, 0);
    expect_verdict(PLACED COPY SUM_AT("0") WAIT AFTER CLOSE, SPAD_FINDING_RACE);
    expect_verdict(PLACED BEFORE SUM_AT("1000064") AFTER CLOSE, SPAD_FINDING_OUT_OF_SPACE);
}

/* Two mbarriers at one address are one object. */
#define BARRIER_AT(name, offset)                                                              \
    "    %" name " = ttg.local_alloc {allocation.offset = " offset " : i32} : () -> " B1 "\n" \
    "    ttng.init_barrier %" name ", 1 : " B1 "\n"
#define USE(name)                                                                                 \
    "    ttng.arrive_barrier %" name ", 1 : " B1 "\n    ttng.wait_barrier %" name ", %zero : " B1 \
    "\n"
#define INVAL(name) "    ttng.inval_barrier %" name " : " B1 "\n"
#define ZERO "    %zero = arith.constant 0 : i32\n"

static void places_of_mbarriers_are_checked(void **state) {
    (void)state;
    const spad_finding_code twice = SPAD_FINDING_MBARRIER_LIFE;
    expect_verdict(PLACED ZERO BARRIER_AT("a", "0") BARRIER_AT("b", "8") USE("a") USE("b") CLOSE,
                   0);
    expect_verdict(PLACED ZERO BARRIER_AT("a", "0") BARRIER_AT("b", "0") USE("b") CLOSE, twice);
    expect_verdict(PLACED ZERO BARRIER_AT("a", "0") USE("a") BARRIER_AT("b", "0") USE("b") CLOSE,
                   twice);
    expect_verdict(PLACED ZERO BARRIER_AT("a", "0") USE("a") INVAL("a") BARRIER_AT("b", "0")
                       USE("b") INVAL("b") CLOSE,
                   0);
}

/* ---- partitions ----------------------------------------------------------------------- */

#define WARPS(attributes)                                                      \
    "    ttg.warp_specialize(%t, %K, %p)" attributes                           \
    "\n    default {\n      ttg.warp_yield\n    }\n"                           \
    "    partition0(%m: " TILE ", %i: i32, %q: !tt.ptr<f16>) num_warps(2) {\n" \
    "      ttg.warp_return\n    }\n"                                           \
    "    partition1(%m: " TILE ", %i: i32, %q: !tt.ptr<f16>) num_warps(1) {\n" \
    "      ttg.warp_return\n    } : (" TILE ", i32, !tt.ptr<f16>) -> ()\n"

#define HANDED(type)                                                                          \
    "    ttg.warp_specialize(%t)\n    default {\n      ttg.warp_yield\n    }\n"               \
    "    partition0(%m: " type ") num_warps(2) {\n      ttg.warp_return\n    } : (" type ") " \
    "-> ()\n"

static void partitions_are_handed_values(void **state) {
    (void)state;
    static const test_ttgir_sample samples[] = {
        {RAW BEFORE WARPS("") CLOSE,
         {"tensor captures_scratch : shared uint8 (24) align 8",
          "tensor warps_scratch : shared uint8 (3)",
          "simt hand_over writes captures_scratch\nsimt start writes warps_scratch\nsimt start "
          "reads "
          "warps_scratch\nsimt take_over reads captures_scratch\nfence shared\nagent ",
          "agent partition1 of 32 threads {\n}\nsimt end writes warps_scratch\n"}},
        {RAW BEFORE WARPS("") WARPS("") CLOSE,
         {"captures_scratch_2",
          "agent default_warps of 128 threads {\n    sync join by 1\n    simt hand_over writes "
          "captures_scratch_2\n"}},
        {PLACED BEFORE WARPS(" attributes {allocation.offset = 1024 : i32, allocation.size = 20 : "
                             "i32}") CLOSE,
         {"captures_scratch : shared uint8 (20) at 1024 align 8"}},
        /* operations of one agent have one buffer */
        {RAW BEFORE WARPS("") SUM("0", "", "tensor<1024xf32, #row>")
             SUM("0", "", "tensor<64x64xf32, #down>") CLOSE,
         {"tensor s_scratch : shared uint8 (1024)", "simt reduce_s writes s_scratch(0..16)",
          "simt reduce_s writes s_scratch(0..1024)"}},
    };
    CHECK_SAMPLES(samples);
    static const test_ttgir_sample odd[] = {
        /* one that is not known is no common buffer, and one at another address is another */
        {RAW BEFORE WARPS("") SUM("0", "", "tensor<1024xf32, #none>")
             SUM("0", "", "tensor<1024xf32, #row>") CLOSE,
         {"tensor s_scratch : shared uint8 (16)"}},
        {PLACED BEFORE WARPS("") SUM_AT("1024") SUM_AT("2048") SUM_AT("1024") CLOSE,
         {"shared uint8 (16) at 1024", "shared uint8 (16) at 2048"}},
        /* values whose size is not known */
        {RAW BEFORE HANDED("!ttg.memdesc<64xnone>") CLOSE, {"tensor warps_scratch"}},
        {RAW BEFORE HANDED("!foo.bar") CLOSE, {"tensor warps_scratch"}},
    };
    CHECK_SAMPLES(odd);
    spad_ttgir_info info;
    for (size_t i = 2; i < 4; i++) {
        spad_kernel_destroy(read_with(odd[i].text, &info));
        assert_non_null(strstr(info.scratch, "1 not counted, the first is ttg.warp_specialize"));
    }
    expect_verdict(RAW BEFORE WARPS("") WARPS("") CLOSE, 0);
    expect_verdict(PLACED BEFORE WARPS(" attributes {allocation.offset = 0 : i32}") AFTER CLOSE,
                   SPAD_FINDING_LIFETIME_CONFLICT);
}

/* ---- what data decides ----------------------------------------------------------------- */

#define SPIN                                                                           \
    "    scf.while : () -> () {\n      %l = tt.atomic_cas acq_rel, gpu, %p, %K, %K : " \
    "(!tt.ptr<i32>, i32, i32) -> i32\n      %m = arith.cmpi eq, %l, %K : i32\n"        \
    "      scf.condition(%m)\n    } do {\n      scf.yield\n    }\n"
#define LOADED "    %n = tt.load %p : !tt.ptr<i32>\n    %e = arith.cmpi eq, %n, %K : i32\n"
#define NUMBERS "    %c0 = arith.constant 0 : i32\n    %c1 = arith.constant 1 : i32\n"
#define ROUNDS(to) "    scf.for %i = %c0 to %" to " step %c1  : i32 {\n"
#define FILL                                                        \
    "    %t = ttg.local_alloc : () -> " TILE                        \
    "\n    ttg.local_store %x, %t : tensor<256xf32, #row> -> " TILE \
    "\n    %v = ttg.local_load %t : " TILE " -> tensor<256xf32, #row>\n"

static void data_decides(void **state) {
    (void)state;
    static const test_ttgir_sample samples[] = {
        /* a lock: any number of rounds; a load and a store that depend on data are left out */
        {RAW SPIN LOADED "    scf.if %e {\n      %o = tt.load %p : tensor<256x!tt.ptr<f32>, #row>\n"
                         "    } else {\n      tt.store %p, %x : tensor<256x!tt.ptr<f32>, #row>\n"
                         "    }\n" CLOSE,
         {"param trips = 3 any", "simt atomic_l writes l_scratch"}},
        {RAW NUMBERS LOADED ROUNDS("K") ROUNDS("n") FILL "    }\n    }\n" CLOSE,
         {"param trips = 3 any", "tensor t : shared float32 (256)\n        simt store writes t"}},
        {RAW LOADED "    scf.if %e {\n" FILL "    }\n" CLOSE,
         {"unknown e in 0..2 = [1]", "if e", "simt store writes t"}},
    };
    CHECK_SAMPLES(samples);
    spad_ttgir_info info;
    spad_kernel_destroy(read_with(samples[0].text, &info));
    assert_string_equal(info.approximated, "");
    spad_kernel_destroy(read_with(samples[1].text, &info));
    assert_string_equal(info.approximated,
                        "the loop in line 17 has the same number of rounds each time");
    spad_kernel_destroy(
        read_with(RAW LOADED "    %s = tt.splat %e : i1 -> tensor<256xi1, #row>\n"
                             "    %t = ttg.local_alloc : () -> " TILE "\n"
                             "    %k = ttg.async_copy_global_to_local %p, %t mask %s : "
                             "tensor<256x!tt.ptr<f32>, #row> -> <256xf32, #flat, #smem, mutable>\n"
                             "    %g = ttg.async_commit_group tokens %k\n"
                             "    %w = ttg.async_wait %g {num = 0 : i32}\n" CLOSE,
                  &info));
    assert_string_equal(info.approximated, ""); /* zeros are written where it does not copy */
    spad_kernel_destroy(read_with(RAW NUMBERS SPIN ROUNDS("K") SPIN "    }\n" CLOSE, &info));
    assert_string_equal(info.approximated,
                        "the loop in line 22 has the same number of rounds each time");
}

/* The text of a kernel that is read with values of the caller. */
static char *text_with(const char *text, const spad_define *defines, size_t count,
                       spad_ttgir_info *info) {
    const spad_kernel_options options = {.defines = defines, .define_count = count};
    test_text shown;
    spad_error error;
    spad_kernel *kernel;
    const spad_status status =
        spad_kernel_read_ttgir(&kernel, info, text, strlen(text), "k", &options, NULL, &error);
    if (status != SPAD_OK) print_error("%s\n", error.message);
    assert_ok(status, &error);
    test_text_init(&shown);
    assert_ok(spad_kernel_write_text(kernel, &shown.sink, &error), &error);
    spad_kernel_destroy(kernel);
    return shown.bytes;
}

#define LOAD_OF(name, type) "    %" name " = tt.load %p : " type "\n"
#define LOAD_AS(name, variable, type) \
    "    %" name " = tt.load %p : " type " loc(\"" variable "\"(\"k.py\":1:1))\n"
/* Ends when a number from memory is reached. */
#define COUNTED                                                                     \
    "    %z = scf.while (%a = %c0) : (i32) -> i32 {\n"                              \
    "      %m = arith.cmpi slt, %a, %n : i32\n      scf.condition(%m) %a : i32\n"   \
    "    } do {\n    ^bb0(%b: i32):\n" FILL "      %d = arith.addi %b, %c1 : i32\n" \
    "      scf.yield %d : i32\n    }\n"

/* The name is that of the variable, without the number that a printer adds. */
static void loaded_numbers_can_be_given(void **state) {
    (void)state;
    static const spad_define values[] = {{"n", 4}, {"m", 2}};
    static const struct {
        const char *text;
        size_t count; /* of values */
        const char *wanted;
        const char *missing;
        const char *approximated;
    } cases[] = {
        {RAW NUMBERS LOADED ROUNDS("n") FILL "    }\n" CLOSE, 1, "for i in 0..4 {", "any",
         "loads of n have the given value each time"},
        {RAW NUMBERS LOAD_AS("m_7", "m", "!tt.ptr<i64>") LOAD_OF("n", "!tt.ptr<i32>") ROUNDS("n")
             ROUNDS("m_7") FILL "    }\n    }\n" CLOSE,
         2, "for i_2 in 0..2 {", "any", "loads of n, m have the given value each time"},
        {RAW NUMBERS LOADED COUNTED CLOSE, 1, "simt store writes t_4", "for ",
         "loads of n have the given value each time"},
        /* one of two is not given: any number of rounds */
        {RAW NUMBERS LOADED LOAD_OF("m", "!tt.ptr<i8>") ROUNDS("m") FILL "    }\n" COUNTED CLOSE, 1,
         "any", "unrolled", "loads of n have the given value each time"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        spad_ttgir_info info;
        char *text = text_with(cases[i].text, values, cases[i].count, &info);
        if (strstr(text, cases[i].wanted) == NULL) print_error("%s\n", text);
        assert_non_null(strstr(text, cases[i].wanted));
        assert_null(strstr(text, cases[i].missing));
        assert_string_equal(info.approximated, cases[i].approximated);
        free(text);
    }
}

/* Loads of tensors have no value, and an argument of the same name has it. */
static void what_loads_is_named(void **state) {
    (void)state;
    static const test_ttgir_fault faults[] = {
        {RAW LOADED LOAD_OF("m", "!tt.ptr<i16>") LOAD_AS("n_3", "n", "!tt.ptr<i32>") LOAD_OF(
             "f", "!tt.ptr<f32>") "    %r = ttg.local_alloc : () -> !ttg.memdesc<2x256xf32, "
                                  "#flat, #smem, mutable>\n"
                                  "    %y = ttg.memdesc_index %r[%n] : i32\n"
                                  "    ttg.local_store %x, %y : i32\n" CLOSE,
         "a stage of a ring: only a run on the device knows it; with -D NAME=N loads have a value: "
         "n, m"},
    };
    CHECK_FAULTS(faults);
    static const spad_define values[] = {{"K", 64}, {"o", 1}};
    static const char text[] = RAW NUMBERS LOAD_OF(
        "K_1", "!tt.ptr<i32>") "    %o = tt.load %p : tensor<256x!tt.ptr<f32>, #row>\n" ROUNDS("K")
        FILL "    }\n" CLOSE;
    spad_ttgir_info info;
    char *shown = text_with(text, values, 1, &info);
    assert_non_null(strstr(shown, "param K_tiles = 64"));
    assert_string_equal(info.approximated, "");
    free(shown);
    spad_kernel *kernel;
    spad_error error;
    const spad_kernel_options options = {.defines = values, .define_count = 2};
    assert_int_equal(
        spad_kernel_read_ttgir(&kernel, &info, text, strlen(text), "k", &options, NULL, &error),
        SPAD_ERR_UNKNOWN);
    assert_non_null(strstr(error.message, "no parameter 'o' here"));
}

/* ---- where buffers are declared --------------------------------------------------------- */

static void buffers_of_a_loop_are_declared_in_it(void **state) {
    (void)state;
    static const test_ttgir_sample samples[] = {
        {RAW NUMBERS ROUNDS("K") FILL "    }\n" CLOSE,
         {"for i in 0..K_tiles {\n    tensor t : shared float32 (256)\n    simt store writes t"}},
        /* what leaves the block is declared outside */
        {RAW NUMBERS "    %h = arith.cmpi sgt, %K, %c1 : i32\n    %u = scf.if %h -> (" TILE
                     ") {\n" FILL "      scf.yield %t : " TILE "\n    } else {\n"
                     "      %o = ttg.local_alloc %x : (tensor<256xf32, #row>) -> " TILE "\n"
                     "      scf.yield %o : " TILE "\n    }\n" CLOSE,
         {"    tensor t : shared float32 (256)", "    tensor o : shared float32 (256)"}},
        {RAW NUMBERS "    %u = scf.for %i = %c0 to %K step %c1 iter_args(%a = %c0) -> (" TILE
                     ")  : i32 {\n" FILL "      scf.yield %t : " TILE "\n    }\n" CLOSE,
         {"    tensor t : shared float32 (256)"}},
    };
    CHECK_SAMPLES(samples);
    static const test_ttgir_sample scales[] = {
        {"#scales = #ttng.tensor_memory_scales_encoding<>\n" LAYOUTS
         "module attributes {\"ttg.num-warps\" = 4 : i32, ttg.target = \"cuda:100\"} {\n"
         "  tt.func public @f(%x: i32) {\n    %c0 = arith.constant 0 : i32\n"
         "    %s = ttng.tmem_alloc %x : (tensor<256x4xi8>) -> !ttg.memdesc<256x4xi8, #scales, "
         "#ttng.tensor_memory, mutable>\n    %p = ttng.tmem_subslice %s {N = 2 : i32} : "
         "!ttg.memdesc<256x4xi8, #scales, #ttng.tensor_memory, mutable> -> !ttg.memdesc<256x2xi8, "
         "#scales, #ttng.tensor_memory, mutable>\n"
         "    %q = ttg.memdesc_index %s[%c0] : !ttg.memdesc<256x4xi8, #scales, "
         "#ttng.tensor_memory, mutable> -> !ttg.memdesc<4xi8, #scales, #ttng.tensor_memory>\n"
         "    %v = ttng.tmem_load %p : !ttg.memdesc<256x2xi8, #scales, #ttng.tensor_memory, "
         "mutable> "
         "-> tensor<256x2xi8>\n"
         "    %w = ttng.tmem_load %q : !ttg.memdesc<256x2xi8, #scales, #ttng.tensor_memory, "
         "mutable> "
         "-> tensor<256x2xi8>\n" CLOSE,
         {"tensor s : tmem int8 (128, 32)", "simt load_v reads s\n", "simt load_w reads s\n"}},
        {"#scales = #ttng.tensor_memory_scales_encoding<>\n" LAYOUTS
         "module attributes {\"ttg.num-warps\" = 4 : i32, ttg.target = \"cuda:100\"} {\n"
         "  tt.func public @f(%x: i32) {\n"
         "    %s = ttng.tmem_alloc %x : (tensor<16x4xi8>) -> !ttg.memdesc<16x4xi8, #scales, "
         "#ttng.tensor_memory, mutable>\n" CLOSE,
         {"tensor s : tmem int8 (128, 4)"}},
    };
    CHECK_SAMPLES(scales);
}

/* Run with numbers: what is used again is another buffer, but not with agents. */
static void numbers_have_buffers_of_their_own(void **state) {
    (void)state;
    static const struct {
        const char *text;
        size_t count; /* of scratch buffers */
    } cases[] = {
        {RAW SUM("0", "", "tensor<1024xf32, #row>") SUM("0", "", "tensor<2048xf32, #row>") CLOSE,
         2},
        {RAW NUMBERS "    %c3 = arith.constant 3 : i32\n" ROUNDS("c3")
             SUM("0", "", "tensor<1024xf32, #row>") "    }\n" CLOSE,
         3},
        {RAW SUM("0", "", "tensor<1024xf32, #row>") SUM("0", "", "tensor<2048xf32, #row>")
             BEFORE WARPS("") SUM("0", "", "tensor<1024xf32, #row>") CLOSE,
         4}, /* one before, one after, captures, warps */
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        const spad_kernel_options options = {0};
        const spad__source source = {"k", cases[i].text, strlen(cases[i].text)};
        spad_ttgir_info info = {.shared_bytes = -1};
        spad_diagnostics *faults;
        spad_kernel *kernel;
        spad_error error;
        size_t count = 0;
        assert_ok(spad_diagnostics_create(&faults, NULL, &error), &error);
        assert_ok(spad__ttgir_read(&kernel, &info, &source, &options, true, faults, &error),
                  &error);
        for (size_t k = 0; k < spad_kernel_tensor_count(kernel); k++) {
            if (strstr(spad_kernel_get_tensor(kernel, k)->name, "scratch") != NULL) count++;
        }
        assert_int_equal(count, cases[i].count);
        spad_diagnostics_destroy(faults);
        spad_kernel_destroy(kernel);
    }
}

/* ---- calls ---------------------------------------------------------------------------- */

#define FUNCTION(name, body)                                                 \
    "  tt.func private @" name "(%q: !tt.ptr<f16>, %n: i32) -> i32 {\n" body \
    "    tt.return %n : i32\n  }\n"
#define CALL(result, name, n, attributes) \
    "    %" result " = tt.call @" name "(%p, %" n ")" attributes " : (!tt.ptr<f16>, i32) -> i32\n"
#define STORE                                                                    \
    "    %t = ttg.local_alloc {allocation.offset = 64 : i32} : () -> " TILE "\n" \
    "    ttg.local_store %q, %t : tensor<256xf32, #row> -> " TILE "\n"           \
    "    %v = ttg.local_load %t : " TILE " -> tensor<256xf32, #row>\n"

static void functions_are_read_where_they_are_called(void **state) {
    (void)state;
    static const test_ttgir_sample samples[] = {
        /* one buffer for each call, at the address of the call and that in the function */
        {PLACED CALL("a", "g", "K", " {allocation.offset = 0 : i32}") CALL(
             "b", "g", "a", " {allocation.offset = 2048 : i32}") END FUNCTION("g", STORE) "}\n",
         {"tensor t : shared float32 (256) at 64", "tensor t_2 : shared float32 (256) at 2112"}},
        /* functions in functions, names with quotes, and a loop that ends where the call said */
        {PLACED "    %c0 = arith.constant 0 : i32\n    %c1 = arith.constant 1 : i32\n" CALL(
             "a", "\"g(2,)\"", "K",
             " {allocation.offset = 256 : i32}") "    scf.for %i = %c0 to %a step %c1  : i32 {\n   "
                                                 "   %y = ttg.local_alloc %x {allocation.offset = "
                                                 "2048 : i32} : (i32) -> " TILE "\n"
                                                 "    }\n" END FUNCTION(
                                                     "\"g(2,)\"", "    %r = tt.call @h(%q, %n) "
                                                                  "{allocation.offset = 512 : i32} "
                                                                  ": (!tt.ptr<f16>, i32) -> i32\n")
                                                     FUNCTION("h", STORE) "}\n",
         {"tensor t : shared float32 (256) at 832"}},
        /* in a loop that is kept, and in one that is unrolled */
        {PLACED "    %c0 = arith.constant 0 : i32\n    %c1 = arith.constant 1 : i32\n"
                "    scf.for %i = %c0 to %K step %c1  : i32 {\n" CALL(
                    "a", "g", "i",
                    " {allocation.offset = 0 : i32}") "    }\n" END FUNCTION("g", STORE) "}\n",
         {"for i in 0..K_tiles {\n    tensor t : shared float32 (256) at 64\n    simt store writes "
          "t"}},
    };
    CHECK_SAMPLES(samples);
    static const test_ttgir_sample odd[] = {
        /* a function without its end has no result, and a sum of addresses that is too large is
         * no address */
        {PLACED CALL("a", "g", "K", "") END
         "  tt.func private @g(%q: !tt.ptr<f16>, %n: i32) -> i32 {\n" STORE "  }\n}\n",
         {"tensor t : shared float32 (256) at 64"}},
        {PLACED CALL("a", "g", "K", " {allocation.offset = 9223372036854775807 : i64}")
             END FUNCTION("g", STORE) "}\n",
         {"tensor t : shared float32 (256)\n"}},
    };
    CHECK_SAMPLES(odd);
    expect_verdict(samples[0].text, 0);
    expect_verdict(samples[2].text, 0);
    static const test_ttgir_fault faults[] = {
        {PLACED CALL("a", "g", "K", "") CLOSE,
         "'tt.call' of a function that the module does not have"},
        {PLACED NUMBERS ROUNDS("K") CALL("a", "g", "K", "") "    }\n" CLOSE,
         "'tt.call' of a function that the module does not have"},
        {PLACED NUMBERS ROUNDS("K") CALL("a", "g", "K", "") "    }\n" END FUNCTION(
             "g", "    %r = tt.call @g(%q, %n) : (!tt.ptr<f16>, i32) -> i32\n") "}\n",
         "'tt.call' more than 32 functions deep: does one call itself?"},
        {PLACED CALL("a", "g", "K", "") END "  tt.func {\n    tt.return\n  }\n}\n",
         "'tt.call' of a function that the module does not have"},
        {PLACED "    %a = tt.call %p : i32\n" CLOSE,
         "'tt.call' of a function that the module does not have"},
        {PLACED CALL("a", "g", "K", "")
             END FUNCTION("g", "    %r = tt.call @g(%q, %n) : (!tt.ptr<f16>, i32) -> i32\n") "}\n",
         "'tt.call' more than 32 functions deep: does one call itself?"},
        {PLACED CALL("a", "g", "K", "") END FUNCTION("g", "    cf.br ^bb2\n  ^bb1:\n") "}\n",
         "a branch to a block that is not there"},
    };
    CHECK_FAULTS(faults);
}

/* Each function calls the next one twice: too many, and the reader stops. */
static void calls_have_a_limit(void **state) {
    (void)state;
    char text[8192];
    int length = snprintf(text, sizeof text, "%s    tt.call @f0() : () -> ()\n%s", RAW, END);
    for (int i = 0; i < 20; i++) {
        length += snprintf(text + length, sizeof text - (size_t)length,
                           "  tt.func private @f%d() {\n    tt.call @f%d() : () -> ()\n"
                           "    tt.call @f%d() : () -> ()\n    tt.return\n  }\n",
                           i, i + 1, i + 1);
    }
    snprintf(text + length, sizeof text - (size_t)length, "  tt.func private @f20() {\n%s}\n", END);
    const test_ttgir_fault fault = {text, "more than 16384 calls: give smaller sizes"};
    test_ttgir_refuse(&fault);
}

/* Of more functions than that, the last ones are not known. */
static void functions_have_a_limit(void **state) {
    (void)state;
    static char text[1 << 18];
    for (int last = 4094; last < 4096; last++) {
        int length =
            snprintf(text, sizeof text, "%s    tt.call @f%d() : () -> ()\n%s", RAW, last, END);
        for (int i = 0; i <= last; i++) {
            length += snprintf(text + length, sizeof text - (size_t)length,
                               "  tt.func private @f%d() {\n    tt.return\n  }\n", i);
        }
        snprintf(text + length, sizeof text - (size_t)length, "}\n");
        const test_ttgir_fault fault = {text,
                                        "'tt.call' of a function that the module does not have"};
        spad_ttgir_info info;
        if (last == 4094) {
            spad_kernel_destroy(read_with(text, &info));
        } else {
            test_ttgir_refuse(&fault);
        }
    }
}

/* Six functions, each with 50 loops around the call of the next one. */
static void blocks_have_a_limit(void **state) {
    (void)state;
    static char text[1 << 16];
    enum { LOOPS = 50, FUNCTIONS = 6 };
    spad_kernel *kernel;
    spad_error error;
    for (int agents = 0; agents < 2; agents++) {
        int length = snprintf(text, sizeof text, "%s%s    tt.call @f0(%%K) : (i32) -> ()\n%s", RAW,
                              agents ? BEFORE WARPS("") : "", END);
        for (int i = 0; i < FUNCTIONS; i++) {
            length += snprintf(text + length, sizeof text - (size_t)length,
                               "  tt.func private @f%d(%%K: i32) {\n%s", i, NUMBERS);
            for (int k = 0; k < LOOPS; k++) {
                length += snprintf(text + length, sizeof text - (size_t)length, "%s", ROUNDS("K"));
            }
            length += i + 1 == FUNCTIONS
                          ? snprintf(text + length, sizeof text - (size_t)length, "%s",
                                     "    %t = ttg.local_alloc : () -> " TILE
                                     "\n    ttg.local_store %K, %t : i32 -> " TILE "\n")
                          : snprintf(text + length, sizeof text - (size_t)length,
                                     "    tt.call @f%d(%%K) : (i32) -> ()\n", i + 1);
            for (int k = 0; k < LOOPS; k++) {
                length += snprintf(text + length, sizeof text - (size_t)length, "    }\n");
            }
            length += snprintf(text + length, sizeof text - (size_t)length, "%s", END);
        }
        snprintf(text + length, sizeof text - (size_t)length, "}\n");
        const spad_status status =
            spad_kernel_read_ttgir(&kernel, NULL, text, strlen(text), "k", NULL, NULL, &error);
        if (status != SPAD_ERR_ARGUMENT) print_error("%s\n", error.message);
        assert_int_equal(status, SPAD_ERR_ARGUMENT);
        if (strstr(error.message, "nested too deep") == NULL) print_error("%s\n", error.message);
        assert_non_null(strstr(error.message, "nested too deep"));
        assert_null(kernel);
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(sizes_follow_from_layouts),
        cmocka_unit_test(none_is_needed),
        cmocka_unit_test(what_is_not_known_is_said),
        cmocka_unit_test(scratch_is_checked),
        cmocka_unit_test(places_of_mbarriers_are_checked),
        cmocka_unit_test(partitions_are_handed_values),
        cmocka_unit_test(data_decides),
        cmocka_unit_test(loaded_numbers_can_be_given),
        cmocka_unit_test(what_loads_is_named),
        cmocka_unit_test(buffers_of_a_loop_are_declared_in_it),
        cmocka_unit_test(numbers_have_buffers_of_their_own),
        cmocka_unit_test(functions_are_read_where_they_are_called),
        cmocka_unit_test(calls_have_a_limit),
        cmocka_unit_test(functions_have_a_limit),
        cmocka_unit_test(blocks_have_a_limit),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
