/* SPDX-License-Identifier: Apache-2.0
 *
 * Parents and children: taking over a child's totals, and the two walks over
 * descendants.
 *
 * The walks keep their state in the slots (walk_...), so that they need neither
 * recursion nor memory. Clearing keeps a list of what is still to clear; a group
 * goes before its children, so a cycle of components ends. The sum of
 * declared_local is a depth-first walk that adds up each component once and
 * uses its total again wherever it is recorded: O(components + children), where
 * following every path would be exponential. A component that is met while it
 * is open contains itself.
 */
#include "alloc/registry/registry.h"
#include "base/assert.h"
#include "spad/experimental/registry_parts.h"

#include <stdio.h>

#include "base/checked.h"
#include "base/error.h"

/* ---- registering a child ----------------------------------------------------------- */

/* Totals and alignments that a child has now, for the two regions of a parent. */
typedef struct totals {
    int64_t elements[2];
    int64_t bytes[2];
    int64_t align[2];
    bool holds_persistent; /* in the shared one */
} totals;

static const spad_registry_region total_regions[2] = {SPAD_REGISTRY_REGION_SHARED,
                                                      SPAD_REGISTRY_REGION_PERSISTENT};
static const char *const total_endings[2] = {"_shared", "_persistent"};

/* Has the group anything in shared memory that is kept between steps? */
static bool keeps_shared(const registry_group *group) {
    const registry_layout *layout = &group->layouts[SPAD_REGISTRY_UNIT_ELEMENT];
    for (size_t i = 0; i < group->buffers.count; i++) {
        const spad_registry_slice *slice = &layout->slices.items[i];
        if (slice->region == SPAD_REGISTRY_REGION_SHARED && slice->length > 0 &&
            spad__registry_is_kept(&group->buffers.items[i])) {
            return true;
        }
    }
    return false;
}

static spad_status measure_component(totals *out, spad_registry *registry, spad_component child,
                                     spad_error *error) {
    registry_slot *slot;
    spad_status status = spad__registry_need(&slot, registry, child, error);
    *out = (totals){.align = {1, 1}};
    if (status != SPAD_OK || slot->group == NULL) return status;
    status = spad__registry_build(registry, slot, SPAD_REGISTRY_UNIT_ELEMENT, error);
    if (status == SPAD_OK)
        status = spad__registry_build(registry, slot, SPAD_REGISTRY_UNIT_BYTE, error);
    if (status != SPAD_OK) return status;
    const registry_layout *layouts = slot->group->layouts;
    for (int i = 0; i < 2; i++) {
        out->elements[i] = layouts[SPAD_REGISTRY_UNIT_ELEMENT].size[total_regions[i]];
        out->bytes[i] = layouts[SPAD_REGISTRY_UNIT_BYTE].size[total_regions[i]];
        out->align[i] = layouts[SPAD_REGISTRY_UNIT_BYTE].align[total_regions[i]];
    }
    out->holds_persistent = keeps_shared(slot->group);
    return SPAD_OK;
}

/* The places of the two buffers and of the child, adding what is new; false: no
 * memory, nothing changed. */
static bool intern_child(spad_registry *registry, registry_group *group, const char *name,
                         size_t places[2], size_t *child) {
    const size_t names_before = group->names.names.count;
    if (!spad__array_reserve(&registry->host, &group->buffers, 2) ||
        !spad__array_reserve(&registry->host, &group->children, 1)) {
        return false;
    }
    *child = spad__names_index(&group->child_names, "", name);
    for (int i = 0; i < 2; i++) {
        places[i] = spad__registry_intern(group, name, total_endings[i]);
        if (places[i] == SPAD__NO_NAME) goto no_memory;
    }
    if (*child == SPAD__NO_NAME) {
        if (spad__names_add(&group->child_names, "", name) == NULL) goto no_memory;
        *child = group->child_names.names.count - 1;
        group->children.count++;
    }
    return true;
no_memory:
    spad__names_truncate(&group->names, names_before);
    return false;
}

