/* SPDX-License-Identifier: Apache-2.0
 *
 * The cells of a CSV text, and its rows as buffers of one plan or of several. See csv_cells.c and
 * csv.c.
 */
#ifndef SPAD_PLAN_IO_CSV_H
#define SPAD_PLAN_IO_CSV_H

#include "base/diagnostics.h"
#include "plan/problem/problem.h"

typedef enum column {
    ID,
    LOWER,
    UPPER,
    SIZE,
    ALIGNMENT,
    HINT,
    GAPS,
    OFFSET,
    LANE,
    LANES,
    BANK,
    ALIAS,
    APART,
    SLICE,
    IN_PLACE,
    AVOID,
    SPACE, /* these only where rows name their memories: spaces_csv.c */
    USES,
    HOME,
    KEPT,
    CONSTANT,
    COLUMN_KINDS,
    OTHER = COLUMN_KINDS /* one that is not known */
} column;

enum { COLUMNS_MAX = 256 };

typedef struct spad__cell {
    const char *text;
    size_t length; /* without the quotes */
    int32_t line;
    int32_t column; /* in characters, 1-based */
    bool quoted;
} spad__cell;

/* A cell with ids, which may be those of later rows. */
typedef struct spad__csv_reference {
    spad_plan *plan;
    int32_t buffer;
    column kind;
    spad__cell names;
} spad__csv_reference;

/* A buffer of an alias group. */
typedef struct spad__csv_member {
    spad__cell name;
    spad_plan *plan;
    int32_t buffer;
} spad__csv_member;

typedef struct spad__csv spad__csv;

/* Where rows go that name their memories. */
typedef struct spad__csv_route {
    void *context;
    size_t plan_count; /* all that a row may go to, made with one host */
    spad_plan *const *plans;
    /* The plan of the row whose cells were read. */
    spad_status (*choose)(void *context, spad__csv *r, spad_plan **plan);
    /* The row was added to its plan under this number. */
    spad_status (*added)(void *context, spad__csv *r, size_t number);
} spad__csv_route;

struct spad__csv {
    spad_plan *plan;              /* of the row */
    const spad__csv_route *route; /* NULL: all rows go to one plan */
    spad_host host;
    bool spaces; /* the columns of several memories are known */
    const char *file;
    const char *at;
    const char *end;
    const char *line_start;
    int32_t line;
    spad_error *error;
    spad_diagnostics *diagnostics; /* NULL: the first error ends the reading */
    spad__source source;
    spad__span blamed; /* the cell of the last error */
    spad_error scratch;
    bool end_exclusive;
    char separator;
    int32_t column_count;
    column kinds[COLUMNS_MAX]; /* each but OTHER comes once at most */
    bool present[COLUMN_KINDS];
    bool inclusive;
    spad__cell cells[COLUMN_KINDS + 1];
    char *name; /* scratch for one id */
    size_t name_room;
    SPAD_ARRAY(spad_plan_gap) gaps;
    SPAD_ARRAY(int64_t) clocks; /* of one row: lower, then upper */
    SPAD_ARRAY(spad__csv_reference) references;
    SPAD_ARRAY(spad__csv_member) members;
};

/* For "%.*s". */
#define QUOTED(c) (int)((c)->length < 40 ? (c)->length : 40), (c)->text

/* ---- cells ------------------------------------------------------------------------- */

/* A reader at the beginning of a text. */
spad__csv spad__csv_start(const char *text, size_t length, const char *file, spad_error *error);
/* Reads one cell; *last: it ends its row. A quote that is not closed is a part of the cell. */
spad__cell spad__csv_next_cell(spad__csv *r, bool *last);
void spad__csv_begin_line(spad__csv *r);
/* True if the rest of the line is blank; then it is skipped. */
bool spad__csv_skip_blank(spad__csv *r);
bool spad__csv_is_blank(char c);
bool spad__csv_cell_is(const spad__cell *c, const char *text);
/* Gives an error its place. */
spad_status spad__csv_at(spad__csv *r, const spad__cell *c, spad_status status);
/* Cuts the next word off a cell of words; false: none exists. */
bool spad__csv_word(spad__cell *rest, spad__cell *word);
/* A whole number that fits 64 bits. */
bool spad__csv_parse(const char *text, size_t length, int64_t *out);
spad_status spad__csv_number(spad__csv *r, column kind, const char *what, int64_t *out);
/* A number that may be missing: an empty cell or no column leaves *out alone. */
spad_status spad__csv_optional(spad__csv *r, column kind, const char *what, int64_t *out);
/* One that is -1 or missing for "none"; anything else below 0 is a mistake. */
spad_status spad__csv_place(spad__csv *r, column kind, const char *what, int64_t *out);
/* Both ends of a life. */
spad_status spad__csv_life(spad__csv *r, spad_plan_buffer *b);
/* The header, with the names of all columns. */
spad_status spad__csv_header(spad__csv *r);

/* ---- rows -------------------------------------------------------------------------- */

/* Reads all rows into the plan, or by a route (the plan is then NULL). A failed call changes no
 * plan. */
spad_status spad__csv_read(spad_plan *plan, const spad__csv_route *route, const char *text,
                           size_t length, const char *file, const spad_plan_csv_options *options,
                           spad_error *error);

#endif
