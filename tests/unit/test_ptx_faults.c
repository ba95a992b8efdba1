/* SPDX-License-Identifier: Apache-2.0
 *
 * The parser of PTX on texts with faults, and on hostile ones. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "ptx_text_fixture.h"
#include "support/faults.h"
#include "support/files.h"

/* ---- faults ----------------------------------------------------------------------------- */

static spad_status read_ptx(const char *text, const char *file, spad_diagnostics *diagnostics,
                            spad_error *error) {
    const spad__source source = {file, text, strlen(text)};
    module m;
    const spad_status status = spad__ptx_parse(&m, NULL, &source, diagnostics, error);
    const module zeroed = {0};
    if (status != SPAD_OK) assert_memory_equal(&m, &zeroed, sizeof m);
    spad__ptx_module_free(&m);
    return status;
}

#define UNDECLARED                                                                            \
    " is not declared: neither a register, a variable or a function before this line, nor a " \
    "label in these braces"

static void faults_in_bodies_are_found(void **state) {
    (void)state;
    static const test_fault cases[] = {
        {"mov.u32 %r1 %r2;", 1, 13, 3, "expected ';' after an instruction, found '%r2'"},
        {"mov.u32 %r1, ;", 1, 14, 1, "expected a register, a name or a number, found ';'"},
        {"mov.u32 %r1, %r99;", 1, 14, 4, "'%r99'" UNDECLARED},
        {"mov.u32 %r1, %r01;", 1, 14, 4, "'%r01'" UNDECLARED},
        {"bra nowhere;", 1, 5, 7, "'nowhere'" UNDECLARED},
        {"{ l: } bra l;", 1, 12, 1, "'l'" UNDECLARED},
        {"ld.global.b32 %r1, [%q];", 1, 21, 2,
         "'%q' is not a register or a variable that is declared here"},
        {"ld.global.b32 %r1, [%tid.x];", 1, 21, 4,
         "'%tid' is not a register or a variable that is declared here"},
        {"ld.global.b32 %r1, [%rd1;", 1, 25, 1, "expected ']' after an address, found ';'"},
        {"ld.global.b32 %r1, [%rd1+x];", 1, 26, 1, "expected a number, found 'x'"},
        {"ld.global.b32 %r1, [%rd1+1.5];", 1, 25, 4, "an offset is an integer"},
        {"mov.b64 {%r1, %r2, %rd1;", 1, 24, 1, "expected ',' or '}' in a vector, found ';'"},
        {"mov.b64 {{%r1}}, %rd1;", 1, 10, 1, "expected a register, a name or a number, found '{'"},
        {"mov.b64 {%v, %r1}, %rd1;", 1, 10, 2,
         "'%v' is not a single register that is declared here"},
        {"mov.b32 %v.z, 1;", 1, 12, 1, "this vector has 2 components"},
        {"call f, (%r1;", 1, 13, 1, "expected ',' or ')' in a list, found ';'"},
        {"call (%r1) f;", 1, 12, 1, "expected ',' after the results of a call, found 'f'"},
        {"setp.eq.b32 %p1|3, 1, 2;", 1, 17, 1, "expected a register after '|', found '3'"},
        {"setp.eq.b32 %z|%p1, 1, 2;", 1, 13, 2, "'%z' is not a register that is declared here"},
        {"@%z bra l; l:", 1, 2, 2, "'%z' is not a single register that is declared here"},
        {"@5 bra l; l:", 1, 2, 1, "expected a predicate register after '@', found '5'"},
        {"@%p1;", 1, 5, 1, "expected an instruction after its guard, found ';'"},
        {"l: l: ret;", 1, 4, 1, "the label 'l' is there already in these braces"},
        {".reg .b32 %q, %q;", 1, 15, 2,
         "'%q' is declared already, on line 14; give it another name, or braces of its own"},
        {".reg .b32 %q<2147483648>;", 1, 14, 10,
         "expected a number of registers, from 0 to 2147483647"},
        {".reg .b32 %q<-1>;", 1, 14, 2, "expected a number of registers, from 0 to 2147483647"},
        {".reg .b33 %q;", 1, 7, 3, "'.b33' is not a type, an alignment or an attribute"},
        {".reg %q;", 1, 6, 2, "expected a type such as .b32, found '%q'"},
        {".shared .align 3 .b8 s[3];", 1, 16, 1, "an alignment is a power of two, not 3"},
        {".shared .b8 s[-1];", 1, 15, 2, "expected a size, from 0 to 1099511627776"},
        {".shared .b64 s[1099511627776];", 1, 14, 1,
         "'s' is too large; at most 1099511627776 bytes"},
        {".shared .b8 s[];", 1, 13, 1, "'s' needs a size, an initial value or .extern"},
        {".shared .b8 s[2][];", 1, 18, 1,
         "expected a size; only the first one may be left out, found ']'"},
        {".shared .b8 s = 1;", 1, 13, 1,
         "'s' cannot have an initial value; only .global and .const can"},
        {".shared .b8 s[1][1][1][1][1][1][1][1];", 1, 35, 1, "an array has at most 7 sizes"},
        {".frob 1;", 1, 2, 4, "'.frob' is not a directive that a function can have"},
        {".loc 1 x 2", 1, 8, 1, "expected a line, found 'x'"},
        {".loc 1 2 3, where 4\n;", 1, 13, 5, "expected function_name or inlined_at, found 'where'"},
        {".pragma \"unroll;\n;", 1, 9, 1,
         "this text in quotes has no end; write \" after it, on the same line"},
        {"t: .branchtargets end, 5; end:", 1, 24, 1, "expected a label, found '5'"},
        {"t: .calltargets g;", 1, 17, 1, "'g' is not a function that is declared before"},
        {"u: bra u; t: .branchtargets t;", 1, 29, 1, "'t' is a list of labels, not a label"},
        {"mov.u32 %r1, 1 / 0;", 1, 15, 4, "this expression divides by zero"},
        {"mov.u32 %r1, 1 + 1.5;", 1, 15, 6,
         "only integers can be combined in a constant expression"},
        {"mov.u32 %r1, ~1.5;", 1, 14, 4, "'~' and '!' take an integer"},
        {"mov.u32 %r1, 12ab;", 1, 14, 4,
         "'12ab' is not a number of PTX: integers have at most 64 bits, 0f is followed by 8 "
         "hexadecimal digits and 0d by 16"},
        {"mov.u32 %r1, 18446744073709551616;", 1, 14, 20,
         "'18446744073709551616' is not a number of PTX: integers have at most 64 bits, 0f is "
         "followed by 8 hexadecimal digits and 0d by 16"},
        {"mov.f32 %f1, 0f3F8;", 1, 14, 5,
         "'0f3F8' is not a number of PTX: integers have at most 64 bits, 0f is followed by 8 "
         "hexadecimal digits and 0d by 16"},
        {"mov.u32 %r1, \x80;", 1, 14, 1,
         "expected a register, a name or a number, found the byte 0x80"},
        {"5 ret;", 1, 1, 1, "expected an instruction, a label or a directive, found '5'"},
    };
    TEST_FAULTS(read_ptx, BODY, END, cases);
}

