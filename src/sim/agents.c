/* SPDX-License-Identifier: Apache-2.0
 *
 * Kernels with synchronisation, moment by moment.
 *
 * At each moment, every runner advances as far as it can: an agent until it waits or works
 * itself, a unit until its oldest entry waits or works. Then engines are handed to those
 * that want one, in the order in which they became ready, transfers in the order of their issue
 * (agents before units, then by number). Then time moves on to the next end or the end of a
 * start-up. A unit has a queue for each agent, and runs of each one thing at a time, in the order
 * of issue; what is queued on it with `on UNIT` is such a thing. An engine serves as many at a time
 * as it has units; a copy engine one, at the rate of all of them. An operation with a latency
 * leaves its engine before its result is there: its agent waits for the result, a unit goes on with
 * the next entry unless it is serial. An agent that waits at an mbarrier goes on a moment after the
 * arrival of another one, where the target says so. Reads and writes of an operation are done, and
 * what it signals is signalled, when its result is there.
 *
 * Waits come from the program: bytes are not examined. Of a grid, several blocks may run on
 * one unit of the chip (spad_sim.together): each has agents, queues and objects of its own, and all
 * share the engines.
 */
#include "sim/agents.h"
#include "spad/experimental/kernel_rows.h"

#include <stdio.h>
#include <string.h>

#include "base/checked.h"
#include "kernel/kernel.h"

enum { RUNNERS_PER_STEP = 8 }; /* examined runners that count as a step */

/* ---- tasks ------------------------------------------------------------------------- */

/* Room for one more task. */
static bool new_task(spad__agents_run *c, size_t *number) {
    const spad_host *host = &c->sim->host;
    if (c->ended.count > 0) {
        *number = c->ended.items[--c->ended.count];
        return true;
    }
    if (!spad__array_reserve(host, &c->tasks, 1) ||
        !spad__array_reserve(host, &c->values, c->values_each) ||
        !spad__array_reserve(host, &c->completions, c->completions_each) ||
        !spad__array_reserve(host, &c->ended, c->tasks.count + 1)) {
        return false;
    }
    c->values.count += c->values_each;
    c->completions.count += c->completions_each;
    *number = c->tasks.count++;
    return true;
}

static spad_walk_completion *completions_of(spad__agents_run *c, size_t number) {
    return c->completions.items + number * c->completions_each;
}

/* Copies an operation from its event. */
static spad_status make_task(spad__agents_run *c, const spad__runner *agent,
                             const spad_walk_event *event, size_t *number, spad_error *error) {
    const spad_kernel *k = c->sim->kernel;
    const spad_statement *s = spad_kernel_get_statement(k, (size_t)event->statement);
    spad__task t = {.row = {.statement = event->statement,
                            .agent = event->agent,
                            .engine = s->engine,
                            .cause = -1,
                            .blocker = -1,
                            .tensor = -1,
                            .slot = -1,
                            .object = -1,
                            .element = -1},
                    .agent = agent->agent,
                    .group = s->group,
                    .completion_count = event->completion_count,
                    .issued = c->now,
                    .cause = agent->cause};
    *number = 0;
    const spad_status status = spad__sim_cost(&t.cost, c->sim, event, error);
    if (status != SPAD_OK) return status;
    t.row.path = t.cost.path;
    if ((t.group >= 0 && !spad__objects_join(&c->objects, agent->agent, t.group, &t.bundle)) ||
        !new_task(c, number)) {
        return spad__fail_host_memory(error);
    }
    t.row.value_count = spad__sim_values(k, event->statement, spad_walk_get_values(agent->walk),
                                         spad__task_values(c, *number));
    for (size_t i = 0; i < t.completion_count; i++) {
        completions_of(c, *number)[i] = event->completions[i];
    }
    c->tasks.items[*number] = t;
    return SPAD_OK;
}

static void request_engine(spad__agents_run *c, spad__runner *r, size_t number) {
    spad__task *t = &c->tasks.items[number];
    int64_t ready = c->now;
    if (t->cost.startup > 0) ready = spad__max(ready, t->issued + t->cost.startup);
    r->state = SPAD__WANTS;
    r->task = number;
    r->ready = ready;
    /* what moves data is under way since its issue, also while others of its queue are served */
    r->turn = t->cost.path >= 0 ? t->issued + t->cost.startup : ready;
}

/* ---- what a runner waits for ------------------------------------------------------- */

