/* SPDX-License-Identifier: Apache-2.0
 *
 * The state of a cut.
 */
#include "check/cut.h"

#include "base/checked.h"
#include "check/threads.h"
#include "kernel/kernel.h"

typedef struct writer {
    const spad__cut *cut;
    const spad__watch *watch;
    int32_t group;
    int64_t periods;
    int64_t run; /* of the growing loop that the clock is in; -1: not known */
    spad__state_out out;
} writer;

static void put(writer *w, int64_t number) {
    spad__state_put(&w->out, number);
}

/* Makes the state one that never comes back. */
static void make_unique(writer *w) {
    put(w, w->periods);
}

static bool happened(const writer *w, int32_t point) {
    return w->cut->clock[point] < w->cut->index;
}

/* ---- events ------------------------------------------------------------------------ */

/* The places of the cursors of its agent, as the event finds them. */
static void put_cursors(writer *w, const spad__event *event, size_t depth) {
    const spad__events *events = &w->cut->order->events;
    size_t at = event->first_value + depth;
    for (size_t i = 0; i < spad_kernel_cursor_count(events->kernel); i++) {
        if (spad__has_cursor(events->kernel, event->agent, i)) put(w, events->values.items[at++]);
    }
}

/* An event by its statement and the values of the loops around it. Returns the growing loop of
 * the group around it, -1: none, and its iteration. */
static int64_t put_event(writer *w, const spad__event *event, int64_t *iteration) {
    const spad__events *events = &w->cut->order->events;
    const spad__growth *growth = w->watch->growth;
    int64_t growing = -1;
    put(w, event->statement);
    if (event->statement < 0) return -1;
    int64_t loops[SPAD__LOOPS_DEEP];
    const size_t depth = spad__loops_around(events->kernel, event->statement, loops);
    for (size_t d = 0; d < depth; d++) {
        int64_t value = events->values.items[event->first_value + d];
        if (growth->group[loops[d]] == w->group) {
            growing = loops[d];
            *iteration = value - events->kernel->loops.items[growing].begin.value;
            value -= growth->extra[growing] * w->periods;
        }
        put(w, value);
    }
    if (growth->holds_cursors) put_cursors(w, event, depth);
    return growing;
}

static size_t number_of_event(const writer *w, const spad__event *event) {
    return (size_t)(event - w->cut->order->events.items.items);
}

/* The number of the run of a growing loop that an event is in. False: not known. */
static bool run_of(const writer *w, const spad__event *event, int64_t loop, int64_t *run) {
    const spad__growth *growth = w->watch->growth;
    const spad__events *events = &w->cut->order->events;
    if (!growth->counted[loop]) return false;
    const spad__form *form = &growth->runs[loop];
    int64_t loops[SPAD__LOOPS_DEEP];
    const size_t depth = spad__loops_around(events->kernel, event->statement, loops);
    *run = form->constant;
    for (size_t i = 0; i < form->count; i++) {
        for (size_t d = 0; d < depth; d++) {
            if (loops[d] != form->loops[i]) continue;
            *run += form->factors[i] * events->values.items[event->first_value + d];
        }
    }
    return true;
}

/* Is an event in another run than the one before it of its agent? Runs are by their loop and the
 * values of those around it. */
static bool begins_run(const spad__events *events, const spad__event *before,
                       const spad__event *event, int64_t loop, const spad__growth *growth) {
    int64_t loops[SPAD__LOOPS_DEEP];
    if (before == NULL || growth->inside[before->statement] != loop) return true;
    const size_t depth = spad__loops_around(events->kernel, event->statement, loops);
    for (size_t d = 0; d < depth && loops[d] != loop; d++) { /* both have the same around it */
        if (events->values.items[event->first_value + d] !=
            events->values.items[before->first_value + d]) {
            return true;
        }
    }
    return false;
}

/* Runs of growing loops while they are numbered. */
typedef struct run_numbers {
    const spad__events *events;
    spad__watch *watch;
    int64_t *values;             /* per loop: scratch */
    SPAD_ARRAY(int64_t) lengths; /* of the runs of the first agent, where each grows by itself */
    int32_t total;               /* of agents with runs; 0: none so far */
} run_numbers;

