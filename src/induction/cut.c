/* SPDX-License-Identifier: Apache-2.0
 *
 * The state of a cut.
 */
#include "induction/cut.h"

#include "base/checked.h"
#include "kernel/kernel.h"
#include "order/agent_threads.h"

typedef struct writer {
    const spad__cut *cut;
    const spad__watch *watch;
    int32_t group;
    int64_t periods;
    bool any_life; /* an object begins or ends its life in a growing loop */
    int64_t run;   /* of the growing loop that the clock is in; -1: not known */
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
    const spad__induction *induction = w->watch->induction;
    int64_t growing = -1;
    put(w, event->statement);
    if (event->statement < 0) return -1;
    int64_t loops[SPAD__LOOPS_DEEP];
    const size_t depth = spad__loops_around(events->kernel, event->statement, loops);
    for (size_t d = 0; d < depth; d++) {
        int64_t value = events->values.items[event->first_value + d];
        if (induction->group[loops[d]] == w->group) {
            growing = loops[d];
            *iteration = value - events->kernel->loops.items[growing].begin.value;
            value -= induction->extra[growing] * w->periods;
        }
        put(w, value);
    }
    if (induction->holds_cursors) put_cursors(w, event, depth);
    return growing;
}

static size_t number_of_event(const writer *w, const spad__event *event) {
    return (size_t)(event - w->cut->order->events.items.items);
}

/* The number of the run of a growing loop that an event is in. False: not known. */
static bool run_of(const writer *w, const spad__event *event, int64_t loop, int64_t *run) {
    const spad__induction *induction = w->watch->induction;
    const spad__events *events = &w->cut->order->events;
    if (!induction->counted[loop]) return false;
    const spad__affine *affine = &induction->runs[loop];
    int64_t loops[SPAD__LOOPS_DEEP];
    const size_t depth = spad__loops_around(events->kernel, event->statement, loops);
    *run = affine->constant;
    for (size_t i = 0; i < affine->count; i++) {
        for (size_t d = 0; d < depth; d++) {
            int64_t more;
            if (loops[d] != affine->loops[i]) continue;
            if (!spad__mul(affine->factors[i], events->values.items[event->first_value + d],
                           &more) ||
                !spad__add(*run, more, run)) {
                return false;
            }
        }
    }
    return true;
}

/* Is an event in another run than the one before it of its agent? Runs are by their loop and the
 * values of those around it. */
static bool begins_run(const spad__events *events, const spad__event *before,
                       const spad__event *event, int64_t loop, const spad__induction *induction) {
    int64_t loops[SPAD__LOOPS_DEEP];
    if (before == NULL || induction->inside[before->statement] != loop) return true;
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
} run_numbers;

/* How long the run of an event is, where runs grow each by itself: below `keep` it does not. */
static int64_t length_of_run(const run_numbers *n, const spad__event *event, int64_t loop) {
    int64_t loops[SPAD__LOOPS_DEEP];
    const size_t depth = spad__loops_around(n->events->kernel, event->statement, loops);
    for (size_t d = 0; d < depth; d++) {
        n->values[loops[d]] = n->events->values.items[event->first_value + d];
    }
    return spad__induction_run_length(n->watch->induction, n->events->kernel, loop, n->values);
}

/* A run with a number must be as long for every agent, so that all get as many periods. */
static bool note_length(run_numbers *n, const spad_host *host, size_t run, int64_t length) {
    if (run < n->lengths.count) {
        if (n->lengths.items[run] != length) n->watch->same_lengths = false;
        return true;
    }
    if (!spad__array_reserve(host, &n->lengths, 1)) return false;
    n->lengths.items[n->lengths.count++] = length;
    return true;
}

static bool number_runs_of(run_numbers *n, const spad_host *host, size_t agent) {
    const spad__induction *induction = n->watch->induction;
    const spad__event *before = NULL;
    int32_t runs = 0;
    const size_t *firsts = n->events->firsts.items;
    for (size_t e = firsts[agent]; e < firsts[agent + 1]; e++) {
        const spad__event *event = &n->events->items.items[e];
        const int64_t loop = event->statement >= 0 ? induction->inside[event->statement] : -1;
        n->watch->runs[e] = -1;
        if (loop < 0) continue;
        const int64_t length = induction->cut_loops != NULL ? length_of_run(n, event, loop) : 0;
        if (induction->cut_loops != NULL && length < induction->keep) continue;
        if (begins_run(n->events, before, event, loop, induction)) {
            if (induction->cut_loops != NULL && !note_length(n, host, (size_t)runs, length))
                return false;
            runs++;
        }
        n->watch->runs[e] = runs;
        before = event;
    }
    return true;
}

