/* SPDX-License-Identifier: Apache-2.0
 *
 * The tokens of MLIR. O(length); every token is at least one character, so their number is bounded
 * by that of the text.
 */
#include <string.h>

#include "base/checked.h"
#include "base/text.h"
#include "frontend/mlir/mlir.h"

typedef struct spad__mlir_scan {
    spad__mlir *m;
    const char *text;
    uint32_t at;
    uint32_t length;
    int32_t line;
    bool fresh;
} spad__mlir_scan;

static bool lex_is_digit(char c) {
    return c >= '0' && c <= '9';
}

static bool lex_is_letter(char c) {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_';
}

static bool in_word(char c) {
    return lex_is_letter(c) || lex_is_digit(c) || c == '.' || c == '$';
}

static char lex_peek(const spad__mlir_scan *s, uint32_t ahead) {
    return s->at + ahead < s->length ? s->text[s->at + ahead] : '\0';
}

/* Blanks, comments and what a printer keeps at the end of a file for tools: {-# ... #-} */
static void skip_blanks(spad__mlir_scan *s) {
    bool resources = false;
    while (s->at < s->length) {
        const char c = s->text[s->at];
        if (c == '\n') {
            s->line++;
            s->fresh = true;
            s->at++;
        } else if (resources) {
            if (c == '#' && lex_peek(s, 1) == '-' && lex_peek(s, 2) == '}') {
                resources = false;
                s->at += 2;
            }
            s->at++;
        } else if (c == ' ' || c == '\t' || c == '\r') {
            s->at++;
        } else if (c == '/' && lex_peek(s, 1) == '/') {
            while (s->at < s->length && s->text[s->at] != '\n') s->at++;
        } else if (c == '{' && lex_peek(s, 1) == '-' && lex_peek(s, 2) == '#') {
            resources = true;
            s->at += 3;
        } else {
            return;
        }
    }
}

static void scan_word(spad__mlir_scan *s) {
    while (s->at < s->length && in_word(s->text[s->at])) s->at++;
}

/* 0.0e+00: a sign belongs to it after the e of a number with a point. */
static void scan_number(spad__mlir_scan *s) {
    bool point = false;
    while (s->at < s->length) {
        const char c = s->text[s->at];
        const bool sign = (c == '+' || c == '-') && point &&
                          (s->text[s->at - 1] == 'e' || s->text[s->at - 1] == 'E');
        if (!in_word(c) && !sign) return;
        point = point || c == '.';
        s->at++;
    }
}

/* False: it does not end on its line. */
static bool scan_string(spad__mlir_scan *s) {
    s->at++;
    while (s->at < s->length && s->text[s->at] != '\n') {
        const char c = s->text[s->at++];
        if (c == '"') return true;
        if (c == '\\' && s->at < s->length && s->text[s->at] != '\n') s->at++;
    }
    return false;
}

static void scan_value(spad__mlir_scan *s, spad__mlir_token *token) {
    s->at++;
    while (s->at < s->length && (in_word(s->text[s->at]) || s->text[s->at] == '-')) {
        if (s->text[s->at] == '-' && lex_peek(s, 1) == '>') break;
        s->at++;
    }
    token->length = s->at - token->start;
    if (lex_peek(s, 0) != '#' || !lex_is_digit(lex_peek(s, 1))) return;
    s->at++;
    while (s->at < s->length && lex_is_digit(s->text[s->at])) {
        if (token->part < INT32_MAX / 16) token->part = token->part * 10 + (s->text[s->at] - '0');
        s->at++;
    }
}

static void scan_prefixed(spad__mlir_scan *s) {
    s->at++;
    scan_word(s);
}

static void scan_mark(spad__mlir_scan *s, spad__mlir_token *token) {
    token->arrow = s->text[s->at] == '-' && lex_peek(s, 1) == '>';
    s->at += token->arrow ? 2 : 1;
    token->mark = s->text[s->at - 1];
}

