/* SPDX-License-Identifier: Apache-2.0
 *
 * The plan of a block for readers: every part and every buffer with its bytes, as
 * a table and as JSON. Reading only; O(buffers) for each part.
 */
#include "alloc/block/block.h"
#include "base/text.h"

/* ---- text: one buffer -------------------------------------------------------------- */

static void write_name(spad__out *out, const spad_block *block, const block_buffer *buffer) {
    if (buffer->info.name != NULL) {
        spad__out_one_line(out, buffer->info.name);
    } else {
        spad__out_format(out, "#%lld", (long long)(buffer - block->buffers.items));
    }
}

static void write_life(spad__out *out, const spad_block_buffer *info) {
    spad__out_format(out, "[%s, ", spad__grouped(info->begin).text);
    if (info->end == SPAD_OPEN_END) {
        spad__out_string(out, "end)");
    } else {
        spad__out_format(out, "%s)", spad__grouped(info->end).text);
    }
}

static void write_type(spad__out *out, const spad_block_buffer *info) {
    spad__out_string(out, spad_dtype_name(info->dtype));
    if (info->shape.rank == 0) return;
    spad__out_string(out, " ");
    spad__out_shape(out, info->shape);
}

/* Integers in decimal, the rest as its bits. */
static void write_value(spad__out *out, spad_value value) {
    const int bits = spad_dtype_bits(value.dtype);
    const bool is_integer = value.dtype >= SPAD_BOOL && value.dtype <= SPAD_UINT64;
    const bool is_signed = value.dtype >= SPAD_INT4 && value.dtype <= SPAD_INT64;
    if (is_integer || value.bits == 0) {
        const int unused = 64 - bits;
        const int64_t number = is_signed ? (int64_t)(value.bits << unused) >> unused : 0;
        if (is_signed) {
            spad__out_format(out, "%s", spad__grouped(number).text);
        } else {
            spad__out_format(out, "%llu", (unsigned long long)value.bits);
        }
    } else {
        spad__out_format(out, "0x%0*llx", (bits + 3) / 4, (unsigned long long)value.bits);
    }
}

/* "      49152 B  at 1024     [0, 5)  A  float16 (128, 64), 3 stages 16384 B apart" */
static void write_placed(spad__out *out, const spad_block *block, const block_buffer *buffer) {
    const spad_block_buffer *info = &buffer->info;
    spad__out_format(out, "    %10s B  at %-8s ", spad__grouped(info->span).text,
                     spad__grouped(info->offset).text);
    write_life(out, info);
    spad__out_string(out, "  ");
    write_name(out, block, buffer);
    spad__out_string(out, "  ");
    if (spad__block_is_barrier(info->scope)) {
        spad__out_format(out, "%zu %s%s, arrivals", info->arrival_count,
                         info->scope == SPAD_BLOCK_BARRIER ? "barrier" : "cluster barrier",
                         info->arrival_count == 1 ? "" : "s");
        for (size_t i = 0; i < info->arrival_count; i++) {
            spad__out_format(out, " %s", spad__grouped(info->arrivals[i]).text);
        }
    } else {
        write_type(out, info);
    }
    if (info->stages > 1) {
        spad__out_format(out, ", %s stages of %s B, %s B apart", spad__grouped(info->stages).text,
                         spad__grouped(info->bytes).text, spad__grouped(info->stride).text);
    }
    if (buffer->pinned) spad__out_string(out, ", pinned");
    spad__out_string(out, "\n");
}

static void write_kind(spad__out *out, const spad_block *block, block_kind kind, size_t space) {
    for (size_t i = 0; i < block->buffers.count; i++) {
        const block_buffer *buffer = &block->buffers.items[i];
        if (buffer->kind == kind && buffer->info.space == space) write_placed(out, block, buffer);
    }
}

/* ---- text: parts ------------------------------------------------------------------- */

static void write_part(spad__out *out, int64_t bytes, const char *what) {
    spad__out_format(out, "%10s B  %s\n", spad__grouped(bytes).text, what);
}