/* Have the agents that the program of a block started come to their end? */
static bool all_ended(const spad__agents_run *c, const spad__runner *program) {
    for (size_t i = 1; i < c->agents_each; i++) {
        if (program[i].state != SPAD__ENDED) return false;
    }
    return true;
}

/* Is everything done that an agent has issued? */
static bool units_are_idle(const spad__agents_run *c, int64_t agent) {
    for (size_t i = c->agent_count; i < c->count; i++) {
        const spad__runner *r = &c->runners[i];
        if (r->agent == agent && (r->head < r->queue.count || r->flying > 0)) return false;
    }
    return true;
}

/* The request of a runner: true if it has happened. */
static bool try_request(spad__agents_run *c, spad__runner *r) {
    int64_t row = -1;
    const bool is_drain = r->request.kind == SPAD_STATEMENT_DRAIN;
    const bool is_unit = (size_t)(r - c->runners) >= c->agent_count;
    const bool passes = is_drain ? (is_unit ? r->flying == 0 : units_are_idle(c, r->agent))
                                 : spad__objects_try(&c->objects, &r->request, r->cause.row, &row);
    if (passes && r->state == SPAD__WAITS) {
        r->cause = (spad__cause){SPAD__WAIT_SYNC, row, r->request.object, r->request.element};
    }
    return passes;
}

/* ---- agents ------------------------------------------------------------------------ */

static spad__runner *queue_of(const spad__agents_run *c, int64_t agent, int64_t unit) {
    return &c->runners[c->queues[(size_t)unit * c->agent_count + (size_t)agent]];
}

/* The operations that the agents of a block have queued on an engine. */
static size_t queued_by_block(const spad__agents_run *c, int64_t agent, size_t engine) {
    const size_t first = (size_t)agent / c->agents_each * c->agents_each;
    size_t count = 0;
    for (size_t u = 0; u < spad_kernel_unit_count(c->sim->kernel); u++) {
        if (spad_kernel_get_unit(c->sim->kernel, u)->engine != engine) continue;
        for (size_t a = first; a < first + c->agents_each; a++) {
            const size_t number = c->queues[u * c->agent_count + a];
            if (number != 0) count += c->runners[number].queue.count - c->runners[number].head;
        }
    }
    return count;
}

/* Queues are not endless: an agent that finds one full waits with what it has. An engine of the
 * target may have a shorter one, of all agents of a block, which is lengthened together with the
 * others. */
static bool is_full(const spad__agents_run *c, int64_t agent, int64_t unit) {
    const spad__runner *r = queue_of(c, agent, unit);
    const size_t engine = spad_kernel_get_unit(c->sim->kernel, (size_t)unit)->engine;
    const int64_t most = c->sim->target->engines[engine].queue_most;
    if (r->queue.count - r->head >= c->queue_most) return true;
    return most > 0 && most < SPAD_SIM_WINDOW &&
           queued_by_block(c, agent, engine) >= (size_t)most * (c->queue_most / SPAD_SIM_WINDOW);
}

static spad_status queue_entry(spad__agents_run *c, int64_t agent, int64_t unit,
                               const spad__entry *e, spad_error *error) {
    spad__runner *r = queue_of(c, agent, unit);
    if (r->head >= SPAD_SIM_WINDOW) { /* what is done goes */
        r->queue.count -= r->head;
        memmove(r->queue.items, r->queue.items + r->head, r->queue.count * sizeof *e);
        r->head = 0;
    }
    if (!spad__array_reserve(&c->sim->host, &r->queue, 1)) return spad__fail_host_memory(error);
    r->queue.items[r->queue.count++] = *e;
    return SPAD_OK;
}

static spad_status handle_operation(spad__agents_run *c, spad__runner *r,
                                    const spad_walk_event *event, spad_error *error) {
    const spad_statement *s = spad_kernel_get_statement(c->sim->kernel, (size_t)event->statement);
    size_t number;
    const spad_status status = make_task(c, r, event, &number, error);
    if (status != SPAD_OK) return status;
    if (s->unit < 0) {
        request_engine(c, r, number);
        return SPAD_OK;
    }
    const spad__entry e = {.is_task = true, .task = number, .issued = c->now, .cause = r->cause};
    return queue_entry(c, r->agent, s->unit, &e, error);
}

