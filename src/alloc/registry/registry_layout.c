/* SPDX-License-Identifier: Apache-2.0
 *
 * Layouts and what is read from them: slices, totals, allocators.
 *
 * Two passes over the buffers of a group in the order of registration. The
 * first puts everything that aliases nothing at the end of its region. The
 * second takes the aliases: one whose target already has a slice in shared
 * memory goes after what others have taken of it if that leaves room, whatever
 * its own location; any other goes to the end of its own region. So aliases of
 * one target never share bytes with each other, only with the target, and
 * aliasing a buffer in local memory saves nothing. What is kept between steps
 * shares no bytes: an alias on either side of it goes to its own region. O(buffers).
 *
 * The same passes make both layouts: counting elements, every alignment is 1
 * and the result is that of CuBIE 0.3.1 (BufferGroup.build_layouts), but for
 * persistent shared buffers, which CuBIE overlaps up to 0.11.
 */
#include "alloc/registry/registry.h"
#include "spad/experimental/registry_parts.h"

#include <string.h>

#include "base/checked.h"
#include "base/error.h"

/* ---- building ---------------------------------------------------------------------- */

/* Region of a slice that has not been placed yet. */
#define NO_REGION SPAD_REGISTRY_REGION_COUNT

static const char *size_unit_name(spad_registry_unit unit) {
    return unit == SPAD_REGISTRY_UNIT_ELEMENT ? "elements" : "bytes";
}

static spad_status buffer_too_large(const spad_registry_buffer *buffer, spad_registry_unit unit,
                                    spad_error *error) {
    spad__fail(error, SPAD_ERR_OVERFLOW,
               "buffer '%s' of %lld elements ends beyond what 64 bits hold, in %s", buffer->name,
               (long long)buffer->size, size_unit_name(unit));
    spad__fact_names(error, buffer->name, NULL);
    return SPAD_ERR_OVERFLOW;
}

spad_status spad__registry_extent(int64_t *length, int64_t *align, const registry_buffer *buffer,
                                  spad_registry_unit unit, spad_error *error) {
    const spad_registry_buffer *declared = &buffer->declared;
    const int64_t item = spad_dtype_bytes(declared->precision);
    *length = declared->size;
    *align = 1;
    if (unit == SPAD_REGISTRY_UNIT_ELEMENT) return SPAD_OK;
    *length = buffer->total_bytes;
    *align = buffer->total_align;
    if (buffer->total_bytes >= 0) return SPAD_OK;
    *align = item;
    if (!spad__mul(declared->size, item, length)) return buffer_too_large(declared, unit, error);
    return SPAD_OK;
}

static spad_registry_region own_region(const spad_registry_buffer *buffer) {
    if (buffer->location == SPAD_REGISTRY_LOCATION_SHARED) return SPAD_REGISTRY_REGION_SHARED;
    return buffer->persistent ? SPAD_REGISTRY_REGION_PERSISTENT : SPAD_REGISTRY_REGION_LOCAL;
}

/* The first multiple of align that is not below `from`; something empty needs none. */
static bool start_at(int64_t from, int64_t length, int64_t align, int64_t *start) {
    return spad__align_up(from, length > 0 ? align : 1, start);
}

/* Puts a slice at the end of its region. False: 64 bits do not hold it. */
static bool place_at_end(registry_layout *layout, spad_registry_slice *slice, int64_t align) {
    int64_t start;
    int64_t end;
    if (!start_at(layout->size[slice->region], slice->length, align, &start) ||
        !spad__add(start, slice->length, &end)) {
        return false;
    }
    slice->offset = start;
    layout->size[slice->region] = end;
    return true;
}

/* Puts a slice into what is left of its target. False: there is not enough. */
static bool place_inside(spad_registry_slice *slice, spad_registry_slice *target, int64_t align) {
    int64_t start;
    if (!start_at(target->offset + target->consumed, slice->length, align, &start)) return false;
    const int64_t end = target->offset + target->length;
    if (start > end || slice->length > end - start) return false;
    slice->region = target->region;
    slice->offset = start;
    target->consumed = start + slice->length - target->offset;
    return true;
}

