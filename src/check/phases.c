/* SPDX-License-Identifier: Apache-2.0
 *
 * Findings about barriers, counters and mbarriers.
 *
 * The run of the executor found a phase for every contribution and every wait. Here it is
 * shown that they are the same in every execution, or a finding says what may differ:
 *
 *   - a contribution to phase k + 1 comes after phase k, so it cannot count for k;
 *   - a phase cannot be complete before the last of its contributions: bytes are expected
 *     before an arrival of it, or before others that it lacks are delivered;
 *   - a wait that passed with t phases complete is reached with t - 1 at least, and phase
 *     t + 1 is not complete before it: then its parity means "t are complete" (PTX ISA:
 *     only the current phase and the one before it can be waited for);
 *   - a take of a counter cannot pass before the one in front of it.
 *
 * Here t phases are complete when phase t is; in messages that is phase t - 1, because they count
 * phases from 0, as their parities do.
 *
 * Why that is enough: take the first event of any execution that happens-before
 * forbids. Up to it all phases are as assumed, so by the rules above it counts for, or waits for,
 * the phase that was assumed for it, and happens-before allows it: a contradiction.
 */
#include "base/assert.h"
#include "check/actions.h"
#include "order/fences.h"

#include "base/checked.h"

enum { ACTIONS_A_LOOK = 64 }; /* at the clock */

/* A phase of so many is asked for as a whole first: what comes after its end comes after all. */
enum { MANY_CONTRIBUTIONS = 8 };

/* ---- contributions ----------------------------------------------------------------- */

static bool contributes(const spad__action *a) {
    return a->kind == SPAD__ACTION_ENTER || a->kind == SPAD__ACTION_ARRIVE ||
           a->kind == SPAD__ACTION_EXPECT || a->kind == SPAD__ACTION_DELIVER;
}

static bool arrives(const spad__action *a) {
    return a->kind == SPAD__ACTION_ARRIVE;
}

/* Are all contributions to a phase made before a point? It is complete at the last one. Those
 * of older phases stand in front of it, and `number` is an action after all of them. */
static spad_status is_complete(spad__order *o, int32_t object, int32_t number, int64_t phase,
                               int32_t point, bool *complete, spad_error *error) {
    const int32_t end = spad__happens_before_phase(&o->execution_order, object, phase);
    *complete = false;
    if (end >= 0 && o->events.objects.items[object].count >= MANY_CONTRIBUTIONS) {
        const spad_status status =
            spad__ordered_before(&o->execution_order, end, point, complete, error);
        if (status != SPAD_OK || *complete) return status;
    }
    *complete = true;
    for (int32_t i = number - 1; i >= 0 && *complete; i--) {
        const spad__action *a = spad__order_action(o, object, i);
        if (!contributes(a) || a->phase > phase) continue;
        if (a->phase < phase) break;
        const spad_status status =
            spad__ordered_before(&o->execution_order, a->point, point, complete, error);
        if (status != SPAD_OK) return status;
    }
    return SPAD_OK;
}

/* Phase k is complete before anything counts for k + 1. */
static spad_status check_contribution(spad__order *o, int32_t object, int32_t number,
                                      spad_error *error) {
    const spad__action *a = spad__order_action(o, object, number);
    bool before;
    const spad_status status =
        is_complete(o, object, number, a->phase - 1, a->point, &before, error);
    if (status != SPAD_OK || before) return status;
    o->open = true;
    const spad__about text = spad__order_describe(o, a);
    const bool barrier = a->kind == SPAD__ACTION_ENTER;
    spad_finding finding;
    spad__finding_init(
        &finding, barrier ? SPAD_FINDING_MIXED_BARRIER : SPAD_FINDING_MIXED_PHASES,
        "%s may come before %s %lld of %s is complete, and would count for it; let it wait "
        "for that first, or check the count",
        text.event, barrier ? "round" : "phase", (long long)(a->phase - 2), text.object);
    if (a->kind == SPAD__ACTION_EXPECT) {
        spad_note *note = spad__finding_add_note(
            &finding,
            "bytes are expected before the last arrival of their phase, which is complete "
            "without them otherwise; `arrive ... expect` does both");
        spad__point_note(
            note, spad_kernel_get_statement(
                      o->events.kernel,
                      (size_t)o->events.items.items[spad__order_event(o, a->point)].statement)
                      ->location);
    }
    return spad__order_find_at(o, &finding, a, NULL, error);
}

