/* SPDX-License-Identifier: Apache-2.0
 *
 * Which tensors may share bytes: the order that the check has of the events of a shape (graph, one
 * run, happens-before), asked about the values of tensors.
 *
 * A value of a slot begins with a write of the whole tile, or with the first of some writes that
 * together are one before anything older is read, and lasts until the next one: all accesses in
 * between, in the order of the run, belong to it. A use of a value is a statement that
 * accesses it: its first and its last execution. Value x is before y if the end of every use of x
 * is before the start of every use of y, in every execution. Two slots may share bytes if of
 * every two of their values one is before the other: in a loop they may alternate. "Before" asks
 * for the fences too that accesses of the same bytes need (fences.c): bytes that threads have
 * written are no place for a tile of a copy unit unless a proxy fence comes between.
 *
 * An mbarrier has a value in its bytes from each init to the invalidate that ends this life, or to
 * the end of the kernel, and these two are its uses. A copy unit that writes there later needs a
 * proxy fence after the invalidate.
 *
 * This is a proposal. Of a tensor with many values only the first and the last few are compared,
 * and of the executions of a statement the first and the last. That the rest is ordered too is for
 * the check of a layout to prove (checked_layout.c).
 *
 * O(uses^2) questions, and O(points + edges) for each use.
 */
#include "layout/tensor_order.h"
#include "spad/experimental/kernel_rows.h"

#include <stdlib.h>

#include "base/assert.h"
#include "base/checked.h"
#include "base/compare.h"
#include "base/interval.h"
#include "finding/findings.h"
#include "kernel/kernel.h"
#include "kernel/place.h"
#include "order/fences.h"
#include "order/happens_before.h"
#include "order/non_elected.h"

enum { USES_MAX = 8192, LIVES_MAX = 1024 };

/* Values of a tensor that are compared, from both ends of the run: as many as give few enough
 * uses. */
static const int32_t values_at_ends[] = {1024, 256, 64, 16, 3};
enum { ENDS = sizeof values_at_ends / sizeof *values_at_ends };

/* An access in the order of the run. */
typedef struct ranked_access {
    int32_t rank;
    int32_t event;
    int32_t access;
} ranked_access;

typedef struct value_use {
    int32_t value;
    int32_t statement;
    int32_t first; /* events */
    int32_t last;
    bool writes;
    int32_t older; /* use of the value; -1: none */
} value_use;

/* Accesses of a slot since one of its writes, as long as nothing older than it is read. */
enum { RUN_ACCESSES = 32 };

typedef struct run_access {
    int32_t number; /* of the ranked access */
    bool read;
    spad__interval bytes; /* of the tile; none, of a write that is not followed */
} run_access;

typedef struct write_run {
    run_access items[RUN_ACCESSES];
    size_t count;
} write_run;

typedef struct tensor_value {
    int32_t owner;  /* a tensor, or after them a synchronisation object */
    int32_t member; /* of the order: a slot or an mbarrier */
    size_t space;
    int64_t slot;       /* of a tensor */
    int64_t part;       /* of an mbarrier: its element */
    int32_t begin;      /* the access that it begins with */
    int32_t run;        /* of writes of the slot */
    int32_t number;     /* of the values of its owner, from 0 */
    int32_t rank;       /* of its first access */
    int32_t whole;      /* the operation that writes all of it first; -1: none */
    int32_t newest_use; /* -1: it is not compared */
    int32_t older;      /* value of the tensor; -1: none */
    int32_t init;       /* events of an mbarrier; -1: none */
    int32_t invalidate;
    bool lasts; /* to the end of the kernel, and after it */
} tensor_value;

typedef struct orderer {
    spad_tensor_order *out;
    const spad_kernel *kernel;
    spad__order order; /* events, graph, one run, happens-before */
    spad__fences fences;
    int32_t *newest;     /* per tensor: the newest value; -1: none */
    int32_t *counts;     /* per tensor and synchronisation object: its values */
    int32_t *value_of;   /* per ranked access */
    uint64_t *conflicts; /* per mbarrier and member: see conflicts_of */
    ranked_access *accesses;
    size_t of_tensors; /* values of tensors; values of mbarriers follow */
    SPAD_ARRAY(tensor_value) values;
    SPAD_ARRAY(write_run) runs;
    SPAD_ARRAY(value_use) uses;
    bool too_many; /* uses of tensors */
    spad__limit *limit;
} orderer;

/* ---- values ------------------------------------------------------------------------ */

static const spad_walk_access *ranked_walk_access(const orderer *o, const ranked_access *ranked) {
    return &o->order.events.accesses.items[ranked->access];
}

