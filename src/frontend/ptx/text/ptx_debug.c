/* SPDX-License-Identifier: Apache-2.0
 *
 * Lines of the source: .file, .loc, and the section with the names of inlined functions.
 *
 * A location that was inlined names the line of the call, which is the newest location with that
 * file, line and column. Files and .debug_str follow the code, so both are looked up at the end.
 *
 * Reference: PTX ISA 9.0, 11.5 (debugging directives).
 */
#include "frontend/ptx/text/ptx_parse.h"

enum { FILES_MOST = 1 << 16 };

/* ---- files ---------------------------------------------------------------------------------- */

/* `.file 1 "a.cu"`, with a time and a size in old versions. */
bool spad__ptx_take_file(spad__ptx_parser *p) {
    spad__ptx_lexer *x = &p->lexer;
    spad__ptx_module *m = p->module;
    int64_t number;
    spad__span name;
    if (!spad__ptx_take_integer(x, 0, FILES_MOST - 1, "the number of a file", &number) ||
        !spad__ptx_take_string(x, &name)) {
        return false;
    }
    while (spad__ptx_take(x, ',')) {
        int64_t unused;
        if (!spad__ptx_take_integer(x, 0, INT64_MAX, "a time or a size", &unused)) return false;
    }
    const size_t wanted = (size_t)number + 1;
    if (m->files.count < wanted) {
        if (!spad__array_reserve(p->host, &m->files, wanted - m->files.count)) {
            spad__ptx_out_of_memory(x);
            return false;
        }
        while (m->files.count < wanted) m->files.items[m->files.count++] = NULL;
    }
    m->files.items[number] = spad__arena_copy(&m->arena, spad__ptx_text(x, name), name.length);
    if (m->files.items[number] != NULL) return true;
    spad__ptx_out_of_memory(x);
    return false;
}

/* ---- locations ------------------------------------------------------------------------------ */

static uint64_t ptx_hash_line(const spad__ptx_location *l) {
    return spad__hash_add(spad__hash_add(spad__hash_add(0, l->file), l->line), l->column);
}

static bool ptx_take_line(spad__ptx_lexer *x, spad__ptx_location *out) {
    int64_t numbers[3];
    for (int i = 0; i < 3; i++) {
        static const char *const what[3] = {"the number of a file", "a line", "a column"};
        if (!spad__ptx_take_integer(x, 0, INT32_MAX, what[i], &numbers[i])) return false;
    }
    *out = (spad__ptx_location){.file = (int32_t)numbers[0],
                                .line = (int32_t)numbers[1],
                                .column = (int32_t)numbers[2],
                                .inlined_at = -1};
    return true;
}

/* The newest location with that line; -1: none. */
static int64_t ptx_find_location(const spad__ptx_parser *p, const spad__ptx_location *wanted) {
    spad__probe probe = spad__index_probe(&p->location_index, ptx_hash_line(wanted));
    for (size_t at; (at = spad__probe_next(&probe)) != SPAD__NO_ITEM;) {
        const spad__ptx_location *l = &p->module->locations.items[at];
        if (l->file == wanted->file && l->line == wanted->line && l->column == wanted->column) {
            return (int64_t)at;
        }
    }
    return -1;
}

static int32_t ptx_keep_location(spad__ptx_parser *p, const spad__ptx_location *location) {
    spad__ptx_module *m = p->module;
    const uint64_t hash = ptx_hash_line(location);
    const int64_t older = ptx_find_location(p, location);
    if (m->locations.count >= INT32_MAX || !spad__array_reserve(p->host, &m->locations, 1) ||
        !spad__index_reserve(&p->location_index, p->host, 1)) {
        spad__ptx_out_of_memory(&p->lexer);
        return -1;
    }
    if (older >= 0) spad__index_remove(&p->location_index, hash, (size_t)older);
    spad__index_add(&p->location_index, hash, m->locations.count);
    m->locations.items[m->locations.count] = *location;
    return (int32_t)m->locations.count++;
}

