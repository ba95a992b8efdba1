/* SPDX-License-Identifier: Apache-2.0
 *
 * host: where the library's own (host) memory comes from,
 * watch: how a long call is ended, and
 * sink: where the text it writes goes to.
 */
#ifndef SPAD_HOST_H
#define SPAD_HOST_H

#include <stddef.h>
#include <stdio.h>

#include "spad/api.h"

#ifdef __cplusplus
extern "C" {
#endif

/**
 * One function does all host memory:
 *   block == NULL                    allocate new_size bytes
 *   new_size == 0                    free block, return NULL
 *   otherwise                        resize block from old_size to new_size
 * It returns NULL when there is no memory; the old block then stays valid.
 * A NULL spad_host pointer means the C library's allocator. The struct is
 * copied by the function that receives it; context must outlive the object made with it.
 */
typedef struct spad_host {
    void *(*resize)(void *context, void *block, size_t old_size, size_t new_size);
    void *context;
} spad_host;

/**
 * How a caller ends a long call. `cancel` is called regularly from the thread that made the
 * call, and may use neither the inputs nor the outputs of the call. A value other than 0 ends the
 * call with SPAD_ERR_CANCELLED. Zeroed: the call cannot be cancelled.
 */
typedef struct spad_watch {
    int (*cancel)(void *context);
    void *context;
} spad_watch;

/** Receives text. write returns 0, or anything else to stop with SPAD_ERR_IO. */
typedef struct spad_sink {
    int (*write)(void *context, const char *bytes, size_t count);
    void *context;
} spad_sink;

/** A form in which an object is written. The header of an object lists its forms; any other one is
 *  SPAD_ERR_ARGUMENT. */
typedef enum spad_format {
    SPAD_FORMAT_TEXT, /**< for people */
    SPAD_FORMAT_JSON,
    SPAD_FORMAT_CSV,
    SPAD_FORMAT_TABLE,
    SPAD_FORMAT_HTML,
    SPAD_FORMAT_SVG,
    SPAD_FORMAT_LIGHT,
    SPAD_FORMAT_TRACE
} spad_format;

/** A sink that writes to a C stream. */
SPAD_API spad_sink spad_sink_file(FILE *file);

#ifdef __cplusplus
}
#endif
#endif
