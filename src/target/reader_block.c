/* SPDX-License-Identifier: Apache-2.0
 *
 * Blocks of a target file: a name and fields between braces. Fields are rows of a table: a number
 * goes straight into the struct, the rest has a function. Every figure may say where it comes from.
 */
#include <stdio.h>
#include <string.h>

#include "base/text.h"
#include "target/target_reader.h"

bool spad__target_has_room(spad__target_reader *r, size_t count, size_t most, const char *what) {
    if (count < most) return true;
    SPAD__TARGET_ERROR(r, r->parser.last.span, "too many %s: at most %zu", what, most);
    return false;
}

/* ---- names ------------------------------------------------------------------------- */

/* Rows of all tables start with their name. */
static const char *row_name(const void *rows, size_t row_size, size_t index) {
    const char *name;
    memcpy(&name, (const char *)rows + index * row_size, sizeof name);
    return name;
}

/* The row with a name, or `count`. */
size_t spad__target_find_row(const void *rows, size_t row_size, size_t count, const char *name) {
    size_t i = 0;
    while (i < count && strcmp(row_name(rows, row_size, i), name) != 0) i++;
    return i;
}

enum { HINT_MAX = 256 };

/* "; did you mean ...?" for a name that no row has. */
static void suggest_row(char hint[HINT_MAX], const char *name, const void *rows, size_t row_size,
                        size_t count) {
    spad__nearest nearest;
    spad__nearest_start(&nearest, name);
    for (size_t i = 0; i < count; i++) spad__nearest_offer(&nearest, row_name(rows, row_size, i));
    spad__nearest_phrase(&nearest, hint, HINT_MAX);
}

/* The row that the last word names, or `count`, which is reported: "<what> 'wrod'; did
 * you mean 'word'?". */
size_t spad__target_find_keyword(spad__target_reader *r, const char *what, const void *rows,
                                 size_t row_size, size_t count) {
    const spad__token token = r->parser.last;
    size_t i = 0;
    while (i < count && !spad__token_is(r->parser.source, token, row_name(rows, row_size, i))) i++;
    if (i < count) return i;
    char quoted[64];
    char hint[HINT_MAX];
    char word[64];
    spad__token_describe(quoted, sizeof quoted, r->parser.source, token);
    snprintf(word, sizeof word, "%.*s", (int)strlen(quoted) - 2, quoted + 1);
    suggest_row(hint, word, rows, row_size, count);
    SPAD__TARGET_ERROR(r, token.span, "%s %s%s", what, quoted, hint);
    return count;
}

/* Reads the name of a row that exists already. */
static bool read_reference(spad__target_reader *r, const char *wanted, const char *what,
                           const void *rows, size_t row_size, size_t count, size_t *index) {
    const spad__arena_mark mark = spad__arena_here(r->parser.arena);
    const char *name;
    if (!spad__parser_name(&r->parser, wanted, &name)) return false;
    *index = spad__target_find_row(rows, row_size, count, name);
    if (*index == count) {
        char hint[HINT_MAX];
        suggest_row(hint, name, rows, row_size, count);
        SPAD__TARGET_ERROR(r, r->parser.last.span, "'%s' is not %s above this line%s", name, what,
                           hint);
    }
    spad__arena_rewind(r->parser.arena, mark); /* the row has the name already */
    return *index < count;
}

bool spad__target_read_space_name(spad__target_reader *r, size_t *index) {
    return read_reference(r, "the name of a space", "a space", r->spaces.items,
                          sizeof *r->spaces.items, r->spaces.count, index);
}

bool spad__target_read_engine_name(spad__target_reader *r, size_t *index) {
    return read_reference(r, "the name of an engine", "an engine", r->engines.items,
                          sizeof *r->engines.items, r->engines.count, index);
}

/* A comma between two items of a list; a line may end after it. */
bool spad__target_next_in_list(spad__target_reader *r) {
    if (!spad__parser_accept(&r->parser, SPAD__COMMA)) return false;
    spad__parser_skip_lines(&r->parser);
    return true;
}

