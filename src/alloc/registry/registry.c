/* SPDX-License-Identifier: Apache-2.0
 *
 * Components and their buffers: adding, registering, updating, dropping.
 *
 * Components live in slots that are used again with another generation, so a
 * number that was removed stays unknown. The buffers of a group stand in the
 * order of registration beside a name set, whose order of arrival is the same;
 * a name that comes again overwrites its buffer in place. Everything here is
 * O(length of the names) expected.
 *
 * Behaviour after CuBIE 0.3.1, src/cubie/buffer_registry.py. Some messages use
 * its words ("Invalid location"), since programs look for them.
 */
#include "alloc/registry/registry.h"
#include "spad/experimental/registry_parts.h"

#include <string.h>

#include "base/checked.h"
#include "base/error.h"
#include "base/text.h"

const char *spad_registry_location_name(spad_registry_location location) {
    switch (location) {
    case SPAD_REGISTRY_LOCATION_SHARED: return "shared";
    case SPAD_REGISTRY_LOCATION_LOCAL: return "local";
    }
    return "?";
}

const char *spad_registry_region_name(spad_registry_region region) {
    static const char *const names[SPAD_REGISTRY_REGION_COUNT] = {"shared", "persistent", "local"};
    return (unsigned)region < SPAD_REGISTRY_REGION_COUNT ? names[region] : "?";
}

static bool location_of(spad_registry_location *out, const char *name) {
    *out = SPAD_REGISTRY_LOCATION_SHARED;
    if (strcmp(name, "shared") == 0) return true;
    *out = SPAD_REGISTRY_LOCATION_LOCAL;
    return strcmp(name, "local") == 0;
}

spad_status spad_registry_location_parse(spad_registry_location *out, const char *name,
                                         spad_error *error) {
    if (location_of(out, name)) return SPAD_OK;
    return spad__fail(error, SPAD_ERR_ARGUMENT, "Invalid location '%s'; use 'shared' or 'local'",
                      name);
}

/* ---- components -------------------------------------------------------------------- */

spad_status spad_registry_create(spad_registry **out, const spad_host *host, spad_error *error) {
    const spad_host memory = spad__host_or_default(host);
    spad_registry *registry = spad__new(&memory, sizeof *registry);
    *out = registry;
    if (registry == NULL) return spad__fail_host_memory(error);
    registry->host = memory;
    registry->free_slot = SPAD__NO_NAME;
    return SPAD_OK;
}

void spad_registry_destroy(spad_registry *registry) {
    if (registry == NULL) return;
    const spad_host memory = registry->host;
    for (size_t i = 0; i < registry->slots.count; i++) {
        registry_slot *slot = &registry->slots.items[i];
        spad__registry_drop(registry, slot);
        spad__free(&memory, slot->name, slot->name_size);
    }
    spad__array_free(&memory, &registry->slots);
    spad__free(&memory, registry, sizeof *registry);
}

static spad_component component_of(const spad_registry *registry, const registry_slot *slot) {
    const uint64_t index = (uint64_t)(slot - registry->slots.items);
    return (uint64_t)slot->generation << 32 | (index + 1);
}

registry_slot *spad__registry_slot(const spad_registry *registry, spad_component component) {
    const uint64_t index = (component & UINT32_MAX) - 1; /* none: beyond every count */
    if (index >= registry->slots.count) return NULL;
    registry_slot *slot = &registry->slots.items[index];
    return slot->is_used && slot->generation == component >> 32 ? slot : NULL;
}

spad_status spad__registry_need(registry_slot **out, const spad_registry *registry,
                                spad_component component, spad_error *error) {
    *out = spad__registry_slot(registry, component);
    if (*out != NULL) return SPAD_OK;
    return spad__fail(error, SPAD_ERR_STALE,
                      "component %llu was removed from the registry, or does not belong to it",
                      (unsigned long long)component);
}

registry_group *spad__registry_group(const spad_registry *registry, spad_component component) {
    const registry_slot *slot = spad__registry_slot(registry, component);
    return slot != NULL ? slot->group : NULL;
}

static spad_status check_precision(spad_dtype precision, const char *what, const char *name,
                                   spad_error *error) {
    switch (precision) {
    case SPAD_FLOAT16:
    case SPAD_FLOAT32:
    case SPAD_FLOAT64:
    case SPAD_INT32:
    case SPAD_INT64: return SPAD_OK;
    default: break;
    }
    spad__fail(error, SPAD_ERR_DTYPE,
               "precision %s of %s '%s' is not one of float16, float32, float64, int32, int64",
               spad_dtype_name(precision), what, name);
    spad__fact_names(error, name, NULL);
    return SPAD_ERR_DTYPE;
}

