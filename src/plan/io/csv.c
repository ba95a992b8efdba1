/* SPDX-License-Identifier: Apache-2.0
 *
 * CSV in and out, in the dialect of MiniMalloc with some more columns.
 *
 * One pass over the text. A comma ends a cell, or what the header has instead: semicolons, or tabs.
 * A line feed ends the row. A cell may be in double quotes, where two of them stand for one; blanks
 * around a cell and a carriage return at the end of a row do not count, nor does a byte order mark
 * before the header. Empty lines are skipped. Columns that are not known are left alone, unless
 * their names are one letter away from one that is. Every error has the line and the column of its
 * cell; with a collection for them, reading goes on with the next row. Ids in `apart`, `slice` and
 * `in_place` may be those of later rows, so they are looked up after the last one. O(length).
 */
#include "plan/io/csv.h"

#include <string.h>

#include "base/checked.h"
#include "base/names.h"
#include "base/options.h"
#include "base/text.h"
#include "plan/problem/sort.h"
#include "spad/experimental/soft_constraints.h"

/* ---- rows -------------------------------------------------------------------------- */

static spad_status split_row(spad__csv *r) {
    spad__cell c = {r->at, 0, r->line, 1, false};
    bool last = false;
    for (int32_t k = 0; k < r->column_count; k++) {
        if (last) {
            return spad__csv_at(r, &c,
                                spad__fail(r->error, SPAD_ERR_SYNTAX,
                                           "the row has %d cells, the header has %d", k,
                                           r->column_count));
        }
        c = spad__csv_next_cell(r, &last);
        r->cells[r->kinds[k]] = c;
    }
    if (last) return SPAD_OK;
    c = spad__csv_next_cell(r, &last);
    return spad__csv_at(r, &c,
                        spad__fail(r->error, SPAD_ERR_SYNTAX,
                                   "the row has more cells than the %d of the header",
                                   r->column_count));
}

/* "a-b" or "a-b@x:y". */
static bool parse_gap(const spad__cell *word, bool inclusive, spad_plan_gap *gap) {
    const char *end = word->text + word->length;
    const char *at = memchr(word->text, '@', word->length);
    const char *times_end = at != NULL ? at : end;
    const char *dash = word->text + 1; /* a first '-' is a sign */
    while (dash < times_end && *dash != '-') dash++;
    if (dash >= times_end) return false;
    *gap = (spad_plan_gap){0};
    if (!spad__csv_parse(word->text, (size_t)(dash - word->text), &gap->lower) ||
        !spad__csv_parse(dash + 1, (size_t)(times_end - dash - 1), &gap->upper))
        return false;
    if (inclusive && !spad__add(gap->upper, 1, &gap->upper)) return false;
    if (at == NULL) return true;
    const char *colon = memchr(at, ':', (size_t)(end - at));
    return colon != NULL && spad__csv_parse(at + 1, (size_t)(colon - at - 1), &gap->window_lower) &&
           spad__csv_parse(colon + 1, (size_t)(end - colon - 1), &gap->window_upper);
}

static spad_status read_gaps(spad__csv *r) {
    r->gaps.count = 0;
    if (!r->present[GAPS]) return SPAD_OK;
    spad__cell rest = r->cells[GAPS];
    spad__cell word;
    while (spad__csv_word(&rest, &word)) {
        if (!spad__array_reserve(&r->host, &r->gaps, 1)) return spad__fail_host_memory(r->error);
        if (!parse_gap(&word, r->inclusive, &r->gaps.items[r->gaps.count++])) {
            return spad__csv_at(r, &word,
                                spad__fail(r->error, SPAD_ERR_SYNTAX,
                                           "gap '%.*s' is not of the form 7-9 or 7-9@0:64",
                                           QUOTED(&word)));
        }
    }
    return SPAD_OK;
}

