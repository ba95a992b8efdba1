/* SPDX-License-Identifier: Apache-2.0
 * The planner: what it answers, traces as problems, and the failures of the host. */
#include "plan_fixture.h"

#include <stdlib.h>
#include <string.h>

#include "base/random.h"
#include "spad/stack.h"
#include "support/packing.h"

static void an_empty_problem_has_an_empty_plan(void **state) {
    (void)state;
    spad_plan *plan = new_plan();
    spad_plan_result *result = solve(plan, NULL);
    assert_int_equal(result->verdict, SPAD_PLAN_OPTIMAL);
    assert_int_equal(result->height, 0);
    spad_plan_result_destroy(result);
    add(plan, (spad_plan_buffer){.lower = 0, .upper = 1, .size = 0});
    result = solve(plan, NULL);
    assert_int_equal(result->height, 0);
    spad_plan_result_destroy(result);
    spad_plan_destroy(plan);
}

static void pins_that_collide_are_infeasible_and_proved(void **state) {
    (void)state;
    spad_plan *plan = new_plan();
    add(plan, (spad_plan_buffer){.lower = 0, .upper = 9, .size = 8, .pinned = true, .offset = 0});
    add(plan, (spad_plan_buffer){.lower = 5, .upper = 9, .size = 8, .pinned = true, .offset = 4});
    spad_plan_result *result = solve(plan, NULL);
    assert_int_equal(result->verdict, SPAD_PLAN_INFEASIBLE);
    assert_null(result->places);
    assert_string_equal(spad_plan_verdict_name(result->verdict), "infeasible");
    spad_plan_result_destroy(result);
    spad_plan_destroy(plan);
}

/* Decisions in a cycle raise each other by one byte at a time: a below b below c below a, in
 * windows that overlap by one byte. It must not take as many steps as there are bytes. */
static void circles_of_windows_are_seen(void **state) {
    (void)state;
    enum { HALF = 1 << 30 };
    for (int64_t alignment = 1; alignment <= 4; alignment *= 4) {
        spad_plan *plan = new_plan();
        for (int64_t i = 0; i < 3; i++) {
            const int64_t high = (i + 2) % 3; /* when its upper half is in use, and not the lower */
            /* at the end two of them use one byte each, far apart: a distance below 0 */
            spad_plan_gap gaps[4] = {[3] = {.lower = 3, .upper = 4}};
            if (i < 2) gaps[3].window_lower = i * HALF;
            if (i < 2) gaps[3].window_upper = i * HALF + 1;
            for (int64_t t = 0; t < 3; t++) {
                gaps[t] = (spad_plan_gap){.lower = t, .upper = t + 1};
                if (t == i) gaps[t].window_upper = HALF + 1;
                if (t != high) continue;
                gaps[t].window_lower = HALF;
                gaps[t].window_upper = 2 * (int64_t)HALF;
            }
            add(plan, (spad_plan_buffer){.lower = 0,
                                         .upper = 4,
                                         .size = 2 * (int64_t)HALF,
                                         .alignment = alignment,
                                         .gap_count = 4,
                                         .gaps = gaps});
        }
        const spad_plan_options options = {.node_limit = 100000};
        spad_plan_result *result = solve(plan, &options);
        assert_int_equal(result->verdict, SPAD_PLAN_OPTIMAL);
        assert_int_equal(result->height, 4 * (int64_t)HALF);
        spad_plan_result_destroy(result);
        spad_plan_destroy(plan);
    }
}

/* Without rounding, an empty buffer of another alignment would make boxes inexact. */
static void empty_buffers_do_not_count(void **state) {
    (void)state;
    spad_plan *plan = new_plan();
    spad_error error;
    assert_ok(packing_perfect(plan, 60, 4096, 5, &error), &error);
    add(plan, (spad_plan_buffer){.lower = 0, .upper = 1, .size = 0, .alignment = 7});
    spad_plan_result *result = solve(plan, NULL);
    assert_int_equal(result->verdict, SPAD_PLAN_OPTIMAL);
    assert_int_equal(result->height, 4096);
    spad_plan_result_destroy(result);
    spad_plan_destroy(plan);
}

