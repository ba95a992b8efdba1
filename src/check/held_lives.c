/* SPDX-License-Identifier: Apache-2.0
 *
 * Lives of mbarriers and accesses to their bytes: each access is over before the init, or begins
 * after the invalidate, in every execution.
 *
 * The lives of an object follow each other (phases.c has that). In the run an access starts after
 * the begin of some of them: the last of these has to be over before the access, and the next one
 * has to begin after it. The others are further away, because order is transitive. If an access x
 * is not after the invalidate and the init was first in the run, then some execution has x inside
 * of the life: init -> end of x and start of x -> invalidate do not contradict the order, which has
 * neither the reverse of one of them nor a way from an end to a start. The same for lives of two
 * objects with bytes in common. O(log lives) for each access that meets an object.
 */
#include "base/checked.h"
#include "check/actions.h"
#include "check/held.h"
#include "check/life.h"
#include "check/others.h"
#include "kernel/kernel.h"

static const char holders_unknown[] =
    "a sync of threads may be missing: which of them accesses the bytes of an mbarrier is not "
    "known";

/* One life of an item; -1: none. */
typedef struct held_life {
    int32_t init; /* actions */
    int32_t end;
} held_life;

typedef struct held_judge {
    spad__order *order;
    spad__fences *fences;
    const spad__spreads *spreads;
    spad__held_bytes held;
    SPAD_ARRAY(held_life) lives; /* by item, then as they came in the run */
    SPAD_ARRAY(size_t) firsts;   /* per item, and one more */
} held_judge;

/* An access, and the item that it meets. */
typedef struct held_meeting {
    const spad__held *item;
    int32_t event;
    size_t access;
} held_meeting;

/* ---- lives ------------------------------------------------------------------------- */

static const spad__action *held_action(const held_judge *j, int32_t action) {
    return &j->order->net.actions.items[action];
}

static bool list_lives_of(held_judge *j, int32_t object) {
    const spad__order *o = j->order;
    const spad_host *host = &o->net.host;
    bool open = false;
    for (int32_t i = o->first_action[object]; i < o->first_action[object + 1]; i++) {
        const int32_t action = o->actions[i];
        const spad__action_kind kind = held_action(j, action)->kind;
        if (kind == SPAD__ACTION_INIT) {
            if (!spad__array_reserve(host, &j->lives, 1)) return false;
            j->lives.items[j->lives.count++] = (held_life){action, -1};
            open = true;
        } else if (kind == SPAD__ACTION_INVALIDATE && open) {
            j->lives.items[j->lives.count - 1].end = action;
            open = false;
        }
    }
    return true;
}

static spad_status list_lives(held_judge *j, spad_error *error) {
    const size_t count = j->held.items.count;
    if (!spad__array_reserve(&j->order->net.host, &j->firsts, count + 1)) {
        return spad__fail_host_memory(error);
    }
    for (size_t i = 0; i < count; i++) {
        j->firsts.items[j->firsts.count++] = j->lives.count;
        if (!list_lives_of(j, j->held.items.items[i].object)) return spad__fail_host_memory(error);
    }
    j->firsts.items[j->firsts.count++] = j->lives.count;
    return SPAD_OK;
}

/* The first life of an item that begins after a moment of the run. */
static size_t life_after(const held_judge *j, size_t item, int32_t rank) {
    size_t low = j->firsts.items[item];
    size_t high = j->firsts.items[item + 1];
    while (low < high) {
        const size_t middle = low + (high - low) / 2;
        if (j->order->rank[held_action(j, j->lives.items[middle].init)->point] <= rank) {
            low = middle + 1;
        } else {
            high = middle;
        }
    }
    return low;
}

/* Has a life ended before a point, in every execution? */
static spad_status is_life_over(const held_judge *j, const held_life *life, int32_t point,
                                bool *over, spad_error *error) {
    *over = false;
    if (life->end < 0) return SPAD_OK;
    return spad__causes_before(j->order->visible, held_action(j, life->end)->point, point, over,
                               error);
}

/* ---- words ------------------------------------------------------------------------- */

typedef struct held_words {
    char event[SPAD__PHRASE_MAX];
    char object[SPAD__PHRASE_MAX];
    char tile[SPAD__TILE_TEXT_MAX];
} held_words;

