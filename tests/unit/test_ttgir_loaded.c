/* SPDX-License-Identifier: Apache-2.0
 *
 * Numbers that partitions load from memory: one unknown, or one number of rounds, where the place
 * is the same and nothing is stored through its argument; else one for each load.
 */
#include <stdlib.h>
#include <string.h>

#include "spad/spad.h"
#include "support/support.h"
#include "support/ttgir.h"

#define B "!ttg.memdesc<1xi64, #flat, #smem, mutable>"
/* The default warps do `before` and then wait where data says so; partition 0 arrives. */
#define MODULE(before, captures, first, arguments, second)                                 \
    "#flat = #ttg.swizzled_shared<{vec = 1, perPhase = 1, maxPhase = 1, order = [0]}>\n"   \
    "#smem = #ttg.shared_memory\n"                                                         \
    "module attributes {\"ttg.num-warps\" = 4 : i32, ttg.target = \"cuda:90\"} {\n"        \
    "  tt.func public @f(%f: !tt.ptr<i32>, %g: !tt.ptr<i32>, %K: i32) {\n"                 \
    "    %c0 = arith.constant 0 : i32\n    %c1 = arith.constant 1 : i32\n"                 \
    "    %c2 = arith.constant 2 : i32\n    %true = arith.constant true\n"                  \
    "    %b = ttg.local_alloc : () -> " B "\n    ttng.init_barrier %b, 1 : " B "\n" before \
    "    ttg.warp_specialize(%b" captures ")\n    default {\n" first                       \
    "      ttg.warp_yield\n    }\n    partition0(%q: " B arguments ") num_warps(1) {\n"    \
    "      %d0 = arith.constant 0 : i32\n      %d1 = arith.constant 1 : i32\n"             \
    "      %d2 = arith.constant 2 : i32\n" second "      ttg.warp_return\n    } : (" B     \
    ") -> ()\n    tt.return\n  }\n}\n"
#define P "!tt.ptr<i32>"
#define LOAD(name, from) "      " name " = tt.load " from " : " P "\n"
#define IS(name, how) "      " name " = arith.cmpi " how " : i32\n"
#define WAIT(flag) \
    "      scf.if " flag " {\n        ttng.wait_barrier %b, %c0, %true : " B "\n      }\n"
#define ARRIVE(flag) "      scf.if " flag " {\n        ttng.arrive_barrier %q, 1 : " B "\n      }\n"
#define SHIFT(name, pointer, by) "      " name " = tt.addptr " pointer ", " by " : " P ", i32\n"
/* Both ask whether what they load is not 0, after some statements; partition 0 has %f as %r, %g as
 * %s and %K as %n. */
#define FLAGS(before, first, from, second, own)                                               \
    MODULE(before, ", %f, %g, %K", first LOAD("%v", from) IS("%w", "ne, %v, %c0") WAIT("%w"), \
           ", %r: " P ", %s: " P ", %n: i32",                                                 \
           second LOAD("%x", own) IS("%y", "ne, %x, %d0") ARRIVE("%y"))
#define PLAIN(before, first) FLAGS(before, first, "%f", "", "%r")

static size_t count_of(const char *text, const char *word) {
    size_t count = 0;
    for (const char *at = text; (at = strstr(at, word)) != NULL; at++) count++;
    return count;
}

/* With one of them, all is right, and that loads find the same is said; with more a wait may never
 * end. */
static void check_unknowns(const char *text, size_t wanted, bool same) {
    spad_ttgir_info info;
    char *shown = test_ttgir_text(text, 6, &info);
    if (count_of(shown, "\nunknown ") != wanted) print_error("%s\nof %s\n", shown, text);
    assert_int_equal(count_of(shown, "\nunknown "), wanted);
    free(shown);
    const char *said = strstr(info.approximated, " has the same value as other loads of its place");
    assert_int_equal(said != NULL, same);
    assert_int_equal(test_ttgir_verdict(text, 6) == SPAD_VERDICT_WRONG, wanted > 1);
}

static void one_flag(void **state) {
    (void)state;
    static const char *const list[] = {
        PLAIN("", ""),
        /* at the same place, which may depend on a size */
        FLAGS("", SHIFT("%z", "%f", "%c1"), "%z", SHIFT("%z", "%r", "%d1"), "%z"),
        FLAGS("", SHIFT("%z", "%f", "%K") SHIFT("%a", "%z", "%c1"), "%a",
              SHIFT("%z", "%r", "%d1") SHIFT("%a", "%z", "%n"), "%a"),
        /* what is computed from it */
        MODULE("", ", %f",
               LOAD("%v", "%f") "      %a = arith.addi %v, %c1 : i32\n" IS("%w", "sgt, %a, %c2")
                   WAIT("%w"),
               ", %r: " P,
               LOAD("%x", "%r") "      %a = arith.addi %x, %d1 : i32\n" IS("%y", "sgt, %a, %d2")
                   ARRIVE("%y")),
        /* other arguments are stored through, and this one is copied from */
        PLAIN("    tt.store %g, %K : " P "\n", ""),
        PLAIN("    %e = tt.splat %f : " P " -> tensor<4x" P ">\n"
              "    %k = tt.load %e : tensor<4x" P ">\n",
              ""),
    };
    for (size_t i = 0; i < sizeof list / sizeof *list; i++) {
        check_unknowns(list[i], 1, true);
    }
}

