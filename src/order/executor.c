/* SPDX-License-Identifier: Apache-2.0
 *
 * The executor. What an action does to its object is in order/sync.h; here is who waits where, and
 * which actions were wrong.
 *
 * Invariant: a point is missing predecessors, in the order, or parked at one object.
 */
#include "order/executor.h"

#include "base/assert.h"

/* ---- objects ----------------------------------------------------------------------- */

static bool add_sync_error(spad__executor *m, unsigned kind, int32_t action) {
    if (!spad__array_reserve(&m->graph->host, &m->errors, 1)) return false;
    m->errors.items[m->errors.count++] = (spad__sync_error){kind, action};
    return true;
}

static void make_ready(spad__executor *m, int32_t point) {
    spad__assert(m->missing[point] == 0); /* or it was parked, and so was ready before */
    m->queue[m->tail] = point;
    m->tail = (m->tail + 1) % m->room;
    spad__assert(m->tail !=
                 m->head); /* each point is in the ring once, and there is room for all */
}

/* All that wait at an object are examined again, in the order in which they came. */
static void wake(spad__executor *m, spad__object_state *object) {
    int32_t point = object->parked;
    object->parked = -1;
    while (point >= 0) {
        const int32_t next = m->next[point];
        make_ready(m, point);
        point = next;
    }
}

static void park(spad__executor *m, int32_t object, int32_t point) {
    int32_t *link = &m->objects[object].parked;
    while (*link >= 0) link = &m->next[*link];
    *link = point;
    m->next[point] = -1;
}

static int32_t agent_of(const spad__executor *m, int32_t action) {
    const int32_t event = m->graph->points.items[m->graph->actions.items[action].point].event;
    return m->graph->events->items.items[event].agent;
}

/* Has the agent of an action contributed to the open phase of a barrier before? Entries of a
 * phase are neighbours in the list that `expect` links: it has no other use for barriers. */
static bool entered_before(const spad__executor *m, const spad__object_state *object,
                           int32_t action) {
    for (int32_t a = object->last; a >= 0; a = (int32_t)m->graph->actions.items[a].expect) {
        if (agent_of(m, a) == agent_of(m, action)) return true;
    }
    return false;
}

/* An agent that has arrived may wait for the same phase with what it contributes then: the first
 * of two alternating warpgroups admits itself in that way. */
static bool waits_there(const spad__executor *m, int32_t action) {
    const int32_t event = m->graph->points.items[m->graph->actions.items[action].point].event;
    const int32_t statement = m->graph->events->items.items[event].statement;
    return spad_kernel_get_statement(m->graph->events->kernel, (size_t)statement)->kind ==
           SPAD_STATEMENT_SYNC;
}

/* An entry joins the list of its phase. False: no memory. */
static bool note_entry(spad__executor *m, spad__object_state *object, int32_t number) {
    const bool again = entered_before(m, object, number) && !waits_there(m, number);
    m->graph->actions.items[number].expect = object->last;
    object->last = number;
    return !again || add_sync_error(m, SPAD__SYNC_REENTRY, number);
}

static bool add_sync_errors(spad__executor *m, unsigned outcome, int32_t number) {
    static const unsigned errors[] = {SPAD__SYNC_NOT_LIVE, SPAD__SYNC_INIT_TWICE,
                                      SPAD__SYNC_SURPLUS, SPAD__SYNC_NO_ARRIVALS};
    for (size_t i = 0; i < sizeof errors / sizeof errors[0]; i++) {
        if ((outcome & errors[i]) != 0 && !add_sync_error(m, errors[i], number)) return false;
    }
    return true;
}

/* ---- points ------------------------------------------------------------------------ */

/* The change of sync.h; LEAVE waits for the phase of the entry in front of it. */
static spad__sync_change change_of(const spad__action *action) {
    return (spad__sync_change){.kind = action->kind,
                               .flags = action->flags,
                               .amount = action->amount,
                               .expect = action->expect,
                               .phase = action->kind == SPAD__ACTION_LEAVE ? action[-1].phase : 0};
}

static bool passes(const spad__executor *m, const spad__action *action) {
    const spad__sync_change change = change_of(action);
    return spad__sync_passes(&m->objects[action->object].sync, &change);
}

