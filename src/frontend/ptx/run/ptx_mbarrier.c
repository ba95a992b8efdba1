/* SPDX-License-Identifier: Apache-2.0
 *
 * mbarriers: objects in shared memory that count arrivals and bytes, phase after phase.
 *
 * The bytes of an object are not data: reading them gives unknown values. The state that an arrival
 * returns is ours: the phase and the arrivals that were pending before.
 *
 * A wait that a program repeats until it is true blocks. Any other wait is a peek, whose answer the
 * caller of the executor chooses: true waits for the phase, unless everything else waits as well.
 * From then on the warp hurries: others make one event at a time while it can go on, so that it
 * peeks early. A parity that is wrong is the right one of the phase before, and true only then.
 *
 * Reference: PTX ISA 9.0, section 9.7.13.15 (mbarrier).
 */
#include "frontend/ptx/run/ptx_async.h"

enum {
    MBARRIER_OBJECT_BYTES = 8,
    MBARRIER_PENDING_BITS = 20, /* a count is below 2^20 */
    MBARRIER_MOST_ARRIVALS = (1 << 20) - 1,
    MBARRIER_SPIN_TURNS = 8 /* peeks in a row, with nothing in between, that make a loop */
};

/* ---- objects --------------------------------------------------------------------------------- */

spad__ptx_mbarrier *spad__ptx_find_mbarrier(spad__ptx_machine *m, int32_t cta, int64_t byte) {
    for (size_t n = 0; n < m->mbarriers.count; n++) {
        spad__ptx_mbarrier *b = &m->mbarriers.items[n];
        if (b->byte == byte && b->cta == cta) return b->valid ? b : NULL;
    }
    return NULL;
}

static spad__ptx_mbarrier *mbarrier_add(spad__ptx_machine *m, int32_t cta, int64_t byte) {
    for (size_t n = 0; n < m->mbarriers.count; n++) {
        spad__ptx_mbarrier *b = &m->mbarriers.items[n];
        if (b->byte == byte && b->cta == cta) return b;
    }
    if (!spad__array_reserve(m->host, &m->mbarriers, 1)) {
        (void)spad__ptx_no_memory(m);
        return NULL;
    }
    spad__ptx_mbarrier *b = &m->mbarriers.items[m->mbarriers.count++];
    *b = (spad__ptx_mbarrier){.cta = cta, .byte = byte};
    return b;
}

static void mbarrier_complete_if_done(spad__ptx_mbarrier *b) {
    if (b->pending > 0 || b->bytes != 0) return;
    b->phase++;
    b->pending = b->count;
}

void spad__ptx_deliver(spad__ptx_machine *m, spad__ptx_mbarrier *b, int64_t bytes) {
    b->bytes -= bytes;
    m->progress++;
    mbarrier_complete_if_done(b);
}

void spad__ptx_expect(spad__ptx_machine *m, spad__ptx_mbarrier *b, int64_t bytes) {
    const bool early = b->bytes < 0; /* they were delivered before they were expected */
    b->bytes += bytes;
    m->progress++;
    if (early) mbarrier_complete_if_done(b);
}

void spad__ptx_arrive(spad__ptx_machine *m, spad__ptx_mbarrier *b, int64_t arrivals) {
    m->progress++;
    while (arrivals > 0) {
        const int64_t now = arrivals < b->pending ? arrivals : b->pending;
        if (now == 0) return; /* more arrivals than the phase has: the log says so */
        b->pending -= now;
        arrivals -= now;
        mbarrier_complete_if_done(b);
    }
}

static uint64_t mbarrier_state_of(const spad__ptx_mbarrier *b) {
    return (uint64_t)b->phase << MBARRIER_PENDING_BITS | (uint64_t)b->pending;
}

/* ---- life ------------------------------------------------------------------------------------ */

static spad__ptx_event *mbarrier_begin(spad__ptx_machine *m, const spad__ptx_warp *w,
                                       uint32_t lanes, spad__ptx_event_kind kind,
                                       spad__ptx_place place) {
    spad__ptx_event *event = spad__ptx_begin_event(m, w, lanes, kind);
    event->object = spad__ptx_object_at(place);
    return event;
}

