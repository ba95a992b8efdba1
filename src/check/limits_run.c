/* SPDX-License-Identifier: Apache-2.0
 *
 * Limits of what a chip can count, as far as a run shows it: arrivals that `init` sets, bytes that
 * a phase of an mbarrier has still to get, and the flags that one core has between two of its
 * pipes.
 *
 * The bytes are those of the one run of the executor (executor.h), which is a real execution: what
 * is reported can happen. A counter is a flag of a pair of pipes if all that signals it is queued
 * by one agent on one pipe, and all that waits for it by the same agent on another; the agent is
 * the core. O(events + actions + objects^2), objects being those of counters with such a pair.
 */
#include "base/checked.h"
#include "check/order_pass.h"
#include "kernel/kernel.h"

/* ---- mbarriers --------------------------------------------------------------------- */

static spad_status report_bytes(spad__order *o, const spad__action *action, int64_t bytes,
                                spad_error *error) {
    const spad_target *target = o->events.kernel->target;
    const int32_t event = o->graph.points.items[action->point].event;
    char object[SPAD__PHRASE_MAX];
    spad_finding finding;
    spad__object_phrase(&o->events, action->object, object);
    spad__finding_init(&finding, SPAD_FINDING_MBARRIER_LIMIT,
                       "%s waits for %s B at the same time, and an mbarrier of %s counts up to "
                       "%s; use several mbarriers, or smaller copies",
                       object, spad__grouped(bytes).text, target->name,
                       spad__grouped(target->limits.expected).text);
    spad__finding_set_names(&finding, object, NULL);
    return spad__order_find(o, &finding, event, -1, error);
}

static spad_status report_arrivals(spad__order *o, const spad__action *action, spad_error *error) {
    const spad_target *target = o->events.kernel->target;
    const int32_t event = o->graph.points.items[action->point].event;
    char object[SPAD__PHRASE_MAX];
    spad_finding finding;
    spad__object_phrase(&o->events, action->object, object);
    spad__finding_init(&finding, SPAD_FINDING_MBARRIER_LIMIT,
                       "%s is initialised for %s arrivals, and an mbarrier of %s counts up to %s",
                       object, spad__grouped(action->amount).text, target->name,
                       spad__grouped(target->limits.arrivals).text);
    spad__finding_set_names(&finding, object, NULL);
    return spad__order_find(o, &finding, event, -1, error);
}

/* Bytes that an action adds to those that its phase lacks. */
static int64_t phase_bytes_of(const spad__action *action) {
    switch (action->kind) {
    case SPAD__ACTION_ARRIVE: return action->expect;
    case SPAD__ACTION_EXPECT: return action->amount;
    case SPAD__ACTION_DELIVER: return -action->amount;
    default: return 0;
    }
}

/* The actions of one object as they happened. */
static spad_status check_object(spad__order *o, size_t object, spad_error *error) {
    const spad_limits *limits = &o->events.kernel->target->limits;
    const int64_t own = o->events.objects.items[object].count;
    int64_t phase = 0;
    int64_t bytes = 0;
    spad_status status = SPAD_OK;
    for (int32_t i = o->first_action[object]; i < o->first_action[object + 1]; i++) {
        const spad__action *action = &o->graph.actions.items[o->actions[i]];
        const int64_t more = phase_bytes_of(action);
        if (action->kind == SPAD__ACTION_INIT && limits->arrivals > 0 && action->amount != own &&
            action->amount > limits->arrivals && status == SPAD_OK) {
            status = report_arrivals(o, action, error);
        }
        if (more == 0 || status != SPAD_OK) continue;
        if (action->phase != phase) bytes = 0;
        phase = action->phase;
        if (!spad__add(bytes, more, &bytes)) bytes = more > 0 ? INT64_MAX : -INT64_MAX;
        if (limits->expected > 0 && bytes > limits->expected) {
            status = report_bytes(o, action, bytes, error);
        }
    }
    return status;
}

/* ---- flags ------------------------------------------------------------------------- */

/* One side of a counter: who, on which engine. */
typedef struct side {
    int32_t agent;
    int64_t engine;
} side;

enum { NOT_SEEN = -1, MIXED = -2 };

typedef struct flag {
    side from;
    side to;
} flag;

