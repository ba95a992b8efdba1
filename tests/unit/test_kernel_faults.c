/* SPDX-License-Identifier: Apache-2.0
 *
 * Faults of kernel texts in macros, copies of agents, unknown values, expressions, cursors and
 * waits: the message of each and where it points. And texts like these without host memory. */
#include <stdio.h>
#include <string.h>

#include "spad/spad.h"
#include "support/faults.h"
#include "support/kernels.h"
#include "support/support.h"

static spad_status read_kernel(const char *text, const char *file, spad_diagnostics *diagnostics,
                               spad_error *error) {
    spad_kernel *kernel;
    const spad_status status =
        spad_kernel_parse(&kernel, text, strlen(text), file, NULL, diagnostics, error);
    assert_int_equal(status == SPAD_OK, kernel != NULL);
    spad_kernel_destroy(kernel);
    return status;
}

static const char prelude[] = "kernel k on sm_90\nparam N = 4\nmbarrier m[N] count 1\n";

static void faults_of_macros_and_copies(void **state) {
    (void)state;
    static const test_fault cases[] = {
        {"macro { }", 1, 7, 1, "expected a name for the macro after 'macro', found '{'"},
        {"macro f { }", 1, 9, 1, "expected '(' after 'f', found '{'"},
        {"macro f(3) { }", 1, 9, 1, "expected ',' or ')' after '(', found '3'"},
        {"macro f(a, 3) { }", 1, 12, 1, "expected ',' or ')' after ',', found '3'"},
        {"macro f(a) fence", 1, 12, 5, "expected '{' after ')', found 'fence'"},
        {"macro f(nnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnn) { fence "
         "}",
         1, 9, 70, "a name has at most 63 characters"},
        {"macro f() { macro g() { } }\nf()", 1, 19, 1, "a macro is defined outside of all blocks"},
        {"macro f(a) { init m[a] }\nf(1, 2, 3, 4, 5, 6, 7, 8, 9, 10)", 2, 1, 32,
         "'f' has 1 parameters; arguments given: 10"},
        {"macro f(a) { init m[a] }\nf(1", 2, 4, 1,
         "expected ',' or ')' after '1', found the end of the line"},
        {"macro f(a) { init m[a] }\nf(+)", 2, 3, 1,
         "expected a number, a name or '(' after '(', found '+'"},
        {"macro f(a) { init m[a] }\nf(1) fence", 2, 6, 5,
         "expected the end of the line after ')', found 'fence'"},
        {"macro f(a) { init m[a] "
         "}\nf(nnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnn)",
         2, 3, 70, "a name has at most 63 characters"},
        {"agent a[ as w { fence }", 1, 10, 2, "no parameter or loop variable 'as' here"},
        {"agent a[1025] as w { fence }", 1, 9, 4,
         "1025 copies of an agent; 1 to 1024 are possible"},
        {"agent a[2 as w { fence }", 1, 11, 2, "expected ']' after '2', found 'as'"},
        {"agent a[2] as 3 { fence }", 1, 15, 1,
         "expected a name for the number of the copy after 'as', found '3'"},
        {"agent a[2] as w of threads { fence }", 1, 20, 7,
         "no parameter or loop variable 'threads' here"},
        {"agent a[2] as w of 0 threads { fence }", 1, 7, 1, "'a_0' has 0 threads; at least 1"},
        {"agent a[2] as w fence", 1, 17, 5, "expected '{' after 'w', found 'fence'"},
        {"agent b { agent a[2] as w { fence } }", 1, 17, 1,
         "an agent is declared outside of all blocks, at the top of the kernel"},
        {"macro f(a, b, c, d, e, g, h, i, j, l, n, o, p, q, r, s, t) { fence }", 1, 57, 1,
         "more than 16 parameters of a macro"},
        {"macro f(a) { init m[a] }\nf(1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1)", 2, 51, 1,
         "more than 16 arguments of a macro"},
        {"agent a[2] as w of 32 { fence }", 1, 23, 1, "expected 'threads' after '32', found '{'"},
    };
    TEST_FAULTS(read_kernel, prelude, "\n", cases);
}

