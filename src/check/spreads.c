/* SPDX-License-Identifier: Apache-2.0
 *
 * Threads that meet between two accesses. O(events) to list the meetings; O(1) for a pair of
 * statements, and one question to the model where the first is on a unit.
 */
#include "check/spreads.h"

#include <string.h>

#include "check/threads.h"
#include "kernel/bytes.h"
#include "kernel/kernel.h"

/* ---- meetings ---------------------------------------------------------------------- */

static bool has_spreads(const spad_kernel *kernel) {
    for (size_t i = 0; i < kernel->accesses.count; i++) {
        if (kernel->accesses.items[i].spread != NULL) return true;
    }
    return false;
}

spad_status spad__spreads_list(spad__spreads *spreads, const spad__order *order,
                               spad_error *error) {
    const spad__events *events = &order->events;
    spreads->met = NULL;
    if (!has_spreads(events->kernel)) return SPAD_OK;
    spreads->met = spad__new_array(&order->net.host, events->items.count + 1, sizeof *spreads->met);
    if (spreads->met == NULL) return spad__fail_host_memory(error);
    for (size_t agent = 0; agent + 1 < events->firsts.count; agent++) {
        int32_t last = -1;
        for (size_t i = events->firsts.items[agent]; i < events->firsts.items[agent + 1]; i++) {
            spreads->met[i] = last;
            if (spad__threads_meet(events->kernel, &events->items.items[i])) last = (int32_t)i;
        }
    }
    return SPAD_OK;
}

void spad__spreads_free(spad__spreads *spreads, const spad__order *order) {
    spad__free(&order->net.host, spreads->met,
               (order->events.items.count + 1) * sizeof *spreads->met);
    spreads->met = NULL;
}

/* ---- who accesses what ------------------------------------------------------------- */

typedef enum spread_kind {
    SPREAD_NAMED,
    SPREAD_ALL,
    SPREAD_ONE,
    SPREAD_LANES,
    SPREAD_UNKNOWN
} spread_kind;

/* What an operation of all threads together accesses is of several, before it begins. */
static spread_kind kind_of_spread(const char *spread) {
    if (strcmp(spread, "all") == 0 || strcmp(spread, "together") == 0) return SPREAD_ALL;
    if (strcmp(spread, "one") == 0) return SPREAD_ONE;
    if (strcmp(spread, "lanes") == 0) return SPREAD_LANES;
    return strcmp(spread, "unknown") == 0 ? SPREAD_UNKNOWN : SPREAD_NAMED;
}

/* Does every thread that waits for the end of x know of all of it? */
static bool ends_for_all(const char *spread, const spad__event *event) {
    if (strcmp(spread, "together") == 0) return true;
    return strcmp(spread, "one") == 0 && event->unit >= 0 && event->object < 0;
}

/* One thread, and a division of a tile among several: some byte of the tile is of another thread,
 * but perhaps none that both access. */
static spad__meeting one_and_named(const spad_walk_access *one, const spad_walk_access *named) {
    const spad__bytes a = spad__bytes_of(one);
    const spad__bytes b = spad__bytes_of(named);
    return spad__bytes_cover(&a, &b) ? SPAD__MEET_MUST : SPAD__MEET_MAYBE;
}

/* The same by lanes: where the one has all lanes of the other, it has all of them in the bytes that
 * both access. */
static spad__meeting one_and_lanes(const spad_walk_access *one, const spad_walk_access *lanes) {
    const bool all = one->rect.lane <= lanes->rect.lane &&
                     one->rect.lane + one->rect.lanes >= lanes->rect.lane + lanes->rect.lanes;
    return all ? SPAD__MEET_MUST : SPAD__MEET_MAYBE;
}

static spad__meeting two_named(const spad_walk_access *x, const spad_walk_access *y,
                               const char *first, const char *second) {
    if (x->tensor != y->tensor) return SPAD__MEET_MAYBE;
    return strcmp(first, second) == 0 ? SPAD__MEET_NOT : SPAD__MEET_MUST;
}

