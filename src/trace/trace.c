/* SPDX-License-Identifier: Apache-2.0
 *
 * Writing the trace and reading its tables. The struct and its invariants are
 * in trace/trace.h.
 *
 * Cost: every write is an append to an array that grows by half again, and a
 * few additions: O(1) amortised.
 */
#include "trace/trace.h"
#include "spad/experimental/trace_queries.h"

#include <string.h>

#include "base/assert.h"
#include "base/checked.h"
#include "base/error.h"

static const char *const mode_names[SPAD_MODE_COUNT] = {
    [SPAD_MODE_AUTO] = "auto", [SPAD_MODE_AT] = "at",       [SPAD_MODE_MOD] = "mod",
    [SPAD_MODE_FUNC] = "func", [SPAD_MODE_STACK] = "stack", [SPAD_MODE_HEAP] = "heap",
    [SPAD_MODE_POOL] = "pool", [SPAD_MODE_ALIAS] = "alias",
};

const char *spad_mode_name(spad_mode mode) {
    return (unsigned)mode < SPAD_MODE_COUNT ? mode_names[mode] : "?";
}

/* ---- life -------------------------------------------------------------------------- */

static size_t stats_size(const spad_target *target) {
    return target->space_count * sizeof(spad_space_stats);
}

spad_status spad_trace_create(spad_trace **out, const spad_target *target, const spad_host *host,
                              spad_error *error) {
    *out = NULL;
    if (target == NULL || target->space_count == 0) {
        return spad__fail(error, SPAD_ERR_ARGUMENT, "a trace needs a target with memory spaces");
    }
    const spad_host memory = spad__host_or_default(host);
    spad_trace *trace = spad__new(&memory, sizeof *trace);
    if (trace == NULL) return spad__fail_host_memory(error);
    trace->host = memory;
    trace->texts.host = memory;
    trace->target = target;
    trace->stats = spad__new_array(&memory, target->space_count, sizeof *trace->stats);
    if (trace->stats == NULL) {
        spad__free(&memory, trace, sizeof *trace);
        return spad__fail_host_memory(error);
    }
    for (size_t s = 0; s < target->space_count; s++) trace->stats[s].peak_time = -1;
    *out = trace;
    return SPAD_OK;
}

void spad_trace_destroy(spad_trace *trace) {
    if (trace == NULL) return;
    const spad_host memory = trace->host;
    spad__free(&memory, trace->stats, stats_size(trace->target));
    spad__array_free(&memory, &trace->events);
    spad__array_free(&memory, &trace->tensors);
    spad__array_free(&memory, &trace->scopes);
    spad__arena_free(&trace->texts);
    spad__free(&memory, trace, sizeof *trace);
}

const spad_target *spad_trace_get_target(const spad_trace *trace) {
    return trace->target;
}

/* ---- writing ----------------------------------------------------------------------- */

/* Room for `extra` events beside those that are owed. */
static bool reserve_events(spad_trace *trace, size_t extra) {
    return spad__array_reserve(&trace->host, &trace->events, trace->owed + extra);
}

/* Room must have been reserved. */
static spad_event *append_event(spad_trace *trace, spad_event_kind kind, size_t space,
                                int32_t depth) {
    spad__assert(trace->events.count < trace->events.capacity &&
                 space < trace->target->space_count);
    spad_event *event = &trace->events.items[trace->events.count++];
    *event = (spad_event){
        .kind = kind, .depth = depth, .space = space, .tensor = -1, .source = -1, .scope = -1};
    return event;
}

static int64_t now(const spad_trace *trace) {
    return (int64_t)trace->events.count;
}

static bool is_open_scope(const spad_trace *trace, int64_t number) {
    return number >= 0 && (size_t)number < trace->scopes.count &&
           trace->scopes.items[number].t_end == SPAD_OPEN_END;
}

/* Depth of what is in the scope; -1 is no scope. */
static int32_t depth_in(const spad_trace *trace, int64_t scope) {
    spad__assert(scope < (int64_t)trace->scopes.count);
    return scope >= 0 ? trace->scopes.items[scope].depth + 1 : 0;
}

static spad_status check_trace_space(const spad_trace *trace, size_t space, spad_error *error) {
    if (space < trace->target->space_count) return SPAD_OK;
    return spad__fail(error, SPAD_ERR_ARGUMENT, "target %s has no space number %zu",
                      trace->target->name, space);
}

