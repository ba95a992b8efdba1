/* SPDX-License-Identifier: Apache-2.0
 *
 * The plan of a block: tensor memory first, as its allocations need address
 * words in static shared memory; then the static part, then every arena; then the
 * sums, the fit, and the walk for the trace.
 *
 * What counts against the limit of a launch is static + dynamic, and the static
 * part is rounded up to the alignment of the arena after it (ptxas 13.0 reports
 * 1024 bytes for 54 static ones in front of an arena aligned to 1024). Limits:
 * CUDA programming guide, cccl arch_traits.h.
 *
 * Invariant: results are written to the block only when nothing can fail any more.
 */
#include <stdio.h>
#include <string.h>

#include "alloc/block/block.h"
#include "base/assert.h"
#include "base/checked.h"
#include "base/entry.h"
#include "base/error.h"
#include "base/largest.h"
#include "base/moment.h"
#include "spad/experimental/trace_queries.h"
#include "trace/trace.h"

enum { ARENA_GRANULE = 16 /* TileLang rounds the arena to it */, WORD_BYTES = 4 };

/* What is worked out before anything is changed. */
typedef struct plan_draft {
    spad_block *block;
    int64_t horizon;   /* a time after everything */
    block_item *items; /* room for one per buffer, and as many address words */
    size_t item_count;
    int64_t *offsets; /* by buffer */
    spad_tmem_tensor *tensors;
    spad_tmem_place *places;
    int64_t *sizes; /* of the tensor memory allocations */
    size_t tensor_count;
    spad_tmem_totals tmem;
    int64_t arena_bytes[SPAD_SPACES_MAX];
    spad_block_totals totals;
    int64_t word_bytes;
} plan_draft;

/* ---- items ------------------------------------------------------------------------- */

/* The items of one kind in one space. Without reuse everything lives forever. */
static void collect(plan_draft *d, block_kind kind, size_t space, bool reuse) {
    const spad_block *block = d->block;
    d->item_count = 0;
    for (size_t i = 0; i < block->buffers.count; i++) {
        const block_buffer *buffer = &block->buffers.items[i];
        const spad_block_buffer *info = &buffer->info;
        if (buffer->kind != kind || info->space != space) continue;
        spad__assert(info->begin < info->end && info->span >= 0 && info->align >= 1);
        d->items[d->item_count++] = (block_item){
            .begin = reuse ? info->begin : 0,
            .end = reuse ? spad__min(info->end, d->horizon) : d->horizon,
            .bytes = info->span,
            .align = info->align,
            .at = buffer->pinned ? info->offset : -1,
            .name = info->name,
            .buffer = (int64_t)i,
        };
    }
}

static void keep_offsets(plan_draft *d) {
    for (size_t i = 0; i < d->item_count; i++) {
        if (d->items[i].buffer >= 0) d->offsets[d->items[i].buffer] = d->items[i].at;
    }
}

static int64_t horizon(const spad_block *block) {
    int64_t time = block->clock;
    for (size_t i = 0; i < block->buffers.count; i++) {
        const spad_block_buffer *info = &block->buffers.items[i].info;
        time = spad__max(time, info->begin);
        if (info->end != SPAD_OPEN_END) time = spad__max(time, info->end);
    }
    return time < SPAD_OPEN_END ? time + 1 : time;
}

/* ---- parts ------------------------------------------------------------------------- */

static spad_status plan_tensor_memory(plan_draft *d, spad_error *error) {
    const spad_block *block = d->block;
    d->tensor_count = 0;
    for (size_t i = 0; i < block->buffers.count; i++) {
        const block_buffer *buffer = &block->buffers.items[i];
        if (buffer->kind != BLOCK_TENSOR) continue;
        d->tensors[d->tensor_count++] = (spad_tmem_tensor){
            .name = buffer->info.name,
            .lanes = buffer->info.lanes,
            .columns = buffer->info.columns,
            .begin = block->options.no_reuse ? 0 : buffer->info.begin,
            .end = block->options.no_reuse ? d->horizon : spad__min(buffer->info.end, d->horizon),
            .freed_by_hand = buffer->freed_by_hand,
        };
    }
    return spad_tmem_pack(&d->tmem, d->places, d->sizes, d->tensors, d->tensor_count,
                          block->options.policy == SPAD_BLOCK_TILELANG ? SPAD_TMEM_TILELANG
                                                                       : SPAD_TMEM_BEST,
                          &block->host, error);
}

