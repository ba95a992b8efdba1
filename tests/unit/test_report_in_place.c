/* SPDX-License-Identifier: Apache-2.0
 * Reports of plans with outputs in the places of inputs: conflicts are those of the validator. */
#include <string.h>

#include "base/random.h"
#include "plan/problem/problem.h"
#include "report/report.h"
#include "spad/experimental/report_parts.h"
#include "support/reports.h"

enum { BUFFERS_MOST = 7, PAIRS_MOST = 24, MOMENTS = 8 };

static const spad_space four_lanes = {
    .name = "pad", .lanes = TOY_LANES, .bytes = TOY_BYTES, .alignment = 1, .granule = 1};

typedef struct random_plan {
    spad_plan *plan;
    size_t count;
    spad_plan_place places[BUFFERS_MOST];
    size_t pairs;
    size_t output[PAIRS_MOST];
    size_t input[PAIRS_MOST];
    size_t alias[BUFFERS_MOST]; /* the lowest buffer of its group */
} random_plan;

static int64_t below(spad__random *random, int64_t limit) {
    return (int64_t)spad__random_below(random, (uint64_t)limit);
}

/* Few offsets, lanes and moments, so that buffers often meet. */
static void make_random_buffer(random_plan *p, spad__random *random) {
    spad_error error;
    const int64_t lower = below(random, MOMENTS - 1);
    const int64_t upper = lower + 1 + below(random, MOMENTS - lower);
    const int64_t size = 1 + below(random, 6);
    spad_plan_gap gap = {.lower = lower + 1, .upper = upper - 1, .window_upper = 0};
    spad_plan_buffer buffer = {.lower = lower, .upper = upper, .size = size, .lanes = 1};
    if (gap.lower < gap.upper && below(random, 3) == 0) {
        gap.window_upper = below(random, size + 1);
        buffer.gaps = &gap;
        buffer.gap_count = 1;
    }
    buffer.lanes = 1 + below(random, 2);
    assert_ok(spad_plan_add(NULL, p->plan, &buffer, &error), &error);
    p->places[p->count] = (spad_plan_place){2 * below(random, 4), below(random, 2)};
    p->alias[p->count] = p->count;
    p->count++;
}

static void make_random_plan(random_plan *p, spad__random *random) {
    spad_error error;
    *p = (random_plan){0};
    assert_ok(spad_plan_create(&p->plan, NULL, &error), &error);
    assert_ok(spad_plan_set_space(p->plan, &four_lanes, &error), &error);
    const int64_t count = 2 + below(random, BUFFERS_MOST - 1);
    for (int64_t i = 0; i < count; i++) make_random_buffer(p, random);
    if (below(random, 4) == 0) {
        assert_ok(spad_plan_alias(p->plan, 0, 1, &error), &error);
        p->alias[1] = 0;
        p->places[1] = p->places[0];
    }
    for (p->pairs = 0; p->pairs < PAIRS_MOST && below(random, 12) != 0; p->pairs++) {
        const size_t output = p->output[p->pairs] = (size_t)below(random, count);
        const size_t input = p->input[p->pairs] =
            (output + 1 + (size_t)below(random, count - 1)) % (size_t)count;
        assert_ok(spad_plan_in_place(p->plan, output, input, &error), &error);
    }
}

static bool may_be_in_place(const random_plan *p, size_t output, size_t input) {
    const spad_plan_buffer *born = spad_plan_get(p->plan, output);
    const spad_plan_buffer *dies = spad_plan_get(p->plan, input);
    if (memcmp(&p->places[output], &p->places[input], sizeof *p->places) != 0) return false;
    if (dies->lower > born->lower || dies->upper > born->lower + 1) return false;
    for (size_t k = 0; k < p->pairs; k++)
        if (p->output[k] == output && p->input[k] == input) return true;
    return false;
}

/* Does a buffer use a byte of a lane at a moment? */
static bool uses(const random_plan *p, size_t buffer, int64_t lane, int64_t byte, int64_t moment) {
    const spad_plan_buffer *b = spad_plan_get(p->plan, buffer);
    const int64_t at = byte - p->places[buffer].offset;
    const int64_t row = lane - p->places[buffer].lane;
    if (moment < b->lower || moment >= b->upper || row < 0 || row >= b->lanes) return false;
    const spad_plan_gap *gap = b->gap_count > 0 ? b->gaps : NULL;
    if (gap != NULL && gap->lower <= moment && moment < gap->upper)
        return gap->window_lower <= at && at < gap->window_upper;
    return 0 <= at && at < b->size;
}

/* Byte by byte and moment by moment: do two buffers share what they may not? */
static bool meet(const random_plan *p, size_t a, size_t b) {
    if (a == b || p->alias[a] == p->alias[b]) return false;
    if (may_be_in_place(p, a, b) || may_be_in_place(p, b, a)) return false;
    for (int64_t lane = 0; lane < TOY_LANES; lane++)
        for (int64_t byte = 0; byte < TOY_BYTES; byte++)
            for (int64_t t = 0; t <= MOMENTS; t++)
                if (uses(p, a, lane, byte, t) && uses(p, b, lane, byte, t)) return true;
    return false;
}

/* The buffer of a box: names are not needed, since boxes stand in the order of buffers. */
static size_t buffer_of_box(const random_plan *p, const spad_report *report, size_t box) {
    size_t number = 0;
    for (size_t i = 0; i < p->count; i++) {
        const spad_plan_buffer *b = spad_plan_get(p->plan, i);
        size_t boxes = 1;
        if (b->gap_count > 0) boxes = 2 + (b->gaps[0].window_lower < b->gaps[0].window_upper);
        number += boxes;
        if (box < number) return i;
    }
    assert_int_equal(spad_report_box_count(report), number);
    return p->count;
}