static held_words words_of_meeting(const held_judge *j, const held_meeting *m) {
    const spad__events *events = &j->order->events;
    const spad_walk_access *access = &events->accesses.items[m->access];
    held_words w;
    spad__event_phrase(events, &events->items.items[m->event], w.event);
    spad__object_phrase(events, m->item->object, w.object);
    spad__tile_text(events->kernel, access->tensor, access->tile, w.tile, sizeof w.tile);
    return w;
}

static bool writes_bytes(const held_judge *j, const held_meeting *m) {
    return (j->order->events.accesses.items[m->access].kind & SPAD_ACCESS_WRITE) != 0;
}

/* Adds a finding about an access and an action of the mbarrier; once for two statements. */
static spad_status find_meeting(const held_judge *j, const held_meeting *m, int32_t action,
                                spad_finding *finding, const char *note, spad_error *error) {
    spad__order *o = j->order;
    char object[SPAD__PHRASE_MAX];
    const int32_t other = spad__order_event(o, held_action(j, action)->point);
    spad__object_phrase(&o->events, m->item->object, object);
    spad__finding_set_names(finding, object, NULL);
    spad__finding_add_note(finding, "%s", note);
    const int32_t events[] = {other, m->event};
    const spad_status status = spad__add_witness(o, finding, events, 2, error);
    return status == SPAD_OK ? spad__order_find(o, finding, m->event, other, error) : status;
}

static bool is_found(const held_judge *j, spad_finding_code code, const held_meeting *m,
                     int32_t action) {
    const spad__event *events = j->order->events.items.items;
    const int32_t other = spad__order_event(j->order, held_action(j, action)->point);
    return spad__count_finding(j->order->run, code, events[m->event].statement,
                               events[other].statement);
}

/* ---- findings ---------------------------------------------------------------------- */

/* The access starts after an init, and not after the invalidate. */
static spad_status find_in_life(const held_judge *j, const held_meeting *m, const held_life *life,
                                spad_error *error) {
    if (is_found(j, SPAD_FINDING_MBARRIER_BYTES, m, life->init)) return SPAD_OK;
    const held_words w = words_of_meeting(j, m);
    spad_finding finding;
    spad__finding_init(
        &finding, SPAD_FINDING_MBARRIER_BYTES,
        "%s %s %s in bytes [%s, %s) of shared memory, which %s has: %s; %s", w.event,
        writes_bytes(j, m) ? "writes" : "reads", w.tile, spad__grouped(m->item->byte).text,
        spad__grouped(m->item->byte + SPAD_MBARRIER_BYTES).text, w.object,
        life->end < 0 ? "it is initialised, and never invalidated"
                      : "it is initialised, and may not be invalidated yet",
        life->end < 0 ? "place one of them elsewhere" : "wait for the invalidate before it");
    return find_meeting(j, m, life->init, &finding, "the init is here", error);
}

/* An init comes after the start of the access, and perhaps before its end. */
static spad_status find_early_init(const held_judge *j, const held_meeting *m,
                                   const held_life *life, spad_error *error) {
    if (is_found(j, SPAD_FINDING_MBARRIER_BYTES, m, life->init)) return SPAD_OK;
    const held_words w = words_of_meeting(j, m);
    spad_finding finding;
    spad__finding_init(
        &finding, SPAD_FINDING_MBARRIER_BYTES,
        "%s %s %s in bytes [%s, %s) of shared memory, and the init of %s there may come before "
        "that is over; wait for the end of %s before the init",
        w.event, writes_bytes(j, m) ? "writes" : "reads", w.tile, spad__grouped(m->item->byte).text,
        spad__grouped(m->item->byte + SPAD_MBARRIER_BYTES).text, w.object, w.event);
    return find_meeting(j, m, life->init, &finding, "the init is here", error);
}

