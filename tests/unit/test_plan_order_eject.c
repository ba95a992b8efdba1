/* SPDX-License-Identifier: Apache-2.0
 *
 * Guided ejection on an order of boxes: the result is a plan at the target, the same one every
 * time and on every processor, and fixed boxes stay where they are. Windows of a partial, in any
 * order, make a plan. From the peaks outwards: a plan that is lower than the one that went in.
 */
#include "boxes_fixture.h"
#include "plan/search/order_eject.h"
#include "plan/search/peaks_first.h"
#include "plan/search/window_fill.h"

/* All boxes, and those that are given their offsets, in a window of all sections. */
static spad__order_ejector *insert_all_boxes(problem *p, const spad_host *host,
                                             const int64_t *fixed, int64_t unit, int64_t target) {
    spad__order_ejector *s =
        spad__order_ejector_create(host, BOXES, SECTIONS, &p->random, &p->stop);
    assert_non_null(s);
    spad__order_ejector_clear(s, SECTIONS, unit, target);
    for (int32_t i = 0; i < BOXES; i++)
        spad__order_ejector_add(s, &(spad__order_box){.box = i,
                                                      .begin = p->begin[i],
                                                      .end = p->end[i],
                                                      .size = p->size[i],
                                                      .offset = fixed != NULL ? fixed[i] : -1,
                                                      .fixed = fixed != NULL && fixed[i] >= 0});
    spad__order_ejector_start(s);
    return s;
}

static void boxes_are_put_in_below_a_target(void **state) {
    (void)state;
    const spad_host host = spad__host_or_default(NULL);
    for (uint64_t seed = 1; seed <= 6; seed++) {
        static problem p;
        problem_make(&p, seed, &host);
        const int64_t target = p.load + p.load / 50;
        spad__order_ejector *s = insert_all_boxes(&p, &host, NULL, 1, target);
        assert_false(spad__order_ejector_run(s, 1000)); /* too short */
        assert_true(spad__order_ejector_looks(s) > 1000);
        assert_true(spad__order_ejector_run(s, 40 * 1000 * 1000));
        spad__order_ejector_read(s, p.offset);
        assert_true(checked_height(&p) <= target);
        /* lower, from where it is */
        spad__order_ejector_aim(s, p.load + p.load / 100);
        assert_true(spad__order_ejector_run(s, 40 * 1000 * 1000));
        spad__order_ejector_read(s, p.offset);
        assert_true(checked_height(&p) <= p.load + p.load / 100);
        spad__order_ejector_destroy(s);
    }
    spad__order_ejector_destroy(NULL);
}

/* A third of a plan is fixed; the others find places around it. */
static void fixed_boxes_stay(void **state) {
    (void)state;
    const spad_host host = spad__host_or_default(NULL);
    for (uint64_t seed = 1; seed <= 4; seed++) {
        static problem p;
        static int64_t fixed[BOXES];
        problem_make(&p, seed, &host);
        const int64_t target = p.load + p.load / 20;
        spad__order_ejector *s = insert_all_boxes(&p, &host, NULL, 1, target);
        assert_true(spad__order_ejector_run(s, 40 * 1000 * 1000));
        spad__order_ejector_read(s, p.offset);
        spad__order_ejector_destroy(s);
        for (int32_t i = 0; i < BOXES; i++) fixed[i] = i % 3 == 0 ? p.offset[i] : -1;
        s = insert_all_boxes(&p, &host, fixed, 1, target + p.load / 4);
        assert_true(spad__order_ejector_run(s, 40 * 1000 * 1000));
        spad__order_ejector_read(s, p.offset);
        assert_true(checked_height(&p) <= target + p.load / 4);
        for (int32_t i = 0; i < BOXES; i += 3) assert_int_equal(p.offset[i], fixed[i]);
        spad__order_ejector_destroy(s);
    }
}

