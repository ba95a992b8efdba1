/* SPDX-License-Identifier: Apache-2.0
 *
 * Barriers of warps, CTAs and clusters, fences, and instructions about time and registers.
 *
 * A warp's event of a barrier is made when its threads are released, for all of them that meet in
 * the same phase: a model that lets a warp wait once for all of its threads would block on the
 * first half of a diverged warp.
 *
 * Reference: PTX ISA 9.0, sections 9.7.13 (parallel synchronization), 9.7.20 (setmaxnreg).
 */
#include <string.h>

#include "frontend/ptx/run/ptx_async.h"
#include "frontend/ptx/run/ptx_decides.h"
#include "frontend/ptx/run/ptx_warp.h"

enum { BARRIER_WARP = SPAD__PTX_LANES, BARRIER_MOST_THREADS = 1024 };

/* ---- tickets of named barriers -----------------------------------------------------------------
 * ARRIVED: number, rounded, phase. RELEASED: number, rounded, endless, phase, unknown, false,
 * trues, expected, each from the bit below on. */

enum {
    BARRIER_AT_NUMBER = 52,
    BARRIER_AT_ROUNDED = 51,
    BARRIER_AT_ENDLESS = 50,
    BARRIER_AT_PHASE = 34,
    BARRIER_AT_UNKNOWN = 33,
    BARRIER_AT_FALSE = 32,
    BARRIER_AT_TRUES = 16
};

static uint64_t barrier_arrived_ticket(int64_t number, bool rounded, uint64_t phase) {
    return spad__ptx_ticket(SPAD__PTX_MARK_ARRIVED, (uint64_t)number << BARRIER_AT_NUMBER |
                                                        (uint64_t)rounded << BARRIER_AT_ROUNDED |
                                                        (phase & 0xffff));
}

/* A barrier of everyone counts warps: each that has a thread left is 32 of them. */
static int64_t barrier_threads_released(const spad__ptx_machine *m, int32_t cta,
                                        const spad__ptx_barrier *b) {
    int64_t threads = 0;
    if (!b->everyone) return b->expected;
    for (size_t n = 0; n < m->warps.count; n++) {
        const spad__ptx_warp *w = &m->warps.items[n];
        if (w->cta == cta && spad__ptx_live(w) != 0) threads += BARRIER_WARP;
    }
    return threads;
}

static uint64_t barrier_released_ticket(const spad__ptx_machine *m, int32_t cta, int64_t number,
                                        bool rounded) {
    const spad__ptx_barrier *b = &m->ctas[cta].barriers[number];
    return spad__ptx_ticket(SPAD__PTX_MARK_RELEASED,
                            (uint64_t)number << BARRIER_AT_NUMBER |
                                (uint64_t)(rounded || b->everyone) << BARRIER_AT_ROUNDED |
                                (b->phase & 0xffff) << BARRIER_AT_PHASE |
                                (uint64_t)b->red_unknown << BARRIER_AT_UNKNOWN |
                                (uint64_t)b->red_false << BARRIER_AT_FALSE |
                                ((uint64_t)b->red_true & 0xffff) << BARRIER_AT_TRUES |
                                ((uint64_t)barrier_threads_released(m, cta, b) & 0xffff));
}

static uint32_t barrier_with_ticket(const spad__ptx_warp *w, uint64_t ticket) {
    uint32_t found = 0;
    for (int lane = 0; lane < BARRIER_WARP; lane++) {
        if (w->ticket[lane] == ticket) found |= UINT32_C(1) << lane;
    }
    return found & w->arrived;
}

/* ---- named barriers --------------------------------------------------------------------------
 */

static void barrier_complete(spad__ptx_machine *m, int32_t cta, int64_t number) {
    spad__ptx_barrier *b = &m->ctas[cta].barriers[number];
    for (size_t n = 0; n < m->warps.count; n++) {
        spad__ptx_warp *w = &m->warps.items[n];
        if (w->cta != cta) continue;
        for (int rounded = 0; rounded < 2; rounded++) {
            const uint32_t lanes =
                barrier_with_ticket(w, barrier_arrived_ticket(number, rounded != 0, b->phase));
            if (lanes == 0) continue;
            spad__ptx_mark_lanes(w, lanes, barrier_released_ticket(m, cta, number, rounded != 0));
        }
    }
    *b = (spad__ptx_barrier){.phase = b->phase + 1};
    m->progress++;
}

