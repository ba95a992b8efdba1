/* SPDX-License-Identifier: Apache-2.0
 *
 * A kernel that was changed, with the comments of the text that it came from.
 *
 * The kernel is written and read again. Its rows have the same numbers then and a line in either
 * text, so each written line has a line of the old text. What is above a statement, and what
 * follows it in its line, stays with it wherever it goes; what is above a '}' stays with
 * the statement before it. A statement that is left out takes its comments along, and a line that
 * is several statements now, as the body of a macro, keeps them at the first.
 *
 * O(both texts).
 */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "cli.h"

/* ---- texts ------------------------------------------------------------------------- */

typedef struct line_of_text {
    const char *bytes;
    size_t length;  /* without the newline and spaces before it */
    size_t indent;  /* of the code */
    size_t comment; /* where it begins; length: none */
    bool code;
} line_of_text;

typedef struct lines_of_text {
    line_of_text *items; /* from 0; there is one after the last, empty */
    size_t count;
} lines_of_text;

static line_of_text look_at_line(const char *bytes, size_t length) {
    line_of_text line = {.bytes = bytes};
    bool quoted = false;
    while (length > 0 && strchr(" \t\r", bytes[length - 1]) != NULL) length--;
    line.length = line.comment = length;
    while (line.indent < length && strchr(" \t", bytes[line.indent]) != NULL) line.indent++;
    for (size_t i = line.indent; i < length; i++) {
        if (bytes[i] == '"') quoted = !quoted;
        if (quoted && bytes[i] == '\\') i++;
        if (quoted || bytes[i] != '#') continue;
        line.comment = i;
        break;
    }
    line.code = line.indent < line.comment;
    return line;
}

static bool split_lines(lines_of_text *out, const char *text, size_t length) {
    size_t count = 2;
    for (size_t i = 0; i < length; i++) count += text[i] == '\n';
    out->items = calloc(count, sizeof *out->items);
    out->count = 0;
    if (out->items == NULL) return false;
    for (size_t at = 0; at < length;) {
        const char *end = memchr(text + at, '\n', length - at);
        const size_t size = end != NULL ? (size_t)(end - (text + at)) : length - at;
        out->items[out->count++] = look_at_line(text + at, size);
        at += size + 1;
    }
    return true;
}

/* ---- rows and lines ---------------------------------------------------------------- */

typedef enum row_table {
    TABLE_PARAMS,
    TABLE_TENSORS,
    TABLE_REGIONS,
    TABLE_UNITS,
    TABLE_SYNCS,
    TABLE_AGENTS,
    TABLE_LOOPS,
    TABLE_CURSORS,
    TABLE_UNKNOWNS,
    TABLE_STATEMENTS,
    TABLES
} row_table;

static size_t count_rows(const spad_kernel *k, row_table table) {
    switch (table) {
    case TABLE_PARAMS: return spad_kernel_param_count(k);
    case TABLE_TENSORS: return spad_kernel_tensor_count(k);
    case TABLE_REGIONS: return spad_kernel_region_count(k);
    case TABLE_UNITS: return spad_kernel_unit_count(k);
    case TABLE_SYNCS: return spad_kernel_sync_count(k);
    case TABLE_AGENTS: return spad_kernel_agent_count(k);
    case TABLE_LOOPS: return spad_kernel_loop_count(k);
    case TABLE_CURSORS: return spad_kernel_cursor_count(k);
    case TABLE_UNKNOWNS: return spad_kernel_unknown_count(k);
    default: return spad_kernel_statement_count(k);
    }
}

