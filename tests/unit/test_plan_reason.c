/* SPDX-License-Identifier: Apache-2.0
 * The planner: why a plan does not fit, and what would help. */
#include "plan_fixture.h"

#include <string.h>

#include "base/random.h"
#include "support/packing.h"

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
    assert_ok(spad_plan_explain(&reason, plan, result, 0, NULL, &error), &error);
    assert_true(reason->proved);
    assert_int_equal(reason->time, 10);
    assert_int_equal(reason->load, 120);
    assert_int_equal(reason->over, 20);
    assert_int_equal(reason->works_at, 120);
    assert_int_equal(reason->live_count, 3);
    assert_int_equal(reason->live[0], 0);
    assert_int_equal(reason->changes[0].kind, SPAD_PLAN_SHORTEN);
    assert_int_equal(reason->changes[0].buffer, 2);
    test_text text;
    test_text_init(&text);
    assert_ok(spad_plan_write(plan, result, reason, SPAD_FORMAT_TEXT, &text.sink, &error), &error);
    assert_non_null(strstr(text.bytes, "verdict   infeasible (proved)\n"));
    assert_non_null(strstr(text.bytes, "why: at time 10 120 B are live, capacity 100 B, over by "
                                       "20 B\n  live: 'long', 50 B, from 0 to 20\n"));
    assert_non_null(strstr(text.bytes, "  fits if 'early' (live 0 to 11) ends at 10\n"));
    assert_non_null(strstr(text.bytes, "  fits if 'late' (30 B) is moved to another memory\n"));
    test_text_clear(&text);
    assert_ok(spad_plan_write(plan, result, reason, SPAD_FORMAT_JSON, &text.sink, &error), &error);
    assert_non_null(strstr(text.bytes, "\"verdict\": \"infeasible\""));
    assert_non_null(strstr(text.bytes, "\"works_at\": 120"));
    test_text_free(&text);
    spad_plan_reason_destroy(reason);
    result->verdict = SPAD_PLAN_FEASIBLE;
    assert_int_equal(spad_plan_explain(&reason, plan, result, 0, NULL, &error), SPAD_ERR_ARGUMENT);
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
         "and share bytes while both are live\n",
         SPAD_PLAN_CLASH_PINS},
        {"id,lower,upper,size,offset,apart\na,0,2,8,0,b\nb,5,12,8,4,\n",
         "why: 'a' (8 B, from 0 to 2, offset 0) and 'b' (8 B, from 5 to 12, offset 4) are pinned "
         "so that they share bytes, but must be kept apart\n",
         SPAD_PLAN_CLASH_APART_PINS},
        {"id,lower,upper,size,offset,alias\na,0,2,8,0,g\nb,5,12,8,4,g\n",
         "why: 'a' (8 B, from 0 to 2, offset 0) and 'b' (8 B, from 5 to 12, offset 4) are aliases, "
         "but pinned at different offsets\n",
         SPAD_PLAN_CLASH_ALIAS_PINS},
        {"id,lower,upper,size,offset,alias,alignment\na,0,2,8,4,g,4\nb,5,12,8,,g,8\n",
         "why: 'a' (8 B, from 0 to 2, offset 4) and 'b' (8 B, from 5 to 12) are aliases, and the "
         "pin of the first breaks the alignment, bank or lanes of the second\n",
         SPAD_PLAN_CLASH_ALIAS_RULE},
        {"id,lower,upper,size,alias,apart\na,0,2,8,g,\nb,5,12,8,g,a\n",
         "why: 'b' (8 B, from 5 to 12) and 'a' (8 B, from 0 to 2) share bytes as aliases or "
         "slices, but "
         "must be kept apart\n",
         SPAD_PLAN_CLASH_ALIAS_APART},
        {"id,lower,upper,size,slice,apart\nw,0,9,8,,\na,0,2,4,w@0,\nb,5,9,4,w@2,a\n",
         "why: 'b' (4 B, from 5 to 9) and 'a' (4 B, from 0 to 2) share bytes as aliases or slices, "
         "but must be kept apart\n",
         SPAD_PLAN_CLASH_ALIAS_APART}};
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        spad_plan *plan = new_plan();
        spad_error error;
        spad_plan_reason *reason;
        assert_ok(
            spad_plan_read_csv(plan, cases[i].csv, strlen(cases[i].csv), "c.csv", NULL, &error),
            &error);
        spad_plan_result *result = solve(plan, NULL);
        assert_int_equal(result->verdict, SPAD_PLAN_INFEASIBLE);
        assert_int_equal(result->clash, cases[i].clash);
        assert_ok(spad_plan_explain(&reason, plan, result, 0, NULL, &error), &error);
        test_text text;
        test_text_init(&text);
        assert_ok(spad_plan_write(plan, result, reason, SPAD_FORMAT_TEXT, &text.sink, &error),
                  &error);
        assert_non_null(strstr(text.bytes, cases[i].why));
        assert_null(strstr(text.bytes, "bound"));
        test_text_clear(&text);
        assert_ok(spad_plan_write(plan, result, reason, SPAD_FORMAT_JSON, &text.sink, &error),
                  &error);
        assert_non_null(strstr(text.bytes, "\"clash\": \""));
        test_text_free(&text);
        spad_plan_reason_destroy(reason);
        spad_plan_result_destroy(result);
        spad_plan_destroy(plan);
    }
}

