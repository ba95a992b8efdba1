/* SPDX-License-Identifier: Apache-2.0
 *
 * registry: the buffers that the components of a kernel declare, and one
 * memory layout per component.
 *
 * A component (a solver, a controller, a loop) registers its buffers. What it
 * registered forms its group, which is laid out on demand: shared
 * buffers packed from 0, persistent local buffers packed from 0, every other
 * local buffer as an array of its own. A buffer that aliases another is put
 * inside it as long as there is room. A parent takes over a child by
 * registering the child's totals as two buffers of its own; the child then
 * works on these slices as its base.
 *
 *     parent  | state | solver_shared            | error |
 *     child           | residual | delta | ...   |
 *
 * Only what is not persistent shares storage. A child's totals that hold a
 * persistent shared buffer count as persistent as a whole.
 *
 * Rules and order otherwise follow the buffer registry of CuBIE 0.3.1, where all
 * quantities are elements and the element type does not change an offset
 * (SPAD_REGISTRY_UNIT_ELEMENT). Beside it there is a second layout by the same rules in
 * bytes (SPAD_REGISTRY_UNIT_BYTE), with sizes from the element types and every offset
 * aligned to its type; as sizes differ, an alias may fit in one and not in the
 * other. Beyond CuBIE buffers can have lifetimes: two that are live at the
 * same time and share bytes are then an error.
 *
 * Registering and finding a buffer: O(length of its name) expected. A layout:
 * O(buffers), with lifetimes O(n log n), kept until the group changes. A failed
 * call changes nothing. Externally synchronised; queries that may build a
 * layout count as changes.
 */
#ifndef SPAD_REGISTRY_H
#define SPAD_REGISTRY_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "spad/dtype.h"
#include "spad/host.h"
#include "spad/trace.h"

