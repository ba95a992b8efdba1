/* SPDX-License-Identifier: Apache-2.0
 *
 * Fences of a kernel by kind and agent, and the search for one between two points.
 *
 * A fence is between two points if, in every execution, it comes after the first and before the
 * second. The fences of one agent and kind are a list in a total order, so those after the first
 * point are a suffix of the list, found by bisection. If any fence of the suffix precedes the
 * second point, the first of the suffix does: O(log fences) queries for each agent and kind.
 *
 * An arrival or signal on a unit takes effect when the operations issued there are done, and is a
 * `before` fence of the kind that the unit needs [PTX ISA, tcgen05.commit]. A fence statement that
 * follows such an arrival in the program may happen before it. Mixed in one list the two would not
 * be in a total order and bisection would be wrong, so each list holds fences of one sort.
 */
#include "order/fences.h"

#include <string.h>

#include "base/assert.h"
#include "kernel/kernel.h"

/* Spaces that both threads and the async proxy access; a bit each. */
static uint64_t spaces_of_proxies(const spad_target *target) {
    uint64_t spaces = 0;
    for (size_t i = 0; i < target->fence_count; i++) {
        if (target->fences[i].kind == SPAD_FENCE_PROXY) spaces |= target->fences[i].spaces;
    }
    for (size_t i = 0; i < target->space_count && target->fence_count == 0; i++) {
        const spad_space *space = &target->spaces[i];
        if (space->lanes == 1 && strcmp(space->name, "registers") != 0) spaces |= UINT64_C(1) << i;
    }
    return spaces;
}

/* The fence that the operations of an event need, and its number; NULL: none. */
static const spad_fence_rule *fence_of_event(const spad__order *order, const spad__event *event,
                                             int64_t *number) {
    *number = event->unit >= 0
                  ? spad_kernel_get_unit(order->events.kernel, (size_t)event->unit)->fence
                  : -1;
    if (*number < 0) return NULL;
    return &spad_kernel_get_target(order->events.kernel)->fences[*number];
}

/* ---- lists ------------------------------------------------------------------------- */

/* The kind of fence that an event is, and the point where it is one. */
static bool is_fence(const spad__order *o, int32_t number, spad__fence_run *kind, int32_t *point) {
    const spad__event *event = &o->events.items.items[number];
    if (event->kind != SPAD_WALK_SYNC) return false;
    const spad_statement *s = spad_kernel_get_statement(o->events.kernel, (size_t)event->statement);
    if (s->kind == SPAD_STATEMENT_FENCE) {
        *kind = (spad__fence_run){.fence = s->fence,
                                  .unit = -1,
                                  .when = s->flags & (SPAD_FENCE_BEFORE | SPAD_FENCE_AFTER)};
        *point = o->graph.step[number];
        return true;
    }
    const spad_fence_rule *rule = fence_of_event(o, event, &kind->fence);
    if (rule == NULL || rule->kind != SPAD_FENCE_THREADS) return false;
    if (s->kind != SPAD_STATEMENT_ARRIVE && s->kind != SPAD_STATEMENT_SIGNAL) return false;
    kind->when = SPAD_FENCE_BEFORE;
    kind->unit = event->unit;
    *point = o->graph.start[number];
    return true;
}

static bool is_same_kind(const spad__fence_run *a, const spad__fence_run *b) {
    return a->fence == b->fence && a->unit == b->unit && a->when == b->when;
}

/* The fences of one kind of one agent. */
static bool list_run(spad__fences *f, spad__fence_run run, size_t first, size_t last) {
    const spad_host *host = &f->order->graph.host;
    run.first = f->points.count;
    for (size_t i = first; i < last; i++) {
        spad__fence_run kind = {0};
        int32_t point;
        if (!is_fence(f->order, (int32_t)i, &kind, &point) || !is_same_kind(&kind, &run)) continue;
        if (!spad__array_reserve(host, &f->points, 1)) return false;
        f->points.items[f->points.count++] = point;
    }
    run.end = f->points.count;
    if (!spad__array_reserve(host, &f->runs, 1)) return false;
    f->runs.items[f->runs.count++] = run;
    return true;
}

static bool is_listed(const spad__fences *f, const spad__fence_run *run) {
    for (size_t i = f->runs.count; i-- > 0 && f->runs.items[i].agent == run->agent;) {
        if (is_same_kind(&f->runs.items[i], run)) return true;
    }
    return false;
}

/* Collects the fences that units of the kernel need. */
static void list_needs(spad__fences *f) {
    const spad_kernel *kernel = f->order->events.kernel;
    f->proxy_spaces = spaces_of_proxies(kernel->target);
    for (size_t i = 0; i < kernel->units.count; i++) {
        if (kernel->units.items[i].fence >= 0) {
            f->needed |= UINT64_C(1) << kernel->units.items[i].fence;
        }
    }
}