/* The place of the target of an alias, looked up once. */
static spad_status find_target(size_t *out, registry_group *group, registry_buffer *buffer,
                               spad_error *error) {
    const char *target = buffer->declared.aliases;
    if (buffer->target == SPAD__NO_NAME) {
        buffer->target = spad__names_index(&group->names, "", target);
    }
    *out = buffer->target;
    if (*out != SPAD__NO_NAME) return SPAD_OK;
    spad__fail(error, SPAD_ERR_UNKNOWN,
               "alias target '%s' of buffer '%s' is not registered; register it, or update the "
               "alias",
               target, buffer->declared.name);
    spad__fact_names(error, buffer->declared.name, target);
    return SPAD_ERR_UNKNOWN;
}

/* Places buffer i: inside its target where `target` is not NULL and has room. */
static spad_status place_buffer(registry_layout *layout, const registry_buffer *buffer, size_t i,
                                spad_registry_slice *target, const char *target_name,
                                spad_registry_unit unit, spad_error *error) {
    spad_registry_slice *slice = &layout->slices.items[i];
    int64_t align;
    const spad_status status = spad__registry_extent(&slice->length, &align, buffer, unit, error);
    if (status != SPAD_OK) return status;
    if (target != NULL && target->region == SPAD_REGISTRY_REGION_SHARED &&
        place_inside(slice, target, align)) {
        slice->inside = target_name;
    } else {
        slice->region = own_region(&buffer->declared);
        if (slice->region == SPAD_REGISTRY_REGION_LOCAL) { /* an array has at least one element */
            const int64_t item = spad_dtype_bytes(buffer->declared.precision);
            slice->length = spad__max(slice->length, unit == SPAD_REGISTRY_UNIT_ELEMENT ? 1 : item);
        }
        if (!place_at_end(layout, slice, align))
            return buffer_too_large(&buffer->declared, unit, error);
    }
    if (slice->length > 0) {
        layout->align[slice->region] = spad__max(layout->align[slice->region], align);
    }
    return SPAD_OK;
}

spad_status spad__registry_append(registry_layout *layout, const registry_buffer *buffer, size_t i,
                                  spad_registry_unit unit, spad_error *error) {
    return place_buffer(layout, buffer, i, NULL, NULL, unit, error);
}

/* Asks for memory that will be used a few items later; it need not exist. A registry of 10^5
 * buffers is larger than the processor's caches, and a group is too short for it to guess. */
static inline void fetch_ahead(const void *item, size_t item_size) {
    enum { ITEMS_AHEAD = 8 };
    const uintptr_t later = (uintptr_t)item + ITEMS_AHEAD * item_size;
    __builtin_prefetch((const void *)later);
    __builtin_prefetch((const void *)(later + item_size - 1));
}

static void start_layout(registry_layout *layout, size_t count) {
    layout->slices.count = count;
    for (size_t i = 0; i < count; i++) {
        fetch_ahead(&layout->slices.items[i], sizeof *layout->slices.items);
        layout->slices.items[i] = (spad_registry_slice){.region = NO_REGION};
    }
    for (int region = 0; region < SPAD_REGISTRY_REGION_COUNT; region++) {
        layout->size[region] = 0;
        layout->align[region] = 1;
    }
}

