/* SPDX-License-Identifier: Apache-2.0
 *
 * From walks to points: what may happen in a kernel, and what always comes before it.
 *
 * Orders that hold without looking at a state: the list of an agent; an operation starts after
 * its issue and as its unit says, reads are over after the start and writes after the reads;
 * a queued statement comes after all that its agent put on that unit before, and later
 * operations on it start after a queued wait, take or drain; a group wait comes after
 * the ends of the operations in its bundles; agents between fork and join.
 */
#include <stdio.h>
#include <string.h>

#include "kernel/walk/walk.h"
#include "support/executor_model.h"

static void put_order(executor *e, int before, int after) {
    PUSH(&e->orders, (order){before, after});
}

static int new_point(executor *e, action what, int agent, int64_t statement) {
    PUSH(&e->points, (point){.action = what,
                             .agent = agent,
                             .list = (int)e->agent_points.count - 1,
                             .op = -1,
                             .object = -1,
                             .statement = statement,
                             .unit = -1,
                             .fence = -1,
                             .first = -1,
                             .threads = -1});
    return (int)e->points.count - 1;
}

/* The next point in the list of an agent. */
static int next_point(executor *e, action what, int agent, int64_t statement, int *last) {
    const int p = new_point(e, what, agent, statement);
    e->points.items[p].listed = true;
    if (*last >= 0) put_order(e, *last, p);
    for (size_t i = 0; i < e->loose.count; i++) put_order(e, e->loose.items[i], p);
    e->loose.count = 0;
    *last = p;
    return p;
}

/* ---- operations -------------------------------------------------------------------- */

static int value_of(const executor *e, int64_t object, int64_t element) {
    static const int sizes[SPAD_SYNC_KINDS] = {[SPAD_SYNC_BARRIER] = BARRIER_VALUES,
                                               [SPAD_SYNC_COUNTER] = 1,
                                               [SPAD_SYNC_MBARRIER] = MBARRIER_VALUES};
    const spad_kernel_sync *sync = spad_kernel_get_sync(e->kernel, (size_t)object);
    return e->object_base[object] + (int)element * sizes[sync->kind];
}

/* Keeps what the event carries. Returns whether another agent can see that reads are over. */
static bool keep_event(executor *e, op *o, const spad_walk_event *event) {
    bool reads_seen = o->group >= 0 && e->waits_for_reads[o->group];
    o->first_access = e->accesses.count;
    o->access_count = event->access_count;
    for (size_t i = 0; i < event->access_count; i++) {
        const spad_walk_access *a = &event->accesses[i];
        PUSH(&e->accesses,
             (access){.walk = *a,
                      .op = (int)e->ops.count,
                      .home_life = a->home == a->tensor ? a->life : e->lives[a->home]});
    }
    o->first_completion = e->completions.count;
    o->completion_count = event->completion_count;
    for (size_t i = 0; i < event->completion_count; i++) {
        const spad_walk_completion *c = &event->completions[i];
        if ((c->flags & SPAD_SYNC_READS) != 0) reads_seen = true;
        PUSH(&e->completions, (completion){*c, value_of(e, c->object, c->element)});
    }
    return reads_seen;
}

static bool touch(const spad_walk_access *a, const spad_walk_access *b) {
    const bool same_place = a->placed ? b->placed : !b->placed && a->home == b->home;
    if (!same_place || (!a->placed && a->slot != b->slot)) return false;
    for (int64_t i = 0; i < a->runs; i++) {
        spad_rect left = a->rect;
        left.byte += i * a->stride;
        for (int64_t j = 0; j < b->runs; j++) {
            spad_rect right = b->rect;
            right.byte += j * b->stride;
            if (spad_rect_overlaps(left, right)) return true;
        }
    }
    return false;
}

static bool same_space(const executor *e, const spad_walk_access *a, const spad_walk_access *b) {
    return spad_kernel_get_tensor(e->kernel, (size_t)a->tensor)->space ==
           spad_kernel_get_tensor(e->kernel, (size_t)b->tensor)->space;
}

static bool ops_touch(const executor *e, const op *p, const op *q) {
    for (size_t i = 0; i < p->access_count; i++) {
        const spad_walk_access *a = &e->accesses.items[p->first_access + i].walk;
        for (size_t j = 0; j < q->access_count; j++) {
            const spad_walk_access *b = &e->accesses.items[q->first_access + j].walk;
            if (((a->kind | b->kind) & SPAD_ACCESS_WRITE) != 0 && same_space(e, a, b) &&
                touch(a, b)) {
                return true;
            }
        }
    }
    return false;
}