/* A slot that is not used, or NULL. */
static registry_slot *take_slot(spad_registry *registry) {
    if (registry->free_slot != SPAD__NO_NAME) {
        registry_slot *slot = &registry->slots.items[registry->free_slot];
        registry->free_slot = slot->next_free;
        return slot;
    }
    if (registry->slots.count >= UINT32_MAX - 1) return NULL;
    if (!spad__array_reserve(&registry->host, &registry->slots, 1)) return NULL;
    registry_slot *slot = &registry->slots.items[registry->slots.count++];
    memset(slot, 0, sizeof *slot);
    return slot;
}

spad_status spad_registry_add(spad_component *out, spad_registry *registry, const char *name,
                              spad_dtype precision, spad_error *error) {
    *out = SPAD_NO_COMPONENT;
    if (name == NULL) return spad__fail(error, SPAD_ERR_NAME, "a component needs a name");
    if (precision == SPAD_DTYPE_NONE) precision = SPAD_FLOAT32;
    const spad_status status = check_precision(precision, "component", name, error);
    if (status != SPAD_OK) return status;
    const size_t size = strlen(name) + 1;
    char *copy = spad__new(&registry->host, size);
    if (copy == NULL) return spad__fail_host_memory(error);
    registry_slot *slot = take_slot(registry);
    if (slot == NULL) {
        spad__free(&registry->host, copy, size);
        return spad__fail_host_memory(error);
    }
    memcpy(copy, name, size);
    slot->is_used = true;
    slot->precision = precision;
    slot->name = copy;
    slot->name_size = size;
    slot->revision = 0;
    slot->automatic = false;
    *out = component_of(registry, slot);
    return SPAD_OK;
}

void spad_registry_remove(spad_registry *registry, spad_component component) {
    registry_slot *slot = spad__registry_slot(registry, component);
    if (slot == NULL) return;
    spad__registry_drop(registry, slot);
    spad__free(&registry->host, slot->name, slot->name_size);
    slot->name = NULL;
    slot->is_used = false;
    if (slot->generation == UINT32_MAX) return; /* used up: its numbers are spent */
    slot->generation++;
    slot->next_free = registry->free_slot;
    registry->free_slot = (size_t)(slot - registry->slots.items);
}

const char *spad_registry_get_component_name(const spad_registry *registry,
                                             spad_component component) {
    const registry_slot *slot = spad__registry_slot(registry, component);
    return slot != NULL ? slot->name : NULL;
}

spad_dtype spad_registry_get_component_precision(const spad_registry *registry,
                                                 spad_component component) {
    const registry_slot *slot = spad__registry_slot(registry, component);
    return slot != NULL ? slot->precision : SPAD_DTYPE_NONE;
}

spad_component spad_registry_next(const spad_registry *registry, spad_component after) {
    for (size_t i = (size_t)(after & UINT32_MAX); i < registry->slots.count; i++) {
        const registry_slot *slot = &registry->slots.items[i];
        if (slot->is_used) return component_of(registry, slot);
    }
    return SPAD_NO_COMPONENT;
}

bool spad_registry_has_group(const spad_registry *registry, spad_component component) {
    return spad__registry_group(registry, component) != NULL;
}

size_t spad_registry_group_count(const spad_registry *registry) {
    return registry->group_count;
}

/* ---- groups ------------------------------------------------------------------------ */

registry_group *spad__registry_open(spad_registry *registry, registry_slot *slot) {
    if (slot->group != NULL) return slot->group;
    registry_group *group = spad__new(&registry->host, sizeof *group);
    if (group == NULL) return NULL;
    spad__names_init(&group->names, &registry->host);
    spad__names_init(&group->loose, &registry->host);
    spad__names_init(&group->child_names, &registry->host);
    slot->group = group;
    registry->group_count++;
    return group;
}

void spad__registry_drop(spad_registry *registry, registry_slot *slot) {
    registry_group *group = slot->group;
    if (group == NULL) return;
    if (group->buffers.count > 0) slot->revision++; /* and not for one that never came to be */
    for (int unit = 0; unit < SPAD_REGISTRY_UNIT_COUNT; unit++) {
        spad__array_free(&registry->host, &group->layouts[unit].slices);
    }
    spad__array_free(&registry->host, &group->children);
    spad__array_free(&registry->host, &group->buffers);
    spad__names_free(&group->child_names);
    spad__names_free(&group->loose);
    spad__names_free(&group->names);
    spad__free(&registry->host, group, sizeof *group);
    slot->group = NULL;
    registry->group_count--;
}