/* Something waits for phase k before an arrival of k + 1 (PTX ISA, mbarrier phases). */
static spad_status check_watched(spad__order *o, int32_t object, int32_t number,
                                 spad_error *error) {
    const spad__action *a = spad__order_action(o, object, number);
    bool before = a->phase == 1;
    bool past = false; /* the end of phase k */
    for (int32_t i = number - 1; i >= 0 && !before; i--) {
        const spad__action *b = spad__order_action(o, object, i);
        if (contributes(b) && b->phase + 1 < a->phase) break;
        past = past || (contributes(b) && b->phase < a->phase);
        if (b->kind == SPAD__ACTION_INIT) {
            before = !past; /* phase k was in another life */
            break;
        }
        if (b->kind != SPAD__ACTION_PARITY || b->phase != a->phase - 1) continue;
        const spad_status status =
            spad__ordered_before(&o->execution_order, b->point, a->point, &before, error);
        if (status != SPAD_OK) return status;
    }
    if (before) return SPAD_OK;
    const spad__about text = spad__order_describe(o, a);
    spad_finding finding;
    spad__finding_init(
        &finding, SPAD_FINDING_UNWATCHED_PHASE,
        "%s may come before anything has waited for phase %lld of %s; the ISA requires a wait in "
        "between",
        text.event, (long long)(a->phase - 2), text.object);
    return spad__order_find_at(o, &finding, a, NULL, error);
}

/* ---- bytes ------------------------------------------------------------------------- */

/* Expectations and deliveries that may come when all have arrived. Where a phase has more than
 * these, some of them are assumed to be missing. */
enum { LATE_MAX = 12 };

typedef struct late_bytes {
    const spad__action *items[LATE_MAX];
    unsigned after[LATE_MAX]; /* those that come after it: one bit for each */
    bool parted[LATE_MAX];    /* after an arrival of the same point */
    int32_t count;
    bool more;
} late_bytes;

/* The actions of a phase: contributions to it, and waits between them. */
typedef struct span {
    int32_t object;
    int32_t first;
    int32_t end;
} span;

/* By how much a contribution raises the bytes that its phase lacks. */
static int64_t bytes_of(const spad__action *a) {
    spad__assert(contributes(a));
    if (a->kind == SPAD__ACTION_ARRIVE) return a->expect;
    return a->kind == SPAD__ACTION_EXPECT ? a->amount : -a->amount;
}

static int64_t bytes_at_end(const spad__order *o, span phase) {
    int64_t sum = 0;
    for (int32_t i = phase.first; i < phase.end; i++) {
        const spad__action *a = spad__order_action(o, phase.object, i);
        if (!contributes(a)) continue;
        if (!spad__add(sum, bytes_of(a), &sum)) sum = bytes_of(a) < 0 ? -INT64_MAX : INT64_MAX;
    }
    return sum;
}

/* The order of two actions of the run; actions of one point come one after another. */
static spad_status is_before(spad__order *o, const spad__action *a, const spad__action *b,
                             bool *before, spad_error *error) {
    *before = a < b;
    if (a->point == b->point) return SPAD_OK;
    return spad__ordered_before(&o->execution_order, a->point, b->point, before, error);
}

/* Adds the expectations or deliveries that no arrival of the phase comes after. */
static spad_status list_late(spad__order *o, span phase, spad__action_kind kind, late_bytes *late,
                             spad_error *error) {
    for (int32_t i = phase.first; i < phase.end && !late->more; i++) {
        const spad__action *a = spad__order_action(o, phase.object, i);
        if (a->kind != kind) continue;
        bool before = false;
        bool parted = false;
        for (int32_t j = phase.first; j < phase.end && !before; j++) {
            const spad__action *b = spad__order_action(o, phase.object, j);
            if (!arrives(b)) continue;
            parted = parted || a->point == b->point;
            if (j < i) continue; /* it came first in the run */
            const spad_status status = is_before(o, a, b, &before, error);
            if (status != SPAD_OK) return status;
        }
        late->more = !before && late->count == LATE_MAX;
        if (before || late->more) continue;
        late->parted[late->count] = parted;
        late->items[late->count++] = a;
        spad__assert(late->count <= LATE_MAX);
    }
    return SPAD_OK;
}