/* In place: a request is made for every statement of synchronisation. */
static void set_request(spad__request *r, const spad_kernel *kernel, const spad_statement *s,
                        const spad_walk_event *event) {
    r->statement = event->statement;
    r->kind = s->kind;
    r->object = event->object;
    r->element = event->element;
    r->change.flags = s->flags;
    r->change.amount = event->amount;
    r->change.expect = event->expect;
    r->change.phase = 0;
    /* Only an arrive depends on what it is at: a barrier or an mbarrier. */
    const spad_sync_kind kind = s->kind == SPAD_STATEMENT_ARRIVE
                                    ? spad_kernel_get_sync(kernel, (size_t)r->object)->kind
                                    : SPAD_SYNC_BARRIER;
    r->change.kind = spad__sync_action(s->kind, kind);
}

static spad_status handle_sync(spad__agents_run *c, spad__runner *r, const spad_walk_event *event,
                               spad_error *error) {
    const spad_statement *s = spad_kernel_get_statement(c->sim->kernel, (size_t)event->statement);
    set_request(&r->request, c->sim->kernel, s, event);
    r->request.agent = r->agent;
    if (s->unit >= 0) {
        const spad__entry e = {.request = r->request, .issued = c->now, .cause = r->cause};
        return queue_entry(c, r->agent, s->unit, &e, error);
    }
    if (!try_request(c, r)) r->state = SPAD__WAITS;
    return c->objects.failed ? spad__fail_host_memory(error) : SPAD_OK;
}

static void fork_agents(const spad__agents_run *c, spad__runner *program) {
    for (size_t i = 1; i < c->agents_each; i++) {
        program[i].state = SPAD__GOES_ON;
        program[i].end = program->end;
        program[i].cause = program->cause;
    }
}

/* Keeps track of the outermost loop, and takes a jump that has been waiting for its head. */
static spad_status handle_loop(spad__agents_run *c, spad__runner *r, const spad_walk_event *event,
                               spad_error *error) {
    const bool is_outermost = event->loop == r->loop;
    if (event->kind == SPAD_WALK_LOOP_BEGIN && r->loop < 0) r->loop = event->loop;
    if (event->kind == SPAD_WALK_LOOP_END && is_outermost) r->loop = -1;
    if (event->kind != SPAD_WALK_ITERATION || !is_outermost) return SPAD_OK;
    if (r->jump == 0) {
        const spad_status status = spad__agents_repeat(c, (size_t)(r - c->runners), event, error);
        if (status != SPAD_OK || r->jump == 0) return status;
    }
    const int64_t value = event->value + r->jump;
    r->jump = 0;
    return spad_walk_jump(r->walk, value, error);
}

static spad_status handle_event(spad__agents_run *c, spad__runner *r, const spad_walk_event *event,
                                spad_error *error) {
    switch (event->kind) {
    case SPAD_WALK_OPERATION: return handle_operation(c, r, event, error);
    case SPAD_WALK_SYNC: return handle_sync(c, r, event, error);
    case SPAD_WALK_FORK: fork_agents(c, r); break;
    case SPAD_WALK_JOIN:
        r->joins = !all_ended(c, r);
        if (r->joins) r->state = SPAD__WAITS;
        break;
    case SPAD_WALK_END: r->state = SPAD__ENDED; break;
    case SPAD_WALK_LOOP_BEGIN:
    case SPAD_WALK_LOOP_END:
    case SPAD_WALK_ITERATION: return handle_loop(c, r, event, error);
    default: break;
    }
    return SPAD_OK;
}

/* The unit that an event goes to; -1: none. */
static int64_t queued_on(const spad__agents_run *c, const spad_walk_event *event) {
    if (event->kind != SPAD_WALK_OPERATION && event->kind != SPAD_WALK_SYNC) return -1;
    return spad_kernel_get_statement(c->sim->kernel, (size_t)event->statement)->unit;
}

/* Its wait is over: at an mbarrier, a moment after an agent has arrived there. What a copy delivers
 * has that moment in its own time. */
static spad_status wake_runner(spad__agents_run *c, spad__runner *r, spad_error *error) {
    int64_t after;
    r->state = SPAD__GOES_ON;
    if (r->joins || c->sim->target->signal_ns == 0 ||
        !spad__objects_by_agent(&c->objects, &r->request)) {
        return SPAD_OK;
    }
    if (!spad__mul(c->sim->target->signal_ns, 1000, &after) ||
        !spad__add(c->now, after, &r->ready)) {
        return spad__sim_fail_long(c->sim, r->request.statement, error);
    }
    r->state = SPAD__WAKES;
    return SPAD_OK;
}

