/* SPDX-License-Identifier: Apache-2.0
 * Conditions that two trip counts decide together: each trip count alone leaves the answer as it
 * is, and both together change it. What is claimed for all values must be right where both are
 * large; and where it is right, the claim must still be made. */
#include "prove_fixture.h"

#include <stdio.h>

#define PARAMS "param T = 3\nparam N = 4\n"
#define LOOPS(body) "{ for t in 0..T { for n in 0..N { " body " } } }\n"

/* One agent signals under a condition, and the other takes each time. */
#define SIGNALS(condition)       \
    "kernel k on sm_90\n" PARAMS \
    "counter c\nagent a " LOOPS("if " condition " { signal c }") "agent b " LOOPS("take c")

/* The same with loops that end early. */
#define BREAKS(condition)        \
    "kernel k on sm_90\n" PARAMS \
    "counter c\nagent a " LOOPS("if " condition " { break }\nsignal c") "agent b " LOOPS("take c")

/* No agents: a tile is loaded under a condition, and then read. */
#define LOADS(condition)                                                                     \
    "kernel k on trn2\n" PARAMS "tensor x : sbuf bf16 [N] (128, 64) ring 2\n"                \
    "tensor g : hbm bf16 [N] (128, 64) input\ntensor o : hbm bf16 [T, N] (128, 64) output\n" \
    "for t in 0..T { for n in 0..N {\nif " condition " { dma l reads g[n] writes x[n] }\n"   \
    "dma s reads x[n] writes o[t, n]\n} }\n"

/* A ring with cursors, whose slot is given back before the last use of it. */
#define RING(early, late)                                                                        \
    "kernel k on sm_90\n" PARAMS "param S = 2\nmbarrier full[S] count 1\n"                       \
    "mbarrier empty[S] count 1\ntensor x : shared f32 [S] (64, 64)\n"                            \
    "tensor o : global f32 [T, N] (64, 64) output\nfor s in 0..S { init full[s]; init empty[s] " \
    "}\n"                                                                                        \
    "agent p { cursor s, h mod S\nfor t in 0..T { for n in 0..N {\n"                             \
    "wait empty[s] parity 1 - h\nsimt w writes x[s]\narrive full[s]\nadvance s\n} } }\n"         \
    "agent c { cursor s, h mod S\nfor t in 0..T { for n in 0..N {\nwait full[s] parity h\n"      \
    "if " early " { simt r reads x[s] writes o[t, n] }\narrive empty[s]\n"                       \
    "if " late " { simt r reads x[s] writes o[t, n] }\nadvance s\n} } }\n"

/* Rounds of one trip count, one inside of the other. */
#define ROUNDS(condition)                                                             \
    "kernel k on sm_90\nparam T = 3\nparam N = 4\ncounter c\n"                        \
    "agent a { for t in 0..N { for n in t..N { if " condition " { signal c } } } }\n" \
    "agent b { for t in 0..N { for n in t..N { take c } } }\n"

static void no_claim_beyond_a_joint_threshold(void **state) {
    (void)state;
    static const struct {
        const char *text;
        int64_t t, n; /* wrong there */
    } cases[] = {
        {SIGNALS("n < 10 or T < 20"), 20, 11},
        {SIGNALS("n < 10 or t < 20"), 21, 11},
        {SIGNALS("N < 10 or t < 20"), 21, 10},
        {SIGNALS("N < 10 or T < 20"), 20, 10},
        {SIGNALS("n != 12 or t != 17"), 18, 13},
        {SIGNALS("N != 12 or T != 17"), 17, 12},
        {SIGNALS("n < 10 and t < 99 or T < 20"), 20, 11},
        {SIGNALS("n + t < 40"), 21, 21},
        {SIGNALS("2 * n + t < 40 or t + 2 * n < 30"), 21, 21},
        {SIGNALS("n / 4 < 3 or t / 5 < 4"), 21, 13},
        {BREAKS("n == 12 and t == 17"), 18, 13},
        {BREAKS("N > 12 and t > 17"), 19, 13},
        {LOADS("n < 10 or T < 20"), 20, 11},
        {LOADS("N < 10 or t < 20"), 21, 10},
        {RING("n < 10 or t < 20", "n >= 10 and t >= 20"), 24, 13},
        {ROUNDS("n < t + 90 or t < 100"), 3, 191},
    };
    const spad_check_options alone = {.one_shape = true};
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        const spad_define wrong[] = {{"T", cases[i].t}, {"N", cases[i].n}};
        const answer a = ask(cases[i].text, NULL, 0, NULL);
        const bool both = strncmp(a.reason, "for all T, N", 14) == 0 ||
                          strstr(a.reason, "and every N") != NULL ||
                          a.verdict == SPAD_VERDICT_PROVED_ALL;
        if (both) print_error("%d: %s\n", (int)i, a.reason);
        assert_false(both);
        assert_int_equal(ask(cases[i].text, wrong, 2, &alone).verdict, SPAD_VERDICT_WRONG);
        assert_int_equal(ask(cases[i].text, wrong, 2, NULL).verdict, SPAD_VERDICT_WRONG);
    }
}