/* "function_name label + 4" */
static bool ptx_take_function_name(spad__ptx_parser *p, spad__ptx_inlined *out) {
    if (!spad__ptx_take_name(&p->lexer, &out->label)) {
        spad__ptx_expected(&p->lexer, "a label after function_name");
        return false;
    }
    return spad__ptx_take_addend(&p->lexer, &out->offset);
}

/* "inlined_at 1 20 3" */
static bool ptx_take_call_line(spad__ptx_parser *p, int32_t *out) {
    spad__ptx_location call;
    if (!ptx_take_line(&p->lexer, &call)) return false;
    const int64_t known = ptx_find_location(p, &call);
    *out = known >= 0 ? (int32_t)known : ptx_keep_location(p, &call);
    return *out >= 0;
}

bool spad__ptx_take_location(spad__ptx_parser *p) {
    spad__ptx_lexer *x = &p->lexer;
    spad__ptx_location location;
    spad__ptx_inlined inlined = {0};
    if (!ptx_take_line(x, &location)) return false;
    while (spad__ptx_take(x, ',')) {
        spad__span word = {0};
        const bool is_word = spad__ptx_take_name(x, &word);
        if (is_word && spad__ptx_is(x, word, "function_name")) {
            if (!ptx_take_function_name(p, &inlined)) return false;
        } else if (is_word && spad__ptx_is(x, word, "inlined_at")) {
            if (!ptx_take_call_line(p, &location.inlined_at)) return false;
        } else {
            if (is_word) x->at = word.start;
            spad__ptx_expected(x, "function_name or inlined_at");
            return false;
        }
    }
    p->location = ptx_keep_location(p, &location);
    if (p->location < 0 || inlined.label.length == 0) return p->location >= 0;
    inlined.location = p->location;
    if (!spad__array_reserve(p->host, &p->inlined, 1)) {
        spad__ptx_out_of_memory(x);
        return false;
    }
    p->inlined.items[p->inlined.count++] = inlined;
    return true;
}

/* ---- sections ------------------------------------------------------------------------------- */

static bool ptx_keep_string_label(spad__ptx_parser *p, spad__span name) {
    if (!spad__array_reserve(p->host, &p->string_labels, 1)) {
        spad__ptx_out_of_memory(&p->lexer);
        return false;
    }
    p->string_labels.items[p->string_labels.count++] =
        (spad__ptx_string_label){.name = name, .at = p->strings.count};
    return true;
}

/* "95, 90, 78" of .b8; numbers of other sizes are skipped by the caller. */
static bool ptx_take_string_bytes(spad__ptx_parser *p) {
    do {
        uint8_t byte;
        if (!spad__ptx_take_listed(&p->lexer, &byte)) {
            spad__ptx_constant number;
            if (!spad__ptx_take_constant(&p->lexer, &number)) return false;
            byte = (uint8_t)number.bits;
        }
        if (!spad__array_reserve(p->host, &p->strings, 1)) {
            spad__ptx_out_of_memory(&p->lexer);
            return false;
        }
        p->strings.items[p->strings.count++] = (char)byte;
    } while (spad__ptx_take(&p->lexer, ','));
    return true;
}

/* The labels and bytes of .debug_str, after its '{'. */
static bool ptx_take_strings(spad__ptx_parser *p) {
    spad__ptx_lexer *x = &p->lexer;
    while (!spad__ptx_take(x, '}')) {
        spad__span word;
        if (spad__ptx_take_dotted(x, &word)) {
            if (!spad__ptx_is(x, word, "b8")) {
                spad__ptx_diagnose(x, word, "the texts of .debug_str are .b8");
                return false;
            }
            if (!ptx_take_string_bytes(p)) return false;
        } else if (spad__ptx_take_name(x, &word)) {
            if (!spad__ptx_need(x, ':', "after a label")) return false;
            if (!ptx_keep_string_label(p, word)) return false;
        } else {
            spad__ptx_expected(x, "a label, .b8 or '}' in .debug_str");
            return false;
        }
    }
    return true;
}

