/* SPDX-License-Identifier: Apache-2.0
 *
 * What the files that turn TTGIR into a kernel share.
 *
 *     ttgir_words.c   types, encodings, locations, names
 *     ttgir_layout.c  layouts of tensors in registers
 *     ttgir_threads.c which warps access which bytes, and where they meet
 *     ttgir_note.c    the statements that were found, before there is a kernel
 *     ttgir_memory.c  operations that touch shared or tensor memory
 *     ttgir_scratch.c shared memory that operations on registers need
 *     ttgir_call.c    functions that are not inlined
 *     ttgir_run.c     scalars, loops, conditions, partitions: runs through a function
 *     ttgir_local.c   which buffers are declared in a loop
 *     ttgir_emit.c    the kernel, through its builder
 *     ttgir.c         the public call
 *
 * A function is run once with expressions for its numbers (scalar.c). Loops stay loops. If
 * something that matters is no expression of rounds and sizes, it is run a second time, with
 * numbers: then loops are unrolled, and the kernel is one of the given sizes.
 */
#ifndef SPAD_READ_TTGIR_H
#define SPAD_READ_TTGIR_H

#include "read/mlir.h"
#include "read/scalar.h"
#include "spad/kernel.h"
#include "spad/ttgir.h"

enum {
    SPAD__TTGIR_RANK = 6,            /* dimensions of a buffer, its stages among them */
    SPAD__TTGIR_NAME = 48,           /* with its NUL */
    SPAD__TTGIR_ARGUMENTS = 1 << 20, /* arguments from here on are rounds that data ends */
    SPAD__TTGIR_NOTES = 400000       /* statements of a function that is run */
};

/* ---- values ------------------------------------------------------------------------ */

typedef enum spad__ttgir_kind {
    SPAD__TTGIR_NOTHING, /* a tensor in registers, a token */
    SPAD__TTGIR_SCALAR,
    SPAD__TTGIR_MASK,    /* bits of a tensor, all 0 where `scalar` is */
    SPAD__TTGIR_POINTER, /* or a descriptor: `buffer` is what it leads to */
    SPAD__TTGIR_VIEW     /* of a buffer */
} spad__ttgir_kind;

/* A part of a buffer: in dimension d of the buffer, `length[d]` elements from `from[d]` on; all of
 * them where length is 0. `order` gives the dimensions of the buffer as those of the view. */
typedef struct spad__ttgir_view {
    spad__scalar stage; /* of a ring; below 0: all */
    int rank;
    int order[SPAD__TTGIR_RANK];
    spad__scalar from[SPAD__TTGIR_RANK];
    int64_t length[SPAD__TTGIR_RANK];
} spad__ttgir_view;

typedef struct spad__ttgir_value {
    spad__ttgir_kind kind;
    spad__scalar scalar;
    int32_t buffer;
    spad__ttgir_view view;
} spad__ttgir_value;

/* ---- buffers ----------------------------------------------------------------------- */

typedef enum spad__ttgir_space {
    SPAD__TTGIR_SHARED,
    SPAD__TTGIR_TMEM,
    SPAD__TTGIR_GLOBAL,
    SPAD__TTGIR_REGISTERS /* operands of products, tiles that threads move: for their time */
} spad__ttgir_space;

typedef struct spad__ttgir_buffer {
    char name[SPAD__TTGIR_NAME];
    spad__ttgir_space space;
    uint64_t key; /* the call and the token it comes from: an operation is a buffer once */
    int32_t op;   /* for its location; -1: none */
    spad_dtype dtype;
    int64_t stages; /* of a ring; 0: no ring */
    int rank;       /* without the stages */
    int64_t dims[SPAD__TTGIR_RANK];
    int64_t offset; /* in its memory, by the compiler; -1: not given */
    int64_t align;  /* 0: not given */
    bool barrier;   /* mbarriers */
    bool moved;     /* registers that threads move a tile through */
    bool scratch;   /* of an operation, while it runs */
    int stream;     /* scratch: whose */
    bool folded;    /* its dimensions are not those of its type: no parts of it */
    bool local;     /* declared where it is allocated or first used, in a loop */
    bool computed;  /* scratch: its size follows from layouts, and is not in the text */
    int64_t count;  /* arrivals */
    bool read, written;
    bool repeats; /* written by several warps with the same elements */
    int64_t row;  /* in the kernel: tensor or synchronisation object */
} spad__ttgir_buffer;