static void write_shared(spad__out *out, const spad_block *block, size_t shared) {
    const spad_block_totals *t = &block->totals;
    spad__out_format(out, "%10s B  dynamic arena, base aligned to %s B\n",
                     spad__grouped(t->dynamic_bytes).text, spad__grouped(t->base_align).text);
    write_kind(out, block, BLOCK_ARENA, shared);
    if (t->peak_time >= 0) {
        spad__out_format(out,
                         "              buffers %s B, stage padding %s B; at most %s B "
                         "live, at time %s\n",
                         spad__grouped(t->buffer_bytes).text, spad__grouped(t->stage_padding).text,
                         spad__grouped(t->lower_bound).text, spad__grouped(t->peak_time).text);
    }
    write_part(out, t->static_bytes, "static");
    write_kind(out, block, BLOCK_STATIC, shared);
    if (block->word_bytes > 0) {
        spad__out_format(out, "    %10s B  address words of tensor memory\n",
                         spad__grouped(block->word_bytes).text);
    }
    write_part(out, t->base_padding, "padding before the arena");
    write_part(out, t->reserve_bytes, "reserve of the driver");
    spad__out_format(out, "  opt-in: %s, the plain limit is %s B of static, padding and dynamic\n",
                     t->needs_opt_in ? "needed" : "not needed",
                     spad__grouped(t->static_limit).text);
    if (t->fits) {
        spad__out_format(out, "  blocks per unit: %s, limited by %s\n",
                         spad__grouped(t->blocks_per_unit).text, t->limited_by);
    }
}

static void write_tensor_memory(spad__out *out, const spad_block *block) {
    const spad_block_totals *t = &block->totals;
    if (t->tmem_allocs == 0) return;
    spad__out_format(out, "  tensor memory: %s of %s columns, allocations of",
                     spad__grouped(t->tmem_columns).text, spad__grouped(t->tmem_available).text);
    for (size_t i = 0; i < block->tmem_sizes.count; i++) {
        spad__out_format(out, " %s", spad__grouped(block->tmem_sizes.items[i]).text);
    }
    spad__out_string(out, "\n");
    for (size_t i = 0; i < block->buffers.count; i++) {
        const block_buffer *buffer = &block->buffers.items[i];
        const spad_block_buffer *info = &buffer->info;
        if (buffer->kind != BLOCK_TENSOR) continue;
        spad__out_format(out, "    %10s columns  at %s of allocation %s, lanes %s to %s  ",
                         spad__grouped(info->columns).text, spad__grouped(info->column).text,
                         spad__grouped(info->alloc).text, spad__grouped(info->lane).text,
                         spad__grouped(info->lane + info->lanes - 1).text);
        write_life(out, info);
        spad__out_string(out, "  ");
        write_name(out, block, buffer);
        spad__out_string(out, "  ");
        write_type(out, info);
        spad__out_string(out, "\n");
    }
}

static void write_levels(spad__out *out, const spad_block *block) {
    const spad_target *target = block->target;
    for (size_t s = 0; s < target->space_count; s++) {
        if (block->arena_bytes[s] == 0) continue;
        spad__out_format(out, "%10s B  of %s in %s\n", spad__grouped(block->arena_bytes[s]).text,
                         spad__grouped(spad_space_get_usable(&target->spaces[s])).text,
                         target->spaces[s].name);
        write_kind(out, block, BLOCK_ARENA, s);
    }
}

static void write_unplaced(spad__out *out, const spad_block *block, block_kind kind) {
    for (size_t i = 0; i < block->buffers.count; i++) {
        const block_buffer *buffer = &block->buffers.items[i];
        const spad_block_buffer *info = &buffer->info;
        if (buffer->kind != kind) continue;
        spad__out_format(out, "    %10s B  %s  ", spad__grouped(info->bytes).text,
                         spad_block_scope_name(info->scope));
        write_name(out, block, buffer);
        spad__out_string(out, "  ");
        write_type(out, info);
        if (info->scope == SPAD_BLOCK_VAR) {
            spad__out_string(out, ", first ");
            write_value(out, info->init);
        }
        if (info->scope == SPAD_BLOCK_REDUCER) {
            spad__out_format(out, ", %s, seed ", spad_reduce_name(info->op));
            write_value(out, info->init);
        }
        spad__out_string(out, "\n");
    }
}