static void drop_layouts(registry_slot *slot) {
    for (int unit = 0; unit < SPAD_REGISTRY_UNIT_COUNT; unit++)
        slot->group->layouts[unit].is_built = false;
    slot->revision++;
}

size_t spad__registry_intern(registry_group *group, const char *prefix, const char *name) {
    const size_t place = spad__names_index(&group->names, prefix, name);
    if (place != SPAD__NO_NAME) return place;
    if (spad__names_add(&group->names, prefix, name) == NULL) return SPAD__NO_NAME;
    return group->names.names.count - 1;
}

void spad__registry_put(registry_slot *slot, size_t place, const registry_buffer *buffer) {
    registry_group *group = slot->group;
    const bool is_new = place == group->buffers.count;
    const bool was_totals = !is_new && group->buffers.items[place].is_totals;
    if (is_new) group->buffers.count++;
    registry_buffer *stored = &group->buffers.items[place];
    *stored = *buffer;
    stored->declared.name = group->names.names.items[place].text;
    stored->is_totals |= was_totals; /* the name is a child's for as long as the group lasts */
    drop_layouts(slot);
}

void spad_registry_clear_own(spad_registry *registry, spad_component component) {
    registry_slot *slot = spad__registry_slot(registry, component);
    if (slot != NULL) spad__registry_drop(registry, slot);
}

void spad_registry_reset(spad_registry *registry) {
    for (size_t i = 0; i < registry->slots.count; i++) {
        spad__registry_drop(registry, &registry->slots.items[i]);
    }
}

void spad_registry_clear_layout(spad_registry *registry, spad_component component) {
    registry_slot *slot = spad__registry_slot(registry, component);
    if (slot != NULL && slot->group != NULL) drop_layouts(slot);
}

/* ---- buffers ----------------------------------------------------------------------- */

/* What is wrong with the values of a buffer, names aside. */
static spad_status check_values(const spad_registry_buffer *buffer, spad_error *error) {
    spad_status status = check_precision(buffer->precision, "buffer", buffer->name, error);
    if (status != SPAD_OK) return status;
    status = SPAD_ERR_ARGUMENT;
    if (buffer->size < 0) {
        spad__fail(error, status, "size %lld of buffer '%s' is negative; give 0 or more elements",
                   (long long)buffer->size, buffer->name);
    } else if (buffer->location != SPAD_REGISTRY_LOCATION_SHARED &&
               buffer->location != SPAD_REGISTRY_LOCATION_LOCAL) {
        spad__fail(error, status, "Invalid location %d for buffer '%s'; use shared or local",
                   (int)buffer->location, buffer->name);
    } else if (buffer->t_begin > buffer->t_end) {
        spad__fail(error, status, "lifetime of buffer '%s' ends at %lld, before it begins at %lld",
                   buffer->name, (long long)buffer->t_end, (long long)buffer->t_begin);
    } else {
        return SPAD_OK;
    }
    spad__fact_names(error, buffer->name, NULL);
    return status;
}

static spad_status check_names(const registry_group *group, const spad_registry_buffer *buffer,
                               spad_error *error) {
    const char *name = buffer->name;
    const char *target = buffer->aliases;
    if (name == NULL || *name == '\0') {
        return spad__fail(error, SPAD_ERR_NAME, "the name of a buffer cannot be empty");
    }
    if (target == NULL) return SPAD_OK;
    spad_status status = SPAD_ERR_NAME;
    if (strcmp(name, target) == 0) {
        spad__fail(error, status, "buffer '%s' cannot alias itself", name);
    } else if (group == NULL || spad__names_index(&group->names, "", target) == SPAD__NO_NAME) {
        status = SPAD_ERR_UNKNOWN;
        spad__fail(error, status,
                   "alias target '%s' of buffer '%s' is not registered; register '%s' first",
                   target, name, target);
    } else {
        return SPAD_OK;
    }
    spad__fact_names(error, name, target);
    return status;
}

