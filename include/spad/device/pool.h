/* SPDX-License-Identifier: Apache-2.0
 *
 * pool: quick allocation from memory that is taken in large chunks, or from a fixed
 * range of addresses.
 *
 * All bookkeeping is outside the memory, so that it works for memory the processor
 * cannot reach. Allocating and freeing take a constant number of steps and, most of the
 * time, no more than a look into a list of blocks of the same size that belongs to
 * the calling thread. Thread-safe throughout.
 *
 * What fits is never refused: if some free run of bytes has room for the request at its
 * alignment, the request succeeds, whatever is in the threads' lists.
 */
#ifndef SPAD_POOL_H
#define SPAD_POOL_H

#include "spad/device/memory.h"

#ifdef __cplusplus
extern "C" {
#endif

typedef struct spad_pool spad_pool;

/** Called when nothing fits, with no lock held: free something and return true to have
 *  the request tried again, or false to have it refused. `needed` is in bytes. */
typedef bool (*spad_pool_retry)(void *context, spad_pool *pool, int64_t needed);

/** Zeroed is the default. */
typedef struct spad_pool_options {
    size_t struct_size;    /**< see SPAD_OPTIONS_INIT */
    int64_t max_bytes;     /**< never take more; 0: no limit */
    int64_t block_bytes;   /**< sizes and addresses are multiples: a power of two; 0: 64 */
    int64_t initial_bytes; /**< taken at once, so that the first requests are quick */
    int64_t grow_bytes;    /**< least size of a further chunk; 0: half of what the pool has,
                                at least 1 MiB and at most 1 GiB */
    bool exact;            /**< no lists per thread and no rounding of sizes beyond block_bytes:
                                slower, but every free byte is a hole at once */
    spad_pool_retry retry; /**< NULL: none */
    void *retry_context;
    const spad_host *host; /**< for the bookkeeping; called by one thread at a time */
} spad_pool_options;

/** A pool over chunks of another memory, which is borrowed until destroy. options: NULL
 *  for the defaults. SPAD_ERR_ARGUMENT, SPAD_ERR_ALIGNMENT (block_bytes), and the
 *  statuses of the memory below for initial_bytes. */
SPAD_API spad_status spad_pool_create(spad_pool **out, const spad_memory *below,
                                      const spad_pool_options *options, spad_error *error);

/** A pool over [base, base + bytes), rounded inwards to blocks. options: NULL for the defaults;
 *  max_bytes is not used. SPAD_ERR_ARGUMENT: not room for one block; SPAD_ERR_OVERFLOW. */
SPAD_API spad_status spad_pool_create_over(spad_pool **out, int64_t base, int64_t bytes,
                                           const spad_pool_options *options, spad_error *error);

/** Gives all chunks back, whatever is still allocated in them. NULL is fine. */
SPAD_API void spad_pool_destroy(spad_pool *pool);

/**
 * A block of `bytes` at a multiple of align, a power of two. No bytes take a block all the
 * same. SPAD_ERR_NO_FIT: error->needed is the size in whole blocks, available what is
 * free in all, largest_hole the largest free run; the message also has the
 * fragmentation. SPAD_ERR_ARGUMENT, SPAD_ERR_ALIGNMENT, SPAD_ERR_OVERFLOW.
 */
SPAD_API spad_status spad_pool_alloc(spad_allocation *out, spad_pool *pool, int64_t bytes,
                                     int64_t align, spad_error *error);

/** SPAD_ERR_STALE: freed before, or not a block of this pool. Never lacks memory. */
SPAD_API spad_status spad_pool_free(spad_pool *pool, const spad_allocation *block,
                                    spad_error *error);

/** The pool as a memory, borrowed until it is destroyed. */
SPAD_API spad_memory spad_pool_get_memory(spad_pool *pool);

/** Empties the threads' lists and gives chunks that are wholly free back, largest first,
 *  as long as `keep_bytes` remain. *released: bytes given back; may be NULL. An error of the memory
 *  below ends it early. */
SPAD_API spad_status spad_pool_trim(int64_t *released, spad_pool *pool, int64_t keep_bytes,
                                    spad_error *error);

typedef struct spad_pool_stats {
    /** In bytes as requested. Peaks are exact when one thread allocates. Otherwise they are upper
     *  bounds: never less than the true peak, never more than was held at its peak, nor than the
     * sum of what the threads had at theirs. spad_wrapper_create_statistics around a pool has them
     * exactly. */
    spad_memory_stats blocks;
    int64_t capacity_bytes; /**< of all chunks */
    int64_t held_bytes;     /**< of blocks that are allocated or in a thread's list */
    int64_t peak_held_bytes;
    int64_t cached_bytes; /**< of blocks in a thread's list */
    int64_t free_bytes;   /**< the rest */
    int64_t largest_hole; /**< largest run of the rest */
    int64_t holes;        /**< number of free runs */
    int64_t chunks;
    int fragmentation; /**< per cent of the free bytes that are not in the largest hole */
} spad_pool_stats;

/** A snapshot. O(holes of the largest size). */
SPAD_API spad_pool_stats spad_pool_get_stats(spad_pool *pool);

/** Checks the invariants of the pool, for tests and debugging: SPAD_OK or SPAD_ERR_INTERNAL with
 * the first that does not hold. O(blocks); other threads wait. */
SPAD_API spad_status spad_pool_check(spad_pool *pool, spad_error *error);

/**
 * A pool across fork(). A child has only the thread that forked: a lock that another thread held
 * at that moment stays locked in it, and a call there that needs the lock never returns. So where
 * other threads may be using a pool that the child continues to use, the forking thread calls
 * spad_pool_fork_begin before fork() and spad_pool_fork_end after it, in the parent and in the
 * child; pthread_atfork takes functions that do so. In between other threads wait, and the forking
 * thread must not use the pool. Of two pools, one above the other, the upper one is first in begin
 * and last in end. The child then has a pool of its own with the blocks that were allocated at that
 * moment; whether the memory below can be used in a child depends on that memory. CUDA's and
 * OpenCL's cannot, so a child does not use a device of its parent.
 */
SPAD_API void spad_pool_fork_begin(spad_pool *pool);

/** After fork(), in the parent and in the child: other threads continue. See spad_pool_fork_begin.
 */
SPAD_API void spad_pool_fork_end(spad_pool *pool);

#ifdef __cplusplus
}
#endif
#endif