static void faults_of_unknown_values(void **state) {
    (void)state;
    static const test_fault cases[] = {
        {"unknown", 1, 8, 1, "expected a name after 'unknown', found the end of the line"},
        {"unknown u[", 1, 11, 1,
         "expected a number, a name or '(' after '[', found the end of the line"},
        {"unknown u[2 in 0..2", 1, 13, 2, "expected ',' or ']' after '2', found 'in'"},
        {"unknown u in", 1, 13, 1,
         "expected a number, a name or '(' after 'in', found the end of the line"},
        {"unknown u in 0", 1, 15, 1, "expected '..' after '0', found the end of the line"},
        {"unknown u in 0..", 1, 17, 1,
         "expected a number, a name or '(' after '..', found the end of the line"},
        {"unknown u = [1", 1, 15, 1, "expected ',' or ']' after '1', found the end of the line"},
        {"unknown u = ", 1, 13, 1,
         "expected a number, a name or '(' after '=', found the end of the line"},
        {"unknown u = -1", 1, 9, 1, "-1 is not in 0..2"},
        {"unknown u[99999]", 1, 9, 1,
         "unknown values have one dimension at most, and no more than 65536 elements"},
        {"unknown u[2]\nif u[-1] == 0 { }", 2, 4, 5, "an element of 'u' reaches -1, and it has 2"},
        {"unknown u[2]\nif u[(1] == 0 { }", 2, 8, 1, "expected ')' after '1', found ']'"},
        {"unknown u[2]\nif (u[1) == 0 { }", 2, 8, 1, "expected ']' after '1', found ')'"},
        {"unknown u[2]\nif u[1, 1] == 0 { }", 2, 7, 1, "expected ']' after '1', found ','"},
        {"unknown u[2]\nif u[+] == 0 { }", 2, 6, 1,
         "expected a number, a name or '(' after '[', found '+'"},
        {"unknown u[2]\nif u[N * m] == 0 { }", 2, 10, 1,
         "'m' is a barrier, counter or group, not a number"},
        {"unknown u[2]\nif u[9223372036854775807 + N] == 0 { }", 2, 4, 25,
         "the result of '+' does not fit 64 bits"},
    };
    TEST_FAULTS(read_kernel, prelude, "\n", cases);
}

static void faults_of_expressions(void **state) {
    (void)state;
    static const test_fault cases[] = {
        {"if min(9223372036854775807 + N, 2) == 0 { }", 1, 4, 27,
         "the result of '+' does not fit 64 bits"},
        {"if min(2, 9223372036854775807 + N) == 0 { }", 1, 4, 30,
         "the result of '+' does not fit 64 bits"},
        {"if max(min(1, 2), 9223372036854775807 + N, 3) == 0 { }", 1, 4, 38,
         "the result of '+' does not fit 64 bits"},
        {"if (9223372036854775807 + N) == 0 { }", 1, 4, 24,
         "the result of '+' does not fit 64 bits"},
        {"if 9223372036854775807 + N + 1 == 0 { }", 1, 4, 25,
         "the result of '+' does not fit 64 bits"},
        {"if nnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnn == 0 { }", 1, 4,
         70, "a name has at most 63 characters"},
        {"if 1.5 == 0 { }", 1, 4, 3, "a whole number is expected here"},
        {"if 9007199254740993 GiB == 0 { }", 1, 4, 20, "the size does not fit 64 bits"},
    };
    TEST_FAULTS(read_kernel, prelude, "\n", cases);
}

