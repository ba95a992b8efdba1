/* SPDX-License-Identifier: Apache-2.0
 *
 * A result belongs to the problem it was made from: every function that takes both refuses it
 * after every kind of change, and takes it back when the problem is as it was.
 */
#include "emit/emit.h"
#include "support/support.h"

#include <string.h>

#include "spad/spad.h"

static const char csv[] = "id,lower,upper,size\na,0,4,8\nb,2,6,8\nc,4,8,4\n";

static spad_plan *make(int64_t capacity) {
    spad_plan *plan;
    spad_error error;
    assert_ok(spad_plan_create(&plan, NULL, &error), &error);
    if (capacity > 0) assert_ok(spad_plan_set_capacity(plan, capacity, &error), &error);
    assert_ok(spad_plan_read_csv(plan, csv, strlen(csv), "x.csv", NULL, &error), &error);
    return plan;
}

static spad_plan_result *solve(const spad_plan *plan) {
    spad_plan_result *result;
    spad_error error;
    assert_ok(spad_plan_solve(&result, plan, NULL, &error), &error);
    return result;
}

/* ---- what takes a plan and its result ---------------------------------------------- */

typedef spad_status (*use)(const spad_plan *plan, const spad_plan_result *result,
                           spad_error *error);

static spad_status use_match(const spad_plan *plan, const spad_plan_result *result,
                             spad_error *error) {
    return spad_plan_match(plan, result, error);
}

static spad_status use_text(const spad_plan *plan, const spad_plan_result *result,
                            spad_error *error) {
    test_text text;
    test_text_init(&text);
    const spad_status status =
        spad_plan_write(plan, result, NULL, SPAD_FORMAT_TEXT, &text.sink, error);
    if (status != SPAD_OK) assert_int_equal(text.count, 0);
    test_text_free(&text);
    return status;
}

static spad_status use_json(const spad_plan *plan, const spad_plan_result *result,
                            spad_error *error) {
    test_text text;
    test_text_init(&text);
    const spad_status status =
        spad_plan_write(plan, result, NULL, SPAD_FORMAT_JSON, &text.sink, error);
    if (status != SPAD_OK) assert_int_equal(text.count, 0);
    test_text_free(&text);
    return status;
}

static spad_status use_csv(const spad_plan *plan, const spad_plan_result *result,
                           spad_error *error) {
    test_text text;
    test_text_init(&text);
    const spad_status status =
        spad_plan_write_csv(plan, 0, result, csv, strlen(csv), &text.sink, error);
    if (status != SPAD_OK) assert_int_equal(text.count, 0);
    test_text_free(&text);
    return status;
}

static spad_status use_emit(const spad_plan *plan, const spad_plan_result *result,
                            spad_error *error) {
    spad_emit *table;
    const spad_target *target;
    assert_ok(spad_target_find(&target, "trn2", error), error);
    assert_ok(spad_emit_create(&table, target, NULL, NULL, error), error);
    const spad_status status = spad_emit_add_plan(table, plan, result, 0, error);
    assert_int_equal(table->rows.count, status == SPAD_OK ? 3 : 0);
    spad_emit_destroy(table);
    return status;
}

static spad_status use_report(const spad_plan *plan, const spad_plan_result *result,
                              spad_error *error) {
    spad_report *report;
    const spad_target *target;
    assert_ok(spad_target_find(&target, "trn2", error), error);
    assert_ok(spad_report_create(&report, target, NULL, error), error);
    const spad_status status = spad_report_add_plan(report, plan, result, 0, error);
    assert_int_equal(spad_report_box_count(report), status == SPAD_OK ? 3 : 0);
    spad_report_destroy(report);
    return status;
}

static const use uses[] = {use_match, use_text, use_json, use_csv, use_emit, use_report};
enum { USES = sizeof uses / sizeof *uses };

/* ---- changes ----------------------------------------------------------------------- */

static const char rules_changed[] = "this result was made from another plan, or from this one "
                                    "before its buffers, rules or capacity changed: solve again";

