/* SPDX-License-Identifier: Apache-2.0
 * The lexer, numbers with units, recovery, and how faults are shown. */
#include "support/support.h"

#include <stdlib.h>
#include <string.h>

#include "base/diagnostics.h"
#include "base/lexer.h"
#include "base/parser.h"
#include "base/random.h"

typedef struct fixture {
    spad_diagnostics *diagnostics;
    spad__arena arena;
    test_host host;
    spad__source source;
    spad__parser parser;
} fixture;

static void open_text(fixture *f, const char *text, size_t length) {
    test_host_init(&f->host);
    f->arena = (spad__arena){.host = f->host.host};
    f->source = (spad__source){.file = "t", .text = text, .length = length};
    assert_int_equal(spad_diagnostics_create(&f->diagnostics, &f->host.host, NULL), SPAD_OK);
    spad__diagnostics_begin(f->diagnostics, &f->source);
    spad__parser_start(&f->parser, &f->source, f->diagnostics, &f->arena);
}

static void close_text(fixture *f) {
    spad_diagnostics_destroy(f->diagnostics);
    spad__arena_free(&f->arena);
    test_host_assert_clean(&f->host);
}

/* All tokens as "kind:text kind:text"; kinds by a letter. */
static void lex_all(const char *text, size_t length, char *out, size_t *faults) {
    static const char letters[SPAD__TOKEN_KINDS] = {'$', 'n', 'w', 'd', 's', '!'};
    fixture f;
    open_text(&f, text, length);
    spad__token token;
    do {
        token = spad__parser_take(&f.parser);
        const char letter = letters[token.kind] != '\0' ? letters[token.kind] : 'p';
        const bool newline = token.kind == SPAD__NEWLINE;
        out += sprintf(out, "%c:%.*s ", letter, newline ? 0 : (int)token.span.length,
                       text + token.span.start);
    } while (token.kind != SPAD__END);
    assert_int_equal(spad__parser_take(&f.parser).kind, SPAD__END); /* forever */
    *faults = spad_diagnostics_count(f.diagnostics);
    close_text(&f);
}

static void check_tokens(const char *text, const char *expected) {
    char tokens[1024];
    size_t faults;
    lex_all(text, strlen(text), tokens, &faults);
    assert_string_equal(tokens, expected);
    assert_int_equal(faults, 0);
}

static void a_text_falls_into_tokens(void **state) {
    (void)state;
    check_tokens("", "$: ");
    check_tokens("\xEF\xBB\xBF x # comment \xFF \x01\r\ny;z", "w:x n: w:y n: w:z $: ");
    check_tokens("sm_90 910b 950 2080ti 0x1F 1_000 _a", "w:sm_90 w:910b d:950 w:2080ti d:0x1F "
                                                        "d:1_000 w:_a $: ");
    check_tokens("32KiB 2.8GHz 7cycles 3kb 1__0 1_ 0x 0xg 0x1KiB",
                 "d:32 w:KiB d:2.8 w:GHz d:7 w:cycles w:3kb w:1__0 w:1_ w:0x w:0xg w:0x1KiB $: ");
    check_tokens("0..N 1.5..2", "d:0 p:.. w:N d:1.5 p:.. d:2 $: ");
    check_tokens("{}()[],:=..+-*/%<<=>>===!=",
                 "p:{ p:} p:( p:) p:[ p:] p:, p:: p:= p:.. p:+ p:- p:* p:/ p:% p:< p:<= p:> p:>= "
                 "p:== p:!= $: ");
    check_tokens("\"a # b\" \"q\\\"\\\\\\n\\t\\x7f\" \"\xC3\xA9\"",
                 "s:\"a # b\" s:\"q\\\"\\\\\\n\\t\\x7f\" s:\"\xC3\xA9\" $: ");
}

