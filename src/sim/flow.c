/* SPDX-License-Identifier: Apache-2.0
 *
 * Kernels without synchronisation: one walk in program order, and for every operation
 * the largest of the times that it has to wait for:
 *   - the end of the operation before it on its engine;
 *   - the ends of those that write what it reads, and touch what it writes;
 *   - the end of the last one on an engine that shares a port, if both use that memory;
 *   - the start of the one SPAD_SIM_WINDOW before it.
 * Times are then maxima and sums of durations: with more slots some of these fall away,
 * so no operation can become later.
 *
 * Transfers are different. Each statement that uses a copy engine has a queue of its own;
 * queues share the engine. In program order, each transfer takes the first stretch of
 * time from its readiness on in which the engine is idle long enough. This is a list
 * schedule with its anomalies: relaxing a wait can, rarely, make others later (R. L.
 * Graham, Bounds on multiprocessing timing anomalies, 1969).
 *
 * O(1) per access for programs that touch few different parts of a tile.
 */
#include "sim/flow.h"

#include <string.h>

#include "base/assert.h"
#include "base/checked.h"
#include "kernel/kernel.h"

/* ---- one operation ----------------------------------------------------------------- */

/* The longest wait of an operation. */
typedef struct wait_for {
    int64_t time;
    spad__wait_kind kind;
    int64_t row;
    int64_t tensor;
    int64_t slot;
} wait_for;

static wait_for wait_without_tensor(int64_t time, spad__wait_kind kind, int64_t row) {
    return (wait_for){.time = time, .kind = kind, .row = row, .tensor = -1, .slot = -1};
}
typedef struct flow_step {
    spad__flow *flow;
    const spad__stream *stream;
    const spad_walk_access *access;
    const spad__bytes *bytes; /* of the access */
    wait_for latest;
    bool after_last; /* the one before it on its engine wrote some of these bytes, */
    int64_t newest;  /* and the newest that wrote all of them is this row; -1: none has */
    bool dependent;  /* reads what the one before it wrote */
} flow_step;

static void wait_for_touch(void *context, const spad__touch *touch) {
    flow_step *s = context;
    const bool reads = (s->access->kind & SPAD_ACCESS_READ) != 0;
    if (touch->writes && (s->access->kind & SPAD_ACCESS_WRITE) == 0) {
        if (touch->row == s->stream->last) s->after_last = true;
        if (touch->row > s->newest && spad__bytes_cover(&touch->bytes, s->bytes))
            s->newest = touch->row;
    }
    if (touch->end <= s->latest.time) return;
    const spad__wait_kind kind = !touch->writes ? SPAD__WAIT_READER
                                 : reads        ? SPAD__WAIT_DATA
                                                : SPAD__WAIT_WRITER;
    s->latest = (wait_for){.time = touch->end,
                           .kind = kind,
                           .row = touch->row,
                           .tensor = s->access->tensor,
                           .slot = s->access->slot};
}

static int64_t slot_of(const spad__flow *flow, const spad_walk_access *access) {
    spad__assert(access->home >= 0 && access->life >= 0);
    const int64_t tiles = flow->hoisted[access->home];
    if (tiles == 0) return access->slot;
    return access->slot * tiles + access->life % tiles;
}

/* A hoisted tensor has bytes of its own, wherever it is now. */
static size_t access_place(spad__flow *flow, const spad_walk_access *access) {
    spad_walk_access own = *access;
    if (flow->hoisted[access->home] > 0) own.placed = false;
    return spad__places_find(&flow->places, flow->sim->kernel, &own, slot_of(flow, access));
}

/* Nothing ever waits for bytes that are never written; those with an address may have another name.
 */
static bool matters(const spad__flow *flow, const spad_walk_access *access) {
    return access->placed || flow->is_written[access->home];
}

static bool wait_for_bytes(flow_step *s, const spad_walk_event *event) {
    for (size_t i = 0; i < event->access_count; i++) {
        const spad_walk_access *access = &event->accesses[i];
        if (!matters(s->flow, access)) continue;
        const size_t place = access_place(s->flow, access);
        if (place == SIZE_MAX) return false;
        const spad__bytes bytes = spad__bytes_of(access);
        s->access = access;
        s->bytes = &bytes;
        s->after_last = false;
        s->newest = -1;
        spad__places_visit(&s->flow->places, place, &bytes, (access->kind & SPAD_ACCESS_WRITE) != 0,
                           wait_for_touch, s);
        /* tensors that share bytes: what it reads may be of a later write by another engine */
        if (s->after_last && s->newest <= s->stream->last) s->dependent = true;
    }
    return true;
}

