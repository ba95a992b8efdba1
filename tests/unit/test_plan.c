/* SPDX-License-Identifier: Apache-2.0
 * The planner: what it refuses, what it answers, what the validator catches. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/random.h"
#include "plan/stop.h"
#include "spad/plan.h"
#include "spad/stack.h"
#include "support/packing.h"
#include "support/support.h"

static spad_plan *new_plan(void) {
    spad_error error;
    spad_plan *plan;
    assert_ok(spad_plan_create(&plan, NULL, &error), &error);
    return plan;
}

static size_t add(spad_plan *plan, spad_plan_buffer buffer) {
    spad_error error;
    size_t number;
    assert_ok(spad_plan_add(&number, plan, &buffer, &error), &error);
    return number;
}

static spad_plan_result *solve(const spad_plan *plan, const spad_plan_options *options) {
    spad_error error;
    spad_plan_result *result;
    assert_ok(spad_plan_solve(&result, plan, options, &error), &error);
    if (result->verdict <= SPAD_PLAN_FEASIBLE)
        assert_ok(spad_plan_check(NULL, plan, result->places, result->count, &error), &error);
    return result;
}

/* ---- what is refused --------------------------------------------------------------- */

static void buffers_that_break_their_own_rules_are_refused(void **state) {
    (void)state;
    static const spad_plan_gap backwards = {.lower = 3, .upper = 2};
    static const spad_plan_gap wide = {.lower = 1, .upper = 2, .window_upper = 99};
    static const struct {
        spad_plan_buffer buffer;
        spad_status status;
        const char *message;
    } cases[] = {
        {{.name = "a", .lower = 5, .upper = 5, .size = 1},
         SPAD_ERR_ARGUMENT,
         "buffer 'a' lives from 5 to 5: upper must be above lower"},
        {{.lower = 0, .upper = 1, .size = -4},
         SPAD_ERR_ARGUMENT,
         "buffer number 1 has a negative size of -4 B"},
        {{.name = "a", .lower = 0, .upper = 1, .size = 4, .alignment = -2},
         SPAD_ERR_ALIGNMENT,
         "buffer 'a' has alignment -2; use 1 for none"},
        {{.name = "taken", .lower = 0, .upper = 1, .size = 4},
         SPAD_ERR_NAME,
         "there is already a buffer 'taken'"},
        {{.name = "a", .lower = 0, .upper = 1, .size = 4, .pinned = true, .offset = 98},
         SPAD_ERR_BOUNDS,
         "buffer 'a' is pinned at 98 and ends at 102, above the capacity of 100 B"},
        {{.name = "a", .lower = 0, .upper = 1, .size = 4, .pinned = true, .offset = -1},
         SPAD_ERR_BOUNDS,
         "buffer 'a' is pinned at offset -1"},
        {{.name = "a",
          .lower = 0,
          .upper = 1,
          .size = 4,
          .alignment = 8,
          .pinned = true,
          .offset = 4},
         SPAD_ERR_ALIGNMENT,
         "buffer 'a' is pinned at 4, which is not a multiple of its alignment 8"},
        {{.name = "a", .lower = 0, .upper = 1, .size = 4, .bank = 8, .pinned = true, .offset = 6},
         SPAD_ERR_BOUNDS,
         "buffer 'a' is pinned at 6 and crosses a boundary of its 8 B banks"},
        {{.name = "a", .lower = 0, .upper = 1, .size = 4, .pinned = true, .lane = 1},
         SPAD_ERR_LANES,
         "buffer 'a' of 1 lanes is pinned at lane 1, which is not a start lane for it"},
        {{.name = "a", .lower = 0, .upper = 1, .size = 9, .bank = 8},
         SPAD_ERR_NO_FIT,
         "buffer 'a' of 9 B does not fit a bank of 8 B"},
        {{.name = "a", .lower = 0, .upper = 1, .size = 4, .alignment = 3, .bank = 8},
         SPAD_ERR_ALIGNMENT,
         "buffer 'a' has alignment 3 and banks of 8 B; one must divide the other"},
        {{.name = "a", .lower = 0, .upper = 1, .size = 4, .lanes = 2},
         SPAD_ERR_LANES,
         "buffer 'a' takes 2 lanes; no start lane allows that on 1 lanes"},
        {{.name = "a", .lower = 0, .upper = 9, .size = 4, .gap_count = 1, .gaps = &backwards},
         SPAD_ERR_ARGUMENT,
         "gap 3-2 of buffer 'a' is empty, outside the lifetime or not after the gap before it"},
        {{.name = "a", .lower = 0, .upper = 9, .size = 4, .gap_count = 1, .gaps = &wide},
         SPAD_ERR_BOUNDS,
         "window 0:99 of a gap of buffer 'a' is outside its 4 B"},
        {{.name = "a", .lower = 0, .upper = 1, .size = INT64_MAX},
         SPAD_ERR_OVERFLOW,
         "buffer 'a' has a size of 9223372036854775807 B; the most is 9223372036854775806 B"},
        {{.name = "a", .lower = 0, .upper = 1, .size = 4, .bank = -8},
         SPAD_ERR_ARGUMENT,
         "buffer 'a' has banks of -8 B; use 0 for none"}};
    spad_plan *plan = new_plan();
    spad_error error;
    assert_ok(spad_plan_set_capacity(plan, 100, &error), &error);
    add(plan, (spad_plan_buffer){.name = "taken", .lower = 0, .upper = 1, .size = 1});
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        assert_int_equal(spad_plan_add(NULL, plan, &cases[i].buffer, &error), cases[i].status);
        assert_string_equal(error.message, cases[i].message);
        assert_int_equal(spad_plan_count(plan), 1);
    }
    assert_int_equal(spad_plan_set_capacity(plan, -1, &error), SPAD_ERR_ARGUMENT);
    assert_int_equal(spad_plan_alias(plan, 0, 0, &error), SPAD_ERR_ARGUMENT);
    assert_int_equal(spad_plan_apart(plan, 0, 7, &error), SPAD_ERR_ARGUMENT);
    const spad_space space = {.name = "s", .lanes = 1, .bytes = 10};
    assert_int_equal(spad_plan_set_space(plan, &space, &error), SPAD_ERR_ARGUMENT);
    spad_plan_destroy(plan);
}

