/* SPDX-License-Identifier: Apache-2.0
 * Every parameter is in the claim, is tried with other values, or is named in the reason; and what
 * is wrong with other values is a warning, whatever else is not known. */
#include "prove_fixture.h"

static answer check(const char *text) {
    return ask(text, NULL, 0, NULL);
}

static bool starts(const answer *a, const char *words) {
    return strncmp(a->reason, words, strlen(words)) == 0;
}

/* A parity that begins again in each tile, while the phases of the ring go on. */
#define PHASES(n)                                                                           \
    "kernel k on sm_90\nparam T = 3\nparam N = " n                                          \
    "\nparam S = 2\nmbarrier full[S] count 1\nmbarrier empty[S] count 1\n"                  \
    "tensor x : shared f32 [S] (64, 64)\ntensor o : global f32 [T, N] (64, 64) output\n"    \
    "for s in 0..S { init full[s]; init empty[s] }\n"                                       \
    "agent a { for t in 0..T { for n in 0..N {\nwait empty[n % S] parity (n / S + 1) % 2\n" \
    "simt w writes x[n % S]\narrive full[n % S] } } }\n"                                    \
    "agent b { for t in 0..T { for n in 0..N {\nwait full[n % S] parity (n / S) % 2\n"      \
    "simt r reads x[n % S] writes o[t, n]\narrive empty[n % S] } } }\n"

static void a_failed_proof_tries_other_values(void **state) {
    (void)state;
    const answer a = check(PHASES("4"));
    assert_int_equal(a.verdict, SPAD_VERDICT_PROVED_SHAPE);
    assert_true(starts(&a, "right at N = 4, not with N = 5: "));
    assert_true(a.counts.warnings > 0);
    assert_int_equal(a.counts.errors, 0);
    assert_non_null(strstr(a.reason, "; other values of S were not tried"));
}

/* The tiles of a ring get other numbers when an extent changes that is not the first one. */
static void extents_of_rings_are_tried(void **state) {
    (void)state;
    const answer a = check("kernel k on sm_90\nparam N = 6\n"
                           "tensor x : shared f32 [2, N] (64, 64) ring 4\n"
                           "tensor o : global f32 [2, N] (64, 64) output\nfor i in 0..N {\n"
                           "simt w writes x[0, i], x[1, i]\n"
                           "simt r reads x[0, i], x[1, i] writes o[0, i], o[1, i]\n}\n");
    assert_int_equal(a.verdict, SPAD_VERDICT_PROVED_SHAPE);
    assert_true(starts(&a, "right at N = 6, not with N = 8: "));
    assert_true(a.counts.warnings > 0);
}

#define SIGNALS(unknown, condition)                                 \
    "kernel k on sm_90\nparam N = 4\n" unknown "counter c\n"        \
    "agent a { for n in 0..N { if " condition " { signal c } } }\n" \
    "agent b { for n in 0..N { take c } }\n"

/* The second way that an unknown value can be is wrong from N = 11 on. */
static void unknown_values_hide_nothing(void **state) {
    (void)state;
    const answer known = check(SIGNALS("", "n < 10"));
    assert_int_equal(known.counts.warnings, 1);
    const answer a = check(SIGNALS("unknown r in 0..2\n", "n < 10 or r == 0"));
    assert_int_equal(a.verdict, SPAD_VERDICT_PROVED_SHAPE);
    assert_int_equal(a.counts.warnings, 1);
    assert_non_null(strstr(a.reason, "with r = 1: but not with N = 11: "));
    /* the same finding in each way is one */
    assert_int_equal(check(SIGNALS("unknown r in 0..3\n", "n < 10 + r")).counts.warnings, 1);
}

static void sizes_are_named(void **state) {
    (void)state;
    assert_answer("kernel k on trn2\nparam N = 4\nparam S = 2\nparam B = 8\nparam unused = 1\n"
                  "tensor x : sbuf u8 [N] (128, B) ring S\n"
                  "for i in 0..N { vector w writes x[i]\nvector r reads x[i] }\n",
                  SPAD_VERDICT_PROVED_ALL, "for all N >= 1; other values of S, B were not tried");
    /* not where only one shape is asked for */
    const spad_check_options alone = {.one_shape = true};
    const answer one = ask("kernel k on trn2\nparam S = 2\ntensor x : sbuf u8 [S] (128, 8) ring S\n"
                           "vector w writes x[0]\nvector r reads x[0]\n",
                           NULL, 0, &alone);
    assert_string_equal(one.reason, "every event of the kernel was checked");
}

