/* SPDX-License-Identifier: Apache-2.0
 *
 * The table that is emitted: rows from layouts, plans or calls, and the names
 * of their constants.
 *
 * An identifier keeps letters, digits and '_' of a name, has at most IDENTIFIER_MAX
 * characters, and gets a number after it when another row or space has it already. Every
 * constant is such a name, '_' and one word without '_', so different names never give
 * the same constant.
 */
#include "emit/emit.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/checked.h"
#include "base/error.h"
#include "layout/layout.h"
#include "plan/problem/problem.h"

enum { IDENTIFIER_MAX = 64, NUMBER_ROOM = 24 };

const char *spad_emit_lang_name(spad_emit_lang lang) {
    static const char *const names[SPAD_EMIT_LANGS] = {"c",        "cuda", "nki",
                                                       "tilelang", "json", "csv"};
    return (unsigned)lang < SPAD_EMIT_LANGS ? names[lang] : "?";
}

/* ---- identifiers ------------------------------------------------------------------- */

static char upper(char c) {
    return c >= 'a' && c <= 'z' ? (char)(c - 'a' + 'A') : c;
}

/* field has IDENTIFIER_MAX + 1 characters. Brackets at the end are dropped. */
static void make_identifier(char *field, const char *name) {
    size_t used = 0;
    bool gap = false;
    for (; *name != '\0' && used < IDENTIFIER_MAX; name++) {
        const char c = upper(*name);
        const bool plain = (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_';
        if (plain && gap && used + 1 < IDENTIFIER_MAX && field[used - 1] != '_')
            field[used++] = '_';
        if (plain) field[used++] = c;
        gap = !plain && used > 0;
    }
    if (used == 0) field[used++] = 'B';
    field[used] = '\0';
}

/* The identifier of a name, with a number if it is taken; NULL: no memory. */
static const char *take_identifier(spad_emit *table, const char *name) {
    char field[IDENTIFIER_MAX + 1 + NUMBER_ROOM];
    make_identifier(field, name);
    const size_t length = strlen(field);
    for (long long number = 2; spad__names_find(&table->taken, "", field) != NULL; number++) {
        snprintf(field + length, NUMBER_ROOM, "_%lld", number);
    }
    return spad__names_add(&table->taken, "", field);
}

/* ---- life -------------------------------------------------------------------------- */

static spad_status name_spaces(spad_emit *table, spad_error *error) {
    const size_t count = table->target->space_count;
    table->space_names = spad__new_array(&table->host, count, sizeof *table->space_names);
    if (table->space_names == NULL) return spad__fail_host_memory(error);
    for (size_t i = 0; i < count; i++) {
        table->space_names[i] = take_identifier(table, table->target->spaces[i].name);
        if (table->space_names[i] == NULL) return spad__fail_host_memory(error);
    }
    return SPAD_OK;
}

spad_status spad_emit_create(spad_emit **out, const spad_target *target, const char *name,
                             const spad_host *host, spad_error *error) {
    *out = NULL;
    const spad_host memory = spad__host_or_default(host);
    spad_emit *table = spad__new(&memory, sizeof *table);
    if (table == NULL) return spad__fail_host_memory(error);
    if (name == NULL) name = "spad";
    char prefix[IDENTIFIER_MAX + 1];
    make_identifier(prefix, name);
    const char *digit = prefix[0] >= '0' && prefix[0] <= '9' ? "K" : ""; /* no digit in front */
    char whole[IDENTIFIER_MAX + 2];
    snprintf(whole, sizeof whole, "%s%s", digit, prefix);
    table->host = memory;
    table->texts.host = memory;
    table->target = target;
    spad__names_init(&table->taken, &memory);
    table->name = spad__arena_copy(&table->texts, name, strlen(name));
    table->prefix = spad__arena_copy(&table->texts, whole, strlen(whole));
    spad_status status = table->name != NULL && table->prefix != NULL
                             ? name_spaces(table, error)
                             : spad__fail_host_memory(error);
    if (status != SPAD_OK) {
        spad_emit_destroy(table);
        return status;
    }
    *out = table;
    return SPAD_OK;
}

void spad_emit_destroy(spad_emit *table) {
    if (table == NULL) return;
    const spad_host host = table->host;
    if (table->space_names != NULL) {
        spad__free(&host, table->space_names,
                   table->target->space_count * sizeof *table->space_names);
    }
    spad__array_free(&host, &table->rows);
    spad__names_free(&table->taken);
    spad__arena_free(&table->texts);
    spad__free(&host, table, sizeof *table);
}

/* ---- rows -------------------------------------------------------------------------- */

static spad_status check_buffer(const spad_emit *table, const spad_emit_buffer *buffer,
                                spad_error *error) {
    if (buffer->space >= table->target->space_count || buffer->count == 0 || buffer->lanes < 0 ||
        buffer->bytes < 0 || buffer->alignment < 1 || buffer->arrivals < 0 ||
        buffer->shape.rank > SPAD_RANK_MAX) {
        spad__fail(error, SPAD_ERR_ARGUMENT,
                   "a buffer of %zu copies of %lld lanes x %lld bytes, alignment %lld, in space "
                   "number %zu cannot be emitted",
                   buffer->count, (long long)buffer->lanes, (long long)buffer->bytes,
                   (long long)buffer->alignment, buffer->space);
        spad__fact_names(error, buffer->name, NULL);
        return SPAD_ERR_ARGUMENT;
    }
    for (size_t i = 0; i < buffer->count; i++) {
        int64_t end;
        if (spad__add(buffer->places[i].byte, buffer->bytes, &end)) continue;
        spad__fail(error, SPAD_ERR_OVERFLOW, "the end of a buffer does not fit 64 bits");
        spad__fact_names(error, buffer->name, NULL);
        return SPAD_ERR_OVERFLOW;
    }
    return SPAD_OK;
}

static void *copy_items(spad_emit *table, const void *from, size_t count, size_t item_size) {
    void *block = spad__arena_array(&table->texts, count > 0 ? count : 1, item_size);
    if (block != NULL && count > 0) memcpy(block, from, count * item_size);
    return block;
}

static bool copy_row(spad_emit *table, spad__emit_row *row) {
    spad_emit_buffer *b = &row->buffer;
    if (b->name != NULL) {
        b->name = spad__arena_copy(&table->texts, b->name, strlen(b->name));
        if (b->name == NULL) return false;
    }
    if (b->agent != NULL) {
        b->agent = spad__arena_copy(&table->texts, b->agent, strlen(b->agent));
        if (b->agent == NULL) return false;
    }
    b->places = copy_items(table, b->places, b->count, sizeof *b->places);
    b->shape.dims = copy_items(table, b->shape.dims, b->shape.rank, sizeof *b->shape.dims);
    if (b->places == NULL || b->shape.dims == NULL) return false;
    row->identifier = take_identifier(table, b->name != NULL ? b->name : "");
    return row->identifier != NULL;
}

spad_status spad_emit_add(spad_emit *table, const spad_emit_buffer *buffer, spad_error *error) {
    const spad_status status = check_buffer(table, buffer, error);
    if (status != SPAD_OK) return status;
    const spad__arena_mark mark = spad__arena_here(&table->texts);
    spad__emit_row row = {.buffer = *buffer};
    if (!spad__array_reserve(&table->host, &table->rows, 1) || !copy_row(table, &row)) {
        spad__arena_rewind(&table->texts, mark);
        return spad__fail_host_memory(error);
    }
    table->rows.items[table->rows.count++] = row;
    return SPAD_OK;
}

/* Takes back the rows from number `count` on. */
static void forget_rows(spad_emit *table, size_t count) {
    table->rows.count = count;
    spad__names_truncate(&table->taken, table->target->space_count + count);
}

/* ---- from a plan ------------------------------------------------------------------- */

spad_status spad_emit_add_plan(spad_emit *table, const spad_plan *plan,
                               const spad_plan_result *result, size_t space, spad_error *error) {
    const size_t before = table->rows.count;
    const spad_plan_place *places;
    spad_status status = spad__plan_places(&places, plan, result, error);
    for (size_t i = 0; i < plan->buffers.count && status == SPAD_OK; i++) {
        const spad_plan_buffer *b = &plan->buffers.items[i];
        const spad_emit_place place = {places[i].lane, places[i].offset};
        const spad_emit_buffer buffer = {.name = b->name,
                                         .space = space,
                                         .lanes = spad__max(b->lanes, 1),
                                         .bytes = b->size,
                                         .alignment = spad__max(b->alignment, 1),
                                         .count = 1,
                                         .places = &place};
        status = spad_emit_add(table, &buffer, error);
    }
    if (status != SPAD_OK) forget_rows(table, before);
    return status;
}

/* ---- from a layout ----------------------------------------------------------------- */

typedef SPAD_ARRAY(spad_emit_place) place_list;

/* The places of the slots of one buffer, at their numbers. */
static bool collect_places(const spad_host *host, place_list *list,
                           const spad_layout_buffer *buffer) {
    if (!spad__array_reserve(host, list, buffer->slots)) return false;
    for (int64_t s = 0; s < buffer->slots; s++) {
        list->items[list->count++] =
            (spad_emit_place){buffer->rect.lane, buffer->rect.byte + s * buffer->stride};
    }
    return true;
}

static bool same_owner(const spad_layout_buffer *a, const spad_layout_buffer *b) {
    return a->tensor == b->tensor && a->sync == b->sync;
}

/* Tensors in the order of the kernel, then barriers; the slots of each in order. */
static int compare_owners(const void *left, const void *right) {
    const spad_layout_buffer *a = *(const spad_layout_buffer *const *)left;
    const spad_layout_buffer *b = *(const spad_layout_buffer *const *)right;
    if (a->sync != b->sync) return a->sync < b->sync ? -1 : 1;
    if (a->tensor != b->tensor) return a->tensor < b->tensor ? -1 : 1;
    return (a->slot > b->slot) - (a->slot < b->slot);
}

/* One row from the `count` buffers of one tensor or barrier. */
static spad_status add_owner(spad_emit *table, const spad_kernel *kernel, size_t space,
                             const spad_layout_buffer *const *buffers, size_t count,
                             place_list *list, spad_error *error) {
    const spad_layout_buffer *first = buffers[0];
    list->count = 0;
    for (size_t i = 0; i < count; i++) {
        if (buffers[i]->rect.byte == SPAD_NO_BYTE) {
            spad__fail(error, SPAD_ERR_NO_FIT, "'%s' has no place in %s", first->name,
                       table->target->spaces[space].name);
            spad__fact_names(error, first->name, NULL);
            return SPAD_ERR_NO_FIT;
        }
        if (!collect_places(&table->host, list, buffers[i])) return spad__fail_host_memory(error);
    }
    int64_t dims[SPAD_RANK_MAX];
    spad_emit_buffer buffer = {.name = first->name,
                               .space = space,
                               .lanes = first->rect.lanes,
                               .bytes = first->rect.bytes,
                               .alignment = spad__max(first->alignment, 1),
                               .count = list->count,
                               .places = list->items};
    buffer.line = spad__buffer_origin(kernel, first, &buffer.agent);
    if (first->tensor >= 0) {
        const spad_kernel_tensor *tensor = spad_kernel_get_tensor(kernel, (size_t)first->tensor);
        for (size_t i = 0; i < tensor->dims.count; i++) dims[i] = tensor->dims.items[i].value;
        buffer.shape = (spad_shape){tensor->dims.count, dims};
        buffer.dtype = tensor->dtype;
    } else if (first->sync >= 0) {
        const spad_kernel_sync *sync = spad_kernel_get_sync(kernel, (size_t)first->sync);
        if (sync->kind == SPAD_SYNC_MBARRIER) buffer.arrivals = sync->count.value;
    }
    return spad_emit_add(table, &buffer, error);
}

static spad_status add_emit_space(spad_emit *table, const spad_layout *layout,
                                  const spad_layout_space *space, place_list *list,
                                  spad_error *error) {
    const size_t count = space->buffer_count;
    if (count == 0) return SPAD_OK;
    const spad_layout_buffer **buffers = spad__new_array(&table->host, count, sizeof *buffers);
    if (buffers == NULL) return spad__fail_host_memory(error);
    for (size_t i = 0; i < count; i++) {
        buffers[i] = spad_layout_get_buffer(layout, space->first_buffer + i);
    }
    qsort(buffers, count, sizeof *buffers, compare_owners);
    spad_status status = SPAD_OK;
    for (size_t i = 0; i < count && status == SPAD_OK;) {
        size_t same = 1;
        while (i + same < count && same_owner(buffers[i], buffers[i + same])) same++;
        status = add_owner(table, spad_layout_get_kernel(layout), space->space, buffers + i, same,
                           list, error);
        i += same;
    }
    spad__free(&table->host, buffers, count * sizeof *buffers);
    return status;
}

/* A row for a tensor that is inside another one; none if it has a place only while the kernel
 * runs. */
static spad_status add_alias(spad_emit *table, const spad_layout *layout,
                             const spad_kernel_tensor *alias, place_list *list, spad_error *error) {
    const int64_t count = spad__layout_alias_slots(layout, alias);
    int64_t dims[SPAD_RANK_MAX];
    spad_rect rect;
    list->count = 0;
    if (!spad__array_reserve(&table->host, list, count)) return spad__fail_host_memory(error);
    for (int64_t s = 0; s < count; s++) {
        if (!spad__layout_alias_place(&rect, layout, alias, s)) return SPAD_OK;
        list->items[list->count++] = (spad_emit_place){rect.lane, rect.byte};
    }
    for (size_t i = 0; i < alias->dims.count; i++) dims[i] = alias->dims.items[i].value;
    const spad_emit_buffer buffer = {.name = alias->name,
                                     .space = alias->space,
                                     .lanes = alias->tile_lanes,
                                     .bytes = alias->tile_bytes,
                                     .alignment = spad__max(alias->align.value, 1),
                                     .count = list->count,
                                     .places = list->items,
                                     .shape = {alias->dims.count, dims},
                                     .dtype = alias->dtype,
                                     .line = alias->location.line};
    return spad_emit_add(table, &buffer, error);
}

static spad_status add_aliases(spad_emit *table, const spad_layout *layout, place_list *list,
                               spad_error *error) {
    const spad_kernel *kernel = spad_layout_get_kernel(layout);
    spad_status status = SPAD_OK;
    for (size_t i = 0; i < spad_kernel_tensor_count(kernel) && status == SPAD_OK; i++) {
        const spad_kernel_tensor *tensor = spad_kernel_get_tensor(kernel, i);
        if (tensor->mode != SPAD_MODE_ALIAS || table->target->spaces[tensor->space].off_chip)
            continue;
        status = add_alias(table, layout, tensor, list, error);
    }
    return status;
}

spad_status spad_emit_add_layout(spad_emit *table, const spad_layout *layout, spad_error *error) {
    if (!spad_layout_fits(layout)) {
        return spad__fail(error, SPAD_ERR_NO_FIT,
                          "kernel '%s' does not fit, so it has no places to emit; see spad fit",
                          spad_kernel_get_name(spad_layout_get_kernel(layout)));
    }
    if (spad_kernel_get_target(spad_layout_get_kernel(layout)) != table->target) {
        return spad__fail(error, SPAD_ERR_ARGUMENT, "the kernel is for another target than '%s'",
                          table->target->name);
    }
    const size_t before = table->rows.count;
    place_list list = {0};
    spad_status status = SPAD_OK;
    for (size_t k = 0; k < spad_layout_space_count(layout) && status == SPAD_OK; k++) {
        status = add_emit_space(table, layout, spad_layout_get_space(layout, k), &list, error);
    }
    if (status == SPAD_OK) status = add_aliases(table, layout, &list, error);
    spad__array_free(&table->host, &list);
    if (status != SPAD_OK) forget_rows(table, before);
    return status;
}

spad_status spad_emit_write(const spad_emit *table, spad_emit_lang lang, const spad_sink *sink,
                            spad_error *error) {
    spad__out out;
    if (lang == SPAD_EMIT_TILELANG) {
        const spad_status status = spad__emit_check_tilelang(table, error);
        if (status != SPAD_OK) return status;
    }
    spad__out_start(&out, sink);
    switch (lang) {
    case SPAD_EMIT_C: spad__emit_write_c(table, false, &out); break;
    case SPAD_EMIT_CUDA: spad__emit_write_c(table, true, &out); break;
    case SPAD_EMIT_NKI: spad__emit_write_nki(table, &out); break;
    case SPAD_EMIT_TILELANG: spad__emit_write_tilelang(table, &out); break;
    case SPAD_EMIT_JSON: spad__emit_write_json(table, &out); break;
    case SPAD_EMIT_CSV: spad__emit_write_csv(table, &out); break;
    default: return spad__fail(error, SPAD_ERR_ARGUMENT, "no language has number %d", (int)lang);
    }
    return spad__out_finish(&out, error);
}