static void sums_beyond_64_bits_are_an_error(void **state) {
    (void)state;
    spad_plan *plan = new_plan();
    spad_error error;
    spad_plan_result *result;
    for (int i = 0; i < 3; i++)
        add(plan, (spad_plan_buffer){.lower = 0, .upper = 9, .size = INT64_MAX / 2});
    assert_int_equal(spad_plan_solve(&result, plan, NULL, &error), SPAD_ERR_OVERFLOW);
    assert_null(result);
    assert_string_equal(error.message, "the sizes of all buffers together do not fit 64 bits");
    spad_plan_destroy(plan);
}

static void banks_of_aliases_that_do_not_nest_are_an_error(void **state) {
    (void)state;
    spad_plan *plan = new_plan();
    spad_error error;
    spad_plan_result *result;
    const size_t a = add(plan, (spad_plan_buffer){.lower = 0, .upper = 9, .size = 4, .bank = 6});
    const size_t b = add(plan, (spad_plan_buffer){.lower = 0, .upper = 9, .size = 4, .bank = 8});
    const size_t between = add(plan, (spad_plan_buffer){.lower = 0, .upper = 9, .size = 4});
    const size_t odd =
        add(plan, (spad_plan_buffer){.lower = 0, .upper = 9, .size = 4, .alignment = 5});
    assert_int_equal(spad_plan_alias(plan, a, b, &error), SPAD_ERR_ALIGNMENT);
    assert_string_equal(
        error.message,
        "aliases number 0 and number 1 have banks of 6 and 8 B; one must divide the other");
    assert_int_equal(spad_plan_alias(plan, odd, b, &error), SPAD_ERR_ALIGNMENT);
    assert_string_equal(error.message, "aliases number 3 and number 1 have the common alignment 5 "
                                       "and a bank of 8 B; one must divide the other");
    /* each pair is fine, the group is not */
    assert_ok(spad_plan_alias(plan, a, between, &error), &error);
    assert_ok(spad_plan_alias(plan, between, b, &error), &error);
    assert_int_equal(spad_plan_solve(&result, plan, NULL, &error), SPAD_ERR_ALIGNMENT);
    assert_string_equal(error.message, "an alias group has banks of 6 B and banks of 8 B; one must "
                                       "divide the other");
    assert_ok(spad_plan_alias(plan, between, odd, &error), &error);
    assert_int_equal(spad_plan_solve(&result, plan, NULL, &error), SPAD_ERR_ALIGNMENT);
    assert_string_equal(error.message,
                        "an alias group has alignment 5 B and banks of 6 B; one must "
                        "divide the other");
    spad_plan_destroy(plan);
}

/* Three banks of which the first and the last do not nest, though neighbours do. */
static void all_banks_of_a_group_are_compared(void **state) {
    (void)state;
    static const int64_t banks[] = {3000000019, 1, 3000000013};
    spad_plan *plan = new_plan();
    spad_error error;
    spad_plan_result *result;
    for (size_t i = 0; i < 3; i++)
        add(plan, (spad_plan_buffer){.lower = 0, .upper = 9, .size = 1, .bank = banks[i]});
    assert_ok(spad_plan_alias(plan, 0, 1, &error), &error);
    assert_ok(spad_plan_alias(plan, 1, 2, &error), &error);
    assert_int_equal(spad_plan_solve(&result, plan, NULL, &error), SPAD_ERR_ALIGNMENT);
    spad_plan_destroy(plan);
}

static void options_outside_their_range_are_refused(void **state) {
    (void)state;
    static const spad_plan_options cases[] = {
        {.goal = (spad_plan_goal)7}, {.timeout_ns = -1}, {.node_limit = -1}, {.threads = -2}};
    spad_plan *plan = new_plan();
    spad_error error;
    spad_plan_result *result;
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++)
        assert_int_equal(spad_plan_solve(&result, plan, &cases[i], &error), SPAD_ERR_ARGUMENT);
    assert_string_equal(error.message, "a deadline of 0 ns, 0 nodes and -2 threads: none of them "
                                       "may be negative; 0 is no limit");
    spad_plan_destroy(plan);
}

static void a_capacity_is_within_the_space(void **state) {
    (void)state;
    const spad_space pad = {
        .name = "pad", .lanes = 1, .bytes = 100, .reserved = 10, .alignment = 1, .granule = 1};
    spad_plan *plan = new_plan();
    spad_error error;
    assert_ok(spad_plan_set_space(plan, &pad, &error), &error);
    assert_int_equal(spad_plan_set_capacity(plan, 91, &error), SPAD_ERR_BOUNDS);
    assert_string_equal(error.message, "a capacity of 91 B is more than the 90 B of space 'pad'");
    assert_int_equal(spad_plan_get_capacity(plan), 90);
    spad_plan_destroy(plan);
}

/* ---- what is answered -------------------------------------------------------------- */

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

/* ---- why not ----------------------------------------------------------------------- */

