/* SPDX-License-Identifier: Apache-2.0
 *
 * TTGIR whose numbers, conditions, masks and loops are odd: what has an expression, what is run,
 * and what only the device knows.
 */
#include <stdio.h>
#include <string.h>

#include "spad/spad.h"
#include "support/support.h"
#include "support/ttgir.h"

typedef test_ttgir_sample sample;
typedef test_ttgir_fault fault;

/* ---- numbers and conditions ------------------------------------------------------------- */

#define DATA_STAGE(op) \
    { HEAD("90") ALLOC_R op AT("%z") CLOSE, "a stage of a ring: only a run on the device knows it" }
#define IF(q) "      scf.if " q " {\n" AT("%c0") "      }\n    }\n" CLOSE

static void numbers(void **state) {
    (void)state;
    static const fault faults[] = {
        DATA_STAGE("    %z = arith.andi %K, %v : i32\n"),
        DATA_STAGE("    %n = arith.divsi %K, %c0 : i32\n    %z = arith.andi %n, %m1 : i32\n"),
        DATA_STAGE("    %n = arith.divsi %K, %c0 : i32\n    %z = arith.andi %K, %n : i32\n"),
        DATA_STAGE(
            "    %z = scf.if %w -> (i32) {\n    } else {\n      scf.yield %c0 : i32\n    }\n"),
        DATA_STAGE("    %u = scf.if %w -> (i32) {\n      scf.yield %c0 : i32\n    } else {\n      "
                   "scf.yield %p : i32\n    }\n    %z = arith.addi %u, %f : i32\n"),
        DATA_STAGE("    %n = arith.constant 9223372036854775807 : i64\n"
                   "    %o = arith.divsi %K, %c0 : i32\n    %z = arith.andi %o, %n : i64\n"),
        DATA_STAGE("    %z = arith.andi %f, %c1 : i32\n"),
        DATA_STAGE("    %z = arith.andi %c1, %f : i32\n"),
        DATA_STAGE("    %z = arith.shli %c1, %v : i32\n"),
        DATA_STAGE("    %z = arith.shli %c1, %m1 : i32\n"),
        DATA_STAGE("    %n = arith.constant 41 : i32\n    %z = arith.shrui %c1, %n : i32\n"),
        DATA_STAGE("    %z = arith.shli %f, %c1 : i32\n"),
        DATA_STAGE("    %z = arith.shrsi %f, %c1 : i32\n"),
        DATA_STAGE("    %z = arith.ceildivui %f, %c1 : i32\n"),
        DATA_STAGE("    %z = arith.ceildivui %c1, %f : i32\n"),
        DATA_STAGE("    %z = arith.cmpi odd, %c1, %c1 : i32\n"),
        DATA_STAGE("    %z = arith.cmpi ne, %f, %c1 : i32\n"),
        DATA_STAGE("    %z = arith.select %true, %f, %c1 : i32\n"),
        DATA_STAGE("    %z = arith.sitofp %K : f32\n"),
        DATA_STAGE("    %z:2 = arith.mulsi_extended %K, %K : i32\n"),
        DATA_STAGE("    %z = arith.divsi %K, %c0 : i32\n"),
        DATA_STAGE("    %z = arith.divsi %K, %v : i32\n"),
        DATA_STAGE("    %z = arith.ori %f, %c2 : i32\n"),
        DATA_STAGE("    %z = arith.ori %c2, %f : i32\n"),
        DATA_STAGE("    %n = arith.divsi %K, %c0 : i32\n    %z = arith.ori %n, %c1 : i32\n"),
        DATA_STAGE("    %z = scf.if %w -> (i32) {\n      scf.yield %c1 : i32\n    } else {\n      "
                   "scf.yield %c0 : i32\n    }\n"),
        DATA_STAGE("    %z = scf.if %w -> (i32) {\n      scf.yield %p : i32\n    } else {\n      "
                   "scf.yield %c0 : i32\n    }\n"),
        DATA_STAGE(
            "    %z = scf.if %w -> (i32) {\n      scf.yield %c0 : i32\n    } else {\n    }\n"),
    };
    static const sample list[] = {
        /* bits of numbers */
        {HEAD("90") ALLOC_R "    %n = arith.constant 10 : i32\n    %z = arith.andi %n, %m1 : i32\n"
                            "    %o = arith.andi %z, %c3 : i32\n" AT("%o") CLOSE,
         {"writes x[2]\n"}},
        {HEAD("90") ALLOC_R
         "    %n = arith.constant 10 : i32\n    %z = arith.andi %n, %n : i32\n"
         "    %o = arith.ori %z, %c1 : i32\n    %e = arith.remsi %o, %c3 : i32\n" AT("%e") CLOSE,
         {"writes x[2]\n"}},
        {HEAD("90") ALLOC_R "    %o = arith.andi %K, %K : i32\n    %q = arith.ori %o, %c1 : i32\n"
                            "    %e = arith.remsi %q, %c3 : i32\n" AT("%e") CLOSE,
         {"run with its sizes", "writes x[2]\n"}},
        /* without an expression: run */
        {HEAD("90") ALLOC_R LOOP "      %q = arith.cmpi slt, %i, %c2 : i32\n"
                                 "      %o = arith.cmpi slt, %i, %c3 : i32\n"
                                 "      %r = arith.xori %q, %o : i1\n" IF("%r"),
         {"simt store writes x[0]\n"}},
        {HEAD("90") ALLOC_R LOOP
         "      %e = arith.remsi %i, %c2 : i32\n      %g = arith.xori %e, %i : i32\n"
         "      %h = arith.minsi %g, %c2 : i32\n      %y = ttg.memdesc_index %x[%c0] : i32\n"
         "      %y2 = ttg.memdesc_index %y[%h] : i32\n      ttg.local_store %p, %y2 : i32\n    "
         "}\n" CLOSE,
         {"writes x[0](2..3, ..)\n"}},
        {HEAD("90") ALLOC_R LOOP "      %e = arith.subi %i, %i : i32\n" AT("%e") "    }\n" CLOSE,
         {"writes x[0]"}},
        {HEAD("90") ALLOC_R LOOP "      %e = arith.subi %K, %i : i32\n"
                                 "      %g = arith.remsi %e, %c3 : i32\n" AT("%g") "    }\n" CLOSE,
         {"writes x["}},
        {HEAD("90") ALLOC_R LOOP "      %e = arith.subi %c2, %i : i32\n"
                                 "      %g = arith.maxsi %e, %c0 : i32\n" AT("%g") "    }\n" CLOSE,
         {"writes x[max(2 - i, 0)]"}},
        {HEAD("90") ALLOC_R LOOP
         "      %e = arith.remsi %i, %c2 : i32\n      %g = arith.shrsi %i, %c1 : i32\n"
         "      %h = arith.remsi %g, %c2 : i32\n      %o = arith.xori %e, %h : i32\n" AT(
             "%o") "    }\n" CLOSE,
         {"% 2]"}},
        /* a number as a condition, its negation, and those with all relations negated */
        {HEAD("90") ALLOC_R LOOP "      %q = arith.remsi %i, %c2 : i32\n" IF("%q"),
         {"if i % 2 != 0 {\n"}},
        {HEAD("90") ALLOC_R LOOP "      %q = arith.remsi %i, %c2 : i32\n"
                                 "      %r = arith.xori %q, %true : i1\n" IF("%r"),
         {"if i % 2 == 0 {\n"}},
        {HEAD("90") ALLOC_R LOOP "      %q = arith.cmpi sle, %i, %c2 : i32\n"
                                 "      %r = arith.xori %q, %true : i1\n" IF("%r"),
         {"if i > 2 {\n"}},
        {HEAD("90") ALLOC_R LOOP
         "      %q = arith.cmpi sle, %i, %c2 : i32\n      %o = arith.cmpi eq, %i, %c3 : i32\n"
         "      %u = arith.ori %q, %o : i1\n      %r = arith.xori %u, %true : i1\n" IF("%r"),
         {"if i > 2 and i != 3 {\n"}},
    };
    CHECK_FAULTS(faults);
    CHECK_SAMPLES(list);
}