/* Twelve buffers of which two fit a bank: the sixth bank is proved without a search. */
static void banks_are_counted(void **state) {
    (void)state;
    spad_plan *plan = new_plan();
    for (int i = 0; i < 12; i++)
        add(plan, (spad_plan_buffer){.lower = i, .upper = 40, .size = 40 + i % 3, .bank = 100});
    const spad_plan_options options = {.node_limit = 1};
    spad_plan_result *result = solve(plan, &options);
    assert_int_equal(result->bound, 540);
    assert_int_equal(result->proof, SPAD_PLAN_BY_BANKS);
    assert_int_equal(result->bound_time, 11);
    assert_true(result->height < 600);
    spad_plan_result_destroy(result);
    spad_plan_destroy(plan);
}

/* A large problem with pins, gaps and no time: still a plan, and soon. */
static void pins_in_a_large_problem(void **state) {
    (void)state;
    TEST_HAS_ONE_THREAD();
    enum { COUNT = 40000 };
    spad_plan *plan = new_plan();
    spad_error error;
    spad__random random = {77};
    for (int64_t i = 0; i < COUNT; i++) {
        spad_plan_buffer b = {.lower = i, .upper = i + 1 + spad__random_in(&random, 1, 20)};
        b.size = spad__random_in(&random, 1, 4000);
        b.pinned = i % 100 == 0;
        b.offset = b.pinned ? 4000 * (i / 100 % 4) : 0;
        b.hinted = i % 2 == 1;
        b.hint = 1000;
        add(plan, b);
    }
    spad_plan_options options = {.node_limit = 1000};
    spad_plan_result *result = solve(plan, &options);
    assert_true(result->height < 2 * result->bound);
    spad_plan_result_destroy(result);
    options.timeout_ns = 1;
    result = solve(plan, &options);
    assert_ok(spad_plan_check(NULL, plan, result->places, result->count, &error), &error);
    assert_true(result->nanoseconds < INT64_C(4000000000));
    spad_plan_result_destroy(result);
    spad_plan_destroy(plan);
}

static int count_calls(void *context, const spad_plan_progress *progress) {
    const int64_t *most = context;
    assert_true(progress->bound > 0);
    return ++((int64_t *)context)[1] >= most[0];
}

/* The search for any rule reports and can be cancelled as well. */
static void searches_of_every_kind_report(void **state) {
    (void)state;
    spad_plan *plan = new_plan();
    spad__random random = {6};
    for (int i = 0; i < 40; i++) {
        const int64_t lower = spad__random_in(&random, 0, 8);
        add(plan, (spad_plan_buffer){.lower = lower,
                                     .upper = lower + spad__random_in(&random, 1, 9),
                                     .size = spad__random_in(&random, 100, 999),
                                     .pinned = i == 0,
                                     .offset = 500});
    }
    int64_t calls[2] = {2, 0}; /* how many to wait for, how many there were */
    const spad_plan_options options = {.progress = count_calls, .context = calls};
    spad_plan_result *result = solve(plan, &options);
    assert_int_equal(calls[1], 2); /* it was cancelled, and not called again */
    assert_int_equal(result->verdict, SPAD_PLAN_FEASIBLE);
    spad_plan_result_destroy(result);
    spad_plan_destroy(plan);
}

/* One limit for all searches and threads together. */
static void nodes_are_spent_once(void **state) {
    (void)state;
    spad_plan *plan = new_plan();
    spad__random random = {31};
    for (int i = 0; i < 60; i++) { /* hulls first, then the search for any rule */
        const int64_t lower = spad__random_in(&random, 0, 30);
        add(plan, (spad_plan_buffer){.lower = lower,
                                     .upper = lower + spad__random_in(&random, 1, 20),
                                     .size = spad__random_in(&random, 100, 999),
                                     .alignment = i % 2 == 0 ? 1 : 64});
    }
    for (int32_t threads = 1; threads <= 4; threads++) {
        for (int64_t limit = 1; limit <= 3000; limit += 1 + limit) {
            const spad_plan_options options = {.node_limit = limit, .threads = threads};
            spad_plan_result *result = solve(plan, &options);
            assert_in_range(result->nodes, 1, limit);
            spad_plan_result_destroy(result);
        }
    }
    spad_plan_destroy(plan);
}