static spad_status check_scope(const spad_trace *trace, int64_t number, bool may_be_none,
                               spad_error *error) {
    if (is_open_scope(trace, number) || (may_be_none && number == -1)) return SPAD_OK;
    return spad__fail(error, SPAD_ERR_ARGUMENT, "the trace has no open scope number %lld",
                      (long long)number);
}

spad_status spad_trace_open_scope(int64_t *out, spad_trace *trace, size_t space, const char *name,
                                  int64_t degree, int64_t parent, int64_t start,
                                  spad_error *error) {
    *out = -1;
    spad_status status = check_trace_space(trace, space, error);
    if (status == SPAD_OK) status = check_scope(trace, parent, true, error);
    if (status != SPAD_OK) return status;
    if (!reserve_events(trace, 2) || !spad__array_reserve(&trace->host, &trace->scopes, 1)) {
        return spad__fail_host_memory(error);
    }
    const char *copy = NULL;
    if (name != NULL && *name != '\0') {
        copy = spad__arena_copy(&trace->texts, name, strlen(name));
        if (copy == NULL) return spad__fail_host_memory(error);
    }
    *out = (int64_t)trace->scopes.count;
    trace->scopes.items[trace->scopes.count++] = (spad_scope){
        .name = copy,
        .space = space,
        .degree = degree,
        .parent = parent,
        .depth = depth_in(trace, parent),
        .start = start,
        .t_begin = now(trace),
        .t_end = SPAD_OPEN_END,
    };
    spad_event *event =
        append_event(trace, SPAD_EVENT_SCOPE_OPEN, space, trace->scopes.items[*out].depth);
    event->scope = *out;
    event->address = start;
    trace->owed++;
    spad__assert_valid(trace->events.count > SPAD__FEW || spad__trace_is_valid(trace));
    return SPAD_OK;
}

spad_status spad_trace_close_scope(spad_trace *trace, int64_t number, int64_t bytes,
                                   int64_t high_water, spad_error *error) {
    const spad_status status = check_scope(trace, number, false, error);
    if (status != SPAD_OK) return status;
    spad_scope *scope = &trace->scopes.items[number];
    spad__assert(trace->owed > 0);
    scope->t_end = now(trace);
    scope->high_water = high_water;
    spad_event *event = append_event(trace, SPAD_EVENT_SCOPE_CLOSE, scope->space, scope->depth);
    event->scope = number;
    event->address = scope->start;
    event->bytes = bytes;
    trace->owed--;
    spad__assert_valid(trace->events.count > SPAD__FEW || spad__trace_is_valid(trace));
    return SPAD_OK;
}

spad_status spad_trace_section(spad_trace *trace, int64_t number, int64_t section, int64_t address,
                               spad_error *error) {
    const spad_status status = check_scope(trace, number, false, error);
    if (status != SPAD_OK) return status;
    if (!reserve_events(trace, 1)) return spad__fail_host_memory(error);
    spad_event *event = append_event(trace, SPAD_EVENT_SECTION, trace->scopes.items[number].space,
                                     depth_in(trace, number));
    event->scope = number;
    event->address = address;
    event->count = section;
    return SPAD_OK;
}

static void count_alloc(spad_space_stats *stats, int64_t bytes, int64_t time) {
    spad__assert(bytes >= 0 && time >= 0);
    stats->live_tensors++;
    stats->total_tensors++;
    stats->live_bytes += bytes; /* checked by the caller */
    if (!spad__add(stats->total_bytes, bytes, &stats->total_bytes)) stats->total_bytes = INT64_MAX;
    if (stats->live_bytes > stats->peak_bytes || stats->peak_time < 0) {
        stats->peak_bytes = stats->live_bytes;
        stats->peak_time = time;
        stats->peak_tensors = stats->live_tensors;
    }
}

/* Name and dims of `tensor`, moved into the arena. */
static bool copy_texts(spad_trace *trace, spad_tensor *tensor) {
    if (tensor->name != NULL) {
        tensor->name = spad__arena_copy(&trace->texts, tensor->name, strlen(tensor->name));
        if (tensor->name == NULL) return false;
    }
    if (tensor->shape.rank == 0) {
        tensor->shape.dims = NULL;
        return true;
    }
    const size_t size = tensor->shape.rank * sizeof *tensor->shape.dims;
    int64_t *dims = spad__arena_array(&trace->texts, tensor->shape.rank, sizeof *dims);
    if (dims == NULL) return false;
    memcpy(dims, tensor->shape.dims, size);
    tensor->shape.dims = dims;
    return true;
}

