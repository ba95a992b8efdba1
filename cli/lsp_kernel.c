/* SPDX-License-Identifier: Apache-2.0
 *
 * The answers of the language server about a kernel. See lsp.h.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "lsp.h"
#include "usage.h"

#define PATIENCE_NS INT64_C(1000000000) /* for each look while someone types */

/* ---- positions --------------------------------------------------------------------- */

/* The start of a line that is counted from 1; the end of the text if it has fewer. */
static const char *line_start(const lsp_document *document, int64_t line) {
    const char *at = document->text;
    for (int64_t i = 1; i < line; i++) {
        const char *end = strchr(at, '\n');
        if (end == NULL) return at + strlen(at);
        at = end + 1;
    }
    return at;
}

static bool is_continued(char byte) {
    return ((unsigned char)byte & 0xc0) == 0x80;
}

/* Units of UTF-16 before the character with a number, counted from 1, of a line. */
static int64_t utf16_column(const char *line, int64_t character) {
    int64_t units = 0;
    for (int64_t seen = 0; *line != '\0' && *line != '\n'; line++) {
        if (is_continued(*line)) continue;
        if (++seen == character) break;
        units += (unsigned char)*line >= 0xf0 ? 2 : 1;
    }
    return units;
}

static const char *at_column(const char *line, int64_t units) {
    while (*line != '\0' && *line != '\n' && units > 0) {
        units -= (unsigned char)*line >= 0xf0 ? 2 : 1;
        do line++;
        while (is_continued(*line));
    }
    return line;
}

/* A range: lines and characters from 1 in, {"start": ..., "end": ...} out. */
static void put_range(lsp_text *out, const lsp_document *document, int32_t line, int32_t column,
                      int32_t width) {
    const char *text = line_start(document, line);
    const int64_t from = utf16_column(text, column > 0 ? column : 1);
    const int64_t to = utf16_column(text, (int64_t)(column > 0 ? column : 1) + width);
    const long long row = line > 0 ? line - 1 : 0;
    lsp_put(out,
            "{\"start\": {\"line\": %lld, \"character\": %lld}, "
            "\"end\": {\"line\": %lld, \"character\": %lld}}",
            row, (long long)from, row, (long long)(to > from ? to : from + 1));
}

/* ---- reading ----------------------------------------------------------------------- */

/* The kernel of a document, or NULL and what is wrong with its text. */
static spad_kernel *read_kernel(const lsp_document *document, spad_diagnostics *faults) {
    spad_kernel *kernel = NULL;
    spad_error error;
    const char *slash = strrchr(document->uri, '/');
    spad_kernel_parse(&kernel, document->text, document->length,
                      slash != NULL ? slash + 1 : document->uri, NULL, faults, &error);
    return kernel;
}

static bool is_name(char c) {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_' ||
           c == '.';
}

/* Is a byte of a line a part of a word? The dots of "0..N" divide two. */
static bool is_in_word(const char *line, const char *at) {
    if (*at != '.') return is_name(*at);
    return at[1] != '.' && (at == line || at[-1] != '.');
}

enum { WORD_ROOM = 128 };

/* The word at a position; false: no word. */
static bool find_word(char word[WORD_ROOM], const lsp_document *document, lsp_position at) {
    if (at.line < 0 || at.line == INT64_MAX || at.column < 0) return false;
    const char *line = line_start(document, at.line + 1);
    const char *from = at_column(line, at.column), *to = from;
    while (from > line && is_in_word(line, from - 1)) from--;
    while (is_in_word(line, to)) to++;
    if (to == from || to - from >= WORD_ROOM) return false;
    memcpy(word, from, (size_t)(to - from));
    word[to - from] = '\0';
    return true;
}

/* ---- diagnostics ------------------------------------------------------------------- */

static void put_diagnostic(lsp_text *out, const lsp_document *document, const spad_finding *f) {
    static const int severities[] = {1, 2, 4, 2}; /* error, warning, hint, of the compiler */
    lsp_put(out, "{\"range\": ");
    put_range(out, document, f->line, f->column, f->width);
    lsp_put(out, ", \"severity\": %d, \"code\": \"%s\", \"source\": \"spad\", \"message\": ",
            severities[f->severity], spad_finding_name(f->code));
    lsp_put_string(out, f->message);
    lsp_put(out, ", \"relatedInformation\": [");
    const char *comma = "";
    for (size_t i = 0; i < f->note_count; i++) {
        if (f->notes[i].line == 0) continue;
        lsp_put(out, "%s{\"location\": {\"uri\": ", comma);
        lsp_put_string(out, document->uri);
        lsp_put(out, ", \"range\": ");
        put_range(out, document, f->notes[i].line, f->notes[i].column, f->notes[i].width);
        lsp_put(out, "}, \"message\": ");
        lsp_put_string(out, f->notes[i].message);
        lsp_put(out, "}");
        comma = ", ";
    }
    lsp_put(out, "]}");
}

