/* SPDX-License-Identifier: Apache-2.0
 *
 * Diagnostics of a text: where they are, their messages, and how they are shown.
 *
 * A diagnostic is located by its bytes. Line and column are counted only then, with
 * one pass over the text in front of it, so that reading a text without errors
 * pays nothing. With at most SPAD_DIAGNOSTICS_MAX diagnostics the cost stays linear
 * in the text.
 *
 * The source line is copied when the diagnostic is added, as it will be shown: at
 * most EXCERPT_CELLS characters around the error, tabs as blanks, and what
 * could confuse a terminal or a reader (control characters, bytes that are not
 * UTF-8, marks that turn the direction of writing) as the replacement
 * character. One character counts as one cell.
 */
#include "base/diagnostics.h"

#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include "base/memory.h"
#include "base/text.h"

enum {
    EXCERPT_CELLS = 96,      /* of a line that is shown */
    EXCERPT_BEFORE = 32,     /* of them in front of the error, when a line is cut */
    TAB_STOP = 4,            /* cells from one tab stop to the next */
    CHARACTER_BYTES_MAX = 4, /* of UTF-8 */
    MESSAGE_MAX = SPAD_MESSAGE_MAX
};

typedef struct diagnostic_entry {
    spad_diagnostic shown;
    size_t start;        /* byte in the text: the order of diagnostics */
    const char *excerpt; /* the line, ready to print */
    int caret;           /* cells in front of the caret */
    int carets;          /* cells to underline */
} diagnostic_entry;

struct spad_diagnostics {
    spad_host host;
    spad__arena arena; /* all strings */
    const char *file;
    bool failed; /* a copy could not be made */
    size_t count;
    diagnostic_entry entries[SPAD_DIAGNOSTICS_MAX];
};

spad__span spad__span_join(spad__span first, spad__span last) {
    return (spad__span){.start = first.start, .length = last.start + last.length - first.start};
}

/* ---- the collection ---------------------------------------------------------------- */

spad_status spad_diagnostics_create(spad_diagnostics **out, const spad_host *host,
                                    spad_error *error) {
    *out = NULL;
    const spad_host memory = spad__host_or_default(host);
    spad_diagnostics *diagnostics = spad__new(&memory, sizeof *diagnostics);
    if (diagnostics == NULL) return spad__fail_host_memory(error);
    diagnostics->host = memory;
    diagnostics->arena.host = memory;
    diagnostics->file = "";
    *out = diagnostics;
    return SPAD_OK;
}

void spad_diagnostics_destroy(spad_diagnostics *diagnostics) {
    if (diagnostics == NULL) return;
    spad__arena_free(&diagnostics->arena);
    const spad_host host = diagnostics->host;
    spad__free(&host, diagnostics, sizeof *diagnostics);
}

size_t spad_diagnostics_count(const spad_diagnostics *diagnostics) {
    return diagnostics->count;
}

const spad_diagnostic *spad_diagnostics_get(const spad_diagnostics *diagnostics, size_t index) {
    return index < diagnostics->count ? &diagnostics->entries[index].shown : NULL;
}

bool spad__diagnostics_full(const spad_diagnostics *diagnostics) {
    return diagnostics->count == SPAD_DIAGNOSTICS_MAX;
}

/* A copy in the arena; "" and a mark of failure when there is no memory. */
static const char *keep_source_text(spad_diagnostics *diagnostics, const char *bytes,
                                    size_t length) {
    const char *copy = spad__arena_copy(&diagnostics->arena, bytes, length);
    if (copy == NULL) diagnostics->failed = true;
    return copy != NULL ? copy : "";
}

void spad__diagnostics_begin(spad_diagnostics *diagnostics, const spad__source *source) {
    spad__arena_free(&diagnostics->arena);
    diagnostics->count = 0;
    diagnostics->failed = false;
    diagnostics->file = keep_source_text(diagnostics, source->file, strlen(source->file));
}