/* Conditions of more than 8 terms, or of terms of more than 8 comparisons, have no `if`: the loop
 * is run. Of comparisons q0 to q9, o7 is any and a7 all of the first 8; o9 and a9 are of all 10,
 * and m9 is all of pairs. */
static void long_conditions(void **state) {
    (void)state;
    static const char *const last[] = {"andi %a9, %q0",        "ori %o9, %q0",
                                       "andi %q0, %a9",        "andi %m9, %q0",
                                       "select %a9, %q1, %q0", "select %q0, %a9, %q1",
                                       "select %q0, %q1, %a9", "select %o7, %q8, %q9",
                                       "select %q8, %o7, %q9", "select %q8, %a7, %q9"};
    for (size_t which = 0; which < sizeof last / sizeof *last; which++) {
        test_text text;
        spad_kernel *kernel;
        spad_ttgir_info info;
        spad_error error;
        const spad_define size = {"K", 20};
        const spad_kernel_options options = {.defines = &size, .define_count = 1};
        test_text_init(&text);
        text.sink.write(text.sink.context, HEAD("90") ALLOC_R LOOP,
                        strlen(HEAD("90") ALLOC_R LOOP));
        for (int i = 0; i < 10; i++) {
            const char *first = i == 1 ? "q" : NULL;
            test_text_put(&text, "      %%n%d = arith.constant %d : i32\n", i, i + 1);
            test_text_put(&text, "      %%q%d = arith.cmpi slt, %%i, %%n%d : i32\n", i, i);
            if (i == 0) continue;
            test_text_put(&text, "      %%a%d = arith.andi %%%s%d, %%q%d : i1\n", i,
                          first ? first : "a", i - 1, i);
            test_text_put(&text, "      %%o%d = arith.ori %%%s%d, %%q%d : i1\n", i,
                          first ? first : "o", i - 1, i);
            test_text_put(&text, "      %%p%d = arith.ori %%q%d, %%q%d : i1\n", i, i, i - 1);
            test_text_put(&text, "      %%m%d = arith.andi %%%s%d, %%p%d : i1\n", i,
                          first ? first : "m", i - 1, i);
        }
        test_text_put(&text, "      %%s = arith.%s : i1\n", last[which]);
        test_text_put(&text,
                      "      scf.if %%s {\n        %%y = ttg.memdesc_index %%x[%%c0] : i32\n");
        test_text_put(
            &text,
            "        ttg.local_store %%p, %%y : i32\n      }\n    }\n    tt.return\n  }\n}\n");
        assert_ok(spad_kernel_read_ttgir(&kernel, &info, text.bytes, strlen(text.bytes), "k",
                                         &options, NULL, &error),
                  &error);
        if (!info.unrolled) print_error("%s\n", last[which]);
        assert_true(info.unrolled);
        assert_non_null(strstr(info.reason, "a condition, in line "));
        spad_kernel_destroy(kernel);
        test_text_free(&text);
    }
}