static void put_faults(lsp_text *out, const lsp_document *document,
                       const spad_diagnostics *faults) {
    for (size_t i = 0; i < spad_diagnostics_count(faults); i++) {
        const spad_diagnostic *fault = spad_diagnostics_get(faults, i);
        lsp_put(out, "%s{\"range\": ", i > 0 ? ", " : "");
        put_range(out, document, fault->line, fault->column, fault->width);
        lsp_put(out, ", \"severity\": 1, \"source\": \"spad\", \"message\": ");
        lsp_put_string(out, fault->message);
        lsp_put(out, "}");
    }
}

static void put_findings(lsp_text *out, const lsp_document *document, const spad_kernel *kernel) {
    const spad_check_options options = {.one_shape = true, .timeout_ns = PATIENCE_NS};
    spad_check *check;
    spad_error error;
    if (spad_check_create(&check, kernel, &options, &error) != SPAD_OK) return;
    for (size_t i = 0; i < spad_check_finding_count(check); i++) {
        if (i > 0) lsp_put(out, ", ");
        put_diagnostic(out, document, spad_check_get_finding(check, i));
    }
    spad_check_destroy(check);
}

void lsp_write_diagnostics(lsp_text *out, const lsp_document *document) {
    spad_diagnostics *faults;
    spad_error error;
    lsp_put(out, "[");
    if (spad_diagnostics_create(&faults, NULL, &error) == SPAD_OK) {
        spad_kernel *kernel = read_kernel(document, faults);
        if (kernel != NULL)
            put_findings(out, document, kernel);
        else
            put_faults(out, document, faults);
        spad_kernel_destroy(kernel);
        spad_diagnostics_destroy(faults);
    }
    lsp_put(out, "]");
}

/* ---- hover ------------------------------------------------------------------------- */

static void describe_place(lsp_text *out, const spad_kernel *kernel, size_t number) {
    const spad_kernel_tensor *tensor = spad_kernel_get_tensor(kernel, number);
    const spad_layout_options options = {.timeout_ns = PATIENCE_NS};
    spad_layout *layout;
    spad_error error;
    spad_rect first;
    if (spad_layout_create(&layout, kernel, &options, &error) != SPAD_OK) {
        lsp_put(out, "\n\n%s", error.message);
        return;
    }
    char byte[CLI_SIZE_ROOM];
    const bool alias = spad_layout_get_alias_place(&first, layout, (int64_t)number, 0);
    const bool placed = alias || spad_layout_get_place(&first, layout, (int64_t)number, 0);
    if (placed)
        lsp_put(out, "\n\nat byte %s%s", cli_group_digits(byte, first.byte),
                tensor->slots > 1 ? ", the first of its slots" : "");
    else if (!spad_layout_fits(layout))
        lsp_put(out, "\n\nit does not fit");
    if (alias)
        lsp_put(out, ", inside %s", spad_kernel_get_tensor(kernel, (size_t)tensor->alias_of)->name);
    spad_layout_destroy(layout);
}

/* The tensor of a name: of several, the one that is declared last before a line, counted from 1.
 * SIZE_MAX: there is none. */
static size_t find_tensor(const spad_kernel *kernel, const char *word, int64_t line) {
    size_t found = SIZE_MAX;
    for (size_t i = 0; i < spad_kernel_tensor_count(kernel); i++) {
        const spad_kernel_tensor *t = spad_kernel_get_tensor(kernel, i);
        if (strcmp(t->name, word) != 0) continue;
        if (found == SIZE_MAX || t->location.line <= line) found = i;
    }
    return found;
}

