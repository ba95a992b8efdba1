/* SPDX-License-Identifier: Apache-2.0
 *
 * Comments: kept when a text is read, and written again with the rows that they are about.
 *
 * A comment belongs to a line with a row: the one it ends, or the next one below it. Above a '}',
 * or in its line, it belongs to the last row before the '}', which is in the same block. A row
 * keeps the line that it was read from, so an edit moves its comments with it and a row that is
 * left out takes them along. Rows of a macro have lines in its body: each expansion has them.
 *
 * Reading is O(text), looking up a line O(log comments).
 */
#include "kernel/text/comments.h"

#include <string.h>

/* ---- lines of a text ---------------------------------------------------------------- */

typedef struct text_line {
    const char *comment; /* from its '#' on; the end of the line without one */
    size_t length;       /* of the comment */
    bool code;           /* something else is in the line */
    bool closes;         /* and that starts with '}' */
} text_line;

/* Splits a line without its newline. A '#' in a string starts no comment. */
static text_line split_line(const char *bytes, size_t length) {
    bool quoted = false;
    size_t at = 0;
    while (length > 0 && strchr(" \t\r", bytes[length - 1]) != NULL) length--;
    while (at < length && strchr(" \t", bytes[at]) != NULL) at++;
    const size_t first = at;
    for (; at < length && (quoted || bytes[at] != '#'); at++) {
        if (bytes[at] == '"') quoted = !quoted;
        if (quoted && bytes[at] == '\\' && at + 1 < length) at++;
    }
    return (text_line){.comment = bytes + at,
                       .length = length - at,
                       .code = first < at,
                       .closes = first < at && bytes[first] == '}'};
}

/* ---- lines with rows ---------------------------------------------------------------- */

static void mark_line(bool *lines, size_t count, spad_location location) {
    if (location.line > 0 && (size_t)location.line <= count) lines[location.line] = true;
}

#define MARK_TABLE(kernel, table)                                   \
    for (size_t i = 0; i < (kernel)->table.count; i++) {            \
        mark_line(lines, count, (kernel)->table.items[i].location); \
    }

static void mark_rows(const spad_kernel *k, bool *lines, size_t count) {
    MARK_TABLE(k, params)
    MARK_TABLE(k, regions)
    MARK_TABLE(k, units)
    MARK_TABLE(k, syncs)
    MARK_TABLE(k, agents)
    MARK_TABLE(k, unknowns)
    MARK_TABLE(k, statements)
}

/* ---- keeping ------------------------------------------------------------------------ */

typedef struct comment_keeper {
    spad_kernel *kernel;
    size_t waiting; /* comments from this one on do not belong to a line yet */
    int32_t holder; /* the last line with a row; 0: none yet */
} comment_keeper;

/* A copy without characters that a text may not have: comments can hold any byte. */
static const char *clean_copy(spad_kernel *kernel, const char *bytes, size_t length) {
    char *copy = spad__arena_copy(&kernel->arena, bytes, length);
    size_t size;
    for (size_t at = 0; copy != NULL && at < length; at += size) {
        size = spad__utf8_length(copy + at, length - at);
        const bool tab = copy[at] == '\t';
        if (size > 0 && (tab || !spad__is_harmful(copy + at, size))) continue;
        size = size > 0 ? size : 1;
        memset(copy + at, '?', size);
    }
    return copy;
}

static bool add_comment(comment_keeper *c, const text_line *line) {
    spad_kernel *k = c->kernel;
    if (!spad__array_reserve(&k->host, &k->comments, 1)) return false;
    const char *text = line->length > 0 ? clean_copy(k, line->comment, line->length) : "";
    if (text == NULL) return false;
    k->comments.items[k->comments.count++] = (spad__comment){.text = text};
    return true;
}

/* Gives the waiting comments to a line. Empty lines stay between those above a row only. */
static void assign_waiting(comment_keeper *c, int32_t line, spad__comment_place place) {
    size_t kept = c->waiting;
    for (size_t i = c->waiting; i < c->kernel->comments.count; i++) {
        spad__comment comment = c->kernel->comments.items[i];
        if (place == SPAD__COMMENT_BELOW && comment.text[0] == '\0') continue;
        comment.line = line;
        comment.place = place;
        c->kernel->comments.items[kept++] = comment;
    }
    c->waiting = c->kernel->comments.count = kept;
}

static bool keep_line(comment_keeper *c, const text_line *line, int32_t number, bool has_row) {
    const bool any = line->length > 0;
    if (has_row) {
        assign_waiting(c, number, SPAD__COMMENT_ABOVE);
        c->holder = number;
        if (any && !add_comment(c, line)) return false;
        assign_waiting(c, number, SPAD__COMMENT_BESIDE);
        return true;
    }
    if ((any || !line->code) && !add_comment(c, line)) return false;
    if (line->closes && c->holder != 0) assign_waiting(c, c->holder, SPAD__COMMENT_BELOW);
    return true;
}

/* The first line of code is "kernel", which is in no table. */
static bool keep_lines(comment_keeper *c, const spad__source *source, const bool *rows) {
    const char *end = source->text + source->length;
    const char *at = source->text + spad__mark_bytes(source->text, source->length);
    for (int32_t number = 1; at < end; number++) {
        const char *stop = memchr(at, '\n', (size_t)(end - at));
        if (stop == NULL) stop = end;
        const text_line line = split_line(at, (size_t)(stop - at));
        const bool head = line.code && c->holder == 0;
        if (!keep_line(c, &line, head ? SPAD__COMMENT_HEAD : number, head || rows[number]))
            return false;
        at = stop + 1;
    }
    assign_waiting(c, SPAD__COMMENT_LAST, SPAD__COMMENT_ABOVE);
    return true;
}

bool spad__keep_comments(spad_kernel *kernel, const spad__source *source) {
    size_t count = 1;
    for (size_t i = 0; i < source->length; i++) count += source->text[i] == '\n';
    bool *rows = spad__new_array(&kernel->host, count + 1, sizeof *rows);
    if (rows == NULL) return false;
    mark_rows(kernel, rows, count);
    comment_keeper c = {.kernel = kernel};
    const bool fine = keep_lines(&c, source, rows);
    spad__free(&kernel->host, rows, (count + 1) * sizeof *rows);
    return fine;
}

/* ---- looking up --------------------------------------------------------------------- */

const spad__comment *spad__comments_of(const spad_kernel *kernel, int32_t line, size_t *count) {
    size_t low = 0;
    size_t high = kernel->comments.count;
    while (low < high) {
        const size_t middle = low + (high - low) / 2;
        if (kernel->comments.items[middle].line < line) {
            low = middle + 1;
        } else {
            high = middle;
        }
    }
    size_t end = low;
    while (end < kernel->comments.count && kernel->comments.items[end].line == line) end++;
    *count = end - low;
    return *count > 0 ? &kernel->comments.items[low] : NULL;
}