/* Lanes count from 0, and ends fit 64 bits. More is not asked for: the NKI library places tensors
 * without looking at lanes, and aligns its heap to below byte 0; a plan may not fit. */
static spad_status check_rect(const spad_trace *trace, const spad_tensor *tensor,
                              spad_error *error) {
    const spad_rect rect = tensor->rect;
    const bool placed = rect.byte != SPAD_NO_BYTE;
    int64_t end;
    if (rect.lane >= 0 && rect.lanes >= 0 && spad__add(rect.lane, rect.lanes, &end) &&
        (!placed || spad__add(rect.byte, rect.bytes, &end))) {
        return SPAD_OK;
    }
    spad__fail(error, SPAD_ERR_ARGUMENT,
               "%lld lanes from lane %lld, %lld B from byte %lld are not a rectangle of space %s: "
               "lanes count from 0, and ends fit 64 bits",
               (long long)rect.lanes, (long long)rect.lane, (long long)rect.bytes,
               placed ? (long long)rect.byte : 0, trace->target->spaces[tensor->space].name);
    spad__fact_names(error, tensor->name, NULL);
    return SPAD_ERR_ARGUMENT;
}

static spad_status check_trace_tensor(const spad_trace *trace, const spad_tensor *tensor,
                                      spad_error *error) {
    spad_status status = check_trace_space(trace, tensor->space, error);
    if (status == SPAD_OK) status = check_scope(trace, tensor->scope, true, error);
    if (status != SPAD_OK) return status;
    if (tensor->rect.bytes < 0 || tensor->section < 0 || tensor->shape.rank > SPAD_RANK_MAX ||
        (unsigned)tensor->mode >= SPAD_MODE_COUNT) {
        return spad__fail(error, SPAD_ERR_ARGUMENT,
                          "the trace cannot record a tensor of %lld bytes and %zu dimensions, mode "
                          "%d, section %lld",
                          (long long)tensor->rect.bytes, tensor->shape.rank, (int)tensor->mode,
                          (long long)tensor->section);
    }
    status = check_rect(trace, tensor, error);
    if (status != SPAD_OK) return status;
    int64_t live_bytes;
    if (!spad__add(trace->stats[tensor->space].live_bytes, tensor->rect.bytes, &live_bytes)) {
        return spad__fail(error, SPAD_ERR_OVERFLOW, "the live bytes of space %s do not fit 64 bits",
                          trace->target->spaces[tensor->space].name);
    }
    return SPAD_OK;
}

spad_status spad_trace_alloc(int64_t *out, spad_trace *trace, const spad_tensor *tensor,
                             int64_t address, spad_error *error) {
    *out = -1;
    const spad_status status = check_trace_tensor(trace, tensor, error);
    if (status != SPAD_OK) return status;
    const spad__arena_mark mark = spad__arena_here(&trace->texts);
    spad_tensor copy = *tensor;
    if (!reserve_events(trace, 2) || !spad__array_reserve(&trace->host, &trace->tensors, 1) ||
        !copy_texts(trace, &copy)) {
        spad__arena_rewind(&trace->texts, mark);
        return spad__fail_host_memory(error);
    }
    copy.t_begin = now(trace);
    copy.t_end = SPAD_OPEN_END;
    *out = (int64_t)trace->tensors.count;
    trace->tensors.items[trace->tensors.count++] = copy;
    count_alloc(&trace->stats[copy.space], copy.rect.bytes, copy.t_begin);
    spad_event *event =
        append_event(trace, SPAD_EVENT_ALLOC, copy.space, depth_in(trace, copy.scope));
    event->tensor = *out;
    event->address = address;
    trace->owed++;
    spad__assert_valid(trace->events.count > SPAD__FEW || spad__trace_is_valid(trace));
    return SPAD_OK;
}