static bool barrier_is_aligned(const spad__ptx_instruction *i) {
    switch (i->op) {
    case SPAD__PTX_OP_BARRIER_SYNC:
    case SPAD__PTX_OP_BARRIER_CTA_SYNC:
    case SPAD__PTX_OP_BARRIER_ARRIVE:
    case SPAD__PTX_OP_BARRIER_CTA_ARRIVE:
    case SPAD__PTX_OP_BARRIER_RED:
    case SPAD__PTX_OP_BARRIER_CTA_RED:
    case SPAD__PTX_OP_BARRIER_CLUSTER_ARRIVE:
    case SPAD__PTX_OP_BARRIER_CLUSTER_WAIT: return spad__ptx_has(i, SPAD__PTX_WORD_ALIGNED);
    default: return true;
    }
}

/* What threads of one warp ask of a barrier. */
typedef struct barrier_request {
    int64_t number;
    int64_t count;  /* 0: everyone */
    bool rounded;   /* threads of the warp that do not exist count as well */
    bool endless;   /* the threads are never released */
    uint32_t lanes; /* with the same number and count */
} barrier_request;

static int64_t barrier_amount_of(const barrier_request *r) {
    return r->rounded ? BARRIER_WARP : spad__ptx_lane_count(r->lanes);
}

static void barrier_check_request(spad__ptx_machine *m, spad__ptx_warp *w, barrier_request *r) {
    const int lane = spad__ptx_first_lane(r->lanes);
    if (r->number < 0 || r->number >= SPAD__PTX_BARRIERS) {
        spad__ptx_remark_at(m, w, SPAD__PTX_BAD_BARRIER, lane, 0, 0,
                            "barrier %lld: a CTA has 0 to 15", (long long)r->number);
        r->number = (int64_t)((uint64_t)r->number % SPAD__PTX_BARRIERS);
    }
    if (r->count % BARRIER_WARP != 0 || r->count < 0 || r->count > BARRIER_MOST_THREADS) {
        spad__ptx_remark_at(m, w, SPAD__PTX_BAD_BARRIER, lane, 0, 0,
                            "a count of %lld threads: use a multiple of 32 up to 1024",
                            (long long)r->count);
        r->count = r->count < 0 || r->count > BARRIER_MOST_THREADS ? 0 : r->count;
    }
}

/* The values of an operand for a barrier; lanes that do not know theirs get `assumed`. */
static void barrier_get_numbers(spad__ptx_machine *m, spad__ptx_warp *w,
                                const spad__ptx_operand *operand, uint32_t lanes, const char *what,
                                spad__ptx_value *out) {
    *out = (spad__ptx_value){0};
    if (operand == NULL) return;
    spad__ptx_get(m, w, operand, SPAD__PTX_U32, out);
    for (int lane = 0; lane < BARRIER_WARP; lane++) out->lanes[lane] &= UINT32_MAX;
    if ((lanes & ~out->known) != 0) {
        spad__ptx_remark_at(m, w, SPAD__PTX_UNKNOWN_OPERAND,
                            spad__ptx_first_lane(lanes & ~out->known), 0, 0,
                            "%s of the barrier is not known: taken as %s", what,
                            what[0] == 'n' ? "0" : "all threads");
    }
}

