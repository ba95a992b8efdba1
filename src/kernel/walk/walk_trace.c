/* SPDX-License-Identifier: Apache-2.0
 *
 * From a kernel to a trace: two walks. The first finds the first and the last event
 * that touches each slot; the second writes allocations and ends at those events, in
 * order. The managers of scoped tensors write to the same trace while it walks.
 *
 * Memory: two numbers per slot, which is what the limit on tiles is for.
 */
#include <stdio.h>
#include <string.h>

#include "base/checked.h"
#include "kernel/kernel.h"
#include "kernel/place.h"
#include "spad/experimental/walk.h"

typedef struct slot_life {
    int64_t first; /* -1: not touched */
    int64_t last;
    int64_t tensor; /* in the trace; -1: not there (any more) */
    unsigned flags; /* SPAD_TENSOR_... of all of its names */
    bool by_agents;
} slot_life;

typedef struct tracer {
    spad_host host;
    const spad_kernel *kernel;
    spad_trace *trace;
    size_t *bases; /* per tensor: number of its first slot */
    slot_life *slots;
    size_t slot_count;
    int64_t fork; /* events; -1: none */
    int64_t join;
} tracer;

/* ---- slots ------------------------------------------------------------------------- */

/* Is a tensor traced slot by slot? Aliases have none, scoped ones are logged elsewhere. */
static bool is_traced(const spad_kernel *kernel, const spad_kernel_tensor *tensor) {
    const bool placed_here = tensor->mode == SPAD_MODE_AUTO || tensor->mode == SPAD_MODE_AT ||
                             tensor->mode == SPAD_MODE_MOD;
    return placed_here && !kernel->target->spaces[tensor->space].off_chip;
}

static spad_status number_traced_slots(tracer *t, spad_error *error) {
    const size_t tensors = t->kernel->tensors.count;
    int64_t total = 0;
    t->bases = spad__new_array(&t->host, tensors + 1, sizeof *t->bases);
    if (t->bases == NULL) return spad__fail_host_memory(error);
    for (size_t i = 0; i < tensors; i++) {
        const spad_kernel_tensor *tensor = &t->kernel->tensors.items[i];
        t->bases[i] = (size_t)total;
        if (!is_traced(t->kernel, tensor)) continue;
        if (!spad__add(total, tensor->slots, &total) || total > SPAD_KERNEL_TRACE_TILES) {
            spad__fail(error, SPAD_ERR_ARGUMENT,
                       "more than %s tiles on chip; define a smaller parameter for a trace",
                       spad__grouped(SPAD_KERNEL_TRACE_TILES).text);
            spad__fact_names(error, tensor->name, NULL);
            return SPAD_ERR_ARGUMENT;
        }
    }
    t->slot_count = (size_t)total;
    if (t->slot_count == 0) return SPAD_OK;
    t->slots = spad__new_array(&t->host, t->slot_count, sizeof *t->slots);
    if (t->slots == NULL) return spad__fail_host_memory(error);
    for (size_t i = 0; i < t->slot_count; i++) {
        t->slots[i] = (slot_life){.first = -1, .last = -1, .tensor = -1};
    }
    return SPAD_OK;
}

/* The slot that an access touches, or NULL. */
static slot_life *touched(const tracer *t, const spad_walk_access *access) {
    const spad_kernel_tensor *home = &t->kernel->tensors.items[access->home];
    if (!is_traced(t->kernel, home)) return NULL;
    return &t->slots[t->bases[access->home] + (size_t)access->slot];
}

/* ---- the two walks ----------------------------------------------------------------- */

static void note_event(tracer *t, const spad_walk_event *event) {
    if (event->kind == SPAD_WALK_FORK) t->fork = event->time;
    if (event->kind == SPAD_WALK_JOIN) t->join = event->time;
    for (size_t i = 0; i < event->access_count; i++) {
        slot_life *slot = touched(t, &event->accesses[i]);
        if (slot == NULL) continue;
        if (slot->first < 0) slot->first = event->time;
        slot->last = event->time;
        slot->by_agents |= event->agent > 0;
    }
}

/* A slot is what any name of it is. */
static void gather_flags(tracer *t) {
    for (size_t i = 0; i < t->kernel->tensors.count; i++) {
        const spad_kernel_tensor *tensor = &t->kernel->tensors.items[i];
        const spad_kernel_tensor *home = &t->kernel->tensors.items[tensor->home];
        if (!is_traced(t->kernel, home)) continue;
        for (int64_t s = 0; s < home->slots; s++) {
            t->slots[t->bases[tensor->home] + (size_t)s].flags |= tensor->flags;
        }
    }
}

/* What agents touch lives from fork to join; inputs from the start, outputs to the end. */
static void widen_lives(tracer *t, int64_t end) {
    gather_flags(t);
    for (size_t i = 0; i < t->slot_count; i++) {
        slot_life *slot = &t->slots[i];
        if (slot->by_agents) {
            slot->first = spad__min(slot->first, t->fork);
            slot->last = spad__max(slot->last, t->join);
        }
        if ((slot->flags & SPAD_TENSOR_INPUT) != 0) {
            slot->first = 0;
            slot->last = spad__max(slot->last, 0);
        }
        if ((slot->flags & SPAD_TENSOR_OUTPUT) != 0 && slot->first >= 0) slot->last = end;
    }
}

