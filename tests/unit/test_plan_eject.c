/* SPDX-License-Identifier: Apache-2.0
 *
 * Lowering a plan by ejection: what comes out is a plan, much lower than the one that went in, the
 * same one every time; and a failed allocation leaves it as it was. A plan at a given height from
 * nothing; and the sorting that both spend much of their time on.
 */
#include "boxes_fixture.h"
#include "plan/problem/sort.h"
#include "plan/search/eject.h"

static void plans_are_lowered(void **state) {
    (void)state;
    const spad_host host = spad__host_or_default(NULL);
    for (uint64_t seed = 1; seed <= 8; seed++) {
        static problem p;
        problem_make(&p, seed, &host);
        assert_true(p.total > 4 * p.load);
        assert_true(spad__eject(&p.pack, 300000));
        assert_int_equal(checked_height(&p), p.pack.height);
        assert_true(p.pack.height >= p.load);
        assert_true(100 * p.pack.height <= 103 * p.load);
    }
}

static void one_seed_gives_one_plan(void **state) {
    (void)state;
    const spad_host host = spad__host_or_default(NULL);
    static problem p;
    static problem q;
    problem_make(&p, 3, &host);
    problem_make(&q, 3, &host);
    assert_true(spad__eject(&p.pack, 20000));
    assert_true(spad__eject(&q.pack, 20000));
    assert_memory_equal(p.offset, q.offset, sizeof p.offset);
}

/* A plan that is low enough, or a call that is stopped, stays as it is. */
static void nothing_is_done_without_need(void **state) {
    (void)state;
    const spad_host host = spad__host_or_default(NULL);
    static problem p;
    problem_make(&p, 5, &host);
    p.pack.enough = p.total;
    assert_true(spad__eject(&p.pack, 300000));
    assert_int_equal(p.pack.height, p.total);
    p.pack.enough = p.load;
    spad__stop_now(&p.stop);
    assert_true(spad__eject(&p.pack, 300000));
    assert_int_equal(p.pack.height, p.total);
    assert_int_equal(checked_height(&p), p.total);
}

static void a_failed_allocation_changes_nothing(void **state) {
    (void)state;
    bool ended = false;
    for (long n = 1; !ended; n++) {
        test_host host;
        static problem p;
        test_host_init(&host);
        problem_make(&p, 7, &host.host);
        host.fail_at = n;
        ended = spad__eject(&p.pack, 1000);
        assert_int_equal(ended, host.calls < n);
        if (!ended) assert_int_equal(p.pack.height, p.total);
        assert_int_equal(checked_height(&p), p.pack.height);
        test_host_assert_clean(&host);
    }
}

/* Roaming, from nothing to a height a little above the load. */
static void plans_are_found_from_nothing(void **state) {
    (void)state;
    const spad_host host = spad__host_or_default(NULL);
    for (uint64_t seed = 1; seed <= 4; seed++) {
        static problem p;
        problem_make(&p, seed, &host);
        spad__ejector *e =
            spad__ejector_create(&p.boxes, &host, SPAD__EJECT_ROAMING, &p.random, &p.stop);
        assert_non_null(e);
        const int64_t target = p.load + p.load / 50;
        const spad__eject_limits limits = {INT64_C(100) * 1000 * 1000, 400000, BOXES};
        spad__ejector_start(e, NULL, target);
        assert_true(spad__ejector_run(e, target, &limits));
        assert_true(spad__ejector_steps(e) >= BOXES);
        const int64_t height = spad__ejector_plan(e, p.offset);
        assert_int_equal(height, checked_height(&p));
        assert_true(height <= target);
        assert_true(spad__ejector_run(e, target, &limits)); /* none is out: nothing to do */
        spad__ejector_destroy(e);
    }
    spad__ejector_destroy(NULL);
}