static spad_status plan_static(plan_draft *d, size_t shared, spad_error *error) {
    const spad_block *block = d->block;
    collect(d, BLOCK_STATIC, shared, block->options.merge_static);
    for (size_t i = 0; i < d->tmem.allocs; i++) {
        d->items[d->item_count++] = (block_item){.begin = 0,
                                                 .end = d->horizon,
                                                 .bytes = WORD_BYTES,
                                                 .align = WORD_BYTES,
                                                 .at = -1,
                                                 .buffer = -1};
    }
    d->word_bytes = (int64_t)d->tmem.allocs * WORD_BYTES;
    const bool as_tilelang =
        block->options.merge_static && block->options.policy == SPAD_BLOCK_TILELANG;
    const spad_status status = spad__block_place(
        &d->totals.static_bytes, d->items, d->item_count,
        as_tilelang ? BLOCK_PLACE_TILELANG : BLOCK_PLACE_BEST, &block->host, error);
    if (status == SPAD_OK) keep_offsets(d);
    return status;
}

static block_placing placing_of(const spad_block *block) {
    if (block->options.policy == SPAD_BLOCK_BEST) return BLOCK_PLACE_BEST;
    return block->options.no_reuse ? BLOCK_PLACE_BY_NAME_IN_ROW : BLOCK_PLACE_TILELANG;
}

static spad_status plan_arena(plan_draft *d, size_t space, spad_error *error) {
    const spad_block *block = d->block;
    collect(d, BLOCK_ARENA, space, !block->options.no_reuse);
    int64_t top;
    const spad_status status =
        spad__block_place(&top, d->items, d->item_count, placing_of(block), &block->host, error);
    if (status != SPAD_OK) return status;
    keep_offsets(d);
    /* a single buffer is left alone, by TileLang too */
    const bool exact = block->is_core || d->item_count == 1;
    if (!spad__align_up(top, exact ? 1 : ARENA_GRANULE, &d->arena_bytes[space])) {
        return spad__fail(error, SPAD_ERR_OVERFLOW, "the arena of %s does not fit 64 bits",
                          block->target->spaces[space].name);
    }
    return SPAD_OK;
}

/* ---- sums -------------------------------------------------------------------------- */

/* Needs the items of the dynamic arena. Their sums were checked when they were placed. */
static spad_status sum_arena(plan_draft *d, size_t shared, spad_error *error) {
    spad_block_totals *t = &d->totals;
    const spad_block *block = d->block;
    t->base_align = block->options.policy == SPAD_BLOCK_TILELANG && d->item_count > 0
                        ? SPAD_BLOCK_BASE_ALIGN
                        : ARENA_GRANULE;
    for (size_t i = 0; i < d->item_count; i++) {
        const spad_block_buffer *info = &block->buffers.items[d->items[i].buffer].info;
        t->base_align = spad__max(t->base_align, info->align);
        t->buffer_bytes += info->bytes * info->stages; /* at most the span, and a stage */
        t->stage_padding += info->span - info->bytes * info->stages;
    }
    spad__assert(t->buffer_bytes >= 0 && t->stage_padding >= 0);
    t->dynamic_bytes = d->arena_bytes[shared];
    return spad__block_peak(&t->lower_bound, &t->peak_time, d->items, d->item_count, &block->host,
                            error);
}

static spad_status sum_shared(plan_draft *d, size_t shared, spad_error *error) {
    spad_block_totals *t = &d->totals;
    const spad_space *space = &d->block->target->spaces[shared];
    int64_t base = t->static_bytes;
    if (t->dynamic_bytes > 0 && !spad__align_up(base, t->base_align, &base)) base = -1;
    t->base_padding = base - t->static_bytes;
    t->reserve_bytes = space->reserved;
    t->limit_bytes = space->bytes;
    t->static_limit = space->plain_limit != 0 ? space->plain_limit : spad_space_get_usable(space);
    if (base < 0 || !spad__add(base, t->dynamic_bytes, &t->block_bytes) ||
        !spad__add(t->block_bytes, t->reserve_bytes, &t->block_bytes)) {
        return spad__fail(error, SPAD_ERR_OVERFLOW,
                          "the shared memory of the block does not fit 64 bits");
    }
    /* static bytes and dynamic ones share the plain limit (measured on an H200) */
    t->needs_opt_in = t->dynamic_bytes > 0 && t->block_bytes - t->reserve_bytes > t->static_limit;
    return SPAD_OK;
}