static spad_status advance_agent(spad__agents_run *c, spad__runner *r, bool *moved,
                                 spad_error *error) {
    const spad_walk_event *event;
    if (r->state == SPAD__WAITS && (r->joins ? all_ended(c, r) : try_request(c, r))) {
        const spad_status status = wake_runner(c, r, error);
        if (status != SPAD_OK) return status;
        r->joins = false;
        *moved = true;
    }
    if (r->state == SPAD__WAKES && r->ready <= c->now) {
        r->state = SPAD__GOES_ON;
        *moved = true;
    }
    while (r->state == SPAD__GOES_ON) {
        spad_status status = SPAD_OK;
        event = r->held;
        if (event == NULL) status = spad_walk_next(&event, r->walk, error);
        if (status == SPAD_OK) status = spad__sim_count_event(c->sim, error);
        if (status != SPAD_OK) return status;
        r->held = NULL;
        const int64_t unit = queued_on(c, event);
        if (unit >= 0 && is_full(c, r->agent, unit)) {
            r->statement = event->statement;
            r->held = event;
            return SPAD_OK;
        }
        *moved = true;
        r->statement = event->statement;
        status = handle_event(c, r, event, error);
        if (status != SPAD_OK) return status;
    }
    return SPAD_OK;
}

/* ---- units ------------------------------------------------------------------------- */

/* A signal takes effect when what was issued before it is done, and does not delay the unit. */
static bool takes_off(const spad__runner *r, const spad__request *request) {
    return r->flying > 0 &&
           (request->kind == SPAD_STATEMENT_ARRIVE || request->kind == SPAD_STATEMENT_SIGNAL);
}

static void take_off(spad__agents_run *c, spad__runner *r, const spad__flight *flight) {
    if (!spad__array_reserve(&c->sim->host, &c->flights, 1)) {
        c->objects.failed = true;
        return;
    }
    r->landed = r->flying > 0 ? spad__max(r->landed, flight->done) : flight->done;
    r->flying++;
    spad__flight *kept = &c->flights.items[c->flights.count++];
    *kept = *flight;
    kept->runner = (size_t)(r - c->runners);
    kept->done = r->landed; /* in the order of issue */
}

static void advance_unit(spad__agents_run *c, spad__runner *r, bool *moved) {
    while ((r->state == SPAD__GOES_ON || r->state == SPAD__WAITS) && r->head < r->queue.count) {
        spad__entry *e = &r->queue.items[r->head];
        if (r->state == SPAD__GOES_ON && e->issued > r->end) r->cause = e->cause;
        if (e->is_task) {
            r->state = SPAD__GOES_ON;
            request_engine(c, r, e->task);
            *moved = true;
            return;
        }
        if (r->state == SPAD__GOES_ON) r->request = e->request;
        if (takes_off(r, &e->request)) {
            take_off(c, r, &(spad__flight){.request = e->request, .done = c->now, .row = r->row});
            if (c->objects.failed) return;
        } else if (!try_request(c, r)) {
            r->state = SPAD__WAITS;
            return;
        }
        r->state = SPAD__GOES_ON;
        r->head++;
        *moved = true;
    }
}

/* ---- time -------------------------------------------------------------------------- */

/* The result of an operation is there. */
static void complete_task(spad__agents_run *c, size_t number, int64_t row) {
    const spad__task *t = &c->tasks.items[number];
    for (size_t k = 0; k < t->completion_count; k++) {
        spad__objects_complete(&c->objects, t->agent, &completions_of(c, number)[k], row);
    }
    if (t->group >= 0) spad__objects_leave(&c->objects, t->agent, t->group, t->bundle, row);
    c->ended.items[c->ended.count++] = number;
}

/* Gives the engine back. True: its runner still has to wait for the result. */
static bool release_engine(spad__agents_run *c, spad__runner *r, size_t number) {
    spad__task *t = &c->tasks.items[r->task];
    const size_t part = spad__sim_part(c->sim, t->row.engine, t->row.path);
    if (t->released) return false;
    c->busy[part] -= t->cost.need;
    c->last[part] = r->row;
    t->released = true;
    if (t->cost.latency == 0) return false;
    const bool is_unit = number >= c->agent_count;
    const bool goes_on =
        is_unit && spad_kernel_get_unit(c->sim->kernel, (size_t)r->unit)->order != SPAD_UNIT_SERIAL;
    if (goes_on) {
        take_off(
            c, r,
            &(spad__flight){.is_task = true, .task = r->task, .done = t->row.done, .row = r->row});
        return false;
    }
    r->end = t->row.done;
    return true;
}