/* ---- notes ------------------------------------------------------------------------- */

typedef enum spad__ttgir_unit {
    SPAD__TTGIR_NO_UNIT,
    SPAD__TTGIR_CP,
    SPAD__TTGIR_TMA,
    SPAD__TTGIR_WGMMA,
    SPAD__TTGIR_TC5,
    SPAD__TTGIR_UNITS
} spad__ttgir_unit;

typedef enum spad__ttgir_group {
    SPAD__TTGIR_NO_GROUP,
    SPAD__TTGIR_LOADS,  /* cp.async */
    SPAD__TTGIR_STORES, /* TMA */
    SPAD__TTGIR_MMAS,   /* wgmma */
    SPAD__TTGIR_DONE,   /* tcgen05 that the program waits for at once */
    SPAD__TTGIR_GROUPS
} spad__ttgir_group;

typedef enum spad__ttgir_note_kind {
    SPAD__NOTE_FOR, /* loop, trips */
    SPAD__NOTE_IF,  /* condition */
    SPAD__NOTE_ELSE,
    SPAD__NOTE_END,
    SPAD__NOTE_OPERATION, /* name, unit, accesses, deliver, group */
    SPAD__NOTE_STATEMENT, /* statement, buffer (mbarrier) or group, stage, amount, unit */
    SPAD__NOTE_JOIN,      /* all agents meet */
    SPAD__NOTE_MEET,      /* all warps of the partition meet */
    SPAD__NOTE_ALLOCATE   /* buffer, in a loop */
} spad__ttgir_note_kind;

typedef struct spad__ttgir_access {
    int32_t buffer;
    unsigned kind;  /* SPAD_ACCESS_... */
    int32_t spread; /* SPAD__SPREAD_..., or the number of a map from 1 on */
    spad__ttgir_view view;
} spad__ttgir_access;

/* Which warps of a partition access which bytes. */
enum {
    SPAD__SPREAD_NONE = 0,
    SPAD__SPREAD_ALL = -1,
    SPAD__SPREAD_ONE = -2,
    SPAD__SPREAD_TOGETHER = -3,
    SPAD__SPREAD_UNKNOWN = -4,
    SPAD__SPREAD_REPEATED = -5 /* by a layout: several warps have the same elements */
};

typedef struct spad__ttgir_note {
    spad__ttgir_note_kind kind;
    int stream; /* whose: SPAD__STREAM_..., or a partition */
    int32_t op;
    const char *name; /* static; "": that of the operation */
    bool matrix;      /* runs on the tensor engine, without a unit */
    spad__ttgir_unit unit;
    spad__ttgir_group group;
    spad_statement_kind statement;
    int64_t loop;
    spad__scalar scalar; /* trips, condition or amount; below 0: none */
    spad__scalar expect;
    int32_t buffer; /* mbarrier; of an operation: the one it delivers to; -1: none */
    spad__scalar stage;
    unsigned flags;
    uint32_t first_access;
    uint32_t access_count;
} spad__ttgir_note;

enum { SPAD__STREAM_BEFORE, SPAD__STREAM_AFTER, SPAD__STREAM_DEFAULT, SPAD__STREAM_PARTITION };

typedef struct spad__ttgir_agent {
    int64_t warps;
    int64_t registers; /* 0: not stated */
    int64_t meet;      /* in the kernel: the barrier where its warps meet; -1: none */
} spad__ttgir_agent;

/* A size of the function, or an expression of sizes, that became a parameter of the kernel. */
typedef struct spad__ttgir_param {
    char name[SPAD__TTGIR_NAME];
    spad__scalar trips; /* how often a loop runs: its value */
    spad__scalar node;  /* value * step; the same as trips where step is 1 */
    int64_t step;
    int64_t value;
    bool any;           /* the program finds it out while it runs */
    uint64_t arguments; /* of the function, that it stands for */
    spad_expr expr;
} spad__ttgir_param;

