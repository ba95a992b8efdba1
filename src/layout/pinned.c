/* SPDX-License-Identifier: Apache-2.0
 *
 * Collects the pinned buffers of a space, which have a place before the planner is asked: tensors
 * with `at` and `mod` by their formulas, stack and heap tensors by a walk that runs their managers,
 * mbarriers with `at`, and replicas of buffers that were placed in the first instance of the space.
 *
 * A modulo tensor has as many places as its rings repeat after, whatever the number of
 * its tiles. A walk is cut at WALK_EVENTS; the whole region of each manager then counts
 * as taken.
 */
#include <stdlib.h>

#include "base/checked.h"
#include "kernel/kernel.h"
#include "kernel/place.h"
#include "kernel/walk/walk.h"
#include "layout/layout.h"

enum { GIVEN_PLACES_MAX = 4096 };
#define WALK_EVENTS INT64_C(1000000)

static spad_layout_buffer buffer_of(const spad_layout *layout, size_t tensor) {
    const spad_kernel_tensor *t = &layout->kernel->tensors.items[tensor];
    const spad__slot_life life = layout->lives[layout->first_slots[tensor]];
    return (spad_layout_buffer){.name = t->name,
                                .tensor = (int64_t)tensor,
                                .sync = -1,
                                .mode = t->mode,
                                .slots = 1,
                                .rect = {.lanes = t->tile_lanes, .bytes = t->tile_bytes},
                                .stride = t->tile_bytes,
                                .taken = t->tile_bytes,
                                .alignment = 1,
                                .begin = life.begin,
                                .end = life.end};
}

static spad_status append_buffer(spad_layout *layout, const spad_layout_buffer *buffer,
                                 spad_error *error) {
    if (!spad__array_reserve(&layout->host, &layout->given, 1)) {
        return spad__fail_host_memory(error);
    }
    layout->given.items[layout->given.count++] = *buffer;
    return SPAD_OK;
}

/* ---- at ---------------------------------------------------------------------------- */

/* One buffer: the tiles are evenly spaced. */
static spad_status add_at(spad_layout *layout, size_t tensor, spad_error *error) {
    const spad_kernel_tensor *t = &layout->kernel->tensors.items[tensor];
    spad_layout_buffer buffer = buffer_of(layout, tensor);
    int64_t index[SPAD_RANK_MAX] = {0};
    spad__tile_place(layout->kernel, t, 0, index, &buffer.rect);
    buffer.slots = t->slots;
    buffer.stride = t->step.value != 0 ? t->step.value : t->tile_bytes;
    buffer.taken = (t->slots - 1) * buffer.stride + t->tile_bytes; /* checked by the builder */
    return append_buffer(layout, &buffer, error);
}

/* Mbarriers with a place: needed all the time, so that no tensor gets their bytes. */
static spad_status add_placed_barriers(spad_layout *layout, size_t space, spad_error *error) {
    const spad_kernel *k = layout->kernel;
    size_t shared;
    spad_status status = SPAD_OK;
    const spad_space *row = &k->target->spaces[space];
    const size_t first = spad__first_instance(k->target, space);
    if (!spad__barrier_space(k, &shared) || shared != first) return SPAD_OK;
    for (size_t i = 0; i < k->syncs.count && status == SPAD_OK; i++) {
        const spad_kernel_sync *sync = &k->syncs.items[i];
        const int64_t blocks = sync->each_block ? sync->dims.items[0].value : 1;
        if (!sync->placed || row->instance >= blocks) continue;
        const spad_layout_buffer buffer = {
            .name = sync->name,
            .tensor = -1,
            .sync = (int64_t)i,
            .mode = SPAD_MODE_AT,
            .slots = spad__mbarriers_of_block(sync),
            .rect = {.lanes = 1, .byte = sync->byte.value, .bytes = SPAD_MBARRIER_BYTES},
            .stride = SPAD_MBARRIER_BYTES,
            .taken = spad__mbarriers_of_block(sync) * SPAD_MBARRIER_BYTES, /* by the builder */
            .alignment = SPAD_MBARRIER_BYTES,
            .end = layout->end};
        status = append_buffer(layout, &buffer, error);
    }
    return status;
}