static bool uses_space(const spad_kernel *kernel, const spad_walk_event *event, size_t space) {
    for (size_t i = 0; i < event->access_count; i++) {
        const int64_t tensor = event->accesses[i].tensor;
        if (spad_kernel_get_tensor(kernel, (size_t)tensor)->space == space) return true;
    }
    return false;
}

static void wait_for_ports(flow_step *s, const spad_walk_event *event) {
    const spad_target *target = s->flow->sim->target;
    for (size_t i = 0; i < target->exclusion_count; i++) {
        const spad_exclusion *e = &target->exclusions[i];
        const bool is_a = (int64_t)e->engine_a == s->stream->engine;
        const bool is_b = (int64_t)e->engine_b == s->stream->engine;
        if (!(is_a || is_b) || !uses_space(s->flow->sim->kernel, event, e->space)) continue;
        const spad__port *other = &s->flow->ports[2 * i + is_a];
        if (other->end > s->latest.time) {
            s->latest = wait_without_tensor(other->end, SPAD__WAIT_PORT, other->row);
        }
    }
}

static void wait_for_window(flow_step *s) {
    spad__flow *flow = s->flow;
    const int64_t oldest = flow->operations - SPAD_SIM_WINDOW;
    if (oldest >= 0) {
        const int64_t start = flow->starts[oldest % SPAD_SIM_WINDOW];
        if (start > flow->floor) {
            flow->floor = start;
            flow->floor_row = (int64_t)flow->sim->rows.count - SPAD_SIM_WINDOW;
        }
    }
    if (flow->floor > s->latest.time) {
        s->latest = wait_without_tensor(flow->floor, SPAD__WAIT_WINDOW, flow->floor_row);
    }
}

/* ---- copy engines ------------------------------------------------------------------ */

/* Stretches are sorted, not empty, and do not touch: those that would are one. */
static bool calendar_is_valid(const spad__calendar *calendar) {
    for (size_t i = 0; i < calendar->count; i++) {
        const spad__taken *taken = &calendar->items[i];
        if (taken->start >= taken->end) return false;
        if (i > 0 && taken[-1].end >= taken->start) return false;
    }
    return spad__array_is_valid(calendar);
}
/* The first time from `from` on in which the engine is idle for `busy`; *at: in front of
 * which stretch of the calendar, *row: what it waited for, or -1. */
static int64_t find_room(const spad__calendar *calendar, int64_t from, int64_t busy, size_t *at,
                         int64_t *row, int64_t *steps) {
    spad__assert(busy >= 0);
    spad__assert_valid(calendar->count > SPAD__FEW || calendar_is_valid(calendar));
    size_t low = 0;
    size_t high = calendar->count;
    while (low < high) { /* the first that ends after `from` */
        const size_t middle = low + (high - low) / 2;
        if (calendar->items[middle].end <= from) {
            low = middle + 1;
        } else {
            high = middle;
        }
    }
    *row = -1;
    for (; low < calendar->count; low++, ++*steps) {
        const spad__taken *taken = &calendar->items[low];
        if (busy <= taken->start - from) break;
        from = taken->end;
        *row = taken->row;
    }
    spad__assert(low == calendar->count || busy <= calendar->items[low].start - from);
    spad__assert(low == 0 || calendar->items[low - 1].end <= from);
    *at = low;
    return from;
}

/* Takes it; stretches that touch become one, and those before the floor are forgotten. */
static bool take_room(spad__flow *flow, spad__calendar *calendar, size_t at, spad__taken taken) {
    spad__assert(at <= calendar->count && taken.start < taken.end);
    size_t old = 0;
    while (old < at && calendar->items[old].end <= flow->floor) old++;
    if (old > 0) {
        calendar->count -= old;
        at -= old;
        memmove(calendar->items, calendar->items + old, calendar->count * sizeof taken);
    }
    if (at > 0 && calendar->items[at - 1].end == taken.start) {
        taken.start = calendar->items[--at].start;
        calendar->items[at] = taken;
    } else {
        if (!spad__array_reserve(&flow->sim->host, calendar, 1)) return false;
        memmove(calendar->items + at + 1, calendar->items + at,
                (calendar->count - at) * sizeof taken);
        calendar->items[at] = taken;
        calendar->count++;
    }
    if (at + 1 < calendar->count && calendar->items[at + 1].start == taken.end) {
        calendar->items[at + 1].start = calendar->items[at].start;
        calendar->count--;
        memmove(calendar->items + at, calendar->items + at + 1,
                (calendar->count - at) * sizeof taken);
    }
    spad__assert_valid(calendar->count > SPAD__FEW || calendar_is_valid(calendar));
    return true;
}

