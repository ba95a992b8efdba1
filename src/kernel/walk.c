/* SPDX-License-Identifier: Apache-2.0
 *
 * The walk: a cursor over the list of statements and a frame for every open loop,
 * scope and agent. An if needs no frame: its then-part falls through to the ELSE
 * statement, which is jumped over.
 *
 * Scoped tensors are placed by one spad_stack per space, as the statements run. A
 * stack tensor is over when its scope has come back to its section; frames count
 * the sections, so that an access can tell.
 *
 * All memory but the places of scoped tensors is taken when the walk is made. Time:
 * see spad/walk.h.
 */
#include <stdio.h>
#include <string.h>

#include "base/checked.h"
#include "kernel/kernel.h"
#include "kernel/place.h"
#include "spad/walk.h"

typedef struct frame {
    size_t statement;
    bool begins;        /* a loop whose first iteration is still to be told */
    int64_t sections;   /* of a scope */
    int64_t increments; /* how often it went to the next one */
} frame;

/* One life of a scoped tensor. */
typedef struct scoped_tensor {
    spad_rect *rects; /* per tile; NULL before the first life */
    size_t scope;     /* frame that it belongs to + 1; 0: none (heap) */
    int64_t increments;
    bool live;
} scoped_tensor;

/* The manager of a space; heap: tensors on it, newest last. */
typedef struct manager {
    spad_stack *stack;
    SPAD_ARRAY(int64_t) heap;
} manager;

struct spad_walk {
    spad_host host;
    const spad_kernel *kernel;
    spad_walk_options options;
    size_t at;   /* next statement */
    size_t stop; /* end of the program */
    bool forked;
    bool joined;
    int64_t agent;
    frame *frames;
    size_t frame_count;
    int64_t *values;       /* per loop */
    int64_t *lives;        /* per tensor: declarations that ran */
    scoped_tensor *scoped; /* per tensor; NULL: none is scoped */
    manager *managers;     /* per space; NULL: none is scoped */
    spad_walk_access *accesses;
    size_t access_room;
    spad_walk_completion *completions;
    size_t completion_room;
    int64_t time;
    spad_walk_event event;
    spad_status failed;
    spad_error error; /* of the call that failed */
};

/* ---- life ------------------------------------------------------------------------- */

static void *take(spad_walk *walk, size_t count, size_t size) {
    return count > 0 ? spad__new(&walk->host, count * size) : NULL;
}

static void give(spad_walk *walk, void *items, size_t count, size_t size) {
    spad__free(&walk->host, items, count * size);
}

static bool take_tables(spad_walk *walk) {
    const spad_kernel *k = walk->kernel;
    for (size_t i = 0; i < k->statements.count; i++) {
        const spad_statement *s = &k->statements.items[i];
        if (s->access_count > walk->access_room) walk->access_room = s->access_count;
        if (s->completion_count > walk->completion_room) {
            walk->completion_room = s->completion_count;
        }
    }
    walk->frames = take(walk, k->blocks_deep, sizeof *walk->frames);
    walk->values = take(walk, k->loops.count, sizeof *walk->values);
    walk->lives = take(walk, k->tensors.count, sizeof *walk->lives);
    walk->accesses = take(walk, walk->access_room, sizeof *walk->accesses);
    walk->completions = take(walk, walk->completion_room, sizeof *walk->completions);
    if (k->is_scoped) {
        walk->scoped = take(walk, k->tensors.count, sizeof *walk->scoped);
        walk->managers = take(walk, k->target->space_count, sizeof *walk->managers);
        if (walk->managers == NULL || (k->tensors.count > 0 && walk->scoped == NULL)) return false;
    }
    return (k->blocks_deep == 0 || walk->frames != NULL) &&
           (k->loops.count == 0 || walk->values != NULL) &&
           (k->tensors.count == 0 || walk->lives != NULL) &&
           (walk->access_room == 0 || walk->accesses != NULL) &&
           (walk->completion_room == 0 || walk->completions != NULL);
}