static void faults_of_modules_are_found(void **state) {
    (void)state;
    static const test_fault cases[] = {
        {"entry k () { }", 1, 1, 5, "expected a directive such as .entry, found 'entry'"},
        {".frob 1;", 1, 2, 4, "'.frob' is not a directive that a module can have"},
        {".visible f;", 1, 10, 1,
         "expected a function or a variable: .entry, .func, .global and so on, found 'f'"},
        {".entry () { }", 1, 11, 1, "expected the name of a function, found '{'"},
        {".entry k { ret;", 1, 10, 1, "these braces have no end; add a '}'"},
        {".entry k { { ret; }", 1, 10, 1, "these braces have no end; add a '}'"},
        {".entry k { { ret;", 1, 12, 1, "these braces have no end; add a '}'"},
        {".entry k ret", 1, 10, 3, "expected ';' or a body in braces, found 'ret'"},
        {".entry k (.param .b32 x", 1, 24, 1,
         "expected ',' or ')' after a parameter, found the end of the text"},
        {".entry k (.shared .b32 x) { }", 1, 11, 7,
         "expected a parameter: .param or .reg, found '.shared'"},
        {".entry k (.reg .b32 %x<2>) { }", 1, 21, 5,
         "a parameter is a single register, not a range or a vector"},
        {".entry k .maxntid 0 { }", 1, 19, 1,
         "expected a number of threads or CTAs, from 1 to 2147483647"},
        {".entry k .frob { }", 1, 11, 4, "'.frob' is not a directive of functions"},
        {".entry k () { }\n.entry k () { ret; }", 2, 8, 1, "'k' has a body already, on line 4"},
        {".global .b32 k; .func k ();", 1, 23, 1,
         "'k' is declared already, on line 4; give it another name, or braces of its own"},
        {".global .b32 a; .global .b32 a;", 1, 30, 1,
         "'a' is declared already, on line 4; give it another name, or braces of its own"},
        {".global .b8 a[2] = {1, 2, 3};", 1, 13, 1,
         "the initial value of 'a' has more items than the variable"},
        {".global .b8 a[2][1] = {{1, 2}, {3}};", 1, 13, 1,
         "the initial value of 'a' has a row that is too long"},
        {".global .b8 a[2] = {{1}, 2};", 1, 21, 1, "more braces than 'a' has sizes"},
        {".global .b8 a[2] = {1, b};", 1, 24, 1,
         "'b' is not a variable or a function declared before"},
        {".global .b8 a[2] = {1 2};", 1, 23, 1,
         "expected ',' or '}' in an initial value, found '2'"},
        {".global .b8 a[1099511627776] = {1};", 1, 13, 1,
         "the initial value of 'a' is too large; all of them may have 64 MiB at most"},
        {".global .b8 a[2]; .global .b8 b[2] = {0x7F(a), 0};", 1, 43, 1,
         "a mask is 0xFF, 0xFF00 and so on, for variables of bytes"},
        {".global .b8 a[2]; .global .b8 b[2] = {0xFF00(a), 0};", 1, 45, 1,
         "the bytes of an address must follow one another, 0xFF first"},
        {".global .samplerref s = 1;", 1, 25, 1, "expected settings in braces, found '1'"},
        {".alias a, b;", 1, 8, 1, "'a' is not a function that is declared before"},
        {".file 65536 \"x\"", 1, 7, 5, "expected the number of a file, from 0 to 65535"},
        {".file 1 x", 1, 9, 1, "expected a text in double quotes, found 'x'"},
        {".section .debug_info {", 1, 22, 1, "this section has no end; add a '}'"},
        {".section .debug_str { 5", 1, 23, 1,
         "expected a label, .b8 or '}' in .debug_str, found '5'"},
        {"/* no end", 1, 1, 2, "this comment has no end; write */ after it"},
        {".version x", 1, 10, 1, "expected a version such as 9.0, found 'x'"},
        {".target 90", 1, 9, 2, "expected a target such as sm_90a, found '90'"},
    };
    TEST_FAULTS(read_ptx, HEAD, "", cases);
    static const test_fault bare[] = {
        {"", 1, 1, 1, "this is not a PTX module: it needs .version and .target"},
        {".version 8.0", 1, 1, 1, "this is not a PTX module: it needs .version and .target"},
    };
    TEST_FAULTS(read_ptx, "", "", bare);
}

