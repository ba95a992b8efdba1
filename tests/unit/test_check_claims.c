/* SPDX-License-Identifier: Apache-2.0
 * For which values a proof holds: those that have a kernel, those that the reader has not taken
 * already, those that are not known, and those that other parameters are computed from. */
#include "prove_fixture.h"

/* An index that no condition is around is examined when a kernel is made, but bounds that are not
 * exact refuse nothing: how it moves counts then, and a value that is far away is found. */
static void indices_of_inexact_bounds(void **state) {
    (void)state;
#define LOADS(more, tiles, index)                                                     \
    "kernel k on trn2\nparam N = 8\n" more "tensor g : hbm bf16 [" tiles              \
    "] (128, 64) input\ntensor x : sbuf bf16 [N] (128, 64) ring 2\nfor i in 0..N {\n" \
    "dma l reads g[" index "] writes x[i]\nvector r reads x[i]\n}\n"
    assert_answer_starts(LOADS("", "10", "i % 7 + i % 5"), SPAD_VERDICT_PROVED_SHAPE,
                         "but not with N = 35: index 10 is outside 'g', which has 10");
    /* no kernel from some value on */
    assert_answer_starts(LOADS("", "10", "i / 3"), SPAD_VERDICT_PROVED_SHAPE, "N is fixed at 8: ");
    assert_answer_starts(LOADS("", "40", "i % 41"), SPAD_VERDICT_PROVED_SHAPE, "N is fixed at 8: ");
    assert_answer_starts(LOADS("", "40", "min(i, 40)"), SPAD_VERDICT_PROVED_SHAPE,
                         "N is fixed at 8: ");
    assert_answer_starts(LOADS("", "(N + 2) / 3", "i / 3"), SPAD_VERDICT_PROVED_ALL, "for all N");
    /* exact as long as it does not come round */
    assert_answer_starts(LOADS("", "100", "7 * i % 101"), SPAD_VERDICT_PROVED_SHAPE,
                         "but not with N = 73: index 100 is outside 'g', which has 100");
    assert_answer_starts(LOADS("", "64", "i - i / 65 * 65"), SPAD_VERDICT_PROVED_SHAPE,
                         "but not with N = 65: index 64 is outside 'g', which has 64");
    assert_answer_starts(LOADS("", "11", "i % 7 + i % 5"), SPAD_VERDICT_PROVED_ALL, "for all N");
    assert_answer_starts(LOADS("param S = 3\n", "S + 1", "max(min(5 * i % 3 + i % 2, S), 0 / S)"),
                         SPAD_VERDICT_PROVED_ALL, "for all N");
    assert_answer_starts(LOADS("", "9", "min(i, 8)"), SPAD_VERDICT_PROVED_ALL, "for all N");
#undef LOADS
}

/* What is right at small values, and no kernel at larger ones. */
static void no_kernel_far_away(void **state) {
    (void)state;
#define FALLS(extent)                                                          \
    "kernel k on trn2\nparam N = 8\nparam M = 8\ntensor g : hbm bf16 [" extent \
    "] (128, 8)\ntensor x : sbuf bf16 (128, 8)\n"                              \
    "for i in 0..N { vector w writes x\nvector r reads x }\n"                  \
    "for i in 0..M { vector w writes x\nvector r reads x }\n"
    assert_answer_starts(FALLS("100 - N"), SPAD_VERDICT_PROVED_SHAPE,
                         "for all M; N is fixed at 8: 'g' has an extent that falls towards 0");
    assert_answer_starts(FALLS("max(100 - N, N - 200)"), SPAD_VERDICT_PROVED_SHAPE,
                         "for all M; N is fixed at 8: an index does not advance in even steps");
    assert_answer(FALLS("max(N, 1)"), SPAD_VERDICT_PROVED_ALL, "for all N, M");
    /* an alias grows, and what it is a name for does not */
    assert_answer(
        "kernel k on trn2\nparam N = 8\ntensor g : hbm bf16 (128, 800)\n"
        "tensor h : hbm bf16 [N + 1] (128, 8) alias of g\n"
        "tensor x : sbuf bf16 (128, 8)\n"
        "for i in 0..N { vector w writes x\nvector r reads x }\n",
        SPAD_VERDICT_PROVED_SHAPE,
        "there is no kernel with N = 100: 1 lanes x 206,848 bytes do not fit in a tile of "
        "'g' of 1 x 204,800; N = 0, 1, 2, 6, 7, 9, 10 are right, too");
#undef FALLS
    /* the loop around it does not run at the given values */
    assert_answer_starts("kernel k on trn2\nparam N = 4\nparam M = 0\n"
                         "tensor g : hbm bf16 [40] (128, 8) input\ntensor x : sbuf bf16 (128, 8)\n"
                         "for j in 0..M { for i in 0..N { dma w reads g[i] writes x } }\n"
                         "for i in 0..N { vector w writes x\nvector r reads x }\n",
                         SPAD_VERDICT_PROVED_SHAPE,
                         "for all M; N is fixed at 4: a loop does not run with the given values");
}

/* Numbers that are taken when the text is read, so that other values need another text. */
static void values_at_the_start(void **state) {
    (void)state;
#define STARTS(alias, given)                                                               \
    "kernel k on trn2\nparam N = 8\nunknown u in 0..9 = " given                            \
    "\ntensor g : sbuf bf16 [4] (128, 8)\ntensor h : sbuf bf16 (128, 8) alias of g[" alias \
    "]\ntensor x : sbuf bf16 (128, 8)\nvector w writes g[0]\nvector r reads h\n"           \
    "for i in 0..N { vector w writes x\nif u > 3 { vector r reads x } }\n"
#define WAYS "for all 9 ways that unknown values can be; "
    assert_answer(STARTS("0", "3"), SPAD_VERDICT_PROVED_ALL, WAYS "for all N");
    /* at N = 9 it is another tile, which is not written */
    assert_answer(STARTS("N % 4", "3"), SPAD_VERDICT_PROVED_SHAPE,
                  WAYS "every event of the kernel was checked; other values of N were not tried");
    assert_answer(STARTS("0", "N"), SPAD_VERDICT_PROVED_SHAPE,
                  WAYS "every event of the kernel was checked; other values of N were not tried");
#undef WAYS
#undef STARTS
}

