/* SPDX-License-Identifier: Apache-2.0
 *
 * Live ranges of mbarriers and accesses to their bytes: each access is over before the init, or
 * begins after the invalidate, in every execution.
 *
 * The live ranges of an object follow each other (phases.c has that). In the run an access starts
 * after the begin of some of them: the last of these must be over before the access, and the next
 * one must begin after it. The others are further away, because order is transitive. If an access
 * x is not after the invalidate and the init was first in the run, then some execution has x inside
 * of the life: init -> end of x and start of x -> invalidate do not contradict the order, which has
 * neither the reverse of one of them nor a way from an end to a start. The same for live ranges of
 * two objects with bytes in common. O(log live ranges) for each access that arrives_as_all an
 * object.
 */
#include "base/checked.h"
#include "check/actions.h"
#include "check/hints.h"
#include "check/live_ranges.h"
#include "check/mbarrier_storage.h"
#include "kernel/kernel.h"
#include "order/non_elected.h"

static const char holders_unknown[] =
    "a sync of threads may be missing: which of them accesses the bytes of an mbarrier is not "
    "known";

/* One live range of an item; -1: none. */
typedef struct mbarrier_live_range {
    int32_t init; /* actions */
    int32_t end;
} mbarrier_live_range;

typedef struct mbarrier_check {
    spad__order *order;
    spad__fences *fences;
    const spad__thread_maps *maps;
    spad__mbarrier_storage storage;
    SPAD_ARRAY(mbarrier_live_range) live_ranges; /* by item, then as they came in the run */
    SPAD_ARRAY(size_t) firsts;                   /* per item, and one more */
} mbarrier_check;

/* An access, and the item that it arrives_as_all. */
typedef struct mbarrier_touch {
    const spad__mbarrier_bytes *item;
    int32_t event;
    size_t access;
} mbarrier_touch;

/* ---- live ranges ------------------------------------------------------------------------- */

static const spad__action *mbarrier_action(const mbarrier_check *j, int32_t action) {
    return &j->order->graph.actions.items[action];
}

static bool list_live_ranges_of(mbarrier_check *j, int32_t object) {
    const spad__order *o = j->order;
    const spad_host *host = &o->graph.host;
    bool open = false;
    for (int32_t i = o->first_action[object]; i < o->first_action[object + 1]; i++) {
        const int32_t action = o->actions[i];
        const spad__action_kind kind = mbarrier_action(j, action)->kind;
        if (kind == SPAD__ACTION_INIT) {
            if (!spad__array_reserve(host, &j->live_ranges, 1)) return false;
            j->live_ranges.items[j->live_ranges.count++] = (mbarrier_live_range){action, -1};
            open = true;
        } else if (kind == SPAD__ACTION_INVALIDATE && open) {
            j->live_ranges.items[j->live_ranges.count - 1].end = action;
            open = false;
        }
    }
    return true;
}

static spad_status list_live_ranges(mbarrier_check *j, spad_error *error) {
    const size_t count = j->storage.items.count;
    if (!spad__array_reserve(&j->order->graph.host, &j->firsts, count + 1)) {
        return spad__fail_host_memory(error);
    }
    for (size_t i = 0; i < count; i++) {
        j->firsts.items[j->firsts.count++] = j->live_ranges.count;
        if (!list_live_ranges_of(j, j->storage.items.items[i].object))
            return spad__fail_host_memory(error);
    }
    j->firsts.items[j->firsts.count++] = j->live_ranges.count;
    return SPAD_OK;
}

/* The first life of an item that begins after a moment of the run. */
static size_t live_range_after(const mbarrier_check *j, size_t item, int32_t rank) {
    size_t low = j->firsts.items[item];
    size_t high = j->firsts.items[item + 1];
    while (low < high) {
        const size_t middle = low + (high - low) / 2;
        if (j->order->rank[mbarrier_action(j, j->live_ranges.items[middle].init)->point] <= rank) {
            low = middle + 1;
        } else {
            high = middle;
        }
    }
    return low;
}

