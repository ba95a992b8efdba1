/* SPDX-License-Identifier: Apache-2.0
 *
 * Races: accesses to the same bytes, one of them a write, that are not ordered.
 *
 * Per storage, in the order in which one run starts the operations, every cell (cells.h)
 * remembers its last write and the reads since. A new access is compared with those
 * only: what they themselves come after is covered, because order is transitive. Adds are
 * like reads in that they need no order among themselves, if they go through one proxy; reads,
 * generic adds and async adds need one between each other. So what comes after a write is a
 * sequence of groups of one of these classes. A new access is compared with all of the group before
 * its own, which covers those before that one, and a write with all of the last group. The
 * run decides which of two can be first: if x ends before y starts in every execution,
 * then in this one too. So accesses are ordered iff all these pairs are, and each pair
 * that is not is a race that some execution has.
 *
 * An ordered pair of a generic and an async access also needs a proxy fence on the way
 * (PTX ISA, "Async Proxy"). Registers and tensor memory have rules of their own.
 */
#include <stdlib.h>
#include <string.h>

#include "base/assert.h"
#include "base/checked.h"
#include "check/cells.h"
#include "check/order.h"

static const char too_many_pieces[] = "accesses cut a tensor into too many pieces";

/* What a cell remembers. Numbers of accesses; -1: none. */
typedef struct cell {
    int32_t writer;
    int32_t group;  /* newest access of the last group; older ones hang after it in `older` */
    int32_t before; /* the same of the group before it */
} cell;

typedef struct pair {
    int32_t statement;
    int32_t other;
} pair;

typedef struct sweep {
    spad__order *order;
    int32_t *event;   /* per access */
    int32_t *numbers; /* accesses by storage, then as they start */
    int32_t *shapes;
    SPAD_ARRAY(cell) cells;
    SPAD_ARRAY(spad__edge) older; /* from: access, to: older access of its group in the cell */
    int32_t *compared;            /* per access: the newest one that it was compared with */
    bool *fed;                    /* per access: what it reads was there before, in the run */
    SPAD_ARRAY(pair) reported;
    SPAD_ARRAY(spad__edge) mild;   /* accesses that only a warning is due to, found at the end */
    SPAD_ARRAY(int32_t) fences;    /* points, by agent */
    SPAD_ARRAY(size_t) fence_ends; /* per agent */
} sweep;

/* ---- accesses ---------------------------------------------------------------------- */

static const spad__event *event_of_access(const sweep *s, int32_t access) {
    spad__assert(access >= 0 && (size_t)access < s->order->events.accesses.count);
    return &s->order->events.items.items[s->event[access]];
}

static const spad_walk_access *access_at(const sweep *s, int32_t access) {
    spad__assert(access >= 0 && (size_t)access < s->order->events.accesses.count);
    return &s->order->events.accesses.items[access];
}

static bool writes(const sweep *s, int32_t access) {
    return (access_at(s, access)->kind & SPAD_ACCESS_WRITE) != 0;
}

static bool is_life(const spad__event *event) {
    return event->kind == SPAD_WALK_ALLOC || event->kind == SPAD_WALK_FREE;
}

/* ---- findings ---------------------------------------------------------------------- */

/* One finding is enough for two statements. */
static bool is_reported(const sweep *s, int32_t x, int32_t y) {
    const int32_t statement = event_of_access(s, y)->statement;
    const int32_t other = event_of_access(s, x)->statement;
    for (size_t i = 0; i < s->reported.count; i++) {
        const pair *p = &s->reported.items[i];
        if (p->statement == statement && p->other == other) return true;
    }
    return false;
}

/* A pair for race_report.c, which is reported once. */
static spad_status report_race(sweep *s, int32_t x, int32_t y, spad__clash *clash,
                               spad_error *error) {
    if (!spad__array_reserve(&s->order->net.host, &s->reported, 1)) {
        return spad__fail_host_memory(error);
    }
    s->reported.items[s->reported.count++] =
        (pair){event_of_access(s, y)->statement, event_of_access(s, x)->statement};
    *clash = (spad__clash){
        .order = s->order, .first = {s->event[x], x}, .second = {s->event[y], y}, .fed = s->fed[x]};
    return SPAD_OK;
}

