/* SPDX-License-Identifier: Apache-2.0
 * Bounds that change with loops around, steps, cursors, alternatives: text, calls and faults. */
#include "kernel/kernel.h"
#include "spad/experimental/kernel_rows.h"
#include "support/kernels.h"
#include "support/support.h"

#include <stdio.h>
#include <string.h>

#include "kernel/kernel_builder.h"
#include "spad/check.h"
#include "spad/experimental/sim.h"
#include "spad/experimental/walk.h"
#include "support/faults.h"

static const char control_text[] = "kernel control on sm_90\n"
                                   "param M = 3\n"
                                   "param S = 2\n"
                                   "counter c[64]\n"
                                   "for m in 0..M {\n"
                                   "    cursor stage, phase mod S\n"
                                   "    for n in 0..m + 1 {\n"
                                   "        signal c[n] by stage + 2 * phase + 1\n"
                                   "        advance stage by 1\n"
                                   "    }\n"
                                   "    for n in m..M * 2 step -2 {\n"
                                   "        if n == 5 or n < 4 and n > 1 {\n"
                                   "            signal c[n] by 9\n"
                                   "        }\n"
                                   "    }\n"
                                   "}\n"
                                   "cursor only mod M\n"
                                   "for k in min(M, 4)..max(M, S, 7) step 3 {\n"
                                   "    signal c[k] by only + 1\n"
                                   "    advance only by 2\n"
                                   "}\n";

/* What is signalled, as "element+amount". */
static void signals_of(const spad_kernel *kernel, char *text, size_t size) {
    spad_walk *walk;
    spad_error error;
    size_t used = 0;
    assert_ok(spad_walk_create(&walk, kernel, NULL, &error), &error);
    for (const spad_walk_event *event;;) {
        assert_ok(spad_walk_next(&event, walk, &error), &error);
        if (event->kind == SPAD_WALK_END) break;
        if (event->kind != SPAD_WALK_SYNC) continue;
        used += (size_t)snprintf(text + used, size - used, "%s%lld+%lld", used > 0 ? " " : "",
                                 (long long)event->element, (long long)event->amount);
        assert_true(used < size);
    }
    spad_walk_destroy(walk);
}

static void loops_and_cursors_run(void **state) {
    (void)state;
    char text[1024];
    spad_kernel *k = test_parse(control_text);
    signals_of(k, text, sizeof text);
    assert_string_equal(text, "0+1 5+9 3+9 0+1 1+2 5+9 3+9 0+1 1+2 2+3 5+9 3+9 3+1 6+3");
    assert_int_equal(spad_kernel_cursor_count(k), 2);
    assert_string_equal(spad_kernel_get_cursor(k, 0)->stage, "stage");
    assert_string_equal(spad_kernel_get_cursor(k, 0)->phase, "phase");
    assert_null(spad_kernel_get_cursor(k, 1)->phase);
    assert_null(spad_kernel_get_cursor(k, 2));
    assert_false(spad_kernel_get_cursor(k, 0)->even); /* its loop is longer and longer */
    assert_true(spad_kernel_get_cursor(k, 1)->even);
    spad_kernel_destroy(k);
}

static void breaks_end_the_innermost_loop(void **state) {
    (void)state;
    char text[256];
    spad_kernel *k = test_parse("kernel k on sm_90\nunknown done[4] = [0, 0, 1]\ncounter c[64]\n"
                                "cursor s mod 2\n"
                                "for i in 0..3 {\n"
                                "for j in 0..4 step -1 {\n"
                                "if done[j] == 1 { signal c[10 + j]; break } else { advance s }\n"
                                "signal c[20 + 2 * j + s]\n}\n"
                                "if i == 1 { break }\nsignal c[i]\n}\nsignal c[63]\n");
    signals_of(k, text, sizeof text);
    assert_string_equal(text, "27+1 12+1 0+1 26+1 12+1 63+1");
    assert_false(spad_kernel_get_cursor(k, 0)->even);
    spad_kernel_destroy(k);
}

