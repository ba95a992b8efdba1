/* SPDX-License-Identifier: Apache-2.0
 *
 * The registry writes a trace: one scope for the component, one tensor per
 * buffer at its place in the byte layout. What has no lifetime is allocated
 * first and freed last; the rest comes and goes in the order of its steps.
 * O(n log n).
 */
#include "alloc/registry/registry.h"
#include "base/checked.h"
#include "base/error.h"
#include "base/moment.h"
#include "spad/experimental/registry_parts.h"
#include "spad/experimental/trace_queries.h"
#include "trace/trace.h"

typedef struct trace_writer {
    spad_trace *trace;
    const registry_group *group;
    const size_t *spaces;
    int64_t base[SPAD_REGISTRY_REGION_COUNT];
    int64_t scope;
    int64_t *tensors; /* by buffer: its number in the trace */
    spad__moment *events;
    size_t event_count;
} trace_writer;

static const spad_registry_slice *slice_of(const trace_writer *w, size_t i) {
    return &w->group->layouts[SPAD_REGISTRY_UNIT_BYTE].slices.items[i];
}

static bool is_drawn(const trace_writer *w, size_t i) {
    return w->spaces[slice_of(w, i)->region] != SPAD_NO_SPACE;
}

static spad_status check_spaces(const trace_writer *w, spad_error *error) {
    const spad_target *target = spad_trace_get_target(w->trace);
    for (int region = 0; region < SPAD_REGISTRY_REGION_COUNT; region++) {
        const size_t space = w->spaces[region];
        if (space == SPAD_NO_SPACE) continue;
        if (w->base[region] < 0) {
            return spad__fail(error, SPAD_ERR_ARGUMENT, "%s memory cannot begin at byte %lld",
                              spad_registry_region_name((spad_registry_region)region),
                              (long long)w->base[region]);
        }
        if (space >= target->space_count) {
            return spad__fail(error, SPAD_ERR_ARGUMENT, "target %s has no space number %zu",
                              target->name, space);
        }
        if (target->spaces[space].lanes != 1) {
            return spad__fail(error, SPAD_ERR_SPACE,
                              "%s memory cannot be drawn in space %s of %lld lanes; give one with "
                              "a single lane",
                              spad_registry_region_name((spad_registry_region)region),
                              target->spaces[space].name, (long long)target->spaces[space].lanes);
        }
        int64_t end;
        if (!spad__add(w->base[region], w->group->layouts[SPAD_REGISTRY_UNIT_BYTE].size[region],
                       &end)) {
            return spad__fail(error, SPAD_ERR_OVERFLOW,
                              "%s memory from byte %lld on ends beyond what 64 bits hold",
                              spad_registry_region_name((spad_registry_region)region),
                              (long long)w->base[region]);
        }
    }
    return SPAD_OK;
}

static spad_status write_alloc(const trace_writer *w, size_t i, spad_error *error) {
    const spad_registry_slice *slice = slice_of(w, i);
    const spad_registry_buffer *buffer = &w->group->buffers.items[i].declared;
    const spad_tensor tensor = {
        .name = buffer->name,
        .shape = {.rank = 1, .dims = &buffer->size},
        .dtype = buffer->precision,
        .mode = slice->inside != NULL ? SPAD_MODE_ALIAS : SPAD_MODE_AT,
        .space = w->spaces[slice->region],
        .rect = {.lane = 0,
                 .lanes = 1,
                 .byte = w->base[slice->region] + slice->offset,
                 .bytes = slice->length},
        .scope = w->scope,
    };
    return spad_trace_alloc(&w->tensors[i], w->trace, &tensor, tensor.rect.byte, error);
}

