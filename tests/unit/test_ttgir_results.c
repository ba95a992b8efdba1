/* SPDX-License-Identifier: Apache-2.0
 *
 * What is not waited for: results of products, writes without a fence, and loops of partitions that
 * belong together.
 */
#include <stdlib.h>
#include <string.h>

#include "spad/spad.h"
#include "support/support.h"
#include "support/ttgir.h"

#define ACC "tensor<64x64xf32>"
#define PRODUCT(result, of)                                                               \
    "    " result " = ttng.warp_group_dot %x, %x, " of " {isAsync = true} : " S2 " * " S2 \
    " -> " ACC "\n"
#define WAIT(result, of, pending) \
    "    " result " = ttng.warp_group_dot_wait " of " {pendings = " pending " : i32} : " ACC "\n"
#define USE(of) "    tt.store %p, " of " : " ACC "\n"
#define FILLED_X ALLOC_S "    ttg.local_store %p, %x : " S2 "\n    ttng.fence_async_shared\n"
#define ROUNDS(body)                                                                             \
    "    %r = scf.for %i = %c0 to %K step %c1 iter_args(%u = %zero) -> (" ACC ") : i32 {\n" body \
    "      scf.yield %o : " ACC "\n    }\n"
#define LAST "    ttng.warp_group_dot_wait {pendings = 0 : i32}\n"
#define ZERO "    %zero = arith.constant dense<0.0> : " ACC "\n"

#define CHOSEN(a, b) \
    "    %e = arith.cmpi sgt, %K, %c2 : i32\n    %z = arith.select %e, " a ", " b " : " ACC "\n"
#define BEGUN(first, body, last)                                                  \
    "    %r = scf.for %i = %c0 to %K step %c1 iter_args(%u = " first ") -> (" ACC \
    ") : i32 {\n" body "      scf.yield " last " : " ACC "\n    }\n"
#define ENDLESS(first)                                                           \
    "    %r = scf.while (%u = " first ") : (" ACC ") -> " ACC                    \
    " {\n      scf.condition(%true) %u : " ACC "\n    } do {\n    ^bb0(%v: " ACC \
    "):\n      scf.yield %v : " ACC "\n    }\n"