typedef struct spad__ttgir_argument {
    uint32_t name; /* token */
    bool given;
    bool integer;
    int64_t value;
} spad__ttgir_argument;

/* Where a function was called: the call around it, and the operation. */
typedef struct spad__ttgir_caller {
    uint32_t call;
    int32_t op;
} spad__ttgir_caller;

/* Which warp has which element, in the bits of the element's number: what warp 0 has, as rows from
 * high to low, and by how much the others are moved. Two of them are the same where all is. */
enum { SPAD__TTGIR_MAP_BITS = 32, SPAD__TTGIR_WARP_BITS = 6 };
typedef struct spad__ttgir_map {
    int bits;
    int own_count;
    uint64_t own[SPAD__TTGIR_MAP_BITS];
    int warp_bits;
    uint64_t warps[SPAD__TTGIR_WARP_BITS];
    bool repeats; /* several warps have the same elements */
} spad__ttgir_map;

/* A location: of the file, or the name of a variable and where it is. */
typedef struct spad__ttgir_place {
    uint32_t file; /* a string; 0: unknown */
    int32_t line;
    uint32_t name; /* a string; 0: none */
    uint32_t call; /* the token of the location of the call; 0: none */
} spad__ttgir_place;

typedef struct spad__ttgir {
    spad__mlir *m;
    const spad_host *host;
    const spad_kernel_options *options;
    const spad_target *target;
    spad__scalars scalars;
    SPAD_ARRAY(spad__ttgir_value) values;
    SPAD_ARRAY(bool) used; /* by value: an operation has it as an operand */
    SPAD_ARRAY(spad__ttgir_buffer) buffers;
    spad__index buffer_index; /* by key; those of tiles that threads move are not in it */
    SPAD_ARRAY(spad__ttgir_note) notes;
    SPAD_ARRAY(spad__ttgir_access) accesses;
    SPAD_ARRAY(spad__ttgir_map) maps; /* those of accesses, each once */
    SPAD_ARRAY(spad__ttgir_param) params;
    SPAD_ARRAY(spad__ttgir_argument) arguments;
    SPAD_ARRAY(spad__ttgir_agent) agents; /* default first; none: no partitions */
    int32_t function;                     /* its operation */
    int32_t op;                           /* that is looked at */
    int stream;
    bool dry;        /* only scalars and views count */
    bool run;        /* with numbers */
    bool numbers;    /* never with expressions */
    bool any_rounds; /* a loop whose rounds are not known has any number of them */
    bool failed;     /* a fault was reported, or no memory */
    bool unclear;    /* something that matters is no expression */
    int32_t unclear_op;
    char unclear_why[120];
    SPAD_ARRAY(int32_t) functions;        /* of the module */
    SPAD_ARRAY(spad__ttgir_caller) calls; /* those that were met */
    uint32_t call;                        /* that is run, from 1 on; 0: the function itself */
    int64_t call_base;                    /* of the shared memory of that call */
    int call_depth;
    int64_t call_count; /* in this pass */
    int regions;        /* warp_specialize so far */
    int loops;          /* around */
    int64_t programs;   /* tt.get_num_programs */
    int64_t program[3]; /* tt.get_program_id x, y, z */
    int64_t warps;
    int64_t blocks;         /* of a cluster */
    bool shared_barriers;   /* one mbarrier for several blocks is written as such: 3.9 */
    int64_t shared_bytes;   /* of the compiler's own layout; -1: not in the text */
    bool specialised;       /* the function has a warp_specialize: its kernel has agents */
    int retired;            /* buffers that others took the place of */
    int32_t inner_op;       /* a loop in a loop whose rounds data decides; -1: none */
    int32_t masked_op;      /* a copy that data decides about; -1: none */
    int64_t register_bytes; /* of operands of products, and of tiles that threads move */
    bool matrix_registers;  /* products of this chip have operands in registers */
    bool thread_registers;  /* its threads have registers */
    bool has_offsets;
    bool meets; /* the text has the barriers between the warps of a partition */
    /* while the kernel is made */
    spad_kernel_builder *builder;
    uint64_t used_arguments;      /* as numbers, outside of parameters */
    SPAD_ARRAY(spad_expr) rounds; /* by loop: its variable */
    int depth;                    /* of open blocks */
    bool shorter[256];            /* by depth: a loop with a condition for its last rounds */
    SPAD_ARRAY(char *) names;
} spad__ttgir;