static void bad_bytes_are_reported_and_reading_goes_on(void **state) {
    (void)state;
    static const struct {
        const char *text;
        const char *tokens;
        const char *message;
        int column;
    } cases[] = {
        {"a @ b", "w:a w:b $: ", "unexpected character '@'", 3},
        {"a \xC3\xA9\xC3\xA9 b", "w:a w:b $: ", "unexpected character '\xC3\xA9'", 3},
        {"a \x80\x81 b", "w:a w:b $: ", "unexpected byte 0x80", 3},
        {"a \x1B[0m", "w:a p:[ w:0m $: ", "unexpected byte 0x1b", 3},
        {"a \xE2\x80\xAE b", "w:a w:b $: ", "unexpected byte 0xe2", 3}, /* turns the line around */
        {"a . b", "w:a w:b $: ", "unexpected character '.'", 3},
        {"a ! b", "w:a w:b $: ", "unexpected character '!'", 3},
        {"x \"open\ny", "w:x !:\"open n: w:y $: ",
         "string without its closing quote; it must end on the same line", 3},
        {"x \"open",
         "w:x !:\"open $: ", "string without its closing quote; it must end on the same line", 3},
        {"\"\\q\" y", "!:\"\\q\" w:y $: ",
         "unknown escape in a string; there are \\\" \\\\ \\n \\t and \\x01 to \\x7f", 2},
        {"\"\\x00\"", "!:\"\\x00\" $: ",
         "unknown escape in a string; there are \\\" \\\\ \\n \\t and \\x01 to \\x7f", 2},
        {"\"\\x80\"", "!:\"\\x80\" $: ",
         "unknown escape in a string; there are \\\" \\\\ \\n \\t and \\x01 to \\x7f", 2},
        {"\"\xFF\" y", "!:\"\xFF\" w:y $: ", "byte 0xff in a string is not UTF-8", 2},
        {"\"\x07\" y", "!:\"\x07\" w:y $: ", "control character 0x07 in a string; write an escape",
         2},
        {"9223372036854775808 y",
         "!:9223372036854775808 w:y $: ", "too many digits: the number does not fit 64 bits", 1},
        {"0xFFFFFFFFFFFFFFFF",
         "!:0xFFFFFFFFFFFFFFFF $: ", "too many digits: the number does not fit 64 bits", 1},
        {"0.0000000000000000001",
         "!:0.0000000000000000001 $: ", "too many digits: the number does not fit 64 bits", 1},
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        fixture f;
        char tokens[256];
        size_t faults;
        lex_all(cases[i].text, strlen(cases[i].text), tokens, &faults);
        assert_string_equal(tokens, cases[i].tokens);
        assert_int_equal(faults, 1);
        open_text(&f, cases[i].text, strlen(cases[i].text));
        while (spad__parser_take(&f.parser).kind != SPAD__END) continue;
        const spad_diagnostic *fault = spad_diagnostics_get(f.diagnostics, 0);
        assert_string_equal(fault->message, cases[i].message);
        assert_int_equal(fault->line, 1);
        assert_int_equal(fault->column, cases[i].column);
        close_text(&f);
    }
}

static void a_nul_is_a_byte_like_others(void **state) {
    (void)state;
    char tokens[256];
    size_t faults;
    lex_all("a\0b \"\0\"", 7, tokens, &faults);
    assert_memory_equal(tokens, "w:a w:b !:", 10);
    assert_int_equal(faults, 2);
}

static void strings_lose_their_escapes(void **state) {
    (void)state;
    fixture f;
    const char *text = "\"a\\\"b\\\\c\\n\\t\\x7e\xE2\x86\xBB\" \"\"";
    const char *value;
    open_text(&f, text, strlen(text));
    assert_true(spad__parser_text(&f.parser, &value));
    assert_string_equal(value, "a\"b\\c\n\t~\xE2\x86\xBB");
    assert_true(spad__parser_text(&f.parser, &value));
    assert_string_equal(value, "");
    close_text(&f);
}

/* ---- quantities -------------------------------------------------------------------- */

