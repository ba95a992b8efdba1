/* SPDX-License-Identifier: Apache-2.0
 *
 * Reads the characters of a PTX text. Each byte is read a bounded number of times.
 *
 * Reference: PTX ISA 9.0, 4.1 to 4.4.
 */
#include "frontend/ptx/text/ptx_lexer.h"

#include <stdarg.h>
#include <stdio.h>

void spad__ptx_diagnose(spad__ptx_lexer *x, spad__span span, const char *format, ...) {
    if (x->gave_up || x->out_of_memory) return;
    char message[SPAD_MESSAGE_MAX];
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(message, sizeof message, format, arguments);
    va_end(arguments);
    spad__diagnostics_add(x->diagnostics, x->source, span, "%s", message);
    if (spad__diagnostics_full(x->diagnostics)) spad__ptx_give_up(x);
}

void spad__ptx_give_up(spad__ptx_lexer *x) {
    x->gave_up = true;
    x->at = x->length;
}

void spad__ptx_out_of_memory(spad__ptx_lexer *x) {
    x->out_of_memory = true;
    x->at = x->length;
}

void spad__ptx_go_back(spad__ptx_lexer *x, spad__ptx_text_place mark) {
    if (x->gave_up || x->out_of_memory) return;
    x->at = mark.at;
    x->line = mark.line;
}

/* Past a comment that starts at `at`; one that does not end takes the rest. */
static void ptx_skip_comment(spad__ptx_lexer *x) {
    const size_t start = x->at;
    for (x->at += 2; x->at < x->length; x->at++) {
        if (x->text[x->at] == '\n') x->line++;
        if (x->text[x->at] != '*') continue;
        if (x->at + 1 < x->length && x->text[x->at + 1] == '/') {
            x->at += 2;
            return;
        }
    }
    spad__ptx_diagnose(x, (spad__span){start, 2}, "this comment has no end; write */ after it");
}

static void ptx_skip_line(spad__ptx_lexer *x) {
    const char *end = memchr(x->text + x->at, '\n', x->length - x->at);
    x->at = end != NULL ? (size_t)(end - x->text) : x->length;
}

void spad__ptx_skip(spad__ptx_lexer *x) {
    while (x->at < x->length) {
        const char c = x->text[x->at];
        const char next = x->at + 1 < x->length ? x->text[x->at + 1] : '\0';
        if (c == '\n') {
            x->line++;
            x->at++;
        } else if (c == ' ' || (c >= '\t' && c <= '\r')) {
            x->at++;
        } else if (c == '#' || (c == '/' && next == '/') || (c == '@' && next == '@')) {
            ptx_skip_line(x); /* "@@DWARF" is the debug data of old versions */
        } else if (c == '/' && next == '*') {
            ptx_skip_comment(x);
        } else {
            return;
        }
    }
}

char spad__ptx_peek(spad__ptx_lexer *x) {
    spad__ptx_skip(x);
    return x->at < x->length ? x->text[x->at] : '\0';
}

bool spad__ptx_at_end(spad__ptx_lexer *x) {
    spad__ptx_skip(x);
    return x->at >= x->length;
}

bool spad__ptx_take(spad__ptx_lexer *x, char c) {
    spad__ptx_skip(x);
    if (x->at >= x->length || x->text[x->at] != c) return false;
    x->at++;
    return true;
}

bool spad__ptx_need(spad__ptx_lexer *x, char c, const char *where) {
    if (spad__ptx_take(x, c)) return true;
    char what[80];
    snprintf(what, sizeof what, "'%c' %s", c, where);
    spad__ptx_expected(x, what);
    return false;
}

static size_t ptx_name_end(const spad__ptx_lexer *x, size_t at) {
    while (at < x->length && spad__ptx_is_name_byte(x->text[at])) at++;
    return at;
}

bool spad__ptx_take_name(spad__ptx_lexer *x, spad__span *out) {
    spad__ptx_skip(x);
    if (x->at >= x->length || spad__ptx_is_digit(x->text[x->at])) return false;
    const size_t end = ptx_name_end(x, x->at);
    if (end == x->at) return false;
    *out = (spad__span){x->at, end - x->at};
    x->at = end;
    return true;
}

