/* SPDX-License-Identifier: Apache-2.0
 *
 * Skipping what would only repeat.
 *
 * At the head of an iteration the state is: when each stream, engine, port and the
 * window is free, and until when which bytes are touched. All of it counts relative to
 * the time and the iteration, and no time matters that the window has passed. If a state
 * comes again after some periods of the loop (repeat.c), every further iteration goes as
 * the ones between, as long as no condition changes: counts are multiplied, times moved,
 * and the walk jumps.
 *
 * States are compared with one saved state, and a new one is saved after 1, 2, 4, 8 ...
 * periods (R. P. Brent, An improved Monte Carlo factorization algorithm, 1980), so a
 * loop that settles late is found late but found. The streams are compared first,
 * because they mostly differ.
 */
#include "kernel/kernel.h"
#include "sim/flow.h"

#include <stdlib.h>
#include <string.h>

#include "base/checked.h"

/* Loops with fewer periods are run. Looking at a statement costs a 64th of running it. */
enum { PERIODS_MIN = 4, STUDY_RATE = 64 };

/* ---- the state --------------------------------------------------------------------- */

typedef struct flow_capture {
    spad__flow *flow;
    const spad__loop_state *state;
    int64_t periods; /* since the saved state */
    int64_t floor;   /* earlier times are all the same */
    int64_t time;
} flow_capture;

static int64_t relative(const flow_capture *l, int64_t time) {
    return spad__max(time, l->floor) - l->time;
}

#define PUT(list, number) ((list)->items[(list)->count++] = (number))

static bool flow_capture_light(const flow_capture *l, spad__numbers *out) {
    const spad__flow *flow = l->flow;
    const size_t exclusions = flow->sim->target->exclusion_count;
    const size_t tensors = spad_kernel_tensor_count(flow->sim->kernel);
    out->count = 0;
    if (!spad__array_reserve(&flow->sim->host, out,
                             l->state->streams.count + 2 * exclusions + tensors + 1)) {
        return false;
    }
    PUT(out, relative(l, l->floor));
    for (size_t i = 0; i < l->state->streams.count; i++) {
        PUT(out, relative(l, flow->streams[l->state->streams.items[i]].base));
    }
    for (size_t i = 0; i < 2 * exclusions; i++) PUT(out, relative(l, flow->ports[i].end));
    for (size_t i = 0; i < tensors; i++) {
        if (flow->hoisted[i] > 0) PUT(out, flow->lives[i] % flow->hoisted[i]);
    }
    return true;
}

/* The largest start of the window up to each of its operations. */
static bool capture_window(const flow_capture *l, spad__numbers *out) {
    const spad__flow *flow = l->flow;
    if (!spad__array_reserve(&flow->sim->host, out, SPAD_SIM_WINDOW)) return false;
    int64_t most = flow->floor;
    for (int64_t i = 0; i < SPAD_SIM_WINDOW; i++) { /* the oldest first */
        most = spad__max(most, flow->starts[(flow->operations + i) % SPAD_SIM_WINDOW]);
        PUT(out, relative(l, most));
    }
    return true;
}

static bool capture_calendars(const flow_capture *l, spad__numbers *out) {
    const spad__flow *flow = l->flow;
    for (size_t e = 0; e < flow->sim->part_count; e++) {
        const spad__calendar *c = &flow->calendars[e];
        if (!spad__array_reserve(&flow->sim->host, out, 2 * c->count + 1)) return false;
        for (size_t i = 0; i < c->count; i++) {
            if (c->items[i].end <= l->floor) continue;
            PUT(out, relative(l, c->items[i].start));
            PUT(out, relative(l, c->items[i].end));
        }
        PUT(out, INT64_MAX); /* between engines */
    }
    return true;
}

enum {
    TOUCH_NUMBERS = 12,
    FLOW_NUMBERS_PER_STEP = 8 /* that are written down and compared */
};

