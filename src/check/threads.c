/* SPDX-License-Identifier: Apache-2.0
 *
 * Threads inside an agent: all of them write a tile and one of them gives it to the TMA unit. The
 * order of the agent is the order of each thread; that one thread comes after what the others did
 * needs a sync of all of them. This part looks at agents that state more than one thread, and at
 * pairs of an operation of all threads and one of the elected thread.
 *
 * Between the two must come
 *   - a `sync` to which the agent brings all its threads (or 1, at a barrier that counts agents),
 * or
 *   - an arrival of all threads at an mbarrier, and then a wait of the agent for that phase of it.
 * What the elected thread has issued is over for itself when its group is waited for, so that the
 * sync comes after that wait. What tells its end to an mbarrier or counter is waited for there by
 * all: that is a matter of the order of agents (race.c). Registers are of a thread, and not looked
 * at.
 *
 * O(events + comparisons), and at most COMPARISONS_MAX of these.
 */
#include "check/order.h"
#include "kernel/bytes.h"
#include "kernel/kernel.h"

enum { COMPARISONS_MAX = 10000000 };

/* An access that no sync has come after. */
typedef struct unmet {
    int32_t event;
    int32_t access;
    bool one;       /* of the elected thread */
    bool pending;   /* issued, and not waited for */
    int32_t group;  /* pending: object of its group; -1: none */
    int64_t bundle; /* commits of the group before it */
} unmet;

typedef struct thread_scan {
    spad__order *order;
    const spad_kernel *kernel;
    int64_t threads; /* of the agent */
    SPAD_ARRAY(unmet) recents;
    int64_t *commits; /* by object: of this agent */
    int64_t *phases;  /* by object: the phase of that arrival */
    size_t *arrivals; /* by object: recents when all threads arrived there last; 0: none */
    int64_t compared;
} thread_scan;

static bool is_by_one(const thread_scan *s, const spad__event *event) {
    return (s->kernel->statements.items[event->statement].flags & SPAD_BY_ONE) != 0;
}

static bool is_of_threads(const thread_scan *s, int32_t access) {
    const int64_t tensor = s->order->events.accesses.items[access].tensor;
    return s->kernel->target->spaces[s->kernel->tensors.items[tensor].space].thread_bytes > 0;
}

static bool threads_clash(const thread_scan *s, int32_t a, int32_t b) {
    const spad__events *events = &s->order->events;
    const spad_walk_access *x = &events->accesses.items[a];
    const spad_walk_access *y = &events->accesses.items[b];
    if (((x->kind | y->kind) & SPAD_ACCESS_WRITE) == 0) return false;
    if ((x->kind & y->kind & SPAD_ACCESS_ADD) == SPAD_ACCESS_ADD) return false;
    if (events->storage[a] != events->storage[b]) return false;
    const spad__bytes left = spad__bytes_of(x);
    const spad__bytes right = spad__bytes_of(y);
    return spad__bytes_overlap(&left, &right);
}

static spad_status report_threads(thread_scan *s, const unmet *first, int32_t event, int32_t access,
                                  spad_error *error) {
    spad__order *o = s->order;
    const spad_walk_access *touched = &o->events.accesses.items[access];
    const spad__event *e = &o->events.items.items[event];
    char now[SPAD__PHRASE_MAX];
    char before[SPAD__PHRASE_MAX];
    spad_finding finding;
    if (spad__count_finding(o->run, SPAD_FINDING_MISSING_SYNC, e->statement,
                            o->events.items.items[first->event].statement)) {
        return SPAD_OK;
    }
    spad__event_phrase(&o->events, e, now);
    spad__event_phrase(&o->events, &o->events.items.items[first->event], before);
    spad__finding_init(
        &finding, SPAD_FINDING_MISSING_SYNC,
        "%s accesses '%s' by %s of %lld threads, after %s by %s of them, and no sync "
        "of all threads comes between",
        now, s->kernel->tensors.items[touched->tensor].name, first->one ? "all" : "one",
        (long long)s->threads, before, first->one ? "one" : "all");
    spad__finding_set_names(&finding, s->kernel->tensors.items[touched->tensor].name, NULL);
    spad__finding_add_note(&finding, "the other access is here");
    return spad__order_find(o, &finding, event, first->event, error);
}

/* Does the end of an operation go to an mbarrier or a counter, where all can wait for it? */
static bool is_announced(const spad__event *event) {
    return event->unit >= 0 && event->completion_count > 0;
}

static spad_status compare_access(thread_scan *s, int32_t event, int32_t access, bool one,
                                  spad_error *error) {
    spad_status status = SPAD_OK;
    for (size_t i = 0; i < s->recents.count && status == SPAD_OK; i++) {
        const unmet *r = &s->recents.items[i];
        if (r->one == one) continue;
        if (++s->compared > COMPARISONS_MAX) {
            s->order->run->gap = "an agent has too many accesses between two syncs";
            return SPAD_OK;
        }
        if (r->one && is_announced(&s->order->events.items.items[r->event])) continue;
        if (threads_clash(s, r->access, access))
            status = report_threads(s, r, event, access, error);
    }
    return status;
}

