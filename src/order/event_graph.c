/* SPDX-License-Identifier: Apache-2.0
 *
 * Building the graph: one pass over the events of each agent with what the agent has
 * under way: a queue per unit, the bundles of each commit group. An edge goes to the
 * next point that needs it only; the rest follows.
 *
 * A unit orders what one agent gives to it. Two agents that share a unit are ordered
 * by synchronisation alone.
 */
#include "order/event_graph.h"

#include "base/assert.h"
#include "kernel/kernel.h"
#include "kernel/touched_bytes.h"
#include "order/agent_threads.h"

/* An access of an operation on a unit with the order `same`. */
typedef struct touch {
    int32_t access;
    int32_t start;
    int32_t older; /* next in the list of its storage; -1: none */
} touch;

/* The work that an agent has issued to a unit. Points; -1: none. */
typedef struct queue {
    int32_t last_start;
    int32_t last_done;
    int32_t last_queued;       /* that comes after all before it: a signal, arrival or drain */
    int32_t blocker;           /* a queued wait or drain: later work starts after it */
    int32_t queued_chain;      /* -1: not yet made */
    int32_t wait_chain;        /* of queued waits */
    int32_t start_chain;       /* FIFO: of starts; SERIAL: of all points */
    SPAD_ARRAY(int32_t) open;  /* DONE points since last_queued */
    SPAD_ARRAY(touch) touches; /* SAME */
    int32_t *writers;          /* SAME: newest touch by storage; -1 */
    int32_t *readers;
} queue;

/* The commit groups of an agent. */
typedef struct bundles {
    SPAD_ARRAY(int32_t) starts; /* of its operations */
    SPAD_ARRAY(size_t) ends;    /* of bundles, in `starts` */
    size_t read;                /* bundles that a wait has covered */
    size_t done;
} bundles;

typedef struct builder {
    spad__event_graph *graph;
    const spad_kernel *kernel;
    queue *queues;
    size_t units;
    bundles *groups; /* by object */
    size_t objects;
    int32_t chain; /* of the agent */
    int32_t last;  /* newest point of the agent; -1 */
    int32_t *chain_sizes;
    size_t chain_room;
    int32_t fork;
    bool non_elected; /* points of the non-elected threads, without actions */
    int64_t threads;  /* of the agent */
    bool failed;      /* no memory */
} builder;

/* ---- points, edges, actions -------------------------------------------------------- */

static int32_t new_chain(builder *b) {
    spad__event_graph *graph = b->graph;
    if ((size_t)graph->chains == b->chain_room) {
        size_t room = b->chain_room;
        if (!spad__array_grow(&graph->host, &b->chain_sizes, &room, b->chain_room, 8,
                              sizeof *b->chain_sizes)) {
            b->failed = true;
            return -1;
        }
        b->chain_room = room;
    }
    b->chain_sizes[graph->chains] = 0;
    return graph->chains++;
}

static void put_on_chain(builder *b, int32_t point, int32_t chain) {
    spad__assert(b->failed || (chain >= 0 && chain < b->graph->chains));
    spad__assert(b->failed ||
                 b->graph->points.items[point].chain < 0); /* a point is on one chain */
    if (b->failed) return;
    b->graph->points.items[point].chain = chain;
    b->graph->points.items[point].index = ++b->chain_sizes[chain];
}

static int32_t add_point(builder *b, spad__point_kind kind, int32_t event) {
    spad__event_graph *graph = b->graph;
    if (b->failed || !spad__array_reserve(&graph->host, &graph->points, 1)) {
        b->failed = true;
        return 0;
    }
    graph->points.items[graph->points.count] =
        (spad__point){.kind = kind,
                      .event = event,
                      .chain = -1,
                      .previous = -1,
                      .first_action = (int32_t)graph->actions.count};
    return (int32_t)graph->points.count++;
}

