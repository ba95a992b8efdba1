/* SPDX-License-Identifier: Apache-2.0
 *
 * What limits promise. Node limits hold exactly. A deadline is examined in every
 * phase: time here is work, not seconds. The planner is compiled for this test so that every
 * basic block calls a counter, and the clock that it reads is that counter. So a deadline of D
 * "nanoseconds" is one of D blocks, and what is executed after it is the overshoot, the
 * same on every run.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "base/random.h"
#include "spad/plan.h"
#include "support/packing.h"
#include "support/support.h"

/* ---- the clock --------------------------------------------------------------------- */

static int64_t blocks;

void __sanitizer_cov_trace_pc(void);
void __sanitizer_cov_trace_pc(void) {
    blocks++;
}

int __wrap_clock_gettime(clockid_t clock, struct timespec *now);
int __wrap_clock_gettime(clockid_t clock, struct timespec *now) {
    (void)clock;
    *now = (struct timespec){.tv_sec = blocks / 1000000000, .tv_nsec = blocks % 1000000000};
    return 0;
}

/* ---- problems ---------------------------------------------------------------------- */

static void add(spad_plan *plan, spad_plan_buffer buffer) {
    spad_error error;
    assert_ok(spad_plan_add(NULL, plan, &buffer, &error), &error);
}

static int64_t draw(spad__random *random, int64_t least, int64_t most) {
    return spad__random_in(random, least, most);
}

/* Boxes of any beginning; few of them are hard for the exact search. */
static void fill_boxes(spad_plan *plan, int32_t count) {
    spad_error error;
    assert_ok(packing_shaped(plan, PACKING_RANDOM, count, 7, &error), &error);
}

static void fill_perfect(spad_plan *plan, int32_t count) {
    spad_error error;
    assert_ok(packing_perfect(plan, count, 100000, 3, &error), &error);
}

/* All live together, with alignments and a pin: as many conflicts as pairs. */
static void fill_dense(spad_plan *plan, int32_t count) {
    spad__random random = {11};
    add(plan, (spad_plan_buffer){.upper = 100, .size = 3, .pinned = true, .offset = 5});
    for (int32_t i = 1; i < count; i++)
        add(plan, (spad_plan_buffer){.lower = draw(&random, 0, 40),
                                     .upper = draw(&random, 60, 100),
                                     .size = draw(&random, 1, 99),
                                     .alignment = INT64_C(1) << draw(&random, 0, 3)});
}

/* Many pieces with windows each. */
static void fill_pieces(spad_plan *plan, int32_t count) {
    enum { GAPS = 40 };
    spad__random random = {12};
    for (int32_t i = 0; i < count; i++) {
        spad_plan_gap gaps[GAPS];
        for (int64_t k = 0; k < GAPS; k++)
            gaps[k] = (spad_plan_gap){10 * k + 1, 10 * k + draw(&random, 2, 8), draw(&random, 0, 3),
                                      draw(&random, 3, 8)};
        add(plan,
            (spad_plan_buffer){
                .upper = 10 * GAPS, .size = draw(&random, 8, 20), .gap_count = GAPS, .gaps = gaps});
    }
}

static void fill_hints(spad_plan *plan, int32_t count) {
    spad__random random = {13};
    spad_error error;
    for (int32_t i = 0; i < count; i++)
        add(plan, (spad_plan_buffer){.upper = draw(&random, 1, 100),
                                     .size = draw(&random, 1, 9),
                                     .hinted = true,
                                     .hint = draw(&random, 0, 4 * count)});
    for (int32_t i = 1; i < count; i++)
        assert_ok(spad_plan_apart(plan, 0, (size_t)i, &error), &error);
}

static void fill_pins(spad_plan *plan, int32_t count) {
    spad__random random = {14};
    for (int32_t i = 0; i < count; i++)
        add(plan, (spad_plan_buffer){.upper = draw(&random, 1, 1000),
                                     .size = draw(&random, 1, 9),
                                     .pinned = i % 2 == 0,
                                     .offset = 10 * i});
}

static void fill_aliases(spad_plan *plan, int32_t count) {
    spad__random random = {15};
    spad_error error;
    for (int32_t i = 0; i < count; i++) {
        const int64_t lower = draw(&random, 0, 500);
        add(plan, (spad_plan_buffer){.lower = lower,
                                     .upper = lower + draw(&random, 1, 100),
                                     .size = draw(&random, 1, 99)});
        if (i % 4 == 3) assert_ok(spad_plan_alias(plan, (size_t)i, (size_t)i - 3, &error), &error);
    }
}

/* Tiles of some lanes each, for which every lane is tried. */
static void fill_lanes(spad_plan *plan, int32_t count) {
    static const spad_space space = {
        .name = "lanes", .lanes = 128, .bytes = SPAD_UNBOUNDED, .alignment = 1, .granule = 1};
    spad__random random = {16};
    spad_error error;
    assert_ok(spad_plan_set_space(plan, &space, &error), &error);
    for (int32_t i = 0; i < count; i++) {
        const int64_t lower = draw(&random, 0, 50);
        add(plan, (spad_plan_buffer){.lower = lower,
                                     .upper = lower + draw(&random, 1, 50),
                                     .size = draw(&random, 1, 99),
                                     .lanes = draw(&random, 1, 60)});
    }
}

