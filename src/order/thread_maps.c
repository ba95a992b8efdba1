/* SPDX-License-Identifier: Apache-2.0
 *
 * Barriers of an agent between two accesses. O(events + accesses) for the tables; O(1) for a pair
 * of statements, and one query of happens-before where the first is on a unit.
 */
#include "order/thread_maps.h"

#include <string.h>

#include "base/index.h"
#include "kernel/kernel.h"
#include "kernel/touched_bytes.h"
#include "order/agent_threads.h"

/* ---- tables ------------------------------------------------------------------------ */

static spad__thread_map_kind kind_of_word(const char *word) {
    static const struct {
        const char *word;
        spad__thread_map_kind kind;
    } kinds[] = {{"all", SPAD__THREADS_ALL},
                 {"together", SPAD__THREADS_TOGETHER},
                 {"one", SPAD__THREADS_ONE},
                 {"lanes", SPAD__THREADS_BY_LANE},
                 {"unknown", SPAD__THREADS_UNKNOWN}};
    if (word == NULL) return SPAD__THREADS_NOT_STATED;
    for (size_t i = 0; i < sizeof kinds / sizeof kinds[0]; i++) {
        if (strcmp(word, kinds[i].word) == 0) return kinds[i].kind;
    }
    return SPAD__THREADS_NAMED;
}

/* The number of a name: the first access that has it. False: no memory. */
static bool intern_name(spad__index *names, const spad_kernel *kernel, size_t row,
                        const spad_host *host, int32_t *number) {
    const char *name = kernel->accesses.items[row].spread;
    const uint64_t hash = spad__hash_text(name, strlen(name));
    spad__probe probe = spad__index_probe(names, hash);
    for (size_t i; (i = spad__probe_next(&probe)) != SPAD__NO_ITEM;) {
        *number = (int32_t)i;
        if (strcmp(kernel->accesses.items[i].spread, name) == 0) return true;
    }
    if (!spad__index_reserve(names, host, 1)) return false;
    spad__index_add(names, hash, row);
    *number = (int32_t)row;
    return true;
}

static bool fill_maps(spad__thread_map *of_row, const spad_kernel *kernel, const spad_host *host) {
    spad__index names = {0};
    bool fine = true;
    for (size_t i = 0; i < kernel->accesses.count && fine; i++) {
        of_row[i] = (spad__thread_map){kind_of_word(kernel->accesses.items[i].spread), -1};
        if (of_row[i].kind != SPAD__THREADS_NAMED) continue;
        fine = intern_name(&names, kernel, i, host, &of_row[i].name);
    }
    spad__index_free(&names, host);
    return fine;
}

static void fill_barriers(int32_t *last_barrier, const spad__events *events) {
    for (size_t agent = 0; agent + 1 < events->firsts.count; agent++) {
        int32_t last = -1;
        for (size_t i = events->firsts.items[agent]; i < events->firsts.items[agent + 1]; i++) {
            last_barrier[i] = last;
            if (spad__is_barrier_of_agent(events->kernel, &events->items.items[i])) {
                last = (int32_t)i;
            }
        }
    }
}

static bool states_thread_maps(const spad_kernel *kernel) {
    for (size_t i = 0; i < kernel->accesses.count; i++) {
        if (kernel->accesses.items[i].spread != NULL) return true;
    }
    return false;
}

spad_status spad__thread_maps_list(spad__thread_maps *maps, const spad__order *order,
                                   spad_error *error) {
    const spad__events *events = &order->events;
    const spad_host *host = &order->graph.host;
    *maps = (spad__thread_maps){0};
    if (!states_thread_maps(events->kernel)) return SPAD_OK;
    maps->of_row = spad__new_array(host, events->kernel->accesses.count, sizeof *maps->of_row);
    maps->last_barrier = spad__new_array(host, events->items.count + 1, sizeof *maps->last_barrier);
    if (maps->of_row == NULL || maps->last_barrier == NULL ||
        !fill_maps(maps->of_row, events->kernel, host)) {
        return spad__fail_host_memory(error);
    }
    fill_barriers(maps->last_barrier, events);
    return SPAD_OK;
}

void spad__thread_maps_free(spad__thread_maps *maps, const spad__order *order) {
    const spad__events *events = &order->events;
    spad__free(&order->graph.host, maps->of_row,
               events->kernel->accesses.count * sizeof *maps->of_row);
    spad__free(&order->graph.host, maps->last_barrier,
               (events->items.count + 1) * sizeof *maps->last_barrier);
    *maps = (spad__thread_maps){0};
}

/* ---- who accesses what ------------------------------------------------------------- */

/* Each byte is accessed by several threads: before it begins, an operation of all threads together
 * needs all of them as well. */
static bool is_of_several(spad__thread_map map) {
    return map.kind == SPAD__THREADS_ALL || map.kind == SPAD__THREADS_TOGETHER;
}

