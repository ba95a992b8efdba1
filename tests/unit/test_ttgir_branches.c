/* SPDX-License-Identifier: Apache-2.0
 *
 * TTGIR with several blocks, which is what Triton makes of a return that is not the last statement,
 * and conditions that only data decides.
 */
#include <stdio.h>
#include <string.h>

#include "kernel/kernel.h"
#include "spad/spad.h"
#include "support/support.h"
#include "support/ttgir.h"

typedef test_ttgir_sample sample;
typedef test_ttgir_fault fault;

#define STORE "    ttg.local_store %p, %x : " S2 "\n"
#define KEEP "    tt.store %p, %v : !tt.ptr<i32>\n"
#define COPY                                                                                       \
    "    %h = tt.splat %p : !tt.ptr<f16> -> tensor<64x64x!tt.ptr<f16>>\n"                          \
    "    %t1 = ttg.async_copy_global_to_local %h, %x : tensor<64x64x!tt.ptr<f16>> -> <64x64xf16, " \
    "#shared, #smem, mutable>\n    %t2 = ttg.async_commit_group tokens %t1\n"
#define WAIT "    %t3 = ttg.async_wait {num = 0 : i32}\n"
#define RETURN(condition) "    cf.cond_br " condition ", ^bb1, ^bb2\n  ^bb1:\n"

/* The kernel of a text, or NULL, and what was said of it. */
static spad_kernel *read(const char *text, spad_ttgir_info *info) {
    spad_kernel *kernel = NULL;
    spad_error error;
    if (spad_kernel_read_ttgir(&kernel, info, text, strlen(text), "f.ttgir", NULL, NULL, &error) !=
        SPAD_OK) {
        print_error("%s\n", error.message);
    }
    return kernel;
}

static bool has(const char *text, const char *word, bool wanted) {
    spad_ttgir_info info;
    spad_kernel *kernel = read(text, &info);
    assert_non_null(kernel);
    spad_error error;
    test_text out;
    test_text_init(&out);
    assert_ok(spad_kernel_write_text(kernel, &out.sink, &error), &error);
    const bool found = strstr(out.bytes, word) != NULL;
    if (found != wanted) print_error("%s\n%s\n", word, out.bytes);
    test_text_free(&out);
    spad_kernel_destroy(kernel);
    return found == wanted;
}

/* ---- returns --------------------------------------------------------------------------- */

static void early_returns(void **state) {
    (void)state;
    static const sample list[] = {
        {HEAD("90") ALLOC_S RETURN("%w") "    tt.return\n  ^bb2:\n" STORE CLOSE,
         {"simt store writes x\n"}},
        {HEAD("90") ALLOC_S "    %q = arith.cmpi sge, %c1, %K : i32\n" RETURN(
             "%q") "    tt.return\n  ^bb2:\n" STORE CLOSE,
         {"simt store writes x\n"}},
        /* the one that leaves is the second */
        {HEAD("90") ALLOC_S "    cf.cond_br %w, ^bb2, ^bb1\n  ^bb1:\n    tt.return\n"
                            "  ^bb2:\n" STORE CLOSE,
         {"simt store writes x\n"}},
        /* both have the same return, and it stores to global memory */
        {HEAD("90") ALLOC_S RETURN("%w") KEEP
         "    tt.return\n  ^bb2:\n"
         "    cf.cond_br %c, ^bb1, ^bb3\n  ^bb3:\n" STORE CLOSE,
         {"simt store writes x\n"}},
        /* inside of a condition; values come from both ways */
        {HEAD("90") ALLOC_S ALLOC_T
         "    cf.cond_br %c, ^bb1, ^bb4(%c1, %c2 : i32, i32)\n  ^bb1:\n"
         "    cf.cond_br %w, ^bb2, ^bb3\n  ^bb2:\n    tt.return\n  ^bb3:\n" STORE
         "    cf.br ^bb4(%c1, %c3 : i32, i32)\n  ^bb4(%y1: i32, %y2: i32):\n"
         "    ttg.local_load %x : i32\n" CLOSE,
         {"if c", "store writes x\n", "reads x\n"}},
    };
    CHECK_SAMPLES(list);
    for (size_t i = 0; i + 1 < sizeof list / sizeof *list; i++) {
        assert_true(has(list[i].text, "if ", false));
        assert_true(has(list[i].text, "unknown", false));
    }
}