/* Operations in flight take effect in the order in which they began. */
static void land(spad__agents_run *c, bool *moved) {
    size_t kept = 0;
    for (size_t i = 0; i < c->flights.count; i++) {
        spad__flight f = c->flights.items[i];
        if (f.done > c->now) {
            c->flights.items[kept++] = f;
            continue;
        }
        int64_t unused;
        if (f.is_task) {
            complete_task(c, f.task, f.row);
        } else {
            spad__objects_try(&c->objects, &f.request, f.row, &unused);
        }
        c->runners[f.runner].flying--;
        *moved = true;
    }
    c->flights.count = kept;
}

/* Ends what is over. */
static void end_tasks(spad__agents_run *c, bool *moved) {
    land(c, moved);
    for (size_t i = 0; i < c->count; i++) {
        spad__runner *r = &c->runners[i];
        if (r->state != SPAD__WORKS || r->end > c->now) continue;
        const size_t flying = r->flying;
        *moved = true;
        if (release_engine(c, r, i)) continue;
        if (r->flying == flying) complete_task(c, r->task, r->row);
        if (i >= c->agent_count) r->head++;
        r->cause = (spad__cause){SPAD__WAIT_ISSUE, r->row, -1, -1};
        r->state = SPAD__GOES_ON;
    }
}

static spad_status fail_overflown(const spad__agents_run *c, spad_error *error) {
    const spad_kernel_sync *sync =
        spad_kernel_get_sync(c->sim->kernel, (size_t)c->objects.overflown);
    spad__fail(error, SPAD_ERR_OVERFLOW, "the amounts at '%s' do not fit 64 bits; use smaller ones",
               sync->name);
    spad__fact_location(error, spad_kernel_get_file(c->sim->kernel), sync->location.line,
                        sync->location.column);
    return SPAD_ERR_OVERFLOW;
}

static spad_status run_until_blocked(spad__agents_run *c, spad_error *error) {
    bool moved = true;
    while (moved) {
        moved = false;
        c->sim->steps += 1 + (int64_t)c->count / RUNNERS_PER_STEP;
        end_tasks(c, &moved);
        for (size_t i = 0; i < c->count; i++) {
            spad_status status = SPAD_OK;
            if (i < c->agent_count) {
                status = advance_agent(c, &c->runners[i], &moved, error);
            } else {
                advance_unit(c, &c->runners[i], &moved);
            }
            if (status != SPAD_OK) return status;
        }
        if (c->objects.failed) return spad__fail_host_memory(error);
        if (c->objects.overflown >= 0) return fail_overflown(c, error);
    }
    return SPAD_OK;
}

/* Starts a task. Its wait is counted from the end of the one before on the same runner. */
static spad_status start_task(spad__agents_run *c, spad__runner *r, spad_error *error) {
    spad__task *t = &c->tasks.items[r->task];
    spad__sim_row *row = &t->row;
    spad__cause cause = r->cause;
    if (t->cost.startup > 0 && r->ready == t->issued + t->cost.startup) {
        cause = t->cause;
        if (cause.kind == SPAD__WAIT_NONE) cause.kind = SPAD__WAIT_STARTUP;
    }
    row->start = c->now;
    row->wait = r->ready - r->end;
    row->queued = c->now - r->ready;
    row->kind = row->wait > 0 ? cause.kind : SPAD__WAIT_NONE;
    row->cause = row->wait > 0 ? cause.row : r->row;
    const size_t part = spad__sim_part(c->sim, row->engine, row->path);
    row->blocker = row->queued > 0 ? c->last[part] : row->cause;
    if (row->kind == SPAD__WAIT_SYNC) {
        row->object = cause.object;
        row->element = cause.element;
    }
    if (!spad__add(c->now, t->cost.busy, &row->end) ||
        !spad__add(row->end, t->cost.latency, &row->done)) {
        return spad__sim_fail_long(c->sim, row->statement, error);
    }
    row->values = spad__task_values(c, r->task);
    r->state = SPAD__WORKS;
    r->end = row->end;
    r->row = (int64_t)c->sim->rows.count;
    c->busy[part] += t->cost.need;
    return spad__sim_add(c->sim, row, &t->cost, error);
}