/* ---- masks ------------------------------------------------------------------------------ */

static void masks(void **state) {
    (void)state;
#define SPLAT(name, from) "      " name " = tt.splat " from " : i1 -> tensor<64x64xi1>\n"
#define COPY(mask) "      ttg.async_copy_global_to_local %p, %x mask " mask " : i32\n    }\n" CLOSE
#define ASK                                                                                  \
    HEAD("90")                                                                               \
    ALLOC_S LOOP "      %q = arith.cmpi slt, %i, %c2 : i32\n      %o = arith.cmpi slt, %i, " \
                 "%c3 : i32\n" SPLAT("%m", "%q") SPLAT("%n", "%o")
    static const sample list[] = {
        {ASK "      %r = arith.andi %m, %n : tensor<64x64xi1>\n" COPY("%r"),
         {"if i < 2 and i < 3 {\n"}},
        {ASK "      %r = arith.andi %m, %p : tensor<64x64xi1>\n" COPY("%r"), {"if i < 2 {\n"}},
        {ASK "      %r = arith.andi %p, %n : tensor<64x64xi1>\n" COPY("%r"), {"if i < 3 {\n"}},
        {ASK "      %r = ttg.convert_layout %m : tensor<64x64xi1>\n"
             "      %u = tt.broadcast %r : tensor<64x64xi1>\n" COPY("%u"),
         {"if i < 2 {\n"}},
        {ASK "      %r = tt.splat %i : i32 -> tensor<64xi32>\n"
             "      %u = tt.broadcast %p : tensor<64x64xi1>\n"
             "      %k = tt.splat %p : i1 -> tensor<64xi1>\n" COPY("%u"),
         {"cp load reads p writes x"}},
    };
    CHECK_SAMPLES(list);
}

/* ---- loops ------------------------------------------------------------------------------ */

#define FOR(args) "    %r = scf.for %i = %c0 to %K step %c1 iter_args(" args ") -> (i32) : i32 {\n"
#define WHILE                                                                                \
    "    %r = scf.while (%s1 = %c0) : (i32) -> i32 {\n      %g = tt.load %p : !tt.ptr<i1>\n" \
    "      scf.condition(%g) %s1 : i32\n    } do {\n    ^bb0(%s2: i32):\n"