/* ---- words -------------------------------------------------------------------------- */

/* A type "3x128x64xf16, #shared, #smem": dims and dtype. False: not one we know. */
typedef struct spad__ttgir_type {
    int rank;
    int64_t dims[SPAD__TTGIR_RANK];
    spad_dtype dtype;
    uint32_t encoding; /* token; 0: none */
    bool tensor_memory;
} spad__ttgir_type;
bool spad__ttgir_read_type(spad__ttgir *t, uint32_t at, uint32_t end, spad__ttgir_type *out);
/* The first "tensor<128x64x!tt.ptr<f16>>" of the operation. */
bool spad__ttgir_read_pointers(const spad__ttgir *t, const spad__mlir_op *op,
                               spad__ttgir_type *out);
/* The last "!ttg.memdesc<" of the operation; 0: none. */
uint32_t spad__ttgir_last_memdesc(const spad__ttgir *t, const spad__mlir_op *op);
/* The n-th "tensor" of the operands' types, or of the results'; 0: none. */
uint32_t spad__ttgir_nth_tensor(const spad__ttgir *t, const spad__mlir_op *op, int n, bool result);
/* The type of operand or result `which` of a product, as the token of its "tensor"; 0: none. */
uint32_t spad__ttgir_tensor_type(const spad__ttgir *t, const spad__mlir_op *op, int which);
/* Rank that the encoding is for (0: not known), and the alignment that it needs (0: none). */
void spad__ttgir_read_encoding(const spad__ttgir *t, const spad__ttgir_type *type, int *rank,
                               int64_t *align);
/* Is it of scales in tensor memory? */
bool spad__ttgir_has_scales(const spad__ttgir *t, const spad__ttgir_type *type);
/* The number of a constant, which attributes may come before: "arith.constant {a = 1} 127 : i32".
 */
uint32_t spad__ttgir_constant(const spad__ttgir *t, const spad__mlir_op *op);
/* What an operation does with other blocks of a cluster; NULL: nothing. */
const char *spad__ttgir_remote(spad__ttgir *t, const spad__mlir_op *op);
/* The location at a '(' of loc(...). */
spad__ttgir_place spad__ttgir_place_at(const spad__ttgir *t, uint32_t at);
/* A name for a thing of the operation: that of the user's variable, or of the value. */
#define SPAD__TTGIR_NO_NAME "buffer"
void spad__ttgir_name(const spad__ttgir *t, const spad__mlir_op *op, char *name);
void spad__ttgir_word_name(const spad__ttgir *t, uint32_t token, char *name);
/* Makes the name one that no other thing has. False: no memory. */
bool spad__ttgir_unique(spad__ttgir *t, char *name, const char *suffix);

/* ---- notes -------------------------------------------------------------------------- */

spad__ttgir_note *spad__ttgir_note_add(spad__ttgir *t, spad__ttgir_note_kind kind);
spad__ttgir_note *spad__ttgir_note_statement(spad__ttgir *t, spad_statement_kind statement);
spad__ttgir_note *spad__ttgir_note_operation(spad__ttgir *t, const char *name,
                                             spad__ttgir_unit unit);
/* A number as an expression of rounds and sizes; unclear with that reason where it is not one. */
spad__scalar spad__ttgir_clear(spad__ttgir *t, spad__scalar n, const char *why);
/* Adds an access to the newest note. */
void spad__ttgir_note_access(spad__ttgir *t, const spad__ttgir_value *value, unsigned kind);
/* Begins an `if`, unless the condition is certain: returns false where it never holds. */
bool spad__ttgir_note_if(spad__ttgir *t, spad__scalar condition, bool *open);
void spad__ttgir_note_end(spad__ttgir *t, bool open);
/* Something that matters is no expression: the function is run with numbers. */
void spad__ttgir_unclear(spad__ttgir *t, const char *why);
/* A fault of the operation that is looked at; a dry run reports none, because the other one does.
 */
