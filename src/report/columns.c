/* SPDX-License-Identifier: Apache-2.0
 *
 * Columns of numbers; see columns.h.
 */
#include "report/columns.h"

void spad__write_number(spad__out *out, int64_t value) {
    char digits[24];
    char *at = digits + sizeof digits;
    uint64_t left = value < 0 ? 0 - (uint64_t)value : (uint64_t)value;
    do {
        *--at = (char)('0' + left % 10);
        left /= 10;
    } while (left > 0);
    if (value < 0) *--at = '-';
    spad__out_bytes(out, at, (size_t)(digits + sizeof digits - at));
}

typedef struct number_column {
    spad__get_cell get;
    const void *context;
    int what;
    size_t count;
    int64_t divisor;  /* of all of its numbers */
    bool differences; /* from row to row, the first from 0 */
} number_column;

/* A number as a sign, which is the lowest bit, and how far it is from 0 (a negative one: from -1).
 */
static uint64_t signed_bits(int64_t value) {
    return value < 0 ? ~((uint64_t)value << 1) : (uint64_t)value << 1;
}

static size_t bits_length(uint64_t bits) {
    size_t length = 1;
    while (bits >>= 7) length++;
    return length;
}

/* Number i as it is written; `before` is the one before it. */
static uint64_t column_bits(const number_column *column, size_t i, int64_t *before) {
    const int64_t value = column->get(column->context, i, column->what) / column->divisor;
    const uint64_t difference = (uint64_t)value - (uint64_t)*before;
    *before = value;
    return signed_bits(column->differences ? (int64_t)difference : value);
}

static size_t column_length(const number_column *column) {
    size_t length = 0;
    int64_t before = 0;
    for (size_t i = 0; i < column->count; i++)
        length += bits_length(column_bits(column, i, &before));
    return length;
}

/* Are all numbers the same? Finds their divisor, too. */
static bool measure_column(number_column *column) {
    const int64_t first = column->count > 0 ? column->get(column->context, 0, column->what) : 0;
    uint64_t divisor = 0;
    bool same = true;
    for (size_t i = 0; i < column->count; i++) {
        const int64_t value = column->get(column->context, i, column->what);
        uint64_t rest = value < 0 ? 0 - (uint64_t)value : (uint64_t)value;
        same = same && value == first;
        while (rest > 0 && divisor != 1) { /* Euclid */
            const uint64_t left = divisor % rest;
            divisor = rest;
            rest = left;
        }
    }
    column->divisor = divisor > 0 && divisor <= INT64_MAX ? (int64_t)divisor : 1;
    return same;
}

static void write_bits(spad__page_out *out, uint64_t bits) {
    if (out->json->failed) return;
    char bytes[10];
    size_t length = 0;
    do {
        bytes[length++] = (char)((bits & 127) | (bits > 127 ? 128 : 0));
        bits >>= 7;
    } while (bits > 0);
    spad__out_bytes(out->columns, bytes, length);
    out->size += length;
}

void spad__write_column(spad__page_out *out, const char *name, size_t count, spad__get_cell get,
                        const void *context, int what) {
    number_column column = {.get = get, .context = context, .what = what, .count = count};
    spad__out_format(out->json, ",\"%s\":", name);
    if (measure_column(&column)) {
        spad__write_number(out->json, count > 0 ? get(context, 0, what) : 0);
        return;
    }
    const size_t plain = column_length(&column);
    column.differences = true;
    column.differences = column_length(&column) <= plain;
    spad__out_format(out->json, "[%zu,", out->size);
    spad__write_number(out->json, column.divisor);
    spad__out_string(out->json, column.differences ? ",1]" : ",0]");
    int64_t before = 0;
    for (size_t i = 0; i < count && !out->columns->failed; i++)
        write_bits(out, column_bits(&column, i, &before));
    if (out->columns->failed) out->json->failed = true; /* see make_data */
}