/* One run reports several faults, each once. */
static void reading_goes_on_after_a_fault(void **state) {
    (void)state;
    static const char text[] = BODY "mov.u32 %r1 %r2;\n"
                                    "ret;\n"
                                    "{ add.u32 %r1, {; }\n"
                                    ".reg .b33 %x;\n"
                                    "bra nowhere;" END ".global .b8 a = {1, ?};\n"
                                    ".func broken (.param) { mov.u32 %r1, 1; }\n"
                                    ".global .b32 b = c;\n";
    spad_diagnostics *diagnostics;
    assert_int_equal(spad_diagnostics_create(&diagnostics, NULL, NULL), SPAD_OK);
    module m;
    assert_int_equal(read_bytes(&m, NULL, text, sizeof text - 1, diagnostics, NULL),
                     SPAD_ERR_SYNTAX);
    static const int lines[] = {14, 16, 17, 18, 20, 21, 22};
    assert_int_equal(spad_diagnostics_count(diagnostics), 7);
    for (size_t i = 0; i < 7; i++) {
        assert_int_equal(spad_diagnostics_get(diagnostics, i)->line, lines[i]);
    }
    spad_diagnostics_destroy(diagnostics);
}

/* ---- hostile texts ---------------------------------------------------------------------- */

/* Before, a piece many times, after. */
static char *repeated(const char *before, const char *piece, size_t times, const char *after,
                      size_t *length) {
    const size_t each = strlen(piece);
    *length = strlen(before) + each * times + strlen(after);
    char *text = malloc(*length + 1);
    assert_non_null(text);
    char *at = text + sprintf(text, "%s", before);
    for (size_t i = 0; i < times; i++, at += each) memcpy(at, piece, each);
    memcpy(at, after, strlen(after) + 1);
    return text;
}