/* A buffer is in conflict if one of its boxes is. Returns how many are. */
static int compare_conflicts(const random_plan *p, const spad__picture *picture) {
    bool found[BUFFERS_MOST] = {0};
    int conflicts = 0;
    for (size_t k = 0; k < picture->count; k++) {
        if (picture->partner[k] < 0) continue;
        const size_t a = buffer_of_box(p, picture->report, k);
        const size_t b = buffer_of_box(p, picture->report, (size_t)picture->partner[k]);
        assert_true(meet(p, a, b));
        found[a] = true;
    }
    for (size_t i = 0; i < p->count; i++) {
        bool any = false;
        for (size_t j = 0; j < p->count && !any; j++) any = meet(p, i, j);
        assert_int_equal(found[i], any);
        conflicts += any;
    }
    return conflicts;
}

static void conflicts_are_those_of_the_validator(void **state) {
    (void)state;
    spad__random random = {11};
    int shared = 0;
    int clean = 0;
    for (int round = 0; round < 20000; round++) {
        random_plan p;
        make_random_plan(&p, &random);
        spad_error error;
        spad_plan_result result = {.count = p.count, .places = p.places};
        result.fingerprint = spad_plan_get_fingerprint(p.plan);
        spad_report *report = test_report_new();
        assert_ok(spad_report_add_plan(report, p.plan, &result, 0, &error), &error);
        spad__picture picture;
        assert_ok(spad__picture_make(&picture, report, &error), &error);
        const int conflicts = compare_conflicts(&p, &picture);
        const spad_status verdict = spad_plan_check(NULL, p.plan, p.places, p.count, &error);
        assert_int_equal(verdict, conflicts > 0 ? SPAD_ERR_OVERLAP : SPAD_OK);
        shared += report->in_places.count > 0;
        clean += report->in_places.count > 0 && conflicts == 0;
        spad__picture_free(&picture);
        spad_report_destroy(report);
        spad_plan_destroy(p.plan);
    }
    assert_true(shared > 1000 && clean > 100); /* the rule was at work, alone and among conflicts */
}

/* Solved plans: optimal means that the report has no conflict. */
static void solved_plans_have_no_conflict(void **state) {
    (void)state;
    spad__random random = {12};
    for (int round = 0; round < 2000; round++) {
        random_plan p;
        make_random_plan(&p, &random);
        spad_error error;
        spad_plan_result *result = NULL;
        spad_report_space facts;
        assert_ok(spad_plan_solve(&result, p.plan, NULL, &error), &error);
        spad_report *report = test_report_new();
        if (result->places != NULL) {
            assert_ok(spad_report_add_plan(report, p.plan, result, 0, &error), &error);
            assert_ok(spad_report_get_space(&facts, report, 0, &error), &error);
            assert_int_equal(facts.conflicts, 0);
        }
        spad_report_destroy(report);
        spad_plan_result_destroy(result);
        spad_plan_destroy(p.plan);
    }
}

/* A stranger that ends with the input is in conflict with the output, although the input is not. */
static void an_input_hides_no_stranger(void **state) {
    (void)state;
    spad_error error;
    spad_plan *plan = NULL;
    const spad_plan_buffer buffers[] = {{.name = "input", .upper = 3, .size = 4},
                                        {.name = "stranger", .upper = 3, .size = 4},
                                        {.name = "output", .lower = 2, .upper = 6, .size = 8}};
    spad_plan_place places[] = {{0, 0}, {4, 0}, {0, 0}};
    assert_ok(spad_plan_create(&plan, NULL, &error), &error);
    for (size_t i = 0; i < 3; i++)
        assert_ok(spad_plan_add(NULL, plan, &buffers[i], &error), &error);
    assert_ok(spad_plan_in_place(plan, 2, 0, &error), &error);
    spad_plan_result result = {.count = 3, .places = places};
    result.fingerprint = spad_plan_get_fingerprint(plan);
    spad_report *report = test_report_new();
    assert_ok(spad_report_add_plan(report, plan, &result, 0, &error), &error);
    spad__picture picture;
    assert_ok(spad__picture_make(&picture, report, &error), &error);
    assert_int_equal(picture.partner[0], -1);
    assert_int_equal(picture.partner[1], 2);
    assert_int_equal(picture.partner[2], 1);
    assert_int_equal(spad__report_input_of(report, 2), 0);
    spad__picture_free(&picture);
    spad_report_destroy(report);
    spad_plan_destroy(plan);
}

static spad_status add_a_plan(const spad_host *host, void *context) {
    random_plan *p = context;
    const spad_report_options options = {.host = host};
    spad_report *report = NULL;
    spad_plan_result result = {.count = p->count, .places = p->places};
    result.fingerprint = spad_plan_get_fingerprint(p->plan);
    spad_status status = spad_report_create(&report, &test_report_target, &options, NULL);
    if (status == SPAD_OK) {
        status = spad_report_add_plan(report, p->plan, &result, 0, NULL);
        if (status != SPAD_OK) {
            assert_int_equal(spad_report_box_count(report), 0);
            assert_int_equal(report->in_places.count, 0);
        }
    }
    spad_report_destroy(report);
    return status;
}

static void failed_allocations_change_nothing(void **state) {
    (void)state;
    spad__random random = {13};
    for (int round = 0; round < 20; round++) {
        random_plan p;
        make_random_plan(&p, &random);
        test_fail_each_allocation(add_a_plan, &p);
        spad_plan_destroy(p.plan);
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(conflicts_are_those_of_the_validator),
        cmocka_unit_test(solved_plans_have_no_conflict),
        cmocka_unit_test(an_input_hides_no_stranger),
        cmocka_unit_test(failed_allocations_change_nothing),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