/* What others wait for is under way, or the way that leaves uses memory of the chip: then the rest
 * is in a condition. */
static void returns_that_matter(void **state) {
    (void)state;
    static const sample list[] = {
        {HEAD("90") ALLOC_S COPY RETURN("%w") "    tt.return\n  ^bb2:\n" WAIT
                                              "    ttg.local_load %x : i32\n" CLOSE,
         {"unknown w in 0..2", "if w", "else", "wait"}},
        {HEAD("90") ALLOC_S RETURN("%w") STORE "    tt.return\n  ^bb2:\n"
                                               "    ttg.local_load %x : i32\n" CLOSE,
         {"unknown w in 0..2", "store writes x\n", "else", "reads x\n"}},
        /* of a function that is called, a return is not the end of the kernel */
        {HEAD("90") ALLOC_S "    tt.call @g(%x, %w) : (i32, i1) -> ()\n    tt.return\n  }\n"
                            "  tt.func private @g(%x: " S2
                            ", %w: i1) {\n" RETURN("%w") "    tt.return\n  ^bb2:\n"
                                                         "    ttg.local_load %x : i32\n" CLOSE,
         {"unknown", "if ", "reads x\n"}},
        {HEAD("90") ALLOC_S "    tt.call @g(%x, %c) : (i32, i1) -> ()\n    tt.return\n  }\n"
                            "  tt.func private @g(%x: " S2
                            ", %c: i1) {\n" RETURN("%c") "    tt.return\n  ^bb2:\n"
                                                         "    ttg.local_load %x : i32\n" CLOSE,
         {"if ", "reads x\n"}},
        /* in a loop, which is looked at twice */
        {HEAD("90") ALLOC_S
         "    %q = arith.cmpi sgt, %K, %c1 : i32\n" LOOP
         "    tt.call @g(%x, %q) : (i32, i1) -> ()\n    }\n    tt.return\n"
         "  }\n  tt.func private @g(%x: " S2 ", %c: i1) {\n" RETURN(
             "%c") "    tt.return\n  ^bb2:\n    ttg.local_store %c, %x : i32\n" CLOSE,
         {"for ", "if ", "store writes x\n"}},
        /* after partitions of warps, and with a meeting of agents under way */
        {HEAD("90") ALLOC_S "    ttg.warp_specialize(%x)\n    default {\n" STORE
                            "      ttg.warp_yield\n    }\n    partition0(%o: " S2
                            ") num_warps(4) {\n      ttg.warp_return\n    } : (" S2
                            ") -> ()\n" RETURN("%w") "    tt.return\n  ^bb2:\n"
                                                     "    ttg.local_load %x : i32\n" CLOSE,
         {"unknown w in 0..2", "if w", "reads x\n"}},
        /* mbarriers are used before it */
        {HEAD("90") ALLOC_S ALLOC_B RETURN("%w") "    tt.return\n  ^bb2:\n" STORE CLOSE,
         {"unknown w in 0..2", "if w", "store writes x\n"}},
    };
    CHECK_SAMPLES(list);
}

#define IN_LOOP(body)                                                                         \
    HEAD("90")                                                                                \
    ALLOC_S LOOP "    tt.call @g(%x, %w, %K, %p) : (i32, i1, i32, i32) -> ()\n    }\n"        \
                 "    tt.return\n  }\n  tt.func private @g(%x: " S2                           \
                 ", %w: i1, %K: i32, %p: !tt.ptr<f16>) {\n    %c1 = arith.constant 1 : i32\n" \
                 "    %c2 = arith.constant 2 : i32\n    %true = arith.constant true\n" body CLOSE

