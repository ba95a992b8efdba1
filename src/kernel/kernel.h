/* SPDX-License-Identifier: Apache-2.0
 *
 * A kernel and its builder from the inside.
 *
 * Invariants of a finished kernel: every number in a row names a row of its
 * table; every index list has as many expressions as its object has dimensions;
 * every expression of a statement uses loops around that statement only, and
 * cannot overflow; extents nest; agents stand together at the top; statement
 * lists of accesses and completions are consecutive.
 */
#ifndef SPAD_KERNEL_KERNEL_H
#define SPAD_KERNEL_KERNEL_H

#include "base/diagnostics.h"
#include "base/index.h"
#include "base/memory.h"
#include "base/text.h"
#include "kernel/kernel_builder.h"
#include "spad/finding.h"

/* Limits that keep every product of counts small and every walk shallow. */
enum {
    SPAD__LOOPS_DEEP = 64, /* loops around a statement; expressions keep a bit for each */
    SPAD__BLOCKS_DEEP = 256
};

/* An expression: a run of nodes and its bounds. text_count 0: it was written as the nodes are.
 * `moving`: a cursor or an unknown value is in it. `gap`: no two neighbouring values
 * are further apart, if the bounds are exact. `loops`: bit d: uses the loop at
 * depth d. */
typedef struct spad__expr {
    size_t first;
    size_t count;
    int64_t least;
    int64_t most;
    int64_t gap;
    uint64_t loops;
    bool exact;
    bool moving;
    size_t text_first;
    size_t text_count;
} spad__expr;

typedef enum spad__comment_place {
    SPAD__COMMENT_ABOVE, /* in lines of their own */
    SPAD__COMMENT_BESIDE,
    SPAD__COMMENT_BELOW
} spad__comment_place;

enum { SPAD__COMMENT_HEAD = -1, SPAD__COMMENT_LAST = INT32_MAX };

/* A comment, or an empty line above a row. It belongs to the rows with `line` in their location,
 * wherever they are now. */
typedef struct spad__comment {
    int32_t line; /* SPAD__COMMENT_HEAD: of "kernel"; SPAD__COMMENT_LAST: after everything */
    spad__comment_place place;
    const char *text; /* from '#' on; "": an empty line */
} spad__comment;

/* An error of the program that the kernel was made from. */
typedef struct spad__kernel_fault {
    const char *message;
    int64_t times;
    int64_t source; /* -1: none */
    spad_location location;
} spad__kernel_fault;

/* A file of the program that the kernel was made from. */
typedef struct spad__kernel_program {
    const char *file;
    const char *text;
} spad__kernel_program;

struct spad_kernel {
    spad_host host;
    spad__arena arena; /* names and lists */
    const spad_target *target;
    const char *name;
    const char *about;
    const char *assumption; /* of claims about it; "": it has none */
    const char *undecided;  /* why nothing is proved by a check of it; "": no such reason */
    const char *uncounted;  /* work that its time leaves out; "": none */
    const char *compiler;   /* "Triton 3.6.0": made the statements from what the user wrote, who
                               cannot write them; "": not known, or the user can */
    const char *file;
    bool compiled;       /* the text is a compiler's: findings name lines of the sources first */
    spad_amount grid;    /* 0: not stated */
    spad_amount cluster; /* blocks whose agents these are; 0: one */
    bool is_explicit;
    bool is_scoped;     /* has scopes, or stack or heap tensors */
    size_t blocks_deep; /* most blocks around a statement */
    uint64_t content;   /* spad__kernel_hash, since it was finished */
    SPAD_ARRAY(spad_kernel_param) params;
    SPAD_ARRAY(spad_kernel_tensor) tensors;
    SPAD_ARRAY(spad_kernel_region) regions;
    SPAD_ARRAY(spad_kernel_unit) units;
    SPAD_ARRAY(spad_kernel_sync) syncs;
    SPAD_ARRAY(spad_kernel_agent) agents;
    SPAD_ARRAY(spad_kernel_loop) loops;
    SPAD_ARRAY(spad_kernel_cursor) cursors;
    SPAD_ARRAY(spad_kernel_unknown) unknowns;
    SPAD_ARRAY(spad_kernel_source) sources;
    SPAD_ARRAY(spad__kernel_program) programs; /* as far as they were given */
    SPAD_ARRAY(spad__kernel_fault) faults;
    SPAD_ARRAY(spad_statement) statements;
    SPAD_ARRAY(spad_kernel_access) accesses;
    SPAD_ARRAY(spad_kernel_completion) completions;
    SPAD_ARRAY(spad_expr_node) nodes;
    SPAD_ARRAY(spad__expr) exprs;       /* number 0 stands for none */
    SPAD_ARRAY(spad__comment) comments; /* by line, then by place; see text/comments.c */
};