static void a_reason_names_the_peak_and_what_would_help(void **state) {
    (void)state;
    spad_plan *plan = new_plan();
    spad_error error;
    add(plan, (spad_plan_buffer){.name = "long", .lower = 0, .upper = 20, .size = 50});
    add(plan, (spad_plan_buffer){.name = "early", .lower = 0, .upper = 11, .size = 40});
    add(plan, (spad_plan_buffer){.name = "late", .lower = 10, .upper = 20, .size = 30});
    assert_ok(spad_plan_set_capacity(plan, 100, &error), &error);
    const spad_plan_options options = {.goal = SPAD_PLAN_DECIDE};
    spad_plan_result *result = solve(plan, &options);
    assert_int_equal(result->verdict, SPAD_PLAN_INFEASIBLE);
    assert_int_equal(result->height, 120);
    spad_plan_reason *reason;
    assert_ok(spad_plan_explain(&reason, plan, result, 0, &error), &error);
    assert_true(reason->proved);
    assert_int_equal(reason->time, 10);
    assert_int_equal(reason->load, 120);
    assert_int_equal(reason->over, 20);
    assert_int_equal(reason->works_at, 120);
    assert_int_equal(reason->alive_count, 3);
    assert_int_equal(reason->alive[0], 0);
    assert_int_equal(reason->changes[0].kind, SPAD_PLAN_SHORTEN);
    assert_int_equal(reason->changes[0].buffer, 2);
    test_text text;
    test_text_init(&text);
    assert_ok(spad_plan_write_text(plan, result, reason, &text.sink, &error), &error);
    assert_non_null(strstr(text.bytes, "verdict   infeasible (proved)\n"));
    assert_non_null(strstr(text.bytes, "why: at time 10 120 B are alive, capacity 100 B, over by "
                                       "20 B\n  alive: 'long', 50 B, from 0 to 20\n"));
    assert_non_null(strstr(text.bytes, "  fits if 'early' (alive 0 to 11) ends at 10\n"));
    assert_non_null(strstr(text.bytes, "  fits if 'late' (30 B) lives elsewhere\n"));
    test_text_clear(&text);
    assert_ok(spad_plan_write_json(plan, result, reason, &text.sink, &error), &error);
    assert_non_null(strstr(text.bytes, "\"verdict\": \"infeasible\""));
    assert_non_null(strstr(text.bytes, "\"works_at\": 120"));
    test_text_free(&text);
    spad_plan_reason_destroy(reason);
    result->verdict = SPAD_PLAN_FEASIBLE;
    assert_int_equal(spad_plan_explain(&reason, plan, result, 0, &error), SPAD_ERR_ARGUMENT);
    spad_plan_result_destroy(result);
    spad_plan_destroy(plan);
}

/* Rules that exclude each other are named, not a peak. */
static void clashes_are_named(void **state) {
    (void)state;
    static const struct {
        const char *csv;
        const char *why;
        spad_plan_clash clash;
    } cases[] = {
        {"id,lower,upper,size,offset\na,0,9,8,0\nx,0,9,3,\nb,5,12,8,4\n",
         "why: 'a' (8 B, from 0 to 9, offset 0) and 'b' (8 B, from 5 to 12, offset 4) are pinned "
         "and share bytes while both are alive\n",
         SPAD_PLAN_CLASH_PINS},
        {"id,lower,upper,size,offset,apart\na,0,2,8,0,b\nb,5,12,8,4,\n",
         "why: 'a' (8 B, from 0 to 2, offset 0) and 'b' (8 B, from 5 to 12, offset 4) are pinned "
         "so that they share bytes, but must be kept apart\n",
         SPAD_PLAN_CLASH_APART_PINS},
        {"id,lower,upper,size,offset,alias\na,0,2,8,0,g\nb,5,12,8,4,g\n",
         "why: 'a' (8 B, from 0 to 2, offset 0) and 'b' (8 B, from 5 to 12, offset 4) are aliases, "
         "but pinned at different places\n",
         SPAD_PLAN_CLASH_ALIAS_PINS},
        {"id,lower,upper,size,offset,alias,alignment\na,0,2,8,4,g,4\nb,5,12,8,,g,8\n",
         "why: 'a' (8 B, from 0 to 2, offset 4) and 'b' (8 B, from 5 to 12) are aliases, and the "
         "pin of the first breaks the alignment, bank or lanes of the second\n",
         SPAD_PLAN_CLASH_ALIAS_RULE},
        {"id,lower,upper,size,alias,apart\na,0,2,8,g,\nb,5,12,8,g,a\n",
         "why: 'b' (8 B, from 5 to 12) and 'a' (8 B, from 0 to 2) are aliases, but must be kept "
         "apart\n",
         SPAD_PLAN_CLASH_ALIAS_APART}};
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        spad_plan *plan = new_plan();
        spad_error error;
        spad_plan_reason *reason;
        assert_ok(spad_plan_read_csv(plan, cases[i].csv, strlen(cases[i].csv), "c.csv", &error),
                  &error);
        spad_plan_result *result = solve(plan, NULL);
        assert_int_equal(result->verdict, SPAD_PLAN_INFEASIBLE);
        assert_int_equal(result->clash, cases[i].clash);
        assert_ok(spad_plan_explain(&reason, plan, result, 0, &error), &error);
        test_text text;
        test_text_init(&text);
        assert_ok(spad_plan_write_text(plan, result, reason, &text.sink, &error), &error);
        assert_non_null(strstr(text.bytes, cases[i].why));
        assert_null(strstr(text.bytes, "bound"));
        test_text_clear(&text);
        assert_ok(spad_plan_write_json(plan, result, reason, &text.sink, &error), &error);
        assert_non_null(strstr(text.bytes, "\"clash\": \"are "));
        test_text_free(&text);
        spad_plan_reason_destroy(reason);
        spad_plan_result_destroy(result);
        spad_plan_destroy(plan);
    }
}