static spad__meeting meeting_between(const spad_walk_access *x, const char *first,
                                     const spad_walk_access *y, const char *second) {
    const spread_kind a = kind_of_spread(first);
    const spread_kind b = kind_of_spread(second);
    if (a == b && (a == SPREAD_ONE || a == SPREAD_LANES)) return SPAD__MEET_NOT;
    if (a == SPREAD_ALL || b == SPREAD_ALL) return SPAD__MEET_MUST;
    if (a == SPREAD_UNKNOWN || b == SPREAD_UNKNOWN) return SPAD__MEET_MAYBE;
    if (a == SPREAD_ONE && b == SPREAD_LANES) return one_and_lanes(x, y);
    if (a == SPREAD_LANES && b == SPREAD_ONE) return one_and_lanes(y, x);
    if (a == SPREAD_ONE) return one_and_named(x, y);
    if (b == SPREAD_ONE) return one_and_named(y, x);
    if (a == SPREAD_LANES || b == SPREAD_LANES) return SPAD__MEET_MAYBE;
    return two_named(x, y, first, second);
}

/* ---- pairs ------------------------------------------------------------------------- */

static const char *spread_of(const spad__order *o, const spad_walk_access *access) {
    return o->events.kernel->accesses.items[access->row].spread;
}

/* The end of an access, for those that wait for it. */
static int32_t end_of_access(const spad__order *o, int32_t event, size_t access) {
    const bool writes = (o->events.accesses.items[access].kind & SPAD_ACCESS_WRITE) != 0;
    return spad__net_last(&o->net, event, writes);
}

/* An arrival of all threads that comes after x for each of them: is it known where y begins? */
static spad_status arrives_between(spad__order *o, int32_t end, int32_t arrival, int32_t y,
                                   bool *between, spad_error *error) {
    const int32_t point = spad__net_first(&o->net, arrival);
    const spad_status status = spad__causes_before(o->visible, end, point, between, error);
    if (status != SPAD_OK || !*between) return status;
    return spad__causes_before(o->visible, point, spad__net_first(&o->net, y), between, error);
}

static spad_status find_arrival(spad__order *o, int32_t x, int32_t end, int32_t y, bool *between,
                                spad_error *error) {
    const spad__events *events = &o->events;
    spad_status status = SPAD_OK;
    *between = false;
    for (int32_t e = x + 1; e < y && !*between && status == SPAD_OK; e++) {
        const spad__event *event = &events->items.items[e];
        if (event->kind == SPAD_WALK_SYNC && (event->flags & SPAD_BY_ONE) == 0 &&
            events->kernel->statements.items[event->statement].kind == SPAD_STATEMENT_ARRIVE) {
            status = arrives_between(o, end, e, y, between, error);
        }
    }
    return status;
}

/* Do the threads of an agent meet after the end of x, a point, and before y? */
static spad_status meet_between(const spad__spreads *spreads, spad__order *o, int32_t x,
                                int32_t end, int32_t y, bool *between, spad_error *error) {
    const int32_t met = spreads->met[y];
    spad_status status = SPAD_OK;
    *between = met > x && o->net.start[x] < 0;
    if (met > x && !*between) {
        status = spad__causes_before(o->visible, end, o->net.step[met], between, error);
    }
    if (!*between && status == SPAD_OK) status = find_arrival(o, x, end, y, between, error);
    return status;
}

spad_status spad__spreads_lack(const spad__spreads *spreads, const spad__clash *pair,
                               spad__meeting *lack, spad_error *error) {
    spad__order *o = pair->order;
    const int32_t first = pair->first.event, second = pair->second.event;
    const spad__event *a = &o->events.items.items[first];
    const spad_walk_access *x = &o->events.accesses.items[pair->first.access];
    const spad_walk_access *y = &o->events.accesses.items[pair->second.access];
    *lack = SPAD__MEET_NOT;
    if (spreads->met == NULL || a->agent != o->events.items.items[second].agent) return SPAD_OK;
    const char *of_x = spread_of(o, x), *of_y = spread_of(o, y);
    if (of_x == NULL || of_y == NULL || ends_for_all(of_x, a)) return SPAD_OK;
    const spad__meeting need = meeting_between(x, of_x, y, of_y);
    if (need == SPAD__MEET_NOT) return SPAD_OK;
    bool between;
    const spad_status status =
        meet_between(spreads, o, first, end_of_access(o, first, (size_t)pair->first.access), second,
                     &between, error);
    if (status == SPAD_OK && !between) *lack = need;
    return status;
}

/* ---- mbarriers ---------------------------------------------------------------------- */

/* What an agent did last with an mbarrier, by object; -1: nothing. */
typedef struct spread_uses {
    int32_t init;
    int32_t wait;
} spread_uses;

