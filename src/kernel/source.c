/* SPDX-License-Identifier: Apache-2.0
 *
 * Sources: the lines of the program that a kernel was made from. A statement names one, and a
 * source names the call that led to it, so a chain of calls is shared by all that come after it.
 */
#include "kernel/kernel.h"

#include <stdio.h>
#include <string.h>

#include "base/text.h"

spad_status spad__kernel_builder_source(int64_t *out, spad__kernel_builder *builder,
                                        const char *file, int32_t line, const char *code,
                                        int64_t caller, spad_error *error) {
    spad_kernel *kernel = builder->kernel;
    const int64_t number = (int64_t)kernel->sources.count;
    *out = -1;
    if (file == NULL || file[0] == '\0' || line < 0) {
        return spad__fail(error, SPAD_ERR_ARGUMENT, "a source has a file and a line");
    }
    if (caller < -1 || caller >= number) {
        return spad__fail(error, SPAD_ERR_UNKNOWN, "no such source: %lld; there are %lld",
                          (long long)caller, (long long)number);
    }
    spad_kernel_source row = {.line = line, .code = "", .caller = caller};
    const spad__arena_mark mark = spad__arena_here(&kernel->arena);
    row.file = spad__arena_copy(&kernel->arena, file, strlen(file));
    if (code != NULL) row.code = spad__arena_copy(&kernel->arena, code, strlen(code));
    if (row.file == NULL || row.code == NULL ||
        !spad__array_reserve(&kernel->host, &kernel->sources, 1)) {
        spad__arena_rewind(&kernel->arena, mark);
        return spad__fail_host_memory(error);
    }
    kernel->sources.items[kernel->sources.count++] = row;
    *out = number;
    return SPAD_OK;
}

/* ---- the text of a file --------------------------------------------------------------- */

enum { CODE_ROOM = 160 };

typedef SPAD_ARRAY(const char *) line_starts;

static bool find_line_starts(const spad_host *host, line_starts *lines, const char *text) {
    for (const char *at = text; at != NULL; at = strchr(at, '\n')) {
        if (lines->count > 0) at++;
        if (!spad__array_reserve(host, lines, 1)) return false;
        lines->items[lines->count++] = at;
    }
    return true;
}

/* The line at `at`, cut to the room. */
static void take_code_line(char out[CODE_ROOM], const char *at) {
    size_t used = 0;
    for (; *at != '\0' && *at != '\n' && *at != '\r' && used + 1 < CODE_ROOM; at++)
        out[used++] = *at == '\t' ? ' ' : *at;
    out[used] = '\0';
    spad_text_clean(out);
}

static bool set_codes(spad_kernel *kernel, const char *file, const line_starts *lines) {
    for (size_t i = 0; i < kernel->sources.count; i++) {
        spad_kernel_source *source = &kernel->sources.items[i];
        char line[CODE_ROOM];
        if (source->line < 1 || (size_t)source->line > lines->count) continue;
        if (strcmp(source->file, file) != 0) continue;
        take_code_line(line, lines->items[source->line - 1]);
        const char *kept = spad__arena_copy(&kernel->arena, line, strlen(line));
        if (kept == NULL) return false;
        source->code = kept;
    }
    return true;
}

spad_status spad_kernel_set_program(spad_kernel *kernel, const char *file, const char *text,
                                    size_t length, spad_error *error) {
    size_t named = 0;
    while (named < kernel->sources.count && strcmp(kernel->sources.items[named].file, file) != 0)
        named++;
    if (named == kernel->sources.count)
        return spad__fail(error, SPAD_ERR_UNKNOWN, "no source is in the file '%.120s'", file);
    const char *kept = spad__arena_copy(&kernel->arena, text, length);
    line_starts lines = {0};
    const bool fine = kept != NULL && spad__array_reserve(&kernel->host, &kernel->programs, 1) &&
                      find_line_starts(&kernel->host, &lines, kept) &&
                      set_codes(kernel, file, &lines);
    spad__array_free(&kernel->host, &lines);
    if (!fine) return spad__fail_host_memory(error);
    kernel->programs.items[kernel->programs.count++] =
        (spad__kernel_program){kernel->sources.items[named].file, kept};
    return SPAD_OK;
}

static spad_status check_source(const spad__kernel_builder *builder, int64_t source,
                                spad_error *error) {
    const int64_t count = (int64_t)builder->kernel->sources.count;
    if (source >= -1 && source < count) return SPAD_OK;
    return spad__fail(error, SPAD_ERR_UNKNOWN, "no such source: %lld; there are %lld",
                      (long long)source, (long long)count);
}