/* After ".section": only the names of functions are of interest. */
bool spad__ptx_take_section(spad__ptx_parser *p) {
    spad__ptx_lexer *x = &p->lexer;
    spad__span name = {0};
    if (!spad__ptx_take_dotted(x, &name) && !spad__ptx_take_name(x, &name)) {
        spad__ptx_expected(x, "the name of a section");
        return false;
    }
    if (spad__ptx_peek(x) != '{') {
        spad__ptx_expected(x, "'{' after the name of a section");
        return false;
    }
    if (!spad__ptx_is(x, name, "debug_str")) {
        const size_t brace = x->at;
        if (spad__ptx_skip_braces(x)) return true;
        spad__ptx_diagnose(x, (spad__span){brace, 1}, "this section has no end; add a '}'");
        return false;
    }
    x->at++;
    return ptx_take_strings(p);
}

/* ---- once the text was read ------------------------------------------------------------------ */

static uint64_t ptx_hash_label(const spad__ptx_parser *p, spad__span name) {
    return spad__hash_text(spad__ptx_text(&p->lexer, name), name.length);
}

/* The offset of a label in .debug_str; SIZE_MAX: not found. */
static size_t ptx_find_string(const spad__ptx_parser *p, const spad__index *index,
                              spad__span name) {
    const char *text = spad__ptx_text(&p->lexer, name);
    spad__probe probe = spad__index_probe(index, ptx_hash_label(p, name));
    for (size_t at; (at = spad__probe_next(&probe)) != SPAD__NO_ITEM;) {
        const spad__ptx_string_label *l = &p->string_labels.items[at];
        if (l->name.length == name.length &&
            memcmp(spad__ptx_text(&p->lexer, l->name), text, name.length) == 0) {
            return l->at;
        }
    }
    return SIZE_MAX;
}

/* Names are places in one copy of .debug_str, which has a NUL after it. */
static bool ptx_name_locations(spad__ptx_parser *p, const spad__index *index) {
    spad__ptx_module *m = p->module;
    if (p->strings.count == 0) return true;
    const char *strings = spad__arena_copy(&m->arena, p->strings.items, p->strings.count);
    if (strings == NULL) return false;
    for (size_t i = 0; i < p->inlined.count; i++) {
        const spad__ptx_inlined *inlined = &p->inlined.items[i];
        const size_t at = ptx_find_string(p, index, inlined->label);
        int64_t place;
        if (at == SIZE_MAX || !spad__add((int64_t)at, inlined->offset, &place)) continue;
        if (place < 0 || place >= (int64_t)p->strings.count) continue;
        m->locations.items[inlined->location].function = strings + place;
    }
    return true;
}

void spad__ptx_end_lines(spad__ptx_parser *p) {
    spad__ptx_module *m = p->module;
    spad__index index = {0};
    bool good = spad__index_reserve(&index, p->host, p->string_labels.count);
    for (size_t i = 0; good && i < p->string_labels.count; i++) {
        const spad__span name = p->string_labels.items[i].name;
        if (ptx_find_string(p, &index, name) != SIZE_MAX) continue; /* the first one counts */
        spad__index_add(&index, ptx_hash_label(p, name), i);
    }
    good = good && ptx_name_locations(p, &index);
    spad__index_free(&index, p->host);
    if (!good) spad__ptx_out_of_memory(&p->lexer);
    for (size_t i = 0; i < m->locations.count; i++) {
        spad__ptx_location *l = &m->locations.items[i];
        const bool known = (size_t)l->file < m->files.count && m->files.items[l->file] != NULL;
        if (!known) l->file = -1;
    }
}