spad_status spad_registry_register(spad_registry *registry, spad_component component,
                                   const spad_registry_buffer *buffer, spad_error *error) {
    registry_slot *slot;
    spad_status status = spad__registry_need(&slot, registry, component, error);
    if (status != SPAD_OK) return status;
    registry_buffer value = {
        .declared = *buffer, .target = SPAD__NO_NAME, .total_bytes = -1, .total_align = 1};
    if (buffer->precision == SPAD_DTYPE_NONE) value.declared.precision = slot->precision;
    status = check_names(slot->group, buffer, error);
    if (status == SPAD_OK) status = check_values(&value.declared, error);
    if (status != SPAD_OK) return status;

    registry_group *group = spad__registry_open(registry, slot);
    if (group == NULL) return spad__fail_host_memory(error);
    size_t place = SPAD__NO_NAME;
    if (spad__array_reserve(&registry->host, &group->buffers, 1)) {
        place = spad__registry_intern(group, "", buffer->name);
    }
    if (place == SPAD__NO_NAME) {
        if (group->buffers.count == 0) spad__registry_drop(registry, slot);
        return spad__fail_host_memory(error);
    }
    if (buffer->aliases != NULL) {
        value.target = spad__names_index(&group->names, "", buffer->aliases);
        value.declared.aliases = group->names.names.items[value.target].text;
    }
    spad__registry_put(slot, place, &value);
    return SPAD_OK;
}

/* ---- updates ----------------------------------------------------------------------- */

static bool same_text(const char *a, const char *b) {
    return a == b || (a != NULL && b != NULL && strcmp(a, b) == 0);
}

static bool same_buffer(const spad_registry_buffer *a, const spad_registry_buffer *b) {
    return a->size == b->size && a->location == b->location && a->persistent == b->persistent &&
           same_text(a->aliases, b->aliases) && a->precision == b->precision &&
           a->t_begin == b->t_begin && a->t_end == b->t_end;
}

static void set_fields(spad_registry_buffer *buffer, unsigned fields,
                       const spad_registry_buffer *values, spad_dtype precision) {
    if (fields & SPAD_REGISTRY_BUFFER_SIZE) buffer->size = values->size;
    if (fields & SPAD_REGISTRY_BUFFER_LOCATION) buffer->location = values->location;
    if (fields & SPAD_REGISTRY_BUFFER_PERSISTENT) buffer->persistent = values->persistent;
    if (fields & SPAD_REGISTRY_BUFFER_ALIASES) buffer->aliases = values->aliases;
    if (fields & SPAD_REGISTRY_BUFFER_PRECISION) {
        buffer->precision = values->precision != SPAD_DTYPE_NONE ? values->precision : precision;
    }
    if (fields & SPAD_REGISTRY_BUFFER_LIFETIME) {
        buffer->t_begin = values->t_begin;
        buffer->t_end = values->t_end;
    }
}

/* Points the alias at a stored text. False: no memory. */
static bool store_alias(registry_group *group, registry_buffer *buffer) {
    const char *target = buffer->declared.aliases;
    buffer->target = SPAD__NO_NAME;
    if (target == NULL) return true;
    buffer->target = spad__names_index(&group->names, "", target);
    if (buffer->target != SPAD__NO_NAME) {
        buffer->declared.aliases = group->names.names.items[buffer->target].text;
        return true;
    }
    const char *stored = spad__names_find(&group->loose, "", target);
    if (stored == NULL) stored = spad__names_add(&group->loose, "", target);
    buffer->declared.aliases = stored;
    return stored != NULL;
}

spad_status spad_registry_update_buffer(spad_registry_change *out, spad_registry *registry,
                                        spad_component component, unsigned fields,
                                        const spad_registry_buffer *values, spad_error *error) {
    const unsigned all = SPAD_REGISTRY_BUFFER_LIFETIME * 2 - 1;
    spad_registry_change ignored;
    if (out == NULL) out = &ignored;
    *out = (spad_registry_change){.recognised = false, .changed = false};
    registry_slot *slot;
    spad_status status = spad__registry_need(&slot, registry, component, error);
    if (status != SPAD_OK) return status;
    if ((fields & ~all) != 0) {
        return spad__fail(error, SPAD_ERR_ARGUMENT, "an update has no field number 0x%x",
                          fields & ~all);
    }
    registry_group *group = slot->group;
    if (group == NULL || values->name == NULL) return SPAD_OK;
    const size_t place = spad__names_index(&group->names, "", values->name);
    if (place == SPAD__NO_NAME) return SPAD_OK;
    const registry_buffer *old = &group->buffers.items[place];
    registry_buffer value = *old;
    set_fields(&value.declared, fields, values, slot->precision);
    if (!same_buffer(&value.declared, &old->declared)) {
        status = check_values(&value.declared, error);
        if (status != SPAD_OK) return status;
        if (!store_alias(group, &value)) return spad__fail_host_memory(error);
        if (value.declared.size != old->declared.size) value.total_bytes = -1;
        spad__registry_put(slot, place, &value);
        out->changed = true;
    }
    out->recognised = true;
    return SPAD_OK;
}