/* What the unit says about an operation and those its agent gave it before. */
static void order_on_unit(executor *e, const op *o) {
    const spad_unit_order kind = spad_kernel_get_unit(e->kernel, (size_t)o->unit)->order;
    for (size_t i = 0; i < e->queue.count; i++) {
        const queued *q = &e->queue.items[i];
        if (q->unit >= 0 && q->unit != o->unit) continue;
        if (q->op < 0) {
            if (q->blocks) put_order(e, q->point, o->start);
            continue;
        }
        const op *before = &e->ops.items[q->op];
        if (kind == SPAD_UNIT_FIFO) put_order(e, before->start, o->start);
        if (kind == SPAD_UNIT_SERIAL || (kind == SPAD_UNIT_SAME && ops_touch(e, before, o))) {
            put_order(e, before->write_end, o->start);
        }
    }
}

static int new_op_point(executor *e, action what, const op *o, int before, unsigned ends) {
    const int p = new_point(e, what, o->agent, o->statement);
    e->points.items[p].op = (int)e->ops.count;
    e->points.items[p].ends = ends;
    put_order(e, before, p);
    return p;
}

static void collect_issued(executor *e, op *o, int issue, bool reads_seen) {
    o->proxy = spad_kernel_get_unit(e->kernel, (size_t)o->unit)->proxy;
    o->fence = spad_kernel_get_unit(e->kernel, (size_t)o->unit)->fence;
    o->start = new_op_point(e, ACTION_START, o, issue, 0);
    order_on_unit(e, o);
    if (reads_seen) {
        o->read_end = new_op_point(e, ACTION_END, o, o->start, SPAD_ACCESS_READ);
        o->write_end = new_op_point(e, ACTION_END, o, o->read_end, SPAD_ACCESS_WRITE);
    } else {
        o->write_end = new_op_point(e, ACTION_END, o, o->start, SPAD_ACCESS_UPDATE);
        o->read_end = o->write_end;
    }
    PUSH(&e->queue, (queued){o->unit, (int)e->ops.count, -1, false});
}

static void collect_operation(executor *e, const spad_walk_event *event, int agent, int *last) {
    const spad_statement *s = spad_kernel_get_statement(e->kernel, (size_t)event->statement);
    op o = {.agent = agent,
            .statement = event->statement,
            .unit = s->unit,
            .fence = -1,
            .one = (s->flags & SPAD_BY_ONE) != 0,
            .life = SPAD_WALK_OPERATION,
            .group = s->group,
            .bundle = -1};
    const bool reads_seen = keep_event(e, &o, event);
    const int p =
        next_point(e, o.unit < 0 ? ACTION_START : ACTION_NONE, agent, event->statement, last);
    if (o.unit < 0) {
        e->points.items[p].op = (int)e->ops.count;
        o.start = o.read_end = o.write_end = p;
    } else {
        collect_issued(e, &o, p, reads_seen);
    }
    PUSH(&e->ops, o);
}

/* ALLOC and FREE; cover_lives says what they touch. */
static void collect_life(executor *e, const spad_walk_event *event, int agent, int *last) {
    const spad_mode mode = spad_kernel_get_tensor(e->kernel, (size_t)event->tensor)->mode;
    if (mode == SPAD_MODE_STACK || mode == SPAD_MODE_HEAP) return; /* accesses know it */
    const int p = next_point(e, ACTION_START, agent, event->statement, last);
    e->points.items[p].op = (int)e->ops.count;
    const op o = {.agent = agent,
                  .statement = event->statement,
                  .unit = -1,
                  .fence = -1,
                  .life = event->kind,
                  .life_tensor = event->tensor,
                  .life_tile = event->tile,
                  .start = p,
                  .read_end = p,
                  .write_end = p,
                  .group = -1,
                  .bundle = -1};
    PUSH(&e->ops, o);
}

