/* SPDX-License-Identifier: Apache-2.0
 *
 * The walk: from index expressions to tiles, slots and rectangles, and to concrete
 * amounts. O(dimensions) per access.
 */
#include "kernel/evaluate.h"
#include "kernel/walk/walk.h"

#include <stdio.h>

#include "base/checked.h"
#include "base/text.h"
#include "kernel/place.h"

/* ---- open loops -------------------------------------------------------------------- */

static bool is_loop(const spad_walk *walk, size_t frame_number) {
    const size_t statement = walk->frames[frame_number].statement;
    return walk->kernel->statements.items[statement].kind == SPAD_STATEMENT_FOR;
}

size_t spad_walk_loop_count(const spad_walk *walk) {
    size_t depth = 0;
    for (size_t i = 0; i < walk->frame_count; i++) depth += is_loop(walk, i);
    return depth;
}

int64_t spad_walk_get_loop(const spad_walk *walk, size_t depth) {
    for (size_t i = 0; i < walk->frame_count; i++) {
        if (!is_loop(walk, i)) continue;
        if (depth-- == 0) return walk->kernel->statements.items[walk->frames[i].statement].item;
    }
    return -1;
}

/* ---- failures ---------------------------------------------------------------------- */

/* "; iteration i = 3, j = 0", or nothing outside of loops. */
static void describe_iteration(const spad_walk *walk, char *field, size_t size) {
    size_t used = 0;
    field[0] = '\0';
    const size_t depth = spad_walk_loop_count(walk);
    for (size_t d = 0; d < depth; d++) {
        const int64_t loop = spad_walk_get_loop(walk, d);
        const spad_expr shown = walk->kernel->loops.items[loop].value;
        const int64_t value = shown != 0 ? spad__walk_value(walk, shown) : walk->values[loop];
        used = spad__append(field, size, used, "%s%s = %lld", d == 0 ? "; iteration " : ", ",
                            walk->kernel->loops.items[loop].name, (long long)value);
    }
}

int64_t spad__walk_value(const spad_walk *walk, spad_expr expr) {
    return spad__kernel_evaluate(walk->kernel, expr, walk->values);
}

static spad_status fail_bounds(spad_walk *walk, const char *name, spad_location location,
                               int64_t value, int64_t extent) {
    char iteration[160];
    describe_iteration(walk, iteration, sizeof iteration);
    spad__fail(&walk->error, SPAD_ERR_BOUNDS, "index %lld is outside '%s', which has %lld%s",
               (long long)value, name, (long long)extent, iteration);
    spad__fact_names(&walk->error, name, NULL);
    spad__fact_amounts(&walk->error, value, extent, SPAD_NO_FACT);
    spad__fact_kernel(walk->kernel, location, &walk->error);
    return SPAD_ERR_BOUNDS;
}

static spad_status fail_amount(spad_walk *walk, spad_location location, const char *what,
                               int64_t value) {
    char iteration[160];
    describe_iteration(walk, iteration, sizeof iteration);
    spad__fail(&walk->error, SPAD_ERR_ARGUMENT, "%s of %lld%s", what, (long long)value, iteration);
    spad__fact_kernel(walk->kernel, location, &walk->error);
    return SPAD_ERR_ARGUMENT;
}

/* The values of index expressions, and the row-major number that they make. */
static spad_status find_index(spad_walk *walk, const char *name, spad_amounts dims,
                              const spad_expr *exprs, spad_location location, int64_t *index,
                              int64_t *number) {
    *number = 0;
    for (size_t i = 0; i < dims.count; i++) {
        const int64_t extent = dims.items[i].value;
        index[i] = spad__walk_value(walk, exprs[i]);
        if (index[i] < 0 || index[i] >= extent) {
            return fail_bounds(walk, name, location, index[i], extent);
        }
        *number = *number * extent + index[i];
    }
    return SPAD_OK;
}

spad_status spad__walk_number(spad_walk *walk, const char *name, spad_amounts dims,
                              const spad_expr *exprs, spad_location location, int64_t *number) {
    int64_t index[SPAD_RANK_MAX];
    return find_index(walk, name, dims, exprs, location, index, number);
}

/* ---- accesses ---------------------------------------------------------------------- */

static void place_scoped_tile(const spad_walk *walk, const spad_kernel_tensor *tensor, int64_t tile,
                              spad_walk_access *access, spad_rect *place) {
    const spad__walk_scoped_tensor *scoped = &walk->scoped[access->home];
    access->live = scoped->live;
    access->placed = true;
    *place = scoped->rects[tile];
    if (tensor->mode == SPAD_MODE_STACK && access->live) {
        const spad__walk_frame *scope = &walk->frames[scoped->scope - 1];
        access->live = scope->increments - scoped->increments < scope->sections;
    }
}

