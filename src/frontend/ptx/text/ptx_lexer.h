/* SPDX-License-Identifier: Apache-2.0
 *
 * Reads the characters of a PTX text: blanks, comments, words, strings; and adds diagnostics.
 *
 * The parser asks for what may come next, after blanks and comments; tokens are not kept.
 *
 * Reference: PTX ISA 9.0, 4.1 to 4.4.
 */
#ifndef SPAD_FRONTEND_PTX_LEXER_H
#define SPAD_FRONTEND_PTX_LEXER_H

#include <string.h>

#include "base/diagnostics.h"
#include "base/memory.h"

typedef struct spad__ptx_lexer {
    const spad__source *source;
    spad_diagnostics *diagnostics;
    const char *text;
    size_t length;
    size_t at;
    int32_t line;       /* of `at`, from 1 */
    bool out_of_memory; /* the text cannot be read to its end: `at` is there */
    bool gave_up;       /* after an error that makes the rest meaningless; likewise */
} spad__ptx_lexer;

/* Skips blanks, comments and lines of a preprocessor (#). */
void spad__ptx_skip(spad__ptx_lexer *x);
/* The next character, after a skip; NUL: the end of the text, or such a byte in it. */
char spad__ptx_peek(spad__ptx_lexer *x);
bool spad__ptx_at_end(spad__ptx_lexer *x);
/* Takes the character if it is next. */
bool spad__ptx_take(spad__ptx_lexer *x, char c);
/* The same, with a diagnostic if it is not. */
bool spad__ptx_need(spad__ptx_lexer *x, char c, const char *where);
/* An identifier: letters, digits, '_', '$', '%'. False: none, nothing taken. */
bool spad__ptx_take_name(spad__ptx_lexer *x, spad__span *out);
/* A directive or a suffix, ".shared::cta"; the span is without the dot. */
bool spad__ptx_take_dotted(spad__ptx_lexer *x, spad__span *out);
/* A text in double quotes; the span is what is between them. False: none, or it does not end, with
 * a diagnostic. */
bool spad__ptx_take_string(spad__ptx_lexer *x, spad__span *out);
/* A place to go back to. */
typedef struct spad__ptx_text_place {
    size_t at;
    int32_t line;
} spad__ptx_text_place;
static inline spad__ptx_text_place spad__ptx_here(const spad__ptx_lexer *x) {
    return (spad__ptx_text_place){x->at, x->line};
}
/* After a failure: nothing happens if reading has ended. */
void spad__ptx_go_back(spad__ptx_lexer *x, spad__ptx_text_place mark);
/* Skips a statement: past the next ';', or up to a '}' that closes what was open before it. */
void spad__ptx_skip_statement(spad__ptx_lexer *x);
/* Skips from a '{' past the '}' that closes it; false: it is not closed. */
bool spad__ptx_skip_braces(spad__ptx_lexer *x);
/* Stops reading: nothing else is taken, and the last diagnostic is the last one. */
void spad__ptx_give_up(spad__ptx_lexer *x);
void spad__ptx_out_of_memory(spad__ptx_lexer *x);

void spad__ptx_diagnose(spad__ptx_lexer *x, spad__span span, const char *format, ...)
    SPAD_PRINTF(3, 4);
/* "expected <what>, found <what is next>" */
void spad__ptx_expected(spad__ptx_lexer *x, const char *what);

/* The text from `start` to here, without blanks at its end. */
spad__span spad__ptx_since(const spad__ptx_lexer *x, size_t start);

/* The longest part of a name that a message shows. */
enum { SPAD__PTX_SHOWN = 60 };
static inline int spad__ptx_shown(spad__span span) {
    return span.length < SPAD__PTX_SHOWN ? (int)span.length : SPAD__PTX_SHOWN;
}

static inline bool spad__ptx_is_name_byte(char c) {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_' ||
           c == '$' || c == '%';
}
static inline bool spad__ptx_is_digit(char c) {
    return c >= '0' && c <= '9';
}
static inline const char *spad__ptx_text(const spad__ptx_lexer *x, spad__span span) {
    return x->text + span.start;
}
static inline bool spad__ptx_is(const spad__ptx_lexer *x, spad__span span, const char *word) {
    const size_t length = strlen(word);
    return span.length == length && memcmp(x->text + span.start, word, length) == 0;
}

#endif
