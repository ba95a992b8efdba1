/* SPDX-License-Identifier: Apache-2.0
 * Slices of buffers, and outputs in the places of their inputs. */
#include <stdlib.h>
#include <string.h>

#include "base/random.h"
#include "plan_fixture.h"

static void slice_of(spad_plan *plan, size_t slice, size_t whole, int64_t at) {
    spad_error error;
    assert_ok(spad_plan_slice(plan, slice, whole, at, &error), &error);
}

static void in_place_of(spad_plan *plan, size_t output, size_t input) {
    spad_error error;
    assert_ok(spad_plan_in_place(plan, output, input, &error), &error);
}

/* x and y are written one after the other and joined; z takes what is left. */
static void a_concatenation_is_one_buffer(void **state) {
    (void)state;
    spad_plan *plan = new_plan();
    const size_t x = add(plan, (spad_plan_buffer){.lower = 0, .upper = 3, .size = 10});
    const size_t y = add(plan, (spad_plan_buffer){.lower = 1, .upper = 3, .size = 6});
    const size_t both = add(plan, (spad_plan_buffer){.lower = 2, .upper = 5, .size = 16});
    add(plan, (spad_plan_buffer){.lower = 0, .upper = 2, .size = 3});
    spad_plan_result *r = solve(plan, NULL);
    assert_int_equal(r->height, 32); /* copied */
    spad_plan_result_destroy(r);
    slice_of(plan, x, both, 0);
    slice_of(plan, y, both, 10);
    r = solve(plan, NULL);
    assert_int_equal(r->verdict, SPAD_PLAN_OPTIMAL);
    assert_int_equal(r->height, 19);
    assert_int_equal(r->places[y].offset, r->places[both].offset + 10);
    assert_int_equal(r->peak_load, 19); /* at time 1: x, y and the other */
    spad_error error;
    r->places[y].offset++;
    assert_int_equal(spad_plan_check(NULL, plan, r->places, r->count, &error), SPAD_ERR_NO_FIT);
    assert_string_equal(error.message, "buffers number 1 at 11 and number 2 at 0 are a slice and "
                                       "its whole but not where they must be");
    spad_plan_result_destroy(r);
    spad_plan_destroy(plan);
}

/* A chain of reshapes is a box, and its plan is proved by the search for boxes. */
static void a_chain_of_reshapes_is_a_box(void **state) {
    (void)state;
    spad_plan *plan = new_plan();
    for (int64_t i = 0; i < 100; i++) {
        const size_t n = add(plan, (spad_plan_buffer){.lower = i, .upper = i + 1, .size = 64});
        if (i > 0) slice_of(plan, n, n - 1, 0);
    }
    for (int64_t i = 0; i < 50; i++)
        add(plan, (spad_plan_buffer){.lower = 2 * i, .upper = 2 * i + 2, .size = 10 + i % 7});
    spad_plan_result *r = solve(plan, NULL);
    assert_int_equal(r->verdict, SPAD_PLAN_OPTIMAL);
    assert_int_equal(r->height, 80);
    assert_int_equal(r->places[0].offset, r->places[99].offset);
    spad_plan_result_destroy(r);
    spad_plan_destroy(plan);
}

static void slices_that_contradict_are_named(void **state) {
    (void)state;
    spad_error error;
    spad_plan *plan = new_plan();
    const size_t whole = add(plan, (spad_plan_buffer){.lower = 0, .upper = 1, .size = 10});
    const size_t part = add(plan, (spad_plan_buffer){.lower = 0, .upper = 1, .size = 2});
    slice_of(plan, part, whole, 4);
    spad_plan_result *r = solve(plan, NULL);
    assert_int_equal(r->height, 10);
    spad_plan_result_destroy(r);
    slice_of(plan, part, whole, 4); /* twice the same is fine */
    r = solve(plan, NULL);
    assert_int_equal(r->clash, SPAD_PLAN_NO_CLASH);
    spad_plan_result_destroy(r);
    assert_ok(spad_plan_alias(plan, whole, part, &error), &error);
    r = solve(plan, NULL);
    assert_int_equal(r->verdict, SPAD_PLAN_INFEASIBLE);
    assert_int_equal(r->clash, SPAD_PLAN_CLASH_SLICES);
    assert_int_equal(r->clash_first, whole);
    assert_int_equal(r->clash_second, part);
    spad_plan_result_destroy(r);
    spad_plan_destroy(plan);
}