/* What a wait hands on is read while its product may be under way. */
static void results_are_waited_for(void **state) {
    (void)state;
    static const struct {
        const char *text;
        spad_verdict verdict;
    } list[] = {
        {HEAD("90") FILLED_X ZERO PRODUCT("%q", "%zero") WAIT("%o", "%q", "0") USE("%o") CLOSE,
         SPAD_VERDICT_PROVED_SHAPE},
        {HEAD("90") FILLED_X ZERO PRODUCT("%q", "%zero") WAIT("%o", "%q", "1") USE("%o") LAST CLOSE,
         SPAD_VERDICT_WRONG},
        /* another product comes after it, and may stay under way */
        {HEAD("90") FILLED_X ZERO PRODUCT("%q", "%zero") PRODUCT("%q2", "%zero")
             WAIT("%o", "%q", "1") USE("%o") LAST CLOSE,
         SPAD_VERDICT_PROVED_SHAPE},
        {HEAD("90") FILLED_X ZERO PRODUCT("%q", "%zero") PRODUCT("%q2", "%zero")
             WAIT("%o", "%q", "2") USE("%o") LAST CLOSE,
         SPAD_VERDICT_WRONG},
        /* the next product adds to it, in order; after the loop there is a wait for it, or none */
        {HEAD("90") FILLED_X ZERO ROUNDS(PRODUCT("%q", "%u") WAIT("%o", "%q", "1"))
             WAIT("%e", "%r", "0") USE("%e") CLOSE,
         SPAD_VERDICT_PROVED_ALL},
        {HEAD("90") FILLED_X ZERO ROUNDS(PRODUCT("%q", "%u") WAIT("%o", "%q", "1"))
             WAIT("%e", "%r", "1") USE("%e") LAST CLOSE,
         SPAD_VERDICT_WRONG},
        {HEAD("90") FILLED_X ZERO ROUNDS(PRODUCT("%q", "%u") WAIT("%o", "%q", "1")) USE("%r")
             LAST CLOSE,
         SPAD_VERDICT_WRONG},
        /* by the next round */
        {HEAD("90") FILLED_X ZERO ROUNDS(USE("%u") PRODUCT("%q", "%zero") WAIT("%o", "%q", "1"))
             LAST CLOSE,
         SPAD_VERDICT_WRONG},
        {HEAD("90") FILLED_X ZERO ROUNDS(USE("%u") PRODUCT("%q", "%zero") WAIT("%o", "%q", "0"))
             CLOSE,
         SPAD_VERDICT_PROVED_ALL},
        /* by a loop that begins with it, and through a condition */
        {HEAD("90") FILLED_X ZERO PRODUCT("%q0", "%zero") WAIT(
             "%o0", "%q0",
             "1") "    %r = scf.for %i = %c0 to %K step %c1 iter_args(%u = %o0) -> (" ACC
                  ") : i32 {\n" USE("%u") "      scf.yield %zero : " ACC "\n    }\n" LAST CLOSE,
         SPAD_VERDICT_WRONG},
        {HEAD("90") FILLED_X ZERO PRODUCT(
             "%q0",
             "%zero") "    %e = arith.cmpi sgt, %K, %c2 : i32\n    %z = scf.if %e -> (" ACC ") {\n"
                      "      scf.yield %q0 : " ACC "\n    } else {\n      scf.yield %zero : " ACC
                      "\n    }\n" WAIT("%o", "%z", "1") USE("%o") LAST CLOSE,
         SPAD_VERDICT_WRONG},
        /* as a factor in registers of the next one */
        {HEAD("90") FILLED_X ZERO PRODUCT("%q", "%zero") WAIT(
             "%o", "%q", "1") "    %q2 = ttng.warp_group_dot %o, %x, %zero {isAsync = true} : " ACC
                              " * " S2 " -> " ACC "\n" LAST CLOSE,
         SPAD_VERDICT_WRONG},
        /* of a select, which hands it on */
        {HEAD("90") FILLED_X ZERO PRODUCT("%q", "%zero") WAIT(
             "%o", "%q", "1") "    %e = arith.cmpi sgt, %K, %c2 : i32\n    %z = arith.select %e, "
                              "%zero, %o : " ACC "\n" WAIT("%o2", "%z", "1") USE("%o2") LAST CLOSE,
         SPAD_VERDICT_WRONG},
        {HEAD("90") FILLED_X ZERO PRODUCT("%q", "%zero") WAIT(
             "%o", "%q", "1") "    %e = arith.cmpi sgt, %K, %c2 : i32\n    %z = arith.select %e, "
                              "%zero, %o : " ACC "\n" WAIT("%o2", "%z", "0") USE("%o2") CLOSE,
         SPAD_VERDICT_PROVED_SHAPE},
        /* of one of two products that a select chooses */
        {HEAD("90") FILLED_X ZERO PRODUCT("%q", "%zero") PRODUCT("%q2", "%zero") CHOSEN("%q", "%q2")
             WAIT("%o", "%z", "1") USE("%o") LAST CLOSE,
         SPAD_VERDICT_WRONG},
        {HEAD("90") FILLED_X ZERO PRODUCT("%q", "%zero") PRODUCT("%q2", "%zero") CHOSEN("%q", "%q2")
             WAIT("%o", "%z", "0") USE("%o") CLOSE,
         SPAD_VERDICT_PROVED_SHAPE},
        /* of one that a loop begins with: in its first round, and after no round */
        {HEAD("90") FILLED_X ZERO PRODUCT("%q", "%zero")
             BEGUN("%q", WAIT("%o", "%u", "1") USE("%o"), "%zero") LAST CLOSE,
         SPAD_VERDICT_WRONG},
        {HEAD("90") FILLED_X ZERO PRODUCT("%q", "%zero")
             BEGUN("%q", WAIT("%o", "%u", "0") USE("%o"), "%zero") LAST CLOSE,
         SPAD_VERDICT_PROVED_ALL},
        {HEAD("90") FILLED_X ZERO PRODUCT("%q", "%zero") BEGUN("%q", "", "%u") WAIT("%o", "%r", "1")
             USE("%o") LAST CLOSE,
         SPAD_VERDICT_WRONG},
        /* and of a loop that data ends */
        {HEAD("90") FILLED_X ZERO PRODUCT("%q", "%zero") ENDLESS("%q") WAIT("%o", "%r", "1")
             USE("%o") LAST CLOSE,
         SPAD_VERDICT_WRONG},
        /* without a wait, or after one that is for others; a wait for all is one for each */
        {HEAD("90") FILLED_X ZERO PRODUCT("%q", "%zero") USE("%q") LAST CLOSE, SPAD_VERDICT_WRONG},
        {HEAD("90") FILLED_X ZERO PRODUCT("%q", "%zero") WAIT("%o", "%zero", "1") USE("%q")
             LAST CLOSE,
         SPAD_VERDICT_WRONG},
        {HEAD("90") FILLED_X ZERO PRODUCT("%q", "%zero") LAST USE("%q") CLOSE,
         SPAD_VERDICT_PROVED_SHAPE},
        {HEAD("90") FILLED_X ZERO BEGUN("%zero", PRODUCT("%q", "%u"), "%q") USE("%r") LAST CLOSE,
         SPAD_VERDICT_WRONG},
        {HEAD("90") FILLED_X ZERO PRODUCT("%q", "%zero") "    %h = arith.truncf %q : " ACC
                                                         " to tensor<64x64xf16>\n" LAST CLOSE,
         SPAD_VERDICT_WRONG},
        /* one that is not async is there at once */
        {HEAD("90") FILLED_X ZERO "    %q = ttng.warp_group_dot %x, %x, %zero : " S2 " * " S2
                                  " -> " ACC "\n" USE("%q") CLOSE,
         SPAD_VERDICT_PROVED_SHAPE},
        /* what is not used is not read, and what is no product has no result */
        {HEAD("90") FILLED_X ZERO PRODUCT("%q", "%zero") WAIT("%o", "%q", "1") LAST CLOSE,
         SPAD_VERDICT_PROVED_SHAPE},
        {HEAD("90") FILLED_X ZERO PRODUCT("%q", "%zero") WAIT("%o", "%zero", "1") USE("%o")
             LAST CLOSE,
         SPAD_VERDICT_PROVED_SHAPE},
    };
    for (size_t i = 0; i < sizeof list / sizeof *list; i++) {
        const spad_verdict verdict = test_ttgir_verdict(list[i].text, 4);
        if (verdict != list[i].verdict) print_error("%zu\n", i);
        assert_int_equal(verdict, list[i].verdict);
    }
    char *kernel = test_ttgir_text(list[1].text, 4, NULL);
    assert_non_null(strstr(kernel, "simt use_o reads"));
    free(kernel);
}