/* ALLOC and FREE write the whole of all tiles that are touched anywhere, under any name. */
static void cover_life(executor *e, int number, size_t accesses) {
    op *o = &e->ops.items[number];
    o->first_access = e->accesses.count;
    for (size_t i = e->given; i < accesses; i++) {
        access a = e->accesses.items[i];
        if (a.walk.tensor != o->life_tensor && a.walk.home != o->life_tensor) continue;
        if (o->life_tile >= 0 && o->life_tile != a.walk.tile) continue;
        a.op = number;
        a.walk.kind = SPAD_ACCESS_WRITE;
        a.walk.rect = a.walk.tile_rect;
        a.walk.runs = 1;
        a.walk.stride = 0;
        PUSH(&e->accesses, a);
        o->access_count++;
    }
    /* its place is not known here, and it may be that of others */
    if (o->access_count == 0 && e->options->layout != NULL) e->result.unmodelled = true;
}

static void cover_lives(executor *e) {
    const size_t accesses = e->accesses.count;
    for (size_t i = 0; i < e->ops.count; i++) {
        if (e->ops.items[i].life != SPAD_WALK_OPERATION) cover_life(e, (int)i, accesses);
    }
}

/* ---- synchronisation --------------------------------------------------------------- */

static void collect_commit(executor *e, int64_t group, int agent, bool others, int64_t bundle) {
    for (size_t i = 0; i < e->ops.count; i++) {
        op *o = &e->ops.items[i];
        if (o->agent != agent || o->others != others || o->group != group) continue;
        if (o->bundle < 0) o->bundle = bundle;
    }
}

static void collect_group_wait(executor *e, const spad_walk_event *event, int agent, bool others,
                               int64_t bundles) {
    const spad_statement *s = spad_kernel_get_statement(e->kernel, (size_t)event->statement);
    const bool reads = (s->flags & SPAD_SYNC_READS) != 0;
    for (size_t i = 0; i < e->ops.count; i++) {
        const op *o = &e->ops.items[i];
        if (o->agent != agent || o->others != others || o->group != event->object) continue;
        if (o->bundle < 0) continue;
        if (o->bundle < bundles - event->amount) {
            PUSH(&e->loose, reads ? o->read_end : o->write_end);
        }
    }
}

static action action_of(spad_statement_kind kind, bool barrier) {
    switch (kind) {
    case SPAD_STATEMENT_SYNC: return ACTION_CONTRIBUTE;
    case SPAD_STATEMENT_ARRIVE: return barrier ? ACTION_CONTRIBUTE : ACTION_ARRIVE;
    case SPAD_STATEMENT_SIGNAL: return ACTION_SIGNAL;
    case SPAD_STATEMENT_WAIT_VALUE: return ACTION_WAIT;
    case SPAD_STATEMENT_TAKE: return ACTION_TAKE;
    case SPAD_STATEMENT_INIT: return ACTION_INIT;
    case SPAD_STATEMENT_EXPECT: return ACTION_EXPECT;
    case SPAD_STATEMENT_WAIT_PARITY: return ACTION_PARITY;
    case SPAD_STATEMENT_INVALIDATE: return ACTION_INVALIDATE;
    case SPAD_STATEMENT_FENCE: return ACTION_FENCE;
    default: return ACTION_NONE;
    }
}

/* Notes who takes from a counter: an agent, or one of its queues. */
static void note_taker(executor *e, const point *p, int64_t unit) {
    const int who = 1 + p->agent * 1000 + (int)unit + 1;
    if (e->taker[p->object] != 0 && e->taker[p->object] != who) e->result.takers = true;
    e->taker[p->object] = e->result.takers ? SEVERAL : who;
}

static void fill_point(executor *e, int number, const spad_walk_event *event) {
    const spad_statement *s = spad_kernel_get_statement(e->kernel, (size_t)event->statement);
    point *p = &e->points.items[number];
    p->amount = event->amount;
    p->expect = event->expect;
    p->drop = (s->flags & SPAD_SYNC_DROP) != 0;
    p->unit = s->unit;
    p->fence = s->fence;
    p->when = s->flags & (SPAD_FENCE_BEFORE | SPAD_FENCE_AFTER);
    if ((s->flags & SPAD_SYNC_RELAXED) != 0) e->result.unmodelled = true;
    if (event->object >= 0) p->object = value_of(e, event->object, event->element);
    if (p->action == ACTION_TAKE) note_taker(e, p, s->unit);
}

/* What stands before a queued wait: other waits and drains, and operations as far as the unit
 * has an order for them. What is queued to happen later does not hold it up. */