static const struct {
    const char *text;
    const spad__measure *measure;
    int64_t value;       /* or -1 */
    const char *message; /* of the fault */
} quantities[] = {
    {"0", &spad__measure_size, 0, NULL},
    {"192 KiB", &spad__measure_size, 196608, NULL},
    {"192KiB exclusive", &spad__measure_size, 196608, NULL},
    {"1.5 KiB", &spad__measure_size, 1536, NULL},
    {"1.500 KiB", &spad__measure_size, 1536, NULL},
    {"0.0009765625 KiB", &spad__measure_size, 1, NULL},
    {"8388607.9999999 TiB", &spad__measure_size, -1,
     "'8388607.9999999 TiB' is not a whole number of bytes"},
    {"8388607.5 TiB", &spad__measure_size, INT64_C(9223371487098961920), NULL},
    {"8388608 TiB", &spad__measure_size, -1, "a size too large: it does not fit 64 bits"},
    {"9223372036854775807", &spad__measure_size, INT64_MAX, NULL},
    {"1.5", &spad__measure_size, -1, "'1.5' is not a whole number of bytes"},
    {"1.3 KiB", &spad__measure_size, -1, "'1.3 KiB' is not a whole number of bytes"},
    {"4 KB", &spad__measure_size, -1, "'KB' is not a unit of a size; use B, KiB, MiB, GiB or TiB"},
    {"4 ns", &spad__measure_size, -1, "'ns' is not a unit of a size; use B, KiB, MiB, GiB or TiB"},
    {"-4", &spad__measure_size, -1, "expected a size, found '-'"},
    {"many", &spad__measure_size, -1, "expected a size, found 'many'"},
    {"\"4\"", &spad__measure_size, -1, "expected a size, found a string"},
    {"", &spad__measure_size, -1, "expected a size, found the end of the file"},
    {"2.8 GHz", &spad__measure_clock, 2800000, NULL},
    {"1.12GHz", &spad__measure_clock, 1120000, NULL},
    {"960 MHz", &spad__measure_clock, 960000, NULL},
    {"960", &spad__measure_clock, -1,
     "expected a unit (kHz, MHz or GHz) after '960', found the end of the file"},
    {"960 bananas", &spad__measure_clock, -1,
     "'bananas' is not a unit of a clock; use kHz, MHz or GHz"},
    {"0.0001 MHz", &spad__measure_clock, -1, "'0.0001 MHz' is not a whole number of kHz"},
    {"23 B/ns", &spad__measure_rate, 23000, NULL},
    {"23B / ns", &spad__measure_rate, 23000, NULL},
    {"27.2 GB/s", &spad__measure_rate, 27200, NULL},
    {"5 B/us", &spad__measure_rate, 5, NULL},
    {"5 B/", &spad__measure_rate, -1,
     "'B/' is not a unit of a rate; use B/us, B/ns, MB/s, GB/s or TB/s"},
    {"1300 ns", &spad__measure_time, 1300, NULL},
    {"1.3 us", &spad__measure_time, 1300, NULL},
    {"64 cycles", &spad__measure_cycles, 64, NULL},
    {"64", &spad__measure_cycles, 64, NULL},
    {"1_024", &spad__measure_count, 1024, NULL},
    {"0x80", &spad__measure_count, 128, NULL},
    {"2.5", &spad__measure_count, -1, "'2.5' is not a whole number of units"},
};

static void quantities_are_exact(void **state) {
    (void)state;
    for (size_t i = 0; i < sizeof quantities / sizeof quantities[0]; i++) {
        fixture f;
        int64_t value = -1;
        spad__span span;
        open_text(&f, quantities[i].text, strlen(quantities[i].text));
        const bool good = spad__parser_quantity(&f.parser, quantities[i].measure, &value, &span);
        assert_int_equal(good, quantities[i].message == NULL);
        if (good) {
            assert_int_equal(value, quantities[i].value);
            assert_int_equal(spad_diagnostics_count(f.diagnostics), 0);
        } else {
            assert_int_equal(spad_diagnostics_count(f.diagnostics), 1);
            assert_string_equal(spad_diagnostics_get(f.diagnostics, 0)->message,
                                quantities[i].message);
        }
        close_text(&f);
    }
}

