/* SPDX-License-Identifier: Apache-2.0
 *
 * The cells of a CSV text: header, words, numbers, lives. One pass; see csv.c for the dialect.
 */
#include <string.h>

#include "base/checked.h"
#include "base/names.h"
#include "base/text.h"
#include "plan/io/csv.h"

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
    {"apart", APART, false},  {"slice", SLICE, false},         {"in_place", IN_PLACE, false},
    {"avoid", AVOID, false},  {"space", SPACE, false},         {"uses", USES, false},
    {"home", HOME, false},    {"kept", KEPT, false},           {"constant", CONSTANT, false}};

enum { NAMES = sizeof column_names / sizeof *column_names };

/* ---- cells ------------------------------------------------------------------------- */

spad__csv spad__csv_start(const char *text, size_t length, const char *file, spad_error *error) {
    spad__csv r = {.file = file,
                   .at = text,
                   .end = spad__text_end(text, length),
                   .separator = ',',
                   .error = error};
    r.source = (spad__source){file, text, (size_t)(r.end - text)};
    return r;
}

static int32_t characters(const char *from, const char *until) {
    int32_t count = 0;
    for (; from < until; from++) count += ((unsigned char)*from & 0xC0) != 0x80;
    return count;
}

bool spad__csv_is_blank(char c) {
    return c == ' ' || c == '\t' || c == '\r';
}

/* Blanks around a cell; a tab that divides cells does not count. */
static bool pads_cell(const spad__csv *r, char c) {
    return spad__csv_is_blank(c) && c != r->separator;
}

/* Moves past the quote that ends a cell. False: none exists in the row. */
static bool skip_quoted(spad__csv *r) {
    for (r->at++; r->at < r->end && *r->at != '\n'; r->at++) {
        if (*r->at != '"') continue;
        r->at++;
        if (r->at == r->end || *r->at != '"') return true; /* else two stand for one */
    }
    return false;
}

/* Reads one cell; *last: it ends its row. A quote that is not closed is a part of the cell. */
spad__cell spad__csv_next_cell(spad__csv *r, bool *last) {
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
    return (spad__cell){from + quoted, (size_t)(until - from) - 2 * (size_t)quoted, r->line, at,
                        quoted};
}

void spad__csv_begin_line(spad__csv *r) {
    r->line++;
    r->line_start = r->at;
}

/* True if the rest of the line is blank; then it is skipped. */
bool spad__csv_skip_blank(spad__csv *r) {
    const char *p = r->at;
    while (p < r->end && spad__csv_is_blank(*p)) p++;
    if (p < r->end && *p != '\n') return false;
    r->at = p < r->end ? p + 1 : p;
    return true;
}

bool spad__csv_cell_is(const spad__cell *c, const char *text) {
    return strlen(text) == c->length && memcmp(c->text, text, c->length) == 0;
}

/* Gives an error its place. */
spad_status spad__csv_at(spad__csv *r, const spad__cell *c, spad_status status) {
    if (status == SPAD_OK) return status;
    spad__fact_location(r->error, r->file, c->line, c->column);
    r->blamed = (spad__span){(size_t)(c->text - r->source.text), c->length};
    return status;
}

/* ---- numbers ----------------------------------------------------------------------- */