static spad_status see_operation(thread_scan *s, int32_t number, spad_error *error) {
    const spad__event *event = &s->order->events.items.items[number];
    const bool one = is_by_one(s, event);
    spad_status status = SPAD_OK;
    for (size_t i = 0; i < event->access_count && status == SPAD_OK; i++) {
        const int32_t access = (int32_t)(event->first_access + i);
        if (is_of_threads(s, access)) continue;
        status = compare_access(s, number, access, one, error);
    }
    if (status != SPAD_OK) return status;
    if (!spad__array_reserve(&s->order->net.host, &s->recents, event->access_count)) {
        return spad__fail_host_memory(error);
    }
    for (size_t i = 0; i < event->access_count; i++) {
        const int32_t access = (int32_t)(event->first_access + i);
        if (is_of_threads(s, access)) continue;
        s->recents.items[s->recents.count++] =
            (unmet){.event = number,
                    .access = access,
                    .one = one,
                    .pending = one && event->unit >= 0,
                    .group = event->object,
                    .bundle = event->object >= 0 ? s->commits[event->object] : 0};
    }
    return SPAD_OK;
}

/* All threads have met: what came before, and is over, is ordered for all of them. Of the first
 * `count` accesses. */
static void threads_meet(thread_scan *s, size_t count) {
    size_t kept = 0;
    for (size_t i = 0; i < s->recents.count; i++) {
        if (i < count && !s->recents.items[i].pending) continue;
        s->recents.items[kept++] = s->recents.items[i];
    }
    s->recents.count = kept;
    for (size_t i = 0; i < s->order->events.objects.count; i++) s->arrivals[i] = 0;
}

static void wait_own_group(thread_scan *s, const spad__event *event) {
    for (size_t i = 0; i < s->recents.count; i++) {
        unmet *r = &s->recents.items[i];
        if (r->pending && r->group == event->object &&
            r->bundle < s->commits[event->object] - event->amount) {
            r->pending = false;
        }
    }
}

/* The phase of the first action of an event: that of an arrival, or those that a wait found. */
static int64_t sync_phase_of(const thread_scan *s, const spad__event *event) {
    const spad__net *net = &s->order->net;
    const size_t number = (size_t)(event - s->order->events.items.items);
    const spad__point *point = &net->points.items[net->step[number]];
    return point->action_count > 0 ? net->actions.items[point->first_action].phase : 0;
}

static void see_sync(thread_scan *s, const spad__event *event) {
    const spad_statement_kind kind = s->kernel->statements.items[event->statement].kind;
    const bool all = event->amount == 1 || event->amount >= s->threads;
    if (event->object < 0 || event->unit >= 0) return;
    switch (kind) {
    case SPAD_STATEMENT_SYNC:
        if (all) threads_meet(s, s->recents.count);
        break;
    case SPAD_STATEMENT_ARRIVE:
        if (event->amount < s->threads) break;
        s->arrivals[event->object] = s->recents.count;
        s->phases[event->object] = sync_phase_of(s, event);
        break;
    case SPAD_STATEMENT_WAIT_PARITY:
        if (s->arrivals[event->object] > 0 && sync_phase_of(s, event) >= s->phases[event->object]) {
            threads_meet(s, s->arrivals[event->object]);
        }
        break;
    case SPAD_STATEMENT_COMMIT: s->commits[event->object]++; break;
    case SPAD_STATEMENT_WAIT_GROUP: wait_own_group(s, event); break;
    default: break;
    }
}

static bool elects(const spad_kernel *k, int64_t agent) {
    for (size_t i = 0; i < k->statements.count; i++) {
        const spad_statement *s = &k->statements.items[i];
        if (s->agent == agent && s->kind == SPAD_STATEMENT_OPERATION &&
            (s->flags & SPAD_BY_ONE) != 0) {
            return true;
        }
    }
    return false;
}

static spad_status scan_agent(thread_scan *s, size_t agent, spad_error *error) {
    const spad__events *events = &s->order->events;
    spad_status status = SPAD_OK;
    s->recents.count = 0;
    s->threads = s->kernel->agents.items[agent].threads.value;
    for (size_t i = 0; i < events->objects.count; i++) {
        s->commits[i] = 0;
        s->arrivals[i] = 0;
    }
    for (size_t e = events->firsts.items[agent];
         e < events->firsts.items[agent + 1] && status == SPAD_OK; e++) {
        const spad__event *event = &events->items.items[e];
        if (event->kind == SPAD_WALK_OPERATION) status = see_operation(s, (int32_t)e, error);
        if (event->kind == SPAD_WALK_SYNC) see_sync(s, event);
    }
    return status;
}

spad_status spad__find_threads(spad__order *o, spad_error *error) {
    const spad_host *host = &o->net.host;
    const size_t objects = o->events.objects.count;
    thread_scan s = {.order = o, .kernel = o->events.kernel};
    spad_status status = SPAD_OK;
    s.commits = spad__new_array(host, objects + 1, sizeof *s.commits);
    s.arrivals = spad__new_array(host, objects + 1, sizeof *s.arrivals);
    s.phases = spad__new_array(host, objects + 1, sizeof *s.phases);
    if (s.commits == NULL || s.arrivals == NULL || s.phases == NULL)
        status = spad__fail_host_memory(error);
    for (size_t a = 1; a + 1 < o->events.firsts.count && status == SPAD_OK; a++) {
        if (s.kernel->agents.items[a].threads.value <= 1 || !elects(s.kernel, (int64_t)a)) continue;
        status = scan_agent(&s, a, error);
    }
    spad__array_free(host, &s.recents);
    spad__free(host, s.commits, (objects + 1) * sizeof *s.commits);
    spad__free(host, s.arrivals, (objects + 1) * sizeof *s.arrivals);
    spad__free(host, s.phases, (objects + 1) * sizeof *s.phases);
    return status;
}