static spad__mlir_token scan_token(spad__mlir_scan *s) {
    spad__mlir_token token = {
        .start = s->at, .line = s->line, .fresh = s->fresh, .kind = SPAD__MLIR_MARK};
    const char c = s->text[s->at];
    s->fresh = false;
    if (lex_is_letter(c)) {
        token.kind = SPAD__MLIR_WORD;
        scan_word(s);
    } else if (lex_is_digit(c) || (c == '-' && lex_is_digit(lex_peek(s, 1)))) {
        token.kind = SPAD__MLIR_NUMBER;
        s->at++;
        scan_number(s);
    } else if (c == '"' || (c == '@' && lex_peek(s, 1) == '"')) {
        token.kind = c == '"' ? SPAD__MLIR_STRING : SPAD__MLIR_SYMBOL; /* @"a name, (2,)" */
        if (c == '@') s->at++;
        if (!scan_string(s)) {
            const spad__span span = {token.start, s->at - token.start};
            spad__diagnostics_add(s->m->diagnostics, s->m->source, span,
                                  "a string that does not end on its line");
        }
    } else if (c == '%') {
        token.kind = SPAD__MLIR_VALUE;
        scan_value(s, &token);
        return token;
    } else if (c == '#' || c == '!' || c == '@' || c == '^') {
        token.kind = c == '#'   ? SPAD__MLIR_ALIAS
                     : c == '!' ? SPAD__MLIR_TYPE
                     : c == '@' ? SPAD__MLIR_SYMBOL
                                : SPAD__MLIR_BLOCK;
        scan_prefixed(s);
    } else {
        scan_mark(s, &token);
    }
    token.length = s->at - token.start;
    return token;
}

bool spad__mlir_split(spad__mlir *m) {
    spad__mlir_scan s = {.m = m,
                         .text = m->source->text,
                         .length = (uint32_t)m->source->length,
                         .at = (uint32_t)spad__mark_bytes(m->source->text, m->source->length),
                         .line = 1,
                         .fresh = true};
    for (;;) {
        skip_blanks(&s);
        if (!spad__array_reserve(m->host, &m->tokens, 1)) return false;
        if (s.at >= s.length) break;
        m->tokens.items[m->tokens.count++] = scan_token(&s);
    }
    m->tokens.items[m->tokens.count++] =
        (spad__mlir_token){.start = s.length, .line = s.line, .fresh = true};
    return true;
}

/* ---- tokens ------------------------------------------------------------------------ */

spad__span spad__mlir_span(const spad__mlir *m, uint32_t token) {
    const spad__mlir_token *t = &m->tokens.items[token];
    return (spad__span){t->start, t->length};
}

const char *spad__mlir_text(const spad__mlir *m, uint32_t token) {
    return m->source->text + m->tokens.items[token].start;
}

bool spad__mlir_is(const spad__mlir *m, uint32_t token, const char *text) {
    const spad__mlir_token *t = &m->tokens.items[token];
    return strlen(text) == t->length && memcmp(m->source->text + t->start, text, t->length) == 0;
}

bool spad__mlir_same(const spad__mlir *m, uint32_t a, uint32_t b) {
    return m->tokens.items[a].length == m->tokens.items[b].length &&
           memcmp(spad__mlir_text(m, a), spad__mlir_text(m, b), m->tokens.items[a].length) == 0;
}

bool spad__mlir_is_mark(const spad__mlir *m, uint32_t token, char mark) {
    const spad__mlir_token *t = &m->tokens.items[token];
    return t->kind == SPAD__MLIR_MARK && t->mark == mark && !t->arrow;
}

bool spad__mlir_number(const spad__mlir *m, uint32_t token, int64_t *out) {
    const spad__mlir_token *t = &m->tokens.items[token];
    const char *text = m->source->text + t->start;
    const bool below = t->kind == SPAD__MLIR_NUMBER && text[0] == '-';
    int64_t value = 0;
    if (t->kind == SPAD__MLIR_WORD) {
        if (spad__mlir_is(m, token, "true")) value = 1;
        *out = value;
        return value == 1 || spad__mlir_is(m, token, "false");
    }
    if (t->kind != SPAD__MLIR_NUMBER) return false;
    for (uint32_t i = below ? 1 : 0; i < t->length; i++) {
        if (!lex_is_digit(text[i])) return false;
        if (!spad__mul(value, 10, &value) || !spad__add(value, text[i] - '0', &value)) return false;
    }
    *out = below ? -value : value;
    return true;
}

int32_t spad__mlir_column(const spad__mlir *m, uint32_t token) {
    const uint32_t start = m->tokens.items[token].start;
    uint32_t begin = start;
    while (begin > 0 && m->source->text[begin - 1] != '\n') begin--;
    return (int32_t)(start - begin) + 1;
}