/* ---- names in scope ---------------------------------------------------------------- */

typedef enum spad__symbol_kind {
    SPAD__SYMBOL_PARAM,
    SPAD__SYMBOL_LOOP,
    SPAD__SYMBOL_TENSOR,
    SPAD__SYMBOL_UNIT,
    SPAD__SYMBOL_SYNC,
    SPAD__SYMBOL_AGENT,
    SPAD__SYMBOL_STAGE,
    SPAD__SYMBOL_PHASE,
    SPAD__SYMBOL_UNKNOWN,
    SPAD__SYMBOL_VALUE, /* number: an expression that the name stands for */
    SPAD__SYMBOL_MACRO,
    SPAD__SYMBOL_BROKEN /* its declaration had a fault, which is reported already */
} spad__symbol_kind;

typedef struct spad__symbol {
    const char *name;
    spad__symbol_kind kind;
    int64_t number;
    size_t hidden; /* the older symbol of this name, which is found again after it */
    bool closed;   /* its scope is: it can still be named, and the name can be used again */
} spad__symbol;

typedef struct spad__block {
    size_t statement;
    size_t symbols; /* how many there were in front of it */
    int64_t loop;   /* innermost loop outside it */
    bool guarded;   /* outside it */
    bool of_loop;   /* the if that stands for the bounds of a loop: it closes with the loop */
} spad__block;

/* A number that the caller gives to a name. */
typedef struct spad__given {
    const char *name; /* in the arena of the kernel */
    int64_t value;
    bool used;
} spad__given;

struct spad__kernel_builder {
    spad_kernel *kernel;
    spad_location location;
    int64_t source; /* of what is added; -1 */
    SPAD_ARRAY(spad__symbol) symbols;
    spad__index symbol_index;
    SPAD_ARRAY(spad__block) blocks; /* that are open */
    int64_t loop;                   /* innermost open one; -1 */
    size_t loop_depth;
    bool guarded;
    int64_t agent; /* whose statements are added */
    bool agents_over;
    SPAD_ARRAY(spad__given) defines;
    SPAD_ARRAY(spad__given) rings;
    spad_host host;
};

/* The newest symbol of a name that is visible, or NULL. */
const spad__symbol *spad__find_symbol(const spad__kernel_builder *builder, const char *name);

/* "a tensor", "a parameter" and so on. */
const char *spad__symbol_phrase(spad__symbol_kind kind);

/* Expressions that a call makes on the way to something that then fails have to go again: their
 * numbers would move those of later ones. */
typedef struct spad__expr_mark {
    size_t exprs;
    size_t nodes;
} spad__expr_mark;
spad__expr_mark spad__mark_exprs(const spad_kernel *kernel);
void spad__drop_exprs(spad_kernel *kernel, spad__expr_mark mark);

/* A symbol whose uses are not worth a message. False: no memory. */
bool spad__add_broken(spad__kernel_builder *builder, const char *name);

/* Is that a word that a thing may have as its name? */
spad_status spad__check_name(const char *name, spad_error *error);