static registry_buffer totals_buffer(const registry_group *group, size_t place, const totals *total,
                                     int i, spad_dtype precision) {
    spad__assert((i == 0 || i == 1) && total->align[i] >= 1);
    registry_buffer buffer = {
        .declared = {.size = total->elements[i],
                     .location =
                         i == 0 ? SPAD_REGISTRY_LOCATION_SHARED : SPAD_REGISTRY_LOCATION_LOCAL,
                     .persistent = i == 1,
                     .precision = precision},
        .target = SPAD__NO_NAME,
        .is_totals = true,
        .total_bytes = total->bytes[i],
        .total_align = total->align[i],
        .holds_persistent = i == 0 && total->holds_persistent,
    };
    if (place < group->buffers.count) { /* a refresh: what only an update can set stays */
        buffer.declared.t_begin = group->buffers.items[place].declared.t_begin;
        buffer.declared.t_end = group->buffers.items[place].declared.t_end;
    }
    return buffer;
}

spad_status spad_registry_register_child(spad_registry_child_buffers *out, spad_registry *registry,
                                         spad_component parent, spad_component child,
                                         const char *name, spad_error *error) {
    if (out != NULL) *out = (spad_registry_child_buffers){NULL, NULL};
    registry_slot *slot;
    totals total;
    spad_status status = spad__registry_need(&slot, registry, parent, error);
    if (status == SPAD_OK) status = measure_component(&total, registry, child, error);
    if (status != SPAD_OK) return status;
    char number[32];
    if (name == NULL) {
        snprintf(number, sizeof number, "child_%llu", (unsigned long long)child);
        name = number;
    }
    registry_group *group = spad__registry_open(registry, slot);
    if (group == NULL) return spad__fail_host_memory(error);
    size_t places[2];
    size_t child_place;
    if (!intern_child(registry, group, name, places, &child_place)) {
        if (group->buffers.count == 0) spad__registry_drop(registry, slot);
        return spad__fail_host_memory(error);
    }
    for (int i = 0; i < 2; i++) {
        const registry_buffer buffer = totals_buffer(group, places[i], &total, i, slot->precision);
        spad__registry_put(slot, places[i], &buffer);
    }
    spad__assert(child_place < group->children.count);
    spad__assert(group->children.count == group->child_names.names.count);
    group->children.items[child_place] = child;
    if (out != NULL) {
        out->shared = group->names.names.items[places[0]].text;
        out->persistent = group->names.names.items[places[1]].text;
    }
    return SPAD_OK;
}

size_t spad_registry_child_count(const spad_registry *registry, spad_component parent) {
    const registry_group *group = spad__registry_group(registry, parent);
    return group != NULL ? group->children.count : 0;
}

spad_status spad_registry_get_child(spad_registry_child *out, const spad_registry *registry,
                                    spad_component parent, size_t index, spad_error *error) {
    *out = (spad_registry_child){NULL, SPAD_NO_COMPONENT};
    const registry_group *group = spad__registry_group(registry, parent);
    const size_t count = group != NULL ? group->children.count : 0;
    if (index >= count) {
        return spad__fail(error, SPAD_ERR_ARGUMENT, "the component has no child number %zu of %zu",
                          index, count);
    }
    *out = (spad_registry_child){group->child_names.names.items[index].text,
                                 group->children.items[index]};
    return SPAD_OK;
}

/* ---- walks ------------------------------------------------------------------------- */

void spad_registry_clear_parent(spad_registry *registry, spad_component component) {
    registry_slot *next = spad__registry_slot(registry, component);
    const uint64_t walk = ++registry->walks;
    if (next != NULL) {
        next->walk_up = NULL;
        next->walk_seen = walk;
    }
    while (next != NULL) {
        registry_slot *slot = next;
        next = slot->walk_up;
        for (size_t i = 0; slot->group != NULL && i < slot->group->children.count; i++) {
            registry_slot *child = spad__registry_slot(registry, slot->group->children.items[i]);
            if (child == NULL || child->walk_seen == walk) continue;
            child->walk_seen = walk;
            child->walk_up = next;
            next = child;
        }
        spad__registry_drop(registry, slot);
    }
}