static barrier_request barrier_next_request(spad__ptx_machine *m, spad__ptx_warp *w,
                                            const spad__ptx_value *numbers,
                                            const spad__ptx_value *counts, bool counted,
                                            uint32_t *left) {
    const int first = spad__ptx_first_lane(*left);
    barrier_request r = {.number = (int64_t)numbers->lanes[first],
                         .count = (int64_t)counts->lanes[first]};
    for (uint32_t rest = *left; rest != 0; rest &= rest - 1) {
        const int lane = spad__ptx_first_lane(rest);
        if (numbers->lanes[lane] == numbers->lanes[first] &&
            counts->lanes[lane] == counts->lanes[first]) {
            r.lanes |= UINT32_C(1) << lane;
        }
    }
    *left &= ~r.lanes;
    barrier_check_request(m, w, &r);
    r.rounded = counted && r.lanes == spad__ptx_live(w) && r.count != 0;
    return r;
}

static void barrier_arrive_at(spad__ptx_machine *m, spad__ptx_warp *w, const barrier_request *r) {
    spad__ptx_barrier *b = &m->ctas[w->cta].barriers[r->number];
    const int64_t expected = r->count != 0 ? r->count : spad__ptx_live_threads(m, w->cta);
    if (b->expected == 0) {
        b->expected = expected;
        b->everyone = r->count == 0;
    } else if (b->expected != expected) {
        spad__ptx_remark_at(m, w, SPAD__PTX_BAD_BARRIER, spad__ptx_first_lane(r->lanes), 0, 0,
                            "barrier %lld is for %lld threads here, and %lld threads elsewhere",
                            (long long)r->number, (long long)expected, (long long)b->expected);
    }
    b->arrived += barrier_amount_of(r);
    m->progress++;
}

static void barrier_complete_if_full(spad__ptx_machine *m, int32_t cta, int64_t number) {
    const spad__ptx_barrier *b = &m->ctas[cta].barriers[number];
    if (b->expected > 0 && b->arrived >= b->expected) barrier_complete(m, cta, number);
}

/* Operands of one instruction: [destination,] number [, count] [, predicate]. */
typedef struct barrier_operands {
    const spad__ptx_operand *number;
    const spad__ptx_operand *count;
    const spad__ptx_operand *predicate;
} barrier_operands;

static barrier_operands barrier_operands_of(const spad__ptx_machine *m,
                                            const spad__ptx_instruction *i, bool reduces) {
    barrier_operands o = {0};
    if (reduces) {
        o.number = spad__ptx_operand_at(m, i, 1);
        if (i->count > 3) o.count = spad__ptx_operand_at(m, i, 2);
        o.predicate = spad__ptx_operand_at(m, i, i->count - 1);
    } else {
        o.number = spad__ptx_operand_at(m, i, 0);
        o.count = spad__ptx_operand_at(m, i, 1);
    }
    return o;
}

static void barrier_reduce(spad__ptx_machine *m, spad__ptx_warp *w,
                           const spad__ptx_operand *predicate, const barrier_request *r) {
    spad__ptx_barrier *b = &m->ctas[w->cta].barriers[r->number];
    spad__ptx_value value;
    if (predicate == NULL) return;
    spad__ptx_get(m, w, predicate, SPAD__PTX_PRED, &value);
    if ((r->lanes & ~value.known) != 0) b->red_unknown = true;
    for (uint32_t left = r->lanes & value.known; left != 0; left &= left - 1) {
        const bool is_true = (value.lanes[spad__ptx_first_lane(left)] & 1) != 0;
        if (is_true) b->red_true++;
        if (!is_true) b->red_false = true;
    }
}

static void barrier_arrive_to_wait(spad__ptx_machine *m, spad__ptx_warp *w,
                                   const barrier_operands *o, uint32_t lanes) {
    spad__ptx_value numbers;
    spad__ptx_value counts;
    barrier_get_numbers(m, w, o->number, lanes, "number", &numbers);
    barrier_get_numbers(m, w, o->count, lanes, "count", &counts);
    for (uint32_t left = lanes; left != 0;) {
        const barrier_request r =
            barrier_next_request(m, w, &numbers, &counts, o->count != NULL, &left);
        barrier_arrive_at(m, w, &r);
        barrier_reduce(m, w, o->predicate, &r);
        const spad__ptx_barrier *b = &m->ctas[w->cta].barriers[r.number];
        spad__ptx_mark_lanes(w, r.lanes, barrier_arrived_ticket(r.number, r.rounded, b->phase));
        barrier_complete_if_full(m, w->cta, r.number);
    }
}

