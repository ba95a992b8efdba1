/* SPDX-License-Identifier: Apache-2.0
 *
 * Skipping what would only repeat, for kernels with synchronisation.
 *
 * When an agent begins an iteration of its outermost loop, everything that decides what
 * happens next is written down as a list of numbers: where each agent is, what every unit
 * has in its queue, what runs and for how long still, the state of every object. Times
 * count from now, iterations from that of the agent. If the list is one that was saved,
 * the stretch between will repeat: all agents move on by what they moved since, as
 * often as every one of them stays in its loop and no condition changes (repeat.c).
 * Agents that are inside of an iteration finish it first; it does the same for the
 * earlier value.
 *
 * A new list is saved after 1, 2, 4, 8 ... iterations, as in flow_repeat.c.
 */
#include <string.h>

#include "base/checked.h"
#include "kernel/kernel.h"
#include "sim/agents.h"

enum { NUMBERS_A_STEP = 8 }; /* that are written down and compared */

/* ---- the state --------------------------------------------------------------------- */

typedef struct capture {
    spad__agents_run *run;
    spad__numbers *out;
    bool failed; /* no memory */
} capture;

static void put_number(capture *l, int64_t number) {
    if (!spad__array_reserve(&l->run->sim->host, l->out, 1)) {
        l->failed = true;
        return;
    }
    l->out->items[l->out->count++] = number;
}

/* A row is compared by its statement. */
static void put_row(capture *l, int64_t row) {
    put_number(l, row >= 0 ? l->run->sim->rows.items[row].statement : -1);
}

static void put_cause(capture *l, const spad__cause *cause) {
    put_number(l, (int64_t)cause->kind);
    put_number(l, cause->object);
    put_number(l, cause->element);
    put_row(l, cause->row);
}

static int64_t outermost_loop(const spad_kernel *kernel, int64_t statement) {
    int64_t loop = kernel->statements.items[statement].loop;
    while (loop >= 0 && kernel->loops.items[loop].outer >= 0)
        loop = kernel->loops.items[loop].outer;
    return loop;
}

/* Where the outermost loop of an agent is. */
static int64_t value_of(const spad__runner *agent) {
    return agent->loop >= 0 ? spad_walk_get_values(agent->walk)[agent->loop] + agent->jump : 0;
}

static void put_task(capture *l, size_t number) {
    spad__agents_run *c = l->run;
    const spad__task *t = &c->tasks.items[number];
    const spad__runner *agent = &c->runners[t->agent];
    const int64_t *values = spad__task_values(c, number);
    const bool moves = outermost_loop(c->sim->kernel, t->row.statement) == agent->loop;
    put_number(l, t->row.statement);
    put_number(l, t->cost.busy);
    put_number(l, t->cost.startup);
    put_number(l, t->cost.latency);
    put_number(l, t->released);
    put_number(l, t->issued - c->now);
    put_cause(l, &t->cause);
    for (size_t i = 0; i < t->row.value_count; i++) {
        put_number(l, i == 0 && moves ? values[0] - value_of(agent) : values[i]);
    }
    if (t->group >= 0) {
        const size_t syncs = spad_kernel_sync_count(c->sim->kernel);
        const size_t at = (size_t)t->agent * syncs + (size_t)t->group;
        put_number(l, (int64_t)(c->objects.bundles[at].items.count - t->bundle));
    }
    for (size_t i = 0; i < t->completion_count; i++) {
        const spad_walk_completion *done = &c->completions.items[number * c->completions_each + i];
        put_number(l, done->element);
        put_number(l, done->amount);
    }
}

static void put_request(capture *l, const spad__request *r) {
    put_number(l, r->statement);
    put_number(l, r->object);
    put_number(l, r->element);
    put_number(l, r->change.amount);
    put_number(l, r->change.expect);
    put_number(l, r->change.kind == SPAD__ACTION_LEAVE);
    if (r->change.kind == SPAD__ACTION_LEAVE) {
        const spad__sim_object *o =
            spad__objects_get(&l->run->objects, r->agent, r->object, r->element);
        put_number(l, r->change.phase - o->sync.phase);
    }
}

static void put_position(capture *l, const spad__runner *agent) {
    const size_t depth = spad_walk_loop_count(agent->walk);
    put_number(l, agent->statement);
    put_number(l, agent->joins + 2 * (agent->held != NULL));
    put_number(l, (int64_t)depth);
    for (size_t d = 0; d < depth; d++) {
        const int64_t loop = spad_walk_get_loop(agent->walk, d);
        put_number(l, loop);
        if (d > 0) put_number(l, spad_walk_get_values(agent->walk)[loop]);
    }
}

