/* SPDX-License-Identifier: Apache-2.0
 *
 * Vector clocks against brute force. Random lives on a few programs, whose order is only partial:
 *   - the height is the lowest one, by trying every offset of every buffer;
 *   - the largest set of buffers of which no two are ordered is the load, by trying every subset
 * (of sizes that are rounded up to an alignment that all have);
 *   - the bound is never above the lowest height, and plans obey spad_plan_check.
 *
 *     test_plan_order [PROBLEMS [SEED]]
 */
#include <stdlib.h>
#include <string.h>

#include "base/random.h"
#include "spad/plan.h"
#include "support/support.h"

enum { BUFFERS = 6, PROGRAMS = 3, STEPS = 5, TALLEST = 24 };

static int64_t problems = 20000;
static uint64_t seed = 16;

static int64_t below(spad__random *random, int64_t bound) {
    return (int64_t)spad__random_below(random, (uint64_t)bound);
}

typedef struct lives {
    int count;
    int programs;
    int64_t lower[BUFFERS][PROGRAMS];
    int64_t upper[BUFFERS][PROGRAMS];
    int64_t size[BUFFERS];
    int64_t alignment[BUFFERS];
    int64_t offset[BUFFERS];
} lives;

static lives random_lives(spad__random *random) {
    lives l = {.count = 1 + (int)below(random, BUFFERS),
               .programs = 1 + (int)below(random, PROGRAMS)};
    const bool aligned = below(random, 3) == 0;
    for (int i = 0; i < l.count; i++) {
        bool empty = true;
        for (int k = 0; k < l.programs; k++) {
            l.lower[i][k] = below(random, STEPS);
            l.upper[i][k] = l.lower[i][k] + below(random, STEPS - l.lower[i][k]);
            empty = empty && l.upper[i][k] == l.lower[i][k];
        }
        if (empty) l.upper[i][below(random, l.programs)]++;
        l.size[i] = below(random, 5);
        l.alignment[i] = aligned ? 1 + below(random, 2) : 1;
    }
    return l;
}

static bool is_before(const lives *l, int a, int b) {
    for (int k = 0; k < l->programs; k++)
        if (l->upper[a][k] > l->lower[b][k]) return false;
    return true;
}

static bool may_share(const lives *l, int a, int b) {
    return is_before(l, a, b) || is_before(l, b, a) || l->size[a] == 0 || l->size[b] == 0;
}

/* Can buffers from number `i` on be placed below `height`? */
static bool place_all(lives *l, int i, int64_t height) {
    if (i == l->count) return true;
    for (int64_t at = 0; at + l->size[i] <= height; at += l->alignment[i]) {
        bool fits = true;
        for (int j = 0; j < i && fits; j++)
            fits = may_share(l, i, j) || at >= l->offset[j] + l->size[j] ||
                   l->offset[j] >= at + l->size[i];
        l->offset[i] = at;
        if (fits && place_all(l, i + 1, height)) return true;
    }
    return false;
}

static int64_t lowest_height(lives *l) {
    int64_t height = 0;
    while (height < TALLEST + BUFFERS && !place_all(l, 0, height)) height++;
    return height;
}

/* The alignment that all buffers with bytes have in common. */
static int64_t common_alignment(const lives *l) {
    int64_t grain = 2;
    for (int i = 0; i < l->count; i++)
        if (l->size[i] > 0 && l->alignment[i] < grain) grain = l->alignment[i];
    return grain;
}

static int64_t rounded(int64_t size, int64_t grain) {
    return (size + grain - 1) / grain * grain;
}

/* In bytes of which every size is rounded up to the grain. */
static int64_t largest_antichain(const lives *l, int64_t grain) {
    int64_t most = 0;
    for (unsigned set = 0; set < 1u << l->count; set++) {
        int64_t sum = 0;
        bool apart = true;
        for (int i = 0; i < l->count; i++) {
            if ((set >> i & 1) == 0) continue;
            sum += rounded(l->size[i], grain);
            for (int j = 0; j < i; j++)
                if ((set >> j & 1) != 0 && (is_before(l, i, j) || is_before(l, j, i)))
                    apart = false;
        }
        if (apart && sum > most) most = sum;
    }
    return most;
}

/* What may be alive together is the largest antichain, or a moment has as much. The bound needs the
 * one that is largest with rounded sizes; without them another one may be larger. */
static void check_together(const lives *l, const spad_plan_result *r) {
    const int64_t grain = common_alignment(l);
    const int64_t largest = largest_antichain(l, 1);
    const int64_t found = r->together_bytes > r->peak_load ? r->together_bytes : r->peak_load;
    int64_t sum = 0, whole = 0;
    for (size_t k = 0; k < r->together_count; k++) {
        sum += l->size[r->together[k]];
        whole += rounded(l->size[r->together[k]], grain);
        for (size_t j = 0; j < k; j++)
            assert_true(!may_share(l, (int)r->together[j], (int)r->together[k]));
    }
    assert_int_equal(sum, r->together_bytes);
    assert_true(found == largest || (grain > 1 && found < largest));
    if (r->together_count > 0) assert_int_equal(whole, largest_antichain(l, grain));
}

static void one_problem(spad__random *random) {
    lives l = random_lives(random);
    spad_plan *plan;
    spad_error error;
    assert_ok(spad_plan_create(&plan, NULL, &error), &error);
    for (int i = 0; i < l.count; i++) {
        const spad_plan_buffer buffer = {.size = l.size[i],
                                         .alignment = l.alignment[i],
                                         .clock_count = (size_t)l.programs,
                                         .lower_clock = l.lower[i],
                                         .upper_clock = l.upper[i]};
        assert_ok(spad_plan_add(NULL, plan, &buffer, &error), &error);
    }
    const int64_t lowest = lowest_height(&l);
    spad_plan_result *result;
    assert_ok(spad_plan_solve(&result, plan, NULL, &error), &error);
    assert_int_equal(result->verdict, SPAD_PLAN_OPTIMAL);
    assert_int_equal(result->height, lowest);
    int64_t height;
    assert_ok(spad_plan_check(&height, plan, result->places, result->count, &error), &error);
    assert_int_equal(height, result->height);
    check_together(&l, result);
    spad_plan_result_destroy(result);
    if (lowest > 0) { /* one byte less does not fit: proved */
        assert_ok(spad_plan_set_capacity(plan, lowest - 1, &error), &error);
        assert_ok(spad_plan_solve(&result, plan, NULL, &error), &error);
        assert_int_equal(result->verdict, SPAD_PLAN_INFEASIBLE);
        spad_plan_result_destroy(result);
    }
    spad_plan_destroy(plan);
}

static void plans_are_the_lowest(void **state) {
    (void)state;
    spad__random random = {seed};
    for (int64_t i = 0; i < problems; i++) one_problem(&random);
}

int main(int argc, char **argv) {
    if (argc > 1) problems = atoll(argv[1]);
    if (argc > 2) seed = strtoull(argv[2], NULL, 10);
    const struct CMUnitTest tests[] = {cmocka_unit_test(plans_are_the_lowest)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
