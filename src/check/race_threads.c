/* SPDX-License-Identifier: Apache-2.0
 *
 * The messages about accesses that are ordered for the elected thread of an agent and not for its
 * other threads: all of them write a tile and one gives it to the TMA unit; all of them read a
 * stage and one says that it is free.
 */
#include <stdio.h>

#include "check/order_pass.h"
#include "kernel/kernel.h"
#include "order/non_elected.h"

static const spad__event *event_of_clash(const spad__order *o, int32_t event) {
    return &o->events.items.items[event];
}

static long long threads_of(const spad__order *o, const spad__event *event) {
    return (long long)o->events.kernel->agents.items[event->agent].threads.value;
}

static bool is_elected(const spad__order *o, int32_t event) {
    return o->non_elected.step[event] < 0;
}

/* One agent: all threads and the elected one, in either order. */
static spad_status report_within(const spad__clash *c, const char *tensor, const char *first,
                                 const char *second, spad_error *error) {
    spad__order *o = c->order;
    const bool one = is_elected(o, c->second.event);
    const bool both = !one && !is_elected(o, c->first.event);
    spad_finding finding;
    if (both) {
        spad__finding_init(&finding, SPAD_FINDING_MISSING_SYNC,
                           "%s accesses '%s' by all of %lld threads, after %s by all of them, and "
                           "only one of them waits for the end of its part",
                           second, tensor, threads_of(o, event_of_clash(o, c->second.event)),
                           first);
    } else {
        spad__finding_init(&finding, SPAD_FINDING_MISSING_SYNC,
                           "%s accesses '%s' by %s of %lld threads, after %s by %s of them, and no "
                           "sync of all threads comes between",
                           second, tensor, one ? "one" : "all",
                           threads_of(o, event_of_clash(o, c->second.event)), first,
                           one ? "all" : "one");
    }
    spad__finding_set_names(&finding, tensor, NULL);
    spad__finding_add_note(&finding, "the other access is here");
    return spad__find_clash(c, &finding, c->second.event, c->first.event, error);
}

/* The first arrival of the elected thread after an event; -1: none. */
static int32_t elected_arrival(const spad__order *o, int32_t event) {
    const spad__events *events = &o->events;
    const size_t end = events->firsts.items[event_of_clash(o, event)->agent + 1];
    for (size_t i = (size_t)event + 1; i < end; i++) {
        const spad__event *e = &events->items.items[i];
        if (e->kind != SPAD_WALK_SYNC || !is_elected(o, (int32_t)i) || e->object < 0) continue;
        const spad_statement_kind kind = events->kernel->statements.items[e->statement].kind;
        if (kind == SPAD_STATEMENT_ARRIVE || kind == SPAD_STATEMENT_SIGNAL) return (int32_t)i;
    }
    return -1;
}

/* The last wait of the elected thread alone before an event; -1: none. */
static int32_t elected_wait(const spad__order *o, int32_t event) {
    const spad__events *events = &o->events;
    for (size_t i = (size_t)event; i-- > events->firsts.items[event_of_clash(o, event)->agent];) {
        const spad__event *e = &events->items.items[i];
        if (e->kind != SPAD_WALK_SYNC || !is_elected(o, (int32_t)i) || e->object < 0) continue;
        const spad_statement_kind kind = events->kernel->statements.items[e->statement].kind;
        if (kind == SPAD_STATEMENT_WAIT_PARITY || kind == SPAD_STATEMENT_WAIT_VALUE ||
            kind == SPAD_STATEMENT_TAKE) {
            return (int32_t)i;
        }
    }
    return -1;
}

/* "arrives at empty[0] for all 128": a note at the arrival, or wait, of the elected thread. */
static void add_elected_note(const spad__order *o, spad_finding *finding, int32_t event,
                             bool arrives) {
    char object[SPAD__PHRASE_MAX];
    if (event < 0) return;
    const spad__event *e = event_of_clash(o, event);
    const long long threads = threads_of(o, e);
    spad__object_phrase(&o->events, e->object, object);
    spad_note *note = spad__finding_add_note(
        finding,
        arrives ? "the elected thread arrives at %s for all %lld; `sync` before it"
                : "the elected thread waits for %s for all %lld; `sync` after it",
        object, threads);
    spad__point_note(note, o->events.kernel->statements.items[e->statement].location);
}

/* Two agents: are the other threads of the first one over, when the elected one of the second
 * begins? Otherwise threads of the second begin too early. */
static spad_status report_between(const spad__clash *c, const char *tensor, const char *first,
                                  const char *second, spad_error *error) {
    spad__order *o = c->order;
    const bool writes = (o->events.accesses.items[c->first.access].kind & SPAD_ACCESS_WRITE) != 0;
    bool over;
    spad_finding finding;
    const spad_status status =
        spad__non_elected_over(o->visible, c->first.event, writes, c->second.event, &over, error);
    if (status != SPAD_OK) return status;
    if (over) {
        spad__finding_init(&finding, SPAD_FINDING_MISSING_SYNC,
                           "%s accesses '%s' by all of %lld threads, after %s, and only one of "
                           "them has waited for that",
                           second, tensor, threads_of(o, event_of_clash(o, c->second.event)),
                           first);
    } else {
        spad__finding_init(&finding, SPAD_FINDING_MISSING_SYNC,
                           "%s accesses '%s', which %s does by all of %lld threads; it waits for "
                           "one of them, and the others may not be done",
                           second, tensor, first, threads_of(o, event_of_clash(o, c->first.event)));
    }
    spad__finding_set_names(&finding, tensor, NULL);
    spad__finding_add_note(&finding, "the other access is here");
    add_elected_note(o, &finding,
                     over ? elected_wait(o, c->second.event) : elected_arrival(o, c->first.event),
                     !over);
    return spad__find_clash(c, &finding, c->second.event, c->first.event, error);
}

spad_status spad__report_missing_barrier(const spad__clash *c, bool certain, spad_error *error) {
    const spad__order *o = c->order;
    const int64_t tensor = o->events.accesses.items[c->second.access].tensor;
    const char *name = o->events.kernel->tensors.items[tensor].name;
    char first[SPAD__PHRASE_MAX];
    char second[SPAD__PHRASE_MAX];
    spad_finding finding;
    spad__event_phrase(&o->events, event_of_clash(o, c->first.event), first);
    spad__event_phrase(&o->events, event_of_clash(o, c->second.event), second);
    spad__finding_init(&finding, SPAD_FINDING_MISSING_SYNC,
                       "%s accesses '%s': bytes that %s has accessed in another thread%s, and no "
                       "sync of all threads comes between",
                       second, name, first, certain ? "" : ", perhaps");
    if (!certain) finding.severity = SPAD_SEVERITY_WARNING;
    spad__finding_set_names(&finding, name, NULL);
    spad__finding_add_note(&finding, "the other access is here");
    return spad__find_clash(c, &finding, c->second.event, c->first.event, error);
}

spad_status spad__report_threads(const spad__clash *c, spad_error *error) {
    const spad__order *o = c->order;
    const spad__event *x = event_of_clash(o, c->first.event);
    const spad__event *y = event_of_clash(o, c->second.event);
    const int64_t tensor = o->events.accesses.items[c->second.access].tensor;
    const char *name = o->events.kernel->tensors.items[tensor].name;
    char first[SPAD__PHRASE_MAX];
    char second[SPAD__PHRASE_MAX];
    spad__event_phrase(&o->events, x, first);
    spad__event_phrase(&o->events, y, second);
    return x->agent == y->agent ? report_within(c, name, first, second, error)
                                : report_between(c, name, first, second, error);
}