static void add_graph_edge(builder *b, int32_t from, int32_t to) {
    spad__event_graph *graph = b->graph;
    if (from < 0 || b->failed) return;
    if (!spad__array_reserve(&graph->host, &graph->edges, 1)) {
        b->failed = true;
        return;
    }
    spad__assert((size_t)from < graph->points.count && (size_t)to < graph->points.count &&
                 from != to);
    graph->edges.items[graph->edges.count++] = (spad__edge){from, to};
}

/* An action of the newest point. */
static void add_graph_action(builder *b, spad__action_kind kind, int32_t object, int64_t amount,
                             int64_t expect, unsigned flags) {
    spad__event_graph *graph = b->graph;
    if (b->failed || !spad__array_reserve(&graph->host, &graph->actions, 1)) {
        b->failed = true;
        return;
    }
    if (b->non_elected) return;
    const int32_t point = (int32_t)graph->points.count - 1;
    spad__assert(point >= 0);
    graph->points.items[point].action_count++;
    graph->actions.items[graph->actions.count++] = (spad__action){.kind = kind,
                                                                  .point = point,
                                                                  .object = object,
                                                                  .flags = flags,
                                                                  .amount = amount,
                                                                  .expect = expect};
}

/* The next point of the agent. */
static int32_t add_step(builder *b, spad__point_kind kind, int32_t event) {
    const int32_t point = add_point(b, kind, event);
    if (b->failed) return point;
    add_graph_edge(b, b->last, point);
    b->graph->points.items[point].previous = b->last;
    put_on_chain(b, point, b->chain);
    b->last = point;
    return point;
}

/* ---- queues ------------------------------------------------------------------------ */

/* A point of a queue that comes after all that was given to the unit before. */
static void close_queue(builder *b, queue *q, int32_t point) {
    add_graph_edge(b, q->last_queued, point);
    if (q->blocker != q->last_queued) add_graph_edge(b, q->blocker, point);
    for (size_t i = 0; i < q->open.count; i++) add_graph_edge(b, q->open.items[i], point);
    q->open.count = 0;
    q->last_queued = point;
}

static void put_in_queue(builder *b, queue *q, int32_t point) {
    if (q->queued_chain < 0) q->queued_chain = new_chain(b);
    close_queue(b, q, point);
    put_on_chain(b, point, q->queued_chain);
}

/* A queued wait: the queue reaches it when what is before it has started, or is done,
 * as the unit has it for operations. Those may still be running when it is over. */
static void put_wait_in_queue(builder *b, queue *q, spad_unit_order order, int32_t point) {
    if (q->wait_chain < 0) q->wait_chain = new_chain(b);
    add_graph_edge(b, q->blocker, point);
    if (order == SPAD_UNIT_FIFO) add_graph_edge(b, q->last_start, point);
    if (order == SPAD_UNIT_SERIAL) add_graph_edge(b, q->last_done, point);
    put_on_chain(b, point, q->wait_chain);
}

/* ---- the order `same` -------------------------------------------------------------- */

/* Edges from all older operations in a list that share bytes with the access. What it
 * covers is dropped from the list where it writes: the edge to it covers all. */
static void order_after(builder *b, queue *q, int32_t *list, int32_t access, int32_t start,
                        bool writes) {
    const spad_walk_access *accesses = b->graph->events->accesses.items;
    const spad__bytes bytes = spad__bytes_of(&accesses[access]);
    int32_t *link = list;
    while (*link >= 0) {
        touch *t = &q->touches.items[*link];
        spad__assert(t->older < *link); /* lists run from new to old, and so they end */
        const spad__bytes older = spad__bytes_of(&accesses[t->access]);
        const bool shares = t->start != start && spad__bytes_overlap(&older, &bytes);
        if (shares) add_graph_edge(b, t->start + 2, start);
        if (shares && writes && spad__bytes_cover(&bytes, &older)) {
            *link = t->older;
        } else {
            link = &t->older;
        }
    }
}

