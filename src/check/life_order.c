/* SPDX-License-Identifier: Apache-2.0
 *
 * Lifetimes of a kernel whose agents and units run side by side.
 *
 * Without races every order that the model allows gives each read the same bytes, so
 * one is enough. It is the one in which an agent of choice, the clock, comes last:
 * everything else happens as soon as that agent has done what it needs. In front of
 * each iteration of the clock the state is then a cut (cut.h), and can be compared
 * with later ones.
 */
#include <stdlib.h>

#include "check/cut.h"
#include "check/held.h"
#include "check/life.h"

/* What happens next: the clock reaches an event, an event starts, or both at once. */
typedef struct turn {
    int32_t clock;
    int32_t rank;
    int32_t event;
    bool moves_clock;
    bool starts;
} turn;

typedef struct replay {
    spad__order *order;
    spad__run *run;
    spad__life *life;
    spad__cut cut;
    spad__held_bytes held;
    int64_t *values; /* per loop, of the event */
    int64_t *open;   /* loops of the clock that are open, the outermost first */
    int64_t *at;     /* and their values */
    int64_t *around; /* per loop: of the clock's event */
    size_t depth;
} replay;

/* ---- loops of the clock ------------------------------------------------------------ */

static spad_status write_state(void *context, const spad__watch *watch, size_t group,
                               int64_t periods, spad__state *state, spad_error *error) {
    const replay *r = context;
    const spad_status status = spad__cut_state(&r->cut, watch, group, periods, state, error);
    if (status != SPAD_OK) return status;
    spad__state_out out = {&r->order->net.host, state, false};
    for (size_t i = 0; i < r->held.items.count; i++) {
        spad__state_put(&out, r->held.items.items[i].lost);
        spad__state_put(&out, r->held.items.items[i].unsure);
    }
    if (out.failed) return spad__fail_host_memory(error);
    return spad__life_state(r->life, NULL, r->values, watch->growth, group, periods, state, error);
}

static const spad_kernel_loop *loop_at(const replay *r, size_t depth) {
    return spad_kernel_get_loop(r->run->kernel, (size_t)r->open[depth]);
}

/* Heads of the iterations up to a value; those without events on the way too. */
static spad_status advance_to(replay *r, size_t depth, int64_t value, spad_error *error) {
    spad_status status = SPAD_OK;
    const int64_t begin = loop_at(r, depth)->begin.value;
    while (r->at[depth] < value && status == SPAD_OK) {
        status = spad__watch_iteration(r->run->watches, r->open[depth], ++r->at[depth] - begin,
                                       (spad__state_of){write_state, r}, error);
    }
    return status;
}

/* The iterations that are left have no events. */
static spad_status close_loops(replay *r, size_t depth, spad_error *error) {
    spad_status status = SPAD_OK;
    while (r->depth > depth && status == SPAD_OK) {
        const spad_kernel_loop *loop = loop_at(r, r->depth - 1);
        status = advance_to(r, r->depth - 1, loop->end.value - 1, error);
        if (status != SPAD_OK) return status;
        status = spad__watch_end(r->run->watches, r->open[--r->depth],
                                 loop->end.value - loop->begin.value,
                                 (spad__state_of){write_state, r}, error);
    }
    return status;
}

/* The clock reaches an event: closes loops that it left, continues in those it stays in, opens
 * the others. */
static spad_status move_clock(replay *r, const spad__event *event, spad_error *error) {
    const spad_kernel *kernel = r->run->kernel;
    int64_t loops[SPAD__LOOPS_DEEP];
    const size_t depth = spad__loops_around(kernel, event->statement, loops);
    const int64_t *values = depth > 0 ? &r->order->events.values.items[event->first_value] : NULL;
    size_t same = 0;
    while (same < depth && same < r->depth && r->open[same] == loops[same] &&
           r->at[same] == values[same]) {
        same++;
    }
    const bool goes_on = same < depth && same < r->depth && r->open[same] == loops[same] &&
                         r->at[same] < values[same];
    spad_status status = close_loops(r, same + goes_on, error);
    for (size_t d = 0; d < depth; d++) r->around[loops[d]] = values[d];
    if (status == SPAD_OK && goes_on) status = advance_to(r, same, values[same], error);
    for (size_t d = same + goes_on; d < depth && status == SPAD_OK; d++) {
        r->open[d] = loops[d];
        r->at[d] = spad_kernel_get_loop(kernel, (size_t)loops[d])->begin.value - 1;
        r->depth = d + 1;
        spad__watch_begin(r->run->watches, loops[d], r->around);
        status = advance_to(r, d, values[d], error);
    }
    return status;
}

