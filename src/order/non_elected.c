/* SPDX-License-Identifier: Apache-2.0
 *
 * Adds the non-elected threads to happens-before. O(points + edges + agents x objects).
 */
#include "order/non_elected.h"

#include "kernel/kernel.h"
#include "order/agent_threads.h"

typedef struct adder {
    spad__happens_before *hb;
    const spad__event_graph *graph; /* of the elected threads */
    const spad__event_graph *non_elected;
    spad__known_phases phases;
    bool failed; /* no memory */
} adder;

bool spad__kernel_elects(const spad_kernel *kernel) {
    for (size_t i = 1; i < kernel->agents.count; i++) {
        if (spad__agent_elects(kernel, (int64_t)i)) return true;
    }
    return false;
}

bool spad__non_elected_share(const spad_kernel *kernel, int64_t tensor) {
    return kernel->target->spaces[kernel->tensors.items[tensor].space].thread_bytes == 0;
}

/* ---- edges ------------------------------------------------------------------------- */

static void add_order(adder *a, int32_t from, int32_t to) {
    if (from < 0 || to < 0 || a->failed) return;
    a->failed = !spad__happens_before_add_edge(a->hb, from, to);
}

/* The point in happens-before of a point of the non-elected graph. */
static int32_t others_point(const adder *a, int32_t point) {
    return a->hb->non_elected_base + point;
}

static bool carries(const adder *a, const spad__event *event) {
    return !a->hb->memory || (event->flags & SPAD_SYNC_RELAXED) == 0;
}

/* The phase point of the first action of a point; -1: a phase that never completes. */
static int32_t phase_at(const adder *a, int32_t point) {
    const spad__point *p = &a->graph->points.items[point];
    if (p->action_count == 0) return -1;
    const spad__action *action = &a->graph->actions.items[p->first_action];
    return spad__happens_before_phase(a->hb, action->object, action->phase);
}

/* The effects of an operation at a point come after the end of both parts. */
static void add_effects(adder *a, int32_t point, int32_t other) {
    const spad__point *p = &a->graph->points.items[point];
    for (int32_t i = p->first_action; i < p->first_action + p->action_count; i++) {
        const spad__action *action = &a->graph->actions.items[i];
        if (action->kind == SPAD__ACTION_SIGNAL) continue;
        add_order(a, others_point(a, other),
                  spad__happens_before_phase(a->hb, action->object, action->phase));
    }
}

static void add_ends_of(adder *a, int32_t number) {
    const int32_t start = a->non_elected->start[number];
    if (start < 0) {
        add_effects(a, a->graph->step[number], a->non_elected->step[number]);
        return;
    }
    for (int32_t i = 1; i <= 2; i++) add_effects(a, a->graph->start[number] + i, start + i);
}

static void add_sync(adder *a, const spad__event *event, int32_t number) {
    const int32_t step = a->non_elected->step[number];
    const int32_t queued = a->non_elected->start[number];
    switch (a->graph->events->kernel->statements.items[event->statement].kind) {
    case SPAD_STATEMENT_SYNC:
        add_order(a, others_point(a, step), phase_at(a, a->graph->step[number]));
        add_order(a, phase_at(a, a->graph->step[number]), others_point(a, step + 1));
        break;
    case SPAD_STATEMENT_ARRIVE:
        if (!carries(a, event)) break;
        add_order(a, others_point(a, queued >= 0 ? queued : step),
                  phase_at(a, queued >= 0 ? a->graph->start[number] : a->graph->step[number]));
        break;
    default: break;
    }
}

/* The events of an agent. */
static void add_events(adder *a, size_t agent) {
    const spad__events *events = a->graph->events;
    const int64_t threads = events->kernel->agents.items[agent].threads.value;
    spad__phases_begin(&a->phases, a->graph);
    for (size_t i = events->firsts.items[agent]; i < events->firsts.items[agent + 1]; i++) {
        const spad__event *event = &events->items.items[i];
        int64_t phase;
        const bool exact = spad__phases_see(&a->phases, a->graph, event, threads, &phase);
        if (a->non_elected->step[i] < 0) continue;
        if (event->kind == SPAD_WALK_OPERATION) add_ends_of(a, (int32_t)i);
        if (event->kind == SPAD_WALK_SYNC) add_sync(a, event, (int32_t)i);
        if (exact && carries(a, event)) {
            add_order(a, spad__happens_before_phase(a->hb, event->object, phase),
                      others_point(a, a->non_elected->step[i]));
        }
    }
}

/* ---- begin and end, operations of all ---------------------------------------------- */

/* The points without an event: agents begin at the fork and end before the join. */
static void add_ends(adder *a) {
    const spad__events *events = a->graph->events;
    for (size_t i = events->firsts.items[0]; i < events->firsts.items[1]; i++) {
        const spad_walk_kind kind = events->items.items[i].kind;
        for (size_t p = 0; p < a->non_elected->points.count; p++) {
            const spad__point *point = &a->non_elected->points.items[p];
            if (point->event >= 0) continue;
            const bool first = point->index == 1;
            if (kind == SPAD_WALK_FORK && first)
                add_order(a, a->graph->step[i], others_point(a, (int32_t)p));
            if (kind == SPAD_WALK_JOIN && !first)
                add_order(a, others_point(a, (int32_t)p), a->graph->step[i]);
        }
    }
}