static void remember(builder *b, queue *q, int32_t *list, int32_t access, int32_t start) {
    if (!spad__array_reserve(&b->graph->host, &q->touches, 1)) {
        b->failed = true;
        return;
    }
    q->touches.items[q->touches.count] = (touch){access, start, *list};
    *list = (int32_t)q->touches.count++;
}

static int32_t *new_list(builder *b) {
    const size_t count = (size_t)b->graph->events->storages + 1;
    int32_t *list = spad__new_array(&b->graph->host, count, sizeof *list);
    for (size_t i = 0; list != NULL && i < count; i++) list[i] = -1;
    if (list == NULL) b->failed = true;
    return list;
}

static void order_same(builder *b, queue *q, const spad__event *event, int32_t start) {
    const spad__events *events = b->graph->events;
    if (q->writers == NULL) q->writers = new_list(b);
    if (q->readers == NULL) q->readers = new_list(b);
    for (size_t i = 0; i < event->access_count && !b->failed; i++) {
        const int32_t access = (int32_t)(event->first_access + i);
        const int32_t storage = events->storage[access];
        spad__assert(storage >= 0 && storage <= (int32_t)events->storages);
        const bool writes = (events->accesses.items[access].kind & SPAD_ACCESS_WRITE) != 0;
        order_after(b, q, &q->writers[storage], access, start, writes);
        if (writes) order_after(b, q, &q->readers[storage], access, start, true);
        remember(b, q, writes ? &q->writers[storage] : &q->readers[storage], access, start);
    }
}

/* ---- operations -------------------------------------------------------------------- */

static void add_completions(builder *b, const spad__event *event, bool reads, bool all) {
    for (size_t i = 0; i < event->completion_count; i++) {
        const spad__event_completion *c =
            &b->graph->events->completions.items[event->first_completion + i];
        if (!all && ((c->flags & SPAD_SYNC_READS) != 0) != reads) continue;
        add_graph_action(b, spad__sync_completion(c->kind), c->object, c->amount, 0, 0);
    }
}

static void order_on_unit(builder *b, queue *q, spad_unit_order order, int32_t start) {
    if (order == SPAD_UNIT_FIFO || order == SPAD_UNIT_SERIAL) {
        if (q->start_chain < 0) q->start_chain = new_chain(b);
        put_on_chain(b, start, q->start_chain);
    }
    if (order == SPAD_UNIT_FIFO) add_graph_edge(b, q->last_start, start);
    if (order == SPAD_UNIT_SERIAL) {
        add_graph_edge(b, q->last_done, start);
        put_on_chain(b, start + 1, q->start_chain);
        put_on_chain(b, start + 2, q->start_chain);
    }
    add_graph_edge(b, q->blocker, start);
    q->last_start = start;
    q->last_done = start + 2;
}

static void issue_operation(builder *b, const spad__event *event, int32_t number) {
    spad__event_graph *graph = b->graph;
    queue *q = &b->queues[event->unit];
    const spad_unit_order order = spad_kernel_get_unit(b->kernel, (size_t)event->unit)->order;
    const int32_t start = add_point(b, SPAD__POINT_START, number);
    const int32_t read = add_point(b, SPAD__POINT_READ, number);
    add_completions(b, event, true, false);
    const int32_t done = add_point(b, SPAD__POINT_DONE, number);
    add_completions(b, event, false, false);
    if (b->failed) return;
    spad__assert(read == start + 1 && done == start + 2); /* spad__event_graph_last counts on it */
    graph->start[number] = start;
    add_graph_edge(b, b->last, start);
    add_graph_edge(b, start, read);
    add_graph_edge(b, read, done);
    order_on_unit(b, q, order, start);
    if (order == SPAD_UNIT_SAME) order_same(b, q, event, start);
    if (b->failed || !spad__array_reserve(&graph->host, &q->open, 1)) {
        b->failed = true;
        return;
    }
    q->open.items[q->open.count++] = done;
    if (event->object < 0) return;
    bundles *group = &b->groups[event->object];
    if (!spad__array_reserve(&graph->host, &group->starts, 1)) {
        b->failed = true;
        return;
    }
    group->starts.items[group->starts.count++] = start;
}