spad_status spad__registry_build(const spad_registry *registry, registry_slot *slot,
                                 spad_registry_unit unit, spad_error *error) {
    registry_group *group = slot->group;
    registry_layout *layout = &group->layouts[unit];
    if (layout->is_built) return SPAD_OK;
    const size_t count = group->buffers.count;
    layout->slices.count = 0;
    if (!spad__array_reserve(&registry->host, &layout->slices, count)) {
        return spad__fail_host_memory(error);
    }
    start_layout(layout, count);
    if (slot->automatic) {
        const spad_status planned = spad__registry_plan(registry, slot, layout, unit, error);
        layout->is_built = planned == SPAD_OK;
        return planned;
    }
    spad_status status = SPAD_OK;
    size_t aliases = 0;
    for (size_t i = 0; i < count && status == SPAD_OK; i++) {
        const registry_buffer *buffer = &group->buffers.items[i];
        fetch_ahead(buffer, sizeof *buffer);
        if (buffer->declared.aliases != NULL) {
            aliases++;
        } else {
            status = place_buffer(layout, buffer, i, NULL, NULL, unit, error);
        }
    }
    for (size_t i = 0; i < count && aliases > 0 && status == SPAD_OK; i++) {
        registry_buffer *buffer = &group->buffers.items[i];
        if (buffer->declared.aliases == NULL) continue;
        size_t target;
        status = find_target(&target, group, buffer, error);
        if (status != SPAD_OK) break;
        const bool shares = !spad__registry_is_kept(buffer) &&
                            !spad__registry_is_kept(&group->buffers.items[target]);
        status = place_buffer(layout, buffer, i, shares ? &layout->slices.items[target] : NULL,
                              buffer->declared.aliases, unit, error);
    }
    if (status == SPAD_OK && aliases > 0) {
        status = spad__registry_check_lifetimes(&registry->host, slot, layout, unit, error);
    }
    layout->is_built = status == SPAD_OK;
    return status;
}

/* ---- reading ----------------------------------------------------------------------- */

/* The built layout of a component, or NULL without a group. */
static spad_status built(const registry_layout **out, const spad_registry *registry,
                         spad_component component, spad_registry_unit unit, spad_error *error) {
    *out = NULL;
    registry_slot *slot;
    spad_status status = spad__registry_need(&slot, registry, component, error);
    if (status != SPAD_OK) return status;
    if ((unsigned)unit >= SPAD_REGISTRY_UNIT_COUNT) {
        return spad__fail(error, SPAD_ERR_ARGUMENT, "a layout has no unit number %d", (int)unit);
    }
    if (slot->group == NULL) return SPAD_OK;
    status = spad__registry_build(registry, slot, unit, error);
    if (status == SPAD_OK) *out = &slot->group->layouts[unit];
    return status;
}

spad_status spad_registry_get_layout(const spad_registry_slice **out, size_t *count,
                                     spad_registry *registry, spad_component component,
                                     spad_registry_unit unit, spad_error *error) {
    const registry_layout *layout;
    const spad_status status = built(&layout, registry, component, unit, error);
    *out = layout != NULL ? layout->slices.items : NULL;
    *count = layout != NULL ? layout->slices.count : 0;
    return status;
}

spad_status spad_registry_get_slice(spad_registry_slice *out, spad_registry *registry,
                                    spad_component component, const char *name,
                                    spad_registry_unit unit, spad_error *error) {
    memset(out, 0, sizeof *out);
    size_t index;
    spad_status status = spad_registry_find_buffer(&index, registry, component, name, error);
    if (status != SPAD_OK) return status;
    const registry_layout *layout;
    status = built(&layout, registry, component, unit, error);
    if (layout != NULL) *out = layout->slices.items[index];
    return status;
}

static spad_status check_region(spad_registry_region region, spad_error *error) {
    if ((unsigned)region < SPAD_REGISTRY_REGION_COUNT) return SPAD_OK;
    return spad__fail(error, SPAD_ERR_ARGUMENT, "a layout has no region number %d", (int)region);
}

spad_status spad_registry_get_size(int64_t *out, spad_registry *registry, spad_component component,
                                   spad_registry_region region, spad_registry_unit unit,
                                   spad_error *error) {
    *out = 0;
    const registry_layout *layout;
    spad_status status = check_region(region, error);
    if (status != SPAD_OK) return status;
    status = built(&layout, registry, component, unit, error);
    if (layout != NULL) *out = layout->size[region];
    return status;
}

spad_status spad_registry_get_alignment(int64_t *out, spad_registry *registry,
                                        spad_component component, spad_registry_region region,
                                        spad_registry_unit unit, spad_error *error) {
    *out = 1;
    const registry_layout *layout;
    spad_status status = check_region(region, error);
    if (status != SPAD_OK) return status;
    status = built(&layout, registry, component, unit, error);
    if (layout != NULL) *out = layout->align[region];
    return status;
}

bool spad_registry_is_laid_out(const spad_registry *registry, spad_component component,
                               spad_registry_unit unit) {
    const registry_group *group = spad__registry_group(registry, component);
    return group != NULL && (unsigned)unit < SPAD_REGISTRY_UNIT_COUNT &&
           group->layouts[unit].is_built;
}

