/* SPDX-License-Identifier: Apache-2.0
 *
 * A PTX module as data: functions, variables, instructions, source lines.
 *
 * PTX is the assembly that nvcc, NVRTC, Triton, CuTe DSL, TileLang and Numba print. The parser
 * resolves names (registers, labels and variables have the scope of their braces), so that the
 * executor works with numbers only. It accepts instructions and modifiers that it does not know:
 * those are errors when they are executed, and only then. Rows belong to the module's arena.
 *
 * Reference: PTX ISA 9.0, chapters 4 (syntax), 5 (variables), 9 (instructions), 11 (directives).
 */
#ifndef SPAD_FRONTEND_PTX_MODULE_H
#define SPAD_FRONTEND_PTX_MODULE_H

#include "base/diagnostics.h"
#include "base/memory.h"
#include "frontend/ptx/text/ptx_words.h"

/* ---- operands ----------------------------------------------------------------------------- */

typedef enum spad__ptx_operand_kind {
    SPAD__PTX_SINK,      /* "_" */
    SPAD__PTX_REGISTER,  /* reg */
    SPAD__PTX_IMMEDIATE, /* value: an integer, or the bits of a float; wide: bits of an f64 */
    SPAD__PTX_SPECIAL,   /* special: %tid.x and so on */
    SPAD__PTX_ADDRESS,   /* [reg + value], [variable + value], [value]; with a vector: a tensor's
                            coordinates after the address */
    SPAD__PTX_VARIABLE,  /* variable + value: the address of a variable as a number */
    SPAD__PTX_FUNCTION,  /* value: a function of the module */
    SPAD__PTX_LABEL, /* value: the instruction that it names, counted from the function's first; its
                        instruction count: the end of the function, which returns */
    SPAD__PTX_TABLE, /* value: a .branchtargets or .calltargets list of the function; -1: a
                        .callprototype, whose contents are not kept */
    SPAD__PTX_VECTOR /* {a, b, ...}: `count` operands from `first` of the module's operands */
} spad__ptx_operand_kind;

typedef struct spad__ptx_operand {
    uint8_t kind;
    bool negated;      /* "!p" */
    bool wide;         /* IMMEDIATE: written as a 64-bit float (0d...), or as a decimal float */
    uint8_t component; /* SPECIAL: 0 to 2 for .x to .z */
    int32_t reg;       /* -1: none */
    int32_t also;      /* the second destination of "p|q"; -1: none */
    int32_t
        variable; /* below 0: none. 0 and up: of the module; SPAD__PTX_LOCAL + n: of the function */
    int32_t special; /* spad__ptx_special */
    int32_t first;   /* VECTOR, ADDRESS with coordinates */
    int32_t count;
    int64_t value;
} spad__ptx_operand;

/* Variables of a function are numbered from here. */
enum { SPAD__PTX_LOCAL = 1 << 24 };

/* ---- instructions --------------------------------------------------------------------------- */

/* The operands of a call are always: VECTOR of results, target (FUNCTION or REGISTER), VECTOR of
 * arguments, and where it is written, the TABLE of an indirect call. */
enum { SPAD__PTX_TYPES = 5 }; /* mma with block_scale has five */

typedef struct spad__ptx_instruction {
    spad__ptx_op op;                /* SPAD__PTX_OP_UNKNOWN: none that is known */
    int32_t guard;                  /* predicate register of "@p"; -1: none */
    bool guard_negated;             /* "@!p" */
    uint8_t type_count;             /* types in the order of the text: cvt.f32.u32 has two */
    uint8_t types[SPAD__PTX_TYPES]; /* spad__ptx_type */
    uint8_t vector;                 /* .v2, .v4, .v8; 1: none */
    uint8_t space;        /* spad__ptx_space of the first space that is named; NO_SPACE: generic */
    uint8_t second_space; /* of the second, as in cp.async.bulk.shared.global */
    uint16_t shape[3];    /* .m64n128k16; 0: none */
    bool unknown_word;    /* a modifier that is not in ptx_words.h */
    spad__ptx_word_set words; /* all other modifiers */
    int32_t first; /* its operands in the module's list, destinations first, as in the text */
    int32_t count;
    int32_t location; /* in the module's locations; -1: none */
    int32_t line;     /* of the PTX text, from 1 */
    spad__span name;  /* the opcode with its modifiers in the text */
} spad__ptx_instruction;

/* ---- variables ------------------------------------------------------------------------------ */

/* An address in an initialiser: variable + addend at `offset` of the bytes. */
typedef struct spad__ptx_relocation {
    int64_t offset;
    int32_t variable; /* -1: a function */
    int32_t function;
    int64_t addend;
    bool generic; /* generic(name) */
} spad__ptx_relocation;