/* The result of bar.red for lanes that a ticket released. */
static void barrier_set_reduction(spad__ptx_machine *m, spad__ptx_warp *w,
                                  const spad__ptx_instruction *i, uint32_t lanes, uint64_t ticket) {
    spad__ptx_value value = {0};
    uint64_t result = ticket >> BARRIER_AT_TRUES & 0xffff;
    if (spad__ptx_has(i, SPAD__PTX_WORD_AND)) result = (ticket >> BARRIER_AT_FALSE & 1) == 0;
    if (spad__ptx_has(i, SPAD__PTX_WORD_OR)) result = result != 0;
    if ((ticket >> BARRIER_AT_UNKNOWN & 1) == 0) value.known = lanes;
    for (uint32_t left = value.known; left != 0; left &= left - 1) {
        value.lanes[spad__ptx_first_lane(left)] = result;
    }
    spad__ptx_set(m, w, spad__ptx_operand_at(m, i, 0), lanes, &value);
}

static spad__ptx_outcome barrier_report(spad__ptx_machine *m, spad__ptx_warp *w,
                                        spad__ptx_event_kind kind, const barrier_request *r) {
    spad__ptx_event *event = spad__ptx_begin_event(m, w, r->lanes, kind);
    event->object = (spad__ptx_object){.cta = w->cta, .byte = r->number};
    event->amount = barrier_amount_of(r);
    event->count = r->count;
    event->endless = r->endless;
    return spad__ptx_end_event(m);
}

/* Makes the events of lanes that were released. */
static spad__ptx_outcome barrier_report_released(spad__ptx_machine *m, spad__ptx_warp *w,
                                                 const spad__ptx_instruction *i, bool reduces,
                                                 uint32_t lanes) {
    for (uint32_t left = lanes; left != 0;) {
        const int lane = spad__ptx_first_lane(left);
        const uint64_t ticket = w->ticket[lane];
        const uint32_t same = barrier_with_ticket(w, ticket);
        if (reduces) barrier_set_reduction(m, w, i, same & lanes, ticket);
        left &= ~same;
        if (spad__ptx_mark_of(w, lane) != SPAD__PTX_MARK_RELEASED) continue;
        const barrier_request r = {.number = (int64_t)(ticket >> BARRIER_AT_NUMBER & 15),
                                   .count = (int64_t)(ticket & 0xffff),
                                   .rounded = (ticket >> BARRIER_AT_ROUNDED & 1) != 0,
                                   .endless = (ticket >> BARRIER_AT_ENDLESS & 1) != 0,
                                   .lanes = same};
        const uint64_t reported = spad__ptx_ticket(SPAD__PTX_MARK_REPORTED, ticket);
        spad__ptx_mark_lanes(w, same, reported);
        if (barrier_report(m, w, SPAD__PTX_BARRIER_SYNC, &r) != SPAD__PTX_DONE)
            return SPAD__PTX_FAILED;
    }
    return SPAD__PTX_DONE;
}

static uint32_t barrier_marked(const spad__ptx_warp *w, uint32_t lanes, spad__ptx_mark mark) {
    uint32_t found = 0;
    for (uint32_t left = lanes & w->arrived; left != 0; left &= left - 1) {
        const int lane = spad__ptx_first_lane(left);
        if (spad__ptx_mark_of(w, lane) == mark) found |= UINT32_C(1) << lane;
    }
    return found;
}