#define STORED ALLOC_S "    ttg.local_store %p, %x : " S2 "\n"
#define FENCE "    ttng.fence_async_shared {bCluster = false}\n"
#define DOT_T                                                                              \
    ALLOC_T "    ttng.tc_gen5_mma %x, %x, %a, %false, %true, %b[%true] {is_async} : i32\n" \
            "    ttng.wait_barrier %b, %c0 : " B1 "\n    %l = ttng.tmem_load %a : " T2 " -> f32\n"
#define FALSE "    %false = arith.constant false\n"

/* The fence that is taken to be after the init of an mbarrier is for that alone. */
static void inits_hide_no_fence(void **state) {
    (void)state;
    static const char lacks[] = HEAD("100") FALSE STORED ALLOC_B DOT_T CLOSE;
    static const char loop[] = HEAD("100") FALSE LOOP STORED ALLOC_B DOT_T
        "    ttng.inval_barrier %b : " B1 "\n    }\n" CLOSE;
    static const char after[] = HEAD("100") FALSE ALLOC_B STORED DOT_T CLOSE;
    static const char has[] = HEAD("100") FALSE STORED FENCE ALLOC_B DOT_T CLOSE;
    assert_int_equal(test_ttgir_verdict(lacks, 4), SPAD_VERDICT_WRONG);
    assert_int_equal(test_ttgir_verdict(loop, 4), SPAD_VERDICT_WRONG);
    assert_int_equal(test_ttgir_verdict(after, 4), SPAD_VERDICT_WRONG);
    assert_int_equal(test_ttgir_verdict(has, 4), SPAD_VERDICT_PROVED_SHAPE);
    char *kernel = test_ttgir_text(has, 4, NULL);
    assert_non_null(strstr(kernel, "init b_bar count 1\nfence mbarrier\n"));
    free(kernel);
    kernel = test_ttgir_text(after, 4, NULL);
    assert_non_null(strstr(kernel, "init b_bar count 1\nfence\n"));
    free(kernel);
}

