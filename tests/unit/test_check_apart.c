/* SPDX-License-Identifier: Apache-2.0
 *
 * Proofs that rest on one thing at a time: tensors that share no bytes are proved one by one, an
 * index that stays inside needs no other argument, and iterations that touch different parts do not
 * depend on each other. What is claimed for all trip counts is compared with runs of many.
 */
#include "prove_fixture.h"

#include <stdio.h>

#include "check/disjoint_iterations.h"
#include "spad/layout.h"

/* ---- tensors one by one ------------------------------------------------------------ */

/* Rings that come round together only after very many iterations are proved one by one, if they
 * share no bytes. The rings of a, b and c have their slots as numbers. */
#define COPRIME(a, b, c, ahead)                                                                \
    "kernel k on trn2\nparam N = 40\ntensor g : hbm bf16 [N] (128, 512) input\n"               \
    "tensor x : sbuf bf16 [N] (128, 8) " a "\ntensor y : sbuf bf16 [N] (128, 8) " b            \
    "\ntensor z : sbuf bf16 [N] (128, 8) " c "\nfor i in 0..N {\nvector w writes x[i], y[i]\n" \
    "vector r reads x[i] writes z[i]\nif i >= " ahead " { vector r reads y[i - " ahead         \
    "], z[i] }\n}\n"

static void rings_one_by_one(void **state) {
    (void)state;
    static const char *const right[] = {COPRIME("ring 31", "ring 33", "ring 2", "32"),
                                        COPRIME("ring 97", "ring 89", "ring 83", "88"),
                                        COPRIME("ring 31", "mod base 0 free 33",
                                                "mod base 4096 free 2",
                                                "32"), /* places of their own */
                                        COPRIME("ring 31", "ring 33", "alias of y", "0")};
    static const char *const many = COPRIME("ring 97", "ring 89", "ring 83", "88");
    const spad_define far = {"N", 1000000000};
    for (size_t i = 0; i < sizeof right / sizeof right[0]; i++) {
        const answer a = ask(right[i], NULL, 0, NULL);
        const bool aliased = strstr(right[i], "alias") != NULL;
        assert_string_equal(a.reason, aliased ? "" : "for all N >= 1");
        assert_int_equal(a.verdict, aliased ? SPAD_VERDICT_WRONG : SPAD_VERDICT_PROVED_ALL);
    }
    const answer near = ask(many, NULL, 0, NULL);
    const answer large = ask(many, &far, 1, NULL);
    assert_int_equal(large.verdict, SPAD_VERDICT_PROVED_ALL);
    assert_true(large.counts.events < 2 * near.counts.events);
    /* one of them is too short, which shows with large values only */
    assert_answer_starts(COPRIME("ring 97", "ring 89", "ring 83", "89"), SPAD_VERDICT_PROVED_SHAPE,
                         "right at N = 40, not with N = 90: r reads 'y[0]' (i = 89), but bytes ");
    const answer wrong = ask(COPRIME("ring 97", "ring 89", "ring 83", "89"), &far, 1, NULL);
    assert_int_not_equal(wrong.verdict, SPAD_VERDICT_PROVED_ALL);
    /* places that meet are one part: no proof, and the reason */
    assert_answer_starts(COPRIME("mod base 0 free 97", "mod base 64 free 89", "ring 83", "0"),
                         SPAD_VERDICT_PROVED_SHAPE,
                         "N is fixed at 40: the kernel repeats itself only after too many "
                         "iterations");
}

/* The same with places from the planner: what shares bytes there is one part. Here x and y are
 * alive together, and z after them, in their bytes or not. */
