/* SPDX-License-Identifier: Apache-2.0
 *
 * registry_parts: the rest of spad/registry.h: parts of a registry one by one, and what
 * clears them.
 */
#ifndef SPAD_REGISTRY_PARTS_H
#define SPAD_REGISTRY_PARTS_H

#ifndef SPAD_EXPERIMENTAL
#error "spad/experimental/registry_parts.h may change in any version: define SPAD_EXPERIMENTAL"
#endif

#include "spad/registry.h"

#ifdef __cplusplus
extern "C" {
#endif

/** "shared", "local"; "?" for other numbers. Static storage. */
SPAD_API const char *spad_registry_location_name(spad_registry_location location);

/** Drops the component and its group. Its children stay; parents keep what they
 *  registered of it and count it as 0 from now on. Unknown: nothing happens. */
SPAD_API void spad_registry_remove(spad_registry *registry, spad_component component);

/** The precision of a component; SPAD_DTYPE_NONE: no such component. */
SPAD_API spad_dtype spad_registry_get_component_precision(const spad_registry *registry,
                                                          spad_component component);

/** The components, one after the other: the first after SPAD_NO_COMPONENT, then each
 *  after the one before; SPAD_NO_COMPONENT at the end. */
SPAD_API spad_component spad_registry_next(const spad_registry *registry, spad_component after);

/** Has it registered anything since it was added or cleared? */
SPAD_API bool spad_registry_has_group(const spad_registry *registry, spad_component component);

/** Number of components that have a group. */
SPAD_API size_t spad_registry_group_count(const spad_registry *registry);

/** *index: its number in that order. SPAD_ERR_UNKNOWN: no group, or no such buffer. */
SPAD_API spad_status spad_registry_find_buffer(size_t *index, const spad_registry *registry,
                                               spad_component component, const char *name,
                                               spad_error *error);

/** A recorded child. */
typedef struct spad_registry_child {
    const char *name; /**< borrowed until the parent's group is cleared */
    spad_component component;
} spad_registry_child;

/** Number of recorded children. */
SPAD_API size_t spad_registry_child_count(const spad_registry *registry, spad_component parent);

/** A child by number, in the order of first registration. SPAD_ERR_ARGUMENT: no such number. */
SPAD_API spad_status spad_registry_get_child(spad_registry_child *out,
                                             const spad_registry *registry, spad_component parent,
                                             size_t index, spad_error *error);

/** Drops the group, not those of its children. */
SPAD_API void spad_registry_clear_own(spad_registry *registry, spad_component component);

/** Drops the group and those of all its descendants. O(what is dropped). */
SPAD_API void spad_registry_clear_parent(spad_registry *registry, spad_component component);

/** Drops every group. */
SPAD_API void spad_registry_reset(spad_registry *registry);

/** Drops the layouts only; they are built again at the next query. */
SPAD_API void spad_registry_clear_layout(spad_registry *registry, spad_component component);

/** Alignment that the base of a region needs; 1 when counting elements. */
SPAD_API spad_status spad_registry_get_alignment(int64_t *out, spad_registry *registry,
                                                 spad_component component,
                                                 spad_registry_region region,
                                                 spad_registry_unit unit, spad_error *error);

/** Is the layout built? */
SPAD_API bool spad_registry_is_laid_out(const spad_registry *registry, spad_component component,
                                        spad_registry_unit unit);

/**
 * Writes the byte layout of one component as a scope with one tensor per
 * buffer. spaces: for each spad_registry_region the number of a one-lane space of the
 * trace's target, or SPAD_NO_SPACE: not drawn. The scope is of the first region
 * that is; without any nothing is written. Buffers are allocated and freed by their
 * lifetimes; those without one live from first to last. base: offset of each region in its
 * space, NULL: 0. SPAD_ERR_SPACE: more than one lane; SPAD_ERR_ARGUMENT: no such space,
 * a negative base; SPAD_ERR_UNKNOWN: no group; errors of the layout.
 */
SPAD_API spad_status spad_registry_write_trace(spad_registry *registry, spad_component component,
                                               spad_trace *trace,
                                               const size_t spaces[SPAD_REGISTRY_REGION_COUNT],
                                               const int64_t base[SPAD_REGISTRY_REGION_COUNT],
                                               spad_error *error);

#ifdef __cplusplus
}
#endif
#endif