static bool is_operation(const orderer *o, int32_t event) {
    return o->order.events.items.items[event].kind == SPAD_WALK_OPERATION;
}

static bool is_whole_write(const orderer *o, const ranked_access *ranked) {
    const spad_walk_access *a = ranked_walk_access(o, ranked);
    if (o->order.events.items.items[ranked->event].kind == SPAD_WALK_ALLOC) return true;
    return a->kind == SPAD_ACCESS_WRITE && a->tensor == a->home && a->runs == 1 &&
           a->rect.bytes == a->tile_rect.bytes && a->rect.lanes == a->tile_rect.lanes;
}

static int compare_ranks(const void *left, const void *right) {
    const ranked_access *a = left;
    const ranked_access *b = right;
    const int order = spad__compare(a->rank, b->rank);
    return order != 0 ? order : spad__compare(a->access, b->access);
}

/* All accesses, as they start in the run. */
static bool rank_accesses(orderer *o) {
    const spad_host *host = &o->out->host;
    o->order.rank = spad__new_array(host, o->order.graph.points.count + 1, sizeof *o->order.rank);
    o->accesses = spad__new_array(host, o->order.events.accesses.count + 1, sizeof *o->accesses);
    o->value_of = spad__new_array(host, o->order.events.accesses.count + 1, sizeof *o->value_of);
    if (o->order.rank == NULL || o->accesses == NULL || o->value_of == NULL) return false;
    for (int32_t i = 0; i < o->order.executor.happened; i++)
        o->order.rank[o->order.executor.order[i]] = i;
    size_t count = 0;
    for (size_t i = 0; i < o->order.events.items.count; i++) {
        const spad__event *event = &o->order.events.items.items[i];
        const int32_t rank = o->order.rank[spad__event_graph_first(&o->order.graph, (int32_t)i)];
        for (size_t k = 0; k < event->access_count; k++)
            o->accesses[count++] =
                (ranked_access){rank, (int32_t)i, (int32_t)(event->first_access + k)};
    }
    spad__assert(count == o->order.events.accesses.count);
    if (count > 0) qsort(o->accesses, count, sizeof *o->accesses, compare_ranks);
    return true;
}

/* The value that a slot has by now; -1: none yet. */
static int32_t value_of_slot(const orderer *o, int64_t tensor, int64_t slot) {
    int32_t v = o->newest[tensor];
    while (v >= 0 && o->values.items[v].slot != slot) v = o->values.items[v].older;
    return v;
}

/* Has a tensor a value before the start, or after the end, under whatever name? */
static bool has_role(const orderer *o, int64_t home, unsigned role) {
    for (size_t i = 0; i < o->out->count; i++) {
        const bool own = (o->kernel->tensors.items[i].flags & role) != 0;
        if (own && o->out->home[i] == home) return true;
    }
    return false;
}

/* Has a slot its first value from the start? An input has one. Of a tile that is read before it is
 * written, the bytes are not those of another one before: what that wrote would hide the error. */
static bool begins_at_start(const orderer *o, const spad_walk_access *first) {
    return (first->kind & SPAD_ACCESS_READ) != 0 || has_role(o, first->home, SPAD_TENSOR_INPUT);
}

/* Appends a value that begins with an access. `run`: of the slot; below 0: a new one. */
static bool add_tensor_value(orderer *o, const ranked_access *ranked, int32_t run, bool first) {
    const spad_walk_access *access = ranked_walk_access(o, ranked);
    const bool whole = is_whole_write(o, ranked) && is_operation(o, ranked->event);
    const bool from_start = first && begins_at_start(o, access);
    if (!spad__array_reserve(&o->out->host, &o->values, 1)) return false;
    if (run < 0) {
        if (!spad__array_reserve(&o->out->host, &o->runs, 1)) return false;
        run = (int32_t)o->runs.count++;
    }
    o->runs.items[run].count = 0;
    o->values.items[o->values.count] = (tensor_value){
        .owner = (int32_t)access->home,
        .member = (int32_t)spad__tensor_order_slot(o->out, access->home, access->slot),
        .space = o->kernel->tensors.items[access->home].space,
        .slot = access->slot,
        .begin = ranked->access,
        .run = run,
        .number = o->counts[access->home]++,
        .rank = from_start ? -1 : ranked->rank,
        .whole = whole ? ranked->event : -1,
        .newest_use = -1,
        .older = o->newest[access->home],
        .init = -1,
        .invalidate = -1};
    o->newest[access->home] = (int32_t)o->values.count++;
    return true;
}