bool spad__ptx_take_dotted(spad__ptx_lexer *x, spad__span *out) {
    if (spad__ptx_peek(x) != '.') return false;
    const size_t start = x->at + 1;
    size_t end = ptx_name_end(x, start);
    if (end == start) return false;
    while (end + 2 < x->length && x->text[end] == ':' && x->text[end + 1] == ':') {
        const size_t more = ptx_name_end(x, end + 2);
        if (more == end + 2) break;
        end = more;
    }
    *out = (spad__span){start, end - start};
    x->at = end;
    return true;
}

bool spad__ptx_take_string(spad__ptx_lexer *x, spad__span *out) {
    spad__ptx_skip(x);
    const size_t quote = x->at;
    if (!spad__ptx_take(x, '"')) {
        spad__ptx_expected(x, "a text in double quotes");
        return false;
    }
    const size_t start = x->at;
    while (x->at < x->length && x->text[x->at] != '"' && x->text[x->at] != '\n') {
        x->at +=
            x->text[x->at] == '\\' && x->at + 1 < x->length && x->text[x->at + 1] != '\n' ? 2 : 1;
    }
    if (x->at >= x->length || x->text[x->at] != '"') {
        if (x->at > x->length) x->at = x->length;
        spad__ptx_diagnose(x, (spad__span){quote, 1},
                           "this text in quotes has no end; write \" after it, on the same line");
        return false;
    }
    *out = (spad__span){start, x->at - start};
    x->at++;
    return true;
}

/* Takes one item that may hide a ';' or a brace: a string, or a single character. */
static char ptx_skip_item(spad__ptx_lexer *x) {
    const char c = spad__ptx_peek(x);
    if (x->at >= x->length) return '\0';
    x->at++;
    if (c != '"') return c;
    while (x->at < x->length && x->text[x->at] != '"' && x->text[x->at] != '\n') x->at++;
    if (x->at < x->length && x->text[x->at] == '"') x->at++;
    return c;
}

void spad__ptx_skip_statement(spad__ptx_lexer *x) {
    size_t open = 0;
    while (!spad__ptx_at_end(x)) {
        if (open == 0 && x->text[x->at] == '}') return;
        const char c = ptx_skip_item(x);
        if (c == ';') return;
        if (c == '{') open++;
        if (c == '}') open--;
    }
}

bool spad__ptx_skip_braces(spad__ptx_lexer *x) {
    size_t open = 0;
    while (!spad__ptx_at_end(x)) {
        const char c = ptx_skip_item(x);
        if (c == '{') open++;
        if (c == '}' && open > 0) open--;
        if (open == 0) return true;
    }
    return false;
}

spad__span spad__ptx_since(const spad__ptx_lexer *x, size_t start) {
    size_t end = x->at;
    while (end > start && strchr(" \t\r\n", x->text[end - 1]) != NULL) end--;
    return (spad__span){start, end - start};
}

/* The bytes that stand for the next token in a message. */
static spad__span ptx_next_token(const spad__ptx_lexer *x) {
    size_t end = x->at;
    if (x->text[end] == '.') end++;
    end = ptx_name_end(x, end);
    if (end == x->at) end++;
    return (spad__span){x->at, end - x->at};
}

void spad__ptx_expected(spad__ptx_lexer *x, const char *what) {
    if (spad__ptx_at_end(x)) {
        spad__ptx_diagnose(x, (spad__span){x->length, 0}, "expected %s, found the end of the text",
                           what);
        return;
    }
    const spad__span found = ptx_next_token(x);
    const unsigned char c = (unsigned char)x->text[x->at];
    if (c < 0x20 || c >= 0x7f) {
        spad__ptx_diagnose(x, found, "expected %s, found the byte 0x%02x", what, c);
    } else {
        spad__ptx_diagnose(x, found, "expected %s, found '%.*s'", what, spad__ptx_shown(found),
                           spad__ptx_text(x, found));
    }
}