/* Nobody will release the lanes: their event says what they wait for, and they go on. */
static void barrier_release_endless(spad__ptx_machine *m, spad__ptx_warp *w, uint32_t lanes) {
    for (uint32_t left = barrier_marked(w, lanes, SPAD__PTX_MARK_ARRIVED); left != 0;) {
        const uint64_t ticket = w->ticket[spad__ptx_first_lane(left)];
        const int64_t number = (int64_t)(ticket >> BARRIER_AT_NUMBER & 15);
        spad__ptx_barrier *b = &m->ctas[w->cta].barriers[number];
        const uint32_t same = barrier_with_ticket(w, ticket);
        const bool rounded = (ticket >> BARRIER_AT_ROUNDED & 1) != 0;
        spad__ptx_mark_lanes(w, same,
                             barrier_released_ticket(m, w->cta, number, rounded) |
                                 UINT64_C(1) << BARRIER_AT_ENDLESS);
        b->arrived -= rounded ? BARRIER_WARP : spad__ptx_lane_count(same);
        if (b->arrived <= 0) *b = (spad__ptx_barrier){.phase = b->phase};
        left &= ~same;
    }
}

static spad__ptx_outcome barrier_run_sync(spad__ptx_machine *m, spad__ptx_warp *w,
                                          const spad__ptx_instruction *i, uint32_t lanes,
                                          bool reduces) {
    const uint32_t fresh = lanes & ~w->arrived;
    if (fresh != 0) {
        if (barrier_is_aligned(i) && spad__ptx_gather(m, w, lanes) == SPAD__PTX_BLOCKED) {
            return SPAD__PTX_BLOCKED;
        }
        const barrier_operands o = barrier_operands_of(m, i, reduces);
        barrier_arrive_to_wait(m, w, &o, fresh);
    }
    if (m->endless) barrier_release_endless(m, w, lanes);
    const uint32_t released = barrier_marked(w, lanes, SPAD__PTX_MARK_RELEASED) |
                              barrier_marked(w, lanes, SPAD__PTX_MARK_REPORTED);
    if (barrier_report_released(m, w, i, reduces, released) != SPAD__PTX_DONE)
        return SPAD__PTX_FAILED;
    return spad__ptx_release(m, w, lanes, released);
}

static spad__ptx_outcome barrier_run_plain_sync(spad__ptx_machine *m, spad__ptx_warp *w,
                                                const spad__ptx_instruction *i, uint32_t lanes) {
    return barrier_run_sync(m, w, i, lanes, false);
}

static spad__ptx_outcome barrier_run_reduction(spad__ptx_machine *m, spad__ptx_warp *w,
                                               const spad__ptx_instruction *i, uint32_t lanes) {
    return barrier_run_sync(m, w, i, lanes, true);
}

static spad__ptx_outcome barrier_run_arrive(spad__ptx_machine *m, spad__ptx_warp *w,
                                            const spad__ptx_instruction *i, uint32_t lanes) {
    if (barrier_is_aligned(i) && spad__ptx_gather(m, w, lanes) == SPAD__PTX_BLOCKED) {
        return SPAD__PTX_BLOCKED;
    }
    const barrier_operands o = barrier_operands_of(m, i, false);
    spad__ptx_value numbers;
    spad__ptx_value counts;
    barrier_get_numbers(m, w, o.number, lanes, "number", &numbers);
    barrier_get_numbers(m, w, o.count, lanes, "count", &counts);
    for (uint32_t left = lanes; left != 0;) {
        barrier_request r = barrier_next_request(m, w, &numbers, &counts, o.count != NULL, &left);
        barrier_arrive_at(m, w, &r);
        r.count = m->ctas[w->cta].barriers[r.number].expected;
        barrier_complete_if_full(m, w->cta, r.number);
        if (barrier_report(m, w, SPAD__PTX_BARRIER_ARRIVE, &r) != SPAD__PTX_DONE)
            return SPAD__PTX_FAILED;
    }
    return SPAD__PTX_DONE;
}

/* ---- barriers of a warp ----------------------------------------------------------------------
 */