/* Ways that meet again, with values for the block where they do. */
static void ways_that_meet(void **state) {
    (void)state;
    static const sample list[] = {
        /* the first one leads there at once, or the second, or both with other values */
        {HEAD("90") ALLOC_S "    cf.cond_br %w, ^bb2, ^bb1\n  ^bb1:\n" STORE
                            "    cf.br ^bb2\n  ^bb2:\n    ttg.local_load %x : i32\n" CLOSE,
         {"unknown w in 0..2 = [1]", "} else {\n    simt store writes x\n}\nsimt load"}},
        {HEAD("90") ALLOC_R "    %q = arith.cmpi slt, %K, %c2 : i32\n"
                            "    cf.cond_br %q, ^bb1(%c1, %c2 : i32, i32), ^bb1(%c2, %c0 : i32, "
                            "i32)\n  ^bb1(%n: i32, %m: i32):\n" AT(
                                "%n") "    %z = ttg.memdesc_index %x[%m] : " S3 " -> " S2
                                      "\n    ttg.local_load %z : i32\n" CLOSE,
         {"writes x[2]\n", "reads x[0]\n"}},
        {HEAD("90") ALLOC_R "    %q = arith.cmpi slt, %K, %c2 : i32\n"
                            "    cf.cond_br %q, ^bb1(%c1 : i32), ^bb2(%c0 : i32)\n"
                            "  ^bb1(%n: i32):\n    cf.br ^bb3(%n : i32)\n"
                            "  ^bb2(%m: i32):\n    cf.br ^bb3(%m : i32)\n"
                            "  ^bb3(%o: i32):\n" AT("%o") CLOSE,
         {"writes x[0]\n"}},
        /* a return of a function that is called, where the sizes decide */
        {IN_LOOP("    %q = arith.cmpi slt, %K, %c2 : i32\n    cf.cond_br %true, ^bb1, ^bb2\n"
                 "  ^bb1:\n    cf.cond_br %q, ^bb3, ^bb4\n  ^bb3:\n    tt.return\n  ^bb4:\n" STORE
                 "    cf.br ^bb2\n  ^bb2:\n"),
         {"for ", "store writes x\n"}},
        {IN_LOOP("    cf.cond_br %true, ^bb1, ^bb2\n  ^bb1:\n    tt.return\n  ^bb2:\n" STORE),
         {"kernel f"}},
        /* a copy that only data decides about */
        {HEAD("90") ALLOC_S "    scf.if %w {\n" COPY "    }\n" WAIT CLOSE,
         {"unknown w in 0..2", "if w != 0 {\n    cp load"}},
    };
    CHECK_SAMPLES(list);
}

/* The same in a loop, which is looked at dry before. */
static void faults_in_loops(void **state) {
    (void)state;
    static const fault faults[] = {
        {IN_LOOP("    cf.br ^bb1\n  ^bb1:\n" STORE "    cf.br ^bb1\n  ^bb2:\n"),
         "branches that form a loop are not known"},
        {IN_LOOP("    cf.br ^bb7\n  ^bb1:\n"), "a branch to a block that is not there"},
        {IN_LOOP("    cf.br ^bb1\n  ^bb1:\n  ^bb2:\n"), "a block that ends with neither"},
    };
    CHECK_FAULTS(faults);
}

/* A condition that is known at these sizes. */
static void returns_that_are_known(void **state) {
    (void)state;
    static const char *const text[] = {
        HEAD("90") ALLOC_S RETURN("%true") "    tt.return\n  ^bb2:\n" STORE CLOSE,
        HEAD("90") ALLOC_S "    cf.cond_br %true, ^bb2, ^bb1\n  ^bb1:\n    tt.return\n"
                           "  ^bb2:\n" STORE CLOSE};
    spad_ttgir_info info;
    spad_kernel_destroy(read(text[0], &info));
    assert_string_equal(info.skipped, "the program returns in line 19");
    assert_string_equal(info.approximated, "");
    assert_true(has(text[0], "store", false));
    spad_kernel_destroy(read(text[1], &info));
    assert_string_equal(info.skipped, "");
    assert_true(has(text[1], "store", true));
    spad_kernel_destroy(
        read(HEAD("90") ALLOC_S RETURN("%w") "    tt.return\n  ^bb2:\n" STORE CLOSE, &info));
    assert_string_equal(info.approximated, "the return in line 19 is not taken");
}

