/* SPDX-License-Identifier: Apache-2.0
 *
 * Threads inside an agent. O(1) for an event, O(objects) for a barrier of the agent.
 */
#include "order/agent_threads.h"
#include "base/checked.h"
#include "kernel/kernel.h"

/* ---- who runs what ----------------------------------------------------------------- */

static bool is_by_one(const spad__event *event) {
    return (event->flags & SPAD_BY_ONE) != 0;
}

bool spad__agent_elects(const spad_kernel *kernel, int64_t agent) {
    if (agent == 0 || kernel->agents.items[agent].threads.value <= 1) return false;
    for (size_t i = 0; i < kernel->statements.count; i++) {
        const spad_statement *s = &kernel->statements.items[i];
        if (s->agent == agent && (s->flags & SPAD_BY_ONE) != 0) return true;
    }
    return false;
}

/* True if a `sync` is a barrier of all threads of the agent. */
static bool arrives_as_all(const spad__event *sync, int64_t threads) {
    return sync->amount == 1 || sync->amount >= threads;
}

bool spad__is_barrier_of_agent(const spad_kernel *kernel, const spad__event *event) {
    if (event->kind == SPAD_WALK_FORK || event->kind == SPAD_WALK_JOIN) return true;
    return event->kind == SPAD_WALK_SYNC && event->unit < 0 &&
           kernel->statements.items[event->statement].kind == SPAD_STATEMENT_SYNC &&
           arrives_as_all(event, kernel->agents.items[event->agent].threads.value);
}

/* One arrival per warp counts for all of its lanes. That the lanes have converged before
 * (`__syncwarp`) is not checked. */
static bool arrives_for_all(const spad_kernel *kernel, const spad__event *event, int64_t threads) {
    if (event->amount >= threads) return true;
    return event->amount > 1 && threads % event->amount == 0 &&
           threads / event->amount <= kernel->target->limits.warp;
}

bool spad__non_elected_run(const spad_kernel *kernel, const spad__event *event, int64_t threads) {
    if (is_by_one(event)) return false;
    if (event->kind == SPAD_WALK_OPERATION) return true;
    if (event->kind != SPAD_WALK_SYNC) return false;
    switch (kernel->statements.items[event->statement].kind) {
    case SPAD_STATEMENT_COMMIT:
    case SPAD_STATEMENT_WAIT_GROUP:
    case SPAD_STATEMENT_DRAIN:
    case SPAD_STATEMENT_WAIT_PARITY: return true;
    case SPAD_STATEMENT_SYNC: return arrives_as_all(event, threads);
    case SPAD_STATEMENT_ARRIVE: return arrives_for_all(kernel, event, threads);
    default: return false;
    }
}

/* ---- what they know ---------------------------------------------------------------- */

bool spad__phases_init(spad__known_phases *phases, const spad__event_graph *graph) {
    const size_t objects = graph->events->objects.count;
    phases->seen = spad__new_array(&graph->host, objects + 1, sizeof *phases->seen);
    phases->known = spad__new_array(&graph->host, objects + 1, sizeof *phases->known);
    return phases->seen != NULL && phases->known != NULL;
}

void spad__phases_free(spad__known_phases *phases, const spad__event_graph *graph) {
    const size_t objects = graph->events->objects.count;
    spad__free(&graph->host, phases->seen, (objects + 1) * sizeof *phases->seen);
    spad__free(&graph->host, phases->known, (objects + 1) * sizeof *phases->known);
}

void spad__phases_begin(spad__known_phases *phases, const spad__event_graph *graph) {
    for (size_t i = 0; i < graph->events->objects.count; i++)
        phases->seen[i] = phases->known[i] = 0;
}

/* The phases that a wait found complete. */
static int64_t phase_of_wait(const spad__event_graph *graph, const spad__event *event) {
    const size_t number = (size_t)(event - graph->events->items.items);
    const spad__point *point = &graph->points.items[graph->step[number]];
    return point->action_count > 0 ? graph->actions.items[point->first_action].phase : 0;
}

bool spad__phases_see(spad__known_phases *phases, const spad__event_graph *graph,
                      const spad__event *event, int64_t threads, int64_t *phase) {
    if (event->kind != SPAD_WALK_SYNC || event->unit >= 0 || event->object < 0) return false;
    const spad_statement_kind kind = graph->events->kernel->statements.items[event->statement].kind;
    if (kind == SPAD_STATEMENT_SYNC && arrives_as_all(event, threads)) {
        for (size_t i = 0; i < graph->events->objects.count; i++) {
            phases->known[i] = spad__max(phases->known[i], phases->seen[i]);
        }
    }
    if (kind != SPAD_STATEMENT_WAIT_PARITY) return false;
    int64_t *known = &phases->known[event->object];
    *phase = phase_of_wait(graph, event);
    const bool exact = *known >= *phase - 1;
    phases->seen[event->object] = spad__max(phases->seen[event->object], *phase);
    if (exact && !is_by_one(event)) *known = spad__max(*known, *phase);
    return exact;
}