static spad_status order_late(spad__order *o, late_bytes *late, spad_error *error) {
    for (int32_t i = 0; i < late->count; i++) {
        for (int32_t j = 0; j < late->count; j++) {
            bool after;
            const spad_status status = is_before(o, late->items[i], late->items[j], &after, error);
            if (status != SPAD_OK) return status;
            if (after && i != j) late->after[i] |= 1u << j;
        }
    }
    return SPAD_OK;
}

/* Is something of the point of an item done without it? */
static bool is_parted(const late_bytes *late, unsigned set, int32_t number) {
    bool parted = late->parted[number];
    for (int32_t i = 0; i < number && !parted; i++) {
        parted = (set >> i & 1) == 0 && late->items[i]->point == late->items[number]->point;
    }
    return parted;
}

/* Is there a moment when all but these have happened, and is the phase complete then? `bytes` is
 * what it lacks with them. Below 0 it is not, but then an expectation comes too late, too. A
 * moment may be within one point, and not within two. */
static bool may_miss(const late_bytes *late, unsigned set, int64_t bytes) {
    spad__assert(set != 0 && set >> late->count == 0);
    int32_t within = -1;
    bool expects = false;
    for (int32_t i = 0; i < late->count; i++) {
        const spad__action *a = late->items[i];
        if ((set >> i & 1) == 0) continue;
        if ((late->after[i] & ~set) != 0) return false;
        if (!spad__add(bytes, -bytes_of(a), &bytes)) return true;
        expects = expects || a->kind == SPAD__ACTION_EXPECT;
        if (!is_parted(late, set, i)) continue;
        if (within >= 0 && within != a->point) return false;
        within = a->point;
    }
    return expects ? bytes <= 0 : bytes == 0;
}

static spad_status find_late(spad__order *o, const spad__action *a, int64_t bytes,
                             spad_error *error) {
    o->open = true;
    const spad__about text = spad__order_describe(o, a);
    spad_finding finding;
    if (a->kind == SPAD__ACTION_EXPECT) {
        spad__finding_init(
            &finding, SPAD_FINDING_LATE_EXPECT,
            "%s may come when all have arrived at %s, and its phase is complete without "
            "these %s bytes; expect them before an arrival of the phase",
            text.event, text.object, spad__grouped(a->amount).text);
    } else {
        spad__finding_init(
            &finding, SPAD_FINDING_MIXED_PHASES,
            "%s may come before phase %s of %s is complete or after it: %s bytes more "
            "are delivered than expected; expect them, or check the amounts",
            text.event, spad__grouped(a->phase - 1).text, text.object,
            spad__grouped(-spad__max(bytes, -INT64_MAX)).text);
    }
    return spad__order_find_at(o, &finding, a, NULL, error);
}

/* A phase is not complete before the last of its contributions. When all have arrived, it lacks
 * what is still to be delivered, if all was expected by then and nothing is delivered that is
 * not expected. Otherwise all sets of contributions that can be missing are tried. */
static spad_status check_bytes(spad__order *o, span phase, spad_error *error) {
    const int64_t bytes = bytes_at_end(o, phase);
    late_bytes late = {.count = 0};
    spad_status status = list_late(o, phase, SPAD__ACTION_EXPECT, &late, error);
    if (status != SPAD_OK || (late.count == 0 && bytes >= 0)) return status;
    status = list_late(o, phase, SPAD__ACTION_DELIVER, &late, error);
    if (status == SPAD_OK) status = order_late(o, &late, error);
    if (status != SPAD_OK || late.count == 0) return status;
    unsigned set = 1;
    while (!late.more && set >> late.count == 0 && !may_miss(&late, set, bytes)) set++;
    if (set >> late.count != 0) return SPAD_OK;
    int32_t number = 0;
    while ((set >> number & 1) == 0) number++;
    return find_late(o, late.items[number], bytes, error);
}