/* The engine of the unit that an event is queued on; of the agent itself: -1. */
static int64_t engine_of(const spad_kernel *k, const spad__event *event) {
    return event->unit >= 0 ? (int64_t)k->units.items[event->unit].engine : -1;
}

static void see(side *known, side now) {
    if (known->agent == NOT_SEEN) {
        *known = now;
    } else if (known->agent != now.agent || known->engine != now.engine) {
        known->agent = MIXED;
    }
}

static void collect_flags(const spad__order *o, flag *flags) {
    const spad__event_graph *graph = &o->graph;
    for (size_t i = 0; i < o->events.objects.count; i++) {
        flags[i].from.agent = flags[i].to.agent = NOT_SEEN;
    }
    for (size_t i = 0; i < graph->actions.count; i++) {
        const spad__action *action = &graph->actions.items[i];
        const int32_t number = graph->points.items[action->point].event;
        if (number < 0 || o->events.objects.items[action->object].kind != SPAD_SYNC_COUNTER) {
            continue;
        }
        const spad__event *event = &o->events.items.items[number];
        const side now = {event->agent, engine_of(o->events.kernel, event)};
        see(action->kind == SPAD__ACTION_SIGNAL ? &flags[action->object].from
                                                : &flags[action->object].to,
            now);
    }
}

static bool is_flag(const flag *f) {
    return f->from.agent >= 0 && f->from.agent == f->to.agent && f->from.engine != f->to.engine;
}

static const char *flag_engine_name(const spad__order *o, int64_t engine) {
    return engine >= 0 ? o->events.kernel->target->engines[engine].name : "the agent itself";
}

static spad_status report_flags(spad__order *o, const flag *f, size_t object, int64_t count,
                                spad_error *error) {
    const spad_kernel *k = o->events.kernel;
    const int32_t sync = o->events.objects.items[object].sync;
    spad_finding finding;
    spad__finding_init(
        &finding, SPAD_FINDING_FLAG_LIMIT,
        "'%s' has %lld flags from %s to %s, with '%s' the last, and %s has %lld for a "
        "pair of pipes; use some of them again",
        k->agents.items[f->from.agent].name, (long long)count, flag_engine_name(o, f->from.engine),
        flag_engine_name(o, f->to.engine), k->syncs.items[sync].name, k->target->name,
        (long long)k->target->limits.flags);
    return spad__add_about_sync(o->run, &finding, (size_t)sync, error);
}

/* Every pair once, at its last flag. */
static spad_status count_flags(spad__order *o, const flag *flags, spad_error *error) {
    const int64_t most = o->events.kernel->target->limits.flags;
    const size_t objects = o->events.objects.count;
    spad_status status = SPAD_OK;
    for (size_t i = 0; i < objects && status == SPAD_OK; i++) {
        int64_t count = 1;
        bool last = is_flag(&flags[i]);
        for (size_t other = 0; other < objects && last; other++) {
            const flag *f = &flags[other];
            if (other == i || !is_flag(f) || f->from.agent != flags[i].from.agent ||
                f->from.engine != flags[i].from.engine || f->to.engine != flags[i].to.engine) {
                continue;
            }
            last = other < i;
            count++;
        }
        if (last && count > most) status = report_flags(o, &flags[i], i, count, error);
    }
    return status;
}

static spad_status check_flags(spad__order *o, spad_error *error) {
    enum { OBJECTS_MAX = 4096 };
    const size_t objects = o->events.objects.count;
    if (o->events.kernel->target->limits.flags == 0 || objects == 0) return SPAD_OK;
    if (objects > OBJECTS_MAX) {
        o->run->gap = "there are more flags than are counted";
        return SPAD_OK;
    }
    flag *flags = spad__new_array(&o->graph.host, objects, sizeof *flags);
    if (flags == NULL) return spad__fail_host_memory(error);
    collect_flags(o, flags);
    const spad_status status = count_flags(o, flags, error);
    spad__free(&o->graph.host, flags, objects * sizeof *flags);
    return status;
}

spad_status spad__find_limits(spad__order *o, spad_error *error) {
    spad_status status = check_flags(o, error);
    for (size_t i = 0; i < o->events.objects.count && status == SPAD_OK; i++) {
        if (o->events.objects.items[i].kind == SPAD_SYNC_MBARRIER) {
            status = check_object(o, i, error);
        }
    }
    return status;
}
