/* SPDX-License-Identifier: Apache-2.0
 *
 * kernel: a program over the memory of one target: declarations, scopes, loops,
 * operations and synchronisation.
 *
 * A kernel is read from text (docs/kernel.md describes the language) or assembled
 * with a builder; both go through the same checks and give the same program. A
 * finished kernel is immutable: flat tables that analyses read by number. Every
 * row has its location in the text. spad/walk.h runs a kernel.
 *
 * Statements are one list in the order of the text. A statement that contains
 * others (loop, if, scope, agent) is followed by them, and its `end` is the
 * number of the first statement after them.
 */
#ifndef SPAD_KERNEL_H
#define SPAD_KERNEL_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "spad/dtype.h"
#include "spad/host.h"
#include "spad/source.h"
#include "spad/stack.h"
#include "spad/target.h"
#include "spad/trace.h"

#ifdef __cplusplus
extern "C" {
#endif

typedef struct spad_kernel spad_kernel;

/** A location in the text; line 0: no text. */
typedef struct spad_location {
    int32_t line;
    int32_t column;
    int32_t width;
} spad_location;

/* ---- expressions ------------------------------------------------------------------
 * Whole numbers, parameters and loop variables with + - *, min and max, and with / and % by a
 * positive constant. Division rounds down and a remainder is never negative. One
 * side of a product is constant. The builder bounds every expression over all values
 * of its variables and refuses what could overflow, so evaluation cannot overflow. */

/** The number of an expression of a kernel; 0: no expression. */
typedef int32_t spad_expr;

/** Most nodes of one expression. */
#define SPAD_EXPR_MAX 64

typedef enum spad_expr_op {
    SPAD_EXPR_NUMBER,   /**< value */
    SPAD_EXPR_PARAM,    /**< value: number of the parameter */
    SPAD_EXPR_VARIABLE, /**< value: number of the loop */
    SPAD_EXPR_STAGE,    /**< value: number of the cursor */
    SPAD_EXPR_PHASE,    /**< value: number of the cursor */
    SPAD_EXPR_ADD,
    SPAD_EXPR_SUB,
    SPAD_EXPR_MUL,
    SPAD_EXPR_DIV,
    SPAD_EXPR_MOD,
    SPAD_EXPR_NEGATE,
    SPAD_EXPR_SMALLER, /**< the smaller one of two */
    SPAD_EXPR_LARGER,  /**< the larger one */
    SPAD_EXPR_UNKNOWN, /**< value: number of the row of unknown values; of an element */
    SPAD_EXPR_OPS
} spad_expr_op;

/** One step of an expression in postfix order. */
typedef struct spad_expr_node {
    spad_expr_op op;
    int64_t value;
} spad_expr_node;

typedef struct spad_expr_info {
    const spad_expr_node *nodes;
    size_t node_count;
    const spad_expr_node *written; /**< as in the text. In `nodes`, VARIABLE is the round of a loop
                                        with a step, and stages and phases are expressions of
                                        loops where they can be */
    size_t written_count;
    int64_t least; /**< lower bound of the values; ignores conditions around a use */
    int64_t most;  /**< upper bound of the values */
    bool exact;    /**< both bounds are reached, if every enclosing loop runs */
    bool constant; /**< the same in all iterations: least == most */
} spad_expr_info;

/** A number of a declaration: its value, and the expression it was written as; expr 0: a plain
 *  number. */
typedef struct spad_amount {
    int64_t value;
    spad_expr expr;
} spad_amount;

/* ---- declarations ------------------------------------------------------------------ */

typedef struct spad_kernel_param {
    const char *name;
    spad_amount preset; /**< the value in the text */
    int64_t value;      /**< the value in effect: the preset, or a define of the caller */
    bool fixed;         /**< the kernel was made for this value: it cannot be reshaped to another */
    bool any;           /**< it may have any value when the kernel runs: nothing less than a proof
                             for all of them is one */
    spad_location location;
} spad_kernel_param;

/** The role of a tensor; bits. */
enum {
    SPAD_TENSOR_INPUT = 1,  /**< written before the kernel starts */
    SPAD_TENSOR_OUTPUT = 2, /**< read after it ends */
    SPAD_TENSOR_PERSISTENT = SPAD_TENSOR_INPUT | SPAD_TENSOR_OUTPUT
};

/** A list of numbers, one per block dimension; count 0: not specified. */
typedef struct spad_amounts {
    size_t count;
    const spad_amount *items;
} spad_amounts;

/**
 * A tensor: blocks of equal tiles. In a space with several lanes the first dim of
 * a tile runs across lanes; in a space with one, all dims are bytes of that lane.
 *
 * Placement (mode), where t is the number of a tile in row-major order of its index:
 *   AUTO   the planner places every tile or, with `ring`, every slot: tile t is in
 *          slot t mod ring (several numbers: the index modulo them, row-major).
 *   AT     tile t is at byte + t x step, at `lane`, counted from the start of `bank`; with `ring`,
 *          t is the slot. With `steps`, each index (modulo its number of `ring`) counts on its own.
 *   MOD    the modulo rings of NKI: lane, byte and bank from the index modulo `par`,
 *          `free` and `banks`, in steps of the lanes of a tile, its bytes and 1.
 *   STACK, HEAP  the scoped manager of the space places it when the statement runs.
 *   ALIAS  inside another tensor, `byte` after its start: tile t in its tile t when
 *          alias_tile is -1, else all tiles (or `ring` slots) one after another in
 *          that one tile.
 */
typedef struct spad_kernel_tensor {
    const char *name;
    size_t space;
    spad_dtype dtype;
    spad_amounts blocks;
    spad_amounts dims; /**< at least one */
    spad_mode mode;
    spad_amounts ring;
    spad_amount byte;
    spad_amount lane;
    spad_amount bank;
    spad_amount step;   /**< AT; 0: the bytes of a tile */
    spad_amounts steps; /**< AT: instead of `step`, one for each block dimension */
    spad_amounts free;
    spad_amounts par;
    spad_amounts banks;
    int64_t alias_of;   /**< ALIAS: number of the tensor */
    int64_t alias_tile; /**< ALIAS: number of its tile; -1: the tile of the same number */
    spad_amount align;  /**< 0: alignment of the element and of the space */
    unsigned flags;     /**< SPAD_TENSOR_... */
    spad_amount reuse;  /**< off chip: blocks of the grid that use the same bytes at about the same
                             time, so that a cache serves all but one; 0: 1 */
    spad_amount near;   /**< off chip: neighbouring blocks among them, whose requests a cache may
                             merge; 0: 1 */
    spad_amount cached; /**< off chip: of `cached_of` tiles in a row the last ones, which a cache
                             has when they are read */
    spad_amount cached_of;
    spad_amount pieces; /**< off chip: bytes that a thread accesses at a time; 0: not stated */
    int64_t like; /**< AUTO: has the bytes that another tensor has in an earlier instance of the
                       space, and its ring: number of that tensor, plus 1; 0: none */
    /* filled in by the builder */
    int64_t tiles; /**< product of blocks */
    int64_t slots; /**< number of slots that its tiles share */
    int64_t tile_lanes;
    int64_t tile_bytes; /**< per lane */
    int64_t home; /**< tensor that owns the storage: itself, or the end of its chain of aliases */
    int64_t home_tile;   /**< ALIAS: tile of the home; -1: the tile of the same number */
    int64_t home_byte;   /**< ALIAS: start of slot 0 in that tile */
    int64_t home_step;   /**< ALIAS: bytes from one slot to the next */
    int64_t proxy_align; /**< multiple that its addresses need, because operations through the async
                              proxy access it; 1: none */
    size_t statement;    /**< its declaration */
    spad_location location;
} spad_kernel_tensor;

/** The region of the scoped manager of a space; without one, it has the whole space. */
typedef struct spad_kernel_region {
    size_t space;
    spad_amount lower;
    spad_amount upper;
    spad_stack_behaviour behaviour;
    spad_location location;
} spad_kernel_region;

/** The order that a unit guarantees for two operations of one agent. */
typedef enum spad_unit_order {
    SPAD_UNIT_FREE,   /**< no order */
    SPAD_UNIT_FIFO,   /**< they start in the order of issue */
    SPAD_UNIT_SERIAL, /**< the first has ended when the second starts */
    SPAD_UNIT_SAME,   /**< as SERIAL, but only where they touch the same bytes */
    SPAD_UNIT_ORDERS
} spad_unit_order;

/** A unit runs issued operations asynchronously. An operation on an engine without a
 *  unit completes before the next statement of its agent. */
typedef struct spad_kernel_unit {
    const char *name;
    size_t engine;
    spad_unit_order order;
    bool proxy;    /**< accesses go through the async proxy: generic accesses need fences */
    int64_t fence; /**< number of a fence of the target that its operations need, too; -1: none */
    spad_location location;
} spad_kernel_unit;

typedef enum spad_sync_kind {
    SPAD_SYNC_BARRIER,  /**< count: contributions that complete it */
    SPAD_SYNC_COUNTER,  /**< count: value at the start */
    SPAD_SYNC_MBARRIER, /**< count: arrivals of a phase */
    SPAD_SYNC_GROUP,    /**< commit groups; each agent has its own queue of them */
    SPAD_SYNC_KINDS
} spad_sync_kind;

typedef struct spad_kernel_sync {
    const char *name;
    spad_sync_kind kind;
    spad_amounts dims; /**< no dims: one object */
    spad_amount count;
    int64_t elements; /**< product of dims; filled in by the builder */
    bool placed;      /**< an mbarrier with a given place in shared memory: `byte` */
    spad_amount byte; /**< of the first element; they are SPAD_MBARRIER_BYTES apart */
    spad_location location;
    bool each_block; /**< mbarriers: the first extent counts the blocks of the cluster; each has its
                          own elements, at the same bytes */
} spad_kernel_sync;

/** Bytes of an mbarrier: an opaque object of 64 bits in shared memory [PTX ISA, mbarrier]. */
#define SPAD_MBARRIER_BYTES 8

/** Agent 0 is the main program: it runs up to the agents, starts all of them at
 *  once, and continues when all have ended. */
typedef struct spad_kernel_agent {
    const char *name;
    spad_amount threads;   /**< 0: not stated */
    spad_amount registers; /**< of each thread (setmaxnreg); 0: not stated */
    size_t statement;      /**< agent 0: 0 */
    spad_location location;
} spad_kernel_agent;

/** A loop counts from `begin` up. Where `from` is not 0 it was written with bounds that change with
 *  loops around it, or with a step: it counts as far as the longest of its runs, and an IF around
 *  its body leaves out the rounds that a shorter one does not have. */
typedef struct spad_kernel_loop {
    const char *name;
    spad_amount begin;
    spad_amount end; /**< exclusive; at least begin */
    spad_expr from;  /**< as written; 0: `begin` is */
    spad_expr to;
    spad_amount step; /**< between two values of its variable; below 0: from the last one down */
    spad_expr value;  /**< of its variable; 0: what it counts */
    bool parallel;    /**< iterations do not depend on each other */
    int64_t outer;    /**< number of the enclosing loop; -1: none */
    size_t statement;
    spad_location location;
} spad_kernel_loop;

/** A line of the program that a kernel was made from, as the Python of a traced kernel. */
typedef struct spad_kernel_source {
    const char *file;
    int32_t line;
    const char *code; /**< the text of that line; "": not given */
    int64_t caller;   /**< the source of the call that led to it; -1: none */
} spad_kernel_source;

/** Values that only the data of a run decides, the same for all agents: lengths, flags. A check
 *  looks at all that they can be; other calls take `values`. */
typedef struct spad_kernel_unknown {
    const char *name;
    spad_amounts dims; /**< none: one value; else one number */
    spad_amount least;
    spad_amount end; /**< no value is this or above; above least */
    int64_t elements;
    const int64_t *values; /**< per element: what is taken for it */
    spad_location location;
} spad_kernel_unknown;

/** A position in a ring of `count` stages: its stage, and the phase, 0 or 1, which changes with
 *  every round. Both are names for expressions. */
typedef struct spad_kernel_cursor {
    const char *stage;
    const char *phase; /**< NULL: it has no name */
    spad_amount count; /**< of stages */
    int64_t agent;     /**< whose it is */
    bool even;         /**< its stages and phases are expressions of loops everywhere; a walk need
                            not keep it */
    size_t statement;
    spad_location location;
} spad_kernel_cursor;

/* ---- statements -------------------------------------------------------------------- */

typedef enum spad_statement_kind {
    SPAD_STATEMENT_TENSOR,      /**< item: tensor; its declaration */
    SPAD_STATEMENT_FOR,         /**< item: loop */
    SPAD_STATEMENT_IF,          /**< item: its ELSE statement, or -1; comparisons */
    SPAD_STATEMENT_ELSE,        /**< the last statement in an IF */
    SPAD_STATEMENT_SCOPE,       /**< name; amount: sections */
    SPAD_STATEMENT_SECTION,     /**< moves to the next section of the scope */
    SPAD_STATEMENT_CURSOR,      /**< item: cursor, which is at stage 0 of phase 0 after it */
    SPAD_STATEMENT_ADVANCE,     /**< item: cursor; amount: stages */
    SPAD_STATEMENT_BREAK,       /**< ends the innermost loop */
    SPAD_STATEMENT_AGENT,       /**< item: agent */
    SPAD_STATEMENT_OPERATION,   /**< name, engine, unit, accesses, completions, group, cost */
    SPAD_STATEMENT_ALLOC,       /**< item: tensor, index: its tile (none: all) becomes live */
    SPAD_STATEMENT_FREE,        /**< its tile becomes dead; a heap tensor must be the newest */
    SPAD_STATEMENT_SYNC,        /**< item: barrier; amount: contribution */
    SPAD_STATEMENT_ARRIVE,      /**< item: barrier or mbarrier; amount; expect; unit; DROP */
    SPAD_STATEMENT_SIGNAL,      /**< item: counter; amount is added; unit */
    SPAD_STATEMENT_WAIT_VALUE,  /**< item: counter; until it is at least amount; unit */
    SPAD_STATEMENT_TAKE,        /**< as WAIT_VALUE, then amount is subtracted */
    SPAD_STATEMENT_INIT,        /**< item: mbarrier; amount: arrivals of a phase */
    SPAD_STATEMENT_EXPECT,      /**< item: mbarrier; amount: bytes */
    SPAD_STATEMENT_WAIT_PARITY, /**< item: mbarrier; amount: parity of the phase, 0 or 1 */
    SPAD_STATEMENT_INVALIDATE,  /**< item: mbarrier */
    SPAD_STATEMENT_COMMIT,      /**< item: group */
    SPAD_STATEMENT_WAIT_GROUP,  /**< item: group; until at most amount are pending; READS */
    SPAD_STATEMENT_DRAIN,       /**< unit, -1: all units */
    SPAD_STATEMENT_FENCE,       /**< fence; BEFORE, AFTER */
    SPAD_STATEMENT_KINDS
} spad_statement_kind;

/** The first word of the statement in the text: "for", "wait" and so on. Static storage. */
SPAD_API const char *spad_statement_kind_name(spad_statement_kind kind);

enum {
    SPAD_SYNC_RELAXED = 1,  /**< orders execution, not memory */
    SPAD_SYNC_DROP = 2,     /**< arrive: and takes no part in later phases */
    SPAD_SYNC_READS = 4,    /**< group wait, completion: when the reads are done */
    SPAD_SYNC_NEXT = 16,    /**< parity wait: the phase after the one this agent waited for last at
                                 this element; amount: its parity where it is an expression of
                                 loops, else 0 */
    SPAD_IF_OF_LOOP = 8,    /**< if: stands for the bounds of the loop around it */
    SPAD_BY_ONE = 32,       /**< operation, arrive, parity wait: of one elected thread of an agent
                                 of many */
    SPAD_FENCE_BEFORE = 64, /**< fence between threads: before this agent synchronises */
    SPAD_FENCE_AFTER = 128  /**< and after it */
};

typedef enum spad_relation {
    SPAD_EQUAL,
    SPAD_NOT_EQUAL,
    SPAD_LESS,
    SPAD_LESS_EQUAL,
    SPAD_GREATER,
    SPAD_GREATER_EQUAL,
    SPAD_RELATIONS
} spad_relation;

typedef struct spad_comparison {
    spad_expr left;
    spad_relation relation;
    spad_expr right;
    bool alternative; /**< begins another list: "or" before it, "and" where it is false */
} spad_comparison;

/** Elements from, from + step, ... below to of one dimension; from and to 0: all elements; to 0:
 *  only element `from`. */
typedef struct spad_expr_range {
    spad_expr from;
    spad_expr to;
    spad_expr step; /**< constant, at least 1; 0: 1. Lanes have no step */
} spad_expr_range;

/** ADD is an update whose result does not depend on its order among other adds, as that of atomics
 *  and reductions: two of them do not race. Its first two bits are those of an update. */
enum { SPAD_ACCESS_READ = 1, SPAD_ACCESS_WRITE = 2, SPAD_ACCESS_UPDATE = 3, SPAD_ACCESS_ADD = 7 };

/** Added to one of these: which bytes of the part are accessed is known on the device only (gather,
 *  scatter, indirect DMA). All of them may be, so all conflicts count; what may be written counts
 *  as overwritten for other tiles, and as not written for its own. */
enum { SPAD_ACCESS_MAY = 8 };

/** The part of a tile that an operation accesses. */
typedef struct spad_kernel_access {
    int64_t tensor;
    unsigned kind;      /**< SPAD_ACCESS_... */
    size_t index_count; /**< the block dims of the tensor */
    const spad_expr *index;
    size_t range_count; /**< 0: the whole tile; else the dims of the tensor */
    const spad_expr_range *ranges;
    spad_expr moves;    /**< MAY: the bytes that are moved, of all lanes, for the cost; 0: all */
    const char *spread; /**< which threads of the agent access which bytes: "all", "one",
                           "together", "unknown" or the name of a division; NULL: not stated */
    spad_location location;
} spad_kernel_access;

typedef enum spad_completion_kind {
    SPAD_COMPLETION_DELIVER, /**< mbarrier: `amount` bytes; 0: the bytes that it writes */
    SPAD_COMPLETION_ARRIVE,  /**< mbarrier */
    SPAD_COMPLETION_SIGNAL   /**< counter */
} spad_completion_kind;

/** The effect of an operation when it completes. */
typedef struct spad_kernel_completion {
    spad_completion_kind kind;
    int64_t object;
    size_t index_count;
    const spad_expr *index;
    spad_expr amount; /**< 0: 1, or for DELIVER the bytes that it writes */
    unsigned flags;   /**< SPAD_SYNC_READS */
    spad_location location;
} spad_kernel_completion;

typedef enum spad_cost_kind { SPAD_COST_TARGET, SPAD_COST_CYCLES, SPAD_COST_NS } spad_cost_kind;

/** A statement. Each kind lists the fields that it uses. Of the others, row numbers are -1 and
 *  the rest is 0. */
typedef struct spad_statement {
    spad_statement_kind kind;
    spad_location location;
    int64_t source; /**< where in the program it comes from; -1: not given */
    size_t end;
    int64_t parent; /**< the statement that contains it; -1: none */
    int64_t agent;
    int64_t loop; /**< innermost enclosing loop; -1: none */
    bool guarded; /**< it is in an if, or in a loop without iterations */
    const char *name;
    int64_t item;
    size_t index_count;
    const spad_expr *index;
    spad_expr amount;
    spad_expr expect;
    int64_t unit;
    int64_t engine;
    unsigned flags;
    size_t first_access;
    size_t access_count;
    size_t first_completion;
    size_t completion_count;
    int64_t group; /**< operation: the group it is committed with */
    int64_t fence; /**< fence: its number in the target; -1: a proxy fence for all memory */
    spad_cost_kind cost_kind;
    spad_expr cost;
    spad_cost_kind latency_kind; /**< operation: unit of `latency`; TARGET: it is not given */
    spad_amount latency; /**< the result is there that long after the engine is free again */
    spad_amount work[SPAD_WORKS]; /**< operation: per element, by kind; all 0: not given */
    size_t comparison_count;
    const spad_comparison *comparisons; /**< all of one alternative must hold */
} spad_statement;

/* ---- reading a kernel -------------------------------------------------------------------
 * Rows by number; NULL beyond the count. Borrowed until the kernel is destroyed. */

/** The name of the kernel. */
SPAD_API const char *spad_kernel_get_name(const spad_kernel *kernel);

/** The description of the kernel; "" without one. */
SPAD_API const char *spad_kernel_get_about(const spad_kernel *kernel);

/** What a proof about the kernel rests on: executions of the program it was made from for which
 * this is not so are not executions of the kernel. "": it has them all. */
SPAD_API const char *spad_kernel_get_assumption(const spad_kernel *kernel);

/** The file it was read from; NULL: it was built by calls. */
SPAD_API const char *spad_kernel_get_file(const spad_kernel *kernel);

/** The target of the kernel. */
SPAD_API const spad_target *spad_kernel_get_target(const spad_kernel *kernel);

/** Blocks of the grid, of which the kernel describes one; 0: not stated. */
SPAD_API int64_t spad_kernel_get_grid(const spad_kernel *kernel);

/** Blocks of a cluster whose agents the kernel has; 1: not stated. */
SPAD_API int64_t spad_kernel_get_cluster(const spad_kernel *kernel);

/** Does the compiler handle dependencies? True without agents, units and synchronisation. */
SPAD_API bool spad_kernel_is_implicit(const spad_kernel *kernel);

/** Number of parameters. */
SPAD_API size_t spad_kernel_param_count(const spad_kernel *kernel);

/** Number of tensors. */
SPAD_API size_t spad_kernel_tensor_count(const spad_kernel *kernel);

/** Number of regions of scoped managers. */
SPAD_API size_t spad_kernel_region_count(const spad_kernel *kernel);

/** Number of units. */
SPAD_API size_t spad_kernel_unit_count(const spad_kernel *kernel);

/** Number of synchronisation objects; an array counts as one. */
SPAD_API size_t spad_kernel_sync_count(const spad_kernel *kernel);

/** Number of agents, including main: at least 1. */
SPAD_API size_t spad_kernel_agent_count(const spad_kernel *kernel);

/** Number of loops. */
SPAD_API size_t spad_kernel_loop_count(const spad_kernel *kernel);

/** Number of cursors. */
SPAD_API size_t spad_kernel_cursor_count(const spad_kernel *kernel);

/** Number of rows of unknown values. */
SPAD_API size_t spad_kernel_unknown_count(const spad_kernel *kernel);

/** Number of lines of the program that the kernel was made from. */
SPAD_API size_t spad_kernel_source_count(const spad_kernel *kernel);

/** Number of statements. */
SPAD_API size_t spad_kernel_statement_count(const spad_kernel *kernel);

/** Number of accesses of all operations. */
SPAD_API size_t spad_kernel_access_count(const spad_kernel *kernel);

/** Number of completions of all operations. */
SPAD_API size_t spad_kernel_completion_count(const spad_kernel *kernel);

/** A parameter by number. */
SPAD_API const spad_kernel_param *spad_kernel_get_param(const spad_kernel *kernel, size_t number);

/** A tensor by number. */
SPAD_API const spad_kernel_tensor *spad_kernel_get_tensor(const spad_kernel *kernel, size_t number);

/** A region by number. */
SPAD_API const spad_kernel_region *spad_kernel_get_region(const spad_kernel *kernel, size_t number);

/** A unit by number. */
SPAD_API const spad_kernel_unit *spad_kernel_get_unit(const spad_kernel *kernel, size_t number);

/** A synchronisation object by number. */
SPAD_API const spad_kernel_sync *spad_kernel_get_sync(const spad_kernel *kernel, size_t number);

/** An agent by number; 0 is main. */
SPAD_API const spad_kernel_agent *spad_kernel_get_agent(const spad_kernel *kernel, size_t number);

/** A loop by number. */
SPAD_API const spad_kernel_loop *spad_kernel_get_loop(const spad_kernel *kernel, size_t number);

/** A cursor by number. */
SPAD_API const spad_kernel_cursor *spad_kernel_get_cursor(const spad_kernel *kernel, size_t number);

/** A row of unknown values by number. */
SPAD_API const spad_kernel_unknown *spad_kernel_get_unknown(const spad_kernel *kernel,
                                                            size_t number);

/** A line of the program that the kernel was made from, by number. */
SPAD_API const spad_kernel_source *spad_kernel_get_source(const spad_kernel *kernel, size_t number);

/** The source of what is on a line of the text, or -1. O(log statements) where they are in the
 * order of the text, else O(statements). */
SPAD_API int64_t spad_kernel_find_source(const spad_kernel *kernel, int32_t line);

/** A statement by number, in the order of the text. */
SPAD_API const spad_statement *spad_kernel_get_statement(const spad_kernel *kernel, size_t number);

/** An access by number; those of an operation are consecutive. */
SPAD_API const spad_kernel_access *spad_kernel_get_access(const spad_kernel *kernel, size_t number);

/** A completion by number; those of an operation are consecutive. */
SPAD_API const spad_kernel_completion *spad_kernel_get_completion(const spad_kernel *kernel,
                                                                  size_t number);

/** An expression by number; all zero if there is no such expression. */
SPAD_API spad_expr_info spad_kernel_get_expr(const spad_kernel *kernel, spad_expr expr);

/** The value of an expression, where values[l] is what loop l counts, followed by the advances of
 *  each cursor that is not even, modulo twice its stages. Must be an expression of the kernel, and
 *  every value must occur in its loop. O(nodes). */
SPAD_API int64_t spad_kernel_evaluate(const spad_kernel *kernel, spad_expr expr,
                                      const int64_t *values);

/** Writes the kernel as text. Reading it back gives the same program, apart from locations.
 *  Parameters are written with the values in effect. */
SPAD_API spad_status spad_kernel_write_text(const spad_kernel *kernel, const spad_sink *sink,
                                            spad_error *error);

/** Frees it. NULL is fine. */
SPAD_API void spad_kernel_destroy(spad_kernel *kernel);

/* ---- text to kernel ---------------------------------------------------------------- */

/** A value that replaces that of a parameter: -D N=64. */
typedef struct spad_define {
    const char *name;
    int64_t value;
} spad_define;

/** Zeroed is the default. */
typedef struct spad_kernel_options {
    const spad_define *defines;
    size_t define_count;
    const spad_define *rings; /**< ring depths that replace those in the text, by name of the
                                   tensor: for auto tensors with block dimensions; 0: no ring */
    size_t ring_count;
    const spad_target *target; /**< replaces the target that the kernel names */
    const spad_host *host;
} spad_kernel_options;

/**
 * Reads a kernel. `file` is its name in messages. On a fault the status is
 * SPAD_ERR_SYNTAX, `error` has the first fault, and `diagnostics` (optional) has all
 * of them. SPAD_ERR_UNKNOWN: a define names no parameter, or a ring no tensor.
 * SPAD_ERR_ARGUMENT: the tensor cannot have a ring. The text is not needed
 * afterwards; the target is borrowed. The caller owns the result.
 */
SPAD_API spad_status spad_kernel_parse(spad_kernel **out, const char *text, size_t length,
                                       const char *file, const spad_kernel_options *options,
                                       spad_diagnostics *diagnostics, spad_error *error);

/**
 * The same kernel with the parameters and rings of `options`. Rows keep their numbers
 * and locations. The statuses are those of spad_kernel_parse: a value may make a
 * dimension empty or an index leave its tensor. The target is borrowed; the first
 * kernel is not needed afterwards.
 */
SPAD_API spad_status spad_kernel_reshape(spad_kernel **out, const spad_kernel *kernel,
                                         const spad_kernel_options *options, spad_error *error);

/**
 * The same kernel without the addresses that it gives to tensors on chip (`at`, `mod`), so that the
 * planner places them: a modulo tensor becomes a ring that repeats as its places do. Tensors of
 * stacks and heaps and aliases stay as they are. Rows keep their numbers and locations. A tensor
 * that was read through the address of another is uninitialised then: the check finds it. Statuses
 * of spad_kernel_parse. The target is borrowed; the first kernel is not needed afterwards.
 */
SPAD_API spad_status spad_kernel_release(spad_kernel **out, const spad_kernel *kernel,
                                         const spad_host *host, spad_error *error);

/**
 * The same kernel with a tensor declared before all enclosing loops. It gets a tile for every
 * iteration, and one more if a parameter determines how many there are, because there may be
 * none. `tiles` of them exist at a time; the innermost loop uses them in turn. The tensor must be
 * auto, without aliases, and without `alloc` and `free`; else SPAD_ERR_ARGUMENT. Other statuses are
 * those of spad_kernel_parse, such as SPAD_ERR_SYNTAX for a name that would be used twice. Rows
 * have new numbers, and locations are those of the new text.
 */
SPAD_API spad_status spad_kernel_hoist(spad_kernel **out, const spad_kernel *kernel, int64_t tensor,
                                       int64_t tiles, const spad_host *host, spad_error *error);

/**
 * The same kernel with its loops found again: for straight ones, as traces are, of operations and
 * of tensors without blocks. Statements that repeat with indices, ranges and costs that move evenly
 * become loops; equal tensors of one source that only operations of loops tell apart become the
 * tiles of one. The operations of a run stay the same, in the same order and on the same bytes.
 * Tensors that the planner places are tiles of one only if the layout fits as before and takes no
 * more bytes; else their operations stay straight.
 * *out is NULL where nothing is repeated three times, or if the kernel is not straight. Rows have
 * new numbers, and locations are those of the new text. O(statements) for loops whose bodies are
 * found at once.
 */
SPAD_API spad_status spad_kernel_fold(spad_kernel **out, const spad_kernel *kernel,
                                      const spad_host *host, spad_error *error);

/* ---- calls to kernel ------------------------------------------------------------------------
 * Every call appends one item, or fails and appends nothing. The statuses:
 * SPAD_ERR_NAME (taken, or not a word), SPAD_ERR_UNKNOWN (no such number or name),
 * SPAD_ERR_ARGUMENT, SPAD_ERR_SHAPE, SPAD_ERR_DTYPE, SPAD_ERR_LANES, SPAD_ERR_BOUNDS
 * (an index that is certain to be outside in some iteration), SPAD_ERR_OVERFLOW,
 * SPAD_ERR_SPACE (the engine cannot reach the space), SPAD_ERR_NO_SCOPE,
 * SPAD_ERR_HOST_MEMORY. Names are copied. */

typedef struct spad_kernel_builder spad_kernel_builder;

/** Creates a builder. `options`: target, host, defines and rings, as for text. */
SPAD_API spad_status spad_kernel_builder_create(spad_kernel_builder **out, const char *name,
                                                const char *about, const spad_target *target,
                                                const spad_kernel_options *options,
                                                spad_error *error);

/** Frees a builder, finished or not. NULL is fine. */
SPAD_API void spad_kernel_builder_destroy(spad_kernel_builder *builder);

/** Returns the kernel, owned by the caller. The builder is then empty and can only be destroyed.
 *  SPAD_ERR_ARGUMENT: a block is not ended. SPAD_ERR_UNKNOWN: a define or a ring was not used. */
SPAD_API spad_status spad_kernel_builder_finish(spad_kernel **out, spad_kernel_builder *builder,
                                                spad_error *error);

/** Sets the location of everything that is added after this call. */
SPAD_API void spad_kernel_builder_at(spad_kernel_builder *builder, spad_location location);

/** Adds a line of the program that the kernel is made from. code: its text, or NULL. caller: the
 *  source of the call that leads to it, or -1. *out: its number. */
SPAD_API spad_status spad_kernel_builder_source(int64_t *out, spad_kernel_builder *builder,
                                                const char *file, int32_t line, const char *code,
                                                int64_t caller, spad_error *error);

/** Sets the source of all statements that are added after this call; -1: none. */
SPAD_API spad_status spad_kernel_builder_from(spad_kernel_builder *builder, int64_t source,
                                              spad_error *error);

/** Adds a constant. */
SPAD_API spad_status spad_kernel_builder_number(spad_expr *out, spad_kernel_builder *builder,
                                                int64_t value, spad_error *error);

/** Adds a parameter or the variable of an enclosing loop, by name. */
SPAD_API spad_status spad_kernel_builder_name(spad_expr *out, spad_kernel_builder *builder,
                                              const char *name, spad_error *error);

/** Applies an operator to one or two expressions; right is 0 for SPAD_EXPR_NEGATE. */
SPAD_API spad_status spad_kernel_builder_apply(spad_expr *out, spad_kernel_builder *builder,
                                               spad_expr_op op, spad_expr left, spad_expr right,
                                               spad_error *error);

/** Adds an expression from text: "(i / 3) % 2". */
SPAD_API spad_status spad_kernel_builder_expr(spad_expr *out, spad_kernel_builder *builder,
                                              const char *text, spad_error *error);

/* Declarations. An amount is its value, or a constant expression from which the builder
 * fills in the value. *out: the number of the row. */

/** Declares a parameter; *out is an expression with its value. */
SPAD_API spad_status spad_kernel_builder_param(spad_expr *out, spad_kernel_builder *builder,
                                               const char *name, spad_amount preset,
                                               spad_error *error);

/** The kernel that is built depends on the value of a parameter, beyond expressions: on how many
 *  agents there are, for instance. It cannot be reshaped to another value. */
SPAD_API spad_status spad_kernel_builder_fix(spad_kernel_builder *builder, const char *param,
                                             spad_error *error);

/** A parameter is not known before the kernel runs, as the rounds of a loop that data ends: a check
 *  proves the kernel for all of its values, or nothing. */
SPAD_API spad_status spad_kernel_builder_any(spad_kernel_builder *builder, const char *param,
                                             spad_error *error);

/** The newest synchronisation object is one of mbarriers, and the first of its extents counts the
 *  blocks of the cluster, which is declared before it: each block has the others, at the same bytes
 *  of its shared memory. */
SPAD_API spad_status spad_kernel_builder_each_block(spad_kernel_builder *builder,
                                                    spad_error *error);

/** Declares that the agents are those of several blocks of a cluster, each with threads, registers
 *  and barriers of its own. */
SPAD_API spad_status spad_kernel_builder_cluster(spad_kernel_builder *builder, spad_amount blocks,
                                                 spad_error *error);

/** What a proof about the kernel rests on, as a clause: "the loop in line 7 has 3 rounds". A kernel
 *  has at most one. SPAD_ERR_NAME: it has one already. */
SPAD_API spad_status spad_kernel_builder_assume(spad_kernel_builder *builder,
                                                const char *assumption, spad_error *error);

/** Declares how many blocks the grid has, of which the kernel describes one. */
SPAD_API spad_status spad_kernel_builder_grid(spad_kernel_builder *builder, spad_amount blocks,
                                              spad_error *error);

/** Declares the region of the scoped manager of a space. */
SPAD_API spad_status spad_kernel_builder_region(spad_kernel_builder *builder, size_t space,
                                                spad_amount lower, spad_amount upper,
                                                spad_stack_behaviour behaviour, spad_error *error);

/** Declares a unit of an engine. */
SPAD_API spad_status spad_kernel_builder_unit(int64_t *out, spad_kernel_builder *builder,
                                              const char *name, size_t engine,
                                              spad_unit_order order, bool proxy, spad_error *error);

/** Operations of a unit need a fence of the target, by number (spad_target_find_fence), that is not
 *  a proxy fence; the check then asks for it. SPAD_ERR_UNKNOWN: no such unit or fence,
 *  SPAD_ERR_ARGUMENT: a proxy fence, or the engine does not reach its memory. */
SPAD_API spad_status spad_kernel_builder_unit_fence(spad_kernel_builder *builder, int64_t unit,
                                                    size_t fence, spad_error *error);

/** Declares values that are not known before the kernel runs: from least up to end, which is not
 *  one. dims: none or one. values: what is taken for them; fewer than there are, or NULL: least
 *  for the others. Their expressions are made by spad_kernel_builder_value. */
SPAD_API spad_status spad_kernel_builder_unknown(int64_t *out, spad_kernel_builder *builder,
                                                 const char *name, spad_amounts dims,
                                                 spad_amount least, spad_amount end,
                                                 const int64_t *values, size_t value_count,
                                                 spad_error *error);

/** An unknown value as an expression. element: 0 where there is one. */
SPAD_API spad_status spad_kernel_builder_value(spad_expr *out, spad_kernel_builder *builder,
                                               int64_t unknown, spad_expr element,
                                               spad_error *error);

/** Declares a synchronisation object, or an array of them. */
SPAD_API spad_status spad_kernel_builder_sync(int64_t *out, spad_kernel_builder *builder,
                                              spad_sync_kind kind, const char *name,
                                              spad_amounts dims, spad_amount count,
                                              spad_error *error);

/** Gives an mbarrier a place: the byte of its first element in the space `shared` of the target. A
 *  target without one is refused (SPAD_ERR_UNKNOWN), and so are other kinds of objects, a negative
 *  byte, and elements whose bytes do not fit 64 bits. */
SPAD_API spad_status spad_kernel_builder_sync_at(spad_kernel_builder *builder, int64_t sync,
                                                 spad_amount byte, spad_error *error);

/** Declares a tensor; fields that the builder fills in are not read. */
SPAD_API spad_status spad_kernel_builder_tensor(int64_t *out, spad_kernel_builder *builder,
                                                const spad_kernel_tensor *tensor,
                                                spad_error *error);

/** Declares a cursor in the block that is open, at stage 0 of phase 0. phase NULL: it has no name.
 *  Stage and phase are expressions then, by spad_kernel_builder_name. */
SPAD_API spad_status spad_kernel_builder_cursor(int64_t *out, spad_kernel_builder *builder,
                                                const char *stage, const char *phase,
                                                spad_amount count, spad_error *error);

/* Blocks; spad_kernel_builder_end ends each. */

/** Begins a loop; *variable is an expression with its variable. */
SPAD_API spad_status spad_kernel_builder_for(spad_expr *variable, spad_kernel_builder *builder,
                                             const char *name, spad_amount begin, spad_amount end,
                                             bool parallel, spad_error *error);

/**
 * Begins a loop whose bounds may change with loops around it, over the values from, from + step,
 * ... below to. A negative step runs the range from its end: to - 1, to - 1 + step, ... down to
 * from. *variable is the value. Bounds that are constant, and a step of 1, make the loop of the
 * call above.
 */
SPAD_API spad_status spad_kernel_builder_range(spad_expr *variable, spad_kernel_builder *builder,
                                               const char *name, spad_expr from, spad_expr to,
                                               spad_amount step, bool parallel, spad_error *error);

/** Begins a block that runs if all comparisons of one alternative hold. */
SPAD_API spad_status spad_kernel_builder_if(spad_kernel_builder *builder,
                                            const spad_comparison *comparisons, size_t count,
                                            spad_error *error);

/** Begins the else part of the innermost block, which must be an if. */
SPAD_API spad_status spad_kernel_builder_else(spad_kernel_builder *builder, spad_error *error);

/** Begins a scope of the scoped managers. name NULL: unnamed. */
SPAD_API spad_status spad_kernel_builder_scope(spad_kernel_builder *builder, const char *name,
                                               spad_amount sections, spad_error *error);

/** Begins the program of an agent, outside of all blocks. */
SPAD_API spad_status spad_kernel_builder_agent(spad_kernel_builder *builder, const char *name,
                                               spad_error *error);

/** States how many threads the newest agent has, directly after its begin, and how many registers
 *  each of them is limited to; a value of 0: not stated. */
SPAD_API spad_status spad_kernel_builder_threads(spad_kernel_builder *builder, spad_amount threads,
                                                 spad_amount registers, spad_error *error);

/** Ends the innermost block. SPAD_ERR_ARGUMENT: none exists. */
SPAD_API spad_status spad_kernel_builder_end(spad_kernel_builder *builder, spad_error *error);

/** Adds an operation on an engine of the target or on a unit, by name. */
SPAD_API spad_status spad_kernel_builder_operation(spad_kernel_builder *builder, const char *runner,
                                                   const char *name, spad_error *error);
/* The next four calls, and spad_kernel_builder_elect, extend the last operation. */

/** Adds an access to the last operation. */
SPAD_API spad_status spad_kernel_builder_access(spad_kernel_builder *builder,
                                                const spad_kernel_access *access,
                                                spad_error *error);

/** Adds a completion to the last operation. */
SPAD_API spad_status spad_kernel_builder_completion(spad_kernel_builder *builder,
                                                    const spad_kernel_completion *completion,
                                                    spad_error *error);

/** Puts the last operation into the next commit of a group. */
SPAD_API spad_status spad_kernel_builder_group(spad_kernel_builder *builder, int64_t group,
                                               spad_error *error);

/** Sets the cost of the last operation. */
SPAD_API spad_status spad_kernel_builder_cost(spad_kernel_builder *builder, spad_cost_kind kind,
                                              spad_expr cost, spad_error *error);

/** Sets how long after the end of its occupation the result of the last operation is there. */
SPAD_API spad_status spad_kernel_builder_latency(spad_kernel_builder *builder, spad_cost_kind kind,
                                                 spad_amount latency, spad_error *error);

/** Sets how much of a kind of work the last operation does per element of its largest operand.
 *  SPAD_ERR_ARGUMENT: not a kind that is counted by element, or below 1. */
SPAD_API spad_status spad_kernel_builder_work(spad_kernel_builder *builder, spad_work work,
                                              spad_amount amount, spad_error *error);

/** One elected thread of the agent runs the last operation; without it, all of them do. */
SPAD_API spad_status spad_kernel_builder_elect(spad_kernel_builder *builder, spad_error *error);

/** A statement with this kind and item and all other fields unused, to pass to the next call. */
SPAD_API spad_statement spad_statement_of(spad_statement_kind kind, int64_t item);

/** Adds any other statement. Only kind, item, index, amount, expect, unit, fence and flags are
 * read. An amount of 0 means 1, or in INIT the count of the mbarrier. */
SPAD_API spad_status spad_kernel_builder_statement(spad_kernel_builder *builder,
                                                   const spad_statement *statement,
                                                   spad_error *error);

#ifdef __cplusplus
}
#endif
#endif
