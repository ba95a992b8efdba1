/* SPDX-License-Identifier: Apache-2.0
 *
 * Shared by the files that turn TTGIR into a kernel. The parts that every GPU language needs are in
 * frontend/gpu.
 *
 *     ttgir.c           the public call: the module, its function, the passes
 *     ttgir_dialect.c   texts that are not TTGIR
 *     ttgir_words.c     types, encodings, locations, names
 *     ttgir_text.c      the same, as frontend/gpu asks for them
 *     ttgir_layout.c    layouts of tensors in registers
 *   reading
 *     ttgir_run.c       runs through a function; partitions of warps
 *     ttgir_values.c    values and their memory
 *     ttgir_numbers.c   arithmetic on whole numbers
 *     ttgir_loaded.c    numbers that the program loads and the caller gives
 *     ttgir_bounds.c    loops that data ends, as values of the text
 *   control flow
 *     ttgir_block.c     loops and conditions
 *     ttgir_branch.c    blocks with branches: a return that is not the last statement
 *     ttgir_call.c      functions that are not inlined
 *   memory and synchronisation
 *     ttgir_memory.c    operations on shared or tensor memory, and on barriers
 *     ttgir_view.c      parts of buffers, and other shapes of them
 *     ttgir_scratch.c   shared memory that operations on registers need
 *     ttgir_threads.c   which warps touch which bytes, and their barriers
 *     ttgir_compiler.c  who made copies and barriers
 *     ttgir_cluster.c   blocks of a cluster that touch each other's memory
 *     ttgir_result.c    results of products that are read too early
 *     ttgir_unused.c    loads whose value only counts where a condition holds
 *     ttgir_work.c      what work in registers costs
 *     ttgir_uncounted.c work in registers whose cost is not known
 *     ttgir_tiles.c     which blocks of a grid load the same tiles
 *     ttgir_barriers.c  the text with barriers that its conversion has
 *
 * A function is run with expressions for its numbers, so that loops stay loops; if that fails, with
 * numbers, so that the kernel is one of the given sizes (spad__gpu_mode). A *site* of spad__gpu is
 * the number of an operation.
 */
#ifndef SPAD_FRONTEND_TTGIR_TTGIR_H
#define SPAD_FRONTEND_TTGIR_TTGIR_H

#include "frontend/gpu/data_iterations.h"
#include "frontend/gpu/gpu_program.h"
#include "frontend/mlir/mlir.h"
#include "kernel/kernel_builder.h"
#include "spad/experimental/ttgir.h"

enum {
    SPAD__TTGIR_ITERATIONS_RUN = 1 << 20, /* of loops that are unrolled */
    SPAD__TTGIR_DEFINES = 256             /* values of the caller */
};

/* ---- values ------------------------------------------------------------------------ */

typedef enum spad__ttgir_kind {
    SPAD__TTGIR_NOTHING, /* a tensor in registers, a token */
    SPAD__TTGIR_SCALAR,
    SPAD__TTGIR_MASK,    /* bits of a tensor, all 0 where `scalar` is */
    SPAD__TTGIR_POINTER, /* or a descriptor: `buffer` is what it leads to */
    SPAD__TTGIR_VIEW     /* of a buffer */
} spad__ttgir_kind;

typedef struct spad__ttgir_value {
    spad__ttgir_kind kind;
    spad__scalar scalar;
    spad__scalar place; /* POINTER: elements from the argument on; below 0: not known */
    int32_t buffer;
    spad__gpu_view view;
    spad__scalar decided; /* of a condition that is no number: one more than the DATA that stands
                             for it; 0: none does yet */
} spad__ttgir_value;

/* ---- state ------------------------------------------------------------------------- */

/* A location: of the file, or the name of a variable and where it is. */
typedef struct spad__ttgir_place {
    uint32_t file; /* a string; 0: unknown */
    int32_t line;
    int32_t column; /* 0: not known */
    uint32_t name;  /* a string; 0: none */
    uint32_t call;  /* the token of the location of the call; 0: none */
} spad__ttgir_place;

/* Runs through a region. False: stop. *end: the operation that ends it; NULL: none does. */
typedef struct spad__ttgir spad__ttgir;
typedef bool spad__ttgir_runner(spad__ttgir *t, int32_t region, const spad__mlir_op **end);

/* Facts of the text about its values, by value. The same in all passes. */
typedef struct spad__ttgir_uses {
    SPAD_ARRAY(int32_t) used;   /* how many operands are it */
    SPAD_ARRAY(bool) loaded;    /* it follows from values that were loaded */
    SPAD_ARRAY(int32_t) givers; /* the operation that it is a result of; -1: none */
    SPAD_ARRAY(int32_t)
    origins; /* one more than the argument whose memory it leads to; 0: unknown */
} spad__ttgir_uses;