static int compare_touches(const void *left, const void *right) {
    const int64_t *a = left;
    const int64_t *b = right;
    for (int i = 0; i < TOUCH_NUMBERS; i++) {
        if (a[i] != b[i]) return a[i] < b[i] ? -1 : 1;
    }
    return 0;
}

static void put_touch(const flow_capture *l, const spad__place *place, const spad__touch *touch,
                      spad__numbers *out) {
    const int64_t shift = place->placed ? 0 : l->state->period.shifts[place->home] * l->periods;
    const spad__bytes *b = &touch->bytes;
    PUT(out, (place->placed ? -1 - place->home : place->home));
    PUT(out, place->slot - shift);
    PUT(out, place->rect.lane);
    PUT(out, place->rect.byte);
    PUT(out, b->rect.lane);
    PUT(out, b->rect.lanes);
    PUT(out, b->rect.byte);
    PUT(out, b->rect.bytes);
    PUT(out, b->runs);
    PUT(out, b->stride);
    PUT(out, touch->writes + 2 * spad__flow_is_last(l->flow, touch));
    PUT(out, relative(l, touch->end));
}

/* Readers of what the loop does not write do not matter to it. */
static bool touch_matters(const flow_capture *l, const spad__place *place,
                          const spad__touch *touch) {
    if (touch->end <= l->floor && !spad__flow_is_last(l->flow, touch)) return false;
    return touch->writes || place->placed || l->state->period.written[place->home];
}

static bool capture_bytes(const flow_capture *l, spad__numbers *out) {
    const spad__places *places = &l->flow->places;
    const size_t first = out->count;
    for (size_t i = 0; i < places->places.count; i++) {
        const spad__place *place = &places->places.items[i];
        for (size_t k = 0; k < place->touches.count; k++) {
            const spad__touch *touch = &place->touches.items[k];
            if (!touch_matters(l, place, touch)) continue;
            if (!spad__array_reserve(&l->flow->sim->host, out, TOUCH_NUMBERS)) return false;
            put_touch(l, place, touch, out);
        }
    }
    const size_t touches = (out->count - first) / TOUCH_NUMBERS;
    if (touches > 0) {
        qsort(out->items + first, touches, TOUCH_NUMBERS * sizeof(int64_t), compare_touches);
    }
    return true;
}

static bool flow_capture_heavy(const flow_capture *l, spad__numbers *out) {
    out->count = 0;
    const bool done = capture_window(l, out) && capture_calendars(l, out) && capture_bytes(l, out);
    l->flow->sim->steps +=
        (int64_t)(out->count + l->flow->places.places.count) / FLOW_NUMBERS_PER_STEP;
    return done;
}

/* ---- saving and comparing ---------------------------------------------------------- */

/* Waiting is counted from these, so they must be the same to the moment, unless nothing ran
 * there since. */
static bool are_bases_same(const flow_capture *l, const spad__snapshot *saved) {
    for (size_t i = 0; i < l->state->streams.count; i++) {
        const spad__stream *stream = &l->flow->streams[l->state->streams.items[i]];
        if (stream->last < (int64_t)saved->rows) continue;
        if (stream->base - l->time != saved->bases.items[i]) return false;
    }
    return true;
}

static bool save_bases(const flow_capture *l, spad__snapshot *saved) {
    saved->bases.count = 0;
    if (!spad__array_reserve(&l->flow->sim->host, &saved->bases, l->state->streams.count)) {
        return false;
    }
    for (size_t i = 0; i < l->state->streams.count; i++) {
        PUT(&saved->bases, l->flow->streams[l->state->streams.items[i]].base - l->time);
    }
    return true;
}

static bool save_snapshot(const flow_capture *l, spad__snapshot *saved, int64_t value) {
    flow_capture fresh = *l;
    fresh.periods = 0;
    saved->valid = true;
    saved->value = value;
    saved->time = l->time;
    saved->rows = l->flow->sim->rows.count;
    return save_bases(&fresh, saved) && flow_capture_light(&fresh, &saved->light) &&
           flow_capture_heavy(&fresh, &saved->heavy) &&
           spad__sim_copy_counts(l->flow->sim, &saved->counts);
}

