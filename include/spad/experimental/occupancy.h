/* SPDX-License-Identifier: Apache-2.0
 *
 * occupancy: how many blocks of a kernel a unit of the chip (an SM) has at a time, and what the
 * tensors of an agent take of the registers of its threads.
 *
 * Blocks share the memory of a unit, its registers and its threads; what runs out first decides
 * (CUDA programming guide, occupancy). Functions only read; nothing is owned.
 */
#ifndef SPAD_OCCUPANCY_H
#define SPAD_OCCUPANCY_H

#ifndef SPAD_EXPERIMENTAL
#error "spad/experimental/occupancy.h may change in any version: define SPAD_EXPERIMENTAL"
#endif

#include <stddef.h>
#include <stdint.h>

#include "spad/experimental/kernel_rows.h"
#include "spad/layout.h"

#ifdef __cplusplus
extern "C" {
#endif

/** What limits the number of blocks. */
typedef enum spad_occupancy_limit {
    SPAD_OCCUPANCY_UNKNOWN,   /**< the target does not say that blocks share a unit */
    SPAD_OCCUPANCY_GROUPS,    /**< blocks that a unit can have */
    SPAD_OCCUPANCY_SPACE,     /**< a memory */
    SPAD_OCCUPANCY_REGISTERS, /**< the register file */
    SPAD_OCCUPANCY_THREADS,   /**< threads of a unit */
    SPAD_OCCUPANCY_LIMITS
} spad_occupancy_limit;

/** "unknown", "groups", "space", "registers", "threads". Static storage. */
SPAD_API const char *spad_occupancy_limit_name(spad_occupancy_limit limit);

typedef struct spad_occupancy {
    int64_t blocks; /**< on one unit at a time; 0: not even one fits, or not known */
    spad_occupancy_limit limit;
    size_t space;      /**< SPACE: its number; SPAD_NO_SPACE otherwise */
    int64_t each;      /**< what a block takes of what limits: bytes with reserve, registers,
                            threads */
    int64_t available; /**< and what a unit has of it */
    int64_t threads;   /**< of a block; 0: neither the main program nor all agents state theirs */
    int64_t registers; /**< of a block, as they are given to warps; 0: not known */
} spad_occupancy;

/**
 * The occupancy of a kernel. With a layout of it, memory counts as it is placed; without, as if no
 * tensors shared bytes. Registers count where the main program or all agents state their threads,
 * as stated or at least as many as their tensors take; the main program and the agents are the same
 * threads of a block, so the larger demand counts.
 */
SPAD_API spad_occupancy spad_occupancy_get(const spad_kernel *kernel, const spad_layout *layout);

/** Threads that are assumed of an agent that does not state them: a warpgroup. */
#define SPAD_OCCUPANCY_THREADS_ASSUMED 128

/** The registers of the threads of an agent. */
typedef struct spad_agent_registers {
    int64_t bytes;   /**< of its tensors in registers; 0: it has none */
    int64_t threads; /**< as stated; 0: not stated */
    int64_t needed;  /**< 32-bit registers of each thread for its tensors, of
                          SPAD_OCCUPANCY_THREADS_ASSUMED threads if not stated */
    int64_t most;    /**< that a thread can have: as the agent states, or as the chip has; 0: not
                          known */
} spad_agent_registers;

/** The registers of an agent by number. All zero beyond the count. */
SPAD_API spad_agent_registers spad_occupancy_get_agent(const spad_kernel *kernel, size_t agent);

/** Writes a line about blocks and one about every agent with tensors in registers. Nothing where
 * the target does not say that blocks share a unit. */
SPAD_API spad_status spad_occupancy_write_text(const spad_kernel *kernel, const spad_layout *layout,
                                               const spad_sink *sink, spad_error *error);

/** Writes the same as a JSON object; null where the target does not say that blocks share a unit.
 */
SPAD_API spad_status spad_occupancy_write_json(const spad_kernel *kernel, const spad_layout *layout,
                                               const spad_sink *sink, spad_error *error);

#ifdef __cplusplus
}
#endif
#endif