/* Has a life ended before a point, in every execution? */
static spad_status is_live_range_over(const mbarrier_check *j, const mbarrier_live_range *life,
                                      int32_t point, bool *over, spad_error *error) {
    *over = false;
    if (life->end < 0) return SPAD_OK;
    return spad__ordered_before(j->order->visible, mbarrier_action(j, life->end)->point, point,
                                over, error);
}

/* ---- words ------------------------------------------------------------------------- */

typedef struct touch_words {
    char event[SPAD__PHRASE_MAX];
    char object[SPAD__PHRASE_MAX];
    char tile[SPAD__TILE_TEXT_MAX];
} touch_words;

static touch_words words_of_mbarrier_touch(const mbarrier_check *j, const mbarrier_touch *m) {
    const spad__events *events = &j->order->events;
    const spad_walk_access *access = &events->accesses.items[m->access];
    touch_words w;
    spad__event_phrase(events, &events->items.items[m->event], w.event);
    spad__object_phrase(events, m->item->object, w.object);
    spad__tile_text(events->kernel, access->tensor, access->tile, w.tile, sizeof w.tile);
    return w;
}

static bool writes_bytes(const mbarrier_check *j, const mbarrier_touch *m) {
    return (j->order->events.accesses.items[m->access].kind & SPAD_ACCESS_WRITE) != 0;
}

static bool may_touch(const mbarrier_check *j, const mbarrier_touch *m) {
    return (j->order->events.accesses.items[m->access].kind & SPAD_ACCESS_MAY) != 0;
}

/* Adds a finding about an access and an action of the mbarrier; once for two statements. */
static spad_status find_touch(const mbarrier_check *j, const mbarrier_touch *m, int32_t action,
                              spad_finding *finding, const char *note, spad_error *error) {
    spad__order *o = j->order;
    char object[SPAD__PHRASE_MAX];
    const int32_t other = spad__order_event(o, mbarrier_action(j, action)->point);
    spad__object_phrase(&o->events, m->item->object, object);
    spad__finding_set_names(finding, object, NULL);
    spad__finding_add_note(finding, "%s", note);
    if (may_touch(j, m)) spad__leave_open(o->run, finding);
    const int32_t events[] = {other, m->event};
    const spad_status status = spad__add_witness(o, finding, events, 2, error);
    return status == SPAD_OK ? spad__order_find(o, finding, m->event, other, error) : status;
}

static bool is_found(const mbarrier_check *j, spad_finding_code code, bool certain,
                     const mbarrier_touch *m, int32_t action) {
    const spad__event *events = j->order->events.items.items;
    const int32_t other = spad__order_event(j->order, mbarrier_action(j, action)->point);
    const spad_severity severity =
        certain && !may_touch(j, m) ? SPAD_SEVERITY_ERROR : SPAD_SEVERITY_WARNING;
    return spad__count_finding(j->order->run, code, severity, events[m->event].statement,
                               events[other].statement);
}

/* ---- findings ---------------------------------------------------------------------- */

/* The access starts after an init, and not after the invalidate. */
static spad_status find_in_live_range(const mbarrier_check *j, const mbarrier_touch *m,
                                      const mbarrier_live_range *life, spad_error *error) {
    if (is_found(j, SPAD_FINDING_MBARRIER_BYTES, true, m, life->init)) return SPAD_OK;
    const touch_words w = words_of_mbarrier_touch(j, m);
    spad_finding finding;
    spad__finding_init(
        &finding, SPAD_FINDING_MBARRIER_BYTES,
        "%s %s %s in bytes [%s, %s) of shared memory, which %s has: %s; %s", w.event,
        writes_bytes(j, m) ? "writes" : "reads", w.tile, spad__grouped(m->item->byte).text,
        spad__grouped(m->item->byte + SPAD_MBARRIER_BYTES).text, w.object,
        life->end < 0 ? "it is initialised, and never invalidated"
                      : "it is initialised, and may not be invalidated yet",
        life->end < 0 ? "place one of them elsewhere" : "wait for the invalidate before it");
    return find_touch(j, m, life->init, &finding, "the init is here", error);
}