/* Length of the buffer name in "{name}_location", or SPAD__NO_NAME for another key. */
static size_t location_key(const char *key) {
    static const char ending[] = "_location";
    const size_t length = strlen(key);
    if (length < sizeof ending - 1) return SPAD__NO_NAME;
    const size_t stem = length - (sizeof ending - 1);
    return strcmp(key + stem, ending) == 0 ? stem : SPAD__NO_NAME;
}

/* Moves the buffer that a setting names; false: none exists. */
static bool apply_setting(registry_slot *slot, const spad_registry_setting *setting) {
    const size_t length = location_key(setting->key);
    if (length == SPAD__NO_NAME) return false;
    const size_t place = spad__names_index_of(&slot->group->names, setting->key, length);
    if (place == SPAD__NO_NAME) return false;
    spad_registry_location location;
    location_of(&location, setting->value); /* checked by the caller */
    spad_registry_buffer *buffer = &slot->group->buffers.items[place].declared;
    if (buffer->location != location) {
        buffer->location = location;
        drop_layouts(slot);
    }
    return true;
}

spad_status spad_registry_update(bool *recognised, spad_registry *registry,
                                 spad_component component, const spad_registry_setting *settings,
                                 size_t count, spad_error *error) {
    for (size_t i = 0; recognised != NULL && i < count; i++) recognised[i] = false;
    registry_slot *slot;
    const spad_status status = spad__registry_need(&slot, registry, component, error);
    if (status != SPAD_OK || slot->group == NULL) return status;
    for (size_t i = 0; i < count; i++) {
        const size_t length = location_key(settings[i].key);
        spad_registry_location location;
        if (length == SPAD__NO_NAME || location_of(&location, settings[i].value)) continue;
        spad__fail(error, SPAD_ERR_ARGUMENT,
                   "Invalid location '%s' for buffer '%.*s'; use 'shared' or 'local'",
                   settings[i].value, (int)spad__min((int64_t)length, SPAD_MESSAGE_MAX),
                   settings[i].key);
        spad__fact_names(error, settings[i].key, NULL);
        return SPAD_ERR_ARGUMENT;
    }
    for (size_t i = 0; i < count; i++) {
        const bool found = apply_setting(slot, &settings[i]);
        if (recognised != NULL) recognised[i] = found;
    }
    return SPAD_OK;
}

/* ---- reading ----------------------------------------------------------------------- */

size_t spad_registry_buffer_count(const spad_registry *registry, spad_component component) {
    const registry_group *group = spad__registry_group(registry, component);
    return group != NULL ? group->buffers.count : 0;
}

const spad_registry_buffer *spad_registry_get_buffer(const spad_registry *registry,
                                                     spad_component component, size_t index) {
    const registry_group *group = spad__registry_group(registry, component);
    if (group == NULL || index >= group->buffers.count) return NULL;
    return &group->buffers.items[index].declared;
}

static spad_status no_such_buffer(const registry_slot *slot, const char *name, spad_error *error) {
    spad__nearest nearest;
    spad__nearest_start(&nearest, name);
    for (size_t i = 0; i < slot->group->buffers.count; i++) {
        spad__nearest_offer(&nearest, slot->group->buffers.items[i].declared.name);
    }
    char phrase[160];
    spad__nearest_phrase(&nearest, phrase, sizeof phrase);
    spad__fail(error, SPAD_ERR_UNKNOWN, "buffer '%s' is not registered with component '%s'%s", name,
               slot->name, phrase);
    spad__fact_names(error, name, slot->name);
    return SPAD_ERR_UNKNOWN;
}

spad_status spad_registry_find_buffer(size_t *index, const spad_registry *registry,
                                      spad_component component, const char *name,
                                      spad_error *error) {
    *index = SPAD__NO_NAME;
    registry_slot *slot;
    const spad_status status = spad__registry_need(&slot, registry, component, error);
    if (status != SPAD_OK) return status;
    if (slot->group == NULL) {
        spad__fail(error, SPAD_ERR_UNKNOWN,
                   "component '%s' has no registered buffers; register '%s' first", slot->name,
                   name);
        spad__fact_names(error, slot->name, name);
        return SPAD_ERR_UNKNOWN;
    }
    *index = spad__names_index(&slot->group->names, "", name);
    return *index != SPAD__NO_NAME ? SPAD_OK : no_such_buffer(slot, name, error);
}

uint64_t spad_registry_get_revision(const spad_registry *registry, spad_component component) {
    const registry_slot *slot = spad__registry_slot(registry, component);
    return slot != NULL ? slot->revision : 0;
}