/* Slices of one whole may be kept apart where their bytes are: nothing is wrong with that. */
static void slices_apart_from_each_other(void **state) {
    (void)state;
    spad_plan *plan = new_plan();
    spad_error error;
    const size_t whole = add(plan, (spad_plan_buffer){.lower = 0, .upper = 2, .size = 24});
    const size_t low = add(plan, (spad_plan_buffer){.lower = 0, .upper = 1, .size = 8});
    const size_t high = add(plan, (spad_plan_buffer){.lower = 1, .upper = 2, .size = 8});
    slice_of(plan, low, whole, 0);
    slice_of(plan, high, whole, 8);
    assert_ok(spad_plan_apart(plan, high, low, &error), &error);
    const size_t other = add(plan, (spad_plan_buffer){.lower = 0, .upper = 2, .size = 4});
    spad_plan_result *r = solve(plan, NULL);
    assert_int_equal(r->verdict, SPAD_PLAN_OPTIMAL);
    assert_int_equal(r->height, 28);
    assert_int_equal(r->clash, SPAD_PLAN_NO_CLASH);
    spad_plan_result_destroy(r);
    assert_ok(spad_plan_apart(plan, other, low, &error), &error); /* pairs of two items count on */
    assert_ok(spad_plan_apart(plan, low, whole, &error),
              &error); /* a part is not beside its whole */
    r = solve(plan, NULL);
    assert_int_equal(r->verdict, SPAD_PLAN_INFEASIBLE);
    assert_int_equal(r->clash, SPAD_PLAN_CLASH_ALIAS_APART);
    assert_int_equal(r->clash_first, low);
    assert_int_equal(r->clash_second, whole);
    spad_plan_result_destroy(r);
    spad_plan_destroy(plan);
}

static void pins_of_slices(void **state) {
    (void)state;
    spad_plan *plan = new_plan();
    const size_t whole = add(plan, (spad_plan_buffer){.lower = 0, .upper = 1, .size = 10});
    const size_t part = add(
        plan, (spad_plan_buffer){.lower = 0, .upper = 1, .size = 2, .pinned = true, .offset = 7});
    slice_of(plan, part, whole, 4);
    spad_plan_result *r = solve(plan, NULL);
    assert_int_equal(r->places[whole].offset, 3);
    assert_int_equal(r->height, 13);
    assert_int_equal(r->bound_buffer, whole);
    spad_plan_result_destroy(r);
    const size_t low = add(
        plan, (spad_plan_buffer){.lower = 0, .upper = 1, .size = 1, .pinned = true, .offset = 1});
    const size_t wide = add(plan, (spad_plan_buffer){.lower = 0, .upper = 1, .size = 5});
    slice_of(plan, low, wide, 3);
    r = solve(plan, NULL); /* what it is a slice of would begin at -2 */
    assert_int_equal(r->clash, SPAD_PLAN_CLASH_ALIAS_RULE);
    assert_int_equal(r->clash_first, low);
    assert_int_equal(r->clash_second, wide);
    spad_plan_result_destroy(r);
    spad_plan_destroy(plan);
}

static void hints_of_slices(void **state) {
    (void)state;
    spad_plan *plan = new_plan();
    const size_t whole = add(plan, (spad_plan_buffer){.lower = 0, .upper = 1, .size = 10});
    const size_t part =
        add(plan, (spad_plan_buffer){.lower = 0, .upper = 1, .size = 2, .hinted = true, .hint = 9});
    add(plan, (spad_plan_buffer){.lower = 0, .upper = 1, .size = 5});
    add(plan, (spad_plan_buffer){.lower = 3, .upper = 4, .size = 15});
    slice_of(plan, part, whole, 4);
    spad_plan_result *r = solve(plan, NULL);
    assert_int_equal(r->height, 15);
    assert_true(r->places[part].offset == 9 || r->places[part].offset == 4);
    spad_plan_result_destroy(r);
    spad_plan_destroy(plan);
}