/* The amounts of the waits, and which of them are expressions. */
static void waits_for_the_next_phase_count_on(void **state) {
    (void)state;
    static const struct {
        const char *body;
        const char *waits;
        bool even;
    } cases[] = {
        {"for t in 0..2 { for k in 0..3 { wait one next } }\nwait one next\n",
         "0+0 0+1 0+0 0+1 0+0 0+1 0+0", true},
        {"for t in 0..2 { for k in 0..3 { wait m[(t * 3 + k) % 2] next } }\n",
         "0+0 1+0 0+1 1+1 0+0 1+0", true},
        {"cursor s mod 2\nfor k in 0..5 { wait m[s] next\nadvance s }\n", "0+0 1+0 0+1 1+1 0+0",
         true},
        {"for k in 0..4 { wait m[k / 3] next }\n", "0+0 0+1 0+0 1+0", false},
        {"for k in 0..4 { if k != 2 { wait one next } }\n", "0+0 0+1 0+0", false},
        {"for k in 0..3 { for j in 0..k { wait one next } }\n", "0+0 0+1 0+0", false},
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        char text[512];
        char waits[256];
        test_text written;
        test_text_init(&written);
        snprintf(text, sizeof text,
                 "kernel k on sm_90\nmbarrier m[2] count 1\nmbarrier one count 1\n%s",
                 cases[i].body);
        spad_kernel *k = test_parse(text);
        signals_of(k, waits, sizeof waits);
        assert_string_equal(waits, cases[i].waits);
        for (size_t n = 0; n < spad_kernel_statement_count(k); n++) {
            const spad_statement *s = spad_kernel_get_statement(k, n);
            if (s->kind != SPAD_STATEMENT_WAIT_PARITY) continue;
            assert_int_equal(s->amount != 0, cases[i].even);
        }
        assert_int_equal(spad_kernel_write_text(k, &written.sink, NULL), SPAD_OK);
        spad_kernel *again = test_parse(written.bytes);
        signals_of(again, text, sizeof text);
        assert_string_equal(text, waits);
        spad_kernel_destroy(again);
        spad_kernel_destroy(k);
        test_text_free(&written);
    }
    /* main and each agent count for themselves */
    char all[256] = "";
    size_t used = 0;
    spad_kernel *k =
        test_parse("kernel k on sm_90\nmbarrier m count 1\nif 1 == 1 { wait m next }\n"
                   "agent a { if 1 == 1 { wait m next } }\n"
                   "agent b { if 1 == 1 { wait m next; wait m next } }\nwait m next\n");
    const spad_walk_options options = {.agent = SPAD_WALK_ALL};
    spad_walk *walk;
    assert_int_equal(spad_walk_create(&walk, k, &options, NULL), SPAD_OK);
    for (const spad_walk_event *event;;) {
        assert_int_equal(spad_walk_next(&event, walk, NULL), SPAD_OK);
        if (event->kind == SPAD_WALK_END) break;
        if (event->kind != SPAD_WALK_SYNC) continue;
        used += (size_t)snprintf(all + used, sizeof all - used, "%lld", (long long)event->amount);
    }
    assert_string_equal(all, "00011");
    spad_walk_destroy(walk);
    spad_kernel_destroy(k);
}

static void what_was_written_is_written(void **state) {
    (void)state;
    test_text text;
    test_text_init(&text);
    spad_kernel *k = test_parse(control_text);
    assert_int_equal(spad_kernel_write_text(k, &text.sink, NULL), SPAD_OK);
    char expected[sizeof control_text + 64];
    snprintf(expected, sizeof expected, "%s", control_text);
    /* a function of three is one of two and one */
    char *three = strstr(expected, "max(M, S, 7)");
    memmove(three + 17, three + 12, strlen(three + 12) + 1);
    memcpy(three, "max(max(M, S), 7)", 17);
    assert_string_equal(text.bytes, expected);
    spad_kernel_destroy(k);
    test_text_free(&text);
}

/* Parameters reach bounds, steps and rings. */
static void control_follows_parameters(void **state) {
    (void)state;
    char given[1024];
    char reshaped[1024];
    const spad_define defines[] = {{"M", 2}, {"S", 1}};
    const spad_kernel_options options = {.defines = defines, .define_count = 2};
    spad_kernel *k = test_parse(control_text);
    spad_kernel *direct = test_parse_with(control_text, &options);
    spad_kernel *other;
    spad_error error;
    assert_ok(spad_kernel_reshape(&other, k, &options, &error), &error);
    signals_of(direct, given, sizeof given);
    signals_of(other, reshaped, sizeof reshaped);
    assert_string_equal(given, "0+1 3+9 0+1 1+3 3+9 2+1 5+1");
    assert_string_equal(reshaped, given);
    for (size_t i = 0; i < spad_kernel_statement_count(k); i++) { /* rows keep their places */
        assert_int_equal(spad_kernel_get_statement(other, i)->location.line,
                         spad_kernel_get_statement(k, i)->location.line);
    }
    spad_kernel_destroy(k);
    spad_kernel_destroy(direct);
    spad_kernel_destroy(other);
}