/* Does every thread that waits for the end of x know of all of it? */
static bool ends_for_all(spad__thread_map map, const spad__event *event) {
    if (map.kind == SPAD__THREADS_TOGETHER) return true;
    return map.kind == SPAD__THREADS_ONE && event->unit >= 0 && event->object < 0;
}

/* One thread, and a division of a tile among several: some byte of the tile is of another thread,
 * but perhaps none that both access. */
static spad__barrier_need one_and_named(const spad_walk_access *one,
                                        const spad_walk_access *named) {
    const spad__bytes a = spad__bytes_of(one);
    const spad__bytes b = spad__bytes_of(named);
    return spad__bytes_cover(&a, &b) ? SPAD__BARRIER_NEEDED : SPAD__BARRIER_MAYBE_NEEDED;
}

/* The same by lanes: where the one has all lanes of the other, it has all of them in the bytes that
 * both access. */
static spad__barrier_need one_and_lanes(const spad_walk_access *one,
                                        const spad_walk_access *lanes) {
    const bool all = one->rect.lane <= lanes->rect.lane &&
                     one->rect.lane + one->rect.lanes >= lanes->rect.lane + lanes->rect.lanes;
    return all ? SPAD__BARRIER_NEEDED : SPAD__BARRIER_MAYBE_NEEDED;
}

/* A name divides the bytes of one tensor: in another one it says nothing. */
static spad__barrier_need two_named(const spad_walk_access *x, const spad_walk_access *y,
                                    bool same_map) {
    if (x->tensor != y->tensor) return SPAD__BARRIER_MAYBE_NEEDED;
    return same_map ? SPAD__BARRIER_NOT_NEEDED : SPAD__BARRIER_NEEDED;
}

static spad__barrier_need barrier_need(const spad_walk_access *x, spad__thread_map a,
                                       const spad_walk_access *y, spad__thread_map b) {
    const bool same = spad__thread_map_equal(a, b);
    if (same && (a.kind == SPAD__THREADS_ONE || a.kind == SPAD__THREADS_BY_LANE)) {
        return SPAD__BARRIER_NOT_NEEDED;
    }
    if (is_of_several(a) || is_of_several(b)) return SPAD__BARRIER_NEEDED;
    if (a.kind == SPAD__THREADS_UNKNOWN || b.kind == SPAD__THREADS_UNKNOWN) {
        return SPAD__BARRIER_MAYBE_NEEDED;
    }
    if (a.kind == SPAD__THREADS_ONE && b.kind == SPAD__THREADS_BY_LANE) return one_and_lanes(x, y);
    if (a.kind == SPAD__THREADS_BY_LANE && b.kind == SPAD__THREADS_ONE) return one_and_lanes(y, x);
    if (a.kind == SPAD__THREADS_ONE) return one_and_named(x, y);
    if (b.kind == SPAD__THREADS_ONE) return one_and_named(y, x);
    if (a.kind == SPAD__THREADS_BY_LANE || b.kind == SPAD__THREADS_BY_LANE) {
        return SPAD__BARRIER_MAYBE_NEEDED;
    }
    return two_named(x, y, same);
}

/* ---- pairs ------------------------------------------------------------------------- */

/* The end of an access, for those that wait for it. */
static int32_t end_of_access(const spad__order *o, int32_t event, size_t access) {
    const bool writes = (o->events.accesses.items[access].kind & SPAD_ACCESS_WRITE) != 0;
    return spad__event_graph_last(&o->graph, event, writes);
}