static void mbarrier_get_objects(spad__ptx_machine *m, spad__ptx_warp *w,
                                 const spad__ptx_instruction *i, uint32_t lanes,
                                 spad__ptx_places *out) {
    const int32_t at = spad__ptx_find_operand(m, i, SPAD__PTX_ADDRESS, 0);
    spad__ptx_get_shared(m, w, spad__ptx_operand_at(m, i, at < 0 ? i->count : at), i->space, lanes,
                         MBARRIER_OBJECT_BYTES, out);
    for (uint32_t left = out->known; left != 0; left &= left - 1) {
        const int lane = spad__ptx_first_lane(left);
        if (out->at[lane].offset % MBARRIER_OBJECT_BYTES == 0) continue;
        spad__ptx_remark_at(m, w, SPAD__PTX_MISALIGNED, lane, (uint64_t)out->at[lane].offset,
                            MBARRIER_OBJECT_BYTES, "an mbarrier is not at a multiple of 8 bytes");
    }
}

/* The operand after the address; NULL: none. */
static const spad__ptx_operand *mbarrier_after_address(const spad__ptx_machine *m,
                                                       const spad__ptx_instruction *i) {
    const int32_t at = spad__ptx_find_operand(m, i, SPAD__PTX_ADDRESS, 0);
    return at < 0 ? NULL : spad__ptx_operand_at(m, i, at + 1);
}

static spad__ptx_outcome mbarrier_init_one(spad__ptx_machine *m, spad__ptx_warp *w,
                                           const spad__ptx_instruction *i, uint32_t lanes,
                                           spad__ptx_place place) {
    int64_t count = spad__ptx_number(m, w, mbarrier_after_address(m, i), lanes, 1, "the count");
    if (count < 1 || count > MBARRIER_MOST_ARRIVALS) {
        spad__ptx_remark_at(m, w, SPAD__PTX_BAD_BARRIER, spad__ptx_first_lane(lanes), 0, 0,
                            "an mbarrier that counts %lld arrivals: use 1 to %d", (long long)count,
                            MBARRIER_MOST_ARRIVALS);
        count = 1;
    }
    spad__ptx_mbarrier *b = mbarrier_add(m, place.cta, place.offset);
    if (b == NULL) return SPAD__PTX_FAILED;
    *b = (spad__ptx_mbarrier){
        .cta = place.cta, .byte = place.offset, .valid = true, .count = count, .pending = count};
    spad__ptx_forget_bytes(m, place, MBARRIER_OBJECT_BYTES);
    m->progress++;
    mbarrier_begin(m, w, lanes, SPAD__PTX_MBARRIER_INIT, place)->count = count;
    return spad__ptx_end_event(m);
}

static spad__ptx_outcome mbarrier_invalidate_one(spad__ptx_machine *m, spad__ptx_warp *w,
                                                 const spad__ptx_instruction *i, uint32_t lanes,
                                                 spad__ptx_place place) {
    spad__ptx_mbarrier *b = spad__ptx_find_mbarrier(m, place.cta, place.offset);
    (void)i;
    if (b != NULL) b->valid = false;
    (void)mbarrier_begin(m, w, lanes, SPAD__PTX_MBARRIER_INVALIDATE, place);
    return spad__ptx_end_event(m);
}

/* ---- bytes and arrivals ---------------------------------------------------------------------- */

/* The sum of an operand over lanes. Lanes that do not know theirs count as `assumed`. */
static int64_t mbarrier_sum(spad__ptx_machine *m, spad__ptx_warp *w,
                            const spad__ptx_operand *operand, uint32_t lanes, int64_t assumed,
                            const char *what) {
    spad__ptx_value value;
    if (operand == NULL) return assumed * spad__ptx_lane_count(lanes);
    spad__ptx_get(m, w, operand, SPAD__PTX_U32, &value);
    const uint32_t unknown = lanes & ~value.known;
    if (unknown != 0) {
        spad__ptx_remark_at(m, w, SPAD__PTX_UNKNOWN_OPERAND, spad__ptx_first_lane(unknown), 0, 0,
                            "%s is not known: taken as %lld", what, (long long)assumed);
    }
    int64_t total = assumed * spad__ptx_lane_count(unknown);
    for (uint32_t left = lanes & value.known; left != 0; left &= left - 1) {
        total += (int64_t)(value.lanes[spad__ptx_first_lane(left)] & UINT32_MAX);
    }
    return total;
}