static void long_texts_end(void **state) {
    (void)state;
    static const struct {
        const char *before, *piece, *after;
        const char *message; /* NULL: the text is right */
    } cases[] = {
        {BODY, "{", "", "braces are nested too deeply; at most 128 levels"},
        {BODY, "}", "", "expected a directive such as .entry, found '}'"},
        {BODY "mov.b64 ", "{", "", "these braces have no end; add a '}'"},
        {BODY "mov.u32 %r1, ", "(", "1;" END,
         "this expression is nested too deeply; at most 64 levels"},
        {BODY "mov.u32 %r1, ", "-", "1;" END,
         "this expression is nested too deeply; at most 64 levels"},
        {BODY "mov.u32 %r1, ", "1?", "1;" END, "this expression is nested too deeply"},
        {BODY "mov.u32 %r1, 1", "+1", ";" END, NULL},
        {BODY "mov.u32 %r1, 1", "1", ";" END, "is not a number of PTX"},
        {BODY "mov.f32 %f1, 1", "1", ".5e9;" END, NULL},
        {BODY, ";", END, NULL},
        {BODY, "a;", END, NULL},
        {BODY, "bra l;", "l:" END, NULL},
        {BODY, "{l: bra l;}", END, NULL},
        {BODY "a", ".b", ";" END, NULL},
        {BODY "l: .branchtargets m", ",m", "; m:" END, NULL},
        {BODY, "@%p1 @", END, "expected an instruction after its guard, found '}'"},
        {HEAD ".global .b8 a[] = {0", ",1", "};", NULL},
        {HEAD ".global .b8 a = ", "{", "", "more braces than 'a' has sizes"},
        {HEAD, ".func f ();", "", NULL},
        {HEAD ".func f (.param .b32 a", ", .param .b32 _", ");", NULL},
        {HEAD ".section .x ", "{", "", "this section has no end; add a '}'"},
        {HEAD, "/* */", "", NULL},
        {HEAD, "\"", "", "expected a directive such as .entry, found '\"'"},
        {HEAD, "(", "", "expected a directive such as .entry, found '('"},
        {HEAD ".section .debug_str { ", "a: .b8 1 ", "}", NULL},
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        size_t length;
        char *text = repeated(cases[i].before, cases[i].piece, 200000, cases[i].after, &length);
        module m;
        spad_error error = {.message = ""};
        const spad_status status = read_bytes(&m, NULL, text, length, NULL, &error);
        if (cases[i].message == NULL) {
            if (status != SPAD_OK) print_error("%s: %s\n", cases[i].piece, error.message);
            assert_int_equal(status, SPAD_OK);
        } else {
            if (strstr(error.message, cases[i].message) == NULL) {
                print_error("%s: %s\n", cases[i].piece, error.message);
            }
            assert_non_null(strstr(error.message, cases[i].message));
        }
        spad__ptx_module_free(&m);
        free(text);
    }
}

/* A byte of a real file is another one, or the file ends there: no crash, and a message. */
static void broken_files_have_a_message(void **state) {
    (void)state;
    static const char *const names[] = {"tests/ptx/syntax.ptx", "tests/ptx/tables.ptx"};
    static const char bytes[] = {'\0', '{', '}', ';', '"', ' ', '.', '9', '\xff'};
    for (size_t n = 0; n < 2; n++) {
        char *text = test_read_file(names[n]);
        const size_t length = strlen(text);
        for (size_t at = n; at < length; at += 3) {
            module m;
            spad_error error = {.message = ""};
            char *cut = malloc(at + 1); /* exact, so that a read beyond it is seen */
            assert_non_null(cut);
            memcpy(cut, text, at);
            if (read_bytes(&m, NULL, cut, at, NULL, &error) != SPAD_OK) {
                assert_true(error.message[0] != '\0' && error.line > 0);
            }
            spad__ptx_module_free(&m);
            spad__ptx_detect(cut, at);
            free(cut);
            const char kept = text[at];
            text[at] = bytes[at % sizeof bytes];
            if (read_bytes(&m, NULL, text, length, NULL, &error) != SPAD_OK) {
                assert_true(error.message[0] != '\0' && error.line > 0);
            }
            spad__ptx_module_free(&m);
            text[at] = kept;
        }
        free(text);
    }
}

static void detection_looks_at_the_start(void **state) {
    (void)state;
    static const struct {
        const char *text;
        bool is_ptx;
    } cases[] = {{".version 8.0", true},
                 {"\xEF\xBB\xBF// a\n/* b */\n\t.version", true},
                 {"", false},
                 {".versio", false},
                 {"/* .version", false},
                 {"module {", false}};
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        assert_int_equal(spad__ptx_detect(cases[i].text, strlen(cases[i].text)), cases[i].is_ptx);
    }
    assert_false(spad__ptx_detect(NULL, 0));
    const spad__source source = {"huge", "", (size_t)257 << 20};
    module m;
    spad_error error;
    assert_int_equal(spad__ptx_parse(&m, NULL, &source, NULL, &error), SPAD_ERR_ARGUMENT);
    assert_non_null(strstr(error.message, "at most 268435456"));
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(faults_in_bodies_are_found),
        cmocka_unit_test(faults_of_modules_are_found),
        cmocka_unit_test(reading_goes_on_after_a_fault),
        cmocka_unit_test(long_texts_end),
        cmocka_unit_test(broken_files_have_a_message),
        cmocka_unit_test(detection_looks_at_the_start),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
