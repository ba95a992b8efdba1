/* SPDX-License-Identifier: Apache-2.0
 *
 * One space: its problem for the planner, the answer, and the figures about it.
 *
 * The problem. Slots of a ring go to the planner as one buffer, because base + slot x
 * stride is what a kernel wants to compute, and because a dozen buffers are solved at
 * once where thousands are not. Where a bank or a few lanes hold a tile, and wherever
 * the rings as a whole are not proved to be as low as anything could, every slot is
 * also tried on its own, and the lower plan is taken.
 *
 * The planner gets a space without rules of its own: rounding, alignment and banks are
 * given per buffer, so that obstacles, which the kernel has placed, need not obey them.
 * Obstacles may overlap (the checks report that), pins may not: boxes that
 * share bytes at some time are replaced by the box around both until none do.
 *
 * Order. Tensors that the caller has ordered (spad_tensor_order) may share bytes although the text
 * needs both at one time. Such lives fit no time axis. The planner then gets a moment of its own
 * for every buffer and obstacle, and all pairs that may not share bytes as pairs kept apart.
 */
#include <stdlib.h>
#include <string.h>

#include "base/checked.h"
#include "base/compare.h"
#include "kernel/kernel.h"
#include "kernel/place.h"
#include "layout/layout.h"
#include "layout/tensor_order.h"
#include "plan/problem/stop.h"

enum {
    TIME_MIN = 1000000, /* nanoseconds for one question to the planner */
    CLOCK_NUMBERS = 2
};

/* ---- planned buffers --------------------------------------------------------------- */

/* True if the slots of a tensor may be consecutive. */
static bool makes_arrays(const spad_space *space, const spad_kernel_tensor *tensor) {
    if (space->banks_exclusive) return false;
    return tensor->tile_lanes == space->lanes || tensor->lane.value != 0;
}

static spad_status fail_at(const spad_kernel *k, const spad_kernel_tensor *tensor,
                           spad_status status, spad_error *error) {
    spad__fact_names(error, tensor->name, NULL);
    spad__fact_kernel(k, tensor->location, error);
    return status;
}

/* Alignment, rounded size and stride of the slots of a tensor. */
static spad_status measure_tensor(const spad_layout *layout, const spad_kernel_tensor *tensor,
                                  spad_layout_buffer *buffer, spad_error *error) {
    const spad_kernel *k = layout->kernel;
    const spad_space *space = &k->target->spaces[tensor->space];
    const int64_t own =
        tensor->align.value != 0 ? tensor->align.value : spad_dtype_bytes(tensor->dtype);
    int64_t align = 0;
    int64_t rounded;
    if (!spad__lcm(spad__max(own, 1), spad__max(tensor->proxy_align, 1), &align)) align = own;
    for (int64_t i = layout->next_replica[buffer->tensor]; i >= 0; i = layout->next_replica[i]) {
        const int64_t more = k->tensors.items[i].proxy_align;
        if (!spad__lcm(align, spad__max(more, 1), &align)) align = own;
    }
    if (!spad__lcm(spad__max(align, 1), space->alignment, &buffer->alignment)) {
        spad__fail(error, SPAD_ERR_OVERFLOW,
                   "the alignments %lld and %lld have no common multiple in 64 bits",
                   (long long)align, (long long)space->alignment);
        return fail_at(k, tensor, SPAD_ERR_OVERFLOW, error);
    }
    const spad_status status = spad_space_round(&rounded, space, tensor->tile_bytes, error);
    if (status != SPAD_OK) return fail_at(k, tensor, status, error);
    if (!spad__align_up(rounded, buffer->alignment, &buffer->stride) ||
        !spad__mul(buffer->slots - 1, buffer->stride, &buffer->taken) ||
        !spad__add(buffer->taken, rounded, &buffer->taken)) {
        spad__fail(error, SPAD_ERR_OVERFLOW, "%s slots of %s B do not fit 64 bits",
                   spad__grouped(buffer->slots).text, spad__grouped(rounded).text);
        return fail_at(k, tensor, SPAD_ERR_OVERFLOW, error);
    }
    buffer->padding = buffer->taken - buffer->slots * tensor->tile_bytes;
    return SPAD_OK;
}