static void loops(void **state) {
    (void)state;
    static const sample list[] = {
        /* views that a condition or a loop chooses */
        {HEAD("90") ALLOC_R LOOP
         "      %q = arith.cmpi slt, %i, %c2 : i32\n"
         "      %y1 = ttg.memdesc_index %x[%c1] : i32\n"
         "      %z = scf.if %q -> (i32) {\n        scf.yield %y1 : i32\n      } else {\n"
         "        scf.yield %y1 : i32\n      }\n      ttg.local_store %p, %z : i32\n    }\n" CLOSE,
         {"writes x[1]\n"}},
        {HEAD("90") ALLOC_R LOOP
         "      %q = arith.cmpi slt, %i, %c2 : i32\n"
         "      %y0 = ttg.memdesc_index %x[%c0] : i32\n      %y1 = ttg.memdesc_index %x[%c1] : "
         "i32\n"
         "      %z = scf.if %q -> (i32) {\n        scf.yield %y1 : i32\n      } else {\n"
         "        scf.yield %y0 : i32\n      }\n      ttg.local_store %p, %z : i32\n    }\n" CLOSE,
         {"writes x[1]\n"}},
        {HEAD("90") ALLOC_R "    %y0 = ttg.memdesc_index %x[%c0] : i32\n" FOR(
             "%u = %y0") "      ttg.local_store %p, %u : i32\n      %j = arith.remsi %i, %c3 : "
                         "i32\n"
                         "      %y1 = ttg.memdesc_index %x[%j] : i32\n      scf.yield %y1 : i32\n  "
                         "  }\n" CLOSE,
         {"writes x["}},
        {HEAD("90") ALLOC_S FOR("%u = %x") "      ttg.local_store %p, %u : i32\n"
                                           "      scf.yield %u : i32\n    }\n"
                                           "    ttg.local_load %r : i32\n" CLOSE,
         {"simt store writes x\n", "simt load reads x\n"}},
        /* no round, one round, and rounds without a variable that is used */
        {HEAD("90") ALLOC_S "    scf.for %i = %c3 to %c0 step %c1  : i32 {\n"
                            "      ttg.local_store %p, %x : i32\n    }\n" CLOSE,
         {"for i in 0..0 {\n"}},
        {HEAD("90") ALLOC_S LOOP
         "    }\n    scf.for\n    scf.while\n    scf.if\n"
         "    ttg.warp_specialize\n    ttg.local_store %p, %x : i32\n" CLOSE,
         {"simt store writes x\n"}},
        {HEAD("90") ALLOC_S "    %n = arith.addi %K, %c2 : i32\n"
                            "    scf.for %i = %c0 to %n step %c1 : i32 {\n"
                            "      ttg.local_store %p, %x : i32\n    }\n" CLOSE,
         {"for i in 0..K_tiles + 2 {\n"}},
        {HEAD("90") ALLOC_S "    %n = arith.subi %K, %c2 : i32\n"
                            "    scf.for %i = %c0 to %n step %c1 : i32 {\n"
                            "      ttg.local_store %p, %x : i32\n    }\n" CLOSE,
         {"for i in 0..K_tiles {\n    if i < K_tiles - 2 {\n"}},
        {HEAD("90") ALLOC_S "    %n = arith.addi %K, %L : i32\n"
                            "    scf.for %i = %c0 to %n step %c1 : i32 {\n"
                            "      ttg.local_store %p, %x : i32\n    }\n" CLOSE,
         {"param trips = 8192\n", "for i in 0..trips {\n"}},
        {HEAD("90") ALLOC_S
         "    %c63 = arith.constant 63 : i32\n"
         "    %c64 = arith.constant 64 : i32\n    %e = arith.addi %K, %c63 : i32\n"
         "    %n = arith.divsi %e, %L : i32\n    %o = arith.divsi %K, %c64 : i32\n"
         "    scf.for %i = %c0 to %n step %c1 : i32 {\n"
         "      ttg.local_store %p, %x : i32\n    }\n"
         "    scf.for %i = %c0 to %o step %c1 : i32 {\n"
         "      ttg.local_store %p, %x : i32\n    }\n"
         "    scf.for %i = %c0 to %K step %c3 : i32 {\n"
         "      ttg.local_store %p, %x : i32\n    }\n" CLOSE,
         {"param trips = 1 fixed\n", "param K_tiles = 64 fixed\n",
          "param K_tiles_2 = 1366 fixed\n"}},
        /* a stage that stays in the last round */
        {HEAD("90") ALLOC_R FOR("%u = %c0") "      %k = arith.subi %K, %c1 : i32\n"
                                            "      %q = arith.cmpi slt, %i, %k : i32\n"
                                            "      %j = arith.addi %u, %c2 : i32\n"
                                            "      %h = arith.remsi %u, %c3 : i32\n" AT(
                                                "%h") "      %n = arith.select %q, %j, %u : i32\n  "
                                                      "    scf.yield %n : i32\n    }\n" CLOSE,
         {"writes x[i * 2 % 3]\n"}},
        {HEAD("90") "    tt.load %p : tensor<64x64x!tt.ptr<f16>>\n"
                    "    tt.store %p, %v : tensor<64x64x!tt.ptr<f16>>\n" CLOSE,
         {"tensor tile_r : registers float16 (64, 64)", "simt load reads p writes tile_r\n",
          "simt store reads tile_r adds p\n"}},
        /* more than the registers have room for */
        {HEAD("90") "    tt.load %p : tensor<512x512x!tt.ptr<f16>>\n" CLOSE,
         {"simt load reads p\n"}},
        /* attributes before the number of a constant */
        {HEAD("90") ALLOC_S
         "    %d = arith.constant {a = {b = 3 : i32}, c = array<i32: 1>} 7 : i32\n"
         "    scf.for %i = %c0 to %d step %c1 : i32 {\n"
         "      ttg.local_store %p, %x : i32\n    }\n" CLOSE,
         {"for i in 0..7 {\n"}},
        /* a bound below the start, which no division rounds */
        {HEAD("90") ALLOC_S "    %d = arith.subi %c0, %c2 : i32\n"
                            "    scf.for %i = %c0 to %d step %c2 : i32 {\n"
                            "      ttg.local_store %p, %x : i32\n    }\n" CLOSE,
         {"for i in 0..0 {\n"}},
        {HEAD("90") "    tt.load %p : tensor<0x64x!tt.ptr<f16>>\n"
                    "    tt.load %p : tensor<64x64x!tt.ptr<zz>>\n" CLOSE,
         {"kernel f on sm_90"}},
        /* the phase of a ring before its first stage */
        {HEAD("90") ALLOC_B
         "    %r:2 = scf.for %i = %c0 to %K step %c1 iter_args(%u = %m1, %h = %c0) "
         "-> (i32, i32) : i32 {\n      ttng.wait_barrier %b, %h : i32\n"
         "      %e = arith.addi %u, %c1 : i32\n"
         "      %q = arith.cmpi eq, %e, %c3 : i32\n"
         "      %n = arith.select %q, %c0, %e : i32\n"
         "      %g = arith.xori %h, %c1 : i32\n"
         "      %o = arith.select %q, %g, %h : i32\n"
         "      scf.yield %n, %o : i32, i32\n    }\n" CLOSE,
         {"wait b_bar parity max(i - 1, 0) / 3 % 2\n"}},
        /* a while in a for, and in a while */
        {HEAD("90") ALLOC_S LOOP WHILE "      ttg.local_store %p, %x : i32\n"
                                       "      scf.yield %s2 : i32\n    }\n    }\n" CLOSE,
         {"any\n", "simt store writes x\n"}},
        {HEAD("90") ALLOC_S WHILE "      ttg.local_store %p, %x : i32\n    }\n" CLOSE, {"any\n"}},
    };
#define EITHER(one, two)                                                                  \
    {                                                                                     \
        HEAD("90")                                                                        \
        ALLOC_S one two                                                                   \
            "    %z = scf.if %w -> (i32) {\n      scf.yield %y1 : i32\n    } else {\n"    \
            "      scf.yield %y2 : i32\n    }\n    ttg.local_store %p, %z : i32\n" CLOSE, \
            "only a run on the device knows it"                                           \
    }
#define PART(name, at, shape) \
    "    " name " = ttg.memdesc_subslice %x[" at "] : i32 -> !ttg.memdesc<" shape "xf16, #smem>\n"
    static const fault faults[] = {
        {HEAD("90") ALLOC_R "    %z = scf.for %i = %c0 to %c2 step %v iter_args(%u = %c0) -> (i32) "
                            ": i32 {\n      scf.yield %i : i32\n    }\n" AT("%z") CLOSE,
         "only a run on the device knows it"},
        {HEAD("90") ALLOC_R "    %z = scf.for %i = %c0 to %c2 step %m1 iter_args(%u = %c0) -> "
                            "(i32) : i32 {\n      scf.yield %i : i32\n    }\n" AT("%z") CLOSE,
         "only a run on the device knows it"},
        {HEAD("90")
             ALLOC_R AT("%v") "    scf.while (%s1 = %c0) : (i32) -> i32 {\n      ttg.local_secret "
                              "%x\n      scf.condition(%true) %s1 : i32\n    } do {\n    }\n" CLOSE,
         "a stage of a ring: only a run on the device knows it"},
        EITHER(PART("%y1", "0, 0", "32x64"), PART("%y2", "32, 0", "32x64")),
        EITHER(PART("%y1", "0, 0", "32x64"), PART("%y2", "0, 0", "16x64")),
        EITHER(PART("%y1", "0, 0", "64x64"),
               "    %y2 = ttg.memdesc_trans %x {order = [1, 0]} : i32\n"),
        EITHER(PART("%y1", "0, 0", "64x64"), "    %y2 = ttg.local_alloc : () -> " S2 "\n"),
        {HEAD("90") ALLOC_S "    %x2 = ttg.local_alloc : () -> " S2 "\n" FOR(
             "%u = %x") "      ttg.local_store %p, %u : i32\n      scf.yield %x2 : i32\n    }\n"
                        "    ttg.local_load %r : i32\n    %n = arith.divsi %K, %c0 : i32\n"
                        "    %y = ttg.memdesc_index %x[%n] : i32\n"
                        "    ttg.local_load %y : i32\n" CLOSE,
         "only a run on the device knows it"},
        {HEAD("90") ALLOC_R WHILE "      ttg.local_secret %s2 : " S2 "\n    }\n" CLOSE,
         "'ttg.local_secret' is not known"},
        {HEAD("90") LOOP "    scf.for %j = %c0 to %K {\n    }\n    }\n" CLOSE,
         "a loop without a variable and bounds"},
        {HEAD("90") "    scf.for %c0 to %K step %c1 {\n    }\n" CLOSE,
         "a loop without a variable and bounds"},
        {HEAD("90") "    scf.for %i = %c0 to %K {\n    }\n" CLOSE,
         "a loop without a variable and bounds"},
        {HEAD("90") "    scf.while (%s1 = %c0) {\n    }\n" CLOSE, "a loop without a body"},
        {HEAD("90") LOOP "    scf.while (%s1 = %c0) {\n    }\n    }\n" CLOSE,
         "a loop without a body"},
        {HEAD("90") ALLOC_S "    scf.for %i = %c0 to %K step %c1  : i32 {\n"
                            "      ttg.local_store %p, %x : i32\n    ^bb1:\n    }\n" CLOSE,
         "a block that ends with neither"},
        {HEAD("90") ALLOC_S WHILE "      ttg.local_store %p, %x : i32\n    ^bb1:\n    }\n" CLOSE,
         "a block that ends with neither"},
        {HEAD("90") ALLOC_S LOOP LOOP
         "      ttg.local_store %p, %x : i32\n    ^bb1:\n    }\n    }\n" CLOSE,
         "a block that ends with neither"},
        {HEAD("90") ALLOC_S WHILE "      ttg.local_secret %x : i32\n    }\n" CLOSE,
         "'ttg.local_secret' is not known"},
        {HEAD("90") ALLOC_S
         "    scf.while (%s1 = %c0) : (i32) -> i32 {\n      ttg.local_secret %x\n"
         "      scf.condition(%w) %s1 : i32\n    } do {\n    }\n" CLOSE,
         "'ttg.local_secret' is not known"},
        {HEAD("90") ALLOC_S "    scf.if %w {\n      ttg.local_secret %x\n    }\n" CLOSE,
         "'ttg.local_secret' is not known"},
        {HEAD("90") ALLOC_S LOOP "    scf.if %w {\n    } else {\n      ttg.local_secret %x\n    }\n"
                                 "    }\n" CLOSE,
         "'ttg.local_secret' is not known"},
        {HEAD("90") ALLOC_S
         "    an.operation_with_a_name_that_is_much_longer_than_any_message_may_be "
         "%x : i32\n" CLOSE,
         "'an.operation_with_a_name_that_is_much_longer_than_any_messag' is not known"},
        {HEAD("90") "    foo.bar {\n      %x = ttg.local_alloc : () -> " S2 "\n    }\n" CLOSE,
         "'foo.bar' is not known"},
        /* buffers that data chooses */
        {HEAD("90") ALLOC_S
         "    %x2 = ttg.local_alloc : () -> " S2
         "\n    %z = scf.if %w -> (i32) {\n      scf.yield %x : i32\n    } else {\n"
         "      scf.yield %x2 : i32\n    }\n    ttg.local_store %p, %z : i32\n" CLOSE,
         "only a run on the device knows it"},
        {HEAD("90") ALLOC_R
         "    %y0 = ttg.memdesc_index %x[%c0] : i32\n"
         "    %z = scf.if %w -> (i32) {\n      scf.yield %x : i32\n    } else {\n"
         "      scf.yield %y0 : i32\n    }\n    ttg.local_store %p, %z : i32\n" CLOSE,
         "only a run on the device knows it"},
    };
    CHECK_SAMPLES(list);
    CHECK_FAULTS(faults);
}

