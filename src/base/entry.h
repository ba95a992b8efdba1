/* SPDX-License-Identifier: Apache-2.0
 *
 * Lists in a field of fixed size, for messages: an entry is put there whole or not at all, since
 * a number that is cut would be another number.
 */
#ifndef SPAD_BASE_ENTRY_H
#define SPAD_BASE_ENTRY_H

#include <stdarg.h>
#include <stdbool.h>
#include <stdio.h>

#include "base/error.h"

SPAD_PRINTF(4, 5)
/* Puts an entry after the first *used bytes of a field of more bytes than that. False: it does not
 * fit, and the field is as before. */
static inline bool spad__put_entry(char *field, size_t size, size_t *used, const char *format,
                                   ...) {
    va_list arguments;
    va_start(arguments, format);
    const int length = vsnprintf(field + *used, size - *used, format, arguments);
    va_end(arguments);
    const bool fits = length >= 0 && (size_t)length < size - *used;
    if (fits) *used += (size_t)length;
    field[*used] = '\0';
    return fits;
}

#endif