static void change_add(spad_plan *plan) {
    const spad_plan_buffer buffer = {.name = "d", .lower = 0, .upper = 1, .size = 1};
    spad_error error;
    assert_ok(spad_plan_add(NULL, plan, &buffer, &error), &error);
}
static void change_csv(spad_plan *plan) {
    static const char more[] = "id,lower,upper,size\nd,0,4,8\ne,2,6,8\n";
    spad_error error;
    assert_ok(spad_plan_read_csv(plan, more, strlen(more), "y.csv", NULL, &error), &error);
}
static void change_trace(spad_plan *plan) {
    const spad_target *target;
    spad_trace *trace;
    const spad_tensor tensor = {.name = "t",
                                .dtype = SPAD_UINT8,
                                .rect = {.lanes = 1, .byte = SPAD_NO_BYTE, .bytes = 8},
                                .scope = -1};
    int64_t number;
    spad_error error;
    assert_ok(spad_target_find(&target, "trn2", &error), &error);
    assert_ok(spad_trace_create(&trace, target, NULL, &error), &error);
    assert_ok(spad_trace_alloc(&number, trace, &tensor, 0, &error), &error);
    assert_ok(spad_plan_add_trace(NULL, plan, trace, 0, &error), &error);
    spad_trace_destroy(trace);
}
static void change_alias(spad_plan *plan) {
    spad_error error;
    assert_ok(spad_plan_alias(plan, 0, 2, &error), &error);
}
static void change_apart(spad_plan *plan) {
    spad_error error;
    assert_ok(spad_plan_apart(plan, 0, 2, &error), &error);
}
static void change_capacity(spad_plan *plan) {
    spad_error error;
    assert_ok(spad_plan_set_capacity(plan, 17, &error), &error);
}

static const struct {
    void (*make)(spad_plan *plan);
    const char *message;
} changes[] = {
    {change_add,
     "this result was made from another plan, or from this one before it changed (buffers: 3 then, "
     "4 now): solve again"},
    {change_csv,
     "this result was made from another plan, or from this one before it changed (buffers: 3 then, "
     "5 now): solve again"},
    {change_trace,
     "this result was made from another plan, or from this one before it changed (buffers: 3 then, "
     "4 now): solve again"},
    {change_alias, rules_changed},
    {change_apart, rules_changed},
    {change_capacity, rules_changed},
};

static void a_result_is_refused_after_every_change(void **state) {
    (void)state;
    for (size_t c = 0; c < sizeof changes / sizeof *changes; c++) {
        spad_plan *plan = make(0);
        spad_plan_result *result = solve(plan);
        spad_error error;
        for (int u = 0; u < USES; u++) assert_ok(uses[u](plan, result, &error), &error);
        changes[c].make(plan);
        for (int u = 0; u < USES; u++) {
            assert_int_equal(uses[u](plan, result, &error), SPAD_ERR_STALE);
            assert_string_equal(error.message, changes[c].message);
            assert_int_equal(error.needed, spad_plan_count(plan));
            assert_int_equal(error.available, 3);
        }
        spad_plan_result *again = solve(plan);
        assert_ok(spad_plan_match(plan, again, &error), &error);
        spad_plan_result_destroy(again);
        spad_plan_result_destroy(result);
        spad_plan_destroy(plan);
    }
}

static void a_capacity_that_comes_back_makes_a_result_good_again(void **state) {
    (void)state;
    spad_plan *plan = make(100);
    spad_plan_result *result = solve(plan);
    spad_error error;
    change_capacity(plan);
    assert_int_equal(spad_plan_match(plan, result, &error), SPAD_ERR_STALE);
    assert_ok(spad_plan_set_capacity(plan, 100, &error), &error);
    for (int u = 0; u < USES; u++) assert_ok(uses[u](plan, result, &error), &error);
    spad_plan_result_destroy(result);
    spad_plan_destroy(plan);
}

/* What a failed call took back is no change. */
static void a_failed_call_changes_nothing(void **state) {
    (void)state;
    static const char bad[] = "id,lower,upper,size,alias,apart\nd,0,4,8,g,a\ne,2,6,8,g,z\n";
    spad_plan *plan = make(0);
    spad_plan_result *result = solve(plan);
    const uint64_t before = spad_plan_get_fingerprint(plan);
    const spad_plan_buffer taken = {.name = "a", .lower = 0, .upper = 1, .size = 1};
    spad_error error;
    assert_int_equal(spad_plan_add(NULL, plan, &taken, &error), SPAD_ERR_NAME);
    assert_int_equal(spad_plan_read_csv(plan, bad, strlen(bad), "y.csv", NULL, &error),
                     SPAD_ERR_UNKNOWN);
    assert_int_equal(spad_plan_alias(plan, 1, 1, &error), SPAD_ERR_ARGUMENT);
    assert_int_equal(spad_plan_apart(plan, 1, 9, &error), SPAD_ERR_ARGUMENT);
    assert_int_equal(spad_plan_set_capacity(plan, -1, &error), SPAD_ERR_ARGUMENT);
    assert_true(before == spad_plan_get_fingerprint(plan));
    for (int u = 0; u < USES; u++) assert_ok(uses[u](plan, result, &error), &error);
    spad_plan_result_destroy(result);
    spad_plan_destroy(plan);
}