/* How long the run of an event is, where runs grow each by itself: below `keep` it does not. */
static int64_t length_of_run(const run_numbers *n, const spad__event *event, int64_t loop) {
    int64_t loops[SPAD__LOOPS_DEEP];
    const size_t depth = spad__loops_around(n->events->kernel, event->statement, loops);
    for (size_t d = 0; d < depth; d++) {
        n->values[loops[d]] = n->events->values.items[event->first_value + d];
    }
    return spad__growth_run_length(n->watch->growth, n->events->kernel, loop, n->values);
}

/* A run with a number must be as long for every agent, so that all get as many periods. */
static bool note_length(run_numbers *n, const spad_host *host, size_t run, int64_t length) {
    if (run < n->lengths.count) {
        if (n->lengths.items[run] != length) n->watch->same_runs = false;
        return true;
    }
    if (!spad__array_reserve(host, &n->lengths, 1)) return false;
    n->lengths.items[n->lengths.count++] = length;
    return true;
}

static bool number_runs_of(run_numbers *n, const spad_host *host, size_t agent) {
    const spad__growth *growth = n->watch->growth;
    const spad__event *before = NULL;
    int32_t runs = 0;
    const size_t *firsts = n->events->firsts.items;
    for (size_t e = firsts[agent]; e < firsts[agent + 1]; e++) {
        const spad__event *event = &n->events->items.items[e];
        const int64_t loop = event->statement >= 0 ? growth->inside[event->statement] : -1;
        n->watch->runs[e] = -1;
        if (loop < 0) continue;
        const int64_t length = growth->rounds != NULL ? length_of_run(n, event, loop) : 0;
        if (growth->rounds != NULL && length < growth->keep) continue;
        if (begins_run(n->events, before, event, loop, growth)) {
            if (growth->rounds != NULL && !note_length(n, host, (size_t)runs, length)) return false;
            runs++;
        }
        n->watch->runs[e] = runs;
        before = event;
    }
    if (runs > 0 && n->total > 0 && runs != n->total) n->watch->same_runs = false;
    if (runs > 0) n->total = runs;
    return true;
}

/* Every run with events gets a period when the parameter grows. If the clock repeats itself in each
 * of its runs, with all others in their run of the same number, then each run gets one. */
spad_status spad__cut_number_runs(const spad__order *order, spad__watch *watch, spad_error *error) {
    const spad_host *host = &order->net.host;
    const size_t count = order->events.items.count;
    const size_t loops = spad_kernel_loop_count(order->events.kernel) +
                         spad_kernel_cursor_count(order->events.kernel) + 1;
    if (!watch->growth->walked || watch->runs != NULL || count == 0) return SPAD_OK;
    watch->runs = spad__new_array(host, count, sizeof *watch->runs);
    if (watch->runs == NULL) return spad__fail_host_memory(error);
    watch->run_count = count;
    watch->same_runs = true;
    run_numbers n = {.events = &order->events, .watch = watch};
    n.values = spad__new_array(host, loops, sizeof *n.values);
    bool fine = n.values != NULL;
    for (size_t agent = 0; fine && agent + 1 < order->events.firsts.count; agent++) {
        fine = number_runs_of(&n, host, agent);
    }
    spad__free(host, n.values, loops * sizeof *n.values);
    spad__array_free(host, &n.lengths);
    return fine ? SPAD_OK : spad__fail_host_memory(error);
}

/* Are an agent and the clock in the same run, so that a period in each is one more period of that
 * run for both? Where runs cannot be counted it must be that nothing carries on. */
static bool is_in_same_run(const writer *w, const spad__event *event, int64_t loop) {
    int64_t run;
    if (w->watch->runs != NULL) {
        return w->watch->same_runs && !w->watch->growth->carries &&
               w->watch->runs[number_of_event(w, event)] == w->run;
    }
    if (!run_of(w, event, loop, &run)) return !w->watch->growth->carries;
    return run == w->run;
}

