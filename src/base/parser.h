/* SPDX-License-Identifier: Apache-2.0
 *
 * What parsers share: one token of look-ahead, expectations with a message,
 * recovery at the end of a statement, names, and numbers with units.
 *
 * A function that returns false has reported why (or the lexer has, or there
 * was no memory); the caller then skips the statement and continues, so that one
 * run finds several errors.
 */
#ifndef SPAD_BASE_PARSER_H
#define SPAD_BASE_PARSER_H

#include <stdbool.h>
#include <stdint.h>

#include "base/diagnostics.h"
#include "base/lexer.h"
#include "base/memory.h"

typedef struct spad__parser {
    const spad__source *source;
    spad_diagnostics *diagnostics;
    spad__arena *arena; /* where names and texts go */
    bool out_of_memory; /* sticks */
    spad__lexer lexer;
    spad__token token; /* the next one, not taken yet */
    spad__token last;  /* the last one taken */
} spad__parser;

void spad__parser_start(spad__parser *parser, const spad__source *source,
                        spad_diagnostics *diagnostics, spad__arena *arena);

/* ---- tokens ------------------------------------------------------------------------ */

/* Takes the next token. */
spad__token spad__parser_take(spad__parser *parser);

/* Takes the next token if it is of that kind, or that word. */
bool spad__parser_accept(spad__parser *parser, spad__token_kind kind);
bool spad__parser_accept_word(spad__parser *parser, const char *word);

/* The same, and an error if it is not. `what` as in "expected a size". */
bool spad__parser_expect(spad__parser *parser, spad__token_kind kind, const char *what);
bool spad__parser_expect_word(spad__parser *parser, const char *word);

/* Reports "expected <what> after <last>, found <next>" and returns false. */
bool spad__parser_expected(spad__parser *parser, const char *what);

/* ---- statements -------------------------------------------------------------------- */

/* Takes line ends. */
void spad__parser_skip_lines(spad__parser *parser);

/* At a line end (taken), a '}' or the end of the text; else an error. */
bool spad__parser_end_statement(spad__parser *parser);

/* Recovery: takes everything up to and with the line end of this statement,
 * and the blocks it opened; stops in front of a '}' that it did not open. */
void spad__parser_skip_statement(spad__parser *parser);

/* ---- values ------------------------------------------------------------------------ */

/* A name: a word, a number as it is written (950), or a string. Letters,
 * digits, '_', '-' and '.', at most SPAD__NAME_MAX of them. */
enum { SPAD__NAME_MAX = 63 };
bool spad__parser_name(spad__parser *parser, const char *what, const char **name);

/* A string. */
bool spad__parser_text(spad__parser *parser, const char **text);

/* A number with a unit becomes a whole number of base units. */
typedef struct spad__unit {
    const char *name;
    int64_t factor; /* base units in one of it; at most 2^40 */
} spad__unit;
typedef struct spad__measure {
    const char *what;    /* "a size" */
    const char *base;    /* "bytes" */
    const char *choices; /* "B, KiB, MiB, GiB or TiB" */
    bool bare;           /* the unit may be left out */
    spad__unit units[5]; /* up to the first without a name */
} spad__measure;

extern const spad__measure spad__measure_count;  /* a number, no unit */
extern const spad__measure spad__measure_size;   /* bytes; the unit may be left out */
extern const spad__measure spad__measure_clock;  /* kHz */
extern const spad__measure spad__measure_time;   /* ns */
extern const spad__measure spad__measure_rate;   /* bytes per us */
extern const spad__measure spad__measure_cycles; /* the unit may be left out */

/* *value >= 0; *span covers number and unit. */
bool spad__parser_quantity(spad__parser *parser, const spad__measure *measure, int64_t *value,
                           spad__span *span);

#endif
