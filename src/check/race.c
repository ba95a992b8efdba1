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
 * (PTX ISA, "Async Proxy"), and accesses to memory that has another kind of fence (registers that
 * wgmma uses, tensor memory) need that one, if a unit of the kernel asks for it.
 */
#include <stdlib.h>
#include <string.h>

#include "base/assert.h"
#include "base/checked.h"
#include "check/cells.h"
#include "check/fences.h"
#include "check/held.h"
#include "check/order.h"
#include "check/others.h"
#include "check/spreads.h"
#include "kernel/kernel.h"

static const char threads_unknown[] =
    "a sync of threads may be missing: which of them accesses which bytes is not known";
static const char too_many_pieces[] = "accesses cut a tensor into too many pieces";

/* What a cell remembers. Numbers of accesses; -1: none. */
typedef struct cell {
    int32_t writer;
    int32_t group;  /* newest access of the last group; older ones hang after it in `older` */
    int32_t before; /* the same of the group before it */
    int32_t adds;   /* the same of the last group of generic adds */
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
    SPAD_ARRAY(spad__edge) doubts; /* the same: threads may have to meet between them */
    spad__fences fences;
    spad__spreads spreads;
    uint64_t chip_spaces; /* that are on the chip */
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

/* need NULL: a proxy fence. */
static spad_status find_missing_fence(sweep *s, int32_t x, int32_t y, const spad__fence_need *need,
                                      spad_error *error) {
    spad__clash clash;
    const spad_status status = report_race(s, x, y, &clash, error);
    if (status != SPAD_OK) return status;
    return need == NULL ? spad__report_fence(&clash, error)
                        : spad__report_fence_of(&clash, need->fence, need->when, error);
}

/* ---- fences ------------------------------------------------------------------------ */

static size_t space_of_access(const sweep *s, int32_t access) {
    const int64_t tensor = access_at(s, access)->tensor;
    return spad_kernel_get_tensor(s->order->events.kernel, (size_t)tensor)->space;
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

/* Between an access of threads and one through the async proxy. */
static spad_status check_proxy_fence(sweep *s, int32_t x, int32_t y, const spad__fence_pair *ends,
                                     spad_error *error) {
    bool lacking;
    if (!writes(s, x) && is_mild(s, x, y)) return SPAD_OK;
    const spad_status status = spad__fences_lack_proxy(&s->fences, ends, &lacking, error);
    if (status != SPAD_OK || !lacking) return status;
    if (writes(s, x)) return find_missing_fence(s, x, y, NULL, error);
    if (!spad__array_reserve(&s->order->net.host, &s->mild, 1)) {
        return spad__fail_host_memory(error);
    }
    s->mild.items[s->mild.count++] = (spad__edge){x, y};
    return SPAD_OK;
}

static spad_status check_fences(sweep *s, int32_t x, int32_t y, int32_t from, int32_t to,
                                spad_error *error) {
    const spad__fence_pair ends = {s->event[x], s->event[y], space_of_access(s, y), from, to};
    if (is_life(event_of_access(s, x)) || is_life(event_of_access(s, y))) return SPAD_OK;
    spad_status status = check_proxy_fence(s, x, y, &ends, error);
    if (status != SPAD_OK || is_reported(s, x, y)) return status;
    spad__fence_need need;
    bool lacking;
    status = spad__fences_lack_unit(&s->fences, &ends, &need, &lacking, error);
    return status == SPAD_OK && lacking ? find_missing_fence(s, x, y, &need, error) : status;
}

/* Warnings about statements that nothing worse was found about. */
static spad_status report_mild(sweep *s, spad_error *error) {
    for (size_t i = 0; i < s->mild.count; i++) {
        const spad__edge p = s->mild.items[i];
        if (is_reported(s, p.from, p.to)) continue;
        const spad_status status = find_missing_fence(s, p.from, p.to, NULL, error);
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
    const spad__fence_need need = {
        .fence = -1, .spaces = s->chip_spaces, .agent = -1, .init = true};
    if (!spad__is_async(o, &o->events.items.items[event])) return SPAD_OK;
    bool fenced;
    const spad_status status =
        spad__fences_between(&s->fences, &need, init->point, a->point, &fenced, error);
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
    for (size_t object = 0; object < o->events.objects.count; object++) {
        const spad__action *init = NULL; /* delivered before that: another finding */
        if (o->events.objects.items[object].kind != SPAD_SYNC_MBARRIER) continue;
        for (int32_t i = o->first_action[object]; i < o->first_action[object + 1]; i++) {
            const spad__action *a = &o->net.actions.items[o->actions[i]];
            if (a->kind == SPAD__ACTION_INIT) init = a;
            if (a->kind != SPAD__ACTION_DELIVER || init == NULL) continue;
            const spad_status status = check_init_fence(s, init, a, error);
            if (status != SPAD_OK) return status;
        }
    }
    return SPAD_OK;
}

/* Is there a finding about a statement already? */
static bool is_reported_statement(const sweep *s, int32_t event) {
    const int32_t statement = s->order->events.items.items[event].statement;
    for (size_t i = 0; i < s->reported.count; i++) {
        if (s->reported.items[i].statement == statement) return true;
    }
    return false;
}

/* The first operation of an agent that needs a fence of its own has one before it. */
static spad_status check_first_uses(sweep *s, spad_error *error) {
    const spad_target *target = s->order->events.kernel->target;
    const size_t agents = s->order->events.firsts.count - 1;
    spad_status status = SPAD_OK;
    for (size_t i = 0; i < target->fence_count && status == SPAD_OK; i++) {
        if ((s->fences.needed >> i & 1) == 0 || target->fences[i].kind != SPAD_FENCE_ISSUE)
            continue;
        for (size_t agent = 0; agent < agents && status == SPAD_OK; agent++) {
            const int32_t event = spad__find_unfenced(&s->fences, (int64_t)i, agent);
            if (event < 0 || is_reported_statement(s, event)) continue;
            status = spad__report_unfenced(&s->fences, (int64_t)i, event, error);
        }
    }
    return status;
}

/* Where mbarriers are: on the chip. */
static void list_chip_spaces(sweep *s) {
    const spad_target *target = s->order->events.kernel->target;
    for (size_t i = 0; i < target->space_count; i++) {
        if (!target->spaces[i].off_chip) s->chip_spaces |= UINT64_C(1) << i;
    }
}

/* ---- pairs ------------------------------------------------------------------------- */

/* The elected threads are in order; are the others of their agents? */
static spad_status compare_threads(sweep *s, int32_t x, int32_t y, spad_error *error) {
    spad__order *o = s->order;
    if (o->model.others == NULL || is_reported(s, x, y)) return SPAD_OK;
    if (is_life(event_of_access(s, x)) || is_life(event_of_access(s, y))) return SPAD_OK;
    if (!spad__others_share(o->events.kernel, access_at(s, y)->tensor)) return SPAD_OK;
    bool ordered;
    spad_status status =
        spad__others_ordered(o->visible, s->event[x], writes(s, x), s->event[y], &ordered, error);
    if (status != SPAD_OK || ordered) return status;
    spad__clash clash;
    status = report_race(s, x, y, &clash, error);
    return status == SPAD_OK ? spad__report_threads(&clash, error) : status;
}

/* One thread of an agent is in order; have its threads met, where that is needed? */
static spad_status compare_spreads(sweep *s, int32_t x, int32_t y, spad_error *error) {
    spad__clash clash = {.order = s->order, .first = {s->event[x], x}, .second = {s->event[y], y}};
    spad__meeting lack;
    if (s->spreads.met == NULL || is_life(event_of_access(s, x)) ||
        is_life(event_of_access(s, y))) {
        return SPAD_OK;
    }
    spad_status status = spad__spreads_lack(&s->spreads, &clash, &lack, error);
    if (status != SPAD_OK || lack == SPAD__MEET_NOT || is_reported(s, x, y)) return status;
    if (lack == SPAD__MEET_MAYBE) { /* other bytes of these statements may be certain */
        if (!spad__array_reserve(&s->order->net.host, &s->doubts, 1)) {
            return spad__fail_host_memory(error);
        }
        s->doubts.items[s->doubts.count++] = (spad__edge){x, y};
        return SPAD_OK;
    }
    status = report_race(s, x, y, &clash, error);
    return status == SPAD_OK ? spad__report_meeting(&clash, true, error) : status;
}

static spad_status report_doubts(sweep *s, spad_error *error) {
    for (size_t i = 0; i < s->doubts.count; i++) {
        const spad__edge p = s->doubts.items[i];
        spad__clash clash;
        if (is_reported(s, p.from, p.to)) continue;
        s->order->run->gap = threads_unknown;
        spad_status status = report_race(s, p.from, p.to, &clash, error);
        if (status == SPAD_OK) status = spad__report_meeting(&clash, false, error);
        if (status != SPAD_OK) return status;
    }
    return SPAD_OK;
}

static spad_status compare_in_agent(sweep *s, int32_t x, int32_t y, spad_error *error) {
    const spad_status status = compare_threads(s, x, y, error);
    return status == SPAD_OK ? compare_spreads(s, x, y, error) : status;
}

/* x started first in the run; one of them writes. */
static spad_status compare(sweep *s, int32_t x, int32_t y, spad_error *error) {
    spad__order *o = s->order;
    if (x < 0 || s->event[x] == s->event[y] || s->compared[x] == y) return SPAD_OK;
    s->compared[x] = y;
    const spad__event *a = event_of_access(s, x);
    const spad__event *b = event_of_access(s, y);
    const bool in_step = o->net.start[s->event[x]] < 0 && o->net.start[s->event[y]] < 0;
    if (is_reported(s, x, y)) return SPAD_OK;
    if (in_step && a->agent == b->agent) return compare_in_agent(s, x, y, error);
    const int32_t from = spad__net_last(&o->net, s->event[x], writes(s, x));
    const int32_t to = spad__net_first(&o->net, s->event[y]);
    bool before = false;
    spad_status status = spad__causes_before(o->visible, from, to, &before, error);
    if (status != SPAD_OK) return status;
    if (before) {
        status = compare_in_agent(s, x, y, error);
        return status == SPAD_OK ? check_fences(s, x, y, from, to, error) : status;
    }
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
    return spad__is_async(s->order, event_of_access(s, access)) ? CLASS_ADD_ASYNC : CLASS_ADD;
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
    /* reads after them give the order, but a fence that is missing after a read is a warning */
    if (status == SPAD_OK && spad__is_async(s->order, event_of_access(s, y))) {
        status = compare_group(s, c->adds, y, error);
    }
    if (own == CLASS_WRITE) {
        if (status == SPAD_OK) status = compare_group(s, c->group, y, error);
        *c = (cell){y, -1, -1, -1};
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
    if (own == CLASS_ADD) c->adds = c->group;
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
            s->cells.items[i] = (cell){-1, -1, -1, -1};
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
    list_chip_spaces(s);
    spad_status status = spad__fences_list(&s->fences, s->order, error);
    if (status == SPAD_OK) status = spad__spreads_list(&s->spreads, s->order, error);
    for (size_t first = 0; first < count && status == SPAD_OK;) {
        size_t last = first + 1;
        const int32_t storage = o->events.storage[s->numbers[first]];
        while (last < count && o->events.storage[s->numbers[last]] == storage) last++;
        status = sweep_storage(s, first, last - first, error);
        first = last;
    }
    if (status == SPAD_OK) status = report_doubts(s, error);
    if (status == SPAD_OK) status = spad__spreads_find(&s->spreads, s->order, error);
    if (status == SPAD_OK) status = spad__find_held(s->order, &s->fences, &s->spreads, error);
    if (status == SPAD_OK) status = report_mild(s, error);
    if (status == SPAD_OK) status = check_first_uses(s, error);
    return status == SPAD_OK ? check_init_fences(s, error) : status;
}

spad_status spad__find_races(spad__order *o, spad_error *error) {
    const size_t count = o->events.accesses.count + 1;
    const spad_host *host = &o->net.host;
    sweep s = {.order = o, .fences.order = o};
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
    spad__array_free(host, &s.doubts);
    spad__fences_free(&s.fences);
    spad__spreads_free(&s.spreads, o);
    return status;
}