static spad__ptx_outcome mbarrier_expect_one(spad__ptx_machine *m, spad__ptx_warp *w,
                                             const spad__ptx_instruction *i, uint32_t lanes,
                                             spad__ptx_place place) {
    const bool completes = i->op == SPAD__PTX_OP_MBARRIER_COMPLETE_TX;
    const int64_t bytes =
        mbarrier_sum(m, w, mbarrier_after_address(m, i), lanes, 0, "the number of bytes");
    spad__ptx_mbarrier *b = spad__ptx_find_mbarrier(m, place.cta, place.offset);
    if (b != NULL && completes) spad__ptx_deliver(m, b, bytes);
    if (b != NULL && !completes) spad__ptx_expect(m, b, bytes);
    spad__ptx_event *event = mbarrier_begin(
        m, w, lanes, completes ? SPAD__PTX_MBARRIER_COMPLETE : SPAD__PTX_MBARRIER_EXPECT, place);
    event->bytes = bytes;
    event->relaxed = spad__ptx_has(i, SPAD__PTX_WORD_RELAXED);
    return spad__ptx_end_event(m);
}

/* The state that the lanes get: as if they arrived one after another. */
static void mbarrier_set_states(spad__ptx_machine *m, spad__ptx_warp *w,
                                const spad__ptx_instruction *i, uint32_t lanes,
                                const spad__ptx_mbarrier *before, int64_t each) {
    const spad__ptx_operand *result = spad__ptx_operand_at(m, i, 0);
    spad__ptx_value value = {0};
    if (result == NULL || result->kind != SPAD__PTX_REGISTER) return;
    if (before != NULL) {
        spad__ptx_mbarrier b = *before;
        const int64_t progress = m->progress;
        value.known = lanes;
        for (uint32_t left = lanes; left != 0; left &= left - 1) {
            value.lanes[spad__ptx_first_lane(left)] = mbarrier_state_of(&b);
            spad__ptx_arrive(m, &b, each);
        }
        m->progress = progress;
    }
    spad__ptx_set(m, w, result, lanes, &value);
}

static spad__ptx_outcome mbarrier_arrive_one(spad__ptx_machine *m, spad__ptx_warp *w,
                                             const spad__ptx_instruction *i, uint32_t lanes,
                                             spad__ptx_place place) {
    const spad__ptx_operand *number = mbarrier_after_address(m, i);
    const bool expects = spad__ptx_has(i, SPAD__PTX_WORD_EXPECT_TX);
    const bool drops = i->op == SPAD__PTX_OP_MBARRIER_ARRIVE_DROP;
    const int64_t bytes = expects ? mbarrier_sum(m, w, number, lanes, 0, "the number of bytes") : 0;
    const int64_t amount =
        mbarrier_sum(m, w, expects ? NULL : number, lanes, 1, "the number of arrivals");
    spad__ptx_mbarrier *b = spad__ptx_find_mbarrier(m, place.cta, place.offset);
    const int64_t phase = b != NULL ? b->phase : 0;
    if (b != NULL) spad__ptx_expect(m, b, bytes);
    mbarrier_set_states(m, w, i, lanes, b, amount / spad__ptx_lane_count(lanes));
    if (b != NULL && drops) b->count -= amount;
    if (b != NULL) spad__ptx_arrive(m, b, amount);
    spad__ptx_event *event = mbarrier_begin(m, w, lanes, SPAD__PTX_MBARRIER_ARRIVE, place);
    event->amount = amount;
    event->phase = phase;
    event->bytes = bytes;
    event->drop = drops;
    event->relaxed = spad__ptx_has(i, SPAD__PTX_WORD_RELAXED);
    return spad__ptx_end_event(m);
}

