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
 *
 * Where only the device knows which bytes an access touches, its pairs leave the verdict open. They
 * must not hide a certain race: such a write would be compared in place of the one before it. So
 * the storages are swept without these accesses first, then with all of them for the pairs that
 * have one.
 */
#include <stdlib.h>
#include <string.h>

#include "base/assert.h"
#include "base/checked.h"
#include "check/cells.h"
#include "check/hints.h"
#include "check/mbarrier_storage.h"
#include "check/order_pass.h"
#include "kernel/kernel.h"
#include "order/fences.h"
#include "order/non_elected.h"
#include "order/thread_maps.h"

static const char threads_unknown[] =
    "a sync of threads may be missing: which of them accesses which bytes is not known";
static const char too_many_pieces[] = "accesses cut a tensor into too many pieces";

/* Accesses to a cell so far, by number; -1: none. */
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
    int64_t visits;   /* of cells, for looks at the clock */
    bool late;        /* time was up: no more visits */
    int32_t *event;   /* per access */
    int32_t *numbers; /* accesses by storage, then as they start */
    int32_t *shapes;
    SPAD_ARRAY(cell) cells;
    SPAD_ARRAY(spad__edge) older; /* from: access, to: older access of its group in the cell */
    int32_t *compared;            /* per access: the newest one that it was compared with */
    bool *fed;                    /* per access: what it reads was there before, in the run */
    SPAD_ARRAY(pair) reported;
    SPAD_ARRAY(spad__edge)
    warning_only; /* pairs of accesses, reported at the end unless they got an error */
    SPAD_ARRAY(spad__edge) unresolved; /* pairs of accesses that may lack a barrier; the same */
    spad__fences fences;
    spad__thread_maps maps;
    bool open; /* pairs with an access that may touch other bytes, not those without one */
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

