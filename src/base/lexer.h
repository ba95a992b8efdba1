/* SPDX-License-Identifier: Apache-2.0
 *
 * The words of the languages of spad: target files and kernels are read with
 * the same lexer and the same parsing helpers (base/parser.h).
 */
#ifndef SPAD_BASE_LEXER_H
#define SPAD_BASE_LEXER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/diagnostics.h"
#include "base/memory.h"
#include "base/text.h"

/* X(name, spelling): longer ones in front of those they start with. */
#define SPAD__PUNCTUATION(X)  \
    X(RANGE, "..")            \
    X(LESS_EQUAL, "<=")       \
    X(GREATER_EQUAL, ">=")    \
    X(EQUAL_EQUAL, "==")      \
    X(NOT_EQUAL, "!=")        \
    X(LEFT_BRACE, "{")        \
    X(RIGHT_BRACE, "}")       \
    X(LEFT_PARENTHESIS, "(")  \
    X(RIGHT_PARENTHESIS, ")") \
    X(LEFT_BRACKET, "[")      \
    X(RIGHT_BRACKET, "]")     \
    X(COMMA, ",")             \
    X(COLON, ":")             \
    X(EQUAL, "=")             \
    X(PLUS, "+")              \
    X(MINUS, "-")             \
    X(STAR, "*")              \
    X(SLASH, "/")             \
    X(PERCENT, "%")           \
    X(LESS, "<")              \
    X(GREATER, ">")

typedef enum spad__token_kind {
    SPAD__END,     /* of the text */
    SPAD__NEWLINE, /* end of a statement: a line end or ';' */
    SPAD__WORD,    /* letters, digits, '_'; may start with a digit: 910b */
    SPAD__NUMBER,  /* 128, 1_000, 0x80, 2.8 */
    SPAD__STRING,  /* "text", with escapes */
    SPAD__BAD,     /* an invalid number or string, already reported */
#define SPAD__TOKEN_ENUM(name, spelling) SPAD__##name,
    SPAD__PUNCTUATION(SPAD__TOKEN_ENUM)
#undef SPAD__TOKEN_ENUM
        SPAD__TOKEN_KINDS
} spad__token_kind;

/* A number with a point is digits / 10^scale: 2.8 is 28 with scale 1. Zeros at
 * the end of a fraction do not count, so a whole number has scale 0. */
typedef struct spad__token {
    spad__token_kind kind;
    spad__span span;
    int64_t digits; /* SPAD__NUMBER */
    int scale;      /* SPAD__NUMBER */
} spad__token;

/* Reads a text from front to back. Errors go to the diagnostics and reading
 * continues after them; nothing is allocated. */
typedef struct spad__lexer {
    const spad__source *source;
    spad_diagnostics *diagnostics;
    size_t at; /* the next byte */
} spad__lexer;

void spad__lexer_start(spad__lexer *lexer, const spad__source *source,
                       spad_diagnostics *diagnostics);

/* The next token; SPAD__END forever after the last one. */
spad__token spad__lexer_next(spad__lexer *lexer);

/* The text of a string token without quotes and escapes, in the arena; NULL:
 * no memory. */
char *spad__string_value(spad__arena *arena, const spad__source *source, spad__token token);

/* The token as messages name it, cut to the field: 'word', a string, the end
 * of the line. */
void spad__token_describe(char *field, size_t size, const spad__source *source, spad__token token);

/* Is the token that word? */
bool spad__token_is(const spad__source *source, spad__token token, const char *word);

/* Does the text read as one word or one whole number? Else it is written as a
 * string where a name is wanted. */
bool spad__is_bare(const char *text);

/* The reverse of reading: a text as a string with escapes (what is not UTF-8 cannot be
 * written and becomes the replacement character), and a name, as a string where it must. */
void spad__out_quoted(spad__out *out, const char *text);
void spad__out_name(spad__out *out, const char *name);

/* Units that may stand right after a number ("32KiB"); also used by the
 * parsing helpers. Letter case counts, so that 910b is a word. */
bool spad__is_unit(const char *text, size_t length);

#endif