/* ---- tiles that are written piece by piece ----------------------------------------------- */

/* The bytes of its tile that an access has in all lanes. False: they are no interval. */
static bool bytes_of_tile(const spad_walk_access *a, spad__interval *bytes) {
    const int64_t from = a->rect.byte - a->tile_rect.byte;
    *bytes = (spad__interval){from, from + (a->runs - 1) * a->stride + a->rect.bytes};
    return a->tensor == a->home && a->rect.lanes == a->tile_rect.lanes;
}

/* Bytes that the writes of a run cover from one of its accesses on, and those of one access more.
 */
static int64_t bytes_covered(const write_run *run, size_t from, size_t end, size_t more) {
    spad__interval all[RUN_ACCESSES];
    size_t count = 0;
    for (size_t i = from; i < run->count; i++)
        if ((i < end && !run->items[i].read) || i == more) all[count++] = run->items[i].bytes;
    return spad__covered_bytes(all, count);
}

/* Does an access of a run read bytes that are older than those from another one on? */
static bool reads_older(const write_run *run, size_t from, size_t access) {
    return run->items[access].read &&
           bytes_covered(run, from, access, access) != bytes_covered(run, from, access, run->count);
}

/* Do accesses of a run write a whole tile, before they read what is older? */
static bool write_whole_tile(const write_run *run, size_t from, int64_t tile) {
    for (size_t i = from; i < run->count; i++)
        if (reads_older(run, from, i)) return false;
    return bytes_covered(run, from, run->count, run->count) == tile;
}

/* Adds an access to the run of its slot, which it may end. */
static void follow_run(const orderer *o, write_run *run, int32_t number) {
    const ranked_access *ranked = &o->accesses[number];
    const spad_walk_access *a = ranked_walk_access(o, ranked);
    run_access access = {.number = number, .read = (a->kind & SPAD_ACCESS_READ) != 0};
    const bool plain = bytes_of_tile(a, &access.bytes) && is_operation(o, ranked->event);
    const bool write = plain && a->kind == SPAD_ACCESS_WRITE;
    if (!plain || run->count == RUN_ACCESSES) run->count = 0;
    if (run->count == 0 && !write) return;
    if (!access.read && (!write || a->runs > 1)) access.bytes = (spad__interval){0, 0};
    run->items[run->count++] = access;
    if (reads_older(run, 0, run->count - 1)) run->count = 0;
}

/* Writes that together are one of the whole tile begin a value, as one of all of it does. */
static bool split_value(orderer *o, int32_t value, const spad_walk_access *access) {
    const write_run run = o->runs.items[o->values.items[value].run];
    const int64_t tile = access->tile_rect.bytes;
    size_t from = run.count;
    if (run.count == 0 || run.items[run.count - 1].read || !write_whole_tile(&run, 0, tile))
        return true;
    do from--;
    while (!write_whole_tile(&run, from, tile));
    o->runs.items[o->values.items[value].run].count = 0;
    const ranked_access *first = &o->accesses[run.items[from].number];
    if (first->access == o->values.items[value].begin) return true; /* it begins with them */
    if (!add_tensor_value(o, first, o->values.items[value].run, false)) return false;
    for (size_t i = from; i < run.count; i++)
        o->value_of[run.items[i].number] = (int32_t)o->values.count - 1;
    return true;
}

static bool list_values(orderer *o) {
    for (size_t i = 0; i < o->out->count; i++) o->newest[i] = -1;
    for (size_t i = 0; i < o->order.events.accesses.count; i++) {
        const ranked_access *ranked = &o->accesses[i];
        const spad_walk_access *access = ranked_walk_access(o, ranked);
        const int32_t current = value_of_slot(o, access->home, access->slot);
        const bool whole = is_whole_write(o, ranked);
        if (current < 0 || whole) {
            const int32_t run = current < 0 ? -1 : o->values.items[current].run;
            if (!add_tensor_value(o, ranked, run, current < 0)) return false;
        }
        const int32_t value = value_of_slot(o, access->home, access->slot);
        o->value_of[i] = value;
        if (whole) continue;
        follow_run(o, &o->runs.items[o->values.items[value].run], (int32_t)i);
        if (!split_value(o, value, access)) return false;
    }
    o->of_tensors = o->values.count;
    return true;
}

static bool is_barrier(const orderer *o, int32_t member) {
    return (size_t)member >= o->out->first[o->out->count];
}

/* The number of a synchronisation object. */
static size_t sync_of_member(const orderer *o, int32_t member) {
    spad__assert(is_barrier(o, member));
    return (size_t)member - o->out->first[o->out->count];
}