/* What is live is counted in bytes as they are, not rounded to the alignment. */
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
    assert_ok(spad_plan_explain(&reason, plan, result, 0, NULL, &error), &error);
    assert_int_equal(reason->load, 30);
    assert_int_equal(reason->over, 1);
    assert_int_equal(reason->works_at, 42);
    assert_true(reason->works_best);
    test_text text;
    test_text_init(&text);
    assert_ok(spad_plan_write(plan, result, reason, SPAD_FORMAT_TEXT, &text.sink, &error), &error);
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
        /* 'c' is not live at the peak: what it is rounded by does not lower the bound */
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
        assert_ok(
            spad_plan_read_csv(plan, cases[i].csv, strlen(cases[i].csv), "c.csv", NULL, &error),
            &error);
        spad_plan_result *result = solve(plan, NULL);
        test_text text;
        test_text_init(&text);
        assert_ok(spad_plan_write(plan, result, NULL, SPAD_FORMAT_TEXT, &text.sink, &error),
                  &error);
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
                  "why: at time 0 27 B are live, 41 B rounded to the alignment", "\"align\""},
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
        assert_ok(
            spad_plan_read_csv(plan, cases[i].csv, strlen(cases[i].csv), "c.csv", NULL, &error),
            &error);
        assert_ok(spad_plan_set_capacity(plan, cases[i].capacity, &error), &error);
        spad_plan_result *result = solve(plan, NULL);
        assert_int_equal(result->verdict, SPAD_PLAN_INFEASIBLE);
        assert_ok(spad_plan_explain(&reason, plan, result, 0, NULL, &error), &error);
        assert_ok(spad_plan_write(plan, result, reason, SPAD_FORMAT_TEXT, &text.sink, &error),
                  &error);
        if (strstr(text.bytes, cases[i].text) == NULL) fail_msg("%s", text.bytes);
        test_text_clear(&text);
        assert_ok(spad_plan_write(plan, result, reason, SPAD_FORMAT_JSON, &text.sink, &error),
                  &error);
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
    assert_ok(spad_plan_explain(&reason, plan, result, 0, NULL, &error), &error);
    assert_ok(spad_plan_write(plan, result, reason, SPAD_FORMAT_TEXT, &text.sink, &error), &error);
    assert_non_null(strstr(text.bytes, "at time 0 270 B are live on average over 4 lanes"));
    spad_plan_reason_destroy(reason);
    const int64_t bound = result->bound;
    result->bound = INT64_MAX / 4; /* as of a plan of that size */
    result->height = INT64_MAX / 2;
    test_text_clear(&text);
    assert_ok(spad_plan_write(plan, result, NULL, SPAD_FORMAT_TEXT, &text.sink, &error), &error);
    if (strstr(text.bytes, "gap       2,305,843,009,213,693,952 B (99.999 %)") == NULL)
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
    assert_ok(spad_plan_explain(&reason, plan, result, INT64_C(8000000000), NULL, &error), &error);
    assert_int_equal(reason->works_at, 4096);
    assert_true(reason->works_best);
    spad_plan_reason_destroy(reason);
    spad_plan_result_destroy(result);
    spad_plan_destroy(plan);
}

