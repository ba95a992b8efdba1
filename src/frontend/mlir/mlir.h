/* SPDX-License-Identifier: Apache-2.0
 *
 * MLIR as its printer writes it: tokens, operations, regions, values and aliases.
 *
 * Nothing here knows a dialect. Every operation of the printed form starts a line, a '{' at the end
 * of a line begins a region and any other one attributes, and all values of an operation that it
 * does not define are its operands, in their order. This holds for the pretty and the generic form
 * alike, so an operation that is not known can still be skipped. What an operation means, and
 * which of its words are attributes, is for those who read the tokens.
 */
#ifndef SPAD_FRONTEND_MLIR_MLIR_H
#define SPAD_FRONTEND_MLIR_MLIR_H

#include "base/diagnostics.h"
#include "base/index.h"

typedef enum spad__mlir_kind {
    SPAD__MLIR_END,
    SPAD__MLIR_WORD,   /* scf.for, i32, mutable */
    SPAD__MLIR_NUMBER, /* 3, -1, 0.0e+00, 3x128x64xf16 */
    SPAD__MLIR_STRING, /* with its quotes */
    SPAD__MLIR_VALUE,  /* %acc_3, %acc#1 */
    SPAD__MLIR_ALIAS,  /* #loc3, #ttg.blocked */
    SPAD__MLIR_TYPE,   /* !ttg.memdesc */
    SPAD__MLIR_SYMBOL, /* @matmul */
    SPAD__MLIR_BLOCK,  /* ^bb0 */
    SPAD__MLIR_MARK    /* one character, or '>' of "->" with `arrow` */
} spad__mlir_kind;

typedef struct spad__mlir_token {
    uint32_t start;
    uint32_t length;
    int32_t line;
    int32_t part;  /* VALUE: the number after '#', else 0 */
    uint8_t kind;  /* spad__mlir_kind */
    char mark;     /* MARK */
    bool fresh;    /* the first one of its line */
    bool arrow;    /* "->" */
    uint32_t jump; /* '{' of a region: its '}'; else 0 */
} spad__mlir_token;

/* Values are numbered: results and arguments of regions. */
typedef struct spad__mlir_value {
    uint32_t token; /* its name */
    int32_t part;   /* of several results: which one */
    uint32_t type;  /* argument with a type: the token after the ':'; else 0 */
} spad__mlir_value;

typedef struct spad__mlir_operand {
    int32_t value;
    uint32_t token;
} spad__mlir_operand;

typedef struct spad__mlir_region {
    uint32_t open; /* tokens of its braces */
    uint32_t close;
    int32_t first_op; /* -1: none */
    int32_t last_op;
    uint32_t first_argument; /* in `arguments` */
    uint32_t argument_count;
    uint32_t blocks; /* labels after the first */
    int32_t first_block;
    int32_t last_block;
    int32_t next; /* of the same operation; -1: none */
} spad__mlir_region;

/* A block after the first one of its region, with its label. */
typedef struct spad__mlir_block {
    uint32_t label;
    int32_t first_op; /* -1: none */
    uint32_t first_argument;
    uint32_t argument_count;
    int32_t next; /* of the same region; -1: none */
} spad__mlir_block;

typedef struct spad__mlir_op {
    uint32_t name; /* token: a word, or a string in the generic form */
    uint32_t first;
    uint32_t end; /* tokens [first, end), those of its regions among them */
    int32_t first_result;
    int32_t result_count;
    uint32_t first_operand;
    uint32_t operand_count;
    int32_t first_region; /* -1: none */
    int32_t last_region;
    int32_t next; /* in its region; -1: none */
} spad__mlir_op;

typedef struct spad__mlir_alias {
    uint32_t name;
    uint32_t first; /* tokens [first, end) */
    uint32_t end;
} spad__mlir_alias;

/* A value that can be named; the index has the newest of each name only. */
typedef struct spad__mlir_entry {
    int32_t value;
    int32_t older; /* of the same name, in the scope; -1: none */
} spad__mlir_entry;