enum { TORN = 60, TORN_NODES = TORN * 2600 };

/* A perfect packing whose boxes were made a little larger: hard to pack at its load. */
static spad_plan *torn_packing(void) {
    int64_t box[TORN][4] = {{0, 20, 0, 100000}}; /* begin, end, bottom, top */
    spad__random random = {4};
    for (int count = 1; count < TORN;) {
        int64_t *old = box[spad__random_below(&random, (uint64_t)count)];
        const int side = spad__random_next(&random) & 1 ? 0 : 2;
        if (old[side + 1] - old[side] < (side == 0 ? 2 : 200)) continue;
        const int64_t cut = spad__random_in(&random, old[side] + 1, old[side + 1] - 1);
        memcpy(box[count], old, sizeof box[count]);
        box[count++][side] = cut;
        old[side + 1] = cut;
    }
    spad_plan *plan = new_plan();
    for (int i = 0; i < TORN; i++)
        add(plan,
            (spad_plan_buffer){.lower = box[i][0],
                               .upper = box[i][1],
                               .size = box[i][3] - box[i][2] + spad__random_in(&random, 0, 40)});
    return plan;
}

/* Long enough for ejection to take its turns with the exact search, for both goals. */
static void ejection_takes_turns(void **state) {
    (void)state;
    TEST_HAS_ONE_THREAD();
    spad_plan *plan = torn_packing();
    for (int32_t turn = 0; turn < 2; turn++) {
        spad_plan_options options = {.goal = turn == 0 ? SPAD_PLAN_MINIMIZE : SPAD_PLAN_DECIDE,
                                     .node_limit = TORN_NODES};
        spad_plan_result *one = solve(plan, &options);
        spad_plan_result *again = solve(plan, &options);
        assert_int_equal(one->nodes, TORN_NODES); /* neither a plan at the load nor a proof */
        assert_int_equal(again->nodes, TORN_NODES);
        assert_int_equal(one->height, again->height);
        for (size_t i = 0; i < one->count && one->places != NULL; i++)
            assert_int_equal(one->places[i].offset, again->places[i].offset);
        spad_plan_result_destroy(again);
        options.threads = 3;
        again = solve(plan, &options);
        assert_in_range(again->nodes, 1, TORN_NODES);
        spad_plan_result_destroy(again);
        assert_int_equal(spad_plan_set_capacity(plan, one->bound, NULL), SPAD_OK);
        spad_plan_result_destroy(one);
    }
    spad_plan_destroy(plan);
}

/* A host that is not made for threads, and a callback that uses it. */
typedef struct plain_host {
    spad_host host;
    int64_t calls;
} plain_host;

static void *count_resize(void *context, void *block, size_t old_size, size_t new_size) {
    ((plain_host *)context)->calls++;
    (void)old_size;
    if (new_size > 0) return realloc(block, new_size);
    free(block);
    return NULL;
}

static int use_the_host(void *context, const spad_plan_progress *progress) {
    plain_host *mine = context;
    spad_plan *plan;
    spad_error error;
    (void)progress;
    assert_ok(spad_plan_create(&plan, &mine->host, &error), &error);
    spad_plan_destroy(plan);
    return 0;
}

/* With -fsanitize=thread this shows whether the host is used by one thread at a time. */
static void a_callback_may_use_the_host(void **state) {
    (void)state;
    plain_host mine = {0};
    mine.host = (spad_host){.resize = count_resize, .context = &mine};
    spad_plan *plan;
    spad_error error;
    spad_plan_result *result;
    assert_ok(spad_plan_create(&plan, &mine.host, &error), &error);
    spad__random random = {4};
    for (int i = 0; i < 400; i++) {
        const int64_t lower = spad__random_in(&random, 0, 300);
        add(plan, (spad_plan_buffer){.lower = lower,
                                     .upper = lower + spad__random_in(&random, 1, 60),
                                     .size = spad__random_in(&random, 1000, 100000)});
    }
    const spad_plan_options options = {
        .timeout_ns = INT64_C(350000000), .threads = 4, .progress = use_the_host, .context = &mine};
    assert_ok(spad_plan_solve(&result, plan, &options, &error), &error);
    assert_non_null(result->places);
    spad_plan_result_destroy(result);
    spad_plan_destroy(plan);
    assert_true(mine.calls > 0);
}