/* ---- mod --------------------------------------------------------------------------- */

/* The number of indices of block dim `d` after which places repeat; the whole extent if that number
 * is large, or if the extent is smaller for all parameter values. */
static int64_t period(const spad_kernel *k, const spad_kernel_tensor *t, size_t d) {
    const spad_amounts *lists[] = {&t->par, &t->free, &t->banks};
    const int64_t extent = t->blocks.items[d].value;
    int64_t repeat = 1;
    if (t->mode == SPAD_MODE_AT) {
        return t->ring.count > 0 ? spad__min(t->ring.items[d].value, extent) : extent;
    }
    for (size_t i = 0; i < 3; i++) {
        if (lists[i]->count == 0) continue;
        if (!spad__lcm(repeat, lists[i]->items[d].value, &repeat)) return extent;
    }
    return spad__is_open_extent(k, t->blocks.items[d]) ? repeat : spad__min(repeat, extent);
}

static int64_t product_of_counts(spad_amounts counts) { /* checked by the builder */
    int64_t value = 1;
    for (size_t i = 0; i < counts.count; i++) value *= counts.items[i].value;
    return value;
}

/* All places of the tensor as one, where there are too many to distinguish. */
static spad_status add_hull(spad_layout *layout, size_t tensor, spad_error *error) {
    const spad_kernel_tensor *t = &layout->kernel->tensors.items[tensor];
    const int64_t bank_bytes = layout->kernel->target->spaces[t->space].bank_bytes;
    spad_layout_buffer buffer = buffer_of(layout, tensor);
    int64_t index[SPAD_RANK_MAX] = {0};
    spad__tile_place(layout->kernel, t, 0, index, &buffer.rect);
    buffer.rect.lanes *= product_of_counts(t->par);
    buffer.rect.bytes *= product_of_counts(t->free);
    buffer.rect.bytes += (product_of_counts(t->banks) - 1) * bank_bytes;
    for (size_t d = 0; d < t->steps.count; d++) {
        buffer.rect.bytes += (period(layout->kernel, t, d) - 1) * t->steps.items[d].value;
    }
    buffer.stride = buffer.taken = buffer.rect.bytes;
    return append_buffer(layout, &buffer, error);
}

static bool has_rect(const spad_layout *layout, size_t from, spad_rect rect) {
    for (size_t i = from; i < layout->given.count; i++) {
        const spad_rect other = layout->given.items[i].rect;
        if (other.byte == rect.byte && other.lane == rect.lane) return true;
    }
    return false;
}

static spad_status add_mod(spad_layout *layout, size_t tensor, spad_error *error) {
    const spad_kernel_tensor *t = &layout->kernel->tensors.items[tensor];
    const size_t from = layout->given.count;
    int64_t periods[SPAD_RANK_MAX];
    int64_t index[SPAD_RANK_MAX] = {0};
    int64_t places = 1;
    for (size_t d = 0; d < t->blocks.count; d++) {
        periods[d] = period(layout->kernel, t, d);
        if (periods[d] > GIVEN_PLACES_MAX / places) places = GIVEN_PLACES_MAX + 1;
        if (places <= GIVEN_PLACES_MAX) places *= periods[d];
    }
    if (places > GIVEN_PLACES_MAX) return add_hull(layout, tensor, error);
    for (int64_t i = 0; i < places; i++) {
        spad_layout_buffer buffer = buffer_of(layout, tensor);
        int64_t rest = i;
        for (size_t d = t->blocks.count; d-- > 0; rest /= periods[d]) index[d] = rest % periods[d];
        spad__tile_place(layout->kernel, t, 0, index, &buffer.rect);
        if (has_rect(layout, from, buffer.rect)) continue;
        buffer.slot = (int64_t)(layout->given.count - from);
        const spad_status status = append_buffer(layout, &buffer, error);
        if (status != SPAD_OK) return status;
    }
    return SPAD_OK;
}