/* ---- in place ---------------------------------------------------------------------- */

/* A chain of operations, each in the place of the one before it: the memory of one. */
static void a_chain_in_place_needs_the_memory_of_one(void **state) {
    (void)state;
    enum { COUNT = 3000 };
    spad_plan *plan = new_plan();
    for (int64_t i = 0; i < COUNT; i++) {
        const size_t n = add(plan, (spad_plan_buffer){.lower = i, .upper = i + 2, .size = 100});
        if (i > 0) in_place_of(plan, n, n - 1);
    }
    spad_plan_result *r = solve(plan, NULL);
    assert_int_equal(r->verdict, SPAD_PLAN_OPTIMAL);
    assert_int_equal(r->height, 100);
    assert_int_equal(r->peak_load, 100);
    assert_int_equal(r->nodes, 0);
    spad_error error;
    r->places[7].offset = 1; /* neither in place nor apart */
    assert_int_equal(spad_plan_check(NULL, plan, r->places, r->count, &error), SPAD_ERR_OVERLAP);
    spad_plan_result_destroy(r);
    spad_plan_destroy(plan);
}

/* x is read again after y is written, so y cannot be there. */
static void an_input_that_lives_on_keeps_its_place(void **state) {
    (void)state;
    spad_error error;
    spad_plan *plan = new_plan();
    add(plan, (spad_plan_buffer){.lower = 0, .upper = 3, .size = 8});
    add(plan, (spad_plan_buffer){.lower = 1, .upper = 4, .size = 8});
    in_place_of(plan, 1, 0);
    in_place_of(plan, 0, 1); /* nor can the output come first */
    spad_plan_result *r = solve(plan, NULL);
    assert_int_equal(r->verdict, SPAD_PLAN_OPTIMAL);
    assert_int_equal(r->height, 16);
    r->places[0] = r->places[1];
    assert_int_equal(spad_plan_check(NULL, plan, r->places, r->count, &error), SPAD_ERR_OVERLAP);
    spad_plan_result_destroy(r);
    spad_plan_destroy(plan);
}

/* Two outputs may each take the place of x, but only one of them can. */
static void one_of_two_outputs_takes_the_place(void **state) {
    (void)state;
    spad_plan *plan = new_plan();
    add(plan, (spad_plan_buffer){.lower = 0, .upper = 2, .size = 8});
    add(plan, (spad_plan_buffer){.lower = 1, .upper = 4, .size = 6});
    add(plan, (spad_plan_buffer){.lower = 1, .upper = 4, .size = 8});
    in_place_of(plan, 1, 0);
    in_place_of(plan, 2, 0);
    spad_plan_result *r = solve(plan, NULL);
    assert_int_equal(r->verdict, SPAD_PLAN_OPTIMAL);
    assert_int_equal(r->height, 14);
    spad_plan_result_destroy(r);
    spad_plan_destroy(plan);
}

/* To be in place is allowed, not asked for: here it would cost height, since the input is pinned
 * at the top of what the output has no room in. */
static void in_place_is_a_choice(void **state) {
    (void)state;
    spad_plan *plan = new_plan();
    add(plan, (spad_plan_buffer){.lower = 0, .upper = 2, .size = 4, .pinned = true, .offset = 10});
    add(plan, (spad_plan_buffer){.lower = 1, .upper = 3, .size = 10});
    in_place_of(plan, 1, 0);
    spad_plan_result *r = solve(plan, NULL);
    assert_int_equal(r->verdict, SPAD_PLAN_OPTIMAL);
    assert_int_equal(r->height, 14);
    spad_plan_result_destroy(r);
    spad_plan_destroy(plan);
}