static void order_wait(executor *e, int64_t unit, const queued *before, int wait) {
    const spad_unit_order kind = spad_kernel_get_unit(e->kernel, (size_t)unit)->order;
    if (before->op < 0) {
        if (before->blocks) put_order(e, before->point, wait);
        return;
    }
    const op *o = &e->ops.items[before->op];
    if (kind == SPAD_UNIT_FIFO) put_order(e, o->start, wait);
    if (kind == SPAD_UNIT_SERIAL) put_order(e, o->write_end, wait);
}

/* unit -1: all units. */
static void collect_queued(executor *e, const spad_walk_event *event, int agent, int *last,
                           int64_t unit, action what) {
    const int issue = next_point(e, ACTION_NONE, agent, event->statement, last);
    const int p = new_point(e, what, agent, event->statement);
    put_order(e, issue, p);
    const bool waits = what == ACTION_WAIT || what == ACTION_TAKE;
    for (size_t i = 0; i < e->queue.count; i++) {
        const queued *q = &e->queue.items[i];
        if (unit >= 0 && q->unit >= 0 && q->unit != unit) continue;
        if (waits) {
            order_wait(e, unit, q, p);
        } else {
            put_order(e, q->op >= 0 ? e->ops.items[q->op].write_end : q->point, p);
        }
    }
    if (what != ACTION_NONE) fill_point(e, p, event);
    const bool blocks = what == ACTION_NONE || waits;
    PUSH(&e->queue, (queued){unit, -1, p, blocks});
    if (unit < 0) PUSH(&e->loose, p); /* `drain all` holds the agent up as well */
}

static void collect_sync(executor *e, const spad_walk_event *event, int agent, int *last,
                         int64_t *bundles) {
    const spad_statement *s = spad_kernel_get_statement(e->kernel, (size_t)event->statement);
    switch (s->kind) {
    case SPAD_STATEMENT_COMMIT:
        collect_commit(e, event->object, agent, false, bundles[event->object]++);
        return;
    case SPAD_STATEMENT_WAIT_GROUP:
        collect_group_wait(e, event, agent, false, bundles[event->object]);
        return;
    case SPAD_STATEMENT_DRAIN: collect_queued(e, event, agent, last, s->unit, ACTION_NONE); return;
    default: break;
    }
    const bool barrier =
        event->object >= 0 &&
        spad_kernel_get_sync(e->kernel, (size_t)event->object)->kind == SPAD_SYNC_BARRIER;
    const action what = action_of(s->kind, barrier);
    if (s->unit >= 0) {
        collect_queued(e, event, agent, last, s->unit, what);
        return;
    }
    fill_point(e, next_point(e, what, agent, event->statement, last), event);
    if (s->kind == SPAD_STATEMENT_SYNC) {
        const int leave = next_point(e, ACTION_LEAVE, agent, event->statement, last);
        fill_point(e, leave, event);
    }
}

/* ---- agents ------------------------------------------------------------------------ */

static void collect_event(executor *e, const spad_walk_event *event, int agent, int *last,
                          int64_t *bundles) {
    switch (event->kind) {
    case SPAD_WALK_TENSOR: e->lives[event->tensor] = event->life; break;
    case SPAD_WALK_OPERATION: collect_operation(e, event, agent, last); break;
    case SPAD_WALK_SYNC: collect_sync(e, event, agent, last, bundles); break;
    case SPAD_WALK_ALLOC:
    case SPAD_WALK_FREE: collect_life(e, event, agent, last); break;
    case SPAD_WALK_FORK: e->fork = next_point(e, ACTION_NONE, agent, -1, last); break;
    case SPAD_WALK_JOIN: e->join = next_point(e, ACTION_NONE, agent, -1, last); break;
    default: break;
    }
}