static bool has_kind(const spad_block *block, block_kind kind) {
    for (size_t i = 0; i < block->buffers.count; i++) {
        if (block->buffers.items[i].kind == kind) return true;
    }
    return false;
}

static void write_block_text(spad__out *out, const void *object) {
    const spad_block *block = object;
    size_t shared = SPAD_NO_SPACE; /* a block that is no core has one */
    if (!block->is_core) spad_target_find_space(&shared, block->target, "shared", NULL);
    const spad_block_totals *t = &block->totals;
    spad__out_one_line(out, block->options.name);
    spad__out_format(out, " on %s: %s", block->target->name, t->fits ? "fits" : "does not fit");
    if (block->is_core) {
        spad__out_string(out, "\n");
        write_levels(out, block);
    } else {
        spad__out_format(out, ", %s of %s B of shared memory\n", spad__grouped(t->block_bytes).text,
                         spad__grouped(t->limit_bytes).text);
        write_shared(out, block, shared);
    }
    write_tensor_memory(out, block);
    if (has_kind(block, BLOCK_THREAD)) {
        spad__out_format(out, "  registers: at least %s B a thread\n",
                         spad__grouped(t->thread_bytes).text);
        write_unplaced(out, block, BLOCK_THREAD);
    }
    if (has_kind(block, BLOCK_GLOBAL)) {
        spad__out_string(out, "  global memory, allocated by the host\n");
        write_unplaced(out, block, BLOCK_GLOBAL);
    }
}

/* ---- JSON -------------------------------------------------------------------------- */

static void json_shape(spad__json *json, spad_shape shape) {
    spad__json_key_open(json, "shape", '[');
    for (size_t i = 0; i < shape.rank; i++) spad__json_int(json, shape.dims[i]);
    spad__json_close(json, ']');
}

static void json_numbers(spad__json *json, const char *key, const int64_t *numbers, size_t count) {
    spad__json_key_open(json, key, '[');
    for (size_t i = 0; i < count; i++) spad__json_int(json, numbers[i]);
    spad__json_close(json, ']');
}

static void json_buffer_place(spad__json *json, const block_buffer *buffer) {
    const spad_block_buffer *info = &buffer->info;
    if (buffer->kind == BLOCK_ARENA || buffer->kind == BLOCK_STATIC) {
        spad__json_key_int(json, "stages", info->stages);
        spad__json_key_int(json, "stride", info->stride);
        spad__json_key_int(json, "span", info->span);
        spad__json_key_int(json, "align", info->align);
        spad__json_key_int(json, "offset", info->offset);
        spad__json_key_int(json, "byte", info->byte);
        spad__json_key_bool(json, "static", info->is_static);
        spad__json_key_bool(json, "pinned", buffer->pinned);
    }
    if (buffer->kind == BLOCK_TENSOR) {
        spad__json_key_int(json, "allocation", info->alloc);
        spad__json_key_int(json, "column", info->column);
        spad__json_key_int(json, "columns", info->columns);
        spad__json_key_int(json, "lane", info->lane);
        spad__json_key_int(json, "lanes", info->lanes);
    }
    if (spad__block_is_barrier(info->scope)) {
        json_numbers(json, "arrivals", info->arrivals, info->arrival_count);
    }
    if (info->scope == SPAD_BLOCK_REDUCER) {
        spad__json_key_string(json, "operator", spad_reduce_name(info->op));
    }
}

