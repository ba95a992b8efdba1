/* SPDX-License-Identifier: Apache-2.0
 *
 * CSV in and out, in the dialect of MiniMalloc with some more columns.
 *
 * One pass over the text. A comma ends a cell, or what the header has instead: semicolons, or tabs.
 * A line feed ends the row. A cell may be in double quotes, where two of them stand for one; blanks
 * around a cell and a carriage return at the end of a row do not count, nor does a byte order mark
 * before the header. Empty lines are skipped. Columns that are not known are left alone, unless
 * their names are one letter away from one that is. Every fault has the line and the column of its
 * cell; with a collection for them, reading goes on with the next row. Ids in `apart`, `slice` and
 * `in_place` may be those of later rows, so they are looked up after the last one. O(length).
 */
#include <string.h>

#include "base/checked.h"
#include "base/names.h"
#include "base/source.h"
#include "base/text.h"
#include "plan/problem.h"
#include "plan/sort.h"

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
    COLUMN_KINDS,
    OTHER = COLUMN_KINDS /* one that is not known */
} column;

enum { COLUMNS_MAX = 256 };

/* Names of columns; several may mean the same. */
static const struct {
    const char *name;
    column kind;
    bool inclusive; /* the number is the last moment, not the one after it */
} column_names[] = {
    {"id", ID, false},        {"buffer", ID, false},           {"name", ID, false},
    {"buffer_id", ID, false}, {"lower", LOWER, false},         {"start", LOWER, false},
    {"begin", LOWER, false},  {"upper", UPPER, false},         {"end", UPPER, true},
    {"size", SIZE, false},    {"alignment", ALIGNMENT, false}, {"hint", HINT, false},
    {"gaps", GAPS, false},    {"offset", OFFSET, false},       {"lane", LANE, false},
    {"lanes", LANES, false},  {"bank", BANK, false},           {"alias", ALIAS, false},
    {"apart", APART, false},  {"slice", SLICE, false},         {"in_place", IN_PLACE, false}};

enum { NAMES = sizeof column_names / sizeof *column_names };

typedef struct csv_cell {
    const char *text;
    size_t length; /* without the quotes */
    int32_t line;
    int32_t column; /* in characters, 1-based */
    bool quoted;
} csv_cell;

/* A cell with ids, which may be those of later rows. */
typedef struct wish {
    int32_t buffer;
    column kind;
    csv_cell names;
} wish;

/* A buffer of an alias group. */
typedef struct member {
    csv_cell name;
    int32_t buffer;
} member;

typedef struct reader {
    spad_plan *plan;
    const char *file;
    const char *at;
    const char *end;
    const char *line_start;
    int32_t line;
    spad_error *error;
    spad_diagnostics *faults; /* NULL: the first fault ends the reading */
    spad__source source;
    spad__span blamed; /* the cell of the last fault */
    spad_error scratch;
    bool end_exclusive;
    char separator;
    int32_t column_count;
    column kinds[COLUMNS_MAX]; /* each but OTHER comes once at most */
    bool present[COLUMN_KINDS];
    bool inclusive;
    csv_cell cells[COLUMN_KINDS + 1];
    char *name; /* scratch for one id */
    size_t name_room;
    SPAD_ARRAY(spad_plan_gap) gaps;
    SPAD_ARRAY(int64_t) clocks; /* of one row: lower, then upper */
    SPAD_ARRAY(wish) wishes;
    SPAD_ARRAY(member) members;
} reader;

/* ---- cells ------------------------------------------------------------------------- */

static int32_t characters(const char *from, const char *until) {
    int32_t count = 0;
    for (; from < until; from++) count += ((unsigned char)*from & 0xC0) != 0x80;
    return count;
}

static bool is_csv_blank(char c) {
    return c == ' ' || c == '\t' || c == '\r';
}

/* Blanks around a cell; a tab that divides cells does not count. */
static bool pads_cell(const reader *r, char c) {
    return is_csv_blank(c) && c != r->separator;
}

/* Moves past the quote that ends a cell. False: there is none in the row. */
static bool skip_quoted(reader *r) {
    for (r->at++; r->at < r->end && *r->at != '\n'; r->at++) {
        if (*r->at != '"') continue;
        r->at++;
        if (r->at == r->end || *r->at != '"') return true; /* else two stand for one */
    }
    return false;
}