/* From 0; -1: it has none. */
static int64_t line_of_row(const spad_kernel *k, row_table table, size_t i) {
    switch (table) {
    case TABLE_PARAMS: return spad_kernel_get_param(k, i)->location.line - INT64_C(1);
    case TABLE_TENSORS: return spad_kernel_get_tensor(k, i)->location.line - INT64_C(1);
    case TABLE_REGIONS: return spad_kernel_get_region(k, i)->location.line - INT64_C(1);
    case TABLE_UNITS: return spad_kernel_get_unit(k, i)->location.line - INT64_C(1);
    case TABLE_SYNCS: return spad_kernel_get_sync(k, i)->location.line - INT64_C(1);
    case TABLE_AGENTS: return spad_kernel_get_agent(k, i)->location.line - INT64_C(1);
    case TABLE_LOOPS: return spad_kernel_get_loop(k, i)->location.line - INT64_C(1);
    case TABLE_CURSORS: return spad_kernel_get_cursor(k, i)->location.line - INT64_C(1);
    case TABLE_UNKNOWNS: return spad_kernel_get_unknown(k, i)->location.line - INT64_C(1);
    default: return spad_kernel_get_statement(k, i)->location.line - INT64_C(1);
    }
}

static bool is_line(const lines_of_text *text, int64_t line) {
    return line >= 0 && (size_t)line < text->count;
}

/* ---- what stays with a line -------------------------------------------------------- */

/* Of a line of the old text. */
typedef struct kept_comments {
    size_t above; /* its comments begin at this line */
    size_t below; /* and those below it end before this one; 0: there are none */
    bool was;     /* a statement of the old kernel is there */
    bool is;      /* and one of the new kernel */
    bool written;
} kept_comments;

typedef struct comment_writer {
    lines_of_text before;
    lines_of_text after;
    kept_comments *kept; /* per line of `before` */
    int64_t *origin;     /* per line of `after`: of `before`; -1: none */
    size_t last;         /* comments from this line on are at the end */
    const spad_sink *sink;
    bool failed;
} comment_writer;

static size_t first_code(const lines_of_text *text) {
    size_t line = 0;
    while (line < text->count && !text->items[line].code) line++;
    return line;
}

static bool match_lines(comment_writer *w, const spad_kernel *old, const spad_kernel *changed,
                        const spad_kernel *again) {
    for (size_t i = 0; i < w->after.count; i++) w->origin[i] = -1;
    for (int table = 0; table < TABLES; table++) {
        const row_table t = (row_table)table;
        if (count_rows(changed, t) != count_rows(again, t)) return false;
        for (size_t i = 0; i < count_rows(old, t); i++) {
            const int64_t from = line_of_row(old, t, i);
            if (is_line(&w->before, from)) w->kept[from].was = true;
        }
        for (size_t i = 0; i < count_rows(changed, t); i++) {
            const int64_t from = line_of_row(changed, t, i);
            const int64_t to = line_of_row(again, t, i);
            if (!is_line(&w->before, from) || !is_line(&w->after, to)) continue;
            w->kept[from].is = true;
            if (w->origin[to] < 0) w->origin[to] = from;
        }
    }
    const size_t from = first_code(&w->before); /* "kernel", which is no row */
    const size_t to = first_code(&w->after);
    if (from == w->before.count || to == w->after.count) return false;
    w->kept[from].was = w->kept[from].is = true;
    w->origin[to] = (int64_t)from;
    return true;
}

static bool closes(const line_of_text *line) {
    return line->code && line->bytes[line->indent] == '}';
}

/* Gives each line without a statement to one that has a statement. */
static void share_lines(comment_writer *w) {
    size_t open = 0; /* from here on no line has got the comments */
    size_t holder = SIZE_MAX;
    for (size_t i = 0; i < w->before.count; i++) {
        kept_comments *kept = &w->kept[i];
        if (kept->was) {
            kept->above = open;
            holder = i;
            open = i + 1;
        } else if (closes(&w->before.items[i]) && holder != SIZE_MAX) {
            w->kept[holder].below = i + 1;
            open = i + 1;
        }
    }
    w->last = open;
}

/* ---- writing ----------------------------------------------------------------------- */

static void put_bytes(comment_writer *w, const char *bytes, size_t count) {
    if (!w->failed && count > 0 && w->sink->write(w->sink->context, bytes, count) != 0) {
        w->failed = true;
    }
}