#define SPAD__TTGIR_FAULT(t, ...)                                                   \
    do {                                                                            \
        if (!(t)->dry) {                                                            \
            (t)->failed = true;                                                     \
            SPAD__MLIR_FAULT((t)->m, (t)->m->ops.items[(t)->op].name, __VA_ARGS__); \
        }                                                                           \
    } while (0)

/* ---- layouts -------------------------------------------------------------------------- */

/* Of a tensor in registers: for each dimension what a thread has in a row, and how many lanes and
 * warps have parts of it. */
typedef struct spad__ttgir_layout {
    int rank;
    int64_t shape[SPAD__TTGIR_RANK]; /* what one block has */
    int64_t elements[SPAD__TTGIR_RANK];
    int64_t lanes[SPAD__TTGIR_RANK];
    int64_t warps[SPAD__TTGIR_RANK];
    bool repeats; /* some threads have the same elements as others */
    bool whole;   /* elements and lanes are known as well */
} spad__ttgir_layout;
/* False: a layout that is not known, or none. */
bool spad__ttgir_read_layout(const spad__ttgir *t, const spad__ttgir_type *type,
                             spad__ttgir_layout *out);
/* order[d]: the dimension of the memory that dimension d of the tensor is. False: not known. */
bool spad__ttgir_read_map(const spad__ttgir *t, const spad__ttgir_type *type, const int *order,
                          spad__ttgir_map *map);
/* Where the blocks of a cluster are in a tensor: one row for each bit of a block's number. */
enum { SPAD__TTGIR_BASES = 16 };
typedef struct spad__ttgir_bases {
    size_t count;
    int64_t rows[SPAD__TTGIR_BASES][SPAD__TTGIR_RANK];
} spad__ttgir_bases;
/* False: the encoding says nothing about blocks; none then. */
bool spad__ttgir_read_blocks(const spad__ttgir *t, uint32_t encoding, int rank,
                             spad__ttgir_bases *out);
/* Into how many parts the blocks of a cluster divide each dimension; 1 without a cluster. */
void spad__ttgir_split(const spad__ttgir *t, uint32_t encoding, int rank, int64_t *split);

/* ---- warps ----------------------------------------------------------------------------- */

/* Are the barriers in the text, and for addresses that are there as well? */
bool spad__ttgir_has_barriers(const spad__ttgir *t, const spad__mlir_op *module);
/* Is it one of a partition, for shared memory? */
bool spad__ttgir_is_barrier(const spad__mlir *m, const spad__mlir_op *op);
/* All warps of the partition meet, by the operation that is looked at. */
void spad__ttgir_note_meet(spad__ttgir *t);
/* Which warps access which bytes, of the access that was noted last. */
void spad__ttgir_note_spread(spad__ttgir *t, int32_t spread);
/* That of a tensor in registers and a view of memory of the same shape: its type is at this token
 * (0: none). */
int32_t spad__ttgir_spread_of(spad__ttgir *t, uint32_t type, const spad__ttgir_value *view);
/* The same for a tensor of pointers, which memory is copied by. */
int32_t spad__ttgir_spread_of_pointers(spad__ttgir *t, const spad__mlir_op *op,
                                       const spad__ttgir_value *view);
/* What a product of groups of four warps accesses. */
int32_t spad__ttgir_spread_of_groups(const spad__ttgir *t);
/* Scratch memory of an operation: how it is written, and read, and whether the warps meet between
 * them. */
typedef struct spad__ttgir_exchange {
    int32_t writes;
    int32_t reads;
    bool meets;
    bool first, last; /* they also meet before it; and after it, where it has no scratch memory */
} spad__ttgir_exchange;
spad__ttgir_exchange spad__ttgir_exchange_of(spad__ttgir *t, const spad__mlir_op *op);
/* The word of a spread in the kernel, NULL: none. */
const char *spad__ttgir_spread_word(const spad__ttgir *t, const spad__ttgir_access *access,
                                    char *name, size_t size);

