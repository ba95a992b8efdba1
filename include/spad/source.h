/* SPDX-License-Identifier: Apache-2.0
 *
 * diagnostics: everything that is wrong with one text, each fault with its
 * place, so that a user can mend them all at once.
 */
#ifndef SPAD_SOURCE_H
#define SPAD_SOURCE_H

#include <stddef.h>
#include <stdint.h>

#include "spad/host.h"
#include "spad/status.h"

#ifdef __cplusplus
extern "C" {
#endif

/** One fault in a text. */
typedef struct spad_diagnostic {
    spad_status code;
    int32_t line;        /**< 1-based */
    int32_t column;      /**< 1-based, in characters */
    int32_t width;       /**< characters to underline, at least 1 */
    const char *message; /**< one line; borrowed from the collection */
} spad_diagnostic;

/** A collection of faults. Externally synchronised. */
typedef struct spad_diagnostics spad_diagnostics;

/** An empty collection, owned by the caller. SPAD_ERR_HOST_MEMORY. */
SPAD_API spad_status spad_diagnostics_create(spad_diagnostics **out, const spad_host *host,
                                             spad_error *error);
SPAD_API void spad_diagnostics_destroy(spad_diagnostics *diagnostics);

/** Number of faults kept. After 20 a reader stops looking. */
SPAD_API size_t spad_diagnostics_count(const spad_diagnostics *diagnostics);

/** The fault at an index below the count; borrowed until the next change. */
SPAD_API const spad_diagnostic *spad_diagnostics_get(const spad_diagnostics *diagnostics,
                                                     size_t index);

/**
 * Writes every fault as "file:line:col: message", the source line and a caret:
 *
 *     my.chip:3:12: error: expected a number after 'lanes', found 'many'
 *         lanes many
 *               ^~~~
 */
SPAD_API spad_status spad_diagnostics_write(const spad_diagnostics *diagnostics,
                                            const spad_sink *sink, spad_error *error);

#ifdef __cplusplus
}
#endif
#endif