static int cancel_at_zero(void *context) {
    int *left = context;
    return (*left)-- <= 0;
}

/* Whenever the caller is asked, a cancelled explanation ends at once and has no result. */
static void a_reason_can_be_cancelled(void **state) {
    (void)state;
    spad_plan *plan = new_plan();
    spad_error error;
    spad_plan_reason *reason;
    assert_ok(packing_perfect(plan, 12, 4096, 3, &error), &error);
    assert_ok(spad_plan_set_capacity(plan, 4000, &error), &error);
    const spad_plan_options options = {.goal = SPAD_PLAN_DECIDE};
    spad_plan_result *result = solve(plan, &options);
    assert_int_equal(result->verdict, SPAD_PLAN_INFEASIBLE);
    int asked = 0;
    spad_status status;
    do {
        int left = asked++;
        const spad_watch watch = {cancel_at_zero, &left};
        status = spad_plan_explain(&reason, plan, result, INT64_C(60000000000), &watch, &error);
        if (status != SPAD_OK) {
            assert_int_equal(status, SPAD_ERR_CANCELLED);
            assert_int_equal(left, -1); /* it is not asked again */
            assert_null(reason);
        }
    } while (status != SPAD_OK);
    assert_true(asked > 5);
    spad_plan_reason *again;
    assert_ok(spad_plan_explain(&again, plan, result, INT64_C(60000000000), NULL, &error), &error);
    assert_int_equal(reason->change_count, again->change_count);
    spad_plan_reason_destroy(again);
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
         "why: at time 0 14 B are live, which would fit in 16 B, but no plan does; in the way: "
         "'p' pinned at 8\n",
         "smallest capacity known to work: 22 B, 6 B more\n"},
        {"id,lower,upper,size,offset\np,0,5,4,8\nq,0,5,10,\n", 21,
         "why: at time 0 14 B are live, which would fit in 21 B, but no plan does; in the way: "
         "'p' pinned at 8\n",
         "smallest capacity known to work: 22 B, 1 B more\n"},
        {"id,lower,upper,size,apart\nb1,0,3,5,b2\nb2,4,6,3,\n", 7,
         "why: 2 buffers of which no two may share bytes take 8 B, capacity 7 B, over by 1 B\n",
         "smallest capacity known to work: 8 B\n"},
        {"id,lower,upper,size,bank\na,0,9,6,10\nb,0,9,6,10\n", 13,
         "why: the banks needed at time 0 reach 16 B, capacity 13 B, over by 3 B\n",
         "smallest capacity known to work: 16 B\n"},
        {"id,lower,upper,size,alignment\na,0,9,10,8\nb,0,9,10,8\n", 20,
         "why: at time 0 20 B are live, 26 B rounded to the alignment, capacity 20 B, over by 6 "
         "B\n",
         "smallest capacity known to work: 26 B\n"},
        {"id,lower,upper,size\na,0,9,8\nb,3,9,8\n", 15,
         "why: at time 3 16 B are live, capacity 15 B, over by 1 B\n",
         "smallest capacity known to work: 16 B\n"}};
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        spad_plan *plan = new_plan();
        spad_plan_reason *reason;
        spad_error error;
        assert_ok(spad_plan_set_capacity(plan, cases[i].capacity, &error), &error);
        assert_ok(
            spad_plan_read_csv(plan, cases[i].csv, strlen(cases[i].csv), "c.csv", NULL, &error),
            &error);
        const spad_plan_options options = {.goal = SPAD_PLAN_DECIDE};
        spad_plan_result *result = solve(plan, &options);
        assert_ok(spad_plan_explain(&reason, plan, result, 0, NULL, &error), &error);
        test_text text;
        test_text_init(&text);
        assert_ok(spad_plan_write(plan, result, reason, SPAD_FORMAT_TEXT, &text.sink, &error),
                  &error);
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
    assert_ok(spad_plan_explain(&reason, plan, result, INT64_C(8000000000), NULL, &error), &error);
    assert_non_null(reason->found);
    assert_int_equal(reason->found->verdict, SPAD_PLAN_OPTIMAL);
    assert_int_equal(reason->change_count, 0);
    assert_ok(spad_plan_check(NULL, plan, reason->found->places, reason->found->count, &error),
              &error);
    test_text text;
    test_text_init(&text);
    assert_ok(spad_plan_write(plan, result, reason, SPAD_FORMAT_TEXT, &text.sink, &error), &error);
    assert_non_null(strstr(text.bytes, "verdict   optimal\n"));
    assert_null(strstr(text.bytes, "why"));
    test_text_clear(&text);
    assert_ok(spad_plan_write(plan, result, reason, SPAD_FORMAT_JSON, &text.sink, &error), &error);
    assert_non_null(strstr(text.bytes, "\"verdict\": \"optimal\""));
    test_text_free(&text);
    spad_plan_reason_destroy(reason);
    spad_plan_result_destroy(result);
    spad_plan_destroy(plan);
}