static span phase_from(const spad__order *o, int32_t object, int32_t first) {
    const int64_t phase = spad__order_action(o, object, first)->phase;
    spad__assert(contributes(spad__order_action(o, object, first)));
    span s = {object, first, first + 1};
    for (; s.end < spad__order_action_count(o, object); s.end++) {
        const spad__action *a = spad__order_action(o, object, s.end);
        if (a->kind == SPAD__ACTION_INIT || a->kind == SPAD__ACTION_INVALIDATE) break;
        if (contributes(a) && a->phase != phase) break;
    }
    return s;
}

/* Is it a phase at which not all arrive before the life ends? */
static bool lacks_arrivals(const spad__order *o, span s) {
    const spad__sync_object *last = &o->executor.objects[s.object].sync;
    const int64_t phase = spad__order_action(o, s.object, s.first)->phase;
    if (s.end == spad__order_action_count(o, s.object))
        return phase > last->phase && last->value > 0;
    const spad__action *end = spad__order_action(o, s.object, s.end);
    return end->kind == SPAD__ACTION_INVALIDATE && end->phase == phase && end->expect > 0;
}

static spad_status check_mbarrier(spad__order *o, int32_t object, spad_error *error) {
    for (int32_t i = 0; i < spad__order_action_count(o, object);) {
        span phase = {object, i, i + 1};
        if (contributes(spad__order_action(o, object, i))) {
            phase = phase_from(o, object, i);
            const spad_status status =
                lacks_arrivals(o, phase) ? SPAD_OK : check_bytes(o, phase, error);
            if (status != SPAD_OK) return status;
        }
        i = phase.end;
    }
    return SPAD_OK;
}

/* ---- waits ------------------------------------------------------------------------- */

static spad_status find_drawn_wait(spad__order *o, spad_finding *finding, const spad__action *a,
                                   spad_error *error) {
    const int32_t event = spad__order_event(o, a->point);
    const spad_status status = spad__add_witness(o, finding, &event, 1, error);
    return status == SPAD_OK ? spad__order_find_at(o, finding, a, NULL, error) : status;
}

static spad_status check_parity(spad__order *o, int32_t object, int32_t number, spad_error *error) {
    const spad__action *a = spad__order_action(o, object, number);
    const int32_t next = spad__happens_before_phase(&o->execution_order, object, a->phase + 1);
    const int32_t reached = o->graph.points.items[a->point].previous;
    bool before;
    spad_status status = is_complete(o, object, number, a->phase - 1, reached, &before, error);
    if (status != SPAD_OK) return status;
    const spad__about text = spad__order_describe(o, a);
    spad_finding finding;
    if (!before) {
        o->open = true;
        spad__finding_init(
            &finding, SPAD_FINDING_STALE_PARITY,
            "%s may pass too early: it is for phase %lld of %s, and until phase %lld is complete "
            "the parity is the same; wait for each phase, and change the parity with it",
            text.event, (long long)(a->phase - 1), text.object, (long long)(a->phase - 2));
        return find_drawn_wait(o, &finding, a, error);
    }
    if (next < 0) return SPAD_OK;
    status = spad__ordered_before(&o->execution_order, a->point, next, &before, error);
    if (status != SPAD_OK || before) return status;
    o->open = true;
    if (a->phase == 0) {
        spad__finding_init(
            &finding, SPAD_FINDING_STALE_PARITY,
            "%s passes immediately if it comes before phase 0 of %s is complete, and waits for "
            "phase 1 if it comes later: with parity 1 it does not wait for phase 0",
            text.event, text.object);
    } else {
        spad__describe_lapped(&finding, &text, a->phase, true);
    }
    return find_drawn_wait(o, &finding, a, error);
}

/* ---- lives ------------------------------------------------------------------------- */

static spad_status find_beside_life(spad__order *o, const spad__action *a, const char *when,
                                    const char *happens, const spad__action *other,
                                    spad_error *error) {
    const spad__about text = spad__order_describe(o, a);
    spad_finding finding;
    spad__finding_init(&finding, SPAD_FINDING_MBARRIER_LIFE, "%s may come %s %s is %s", text.event,
                       when, text.object, happens);
    return spad__order_find_at(o, &finding, a, other, error);
}

