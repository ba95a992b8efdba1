/* SPDX-License-Identifier: Apache-2.0
 *
 * Numbers of TTGIR at the edges: casts and shifts that no program has, rings and phases that start
 * outside of their ring, sums with a minus on either side, conditions that say how large a size is,
 * and expressions that there is no memory for.
 */
#include <string.h>

#include "spad/spad.h"
#include "support/support.h"
#include "support/ttgir.h"

static spad_kernel *read_sized(const char *text, int64_t size, spad_ttgir_info *info) {
    const spad_define define = {"K", size};
    const spad_kernel_options options = {.defines = &define, .define_count = 1};
    spad_kernel *kernel;
    spad_error error;
    const spad_status status =
        spad_kernel_read_ttgir(&kernel, info, text, strlen(text), "k", &options, NULL, &error);
    if (status != SPAD_OK) print_error("%s\nof %s", error.message, strstr(text, "tt.func"));
    assert_ok(status, &error);
    return kernel;
}

/* The kernel for a size is without loops, for this reason, and has these lines. */
static void assert_unrolled(const char *text, int64_t size, const char *why, const char *lines) {
    spad_ttgir_info info;
    test_text shown;
    spad_kernel *kernel = read_sized(text, size, &info);
    assert_true(info.unrolled);
    if (strstr(info.reason, why) == NULL) print_error("%s\n", info.reason);
    assert_non_null(strstr(info.reason, why));
    test_text_init(&shown);
    assert_int_equal(spad_kernel_write_text(kernel, &shown.sink, NULL), SPAD_OK);
    if (strstr(shown.bytes, lines) == NULL) print_error("%s\n", shown.bytes);
    assert_non_null(strstr(shown.bytes, lines));
    test_text_free(&shown);
    spad_kernel_destroy(kernel);
}

/* ---- operations ------------------------------------------------------------------------- */

#define N(name, value, type) "    %" name " = arith.constant " value " : " type "\n"
#define OP(name, op) "    %" name " = arith." op "\n"
#define SHORT OP("q", "cmpi slt, %K, %c2 : i32")

static void casts_and_masks(void **state) {
    (void)state;
    static const test_ttgir_sample list[] = {
        /* an index is 64 bits wide, and is cut off where it becomes an i32 */
        {HEAD("90") ALLOC_R N("n", "4294967297", "index") OP("a", "index_cast %n : index to i32")
             AT("%a") CLOSE,
         {"writes x[1]\n"}},
        {HEAD("90") ALLOC_R N("n", "4294967298", "index") OP("a", "index_castui %n : index to i32")
             OP("e", "index_castui %a : i32 to index") OP("g", "index_castui %e : index to i64")
                 AT("%g") CLOSE,
         {"writes x[2]\n"}},
        /* without a type that is known it is the same number */
        {HEAD("90") ALLOC_R OP("a", "extsi %c2") AT("%a") CLOSE, {"writes x[2]\n"}},
        {HEAD("90") ALLOC_R OP("a", "extui %c2 : i32 to none") AT("%a") CLOSE, {"writes x[2]\n"}},
        {HEAD("90") ALLOC_R OP("a", "trunci %c1 : none to i32") AT("%a") CLOSE, {"writes x[1]\n"}},
        /* i - 1 and i + 1 have the same lowest bit */
        {HEAD("90") ALLOC_R LOOP OP("a", "subi %i, %c1 : i32") OP("e", "andi %a, %c1 : i32")
             AT("%e") "    }\n" CLOSE,
         {"writes x[(i + 1) % 2]\n"}},
        {HEAD("90") ALLOC_R LOOP OP("a", "addi %i, %c1 : i32") OP("e", "andi %a, %c1 : i32")
             AT("%e") "    }\n" CLOSE,
         {"writes x[(i + 1) % 2]\n"}},
        /* comparisons with what is loaded are not known, and nothing depends on them */
        {HEAD("90") ALLOC_R OP("a", "cmpi ult, %v, %K : i32") OP("e", "cmpi ult, %K, %v : i32")
             AT("%c1") CLOSE,
         {"writes x[1]\n"}},
    };
    CHECK_SAMPLES(list);
    /* no expression, and a number where the sizes are: L is 4096 */
    assert_unrolled(HEAD("90") ALLOC_R N("n", "41", "i64") N("m", "3", "i64")
                        OP("a", "shli %L, %n : i64") OP("e", "remsi %a, %m : i64") AT("%e") CLOSE,
                    64, "a stage of a ring", "writes x[2]\n");
    assert_unrolled(HEAD("90") ALLOC_R N("n", "9223372036854775807", "i64") N("m", "3", "i64")
                        OP("a", "andi %L, %n : i64") OP("e", "remsi %a, %m : i64") AT("%e") CLOSE,
                    64, "a stage of a ring", "writes x[1]\n");
    assert_unrolled(HEAD("90") ALLOC_R SHORT OP("a", "divui %q, %true : i1")
                        OP("e", "extui %a : i1 to i32") AT("%e") CLOSE,
                    1, "a stage of a ring", "writes x[1]\n");
}

