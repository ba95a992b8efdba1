/* SPDX-License-Identifier: Apache-2.0
 *
 * Lifetimes of a kernel whose agents and units run side by side.
 *
 * Without races every order that happens-before allows gives each read the same bytes, so
 * one is enough. It is the one in which an agent of choice, the clock, comes last:
 * everything else happens as soon as that agent has done what it needs. In front of
 * each iteration of the clock the state is then a cut (cut.h), and can be compared
 * with later ones.
 */
#include "base/assert.h"
#include "base/checked.h"
#include "check/live_ranges.h"
#include "check/mbarrier_storage.h"
#include "induction/cut.h"

/* A step of the replay: the clock reaches an event, an event starts, or both at once. */
typedef struct turn {
    int32_t clock;
    int32_t event;
    bool moves_clock;
    bool starts;
} turn;

typedef struct replay {
    spad__order *order;
    spad__run *run;
    spad__liveness *live;
    spad__cut cut;
    spad__mbarrier_storage storage;
    int64_t *values; /* per loop, of the event */
    int64_t *open;   /* loops of the clock that are open, the outermost first */
    int64_t *at;     /* and their values */
    int64_t *around; /* per loop: of the clock's event */
    size_t depth;
    bool late; /* time was up before all of it was replayed */
} replay;

/* ---- loops of the clock ------------------------------------------------------------ */

/* Costs as many steps as the kernel has events, so each state is a look at the clock. */
static spad_status write_state(void *context, const spad__watch *watch, size_t group,
                               int64_t periods, spad__state *state, spad_error *error) {
    replay *r = context;
    r->late = r->late || spad__is_late(r->run);
    const spad_status status = spad__cut_state(&r->cut, watch, group, periods, state, error);
    if (status != SPAD_OK) return status;
    spad__state_out out = {&r->order->graph.host, state, false};
    for (size_t i = 0; i < r->storage.items.count; i++) {
        spad__state_put(&out, r->storage.items.items[i].lost);
        spad__state_put(&out, r->storage.items.items[i].unsure);
    }
    if (out.failed) return spad__fail_host_memory(error);
    return spad__liveness_state(r->live, NULL, r->values, watch->induction, group, periods, state,
                                error);
}

static const spad_kernel_loop *loop_at(const replay *r, size_t depth) {
    return spad_kernel_get_loop(r->run->kernel, (size_t)r->open[depth]);
}