/* Groups take about linear time, in solver and validator, whatever the order and the lives. */
static void long_chains_of_aliases(void **state) {
    (void)state;
    TEST_HAS_ONE_THREAD();
    enum { COUNT = 30000 };
    spad_plan *plan = new_plan();
    spad_error error;
    for (int64_t i = 0; i < COUNT; i++)
        add(plan, (spad_plan_buffer){
                      .lower = i, .upper = i % 2 == 0 ? i + 2 : 2 * COUNT, .size = 1 + i % 7});
    for (size_t i = COUNT - 1; i > 0; i--)
        assert_ok(spad_plan_alias(plan, i, i - 1, &error), &error);
    spad_plan_result *result = solve(plan, NULL);
    assert_int_equal(result->verdict, SPAD_PLAN_OPTIMAL);
    assert_int_equal(result->height, 7);
    spad_plan_result_destroy(result);
    spad_plan_destroy(plan);
}

static void pins_are_obstacles_from_the_start(void **state) {
    (void)state;
    spad_plan *plan = new_plan();
    add(plan, (spad_plan_buffer){.lower = 0, .upper = 9, .size = 4, .pinned = true, .offset = 6});
    const size_t large = add(plan, (spad_plan_buffer){.lower = 0, .upper = 9, .size = 8});
    const size_t small = add(plan, (spad_plan_buffer){.lower = 0, .upper = 9, .size = 6});
    spad_plan_result *result = solve(plan, NULL);
    assert_int_equal(result->verdict, SPAD_PLAN_OPTIMAL);
    assert_int_equal(result->places[small].offset, 0);
    assert_int_equal(result->places[large].offset, 10);
    spad_plan_result_destroy(result);
    spad_plan_destroy(plan);
}

static void tiles_share_bytes_in_other_lanes(void **state) {
    (void)state;
    static const int64_t starts[] = {0, 32, 64, 96};
    static const spad_lane_rule rules[] = {{1, 32, 4, starts}, {33, 128, 1, starts}};
    const spad_space space = {.name = "sbuf",
                              .lanes = 128,
                              .bytes = 1024,
                              .reserved = 24,
                              .alignment = 4,
                              .granule = 1,
                              .lane_rule_count = 2,
                              .lane_rules = rules};
    spad_plan *plan = new_plan();
    spad_error error;
    assert_ok(spad_plan_set_space(plan, &space, &error), &error);
    assert_int_equal(spad_plan_get_capacity(plan), 1000);
    for (int i = 0; i < 4; i++)
        add(plan, (spad_plan_buffer){.lower = 0, .upper = 5, .size = 100, .lanes = 32});
    spad_plan_result *result = solve(plan, NULL);
    assert_int_equal(result->height, 100);
    assert_int_equal(result->verdict, SPAD_PLAN_OPTIMAL);
    int64_t seen = 0;
    for (int i = 0; i < 4; i++) seen += result->places[i].lane;
    assert_int_equal(seen, 0 + 32 + 64 + 96);
    spad_plan_result_destroy(result);
    spad_plan_destroy(plan);
}

static void hints_are_taken_when_they_are_free(void **state) {
    (void)state;
    spad_plan *plan = new_plan();
    add(plan, (spad_plan_buffer){.lower = 0, .upper = 5, .size = 100});
    const size_t free_one = add(
        plan, (spad_plan_buffer){.lower = 7, .upper = 9, .size = 10, .hinted = true, .hint = 90});
    const size_t too_high = add(
        plan, (spad_plan_buffer){.lower = 10, .upper = 12, .size = 10, .hinted = true, .hint = 91});
    spad_plan_result *result = solve(plan, NULL);
    assert_int_equal(result->height, 100);
    assert_int_equal(result->places[free_one].offset, 90);
    assert_int_equal(result->places[too_high].offset, 0);
    spad_plan_result_destroy(result);
    spad_plan_destroy(plan);
}