/* A part that changes irregularly, so that the whole function is run. */
#define RUN                                                                                \
    "    scf.for %i = %c0 to %c2 step %c1 : i32 {\n      %n7 = arith.xori %i, %c2 : i32\n" \
    "      %n8 = arith.remsi %n7, %c2 : i32\n" AT("%n8") "    }\n"

static void loops_that_are_run(void **state) {
    (void)state;
    static const sample list[] = {
        {HEAD("90") ALLOC_R RUN "    %r = scf.for %i = %c0 to %c2 step %c1 iter_args(%u = %c1) -> "
                                "(i32) : i32 {\n" AT("%u") "    }\n" CLOSE,
         {"run with its sizes", "writes x[0]\n", "writes x[1]\n"}},
        {HEAD("90") ALLOC_R RUN "    scf.while (%s1 = %c0) : (i32) -> i32 {\n"
                                "      scf.condition(%c0) %s1 : i32\n    } do {\n    }\n" CLOSE,
         {"run with its sizes"}},
    };
    static const fault faults[] = {
        {HEAD("90") ALLOC_R RUN "    scf.while (%s1 = %c0) : (i32) -> i32 {\n"
                                "      ttg.local_secret %x\n      scf.condition(%true) %s1 : i32\n"
                                "    } do {\n    }\n" CLOSE,
         "'ttg.local_secret' is not known"},
        {HEAD("90") ALLOC_R RUN "    scf.while (%s1 = %c0) : (i32) -> i32 {\n"
                                "      scf.condition(%true) %s1 : i32\n    } do {\n"
                                "      ttg.local_secret %x\n    }\n" CLOSE,
         "'ttg.local_secret' is not known"},
        {HEAD("90") ALLOC_R RUN "    scf.while (%s1 = %c0) : (i32) -> i32 {\n"
                                "      scf.condition(%w) %s1 : i32\n    } do {\n    }\n" CLOSE,
         "only a run on the device knows it"},
        {HEAD("90") ALLOC_R RUN "    scf.for %i = %c0 to %c2 step %c1 : i32 {\n"
                                "      ttg.local_secret %x\n    }\n" CLOSE,
         "'ttg.local_secret' is not known"},
    };
    CHECK_SAMPLES(list);
    CHECK_FAULTS(faults);
}

