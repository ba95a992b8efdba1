/* SPDX-License-Identifier: Apache-2.0 */
#include "order/sync.h"

#include "base/checked.h"

/* Sums of user numbers stay in range: one at its limit is never met by another. */
static unsigned add_to(int64_t *sum, int64_t amount) {
    if (spad__add(*sum, amount, sum)) return 0;
    *sum = amount < 0 ? INT64_MIN : INT64_MAX;
    return SPAD__SYNC_OVERFLOWS;
}

spad__sync_object spad__sync_initial(spad_sync_kind kind, int64_t count) {
    switch (kind) {
    case SPAD_SYNC_BARRIER: return (spad__sync_object){.count = count};
    case SPAD_SYNC_COUNTER: return (spad__sync_object){.value = count};
    default: return (spad__sync_object){0}; /* the count of an mbarrier comes with its init */
    }
}

/* ---- barriers and counters --------------------------------------------------------- */

static unsigned enter_barrier(spad__sync_object *o, int64_t amount) {
    const bool surplus = amount > o->count - o->value;
    const unsigned errors = surplus ? SPAD__SYNC_SURPLUS : 0;
    o->value = surplus ? o->count : o->value + amount;
    if (o->value < o->count) return errors;
    o->value = 0;
    o->phase++;
    return errors | SPAD__SYNC_RELEASES;
}

/* The value is large enough. The sum of takes counts for the check only, which has signals that
 * reach it or is stuck before. */
static void take_from_counter(spad__sync_object *o, int64_t amount) {
    o->value -= amount;
    add_to(&o->taken, amount);
}

/* ---- mbarriers --------------------------------------------------------------------- */

static unsigned init(spad__sync_object *o, int64_t count) {
    const unsigned errors = o->live ? SPAD__SYNC_INIT_TWICE : 0;
    o->live = true;
    o->base = o->phase;
    o->count = o->value = count;
    o->bytes = 0;
    return errors | SPAD__SYNC_RELEASES;
}

static unsigned invalidate(spad__sync_object *o) {
    const unsigned errors = o->live ? 0 : SPAD__SYNC_NOT_LIVE;
    o->live = false;
    return errors;
}

static unsigned arrive(spad__sync_object *o, const spad__sync_change *c) {
    unsigned errors = 0;
    if (c->amount > o->value) errors |= SPAD__SYNC_SURPLUS;
    o->value = spad__max(o->value - c->amount, 0);
    if ((c->flags & SPAD_SYNC_DROP) != 0) {
        if (c->amount >= o->count) errors |= SPAD__SYNC_NO_ARRIVALS;
        o->count = spad__max(o->count - c->amount, 0);
    }
    return errors;
}

static unsigned change_mbarrier(spad__sync_object *o, const spad__sync_change *c) {
    unsigned errors = 0;
    if (!o->live) return SPAD__SYNC_NOT_LIVE;
    switch (c->kind) {
    case SPAD__ACTION_EXPECT: errors = add_to(&o->bytes, c->amount); break;
    case SPAD__ACTION_DELIVER: errors = add_to(&o->bytes, -c->amount); break;
    default: errors = add_to(&o->bytes, c->expect) | arrive(o, c); break;
    }
    if (o->value != 0 || o->bytes != 0) return errors;
    o->phase++;
    o->value = o->count;
    return errors | SPAD__SYNC_RELEASES;
}

/* ---- all --------------------------------------------------------------------------- */

unsigned spad__sync_apply(spad__sync_object *o, spad__sync_change *c) {
    switch (c->kind) {
    case SPAD__ACTION_ENTER: c->phase = o->phase + 1; return enter_barrier(o, c->amount);
    case SPAD__ACTION_LEAVE: return 0;
    case SPAD__ACTION_SIGNAL: return SPAD__SYNC_RELEASES | add_to(&o->value, c->amount);
    case SPAD__ACTION_TAKE:
        take_from_counter(o, c->amount);
        c->phase = o->taken;
        return 0;
    case SPAD__ACTION_WAIT:
        c->phase = o->taken;
        add_to(&c->phase, c->amount);
        return 0;
    case SPAD__ACTION_INIT: return init(o, c->amount);
    case SPAD__ACTION_INVALIDATE: c->phase = o->phase + 1; return invalidate(o);
    case SPAD__ACTION_PARITY: c->phase = o->phase; return o->live ? 0 : SPAD__SYNC_NOT_LIVE;
    default: c->phase = o->phase + 1; return change_mbarrier(o, c);
    }
}