static int cancel_at_once(void *context, const spad_plan_progress *progress) {
    (*(int *)context)++;
    assert_true(progress->bound > 0);
    return 1;
}

/* In a plan that is good enough but not the lowest, the topmost buffer may have a hint below. */
static void a_hint_may_lower_the_height(void **state) {
    (void)state;
    spad_plan *plan = new_plan();
    spad_error error;
    assert_ok(spad_plan_set_capacity(plan, 16, &error), &error);
    add(plan, (spad_plan_buffer){.lower = 0, .upper = 1, .size = 2, .pinned = true, .offset = 2});
    /* the larger one is placed first, at 0, so that the aligned one goes to 8 */
    add(plan, (spad_plan_buffer){.lower = 0, .upper = 1, .size = 2, .hinted = true, .hint = 5});
    const spad_plan_buffer aligned = {
        .lower = 0, .upper = 1, .size = 1, .alignment = 8, .hinted = true};
    add(plan, aligned);
    const spad_plan_options options = {.goal = SPAD_PLAN_DECIDE};
    spad_plan_result *result = solve(plan, &options);
    int64_t height;
    assert_ok(spad_plan_check(&height, plan, result->places, result->count, &error), &error);
    assert_int_equal(height, 7);
    assert_int_equal(result->height, height);
    spad_plan_result_destroy(result);
    spad_plan_destroy(plan);
}

static void limits_and_cancelling_still_give_a_plan(void **state) {
    (void)state;
    spad_plan *plan = new_plan();
    spad_error error;
    spad__random random = {4};
    for (int i = 0; i < 400; i++) { /* hard: long and short, no slack */
        const int64_t lower = spad__random_in(&random, 0, 300);
        add(plan, (spad_plan_buffer){.lower = lower,
                                     .upper = lower + spad__random_in(&random, 1, 60),
                                     .size = spad__random_in(&random, 1000, 100000)});
    }
    int calls = 0;
    const spad_plan_options several[] = {
        {.node_limit = 500, .seed = 3},
        {.node_limit = 3000, .seed = 3, .threads = 4},
        {.timeout_ns = 1, .seed = 3},
        {.progress = cancel_at_once, .context = &calls, .seed = 3}};
    for (size_t i = 0; i < sizeof several / sizeof *several; i++) {
        spad_plan_result *result = solve(plan, &several[i]);
        assert_non_null(result->places);
        assert_true(result->height >= result->bound);
        assert_ok(spad_plan_check(NULL, plan, result->places, result->count, &error), &error);
        spad_plan_result_destroy(result);
    }
    assert_int_equal(calls, 1);
    spad_plan_destroy(plan);
}

static void one_thread_and_one_seed_give_one_plan(void **state) {
    (void)state;
    spad_plan *plan = new_plan();
    spad_error error;
    assert_ok(packing_perfect(plan, 150, 4096, 9, &error), &error);
    const spad_plan_options options = {.node_limit = 30000, .seed = 11};
    spad_plan_result *first = solve(plan, &options);
    spad_plan_result *second = solve(plan, &options);
    assert_memory_equal(first->places, second->places, first->count * sizeof *first->places);
    assert_int_equal(first->nodes, second->nodes);
    spad_plan_result_destroy(second);
    const spad_plan_options team = {.seed = 11, .threads = 4};
    second = solve(plan, &team);
    assert_int_equal(second->height, first->height);
    spad_plan_result_destroy(first);
    spad_plan_result_destroy(second);
    spad_plan_destroy(plan);
}

/* ---- soundness at the edges -------------------------------------------------------- */

/* Sizes that differ only above bit 40 must not look alike to the memory of failures:
 * scaled up, no bound passes the optimum. The last byte keeps the unit at 1. */