/* Attributes of the module. */
typedef struct spad__ttgir_module {
    bool warps_given;     /* else they are 4 */
    int64_t shared_bytes; /* of the compiler's own layout; -1: not in the text */
} spad__ttgir_module;

/* Where a function was called: the call around it, and the operation. */
typedef struct spad__ttgir_caller {
    uint32_t call;
    int32_t op;
} spad__ttgir_caller;

typedef struct spad__ttgir_calls {
    SPAD_ARRAY(int32_t) functions;        /* of the module */
    SPAD_ARRAY(spad__ttgir_caller) sites; /* met in this pass */
    uint32_t current;                     /* position + 1 in `sites`; 0: the function itself */
    int64_t shared_base;                  /* of the shared memory of the current call */
    int depth;
    int64_t count; /* calls run in this pass */
} spad__ttgir_calls;

typedef struct spad__ttgir_loops {
    int64_t iterations_run; /* of loops that are unrolled, in this pass */
    uint32_t steady_end; /* what stands before this token is the same in all iterations of the loops
                            around; 0: no loops */
    uint32_t steady_call; /* the call that these loops are in */
} spad__ttgir_loops;

/* Values of the caller that are values of loads. */
typedef struct spad__ttgir_loads {
    bool given[SPAD__TTGIR_DEFINES]; /* by value of the caller */
    bool any;
} spad__ttgir_loads;

struct spad__ttgir {
    spad__gpu *g; /* what is recorded */
    spad__mlir *m;
    const spad_kernel_options *options;
    bool concrete_only; /* for tests: never with expressions */
    /* of the text */
    int32_t function; /* its operation */
    spad__ttgir_module module;
    spad__ttgir_uses uses;
    spad__ttgir_loads loads;
    char uncounted[160]; /* work that the kernel has no statements for */
    char compiler[64];   /* that made copies and barriers; "": not known, or the user did */
    enum { SPAD__PRODUCTS_UNKNOWN, SPAD__PRODUCTS_NONE, SPAD__PRODUCTS_SOME } async_products;
    /* of the pass */
    SPAD_ARRAY(spad__ttgir_value) values;
    SPAD_ARRAY(int32_t) bounds; /* by value: of a loop that data ends (ttgir_bounds.c) */
    spad__ttgir_calls calls;
    spad__ttgir_loops loops;
    /* of ttgir_run.c, for operations with regions */
    spad__ttgir_runner *run_region;
    bool (*run_ops)(spad__ttgir *t, int32_t first, int32_t end); /* operations [first, end) */
};

/* ---- words -------------------------------------------------------------------------- */