static void put_runner(capture *l, size_t number) {
    const spad__agents_run *c = l->run;
    const spad__runner *r = &c->runners[number];
    put_row(l, r->row);
    put_cause(l, &r->cause);
    if (r->state == SPAD__WANTS || r->state == SPAD__WORKS) put_task(l, r->task);
    if (r->state == SPAD__WAITS && !r->joins) put_request(l, &r->request);
    if (number < c->agent_count) {
        put_position(l, r);
        return;
    }
    for (size_t i = r->head; i < r->queue.count; i++) {
        const spad__entry *e = &r->queue.items[i];
        put_number(l, e->issued - c->now);
        put_cause(l, &e->cause);
        if (e->is_task) {
            put_task(l, e->task);
        } else {
            put_request(l, &e->request);
        }
    }
}

/* Effects that are pending, in order. */
static void put_flights(capture *l) {
    spad__agents_run *c = l->run;
    for (size_t i = 0; i < c->flights.count; i++) {
        const spad__flight *f = &c->flights.items[i];
        put_number(l, (int64_t)f->runner);
        put_number(l, f->done - c->now);
        put_row(l, f->row);
        if (f->is_task) {
            put_task(l, f->task);
        } else {
            put_request(l, &f->request);
        }
    }
}

static void put_objects(capture *l) {
    const spad__objects *objects = &l->run->objects;
    for (size_t i = 0; i < objects->blocks * objects->object_count; i++) {
        const spad__sync_object *o = &objects->objects[i].sync;
        put_number(l, o->value);
        put_number(l, o->count);
        put_number(l, o->bytes);
        put_number(l, ((o->phase - o->base) & 1) + 2 * o->live);
        put_row(l, objects->objects[i].row);
        put_number(l, objects->objects[i].by_agent);
    }
    const size_t bundles = l->run->agent_count * spad_kernel_sync_count(l->run->sim->kernel);
    for (size_t i = 0; i < bundles; i++) {
        const spad__bundles *b = &objects->bundles[i];
        size_t first = b->done; /* what is complete since does not matter */
        while (first + 1 < b->items.count && b->items.items[first].running == 0) first++;
        put_number(l, (int64_t)(b->items.count - first));
        put_row(l, b->row - 1);
        for (size_t k = first; k < b->items.count; k++) put_number(l, b->items.items[k].running);
    }
}

static bool capture_light(spad__agents_run *c, spad__numbers *out) {
    capture l = {c, out, false};
    out->count = 0;
    put_number(&l, c->sim->totals.makespan - c->now);
    for (size_t i = 0; i < c->sim->part_count; i++) {
        put_number(&l, c->busy[i]);
        put_row(&l, c->last[i]);
    }
    for (size_t i = 0; i < c->count; i++) {
        const spad__runner *r = &c->runners[i];
        put_number(&l, (int64_t)r->state);
        const bool later = r->state == SPAD__WANTS || r->state == SPAD__WAKES;
        put_number(&l, later ? r->ready - c->now : 0);
        put_number(&l, r->state == SPAD__WANTS ? r->turn - c->now : 0);
        put_number(&l, r->state == SPAD__WORKS ? r->end - c->now : 0);
        put_number(&l, (int64_t)(r->queue.count - r->head));
    }
    return !l.failed;
}

static bool capture_heavy(spad__agents_run *c, spad__numbers *out) {
    capture l = {c, out, false};
    out->count = 0;
    for (size_t i = 0; i < c->count; i++) put_runner(&l, i);
    put_flights(&l);
    put_objects(&l);
    c->sim->steps += (int64_t)out->count / NUMBERS_A_STEP;
    return !l.failed;
}

static bool capture_agents(const spad__agents_run *c, spad__numbers *values, spad__numbers *loops) {
    values->count = loops->count = 0;
    if (!spad__array_reserve(&c->sim->host, values, c->agent_count) ||
        !spad__array_reserve(&c->sim->host, loops, c->agent_count)) {
        return false;
    }
    for (size_t i = 0; i < c->agent_count; i++) {
        values->items[values->count++] = value_of(&c->runners[i]);
        loops->items[loops->count++] = c->runners[i].loop;
    }
    return true;
}

/* ---- saving and skipping ----------------------------------------------------------- */