/* Two statements read what was not written, each in several rounds: two findings, with counts. */
static void findings_of_loops_that_are_run(void **state) {
    (void)state;
    static const char text[] =
        HEAD("90") ALLOC_R RUN "    %a = ttg.local_alloc : () -> " S2 "\n"
                               "    %b = ttg.local_alloc : () -> " S2 "\n"
                               "    scf.for %i = %c0 to %c3 step %c1 : i32 {\n"
                               "      ttg.local_load %a : " S2 "\n"
                               "      ttg.local_load %b : " S2 "\n    }\n" CLOSE;
    const spad_define define = {"K", 8};
    const spad_kernel_options options = {.defines = &define, .define_count = 1};
    spad_kernel *kernel;
    spad_check *check;
    spad_error error;
    assert_ok(
        spad_kernel_read_ttgir(&kernel, NULL, text, strlen(text), "k", &options, NULL, &error),
        &error);
    assert_ok(spad_check_create(&check, kernel, NULL, &error), &error);
    size_t unwritten = 0;
    for (size_t i = 0; i < spad_check_finding_count(check); i++) {
        const spad_finding *finding = spad_check_get_finding(check, i);
        if (finding->code != SPAD_FINDING_UNINITIALISED_READ) continue;
        assert_int_equal(finding->count, 3);
        unwritten++;
    }
    assert_int_equal(unwritten, 2);
    spad_check_destroy(check);
    spad_kernel_destroy(kernel);
}

