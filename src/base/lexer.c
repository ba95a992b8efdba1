/* SPDX-License-Identifier: Apache-2.0
 *
 * The lexer. One pass, no allocation, no recursion: a token is a span of the
 * text, found with at most two bytes of look-ahead. Cost: linear.
 *
 * A run of letters and digits is a number if it reads as one, else a word, so
 * that chips may be called 910b or 2080ti. A unit may touch its number: 32KiB
 * is a number and a word.
 *
 * Every byte that is neither in a string nor in a comment is printable ASCII or
 * a blank; anything else is an error. A run of bad bytes gives one diagnostic.
 */
#include "base/lexer.h"

#include <stdio.h>
#include <string.h>

#include "base/assert.h"
#include "base/checked.h"
#include "base/text.h"

static const struct {
    const char *spelling;
    spad__token_kind kind;
} punctuation[] = {
#define PUNCTUATION_ROW(name, text) {text, SPAD__##name},
    SPAD__PUNCTUATION(PUNCTUATION_ROW)
#undef PUNCTUATION_ROW
};

enum { PUNCTUATION_COUNT = sizeof punctuation / sizeof punctuation[0] };

static bool is_digit(char c) {
    return c >= '0' && c <= '9';
}

static bool is_word(char c) {
    return is_digit(c) || (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_';
}

static bool is_blank(char c) {
    return c == ' ' || c == '\t' || c == '\r';
}

/* The byte at an offset from here; NUL after the end. */
static char peek(const spad__lexer *lexer, size_t offset) {
    spad__assert(lexer->at <= lexer->source->length);
    const size_t left = lexer->source->length - lexer->at;
    return offset < left ? lexer->source->text[lexer->at + offset] : '\0';
}

static bool at_end(const spad__lexer *lexer) {
    return lexer->at == lexer->source->length;
}

void spad__lexer_start(spad__lexer *lexer, const spad__source *source,
                       spad_diagnostics *diagnostics) {
    lexer->source = source;
    lexer->diagnostics = diagnostics;
    lexer->at = spad__mark_bytes(source->text, source->length);
}

/* ---- numbers ----------------------------------------------------------------------- */

bool spad__is_unit(const char *text, size_t length) {
    static const char *const units[] = {"B",  "KiB", "MiB", "GiB", "TiB",   "KB",
                                        "MB", "GB",  "TB",  "kHz", "MHz",   "GHz",
                                        "ns", "us",  "ms",  "s",   "cycle", "cycles"};
    for (size_t i = 0; i < sizeof units / sizeof units[0]; i++) {
        if (strlen(units[i]) == length && memcmp(units[i], text, length) == 0) return true;
    }
    return false;
}

static int digit_value(char c) {
    if (is_digit(c)) return c - '0';
    if (c >= 'a' && c <= 'f') return c - 'a' + 10;
    if (c >= 'A' && c <= 'F') return c - 'A' + 10;
    return 16;
}

/* Bytes of the digits of a base at `text`, with '_' between two of them. */
static size_t digits_length(const char *text, size_t length, int base) {
    size_t end = 0;
    while (end < length) {
        const bool separates = text[end] == '_' && end > 0 && end + 1 < length &&
                               text[end - 1] != '_' && digit_value(text[end + 1]) < base;
        if (!separates && digit_value(text[end]) >= base) break;
        end++;
    }
    return end;
}

/* *value = *value * base^n + digits; false: does not fit. */
static bool add_digits(const char *text, size_t length, int base, int64_t *value) {
    spad__assert(base == 10 || base == 16);
    for (size_t i = 0; i < length; i++) {
        if (text[i] == '_') continue;
        if (!spad__mul(*value, base, value)) return false;
        if (!spad__add(*value, digit_value(text[i]), value)) return false;
    }
    return true;
}

/* A whole run of word characters that starts with a digit. Returns the bytes
 * of the number at its start, or 0 if the run is a word. */
static size_t whole_number(const char *run, size_t length, int64_t *value, bool *fits) {
    const bool hex = length > 2 && run[0] == '0' && (run[1] == 'x' || run[1] == 'X');
    const size_t prefix = hex ? 2 : 0;
    const int base = hex ? 16 : 10;
    const size_t digits = digits_length(run + prefix, length - prefix, base);
    const size_t end = prefix + digits;
    if (digits == 0) return 0;
    if (end < length && (hex || !spad__is_unit(run + end, length - end))) return 0;
    *value = 0;
    *fits = add_digits(run + prefix, digits, base, value);
    return end;
}

/* The fraction after a whole number, if there is one: a point and digits.
 * Trailing zeros are left out of the value. */
static bool fraction(spad__lexer *lexer, spad__token *token) {
    if (peek(lexer, 0) != '.' || !is_digit(peek(lexer, 1))) return true;
    const char *digits = lexer->source->text + lexer->at + 1;
    size_t length = 0;
    while (is_digit(peek(lexer, 1 + length))) length++;
    lexer->at += 1 + length;
    while (length > 0 && digits[length - 1] == '0') length--;
    if (length > 18) return false; /* 10^18 is the largest power of ten that fits */
    token->scale = (int)length;
    return add_digits(digits, length, 10, &token->digits);
}

static spad__token word_or_number(spad__lexer *lexer) {
    const char *run = lexer->source->text + lexer->at;
    size_t length = 0;
    while (is_word(peek(lexer, length))) length++;
    spad__token token = {.kind = SPAD__WORD, .span.start = lexer->at};
    bool fits = true;
    const size_t number = is_digit(*run) ? whole_number(run, length, &token.digits, &fits) : 0;
    lexer->at += number > 0 ? number : length;
    if (number > 0) {
        token.kind = SPAD__NUMBER;
        const bool exact = fraction(lexer, &token);
        fits = fits && exact;
    }
    token.span.length = lexer->at - token.span.start;
    if (!fits) {
        token.kind = SPAD__BAD;
        spad__diagnostics_add(lexer->diagnostics, lexer->source, token.span,
                              "too many digits: the number does not fit 64 bits");
    }
    return token;
}

/* ---- strings ----------------------------------------------------------------------- */

/* The character of the escape after a backslash: \" \\ \n \t, and \x01 to
 * \x7f. Returns its bytes, or 0 for a bad one. */
static size_t escape(const char *text, size_t length, char *out) {
    static const char names[] = "\"\\nt";
    static const char values[] = "\"\\\n\t";
    if (length == 0) return 0;
    const char *name = text[0] != '\0' ? strchr(names, text[0]) : NULL;
    if (name != NULL) {
        *out = values[name - names];
        return 1;
    }
    if (text[0] != 'x' || length < 3) return 0;
    if (digit_value(text[1]) > 7 || digit_value(text[2]) > 15) return 0;
    *out = (char)(digit_value(text[1]) * 16 + digit_value(text[2]));
    return *out != '\0' ? 3 : 0;
}

/* Takes one character of a string; false, with a diagnostic, for a bad one. */
static bool string_character(spad__lexer *lexer) {
    const char *text = lexer->source->text + lexer->at;
    const size_t left = lexer->source->length - lexer->at;
    char unused;
    if (*text == '\\') {
        const size_t size = escape(text + 1, left - 1, &unused);
        const spad__span span = {.start = lexer->at, .length = size == 0 ? 2 : size + 1};
        /* A bad escape takes its backslash and, unless the line ends, one byte. */
        const bool line_ends = left < 2 || text[1] == '\n';
        lexer->at += size == 0 && line_ends ? 1 : span.length;
        if (size != 0) return true;
        spad__diagnostics_add(lexer->diagnostics, lexer->source, span,
                              "unknown escape in a string; "
                              "there are \\\" \\\\ \\n \\t and \\x01 to \\x7f");
        return false;
    }
    const size_t size = spad__utf8_length(text, left);
    const unsigned char c = (unsigned char)*text;
    const spad__span span = {.start = lexer->at, .length = 1};
    const uint32_t code = size > 0 ? spad__utf8_decode(text, size) : 0;
    lexer->at += size == 0 ? 1 : size;
    if (size != 0 && (c == '\t' || !spad__is_hidden(code))) return true;
    if (size > 1) {
        spad__diagnostics_add(lexer->diagnostics, lexer->source, span,
                              "character U+%04X in a string is invisible; remove it",
                              (unsigned)code);
    } else if (size == 0) {
        spad__diagnostics_add(lexer->diagnostics, lexer->source, span,
                              "byte 0x%02x in a string is not UTF-8", c);
    } else {
        spad__diagnostics_add(lexer->diagnostics, lexer->source, span,
                              "control character 0x%02x in a string; write an escape", c);
    }
    return false;
}

static spad__token string(spad__lexer *lexer) {
    spad__token token = {.kind = SPAD__STRING, .span.start = lexer->at};
    bool good = true;
    lexer->at++;
    while (!at_end(lexer) && peek(lexer, 0) != '"' && peek(lexer, 0) != '\n') {
        const bool fine = string_character(lexer);
        good = good && fine;
    }
    const bool closed = !at_end(lexer) && peek(lexer, 0) == '"';
    if (closed) lexer->at++;
    token.span.length = lexer->at - token.span.start;
    if (!closed) {
        spad__diagnostics_add(lexer->diagnostics, lexer->source, token.span,
                              "string without its closing quote; it must end on the same line");
    }
    if (!good || !closed) token.kind = SPAD__BAD;
    return token;
}

char *spad__string_value(spad__arena *arena, const spad__source *source, spad__token token) {
    const char *text = source->text + token.span.start + 1;
    const size_t length = token.span.length - 2; /* the quotes */
    char *value = spad__arena_new(arena, length + 1);
    if (value == NULL) return NULL;
    size_t used = 0;
    for (size_t at = 0; at < length; used++) {
        if (text[at] == '\\') {
            at += 1 + escape(text + at + 1, length - at - 1, &value[used]);
        } else {
            value[used] = text[at++];
        }
    }
    return value; /* the arena zeroed what is after it */
}

/* ---- the rest ---------------------------------------------------------------------- */

static void skip_blanks_and_comments(spad__lexer *lexer) {
    while (is_blank(peek(lexer, 0))) lexer->at++;
    if (peek(lexer, 0) != '#') return;
    while (!at_end(lexer) && peek(lexer, 0) != '\n') lexer->at++;
}

/* True for a byte that no token starts with. */
static bool is_bad(char c) {
    if (is_word(c) || is_blank(c) || c == '\n' || c == ';' || c == '"' || c == '#') return false;
    for (size_t i = 0; i < PUNCTUATION_COUNT; i++) {
        if (punctuation[i].spelling[0] == c) return false;
    }
    return true;
}

/* Reports and skips a run of bytes that start no token, of which there is at
 * least one. A '.' or '!' alone is one as well. */
static void skip_bad(spad__lexer *lexer) {
    const char *text = lexer->source->text + lexer->at;
    const size_t left = lexer->source->length - lexer->at;
    const size_t size = spad__utf8_length(text, left);
    size_t run = size == 0 ? 1 : size;
    while (run < left && is_bad(text[run])) run++;
    const spad__span span = {.start = lexer->at, .length = run};
    lexer->at += run;
    const unsigned char c = (unsigned char)*text;
    if (size > 0 && !spad__is_harmful(text, size)) {
        spad__diagnostics_add(lexer->diagnostics, lexer->source, span,
                              "unexpected character '%.*s'", (int)size, text);
    } else {
        spad__diagnostics_add(lexer->diagnostics, lexer->source, span, "unexpected byte 0x%02x", c);
    }
}

static bool match_punctuation(spad__lexer *lexer, spad__token *token) {
    const size_t left = lexer->source->length - lexer->at;
    const char *text = lexer->source->text + lexer->at;
    for (size_t i = 0; i < PUNCTUATION_COUNT; i++) {
        const char *spelling = punctuation[i].spelling;
        if (spelling[0] != *text) continue;
        const size_t length = strlen(spelling);
        if (length > left || memcmp(text, spelling, length) != 0) continue;
        *token = (spad__token){.kind = punctuation[i].kind,
                               .span = {.start = lexer->at, .length = length}};
        lexer->at += length;
        return true;
    }
    return false;
}

spad__token spad__lexer_next(spad__lexer *lexer) {
    for (;;) {
        skip_blanks_and_comments(lexer);
        if (at_end(lexer)) {
            return (spad__token){.kind = SPAD__END, .span = {.start = lexer->at, .length = 0}};
        }
        const char c = peek(lexer, 0);
        if (c == '\n' || c == ';') {
            lexer->at++;
            return (spad__token){.kind = SPAD__NEWLINE,
                                 .span = {.start = lexer->at - 1, .length = 1}};
        }
        if (is_word(c)) return word_or_number(lexer);
        if (c == '"') return string(lexer);
        spad__token token;
        if (match_punctuation(lexer, &token)) return token;
        skip_bad(lexer);
    }
}

bool spad__is_bare(const char *text) {
    size_t length = 0;
    while (is_word(text[length])) length++;
    if (length == 0 || text[length] != '\0') return false;
    int64_t value;
    bool fits = true;
    const size_t number = is_digit(*text) ? whole_number(text, length, &value, &fits) : 0;
    return number == 0 || (number == length && fits);
}

/* ---- writing ----------------------------------------------------------------------- */

void spad__out_quoted(spad__out *out, const char *text) {
    spad__out_quoted_as(out, text, "\\x");
}

void spad__out_name(spad__out *out, const char *name) {
    if (spad__is_bare(name)) {
        spad__out_string(out, name);
    } else {
        spad__out_quoted(out, name);
    }
}

/* ---- tokens in messages ------------------------------------------------------------ */

void spad__token_describe(char *field, size_t size, const spad__source *source, spad__token token) {
    enum { SHOWN = 40 }; /* bytes of a token that a message repeats */
    const char *text = source->text + token.span.start;
    if (token.kind == SPAD__END) {
        spad__copy_cut(field, size, "the end of the file");
    } else if (token.kind == SPAD__NEWLINE) {
        spad__copy_cut(field, size, *text == ';' ? "';'" : "the end of the line");
    } else if (token.kind == SPAD__STRING) {
        spad__copy_cut(field, size, "a string"); /* what is in it may be anything */
    } else {
        char shown[SHOWN + 1];
        const size_t kept = token.span.length < SHOWN ? token.span.length : SHOWN;
        memcpy(shown, text, kept);
        shown[kept] = '\0';
        char cut[SHOWN - 4]; /* so that a long one ends in dots */
        spad__copy_cut(cut, sizeof cut, shown);
        snprintf(field, size, "'%s'", cut);
    }
}

bool spad__token_is(const spad__source *source, spad__token token, const char *word) {
    return token.kind == SPAD__WORD && strlen(word) == token.span.length &&
           memcmp(source->text + token.span.start, word, token.span.length) == 0;
}