/* A type "3x128x64xf16, #shared, #smem": dims and dtype. False: not one we know. */
typedef struct spad__ttgir_type {
    int rank;
    int64_t dims[SPAD__GPU_RANK];
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
/* The text, as frontend/gpu asks about it. */
spad__gpu_text spad__ttgir_text(spad__ttgir *t);
/* The location at a '(' of loc(...). */
/* "Triton 3.6.0", "Triton", or "" (ttgir_compiler.c). */
void spad__ttgir_find_compiler(const spad__ttgir *t, const spad__mlir_op *module, char *field,
                               size_t size);

spad__ttgir_place spad__ttgir_place_at(const spad__ttgir *t, uint32_t at);
/* The name that an argument has in the program, as a token: a variable that it is assigned to may
 * have given its own to the value. */
uint32_t spad__ttgir_argument_name(const spad__ttgir *t, const spad__mlir_value *value);
/* A name for an object of the operation: the user's variable, or the value. */
#define SPAD__TTGIR_NO_NAME "buffer"
void spad__ttgir_name(const spad__ttgir *t, const spad__mlir_op *op, char *name);
void spad__ttgir_word_name(const spad__ttgir *t, uint32_t token, char *name);

/* ---- texts that are something else --------------------------------------------------- */

/* False: a diagnostic says that the text is of a version of Triton with another dialect. */
bool spad__ttgir_is_new_dialect(const spad__ttgir *t);
/* False: a diagnostic says that it is TTIR, which the compiler makes TTGIR of. */
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

/* Finds values that loops begin or end with, for SPAD__GPU_WHOLE_STEPS. False: no memory. */
bool spad__ttgir_find_bounds(spad__ttgir *t);
/* Results of an operation that a loop begins or ends with, and comparisons with such. */
void spad__ttgir_set_bounds(spad__ttgir *t, const spad__mlir_op *op);
/* Where alone the buffer has been written, as a condition; below 0: not known, or in any case. */
spad__scalar spad__ttgir_only_where(spad__ttgir *t, int32_t buffer);

/* ---- layouts -------------------------------------------------------------------------- */

/* Of a tensor in registers: for each dimension what a thread has in a row, and how many lanes and
 * warps have parts of it. */
typedef struct spad__ttgir_layout {
    int rank;
    int64_t shape[SPAD__GPU_RANK]; /* what one block has */
    int64_t elements[SPAD__GPU_RANK];
    int64_t lanes[SPAD__GPU_RANK];
    int64_t warps[SPAD__GPU_RANK];
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
                          spad__gpu_thread_map *map);
/* Where the blocks of a cluster are in a tensor: one row for each bit of a block's number. */
/* False: the encoding says nothing about blocks; none then. */
bool spad__ttgir_read_blocks(const spad__ttgir *t, uint32_t encoding, int rank,
                             spad__gpu_bases *out);
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
/* A barrier of all warps of the partition, where the operation has one of its own. One that does
 * not, in another version, has the attribute "spad.alone". */
void spad__ttgir_add_own_barrier(spad__ttgir *t, const spad__mlir_op *op);
/* An arrival that warps do not meet for is one of a single thread: SPAD_BY_ONE, or 0. */
unsigned spad__ttgir_flags_of_arrival(const spad__ttgir *t, const spad__mlir_op *op);
/* That of a tensor in registers and a view of memory of the same shape: its type is at this token
 * (0: none). */
int32_t spad__ttgir_threads_of(spad__ttgir *t, uint32_t type, const spad__ttgir_value *view);
/* The same for a tensor of pointers, which memory is copied by. */
int32_t spad__ttgir_threads_of_pointers(spad__ttgir *t, const spad__mlir_op *op,
                                        const spad__ttgir_value *view);
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
/* ---- clusters --------------------------------------------------------------------------- */

/* What an operation does with other blocks of a cluster; NULL: nothing, or what is known where the
 * kernel has all of them. */
const char *spad__ttgir_remote(spad__ttgir *t, const spad__mlir_op *op);
/* How many blocks the kernel has: 1 where none touches the memory of another one. */
int spad__ttgir_count_ranks(spad__ttgir *t);
/* Bits of a block's number that move nothing in a tensor or buffer. */
uint32_t spad__ttgir_same_bits(const spad__ttgir *t, const spad__ttgir_type *type, int rank);
/* Bits of a block's number that an mbarrier is one for. */
uint32_t spad__ttgir_joined(const spad__ttgir *t, const spad__ttgir_value *barrier);
/* The blocks that this one arrives at, by "fromCTA" and "multicastCTA". False: it does not. */
bool spad__ttgir_arrivals(const spad__ttgir *t, const spad__mlir_op *op, uint32_t *blocks);
/* Cluster launch control. */
void spad__ttgir_try_cancel(spad__ttgir *t, const spad__mlir_op *op);
void spad__ttgir_answer(spad__ttgir *t, const spad__mlir_op *op);
/* Does a value of the operation go from one block to another through scratch memory? */
bool spad__ttgir_crosses(spad__ttgir *t, const spad__mlir_op *op);
/* Where the text has no barriers: the compiler lets the blocks meet before the first operation that
 * may use an mbarrier of another block. */
void spad__ttgir_sync_blocks(spad__ttgir *t, const spad__mlir_op *op);
/* ---- scratch memory -------------------------------------------------------------------- */

/* The scratch memory through which an operation exchanges registers, if it does. */
void spad__ttgir_scratch(spad__ttgir *t, const spad__mlir_op *op);
/* Hands the captured values over to the partitions of a warp_specialize, before they start. */
void spad__ttgir_hand_over(spad__ttgir *t, const spad__mlir_op *op);
/* After the last one: the partitions get the signal to end. */
void spad__ttgir_end_partitions(spad__ttgir *t);

/* ---- operations ---------------------------------------------------------------------- */

/* The value of anything unknown, or neither a number nor memory. */
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
/* All of a buffer. */
spad__ttgir_value spad__ttgir_whole(const spad__ttgir *t, int32_t buffer);
/* The address that the compiler gave the operation in shared memory, -1: none. */
int64_t spad__ttgir_offset(const spad__ttgir *t, const spad__mlir_op *op);
/* Adds an access to the newest record; nothing for values that are no memory. */
void spad__ttgir_add_access(spad__ttgir *t, const spad__ttgir_value *value, unsigned kind);
/* The same, to the memory of each of these blocks. */
void spad__ttgir_add_accesses(spad__ttgir *t, const spad__ttgir_value *value, unsigned kind,
                              uint32_t blocks, int32_t threads);
/* Adds the registers that threads move the tile through. */
void spad__ttgir_add_register_tile(spad__ttgir *t, const spad__ttgir_value *tile, unsigned kind);
/* Memory behind a pointer gets the shape of the first copy. */
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
/* An operation on memory; false: not one that we know. */
bool spad__ttgir_memory(spad__ttgir *t, const spad__mlir_op *op);
/* Reads of the results that a wait hands on, where their products can still be under way. */
void spad__ttgir_record_results(spad__ttgir *t, const spad__mlir_op *wait, int64_t pending);
/* Reads of results that no wait has handed on, in front of the operation that reads them. */
void spad__ttgir_record_reads(spad__ttgir *t, const spad__mlir_op *op);

/* "tt.get_program_id y": 0 to 2. */
int spad__ttgir_axis_of(const spad__ttgir *t, const spad__mlir_op *op);
/* The number in "num_warps(4)" of partition `which`. */
int64_t spad__ttgir_warps_of(const spad__ttgir *t, const spad__mlir_op *op, size_t which);
/* spad_ttgir_write_barriers, of a module. */
spad_status spad__ttgir_write_barriers(spad__ttgir *t, const spad__mlir_op *module,
                                       const spad_ttgir_meeting *meetings, size_t count,
                                       const spad_sink *sink, spad_error *error);
/* spad_ttgir_read_tiles, of a function whose arguments have been read. */
spad_status spad__ttgir_find_tiles(spad__ttgir *t, int64_t blocks, spad_ttgir_tile *tiles,
                                   size_t room, size_t *count, spad_error *error);

/* ---- functions ------------------------------------------------------------------------ */

/* "@name" of a call or a function, as a token; 0: none. */
uint32_t spad__ttgir_symbol(const spad__ttgir *t, const spad__mlir_op *op);
/* Lists the functions of the module that begins with this operation. False: no memory. */
bool spad__ttgir_list_functions(spad__ttgir *t, int32_t first);
/* NULL: no function of the module has that name. */
const spad__mlir_op *spad__ttgir_function_named(const spad__ttgir *t, uint32_t symbol);
/* Runs the function that is called, as if it were written here. */
void spad__ttgir_call(spad__ttgir *t, const spad__mlir_op *op);
void spad__ttgir_set_argument(spad__ttgir *t, int32_t region, uint32_t number,
                              spad__ttgir_value value);

/* ---- blocks --------------------------------------------------------------------------- */

static inline const spad__mlir_region *spad__ttgir_region(const spad__ttgir *t, int32_t region) {
    return &t->m->regions.items[region];
}
/* Opens a branch at the operation that is read, which has the condition as its first operand. */
void spad__ttgir_open_branch(spad__ttgir *t, spad__gpu_branch *branch, spad__scalar condition);
/* The condition of an operation: its first operand. */
spad__scalar spad__ttgir_condition(spad__ttgir *t, const spad__mlir_op *op);
/* One of two values. */
spad__ttgir_value spad__ttgir_either(spad__ttgir *t, spad__scalar condition, spad__ttgir_value a,
                                     spad__ttgir_value b);
/* Runs a region that has several blocks, as run_region does. */
bool spad__ttgir_branches_run(spad__ttgir *t, int32_t region, const spad__mlir_op **end);
/* "scf.if", "scf.for" and "scf.while", which have a region. */
void spad__ttgir_if(spad__ttgir *t, const spad__mlir_op *op);
void spad__ttgir_for(spad__ttgir *t, const spad__mlir_op *op);
void spad__ttgir_while(spad__ttgir *t, const spad__mlir_op *op);

/* ---- loads that do not count -------------------------------------------------------------- */

/* Does nothing depend on what a load gives where the condition, which sizes decide, does not hold?
 */
bool spad__ttgir_is_unused_unless(spad__ttgir *t, const spad__mlir_op *load,
                                  spad__scalar condition);

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

/* ---- work in registers ----------------------------------------------------------------- */

/* `loaded`. False: no memory. */
bool spad__ttgir_find_loaded(spad__ttgir *t);
/* Does it compute values of threads: neither addresses nor masks? */
bool spad__ttgir_computes_values(const spad__ttgir *t, const spad__mlir_op *op);
/* Is its cost known? */
bool spad__ttgir_has_known_work(const spad__mlir *m, const spad__mlir_op *op);
/* Counts what the operation costs the threads that run it. */
void spad__ttgir_count_work(spad__ttgir *t, const spad__mlir_op *op);
/* The operations that compute values and have no known cost, with their names; "": none. */
void spad__ttgir_list_uncounted(const spad__ttgir *t, char *out, size_t size);
#endif
