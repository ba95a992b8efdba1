/* SPDX-License-Identifier: Apache-2.0
 *
 * Lowering a plan by ejection: what comes out is a plan, much lower than the one that went in, the
 * same one every time; and a failed allocation leaves it as it was.
 */
#include <stdlib.h>
#include <string.h>

#include "base/memory.h"
#include "plan/eject.h"
#include "support/support.h"

enum { BOXES = 400, SECTIONS = 300 };

/* Boxes by begin, in a plan that puts every one on top of the one before. */
typedef struct problem {
    int32_t begin[BOXES];
    int32_t end[BOXES];
    int64_t size[BOXES];
    int64_t offset[BOXES];
    int64_t load;
    int64_t total;
    spad__boxes boxes;
    spad__random random;
    atomic_bool over;
    spad__stop stop;
    spad__pack pack;
} problem;

static int by_begin(const void *x, const void *y) {
    const int32_t *a = x;
    const int32_t *b = y;
    return (*a > *b) - (*a < *b);
}

static void problem_make(problem *p, uint64_t seed, const spad_host *host) {
    memset(p, 0, sizeof *p);
    spad__random random = {seed};
    int64_t load[SECTIONS] = {0};
    for (int32_t i = 0; i < BOXES; i++)
        p->begin[i] = (int32_t)spad__random_below(&random, SECTIONS);
    qsort(p->begin, BOXES, sizeof *p->begin, by_begin);
    for (int32_t i = 0; i < BOXES; i++) {
        const int64_t life = INT64_C(1) << spad__random_below(&random, 7);
        p->end[i] = (int32_t)(p->begin[i] + life < SECTIONS ? p->begin[i] + life : SECTIONS);
        p->size[i] = spad__random_in(&random, 1, INT64_C(1) << spad__random_below(&random, 11));
        p->offset[i] = p->total;
        p->total += p->size[i];
        for (int32_t s = p->begin[i]; s < p->end[i]; s++) load[s] += p->size[i];
    }
    for (int32_t s = 0; s < SECTIONS; s++) p->load = load[s] > p->load ? load[s] : p->load;
    p->boxes = (spad__boxes){
        .count = BOXES, .sections = SECTIONS, .begin = p->begin, .end = p->end, .size = p->size};
    p->random.state = seed;
    p->stop = (spad__stop){.deadline = INT64_MAX, .now = &p->over};
    p->pack = (spad__pack){.boxes = &p->boxes,
                           .host = host,
                           .random = &p->random,
                           .stop = &p->stop,
                           .enough = p->load,
                           .height = p->total,
                           .offset = p->offset};
}

/* The height of a plan, which must be one. */
static int64_t checked_height(const problem *p) {
    int64_t height = 0;
    for (int32_t i = 0; i < BOXES; i++) {
        assert_true(p->offset[i] >= 0);
        if (p->offset[i] + p->size[i] > height) height = p->offset[i] + p->size[i];
        for (int32_t j = 0; j < i; j++) {
            const bool together = p->begin[i] < p->end[j] && p->begin[j] < p->end[i];
            const bool apart = p->offset[i] + p->size[i] <= p->offset[j] ||
                               p->offset[j] + p->size[j] <= p->offset[i];
            assert_true(!together || apart);
        }
    }
    return height;
}

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

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(plans_are_lowered),
                                       cmocka_unit_test(one_seed_gives_one_plan),
                                       cmocka_unit_test(nothing_is_done_without_need),
                                       cmocka_unit_test(a_failed_allocation_changes_nothing)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