/* What is alive is counted in bytes as they are, not rounded to the alignment. */
static void a_reason_counts_true_bytes(void **state) {
    (void)state;
    spad_plan *plan = new_plan();
    spad_error error;
    spad_plan_reason *reason;
    for (int i = 0; i < 3; i++)
        add(plan, (spad_plan_buffer){.lower = 0, .upper = 2, .size = 10, .alignment = 8});
    assert_ok(spad_plan_set_capacity(plan, 41, &error), &error);
    spad_plan_result *result = solve(plan, NULL);
    assert_int_equal(result->bound, 42);
    assert_int_equal(result->peak_load, 30);
    assert_ok(spad_plan_explain(&reason, plan, result, 0, &error), &error);
    assert_int_equal(reason->load, 30);
    assert_int_equal(reason->over, 1);
    assert_int_equal(reason->works_at, 42);
    assert_true(reason->works_best);
    test_text text;
    test_text_init(&text);
    assert_ok(spad_plan_write_text(plan, result, reason, &text.sink, &error), &error);
    assert_non_null(strstr(text.bytes, "bound     42 B (largest load at time 0, rounded to the "
                                       "alignment)\n"));
    assert_non_null(strstr(text.bytes, "smallest capacity known to work: 42 B\n"));
    test_text_free(&text);
    spad_plan_reason_destroy(reason);
    spad_plan_result_destroy(result);
    spad_plan_destroy(plan);
}

/* The source of the bound is reported, whatever it is. */
static void a_bound_has_its_proof(void **state) {
    (void)state;
    static const struct {
        const char *csv;
        const char *bound;
    } cases[] = {
        /* 'c' is not alive at the peak: what it is rounded by does not lower the bound */
        {"id,lower,upper,size,alignment\na,0,9,16,8\nb,0,9,15,8\nc,9,10,1,8\n",
         "bound     31 B (largest load at time 0)\n"},
        {"id,lower,upper,size,offset\na,0,9,8,100\nb,0,9,50,\n", "bound     108 B (top of 'a')\n"},
        {"id,lower,upper,size,bank\na,0,9,6,10\nb,0,9,6,10\n",
         "bound     16 B (banks needed at time 0)\n"},
        {"id,lower,upper,size,offset,alias\na,0,9,4,8,g\nb,0,9,10,,g\n",
         "bound     18 B (top of 'b')\n"},
        {"id,lower,upper,size,offset\na,0,9,8,4\nb,0,9,8,\n",
         "bound     20 B (proved by search)\n"},
        {"id,lower,upper,size\na,0,9,8\nb,3,9,8\n", "bound     16 B (largest load at time 3)\n"}};
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        spad_plan *plan = new_plan();
        spad_error error;
        assert_ok(spad_plan_read_csv(plan, cases[i].csv, strlen(cases[i].csv), "c.csv", &error),
                  &error);
        spad_plan_result *result = solve(plan, NULL);
        test_text text;
        test_text_init(&text);
        assert_ok(spad_plan_write_text(plan, result, NULL, &text.sink, &error), &error);
        assert_non_null(strstr(text.bytes, cases[i].bound));
        test_text_free(&text);
        spad_plan_result_destroy(result);
        spad_plan_destroy(plan);
    }
}

/* Every reason in words and as JSON. */
static void reasons_are_written(void **state) {
    (void)state;
    static const struct {
        const char *csv;
        int64_t capacity;
        const char *text; /* a part of each */
        const char *json;
    } cases[] = {{"id,lower,upper,size,gaps\na,0,9,40,0-9@0:4\n", 32,
                  "why: 'a' alone reaches 40 B, capacity 32 B", "\"proof\": \"buffer\""},
                 {"id,lower,upper,size,bank\na,0,9,6,10\nb,0,9,6,10\n", 15,
                  "why: the banks needed at time 0 reach 16 B", "\"proof\": \"banks\""},
                 /* most bytes at time 9, but more of them with what is rounded at time 0 */
                 {"id,lower,upper,size,alignment\na,0,1,1,8\nb,0,1,1,8\nc,0,1,1,8\nd,9,10,5,8\n",
                  16, "why: at time 0 sizes rounded to the alignment take 17 B",
                  "\"proof\": \"load\""},
                 {"id,lower,upper,size,alignment\na,0,1,9,8\nb,0,1,9,8\nc,0,1,9,8\n", 40,
                  "why: at time 0 27 B are alive, 41 B rounded to the alignment", "\"align\""},
                 {"id,lower,upper,size,offset\na,0,9,8,4\nb,0,9,8,\n", 19,
                  "which would fit in 19 B, but no plan does", "\"proof\": \"search\""},
                 {"id,lower,upper,size\na,0,9,9\nb,0,9,1\nc,0,9,1\nd,0,9,1\ne,0,9,1\nf,0,9,1\n"
                  "g,0,9,1\nh,0,9,1\ni,0,9,1\nj,0,9,1\nk,0,9,1\nl,0,9,1\n",
                  19, "  and 2 smaller ones\n", "\"proof\": \"load\""}};
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        spad_plan *plan = new_plan();
        spad_error error;
        spad_plan_reason *reason;
        test_text text;
        test_text_init(&text);
        assert_ok(spad_plan_read_csv(plan, cases[i].csv, strlen(cases[i].csv), "c.csv", &error),
                  &error);
        assert_ok(spad_plan_set_capacity(plan, cases[i].capacity, &error), &error);
        spad_plan_result *result = solve(plan, NULL);
        assert_int_equal(result->verdict, SPAD_PLAN_INFEASIBLE);
        assert_ok(spad_plan_explain(&reason, plan, result, 0, &error), &error);
        assert_ok(spad_plan_write_text(plan, result, reason, &text.sink, &error), &error);
        if (strstr(text.bytes, cases[i].text) == NULL) fail_msg("%s", text.bytes);
        test_text_clear(&text);
        assert_ok(spad_plan_write_json(plan, result, reason, &text.sink, &error), &error);
        if (strstr(text.bytes, cases[i].json) == NULL) fail_msg("%s", text.bytes);
        test_text_free(&text);
        spad_plan_reason_destroy(reason);
        spad_plan_result_destroy(result);
        spad_plan_destroy(plan);
    }
}