spad_status spad__diagnostics_end(spad_diagnostics *diagnostics, spad_error *error) {
    diagnostic_entry *entries = diagnostics->entries;
    for (size_t i = 1; i < diagnostics->count; i++) { /* insertion sort: few, and stable */
        const diagnostic_entry moved = entries[i];
        size_t place = i;
        for (; place > 0 && entries[place - 1].start > moved.start; place--) {
            entries[place] = entries[place - 1];
        }
        entries[place] = moved;
    }
    if (diagnostics->failed) return spad__fail_host_memory(error);
    if (diagnostics->count == 0) return SPAD_OK;
    const spad_diagnostic *first = &entries[0].shown;
    spad__fail(error, first->code, "%s", first->message);
    spad__fact_location(error, diagnostics->file, first->line, first->column);
    return first->code;
}

/* ---- the place of a diagnostic ---------------------------------------------------------- */

/* Bytes of the character at `at`; a byte that is not UTF-8 is one character. */
static size_t character_size(const spad__source *source, size_t at, size_t end) {
    if ((unsigned char)source->text[at] < 0x80) return 1;
    const size_t size = spad__utf8_length(source->text + at, end - at);
    return size == 0 ? 1 : size;
}

/* Characters of the bytes [start, end), which are in one line. */
static size_t count_characters(const spad__source *source, size_t start, size_t end) {
    size_t count = 0;
    for (size_t at = start; at < end; at += character_size(source, at, end)) count++;
    return count;
}

/* The next line end in the bytes [start, end), or `end`. */
static size_t find_line_end(const spad__source *source, size_t start, size_t end) {
    const char *found = end > start ? memchr(source->text + start, '\n', end - start) : NULL;
    return found != NULL ? (size_t)(found - source->text) : end;
}

/* The line around a byte, without its end, and its number. */
static spad__span find_line(const spad__source *source, size_t at, int32_t *number) {
    size_t start = 0;
    *number = 1;
    for (size_t end; (end = find_line_end(source, start, at)) < at; start = end + 1) ++*number;
    size_t end = find_line_end(source, at, source->length);
    if (end > start && source->text[end - 1] == '\r') end--;
    return (spad__span){.start = start, .length = end - start};
}

/* ---- the excerpt ------------------------------------------------------------------- */

/* U+200E, U+200F: marks; U+2028 to U+202E: separators, embeddings, overrides;
 * U+2066 to U+2069: isolates. */
bool spad__is_harmful(const char *character, size_t size) {
    if (size == 1) return (unsigned char)*character < 0x20 || (unsigned char)*character >= 0x7F;
    return spad__is_hidden(spad__utf8_decode(character, size));
}

/* Cells of the character at `at` that starts in cell `cell`. */
static size_t cells_of(const spad__source *source, size_t at, size_t cell) {
    return source->text[at] == '\t' ? TAB_STOP - cell % TAB_STOP : 1;
}

/* Cells of the bytes [line.start, end), or `most` or a little more if there are
 * more of them. */
static size_t count_cells(const spad__source *source, spad__span line, size_t end, size_t most) {
    const size_t line_end = line.start + line.length;
    size_t cell = 0;
    for (size_t at = line.start; at < end && cell < most;) {
        cell += cells_of(source, at, cell);
        at += character_size(source, at, line_end);
    }
    return cell;
}

/* The cells [first, last) of a line as text; `field` has room for them. */
static size_t render_cells(const spad__source *source, spad__span line, size_t first, size_t last,
                           char *field) {
    const size_t line_end = line.start + line.length;
    size_t used = 0;
    size_t cell = 0;
    for (size_t at = line.start; at < line_end && cell < last;) {
        const char *c = source->text + at;
        const size_t size = character_size(source, at, line_end);
        const size_t next = cell + cells_of(source, at, cell);
        if (*c == '\t') {
            for (; cell < next && cell < last; cell++) {
                if (cell >= first) field[used++] = ' ';
            }
        } else if (cell >= first) {
            const bool harmful = spad__is_harmful(c, size);
            const size_t bytes = harmful ? 3 : size;
            memcpy(field + used, harmful ? "\xEF\xBF\xBD" : c, bytes);
            used += bytes;
        }
        cell = next;
        at += size;
    }
    return used;
}

/* A line as it is shown, and where the carets go. */
typedef struct excerpt {
    char text[EXCERPT_CELLS * CHARACTER_BYTES_MAX + 8]; /* and dots on both sides */
    size_t length;
    int caret;
    int carets;
} excerpt;