/* Appends the slots of a tensor: runs of equal lives as one buffer each, or each alone. */
static spad_status add_slots(spad_layout *layout, size_t number, bool arrays, spad_error *error) {
    const spad_kernel *k = layout->kernel;
    const spad_kernel_tensor *tensor = &k->tensors.items[number];
    const spad__slot_life *lives = &layout->lives[layout->first_slots[number]];
    const bool joined = arrays && makes_arrays(&k->target->spaces[tensor->space], tensor);
    for (int64_t s = 0, next; s < tensor->slots; s = next) {
        for (next = s + 1; joined && next < tensor->slots; next++) {
            if (lives[next].begin != lives[s].begin || lives[next].end != lives[s].end) break;
        }
        if (lives[s].begin == lives[s].end) continue;
        spad_layout_buffer buffer = {
            .name = tensor->name,
            .tensor = (int64_t)number,
            .sync = -1,
            .slot = s,
            .slots = next - s,
            .rect = {tensor->lane.value, tensor->tile_lanes, SPAD_NO_BYTE, tensor->tile_bytes},
            .begin = lives[s].begin,
            .end = lives[s].end};
        const spad_status status = measure_tensor(layout, tensor, &buffer, error);
        if (status != SPAD_OK) return status;
        if (!spad__array_reserve(&layout->host, &layout->buffers, 1)) {
            return spad__fail_host_memory(error);
        }
        layout->buffers.items[layout->buffers.count++] = buffer;
    }
    return SPAD_OK;
}

static bool text_needs_both(const spad_layout_buffer *a, const spad_layout_buffer *b) {
    return a->begin < b->end && b->begin < a->end;
}

/* Lives of mbarriers, the buffers from `first` on, where two of them may share bytes then. */
static void shorten_barriers(spad_layout *layout, size_t first) {
    spad_layout_buffer *items = layout->buffers.items;
    bool share = false;
    if (layout->buffers.count > SPAD__ORDERED_MAX) return;
    for (size_t i = first; i < layout->buffers.count; i++) {
        const spad__slot_life life = spad__barrier_life(layout, (size_t)items[i].sync);
        items[i].begin = life.begin;
        items[i].end = life.end;
        for (size_t j = first; j < i; j++) share = share || !text_needs_both(&items[i], &items[j]);
    }
    for (size_t i = first; i < layout->buffers.count && !share; i++) {
        items[i].begin = 0;
        items[i].end = layout->end;
    }
}

static spad_status add_barriers(spad_layout *layout, size_t space, spad_error *error) {
    const spad_kernel *k = layout->kernel;
    const size_t first = layout->buffers.count;
    size_t shared;
    if (!spad__barrier_space(k, &shared) || shared != space) return SPAD_OK;
    for (size_t i = 0; i < k->syncs.count; i++) {
        const spad_kernel_sync *sync = &k->syncs.items[i];
        spad_layout_buffer buffer = {
            .name = sync->name,
            .tensor = -1,
            .sync = (int64_t)i,
            .slots = spad__mbarriers_of_block(sync),
            .rect = {.lanes = 1, .byte = SPAD_NO_BYTE, .bytes = SPAD_MBARRIER_BYTES},
            .stride = SPAD_MBARRIER_BYTES,
            .alignment = SPAD_MBARRIER_BYTES,
            .end = layout->end};
        if (sync->kind != SPAD_SYNC_MBARRIER || sync->placed) continue;
        if (!spad__mul(buffer.slots, SPAD_MBARRIER_BYTES, &buffer.taken)) {
            spad__fail(error, SPAD_ERR_OVERFLOW, "%lld mbarriers do not fit 64 bits",
                       (long long)sync->elements);
            spad__fact_kernel(k, sync->location, error);
            return SPAD_ERR_OVERFLOW;
        }
        if (!spad__array_reserve(&layout->host, &layout->buffers, 1)) {
            return spad__fail_host_memory(error);
        }
        layout->buffers.items[layout->buffers.count++] = buffer;
    }
    /* obstacles and the clock of the caller have other times */
    if (layout->given.count == 0 && layout->times == NULL) shorten_barriers(layout, first);
    return SPAD_OK;
}

/* ---- obstacles --------------------------------------------------------------------- */

