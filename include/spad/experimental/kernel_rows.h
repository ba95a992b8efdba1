/* SPDX-License-Identifier: Apache-2.0
 *
 * kernel_rows: the tables of a finished kernel: expressions, parameters, tensors, synchronisation,
 * agents, loops and statements, read by number. They are the model that front ends and passes
 * share, and grow with it.
 *
 * Statements are one list in the order of the text. A statement that contains others (loop, if,
 * scope, agent) is followed by them, and its `end` is the number of the first statement after them.
 * Rows belong to the kernel and live as long as it. Reading is safe from several threads.
 */
#ifndef SPAD_KERNEL_ROWS_H
#define SPAD_KERNEL_ROWS_H

#ifndef SPAD_EXPERIMENTAL
#error "spad/experimental/kernel_rows.h may change in any version: define SPAD_EXPERIMENTAL"
#endif

#include "spad/kernel.h"
#include "spad/stack.h"
#include "spad/trace.h"

#ifdef __cplusplus
extern "C" {
#endif

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
    int32_t column;   /**< 0: not given */
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

/** ADD is an update whose result does not depend on its order among other adds, as with atomics
 *  and reductions: two of them do not race. Its low two bits mark an update. */
enum { SPAD_ACCESS_READ = 1, SPAD_ACCESS_WRITE = 2, SPAD_ACCESS_UPDATE = 3, SPAD_ACCESS_ADD = 7 };

/** Added to one of these: which bytes of the part are accessed is known on the device only (gather,
 *  scatter, indirect DMA). All of them may be, so all conflicts count; what may be written counts
 *  as overwritten for other tiles, and as not written for its own. */
enum { SPAD_ACCESS_MAY = 8 };

/** Added to WRITE: each write of these bytes that is marked so stores the same value, in the whole
 *  run. Two of them that are not ordered are a warning. */
enum { SPAD_ACCESS_AGREED = 16 };

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

/** Gives the text of a file of the program, for callers that can read it: findings show the lines
 *  of its sources, and reports the file. Copied. SPAD_ERR_UNKNOWN: no source names the file. */
SPAD_API spad_status spad_kernel_set_program(spad_kernel *kernel, const char *file,
                                             const char *text, size_t length, spad_error *error);

/** A statement by number, in the order of the text. */
SPAD_API const spad_statement *spad_kernel_get_statement(const spad_kernel *kernel, size_t number);

/** An access by number; the accesses of an operation are consecutive. */
SPAD_API const spad_kernel_access *spad_kernel_get_access(const spad_kernel *kernel, size_t number);

/** A completion by number; the completions of an operation are consecutive. */
SPAD_API const spad_kernel_completion *spad_kernel_get_completion(const spad_kernel *kernel,
                                                                  size_t number);

/** An expression by number; all zero if the number is out of range. */
SPAD_API spad_expr_info spad_kernel_get_expr(const spad_kernel *kernel, spad_expr expr);

/** The description of the kernel; "" without one. */
SPAD_API const char *spad_kernel_get_about(const spad_kernel *kernel);

/** The file it was read from; NULL: it was built by calls. */
SPAD_API const char *spad_kernel_get_file(const spad_kernel *kernel);

/** Does the compiler handle dependencies? True without agents, units and synchronisation. */
SPAD_API bool spad_kernel_is_implicit(const spad_kernel *kernel);

/**
 * The same kernel with the parameters and rings of `options`. Rows keep their numbers
 * and locations. The statuses are those of the builder, because a value may make a
 * dimension empty or an index leave its tensor, and SPAD_ERR_UNKNOWN and SPAD_ERR_ARGUMENT
 * of spad_kernel_parse for the options. The target is borrowed; the first kernel is not
 * needed afterwards.
 */
SPAD_API spad_status spad_kernel_reshape(spad_kernel **out, const spad_kernel *kernel,
                                         const spad_kernel_options *options, spad_error *error);

/**
 * The same kernel without the addresses that it gives to tensors on chip (`at`, `mod`), so that the
 * planner places them: a modulo tensor becomes a ring that repeats as its places do. Tensors of
 * stacks and heaps and aliases stay as they are. Rows keep their numbers and locations. A tensor
 * that was read through the address of another is uninitialised then: the check finds it. Statuses
 * of the builder. The target is borrowed; the first kernel is not needed afterwards.
 */
SPAD_API spad_status spad_kernel_release(spad_kernel **out, const spad_kernel *kernel,
                                         const spad_host *host, spad_error *error);

/**
 * The same kernel with a tensor declared before all enclosing loops. It gets a tile for every
 * iteration, and one more if a parameter determines how many there are, because there may be
 * none. `tiles` of them exist at a time; the innermost loop uses them in turn. The tensor must be
 * auto, without aliases, and without `alloc` and `free`; else SPAD_ERR_ARGUMENT. Other statuses are
 * those of the builder, such as SPAD_ERR_NAME for a name that would be used twice. Rows keep their
 * locations; tensors and statements have new numbers.
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
 * In a kernel with agents each of them is folded by itself, with units and synchronisation; tensors
 * and mbarriers at even distances that an agent uses in turn become tiles and elements of one.
 * *out is NULL where nothing is repeated three times, or if the kernel is not straight. Rows have
 * new numbers, and locations are those of the new text. O(statements) for loops whose bodies are
 * found at once.
 */
SPAD_API spad_status spad_kernel_fold(spad_kernel **out, const spad_kernel *kernel,
                                      const spad_host *host, spad_error *error);

#ifdef __cplusplus
}
#endif
#endif
