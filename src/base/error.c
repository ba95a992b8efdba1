/* SPDX-License-Identifier: Apache-2.0
 *
 * Status texts and the filling of spad_error. Nothing here allocates, so that
 * running out of host memory can be reported.
 */
#include "base/error.h"

#include <stdio.h>
#include <string.h>

#include "spad/source.h"

const char *spad_version(void) {
    return SPAD_VERSION_STRING;
}

const char *spad_status_code(spad_status status) {
    switch (status) {
    case SPAD_OK: return "SPAD-OK";
#define SPAD_STATUS_CASE(name, value, code, sentence) \
    case SPAD_ERR_##name: return code;
        SPAD_STATUS_LIST(SPAD_STATUS_CASE)
#undef SPAD_STATUS_CASE
    }
    return "SPAD-INTERNAL";
}

const char *spad_status_sentence(spad_status status) {
    switch (status) {
    case SPAD_OK: return "nothing went wrong";
#define SPAD_STATUS_CASE(name, value, code, sentence) \
    case SPAD_ERR_##name: return sentence;
        SPAD_STATUS_LIST(SPAD_STATUS_CASE)
#undef SPAD_STATUS_CASE
    }
    return "not a status of this library";
}

/* Ends text at or before `end` without splitting a UTF-8 character. */
static size_t character_boundary(const char *text, size_t end) {
    while (end > 0 && ((unsigned char)text[end] & 0xC0) == 0x80) end--;
    return end;
}

/* Marks a text of which only the first size - 1 bytes are in the field. */
static void mark_cut(char *field, size_t size) {
    static const char dots[] = "...";
    if (size <= sizeof dots) return;
    const size_t keep = character_boundary(field, size - sizeof dots);
    memcpy(field + keep, dots, sizeof dots);
}

void spad__copy_cut(char *field, size_t size, const char *text) {
    const size_t length = strlen(text);
    const size_t kept = length < size ? length : size - 1;
    memcpy(field, text, kept);
    field[kept] = '\0';
    if (kept < length) mark_cut(field, size);
}

void spad__format_cut(char *field, size_t size, const char *format, va_list arguments) {
    const int length = vsnprintf(field, size, format, arguments);
    if (length >= (int)size) mark_cut(field, size);
    spad_text_clean(field); /* one line that is safe to show, whatever the names hold */
}

#undef spad__fail

spad_status spad__fail(spad_error *error, spad_status code, const char *format, ...) {
    if (error == NULL) return code;
    memset(error, 0, sizeof *error);
    error->code = code;
    error->needed = error->available = error->largest_hole = error->time = SPAD_NO_FACT;
    va_list arguments;
    va_start(arguments, format);
    spad__format_cut(error->message, sizeof error->message, format, arguments);
    va_end(arguments);
    return code;
}

spad_status spad__fail_host_memory(spad_error *error) {
    return spad__fail(error, SPAD_ERR_HOST_MEMORY, "out of host memory");
}

spad_status spad__attempted(spad_status status, spad_error *error) {
    switch (status) {
    case SPAD_ERR_HOST_MEMORY: return spad__fail_host_memory(error);
    case SPAD_ERR_CANCELLED: return spad__fail(error, status, "the call was cancelled");
    default: return SPAD_OK;
    }
}

void spad__fact_names(spad_error *error, const char *subject, const char *other) {
    if (error == NULL) return;
    spad__copy_cut(error->subject, sizeof error->subject, subject != NULL ? subject : "");
    spad__copy_cut(error->other, sizeof error->other, other != NULL ? other : "");
}

void spad__fact_amounts(spad_error *error, int64_t needed, int64_t available,
                        int64_t largest_hole) {
    if (error == NULL) return;
    error->needed = needed;
    error->available = available;
    error->largest_hole = largest_hole;
}

void spad__fact_location(spad_error *error, const char *file, int32_t line, int32_t column) {
    if (error == NULL) return;
    spad__copy_cut(error->file, sizeof error->file, file != NULL ? file : "");
    error->line = line;
    error->column = column;
}