/* ---- stack and heap ---------------------------------------------------------------- */

static int compare_scoped(const void *left, const void *right) {
    const spad_layout_buffer *a = left;
    const spad_layout_buffer *b = right;
    if (a->tensor != b->tensor) return a->tensor < b->tensor ? -1 : 1;
    if (a->rect.byte != b->rect.byte) return a->rect.byte < b->rect.byte ? -1 : 1;
    return (a->rect.lane > b->rect.lane) - (a->rect.lane < b->rect.lane);
}

/* Sorts the buffers after `from`, drops duplicates, and numbers the buffers of each tensor. */
static void drop_doubles(spad_layout *layout, size_t from) {
    spad_layout_buffer *items = layout->given.items;
    const size_t count = layout->given.count;
    if (count == from) return;
    qsort(items + from, count - from, sizeof *items, compare_scoped);
    size_t kept = from;
    for (size_t i = from; i < count; i++) {
        if (kept > from && compare_scoped(&items[i], &items[kept - 1]) == 0) continue;
        const bool same = kept > from && items[kept - 1].tensor == items[i].tensor;
        items[i].slot = same ? items[kept - 1].slot + 1 : 0;
        items[kept++] = items[i];
    }
    layout->given.count = kept;
}

/* The places of a tensor whose declaration has just run. Managers are in use for all of
 * the kernel, since the managers decide when they hold a tensor. */
static spad_status add_scoped(spad_layout *layout, size_t tensor, const spad_walk *walk,
                              spad_error *error) {
    const spad_kernel_tensor *t = &layout->kernel->tensors.items[tensor];
    for (int64_t tile = 0; tile < t->tiles; tile++) {
        spad_layout_buffer buffer = buffer_of(layout, tensor);
        buffer.rect = walk->scoped[tensor].rects[tile];
        buffer.stride = buffer.taken = buffer.rect.bytes;
        buffer.begin = 0;
        buffer.end = layout->end;
        const spad_status status = append_buffer(layout, &buffer, error);
        if (status != SPAD_OK) return status;
    }
    return SPAD_OK;
}

/* The region of the manager of a space, for a walk that is too long. */
static spad_status add_region(spad_layout *layout, size_t space, spad_error *error) {
    const spad_kernel *k = layout->kernel;
    const spad_space *rules = &k->target->spaces[space];
    spad_layout_buffer buffer = {.name = "scopes",
                                 .tensor = -1,
                                 .sync = -1,
                                 .mode = SPAD_MODE_STACK,
                                 .slots = 1,
                                 .rect = {.lanes = rules->lanes},
                                 .alignment = 1,
                                 .end = layout->end};
    int64_t upper = spad_space_get_usable(rules);
    for (size_t i = 0; i < k->regions.count; i++) {
        if (k->regions.items[i].space != space) continue;
        buffer.rect.byte = k->regions.items[i].lower.value;
        upper = spad__min(upper, k->regions.items[i].upper.value);
    }
    buffer.rect.bytes = spad__max(upper - buffer.rect.byte, 0);
    buffer.stride = buffer.taken = buffer.rect.bytes;
    return append_buffer(layout, &buffer, error);
}

static bool is_scoped_in(const spad_kernel *k, size_t tensor, size_t space) {
    const spad_kernel_tensor *t = &k->tensors.items[tensor];
    return t->space == space && (t->mode == SPAD_MODE_STACK || t->mode == SPAD_MODE_HEAP);
}

static spad_status walk_scopes(spad_layout *layout, size_t space, spad_error *error) {
    const size_t from = layout->given.count;
    const spad_walk_options options = {.host = &layout->host};
    const spad_walk_event *event;
    spad_walk *walk;
    bool over = false;
    spad_status status = spad_walk_create(&walk, layout->kernel, &options, error);
    if (status != SPAD_OK) return status;
    do {
        status = spad_walk_next(&event, walk, error);
        if (status != SPAD_OK) break;
        over = event->kind == SPAD_WALK_END;
        if (event->kind == SPAD_WALK_TENSOR &&
            is_scoped_in(layout->kernel, (size_t)event->tensor, space)) {
            status = add_scoped(layout, (size_t)event->tensor, walk, error);
            if (layout->given.count - from > GIVEN_PLACES_MAX) drop_doubles(layout, from);
        }
    } while (status == SPAD_OK && !over && event->time < WALK_EVENTS);
    spad_walk_destroy(walk);
    if (status != SPAD_OK) return status;
    drop_doubles(layout, from);
    if (over) return SPAD_OK;
    layout->given.count = from;
    return add_region(layout, space, error);
}