static void faults_of_branches(void **state) {
    (void)state;
    static const fault faults[] = {
        {HEAD("90") ALLOC_S "    cf.br ^bb1\n  ^bb1:\n" STORE "    cf.br ^bb1\n  }\n}\n",
         "branches that form a loop are not known"},
        {HEAD("90") "    cf.br ^bb7\n  ^bb1:\n" CLOSE, "a branch to a block that is not there"},
        {HEAD("90") "    cf.cond_br %w, ^bb1\n  ^bb1:\n" CLOSE,
         "a branch to a block that is not there"},
        {HEAD("90") "    cf.br\n  ^bb1:\n" CLOSE, "a branch to a block that is not there"},
        {HEAD("90") "    cf.br ^bb1\n  ^bb1:\n  ^bb2:\n" CLOSE, "a block that ends with neither"},
        {HEAD("90") "    cf.switch %K : i32, [\n      default: ^bb1\n    ]\n  ^bb1:\n" CLOSE,
         "a block that ends with neither"},
        {HEAD("90") ALLOC_S RETURN("%w") "    ttg.local_secret %x\n    tt.return\n  ^bb2:\n" CLOSE,
         "'ttg.local_secret' is not known"},
        {HEAD("90") ALLOC_S RETURN("%w") "    tt.return\n  ^bb2:\n    ttg.local_secret %x\n" CLOSE,
         "'ttg.local_secret' is not known"},
        {HEAD("90") ALLOC_S RETURN("%w") STORE
         "    tt.return\n  ^bb2:\n    ttg.local_secret %x\n" CLOSE,
         "'ttg.local_secret' is not known"},
        {HEAD("90") ALLOC_S RETURN("%w") "    ttg.local_secret %x\n    cf.br ^bb3\n"
                                         "  ^bb2:\n    cf.br ^bb3\n  ^bb3:\n" CLOSE,
         "'ttg.local_secret' is not known"},
        {HEAD("90") ALLOC_S RETURN("%w") "    cf.br ^bb3\n  ^bb2:\n    ttg.local_secret %x\n"
                                         "    cf.br ^bb3\n  ^bb3:\n" CLOSE,
         "'ttg.local_secret' is not known"},
        /* a return that uses memory of the chip, and that only a part of a condition reaches */
        {HEAD("90") ALLOC_S
         "    cf.cond_br %w, ^bb1, ^bb4\n  ^bb1:\n    %w2 = tt.load %p : !tt.ptr<i1>\n"
         "    cf.cond_br %w2, ^bb2, ^bb3\n  ^bb2:\n" STORE "    tt.return\n  ^bb3:\n" STORE
         "    cf.br ^bb4\n  ^bb4:\n    ttg.local_load %x : i32\n" CLOSE,
         "a return inside of a condition: only a run on the device knows it"},
        {HEAD("90") ALLOC_S
         "    cf.cond_br %w, ^bb1, ^bb4\n  ^bb1:\n    cf.cond_br %true, ^bb2, ^bb3\n  ^bb2:\n" STORE
         "    tt.return\n  ^bb3:\n" STORE
         "    cf.br ^bb4\n  ^bb4:\n    ttg.local_load %x : i32\n" CLOSE,
         "a return inside of a condition: only a run on the device knows it"},
    };
    CHECK_FAULTS(faults);
}