/* Of two that are kept apart the one that is not live at the peak may be the cheapest to move
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
    assert_ok(spad_plan_explain(&reason, plan, result, 0, NULL, &error), &error);
    assert_int_equal(reason->live_count, 2);
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
    assert_ok(spad_plan_explain(&reason, plan, result, 0, NULL, &error), &error);
    assert_int_equal(reason->changes[0].kind, SPAD_PLAN_ALIGN);
    assert_int_equal(reason->changes[0].amount, 2); /* 4 is not enough, 1 is more than needed */
    spad_plan_reason_destroy(reason);
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
    assert_ok(spad_plan_read_csv(plan, csv, sizeof csv - 1, "w.csv", NULL, &error), &error);
    assert_ok(spad_plan_solve(&result, plan, NULL, &error), &error);
    assert_int_equal(result->verdict, SPAD_PLAN_INFEASIBLE);
    assert_ok(spad_plan_explain(&reason, plan, result, 0, NULL, &error), &error);
    assert_true(reason->proved);
    spad_plan_reason_destroy(reason);
    spad_plan_result_destroy(result);
    spad_plan_destroy(plan);
}

/* ---- sets of buffers --------------------------------------------------------------- */

static spad_plan_reason *explained(spad_plan *plan, spad_plan_result **result) {
    const spad_plan_options options = {.goal = SPAD_PLAN_DECIDE};
    spad_plan_reason *reason;
    spad_error error;
    *result = solve(plan, &options);
    assert_ok(spad_plan_explain(&reason, plan, *result, INT64_C(60000000000), NULL, &error),
              &error);
    return reason;
}

static void sets_are_named_where_one_change_is_not_enough(void **state) {
    (void)state;
    spad_plan *plan = new_plan();
    spad_error error;
    add(plan, (spad_plan_buffer){.name = "a", .lower = 0, .upper = 10, .size = 40});
    add(plan, (spad_plan_buffer){.name = "b", .lower = 0, .upper = 10, .size = 40});
    add(plan, (spad_plan_buffer){.name = "c", .lower = 2, .upper = 8, .size = 40});
    add(plan, (spad_plan_buffer){.name = "d", .lower = 3, .upper = 9, .size = 40});
    add(plan, (spad_plan_buffer){.name = "e", .lower = 4, .upper = 6, .size = 20});
    assert_ok(spad_plan_set_capacity(plan, 90, &error), &error);
    spad_plan_result *result;
    spad_plan_reason *reason = explained(plan, &result);
    assert_int_equal(reason->change_count, 0);
    assert_int_equal(reason->spill_count, 1);
    assert_int_equal(reason->spills[0].count, 3);
    assert_int_equal(reason->spills[0].bytes, 100);
    test_text text;
    test_text_init(&text);
    assert_ok(spad_plan_write(plan, result, reason, SPAD_FORMAT_TEXT, &text.sink, &error), &error);
    assert_non_null(strstr(text.bytes, "fits if 'a' (40 B), 'b' (40 B) and 'e' (20 B) are moved to "
                                       "another memory: 100 B, 200 B moved if each goes out and "
                                       "back once\n"));
    test_text_clear(&text);
    assert_ok(spad_plan_write(plan, result, reason, SPAD_FORMAT_JSON, &text.sink, &error), &error);
    assert_non_null(strstr(text.bytes, "\"spills\": ["));
    assert_non_null(strstr(text.bytes, "\"bytes\": 100,"));
    test_text_free(&text);
    spad_plan_reason_destroy(reason);
    spad_plan_result_destroy(result);
    spad_plan_destroy(plan);
}