/* cp.async.mbarrier.arrive: copies of this executor are done when they are issued. */
static spad__ptx_outcome mbarrier_arrive_after_copies(spad__ptx_machine *m, spad__ptx_warp *w,
                                                      const spad__ptx_instruction *i,
                                                      uint32_t lanes, spad__ptx_place place) {
    const bool counted = spad__ptx_has(i, SPAD__PTX_WORD_NOINC);
    spad__ptx_mbarrier *b = spad__ptx_find_mbarrier(m, place.cta, place.offset);
    const int64_t phase = b != NULL ? b->phase : 0;
    if (b != NULL && counted) spad__ptx_arrive(m, b, spad__ptx_lane_count(lanes));
    spad__ptx_event *event = mbarrier_begin(m, w, lanes, SPAD__PTX_MBARRIER_ARRIVE, place);
    event->unit = SPAD__PTX_CP_ASYNC;
    event->phase = phase;
    event->amount = spad__ptx_lane_count(lanes);
    event->count = counted ? 0 : event->amount;
    return spad__ptx_end_event(m);
}

static spad__ptx_outcome mbarrier_pending_count(spad__ptx_machine *m, spad__ptx_warp *w,
                                                const spad__ptx_instruction *i, uint32_t lanes) {
    spad__ptx_value value;
    spad__ptx_get(m, w, spad__ptx_operand_at(m, i, 1), SPAD__PTX_B64, &value);
    for (int lane = 0; lane < SPAD__PTX_LANES; lane++) {
        value.lanes[lane] &= (1u << MBARRIER_PENDING_BITS) - 1;
    }
    spad__ptx_set(m, w, spad__ptx_operand_at(m, i, 0), lanes, &value);
    return SPAD__PTX_DONE;
}

/* ---- waits ----------------------------------------------------------------------------------- */

/* The phase that the lanes wait for. */
typedef struct mbarrier_wait {
    spad__ptx_places objects;
    int8_t parity[SPAD__PTX_LANES];
    uint32_t incomplete; /* lanes whose phase is not complete */
} mbarrier_wait;

static int mbarrier_parity_to_assume(const spad__ptx_mbarrier *b) {
    return b == NULL ? 0 : (int)((b->phase + 1) & 1);
}

static void mbarrier_get_wait(spad__ptx_machine *m, spad__ptx_warp *w,
                              const spad__ptx_instruction *i, uint32_t lanes, mbarrier_wait *out) {
    const bool by_parity = spad__ptx_has(i, SPAD__PTX_WORD_PARITY);
    spad__ptx_value value = {0};
    *out = (mbarrier_wait){0};
    mbarrier_get_objects(m, w, i, lanes, &out->objects);
    if (mbarrier_after_address(m, i) != NULL) {
        spad__ptx_get(m, w, mbarrier_after_address(m, i), by_parity ? SPAD__PTX_U32 : SPAD__PTX_B64,
                      &value);
    }
    for (uint32_t left = out->objects.known; left != 0; left &= left - 1) {
        const int lane = spad__ptx_first_lane(left);
        const spad__ptx_place at = out->objects.at[lane];
        const spad__ptx_mbarrier *b = spad__ptx_find_mbarrier(m, at.cta, at.offset);
        const int64_t phase = by_parity ? (int64_t)(value.lanes[lane] & 1)
                                        : (int64_t)(value.lanes[lane] >> MBARRIER_PENDING_BITS);
        out->parity[lane] = (int8_t)(phase & 1);
        if ((value.known >> lane & 1) == 0) {
            out->parity[lane] = (int8_t)mbarrier_parity_to_assume(b);
            spad__ptx_remark_at(m, w, SPAD__PTX_UNKNOWN_OPERAND, lane, (uint64_t)at.offset, 0,
                                "the phase is not known: taken as the one that is complete");
        } else if (b == NULL || (by_parity ? (b->phase & 1) == phase : b->phase <= phase)) {
            out->incomplete |= UINT32_C(1) << lane;
        }
    }
}

static void mbarrier_answer(spad__ptx_machine *m, spad__ptx_warp *w, const spad__ptx_instruction *i,
                            uint32_t lanes, bool result) {
    spad__ptx_value value = {.known = lanes};
    for (uint32_t left = lanes; left != 0; left &= left - 1) {
        value.lanes[spad__ptx_first_lane(left)] = result;
    }
    spad__ptx_set(m, w, spad__ptx_operand_at(m, i, 0), lanes, &value);
}