/* ---- like -------------------------------------------------------------------------- */

/* The bytes of another tensor, in this instance; that one was placed before. */
static spad_status add_like(spad_layout *layout, size_t tensor, spad_error *error) {
    const spad_kernel_tensor *t = &layout->kernel->tensors.items[tensor];
    const size_t from = layout->first_slots[t->like - 1], to = layout->first_slots[tensor];
    spad_status status = SPAD_OK;
    for (int64_t s = 0; s < t->slots && status == SPAD_OK; s++) {
        const size_t slot = to + (size_t)s;
        spad_layout_buffer buffer = buffer_of(layout, tensor);
        layout->bytes[slot] = layout->bytes[from + (size_t)s];
        layout->lanes[slot] = layout->lanes[from + (size_t)s];
        if (layout->bytes[slot] == SPAD_NO_BYTE) continue; /* the other one does not fit */
        buffer.slot = s;
        buffer.rect.byte = layout->bytes[slot];
        buffer.rect.lane = layout->lanes[slot];
        buffer.begin = layout->lives[slot].begin;
        buffer.end = layout->lives[slot].end;
        if (buffer.begin < buffer.end) status = append_buffer(layout, &buffer, error);
    }
    return status;
}

/* Puts the mbarriers of this instance where the first instance has them. */
static spad_status add_block_barriers(spad_layout *layout, size_t space, spad_error *error) {
    const spad_kernel *k = layout->kernel;
    const spad_space *row = &k->target->spaces[space];
    const spad__layout_space *first = spad__layout_first_instance(layout, space);
    spad_status status = SPAD_OK;
    for (size_t i = 0; first != NULL && i < first->row.planned_count && status == SPAD_OK; i++) {
        const spad_layout_buffer buffer = layout->buffers.items[first->row.first_buffer + i];
        if (buffer.sync < 0 || buffer.rect.byte == SPAD_NO_BYTE) continue;
        const spad_kernel_sync *sync = &k->syncs.items[buffer.sync];
        if (!sync->each_block || sync->dims.items[0].value <= row->instance) continue;
        status = append_buffer(layout, &buffer, error);
    }
    return status;
}

/* ---- all --------------------------------------------------------------------------- */

spad_status spad__layout_given(spad_layout *layout, size_t space, spad_error *error) {
    const spad_kernel *k = layout->kernel;
    spad_status status = SPAD_OK;
    bool scoped = false;
    layout->given.count = 0;
    for (size_t i = 0; i < k->tensors.count && status == SPAD_OK; i++) {
        const spad_kernel_tensor *tensor = &k->tensors.items[i];
        const spad__slot_life life = layout->lives[layout->first_slots[i]];
        if (tensor->space != space || k->target->spaces[space].off_chip) continue;
        scoped |= is_scoped_in(k, i, space);
        if (tensor->like != 0) status = add_like(layout, i, error);
        if (life.begin == life.end || tensor->like != 0) continue;
        const bool by_index = tensor->mode == SPAD_MODE_MOD || tensor->steps.count > 0;
        if (by_index) {
            status = add_mod(layout, i, error);
        } else if (tensor->mode == SPAD_MODE_AT) {
            status = add_at(layout, i, error);
        }
    }
    if (status == SPAD_OK) status = add_placed_barriers(layout, space, error);
    if (scoped && status == SPAD_OK) status = walk_scopes(layout, space, error);
    return status == SPAD_OK ? add_block_barriers(layout, space, error) : status;
}