static bool boxes_meet(const spad__box *a, const spad__box *b) {
    return a->life.begin < b->life.end && b->life.begin < a->life.end &&
           spad_rect_overlaps(a->rect, b->rect);
}

static spad__box box_around(const spad__box *a, const spad__box *b) {
    const int64_t lane = spad__min(a->rect.lane, b->rect.lane);
    const int64_t byte = spad__min(a->rect.byte, b->rect.byte);
    return (spad__box){
        .rect = {lane, spad__max(a->rect.lane + a->rect.lanes, b->rect.lane + b->rect.lanes) - lane,
                 byte,
                 spad__max(a->rect.byte + a->rect.bytes, b->rect.byte + b->rect.bytes) - byte},
        .life = {spad__min(a->life.begin, b->life.begin), spad__max(a->life.end, b->life.end)}};
}

/* The part of a buffer inside the space, as a box whose lanes a pin may have. */
static bool box_of(const spad_plan *plan, const spad_space *rules, const spad_layout_buffer *buffer,
                   spad__box *box) {
    const int64_t top = buffer->rect.byte + buffer->taken;
    const int64_t lower = spad__max(buffer->rect.byte, 0);
    const int64_t upper = spad__min(top, spad_plan_get_capacity(plan));
    *box = (spad__box){.rect = {buffer->rect.lane, buffer->rect.lanes, lower, upper - lower},
                       .life = {buffer->begin, buffer->end}};
    if (spad_space_check_lanes(rules, box->rect.lane, box->rect.lanes, NULL) != SPAD_OK) {
        box->rect.lane = 0;
        box->rect.lanes = rules->lanes;
    }
    return lower < upper && buffer->begin < buffer->end;
}

static bool add_box(const spad_host *host, spad__box_list *boxes, const spad_space *rules,
                    spad__box box) {
    for (size_t i = 0; i < boxes->count;) {
        if (!boxes_meet(&boxes->items[i], &box)) {
            i++;
            continue;
        }
        box = box_around(&boxes->items[i], &box);
        if (spad_space_check_lanes(rules, box.rect.lane, box.rect.lanes, NULL) != SPAD_OK) {
            box.rect.lane = 0;
            box.rect.lanes = rules->lanes;
        }
        boxes->items[i] = boxes->items[--boxes->count];
        i = 0;
    }
    if (!spad__array_reserve(host, boxes, 1)) return false;
    boxes->items[boxes->count++] = box;
    return true;
}

/* ---- the problem ------------------------------------------------------------------- */

/* When the slots of a buffer are in use on the clock of the caller; without a clock, always. */
static spad__slot_life time_of(const spad_layout *layout, const spad_layout_buffer *buffer) {
    spad__slot_life all = {INT64_MAX, 0};
    const bool timed =
        layout->times != NULL && buffer->tensor >= 0 && buffer->mode == SPAD_MODE_AUTO;
    for (int64_t t = timed ? buffer->tensor : -1; t >= 0; t = layout->next_replica[t]) {
        const size_t slot = layout->first_slots[t] + (size_t)buffer->slot;
        for (int64_t s = 0; s < buffer->slots; s++) {
            const spad__slot_life *one = &layout->times[slot + (size_t)s];
            if (one->begin > one->end) return (spad__slot_life){0, layout->last};
            all.begin = spad__min(all.begin, one->begin);
            all.end = spad__max(all.end, one->end);
        }
    }
    return all.begin <= all.end ? all : (spad__slot_life){0, layout->last};
}

/* `ordered`: the buffer has a moment of its own; `timed`: a vector clock, of the text and of the
 * clock of the caller. */