/* Is a point an end of an operation that is one of all threads? The same point of the other part,
 * else -1. */
static int32_t other_end(const adder *a, const spad__event_graph *graph,
                         const spad__event_graph *other, int32_t point) {
    const spad__point *p = &graph->points.items[point];
    if (p->kind != SPAD__POINT_READ && p->kind != SPAD__POINT_DONE) return -1;
    const spad__event *event = &a->graph->events->items.items[p->event];
    const spad_kernel *kernel = a->graph->events->kernel;
    if (kernel->units.items[event->unit].order != SPAD_UNIT_SAME) return -1;
    if (other->start[p->event] < 0) return -1;
    return other->start[p->event] + (p->kind == SPAD__POINT_DONE ? 2 : 1);
}

static void share_ends(adder *a) {
    for (size_t i = 0; i < a->graph->edges.count; i++) {
        const spad__edge e = a->graph->edges.items[i];
        if (e.to == e.from + 1 && a->graph->points.items[e.to].kind == SPAD__POINT_DONE) continue;
        const int32_t other = other_end(a, a->graph, a->non_elected, e.from);
        if (other >= 0) add_order(a, others_point(a, other), e.to);
    }
    for (size_t i = 0; i < a->non_elected->edges.count; i++) {
        const spad__edge e = a->non_elected->edges.items[i];
        if (e.to == e.from + 1 && a->non_elected->points.items[e.to].kind == SPAD__POINT_DONE)
            continue;
        add_order(a, other_end(a, a->non_elected, a->graph, e.from), others_point(a, e.to));
    }
}

/* ---- all together ------------------------------------------------------------------ */

bool spad__non_elected_add(spad__happens_before *m, const spad__event_graph *non_elected) {
    adder a = {.hb = m, .graph = m->graph, .non_elected = non_elected};
    m->non_elected = non_elected;
    m->non_elected_base = m->points;
    m->points += (int32_t)non_elected->points.count;
    for (size_t i = 0; i < non_elected->edges.count; i++) {
        const spad__edge e = non_elected->edges.items[i];
        add_order(&a, others_point(&a, e.from), others_point(&a, e.to));
    }
    a.failed = a.failed || !spad__phases_init(&a.phases, a.graph);
    for (size_t agent = 1; agent + 1 < a.graph->events->firsts.count && !a.failed; agent++) {
        if (spad__agent_elects(a.graph->events->kernel, (int64_t)agent)) add_events(&a, agent);
    }
    add_ends(&a);
    share_ends(&a);
    spad__phases_free(&a.phases, a.graph);
    return !a.failed;
}

/* ---- pairs ------------------------------------------------------------------------- */

/* Points where an access of the non-elected threads begins, and ends; -1: they do not run it. */
static int32_t first_of_others(const spad__happens_before *m, int32_t event) {
    if (m->non_elected->step[event] < 0) return -1;
    return m->non_elected_base + spad__event_graph_first(m->non_elected, event);
}

static int32_t last_of_others(const spad__happens_before *m, int32_t event, bool writes) {
    if (m->non_elected->step[event] < 0) return -1;
    return m->non_elected_base + spad__event_graph_last(m->non_elected, event, writes);
}

spad_status spad__non_elected_ordered(spad__happens_before *m, int32_t x, bool writes, int32_t y,
                                      bool *ordered, spad_error *error) {
    *ordered = true;
    if (m->non_elected == NULL) return SPAD_OK;
    const spad__event *events = m->graph->events->items.items;
    const int32_t from[2] = {spad__event_graph_last(m->graph, x, writes),
                             last_of_others(m, x, writes)};
    const int32_t to[2] = {spad__event_graph_first(m->graph, y), first_of_others(m, y)};
    const bool by_thread = events[x].agent == events[y].agent && from[1] >= 0 && to[1] >= 0;
    spad_status status = SPAD_OK;
    for (int i = 1; i < 4 && *ordered && status == SPAD_OK; i++) { /* 0: the elected threads */
        const int32_t e = from[i % 2];
        const int32_t f = to[i / 2];
        if (e < 0 || f < 0 || (by_thread && i != 3)) continue;
        status = spad__ordered_before(m, e, f, ordered, error);
    }
    return status;
}

spad_status spad__non_elected_over(spad__happens_before *m, int32_t x, bool writes, int32_t y,
                                   bool *over, spad_error *error) {
    const int32_t end = last_of_others(m, x, writes);
    *over = true;
    if (end < 0) return SPAD_OK;
    return spad__ordered_before(m, end, spad__event_graph_first(m->graph, y), over, error);
}