typedef struct problem {
    const char *name;
    void (*fill)(spad_plan *plan, int32_t count);
    int32_t count;
} problem;

static spad_plan *make(const problem *p) {
    spad_error error;
    spad_plan *plan;
    assert_ok(spad_plan_create(&plan, NULL, &error), &error);
    p->fill(plan, p->count);
    return plan;
}

static const problem problems[] = {{"boxes for the exact search", fill_boxes, 300},
                                   {"a perfect packing", fill_perfect, 200},
                                   {"a large perfect packing", fill_perfect, 9000},
                                   {"boxes with a core", fill_boxes, 3000},
                                   {"boxes to eject", fill_boxes, 20000},
                                   {"boxes in strips", fill_boxes, 70000},
                                   {"many conflicts", fill_dense, 600},
                                   {"more items than the exact search takes", fill_dense, 4000},
                                   {"many pieces", fill_pieces, 100},
                                   {"hints, kept apart", fill_hints, 2000},
                                   {"pins", fill_pins, 5000},
                                   {"aliases", fill_aliases, 1000},
                                   {"few tiles in many lanes", fill_lanes, 300},
                                   {"many tiles in many lanes", fill_lanes, 2000}};

enum { PROBLEMS = sizeof problems / sizeof *problems };

/* ---- deadlines --------------------------------------------------------------------- */

/* What may be executed after the deadline: what there is between two readings of the clock, and
 * what a first plan and the bound, which are always finished, cost for every buffer. */
static int64_t allowance(const problem *p) {
    return 1000000 + 4000 * (int64_t)p->count;
}

/* The longest deadline that is tried: beyond it, large problems repeat what they did before. */
static int64_t most_blocks(const problem *p) {
    return p->count <= 1000 ? 17000000 : p->count <= 5000 ? 4200000 : 1;
}

static void check_overshoot(const problem *p, const char *what, int64_t deadline, int64_t spent) {
    if (spent - deadline <= allowance(p)) return;
    fail_msg("%s of %s, %d buffers: %lld blocks after a deadline of %lld", what, p->name,
             (int)p->count, (long long)(spent - deadline), (long long)deadline);
}

/* From a deadline that has passed before anything is done to one in the last phase. */
static void deadlines_are_seen_in_every_phase(void **state) {
    (void)state;
    for (int i = 0; i < PROBLEMS; i++) {
        const problem *p = &problems[i];
        spad_plan *plan = make(p);
        spad_error error;
        bool over = false;
        for (int64_t deadline = 1; deadline <= most_blocks(p) && !over; deadline *= 4) {
            const spad_plan_options options = {.timeout_ns = deadline};
            spad_plan_result *result;
            const int64_t begin = blocks;
            assert_ok(spad_plan_solve(&result, plan, &options, &error), &error);
            check_overshoot(p, "solving", deadline, blocks - begin);
            over = result->verdict == SPAD_PLAN_OPTIMAL; /* a longer one changes nothing */
            assert_true(result->verdict <= SPAD_PLAN_FEASIBLE);
            assert_ok(spad_plan_check(NULL, plan, result->places, result->count, &error), &error);
            spad_plan_result_destroy(result);
        }
        spad_plan_destroy(plan);
    }
}

/* A reason solves again and again within its time. */
static void reasons_end_in_time(void **state) {
    (void)state;
    for (int i = 0; i < PROBLEMS; i++) {
        const problem *p = &problems[i];
        if (p->count > 5000 || p->fill == fill_pins) continue; /* a pin may not be above it */
        spad_plan *plan = make(p);
        spad_error error;
        assert_ok(spad_plan_set_capacity(plan, 64, &error), &error);
        const spad_plan_options options = {.timeout_ns = 1};
        spad_plan_result *result;
        assert_ok(spad_plan_solve(&result, plan, &options, &error), &error);
        assert_int_equal(result->verdict, SPAD_PLAN_INFEASIBLE);
        for (int64_t deadline = 1; deadline <= 300000; deadline *= 512) {
            spad_plan_reason *reason;
            const int64_t begin = blocks;
            assert_ok(spad_plan_explain(&reason, plan, result, deadline, NULL, &error), &error);
            check_overshoot(p, "explaining", deadline, blocks - begin);
            spad_plan_reason_destroy(reason);
        }
        spad_plan_result_destroy(result);
        spad_plan_destroy(plan);
    }
}

/* ---- nodes ------------------------------------------------------------------------- */

static void node_limits_hold_exactly(void **state) {
    (void)state;
    int reached = 0;
    for (int i = 0; i < PROBLEMS; i++) {
        const problem *p = &problems[i];
        if (p->count > 300 || p->fill == fill_lanes) continue;
        spad_plan *plan = make(p);
        spad_error error;
        for (int64_t limit = 1; limit <= 200; limit += 1 + limit / 2) {
            const spad_plan_options options = {.node_limit = limit};
            spad_plan_result *result;
            assert_ok(spad_plan_solve(&result, plan, &options, &error), &error);
            assert_in_range(result->nodes, 0, limit);
            reached += result->nodes == limit;
            spad_plan_result_destroy(result);
        }
        spad_plan_destroy(plan);
    }
    assert_true(reached > 10); /* limits were what ended it */
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(deadlines_are_seen_in_every_phase),
                                       cmocka_unit_test(reasons_end_in_time),
                                       cmocka_unit_test(node_limits_hold_exactly)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
