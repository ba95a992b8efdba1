/* SPDX-License-Identifier: Apache-2.0
 *
 * The reader of memory logs.
 *
 * The reader keeps a hash index of the rows whose memory is allocated at the current row, by
 * their address. O(1) a row.
 */
#include "spad/experimental/log.h"

#include <string.h>

#include "base/checked.h"
#include "base/index.h"
#include "base/memory.h"
#include "base/text.h"
#include "trace/log_format.h"

/* ---- names ------------------------------------------------------------------------- */

static const char *const action_names[] = {
#define ACTION_NAME(name, word) [SPAD_LOG_##name] = word,
    SPAD__LOG_ACTIONS(ACTION_NAME)
#undef ACTION_NAME
};

enum {
#define COLUMN_NUMBER(name, word) LOG_##name,
    SPAD__LOG_COLUMNS(COLUMN_NUMBER)
#undef COLUMN_NUMBER
        LOG_COLUMNS
};

static const char *const log_column_names[LOG_COLUMNS] = {
#define COLUMN_NAME(name, word) word,
    SPAD__LOG_COLUMNS(COLUMN_NAME)
#undef COLUMN_NAME
};

/* ---- the table of pointers --------------------------------------------------------- */

/* The row that allocates what is at an address now, SPAD__NO_ITEM: nothing is. */
static size_t find_live_row(const spad__index *live, const spad_log_row *rows, int64_t address) {
    spad__probe probe = spad__index_probe(live, spad__hash_add(0, address));
    for (size_t i; (i = spad__probe_next(&probe)) != SPAD__NO_ITEM;) {
        if (rows[i].address == address) return i;
    }
    return SPAD__NO_ITEM;
}

/* ---- reading ----------------------------------------------------------------------- */

struct spad_log {
    spad_host host;
    SPAD_ARRAY(spad_log_row) rows;
    int64_t allocations;
};

typedef struct log_field {
    const char *text;
    size_t length;
} log_field;

typedef struct log_reader {
    spad_log *log;
    const char *at; /* the rest of the text */
    const char *end;
    const char *file;
    int64_t line;
    int places[LOG_COLUMNS]; /* which field of a line holds a column; -1: none */
    spad__index live;        /* rows that allocate what is not freed so far, by their address */
    spad_error *error;
} log_reader;

enum { LOG_FIELDS_MAX = 64 };

static bool field_is(log_field f, const char *text) {
    return f.length == strlen(text) && memcmp(f.text, text, f.length) == 0;
}

static log_field trim(const char *begin, const char *end) {
    while (begin < end && (*begin == ' ' || *begin == '\t')) begin++;
    while (begin < end && (end[-1] == ' ' || end[-1] == '\t' || end[-1] == '\r')) end--;
    return (log_field){begin, (size_t)(end - begin)};
}

/* The fields of the next line that is not empty; 0 at the end. Quotes have no meaning. */
static int next_line(log_reader *r, log_field fields[LOG_FIELDS_MAX]) {
    int count = 0;
    while (count == 0 && r->at < r->end) {
        const char *line_end = memchr(r->at, '\n', (size_t)(r->end - r->at));
        if (line_end == NULL) line_end = r->end;
        r->line++;
        const char *begin = r->at;
        const bool empty = trim(begin, line_end).length == 0;
        while (!empty && count < LOG_FIELDS_MAX) {
            const char *comma = memchr(begin, ',', (size_t)(line_end - begin));
            fields[count++] = trim(begin, comma != NULL ? comma : line_end);
            if (comma == NULL) break;
            begin = comma + 1;
        }
        r->at = line_end < r->end ? line_end + 1 : line_end;
    }
    return count;
}

static spad_status fail_line(log_reader *r, const char *what, log_field f) {
    char shown[40];
    const size_t length = f.length < sizeof shown ? f.length : sizeof shown - 1;
    memcpy(shown, f.text, length);
    shown[length] = '\0';
    spad__fail(r->error, SPAD_ERR_SYNTAX, "%s, not '%s'", what, shown);
    spad__fact_location(r->error, r->file, (int32_t)spad__min(r->line, INT32_MAX), 1);
    return SPAD_ERR_SYNTAX;
}

/* Decimal, or hexadecimal after 0x, up to 63 bits; "nil" and "(nil)" are 0. */
static bool read_log_number(log_field f, int64_t *out) {
    if (field_is(f, "nil") || field_is(f, "(nil)")) {
        *out = 0;
        return true;
    }
    const bool hex = f.length > 2 && f.text[0] == '0' && spad__lower(f.text[1]) == 'x';
    const int64_t base = hex ? 16 : 10;
    int64_t value = 0;
    for (size_t i = hex ? 2 : 0; i < f.length; i++) {
        const char c = spad__lower(f.text[i]);
        int64_t digit = -1;
        if (c >= '0' && c <= '9') digit = c - '0';
        if (hex && c >= 'a' && c <= 'f') digit = c - 'a' + 10;
        if (digit < 0 || !spad__mul(value, base, &value) || !spad__add(value, digit, &value))
            return false;
    }
    *out = value;
    return f.length > 0;
}