/* What a unit writes after an invalidate, which is generic. */
static spad_status check_held_fence(const held_judge *j, const held_meeting *m, int32_t end,
                                    int32_t to, spad_error *error) {
    const int32_t from = held_action(j, end)->point;
    const spad__fence_pair pair = {.first = spad__order_event(j->order, from),
                                   .second = m->event,
                                   .space = m->item->space,
                                   .from = from,
                                   .to = to};
    bool lacking;
    if (!writes_bytes(j, m)) return SPAD_OK;
    const spad_status status = spad__fences_lack_proxy(j->fences, &pair, &lacking, error);
    if (status != SPAD_OK || !lacking || is_found(j, SPAD_FINDING_MISSING_FENCE, m, end)) {
        return status;
    }
    const held_words w = words_of_meeting(j, m);
    spad_finding finding;
    spad__finding_init(
        &finding, SPAD_FINDING_MISSING_FENCE,
        "%s writes %s through the async proxy to bytes that %s had, and no fence comes between it "
        "and the invalidate",
        w.event, w.tile, w.object);
    return find_meeting(j, m, end, &finding, "add `fence` after the invalidate", error);
}

/* One thread initialises and invalidates. `first`: the action comes before the access. */
static spad_status check_held_threads(const held_judge *j, const held_meeting *m, int32_t action,
                                      bool first, spad_error *error) {
    spad__order *o = j->order;
    const int32_t other = spad__order_event(o, held_action(j, action)->point);
    spad__meeting lack;
    bool ordered = true;
    spad_status status =
        spad__spreads_lack_barrier(j->spreads, o, m->event, m->access, other, first, &lack, error);
    if (status == SPAD_OK && lack == SPAD__MEET_NOT && o->model.others != NULL) {
        status = first ? spad__others_ordered(o->visible, other, true, m->event, &ordered, error)
                       : spad__others_ordered(o->visible, m->event, writes_bytes(j, m), other,
                                              &ordered, error);
        if (!ordered) lack = SPAD__MEET_MUST;
    }
    if (status != SPAD_OK || lack == SPAD__MEET_NOT) return status;
    if (lack == SPAD__MEET_MAYBE) o->run->gap = holders_unknown;
    if (is_found(j, SPAD_FINDING_MISSING_SYNC, m, action)) return SPAD_OK;
    const held_words w = words_of_meeting(j, m);
    spad_finding finding;
    spad__finding_init(&finding, SPAD_FINDING_MISSING_SYNC,
                       "%s accesses %s in bytes of %s%s, one thread %s it, and no sync of all "
                       "threads comes between",
                       w.event, w.tile, w.object,
                       lack == SPAD__MEET_MUST ? "" : ", perhaps in another thread",
                       first ? "has invalidated" : "initialises");
    if (lack == SPAD__MEET_MAYBE) finding.severity = SPAD_SEVERITY_WARNING;
    return find_meeting(j, m, action, &finding,
                        first ? "the invalidate is here" : "the init is here", error);
}

/* ---- accesses ---------------------------------------------------------------------- */

static spad_status check_before(const held_judge *j, const held_meeting *m, const held_life *life,
                                spad_error *error) {
    const int32_t to = spad__net_first(&j->order->net, m->event);
    bool over;
    spad_status status = is_life_over(j, life, to, &over, error);
    if (status != SPAD_OK) return status;
    if (!over) return find_in_life(j, m, life, error);
    status = check_held_threads(j, m, life->end, true, error);
    return status == SPAD_OK ? check_held_fence(j, m, life->end, to, error) : status;
}

static spad_status check_after(const held_judge *j, const held_meeting *m, const held_life *life,
                               spad_error *error) {
    spad__order *o = j->order;
    const int32_t from = spad__net_last(&o->net, m->event, writes_bytes(j, m));
    bool over;
    const spad_status status =
        spad__causes_before(o->visible, from, held_action(j, life->init)->point, &over, error);
    if (status != SPAD_OK) return status;
    return over ? check_held_threads(j, m, life->init, false, error)
                : find_early_init(j, m, life, error);
}

static spad_status check_held_access(const held_judge *j, int32_t event, size_t number,
                                     spad_error *error) {
    const spad__order *o = j->order;
    const spad_walk_access *access = &o->events.accesses.items[number];
    const int32_t rank = o->rank[spad__net_first(&o->net, event)];
    size_t first;
    const size_t last = spad__held_range(&j->held, access, &first);
    spad_status status = SPAD_OK;
    for (size_t i = first; i < last && status == SPAD_OK; i++) {
        const held_meeting m = {&j->held.items.items[i], event, number};
        if (spad__held_touched(m.item, access) == 0) continue;
        const size_t next = life_after(j, i, rank);
        if (next > j->firsts.items[i]) {
            status = check_before(j, &m, &j->lives.items[next - 1], error);
        }
        if (status == SPAD_OK && next < j->firsts.items[i + 1]) {
            status = check_after(j, &m, &j->lives.items[next], error);
        }
    }
    return status;
}