/* Reads one cell; *last: it ends its row. A quote that is not closed is a part of the cell. */
static csv_cell next_cell(reader *r, bool *last) {
    const char *from = r->at;
    while (from < r->end && pads_cell(r, *from)) from++;
    r->at = from;
    bool quoted = from < r->end && *from == '"' && skip_quoted(r);
    if (!quoted) r->at = from;
    const char *closed = r->at;
    while (r->at < r->end && *r->at != r->separator && *r->at != '\n') r->at++;
    const char *until = r->at;
    *last = r->at == r->end || *r->at == '\n';
    if (r->at < r->end) r->at++;
    while (until > from && pads_cell(r, until[-1])) until--;
    quoted = quoted && until == closed; /* else there is more after the quote */
    const int32_t at = characters(r->line_start, from) + 1 + quoted;
    return (csv_cell){from + quoted, (size_t)(until - from) - 2 * (size_t)quoted, r->line, at,
                      quoted};
}

static void begin_line(reader *r) {
    r->line++;
    r->line_start = r->at;
}

/* True if the rest of the line is blank; then it is skipped. */
static bool skip_blank_line(reader *r) {
    const char *p = r->at;
    while (p < r->end && is_csv_blank(*p)) p++;
    if (p < r->end && *p != '\n') return false;
    r->at = p < r->end ? p + 1 : p;
    return true;
}

static bool cell_is(const csv_cell *c, const char *text) {
    return strlen(text) == c->length && memcmp(c->text, text, c->length) == 0;
}

#define QUOTED(c) (int)((c)->length < 40 ? (c)->length : 40), (c)->text

/* Gives a fault its place. */
static spad_status at_cell(reader *r, const csv_cell *c, spad_status status) {
    if (status == SPAD_OK) return status;
    spad__fact_location(r->error, r->file, c->line, c->column);
    r->blamed = (spad__span){(size_t)(c->text - r->source.text), c->length};
    return status;
}

/* ---- numbers ----------------------------------------------------------------------- */

/* A whole number that fits 64 bits. */
static bool parse_number(const char *text, size_t length, int64_t *out) {
    size_t i = 0;
    const bool negative = length > 0 && text[0] == '-';
    if (negative) i++;
    if (i == length) return false;
    int64_t value = 0;
    for (; i < length; i++) {
        if (text[i] < '0' || text[i] > '9') return false;
        const int64_t digit = text[i] - '0';
        if (!spad__mul(value, 10, &value) || !spad__add(value, negative ? -digit : digit, &value))
            return false;
    }
    *out = value;
    return true;
}

static bool all_digits(const csv_cell *c) {
    size_t i = c->length > 0 && c->text[0] == '-';
    if (i == c->length) return false;
    while (i < c->length && c->text[i] >= '0' && c->text[i] <= '9') i++;
    return i == c->length;
}

/* Columns of bytes, where 4KiB and 0x1000 are fine. */
static bool has_bytes(column kind) {
    return kind == SIZE || kind == ALIGNMENT || kind == OFFSET || kind == HINT;
}

static spad_status number_cell(reader *r, column kind, const char *what, int64_t *out) {
    const csv_cell *c = &r->cells[kind];
    if (parse_number(c->text, c->length, out)) return SPAD_OK;
    if (has_bytes(kind) && spad_bytes_parse(out, c->text, c->length)) return SPAD_OK;
    if (all_digits(c))
        return at_cell(r, c,
                       spad__fail(r->error, SPAD_ERR_OVERFLOW, "%s '%.*s' does not fit 64 bits",
                                  what, QUOTED(c)));
    return at_cell(r, c,
                   spad__fail(r->error, SPAD_ERR_SYNTAX, "%s '%.*s' is not a whole number%s", what,
                              QUOTED(c), has_bytes(kind) ? " such as 4096, 0x1000 or 4KiB" : ""));
}

/* A number that may be missing: an empty cell or no column leaves *out alone. */
static spad_status optional_number(reader *r, column kind, const char *what, int64_t *out) {
    if (!r->present[kind] || r->cells[kind].length == 0) return SPAD_OK;
    return number_cell(r, kind, what, out);
}