/* Many blocks, and many ways through blocks that all leave. */
static void too_many(void **state) {
    (void)state;
    test_text text;
    test_text_init(&text);
    text.sink.write(text.sink.context, HEAD("90"), strlen(HEAD("90")));
    for (int i = 1; i < 300; i++) test_text_put(&text, "    cf.br ^bb%d\n  ^bb%d:\n", i, i);
    test_text_put(&text, CLOSE);
    test_ttgir_refuse(&(fault){text.bytes, "more than 256 blocks with branches"});
    test_text_free(&text);

    test_text_init(&text);
    text.sink.write(text.sink.context, HEAD("90"), strlen(HEAD("90")));
    test_text_put(&text, "    cf.cond_br %%w, ^bb0_a, ^end\n");
    for (int i = 0; i < 14; i++) {
        test_text_put(&text, "  ^bb%d_a:\n    %%w%d = tt.load %%p : !tt.ptr<i1>\n", i, i);
        test_text_put(&text, "    cf.cond_br %%w%d, ^bb%d_b, ^bb%d_c\n", i, i, i);
        test_text_put(&text, "  ^bb%d_b:\n    cf.br ^bb%d_a\n  ^bb%d_c:\n    cf.br ^bb%d_a\n", i,
                      i + 1, i, i + 1);
    }
    test_text_put(&text, "  ^bb14_a:\n    tt.return\n  ^end:\n" CLOSE);
    test_ttgir_refuse(&(fault){text.bytes, "more than 4096 ways through the branches"});
    test_text_free(&text);
}

/* ---- what data decides -------------------------------------------------------------------- */

#define IF(condition, what) "    scf.if " condition " {\n" what "    }\n"
#define WHILE                                                                                \
    "    %r = scf.while (%s1 = %c0) : (i32) -> i32 {\n      %g = tt.load %p : !tt.ptr<i1>\n" \
    "      scf.condition(%g) %s1 : i32\n    } do {\n    ^bb0(%s2: i32):\n"
#define LOAD "    ttg.local_load %x : i32\n"

static void conditions_of_data(void **state) {
    (void)state;
    static const sample list[] = {
        /* one value, however often it is asked for */
        {HEAD("90") ALLOC_S IF("%w", STORE) IF("%w", LOAD) CLOSE,
         {"unknown w in 0..2 = [1]\n", "if w", "store writes x\n", "reads x\n"}},
        /* the same in all rounds */
        {HEAD("90") ALLOC_S STORE LOOP IF("%w", LOAD) "    }\n" CLOSE,
         {"unknown w in 0..2", "for ", "if w", "reads x\n"}},
        {HEAD("90") ALLOC_S STORE WHILE IF("%w", LOAD) "      scf.yield %s2 : i32\n    }\n" CLOSE,
         {"unknown w in 0..2", "any\n", "reads x\n"}},
        /* another one in each round: with numbers */
        {HEAD("90") ALLOC_S STORE
         "    scf.for %i = %c0 to %c3 step %c1 : i32 {\n"
         "    %w2 = tt.load %p : !tt.ptr<i1>\n" IF("%w2", LOAD) "    }\n" CLOSE,
         {"run with its sizes", "unknown w2 in", "unknown w2_2 in", "unknown w2_3 in"}},
        /* no name */
        {HEAD("90") ALLOC_S "    %7 = tt.load %p : !tt.ptr<i1>\n" IF("%7", STORE) CLOSE,
         {"unknown decided in 0..2"}},
    };
    CHECK_SAMPLES(list);
    assert_true(has(list[0].text, "unknown w_2", false));
}

/* A loop without a `break`: once it has found something, a flag leaves out the rest of its rounds.
 */
#define UNTIL_FOUND(more)                                                                       \
    HEAD("90")                                                                                  \
    ALLOC_S STORE "    %no = arith.constant false\n    %yes = arith.constant true\n"            \
                  "    %r = scf.for %i = %c0 to %K step %c1 iter_args(%found = %no) -> (i1) "   \
                  " : i32 {\n      %s = scf.if %found -> (i1) {\n        scf.yield %yes : i1\n" \
                  "      } else {\n        %w2 = tt.load %p : !tt.ptr<i1>\n" LOAD               \
                  "        scf.if %w2 {\n" STORE "        }\n        scf.yield %w2 : i1\n"      \
                  "      }\n" more "      scf.yield %s : i1\n    }\n" CLOSE