static void cut_excerpt(excerpt *e, const spad__source *source, spad__span line, spad__span span) {
    static const char dots[] = "...";
    const size_t caret = count_cells(source, line, span.start, SIZE_MAX);
    const size_t far = caret + 2 * EXCERPT_CELLS; /* what is after that does not matter */
    const size_t caret_end = count_cells(source, line, span.start + span.length, far);
    const size_t total = count_cells(source, line, line.start + line.length, far);
    size_t first = 0;
    if (total > EXCERPT_CELLS && caret > EXCERPT_BEFORE) first = caret - EXCERPT_BEFORE;
    if (total > EXCERPT_CELLS && first > total - EXCERPT_CELLS) first = total - EXCERPT_CELLS;
    const size_t last = total < first + EXCERPT_CELLS ? total : first + EXCERPT_CELLS;

    size_t used = 0;
    if (first > 0) used += (size_t)sprintf(e->text, "%s", dots);
    const size_t lead = used;
    used += render_cells(source, line, first, last, e->text + used);
    if (last < total) used += (size_t)sprintf(e->text + used, "%s", dots);
    e->length = used;
    e->caret = (int)(caret - first + lead);
    const size_t under = caret_end < last ? caret_end : last;
    e->carets = under > caret ? (int)(under - caret) : 1;
}

/* "   12 | the line", and carets below. */
static void write_source_lines(spad__out *out, int32_t number, const char *text, size_t length,
                               int caret, int carets) {
    char gutter[16];
    const int width = snprintf(gutter, sizeof gutter, "%5ld", (long)number);
    spad__out_format(out, "%s | ", gutter);
    spad__out_bytes(out, text, length);
    spad__out_string(out, "\n");
    spad__out_repeat(out, " ", width);
    spad__out_string(out, " | ");
    spad__out_repeat(out, " ", caret);
    spad__out_string(out, "^");
    spad__out_repeat(out, "~", carets - 1);
    spad__out_string(out, "\n");
}

/* The bytes of `count` characters from `start` on, in a line that ends at `end`. */
static size_t skip_characters(const spad__source *source, size_t start, size_t end, int32_t count) {
    size_t at = start;
    for (; count > 0 && at < end; count--) at += character_size(source, at, end);
    return at;
}

void spad__out_excerpt(spad__out *out, const spad__source *source, int32_t line, int32_t column,
                       int32_t width) {
    size_t start = 0;
    for (int32_t number = 1; number < line; number++) {
        const size_t end = find_line_end(source, start, source->length);
        if (end == source->length) return; /* another text than the one that was read */
        start = end + 1;
    }
    int32_t number;
    const spad__span whole = find_line(source, start, &number);
    const size_t line_end = whole.start + whole.length;
    const size_t from = skip_characters(source, start, line_end, column - 1);
    const size_t to = skip_characters(source, from, line_end, width);
    excerpt e;
    cut_excerpt(&e, source, whole, (spad__span){from, to - from});
    write_source_lines(out, line, e.text, e.length, e.caret, e.carets);
}

void spad__out_code_line(spad__out *out, const char *code, int32_t number, int32_t column) {
    const spad__source source = {.text = code, .length = strlen(code)};
    int32_t first;
    const spad__span whole = find_line(&source, 0, &first);
    const size_t end = whole.start + whole.length;
    const size_t from =
        column > 0 ? skip_characters(&source, 0, end, column - 1) : strspn(code, " \t");
    excerpt e;
    cut_excerpt(&e, &source, whole, (spad__span){from, from < end});
    write_source_lines(out, number, e.text, e.length, e.caret, e.carets);
}

