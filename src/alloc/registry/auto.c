/* SPDX-License-Identifier: Apache-2.0
 *
 * Automatic mode: the shared region of a group as a planning problem. Each shared
 * buffer is live in its lifetime, or from the first to the last moment that any
 * buffer knows; the planner then finds who can share storage, which with declared
 * aliases is left to the author. Steps are limited by nodes and not by the clock, so
 * a layout is the same everywhere.
 */
#include "alloc/registry/registry.h"
#include "base/checked.h"
#include "base/error.h"
#include "spad/experimental/registry_parts.h"
#include "spad/plan.h"

enum { NODE_LIMIT = 200000 }; /* well under a second; small groups are proved long before */

spad_status spad_registry_set_automatic(spad_registry *registry, spad_component component,
                                        bool automatic, spad_error *error) {
    registry_slot *slot;
    const spad_status status = spad__registry_need(&slot, registry, component, error);
    if (status != SPAD_OK) return status;
    if (slot->automatic != automatic) spad_registry_clear_layout(registry, component);
    slot->automatic = automatic;
    return SPAD_OK;
}

/* From the first to the last moment of any lifetime; [0, 1) without any. */
static void all_time(const registry_group *group, int64_t *begin, int64_t *end) {
    *begin = INT64_MAX;
    *end = INT64_MIN;
    for (size_t i = 0; i < group->buffers.count; i++) {
        const spad_registry_buffer *buffer = &group->buffers.items[i].declared;
        if (!spad__registry_has_lifetime(buffer)) continue;
        *begin = spad__min(*begin, buffer->t_begin);
        *end = spad__max(*end, buffer->t_end);
    }
    if (*begin < *end) return;
    *begin = 0;
    *end = 1;
}

/* Adds the shared buffers to the plan; everything else goes where it always does. */
static spad_status collect_buffers(spad_plan *plan, const registry_group *group,
                                   registry_layout *layout, spad_registry_unit unit,
                                   spad_error *error) {
    int64_t begin;
    int64_t end;
    all_time(group, &begin, &end);
    spad_status status = SPAD_OK;
    for (size_t i = 0; i < group->buffers.count && status == SPAD_OK; i++) {
        const registry_buffer *buffer = &group->buffers.items[i];
        const spad_registry_buffer *declared = &buffer->declared;
        if (declared->location != SPAD_REGISTRY_LOCATION_SHARED) {
            status = spad__registry_append(layout, buffer, i, unit, error);
            continue;
        }
        spad_registry_slice *slice = &layout->slices.items[i];
        slice->region = SPAD_REGISTRY_REGION_SHARED;
        spad_plan_buffer request = {.lower = begin, .upper = end};
        if (spad__registry_has_lifetime(declared) && !spad__registry_is_kept(buffer)) {
            request.lower = declared->t_begin;
            request.upper = declared->t_end;
        }
        status = spad__registry_extent(&slice->length, &request.alignment, buffer, unit, error);
        request.size = slice->length;
        int64_t *align = &layout->align[SPAD_REGISTRY_REGION_SHARED];
        if (request.size > 0) *align = spad__max(*align, request.alignment);
        if (status == SPAD_OK) status = spad_plan_add(NULL, plan, &request, error);
    }
    return status;
}

/* Takes the offsets over: the plan has the shared buffers in their order. */
static void take_planned_places(registry_layout *layout, const spad_plan_result *result) {
    size_t next = 0;
    for (size_t i = 0; i < layout->slices.count; i++) {
        spad_registry_slice *slice = &layout->slices.items[i];
        if (slice->region == SPAD_REGISTRY_REGION_SHARED)
            slice->offset = result->places[next++].offset;
    }
    layout->size[SPAD_REGISTRY_REGION_SHARED] = result->count > 0 ? result->height : 0;
}

spad_status spad__registry_plan(const spad_registry *registry, const registry_slot *slot,
                                registry_layout *layout, spad_registry_unit unit,
                                spad_error *error) {
    spad_plan *plan;
    spad_status status = spad_plan_create(&plan, &registry->host, error);
    if (status != SPAD_OK) return status;
    status = collect_buffers(plan, slot->group, layout, unit, error);
    spad_plan_result *result = NULL;
    const spad_plan_options options = {.node_limit = NODE_LIMIT};
    if (status == SPAD_OK) status = spad_plan_solve(&result, plan, &options, error);
    if (status == SPAD_OK) take_planned_places(layout, result);
    spad_plan_result_destroy(result);
    spad_plan_destroy(plan);
    return status;
}