static spad_status find_early(spad__order *o, int32_t event, int32_t other, bool ends,
                              spad_error *error) {
    const spad__event *e = &o->events.items.items[event];
    char object[SPAD__PHRASE_MAX];
    char first[SPAD__PHRASE_MAX];
    char second[SPAD__PHRASE_MAX];
    spad_finding finding;
    spad__object_phrase(&o->events, e->object, object);
    spad__event_phrase(&o->events, e, second);
    spad__event_phrase(&o->events, &o->events.items.items[other], first);
    spad__finding_init(&finding, SPAD_FINDING_MISSING_SYNC,
                       ends ? "%s comes when other threads may still be in %s, and no sync of all "
                              "threads comes between"
                            : "%s comes when one thread may not have run %s yet, and no sync of "
                              "all threads comes between",
                       second, first);
    spad__finding_set_names(&finding, object, NULL);
    return spad__order_find(o, &finding, event, other, error);
}

/* Has an agent several warps? One that does not state its threads has, where it states a spread. */
static bool has_warps(const spad_kernel *kernel, size_t agent) {
    const int64_t threads = kernel->agents.items[agent].threads.value;
    if (threads > 0) return threads > kernel->target->limits.warp;
    for (size_t i = 0; i < kernel->statements.count; i++) {
        const spad_statement *s = &kernel->statements.items[i];
        for (size_t k = 0; s->agent == (int64_t)agent && k < s->access_count; k++) {
            if (kernel->accesses.items[s->first_access + k].spread != NULL) return true;
        }
    }
    return false;
}

spad_status spad__spreads_lack_barrier(const spad__spreads *spreads, spad__order *o, int32_t event,
                                       size_t access, int32_t other, bool first,
                                       spad__meeting *lack, spad_error *error) {
    const spad__event *e = &o->events.items.items[event];
    *lack = SPAD__MEET_NOT;
    if (spreads->met == NULL || e->agent != o->events.items.items[other].agent) return SPAD_OK;
    const char *spread = spread_of(o, &o->events.accesses.items[access]);
    if (spread == NULL || kind_of_spread(spread) == SPREAD_ONE) return SPAD_OK;
    if (!first && ends_for_all(spread, e)) return SPAD_OK;
    if (!has_warps(o->events.kernel, (size_t)e->agent)) return SPAD_OK;
    bool between;
    const spad_status status =
        first ? meet_between(spreads, o, other, o->net.step[other], event, &between, error)
              : meet_between(spreads, o, event, end_of_access(o, event, access), other, &between,
                             error);
    if (status != SPAD_OK || between) return status;
    *lack = kind_of_spread(spread) == SPREAD_ALL ? SPAD__MEET_MUST : SPAD__MEET_MAYBE;
    return SPAD_OK;
}

static spad_status find_in_agent(const spad__spreads *s, spad__order *o, size_t agent,
                                 spread_uses *last, spad_error *error) {
    const spad__events *events = &o->events;
    spad_status status = SPAD_OK;
    for (size_t i = 0; i < events->objects.count; i++) last[i] = (spread_uses){-1, -1};
    for (size_t i = events->firsts.items[agent];
         i < events->firsts.items[agent + 1] && status == SPAD_OK; i++) {
        const spad__event *e = &events->items.items[i];
        if (e->kind != SPAD_WALK_SYNC || e->object < 0 || (e->flags & SPAD_BY_ONE) != 0) continue;
        const spad_statement_kind kind = events->kernel->statements.items[e->statement].kind;
        spread_uses *use = &last[e->object];
        if (kind == SPAD_STATEMENT_INIT) use->init = (int32_t)i;
        if (kind == SPAD_STATEMENT_WAIT_PARITY) {
            use->wait = (int32_t)i;
            if (use->init >= 0 && s->met[i] < use->init) {
                status = find_early(o, (int32_t)i, use->init, false, error);
            }
        }
        if (kind == SPAD_STATEMENT_INVALIDATE && use->wait >= 0 && s->met[i] < use->wait) {
            status = find_early(o, (int32_t)i, use->wait, true, error);
        }
    }
    return status;
}

spad_status spad__spreads_find(const spad__spreads *spreads, spad__order *o, spad_error *error) {
    const size_t count = o->events.objects.count + 1;
    if (spreads->met == NULL) return SPAD_OK;
    spread_uses *last = spad__new_array(&o->net.host, count, sizeof *last);
    spad_status status = last != NULL ? SPAD_OK : spad__fail_host_memory(error);
    for (size_t agent = 0; agent + 1 < o->events.firsts.count && status == SPAD_OK; agent++) {
        if (!has_warps(o->events.kernel, agent)) continue;
        status = find_in_agent(spreads, o, agent, last, error);
    }
    spad__free(&o->net.host, last, count * sizeof *last);
    return status;
}
