/* SPDX-License-Identifier: Apache-2.0
 *
 * Reads launch files: a part of TOML (keys with whole numbers, strings and lists, and tables in
 * double brackets), in which every key has one reader in a table. Format: docs/cuda.md.
 *
 * Here is checked all that needs no module, with its line: the grammar of tensor
 * maps, and regions that overlap each other or the addresses that the executor uses itself.
 *
 * Cost: O(text), and O(n log n) for n regions of memory.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/checked.h"
#include "base/parser.h"
#include "frontend/ptx/ptx_arguments.h"
#include "spad/experimental/ptx.h"

#define MOST_LAUNCH_TEXT ((size_t)256 << 20)

/* ---- the file ---------------------------------------------------------------------- */

typedef struct launch_region {
    spad_ptx_memory memory;
    spad__span span; /* of its header */
} launch_region;

struct spad_ptx_launch_file {
    spad_host host;
    spad__arena arena; /* strings and contents */
    const char *module;
    const char *kernel;
    spad_ptx_launch launch;
    SPAD_ARRAY(const char *) arguments;
    SPAD_ARRAY(launch_region) regions;
    SPAD_ARRAY(spad_ptx_memory) memory;
    SPAD_ARRAY(spad_ptx_tensor_map) maps;
    SPAD_ARRAY(spad_ptx_variable) variables;
};

void spad_ptx_launch_file_destroy(spad_ptx_launch_file *file) {
    if (file == NULL) return;
    const spad_host host = file->host;
    spad__array_free(&host, &file->arguments);
    spad__array_free(&host, &file->regions);
    spad__array_free(&host, &file->memory);
    spad__array_free(&host, &file->maps);
    spad__array_free(&host, &file->variables);
    spad__arena_free(&file->arena);
    spad__free(&host, file, sizeof *file);
}

const char *spad_ptx_launch_file_module(const spad_ptx_launch_file *launch_file) {
    return launch_file->module;
}

const char *spad_ptx_launch_file_kernel(const spad_ptx_launch_file *launch_file) {
    return launch_file->kernel;
}

spad_ptx_launch spad_ptx_launch_file_get(const spad_ptx_launch_file *launch_file) {
    return launch_file->launch;
}

/* A file of this kind begins with its version. */
bool spad_ptx_launch_file_detect(const char *text, size_t length) {
    static const char first[] = "version";
    size_t at = spad__mark_bytes(text, length);
    while (at < length && strchr(" \t\r\n#", text[at]) != NULL) {
        const bool comment = text[at] == '#';
        while (comment && at < length && text[at] != '\n') at++;
        at += at < length;
    }
    if (length - at <= sizeof first || memcmp(text + at, first, sizeof first - 1) != 0)
        return false;
    for (at += sizeof first - 1; at < length && (text[at] == ' ' || text[at] == '\t'); at++) {
    }
    return at < length && text[at] == '=';
}

/* ---- the reader -------------------------------------------------------------------- */

typedef enum launch_section {
    KEYS_OF_FILE,
    KEYS_OF_MEMORY,
    KEYS_OF_MAP,
    KEYS_OF_VARIABLE,
    LAUNCH_SECTIONS
} launch_section;

static const char *const launch_section_names[LAUNCH_SECTIONS] = {"the file", "[[memory]]",
                                                                  "[[tensormap]]", "[[variable]]"};

/* Bytes in hexadecimal; known: NULL where all of them are. */
typedef struct launch_bytes {
    const uint8_t *data;
    const uint8_t *known;
    int64_t count;
    bool zeros;
    spad__span span;
} launch_bytes;

/* The values of a table so far. */
typedef struct launch_table {
    uint64_t address;
    int64_t bytes;
    launch_bytes contents;
    int64_t parameter;
    const char *text; /* map or name */
} launch_table;

typedef struct launch_reader {
    spad__parser p;
    spad_ptx_launch_file *file;
    launch_section section;
    uint64_t seen;     /* keys of the section, a bit each */
    spad__span header; /* of the section */
    launch_table table;
} launch_reader;

static bool refuse_launch_span(launch_reader *r, spad__span span, const char *message) {
    spad__diagnostics_add(r->p.diagnostics, r->p.source, span, "%s", message);
    return false;
}

/* Reserves one more item of an array of the file; false: no memory. */
#define RESERVE_ONE(r, array) \
    (spad__array_reserve(&(r)->file->host, array, 1) || !((r)->p.out_of_memory = true))

