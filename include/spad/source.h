/* SPDX-License-Identifier: Apache-2.0
 *
 * diagnostics: everything that is wrong with one text, each error with its
 * location, so that a user can mend them all at once.
 */
#ifndef SPAD_SOURCE_H
#define SPAD_SOURCE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "spad/host.h"
#include "spad/status.h"

#ifdef __cplusplus
extern "C" {
#endif

/** One error in a text. */
typedef struct spad_diagnostic {
    spad_status code;
    int32_t line;        /**< 1-based */
    int32_t column;      /**< 1-based, in characters */
    int32_t width;       /**< characters to underline, at least 1 */
    const char *message; /**< one line; borrowed from the collection */
} spad_diagnostic;

/** The errors of one text: the last one that was read with the collection.
 *  Externally synchronised. */
typedef struct spad_diagnostics spad_diagnostics;

/** After this many errors a reader stops looking. */
#define SPAD_DIAGNOSTICS_MAX 20

/** An empty collection, owned by the caller. SPAD_ERR_HOST_MEMORY. */
SPAD_API spad_status spad_diagnostics_create(spad_diagnostics **out, const spad_host *host,
                                             spad_error *error);

/** Frees it. NULL is fine. */
SPAD_API void spad_diagnostics_destroy(spad_diagnostics *diagnostics);

/** Number of errors kept, at most SPAD_DIAGNOSTICS_MAX. */
SPAD_API size_t spad_diagnostics_count(const spad_diagnostics *diagnostics);

/** The error at an index below the count, in the order of the text, and NULL
 *  beyond it; borrowed until the next change. */
SPAD_API const spad_diagnostic *spad_diagnostics_get(const spad_diagnostics *diagnostics,
                                                     size_t index);

/**
 * Writes every error as TEXT: `file:line:column: error: message`, with the line of the source and
 * carets under the place; if the collection is full, the last line reports it.
 *
 *     my.chip:3:11: error: expected a whole number after 'lanes', found 'many'
 *         3 |     lanes many
 *           |           ^~~~
 *
 * As JSON: {"file": ..., "faults": [{code, line, column, width, message}, ...]}.
 */
SPAD_API spad_status spad_diagnostics_write(const spad_diagnostics *diagnostics, spad_format format,
                                            const spad_sink *sink, spad_error *error);

/** Writes one error in the same form, so that a front end has one form for all that goes wrong.
 *  `file` is used where the error names none. */
SPAD_API spad_status spad_error_write_json(const spad_error *failed, const char *file,
                                           const spad_sink *sink, spad_error *error);

/** The words with which our messages about an unknown name end, for front ends
 *  that have names of their own: "; did you mean 'a' or 'b'?", or "" when no
 *  name is near. Cut to the size of the field, which is at least 1. */
SPAD_API void spad_close_names(char *field, size_t size, const char *word, const char *const *names,
                               size_t count);

/** Reads a number of bytes as people write it: 4096, 4,096, 0x1000, 64B, 4KiB, 2GiB, without a sign
 *  and with or without a blank before the unit. False: the text is not such a number, or it does
 * not fit 64 bits; *out is then unchanged. */
SPAD_API bool spad_bytes_parse(int64_t *out, const char *text, size_t length);

/** Makes a text safe to show on a terminal, in place: every control character (line feeds, too),
 *  every mark that hides or turns the direction of writing, and every byte that is not UTF-8
 *  becomes '?'. The messages and texts of this library are like that; this is for front ends that
 *  show names on their own. The text never gets longer. */
SPAD_API void spad_text_clean(char *text);

#ifdef __cplusplus
}
#endif
#endif