/* ---- refusals ---------------------------------------------------------------------- */

static void refused(spad_status got, spad_status wanted, const spad_error *error,
                    const char *message) {
    assert_int_equal(got, wanted);
    assert_string_equal(error->message, message);
}

static void what_is_not_inside_is_no_slice(void **state) {
    (void)state;
    spad_error e;
    spad_plan *plan = new_plan();
    add(plan, (spad_plan_buffer){.name = "w", .lower = 0, .upper = 1, .size = 64, .bank = 64});
    add(plan, (spad_plan_buffer){.name = "s", .lower = 0, .upper = 1, .size = 16, .alignment = 8});
    add(plan, (spad_plan_buffer){.name = "b", .lower = 0, .upper = 1, .size = 8, .bank = 32});
    add(plan, (spad_plan_buffer){.name = "d", .lower = 0, .upper = 1, .size = 8, .bank = 64});
    refused(spad_plan_slice(plan, 1, 0, 56, &e), SPAD_ERR_BOUNDS, &e,
            "slice 's' of 16 B at byte 56 is not inside 'w' of 64 B");
    refused(spad_plan_slice(plan, 1, 0, -8, &e), SPAD_ERR_BOUNDS, &e,
            "slice 's' of 16 B at byte -8 is not inside 'w' of 64 B");
    refused(spad_plan_slice(plan, 1, 0, INT64_MAX - 8, &e), SPAD_ERR_BOUNDS, &e,
            "slice 's' of 16 B at byte 9,223,372,036,854,775,799 is not inside 'w' of 64 B");
    refused(spad_plan_slice(plan, 1, 0, 4, &e), SPAD_ERR_ALIGNMENT, &e,
            "slice 's' at byte 4 of 'w' is not at a multiple of its alignment 8");
    refused(spad_plan_slice(plan, 2, 0, 0, &e), SPAD_ERR_ALIGNMENT, &e,
            "slice 'b' has banks of 32 B, which 'w' has not");
    assert_int_equal(spad_plan_slice(plan, 1, 1, 0, &e), SPAD_ERR_ARGUMENT);
    assert_int_equal(spad_plan_in_place(plan, 1, 9, &e), SPAD_ERR_ARGUMENT);
    assert_ok(spad_plan_slice(plan, 3, 0, 8, &e), &e);
    spad_plan_result *r = solve(plan, NULL);
    assert_int_equal(r->verdict, SPAD_PLAN_OPTIMAL);
    spad_plan_result_destroy(r);
    /* 'd' and what has its place are 8 B above 'w' */
    add(plan, (spad_plan_buffer){.name = "x", .lower = 0, .upper = 1, .size = 8, .alignment = 16});
    assert_ok(spad_plan_alias(plan, 3, 4, &e), &e);
    refused(spad_plan_solve(&r, plan, NULL, &e), SPAD_ERR_ALIGNMENT, &e,
            "buffer 'x' is 8 B above another one by way of slices, which its alignment 16 or its "
            "bank of 0 B does not allow");
    spad_plan_destroy(plan);
}

static void clocks_have_no_last_moment(void **state) {
    (void)state;
    const int64_t one[2] = {0, 1};
    const int64_t two[2] = {1, 1};
    const int64_t three[2] = {2, 1};
    spad_error error;
    spad_plan *plan = new_plan();
    add(plan,
        (spad_plan_buffer){.size = 1, .clock_count = 2, .lower_clock = one, .upper_clock = two});
    add(plan,
        (spad_plan_buffer){.size = 1, .clock_count = 2, .lower_clock = two, .upper_clock = three});
    refused(spad_plan_in_place(plan, 1, 0, &error), SPAD_ERR_ARGUMENT, &error,
            "lives with vector clocks have no last moment, so nothing is in place");
    spad_plan_destroy(plan);
}