static bool collect_agent(executor *e, int agent) {
    const spad_walk_options options = {.agent = agent, .layout = e->options->layout};
    int64_t *bundles = calloc(spad_kernel_sync_count(e->kernel) + 1, sizeof *bundles);
    spad_walk *walk;
    const spad_walk_event *event;
    spad_error error;
    int last = agent == 0 ? -1 : e->fork;
    assert_non_null(bundles);
    assert_ok(spad_walk_create(&walk, e->kernel, &options, &error), &error);
    e->queue.count = 0;
    bool fine = true;
    long steps = 0;
    e->firsts.count = 0;
    while ((fine = spad_walk_next(&event, walk, &error) == SPAD_OK) &&
           event->kind != SPAD_WALK_END && !e->too_large) {
        PUSH(&e->firsts, (int)e->points.count);
        collect_event(e, event, agent, &last, bundles);
        e->too_large = e->points.count > POINTS_MAX || e->ops.count > OPS_MAX || ++steps > 100000;
    }
    if (!fine) snprintf(e->result.about, sizeof e->result.about, "%s", error.message);
    const int end = next_point(e, ACTION_NONE, agent, -1, &last);
    if (agent > 0) put_order(e, end, e->join);
    spad_walk_destroy(walk);
    free(bundles);
    return fine;
}

/* ---- the other threads of an agent ------------------------------------------------- */

static bool has_elected(const executor *e, int agent) {
    if (spad_kernel_get_agent(e->kernel, (size_t)agent)->threads.value <= 1) return false;
    for (size_t i = 0; i < spad_kernel_statement_count(e->kernel); i++) {
        const spad_statement *s = spad_kernel_get_statement(e->kernel, i);
        if (s->agent == agent && (s->flags & SPAD_BY_ONE) != 0) return true;
    }
    return false;
}

/* Does an arrival say that all threads have come so far? One of each warp stands for its warp. */
static bool arrives_for_all(const executor *e, const spad_walk_event *event, int64_t threads) {
    const spad_statement *s = spad_kernel_get_statement(e->kernel, (size_t)event->statement);
    if ((s->flags & SPAD_BY_ONE) != 0) return false;
    if (event->amount >= threads) return true;
    return event->amount > 1 && threads % event->amount == 0 && threads / event->amount <= 32;
}

/* What happens at the end of an operation, does so when both parts are over. */
static void join_ends(executor *e, int end, int other) {
    const point own = e->points.items[end];
    const int both = new_point(e, ACTION_END, own.agent, own.statement);
    e->points.items[both].op = own.op;
    e->points.items[both].ends = own.ends;
    e->points.items[end].ends = 0;
    put_order(e, end, both);
    put_order(e, other, both);
}

/* On a unit of the order `same` (wgmma) all threads run one operation: what waits for the end of
 * one part waits for the other one. */
static void share_ends(executor *e) {
    const size_t orders = e->orders.count;
    for (size_t k = 0; k < e->shared.count; k++) {
        const order ends = e->shared.items[k];
        for (size_t i = 0; i < orders; i++) {
            const order o = e->orders.items[i];
            if (o.before != ends.before && o.before != ends.after) continue;
            const point *after = &e->points.items[o.after]; /* not the end of writes of one part */
            if (after->action == ACTION_END && after->op == e->points.items[o.before].op) continue;
            put_order(e, o.before == ends.before ? ends.after : ends.before, o.after);
        }
    }
    e->shared.count = 0;
}

/* They run what all threads run. They issue their parts themselves. What an operation does at its
 * end, it does when all parts are over. */
static void follow_operation(executor *e, const spad_walk_event *event, int agent, int first,
                             int *last) {
    const spad_statement *s = spad_kernel_get_statement(e->kernel, (size_t)event->statement);
    if ((s->flags & SPAD_BY_ONE) != 0) return;
    op o = {.agent = agent,
            .statement = event->statement,
            .unit = s->unit,
            .fence = -1,
            .others = true,
            .life = SPAD_WALK_OPERATION,
            .group = s->group,
            .bundle = -1};
    const bool reads_seen = keep_event(e, &o, event);
    const bool completes = o.completion_count > 0;
    for (size_t i = o.first_completion; i < e->completions.count; i++) { /* not of all threads */
        if (e->completions.items[i].walk.kind == SPAD_COMPLETION_SIGNAL)
            e->result.unmodelled = true;
    }
    e->completions.count -= o.completion_count; /* the first thread has them */
    o.completion_count = 0;
    const int p =
        next_point(e, o.unit < 0 ? ACTION_START : ACTION_NONE, agent, event->statement, last);
    if (o.unit < 0) {
        e->points.items[p].op = (int)e->ops.count;
        o.start = o.read_end = o.write_end = p;
        if (completes) e->result.unmodelled = true;
    } else {
        collect_issued(e, &o, p, reads_seen);
    }
    if (o.unit >= 0 && spad_kernel_get_unit(e->kernel, (size_t)o.unit)->order == SPAD_UNIT_SAME) {
        const op *whole = &e->ops.items[e->points.items[first + 1].op];
        PUSH(&e->shared, (order){whole->write_end, o.write_end});
        if (whole->read_end != whole->write_end) {
            PUSH(&e->shared, (order){whole->read_end, o.read_end});
        }
    }
    if (o.unit >= 0 && completes) {
        const op *whole = &e->ops.items[e->points.items[first + 1].op];
        const int read_end = whole->read_end;
        const int write_end = whole->write_end;
        join_ends(e, read_end, o.read_end);
        if (write_end != read_end) join_ends(e, write_end, o.write_end);
    }
    PUSH(&e->ops, o);
}

