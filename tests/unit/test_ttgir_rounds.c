/* SPDX-License-Identifier: Apache-2.0
 *
 * Loops of which data decides where they end, in front of which a product asks whether there is a
 * round: what becomes a comparison of rounds, what does not, and which loads are left out with
 * their product.
 */
#include <stdlib.h>
#include <string.h>

#include "spad/spad.h"
#include "support/support.h"
#include "support/ttgir.h"

#define STORE "    ttg.local_store %p, %x : " S2 "\n"
#define NUMBERS                                                               \
    "    %c64 = arith.constant 64 : i32\n    %ph = arith.constant 0 : i32\n"  \
    "    %false = arith.constant false\n    %e = tt.load %p : !tt.ptr<i32>\n" \
    "    %a = ttng.tmem_alloc : () -> " T2 "\n" ALLOC_S STORE
#define ASKED "    %q = arith.cmpi slt, %c0, %e : i32\n"
#define PRODUCT(when)                                                                   \
    "    %b = ttg.local_alloc : () -> " B1 "\n    ttng.init_barrier %b, 1 : " B1        \
    "\n    ttng.tc_gen5_mma %x, %x, %a, %false, " when ", %b[%true] {is_async} : i32\n" \
    "    ttng.wait_barrier %b, %ph, " when " : i32\n    ttng.inval_barrier %b : " B1 "\n"
#define STEPS(range, body) "    scf.for %i = " range " : i32 {\n" body "    }\n"
#define ALL STEPS("%c0 to %e step %c64", STORE)
#define LOADED(name) "    " name " = ttng.tmem_load %a : i32\n"
#define DATA(body) HEAD("100") NUMBERS body CLOSE
#define IF_ROUNDS "if 0 < trips {\n    tc5 dot reads x, x writes a\n"

static char *text_of(const char *text, spad_ttgir_info *info) {
    spad_kernel *kernel;
    spad_error error;
    test_text shown;
    assert_ok(spad_kernel_read_ttgir(&kernel, info, text, strlen(text), "k", NULL, NULL, &error),
              &error);
    test_text_init(&shown);
    assert_ok(spad_kernel_write_text(kernel, &shown.sink, &error), &error);
    spad_kernel_destroy(kernel);
    return shown.bytes;
}

static void bounds(void **state) {
    (void)state;
    static const test_ttgir_sample list[] = {
        /* several loops with one end, and one whose end is a size */
        {DATA(ASKED PRODUCT("%q") ALL ALL
              "    %n = arith.addi %K, %c1 : i32\n" STEPS("%c0 to %n step %c1", STORE)),
         {IF_ROUNDS, "for i in 0..trips {", "for i_2 in 0..trips {",
          "for i_3 in 0..K_tiles + 1 {"}},
        /* less something that is no constant, and something that is not there */
        {DATA("    %l = arith.subi %e, %K : i32\n    %q = arith.cmpi slt, %c0, %l : i32\n" PRODUCT(
             "%q") STEPS("%c0 to %l step %c64", STORE)),
         {IF_ROUNDS, "for i in 0..trips {"}},
        {DATA("    %k = arith.addi %K, %c1 : i32\n    %l = arith.subi %e, %k : i32\n"
              "    %q = arith.cmpi slt, %c0, %l : i32\n" PRODUCT("%q")
                  STEPS("%c0 to %l step %c64", STORE)),
         {IF_ROUNDS, "for i in 0..trips {"}},
        {DATA("    %l = arith.subi %e\n    %q = arith.cmpi slt, %c0, %l : i32\n" PRODUCT("%q")
                  STEPS("%c0 to %l step %c64", STORE)),
         {IF_ROUNDS, "for i in 0..trips {"}},
        /* other multiples of the end, and a number that nothing is above */
        {DATA(ASKED
              "    %m = arith.muli %e, %m1 : i32\n    %g = arith.cmpi slt, %c0, %m : i32\n" PRODUCT(
                  "%q") STEPS("%c0 to %e step %c64",
                              "    %r = arith.muli %i, %c3 : i32\n"
                              "    %h = arith.cmpi slt, %r, %e : i32\n    scf.if %h {\n" STORE
                              "    }\n") "    scf.if %g {\n" STORE "    }\n"),
         {"if i * 192 < trips * 64 {", "if 0 < trips * -64 {"}},
        {DATA("    %k = arith.constant 9223372036854775807 : i64\n"
              "    %o = arith.constant 64 : i64\n    %z = arith.constant 0 : i64\n"
              "    %n = tt.load %p : !tt.ptr<i64>\n    %q = arith.cmpi slt, %z, %n : i64\n"
              "    %l = arith.subi %n, %o : i64\n    %g = arith.cmpi slt, %k, %l : i64\n" PRODUCT(
                  "%q") STEPS("%z to %l step %o", STORE) "    scf.if %g {\n" STORE "    }\n"),
         {IF_ROUNDS, "if i < trips - 1 {", "if 9223372036854775807 < trips * 64 - 64 {"}},
        /* starts of data, of two loops, and in a loop */
        {DATA("    %o = tt.load %p : !tt.ptr<i32>\n    %q = arith.cmpi slt, %o, %e : i32\n" PRODUCT(
             "%q") STEPS("%o to %e step %c64", STORE) STEPS("%o to %e step %c64", STORE)),
         {IF_ROUNDS, "for i_2 in 0..trips {"}},
        {DATA(LOOP
              "    %o = tt.load %p : !tt.ptr<i32>\n    %q = arith.cmpi slt, %o, %e : i32\n" PRODUCT(
                  "%q") STEPS("%o to %e step %c64", STORE) "    }\n"),
         {"for i in 0..K_tiles {", "if 0 < trips {", "for i_2 in 0..trips {"}},
    };
    CHECK_SAMPLES(list);
    static const test_ttgir_fault faults[] = {
        {DATA(ASKED PRODUCT("%q") STEPS("%c0 to %e step %c0", STORE)),
         "a condition: only a run on the device knows it"},
        {DATA(ASKED PRODUCT("%q") STEPS("%c0 to %e step %v", STORE)),
         "a condition: only a run on the device knows it"},
    };
    CHECK_FAULTS(faults);
}