/* Steps are counted exactly, over all runs; so are the boxes that are out. */
static void runs_end_at_their_limits(void **state) {
    (void)state;
    const spad_host host = spad__host_or_default(NULL);
    static problem p;
    problem_make(&p, 2, &host);
    spad__ejector *e =
        spad__ejector_create(&p.boxes, &host, SPAD__EJECT_ROAMING, &p.random, &p.stop);
    assert_non_null(e);
    spad__ejector_start(e, NULL, p.load);
    assert_false(spad__ejector_run(e, p.load, &(spad__eject_limits){INT64_MAX / 2, 7, BOXES}));
    assert_int_equal(spad__ejector_steps(e), 7);
    assert_false(spad__ejector_run(e, p.load, &(spad__eject_limits){INT64_MAX / 2, 5, BOXES}));
    assert_int_equal(spad__ejector_steps(e), 12);
    assert_false(spad__ejector_run(e, p.load, &(spad__eject_limits){-1, 5, BOXES}));
    assert_false(spad__ejector_run(e, p.load, &(spad__eject_limits){INT64_MAX / 2, 5, 3}));
    assert_int_equal(spad__ejector_steps(e), 12);
    /* another target with the weights as at first: the same steps as a new one */
    static problem q;
    problem_make(&q, 2, &host);
    p.random = q.random;
    spad__ejector_forget(e);
    spad__ejector *f =
        spad__ejector_create(&q.boxes, &host, SPAD__EJECT_ROAMING, &q.random, &q.stop);
    assert_non_null(f);
    spad__ejector_start(e, NULL, p.total);
    spad__ejector_start(f, NULL, q.total);
    const spad__eject_limits enough = {INT64_MAX / 2, BOXES, BOXES};
    assert_true(spad__ejector_run(e, p.total, &enough));
    assert_true(spad__ejector_run(f, q.total, &enough));
    spad__ejector_plan(e, p.offset);
    spad__ejector_plan(f, q.offset);
    assert_memory_equal(p.offset, q.offset, sizeof p.offset);
    spad__ejector_destroy(e);
    spad__ejector_destroy(f);
}

/* Sizes near the largest that fit: weights stay in range and differ. */
static void weights_of_huge_boxes_are_in_range(void **state) {
    (void)state;
    const spad_host host = spad__host_or_default(NULL);
    static problem p;
    problem_make(&p, 9, &host);
    for (int32_t i = 0; i < BOXES; i++) {
        p.size[i] <<= 40;
        p.offset[i] <<= 40;
    }
    const int64_t target = (p.load + p.load / 20) << 40;
    spad__ejector *e =
        spad__ejector_create(&p.boxes, &host, SPAD__EJECT_ROAMING, &p.random, &p.stop);
    assert_non_null(e);
    const spad__eject_limits limits = {INT64_C(100) * 1000 * 1000, 400000, BOXES};
    spad__ejector_start(e, p.offset, target);
    assert_true(spad__ejector_run(e, target, &limits));
    const int64_t height = spad__ejector_plan(e, p.offset);
    assert_int_equal(height, checked_height(&p));
    assert_true(height <= target);
    spad__ejector_destroy(e);
}

/* Rows of every count, spread well and badly, come out in order and equal keys in their old one. */
static void rows_are_sorted(void **state) {
    (void)state;
    enum { MOST = 9000 };
    static spad__row rows[MOST];
    static spad__row scratch[MOST];
    static const size_t counts[] = {0, 1, 2, 39, 41, 65, 300, 1025, 8192, 8193, MOST};
    spad__random random = {1};
    for (int32_t shape = 0; shape < 5; shape++)
        for (size_t k = 0; k < sizeof counts / sizeof *counts; k++) {
            for (size_t i = 0; i < counts[k]; i++) {
                const uint64_t x = spad__random_next(&random);
                const uint64_t keys[] = {x, x >> 40, x & 15, 7, x % 100 == 0 ? x : x & 1023};
                rows[i] = (spad__row){keys[shape], (int32_t)i};
            }
            spad__sort_rows(rows, scratch, counts[k]);
            for (size_t i = 1; i < counts[k]; i++) {
                assert_true(rows[i - 1].key <= rows[i].key);
                assert_true(rows[i - 1].key < rows[i].key || rows[i - 1].value < rows[i].value);
            }
        }
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(plans_are_lowered),
                                       cmocka_unit_test(one_seed_gives_one_plan),
                                       cmocka_unit_test(nothing_is_done_without_need),
                                       cmocka_unit_test(plans_are_found_from_nothing),
                                       cmocka_unit_test(runs_end_at_their_limits),
                                       cmocka_unit_test(weights_of_huge_boxes_are_in_range),
                                       cmocka_unit_test(rows_are_sorted),
                                       cmocka_unit_test(a_failed_allocation_changes_nothing)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
