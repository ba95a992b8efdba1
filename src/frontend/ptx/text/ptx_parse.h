/* SPDX-License-Identifier: Apache-2.0
 *
 * The parser of PTX, for its own files. Each uses those above it only:
 *
 *   ptx_lexer.c      blanks, comments, words
 *   ptx_constant.c   numbers and constant expressions
 *   ptx_scope.c      names in braces: registers, variables, functions, labels
 *   ptx_operand.c    operands of instructions
 *   ptx_debug.c      .file, .loc, .section
 *   ptx_initial.c    initial values
 *   ptx_variable.c   .reg, variables, parameters
 *   ptx_body.c       statements of functions
 *   ptx_function.c   heads of functions, and their directives
 *   ptx_parser.c     the module
 */
#ifndef SPAD_FRONTEND_PTX_PARSE_H
#define SPAD_FRONTEND_PTX_PARSE_H

#include "base/checked.h"
#include "base/index.h"
#include "frontend/ptx/text/ptx_lexer.h"
#include "frontend/ptx/text/ptx_module.h"

/* ---- names ---------------------------------------------------------------------------------- */

typedef enum spad__ptx_symbol_kind {
    SPAD__PTX_NAMES_REGISTER, /* number: of the function's */
    SPAD__PTX_NAMES_RANGE,    /* number: the range; name: what stands in front of the digits */
    SPAD__PTX_NAMES_VARIABLE, /* number: as in an operand */
    SPAD__PTX_NAMES_FUNCTION  /* number: of the module's */
} spad__ptx_symbol_kind;

typedef struct spad__ptx_symbol {
    spad__span name;
    spad__ptx_symbol_kind kind;
    uint8_t type;  /* RANGE: of its registers */
    uint8_t items; /* REGISTER, RANGE: registers in a row, for a vector */
    int32_t number;
    int32_t count; /* RANGE */
    /* set when it is added */
    uint64_t hash;
    int32_t depth; /* of braces; 0: the module */
    int32_t line;
} spad__ptx_symbol;

/* A label, or a list of labels. */
typedef struct spad__ptx_named_place {
    spad__span name;
    spad__ptx_operand_kind kind; /* LABEL or TABLE */
    int32_t value;
} spad__ptx_named_place;

/* A name that may turn out to be a label further down. */
typedef struct spad__ptx_reference {
    spad__span name;
    int32_t operand; /* of the module; -1: none */
    int32_t target;  /* of the module's targets; -1: none */
} spad__ptx_reference;

typedef struct spad__ptx_scope {
    size_t symbols; /* how many there were before it */
    size_t places;
    size_t references;
    spad__span brace;
} spad__ptx_scope;

/* The name of a function that was inlined, as a place in the text of .debug_str. */
typedef struct spad__ptx_inlined {
    int32_t location;
    spad__span label;
    int64_t offset;
} spad__ptx_inlined;

typedef struct spad__ptx_string_label {
    spad__span name;
    size_t at; /* in the bytes of .debug_str */
} spad__ptx_string_label;

typedef struct spad__ptx_known_name {
    spad__span name;
    spad__ptx_instruction read; /* what it says */
} spad__ptx_known_name;

typedef struct spad__ptx_alias {
    int32_t name; /* functions */
    int32_t function;
} spad__ptx_alias;

typedef struct spad__ptx_parser {
    spad__ptx_lexer lexer;
    const spad_host *host;
    spad__ptx_module *module;
    /* names */
    SPAD_ARRAY(spad__ptx_symbol) symbols;
    spad__index symbol_index; /* all of them, those that are hidden as well */
    SPAD_ARRAY(spad__ptx_scope) scopes;
    SPAD_ARRAY(spad__ptx_named_place) places;
    spad__index place_index;
    SPAD_ARRAY(spad__ptx_reference) references;
    spad__index members;             /* registers of ranges that have a number, in this function */
    SPAD_ARRAY(int64_t) member_keys; /* by register of the function: range << 32 | number; -1 */
    int32_t ranges;                  /* so far */
    SPAD_ARRAY(spad__ptx_alias) aliases;
    /* the function in hand */
    int32_t function;                        /* -1: none */
    int32_t location;                        /* the last .loc; -1: none */
    SPAD_ARRAY(spad__ptx_operand) operands;  /* of the instruction in hand */
    SPAD_ARRAY(spad__ptx_reference) waiting; /* references of those operands, by their number */
    SPAD_ARRAY(spad__ptx_known_name) known_names;
    spad__index known_index;
    /* lines */
    spad__index location_index; /* the newest of a line and a column */
    SPAD_ARRAY(spad__ptx_inlined) inlined;
    SPAD_ARRAY(char) strings; /* .debug_str */
    SPAD_ARRAY(spad__ptx_string_label) string_labels;
    SPAD_ARRAY(uint8_t) initial; /* of the variable in hand */
    int64_t initial_bytes;       /* of all variables so far */
} spad__ptx_parser;

/* ---- constants (ptx_constant.c) ------------------------------------------------------------- */

typedef enum spad__ptx_constant_kind {
    SPAD__PTX_SIGNED,
    SPAD__PTX_UNSIGNED,
    SPAD__PTX_SINGLE, /* bits of an f32 */
    SPAD__PTX_DOUBLE  /* bits of an f64 */
} spad__ptx_constant_kind;