typedef struct spad__ptx_variable {
    const char *name;
    uint8_t space;
    uint8_t type;  /* spad__ptx_type of its elements */
    bool external; /* .extern: of unknown size where bytes is 0 (dynamic shared memory) */
    bool pointer;  /* parameter with .ptr */
    uint8_t pointer_space;
    int64_t align;
    int64_t bytes;
    const uint8_t *initial; /* NULL: zeros (global, const) or nothing (others) */
    int32_t first_relocation;
    int32_t relocation_count;
    int32_t line;
} spad__ptx_variable;

/* Of a range such as %r<100>, only the registers that the body names. */
typedef struct spad__ptx_register {
    const char *name;
    uint8_t type;
} spad__ptx_register;

/* ---- functions and lines ----------------------------------------------------------------------
 */

/* .loc, and the call that its line was inlined into. */
typedef struct spad__ptx_location {
    int32_t file; /* .file number as index of the module's files; -1: not declared */
    int32_t line;
    int32_t column;
    int32_t inlined_at;   /* location of the call; -1: none */
    const char *function; /* that was inlined, mangled; NULL: not given */
} spad__ptx_location;

/* Where a label list of brx.idx leads; of a .calltargets list, the functions. */
typedef struct spad__ptx_branch_table {
    int32_t first; /* of the module's targets */
    int32_t count;
} spad__ptx_branch_table;

typedef struct spad__ptx_function {
    const char *name; /* mangled */
    bool entry;
    bool external; /* a declaration only */
    int32_t first_instruction;
    int32_t instruction_count;
    int32_t first_register; /* in the module's registers */
    int32_t register_count;
    int32_t first_variable; /* in the module's local variables: parameters first, then what the body
                               declares (.local, .shared, .param of calls) */
    int32_t variable_count;
    int32_t parameter_count;
    int32_t result_count; /* of a function: the first of its parameters are its results. A parameter
                             of space REG is the function's next register, from the first one on */
    int32_t first_table;
    int32_t table_count;
    int32_t most_threads[3];     /* .maxntid; 0: not given */
    int32_t required_threads[3]; /* .reqntid */
    int32_t cluster[3];          /* .reqnctapercluster */
    bool explicit_cluster;
    int32_t most_cluster;   /* .maxclusterrank */
    int32_t most_registers; /* .maxnreg */
    int32_t line;
} spad__ptx_function;

typedef struct spad__ptx_module {
    spad__arena arena;    /* names and initial bytes; the arrays use the same host */
    const char *target;   /* "sm_90a" */
    int32_t architecture; /* 90 */
    int32_t version[2];
    int32_t address_bytes; /* 4 or 8 */
    SPAD_ARRAY(spad__ptx_function) functions;
    SPAD_ARRAY(spad__ptx_instruction) instructions;
    SPAD_ARRAY(spad__ptx_operand) operands;
    SPAD_ARRAY(spad__ptx_register) registers;
    SPAD_ARRAY(spad__ptx_variable) variables; /* of the module */
    SPAD_ARRAY(spad__ptx_variable) locals;    /* of functions */
    SPAD_ARRAY(spad__ptx_relocation) relocations;
    SPAD_ARRAY(spad__ptx_branch_table) tables;
    SPAD_ARRAY(int32_t) targets; /* of branch tables: instructions, counted from the function's */
    SPAD_ARRAY(spad__ptx_location) locations;
    SPAD_ARRAY(const char *) files; /* by number, as index; NULL: not declared */
} spad__ptx_module;

/* Reads a text. `out` is zeroed on failure. SPAD_ERR_SYNTAX: all faults in `diagnostics`.
 * SPAD_ERR_ARGUMENT: more than 256 MiB. O(length). */
spad_status spad__ptx_parse(spad__ptx_module *out, const spad_host *host,
                            const spad__source *source, spad_diagnostics *diagnostics,
                            spad_error *error);
void spad__ptx_module_free(spad__ptx_module *module);

/* Does a text look like PTX? */
bool spad__ptx_detect(const char *text, size_t length);

static inline const spad__ptx_variable *
spad__ptx_variable_of(const spad__ptx_module *m, const spad__ptx_function *f, int32_t variable) {
    return variable >= SPAD__PTX_LOCAL
               ? &m->locals.items[f->first_variable + variable - SPAD__PTX_LOCAL]
               : &m->variables.items[variable];
}

static inline bool spad__ptx_has(const spad__ptx_instruction *i, spad__ptx_word word) {
    return (i->words.bits[word / 64] >> (word % 64) & 1) != 0;
}

#endif