/* Between two fixed boxes with too little room, a box has no place at all. */
static void a_box_without_a_place_ends_a_run(void **state) {
    (void)state;
    const spad_host host = spad__host_or_default(NULL);
    static problem p;
    problem_make(&p, 1, &host);
    spad__order_ejector *s = spad__order_ejector_create(&host, 3, 4, &p.random, &p.stop);
    assert_non_null(s);
    spad__order_ejector_clear(s, 4, 1, 10);
    spad__order_ejector_add(s, &(spad__order_box){0, 0, 4, 4, 0, true, 0});
    spad__order_ejector_add(s, &(spad__order_box){1, 0, 2, 4, 6, true, 0});
    spad__order_ejector_add(s, &(spad__order_box){2, 1, 3, 3, -1, false, 0});
    spad__order_ejector_start(s);
    assert_false(spad__order_ejector_run(s, 1000));
    spad__order_ejector_aim(s, 13); /* above the second one there is room */
    assert_true(spad__order_ejector_run(s, 1000));
    int64_t offset[3];
    spad__order_ejector_read(s, offset);
    assert_int_equal(offset[2], 10);
    spad__order_ejector_destroy(s);
}

/* With and without wide instructions, and with heights in coarse units. */
static void one_seed_gives_one_plan(void **state) {
    (void)state;
    const spad_host host = spad__host_or_default(NULL);
    static problem p;
    static problem q;
    problem_make(&p, 3, &host);
    problem_make(&q, 3, &host);
    const int64_t target = p.load + p.load / 40;
    spad__order_ejector *s = insert_all_boxes(&p, &host, NULL, 1, target);
    spad__order_ejector *t = insert_all_boxes(&q, &host, NULL, 1, target);
    spad__order_ejector_narrow(t);
    assert_true(spad__order_ejector_run(s, 40 * 1000 * 1000));
    assert_true(spad__order_ejector_run(t, 40 * 1000 * 1000));
    assert_int_equal(spad__order_ejector_looks(s), spad__order_ejector_looks(t));
    spad__order_ejector_read(s, p.offset);
    spad__order_ejector_read(t, q.offset);
    assert_memory_equal(p.offset, q.offset, sizeof p.offset);
    spad__order_ejector_destroy(s);
    spad__order_ejector_destroy(t);
    s = insert_all_boxes(&p, &host, NULL, 8, 2 * p.load);
    assert_true(spad__order_ejector_run(s, 40 * 1000 * 1000));
    spad__order_ejector_read(s, p.offset);
    assert_true(checked_height(&p) <= 2 * p.load);
    for (int32_t i = 0; i < BOXES; i++) assert_int_equal(p.offset[i] % 8, 0);
    spad__order_ejector_destroy(s);
}

static spad__section_window random_window(spad__random *random, bool core) {
    const int32_t lo = (int32_t)spad__random_below(random, SECTIONS);
    const int32_t most = SECTIONS - lo < 80 ? SECTIONS - lo : 80;
    return (spad__section_window){lo, lo + 1 + (int32_t)spad__random_below(random, (uint64_t)most),
                                  core};
}

/* Cores first, then windows anywhere, and in the end one over all that is left. */
static void windows_in_any_order_make_a_plan(void **state) {
    (void)state;
    TEST_HAS_ONE_THREAD();
    const spad_host host = spad__host_or_default(NULL);
    for (uint64_t seed = 1; seed <= 60; seed++) {
        static problem p;
        spad__partial_plan partial;
        problem_make(&p, seed, &host);
        assert_true(spad__partial_plan_start(&partial, &p.pack));
        int64_t target = p.load + p.load / 8;
        for (int32_t k = 0; k < 8; k++) {
            const spad__section_window window = k == 7 ? (spad__section_window){0, SECTIONS, false}
                                                       : random_window(&p.random, k < 3);
            bool found;
            assert_true(spad__window_fill(&partial, &window, 100 * 1000, p.total, &target, &found));
            assert_true(found);
            for (int32_t i = 0; i < BOXES; i++)
                assert_true(partial.offset[i] >= 0 || p.begin[i] >= window.hi ||
                            p.end[i] <= window.lo);
        }
        memcpy(p.offset, partial.offset, sizeof p.offset);
        assert_true(checked_height(&p) <= target);
        spad__partial_plan_clear(&partial);
        for (int32_t i = 0; i < BOXES; i++) assert_int_equal(partial.offset[i], -1);
        spad__partial_plan_end(&partial);
    }
}

