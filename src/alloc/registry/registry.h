/* SPDX-License-Identifier: Apache-2.0
 *
 * The registry as its own files see it.
 *
 * Words
 *   slot     one component; a number is generation << 32 | index of the slot + 1
 *   group    what a component has registered
 *   totals   one of the two buffers of a parent that hold a child
 *   target   the buffer that another one aliases
 *
 * Invariants
 *   a slot has a group if and only if that has at least one buffer
 *   names.names.items[i] is the name of buffers.items[i]: buffers are added and
 *   replaced but never taken out, so a place is good for the life of the group
 *   a built layout has one slice per buffer
 */
#ifndef SPAD_ALLOC_REGISTRY_REGISTRY_H
#define SPAD_ALLOC_REGISTRY_REGISTRY_H

#include "base/memory.h"
#include "base/names.h"
#include "spad/registry.h"

typedef struct registry_buffer {
    spad_registry_buffer declared; /* texts in the name sets of the group; its precision is set */
    size_t target; /* place of declared.aliases; SPAD__NO_NAME: none, or not found yet */
    bool is_totals;
    int64_t total_bytes; /* of totals: the child's own bytes; -1: size x element */
    int64_t total_align;
    bool holds_persistent; /* of totals: the child keeps values there between steps */
} registry_buffer;

typedef struct registry_layout {
    bool is_built;
    SPAD_ARRAY(spad_registry_slice) slices;
    int64_t size[SPAD_REGISTRY_REGION_COUNT];
    int64_t align[SPAD_REGISTRY_REGION_COUNT];
} registry_layout;

typedef struct registry_group {
    spad__names names;
    SPAD_ARRAY(registry_buffer) buffers;
    spad__names loose; /* alias targets that were not registered when they were given */
    spad__names child_names;
    SPAD_ARRAY(spad_component) children; /* parallel to child_names */
    registry_layout layouts[SPAD_REGISTRY_UNIT_COUNT];
} registry_group;

typedef struct registry_slot {
    uint32_t generation;
    bool is_used;
    bool automatic; /* the planner lays out its shared region */
    spad_dtype precision;
    char *name;
    size_t name_size;
    registry_group *group; /* NULL: none */
    uint64_t revision;
    size_t next_free; /* list of unused slots */
    /* walks over descendants; see component_tree.c */
    struct registry_slot *walk_up; /* where the walk came from, or the next to clear */
    uint64_t walk_seen;            /* number of the walk that entered it */
    bool walk_open;                /* entered and not left: it is above the current one */
    size_t walk_child;             /* next child to look at */
    int64_t walk_total;
} registry_slot;

struct spad_registry {
    spad_host host;
    SPAD_ARRAY(registry_slot) slots;
    size_t free_slot; /* SPAD__NO_NAME: none */
    size_t group_count;
    uint64_t walks;
};

/* The slot of a component, or NULL for one that was removed or never was. */
registry_slot *spad__registry_slot(const spad_registry *registry, spad_component component);
/* The same as an error: SPAD_ERR_STALE. */
spad_status spad__registry_need(registry_slot **out, const spad_registry *registry,
                                spad_component component, spad_error *error);
/* The group of a component, or NULL. */
registry_group *spad__registry_group(const spad_registry *registry, spad_component component);

/* The group, made if none exists; NULL: no memory. It must get a buffer, or be
 * dropped with spad__registry_drop. */
registry_group *spad__registry_open(spad_registry *registry, registry_slot *slot);
/* Drops the group, if there is one, with all it holds. */
void spad__registry_drop(spad_registry *registry, registry_slot *slot);

/* The place of prefix + name, added if it is new; room for the buffer must have
 * been reserved. SPAD__NO_NAME: no memory. */
size_t spad__registry_intern(registry_group *group, const char *prefix, const char *name);
/* Writes the buffer at a place that intern gave, and drops the layouts. Places
 * that are new must be written in their order. */
void spad__registry_put(registry_slot *slot, size_t place, const registry_buffer *buffer);

/* Builds the layout unless it is built. slot->group must not be NULL. */
spad_status spad__registry_build(const spad_registry *registry, registry_slot *slot,
                                 spad_registry_unit unit, spad_error *error);
/* Length and alignment of a buffer on its own. SPAD_ERR_OVERFLOW. */
spad_status spad__registry_extent(int64_t *length, int64_t *align, const registry_buffer *buffer,
                                  spad_registry_unit unit, spad_error *error);

/* The layout by the planner, for automatic mode. The layout has been started. */
spad_status spad__registry_plan(const spad_registry *registry, const registry_slot *slot,
                                registry_layout *layout, spad_registry_unit unit,
                                spad_error *error);
/* Puts a buffer at the end of its own region. SPAD_ERR_OVERFLOW. */
spad_status spad__registry_append(registry_layout *layout, const registry_buffer *buffer, size_t i,
                                  spad_registry_unit unit, spad_error *error);

/* Does it keep values between steps, itself or for a child? Then its bytes are its own. */
static inline bool spad__registry_is_kept(const registry_buffer *buffer) {
    return buffer->declared.persistent || buffer->holds_persistent;
}

/* ---- lifetimes --------------------------------------------------------------------- */

static inline bool spad__registry_has_lifetime(const spad_registry_buffer *buffer) {
    return buffer->t_begin < buffer->t_end;
}

/* SPAD_ERR_OVERLAP if two buffers share a part of the shared region while both
 * are live. O(n log n). */
spad_status spad__registry_check_lifetimes(const spad_host *host, const registry_slot *slot,
                                           const registry_layout *layout, spad_registry_unit unit,
                                           spad_error *error);

#endif