/* Registers of one thread, the most at one time. Fragments are spread over the threads; a
 * reducer that is replicated is not. */
static spad_status sum_threads(plan_draft *d, spad_error *error) {
    const int64_t threads = d->block->options.threads;
    int64_t sum = 0;
    d->item_count = 0;
    for (size_t i = 0; i < d->block->buffers.count; i++) {
        const block_buffer *buffer = &d->block->buffers.items[i];
        const spad_block_buffer *info = &buffer->info;
        if (buffer->kind != BLOCK_THREAD) continue;
        int64_t bytes = info->bytes;
        const bool spread =
            info->scope == SPAD_BLOCK_FRAGMENT ||
            (info->scope == SPAD_BLOCK_REDUCER && info->replication != SPAD_REPLICATION_ALL);
        if (spread) bytes = threads > 0 ? bytes / threads + (bytes % threads != 0) : 0;
        if (!spad__add(sum, bytes, &sum)) {
            return spad__fail(error, SPAD_ERR_OVERFLOW,
                              "the registers of a thread do not fit 64 bits");
        }
        d->items[d->item_count++] = (block_item){
            .begin = info->begin, .end = spad__min(info->end, d->horizon), .bytes = bytes};
    }
    int64_t time;
    return spad__block_peak(&d->totals.thread_bytes, &time, d->items, d->item_count,
                            &d->block->host, error);
}

static void at_most(spad_block_totals *t, int64_t blocks, const char *by) {
    if (blocks >= t->blocks_per_unit) return;
    t->blocks_per_unit = blocks;
    t->limited_by = by;
}

static bool levels_fit(const plan_draft *d) {
    const spad_target *target = d->block->target;
    for (size_t s = 0; s < target->space_count; s++) {
        if (d->block->is_core && d->arena_bytes[s] > spad_space_get_usable(&target->spaces[s])) {
            return false;
        }
    }
    return true;
}

static void judge(plan_draft *d) {
    spad_block_totals *t = &d->totals;
    t->tmem_columns = d->tmem.columns;
    t->tmem_allocs = (int64_t)d->tmem.allocs;
    t->fits = levels_fit(d) && t->block_bytes <= t->limit_bytes &&
              t->static_bytes <= t->static_limit && t->tmem_columns <= t->tmem_available;
    const int64_t groups = spad__max(d->block->target->max_groups, 1);
    t->blocks_per_unit = groups;
    t->limited_by = "the block limit";
    if (t->block_bytes > 0) at_most(t, t->limit_bytes / t->block_bytes, "shared memory");
    if (t->tmem_columns > 0) at_most(t, t->tmem_available / t->tmem_columns, "tensor memory");
    if (!t->fits) t->blocks_per_unit = 0;
}

/* ---- the plan ---------------------------------------------------------------------- */

static spad_status work_out(plan_draft *d, spad_error *error) {
    const spad_block *block = d->block;
    spad_status status = plan_tensor_memory(d, error);
    size_t tmem;
    if (spad_target_find_space(&tmem, block->target, "tmem", NULL) == SPAD_OK) {
        d->totals.tmem_available = block->target->spaces[tmem].bytes / SPAD_TMEM_COLUMN_BYTES;
    }
    if (block->is_core) {
        for (size_t s = 0; s < block->target->space_count && status == SPAD_OK; s++) {
            status = plan_arena(d, s, error);
        }
    } else {
        size_t shared;
        if (status == SPAD_OK)
            status = spad_target_find_space(&shared, block->target, "shared", error);
        if (status == SPAD_OK) status = plan_static(d, shared, error);
        if (status == SPAD_OK) status = plan_arena(d, shared, error);
        if (status == SPAD_OK) status = sum_arena(d, shared, error);
        if (status == SPAD_OK) status = sum_shared(d, shared, error);
    }
    if (status == SPAD_OK) status = sum_threads(d, error);
    if (status == SPAD_OK) judge(d);
    return status;
}