static spad_status add_planned(const spad_layout *layout, spad_plan *plan, size_t space,
                               const spad_layout_buffer *buffer, bool ordered, bool timed,
                               spad_error *error) {
    const spad_kernel *k = layout->kernel;
    const spad_space *rules = &k->target->spaces[space];
    const int64_t moment = (int64_t)spad_plan_count(plan);
    const spad__slot_life time = time_of(layout, buffer);
    const int64_t lower[CLOCK_NUMBERS] = {buffer->begin, time.begin};
    const int64_t upper[CLOCK_NUMBERS] = {buffer->end, time.end};
    const spad_plan_buffer item = {.lower = ordered ? moment : buffer->begin,
                                   .upper = ordered ? moment + 1 : buffer->end,
                                   .size = buffer->taken,
                                   .alignment = buffer->alignment,
                                   /* a tile with a start lane of its own takes all of them */
                                   .lanes =
                                       buffer->rect.lane != 0 ? rules->lanes : buffer->rect.lanes,
                                   .bank = rules->banks_exclusive ? rules->bank_bytes : 0,
                                   .clock_count = timed ? CLOCK_NUMBERS : 0,
                                   .lower_clock = lower,
                                   .upper_clock = upper};
    const spad_status status = spad_plan_add(NULL, plan, &item, error);
    if (status == SPAD_OK || buffer->tensor < 0 || status == SPAD_ERR_HOST_MEMORY) return status;
    const spad_kernel_tensor *tensor = &k->tensors.items[buffer->tensor];
    if (status == SPAD_ERR_NO_FIT) {
        spad__fail(error, status, "a tile of '%s' takes %s B a lane, and a bank of '%s' has %s",
                   tensor->name, spad__grouped(buffer->taken).text, rules->name,
                   spad__grouped(rules->bank_bytes).text);
    }
    return fail_at(k, tensor, status, error);
}

static int compare_begins(const void *left, const void *right) {
    const spad__box *a = left;
    const spad__box *b = right;
    int order = spad__compare(a->life.begin, b->life.begin);
    if (order == 0) order = spad__compare(a->rect.byte, b->rect.byte);
    return order != 0 ? order : spad__compare(a->rect.lane, b->rect.lane);
}

/* Boxes in the order of their begins: one can only meet those that are not over by then, unless
 * boxes are joined, which may reach back. `alive` has the numbers of those that are not over. */
static bool join_boxes(const spad_host *host, spad__box_list *boxes, const spad_space *rules,
                       const spad__box *all, size_t count) {
    SPAD_ARRAY(size_t) alive = {0};
    bool fine = true;
    for (size_t i = 0; i < count && fine; i++) {
        size_t kept = 0;
        bool meets = false;
        for (size_t k = 0; k < alive.count; k++) {
            const spad__box *box = &boxes->items[alive.items[k]];
            if (box->life.end <= all[i].life.begin) continue;
            meets = meets || boxes_meet(box, &all[i]);
            alive.items[kept++] = alive.items[k];
        }
        alive.count = kept;
        const size_t before = boxes->count;
        fine = meets ? add_box(host, boxes, rules, all[i])
                     : spad__array_reserve(host, boxes, 1) && spad__array_reserve(host, &alive, 1);
        if (!fine) break;
        if (!meets) {
            boxes->items[boxes->count++] = all[i];
            alive.items[alive.count++] = before;
            continue;
        }
        alive.count = 0;
        fine = spad__array_reserve(host, &alive, boxes->count);
        for (size_t k = 0; k < boxes->count && fine; k++) alive.items[alive.count++] = k;
    }
    spad__array_free(host, &alive);
    return fine;
}

/* The parts of the obstacles that are inside the space. */
static bool list_boxes(const spad_layout *layout, const spad__layout_space *space,
                       const spad_plan *plan, spad__box_list *all) {
    if (!spad__array_reserve(&layout->host, all, layout->given.count)) return false;
    for (size_t i = 0; i < layout->given.count; i++) {
        spad__box box;
        if (box_of(plan, &space->rules, &layout->given.items[i], &box))
            all->items[all->count++] = box;
    }
    if (all->count > 0) qsort(all->items, all->count, sizeof *all->items, compare_begins);
    return true;
}

