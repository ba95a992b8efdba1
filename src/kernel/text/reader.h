/* SPDX-License-Identifier: Apache-2.0
 *
 * The reader of kernel text from the inside. Its files: reader_tokens.c for words,
 * expressions and names, reader_declare.c for declarations, reader_operation.c for
 * operations, reader_expand.c for macros and copies of agents, and reader.c for other
 * statements and the calls. A function that returns false has reported why, or there is
 * no memory, or the name that it met had a faulty declaration.
 */
#ifndef SPAD_KERNEL_TEXT_READER_H
#define SPAD_KERNEL_TEXT_READER_H

#include "base/parser.h"
#include "kernel/kernel.h"

enum { SPAD__WORD_MAX = SPAD__NAME_MAX + 1, SPAD__INDEX_MAX = SPAD_RANK_MAX };

/* Where reading goes on. */
typedef struct spad__reader_place {
    spad__lexer lexer;
    spad__token token;
    spad__token last;
    size_t counted;
    int32_t line;
    int32_t column;
} spad__reader_place;

typedef struct spad__macro {
    const char *params[SPAD__INDEX_MAX];
    size_t param_count;
    spad__reader_place body; /* after its '{' */
    size_t bytes;            /* of the body */
    bool broken;             /* its body has faults, which are reported */
} spad__macro;

/* The argument that a parameter of a macro stands for. */
typedef struct spad__argument {
    spad__symbol_kind kind;
    int64_t number;
} spad__argument;

/* A body that is being read: of a macro, or of an agent with copies (macro -1). */
typedef struct spad__expansion {
    int64_t macro;
    spad__reader_place back; /* macro: after the call; agent: the body */
    size_t blocks;           /* open around it */
    size_t symbols;          /* macro: before its parameters */
    size_t faults;           /* before it */
    int32_t line;            /* macro: of the call */
    const char *name;        /* of the agent */
    const char *variable;
    spad__span span;
    int64_t copy;
    int64_t copies;
    spad_amount threads; /* of each copy */
    spad_amount registers;
} spad__expansion;

enum { SPAD__EXPANSIONS_DEEP = 32 };

typedef struct spad__reader {
    spad__parser parser;
    spad__kernel_builder *builder;
    const spad_kernel_options *options;
    spad_error error; /* of the last call of the builder */
    /* the place of a byte, for spans that mostly go forward */
    size_t counted;
    int32_t line;
    int32_t column;
    SPAD_ARRAY(spad__macro) macros;
    spad__expansion expansions[SPAD__EXPANSIONS_DEEP]; /* innermost last */
    size_t expansion_count;
    size_t expanded; /* bytes read again */
} spad__reader;

#define SPAD__FAULT(r, span, ...) \
    spad__diagnostics_add((r)->parser.diagnostics, (r)->parser.source, span, __VA_ARGS__)

/* ---- faults and places ------------------------------------------------------------- */

/* Did a call of the builder go well? Else its message is shown at the span. */
bool spad__reader_accepts(spad__reader *r, spad__span span, spad_status status);

/* Tells the builder where the span is. */
void spad__put_place(spad__reader *r, spad__span span);

/* From a span to the last word that was taken. */
spad__span spad__span_from(const spad__reader *r, spad__span first);

/* Reports that the next word is not one of those that are allowed there; false. */
bool spad__unknown_word(spad__reader *r, const char *what, const char *const *words, size_t count);

/* ---- words ------------------------------------------------------------------------- */

bool spad__read_word(spad__reader *r, const char *what, char word[SPAD__WORD_MAX]);

/* ---- expressions and lists --------------------------------------------------------- */

bool spad__read_expr(spad__reader *r, spad_expr *out);

/* A number that does not change: numbers and parameters. */
bool spad__read_amount(spad__reader *r, spad_amount *amount);

/* A comma between two items; a line may end after it. */
bool spad__next_item(spad__reader *r);

/* Room for one more dimension? */
bool spad__has_room(spad__reader *r, size_t count, const char *of);

/* Amounts up to a closing bracket; the opening one is taken. */
bool spad__read_amounts(spad__reader *r, spad_amount *items, size_t *count,
                        spad__token_kind closing, const char *what);

/* "[i, j + 1]" or nothing. */
bool spad__read_index(spad__reader *r, spad_expr *index, size_t *count);

/* Of an expression only the number is kept, or how often something was read: its parameters cannot
 * be replaced in what was read, nor can those before them that they follow. */
void spad__fix_params(const spad_kernel *kernel, spad_expr expr);

/* ---- names ------------------------------------------------------------------------- */

/* The number of a thing of a kind, by the last word or by the next. */
bool spad__resolve_word(spad__reader *r, const char *what, spad__symbol_kind kind, int64_t *number);
bool spad__read_symbol(spad__reader *r, const char *what, spad__symbol_kind kind, int64_t *number);
bool spad__read_unit_name(spad__reader *r, int64_t *unit);

/* The number of a fence of the target, by name. */
bool spad__read_fence_name(spad__reader *r, size_t *fence);

/* The name of something new; the builder gets its location. */
bool spad__read_new_name(spad__reader *r, const char *what, char name[SPAD__WORD_MAX],
                         spad__span *span);

/* ---- declarations: the first word is taken ----------------------------------------- */

bool spad__read_param(spad__reader *r);
bool spad__read_region(spad__reader *r);
bool spad__read_assumption(spad__reader *r);
bool spad__read_undecided(spad__reader *r);
bool spad__read_fault(spad__reader *r);
bool spad__read_uncounted(spad__reader *r);
bool spad__read_compiler(spad__reader *r);
bool spad__read_grid(spad__reader *r);
bool spad__read_cluster(spad__reader *r);

/* "threads 256 registers 128": of the main program. */
bool spad__read_threads(spad__reader *r);
bool spad__read_unit(spad__reader *r);
bool spad__read_barrier(spad__reader *r);
bool spad__read_counter(spad__reader *r);
bool spad__read_mbarrier(spad__reader *r);
bool spad__read_group(spad__reader *r);
bool spad__read_unknown(spad__reader *r);
bool spad__read_source(spad__reader *r);

/* "from 3", the source of the statement that was added last; the word is read. */
bool spad__read_from(spad__reader *r);

/* "tensor x" is taken, the colon is next. */
bool spad__read_tensor(spad__reader *r, const char *name, spad__span span);

/* ---- operations -------------------------------------------------------------------- */

/* Engine and name are taken, the clauses are next. */
bool spad__read_operation(spad__reader *r, const char *runner, spad__span span, const char *name);

/* Does the next word start a clause of an operation? */
bool spad__at_op_clause(const spad__reader *r);

/* ---- what is read more than once --------------------------------------------------- */

/* "macro" is taken. */
bool spad__read_macro(spad__reader *r);

/* A name is taken, and '(' is next. */
bool spad__read_call(spad__reader *r, const char *name);

/* "agent NAME" is taken, and '[' is next. */
bool spad__read_copies(spad__reader *r, const char *name, spad__span span);

/* "of 128 threads registers 240" of an agent; amounts of 0: not stated. */
bool spad__read_agent_threads(spad__reader *r, spad_amount *threads, spad_amount *registers);

/* A '}' is taken. *ended: it ends a body, and reading goes on elsewhere. */
bool spad__end_expansion(spad__reader *r, bool *ended);

/* Reports a declaration in a macro: its names would be declared once more at every call. */
bool spad__refuses_declaration(spad__reader *r, spad__span span);

#endif
