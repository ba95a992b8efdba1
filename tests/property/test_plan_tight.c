/* SPDX-License-Identifier: Apache-2.0
 *
 * Decisions at or just above the largest load, compared with an exhaustive search over offsets.
 *
 * These are the problems in which the exact search rules most out: chains of boxes along the floor
 * of a valley, and jumps back over choices that a dead end does not depend on. A wrong rule shows
 * as a wrong "infeasible". In half of the problems every moment is filled up to the capacity, so
 * that no byte may be wasted.
 *
 *   test_plan_tight [COUNT [SEED]]
 */
#include <stdio.h>
#include <stdlib.h>

#include "base/random.h"
#include "spad/plan.h"
#include "support/support.h"

enum { MOMENTS = 12, MOST_LONG = 18, MOST_BUFFERS = 64, MOST_BYTES = 16, COUNT = 8000 };

static struct {
    uint64_t count;
    uint64_t seed;
} run = {COUNT, 1};

typedef struct tight_problem {
    int64_t lower[MOST_BUFFERS];
    int64_t upper[MOST_BUFFERS];
    int64_t size[MOST_BUFFERS];
    int32_t count;
    int64_t load[MOMENTS];
    int64_t capacity;
} tight_problem;

static void add_buffer(tight_problem *p, int64_t lower, int64_t upper, int64_t size) {
    p->lower[p->count] = lower;
    p->upper[p->count] = upper;
    p->size[p->count] = size;
    p->count++;
    for (int64_t t = lower; t < upper; t++) p->load[t] += size;
    for (int64_t t = lower; t < upper; t++)
        if (p->load[t] > p->capacity) p->capacity = p->load[t];
}

/* Fills every moment up to the capacity with buffers that live as long as so much is left. */
static void fill_moments(tight_problem *p, spad__random *random) {
    for (int64_t t = 0; t < MOMENTS; t++) {
        while (p->load[t] < p->capacity) {
            const int64_t left = p->capacity - p->load[t];
            const int64_t size = spad__random_in(random, (left + 1) / 2, left);
            int64_t upper = t + 1;
            while (upper < MOMENTS && p->load[upper] + size <= p->capacity) upper++;
            add_buffer(p, t, spad__random_in(random, t + 1, upper), size);
        }
    }
}

static void make_problem(tight_problem *p, spad__random *random) {
    do {
        *p = (tight_problem){0};
        const int64_t wanted = spad__random_in(random, 10, MOST_LONG);
        for (int64_t i = 0; i < wanted; i++) {
            const int64_t lower = spad__random_in(random, 0, MOMENTS - 2);
            const int64_t most = lower + 6 < MOMENTS ? lower + 6 : MOMENTS;
            add_buffer(p, lower, spad__random_in(random, lower + 1, most),
                       spad__random_in(random, 2, 5));
        }
    } while (p->capacity > MOST_BYTES);
    if (spad__random_below(random, 2) == 0)
        fill_moments(p, random);
    else
        p->capacity += spad__random_below(random, 4) == 0;
}

/* ---- all offsets -------------------------------------------------------------------- */

/* The next buffer in the order of `lower`, the longest first, or -1. */
static int32_t next_buffer(const tight_problem *p, const bool *placed) {
    int32_t best = -1;
    for (int32_t i = 0; i < p->count; i++) {
        if (placed[i]) continue;
        const bool first = best < 0 || p->lower[i] < p->lower[best];
        if (first || (p->lower[i] == p->lower[best] && p->upper[i] > p->upper[best])) best = i;
    }
    return best;
}

/* used: bytes taken at each moment. */
static bool fits_somewhere(const tight_problem *p, uint32_t *used, bool *placed) {
    const int32_t i = next_buffer(p, placed);
    if (i < 0) return true;
    bool found = false;
    placed[i] = true;
    for (int64_t offset = 0; !found && offset + p->size[i] <= p->capacity; offset++) {
        const uint32_t bytes = ((UINT32_C(1) << p->size[i]) - 1) << offset;
        bool free = true;
        for (int64_t t = p->lower[i]; t < p->upper[i]; t++) free &= (used[t] & bytes) == 0;
        if (!free) continue;
        for (int64_t t = p->lower[i]; t < p->upper[i]; t++) used[t] |= bytes;
        found = fits_somewhere(p, used, placed);
        for (int64_t t = p->lower[i]; t < p->upper[i]; t++) used[t] &= ~bytes;
    }
    placed[i] = false;
    return found;
}

/* ---- the planner -------------------------------------------------------------------- */

static bool is_solved(const tight_problem *p, uint64_t seed) {
    spad_plan *plan;
    spad_error error;
    spad_plan_result *result;
    assert_ok(spad_plan_create(&plan, NULL, &error), &error);
    for (int32_t i = 0; i < p->count; i++) {
        const spad_plan_buffer b = {.lower = p->lower[i], .upper = p->upper[i], .size = p->size[i]};
        assert_ok(spad_plan_add(NULL, plan, &b, &error), &error);
    }
    assert_ok(spad_plan_set_capacity(plan, p->capacity, &error), &error);
    const spad_plan_options options = {.goal = SPAD_PLAN_DECIDE, .seed = seed};
    assert_ok(spad_plan_solve(&result, plan, &options, &error), &error);
    const bool found = result->verdict <= SPAD_PLAN_FEASIBLE;
    if (found)
        assert_ok(spad_plan_check(NULL, plan, result->places, result->count, &error), &error);
    else
        assert_int_equal(result->verdict, SPAD_PLAN_INFEASIBLE);
    spad_plan_result_destroy(result);
    spad_plan_destroy(plan);
    return found;
}

static void decisions_agree_with_all_offsets(void **state) {
    (void)state;
    spad__random random = {run.seed};
    uint64_t infeasible = 0;
    for (uint64_t k = 0; k < run.count; k++) {
        tight_problem p;
        make_problem(&p, &random);
        uint32_t used[MOMENTS] = {0};
        bool placed[MOST_BUFFERS] = {false};
        const bool fits = fits_somewhere(&p, used, placed);
        infeasible += !fits;
        if (is_solved(&p, k) == fits) continue;
        for (int32_t i = 0; i < p.count; i++)
            printf("%d,%d,%d,%d\n", (int)i, (int)p.lower[i], (int)p.upper[i], (int)p.size[i]);
        fail_msg("problem %llu of seed %llu, capacity %d", (unsigned long long)k,
                 (unsigned long long)run.seed, (int)p.capacity);
    }

    assert_true(infeasible > run.count / 40);
    assert_true(infeasible < run.count - run.count / 40);
}

int main(int argc, char **argv) {
    if (argc > 1) run.count = strtoull(argv[1], NULL, 10);
    if (argc > 2) run.seed = strtoull(argv[2], NULL, 10);
    const struct CMUnitTest tests[] = {cmocka_unit_test(decisions_agree_with_all_offsets)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