/* Fills in home, slot and both rectangles with the whole tile, which has that index. */
static void place_tile(const spad_walk *walk, const spad_kernel_tensor *tensor,
                       const int64_t *index, spad_walk_access *access) {
    const spad_kernel_tensor *home = tensor;
    int64_t tile = access->tile;
    int64_t offset = 0;
    int64_t home_index[SPAD_RANK_MAX];
    access->home = tensor->home;
    if (tensor->mode == SPAD_MODE_ALIAS) {
        home = &walk->kernel->tensors.items[tensor->home];
        offset = tensor->home_byte;
        if (tensor->home_tile >= 0) {
            offset += tile % tensor->slots * tensor->home_step;
            tile = tensor->home_tile;
            spad__tile_index(home, tile, home_index);
            index = home_index;
        }
    }
    access->slot = spad__tile_slot(home, tile, index);
    access->live = true;
    spad_rect place;
    access->placed = spad__tile_place(walk->kernel, home, tile, index, &place);
    if (home->mode == SPAD_MODE_STACK || home->mode == SPAD_MODE_HEAP) {
        place_scoped_tile(walk, home, tile, access, &place);
    } else if (!access->placed && walk->options.layout != NULL) {
        spad_rect rect = place;
        access->placed =
            spad_layout_get_place(&rect, walk->options.layout, tensor->home, access->slot);
        if (access->placed) place = rect;
    }
    /* Both from the same numbers: to copy what was written a moment ago is slow. */
    const spad_rect whole = {place.lane, tensor->tile_lanes, place.byte + offset,
                             tensor->tile_bytes};
    access->tile_rect = whole;
    access->rect = whole;
}

/* The part of the tile that the ranges name. */
static spad_status cut_tile(spad_walk *walk, const spad_kernel_tensor *tensor,
                            const spad_kernel_access *row, spad_walk_access *access) {
    spad__dim_range ranges[SPAD_RANK_MAX];
    for (size_t i = 0; i < row->range_count; i++) {
        const spad_expr_range range = row->ranges[i];
        const int64_t extent = tensor->dims.items[i].value;
        const int64_t from = range.from != 0 ? spad__walk_value(walk, range.from) : 0;
        if (from < 0 || from >= extent) {
            return fail_bounds(walk, tensor->name, row->location, from, extent);
        }
        const int64_t to = range.to != 0     ? spad__walk_value(walk, range.to)
                           : range.from != 0 ? from + 1
                                             : extent;
        if (to <= from) {
            return fail_amount(walk, row->location, "a range with a length", to - from);
        }
        if (to > extent) {
            return fail_bounds(walk, tensor->name, row->location, to - 1, extent);
        }
        const int64_t step = range.step != 0 ? spad__walk_value(walk, range.step) : 1;
        ranges[i] = (spad__dim_range){from, (to - from - 1) / step + 1, step};
    }
    spad__part part;
    const bool lanes_first = walk->kernel->target->spaces[tensor->space].lanes > 1;
    if (!spad__part_of_tile(tensor, lanes_first, ranges, &part)) {
        spad__fail(
            &walk->error, SPAD_ERR_SHAPE,
            "this part of '%s' is not made of evenly spaced runs of bytes; cut fewer dimensions",
            tensor->name);
        spad__fact_kernel(walk->kernel, row->location, &walk->error);
        return SPAD_ERR_SHAPE;
    }
    access->rect.lane += part.lane;
    access->rect.lanes = part.lanes;
    access->rect.byte += part.byte;
    access->rect.bytes = part.bytes;
    access->runs = part.runs;
    access->stride = part.stride;
    return SPAD_OK;
}

/* A tile fits its space, whose size the target bounds: the product cannot overflow. */
static spad_status count_moved(spad_walk *walk, const spad_kernel_access *row,
                               spad_walk_access *access) {
    access->moved = access->rect.lanes * access->rect.bytes * access->runs;
    if (row->moves == 0) return SPAD_OK;
    access->moved = spad__walk_value(walk, row->moves);
    if (access->moved >= 0) return SPAD_OK;
    return fail_amount(walk, row->location, "bytes moved", access->moved);
}

static spad_status resolve_access(spad_walk *walk, size_t number, spad_walk_access *access) {
    const spad_kernel_access *row = &walk->kernel->accesses.items[number];
    const spad_kernel_tensor *tensor = &walk->kernel->tensors.items[row->tensor];
    int64_t index[SPAD_RANK_MAX];
    spad_status status = find_index(walk, tensor->name, tensor->blocks, row->index, row->location,
                                    index, &access->tile);
    if (status != SPAD_OK) return status;
    access->row = number;
    access->tensor = row->tensor;
    access->kind = row->kind;
    access->life = spad__max(walk->lives[row->tensor] - 1, 0);
    place_tile(walk, tensor, index, access);
    access->runs = 1;
    access->stride = 0;
    if (row->range_count > 0) status = cut_tile(walk, tensor, row, access);
    return status == SPAD_OK ? count_moved(walk, row, access) : status;
}