static int32_t rank_of_sync(const orderer *o, int32_t event) {
    return o->order.rank[spad__event_graph_first(&o->order.graph, event)];
}

/* Does an event begin or end a life of an mbarrier? */
static bool is_end_of_life(const orderer *o, int32_t event, spad_statement_kind kind) {
    const spad__event *e = &o->order.events.items.items[event];
    return e->kind == SPAD_WALK_SYNC && e->object >= 0 &&
           spad_kernel_get_statement(o->kernel, (size_t)e->statement)->kind == kind;
}

static bool add_barrier_life(orderer *o, int32_t event) {
    const spad__event *e = &o->order.events.items.items[event];
    const spad__object *object = &o->order.events.objects.items[e->object];
    const int32_t owner = (int32_t)o->out->count + object->sync;
    tensor_value life = {.owner = owner,
                         .member = (int32_t)spad__tensor_order_sync(o->out, object->sync).first,
                         .part = object->element,
                         .number = o->counts[owner]++,
                         .rank = rank_of_sync(o, event),
                         .whole = -1,
                         .newest_use = -1,
                         .older = -1,
                         .init = event,
                         .invalidate = -1};
    int64_t byte;
    spad__barrier_place(o->kernel, (size_t)object->sync, object->element, 0, &life.space, &byte);
    if (!spad__array_reserve(&o->out->host, &o->values, 1)) return false;
    o->values.items[o->values.count++] = life;
    return true;
}

/* The life that an invalidate ends: the last one of the object that begins before it in the run. */
static void end_barrier_life(orderer *o, int32_t event) {
    const spad__event *events = o->order.events.items.items;
    const int32_t rank = rank_of_sync(o, event);
    tensor_value *last = NULL;
    for (size_t v = o->of_tensors; v < o->values.count; v++) {
        tensor_value *life = &o->values.items[v];
        const bool own = events[life->init].object == events[event].object && life->rank < rank;
        if (own && (last == NULL || life->rank > last->rank)) last = life;
    }
    if (last != NULL) last->invalidate = event;
}

/* O(lives^2): beyond LIVES_MAX no mbarrier shares bytes. */
static bool list_barrier_lives(orderer *o) {
    const int32_t events = (int32_t)o->order.events.items.count;
    size_t space;
    if (!spad__barrier_space(o->kernel, &space)) return true;
    for (int32_t i = 0; i < events && o->values.count - o->of_tensors <= LIVES_MAX; i++) {
        if (is_end_of_life(o, i, SPAD_STATEMENT_INIT) && !add_barrier_life(o, i)) return false;
    }
    if (o->values.count - o->of_tensors > LIVES_MAX) {
        for (size_t i = 0; i < o->out->syncs; i++) o->counts[o->out->count + i] = 0;
        o->values.count = o->of_tensors;
    }
    for (int32_t i = 0; i < events && o->values.count > o->of_tensors; i++) {
        if (is_end_of_life(o, i, SPAD_STATEMENT_INVALIDATE)) end_barrier_life(o, i);
    }
    return true;
}

static bool is_compared(const orderer *o, const tensor_value *value, int32_t ends) {
    return value->number < ends || value->number >= o->counts[value->owner] - ends;
}

/* ---- uses -------------------------------------------------------------------------- */

/* Accesses of one agent's statement come in its order. */
static bool add_use(orderer *o, int32_t value, const ranked_access *ranked) {
    const int32_t statement = o->order.events.items.items[ranked->event].statement;
    const bool writes = (ranked_walk_access(o, ranked)->kind & SPAD_ACCESS_WRITE) != 0;
    tensor_value *owner = &o->values.items[value];
    for (int32_t u = owner->newest_use; u >= 0; u = o->uses.items[u].older) {
        value_use *use = &o->uses.items[u];
        if (use->statement != statement) continue;
        if (ranked->event > use->last) use->last = ranked->event;
        if (ranked->event < use->first) use->first = ranked->event;
        use->writes = use->writes || writes;
        return true;
    }
    if (!spad__array_reserve(&o->out->host, &o->uses, 1)) return false;
    o->uses.items[o->uses.count++] = (value_use){.value = value,
                                                 .statement = statement,
                                                 .first = ranked->event,
                                                 .last = ranked->event,
                                                 .writes = writes,
                                                 .older = owner->newest_use};
    owner->newest_use = (int32_t)o->uses.count - 1;
    return true;
}