/* The comments of lines, each in a line of its own; `spaced`: with empty lines. */
static void put_comments(comment_writer *w, size_t first, size_t end, const line_of_text *like,
                         bool spaced) {
    for (size_t i = first; i < end; i++) {
        const line_of_text *line = &w->before.items[i];
        const bool empty = !line->code && line->comment == line->length;
        if (empty && spaced) put_bytes(w, "\n", 1);
        if (line->comment == line->length) continue;
        put_bytes(w, like->bytes, like->indent);
        put_bytes(w, line->bytes + line->comment, line->length - line->comment);
        put_bytes(w, "\n", 1);
    }
}

static void put_written_line(comment_writer *w, size_t number) {
    const line_of_text *line = &w->after.items[number];
    const int64_t from = w->origin[number];
    kept_comments *kept = from >= 0 ? &w->kept[from] : NULL;
    if (kept == NULL || kept->written) {
        put_bytes(w, line->bytes, line->length);
        put_bytes(w, "\n", 1);
        return;
    }
    const line_of_text *old = &w->before.items[from];
    const bool deeper = line->length > 0 && line->bytes[line->length - 1] == '{';
    kept->written = true;
    put_comments(w, kept->above, (size_t)from, line, true);
    put_bytes(w, line->bytes, line->length);
    if (old->comment < old->length) {
        put_bytes(w, " ", 1);
        put_bytes(w, old->bytes + old->comment, old->length - old->comment);
    }
    put_bytes(w, "\n", 1);
    const line_of_text inside = {.bytes = "    ", .indent = 4};
    if (kept->below > 0) {
        put_comments(w, (size_t)from + 1, kept->below, deeper ? &inside : line, false);
    }
}

static void put_all(comment_writer *w) {
    const line_of_text none = {.bytes = ""};
    for (size_t i = 0; i < w->after.count; i++) put_written_line(w, i);
    put_comments(w, w->last, w->before.count, &none, true);
}

/* ---- the whole --------------------------------------------------------------------- */

typedef struct grown_text {
    char *bytes;
    size_t length;
    size_t room;
} grown_text;

static int grow_text(void *context, const char *bytes, size_t count) {
    grown_text *text = context;
    if (count > text->room - text->length) {
        const size_t room = 2 * text->room + count;
        char *more = realloc(text->bytes, room);
        if (more == NULL) return 1;
        text->bytes = more;
        text->room = room;
    }
    memcpy(text->bytes + text->length, bytes, count);
    text->length += count;
    return 0;
}

static bool add_comments(comment_writer *w, const cli_kernel *old, const spad_kernel *changed,
                         const grown_text *text) {
    const spad_kernel_options options = {.target = spad_kernel_get_target(changed)};
    spad_kernel *again;
    if (!split_lines(&w->before, old->text.bytes, old->text.length) ||
        !split_lines(&w->after, text->bytes, text->length)) {
        return false;
    }
    w->kept = calloc(w->before.count + 1, sizeof *w->kept);
    w->origin = calloc(w->after.count + 1, sizeof *w->origin);
    if (w->kept == NULL || w->origin == NULL) return false;
    if (spad_kernel_parse(&again, text->bytes, text->length, NULL, &options, NULL, NULL) !=
        SPAD_OK) {
        return false;
    }
    const bool matched = match_lines(w, old->kernel, changed, again);
    spad_kernel_destroy(again);
    if (!matched) return false;
    share_lines(w);
    put_all(w);
    return true;
}

spad_status cli_write_commented(const cli_kernel *old, const spad_kernel *changed,
                                const spad_sink *sink, spad_error *error) {
    grown_text text = {0};
    const spad_sink own = {grow_text, &text};
    comment_writer w = {.sink = sink};
    spad_status status = spad_kernel_write_text(changed, &own, error);
    if (status == SPAD_OK && !add_comments(&w, old, changed, &text)) {
        status = spad_kernel_write_text(changed, sink, error);
    }
    if (w.failed) {
        *error = (spad_error){.code = SPAD_ERR_IO};
        strcpy(error->message, "writing the output failed");
        status = SPAD_ERR_IO;
    }
    free(w.before.items);
    free(w.after.items);
    free(w.kept);
    free(w.origin);
    free(text.bytes);
    return status;
}