static spad_status find_race(sweep *s, int32_t x, int32_t y, bool executed, spad_error *error) {
    spad__clash clash;
    const spad_status status = report_race(s, x, y, &clash, error);
    if (status != SPAD_OK) return status;
    clash.executed = executed;
    return spad__report_race(&clash, error);
}

static spad_status find_missing_fence(sweep *s, int32_t x, int32_t y, spad_error *error) {
    spad__clash clash;
    const spad_status status = report_race(s, x, y, &clash, error);
    return status == SPAD_OK ? spad__report_fence(&clash, error) : status;
}

/* ---- fences ------------------------------------------------------------------------ */

static bool is_async(const sweep *s, const spad__event *event) {
    return event->unit >= 0 &&
           spad_kernel_get_unit(s->order->events.kernel, (size_t)event->unit)->proxy;
}

/* Is memory there reached through both proxies? */
static bool has_proxies(const sweep *s, int32_t access) {
    const spad_kernel *kernel = s->order->events.kernel;
    const spad_walk_access *a = access_at(s, access);
    const spad_kernel_tensor *tensor = spad_kernel_get_tensor(kernel, (size_t)a->tensor);
    const spad_space *space = &spad_kernel_get_target(kernel)->spaces[tensor->space];
    return space->lanes == 1 && strcmp(space->name, "registers") != 0;
}

/* Is a fence of one agent between two points? The first one after `from` decides. */
static spad_status fenced_by(sweep *s, size_t first, size_t last, int32_t from, int32_t to,
                             bool *fenced, spad_error *error) {
    spad__assert(first <= last && last <= s->fences.count);
    const size_t end = last;
    *fenced = false;
    while (first < last) {
        const size_t middle = first + (last - first) / 2;
        bool after;
        const spad_status status =
            spad__causes_before(s->order->visible, from, s->fences.items[middle], &after, error);
        if (status != SPAD_OK) return status;
        if (after) {
            last = middle;
        } else {
            first = middle + 1;
        }
    }
    if (first == end) return SPAD_OK;
    return spad__causes_before(s->order->visible, s->fences.items[first], to, fenced, error);
}

static spad_status is_fenced(sweep *s, int32_t from, int32_t to, bool *fenced, spad_error *error) {
    size_t first = 0;
    *fenced = false;
    for (size_t agent = 0; agent < s->fence_ends.count && !*fenced; agent++) {
        const size_t last = s->fence_ends.items[agent];
        const spad_status status = fenced_by(s, first, last, from, to, fenced, error);
        if (status != SPAD_OK) return status;
        first = last;
    }
    return SPAD_OK;
}

/* Is there such a warning about the statements of x and y? */
static bool is_mild(const sweep *s, int32_t x, int32_t y) {
    for (size_t i = 0; i < s->mild.count; i++) {
        const spad__edge *p = &s->mild.items[i];
        if (event_of_access(s, p->from)->statement == event_of_access(s, x)->statement &&
            event_of_access(s, p->to)->statement == event_of_access(s, y)->statement) {
            return true;
        }
    }
    return false;
}

static spad_status check_fence(sweep *s, int32_t x, int32_t y, int32_t from, int32_t to,
                               spad_error *error) {
    if (is_async(s, event_of_access(s, x)) || !is_async(s, event_of_access(s, y)) ||
        !has_proxies(s, y) || is_life(event_of_access(s, x)) ||
        (!writes(s, x) && is_mild(s, x, y))) {
        return SPAD_OK;
    }
    bool fenced;
    const spad_status status = is_fenced(s, from, to, &fenced, error);
    if (status != SPAD_OK || fenced) return status;
    if (writes(s, x)) return find_missing_fence(s, x, y, error);
    if (!spad__array_reserve(&s->order->net.host, &s->mild, 1)) {
        return spad__fail_host_memory(error);
    }
    s->mild.items[s->mild.count++] = (spad__edge){x, y};
    return SPAD_OK;
}