/* The number of an agent among those of several threads. */
static int thread_list(const executor *e, int agent) {
    int number = 0;
    for (int i = 1; i < agent; i++) {
        if (spad_kernel_get_agent(e->kernel, (size_t)i)->threads.value > 1) number++;
    }
    return number;
}

/* A statement on a unit: what it comes after is what these threads have issued there. */
static void follow_queued(executor *e, const spad_walk_event *event, int agent, int first,
                          int *last) {
    const spad_statement *s = spad_kernel_get_statement(e->kernel, (size_t)event->statement);
    const int64_t threads = spad_kernel_get_agent(e->kernel, (size_t)agent)->threads.value;
    if (s->kind == SPAD_STATEMENT_DRAIN) {
        collect_queued(e, event, agent, last, s->unit, ACTION_NONE);
    } else if (s->kind != SPAD_STATEMENT_ARRIVE) {
        e->result.unmodelled = true;
    } else if (arrives_for_all(e, event, threads)) {
        collect_queued(e, event, agent, last, s->unit, ACTION_JOIN);
        const int join = (int)e->points.count - 1;
        e->points.items[first + 1].threads = thread_list(e, agent);
        e->points.items[join].threads = thread_list(e, agent);
    }
}

static void follow_sync(executor *e, const spad_walk_event *event, int agent, int first, int *last,
                        int64_t *bundles) {
    const spad_statement *s = spad_kernel_get_statement(e->kernel, (size_t)event->statement);
    const int64_t threads = spad_kernel_get_agent(e->kernel, (size_t)agent)->threads.value;
    if (s->unit >= 0 || s->kind == SPAD_STATEMENT_DRAIN) {
        follow_queued(e, event, agent, first, last);
        return;
    }
    switch (s->kind) {
    case SPAD_STATEMENT_COMMIT:
        collect_commit(e, event->object, agent, true, bundles[event->object]++);
        return;
    case SPAD_STATEMENT_WAIT_GROUP:
        collect_group_wait(e, event, agent, true, bundles[event->object]);
        return;
    case SPAD_STATEMENT_SYNC:
        if (event->amount != 1 && event->amount < threads) return;
        put_order(e, next_point(e, ACTION_NONE, agent, event->statement, last), first);
        put_order(e, first + 1, next_point(e, ACTION_NONE, agent, event->statement, last));
        return;
    case SPAD_STATEMENT_ARRIVE:
        if (!arrives_for_all(e, event, threads)) return;
        e->points.items[first].threads = thread_list(e, agent);
        next_point(e, ACTION_JOIN, agent, event->statement, last);
        e->points.items[*last].threads = thread_list(e, agent);
        e->points.items[*last].object = e->points.items[first].object;
        return;
    case SPAD_STATEMENT_WAIT_PARITY: {
        if ((s->flags & SPAD_BY_ONE) != 0) return;
        const int p = next_point(e, ACTION_FOLLOW, agent, event->statement, last);
        e->points.items[p].first = first;
        e->points.items[p].object = e->points.items[first].object;
        e->points.items[p].amount = event->amount;
        return;
    }
    default: return;
    }
}