static bool is_same_numbers(const spad__numbers *a, const int64_t *items, size_t count) {
    return a->count == count && memcmp(a->items, items, count * sizeof *items) == 0;
}

/* Is the state the saved one? *fine: memory was enough. */
static bool is_same_flow_state(const flow_capture *l, const spad__snapshot *saved, bool *fine) {
    spad__numbers *now = &l->flow->scratch;
    *fine = true;
    if (!are_bases_same(l, saved)) return false;
    *fine = flow_capture_light(l, now);
    if (!*fine || !is_same_numbers(now, saved->light.items, saved->light.count)) return false;
    *fine = flow_capture_heavy(l, now);
    return *fine && is_same_numbers(now, saved->heavy.items, saved->heavy.count);
}

/* ---- skipping ---------------------------------------------------------------------- */

/* All times of the loop move by that much; none overflows, because the makespan did not. What has
 * not run since the saved state stays where it is: waiting is counted from there. */
static void move_flow_times(const flow_capture *l, const spad__snapshot *saved, int64_t by) {
    spad__flow *flow = l->flow;
    for (size_t i = 0; i < l->state->streams.count; i++) {
        spad__stream *stream = &flow->streams[l->state->streams.items[i]];
        if (stream->last >= (int64_t)saved->rows) stream->base += by;
    }
    for (size_t i = 0; i < 2 * flow->sim->target->exclusion_count; i++) {
        if (flow->ports[i].row >= (int64_t)saved->rows) flow->ports[i].end += by;
    }
    for (int i = 0; i < SPAD_SIM_WINDOW; i++) flow->starts[i] += by;
    flow->floor += by;
    for (size_t e = 0; e < flow->sim->part_count; e++) {
        for (size_t i = 0; i < flow->calendars[e].count; i++) {
            spad__taken *taken = &flow->calendars[e].items[i];
            if (taken->end <= l->floor) continue;
            taken->start += by;
            taken->end += by;
        }
    }
    for (size_t i = 0; i < flow->places.places.count; i++) {
        spad__place *place = &flow->places.places.items[i];
        for (size_t k = 0; k < place->touches.count; k++) {
            if (place->touches.items[k].row >= (int64_t)saved->rows) {
                place->touches.items[k].end += by;
            }
        }
    }
}

/* Skips `times` stretches like the one from the saved state to here. */
static spad_status skip_repetitions(const flow_capture *l, spad__snapshot *saved,
                                    const spad_walk_event *event, int64_t times,
                                    spad_error *error) {
    spad_sim *sim = l->flow->sim;
    const int64_t time = l->time - saved->time;
    const int64_t stretch = event->value - saved->value;
    const int64_t value = event->value;
    int64_t by;
    if (!spad__mul(time, times, &by) || !spad__sim_skip_time(sim, by) ||
        !spad__sim_repeat_counts(sim, &saved->counts, times) ||
        !spad__places_shift(&l->flow->places, l->state->period.shifts, l->periods * times)) {
        return spad__sim_fail_long(sim, event->statement, error);
    }
    if (!spad__array_reserve(&sim->host, &sim->repeats, 1)) return spad__fail_host_memory(error);
    sim->repeats.items[sim->repeats.count++] = (spad__sim_repeat){.loop = event->loop,
                                                                  .value = saved->value,
                                                                  .period = stretch,
                                                                  .times = times,
                                                                  .time = time,
                                                                  .row = sim->rows.count};
    move_flow_times(l, saved, by);
    saved->valid = false;
    return spad_walk_jump(l->flow->walk, value + times * stretch, error);
}