static spad_status add_obstacles(const spad_layout *layout, const spad__layout_space *space,
                                 spad_plan *plan, bool timed, spad_error *error) {
    spad__box_list boxes = {0};
    spad__box_list all = {0};
    const bool fine = list_boxes(layout, space, plan, &all) &&
                      join_boxes(&layout->host, &boxes, &space->rules, all.items, all.count);
    spad__array_free(&layout->host, &all);
    spad_status status = fine ? SPAD_OK : spad__fail_host_memory(error);
    for (size_t i = 0; i < boxes.count && status == SPAD_OK; i++) {
        const spad__box *box = &boxes.items[i];
        /* at the start of the clock: obstacles are ordered as in the text */
        const int64_t lower[CLOCK_NUMBERS] = {box->life.begin, 0};
        const int64_t upper[CLOCK_NUMBERS] = {box->life.end, 0};
        const spad_plan_buffer pin = {.lower = box->life.begin,
                                      .upper = box->life.end,
                                      .clock_count = timed ? CLOCK_NUMBERS : 0,
                                      .lower_clock = lower,
                                      .upper_clock = upper,
                                      .size = box->rect.bytes,
                                      .alignment = 1,
                                      .lanes = box->rect.lanes,
                                      .pinned = true,
                                      .offset = box->rect.byte,
                                      .lane = box->rect.lane};
        status = spad_plan_add(NULL, plan, &pin, error);
    }
    spad__array_free(&layout->host, &boxes);
    return status;
}

/* ---- order ------------------------------------------------------------------------- */

/* An mbarrier shares bytes with a tensor only by the order, whatever the text says. */
static bool are_of_two_kinds(const spad_layout_buffer *a, const spad_layout_buffer *b) {
    return (a->sync >= 0) != (b->sync >= 0);
}

/* The i-th of the planned buffers from `first` on and the obstacles after them. */
static const spad_layout_buffer *nth_buffer(const spad_layout *layout, size_t first, size_t i) {
    const size_t planned = layout->buffers.count - first;
    return i < planned ? &layout->buffers.items[first + i] : &layout->given.items[i - planned];
}

/* Does the order let two buffers share bytes that the text keeps apart, or the reverse? */
static bool is_order_of_use(const spad_layout *layout, size_t first) {
    const size_t planned = layout->buffers.count - first;
    const size_t count = planned + layout->given.count;
    if (layout->options.order == NULL || count > SPAD__ORDERED_MAX) return false;
    for (size_t i = 0; i < planned; i++) {
        const spad_layout_buffer *a = nth_buffer(layout, first, i);
        for (size_t j = i + 1; j < count; j++) {
            const spad_layout_buffer *b = nth_buffer(layout, first, j);
            if (spad__layout_keeps_apart(layout, a, b)) return true;
            if ((text_needs_both(a, b) || are_of_two_kinds(a, b)) &&
                spad__layout_may_share(layout, a, b))
                return true;
        }
    }
    return false;
}

/* Is an mbarrier needed for a part of the time? Then there are no obstacles. */
static bool has_brief_barriers(const spad_layout *layout, size_t first) {
    for (size_t i = first; i < layout->buffers.count; i++) {
        const spad_layout_buffer *buffer = &layout->buffers.items[i];
        if (buffer->sync >= 0 && (buffer->begin > 0 || buffer->end < layout->end)) return true;
    }
    return false;
}

/* Pairs kept apart. `ordered`: of a plan in which no two buffers have a moment in common. */
static spad_status keep_apart(const spad_layout *layout, size_t first, spad_plan *plan,
                              bool ordered, spad_error *error) {
    const size_t planned = layout->buffers.count - first;
    const size_t count = planned + layout->given.count;
    spad_status status = SPAD_OK;
    if (!ordered && !has_brief_barriers(layout, first)) return SPAD_OK;
    for (size_t i = 0; i < planned; i++) {
        const spad_layout_buffer *a = nth_buffer(layout, first, i);
        for (size_t j = i + 1; j < count && status == SPAD_OK; j++) {
            const spad_layout_buffer *b = nth_buffer(layout, first, j);
            const bool both = text_needs_both(a, b);
            const bool kinds = are_of_two_kinds(a, b);
            const bool needed = ordered ? both || kinds : !both && kinds;
            if ((needed && !spad__layout_may_share(layout, a, b)) ||
                (ordered && spad__layout_keeps_apart(layout, a, b)))
                status = spad_plan_apart(plan, i, j, error);
        }
    }
    return status;
}