/* Many small buffers that are light together, or two large ones. */
static void few_buffers_or_few_bytes(void **state) {
    (void)state;
    spad_plan *plan = new_plan();
    spad_error error;
    for (int i = 0; i < 3; i++) add(plan, (spad_plan_buffer){.upper = 100, .size = 1000});
    for (int i = 0; i < 5; i++)
        add(plan, (spad_plan_buffer){.lower = 10 * i, .upper = 10 * i + 5, .size = 600});
    for (int i = 0; i < 14; i++)
        add(plan, (spad_plan_buffer){.lower = 60, .upper = 65, .size = 50});
    assert_ok(spad_plan_set_capacity(plan, 2100, &error), &error);
    spad_plan_result *result;
    spad_plan_reason *reason = explained(plan, &result);
    assert_int_equal(reason->spill_count, 1);
    assert_int_equal(reason->spills[0].count, 2); /* two of the three that are always live */
    assert_int_equal(reason->spills[0].bytes, 2000);
    spad_plan_reason_destroy(reason);
    spad_plan_result_destroy(result);
    assert_ok(spad_plan_set_capacity(plan, 3050, &error), &error);
    reason = explained(plan, &result); /* one large one is enough */
    assert_int_equal(reason->change_count, 3);
    assert_int_equal(reason->spill_count, 0);
    spad_plan_reason_destroy(reason);
    spad_plan_result_destroy(result);
    spad_plan_destroy(plan);
}

/* Does the problem fit without the buffers whose bit is set? */
static bool fits_without(const spad_plan_buffer *buffers, int count, unsigned set,
                         int64_t capacity) {
    spad_plan *plan = new_plan();
    spad_error error;
    for (int i = 0; i < count; i++) {
        spad_plan_buffer b = buffers[i];
        if (set >> i & 1) b.size = 0;
        add(plan, b);
    }
    assert_ok(spad_plan_set_capacity(plan, capacity, &error), &error);
    const spad_plan_options options = {.goal = SPAD_PLAN_DECIDE};
    spad_plan_result *result = solve(plan, &options);
    assert_int_not_equal(result->verdict, SPAD_PLAN_UNKNOWN);
    const bool fits = result->verdict != SPAD_PLAN_INFEASIBLE;
    spad_plan_result_destroy(result);
    spad_plan_destroy(plan);
    return fits;
}

/* Up to six buffers: all sets are looked at here. The first set has the fewest buffers, and of
 * those of two or three the fewest bytes; each fits, and none has a buffer too many. */