/* One that is -1 or missing for "none"; anything else below 0 is a mistake. */
static spad_status place_cell(reader *r, column kind, const char *what, int64_t *out) {
    *out = -1;
    const spad_status status = optional_number(r, kind, what, out);
    if (status != SPAD_OK || *out >= -1) return status;
    return at_cell(r, &r->cells[kind],
                   spad__fail(r->error, SPAD_ERR_BOUNDS, "%s %lld is negative; use -1 for none",
                              what, (long long)*out));
}

/* "2:1:0", a vector clock: its numbers go to `clocks`. */
static spad_status clock_cell(reader *r, column kind, const char *what) {
    const csv_cell *c = &r->cells[kind];
    const char *end = c->text + c->length;
    for (const char *from = c->text; from <= end;) {
        const char *until = memchr(from, ':', (size_t)(end - from));
        if (until == NULL) until = end;
        if (!spad__array_reserve(&r->plan->host, &r->clocks, 1))
            return spad__fail_host_memory(r->error);
        if (!parse_number(from, (size_t)(until - from), &r->clocks.items[r->clocks.count++])) {
            return at_cell(r, c,
                           spad__fail(r->error, SPAD_ERR_SYNTAX,
                                      "%s '%.*s' is not a vector clock such as 2:1", what,
                                      QUOTED(c)));
        }
        from = until + 1;
    }
    return SPAD_OK;
}

static bool has_clock(const reader *r, column kind) {
    return memchr(r->cells[kind].text, ':', r->cells[kind].length) != NULL;
}

/* Both ends of a life, as vector clocks. */
static spad_status read_clocks(reader *r, spad_plan_buffer *b) {
    if (r->inclusive) {
        return at_cell(r, &r->cells[UPPER],
                       spad__fail(r->error, SPAD_ERR_SYNTAX,
                                  "column 'end' is a last moment, which vector clocks do not "
                                  "have; name it 'upper'"));
    }
    spad_status status = clock_cell(r, LOWER, "lower");
    const size_t count = r->clocks.count;
    if (status == SPAD_OK) status = clock_cell(r, UPPER, "upper");
    if (status != SPAD_OK) return status;
    if (r->clocks.count != 2 * count) {
        return at_cell(r, &r->cells[UPPER],
                       spad__fail(r->error, SPAD_ERR_SYNTAX,
                                  "lower has %zu numbers and upper has %zu", count,
                                  r->clocks.count - count));
    }
    b->clock_count = count;
    b->lower_clock = r->clocks.items;
    b->upper_clock = r->clocks.items + count;
    return SPAD_OK;
}

/* Both ends of a life. */
static spad_status read_life(reader *r, spad_plan_buffer *b) {
    r->clocks.count = 0;
    if (has_clock(r, LOWER) || has_clock(r, UPPER)) return read_clocks(r, b);
    spad_status status = number_cell(r, LOWER, "lower", &b->lower);
    if (status == SPAD_OK) status = number_cell(r, UPPER, "upper", &b->upper);
    if (status != SPAD_OK || !r->inclusive || spad__add(b->upper, 1, &b->upper)) return status;
    return at_cell(r, &r->cells[UPPER],
                   spad__fail(r->error, SPAD_ERR_OVERFLOW, "end is too large"));
}

/* ---- the header -------------------------------------------------------------------- */

static spad_status read_column_name(reader *r, const csv_cell *c) {
    spad__nearest nearest;
    char word[SPAD_NAME_FACT_MAX];
    char phrase[3 * SPAD_NAME_FACT_MAX];
    const size_t length = c->length < sizeof word - 1 ? c->length : sizeof word - 1;
    if (length > 0) memcpy(word, c->text, length);
    word[length] = '\0';
    spad__nearest_start(&nearest, word);
    for (size_t k = 0; k < NAMES; k++) {
        spad__nearest_offer(&nearest, column_names[k].name);
        if (!cell_is(c, column_names[k].name)) continue;
        const column kind = column_names[k].kind;
        if (r->present[kind])
            return spad__fail(r->error, SPAD_ERR_NAME, "column '%s' appears twice", word);
        r->present[kind] = true;
        if (kind == UPPER) r->inclusive = column_names[k].inclusive && !r->end_exclusive;
        r->kinds[r->column_count++] = kind;
        return SPAD_OK;
    }
    spad__nearest_phrase(&nearest, phrase, sizeof phrase);
    if (nearest.count > 0 && nearest.distance[0] == 1) /* a slip, most likely */
        return spad__fail(r->error, SPAD_ERR_UNKNOWN, "unknown column '%s'%s", word, phrase);
    r->kinds[r->column_count++] = OTHER;
    return SPAD_OK;
}