void spad__walk_tile_access(const spad_walk *walk, int64_t tensor, int64_t tile,
                            spad_walk_access *access) {
    const spad_kernel_tensor *row = &walk->kernel->tensors.items[tensor];
    int64_t index[SPAD_RANK_MAX];
    spad__tile_index(row, tile, index);
    *access = (spad_walk_access){.row = SIZE_MAX,
                                 .tensor = tensor,
                                 .tile = tile,
                                 .life = spad__max(walk->lives[tensor] - 1, 0),
                                 .runs = 1};
    place_tile(walk, row, index, access);
    access->moved = access->rect.lanes * access->rect.bytes;
}

/* Bytes that an operation writes. */
static spad_status written_bytes(spad_walk *walk, spad_location location, int64_t *bytes) {
    *bytes = 0;
    for (size_t i = 0; i < walk->event.access_count; i++) {
        const spad_walk_access *access = &walk->accesses[i];
        if ((access->kind & SPAD_ACCESS_WRITE) == 0) continue;
        if (!spad__add(*bytes, access->moved, bytes)) {
            return fail_amount(walk, location, "a delivery of more than", INT64_MAX);
        }
    }
    return SPAD_OK;
}

static spad_status resolve_completion(spad_walk *walk, size_t number,
                                      spad_walk_completion *completion) {
    const spad_kernel_completion *row = &walk->kernel->completions.items[number];
    const spad_kernel_sync *sync = &walk->kernel->syncs.items[row->object];
    *completion = (spad_walk_completion){
        .row = number, .kind = row->kind, .object = row->object, .amount = 1, .flags = row->flags};
    spad_status status = spad__walk_number(walk, sync->name, sync->dims, row->index, row->location,
                                           &completion->element);
    if (status != SPAD_OK) return status;
    if (row->amount != 0) {
        completion->amount = spad__walk_value(walk, row->amount);
        if (completion->amount < 1) {
            return fail_amount(walk, row->location, "an amount", completion->amount);
        }
    } else if (row->kind == SPAD_COMPLETION_DELIVER) {
        status = written_bytes(walk, row->location, &completion->amount);
    }
    return status;
}

spad_status spad__walk_operation(spad_walk *walk, const spad_statement *s) {
    spad_walk_event *event = &walk->event;
    event->kind = SPAD_WALK_OPERATION;
    event->accesses = walk->accesses;
    event->completions = walk->completions;
    for (size_t i = 0; i < s->access_count; i++) {
        const spad_status status = resolve_access(walk, s->first_access + i, &walk->accesses[i]);
        if (status != SPAD_OK) return status;
        event->access_count = i + 1;
    }
    for (size_t i = 0; i < s->completion_count; i++) {
        const spad_status status =
            resolve_completion(walk, s->first_completion + i, &walk->completions[i]);
        if (status != SPAD_OK) return status;
        event->completion_count = i + 1;
    }
    if (s->cost_kind != SPAD_COST_TARGET) {
        event->cost = spad__walk_value(walk, s->cost);
        if (event->cost < 0) return fail_amount(walk, s->location, "a cost", event->cost);
    }
    return SPAD_OK;
}

/* ---- synchronisation --------------------------------------------------------------- */

/* The parity of the phase after the last one that was waited for. */
static int64_t next_parity(spad_walk *walk, const spad_walk_event *event) {
    const size_t own = walk->agent > 0 ? walk->elements : 0;
    int64_t *waited =
        &walk->waited[own + walk->first_element[event->object] + (size_t)event->element];
    *waited = 1 - *waited;
    return 1 - *waited;
}

spad_status spad__walk_sync(spad_walk *walk, const spad_statement *s) {
    spad_walk_event *event = &walk->event;
    event->kind = SPAD_WALK_SYNC;
    if (s->item >= 0) {
        const spad_kernel_sync *sync = &walk->kernel->syncs.items[s->item];
        event->object = s->item;
        const spad_status status =
            spad__walk_number(walk, sync->name, sync->dims, s->index, s->location, &event->element);
        if (status != SPAD_OK) return status;
    }
    if (s->amount != 0) event->amount = spad__walk_value(walk, s->amount);
    if ((s->flags & SPAD_SYNC_NEXT) != 0 && s->amount == 0)
        event->amount = next_parity(walk, event);
    if (s->expect != 0) event->expect = spad__walk_value(walk, s->expect);
    const bool parity = s->kind == SPAD_STATEMENT_WAIT_PARITY;
    const bool counts = s->kind == SPAD_STATEMENT_SYNC || s->kind == SPAD_STATEMENT_ARRIVE ||
                        s->kind == SPAD_STATEMENT_SIGNAL || s->kind == SPAD_STATEMENT_TAKE ||
                        s->kind == SPAD_STATEMENT_INIT;
    if (event->amount < (counts ? 1 : 0) || (parity && event->amount > 1)) {
        return fail_amount(walk, s->location, parity ? "a parity" : "an amount", event->amount);
    }
    if (event->expect < 0) return fail_amount(walk, s->location, "an expectation", event->expect);
    return SPAD_OK;
}