static void rings_with_places(void **state) {
    (void)state;
    spad_kernel *kernel = test_parse(
        "kernel k on trn2\nparam N = 40\ntensor x : sbuf bf16 [N] (128, 8) ring 31\n"
        "tensor y : sbuf bf16 [N] (128, 8) ring 33\ntensor m : sbuf bf16 (128, 8) at 65536\n"
        "tensor p : psum f32 [N] (128, 8) ring 3\ntensor q : psum f32 (128, 8)\n"
        "for i in 0..N { vector w writes x[i], y[i]\nvector r reads x[i], y[i] writes p[i]\n"
        "vector r reads p[i] writes q\nvector r reads q }\n");
    spad_kernel *apart = test_parse(COPRIME("ring 31", "ring 33", "ring 2", "32"));
    const spad_kernel *const kernels[] = {kernel, apart};
    for (size_t i = 0; i < 2; i++) {
        spad_layout *layout;
        spad_check *check;
        spad_error error;
        assert_ok(spad_layout_create(&layout, kernels[i], NULL, &error), &error);
        const spad_check_options how = {.layout = layout};
        assert_ok(spad_check_create(&check, kernels[i], &how, &error), &error);
        /* a tensor with a place of its own may be anywhere among the planned ones */
        assert_int_equal(spad_check_get_verdict(check),
                         i == 0 ? SPAD_VERDICT_PROVED_SHAPE : SPAD_VERDICT_PROVED_ALL);
        spad_check_destroy(check);
        spad_layout_destroy(layout);
    }
    spad_kernel_destroy(apart);
    spad_kernel_destroy(kernel);
}

/* COPRIME with more declarations, statements in the loop, and statements after it. */
#define COPRIME_AND(declare, inside, after)                                                     \
    "kernel k on trn2\nparam N = 40\n" declare "tensor x : sbuf bf16 [N] (128, 8) ring 31\n"    \
    "tensor v : sbuf bf16 [N] (128, 8) alias of x\ntensor y : sbuf bf16 [N] (128, 8) ring 33\n" \
    "for i in 0..N {\nvector w writes x[i], y[i]\nvector r reads v[i]\n"                        \
    "if i >= 32 { vector r reads y[i - 32] }\n" inside "}\n" after

