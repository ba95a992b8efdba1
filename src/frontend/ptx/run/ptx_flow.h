/* SPDX-License-Identifier: Apache-2.0
 *
 * Control flow of a function, for branches whose condition is not known: where their ways join
 * again, and whether what lies between can be left out.
 *
 * Blocks that always lead to a trap do not count: their edges are left out wherever a branch has
 * another way.
 */
#ifndef SPAD_FRONTEND_PTX_FLOW_H
#define SPAD_FRONTEND_PTX_FLOW_H

#include "frontend/ptx/run/ptx_state.h"

typedef enum spad__ptx_stays {
    SPAD__PTX_STAYS_UNSURE,  /* not computed yet */
    SPAD__PTX_STAYS_NEITHER, /* no loop, or both ways stay in it */
    SPAD__PTX_STAYS_TAKEN,
    SPAD__PTX_STAYS_NEXT
} spad__ptx_stays;

typedef struct spad__ptx_block {
    int32_t first; /* instruction, counted from the module's first */
    int32_t last;
    int32_t first_edge; /* to the blocks that follow; the first of them: where the branch leads */
    int32_t edge_count;
    int32_t join;   /* immediate postdominator; the number of blocks: the end; -1: none */
    bool doomed;    /* always traps */
    uint8_t guard;  /* as skip: can be run by lanes that may be there */
    uint8_t skip;   /* 0: not computed, 1: no, 2: yes */
    uint8_t stays;  /* spad__ptx_stays */
    bool stores;    /* skip: something in between stores */
    uint8_t awaits; /* as skip: a loop that waits for other blocks */
    bool seen;      /* during a search */
} spad__ptx_block;

/* Zeroed: not computed yet. */
typedef struct spad__ptx_flow {
    const spad__ptx_function *function;
    spad__ptx_block *blocks;
    int32_t block_count;
    int32_t *block_of; /* of each instruction of the function */
    int32_t *edges;
    int32_t most_edges; /* upper bound of edges */
    int32_t *open;      /* for searches: block_count + 1 */
    int32_t *between;   /* blocks between a branch and its join, after a search */
    int32_t between_count;
} spad__ptx_flow;

/* Computed when it is first asked for. NULL: no memory; the machine's status says so.
 * O(instructions), with few passes over the blocks. */
spad__ptx_flow *spad__ptx_flow_of(spad__ptx_machine *m, const spad__ptx_function *function);
void spad__ptx_flows_free(spad__ptx_machine *m);

/* The block that an instruction ends. */
spad__ptx_block *spad__ptx_block_of(spad__ptx_flow *flow, int32_t instruction);
/* True: everything between the block's branch and its join can be left out; `between` has its
 * blocks. */
bool spad__ptx_can_skip(spad__ptx_machine *m, spad__ptx_flow *flow, spad__ptx_block *branch);
/* True: everything between the branch and its join can be run by lanes that may be there: it has
 * neither loops nor synchronisation. */
bool spad__ptx_can_guard(spad__ptx_machine *m, spad__ptx_flow *flow, spad__ptx_block *branch);
/* Which way of a branch leads to it again. */
spad__ptx_stays spad__ptx_which_stays(spad__ptx_flow *flow, spad__ptx_block *branch);

/* True: one way of the branch stays in a loop that only reads memory, by a strong load of global
 * memory among others: it waits for other blocks. Threads may meet in it where the vote of that
 * barrier alone decides, so that all of them leave together: another iteration then adds a barrier
 * of all threads, and leaving at once orders the least. */
bool spad__ptx_awaits_blocks(spad__ptx_machine *m, spad__ptx_flow *flow, spad__ptx_block *branch);

/* A call of __assertfail, which ends the threads that make it. */
bool spad__ptx_calls_assert(const spad__ptx_module *module, const spad__ptx_instruction *i);

#endif