/* A target that cannot be reached goes up, but not to the plan that there is already. */
static void a_target_rises_below_the_best_plan(void **state) {
    (void)state;
    const spad_host host = spad__host_or_default(NULL);
    static problem p;
    spad__partial_plan partial;
    problem_make(&p, 2, &host);
    assert_true(spad__partial_plan_start(&partial, &p.pack));
    const spad__section_window all = {0, SECTIONS, false};
    int64_t target = p.load;
    bool found;
    assert_true(spad__window_fill(&partial, &all, 1, p.load + p.load / 100, &target, &found));
    assert_false(found);
    spad__partial_plan_clear(&partial);
    target = p.load - 1; /* no plan is that low */
    assert_true(spad__window_fill(&partial, &all, 20 * 1000, p.total, &target, &found));
    assert_true(found && target >= p.load && target < p.total);
    spad__partial_plan_end(&partial);
}

static bool run_peaks_first(spad__pack *pack, int32_t rounds, int64_t looks) {
    spad__peaks_first *peaks = spad__peaks_first_create(pack, 0);
    bool ok = peaks != NULL;
    for (int32_t k = 0; ok && k < rounds; k++) ok = spad__peaks_first_round(peaks, looks << k);
    spad__peaks_first_destroy(peaks);
    return ok;
}

static void plans_grow_from_the_peaks(void **state) {
    (void)state;
    TEST_HAS_ONE_THREAD();
    const spad_host host = spad__host_or_default(NULL);
    for (uint64_t seed = 1; seed <= 8; seed++) {
        static problem p;
        static problem q;
        problem_make(&p, seed, &host);
        problem_make(&q, seed, &host);
        assert_true(run_peaks_first(&p.pack, 3, 1000 * 1000));
        assert_int_equal(checked_height(&p), p.pack.height);
        assert_true(p.pack.height >= p.load && 100 * p.pack.height <= 101 * p.load);
        assert_true(run_peaks_first(&q.pack, 3, 1000 * 1000));
        assert_memory_equal(p.offset, q.offset, sizeof p.offset);
    }
}

/* By insertion; few boxes. */
static void sort_by_begin(problem *p) {
    for (int32_t i = 1; i < BOXES; i++) {
        const int32_t begin = p->begin[i];
        const int32_t end = p->end[i];
        const int64_t size = p->size[i];
        int32_t k = i;
        for (; k > 0 && p->begin[k - 1] > begin; k--) {
            p->begin[k] = p->begin[k - 1];
            p->end[k] = p->end[k - 1];
            p->size[k] = p->size[k - 1];
        }
        p->begin[k] = begin;
        p->end[k] = end;
        p->size[k] = size;
    }
}

/* Boxes come in pairs that are alike, the second of them later by `shift`, so peaks come in pairs.
 */
static void make_twin_peaks(problem *p, uint64_t seed, int32_t shift, const spad_host *host) {
    problem_make(p, seed, host);
    spad__random random = {seed};
    for (int32_t i = 0; i < BOXES; i += 2) {
        p->end[i] = p->begin[i] / 2 + (int32_t)spad__random_in(&random, 1, 40);
        p->size[i + 1] = p->size[i];
    }
    for (int32_t i = 0; i < BOXES; i += 2) {
        p->begin[i] /= 2;
        p->begin[i + 1] = p->begin[i] + shift;
        p->end[i] = p->end[i] < SECTIONS / 2 ? p->end[i] : SECTIONS / 2;
        p->end[i + 1] = p->end[i] + shift;
    }
    sort_by_begin(p);
    problem_count(p);
}

static void peaks_alike_are_cores(void **state) {
    (void)state;
    TEST_HAS_ONE_THREAD();
    const spad_host host = spad__host_or_default(NULL);
    for (uint64_t seed = 1; seed <= 12; seed++) {
        static problem p;
        make_twin_peaks(&p, seed, seed % 2 == 0 ? SECTIONS / 2 : 50, &host);
        assert_true(run_peaks_first(&p.pack, 2, 1000 * 1000));
        assert_int_equal(checked_height(&p), p.pack.height);
        assert_true(p.pack.height >= p.load && 100 * p.pack.height <= 104 * p.load);
    }
}