/* A stage that advances evenly is an expression of the loops. */
static void even_cursors_are_expressions_of_loops(void **state) {
    (void)state;
    static const char text[] = "kernel k on sm_90\nparam T = 2\nparam N = 4\nparam S = 3\n"
                               "mbarrier full[S] count 1\n"
                               "agent a {\ncursor s, p mod S\n"
                               "for t in 0..T { for n in 1..N { wait full[s] parity p\n"
                               "advance s } }\n"
                               "wait full[s] parity p\n}\n";
    static const char *const stages[] = {"(t * (N - 1) + (n - 1)) % S", "T * (N - 1) % S"};
    static const char *const phases[] = {"(t * (N - 1) + (n - 1)) / S % 2", "T * (N - 1) / S % 2"};
    spad_kernel *k = test_parse(text);
    size_t waits = 0;
    assert_true(spad_kernel_get_cursor(k, 0)->even);
    for (size_t i = 0; i < spad_kernel_statement_count(k); i++) {
        const spad_statement *s = spad_kernel_get_statement(k, i);
        if (s->kind != SPAD_STATEMENT_WAIT_PARITY) continue;
        char same[512];
        snprintf(same, sizeof same,
                 "kernel k on sm_90\nparam T = 2\nparam N = 4\nparam S = 3\n"
                 "mbarrier full[S] count 1\nfor t in 0..T { for n in 1..N {\n"
                 "wait full[%s] parity %s } }\n",
                 stages[waits], phases[waits]);
        spad_kernel *by_hand = test_parse(same);
        const spad_statement *w = spad_kernel_get_statement(by_hand, 2);
        const spad_expr pairs[2][2] = {{s->index[0], w->index[0]}, {s->amount, w->amount}};
        for (size_t e = 0; e < 2; e++) {
            const spad_expr_info got = spad_kernel_get_expr(k, pairs[e][0]);
            const spad_expr_info want = spad_kernel_get_expr(by_hand, pairs[e][1]);
            assert_int_equal(got.written_count, 1);
            assert_int_equal(got.node_count, want.node_count);
            for (size_t n = 0; n < got.node_count; n++) {
                assert_int_equal(got.nodes[n].op, want.nodes[n].op);
                assert_int_equal(got.nodes[n].value, want.nodes[n].value);
            }
        }
        spad_kernel_destroy(by_hand);
        waits++;
    }
    assert_int_equal(waits, 2);
    spad_kernel_destroy(k);
}

/* ---- what is read more than once --------------------------------------------------- */

static void assert_same_text(const char *text, const char *expanded) {
    test_text first;
    test_text second;
    test_text_init(&first);
    test_text_init(&second);
    spad_kernel *k = test_parse(text);
    spad_kernel *by_hand = test_parse(expanded);
    assert_int_equal(spad_kernel_write_text(k, &first.sink, NULL), SPAD_OK);
    assert_int_equal(spad_kernel_write_text(by_hand, &second.sink, NULL), SPAD_OK);
    assert_string_equal(first.bytes, second.bytes);
    spad_kernel_destroy(k);
    spad_kernel_destroy(by_hand);
    test_text_free(&first);
    test_text_free(&second);
}

static const char copies_text[] = "kernel k on sm_90\n"
                                  "param W = 2\n"
                                  "param D = W + 1\n"
                                  "param N = 3\n"
                                  "unit u on copy free\n"
                                  "counter c[8]\n"
                                  "counter d[8]\n"
                                  "tensor x : shared u8 [8] (8)\n"
                                  "tensor y : shared u8 [8] (8)\n"
                                  "macro use(x, y, i, from) {\n"
                                  "    from op reads x[i] writes y[i + 1]\n"
                                  "    if i == 1 { say(c, i) } else { say(d, 2) }\n"
                                  "}\n"
                                  "macro say(i, n) { signal i[n]\n"
                                  "    for j in 0..n { signal i[j] } }\n"
                                  "macro nothing() { }\n"
                                  "nothing()\n"
                                  "say(c, N)\n"
                                  "agent p { for i in 0..N { use(y, x, i, u) } }\n"
                                  "agent w[W] as n { say(d, n)\n"
                                  "    for i in 0..N { if n == 0 { say(c, n + i) } } }\n"
                                  "agent last[D - 2] as n { fence }\n";

static void macros_and_copies_are_expanded(void **state) {
    (void)state;
    static const char said_0[] = "signal c[0 + i]\nfor j in 0..0 + i { signal c[j] } } }\n";
    char by_hand[2048];
    snprintf(by_hand, sizeof by_hand,
             "kernel k on sm_90\nparam W = 2 fixed\nparam D = W + 1 fixed\nparam N = 3\n"
             "unit u on copy free\ncounter c[8]\ncounter d[8]\n"
             "tensor x : shared u8 [8] (8)\ntensor y : shared u8 [8] (8)\n"
             "signal c[N]\nfor j in 0..N { signal c[j] }\n"
             "agent p { for i in 0..N {\nu op reads y[i] writes x[i + 1]\n"
             "if i == 1 { signal c[i]\nfor j in 0..i { signal c[j] } }\n"
             "else { signal d[2]\nfor j in 0..2 { signal d[j] } } } }\n"
             "agent w_0 { signal d[0]\nfor j in 0..0 { signal d[j] }\n"
             "for i in 0..N { if 0 == 0 { %s }\n"
             "agent w_1 { signal d[1]\nfor j in 0..1 { signal d[j] }\n"
             "for i in 0..N { if 1 == 0 { signal c[1 + i]\n"
             "for j in 0..1 + i { signal c[j] } } } }\n"
             "agent last_0 { fence }\n",
             said_0);
    assert_same_text(copies_text, by_hand);
}

