/* SPDX-License-Identifier: Apache-2.0
 *
 * replay: the allocations and frees of a log (spad/log.h), made again in a memory.
 */
#ifndef SPAD_REPLAY_H
#define SPAD_REPLAY_H

#include "spad/device/memory.h"

#ifdef __cplusplus
extern "C" {
#endif

/* Of experimental headers. */
typedef struct spad_log spad_log;

/** The result of a replay. */
typedef struct spad_replay {
    int64_t nanoseconds;   /**< of all calls together */
    int64_t allocations;   /**< that succeeded */
    int64_t frees;         /**< that were made */
    int64_t failures;      /**< allocations that were refused */
    int64_t left;          /**< blocks that the log does not free; freed at the end */
    int64_t peak_bytes;    /**< largest sum of requested sizes */
    int64_t unknown_frees; /**< rows that free what the log has not allocated; ignored */
    int64_t resized_frees; /**< rows that free with a size other than the allocated one; executed */
} spad_replay;

/**
 * Runs a log against a memory, in order, in the calling thread, with alignment `align`.
 * A refused allocation (SPAD_ERR_NO_FIT, SPAD_ERR_OVERFLOW) is counted and its free is passed
 * over; any other error ends the replay. Rows of failures are tried too. All blocks are freed at
 * the end.
 */
SPAD_API spad_status spad_memory_replay(spad_replay *out, const spad_memory *memory,
                                        const spad_log *log, int64_t align, const spad_host *host,
                                        spad_error *error);

#ifdef __cplusplus
}
#endif
#endif