/* Warnings about statements that nothing worse was found about. */
static spad_status report_mild(sweep *s, spad_error *error) {
    for (size_t i = 0; i < s->mild.count; i++) {
        const spad__edge p = s->mild.items[i];
        if (is_reported(s, p.from, p.to)) continue;
        const spad_status status = find_missing_fence(s, p.from, p.to, error);
        if (status != SPAD_OK) return status;
    }
    return SPAD_OK;
}

/* An mbarrier is initialised through the generic proxy; bytes are delivered to it through the
 * other one. */
static spad_status check_init_fence(sweep *s, const spad__action *init, const spad__action *a,
                                    spad_error *error) {
    spad__order *o = s->order;
    const int32_t begin = o->net.points.items[init->point].event;
    const int32_t event = o->net.points.items[a->point].event;
    if (!is_async(s, &o->events.items.items[event])) return SPAD_OK;
    bool fenced;
    const spad_status status = is_fenced(s, init->point, a->point, &fenced, error);
    if (status != SPAD_OK || fenced) return status;
    char text[SPAD__PHRASE_MAX];
    char name[SPAD__PHRASE_MAX];
    spad__event_phrase(&o->events, &o->events.items.items[event], text);
    spad__object_phrase(&o->events, a->object, name);
    spad_finding finding;
    spad__finding_init(
        &finding, SPAD_FINDING_MISSING_FENCE,
        "%s delivers to %s through the async proxy, and no fence comes between it and the "
        "init",
        text, name);
    spad__finding_set_names(&finding, name, NULL);
    spad__finding_add_note(&finding, "add `fence` after the init of %s", name);
    return spad__order_find(o, &finding, event, begin, error);
}

static spad_status check_init_fences(sweep *s, spad_error *error) {
    const spad__order *o = s->order;
    const spad__action *init = NULL;
    for (size_t object = 0; object < o->events.objects.count; object++) {
        if (o->events.objects.items[object].kind != SPAD_SYNC_MBARRIER) continue;
        for (int32_t i = o->first_action[object]; i < o->first_action[object + 1]; i++) {
            const spad__action *a = &o->net.actions.items[o->actions[i]];
            if (a->kind == SPAD__ACTION_INIT) init = a;
            if (a->kind != SPAD__ACTION_DELIVER) continue;
            const spad_status status = check_init_fence(s, init, a, error);
            if (status != SPAD_OK) return status;
        }
    }
    return SPAD_OK;
}

static spad_status list_fences(sweep *s, spad_error *error) {
    const spad__events *events = &s->order->events;
    for (size_t agent = 0; agent + 1 < events->firsts.count; agent++) {
        for (size_t i = events->firsts.items[agent]; i < events->firsts.items[agent + 1]; i++) {
            const spad__event *event = &events->items.items[i];
            if (event->kind != SPAD_WALK_SYNC) continue;
            const spad_statement *row =
                spad_kernel_get_statement(events->kernel, (size_t)event->statement);
            if (row->kind != SPAD_STATEMENT_FENCE) continue;
            if (!spad__array_reserve(&events->host, &s->fences, 1)) {
                return spad__fail_host_memory(error);
            }
            s->fences.items[s->fences.count++] = s->order->net.step[i];
        }
        if (!spad__array_reserve(&events->host, &s->fence_ends, 1)) {
            return spad__fail_host_memory(error);
        }
        s->fence_ends.items[s->fence_ends.count++] = s->fences.count;
    }
    return SPAD_OK;
}

/* ---- pairs ------------------------------------------------------------------------- */