/* Does only the device know which bytes it touches? */
static bool is_possible_touch(const sweep *s, int32_t access) {
    return (access_at(s, access)->kind & SPAD_ACCESS_MAY) != 0;
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
    if (!spad__array_reserve(&s->order->graph.host, &s->reported, 1)) {
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
static bool is_warning_only(const sweep *s, int32_t x, int32_t y) {
    for (size_t i = 0; i < s->warning_only.count; i++) {
        const spad__edge *p = &s->warning_only.items[i];
        if (event_of_access(s, p->from)->statement == event_of_access(s, x)->statement &&
            event_of_access(s, p->to)->statement == event_of_access(s, y)->statement) {
            return true;
        }
    }
    return false;
}

/* A fence is on the way from a write to the async proxy: is one of them by the agent that wrote?
 * PyTorch puts it there (pytorch/ao pull request 4278), NVIDIA's TransformerEngine does not (pull
 * request 2695), so its absence is advice. */
static spad_status advise_writer_fence(sweep *s, int32_t x, int32_t y, const spad__fence_pair *ends,
                                       spad_error *error) {
    const spad__event *a = event_of_access(s, x);
    const spad__event *b = event_of_access(s, y);
    const spad__run *run = s->order->run;
    if (!run->shown || run->options->no_advice || !writes(s, x) || s->open) return SPAD_OK;
    if (spad__is_async(s->order, a) || !spad__is_async(s->order, b)) return SPAD_OK;
    const spad__fence_need need = {
        .fence = -1, .spaces = UINT64_C(1) << ends->space, .agent = a->agent};
    if ((s->fences.proxy_spaces & need.spaces) == 0 || a->agent == b->agent) return SPAD_OK;
    bool own;
    const spad_status status =
        spad__fences_between(&s->fences, &need, ends->from, ends->to, &own, error);
    if (status != SPAD_OK || own) return status;
    const spad__clash clash = {
        .order = s->order, .first = {s->event[x], x}, .second = {s->event[y], y}};
    return spad__report_writer_fence(&clash, error);
}

/* Between an access of threads and one through the async proxy. */
static spad_status check_proxy_fence(sweep *s, int32_t x, int32_t y, const spad__fence_pair *ends,
                                     spad_error *error) {
    bool lacking;
    if (!writes(s, x) && is_warning_only(s, x, y)) return SPAD_OK;
    const spad_status status = spad__fences_lack_proxy(&s->fences, ends, &lacking, error);
    if (status != SPAD_OK) return status;
    if (!lacking) return advise_writer_fence(s, x, y, ends, error);
    if (writes(s, x)) return find_missing_fence(s, x, y, NULL, error);
    if (!spad__array_reserve(&s->order->graph.host, &s->warning_only, 1)) {
        return spad__fail_host_memory(error);
    }
    s->warning_only.items[s->warning_only.count++] = (spad__edge){x, y};
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
static spad_status report_warning_only(sweep *s, spad_error *error) {
    for (size_t i = 0; i < s->warning_only.count; i++) {
        const spad__edge p = s->warning_only.items[i];
        if (is_reported(s, p.from, p.to)) continue;
        const spad_status status = find_missing_fence(s, p.from, p.to, NULL, error);
        if (status != SPAD_OK) return status;
    }
    return SPAD_OK;
}

/* An mbarrier is initialised by a thread, and a copy delivers bytes to it. The copy accesses its
 * mbarrier through the generic proxy [PTX ISA 9.4, cp.async.bulk], also on chips sold before
 * (NVIDIA/cccl pull request 5102), so that no fence is needed, and a missing one is only advice:
 * older texts asked for it. */
static spad_status check_init_fence(sweep *s, const spad__action *init, const spad__action *a,
                                    spad_error *error) {
    spad__order *o = s->order;
    const int32_t begin = o->graph.points.items[init->point].event;
    const int32_t event = o->graph.points.items[a->point].event;
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
    char fence[SPAD__HINT_MAX];
    spad_finding finding;
    spad__hint_fence(fence, o->events.kernel, "mbarrier", 0);
    spad__finding_init(
        &finding, SPAD_FINDING_INIT_FENCE,
        "%s delivers to %s through the async proxy, and no fence comes between it and the "
        "init",
        text, name);
    spad__finding_set_names(&finding, name, NULL);
    spad__finding_add_note(&finding, "%s is initialised here: add %s%s after it", name, fence,
                           spad__speech_of(o->events.kernel) == SPAD__SPEECH_SPAD ? " or `fence`"
                                                                                  : "");
    return spad__order_find(o, &finding, event, begin, error);
}

static spad_status check_init_fences(sweep *s, spad_error *error) {
    const spad__order *o = s->order;
    if (!o->run->shown || o->run->options->no_advice) return SPAD_OK;
    for (size_t object = 0; object < o->events.objects.count; object++) {
        const spad__action *init = NULL; /* delivered before that: another finding */
        if (o->events.objects.items[object].kind != SPAD_SYNC_MBARRIER) continue;
        for (int32_t i = o->first_action[object]; i < o->first_action[object + 1]; i++) {
            const spad__action *a = &o->graph.actions.items[o->actions[i]];
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

/* The elected threads are in order; are the non-elected threads of their agents? */
static spad_status compare_threads(sweep *s, int32_t x, int32_t y, spad_error *error) {
    spad__order *o = s->order;
    if (o->execution_order.non_elected == NULL || is_reported(s, x, y)) return SPAD_OK;
    if (is_life(event_of_access(s, x)) || is_life(event_of_access(s, y))) return SPAD_OK;
    if (!spad__non_elected_share(o->events.kernel, access_at(s, y)->tensor)) return SPAD_OK;
    bool ordered;
    spad_status status = spad__non_elected_ordered(o->visible, s->event[x], writes(s, x),
                                                   s->event[y], &ordered, error);
    if (status != SPAD_OK || ordered) return status;
    spad__clash clash;
    status = report_race(s, x, y, &clash, error);
    return status == SPAD_OK ? spad__report_threads(&clash, error) : status;
}

/* Ordered for one thread of the agent: is a barrier for the others missing? */
static spad_status compare_thread_maps(sweep *s, int32_t x, int32_t y, spad_error *error) {
    spad__clash clash = {.order = s->order, .first = {s->event[x], x}, .second = {s->event[y], y}};
    spad__barrier_need lack;
    if (s->maps.of_row == NULL || is_life(event_of_access(s, x)) ||
        is_life(event_of_access(s, y))) {
        return SPAD_OK;
    }
    spad_status status = spad__thread_maps_lack(&s->maps, &clash, &lack, error);
    if (status != SPAD_OK || lack == SPAD__BARRIER_NOT_NEEDED || is_reported(s, x, y))
        return status;
    if (lack == SPAD__BARRIER_MAYBE_NEEDED) { /* other bytes of these statements may be certain */
        if (!spad__array_reserve(&s->order->graph.host, &s->unresolved, 1)) {
            return spad__fail_host_memory(error);
        }
        s->unresolved.items[s->unresolved.count++] = (spad__edge){x, y};
        return SPAD_OK;
    }
    status = report_race(s, x, y, &clash, error);
    return status == SPAD_OK ? spad__report_missing_barrier(&clash, true, error) : status;
}

static spad_status report_unresolved(sweep *s, spad_error *error) {
    for (size_t i = 0; i < s->unresolved.count; i++) {
        const spad__edge p = s->unresolved.items[i];
        spad__clash clash;
        if (is_reported(s, p.from, p.to)) continue;
        s->order->run->gap = threads_unknown;
        spad_status status = report_race(s, p.from, p.to, &clash, error);
        if (status == SPAD_OK) status = spad__report_missing_barrier(&clash, false, error);
        if (status != SPAD_OK) return status;
    }
    return SPAD_OK;
}

static spad_status compare_in_agent(sweep *s, int32_t x, int32_t y, spad_error *error) {
    const spad_status status = compare_threads(s, x, y, error);
    return status == SPAD_OK ? compare_thread_maps(s, x, y, error) : status;
}

/* Is an access the `alloc` or `free` of tensor memory? What uses tensor memory is complete before
 * those who waited for it go on. So an allocation needs an order of the execution, not of memory: a
 * relaxed barrier is enough. */
static bool is_tensor_memory_life(const sweep *s, int32_t access) {
    const spad_kernel *kernel = s->order->events.kernel;
    const spad_walk_kind kind = event_of_access(s, access)->kind;
    if (kind != SPAD_WALK_ALLOC && kind != SPAD_WALK_FREE) return false;
    const spad_kernel_tensor *tensor =
        spad_kernel_get_tensor(kernel, (size_t)access_at(s, access)->tensor);
    return spad_kernel_get_target(kernel)->spaces[tensor->space].power_of_two;
}

/* Two accesses that the visible order leaves unordered: a race, unless tensor memory is allocated
 * or freed in the order of execution. */
static spad_status compare_unordered(sweep *s, int32_t x, int32_t y, int32_t from, int32_t to,
                                     spad_error *error) {
    spad__order *o = s->order;
    bool executed = false;
    if (o->visible != &o->execution_order) {
        const spad_status status =
            spad__ordered_before(&o->execution_order, from, to, &executed, error);
        if (status != SPAD_OK) return status;
    }
    if (executed && (is_tensor_memory_life(s, x) || is_tensor_memory_life(s, y))) return SPAD_OK;
    return find_race(s, x, y, executed, error);
}

/* x started first in the run; one of them writes. */
static spad_status compare(sweep *s, int32_t x, int32_t y, spad_error *error) {
    spad__order *o = s->order;
    if (x < 0 || s->event[x] == s->event[y] || s->compared[x] == y) return SPAD_OK;
    if (s->open != (is_possible_touch(s, x) || is_possible_touch(s, y))) return SPAD_OK;
    s->compared[x] = y;
    const bool in_step = o->graph.start[s->event[x]] < 0 && o->graph.start[s->event[y]] < 0;
    if (is_reported(s, x, y)) return SPAD_OK;
    if (in_step && event_of_access(s, x)->agent == event_of_access(s, y)->agent)
        return compare_in_agent(s, x, y, error);
    const int32_t from = spad__event_graph_last(&o->graph, s->event[x], writes(s, x));
    const int32_t to = spad__event_graph_first(&o->graph, s->event[y]);
    bool before = false;
    spad_status status = spad__ordered_before(o->visible, from, to, &before, error);
    if (status != SPAD_OK) return status;
    if (!before) return compare_unordered(s, x, y, from, to, error);
    status = compare_in_agent(s, x, y, error);
    return status == SPAD_OK ? check_fences(s, x, y, from, to, error) : status;
}

/* Is the tile there that an access wants? */
static bool has_its_tile(const sweep *s, int32_t y, const cell *c) {
    const spad_kernel *kernel = s->order->events.kernel;
    const spad_walk_access *access = access_at(s, y);
    if (c->writer >= 0) return spad__same_tile(kernel, access, access_at(s, c->writer));
    return (spad_kernel_get_tensor(kernel, (size_t)access->tensor)->flags & SPAD_TENSOR_INPUT) != 0;
}

/* Accesses that need no order among themselves. */
typedef enum access_class {
    CLASS_READ,
    CLASS_ADD,
    CLASS_ADD_ASYNC,
    CLASS_AGREED,
    CLASS_WRITE
} access_class;

static access_class class_of_access(const sweep *s, int32_t access) {
    if (!writes(s, access)) return CLASS_READ;
    if ((access_at(s, access)->kind & SPAD_ACCESS_AGREED) != 0) return CLASS_AGREED;
    if ((access_at(s, access)->kind & SPAD_ACCESS_ADD) != SPAD_ACCESS_ADD) return CLASS_WRITE;
    return spad__is_async(s->order, event_of_access(s, access)) ? CLASS_ADD_ASYNC : CLASS_ADD;
}

/* Two writes of one value: either may come last, which is a warning. */
static spad_status compare_agreed(sweep *s, int32_t x, int32_t y, spad_error *error) {
    const spad__order *o = s->order;
    const spad__event *a = event_of_access(s, x), *b = event_of_access(s, y);
    bool before = a->agent == b->agent && a->unit < 0 && b->unit < 0;
    if (s->open || s->event[x] == s->event[y] || is_reported(s, x, y)) return SPAD_OK;
    if (!before) {
        const int32_t from = spad__event_graph_last(&o->graph, s->event[x], true);
        const int32_t to = spad__event_graph_first(&o->graph, s->event[y]);
        const spad_status status = spad__ordered_before(o->visible, from, to, &before, error);
        if (status != SPAD_OK) return status;
    }
    const spad__clash clash = {
        .order = s->order, .first = {s->event[x], x}, .second = {s->event[y], y}};
    return before ? SPAD_OK : spad__report_same_value(&clash, error);
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
    if (status == SPAD_OK && own == CLASS_AGREED && c->group >= 0)
        status = compare_agreed(s, s->older.items[c->group].from, y, error);
    if (status != SPAD_OK) return status;
    if (!spad__array_reserve(&s->order->graph.host, &s->older, 1)) {
        return spad__fail_host_memory(error);
    }
    s->older.items[s->older.count] = (spad__edge){y, c->group};
    c->group = (int32_t)s->older.count++;
    if (own == CLASS_ADD) c->adds = c->group;
    return SPAD_OK;
}

/* ---- storages ---------------------------------------------------------------------- */

enum { VISITS_A_LOOK = 256 }; /* at the clock: a visit may take a run over the graph */

static bool is_out_of_time(sweep *s) {
    if (!s->late && s->visits++ % VISITS_A_LOOK == VISITS_A_LOOK - 1) {
        s->late = spad__is_late(s->order->run);
        if (s->late) s->order->run->gap = spad__time_is_up;
    }
    return s->late;
}

static spad_status sweep_storage(sweep *s, size_t first, size_t count, spad_error *error) {
    const spad_host *host = &s->order->graph.host;
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
        for (size_t i = 0; i < count && status == SPAD_OK && !s->late; i++) {
            if (!s->open && is_possible_touch(s, s->numbers[first + i])) continue;
            const size_t shape = (size_t)s->shapes[i];
            const size_t from = shape > 0 ? cells.ends.items[shape - 1] : 0;
            for (size_t c = from; c < cells.ends.items[shape] && status == SPAD_OK; c++) {
                if (is_out_of_time(s)) break;
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
    started *all = spad__new_array(&o->graph.host, count + 1, sizeof *all);
    if (all == NULL) return false;
    for (size_t i = 0; i < o->events.items.count; i++) {
        const spad__event *event = &o->events.items.items[i];
        const int32_t rank = o->rank[spad__event_graph_first(&o->graph, (int32_t)i)];
        for (size_t j = 0; j < event->access_count; j++) {
            const int32_t access = (int32_t)(event->first_access + j);
            s->event[access] = (int32_t)i;
            all[access] = (started){o->events.storage[access], rank, access};
        }
    }
    if (count > 0) qsort(all, count, sizeof *all, compare_started);
    for (size_t i = 0; i < count; i++) s->numbers[i] = all[i].access;
    spad__free(&o->graph.host, all, (count + 1) * sizeof *all);
    return true;
}

/* Is there a storage with an access that may touch other bytes, among these? */
static bool has_possible_touch(const sweep *s, size_t first, size_t last) {
    for (size_t i = first; i < last; i++) {
        if (is_possible_touch(s, s->numbers[i])) return true;
    }
    return false;
}

static spad_status sweep_storages(sweep *s, spad_error *error) {
    const spad__order *o = s->order;
    const size_t count = o->events.accesses.count;
    spad_status status = SPAD_OK;
    for (size_t i = 0; i < count; i++) s->compared[i] = -1;
    for (size_t first = 0; first < count && status == SPAD_OK && !s->late;) {
        size_t last = first + 1;
        const int32_t storage = o->events.storage[s->numbers[first]];
        while (last < count && o->events.storage[s->numbers[last]] == storage) last++;
        if (!s->open || has_possible_touch(s, first, last)) {
            status = sweep_storage(s, first, last - first, error);
        }
        first = last;
    }
    return status;
}

static spad_status sweep_all(sweep *s, spad_error *error) {
    if (!sort_accesses(s)) return spad__fail_host_memory(error);
    list_chip_spaces(s);
    spad_status status = spad__fences_list(&s->fences, s->order, error);
    if (status == SPAD_OK) status = spad__thread_maps_list(&s->maps, s->order, error);
    if (status == SPAD_OK) status = sweep_storages(s, error);
    s->open = true;
    if (status == SPAD_OK) status = sweep_storages(s, error);
    if (s->late && status == SPAD_OK) return report_warning_only(s, error); /* so far */
    if (status == SPAD_OK) status = report_unresolved(s, error);
    if (status == SPAD_OK) status = spad__thread_maps_find(&s->maps, s->order, error);
    if (status == SPAD_OK)
        status = spad__find_mbarrier_races(s->order, &s->fences, &s->maps, error);
    if (status == SPAD_OK) status = report_warning_only(s, error);
    if (status == SPAD_OK) status = check_first_uses(s, error);
    return status == SPAD_OK ? check_init_fences(s, error) : status;
}

spad_status spad__find_races(spad__order *o, spad_error *error) {
    const size_t count = o->events.accesses.count + 1;
    const spad_host *host = &o->graph.host;
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
    spad__array_free(host, &s.warning_only);
    spad__array_free(host, &s.unresolved);
    spad__fences_free(&s.fences);
    spad__thread_maps_free(&s.maps, o);
    return status;
}