/* ---- statements -------------------------------------------------------------------- */

static void wait_group(builder *b, const spad__event *event, int32_t point) {
    spad__assert(event->object >= 0 && (size_t)event->object < b->objects && event->amount >= 0);
    bundles *group = &b->groups[event->object];
    const bool reads = (event->flags & SPAD_SYNC_READS) != 0;
    const size_t upto = (size_t)spad__group_due((int64_t)group->ends.count, event->amount);
    size_t from = reads && group->read > group->done ? group->read : group->done;
    if (upto <= from) return;
    const size_t first = from > 0 ? group->ends.items[from - 1] : 0;
    spad__assert(upto <= group->ends.count && group->done <= group->ends.count);
    for (size_t i = first; i < group->ends.items[upto - 1]; i++) {
        add_graph_edge(b, group->starts.items[i] + (reads ? 1 : 2), point);
    }
    if (reads) {
        group->read = upto;
    } else {
        group->done = upto;
    }
}

static void commit_group(builder *b, const spad__event *event) {
    spad__assert(event->object >= 0 && (size_t)event->object < b->objects);
    bundles *group = &b->groups[event->object];
    if (!spad__array_reserve(&b->graph->host, &group->ends, 1)) {
        b->failed = true;
        return;
    }
    group->ends.items[group->ends.count++] = group->starts.count;
}

/* `drain UNIT` is queued on it; `drain all` holds the agent up as well. */
static void drain(builder *b, const spad__event *event, int32_t number) {
    if (event->unit >= 0) {
        queue *q = &b->queues[event->unit];
        const int32_t point = add_point(b, SPAD__POINT_QUEUED, number);
        add_graph_edge(b, b->last, point);
        put_in_queue(b, q, point);
        if (!b->failed) b->graph->start[number] = point;
        q->blocker = point;
        return;
    }
    const int32_t point = add_step(b, SPAD__POINT_RETURN, number);
    for (size_t i = 0; i < b->units; i++) close_queue(b, &b->queues[i], point);
}

static bool waits(spad_statement_kind kind) {
    return kind == SPAD_STATEMENT_WAIT_VALUE || kind == SPAD_STATEMENT_TAKE;
}

static spad__action_kind action_of(const spad__events *events, const spad__event *event,
                                   spad_statement_kind kind) {
    return spad__sync_action(kind, events->objects.items[event->object].kind);
}

/* A statement that is queued on a unit. One that waits has a point before it: the queue has
 * come to it. */
static void act_queued(builder *b, const spad__event *event, int32_t number,
                       spad_statement_kind kind) {
    spad__assert(event->unit >= 0 && (size_t)event->unit < b->units);
    queue *q = &b->queues[event->unit];
    const spad_unit_order order = spad_kernel_get_unit(b->kernel, (size_t)event->unit)->order;
    int32_t point = add_point(b, SPAD__POINT_QUEUED, number);
    add_graph_edge(b, b->last, point);
    if (waits(kind)) {
        const int32_t reached = point;
        put_wait_in_queue(b, q, order, reached);
        point = add_point(b, SPAD__POINT_QUEUED, number);
        add_graph_edge(b, reached, point);
        put_on_chain(b, point, q->wait_chain);
        if (!b->failed) b->graph->points.items[point].previous = reached;
        q->blocker = point;
    } else {
        put_in_queue(b, q, point);
    }
    add_graph_action(b, action_of(b->graph->events, event, kind), event->object, event->amount,
                     event->expect, event->flags);
    if (!b->failed) b->graph->start[number] = point;
}