/* What divides the cells of the header: a comma if there is one. */
static char find_separator(const reader *r) {
    const char *end = memchr(r->at, '\n', (size_t)(r->end - r->at));
    const size_t length = (size_t)((end != NULL ? end : r->end) - r->at);
    if (memchr(r->at, ',', length) != NULL) return ',';
    if (memchr(r->at, ';', length) != NULL) return ';';
    return memchr(r->at, '\t', length) != NULL ? '\t' : ',';
}

/* Some editors put a byte order mark (U+FEFF) in front. */
static void skip_mark(reader *r) {
    static const char mark[] = "\xEF\xBB\xBF";
    const size_t length = sizeof mark - 1;
    if ((size_t)(r->end - r->at) >= length && memcmp(r->at, mark, length) == 0) r->at += length;
}

static bool has_ids(column kind) {
    return kind == APART || kind == SLICE || kind == IN_PLACE;
}

static spad_status read_header(reader *r) {
    static const struct {
        column kind;
        const char *name;
    } needed[] = {{LOWER, "lower"}, {UPPER, "upper"}, {SIZE, "size"}};
    skip_mark(r);
    do begin_line(r);
    while (r->at < r->end && skip_blank_line(r));
    if (r->at < r->end) r->separator = find_separator(r);
    csv_cell c = {r->at, 0, r->line, 1, false};
    csv_cell names = {NULL, 0, 0, 0, false}; /* a column of ids */
    for (bool last = r->at == r->end; !last;) {
        c = next_cell(r, &last);
        if (r->column_count == COLUMNS_MAX)
            return at_cell(
                r, &c,
                spad__fail(r->error, SPAD_ERR_SYNTAX, "more than %d columns", (int)COLUMNS_MAX));
        const spad_status status = read_column_name(r, &c);
        if (status != SPAD_OK) return at_cell(r, &c, status);
        if (names.text == NULL && has_ids(r->kinds[r->column_count - 1])) names = c;
    }
    if (names.text != NULL && !r->present[ID])
        return at_cell(r, &names,
                       spad__fail(r->error, SPAD_ERR_SYNTAX,
                                  "column '%.*s' names ids, but there is no column 'id'",
                                  QUOTED(&names)));
    for (size_t k = 0; k < sizeof needed / sizeof *needed; k++) {
        if (r->present[needed[k].kind]) continue;
        c.column = 1;
        return at_cell(r, &c,
                       spad__fail(r->error, SPAD_ERR_SYNTAX,
                                  "the header has no column '%s'; it needs lower, upper and size",
                                  needed[k].name));
    }
    return SPAD_OK;
}

/* ---- rows -------------------------------------------------------------------------- */

static spad_status split_row(reader *r) {
    csv_cell c = {r->at, 0, r->line, 1, false};
    bool last = false;
    for (int32_t k = 0; k < r->column_count; k++) {
        if (last) {
            return at_cell(r, &c,
                           spad__fail(r->error, SPAD_ERR_SYNTAX,
                                      "the row has %d cells, the header has %d", k,
                                      r->column_count));
        }
        c = next_cell(r, &last);
        r->cells[r->kinds[k]] = c;
    }
    if (last) return SPAD_OK;
    c = next_cell(r, &last);
    return at_cell(r, &c,
                   spad__fail(r->error, SPAD_ERR_SYNTAX,
                              "the row has more cells than the %d of the header", r->column_count));
}

/* Cuts the next word off a cell of words; false: there is none. */
static bool next_word(csv_cell *rest, csv_cell *word) {
    size_t i = 0;
    while (i < rest->length && is_csv_blank(rest->text[i])) i++;
    size_t until = i;
    while (until < rest->length && !is_csv_blank(rest->text[until])) until++;
    if (i == until) return false;
    *word = (csv_cell){rest->text + i, until - i, rest->line,
                       rest->column + characters(rest->text, rest->text + i), false};
    rest->column += characters(rest->text, rest->text + until);
    rest->text += until;
    rest->length -= until;
    return true;
}