/* Heads of the iterations up to a value; those without events on the way too. */
static spad_status advance_to(replay *r, size_t depth, int64_t value, spad_error *error) {
    spad_status status = SPAD_OK;
    const int64_t begin = loop_at(r, depth)->begin.value;
    while (r->at[depth] < value && status == SPAD_OK && !r->late) {
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
        if (status != SPAD_OK || r->late) return status;
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
    return spad__liveness_event(r->live, &as_walked, r->values, error);
}

static spad_status replay_turns(replay *r, const turn *turns, size_t count, spad_error *error) {
    enum { TURNS_A_LOOK = 1024 }; /* at the clock */
    spad_status status = SPAD_OK;
    for (size_t i = 0; i < count && status == SPAD_OK; i++) {
        if (i % TURNS_A_LOOK == TURNS_A_LOOK - 1 && spad__is_late(r->run)) r->late = true;
        if (r->late) break;
        const spad__event *event = &r->order->events.items.items[turns[i].event];
        if (turns[i].moves_clock && r->run->watches != NULL && event->statement >= 0) {
            r->cut.index = turns[i].clock;
            status = move_clock(r, event, error);
        }
        if (status == SPAD_OK && turns[i].starts) status = replay_event(r, event, error);
        if (status == SPAD_OK && turns[i].starts) {
            status =
                spad__mbarrier_storage_event(&r->storage, r->order, r->run, turns[i].event, error);
        }
    }
    r->cut.index = INT32_MAX;
    if (status == SPAD_OK && r->run->watches != NULL) status = close_loops(r, 0, error);
    return status;
}

/* The turn of a point; false: it has none. An operation on a unit is issued, and starts later. */
static bool turn_of(const replay *r, int32_t point, turn *out) {
    const spad__order *order = r->order;
    const int32_t event = order->graph.points.items[point].event;
    if (event < 0) return false;
    const int32_t agent = order->events.items.items[event].agent;
    if (!spad__cut_has(&r->cut, (size_t)agent)) return false;
    *out = (turn){
        .clock = r->cut.clock[point],
        .event = event,
        .moves_clock = agent == r->cut.agent && point == order->graph.step[event],
        .starts = point == spad__event_graph_first(&order->graph, event),
    };
    return out->moves_clock || out->starts;
}

/* Turns by their clock, and those of one clock in the order of the run: sorted by counting.
 * next: one number per point, and two more, which are 0. O(points) */
static size_t list_turns(const replay *r, turn *turns, int32_t *next) {
    const spad__executor *executor = &r->order->executor;
    turn one;
    size_t count = 0;
    for (int32_t i = 0; i < executor->happened; i++) {
        if (!turn_of(r, executor->order[i], &one)) continue;
        next[one.clock + 1]++;
        count++;
    }
    for (size_t i = 1; i < r->order->graph.points.count + 2; i++) next[i] += next[i - 1];
    for (int32_t i = 0; i < executor->happened; i++) {
        if (turn_of(r, executor->order[i], &one)) turns[next[one.clock]++] = one;
    }
    return count;
}

/* Turns that there are at most. */
static size_t count_turns(const replay *r) {
    const spad__events *events = &r->order->events;
    size_t count = 1;
    for (size_t agent = 0; agent + 1 < events->firsts.count; agent++) {
        if (!spad__cut_has(&r->cut, agent)) continue;
        count += 2 * (events->firsts.items[agent + 1] - events->firsts.items[agent]);
    }
    return count;
}

/* ---- one pass ---------------------------------------------------------------------- */

/* Outputs are read at the end, where a walk knows which tensors are live. */
static spad_status read_outputs(replay *r, spad_error *error) {
    const spad_walk_options options = {
        .agent = SPAD_WALK_ALL, .layout = r->run->options->layout, .host = &r->run->check->host};
    spad_walk *walk;
    const spad_walk_event *event = NULL;
    if (!spad__liveness_has_outputs(r->live)) return SPAD_OK;
    spad_status status = spad__walk_create(&walk, r->run->kernel, &options, error);
    while (status == SPAD_OK && (event == NULL || event->kind != SPAD_WALK_END)) {
        status = spad_walk_next(&event, walk, error);
    }
    if (status == SPAD_OK) status = spad__liveness_outputs(r->live, walk, error);
    spad_walk_destroy(walk);
    return status;
}

static spad_status replay_in_order(replay *r, const turn *turns, size_t count, spad_error *error) {
    spad_status status = replay_turns(r, turns, count, error);
    if (r->late) r->order->run->gap = spad__time_is_up; /* also of a second replay */
    if (r->late || r->cut.sets != NULL || status != SPAD_OK) return status; /* states alone count */
    status = read_outputs(r, error);
    if (status == SPAD_OK)
        status = spad__mbarrier_storage_end(&r->storage, r->order, r->run, error);
    return status == SPAD_OK ? spad__liveness_finish(r->live, error) : status;
}

/* Which agents a replay has, and which one is its clock. */
typedef struct clock_choice {
    int64_t agent;
    const spad__agent_sets *sets; /* as in a cut */
    const int32_t *owner;
} clock_choice;

/* One replay with an agent as the clock; findings go to the check of the run. */
static spad_status replay_with(spad__order *order, spad__run *run, clock_choice choice,
                               spad_error *error) {
    const spad_host *host = &order->graph.host;
    const size_t loops = spad_kernel_loop_count(run->kernel) + 1;
    replay r = {
        .order = order,
        .run = run,
        .cut = {.order = order, .agent = choice.agent, .sets = choice.sets, .owner = choice.owner},
        .storage = {.events = &order->events}};
    const size_t turns = count_turns(&r);
    const size_t points = order->graph.points.count + 2;
    const int32_t point = order->graph.step[order->events.firsts.items[choice.agent]];
    const int32_t chain = order->execution_order.chain[point];
    spad_status status = spad__happens_before_run(&order->execution_order, chain, error);
    if (status != SPAD_OK) return status;
    r.cut.clock = order->execution_order.clocks[chain];
    int64_t *tables = spad__new_array(host, loops, 4 * sizeof *tables);
    turn *list = spad__new_array(host, turns, sizeof *list);
    int32_t *next = spad__new_array(host, points, sizeof *next);
    const bool fine = tables != NULL && list != NULL && next != NULL;
    status = fine ? SPAD_OK : spad__fail_host_memory(error);
    if (status == SPAD_OK)
        status = spad__mbarrier_storage_list(&r.storage, &order->events, run, error);
    if (status == SPAD_OK) status = spad__liveness_create(&r.live, run, error);
    if (status == SPAD_OK) {
        r.values = tables;
        r.open = tables + loops;
        r.at = tables + 2 * loops;
        r.around = tables + 3 * loops;
        status = replay_in_order(&r, list, list_turns(&r, list, next), error);
    }
    spad__liveness_destroy(r.live);
    spad__mbarrier_storage_free(&r.storage);
    spad__free(host, tables, 4 * loops * sizeof *tables);
    spad__free(host, list, turns * sizeof *list);
    spad__free(host, next, points * sizeof *next);
    return status;
}

/* ---- which agent is the clock ------------------------------------------------------ */

/* Has the agent a loop of every group that grows? */
static bool covers(const spad_kernel *kernel, const spad__induction *induction, int64_t agent) {
    for (size_t group = 0; group < induction->groups; group++) {
        bool found = false;
        for (size_t i = 0; i < spad_kernel_loop_count(kernel) && !found; i++) {
            const size_t head = spad_kernel_get_loop(kernel, i)->statement;
            found = induction->group[i] == (int32_t)group &&
                    spad_kernel_get_statement(kernel, head)->agent == agent;
        }
        if (!found) return false;
    }
    return true;
}

enum { WATCHES_MAX = SPAD__TRIPS_MAX + 1 };

/* State of each watch while agents are tried as the clock. */
typedef struct clock_search {
    spad__order *order;
    spad__run again; /* a second replay finds the same again */
    spad__agent_sets sets;
    int32_t *owner;            /* per object: the set that uses it; -1: none */
    bool open[WATCHES_MAX];    /* conditions allow it */
    bool done[WATCHES_MAX];    /* repeats for certain, or cannot */
    bool repeats[WATCHES_MAX]; /* for certain */
} clock_search;

static size_t count_watches(const clock_search *c) {
    return c->order->run->watches != NULL ? c->order->run->watches->count : 0;
}

/* Has every agent that does something in growing loops as many runs of them as the clock? Only
 * those of the clock are watched: a period in a further run would be left out of the proof. */
static bool has_all_runs(const clock_search *c, const spad__watch *watch, clock_choice choice) {
    if (choice.agent == 0) return true; /* no other agent has a loop that grows: covers() */
    const int32_t runs = spad__cut_count_runs(c->order, watch, (size_t)choice.agent);
    for (size_t a = 1; a < spad_kernel_agent_count(c->order->run->kernel); a++) {
        if (choice.sets != NULL && choice.sets->of[a] != choice.sets->of[choice.agent]) continue;
        const int32_t others = spad__cut_count_runs(c->order, watch, a);
        if (others > 0 && others != runs) return false;
    }
    return true;
}

/* The watches that an agent can be the clock of; false: there are none. The others are shut. */
static bool open_watches(const clock_search *c, clock_choice choice, const bool *done, bool *shut) {
    bool any = false;
    for (size_t i = 0; i < count_watches(c); i++) {
        spad__watch *watch = &c->order->run->watches->items[i];
        shut[i] = done[i] || !covers(c->order->run->kernel, watch->induction, choice.agent) ||
                  !has_all_runs(c, watch, choice);
        watch->failed = shut[i];
        any = any || !shut[i];
    }
    return any;
}

/* Replays with an agent as the clock. done: watches that need no more; those that repeat
 * themselves with this clock are added to it. */
static spad_status try_clock(clock_search *c, clock_choice choice, bool *done, spad_error *error) {
    bool shut[WATCHES_MAX];
    const bool first = choice.agent == 0;
    const size_t *events = &c->order->events.firsts.items[choice.agent];
    if (events[0] == events[1]) return SPAD_OK;
    if (!open_watches(c, choice, done, shut) && !first) return SPAD_OK;
    const spad_status status =
        replay_with(c->order, first ? c->order->run : &c->again, choice, error);
    for (size_t i = 0; i < count_watches(c); i++) {
        done[i] = done[i] || (!shut[i] && !c->order->run->watches->items[i].failed);
    }
    return status;
}

/* Agents that are tried as the clock: the first ones and the last ones, so that the cost of a shape
 * does not grow with the square of their number. Ends of a pipeline hold back all others. */
enum { CLOCKS_TRIED = 16 };

/* Tries the agents of a set (-1: all agents) in turn. */
static spad_status try_clocks(clock_search *c, int32_t set, bool *done, spad_error *error) {
    const size_t agents = spad_kernel_agent_count(c->order->run->kernel);
    const bool part = set >= 0;
    size_t members = 0;
    size_t number = 0;
    spad_status status = SPAD_OK;
    for (size_t a = 1; a < agents; a++) members += !part || c->sets.of[a] == set;
    for (size_t a = 1; a < agents && status == SPAD_OK; a++) {
        if (part && c->sets.of[a] != set) continue;
        number++;
        if (number > CLOCKS_TRIED / 2 && number + CLOCKS_TRIED / 2 < members + 1) continue;
        if (spad__is_late(c->order->run)) break;
        const clock_choice choice = {(int64_t)a, part ? &c->sets : NULL, c->owner};
        status = try_clock(c, choice, done, error);
    }
    return status;
}

/* ---- sets of agents ---------------------------------------------------------------- */

/* Sets of agents that share nothing, and the objects of each. */
static spad_status find_sets_of_agents(clock_search *c, spad_error *error) {
    const spad__order *o = c->order;
    const spad_host *host = &o->graph.host;
    const size_t objects = o->events.objects.count;
    size_t open = 0; /* all that are open track the same tensors */
    while (c->done[open]) open++;
    const spad__induction *induction = o->run->watches->items[open].induction;
    spad_status status = spad__agent_sets_find(&c->sets, o->run->kernel, o->run->options->layout,
                                               induction->tracked, host, error);
    if (status != SPAD_OK) return status;
    c->owner = spad__new_array(host, objects + 1, sizeof *c->owner);
    if (c->owner == NULL) return spad__fail_host_memory(error);
    for (size_t i = 0; i < objects; i++) c->owner[i] = -1;
    for (size_t i = 0; i < o->graph.actions.count; i++) {
        const spad__action *action = &o->graph.actions.items[i];
        const int32_t event = o->graph.points.items[action->point].event;
        const int32_t agent = o->events.items.items[event].agent;
        if (agent == 0) continue;
        spad__assert(c->owner[action->object] < 0 || c->owner[action->object] == c->sets.of[agent]);
        c->owner[action->object] = c->sets.of[agent];
    }
    return SPAD_OK;
}

static bool set_acts(const clock_search *c, int32_t set, const spad__induction *induction) {
    for (size_t a = 1; a < c->sets.agents; a++) {
        if (c->sets.of[a] != set) continue;
        if (spad__acts_in_growing_loop(c->order, induction, (int64_t)a, -1)) return true;
    }
    return false;
}

/* Every set that does something in a growing loop must repeat itself. */
static spad_status try_agent_sets(clock_search *c, spad_error *error) {
    spad_status status = SPAD_OK;
    bool open = true;
    for (int32_t set = 0; set < c->sets.count && open && status == SPAD_OK; set++) {
        bool done[WATCHES_MAX];
        for (size_t i = 0; i < count_watches(c); i++) {
            const spad__watch *watch = &c->order->run->watches->items[i];
            done[i] = c->done[i] || !set_acts(c, set, watch->induction);
        }
        status = try_clocks(c, set, done, error);
        open = false;
        for (size_t i = 0; i < count_watches(c); i++) {
            c->done[i] = c->done[i] || !done[i]; /* the set does not */
            open = open || !c->done[i];
        }
    }
    for (size_t i = 0; i < count_watches(c); i++) c->repeats[i] = c->repeats[i] || !c->done[i];
    return status;
}

/* ---- all --------------------------------------------------------------------------- */

static bool is_any_open(const clock_search *c) {
    for (size_t i = 0; i < count_watches(c); i++) {
        if (!c->done[i]) return true;
    }
    return false;
}

/* The main program as the clock, whose replay has the findings; then the agents. */
static spad_status search_clocks(clock_search *c, spad_error *error) {
    spad_status status = try_clock(c, (clock_choice){.agent = 0}, c->done, error);
    for (size_t i = 0; i < count_watches(c); i++) c->repeats[i] = c->open[i] && c->done[i];
    if (status != SPAD_OK || !is_any_open(c)) return status;
    status = find_sets_of_agents(c, error);
    if (status != SPAD_OK) return status;
    if (c->sets.count > 1) return try_agent_sets(c, error);
    status = try_clocks(c, -1, c->done, error);
    for (size_t i = 0; i < count_watches(c); i++) c->repeats[i] = c->open[i] && c->done[i];
    return status;
}

spad_status spad__order_lifetimes(spad__order *order, spad_error *error) {
    spad_check rest = {.host = order->graph.host};
    clock_search c = {.order = order, .again = *order->run, .sets.host = order->graph.host};
    const spad__watches *watches = order->run->watches;
    spad_status status = SPAD_OK;
    c.again.check = &rest;
    for (size_t i = 0; i < count_watches(&c); i++) {
        const spad__watch *watch = &watches->items[i];
        /* runs without events are not watched: their conditions must keep them so */
        c.open[i] = !watch->failed && spad__watch_may_repeat(watch, order->run->kernel);
        c.repeats[i] = c.open[i] && watches->items[i].ended;
        c.done[i] = !c.open[i] || c.repeats[i];
        if (c.done[i] || status != SPAD_OK) continue;
        status = spad__cut_number_runs(order, &watches->items[i], error);
    }
    if (status == SPAD_OK) status = search_clocks(&c, error);
    for (size_t i = 0; i < count_watches(&c); i++) {
        const spad__induction *induction = watches->items[i].induction;
        const bool idle = c.open[i] && !spad__acts_in_growing_loop(order, induction, -1, -1);
        watches->items[i].failed = !c.repeats[i] && !idle;
    }
    spad__free(&order->graph.host, c.owner, (order->events.objects.count + 1) * sizeof *c.owner);
    spad__agent_sets_free(&c.sets);
    spad__drop_findings(&rest);
    return status;
}
