/* SPDX-License-Identifier: Apache-2.0
 *
 * States at the heads of iterations, and whether they come back.
 */
#include <string.h>

#include "base/assert.h"
#include "base/checked.h"
#include "induction/recurrence.h"

void spad__state_put(spad__state_out *out, int64_t number) {
    if (out->failed || !spad__array_reserve(out->host, out->state, 1)) {
        out->failed = true;
        return;
    }
    out->state->items[out->state->count++] = number;
}

/* Numbers of the states of one run of a loop: beyond them it is not worth it. */
enum { STATES_MAX = 2000000 };

static bool grows(const spad__watch *watch, int64_t loop) {
    return !watch->failed && !watch->ended && watch->induction->extra[loop] > 0;
}

static bool follows(const spad__watch *watch, int64_t loop) {
    return grows(watch, loop) && watch->last >= 0;
}

/* Runs that get longer each by itself: which iterations has this one? Those that follow have no
 * events. */
static int64_t last_iteration(const spad__watches *watches, const spad__induction *induction,
                              int64_t loop, const int64_t *values) {
    if (induction->cut_loops == NULL) return INT64_MAX;
    const int64_t length = spad__induction_run_length(induction, watches->kernel, loop, values);
    return length < induction->keep
               ? -1
               : induction->keep + (length - induction->keep) % induction->step;
}

void spad__watch_begin(spad__watches *watches, int64_t loop, const int64_t *values) {
    for (size_t i = 0; i < watches->count; i++) {
        spad__watch *watch = &watches->items[i];
        if (!grows(watch, loop)) continue;
        watch->last = last_iteration(watches, watch->induction, loop, values);
        watch->repeats = false;
        watch->states.count = watch->starts.count = 0;
    }
}

/* Is the last state the one of a period before? */
static bool same_as_before(const spad__watch *watch, int64_t period) {
    const size_t count = watch->starts.count;
    const size_t *starts = watch->starts.items;
    const size_t last = starts[count - 1];
    spad__assert(period > 0 && count > (size_t)period);
    const size_t before = starts[count - 1 - (size_t)period];
    const size_t length = watch->states.count - last;
    return starts[count - (size_t)period] - before == length &&
           memcmp(watch->states.items + before, watch->states.items + last,
                  length * sizeof *watch->states.items) == 0;
}

bool spad__watch_may_repeat(const spad__watch *watch, const spad_kernel *kernel) {
    if (watch->ended) return true;
    const spad__induction *induction = watch->induction;
    for (size_t i = 0; i < spad_kernel_loop_count(kernel); i++) {
        const spad_kernel_loop *loop = spad_kernel_get_loop(kernel, i);
        const spad__window *window = &watch->windows[i];
        if (induction->extra[i] == 0) continue;
        const int64_t length =
            induction->cut_loops != NULL ? induction->keep : loop->end.value - loop->begin.value;
        if (spad__min(length, window->fixed) - induction->extra[i] < window->steady) return false;
    }
    return true;
}

/* States outside of the window are left out: no iteration there may be repeated. */
static spad_status take_state(spad__watches *watches, spad__watch *watch, int64_t loop,
                              int64_t iteration, spad__state_of state, spad_error *error) {
    spad__assert(watch->starts.count == (size_t)iteration); /* one state per iteration, from 0 */
    const spad__induction *induction = watch->induction;
    const int64_t period = induction->extra[loop];
    spad__assert(period > 0 && induction->group[loop] >= 0);
    if (!spad__array_reserve(&watches->host, &watch->starts, 1)) {
        return spad__fail_host_memory(error);
    }
    watch->starts.items[watch->starts.count++] = watch->states.count;
    const spad__window window = watch->windows[loop];
    if (iteration < window.steady || iteration > window.fixed) return SPAD_OK;
    spad_status status = state.write(state.context, watch, (size_t)induction->group[loop],
                                     iteration / period, &watch->states, error);
    if (watch->states.count > STATES_MAX) watch->failed = true;
    watch->repeats =
        status == SPAD_OK && iteration - period >= window.steady && same_as_before(watch, period);
    return status;
}

spad_status spad__watch_iteration(spad__watches *watches, int64_t loop, int64_t iteration,
                                  spad__state_of state, spad_error *error) {
    for (size_t i = 0; i < watches->count; i++) {
        spad__watch *watch = &watches->items[i];
        if (!follows(watch, loop) || watch->repeats || iteration > watch->last) continue;
        const spad_status status = take_state(watches, watch, loop, iteration, state, error);
        if (status != SPAD_OK) return status;
    }
    return SPAD_OK;
}

spad_status spad__watch_end(spad__watches *watches, int64_t loop, int64_t iterations,
                            spad__state_of state, spad_error *error) {
    const spad_status status = spad__watch_iteration(watches, loop, iterations, state, error);
    if (status != SPAD_OK) return status;
    for (size_t i = 0; i < watches->count; i++) {
        spad__watch *watch = &watches->items[i];
        if (follows(watch, loop) && !watch->repeats) watch->failed = true;
    }
    return SPAD_OK;
}