#define ATTRIBUTE(word)                                                                 \
    MODULE("", ", %f", LOAD("%v", "%f") IS("%w", "ne, %v, %c0") WAIT("%w"), ", %r: " P, \
           "      %x = tt.load %r {" word "} : " P "\n" IS("%y", "ne, %x, %d0") ARRIVE("%y"))

static void two_flags(void **state) {
    (void)state;
    static const char *const list[] = {
        /* of other arguments and places */
        FLAGS("", "", "%f", "", "%s"),
        FLAGS("", SHIFT("%z", "%f", "%c1"), "%z", SHIFT("%z", "%r", "%d2"), "%z"),
        FLAGS("", SHIFT("%z", "%f", "%K"), "%z", SHIFT("%z", "%r", "%d1"), "%z"),
        FLAGS("", "      %z = tt.bitcast %f : " P " -> " P "\n", "%z",
              "      %z = tt.bitcast %r : " P " -> " P "\n", "%z"),
        /* it is stored through the argument, in front of the partitions or in one, or by others */
        PLAIN("    tt.store %f, %K : " P "\n", ""),
        PLAIN("    %z = tt.addptr %f, %c1 : " P ", i32\n    tt.store %z, %K : " P "\n", ""),
        PLAIN("", "      %o = tt.atomic_rmw exch, acq_rel, gpu, %f, %K, %true : (" P ") -> i32\n"),
        FLAGS("", "", "%f", "      tt.store %r, %n : " P "\n", "%r"),
        ATTRIBUTE("isVolatile = true"),
        ATTRIBUTE("cacheModifier = 7 : i32"),
        /* where the pointer leads is not known */
        PLAIN("    %z = foo.bar %f : " P "\n", ""),
        FLAGS("    %z = arith.select %true, %f, %g : " P "\n", "", "%z", "", "%r"),
        FLAGS("    %t = tt.load %g : " P "\n    %h = arith.cmpi eq, %t, %c0 : i32\n"
              "    %z = scf.if %h -> (" P ") {\n      scf.yield %f : " P "\n    } else {\n"
              "      scf.yield %g : " P "\n    }\n",
              "", "%z", "", "%r"),
        FLAGS("    %z = scf.for %i = %c0 to %K step %c1 iter_args(%a = %f) -> (" P ") : i32 {\n"
              "      %e = tt.addptr %a, %c1 : " P ", i32\n      scf.yield %e : " P "\n    }\n",
              "", "%z", "", "%r"),
    };
    for (size_t i = 0; i < sizeof list / sizeof *list; i++) {
        check_unknowns(list[i], 2, false);
    }
    /* one number, and two comparisons of it */
    check_unknowns(MODULE("", ", %f", LOAD("%v", "%f") IS("%w", "ne, %v, %c0") WAIT("%w"),
                          ", %r: " P, LOAD("%x", "%r") IS("%y", "ne, %x, %d1") ARRIVE("%y")),
                   2, true);
}

/* A ring of one stage, in as many rounds as both partitions load. */
#define ROUNDS(from, own, step)                                                           \
    MODULE("", ", %f, %g",                                                                \
           LOAD("%v", from) "      scf.for %i = %c0 to %v step %c" step " : i32 {\n"      \
                            "        %h = arith.divui %i, %c" step " : i32\n"             \
                            "        %e = arith.andi %h, %c1 : i32\n"                     \
                            "        ttng.wait_barrier %b, %e, %true : " B "\n      }\n", \
           ", %r: " P ", %s: " P,                                                         \
           LOAD("%x", own) "      scf.for %i = %d0 to %x step %d" step " : i32 {\n"       \
                           "        ttng.arrive_barrier %q, 1 : " B "\n      }\n")

static void rounds(void **state) {
    (void)state;
    spad_ttgir_info info;
    char *text = test_ttgir_text(ROUNDS("%f", "%r", "1"), 6, &info);
    assert_string_equal(info.approximated,
                        "the load in line 25 has the same value as other loads of its place");
    assert_non_null(
        strstr(text, "the load in line 25 has the same value as other loads of its place"));
    assert_int_equal(count_of(text, "\nparam "), 1);
    assert_int_equal(count_of(text, "in 0..trips {"), 2);
    free(text);
    text = test_ttgir_text(ROUNDS("%f", "%r", "2"), 6, NULL);
    assert_int_equal(count_of(text, "\nparam "), 1);
    free(text);
    text = test_ttgir_text(ROUNDS("%f", "%s", "1"), 6, NULL);
    assert_int_equal(count_of(text, "\nparam "), 2);
    free(text);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(one_flag),
        cmocka_unit_test(two_flags),
        cmocka_unit_test(rounds),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
