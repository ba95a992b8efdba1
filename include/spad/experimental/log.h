/* SPDX-License-Identifier: Apache-2.0
 *
 * log: a record of allocations and frees as CSV, in the format of RMM's logging
 * adaptor.
 *
 *     Thread,Time,Action,Pointer,Size,Stream
 *     0,0,allocate,0x7f0000000000,1024,0x0
 *     0,1,free,0x7f0000000000,1024,0x0
 *
 * spad_wrapper_create_log writes it (spad/device/memory.h), spad_memory_replay runs it against any
 * memory (spad/device/replay.h). Columns are found by their names and further ones are
 * ignored; Action, Pointer and Size are needed. Pointer and Stream are hexadecimal
 * with 0x or decimal; "nil" and "(nil)" are 0. Thread and Time are free text. Rows of zero
 * bytes at pointer 0, which RMM writes too, are about no block and have no effect.
 */
#ifndef SPAD_LOG_H
#define SPAD_LOG_H

#ifndef SPAD_EXPERIMENTAL
#error "spad/experimental/log.h may change in any version: define SPAD_EXPERIMENTAL"
#endif

#include <stddef.h>
#include <stdint.h>

#include "spad/host.h"
#include "spad/status.h"

#ifdef __cplusplus
extern "C" {
#endif

typedef enum spad_log_action {
    SPAD_LOG_ALLOCATE,
    SPAD_LOG_FAILURE, /**< "allocate failure": it was refused */
    SPAD_LOG_FREE
} spad_log_action;

typedef struct spad_log_row {
    spad_log_action action;
    int64_t address;
    int64_t bytes;
    int64_t stream;
    int64_t allocation; /**< allocate: its number, from 0; free: the number of what it frees,
                             -1 if the log does not have it; failure, or no block: -1 */
    int64_t line;       /**< in the file, from 1 */
} spad_log_row;

typedef struct spad_log spad_log;

/** Reads a log; the text is not needed afterwards. `file` is its name in messages.
 *  SPAD_ERR_SYNTAX with the location of the first error. O(length). */
SPAD_API spad_status spad_log_parse(spad_log **out, const char *text, size_t length,
                                    const char *file, const spad_host *host, spad_error *error);

/** Frees it. NULL is fine. */
SPAD_API void spad_log_destroy(spad_log *log);

/** Number of rows. */
SPAD_API size_t spad_log_count(const spad_log *log);

/** A row by number; NULL beyond the count. Borrowed. */
SPAD_API const spad_log_row *spad_log_get(const spad_log *log, size_t number);

/** Number of rows that allocate a block. */
SPAD_API int64_t spad_log_allocation_count(const spad_log *log);

#ifdef __cplusplus
}
#endif
#endif