/* A life begins when the one before it has ended. */
static spad_status check_next_life(spad__order *o, const spad__action *end,
                                   const spad__action *init, spad_error *error) {
    bool before = true;
    const spad_status status =
        spad__ordered_before(&o->execution_order, end->point, init->point, &before, error);
    if (status != SPAD_OK || before) return status;
    o->open = true;
    return find_beside_life(o, init, "before", "invalidated; a barrier in between orders them", end,
                            error);
}

static spad_status check_after_init(spad__order *o, const spad__action *init, const spad__action *a,
                                    spad_error *error) {
    const int32_t previous = o->graph.points.items[a->point].previous;
    const int32_t reached = a->kind == SPAD__ACTION_PARITY ? previous : a->point;
    bool before = true;
    const spad_status status =
        spad__ordered_before(&o->execution_order, init->point, reached, &before, error);
    if (status != SPAD_OK || before) return status;
    o->open = true;
    return find_beside_life(o, a, "before", "initialised; a barrier in between orders them", init,
                            error);
}

static spad_status check_before_end(spad__order *o, const spad__action *use,
                                    const spad__action *end, spad_error *error) {
    bool before = true;
    const spad_status status =
        spad__ordered_before(&o->execution_order, use->point, end->point, &before, error);
    if (status != SPAD_OK || before) return status;
    /* No wait depends on an arrival that may be late: it would be late itself. */
    if (use->kind == SPAD__ACTION_PARITY) o->open = true;
    return find_beside_life(o, use, "when", "already invalidated", end, error);
}

/* Every use comes after the init and before the invalidate. */
static spad_status check_life(spad__order *o, int32_t object, spad_error *error) {
    spad_status status = SPAD_OK;
    int32_t begin = -1;
    int32_t over = -1;
    for (int32_t i = 0; i < spad__order_action_count(o, object) && status == SPAD_OK; i++) {
        const spad__action *a = spad__order_action(o, object, i);
        const bool ends = a->kind == SPAD__ACTION_INVALIDATE;
        if (a->kind == SPAD__ACTION_INIT) begin = i;
        if (begin == i && over >= 0)
            status = check_next_life(o, spad__order_action(o, object, over), a, error);
        if (ends) over = i;
        if (begin < 0 || begin == i || status != SPAD_OK) continue;
        status = check_after_init(o, spad__order_action(o, object, begin), a, error);
        for (int32_t j = begin + 1; ends && j < i && status == SPAD_OK; j++)
            status = check_before_end(o, spad__order_action(o, object, j), a, error);
    }
    return status;
}

/* ---- takes ------------------------------------------------------------------------- */

static spad_status find_takers(spad__order *o, const spad__action *a, const spad__action *b,
                               spad_error *error) {
    o->open = true;
    const spad__about text = spad__order_describe(o, b);
    spad_finding finding;
    spad__finding_init(
        &finding, SPAD_FINDING_SEVERAL_TAKERS,
        "%s and another may take from %s in any order; give each taker a counter of its own",
        text.event, text.object);
    return spad__order_find_at(o, &finding, b, a, error);
}

/* The most that a counter can have while a take is held back. */
static spad_status sum_without(spad__order *o, const spad__action *take, int64_t *sum,
                               spad_error *error) {
    const int32_t object = take->object;
    *sum = o->events.objects.items[object].count - (take->phase - take->amount);
    for (int32_t i = 0; i < spad__order_action_count(o, object); i++) {
        const spad__action *a = spad__order_action(o, object, i);
        if (a->kind != SPAD__ACTION_SIGNAL) continue;
        bool after;
        const spad_status status =
            spad__ordered_before(&o->execution_order, take->point, a->point, &after, error);
        if (status != SPAD_OK) return status;
        if (!after && !spad__add(*sum, a->amount, sum)) *sum = INT64_MAX;
    }
    return SPAD_OK;
}

/* May a take or wait pass before a take that is in front of it? It would have to be reached,
 * and find enough. `after`: the first action after the last such take. */