/* Loads over lanes are averages, and gaps of huge plans are shares, too. */
static void lanes_and_huge_gaps_are_written(void **state) {
    (void)state;
    static const spad_space space = {
        .name = "lanes", .lanes = 4, .bytes = 64, .alignment = 1, .granule = 1};
    spad_error error;
    spad_plan *plan = new_plan();
    spad_plan_reason *reason;
    test_text text;
    test_text_init(&text);
    assert_ok(spad_plan_set_space(plan, &space, &error), &error);
    assert_int_equal(spad_plan_get_lanes(plan), 4);
    for (int i = 0; i < 9; i++) add(plan, (spad_plan_buffer){.upper = 9, .size = 60, .lanes = 2});
    spad_plan_result *result = solve(plan, NULL);
    assert_ok(spad_plan_explain(&reason, plan, result, 0, &error), &error);
    assert_ok(spad_plan_write_text(plan, result, reason, &text.sink, &error), &error);
    assert_non_null(strstr(text.bytes, "at time 0 270 B are alive on average over 4 lanes"));
    spad_plan_reason_destroy(reason);
    const int64_t bound = result->bound;
    result->bound = INT64_MAX / 4; /* as of a plan of that size */
    result->height = INT64_MAX / 2;
    test_text_clear(&text);
    assert_ok(spad_plan_write_text(plan, result, NULL, &text.sink, &error), &error);
    if (strstr(text.bytes, "gap       2305843009213693952 B (99.999 %)") == NULL)
        fail_msg("%s", text.bytes);
    result->bound = bound;
    test_text_free(&text);
    spad_plan_result_destroy(result);
    spad_plan_destroy(plan);
    assert_string_equal(spad_plan_verdict_name(SPAD_PLAN_FEASIBLE), "feasible");
    assert_string_equal(spad_plan_verdict_name(SPAD_PLAN_UNKNOWN), "unknown");
}

/* When a plan is only looked for within a capacity, what is found above it is poor; the reason
 * takes the trouble to find a low one. */
static void a_reason_finds_a_low_capacity(void **state) {
    (void)state;
    spad_plan *plan = new_plan();
    spad_error error;
    spad_plan_reason *reason;
    assert_ok(packing_perfect(plan, 60, 4096, 3, &error), &error);
    assert_ok(spad_plan_set_capacity(plan, 4095, &error), &error);
    const spad_plan_options options = {.goal = SPAD_PLAN_DECIDE};
    spad_plan_result *result = solve(plan, &options);
    assert_int_equal(result->verdict, SPAD_PLAN_INFEASIBLE);
    assert_ok(spad_plan_explain(&reason, plan, result, INT64_C(8000000000), &error), &error);
    assert_int_equal(reason->works_at, 4096);
    assert_true(reason->works_best);
    spad_plan_reason_destroy(reason);
    spad_plan_result_destroy(result);
    spad_plan_destroy(plan);
}

/* What is too large is named; where nothing is, what is in the way. */
static void a_reason_says_what_does_not_fit(void **state) {
    (void)state;
    static const struct {
        const char *csv;
        int64_t capacity;
        const char *why;
        const char *works;
    } cases[] = {
        {"id,lower,upper,size,offset\np,0,5,4,8\nq,0,5,10,\n", 16,
         "why: at time 0 14 B are alive, which would fit in 16 B, but no plan does; in the way: "
         "'p' pinned at 8\n",
         "smallest capacity known to work: 22 B, 6 B more\n"},
        {"id,lower,upper,size,offset\np,0,5,4,8\nq,0,5,10,\n", 21,
         "why: at time 0 14 B are alive, which would fit in 21 B, but no plan does; in the way: "
         "'p' pinned at 8\n",
         "smallest capacity known to work: 22 B, 1 B more\n"},
        {"id,lower,upper,size,apart\nb1,0,3,5,b2\nb2,4,6,3,\n", 7,
         "why: 2 buffers of which no two may share bytes take 8 B, capacity 7 B, over by 1 B\n",
         "smallest capacity known to work: 8 B\n"},
        {"id,lower,upper,size,bank\na,0,9,6,10\nb,0,9,6,10\n", 13,
         "why: the banks needed at time 0 reach 16 B, capacity 13 B, over by 3 B\n",
         "smallest capacity known to work: 16 B\n"},
        {"id,lower,upper,size,alignment\na,0,9,10,8\nb,0,9,10,8\n", 20,
         "why: at time 0 20 B are alive, 26 B rounded to the alignment, capacity 20 B, over by 6 "
         "B\n",
         "smallest capacity known to work: 26 B\n"},
        {"id,lower,upper,size\na,0,9,8\nb,3,9,8\n", 15,
         "why: at time 3 16 B are alive, capacity 15 B, over by 1 B\n",
         "smallest capacity known to work: 16 B\n"}};
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        spad_plan *plan = new_plan();
        spad_plan_reason *reason;
        spad_error error;
        assert_ok(spad_plan_set_capacity(plan, cases[i].capacity, &error), &error);
        assert_ok(spad_plan_read_csv(plan, cases[i].csv, strlen(cases[i].csv), "c.csv", &error),
                  &error);
        const spad_plan_options options = {.goal = SPAD_PLAN_DECIDE};
        spad_plan_result *result = solve(plan, &options);
        assert_ok(spad_plan_explain(&reason, plan, result, 0, &error), &error);
        test_text text;
        test_text_init(&text);
        assert_ok(spad_plan_write_text(plan, result, reason, &text.sink, &error), &error);
        if (strstr(text.bytes, cases[i].why) == NULL || strstr(text.bytes, cases[i].works) == NULL)
            fail_msg("%s is not in:\n%s", cases[i].why, text.bytes);
        test_text_free(&text);
        spad_plan_reason_destroy(reason);
        spad_plan_result_destroy(result);
        spad_plan_destroy(plan);
    }
}

/* A search that is cut short finds nothing; the reason has more time, and what it finds within
 * the capacity is the answer. */