/* Adds every obstacle by itself, so that plan and layout number the buffers alike. */
static spad_status add_pins(const spad_layout *layout, const spad__layout_space *space,
                            spad_plan *plan, spad_error *error) {
    spad_status status = SPAD_OK;
    for (size_t i = 0; i < layout->given.count && status == SPAD_OK; i++) {
        const int64_t moment = (int64_t)spad_plan_count(plan);
        spad__box box;
        if (!box_of(plan, &space->rules, &layout->given.items[i], &box))
            box.rect = (spad_rect){.lanes = space->rules.lanes}; /* without bytes */
        const spad_plan_buffer pin = {.lower = moment,
                                      .upper = moment + 1,
                                      .size = box.rect.bytes,
                                      .alignment = 1,
                                      .lanes = box.rect.lanes,
                                      .pinned = true,
                                      .offset = box.rect.byte,
                                      .lane = box.rect.lane};
        status = spad_plan_add(NULL, plan, &pin, error);
    }
    return status;
}

/* ---- asking the planner ------------------------------------------------------------ */

/* The planned buffers of a space, from `first` on. */
static spad_status list_planned(spad_layout *layout, size_t space, size_t first, bool arrays,
                                spad_error *error) {
    const spad_kernel *k = layout->kernel;
    spad_status status = SPAD_OK;
    layout->buffers.count = first;
    for (size_t i = 0; i < k->tensors.count && status == SPAD_OK; i++) {
        const spad_kernel_tensor *tensor = &k->tensors.items[i];
        if (tensor->space != space || !spad__is_planned(k, tensor) || tensor->like != 0) continue;
        status = add_slots(layout, i, arrays, error);
    }
    return status == SPAD_OK ? add_barriers(layout, space, error) : status;
}

typedef struct solver_answer {
    spad_plan *plan;
    spad_plan_result *result;
    size_t planned;
    bool ordered;
    bool timed;
    bool loose; /* the order was left out for slots, so that the bound is not one of all layouts */
} solver_answer;

static void drop_answer(solver_answer *a) {
    spad_plan_result_destroy(a->result);
    spad_plan_destroy(a->plan);
    *a = (solver_answer){0};
}

/* At least a moment, so that there is a plan to show. */
static int64_t time_left(const spad_layout *layout) {
    return spad__max(layout->limit.deadline - spad__clock(), TIME_MIN);
}

/* Does the caller still want it? */
static spad_status check_cancelled(spad_layout *layout, spad_error *error) {
    if (!spad__limit_cancelled(&layout->limit)) return SPAD_OK;
    return spad__limit_fail(&layout->limit, (int64_t)layout->space_count, "spaces", error);
}

typedef struct spad__solver_watch {
    spad_layout *layout;
    size_t space;
} spad__solver_watch;

/* Passes cancellation on to the planner, which has a time limit of its own, and progress to the
 * caller, who may end the search. */
static int watch_progress(void *context, const spad_plan_progress *plan) {
    const spad__solver_watch *watch = context;
    spad_layout *layout = watch->layout;
    if (spad__limit_cancelled(&layout->limit)) return 1;
    if (layout->options.progress == NULL) return 0;
    const spad_layout_progress progress = {.space = watch->space,
                                           .name =
                                               layout->kernel->target->spaces[watch->space].name,
                                           .plan = *plan};
    if (layout->options.progress(layout->options.context, &progress) == 0) return 0;
    layout->limit.deadline = 0; /* nor do other questions to the planner take long */
    return 1;
}

/* States the problem of a space, with rings as a whole or slot by slot. */
static spad_status state_problem(spad_layout *layout, const spad__layout_space *space, bool arrays,
                                 solver_answer *a, spad_error *error) {
    const size_t first = space->row.first_buffer;
    const size_t number = space->row.space;
    spad_status status = list_planned(layout, number, first, arrays, error);
    a->planned = layout->buffers.count - first;
    if (status == SPAD_OK) status = spad_plan_create(&a->plan, &layout->host, error);
    if (status == SPAD_OK) status = spad_plan_set_space(a->plan, &space->rules, error);
    a->ordered = status == SPAD_OK && is_order_of_use(layout, first);
    a->timed = layout->times != NULL && !a->ordered &&
               a->planned + layout->given.count <= SPAD_PLAN_CLOCK_BUFFERS;
    for (size_t i = first; i < layout->buffers.count && status == SPAD_OK; i++) {
        status = add_planned(layout, a->plan, number, &layout->buffers.items[i], a->ordered,
                             a->timed, error);
    }
    if (status == SPAD_OK)
        status = a->ordered ? add_pins(layout, space, a->plan, error)
                            : add_obstacles(layout, space, a->plan, a->timed, error);
    return status == SPAD_OK ? keep_apart(layout, first, a->plan, a->ordered, error) : status;
}

