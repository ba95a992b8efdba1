/* SPDX-License-Identifier: Apache-2.0
 *
 * block: the buffers of one thread block (or of one Ascend core) by scope.
 *
 *     GPU      "shared.dyn"               one dynamic arena, planned over lifetimes
 *              "shared"                   static arrays, also barriers and TMEM address words
 *              "shared.tmem"              tensor memory: columns
 *              "local" "local.fragment" "local.var" "local.reducer" "local.descriptor.*"
 *                                         registers of the threads, counted and not placed
 *              "global"                   allocated by the host
 *     Ascend   "shared.dyn" "shared.l1"   L1      "wmma.matrix_a" "wmma.matrix_b"  L0A, L0B
 *              "shared"                   UB      "wmma.accumulator"               L0C
 *
 * These are the scopes of TileLang (tilelang.language.allocate) and of
 * TileLang-Ascend. A block is described once, in program order: allocate, free,
 * enter and leave loops. Every alloc, free, invalidate, enter and leave is an
 * event, and its number is the time; a request may give other times on the same
 * axis. spad_block_plan then places everything that lives on chip.
 *
 * Calls cost O(1) amortised unless their comment has another cost. A failed call
 * changes nothing. Externally synchronised.
 */
#ifndef SPAD_BLOCK_H
#define SPAD_BLOCK_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "spad/dtype.h"
#include "spad/target.h"
#include "spad/trace.h"
#include "spad/value.h"

