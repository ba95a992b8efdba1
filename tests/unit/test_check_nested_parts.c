/* SPDX-License-Identifier: Apache-2.0
 * Loops inside of each other: each thing that the argument for all values does not cover has a
 * small program, and there is no claim. Those that are proved are right for every single value of a
 * row.
 */
#include "prove_fixture.h"

#define LOOPS(text)                                                     \
    "kernel k on trn2\nparam T = 4\ntensor x : sbuf f32 [2] (128, 8)\n" \
    "tensor y : sbuf f32 [2] (128, 8)\ncursor s mod 2\ncounter c\n"     \
    "unknown k in 0..2\n" text
#define NEST(outer, inner, body) "for t in " outer " {\nfor n in " inner " {\n" body "}\n}\n"
#define WRITE "vector w writes x[n % 2]\n"
#define FAR(extent, index)                      \
    "tensor g : hbm f32 [" extent               \
    "] (1, 1) input\n" NEST("0..T", "0..t + 1", \
                            "for u in 0..2 {\n" \
                            "dma r reads g[" index "] writes y[0]\n}\n")

static const struct {
    const char *text;
    bool proved;
} cases[] = {
    {LOOPS(NEST("0..T", "0..t + 1", WRITE)), true},
    /* outer loops: they begin at a number, and end at a sum; all of them alike */
    {LOOPS(NEST("T..2 * T", "0..t + 1", WRITE)), false},
    {LOOPS("for a in 0..2 {\nfor t in a..T {\nfor n in 0..t + 1 {\n" WRITE "}\n}\n}\n"), false},
    {LOOPS(NEST("0..T / 2", "0..t + 1", WRITE)), false},
    {LOOPS(NEST("0..T", "0..t + 1", WRITE) NEST("1..T", "0..t + 1", WRITE)), false},
    {LOOPS(NEST("0..T", "0..t + 1", WRITE) NEST("0..T - 1", "0..t + 1", WRITE)), false},
    {LOOPS(NEST("0..T", "0..t + 1", WRITE) NEST("0..2 * T", "0..t + 1", WRITE)), false},
    {LOOPS(NEST("300000000..T + 300000000", "300000000..t + 1", WRITE)), false},
    {LOOPS("for a in 0..2 {\n" NEST("0..T + a", "0..t + 1", WRITE) "}\n"), false},
    {LOOPS(NEST("0..T", "0..t + 1", WRITE) NEST("0..T + 1", "0..t + 1", WRITE)), false},
    {LOOPS(NEST("0..T parallel", "0..t + 1", "vector w writes x[0]\nvector w writes y[0]\n")),
     false},
    /* inner loops: sums from and to, whose difference changes by at most 1, all alike */
    {LOOPS(NEST("0..T", "t..T", WRITE)), true},
    {LOOPS(NEST("0..T", "0..t + 1 step 2", WRITE)), false},
    {LOOPS(NEST("0..T", "t / 2..T", WRITE)), false},
    {LOOPS(NEST("0..T", "0..t / 2 + T", WRITE)), false},
    {LOOPS(NEST("0..T", "0..2 * t", WRITE)), false},
    {LOOPS(NEST("0..T", "0..2 * T - 2 * t", WRITE)), false},
    {LOOPS(NEST("0..T", "0..t + k", WRITE)), false},
    {LOOPS(NEST("0..T", "0..t + 300000000 - 299999990", WRITE)), true},
    {LOOPS(NEST("0..T", "0..T - t", WRITE) NEST("0..T", "0..T", WRITE)), false},
    {LOOPS(NEST("0..T", "0..t + 1", WRITE) NEST("0..T", "0..T - t", WRITE)), false},
    {LOOPS("for t in 0..T {\nfor a in 0..2 {\nfor n in 0..t + a {\n" WRITE "}\n}\n}\n"), false},
    {LOOPS(NEST("0..T", "0..t + 1", "for u in 0..T {\nvector w writes x[n % 2]\n}\n")), false},
    {LOOPS(NEST("0..T", "0..t + 1", "if n == 9 { break }\n" WRITE)), false},
    /* what is on the chip comes round, at places that no trip count moves */
    {LOOPS(NEST("0..T", "0..t + 1", "vector w writes x[n / 2 % 2]\n")), true},
    {LOOPS(NEST("0..T", "0..t + 1", "vector w writes x[(T + n) % 2]\n")), true},
    {LOOPS("tensor z : sbuf f32 [T + 1] (1, 1) ring 2\n" //
           NEST("0..T", "0..t + 1", "vector w writes z[n]\n")),
     false},
    {LOOPS(NEST("0..T", "0..t + 1", WRITE "signal c\n")), false},
    {LOOPS(NEST("0..T", "0..t + 1", WRITE "signal c\nwait c >= n\n")), false},
    {LOOPS("cursor p mod 3\ncursor q mod 5\ncursor r mod 7\n" //
           NEST("0..T", "0..t + 1", WRITE "advance p\nadvance q\nadvance r\n")),
     false},
    {LOOPS(NEST("0..T", "0..t + 1", WRITE "advance s\nvector v writes y[s]\n")), true},
    {LOOPS("cursor far mod 40\n" NEST("0..T", "0..t + 1", WRITE "advance far\n")), false},
    {LOOPS(NEST("0..T", "0..t + 1", "vector w writes x[0](.., n % 8..n % 8 + 1)\n")), true},
    {LOOPS(NEST("0..T", "0..t + 1", "vector w writes x[(3 * t + n) % 2]\n")), true},
    {LOOPS(NEST("0..T", "0..t + 1", "if n == T - 1 { vector w writes x[0] }\n")), false},
    {LOOPS(NEST("0..T", "0..t + 1", "if n % 2 == T % 2 { vector w writes x[0] }\n")), true},
    /* a shape that is tried has no kernel, or is wrong */
    {LOOPS("tensor z : sbuf f32 [17 - T] (1, 1)\n" NEST("0..T", "0..t + 1", WRITE)), false},
    {LOOPS(NEST("0..T", "0..t + 1", WRITE) "if T == 16 { vector r reads y[1] }\n"), false},
    {LOOPS(NEST("0..T", "0..t + 1", WRITE) "if T == 18 { vector r reads y[1] }\n"), false},
    {LOOPS(NEST("0..T", "0..t + 1", WRITE) "if T == 22 { vector r reads y[1] }\n"), false},
    {LOOPS(NEST("0..T", "0..t + 1", WRITE) "if T > 14 { vector r reads y[1] }\n"), false},
    /* statements */
    {LOOPS(NEST("0..T", "0..t + 1", "tensor z : sbuf f32 (1, 1)\nvector w writes z\n")), false},
    {LOOPS("tensor z : sbuf f32 (1, 1)\n" //
           NEST("0..T", "0..t + 1", "alloc z\nvector w writes z\nfree z\n")),
     false},
    {LOOPS(NEST("0..T", "0..t + 1", "vector w writes x[n % 2] cost 5 ns\n")), true},
    {LOOPS(NEST("0..T", "0..t + 1", "vector w writes x[n % 2] cost 5 + n % 2 ns\n")), true},
    {LOOPS(NEST("0..T", "0..t + 1", "vector w writes x[n % 2] cost 5 + n ns\n")), false},
    {LOOPS("tensor o : hbm f32 [T + 1] (1, 1) output\nvector w writes x[0]\n" //
           NEST("0..T", "0..t + 1", "dma w reads x[0] writes o[n]\n")),
     false},
    {LOOPS("tensor o : sbuf f32 (128, 8) output\n" //
           NEST("0..T", "0..t + 1", "vector w writes o\n")),
     false},
    /* indices off the chip: sums with small numbers */
    {LOOPS(FAR("T + 1", "n + u")), true},
    {LOOPS(FAR("T + 9", "n + t % 3")), false},
    {LOOPS(FAR("2 * T + 9", "n + u * T")), false},
    {LOOPS(FAR("T + 9", "n + (u + 1) / 2")), false},
    {LOOPS(FAR("T + 9", "n + k")), false},
    {LOOPS(FAR("T * T", "n * T")), false},
    {LOOPS(FAR("T * T + 1", "n")), false},
    {LOOPS(FAR("300000000 * T", "300000000 * n")), false},
    {LOOPS(FAR("300000000 * T", "300000000 * t")), true}, /* it stays in a round */
    {LOOPS(FAR("300000000 * T", "300000000 * T - 300000000 * n - 1")), false},
    {LOOPS(FAR("T + 300000002", "n + 300000000")), false},
    {LOOPS(FAR("2 * T + 3", "n + t + T - T")), true},
    {LOOPS(FAR("T + 9", "n + 300000000 * (u / 9)")), false},
    {LOOPS("tensor g : hbm f32 [T + 200000000] (1, 1) input\n" //
           NEST("0..T", "0..t + 1",
                "for u in 1099511627776..1099511627778 {\n"
                "dma r reads g[n + 100000000 * (u - 1099511627776)] writes y[0]\n}\n")),
     false},
    {LOOPS(FAR("T - 300000000 + 300000003", "n")), true},
    {LOOPS(FAR("300000009", "n")), false},
    {LOOPS(FAR("2 * T", "2 * t - n + u")), true},
    {LOOPS(FAR("T + 1", "t - n + u")), true},
    {LOOPS(FAR("T", "T - 1 - t + n * 0")), true},
    {LOOPS(FAR("2 * T", "T - 1 - n + t")), true},
    {LOOPS(FAR("2 * T", "T - 1 - t + n")), true},
};