/* A large shape that is wrong is not judged by small ones that are right. */
static void large_shapes(void **state) {
    (void)state;
    static const char *const texts[] = {SIGNALS("n < 70 or T < 80"), LOADS("n < 70 or t < 80"),
                                        BREAKS("n == 71 and t == 82")};
    const spad_define large[] = {{"T", 200}, {"N", 200}};
    for (size_t i = 0; i < sizeof texts / sizeof texts[0]; i++) {
        assert_int_equal(ask(texts[i], large, 2, NULL).verdict, SPAD_VERDICT_WRONG);
    }
}

/* One trip count, counted from both ends of its loop: near the begin one comparison keeps the
 * answer, near the end the other one, and in the middle of a long loop neither does. */
static void both_ends_of_one_loop(void **state) {
    (void)state;
    static const struct {
        const char *condition;
        int64_t wrong_at;
    } cases[] = {{"T - t != 17 or t < 17", 34},
                 {"t < 9 or t + 12 > T or T - t < 12 and t > 3", 21},
                 {"T - t > 8 or t <= 10 or T - t < 8", 19}};
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        char text[512];
        snprintf(text, sizeof text,
                 "kernel k on sm_90\nparam T = 2\ntensor q : shared u8 [T] (8) ring 2\n"
                 "for t in 0..T {\nif %s { simt d writes q[t] }\nsimt e reads q[t]\n}\n",
                 cases[i].condition);
        const spad_define define = {"T", cases[i].wrong_at};
        assert_int_equal(ask(text, &define, 1, NULL).verdict, SPAD_VERDICT_WRONG);
        assert_int_not_equal(ask(text, NULL, 0, NULL).verdict, SPAD_VERDICT_PROVED_ALL);
    }
}

/* Conditions of both that keep their answers are no reason to claim less. */
static void claims_that_stay(void **state) {
    (void)state;
    assert_answer(SIGNALS("n < N or T < 20"), SPAD_VERDICT_PROVED_ALL, "for all T, N");
    assert_answer(SIGNALS("n == 0 and t == 0 or n > 0 or t > 0"), SPAD_VERDICT_PROVED_ALL,
                  "for all T, N");
    assert_answer(SIGNALS("t < T and n < N"), SPAD_VERDICT_PROVED_ALL, "for all T, N");
    assert_answer(SIGNALS("n + t < T + N"), SPAD_VERDICT_PROVED_ALL, "for all T, N");
    assert_answer(RING("t < T or n == 3", "n == N and t == T"), SPAD_VERDICT_PROVED_ALL,
                  "for all T >= 1 and all N >= 1; other values of S were not tried");
}

/* ---- costs ------------------------------------------------------------------------ */

/* Index t * N + n makes the trip counts depend on each other; the condition stays as it is while
 * one of them grows. */
#define PERSISTENT(last)                                                                           \
    "kernel k on sm_90\n" PARAMS "counter full\ncounter empty = 2\n"                               \
    "tensor x : shared u8 [2] (8)\ntensor p : shared u8 (8)\ntensor q : shared u8 (8)\n"           \
    "agent a " LOOPS(                                                                              \
        "take empty\nsimt w writes x[(t * N + n) % 2]\nsignal full") "agent b {\nsimt first "      \
                                                                     "writes p\nsimt first reads " \
                                                                     "p\nfor t in 0..T { for n "   \
                                                                     "in 0..N {\n"                 \
                                                                     "take full\nsimt r reads "    \
                                                                     "x[(t * N + n) % 2]\nsignal " \
                                                                     "empty\n"                     \
                                                                     "if n < 12 or t < 15 { simt " \
                                                                     "u updates p }\n" last        \
                                                                     "} }\n}\n"

/* Conditions show that a proof for both fails, before its hundreds of shapes are run. */
static void conditions_end_a_proof_early(void **state) {
    (void)state;
    const answer a = ask(PERSISTENT(""), NULL, 0, NULL);
    assert_int_equal(a.verdict, SPAD_VERDICT_PROVED_SHAPE);
    assert_non_null(strstr(a.reason, "for all T; N is fixed at 4: how far T moves an index"));
    assert_true(a.counts.runs < 200);
}

/* The given shape is wrong: it is the only one that is run. */
static void wrong_shapes_need_no_proof(void **state) {
    (void)state;
    const answer a = ask(PERSISTENT("simt z reads q\n"), NULL, 0, NULL);
    assert_int_equal(a.verdict, SPAD_VERDICT_WRONG);
    assert_int_equal(a.counts.runs, 1);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(no_claim_beyond_a_joint_threshold),
        cmocka_unit_test(large_shapes),
        cmocka_unit_test(both_ends_of_one_loop),
        cmocka_unit_test(claims_that_stay),
        cmocka_unit_test(conditions_end_a_proof_early),
        cmocka_unit_test(wrong_shapes_need_no_proof),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