/* A loop whose condition is missing has no number of rounds. */
static void loops_without_a_condition(void **state) {
    (void)state;
    static const fault faults[] = {
        {HEAD("90") ALLOC_S "    scf.while (%s1 = %c0) : (i32) -> i32 {\n    } do {\n"
                            "      ttg.local_store %p, %x : i32\n    }\n" CLOSE,
         "a loop without a condition"},
        {HEAD("90") LOOP "    scf.while (%s1 = %c0) : (i32) -> i32 {\n      foo.bar\n    } do {\n"
                         "    }\n    }\n" CLOSE,
         "a loop without a condition"}};
    CHECK_FAULTS(faults);
}

/* More statements than a kernel may have. */
static void too_many_statements(void **state) {
    (void)state;
#define STORES(n) n n n n n n n n
    static const char text[] = HEAD("90") ALLOC_R FOR("%u = %c0")
        AT("%u") "      %j = arith.muli %u, %i : i32\n      %h = arith.remsi %j, %c3 : "
                 "i32\n" STORES(
                     STORES("      ttg.local_store %p, %y : i32\n")) "      scf.yield %h : i32\n   "
                                                                     " }\n" CLOSE;
    const spad_define size = {"K", 8000};
    const spad_kernel_options options = {.defines = &size, .define_count = 1};
    spad_kernel *kernel;
    spad_error error;
    assert_int_equal(
        spad_kernel_read_ttgir(&kernel, NULL, text, strlen(text), "k", &options, NULL, &error),
        SPAD_ERR_SYNTAX);
    assert_non_null(strstr(error.message, "more than 400000 statements: give smaller sizes"));
    assert_null(kernel);
}

/* Numbers at the ends of their range are no stages. */
static void far_numbers(void **state) {
    (void)state;
    static const sample list[] = {
        {HEAD("90") ALLOC_R LOOP "      %n = arith.constant -9223372036854775807 : i64\n"
                                 "      %e = arith.addi %i, %n : i64\n"
                                 "      %g = arith.addi %e, %m1 : i64\n"
                                 "      %h = arith.maxsi %g, %c0 : i64\n" AT("%h") "    }\n" CLOSE,
         {"writes x[0]"}},
        /* rings of no stage, and of more than there can be */
        {HEAD("90") ALLOC_R
         "    %r = scf.for %i = %c0 to %c3 step %c1 iter_args(%u = %m1) -> (i32) : "
         "i32 {\n      %e = arith.addi %u, %c1 : i32\n" AT(
             "%e") "      %q = arith.cmpi eq, %e, %c0 : i32\n      %n = arith.select %q, %c0, %e : "
                   "i32\n"
                   "      scf.yield %n : i32\n    }\n" CLOSE,
         {"writes x[0]", "writes x[1]", "writes x[2]"}},
        {HEAD("90") ALLOC_R
         "    %big = arith.constant 9223372036854775807 : i64\n"
         "    %r = scf.for %i = %c0 to %c1 step %c1 iter_args(%u = %c1) -> (i32) : "
         "i32 {\n" AT(
             "%u") "      %e = arith.addi %u, %c1 : i32\n"
                   "      %q = arith.cmpi eq, %e, %big : i32\n      %n = arith.select %q, %c0, %e "
                   ": i32\n"
                   "      scf.yield %n : i32\n    }\n    %y2 = ttg.memdesc_index %x[%r] : i32\n"
                   "    ttg.local_store %p, %y2 : i32\n" CLOSE,
         {"writes x["}},
    };
    CHECK_SAMPLES(list);
}

