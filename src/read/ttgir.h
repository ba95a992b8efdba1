/* SPDX-License-Identifier: Apache-2.0
 *
 * What the files that turn TTGIR into a kernel share.
 *
 *     ttgir_words.c   types, encodings, locations, names
 *     ttgir_loaded.c  numbers that the program loads and the caller gives
 *     ttgir_layout.c  layouts of tensors in registers
 *     ttgir_threads.c which warps access which bytes, and where they meet
 *     ttgir_numbers.c arithmetic on whole numbers
 *     ttgir_rounds.c  loops that data ends, and what depends on their rounds
 *     ttgir_note.c    the statements that were found, before there is a kernel
 *     ttgir_view.c    parts of buffers, and other shapes of them
 *     ttgir_memory.c  operations that touch shared or tensor memory
 *     ttgir_result.c  results of products that are read too early
 *     ttgir_scratch.c shared memory that operations on registers need
 *     ttgir_call.c    functions that are not inlined
 *     ttgir_cluster.c blocks of a cluster that touch the memory of one another
 *     ttgir_run.c     runs through a function; partitions of warps
 *     ttgir_block.c   loops and conditions
 *     ttgir_branch.c  blocks with branches: a return that is not the last statement
 *     ttgir_local.c   which buffers are declared in a loop
 *     ttgir_expr.c    numbers, conditions and parameters of the kernel
 *     ttgir_emit.c    the kernel, through its builder
 *     ttgir_dialect.c texts that are no TTGIR
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
    SPAD__TTGIR_RANK = 6,             /* dimensions of a buffer, its stages among them */
    SPAD__TTGIR_NAME = 48,            /* with its NUL */
    SPAD__TTGIR_ARGUMENTS = 1 << 20,  /* arguments from here on are rounds that data ends */
    SPAD__TTGIR_NOTES = 400000,       /* statements of a function that is run */
    SPAD__TTGIR_RUN_ROUNDS = 1 << 20, /* rounds of its loops */
    SPAD__TTGIR_ROUNDS_OF_DATA = 3,   /* of a loop that data ends, unless a number is given */
    SPAD__TTGIR_BLOCKS = 16           /* of a cluster */
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
    bool reshaped; /* its dimensions are no longer those of the buffer: no parts of it */
    int64_t bits;  /* of one of its elements, in columns of tensor memory that has another type; 0:
                      those of the buffer */
} spad__ttgir_view;

typedef struct spad__ttgir_value {
    spad__ttgir_kind kind;
    spad__scalar scalar;
    spad__scalar place; /* POINTER: elements from the argument on; below 0: not known */
    int32_t buffer;
    spad__ttgir_view view;
    spad__scalar decided; /* of a condition that is no number: one more than the DATA that stands
                             for it; 0: none does yet */
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
    bool skipped;  /* by a product whose predicate does not hold */
    bool freed;    /* by local_dealloc, since it was allocated */
    int loops;     /* around its allocation */
    bool repeats;  /* written by several warps with the same elements */
    uint32_t same; /* bits of a block's number: blocks that differ in them have the same elements */
    bool remote;   /* another block accesses it, or arrives at it */
    bool ended;    /* mbarriers: invalidated by the program */
    int64_t row;   /* in the kernel: tensor or synchronisation object */
} spad__ttgir_buffer;

/* How many elements a view has in dimension d of its buffer. */
static inline int64_t spad__ttgir_extent(const spad__ttgir_buffer *b, const spad__ttgir_view *view,
                                         int d) {
    return view->length[d] > 0 ? view->length[d] : b->dims[d];
}

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
    SPAD__NOTE_CLUSTER,   /* all blocks of the cluster meet */
    SPAD__NOTE_ALLOCATE   /* buffer, in a loop */
} spad__ttgir_note_kind;