/* A proof that fails for one of them does not hide the others. */
static void a_failed_proof_names_the_others(void **state) {
    (void)state;
    const answer a = check("kernel k on trn2\nparam N = 16\nparam J = 3\n"
                           "tensor q : hbm u8 [N / 8] (128, 8) input\n"
                           "tensor x : sbuf u8 [J] (128, 8)\ntensor y : sbuf u8 (128, 8)\n"
                           "for j in 0..J { vector w writes x[j]\nvector r reads x[j] }\n"
                           "for n in 0..N { dma l reads q[n / 8] writes y\nvector r reads y }\n");
    assert_int_equal(a.verdict, SPAD_VERDICT_PROVED_SHAPE);
    assert_non_null(strstr(a.reason, "; J is fixed at 3: "));
}

/* What is wrong where two parameters are large is found, also where one of them has no proof. */
static void joint_thresholds_have_a_witness(void **state) {
    (void)state;
#define AGENTS(condition)                                                             \
    "kernel k on sm_90\nparam T = 3\nparam N = 4\ncounter c\n"                        \
    "agent a { for t in 0..T { for n in 0..N { if " condition " { signal c } } } }\n" \
    "agent b { for t in 0..T { for n in 0..N { take c } } }\n"
#define RING                                                                               \
    "kernel k on sm_90\nparam T = 3\nparam N = 4\nparam S = 2\nmbarrier full[S] count 1\n" \
    "mbarrier empty[S] count 1\ntensor x : shared f32 [S] (64, 64)\n"                      \
    "tensor o : global f32 [T, N] (64, 64) output\n"                                       \
    "for s in 0..S { init full[s]; init empty[s] }\nagent p { cursor s, h mod S\n"         \
    "for t in 0..T { for n in 0..N {\nwait empty[s] parity 1 - h\nsimt w writes x[s]\n"    \
    "arrive full[s]\nadvance s } } }\nagent c { cursor s, h mod S\n"                       \
    "for t in 0..T { for n in 0..N {\nwait full[s] parity h\n"                             \
    "if n < 10 or t < 20 { simt r reads x[s] writes o[t, n] }\narrive empty[s]\n"          \
    "if n >= 10 and t >= 20 { simt r reads x[s] writes o[t, n] }\nadvance s } } }\n"
    static const char *const texts[] = {
        AGENTS("n < 10 or T < 20"),
        AGENTS("n != 12 or t != 17"),
        AGENTS("N != 12 or T != 17"),
        AGENTS("n + t < 40"),
        AGENTS("n / 4 < 3 or t / 5 < 4"),
        RING,
        "kernel k on trn2\nparam T = 3\nparam N = 4\ntensor x : sbuf bf16 [N] (128, 64) ring 2\n"
        "tensor g : hbm bf16 [N] (128, 64) input\ntensor o : hbm bf16 [T, N] (128, 64) output\n"
        "for t in 0..T { for n in 0..N {\nif N < 10 or T < 20 { dma l reads g[n] writes x[n] }\n"
        "dma s reads x[n] writes o[t, n]\n} }\n",
    };
    for (size_t i = 0; i < sizeof texts / sizeof texts[0]; i++) {
        const answer a = check(texts[i]);
        if (a.counts.warnings == 0) print_error("%d: %s\n", (int)i, a.reason);
        assert_int_equal(a.verdict, SPAD_VERDICT_PROVED_SHAPE);
        assert_true(a.counts.warnings > 0);
    }
    /* of a value that is not known it is an error */
    const answer open = check("kernel k on sm_90\nparam N = 4 any\ncounter c\n"
                              "agent a { for n in 0..N { if n < 30 { signal c } } }\n"
                              "agent b { for n in 0..N { take c } }\n");
    assert_int_equal(open.verdict, SPAD_VERDICT_WRONG);
    assert_true(open.counts.errors > 0);
    assert_string_equal(open.reason, "seen with N = 31");
    /* found beside a proof that failed: the finding has the values */
    assert_answer(
        "kernel k on sm_90\nparam T = 3 any\nparam N = 4 any\ncounter c\n"
        "agent a { for t in 0..T { for n in 0..N { if n < 10 or T < 20 { signal c } } } }\n"
        "agent b { for t in 0..T { for n in 0..N { take c } } }\n",
        SPAD_VERDICT_WRONG, "seen with other values");
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_failed_proof_tries_other_values),
        cmocka_unit_test(extents_of_rings_are_tried),
        cmocka_unit_test(unknown_values_hide_nothing),
        cmocka_unit_test(sizes_are_named),
        cmocka_unit_test(a_failed_proof_names_the_others),
        cmocka_unit_test(joint_thresholds_have_a_witness),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