/* Releases the lanes of one mask, if all of them have come. */
static spad__ptx_outcome barrier_meet_warp(spad__ptx_machine *m, spad__ptx_warp *w, uint32_t mask,
                                           uint32_t lanes) {
    const uint64_t ticket = spad__ptx_ticket(SPAD__PTX_MARK_WARP, mask);
    spad__ptx_mark_lanes(w, lanes, ticket);
    const uint32_t here = barrier_with_ticket(w, ticket);
    const uint32_t missing = mask & spad__ptx_live(w) & ~here;
    if (missing != 0 && !spad__ptx_gives_up(m)) return SPAD__PTX_DONE;
    if (missing != 0) {
        spad__ptx_remark_at(m, w, SPAD__PTX_DIVERGED, spad__ptx_first_lane(lanes), 0, 0,
                            "%d threads of the mask never come here",
                            (int)spad__ptx_lane_count(missing));
    }
    spad__ptx_mark_lanes(w, here, spad__ptx_ticket(SPAD__PTX_MARK_REPORTED, 0));
    m->progress++;
    (void)spad__ptx_begin_event(m, w, here, SPAD__PTX_WARP_SYNC);
    return spad__ptx_end_event(m);
}

static spad__ptx_outcome barrier_run_warp_sync(spad__ptx_machine *m, spad__ptx_warp *w,
                                               const spad__ptx_instruction *i, uint32_t lanes) {
    spad__ptx_value masks;
    spad__ptx_get(m, w, spad__ptx_operand_at(m, i, 0), SPAD__PTX_B32, &masks);
    uint32_t left = lanes & ~barrier_marked(w, lanes, SPAD__PTX_MARK_REPORTED);
    const uint32_t unknown = left & ~masks.known;
    if (unknown != 0) {
        spad__ptx_remark_at(m, w, SPAD__PTX_UNKNOWN_OPERAND, spad__ptx_first_lane(unknown), 0, 0,
                            "the mask is not known: taken as all threads that are here");
    }
    spad__ptx_check_mask(m, w, &masks, left);
    while (left != 0) {
        const int first = spad__ptx_first_lane(left);
        const bool known = (masks.known >> first & 1) != 0;
        uint32_t same = 0;
        for (uint32_t rest = left; rest != 0; rest &= rest - 1) {
            const int lane = spad__ptx_first_lane(rest);
            if (masks.lanes[lane] == masks.lanes[first]) same |= UINT32_C(1) << lane;
        }
        left &= ~same;
        const uint32_t mask = known ? (uint32_t)masks.lanes[first] : same;
        if (barrier_meet_warp(m, w, mask, same) != SPAD__PTX_DONE) return SPAD__PTX_FAILED;
    }
    return spad__ptx_release(m, w, lanes, barrier_marked(w, lanes, SPAD__PTX_MARK_REPORTED));
}

/* ---- barriers of a cluster -------------------------------------------------------------------
 */

static void barrier_complete_cluster_if_full(spad__ptx_machine *m) {
    spad__ptx_barrier *b = &m->cluster_barrier;
    if (b->arrived == 0 || b->arrived < spad__ptx_live_threads(m, -1)) return;
    for (size_t n = 0; n < m->warps.count; n++) {
        spad__ptx_warp *w = &m->warps.items[n];
        w->cluster_ready |= w->cluster_arrived;
        w->cluster_arrived = 0;
    }
    b->arrived = 0;
    b->phase++;
    m->progress++;
}

static spad__ptx_outcome barrier_run_cluster_arrive(spad__ptx_machine *m, spad__ptx_warp *w,
                                                    const spad__ptx_instruction *i,
                                                    uint32_t lanes) {
    if (barrier_is_aligned(i) && spad__ptx_gather(m, w, lanes) == SPAD__PTX_BLOCKED) {
        return SPAD__PTX_BLOCKED;
    }
    const uint32_t twice = lanes & (w->cluster_arrived | w->cluster_ready);
    if (twice != 0) {
        spad__ptx_remark_at(m, w, SPAD__PTX_BAD_BARRIER, spad__ptx_first_lane(twice), 0, 0,
                            "a second barrier.cluster.arrive without a wait between");
    }
    m->cluster_barrier.arrived += spad__ptx_lane_count(lanes & ~w->cluster_arrived);
    w->cluster_arrived |= lanes;
    w->cluster_ready &= ~lanes;
    m->progress++;
    barrier_complete_cluster_if_full(m);
    spad__ptx_event *event = spad__ptx_begin_event(m, w, lanes, SPAD__PTX_CLUSTER_ARRIVE);
    event->amount = spad__ptx_lane_count(lanes);
    event->relaxed = spad__ptx_has(i, SPAD__PTX_WORD_RELAXED);
    return spad__ptx_end_event(m);
}

