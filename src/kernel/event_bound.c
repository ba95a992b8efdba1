/* SPDX-License-Identifier: Apache-2.0
 *
 * The sum over all statements of the products of the trip counts around them.
 */
#include "kernel/event_bound.h"

#include "base/checked.h"

/* How often a statement is reached, if no condition leaves it out. */
static int64_t times_reached(const spad_kernel *kernel, const spad_statement *s) {
    int64_t times = 1;
    for (int64_t l = s->loop; l >= 0;) {
        const spad_kernel_loop *loop = spad_kernel_get_loop(kernel, (size_t)l);
        const int64_t trips = loop->end.value - loop->begin.value;
        if (trips <= 0) return 0;
        if (!spad__mul(times, trips, &times)) times = INT64_MAX;
        l = loop->outer;
    }
    return times;
}

static bool is_event(spad_statement_kind kind) {
    return kind != SPAD_STATEMENT_IF && kind != SPAD_STATEMENT_ELSE && kind != SPAD_STATEMENT_AGENT;
}

static int64_t count_events(const spad_kernel *kernel, bool guarded) {
    int64_t sum = 0;
    for (size_t i = 0; i < spad_kernel_statement_count(kernel); i++) {
        const spad_statement *s = spad_kernel_get_statement(kernel, i);
        if (!is_event(s->kind) || (s->guarded && !guarded)) continue;
        if (!spad__add(sum, times_reached(kernel, s), &sum)) return INT64_MAX;
    }
    return sum;
}

int64_t spad__events_most(const spad_kernel *kernel) {
    return count_events(kernel, true);
}

int64_t spad__events_least(const spad_kernel *kernel) {
    return count_events(kernel, false);
}