typedef struct spad__ttgir_access {
    int32_t buffer;
    int block;      /* of the cluster, in whose memory it is */
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
    SPAD__SPREAD_REPEATED = -5, /* by a layout: several warps have the same elements */
    SPAD__SPREAD_LANES = -6     /* each lane of the memory is of one warp */
};

typedef struct spad__ttgir_note {
    spad__ttgir_note_kind kind;
    int stream; /* whose: SPAD__STREAM_..., or a partition */
    int block;  /* of the cluster, which does it */
    int32_t op;
    const char *name; /* static; "": that of the operation */
    bool free;        /* takes no time */
    bool matrix;      /* runs on the tensor engine, without a unit */
    spad__ttgir_unit unit;
    spad__ttgir_group group;
    spad_statement_kind statement;
    int64_t loop;
    spad__scalar scalar; /* trips, condition or amount; below 0: none */
    spad__scalar expect;
    int32_t buffer;  /* mbarrier; of an operation: the one it delivers to; -1: none */
    uint32_t blocks; /* as bits: whose mbarrier it is */
    uint32_t joined; /* bits of a block's number that the mbarrier is one for */
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

/* A condition that only data decides: both happen, and the check looks at both. */
typedef struct spad__ttgir_unknown {
    spad__scalar scalars[SPAD__TTGIR_BLOCKS]; /* by block of a cluster; below 0: none */
    uint32_t name;                            /* token of a value */
    spad_expr expr;
} spad__ttgir_unknown;
enum { SPAD__TTGIR_UNKNOWNS = 10 }; /* 1024 ways */

typedef struct spad__ttgir_argument {
    uint32_t name; /* token */
    bool given;
    bool integer;
    bool stored; /* something may be stored through it, or it is not known where it leads */
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

/* Values of the caller. */
enum { SPAD__TTGIR_DEFINES = 256 };

/* Runs through a region. False: stop. *end: the operation that ends it; NULL: none does. */
typedef struct spad__ttgir spad__ttgir;
typedef bool spad__ttgir_runner(spad__ttgir *t, int32_t region, const spad__mlir_op **end);

struct spad__ttgir {
    spad__ttgir_runner *run_region; /* of ttgir_run.c, for operations with regions */
    /* the operations from `first` up to, but without, `end`. False: stop */
    bool (*run_ops)(spad__ttgir *t, int32_t first, int32_t end);
    spad__mlir *m;
    const spad_host *host;
    const spad_kernel_options *options;
    const spad_target *target;
    spad__scalars scalars;
    SPAD_ARRAY(spad__ttgir_value) values;
    SPAD_ARRAY(bool) used;      /* by value: an operation has it as an operand */
    SPAD_ARRAY(int32_t) givers; /* by value: the operation that it is a result of; -1: none */
    SPAD_ARRAY(int32_t)
    origins;                    /* by value: one more than the argument whose memory it leads to;
                                   0: none that is known */
    SPAD_ARRAY(int32_t) bounds; /* by value: of a loop that data ends (ttgir_rounds.c) */
    SPAD_ARRAY(spad__ttgir_buffer) buffers;
    spad__index buffer_index; /* by key; those of tiles that threads move are not in it */
    SPAD_ARRAY(spad__ttgir_note) notes;
    SPAD_ARRAY(spad__ttgir_access) accesses;
    SPAD_ARRAY(spad__ttgir_map) maps; /* those of accesses, each once */
    SPAD_ARRAY(spad__ttgir_param) params;
    spad__ttgir_unknown unknowns[SPAD__TTGIR_UNKNOWNS];
    size_t unknown_count;
    uint32_t steady_end;  /* what stands before this token of the text is the same in all rounds of
                             the loops around; 0: no loops */
    uint32_t steady_call; /* the call that these loops are in */
    SPAD_ARRAY(spad__ttgir_argument) arguments;
    SPAD_ARRAY(spad__ttgir_agent) agents; /* default first; none: no partitions */
    int32_t function;                     /* its operation */
    int32_t op;                           /* that is looked at */
    int stream;
    bool dry;         /* only scalars and views count */
    bool run;         /* with numbers */
    bool numbers;     /* never with expressions */
    bool any_rounds;  /* a loop whose rounds are not known has any number of them */
    bool whole_steps; /* loops that data ends, end after whole steps */
    bool failed;      /* a fault was reported, or no memory */
    bool unclear;     /* something that matters is no expression */
    int32_t unclear_op;
    char unclear_why[120];
    SPAD_ARRAY(int32_t) functions;        /* of the module */
    SPAD_ARRAY(spad__ttgir_caller) calls; /* those that were met */
    uint32_t call;                        /* that is run, from 1 on; 0: the function itself */
    int64_t call_base;                    /* of the shared memory of that call */
    int call_depth;
    int64_t call_count;               /* in this pass */
    int regions;                      /* warp_specialize so far */
    int loops;                        /* around */
    int64_t rounds_run;               /* of loops that are run with numbers */
    int64_t programs;                 /* tt.get_num_programs */
    int64_t program[3];               /* tt.get_program_id x, y, z */
    int64_t handed_out;               /* tiles of a block, by cluster launch control */
    int32_t handed_op;                /* a loop over them that was run; -1: none */
    bool loaded[SPAD__TTGIR_DEFINES]; /* by value of the caller: it is that of a load */
    bool has_loaded;                  /* one of them is */
    int64_t warps;
    bool warps_given; /* by the module; else they are 4 */
    int64_t blocks;   /* of a cluster */
    int ranks;        /* blocks that the kernel has: all where they touch one another */
    int rank;         /* the one that is run, or whose statements are made */
    bool pairs;       /* products of two blocks */
    bool began;       /* mbarriers were initialised, and the blocks have not met since */
    bool released;    /* a fence makes that known to the cluster */
    size_t first_buffers[SPAD__TTGIR_BLOCKS + 1]; /* by block */
    enum { SPAD__PRODUCTS_UNKNOWN, SPAD__PRODUCTS_NONE, SPAD__PRODUCTS_SOME } products; /* async */
    bool shared_barriers;   /* one mbarrier for several blocks is written as such: 3.9 */
    int64_t shared_bytes;   /* of the compiler's own layout; -1: not in the text */
    bool specialised;       /* the function has a warp_specialize: its kernel has agents */
    int retired;            /* buffers that others took the place of */
    int32_t inner_op;       /* a loop in a loop whose rounds data decides; -1: none */
    int32_t steps_op;       /* a loop with an end, or a start, of data; -1: none */
    int32_t unread_op;      /* a load that is left out where its product is; -1: none */
    int32_t again_op;       /* a load of what was loaded before; -1: none */
    int32_t same_op;        /* a condition that data decides again in each round; -1: none */
    int32_t empty_op;       /* a loop that has no rounds; -1: none */
    int32_t left_op;        /* a return that only some blocks of the grid take; -1: none */
    int32_t ended_op;       /* a return before the end, that is taken; -1: none */
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
    spad__scalar conditions[256]; /* by depth: it holds in this block; below 0: none */
    bool shorter[256];            /* by depth: a loop with a condition for its last rounds */
    SPAD_ARRAY(char *) names;
};

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
/* Bits of the type of a number that a program counts with; 0: the token is none. */
int spad__ttgir_integer_bits(const spad__mlir *m, uint32_t at);
/* The first "tensor<128x64x!tt.ptr<f16>>" of the operation. */
bool spad__ttgir_read_pointers(const spad__ttgir *t, const spad__mlir_op *op,
                               spad__ttgir_type *out);
/* The last "!ttg.memdesc<" of the operation; 0: none. */
uint32_t spad__ttgir_last_memdesc(const spad__ttgir *t, const spad__mlir_op *op);
/* The n-th "tensor" of the operands' types, or of the results'; 0: none. */
uint32_t spad__ttgir_nth_tensor(const spad__ttgir *t, const spad__mlir_op *op, int n, bool result);
/* What that tensor is; false: none, or not known. */
bool spad__ttgir_nth_type(spad__ttgir *t, const spad__mlir_op *op, int n, bool result,
                          spad__ttgir_type *out);
/* The type of operand or result `which` of a product, as the token of its "tensor"; 0: none. */
uint32_t spad__ttgir_tensor_type(const spad__ttgir *t, const spad__mlir_op *op, int which);
/* Rank that the encoding is for (0: not known), and the alignment that it needs (0: none). */
void spad__ttgir_read_encoding(const spad__ttgir *t, const spad__ttgir_type *type, int *rank,
                               int64_t *align);
/* How many of the first dimensions of memory are stages of a ring: 0 or 1. */
int spad__ttgir_stage_dims(const spad__ttgir *t, const spad__ttgir_type *type);
/* How many columns of 32 bits, or parts of one, lie between two elements of a row of 128 lanes of
 * tensor memory, which are side by side for 1. 0: another order of lanes, or not known. */
int64_t spad__ttgir_column_stride(const spad__ttgir *t, const spad__ttgir_type *type);
/* Is it of scales in tensor memory? */
bool spad__ttgir_has_scales(const spad__ttgir *t, const spad__ttgir_type *type);
/* Scales of rows x columns bytes, as they are in tensor memory: 32 rows at a time, side by side,
 * the same in each quarter of the lanes. Parts of them are all of them here. False: too large. */
bool spad__ttgir_fold_scales(int64_t *dims);
/* The number of a constant, which attributes may come before: "arith.constant {a = 1} 127 : i32".
 */
uint32_t spad__ttgir_constant(const spad__ttgir *t, const spad__mlir_op *op);
/* Has an operation an mbarrier that several blocks of a cluster use? */
bool spad__ttgir_joins(spad__ttgir *t, const spad__mlir_op *op);
/* The location at a '(' of loc(...). */
spad__ttgir_place spad__ttgir_place_at(const spad__ttgir *t, uint32_t at);
/* The name that an argument has in the program, as a token: a variable that it is assigned to may
 * have given its own to the value. */
uint32_t spad__ttgir_argument_name(const spad__ttgir *t, const spad__mlir_value *value);
/* A name for a thing of the operation: that of the user's variable, or of the value. */
#define SPAD__TTGIR_NO_NAME "buffer"
void spad__ttgir_name(const spad__ttgir *t, const spad__mlir_op *op, char *name);
void spad__ttgir_word_name(const spad__ttgir *t, uint32_t token, char *name);
/* Makes the name one that no other thing has. False: no memory. */
bool spad__ttgir_unique(spad__ttgir *t, char *name, const char *suffix);

/* ---- texts that are something else --------------------------------------------------- */

/* False: a fault says that the text is of a version of Triton with another dialect. */
bool spad__ttgir_is_new_dialect(const spad__ttgir *t);
/* False: a fault says that it is TTIR, which the compiler makes TTGIR of. */
bool spad__ttgir_is_not_ttir(const spad__ttgir *t);

/* ---- numbers from memory ------------------------------------------------------------ */

/* Which values of the caller are those of loads, and not of something else. */
void spad__ttgir_read_loaded(spad__ttgir *t, bool *used);
/* Is the operation a load of a number that the caller has given? */
bool spad__ttgir_loaded(const spad__ttgir *t, const spad__mlir_op *op, int64_t *value);
/* Where pointers come from, and which arguments are stored through. False: no memory. */
bool spad__ttgir_find_origins(spad__ttgir *t);
/* The number that a load gives, where all loads of that place give the same; below 0: else. */
spad__scalar spad__ttgir_same_load(spad__ttgir *t, const spad__mlir_op *op);
/* The first names of numbers that are loaded and have no value, and of all that have one. */
void spad__ttgir_list_loads(const spad__ttgir *t, char *text, size_t size);
void spad__ttgir_list_loaded(const spad__ttgir *t, char *text, size_t size);

/* ---- arithmetic ----------------------------------------------------------------------- */

/* False: no arithmetic. *out is SPAD__NO_SCALAR for tensors and floats. */
bool spad__ttgir_arithmetic(spad__ttgir *t, const spad__mlir_op *op, spad__scalar *out);
/* The lowest bit, which is the parity of a phase. */
spad__scalar spad__ttgir_low_bit(spad__ttgir *t, spad__scalar n);
/* Is it an operation on i1? */
bool spad__ttgir_is_bit(const spad__ttgir *t, const spad__mlir_op *op);

/* ---- ends of loops that data decides ------------------------------------------------- */

/* From here on, ends of loops that data decides are whole steps away. False: no memory. */
bool spad__ttgir_find_bounds(spad__ttgir *t);
/* Results of an operation that a loop begins or ends with, and comparisons with such. */
void spad__ttgir_set_bounds(spad__ttgir *t, const spad__mlir_op *op);
/* Is it how often a loop runs that data ends? */
static inline bool spad__ttgir_is_rounds(const spad__ttgir *t, spad__scalar n) {
    const spad__scalar_node *node = spad__scalar_get(&t->scalars, n);
    return node->op == SPAD__SCALAR_ARGUMENT && node->value >= SPAD__TTGIR_ARGUMENTS;
}
/* Arguments from the last bit on, rounds that data ends among them. */
#define SPAD__TTGIR_ROUNDS_BIT (UINT64_C(1) << 63)
/* Does it depend on them? Its number at the given sizes is one of many then. An argument of the
 * function beyond the 63rd counts as one of them. */
static inline bool spad__ttgir_has_rounds(const spad__ttgir *t, spad__scalar n) {
    return t->whole_steps &&
           (spad__scalar_get(&t->scalars, n)->arguments & SPAD__TTGIR_ROUNDS_BIT) != 0;
}
/* A comparison with the end of such a loop as one with its rounds; others stay as they are. */
spad__scalar spad__ttgir_in_steps(spad__ttgir *t, spad__scalar n);
/* The rounds of a loop over this distance, where it is one of whole steps; else below 0. */
spad__scalar spad__ttgir_whole_steps(spad__ttgir *t, spad__scalar distance, int64_t step);
/* Where alone the buffer has been written, as a condition; below 0: not known, or in any case. */
spad__scalar spad__ttgir_only_where(spad__ttgir *t, int32_t buffer);

/* ---- notes -------------------------------------------------------------------------- */

spad__ttgir_note *spad__ttgir_note_add(spad__ttgir *t, spad__ttgir_note_kind kind);
spad__ttgir_note *spad__ttgir_note_statement(spad__ttgir *t, spad_statement_kind statement);
spad__ttgir_note *spad__ttgir_note_operation(spad__ttgir *t, const char *name,
                                             spad__ttgir_unit unit);
/* A number as an expression of rounds and sizes; unclear for this reason where it is not one. */
spad__scalar spad__ttgir_clear(spad__ttgir *t, spad__scalar n, const char *why);
/* Adds an access to the newest note. */
void spad__ttgir_note_access(spad__ttgir *t, const spad__ttgir_value *value, unsigned kind);
/* Begins an `if`, unless the condition is certain: returns false where it never holds. */
bool spad__ttgir_note_if(spad__ttgir *t, spad__scalar condition, bool *open);
void spad__ttgir_note_end(spad__ttgir *t, bool open);
/* There is no memory: the reading ends. False. */
bool spad__ttgir_no_memory(spad__ttgir *t);
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
/* The axis of an operation, and the layout of its first operand. False: not known. */
bool spad__ttgir_read_axis(spad__ttgir *t, const spad__mlir_op *op, spad__ttgir_type *type,
                           spad__ttgir_layout *layout, int64_t *axis);
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
/* What one block has of each dimension; the first `ring` of them are stages. */
void spad__ttgir_dims_in_block(const spad__ttgir *t, const spad__ttgir_type *type, int ring,
                               int64_t *dims);
/* The dimensions become those of what one block has. */
void spad__ttgir_take_part(const spad__ttgir *t, spad__ttgir_type *type);

/* ---- warps ----------------------------------------------------------------------------- */

/* Are the barriers in the text, and for addresses that are there as well? */
bool spad__ttgir_has_barriers(const spad__ttgir *t, const spad__mlir_op *module);
/* Is it one of a partition, for shared memory? */
bool spad__ttgir_is_barrier(const spad__mlir *m, const spad__mlir_op *op);
/* All warps of the partition meet, by the operation that is looked at. */
void spad__ttgir_note_meet(spad__ttgir *t);
/* The same where the operation has a barrier of its own. One that does not, in another version, has
 * the attribute "spad.alone". */
void spad__ttgir_note_own_meet(spad__ttgir *t, const spad__mlir_op *op);
/* An arrival that warps do not meet for is one of a single thread: SPAD_BY_ONE, or 0. */
unsigned spad__ttgir_flags_of_arrival(const spad__ttgir *t, const spad__mlir_op *op);
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
    int64_t certain;  /* so many of the first bytes are read by several warps, each of them */
} spad__ttgir_exchange;
spad__ttgir_exchange spad__ttgir_exchange_of(spad__ttgir *t, const spad__mlir_op *op);
/* The word of a spread in the kernel, NULL: none. */
const char *spad__ttgir_spread_word(const spad__ttgir *t, const spad__ttgir_access *access,
                                    char *name, size_t size);

/* ---- clusters --------------------------------------------------------------------------- */

/* What an operation does with other blocks of a cluster; NULL: nothing, or what is known where the
 * kernel has all of them. */
const char *spad__ttgir_remote(spad__ttgir *t, const spad__mlir_op *op);
/* How many blocks the kernel has: 1 where none touches the memory of another one. */
int spad__ttgir_count_ranks(spad__ttgir *t);
/* Bits of a block's number that move nothing in a tensor or buffer. */
uint32_t spad__ttgir_same_bits(const spad__ttgir *t, const spad__ttgir_type *type, int rank);
/* The blocks that differ from this one in these bits only, as bits. */
uint32_t spad__ttgir_peers(const spad__ttgir *t, uint32_t bits);
/* Is the block the one that acts for all that differ in these bits? */
bool spad__ttgir_leads(const spad__ttgir *t, uint32_t bits);
/* Bits of a block's number that an mbarrier is one for. */
uint32_t spad__ttgir_joined(const spad__ttgir *t, const spad__ttgir_value *barrier);
/* The blocks that this one arrives at, by "fromCTA" and "multicastCTA". False: it does not. */
bool spad__ttgir_arrivals(const spad__ttgir *t, const spad__mlir_op *op, uint32_t *blocks);
/* An access to the memory of each of these blocks. */
void spad__ttgir_note_accesses(spad__ttgir *t, const spad__ttgir_value *value, unsigned kind,
                               uint32_t blocks, int32_t spread);
/* The note is about the mbarriers of these blocks. */
void spad__ttgir_arrive_at(spad__ttgir *t, spad__ttgir_note *note, uint32_t blocks);
/* Cluster launch control. */
void spad__ttgir_try_cancel(spad__ttgir *t, const spad__mlir_op *op);
void spad__ttgir_answer(spad__ttgir *t, const spad__mlir_op *op);
/* All blocks meet; `relaxed`: without an order of what they did to memory. */
void spad__ttgir_note_cluster(spad__ttgir *t, bool relaxed);
/* Does a value of the operation go from one block to another through scratch memory? */
bool spad__ttgir_crosses(spad__ttgir *t, const spad__mlir_op *op);
/* Where the text has no barriers: the compiler lets the blocks meet before the first operation that
 * may use an mbarrier of another block. */
void spad__ttgir_meet_blocks(spad__ttgir *t, const spad__mlir_op *op);
/* What one block does to a buffer is also noted at the same buffer of the others. */
void spad__ttgir_align_blocks(spad__ttgir *t);
/* The buffer of a block that is this one of the block `of`. */
spad__ttgir_buffer *spad__ttgir_buffer_in(spad__ttgir *t, int32_t buffer, int of, int block);

/* ---- scratch memory -------------------------------------------------------------------- */

/* What an operation on registers writes to shared memory and reads again, if it does. */
void spad__ttgir_scratch(spad__ttgir *t, const spad__mlir_op *op);
/* What the program hands over to the partitions of a warp_specialize, before they start. */
void spad__ttgir_hand_over(spad__ttgir *t, const spad__mlir_op *op);
/* After the last one: the partitions get the signal to end. */
void spad__ttgir_end_partitions(spad__ttgir *t);

/* ---- operations ---------------------------------------------------------------------- */

/* The value of what is not known, or is no number and no memory. */
extern const spad__ttgir_value spad__ttgir_nothing;
const spad__ttgir_value *spad__ttgir_operand(const spad__ttgir *t, const spad__mlir_op *op,
                                             uint32_t number);
/* A number; DATA where it is not known. */
spad__scalar spad__ttgir_scalar(spad__ttgir *t, const spad__mlir_op *op, uint32_t number);
void spad__ttgir_set(spad__ttgir *t, const spad__mlir_op *op, int32_t result,
                     spad__ttgir_value value);
/* The operands of the operation that ended its region become its results; NULL: none did. */
void spad__ttgir_set_results(spad__ttgir *t, const spad__mlir_op *op, const spad__mlir_op *end);
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
/* The registers that threads move a tile through, added to the newest operation. Only their size
 * matters, for the time: one tensor for each shape, and none that would fill the registers. Of the
 * main program only: agents count their registers. */
void spad__ttgir_note_moved(spad__ttgir *t, const spad__ttgir_value *tile, unsigned kind);
/* What a pointer leads to has the shape of what is copied, the first time. */
void spad__ttgir_shape_like(spad__ttgir *t, const spad__ttgir_value *pointer,
                            const spad__ttgir_value *view);
/* The number that follows an operand: "init_barrier %b, 1". */
bool spad__ttgir_number_after(const spad__ttgir *t, const spad__mlir_op *op, uint32_t operand,
                              int64_t *out);
/* Operations that give views; their first operand is memory. */
void spad__ttgir_index(spad__ttgir *t, const spad__mlir_op *op);
void spad__ttgir_subslice(spad__ttgir *t, const spad__mlir_op *op);
void spad__ttgir_tmem_subslice(spad__ttgir *t, const spad__mlir_op *op);
void spad__ttgir_trans(spad__ttgir *t, const spad__mlir_op *op);
void spad__ttgir_reshape(spad__ttgir *t, const spad__mlir_op *op);
/* Bytes of one tile of a view. */
spad_status spad__ttgir_view_bytes(const spad__ttgir *t, int32_t buffer,
                                   const spad__ttgir_view *view, int64_t *bytes, spad_error *error);
/* An operation on memory; false: not one that we know. */
bool spad__ttgir_memory(spad__ttgir *t, const spad__mlir_op *op);
/* Reads of the results that a wait hands on, where their products can still be under way. */
void spad__ttgir_note_results(spad__ttgir *t, const spad__mlir_op *wait, int64_t pending);
/* Reads of results that no wait has handed on, in front of the operation that reads them. */
void spad__ttgir_note_reads(spad__ttgir *t, const spad__mlir_op *op);

/* ---- functions ------------------------------------------------------------------------ */

/* "@name" of a call or a function, as a token; 0: none. */
uint32_t spad__ttgir_symbol(const spad__ttgir *t, const spad__mlir_op *op);
/* Lists the functions of the module that begins with this operation. False: no memory. */
bool spad__ttgir_list_functions(spad__ttgir *t, int32_t first);
/* Runs the function that is called, as if it were written here. */
void spad__ttgir_call(spad__ttgir *t, const spad__mlir_op *op);
void spad__ttgir_set_argument(spad__ttgir *t, int32_t region, uint32_t number,
                              spad__ttgir_value value);

/* ---- blocks --------------------------------------------------------------------------- */

static inline const spad__mlir_region *spad__ttgir_region(const spad__ttgir *t, int32_t region) {
    return &t->m->regions.items[region];
}
/* A condition: open, what happens where it holds, else, what happens where it does not, close. */
typedef struct spad__ttgir_fork {
    spad__scalar condition;
    int32_t op;
    size_t before, opened, middle; /* notes */
    bool has_else;
} spad__ttgir_fork;
void spad__ttgir_fork_open(spad__ttgir *t, spad__ttgir_fork *fork, spad__scalar condition);
void spad__ttgir_fork_else(spad__ttgir *t, spad__ttgir_fork *fork);
void spad__ttgir_fork_close(spad__ttgir *t, spad__ttgir_fork *fork);
/* In place of else and close: takes back what happened, if that was on no memory of the chip. */
bool spad__ttgir_fork_drop(spad__ttgir *t, spad__ttgir_fork *fork);
/* The condition of an operation: its first operand. */
spad__scalar spad__ttgir_condition(spad__ttgir *t, const spad__mlir_op *op);
/* Is it no expression of rounds and sizes? */
bool spad__ttgir_is_data(spad__ttgir *t, spad__scalar n);
/* One of two values. */
spad__ttgir_value spad__ttgir_either(spad__ttgir *t, spad__scalar condition, spad__ttgir_value a,
                                     spad__ttgir_value b);
/* Runs a region that has several blocks, as run_region does. */
bool spad__ttgir_branches_run(spad__ttgir *t, int32_t region, const spad__mlir_op **end);
/* "scf.if", "scf.for" and "scf.while", which have a region. */
void spad__ttgir_if(spad__ttgir *t, const spad__mlir_op *op);
void spad__ttgir_for(spad__ttgir *t, const spad__mlir_op *op);
void spad__ttgir_while(spad__ttgir *t, const spad__mlir_op *op);

/* ---- expressions of the kernel ---------------------------------------------------------- */

spad_status spad__ttgir_expr(spad__ttgir *t, spad__scalar n, spad_expr *out, spad_error *error);
spad_status spad__ttgir_number_expr(spad__ttgir *t, int64_t value, spad_expr *out,
                                    spad_error *error);
/* a + b without a sum of 0 or a negative number. */
spad_status spad__ttgir_add_number(spad__ttgir *t, spad_expr a, int64_t b, spad_expr *out,
                                   spad_error *error);
/* Begins the `if` of a note. */
spad_status spad__ttgir_emit_if(spad__ttgir *t, const spad__ttgir_note *note, spad_error *error);
/* The parameter for the rounds of a loop, and what is added to it; NULL where the number of rounds
 * is the same for all sizes. */
spad_status spad__ttgir_rounds_param(spad__ttgir *t, spad__scalar trips,
                                     const spad__ttgir_param **out, int64_t *added,
                                     spad_error *error);
/* The parameters of all loops; and when the statements are there: those of a size that is used as a
 * number, outside of what stands for it, are fixed. */
spad_status spad__ttgir_emit_params(spad__ttgir *t, spad_error *error);
spad_status spad__ttgir_fix_params(spad__ttgir *t, spad_error *error);

/* ---- the whole ---------------------------------------------------------------------- */

/* Runs through the function. False: a fault, no memory, or unclear. */
bool spad__ttgir_run(spad__ttgir *t);
/* `used` and `givers`. False: no memory. */
bool spad__ttgir_find_uses(spad__ttgir *t);
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