/* "a-b" or "a-b@x:y". */
static bool parse_gap(const csv_cell *word, bool inclusive, spad_plan_gap *gap) {
    const char *end = word->text + word->length;
    const char *at = memchr(word->text, '@', word->length);
    const char *times_end = at != NULL ? at : end;
    const char *dash = word->text + 1; /* a first '-' is a sign */
    while (dash < times_end && *dash != '-') dash++;
    if (dash >= times_end) return false;
    *gap = (spad_plan_gap){0};
    if (!parse_number(word->text, (size_t)(dash - word->text), &gap->lower) ||
        !parse_number(dash + 1, (size_t)(times_end - dash - 1), &gap->upper))
        return false;
    if (inclusive && !spad__add(gap->upper, 1, &gap->upper)) return false;
    if (at == NULL) return true;
    const char *colon = memchr(at, ':', (size_t)(end - at));
    return colon != NULL && parse_number(at + 1, (size_t)(colon - at - 1), &gap->window_lower) &&
           parse_number(colon + 1, (size_t)(end - colon - 1), &gap->window_upper);
}

static spad_status read_gaps(reader *r) {
    r->gaps.count = 0;
    if (!r->present[GAPS]) return SPAD_OK;
    csv_cell rest = r->cells[GAPS];
    csv_cell word;
    while (next_word(&rest, &word)) {
        if (!spad__array_reserve(&r->plan->host, &r->gaps, 1))
            return spad__fail_host_memory(r->error);
        if (!parse_gap(&word, r->inclusive, &r->gaps.items[r->gaps.count++])) {
            return at_cell(r, &word,
                           spad__fail(r->error, SPAD_ERR_SYNTAX,
                                      "gap '%.*s' is not of the form 7-9 or 7-9@0:64",
                                      QUOTED(&word)));
        }
    }
    return SPAD_OK;
}

static spad_status read_numbers(reader *r, spad_plan_buffer *b) {
    int64_t offset;
    int64_t hint;
    int64_t lane;
    spad_status status = read_life(r, b);
    if (status == SPAD_OK) status = number_cell(r, SIZE, "size", &b->size);
    b->alignment = 1;
    if (status == SPAD_OK) status = optional_number(r, ALIGNMENT, "alignment", &b->alignment);
    if (status == SPAD_OK) status = place_cell(r, HINT, "hint", &hint);
    if (status == SPAD_OK) status = place_cell(r, OFFSET, "offset", &offset);
    if (status == SPAD_OK) status = place_cell(r, LANE, "lane", &lane);
    if (status == SPAD_OK) status = optional_number(r, LANES, "lanes", &b->lanes);
    if (status == SPAD_OK) status = optional_number(r, BANK, "bank", &b->bank);
    if (status != SPAD_OK) return status;
    if (b->alignment < 1) {
        return at_cell(r, &r->cells[ALIGNMENT],
                       spad__fail(r->error, SPAD_ERR_ALIGNMENT,
                                  "an alignment of %lld; use 1 for none", (long long)b->alignment));
    }
    if (lane >= 0 && offset < 0) {
        return at_cell(r, &r->cells[LANE],
                       spad__fail(r->error, SPAD_ERR_ARGUMENT,
                                  "lane %lld without an offset; a pin needs both",
                                  (long long)lane));
    }
    if (!r->present[ALIGNMENT] || r->cells[ALIGNMENT].length == 0)
        b->alignment = 0; /* that of the space */
    b->lane = spad__max(lane, 0);
    b->pinned = offset >= 0;
    b->offset = offset;
    b->hinted = hint >= 0;
    b->hint = hint;
    return SPAD_OK;
}

/* The id with a NUL after it; NULL: no memory. */
static const char *copy_name(reader *r, const csv_cell *c) {
    if (c->length + 1 > r->name_room) {
        const size_t room = 2 * (c->length + 1);
        char *name = r->plan->host.resize(r->plan->host.context, r->name, r->name_room, room);
        if (name == NULL) return NULL;
        r->name = name;
        r->name_room = room;
    }
    size_t used = 0;
    for (size_t i = 0; i < c->length; i++) {
        r->name[used++] = c->text[i];
        if (c->quoted && c->text[i] == '"') i++; /* the second of two */
    }
    r->name[used] = '\0';
    return r->name;
}