/* Sizes far above what a order ejector counts in: heights are rounded, by less than a millionth. */
static void huge_sizes_are_counted_in_units(void **state) {
    (void)state;
    const spad_host host = spad__host_or_default(NULL);
    static problem p;
    problem_make(&p, 4, &host);
    for (int32_t i = 0; i < BOXES; i++) p.size[i] = (p.size[i] << 36) + i;
    problem_count(&p);
    assert_true(run_peaks_first(&p.pack, 3, 1000 * 1000));
    assert_int_equal(checked_height(&p), p.pack.height);
    assert_true(p.pack.height / 102 <= p.boxes.max_load / 100);
}

static void a_call_that_is_stopped_changes_nothing(void **state) {
    (void)state;
    const spad_host host = spad__host_or_default(NULL);
    static problem p;
    problem_make(&p, 5, &host);
    spad__stop_now(&p.stop);
    assert_true(run_peaks_first(&p.pack, 1, 1000 * 1000));
    assert_int_equal(p.pack.height, p.total);
    assert_int_equal(checked_height(&p), p.total);
}

static void a_failed_allocation_leaves_a_plan(void **state) {
    (void)state;
    TEST_HAS_ONE_THREAD();
    bool ended = false;
    for (long n = 1; !ended; n++) {
        test_host host;
        static problem p;
        test_host_init(&host);
        problem_make(&p, 7, &host.host);
        host.fail_at = n;
        ended = run_peaks_first(&p.pack, 1, 200 * 1000);
        assert_int_equal(ended, host.calls < n);
        assert_true(p.pack.height <= p.total);
        assert_int_equal(checked_height(&p), p.pack.height);
        test_host_assert_clean(&host);
    }
}

/* Above what the exact search takes, several threads lower one plan. */
static void threads_lower_a_large_plan(void **state) {
    (void)state;
    enum { MANY = 8300 };
    spad_error error;
    spad_plan *plan;
    spad_plan_result *result;
    spad__random random = {3};
    assert_ok(spad_plan_create(&plan, NULL, &error), &error);
    for (int32_t i = 0; i < MANY; i++) {
        const int64_t lower = spad__random_in(&random, 0, MANY);
        const int64_t upper = lower + spad__random_in(&random, 1, 300);
        const int64_t size = spad__random_in(&random, 1 << 10, 1 << 20);
        const spad_plan_buffer b = {.lower = lower, .upper = upper, .size = size};
        assert_ok(spad_plan_add(NULL, plan, &b, &error), &error);
    }
#ifdef __SANITIZE_THREAD__
    const int64_t seconds = 8; /* the first plan, which has one thread, takes most of that */
#else
    const int64_t seconds = 1;
#endif
    const spad_plan_options options = {.timeout_ns = seconds * 1000000000, .threads = 3};
    assert_ok(spad_plan_solve(&result, plan, &options, &error), &error);
    int64_t height;
    assert_ok(spad_plan_check(&height, plan, result->places, result->count, &error), &error);
    assert_int_equal(height, result->height);
    spad_plan_result_destroy(result);
    spad_plan_destroy(plan);
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(boxes_are_put_in_below_a_target),
                                       cmocka_unit_test(fixed_boxes_stay),
                                       cmocka_unit_test(a_box_without_a_place_ends_a_run),
                                       cmocka_unit_test(one_seed_gives_one_plan),
                                       cmocka_unit_test(windows_in_any_order_make_a_plan),
                                       cmocka_unit_test(a_target_rises_below_the_best_plan),
                                       cmocka_unit_test(plans_grow_from_the_peaks),
                                       cmocka_unit_test(peaks_alike_are_cores),
                                       cmocka_unit_test(huge_sizes_are_counted_in_units),
                                       cmocka_unit_test(a_call_that_is_stopped_changes_nothing),
                                       cmocka_unit_test(threads_lower_a_large_plan),
                                       cmocka_unit_test(a_failed_allocation_leaves_a_plan)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