bool spad__acts_in_growth(const spad__order *order, const spad__growth *growth, int64_t agent,
                          int64_t group) {
    const spad__events *events = &order->events;
    const size_t from = agent >= 0 ? events->firsts.items[agent] : 0;
    const size_t to = agent >= 0 ? events->firsts.items[agent + 1] : events->items.count;
    for (size_t e = from; e < to; e++) {
        const int64_t statement = events->items.items[e].statement;
        const int64_t loop = statement >= 0 ? growth->inside[statement] : -1;
        if (loop >= 0 && (group < 0 || growth->group[loop] == group)) return true;
    }
    return false;
}

/* Where an agent stands: at the first event of which nothing has happened. One that does something
 * in a growing loop (`acts`) must be in it, where its conditions allow it to be repeated. */
static void put_place(writer *w, int64_t agent, const spad__event *event, bool acts) {
    int64_t loop = -1;
    int64_t iteration = 0;
    put(w, agent);
    if (event != NULL) loop = put_event(w, event, &iteration);
    if (!acts) return;
    if (loop < 0 || iteration < w->watch->windows[loop].steady ||
        iteration > w->watch->windows[loop].fixed || !is_in_same_run(w, event, loop)) {
        make_unique(w);
    }
}

static void put_agent(writer *w, int64_t agent, const spad__event *event) {
    const bool acts = agent != w->cut->agent &&
                      spad__acts_in_growth(w->cut->order, w->watch->growth, agent, w->group);
    put_place(w, agent, event, acts);
}

/* The first event of an agent that has not happened; NULL: none. Those that have are in front of
 * it. */
static const spad__event *next_event(const writer *w, size_t agent) {
    const spad__events *events = &w->cut->order->events;
    const spad__net *net = &w->cut->order->net;
    size_t low = events->firsts.items[agent];
    size_t high = events->firsts.items[agent + 1];
    const size_t end = high;
    while (low < high) {
        const size_t middle = low + (high - low) / 2;
        if (happened(w, net->step[middle])) {
            low = middle + 1;
        } else {
            high = middle;
        }
    }
    return low < end ? &events->items.items[low] : NULL;
}

/* The same for the other threads of an agent that elects one. */
static const spad__event *next_of_others(const writer *w, size_t agent) {
    const spad__order *o = w->cut->order;
    const int32_t base = o->model.others_base;
    for (size_t e = o->events.firsts.items[agent]; e < o->events.firsts.items[agent + 1]; e++) {
        const int32_t step = o->others.step[e];
        if (step >= 0 && !happened(w, base + step)) return &o->events.items.items[e];
    }
    return NULL;
}

/* Have they something to do in a growing loop of the group? */
static bool others_act_in_growth(const writer *w, size_t agent) {
    const spad__order *o = w->cut->order;
    const spad__growth *growth = w->watch->growth;
    for (size_t e = o->events.firsts.items[agent]; e < o->events.firsts.items[agent + 1]; e++) {
        const int64_t statement = o->events.items.items[e].statement;
        const int64_t loop = statement >= 0 ? growth->inside[statement] : -1;
        if (o->others.step[e] >= 0 && loop >= 0 && growth->group[loop] == w->group) return true;
    }
    return false;
}

/* The run of a growing loop that the clock is in. */
static void find_clock_run(writer *w) {
    const spad__event *event = next_event(w, (size_t)w->cut->agent);
    w->run = -1;
    if (event == NULL || event->statement < 0) return;
    const int64_t loop = w->watch->growth->inside[event->statement];
    int64_t run;
    if (loop < 0 || w->watch->growth->group[loop] != w->group) return;
    if (w->watch->runs != NULL) {
        w->run = w->watch->runs[number_of_event(w, event)];
        return;
    }
    if (run_of(w, event, loop, &run)) w->run = run;
}

/* Points of an event are together, events of an agent too. */
static void put_agents(writer *w) {
    const spad__events *events = &w->cut->order->events;
    for (size_t agent = 0; agent + 1 < events->firsts.count; agent++) {
        put_agent(w, (int64_t)agent, next_event(w, agent));
    }
}