/* Values that are wrong or refused are known for all parts, and sizes are not trip counts. */
static void parts_of_larger_kernels(void **state) {
    (void)state;
    static const struct {
        const char *text;
        spad_verdict verdict;
        const char *reason;
    } cases[] = {
        {COPRIME_AND("param W = 8\ntensor s : sbuf bf16 (128, W)\n",
                     "vector w writes s\nvector r reads s\n", ""),
         SPAD_VERDICT_PROVED_ALL, "for all N >= 1"},
        {COPRIME_AND("tensor least : hbm u8 [N - 6] (128, 8)\n", "", ""), SPAD_VERDICT_PROVED_ALL,
         "for all N >= 7; smaller ones are refused: an extent of 0; it must be at least 1"},
        {COPRIME_AND("tensor u : sbuf bf16 (128, 8)\n", "if i == 2 { vector w writes u }\n",
                     "vector l reads u\n"),
         SPAD_VERDICT_PROVED_SHAPE, "for all N >= 3; not with N = 1: l reads 'u', but "},
        {COPRIME_AND("tensor u : sbuf bf16 [N] (128, 8) ring 2\n",
                     "if i == 2 { vector w writes u[2] }\n", "vector l reads u[2]\n"),
         SPAD_VERDICT_PROVED_ALL,
         "for all N >= 3; smaller ones are refused: index 2 is outside 'u', which has 2"},
        /* a trip count that no part has a proof for */
        {COPRIME_AND("param M = 5\ntensor s : sbuf bf16 [M] (128, 8)\n", "",
                     "for j in 0..M { vector w writes s[j]\nvector r reads s[j] }\n"),
         SPAD_VERDICT_PROVED_SHAPE,
         "M is fixed at 5: 's' has a place of its own for every tile, so its memory grows"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        answer a = ask(cases[i].text, NULL, 0, NULL);
        a.reason[strlen(cases[i].reason)] = '\0';
        assert_string_equal(a.reason, cases[i].reason);
        assert_int_equal(a.verdict, cases[i].verdict);
    }
}

/* Too many parts, and more trip counts than are proved together: no claim for them. */
static void too_many_parts(void **state) {
    (void)state;
    char text[4096] = "kernel k on trn2\nparam N = 40\n";
    char loop[2048] = "for i in 0..N {\n";
    static const int rings[] = {2, 3, 5, 7, 11, 13, 17, 19, 23, 29};
    for (size_t i = 0; i < sizeof rings / sizeof *rings; i++) {
        char line[128];
        snprintf(line, sizeof line, "tensor t%d : sbuf bf16 [N] (128, 8) ring %d\n", rings[i],
                 rings[i]);
        strcat(text, line);
        snprintf(line, sizeof line, "vector w writes t%d[i]\nvector r reads t%d[i]\n", rings[i],
                 rings[i]);
        strcat(loop, line);
    }
    strcat(text, loop);
    strcat(text, "}\n");
    assert_answer_starts(text, SPAD_VERDICT_PROVED_SHAPE,
                         "N is fixed at 40: the kernel repeats itself only after too many "
                         "iterations");
}

static spad_verdict verdict_with_layout(const char *text) {
    spad_kernel *kernel = test_parse(text);
    spad_layout *layout;
    spad_check *check;
    spad_error error;
    assert_ok(spad_layout_create(&layout, kernel, NULL, &error), &error);
    assert_ok(spad_check_create(&check, kernel, &(spad_check_options){.layout = layout}, &error),
              &error);
    const spad_verdict verdict = spad_check_get_verdict(check);
    spad_check_destroy(check);
    spad_layout_destroy(layout);
    spad_kernel_destroy(kernel);
    return verdict;
}

#define TWO_RINGS(lanes, body)                                                          \
    "kernel k on trn2\nparam N = 40\ntensor x : sbuf bf16 [N] (" lanes ", 8) ring 31\n" \
    "tensor y : sbuf bf16 [N] (" lanes                                                  \
    ", 8) ring 33\nfor i in 0..N {\nvector w writes x[i]\n" body "vector r reads y[i]\n}\n"
#define TOGETHER "vector w writes y[i]\nvector r reads x[i]\n"
#define AFTER "vector r reads x[i]\n}\nfor i in 0..N {\nvector w writes y[i]\n"

/* One after the other they have the same bytes, and are one part. */
static void rings_in_the_same_bytes(void **state) {
    (void)state;
    assert_int_equal(verdict_with_layout(TWO_RINGS("128", TOGETHER)), SPAD_VERDICT_PROVED_ALL);
    /* side by side in the lanes, and the bytes around all slots meet */
    assert_int_equal(verdict_with_layout(TWO_RINGS("64", TOGETHER)), SPAD_VERDICT_PROVED_SHAPE);
    assert_int_equal(verdict_with_layout(TWO_RINGS("128", AFTER)), SPAD_VERDICT_PROVED_SHAPE);
    const answer alone = ask(TWO_RINGS("128", AFTER), NULL, 0, NULL);
    assert_int_equal(alone.verdict, SPAD_VERDICT_PROVED_ALL); /* no layout: no bytes in common */
}

/* ---- indices that stay inside ------------------------------------------------------ */

static bool is_wrong_at(const char *text, int64_t value) {
    const spad_define define = {"N", value};
    const spad_kernel_options options = {.defines = &define, .define_count = 1};
    const spad_check_options alone = {.one_shape = true};
    spad_kernel *kernel;
    spad_check *check;
    spad_error error;
    const spad_status status =
        spad_kernel_parse(&kernel, text, strlen(text), "k", &options, NULL, &error);
    if (status == SPAD_ERR_SYNTAX) return false; /* refused: nothing is claimed of it */
    assert_ok(status, &error);
    assert_ok(spad_check_create(&check, kernel, &alone, &error), &error);
    const bool wrong = spad_check_get_counts(check).errors > 0;
    spad_check_destroy(check);
    spad_kernel_destroy(kernel);
    return wrong;
}

/* A claim for all N holds for those that can be run. */
static void expect_claim(const char *text, bool all) {
    const answer a = ask(text, NULL, 0, NULL);
    if ((a.verdict == SPAD_VERDICT_PROVED_ALL) != all) print_error("%s%s\n", text, a.reason);
    assert_int_equal(a.verdict, all ? SPAD_VERDICT_PROVED_ALL : SPAD_VERDICT_PROVED_SHAPE);
    for (int64_t n = 0; n < 25 && all; n++) assert_false(is_wrong_at(text, n));
}

/* The index of a tensor on the chip, whose bytes are followed, and of one that is only read. */
static void indices_that_stay_inside(void **state) {
    (void)state;
    static const struct {
        const char *index;
        const char *extent;
        const char *loop;
        bool followed; /* is it proved for all N? */
        bool read;
    } cases[] = {
        {"7 * i % 5", "5", "0..N", true, true},
        {"7 * i % 5 + 3 * i % 4", "8", "0..N", true, true},
        {"max(3 * i % 4, i % 3)", "4", "0..N", true, true},
        {"3 * i % 8 / 2", "4", "0..N", true, true},
        {"3 - 3 * i % 4", "4", "0..N", true, true},
        {"-(3 * i % 4) + 3", "4", "0..N", true, true},
        {"3 * i % S", "S", "0..N", true, true},
        {"3 * i % 4", "S + 1", "0..N", true, true},
        {"3 * i % 4 + S", "7", "0..N", true, true},
        {"3 * i % 4 + S", "7", "S..N + S", false, false}, /* S = 4 is outside */
        {"i % 4 + i % 3", "6", "0..N", true, true},
        {"i % 4 + i % 3", "5", "0..N", false, false}, /* N = 12 is outside */
        {"7 * i % M", "5", "0..N", true, true},
        /* not in even steps, but always inside */
        {"min(3 * i % 4, i)", "4", "0..N", false, true},
        {"3 * i % 4 + min(i, 2)", "6", "0..N", false, true},
        {"min(i, 3) % 4 + i % 5", "9", "0..N", false, true},
        {"3 * i % 4 + min(i, 2)", "6", "S..N", false, false},
        {"(min(i, 7) + i % 2) / 2", "5", "0..N", false, true},
        /* it grows, a divisor or the extent varies, or it falls */
        {"3 * i % 4 + i", "30", "0..N", false, false},
        {"max(3 * i % 4, i)", "30", "0..N", false, false},
        {"(3 * i % 4 + max(i, 1)) / 4", "30", "0..N", false, false},
        {"3 * i % N", "N", "0..N", false, false},
        {"3 * i % 4", "N", "0..N", false, false},
        {"3 * i % 4 + max(i, 2) / 100", "6", "S..N + S", false, false},
        {"(S - i + i % 2 + 20) / 2", "30", "0..N", false, false},
        {"max(9 - i, 0) % 4 + i % 5", "9", "0..N", false, true},
    };
    for (size_t c = 0; c < sizeof cases / sizeof *cases; c++) {
        char text[600];
        const char *const index = cases[c].index;
        snprintf(text, sizeof text,
                 "kernel k on trn2\nparam N = 6\nparam S = 3\nparam M = S + 2\n"
                 "tensor x : sbuf u8 [%s] (128, 8)\nfor i in %s {\nvector w writes x[%s]\n"
                 "vector r reads x[%s]\n}\n",
                 cases[c].extent, cases[c].loop, index, index);
        expect_claim(text, cases[c].followed);
        snprintf(text, sizeof text,
                 "kernel k on trn2\nparam N = 6\nparam S = 3\nparam M = S + 2\n"
                 "tensor x : hbm u8 [%s] (128, 8) input\ntensor s : sbuf u8 (128, 8)\n"
                 "for i in %s {\ndma l reads x[%s] writes s\nvector r reads s\n}\n",
                 cases[c].extent, cases[c].loop, index);
        expect_claim(text, cases[c].read);
    }
}

/* ---- iterations that touch different parts ----------------------------------------- */

/* The first loop of the text that is called i, and tensor x. */
static void expect_apart(const char *declare, const char *loops, bool expected) {
    char text[3000];
    snprintf(text, sizeof text, "kernel k on sm_80\nparam N = 4\n%s%s", declare, loops);
    spad_kernel *kernel = test_parse(text);
    int64_t loop = -1;
    int64_t tensor = -1;
    for (size_t i = 0; i < spad_kernel_loop_count(kernel) && loop < 0; i++) {
        if (strcmp(spad_kernel_get_loop(kernel, i)->name, "i") == 0) loop = (int64_t)i;
    }
    for (size_t i = 0; i < spad_kernel_tensor_count(kernel); i++) {
        if (strcmp(spad_kernel_get_tensor(kernel, i)->name, "x") == 0) tensor = (int64_t)i;
    }
    assert_true(loop >= 0 && tensor >= 0);
    const bool apart = spad__iterations_apart(kernel, loop, tensor);
    if (apart != expected) print_error("%s", text);
    assert_int_equal(apart, expected);
    spad_kernel_destroy(kernel);
}

#define XS "tensor x : shared u8 [64] (64)\n"

static void indices_of_iterations(void **state) {
    (void)state;
    expect_apart(XS, "for i in 0..N { simt w writes x[i] }\n", true);
    expect_apart(XS, "for i in 0..N { simt w writes x[3 - i] }\n", true);
    expect_apart(XS, "for i in 0..N { simt w writes x[6 - 2 * i], x[7 - 2 * i] }\n", true);
    expect_apart(XS, "for i in 0..N { simt w writes x[7 - i], x[6 - i] }\n", false);
    expect_apart(XS, "for i in 0..N { simt w writes x[2 * i], x[2 * i + 1] }\n", true);
    expect_apart(XS, "for i in 0..N { simt w writes x[2 * i], x[2 * i + 2] }\n", false);
    expect_apart(XS, "for i in 0..N { simt w writes x[i], x[2 * i] }\n", false);
    expect_apart(XS, "for i in 0..N { simt w writes x[i % 3] }\n", false);
    expect_apart(XS, "for i in 0..N { simt w writes x[0] }\n", false);
    /* loops inside add to the rest */
    expect_apart(XS, "for i in 0..N { for j in 0..2 { simt w writes x[2 * i + j] } }\n", true);
    expect_apart(XS, "for i in 0..N { for j in 0..2 { simt w writes x[2 * i + 1 - j] } }\n", true);
    expect_apart(XS, "for i in 0..N { for j in 0..3 { simt w writes x[2 * i + j] } }\n", false);
    expect_apart(XS, "for i in 0..N { for j in 0..1 { simt w writes x[i + 9 * j] } }\n", true);
    /* loops around are the same for all */
    expect_apart(XS, "for o in 0..2 { for i in 0..N { simt w writes x[4 * o + i] } }\n", true);
    expect_apart(XS, "for o in 0..2 { for i in 0..N { simt w writes x[o + i], x[2 * o + i] } }\n",
                 false);
    expect_apart(XS, "for o in 0..2 { for i in 0..N { simt w writes x[o % 2 + i] } }\n", false);
    /* a cursor is not even in a loop */
    expect_apart(XS,
                 "cursor s mod 64\nfor i in 0..N { simt w writes x[s]\nif i % 2 == 0 { advance s } "
                 "}\n",
                 false);
}

static void parts_of_iterations(void **state) {
    (void)state;
    expect_apart(XS, "for i in 0..N { simt w writes x[0](16 * i..16 * i + 16) }\n", true);
    expect_apart(XS, "for i in 0..N { simt w writes x[0](8 * i..8 * i + 16) }\n", false);
    expect_apart(XS, "for i in 0..N { simt w writes x[0](8 * i..16 * i + 8) }\n", false);
    expect_apart(XS, "for i in 0..N { simt w writes x[0](8 * (i % 2)..8 * (i % 2) + 8) }\n", false);
    expect_apart(XS, "for i in 0..N { simt w writes x[0](8 * i..8 * (i % 2) + 32) }\n", false);
    /* all of a tile in one access, a part of it in another */
    expect_apart(XS, "for i in 0..N { simt w writes x[0](16 * i..16 * i + 16), x[0] }\n", false);
    /* what all read, what all add to, what an iteration has for itself */
    expect_apart("tensor x : shared u8 [64] (64) input\n", "for i in 0..N { simt r reads x[0] }\n",
                 true);
    expect_apart(XS, "for i in 0..N { simt a adds x[0] }\n", true);
    expect_apart(XS, "for i in 0..N { simt a updates x[0]\nsimt b adds x[0] }\n", true);
    expect_apart(XS, "for i in 0..N { simt a adds x[0]\nsimt r reads x[0] }\n", false);
    expect_apart("", "for i in 0..N { tensor x : shared u8 (64)\nsimt w writes x }\n", true);
    /* more loops than are looked at */
    char many[2600] = "for i in 0..N { simt w writes x[i] }\n";
    for (int i = 0; i < 70; i++) strcat(many, "for j in 0..1 { simt r reads x[0] }\n");
    expect_apart(XS, many, false);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(rings_one_by_one),        cmocka_unit_test(rings_with_places),
        cmocka_unit_test(parts_of_larger_kernels), cmocka_unit_test(too_many_parts),
        cmocka_unit_test(rings_in_the_same_bytes), cmocka_unit_test(indices_that_stay_inside),
        cmocka_unit_test(indices_of_iterations),   cmocka_unit_test(parts_of_iterations),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