static spad_status read_numbers(spad__csv *r, spad_plan_buffer *b) {
    int64_t offset;
    int64_t hint;
    int64_t lane;
    spad_status status = spad__csv_life(r, b);
    if (status == SPAD_OK) status = spad__csv_number(r, SIZE, "size", &b->size);
    b->alignment = 1;
    if (status == SPAD_OK) status = spad__csv_optional(r, ALIGNMENT, "alignment", &b->alignment);
    if (status == SPAD_OK) status = spad__csv_place(r, HINT, "hint", &hint);
    if (status == SPAD_OK) status = spad__csv_place(r, OFFSET, "offset", &offset);
    if (status == SPAD_OK) status = spad__csv_place(r, LANE, "lane", &lane);
    if (status == SPAD_OK) status = spad__csv_optional(r, LANES, "lanes", &b->lanes);
    if (status == SPAD_OK) status = spad__csv_optional(r, BANK, "bank", &b->bank);
    if (status != SPAD_OK) return status;
    if (b->alignment < 1) {
        return spad__csv_at(r, &r->cells[ALIGNMENT],
                            spad__fail(r->error, SPAD_ERR_ALIGNMENT,
                                       "an alignment of %lld; use 1 for none",
                                       (long long)b->alignment));
    }
    if (lane >= 0 && offset < 0) {
        return spad__csv_at(r, &r->cells[LANE],
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
static const char *copy_name(spad__csv *r, const spad__cell *c) {
    if (c->length + 1 > r->name_room) {
        const size_t room = 2 * (c->length + 1);
        char *name = r->host.resize(r->host.context, r->name, r->name_room, room);
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
static spad__cell blamed_cell(const spad__csv *r, int32_t field) {
    static const column columns[] = {
        [SPAD__FIELD_NAME] = ID,   [SPAD__FIELD_LOWER] = LOWER,         [SPAD__FIELD_UPPER] = UPPER,
        [SPAD__FIELD_SIZE] = SIZE, [SPAD__FIELD_ALIGNMENT] = ALIGNMENT, [SPAD__FIELD_LANES] = LANES,
        [SPAD__FIELD_BANK] = BANK, [SPAD__FIELD_OFFSET] = OFFSET,       [SPAD__FIELD_LANE] = LANE};
    if (field >= SPAD__FIELD_GAPS) {
        spad__cell rest = r->cells[GAPS];
        spad__cell word = rest;
        for (int32_t k = SPAD__FIELD_GAPS; k <= field && spad__csv_word(&rest, &word);) k++;
        return word;
    }
    const column kind = columns[field];
    return r->cells[r->present[kind] ? kind : SIZE]; /* a rule of the space broke the size */
}

static spad_status note_alias(spad__csv *r, size_t number) {
    if (!r->present[ALIAS] || r->cells[ALIAS].length == 0) return SPAD_OK;
    if (!spad__array_reserve(&r->host, &r->members, 1)) return spad__fail_host_memory(r->error);
    r->members.items[r->members.count++] =
        (spad__csv_member){r->cells[ALIAS], r->plan, (int32_t)number};
    return SPAD_OK;
}

static spad_status note_references(spad__csv *r, size_t number) {
    static const column kinds[] = {APART, SLICE, IN_PLACE, AVOID};
    for (size_t k = 0; k < sizeof kinds / sizeof *kinds; k++) {
        if (!r->present[kinds[k]] || r->cells[kinds[k]].length == 0) continue;
        if (!spad__array_reserve(&r->host, &r->references, 1))
            return spad__fail_host_memory(r->error);
        r->references.items[r->references.count++] =
            (spad__csv_reference){r->plan, (int32_t)number, kinds[k], r->cells[kinds[k]]};
    }
    return SPAD_OK;
}

static spad_status read_row(spad__csv *r) {
    spad_plan_buffer b = {0};
    spad_status status = split_row(r);
    if (status == SPAD_OK && r->route != NULL)
        status = r->route->choose(r->route->context, r, &r->plan);
    if (status == SPAD_OK) status = read_numbers(r, &b);
    if (status == SPAD_OK) status = read_gaps(r);
    if (status != SPAD_OK) return status;
    b.gap_count = r->gaps.count;
    b.gaps = r->gaps.items;
    if (r->present[ID]) {
        const spad__cell *id = &r->cells[ID];
        if (id->length == 0)
            return spad__csv_at(r, id, spad__fail(r->error, SPAD_ERR_NAME, "an id is empty"));
        if (memchr(id->text, '\0', id->length) != NULL)
            return spad__csv_at(r, id,
                                spad__fail(r->error, SPAD_ERR_NAME, "an id has a zero byte"));
        b.name = copy_name(r, id);
        if (b.name == NULL) return spad__fail_host_memory(r->error);
    }
    size_t number;
    int32_t field;
    status = spad__plan_add(&number, r->plan, &b, &field, r->error);
    if (status != SPAD_OK) {
        const spad__cell blamed = blamed_cell(r, field);
        return spad__csv_at(r, &blamed, status);
    }
    status = note_references(r, number);
    if (status == SPAD_OK) status = note_alias(r, number);
    if (status == SPAD_OK && r->route != NULL)
        status = r->route->added(r->route->context, r, number);
    return status;
}

/* Cuts the byte off the end of "id@byte". False: none exists. */
static bool split_slice(spad__cell *word, int64_t *at) {
    size_t i = word->length;
    while (i > 0 && word->text[i - 1] != '@') i--;
    if (i == 0 || !spad__csv_parse(word->text + i, word->length - i, at)) return false;
    word->length = i - 1;
    return true;
}

/* Cuts the cost off the end of "id:cost", if there is one; else it is 1. An id may have a colon. */
static void split_avoid(const spad_plan *plan, spad__cell *word, int64_t *cost) {
    size_t i = word->length;
    *cost = 1;
    while (i > 0 && word->text[i - 1] != ':') i--;
    int64_t number;
    if (i == 0 || spad__plan_find(plan, word->text, word->length) >= 0 ||
        !spad__csv_parse(word->text + i, word->length - i, &number))
        return;
    *cost = number;
    word->length = i - 1;
}

/* The columns of ids: their names, and what a buffer cannot do with itself. */
static const char *reference_name(column kind) {
    return kind == APART ? "apart" : kind == SLICE ? "slice" : kind == AVOID ? "avoid" : "in_place";
}

static const char *reference_verb(column kind) {
    return kind == APART   ? "kept apart from"
           : kind == SLICE ? "a slice of"
           : kind == AVOID ? "away from"
                           : "in place of";
}

/* What one id of a cell asks for. */
static spad_status resolve_reference(spad__csv *r, const spad__csv_reference *w, spad__cell word) {
    const char *what = reference_name(w->kind);
    const size_t mine = (size_t)w->buffer;
    int64_t at = 0;
    if (w->kind == AVOID) split_avoid(w->plan, &word, &at);
    if (w->kind == SLICE && !split_slice(&word, &at))
        return spad__fail(r->error, SPAD_ERR_SYNTAX, "slice '%.*s' is not of the form id@64",
                          QUOTED(&word));
    const int32_t other = spad__plan_find(w->plan, word.text, word.length);
    if (other < 0)
        return spad__fail(r->error, SPAD_ERR_UNKNOWN, "%s: there is no buffer '%.*s'", what,
                          QUOTED(&word));
    if (other == w->buffer)
        return spad__fail(r->error, SPAD_ERR_ARGUMENT, "%s: buffer '%.*s' cannot be %s itself",
                          what, QUOTED(&word), reference_verb(w->kind));
    if (w->kind == APART) return spad_plan_apart(w->plan, mine, (size_t)other, r->error);
    if (w->kind == SLICE) return spad_plan_slice(w->plan, mine, (size_t)other, at, r->error);
    if (w->kind == AVOID) return spad_plan_avoid(w->plan, mine, (size_t)other, at, r->error);
    return spad_plan_in_place(w->plan, mine, (size_t)other, r->error);
}

static spad_status resolve_all_references(spad__csv *r) {
    for (size_t k = 0; k < r->references.count; k++) {
        spad__cell rest = r->references.items[k].names;
        spad__cell word;
        while (spad__csv_word(&rest, &word)) {
            const spad_status status = resolve_reference(r, &r->references.items[k], word);
            if (status != SPAD_OK) return spad__csv_at(r, &word, status);
        }
    }
    return SPAD_OK;
}

/* Joins member k with an earlier one of its name; rows before k have hashes up to its own. */
static spad_status join_member(spad__csv *r, const spad__row *rows, size_t k) {
    const spad__csv_member *mine = &r->members.items[rows[k].value];
    for (size_t j = k; j-- > 0 && rows[j].key == rows[k].key;) {
        const spad__csv_member *other = &r->members.items[rows[j].value];
        if (other->plan != mine->plan || other->name.length != mine->name.length ||
            memcmp(other->name.text, mine->name.text, mine->name.length) != 0)
            continue;
        return spad__csv_at(
            r, &mine->name,
            spad_plan_alias(mine->plan, (size_t)other->buffer, (size_t)mine->buffer, r->error));
    }
    return SPAD_OK;
}

static spad_status join_aliases(spad__csv *r) {
    const size_t count = r->members.count;
    if (count == 0) return SPAD_OK;
    spad__row *rows = spad__new_array(&r->host, count, 2 * sizeof *rows);
    if (rows == NULL) return spad__fail_host_memory(r->error);
    for (size_t k = 0; k < count; k++) {
        const spad__cell *name = &r->members.items[k].name;
        rows[k] = (spad__row){spad__hash_text(name->text, name->length), (int32_t)k};
    }
    spad__sort_rows(rows, rows + count, count);
    spad_status status = SPAD_OK;
    for (size_t k = 1; k < count && status == SPAD_OK; k++) status = join_member(r, rows, k);
    spad__free(&r->host, rows, 2 * count * sizeof *rows);
    return status;
}

/* Can reading go on after an error? It is then in the collection; *status is that of the first. */
static bool reads_on(spad__csv *r, spad_status *first, spad_status status) {
    if (status == SPAD_OK) return true;
    if (*first == SPAD_OK) *first = status;
    if (r->diagnostics == NULL || status == SPAD_ERR_HOST_MEMORY) return false;
    spad__diagnostics_add(r->diagnostics, &r->source, r->blamed, "%s", r->error->message);
    r->error = &r->scratch; /* the caller's keeps the first */
    return !spad__diagnostics_full(r->diagnostics);
}

/* A row that is wrong is left at the end of its line. */
static void skip_bad_row(spad__csv *r, const char *from) {
    const char *end = memchr(from, '\n', (size_t)(r->end - from));
    r->at = end != NULL ? end + 1 : r->end;
}

static spad_status read_all(spad__csv *r) {
    spad_status first = SPAD_OK;
    bool more = reads_on(r, &first, spad__csv_header(r)) && first == SPAD_OK;
    while (more && r->at < r->end) {
        spad__csv_begin_line(r);
        if (spad__csv_skip_blank(r)) continue;
        const char *from = r->at;
        const spad_status status = read_row(r);
        if (status != SPAD_OK) skip_bad_row(r, from);
        more = reads_on(r, &first, status);
    }
    if (first == SPAD_OK) reads_on(r, &first, join_aliases(r));
    if (first == SPAD_OK) reads_on(r, &first, resolve_all_references(r));
    return first;
}

/* Takes back what was added to a plan after these counts. */
static void take_back_rows(spad_plan *plan, const spad_plan *before, spad__arena_mark mark) {
    spad__plan_forget(plan, before->buffers.count);
    plan->aliases.count = before->aliases.count;
    plan->aparts.count = before->aparts.count;
    plan->slices.count = before->slices.count;
    plan->in_places.count = before->in_places.count;
    plan->avoids.count = before->avoids.count;
    spad__arena_rewind(&plan->arena, mark);
}

/* What a plan had before the text was read. */
typedef struct plan_before {
    spad_plan counts; /* only its counts are used */
    spad__arena_mark mark;
} plan_before;

static void free_csv_reader(spad__csv *r) {
    spad__array_free(&r->host, &r->gaps);
    spad__array_free(&r->host, &r->clocks);
    spad__array_free(&r->host, &r->references);
    spad__array_free(&r->host, &r->members);
    spad__free(&r->host, r->name, r->name_room);
}

spad_status spad__csv_read(spad_plan *plan, const spad__csv_route *route, const char *text,
                           size_t length, const char *file, const spad_plan_csv_options *options,
                           spad_error *error) {
    const size_t count = route != NULL ? route->plan_count : 1;
    spad_plan *const *plans = route != NULL ? route->plans : &plan;
    const spad_host host = plans[0]->host;
    spad__csv r = spad__csv_start(text, length, file, error);
    r.plan = plans[0];
    r.host = host;
    r.route = route;
    r.spaces = route != NULL;
    r.diagnostics = options != NULL ? options->diagnostics : NULL;
    r.end_exclusive = options != NULL && options->end_exclusive;
    plan_before *before = spad__new_array(&host, count, sizeof *before);
    if (before == NULL) return spad__fail_host_memory(error);
    for (size_t k = 0; k < count; k++)
        before[k] = (plan_before){*plans[k], spad__arena_here(&plans[k]->arena)};
    if (r.diagnostics != NULL) spad__diagnostics_begin(r.diagnostics, &r.source);
    spad_status status = read_all(&r);
    if (r.diagnostics != NULL &&
        spad__diagnostics_end(r.diagnostics, &r.scratch) == SPAD_ERR_HOST_MEMORY) {
        status = spad__fail_host_memory(error);
    }
    for (size_t k = 0; k < count && status != SPAD_OK; k++)
        take_back_rows(plans[k], &before[k].counts, before[k].mark);
    if (options != NULL && options->end_inclusive != NULL) *options->end_inclusive = r.inclusive;
    spad__free(&host, before, count * sizeof *before);
    free_csv_reader(&r);
    return status;
}

spad_status spad_plan_read_csv(spad_plan *plan, const char *text, size_t length, const char *file,
                               const spad_plan_csv_options *options, spad_error *error) {
    spad_plan_csv_options o;
    const spad_status status = SPAD__COPY_OPTIONS(&o, options, error);
    if (status != SPAD_OK) return status;
    return spad__csv_read(plan, NULL, text, length, file, &o, error);
}

/* ---- writing ----------------------------------------------------------------------- */

/* Copies the cells of a row except offset and lane. */
static void copy_csv_row(spad__csv *r, spad__out *out) {
    bool last = false;
    bool first = true;
    for (int32_t k = 0; k < r->column_count && !last; k++) {
        const spad__cell c = spad__csv_next_cell(r, &last);
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
    spad__csv r = spad__csv_start(text, length, NULL, error);
    const spad_plan_place *places;
    spad_status status = spad__plan_places(&places, plan, result, error);
    if (status == SPAD_OK) status = spad__csv_header(&r);
    if (status != SPAD_OK) return status;
    spad__out out;
    spad__out_start(&out, sink);
    spad__csv header = {
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
        spad__csv_begin_line(&r);
        if (spad__csv_skip_blank(&r)) continue;
        if (i >= plan->buffers.count) return fail_rows(plan, first, error);
        copy_csv_row(&r, &out);
        spad__out_format(&out, "%s%lld", more, (long long)places[i].offset);
        if (plan->lanes > 1) spad__out_format(&out, "%s%lld", more, (long long)places[i].lane);
        spad__out_string(&out, "\n");
        i++;
    }
    return spad__out_finish(&out, error);
}