/* What no program has is not known either. */
static void results_that_there_are_none_of(void **state) {
    (void)state;
#define NONE_OF(op) \
    { HEAD("90") ALLOC_R op AT("%a") CLOSE, "a stage of a ring: only a run on the device knows it" }
    static const test_ttgir_fault list[] = {
        NONE_OF(OP("a", "divsi %c3, %c0 : i32")),
        NONE_OF(OP("a", "remui %K, %c0 : i32")),
        NONE_OF(OP("a", "shli %K, %m1 : i32")),
        NONE_OF(N("n", "32", "i32") OP("a", "shrui %K, %n : i32")),
        NONE_OF(OP("a", "extsi %v : i32 to i64")),
        NONE_OF(N("n", "1", "i64") N("o", "63", "i64") N("r", "-1", "i64")
                    OP("e", "shli %n, %o : i64") OP("a", "divsi %e, %r : i64")),
    };
    CHECK_FAULTS(list);
}

/* ---- rings ------------------------------------------------------------------------------ */

#define MOVE                                                                           \
    "      %m = arith.addi %s0, %c1 : i32\n      %e = arith.cmpi sge, %m, %c3 : i32\n" \
    "      %o = arith.select %e, %c0, %m : i32\n"
#define NESTED(inits, outer, inner, body, next, last)                                          \
    HEAD("90")                                                                                 \
    ALLOC_R ALLOC_B inits "    %r:2 = scf.for %j = %c0 to %K step %c1 iter_args(" outer        \
                          ") -> (i32, i32) : i32 {\n      %q:2 = scf.for %i = %c0 to %K step " \
                          "%c1 iter_args(" inner ") -> (i32, i32) : i32 {\n" body MOVE next    \
                          "      scf.yield %o, %g : i32, i32\n      }\n      scf.yield " last  \
                          " : i32, i32\n    }\n" CLOSE
#define TURN "      %f0 = arith.xori %h, %c1 : i32\n      %g = arith.select %e, %f0, %h : i32\n"
#define WAIT "      ttng.wait_barrier %b, %h : " B1 "\n"
/* A ring that starts at a stage, with a phase, that a loop around it has and never changes. */
#define KEPT(stage, phase, body)                                                               \
    NESTED(N("k", stage, "i32") N("l", phase, "i32"), "%u = %k, %z = %l", "%s0 = %u, %h = %z", \
           body, TURN, "%u, %z")

static void rings_start_in_the_ring(void **state) {
    (void)state;
    static const test_ttgir_sample list[] = {
        {KEPT("1", "1", AT("%s0") WAIT),
         {"writes x[(i_2 + 1) % 3]\n", "wait b_bar parity ((i_2 + 1) / 3 + 1) % 2\n"}},
        {KEPT("-1", "1", WAIT), {"wait b_bar parity (max(i_2 - 1, 0) / 3 + 1) % 2\n"}},
    };
    CHECK_SAMPLES(list);
    static const struct {
        const char *text;
        const char *why;
        const char *lines;
    } outside[] = {
        {KEPT("7", "0", WAIT), "the first phase of a ring", "parity 0\nwait b_bar parity 1\n"},
        {KEPT("-2", "0", WAIT), "the first phase of a ring", "parity 0\nwait b_bar parity 0\n"},
        {KEPT("2", "5", WAIT), "the first phase of a ring", "parity 1\nwait b_bar parity 0\n"},
        {KEPT("2", "-1", WAIT), "the first phase of a ring", "parity 1\nwait b_bar parity 0\n"},
        /* it starts at another phase in each round of the loop around it */
        {NESTED("", "%u = %c0, %z = %c0", "%s0 = %c2, %h = %z", WAIT, TURN, "%u, %j"),
         "the first phase of a ring", "parity 0\nwait b_bar parity 1\n"},
        {NESTED(N("k", "7", "i32"), "%u = %k, %z = %c0", "%s0 = %u, %h = %c0",
                "      %d1 = arith.remsi %s0, %c3 : i32\n" AT("%d1"), TURN, "%u, %z"),
         "the first stage of a ring", "writes x[1]\nsimt store writes x[0]\n"},
    };
    for (size_t i = 0; i < sizeof outside / sizeof *outside; i++) {
        assert_unrolled(outside[i].text, 2, outside[i].why, outside[i].lines);
    }
    static const char below[] = KEPT("-2", "0", AT("%s0"));
    const spad_define define = {"K", 2};
    const spad_kernel_options options = {.defines = &define, .define_count = 1};
    spad_kernel *kernel;
    spad_error error;
    assert_int_equal(
        spad_kernel_read_ttgir(&kernel, NULL, below, strlen(below), "k", &options, NULL, &error),
        SPAD_ERR_SYNTAX);
    assert_string_equal(error.message, "index -2 is outside 'x', which has 3");
}

