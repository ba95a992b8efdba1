/* SPDX-License-Identifier: Apache-2.0
 *
 * Results of products that did not happen: in front of a pipelined loop without rounds the compiler
 * loads one all the same. If nothing depends on the value, it is no read of what nothing has
 * written; otherwise it is one.
 */
#include <stdlib.h>
#include <string.h>

#include "spad/spad.h"
#include "support/support.h"
#include "support/ttgir.h"

/* %q: 64 < K. Under it a product writes %a. */
#define PREDICATED                                                                           \
    HEAD("100")                                                                              \
    "    %c64 = arith.constant 64 : i32\n    %ph = arith.constant 0 : i32\n"                 \
    "    %false = arith.constant false\n    %a = ttng.tmem_alloc : () -> " T2                \
    "\n    %o = ttng.tmem_alloc : () -> " T2 "\n" ALLOC_S "    ttg.local_store %p, %x : " S2 \
    "\n    ttng.fence_async_shared\n"                                                        \
    "    %q = arith.cmpi slt, %c64, %K : i32\n    %u = arith.cmpi slt, %c2, %K : i32\n"      \
    "    %zero = arith.constant dense<0.0> : " ACC "\n    %b = ttg.local_alloc : () -> " B1  \
    "\n    ttng.init_barrier %b, 1 : " B1                                                    \
    "\n    ttng.tc_gen5_mma %x, %x, %a, %false, %q, %b[%true] {is_async} : i32\n"            \
    "    ttng.wait_barrier %b, %ph, %q : i32\n    ttng.inval_barrier %b : " B1               \
    "\n    %z = ttng.tmem_load %a : " T2 " -> " ACC "\n    %e = math.exp2 %z : " ACC "\n"
#define ACC "tensor<64x64xf32>"
#define USE(of) "    tt.store %p, " of " : " ACC "\n"
#define KEEP(of, when) "    ttng.tmem_store " of ", %o, " when " : " ACC " -> " T2 "\n"
#define CHOSEN(a, b) "    %s = arith.select %q, " a ", " b " : " ACC "\n"
#define IF(condition, what) "    scf.if " condition " {\n" what "    }\n"
#define GIVEN(yes, no)                                                                           \
    "    %g = scf.if %u -> (" ACC ") {\n      scf.yield " yes " : " ACC "\n    } else {\n      " \
    "scf.yield " no " : " ACC "\n    }\n"
#define BEGUN(first, body, last)                                                   \
    "    %r = scf.for %i = %c0 to %c2 step %c1 iter_args(%v = " first ") -> (" ACC \
    ") : i32 {\n" body "      scf.yield " last " : " ACC "\n    }\n"

#define ROUNDS(first, end, body) \
    "    scf.for %i = " first " to " end " step %c1 : i32 {\n" body "    }\n"
#define TILE "    %h = ttng.tmem_alloc %e : (" ACC ") -> " T2 "\n"
#define FACTOR(tile, when)                                                                     \
    "    %b2 = ttg.local_alloc : () -> " B1 "\n    ttng.init_barrier %b2, 1 : " B1             \
    "\n    ttng.tc_gen5_mma " tile ", %x, %o, %false, " when ", %b2[%true] {is_async} : i32\n" \
    "    ttng.wait_barrier %b2, %ph, " when " : i32\n    ttng.inval_barrier %b2 : " B1 "\n"

static void values_that_count(void **state) {
    (void)state;
    static const struct {
        const char *text;
        bool counts;
    } cases[] = {
        {PREDICATED CLOSE, false},
        {PREDICATED USE("%z") CLOSE, true},
        {PREDICATED USE("%e") CLOSE, true},
        /* stores with a predicate */
        {PREDICATED KEEP("%e", "%q") CLOSE, false},
        {PREDICATED KEEP("%e", "%true") CLOSE, true},
        {PREDICATED KEEP("%e", "%u") CLOSE, true},
        {PREDICATED KEEP("%e", "%q") USE("%z") CLOSE, true},
        /* in an `if` of the predicate, in its other block, and in another `if` */
        {PREDICATED IF("%q", USE("%e")) CLOSE, false},
        {PREDICATED IF("%u", USE("%e")) CLOSE, true},
        {PREDICATED IF("%u", IF("%q", USE("%e"))) CLOSE, false},
        {PREDICATED
         "    scf.if %q {\n" KEEP("%zero", "%true") "    } else {\n" USE("%e") "    }\n" CLOSE,
         true},
        /* a select takes another value, or this one */
        {PREDICATED CHOSEN("%e", "%zero") USE("%s") CLOSE, false},
        {PREDICATED CHOSEN("%zero", "%e") USE("%s") CLOSE, true},
        {PREDICATED "    %m = tt.splat %q : i1 -> tensor<64x64xi1>\n    %s = arith.select %m, %e, "
                    "%zero : tensor<64x64xi1>, " ACC "\n" USE("%s") CLOSE,
         false},
        /* what conditions and loops hand on */
        {PREDICATED GIVEN("%e", "%zero") USE("%g") CLOSE, true},
        {PREDICATED GIVEN("%e", "%zero") KEEP("%g", "%q") CLOSE, false},
        {PREDICATED BEGUN("%e", "", "%zero") CLOSE, false},
        {PREDICATED BEGUN("%e", USE("%v"), "%zero") CLOSE, true},
        {PREDICATED BEGUN("%e", KEEP("%v", "%q"), "%v") CLOSE, false},
        {PREDICATED BEGUN("%e", "", "%v") USE("%r") CLOSE, true},
        {PREDICATED BEGUN("%zero", USE("%v"), "%e") CLOSE, true},
        {PREDICATED BEGUN("%zero", KEEP("%v", "%q"), "%e") KEEP("%r", "%q") CLOSE, false},
        /* a loop that has no rounds without the predicate, and one that may have */
        {PREDICATED ROUNDS("%c64", "%K", USE("%e")) CLOSE, false},
        {PREDICATED "    %l = arith.subi %K, %c1 : i32\n" ROUNDS("%c64", "%l", USE("%e")) CLOSE,
         false},
        {PREDICATED "    %l = arith.addi %K, %c1 : i32\n" ROUNDS("%c64", "%l", USE("%e")) CLOSE,
         true},
        {PREDICATED ROUNDS("%c2", "%K", USE("%e")) CLOSE, true},
        /* a tile with the value, which products read */
        {PREDICATED TILE FACTOR("%h", "%q") CLOSE, false},
        {PREDICATED TILE FACTOR("%h", "%true") CLOSE, true},
        {PREDICATED TILE "    %y = ttng.tmem_load %h : " T2 " -> " ACC "\n" USE("%y") CLOSE, true},
        /* what is not known may do anything */
        {PREDICATED "    %w = tt.what %e : " ACC "\n" CLOSE, true},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        for (int holds = 0; holds < 2; holds++) {
            const spad_verdict verdict = test_ttgir_verdict(cases[i].text, holds ? 128 : 32);
            const bool wrong = !holds && cases[i].counts;
            if ((verdict == SPAD_VERDICT_WRONG) != wrong) print_error("%zu %d\n", i, holds);
            assert_int_equal(verdict == SPAD_VERDICT_WRONG, wrong);
        }
    }
    char *kernel = test_ttgir_text(cases[3].text, 32, NULL);
    assert_non_null(strstr(kernel, "simt load_z reads a\n"));
    free(kernel);
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(values_that_count)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