/* Buffers without a lifetime: allocated in order, or freed newest first. */
static spad_status write_lasting(const trace_writer *w, bool begin, spad_error *error) {
    const size_t count = w->group->buffers.count;
    spad_status status = SPAD_OK;
    for (size_t k = 0; k < count && status == SPAD_OK; k++) {
        const size_t i = begin ? k : count - 1 - k;
        const spad_registry_buffer *buffer = &w->group->buffers.items[i].declared;
        if (!is_drawn(w, i) || spad__registry_has_lifetime(buffer)) continue;
        status = begin ? write_alloc(w, i, error)
                       : spad_trace_free(w->trace, w->tensors[i], w->scope, 0, error);
    }
    return status;
}

static void collect_events(trace_writer *w) {
    for (size_t i = 0; i < w->group->buffers.count; i++) {
        const spad_registry_buffer *buffer = &w->group->buffers.items[i].declared;
        if (!is_drawn(w, i) || !spad__registry_has_lifetime(buffer)) continue;
        w->events[w->event_count++] = (spad__moment){buffer->t_begin, i, true};
        w->events[w->event_count++] = (spad__moment){buffer->t_end, i, false};
    }
    spad__sort_moments(w->events, w->event_count);
}

static spad_status write_all(trace_writer *w, const char *name, spad_error *error) {
    int region = 0; /* the first that is drawn has the scope */
    while (region < SPAD_REGISTRY_REGION_COUNT && w->spaces[region] == SPAD_NO_SPACE) region++;
    if (region == SPAD_REGISTRY_REGION_COUNT) return SPAD_OK;
    const int64_t bytes = w->group->layouts[SPAD_REGISTRY_UNIT_BYTE].size[region];
    spad_status status = spad_trace_open_scope(&w->scope, w->trace, w->spaces[region], name, 1, -1,
                                               w->base[region], error);
    if (status == SPAD_OK) status = write_lasting(w, true, error);
    for (size_t i = 0; i < w->event_count && status == SPAD_OK; i++) {
        const size_t buffer = w->events[i].buffer;
        status = w->events[i].begins
                     ? write_alloc(w, buffer, error)
                     : spad_trace_free(w->trace, w->tensors[buffer], w->scope, 0, error);
    }
    if (status == SPAD_OK) status = write_lasting(w, false, error);
    if (status == SPAD_OK) {
        status = spad_trace_close_scope(w->trace, w->scope, bytes, bytes, error);
    }
    return status;
}

spad_status spad_registry_write_trace(spad_registry *registry, spad_component component,
                                      spad_trace *trace,
                                      const size_t spaces[SPAD_REGISTRY_REGION_COUNT],
                                      const int64_t base[SPAD_REGISTRY_REGION_COUNT],
                                      spad_error *error) {
    registry_slot *slot;
    spad_status status = spad__registry_need(&slot, registry, component, error);
    if (status != SPAD_OK) return status;
    if (slot->group == NULL) {
        spad__fail(error, SPAD_ERR_UNKNOWN, "component '%s' has no registered buffers to draw",
                   slot->name);
        spad__fact_names(error, slot->name, NULL);
        return SPAD_ERR_UNKNOWN;
    }
    status = spad__registry_build(registry, slot, SPAD_REGISTRY_UNIT_BYTE, error);
    if (status != SPAD_OK) return status;
    trace_writer w = {.trace = trace, .group = slot->group, .spaces = spaces};
    for (int region = 0; base != NULL && region < SPAD_REGISTRY_REGION_COUNT; region++) {
        w.base[region] = base[region];
    }
    status = check_spaces(&w, error);
    if (status != SPAD_OK) return status;
    const size_t count = slot->group->buffers.count;
    spad__arena memory = {.host = registry->host};
    w.tensors = spad__arena_array(&memory, count, sizeof *w.tensors);
    w.events = spad__arena_array(&memory, count, 2 * sizeof *w.events);
    if (w.tensors == NULL || w.events == NULL) {
        status = spad__fail_host_memory(error);
    } else {
        collect_events(&w);
        spad__trace_mark mark;
        spad__trace_here(&mark, trace);
        status = write_all(&w, slot->name, error);
        if (status != SPAD_OK) spad__trace_take_back(trace, &mark);
    }
    spad__arena_free(&memory);
    return status;
}