/* An arrival of all threads that comes after x for each of them: is it known where y begins? */
static spad_status arrives_between(spad__order *o, int32_t end, int32_t arrival, int32_t y,
                                   bool *between, spad_error *error) {
    const int32_t point = spad__event_graph_first(&o->graph, arrival);
    const spad_status status = spad__ordered_before(o->visible, end, point, between, error);
    if (status != SPAD_OK || !*between) return status;
    return spad__ordered_before(o->visible, point, spad__event_graph_first(&o->graph, y), between,
                                error);
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

/* Is there a barrier of the agent after the end of x, a point, and before y? */
static spad_status has_barrier_between(const spad__thread_maps *maps, spad__order *o, int32_t x,
                                       int32_t end, int32_t y, bool *between, spad_error *error) {
    const int32_t barrier = maps->last_barrier[y];
    spad_status status = SPAD_OK;
    *between = barrier > x && o->graph.start[x] < 0;
    if (barrier > x && !*between) {
        status = spad__ordered_before(o->visible, end, o->graph.step[barrier], between, error);
    }
    if (!*between && status == SPAD_OK) status = find_arrival(o, x, end, y, between, error);
    return status;
}

spad_status spad__thread_maps_lack(const spad__thread_maps *maps, const spad__clash *pair,
                                   spad__barrier_need *lack, spad_error *error) {
    spad__order *o = pair->order;
    const int32_t first = pair->first.event, second = pair->second.event;
    const spad__event *a = &o->events.items.items[first];
    const spad_walk_access *x = &o->events.accesses.items[pair->first.access];
    const spad_walk_access *y = &o->events.accesses.items[pair->second.access];
    *lack = SPAD__BARRIER_NOT_NEEDED;
    if (maps->of_row == NULL || a->agent != o->events.items.items[second].agent) return SPAD_OK;
    const spad__thread_map of_x = maps->of_row[x->row], of_y = maps->of_row[y->row];
    if (of_x.kind == SPAD__THREADS_NOT_STATED || of_y.kind == SPAD__THREADS_NOT_STATED ||
        ends_for_all(of_x, a)) {
        return SPAD_OK;
    }
    const spad__barrier_need need = barrier_need(x, of_x, y, of_y);
    if (need == SPAD__BARRIER_NOT_NEEDED) return SPAD_OK;
    bool between;
    const spad_status status =
        has_barrier_between(maps, o, first, end_of_access(o, first, (size_t)pair->first.access),
                            second, &between, error);
    if (status == SPAD_OK && !between) *lack = need;
    return status;
}

/* ---- mbarriers ---------------------------------------------------------------------- */

/* The last event of an agent on each mbarrier, by object; -1: none. */
typedef struct mbarrier_uses {
    int32_t init;
    int32_t wait;
} mbarrier_uses;

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

/* Has an agent several warps? One that does not state its threads has, where it states a thread
 * map. */
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

spad_status spad__thread_maps_lack_mbarrier(const spad__thread_maps *maps, spad__order *o,
                                            int32_t event, size_t access, int32_t other, bool first,
                                            spad__barrier_need *lack, spad_error *error) {
    const spad__event *e = &o->events.items.items[event];
    *lack = SPAD__BARRIER_NOT_NEEDED;
    if (maps->of_row == NULL || e->agent != o->events.items.items[other].agent) return SPAD_OK;
    const spad__thread_map map = maps->of_row[o->events.accesses.items[access].row];
    if (map.kind == SPAD__THREADS_NOT_STATED || map.kind == SPAD__THREADS_ONE) return SPAD_OK;
    if (!first && ends_for_all(map, e)) return SPAD_OK;
    if (!has_warps(o->events.kernel, (size_t)e->agent)) return SPAD_OK;
    bool between;
    const spad_status status =
        first ? has_barrier_between(maps, o, other, o->graph.step[other], event, &between, error)
              : has_barrier_between(maps, o, event, end_of_access(o, event, access), other,
                                    &between, error);
    if (status != SPAD_OK || between) return status;
    *lack = is_of_several(map) ? SPAD__BARRIER_NEEDED : SPAD__BARRIER_MAYBE_NEEDED;
    return SPAD_OK;
}

static spad_status find_in_agent(const spad__thread_maps *s, spad__order *o, size_t agent,
                                 mbarrier_uses *last, spad_error *error) {
    const spad__events *events = &o->events;
    spad_status status = SPAD_OK;
    for (size_t i = 0; i < events->objects.count; i++) last[i] = (mbarrier_uses){-1, -1};
    for (size_t i = events->firsts.items[agent];
         i < events->firsts.items[agent + 1] && status == SPAD_OK; i++) {
        const spad__event *e = &events->items.items[i];
        if (e->kind != SPAD_WALK_SYNC || e->object < 0 || (e->flags & SPAD_BY_ONE) != 0) continue;
        const spad_statement_kind kind = events->kernel->statements.items[e->statement].kind;
        mbarrier_uses *use = &last[e->object];
        if (kind == SPAD_STATEMENT_INIT) use->init = (int32_t)i;
        if (kind == SPAD_STATEMENT_WAIT_PARITY) {
            use->wait = (int32_t)i;
            if (use->init >= 0 && s->last_barrier[i] < use->init) {
                status = find_early(o, (int32_t)i, use->init, false, error);
            }
        }
        if (kind == SPAD_STATEMENT_INVALIDATE && use->wait >= 0 && s->last_barrier[i] < use->wait) {
            status = find_early(o, (int32_t)i, use->wait, true, error);
        }
    }
    return status;
}

spad_status spad__thread_maps_find(const spad__thread_maps *maps, spad__order *o,
                                   spad_error *error) {
    const size_t count = o->events.objects.count + 1;
    if (maps->of_row == NULL) return SPAD_OK;
    mbarrier_uses *last = spad__new_array(&o->graph.host, count, sizeof *last);
    spad_status status = last != NULL ? SPAD_OK : spad__fail_host_memory(error);
    for (size_t agent = 0; agent + 1 < o->events.firsts.count && status == SPAD_OK; agent++) {
        if (!has_warps(o->events.kernel, agent)) continue;
        status = find_in_agent(maps, o, agent, last, error);
    }
    spad__free(&o->graph.host, last, count * sizeof *last);
    return status;
}