static void flags_that_loops_carry(void **state) {
    (void)state;
    static const sample list[] = {
        {UNTIL_FOUND(""), {"unknown w2 in 0..2", "unknown found in 0..2", "if found", "if w2"}},
        {UNTIL_FOUND("    %w3 = tt.load %p : !tt.ptr<i1>\n" IF("%w3", LOAD)),
         {"unknown w3 in 0..2", "unknown found in 0..2", "if found", "if w2"}},
    };
    CHECK_SAMPLES(list);
    for (size_t i = 0; i < 2; i++) {
        spad_ttgir_info info;
        spad_kernel *kernel = read(list[i].text, &info);
        assert_null(strstr(info.approximated, "condition in"));
        assert_non_null(strstr(info.approximated, "the conditions in line "));
        assert_non_null(strstr(info.approximated, i == 0 ? " are the same in each round"
                                                         : " and others are the same in each"));
        assert_string_equal(spad__kernel_get_assumption(kernel), info.approximated);
        spad_kernel_destroy(kernel);
    }
}

/* In each round another one, and more rounds than can be looked at one by one: it is the same in
 * all of them, and that is said. */
static void conditions_of_rounds(void **state) {
    (void)state;
    static const sample list[] = {
        {HEAD("90") ALLOC_S STORE LOOP
         "    %w2 = tt.load %p : !tt.ptr<i1>\n" IF("%w2", LOAD) "    }\n" CLOSE,
         {"unknown w2 in 0..2", "for ", "if w2", "reads x\n"}},
        /* of a function, whose values stand before the loop */
        {"module attributes {ttg.target = \"cuda:90\"} {\n  tt.func private @g(%x: " S2
         ", %p: !tt.ptr<i1>) {\n    %w2 = tt.load %p : !tt.ptr<i1>\n" IF(
             "%w2",
             LOAD) "    tt.return\n  }\n  tt.func public @f(%p: !tt.ptr<i1>, %K: i32) {\n"
                   "    %c0 = arith.constant 0 : i32\n    %c1 = arith.constant 1 : i32\n" ALLOC_S
                       STORE LOOP "    tt.call @g(%x, %p) : (i32, i32) -> ()\n    }\n" CLOSE,
         {"unknown w2 in 0..2", "for ", "if w2", "reads x\n"}},
    };
    CHECK_SAMPLES(list);
    spad_ttgir_info info;
    spad_error error;
    spad_check *check;
    spad_kernel *kernel = read(list[0].text, &info);
    assert_string_equal(info.approximated, "the condition in line 22 is the same in each round");
    assert_string_equal(spad__kernel_get_assumption(kernel), info.approximated);
    assert_ok(spad_check_create(&check, kernel, NULL, &error), &error);
    assert_int_equal(spad_check_get_verdict(check), SPAD_VERDICT_PROVED_ALL);
    assert_string_equal(spad_check_get_reason(check),
                        "assuming that the condition in line 22 is the same in each round: for all "
                        "2 ways that unknown values can be; for all K_tiles");
    spad_check_destroy(check);
    spad_kernel_destroy(kernel);
    spad_kernel_destroy(read(list[1].text, &info));
    assert_string_equal(info.approximated, "the condition in line 4 is the same in each round");
    test_text text;
    test_text_init(&text);
    text.sink.write(text.sink.context, HEAD("90") ALLOC_S, strlen(HEAD("90") ALLOC_S));
    for (int i = 0; i < 11; i++) {
        test_text_put(&text, "    %%z%d = tt.load %%p : !tt.ptr<i1>\n    scf.if %%z%d {\n", i, i);
        test_text_put(&text, "    ttg.local_store %%p, %%x : i32\n    }\n");
    }
    test_text_put(&text, CLOSE);
    test_ttgir_refuse(&(fault){text.bytes, "data decides more than 10 conditions: only a run on "
                                           "the device knows it; with -D NAME=N loads have a"});
    test_text_free(&text);
}