static bool describe_tensor(lsp_text *out, const spad_kernel *kernel, const char *word,
                            int64_t line) {
    const spad_target *target = spad_kernel_get_target(kernel);
    const size_t number = find_tensor(kernel, word, line);
    if (number == SIZE_MAX) return false;
    const spad_kernel_tensor *t = spad_kernel_get_tensor(kernel, number);
    const spad_space *space = &target->spaces[t->space];
    const int64_t count = space->off_chip ? t->tiles : t->slots;
    char size[CLI_SIZE_ROOM], digits[CLI_SIZE_ROOM];
    cli_format_size(size, t->tile_bytes);
    lsp_put(out, "**%s**: %s in %s, %s %s%s of %s", t->name, spad_dtype_name(t->dtype), space->name,
            cli_group_digits(digits, count), space->off_chip ? "tile" : "slot",
            count == 1 ? "" : "s", size);
    if (t->tile_lanes > 1) lsp_put(out, " in each of %lld lanes", (long long)t->tile_lanes);
    if (!space->off_chip) describe_place(out, kernel, number);
    return true;
}

/* A unit of the kernel, with its engine. */
static bool describe_unit(lsp_text *out, const spad_kernel *kernel, const char *word) {
    const spad_target *target = spad_kernel_get_target(kernel);
    for (size_t i = 0; i < spad_kernel_unit_count(kernel); i++) {
        const spad_kernel_unit *unit = spad_kernel_get_unit(kernel, i);
        if (strcmp(unit->name, word) == 0)
            return lsp_put(out, "unit **%s** on %s", unit->name,
                           target->engines[unit->engine].name),
                   true;
    }
    return false;
}

static void put_objects(lsp_text *out, const char *kind, const spad_kernel_sync *s) {
    lsp_put(out, "%s **%s**", kind, s->name);
    if (s->elements > 1) lsp_put(out, ", %lld of them", (long long)s->elements);
}

static bool describe_other(lsp_text *out, const spad_kernel *kernel, const char *word) {
    static const char *const kinds[] = {"barrier", "counter", "mbarrier", "group"};
    const spad_target *target = spad_kernel_get_target(kernel);
    for (size_t i = 0; i < spad_kernel_param_count(kernel); i++) {
        const spad_kernel_param *p = spad_kernel_get_param(kernel, i);
        if (strcmp(p->name, word) == 0)
            return lsp_put(out, "parameter **%s** = %lld", p->name, (long long)p->value), true;
    }
    for (size_t i = 0; i < spad_kernel_sync_count(kernel); i++) {
        const spad_kernel_sync *s = spad_kernel_get_sync(kernel, i);
        if (strcmp(s->name, word) == 0) return put_objects(out, kinds[s->kind], s), true;
    }
    for (size_t i = 0; i < target->space_count; i++) {
        const spad_space *space = &target->spaces[i];
        char size[CLI_SIZE_ROOM];
        if (strcmp(space->name, word) != 0) continue;
        lsp_put(out, "memory **%s** of %s", space->name, target->name);
        cli_format_size(size, space->bytes);
        if (space->bytes != SPAD_UNBOUNDED) lsp_put(out, ": %s", size);
        if (space->bytes != SPAD_UNBOUNDED && space->lanes > 1)
            lsp_put(out, " in each of %lld lanes", (long long)space->lanes);
        return true;
    }
    for (size_t i = 0; i < target->engine_count; i++) {
        const spad_engine *engine = &target->engines[i];
        if (strcmp(engine->name, word) == 0)
            return lsp_put(out, "engine **%s** of %s%s%s", engine->name, target->name,
                           engine->about != NULL && engine->about[0] != '\0' ? ": " : "",
                           engine->about != NULL ? engine->about : ""),
                   true;
    }
    return false;
}

void lsp_write_hover(lsp_text *out, const lsp_document *document, lsp_position at) {
    char word[WORD_ROOM];
    lsp_text about = {0};
    spad_kernel *kernel = find_word(word, document, at) ? read_kernel(document, NULL) : NULL;
    const bool known = kernel != NULL && (describe_tensor(&about, kernel, word, at.line + 1) ||
                                          describe_unit(&about, kernel, word) ||
                                          describe_other(&about, kernel, word));
    if (known && !about.failed) {
        lsp_put(out, "{\"contents\": {\"kind\": \"markdown\", \"value\": ");
        lsp_put_string(out, about.bytes);
        lsp_put(out, "}}");
    } else {
        lsp_put(out, "null");
    }
    free(about.bytes);
    spad_kernel_destroy(kernel);
}

/* ---- declarations ------------------------------------------------------------------ */

/* Words that declare the name after them, wherever the text is broken elsewhere. */
static const char *const declaring[] = {"tensor", "param",   "barrier", "counter", "mbarrier",
                                        "group",  "unknown", "cursor",  "macro",   "agent",
                                        "unit",   "scope",   "for"};