/* A loop over tiles with a condition, and what it does in a round. */
#define TILES(end, zero, one, two, body)                                         \
    "      %r = scf.while (%s0 = " zero ") : (i32) -> i32 {\n"                   \
    "        %g = arith.cmpi slt, %s0, " end " : i32\n"                          \
    "        scf.condition(%g) %s0 : i32\n      } do {\n      ^bb0(%s2: i32):\n" \
    "        %s3 = arith.addi %s2, " one " : i32\n"                              \
    "        %e0 = arith.remsi %s2, " two " : i32\n"                             \
    "        %e1 = arith.remsi %s3, " two " : i32\n" body "        scf.yield %s3 : i32\n      }\n"
#define HANDED(end)                                                                            \
    HEAD("90")                                                                                 \
    ALLOC_B                                                                                    \
    "    %b2 = ttg.local_alloc : () -> " B1 "\n    ttng.init_barrier %b2, 1 : " B1             \
    "\n    %more = arith.addi %K, %c1 : i32\n"                                                 \
    "    ttg.warp_specialize(%b, %b2, %K, %c0, %c1, %c2)\n    default {\n" TILES(              \
        end, "%c0", "%c1", "%c2",                                                              \
        "        ttng.wait_barrier %b, %e0 : " B1 "\n        ttng.arrive_barrier %b2, 1 : " B1 \
        "\n") "      ttg.warp_yield\n    }\n    partition0(%q: " B1 ", %q2: " B1               \
              ", %n: i32, %z0: i32, %z1: i32, %z2: i32) num_warps(4) {\n" TILES(               \
                  "%n", "%z0", "%z1", "%z2",                                                   \
                  "        ttng.wait_barrier %q2, %e1 : " B1                                   \
                  "\n        ttng.arrive_barrier %q, 1 : " B1                                  \
                  "\n") "      ttg.warp_return\n    } : (" B1 ", " B1                          \
                        ", i32, i32, i32, i32) -> ()\n" CLOSE

/* Loops of partitions run as often as one another: each with any number of rounds they never end.
 */
static void loops_of_partitions_belong_together(void **state) {
    (void)state;
    assert_int_equal(test_ttgir_verdict(HANDED("%K"), 5), SPAD_VERDICT_PROVED_SHAPE);
    assert_int_equal(test_ttgir_verdict(HANDED("%more"), 5), SPAD_VERDICT_WRONG);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(results_are_waited_for),
        cmocka_unit_test(inits_hide_no_fence),
        cmocka_unit_test(loops_of_partitions_belong_together),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