static spad_status make_manager(spad_walk *walk, size_t space, spad_error *error) {
    const spad_kernel *k = walk->kernel;
    if (walk->managers[space].stack != NULL) return SPAD_OK;
    spad_stack_options options = {.trace = walk->options.trace, .host = &walk->host};
    int64_t lower = 0;
    int64_t upper = SPAD_STACK_TO_THE_TOP;
    for (size_t i = 0; i < k->regions.count; i++) {
        const spad_kernel_region *region = &k->regions.items[i];
        if (region->space != space) continue;
        lower = region->lower.value;
        upper = region->upper.value;
        options.behaviour = region->behaviour;
    }
    return spad_stack_create(&walk->managers[space].stack, k->target, k->target->spaces[space].name,
                             lower, upper, &options, error);
}

/* A manager for every space that has a region or a scoped tensor. */
static spad_status make_managers(spad_walk *walk, spad_error *error) {
    const spad_kernel *k = walk->kernel;
    spad_status status = SPAD_OK;
    if (!k->is_scoped) return SPAD_OK;
    for (size_t i = 0; i < k->regions.count && status == SPAD_OK; i++) {
        status = make_manager(walk, k->regions.items[i].space, error);
    }
    for (size_t i = 0; i < k->tensors.count && status == SPAD_OK; i++) {
        const spad_kernel_tensor *tensor = &k->tensors.items[i];
        if (tensor->mode != SPAD_MODE_STACK && tensor->mode != SPAD_MODE_HEAP) continue;
        status = make_manager(walk, tensor->space, error);
    }
    return status;
}

spad_status spad_walk_create(spad_walk **out, const spad_kernel *kernel,
                             const spad_walk_options *options, spad_error *error) {
    static const spad_walk_options defaults = {0};
    *out = NULL;
    if (options == NULL) options = &defaults;
    const int64_t agents = (int64_t)kernel->agents.count;
    if (options->agent < SPAD_WALK_ALL || options->agent >= agents) {
        return spad__fail(error, SPAD_ERR_ARGUMENT, "kernel '%s' has %lld agents, no number %lld",
                          kernel->name, (long long)agents, (long long)options->agent);
    }
    const spad_host host = spad__host_or_default(options->host);
    spad_walk *walk = spad__new(&host, sizeof *walk);
    if (walk == NULL) return spad__fail_host_memory(error);
    walk->host = host;
    walk->kernel = kernel;
    walk->options = *options;
    walk->stop = kernel->statements.count;
    if (options->agent > 0) { /* one agent: its statement and what it holds */
        walk->at = kernel->agents.items[options->agent].statement;
        walk->stop = kernel->statements.items[walk->at].end;
        walk->forked = walk->joined = true;
    }
    spad_status status = take_tables(walk) ? SPAD_OK : spad__fail_host_memory(error);
    if (status == SPAD_OK) status = make_managers(walk, error);
    if (status == SPAD_OK) {
        *out = walk;
    } else {
        spad_walk_destroy(walk);
    }
    return status;
}

void spad_walk_destroy(spad_walk *walk) {
    if (walk == NULL) return;
    const spad_kernel *k = walk->kernel;
    for (size_t i = 0; walk->scoped != NULL && i < k->tensors.count; i++) {
        give(walk, walk->scoped[i].rects, (size_t)k->tensors.items[i].tiles, sizeof(spad_rect));
    }
    for (size_t i = 0; walk->managers != NULL && i < k->target->space_count; i++) {
        spad_stack_destroy(walk->managers[i].stack);
        spad__array_free(&walk->host, &walk->managers[i].heap);
    }
    give(walk, walk->scoped, k->tensors.count, sizeof *walk->scoped);
    give(walk, walk->managers, k->target->space_count, sizeof *walk->managers);
    give(walk, walk->frames, k->blocks_deep, sizeof *walk->frames);
    give(walk, walk->values, k->loops.count, sizeof *walk->values);
    give(walk, walk->lives, k->tensors.count, sizeof *walk->lives);
    give(walk, walk->accesses, walk->access_room, sizeof *walk->accesses);
    give(walk, walk->completions, walk->completion_room, sizeof *walk->completions);
    const spad_host host = walk->host;
    spad__free(&host, walk, sizeof *walk);
}

/* ---- questions -------------------------------------------------------------------- */

const int64_t *spad_walk_values(const spad_walk *walk) {
    return walk->values;
}

static bool is_loop(const spad_walk *walk, size_t frame_number) {
    const size_t statement = walk->frames[frame_number].statement;
    return walk->kernel->statements.items[statement].kind == SPAD_STATEMENT_FOR;
}

size_t spad_walk_depth(const spad_walk *walk) {
    size_t depth = 0;
    for (size_t i = 0; i < walk->frame_count; i++) depth += is_loop(walk, i);
    return depth;
}