static bool save_ends(const spad__agents_run *c, spad__numbers *ends) {
    ends->count = 0;
    if (!spad__array_reserve(&c->sim->host, ends, c->count)) return false;
    for (size_t i = 0; i < c->count; i++) {
        ends->items[ends->count++] = c->runners[i].end - c->now;
    }
    return true;
}

/* Has a runner begun something since then? */
static bool has_run(const spad__agents_run *c, const spad__agents_snapshot *saved, size_t number) {
    return c->runners[number].row >= (int64_t)saved->rows;
}

/* Waiting is counted from these, so they must be the same to the moment, unless nothing ran
 * there since. */
static bool are_ends_same(const spad__agents_run *c, const spad__agents_snapshot *saved) {
    for (size_t i = 0; i < c->count; i++) {
        if (has_run(c, saved, i) && c->runners[i].end - c->now != saved->ends.items[i]) {
            return false;
        }
    }
    return true;
}

static bool save(spad__agents_run *c, spad__agents_snapshot *saved) {
    saved->valid = true;
    saved->now = c->now;
    saved->rows = c->sim->rows.count;
    return save_ends(c, &saved->ends) && capture_light(c, &saved->light) &&
           capture_heavy(c, &saved->state) && capture_agents(c, &saved->values, &saved->loops) &&
           spad__sim_copy_counts(c->sim, &saved->counts);
}

/* How often can the stretch since then be repeated, as far as one agent goes? */
static int64_t reach_of(spad__agents_run *c, const spad__agents_snapshot *saved, size_t number,
                        bool at_head) {
    const spad__runner *agent = &c->runners[number];
    if (agent->loop != saved->loops.items[number]) return 0;
    const int64_t now = value_of(agent);
    const int64_t moved = now - saved->values.items[number];
    if (agent->loop < 0 || moved == 0) return INT64_MAX;
    const spad__agents_loop *watch = &c->loop_states[agent->loop];
    if (!watch->period.repeats || moved % watch->period.period != 0) return 0;
    const int64_t next = at_head ? now : now + 1;
    if (next >= c->sim->kernel->loops.items[agent->loop].end.value) return 0;
    const int64_t reach =
        spad__period_reach(&watch->period, c->sim->kernel, agent->loop,
                           spad_walk_get_values(agent->walk), saved->values.items[number], next);
    return reach / (moved / watch->period.period);
}

static void move_values(spad__agents_run *c, const spad__agents_snapshot *saved, int64_t times) {
    for (size_t i = 0; i < c->tasks.count; i++) { /* those that ended do not matter */
        const spad__task *t = &c->tasks.items[i];
        const spad__runner *agent = &c->runners[t->agent];
        if (t->row.value_count == 0 ||
            outermost_loop(c->sim->kernel, t->row.statement) != agent->loop) {
            continue;
        }
        const int64_t moved = value_of(agent) - saved->values.items[t->agent];
        spad__task_values(c, i)[0] += moved * times;
    }
    for (size_t i = 0; i < c->agent_count; i++) {
        spad__runner *agent = &c->runners[i];
        if (agent->loop < 0) continue;
        agent->jump += (value_of(agent) - saved->values.items[i]) * times;
    }
}

static void move_times(spad__agents_run *c, const spad__agents_snapshot *saved, int64_t by) {
    c->now += by;
    for (size_t i = 0; i < c->tasks.count; i++) {
        c->tasks.items[i].issued += by;
        c->tasks.items[i].row.done += by;
    }
    for (size_t i = 0; i < c->flights.count; i++) c->flights.items[i].done += by;
    for (size_t i = 0; i < c->count; i++) {
        spad__runner *r = &c->runners[i];
        if (has_run(c, saved, i)) r->end += by;
        r->ready += by;
        r->turn += by;
        r->landed += by;
        for (size_t k = r->head; k < r->queue.count; k++) r->queue.items[k].issued += by;
    }
}

static spad_status skip(spad__agents_run *c, const spad__agents_snapshot *saved, size_t agent,
                        const spad_walk_event *event, int64_t times, spad_error *error) {
    spad_sim *sim = c->sim;
    const int64_t time = c->now - saved->now;
    const int64_t first = saved->values.items[agent];
    int64_t by;
    if (!spad__mul(time, times, &by) || !spad__sim_skip_time(sim, by) ||
        !spad__sim_repeat_counts(sim, &saved->counts, times)) {
        return spad__sim_fail_long(sim, event->statement, error);
    }
    if (!spad__array_reserve(&sim->host, &sim->repeats, 1)) return spad__fail_host_memory(error);
    sim->repeats.items[sim->repeats.count++] =
        (spad__sim_repeat){.loop = event->loop,
                           .value = first,
                           .period = value_of(&c->runners[agent]) - first,
                           .times = times,
                           .time = time,
                           .row = sim->rows.count};
    move_values(c, saved, times);
    move_times(c, saved, by);
    for (size_t i = 0; i < sim->kernel->loops.count; i++) c->loop_states[i].saved.valid = false;
    return SPAD_OK;
}