/* The cell, or the word of it, that a refused buffer is about. */
static csv_cell blamed_cell(const reader *r, int32_t field) {
    static const column columns[] = {
        [SPAD__FIELD_NAME] = ID,   [SPAD__FIELD_LOWER] = LOWER,         [SPAD__FIELD_UPPER] = UPPER,
        [SPAD__FIELD_SIZE] = SIZE, [SPAD__FIELD_ALIGNMENT] = ALIGNMENT, [SPAD__FIELD_LANES] = LANES,
        [SPAD__FIELD_BANK] = BANK, [SPAD__FIELD_OFFSET] = OFFSET,       [SPAD__FIELD_LANE] = LANE};
    if (field >= SPAD__FIELD_GAPS) {
        csv_cell rest = r->cells[GAPS];
        csv_cell word = rest;
        for (int32_t k = SPAD__FIELD_GAPS; k <= field && next_word(&rest, &word);) k++;
        return word;
    }
    const column kind = columns[field];
    return r->cells[r->present[kind] ? kind : SIZE]; /* a rule of the space broke the size */
}

static spad_status note_alias(reader *r, size_t number) {
    if (!r->present[ALIAS] || r->cells[ALIAS].length == 0) return SPAD_OK;
    if (!spad__array_reserve(&r->plan->host, &r->members, 1))
        return spad__fail_host_memory(r->error);
    r->members.items[r->members.count++] = (member){r->cells[ALIAS], (int32_t)number};
    return SPAD_OK;
}

static spad_status note_wishes(reader *r, size_t number) {
    static const column kinds[] = {APART, SLICE, IN_PLACE};
    for (size_t k = 0; k < sizeof kinds / sizeof *kinds; k++) {
        if (!r->present[kinds[k]] || r->cells[kinds[k]].length == 0) continue;
        if (!spad__array_reserve(&r->plan->host, &r->wishes, 1))
            return spad__fail_host_memory(r->error);
        r->wishes.items[r->wishes.count++] = (wish){(int32_t)number, kinds[k], r->cells[kinds[k]]};
    }
    return SPAD_OK;
}

static spad_status read_row(reader *r) {
    spad_plan_buffer b = {0};
    spad_status status = split_row(r);
    if (status == SPAD_OK) status = read_numbers(r, &b);
    if (status == SPAD_OK) status = read_gaps(r);
    if (status != SPAD_OK) return status;
    b.gap_count = r->gaps.count;
    b.gaps = r->gaps.items;
    if (r->present[ID]) {
        const csv_cell *id = &r->cells[ID];
        if (id->length == 0)
            return at_cell(r, id, spad__fail(r->error, SPAD_ERR_NAME, "an id is empty"));
        if (memchr(id->text, '\0', id->length) != NULL)
            return at_cell(r, id, spad__fail(r->error, SPAD_ERR_NAME, "an id has a zero byte"));
        b.name = copy_name(r, id);
        if (b.name == NULL) return spad__fail_host_memory(r->error);
    }
    size_t number;
    int32_t field;
    status = spad__plan_add(&number, r->plan, &b, &field, r->error);
    if (status != SPAD_OK) {
        const csv_cell blamed = blamed_cell(r, field);
        return at_cell(r, &blamed, status);
    }
    status = note_wishes(r, number);
    return status == SPAD_OK ? note_alias(r, number) : status;
}

/* Cuts the byte off the end of "id@byte". False: there is none. */
static bool split_slice(csv_cell *word, int64_t *at) {
    size_t i = word->length;
    while (i > 0 && word->text[i - 1] != '@') i--;
    if (i == 0 || !parse_number(word->text + i, word->length - i, at)) return false;
    word->length = i - 1;
    return true;
}

/* What one id of a cell asks for. */
static spad_status grant_wish(reader *r, const wish *w, csv_cell word) {
    const char *what = w->kind == APART ? "apart" : w->kind == SLICE ? "slice" : "in_place";
    const size_t mine = (size_t)w->buffer;
    int64_t at = 0;
    if (w->kind == SLICE && !split_slice(&word, &at))
        return spad__fail(r->error, SPAD_ERR_SYNTAX, "slice '%.*s' is not of the form id@64",
                          QUOTED(&word));
    const int32_t other = spad__plan_find(r->plan, word.text, word.length);
    if (other < 0)
        return spad__fail(r->error, SPAD_ERR_UNKNOWN, "%s: there is no buffer '%.*s'", what,
                          QUOTED(&word));
    if (other == w->buffer)
        return spad__fail(r->error, SPAD_ERR_ARGUMENT, "%s: buffer '%.*s' cannot be %s itself",
                          what, QUOTED(&word),
                          w->kind == APART   ? "kept apart from"
                          : w->kind == SLICE ? "a slice of"
                                             : "in the place of");
    if (w->kind == APART) return spad_plan_apart(r->plan, mine, (size_t)other, r->error);
    if (w->kind == SLICE) return spad_plan_slice(r->plan, mine, (size_t)other, at, r->error);
    return spad_plan_in_place(r->plan, mine, (size_t)other, r->error);
}

