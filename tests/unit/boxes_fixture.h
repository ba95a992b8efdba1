/* SPDX-License-Identifier: Apache-2.0
 *
 * Random boxes in a plan that is far too high, for the tests of what lowers plans.
 */
#ifndef SPAD_TESTS_BOXES_FIXTURE_H
#define SPAD_TESTS_BOXES_FIXTURE_H

#include <stdlib.h>
#include <string.h>

#include "base/memory.h"
#include "plan/search/greedy_passes.h"
#include "support/support.h"

enum { BOXES = 400, SECTIONS = 300 };

/* Boxes by begin, in a plan that puts every one on top of the one before. */
typedef struct problem {
    int32_t begin[BOXES];
    int32_t end[BOXES];
    int64_t size[BOXES];
    int64_t offset[BOXES];
    int32_t first[SECTIONS + 2];
    int64_t loads[SECTIONS + 2];
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

/* What follows from the begin, end and size of all boxes. */
static void problem_count(problem *p) {
    memset(p->first, 0, sizeof p->first);
    memset(p->loads, 0, sizeof p->loads);
    p->total = p->load = 0;
    for (int32_t i = 0; i < BOXES; i++) {
        p->first[p->begin[i] + 1]++;
        p->offset[i] = p->total;
        p->total += p->size[i];
        for (int32_t s = p->begin[i]; s < p->end[i]; s++) p->loads[s] += p->size[i];
    }
    for (int32_t s = 0; s < SECTIONS; s++) {
        p->first[s + 1] += p->first[s];
        if (p->loads[s] <= p->load) continue;
        p->load = p->boxes.max_load = p->loads[s];
        p->boxes.peak = s;
    }
    p->pack.enough = p->load;
    p->pack.height = p->total;
}

static void problem_make(problem *p, uint64_t seed, const spad_host *host) {
    memset(p, 0, sizeof *p);
    spad__random random = {seed};
    for (int32_t i = 0; i < BOXES; i++)
        p->begin[i] = (int32_t)spad__random_below(&random, SECTIONS);
    qsort(p->begin, BOXES, sizeof *p->begin, by_begin);
    for (int32_t i = 0; i < BOXES; i++) {
        const int64_t life = INT64_C(1) << spad__random_below(&random, 7);
        p->end[i] = (int32_t)(p->begin[i] + life < SECTIONS ? p->begin[i] + life : SECTIONS);
        p->size[i] = spad__random_in(&random, 1, INT64_C(1) << spad__random_below(&random, 11));
    }
    p->boxes = (spad__boxes){.count = BOXES,
                             .sections = SECTIONS,
                             .begin = p->begin,
                             .end = p->end,
                             .size = p->size,
                             .first = p->first,
                             .load = p->loads};
    p->random.state = seed;
    p->stop = (spad__stop){.deadline = INT64_MAX, .now = &p->over};
    p->pack = (spad__pack){.boxes = &p->boxes,
                           .host = host,
                           .random = &p->random,
                           .stop = &p->stop,
                           .offset = p->offset};
    problem_count(p);
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

#endif