/* An mbarrier is used by its init and its invalidate: whatever else it does is between them. */
static bool add_life_uses(orderer *o, int32_t value) {
    const int32_t events[] = {o->values.items[value].init, o->values.items[value].invalidate};
    if (!spad__array_reserve(&o->out->host, &o->uses, 2)) return false;
    for (size_t i = 0; i < 2 && events[i] >= 0; i++) {
        o->uses.items[o->uses.count] =
            (value_use){.value = value,
                        .statement = o->order.events.items.items[events[i]].statement,
                        .first = events[i],
                        .last = events[i],
                        .writes = true,
                        .older = o->values.items[value].newest_use};
        o->values.items[value].newest_use = (int32_t)o->uses.count++;
    }
    return true;
}

/* False: no memory. */
static bool list_uses_of(orderer *o, int32_t ends) {
    o->uses.count = 0;
    for (size_t v = 0; v < o->values.count; v++) o->values.items[v].newest_use = -1;
    for (size_t i = 0; i < o->order.events.accesses.count && o->uses.count <= USES_MAX; i++) {
        if (!is_compared(o, &o->values.items[o->value_of[i]], ends)) continue;
        if (!add_use(o, o->value_of[i], &o->accesses[i])) return false;
    }
    o->too_many = o->uses.count > USES_MAX;
    for (size_t v = o->of_tensors; v < o->values.count && !o->too_many; v++) {
        if (is_compared(o, &o->values.items[v], ends) && !add_life_uses(o, (int32_t)v)) {
            return false;
        }
    }
    return true;
}

static bool list_uses(orderer *o) {
    for (size_t k = 0; k < ENDS; k++) {
        if (!list_uses_of(o, values_at_ends[k])) return false;
        if (!o->too_many) return true;
    }
    return true;
}

/* ---- the matrix -------------------------------------------------------------------- */

/* The slots of a ring are as many as the kernel says, whatever order it has. */
static void keep_ring_apart(orderer *o, size_t tensor) {
    const size_t n = o->out->members;
    for (size_t a = o->out->first[tensor]; a < o->out->first[tensor + 1]; a++)
        for (size_t b = o->out->first[tensor]; b < o->out->first[tensor + 1]; b++)
            o->out->shared[a * n + b] = 0;
}

/* Members with a value may share bytes until two values say otherwise. */
static void assume_sharing(orderer *o) {
    const size_t n = o->out->members;
    for (size_t v = 0; v < o->values.count; v++) {
        const tensor_value *value = &o->values.items[v];
        if (value->newest_use >= 0) o->out->used[value->member] = 1;
    }
    for (size_t a = 0; a < n; a++)
        for (size_t b = 0; b < n; b++)
            o->out->shared[a * n + b] = a != b && o->out->used[a] && o->out->used[b];
    for (size_t t = 0; t < o->out->count; t++)
        if (o->kernel->tensors.items[t].ring.count > 0) keep_ring_apart(o, t);
}

static void forbid_sharing(orderer *o, size_t a, size_t b) {
    const size_t n = o->out->members;
    o->out->shared[a * n + b] = o->out->shared[b * n + a] = 0;
}

/* ---- several mbarriers under one name ---------------------------------------------------- */

/* Parts of a member that have values of their own. */
static int64_t parts_of(const orderer *o, int32_t member) {
    if (!is_barrier(o, member)) return 1;
    return o->kernel->syncs.items[sync_of_member(o, member)].elements;
}

/* The parts of an mbarrier and another member that may not share bytes; bits. */
static uint64_t *conflicts_of(const orderer *o, int32_t barrier, int32_t other) {
    return &o->conflicts[sync_of_member(o, barrier) * o->out->members + (size_t)other];
}

/* The bits of all pairs of parts; 0: these are too many. */
static uint64_t all_conflicts(const orderer *o, int32_t barrier, int32_t other) {
    int64_t pairs;
    if (!spad__mul(parts_of(o, barrier), parts_of(o, other), &pairs) || pairs > 64) return 0;
    return pairs == 64 ? UINT64_MAX : (UINT64_C(1) << pairs) - 1;
}

/* Of two members, are the conflicts with the other one kept with the first? */
static bool keeps_conflicts(const orderer *o, int32_t first, int32_t other) {
    return is_barrier(o, first) && (!is_barrier(o, other) || first < other);
}

