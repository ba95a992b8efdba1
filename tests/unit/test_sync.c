/* SPDX-License-Identifier: Apache-2.0
 *
 * What a barrier, counter, mbarrier and group does, one action at a time.
 */
#include "support/support.h"

#include "order/sync.h"

/* Does an action that passes: what came of it. */
static unsigned act(spad__sync_object *o, spad__action_kind kind, int64_t amount) {
    spad__sync_change change = {.kind = kind, .amount = amount};
    assert_true(spad__sync_passes(o, &change));
    return spad__sync_apply(o, &change);
}

static bool passes(const spad__sync_object *o, spad__action_kind kind, int64_t amount) {
    const spad__sync_change change = {.kind = kind, .amount = amount};
    return spad__sync_passes(o, &change);
}

static spad__sync_object live_mbarrier(int64_t count) {
    spad__sync_object o = spad__sync_initial(SPAD_SYNC_MBARRIER, count);
    assert_int_equal(act(&o, SPAD__ACTION_INIT, count), SPAD__SYNC_RELEASES);
    return o;
}

static unsigned arrive(spad__sync_object *o, int64_t amount, int64_t expect, unsigned flags) {
    spad__sync_change change = {
        .kind = SPAD__ACTION_ARRIVE, .flags = flags, .amount = amount, .expect = expect};
    return spad__sync_apply(o, &change);
}

static void a_barrier_starts_again_when_it_is_complete(void **state) {
    (void)state;
    spad__sync_object o = spad__sync_initial(SPAD_SYNC_BARRIER, 3);
    spad__sync_change entry = {.kind = SPAD__ACTION_ENTER, .amount = 2};
    assert_int_equal(spad__sync_apply(&o, &entry), 0);
    assert_int_equal(entry.phase, 1);
    const spad__sync_change leave = {.kind = SPAD__ACTION_LEAVE, .phase = entry.phase};
    assert_false(spad__sync_passes(&o, &leave));
    assert_int_equal(act(&o, SPAD__ACTION_ENTER, 1), SPAD__SYNC_RELEASES);
    assert_true(spad__sync_passes(&o, &leave));
    assert_int_equal(o.value, 0);
    /* what is too much is lost, also where the sum would not fit 64 bits */
    act(&o, SPAD__ACTION_ENTER, 2);
    assert_int_equal(act(&o, SPAD__ACTION_ENTER, INT64_MAX),
                     SPAD__SYNC_RELEASES | SPAD__SYNC_SURPLUS);
    assert_int_equal(o.value, 0);
    assert_int_equal(o.phase, 2);
}

static void a_counter_goes_up_and_down(void **state) {
    (void)state;
    spad__sync_object o = spad__sync_initial(SPAD_SYNC_COUNTER, 1);
    assert_false(passes(&o, SPAD__ACTION_WAIT, 2));
    assert_int_equal(act(&o, SPAD__ACTION_SIGNAL, 2), SPAD__SYNC_RELEASES);
    spad__sync_change take = {.kind = SPAD__ACTION_TAKE, .amount = 2};
    assert_int_equal(spad__sync_apply(&o, &take), 0);
    assert_int_equal(take.phase, 2);
    assert_int_equal(o.value, 1);
    assert_false(passes(&o, SPAD__ACTION_TAKE, 2));
    spad__sync_change wait = {.kind = SPAD__ACTION_WAIT, .amount = 1};
    assert_int_equal(spad__sync_apply(&o, &wait), 0);
    assert_int_equal(wait.phase, 3); /* the sum of all signals that it needs */
    assert_int_equal(o.value, 1);
    assert_int_equal(act(&o, SPAD__ACTION_SIGNAL, INT64_MAX),
                     SPAD__SYNC_RELEASES | SPAD__SYNC_OVERFLOWS);
    assert_int_equal(o.value, INT64_MAX);
}

static void an_mbarrier_needs_arrivals_and_bytes(void **state) {
    (void)state;
    spad__sync_object o = live_mbarrier(2);
    assert_int_equal(arrive(&o, 1, 64, 0), 0);
    assert_int_equal(arrive(&o, 1, 0, 0), 0); /* bytes are missing */
    assert_false(passes(&o, SPAD__ACTION_PARITY, 0));
    assert_true(passes(&o, SPAD__ACTION_PARITY, 1)); /* the phase before the first */
    assert_int_equal(act(&o, SPAD__ACTION_DELIVER, 64), SPAD__SYNC_RELEASES);
    assert_true(passes(&o, SPAD__ACTION_PARITY, 0));
    assert_int_equal(o.value, 2);
    assert_int_equal(act(&o, SPAD__ACTION_EXPECT, INT64_MAX), 0);
    assert_int_equal(act(&o, SPAD__ACTION_EXPECT, 1), SPAD__SYNC_OVERFLOWS);
}