/* One event for each object and parity. */
static spad__ptx_outcome mbarrier_answer_true(spad__ptx_machine *m, spad__ptx_warp *w,
                                              const spad__ptx_instruction *i, uint32_t lanes,
                                              const mbarrier_wait *waits) {
    for (uint32_t left = waits->objects.known; left != 0;) {
        const int first = spad__ptx_first_lane(left);
        const uint32_t before = left;
        uint32_t same = spad__ptx_take_same(&waits->objects, &left);
        for (uint32_t rest = same; rest != 0; rest &= rest - 1) {
            const int lane = spad__ptx_first_lane(rest);
            if (waits->parity[lane] != waits->parity[first]) same &= ~(UINT32_C(1) << lane);
        }
        left = before & ~same;
        spad__ptx_event *event =
            mbarrier_begin(m, w, same, SPAD__PTX_MBARRIER_WAIT, waits->objects.at[first]);
        event->parity = waits->parity[first];
        event->relaxed = spad__ptx_has(i, SPAD__PTX_WORD_RELAXED);
        event->endless = (waits->incomplete & same) != 0;
        if (spad__ptx_end_event(m) != SPAD__PTX_DONE) return SPAD__PTX_FAILED;
    }
    w->arrived &= ~lanes;
    mbarrier_answer(m, w, i, lanes, true);
    return SPAD__PTX_DONE;
}

/* Has nothing happened since the last wait that answered false? */
static bool mbarrier_spins(const spad__ptx_machine *m, const spad__ptx_warp *w) {
    return w->peeked_progress == m->progress && w->peeked_events == m->result->events;
}

static spad__ptx_peeked *mbarrier_find_peek(const spad__ptx_machine *m, spad__ptx_warp *w) {
    for (int32_t n = 0; n < w->peek_count; n++) {
        if (w->peeks[n].instruction == m->at) return &w->peeks[n];
    }
    return NULL;
}

static void mbarrier_set_peek(spad__ptx_machine *m, spad__ptx_warp *w, int times) {
    const int32_t most = (int32_t)(sizeof w->peeks / sizeof *w->peeks);
    if (!mbarrier_spins(m, w)) w->peek_count = 0;
    spad__ptx_peeked *peek = mbarrier_find_peek(m, w);
    if (peek == NULL && w->peek_count < most) peek = &w->peeks[w->peek_count++];
    if (peek != NULL) *peek = (spad__ptx_peeked){m->at, times};
    w->peeked_progress = m->progress;
    w->peeked_events = m->result->events;
}

static spad__ptx_outcome mbarrier_answer_false(spad__ptx_machine *m, spad__ptx_warp *w,
                                               const spad__ptx_instruction *i, uint32_t lanes,
                                               int times) {
    w->arrived &= ~lanes;
    mbarrier_set_peek(m, w, times);
    mbarrier_answer(m, w, i, lanes, false);
    return SPAD__PTX_DONE;
}

/* How often in a row this wait has answered false, with nothing else happening in between. */
static int mbarrier_false_answers(const spad__ptx_machine *m, spad__ptx_warp *w) {
    const spad__ptx_peeked *peek = mbarrier_spins(m, w) ? mbarrier_find_peek(m, w) : NULL;
    return peek != NULL ? peek->times : 0;
}

/* The end of a wait in a loop. The loop may have other waits: they are as far as they were. */
static spad__ptx_outcome mbarrier_end_wait(spad__ptx_machine *m, spad__ptx_warp *w,
                                           const spad__ptx_instruction *i, uint32_t lanes,
                                           const mbarrier_wait *waits) {
    const bool spins = mbarrier_spins(m, w);
    const spad__ptx_outcome outcome = mbarrier_answer_true(m, w, i, lanes, waits);
    if (!spins) return outcome;
    w->peeked_progress = m->progress;
    w->peeked_events = m->result->events;
    mbarrier_set_peek(m, w, 0);
    return outcome;
}