/* x started first in the run; one of them writes. */
static spad_status compare(sweep *s, int32_t x, int32_t y, spad_error *error) {
    spad__order *o = s->order;
    if (x < 0 || s->event[x] == s->event[y] || s->compared[x] == y) return SPAD_OK;
    s->compared[x] = y;
    const spad__event *a = event_of_access(s, x);
    const spad__event *b = event_of_access(s, y);
    const bool in_step = o->net.start[s->event[x]] < 0 && o->net.start[s->event[y]] < 0;
    if ((in_step && a->agent == b->agent) || is_reported(s, x, y)) return SPAD_OK;
    const int32_t from = spad__net_last(&o->net, s->event[x], writes(s, x));
    const int32_t to = spad__net_first(&o->net, s->event[y]);
    bool before = false;
    spad_status status = spad__causes_before(o->visible, from, to, &before, error);
    if (status != SPAD_OK) return status;
    if (before) return check_fence(s, x, y, from, to, error);
    bool executed = false;
    if (o->visible != &o->model) {
        status = spad__causes_before(&o->model, from, to, &executed, error);
        if (status != SPAD_OK) return status;
    }
    return find_race(s, x, y, executed, error);
}

/* Is the tile there that an access wants? */
static bool has_its_tile(const sweep *s, int32_t y, const cell *c) {
    const spad_kernel *kernel = s->order->events.kernel;
    const spad_walk_access *access = access_at(s, y);
    if (c->writer >= 0) return spad__same_tile(kernel, access, access_at(s, c->writer));
    return (spad_kernel_get_tensor(kernel, (size_t)access->tensor)->flags & SPAD_TENSOR_INPUT) != 0;
}

/* Accesses that need no order among themselves. */
typedef enum access_class { CLASS_READ, CLASS_ADD, CLASS_ADD_ASYNC, CLASS_WRITE } access_class;

static access_class class_of_access(const sweep *s, int32_t access) {
    if (!writes(s, access)) return CLASS_READ;
    if ((access_at(s, access)->kind & SPAD_ACCESS_ADD) != SPAD_ACCESS_ADD) return CLASS_WRITE;
    return is_async(s, event_of_access(s, access)) ? CLASS_ADD_ASYNC : CLASS_ADD;
}

static spad_status compare_group(sweep *s, int32_t group, int32_t y, spad_error *error) {
    spad_status status = SPAD_OK;
    for (int32_t r = group; r >= 0 && status == SPAD_OK; r = s->older.items[r].to) {
        status = compare(s, s->older.items[r].from, y, error);
    }
    return status;
}

static spad_status visit(sweep *s, int32_t y, cell *c, spad_error *error) {
    s->fed[y] = s->fed[y] || has_its_tile(s, y, c);
    const access_class own = class_of_access(s, y);
    spad_status status = compare(s, c->writer, y, error);
    if (own == CLASS_WRITE) {
        if (status == SPAD_OK) status = compare_group(s, c->group, y, error);
        *c = (cell){y, -1, -1};
        return status;
    }
    if (c->group >= 0 && class_of_access(s, s->older.items[c->group].from) != own) {
        c->before = c->group;
        c->group = -1;
    }
    if (status == SPAD_OK) status = compare_group(s, c->before, y, error);
    if (status != SPAD_OK) return status;
    if (!spad__array_reserve(&s->order->net.host, &s->older, 1)) {
        return spad__fail_host_memory(error);
    }
    s->older.items[s->older.count] = (spad__edge){y, c->group};
    c->group = (int32_t)s->older.count++;
    return SPAD_OK;
}

/* ---- storages ---------------------------------------------------------------------- */

static spad_status sweep_storage(sweep *s, size_t first, size_t count, spad_error *error) {
    const spad_host *host = &s->order->net.host;
    spad__cells cells;
    bool too_many;
    spad_status status = spad__cells_make(&cells, host, s->order->events.accesses.items,
                                          s->numbers + first, count, s->shapes, &too_many, error);
    if (too_many) s->order->run->gap = too_many_pieces;
    if (status == SPAD_OK && !too_many) {
        s->cells.count = s->older.count = 0;
        if (!spad__array_reserve(host, &s->cells, cells.count)) {
            status = spad__fail_host_memory(error);
        }
        for (int32_t i = 0; i < cells.count && status == SPAD_OK; i++) {
            s->cells.items[i] = (cell){-1, -1, -1};
        }
        for (size_t i = 0; i < count && status == SPAD_OK; i++) {
            const size_t shape = (size_t)s->shapes[i];
            const size_t from = shape > 0 ? cells.ends.items[shape - 1] : 0;
            for (size_t c = from; c < cells.ends.items[shape] && status == SPAD_OK; c++) {
                cell *touched = &s->cells.items[cells.touched.items[c]];
                status = visit(s, s->numbers[first + i], touched, error);
            }
        }
    }
    spad__cells_free(&cells, host);
    return status;
}