/* A copy whose mask compares numbers of data, in a loop that data ends: it writes in any case. */
static void copies_of_data(void **state) {
    (void)state;
    static const sample copy = {
        HEAD("90") ALLOC_S
        "    %h = tt.splat %p : !tt.ptr<f16> -> tensor<64x64x!tt.ptr<f16>>\n"
        "    %n = arith.divsi %K, %c0 : i32\n    scf.for %i = %c0 to %v step %c1  : i32 {\n"
        "    %e = arith.cmpi slt, %i, %n : i32\n    %z = tt.splat %e : i1 -> tensor<64x64xi1>\n"
        "    %t1 = ttg.async_copy_global_to_local %h, %x mask %z : tensor<64x64x!tt.ptr<f16>> -> "
        "<64x64xf16, #shared, #smem, mutable>\n    %t2 = ttg.async_commit_group tokens %t1\n" WAIT
        "    ttg.local_load %x : i32\n    }\n" CLOSE,
        {"any\n", "cp load", "reads x\n"}};
    spad_ttgir_info info;
    test_ttgir_read(&copy);
    spad_kernel_destroy(read(copy.text, &info));
    assert_string_equal(info.approximated, "");
}

/* ---- rounds that data ends ------------------------------------------------------------ */

#define T_OF(name) "    " name " = ttng.tmem_alloc : () -> " T2 "\n"
#define MMA(to, used, when)                                                                 \
    "    ttng.tc_gen5_mma %x, %x, " to ", " used ", " when ", %b[%true] {is_async} : i32\n" \
    "    ttng.wait_barrier %b, %ph, " when " : i32\n"
#define STEPS                                                                             \
    "    %c64 = arith.constant 64 : i32\n    %c128 = arith.constant 128 : i32\n"          \
    "    %ph = arith.constant 0 : i32\n    %e = tt.load %p : !tt.ptr<i32>\n    %false = " \
    "arith.constant false\n"
#define ENDS(start, end)                                                                     \
    "    %l = arith.subi " end ", %c64 : i32\n    scf.for %i = " start " to %l step %c64 : " \
    "i32 {\n"
#define LIVE(body)                                                                         \
    "    %b = ttg.local_alloc : () -> " B1 "\n    ttng.init_barrier %b, 1 : " B1 "\n" body \
    "    ttng.inval_barrier %b : " B1 "\n"

/* A pipelined loop asks for its rounds, whose number data decides, in front of it and in it. */
static void products_with_predicates(void **state) {
    (void)state;
    static const sample list[] = {
        /* n - 64 is the end, and 0 < n, 128 < n and i < n - 128 are asked */
        {HEAD("100") STEPS ALLOC_S T_OF("%a") STORE
         "    %q = arith.cmpi sgt, %e, %c0 : i32\n    %q2 = arith.cmpi sgt, %e, %c128 : "
         "i32\n" LIVE(MMA("%a", "%false", "%q")) "    %z = ttng.tmem_load %a : i32\n" ENDS(
             "%c0",
             "%e") "    %n2 = arith.subi %e, %c128 : i32\n    %g = arith.cmpi slt, %i, %n2 : "
                   "i32\n" LIVE(MMA("%a", "%false", "%g")) "    }\n    scf.if %q2 {\n" STORE
                                                           "    }\n" CLOSE,
         {"param trips = 8 any\n", "if 0 < trips {\n    tc5 dot reads x, x writes a\n",
          "if i + 2 < trips {\n", "if 2 < trips {\n    simt store"}},
        /* data decides where it begins, too */
        {HEAD("100") STEPS ALLOC_S T_OF("%a") STORE
         "    %o = tt.load %p : !tt.ptr<i32>\n    %q = arith.cmpi slt, %o, %e : i32\n" LIVE(
             MMA("%a", "%false", "%q")) ENDS("%o", "%e") STORE "    }\n" CLOSE,
         {"param trips = 8 any\n", "if 0 < trips {\n    tc5 dot reads x, x writes a\n"}},
        /* steps of 1 are exact */
        {HEAD("100") STEPS ALLOC_S T_OF("%a") STORE "    %q = arith.cmpi slt, %c1, %e : i32\n" LIVE(
             MMA("%a", "%false", "%q")) "    %l = arith.subi %e, %c1 : i32\n    scf.for %i = %c0 "
                                        "to %l step %c1 : i32 {\n" STORE "    }\n" CLOSE,
         {"param trips = 8 any\n", "if 1 < trips {\n    tc5 dot"}},
    };
    static const char *const said[] = {
        ("the loop in line 35 has whole steps from 0 on, the load in line 33 is left out where its "
         "product is"),
        "the loop in line 34 has whole steps from 0 on", ""};
    CHECK_SAMPLES(list);
    for (size_t i = 0; i < 3; i++) {
        spad_ttgir_info info;
        spad_kernel_destroy(read(list[i].text, &info));
        assert_string_equal(info.approximated, said[i]);
    }
}