/* Bytes that were delivered before they are expected: the expectation completes the phase. */
static void the_last_action_completes_a_phase(void **state) {
    (void)state;
    spad__sync_object o = live_mbarrier(1);
    assert_int_equal(act(&o, SPAD__ACTION_DELIVER, 64), 0);
    assert_int_equal(arrive(&o, 1, 0, 0), 0);
    assert_int_equal(o.phase, 0);
    assert_int_equal(act(&o, SPAD__ACTION_EXPECT, 64), SPAD__SYNC_RELEASES);
    assert_int_equal(o.phase, 1);
}

static void arrivals_beyond_a_phase_are_lost(void **state) {
    (void)state;
    spad__sync_object o = live_mbarrier(2);
    assert_int_equal(arrive(&o, INT64_MAX, 8, 0), SPAD__SYNC_SURPLUS);
    assert_int_equal(act(&o, SPAD__ACTION_DELIVER, 8), SPAD__SYNC_RELEASES);
    assert_int_equal(o.value, 2);
    assert_int_equal(o.phase, 1);
}

/* The phase of the last drop is complete; what comes after it has no arrivals. */
static void drop_lowers_later_phases(void **state) {
    (void)state;
    spad__sync_object o = live_mbarrier(2);
    assert_int_equal(arrive(&o, 1, 0, SPAD_SYNC_DROP), 0);
    assert_int_equal(arrive(&o, 1, 0, 0), SPAD__SYNC_RELEASES);
    assert_int_equal(o.value, 1);
    assert_int_equal(arrive(&o, 1, 0, SPAD_SYNC_DROP),
                     SPAD__SYNC_RELEASES | SPAD__SYNC_NO_ARRIVALS);
    assert_int_equal(o.phase, 2);
    assert_int_equal(o.count, 0);
}

static void an_mbarrier_has_lives(void **state) {
    (void)state;
    spad__sync_object o = spad__sync_initial(SPAD_SYNC_MBARRIER, 1);
    assert_int_equal(arrive(&o, 1, 0, 0), SPAD__SYNC_NOT_LIVE);
    assert_int_equal(act(&o, SPAD__ACTION_DELIVER, 8), SPAD__SYNC_NOT_LIVE);
    assert_int_equal(act(&o, SPAD__ACTION_INVALIDATE, 0), SPAD__SYNC_NOT_LIVE);
    assert_int_equal(o.phase + o.bytes, 0);
    act(&o, SPAD__ACTION_INIT, 1);
    assert_int_equal(arrive(&o, 1, 0, 0), SPAD__SYNC_RELEASES);
    assert_int_equal(act(&o, SPAD__ACTION_INIT, 1), SPAD__SYNC_RELEASES | SPAD__SYNC_INIT_TWICE);
    assert_false(passes(&o, SPAD__ACTION_PARITY, 0)); /* phases count from the last init */
    assert_int_equal(act(&o, SPAD__ACTION_INVALIDATE, 0), 0);
    assert_int_equal(arrive(&o, 1, 0, 0), SPAD__SYNC_NOT_LIVE);
    assert_int_equal(act(&o, SPAD__ACTION_PARITY, 1), SPAD__SYNC_NOT_LIVE);
    assert_int_equal(o.phase, 1); /* over all lives */
}

static void a_wait_for_a_group_leaves_the_newest(void **state) {
    (void)state;
    assert_int_equal(spad__group_due(3, 0), 3);
    assert_int_equal(spad__group_due(3, 1), 2);
    assert_int_equal(spad__group_due(3, 3), 0);
    assert_int_equal(spad__group_due(0, INT64_MAX), 0);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_barrier_starts_again_when_it_is_complete),
        cmocka_unit_test(a_counter_goes_up_and_down),
        cmocka_unit_test(an_mbarrier_needs_arrivals_and_bytes),
        cmocka_unit_test(the_last_action_completes_a_phase),
        cmocka_unit_test(arrivals_beyond_a_phase_are_lost),
        cmocka_unit_test(drop_lowers_later_phases),
        cmocka_unit_test(an_mbarrier_has_lives),
        cmocka_unit_test(a_wait_for_a_group_leaves_the_newest),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
