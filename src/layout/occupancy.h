/* SPDX-License-Identifier: Apache-2.0
 *
 * Occupancy as a value of a larger JSON text.
 */
#ifndef SPAD_LAYOUT_OCCUPANCY_H
#define SPAD_LAYOUT_OCCUPANCY_H

#include "base/text.h"
#include "spad/experimental/occupancy.h"

/* What limits the number of blocks. */
typedef enum spad__occupancy_limit {
    SPAD__OCCUPANCY_UNKNOWN,   /* the target does not say that blocks share a unit */
    SPAD__OCCUPANCY_GROUPS,    /* blocks that a unit can have */
    SPAD__OCCUPANCY_SPACE,     /* a memory */
    SPAD__OCCUPANCY_REGISTERS, /* the register file */
    SPAD__OCCUPANCY_THREADS,   /* threads of a unit */
    SPAD__OCCUPANCY_LIMITS
} spad__occupancy_limit;

typedef struct spad__occupancy {
    int64_t blocks; /* on one unit at a time; 0: not even one fits, or not known */
    spad__occupancy_limit limit;
    size_t space;      /* SPACE: its number; SPAD_NO_SPACE otherwise */
    int64_t each;      /* what a block takes of what limits: bytes with reserve, registers,
                            threads */
    int64_t available; /* and what a unit has of it */
    int64_t threads;   /* of a block; 0: neither the main program nor all agents state theirs */
    int64_t registers; /* of a block, as they are given to warps; 0: not known */
} spad__occupancy;

/* The registers of the threads of an agent. */
typedef struct spad__agent_registers {
    int64_t bytes;   /* of its tensors in registers; 0: it has none */
    int64_t threads; /* as stated; 0: not stated */
    int64_t needed;  /* 32-bit registers of each thread for its tensors, of
                          SPAD__OCCUPANCY_THREADS_ASSUMED threads if not stated */
    int64_t most;    /* that a thread can have: as the agent states, or as the chip has; 0: not
                          known */
} spad__agent_registers;

/* Threads that are assumed of an agent that does not state them: a warpgroup. */
#define SPAD__OCCUPANCY_THREADS_ASSUMED 128

/* An object, or null where the target does not say that blocks share a unit. */
void spad__json_occupancy(spad__json *json, const spad_kernel *kernel, const spad_layout *layout);

/*
 * The occupancy of a kernel. With a layout of it, memory counts as it is placed; without, as if no
 * tensors shared bytes. Registers count where the main program or all agents state their threads,
 * as stated or at least as many as their tensors take; the main program and the agents are the same
 * threads of a block, so the larger demand counts.
 */
spad__occupancy spad__occupancy_get(const spad_kernel *kernel, const spad_layout *layout);

/* The registers of an agent by number. All zero beyond the count. */
spad__agent_registers spad__occupancy_get_agent(const spad_kernel *kernel, size_t agent);

/* "unknown", "groups", "space", "registers", "threads". Static storage. */
const char *spad__occupancy_limit_name(spad__occupancy_limit limit);

#endif