/* ---- values ------------------------------------------------------------------------ */

static bool read_launch_number(launch_reader *r, int64_t least, int64_t most, int64_t *out) {
    char what[80];
    const spad__token token = r->p.token;
    snprintf(what, sizeof what, "a whole number from %lld to %lld", (long long)least,
             (long long)most);
    const bool fine = token.kind == SPAD__NUMBER && token.scale == 0 && token.digits >= least &&
                      token.digits <= most;
    if (!fine) return spad__parser_expected(&r->p, what);
    *out = spad__parser_take(&r->p).digits;
    return true;
}

/* A list may go over several lines, and end in a comma. */
static bool is_at_list_end(launch_reader *r) {
    spad__parser_skip_lines(&r->p);
    return r->p.token.kind == SPAD__RIGHT_BRACKET;
}

static bool goes_on_in_list(launch_reader *r) {
    spad__parser_skip_lines(&r->p);
    if (spad__parser_accept(&r->p, SPAD__COMMA)) return true;
    return is_at_list_end(r) || spad__parser_expected(&r->p, "',' or ']'");
}

/* 132, or [132, 1, 1]. */
static bool read_launch_three(launch_reader *r, uint32_t out[3], int64_t least) {
    int64_t value = 0;
    int count = 0;
    if (!spad__parser_accept(&r->p, SPAD__LEFT_BRACKET)) {
        if (!read_launch_number(r, least, INT32_MAX, &value)) return false;
        out[0] = (uint32_t)value;
        return true;
    }
    while (count < 3 && !is_at_list_end(r)) {
        if (!read_launch_number(r, least, INT32_MAX, &value) || !goes_on_in_list(r)) return false;
        out[count++] = (uint32_t)value;
    }
    if (count == 0) return spad__parser_expected(&r->p, "up to three whole numbers");
    spad__parser_skip_lines(&r->p);
    return spad__parser_expect(&r->p, SPAD__RIGHT_BRACKET, "']'");
}

static int launch_hex(char c) {
    if (c >= '0' && c <= '9') return c - '0';
    if (c >= 'a' && c <= 'f') return c - 'a' + 10;
    return c >= 'A' && c <= 'F' ? c - 'A' + 10 : 16;
}

/* Decodes the digits between the quotes; `known` is filled where it is not NULL. */
static bool decode_hex_bytes(launch_reader *r, spad__span digits, uint8_t *data, uint8_t *known,
                             bool *all_known) {
    const char *text = r->p.source->text + digits.start;
    *all_known = true;
    for (size_t i = 0; i < digits.length; i += 2) {
        const bool pair = i + 1 < digits.length;
        const bool unknown = pair && text[i] == '.' && text[i + 1] == '.';
        const int high = launch_hex(text[i]), low = pair ? launch_hex(text[i + 1]) : 16;
        if (!unknown && (high > 15 || low > 15)) {
            return refuse_launch_span(
                r, (spad__span){digits.start + i, pair ? 2 : 1},
                "expected two hexadecimal digits per byte, or '..' for an unknown "
                "byte");
        }
        *all_known &= !unknown;
        if (data != NULL && !unknown) data[i / 2] = (uint8_t)(high * 16 + low);
        if (known != NULL) known[i / 2] = !unknown;
    }
    return true;
}

/* "00ab..", in which ".." is an unknown byte. */
static bool read_launch_bytes_value(launch_reader *r, launch_bytes *out) {
    bool all_known;
    if (!spad__parser_expect(&r->p, SPAD__STRING, "a string of hexadecimal digits")) return false;
    const spad__span span = r->p.last.span;
    const spad__span digits = {span.start + 1, span.length - 2};
    if (!decode_hex_bytes(r, digits, NULL, NULL, &all_known)) return false;
    const size_t count = digits.length / 2;
    uint8_t *data = spad__arena_new(&r->file->arena, count + 1);
    uint8_t *known = all_known ? NULL : spad__arena_new(&r->file->arena, count + 1);
    if (data == NULL || (known == NULL && !all_known)) {
        r->p.out_of_memory = true;
        return false;
    }
    decode_hex_bytes(r, digits, data, known, &all_known);
    *out = (launch_bytes){.data = data, .known = known, .count = (int64_t)count, .span = span};
    return true;
}