static bool perform(spad__executor *m, int32_t number) {
    spad__action *action = &m->graph->actions.items[number];
    spad__object_state *object = &m->objects[action->object];
    const bool enters = action->kind == SPAD__ACTION_ENTER;
    spad__sync_change change = change_of(action);
    if (enters && !note_entry(m, object, number)) return false;
    const unsigned outcome = spad__sync_apply(&object->sync, &change);
    action->phase = change.phase;
    if (action->kind == SPAD__ACTION_INVALIDATE) action->expect = object->sync.value;
    if (!add_sync_errors(m, outcome, number)) return false;
    if ((outcome & SPAD__SYNC_RELEASES) == 0) return true;
    if (enters) object->last = -1;
    wake(m, object);
    return true;
}

/* One ready point: it happens, or is parked. False: no memory. */
static bool step(spad__executor *m, int32_t point) {
    const spad__point *p = &m->graph->points.items[point];
    for (int32_t i = 0; i < p->action_count; i++) {
        const spad__action *action = &m->graph->actions.items[p->first_action + i];
        if (passes(m, action)) continue;
        park(m, action->object, point);
        return true;
    }
    spad__assert((size_t)m->happened < m->graph->points.count); /* a point happens once */
    m->order[m->happened++] = point;
    for (int32_t i = 0; i < p->action_count; i++) {
        if (!perform(m, p->first_action + i)) return false;
    }
    for (int32_t i = m->first[point]; i < m->first[point + 1]; i++) {
        const int32_t to = m->successors[i];
        spad__assert(m->missing[to] > 0);
        if (--m->missing[to] == 0) make_ready(m, to);
    }
    return true;
}

/* ---- create and free -------------------------------------------------------------- */

static bool allocate_executor_tables(spad__executor *m) {
    const spad__event_graph *graph = m->graph;
    const size_t points = graph->points.count + 1;
    m->first = spad__new_array(&graph->host, points, sizeof *m->first);
    m->successors = spad__new_array(&graph->host, graph->edges.count + 1, sizeof *m->successors);
    m->missing = spad__new_array(&graph->host, points, sizeof *m->missing);
    m->next = spad__new_array(&graph->host, points, sizeof *m->next);
    m->order = spad__new_array(&graph->host, points, sizeof *m->order);
    m->queue = spad__new_array(&graph->host, points, sizeof *m->queue);
    m->room = points;
    m->objects =
        spad__new_array(&graph->host, graph->events->objects.count + 1, sizeof *m->objects);
    return m->first != NULL && m->successors != NULL && m->missing != NULL && m->next != NULL &&
           m->order != NULL && m->queue != NULL && m->objects != NULL;
}

spad_status spad__executor_run(spad__executor *m, spad__event_graph *graph, spad_error *error) {
    *m = (spad__executor){.graph = graph};
    if (!allocate_executor_tables(m)) return spad__fail_host_memory(error);
    spad__edges_link(graph->edges.items, graph->edges.count, graph->points.count, m->first,
                     m->successors, m->missing);
    for (size_t i = 0; i < graph->events->objects.count; i++) {
        const spad__object *object = &graph->events->objects.items[i];
        m->objects[i] = (spad__object_state){
            .sync = spad__sync_initial(object->kind, object->count), .parked = -1, .last = -1};
    }
    for (size_t i = 0; i < graph->points.count; i++) {
        if (m->missing[i] == 0) make_ready(m, (int32_t)i);
    }
    while (m->head != m->tail) {
        const int32_t point = m->queue[m->head];
        m->head = (m->head + 1) % m->room;
        if (!step(m, point)) return spad__fail_host_memory(error);
    }
    return SPAD_OK;
}

void spad__executor_free(spad__executor *m) {
    const spad__event_graph *graph = m->graph;
    const size_t points = graph->points.count + 1;
    spad__free(&graph->host, m->first, points * sizeof *m->first);
    spad__free(&graph->host, m->successors, (graph->edges.count + 1) * sizeof *m->successors);
    spad__free(&graph->host, m->missing, points * sizeof *m->missing);
    spad__free(&graph->host, m->next, points * sizeof *m->next);
    spad__free(&graph->host, m->order, points * sizeof *m->order);
    spad__free(&graph->host, m->queue, points * sizeof *m->queue);
    spad__free(&graph->host, m->objects, (graph->events->objects.count + 1) * sizeof *m->objects);
    spad__array_free(&graph->host, &m->errors);
}
