/* SPDX-License-Identifier: Apache-2.0
 * Soft constraints: what is refused, earlier places from a text, large plans, memory. Small ones:
 * property/test_soft_exact. */
#include <string.h>

#include "base/random.h"
#include "plan_fixture.h"
#include "spad/experimental/soft_constraints.h"

static spad_soft_result *solve_soft(const spad_plan *plan, const spad_soft_constraints *constraints,
                                    const spad_plan_options *options) {
    spad_error error;
    spad_soft_result *r;
    assert_ok(spad_plan_solve_soft(&r, plan, constraints, options, &error), &error);
    if (r->plan->verdict <= SPAD_PLAN_FEASIBLE) {
        int64_t height;
        assert_ok(spad_plan_check(&height, plan, r->plan->places, r->plan->count, &error), &error);
        assert_int_equal(height, r->plan->height);
        assert_true(height <= r->limit && r->bound <= r->cost);
    }
    return r;
}

static void assert_text(const spad_soft_result *r, const char *wanted) {
    spad_error error;
    test_text sink;
    test_text_init(&sink);
    assert_ok(spad_soft_write(r, SPAD_FORMAT_TEXT, &sink.sink, &error), &error);
    assert_string_equal(sink.bytes, wanted);
    test_text_free(&sink);
}

/* The slack lets both soft constraints hold. */
static void height_comes_first(void **state) {
    (void)state;
    spad_plan *plan = new_plan();
    add(plan, (spad_plan_buffer){.lower = 0, .upper = 2, .size = 8});
    add(plan, (spad_plan_buffer){.lower = 2, .upper = 4, .size = 8});
    const spad_plan_place before[] = {{.offset = 0}, {.offset = 4}};
    spad_soft_constraints constraints = {.previous = before, .move_byte_cost = 1};
    spad_soft_result *r = solve_soft(plan, &constraints, NULL);
    assert_int_equal(r->plan->height, 8);
    assert_int_equal(r->cost, 8);
    assert_text(r, "soft      2, 1 violated, cost 8, no plan of this height costs less: "
                   "proved\nmoved     1 buffer, 8 B\n");
    spad_soft_result_destroy(r);
    constraints.slack = 4;
    constraints.reuse_steps = 1;
    constraints.reuse_cost = 3;
    r = solve_soft(plan, &constraints, NULL);
    assert_int_equal(r->plan->height, 12);
    assert_int_equal(r->plan->verdict, SPAD_PLAN_FEASIBLE); /* 8 would do */
    assert_int_equal(r->cost, 3);
    r->bound = 1;
    assert_text(r, "soft      3, 1 violated, cost 3, no plan of this height is below 1\n"
                   "moved     0 buffers, 0 B\n"
                   "shared    1 pair that should not share bytes\n");
    spad_soft_result_destroy(r);
    spad_plan_destroy(plan);
}

static void without_a_plan_there_is_no_cost(void **state) {
    (void)state;
    spad_error error;
    spad_plan *plan = new_plan();
    add(plan, (spad_plan_buffer){.lower = 0, .upper = 2, .size = 8});
    assert_ok(spad_plan_set_capacity(plan, 4, &error), &error);
    const spad_soft_constraints constraints = {0};
    spad_soft_result *r = solve_soft(plan, &constraints, NULL);
    assert_int_equal(r->plan->verdict, SPAD_PLAN_INFEASIBLE);
    assert_text(r, "soft      0, no plan\n");
    spad_soft_result_destroy(r);
    spad_soft_result_destroy(NULL);
    spad_plan_destroy(plan);
}

