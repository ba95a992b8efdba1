/* SPDX-License-Identifier: Apache-2.0
 *
 * Threads inside an agent: all of them write a tile and one of them gives it to the TMA unit. The
 * order of the agent is the order of each thread; that one thread comes after what the others did
 * needs more. This part looks at agents that state more than one thread, and at pairs of an
 * operation of all threads and one of the elected thread.
 *
 * The other threads run the operations of all threads, and wait where the agent waits. They come
 * after an operation of the elected thread
 *   - at a `sync` to which the agent brings all its threads (or 1, at a barrier that counts agents)
 *     after the end of the operation, or
 *   - at a wait for a phase of an mbarrier, if something that the phase needs comes after the end
 * of the operation. The wait must mean this phase for a thread that knows only what it has waited
 * for itself: it has waited for the phase before. The elected thread comes after an operation of
 * the others
 *   - at such a `sync`, or
 *   - at a wait for a phase, if something that the phase needs comes after an arrival of all
 *     threads, and that after the operation.
 * Each thread waits for what it has issued itself. An operation of all threads on a unit is over
 * for them when they have waited for its group or have drained all units. The elected thread knows
 * of the parts of the others if they meet after that, if it waits for a phase that the operation
 * itself completes, or for one that needs an arrival of all threads on the unit. Registers are of a
 * thread, and not looked at.
 *
 * O(events + comparisons), and at most COMPARISONS_MAX of these.
 */
#include "check/threads.h"
#include "base/checked.h"
#include "kernel/bytes.h"
#include "kernel/kernel.h"

enum { COMPARISONS_MAX = 10000000 };

/* An access that no sync has come after. */
typedef struct unmet {
    int32_t event;
    int32_t access;
    bool one;       /* of the elected thread */
    bool pending;   /* issued, and not waited for by the thread that did */
    int32_t over;   /* not pending: the event from which on it is not */
    int32_t unit;   /* pending: where; -1: over when it was run */
    int32_t group;  /* pending: object of its group; -1: none */
    int64_t bundle; /* commits of the group before it */
} unmet;

/* A statement of the agent that its threads share. */
typedef enum share_kind { SHARE_MEET, SHARE_ARRIVE, SHARE_ARRIVE_ON, SHARE_WAIT } share_kind;

typedef struct share {
    share_kind kind;
    int32_t event;
    int32_t unit;   /* ARRIVE_ON */
    int32_t object; /* of a wait */
    int64_t phase;  /* phases that are complete after the wait */
    bool exact;     /* the wait means this phase for every thread */
} share;

typedef struct thread_scan {
    spad__order *order;
    const spad_kernel *kernel;
    int64_t threads;              /* of the agent */
    SPAD_ARRAY(unmet) recents[2]; /* of all threads, and of the elected one */
    SPAD_ARRAY(share) shares;     /* of the agent, in its order */
    int64_t *commits;             /* by object: of this agent */
    spad__known_phases phases;
    int64_t compared;
} thread_scan;

static bool is_by_one(const thread_scan *s, const spad__event *event) {
    return (s->kernel->statements.items[event->statement].flags & SPAD_BY_ONE) != 0;
}

static bool is_of_threads(const thread_scan *s, int32_t access) {
    const int64_t tensor = s->order->events.accesses.items[access].tensor;
    return s->kernel->target->spaces[s->kernel->tensors.items[tensor].space].thread_bytes > 0;
}

static bool is_by_proxy(const thread_scan *s, int32_t event) {
    const int64_t unit = s->order->events.items.items[event].unit;
    return unit >= 0 && s->kernel->units.items[unit].proxy;
}