/* Adds a symbol: checks the name, copies it to the arena. */
spad_status spad__add_symbol(spad__kernel_builder *builder, const char *name,
                             spad__symbol_kind kind, int64_t number, const char **kept,
                             spad_error *error);
/* Adds a symbol that hides others of its name. False: no memory. */
bool spad__bind_symbol(spad__kernel_builder *builder, const char *name, spad__symbol_kind kind,
                       int64_t number);

/* Is the thing of that name, kind and number visible, under this name or hidden by another? */
bool spad__is_visible(const spad__kernel_builder *builder, const char *name, spad__symbol_kind kind,
                      int64_t number);
void spad__drop_symbols(spad__kernel_builder *builder, size_t count);

/* "no <what> 'name'; did you mean ...?" over the visible symbols of a kind. */
spad_status spad__fail_unknown(const spad__kernel_builder *builder, const char *what,
                               const char *name, spad__symbol_kind kind, spad_error *error);

/* Can the tensor with that number be named here? */
spad_status spad__check_visible(const spad__kernel_builder *builder, int64_t number,
                                spad_error *error);

/* ---- helpers of the builder's files ------------------------------------------------ */

/* Is that an expression whose loops are all open here? */
spad_status spad__check_expr(const spad__kernel_builder *builder, spad_expr expr,
                             spad_error *error);

/* Are all blocks closed, so that something (`what`) can be declared at the top of the kernel? */
spad_status spad__need_top(const spad__kernel_builder *builder, const char *what,
                           spad_error *error);

/* Opens a block for the statement that was just made. Room is reserved. `symbols`: how many there
 * were before it. */
void spad__open_block(spad__kernel_builder *builder, size_t symbols);

/* A statement that will hold others, and room for its block. */
spad_status spad__new_block(spad_statement **out, spad__kernel_builder *builder,
                            spad_statement_kind kind, spad_error *error);

/* Gives an expression the text of one leaf. */
spad_status spad__expr_as_leaf(spad_expr *out, spad_kernel *kernel, spad_expr expr, spad_expr_op op,
                               int64_t value, spad_error *error);

/* The same expression with other nodes: `with` in place of every node `op` of `value`. Bounds
 * are those of `with`, and the text stays. */
spad_status spad__expr_replace(spad_expr *out, spad__kernel_builder *builder, spad_expr expr,
                               spad_expr_op op, int64_t value, spad_expr with, spad_error *error);

/* Adds an expression of another kernel from its nodes as written. Parameters, loops, cursors and
 * unknown values are rows of this kernel; bounds are computed anew. */
spad_status spad__expr_copy(spad_expr *out, spad__kernel_builder *builder,
                            const spad_expr_node *written, size_t count, spad_error *error);

/* The variable of a loop, open or not. */
spad_status spad__expr_variable(spad_expr *out, spad__kernel_builder *builder, int64_t loop,
                                spad_error *error);

/* Is there such a node in it? value -1: of any number. */
bool spad__expr_has(const spad_kernel *kernel, spad_expr expr, spad_expr_op op, int64_t value);
/* Does an amount of the list depend on the parameter? -1: on any. */
bool spad__amounts_use_param(const spad_kernel *kernel, spad_amounts list, int64_t param);
/* Have two expressions the same nodes? */
bool spad__expr_equal(const spad_kernel *kernel, spad_expr left, spad_expr right);
/* Have two lists the same values? */
bool spad__amounts_equal(spad_amounts left, spad_amounts right);

/* Replaces stages and phases by expressions of loops where a cursor moves evenly. At the end. */
spad_status spad__resolve_cursors(spad__kernel_builder *builder, spad_error *error);

/* The value of the variable of a loop. by_depth: what the loops around it and it count, outermost
 * first. */
int64_t spad__loop_value(const spad_kernel *kernel, int64_t loop, const int64_t *by_depth);

/* A hash of all that a kernel states, with the locations of its rows; see content_hash.c. */
uint64_t spad__kernel_hash(const spad_kernel *kernel);