/* ---- sums and conditions ------------------------------------------------------------------ */

#define OUTER "    scf.for %j = %c0 to %K step %c1 : i32 {\n"
#define IN_BOTH(early, late)                                                                 \
    HEAD("90")                                                                               \
    ALLOC_R OUTER early LOOP late OP("e", "cmpi slt, %a, %c2 : i32") "    scf.if %e {\n" AT( \
        "%c0") "    }\n    }\n    }\n" CLOSE

static void sums(void **state) {
    (void)state;
    static const test_ttgir_sample list[] = {
        {IN_BOTH("", OP("n", "subi %c0, %i : i32") OP("m", "subi %c0, %j : i32")
                         OP("a", "addi %m, %n : i32")),
         {"if i * -1 - i_2 < 2 {"}},
        /* which one is left follows from which was there first */
        {IN_BOTH(OP("n", "subi %c0, %j : i32"),
                 OP("m", "muli %i, %c3 : i32") OP("a", "addi %m, %n : i32")),
         {"if i_2 * 3 - i < 2 {"}},
        {IN_BOTH(OP("n", "muli %j, %c3 : i32"), OP("a", "addi %i, %n : i32")),
         {"if i_2 + i * 3 < 2 {"}},
    };
    CHECK_SAMPLES(list);
}

/* The stage of a ring after K - 1 rounds. */
#define AFTER(condition)                                                                     \
    HEAD("90")                                                                               \
    ALLOC_R OP("n", "subi %K, %c1 : i32") condition                                          \
        "    scf.if %q {\n    %r = scf.for %i = %c0 to %n step %c1 iter_args(%s0 = %c0) -> " \
        "(i32) : i32 {\n" MOVE "      ttg.local_store %p, %z : " S2                          \
        "\n      scf.yield %o : i32\n    }\n" AT("%r") "    }\n" CLOSE
#define BEFORE "    %z = ttg.memdesc_index %x[%c0] : " S3 " -> " S2 "\n"
#define MORE_THAN_0 OP("g", "cmpi slt, %c0, %K : i32")

/* K - 1 is at least 0 where a condition around it says so. */
static void conditions_say_how_large(void **state) {
    (void)state;
    static const test_ttgir_sample list[] = {
        {AFTER(BEFORE OP("q", "cmpi sle, %c1, %K : i32")), {"x[(K_tiles - 1) % 3]\n"}},
        {AFTER(BEFORE OP("q", "cmpi slt, %m1, %K : i32")), {"x[max(K_tiles - 1, 0) % 3]\n"}},
        {AFTER(BEFORE OP("q", "cmpi ne, %K, %c3 : i32")), {"x[max(K_tiles - 1, 0) % 3]\n"}},
        {AFTER(BEFORE MORE_THAN_0 OP("e2", "cmpi ne, %K, %c3 : i32") OP("q", "andi %g, %e2 : i1")),
         {"if 0 < K_tiles and K_tiles != 3 {\n", "x[(K_tiles - 1) % 3]\n"}},
        {AFTER(BEFORE MORE_THAN_0 OP("e2", "cmpi ne, %K, %c3 : i32") OP("q", "andi %e2, %g : i1")),
         {"if K_tiles != 3 and 0 < K_tiles {\n", "x[(K_tiles - 1) % 3]\n"}},
        {AFTER(BEFORE OP("e2", "cmpi slt, %c2, %s : i16") OP("e3", "cmpi ne, %K, %c3 : i32")
                   OP("q", "andi %e2, %e3 : i1")),
         {"x[max(K_tiles - 1, 0) % 3]\n"}},
        /* a number that nothing is above, and rounds of two sizes */
        {HEAD("90") ALLOC_R BEFORE N("k", "9223372036854775807", "i64") N("o1", "1", "i64")
             N("o0", "0", "i64") OP("n", "subi %L, %o1 : i64")
                 OP("q", "cmpi slt, %k, %L : i64") "    scf.if %q {\n    %r = scf.for %i = %o0 to "
                                                   "%n step %o1 iter_args(%s0 = %c0) -> "
                                                   "(i32) : i64 {\n" MOVE
                                                   "      ttg.local_store %p, %z : " S2
                                                   "\n      scf.yield %o : i32\n    }\n" AT(
                                                       "%r") "    }\n" CLOSE,
         {"x[max(L_tiles - 1, 0) % 3]\n"}},
        {HEAD("90") ALLOC_R BEFORE OP("n", "subi %K, %s : i32") MORE_THAN_0
         "    scf.if %g {\n    %r = scf.for %i = %c0 to %n step %c1 iter_args(%s0 = %c0) -> "
         "(i32) : i32 {\n" MOVE "      ttg.local_store %p, %z : " S2
         "\n      scf.yield %o : i32\n    }\n" AT("%r") "    }\n" CLOSE,
         {"x[max(trips, 0) % 3]\n"}},
    };
    CHECK_SAMPLES(list);
}