typedef struct spad__ptx_constant {
    spad__ptx_constant_kind kind;
    uint64_t bits;
} spad__ptx_constant;

/* True if a constant starts here: a digit, a sign, '~', '!' or '('. */
bool spad__ptx_starts_constant(spad__ptx_lexer *x);
/* A byte in a long list: decimal digits with a ',' or a '}' after them, which is not taken. False:
 * something else, nothing taken. */
bool spad__ptx_take_listed(spad__ptx_lexer *x, uint8_t *out);
/* A constant expression; false: a diagnostic was added. */
bool spad__ptx_take_constant(spad__ptx_lexer *x, spad__ptx_constant *out);
/* One that is an integer in [least, most]. */
bool spad__ptx_take_integer(spad__ptx_lexer *x, int64_t least, int64_t most, const char *what,
                            int64_t *out);
/* One without operators around it, in [0, most]: a '>' may follow. */
bool spad__ptx_take_count(spad__ptx_lexer *x, int64_t most, const char *what, int64_t *out);
/* What may follow a name: "+8", "-8", "+-8", or nothing. */
bool spad__ptx_take_addend(spad__ptx_lexer *x, int64_t *out);

/* ---- names (ptx_scope.c) -------------------------------------------------------------------- */

enum { SPAD__PTX_DEEPEST = 128 };

/* Opens and closes scopes: of a function, which begins before its parameters, and those in
 * its body. False: no memory, or too deep; the lexer is at its end then. */
bool spad__ptx_enter(spad__ptx_parser *p, spad__span brace);
/* Closes the innermost ones; names for which no label was found are left to the next ones, and
 * after the last of a function they are reported. */
void spad__ptx_leave(spad__ptx_parser *p);
/* The innermost symbol of a name; NULL: none. */
const spad__ptx_symbol *spad__ptx_find_symbol(const spad__ptx_parser *p, spad__span name);
/* One in the innermost braces only. */
const spad__ptx_symbol *spad__ptx_find_here(const spad__ptx_parser *p, spad__span name);
bool spad__ptx_add_symbol(spad__ptx_parser *p, spad__ptx_symbol symbol);
/* Adds registers of one name to the function in hand: one, or the items of a vector. */
bool spad__ptx_add_register(spad__ptx_parser *p, spad__span name, spad__ptx_type type, int items);
/* The register with this name, alone or in a range; -1: none, or no memory. *items: how many, if it
 * is a vector; else 1. */
int32_t spad__ptx_find_register(spad__ptx_parser *p, spad__span name, int *items);
/* The same for a scalar register, with a diagnostic if there is none. */
int32_t spad__ptx_need_register(spad__ptx_parser *p, spad__span name);
bool spad__ptx_name_place(spad__ptx_parser *p, spad__span name, spad__ptx_operand_kind kind,
                          int32_t value);
bool spad__ptx_add_reference(spad__ptx_parser *p, spad__ptx_reference reference);

/* ---- operands (ptx_operand.c) --------------------------------------------------------------- */

/* The operands of an instruction up to its ';', which is not taken. They are in the module
 * afterwards. False: a diagnostic was added, or there is no memory. */
bool spad__ptx_take_operands(spad__ptx_parser *p, spad__ptx_instruction *instruction);

/* ---- lines (ptx_debug.c) -------------------------------------------------------------------- */

bool spad__ptx_take_file(spad__ptx_parser *p);
bool spad__ptx_take_location(spad__ptx_parser *p);
bool spad__ptx_take_section(spad__ptx_parser *p);
/* Once the text was read: files of locations, and names of inlined functions. */
void spad__ptx_end_lines(spad__ptx_parser *p);

/* ---- variables (ptx_variable.c) ------------------------------------------------------------- */

/* After ".reg", up to the ';', which is not taken. */
bool spad__ptx_take_registers(spad__ptx_parser *p);
/* The space that a directive names; NO_SPACE: none. */
spad__ptx_space spad__ptx_space_of(const spad__ptx_lexer *x, spad__span directive);
/* After a space: what it declares, up to the ';', which is not taken. */
bool spad__ptx_take_variables(spad__ptx_parser *p, spad__ptx_space space, bool external);
/* A parameter of a function, from ".param" or ".reg" on. With `unnamed`, which a .callprototype
 * has, it is read and not kept. */
bool spad__ptx_take_parameter(spad__ptx_parser *p, bool unnamed);

/* Blanks and texts of .pragma, up to and with the ';'. */
bool spad__ptx_take_pragma(spad__ptx_lexer *x);
/* "(...)" of .attribute. */
bool spad__ptx_skip_attribute(spad__ptx_lexer *x);

/* ---- bodies (ptx_body.c) -------------------------------------------------------------------- */

enum { SPAD__PTX_INSTRUCTIONS = 1 << 24, SPAD__PTX_OPERANDS = 1 << 26 };

/* After the '{' of a function, up to and with its '}'. */
void spad__ptx_take_body(spad__ptx_parser *p);

/* ---- functions (ptx_function.c) ------------------------------------------------------------- */

/* After ".entry" or ".func". */
bool spad__ptx_take_function(spad__ptx_parser *p, bool entry);

#endif