static spad_status begin_life(tracer *t, size_t number, int64_t s, spad_error *error) {
    const spad_kernel_tensor *tensor = &t->kernel->tensors.items[number];
    slot_life *slot = &t->slots[t->bases[number] + (size_t)s];
    int64_t dims[SPAD_RANK_MAX];
    char name[SPAD_NAME_FACT_MAX + 32];
    for (size_t i = 0; i < tensor->dims.count; i++) dims[i] = tensor->dims.items[i].value;
    snprintf(name, sizeof name, tensor->slots > 1 ? "%s[%lld]" : "%s", tensor->name, (long long)s);
    spad_tensor row = {.name = name,
                       .shape = {tensor->dims.count, dims},
                       .dtype = tensor->dtype,
                       .mode = tensor->mode,
                       .space = tensor->space,
                       .scope = -1};
    int64_t index[SPAD_RANK_MAX];
    spad__tile_index(tensor, s, index);
    if (!spad__tile_place(t->kernel, tensor, s, index, &row.rect)) {
        row.rect.lane = tensor->lane.value;
        row.rect.byte = SPAD_NO_BYTE;
    }
    return spad_trace_alloc(&slot->tensor, t->trace, &row, row.rect.byte, error);
}

static spad_status end_life(tracer *t, slot_life *slot, spad_error *error) {
    const int64_t tensor = slot->tensor;
    slot->tensor = -1;
    return spad_trace_free(t->trace, tensor, -1, 0, error);
}

/* All slots that begin, or end, at a time: at the start, the fork, the join and the end. */
static spad_status begin_all(tracer *t, int64_t time, spad_error *error) {
    for (size_t i = 0; i < t->kernel->tensors.count; i++) {
        const spad_kernel_tensor *tensor = &t->kernel->tensors.items[i];
        if (!is_traced(t->kernel, tensor)) continue;
        for (int64_t s = 0; s < tensor->slots; s++) {
            const slot_life *slot = &t->slots[t->bases[i] + (size_t)s];
            if (slot->first != time || slot->tensor >= 0) continue;
            const spad_status status = begin_life(t, i, s, error);
            if (status != SPAD_OK) return status;
        }
    }
    return SPAD_OK;
}

static spad_status end_all(tracer *t, int64_t time, spad_error *error) {
    for (size_t i = 0; i < t->slot_count; i++) {
        if (t->slots[i].last != time || t->slots[i].tensor < 0) continue;
        const spad_status status = end_life(t, &t->slots[i], error);
        if (status != SPAD_OK) return status;
    }
    return SPAD_OK;
}

static spad_status trace_event(tracer *t, const spad_walk_event *event, spad_error *error) {
    const bool wide = event->time == 0 || event->time == t->fork;
    spad_status status = wide ? begin_all(t, event->time, error) : SPAD_OK;
    for (size_t i = 0; i < event->access_count && status == SPAD_OK; i++) {
        const spad_walk_access *access = &event->accesses[i];
        const slot_life *slot = touched(t, access);
        if (slot == NULL || slot->first != event->time || slot->tensor >= 0) continue;
        status = begin_life(t, (size_t)access->home, access->slot, error);
    }
    for (size_t i = 0; i < event->access_count && status == SPAD_OK; i++) {
        slot_life *slot = touched(t, &event->accesses[i]);
        if (slot == NULL || slot->last != event->time || slot->tensor < 0) continue;
        status = end_life(t, slot, error);
    }
    if (status == SPAD_OK && (wide || event->time == t->join || event->kind == SPAD_WALK_END)) {
        status = end_all(t, event->time, error);
    }
    return status;
}

static spad_status walk_over(tracer *t, bool write, spad_error *error) {
    const spad_walk_options options = {
        .agent = SPAD_WALK_ALL, .trace = write ? t->trace : NULL, .host = &t->host};
    spad_walk *walk;
    spad_status status = spad_walk_create(&walk, t->kernel, &options, error);
    if (status != SPAD_OK) return status;
    const spad_walk_event *event;
    do {
        status = spad_walk_next(&event, walk, error);
        if (status != SPAD_OK) break;
        if (write) {
            status = trace_event(t, event, error);
        } else if (event->time >= SPAD_KERNEL_TRACE_EVENTS) {
            status = spad__fail(error, SPAD_ERR_ARGUMENT,
                                "the kernel has more than %s events; define a smaller parameter "
                                "for a trace",
                                spad__grouped(SPAD_KERNEL_TRACE_EVENTS).text);
        } else {
            note_event(t, event);
            if (event->kind == SPAD_WALK_END) widen_lives(t, event->time);
        }
    } while (status == SPAD_OK && event->kind != SPAD_WALK_END);
    spad_walk_destroy(walk);
    return status;
}

spad_status spad_kernel_write_trace(const spad_kernel *kernel, spad_trace *trace,
                                    const spad_host *host, spad_error *error) {
    if (spad_trace_get_target(trace) != kernel->target) {
        return spad__fail(error, SPAD_ERR_ARGUMENT, "the trace is of another target than '%s'",
                          kernel->target->name);
    }
    tracer t = {.host = spad__host_or_default(host),
                .kernel = kernel,
                .trace = trace,
                .fork = -1,
                .join = -1};
    spad_status status = number_traced_slots(&t, error);
    if (status == SPAD_OK) status = walk_over(&t, false, error);
    if (status == SPAD_OK) status = walk_over(&t, true, error);
    spad__free(&t.host, t.bases, (kernel->tensors.count + 1) * sizeof *t.bases);
    spad__free(&t.host, t.slots, t.slot_count * sizeof *t.slots);
    return status;
}