/* A product in front of a loop without rounds does not happen, and its result is not used. */
static void products_without_rounds(void **state) {
    (void)state;
    spad_ttgir_info info;
    static const sample list[] = {
        {HEAD("100") STEPS ALLOC_S T_OF("%a") STORE
         "    %q = arith.cmpi sgt, %c0, %c1 : i32\n" LIVE(
             MMA("%a", "%false", "%q")) "    %z = ttng.tmem_load %a : i32\n" CLOSE,
         {"invalidate b_bar\n"}}};
    CHECK_SAMPLES(list);
    assert_true(has(list[0].text, "reads a", false));
    spad_kernel_destroy(read(list[0].text, &info));
    assert_string_equal(info.approximated, "the load in line 32 is left out where its product is");
}

/* Where the start is a size, or the predicate is of another number, it is not known. */
static void products_that_data_decides(void **state) {
    (void)state;
    static const fault list[] = {
        {HEAD("100") STEPS ALLOC_S T_OF("%a") STORE "    %q = arith.cmpi slt, %K, %e : i32\n" LIVE(
             MMA("%a", "%false", "%q")) ENDS("%K", "%e") STORE "    }\n" CLOSE,
         "only a run on the device knows it"},
        {HEAD("100") STEPS ALLOC_S T_OF("%a") STORE
         "    %o = tt.load %p : !tt.ptr<i32>\n    %q = arith.cmpi slt, %c0, %o : i32\n" LIVE(
             MMA("%a", "%false", "%q")) ENDS("%c0", "%e") STORE "    }\n" CLOSE,
         "only a run on the device knows it"},
    };
    CHECK_FAULTS(list);
}

/* A loop that has no rounds with these sizes. */
static void loops_without_rounds(void **state) {
    (void)state;
    spad_ttgir_info info;
    spad_kernel_destroy(read(
        HEAD("90") ALLOC_S "    scf.for %i = %c2 to %c1 step %c1  : i32 {\n" STORE "    }\n" CLOSE,
        &info));
    assert_string_equal(info.skipped, "the loop in line 19 has no rounds");
    spad_kernel_destroy(read(HEAD("90") ALLOC_S LOOP STORE "    }\n" CLOSE, &info));
    assert_string_equal(info.skipped, "");
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(ways_that_meet),          cmocka_unit_test(faults_in_loops),
        cmocka_unit_test(early_returns),           cmocka_unit_test(products_with_predicates),
        cmocka_unit_test(products_without_rounds), cmocka_unit_test(products_that_data_decides),
        cmocka_unit_test(returns_that_matter),     cmocka_unit_test(returns_that_are_known),
        cmocka_unit_test(faults_of_branches),      cmocka_unit_test(too_many),
        cmocka_unit_test(conditions_of_data),      cmocka_unit_test(flags_that_loops_carry),
        cmocka_unit_test(conditions_of_rounds),    cmocka_unit_test(loops_without_rounds),
        cmocka_unit_test(copies_of_data),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