/* What depends on the number of rounds in another way than its loop does is not known, because the
 * loop has any number of them. */
static void rounds_are_no_number(void **state) {
    (void)state;
#define RING "    %y0 = ttg.local_alloc : () -> " S3 "\n"
#define IN_RING(stage)                                          \
    "    %y = ttg.memdesc_index %y0[" stage "] : " S3 " -> " S2 \
    "\n    ttg.local_store %p, %y : " S2 "\n"
#define MOVED(stage, phase)                                                                       \
    "    %s1:2 = scf.for %j = %c0 to %K step %c1 iter_args(%s0 = " stage ", %h0 = " phase         \
    ") -> (i32, i32) : i32 {\n" IN_RING(                                                          \
        "%s0") "    ttng.wait_barrier %b0, %h0 : " B1                                             \
               "\n    %m = arith.addi %s0, %c1 : i32\n    %w1 = arith.cmpi sge, %m, %c3 : i32\n"  \
               "    %o = arith.select %w1, %c0, %m : i32\n    %t1 = arith.xori %h0, %c1 : i32\n"  \
               "    %u = arith.select %w1, %t1, %h0 : i32\n    scf.yield %o, %u : i32, i32\n    " \
               "}\n"
#define BAR "    %b0 = ttg.local_alloc : () -> " B1 "\n    ttng.init_barrier %b0, 1 : " B1 "\n"
    static const test_ttgir_fault faults[] = {
        /* the loop does nothing, and has gone */
        {DATA(RING STEPS("%c0 to %e step %c64",
                         "") "    %r = arith.remsi %e, %c3 : i32\n" IN_RING("%r")),
         "only a run on the device knows it"},
        {DATA(RING STEPS("%c0 to %e step %c64", "") IN_RING("%e")),
         "only a run on the device knows it"},
        /* a ring that starts at it */
        {DATA(RING BAR ASKED PRODUCT("%q") ALL
              "    %r = arith.remsi %e, %c3 : i32\n" MOVED("%r", "%c0")),
         "only a run on the device knows it"},
        {DATA(RING BAR ASKED PRODUCT("%q") ALL
              "    %r = arith.remsi %e, %c2 : i32\n" MOVED("%c0", "%r")),
         "only a run on the device knows it"},
    };
    CHECK_FAULTS(faults);
    static const test_ttgir_sample list[] = {
        {DATA(RING ALL "    %r = arith.remsi %e, %c3 : i32\n" IN_RING("%r")),
         {"writes y0[trips * 64 % 3]\n"}},
    };
    CHECK_SAMPLES(list);
}