static void forbid_values(orderer *o, const tensor_value *a, const tensor_value *b) {
    const bool first = keeps_conflicts(o, a->member, b->member);
    const tensor_value *barrier = first ? a : b;
    const tensor_value *other = first ? b : a;
    forbid_sharing(o, (size_t)a->member, (size_t)b->member);
    if (!is_barrier(o, barrier->member)) return;
    if (all_conflicts(o, barrier->member, other->member) == 0) return;
    const int64_t bit = barrier->part * parts_of(o, other->member) + other->part;
    *conflicts_of(o, barrier->member, other->member) |= UINT64_C(1) << bit;
}

/* Is all known about two members that comparisons of their values can tell? */
static bool is_pair_settled(const orderer *o, int32_t a, int32_t b) {
    const size_t n = o->out->members;
    if (o->out->shared[(size_t)a * n + (size_t)b] != 0) return false;
    const bool first = keeps_conflicts(o, a, b);
    const int32_t barrier = first ? a : b;
    const int32_t other = first ? b : a;
    if (!is_barrier(o, barrier)) return true;
    return *conflicts_of(o, barrier, other) == all_conflicts(o, barrier, other);
}

/* An mbarrier is uneven if only some of its parts may not share bytes with a member. */
static void find_uneven(orderer *o) {
    const int32_t members = (int32_t)o->out->members;
    for (int32_t a = (int32_t)o->out->first[o->out->count]; a < members; a++) {
        for (int32_t b = 0; b < members; b++) {
            if (a == b || !o->out->used[a] || !o->out->used[b]) continue;
            const bool apart = o->out->shared[a * members + b] == 0;
            if (apart && !is_pair_settled(o, a, b)) o->out->uneven[a] = o->out->uneven[b] = 1;
        }
    }
}

static void forbid_tensor(orderer *o, size_t tensor) {
    for (size_t s = o->out->first[tensor]; s < o->out->first[tensor + 1]; s++)
        for (size_t other = 0; other < o->out->members; other++) forbid_sharing(o, s, other);
}

/* Outputs have their last values after the end. All tiles of one have to have some for that: an
 * input has another one, which nothing in the run shows. */
static void keep_outputs(orderer *o) {
    for (size_t t = 0; t < o->out->count; t++) {
        int64_t slots = 0;
        if (!has_role(o, (int64_t)t, SPAD_TENSOR_OUTPUT)) continue;
        for (int32_t v = o->newest[t]; v >= 0; v = o->values.items[v].older) {
            tensor_value *value = &o->values.items[v];
            value->lasts = value_of_slot(o, (int64_t)t, value->slot) == v;
            slots += value->lasts;
        }
        const bool shown = slots == o->kernel->tensors.items[t].slots;
        if (!shown) forbid_tensor(o, t);
    }
}

/* May a slot of which no value is compared share bytes with a member as all others may that are? */
static bool share_all_used(const orderer *o, spad__order_range slots, size_t other) {
    for (size_t s = slots.first; s < slots.end; s++)
        if (o->out->used[s] && o->out->shared[s * o->out->members + other] == 0) return false;
    return spad__tensor_order_uses(o->out, slots);
}

/* Slots of a ring that this shape does not reach are as the others. */
static void fill_unused(orderer *o) {
    const size_t n = o->out->members;
    for (size_t t = 0; t < o->out->count; t++) {
        const spad__order_range slots = {o->out->first[t], o->out->first[t + 1]};
        for (size_t s = slots.first; s < slots.end; s++) {
            for (size_t other = 0; other < n && !o->out->used[s]; other++) {
                if (other >= slots.first && other < slots.end) continue;
                o->out->shared[s * n + other] = o->out->shared[other * n + s] =
                    share_all_used(o, slots, other);
            }
        }
    }
}

/* The point at which a use is over. */
static int32_t end_of_use(const orderer *o, const value_use *use) {
    return is_barrier(o, o->values.items[use->value].member)
               ? spad__event_graph_first(&o->order.graph, use->last)
               : spad__event_graph_last(&o->order.graph, use->last, use->writes);
}

/* Has the kernel the fences that the same bytes would need? One that is missing after a read is a
 * warning, and no reason to keep tensors apart. After a write of all of a tile, others need a fence
 * after that one, whatever was there before. An invalidate is generic, and what was there before it
 * is not read. */
