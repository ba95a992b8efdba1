/* SPDX-License-Identifier: Apache-2.0
 *
 * A text that is read, locations in it, and the diagnostics found in it.
 */
#ifndef SPAD_BASE_DIAGNOSTICS_H
#define SPAD_BASE_DIAGNOSTICS_H

#include <stdbool.h>
#include <stddef.h>

#include "base/error.h"
#include "base/text.h"
#include "spad/source.h"

/* A text. Borrowed; need not end in a NUL. */
typedef struct spad__source {
    const char *file; /* its name in messages */
    const char *text;
    size_t length;
} spad__source;

/* Bytes [start, start + length) of a text. */
typedef struct spad__span {
    size_t start;
    size_t length;
} spad__span;

/* The span from the start of `first` to the end of `last`. */
spad__span spad__span_join(spad__span first, spad__span last);

/* spad__is_hidden for a character of a text; a byte that is not UTF-8 (size 1) is one, too. */
bool spad__is_harmful(const char *character, size_t size);

/* Writes a line of a text as spad_diagnostics_write does, with carets under `width` characters
 * from `column` on, both cut to the line. Nothing if the text has no such line. */
void spad__out_excerpt(spad__out *out, const spad__source *source, int32_t line, int32_t column,
                       int32_t width);

/* The same of one line whose text is given. column 0: the caret is under its first word. */
void spad__out_code_line(spad__out *out, const char *code, int32_t number, int32_t column);

/* Empties the collection for a new text. Errors stick as in the printer: when
 * a copy cannot be made, spad__diagnostics_end reports it. */
void spad__diagnostics_begin(spad_diagnostics *diagnostics, const spad__source *source);

/* Adds a diagnostic, unless the collection is full. The source line is copied, so
 * that the text is not needed for writing. */
void spad__diagnostics_add(spad_diagnostics *diagnostics, const spad__source *source,
                           spad__span span, const char *format, ...) SPAD_PRINTF(4, 5);

bool spad__diagnostics_full(const spad_diagnostics *diagnostics);

/* Puts the diagnostics in the order of the text. SPAD_OK: there are none.
 * SPAD_ERR_SYNTAX: the error is the first one. SPAD_ERR_HOST_MEMORY. */
spad_status spad__diagnostics_end(spad_diagnostics *diagnostics, spad_error *error);

#endif