static bool read_launch_arguments(launch_reader *r) {
    if (!spad__parser_expect(&r->p, SPAD__LEFT_BRACKET,
                             "a list of arguments, such as [\"K=4096\"]"))
        return false;
    while (!is_at_list_end(r)) {
        const char *word;
        if (!spad__parser_text(&r->p, &word) || !goes_on_in_list(r)) return false;
        if (!RESERVE_ONE(r, &r->file->arguments)) return false;
        r->file->arguments.items[r->file->arguments.count++] = word;
    }
    return spad__parser_expect(&r->p, SPAD__RIGHT_BRACKET, "']'");
}

/* ---- keys -------------------------------------------------------------------------- */

static bool read_launch_version(launch_reader *r) {
    int64_t version = 0;
    const spad__span span = r->p.token.span;
    if (!read_launch_number(r, 0, INT32_MAX, &version)) return false;
    return version == 1 || refuse_launch_span(r, span,
                                              "only version 1 of launch files is known; a newer "
                                              "spad may read this one");
}

static bool read_launch_module_path(launch_reader *r) {
    const spad__span span = r->p.token.span;
    if (!spad__parser_text(&r->p, &r->file->module)) return false;
    return r->file->module[0] != '\0' ||
           refuse_launch_span(r, span, "the path of a file is needed");
}

static bool read_launch_kernel_name(launch_reader *r) {
    return spad__parser_text(&r->p, &r->file->kernel);
}

static bool read_launch_grid(launch_reader *r) {
    return read_launch_three(r, r->file->launch.grid, 1);
}

static bool read_launch_block(launch_reader *r) {
    return read_launch_three(r, r->file->launch.block, 1);
}

static bool read_launch_cluster(launch_reader *r) {
    return read_launch_three(r, r->file->launch.cluster, 1);
}

static bool read_launch_cta(launch_reader *r) {
    return read_launch_three(r, r->file->launch.cta, 0);
}

static bool read_launch_shared_bytes(launch_reader *r) {
    return read_launch_number(r, 0, INT32_MAX, &r->file->launch.dynamic_shared_bytes);
}

static bool read_launch_parameters(launch_reader *r) {
    launch_bytes bytes;
    if (!read_launch_bytes_value(r, &bytes)) return false;
    r->file->launch.parameters = bytes.data;
    r->file->launch.parameters_known = bytes.known;
    r->file->launch.parameter_bytes = bytes.count;
    return true;
}

static bool read_launch_assumption(launch_reader *r) {
    return spad__parser_text(&r->p, &r->file->launch.assumption);
}

static bool read_launch_address(launch_reader *r) {
    int64_t address = 0;
    if (!read_launch_number(r, 1, INT64_MAX, &address)) return false;
    r->table.address = (uint64_t)address;
    return true;
}

static bool read_launch_size(launch_reader *r) {
    return read_launch_number(r, 1, INT64_C(1) << 46, &r->table.bytes);
}

static bool read_launch_contents(launch_reader *r) {
    const spad__token token = r->p.token;
    const char *text = r->p.source->text + token.span.start;
    if (token.kind == SPAD__STRING && token.span.length == 7 && memcmp(text, "\"zeros\"", 7) == 0) {
        r->table.contents = (launch_bytes){.zeros = true, .span = token.span};
        spad__parser_take(&r->p);
        return true;
    }
    return read_launch_bytes_value(r, &r->table.contents);
}

static bool read_launch_parameter_offset(launch_reader *r) {
    return read_launch_number(r, 0, 1 << 20, &r->table.parameter);
}

/* The grammar is checked here; the tensor that a map without an address needs is made later. */
static bool read_launch_map(launch_reader *r) {
    spad__ptx_arguments scratch = {.host = r->file->host};
    spad__tensor_map map;
    spad_error error;
    if (!spad__parser_text(&r->p, &r->table.text)) return false;
    const spad__span span = r->p.last.span;
    const spad_status status = spad__ptx_read_tensor_map(&map, &scratch, r->table.text, &error);
    spad__ptx_arguments_free(&scratch);
    if (status == SPAD_ERR_HOST_MEMORY) r->p.out_of_memory = true;
    return status == SPAD_OK || refuse_launch_span(r, span, error.message);
}

static bool read_launch_variable_name(launch_reader *r) {
    return spad__parser_text(&r->p, &r->table.text);
}

typedef struct launch_key {
    launch_section section;
    bool required;
    const char *name;
    bool (*read)(launch_reader *r);
} launch_key;