/* ---- events ------------------------------------------------------------------------ */

static spad_status replay_event(replay *r, const spad__event *event, spad_error *error) {
    const spad__events *events = &r->order->events;
    if (event->statement < 0) return SPAD_OK;
    int64_t loops[SPAD__LOOPS_DEEP];
    const size_t depth = spad__loops_around(r->run->kernel, event->statement, loops);
    for (size_t d = 0; d < depth; d++) {
        r->values[loops[d]] = events->values.items[event->first_value + d];
    }
    const spad_walk_event as_walked = {
        .kind = event->kind,
        .statement = event->statement,
        .agent = event->agent,
        .tensor = event->tensor,
        .tile = event->tile,
        .access_count = event->kind == SPAD_WALK_OPERATION ? event->access_count : 0,
        .accesses = event->access_count > 0 ? &events->accesses.items[event->first_access] : NULL};
    return spad__life_event(r->life, &as_walked, r->values, error);
}

static int compare_turns(const void *left, const void *right) {
    const turn *a = left;
    const turn *b = right;
    if (a->clock != b->clock) return a->clock < b->clock ? -1 : 1;
    return (a->rank > b->rank) - (a->rank < b->rank);
}

static spad_status replay_turns(replay *r, const turn *turns, size_t count, spad_error *error) {
    spad_status status = SPAD_OK;
    for (size_t i = 0; i < count && status == SPAD_OK; i++) {
        const spad__event *event = &r->order->events.items.items[turns[i].event];
        if (turns[i].moves_clock && r->run->watches != NULL && event->statement >= 0) {
            r->cut.index = turns[i].clock;
            status = move_clock(r, event, error);
        }
        if (status == SPAD_OK && turns[i].starts) status = replay_event(r, event, error);
        if (status == SPAD_OK && turns[i].starts) {
            status = spad__held_event(&r->held, r->order, r->run, turns[i].event, error);
        }
    }
    r->cut.index = INT32_MAX;
    if (status == SPAD_OK && r->run->watches != NULL) status = close_loops(r, 0, error);
    return status;
}

/* An operation on a unit is issued, and starts later. */
static size_t list_turns(const replay *r, turn *turns) {
    const spad__order *order = r->order;
    size_t count = 0;
    for (size_t i = 0; i < order->events.items.count; i++) {
        const int32_t step = order->net.step[i];
        const int32_t start = spad__net_first(&order->net, (int32_t)i);
        const bool moves = order->events.items.items[i].agent == r->cut.agent;
        if (moves || step == start) {
            turns[count++] = (turn){.clock = r->cut.clock[step],
                                    .rank = order->rank[step],
                                    .event = (int32_t)i,
                                    .moves_clock = moves,
                                    .starts = step == start};
        }
        if (step != start) {
            turns[count++] = (turn){.clock = r->cut.clock[start],
                                    .rank = order->rank[start],
                                    .event = (int32_t)i,
                                    .starts = true};
        }
    }
    qsort(turns, count, sizeof *turns, compare_turns);
    return count;
}

/* ---- one pass ---------------------------------------------------------------------- */

/* Outputs are read at the end, where a walk knows what is alive. */
static spad_status read_outputs(replay *r, spad_error *error) {
    const spad_walk_options options = {
        .agent = SPAD_WALK_ALL, .layout = r->run->options->layout, .host = &r->run->check->host};
    spad_walk *walk;
    const spad_walk_event *event = NULL;
    spad_status status = spad__walk_create(&walk, r->run->kernel, &options, error);
    while (status == SPAD_OK && (event == NULL || event->kind != SPAD_WALK_END)) {
        status = spad_walk_next(&event, walk, error);
    }
    if (status == SPAD_OK) status = spad__life_outputs(r->life, walk, error);
    spad_walk_destroy(walk);
    return status;
}

static spad_status replay_in_order(replay *r, turn *turns, spad_error *error) {
    spad_status status = replay_turns(r, turns, list_turns(r, turns), error);
    if (status == SPAD_OK) status = read_outputs(r, error);
    if (status == SPAD_OK) status = spad__held_end(&r->held, r->order, r->run, error);
    return status == SPAD_OK ? spad__life_finish(r->life, error) : status;
}