/* Values that no statement uses change nothing; where the proofs of two ways differ, both are told.
 */
static void ways_of_unknown_values(void **state) {
    (void)state;
#define LENGTHS(more, end)                                                   \
    "kernel k on trn2\nparam N = 8\n" more "tensor x : sbuf bf16 (128, 8)\n" \
    "for i in 0..N { vector w writes x\nvector r reads x }\n" end
    assert_answer(LENGTHS("unknown spare[8] in 0..9\n", ""), SPAD_VERDICT_PROVED_ALL, "for all N");
    assert_int_equal(ask(LENGTHS("unknown spare[8] in 0..9\n", ""), NULL, 0, NULL).counts.runs,
                     ask(LENGTHS("", ""), NULL, 0, NULL).counts.runs);
    assert_answer(LENGTHS("unknown spare in 0..9\nunknown u in 0..2\n",
                          "if u == 1 { vector last reads x }\n"),
                  SPAD_VERDICT_PROVED_SHAPE,
                  "for all 2 ways that unknown values can be; for all N; with u = 1: for all N "
                  ">= 1; not with N = 0: last reads 'x', but nothing has written bytes [0, "
                  "16) of lanes [0, 128) of its slot; write it first, or declare it as input");
#undef LENGTHS
}

/* A loop runs up to a parameter that decides another one, too: what is proved of that one is not
 * proved for all trip counts. */
static void parameters_of_parameters(void **state) {
    (void)state;
#define PARAMS(end)                                                                       \
    "kernel k on trn2\nparam N = 4\nparam M = " end "\ntensor x : sbuf u8 [2] (128, 8)\n" \
    "vector w writes x[0]\nfor j in 0..M { vector r reads x[0] }\n"
    assert_answer(PARAMS("N"), SPAD_VERDICT_PROVED_ALL,
                  "for all M; other values of N were not tried");
    assert_answer_starts(PARAMS("N") "for i in 0..N { vector r reads x[0] }\n"
                                     "if N == 99 { vector r reads x[1] }\n",
                         SPAD_VERDICT_PROVED_SHAPE,
                         "for all M; not with M = 4, N = 99: r reads 'x[1]'");
    assert_answer(PARAMS("5") "for i in 0..N { vector r reads x[0] }\n", SPAD_VERDICT_PROVED_ALL,
                  "for all N, M");
#undef PARAMS
}

/* A loop that begins to run only at a larger value is part of a proof once it has run: what it does
 * in its sixth iteration is found, also where the other loops repeat themselves before. */
static void loops_that_begin_later(void **state) {
    (void)state;
#define LATER(param, body, end)                                                                \
    "kernel k on trn2\nparam N = " param "\ntensor x : sbuf u8 [2] (128, 8)\n"                 \
    "vector w writes x[0]\nfor i in 0..N { vector r reads x[0] }\nfor j in 0..N - 10 {\n" body \
    "}\n" end
#define SIXTH "if j >= 5 { vector r reads x[1] }\n"
    assert_answer_starts(LATER("12", SIXTH, ""), SPAD_VERDICT_PROVED_SHAPE,
                         "but not with N = 16: ");
    assert_answer(LATER("16", SIXTH, ""), SPAD_VERDICT_WRONG, "");
    assert_answer_starts(LATER("12", "vector r reads x[0]\n", ""), SPAD_VERDICT_PROVED_ALL,
                         "for all N >= 10; smaller ones are refused: the loop runs from 0");
    /* where the value is data there are no rounds below it */
    assert_answer_starts(LATER("4 any", SIXTH, ""), SPAD_VERDICT_WRONG, "seen with ");
    assert_answer(LATER("4 any", "vector r reads x[0]\n", ""), SPAD_VERDICT_PROVED_ALL,
                  "for all N");
    assert_answer(LATER("4 any", "vector w writes x[1]\n", "vector r reads x[1]\n"),
                  SPAD_VERDICT_WRONG, "");
    assert_answer(LATER("4 any", "vector w writes x[1]\n", "if N > 10 { vector r reads x[1] }\n"),
                  SPAD_VERDICT_PROVED_ALL, "for all N");
    assert_answer_starts(
        LATER("4 any", "vector w writes x[1]\n", "if N > 9 { vector r reads x[1] }\n"),
        SPAD_VERDICT_WRONG, "seen with ");
    /* a begin that data moves beyond the end: no rounds, and no proof for it */
    assert_answer_starts("kernel k on trn2\nparam N = 9 any\ntensor x : sbuf u8 [2] (128, 8)\n"
                         "vector w writes x[0]\nfor j in N..4 { vector r reads x[0] }\n",
                         SPAD_VERDICT_UNKNOWN, "N may be any number, and only 9 is proved: ");
#undef SIXTH
#undef LATER
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(indices_of_inexact_bounds), cmocka_unit_test(no_kernel_far_away),
        cmocka_unit_test(values_at_the_start),       cmocka_unit_test(ways_of_unknown_values),
        cmocka_unit_test(parameters_of_parameters),  cmocka_unit_test(loops_that_begin_later),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