int64_t spad_walk_loop(const spad_walk *walk, size_t depth) {
    for (size_t i = 0; i < walk->frame_count; i++) {
        if (!is_loop(walk, i)) continue;
        if (depth-- == 0) return walk->kernel->statements.items[walk->frames[i].statement].item;
    }
    return -1;
}

/* ---- failures --------------------------------------------------------------------- */

/* " in iteration i = 3, j = 0", or nothing outside of loops. */
static void describe_iteration(const spad_walk *walk, char *field, size_t size) {
    size_t used = 0;
    field[0] = '\0';
    const size_t depth = spad_walk_depth(walk);
    for (size_t d = 0; d < depth && used < size; d++) {
        const int64_t loop = spad_walk_loop(walk, d);
        const int more =
            snprintf(field + used, size - used, "%s%s = %lld", d == 0 ? " in iteration " : ", ",
                     walk->kernel->loops.items[loop].name, (long long)walk->values[loop]);
        used += (size_t)more;
    }
}

static int64_t value_of(const spad_walk *walk, spad_expr expr) {
    return spad_kernel_evaluate(walk->kernel, expr, walk->values);
}

static spad_status fail_bounds(spad_walk *walk, const char *name, spad_place place, int64_t value,
                               int64_t extent) {
    char iteration[160];
    describe_iteration(walk, iteration, sizeof iteration);
    spad__fail(&walk->error, SPAD_ERR_BOUNDS, "index %lld is outside '%s', which has %lld%s",
               (long long)value, name, (long long)extent, iteration);
    spad__fact_names(&walk->error, name, NULL);
    spad__fact_amounts(&walk->error, value, extent, SPAD_NO_FACT);
    spad__fact_kernel(walk->kernel, place, &walk->error);
    return SPAD_ERR_BOUNDS;
}

static spad_status fail_amount(spad_walk *walk, spad_place place, const char *what, int64_t value) {
    char iteration[160];
    describe_iteration(walk, iteration, sizeof iteration);
    spad__fail(&walk->error, SPAD_ERR_ARGUMENT, "%s of %lld%s", what, (long long)value, iteration);
    spad__fact_kernel(walk->kernel, place, &walk->error);
    return SPAD_ERR_ARGUMENT;
}

/* The values of index expressions, and the row-major number that they make. */
static spad_status find_index(spad_walk *walk, const char *name, spad_amounts dims,
                              const spad_expr *exprs, spad_place place, int64_t *index,
                              int64_t *number) {
    *number = 0;
    for (size_t i = 0; i < dims.count; i++) {
        const int64_t extent = dims.items[i].value;
        index[i] = value_of(walk, exprs[i]);
        if (index[i] < 0 || index[i] >= extent) {
            return fail_bounds(walk, name, place, index[i], extent);
        }
        *number = *number * extent + index[i];
    }
    return SPAD_OK;
}

static spad_status find_number(spad_walk *walk, const char *name, spad_amounts dims,
                               const spad_expr *exprs, spad_place place, int64_t *number) {
    int64_t index[SPAD_RANK_MAX];
    return find_index(walk, name, dims, exprs, place, index, number);
}

/* ---- accesses --------------------------------------------------------------------- */

static void place_scoped_tile(const spad_walk *walk, const spad_kernel_tensor *tensor, int64_t tile,
                              spad_walk_access *access) {
    const scoped_tensor *scoped = &walk->scoped[access->home];
    access->live = scoped->live;
    if (scoped->rects == NULL) { /* in a branch that never declared it */
        access->live = false;
        return;
    }
    access->placed = true;
    access->tile_rect = scoped->rects[tile];
    if (tensor->mode == SPAD_MODE_STACK && access->live) {
        const frame *scope = &walk->frames[scoped->scope - 1];
        access->live = scope->increments - scoped->increments < scope->sections;
    }
}

/* Fills in home, slot and the rectangle of the whole tile, which has that index. */
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
    access->placed = spad__tile_place(walk->kernel, home, tile, index, &access->tile_rect);
    if (home->mode == SPAD_MODE_STACK || home->mode == SPAD_MODE_HEAP) {
        place_scoped_tile(walk, home, tile, access);
    } else if (!access->placed && walk->options.place != NULL) {
        spad_rect rect = access->tile_rect;
        access->placed = walk->options.place(walk->options.ctx, tensor->home, access->slot, &rect);
        if (access->placed) {
            access->tile_rect.lane = rect.lane;
            access->tile_rect.byte = rect.byte;
        }
    }
    access->tile_rect.byte += offset;
    access->tile_rect.lanes = tensor->tile_lanes;
    access->tile_rect.bytes = tensor->tile_bytes;
}