static const launch_key launch_keys[] = {
    {KEYS_OF_FILE, true, "version", read_launch_version},
    {KEYS_OF_FILE, true, "module", read_launch_module_path},
    {KEYS_OF_FILE, false, "kernel", read_launch_kernel_name},
    {KEYS_OF_FILE, false, "grid", read_launch_grid},
    {KEYS_OF_FILE, false, "block", read_launch_block},
    {KEYS_OF_FILE, false, "cluster", read_launch_cluster},
    {KEYS_OF_FILE, false, "smem", read_launch_shared_bytes},
    {KEYS_OF_FILE, false, "cta", read_launch_cta},
    {KEYS_OF_FILE, false, "args", read_launch_arguments},
    {KEYS_OF_FILE, false, "parameters", read_launch_parameters},
    {KEYS_OF_FILE, false, "assume", read_launch_assumption},
    {KEYS_OF_MEMORY, true, "address", read_launch_address},
    {KEYS_OF_MEMORY, true, "bytes", read_launch_size},
    {KEYS_OF_MEMORY, false, "contents", read_launch_contents},
    {KEYS_OF_MAP, false, "parameter", read_launch_parameter_offset},
    {KEYS_OF_MAP, false, "address", read_launch_address},
    {KEYS_OF_MAP, true, "map", read_launch_map},
    {KEYS_OF_VARIABLE, true, "name", read_launch_variable_name},
    {KEYS_OF_VARIABLE, true, "contents", read_launch_contents},
};
enum { LAUNCH_KEYS = sizeof launch_keys / sizeof *launch_keys };

/* The key with a name in the section; LAUNCH_KEYS: none. */
static size_t find_launch_key(const launch_reader *r, spad__token token) {
    for (size_t i = 0; i < LAUNCH_KEYS; i++) {
        if (launch_keys[i].section == r->section &&
            spad__token_is(r->p.source, token, launch_keys[i].name))
            return i;
    }
    return LAUNCH_KEYS;
}

/* Was a key of the present section given? */
static bool was_launch_given(const launch_reader *r, const char *name) {
    for (size_t i = 0; i < LAUNCH_KEYS; i++) {
        if (launch_keys[i].section == r->section && strcmp(launch_keys[i].name, name) == 0)
            return (r->seen >> i & 1) != 0;
    }
    return false;
}

static bool refuse_launch_key(launch_reader *r, spad__token token) {
    char word[48], hint[160], named[48];
    spad__nearest nearest;
    bool top = false;
    spad__token_describe(named, sizeof named, r->p.source, token);
    snprintf(word, sizeof word, "%.*s", (int)spad__min((int64_t)token.span.length, 47),
             r->p.source->text + token.span.start);
    spad__nearest_start(&nearest, word);
    for (size_t i = 0; i < LAUNCH_KEYS; i++) {
        if (launch_keys[i].section == r->section)
            spad__nearest_offer(&nearest, launch_keys[i].name);
        top |= launch_keys[i].section == KEYS_OF_FILE && strcmp(launch_keys[i].name, word) == 0;
    }
    spad__nearest_phrase(&nearest, hint, sizeof hint);
    spad__diagnostics_add(r->p.diagnostics, r->p.source, token.span, "unknown key %s in %s%s",
                          named, launch_section_names[r->section],
                          top ? ": it goes above the first table" : hint);
    return false;
}

static bool read_launch_pair(launch_reader *r) {
    if (r->section == LAUNCH_SECTIONS) return false; /* below a wrong header */
    if (!spad__parser_expect(&r->p, SPAD__WORD, "a key or a table such as [[memory]]"))
        return false;
    const spad__token key = r->p.last;
    const size_t found = find_launch_key(r, key);
    if (found == LAUNCH_KEYS) return refuse_launch_key(r, key);
    if ((r->seen >> found & 1) != 0) {
        spad__diagnostics_add(r->p.diagnostics, r->p.source, key.span, "key '%s' is given twice",
                              launch_keys[found].name);
        return false;
    }
    r->seen |= UINT64_C(1) << found;
    return spad__parser_expect(&r->p, SPAD__EQUAL, "'='") && launch_keys[found].read(r) &&
           spad__parser_end_statement(&r->p);
}

/* ---- tables ------------------------------------------------------------------------ */