/* The walk of the agent once more, after the points of its first thread. */
static void collect_others(executor *e, int agent) {
    const spad_walk_options options = {.agent = agent, .layout = e->options->layout};
    spad_walk *walk;
    const spad_walk_event *event;
    spad_error error;
    int last = e->fork;
    int64_t *bundles = calloc(spad_kernel_sync_count(e->kernel) + 1, sizeof *bundles);
    assert_non_null(bundles);
    assert_ok(spad_walk_create(&walk, e->kernel, &options, &error), &error);
    e->queue.count = 0;
    for (size_t i = 0; i < e->firsts.count; i++) {
        assert_ok(spad_walk_next(&event, walk, &error), &error);
        if (event->kind == SPAD_WALK_OPERATION) {
            follow_operation(e, event, agent, e->firsts.items[i], &last);
        } else if (event->kind == SPAD_WALK_SYNC) {
            follow_sync(e, event, agent, e->firsts.items[i], &last, bundles);
        }
    }
    put_order(e, next_point(e, ACTION_NONE, agent, -1, &last), e->join);
    spad_walk_destroy(walk);
    free(bundles);
}

static void look_ahead(executor *e) {
    for (size_t i = 0; i < spad_kernel_statement_count(e->kernel); i++) {
        const spad_statement *s = spad_kernel_get_statement(e->kernel, i);
        if (s->kind == SPAD_STATEMENT_WAIT_GROUP && (s->flags & SPAD_SYNC_READS) != 0) {
            e->waits_for_reads[s->item] = true;
        }
    }
}

/* Does something happen at this end of an operation? */
static bool has_completion(const executor *e, const point *p) {
    const op *o = &e->ops.items[p->op];
    for (size_t i = 0; i < o->completion_count; i++) {
        const completion *c = &e->completions.items[o->first_completion + i];
        const bool reads = (c->walk.flags & SPAD_SYNC_READS) != 0;
        if ((p->ends & (reads ? SPAD_ACCESS_READ : SPAD_ACCESS_WRITE)) != 0) return true;
    }
    return false;
}

/* Which points happen as soon as they can, or only when needed: see executor.c. A counter is plain
 * if all that is done to it only makes more possible: no agent takes from it, or one taker and no
 * agent else looks. */
static void choose_eager(executor *e) {
    for (size_t i = 0; i < e->points.count; i++) {
        const point *p = &e->points.items[i];
        if (p->action == ACTION_WAIT && e->taker[p->object] != 0) e->taker[p->object] = SEVERAL;
    }
    for (size_t i = 0; i < e->points.count; i++) {
        point *p = &e->points.items[i];
        switch (p->action) {
        case ACTION_NONE:
        case ACTION_JOIN:
        case ACTION_FOLLOW:
        case ACTION_LEAVE: p->eager = true; break;
        case ACTION_END: p->lazy = !has_completion(e, p); break;
        case ACTION_START: p->eager = e->ops.items[p->op].unit >= 0; break;
        case ACTION_SIGNAL:
        case ACTION_WAIT:
        case ACTION_TAKE: p->eager = e->taker[p->object] != SEVERAL; break;
        default: break;
        }
    }
}

/* Inputs are written before the start, one after another in the order of the text. Those of
 * which a byte can belong to others are accesses that are over when the run begins. */
static void collect_inputs(executor *e) {
    const spad_walk_options options = {.agent = SPAD_WALK_ALL, .layout = e->options->layout};
    spad_walk *walk;
    spad_error error;
    assert_ok(spad_walk_create(&walk, e->kernel, &options, &error), &error);
    for (size_t i = 0; i < spad_kernel_tensor_count(e->kernel); i++) {
        const spad_kernel_tensor *t = spad_kernel_get_tensor(e->kernel, i);
        const spad_kernel_tensor *home = spad_kernel_get_tensor(e->kernel, (size_t)t->home);
        const bool off_chip = spad_kernel_get_target(e->kernel)->spaces[t->space].off_chip;
        const bool alone = home->mode == SPAD_MODE_AUTO && off_chip && home->slots == home->tiles;
        if ((t->flags & SPAD_TENSOR_INPUT) == 0 || (alone && t->mode != SPAD_MODE_ALIAS)) continue;
        if (home->mode == SPAD_MODE_STACK || home->mode == SPAD_MODE_HEAP) continue;
        if (spad_kernel_get_statement(e->kernel, t->statement)->loop >= 0) continue;
        for (int64_t tile = 0; tile < t->tiles; tile++) {
            access a = {.op = -1};
            spad__walk_tile_access(walk, (int64_t)i, tile, &a.walk);
            a.walk.kind = SPAD_ACCESS_WRITE;
            PUSH(&e->accesses, a);
        }
    }
    e->given = e->accesses.count;
    spad_walk_destroy(walk);
}