/* A number written in GHz with up to six decimals, against integer arithmetic. */
static void decimals_agree_with_an_independent_sum(void **state) {
    (void)state;
    spad__random random = {.state = 7};
    for (int round = 0; round < 2000; round++) {
        const int64_t khz =
            spad__random_in(&random, 0, INT64_C(1) << spad__random_in(&random, 1, 60));
        char text[64];
        const int length = sprintf(text, "%lld.%06lld GHz", (long long)(khz / 1000000),
                                   (long long)(khz % 1000000));
        fixture f;
        int64_t value;
        spad__span span;
        open_text(&f, text, (size_t)length);
        assert_true(spad__parser_quantity(&f.parser, &spad__measure_clock, &value, &span));
        assert_int_equal(value, khz);
        close_text(&f);
    }
}

static void names_may_be_words_numbers_or_strings(void **state) {
    (void)state;
    fixture f;
    const char *text = "sm_90 950 910b \"npu-7.x\" \"a b\" \"\" {";
    const char *name;
    open_text(&f, text, strlen(text));
    static const char *const good[] = {"sm_90", "950", "910b", "npu-7.x"};
    for (size_t i = 0; i < 4; i++) {
        assert_true(spad__parser_name(&f.parser, "a name", &name));
        assert_string_equal(name, good[i]);
    }
    for (int i = 0; i < 3; i++) assert_false(spad__parser_name(&f.parser, "a name", &name));
    assert_string_equal(spad_diagnostics_get(f.diagnostics, 0)->message,
                        "not a name: a name has 1 to 63 letters, digits, '_', '-' or '.'");
    assert_int_equal(spad_diagnostics_get(f.diagnostics, 1)->column, 32);
    assert_string_equal(spad_diagnostics_get(f.diagnostics, 2)->message,
                        "expected a name after a string, found '{'");
    close_text(&f);
    assert_true(spad__is_bare("sm_90") && spad__is_bare("950") && spad__is_bare("910b"));
    assert_false(spad__is_bare("32KiB")); /* two tokens */
    assert_false(spad__is_bare("npu-7"));
    assert_false(spad__is_bare(""));
    assert_false(spad__is_bare("99999999999999999999"));
}

static void recovery_skips_a_statement_and_its_blocks(void **state) {
    (void)state;
    fixture f;
    const char *text = "bad { x { y\n } z }\n } good";
    open_text(&f, text, strlen(text));
    spad__parser_skip_statement(&f.parser);
    assert_int_equal(f.parser.token.kind, SPAD__RIGHT_BRACE); /* not its own */
    spad__parser_skip_statement(&f.parser);
    assert_int_equal(f.parser.token.kind, SPAD__RIGHT_BRACE);
    spad__parser_take(&f.parser);
    assert_true(spad__parser_accept_word(&f.parser, "good"));
    assert_true(spad__parser_end_statement(&f.parser));
    close_text(&f);
    /* a million open blocks cost no stack */
    const size_t depth = 1000000;
    char *deep = malloc(depth);
    memset(deep, '{', depth);
    open_text(&f, deep, depth);
    spad__parser_skip_statement(&f.parser);
    assert_int_equal(f.parser.token.kind, SPAD__END);
    close_text(&f);
    free(deep);
}

/* ---- faults on paper --------------------------------------------------------------- */