/* Each number of a buffer, its name, its gaps and the start lanes count. */
static void every_part_of_a_problem_counts(void **state) {
    (void)state;
    static const spad_plan_gap gap = {1, 2, 0, 0};
    static const spad_plan_gap window = {1, 2, 0, 4};
    const spad_plan_buffer variants[] = {
        {.lower = 0, .upper = 9, .size = 8},
        {.lower = 1, .upper = 9, .size = 8},
        {.lower = 0, .upper = 8, .size = 8},
        {.lower = 0, .upper = 9, .size = 9},
        {.lower = 0, .upper = 9, .size = 8, .alignment = 2},
        {.lower = 0, .upper = 9, .size = 8, .bank = 16},
        {.lower = 0, .upper = 9, .size = 8, .pinned = true},
        {.lower = 0, .upper = 9, .size = 8, .pinned = true, .offset = 4},
        {.lower = 0, .upper = 9, .size = 8, .hinted = true},
        {.lower = 0, .upper = 9, .size = 8, .hinted = true, .hint = 4},
        {.lower = 0, .upper = 9, .size = 8, .name = ""},
        {.lower = 0, .upper = 9, .size = 8, .name = "x"},
        {.lower = 0, .upper = 9, .size = 8, .gap_count = 1, .gaps = &gap},
        {.lower = 0, .upper = 9, .size = 8, .gap_count = 1, .gaps = &window},
    };
    enum { COUNT = sizeof variants / sizeof *variants };
    uint64_t seen[COUNT];
    for (size_t i = 0; i < COUNT; i++) {
        spad_plan *plan;
        spad_error error;
        assert_ok(spad_plan_create(&plan, NULL, &error), &error);
        assert_ok(spad_plan_add(NULL, plan, &variants[i], &error), &error);
        seen[i] = spad_plan_get_fingerprint(plan);
        for (size_t k = 0; k < i; k++) assert_true(seen[i] != seen[k]);
        spad_plan_destroy(plan);
    }
}

static void the_rules_of_a_space_count(void **state) {
    (void)state;
    static const int64_t every_two[] = {0, 2};
    static const int64_t only_first[] = {0};
    static const spad_lane_rule two = {
        .lanes_min = 1, .lanes_max = 2, .start_count = 2, .starts = every_two};
    static const spad_lane_rule one = {
        .lanes_min = 1, .lanes_max = 2, .start_count = 1, .starts = only_first};
    spad_space space = {.name = "s", .lanes = 4, .bytes = 64, .alignment = 1, .granule = 1};
    uint64_t seen[3];
    for (int i = 0; i < 3; i++) {
        const spad_plan_buffer buffer = {.lower = 0, .upper = 1, .size = 8};
        spad_plan *plan;
        spad_error error;
        space.lane_rule_count = i > 0;
        space.lane_rules = i == 1 ? &one : &two;
        assert_ok(spad_plan_create(&plan, NULL, &error), &error);
        assert_ok(spad_plan_set_space(plan, &space, &error), &error);
        assert_ok(spad_plan_add(NULL, plan, &buffer, &error), &error);
        seen[i] = spad_plan_get_fingerprint(plan);
        spad_plan_destroy(plan);
    }
    assert_true(seen[0] != seen[1] && seen[1] != seen[2] && seen[0] != seen[2]);
}

/* ---- reasons ----------------------------------------------------------------------- */