static void a_proof_does_not_depend_on_the_scale(void **state) {
    (void)state;
    static const int64_t rows[][3] = {{0, 2, 243},  {4, 9, 56},  {7, 10, 180}, {7, 8, 102},
                                      {5, 11, 456}, {2, 7, 144}, {2, 6, 231},  {9, 10, 203},
                                      {8, 11, 270}, {5, 8, 232}, {7, 9, 68},   {10, 11, 200},
                                      {0, 5, 87}};
    enum { OPTIMUM = 1132 };
    const spad_plan_options options = {.timeout_ns = INT64_C(500000000)};
    for (int shift = 0; shift <= 40; shift += 20) {
        spad_plan *plan = new_plan();
        spad_error error;
        spad_plan_result *result;
        for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
            const spad_plan_buffer b = {
                .lower = rows[i][0], .upper = rows[i][1], .size = rows[i][2] << shift};
            assert_ok(spad_plan_add(NULL, plan, &b, &error), &error);
        }
        const spad_plan_buffer one = {.lower = 1000, .upper = 1001, .size = 1};
        assert_ok(spad_plan_add(NULL, plan, &one, &error), &error);
        assert_ok(spad_plan_solve(&result, plan, &options, &error), &error);
        assert_true(result->bound <= (int64_t)OPTIMUM << shift);
        assert_true(result->height >= (int64_t)OPTIMUM << shift);
        spad_plan_result_destroy(result);
        spad_plan_destroy(plan);
    }
}

/* ---- traces ------------------------------------------------------------------------ */

/* The double buffering of a manager in automatic mode, placed by the planner
 * beside a tensor that has its address. */
static void a_trace_becomes_a_problem(void **state) {
    (void)state;
    const spad_target *target;
    spad_trace *trace;
    spad_stack *stack;
    spad_plan *plan;
    spad_plan_result *result;
    spad_error error;
    spad_rect rect;
    size_t first;
    assert_ok(spad_target_find(&target, "trn2", &error), &error);
    assert_ok(spad_trace_create(&trace, target, NULL, &error), &error);
    const spad_stack_options options = {.trace = trace};
    assert_ok(spad_stack_create_auto(&stack, target, "sbuf", &options, &error), &error);
    spad_stack_set_automatic(stack, false);
    assert_ok(spad_stack_alloc_heap(&rect, stack, SPAD_SHAPE(128, 100), SPAD_UINT8, "pinned", NULL,
                                    &error),
              &error);
    spad_stack_set_automatic(stack, true);
    assert_ok(spad_stack_open_scope(stack, 2, NULL, &error), &error);
    for (int i = 0; i < 4; i++) {
        assert_ok(spad_stack_alloc_stack(&rect, stack, SPAD_SHAPE(128, 512), SPAD_BFLOAT16, NULL,
                                         NULL, &error),
                  &error);
        assert_ok(spad_stack_increment_section(stack, &error), &error);
    }
    assert_ok(spad_stack_close_scope(stack, &error), &error);

    assert_ok(spad_plan_create(&plan, NULL, &error), &error);
    assert_ok(spad_plan_set_space(plan, &target->spaces[0], &error), &error);
    assert_ok(spad_plan_add_trace(&first, plan, trace, 0, &error), &error);
    assert_int_equal(first, 0);
    assert_int_equal(spad_plan_count(plan), 5);
    const spad_plan_buffer *pinned = spad_plan_get(plan, 0);
    assert_string_equal(pinned->name, "pinned");
    assert_true(pinned->pinned);
    assert_int_equal(pinned->offset, 212884);
    assert_int_equal(pinned->upper, (int64_t)spad_trace_event_count(trace));
    assert_false(spad_plan_get(plan, 1)->pinned);
    assert_int_equal(spad_plan_get(plan, 1)->lanes, 128);
    assert_int_equal(spad_plan_get(plan, 1)->alignment, 2);
    const spad_plan_options decide = {.goal = SPAD_PLAN_DECIDE};
    assert_ok(spad_plan_solve(&result, plan, &decide, &error), &error);
    assert_true(result->verdict == SPAD_PLAN_FEASIBLE || result->verdict == SPAD_PLAN_OPTIMAL);
    assert_ok(spad_plan_check(NULL, plan, result->places, result->count, &error), &error);
    spad_plan_result_destroy(result);

    /* once more: names are made unique, and an unknown space adds nothing */
    assert_ok(spad_plan_add_trace(&first, plan, trace, 0, &error), &error);
    assert_int_equal(first, 5);
    assert_string_equal(spad_plan_get(plan, 5)->name, "pinned#0");
    assert_int_equal(spad_plan_add_trace(&first, plan, trace, 9, &error), SPAD_ERR_ARGUMENT);
    assert_ok(spad_plan_add_trace(&first, plan, trace, 0, &error), &error);
    assert_string_equal(spad_plan_get(plan, 10)->name, "pinned#1");
    assert_int_equal(spad_plan_count(plan), 15);
    spad_plan_destroy(plan);
    spad_stack_destroy(stack);
    spad_trace_destroy(trace);
}

