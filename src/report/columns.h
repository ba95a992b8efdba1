/* SPDX-License-Identifier: Apache-2.0
 *
 * Columns of numbers in the page of a report. The bytes of all columns are in one element: numbers
 * divided by what divides them all, as they are or as differences from row to row, whichever is
 * shorter, seven bits a byte.
 */
#ifndef SPAD_REPORT_COLUMNS_H
#define SPAD_REPORT_COLUMNS_H

#include "base/text.h"

/* The JSON, and the bytes of the columns. */
typedef struct spad__page_out {
    spad__out *json;
    spad__out *columns;
    size_t size; /* bytes of columns so far */
} spad__page_out;

/* Row i of one column of a table. */
typedef int64_t (*spad__get_cell)(const void *context, size_t i, int what);

void spad__write_number(spad__out *out, int64_t value);

/* One column as a key of the table that is open: a number if it is the same in all rows, else
 * [where its bytes begin, divisor, 1 for differences]. */
void spad__write_column(spad__page_out *out, const char *name, size_t count, spad__get_cell get,
                        const void *context, int what);

#endif