/* Hands free engines to those whose turn it is. */
static spad_status hand_out(spad__agents_run *c, bool *started, spad_error *error) {
    *started = false;
    for (;;) {
        spad__runner *next = NULL;
        for (size_t i = 0; i < c->count; i++) {
            spad__runner *r = &c->runners[i];
            if (r->state != SPAD__WANTS || r->ready > c->now) continue;
            const spad__task *t = &c->tasks.items[r->task];
            const size_t part = spad__sim_part(c->sim, t->row.engine, t->row.path);
            if (t->cost.need > spad__sim_capacity(c->sim, part) - c->busy[part]) continue;
            if (next == NULL || r->turn < next->turn) next = r;
        }
        if (next == NULL) return SPAD_OK;
        *started = true;
        const spad_status status = start_task(c, next, error);
        if (status != SPAD_OK) return status;
    }
}

/* The next moment at which something happens; false: none. */
static bool next_moment(spad__agents_run *c) {
    int64_t next = INT64_MAX;
    for (size_t i = 0; i < c->count; i++) {
        const spad__runner *r = &c->runners[i];
        if (r->state == SPAD__WORKS) next = spad__min(next, r->end);
        const bool later = r->state == SPAD__WANTS || r->state == SPAD__WAKES;
        if (later && r->ready > c->now) next = spad__min(next, r->ready);
    }
    for (size_t i = 0; i < c->flights.count; i++) {
        next = spad__min(next, c->flights.items[i].done);
    }
    if (next == INT64_MAX) return false;
    c->now = spad__max(next, c->now);
    return true;
}

/* ---- blocks ------------------------------------------------------------------------ */

static void start_runner(spad__agents_run *c, size_t number) {
    spad__runner *r = &c->runners[number];
    r->row = r->loop = -1;
    r->agent = (int64_t)number;
    r->cause = (spad__cause){SPAD__WAIT_NONE, -1, -1, -1};
    const bool begins = number >= c->agent_count || number % c->agents_each == 0;
    r->state = begins ? SPAD__GOES_ON : SPAD__NOT_BEGUN;
}

static spad_status start_walk(spad__agents_run *c, size_t agent, spad_error *error) {
    const spad_walk_options options = {.agent = (int64_t)(agent % c->agents_each),
                                       .layout = c->sim->options.layout,
                                       .host = &c->sim->host};
    spad_walk_destroy(c->runners[agent].walk);
    c->runners[agent].walk = NULL;
    return spad_walk_create(&c->runners[agent].walk, c->sim->kernel, &options, error);
}

/* Has a block come to its end, with all that it issued? */
static bool block_is_over(const spad__agents_run *c, size_t first) {
    for (size_t i = first; i < first + c->agents_each; i++) {
        if (c->runners[i].state != SPAD__ENDED || !units_are_idle(c, (int64_t)i)) return false;
    }
    return true;
}

/* A later block of the grid begins in place of one that is over. Nothing of what was seen at
 * the heads of loops holds from then on. */
static spad_status begin_again(spad__agents_run *c, size_t first, spad_error *error) {
    spad_status status = SPAD_OK;
    int64_t after;
    for (size_t i = first; i < first + c->agents_each && status == SPAD_OK; i++) {
        const int64_t end = c->runners[i].end;
        start_runner(c, i);
        c->runners[i].end = end;
        status = start_walk(c, i, error);
    }
    if (status != SPAD_OK) return status;
    spad__runner *program = &c->runners[first];
    if (!spad__mul(c->sim->target->block_ns, 1000, &after) ||
        !spad__add(c->now, after, &program->ready)) {
        return spad__sim_fail_long(c->sim, program->statement, error);
    }
    program->state = SPAD__WAKES;
    spad__objects_reset(&c->objects, first / c->agents_each);
    for (size_t i = 0; i < c->sim->kernel->loops.count; i++) c->loop_states[i].saved.valid = false;
    c->blocks_left--;
    return SPAD_OK;
}

