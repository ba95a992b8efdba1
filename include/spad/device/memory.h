/* SPDX-License-Identifier: Apache-2.0
 *
 * memory: anything that hands out blocks of bytes, as a small table of functions:
 * a device, a pool over it, or a wrapper around either that limits, counts, logs
 * or fails on purpose. They stack in any order:
 *
 *     program -> log -> statistics -> pool -> limit -> device
 *
 * A block is an address, a size and a handle. Addresses are numbers: only those of
 * the host device are pointers that a C program can follow.
 */
#ifndef SPAD_MEMORY_H
#define SPAD_MEMORY_H

#include <stdbool.h>
#include <stdint.h>

#include "spad/host.h"
#include "spad/status.h"

#ifdef __cplusplus
extern "C" {
#endif

/** Some bytes of a memory. Plain data; zeroed means none. */
typedef struct spad_allocation {
    int64_t address;
    int64_t bytes;   /**< as requested */
    uint64_t handle; /**< private: distinguishes a block from one that has been freed */
} spad_allocation;

/** The functions of a memory. Both are thread-safe in everything that this library makes. */
typedef struct spad_memory_calls {
    /** bytes >= 0; align: a power of two. On failure *out is zeroed. */
    spad_status (*alloc)(void *context, spad_allocation *out, int64_t bytes, int64_t align,
                         spad_error *error);
    spad_status (*free)(void *context, const spad_allocation *block, spad_error *error);
} spad_memory_calls;

/** A memory: borrowed from the object that it is of. */
typedef struct spad_memory {
    const spad_memory_calls *calls; /**< NULL: no memory */
    void *context;
} spad_memory;

/** Alignment: what the memory has anyway. */
#define SPAD_ALIGN_ANY 1

/**
 * A block of `bytes` at a multiple of align. SPAD_ERR_NO_FIT: error->needed,
 * available and largest_hole. SPAD_ERR_ARGUMENT: negative bytes, no memory.
 * SPAD_ERR_ALIGNMENT: not a power of two.
 */
SPAD_API spad_status spad_memory_alloc(spad_allocation *out, const spad_memory *memory,
                                       int64_t bytes, int64_t align, spad_error *error);

/** Gives a block back. No block is fine. SPAD_ERR_STALE: it was given back before, or is
 *  none of this memory; nothing has changed. */
SPAD_API spad_status spad_memory_free(const spad_memory *memory, const spad_allocation *block,
                                      spad_error *error);

/** Is the address a multiple of align? False for an align below 1. */
SPAD_API bool spad_is_aligned(int64_t address, int64_t align);

/** Bytes that a memory has handed out. Sums stop at INT64_MAX. */
typedef struct spad_memory_stats {
    int64_t allocated_bytes; /**< now */
    int64_t peak_bytes;      /**< at most at one moment; of a pool: see spad_pool_stats */
    int64_t freed_bytes;     /**< so far */
    int64_t total_bytes;     /**< so far: freed or not */
    int64_t live_blocks;     /**< now */
    int64_t peak_blocks;     /**< likewise */
    int64_t allocations;     /**< that succeeded */
    int64_t frees;
    int64_t failures; /**< allocations that were refused */
} spad_memory_stats;

/* ---- wrappers -------------------------------------------------------------------------
 * A wrapper passes everything on to the memory below it, which is borrowed until the
 * wrapper is destroyed, and does one thing more. Thread-safe. */

typedef struct spad_wrapper spad_wrapper;

/** Refuses what would bring the bytes given out above a limit: SPAD_ERR_NO_FIT. */
SPAD_API spad_status spad_wrapper_create_limit(spad_wrapper **out, const spad_memory *below,
                                               int64_t max_bytes, const spad_host *host,
                                               spad_error *error);

/** Counts exactly: see spad_wrapper_get_stats. */
SPAD_API spad_status spad_wrapper_create_statistics(spad_wrapper **out, const spad_memory *below,
                                                    const spad_host *host, spad_error *error);

/** Where the times of a log come from: any number that grows. */
typedef struct spad_clock {
    int64_t (*now)(void *context); /**< NULL: the number of the row */
    void *context;
} spad_clock;

/**
 * Writes a row of CSV to the sink for every call, in the format of the logging adaptor
 * of RMM: "Thread,Time,Action,Pointer,Size,Stream" with the actions allocate,
 * allocate failure and free (see spad/log.h). The sink is copied. A row that
 * cannot be written fails the call with SPAD_ERR_IO: an allocation is then undone; a free
 * has happened.
 */
SPAD_API spad_status spad_wrapper_create_log(spad_wrapper **out, const spad_memory *below,
                                             const spad_sink *sink, const spad_clock *clock,
                                             const spad_host *host, spad_error *error);

/** Refuses allocation number `first` (from 1), and every `every` after it (0: no other)
 *  with SPAD_ERR_NO_FIT, for tests of programs. */
SPAD_API spad_status spad_wrapper_create_fault(spad_wrapper **out, const spad_memory *below,
                                               int64_t first, int64_t every, const spad_host *host,
                                               spad_error *error);

/** Frees the wrapper; the memory below stays. NULL is fine. */
SPAD_API void spad_wrapper_destroy(spad_wrapper *wrapper);

/** The wrapper as a memory, borrowed until it is destroyed. */
SPAD_API spad_memory spad_wrapper_get_memory(spad_wrapper *wrapper);

/** Statistics of the calls through a wrapper of any kind. Exact, in bytes as requested. */
SPAD_API spad_memory_stats spad_wrapper_get_stats(spad_wrapper *wrapper);

#ifdef __cplusplus
}
#endif
#endif