bool spad__target_read_heading(spad__target_reader *r, const char *what, const char **name,
                               const char **about) {
    if (!spad__parser_name(&r->parser, what, name)) return false;
    return r->parser.token.kind != SPAD__STRING || spad__parser_text(&r->parser, about);
}

/* ---- where figures come from ------------------------------------------------------- */

static const char *const origin_words[] = {
    [SPAD_ORIGIN_PUBLISHED] = "source",
    [SPAD_ORIGIN_MEASURED] = "measured",
    [SPAD_ORIGIN_ESTIMATE] = "estimate",
};

bool spad__target_read_note(spad__target_reader *r, spad_figure *note, bool *present) {
    *note = (spad_figure){.origin = SPAD_ORIGIN_STATED, .source = ""};
    *present = false;
    for (int i = SPAD_ORIGIN_PUBLISHED; i < SPAD_ORIGINS && !*present; i++) {
        if (!spad__parser_accept_word(&r->parser, origin_words[i])) continue;
        note->origin = (spad_origin)i;
        *present = true;
    }
    if (!*present) return true;
    if (r->parser.token.kind != SPAD__STRING && note->origin == SPAD_ORIGIN_ESTIMATE) return true;
    if (r->parser.token.kind != SPAD__STRING) {
        return spad__parser_expected(&r->parser, "a text in quotes");
    }
    return spad__parser_text(&r->parser, &note->source);
}

/* Rates and paths that were just read have no source yet: it is that of their field. */
static void note_rows(spad__target_reader *r, const spad_figure *note) {
    for (size_t i = 0; i < r->rates.count; i++) {
        if (r->rates.items[i].figure.source == NULL) r->rates.items[i].figure = *note;
    }
    for (size_t i = 0; i < r->paths.count; i++) {
        if (r->paths.items[i].figure.source == NULL) r->paths.items[i].figure = *note;
    }
}

/* The note after the value of a field. A figure that replaces another one has no longer the source
 * of that one. */
static bool read_field_note(spad__target_reader *r, const char *field) {
    spad_figure note;
    bool present;
    if (!spad__target_read_note(r, &note, &present)) return false;
    note_rows(r, &note);
    if (!present && !r->old_figures) return true;
    note.field = field;
    for (size_t i = 0; i < r->figures.count; i++) {
        if (strcmp(r->figures.items[i].field, field) != 0) continue;
        r->figures.items[i] = note;
        return true;
    }
    if (!SPAD__TARGET_RESERVE(r, &r->figures, SPAD__TARGET_LIST_MAX, "sources")) return false;
    r->figures.items[r->figures.count++] = note;
    return true;
}

/* Is the next word that of a note on a line of its own, which is for the whole block? */
static bool starts_note(const spad__target_reader *r) {
    for (int i = SPAD_ORIGIN_PUBLISHED; i < SPAD_ORIGINS; i++) {
        if (spad__token_is(r->parser.source, r->parser.token, origin_words[i])) return true;
    }
    return false;
}

static bool read_block_note(spad__target_reader *r) {
    spad_figure note;
    bool present;
    const spad__span span = r->parser.token.span;
    if (!spad__target_read_note(r, &note, &present)) return false;
    if (r->block_note.source != NULL) {
        SPAD__TARGET_ERROR(r, span, "a second source for the whole block");
        return false;
    }
    r->block_note = note;
    return spad__parser_end_statement(&r->parser);
}

/* At the end of a block: what has no source of its own has that of the block. */
static bool finish_notes(spad__target_reader *r) {
    if (r->block_note.source == NULL) return true;
    for (size_t i = 0; i < r->rates.count; i++) {
        spad_figure *figure = &r->rates.items[i].figure;
        if (figure->origin == SPAD_ORIGIN_STATED) *figure = r->block_note;
    }
    for (size_t i = 0; i < r->paths.count; i++) {
        spad_figure *figure = &r->paths.items[i].figure;
        if (figure->origin == SPAD_ORIGIN_STATED) *figure = r->block_note;
    }
    for (size_t i = 0; i < r->figures.count; i++) {
        spad_figure *figure = &r->figures.items[i];
        if (figure->origin == SPAD_ORIGIN_STATED) {
            figure->origin = r->block_note.origin;
            figure->source = r->block_note.source;
        }
    }
    if (!SPAD__TARGET_RESERVE(r, &r->figures, SPAD__TARGET_LIST_MAX, "sources")) return false;
    r->block_note.field = "";
    r->figures.items[r->figures.count++] = r->block_note;
    return true;
}

