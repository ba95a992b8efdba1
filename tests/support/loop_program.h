/* SPDX-License-Identifier: Apache-2.0
 *
 * loop_program: small kernels with loops, and an oracle for them. Nothing in the oracle comes from
 * the library: expressions, loops, conditions, cursors, synchronisation and bytes have an
 * interpreter of their own.
 *
 * Two accesses to a common byte, one of them a write, race if each can happen while the other has
 * not: one is held back, and everything else runs as far as it can (as in "Happens-before" of
 * docs/check-how.md). Without races a read is right if all its bytes were last written as its tile.
 */
#ifndef SPAD_TEST_LOOP_PROGRAM_H
#define SPAD_TEST_LOOP_PROGRAM_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum {
    LOOP_NODES = 1024,
    LOOP_STATEMENTS = 160,
    LOOP_PARAMS = 3,
    LOOP_VARIABLES = 24,
    LOOP_DIMS = 3,
    LOOP_AGENTS = 3,
    LOOP_COUNTERS = 4,
    LOOP_TENSORS = 4,
    LOOP_COMPARISONS = 3,
    LOOP_TEXT = 16384,
    LOOP_THRESHOLDS = 48
};

typedef enum loop_op {
    OP_NUMBER,
    OP_PARAM,
    OP_VARIABLE,
    OP_STAGE, /* of the cursor of the agent */
    OP_PHASE,
    OP_UNKNOWN, /* r */
    OP_ADD,
    OP_SUB,
    OP_MUL,
    OP_DIV,
    OP_MOD,
    OP_MIN,
    OP_MAX
} loop_op;

typedef struct loop_node {
    loop_op op;
    int64_t value;
    int left, right;
} loop_node;

typedef enum loop_kind {
    DO_FOR,
    DO_IF,
    DO_BREAK,
    DO_END, /* of a for or an if */
    DO_WRITE,
    DO_READ,
    DO_UPDATE, /* reads and writes */
    DO_ADD,    /* the same, in any order with others */
    DO_ADVANCE,
    DO_COMMIT,
    DO_PENDING, /* wait g pending */
    DO_SYNC,
    DO_SIGNAL,
    DO_TAKE,
    DO_REACH /* wait c >= e */
} loop_kind;

typedef enum loop_relation {
    IS_LESS,
    IS_MOST,
    IS_MORE,
    IS_LEAST,
    IS_EQUAL,
    IS_OTHER
} loop_relation;

typedef struct loop_comparison {
    int left, right;
    loop_relation relation;
    bool alternative; /* `or` before it */
} loop_comparison;

/* Which elements of a tile of 64: bits; or one that an expression gives. */
typedef struct loop_part {
    int kind; /* LOOP_WHOLE ... */
    int at;   /* expression of LOOP_ONE */
} loop_part;

enum { LOOP_WHOLE, LOOP_LOW, LOOP_HIGH, LOOP_EVEN, LOOP_ODD, LOOP_ONE, LOOP_PARTS };

typedef struct loop_statement {
    loop_kind kind;
    int variable;   /* FOR */
    int begin, end; /* FOR */
    int step;       /* FOR */
    int tensor;
    int index[LOOP_DIMS];
    loop_part part;
    bool async; /* WRITE */
    int object; /* counter */
    int amount; /* PENDING, REACH: expression */
    loop_comparison comparisons[LOOP_COMPARISONS];
    int comparison_count;
} loop_statement;

/* A tile has 64 bytes. */
typedef enum loop_place {
    OFF_CHIP, /* each tile has its own bytes */
    ON_CHIP,  /* the same */
    IN_RING,  /* slots of its own */
    IN_RINGS, /* a ring per dimension */
    AT_BYTE,  /* slots from a byte on, which other tensors may share */
    ALIAS     /* half of each tile of the tensor before it: 32 bytes */
} loop_place;

typedef struct loop_tensor {
    loop_place place;
    int dims;
    int extent[LOOP_DIMS]; /* expressions */
    int ring[LOOP_DIMS];   /* slots, in all or per dimension */
    int byte;              /* of AT_BYTE; of an alias, 0 or 32, in the tile */
} loop_tensor;

typedef struct loop_program {
    loop_node nodes[LOOP_NODES];
    int node_count;
    loop_statement statements[LOOP_STATEMENTS];
    int statement_count;
    int first[LOOP_AGENTS + 1]; /* statement of each agent */
    int agents;
    bool main; /* its one agent is the main program */
    int params;
    int64_t given[LOOP_PARAMS];
    int variables;
    loop_tensor tensors[LOOP_TENSORS];
    int tensor_count;
    int cursors[LOOP_AGENTS]; /* stages of the cursor of each agent; 0: none */
    int unknown;              /* values of r; 0: none */
    bool async;               /* has stores that something waits for, or nothing */
    int barrier_count;
    int counters;
    int64_t counter_start[LOOP_COUNTERS];
    bool any; /* the first parameter is `any` */
    int64_t thresholds[LOOP_THRESHOLDS];
    int threshold_count;
} loop_program;

typedef enum loop_answer {
    LOOPS_RIGHT,
    LOOPS_RACE,
    LOOPS_STALE, /* a read finds other bytes */
    LOOPS_STUCK,
    LOOPS_OUTSIDE, /* an index leaves its tensor */
    LOOPS_TOO_LONG
} loop_answer;

extern const char *const loop_params[LOOP_PARAMS];

void loop_program_print(const loop_program *p, char *text, size_t size);
/* Wrong for one value of r is wrong. */
loop_answer loop_program_run(const loop_program *p, const int64_t *values);

/* A random one. */
void random_loops(loop_program *p, uint64_t seed);

#endif
