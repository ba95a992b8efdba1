/* SPDX-License-Identifier: Apache-2.0
 *
 * The machine. Meaning of the primitives: barriers and mbarriers as in the PTX ISA
 * (bar, mbarrier: phase completion, transaction count, parity waits), counters as the
 * semaphores of Neuron and the flags of Ascend.
 *
 * Invariant: a point is missing predecessors, in the order, or parked at one object.
 */
#include "check/greedy.h"

#include "base/checked.h"

/* ---- objects ----------------------------------------------------------------------- */

static bool add_fault(spad__machine *m, spad__fault_kind kind, int32_t action) {
    if (!spad__array_reserve(&m->net->host, &m->faults, 1)) return false;
    m->faults.items[m->faults.count++] = (spad__fault){kind, action};
    return true;
}

static void make_ready(spad__machine *m, int32_t point) {
    m->queue[m->tail] = point;
    m->tail = (m->tail + 1) % m->room;
}

/* Sums of user numbers stay in range: a sum that large is never met by another. */
static void add_to(int64_t *sum, int64_t amount) {
    if (!spad__add(*sum, amount, sum)) *sum = amount < 0 ? INT64_MIN : INT64_MAX;
}

/* All that wait at an object are looked at again, in the order in which they came. */
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

static bool enter_barrier(spad__machine *m, int32_t number) {
    spad__action *action = &m->net->actions.items[number];
    spad__object_state *object = &m->objects[action->object];
    const int64_t count = m->net->events->objects.items[action->object].count;
    action->phase = object->phase + 1;
    if (entered_before(m, object, number) && !add_fault(m, SPAD__FAULT_REENTRY, number)) {
        return false;
    }
    action->expect = object->last;
    object->last = number;
    const bool surplus = action->amount > count - object->value;
    if (surplus && !add_fault(m, SPAD__FAULT_SURPLUS, number)) return false;
    object->value = surplus ? count : object->value + action->amount;
    if (object->value < count) return true;
    object->value = 0;
    object->last = -1;
    object->phase++;
    wake(m, object);
    return true;
}

static void try_complete(spad__machine *m, spad__object_state *object) {
    if (object->pending != 0 || object->bytes != 0 || object->expected == 0) return;
    object->phase++;
    object->pending = object->expected;
    wake(m, object);
}

static bool init_mbarrier(spad__machine *m, int32_t number) {
    const spad__action *action = &m->net->actions.items[number];
    spad__object_state *object = &m->objects[action->object];
    if (object->live && !add_fault(m, SPAD__FAULT_INIT_TWICE, number)) return false;
    object->live = true;
    object->base = object->phase;
    object->expected = object->pending = action->amount;
    object->bytes = 0;
    wake(m, object);
    return true;
}

/* Arrivals, expectations and deliveries. A broken barrier continues as well as it can. */
static bool change_mbarrier(spad__machine *m, int32_t number) {
    spad__action *action = &m->net->actions.items[number];
    spad__object_state *object = &m->objects[action->object];
    action->phase = object->phase + 1;
    if (!object->live && !add_fault(m, SPAD__FAULT_NOT_LIVE, number)) return false;
    if (action->kind == SPAD__ACTION_EXPECT) {
        add_to(&object->bytes, action->amount);
        return true;
    }
    if (action->kind == SPAD__ACTION_DELIVER) {
        add_to(&object->bytes, -action->amount);
    } else {
        add_to(&object->bytes, action->expect);
        const bool surplus = action->amount > object->pending;
        if (surplus && !add_fault(m, SPAD__FAULT_SURPLUS, number)) return false;
        object->pending = surplus ? 0 : object->pending - action->amount;
        if ((action->flags & SPAD_SYNC_DROP) != 0) {
            const bool none = action->amount >= object->expected;
            if (none && !add_fault(m, SPAD__FAULT_NO_ARRIVALS, number)) return false;
            object->expected = none ? 0 : object->expected - action->amount;
        }
    }
    try_complete(m, object);
    return true;
}

/* ---- points ------------------------------------------------------------------------ */

/* Does the object let a waiting action pass? Others always do. */
static bool passes(const spad__machine *m, const spad__action *action) {
    const spad__object_state *object = &m->objects[action->object];
    switch (action->kind) {
    case SPAD__ACTION_LEAVE: return object->phase >= action[-1].phase;
    case SPAD__ACTION_WAIT:
    case SPAD__ACTION_TAKE: return object->value - object->taken >= action->amount;
    case SPAD__ACTION_PARITY: return ((object->phase - object->base) & 1) != action->amount;
    default: return true;
    }
}

static bool perform(spad__machine *m, int32_t number) {
    spad__action *action = &m->net->actions.items[number];
    spad__object_state *object = &m->objects[action->object];
    switch (action->kind) {
    case SPAD__ACTION_ENTER: return enter_barrier(m, number);
    case SPAD__ACTION_LEAVE: action->phase = action[-1].phase; return true;
    case SPAD__ACTION_SIGNAL:
        add_to(&object->value, action->amount);
        wake(m, object);
        return true;
    case SPAD__ACTION_WAIT: action->phase = object->taken + action->amount; return true;
    case SPAD__ACTION_TAKE:
        add_to(&object->taken, action->amount);
        action->phase = object->taken;
        return true;
    case SPAD__ACTION_INIT: return init_mbarrier(m, number);
    case SPAD__ACTION_INVALIDATE: {
        const bool live = object->live;
        object->live = false;
        action->phase = object->phase + 1;
        action->expect = object->pending;
        return live || add_fault(m, SPAD__FAULT_NOT_LIVE, number);
    }
    case SPAD__ACTION_PARITY:
        action->phase = object->phase;
        return object->live || add_fault(m, SPAD__FAULT_NOT_LIVE, number);
    default: return change_mbarrier(m, number);
    }
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
    m->order[m->happened++] = point;
    for (int32_t i = 0; i < p->action_count; i++) {
        if (!perform(m, p->first_action + i)) return false;
    }
    for (int32_t i = m->first[point]; i < m->first[point + 1]; i++) {
        const int32_t to = m->successors[i];
        if (--m->missing[to] == 0) make_ready(m, to);
    }
    return true;
}

/* ---- life -------------------------------------------------------------------------- */

static bool take_tables(spad__machine *m) {
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

static void link_points(spad__machine *m) {
    const spad__net *net = m->net;
    for (size_t i = 0; i < net->edges.count; i++) {
        m->first[net->edges.items[i].from + 1]++;
        m->missing[net->edges.items[i].to]++;
    }
    for (size_t i = 0; i < net->points.count; i++) m->first[i + 1] += m->first[i];
    for (size_t i = net->edges.count; i-- > 0;) { /* backwards: `first` moves to the starts */
        const spad__edge edge = net->edges.items[i];
        m->successors[--m->first[edge.from + 1]] = edge.to;
    }
    for (size_t i = 0; i < net->points.count; i++) m->first[i] = m->first[i + 1];
    m->first[net->points.count] = (int32_t)net->edges.count;
}

spad_status spad__machine_run(spad__machine *m, spad__net *net, spad_error *error) {
    *m = (spad__machine){.net = net};
    if (!take_tables(m)) return spad__fail_host_memory(error);
    link_points(m);
    for (size_t i = 0; i < net->events->objects.count; i++) {
        const spad__object *object = &net->events->objects.items[i];
        m->objects[i].parked = m->objects[i].last = -1;
        if (object->kind == SPAD_SYNC_COUNTER) m->objects[i].value = object->count;
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