static spad_status resolve_references(reader *r) {
    for (size_t k = 0; k < r->wishes.count; k++) {
        csv_cell rest = r->wishes.items[k].names;
        csv_cell word;
        while (next_word(&rest, &word)) {
            const spad_status status = grant_wish(r, &r->wishes.items[k], word);
            if (status != SPAD_OK) return at_cell(r, &word, status);
        }
    }
    return SPAD_OK;
}

/* Joins member k with an earlier one of its name; rows before k have hashes up to its own. */
static spad_status join_member(reader *r, const spad__row *rows, size_t k) {
    const member *mine = &r->members.items[rows[k].value];
    for (size_t j = k; j-- > 0 && rows[j].key == rows[k].key;) {
        const member *other = &r->members.items[rows[j].value];
        if (other->name.length != mine->name.length ||
            memcmp(other->name.text, mine->name.text, mine->name.length) != 0)
            continue;
        return at_cell(
            r, &mine->name,
            spad_plan_alias(r->plan, (size_t)other->buffer, (size_t)mine->buffer, r->error));
    }
    return SPAD_OK;
}

static spad_status join_aliases(reader *r) {
    const size_t count = r->members.count;
    if (count == 0) return SPAD_OK;
    spad__row *rows = spad__new_array(&r->plan->host, count, 2 * sizeof *rows);
    if (rows == NULL) return spad__fail_host_memory(r->error);
    for (size_t k = 0; k < count; k++) {
        const csv_cell *name = &r->members.items[k].name;
        rows[k] = (spad__row){spad__hash_text(name->text, name->length), (int32_t)k};
    }
    spad__sort_rows(rows, rows + count, count);
    spad_status status = SPAD_OK;
    for (size_t k = 1; k < count && status == SPAD_OK; k++) status = join_member(r, rows, k);
    spad__free(&r->plan->host, rows, 2 * count * sizeof *rows);
    return status;
}

/* Can reading go on after a fault? It is then in the collection; *status is that of the first. */
static bool reads_on(reader *r, spad_status *first, spad_status status) {
    if (status == SPAD_OK) return true;
    if (*first == SPAD_OK) *first = status;
    if (r->faults == NULL || status == SPAD_ERR_HOST_MEMORY) return false;
    spad__diagnostics_add(r->faults, &r->source, r->blamed, "%s", r->error->message);
    r->error = &r->scratch; /* the caller's keeps the first */
    return !spad__diagnostics_full(r->faults);
}

/* A row that is wrong is left at the end of its line. */
static void skip_bad_row(reader *r, const char *from) {
    const char *end = memchr(from, '\n', (size_t)(r->end - from));
    r->at = end != NULL ? end + 1 : r->end;
}

static spad_status read_all(reader *r) {
    spad_status first = SPAD_OK;
    bool more = reads_on(r, &first, read_header(r)) && first == SPAD_OK;
    while (more && r->at < r->end) {
        begin_line(r);
        if (skip_blank_line(r)) continue;
        const char *from = r->at;
        const spad_status status = read_row(r);
        if (status != SPAD_OK) skip_bad_row(r, from);
        more = reads_on(r, &first, status);
    }
    if (first == SPAD_OK) reads_on(r, &first, join_aliases(r));
    if (first == SPAD_OK) reads_on(r, &first, resolve_references(r));
    return first;
}

/* Takes back what was added to a plan after these counts. */
static void take_back_rows(spad_plan *plan, const spad_plan *before, spad__arena_mark mark) {
    spad__plan_forget(plan, before->buffers.count);
    plan->aliases.count = before->aliases.count;
    plan->aparts.count = before->aparts.count;
    plan->slices.count = before->slices.count;
    plan->in_places.count = before->in_places.count;
    spad__arena_rewind(&plan->arena, mark);
}

