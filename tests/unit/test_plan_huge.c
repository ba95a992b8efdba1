/* SPDX-License-Identifier: Apache-2.0
 *
 * Plans whose sizes, alignments and pins are near the end of 64 bits: every sum fits, or the plan
 * is refused, or the answer holds no number that did not fit. */
#include "base/random.h"
#include "plan_fixture.h"

/* Near a power of two, or small. */
static int64_t any_bytes(spad__random *random) {
    const int64_t power = INT64_C(1) << spad__random_in(random, 0, 62);
    switch (spad__random_below(random, 5)) {
    case 0: return power;
    case 1: return power - 1;
    case 2: return INT64_MAX / spad__random_in(random, 2, 9);
    default: return spad__random_in(random, 0, 99);
    }
}

static int64_t any_alignment(spad__random *random) {
    static const int64_t some[] = {
        1, 1, 3, 64, INT64_C(1) << 40, INT64_C(1) << 61, INT64_C(1) << 62, INT64_C(3) << 60};
    return some[spad__random_below(random, sizeof some / sizeof *some)];
}

static spad_plan_buffer any_buffer(spad__random *random, spad_plan_gap *gap, bool lanes) {
    spad_plan_buffer b = {.lower = spad__random_in(random, 0, 4),
                          .size = any_bytes(random),
                          .alignment =
                              spad__random_below(random, 2) > 0 ? any_alignment(random) : 1,
                          .lanes = lanes ? spad__random_in(random, 1, 4) : 1};
    b.upper = b.lower + spad__random_in(random, 1, 5);
    if (b.upper > b.lower + 2 && spad__random_below(random, 3) == 0) {
        *gap = (spad_plan_gap){b.lower + 1, b.lower + 2, 0, spad__random_in(random, 0, b.size)};
        b.gap_count = 1;
        b.gaps = gap;
    }
    if (spad__random_below(random, 5) == 0) {
        b.pinned = true;
        b.offset = spad__random_below(random, 3) == 0 ? INT64_MAX - b.size : any_bytes(random);
    }
    b.hinted = spad__random_below(random, 4) == 0;
    b.hint = b.hinted ? any_bytes(random) : 0;
    return b;
}

static spad_plan *any_plan(spad__random *random) {
    static const spad_space space = {
        .name = "huge", .lanes = 4, .bytes = SPAD_UNBOUNDED, .alignment = 1, .granule = 1};
    spad_error error;
    spad_plan *plan = new_plan();
    const bool lanes = spad__random_below(random, 3) == 0;
    if (lanes) assert_ok(spad_plan_set_space(plan, &space, &error), &error);
    for (int64_t i = spad__random_in(random, 1, 8); i > 0; i--) {
        spad_plan_gap gap;
        const spad_plan_buffer b = any_buffer(random, &gap, lanes);
        (void)spad_plan_add(NULL, plan, &b, &error); /* what is refused is left out */
    }
    const size_t count = spad_plan_count(plan);
    for (int64_t k = spad__random_in(random, 0, 4); k > 0 && count > 1; k--) {
        const size_t a = (size_t)spad__random_below(random, count);
        const size_t b = (size_t)spad__random_below(random, count);
        switch (spad__random_below(random, 4)) {
        case 0: (void)spad_plan_alias(plan, a, b, &error); break;
        case 1: (void)spad_plan_apart(plan, a, b, &error); break;
        case 2: (void)spad_plan_slice(plan, a, b, any_bytes(random), &error); break;
        default: (void)spad_plan_in_place(plan, a, b, &error); break;
        }
    }
    return plan;
}

static void huge_plans_fit_or_are_refused(void **state) {
    (void)state;
    long seen[2] = {0, 0};
    spad__random random = {77};
    const long runs = test_effort(24000);
    for (long run = 0; run < runs; run++) {
        spad_error error;
        spad_plan *plan = any_plan(&random);
        spad_plan_result *r = NULL;
        const spad_plan_options options = {.node_limit = 20};
        const spad_status status = spad_plan_solve(&r, plan, &options, &error);
        seen[status == SPAD_OK]++;
        if (status != SPAD_OK) {
            assert_true(status == SPAD_ERR_OVERFLOW || status == SPAD_ERR_ALIGNMENT);
            assert_null(r);
        } else if (r->verdict <= SPAD_PLAN_FEASIBLE) {
            int64_t height;
            assert_true(r->bound <= r->height && r->height < SPAD_UNBOUNDED);
            assert_ok(spad_plan_check(&height, plan, r->places, r->count, &error), &error);
            assert_true(height == r->height);
        }
        spad_plan_result_destroy(r);
        spad_plan_destroy(plan);
    }
    assert_true(seen[0] > runs / 20 && seen[1] > runs / 20);
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(huge_plans_fit_or_are_refused)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