static void expanded_statements_keep_their_places(void **state) {
    (void)state;
    spad_kernel *k = test_parse(copies_text);
    size_t signals = 0;
    for (size_t i = 0; i < spad_kernel_statement_count(k); i++) {
        const spad_statement *s = spad_kernel_get_statement(k, i);
        if (s->kind != SPAD_STATEMENT_SIGNAL) continue;
        signals++;
        assert_true(s->location.line == 14 || s->location.line == 15);
    }
    assert_int_equal(signals, 14);
    spad_kernel_destroy(k);
}

/* The number of copies is in the text that is written: the parameter has no other value then. */
static void what_decides_copies_is_fixed(void **state) {
    (void)state;
    const spad_define defines[] = {{"W", 3}, {"D", 4}, {"N", 5}};
    spad_error error;
    spad_kernel *k = test_parse(copies_text);
    for (size_t i = 0; i < 3; i++) {
        const spad_kernel_options options = {.defines = &defines[i], .define_count = 1};
        spad_kernel *other;
        const spad_status status = spad_kernel_reshape(&other, k, &options, &error);
        assert_int_equal(status, i < 2 ? SPAD_ERR_ARGUMENT : SPAD_OK);
        if (i < 2) assert_non_null(strstr(error.message, " is fixed at "));
        if (i == 2) assert_true(spad_kernel_get_param(other, 0)->fixed);
        spad_kernel_destroy(other);
    }
    const spad_kernel_options options = {.defines = defines, .define_count = 1};
    spad_kernel *more = test_parse_with(copies_text, &options);
    assert_int_equal(spad_kernel_agent_count(more), 1 + 1 + 3 + 2);
    spad_kernel_destroy(more);
    spad_kernel_destroy(k);
}

/* ---- faults ------------------------------------------------------------------------ */

static spad_status read_kernel(const char *text, const char *file, spad_diagnostics *diagnostics,
                               spad_error *error) {
    spad_kernel *kernel;
    const spad_status status =
        spad_kernel_parse(&kernel, text, strlen(text), file, NULL, diagnostics, error);
    if (status != SPAD_OK) assert_null(kernel);
    spad_kernel_destroy(kernel);
    return status;
}