static void json_buffer(spad__json *json, const spad_block *block, const block_buffer *buffer) {
    const spad_block_buffer *info = &buffer->info;
    spad__json_open(json, '{');
    spad__json_key_int(json, "number", buffer - block->buffers.items);
    spad__json_key_string(json, "name", info->name);
    spad__json_key_string(json, "scope", spad_block_scope_name(info->scope));
    spad__json_key_string(json, "space",
                          info->space == SPAD_NO_SPACE ? NULL
                                                       : block->target->spaces[info->space].name);
    spad__json_key_string(json, "dtype", spad_dtype_name(info->dtype));
    json_shape(json, info->shape);
    spad__json_key_int(json, "bytes", info->bytes);
    spad__json_key_int(json, "begin", info->begin);
    spad__json_key(json, "end");
    if (info->end == SPAD_OPEN_END) {
        spad__json_string(json, NULL);
    } else {
        spad__json_int(json, info->end);
    }
    json_buffer_place(json, buffer);
    spad__json_close(json, '}');
}

static void json_block_totals(spad__json *json, const spad_block *block) {
    const spad_block_totals *t = &block->totals;
    const struct {
        const char *key;
        int64_t value;
    } rows[] = {
        {"block_bytes", t->block_bytes},     {"limit_bytes", t->limit_bytes},
        {"dynamic_bytes", t->dynamic_bytes}, {"static_bytes", t->static_bytes},
        {"static_limit", t->static_limit},   {"address_word_bytes", block->word_bytes},
        {"base_padding", t->base_padding},   {"base_align", t->base_align},
        {"reserve_bytes", t->reserve_bytes}, {"buffer_bytes", t->buffer_bytes},
        {"stage_padding", t->stage_padding}, {"lower_bound", t->lower_bound},
        {"peak_time", t->peak_time},         {"blocks_per_unit", t->blocks_per_unit},
    };
    spad__json_key_open(json, "shared", '{');
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        spad__json_key_int(json, rows[i].key, rows[i].value);
    }
    spad__json_key_string(json, "limited_by", t->limited_by);
    spad__json_key_bool(json, "needs_opt_in", t->needs_opt_in);
    spad__json_close(json, '}');
    spad__json_key_open(json, "tensor_memory", '{');
    spad__json_key_int(json, "columns", t->tmem_columns);
    spad__json_key_int(json, "available", t->tmem_available);
    json_numbers(json, "allocations", block->tmem_sizes.items, block->tmem_sizes.count);
    spad__json_close(json, '}');
}

static void json_levels(spad__json *json, const spad_block *block) {
    spad__json_key_open(json, "levels", '[');
    for (size_t s = 0; s < block->target->space_count; s++) {
        if (block->arena_bytes[s] == 0) continue;
        const spad_space *space = &block->target->spaces[s];
        spad__json_open(json, '{');
        spad__json_key_string(json, "space", space->name);
        spad__json_key_int(json, "bytes", block->arena_bytes[s]);
        spad__json_key_int(json, "limit", spad_space_get_usable(space));
        spad__json_close(json, '}');
    }
    spad__json_close(json, ']');
}

static void write_block_json(spad__json *json, const void *object) {
    const spad_block *block = object;
    spad__json_open(json, '{');
    spad__json_key_string(json, "block", block->options.name);
    spad__json_key_string(json, "target", block->target->name);
    spad__json_key_bool(json, "fits", block->totals.fits);
    if (block->is_core) {
        json_levels(json, block);
    } else {
        json_block_totals(json, block);
    }
    spad__json_key_int(json, "thread_bytes", block->totals.thread_bytes);
    spad__json_key_open(json, "buffers", '[');
    for (size_t i = 0; i < block->buffers.count; i++) {
        json_buffer(json, block, &block->buffers.items[i]);
    }
    spad__json_close(json, ']');
    spad__json_close(json, '}');
}

spad_status spad_block_write(const spad_block *block, spad_format format, const spad_sink *sink,
                             spad_error *error) {
    const spad_status status = spad__block_need_plan(block, error);
    if (status != SPAD_OK) return status;
    return spad__write_as(block, write_block_text, write_block_json, format, sink, error);
}