spad_status spad__kernel_builder_from(spad__kernel_builder *builder, int64_t source,
                                      spad_error *error) {
    const spad_status status = check_source(builder, source, error);
    if (status == SPAD_OK) builder->source = source;
    return status;
}

spad_status spad__set_source(spad__kernel_builder *builder, int64_t source, spad_error *error) {
    const spad_status status = check_source(builder, source, error);
    const size_t count = builder->kernel->statements.count;
    if (status == SPAD_OK) builder->kernel->statements.items[count - 1].source = source;
    return status;
}

/* The statement of that line: -1 if none exists. Statements are in the order of the text, apart
 * from those of macros and of texts that are run. */
static int64_t statement_of_line(const spad_kernel *kernel, int32_t line) {
    size_t low = 0;
    size_t high = kernel->statements.count;
    while (low < high) {
        const size_t middle = low + (high - low) / 2;
        if (kernel->statements.items[middle].location.line < line) {
            low = middle + 1;
        } else {
            high = middle;
        }
    }
    if (low < kernel->statements.count && kernel->statements.items[low].location.line == line) {
        return (int64_t)low;
    }
    for (size_t i = 0; i < kernel->statements.count; i++) {
        if (kernel->statements.items[i].location.line == line) return (int64_t)i;
    }
    return -1;
}

int64_t spad__kernel_find_source(const spad_kernel *kernel, int32_t line) {
    if (kernel->sources.count == 0 || line <= 0) return -1;
    const int64_t statement = statement_of_line(kernel, line);
    return statement < 0 ? -1 : kernel->statements.items[statement].source;
}

static const char *name_without_folder(const char *path) {
    const char *slash = strrchr(path, '/');
    return slash != NULL ? slash + 1 : path;
}

/* The source and its callers up to `end`, the innermost first; all of them if that is -1. */
static void write_calls(const spad_kernel *kernel, int64_t source, int64_t end, char *field,
                        size_t size) {
    size_t used = 0;
    field[0] = '\0';
    for (const char *word = ""; source >= 0 && source != end && used < size;
         word = ", called at ") {
        const spad_kernel_source *row = &kernel->sources.items[source];
        char place[SPAD_PLACE_MAX];
        const int length = snprintf(place, sizeof place, "%s%.120s:%ld", word,
                                    name_without_folder(row->file), (long)row->line);
        if (used + (size_t)length >= size) break; /* the innermost ones are whole */
        memcpy(field + used, place, (size_t)length + 1);
        used += (size_t)length;
        source = row->caller;
    }
}

void spad__source_text(const spad_kernel *kernel, int64_t source, char *field, size_t size) {
    write_calls(kernel, source, -1, field, size);
}

/* ---- the user's line ----------------------------------------------------------------- */

static bool starts_with(const char *text, const char *start) {
    return strncmp(text, start, strlen(start)) == 0;
}

/* "/usr/local/cuda-13.0/include/...", "/opt/cuda/targets/...", "nvidia/cu13/include/...". */
bool spad__is_toolkit_header(const char *path) {
    static const char *const roots[] = {"cuda", "cuda-", "cu1"};
    static const char *const insides[] = {"include/", "targets/", "bin/"};
    if (starts_with(path, "cuda/")) return true;
    for (const char *at = strchr(path, '/'); at != NULL; at = strchr(at + 1, '/')) {
        const char *end = strchr(at + 1, '/');
        for (size_t i = 0; end != NULL && i < sizeof roots / sizeof *roots; i++) {
            const bool whole = i > 0 || strlen(roots[i]) == (size_t)(end - at - 1);
            if (!whole || !starts_with(at + 1, roots[i])) continue;
            for (size_t k = 0; k < sizeof insides / sizeof *insides; k++) {
                if (starts_with(end + 1, insides[k])) return true;
            }
        }
    }
    return false;
}

void spad__program_line(const spad_kernel *kernel, int64_t source, spad_program_line *out) {
    *out = (spad_program_line){0};
    if (!kernel->compiled || source < 0) return;
    int64_t own = source;
    while (own >= 0 && spad__is_toolkit_header(kernel->sources.items[own].file))
        own = kernel->sources.items[own].caller;
    if (own < 0) own = source;
    const spad_kernel_source *row = &kernel->sources.items[own];
    spad__copy_cut(out->file, sizeof out->file, row->file);
    spad__copy_cut(out->code, sizeof out->code, row->code);
    out->line = row->line;
    out->column = row->column;
    write_calls(kernel, row->caller, -1, out->called_at, sizeof out->called_at);
    write_calls(kernel, source, own, out->inside, sizeof out->inside);
}