static bool find_streams(spad__flow *flow, int64_t number, spad__loop_state *state) {
    const spad_kernel *k = flow->sim->kernel;
    const size_t statement = spad_kernel_get_loop(k, (size_t)number)->statement;
    const size_t end = spad_kernel_get_statement(k, statement)->end;
    for (size_t i = statement + 1; i < end; i++) {
        if (spad_kernel_get_statement(k, i)->kind != SPAD_STATEMENT_OPERATION) continue;
        bool known = false;
        for (size_t s = 0; s < state->streams.count && !known; s++) {
            known = state->streams.items[s] == flow->stream_of[i];
        }
        if (known) continue;
        if (!spad__array_reserve(&flow->sim->host, &state->streams, 1)) return false;
        state->streams.items[state->streams.count++] = flow->stream_of[i];
    }
    return true;
}

/* The text of a loop is examined when that pays: it costs as much as the kernel is long, and
 * running the loop as much as is left of it. */
static bool is_worth_studying(const spad__flow *flow, int64_t number, int64_t value) {
    const spad_kernel *k = flow->sim->kernel;
    const spad_kernel_loop *loop = spad_kernel_get_loop(k, (size_t)number);
    const int64_t left = loop->end.value - value;
    const int64_t text = (int64_t)(spad_kernel_tensor_count(k) + spad__kernel_access_count(k));
    const size_t body = spad_kernel_get_statement(k, loop->statement)->end - loop->statement;
    return left >= PERIODS_MIN && left >= text / (STUDY_RATE * (int64_t)body);
}

static bool study_loop(spad__flow *flow, int64_t number, spad__loop_state *state) {
    state->studied = true;
    return spad__period_of(&state->period, &flow->sim->host, flow->sim->kernel, number,
                           flow->sim->options.layout != NULL ? SPAD__BYTES_PLANNED
                                                             : SPAD__BYTES_GIVEN) &&
           find_streams(flow, number, state);
}

void spad__flow_enter(spad__flow *flow, int64_t loop) {
    spad__loop_state *state = &flow->loops[loop];
    state->saved.valid = false;
    state->patience = 1;
}

spad_status spad__flow_repeat(spad__flow *flow, const spad_walk_event *event, spad_error *error) {
    spad__loop_state *state = &flow->loops[event->loop];
    const spad_kernel_loop *loop = spad_kernel_get_loop(flow->sim->kernel, (size_t)event->loop);
    if (flow->sim->options.no_repeat ||
        flow->operations < spad__max(flow->sim->options.repeat_after, SPAD_SIM_WINDOW)) {
        return SPAD_OK;
    }
    if (!state->studied) {
        if (!is_worth_studying(flow, event->loop, event->value)) return SPAD_OK;
        if (!study_loop(flow, event->loop, state)) return spad__fail_host_memory(error);
    }
    const int64_t period = state->period.period;
    if (!state->period.repeats) return SPAD_OK;
    if ((loop->end.value - event->value) / period < PERIODS_MIN) return SPAD_OK;

    spad__snapshot *saved = &state->saved;
    flow_capture l = {
        .flow = flow, .state = state, .floor = flow->floor, .time = flow->sim->totals.makespan};
    if (saved->valid) {
        if ((event->value - saved->value) % period != 0) return SPAD_OK;
        l.periods = (event->value - saved->value) / period;
    }
    bool fine = true;
    if (saved->valid && is_same_flow_state(&l, saved, &fine)) {
        const int64_t reach =
            spad__period_reach(&state->period, flow->sim->kernel, event->loop,
                               spad_walk_get_values(flow->walk), saved->value, event->value);
        const int64_t times = reach / l.periods;
        if (times > 0) return skip_repetitions(&l, saved, event, times, error);
    }
    if (!fine) return spad__fail_host_memory(error);
    if (!saved->valid || l.periods >= state->patience) {
        if (saved->valid) state->patience *= 2;
        if (!save_snapshot(&l, saved, event->value)) return spad__fail_host_memory(error);
    }
    return SPAD_OK;
}