static spad_status check_early(spad__order *o, int32_t object, int32_t number, int32_t after,
                               spad_error *error) {
    const spad__action *b = spad__order_action(o, object, number);
    const int32_t reached = o->graph.points.items[b->point].previous;
    for (int32_t i = after - 1; i >= 0; i--) {
        const spad__action *a = spad__order_action(o, object, i);
        if (a->kind != SPAD__ACTION_TAKE) continue;
        bool before;
        int64_t sum = 0;
        spad_status status =
            spad__ordered_before(&o->execution_order, a->point, reached, &before, error);
        if (status != SPAD_OK || before) return status; /* older takes are further away */
        status = sum_without(o, a, &sum, error);
        if (status != SPAD_OK) return status;
        if (sum >= b->amount) return find_takers(o, a, b, error);
    }
    return SPAD_OK;
}

/* Is time up, at that number of an action? It is asked now and then. */
static bool is_late_at(const spad__order *o, int32_t number) {
    return number % ACTIONS_A_LOOK == ACTIONS_A_LOOK - 1 && spad__is_late(o->run);
}

/* Takes one after another, and waits in their places between them. */
static spad_status check_takes(spad__order *o, int32_t object, spad_error *error) {
    int32_t after = 0; /* first action after the last take */
    for (int32_t i = 0; i < spad__order_action_count(o, object); i++) {
        const spad__action *a = spad__order_action(o, object, i);
        const bool takes = a->kind == SPAD__ACTION_TAKE;
        if (is_late_at(o, i)) return SPAD_OK;
        if (!takes && a->kind != SPAD__ACTION_WAIT) continue;
        spad_status status = check_early(o, object, i, after, error);
        for (int32_t j = after; takes && j < i && status == SPAD_OK; j++) {
            const spad__action *b = spad__order_action(o, object, j);
            bool before = true;
            if (b->kind == SPAD__ACTION_WAIT) {
                status =
                    spad__ordered_before(&o->execution_order, b->point, a->point, &before, error);
            }
            if (status == SPAD_OK && !before) status = find_takers(o, b, a, error);
        }
        if (status != SPAD_OK) return status;
        if (takes) after = i + 1;
    }
    return SPAD_OK;
}

/* ---- all of them ------------------------------------------------------------------- */

static spad_status check_action(spad__order *o, int32_t object, int32_t number, spad_error *error) {
    const spad__action *a = spad__order_action(o, object, number);
    spad_status status = contributes(a) ? check_contribution(o, object, number, error) : SPAD_OK;
    if (status == SPAD_OK && a->kind == SPAD__ACTION_PARITY) {
        status = check_parity(o, object, number, error);
    }
    if (status == SPAD_OK && arrives(a)) status = check_watched(o, object, number, error);
    return status;
}

spad_status spad__find_phases(spad__order *o, spad_error *error) {
    for (int32_t object = 0; object < (int32_t)o->events.objects.count; object++) {
        const spad_sync_kind kind = o->events.objects.items[object].kind;
        spad_status status = SPAD_OK;
        for (int32_t i = 0; i < spad__order_action_count(o, object) && status == SPAD_OK; i++) {
            if (is_late_at(o, i)) return SPAD_OK;
            status = check_action(o, object, i, error);
        }
        if (status == SPAD_OK && kind == SPAD_SYNC_COUNTER) status = check_takes(o, object, error);
        if (status == SPAD_OK && kind == SPAD_SYNC_MBARRIER) {
            status = check_mbarrier(o, object, error);
        }
        if (status == SPAD_OK && kind == SPAD_SYNC_MBARRIER) status = check_life(o, object, error);
        if (status != SPAD_OK) return status;
    }
    return SPAD_OK;
}

/* ---- the end ----------------------------------------------------------------------- */

static bool is_taken(const spad__order *o, int32_t object) {
    for (int32_t i = 0; i < spad__order_action_count(o, object); i++) {
        if (spad__order_action(o, object, i)->kind == SPAD__ACTION_TAKE) return true;
    }
    return false;
}

static bool adds_to_sync(const spad_kernel *kernel, const spad_statement *s, int32_t sync) {
    if (s->kind == SPAD_STATEMENT_SYNC || s->kind == SPAD_STATEMENT_ARRIVE) return s->item == sync;
    if (s->kind != SPAD_STATEMENT_OPERATION) return false;
    for (size_t i = 0; i < s->completion_count; i++) {
        const spad_kernel_completion *c =
            spad_kernel_get_completion(kernel, s->first_completion + i);
        if (c->object == sync) return true;
    }
    return false;
}