static void faults_of_statements(void **state) {
    (void)state;
    static const test_fault cases[] = {
        {"cursor 3 mod 2", 1, 8, 1, "expected a name for the stage after 'cursor', found '3'"},
        {"cursor s, 3 mod 2", 1, 11, 1, "expected a name for the phase after ',', found '3'"},
        {"cursor s mod", 1, 13, 1,
         "expected a number, a name or '(' after 'mod', found the end of the line"},
        {"cursor s mod 99999999999", 1, 8, 1,
         "a cursor over 99999999999 stages; 1 to 2147483648 are possible"},
        {"cursor s mod 2 fence", 1, 16, 5, "expected the end of the line after '2', found 'fence'"},
        {"wait m[0] next by", 1, 18, 1,
         "expected a number, a name or '(' after 'by', found the end of the line"},
        {"wait m[0] parity", 1, 17, 1,
         "expected a number, a name or '(' after 'parity', found the end of the line"},
        {"wait m[0] parity 0 by", 1, 22, 1,
         "expected a number, a name or '(' after 'by', found the end of the line"},
        {"wait m[0]", 1, 10, 1,
         "expected '>=', 'parity', 'next' or 'pending' after ']', found the end of the line"},
        {"wait m[0, 1, 2, 3, 4, 5, 6, 7, 8, 9] parity 0", 1, 1, 45,
         "array 'm' has block rank 1; indices given: 10"},
        {"free 3", 1, 6, 1, "expected a tensor after 'free', found '3'"},
        {"else { }", 1, 1, 4, "an else without its if"},
        {"if N == 4 { } else fence", 1, 20, 5, "expected '{' after 'else', found 'fence'"},
        {"if N == 4 { } else { } else { }", 1, 24, 4, "an else without its if"},
        {"advance 3", 1, 9, 1, "expected the stage of a cursor after 'advance', found '3'"},
        {"cursor s mod 2\nadvance s by", 2, 13, 1,
         "expected a number, a name or '(' after 'by', found the end of the line"},
        {"simt 3", 1, 6, 1, "expected a name for the operation after 'simt', found '3'"},
        {"simt op reads m[0]", 1, 15, 1, "'m' is a barrier, counter or group, not a tensor"},
        {"tensor t : shared u8 (4)\nsimt op reads t(1, 2, 3, 4, 5, 6, 7, 8, 9, 10)", 2, 15, 32,
         "a tile of 't' has rank 1; ranges given: 10"},
        {"tensor t : shared u8 (4) alias of t", 1, 35, 1, "no tensor 't' here"},
        {"tensor t : shared u8 [2] (4)\ntensor v : shared u8 (4) alias of t[2]", 2, 35, 4,
         "index 2 is outside 't', which has 2"},
        {"tensor t : shared u8 [2] (4)\ntensor v : shared u8 (4) alias of t[-1]", 2, 35, 5,
         "index -1 is outside 't', which has 2"},
        {"for i in 0..4 step N - 4 { }", 1, 10, 15, "a step of 0; a loop needs one that moves on"},
        {"for i in 0..4 step -9223372036854775807 - 1 { }", 1, 10, 34,
         "a step of -9223372036854775808; a loop needs one that moves on"},
        {"param P", 1, 8, 1, "expected '=' after 'P', found the end of the line"},
        {"counter c = -1", 1, 9, 1, "a count of -1; it must be at least 0"},
        {"init m[1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1]", 1, 56, 1,
         "more than 16 dimensions"},
        {"tensor t : shared u8 (4)\nsimt op reads t(1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, "
         "1, 1)",
         2, 65, 1, "more than 16 dimensions"},
    };
    TEST_FAULTS(read_kernel, prelude, "\n", cases);
}

/* A text that opens something 130 times. */
static void expressions_are_nested_so_deep(void **state) {
    (void)state;
    static const char *const openings[] = {"(", "-", "min(", "max(1, ", "u[", "-(", "1 + ("};
    for (size_t i = 0; i < sizeof openings / sizeof openings[0]; i++) {
        char text[2048];
        size_t used = (size_t)snprintf(text, sizeof text, "%sunknown u[2]\nif ", prelude);
        for (int depth = 0; depth < 130; depth++) {
            used += (size_t)snprintf(text + used, sizeof text - used, "%s", openings[i]);
        }
        snprintf(text + used, sizeof text - used, "1 == 0 { }\n");
        spad_error error;
        assert_int_equal(read_kernel(text, "k", NULL, &error), SPAD_ERR_SYNTAX);
        assert_string_equal(error.message, "the expression is nested too deep");
    }
}

static void macros_are_nested_so_deep(void **state) {
    (void)state;
    char text[4096];
    spad_error error;
    for (int deep = 31; deep < 34; deep++) {
        size_t used =
            (size_t)snprintf(text, sizeof text, "kernel k on sm_90\nmacro m0() { fence }\n");
        for (int i = 1; i < deep; i++) {
            used += (size_t)snprintf(text + used, sizeof text - used, "macro m%d() { m%d() }\n", i,
                                     i - 1);
        }
        snprintf(text + used, sizeof text - used, "m%d()\n", deep - 1);
        const spad_status status = read_kernel(text, "k", NULL, &error);
        assert_int_equal(status, deep <= 32 ? SPAD_OK : SPAD_ERR_SYNTAX);
        if (status != SPAD_OK) {
            assert_non_null(strstr(error.message, "macros are nested too deep: at most 32"));
        }
    }
}