void spad__diagnostics_add(spad_diagnostics *diagnostics, const spad__source *source,
                           spad__span span, const char *format, ...) {
    if (spad__diagnostics_full(diagnostics)) return;
    diagnostic_entry *f = &diagnostics->entries[diagnostics->count++];
    *f = (diagnostic_entry){.start = span.start, .shown.code = SPAD_ERR_SYNTAX};
    char message[SPAD_MESSAGE_MAX];
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(message, sizeof message, format, arguments);
    va_end(arguments);
    f->shown.message = keep_source_text(diagnostics, message, strlen(message));

    const spad__span line = find_line(source, span.start, &f->shown.line);
    const size_t line_end = line.start + line.length;
    if (span.start > line_end) span.start = line_end;
    if (span.length > line_end - span.start) span.length = line_end - span.start;
    const size_t before = count_characters(source, line.start, span.start);
    const size_t width = count_characters(source, span.start, span.start + span.length);
    f->shown.column = (int32_t)before + 1;
    f->shown.width = width > 0 ? (int32_t)width : 1;
    excerpt e;
    cut_excerpt(&e, source, line, span);
    f->excerpt = keep_source_text(diagnostics, e.text, e.length);
    f->caret = e.caret;
    f->carets = e.carets;
}

/* ---- output ------------------------------------------------------------------------ */

static void write_diagnostic(spad__out *out, const char *file, const diagnostic_entry *f) {
    spad__out_one_line(out, file);
    spad__out_format(out, ":%ld:%ld: error: ", (long)f->shown.line, (long)f->shown.column);
    spad__out_string(out, f->shown.message);
    spad__out_string(out, "\n");
    write_source_lines(out, f->shown.line, f->excerpt, strlen(f->excerpt), f->caret, f->carets);
}

static void write_diagnostics_text(spad__out *out, const void *object) {
    const spad_diagnostics *diagnostics = object;
    for (size_t i = 0; i < diagnostics->count; i++) {
        write_diagnostic(out, diagnostics->file, &diagnostics->entries[i]);
    }
    if (spad__diagnostics_full(diagnostics)) {
        spad__out_one_line(out, diagnostics->file);
        spad__out_format(out, ": stopped after %d errors\n", SPAD_DIAGNOSTICS_MAX);
    }
}

static void json_diagnostic(spad__json *json, const spad_diagnostic *shown) {
    spad__json_open(json, '{');
    spad__json_key_string(json, "code", spad_status_code(shown->code));
    if (shown->line > 0) {
        spad__json_key_int(json, "line", shown->line);
        spad__json_key_int(json, "column", shown->column);
        spad__json_key_int(json, "width", shown->width);
    }
    spad__json_key_string(json, "message", shown->message);
    spad__json_close(json, '}');
}

static void json_diagnostics(spad__json *json, const char *file, const diagnostic_entry *entries,
                             size_t count) {
    spad__json_open(json, '{');
    spad__json_key_string(json, "file", file);
    spad__json_key_open(json, "faults", '[');
    for (size_t i = 0; i < count; i++) json_diagnostic(json, &entries[i].shown);
    spad__json_close(json, ']');
    spad__json_close(json, '}');
}

static void write_diagnostics_json(spad__json *json, const void *object) {
    const spad_diagnostics *diagnostics = object;
    json_diagnostics(json, diagnostics->file, diagnostics->entries, diagnostics->count);
}

spad_status spad_diagnostics_write(const spad_diagnostics *diagnostics, spad_format format,
                                   const spad_sink *sink, spad_error *error) {
    return spad__write_as(diagnostics, write_diagnostics_text, write_diagnostics_json, format, sink,
                          error);
}

spad_status spad_error_write_json(const spad_error *failed, const char *file, const spad_sink *sink,
                                  spad_error *error) {
    const diagnostic_entry entry = {.shown = {.code = failed->code,
                                              .line = failed->line,
                                              .column = failed->column,
                                              .width = 1,
                                              .message = failed->message}};
    spad__out out;
    spad__json json;
    spad__out_start(&out, sink);
    spad__json_start(&json, &out);
    json_diagnostics(&json, failed->file[0] != '\0' ? failed->file : file, &entry, 1);
    spad__json_end(&json);
    return spad__out_finish(&out, error);
}

void spad_close_names(char *field, size_t size, const char *word, const char *const *names,
                      size_t count) {
    spad__nearest nearest;
    spad__nearest_start(&nearest, word);
    for (size_t i = 0; i < count; i++) spad__nearest_offer(&nearest, names[i]);
    spad__nearest_phrase(&nearest, field, size);
}
