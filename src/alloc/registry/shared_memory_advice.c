/* SPDX-License-Identifier: Apache-2.0
 *
 * Which buffers of an integrator are worth moving to shared memory. A kernel
 * that spills gains when a small group of hot buffers leaves local memory; a
 * large group costs more threads per block than it saves. The rules and their
 * bounds are those of CuBIE 0.3.1 (memory_heuristics), which measured them in
 * 206 configurations on one GPU.
 */
#include "spad/experimental/launch.h"

#include <string.h>

#include "alloc/registry/registry.h"
#include "base/checked.h"
#include "base/error.h"

/* The GPUs with measurements; the first is used for all others. */
static const struct {
    const char *capability;
    spad_placement_thresholds thresholds;
} measured[] = {
    {"8.9",
     {.heavy_spill = 3584,
      .spill_floor = 512,
      .state_pair_max = 1024,
      .work_max = 2048,
      .explicit_work_max = 512,
      .params_min = 512}},
};

spad_placement_thresholds spad_placement_thresholds_of(const char *capability) {
    const size_t count = sizeof measured / sizeof *measured;
    for (size_t i = 0; capability != NULL && i < count; i++) {
        if (strcmp(measured[i].capability, capability) == 0) return measured[i].thresholds;
    }
    return measured[0].thresholds;
}

/* value <= most x times, for times >= 0 */
static bool is_at_most(int64_t value, int64_t most, int64_t times) {
    return times == 0 ? value <= 0 : value / times + (value % times > 0) <= most;
}

static bool is_between(int64_t value, int64_t above, int64_t most) {
    return value > above && value <= most;
}

size_t spad_placement_list_candidates(spad_placement_group out[SPAD_PLACEMENT_CANDIDATES_MAX],
                                      const spad_placement_sizes *sizes,
                                      const spad_placement_thresholds *thresholds) {
    const bool is_heavy = sizes->footprint >= thresholds->heavy_spill;
    const bool single = sizes->item == 4;
    bool pair = false;
    bool work = false;
    bool params = is_heavy && single && sizes->params >= thresholds->params_min;
    switch (sizes->method) {
    case SPAD_METHOD_ERK:
        pair =
            is_heavy && is_at_most(sizes->state_pair, thresholds->state_pair_max, sizes->item / 4);
        work = !is_heavy && sizes->footprint >= thresholds->spill_floor &&
               is_between(sizes->work, 0, thresholds->explicit_work_max);
        break;
    case SPAD_METHOD_DIRK:
    case SPAD_METHOD_FIRK:
    case SPAD_METHOD_BACKWARD_EULER:
        pair = is_heavy && single && sizes->state_pair <= thresholds->state_pair_max;
        work = is_heavy && is_between(sizes->work, 0, thresholds->work_max);
        break;
    default: params = false; break;
    }
    size_t count = 0;
    if (pair) out[count++] = SPAD_PLACEMENT_STATE_PAIR;
    if (work) out[count++] = SPAD_PLACEMENT_WORK;
    if (params) out[count++] = SPAD_PLACEMENT_PARAMS;
    return count;
}

/* ---- from and to the registry ------------------------------------------------------ */

/* Elements of the buffers that the step registered itself and that alias nothing. */
static bool add_work(int64_t *total, const registry_group *group) {
    for (size_t i = 0; group != NULL && i < group->buffers.count; i++) {
        const registry_buffer *buffer = &group->buffers.items[i];
        if (buffer->is_totals || buffer->declared.aliases != NULL) continue;
        if (!spad__add(*total, buffer->declared.size, total)) return false;
    }
    return true;
}