spad_status spad__fences_list(spad__fences *f, spad__order *order, spad_error *error) {
    const spad__events *events = &order->events;
    *f = (spad__fences){.order = order};
    list_needs(f);
    for (size_t agent = 0; agent + 1 < events->firsts.count; agent++) {
        const size_t last = events->firsts.items[agent + 1];
        for (size_t i = events->firsts.items[agent]; i < last; i++) {
            spad__fence_run run = {.agent = (int32_t)agent};
            int32_t point;
            if (!is_fence(order, (int32_t)i, &run, &point)) continue;
            run.agent = (int32_t)agent;
            if (!is_listed(f, &run) && !list_run(f, run, i, last)) {
                return spad__fail_host_memory(error);
            }
        }
    }
    return SPAD_OK;
}

void spad__fences_free(spad__fences *f) {
    spad__array_free(&f->order->graph.host, &f->points);
    spad__array_free(&f->order->graph.host, &f->runs);
}

/* ---- between two points ------------------------------------------------------------ */

static bool serves_need(const spad__fences *f, const spad__fence_run *run,
                        const spad__fence_need *need) {
    const spad_target *target = spad_kernel_get_target(f->order->events.kernel);
    if (need->agent >= 0 && run->agent != need->agent) return false;
    if (need->fence >= 0) return run->fence == need->fence && run->when == need->when;
    if (run->fence < 0) return true;
    const spad_fence_rule *rule = &target->fences[run->fence];
    if (rule->kind != SPAD_FENCE_PROXY && !(need->init && rule->kind == SPAD_FENCE_INIT))
        return false;
    return (rule->spaces & need->spaces) != 0;
}

static spad_status run_between(const spad__fences *f, const spad__fence_run *run, int32_t from,
                               int32_t to, bool *found, spad_error *error) {
    spad__happens_before *hb = f->order->visible;
    size_t first = run->first;
    size_t last = run->end;
    spad__assert(first <= last && last <= f->points.count);
    *found = false;
    while (first < last) {
        const size_t middle = first + (last - first) / 2;
        bool after;
        const spad_status status =
            spad__ordered_before(hb, from, f->points.items[middle], &after, error);
        if (status != SPAD_OK) return status;
        if (after) {
            last = middle;
        } else {
            first = middle + 1;
        }
    }
    if (first == run->end) return SPAD_OK;
    return spad__ordered_before(hb, f->points.items[first], to, found, error);
}

spad_status spad__fences_between(spad__fences *f, const spad__fence_need *need, int32_t from,
                                 int32_t to, bool *found, spad_error *error) {
    spad_status status = SPAD_OK;
    *found = false;
    for (size_t i = 0; i < f->runs.count && status == SPAD_OK && !*found; i++) {
        if (!serves_need(f, &f->runs.items[i], need)) continue;
        status = run_between(f, &f->runs.items[i], from, to, found, error);
    }
    return status;
}

/* ---- between two accesses ---------------------------------------------------------- */

static const spad__event *fence_event(const spad__fences *f, int32_t number) {
    return &f->order->events.items.items[number];
}

bool spad__is_async(const spad__order *order, const spad__event *event) {
    return event->unit >= 0 &&
           spad_kernel_get_unit(order->events.kernel, (size_t)event->unit)->proxy;
}

static spad_status lacks(spad__fences *f, const spad__fence_pair *pair,
                         const spad__fence_need *need, bool *lacking, spad_error *error) {
    bool fenced = true;
    const spad_status status = spad__fences_between(f, need, pair->from, pair->to, &fenced, error);
    *lacking = status == SPAD_OK && !fenced;
    return status;
}

spad_status spad__fences_lack_proxy(spad__fences *f, const spad__fence_pair *pair, bool *lacking,
                                    spad_error *error) {
    const spad__fence_need need = {.fence = -1, .spaces = UINT64_C(1) << pair->space, .agent = -1};
    *lacking = false;
    if (spad__is_async(f->order, fence_event(f, pair->first)) ||
        !spad__is_async(f->order, fence_event(f, pair->second)) ||
        (f->proxy_spaces & need.spaces) == 0) {
        return SPAD_OK;
    }
    return lacks(f, pair, &need, lacking, error);
}

/* An operation needs a fence of its own agent after the access, or one of the main program: before
 * the fork that program runs as all agents. */
static spad_status lacks_issue_fence(spad__fences *f, const spad__fence_pair *pair, int64_t fence,
                                     spad__fence_need *need, bool *lacking, spad_error *error) {
    *need = (spad__fence_need){.fence = fence, .agent = 0};
    const spad_status status = lacks(f, pair, need, lacking, error);
    if (status != SPAD_OK || !*lacking) return status;
    need->agent = fence_event(f, pair->second)->agent;
    return lacks(f, pair, need, lacking, error);
}