static spad_status are_fenced(orderer *o, const value_use *use, const value_use *other,
                              bool *fenced, spad_error *error) {
    const spad__fence_pair pair = {.first = use->last,
                                   .second = other->first,
                                   .space = o->values.items[other->value].space,
                                   .from = end_of_use(o, use),
                                   .to = spad__event_graph_first(&o->order.graph, other->first)};
    const bool after_life = is_barrier(o, o->values.items[use->value].member);
    const int32_t whole = o->values.items[other->value].whole;
    spad__fence_need need;
    bool lacking = false;
    spad_status status = SPAD_OK;
    *fenced = true;
    if (!is_operation(o, other->first) || (whole >= 0 && whole != other->first)) return SPAD_OK;
    if (!after_life && !is_operation(o, use->last)) return SPAD_OK;
    if (after_life ? other->writes : use->writes)
        status = spad__fences_lack_proxy(&o->fences, &pair, &lacking, error);
    if (status == SPAD_OK && !lacking && !after_life)
        status = spad__fences_lack_unit(&o->fences, &pair, &need, &lacking, error);
    *fenced = !lacking;
    return status;
}

/* Do other threads of agents access the bytes of two members? Mbarriers have one thread each. */
static bool others_access(const orderer *o, const tensor_value *a, const tensor_value *b) {
    const bool one = is_barrier(o, a->member), two = is_barrier(o, b->member);
    if (!one && !two) return spad__non_elected_share(o->kernel, b->owner);
    return o->order.execution_order.non_elected != NULL && !(one && two);
}

/* Is the end of a use before another one, for all threads and both proxies? */
static spad_status is_before_use(orderer *o, const value_use *use, const value_use *other,
                                 bool *before, spad_error *error) {
    const tensor_value *from = &o->values.items[use->value];
    const tensor_value *to = &o->values.items[other->value];
    const int32_t end = end_of_use(o, use);
    const int32_t start = spad__event_graph_first(&o->order.graph, other->first);
    spad_status status = spad__ordered_before(&o->order.execution_order, end, start, before, error);
    if (end == start) *before = false;
    if (status == SPAD_OK && *before && others_access(o, from, to)) {
        status = spad__non_elected_ordered(&o->order.execution_order, use->last, use->writes,
                                           other->first, before, error);
    }
    if (status == SPAD_OK && *before) status = are_fenced(o, use, other, before, error);
    return status;
}

/* Is the end of a use before all uses of a value? */
static spad_status is_before_value(orderer *o, const value_use *use, const tensor_value *value,
                                   bool *before, spad_error *error) {
    spad_status status = SPAD_OK;
    *before = true;
    for (int32_t u = value->newest_use; u >= 0 && *before && status == SPAD_OK;
         u = o->uses.items[u].older) {
        status = is_before_use(o, use, &o->uses.items[u], before, error);
    }
    return status;
}

/* An mbarrier for each block of a cluster meets only the tiles of the block. */
static bool are_elsewhere(const orderer *o, const tensor_value *a, const tensor_value *b) {
    return a->space != b->space && (is_barrier(o, a->member) || is_barrier(o, b->member));
}

/* Compares a use of a value with all values that begin later in the run: only they can be after. */
static spad_status compare_use(orderer *o, const value_use *use, spad_error *error) {
    const tensor_value *value = &o->values.items[use->value];
    const bool lasts = value->lasts || (value->init >= 0 && value->invalidate < 0);
    spad_status status = SPAD_OK;
    for (size_t v = 0; v < o->values.count && status == SPAD_OK; v++) {
        const tensor_value *other = &o->values.items[v];
        if (other->newest_use < 0 || other->member == value->member) continue;
        if (other->rank < value->rank || are_elsewhere(o, value, other)) continue;
        if (is_pair_settled(o, value->member, other->member)) continue;
        bool before = other->rank > value->rank && !lasts;
        if (before) status = is_before_value(o, use, other, &before, error);
        if (!before) forbid_values(o, value, other);
    }
    return status;
}

static spad_status compare_values(orderer *o, spad_error *error) {
    const spad__event_graph *non_elected =
        spad__kernel_elects(o->kernel) ? &o->order.non_elected : NULL;
    spad_status status = SPAD_OK;
    if (non_elected != NULL)
        status =
            spad__event_graph_build_non_elected(&o->order.non_elected, &o->order.events, error);
    if (status == SPAD_OK) {
        status = spad__happens_before_build(&o->order.execution_order, &o->order.executor,
                                            non_elected, false, error);
    }
    if (status == SPAD_OK) {
        o->order.visible = &o->order.execution_order;
        status = spad__fences_list(&o->fences, &o->order, error);
    }
    assume_sharing(o);
    keep_outputs(o);
    bool late = false;
    for (size_t u = 0; u < o->uses.count && status == SPAD_OK && !late; u++) {
        late = spad__limit_reached(o->limit);
        if (!late) status = compare_use(o, &o->uses.items[u], error);
    }
    o->out->known = status == SPAD_OK && !late;
    for (size_t i = 0; late && i < o->out->members * o->out->members; i++) o->out->shared[i] = 0;
    find_uneven(o);
    fill_unused(o);
    if (o->fences.order != NULL) spad__fences_free(&o->fences);
    if (o->order.execution_order.graph != NULL)
        spad__happens_before_free(&o->order.execution_order);
    if (non_elected != NULL) spad__event_graph_free(&o->order.non_elected);
    return status;
}