/* ---- notes ------------------------------------------------------------------------- */

static bool note_bytes(spad__flow *flow, const spad_walk_event *event, int64_t end, int64_t row) {
    for (size_t i = 0; i < event->access_count; i++) {
        const spad_walk_access *access = &event->accesses[i];
        if (!matters(flow, access)) continue;
        const spad__touch touch = {.bytes = spad__bytes_of(access),
                                   .writes = (access->kind & SPAD_ACCESS_WRITE) != 0,
                                   .end = end,
                                   .row = row};
        const size_t place = access_place(flow, access);
        if (place == SIZE_MAX || !spad__places_touch(&flow->places, place, &touch, flow->floor)) {
            return false;
        }
    }
    return true;
}

static void note_ports(spad__flow *flow, const spad_walk_event *event, int64_t engine, int64_t end,
                       int64_t row) {
    const spad_target *target = flow->sim->target;
    for (size_t i = 0; i < target->exclusion_count; i++) {
        const spad_exclusion *e = &target->exclusions[i];
        const bool is_a = (int64_t)e->engine_a == engine;
        const bool is_b = (int64_t)e->engine_b == engine;
        if (!(is_a || is_b) || !uses_space(flow->sim->kernel, event, e->space)) continue;
        flow->ports[2 * i + is_b] = (spad__port){end, row};
    }
}

/* May something still wait for it? What ended before the floor is later than nothing. */
static bool keeps_touch(const void *context, const spad__touch *touch) {
    const spad__flow *flow = context;
    return touch->end >= flow->floor || spad__flow_is_last(flow, touch);
}

/* When it starts, and what for. *at: its place in the calendar of a copy engine. */
static bool find_start(flow_step *s, const spad__cost *cost, spad__sim_row *row, size_t *at) {
    const spad__stream *stream = s->stream;
    const bool copies = spad__is_copy_engine(&s->flow->sim->target->engines[stream->engine]);
    const int64_t base = stream->base;
    int64_t ready;
    if (!spad__add(s->latest.time, cost->startup, &ready)) return false;
    if (ready > base && s->latest.kind == SPAD__WAIT_NONE) s->latest.kind = SPAD__WAIT_STARTUP;
    if (base >= ready) {
        s->latest = wait_without_tensor(base, SPAD__WAIT_NONE, stream->last);
        ready = base;
    }
    row->start = ready;
    row->blocker = row->cause = s->latest.row;
    if (copies) {
        int64_t after;
        const size_t part = spad__sim_part(s->flow->sim, stream->engine, cost->path);
        row->start = find_room(&s->flow->calendars[part], ready, cost->busy, at, &after,
                               &s->flow->sim->steps);
        if (row->start > ready) row->blocker = after;
    }
    spad__assert(row->start >= ready &&
                 ready >= base); /* nothing starts before its engine is free */
    row->wait = ready - base;
    row->queued = row->start - ready;
    row->kind = s->latest.kind;
    row->tensor = s->latest.tensor;
    row->slot = s->latest.slot;
    return spad__add(row->start, cost->busy, &row->end) &&
           spad__add(row->end, cost->latency, &row->done);
}