/* A statement about a barrier, counter or mbarrier. */
static void act(builder *b, const spad__event *event, int32_t number, spad_statement_kind kind) {
    if (event->unit >= 0) {
        act_queued(b, event, number, kind);
        return;
    }
    const spad__action_kind action = action_of(b->graph->events, event, kind);
    add_graph_action(b, action, event->object, event->amount, event->expect, event->flags);
    if (kind != SPAD_STATEMENT_SYNC) return;
    add_step(b, SPAD__POINT_RETURN, number);
    add_graph_action(b, SPAD__ACTION_LEAVE, event->object, event->amount, 0, event->flags);
}

static void add_statement(builder *b, const spad__event *event, int32_t number, int32_t point) {
    const spad_statement *s = spad_kernel_get_statement(b->kernel, (size_t)event->statement);
    switch (s->kind) {
    case SPAD_STATEMENT_COMMIT: commit_group(b, event); break;
    case SPAD_STATEMENT_WAIT_GROUP: wait_group(b, event, point); break;
    case SPAD_STATEMENT_DRAIN: drain(b, event, number); break;
    case SPAD_STATEMENT_FENCE: break;
    default: act(b, event, number, s->kind); break;
    }
}

static void add_event(builder *b, int32_t number) {
    const spad__event *event = &b->graph->events->items.items[number];
    if (b->non_elected && !spad__non_elected_run(b->kernel, event, b->threads)) return;
    const int32_t point = add_step(b, SPAD__POINT_STEP, number);
    if (b->failed) return;
    b->graph->step[number] = point;
    b->graph->start[number] = -1;
    if (event->kind == SPAD_WALK_FORK) b->fork = point;
    if (event->kind == SPAD_WALK_SYNC) add_statement(b, event, number, point);
    if (event->kind != SPAD_WALK_OPERATION) return;
    if (event->unit >= 0) {
        issue_operation(b, event, number);
    } else {
        add_completions(b, event, false, true);
    }
}

/* ---- agents ------------------------------------------------------------------------ */

static void reset_agent(builder *b) {
    for (size_t i = 0; i < b->units; i++) {
        queue *q = &b->queues[i];
        q->last_start = q->last_done = q->last_queued = q->blocker = -1;
        q->queued_chain = q->wait_chain = q->start_chain = -1;
        q->open.count = q->touches.count = 0;
        const size_t lists = (size_t)b->graph->events->storages + 1;
        for (size_t j = 0; q->writers != NULL && j < lists; j++) q->writers[j] = -1;
        for (size_t j = 0; q->readers != NULL && j < lists; j++) q->readers[j] = -1;
    }
    for (size_t i = 0; i < b->objects; i++) {
        b->groups[i].starts.count = b->groups[i].ends.count = 0;
        b->groups[i].read = b->groups[i].done = 0;
    }
    b->chain = new_chain(b);
    b->last = -1;
}

static void add_agent(builder *b, size_t agent) {
    const spad__events *events = b->graph->events;
    reset_agent(b);
    b->threads = b->kernel->agents.items[agent].threads.value;
    const int32_t begin = add_step(b, SPAD__POINT_STEP, -1);
    if (agent > 0) add_graph_edge(b, b->fork, begin);
    for (size_t i = events->firsts.items[agent]; i < events->firsts.items[agent + 1]; i++) {
        add_event(b, (int32_t)i);
    }
    const int32_t end = add_step(b, SPAD__POINT_STEP, -1);
    if (b->non_elected) return;
    if (agent == 0) b->graph->end = end;
    for (size_t i = events->firsts.items[0]; agent > 0 && i < events->firsts.items[1]; i++) {
        if (events->items.items[i].kind == SPAD_WALK_JOIN)
            add_graph_edge(b, end, b->graph->step[i]);
    }
}

