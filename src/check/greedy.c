/* SPDX-License-Identifier: Apache-2.0
 *
 * The machine. What an action does to its object is in sync/sync.h; here is who waits where, and
 * which actions were wrong.
 *
 * Invariant: a point is missing predecessors, in the order, or parked at one object.
 */
#include "check/greedy.h"

#include "base/assert.h"

/* ---- objects ----------------------------------------------------------------------- */

static bool add_fault(spad__machine *m, unsigned kind, int32_t action) {
    if (!spad__array_reserve(&m->net->host, &m->faults, 1)) return false;
    m->faults.items[m->faults.count++] = (spad__fault){kind, action};
    return true;
}

static void make_ready(spad__machine *m, int32_t point) {
    spad__assert(m->missing[point] == 0); /* or it was parked, and so was ready before */
    m->queue[m->tail] = point;
    m->tail = (m->tail + 1) % m->room;
    spad__assert(m->tail !=
                 m->head); /* each point is in the ring once, and there is room for all */
}

/* All that wait at an object are examined again, in the order in which they came. */
static void wake(spad__machine *m, spad__object_state *object) {
    int32_t point = object->parked;
    object->parked = -1;
    while (point >= 0) {
        const int32_t next = m->next[point];
        make_ready(m, point);
        point = next;
    }
}

static void park(spad__machine *m, int32_t object, int32_t point) {
    int32_t *link = &m->objects[object].parked;
    while (*link >= 0) link = &m->next[*link];
    *link = point;
    m->next[point] = -1;
}

static int32_t agent_of(const spad__machine *m, int32_t action) {
    const int32_t event = m->net->points.items[m->net->actions.items[action].point].event;
    return m->net->events->items.items[event].agent;
}

/* Has the agent of an action contributed to the open phase of a barrier before? Entries of a
 * phase are neighbours in the list that `expect` links: it has no other use for barriers. */
static bool entered_before(const spad__machine *m, const spad__object_state *object,
                           int32_t action) {
    for (int32_t a = object->last; a >= 0; a = (int32_t)m->net->actions.items[a].expect) {
        if (agent_of(m, a) == agent_of(m, action)) return true;
    }
    return false;
}

/* An agent that has arrived may wait for the same phase with what it contributes then: the first
 * of two warpgroups that take turns lets itself in that way. */
static bool waits_there(const spad__machine *m, int32_t action) {
    const int32_t event = m->net->points.items[m->net->actions.items[action].point].event;
    const int32_t statement = m->net->events->items.items[event].statement;
    return spad_kernel_get_statement(m->net->events->kernel, (size_t)statement)->kind ==
           SPAD_STATEMENT_SYNC;
}

/* An entry joins the list of its phase. False: no memory. */
static bool note_entry(spad__machine *m, spad__object_state *object, int32_t number) {
    const bool again = entered_before(m, object, number) && !waits_there(m, number);
    m->net->actions.items[number].expect = object->last;
    object->last = number;
    return !again || add_fault(m, SPAD__FAULT_REENTRY, number);
}

static bool add_faults(spad__machine *m, unsigned outcome, int32_t number) {
    static const unsigned faults[] = {SPAD__SYNC_NOT_LIVE, SPAD__SYNC_INIT_TWICE,
                                      SPAD__SYNC_SURPLUS, SPAD__SYNC_NO_ARRIVALS};
    for (size_t i = 0; i < sizeof faults / sizeof faults[0]; i++) {
        if ((outcome & faults[i]) != 0 && !add_fault(m, faults[i], number)) return false;
    }
    return true;
}

/* ---- points ------------------------------------------------------------------------ */

/* As sync.h has it; the phase that LEAVE waits for is that of the entry in front of it. */
static spad__sync_change change_of(const spad__action *action) {
    return (spad__sync_change){.kind = action->kind,
                               .flags = action->flags,
                               .amount = action->amount,
                               .expect = action->expect,
                               .phase = action->kind == SPAD__ACTION_LEAVE ? action[-1].phase : 0};
}

