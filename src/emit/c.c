/* SPDX-License-Identifier: Apache-2.0
 *
 * Places as a header for C99, C++ and CUDA: constants as macros, so that they can stand in
 * array bounds, template arguments and #if; limits of the chip checked by #if, so that
 * a header for the wrong chip does not compile; and an inline function per buffer from the
 * number of a tile to its byte.
 */
#include <stdio.h>
#include <string.h>

#include "emit/emit.h"

static void out_lower(spad__out *out, const char *text) {
    for (; *text != '\0'; text++) {
        const char c = spad__lower(*text);
        spad__out_bytes(out, &c, 1);
    }
}

/* A name inside a comment: in quotes, with hidden characters and the end of a comment spelt
 * out. */
static void out_comment_name(spad__out *out, const char *text) {
    size_t length = strlen(text);
    char before = ' ';
    spad__out_string(out, "\"");
    while (length > 0) {
        const size_t bytes = spad__utf8_length(text, length);
        const size_t size = bytes > 0 ? bytes : 1;
        const uint32_t code = bytes > 0 ? spad__utf8_decode(text, bytes) : 0xFFFD;
        const bool ends = (before == '*' && *text == '/') || (before == '/' && *text == '*');
        if (bytes == 0 || spad__is_hidden(code) || ends)
            spad__out_format(out, "\\u{%lx}", (unsigned long)code);
        else if (*text == '\\' || *text == '"')
            spad__out_format(out, "\\%c", *text);
        else
            spad__out_bytes(out, text, size);
        before = *text;
        text += size;
        length -= size;
    }
    spad__out_string(out, "\"");
}

/* C has no negative literals: the least number is a difference. */
static void out_constant(spad__out *out, int64_t value) {
    if (value == INT64_MIN)
        spad__out_format(out, "(%lld - 1)", (long long)(value + 1));
    else
        spad__out_format(out, value < 0 ? "(%lld)" : "%lld", (long long)value);
}

static void define(spad__out *out, const spad_emit *table, const char *name, const char *word,
                   int64_t value) {
    spad__out_format(out, "#define %s_%s_%s ", table->prefix, name, word);
    out_constant(out, value);
    spad__out_string(out, "\n");
}

/* " (agent "upper", line 31)": two tensors may have one name. */
static void out_origin(spad__out *out, const spad_emit_buffer *buffer) {
    if (buffer->agent == NULL && buffer->line == 0) return;
    spad__out_string(out, " (");
    if (buffer->agent != NULL) {
        spad__out_string(out, "agent ");
        out_comment_name(out, buffer->agent);
    }
    if (buffer->agent != NULL && buffer->line > 0) spad__out_string(out, ", ");
    if (buffer->line > 0) spad__out_format(out, "line %ld", (long)buffer->line);
    spad__out_string(out, ")");
}

/* ---- head -------------------------------------------------------------------------- */

static bool has_lanes(const spad_emit *table) {
    for (size_t i = 0; i < table->target->space_count; i++) {
        if (table->target->spaces[i].lanes > 1 && spad__emit_total(table, i) > 0) return true;
    }
    return false;
}

static void write_c_head(const spad_emit *table, spad__out *out) {
    spad__out_string(out, "/* Places of buffers for ");
    out_comment_name(out, table->name);
    spad__out_string(out, " on ");
    out_comment_name(out, table->target->name);
    spad__out_format(out,
                     ".\n * Made by spad " SPAD_VERSION_STRING "; do not edit.%s\n *\n"
                     " * identifier <- name\n",
                     has_lanes(table) ? " Bytes are per lane." : "");
    for (size_t i = 0; i < table->rows.count; i++) {
        const spad__emit_row *row = &table->rows.items[i];
        spad__out_format(out, " *   %s <- ", row->identifier);
        out_comment_name(out, row->buffer.name != NULL ? row->buffer.name : "");
        out_origin(out, &row->buffer);
        spad__out_string(out, "\n");
    }
    spad__out_format(out,
                     " */\n/* clang-format off */\n#ifndef %s_PLACES_H\n#define %s_PLACES_H\n\n",
                     table->prefix, table->prefix);
    spad__out_format(out,
                     "#ifndef %s_INLINE\n"
                     "#if defined(__CUDACC__)\n"
                     "#define %s_INLINE static __host__ __device__ __forceinline__\n"
                     "#else\n"
                     "#define %s_INLINE static inline\n"
                     "#endif\n"
                     "#endif\n",
                     table->prefix, table->prefix, table->prefix);
}

/* ---- spaces ------------------------------------------------------------------------ */