/* Nothing here fails. */
static void adopt(plan_draft *d) {
    spad_block *block = d->block;
    const int64_t base = d->totals.static_bytes + d->totals.base_padding;
    size_t tensor = 0;
    block->tmem_sizes.count = d->tmem.allocs;
    if (d->tmem.allocs > 0) {
        memcpy(block->tmem_sizes.items, d->sizes, d->tmem.allocs * sizeof d->sizes[0]);
    }
    for (size_t i = 0; i < block->buffers.count; i++) {
        block_buffer *buffer = &block->buffers.items[i];
        spad_block_buffer *info = &buffer->info;
        if (buffer->kind == BLOCK_ARENA || buffer->kind == BLOCK_STATIC) {
            info->offset = d->offsets[i];
            info->byte = info->offset + (buffer->kind == BLOCK_ARENA && !block->is_core ? base : 0);
        } else if (buffer->kind == BLOCK_TENSOR) {
            const spad_tmem_place *place = &d->places[tensor++];
            spad__assert(tensor <= d->tensor_count && place->alloc < d->tmem.allocs);
            info->alloc = (int64_t)place->alloc;
            info->column = place->column;
            info->lane = place->lane;
            info->offset = 0; /* first column of the allocation on an empty unit */
            for (size_t a = 0; a < place->alloc; a++) info->offset += d->sizes[a];
            info->offset = (info->offset + place->column) * SPAD_TMEM_COLUMN_BYTES;
            info->byte = info->offset;
        }
    }
    memcpy(block->arena_bytes, d->arena_bytes, sizeof block->arena_bytes);
    block->totals = d->totals;
    block->word_bytes = d->word_bytes;
    spad__assert(tensor == d->tensor_count &&
                 block->tmem_sizes.count <= block->tmem_sizes.capacity);
    block->planned = true;
}

static spad_status check_ready(const spad_block *block, spad_error *error) {
    if (block->regions.count > 0) {
        return spad__fail(error, SPAD_ERR_LIFE_CYCLE,
                          "%zu loops or branches of block %.40s are still open; leave them first",
                          block->regions.count, block->options.name);
    }
    return spad__block_check_reducers(block, error);
}

spad_status spad_block_plan(spad_block *block, spad_error *error) {
    spad_status status = check_ready(block, error);
    if (status != SPAD_OK) return status;
    plan_draft d = {.block = block, .horizon = horizon(block)};
    spad__arena room = {.host = block->host};
    const size_t count = block->buffers.count + 1; /* none is no special case */
    d.items = spad__arena_array(&room, count, 2 * sizeof *d.items);
    d.offsets = spad__arena_array(&room, count, sizeof *d.offsets);
    d.tensors = spad__arena_array(&room, count, sizeof *d.tensors);
    d.places = spad__arena_array(&room, count, sizeof *d.places);
    d.sizes = spad__arena_array(&room, count, sizeof *d.sizes);
    const bool have_room = d.items != NULL && d.offsets != NULL && d.tensors != NULL &&
                           d.places != NULL && d.sizes != NULL;
    status = have_room ? work_out(&d, error) : spad__fail_host_memory(error);
    if (status == SPAD_OK && /* after the sizes of the plan before, which is still there */
        !spad__array_reserve(&block->host, &block->tmem_sizes, d.tmem.allocs)) {
        status = spad__fail_host_memory(error);
    }
    if (status == SPAD_OK) adopt(&d);
    spad__arena_free(&room);
    return status;
}

spad_status spad__block_need_plan(const spad_block *block, spad_error *error) {
    if (block->planned) return SPAD_OK;
    return spad__fail(error, SPAD_ERR_STALE,
                      "the block has no plan, or has changed since; call spad_block_plan");
}

spad_status spad_block_get_totals(spad_block_totals *out, const spad_block *block,
                                  spad_error *error) {
    memset(out, 0, sizeof *out);
    const spad_status status = spad__block_need_plan(block, error);
    if (status == SPAD_OK) *out = block->totals;
    return status;
}

spad_status spad_block_get_arena(int64_t *bytes, int64_t *limit, const spad_block *block,
                                 const char *space, spad_error *error) {
    *bytes = *limit = 0;
    size_t number;
    spad_status status = spad_target_find_space(&number, block->target, space, error);
    if (status == SPAD_OK) status = spad__block_need_plan(block, error);
    if (status != SPAD_OK) return status;
    *bytes = block->arena_bytes[number];
    *limit = spad_space_get_usable(&block->target->spaces[number]);
    return SPAD_OK;
}

/* ---- the fit ----------------------------------------------------------------------- */

static bool is_larger(const void *context, const void *left, const void *right) {
    (void)context;
    const block_buffer *a = *(const block_buffer *const *)left;
    const block_buffer *b = *(const block_buffer *const *)right;
    return a->info.span != b->info.span ? a->info.span > b->info.span : a < b;
}