static void invalid_soft_constraints_are_refused(void **state) {
    (void)state;
    spad_error error;
    spad_soft_result *r;
    spad_plan *plan = new_plan();
    add(plan, (spad_plan_buffer){.lower = 0, .upper = 2, .size = INT64_C(1) << 61});
    add(plan, (spad_plan_buffer){.lower = 2, .upper = 3, .size = 8});
    const spad_plan_place before[] = {{.offset = 0}, {.offset = 0}};
    const spad_soft_constraints wrong[] = {{.slack = -1},
                                           {.move_cost = -1},
                                           {.move_byte_cost = -1},
                                           {.reuse_steps = -1},
                                           {.reuse_cost = -1}};
    for (size_t k = 0; k < 5; k++)
        assert_int_equal(spad_plan_solve_soft(&r, plan, &wrong[k], NULL, &error),
                         SPAD_ERR_ARGUMENT);
    const spad_soft_constraints fine = {.move_byte_cost = 1};
    const spad_plan_options late = {.timeout_ns = -1};
    assert_int_equal(spad_plan_solve_soft(&r, plan, &fine, &late, &error), SPAD_ERR_ARGUMENT);
    const spad_soft_constraints dear = {.previous = before, .move_byte_cost = 8};
    assert_int_equal(spad_plan_solve_soft(&r, plan, &dear, NULL, &error), SPAD_ERR_OVERFLOW);
    const spad_soft_constraints sum = {.previous = before, .move_cost = INT64_MAX};
    assert_int_equal(spad_plan_solve_soft(&r, plan, &sum, NULL, &error), SPAD_ERR_OVERFLOW);
    assert_int_equal(spad_plan_avoid(plan, 0, 0, 1, &error), SPAD_ERR_ARGUMENT);
    assert_int_equal(spad_plan_avoid(plan, 0, 2, 1, &error), SPAD_ERR_ARGUMENT);
    assert_int_equal(spad_plan_avoid(plan, 2, 0, 1, &error), SPAD_ERR_ARGUMENT);
    assert_int_equal(spad_plan_avoid(plan, 0, 1, -1, &error), SPAD_ERR_ARGUMENT);
    assert_int_equal(spad_plan_avoid_count(plan), 0);
    spad_plan_destroy(plan);
}

static void clocks_have_no_steps(void **state) {
    (void)state;
    spad_error error;
    spad_soft_result *r;
    const int64_t lower[] = {0, 0}, upper[] = {1, 0}, later[] = {2, 0};
    spad_plan *plan = new_plan();
    add(plan, (spad_plan_buffer){
                  .size = 8, .clock_count = 2, .lower_clock = lower, .upper_clock = upper});
    add(plan, (spad_plan_buffer){
                  .size = 8, .clock_count = 2, .lower_clock = upper, .upper_clock = later});
    const spad_soft_constraints steps = {.reuse_steps = 1, .reuse_cost = 1};
    assert_int_equal(spad_plan_solve_soft(&r, plan, &steps, NULL, &error), SPAD_ERR_ARGUMENT);
    assert_ok(spad_plan_avoid(plan, 0, 1, 4, &error), &error);
    const spad_soft_constraints slack = {.slack = 8};
    r = solve_soft(plan, &slack, NULL);
    assert_true(r->constraint_count == 1 && r->cost == 0 && r->plan->height == 16);
    spad_soft_result_destroy(r);
    spad_plan_destroy(plan);
}

/* Lanes are a part of a place; pins and what is out of reach are no constraints, or cost. */
static void places_have_lanes(void **state) {
    (void)state;
    spad_error error;
    const spad_target *target;
    size_t space;
    spad_plan *plan = new_plan();
    assert_ok(spad_target_find(&target, "trn2", &error), &error);
    assert_ok(spad_target_find_space(&space, target, "sbuf", &error), &error);
    assert_ok(spad_plan_set_space(plan, &target->spaces[space], &error), &error);
    add(plan, (spad_plan_buffer){.lower = 0, .upper = 2, .size = 64, .lanes = 32});
    add(plan, (spad_plan_buffer){.lower = 0, .upper = 2, .size = 64, .lanes = 32});
    add(plan, (spad_plan_buffer){
                  .lower = 0, .upper = 2, .size = 64, .lanes = 32, .pinned = true, .lane = 96});
    const spad_plan_place before[] = {{0, 64}, {0, 32}, {0, 0}};
    const spad_soft_constraints constraints = {.previous = before, .move_cost = 1};
    spad_soft_result *r = solve_soft(plan, &constraints, NULL);
    assert_true(r->cost == 0 && r->constraint_count == 2);
    spad_soft_result_destroy(r);
    const spad_plan_place taken[] = {{0, 96}, {1 << 30, 0}, {0, 0}};
    const spad_soft_constraints no = {.previous = taken, .move_cost = 1};
    r = solve_soft(plan, &no, NULL);
    assert_true(r->cost == 2 && r->bound == 2);
    spad_soft_result_destroy(r);
    spad_plan_destroy(plan);
}