#ifdef __cplusplus
extern "C" {
#endif

typedef struct spad_registry spad_registry;

/** A component of a registry. Numbers are never given twice. */
typedef uint64_t spad_component;

/** No component. */
#define SPAD_NO_COMPONENT 0

/** Where a buffer is declared to live. */
typedef enum spad_registry_location {
    SPAD_REGISTRY_LOCATION_SHARED, /**< memory of the block, one part per thread */
    SPAD_REGISTRY_LOCATION_LOCAL   /**< memory of the thread */
} spad_registry_location;

/** Which of the three memories of a component a buffer is laid out in. */
typedef enum spad_registry_region {
    SPAD_REGISTRY_REGION_SHARED,     /**< packed, handed down to children */
    SPAD_REGISTRY_REGION_PERSISTENT, /**< of the thread, kept between steps; packed, handed down too
                                      */
    SPAD_REGISTRY_REGION_LOCAL,      /**< of the thread, an array of its own for each buffer */
    SPAD_REGISTRY_REGION_COUNT
} spad_registry_region;

/** The unit of a layout. */
typedef enum spad_registry_unit {
    SPAD_REGISTRY_UNIT_ELEMENT, /**< the layout of CuBIE: every buffer counts in elements of its
                                   base */
    SPAD_REGISTRY_UNIT_BYTE,    /**< sizes and alignments of the element types */
    SPAD_REGISTRY_UNIT_COUNT
} spad_registry_unit;

/** "shared", "persistent", "local"; "?" for other numbers. Static storage. */
SPAD_API const char *spad_registry_region_name(spad_registry_region region);

/** SPAD_ERR_ARGUMENT: neither "shared" nor "local". */
SPAD_API spad_status spad_registry_location_parse(spad_registry_location *out, const char *name,
                                                  spad_error *error);

/** A buffer as declared. Zeroed apart from name and size: a shared one of the
 *  component's precision that aliases nothing and has no lifetime. */
typedef struct spad_registry_buffer {
    const char *name; /**< unique in its component, not empty */
    int64_t size;     /**< elements, at least 0 */
    spad_registry_location location;
    bool persistent;      /**< it is kept between steps: an alias never overlaps it, on either
                               side, and a local one is in persistent memory */
    const char *aliases;  /**< buffer of the same component to share storage with; NULL: none */
    spad_dtype precision; /**< float16, float32, float64, int32, int64, or SPAD_DTYPE_NONE for
                               the precision of the component */
    int64_t t_begin;      /**< it holds values in steps [t_begin, t_end); */
    int64_t t_end;        /**< t_begin == t_end: not known, and never checked */
} spad_registry_buffer;

/* ---- components -------------------------------------------------------------------- */

/** An empty registry, owned by the caller. */
SPAD_API spad_status spad_registry_create(spad_registry **out, const spad_host *host,
                                          spad_error *error);

/** Frees it. NULL is fine. */
SPAD_API void spad_registry_destroy(spad_registry *registry);

/**
 * A new component without a group. The name is for messages and pictures: it
 * is copied, and need not be unique. precision: as in spad_registry_buffer;
 * SPAD_DTYPE_NONE means float32. SPAD_ERR_DTYPE, SPAD_ERR_NAME (NULL).
 */
SPAD_API spad_status spad_registry_add(spad_component *out, spad_registry *registry,
                                       const char *name, spad_dtype precision, spad_error *error);

/** The name of a component; NULL: no such component. Borrowed until it is removed. */
SPAD_API const char *spad_registry_get_component_name(const spad_registry *registry,
                                                      spad_component component);

/* ---- buffers -----------------------------------------------------------------
 * SPAD_ERR_STALE for a component that was removed or never was. */

/**
 * Registers a copy of the buffer. A name that is there already is replaced and
 * keeps its position. SPAD_ERR_NAME: empty name, or an alias of itself.
 * SPAD_ERR_UNKNOWN: the alias target is not registered. SPAD_ERR_ARGUMENT: negative
 * size, no location, t_begin > t_end. SPAD_ERR_DTYPE.
 */
SPAD_API spad_status spad_registry_register(spad_registry *registry, spad_component component,
                                            const spad_registry_buffer *buffer, spad_error *error);

/** Which fields of a spad_registry_buffer an update sets. */
enum {
    SPAD_REGISTRY_BUFFER_SIZE = 1,
    SPAD_REGISTRY_BUFFER_LOCATION = 2,
    SPAD_REGISTRY_BUFFER_PERSISTENT = 4,
    SPAD_REGISTRY_BUFFER_ALIASES = 8,
    SPAD_REGISTRY_BUFFER_PRECISION = 16,
    SPAD_REGISTRY_BUFFER_LIFETIME = 32 /**< both ends */
};

/** The outcome of an update. */
typedef struct spad_registry_change {
    bool recognised; /**< there is such a buffer */
    bool changed;    /**< a field got another value, and the layouts were dropped */
} spad_registry_change;

/**
 * Sets the selected fields of buffer values->name. A buffer that is not registered is
 * not recognised, whatever the values. As in CuBIE the alias is not checked here: a
 * target that is not registered is an error of the next layout, and an alias of itself
 * gets its own space. Errors of single values as in register. out: may be NULL.
 */
SPAD_API spad_status spad_registry_update_buffer(spad_registry_change *out, spad_registry *registry,
                                                 spad_component component, unsigned fields,
                                                 const spad_registry_buffer *values,
                                                 spad_error *error);

/** A setting as a user writes it. */
typedef struct spad_registry_setting {
    const char *key;   /**< "state_location" moves buffer "state"; other endings are ignored */
    const char *value; /**< "shared" or "local" */
} spad_registry_setting;

/**
 * Applies the settings in order. recognised: NULL, or one answer per setting.
 * Unknown buffers are ignored, and so is every setting for a component
 * without a group. SPAD_ERR_ARGUMENT: another location, even for an unknown
 * buffer.
 */
SPAD_API spad_status spad_registry_update(bool *recognised, spad_registry *registry,
                                          spad_component component,
                                          const spad_registry_setting *settings, size_t count,
                                          spad_error *error);

/** Number of buffers of a component; 0 for one without a group. */
SPAD_API size_t spad_registry_buffer_count(const spad_registry *registry, spad_component component);

/** A buffer by number, in the order of registration; NULL beyond the count. Borrowed until the
 *  group changes. */
SPAD_API const spad_registry_buffer *
spad_registry_get_buffer(const spad_registry *registry, spad_component component, size_t index);

/* ---- children ---------------------------------------------------------------------- */

/** The two buffers of a parent that hold a child. Borrowed until the group is cleared. */
typedef struct spad_registry_child_buffers {
    const char *shared;     /**< "{name}_shared" */
    const char *persistent; /**< "{name}_persistent" */
} spad_registry_child_buffers;

/**
 * Registers the totals that the child has now, and records it as a child of the
 * parent: call it again when the child has changed. A child without a group
 * counts 0. name: NULL means "child_{number}". The element type of both is the
 * precision of the parent; their byte sizes and alignments are the child's own.
 * A cycle of children is not an error here, because totals are copied, but it is in
 * spad_registry_get_declared_local. out: may be NULL. Errors of the child's layout.
 */
SPAD_API spad_status spad_registry_register_child(spad_registry_child_buffers *out,
                                                  spad_registry *registry, spad_component parent,
                                                  spad_component child, const char *name,
                                                  spad_error *error);

/* ---- clearing: none of these fails, and the components stay ------------------------ */

/**
 * Automatic mode: the planner lays out the shared region of the component, and so
 * chooses who shares storage with whom. Buffers with lifetimes share bytes wherever
 * these allow it; one without a lifetime, or a persistent one, is live all the time.
 * Declared aliases count for nothing then. The other regions are as always. The mode
 * belongs to the component and stays when its group is dropped; layouts are built
 * again. SPAD_ERR_STALE.
 */
SPAD_API spad_status spad_registry_set_automatic(spad_registry *registry, spad_component component,
                                                 bool automatic, spad_error *error);

/* ---- layouts -----------------------------------------------------------------------
 * The first question after a change builds the layout. It can fail:
 * SPAD_ERR_UNKNOWN (the target of an alias is not registered), SPAD_ERR_OVERLAP
 * (two buffers share bytes while both are live; subject and other name them),
 * SPAD_ERR_OVERFLOW. */

/** Where a buffer is, in the unit of the question. */
typedef struct spad_registry_slice {
    spad_registry_region region;
    int64_t offset;     /**< from the base of the region; for local buffers, which are arrays of
                             their own, the sum of those before it */
    int64_t length;     /**< local buffers have at least one element */
    int64_t consumed;   /**< how much of it aliases have taken */
    const char *inside; /**< buffer whose storage it shares; NULL: its own */
} spad_registry_slice;

/**
 * *out: one slice per buffer, in the order of registration, borrowed until the
 * group changes; *count: how many. NULL and 0 for a component without a group.
 */
SPAD_API spad_status spad_registry_get_layout(const spad_registry_slice **out, size_t *count,
                                              spad_registry *registry, spad_component component,
                                              spad_registry_unit unit, spad_error *error);

/** The slice of one buffer. SPAD_ERR_UNKNOWN also without a group. */
SPAD_API spad_status spad_registry_get_slice(spad_registry_slice *out, spad_registry *registry,
                                             spad_component component, const char *name,
                                             spad_registry_unit unit, spad_error *error);

/** Total of a region: the end of its last slice. 0 for a component without a group. */
SPAD_API spad_status spad_registry_get_size(int64_t *out, spad_registry *registry,
                                            spad_component component, spad_registry_region region,
                                            spad_registry_unit unit, spad_error *error);

/** How often the layouts of this component have been dropped. A caller compares it to find out
 *  whether its copies are out of date. */
SPAD_API uint64_t spad_registry_get_revision(const spad_registry *registry,
                                             spad_component component);

/**
 * The local total of a component and of its descendants, each as often as it is
 * recorded, plus the component's own persistent total (which holds those of
 * its descendants already). SPAD_ERR_CYCLE: a component is its own descendant.
 * O(descendants).
 */
SPAD_API spad_status spad_registry_get_declared_local(int64_t *out, spad_registry *registry,
                                                      spad_component component,
                                                      spad_registry_unit unit, spad_error *error);

/* ---- allocators -------------------------------------------------------------------- */

/** All that a kernel needs to find a buffer: plain data, valid until the group changes. */
typedef struct spad_registry_allocator {
    spad_registry_unit unit;
    spad_registry_slice slice;
    spad_dtype precision; /**< of local arrays and of zeroing; a view into shared or persistent
                               memory has the type of its base when counting elements */
    int64_t zeroed;       /**< elements to set to zero first: all, or 0 if not requested */
} spad_registry_allocator;

/** Where the regions of a component begin, in the unit of the allocator. */
typedef struct spad_registry_base {
    int64_t shared;        /**< of thread 0 */
    int64_t shared_stride; /**< from one thread's shared memory to the next thread's */
    int64_t persistent;    /**< each thread has its own, so no stride is needed */
} spad_registry_base;

/** SPAD_ERR_UNKNOWN: the component has no group, or no such buffer. */
SPAD_API spad_status spad_registry_get_allocator(spad_registry_allocator *out,
                                                 spad_registry *registry, spad_component component,
                                                 const char *name, spad_registry_unit unit,
                                                 bool zero, spad_error *error);

/** register_child and the allocators of its two buffers. An error of the parent's
 *  layout comes after the child is registered. */
SPAD_API spad_status spad_registry_get_child_allocators(spad_registry_allocator *shared,
                                                        spad_registry_allocator *persistent,
                                                        spad_registry *registry,
                                                        spad_component parent, spad_component child,
                                                        const char *name, spad_registry_unit unit,
                                                        spad_error *error);

/**
 * The memories a kernel starts with. Shared: the dynamic memory of the block, of
 * length 0 and type float32, as its size is given at the launch. Persistent: a
 * local array of the component's persistent total, at least one element.
 */
SPAD_API spad_status spad_registry_get_toplevel_allocators(
    spad_registry_allocator *shared, spad_registry_allocator *persistent, spad_registry *registry,
    spad_component kernel, spad_registry_unit unit, spad_error *error);

/**
 * The slice of a thread: *out is the allocator's with its offset from the
 * beginning of the memory. Local arrays are the thread's own: offset 0.
 * SPAD_ERR_ARGUMENT: negative thread. SPAD_ERR_OVERFLOW.
 */
SPAD_API spad_status spad_registry_allocator_slice(spad_registry_slice *out,
                                                   const spad_registry_allocator *allocator,
                                                   const spad_registry_base *base, int64_t thread,
                                                   spad_error *error);

/* ---- trace ------------------------------------------------------------------------- */

#ifdef __cplusplus
}
#endif
#endif