spad_status spad_placement_measure(spad_placement_sizes *out, spad_registry *registry,
                                   spad_component loop, spad_component step, spad_method method,
                                   int64_t states, int64_t parameters, spad_error *error) {
    memset(out, 0, sizeof *out);
    registry_slot *loop_slot;
    registry_slot *step_slot;
    spad_status status = spad__registry_need(&loop_slot, registry, loop, error);
    if (status == SPAD_OK) status = spad__registry_need(&step_slot, registry, step, error);
    if (status != SPAD_OK) return status;
    if (states < 0 || parameters < 0) {
        return spad__fail(error, SPAD_ERR_ARGUMENT,
                          "%lld states and %lld parameters; give 0 or more of each",
                          (long long)states, (long long)parameters);
    }
    spad_placement_sizes sizes = {.method = method, .item = spad_dtype_bytes(loop_slot->precision)};
    status = spad_registry_get_declared_local(&sizes.footprint, registry, loop,
                                              SPAD_REGISTRY_UNIT_ELEMENT, error);
    if (status != SPAD_OK) return status;
    if (!add_work(&sizes.work, step_slot->group) ||
        !spad__mul(sizes.footprint, sizes.item, &sizes.footprint) ||
        !spad__mul(sizes.work, sizes.item, &sizes.work) ||
        !spad__mul(states, 2 * sizes.item, &sizes.state_pair) ||
        !spad__mul(parameters, sizes.item, &sizes.params)) {
        return spad__fail(error, SPAD_ERR_OVERFLOW,
                          "the bytes that '%s' and '%s' declare do not fit 64 bits",
                          loop_slot->name, step_slot->name);
    }
    *out = sizes;
    return SPAD_OK;
}

static const char *const state_pair_names[] = {"state", "proposed_state"};
static const char *const params_names[] = {"parameters"};

/* The named buffers of the loop that a group moves; 0 for those of the step. */
static size_t loop_names(const char *const **out, spad_placement_group group) {
    *out = group == SPAD_PLACEMENT_STATE_PAIR ? state_pair_names : params_names;
    if (group == SPAD_PLACEMENT_STATE_PAIR) return 2;
    return group == SPAD_PLACEMENT_PARAMS ? 1 : 0;
}

/* Is a setting such as "state_location" about a buffer of the group? */
static bool concerns(const char *key, spad_placement_group group, const registry_group *step) {
    const size_t length = spad__registry_location_key(key);
    if (length == SPAD__NO_NAME) return false;
    const char *const *names;
    const size_t count = loop_names(&names, group);
    for (size_t i = 0; i < count; i++) {
        if (strlen(names[i]) == length && memcmp(names[i], key, length) == 0) return true;
    }
    if (group != SPAD_PLACEMENT_WORK || step == NULL) return false;
    const size_t place = spad__names_index_of(&step->names, key, length);
    return place != SPAD__NO_NAME && !step->buffers.items[place].is_totals;
}

spad_placement_group spad_placement_choose(const spad_placement_sizes *sizes,
                                           const spad_placement_thresholds *thresholds,
                                           const spad_registry *registry, spad_component step,
                                           const char *const *user_keys, size_t user_key_count) {
    spad_placement_group candidates[SPAD_PLACEMENT_CANDIDATES_MAX];
    const size_t count = spad_placement_list_candidates(candidates, sizes, thresholds);
    const registry_group *group = spad__registry_group(registry, step);
    for (size_t i = 0; i < count; i++) {
        bool is_taken = false;
        for (size_t k = 0; k < user_key_count && !is_taken; k++) {
            is_taken = concerns(user_keys[k], candidates[i], group);
        }
        if (!is_taken) return candidates[i];
    }
    return SPAD_PLACEMENT_NONE;
}

/* Returns whether there is such a buffer. A new location needs no memory and fails nowhere. */
static bool move_to_shared(spad_registry *registry, spad_component component, const char *name) {
    const spad_registry_buffer values = {.name = name, .location = SPAD_REGISTRY_LOCATION_SHARED};
    spad_registry_change update;
    spad_registry_update_buffer(&update, registry, component, SPAD_REGISTRY_BUFFER_LOCATION,
                                &values, NULL);
    return update.recognised;
}

size_t spad_placement_apply(spad_registry *registry, spad_component loop, spad_component step,
                            spad_placement_group group) {
    size_t moved = 0;
    const char *const *names;
    const size_t count = loop_names(&names, group);
    for (size_t i = 0; i < count; i++) moved += move_to_shared(registry, loop, names[i]);
    const registry_group *buffers =
        group == SPAD_PLACEMENT_WORK ? spad__registry_group(registry, step) : NULL;
    for (size_t i = 0; buffers != NULL && i < buffers->buffers.count; i++) {
        const registry_buffer *buffer = &buffers->buffers.items[i];
        if (!buffer->is_totals) moved += move_to_shared(registry, step, buffer->declared.name);
    }
    return moved;
}