static void read_places(const spad_plan *plan, const char *text, spad_plan_place places[2]) {
    spad_error error;
    assert_ok(spad_plan_read_places(places, 2, plan, text, strlen(text), "old.csv", &error),
              &error);
}

static void refuse_places(const spad_plan *plan, const char *text, spad_status status) {
    spad_error error;
    spad_plan_place places[2];
    assert_int_equal(spad_plan_read_places(places, 2, plan, text, strlen(text), "old.csv", &error),
                     status);
}

static void earlier_places_come_from_a_text(void **state) {
    (void)state;
    spad_plan *plan = new_plan();
    add(plan, (spad_plan_buffer){.name = "a", .lower = 0, .upper = 2, .size = 8});
    add(plan, (spad_plan_buffer){.name = "b", .lower = 0, .upper = 2, .size = 8});
    spad_plan_place places[2];
    read_places(plan, "id,lower,upper,size,offset,lane,more\nb,0,1,8,16,32,x\n\nc,0,1,8,0,,\n",
                places);
    assert_int_equal(places[0].offset, -1);
    assert_true(places[1].offset == 16 && places[1].lane == 32);
    refuse_places(plan, "id,lower,upper,size\nb,0,1,8\n", SPAD_ERR_SYNTAX);
    refuse_places(plan, "lower,upper,size,offset\n0,1,8,0\n", SPAD_ERR_SYNTAX);
    refuse_places(plan, "id,lower,upper,size,offset\nb,0,1,8\n", SPAD_ERR_SYNTAX);
    refuse_places(plan, "id,lower,upper,size,offset\nb,0,1,8,x\n", SPAD_ERR_SYNTAX);
    refuse_places(plan, "id,lower,upper,size,offset,lane\nb,0,1,8,0,-3\n", SPAD_ERR_BOUNDS);
    refuse_places(plan, "id,offset\n", SPAD_ERR_SYNTAX);
    spad_plan_destroy(plan);
}

static void rows_may_avoid_others(void **state) {
    (void)state;
    spad_error error;
    const char *text = "id,lower,upper,size,avoid\na,0,2,8,b:5 c\nb,2,3,8,\nc,3,4,4,\n"
                       "d:2,4,5,4,c:7\ne,5,6,1,d:2\n";
    spad_plan *plan = new_plan();
    assert_ok(spad_plan_read_csv(plan, text, strlen(text), "t", NULL, &error), &error);
    assert_int_equal(spad_plan_avoid_count(plan), 4);
    spad_soft_constraints constraints = {0};
    spad_soft_result *r = solve_soft(plan, &constraints, NULL);
    assert_int_equal(r->cost, 6); /* a takes all; c and d, d:2 and e are next to each other */
    spad_soft_result_destroy(r);
    const char *wrong[] = {"id,lower,upper,size,avoid\na,0,2,8,x\n",
                           "id,lower,upper,size,avoid\na,0,2,8,a\n",
                           "id,lower,upper,size,avoid\na,0,2,8,b:-1\nb,2,3,8,\n"};
    const spad_status statuses[] = {SPAD_ERR_UNKNOWN, SPAD_ERR_ARGUMENT, SPAD_ERR_ARGUMENT};
    for (size_t k = 0; k < 3; k++) {
        spad_plan *other = new_plan();
        assert_int_equal(spad_plan_read_csv(other, wrong[k], strlen(wrong[k]), "t", NULL, &error),
                         statuses[k]);
        assert_int_equal(spad_plan_avoid_count(other), 0);
        spad_plan_destroy(other);
    }
    spad_plan_destroy(plan);
}