static void write_space(const spad_emit *table, size_t space, spad__out *out) {
    const int64_t total = spad__emit_total(table, space);
    const int64_t usable = spad_space_get_usable(&table->target->spaces[space]);
    const char *name = table->space_names[space];
    if (total == 0) return;
    spad__out_string(out, "\n/* ");
    out_comment_name(out, table->target->spaces[space].name);
    spad__out_string(out, " */\n");
    define(out, table, name, "TOTAL", total);
    if (usable == SPAD_UNBOUNDED) return;
    spad__out_format(out, "#ifndef %s_%s_LIMIT\n", table->prefix, name);
    define(out, table, name, "LIMIT", usable);
    spad__out_format(out,
                     "#endif\n"
                     "#if %s_%s_TOTAL > %s_%s_LIMIT\n"
                     "#error \"%s: the buffers need more bytes than the memory has\"\n"
                     "#endif\n",
                     table->prefix, name, table->prefix, name, name);
}

/* ---- buffers ----------------------------------------------------------------------- */

static void write_constants(const spad_emit *table, const spad__emit_row *row, bool even,
                            int64_t stride, spad__out *out) {
    const spad_emit_buffer *b = &row->buffer;
    define(out, table, row->identifier, "OFFSET", b->places[0].byte);
    define(out, table, row->identifier, "BYTES", b->bytes);
    define(out, table, row->identifier, "LANE", b->places[0].lane);
    define(out, table, row->identifier, "LANES", b->lanes);
    define(out, table, row->identifier, "ALIGN", b->alignment);
    define(out, table, row->identifier, "RING", (int64_t)b->count);
    if (even) define(out, table, row->identifier, "STRIDE", stride);
}

static void write_checks(const spad_emit *table, const spad__emit_row *row, bool even,
                         spad__out *out) {
    const spad_space *space = &table->target->spaces[row->buffer.space];
    const char *p = table->prefix;
    const char *n = row->identifier;
    spad__out_format(out, "#if %s_%s_OFFSET %% %s_%s_ALIGN != 0", p, n, p, n);
    if (even && row->buffer.count > 1)
        spad__out_format(out, " || %s_%s_STRIDE %% %s_%s_ALIGN != 0", p, n, p, n);
    spad__out_format(out, " || %s_%s_LANE + %s_%s_LANES > %lld\n", p, n, p, n,
                     (long long)space->lanes);
    spad__out_format(out, "#error \"%s: not aligned, or outside the lanes\"\n#endif\n", n);
}

/* The copy of tile i: a ring continues in both directions. */
static void write_rest(const spad_emit *table, const spad__emit_row *row, spad__out *out) {
    spad__out_format(out, "    const long long rest = i %% %s_%s_RING;\n", table->prefix,
                     row->identifier);
    spad__out_format(out, "    const long long k = rest < 0 ? rest + %s_%s_RING : rest;\n",
                     table->prefix, row->identifier);
}

/* One number per copy. */
static void write_switch(const spad_emit_buffer *b, bool lanes, spad__out *out) {
    spad__out_string(out, "    switch (k) {\n");
    for (size_t k = 1; k <= b->count; k++) {
        const spad_emit_place *place = &b->places[k % b->count];
        if (k < b->count)
            spad__out_format(out, "    case %llu: return ", (unsigned long long)k);
        else
            spad__out_string(out, "    default: return ");
        out_constant(out, lanes ? place->lane : place->byte);
        spad__out_string(out, ";\n");
    }
    spad__out_string(out, "    }\n");
}

static void open_function(const spad_emit *table, const spad__emit_row *row, const char *type,
                          const char *word, const char *arguments, spad__out *out) {
    spad__out_format(out, "%s_INLINE %s", table->prefix, type);
    out_lower(out, table->prefix);
    spad__out_string(out, "_");
    out_lower(out, row->identifier);
    spad__out_format(out, "_%s(%s) {\n", word, arguments);
}

/* The byte of tile i and, where copies are in different lanes, its lane. */
static void write_functions(const spad_emit *table, const spad__emit_row *row, bool even,
                            spad__out *out) {
    const spad_emit_buffer *b = &row->buffer;
    const char *p = table->prefix;
    const char *n = row->identifier;
    open_function(table, row, "long long ", "at", "long long i", out);
    if (b->count == 1)
        spad__out_string(out, "    (void)i;\n");
    else
        write_rest(table, row, out);
    if (even && b->count == 1)
        spad__out_format(out, "    return %s_%s_OFFSET;\n", p, n);
    else if (even)
        spad__out_format(out, "    return %s_%s_OFFSET + k * %s_%s_STRIDE;\n", p, n, p, n);
    else
        write_switch(b, false, out);
    spad__out_string(out, "}\n");
    if (even) return;
    open_function(table, row, "long long ", "lane", "long long i", out);
    write_rest(table, row, out);
    write_switch(b, true, out);
    spad__out_string(out, "}\n");
}

/* The C++ type of an element in device code, with the header of CUDA that has it; "void" where
 * none exists. */
typedef struct cuda_type {
    spad_dtype dtype;
    const char *name;
    const char *header;
} cuda_type;

