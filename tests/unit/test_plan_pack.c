/* SPDX-License-Identifier: Apache-2.0
 *
 * Packing around boxes with given offsets, as strips do it: what comes out is a plan, the given
 * ones are where they were, and a failed allocation leaves the best plan as it was.
 */
#include <stdlib.h>
#include <string.h>

#include "plan/search/greedy_passes.h"
#include "plan/search/narrow_peak.h"
#include "plan/search/strips.h"
#include "support/packing.h"
#include "support/support.h"

/* A problem as boxes. */
typedef struct packed {
    spad_plan *plan;
    spad__model model;
    spad__boxes boxes;
    spad__random random;
    atomic_bool over;
    spad__stop stop;
    int64_t *fixed;
    int64_t *offset;
    int64_t *trial;
    spad__pack pack;
} packed;

/* `host` is for the packing only. */
static void packed_make(packed *p, const spad_host *host, int32_t count, uint64_t seed) {
    spad_error error;
    bool suits;
    memset(p, 0, sizeof *p);
    assert_ok(spad_plan_create(&p->plan, NULL, &error), &error);
    assert_ok(packing_shaped(p->plan, PACKING_RANDOM, count, seed, &error), &error);
    assert_ok(spad__model_build(&p->model, p->plan, &error), &error);
    assert_ok(spad__boxes_build(&p->boxes, &p->model, &suits, &error), &error);
    assert_true(suits);
    p->boxes.arena.host = *host; /* from here on, also for cores */
    const size_t n = (size_t)p->boxes.count;
    p->fixed = malloc(n * sizeof *p->fixed);
    p->offset = malloc(n * sizeof *p->offset);
    p->trial = malloc(n * sizeof *p->trial);
    assert_true(p->fixed != NULL && p->offset != NULL && p->trial != NULL);
    p->random.state = seed;
    p->stop = (spad__stop){.deadline = INT64_MAX, .now = &p->over};
    p->pack = (spad__pack){.boxes = &p->boxes,
                           .host = host,
                           .random = &p->random,
                           .stop = &p->stop,
                           .enough = p->boxes.max_load,
                           .height = INT64_MAX,
                           .offset = p->offset,
                           .trial = p->trial};
}

static void packed_free(packed *p) {
    p->boxes.arena.host = p->model.arena.host;
    spad__boxes_free(&p->boxes);
    spad__model_free(&p->model);
    spad_plan_destroy(p->plan);
    free(p->fixed);
    free(p->offset);
    free(p->trial);
}

/* Fixes the boxes over sections [begin, end) at the offsets that they have in the plan so far. */
static void fix_some(packed *p, int32_t begin, int32_t end) {
    for (int32_t i = 0; i < p->boxes.count; i++) {
        const bool inside = p->boxes.begin[i] < end && begin < p->boxes.end[i];
        p->fixed[i] = inside ? p->offset[i] : -1;
    }
    p->pack.fixed = p->fixed;
    p->pack.height = INT64_MAX;
}

/* The height of a plan, which must be one and have the given boxes where they were. */
static int64_t checked_height(const packed *p) {
    const spad__boxes *b = &p->boxes;
    int64_t height = 0;
    for (int32_t i = 0; i < b->count; i++) {
        const int64_t top = p->offset[i] + b->size[i];
        assert_true(p->offset[i] >= 0);
        if (p->pack.fixed != NULL && p->fixed[i] >= 0) assert_int_equal(p->offset[i], p->fixed[i]);
        if (top > height) height = top;
        for (int32_t j = 0; j < i; j++) {
            if (b->begin[i] >= b->end[j] || b->begin[j] >= b->end[i]) continue;
            assert_true(top <= p->offset[j] || p->offset[j] + b->size[j] <= p->offset[i]);
        }
    }
    return height;
}

static spad_host plain_host(void) {
    return spad__host_or_default(NULL);
}

/* One pass, then everything live in a window away from the peak is given. */
static void start_around_given(packed *p, const spad_host *host, uint64_t seed, bool *ok) {
    packed_make(p, host, 400, seed);
    *ok = spad__pack_start(&p->pack);
    if (!*ok) return;
    spad__pack_pass(&p->pack);
    const int32_t sections = p->boxes.sections;
    const int32_t begin = p->boxes.peak > sections / 2 ? 0 : sections - sections / 6;
    fix_some(p, begin, begin + sections / 6);
    spad__pack_pass(&p->pack);
}