/* The largest buffers of an arena, as many as there is room for, for a message:
 * "A 49152 B in 3 stages, B 512 B". */
static void list_largest(char *field, size_t size, const spad_block *block, block_kind kind,
                         size_t space) {
    const block_buffer *listed[3];
    spad__largest largest = {.items = (char *)listed,
                             .item_size = sizeof listed[0],
                             .capacity = sizeof listed / sizeof listed[0],
                             .before = is_larger};
    for (size_t i = 0; i < block->buffers.count; i++) {
        const block_buffer *b = &block->buffers.items[i];
        if (b->kind == kind && b->info.space == space) spad__largest_offer(&largest, &b);
    }
    spad__largest_finish(&largest);
    size_t used = 0;
    field[0] = '\0';
    for (size_t n = 0; n < largest.kept; n++) {
        const spad_block_buffer *info = &listed[n]->info;
        char stages[40] = "";
        if (info->stages > 1) {
            snprintf(stages, sizeof stages, " in %lld stages", (long long)info->stages);
        }
        if (!spad__put_entry(field, size, &used, "%s%.24s %lld B%s", n == 0 ? "" : ", ",
                             info->name != NULL ? info->name : "unnamed", (long long)info->span,
                             stages)) {
            return;
        }
    }
}

static spad_status level_does_not_fit(const spad_block *block, size_t space, spad_error *error) {
    const spad_space *s = &block->target->spaces[space];
    char largest[160];
    list_largest(largest, sizeof largest, block, BLOCK_ARENA, space);
    spad__fail(error, SPAD_ERR_NO_FIT,
               "%.40s needs %lld B of %s, %s has %lld B; largest: %s; free buffers earlier or make "
               "tiles smaller",
               block->options.name, (long long)block->arena_bytes[space], s->name,
               block->target->name, (long long)spad_space_get_usable(s), largest);
    spad__fact_names(error, s->name, NULL);
    spad__fact_amounts(error, block->arena_bytes[space], spad_space_get_usable(s), SPAD_NO_FACT);
    return SPAD_ERR_NO_FIT;
}

static spad_status shared_does_not_fit(const spad_block *block, size_t shared, spad_error *error) {
    const spad_block_totals *t = &block->totals;
    char largest[160];
    if (t->static_bytes > t->static_limit) {
        list_largest(largest, sizeof largest, block, BLOCK_STATIC, shared);
        spad__fail(error, SPAD_ERR_NO_FIT,
                   "%.40s has %lld B of static shared memory, %lld B are allowed on every chip; "
                   "largest: %s; use 'shared.dyn'",
                   block->options.name, (long long)t->static_bytes, (long long)t->static_limit,
                   largest);
        spad__fact_amounts(error, t->static_bytes, t->static_limit, SPAD_NO_FACT);
        return SPAD_ERR_NO_FIT;
    }
    list_largest(largest, sizeof largest, block, BLOCK_ARENA, shared);
    spad__fail(
        error, SPAD_ERR_NO_FIT,
        "%.40s needs %lld B of shared memory, %s has %lld B: dynamic %lld, static %lld, base "
        "padding %lld, reserve %lld; largest: %s; use fewer stages or smaller tiles",
        block->options.name, (long long)t->block_bytes, block->target->name,
        (long long)t->limit_bytes, (long long)t->dynamic_bytes, (long long)t->static_bytes,
        (long long)t->base_padding, (long long)t->reserve_bytes, largest);
    spad__fact_names(error, "shared", NULL);
    spad__fact_amounts(error, t->block_bytes, t->limit_bytes, SPAD_NO_FACT);
    return SPAD_ERR_NO_FIT;
}

static spad_status tensors_do_not_fit(const spad_block *block, spad_error *error) {
    const spad_block_totals *t = &block->totals;
    spad__fail(
        error, SPAD_ERR_NO_FIT,
        "%.40s needs %lld columns of tensor memory in %lld allocations, %lld are available on "
        "%s; end tensors earlier or make them narrower",
        block->options.name, (long long)t->tmem_columns, (long long)t->tmem_allocs,
        (long long)t->tmem_available, block->target->name);
    spad__fact_names(error, "tmem", NULL);
    spad__fact_amounts(error, t->tmem_columns, t->tmem_available, SPAD_NO_FACT);
    return SPAD_ERR_NO_FIT;
}

