/* SPDX-License-Identifier: Apache-2.0
 *
 * What writers share; places as JSON and as CSV. Names are as they were given, in the quotes of
 * each format.
 */
#include <string.h>

#include "base/checked.h"
#include "emit/emit.h"

/* ---- what writers share ------------------------------------------------------------ */

int64_t spad__emit_total(const spad_emit *table, size_t space) {
    int64_t total = 0;
    for (size_t i = 0; i < table->rows.count; i++) {
        const spad_emit_buffer *b = &table->rows.items[i].buffer;
        if (b->space != space) continue;
        for (size_t k = 0; k < b->count; k++) {
            total = spad__max(total, b->places[k].byte + b->bytes);
        }
    }
    return total;
}

bool spad__emit_stride(const spad_emit_buffer *b, int64_t *stride) {
    *stride = b->bytes;
    if (b->count < 2) return true;
    if (!spad__sub(b->places[1].byte, b->places[0].byte, stride) || *stride < 0) return false;
    for (size_t i = 1; i < b->count; i++) {
        int64_t step;
        if (b->places[i].lane != b->places[0].lane ||
            !spad__sub(b->places[i].byte, b->places[i - 1].byte, &step) || step != *stride) {
            return false;
        }
    }
    return true;
}

/* ---- JSON -------------------------------------------------------------------------- */

static void json_emit_row(const spad_emit *table, const spad__emit_row *row, spad__json *json) {
    const spad_emit_buffer *b = &row->buffer;
    int64_t stride;
    spad__json_open_flat(json, '{');
    spad__json_key_string(json, "name", b->name);
    spad__json_key_string(json, "identifier", row->identifier);
    if (b->agent != NULL) spad__json_key_string(json, "agent", b->agent);
    if (b->line > 0) spad__json_key_int(json, "line", b->line);
    spad__json_key_string(json, "space", table->target->spaces[b->space].name);
    spad__json_key_int(json, "lanes", b->lanes);
    spad__json_key_int(json, "bytes", b->bytes);
    spad__json_key_int(json, "alignment", b->alignment);
    spad__json_key_int(json, "ring", (int64_t)b->count);
    if (b->arrivals > 0) spad__json_key_int(json, "arrivals", b->arrivals);
    if (spad__emit_stride(b, &stride)) spad__json_key_int(json, "stride", stride);
    if (b->shape.rank > 0) {
        spad__json_key_open(json, "shape", '[');
        for (size_t i = 0; i < b->shape.rank; i++) spad__json_int(json, b->shape.dims[i]);
        spad__json_close(json, ']');
    }
    if (b->dtype != SPAD_DTYPE_NONE)
        spad__json_key_string(json, "dtype", spad_dtype_name(b->dtype));
    spad__json_key_open(json, "places", '[');
    for (size_t k = 0; k < b->count; k++) {
        spad__json_open(json, '[');
        spad__json_int(json, b->places[k].lane);
        spad__json_int(json, b->places[k].byte);
        spad__json_close(json, ']');
    }
    spad__json_close(json, ']');
    spad__json_close_flat(json, '}');
}

void spad__emit_write_json(const spad_emit *table, spad__out *out) {
    spad__json json;
    spad__json_start(&json, out);
    spad__json_open(&json, '{');
    spad__json_key_string(&json, "format", "spad-places");
    spad__json_key_int(&json, "version", 1);
    spad__json_key_string(&json, "kernel", table->name);
    spad__json_key_string(&json, "target", table->target->name);
    spad__json_key_open(&json, "spaces", '[');
    for (size_t s = 0; s < table->target->space_count; s++) {
        const spad_space *space = &table->target->spaces[s];
        if (spad__emit_total(table, s) == 0) continue;
        spad__json_open_flat(&json, '{');
        spad__json_key_string(&json, "name", space->name);
        spad__json_key_int(&json, "lanes", space->lanes);
        spad__json_key_int(&json, "total", spad__emit_total(table, s));
        if (space->bytes != SPAD_UNBOUNDED)
            spad__json_key_int(&json, "limit", spad_space_get_usable(space));
        spad__json_close_flat(&json, '}');
    }
    spad__json_close(&json, ']');
    spad__json_key_open(&json, "buffers", '[');
    for (size_t i = 0; i < table->rows.count; i++)
        json_emit_row(table, &table->rows.items[i], &json);
    spad__json_close(&json, ']');
    spad__json_close(&json, '}');
    spad__json_end(&json);
}

/* ---- CSV: RFC 4180 ----------------------------------------------------------------- */

static void out_csv(spad__out *out, const char *text) {
    if (strpbrk(text, ",\"\r\n") == NULL) {
        spad__out_string(out, text);
        return;
    }
    spad__out_string(out, "\"");
    for (; *text != '\0'; text++) {
        if (*text == '"') spad__out_string(out, "\"");
        spad__out_bytes(out, text, 1);
    }
    spad__out_string(out, "\"");
}

void spad__emit_write_csv(const spad_emit *table, spad__out *out) {
    spad__out_string(out, "name,identifier,space,copy,copies,lane,lanes,byte,bytes,alignment,"
                          "agent,line\n");
    for (size_t i = 0; i < table->rows.count; i++) {
        const spad__emit_row *row = &table->rows.items[i];
        const spad_emit_buffer *b = &row->buffer;
        for (size_t k = 0; k < b->count; k++) {
            out_csv(out, b->name != NULL ? b->name : "");
            spad__out_format(out, ",%s,", row->identifier);
            out_csv(out, table->target->spaces[b->space].name);
            spad__out_format(out, ",%lld,%lld,%lld,%lld,%lld,%lld,%lld,", (long long)k,
                             (long long)b->count, (long long)b->places[k].lane, (long long)b->lanes,
                             (long long)b->places[k].byte, (long long)b->bytes,
                             (long long)b->alignment);
            out_csv(out, b->agent != NULL ? b->agent : "");
            spad__out_string(out, ",");
            if (b->line > 0) spad__out_format(out, "%ld", (long)b->line);
            spad__out_string(out, "\n");
        }
    }
}