static void cores_go_around_what_is_given(void **state) {
    (void)state;
    const spad_host host = plain_host();
    int improved = 0;
    for (uint64_t seed = 1; seed <= 40; seed++) {
        packed p;
        bool ok;
        start_around_given(&p, &host, seed, &ok);
        assert_true(ok);
        assert_true(p.pack.height != INT64_MAX);
        assert_int_equal(checked_height(&p), p.pack.height);
        const int64_t before = p.pack.height;
        assert_true(spad__pack_core(&p.pack));
        assert_int_equal(checked_height(&p), p.pack.height);
        assert_true(p.pack.height <= before);
        improved += p.pack.height < before;
        spad__pack_end(&p.pack);
        packed_free(&p);
    }
    assert_true(improved > 0); /* a core with boxes around it was kept */
}

/* Offsets that no plan has are no plan: the pass says so and the best one stays. */
static void given_offsets_that_collide_give_no_plan(void **state) {
    (void)state;
    packed p;
    const spad_host host = plain_host();
    packed_make(&p, &host, 50, 3);
    assert_true(spad__pack_start(&p.pack));
    for (int32_t i = 0; i < p.boxes.count; i++) p.fixed[i] = 0;
    p.pack.fixed = p.fixed;
    spad__pack_pass(&p.pack);
    assert_true(p.pack.height == INT64_MAX);
    assert_true(spad__pack_core(&p.pack));
    assert_true(p.pack.height == INT64_MAX);
    spad__pack_end(&p.pack);
    packed_free(&p);
}

/* Two of a few given boxes want the same bytes, often one after the other has been placed and left
 * of where the pass is: no plan, or one with all of them. */
static void some_given_offsets_may_collide(void **state) {
    (void)state;
    const spad_host host = plain_host();
    int plans = 0;
    enum { ROUNDS = 300 };
    for (uint64_t seed = 0; seed < ROUNDS; seed++) {
        packed p;
        packed_make(&p, &host, 40, seed);
        assert_true(spad__pack_start(&p.pack));
        for (int32_t i = 0; i < p.boxes.count; i++) {
            const bool given = spad__random_in(&p.random, 0, 12) == 0;
            p.fixed[i] = given ? spad__random_in(&p.random, 0, 3) * p.boxes.size[i] : -1;
        }
        p.pack.fixed = p.fixed;
        spad__pack_pass(&p.pack);
        if (p.pack.height != INT64_MAX) {
            plans++;
            assert_int_equal(checked_height(&p), p.pack.height);
        }
        spad__pack_end(&p.pack);
        packed_free(&p);
    }
    assert_in_range(plans, 1, ROUNDS - 1);
}

static spad_status pack_around_given(const spad_host *host, void *context) {
    packed p;
    bool ok;
    (void)context;
    start_around_given(&p, host, 7, &ok);
    if (ok) {
        const int64_t before = p.pack.height;
        ok = spad__pack_core(&p.pack);
        assert_true(p.pack.height <= before);
        assert_int_equal(checked_height(&p), p.pack.height);
    }
    spad__pack_end(&p.pack);
    packed_free(&p);
    return ok ? SPAD_OK : SPAD_ERR_HOST_MEMORY;
}

/* Strips of a problem that would be too small for them elsewhere. */
static spad_status pack_strips(const spad_host *host, void *context) {
    packed p;
    bool found = false;
    (void)context;
    packed_make(&p, host, 9000, 5);
    const bool ok = spad__strips_pass(&p.pack, &found);
    packed_free(&p);
    return ok ? SPAD_OK : SPAD_ERR_HOST_MEMORY;
}

static void every_allocation_may_fail(void **state) {
    (void)state;
    test_fail_each_allocation(pack_around_given, NULL);
    test_fail_each_allocation(pack_strips, NULL);
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(cores_go_around_what_is_given),
                                       cmocka_unit_test(given_offsets_that_collide_give_no_plan),
                                       cmocka_unit_test(some_given_offsets_may_collide),
                                       cmocka_unit_test(every_allocation_may_fail)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