/* The values that are taken for a row of unknown ones, to be changed by who owns the kernel, who
 * then gives it a new hash. */
int64_t *spad__unknown_values(spad_kernel *kernel, size_t unknown);

/* A constant: fills in its value from its expression. */
spad_status spad__fold_amount(const spad__kernel_builder *builder, spad_amount *amount,
                              spad_error *error);

/* A checked copy of a list in the arena, each number settled and at least `least`. */
spad_status spad__keep_amounts(spad__kernel_builder *builder, spad_amounts *list, int64_t least,
                               const char *what, spad_error *error);

/* Room for one more statement of a kind, filled in but not counted; NULL: no memory.
 * spad__add_statement counts it. */
spad_statement *spad__new_statement(spad__kernel_builder *builder, spad_statement_kind kind);
void spad__add_statement(spad__kernel_builder *builder);

/* The expression as text, for messages and the writer. Cut to the field. */
enum { SPAD__EXPR_TEXT_MAX = SPAD_EXPR_MAX * 72 };
void spad__expr_text(const spad_kernel *kernel, spad_expr expr, char *field, size_t size);

/* Does a statement start with that word? Then an engine of that name is written as a
 * string. "tensor" is not one: its declarations are known by their colon. */
bool spad__is_kernel_word(const char *word);

/* " (N = 8, S = 3)", or nothing for a kernel without parameters. */
void spad__write_params(spad__out *out, const spad_kernel *kernel);

/* The members kernel, file, target and params of an open JSON object. */
void spad__json_kernel(spad__json *json, const spad_kernel *kernel);

/* True for statements that contain others; an ELSE does too. */
bool spad__is_block(spad_statement_kind kind);

/* The loops around a statement, the outermost first; how many. loops: NULL, or room for
 * SPAD__LOOPS_DEEP. */
size_t spad__loops_around(const spad_kernel *kernel, int64_t statement, int64_t *loops);

/* Is it a file of the CUDA toolkit? */
bool spad__is_toolkit_header(const char *path);

/* The line that the user of a compiled kernel wrote: of a source and its callers the first one that
 * is no header of the CUDA toolkit, or the source itself. Empty where the kernel is not compiled or
 * the source is none. */
void spad__program_line(const spad_kernel *kernel, int64_t source, spad_program_line *out);

/* "a.py:12, called at a.py:40": a source and what led to it, for messages. "": none exists. */
void spad__source_text(const spad_kernel *kernel, int64_t source, char *field, size_t size);

/* Sets the source of the statement that was added last. */
spad_status spad__set_source(spad__kernel_builder *builder, int64_t source, spad_error *error);

/* The file of a built kernel in messages. */
void spad__fact_kernel(const spad_kernel *kernel, spad_location location, spad_error *error);

/* The assumption of a proof about the kernel: executions of the original program for which
 * this is not so are not executions of the kernel. "": it has them all. */
const char *spad__kernel_get_assumption(const spad_kernel *kernel);

/* Blocks of a cluster whose agents the kernel has; 1: not stated. */
int64_t spad__kernel_get_cluster(const spad_kernel *kernel);

/* Blocks of the grid; the kernel describes one of them. 0: not stated. */
int64_t spad__kernel_get_grid(const spad_kernel *kernel);

/* Work of the program that no statement of the kernel stands for, and that its simulated time
 * leaves out: "12 element-wise operations of threads". "": none is known. */
const char *spad__kernel_get_uncounted(const spad_kernel *kernel);

/* What made the statements from another language: "Triton 3.6.0", or "Triton" where the version is
 * not known. "": not known, or the user wrote them. */
const char *spad__kernel_get_compiler(const spad_kernel *kernel);

/* The source of what is on a line of the text, or -1. O(log statements) where they are in the
 * order of the text, else O(statements). */
int64_t spad__kernel_find_source(const spad_kernel *kernel, int32_t line);

/* Number of accesses of all operations. */
size_t spad__kernel_access_count(const spad_kernel *kernel);

#endif