/* More "or" between the terms of a condition than there is room for, in each part of it. */
static void long_conditions(void **state) {
    (void)state;
    test_text text;
    for (int where = 0; where < 3; where++) {
        test_text_init(&text);
        test_text_put(&text, "%s", HEAD("90") ALLOC_S LOOP);
        test_text_put(&text, "%s", "    %a0 = arith.cmpi eq, %i, %c0 : i32\n");
        for (int k = 1; k <= 9; k++) {
            test_text_put(&text, "    %%n%d = arith.constant %d : i32\n", k, 10 * k);
            test_text_put(&text, "    %%b%d = arith.cmpi eq, %%i, %%n%d : i32\n", k, k);
            test_text_put(&text, "    %%a%d = arith.ori %%a%d, %%b%d : i1\n", k, k - 1, k);
        }
        test_text_put(&text, "    %%q = arith.select %%%s, %%%s, %%%s : i1\n",
                      where == 0 ? "a9" : "b1", where == 1 ? "a9" : "b2", where == 2 ? "a9" : "b3");
        test_text_put(&text, "%s", "    scf.if %q {\n    ttg.local_store %p, %x : i32\n    }\n");
        test_text_put(&text, "%s", "    }\n" CLOSE);
        assert_unrolled(text.bytes, 100, "a condition", "simt store writes x\n");
        test_text_free(&text);
    }
}

/* ---- memory ------------------------------------------------------------------------------ */

static spad_status read_scenario(const spad_host *host, void *context) {
    const char *text = context;
    const spad_kernel_options options = {.host = host};
    spad_kernel *kernel;
    const spad_status status =
        spad_kernel_read_ttgir(&kernel, NULL, text, strlen(text), "k", &options, NULL, NULL);
    spad_kernel_destroy(kernel);
    return status;
}

/* Lists grow in steps, so that which expression finds no room depends on how many there are before
 * it: each of them is the one that does. */
static void expressions_without_memory(void **state) {
    (void)state;
    for (int before = 0; before < 24; before++) {
        test_text text;
        test_text_init(&text);
        test_text_put(&text, "%s", HEAD("90") ALLOC_R ALLOC_B);
        for (int i = 0; i < before; i++) {
            test_text_put(&text, "    %%n%d = arith.constant %d : i32\n", i, 100 + i);
            test_text_put(&text, "    ttng.wait_barrier %%b, %%c1 {number = %d} : " B1 "\n", i);
            test_text_put(&text, "    ttng.barrier_expect %%b, %d, %%true : " B1 "\n", 1000 + i);
        }
        test_text_put(&text, "%s",
                      "    %r:2 = scf.for %i = %c0 to %K step %c1 iter_args(%s0 = "
                      "%m1, %h = %c1) -> (i32, i32) : i32 {\n" WAIT MOVE TURN AT("%o"));
        test_text_put(&text, "%s", "      scf.yield %o, %g : i32, i32\n    }\n" CLOSE);
        test_fail_each_allocation(read_scenario, text.bytes);
        test_text_free(&text);
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(casts_and_masks),
        cmocka_unit_test(results_that_there_are_none_of),
        cmocka_unit_test(rings_start_in_the_ring),
        cmocka_unit_test(sums),
        cmocka_unit_test(conditions_say_how_large),
        cmocka_unit_test(long_conditions),
        cmocka_unit_test(expressions_without_memory),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