/* Later blocks begin where one is over, if the grid has more. */
static spad_status begin_blocks(spad__agents_run *c, bool *begun, spad_error *error) {
    for (size_t i = 0; i < c->agent_count && c->blocks_left > 0; i += c->agents_each) {
        if (!block_is_over(c, i)) continue;
        const spad_status status = begin_again(c, i, error);
        if (status != SPAD_OK) return status;
        *begun = true;
    }
    return SPAD_OK;
}

/* ---- the end ----------------------------------------------------------------------- */

static const char *runner_name(const spad__agents_run *c, size_t number) {
    if (number >= c->agent_count) {
        return spad_kernel_get_unit(c->sim->kernel, (size_t)c->runners[number].unit)->name;
    }
    return spad_kernel_get_agent(c->sim->kernel, number % c->agents_each)->name;
}

/* The first that waits forever, in a sentence; false: all came to their end. */
static bool describe_deadlock(const spad__agents_run *c, char *field, size_t size) {
    for (size_t pass = 0; pass < 2; pass++) { /* who waits for agents to end comes last */
        for (size_t i = 0; i < c->count; i++) {
            const spad__runner *r = &c->runners[i];
            if (r->state != SPAD__WAITS || r->joins != (pass == 1)) continue;
            char what[SPAD_MESSAGE_MAX / 2];
            if (r->joins) {
                snprintf(what, sizeof what, "its agents");
            } else {
                spad__objects_describe(&c->objects, &r->request, what, sizeof what);
            }
            const int32_t line =
                r->joins ? 0
                         : spad_kernel_get_statement(c->sim->kernel, (size_t)r->request.statement)
                               ->location.line;
            snprintf(field, size, "deadlock at %s ns: '%.63s' waits for %s (line %ld)",
                     spad__grouped(c->now / 1000).text, runner_name(c, i), what, (long)line);
            return true;
        }
    }
    return false;
}

/* The length of a queue is a matter of time, and no reason to be stuck: where nothing else can
 * happen, queues that are full take more. */
static bool lengthen_queues(spad__agents_run *c) {
    bool full = false;
    for (size_t i = 0; i < c->agent_count; i++) full |= c->runners[i].held != NULL;
    if (full) c->queue_most *= 2; /* no more than events, which are limited */
    return full;
}

static spad_status run(spad__agents_run *c, spad_error *error) {
    do {
        bool started = true;
        while (started) {
            spad_status status = run_until_blocked(c, error);
            if (status == SPAD_OK) status = hand_out(c, &started, error);
            if (status == SPAD_OK) status = begin_blocks(c, &started, error);
            if (status == SPAD_OK && c->sim->steps >= SPAD_SIM_LOOK) {
                status = spad__sim_check_limit(c->sim, error);
            }
            if (status != SPAD_OK) return status;
        }
    } while (next_moment(c) || lengthen_queues(c));
    c->sim->is_stuck = describe_deadlock(c, c->sim->stuck, sizeof c->sim->stuck);
    return SPAD_OK;
}

/* ---- life -------------------------------------------------------------------------- */

static void size_lists(spad__agents_run *c) {
    const spad_kernel *k = c->sim->kernel;
    c->values_each = c->completions_each = 1;
    for (size_t i = 0; i < spad_kernel_statement_count(k); i++) {
        const spad_statement *s = spad_kernel_get_statement(k, i);
        const size_t loops = spad__loops_around(k, (int64_t)i, NULL);
        if (loops > c->values_each) c->values_each = loops;
        if (s->completion_count > c->completions_each) c->completions_each = s->completion_count;
    }
}

static spad_status check_objects(const spad_kernel *kernel, spad_error *error) {
    int64_t left = SPAD__SYNC_OBJECTS_MAX;
    for (size_t i = 0; i < spad_kernel_sync_count(kernel); i++) {
        const spad_kernel_sync *sync = spad_kernel_get_sync(kernel, i);
        if (sync->elements > left) {
            return spad__fail(
                error, SPAD_ERR_ARGUMENT,
                "there are more than %lld synchronisation objects with '%s'; define a "
                "smaller parameter",
                (long long)SPAD__SYNC_OBJECTS_MAX, sync->name);
        }
        left -= sync->elements;
    }
    return SPAD_OK;
}