static void a_reason_may_find_the_plan(void **state) {
    (void)state;
    spad_plan *plan = new_plan();
    spad_error error;
    spad_plan_reason *reason;
    assert_ok(packing_perfect(plan, 60, 4096, 3, &error), &error);
    assert_ok(spad_plan_set_capacity(plan, 4096, &error), &error);
    const spad_plan_options options = {.goal = SPAD_PLAN_DECIDE, .node_limit = 1};
    spad_plan_result *result = solve(plan, &options);
    assert_int_equal(result->verdict, SPAD_PLAN_UNKNOWN);
    assert_ok(spad_plan_explain(&reason, plan, result, INT64_C(8000000000), &error), &error);
    assert_non_null(reason->found);
    assert_int_equal(reason->found->verdict, SPAD_PLAN_OPTIMAL);
    assert_int_equal(reason->change_count, 0);
    assert_ok(spad_plan_check(NULL, plan, reason->found->places, reason->found->count, &error),
              &error);
    test_text text;
    test_text_init(&text);
    assert_ok(spad_plan_write_text(plan, result, reason, &text.sink, &error), &error);
    assert_non_null(strstr(text.bytes, "verdict   optimal\n"));
    assert_null(strstr(text.bytes, "why"));
    test_text_clear(&text);
    assert_ok(spad_plan_write_json(plan, result, reason, &text.sink, &error), &error);
    assert_non_null(strstr(text.bytes, "\"verdict\": \"optimal\""));
    test_text_free(&text);
    spad_plan_reason_destroy(reason);
    spad_plan_result_destroy(result);
    spad_plan_destroy(plan);
}

/* Of two that are kept apart the one that is not alive at the peak may be the cheapest to move
 * away. */
static void a_change_may_lie_beside_the_peak(void **state) {
    (void)state;
    spad_plan *plan = new_plan();
    spad_error error;
    spad_plan_reason *reason;
    const size_t a = add(plan, (spad_plan_buffer){.lower = 0, .upper = 3, .size = 5});
    const size_t b = add(plan, (spad_plan_buffer){.lower = 4, .upper = 6, .size = 3});
    assert_ok(spad_plan_apart(plan, a, b, &error), &error);
    assert_ok(spad_plan_set_capacity(plan, 7, &error), &error);
    spad_plan_result *result = solve(plan, NULL);
    assert_ok(spad_plan_explain(&reason, plan, result, 0, &error), &error);
    assert_int_equal(reason->alive_count, 2);
    assert_int_equal(reason->change_count, 2);
    assert_int_equal(reason->changes[0].kind, SPAD_PLAN_SPILL);
    assert_int_equal(reason->changes[0].buffer, b);
    assert_int_equal(reason->changes[1].buffer, a);
    spad_plan_reason_destroy(reason);
    spad_plan_result_destroy(result);
    spad_plan_destroy(plan);
}

static void a_lower_alignment_is_offered(void **state) {
    (void)state;
    spad_plan *plan = new_plan();
    spad_error error;
    add(plan, (spad_plan_buffer){.name = "a", .lower = 0, .upper = 2, .size = 10, .alignment = 8});
    add(plan, (spad_plan_buffer){.name = "b", .lower = 0, .upper = 2, .size = 10, .alignment = 8});
    assert_ok(spad_plan_set_capacity(plan, 20, &error), &error);
    spad_plan_result *result = solve(plan, NULL);
    assert_int_equal(result->verdict, SPAD_PLAN_INFEASIBLE);
    spad_plan_reason *reason;
    assert_ok(spad_plan_explain(&reason, plan, result, 0, &error), &error);
    assert_int_equal(reason->changes[0].kind, SPAD_PLAN_ALIGN);
    assert_int_equal(reason->changes[0].amount, 2); /* 4 is not enough, 1 is more than needed */
    spad_plan_reason_destroy(reason);
    spad_plan_result_destroy(result);
    spad_plan_destroy(plan);
}

/* ---- the validator ----------------------------------------------------------------- */

static void the_validator_names_what_is_wrong(void **state) {
    (void)state;
    spad_plan *plan = new_plan();
    spad_error error;
    add(plan, (spad_plan_buffer){.name = "a", .lower = 0, .upper = 5, .size = 8, .alignment = 4});
    add(plan, (spad_plan_buffer){.name = "b", .lower = 4, .upper = 9, .size = 8, .bank = 16});
    add(plan, (spad_plan_buffer){.name = "c", .lower = 20, .upper = 22, .size = 8});
    add(plan, (spad_plan_buffer){.name = "d", .lower = 30, .upper = 32, .size = 8});
    add(plan, (spad_plan_buffer){.name = "p", .lower = 40, .upper = 42, .size = 8, .pinned = true});
    assert_ok(spad_plan_alias(plan, 0, 2, &error), &error);
    assert_ok(spad_plan_apart(plan, 0, 3, &error), &error);
    assert_ok(spad_plan_set_capacity(plan, 100, &error), &error);
    static const spad_plan_place right[5] = {{0, 0}, {16, 0}, {0, 0}, {8, 0}, {0, 0}};
    int64_t height;
    assert_ok(spad_plan_check(&height, plan, right, 5, &error), &error);
    assert_int_equal(height, 24);
    static const struct {
        size_t buffer;
        spad_plan_place place;
        spad_status status;
        const char *message;
    } wrong[] = {
        {0,
         {2, 0},
         SPAD_ERR_ALIGNMENT,
         "offset 2 of buffer 'a' is not a multiple of its alignment 4"},
        {1,
         {4, 0},
         SPAD_ERR_OVERLAP,
         "buffers 'a' at 0 and 'b' at 4 share bytes while both are "
         "alive"},
        {1, {12, 0}, SPAD_ERR_BOUNDS, "buffer 'b' at offset 12 with 8 B crosses a bank of 16 B"},
        {3,
         {93, 0},
         SPAD_ERR_BOUNDS,
         "buffer 'd' at offset 93 with 8 B leaves the capacity of 100 "
         "B"},
        {3,
         {-1, 0},
         SPAD_ERR_BOUNDS,
         "buffer 'd' at offset -1 with 8 B leaves the capacity of 100 "
         "B"},
        {2,
         {8, 0},
         SPAD_ERR_NO_FIT,
         "buffers 'a' at 0 and 'c' at 8 are aliases but not in the "
         "same place"},
        {3,
         {7, 0},
         SPAD_ERR_OVERLAP,
         "buffers 'a' at 0 and 'd' at 7 must be kept apart but share "
         "bytes"},
        {4, {1, 0}, SPAD_ERR_NO_FIT, "buffer 'p' is pinned at 0, lane 0, but placed at 1, lane 0"},
        {3, {8, 1}, SPAD_ERR_LANES, "buffer 'd' of 1 lanes may not start at lane 1"}};
    for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++) {
        spad_plan_place places[5];
        memcpy(places, right, sizeof places);
        places[wrong[i].buffer] = wrong[i].place;
        assert_int_equal(spad_plan_check(NULL, plan, places, 5, &error), wrong[i].status);
        assert_string_equal(error.message, wrong[i].message);
    }
    assert_int_equal(spad_plan_check(NULL, plan, right, 4, &error), SPAD_ERR_ARGUMENT);
    spad_plan_destroy(plan);
}