/* Addresses that the executor gives to shared memory, parameters and variables. */
static bool is_taken_by_spad(uint64_t address, int64_t bytes) {
    const uint64_t first = SPAD__PTX_CODE_BASE, end = UINT64_C(0x800000000000);
    return address < end && address + (uint64_t)bytes > first;
}

static bool add_launch_region(launch_reader *r) {
    launch_table *t = &r->table;
    launch_bytes *c = &t->contents;
    if (is_taken_by_spad(t->address, t->bytes)) {
        return refuse_launch_span(
            r, r->header,
            "spad itself uses the addresses from 0x7a0000000000 to 0x7fffffffffff: "
            "move this memory, and the pointers to it");
    }
    if (c->zeros) c->count = t->bytes;
    if (t->bytes > 0 && c->count > t->bytes)
        return refuse_launch_span(r, c->span, "these are more bytes than 'bytes'");
    if (!RESERVE_ONE(r, &r->file->regions)) return false;
    const spad_ptx_memory memory = {.address = t->address,
                                    .bytes = t->bytes,
                                    .contents = c->data,
                                    .known = c->known,
                                    .content_bytes = c->count};
    r->file->regions.items[r->file->regions.count++] = (launch_region){memory, r->header};
    return true;
}

static bool add_launch_map(launch_reader *r) {
    const bool parameter = was_launch_given(r, "parameter");
    if (parameter == was_launch_given(r, "address")) {
        return refuse_launch_span(
            r, r->header,
            "[[tensormap]] needs either 'parameter', an offset in the parameters, or "
            "'address'");
    }
    if (!RESERVE_ONE(r, &r->file->maps)) return false;
    r->file->maps.items[r->file->maps.count++] = (spad_ptx_tensor_map){
        parameter, parameter ? (uint64_t)r->table.parameter : r->table.address, r->table.text};
    return true;
}

static bool add_launch_variable(launch_reader *r) {
    const launch_bytes *c = &r->table.contents;
    if (c->zeros) {
        return refuse_launch_span(r, c->span,
                                  "the contents of a variable are hexadecimal digits; without a "
                                  "[[variable]] it has those of the module");
    }
    if (!RESERVE_ONE(r, &r->file->variables)) return false;
    r->file->variables.items[r->file->variables.count++] =
        (spad_ptx_variable){r->table.text, c->data, c->known, c->count};
    return true;
}

/* Is every required key there? */
static bool has_required_keys(launch_reader *r) {
    bool fine = true;
    for (size_t i = 0; i < LAUNCH_KEYS; i++) {
        if (launch_keys[i].section != r->section || !launch_keys[i].required) continue;
        if ((r->seen >> i & 1) != 0) continue;
        spad__diagnostics_add(r->p.diagnostics, r->p.source, r->header, "%s needs '%s'",
                              launch_section_names[r->section], launch_keys[i].name);
        fine = false;
    }
    return fine;
}

static void end_launch_section(launch_reader *r) {
    if (r->section == LAUNCH_SECTIONS || !has_required_keys(r)) return;
    switch (r->section) {
    case KEYS_OF_MEMORY: add_launch_region(r); break;
    case KEYS_OF_MAP: add_launch_map(r); break;
    case KEYS_OF_VARIABLE: add_launch_variable(r); break;
    default: break;
    }
    if (r->section == KEYS_OF_FILE && was_launch_given(r, "args") &&
        was_launch_given(r, "parameters"))
        refuse_launch_span(r, r->header,
                           "either 'args' or 'parameters' gives the parameters, not both");
}

/* "[[memory]]" */
static bool read_launch_header(launch_reader *r) {
    static const char *const words[LAUNCH_SECTIONS] = {"", "memory", "tensormap", "variable"};
    const spad__span first = r->p.token.span;
    launch_section section = KEYS_OF_MEMORY;
    end_launch_section(r);
    r->section = LAUNCH_SECTIONS; /* until its name is known */
    spad__parser_take(&r->p);
    if (!spad__parser_expect(&r->p, SPAD__LEFT_BRACKET, "'['")) return false;
    while (section < LAUNCH_SECTIONS && !spad__parser_accept_word(&r->p, words[section])) section++;
    if (section == LAUNCH_SECTIONS)
        return spad__parser_expected(&r->p, "'memory', 'tensormap' or 'variable'");
    if (!spad__parser_expect(&r->p, SPAD__RIGHT_BRACKET, "']]'") ||
        !spad__parser_expect(&r->p, SPAD__RIGHT_BRACKET, "']]'"))
        return false;
    r->section = section;
    r->seen = 0;
    r->table = (launch_table){0};
    r->header = spad__span_join(first, r->p.last.span);
    return spad__parser_end_statement(&r->p);
}