static spad__ptx_outcome mbarrier_peek(spad__ptx_machine *m, spad__ptx_warp *w,
                                       const spad__ptx_instruction *i, uint32_t lanes,
                                       const mbarrier_wait *waits) {
    const int times = mbarrier_false_answers(m, w);
    if (times > 0) return mbarrier_answer_false(m, w, i, lanes, times + 1);
    const int first = spad__ptx_first_lane(lanes);
    if (spad__ptx_mark_of(w, first) != SPAD__PTX_MARK_PEEK) {
        spad__ptx_remark_at(m, w, SPAD__PTX_PEEK, first, (uint64_t)waits->objects.at[first].offset,
                            0, "the answer is a choice");
        if (!m->choices->choose(m->choices->context, SPAD__PTX_PEEK, m->at, w->cta, w->number)) {
            return mbarrier_answer_false(m, w, i, lanes, 1);
        }
        spad__ptx_mark_lanes(w, lanes, spad__ptx_ticket(SPAD__PTX_MARK_PEEK, 0));
        w->hurries = m->hurried = true;
    }
    if (waits->incomplete == 0) return mbarrier_end_wait(m, w, i, lanes, waits);
    return spad__ptx_gives_up(m) ? mbarrier_answer_false(m, w, i, lanes, 1) : SPAD__PTX_BLOCKED;
}

static spad__ptx_outcome mbarrier_run_wait(spad__ptx_machine *m, spad__ptx_warp *w,
                                           const spad__ptx_instruction *i, uint32_t lanes) {
    mbarrier_wait waits;
    mbarrier_get_wait(m, w, i, lanes, &waits);
    const bool blocks =
        mbarrier_false_answers(m, w) >= MBARRIER_SPIN_TURNS || spad__ptx_is_wait_loop(m, w);
    if (!blocks) return mbarrier_peek(m, w, i, lanes, &waits);
    if (waits.incomplete != 0 && !m->endless) return SPAD__PTX_BLOCKED;
    return mbarrier_end_wait(m, w, i, lanes, &waits);
}

/* ---- instructions ---------------------------------------------------------------------------- */

typedef spad__ptx_outcome mbarrier_runs_one(spad__ptx_machine *m, spad__ptx_warp *w,
                                            const spad__ptx_instruction *i, uint32_t lanes,
                                            spad__ptx_place place);

static mbarrier_runs_one *mbarrier_kind_of(spad__ptx_op op) {
    switch (op) {
    case SPAD__PTX_OP_MBARRIER_INIT: return mbarrier_init_one;
    case SPAD__PTX_OP_MBARRIER_INVAL: return mbarrier_invalidate_one;
    case SPAD__PTX_OP_MBARRIER_EXPECT_TX:
    case SPAD__PTX_OP_MBARRIER_COMPLETE_TX: return mbarrier_expect_one;
    case SPAD__PTX_OP_CP_ASYNC_MBARRIER_ARRIVE: return mbarrier_arrive_after_copies;
    default: return mbarrier_arrive_one;
    }
}

spad__ptx_outcome spad__ptx_run_mbarrier(spad__ptx_machine *m, spad__ptx_warp *w,
                                         const spad__ptx_instruction *i, uint32_t lanes) {
    if (i->op == SPAD__PTX_OP_MBARRIER_TRY_WAIT || i->op == SPAD__PTX_OP_MBARRIER_TEST_WAIT) {
        return mbarrier_run_wait(m, w, i, lanes);
    }
    if (i->op == SPAD__PTX_OP_MBARRIER_PENDING_COUNT) return mbarrier_pending_count(m, w, i, lanes);
    spad__ptx_places places;
    mbarrier_get_objects(m, w, i, lanes, &places);
    for (uint32_t left = places.known; left != 0;) {
        const int first = spad__ptx_first_lane(left);
        const uint32_t same = spad__ptx_take_same(&places, &left);
        if (mbarrier_kind_of(i->op)(m, w, i, same, places.at[first]) != SPAD__PTX_DONE) {
            return SPAD__PTX_FAILED;
        }
    }
    return SPAD__PTX_DONE;
}