/* Distances add up along slices of slices and aliases of these, beyond 64 bits. */
static void distances_are_added_with_checks(void **state) {
    (void)state;
    const int64_t huge = INT64_MAX / 2;
    spad_error error;
    spad_plan_result *r;
    spad_plan *plan = new_plan();
    for (int64_t i = 0; i < 6; i++)
        add(plan, (spad_plan_buffer){.lower = i, .upper = i + 1, .size = i % 2 == 0 ? huge : 1});
    for (size_t i = 0; i < 6; i += 2) {
        slice_of(plan, i + 1, i, huge - 1);
        if (i > 0) assert_ok(spad_plan_alias(plan, i - 1, i, &error), &error);
    }
    refused(spad_plan_solve(&r, plan, NULL, &error), SPAD_ERR_OVERFLOW, &error,
            "a group of slices and aliases is larger than 64 bits hold");
    spad_plan_destroy(plan);
}

/* More sizes at one place than are looked at pair by pair; and a pair whose places are given. */
static void a_chain_of_many_sizes(void **state) {
    (void)state;
    spad_error error;
    spad_plan *plan = new_plan();
    for (int64_t i = 0; i < 40; i++) {
        const size_t n = add(plan, (spad_plan_buffer){.lower = i, .upper = i + 2, .size = 40 - i});
        if (i > 0) assert_ok(spad_plan_alias(plan, n, n - 2, &error), &error);
        add(plan, (spad_plan_buffer){.lower = i, .upper = i + 1, .size = i > 0 ? i - 1 : 0});
    }
    spad_plan_result *r = solve(plan, NULL);
    assert_int_equal(r->verdict, SPAD_PLAN_OPTIMAL);
    assert_int_equal(r->height, 40);
    for (size_t i = 2; i < 80; i += 2) assert_int_equal(r->places[i].offset, r->places[0].offset);
    spad_plan_result_destroy(r);
    spad_plan_destroy(plan);
}

static void pinned_pairs_in_place(void **state) {
    (void)state;
    for (int64_t at = 0; at < 16; at += 8) {
        spad_plan *plan = new_plan();
        add(plan, (spad_plan_buffer){.lower = 0, .upper = 2, .size = 8, .pinned = true});
        add(plan,
            (spad_plan_buffer){.lower = 1, .upper = 3, .size = 8, .pinned = true, .offset = at});
        in_place_of(plan, 1, 0);
        in_place_of(plan, 1, 0);
        spad_plan_result *r = solve(plan, NULL);
        assert_int_equal(r->verdict, SPAD_PLAN_OPTIMAL);
        assert_int_equal(r->height, 8 + at);
        spad_plan_result_destroy(r);
        spad_plan_destroy(plan);
    }
}

/* Chains of slices at huge distances, in random orders: they fit 64 bits or are refused. Distances
 * are in eighths of what fits. */