/* Are the runs of all growing loops numbered by forms of the loops around them? */
static bool are_runs_counted(const spad__induction *induction, const spad_kernel *kernel) {
    bool counted = !induction->walked;
    for (size_t i = 0; i < spad_kernel_loop_count(kernel); i++) {
        counted = counted && (induction->extra[i] == 0 || induction->counted[i]);
    }
    return counted;
}

int32_t spad__cut_count_runs(const spad__order *order, const spad__watch *watch, size_t agent) {
    const size_t *firsts = order->events.firsts.items;
    int32_t count = 0;
    for (size_t e = firsts[agent]; e < firsts[agent + 1]; e++) {
        count = watch->runs[e] > count ? watch->runs[e] : count;
    }
    return count;
}

/* Every run with events gets a period when the parameter grows. If the clock repeats itself in each
 * of its runs, with all others in their run of the same number, and they have no further runs
 * (spad__cut_count_runs), then each run gets one. */
spad_status spad__cut_number_runs(const spad__order *order, spad__watch *watch, spad_error *error) {
    const spad_host *host = &order->graph.host;
    const size_t count = order->events.items.count;
    const size_t loops = spad_kernel_loop_count(order->events.kernel) +
                         spad_kernel_cursor_count(order->events.kernel) + 1;
    if (watch->runs != NULL || count == 0) return SPAD_OK;
    watch->runs = spad__new_array(host, count, sizeof *watch->runs);
    if (watch->runs == NULL) return spad__fail_host_memory(error);
    watch->run_count = count;
    watch->counted = are_runs_counted(watch->induction, order->events.kernel);
    watch->same_lengths = true;
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

/* The number of the run of a growing loop that an event is in: of all runs, or where these cannot
 * be counted, of those with events. */
static int64_t number_of_run(const writer *w, const spad__event *event, int64_t loop) {
    int64_t run;
    if (!w->watch->counted) return w->watch->runs[number_of_event(w, event)];
    return run_of(w, event, loop, &run) ? run : -1;
}

/* Are an agent and the clock in the same run, so that a period in each is one more period of that
 * run for both? Where runs cannot be counted it must be that nothing carries on. */
static bool is_in_same_run(const writer *w, const spad__event *event, int64_t loop) {
    const spad__watch *watch = w->watch;
    if (!watch->counted && (!watch->same_lengths || watch->induction->carries)) return false;
    return w->run >= 0 && number_of_run(w, event, loop) == w->run;
}

bool spad__acts_in_growing_loop(const spad__order *order, const spad__induction *induction,
                                int64_t agent, int64_t group) {
    const spad__events *events = &order->events;
    const size_t from = agent >= 0 ? events->firsts.items[agent] : 0;
    const size_t to = agent >= 0 ? events->firsts.items[agent + 1] : events->items.count;
    for (size_t e = from; e < to; e++) {
        const int64_t statement = events->items.items[e].statement;
        const int64_t loop = statement >= 0 ? induction->inside[statement] : -1;
        if (loop >= 0 && (group < 0 || induction->group[loop] == group)) return true;
    }
    return false;
}

/* Where an agent stands: at the first event that has not begun. One that does something
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
    const bool acts =
        agent != w->cut->agent &&
        spad__acts_in_growing_loop(w->cut->order, w->watch->induction, agent, w->group);
    put_place(w, agent, event, acts);
}

/* The first event of an agent that has not happened; NULL: none. Those that have are in front of
 * it. */
static const spad__event *next_event(const writer *w, size_t agent) {
    const spad__events *events = &w->cut->order->events;
    const spad__event_graph *graph = &w->cut->order->graph;
    size_t low = events->firsts.items[agent];
    size_t high = events->firsts.items[agent + 1];
    const size_t end = high;
    while (low < high) {
        const size_t middle = low + (high - low) / 2;
        if (happened(w, graph->step[middle])) {
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
    const int32_t base = o->execution_order.non_elected_base;
    for (size_t e = o->events.firsts.items[agent]; e < o->events.firsts.items[agent + 1]; e++) {
        const int32_t step = o->non_elected.step[e];
        if (step >= 0 && !happened(w, base + step)) return &o->events.items.items[e];
    }
    return NULL;
}

/* Have they something to do in a growing loop of the group? */
static bool non_elected_act_in_growing_loop(const writer *w, size_t agent) {
    const spad__order *o = w->cut->order;
    const spad__induction *induction = w->watch->induction;
    for (size_t e = o->events.firsts.items[agent]; e < o->events.firsts.items[agent + 1]; e++) {
        const int64_t statement = o->events.items.items[e].statement;
        const int64_t loop = statement >= 0 ? induction->inside[statement] : -1;
        if (o->non_elected.step[e] >= 0 && loop >= 0 && induction->group[loop] == w->group)
            return true;
    }
    return false;
}

/* The run of a growing loop that the clock is in. */
static void find_clock_run(writer *w) {
    const spad__event *event = next_event(w, (size_t)w->cut->agent);
    w->run = -1;
    if (event == NULL || event->statement < 0) return;
    const int64_t loop = w->watch->induction->inside[event->statement];
    if (loop < 0 || w->watch->induction->group[loop] != w->group) return;
    w->run = number_of_run(w, event, loop);
}

/* Points of an event are together, events of an agent too. */
static void put_agents(writer *w) {
    const spad__events *events = &w->cut->order->events;
    for (size_t agent = 0; agent + 1 < events->firsts.count; agent++) {
        if (spad__cut_has(w->cut, agent)) put_agent(w, (int64_t)agent, next_event(w, agent));
    }
}

/* Events of an agent that have begun and are not over: issued, waiting inside of `sync`, running.
 * The points of an agent are in one piece. */
static void put_under_way_of(writer *w, size_t agent) {
    const spad__event_graph *graph = &w->cut->order->graph;
    const spad__events *events = &w->cut->order->events;
    const size_t first = events->firsts.items[agent];
    if (first == events->firsts.items[agent + 1]) return;
    for (size_t i = (size_t)graph->step[first]; i < graph->points.count; i++) {
        const spad__point *point = &graph->points.items[i];
        if (point->event < 0) break;                        /* the end of the agent */
        if (!happened(w, graph->step[point->event])) break; /* nor has any event after it begun */
        if (happened(w, (int32_t)i)) continue;
        int64_t iteration;
        put_event(w, &events->items.items[point->event], &iteration);
        put(w, point->kind);
    }
}

static void put_under_way(writer *w) {
    const size_t agents = w->cut->order->events.firsts.count - 1;
    for (size_t agent = 0; agent < agents; agent++) {
        if (spad__cut_has(w->cut, agent)) put_under_way_of(w, agent);
    }
}

/* The same for the other threads: they are agents of their own, also those of the clock. */
static void put_others(writer *w) {
    const spad__order *o = w->cut->order;
    const int32_t base = o->execution_order.non_elected_base;
    for (size_t agent = 1; agent + 1 < o->events.firsts.count; agent++) {
        if (!spad__agent_elects(o->events.kernel, (int64_t)agent)) continue;
        if (!spad__cut_has(w->cut, agent)) continue;
        put_place(w, (int64_t)agent, next_of_others(w, agent),
                  non_elected_act_in_growing_loop(w, agent));
    }
    for (size_t i = 0; i < o->non_elected.points.count; i++) {
        const spad__point *point = &o->non_elected.points.items[i];
        if (point->event < 0 || happened(w, base + (int32_t)i)) continue;
        if (!happened(w, base + o->non_elected.step[point->event])) continue;
        if (!spad__cut_has(w->cut, (size_t)o->events.items.items[point->event].agent)) continue;
        int64_t iteration;
        put_event(w, &o->events.items.items[point->event], &iteration);
        put(w, point->kind);
    }
}

/* ---- objects ----------------------------------------------------------------------- */

/* Sums of the actions at an object. */
typedef struct sums {
    int64_t given; /* signals less takes; contributions, arrivals */
    int64_t bytes; /* expected less delivered */
    int64_t lives; /* init less invalidate */
    bool overflow; /* one of them is beyond 64 bits */
} sums;

static int64_t complete_phases(const writer *w, int32_t object) {
    const spad__happens_before *hb = &w->cut->order->execution_order;
    int64_t phases = 0;
    for (int32_t p = hb->phase_base[object]; p < hb->phase_base[object + 1]; p++) {
        phases += happened(w, p);
    }
    return phases;
}

static void add_amount(sums *s, int64_t *sum, int64_t amount) {
    s->overflow = !spad__add(*sum, amount, sum) || s->overflow;
}

static void add_action(sums *s, const spad__action *action, int64_t phases) {
    const bool open = action->phase > phases; /* counts for a phase that is not complete */
    const int64_t amount = open ? action->amount : 0;
    switch (action->kind) {
    case SPAD__ACTION_SIGNAL: add_amount(s, &s->given, action->amount); break;
    case SPAD__ACTION_TAKE: add_amount(s, &s->given, -action->amount); break;
    case SPAD__ACTION_ENTER: add_amount(s, &s->given, amount); break;
    case SPAD__ACTION_ARRIVE:
        add_amount(s, &s->given, amount);
        add_amount(s, &s->bytes, open ? action->expect : 0);
        break;
    case SPAD__ACTION_EXPECT: add_amount(s, &s->bytes, amount); break;
    case SPAD__ACTION_DELIVER: add_amount(s, &s->bytes, -amount); break;
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
        if (life && w->watch->induction->inside[i] >= 0 && (sync < 0 || s->item == sync))
            return true;
    }
    return false;
}

/* Arrivals that leave for all later phases are not in the sums. */
static bool drops_in_loop(const writer *w) {
    const spad_kernel *kernel = w->cut->order->events.kernel;
    for (size_t i = 0; i < spad_kernel_statement_count(kernel); i++) {
        const spad_statement *s = spad_kernel_get_statement(kernel, i);
        if ((s->flags & SPAD_SYNC_DROP) != 0 && w->watch->induction->inside[i] >= 0) return true;
    }
    return false;
}

/* An mbarrier whose lives begin and end in the loop. Between two of them, with nothing that counts
 * for a phase that was left open, it has no state: an init gives it all of its values, and any
 * other use is an error. In the middle of a life its phases would have to be counted from its
 * init: a run cannot repeat from such a cut. */
static void put_lives(writer *w, const sums *s) {
    if (s->lives != 0 || s->given != 0 || s->bytes != 0) make_unique(w);
}

/* Does the set of the state use an object? */
static bool has_object(const writer *w, int32_t object) {
    const spad__cut *cut = w->cut;
    return cut->sets == NULL || cut->owner[object] == cut->sets->of[cut->agent];
}

static void put_object(writer *w, int32_t object) {
    const spad__order *order = w->cut->order;
    const spad__object *o = &order->events.objects.items[object];
    const bool counter = o->kind == SPAD_SYNC_COUNTER;
    const int64_t phases = counter ? 0 : complete_phases(w, object);
    sums s = {0};
    for (int32_t i = order->first_action[object]; i < order->first_action[object + 1]; i++) {
        const spad__action *action = &order->graph.actions.items[order->actions[i]];
        if (happened(w, action->point)) add_action(&s, action, phases);
    }
    if (o->kind == SPAD_SYNC_MBARRIER && w->any_life && lives_in_loop(w, o->sync)) {
        put_lives(w, &s);
        return;
    }
    const spad__induction *induction = w->watch->induction;
    const size_t syncs = spad_kernel_sync_count(order->events.kernel);
    int64_t raised = 0;
    const bool fits =
        !counter || (spad__mul(induction->raise[(size_t)w->group * syncs + (size_t)o->sync],
                               w->periods, &raised) &&
                     spad__sub(s.given, raised, &s.given));
    if (s.overflow || !fits) make_unique(w);
    put(w, s.given);
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
    spad__phases_begin(phases, &o->graph);
    for (size_t e = first; e < last; e++) {
        int64_t unused;
        spad__phases_see(phases, &o->graph, &o->events.items.items[e], threads, &unused);
    }
    for (size_t i = 0; i < o->events.objects.count; i++) {
        if (o->events.objects.items[i].kind != SPAD_SYNC_MBARRIER) continue;
        if (!has_object(w, (int32_t)i)) continue;
        const int64_t complete = complete_phases(w, (int32_t)i);
        put(w, spad__min(complete - phases->known[i], TOO_FAR));
        put(w, spad__min(complete - phases->seen[i], TOO_FAR));
    }
}

static void put_threads(writer *w) {
    const spad__order *o = w->cut->order;
    const bool restarts = w->any_life; /* what threads know of phases is over all lives */
    for (size_t agent = 1; agent + 1 < o->events.firsts.count; agent++) {
        spad__known_phases phases = {NULL, NULL};
        if (!spad__agent_elects(o->events.kernel, (int64_t)agent)) continue;
        if (!spad__cut_has(w->cut, agent)) continue;
        if (restarts) make_unique(w);
        if (spad__phases_init(&phases, &o->graph)) {
            put_known_phases(w, agent, &phases);
        } else {
            w->out.failed = true;
        }
        spad__phases_free(&phases, &o->graph);
    }
}

spad_status spad__cut_state(const spad__cut *cut, const spad__watch *watch, size_t group,
                            int64_t periods, spad__state *state, spad_error *error) {
    writer w = {.cut = cut,
                .watch = watch,
                .group = (int32_t)group,
                .periods = periods,
                .out = {&cut->order->graph.host, state, false}};
    w.any_life = lives_in_loop(&w, -1);
    find_clock_run(&w);
    put_agents(&w);
    put_under_way(&w);
    if (cut->order->execution_order.non_elected != NULL) put_others(&w);
    for (size_t i = 0; i < cut->order->events.objects.count; i++) {
        if (has_object(&w, (int32_t)i)) put_object(&w, (int32_t)i);
    }
    put_threads(&w);
    if (drops_in_loop(&w)) make_unique(&w);
    return w.out.failed ? spad__fail_host_memory(error) : SPAD_OK;
}