/* An init comes after the start of the access, and perhaps before its end. */
static spad_status find_early_init(const mbarrier_check *j, const mbarrier_touch *m,
                                   const mbarrier_live_range *life, spad_error *error) {
    if (is_found(j, SPAD_FINDING_MBARRIER_BYTES, true, m, life->init)) return SPAD_OK;
    const touch_words w = words_of_mbarrier_touch(j, m);
    spad_finding finding;
    spad__finding_init(
        &finding, SPAD_FINDING_MBARRIER_BYTES,
        "%s %s %s in bytes [%s, %s) of shared memory, and the init of %s there may come before "
        "that is over; wait for the end of %s before the init",
        w.event, writes_bytes(j, m) ? "writes" : "reads", w.tile, spad__grouped(m->item->byte).text,
        spad__grouped(m->item->byte + SPAD_MBARRIER_BYTES).text, w.object, w.event);
    return find_touch(j, m, life->init, &finding, "the init is here", error);
}

/* Writes of a unit after an invalidate, which is generic. */
static spad_status check_mbarrier_fence(const mbarrier_check *j, const mbarrier_touch *m,
                                        int32_t end, int32_t to, spad_error *error) {
    const int32_t from = mbarrier_action(j, end)->point;
    const spad__fence_pair pair = {.first = spad__order_event(j->order, from),
                                   .second = m->event,
                                   .space = m->item->space,
                                   .from = from,
                                   .to = to};
    bool lacking;
    if (!writes_bytes(j, m)) return SPAD_OK;
    const spad_status status = spad__fences_lack_proxy(j->fences, &pair, &lacking, error);
    if (status != SPAD_OK || !lacking || is_found(j, SPAD_FINDING_MISSING_FENCE, true, m, end)) {
        return status;
    }
    const touch_words w = words_of_mbarrier_touch(j, m);
    spad_finding finding;
    spad__finding_init(
        &finding, SPAD_FINDING_MISSING_FENCE,
        "%s writes %s through the async proxy to bytes that %s had, and no fence comes between it "
        "and the invalidate",
        w.event, w.tile, w.object);
    char fence[SPAD__HINT_MAX];
    char hint[SPAD__HINT_MAX + 32];
    spad__hint_fence(fence, j->order->events.kernel, NULL, 0);
    snprintf(hint, sizeof hint, "add %s after the invalidate", fence);
    return find_touch(j, m, end, &finding, hint, error);
}

/* One thread initialises and invalidates. `first`: the action comes before the access. */
static spad_status check_mbarrier_threads(const mbarrier_check *j, const mbarrier_touch *m,
                                          int32_t action, bool first, spad_error *error) {
    spad__order *o = j->order;
    const int32_t other = spad__order_event(o, mbarrier_action(j, action)->point);
    spad__barrier_need lack;
    bool ordered = true;
    spad_status status = spad__thread_maps_lack_mbarrier(j->maps, o, m->event, m->access, other,
                                                         first, &lack, error);
    if (status == SPAD_OK && lack == SPAD__BARRIER_NOT_NEEDED &&
        o->execution_order.non_elected != NULL) {
        status = first
                     ? spad__non_elected_ordered(o->visible, other, true, m->event, &ordered, error)
                     : spad__non_elected_ordered(o->visible, m->event, writes_bytes(j, m), other,
                                                 &ordered, error);
        if (!ordered) lack = SPAD__BARRIER_NEEDED;
    }
    if (status != SPAD_OK || lack == SPAD__BARRIER_NOT_NEEDED) return status;
    if (lack == SPAD__BARRIER_MAYBE_NEEDED) o->run->gap = holders_unknown;
    if (is_found(j, SPAD_FINDING_MISSING_SYNC, lack == SPAD__BARRIER_NEEDED, m, action))
        return SPAD_OK;
    const touch_words w = words_of_mbarrier_touch(j, m);
    spad_finding finding;
    spad__finding_init(&finding, SPAD_FINDING_MISSING_SYNC,
                       "%s accesses %s in bytes of %s%s, one thread %s it, and no sync of all "
                       "threads comes between",
                       w.event, w.tile, w.object,
                       lack == SPAD__BARRIER_NEEDED ? "" : ", perhaps in another thread",
                       first ? "has invalidated" : "initialises");
    if (lack == SPAD__BARRIER_MAYBE_NEEDED) finding.severity = SPAD_SEVERITY_WARNING;
    return find_touch(j, m, action, &finding, first ? "the invalidate is here" : "the init is here",
                      error);
}