typedef struct started {
    int32_t storage;
    int32_t rank;
    int32_t access;
} started;

static int compare_started(const void *left, const void *right) {
    const started *a = left;
    const started *b = right;
    if (a->storage != b->storage) return a->storage < b->storage ? -1 : 1;
    if (a->rank != b->rank) return a->rank < b->rank ? -1 : 1;
    return (a->access > b->access) - (a->access < b->access);
}

/* Accesses by storage, in the order of the run. */
static bool sort_accesses(sweep *s) {
    const spad__order *o = s->order;
    const size_t count = o->events.accesses.count;
    started *all = spad__new_array(&o->net.host, count + 1, sizeof *all);
    if (all == NULL) return false;
    for (size_t i = 0; i < o->events.items.count; i++) {
        const spad__event *event = &o->events.items.items[i];
        const int32_t rank = o->rank[spad__net_first(&o->net, (int32_t)i)];
        for (size_t j = 0; j < event->access_count; j++) {
            const int32_t access = (int32_t)(event->first_access + j);
            s->event[access] = (int32_t)i;
            all[access] = (started){o->events.storage[access], rank, access};
        }
    }
    if (count > 0) qsort(all, count, sizeof *all, compare_started);
    for (size_t i = 0; i < count; i++) s->numbers[i] = all[i].access;
    spad__free(&o->net.host, all, (count + 1) * sizeof *all);
    return true;
}

static spad_status sweep_all(sweep *s, spad_error *error) {
    const spad__order *o = s->order;
    const size_t count = o->events.accesses.count;
    if (!sort_accesses(s)) return spad__fail_host_memory(error);
    for (size_t i = 0; i < count; i++) s->compared[i] = -1;
    spad_status status = list_fences(s, error);
    for (size_t first = 0; first < count && status == SPAD_OK;) {
        size_t last = first + 1;
        const int32_t storage = o->events.storage[s->numbers[first]];
        while (last < count && o->events.storage[s->numbers[last]] == storage) last++;
        status = sweep_storage(s, first, last - first, error);
        first = last;
    }
    if (status == SPAD_OK) status = report_mild(s, error);
    return status == SPAD_OK ? check_init_fences(s, error) : status;
}

spad_status spad__find_races(spad__order *o, spad_error *error) {
    const size_t count = o->events.accesses.count + 1;
    const spad_host *host = &o->net.host;
    sweep s = {.order = o};
    s.event = spad__new_array(host, count, sizeof *s.event);
    s.numbers = spad__new_array(host, count, sizeof *s.numbers);
    s.shapes = spad__new_array(host, count, sizeof *s.shapes);
    s.compared = spad__new_array(host, count, sizeof *s.compared);
    s.fed = spad__new_array(host, count, sizeof *s.fed);
    spad_status status = SPAD_OK;
    if (s.event == NULL || s.numbers == NULL || s.shapes == NULL || s.compared == NULL ||
        s.fed == NULL) {
        status = spad__fail_host_memory(error);
    }
    if (status == SPAD_OK) status = sweep_all(&s, error);
    spad__free(host, s.event, count * sizeof *s.event);
    spad__free(host, s.numbers, count * sizeof *s.numbers);
    spad__free(host, s.shapes, count * sizeof *s.shapes);
    spad__free(host, s.compared, count * sizeof *s.compared);
    spad__free(host, s.fed, count * sizeof *s.fed);
    spad__array_free(host, &s.cells);
    spad__array_free(host, &s.older);
    spad__array_free(host, &s.reported);
    spad__array_free(host, &s.mild);
    spad__array_free(host, &s.fences);
    spad__array_free(host, &s.fence_ends);
    return status;
}
