/* SPDX-License-Identifier: Apache-2.0
 *
 * Filling spad_error. All functions accept error == NULL and then only pass
 * the status through, so that callers write `return spad__fail(error, ...)`.
 */
#ifndef SPAD_BASE_ERROR_H
#define SPAD_BASE_ERROR_H

#include <stdarg.h>
#include <stddef.h>

#include "spad/status.h"

#if defined(__GNUC__)
#define SPAD_PRINTF(format_index, first_argument) \
    __attribute__((format(printf, format_index, first_argument)))
#else
#define SPAD_PRINTF(format_index, first_argument)
#endif

/* Clears every fact, writes code and message, returns code. Formats take
 * integers and strings only: floating point would follow the locale. */
spad_status spad__fail(spad_error *error, spad_status code, const char *format, ...)
    SPAD_PRINTF(3, 4);

/* The static analyzer (preset analyze) sees one file at a time: that the status is `code`, and so
 * no SPAD_OK, is what it has to know about callers. */
#if defined(SPAD_ANALYZE)
static inline spad_status spad__fail_as(spad_status code, spad_status returned) {
    (void)returned;
    return code;
}
#define spad__fail(error, code, ...) spad__fail_as(code, spad__fail(error, code, __VA_ARGS__))
#endif

/* The report of a failed host allocation. */
spad_status spad__fail_host_memory(spad_error *error);

/* The status of an attempt that was made without an error, because its failure is an answer: only
 * a lack of host memory and a cancellation by the caller are failures. So a call that succeeds
 * after an attempt that did not has left the error alone. */
spad_status spad__attempted(spad_status status, spad_error *error);

/* Facts, set after spad__fail. NULL and SPAD_NO_FACT mean "none". */
void spad__fact_names(spad_error *error, const char *subject, const char *other);
void spad__fact_amounts(spad_error *error, int64_t needed, int64_t available, int64_t largest_hole);
void spad__fact_location(spad_error *error, const char *file, int32_t line, int32_t column);

/* Copies text into a field of the given size, cut at a UTF-8 character
 * boundary; a cut text ends in "...". */
void spad__copy_cut(char *field, size_t size, const char *text);
/* The same for a formatted text. */
void spad__format_cut(char *field, size_t size, const char *format, va_list arguments)
    SPAD_PRINTF(3, 0);

#endif