/* ---- large plans ------------------------------------------------------------------- */

static void fill(spad_plan *plan, int64_t count, uint64_t seed) {
    spad__random random = {seed};
    for (int64_t i = 0; i < count; i++) {
        const int64_t lower = spad__random_in(&random, 0, count);
        add(plan, (spad_plan_buffer){.lower = lower,
                                     .upper = lower + spad__random_in(&random, 1, 12),
                                     .size = 64 * spad__random_in(&random, 1, 30),
                                     .alignment = 64});
    }
}

/* A plan, and the same problem with some more buffers: few of the old ones move. */
static void a_small_change_moves_few(void **state) {
    (void)state;
    enum { OLD = 600, NEW = 606 };
    spad_plan *plan = new_plan();
    fill(plan, OLD, 3);
    spad_plan_options options = {.node_limit = 20000};
    spad_plan_result *old = solve(plan, &options);
    spad_plan_place before[NEW];
    for (int k = 0; k < NEW; k++) before[k].offset = -1;
    memcpy(before, old->places, OLD * sizeof *before);
    fill(plan, NEW - OLD, 4);
    spad_soft_constraints constraints = {.slack = 6400, .previous = before, .move_cost = 1};
    spad_soft_result *r = solve_soft(plan, &constraints, &options);
    assert_true(r->constraint_count == OLD && r->moved_count < OLD / 10);
    spad_soft_result_destroy(r);
    constraints = (spad_soft_constraints){.reuse_steps = 2, .reuse_cost = 1};
    r = solve_soft(plan, &constraints, &options);
    int64_t cost = 0; /* of the plan without soft constraints */
    const spad_soft_constraints none = {0};
    spad_soft_result *plain = solve_soft(plan, &none, &options);
    for (size_t a = 0; a < NEW; a++)
        for (size_t b = 0; b < NEW; b++) {
            const spad_plan_buffer *x = spad_plan_get(plan, a), *y = spad_plan_get(plan, b);
            const int64_t steps = y->lower - x->upper;
            const spad_plan_place *p = &plain->plan->places[a], *q = &plain->plan->places[b];
            cost += steps >= 0 && steps < 2 && p->offset < q->offset + y->size &&
                    q->offset < p->offset + x->size;
        }
    assert_true(r->cost < cost && r->plan->height <= plain->plan->height);
    spad_soft_result_destroy(plain);
    spad_soft_result_destroy(r);
    spad_plan_result_destroy(old);
    spad_plan_destroy(plan);
}

/* Views, outputs in place, gaps, pins and pairs kept apart in one plan. */
static void all_rules_hold(void **state) {
    (void)state;
    spad_error error;
    enum { COUNT = 90 };
    spad_plan *plan = new_plan();
    fill(plan, COUNT, 9);
    const spad_plan_gap gap = {.lower = 41, .upper = 44};
    add(plan,
        (spad_plan_buffer){.lower = 40, .upper = 50, .size = 640, .gap_count = 1, .gaps = &gap});
    add(plan,
        (spad_plan_buffer){.lower = 0, .upper = 90, .size = 128, .pinned = true, .offset = 1024});
    add(plan, (spad_plan_buffer){.lower = 3, .upper = 20, .size = 64});
    add(plan, (spad_plan_buffer){.lower = 3, .upper = 30, .size = 256});
    assert_ok(spad_plan_slice(plan, COUNT + 2, COUNT + 3, 64, &error), &error);
    for (size_t k = 0; k + 1 < 20; k += 2)
        assert_ok(spad_plan_apart(plan, k, k + 1, &error), &error);
    for (size_t k = 20; k + 1 < 60; k++)
        assert_ok(spad_plan_in_place(plan, k, k + 1, &error), &error);
    spad_plan_place before[COUNT + 4];
    for (int64_t k = 0; k < COUNT + 4; k++) before[k] = (spad_plan_place){.offset = 32 * (k % 40)};
    const spad_plan_options options = {.node_limit = 3000};
    const spad_soft_constraints constraints = {.slack = 2000,
                                               .previous = before,
                                               .move_byte_cost = 1,
                                               .reuse_steps = 3,
                                               .reuse_cost = 100};
    spad_soft_result *r = solve_soft(plan, &constraints, &options);
    assert_true(r->plan->verdict <= SPAD_PLAN_FEASIBLE && r->bound > 0);
    spad_soft_result_destroy(r);
    spad_plan_destroy(plan);
}