static const cuda_type cuda_types[] = {
    {SPAD_DTYPE_NONE, "void", NULL},
    {SPAD_BOOL, "bool", NULL},
    {SPAD_INT8, "signed char", NULL},
    {SPAD_INT16, "short", NULL},
    {SPAD_INT32, "int", NULL},
    {SPAD_INT64, "long long", NULL},
    {SPAD_UINT8, "unsigned char", NULL},
    {SPAD_UINT16, "unsigned short", NULL},
    {SPAD_UINT32, "unsigned int", NULL},
    {SPAD_UINT64, "unsigned long long", NULL},
    {SPAD_FLOAT16, "__half", "cuda_fp16.h"},
    {SPAD_BFLOAT16, "__nv_bfloat16", "cuda_bf16.h"},
    {SPAD_TFLOAT32, "float", NULL},
    {SPAD_FLOAT32, "float", NULL},
    {SPAD_FLOAT64, "double", NULL},
    {SPAD_FLOAT8_E4M3, "__nv_fp8_e4m3", "cuda_fp8.h"},
    {SPAD_FLOAT8_E4M3FN, "__nv_fp8_e4m3", "cuda_fp8.h"},
    {SPAD_FLOAT8_E5M2, "__nv_fp8_e5m2", "cuda_fp8.h"},
};

enum { CUDA_TYPES = sizeof cuda_types / sizeof *cuda_types };

/* An mbarrier is an object of 64 bits. */
static size_t find_cuda_type(const spad_emit_buffer *buffer) {
    const spad_dtype dtype = buffer->arrivals > 0 ? SPAD_UINT64 : buffer->dtype;
    for (size_t i = 0; i < CUDA_TYPES; i++) {
        if (cuda_types[i].dtype == dtype) return i;
    }
    return 0;
}

static bool has_pointer(const spad_emit *table, const spad__emit_row *row) {
    return table->target->spaces[row->buffer.space].lanes == 1;
}

/* The headers of the types that pointers have. */
static void write_cuda_headers(const spad_emit *table, spad__out *out) {
    bool used[CUDA_TYPES] = {false};
    const char *last = NULL;
    for (size_t i = 0; i < table->rows.count; i++) {
        const spad__emit_row *row = &table->rows.items[i];
        if (has_pointer(table, row)) used[find_cuda_type(&row->buffer)] = true;
    }
    for (size_t i = 0; i < CUDA_TYPES; i++) {
        const char *header = cuda_types[i].header;
        if (!used[i] || header == NULL || (last != NULL && strcmp(header, last) == 0)) continue;
        if (last == NULL) spad__out_string(out, "#if defined(__CUDACC__)\n");
        spad__out_format(out, "#include <%s>\n", header);
        last = header;
    }
    if (last != NULL) spad__out_string(out, "#endif\n");
}

static void write_pointer(const spad_emit *table, const spad__emit_row *row, spad__out *out) {
    char type[32];
    snprintf(type, sizeof type, "%s *", cuda_types[find_cuda_type(&row->buffer)].name);
    spad__out_string(out, "#if defined(__CUDACC__)\n");
    open_function(table, row, type, "ptr", "void *base, long long i", out);
    spad__out_format(out, "    return (%s)((char *)base + ", type);
    out_lower(out, table->prefix);
    spad__out_string(out, "_");
    out_lower(out, row->identifier);
    spad__out_string(out, "_at(i));\n}\n#endif\n");
}

static void write_row(const spad_emit *table, const spad__emit_row *row, bool cuda,
                      spad__out *out) {
    const spad_emit_buffer *b = &row->buffer;
    int64_t stride;
    const bool even = spad__emit_stride(b, &stride);
    spad__out_string(out, "\n/* ");
    out_comment_name(out, b->name != NULL ? b->name : "");
    spad__out_string(out, " in ");
    out_comment_name(out, table->target->spaces[b->space].name);
    if (b->shape.rank > 0) {
        spad__out_string(out, ": ");
        spad__out_shape(out, b->shape);
        if (b->dtype != SPAD_DTYPE_NONE) spad__out_format(out, " %s", spad_dtype_name(b->dtype));
    }
    spad__out_string(out, " */\n");
    write_constants(table, row, even, stride, out);
    write_checks(table, row, even, out);
    write_functions(table, row, even, out);
    if (cuda && has_pointer(table, row)) write_pointer(table, row, out);
}

void spad__emit_write_c(const spad_emit *table, bool cuda, spad__out *out) {
    write_c_head(table, out);
    if (cuda) write_cuda_headers(table, out);
    for (size_t s = 0; s < table->target->space_count; s++) write_space(table, s, out);
    for (size_t i = 0; i < table->rows.count; i++) {
        write_row(table, &table->rows.items[i], cuda, out);
    }
    spad__out_string(out, "\n#endif\n");
}