/* Writes one fault over [start, start + length) of a text and compares. */
static void check_shown(const char *text, size_t size, size_t start, size_t length,
                        const char *expected) {
    fixture f;
    test_text shown;
    open_text(&f, text, size);
    spad__diagnostics_begin(f.diagnostics, &f.source);
    const spad__span span = {.start = start, .length = length};
    spad__diagnostics_add(f.diagnostics, &f.source, span, "bad");
    test_text_init(&shown);
    assert_int_equal(spad_diagnostics_write(f.diagnostics, SPAD_FORMAT_TEXT, &shown.sink, NULL),
                     SPAD_OK);
    assert_string_equal(shown.bytes, expected);
    test_text_free(&shown);
    close_text(&f);
}

static void faults_are_shown_with_a_caret(void **state) {
    (void)state;
    check_shown("a\nlanes many\nb", 14, 8, 4,
                "t:2:7: error: bad\n"
                "    2 | lanes many\n"
                "      |       ^~~~\n");
    /* a tab goes to the next stop; columns count characters */
    check_shown("\tx\ty\n", 5, 3, 1,
                "t:1:4: error: bad\n"
                "    1 |     x   y\n"
                "      |         ^\n");
    check_shown("\xC3\xA9\xE2\x86\xBB x", 7, 6, 1,
                "t:1:4: error: bad\n"
                "    1 | \xC3\xA9\xE2\x86\xBB x\n"
                "      |    ^\n");
    /* what acts on a terminal is replaced: escape, C1, direction marks, bad bytes */
    check_shown("\x1B[31m \xC2\x9B \xE2\x80\xAE \xFF x", 16, 15, 1,
                "t:1:13: error: bad\n"
                "    1 | \xEF\xBF\xBD[31m \xEF\xBF\xBD \xEF\xBF\xBD \xEF\xBF\xBD x\n"
                "      |             ^\n");
    /* the end of a line, of a line with a carriage return, of the text */
    check_shown("ab\ncd", 5, 2, 1, "t:1:3: error: bad\n    1 | ab\n      |   ^\n");
    check_shown("ab\r\ncd", 6, 3, 1, "t:1:3: error: bad\n    1 | ab\n      |   ^\n");
    check_shown("ab\n", 3, 3, 0, "t:2:1: error: bad\n    2 | \n      | ^\n");
    check_shown("", 0, 0, 0, "t:1:1: error: bad\n    1 | \n      | ^\n");
    /* a fault over several lines is underlined in its first */
    check_shown("ab\ncd", 5, 1, 4, "t:1:2: error: bad\n    1 | ab\n      |  ^\n");
}

static void long_lines_are_cut_around_the_fault(void **state) {
    (void)state;
    enum { LENGTH = 100000 };
    char *text = malloc(LENGTH);
    char expected[512];
    char x[97];
    memset(x, 'x', 96);
    x[96] = '\0';
    memset(text, 'x', LENGTH);
    sprintf(expected, "t:1:1: error: bad\n    1 | %s...\n      | ^~\n", x);
    check_shown(text, LENGTH, 0, 2, expected);
    sprintf(expected, "t:1:5001: error: bad\n    1 | ...%s...\n      | %35s^~\n", x, "");
    check_shown(text, LENGTH, 5000, 2, expected);
    sprintf(expected, "t:1:100000: error: bad\n    1 | ...%s\n      | %98s^\n", x, "");
    check_shown(text, LENGTH, LENGTH - 1, 1, expected);
    sprintf(expected, "t:1:100001: error: bad\n    1 | ...%s\n      | %99s^\n", x, "");
    check_shown(text, LENGTH, LENGTH, 0, expected);
    /* an underline never leaves what is shown */
    sprintf(expected, "t:1:1: error: bad\n    1 | %s...\n      | ^%.95s\n", x,
            "~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~"
            "~~~~~~~~~~~");
    check_shown(text, LENGTH, 0, LENGTH, expected);
    free(text);
}

