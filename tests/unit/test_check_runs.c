/* SPDX-License-Identifier: Apache-2.0
 * Runs of growing loops beyond those of the agent whose iterations are compared: of another agent
 * that has more of them, and runs in which nothing happens at the shapes that are run. What uses
 * up a stock there, or begins late, must not be part of a claim for all values. */
#include "prove_fixture.h"

#include <stdio.h>

/* `d` has a stock of signals, and only the first of several loops waits for the other agent. */
#define STOCK "kernel k on sm_90\nparam T = 3\ncounter c\ncounter d\n"
#define FILL "agent a {\nfor z in 0..40 { signal d }\n"
#define TAKES "agent b {\nfor t in 0..T { take c }\nfor t in 0..T { take d }\n}\n"

/* A wait that comes later than any shape that is tried. */
#define LATE "for t in 0..T { if t == 10000000 { take d } }\n"
#define PAIR(first, second, third)                                         \
    STOCK "agent a {\nfor t in 0..T { signal c }\n" first "}\nagent b {\n" \
          "for t in 0..T { take c }\n" second "}\nagent q {\n" third "}\n"

static void each_run_of_each_agent_counts(void **state) {
    (void)state;
    static const struct {
        const char *text;
        int64_t wrong_at;
    } cases[] = {
        {STOCK FILL "for t in 0..T { signal c }\n}\n" TAKES, 41},
        {STOCK FILL
         "for t in 0..T { signal c }\nfor t in 0..T { if t < 0 { signal d } }\n}\n" TAKES,
         41},
        {STOCK FILL "for n in 0..2 { for t in 0..T { if n == 0 { signal c } } }\n}\nagent b {\n"
                    "for n in 0..2 { for t in 0..T {\n"
                    "if n == 0 { take c } else { take d }\n} }\n}\n",
         41},
        {STOCK FILL "for t in 0..T { if t < 0 { signal d } }\n}\n"
                    "agent b { for t in 0..T { take d } }\n",
         41},
        {PAIR(LATE, "", ""), 10000001},
        {PAIR("", LATE, ""), 10000001},
        {PAIR("", "", LATE), 10000001},
    };
    const spad_check_options alone = {.one_shape = true};
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        const answer a = ask(cases[i].text, NULL, 0, NULL);
        if (a.verdict != SPAD_VERDICT_PROVED_SHAPE) print_error("%d: %s\n", (int)i, a.reason);
        assert_int_equal(a.verdict, SPAD_VERDICT_PROVED_SHAPE);
        if (cases[i].wrong_at > 1000) continue;
        const spad_define wrong = {"T", cases[i].wrong_at};
        assert_int_equal(ask(cases[i].text, &wrong, 1, &alone).verdict, SPAD_VERDICT_WRONG);
    }
}

/* Agents with as many runs, whichever of them have events, and runs in which nothing ever happens.
 */
static void claims_about_runs_stay(void **state) {
    (void)state;
    assert_answer(PAIR("", "", ""), SPAD_VERDICT_PROVED_ALL, "for all T");
    assert_answer(PAIR("for t in 0..T { signal d }\n", "for t in 0..T { take d }\n", ""),
                  SPAD_VERDICT_PROVED_ALL, "for all T");
    /* without iterations of the inner loop the agents share nothing */
    assert_answer("kernel k on sm_90\nparam T = 3\nparam N = 4\ncounter c\n"
                  "tensor x : shared u8 (64)\ntensor y : shared u8 (64)\n"
                  "agent a { for t in 0..T { for n in 0..N { signal c }\nsimt w writes x } }\n"
                  "agent b { for t in 0..T { for n in 0..N { take c }\nsimt w writes y } }\n",
                  SPAD_VERDICT_PROVED_ALL, "for all T, N");
    assert_answer(PAIR("for t in 0..T { if t < 0 { take d } }\n", "", ""), SPAD_VERDICT_PROVED_ALL,
                  "for all T");
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(each_run_of_each_agent_counts),
        cmocka_unit_test(claims_about_runs_stay),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