static spad_status read_log_header(log_reader *r) {
    log_field fields[LOG_FIELDS_MAX];
    const int count = next_line(r, fields);
    for (int c = 0; c < LOG_COLUMNS; c++) {
        r->places[c] = -1;
        for (int i = 0; i < count; i++) {
            if (field_is(fields[i], log_column_names[c])) r->places[c] = i;
        }
    }
    if (r->places[LOG_ACTION] >= 0 && r->places[LOG_POINTER] >= 0 && r->places[LOG_SIZE] >= 0)
        return SPAD_OK;
    return fail_line(r,
                     "the first line has to name the columns Action, Pointer and Size, as in "
                     "Thread,Time,Action,Pointer,Size,Stream",
                     count > 0 ? fields[0] : (log_field){"", 0});
}

static bool read_action(log_field f, spad_log_action *out) {
    for (int a = SPAD_LOG_ALLOCATE; a <= SPAD_LOG_FREE; a++) {
        if (!field_is(f, action_names[a])) continue;
        *out = (spad_log_action)a;
        return true;
    }
    return false;
}

/* Nothing, which RMM logs as zero bytes at a null pointer, any number of times. */
static bool is_nothing(const spad_log_row *row) {
    return row->action != SPAD_LOG_FAILURE && row->address == 0 && row->bytes == 0;
}

/* Numbers the allocation, or finds what is freed. */
static spad_status link_row(log_reader *r, spad_log_row *row, log_field pointer) {
    spad_log *log = r->log;
    row->allocation = -1;
    if (row->action == SPAD_LOG_FAILURE || is_nothing(row)) return SPAD_OK;
    const size_t there = find_live_row(&r->live, log->rows.items, row->address);
    const uint64_t hash = spad__hash_add(0, row->address);
    if (row->action != SPAD_LOG_FREE) {
        if (there != SPAD__NO_ITEM)
            return fail_line(r, "the address is already allocated", pointer);
        if (!spad__index_reserve(&r->live, &log->host, 1)) return spad__fail_host_memory(r->error);
        spad__index_add(&r->live, hash, log->rows.count);
        row->allocation = log->allocations++;
    } else if (there != SPAD__NO_ITEM) {
        spad__index_remove(&r->live, hash, there);
        row->allocation = log->rows.items[there].allocation;
    }
    return SPAD_OK;
}

static spad_status read_log_row(log_reader *r, const log_field *fields, int count) {
    static const log_field none = {"", 0};
    log_field f[LOG_COLUMNS];
    spad_log_row row = {.line = r->line};
    for (int c = 0; c < LOG_COLUMNS; c++) {
        f[c] = r->places[c] >= 0 && r->places[c] < count ? fields[r->places[c]] : none;
    }
    if (!read_action(f[LOG_ACTION], &row.action))
        return fail_line(r, "the action is allocate, allocate failure or free", f[LOG_ACTION]);
    if (!read_log_number(f[LOG_POINTER], &row.address))
        return fail_line(r, "the pointer is a number below 2^63 such as 0x7f00", f[LOG_POINTER]);
    if (!read_log_number(f[LOG_SIZE], &row.bytes))
        return fail_line(r, "the size is a number of bytes below 2^63", f[LOG_SIZE]);
    if (f[LOG_STREAM].length > 0 && !read_log_number(f[LOG_STREAM], &row.stream))
        return fail_line(r, "the stream is a number below 2^63", f[LOG_STREAM]);
    if (!spad__array_reserve(&r->log->host, &r->log->rows, 1))
        return spad__fail_host_memory(r->error);
    const spad_status status = link_row(r, &row, f[LOG_POINTER]);
    if (status == SPAD_OK) r->log->rows.items[r->log->rows.count++] = row;
    return status;
}

spad_status spad_log_parse(spad_log **out, const char *text, size_t length, const char *file,
                           const spad_host *host, spad_error *error) {
    *out = NULL;
    const spad_host h = spad__host_or_default(host);
    spad_log *log = spad__new(&h, sizeof *log);
    if (log == NULL) return spad__fail_host_memory(error);
    log->host = h;
    log_reader r = {
        .log = log, .at = text, .end = spad__text_end(text, length), .file = file, .error = error};
    log_field fields[LOG_FIELDS_MAX];
    spad_status status = read_log_header(&r);
    int count;
    while (status == SPAD_OK && (count = next_line(&r, fields)) > 0) {
        status = read_log_row(&r, fields, count);
    }
    spad__index_free(&r.live, &h);
    if (status == SPAD_OK) {
        *out = log;
    } else {
        spad_log_destroy(log);
    }
    return status;
}

void spad_log_destroy(spad_log *log) {
    if (log == NULL) return;
    const spad_host host = log->host;
    spad__array_free(&host, &log->rows);
    spad__free(&host, log, sizeof *log);
}

size_t spad_log_count(const spad_log *log) {
    return log->rows.count;
}

const spad_log_row *spad_log_get(const spad_log *log, size_t number) {
    return number < log->rows.count ? &log->rows.items[number] : NULL;
}

int64_t spad_log_allocation_count(const spad_log *log) {
    return log->allocations;
}
