/* SPDX-License-Identifier: Apache-2.0
 *
 * Parsing helpers: expectations, recovery, names and quantities. No recursion:
 * recovery counts the blocks that it skips.
 */
#include "base/parser.h"

#include <stdio.h>
#include <string.h>

#include "base/checked.h"

void spad__parser_start(spad__parser *parser, const spad__source *source,
                        spad_diagnostics *diagnostics, spad__arena *arena) {
    memset(parser, 0, sizeof *parser);
    parser->source = source;
    parser->diagnostics = diagnostics;
    parser->arena = arena;
    spad__lexer_start(&parser->lexer, source, diagnostics);
    parser->last.kind = SPAD__NEWLINE; /* the front of the text is the start of a line */
    parser->token = spad__lexer_next(&parser->lexer);
}

/* ---- tokens ------------------------------------------------------------------------ */

spad__token spad__parser_take(spad__parser *parser) {
    parser->last = parser->token;
    parser->token = spad__lexer_next(&parser->lexer);
    return parser->last;
}

bool spad__parser_accept(spad__parser *parser, spad__token_kind kind) {
    if (parser->token.kind != kind) return false;
    spad__parser_take(parser);
    return true;
}

bool spad__parser_accept_word(spad__parser *parser, const char *word) {
    if (!spad__token_is(parser->source, parser->token, word)) return false;
    spad__parser_take(parser);
    return true;
}

bool spad__parser_expected(spad__parser *parser, const char *what) {
    if (parser->token.kind == SPAD__BAD) return false; /* the lexer has reported it */
    char found[64];
    char last[64];
    spad__token_describe(found, sizeof found, parser->source, parser->token);
    spad__token_describe(last, sizeof last, parser->source, parser->last);
    const bool names_last = parser->last.kind != SPAD__NEWLINE && parser->last.kind != SPAD__BAD;
    spad__diagnostics_add(parser->diagnostics, parser->source, parser->token.span,
                          "expected %s%s%s, found %s", what, names_last ? " after " : "",
                          names_last ? last : "", found);
    return false;
}

bool spad__parser_expect(spad__parser *parser, spad__token_kind kind, const char *what) {
    return spad__parser_accept(parser, kind) || spad__parser_expected(parser, what);
}

bool spad__parser_expect_word(spad__parser *parser, const char *word) {
    if (spad__parser_accept_word(parser, word)) return true;
    char what[64];
    snprintf(what, sizeof what, "'%s'", word);
    return spad__parser_expected(parser, what);
}

/* ---- statements -------------------------------------------------------------------- */

void spad__parser_skip_lines(spad__parser *parser) {
    while (spad__parser_accept(parser, SPAD__NEWLINE)) {
    }
}

bool spad__parser_end_statement(spad__parser *parser) {
    if (spad__parser_accept(parser, SPAD__NEWLINE)) return true;
    if (parser->token.kind == SPAD__RIGHT_BRACE || parser->token.kind == SPAD__END) return true;
    return spad__parser_expected(parser, "the end of the line");
}

void spad__parser_skip_statement(spad__parser *parser) {
    size_t depth = 0; /* blocks opened here; no more than bytes of text */
    while (parser->token.kind != SPAD__END) {
        const spad__token_kind kind = parser->token.kind;
        if (depth == 0 && kind == SPAD__RIGHT_BRACE) return;
        spad__parser_take(parser);
        if (kind == SPAD__LEFT_BRACE) depth++;
        if (kind == SPAD__RIGHT_BRACE) depth--;
        if (depth == 0 && kind == SPAD__NEWLINE) return;
    }
}

/* ---- names and texts --------------------------------------------------------------- */

bool spad__parser_text(spad__parser *parser, const char **text) {
    if (!spad__parser_expect(parser, SPAD__STRING, "a string")) return false;
    *text = spad__string_value(parser->arena, parser->source, parser->last);
    parser->out_of_memory |= *text == NULL;
    return *text != NULL;
}

static bool is_name(const char *name) {
    static const char allowed[] =
        "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_-.";
    const size_t length = strlen(name);
    return length > 0 && length <= SPAD__NAME_MAX && strspn(name, allowed) == length;
}

bool spad__parser_name(spad__parser *parser, const char *what, const char **name) {
    const spad__token token = parser->token;
    if (token.kind == SPAD__STRING) {
        if (!spad__parser_text(parser, name)) return false;
    } else if (token.kind == SPAD__WORD || token.kind == SPAD__NUMBER) {
        spad__parser_take(parser);
        *name = spad__arena_copy(parser->arena, parser->source->text + token.span.start,
                                 token.span.length);
        parser->out_of_memory |= *name == NULL;
        if (*name == NULL) return false;
    } else {
        return spad__parser_expected(parser, what);
    }
    if (is_name(*name)) return true;
    spad__diagnostics_add(parser->diagnostics, parser->source, token.span,
                          "not a name: a name has 1 to %d letters, digits, '_', '-' or '.'",
                          SPAD__NAME_MAX);
    return false;
}

/* ---- quantities -------------------------------------------------------------------- */

#define KIBI INT64_C(1024)

const spad__measure spad__measure_count = {
    .what = "a whole number", .base = "units", .choices = "", .bare = true};