static void free_builder(builder *b) {
    const spad_host *host = &b->graph->host;
    const size_t lists = ((size_t)b->graph->events->storages + 1) * sizeof(int32_t);
    for (size_t i = 0; b->queues != NULL && i < b->units; i++) {
        spad__array_free(host, &b->queues[i].open);
        spad__array_free(host, &b->queues[i].touches);
        spad__free(host, b->queues[i].writers, lists);
        spad__free(host, b->queues[i].readers, lists);
    }
    for (size_t i = 0; b->groups != NULL && i < b->objects; i++) {
        spad__array_free(host, &b->groups[i].starts);
        spad__array_free(host, &b->groups[i].ends);
    }
    spad__free(host, b->queues, (b->units + 1) * sizeof *b->queues);
    spad__free(host, b->groups, (b->objects + 1) * sizeof *b->groups);
    spad__free(host, b->chain_sizes, b->chain_room * sizeof *b->chain_sizes);
}

static spad_status build_event_graph(spad__event_graph *graph, const spad__events *events,
                                     bool non_elected, spad_error *error) {
    const size_t count = events->items.count + 1;
    *graph = (spad__event_graph){.host = events->host, .events = events};
    builder b = {.graph = graph,
                 .kernel = events->kernel,
                 .units = spad_kernel_unit_count(events->kernel),
                 .objects = events->objects.count,
                 .fork = -1,
                 .non_elected = non_elected};
    graph->step = spad__new_array(&graph->host, count, sizeof *graph->step);
    graph->start = spad__new_array(&graph->host, count, sizeof *graph->start);
    b.queues = spad__new_array(&graph->host, b.units + 1, sizeof *b.queues);
    b.groups = spad__new_array(&graph->host, b.objects + 1, sizeof *b.groups);
    b.failed = graph->step == NULL || graph->start == NULL || b.queues == NULL || b.groups == NULL;
    for (size_t i = 0; non_elected && !b.failed && i < count; i++)
        graph->step[i] = graph->start[i] = -1;
    for (size_t i = 0; i < spad_kernel_agent_count(events->kernel) && !b.failed; i++) {
        if (!non_elected || spad__agent_elects(events->kernel, (int64_t)i)) add_agent(&b, i);
    }
    free_builder(&b);
    return b.failed ? spad__fail_host_memory(error) : SPAD_OK;
}

spad_status spad__event_graph_build(spad__event_graph *graph, const spad__events *events,
                                    spad_error *error) {
    return build_event_graph(graph, events, false, error);
}

spad_status spad__event_graph_build_non_elected(spad__event_graph *graph,
                                                const spad__events *events, spad_error *error) {
    return build_event_graph(graph, events, true, error);
}

void spad__event_graph_free(spad__event_graph *graph) {
    const size_t count = graph->events->items.count + 1;
    spad__free(&graph->host, graph->step, count * sizeof *graph->step);
    spad__free(&graph->host, graph->start, count * sizeof *graph->start);
    spad__array_free(&graph->host, &graph->points);
    spad__array_free(&graph->host, &graph->actions);
    spad__array_free(&graph->host, &graph->edges);
}

void spad__edges_link(const spad__edge *edges, size_t count, size_t points, int32_t *first,
                      int32_t *successors, int32_t *indegree) {
    for (size_t i = 0; i < count; i++) {
        first[edges[i].from + 1]++;
        indegree[edges[i].to]++;
    }
    for (size_t i = 0; i < points; i++) first[i + 1] += first[i];
    for (size_t i = count; i-- > 0;) { /* backwards: `first` moves to the starts */
        successors[--first[edges[i].from + 1]] = edges[i].to;
    }
    for (size_t i = 0; i < points; i++) first[i] = first[i + 1];
    first[points] = (int32_t)count;
}

int32_t spad__event_graph_first(const spad__event_graph *graph, int32_t event) {
    spad__assert(event >= 0 && (size_t)event < graph->events->items.count);
    return graph->start[event] >= 0 ? graph->start[event] : graph->step[event];
}

int32_t spad__event_graph_last(const spad__event_graph *graph, int32_t event, bool writes) {
    spad__assert(event >= 0 && (size_t)event < graph->events->items.count);
    if (graph->start[event] < 0) return graph->step[event];
    return graph->start[event] + (writes ? 2 : 1);
}