#ifdef __cplusplus
extern "C" {
#endif

typedef struct spad_block spad_block;

/* ---- scopes ------------------------------------------------------------------------ */

/* X(name, TileLang's spelling) */
#define SPAD_BLOCK_SCOPE_LIST(X)                       \
    X(SHARED_DYN, "shared.dyn")                        \
    X(SHARED, "shared")                                \
    X(BARRIER, "shared.barrier")                       \
    X(CLUSTER_BARRIER, "shared.cluster_barrier")       \
    X(TMEM, "shared.tmem")                             \
    X(LOCAL, "local")                                  \
    X(FRAGMENT, "local.fragment")                      \
    X(VAR, "local.var")                                \
    X(REDUCER, "local.reducer")                        \
    X(WGMMA, "local.descriptor.wgmma")                 \
    X(TCGEN05_SMEM, "local.descriptor.tcgen05_smem")   \
    X(TCGEN05_INSTR, "local.descriptor.tcgen05_instr") \
    X(GLOBAL, "global")                                \
    X(L1, "shared.l1")                                 \
    X(MATRIX_A, "wmma.matrix_a")                       \
    X(MATRIX_B, "wmma.matrix_b")                       \
    X(ACCUMULATOR, "wmma.accumulator")

typedef enum spad_block_scope {
#define SPAD_BLOCK_SCOPE_ENUM(name, spelling) SPAD_BLOCK_##name,
    SPAD_BLOCK_SCOPE_LIST(SPAD_BLOCK_SCOPE_ENUM)
#undef SPAD_BLOCK_SCOPE_ENUM
        SPAD_BLOCK_SCOPE_COUNT
} spad_block_scope;

/** TileLang's spelling; "?" for an invalid scope. Static storage. */
SPAD_API const char *spad_block_scope_name(spad_block_scope scope);

/* ---- life -------------------------------------------------------------------------- */

typedef enum spad_block_policy {
    /** The best of several placements, TileLang's among them: never worse. */
    SPAD_BLOCK_BEST,
    /** Offsets as TileLang's merge_shared_memory_allocations.cc chooses them, tensor
     *  memory as its lower_shared_tmem.cc packs it, bool buffers static. Once a tensor is
     *  freed by hand TileLang does not compare columns with the chip any more; the plan
     *  still does, as all allocations are made when the block starts. */
    SPAD_BLOCK_TILELANG
} spad_block_policy;

/** Zeroed is the default. */
typedef struct spad_block_options {
    size_t struct_size; /**< see SPAD_OPTIONS_INIT */
    const char *name;   /**< of the kernel, for reports; copied; NULL: "block" */
    spad_block_policy policy;
    bool no_reuse;          /**< every buffer has bytes of its own (pins are taken as given) */
    bool merge_static;      /**< static buffers share bytes over time too */
    bool barriers_in_arena; /**< barriers are part of the dynamic arena */
    int64_t threads;        /**< of the block, for register counts; 0: not known */
    const spad_host *host;
} spad_block_options;

/** An empty block on a GPU or an Ascend core, owned by the caller. The target is borrowed until
 *  destroy. options == NULL: all defaults. SPAD_ERR_CAPABILITY: the target has neither a space
 *  called shared nor one called ub. */
SPAD_API spad_status spad_block_create(spad_block **out, const spad_target *target,
                                       const spad_block_options *options, spad_error *error);

/** NULL is fine. */
SPAD_API void spad_block_destroy(spad_block *block);

/* ---- allocation -------------------------------------------------------------------- */

/** Who else than the threads touches a shared buffer, and what start that needs. */
typedef enum spad_block_use {
    SPAD_USE_PLAIN,        /**< 16 B */
    SPAD_USE_BULK,         /**< bulk copies: 16 B, and the size a multiple of 16 B */
    SPAD_USE_TMA,          /**< tensor copies without swizzle: 128 B */
    SPAD_USE_SWIZZLE_32B,  /**< the period of the pattern, 8 rows: 256 B */
    SPAD_USE_SWIZZLE_64B,  /**< 512 B */
    SPAD_USE_SWIZZLE_128B, /**< 1024 B */
    SPAD_USE_MMA,          /**< wgmma or tcgen05 operand of any layout: 1024 B */
    SPAD_USE_COUNT
} spad_block_use;

/** How a reducer keeps its partial results. */
typedef enum spad_replication {
    SPAD_REPLICATION_UNSET, /**< the compiler decides */
    SPAD_REPLICATION_ALL,   /**< every thread holds the whole shape */
    SPAD_REPLICATION_NONE,
    SPAD_REPLICATION_COUNT
} spad_replication;

/** "all", "none"; NULL or "": unset. SPAD_ERR_UNKNOWN. */
SPAD_API spad_status spad_replication_parse(spad_replication *out, const char *name,
                                            spad_error *error);

/** The base of a dynamic arena is never aligned to more than this (TileLang declares it so). */
#define SPAD_BLOCK_BASE_ALIGN 1024

/** What to allocate. Zeroed fields are defaults; each scope uses what it needs. */
typedef struct spad_block_request {
    const char *name;  /**< unique in the block; copied; NULL: unnamed */
    const char *scope; /**< TileLang's spelling; NULL: "shared.dyn" */
    spad_shape shape;  /**< positive extents; var, barrier, descriptor: none; spad_block_get has
                            (1), or (arrival_count) for a barrier */
    spad_dtype dtype;  /**< barrier, descriptor: may be left out */

    /* on chip */
    int64_t stages;     /**< copies for a software pipeline, each at an aligned start; 0: 1.
                             A barrier has none: give the arrivals of all its stages */
    spad_block_use use; /**< shared memory */
    int64_t align;      /**< more bytes of alignment, a power of two; 0: none */
    bool timed;         /**< live in [begin, end); otherwise from here to its free */
    int64_t begin;
    int64_t end;
    bool pinned; /**< at byte `at` of its arena (SPAD_BLOCK_BEST only) */
    int64_t at;

    const int64_t *arrivals;      /**< barrier: arrivals that complete each of its phases */
    size_t arrival_count;         /**< barrier: how many barriers, at least 1 */
    spad_value init;              /**< var: first value; default 0 */
    spad_reduce op;               /**< reducer */
    spad_replication replication; /**< reducer */
    bool tcgen05_rules;           /**< tmem: the columns follow the rules of tcgen05.alloc, as
                                       spad_tmem_alloc has them; otherwise any number is packed */
} spad_block_request;

/**
 * Allocates by request. *out: number of the buffer, from 0; -1 on failure.
 * SPAD_ERR_UNKNOWN: scope. SPAD_ERR_CAPABILITY: the chip has no such thing; names it.
 * SPAD_ERR_SPACE: the scope exists but not for this. SPAD_ERR_NAME, SPAD_ERR_SHAPE,
 * SPAD_ERR_DTYPE, SPAD_ERR_ALIGNMENT, SPAD_ERR_OVERFLOW, SPAD_ERR_ARGUMENT.
 * SPAD_ERR_OVERLAP: pinned onto bytes of a pinned buffer that is live at some time of
 * its life, or of a barrier that is not invalidated; names both. O(buffers) if pinned.
 */
SPAD_API spad_status spad_block_alloc(int64_t *out, spad_block *block,
                                      const spad_block_request *request, spad_error *error);

/* The calls of tilelang.language.allocate. scope == NULL: the default there. A reducer has an
 * operator and a call of its own: SPAD_ERR_SPACE for "local.reducer". */

/** T.alloc_shared. scope NULL: "shared.dyn". */
SPAD_API spad_status spad_block_alloc_shared(int64_t *out, spad_block *block, spad_shape shape,
                                             spad_dtype dtype, const char *scope, const char *name,
                                             spad_error *error);

/** T.alloc_local: registers of each thread. */
SPAD_API spad_status spad_block_alloc_local(int64_t *out, spad_block *block, spad_shape shape,
                                            spad_dtype dtype, const char *name, spad_error *error);

/** T.alloc_fragment: a tile spread over the registers of the threads. */
SPAD_API spad_status spad_block_alloc_fragment(int64_t *out, spad_block *block, spad_shape shape,
                                               spad_dtype dtype, const char *name,
                                               spad_error *error);

/** T.alloc_var: one value per thread. init NULL: 0. */
SPAD_API spad_status spad_block_alloc_var(int64_t *out, spad_block *block, spad_dtype dtype,
                                          const spad_value *init, const char *name,
                                          spad_error *error);

/** T.alloc_barrier: `count` mbarriers in a row, with the arrivals of each. */
SPAD_API spad_status spad_block_alloc_barrier(int64_t *out, spad_block *block,
                                              const int64_t *arrivals, size_t count,
                                              const char *name, spad_error *error);

/** T.alloc_cluster_barrier: the same for barriers that other blocks of the cluster reach. */
SPAD_API spad_status spad_block_alloc_cluster_barrier(int64_t *out, spad_block *block,
                                                      const int64_t *arrivals, size_t count,
                                                      const char *name, spad_error *error);

/** T.alloc_tmem. The last two extents are the matrix (lanes, columns of elements); the others
 *  repeat it along the columns. SPAD_ERR_ARGUMENT: not a power of two from 32 to 512 columns.
 *  SPAD_ERR_LIFE_CYCLE: more columns than the allocation before. With SPAD_BLOCK_TILELANG, which
 *  packs tensors into such allocations, any number of columns will do. */
SPAD_API spad_status spad_block_alloc_tmem(int64_t *out, spad_block *block, spad_shape shape,
                                           spad_dtype dtype, const char *name, spad_error *error);

/** T.alloc_reducer: partial results of a reduction by `op`. */
SPAD_API spad_status spad_block_alloc_reducer(int64_t *out, spad_block *block, spad_shape shape,
                                              spad_dtype dtype, spad_reduce op,
                                              spad_replication replication, const char *name,
                                              spad_error *error);

/** T.alloc_descriptor. kind: "wgmma", "tcgen05_smem" or "tcgen05_instr". */
SPAD_API spad_status spad_block_alloc_descriptor(int64_t *out, spad_block *block, const char *kind,
                                                 const char *name, spad_error *error);

/** T.alloc_global: a workspace in global memory, which takes no bytes on chip. */
SPAD_API spad_status spad_block_alloc_global(int64_t *out, spad_block *block, spad_shape shape,
                                             spad_dtype dtype, const char *name, spad_error *error);

/**
 * The buffer is not used any more. In tensor memory this is TileLang's explicit deallocate.
 * SPAD_ERR_NOT_LIVE: it has ended. SPAD_ERR_ARGUMENT: it has times of its own.
 * SPAD_ERR_LIFE_CYCLE: it was allocated outside the innermost loop or branch, whose next
 * turn would use it freed; or it is a barrier, which is invalidated instead.
 */
SPAD_API spad_status spad_block_free(spad_block *block, int64_t buffer, spad_error *error);

/**
 * mbarrier.inval: from here on the bytes of the barrier can hold data. Without it they are the
 * barrier's until the block ends, whatever its lifetime: using them is undefined (PTX ISA).
 * A timed barrier is invalidated at its end, any other one here. SPAD_ERR_SPACE: not a
 * barrier. SPAD_ERR_LIFE_CYCLE: invalidated before, or (as for free) inside a loop that
 * began after it; after the loop that it was allocated in is fine.
 */
SPAD_API spad_status spad_block_invalidate(spad_block *block, int64_t barrier, spad_error *error);

/* ---- control flow ------------------------------------------------------------------ */

typedef enum spad_block_flow {
    SPAD_FLOW_SERIAL,     /**< a loop whose iterations follow each other */
    SPAD_FLOW_PARALLEL,   /**< T.Parallel: iterations are spread over threads */
    SPAD_FLOW_BRANCH,     /**< an if, or one side of it, of which a block takes one: two sides
                               can have the same bytes */
    SPAD_FLOW_CONCURRENT, /**< around sides that run side by side, as the warps of a specialised
                               kernel do: enter it, then each side as a branch. What is allocated
                               anywhere inside keeps its bytes from this enter to this leave,
                               whatever is freed in between; lives that are given stay */
    SPAD_FLOW_COUNT
} spad_block_flow;

/** Enters a loop, a branch or sides that run side by side. SPAD_ERR_ARGUMENT: unknown kind. */
SPAD_API spad_status spad_block_enter(spad_block *block, spad_block_flow kind, spad_error *error);

/** Frees the buffers that were allocated inside; barriers stay until they are
 *  invalidated. SPAD_ERR_NO_SCOPE. O(buffers allocated since the enter). */
SPAD_API spad_status spad_block_leave(spad_block *block, spad_error *error);

/* ---- reducers ------------------------------------------------------------------------------
 * One init, any number of updates, one finalize (TileLang verify_reducer_epoch.cc). Every step
 * out of order is SPAD_ERR_LIFE_CYCLE with a message of its own; SPAD_ERR_SPACE: not a
 * reducer. spad_block_plan reports reducers that are never initialised or finalised. */

/** Opens the reducer with a seed that is combined once per result, whatever the replication;
 *  NULL: the identity. Not inside a parallel region. SPAD_ERR_DTYPE: type of the seed. */
SPAD_API spad_status spad_block_reducer_init(spad_block *block, int64_t reducer,
                                             const spad_value *seed, spad_error *error);

/** The older form of init, T.fill: 0 for sum, any value for max and min, which limits the result,
 *  the identity for the rest (else SPAD_ERR_ARGUMENT). Such a reducer is finalised in place. */
SPAD_API spad_status spad_block_reducer_fill(spad_block *block, int64_t reducer, spad_value value,
                                             spad_error *error);

/** One statement that combines values with `op`, inside a parallel region.
 *  SPAD_ERR_ARGUMENT: not the operator of the reducer. */
SPAD_API spad_status spad_block_reducer_update(spad_block *block, int64_t reducer, spad_reduce op,
                                               spad_error *error);

/** Destination of a reducer that was opened by fill: itself. */
#define SPAD_BLOCK_IN_PLACE (-1)

/**
 * Closes the reducer and writes the results to a separate live fragment of the same shape and
 * dtype (SPAD_ERR_ARGUMENT otherwise). batch: results per collective, at least 1.
 * In the loop of the init, at most inside further branches.
 */
SPAD_API spad_status spad_block_reducer_finalize(spad_block *block, int64_t reducer,
                                                 int64_t destination, int64_t batch,
                                                 spad_error *error);

typedef enum spad_touch {
    SPAD_TOUCH_READ,
    SPAD_TOUCH_WRITE,
    SPAD_TOUCH_ADDRESS,
    SPAD_TOUCH_COUNT
} spad_touch;

/**
 * May the kernel touch the buffer here? SPAD_ERR_NOT_LIVE: before or after its life.
 * A life that was given (timed) counts as the others do: from the event of its begin until that
 * of its end. SPAD_ERR_LIFE_CYCLE: a reducer is opaque (one that was filled can be read once it
 * is finalised); a barrier is not data.
 */
SPAD_API spad_status spad_block_touch(const spad_block *block, int64_t buffer, spad_touch access,
                                      spad_error *error);

/* ---- the plan ---------------------------------------------------------------------- */

/**
 * Places every buffer. Repeatable: a later change of the block drops the plan.
 * Whether it fits is another question, spad_block_check_fit, so that a plan that does not
 * can be examined. SPAD_ERR_LIFE_CYCLE: a region is still open, or a reducer is not
 * initialised or not finalised. SPAD_ERR_OVERFLOW. O(buffers^2) for each of
 * a dozen tries.
 */
SPAD_API spad_status spad_block_plan(spad_block *block, spad_error *error);

/** The sums of a plan. Bytes of shared memory and columns of tensor memory are of a GPU. */
typedef struct spad_block_totals {
    int64_t static_bytes;  /**< arrays, barriers, address words, padding between them */
    int64_t base_padding;  /**< from there to the aligned base of the arena */
    int64_t dynamic_bytes; /**< the arena: what a launch requests */
    int64_t reserve_bytes; /**< taken by the driver */
    int64_t block_bytes;   /**< all of these */
    int64_t limit_bytes;   /**< what all of these may be: the opt-in limit and the reserve */
    int64_t static_limit;  /**< for static_bytes alone */
    int64_t base_align;    /**< of the arena */
    int64_t buffer_bytes;  /**< sum over dynamic buffers as if none were shared, no padding */
    int64_t stage_padding; /**< between the stages of dynamic buffers */
    int64_t lower_bound;   /**< most dynamic bytes live at one time: no plan needs less */
    int64_t peak_time;     /**< the first such time; -1: no dynamic buffers */
    int64_t tmem_columns;
    int64_t tmem_allocs;
    int64_t tmem_available;  /**< columns */
    int64_t thread_bytes;    /**< registers of one thread at least: the most live at one time;
                                  needs options.threads for fragments and reducers, which
                                  count 0 otherwise */
    int64_t blocks_per_unit; /**< blocks that run side by side; 0: it does not fit */
    const char *limited_by;  /**< "shared memory", "tensor memory" or "the block limit" */
    bool needs_opt_in;       /**< static, padding and dynamic bytes together are more than a
                                  launch gives without asking (static_limit) */
    bool fits;
} spad_block_totals;

/** SPAD_ERR_STALE: no plan, or the block has changed since. */
SPAD_API spad_status spad_block_get_totals(spad_block_totals *out, const spad_block *block,
                                           spad_error *error);

/**
 * Does the plan fit the chip? SPAD_ERR_NO_FIT: the error has what, by how much, and the largest
 * parts; spad_block_write has the whole list. SPAD_ERR_STALE.
 */
SPAD_API spad_status spad_block_check_fit(const spad_block *block, spad_error *error);

/** A buffer. Strings and dims are borrowed until destroy. */
typedef struct spad_block_buffer {
    const char *name; /**< NULL: unnamed */
    spad_block_scope scope;
    size_t space; /**< number in the target, or SPAD_NO_SPACE */
    spad_shape shape;
    spad_dtype dtype;
    int64_t bytes; /**< of one stage */
    int64_t stages;
    int64_t stride; /**< from stage to stage */
    int64_t span;   /**< of all stages: (stages - 1) x stride + bytes */
    int64_t align;
    int64_t begin;
    int64_t end; /**< SPAD_OPEN_END while live; of a barrier: until it is invalidated */
    bool is_static;
    int64_t offset;  /**< in its arena, or in the static part; SPAD_NO_BYTE: not planned, or in
                          registers, or global */
    int64_t byte;    /**< in its space, static part counted in */
    spad_value init; /**< var; the seed of a reducer */
    spad_reduce op;  /**< reducer */
    spad_replication replication; /**< reducer */
    size_t arrival_count;         /**< barrier */
    const int64_t *arrivals;
    int64_t lanes;   /**< tmem */
    int64_t columns; /**< tmem */
    int64_t lane;    /**< tmem: first lane */
    int64_t alloc;   /**< tmem: number of the allocation; -1: not planned */
    int64_t column;  /**< tmem: in the allocation */
} spad_block_buffer;

/** Number of buffers. */
SPAD_API size_t spad_block_count(const spad_block *block);

/** SPAD_ERR_ARGUMENT: no such buffer. */
SPAD_API spad_status spad_block_get(spad_block_buffer *out, const spad_block *block, int64_t buffer,
                                    spad_error *error);

/** Bytes that the buffers of an arena space need, and how many there are: every Ascend level;
 *  the dynamic arena for "shared". SPAD_ERR_UNKNOWN, SPAD_ERR_STALE. */
SPAD_API spad_status spad_block_get_arena(int64_t *bytes, int64_t *limit, const spad_block *block,
                                          const char *space, spad_error *error);

/** Writes the plan as TEXT, an itemised table (parts, buffers with place and life, padding, stage
 * copies, barriers, address words, reserve; opt-in and blocks per unit), or as JSON.
 * SPAD_ERR_STALE. */
SPAD_API spad_status spad_block_write(const spad_block *block, spad_format format,
                                      const spad_sink *sink, spad_error *error);

/**
 * Appends the walk through the block to a trace of the same target: a scope, and in it every
 * buffer that is in a space, in the order of time, with the addresses of the plan.
 * SPAD_ERR_STALE, SPAD_ERR_ARGUMENT (the trace is of another target). O(buffers log buffers).
 */
SPAD_API spad_status spad_block_write_trace(const spad_block *block, spad_trace *trace,
                                            spad_error *error);

#ifdef __cplusplus
}
#endif
#endif