/* Which agent uses which unit? Numbers the queues, by unit and then by agent. */
static bool number_queues(spad__agents_run *c) {
    const spad_kernel *k = c->sim->kernel;
    const size_t units = spad_kernel_unit_count(k);
    c->queues = spad__new_array(&c->sim->host, units + 1, c->agent_count * sizeof *c->queues);
    if (c->queues == NULL) return false;
    for (size_t i = 0; i < spad_kernel_statement_count(k); i++) {
        const spad_statement *s = spad_kernel_get_statement(k, i);
        if (s->unit < 0) continue;
        for (size_t a = (size_t)s->agent; a < c->agent_count; a += c->agents_each) {
            c->queues[(size_t)s->unit * c->agent_count + a] = 1;
        }
    }
    c->count = c->agent_count;
    for (size_t i = 0; i < units * c->agent_count; i++) {
        if (c->queues[i] != 0) c->queues[i] = c->count++;
    }
    return true;
}

/* The queues know whose they are. */
static void start_queues(spad__agents_run *c) {
    const size_t units = spad_kernel_unit_count(c->sim->kernel);
    for (size_t u = 0; u < units; u++) {
        for (size_t a = 0; a < c->agent_count; a++) {
            const size_t number = c->queues[u * c->agent_count + a];
            if (number == 0) continue;
            c->runners[number].agent = (int64_t)a;
            c->runners[number].unit = (int64_t)u;
        }
    }
}

static spad_status make_crowd(spad__agents_run *c, spad_error *error) {
    spad_sim *sim = c->sim;
    const spad_host *host = &sim->host;
    const size_t parts = sim->part_count + 1;
    const size_t blocks = (size_t)spad__max(sim->together, 1);
    c->agents_each = spad_kernel_agent_count(sim->kernel);
    c->agent_count = blocks * c->agents_each;
    c->queue_most = SPAD_SIM_WINDOW;
    if (!number_queues(c)) return spad__fail_host_memory(error);
    c->runners = spad__new_array(host, c->count, sizeof *c->runners);
    c->busy = spad__new_array(host, parts, sizeof *c->busy);
    c->last = spad__new_array(host, parts, sizeof *c->last);
    c->loop_states =
        spad__new_array(host, spad_kernel_loop_count(sim->kernel) + 1, sizeof *c->loop_states);
    if (c->runners == NULL || c->busy == NULL || c->last == NULL || c->loop_states == NULL ||
        !spad__objects_make(&c->objects, host, sim->kernel, blocks)) {
        return spad__fail_host_memory(error);
    }
    for (size_t i = 0; i < parts; i++) c->last[i] = -1;
    size_lists(c);
    for (size_t i = 0; i < c->count; i++) start_runner(c, i);
    start_queues(c);
    for (size_t i = 0; i < c->agent_count; i++) {
        const spad_status status = start_walk(c, i, error);
        if (status != SPAD_OK) return status;
    }
    c->blocks_left = spad__max(sim->blocks - (int64_t)blocks, 0);
    return SPAD_OK;
}

static void free_crowd(spad__agents_run *c) {
    const spad_host *host = &c->sim->host;
    const size_t parts = c->sim->part_count + 1;
    for (size_t i = 0; c->runners != NULL && i < c->count; i++) {
        spad_walk_destroy(c->runners[i].walk);
        spad__array_free(host, &c->runners[i].queue);
    }
    spad__objects_free(&c->objects);
    spad__agents_free_loops(c);
    spad__free(host, c->runners, c->count * sizeof *c->runners);
    spad__free(host, c->queues,
               (spad_kernel_unit_count(c->sim->kernel) + 1) * c->agent_count * sizeof *c->queues);
    spad__free(host, c->busy, parts * sizeof *c->busy);
    spad__free(host, c->last, parts * sizeof *c->last);
    spad__array_free(host, &c->flights);
    spad__array_free(host, &c->tasks);
    spad__array_free(host, &c->values);
    spad__array_free(host, &c->completions);
    spad__array_free(host, &c->ended);
}

spad_status spad__sim_explicit(spad_sim *sim, spad_error *error) {
    if (sim->options.hoist_count > 0) {
        return spad__fail(error, SPAD_ERR_ARGUMENT,
                          "kernel '%s' has synchronisation: its tensors cannot be hoisted, because "
                          "that does not adjust it",
                          spad_kernel_get_name(sim->kernel));
    }
    spad__agents_run c = {.sim = sim};
    spad_status status = check_objects(sim->kernel, error);
    if (status == SPAD_OK) status = make_crowd(&c, error);
    if (status == SPAD_OK) status = run(&c, error);
    free_crowd(&c);
    return status;
}