static void distances_fit_or_are_refused(void **state) {
    (void)state;
    enum { WHOLES = 3, COUNT = 2 * WHOLES };
    const int64_t unit = INT64_MAX / 8;
    spad__random random = {12};
    int seen[3] = {0};
    for (int run = 0; run < 600; run++) {
        size_t number[COUNT]; /* of whole i: 2 * i; of its slice: 2 * i + 1 */
        int order[COUNT];
        int64_t at[WHOLES];
        int64_t place[WHOLES] = {0};
        spad_error error;
        spad_plan *plan = new_plan();
        for (int i = 0; i < COUNT; i++) order[i] = i;
        for (int i = COUNT - 1; i > 0; i--) {
            const int j = (int)spad__random_below(&random, (uint64_t)i + 1);
            const int other = order[i];
            order[i] = order[j];
            order[j] = other;
        }
        for (int i = 0; i < WHOLES; i++) at[i] = spad__random_in(&random, 0, run % 7);
        for (int k = 0; k < COUNT; k++) {
            const int i = order[k];
            const int64_t size = i % 2 == 0 ? (at[i / 2] + 1) * unit : unit;
            number[i] = add(plan, (spad_plan_buffer){.lower = i, .upper = i + 1, .size = size});
        }
        for (int k = 0; k < COUNT; k++) {
            const int i = order[k] / 2;
            if (order[k] % 2 == 0) slice_of(plan, number[2 * i + 1], number[2 * i], at[i] * unit);
        }
        int64_t low = 0;
        int64_t high = at[0] + 1;
        for (int i = 0; i + 1 < WHOLES; i++) { /* the slice is where the next one begins, or ends */
            const bool up = spad__random_below(&random, 2) == 0;
            const size_t next = number[up ? 2 * i + 2 : 2 * i + 3];
            assert_ok(spad_plan_alias(plan, number[2 * i + 1], next, &error), &error);
            place[i + 1] = place[i] + at[i] - (up ? 0 : at[i + 1]);
            if (place[i + 1] < low) low = place[i + 1];
            if (place[i + 1] + at[i + 1] + 1 > high) high = place[i + 1] + at[i + 1] + 1;
        }
        int64_t total = WHOLES;
        for (int i = 0; i < WHOLES; i++) total += at[i] + 1;
        spad_plan_result *r = NULL;
        const spad_status status = spad_plan_solve(&r, plan, NULL, &error);
        if (high - low > 8) {
            refused(status, SPAD_ERR_OVERFLOW, &error,
                    "a group of slices and aliases is larger than 64 bits hold");
        } else if (status != SPAD_OK) { /* loads are summed, which only then may be too much */
            assert_true(total > 8);
            refused(status, SPAD_ERR_OVERFLOW, &error,
                    "the sizes of all buffers together do not fit 64 bits");
        } else {
            assert_ok(status, &error);
            for (int i = 0; i < WHOLES; i++)
                assert_int_equal(r->places[number[2 * i]].offset, (place[i] - low) * unit);
        }
        seen[high - low > 8 ? 0 : total > 8 ? 1 : 2]++;
        spad_plan_result_destroy(r);
        spad_plan_destroy(plan);
    }
    assert_true(seen[0] > 40 && seen[1] > 40 && seen[2] > 40);
}

/* ---- CSV --------------------------------------------------------------------------- */

static void columns_of_views(void **state) {
    (void)state;
    static const char text[] = "id,lower,upper,size,slice,in_place\n"
                               "x@1,0,3,10,all@0,\n"
                               "y,1,3,6,all@10,\n"
                               "all,2,4,16,,\n"
                               "out,3,5,16,,all y\n";
    spad_error error;
    spad_plan *plan = new_plan();
    assert_ok(spad_plan_read_csv(plan, text, strlen(text), "in.csv", NULL, &error), &error);
    spad_plan_result *r = solve(plan, NULL);
    assert_int_equal(r->verdict, SPAD_PLAN_OPTIMAL);
    assert_int_equal(r->height, 16);
    spad_plan_result_destroy(r);
    spad_plan_destroy(plan);
}