static bool threads_clash(const thread_scan *s, const unmet *first, int32_t event, int32_t b) {
    const spad__events *events = &s->order->events;
    const int32_t a = first->access;
    const spad_walk_access *x = &events->accesses.items[a];
    const spad_walk_access *y = &events->accesses.items[b];
    if (((x->kind | y->kind) & SPAD_ACCESS_WRITE) == 0) return false;
    if ((x->kind & y->kind & SPAD_ACCESS_ADD) == SPAD_ACCESS_ADD &&
        is_by_proxy(s, first->event) == is_by_proxy(s, event)) {
        return false;
    }
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

/* ---- order of two threads ---------------------------------------------------------- */

/* Does something that the phases up to that of a wait need come after a point? `itself`: or is it
 * that point, and nothing else counts? */
static spad_status phase_needs(thread_scan *s, const share *wait, int32_t from, bool itself,
                               bool *needs, spad_error *error) {
    const spad__order *o = s->order;
    spad_status status = SPAD_OK;
    *needs = false;
    for (int32_t i = o->first_action[wait->object];
         i < o->first_action[wait->object + 1] && status == SPAD_OK && !*needs; i++) {
        const spad__action *a = &o->net.actions.items[o->actions[i]];
        const bool brings = a->kind == SPAD__ACTION_ARRIVE || a->kind == SPAD__ACTION_EXPECT ||
                            a->kind == SPAD__ACTION_DELIVER;
        s->compared++;
        if (!brings || a->phase > wait->phase) continue;
        *needs = a->point == from;
        if (*needs || itself) continue;
        status = spad__causes_before(o->visible, from, a->point, needs, error);
    }
    return status;
}

/* Are the other threads after an operation of the elected one? */
static spad_status others_follow(thread_scan *s, const unmet *first, bool *follow,
                                 spad_error *error) {
    const spad__order *o = s->order;
    const bool writes = (o->events.accesses.items[first->access].kind & SPAD_ACCESS_WRITE) != 0;
    const int32_t from = spad__net_last(&o->net, first->event, writes);
    spad_status status = SPAD_OK;
    for (size_t i = s->shares.count; i-- > 0 && status == SPAD_OK && !*follow;) {
        const share *at = &s->shares.items[i];
        if (at->event < first->event || s->compared > COMPARISONS_MAX) break;
        s->compared++;
        if (at->kind == SHARE_MEET) {
            status = spad__causes_before(o->visible, from, o->net.step[at->event], follow, error);
        } else if (at->kind == SHARE_WAIT && at->exact) {
            status = phase_needs(s, at, from, false, follow, error);
        }
    }
    return status;
}

/* Does one of the waits from a place in the list on need what comes after a point? */
static spad_status wait_needs(thread_scan *s, size_t first, int32_t from, bool itself, bool *needs,
                              spad_error *error) {
    spad_status status = SPAD_OK;
    for (size_t i = first; i < s->shares.count && status == SPAD_OK && !*needs; i++) {
        if (s->shares.items[i].kind != SHARE_WAIT) continue;
        status = phase_needs(s, &s->shares.items[i], from, itself, needs, error);
    }
    return status;
}

/* The point up to which a statement of all threads shows that their parts of an operation are over;
 * -1: it does not. */
static int32_t shown_until(const thread_scan *s, const unmet *first, const share *at) {
    const bool over = !first->pending && at->event >= first->over;
    if (at->kind == SHARE_ARRIVE && over) return s->order->net.step[at->event];
    const bool queued = first->pending && first->unit == at->unit;
    if (at->kind == SHARE_ARRIVE_ON && (over || queued)) return s->order->net.start[at->event];
    return -1;
}

/* Is the elected thread after an operation of the others? Waits come after arrivals in the list, so
 * they are collected from its end. */
static spad_status elected_follows(thread_scan *s, const unmet *first, bool *follow,
                                   spad_error *error) {
    const spad__order *o = s->order;
    spad_status status = SPAD_OK;
    size_t i = s->shares.count;
    while (i > 0 && status == SPAD_OK && !*follow) {
        const share *at = &s->shares.items[i - 1];
        if (at->event < first->event || s->compared > COMPARISONS_MAX) break;
        i--;
        s->compared++;
        *follow = at->kind == SHARE_MEET && !first->pending && at->event >= first->over;
        const int32_t until = shown_until(s, first, at);
        if (until >= 0) status = wait_needs(s, i + 1, until, false, follow, error);
    }
    if (*follow || status != SPAD_OK || first->unit < 0) return status;
    const bool writes = (o->events.accesses.items[first->access].kind & SPAD_ACCESS_WRITE) != 0;
    return wait_needs(s, i, spad__net_last(&o->net, first->event, writes), true, follow, error);
}

/* Compares an access with those of the other kind before it. What it comes after, later ones of its
 * kind do as well. */
static spad_status compare_access(thread_scan *s, int32_t event, int32_t access, bool one,
                                  spad_error *error) {
    spad_status status = SPAD_OK;
    size_t kept = 0;
    for (size_t i = 0; i < s->recents[!one].count; i++) {
        const unmet r = s->recents[!one].items[i];
        bool follow = false;
        if (status == SPAD_OK && ++s->compared <= COMPARISONS_MAX &&
            threads_clash(s, &r, event, access)) {
            status = r.one ? others_follow(s, &r, &follow, error)
                           : elected_follows(s, &r, &follow, error);
            if (status == SPAD_OK && !follow && s->compared <= COMPARISONS_MAX) {
                status = report_threads(s, &r, event, access, error);
            }
        }
        if (!follow) s->recents[!one].items[kept++] = r;
    }
    s->recents[!one].count = kept;
    if (s->compared > COMPARISONS_MAX) {
        s->order->run->gap = "an agent has too many accesses between two syncs";
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
    if (!spad__array_reserve(&s->order->net.host, &s->recents[one], event->access_count)) {
        return spad__fail_host_memory(error);
    }
    for (size_t i = 0; i < event->access_count; i++) {
        const int32_t access = (int32_t)(event->first_access + i);
        if (is_of_threads(s, access)) continue;
        s->recents[one].items[s->recents[one].count++] =
            (unmet){.event = number,
                    .access = access,
                    .one = one,
                    .pending = event->unit >= 0,
                    .over = number,
                    .unit = event->unit,
                    .group = event->object,
                    .bundle = event->object >= 0 ? s->commits[event->object] : 0};
    }
    return SPAD_OK;
}

/* ---- one agent --------------------------------------------------------------------- */

/* All threads have met: what came before, and is over, is ordered for all of them. */
static void threads_meet(thread_scan *s) {
    for (size_t one = 0; one < 2; one++) {
        size_t kept = 0;
        for (size_t i = 0; i < s->recents[one].count; i++) {
            const unmet r = s->recents[one].items[i];
            if (r.pending) s->recents[one].items[kept++] = r;
        }
        s->recents[one].count = kept;
    }
}

/* A thread waits for what it has issued: all of it, or in a group. */
static void wait_own(thread_scan *s, const spad__event *event, bool all) {
    for (size_t one = 0; one < 2; one++) {
        for (size_t i = 0; i < s->recents[one].count; i++) {
            unmet *r = &s->recents[one].items[i];
            const bool over = all || (r->group == event->object &&
                                      r->bundle < s->commits[event->object] - event->amount);
            if (!r->pending || !over) continue;
            r->pending = false;
            r->over = (int32_t)(event - s->order->events.items.items);
        }
    }
}

static bool add_share(thread_scan *s, share row) {
    if (!spad__array_reserve(&s->order->net.host, &s->shares, 1)) return false;
    s->shares.items[s->shares.count++] = row;
    return true;
}

static bool see_wait(thread_scan *s, const spad__event *event, share row) {
    row.kind = SHARE_WAIT;
    row.exact = spad__phases_see(&s->phases, s->order, event, s->threads, &row.phase);
    return add_share(s, row);
}

/* False: no memory. */
static bool see_sync(thread_scan *s, const spad__event *event) {
    const spad_statement_kind kind = s->kernel->statements.items[event->statement].kind;
    share row = {.event = (int32_t)(event - s->order->events.items.items),
                 .object = event->object,
                 .unit = event->unit};
    if (kind == SPAD_STATEMENT_DRAIN && event->unit < 0) wait_own(s, event, true);
    if (event->unit >= 0) {
        row.kind = SHARE_ARRIVE_ON;
        return kind != SPAD_STATEMENT_ARRIVE || event->amount < s->threads || add_share(s, row);
    }
    if (event->object < 0) return true;
    switch (kind) {
    case SPAD_STATEMENT_SYNC:
        if (!spad__threads_meet_at(event, s->threads)) return true;
        threads_meet(s);
        spad__phases_see(&s->phases, s->order, event, s->threads, &row.phase);
        row.kind = SHARE_MEET;
        return add_share(s, row);
    case SPAD_STATEMENT_ARRIVE:
        row.kind = SHARE_ARRIVE;
        return event->amount < s->threads || add_share(s, row);
    case SPAD_STATEMENT_WAIT_PARITY: return see_wait(s, event, row);
    case SPAD_STATEMENT_COMMIT: s->commits[event->object]++; return true;
    case SPAD_STATEMENT_WAIT_GROUP: wait_own(s, event, false); return true;
    default: return true;
    }
}

static spad_status scan_agent(thread_scan *s, size_t agent, spad_error *error) {
    const spad__events *events = &s->order->events;
    spad_status status = SPAD_OK;
    s->recents[0].count = s->recents[1].count = 0;
    s->shares.count = 0;
    s->threads = s->kernel->agents.items[agent].threads.value;
    for (size_t i = 0; i < events->objects.count; i++) s->commits[i] = 0;
    spad__phases_begin(&s->phases, s->order);
    for (size_t e = events->firsts.items[agent];
         e < events->firsts.items[agent + 1] && status == SPAD_OK; e++) {
        const spad__event *event = &events->items.items[e];
        if (event->kind == SPAD_WALK_OPERATION) status = see_operation(s, (int32_t)e, error);
        if (event->kind == SPAD_WALK_SYNC && !see_sync(s, event)) {
            status = spad__fail_host_memory(error);
        }
    }
    return status;
}

spad_status spad__find_threads(spad__order *o, spad_error *error) {
    const spad_host *host = &o->net.host;
    const size_t objects = o->events.objects.count;
    thread_scan s = {.order = o, .kernel = o->events.kernel};
    spad_status status = SPAD_OK;
    s.commits = spad__new_array(host, objects + 1, sizeof *s.commits);
    if (s.commits == NULL || !spad__phases_init(&s.phases, o)) {
        status = spad__fail_host_memory(error);
    }
    for (size_t a = 1; a + 1 < o->events.firsts.count && status == SPAD_OK; a++) {
        if (spad__agent_elects(s.kernel, (int64_t)a)) status = scan_agent(&s, a, error);
    }
    spad__array_free(host, &s.recents[0]);
    spad__array_free(host, &s.recents[1]);
    spad__array_free(host, &s.shares);
    spad__free(host, s.commits, (objects + 1) * sizeof *s.commits);
    spad__phases_free(&s.phases, o);
    return status;
}