/* ---- scratch memory -------------------------------------------------------------------- */

/* What an operation on registers writes to shared memory and reads again, if it does. */
void spad__ttgir_scratch(spad__ttgir *t, const spad__mlir_op *op);
/* What the program hands over to the partitions of a warp_specialize, before they start. */
void spad__ttgir_hand_over(spad__ttgir *t, const spad__mlir_op *op);
/* After the last one: the partitions are told to end. */
void spad__ttgir_end_partitions(spad__ttgir *t);

/* ---- operations ---------------------------------------------------------------------- */

const spad__ttgir_value *spad__ttgir_operand(const spad__ttgir *t, const spad__mlir_op *op,
                                             uint32_t number);
/* A number; DATA where it is not known. */
spad__scalar spad__ttgir_scalar(spad__ttgir *t, const spad__mlir_op *op, uint32_t number);
void spad__ttgir_set(spad__ttgir *t, const spad__mlir_op *op, int32_t result,
                     spad__ttgir_value value);
spad__ttgir_value spad__ttgir_of_scalar(spad__scalar scalar);
/* The buffer of this token in this call, or a new one. -1: no memory. */
int32_t spad__ttgir_buffer_of(spad__ttgir *t, uint32_t token, bool *fresh);
/* Without loops, what is allocated again is another buffer with a life of its own: this one is not
 * found any more. Not for mbarriers, agents, and long runs, where it stays the same one. */
void spad__ttgir_retire(spad__ttgir *t, int32_t buffer);
/* All of a buffer. */
spad__ttgir_value spad__ttgir_whole(const spad__ttgir *t, int32_t buffer);
/* The address that the compiler gave the operation in shared memory, -1: none. */
int64_t spad__ttgir_offset(const spad__ttgir *t, const spad__mlir_op *op);
/* What a pointer leads to has the shape of what is copied, the first time. */
/* The registers that threads move a tile through, added to the newest operation. Only their size
 * matters, for the time: one tensor for each shape, and none that would fill the registers. Of the
 * main program only: agents count their registers. */
void spad__ttgir_note_moved(spad__ttgir *t, const spad__ttgir_value *tile, unsigned kind);
void spad__ttgir_shape_like(spad__ttgir *t, const spad__ttgir_value *pointer,
                            const spad__ttgir_value *view);
/* An operation on memory; false: not one that we know. */
bool spad__ttgir_memory(spad__ttgir *t, const spad__mlir_op *op);

/* ---- functions ------------------------------------------------------------------------ */

/* Lists the functions of the module that begins with this operation. False: no memory. */
bool spad__ttgir_list_functions(spad__ttgir *t, int32_t first);
/* Runs the function that is called, as if it were written here. */
typedef bool spad__ttgir_runner(spad__ttgir *t, int32_t region, const spad__mlir_op **end);
void spad__ttgir_call(spad__ttgir *t, const spad__mlir_op *op, spad__ttgir_runner *run);
void spad__ttgir_set_argument(spad__ttgir *t, int32_t region, uint32_t number,
                              spad__ttgir_value value);

/* ---- the whole ---------------------------------------------------------------------- */

/* Runs through the function. False: a fault, no memory, or unclear. */
bool spad__ttgir_run(spad__ttgir *t);
/* spad_kernel_read_ttgir; with `numbers` the function is run in any case, for tests: both kernels
 * have the same events. */
spad_status spad__ttgir_read(spad_kernel **out, spad_ttgir_info *info, const spad__source *source,
                             const spad_kernel_options *options, bool numbers,
                             spad_diagnostics *diagnostics, spad_error *error);
/* Which buffers are declared in the block that uses them. */
spad_status spad__ttgir_find_local(spad__ttgir *t, spad_error *error);
spad_status spad__ttgir_emit(spad__ttgir *t, spad_kernel **out, const char *file,
                             spad_error *error);

#endif