static void faults_of_control_are_found(void **state) {
    (void)state;
    static const char prelude[] = "kernel k on sm_90\nparam N = 4\nmbarrier m[N] count 1\n";
    static const test_fault cases[] = {
        {"for i in 0..N step 0 { }", 1, 10, 11, "a step of 0; a loop needs one that moves on"},
        {"for i in N..0 step -1 { }", 1, 10, 12,
         "the range runs from 4 down to 0; a negative step runs the range 0..4 from its end"},
        {"for i in 0..N { for j in 0..N step i { } }", 1, 36, 1,
         "'i' changes with a loop; a number or parameters are expected here"},
        {"for i in 0..j { }", 1, 13, 1,
         "no parameter or loop variable 'j' here; did you mean 'N'?"},
        {"for i in 0..N { for j in 0..i { init m[j + N] } }", 1, 0, 0, NULL},
        {"if min(N) == 1 { }", 1, 9, 1, "expected ',' and another number after 'N', found ')'"},
        {"if min(N, 2 == 1 { }", 1, 13, 2, "expected ')' after '2', found '=='"},
        {"if N == 1 or { }", 1, 14, 1, "expected a number, a name or '(' after 'or', found '{'"},
        {"cursor s mod 0", 1, 8, 1, "a cursor over 0 stages; 1 to 2147483648 are possible"},
        {"cursor s, s mod 2", 1, 8, 1, "'s' is already the stage of a cursor here"},
        {"cursor s, mod 2", 1, 15, 1, "expected 'mod' after 'mod', found '2'"},
        {"cursor N mod 2", 1, 8, 1, "'N' is already a parameter here"},
        {"cursor s mod 2\nadvance s by -1", 2, 1, 15, "a cursor advances by -1; it goes forward"},
        {"cursor s, p mod 2\nadvance p", 2, 9, 1,
         "'p' is the phase of a cursor, not the stage of a cursor"},
        {"advance t", 1, 9, 1, "no cursor 't' here"},
        {"cursor s mod 2\nagent a { advance s }", 2, 11, 9,
         "'s' is a cursor of the main program, and every agent has its own place: declare a "
         "cursor in the agent"},
        {"cursor s mod N\nagent a { init m[s] }", 2, 18, 1,
         "'s' is a cursor of the main program, and every agent has its own place: declare a "
         "cursor in the agent"},
        {"cursor s mod 2\nfor i in 0..s { }", 2, 10, 4,
         "the bounds of a loop do not change with a cursor, which moves while it runs"},
        {"cursor s mod 2\ntensor t : shared u8 [s] (4)", 2, 23, 1,
         "'s' changes with a loop; a number or parameters are expected here"},
        {"for i in 0..N { cursor s mod 2 }\nadvance s", 2, 9, 1, "no cursor 's' here"},
        {"macro f(a) { init m[a] }\nf()", 2, 1, 3, "'f' has 1 parameters; arguments given: 0"},
        {"macro f(a) { init m[a] }\nf(1, 2)", 2, 1, 7, "'f' has 1 parameters; arguments given: 2"},
        {"macro f(a) { init m[a] }\nf(9); f(9)", 1, 14, 9,
         "index 9 is outside 'm', which has 4; the macro is called in line 5"},
        {"macro f() { f() }\nf()", 1, 13, 1, "'f' uses itself"},
        {"macro f() { cursor s mod 2 }\nf()", 1, 13, 6,
         "a macro declares nothing: declare it outside, and pass its name"},
        {"macro f() { tensor t : shared u8 (4) }\nf()", 1, 13, 6,
         "a macro declares nothing: declare it outside, and pass its name"},
        {"if N == 4 { macro f() { } }", 1, 19, 1, "a macro is defined outside of all blocks"},
        {"macro f( { }", 1, 10, 1, "expected ',' or ')' after '(', found '{'"},
        {"macro f() {", 1, 11, 1, "this '{' has no '}'"},
        {"macro N() { }", 1, 7, 1, "'N' is already a parameter here"},
        {"nosuch(3)", 1, 1, 6, "no macro 'nosuch' here"},
        {"m(3)", 1, 1, 1, "'m' is a barrier, counter or group, not a macro"},
        {"agent a[0] as w { }", 1, 9, 1, "0 copies of an agent; 1 to 1024 are possible"},
        {"agent a[2] { }", 1, 12, 1, "expected 'as' after ']', found '{'"},
        {"agent a[2] as w { fence", 2, 1, 1, "'agent' in line 4 has no '}'"},
        {"agent a[3] as w { init m[w + 9] }", 1, 19, 13, "index 9 is outside 'm', which has 4"},
        {"wait m[0] next parity 1", 1, 16, 6,
         "expected the end of the line after 'next', found 'parity'"},
        {"wait m[0] next by 1", 1, 1, 19, "'wait m' has no 'by'"},
        {"counter c\nwait c next", 2, 1, 11, "'c' is a counter; an mbarrier is expected here"},
        {"if N == 4 { cursor s, p mod 2 }\ncounter s", 2, 9, 1,
         "'s' is already the stage of a cursor above: choose another name"},
        {"if N == 4 { cursor s, p mod 2 }\ncounter p", 2, 9, 1,
         "'p' is already the phase of a cursor above: choose another name"},
        {"break", 1, 1, 5, "a break without a loop around it"},
        {"agent a { if N == 4 { break } }", 1, 23, 5, "a break without a loop around it"},
        {"for i in 0..N parallel { break }", 1, 26, 5,
         "the iterations of a parallel loop do not depend on each other, and a break would end "
         "those after it"},
        {"for i in 0..N { scope s { break } }", 1, 27, 5, "a break would leave an open scope"},
        {"unknown u[2, 2]", 1, 9, 1,
         "unknown values have one dimension at most, and no more than 65536 elements"},
        {"unknown u in 3..3", 1, 9, 1, "no value is in 3..3"},
        {"unknown u[2] = [0, 1, 1]", 1, 9, 1, "3 values are given, and there are 2"},
        {"unknown u = 2", 1, 9, 1, "2 is not in 0..2"},
        {"unknown u[2]\nif u[2] == 0 { }", 2, 4, 4, "an element of 'u' reaches 2, and it has 2"},
        {"unknown u[2]\nif u == 0 { }", 2, 6, 2, "expected '[' after 'u', found '=='"},
        {"unknown u[2]\nif u[1 == 0 { }", 2, 8, 2, "expected ']' after '1', found '=='"},
        {"unknown u\ntensor t : shared u8 [u] (4)", 2, 23, 1,
         "'u' changes with a loop; a number or parameters are expected here"},
        {"if N == 4 { unknown u }", 1, 21, 1,
         "an unknown value is declared outside of all blocks, at the top of the kernel"},
        {"param W = 2 fixed\nagent a_0 { }\nagent a[W] as w { fence }", 3, 7, 1,
         "'a_0' is already an agent here"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        if (cases[i].message == NULL) { /* guarded by bounds: it is for the walk to find */
            char text[512];
            snprintf(text, sizeof text, "%s%s\n", prelude, cases[i].text);
            spad_kernel_destroy(test_parse(text));
            continue;
        }
        test_check_faults(read_kernel, prelude, "\n", &cases[i], 1);
    }
}

/* A few lines could stand for more text than there is memory. */
static void expansion_is_limited(void **state) {
    (void)state;
    char text[4096];
    size_t used = (size_t)snprintf(text, sizeof text, "kernel k on sm_90\nmacro m0() { fence }\n");
    for (int i = 1; i < 30; i++) {
        used += (size_t)snprintf(text + used, sizeof text - used,
                                 "macro m%d() { m%d()\nm%d()\nm%d() }\n", i, i - 1, i - 1, i - 1);
    }
    snprintf(text + used, sizeof text - used, "m29()\n");
    spad_kernel *kernel;
    spad_error error;
    assert_int_equal(spad_kernel_parse(&kernel, text, strlen(text), "k", NULL, NULL, &error),
                     SPAD_ERR_SYNTAX);
    assert_string_equal(error.message, "macros and copies of agents make more than 4 MiB of text");
}

/* ---- what is not known ------------------------------------------------------------- */

static const char unknown_text[] = "kernel k on sm_90\n"
                                   "param T = 2 any\n"
                                   "counter c[8]\n"
                                   "unknown len[3] in 1..4 = [2, 3]\n"
                                   "unknown flag in 0..2\n"
                                   "for i in 0..3 {\n"
                                   "    for j in 0..len[i] {\n"
                                   "        if flag == 0 or len[2 - i] > 2 {\n"
                                   "            signal c[i + len[len[j] - 1]] by 1\n"
                                   "        }\n"
                                   "    }\n"
                                   "}\n";

static void unknown_values_are_taken_as_given(void **state) {
    (void)state;
    char signals[256];
    test_text text;
    test_text_init(&text);
    spad_kernel *k = test_parse(unknown_text);
    signals_of(k, signals, sizeof signals);
    /* len is [2, 3, 1] */
    assert_string_equal(signals, "3+1 1+1 4+1 2+1 3+1 5+1");
    assert_true(spad_kernel_get_param(k, 0)->any);
    assert_int_equal(spad_kernel_unknown_count(k), 2);
    const spad_kernel_unknown *u = spad_kernel_get_unknown(k, 0);
    assert_int_equal(u->elements, 3);
    assert_int_equal(u->values[1], 3);
    assert_int_equal(u->values[2], 1);
    assert_null(spad_kernel_get_unknown(k, 2));
    assert_int_equal(spad_kernel_write_text(k, &text.sink, NULL), SPAD_OK);
    assert_string_equal(text.bytes, unknown_text);
    spad_kernel_destroy(k);
    test_text_free(&text);
}

static spad_verdict verdict_of(const char *text, const char *reason) {
    spad_kernel *k = test_parse(text);
    spad_check *check;
    spad_error error;
    assert_ok(spad_check_create(&check, k, NULL, &error), &error);
    const spad_verdict verdict = spad_check_get_verdict(check);
    if (strstr(spad_check_get_reason(check), reason) == NULL) {
        print_error("%s\n", spad_check_get_reason(check));
    }
    assert_non_null(strstr(spad_check_get_reason(check), reason));
    const bool wrong = verdict == SPAD_VERDICT_WRONG;
    assert_int_equal(spad_check_get_counts(check).errors > 0, wrong);
    spad_check_destroy(check);
    spad_kernel_destroy(k);
    return verdict;
}

/* What is proved is proved for all values. */
static void checks_look_at_all_values(void **state) {
    (void)state;
#define DATA                                                                 \
    "kernel k on sm_90\nparam N = 3\nunknown len[2] in 0..N\nunknown flag\n" \
    "counter c\ntensor x : shared u8 (8)\nsimt first writes x\n"             \
    "agent p { for t in 0..2 { for i in 0..len[t] { signal c } } }\n"
    assert_int_equal(verdict_of(DATA
                                "agent q { for t in 0..2 { for i in 0..len[t] { take c } } }\n",
                                "for all 9 ways that unknown values can be"),
                     SPAD_VERDICT_PROVED_SHAPE);
    assert_int_equal(verdict_of(DATA
                                "agent q { for t in 0..2 { for i in 0..len[0] { take c } } }\n",
                                "with len = [1, 0]"),
                     SPAD_VERDICT_WRONG);
    assert_int_equal(verdict_of(DATA "agent q { if flag == 1 { take c by 9 } }\n",
                                "with len = [0, 0], flag = 1"),
                     SPAD_VERDICT_WRONG);
#undef DATA
    assert_int_equal(verdict_of("kernel k on trn2\nunknown f[20]\ncounter c\n"
                                "for i in 0..20 { if f[i] == 1 { signal c } }\n",
                                "in more ways than were run, which is 1024"),
                     SPAD_VERDICT_UNKNOWN);
}

/* A number of rounds that data ends: the proof is for all, or there is none. */
static void any_number_of_rounds_needs_a_proof_for_all(void **state) {
    (void)state;
#define ROUNDS(n, body)                                                   \
    "kernel k on sm_90\nparam T = " n " any\ncounter a\ncounter b\n"      \
    "tensor x : shared u8 (8)\n"                                          \
    "agent p { for t in 0..T { simt put writes x; signal a; take b } }\n" \
    "agent q { for t in 0..T { take a; simt get reads x; " body " } }\n"
    assert_int_equal(verdict_of(ROUNDS("3", "signal b"), "for all T"), SPAD_VERDICT_PROVED_ALL);
    assert_int_equal(verdict_of(ROUNDS("2", "if t < 4 { signal b }"), "seen with T = 5"),
                     SPAD_VERDICT_WRONG);
    assert_int_equal(verdict_of(ROUNDS("2", "signal b; for i in 0..T - t step 2 { fence }"),
                                "T may be any number, and only 2 is proved: "),
                     SPAD_VERDICT_UNKNOWN);
#undef ROUNDS
}

/* ---- calls ------------------------------------------------------------------------- */

static spad_expr expr(spad__kernel_builder *b, const char *text) {
    spad_expr out;
    spad_error error;
    assert_ok(spad__kernel_builder_expr(&out, b, text, &error), &error);
    return out;
}

static void calls_make_the_same_kernel(void **state) {
    (void)state;
    const spad_target *target;
    spad__kernel_builder *b;
    spad_error error;
    spad_expr unused;
    int64_t counter;
    int64_t cursor;
    assert_int_equal(spad_target_find(&target, "sm_90", NULL), SPAD_OK);
    assert_ok(spad__kernel_builder_create(&b, "k", NULL, target, NULL, &error), &error);
    const spad_amount dim = {.value = 8};
    assert_ok(spad__kernel_builder_sync(&counter, b, SPAD_SYNC_COUNTER, "c",
                                        (spad_amounts){1, &dim}, (spad_amount){0}, &error),
              &error);
    assert_ok(spad__kernel_builder_cursor(&cursor, b, "s", "p", (spad_amount){.value = 2}, &error),
              &error);
    assert_ok(spad__kernel_builder_range(&unused, b, "i", expr(b, "0"), expr(b, "3"),
                                         (spad_amount){.value = 1}, false, &error),
              &error);
    spad_expr j;
    assert_ok(spad__kernel_builder_range(&j, b, "j", expr(b, "i"), expr(b, "3"),
                                         (spad_amount){.value = -1}, false, &error),
              &error);
    const spad_comparison either[] = {{j, SPAD_EQUAL, expr(b, "2"), true},
                                      {j, SPAD_EQUAL, expr(b, "0"), true}};
    assert_ok(spad__kernel_builder_if(b, either, 2, &error), &error);
    spad_statement signal = spad__statement_of(SPAD_STATEMENT_SIGNAL, counter);
    const spad_expr index = expr(b, "j + s");
    signal.index = &index;
    signal.index_count = 1;
    assert_ok(spad__kernel_builder_statement(b, &signal, &error), &error);
    assert_int_equal(spad__kernel_builder_else(b, &error), SPAD_OK);
    const spad_statement advance = spad__statement_of(SPAD_STATEMENT_ADVANCE, cursor);
    assert_ok(spad__kernel_builder_statement(b, &advance, &error), &error);
    assert_ok(spad__kernel_builder_end(b, &error), &error);
    assert_int_equal(spad__kernel_builder_else(b, &error), SPAD_ERR_ARGUMENT); /* not of a loop */
    assert_ok(spad__kernel_builder_end(b, &error), &error);
    assert_ok(spad__kernel_builder_end(b, &error), &error);
    const spad_statement odd = spad__statement_of(SPAD_STATEMENT_ADVANCE, 7);
    assert_int_equal(spad__kernel_builder_statement(b, &odd, &error), SPAD_ERR_UNKNOWN);
    spad_kernel *k;
    assert_ok(spad__kernel_builder_finish(&k, b, &error), &error);
    spad__kernel_builder_destroy(b);
    test_text text;
    test_text_init(&text);
    assert_int_equal(spad_kernel_write_text(k, &text.sink, NULL), SPAD_OK);
    assert_string_equal(text.bytes, "kernel k on sm_90\ncounter c[8]\ncursor s, p mod 2\n"
                                    "for i in 0..3 {\n    for j in i..3 step -1 {\n"
                                    "        if j == 2 or j == 0 {\n"
                                    "            signal c[j + s] by 1\n        } else {\n"
                                    "            advance s by 1\n        }\n    }\n}\n");
    char signals[128];
    signals_of(k, signals, sizeof signals);
    assert_string_equal(signals, "2+1 1+1 3+1 2+1");
    test_text_free(&text);
    spad_kernel_destroy(k);
}

static void every_allocation_may_fail(void **state) {
    (void)state;
    test_read_without_memory(control_text, NULL);
    test_read_without_memory(unknown_text, test_use_check);
    test_read_without_memory(copies_text, NULL);
}

/* ---- assumptions ------------------------------------------------------------------------ */

static void an_assumption_is_kept_and_said(void **state) {
    (void)state;
    static const char text[] =
        "kernel k on sm_90\nassume \"the loop in line 7 has 3 rounds\"\n"
        "tensor x : shared uint8 (64)\nsimt fill writes x\nsimt use reads x\n";
    static const struct {
        const char *text;
        const char *message;
    } faults[] = {
        {"kernel k on sm_90\nassume 3\n", "expected a string after 'assume', found '3'"},
        {"kernel k on sm_90\nassume \"a\"\nassume \"b\"\n",
         "an assumption is stated a second time: a kernel states it once"},
        {"kernel k on sm_90\nfor i in 0..2 { assume \"a\" }\n", "outside of all blocks"},
    };
    spad_kernel *kernel = test_parse(text);
    spad_check *check;
    spad_error error;
    test_text out;
    test_text_init(&out);
    assert_ok(spad_kernel_write_text(kernel, &out.sink, &error), &error);
    assert_string_equal(out.bytes, text);
    test_text_free(&out);
    assert_string_equal(spad__kernel_get_assumption(kernel), "the loop in line 7 has 3 rounds");
    assert_ok(spad_check_create(&check, kernel, NULL, &error), &error);
    assert_int_equal(spad_check_get_verdict(check), SPAD_VERDICT_PROVED_SHAPE);
    assert_true(strncmp(spad_check_get_reason(check),
                        "assuming that the loop in line 7 has 3 rounds: ", 47) == 0);
    spad_check_destroy(check);
    spad_kernel_destroy(kernel);
    for (size_t i = 0; i < sizeof faults / sizeof *faults; i++) {
        assert_int_not_equal(spad_kernel_parse(&kernel, faults[i].text, strlen(faults[i].text), "k",
                                               NULL, NULL, &error),
                             SPAD_OK);
        assert_non_null(strstr(error.message, faults[i].message));
    }
}

static void uncounted_work_is_kept_and_said(void **state) {
    (void)state;
    static const char text[] =
        "kernel k on sm_90\nparam N = 3\nassume \"a\"\nuncounted \"12 operations (exp, mul)\"\n"
        "tensor x : shared uint8 (64)\nfor i in 0..N {\n    simt fill writes x cost 5 ns\n    simt "
        "use reads x cost 5 ns\n}\n";
    static const struct {
        const char *text;
        const char *message;
    } faults[] = {
        {"kernel k on sm_90\nuncounted 3\n", "expected a string after 'uncounted', found '3'"},
        {"kernel k on sm_90\nuncounted \"a\"\nuncounted \"b\"\n",
         "uncounted work is stated a second time: a kernel states it once"},
        {"kernel k on sm_90\nfor i in 0..2 { uncounted \"a\" }\n", "outside of all blocks"},
    };
    spad_kernel *kernel = test_parse(text);
    spad_sim *sim;
    spad_error error;
    test_text out;
    test_text_init(&out);
    assert_ok(spad_kernel_write_text(kernel, &out.sink, &error), &error);
    assert_string_equal(out.bytes, text);
    test_text_free(&out);
    assert_string_equal(spad__kernel_get_uncounted(kernel), "12 operations (exp, mul)");
    assert_ok(spad_sim_create(&sim, kernel, NULL, &error), &error);
    test_text_init(&out);
    assert_ok(spad_sim_write(sim, SPAD_FORMAT_TEXT, &out.sink, &error), &error);
    assert_non_null(strstr(out.bytes,
                           "\nnot counted: 12 operations\n           (exp, mul);\n           the "
                           "kernel may take longer\n"));
    test_text_free(&out);
    test_text_init(&out);
    assert_ok(spad_sim_write(sim, SPAD_FORMAT_JSON, &out.sink, &error), &error);
    assert_non_null(strstr(out.bytes, "\"uncounted\": \"12 operations (exp, mul)\""));
    test_text_free(&out);
    spad_sim_destroy(sim);
    spad_kernel_destroy(kernel);
    for (size_t i = 0; i < sizeof faults / sizeof *faults; i++) {
        assert_int_not_equal(spad_kernel_parse(&kernel, faults[i].text, strlen(faults[i].text), "k",
                                               NULL, NULL, &error),
                             SPAD_OK);
        assert_non_null(strstr(error.message, faults[i].message));
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(uncounted_work_is_kept_and_said),
        cmocka_unit_test(an_assumption_is_kept_and_said),
        cmocka_unit_test(loops_and_cursors_run),
        cmocka_unit_test(breaks_end_the_innermost_loop),
        cmocka_unit_test(waits_for_the_next_phase_count_on),
        cmocka_unit_test(what_was_written_is_written),
        cmocka_unit_test(control_follows_parameters),
        cmocka_unit_test(even_cursors_are_expressions_of_loops),
        cmocka_unit_test(macros_and_copies_are_expanded),
        cmocka_unit_test(expanded_statements_keep_their_places),
        cmocka_unit_test(what_decides_copies_is_fixed),
        cmocka_unit_test(unknown_values_are_taken_as_given),
        cmocka_unit_test(checks_look_at_all_values),
        cmocka_unit_test(any_number_of_rounds_needs_a_proof_for_all),
        cmocka_unit_test(faults_of_control_are_found),
        cmocka_unit_test(expansion_is_limited),
        cmocka_unit_test(calls_make_the_same_kernel),
        cmocka_unit_test(every_allocation_may_fail),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