/* Outputs are read at the end, tile by tile: the last accesses, which no operation has. */
static void collect_results(executor *e) {
    const spad_walk_options options = {.agent = SPAD_WALK_ALL, .layout = e->options->layout};
    spad_walk *walk;
    spad_error error;
    assert_ok(spad_walk_create(&walk, e->kernel, &options, &error), &error);
    e->first_result = e->accesses.count;
    for (size_t i = 0; i < spad_kernel_tensor_count(e->kernel); i++) {
        const spad_kernel_tensor *t = spad_kernel_get_tensor(e->kernel, i);
        const spad_kernel_tensor *home = spad_kernel_get_tensor(e->kernel, (size_t)t->home);
        if ((t->flags & SPAD_TENSOR_OUTPUT) == 0) continue;
        if (home->mode == SPAD_MODE_STACK || home->mode == SPAD_MODE_HEAP) continue;
        if (spad_kernel_get_statement(e->kernel, t->statement)->loop >= 0) continue;
        for (int64_t tile = 0; tile < t->tiles; tile++) {
            access a = {.op = -1};
            spad__walk_tile_access(walk, (int64_t)i, tile, &a.walk);
            a.walk.kind = SPAD_ACCESS_READ;
            PUSH(&e->accesses, a);
        }
    }
    spad_walk_destroy(walk);
}

/* Where an mbarrier is: as the text says, or the layout. */
static bool place_of_mbarrier(const executor *e, size_t number, int64_t *byte) {
    const spad_kernel_sync *sync = spad_kernel_get_sync(e->kernel, number);
    const spad_layout *layout = e->options->layout;
    *byte = sync->byte.value;
    if (sync->placed) return true;
    for (size_t i = 0; layout != NULL && i < spad_layout_buffer_count(layout); i++) {
        const spad_layout_buffer *buffer = spad_layout_get_buffer(layout, i);
        if (buffer->sync != (int64_t)number || buffer->rect.byte == SPAD_NO_BYTE) continue;
        *byte = buffer->rect.byte;
        return true;
    }
    return false;
}

static void collect_held(executor *e) {
    size_t space;
    e->end_results = e->accesses.count;
    if (spad_target_find_space(&space, spad_kernel_get_target(e->kernel), "shared", NULL) !=
        SPAD_OK) {
        return;
    }
    for (size_t i = 0; i < spad_kernel_sync_count(e->kernel); i++) {
        const spad_kernel_sync *sync = spad_kernel_get_sync(e->kernel, i);
        int64_t byte;
        if (sync->kind != SPAD_SYNC_MBARRIER || !place_of_mbarrier(e, i, &byte)) continue;
        const int64_t each =
            sync->each_block ? sync->elements / sync->dims.items[0].value : sync->elements;
        for (int64_t k = 0; k < sync->elements; k++) {
            const int object = e->object_base[i] + (int)k * MBARRIER_VALUES;
            char name[32];
            snprintf(name, sizeof name, "shared[%d]", (int)(k / each));
            if (spad_target_find_space(&space, spad_kernel_get_target(e->kernel), name, NULL) !=
                SPAD_OK) {
                continue;
            }
            const access a = {
                .op = -1,
                .held = true,
                .space = space,
                .walk = {.rect = {.lanes = 1, .byte = byte + 8 * (k % each), .bytes = 8},
                         .runs = 1}};
            PUSH(&e->held, (held){object, e->accesses.count});
            PUSH(&e->accesses, a);
        }
    }
}

bool executor_collect(executor *e) {
    look_ahead(e);
    collect_inputs(e);
    for (int agent = 0; agent < (int)spad_kernel_agent_count(e->kernel); agent++) {
        PUSH(&e->agent_points, (int)e->points.count);
        if (!collect_agent(e, agent)) return false;
        if (e->too_large) return true;
        if (agent == 0 || !has_elected(e, agent)) continue;
        PUSH(&e->agent_points, (int)e->points.count);
        collect_others(e, agent);
        share_ends(e);
    }
    PUSH(&e->agent_points, (int)e->points.count);
    cover_lives(e);
    collect_results(e);
    collect_held(e);
    if (!e->options->plain) choose_eager(e);
    return true;
}
