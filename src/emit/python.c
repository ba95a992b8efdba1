/* SPDX-License-Identifier: Apache-2.0
 *
 * Places as Python: for NKI a table of addresses and the tensors at them, for TileLang the
 * allocations of a plan (TileLang itself decides where they lie). The modules import nothing:
 * `nl` or `T` is handed to them, so they work with the real packages and with those of spad.
 */
#include <string.h>

#include "base/error.h"
#include "emit/emit.h"

/* A Python string: hidden characters are spelt out. */
static void out_python(spad__out *out, const char *text) {
    size_t length = strlen(text);
    spad__out_string(out, "\"");
    while (length > 0) {
        const size_t bytes = spad__utf8_length(text, length);
        const size_t size = bytes > 0 ? bytes : 1;
        const uint32_t code = bytes > 0 ? spad__utf8_decode(text, bytes) : 0xFFFD;
        if (bytes == 0 || spad__is_hidden(code))
            spad__out_format(out, "\\U%08lx", (unsigned long)code);
        else if (*text == '\\' || *text == '"')
            spad__out_format(out, "\\%c", *text);
        else
            spad__out_bytes(out, text, size);
        text += size;
        length -= size;
    }
    spad__out_string(out, "\"");
}

static void nki_row(const spad_emit *table, const spad__emit_row *row, spad__out *out) {
    const spad_emit_buffer *b = &row->buffer;
    spad__out_format(out, "    \"%s\": {\n        \"name\": ", row->identifier);
    out_python(out, b->name != NULL ? b->name : "");
    if (b->agent != NULL) {
        spad__out_string(out, ",\n        \"agent\": ");
        out_python(out, b->agent);
    }
    if (b->line > 0) spad__out_format(out, ",\n        \"line\": %ld", (long)b->line);
    spad__out_string(out, ",\n        \"space\": ");
    out_python(out, table->target->spaces[b->space].name);
    spad__out_string(out, ",\n        \"shape\": ");
    spad__out_shape(out, b->shape);
    spad__out_string(out, ",\n        \"dtype\": ");
    out_python(out, b->dtype != SPAD_DTYPE_NONE ? spad_dtype_name(b->dtype) : "");
    spad__out_format(out,
                     ",\n        \"lanes\": %lld,\n        \"bytes\": %lld,\n        \"align\": "
                     "%lld,\n        \"addresses\": [",
                     (long long)b->lanes, (long long)b->bytes, (long long)b->alignment);
    for (size_t k = 0; k < b->count; k++) {
        spad__out_format(out, "%s(%lld, %lld)", k > 0 ? ", " : "", (long long)b->places[k].lane,
                         (long long)b->places[k].byte);
    }
    spad__out_string(out, "],\n    },\n");
}

/* Used and available bytes of each memory. */
static void out_totals(const spad_emit *table, spad__out *out) {
    spad__out_string(out,
                     "\n\n# bytes that are used, and that there are, of each memory\nTOTALS = {\n");
    for (size_t s = 0; s < table->target->space_count; s++) {
        const int64_t total = spad__emit_total(table, s);
        const int64_t usable = spad_space_get_usable(&table->target->spaces[s]);
        if (total == 0) continue;
        spad__out_string(out, "    ");
        out_python(out, table->target->spaces[s].name);
        spad__out_format(out, ": (%lld, ", (long long)total);
        if (usable == SPAD_UNBOUNDED)
            spad__out_string(out, "None),\n");
        else
            spad__out_format(out, "%lld),\n", (long long)usable);
    }
    spad__out_string(out, "}\n");
}

typedef void (*python_row)(const spad_emit *table, const spad__emit_row *row, spad__out *out);

/* What both modules have: for what they are, the totals, and a row per buffer. */
static void out_tables(const spad_emit *table, python_row write_row, spad__out *out) {
    spad__out_string(out, "KERNEL = ");
    out_python(out, table->name);
    spad__out_string(out, "\nTARGET = ");
    out_python(out, table->target->name);
    out_totals(table, out);
    spad__out_string(out, "\nTILES = {\n");
    for (size_t i = 0; i < table->rows.count; i++) write_row(table, &table->rows.items[i], out);
    spad__out_string(out, "}\n");
}