static void faults_come_in_the_order_of_the_text(void **state) {
    (void)state;
    fixture f;
    spad_error error;
    const char *text = "one two\nthree";
    open_text(&f, text, strlen(text));
    spad__diagnostics_add(f.diagnostics, &f.source, (spad__span){8, 5}, "third");
    spad__diagnostics_add(f.diagnostics, &f.source, (spad__span){4, 3}, "second %d", 2);
    spad__diagnostics_add(f.diagnostics, &f.source, (spad__span){4, 1}, "same place, later");
    spad__diagnostics_add(f.diagnostics, &f.source, (spad__span){0, 3}, "first");
    assert_int_equal(spad__diagnostics_end(f.diagnostics, &error), SPAD_ERR_SYNTAX);
    assert_string_equal(error.message, "first");
    assert_string_equal(error.file, "t");
    assert_int_equal(error.line, 1);
    assert_int_equal(error.column, 1);
    static const char *const order[] = {"first", "second 2", "same place, later", "third"};
    for (size_t i = 0; i < 4; i++) {
        assert_string_equal(spad_diagnostics_get(f.diagnostics, i)->message, order[i]);
    }
    assert_null(spad_diagnostics_get(f.diagnostics, 4));
    for (int i = 0; i < 100; i++) {
        spad__diagnostics_add(f.diagnostics, &f.source, (spad__span){0, 1}, "more");
    }
    assert_int_equal(spad_diagnostics_count(f.diagnostics), SPAD_DIAGNOSTICS_MAX);
    assert_true(spad__diagnostics_full(f.diagnostics));
    close_text(&f);
}

static void faults_can_be_written_as_json(void **state) {
    (void)state;
    fixture f;
    test_text shown;
    open_text(&f, "x", 1);
    spad__diagnostics_add(f.diagnostics, &f.source, (spad__span){0, 1}, "say \"no\"");
    test_text_init(&shown);
    assert_int_equal(spad_diagnostics_write(f.diagnostics, SPAD_FORMAT_JSON, &shown.sink, NULL),
                     SPAD_OK);
    assert_string_equal(shown.bytes, "{\n"
                                     "  \"file\": \"t\",\n"
                                     "  \"faults\": [\n"
                                     "    {\n"
                                     "      \"code\": \"SPAD-SYNTAX\",\n"
                                     "      \"line\": 1,\n"
                                     "      \"column\": 1,\n"
                                     "      \"width\": 1,\n"
                                     "      \"message\": \"say \\\"no\\\"\"\n"
                                     "    }\n"
                                     "  ]\n"
                                     "}\n");
    test_text_clear(&shown);
    shown.fail_after = 5;
    spad_error error;
    assert_int_equal(spad_diagnostics_write(f.diagnostics, SPAD_FORMAT_TEXT, &shown.sink, &error),
                     SPAD_ERR_IO);
    test_text_free(&shown);
    close_text(&f);
    char hint[64];
    spad_close_names(hint, sizeof hint, "plam", (const char *const[]){"plan", "check"}, 2);
    assert_string_equal(hint, "; did you mean 'plan'?");
}

/* ---- text for people --------------------------------------------------------------- */

/* "A" stays; controls, C1 controls, marks of direction, a byte order mark, tags and bytes that are
 * not UTF-8 do not. */
static const struct {
    const char *raw;
    const char *shown;
    const char *json;
} strange[] = {
    {"A", "A", "\"A\""},
    {"\x1b[31m", "?[31m", "\"\\u001b[31m\""},
    {"\x7f", "?", "\"\\u007f\""},
    {"\xc2\x9b", "?", "\"\\u009b\""},
    {"\xe2\x80\xae", "?", "\"\\u202e\""},
    {"\xe2\x81\xa6", "?", "\"\\u2066\""},
    {"\xef\xbb\xbf", "?", "\"\\ufeff\""},
    {"\xf3\xa0\x81\x81", "?", "\"\\udb40\\udc41\""},
    {"\xff\xfe", "??", "\"\xef\xbf\xbd\xef\xbf\xbd\""},
    {"\xc3", "?", "\"\xef\xbf\xbd\""},
    {"a\nb\t", "a?b?", "\"a\\u000ab\\u0009\""},
    {"\xc3\xa9\xe2\x82\xac", "\xc3\xa9\xe2\x82\xac", "\"\xc3\xa9\xe2\x82\xac\""},
};