/* Asks the planner. */
static spad_status plan_space(spad_layout *layout, const spad__layout_space *space, bool arrays,
                              solver_answer *a, spad_error *error) {
    *a = (solver_answer){0};
    spad_status status = state_problem(layout, space, arrays, a, error);
    spad__solver_watch watch = {layout, space->row.space};
    const bool watched = layout->limit.watch.cancel != NULL || layout->options.progress != NULL;
    const spad_plan_options options = {.goal = SPAD_PLAN_MINIMIZE,
                                       .timeout_ns = time_left(layout),
                                       .node_limit = layout->options.node_limit,
                                       .seed = layout->options.seed,
                                       .threads = layout->options.threads,
                                       .progress = watched ? watch_progress : NULL,
                                       .context = &watch};
    if (status == SPAD_OK) status = check_cancelled(layout, error);
    if (status == SPAD_OK) status = spad_plan_solve(&a->result, a->plan, &options, error);
    if (status == SPAD_OK) status = check_cancelled(layout, error);
    if (status != SPAD_OK) drop_answer(a);
    return status;
}

static bool verdict_fits(spad_plan_verdict verdict) {
    return verdict == SPAD_PLAN_OPTIMAL || verdict == SPAD_PLAN_FEASIBLE;
}

/* True if a ring has room between its slots, which others could use if slots were placed alone. */
static bool has_spacing(const spad_layout *layout, size_t first) {
    for (size_t i = first; i < layout->buffers.count; i++) {
        const spad_layout_buffer *b = &layout->buffers.items[i];
        if (b->slots > 1 && b->slots * b->stride > b->taken) return true;
    }
    return false;
}

/* True if the order treats a slot differently from its ring as a whole. */
static bool has_slots_of_their_own(const spad_layout *layout, size_t first) {
    const size_t count = layout->buffers.count - first + layout->given.count;
    if (layout->options.order == NULL || count > SPAD__ORDERED_MAX) return false;
    for (size_t i = first; i < layout->buffers.count; i++) {
        const spad_layout_buffer *a = &layout->buffers.items[i];
        if (a->slots < 2 || a->tensor < 0) continue;
        for (size_t j = 0; j < count; j++) {
            const spad_layout_buffer *b = nth_buffer(layout, first, j);
            const spad__sharing sharing = spad__layout_sharing(layout, a, b);
            if (sharing == SPAD__SHARE_SOME || (a == b && sharing != SPAD__SHARE_NONE)) return true;
        }
    }
    return false;
}

/* Is the answer for whole rings the one for all layouts? The load of the whole rings bounds all
 * layouts only if it has no room between slots. */
static bool is_lowest_of_all(const spad_layout *layout, size_t first,
                             const spad_plan_result *whole) {
    return (whole->verdict == SPAD_PLAN_OPTIMAL || whole->verdict == SPAD_PLAN_INFEASIBLE) &&
           whole->height <= spad__max(whole->peak_load, whole->together_bytes) &&
           !has_spacing(layout, first) && !has_slots_of_their_own(layout, first);
}

/* Rings stay whole. The bound of layouts slot by slot, which are more, holds for them as well. */
static void keep_whole(solver_answer *best, const solver_answer *apart) {
    spad_plan_result *whole = best->result;
    whole->bound = apart->result->bound;
    best->loose = best->ordered && !apart->ordered;
    if (!verdict_fits(whole->verdict)) whole->verdict = apart->result->verdict;
    if (verdict_fits(whole->verdict) && whole->height > whole->bound) {
        whole->verdict = SPAD_PLAN_FEASIBLE;
    }
}

/* Plans rings as a whole, and slot by slot where that may be lower. */
static spad_status find_answer(spad_layout *layout, const spad__layout_space *space,
                               solver_answer *best, spad_error *error) {
    const size_t first = space->row.first_buffer;
    spad_status status = plan_space(layout, space, true, best, error);
    if (status != SPAD_OK) return status;
    if (is_lowest_of_all(layout, first, best->result)) return SPAD_OK;
    status = list_planned(layout, space->row.space, first, false, error);
    if (status == SPAD_OK && layout->buffers.count - first == best->planned) return SPAD_OK;
    solver_answer apart = {0};
    if (status == SPAD_OK) status = plan_space(layout, space, false, &apart, error);
    if (status == SPAD_OK && apart.result->height < best->result->height) {
        const solver_answer higher = *best;
        *best = apart;
        apart = higher;
    } else if (status == SPAD_OK) {
        keep_whole(best, &apart);
        status = list_planned(layout, space->row.space, first, true, error);
    }
    drop_answer(&apart);
    if (status != SPAD_OK) drop_answer(best);
    return status;
}