/* A return that such a number decides is one that some blocks of the grid take. */
static void returns_by_rounds(void **state) {
    (void)state;
#define RETURN(relation)                                                                     \
    DATA("    %g = arith.cmpi " relation ", %e, %c64 : i32\n    cf.cond_br %g, ^bb1, ^bb2\n" \
         "  ^bb1:\n    tt.return\n  ^bb2:\n" ASKED PRODUCT("%q") ALL)
    static const char *const texts[] = {RETURN("sgt"), RETURN("slt")};
    for (int i = 0; i < 2; i++) {
        spad_ttgir_info info;
        char *kernel = text_of(texts[i], &info);
        assert_non_null(strstr(kernel, IF_ROUNDS));
        assert_string_equal(info.skipped, "");
        assert_non_null(strstr(info.approximated, "the return in line 26 is not taken"));
        free(kernel);
    }
}

static void loads_of_products(void **state) {
    (void)state;
    static const test_ttgir_sample list[] = {
        {DATA(ASKED PRODUCT("%q") LOADED("%z") LOADED("%y") ALL),
         {"if 0 < trips {\n    simt load_z reads a\n    simt load_y reads a\n}\n"}},
        {DATA(
             LOOP
             "    %n = tt.load %p : !tt.ptr<i32>\n    %q = arith.cmpi slt, %c0, %n : i32\n" PRODUCT(
                 "%q") LOADED("%z") STEPS("%c0 to %n step %c64", STORE) "    }\n"),
         {"    if 0 < trips {\n        simt load_z reads a\n    }\n"}},
        /* two products, by other conditions; something else that writes it, and that reads it */
        {DATA(ASKED "    %g = arith.cmpi slt, %c64, %e : i32\n" PRODUCT("%q") PRODUCT("%g")
                  LOADED("%z") ALL),
         {"invalidate b_bar_2\nsimt load_z reads a\n"}},
        {DATA(ASKED "    ttng.tmem_store %p, %a, %true : i32\n" PRODUCT("%q") LOADED("%z") ALL),
         {"invalidate b_bar\nsimt load_z reads a\n"}},
        /* a product in the other block of a condition */
        {DATA(ASKED "    %g = arith.cmpi slt, %K, %c2 : i32\n    scf.if %g {\n" STORE
                    "    } else {\n" PRODUCT("%q") "    }\n" LOADED("%z") ALL),
         {"simt load_z reads a\n"}},
    };
    CHECK_SAMPLES(list);
    spad_ttgir_info info;
    char *kernel = text_of(
        DATA("    %q = arith.cmpi sgt, %c0, %c1 : i32\n" PRODUCT("%q") LOADED("%z") LOADED("%y")),
        &info);
    assert_null(strstr(kernel, "reads a"));
    assert_string_equal(info.approximated, "the load in line 31 is left out where its product is");
    free(kernel);
}

static void put_conditions(test_text *text, int depth) {
    for (int i = 0; i < depth; i++) {
        test_text_put(text, "    %%n%d = arith.constant %d : i32\n", i, i);
        test_text_put(text, "    %%g%d = arith.cmpi ne, %%K, %%n%d : i32\n", i, i);
        test_text_put(text, "    scf.if %%g%d {\n", i);
    }
}

/* More blocks in blocks than are looked at, in front of a load: it is not left out. */
static void deep_blocks(void **state) {
    (void)state;
    for (int depth = 20; depth <= 40; depth += 20) {
        spad_ttgir_info info;
        test_text text;
        test_text_init(&text);
        test_text_put(&text, "%s", HEAD("100") NUMBERS);
        put_conditions(&text, depth);
        test_text_put(&text, "    tt.call @g(%%K, %%p) : (i32, !tt.ptr<f16>) -> ()\n");
        for (int i = 0; i < depth; i++) test_text_put(&text, "    }\n");
        test_text_put(&text, "%s", ASKED PRODUCT("%q") LOADED("%z") ALL "    tt.return\n  }\n");
        test_text_put(&text, "  tt.func private @g(%%K: i32, %%p: !tt.ptr<f16>) {\n%s", ALLOC_S);
        put_conditions(&text, depth);
        test_text_put(&text, "%s", STORE);
        for (int i = 0; i < depth; i++) test_text_put(&text, "    }\n");
        test_text_put(&text, "%s", CLOSE);
        free(text_of(text.bytes, &info));
        assert_int_equal(strstr(info.approximated, "is left out") != NULL, depth == 20);
        test_text_free(&text);
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(bounds),
        cmocka_unit_test(rounds_are_no_number),
        cmocka_unit_test(returns_by_rounds),
        cmocka_unit_test(loads_of_products),
        cmocka_unit_test(deep_blocks),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
