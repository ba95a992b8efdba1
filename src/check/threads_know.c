/* SPDX-License-Identifier: Apache-2.0
 *
 * What the threads of an agent know of the phases of mbarriers. O(1) for an event, O(objects) where
 * threads meet.
 */
#include "base/checked.h"
#include "check/threads.h"
#include "kernel/kernel.h"

bool spad__phases_init(spad__known_phases *phases, const spad__order *order) {
    const size_t objects = order->events.objects.count;
    phases->seen = spad__new_array(&order->net.host, objects + 1, sizeof *phases->seen);
    phases->known = spad__new_array(&order->net.host, objects + 1, sizeof *phases->known);
    return phases->seen != NULL && phases->known != NULL;
}

void spad__phases_free(spad__known_phases *phases, const spad__order *order) {
    const size_t objects = order->events.objects.count;
    spad__free(&order->net.host, phases->seen, (objects + 1) * sizeof *phases->seen);
    spad__free(&order->net.host, phases->known, (objects + 1) * sizeof *phases->known);
}

void spad__phases_begin(spad__known_phases *phases, const spad__order *order) {
    for (size_t i = 0; i < order->events.objects.count; i++) phases->seen[i] = phases->known[i] = 0;
}

bool spad__threads_meet_at(const spad__event *sync, int64_t threads) {
    return sync->amount == 1 || sync->amount >= threads;
}

/* The phases that a wait found complete. */
static int64_t phase_of_wait(const spad__order *order, const spad__event *event) {
    const spad__net *net = &order->net;
    const size_t number = (size_t)(event - order->events.items.items);
    const spad__point *point = &net->points.items[net->step[number]];
    return point->action_count > 0 ? net->actions.items[point->first_action].phase : 0;
}

bool spad__phases_see(spad__known_phases *phases, const spad__order *order,
                      const spad__event *event, int64_t threads, int64_t *phase) {
    if (event->kind != SPAD_WALK_SYNC || event->unit >= 0 || event->object < 0) return false;
    const spad_statement_kind kind = order->events.kernel->statements.items[event->statement].kind;
    if (kind == SPAD_STATEMENT_SYNC && spad__threads_meet_at(event, threads)) {
        for (size_t i = 0; i < order->events.objects.count; i++) {
            phases->known[i] = spad__max(phases->known[i], phases->seen[i]);
        }
    }
    if (kind != SPAD_STATEMENT_WAIT_PARITY) return false;
    int64_t *known = &phases->known[event->object];
    *phase = phase_of_wait(order, event);
    const bool exact = *known >= *phase - 1;
    phases->seen[event->object] = spad__max(phases->seen[event->object], *phase);
    if (exact) *known = spad__max(*known, *phase);
    return exact;
}

bool spad__agent_elects(const spad_kernel *kernel, int64_t agent) {
    if (kernel->agents.items[agent].threads.value <= 1) return false;
    for (size_t i = 0; i < kernel->statements.count; i++) {
        const spad_statement *s = &kernel->statements.items[i];
        if (s->agent == agent && s->kind == SPAD_STATEMENT_OPERATION &&
            (s->flags & SPAD_BY_ONE) != 0) {
            return true;
        }
    }
    return false;
}