/* ---- blocks ------------------------------------------------------------------------ */

static bool read_value(spad__target_reader *r, const spad__target_field *f, char *record,
                       spad__span *span) {
    int64_t value;
    if (f->measure == NULL) {
        const spad__span first = r->parser.token.span;
        if (!f->read(r)) return false;
        *span = spad__span_join(first, r->parser.last.span);
        return true;
    }
    if (!spad__parser_quantity(&r->parser, f->measure, &value, span)) return false;
    if (value < f->least) {
        SPAD__TARGET_ERROR(r, *span, "'%s' must be at least %lld", f->name, (long long)f->least);
        return false;
    }
    memcpy(record + f->offset, &value, sizeof value);
    return true;
}

static bool read_field(spad__target_reader *r, const char *unknown,
                       const spad__target_field *fields, size_t count, void *record) {
    if (starts_note(r)) return read_block_note(r);
    if (!spad__parser_expect(&r->parser, SPAD__WORD, "a field or '}'")) return false;
    const spad__token name = r->parser.last;
    const size_t i = spad__target_find_keyword(r, unknown, fields, sizeof *fields, count);
    if (i == count) return false;
    if (r->seen[i].length > 0 && !fields[i].repeats) {
        SPAD__TARGET_ERROR(r, name.span, "'%s' is given twice", fields[i].name);
        return false;
    }
    r->seen[i] = name.span; /* so that a bad value does not count as missing */
    return read_value(r, &fields[i], record, &r->seen[i]) && read_field_note(r, fields[i].name) &&
           spad__parser_end_statement(&r->parser);
}

bool spad__target_stopped(const spad__target_reader *r) {
    return r->parser.out_of_memory || spad__diagnostics_full(r->parser.diagnostics);
}

bool spad__target_read_block(spad__target_reader *r, const char *unknown,
                             const spad__target_field *fields, size_t count, void *record) {
    if (!spad__parser_expect(&r->parser, SPAD__LEFT_BRACE, "'{'")) return false;
    const spad__span opened = r->parser.last.span;
    memset(r->seen, 0, sizeof r->seen);
    r->invalid = false;
    r->rules.count = r->rule_spans.count = 0;
    memset(r->seen_rates, 0, sizeof r->seen_rates);
    r->seen_paths = 0;
    r->block_note.source = NULL;
    while (!spad__target_stopped(r)) {
        spad__parser_skip_lines(&r->parser);
        if (spad__parser_accept(&r->parser, SPAD__RIGHT_BRACE)) return finish_notes(r);
        if (r->parser.token.kind == SPAD__END) {
            SPAD__TARGET_ERROR(r, opened, "this '{' has no '}'");
            return false;
        }
        if (!read_field(r, unknown, fields, count, record)) {
            r->invalid = true;
            spad__parser_skip_statement(&r->parser);
        }
    }
    return false;
}
/* A copy of `count` items in the arena; NULL with a mark when there is no memory. */
void *spad__target_freeze(spad__target_reader *r, const void *items, size_t count,
                          size_t item_size) {
    void *copy = spad__arena_array(r->parser.arena, count, item_size);
    r->parser.out_of_memory |= copy == NULL;
    if (copy != NULL && count > 0) memcpy(copy, items, count * item_size);
    return copy;
}

bool spad__target_keep_figures(spad__target_reader *r, const spad_figure *figures, size_t count) {
    if (!spad__array_reserve(r->host, &r->figures, count)) {
        r->parser.out_of_memory = true;
        return false;
    }
    for (size_t i = 0; i < count; i++) r->figures.items[i] = figures[i];
    r->figures.count = count;
    r->old_figures = count > 0;
    return true;
}

const spad_figure *spad__target_freeze_figures(spad__target_reader *r, size_t *count) {
    *count = r->figures.count;
    if (*count == 0) return NULL;
    return spad__target_freeze(r, r->figures.items, *count, sizeof *r->figures.items);
}