static void sets_are_the_smallest_of_all(void **state) {
    (void)state;
    spad__random random = {5};
    int sizes[7] = {0};
    for (int round = 0; round < 400; round++) {
        spad_plan_buffer buffers[6];
        const int count = (int)spad__random_in(&random, 4, 6);
        spad_plan *plan = new_plan();
        spad_error error;
        int64_t sum = 0;
        for (int i = 0; i < count; i++) {
            const int64_t lower = spad__random_in(&random, 0, 5);
            buffers[i] = (spad_plan_buffer){.lower = lower,
                                            .upper = lower + spad__random_in(&random, 1, 9),
                                            .size = spad__random_in(&random, 1, 9)};
            sum += buffers[i].size;
            add(plan, buffers[i]);
        }
        const int64_t capacity = spad__random_in(&random, 1, sum / 2);
        assert_ok(spad_plan_set_capacity(plan, capacity, &error), &error);
        if (!fits_without(buffers, count, 0, capacity)) {
            spad_plan_result *result;
            spad_plan_reason *reason = explained(plan, &result);
            int fewest = 7;
            int64_t least = INT64_MAX;
            for (unsigned set = 1; set < 1u << count && reason->change_count == 0; set++) {
                if (!fits_without(buffers, count, set, capacity)) continue;
                int bits = 0;
                int64_t bytes = 0;
                for (int i = 0; i < count; i++) {
                    bits += (int)(set >> i & 1);
                    bytes += set >> i & 1 ? buffers[i].size : 0;
                }
                if (bits < fewest || (bits == fewest && bytes < least)) {
                    fewest = bits;
                    least = bytes;
                }
            }
            if (reason->change_count == 0) {
                assert_true(reason->spill_count > 0);
                assert_true(fewest >= 2);
                if (fewest <= 3) {
                    assert_int_equal(reason->spills[0].count, fewest);
                    assert_int_equal(reason->spills[0].bytes, least);
                }
                sizes[fewest]++;
            }
            for (size_t k = 0; k < reason->spill_count; k++) {
                const spad_plan_spill *s = &reason->spills[k];
                unsigned set = 0;
                for (size_t i = 0; i < s->count; i++) set |= 1u << s->buffers[i];
                assert_true(fits_without(buffers, count, set, capacity));
                for (size_t i = 0; i < s->count; i++)
                    assert_false(
                        fits_without(buffers, count, set & ~(1u << s->buffers[i]), capacity));
            }
            spad_plan_reason_destroy(reason);
            spad_plan_result_destroy(result);
        }
        spad_plan_destroy(plan);
    }
    assert_true(sizes[2] > 5 && sizes[3] > 5);
}

static spad_status explain_sets(const spad_host *host, void *context) {
    (void)context;
    spad_plan *plan;
    spad_status status = spad_plan_create(&plan, host, NULL);
    for (int i = 0; i < 6 && status == SPAD_OK; i++) {
        const spad_plan_buffer b = {.lower = i, .upper = 10, .size = 10 + i};
        status = spad_plan_add(NULL, plan, &b, NULL);
    }
    if (status == SPAD_OK) status = spad_plan_set_capacity(plan, 30, NULL);
    spad_plan_result *result = NULL;
    spad_plan_reason *reason = NULL;
    const spad_plan_options options = {.goal = SPAD_PLAN_DECIDE};
    if (status == SPAD_OK) status = spad_plan_solve(&result, plan, &options, NULL);
    if (status == SPAD_OK) status = spad_plan_explain(&reason, plan, result, 0, NULL, NULL);
    if (status == SPAD_OK) assert_true(reason->spill_count > 0);
    spad_plan_reason_destroy(reason);
    spad_plan_result_destroy(result);
    spad_plan_destroy(plan);
    return status;
}

static void every_allocation_of_sets_may_fail(void **state) {
    (void)state;
    test_fail_each_allocation(explain_sets, NULL);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(clashes_are_named),
        cmocka_unit_test(sets_are_named_where_one_change_is_not_enough),
        cmocka_unit_test(few_buffers_or_few_bytes),
        cmocka_unit_test(sets_are_the_smallest_of_all),
        cmocka_unit_test(every_allocation_of_sets_may_fail),
        cmocka_unit_test(a_reason_counts_true_bytes),
        cmocka_unit_test(a_bound_has_its_proof),
        cmocka_unit_test(reasons_are_written),
        cmocka_unit_test(lanes_and_huge_gaps_are_written),
        cmocka_unit_test(a_reason_finds_a_low_capacity),
        cmocka_unit_test(a_reason_can_be_cancelled),
        cmocka_unit_test(a_reason_names_the_peak_and_what_would_help),
        cmocka_unit_test(a_reason_says_what_does_not_fit),
        cmocka_unit_test(a_reason_may_find_the_plan),
        cmocka_unit_test(a_change_may_lie_beside_the_peak),
        cmocka_unit_test(a_lower_alignment_is_offered),
        cmocka_unit_test(a_reason_survives_changes_that_break_rules),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