typedef struct spad__mlir {
    const spad_host *host;
    const spad__source *source;
    spad_diagnostics *diagnostics;
    bool out_of_memory;
    SPAD_ARRAY(spad__mlir_token) tokens;
    SPAD_ARRAY(spad__mlir_op) ops;
    SPAD_ARRAY(spad__mlir_region) regions;
    SPAD_ARRAY(spad__mlir_block) blocks;
    SPAD_ARRAY(spad__mlir_value) values;
    SPAD_ARRAY(spad__mlir_operand) operands;
    SPAD_ARRAY(int32_t) arguments;
    SPAD_ARRAY(spad__mlir_alias) aliases;
    spad__index alias_index;
    int32_t first_op; /* of the text */
    int32_t last_op;
    /* while it is read */
    SPAD_ARRAY(spad__mlir_entry) scope; /* values that can be named, the newest last */
    SPAD_ARRAY(int32_t) pending;        /* arguments of the region that opens next */
    spad__index scope_index;
    uint32_t at;
    int depth;
    bool cut; /* the rest of the text was left out, with a fault */
} spad__mlir;

/* Longer texts are refused. */
enum { SPAD__MLIR_MIB = 64 };

/* Reads a text into a zeroed module whose host, source and diagnostics are set. Faults go to the
 * diagnostics. False: no memory. O(length). */
bool spad__mlir_read(spad__mlir *m);
void spad__mlir_free(spad__mlir *m);

/* Splits the text into tokens; the last one is END. False: no memory. */
bool spad__mlir_split(spad__mlir *m);

/* ---- tokens ------------------------------------------------------------------------ */

spad__span spad__mlir_span(const spad__mlir *m, uint32_t token);
const char *spad__mlir_text(const spad__mlir *m, uint32_t token);
bool spad__mlir_is(const spad__mlir *m, uint32_t token, const char *text);
/* Do two tokens have the same text? */
bool spad__mlir_same(const spad__mlir *m, uint32_t a, uint32_t b);
bool spad__mlir_is_mark(const spad__mlir *m, uint32_t token, char mark);
/* A whole number; false: the token is something else, or does not fit. */
bool spad__mlir_number(const spad__mlir *m, uint32_t token, int64_t *out);
/* Column of a token, from 1 on. */
int32_t spad__mlir_column(const spad__mlir *m, uint32_t token);

/* ---- operations -------------------------------------------------------------------- */

/* The name of an operation without quotes is `name`. */
bool spad__mlir_named(const spad__mlir *m, const spad__mlir_op *op, const char *name);
/* The token after `at`, without what is in regions of the operation; op->end after the last. */
uint32_t spad__mlir_after(const spad__mlir *m, const spad__mlir_op *op, uint32_t at);
/* The first token after "word =" in tokens [first, end), at any depth of brackets; 0: none. */
uint32_t spad__mlir_after_word(const spad__mlir *m, uint32_t first, uint32_t end, const char *word);
/* The whole number that is that token. */
bool spad__mlir_number_after_word(const spad__mlir *m, uint32_t first, uint32_t end,
                                  const char *word, int64_t *out);
/* Is the word in the text of the operation, or of what its regions have? */
bool spad__mlir_mentions(const spad__mlir *m, const spad__mlir_op *op, const char *word);

/* The first token after the '=' of an attribute; 0: it has none of that name. */
uint32_t spad__mlir_attribute(const spad__mlir *m, const spad__mlir_op *op, const char *name);
bool spad__mlir_number_of(const spad__mlir *m, const spad__mlir_op *op, const char *name,
                          int64_t *out);
/* Is a word or an attribute without a value there? */
bool spad__mlir_has(const spad__mlir *m, const spad__mlir_op *op, const char *name);
/* The '(' of its location; 0: it has none. */
uint32_t spad__mlir_location(const spad__mlir *m, const spad__mlir_op *op);
/* What '#name' stands for; NULL: nothing. */
const spad__mlir_alias *spad__mlir_find_alias(const spad__mlir *m, uint32_t token);

/* A fault at a token. */
#define SPAD__MLIR_FAULT(m, token, ...) \
    spad__diagnostics_add((m)->diagnostics, (m)->source, spad__mlir_span(m, token), __VA_ARGS__)

#endif
