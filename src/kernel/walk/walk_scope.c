/* SPDX-License-Identifier: Apache-2.0
 *
 * The walk: tensors that begin and end, and scopes. Scoped tensors are placed by one
 * spad_stack per space, as the statements run. A stack tensor is over when its scope has returned
 * to its section; frames count the sections, so that an access can check it.
 */
#include "kernel/walk/walk.h"

#include <stdio.h>

#include "base/checked.h"

/* ---- managers ---------------------------------------------------------------------- */

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

spad_status spad__walk_make_managers(spad_walk *walk, spad_error *error) {
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

/* ---- tensors ----------------------------------------------------------------------- */

/* A failure of a manager, with the place of the statement. */
static spad_status at_statement(spad_walk *walk, const spad_statement *s, spad_status status) {
    if (status != SPAD_OK) spad__fact_kernel(walk->kernel, s->location, &walk->error);
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
    const spad_stack_place place = {.align = tensor->align.value, /* 0: the default of both */
                                    .base_lane = tensor->lane.value};
    char label[SPAD_NAME_FACT_MAX + 80];
    label_tile(walk, s, tile, plain, label, sizeof label);
    return (tensor->mode == SPAD_MODE_HEAP ? spad_stack_alloc_heap : spad_stack_alloc_stack)(
        rect, walk->managers[tensor->space].stack, shape, tensor->dtype, named ? label : NULL,
        &place, &walk->error);
}

/* Allocates the tiles of a scoped tensor, one after another. */
static spad_status allocate(spad_walk *walk, const spad_statement *s,
                            const spad_kernel_tensor *tensor, spad__walk_scoped_tensor *scoped) {
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
    spad__walk_scoped_tensor *scoped = &walk->scoped[s->item];
    spad__walk_manager *m = &walk->managers[tensor->space];
    const bool heap = tensor->mode == SPAD_MODE_HEAP;
    if (scoped->rects == NULL) {
        scoped->rects = spad__walk_take(walk, (size_t)tensor->tiles, sizeof *scoped->rects);
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

spad_status spad__walk_tensor(spad_walk *walk, const spad_statement *s) {
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
    spad__walk_manager *m = &walk->managers[tensor->space];
    const size_t count = m->heap.count;
    const int64_t newest = count > 0 ? m->heap.items[count - 1] : -1;
    if (newest != s->item || !walk->scoped[s->item].live) {
        if (newest < 0 || !walk->scoped[s->item].live) {
            spad__fail(&walk->error, SPAD_ERR_NOT_LIVE,
                       "'%s' is freed, but is not allocated; free it once", tensor->name);
        } else {
            spad__fail(&walk->error, SPAD_ERR_NOT_LIVE,
                       "'%s' is not the newest heap tensor; '%s' is, and the heap is freed newest "
                       "first",
                       tensor->name, walk->kernel->tensors.items[newest].name);
        }
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

spad_status spad__walk_tile(spad_walk *walk, const spad_statement *s) {
    const spad_kernel_tensor *tensor = &walk->kernel->tensors.items[s->item];
    spad_walk_event *event = &walk->event;
    event->kind = s->kind == SPAD_STATEMENT_ALLOC ? SPAD_WALK_ALLOC : SPAD_WALK_FREE;
    event->tensor = s->item;
    event->life = spad__max(walk->lives[s->item] - 1, 0);
    if (s->index_count > 0) {
        return spad__walk_number(walk, tensor->name, tensor->blocks, s->index, s->location,
                                 &event->tile);
    }
    return tensor->mode == SPAD_MODE_HEAP ? free_heap(walk, s, tensor) : SPAD_OK;
}

/* ---- scopes ------------------------------------------------------------------------ */

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

spad_status spad__walk_open_scope(spad_walk *walk, const spad_statement *s, size_t number) {
    const int64_t sections = spad__walk_value(walk, s->amount);
    const spad_status status = each_manager(walk, s, open_one, sections);
    if (status != SPAD_OK) return status;
    spad__walk_push(walk, number);
    walk->frames[walk->frame_count - 1].sections = sections;
    walk->event.kind = SPAD_WALK_SCOPE_OPEN;
    walk->event.amount = sections;
    return SPAD_OK;
}

spad_status spad__walk_next_section(spad_walk *walk, const spad_statement *s) {
    spad__walk_frame *scope = &walk->frames[innermost_scope(walk) - 1];
    const spad_status status = each_manager(walk, s, increment_one, 0);
    if (status != SPAD_OK) return status;
    scope->increments++;
    walk->event.kind = SPAD_WALK_SECTION;
    walk->event.amount = scope->increments % scope->sections;
    return SPAD_OK;
}

/* The stack tensors that a scope declares itself are over. Those of blocks in it cannot
 * be named any more. Tensors are in the order of their statements. */
static void end_tensors(spad_walk *walk, size_t scope) {
    const spad_kernel *k = walk->kernel;
    size_t first = 0;
    size_t last = k->tensors.count;
    while (first < last) { /* the first one after the opening of the scope */
        const size_t middle = first + (last - first) / 2;
        if (k->tensors.items[middle].statement > scope) {
            last = middle;
        } else {
            first = middle + 1;
        }
    }
    const size_t end = k->statements.items[scope].end;
    for (size_t i = first; i < k->tensors.count && k->tensors.items[i].statement < end; i++) {
        if (k->tensors.items[i].mode == SPAD_MODE_STACK) walk->scoped[i].live = false;
    }
}

spad_status spad__walk_close_scope(spad_walk *walk, const spad_statement *s) {
    end_tensors(walk, walk->frames[walk->frame_count - 1].statement);
    return each_manager(walk, s, close_one, 0);
}