static void faults_of_views_have_a_place(void **state) {
    (void)state;
    static const struct {
        const char *text;
        spad_status status;
        int line, column;
        const char *message;
    } cases[] = {
        {"lower,upper,size,slice\n", SPAD_ERR_SYNTAX, 1, 18,
         "column 'slice' names ids, but there is no column 'id'"},
        {"id,lower,upper,size,slice\na,0,1,4,\nb,0,1,2,a\n", SPAD_ERR_SYNTAX, 3, 9,
         "slice 'a' is not of the form id@64"},
        {"id,lower,upper,size,slice\na,0,1,4,\nb,0,1,2,a@x\n", SPAD_ERR_SYNTAX, 3, 9,
         "slice 'a@x' is not of the form id@64"},
        {"id,lower,upper,size,slice\na,0,1,4,\nb,0,1,2,c@0\n", SPAD_ERR_UNKNOWN, 3, 9,
         "slice: there is no buffer 'c'"},
        {"id,lower,upper,size,slice\na,0,1,4,a@0\n", SPAD_ERR_ARGUMENT, 2, 9,
         "slice: buffer 'a' cannot be a slice of itself"},
        {"id,lower,upper,size,slice\na,0,1,4,\nb,0,1,2,a@3\n", SPAD_ERR_BOUNDS, 3, 9,
         "slice 'b' of 2 B at byte 3 is not inside 'a' of 4 B"},
        {"id,lower,upper,size,in_place\na,0,1,4,a\n", SPAD_ERR_ARGUMENT, 2, 9,
         "in_place: buffer 'a' cannot be in place of itself"},
        {"id,lower,upper,size,in_place\na,0,1,4, b\n", SPAD_ERR_UNKNOWN, 2, 10,
         "in_place: there is no buffer 'b'"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        spad_error error;
        spad_plan *plan = new_plan();
        const uint64_t before = spad_plan_get_fingerprint(plan);
        refused(
            spad_plan_read_csv(plan, cases[i].text, strlen(cases[i].text), "in.csv", NULL, &error),
            cases[i].status, &error, cases[i].message);
        assert_int_equal(error.line, cases[i].line);
        assert_int_equal(error.column, cases[i].column);
        assert_int_equal(spad_plan_count(plan), 0);
        assert_true(spad_plan_get_fingerprint(plan) == before); /* nothing is left of it */
        spad_plan_destroy(plan);
    }
}

/* ---- memory ------------------------------------------------------------------------ */

static spad_status solve_views(const spad_host *host, void *context) {
    (void)context;
    spad_plan *plan;
    spad_plan_result *result = NULL;
    spad_error error;
    spad_status status = spad_plan_create(&plan, host, &error);
    spad__random random = {5};
    for (int64_t i = 0; i < 16 && status == SPAD_OK; i++) {
        const spad_plan_buffer b = {.lower = i,
                                    .upper = i + 1 + spad__random_in(&random, 1, 2),
                                    .size = spad__random_in(&random, 10, 40)};
        status = spad_plan_add(NULL, plan, &b, &error);
        if (status == SPAD_OK && i > 0 && i % 5 > 0)
            status = spad_plan_in_place(plan, (size_t)i, (size_t)i - 1, &error);
    }
    const spad_plan_buffer part = {.lower = 3, .upper = 9, .size = 4};
    if (status == SPAD_OK) status = spad_plan_add(NULL, plan, &part, &error);
    if (status == SPAD_OK) status = spad_plan_slice(plan, 16, 5, 3, &error);
    const spad_plan_options options = {.node_limit = 300};
    if (status == SPAD_OK) status = spad_plan_solve(&result, plan, &options, &error);
    if (status == SPAD_OK)
        status = spad_plan_check(NULL, plan, result->places, result->count, &error);
    spad_plan_result_destroy(result);
    spad_plan_destroy(plan);
    return status;
}

static void every_allocation_of_views_may_fail(void **state) {
    (void)state;
    test_fail_each_allocation(solve_views, NULL);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_concatenation_is_one_buffer),
        cmocka_unit_test(a_chain_of_reshapes_is_a_box),
        cmocka_unit_test(slices_that_contradict_are_named),
        cmocka_unit_test(slices_apart_from_each_other),
        cmocka_unit_test(pins_of_slices),
        cmocka_unit_test(hints_of_slices),
        cmocka_unit_test(a_chain_in_place_needs_the_memory_of_one),
        cmocka_unit_test(an_input_that_lives_on_keeps_its_place),
        cmocka_unit_test(one_of_two_outputs_takes_the_place),
        cmocka_unit_test(in_place_is_a_choice),
        cmocka_unit_test(what_is_not_inside_is_no_slice),
        cmocka_unit_test(clocks_have_no_last_moment),
        cmocka_unit_test(distances_are_added_with_checks),
        cmocka_unit_test(a_chain_of_many_sizes),
        cmocka_unit_test(pinned_pairs_in_place),
        cmocka_unit_test(distances_fit_or_are_refused),
        cmocka_unit_test(columns_of_views),
        cmocka_unit_test(faults_of_views_have_a_place),
        cmocka_unit_test(every_allocation_of_views_may_fail),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