void spad__emit_write_nki(const spad_emit *table, spad__out *out) {
    spad__out_string(out,
                     "# Places of buffers, made by spad " SPAD_VERSION_STRING "; do not edit.\n"
                     "# x = tile(nl, \"X\", i) is tile i where the plan has it; address(\"X\", i)\n"
                     "# is its place. Bytes are per partition.\n\n");
    out_tables(table, nki_row, out);
    spad__out_string(
        out,
        "\nfor _name, (_used, _limit) in TOTALS.items():\n"
        "    assert _limit is None or _used <= _limit, _name\n\n\n"
        "def address(tile, i=0):\n"
        "    \"\"\"(partition, byte) of tile i; a ring starts again at its end.\"\"\"\n"
        "    places = TILES[tile][\"addresses\"]\n"
        "    return places[i % len(places)]\n\n\n"
        "def tile(nl, tile, i=0):\n"
        "    \"\"\"Tile i as a tensor of nki.language, at its place.\"\"\"\n"
        "    row = TILES[tile]\n"
        "    return nl.ndarray(row[\"shape\"], getattr(nl, row[\"dtype\"]),\n"
        "                      buffer=getattr(nl, row[\"space\"]), address=address(tile, i))\n");
}

/* ---- TileLang ---------------------------------------------------------------------- */

/* What allocates in a space; NULL: TileLang has nothing there. */
static const char *tilelang_alloc(const spad_emit *table, const spad__emit_row *row) {
    static const struct {
        const char *space;
        const char *call;
    } calls[] = {{"shared", "alloc_shared"},
                 {"registers", "alloc_fragment"},
                 {"local", "alloc_local"},
                 {"tmem", "alloc_tmem"}};
    if (row->buffer.arrivals > 0) return "alloc_barrier";
    if (row->buffer.shape.rank == 0 || row->buffer.dtype == SPAD_DTYPE_NONE) return NULL;
    for (size_t i = 0; i < sizeof calls / sizeof *calls; i++) {
        if (strcmp(table->target->spaces[row->buffer.space].name, calls[i].space) == 0)
            return calls[i].call;
    }
    return NULL;
}

spad_status spad__emit_check_tilelang(const spad_emit *table, spad_error *error) {
    for (size_t i = 0; i < table->rows.count; i++) {
        const spad__emit_row *row = &table->rows.items[i];
        if (tilelang_alloc(table, row) != NULL) continue;
        spad__fail(error, SPAD_ERR_ARGUMENT,
                   "TileLang cannot allocate '%s' in %s: it has shared memory, registers, tensor "
                   "memory and mbarriers, of a shape and an element type",
                   row->identifier, table->target->spaces[row->buffer.space].name);
        spad__fact_names(error, row->buffer.name, NULL);
        return SPAD_ERR_ARGUMENT;
    }
    return SPAD_OK;
}

/* The copies of a ring are the first extent. */
static void tilelang_row(const spad_emit *table, const spad__emit_row *row, spad__out *out) {
    const spad_emit_buffer *b = &row->buffer;
    spad__out_format(out, "    \"%s\": {\n        \"name\": ", row->identifier);
    out_python(out, b->name != NULL ? b->name : "");
    spad__out_format(out, ",\n        \"alloc\": \"%s\",\n", tilelang_alloc(table, row));
    if (b->arrivals > 0) {
        spad__out_format(out, "        \"arrivals\": [%lld] * %llu,\n", (long long)b->arrivals,
                         (unsigned long long)b->count);
    } else {
        spad__out_string(out, "        \"shape\": (");
        if (b->count > 1) spad__out_format(out, "%llu, ", (unsigned long long)b->count);
        for (size_t i = 0; i < b->shape.rank; i++)
            spad__out_format(out, "%s%lld", i > 0 ? ", " : "", (long long)b->shape.dims[i]);
        spad__out_string(out, b->count == 1 && b->shape.rank == 1 ? ",)" : ")");
        spad__out_format(out, ",\n        \"dtype\": \"%s\",\n", spad_dtype_name(b->dtype));
    }
    spad__out_format(out, "        \"align\": %lld,\n        \"offsets\": [",
                     (long long)b->alignment);
    for (size_t k = 0; k < b->count; k++)
        spad__out_format(out, "%s%lld", k > 0 ? ", " : "", (long long)b->places[k].byte);
    spad__out_string(out, "],\n    },\n");
}

void spad__emit_write_tilelang(const spad_emit *table, spad__out *out) {
    spad__out_string(out,
                     "# Allocations of a plan, made by spad " SPAD_VERSION_STRING "; do not edit.\n"
                     "# Inside a T.Kernel: x = alloc(T, \"X\"), with the copies of a ring as its\n"
                     "# first extent. TileLang decides the addresses; `offsets` and TOTALS are\n"
                     "# those of the plan.\n\n");
    out_tables(table, tilelang_row, out);
    spad__out_string(out, "\n\n"
                          "def alloc(T, tile):\n"
                          "    \"\"\"The tile, or the mbarriers, as a buffer of TileLang.\"\"\"\n"
                          "    row = TILES[tile]\n"
                          "    make = getattr(T, row[\"alloc\"])\n"
                          "    if \"arrivals\" in row:\n"
                          "        return make(row[\"arrivals\"])\n"
                          "    return make(row[\"shape\"], row[\"dtype\"])\n");
}