static bool passes(const spad__machine *m, const spad__action *action) {
    const spad__sync_change change = change_of(action);
    return spad__sync_passes(&m->objects[action->object].sync, &change);
}

static bool perform(spad__machine *m, int32_t number) {
    spad__action *action = &m->net->actions.items[number];
    spad__object_state *object = &m->objects[action->object];
    const bool enters = action->kind == SPAD__ACTION_ENTER;
    spad__sync_change change = change_of(action);
    if (enters && !note_entry(m, object, number)) return false;
    const unsigned outcome = spad__sync_apply(&object->sync, &change);
    action->phase = change.phase;
    if (action->kind == SPAD__ACTION_INVALIDATE) action->expect = object->sync.value;
    if (!add_faults(m, outcome, number)) return false;
    if ((outcome & SPAD__SYNC_RELEASES) == 0) return true;
    if (enters) object->last = -1;
    wake(m, object);
    return true;
}

/* One ready point: it happens, or is parked. False: no memory. */
static bool step(spad__machine *m, int32_t point) {
    const spad__point *p = &m->net->points.items[point];
    for (int32_t i = 0; i < p->action_count; i++) {
        const spad__action *action = &m->net->actions.items[p->first_action + i];
        if (passes(m, action)) continue;
        park(m, action->object, point);
        return true;
    }
    spad__assert((size_t)m->happened < m->net->points.count); /* a point happens once */
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

/* ---- life -------------------------------------------------------------------------- */

static bool allocate_machine_tables(spad__machine *m) {
    const spad__net *net = m->net;
    const size_t points = net->points.count + 1;
    m->first = spad__new_array(&net->host, points, sizeof *m->first);
    m->successors = spad__new_array(&net->host, net->edges.count + 1, sizeof *m->successors);
    m->missing = spad__new_array(&net->host, points, sizeof *m->missing);
    m->next = spad__new_array(&net->host, points, sizeof *m->next);
    m->order = spad__new_array(&net->host, points, sizeof *m->order);
    m->queue = spad__new_array(&net->host, points, sizeof *m->queue);
    m->room = points;
    m->objects = spad__new_array(&net->host, net->events->objects.count + 1, sizeof *m->objects);
    return m->first != NULL && m->successors != NULL && m->missing != NULL && m->next != NULL &&
           m->order != NULL && m->queue != NULL && m->objects != NULL;
}

spad_status spad__machine_run(spad__machine *m, spad__net *net, spad_error *error) {
    *m = (spad__machine){.net = net};
    if (!allocate_machine_tables(m)) return spad__fail_host_memory(error);
    spad__edges_link(net->edges.items, net->edges.count, net->points.count, m->first, m->successors,
                     m->missing);
    for (size_t i = 0; i < net->events->objects.count; i++) {
        const spad__object *object = &net->events->objects.items[i];
        m->objects[i] = (spad__object_state){
            .sync = spad__sync_initial(object->kind, object->count), .parked = -1, .last = -1};
    }
    for (size_t i = 0; i < net->points.count; i++) {
        if (m->missing[i] == 0) make_ready(m, (int32_t)i);
    }
    while (m->head != m->tail) {
        const int32_t point = m->queue[m->head];
        m->head = (m->head + 1) % m->room;
        if (!step(m, point)) return spad__fail_host_memory(error);
    }
    return SPAD_OK;
}

void spad__machine_free(spad__machine *m) {
    const spad__net *net = m->net;
    const size_t points = net->points.count + 1;
    spad__free(&net->host, m->first, points * sizeof *m->first);
    spad__free(&net->host, m->successors, (net->edges.count + 1) * sizeof *m->successors);
    spad__free(&net->host, m->missing, points * sizeof *m->missing);
    spad__free(&net->host, m->next, points * sizeof *m->next);
    spad__free(&net->host, m->order, points * sizeof *m->order);
    spad__free(&net->host, m->queue, points * sizeof *m->queue);
    spad__free(&net->host, m->objects, (net->events->objects.count + 1) * sizeof *m->objects);
    spad__array_free(&net->host, &m->faults);
}