spad_status spad_plan_read_csv_with(spad_plan *plan, const char *text, size_t length,
                                    const char *file, const spad_plan_csv_options *options,
                                    spad_error *error) {
    reader r = {.plan = plan,
                .file = file,
                .at = text,
                .end = spad__text_end(text, length),
                .separator = ',',
                .faults = options != NULL ? options->faults : NULL,
                .end_exclusive = options != NULL && options->end_exclusive,
                .error = error};
    r.source = (spad__source){file, text, (size_t)(r.end - text)};
    const spad_plan before = *plan; /* only its counts are used */
    const spad__arena_mark mark = spad__arena_here(&plan->arena);
    if (r.faults != NULL) spad__diagnostics_begin(r.faults, &r.source);
    spad_status status = read_all(&r);
    if (r.faults != NULL && spad__diagnostics_end(r.faults, &r.scratch) == SPAD_ERR_HOST_MEMORY) {
        status = spad__fail_host_memory(error);
    }
    if (status != SPAD_OK) take_back_rows(plan, &before, mark);
    if (options != NULL && options->end_inclusive != NULL) *options->end_inclusive = r.inclusive;
    spad__array_free(&plan->host, &r.gaps);
    spad__array_free(&plan->host, &r.clocks);
    spad__array_free(&plan->host, &r.wishes);
    spad__array_free(&plan->host, &r.members);
    spad__free(&plan->host, r.name, r.name_room);
    return status;
}

spad_status spad_plan_read_csv(spad_plan *plan, const char *text, size_t length, const char *file,
                               spad_error *error) {
    return spad_plan_read_csv_with(plan, text, length, file, NULL, error);
}

/* ---- writing ----------------------------------------------------------------------- */

/* Copies the cells of a row except offset and lane. */
static void copy_csv_row(reader *r, spad__out *out) {
    bool last = false;
    bool first = true;
    for (int32_t k = 0; k < r->column_count && !last; k++) {
        const csv_cell c = next_cell(r, &last);
        if (r->kinds[k] == OFFSET || r->kinds[k] == LANE) continue;
        if (!first) spad__out_bytes(out, &r->separator, 1);
        if (c.quoted)
            spad__out_bytes(out, c.text - 1, c.length + 2);
        else
            spad__out_bytes(out, c.text, c.length);
        first = false;
    }
}

static spad_status fail_rows(const spad_plan *plan, size_t first, spad_error *error) {
    return spad__fail(error, SPAD_ERR_ARGUMENT,
                      "the text does not have the rows of buffers %lld to %lld of the plan",
                      (long long)first, (long long)plan->buffers.count - 1);
}

spad_status spad_plan_write_csv(const spad_plan *plan, size_t first, const spad_plan_result *result,
                                const char *text, size_t length, const spad_sink *sink,
                                spad_error *error) {
    reader r = {.at = text, .end = spad__text_end(text, length), .separator = ',', .error = error};
    r.source = (spad__source){NULL, text, (size_t)(r.end - text)};
    const spad_plan_place *places;
    spad_status status = spad__plan_places(&places, plan, result, error);
    if (status == SPAD_OK) status = read_header(&r);
    if (status != SPAD_OK) return status;
    spad__out out;
    spad__out_start(&out, sink);
    reader header = {
        .at = r.line_start, .end = spad__text_end(text, length), .line_start = r.line_start};
    header.column_count = r.column_count;
    header.separator = r.separator;
    memcpy(header.kinds, r.kinds, sizeof header.kinds);
    copy_csv_row(&header, &out);
    const char more[] = {r.separator, '\0'};
    spad__out_format(&out, "%soffset", more);
    if (plan->lanes > 1) spad__out_format(&out, "%slane", more);
    spad__out_string(&out, "\n");
    size_t i = first;
    while (r.at < r.end) {
        begin_line(&r);
        if (skip_blank_line(&r)) continue;
        if (i >= plan->buffers.count) return fail_rows(plan, first, error);
        copy_csv_row(&r, &out);
        spad__out_format(&out, "%s%lld", more, (long long)places[i].offset);
        if (plan->lanes > 1) spad__out_format(&out, "%s%lld", more, (long long)places[i].lane);
        spad__out_string(&out, "\n");
        i++;
    }
    return spad__out_finish(&out, error);
}