/* Sums, rounded sums and common multiples. */
static void numbers_beyond_64_bits_are_errors(void **state) {
    (void)state;
    static const spad_space space = {.name = "odd",
                                     .lanes = 1,
                                     .bytes = SPAD_UNBOUNDED,
                                     .alignment = (INT64_C(1) << 40) + 1,
                                     .granule = 1};
    static const struct {
        const char *csv;
        bool space;
        spad_status status;
    } cases[] = {
        /* each fits, and so does their sum, but not rounded up */
        {"lower,upper,size,alignment\n0,9,1,4000000000000000000\n0,9,1,4000000000000000000\n"
         "0,9,1,4000000000000000000\n",
         false, SPAD_ERR_OVERFLOW},
        /* mixed alignments: only the boxes are rounded */
        {"lower,upper,size,alignment\n0,9,1,4000000000000000000\n0,9,1,2000000000000000000\n"
         "0,9,1,4000000000000000000\n",
         false, SPAD_ERR_OVERFLOW},
        {"lower,upper,size,alignment\n0,9,9000000000000000000,1\n0,9,1,4000000000000000000\n",
         false, SPAD_ERR_OVERFLOW},
        {"lower,upper,size,alignment\n0,9,1,1099511627775\n", true, SPAD_ERR_OVERFLOW},
        {"lower,upper,size,alignment,alias\n0,9,1,4611686018427387903,g\n"
         "0,9,1,4611686018427387904,g\n",
         false, SPAD_ERR_OVERFLOW},
        /* any two have a common multiple, all three have none */
        {"lower,upper,size,alignment,alias\n0,9,1,2097152,g\n0,9,1,4782969,g\n"
         "0,9,1,1220703125,g\n",
         false, SPAD_ERR_OVERFLOW},
        {"lower,end,size\n0,9223372036854775807,1\n", false, SPAD_ERR_OVERFLOW}};
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        spad_plan *plan = new_plan();
        spad_error error;
        spad_plan_result *result = NULL;
        if (cases[i].space) assert_ok(spad_plan_set_space(plan, &space, &error), &error);
        spad_status status =
            spad_plan_read_csv(plan, cases[i].csv, strlen(cases[i].csv), "c.csv", &error);
        if (status == SPAD_OK) status = spad_plan_solve(&result, plan, NULL, &error);
        assert_int_equal(status, cases[i].status);
        assert_null(result);
        spad_plan_destroy(plan);
    }
}

/* A space may have no start lane for some numbers of lanes. */
static void lanes_without_a_rule_are_refused(void **state) {
    (void)state;
    static const int64_t start[] = {0};
    static const spad_lane_rule rules[] = {{1, 1, 1, start}};
    static const spad_space space = {.name = "ruled",
                                     .lanes = 4,
                                     .bytes = 64,
                                     .alignment = 1,
                                     .granule = 1,
                                     .lane_rule_count = 1,
                                     .lane_rules = rules};
    spad_plan *plan = new_plan();
    spad_error error;
    assert_ok(spad_plan_set_space(plan, &space, &error), &error);
    const spad_plan_buffer two = {.upper = 1, .size = 1, .lanes = 2};
    assert_int_equal(spad_plan_add(NULL, plan, &two, &error), SPAD_ERR_LANES);
    add(plan, (spad_plan_buffer){.upper = 1, .size = 1});
    const spad_plan_place elsewhere = {.lane = 1};
    assert_int_equal(spad_plan_check(NULL, plan, &elsewhere, 1, &error), SPAD_ERR_LANES);
    spad_plan_destroy(plan);
}