/* The part of the tile that the ranges name. */
static spad_status cut_tile(spad_walk *walk, const spad_kernel_tensor *tensor,
                            const spad_kernel_access *row, spad_walk_access *access) {
    int64_t from[SPAD_RANK_MAX];
    int64_t to[SPAD_RANK_MAX];
    for (size_t i = 0; i < row->range_count; i++) {
        const spad_expr_range range = row->ranges[i];
        const int64_t extent = tensor->dims.items[i].value;
        from[i] = range.from != 0 ? value_of(walk, range.from) : 0;
        if (from[i] < 0 || from[i] >= extent) {
            return fail_bounds(walk, tensor->name, row->place, from[i], extent);
        }
        to[i] = range.to != 0 ? value_of(walk, range.to) : range.from != 0 ? from[i] + 1 : extent;
        if (to[i] <= from[i]) {
            return fail_amount(walk, row->place, "a range with a length", to[i] - from[i]);
        }
        if (to[i] > extent) {
            return fail_bounds(walk, tensor->name, row->place, to[i] - 1, extent);
        }
    }
    spad__part part;
    const bool lanes_first = walk->kernel->target->spaces[tensor->space].lanes > 1;
    if (!spad__part_of_tile(tensor, lanes_first, from, to, &part)) {
        spad__fail(&walk->error, SPAD_ERR_SHAPE,
                   "this part of '%s' is not evenly spaced pieces of bytes; cut fewer dimensions",
                   tensor->name);
        spad__fact_kernel(walk->kernel, row->place, &walk->error);
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

static spad_status resolve_access(spad_walk *walk, size_t number, spad_walk_access *access) {
    const spad_kernel_access *row = &walk->kernel->accesses.items[number];
    const spad_kernel_tensor *tensor = &walk->kernel->tensors.items[row->tensor];
    int64_t index[SPAD_RANK_MAX];
    const spad_status status = find_index(walk, tensor->name, tensor->blocks, row->index,
                                          row->place, index, &access->tile);
    if (status != SPAD_OK) return status;
    access->row = number;
    access->tensor = row->tensor;
    access->kind = row->kind;
    access->life = spad__max(walk->lives[row->tensor] - 1, 0);
    place_tile(walk, tensor, index, access);
    access->rect = access->tile_rect;
    access->runs = 1;
    access->stride = 0;
    return row->range_count > 0 ? cut_tile(walk, tensor, row, access) : SPAD_OK;
}

/* Bytes that an operation writes. */
static spad_status written_bytes(spad_walk *walk, spad_place place, int64_t *bytes) {
    *bytes = 0;
    for (size_t i = 0; i < walk->event.access_count; i++) {
        const spad_walk_access *access = &walk->accesses[i];
        if ((access->kind & SPAD_ACCESS_WRITE) == 0) continue;
        const int64_t size = access->rect.lanes * access->rect.bytes * access->runs;
        if (!spad__add(*bytes, size, bytes)) {
            return fail_amount(walk, place, "a delivery of more than", INT64_MAX);
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
    spad_status status =
        find_number(walk, sync->name, sync->dims, row->index, row->place, &completion->element);
    if (status != SPAD_OK) return status;
    if (row->amount != 0) {
        completion->amount = value_of(walk, row->amount);
        if (completion->amount < 1) {
            return fail_amount(walk, row->place, "an amount", completion->amount);
        }
    } else if (row->kind == SPAD_COMPLETION_DELIVER) {
        status = written_bytes(walk, row->place, &completion->amount);
    }
    return status;
}

static spad_status run_operation(spad_walk *walk, const spad_statement *s) {
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
        event->cost = value_of(walk, s->cost);
        if (event->cost < 0) return fail_amount(walk, s->place, "a cost", event->cost);
    }
    return SPAD_OK;
}

/* ---- synchronisation -------------------------------------------------------------- */

static spad_status run_sync(spad_walk *walk, const spad_statement *s) {
    spad_walk_event *event = &walk->event;
    event->kind = SPAD_WALK_SYNC;
    if (s->item >= 0) {
        const spad_kernel_sync *sync = &walk->kernel->syncs.items[s->item];
        event->object = s->item;
        const spad_status status =
            find_number(walk, sync->name, sync->dims, s->index, s->place, &event->element);
        if (status != SPAD_OK) return status;
    }
    if (s->amount != 0) event->amount = value_of(walk, s->amount);
    if (s->expect != 0) event->expect = value_of(walk, s->expect);
    const bool parity = s->kind == SPAD_STATEMENT_WAIT_PARITY;
    const bool counts = s->kind == SPAD_STATEMENT_SYNC || s->kind == SPAD_STATEMENT_ARRIVE ||
                        s->kind == SPAD_STATEMENT_SIGNAL || s->kind == SPAD_STATEMENT_TAKE ||
                        s->kind == SPAD_STATEMENT_INIT;
    if (event->amount < (counts ? 1 : 0) || (parity && event->amount > 1)) {
        return fail_amount(walk, s->place, parity ? "a parity" : "an amount", event->amount);
    }
    if (event->expect < 0) return fail_amount(walk, s->place, "an expectation", event->expect);
    return SPAD_OK;
}

/* ---- tensors and scopes ----------------------------------------------------------- */

/* A failure of a manager, with the place of the statement. */
static spad_status at_statement(spad_walk *walk, const spad_statement *s, spad_status status) {
    if (status != SPAD_OK) spad__fact_kernel(walk->kernel, s->place, &walk->error);
    return status;
}

/* The frame of the innermost scope + 1; 0: none. */
static size_t innermost_scope(const spad_walk *walk) {
    size_t i = walk->frame_count;
    while (i > 0 && walk->kernel->statements.items[walk->frames[i - 1].statement].kind !=
                        SPAD_STATEMENT_SCOPE) {
        i--;
    }
    return i;
}

/* The name of one tile of one life in the log, where names are used once. */
static void label_tile(const spad_walk *walk, const spad_statement *s, int64_t tile, bool plain,
                       char *field, size_t size) {
    const spad_kernel_tensor *tensor = &walk->kernel->tensors.items[s->item];
    const long long life = (long long)walk->lives[s->item];
    if (plain && life == 0 && tensor->tiles == 1) {
        snprintf(field, size, "%s", tensor->name);
    } else if (plain) {
        snprintf(field, size, "%s.%lld.%lld", tensor->name, life, (long long)tile);
    } else { /* another tensor had the name */
        snprintf(field, size, "%s.%lld.%lld.%lld", tensor->name, (long long)s->item, life,
                 (long long)tile);
    }
}

/* A manager keeps every name it is given. Without a log only the first life of a tensor
 * has one, so that a long walk stays small; and one that fails, for the message. */
static spad_status allocate_tile(spad_walk *walk, const spad_statement *s, int64_t tile, bool plain,
                                 bool named, spad_shape shape, spad_rect *rect) {
    const spad_kernel_tensor *tensor = &walk->kernel->tensors.items[s->item];
    const spad_stack_place place = {.align = tensor->align.value != 0 ? tensor->align.value
                                                                      : SPAD_ALIGN_DEFAULT,
                                    .base_lane = tensor->lane.value};
    char label[SPAD_NAME_FACT_MAX + 80];
    label_tile(walk, s, tile, plain, label, sizeof label);
    return (tensor->mode == SPAD_MODE_HEAP ? spad_stack_alloc_heap : spad_stack_alloc_stack)(
        rect, walk->managers[tensor->space].stack, shape, tensor->dtype, named ? label : NULL,
        &place, &walk->error);
}

/* Allocates the tiles of a scoped tensor, one behind another. */
static spad_status allocate(spad_walk *walk, const spad_statement *s,
                            const spad_kernel_tensor *tensor, scoped_tensor *scoped) {
    int64_t dims[SPAD_RANK_MAX + 1] = {1}; /* a tile of a one-lane space has one lane */
    const size_t front = walk->kernel->target->spaces[tensor->space].lanes > 1 ? 0 : 1;
    for (size_t i = 0; i < tensor->dims.count; i++) dims[front + i] = tensor->dims.items[i].value;
    const spad_shape shape = {front + tensor->dims.count, dims};
    const bool named = walk->options.trace != NULL || walk->lives[s->item] == 0;
    for (int64_t tile = 0; tile < tensor->tiles; tile++) {
        spad_rect *rect = &scoped->rects[tile];
        spad_status status = allocate_tile(walk, s, tile, true, named, shape, rect);
        if (status == SPAD_ERR_NAME)
            status = allocate_tile(walk, s, tile, false, named, shape, rect);
        if (status == SPAD_ERR_NO_FIT && !named) {
            status = allocate_tile(walk, s, tile, true, true, shape, rect);
        }
        if (status != SPAD_OK) return at_statement(walk, s, status);
    }
    return SPAD_OK;
}

static spad_status declare_scoped(spad_walk *walk, const spad_statement *s,
                                  const spad_kernel_tensor *tensor) {
    scoped_tensor *scoped = &walk->scoped[s->item];
    manager *m = &walk->managers[tensor->space];
    const bool heap = tensor->mode == SPAD_MODE_HEAP;
    if (scoped->rects == NULL) {
        scoped->rects = take(walk, (size_t)tensor->tiles, sizeof *scoped->rects);
    }
    if (scoped->rects == NULL || (heap && !spad__array_reserve(&walk->host, &m->heap, 1))) {
        return spad__fail_host_memory(&walk->error);
    }
    const spad_status status = allocate(walk, s, tensor, scoped);
    if (status != SPAD_OK) return status;
    if (heap) m->heap.items[m->heap.count++] = s->item;
    scoped->live = true;
    scoped->scope = innermost_scope(walk);
    scoped->increments = scoped->scope > 0 ? walk->frames[scoped->scope - 1].increments : 0;
    return SPAD_OK;
}

static spad_status run_tensor(spad_walk *walk, const spad_statement *s) {
    const spad_kernel_tensor *tensor = &walk->kernel->tensors.items[s->item];
    walk->event.kind = SPAD_WALK_TENSOR;
    walk->event.tensor = s->item;
    walk->event.life = walk->lives[s->item];
    if (tensor->mode == SPAD_MODE_STACK || tensor->mode == SPAD_MODE_HEAP) {
        const spad_status status = declare_scoped(walk, s, tensor);
        if (status != SPAD_OK) return status;
    }
    walk->lives[s->item]++;
    return SPAD_OK;
}

/* Frees the newest heap tensor, tile by tile. */
static spad_status free_heap(spad_walk *walk, const spad_statement *s,
                             const spad_kernel_tensor *tensor) {
    manager *m = &walk->managers[tensor->space];
    const size_t count = m->heap.count;
    const int64_t newest = count > 0 ? m->heap.items[count - 1] : -1;
    if (newest != s->item || !walk->scoped[s->item].live) {
        spad__fail(&walk->error, SPAD_ERR_NOT_LIVE,
                   "'%s' is not the newest heap tensor; %s%s%s is, and the heap is freed newest "
                   "first",
                   tensor->name, newest >= 0 ? "'" : "",
                   newest >= 0 ? walk->kernel->tensors.items[newest].name : "none",
                   newest >= 0 ? "'" : "");
        spad__fact_names(&walk->error, tensor->name, NULL);
        return at_statement(walk, s, SPAD_ERR_NOT_LIVE);
    }
    for (int64_t tile = 0; tile < tensor->tiles; tile++) {
        const spad_status status = spad_stack_pop_heap(m->stack, &walk->error);
        if (status != SPAD_OK) return at_statement(walk, s, status);
    }
    m->heap.count--;
    walk->scoped[s->item].live = false;
    return SPAD_OK;
}

static spad_status run_tile(spad_walk *walk, const spad_statement *s) {
    const spad_kernel_tensor *tensor = &walk->kernel->tensors.items[s->item];
    spad_walk_event *event = &walk->event;
    event->kind = s->kind == SPAD_STATEMENT_ALLOC ? SPAD_WALK_ALLOC : SPAD_WALK_FREE;
    event->tensor = s->item;
    event->life = spad__max(walk->lives[s->item] - 1, 0);
    if (s->index_count > 0) {
        return find_number(walk, tensor->name, tensor->blocks, s->index, s->place, &event->tile);
    }
    return tensor->mode == SPAD_MODE_HEAP ? free_heap(walk, s, tensor) : SPAD_OK;
}

/* Does something to every manager. */
static spad_status each_manager(spad_walk *walk, const spad_statement *s,
                                spad_status (*act)(spad_stack *, const spad_statement *, int64_t,
                                                   spad_error *),
                                int64_t amount) {
    for (size_t i = 0; i < walk->kernel->target->space_count; i++) {
        spad_stack *stack = walk->managers[i].stack;
        if (stack == NULL) continue;
        const spad_status status = act(stack, s, amount, &walk->error);
        if (status != SPAD_OK) return at_statement(walk, s, status);
    }
    return SPAD_OK;
}

static spad_status open_one(spad_stack *stack, const spad_statement *s, int64_t sections,
                            spad_error *error) {
    return spad_stack_open_scope(stack, sections, s->name, error);
}

static spad_status close_one(spad_stack *stack, const spad_statement *s, int64_t unused,
                             spad_error *error) {
    (void)s;
    (void)unused;
    return spad_stack_close_scope(stack, error);
}

static spad_status increment_one(spad_stack *stack, const spad_statement *s, int64_t unused,
                                 spad_error *error) {
    (void)s;
    (void)unused;
    return spad_stack_increment_section(stack, error);
}

static void push_frame(spad_walk *walk, size_t statement) {
    walk->frames[walk->frame_count++] = (frame){.statement = statement};
}

static spad_status open_scope(spad_walk *walk, const spad_statement *s, size_t number) {
    const int64_t sections = value_of(walk, s->amount);
    const spad_status status = each_manager(walk, s, open_one, sections);
    if (status != SPAD_OK) return status;
    push_frame(walk, number);
    walk->frames[walk->frame_count - 1].sections = sections;
    walk->event.kind = SPAD_WALK_SCOPE_OPEN;
    walk->event.amount = sections;
    return SPAD_OK;
}

static spad_status next_section(spad_walk *walk, const spad_statement *s) {
    frame *scope = &walk->frames[innermost_scope(walk) - 1];
    const spad_status status = each_manager(walk, s, increment_one, 0);
    if (status != SPAD_OK) return status;
    scope->increments++;
    walk->event.kind = SPAD_WALK_SECTION;
    walk->event.amount = scope->increments % scope->sections;
    return SPAD_OK;
}

/* ---- control ---------------------------------------------------------------------- */

static bool holds(const spad_walk *walk, const spad_comparison *comparison) {
    const int64_t a = value_of(walk, comparison->left);
    const int64_t b = value_of(walk, comparison->right);
    switch (comparison->relation) {
    case SPAD_EQUAL: return a == b;
    case SPAD_NOT_EQUAL: return a != b;
    case SPAD_LESS: return a < b;
    case SPAD_LESS_EQUAL: return a <= b;
    case SPAD_GREATER: return a > b;
    default: return a >= b;
    }
}

static size_t branch(const spad_walk *walk, const spad_statement *s) {
    bool all = true;
    for (size_t i = 0; i < s->comparison_count && all; i++) all = holds(walk, &s->comparisons[i]);
    if (all) return walk->at + 1;
    return s->item >= 0 ? (size_t)s->item + 1 : s->end;
}

static void tell_iteration(spad_walk *walk, const frame *top) {
    const int64_t loop = walk->kernel->statements.items[top->statement].item;
    walk->event.kind = SPAD_WALK_ITERATION;
    walk->event.statement = (int64_t)top->statement;
    walk->event.loop = loop;
    walk->event.value = walk->values[loop];
}

/* The cursor is at the end of the innermost frame: the next iteration, or its end. */
static spad_status leave_frame(spad_walk *walk) {
    const frame *top = &walk->frames[walk->frame_count - 1];
    const spad_statement *s = &walk->kernel->statements.items[top->statement];
    walk->event.statement = (int64_t)top->statement;
    if (s->kind == SPAD_STATEMENT_FOR) {
        const spad_kernel_loop *loop = &walk->kernel->loops.items[s->item];
        if (walk->values[s->item] + 1 < loop->end.value) {
            walk->values[s->item]++;
            walk->at = top->statement + 1;
            tell_iteration(walk, top);
            return SPAD_OK;
        }
        walk->event.kind = SPAD_WALK_LOOP_END;
        walk->event.loop = s->item;
    } else if (s->kind == SPAD_STATEMENT_SCOPE) {
        walk->event.kind = SPAD_WALK_SCOPE_CLOSE;
        const spad_status status = each_manager(walk, s, close_one, 0);
        if (status != SPAD_OK) return status;
    } else {
        walk->event.kind = SPAD_WALK_AGENT_END;
        walk->event.agent = walk->agent;
        walk->agent = 0;
    }
    walk->frame_count--;
    return SPAD_OK;
}

/* Enters a loop, unless nothing in it can happen. */
static bool enter_loop(spad_walk *walk, const spad_statement *s) {
    const spad_kernel_loop *loop = &walk->kernel->loops.items[s->item];
    if (loop->begin.value == loop->end.value || s->end == walk->at + 1) {
        walk->at = s->end;
        return false;
    }
    walk->values[s->item] = loop->begin.value;
    push_frame(walk, walk->at);
    walk->frames[walk->frame_count - 1].begins = true;
    walk->event.kind = SPAD_WALK_LOOP_BEGIN;
    walk->event.loop = s->item;
    walk->at++;
    return true;
}

/* An agent's block: main passes by, and a walk of all goes in. */
static void meet_agent(spad_walk *walk, const spad_statement *s) {
    if (!walk->forked) {
        walk->forked = true;
        walk->event.kind = SPAD_WALK_FORK;
        if (walk->options.agent != 0) return;
        while (walk->at < walk->stop &&
               walk->kernel->statements.items[walk->at].kind == SPAD_STATEMENT_AGENT) {
            walk->at = walk->kernel->statements.items[walk->at].end;
        }
        return;
    }
    push_frame(walk, walk->at);
    walk->agent = s->item;
    walk->event.kind = SPAD_WALK_AGENT_BEGIN;
    walk->event.agent = s->item;
    walk->at++;
}

/* One step on; *told: it is an event. */
static spad_status step(spad_walk *walk, bool *told) {
    *told = true;
    if (walk->frame_count > 0) {
        frame *top = &walk->frames[walk->frame_count - 1];
        if (top->begins) {
            top->begins = false;
            tell_iteration(walk, top);
            return SPAD_OK;
        }
        if (walk->at == walk->kernel->statements.items[top->statement].end) {
            return leave_frame(walk);
        }
    }
    const bool over = walk->at == walk->stop;
    const spad_statement *s = over ? NULL : &walk->kernel->statements.items[walk->at];
    const bool at_agent = !over && s->kind == SPAD_STATEMENT_AGENT;
    if (walk->forked && !walk->joined && !at_agent && walk->frame_count == 0) {
        walk->joined = true;
        walk->event.kind = SPAD_WALK_JOIN;
        return SPAD_OK;
    }
    if (over) {
        walk->event.kind = SPAD_WALK_END;
        return SPAD_OK;
    }
    walk->event.statement = (int64_t)walk->at;
    switch (s->kind) {
    case SPAD_STATEMENT_FOR: *told = enter_loop(walk, s); return SPAD_OK;
    case SPAD_STATEMENT_IF:
        walk->at = branch(walk, s);
        *told = false;
        return SPAD_OK;
    case SPAD_STATEMENT_ELSE:
        walk->at = s->end;
        *told = false;
        return SPAD_OK;
    case SPAD_STATEMENT_AGENT: meet_agent(walk, s); return SPAD_OK;
    default: break;
    }
    const size_t number = walk->at++;
    switch (s->kind) {
    case SPAD_STATEMENT_TENSOR: return run_tensor(walk, s);
    case SPAD_STATEMENT_SCOPE: return open_scope(walk, s, number);
    case SPAD_STATEMENT_SECTION: return next_section(walk, s);
    case SPAD_STATEMENT_OPERATION: return run_operation(walk, s);
    case SPAD_STATEMENT_ALLOC:
    case SPAD_STATEMENT_FREE: return run_tile(walk, s);
    default: return run_sync(walk, s);
    }
}

spad_status spad_walk_next(const spad_walk_event **out, spad_walk *walk, spad_error *error) {
    *out = NULL;
    bool told = false;
    while (walk->failed == SPAD_OK && !told) {
        walk->event = (spad_walk_event){.time = walk->time,
                                        .statement = -1,
                                        .agent = walk->agent,
                                        .loop = -1,
                                        .tensor = -1,
                                        .tile = -1,
                                        .object = -1};
        walk->failed = step(walk, &told);
    }
    if (walk->failed != SPAD_OK) {
        if (error != NULL) *error = walk->error;
        return walk->failed;
    }
    if (walk->event.kind != SPAD_WALK_END) walk->time++;
    *out = &walk->event;
    return SPAD_OK;
}