static void what_acts_on_a_terminal_is_not_shown(void **state) {
    (void)state;
    for (size_t i = 0; i < sizeof strange / sizeof *strange; i++) {
        char text[32];
        spad_error error;
        snprintf(text, sizeof text, "%s", strange[i].raw);
        spad_text_clean(text);
        assert_string_equal(text, strange[i].shown);
        spad__fail(&error, SPAD_ERR_NAME, "no '%s'", strange[i].raw);
        snprintf(text, sizeof text, "no '%s'", strange[i].shown);
        assert_string_equal(error.message, text);
    }
}

static void a_printer_for_people_shows_names_safely(void **state) {
    (void)state;
    test_text shown;
    test_text_init(&shown);
    for (size_t i = 0; i < sizeof strange / sizeof *strange; i++) {
        char wanted[96];
        spad__out out;
        test_text_clear(&shown);
        spad__out_start_text(&out, &shown.sink);
        spad__out_one_line(&out, strange[i].raw);
        spad__out_format(&out, "|%.20s|\n", strange[i].shown);
        spad__out_string(&out, strange[i].shown);
        assert_int_equal(spad__out_finish(&out, NULL), SPAD_OK);
        snprintf(wanted, sizeof wanted, "%s|%s|\n%s", strange[i].shown, strange[i].shown,
                 strange[i].shown);
        assert_string_equal(shown.bytes, wanted);
    }
    test_text_clear(&shown);
    spad__out out;
    spad__out_start_text(&out, &shown.sink);
    spad__out_format(&out, "%s %.1s\n", "\x1b[2J", "\xc3\xa9");
    for (int i = 0; i < 600; i++) spad__out_string(&out, "\xe2\x80\xae"); /* more than a buffer */
    assert_int_equal(spad__out_finish(&out, NULL), SPAD_OK);
    assert_memory_equal(shown.bytes, "?[2J ?\n????", 11);
    assert_int_equal(strlen(shown.bytes), 7 + 600);
    test_text_free(&shown);
}

static void json_escapes_what_acts_on_a_terminal(void **state) {
    (void)state;
    test_text shown;
    test_text_init(&shown);
    for (size_t i = 0; i < sizeof strange / sizeof *strange; i++) {
        spad__out out;
        spad__json json;
        test_text_clear(&shown);
        spad__out_start(&out, &shown.sink);
        spad__json_start(&json, &out);
        spad__json_string(&json, strange[i].raw);
        assert_int_equal(spad__out_finish(&out, NULL), SPAD_OK);
        assert_string_equal(shown.bytes, strange[i].json);
    }
    test_text_free(&shown);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_text_falls_into_tokens),
        cmocka_unit_test(bad_bytes_are_reported_and_reading_goes_on),
        cmocka_unit_test(a_nul_is_a_byte_like_others),
        cmocka_unit_test(strings_lose_their_escapes),
        cmocka_unit_test(quantities_are_exact),
        cmocka_unit_test(decimals_agree_with_an_independent_sum),
        cmocka_unit_test(names_may_be_words_numbers_or_strings),
        cmocka_unit_test(recovery_skips_a_statement_and_its_blocks),
        cmocka_unit_test(faults_are_shown_with_a_caret),
        cmocka_unit_test(long_lines_are_cut_around_the_fault),
        cmocka_unit_test(faults_come_in_the_order_of_the_text),
        cmocka_unit_test(faults_can_be_written_as_json),
        cmocka_unit_test(what_acts_on_a_terminal_is_not_shown),
        cmocka_unit_test(a_printer_for_people_shows_names_safely),
        cmocka_unit_test(json_escapes_what_acts_on_a_terminal),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