static void deadlines_do_not_wrap(void **state) {
    (void)state;
    assert_int_equal(spad__deadline(0), INT64_MAX);
    assert_int_equal(spad__deadline(INT64_MAX), INT64_MAX);
    assert_true(spad__deadline(INT64_C(1) << 60) < INT64_MAX);
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
        status = spad_plan_explain(&reason, plan, result, 1, &error);
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
    bool boxes = true;
    test_fail_each_allocation(solve_everything, &boxes);
    boxes = false;
    test_fail_each_allocation(solve_everything, &boxes);
    test_fail_each_allocation(solve_lanes, NULL);
    test_fail_each_allocation(solve_wide, NULL);
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

/* An alias group for whose lanes no common start is legal has no plan at all. */
static void aliases_need_a_lane_in_common(void **state) {
    (void)state;
    static const int64_t two[] = {2, 1};
    static const int64_t more[] = {0, 0};
    static const spad_lane_rule rules[] = {
        {.lanes_min = 1, .lanes_max = 2, .start_count = 2, .starts = two},
        {.lanes_min = 3, .lanes_max = 4, .start_count = 1, .starts = more}};
    const spad_space pad = {.name = "pad",
                            .lanes = 4,
                            .bytes = 100,
                            .alignment = 1,
                            .granule = 1,
                            .lane_rule_count = 2,
                            .lane_rules = rules};
    spad_plan *plan = new_plan();
    spad_error error;
    spad_plan_result *result;
    assert_ok(spad_plan_set_space(plan, &pad, &error), &error);
    const spad_plan_buffer narrow = {.lower = 0, .upper = 1, .size = 0, .lanes = 2};
    const spad_plan_buffer wide = {.lower = 0, .upper = 1, .size = 2, .lanes = 4};
    assert_ok(spad_plan_add(NULL, plan, &narrow, &error), &error);
    assert_ok(spad_plan_add(NULL, plan, &wide, &error), &error);
    assert_ok(spad_plan_alias(plan, 0, 1, &error), &error);
    assert_ok(spad_plan_solve(&result, plan, NULL, &error), &error);
    assert_int_equal(result->verdict, SPAD_PLAN_INFEASIBLE);
    assert_int_equal(result->clash, SPAD_PLAN_CLASH_ALIAS_LANES);
    assert_int_equal(result->clash_first, 0);
    assert_int_equal(result->clash_second, 1);
    spad_plan_result_destroy(result);
    spad_plan_destroy(plan);
}

/* Trying a change that breaks a rule is no answer, and no error either. */
static void a_reason_survives_changes_that_break_rules(void **state) {
    (void)state;
    static const char csv[] = "id,lower,upper,size,alignment,bank,alias\n"
                              "a,4,5,2,6,,g\n"
                              "b,3,4,4,4,4,g\n"
                              "c,-3,4,3,3,,\n";
    spad_plan *plan = new_plan();
    spad_error error;
    spad_plan_result *result;
    spad_plan_reason *reason;
    assert_ok(spad_plan_set_capacity(plan, 6, &error), &error);
    assert_ok(spad_plan_read_csv(plan, csv, sizeof csv - 1, "w.csv", &error), &error);
    assert_ok(spad_plan_solve(&result, plan, NULL, &error), &error);
    assert_int_equal(result->verdict, SPAD_PLAN_INFEASIBLE);
    assert_ok(spad_plan_explain(&reason, plan, result, 0, &error), &error);
    assert_true(reason->proved);
    spad_plan_reason_destroy(reason);
    spad_plan_result_destroy(result);
    spad_plan_destroy(plan);
}

/* A name with a NUL in it is not the one it begins with. */
static void names_are_compared_whole(void **state) {
    (void)state;
    enum { LONG = 100000 };
    char *csv = calloc(1, LONG);
    assert_non_null(csv);
    const size_t head = (size_t)sprintf(csv, "id,lower,upper,size,apart\na,0,1,1,a");
    memset(csv + head + 1, 'x', LONG - head - 1); /* after a NUL */
    spad_plan *plan = new_plan();
    spad_error error;
    assert_int_not_equal(spad_plan_read_csv(plan, csv, LONG, "nul.csv", &error), SPAD_OK);
    assert_int_equal(spad_plan_count(plan), 0);
    spad_plan_destroy(plan);
    free(csv);
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

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(buffers_that_break_their_own_rules_are_refused),
        cmocka_unit_test(sums_beyond_64_bits_are_an_error),
        cmocka_unit_test(banks_of_aliases_that_do_not_nest_are_an_error),
        cmocka_unit_test(all_banks_of_a_group_are_compared),
        cmocka_unit_test(options_outside_their_range_are_refused),
        cmocka_unit_test(a_capacity_is_within_the_space),
        cmocka_unit_test(circles_of_windows_are_seen),
        cmocka_unit_test(empty_buffers_do_not_count),
        cmocka_unit_test(banks_are_counted),
        cmocka_unit_test(pins_in_a_large_problem),
        cmocka_unit_test(searches_of_every_kind_report),
        cmocka_unit_test(nodes_are_spent_once),
        cmocka_unit_test(a_callback_may_use_the_host),
        cmocka_unit_test(long_chains_of_aliases),
        cmocka_unit_test(clashes_are_named),
        cmocka_unit_test(a_reason_counts_true_bytes),
        cmocka_unit_test(a_bound_has_its_proof),
        cmocka_unit_test(reasons_are_written),
        cmocka_unit_test(lanes_and_huge_gaps_are_written),
        cmocka_unit_test(numbers_beyond_64_bits_are_errors),
        cmocka_unit_test(lanes_without_a_rule_are_refused),
        cmocka_unit_test(deadlines_do_not_wrap),
        cmocka_unit_test(a_reason_finds_a_low_capacity),
        cmocka_unit_test(an_empty_problem_has_an_empty_plan),
        cmocka_unit_test(pins_that_collide_are_infeasible_and_proved),
        cmocka_unit_test(pins_are_obstacles_from_the_start),
        cmocka_unit_test(tiles_share_bytes_in_other_lanes),
        cmocka_unit_test(hints_are_taken_when_they_are_free),
        cmocka_unit_test(a_hint_may_lower_the_height),
        cmocka_unit_test(limits_and_cancelling_still_give_a_plan),
        cmocka_unit_test(one_thread_and_one_seed_give_one_plan),
        cmocka_unit_test(a_reason_names_the_peak_and_what_would_help),
        cmocka_unit_test(a_reason_says_what_does_not_fit),
        cmocka_unit_test(a_reason_may_find_the_plan),
        cmocka_unit_test(a_change_may_lie_beside_the_peak),
        cmocka_unit_test(a_lower_alignment_is_offered),
        cmocka_unit_test(the_validator_names_what_is_wrong),
        cmocka_unit_test(a_proof_does_not_depend_on_the_scale),
        cmocka_unit_test(aliases_need_a_lane_in_common),
        cmocka_unit_test(a_reason_survives_changes_that_break_rules),
        cmocka_unit_test(names_are_compared_whole),
        cmocka_unit_test(a_trace_becomes_a_problem),
        cmocka_unit_test(a_space_rounds_what_it_is_given),
        cmocka_unit_test(every_allocation_may_fail)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