/* Accesses of two agents need two fences: `before` by the first agent, `after` by the second. The
 * arrival of an operation that signals its own end is the first of them. */
static spad_status lacks_thread_fence(spad__fences *f, const spad__fence_pair *pair, int64_t fence,
                                      spad__fence_need *need, bool *lacking, spad_error *error) {
    const spad__event *a = fence_event(f, pair->first);
    *need = (spad__fence_need){.fence = fence, .when = SPAD_FENCE_BEFORE, .agent = a->agent};
    if (a->unit < 0 || a->completion_count == 0) {
        const spad_status status = lacks(f, pair, need, lacking, error);
        if (status != SPAD_OK || *lacking) return status;
    }
    need->when = SPAD_FENCE_AFTER;
    need->agent = fence_event(f, pair->second)->agent;
    return lacks(f, pair, need, lacking, error);
}

spad_status spad__fences_lack_unit(spad__fences *f, const spad__fence_pair *pair,
                                   spad__fence_need *need, bool *lacking, spad_error *error) {
    const spad_target *target = spad_kernel_get_target(f->order->events.kernel);
    const spad__event *a = fence_event(f, pair->first);
    const spad__event *b = fence_event(f, pair->second);
    spad_status status = SPAD_OK;
    *lacking = false;
    for (size_t i = 0; i < target->fence_count && status == SPAD_OK && !*lacking; i++) {
        const spad_fence_rule *rule = &target->fences[i];
        if ((f->needed >> i & 1) == 0 || (rule->spaces >> pair->space & 1) == 0) continue;
        int64_t number;
        const bool same = fence_of_event(f->order, a, &number) == rule;
        const bool issued = fence_of_event(f->order, b, &number) == rule;
        if (rule->kind == SPAD_FENCE_ISSUE && issued && !same) {
            status = lacks_issue_fence(f, pair, (int64_t)i, need, lacking, error);
        }
        if (rule->kind == SPAD_FENCE_THREADS && a->agent != b->agent) {
            status = lacks_thread_fence(f, pair, (int64_t)i, need, lacking, error);
        }
    }
    return status;
}

/* ---- the first operation ----------------------------------------------------------- */

static bool touches_spaces(const spad__order *o, const spad__event *event, uint64_t spaces) {
    for (size_t i = 0; i < event->access_count; i++) {
        const int64_t tensor = o->events.accesses.items[event->first_access + i].tensor;
        const size_t space = spad_kernel_get_tensor(o->events.kernel, (size_t)tensor)->space;
        if ((spaces >> space & 1) != 0) return true;
    }
    return false;
}

spad_status spad__report_unfenced(const spad__fences *f, int64_t fence, int32_t number,
                                  spad_error *error) {
    spad__order *o = f->order;
    const char *name = spad_kernel_get_target(o->events.kernel)->fences[fence].name;
    char text[SPAD__PHRASE_MAX];
    spad_finding finding;
    spad__event_phrase(&o->events, &o->events.items.items[number], text);
    spad__finding_init(&finding, SPAD_FINDING_MISSING_FENCE,
                       "%s is the first that needs `fence %s`, and none comes before it", text,
                       name);
    spad__finding_set_names(&finding, name, NULL);
    spad__finding_add_note(&finding, "add `fence %s` before it", name);
    return spad__order_find(o, &finding, number, -1, error);
}

/* True if the main program has the fence before it forks. */
static bool begins_fenced(const spad__fences *f, int64_t fence) {
    const spad__events *events = &f->order->events;
    for (size_t i = 0; i < events->firsts.items[1]; i++) {
        spad__fence_run run = {0};
        int32_t point;
        if (events->items.items[i].kind == SPAD_WALK_FORK) break;
        if (is_fence(f->order, (int32_t)i, &run, &point) && run.fence == fence) return true;
    }
    return false;
}

int32_t spad__find_unfenced(const spad__fences *f, int64_t fence, size_t agent) {
    const spad__order *o = f->order;
    const spad_fence_rule *rule = &spad_kernel_get_target(o->events.kernel)->fences[fence];
    if (agent > 0 && begins_fenced(f, fence)) return -1;
    for (size_t i = o->events.firsts.items[agent]; i < o->events.firsts.items[agent + 1]; i++) {
        const spad__event *event = &o->events.items.items[i];
        spad__fence_run run = {0};
        int32_t point;
        int64_t own;
        if (is_fence(o, (int32_t)i, &run, &point) && run.fence == fence) return -1;
        if (event->kind != SPAD_WALK_OPERATION) continue;
        if (fence_of_event(o, event, &own) != rule) continue;
        if (touches_spaces(o, event, rule->spaces)) return (int32_t)i;
    }
    return -1;
}