/* In a space sizes are whole granules and addresses multiples of its alignment. */
static void a_space_rounds_what_it_is_given(void **state) {
    (void)state;
    const spad_space pad = {
        .name = "pad", .lanes = 1, .bytes = 1000, .alignment = 12, .granule = 32};
    spad_plan *plan = new_plan();
    spad_error error;
    assert_ok(spad_plan_set_space(plan, &pad, &error), &error);
    const spad_plan_buffer b = {.lower = 0, .upper = 1, .size = 33, .alignment = 8};
    assert_ok(spad_plan_add(NULL, plan, &b, &error), &error);
    assert_int_equal(spad_plan_get(plan, 0)->size, 64);
    assert_int_equal(spad_plan_get(plan, 0)->alignment, 24);
    spad_plan_destroy(plan);
}

/* ---- memory ------------------------------------------------------------------------ */

static spad_status solve_everything(const spad_host *host, void *context) {
    const bool boxes = *(const bool *)context;
    spad_plan *plan;
    spad_plan_result *result = NULL;
    spad_plan_reason *reason = NULL;
    spad_error error;
    spad_status status = spad_plan_create(&plan, host, &error);
    if (status != SPAD_OK) return status;
    spad__random random = {boxes ? 8 : 9};
    for (int i = 0; i < 24 && status == SPAD_OK; i++) {
        const int64_t lower = spad__random_in(&random, 0, 9);
        const spad_plan_gap gap = {lower, lower + 1, 0, 0};
        char name[8] = {(char)('a' + i)};
        const spad_plan_buffer b = {.name = name,
                                    .lower = lower,
                                    .upper = lower + 2 + spad__random_in(&random, 0, 5),
                                    .size = spad__random_in(&random, 1, 40),
                                    .alignment = boxes || i % 4 > 0 ? 1 : 4,
                                    .gap_count = !boxes && i % 5 == 0,
                                    .gaps = &gap};
        status = spad_plan_add(NULL, plan, &b, &error);
    }
    if (status == SPAD_OK && !boxes) status = spad_plan_alias(plan, 1, 2, &error);
    if (status == SPAD_OK && !boxes) status = spad_plan_apart(plan, 3, 4, &error);
    if (status == SPAD_OK) status = spad_plan_set_capacity(plan, 60, &error);
    const spad_plan_options options = {.node_limit = 200, .seed = 1};
    if (status == SPAD_OK) status = spad_plan_solve(&result, plan, &options, &error);
    if (status == SPAD_OK && result->verdict > SPAD_PLAN_FEASIBLE)
        status = spad_plan_explain(&reason, plan, result, 1, NULL, &error);
    if (status == SPAD_OK) status = spad_plan_set_capacity(plan, 1 << 20, &error);
    if (status == SPAD_OK)
        status = spad_plan_check(NULL, plan, result->places, result->count, &error);
    spad_plan_reason_destroy(reason);
    spad_plan_result_destroy(result);
    spad_plan_destroy(plan);
    return status;
}