/* One replay with an agent as the clock; findings go to the check of the run. */
static spad_status replay_with(spad__order *order, spad__run *run, int64_t agent,
                               spad_error *error) {
    const spad_host *host = &order->net.host;
    const size_t loops = spad_kernel_loop_count(run->kernel) + 1;
    const size_t turns = 2 * order->events.items.count + 1;
    replay r = {.order = order,
                .run = run,
                .cut = {.order = order, .agent = agent},
                .held = {.events = &order->events}};
    const int32_t point = order->net.step[order->events.firsts.items[agent]];
    const int32_t chain = order->model.chain[point];
    spad_status status = spad__causes_run(&order->model, chain, error);
    if (status != SPAD_OK) return status;
    r.cut.clock = order->model.clocks[chain];
    int64_t *tables = spad__new_array(host, loops, 4 * sizeof *tables);
    turn *list = spad__new_array(host, turns, sizeof *list);
    status = tables != NULL && list != NULL ? SPAD_OK : spad__fail_host_memory(error);
    if (status == SPAD_OK) status = spad__held_list(&r.held, &order->events, run, error);
    if (status == SPAD_OK) status = spad__life_create(&r.life, run, error);
    if (status == SPAD_OK) {
        r.values = tables;
        r.open = tables + loops;
        r.at = tables + 2 * loops;
        r.around = tables + 3 * loops;
        status = replay_in_order(&r, list, error);
    }
    spad__life_destroy(r.life);
    spad__held_free(&r.held);
    spad__free(host, tables, 4 * loops * sizeof *tables);
    spad__free(host, list, turns * sizeof *list);
    return status;
}

/* ---- which agent is the clock ------------------------------------------------------ */

/* Has the agent a loop of every group that grows? */
static bool covers(const spad_kernel *kernel, const spad__growth *growth, int64_t agent) {
    for (size_t group = 0; group < growth->groups; group++) {
        bool found = false;
        for (size_t i = 0; i < spad_kernel_loop_count(kernel) && !found; i++) {
            const size_t head = spad_kernel_get_loop(kernel, i)->statement;
            found = growth->group[i] == (int32_t)group &&
                    spad_kernel_get_statement(kernel, head)->agent == agent;
        }
        if (!found) return false;
    }
    return true;
}

/* The watches that an agent can be the clock of; false: there are none. The others are shut. */
static bool open_watches(spad__order *order, int64_t agent, const bool *done, bool *shut) {
    spad__watches *watches = order->run->watches;
    bool any = false;
    for (size_t i = 0; watches != NULL && i < watches->count; i++) {
        spad__watch *watch = &watches->items[i];
        shut[i] = done[i] || !covers(order->run->kernel, watch->growth, agent);
        watch->failed = shut[i];
        any = any || !shut[i];
    }
    return any;
}

/* Agents that are tried as the clock: the first ones and the last ones, so that the cost of a shape
 * does not grow with the square of their number. Ends of a pipeline hold back all others. */
enum { CLOCKS_TRIED = 16 };

spad_status spad__order_lifetimes(spad__order *order, spad_error *error) {
    spad__watches *watches = order->run->watches;
    bool done[SPAD__TRIPS_MAX] = {false}; /* repeats for certain, or cannot */
    bool open[SPAD__TRIPS_MAX] = {false}; /* conditions allow it */
    bool repeats[SPAD__TRIPS_MAX] = {false};
    bool shut[SPAD__TRIPS_MAX];
    for (size_t i = 0; watches != NULL && i < watches->count; i++) {
        done[i] = watches->items[i].failed;
        open[i] = !done[i];
        repeats[i] = open[i] && watches->items[i].ended;
        done[i] = done[i] || repeats[i];
        if (done[i]) continue;
        const spad_status status = spad__cut_number_runs(order, &watches->items[i], error);
        if (status != SPAD_OK) return status;
    }
    spad_check rest = {.host = order->net.host}; /* what a second replay finds again */
    spad__run again = *order->run;
    again.check = &rest;
    spad_status status = SPAD_OK;
    const size_t agents = spad_kernel_agent_count(order->run->kernel);
    for (size_t a = 0; a < agents && status == SPAD_OK; a++) {
        const bool first = a == 0;
        if (a > CLOCKS_TRIED / 2 && a + CLOCKS_TRIED / 2 < agents) continue;
        if (order->events.firsts.items[a] == order->events.firsts.items[a + 1]) continue;
        if (!open_watches(order, (int64_t)a, done, shut) && !first) continue;
        status = replay_with(order, first ? order->run : &again, (int64_t)a, error);
        for (size_t i = 0; watches != NULL && i < watches->count; i++) {
            if (shut[i] || watches->items[i].failed) continue;
            repeats[i] = done[i] = true;
        }
    }
    for (size_t i = 0; watches != NULL && i < watches->count; i++) {
        const bool idle = open[i] && !spad__acts_in_growth(order, watches->items[i].growth, -1, -1);
        watches->items[i].failed = !repeats[i] && !idle;
    }
    spad__drop_findings(&rest);
    return status;
}