/* ---- accesses ---------------------------------------------------------------------- */

static spad_status check_before(const mbarrier_check *j, const mbarrier_touch *m,
                                const mbarrier_live_range *life, spad_error *error) {
    const int32_t to = spad__event_graph_first(&j->order->graph, m->event);
    bool over;
    spad_status status = is_live_range_over(j, life, to, &over, error);
    if (status != SPAD_OK) return status;
    if (!over) return find_in_live_range(j, m, life, error);
    status = check_mbarrier_threads(j, m, life->end, true, error);
    return status == SPAD_OK ? check_mbarrier_fence(j, m, life->end, to, error) : status;
}

static spad_status check_after(const mbarrier_check *j, const mbarrier_touch *m,
                               const mbarrier_live_range *life, spad_error *error) {
    spad__order *o = j->order;
    const int32_t from = spad__event_graph_last(&o->graph, m->event, writes_bytes(j, m));
    bool over;
    const spad_status status =
        spad__ordered_before(o->visible, from, mbarrier_action(j, life->init)->point, &over, error);
    if (status != SPAD_OK) return status;
    return over ? check_mbarrier_threads(j, m, life->init, false, error)
                : find_early_init(j, m, life, error);
}

static spad_status check_mbarrier_access(const mbarrier_check *j, int32_t event, size_t number,
                                         spad_error *error) {
    const spad__order *o = j->order;
    const spad_walk_access *access = &o->events.accesses.items[number];
    const int32_t rank = o->rank[spad__event_graph_first(&o->graph, event)];
    size_t first;
    const size_t last = spad__mbarrier_range(&j->storage, access, &first);
    spad_status status = SPAD_OK;
    for (size_t i = first; i < last && status == SPAD_OK; i++) {
        const mbarrier_touch m = {&j->storage.items.items[i], event, number};
        if (spad__mbarrier_touched(m.item, access) == 0) continue;
        const size_t next = live_range_after(j, i, rank);
        if (next > j->firsts.items[i]) {
            status = check_before(j, &m, &j->live_ranges.items[next - 1], error);
        }
        if (status == SPAD_OK && next < j->firsts.items[i + 1]) {
            status = check_after(j, &m, &j->live_ranges.items[next], error);
        }
    }
    return status;
}

/* ---- two objects ------------------------------------------------------------------- */

static spad_status find_two_live_ranges(const mbarrier_check *j,
                                        const spad__mbarrier_bytes *storage, int32_t init,
                                        const mbarrier_live_range *other, spad_error *error) {
    spad__order *o = j->order;
    const spad__action *a = mbarrier_action(j, init);
    const spad__action *b = mbarrier_action(j, other->init);
    const spad__about text = spad__order_describe(o, a);
    char name[SPAD__PHRASE_MAX];
    spad_finding finding;
    spad__object_phrase(&o->events, b->object, name);
    spad__finding_init(&finding, SPAD_FINDING_MBARRIER_BYTES,
                       "%s writes bytes from %s of shared memory on, where %s %s; invalidate it "
                       "before, or place one of them elsewhere",
                       text.event, spad__grouped(storage->byte).text, name,
                       other->end < 0 ? "is initialised, and never invalidated"
                                      : "is initialised, and may not be invalidated yet");
    return spad__order_find_at(o, &finding, a, b, error);
}