/* Enters a component on the way down; its total begins with its own locals. */
static spad_status enter(spad_registry *registry, registry_slot *slot, registry_slot *from,
                         spad_registry_unit unit, spad_error *error) {
    spad__assert(slot->walk_seen != registry->walks); /* each component is entered once */
    slot->walk_seen = registry->walks;
    slot->walk_up = from;
    slot->walk_child = 0;
    slot->walk_total = 0;
    slot->walk_open = true;
    if (slot->group == NULL) return SPAD_OK;
    const spad_status status = spad__registry_build(registry, slot, unit, error);
    if (status == SPAD_OK)
        slot->walk_total = slot->group->layouts[unit].size[SPAD_REGISTRY_REGION_LOCAL];
    return status;
}

static spad_status cycle(const registry_slot *slot, const registry_slot *child, spad_error *error) {
    spad__fail(error, SPAD_ERR_CYCLE,
               "component '%s' is recorded as a child of '%s', which it contains itself; clear one "
               "of them and register it again",
               child->name, slot->name);
    spad__fact_names(error, child->name, slot->name);
    return SPAD_ERR_CYCLE;
}

static bool add_total(registry_slot *to, int64_t amount) {
    return spad__add(to->walk_total, amount, &to->walk_total);
}

/* The walk. Leaves the sum in top->walk_total. */
static spad_status add_up(spad_registry *registry, registry_slot *top, spad_registry_unit unit,
                          spad_error *error) {
    registry->walks++;
    spad_status status = enter(registry, top, NULL, unit, error);
    for (registry_slot *at = top; at != NULL && status == SPAD_OK;) {
        bool fits = true;
        if (at->group == NULL || at->walk_child == at->group->children.count) {
            registry_slot *up = at->walk_up;
            spad__assert(at->walk_open && (up == NULL || up->walk_open));
            at->walk_open = false;
            if (up != NULL) fits = add_total(up, at->walk_total);
            at = up;
        } else {
            const spad_component number = at->group->children.items[at->walk_child++];
            spad__assert(at->walk_child <= at->group->children.count);
            registry_slot *child = spad__registry_slot(registry, number);
            if (child == NULL) continue;
            if (child->walk_seen != registry->walks) {
                status = enter(registry, child, at, unit, error);
                at = child;
            } else if (child->walk_open) {
                status = cycle(at, child, error);
            } else {
                fits = add_total(at, child->walk_total);
            }
        }
        if (!fits) {
            status = spad__fail(error, SPAD_ERR_OVERFLOW,
                                "the local memory of '%s' and its children is more than 64 bits "
                                "hold",
                                top->name);
        }
    }
    return status;
}

spad_status spad_registry_get_declared_local(int64_t *out, spad_registry *registry,
                                             spad_component component, spad_registry_unit unit,
                                             spad_error *error) {
    *out = 0;
    registry_slot *slot;
    int64_t persistent;
    spad_status status = spad_registry_get_size(&persistent, registry, component,
                                                SPAD_REGISTRY_REGION_PERSISTENT, unit, error);
    if (status == SPAD_OK) status = spad__registry_need(&slot, registry, component, error);
    if (status == SPAD_OK) status = add_up(registry, slot, unit, error);
    if (status != SPAD_OK) return status;
    if (!spad__add(slot->walk_total, persistent, out)) {
        return spad__fail(error, SPAD_ERR_OVERFLOW,
                          "the local and persistent memory of '%s' is more than 64 bits hold",
                          slot->name);
    }
    return SPAD_OK;
}