spad_status spad_block_check_fit(const spad_block *block, spad_error *error) {
    const spad_status status = spad__block_need_plan(block, error);
    const spad_block_totals *t = &block->totals;
    if (status != SPAD_OK || t->fits) return status;
    if (t->tmem_columns > t->tmem_available) return tensors_do_not_fit(block, error);
    for (size_t s = 0; s < block->target->space_count; s++) {
        const spad_space *space = &block->target->spaces[s];
        if (block->is_core && block->arena_bytes[s] > spad_space_get_usable(space)) {
            return level_does_not_fit(block, s, error);
        }
        if (!block->is_core && strcmp(space->name, "shared") == 0) {
            return shared_does_not_fit(block, s, error);
        }
    }
    return spad__fail(error, SPAD_ERR_INTERNAL, "a plan does not fit, without a reason");
}

/* ---- the trace --------------------------------------------------------------------- */

static spad_tensor as_tensor(const block_buffer *buffer, int64_t scope) {
    const spad_block_buffer *info = &buffer->info;
    spad_tensor tensor = {
        .name = info->name,
        .shape = info->shape,
        .dtype = info->dtype,
        .mode = buffer->pinned ? SPAD_MODE_AT : SPAD_MODE_AUTO,
        .space = info->space,
        .rect = {.lane = 0, .lanes = 1, .byte = info->byte, .bytes = info->span},
        .scope = scope,
    };
    if (buffer->kind == BLOCK_TENSOR) {
        tensor.rect.lane = info->lane;
        tensor.rect.lanes = info->lanes;
        tensor.rect.bytes = info->columns * SPAD_TMEM_COLUMN_BYTES;
    }
    return tensor;
}

/* numbers: of the tensors in the trace, by buffer. */
static spad_status write_walk(const spad_block *block, spad_trace *trace,
                              const spad__moment *moments, size_t count, int64_t *numbers,
                              spad_error *error) {
    int64_t scope = -1;
    size_t space; /* the one that the scope is about */
    spad_status status =
        spad_target_find_space(&space, block->target, block->is_core ? "ub" : "shared", error);
    if (status == SPAD_OK) {
        status = spad_trace_open_scope(&scope, trace, space, block->options.name, 1, -1, 0, error);
    }
    for (size_t i = 0; i < count && status == SPAD_OK; i++) {
        const size_t b = moments[i].buffer;
        const block_buffer *buffer = &block->buffers.items[b];
        if (!moments[i].begins) {
            status = spad_trace_free(trace, numbers[b], scope, 0, error);
            continue;
        }
        const spad_tensor tensor = as_tensor(buffer, scope);
        status = spad_trace_alloc(&numbers[b], trace, &tensor, tensor.rect.byte, error);
    }
    if (status != SPAD_OK) return status;
    const int64_t bytes = block->totals.block_bytes - block->totals.reserve_bytes;
    return spad_trace_close_scope(trace, scope, bytes, bytes, error);
}

spad_status spad_block_write_trace(const spad_block *block, spad_trace *trace, spad_error *error) {
    spad_status status = spad__block_need_plan(block, error);
    if (status != SPAD_OK) return status;
    if (spad_trace_get_target(trace) != block->target) {
        return spad__fail(error, SPAD_ERR_ARGUMENT, "the trace was made for target %s, not for %s",
                          spad_trace_get_target(trace)->name, block->target->name);
    }
    spad__arena room = {.host = block->host};
    spad__moment *moments = spad__arena_array(&room, 2 * block->buffers.count + 1, sizeof *moments);
    int64_t *numbers = spad__arena_array(&room, block->buffers.count + 1, sizeof *numbers);
    if (moments == NULL || numbers == NULL) {
        spad__arena_free(&room);
        return spad__fail_host_memory(error);
    }
    size_t count = 0;
    for (size_t i = 0; i < block->buffers.count; i++) {
        const spad_block_buffer *info = &block->buffers.items[i].info;
        if (info->space == SPAD_NO_SPACE) continue;
        moments[count++] = (spad__moment){info->begin, i, true};
        moments[count++] = (spad__moment){info->end, i, false};
    }
    spad__sort_moments(moments, count);
    spad__trace_mark mark;
    spad__trace_here(&mark, trace);
    status = write_walk(block, trace, moments, count, numbers, error);
    if (status != SPAD_OK) spad__trace_take_back(trace, &mark);
    spad__arena_free(&room);
    return status;
}