#define BITS(name, of) "    " name " = tt.splat " of " : i1 -> tensor<64x64xi1>\n"
#define COPY_BY(mask)                                                         \
    "    %h = tt.splat %p : !tt.ptr<f16> -> tensor<64x64x!tt.ptr<f16>>\n"     \
    "    %t1 = ttg.async_copy_global_to_local %h, %x mask " mask              \
    " : tensor<64x64x!tt.ptr<f16>> -> <64x64xf16, #shared, #smem, mutable>\n" \
    "    %t2 = ttg.async_commit_group tokens %t1\n"
#define ENOUGH "    %q = arith.cmpi sgt, %K, %c2 : i32\n    %o = arith.cmpi sgt, %K, %c3 : i32\n"

/* Bits of a tensor that come out of a condition, or that a loop carries. */
static void masks_are_carried(void **state) {
    (void)state;
    static const test_ttgir_sample list[] = {
        {HEAD("90") ALLOC_S ENOUGH BITS("%b1", "%o") BITS(
             "%b2",
             "%true") "    %m = scf.if %q -> (tensor<64x64xi1>) {\n      scf.yield %b1 : "
                      "tensor<64x64xi1>\n"
                      "    } else {\n      scf.yield %b2 : tensor<64x64xi1>\n    }\n" COPY_BY("%m")
                          CLOSE,
         {"cp load_t1 reads p writes x in loads\n", "cp zeros_t1 writes x in loads"}},
        /* one that is not known is a copy in any case */
        {HEAD("90") ALLOC_S ENOUGH BITS("%b1", "%o") BITS(
             "%b2", "%v") "    %m = scf.if %q -> (tensor<64x64xi1>) {\n      scf.yield %b1 : "
                          "tensor<64x64xi1>\n"
                          "    } else {\n      scf.yield %b2 : tensor<64x64xi1>\n    }\n" COPY_BY(
                              "%m") CLOSE,
         {"cp load_t1 reads p writes x in loads\n"}},
        {HEAD("90") ALLOC_S ENOUGH BITS(
             "%b1", "%o") "    %m = scf.for %i = %c0 to %K step %c1 iter_args(%n = %b1) -> "
                          "(tensor<64x64xi1>) : "
                          "i32 {\n" COPY_BY(
                              "%n") "      scf.yield %n : tensor<64x64xi1>\n    }\n" COPY_BY("%m")
                              CLOSE,
         {"for i in 0..", "cp load_t1 reads p writes x in loads\n"}},
    };
    CHECK_SAMPLES(list);
    static const test_ttgir_fault faults[] = {
        /* memory as it is, or in another shape */
        {HEAD("90") ALLOC_S
         "    %q = arith.cmpi sgt, %v, %c2 : i32\n    %y = ttg.memdesc_reshape %x "
         ": " S2 " -> !ttg.memdesc<4096xf16, #flat, #smem, mutable>\n"
         "    %z = arith.select %q, %x, %y : " S2 "\n    ttg.local_store %p, %z : " S2 "\n" CLOSE,
         "only a run on the device knows it"},
        /* a condition without an operand */
        {HEAD("90") ALLOC_S "    scf.if {\n    ttg.local_store %p, %x : i32\n    }\n" CLOSE,
         "a condition: only a run on the device knows it"},
    };
    CHECK_FAULTS(faults);
}

/* A loop that has no statement is run round by round where something else needs numbers. */
static void too_many_rounds(void **state) {
    (void)state;
    static const char text[] = HEAD("90") ALLOC_R
        "    %q = arith.muli %K, %K : i32\n    %z = arith.andi %q, %c3 : i32\n" AT("%z") LOOP
        "    }\n" CLOSE;
    const spad_define sizes[] = {{"K", 60000}, {"K", 2000000000}};
    for (int i = 0; i < 2; i++) {
        const spad_kernel_options options = {.defines = &sizes[i], .define_count = 1};
        spad_kernel *kernel;
        spad_error error;
        const spad_status status =
            spad_kernel_read_ttgir(&kernel, NULL, text, strlen(text), "k", &options, NULL, &error);
        spad_kernel_destroy(kernel);
        assert_int_equal(status, i == 0 ? SPAD_OK : SPAD_ERR_SYNTAX);
        if (i == 0) continue;
        assert_string_equal(error.message, "more than 1048576 rounds of loops that are run with "
                                           "numbers: give smaller sizes");
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(masks_are_carried),
        cmocka_unit_test(too_many_rounds),
        cmocka_unit_test(numbers),
        cmocka_unit_test(long_conditions),
        cmocka_unit_test(masks),
        cmocka_unit_test(loops),
        cmocka_unit_test(loops_that_are_run),
        cmocka_unit_test(findings_of_loops_that_are_run),
        cmocka_unit_test(loops_without_a_condition),
        cmocka_unit_test(too_many_statements),
        cmocka_unit_test(far_numbers),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