/* A whole number that fits 64 bits. */
bool spad__csv_parse(const char *text, size_t length, int64_t *out) {
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

static bool all_digits(const spad__cell *c) {
    size_t i = c->length > 0 && c->text[0] == '-';
    if (i == c->length) return false;
    while (i < c->length && c->text[i] >= '0' && c->text[i] <= '9') i++;
    return i == c->length;
}

/* Columns of bytes, where 4KiB and 0x1000 are fine. */
static bool has_bytes(column kind) {
    return kind == SIZE || kind == ALIGNMENT || kind == OFFSET || kind == HINT;
}

spad_status spad__csv_number(spad__csv *r, column kind, const char *what, int64_t *out) {
    const spad__cell *c = &r->cells[kind];
    if (spad__csv_parse(c->text, c->length, out)) return SPAD_OK;
    if (has_bytes(kind) && spad_bytes_parse(out, c->text, c->length)) return SPAD_OK;
    if (all_digits(c))
        return spad__csv_at(r, c,
                            spad__fail(r->error, SPAD_ERR_OVERFLOW,
                                       "%s '%.*s' does not fit 64 bits", what, QUOTED(c)));
    return spad__csv_at(r, c,
                        spad__fail(r->error, SPAD_ERR_SYNTAX, "%s '%.*s' is not a whole number%s",
                                   what, QUOTED(c),
                                   has_bytes(kind) ? " such as 4096, 0x1000 or 4KiB" : ""));
}

/* A number that may be missing: an empty cell or no column leaves *out alone. */
spad_status spad__csv_optional(spad__csv *r, column kind, const char *what, int64_t *out) {
    if (!r->present[kind] || r->cells[kind].length == 0) return SPAD_OK;
    return spad__csv_number(r, kind, what, out);
}

/* One that is -1 or missing for "none"; anything else below 0 is a mistake. */
spad_status spad__csv_place(spad__csv *r, column kind, const char *what, int64_t *out) {
    *out = -1;
    const spad_status status = spad__csv_optional(r, kind, what, out);
    if (status != SPAD_OK || *out >= -1) return status;
    return spad__csv_at(r, &r->cells[kind],
                        spad__fail(r->error, SPAD_ERR_BOUNDS,
                                   "%s %lld is negative; use -1 for none", what, (long long)*out));
}

/* "2:1:0", a vector clock: its numbers go to `clocks`. */
static spad_status clock_cell(spad__csv *r, column kind, const char *what) {
    const spad__cell *c = &r->cells[kind];
    const char *end = c->text + c->length;
    for (const char *from = c->text; from <= end;) {
        const char *until = memchr(from, ':', (size_t)(end - from));
        if (until == NULL) until = end;
        if (!spad__array_reserve(&r->host, &r->clocks, 1)) return spad__fail_host_memory(r->error);
        if (!spad__csv_parse(from, (size_t)(until - from), &r->clocks.items[r->clocks.count++])) {
            return spad__csv_at(r, c,
                                spad__fail(r->error, SPAD_ERR_SYNTAX,
                                           "%s '%.*s' is not a vector clock such as 2:1", what,
                                           QUOTED(c)));
        }
        from = until + 1;
    }
    return SPAD_OK;
}

static bool has_clock(const spad__csv *r, column kind) {
    return memchr(r->cells[kind].text, ':', r->cells[kind].length) != NULL;
}

/* Both ends of a life, as vector clocks. */
static spad_status read_clocks(spad__csv *r, spad_plan_buffer *b) {
    if (r->inclusive) {
        return spad__csv_at(r, &r->cells[UPPER],
                            spad__fail(r->error, SPAD_ERR_SYNTAX,
                                       "column 'end' is a last moment, which vector clocks do not "
                                       "have; name it 'upper'"));
    }
    spad_status status = clock_cell(r, LOWER, "lower");
    const size_t count = r->clocks.count;
    if (status == SPAD_OK) status = clock_cell(r, UPPER, "upper");
    if (status != SPAD_OK) return status;
    if (r->clocks.count != 2 * count) {
        return spad__csv_at(r, &r->cells[UPPER],
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
spad_status spad__csv_life(spad__csv *r, spad_plan_buffer *b) {
    r->clocks.count = 0;
    if (has_clock(r, LOWER) || has_clock(r, UPPER)) return read_clocks(r, b);
    spad_status status = spad__csv_number(r, LOWER, "lower", &b->lower);
    if (status == SPAD_OK) status = spad__csv_number(r, UPPER, "upper", &b->upper);
    if (status != SPAD_OK || !r->inclusive) return status;
    if (b->upper < b->lower)
        return spad__csv_at(r, &r->cells[UPPER],
                            spad__fail(r->error, SPAD_ERR_ARGUMENT,
                                       "the end %lld, which is the last time, is before the "
                                       "start %lld",
                                       (long long)b->upper, (long long)b->lower));
    if (spad__add(b->upper, 1, &b->upper)) return status;
    return spad__csv_at(r, &r->cells[UPPER],
                        spad__fail(r->error, SPAD_ERR_OVERFLOW, "end is too large"));
}

/* ---- the header -------------------------------------------------------------------- */

/* Spreadsheets write "Size" and "SIZE". */
static bool is_column(const spad__cell *c, const char *name) {
    if (strlen(name) != c->length) return false;
    for (size_t i = 0; i < c->length; i++) {
        const char letter = c->text[i];
        const char small = letter >= 'A' && letter <= 'Z' ? (char)(letter - 'A' + 'a') : letter;
        if (small != name[i]) return false;
    }
    return true;
}

static spad_status read_column_name(spad__csv *r, const spad__cell *c) {
    spad__nearest nearest;
    char word[SPAD_NAME_FACT_MAX];
    char phrase[3 * SPAD_NAME_FACT_MAX];
    const size_t length = c->length < sizeof word - 1 ? c->length : sizeof word - 1;
    if (length > 0) memcpy(word, c->text, length);
    word[length] = '\0';
    spad__nearest_start(&nearest, word);
    for (size_t k = 0; k < NAMES; k++) {
        if (column_names[k].kind >= SPACE && !r->spaces) continue;
        spad__nearest_offer(&nearest, column_names[k].name);
        if (!is_column(c, column_names[k].name)) continue;
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
static char find_separator(const spad__csv *r) {
    const char *end = memchr(r->at, '\n', (size_t)(r->end - r->at));
    const size_t length = (size_t)((end != NULL ? end : r->end) - r->at);
    if (memchr(r->at, ',', length) != NULL) return ',';
    if (memchr(r->at, ';', length) != NULL) return ';';
    return memchr(r->at, '\t', length) != NULL ? '\t' : ',';
}

static bool has_ids(column kind) {
    return kind == APART || kind == SLICE || kind == IN_PLACE || kind == AVOID;
}

spad_status spad__csv_header(spad__csv *r) {
    static const struct {
        column kind;
        const char *name;
    } needed[] = {{LOWER, "'lower' or 'start'"}, {UPPER, "'upper' or 'end'"}, {SIZE, "'size'"}};
    if (r->at < r->end) r->at += spad__mark_bytes(r->at, (size_t)(r->end - r->at));
    do spad__csv_begin_line(r);
    while (r->at < r->end && spad__csv_skip_blank(r));
    if (r->at < r->end) r->separator = find_separator(r);
    spad__cell c = {r->at, 0, r->line, 1, false};
    spad__cell names = {NULL, 0, 0, 0, false}; /* a column of ids */
    for (bool last = r->at == r->end; !last;) {
        c = spad__csv_next_cell(r, &last);
        if (r->column_count == COLUMNS_MAX)
            return spad__csv_at(
                r, &c,
                spad__fail(r->error, SPAD_ERR_SYNTAX, "more than %d columns", (int)COLUMNS_MAX));
        const spad_status status = read_column_name(r, &c);
        if (status != SPAD_OK) return spad__csv_at(r, &c, status);
        if (names.text == NULL && has_ids(r->kinds[r->column_count - 1])) names = c;
    }
    if (names.text != NULL && !r->present[ID])
        return spad__csv_at(r, &names,
                            spad__fail(r->error, SPAD_ERR_SYNTAX,
                                       "column '%.*s' names ids, but there is no column 'id'",
                                       QUOTED(&names)));
    for (size_t k = 0; k < sizeof needed / sizeof *needed; k++) {
        if (r->present[needed[k].kind]) continue;
        c.column = 1;
        return spad__csv_at(
            r, &c,
            spad__fail(r->error, SPAD_ERR_SYNTAX,
                       "the header has no column %s; it needs lower, upper and size",
                       needed[k].name));
    }
    return SPAD_OK;
}
/* Cuts the next word off a cell of words; false: none exists. */
bool spad__csv_word(spad__cell *rest, spad__cell *word) {
    size_t i = 0;
    while (i < rest->length && spad__csv_is_blank(rest->text[i])) i++;
    size_t until = i;
    while (until < rest->length && !spad__csv_is_blank(rest->text[until])) until++;
    if (i == until) return false;
    *word = (spad__cell){rest->text + i, until - i, rest->line,
                         rest->column + characters(rest->text, rest->text + i), false};
    rest->column += characters(rest->text, rest->text + until);
    rest->text += until;
    rest->length -= until;
    return true;
}