/* Tiles in lanes, with aliases, pairs kept apart, pins, hints and banks. */
static spad_status solve_lanes(const spad_host *host, void *context) {
    static const spad_space space = {.name = "lanes",
                                     .lanes = 4,
                                     .bytes = 1 << 20,
                                     .alignment = 1,
                                     .granule = 1,
                                     .bank_bytes = 64,
                                     .banks_exclusive = true};
    (void)context;
    spad_plan *plan;
    spad_plan_result *result = NULL;
    spad_error error;
    spad_status status = spad_plan_create(&plan, host, &error);
    if (status == SPAD_OK) status = spad_plan_set_space(plan, &space, &error);
    spad__random random = {17};
    for (int i = 0; i < 16 && status == SPAD_OK; i++) {
        const spad_plan_buffer b = {.lower = spad__random_in(&random, 0, 4),
                                    .upper = spad__random_in(&random, 5, 9),
                                    .size = spad__random_in(&random, 1, 40),
                                    .lanes = spad__random_in(&random, 1, 3),
                                    .pinned = i % 8 == 7,
                                    .offset = i * 64,
                                    .hinted = i % 2 == 0,
                                    .hint = i};
        status = spad_plan_add(NULL, plan, &b, &error);
    }
    if (status == SPAD_OK) status = spad_plan_alias(plan, 1, 2, &error);
    if (status == SPAD_OK) status = spad_plan_apart(plan, 3, 4, &error);
    const spad_plan_options options = {.node_limit = 100};
    if (status == SPAD_OK) status = spad_plan_solve(&result, plan, &options, &error);
    if (status == SPAD_OK)
        status = spad_plan_check(NULL, plan, result->places, result->count, &error);
    spad_plan_result_destroy(result);
    spad_plan_destroy(plan);
    return status;
}

/* So many boxes that the core and ejection come before the exact search. */
static spad_status solve_wide(const spad_host *host, void *context) {
    (void)context;
    spad_plan *plan;
    spad_plan_result *result = NULL;
    spad_error error;
    spad_status status = spad_plan_create(&plan, host, &error);
    if (status == SPAD_OK) status = packing_shaped(plan, PACKING_RANDOM, 700, 21, &error);
    const spad_plan_options options = {.node_limit = 50};
    if (status == SPAD_OK) status = spad_plan_solve(&result, plan, &options, &error);
    if (status == SPAD_OK)
        status = spad_plan_check(NULL, plan, result->places, result->count, &error);
    spad_plan_result_destroy(result);
    spad_plan_destroy(plan);
    return status;
}

static void every_allocation_may_fail(void **state) {
    (void)state;
    TEST_HAS_ONE_THREAD();
    bool boxes = true;
    test_fail_each_allocation(solve_everything, &boxes);
    boxes = false;
    test_fail_each_allocation(solve_everything, &boxes);
    test_fail_each_allocation(solve_lanes, NULL);
    test_fail_each_allocation(solve_wide, NULL);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(circles_of_windows_are_seen),
        cmocka_unit_test(empty_buffers_do_not_count),
        cmocka_unit_test(banks_are_counted),
        cmocka_unit_test(pins_in_a_large_problem),
        cmocka_unit_test(searches_of_every_kind_report),
        cmocka_unit_test(nodes_are_spent_once),
        cmocka_unit_test(a_callback_may_use_the_host),
        cmocka_unit_test(long_chains_of_aliases),
        cmocka_unit_test(an_empty_problem_has_an_empty_plan),
        cmocka_unit_test(pins_that_collide_are_infeasible_and_proved),
        cmocka_unit_test(pins_are_obstacles_from_the_start),
        cmocka_unit_test(tiles_share_bytes_in_other_lanes),
        cmocka_unit_test(hints_are_taken_when_they_are_free),
        cmocka_unit_test(a_hint_may_lower_the_height),
        cmocka_unit_test(limits_and_cancelling_still_give_a_plan),
        cmocka_unit_test(one_thread_and_one_seed_give_one_plan),
        cmocka_unit_test(a_proof_does_not_depend_on_the_scale),
        cmocka_unit_test(a_trace_becomes_a_problem),
        cmocka_unit_test(a_space_rounds_what_it_is_given),
        cmocka_unit_test(ejection_takes_turns),
        cmocka_unit_test(every_allocation_may_fail),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