/* ---- allocators -------------------------------------------------------------------- */

spad_status spad_registry_get_allocator(spad_registry_allocator *out, spad_registry *registry,
                                        spad_component component, const char *name,
                                        spad_registry_unit unit, bool zero, spad_error *error) {
    memset(out, 0, sizeof *out);
    spad_registry_slice slice;
    const spad_status status =
        spad_registry_get_slice(&slice, registry, component, name, unit, error);
    if (status != SPAD_OK) return status;
    const registry_group *group = spad__registry_group(registry, component);
    const spad_registry_buffer *buffer =
        &group->buffers.items[spad__names_index(&group->names, "", name)].declared;
    *out = (spad_registry_allocator){.unit = unit,
                                     .slice = slice,
                                     .precision = buffer->precision,
                                     .zeroed = zero ? buffer->size : 0};
    return SPAD_OK;
}

spad_status spad_registry_get_child_allocators(spad_registry_allocator *shared,
                                               spad_registry_allocator *persistent,
                                               spad_registry *registry, spad_component parent,
                                               spad_component child, const char *name,
                                               spad_registry_unit unit, spad_error *error) {
    memset(shared, 0, sizeof *shared);
    memset(persistent, 0, sizeof *persistent);
    spad_registry_child_buffers names;
    spad_status status = spad_registry_register_child(&names, registry, parent, child, name, error);
    if (status != SPAD_OK) return status;
    status =
        spad_registry_get_allocator(shared, registry, parent, names.shared, unit, false, error);
    if (status != SPAD_OK) return status;
    return spad_registry_get_allocator(persistent, registry, parent, names.persistent, unit, false,
                                       error);
}

spad_status spad_registry_get_toplevel_allocators(spad_registry_allocator *shared,
                                                  spad_registry_allocator *persistent,
                                                  spad_registry *registry, spad_component kernel,
                                                  spad_registry_unit unit, spad_error *error) {
    memset(shared, 0, sizeof *shared);
    memset(persistent, 0, sizeof *persistent);
    int64_t total;
    const spad_status status = spad_registry_get_size(&total, registry, kernel,
                                                      SPAD_REGISTRY_REGION_PERSISTENT, unit, error);
    if (status != SPAD_OK) return status;
    const spad_dtype precision = spad_registry_get_component_precision(registry, kernel);
    const int64_t one = unit == SPAD_REGISTRY_UNIT_ELEMENT ? 1 : spad_dtype_bytes(precision);
    *shared = (spad_registry_allocator){.unit = unit, .precision = SPAD_FLOAT32};
    *persistent = (spad_registry_allocator){
        .unit = unit,
        .slice = {.region = SPAD_REGISTRY_REGION_LOCAL, .length = spad__max(total, one)},
        .precision = precision,
    };
    return SPAD_OK;
}

spad_status spad_registry_allocator_slice(spad_registry_slice *out,
                                          const spad_registry_allocator *allocator,
                                          const spad_registry_base *base, int64_t thread,
                                          spad_error *error) {
    spad_registry_slice slice = allocator->slice;
    int64_t begin = 0;
    int64_t end;
    memset(out, 0, sizeof *out);
    if (thread < 0) {
        return spad__fail(error, SPAD_ERR_ARGUMENT, "thread %lld is negative", (long long)thread);
    }
    bool fits = true;
    if (slice.region == SPAD_REGISTRY_REGION_SHARED) {
        fits = spad__mul(thread, base->shared_stride, &begin) &&
               spad__add(begin, base->shared, &begin);
    } else if (slice.region == SPAD_REGISTRY_REGION_PERSISTENT) {
        begin = base->persistent;
    } else {
        slice.offset = 0;
    }
    fits = fits && spad__add(begin, slice.offset, &slice.offset) &&
           spad__add(slice.offset, slice.length, &end);
    if (!fits) {
        return spad__fail(error, SPAD_ERR_OVERFLOW,
                          "the slice of thread %lld begins or ends beyond what 64 bits hold",
                          (long long)thread);
    }
    *out = slice;
    return SPAD_OK;
}