spad_status spad_trace_free(spad_trace *trace, int64_t number, int64_t scope, int64_t heap_left,
                            spad_error *error) {
    if (number < 0 || (size_t)number >= trace->tensors.count) {
        return spad__fail(error, SPAD_ERR_ARGUMENT, "the trace has no tensor number %lld",
                          (long long)number);
    }
    const spad_status status = check_scope(trace, scope, true, error);
    if (status != SPAD_OK) return status;
    spad_tensor *tensor = &trace->tensors.items[number];
    if (tensor->t_end != SPAD_OPEN_END) {
        spad__fail(error, SPAD_ERR_NOT_LIVE, "tensor number %lld was freed before, at event %lld",
                   (long long)number, (long long)tensor->t_end);
        spad__fact_names(error, tensor->name, NULL);
        return SPAD_ERR_NOT_LIVE;
    }
    spad__assert(trace->owed > 0 && trace->stats[tensor->space].live_tensors > 0);
    spad__assert(trace->stats[tensor->space].live_bytes >= tensor->rect.bytes);
    tensor->t_end = now(trace);
    trace->stats[tensor->space].live_tensors--;
    trace->stats[tensor->space].live_bytes -= tensor->rect.bytes;
    spad_event *event = append_event(trace, SPAD_EVENT_FREE, tensor->space, depth_in(trace, scope));
    event->tensor = number;
    event->count = heap_left;
    trace->owed--;
    spad__assert_valid(trace->events.count > SPAD__FEW || spad__trace_is_valid(trace));
    return SPAD_OK;
}

spad_status spad_trace_rollback(spad_trace *trace, size_t space, int64_t scope, spad_error *error) {
    spad_status status = check_trace_space(trace, space, error);
    if (status == SPAD_OK) status = check_scope(trace, scope, true, error);
    if (status != SPAD_OK) return status;
    if (!reserve_events(trace, 1)) return spad__fail_host_memory(error);
    append_event(trace, SPAD_EVENT_ROLLBACK, space, depth_in(trace, scope));
    return SPAD_OK;
}

/* A side of a copy: a live tensor, or -1. */
static spad_status check_copied(const spad_trace *trace, int64_t number, spad_error *error) {
    if (number == -1) return SPAD_OK;
    if (number < 0 || (size_t)number >= trace->tensors.count) {
        return spad__fail(error, SPAD_ERR_ARGUMENT, "the trace has no tensor number %lld",
                          (long long)number);
    }
    const spad_tensor *tensor = &trace->tensors.items[number];
    if (tensor->t_end == SPAD_OPEN_END) return SPAD_OK;
    spad__fail(error, SPAD_ERR_NOT_LIVE,
               "a copy of tensor number %lld, which was freed at event %lld", (long long)number,
               (long long)tensor->t_end);
    spad__fact_names(error, tensor->name, NULL);
    return SPAD_ERR_NOT_LIVE;
}

spad_status spad_trace_copy(spad_trace *trace, size_t space, int64_t to, int64_t from,
                            int64_t bytes, bool on_stream, spad_error *error) {
    spad_status status = check_trace_space(trace, space, error);
    if (status == SPAD_OK) status = check_copied(trace, to, error);
    if (status == SPAD_OK) status = check_copied(trace, from, error);
    if (status != SPAD_OK) return status;
    if (bytes < 0)
        return spad__fail(error, SPAD_ERR_ARGUMENT, "a copy of %lld bytes", (long long)bytes);
    if (trace->copies > 0) {
        spad_trace_release_copy(trace);
    } else if (!reserve_events(trace, 1)) {
        return spad__fail_host_memory(error);
    }
    spad_event *event = append_event(trace, SPAD_EVENT_COPY, space, 0);
    event->tensor = to;
    event->source = from;
    event->bytes = bytes;
    event->count = on_stream;
    spad__assert_valid(trace->events.count > SPAD__FEW || spad__trace_is_valid(trace));
    return SPAD_OK;
}

spad_status spad_trace_reserve_copy(spad_trace *trace, spad_error *error) {
    if (!reserve_events(trace, 1)) return spad__fail_host_memory(error);
    trace->owed++;
    trace->copies++;
    return SPAD_OK;
}

void spad_trace_release_copy(spad_trace *trace) {
    if (trace->copies == 0) return;
    trace->copies--;
    trace->owed--;
}

/* ---- marks ------------------------------------------------------------------------- */

void spad__trace_here(spad__trace_mark *out, const spad_trace *trace) {
    out->events = trace->events.count;
    out->tensors = trace->tensors.count;
    out->scopes = trace->scopes.count;
    out->owed = trace->owed;
    out->copies = trace->copies;
    out->texts = spad__arena_here(&trace->texts);
    memcpy(out->stats, trace->stats, stats_size(trace->target));
}