/* ---- two objects ------------------------------------------------------------------- */

static spad_status find_two_lives(const held_judge *j, const spad__held *held, int32_t init,
                                  const held_life *other, spad_error *error) {
    spad__order *o = j->order;
    const spad__action *a = held_action(j, init);
    const spad__action *b = held_action(j, other->init);
    const spad__about text = spad__order_describe(o, a);
    char name[SPAD__PHRASE_MAX];
    spad_finding finding;
    spad__object_phrase(&o->events, b->object, name);
    spad__finding_init(&finding, SPAD_FINDING_MBARRIER_BYTES,
                       "%s writes bytes from %s of shared memory on, where %s %s; invalidate it "
                       "before, or place one of them elsewhere",
                       text.event, spad__grouped(held->byte).text, name,
                       other->end < 0 ? "is initialised, and never invalidated"
                                      : "is initialised, and may not be invalidated yet");
    return spad__order_find_at(o, &finding, a, b, error);
}

/* A life of an item is over before the next one of another item with bytes in common. */
static spad_status check_follows(const held_judge *j, const held_life *life, const held_life *next,
                                 const spad__held *item, spad_error *error) {
    bool over;
    const spad_status status =
        is_life_over(j, life, held_action(j, next->init)->point, &over, error);
    if (status != SPAD_OK || over) return status;
    return find_two_lives(j, item, next->init, life, error);
}

/* Lives of two items with bytes in common follow each other. */
static spad_status check_two_items(const held_judge *j, size_t one, size_t two, spad_error *error) {
    const spad__held *items = j->held.items.items;
    spad_status status = SPAD_OK;
    for (size_t i = j->firsts.items[two]; i < j->firsts.items[two + 1] && status == SPAD_OK; i++) {
        const held_life *life = &j->lives.items[i];
        const int32_t begin = held_action(j, life->init)->point;
        const size_t next = life_after(j, one, j->order->rank[begin]);
        if (next > j->firsts.items[one])
            status = check_follows(j, &j->lives.items[next - 1], life, &items[two], error);
        if (status == SPAD_OK && next < j->firsts.items[one + 1])
            status = check_follows(j, life, &j->lives.items[next], &items[one], error);
    }
    return status;
}

static spad_status check_held_items(const held_judge *j, spad_error *error) {
    const spad__held_bytes *held = &j->held;
    spad_status status = SPAD_OK;
    for (size_t i = 0; i < held->items.count; i++) {
        const int64_t end = held->items.items[i].byte + SPAD_MBARRIER_BYTES;
        const size_t space = held->items.items[i].space;
        for (size_t k = i + 1; k < held->items.count && held->items.items[k].space == space &&
                               held->items.items[k].byte < end;
             k++) {
            if (status == SPAD_OK) status = check_two_items(j, i, k, error);
        }
    }
    return status;
}

/* ---- all --------------------------------------------------------------------------- */

static spad_status check_accesses(const held_judge *j, spad_error *error) {
    const spad__events *events = &j->order->events;
    spad_status status = SPAD_OK;
    for (size_t i = 0; i < events->items.count; i++) {
        const spad__event *event = &events->items.items[i];
        if (event->kind != SPAD_WALK_OPERATION) continue;
        for (size_t k = 0; k < event->access_count && status == SPAD_OK; k++) {
            status = check_held_access(j, (int32_t)i, event->first_access + k, error);
        }
    }
    return status;
}

spad_status spad__find_held(spad__order *o, spad__fences *fences, const spad__spreads *spreads,
                            spad_error *error) {
    held_judge j = {.order = o, .fences = fences, .spreads = spreads};
    spad_status status = spad__held_list(&j.held, &o->events, o->run, error);
    if (status == SPAD_OK && j.held.items.count > 0) {
        status = list_lives(&j, error);
        if (status == SPAD_OK) status = check_accesses(&j, error);
        if (status == SPAD_OK) status = check_held_items(&j, error);
    }
    spad__array_free(&o->net.host, &j.lives);
    spad__array_free(&o->net.host, &j.firsts);
    spad__held_free(&j.held);
    return status;
}