/* ---- the answer -------------------------------------------------------------------- */

static void take_places(spad_layout *layout, const spad__layout_space *space) {
    const spad_layout_space *row = &space->row;
    if (space->result->places == NULL) return;
    for (size_t i = 0; i < row->planned_count; i++) {
        spad_layout_buffer *buffer = &layout->buffers.items[row->first_buffer + i];
        const spad_plan_place place = space->result->places[i];
        buffer->rect.byte = place.offset;
        if (buffer->rect.lane == 0) buffer->rect.lane = place.lane;
        if (buffer->tensor < 0 || !verdict_fits(row->verdict)) continue;
        const size_t slot = layout->first_slots[buffer->tensor] + (size_t)buffer->slot;
        for (int64_t s = 0; s < buffer->slots; s++) {
            layout->bytes[slot + (size_t)s] = buffer->rect.byte + s * buffer->stride;
            layout->lanes[slot + (size_t)s] = buffer->rect.lane;
        }
    }
}

/* Appends what the kernel has placed after the planned buffers. */
static spad_status append_given(spad_layout *layout, spad_error *error) {
    const size_t count = layout->given.count;
    if (count == 0) return SPAD_OK;
    if (!spad__array_reserve(&layout->host, &layout->buffers, count)) {
        return spad__fail_host_memory(error);
    }
    memcpy(layout->buffers.items + layout->buffers.count, layout->given.items,
           count * sizeof *layout->given.items);
    layout->buffers.count += count;
    return SPAD_OK;
}

static void fill_row(const spad_layout *layout, spad__layout_space *space,
                     const solver_answer *best) {
    const spad_space *rules = &layout->kernel->target->spaces[space->row.space];
    spad_layout_space *row = &space->row;
    space->plan = best->plan;
    space->result = best->result;
    row->plan = best->plan;
    row->result = best->result;
    row->planned_count = best->planned;
    row->buffer_count = layout->buffers.count - row->first_buffer;
    row->capacity = spad_space_get_usable(rules);
    row->reserved = rules->reserved;
    row->verdict = best->result->verdict;
    row->height = best->result->height;
    row->bound = best->result->bound;
    space->ordered = best->ordered;
    row->timed = best->timed;
    row->peak_statement = spad__layout_peak_statement(layout, space);
    /* the planner rounds loads to the alignment that all share */
    row->peak_bytes = spad__min(spad__max(best->result->peak_load, best->result->together_bytes),
                                best->result->height);
}

spad_status spad__layout_solve(spad_layout *layout, spad__layout_space *space, spad_error *error) {
    solver_answer best;
    space->rules = layout->kernel->target->spaces[space->row.space];
    space->rules.alignment = space->rules.granule = 1;
    space->rules.power_of_two = space->rules.banks_exclusive = false;
    space->row.first_buffer = layout->buffers.count;
    spad_status status = spad__layout_given(layout, space->row.space, error);
    if (status == SPAD_OK) status = find_answer(layout, space, &best, error);
    if (status != SPAD_OK) return status;
    status = append_given(layout, error);
    fill_row(layout, space, &best);
    if (status != SPAD_OK) return status;
    spad__layout_claim_given(layout, &space->row);
    spad__layout_weaken_agents(layout, &space->row, best.loose);
    spad__layout_weaken_replicas(layout, &space->row);
    status = spad__layout_weaken_barriers(layout, &space->row, error);
    if (status != SPAD_OK) return status;
    take_places(layout, space);
    if (!space->ordered)
        status = spad__layout_find_peak(layout, &space->row, &space->row.peak_bytes,
                                        &space->row.peak_statement, error);
    return status == SPAD_OK ? spad__layout_describe_peak(layout, space, error) : status;
}
