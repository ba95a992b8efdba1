/* SPDX-License-Identifier: Apache-2.0
 *
 * Builds a layout: computes the live ranges of all slots, then solves each memory space.
 */
#include "layout/layout.h"

#include "base/checked.h"
#include "base/moment.h"
#include "base/options.h"
#include "kernel/kernel.h"
#include "kernel/place.h"
#include "layout/tensor_order.h"

static spad_status take_options(spad_layout_options *filled, spad__limit *limit,
                                const spad_layout_options *options, spad_error *error) {
    const spad_status status = SPAD__COPY_OPTIONS(filled, options, error);
    if (status != SPAD_OK) return status;
    if (filled->timeout_ns == 0) filled->timeout_ns = SPAD_LAYOUT_TIMEOUT;
    return spad__limit_start(limit, filled->timeout_ns, filled->watch, error);
}

static void drop_space(const spad_host *host, spad__layout_space *space) {
    spad__free(host, space->alive, (space->row.buffer_count + 1) * sizeof *space->alive);
    spad_plan_result_destroy(space->result);
    spad_plan_destroy(space->plan);
    *space = (spad__layout_space){0};
}

/* Spaces that hold nothing of the kernel have no row. */
static spad_status solve_spaces(spad_layout *layout, spad_error *error) {
    const spad_target *target = layout->kernel->target;
    for (size_t i = 0; i < target->space_count; i++) {
        if (target->spaces[i].off_chip) continue;
        spad__layout_space *space = &layout->spaces[layout->space_count];
        space->row.space = i;
        const spad_status status = spad__layout_solve(layout, space, error);
        if (status != SPAD_OK || space->row.buffer_count == 0) {
            drop_space(&layout->host, space);
            if (status != SPAD_OK) return status;
        } else {
            layout->space_count++;
        }
    }
    return SPAD_OK;
}

static spad_status fail_use(const spad_layout_use *use, spad_error *error) {
    return spad__fail(
        error, SPAD_ERR_ARGUMENT,
        "tensor %lld, slot %lld, in use from %lld to %lld: there is no such slot that "
        "the planner places, or no such time",
        (long long)use->tensor, (long long)use->slot, (long long)use->begin, (long long)use->end);
}

/* When each slot is in use on the clock of the caller. Slots without a use begin at the end. */
static spad_status take_times(spad_layout *layout, spad_error *error) {
    const spad_kernel *k = layout->kernel;
    if (layout->options.uses == NULL) return SPAD_OK;
    layout->times = spad__new_array(&layout->host, layout->slot_count, sizeof *layout->times);
    if (layout->times == NULL) return spad__fail_host_memory(error);
    for (size_t i = 0; i < layout->slot_count; i++)
        layout->times[i] = (spad__slot_life){INT64_MAX, 0};
    for (size_t i = 0; i < layout->options.use_count; i++) {
        const spad_layout_use *use = &layout->options.uses[i];
        if (use->tensor < 0 || (size_t)use->tensor >= k->tensors.count || use->begin < 0 ||
            use->end < use->begin || use->end > INT64_MAX / 4)
            return fail_use(use, error);
        const spad_kernel_tensor *tensor = &k->tensors.items[use->tensor];
        if (!spad__is_planned(k, tensor) || use->slot < 0 || use->slot >= tensor->slots)
            return fail_use(use, error);
        spad__slot_life *time =
            &layout->times[layout->first_slots[use->tensor] + (size_t)use->slot];
        time->begin = spad__min(time->begin, use->begin);
        time->end = spad__max(time->end, use->end);
        layout->last = spad__max(layout->last, use->end);
    }
    return SPAD_OK;
}

/* Creates a layout with live ranges and without places. *out is for spad_layout_destroy even on
 * failure.
 */
static spad_status begin_layout(spad_layout **out, const spad_kernel *kernel, const spad_host *host,
                                spad_error *error) {
    spad_layout *layout = *out = spad__new(host, sizeof *layout);
    if (layout == NULL) return spad__fail_host_memory(error);
    layout->host = *host;
    layout->kernel = kernel;
    layout->space_room = kernel->target->space_count;
    layout->spaces = spad__new_array(host, layout->space_room, sizeof *layout->spaces);
    return layout->spaces != NULL ? spad__layout_lives(layout, error)
                                  : spad__fail_host_memory(error);
}

/* ---- loads ------------------------------------------------------------------------- */