/* Is there a statement in a loop that contributes to the object, and that this shape is too short
 * for: none of its events is there? */
static bool waits_for_more_phases(const spad__order *o, int32_t sync) {
    const spad_kernel *kernel = o->events.kernel;
    for (size_t i = 0; i < spad_kernel_statement_count(kernel); i++) {
        const spad_statement *s = spad_kernel_get_statement(kernel, i);
        if (s->loop < 0 || !adds_to_sync(kernel, s, sync)) continue;
        bool reached = false;
        for (size_t e = 0; e < o->events.items.count && !reached; e++) {
            reached = o->events.items.items[e].statement == (int64_t)i;
        }
        if (!reached) return true;
    }
    return false;
}

/* A barrier or mbarrier that was used before may end in the middle of a round: an arrival that
 * lets others go on, for a next tile that does not come. It is gone with the block. One that has
 * never completed a round was not used as it is meant, unless the rest of its first round comes
 * with tiles that this shape does not have; and bytes that are missing may still be under way. */
static spad_status find_leftover(spad__order *o, int32_t object, spad_error *error) {
    const spad__sync_object *s = &o->executor.objects[object].sync;
    const spad__object *row = &o->events.objects.items[object];
    const int32_t count = spad__order_action_count(o, object);
    if (count == 0) return SPAD_OK;
    const spad__action *last = spad__order_action(o, object, count - 1);
    const spad__about text = spad__order_describe(o, last);
    spad_finding finding;
    const int64_t left = s->value - row->count;
    const bool first = s->phase == (row->kind == SPAD_SYNC_MBARRIER ? s->base : 0);
    if (row->kind == SPAD_SYNC_COUNTER && left != 0 && is_taken(o, object)) {
        spad__finding_init(
            &finding, SPAD_FINDING_LEFTOVER,
            "%s ends at %lld and started at %lld; every signal needs a take, or the next "
            "kernel finds what is left",
            text.object, (long long)s->value, (long long)row->count);
    } else if (row->kind == SPAD_SYNC_BARRIER && s->value != 0 && first &&
               !waits_for_more_phases(o, row->sync)) {
        spad__finding_init(
            &finding, SPAD_FINDING_LEFTOVER,
            "%s ends with %lld of %lld contributions to a round that is never completed",
            text.object, (long long)s->value, (long long)row->count);
    } else if (row->kind == SPAD_SYNC_MBARRIER && s->live &&
               ((s->value != s->count && first && !waits_for_more_phases(o, row->sync)) ||
                s->bytes != 0)) {
        spad__finding_init(&finding, SPAD_FINDING_LEFTOVER,
                           "%s ends with a phase that lacks %s of %s arrivals and %s bytes",
                           text.object, spad__grouped(s->value).text, spad__grouped(s->count).text,
                           spad__grouped(s->bytes).text);
    } else {
        return SPAD_OK;
    }
    return spad__order_find_at(o, &finding, last, NULL, error);
}

/* Is the memory of a block that has ended given to another one? */
static bool blocks_share(const spad__order *o) {
    return spad_kernel_get_target(o->events.kernel)->max_groups > 0;
}

/* A copy of threads (cp.async) that nothing waits for: it writes to its own block, where nothing
 * reads it any more. */
static bool is_abandoned_copy(const spad__order *o, const spad__event *event) {
    return blocks_share(o) && event->completion_count == 0 && !spad__is_async(o, event);
}

static spad_status report_abandoned(spad__order *o, int32_t number, const char *tensor,
                                    spad_error *error) {
    char text[SPAD__PHRASE_MAX];
    spad_finding finding;
    spad__event_phrase(&o->events, &o->events.items.items[number], text);
    spad__finding_init(&finding, SPAD_FINDING_UNFINISHED,
                       "%s writes %s, and nothing waits for it or reads that: leave it out", text,
                       tensor);
    finding.severity = SPAD_SEVERITY_ADVICE;
    spad__finding_set_names(&finding, tensor, NULL);
    return spad__order_find(o, &finding, number, -1, error);
}