void spad__trace_take_back(spad_trace *trace, const spad__trace_mark *mark) {
    spad__assert(mark->events <= trace->events.count && mark->tensors <= trace->tensors.count);
    spad__assert(mark->scopes <= trace->scopes.count);
    trace->events.count = mark->events;
    trace->tensors.count = mark->tensors;
    trace->scopes.count = mark->scopes;
    trace->owed = mark->owed;
    trace->copies = mark->copies;
    memcpy(trace->stats, mark->stats, stats_size(trace->target));
    spad__arena_rewind(&trace->texts, mark->texts);
}

/* ---- invariants -------------------------------------------------------------------- */

/* The event of a time is of this kind and about this tensor or scope. */
static bool event_is_valid(const spad_trace *trace, int64_t time, spad_event_kind kind,
                           int64_t number) {
    if (time < 0 || (size_t)time >= trace->events.count) return false;
    const spad_event *event = &trace->events.items[time];
    const bool scope = kind == SPAD_EVENT_SCOPE_OPEN || kind == SPAD_EVENT_SCOPE_CLOSE;
    return event->kind == kind && (scope ? event->scope : event->tensor) == number;
}

static bool space_is_valid(const spad_trace *trace, size_t space) {
    int64_t bytes = 0;
    int64_t tensors = 0;
    for (size_t i = 0; i < trace->tensors.count; i++) {
        const spad_tensor *t = &trace->tensors.items[i];
        if (t->space != space || t->t_end != SPAD_OPEN_END) continue;
        bytes += t->rect.bytes;
        tensors++;
    }
    const spad_space_stats *stats = &trace->stats[space];
    return stats->live_bytes == bytes && stats->live_tensors == tensors &&
           stats->peak_bytes >= bytes;
}

bool spad__trace_is_valid(const spad_trace *trace) {
    size_t owed = trace->copies;
    for (size_t i = 0; i < trace->tensors.count; i++) {
        const spad_tensor *t = &trace->tensors.items[i];
        const bool open = t->t_end == SPAD_OPEN_END;
        if (!event_is_valid(trace, t->t_begin, SPAD_EVENT_ALLOC, (int64_t)i)) return false;
        if (!open && !event_is_valid(trace, t->t_end, SPAD_EVENT_FREE, (int64_t)i)) return false;
        owed += open;
    }
    for (size_t i = 0; i < trace->scopes.count; i++) {
        const spad_scope *s = &trace->scopes.items[i];
        const bool open = s->t_end == SPAD_OPEN_END;
        if (s->parent >= (int64_t)i) return false;
        if (!event_is_valid(trace, s->t_begin, SPAD_EVENT_SCOPE_OPEN, (int64_t)i)) return false;
        if (!open && !event_is_valid(trace, s->t_end, SPAD_EVENT_SCOPE_CLOSE, (int64_t)i))
            return false;
        owed += open;
    }
    for (size_t s = 0; s < trace->target->space_count; s++) {
        if (!space_is_valid(trace, s)) return false;
    }
    return owed == trace->owed && trace->events.capacity - trace->events.count >= owed;
}
/* ---- reading ----------------------------------------------------------------------- */

size_t spad_trace_event_count(const spad_trace *trace) {
    return trace->events.count;
}

size_t spad_trace_tensor_count(const spad_trace *trace) {
    return trace->tensors.count;
}

size_t spad_trace_scope_count(const spad_trace *trace) {
    return trace->scopes.count;
}

const spad_event *spad_trace_get_event(const spad_trace *trace, size_t number) {
    return number < trace->events.count ? &trace->events.items[number] : NULL;
}

const spad_tensor *spad_trace_get_tensor(const spad_trace *trace, size_t number) {
    return number < trace->tensors.count ? &trace->tensors.items[number] : NULL;
}

const spad_scope *spad_trace_get_scope(const spad_trace *trace, size_t number) {
    return number < trace->scopes.count ? &trace->scopes.items[number] : NULL;
}

spad_status spad_trace_get_stats(spad_space_stats *out, const spad_trace *trace, size_t space,
                                 spad_error *error) {
    memset(out, 0, sizeof *out);
    const spad_status status = check_trace_space(trace, space, error);
    if (status == SPAD_OK) *out = trace->stats[space];
    return status;
}