/* Begins and ends of the slots of a space; `area` of each slot is at most `most`. */
static size_t list_moments(const spad_layout *layout, size_t space, spad__moment *moments,
                           int64_t *area, int64_t most) {
    const spad_kernel *k = layout->kernel;
    size_t count = 0;
    for (size_t i = 0; i < k->tensors.count; i++) {
        const spad_kernel_tensor *tensor = &k->tensors.items[i];
        if (tensor->space != space || !spad__is_planned(k, tensor) || tensor->like != 0) continue;
        int64_t bytes;
        if (!spad__mul(tensor->tile_lanes, tensor->tile_bytes, &bytes)) bytes = most;
        for (size_t slot = layout->first_slots[i]; slot < layout->first_slots[i + 1]; slot++) {
            const spad__slot_life life = layout->lives[slot];
            if (life.begin == life.end) continue;
            area[slot] = spad__min(bytes, most);
            moments[count++] = (spad__moment){life.begin, slot, true};
            moments[count++] = (spad__moment){life.end, slot, false};
        }
    }
    spad__sort_moments(moments, count);
    return count;
}

static spad_status find_loads(const spad_layout *layout, int64_t *loads, spad_error *error) {
    const spad_target *target = layout->kernel->target;
    const size_t room = layout->slot_count + 1;
    const int64_t most = INT64_MAX / (int64_t)room; /* so that no sum overflows */
    spad__moment *moments = spad__new_array(&layout->host, 2 * room, sizeof *moments);
    int64_t *area = spad__new_array(&layout->host, room, sizeof *area);
    const bool fine = moments != NULL && area != NULL;
    for (size_t space = 0; fine && space < target->space_count; space++) {
        int64_t sum = 0;
        int64_t highest = 0;
        loads[space] = 0;
        if (target->spaces[space].off_chip) continue;
        const size_t count = list_moments(layout, space, moments, area, most);
        for (size_t i = 0; i < count; i++) {
            sum += moments[i].begins ? area[moments[i].buffer] : -area[moments[i].buffer];
            highest = spad__max(highest, sum);
        }
        loads[space] = highest / target->spaces[space].lanes;
    }
    spad__free(&layout->host, moments, 2 * room * sizeof *moments);
    spad__free(&layout->host, area, room * sizeof *area);
    return fine ? SPAD_OK : spad__fail_host_memory(error);
}

spad_status spad__layout_loads(int64_t *loads, const spad_kernel *kernel, const spad_host *host,
                               spad_error *error) {
    spad_layout *layout;
    spad_status status = begin_layout(&layout, kernel, host, error);
    if (status == SPAD_OK) status = find_loads(layout, loads, error);
    spad_layout_destroy(layout);
    return status;
}

/* ---- layouts ----------------------------------------------------------------------- */

spad_status spad_layout_create(spad_layout **out, const spad_kernel *kernel,
                               const spad_layout_options *options, spad_error *error) {
    *out = NULL;
    spad_layout_options filled;
    spad__limit limit;
    spad_status status = take_options(&filled, &limit, options, error);
    if (status == SPAD_OK && filled.order != NULL) {
        const spad__origin origin = spad__origin_of(kernel);
        status = spad__match_origins("kernel", &origin, "order", &filled.order->origin, error);
    }
    if (status != SPAD_OK) return status;
    const spad_host host = spad__host_or_default(filled.host);
    spad_layout *layout;
    status = begin_layout(&layout, kernel, &host, error);
    if (layout == NULL) return status;
    layout->options = filled;
    layout->limit = limit;
    if (status == SPAD_OK) status = spad__layout_join_replicas(layout, error);
    if (status == SPAD_OK) status = take_times(layout, error);
    if (status == SPAD_OK) status = solve_spaces(layout, error);
    layout->options.order = NULL; /* the caller's, for this call only */
    layout->options.uses = NULL;
    if (status == SPAD_OK) {
        *out = layout;
    } else {
        spad_layout_destroy(layout);
    }
    return status;
}

void spad_layout_destroy(spad_layout *layout) {
    if (layout == NULL) return;
    const spad_host host = layout->host;
    for (size_t i = 0; i < layout->space_count; i++) drop_space(&host, &layout->spaces[i]);
    spad__free(&host, layout->spaces, layout->space_room * sizeof *layout->spaces);
    spad__array_free(&host, &layout->buffers);
    spad__array_free(&host, &layout->given);
    spad__free(&host, layout->first_slots,
               (layout->kernel->tensors.count + 1) * sizeof *layout->first_slots);
    spad__free(&host, layout->lives, layout->slot_count * sizeof *layout->lives);
    spad__free(&host, layout->next_replica,
               (layout->kernel->tensors.count + 1) * sizeof *layout->next_replica);
    spad__free(&host, layout->all, layout->kernel->tensors.count * sizeof *layout->all);
    if (layout->times != NULL)
        spad__free(&host, layout->times, layout->slot_count * sizeof *layout->times);
    spad__free(&host, layout->bytes, layout->slot_count * sizeof *layout->bytes);
    spad__free(&host, layout->lanes, layout->slot_count * sizeof *layout->lanes);
    spad__free(&host, layout, sizeof *layout);
}