/* A name that is broken is reported once, also where it is an argument. */
static void a_fault_is_reported_once(void **state) {
    (void)state;
    static const char *const texts[] = {
        "macro f(a) { init m[a] }\ncursor s mod 0\nf(s)\nf( s )\nf(s\t)\ninit m[s]",
        "unknown u in 2..2\nif u == 0 { }\nfor i in 0..u { }",
    };
    for (size_t i = 0; i < sizeof texts / sizeof texts[0]; i++) {
        char text[512];
        spad_diagnostics *faults;
        snprintf(text, sizeof text, "%s%s\n", prelude, texts[i]);
        assert_int_equal(spad_diagnostics_create(&faults, NULL, NULL), SPAD_OK);
        assert_int_equal(read_kernel(text, "k", faults, NULL), SPAD_ERR_SYNTAX);
        assert_int_equal(spad_diagnostics_count(faults), 1);
        spad_diagnostics_destroy(faults);
    }
}

/* ---- memory ------------------------------------------------------------------------ */

/* What stands in front of a text, so that tables and blocks of memory are full at another place
 * of it. */
typedef struct padded {
    const char *body;
    int params;
    int fences;
} padded;

static spad_status read_padded(const spad_host *host, void *context) {
    const padded *p = context;
    char text[8192];
    const spad_define defines[] = {{"N", 5}};
    const spad_define rings[] = {{"t", 2}};
    const spad_kernel_options options = {
        .host = host, .defines = defines, .define_count = 1, .rings = rings, .ring_count = 1};
    size_t used = (size_t)snprintf(text, sizeof text, "%s", prelude);
    for (int i = 0; i < p->params; i++) {
        used += (size_t)snprintf(text + used, sizeof text - used, "param a_name_%d = %d\n", i, i);
    }
    for (int i = 0; i < p->fences; i++) {
        used += (size_t)snprintf(text + used, sizeof text - used, "fence\n");
    }
    snprintf(text + used, sizeof text - used, "%s", p->body);
    spad_kernel *kernel;
    spad_error error;
    const spad_status status =
        spad_kernel_parse(&kernel, text, strlen(text), "k", &options, NULL, &error);
    if (status != SPAD_OK && status != SPAD_ERR_HOST_MEMORY) print_error("%s\n", error.message);
    spad_kernel_destroy(kernel);
    return status;
}

static const char rich_text[] =
    "unknown u[20] in 0..4 = [0, 1, 2, 3, 0, 1, 2, 3, 0, 1, 2, 3, 0, 1, 2, 3, 0, 1]\n"
    "unknown flag\n"
    "tensor t : shared u8 [8] (16) ring 3\n"
    "unit copy fifo\n"
    "macro put(a, b) { for j in 0..2 { copy get writes t[a]; init m[b] } }\n"
    "macro twice(a) { put(a, 1); put(a + 1, 2) }\n"
    "agent w[3] as n of 32 threads {\n"
    "    cursor s, p mod 4\n"
    "    for i in 0..N {\n"
    "        if u[i] == max(n, 1) or flag == 0 { wait m[s] parity p } else { advance s by 2 }\n"
    "        twice(min(i, 3))\n"
    "    }\n"
    "}\n";

static void every_allocation_may_fail(void **state) {
    (void)state;
    for (int pad = 0; pad < 96; pad++) {
        padded p = {rich_text, pad % 48, (pad * 5) % 31};
        test_fail_each_allocation(read_padded, &p);
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(faults_of_macros_and_copies),
        cmocka_unit_test(faults_of_unknown_values),
        cmocka_unit_test(faults_of_expressions),
        cmocka_unit_test(faults_of_statements),
        cmocka_unit_test(expressions_are_nested_so_deep),
        cmocka_unit_test(macros_are_nested_so_deep),
        cmocka_unit_test(a_fault_is_reported_once),
        cmocka_unit_test(every_allocation_may_fail),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