/* Events that have begun and are not over: issued, waiting inside of `sync`, running. */
static void put_under_way(writer *w) {
    const spad__net *net = &w->cut->order->net;
    const spad__events *events = &w->cut->order->events;
    for (size_t i = 0; i < net->points.count; i++) {
        const spad__point *point = &net->points.items[i];
        if (point->event < 0 || happened(w, (int32_t)i)) continue;
        if (!happened(w, net->step[point->event])) continue;
        int64_t iteration;
        put_event(w, &events->items.items[point->event], &iteration);
        put(w, point->kind);
    }
}

/* The same for the other threads: they are agents of their own, also beside the clock. */
static void put_others(writer *w) {
    const spad__order *o = w->cut->order;
    const int32_t base = o->model.others_base;
    for (size_t agent = 1; agent + 1 < o->events.firsts.count; agent++) {
        if (!spad__agent_elects(o->events.kernel, (int64_t)agent)) continue;
        put_place(w, (int64_t)agent, next_of_others(w, agent), others_act_in_growth(w, agent));
    }
    for (size_t i = 0; i < o->others.points.count; i++) {
        const spad__point *point = &o->others.points.items[i];
        if (point->event < 0 || happened(w, base + (int32_t)i)) continue;
        if (!happened(w, base + o->others.step[point->event])) continue;
        int64_t iteration;
        put_event(w, &o->events.items.items[point->event], &iteration);
        put(w, point->kind);
    }
}

/* ---- objects ----------------------------------------------------------------------- */

/* What has gone into an object. */
typedef struct sums {
    int64_t given; /* signals, contributions, arrivals */
    int64_t taken;
    int64_t bytes; /* expected less delivered */
    int64_t lives; /* init less invalidate */
} sums;

static int64_t complete_phases(const writer *w, int32_t object) {
    const spad__causes *model = &w->cut->order->model;
    int64_t phases = 0;
    for (int32_t p = model->phase_base[object]; p < model->phase_base[object + 1]; p++) {
        phases += happened(w, p);
    }
    return phases;
}

static void add_action(sums *s, const spad__action *action, int64_t phases) {
    const bool open = action->phase > phases; /* counts for a phase that is not complete */
    switch (action->kind) {
    case SPAD__ACTION_SIGNAL: s->given += action->amount; break;
    case SPAD__ACTION_TAKE: s->taken += action->amount; break;
    case SPAD__ACTION_ENTER: s->given += open ? action->amount : 0; break;
    case SPAD__ACTION_ARRIVE:
        s->given += open ? action->amount : 0;
        s->bytes += open ? action->expect : 0;
        break;
    case SPAD__ACTION_EXPECT: s->bytes += open ? action->amount : 0; break;
    case SPAD__ACTION_DELIVER: s->bytes -= open ? action->amount : 0; break;
    case SPAD__ACTION_INIT: s->lives++; break;
    case SPAD__ACTION_INVALIDATE: s->lives--; break;
    default: break;
    }
}

/* Is there a statement in a growing loop that begins or ends the life of an object of this
 * declaration (-1: any)? */
static bool lives_in_loop(const writer *w, int64_t sync) {
    const spad_kernel *kernel = w->cut->order->events.kernel;
    for (size_t i = 0; i < spad_kernel_statement_count(kernel); i++) {
        const spad_statement *s = spad_kernel_get_statement(kernel, i);
        const bool life = s->kind == SPAD_STATEMENT_INIT || s->kind == SPAD_STATEMENT_INVALIDATE;
        if (life && w->watch->growth->inside[i] >= 0 && (sync < 0 || s->item == sync)) return true;
    }
    return false;
}

/* Arrivals that leave for all later phases are not in the sums. */
static bool drops_in_loop(const writer *w) {
    const spad_kernel *kernel = w->cut->order->events.kernel;
    for (size_t i = 0; i < spad_kernel_statement_count(kernel); i++) {
        const spad_statement *s = spad_kernel_get_statement(kernel, i);
        if ((s->flags & SPAD_SYNC_DROP) != 0 && w->watch->growth->inside[i] >= 0) return true;
    }
    return false;
}