/* A buffer that is in use at no time has a place all the same, and is kept apart from others. */
static void what_is_never_in_use_is_kept_apart(void **state) {
    (void)state;
    static const char csv[] = "id,lower,upper,size,gaps,apart\n"
                              "a,2,3,3,2-3,\nb,2,4,1,,a\nc,0,1,4,,\n";
    for (int64_t at = 0; at < 4; at++) {
        spad_error error;
        spad_plan *plan;
        spad_soft_result *r;
        const spad_plan_place previous[] = {{.offset = -1}, {.offset = at}, {.offset = -1}};
        const spad_soft_constraints constraints = {.previous = previous, .move_cost = 1};
        assert_ok(spad_plan_create(&plan, NULL, &error), &error);
        assert_ok(spad_plan_read_csv(plan, csv, sizeof csv - 1, "c.csv", NULL, &error), &error);
        assert_ok(spad_plan_solve_soft(&r, plan, &constraints, NULL, &error), &error);
        assert_int_equal(r->plan->height, 4);
        assert_int_equal(r->cost, at == 1 || at == 2); /* a has no room beside it there */
        assert_int_equal(r->bound, r->cost);
        spad_soft_result_destroy(r);
        spad_plan_destroy(plan);
    }
}

static void every_allocation_may_fail(void **state) {
    (void)state;
    static const int64_t counts[] = {4, 70};
    for (size_t k = 0; k < 2; k++) {
        for (long n = 1;; n++) {
            test_host host;
            test_host_init(&host);
            spad_error error;
            spad_plan *plan;
            spad_soft_result *r = NULL;
            assert_ok(spad_plan_create(&plan, &host.host, &error), &error);
            fill(plan, counts[k], 5);
            assert_ok(spad_plan_avoid(plan, 0, 3, 1, &error), &error);
            spad_plan_place before[70];
            for (int64_t i = 0; i < 70; i++) before[i] = (spad_plan_place){.offset = i % 3};
            host.fail_at = host.calls + n;
            const spad_soft_constraints constraints = {
                .slack = 64, .previous = before, .move_cost = 1, .reuse_steps = 2, .reuse_cost = 1};
            const spad_plan_options options = {.node_limit = 50};
            const spad_status status =
                spad_plan_solve_soft(&r, plan, &constraints, &options, &error);
            const bool ended = host.calls < host.fail_at;
            host.fail_at = 0;
            spad_soft_result_destroy(r);
            spad_plan_destroy(plan);
            test_host_assert_clean(&host);
            assert_int_equal(status, ended ? SPAD_OK : SPAD_ERR_HOST_MEMORY);
            if (ended) break;
        }
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(height_comes_first),
                                       cmocka_unit_test(without_a_plan_there_is_no_cost),
                                       cmocka_unit_test(invalid_soft_constraints_are_refused),
                                       cmocka_unit_test(clocks_have_no_steps),
                                       cmocka_unit_test(places_have_lanes),
                                       cmocka_unit_test(earlier_places_come_from_a_text),
                                       cmocka_unit_test(rows_may_avoid_others),
                                       cmocka_unit_test(a_small_change_moves_few),
                                       cmocka_unit_test(all_rules_hold),
                                       cmocka_unit_test(what_is_never_in_use_is_kept_apart),
                                       cmocka_unit_test(every_allocation_may_fail)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