static spad__ptx_outcome barrier_run_cluster_wait(spad__ptx_machine *m, spad__ptx_warp *w,
                                                  const spad__ptx_instruction *i, uint32_t lanes) {
    /* The phase first: lanes that give up the rest of their warp would do so again at each try. */
    const uint32_t open = lanes & w->cluster_arrived;
    if (open != 0 && !m->endless) return SPAD__PTX_BLOCKED;
    if (barrier_is_aligned(i) && spad__ptx_gather(m, w, lanes) == SPAD__PTX_BLOCKED) {
        return SPAD__PTX_BLOCKED;
    }
    if (open != 0) {
        m->cluster_barrier.arrived -= spad__ptx_lane_count(open);
        w->cluster_arrived &= ~open;
    }
    const uint32_t without = lanes & ~open & ~w->cluster_ready;
    if (without != 0) {
        spad__ptx_remark_at(m, w, SPAD__PTX_BAD_BARRIER, spad__ptx_first_lane(without), 0, 0,
                            "barrier.cluster.wait without an arrive before it");
    }
    w->cluster_ready &= ~lanes;
    spad__ptx_event *event = spad__ptx_begin_event(m, w, lanes, SPAD__PTX_CLUSTER_WAIT);
    event->amount = spad__ptx_lane_count(lanes);
    event->endless = open != 0;
    return spad__ptx_end_event(m);
}

void spad__ptx_leave_barriers(spad__ptx_machine *m, spad__ptx_warp *w) {
    const uint32_t gone = w->cluster_arrived & w->exited;
    m->cluster_barrier.arrived -= spad__ptx_lane_count(gone);
    w->cluster_arrived &= ~gone;
    barrier_complete_cluster_if_full(m);
    for (int64_t number = 0; number < SPAD__PTX_BARRIERS; number++) {
        spad__ptx_barrier *b = &m->ctas[w->cta].barriers[number];
        if (b->expected == 0 || !b->everyone) continue;
        b->expected = spad__ptx_live_threads(m, w->cta);
        barrier_complete_if_full(m, w->cta, number);
    }
    m->progress++;
}

/* ---- fences and others -----------------------------------------------------------------------
 */

/* The memory that a proxy fence is for, however it is spelled; NO_SPACE: all. */
static spad__ptx_space barrier_fenced_space(const spad__ptx_instruction *i) {
    if (spad__ptx_has(i, SPAD__PTX_WORD_ASYNC_GLOBAL)) return SPAD__PTX_GLOBAL;
    if (spad__ptx_has(i, SPAD__PTX_WORD_ASYNC_SHARED_CTA) ||
        spad__ptx_has(i, SPAD__PTX_WORD_ASYNC_SHARED_CLUSTER) ||
        spad__ptx_has(i, SPAD__PTX_WORD_SYNC_RESTRICT_CTA) ||
        spad__ptx_has(i, SPAD__PTX_WORD_SYNC_RESTRICT_CLUSTER)) {
        return SPAD__PTX_SHARED;
    }
    return i->space == SPAD__PTX_SHARED_CLUSTER ? SPAD__PTX_SHARED : (spad__ptx_space)i->space;
}

static spad__ptx_outcome barrier_run_fence_proxy(spad__ptx_machine *m, spad__ptx_warp *w,
                                                 const spad__ptx_instruction *i, uint32_t lanes) {
    const spad__ptx_space space = barrier_fenced_space(i);
    if (space == SPAD__PTX_SHARED) {
        return spad__ptx_fence_event(m, w, lanes, SPAD__PTX_FENCE_PROXY_SHARED);
    }
    if (space == SPAD__PTX_GLOBAL) {
        return spad__ptx_fence_event(m, w, lanes, SPAD__PTX_FENCE_PROXY_GLOBAL);
    }
    if (spad__ptx_has(i, SPAD__PTX_WORD_ASYNC) || spad__ptx_has(i, SPAD__PTX_WORD_ASYNC_GENERIC)) {
        return spad__ptx_fence_event(m, w, lanes, SPAD__PTX_FENCE_PROXY);
    }
    return SPAD__PTX_DONE; /* .alias, .tensormap: about other addresses, and tensor maps */
}