const spad__measure spad__measure_size = {.what = "a size",
                                          .base = "bytes",
                                          .choices = "B, KiB, MiB, GiB or TiB",
                                          .bare = true,
                                          .units = {{"B", 1},
                                                    {"KiB", KIBI},
                                                    {"MiB", KIBI *KIBI},
                                                    {"GiB", KIBI *KIBI *KIBI},
                                                    {"TiB", KIBI *KIBI *KIBI *KIBI}}};
const spad__measure spad__measure_clock = {.what = "a clock",
                                           .base = "kHz",
                                           .choices = "kHz, MHz or GHz",
                                           .units = {{"kHz", 1}, {"MHz", 1000}, {"GHz", 1000000}}};
const spad__measure spad__measure_time = {
    .what = "a time",
    .base = "ns",
    .choices = "ns, us, ms or s",
    .units = {{"ns", 1}, {"us", 1000}, {"ms", 1000000}, {"s", 1000000000}}};
const spad__measure spad__measure_rate = {
    .what = "a rate",
    .base = "bytes per us",
    .choices = "B/us, B/ns, MB/s, GB/s or TB/s",
    .units = {{"B/us", 1}, {"B/ns", 1000}, {"MB/s", 1}, {"GB/s", 1000}, {"TB/s", 1000000}}};
const spad__measure spad__measure_cycles = {.what = "a number of cycles",
                                            .base = "cycles",
                                            .choices = "cycles",
                                            .bare = true,
                                            .units = {{"cycles", 1}, {"cycle", 1}}};

enum { UNITS_MAX = sizeof spad__measure_size.units / sizeof spad__measure_size.units[0] };

/* Takes a unit, "KiB" or "B/ns", into a short field and sets its span. */
static void take_unit(spad__parser *parser, bool quotient, char field[16], spad__span *span) {
    const spad__token first = spad__parser_take(parser);
    *span = first.span;
    if (quotient && parser->token.kind == SPAD__SLASH) {
        spad__parser_take(parser);
        if (parser->token.kind == SPAD__WORD) spad__parser_take(parser);
        *span = spad__span_join(first.span, parser->last.span);
    }
    size_t used = 0;
    for (size_t i = 0; i < span->length && used < 15; i++) { /* blanks around '/' do not count */
        const char c = parser->source->text[span->start + i];
        if (c > ' ') field[used++] = c;
    }
    field[used] = '\0';
}

/* The unit after a number; *factor = 1 if it may be left out and is. Where it
 * may, another word belongs to the statement. */
static bool unit_factor(spad__parser *parser, const spad__measure *measure, int64_t *factor) {
    *factor = 1;
    const char *word = parser->source->text + parser->token.span.start;
    const bool is_word = parser->token.kind == SPAD__WORD && measure->units[0].name != NULL;
    if (measure->bare && !(is_word && spad__is_unit(word, parser->token.span.length))) return true;
    if (!is_word) {
        char what[64];
        snprintf(what, sizeof what, "a unit (%s)", measure->choices);
        return spad__parser_expected(parser, what);
    }
    char name[16];
    spad__span span;
    take_unit(parser, strchr(measure->units[0].name, '/') != NULL, name, &span);
    for (int i = 0; i < UNITS_MAX && measure->units[i].name != NULL; i++) {
        *factor = measure->units[i].factor;
        if (strcmp(measure->units[i].name, name) == 0) return true;
    }
    spad__diagnostics_add(parser->diagnostics, parser->source, span,
                          "'%s' is not a unit of %s; use %s", name, measure->what,
                          measure->choices);
    return false;
}

/* digits x factor / 10^scale. The factor is freed of the twos and fives of the
 * power of ten first, so that only a result that is too large overflows. */
static bool scale_exactly(spad__token number, int64_t factor, int64_t *value, bool *whole) {
    int64_t twos = number.scale;
    int64_t fives = number.scale;
    for (; twos > 0 && factor % 2 == 0; twos--) factor /= 2;
    for (; fives > 0 && factor % 5 == 0; fives--) factor /= 5;
    int64_t digits = number.digits;
    for (; twos > 0 && digits % 2 == 0; twos--) digits /= 2;
    for (; fives > 0 && digits % 5 == 0; fives--) digits /= 5;
    *whole = twos == 0 && fives == 0;
    return spad__mul(digits, factor, value);
}

bool spad__parser_quantity(spad__parser *parser, const spad__measure *measure, int64_t *value,
                           spad__span *span) {
    if (!spad__parser_expect(parser, SPAD__NUMBER, measure->what)) return false;
    const spad__token number = parser->last;
    int64_t factor;
    if (!unit_factor(parser, measure, &factor)) return false;
    *span = spad__span_join(number.span, parser->last.span);
    bool whole;
    const bool fits = scale_exactly(number, factor, value, &whole);
    if (!whole) {
        char shown[64];
        spad__token_describe(shown, sizeof shown, parser->source,
                             (spad__token){.kind = SPAD__NUMBER, .span = *span});
        spad__diagnostics_add(parser->diagnostics, parser->source, *span,
                              "%s is not a whole number of %s", shown, measure->base);
    } else if (!fits) {
        spad__diagnostics_add(parser->diagnostics, parser->source, *span,
                              "%s too large: it does not fit 64 bits", measure->what);
    }
    return whole && fits;
}