/* ---- the whole --------------------------------------------------------------------- */

static int compare_launch_regions(const void *left, const void *right) {
    const launch_region *a = left, *b = right;
    if (a->memory.address != b->memory.address)
        return a->memory.address > b->memory.address ? 1 : -1;
    return (a->span.start > b->span.start) - (a->span.start < b->span.start);
}

/* Sorts the regions by address, and refuses those that overlap. */
static void order_launch_regions(launch_reader *r) {
    launch_region *all = r->file->regions.items;
    const size_t count = r->file->regions.count;
    if (count > 0) qsort(all, count, sizeof *all, compare_launch_regions);
    for (size_t i = 1; i < count; i++) {
        const spad_ptx_memory *before = &all[i - 1].memory;
        if (all[i].memory.address - before->address >= (uint64_t)before->bytes) continue;
        spad__diagnostics_add(r->p.diagnostics, r->p.source, all[i].span,
                              "this memory overlaps the one at 0x%llx",
                              (unsigned long long)before->address);
    }
    for (size_t i = 0; i < count; i++) {
        if (!RESERVE_ONE(r, &r->file->memory)) return;
        r->file->memory.items[r->file->memory.count++] = all[i].memory;
    }
}

static void read_launch_lines(launch_reader *r) {
    for (;;) {
        spad__parser_skip_lines(&r->p);
        const spad__token_kind kind = r->p.token.kind;
        if (kind == SPAD__END || r->p.out_of_memory || spad__diagnostics_full(r->p.diagnostics))
            return;
        if (kind == SPAD__LEFT_BRACKET ? read_launch_header(r) : read_launch_pair(r)) continue;
        if (r->p.token.kind == SPAD__RIGHT_BRACE) spad__parser_take(&r->p);
        spad__parser_skip_statement(&r->p);
    }
}

static void point_to_launch_arrays(spad_ptx_launch_file *file) {
    spad_ptx_launch *l = &file->launch;
    l->arguments = file->arguments.items;
    l->argument_count = file->arguments.count;
    l->memory = file->memory.items;
    l->memory_count = file->memory.count;
    l->tensor_maps = file->maps.items;
    l->tensor_map_count = file->maps.count;
    l->variables = file->variables.items;
    l->variable_count = file->variables.count;
}

static spad_status read_launch_text(spad_ptx_launch_file *file, const spad__source *source,
                                    spad_diagnostics *diagnostics, spad_error *error) {
    launch_reader r = {.file = file};
    spad__diagnostics_begin(diagnostics, source);
    spad__parser_start(&r.p, source, diagnostics, &file->arena);
    r.header = (spad__span){spad__mark_bytes(source->text, source->length), 1};
    read_launch_lines(&r);
    end_launch_section(&r);
    order_launch_regions(&r);
    if (r.p.out_of_memory) return spad__fail_host_memory(error);
    point_to_launch_arrays(file);
    return spad__diagnostics_end(diagnostics, error);
}

spad_status spad_ptx_launch_file_create(spad_ptx_launch_file **out, const char *text, size_t length,
                                        const char *file, const spad_host *host,
                                        spad_diagnostics *diagnostics, spad_error *error) {
    const spad_host own = spad__host_or_default(host);
    *out = NULL;
    if (length > MOST_LAUNCH_TEXT)
        return spad__fail(error, SPAD_ERR_ARGUMENT, "a launch file has at most 256 MiB");
    spad_diagnostics *mine = NULL;
    spad_ptx_launch_file *made = spad__new(&own, sizeof *made);
    if (made == NULL) return spad__fail_host_memory(error);
    *made = (spad_ptx_launch_file){.host = own, .arena = {.host = own}};
    const spad__source source = {file != NULL ? file : "<launch>", text, length};
    spad_status status =
        diagnostics != NULL ? SPAD_OK : spad_diagnostics_create(&mine, &own, error);
    if (status == SPAD_OK) {
        status = read_launch_text(made, &source, diagnostics != NULL ? diagnostics : mine, error);
    }
    spad_diagnostics_destroy(mine);
    if (status != SPAD_OK) {
        spad_ptx_launch_file_destroy(made);
        return status;
    }
    *out = made;
    return SPAD_OK;
}