static void explanations_belong_to_their_problem(void **state) {
    (void)state;
    spad_plan *plan = make(12);
    spad_plan *other = make(13);
    spad_plan_result *result = solve(plan);
    spad_plan_result *others = solve(other);
    spad_plan_reason *reason;
    spad_plan_reason *stale;
    spad_error error;
    test_text text;
    test_text_init(&text);
    assert_ok(spad_plan_explain(&reason, plan, result, 0, NULL, &error), &error);
    assert_ok(spad_plan_write(plan, result, reason, SPAD_FORMAT_TEXT, &text.sink, &error), &error);
    test_text_clear(&text);
    /* the reason of one with the result of another */
    assert_int_equal(spad_plan_write(other, others, reason, SPAD_FORMAT_TEXT, &text.sink, &error),
                     SPAD_ERR_STALE);
    assert_string_equal(error.message,
                        "this reason was made from another plan, or from this one before its "
                        "buffers, rules or capacity changed: solve again");
    assert_int_equal(spad_plan_write(other, others, reason, SPAD_FORMAT_JSON, &text.sink, &error),
                     SPAD_ERR_STALE);
    assert_int_equal(spad_plan_explain(&stale, other, result, 0, NULL, &error), SPAD_ERR_STALE);
    assert_null(stale);
    assert_string_equal(error.message, rules_changed);
    change_add(plan);
    assert_int_equal(spad_plan_write(plan, result, reason, SPAD_FORMAT_TEXT, &text.sink, &error),
                     SPAD_ERR_STALE);
    assert_int_equal(spad_plan_explain(&stale, plan, result, 0, NULL, &error), SPAD_ERR_STALE);
    spad_plan_result *again = solve(plan);
    assert_int_equal(spad_plan_write(plan, again, reason, SPAD_FORMAT_JSON, &text.sink, &error),
                     SPAD_ERR_STALE);
    assert_string_equal(error.message,
                        "this reason was made from another plan, or from this one before it "
                        "changed (buffers: 3 then, 4 now): solve again");
    assert_int_equal(text.count, 0);
    test_text_free(&text);
    spad_plan_result_destroy(again);
    spad_plan_reason_destroy(reason);
    spad_plan_result_destroy(others);
    spad_plan_result_destroy(result);
    spad_plan_destroy(other);
    spad_plan_destroy(plan);
}

/* ---- places that are not there, or not ours ---------------------------------------- */

static void a_result_without_places_is_refused_where_they_are_needed(void **state) {
    (void)state;
    static const char pins[] = "id,lower,upper,size,offset\na,0,4,8,0\nb,2,6,8,4\nc,0,1,1,99\n";
    spad_plan *plan;
    spad_error error;
    assert_ok(spad_plan_create(&plan, NULL, &error), &error);
    assert_ok(spad_plan_read_csv(plan, pins, strlen(pins), "x.csv", NULL, &error), &error);
    spad_plan_result *result = solve(plan);
    assert_null(result->places);
    const use need_places[] = {use_csv, use_emit};
    for (int u = 0; u < 2; u++) {
        assert_int_equal(need_places[u](plan, result, &error), SPAD_ERR_ARGUMENT);
        assert_string_equal(error.message,
                            "the result has no places: no plan was found (infeasible)");
    }
    assert_ok(use_report(plan, result, &error), &error); /* draws the three pins */
    assert_ok(use_text(plan, result, &error), &error);
    spad_plan_result_destroy(result);
    spad_plan_destroy(plan);
}

/* Places from elsewhere travel as a result that the caller fills in. */
static void places_of_the_caller_are_taken(void **state) {
    (void)state;
    spad_plan *plan = make(0);
    spad_plan_place places[3] = {{0, 0}, {8, 0}, {0, 0}};
    spad_plan_result mine = {
        .count = 3, .fingerprint = spad_plan_get_fingerprint(plan), .places = places};
    spad_error error;
    assert_ok(use_csv(plan, &mine, &error), &error);
    assert_ok(use_emit(plan, &mine, &error), &error);
    assert_ok(use_report(plan, &mine, &error), &error);
    mine.count = 2;
    assert_int_equal(use_emit(plan, &mine, &error), SPAD_ERR_STALE);
    spad_plan_destroy(plan);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_result_is_refused_after_every_change),
        cmocka_unit_test(a_capacity_that_comes_back_makes_a_result_good_again),
        cmocka_unit_test(a_failed_call_changes_nothing),
        cmocka_unit_test(every_part_of_a_problem_counts),
        cmocka_unit_test(the_rules_of_a_space_count),
        cmocka_unit_test(explanations_belong_to_their_problem),
        cmocka_unit_test(a_result_without_places_is_refused_where_they_are_needed),
        cmocka_unit_test(places_of_the_caller_are_taken),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