/* Where blocks share a unit of the chip, the memory of a block that has ended goes to another one,
 * and nothing in the PTX ISA keeps it for operations that still run. CUTLASS's sm_90 epilogue waits
 * for its last stores (tma_store_wait<0>). Elsewhere the next kernel may come too early. */
static spad_status report_unfinished(spad__order *o, int32_t number, const char *tensor,
                                     spad_error *error) {
    const bool shared = blocks_share(o);
    char text[SPAD__PHRASE_MAX];
    spad_finding finding;
    spad__event_phrase(&o->events, &o->events.items.items[number], text);
    spad__finding_init(&finding, SPAD_FINDING_UNFINISHED,
                       shared ? "nothing waits until %s is done with %s; the block may end before "
                                "it, and its memory goes to another block: wait for it"
                              : "nothing waits until %s is done with %s; the kernel may end before "
                                "it",
                       text, tensor);
    if (!shared) finding.severity = SPAD_SEVERITY_WARNING;
    spad__finding_set_names(&finding, tensor, NULL);
    return spad__order_find(o, &finding, number, -1, error);
}

/* Is a point over before an agent has ended? The points without an event are the begins and ends
 * of agents. */
static spad_status is_awaited(spad__order *o, const uint8_t *marks, int32_t point, bool *awaited,
                              spad_error *error) {
    *awaited = marks[point] == SPAD__AWAITED_SURELY;
    if (marks[point] != SPAD__AWAITED_PERHAPS) return SPAD_OK;
    for (size_t p = 0; p < o->graph.points.count && !*awaited; p++) {
        if (o->graph.points.items[p].event >= 0) continue;
        const spad_status status =
            spad__ordered_before(&o->execution_order, point, (int32_t)p, awaited, error);
        if (status != SPAD_OK) return status;
    }
    return SPAD_OK;
}

/* An operation on a unit whose use of on-chip bytes nothing waits for. */
static spad_status find_unfinished(spad__order *o, int32_t number, const uint8_t *marks,
                                   spad_error *error) {
    const spad__event *event = &o->events.items.items[number];
    const int32_t start = o->graph.start[number];
    const spad_target *target = spad_kernel_get_target(o->events.kernel);
    for (size_t i = 0; i < event->access_count; i++) {
        const spad_walk_access *access = &o->events.accesses.items[event->first_access + i];
        const spad_kernel_tensor *tensor =
            spad_kernel_get_tensor(o->events.kernel, (size_t)access->tensor);
        const bool writes = (access->kind & SPAD_ACCESS_WRITE) != 0;
        bool awaited = true;
        if (target->spaces[tensor->space].off_chip) continue;
        const spad_status status = is_awaited(o, marks, start + (writes ? 2 : 1), &awaited, error);
        if (status != SPAD_OK) return status;
        if (!awaited && writes && is_abandoned_copy(o, event))
            return report_abandoned(o, number, tensor->name, error);
        if (!awaited) return report_unfinished(o, number, tensor->name, error);
    }
    return SPAD_OK;
}

static spad_status find_all_unfinished(spad__order *o, spad_error *error) {
    const size_t count = (size_t)o->execution_order.points + 1;
    uint8_t *marks = spad__new_array(&o->graph.host, count, sizeof *marks);
    if (marks == NULL) return spad__fail_host_memory(error);
    spad__happens_before_mark_awaited(&o->execution_order, !blocks_share(o), marks);
    spad_status status = SPAD_OK;
    for (int32_t i = 0; i < (int32_t)o->events.items.count && status == SPAD_OK; i++) {
        if (o->events.items.items[i].kind != SPAD_WALK_OPERATION || o->graph.start[i] < 0) continue;
        status = find_unfinished(o, i, marks, error);
    }
    spad__free(&o->graph.host, marks, count);
    return status;
}

spad_status spad__find_leftovers(spad__order *o, spad_error *error) {
    for (int32_t object = 0; object < (int32_t)o->events.objects.count; object++) {
        const spad_status status = find_leftover(o, object, error);
        if (status != SPAD_OK) return status;
    }
    return find_all_unfinished(o, error);
}