static spad_status flow_operation(spad__flow *flow, const spad_walk_event *event,
                                  spad_error *error) {
    spad_sim *sim = flow->sim;
    spad__stream *stream = &flow->streams[flow->stream_of[event->statement]];
    spad__cost cost;
    spad_status status = spad__sim_cost(&cost, sim, event, error);
    if (status != SPAD_OK) return status;

    flow_step s = {
        .flow = flow, .stream = stream, .latest = wait_without_tensor(0, SPAD__WAIT_NONE, -1)};
    if (!spad__places_sweep(&flow->places, keeps_touch, flow) || !wait_for_bytes(&s, event)) {
        return spad__fail_host_memory(error);
    }
    wait_for_ports(&s, event);
    wait_for_window(&s);
    if (s.dependent && !spad__add(cost.busy, cost.dependent, &cost.busy)) {
        return spad__sim_fail_long(sim, event->statement, error);
    }
    size_t at = 0;
    int64_t values[SPAD__LOOPS_DEEP];
    spad__sim_row row = {.statement = event->statement,
                         .engine = stream->engine,
                         .object = -1,
                         .element = -1,
                         .path = cost.path,
                         .value_count = spad__sim_values(sim->kernel, event->statement,
                                                         spad_walk_get_values(flow->walk), values),
                         .values = values};
    if (!find_start(&s, &cost, &row, &at)) {
        return spad__sim_fail_long(sim, event->statement, error);
    }
    const int64_t number = (int64_t)sim->rows.count;
    status = spad__sim_add(sim, &row, &cost, error);
    if (status != SPAD_OK) return status;
    const bool copies = spad__is_copy_engine(&sim->target->engines[stream->engine]);
    const size_t part = spad__sim_part(sim, stream->engine, cost.path);
    if (!note_bytes(flow, event, row.done, number) ||
        (copies && cost.busy > 0 &&
         !take_room(flow, &flow->calendars[part], at, (spad__taken){row.start, row.end, number}))) {
        return spad__fail_host_memory(error);
    }
    note_ports(flow, event, stream->engine, row.end, number);
    spad__assert(row.end >= row.start && row.start >= stream->base && number > stream->last);
    stream->base = row.end;
    stream->last = number;
    flow->starts[flow->operations++ % SPAD_SIM_WINDOW] = row.start;
    return SPAD_OK;
}

/* ---- life -------------------------------------------------------------------------- */

static bool make_tables(spad__flow *flow) {
    const spad_kernel *k = flow->sim->kernel;
    const spad_host *host = &flow->sim->host;
    const spad_target *target = flow->sim->target;
    const size_t statements = spad_kernel_statement_count(k) + 1;
    const size_t tensors = spad_kernel_tensor_count(k) + 1;
    flow->stream_count = statements + target->engine_count;
    flow->streams = spad__new_array(host, flow->stream_count, sizeof *flow->streams);
    flow->stream_of = spad__new_array(host, statements, sizeof *flow->stream_of);
    flow->calendars = spad__new_array(host, flow->sim->part_count + 1, sizeof *flow->calendars);
    flow->ports = spad__new_array(host, 2 * target->exclusion_count + 1, sizeof *flow->ports);
    flow->is_written = spad__new_array(host, tensors, sizeof *flow->is_written);
    flow->hoisted = spad__new_array(host, tensors, sizeof *flow->hoisted);
    flow->lives = spad__new_array(host, tensors, sizeof *flow->lives);
    flow->loops = spad__new_array(host, spad_kernel_loop_count(k) + 1, sizeof *flow->loops);
    return flow->streams != NULL && flow->stream_of != NULL && flow->calendars != NULL &&
           flow->ports != NULL && flow->is_written != NULL && flow->hoisted != NULL &&
           flow->lives != NULL && flow->loops != NULL;
}

/* A stream per engine; a transfer has one per statement, after them. */
static void fill_tables(spad__flow *flow) {
    const spad_kernel *k = flow->sim->kernel;
    const spad_target *target = flow->sim->target;
    for (size_t i = 0; i < target->engine_count; i++) flow->streams[i].engine = (int64_t)i;
    for (size_t i = 0; i < spad_kernel_statement_count(k); i++) {
        const spad_statement *s = spad_kernel_get_statement(k, i);
        if (s->kind != SPAD_STATEMENT_OPERATION) continue;
        const bool copies = spad__is_copy_engine(&target->engines[s->engine]);
        flow->stream_of[i] = copies ? target->engine_count + i : (size_t)s->engine;
        flow->streams[flow->stream_of[i]].engine = s->engine;
    }
    for (size_t i = 0; i < flow->stream_count; i++) flow->streams[i].last = -1;
    for (size_t i = 0; i < spad__kernel_access_count(k); i++) {
        const spad_kernel_access *a = spad_kernel_get_access(k, i);
        const spad_kernel_tensor *t = spad_kernel_get_tensor(k, (size_t)a->tensor);
        if ((a->kind & SPAD_ACCESS_WRITE) != 0) flow->is_written[t->home] = true;
    }
}