/* ---- the whole --------------------------------------------------------------------- */

static spad_status order_run(orderer *o, spad_error *error) {
    if (!rank_accesses(o) || !list_values(o) || !list_barrier_lives(o) || !list_uses(o)) {
        return spad__fail_host_memory(error);
    }
    return o->too_many ? SPAD_OK : compare_values(o, error);
}

static spad_status order_events(orderer *o, spad_error *error) {
    const spad_host *host = &o->out->host;
    o->newest = spad__new_array(host, o->out->count + 1, sizeof *o->newest);
    o->counts = spad__new_array(host, o->out->count + o->out->syncs + 1, sizeof *o->counts);
    o->conflicts =
        spad__new_array(host, o->out->members + 1, (o->out->syncs + 1) * sizeof *o->conflicts);
    if (o->newest == NULL || o->counts == NULL || o->conflicts == NULL)
        return spad__fail_host_memory(error);
    spad_status status = spad__event_graph_build(&o->order.graph, &o->order.events, error);
    if (status == SPAD_OK) {
        status = spad__executor_run(&o->order.executor, &o->order.graph, error);
        if (status == SPAD_OK && (size_t)o->order.executor.happened == o->order.graph.points.count)
            status = order_run(o, error);
        spad__executor_free(&o->order.executor);
    }
    spad__free(host, o->order.rank, (o->order.graph.points.count + 1) * sizeof *o->order.rank);
    spad__event_graph_free(&o->order.graph);
    return status;
}

static void free_orderer(orderer *o) {
    const spad_host *host = &o->out->host;
    const size_t accesses = o->order.events.accesses.count + 1;
    spad__free(host, o->newest, (o->out->count + 1) * sizeof *o->newest);
    spad__free(host, o->counts, (o->out->count + o->out->syncs + 1) * sizeof *o->counts);
    spad__free(host, o->conflicts,
               (o->out->members + 1) * (o->out->syncs + 1) * sizeof *o->conflicts);
    spad__free(host, o->accesses, accesses * sizeof *o->accesses);
    spad__free(host, o->value_of, accesses * sizeof *o->value_of);
    spad__array_free(host, &o->values);
    spad__array_free(host, &o->runs);
    spad__array_free(host, &o->uses);
    spad__events_free(&o->order.events);
}

static spad_status find_order(orderer *o, const spad_check_options *options, spad_error *error) {
    spad_check check = {.host = o->out->host};
    const spad__run run = {
        .kernel = o->kernel, .options = options, .check = &check, .limit = o->limit};
    spad_status status = spad__events_collect(&o->order.events, &run, error);
    if (status == SPAD_OK && o->order.events.gap == NULL) status = order_events(o, error);
    free_orderer(o);
    return status;
}

spad_status spad_tensor_order_create(spad_tensor_order **out, const spad_kernel *kernel,
                                     const spad_tensor_order_options *options, spad_error *error) {
    const spad_tensor_order_options o = options != NULL ? *options : (spad_tensor_order_options){0};
    const spad_host host = spad__host_or_default(o.host);
    spad__limit limit;
    *out = NULL;
    if (o.event_limit < 0) {
        return spad__fail(error, SPAD_ERR_ARGUMENT, "event limit %lld is negative",
                          (long long)o.event_limit);
    }
    spad_status status = spad__limit_start(&limit, o.timeout_ns, o.watch, error);
    orderer work = {.kernel = kernel, .limit = &limit};
    if (status == SPAD_OK) status = spad__tensor_order_new(&work.out, kernel, &host, error);
    if (status != SPAD_OK) return status;
    const spad_check_options check = {.event_limit = o.event_limit > 0 ? o.event_limit
                                                                       : SPAD_TENSOR_ORDER_EVENTS};
    if (!spad_kernel_is_implicit(kernel)) status = find_order(&work, &check, error);
    if (status == SPAD_OK && limit.status == SPAD_ERR_CANCELLED)
        status = spad__limit_fail(&limit, 0, "uses of tensors", error);
    if (status != SPAD_OK) {
        spad_tensor_order_destroy(work.out);
        return status;
    }
    *out = work.out;
    return SPAD_OK;
}