/* A name that a line declares; false: none. */
static bool declared_name(const char *line, cli_piece *name) {
    line += strspn(line, " \t}");
    const size_t length = strcspn(line, " \t\n");
    for (size_t i = 0; i < sizeof declaring / sizeof declaring[0]; i++) {
        if (strlen(declaring[i]) != length || strncmp(line, declaring[i], length) != 0) continue;
        const char *at = line + length;
        at += strspn(at, " \t");
        size_t count = 0;
        while (is_name(at[count])) count++;
        *name = (cli_piece){at, count};
        return count > 0;
    }
    return false;
}

/* Of several declarations of a name the last one up to the position, as agents and loops have them;
 * else the first one after it. */
void lsp_write_definition(lsp_text *out, const lsp_document *document, lsp_position at) {
    char word[WORD_ROOM];
    int32_t number = 1, found = 0, column = 0, width = 0;
    cli_piece name;
    const bool any = find_word(word, document, at);
    for (const char *line = document->text; any && line != NULL; number++) {
        if (declared_name(line, &name) && name.length == strlen(word) &&
            memcmp(name.start, word, name.length) == 0 && (found == 0 || number <= at.line + 1)) {
            found = number;
            column = (int32_t)(name.start - line) + 1;
            width = (int32_t)name.length;
        }
        line = strchr(line, '\n');
        if (line != NULL) line++;
    }
    if (found == 0) {
        lsp_put(out, "null");
        return;
    }
    lsp_put(out, "{\"uri\": ");
    lsp_put_string(out, document->uri);
    lsp_put(out, ", \"range\": ");
    put_range(out, document, found, column, width);
    lsp_put(out, "}");
}

/* ---- completion -------------------------------------------------------------------- */

/* Kinds of the protocol for what is offered. */
enum { ITEM_NAME = 6, ITEM_ENGINE = 9, ITEM_KEYWORD = 14, ITEM_SPACE = 22 };

static void put_item(lsp_text *out, const char *name, size_t length, int kind, const char *detail) {
    lsp_put(out, "%s{\"label\": \"%.*s\", \"kind\": %d, \"detail\": \"%s\"}",
            out->bytes[out->length - 1] == '[' ? "" : ", ", (int)length, name, kind, detail);
}

/* The target after "on" in the first line that starts with "kernel"; NULL: none that is known. */
static const spad_target *find_chip(const lsp_document *document) {
    char kernel[WORD_ROOM], chip[WORD_ROOM];
    const spad_target *target = NULL;
    for (const char *line = document->text; line != NULL;) {
        if (sscanf(line, "kernel %127s on %127s", kernel, chip) == 2 &&
            spad_target_find(&target, chip, NULL) == SPAD_OK)
            return target;
        line = strchr(line, '\n');
        if (line != NULL) line++;
    }
    return NULL;
}

void lsp_write_completion(lsp_text *out, const lsp_document *document) {
    static const char *const words[] = {
        "kernel",  "param",    "region", "grid",       "threads",   "unit",       "barrier",
        "counter", "mbarrier", "group",  "unknown",    "cursor",    "macro",      "tensor",
        "for",     "if",       "else",   "scope",      "agent",     "advance",    "break",
        "alloc",   "free",     "arrive", "signal",     "wait",      "take",       "init",
        "expect",  "commit",   "drain",  "invalidate", "fence",     "reads",      "writes",
        "updates", "adds",     "ring",   "input",      "output",    "persistent", "delivers",
        "cost",    "cluster",  "like",   "assume",     "undecided", "uncounted",  "compiler"};
    const spad_target *target = find_chip(document);
    cli_piece name;
    lsp_put(out, "[");
    for (size_t i = 0; !out->failed && i < sizeof words / sizeof words[0]; i++)
        put_item(out, words[i], strlen(words[i]), ITEM_KEYWORD, "keyword");
    for (const char *line = document->text; !out->failed && line != NULL;) {
        if (declared_name(line, &name))
            put_item(out, name.start, name.length, ITEM_NAME, "declared here");
        line = strchr(line, '\n');
        if (line != NULL) line++;
    }
    for (size_t i = 0; !out->failed && target != NULL && i < target->engine_count; i++)
        put_item(out, target->engines[i].name, strlen(target->engines[i].name), ITEM_ENGINE,
                 "engine");
    for (size_t i = 0; !out->failed && target != NULL && i < target->space_count; i++)
        put_item(out, target->spaces[i].name, strlen(target->spaces[i].name), ITEM_SPACE, "memory");
    lsp_put(out, "]");
}