/* A life of an item is over before the next one of another item with bytes in common. */
static spad_status check_follows(const mbarrier_check *j, const mbarrier_live_range *life,
                                 const mbarrier_live_range *next, const spad__mbarrier_bytes *item,
                                 spad_error *error) {
    bool over;
    const spad_status status =
        is_live_range_over(j, life, mbarrier_action(j, next->init)->point, &over, error);
    if (status != SPAD_OK || over) return status;
    return find_two_live_ranges(j, item, next->init, life, error);
}

/* Lives of two items with bytes in common follow each other. */
static spad_status check_two_items(const mbarrier_check *j, size_t one, size_t two,
                                   spad_error *error) {
    const spad__mbarrier_bytes *items = j->storage.items.items;
    spad_status status = SPAD_OK;
    for (size_t i = j->firsts.items[two]; i < j->firsts.items[two + 1] && status == SPAD_OK; i++) {
        const mbarrier_live_range *life = &j->live_ranges.items[i];
        const int32_t begin = mbarrier_action(j, life->init)->point;
        const size_t next = live_range_after(j, one, j->order->rank[begin]);
        if (next > j->firsts.items[one])
            status = check_follows(j, &j->live_ranges.items[next - 1], life, &items[two], error);
        if (status == SPAD_OK && next < j->firsts.items[one + 1])
            status = check_follows(j, life, &j->live_ranges.items[next], &items[one], error);
    }
    return status;
}

static spad_status check_mbarrier_items(const mbarrier_check *j, spad_error *error) {
    const spad__mbarrier_storage *storage = &j->storage;
    spad_status status = SPAD_OK;
    for (size_t i = 0; i < storage->items.count; i++) {
        const int64_t end = storage->items.items[i].byte + SPAD_MBARRIER_BYTES;
        const size_t space = storage->items.items[i].space;
        for (size_t k = i + 1; k < storage->items.count && storage->items.items[k].space == space &&
                               storage->items.items[k].byte < end;
             k++) {
            if (status == SPAD_OK) status = check_two_items(j, i, k, error);
        }
    }
    return status;
}

/* ---- all --------------------------------------------------------------------------- */

static spad_status check_accesses(const mbarrier_check *j, spad_error *error) {
    const spad__events *events = &j->order->events;
    spad_status status = SPAD_OK;
    for (size_t i = 0; i < events->items.count; i++) {
        const spad__event *event = &events->items.items[i];
        if (event->kind != SPAD_WALK_OPERATION) continue;
        for (size_t k = 0; k < event->access_count && status == SPAD_OK; k++) {
            status = check_mbarrier_access(j, (int32_t)i, event->first_access + k, error);
        }
    }
    return status;
}

spad_status spad__find_mbarrier_races(spad__order *o, spad__fences *fences,
                                      const spad__thread_maps *maps, spad_error *error) {
    mbarrier_check j = {.order = o, .fences = fences, .maps = maps};
    spad_status status = spad__mbarrier_storage_list(&j.storage, &o->events, o->run, error);
    if (status == SPAD_OK && j.storage.items.count > 0) {
        status = list_live_ranges(&j, error);
        if (status == SPAD_OK) status = check_accesses(&j, error);
        if (status == SPAD_OK) status = check_mbarrier_items(&j, error);
    }
    spad__array_free(&o->graph.host, &j.live_ranges);
    spad__array_free(&o->graph.host, &j.firsts);
    spad__mbarrier_storage_free(&j.storage);
    return status;
}