static spad__ptx_outcome barrier_run_fence(spad__ptx_machine *m, spad__ptx_warp *w,
                                           const spad__ptx_instruction *i, uint32_t lanes) {
    if (i->op == SPAD__PTX_OP_FENCE_PROXY) return barrier_run_fence_proxy(m, w, i, lanes);
    if (i->op == SPAD__PTX_OP_FENCE_MBARRIER_INIT)
        return spad__ptx_fence_event(m, w, lanes, SPAD__PTX_FENCE_INIT);
    spad__ptx_event *event = spad__ptx_begin_event(m, w, lanes, SPAD__PTX_FENCE);
    event->fence = SPAD__PTX_FENCE_THREADS;
    event->order = (uint8_t)spad__ptx_order_of(i);
    return spad__ptx_end_event(m);
}

static spad__ptx_outcome barrier_run_registers(spad__ptx_machine *m, spad__ptx_warp *w,
                                               const spad__ptx_instruction *i, uint32_t lanes) {
    if (spad__ptx_gather(m, w, lanes) == SPAD__PTX_BLOCKED) return SPAD__PTX_BLOCKED;
    const int64_t count =
        spad__ptx_number(m, w, spad__ptx_operand_at(m, i, 0), lanes, 0, "the number of registers");
    w->registers = count;
    spad__ptx_event *event = spad__ptx_begin_event(m, w, lanes, SPAD__PTX_REGISTERS);
    event->count = count;
    event->amount = spad__ptx_has(i, SPAD__PTX_WORD_INC) ? 1 : -1;
    return spad__ptx_end_event(m);
}

static spad__ptx_runs *barrier_kind(spad__ptx_op op) {
    switch (op) {
    case SPAD__PTX_OP_BAR_ARRIVE:
    case SPAD__PTX_OP_BAR_CTA_ARRIVE:
    case SPAD__PTX_OP_BARRIER_ARRIVE:
    case SPAD__PTX_OP_BARRIER_CTA_ARRIVE: return barrier_run_arrive;
    case SPAD__PTX_OP_BAR_RED:
    case SPAD__PTX_OP_BAR_CTA_RED:
    case SPAD__PTX_OP_BARRIER_RED:
    case SPAD__PTX_OP_BARRIER_CTA_RED: return barrier_run_reduction;
    case SPAD__PTX_OP_BAR_WARP_SYNC: return barrier_run_warp_sync;
    case SPAD__PTX_OP_BARRIER_CLUSTER_ARRIVE: return barrier_run_cluster_arrive;
    case SPAD__PTX_OP_BARRIER_CLUSTER_WAIT: return barrier_run_cluster_wait;
    default: return barrier_run_plain_sync;
    }
}

spad__ptx_outcome spad__ptx_run_barrier(spad__ptx_machine *m, spad__ptx_warp *w,
                                        const spad__ptx_instruction *i, uint32_t lanes) {
    switch (i->op) {
    case SPAD__PTX_OP_FENCE:
    case SPAD__PTX_OP_MEMBAR:
    case SPAD__PTX_OP_FENCE_PROXY:
    case SPAD__PTX_OP_FENCE_MBARRIER_INIT: return barrier_run_fence(m, w, i, lanes);
    case SPAD__PTX_OP_SETMAXNREG: return barrier_run_registers(m, w, i, lanes);
    case SPAD__PTX_OP_GRIDDEPCONTROL:
    case SPAD__PTX_OP_NANOSLEEP: return SPAD__PTX_DONE;
    default: return barrier_kind(i->op)(m, w, i, lanes);
    }
}