/* ---- the head of an iteration ------------------------------------------------------ */

static bool study_loops(spad__agents_run *c) {
    for (size_t i = 0; i < c->agent_count; i++) {
        const int64_t loop = c->runners[i].loop;
        if (loop < 0 || c->loop_states[loop].studied) continue;
        if (!spad__period_of(&c->loop_states[loop].period, &c->sim->host, c->sim->kernel, loop,
                             SPAD__BYTES_IGNORED)) {
            return false;
        }
        c->loop_states[loop].studied = true;
        c->loop_states[loop].patience = 1;
    }
    return true;
}

static bool is_same(const spad__numbers *a, const spad__numbers *b) {
    return a->count == b->count && memcmp(a->items, b->items, a->count * sizeof *a->items) == 0;
}

/* Is the state the saved one? *fine: memory was enough. */
static bool is_same_state(spad__agents_run *c, const spad__agents_snapshot *saved, bool *fine) {
    spad__numbers *now = &c->scratch;
    *fine = true;
    if (!are_ends_same(c, saved)) return false;
    *fine = capture_light(c, now);
    if (!*fine || !is_same(now, &saved->light)) return false;
    *fine = capture_heavy(c, now);
    return *fine && is_same(now, &saved->state);
}

/* How often everything can be repeated; 0: this state has not been. */
static spad_status times_of(spad__agents_run *c, const spad__agents_snapshot *saved, size_t agent,
                            int64_t *times, spad_error *error) {
    bool fine;
    *times = 0;
    if (is_same_state(c, saved, &fine)) {
        *times = INT64_MAX;
        for (size_t i = 0; i < c->agent_count; i++) {
            *times = spad__min(*times, reach_of(c, saved, i, i == agent));
        }
    }
    return fine ? SPAD_OK : spad__fail_host_memory(error);
}

spad_status spad__agents_repeat(spad__agents_run *c, size_t agent, const spad_walk_event *event,
                                spad_error *error) {
    if (c->sim->options.no_repeat || (int64_t)c->sim->rows.count < c->sim->options.repeat_after) {
        return SPAD_OK;
    }
    if (agent >= c->agents_each) return SPAD_OK; /* block 0 finds what repeats for all */
    if (!study_loops(c)) return spad__fail_host_memory(error);
    spad__agents_loop *watch = &c->loop_states[event->loop];
    if (!watch->period.repeats) return SPAD_OK;
    watch->seen++;
    if (watch->saved.valid && watch->seen % watch->period.period == 0) {
        int64_t times;
        const spad_status status = times_of(c, &watch->saved, agent, &times, error);
        if (status != SPAD_OK) return status;
        if (times > 0) return skip(c, &watch->saved, agent, event, times, error);
    }
    if (!watch->saved.valid || watch->seen >= watch->patience) {
        watch->patience = watch->saved.valid ? spad__max(watch->patience * 2, watch->period.period)
                                             : watch->period.period;
        watch->seen = 0;
        if (!save(c, &watch->saved)) return spad__fail_host_memory(error);
    }
    return SPAD_OK;
}

void spad__agents_free_loops(spad__agents_run *c) {
    const spad_host *host = &c->sim->host;
    const size_t count = c->sim->kernel->loops.count;
    for (size_t i = 0; c->loop_states != NULL && i < count; i++) {
        spad__agents_loop *watch = &c->loop_states[i];
        if (watch->studied) spad__period_free(&watch->period, host, c->sim->kernel);
        spad__array_free(host, &watch->saved.ends);
        spad__array_free(host, &watch->saved.light);
        spad__array_free(host, &watch->saved.state);
        spad__array_free(host, &watch->saved.values);
        spad__array_free(host, &watch->saved.loops);
        spad__array_free(host, &watch->saved.counts);
    }
    spad__array_free(host, &c->scratch);
    spad__free(host, c->loop_states, (count + 1) * sizeof *c->loop_states);
}