/* An mbarrier whose lives begin and end in the loop. Between two of them, with nothing that counts
 * for a phase that was left open, it has no state: an init gives it all of its values, and any
 * other use is an error. In the middle of a life its phases would have to be counted from its
 * init: such a cut is no place to repeat from. */
static void put_lives(writer *w, const sums *s) {
    if (s->lives != 0 || s->given != 0 || s->bytes != 0) make_unique(w);
}

static void put_object(writer *w, int32_t object) {
    const spad__order *order = w->cut->order;
    const spad__object *o = &order->events.objects.items[object];
    const bool counter = o->kind == SPAD_SYNC_COUNTER;
    const int64_t phases = counter ? 0 : complete_phases(w, object);
    sums s = {0};
    for (int32_t i = order->first_action[object]; i < order->first_action[object + 1]; i++) {
        const spad__action *action = &order->net.actions.items[order->actions[i]];
        if (happened(w, action->point)) add_action(&s, action, phases);
    }
    if (o->kind == SPAD_SYNC_MBARRIER && lives_in_loop(w, o->sync)) {
        put_lives(w, &s);
        return;
    }
    const spad__growth *growth = w->watch->growth;
    const size_t syncs = spad_kernel_sync_count(order->events.kernel);
    const int64_t raised = growth->raise[(size_t)w->group * syncs + (size_t)o->sync] * w->periods;
    put(w, s.given - (counter ? s.taken + raised : 0));
    put(w, s.bytes);
    put(w, s.lives);
    put(w, o->kind == SPAD_SYNC_MBARRIER ? phases % 2 : 0);
}

/* How far the threads of an agent are behind the phases of each object, as far as it counts for the
 * meaning of their next waits: those are for phases that are complete now, or later ones. */
static void put_known_phases(writer *w, size_t agent, spad__known_phases *phases) {
    enum { TOO_FAR = 2 };
    const spad__order *o = w->cut->order;
    const spad__event *next = next_event(w, agent);
    const size_t first = o->events.firsts.items[agent];
    const size_t last = next != NULL ? number_of_event(w, next) : o->events.firsts.items[agent + 1];
    const int64_t threads = o->events.kernel->agents.items[agent].threads.value;
    spad__phases_begin(phases, &o->net);
    for (size_t e = first; e < last; e++) {
        int64_t unused;
        spad__phases_see(phases, &o->net, &o->events.items.items[e], threads, &unused);
    }
    for (size_t i = 0; i < o->events.objects.count; i++) {
        if (o->events.objects.items[i].kind != SPAD_SYNC_MBARRIER) continue;
        const int64_t complete = complete_phases(w, (int32_t)i);
        put(w, spad__min(complete - phases->known[i], TOO_FAR));
        put(w, spad__min(complete - phases->seen[i], TOO_FAR));
    }
}

static void put_threads(writer *w) {
    const spad__order *o = w->cut->order;
    const bool restarts = lives_in_loop(w, -1); /* what threads know of phases is over all lives */
    for (size_t agent = 1; agent + 1 < o->events.firsts.count; agent++) {
        spad__known_phases phases = {NULL, NULL};
        if (!spad__agent_elects(o->events.kernel, (int64_t)agent)) continue;
        if (restarts) make_unique(w);
        if (spad__phases_init(&phases, &o->net)) {
            put_known_phases(w, agent, &phases);
        } else {
            w->out.failed = true;
        }
        spad__phases_free(&phases, &o->net);
    }
}

spad_status spad__cut_state(const spad__cut *cut, const spad__watch *watch, size_t group,
                            int64_t periods, spad__state *state, spad_error *error) {
    writer w = {.cut = cut,
                .watch = watch,
                .group = (int32_t)group,
                .periods = periods,
                .out = {&cut->order->net.host, state, false}};
    find_clock_run(&w);
    put_agents(&w);
    put_under_way(&w);
    if (cut->order->model.others != NULL) put_others(&w);
    for (size_t i = 0; i < cut->order->events.objects.count; i++) put_object(&w, (int32_t)i);
    put_threads(&w);
    if (drops_in_loop(&w)) make_unique(&w);
    return w.out.failed ? spad__fail_host_memory(error) : SPAD_OK;
}