static spad_status read_hoists(spad__flow *flow, spad_error *error) {
    const spad_sim_options *options = &flow->sim->options;
    for (size_t i = 0; i < options->hoist_count; i++) {
        const spad_define *hoist = &options->hoists[i];
        bool found = false;
        for (size_t t = 0; t < spad_kernel_tensor_count(flow->sim->kernel); t++) {
            const spad_kernel_tensor *tensor = spad_kernel_get_tensor(flow->sim->kernel, t);
            const spad_statement *s =
                spad_kernel_get_statement(flow->sim->kernel, tensor->statement);
            if (strcmp(tensor->name, hoist->name) != 0 || s->loop < 0 ||
                tensor->home != (int64_t)t) {
                continue;
            }
            found = true;
            flow->hoisted[t] = hoist->value;
        }
        if (!found || hoist->value < 1) {
            spad__fail(error, found ? SPAD_ERR_ARGUMENT : SPAD_ERR_UNKNOWN,
                       found ? "tensor '%s' cannot be hoisted to fewer than one tile"
                             : "no tensor '%s' is declared in a loop",
                       hoist->name);
            spad__fact_names(error, hoist->name, NULL);
            return found ? SPAD_ERR_ARGUMENT : SPAD_ERR_UNKNOWN;
        }
    }
    return SPAD_OK;
}

static void free_loops(spad__flow *flow) {
    const spad_host *host = &flow->sim->host;
    const size_t count = spad_kernel_loop_count(flow->sim->kernel);
    for (size_t i = 0; flow->loops != NULL && i < count; i++) {
        spad__loop_state *loop = &flow->loops[i];
        if (loop->studied) spad__period_free(&loop->period, host, flow->sim->kernel);
        spad__array_free(host, &loop->streams);
        spad__array_free(host, &loop->saved.bases);
        spad__array_free(host, &loop->saved.light);
        spad__array_free(host, &loop->saved.heavy);
        spad__array_free(host, &loop->saved.counts);
    }
    spad__free(host, flow->loops, (count + 1) * sizeof *flow->loops);
}

static void free_flow(spad__flow *flow) {
    const spad_host *host = &flow->sim->host;
    const spad_target *target = flow->sim->target;
    const size_t statements = spad_kernel_statement_count(flow->sim->kernel) + 1;
    const size_t tensors = spad_kernel_tensor_count(flow->sim->kernel) + 1;
    for (size_t i = 0; flow->calendars != NULL && i < flow->sim->part_count; i++) {
        spad__array_free(host, &flow->calendars[i]);
    }
    free_loops(flow);
    spad__places_free(&flow->places);
    spad__array_free(host, &flow->scratch);
    spad__free(host, flow->streams, flow->stream_count * sizeof *flow->streams);
    spad__free(host, flow->stream_of, statements * sizeof *flow->stream_of);
    spad__free(host, flow->calendars, (flow->sim->part_count + 1) * sizeof *flow->calendars);
    spad__free(host, flow->ports, (2 * target->exclusion_count + 1) * sizeof *flow->ports);
    spad__free(host, flow->is_written, tensors * sizeof *flow->is_written);
    spad__free(host, flow->hoisted, tensors * sizeof *flow->hoisted);
    spad__free(host, flow->lives, tensors * sizeof *flow->lives);
    spad_walk_destroy(flow->walk);
    spad__free(host, flow, sizeof *flow);
}

static spad_status run_flow(spad__flow *flow, spad_error *error) {
    const spad_walk_event *event;
    for (;;) {
        spad_status status = spad_walk_next(&event, flow->walk, error);
        if (status == SPAD_OK) status = spad__sim_count_event(flow->sim, error);
        if (status != SPAD_OK) return status;
        switch (event->kind) {
        case SPAD_WALK_END: return SPAD_OK;
        case SPAD_WALK_OPERATION: status = flow_operation(flow, event, error); break;
        case SPAD_WALK_TENSOR: flow->lives[event->tensor] = event->life; break;
        case SPAD_WALK_LOOP_BEGIN: spad__flow_enter(flow, event->loop); break;
        case SPAD_WALK_ITERATION: status = spad__flow_repeat(flow, event, error); break;
        default: break;
        }
        if (status != SPAD_OK) return status;
    }
}

spad_status spad__sim_implicit(spad_sim *sim, spad_error *error) {
    spad__flow *flow = spad__new(&sim->host, sizeof *flow);
    if (flow == NULL) return spad__fail_host_memory(error);
    flow->sim = sim;
    flow->floor_row = -1;
    flow->places.host = &sim->host;
    flow->places.steps = &sim->steps;
    flow->places.target = sim->target;
    const spad_walk_options options = {.layout = sim->options.layout, .host = &sim->host};
    spad_status status = spad_walk_create(&flow->walk, sim->kernel, &options, error);
    if (status == SPAD_OK && !make_tables(flow)) status = spad__fail_host_memory(error);
    if (status == SPAD_OK) {
        fill_tables(flow);
        status = read_hoists(flow, error);
    }
    if (status == SPAD_OK) status = run_flow(flow, error);
    free_flow(flow);
    return status;
}