static void each_part_of_the_argument(void **state) {
    (void)state;
    const spad_check_options alone = {.one_shape = true, .no_advice = true};
    const size_t step = test_effort(6) == 6 ? 1 : 12; /* some of them, unless there is time */
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i += step) {
        const answer a = ask(cases[i].text, NULL, 0, NULL);
        const bool proved = strstr(a.reason, "for all T") != NULL;
        if (proved != cases[i].proved) print_error("%s%s\n", cases[i].text, a.reason);
        assert_int_equal(proved, cases[i].proved);
        for (int64_t t = 1; proved && t < 12; t++) {
            const spad_define define = {"T", t};
            assert_int_equal(ask(cases[i].text, &define, 1, &alone).verdict,
                             SPAD_VERDICT_PROVED_SHAPE);
        }
    }
}

/* Too many events, or no time: there is no claim. */
static void limits_leave_no_claim(void **state) {
    (void)state;
    const spad_check_options few = {.event_limit = 100, .no_advice = true};
    const answer a = ask(cases[0].text, NULL, 0, &few);
    assert_null(strstr(a.reason, "for all T"));
    for (int64_t ns = 1; ns < INT64_C(1) << 22; ns *= 8) {
        const spad_check_options soon = {.timeout_ns = ns, .no_advice = true};
        const answer b = ask(cases[0].text, NULL, 0, &soon);
        assert_int_not_equal(b.verdict, SPAD_VERDICT_WRONG);
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(limits_leave_no_claim),
        cmocka_unit_test(each_part_of_the_argument),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
