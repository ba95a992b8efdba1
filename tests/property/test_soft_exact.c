/* SPDX-License-Identifier: Apache-2.0
 *
 * Soft constraints against brute force: every offset of every buffer is tried, the lowest height
 * first, then the least cost at no more than that height and the slack.
 *
 *     test_soft_exact [PROBLEMS [SEED]]
 */
#include <stdlib.h>
#include <string.h>

#include "base/random.h"
#include "spad/experimental/soft_constraints.h"
#include "support/support.h"

enum { BUFFERS = 5, AVOIDS = 4, TOP = 26, COPIES = 80, BETWEEN = 20 };

static int64_t problems = 4000;
static uint64_t seed = 2026;

typedef struct avoid {
    int a, b;
    int64_t cost;
} avoid;

typedef struct oracle {
    int count;
    spad_plan_buffer buffer[BUFFERS];
    spad_plan_gap gap[BUFFERS];
    int alias[BUFFERS]; /* the buffer it is an alias or a slice of; itself: none */
    bool slice[BUFFERS];
    int64_t at[BUFFERS]; /* of a slice */
    int input[BUFFERS];  /* in whose place it may be; -1: none */
    bool apart[BUFFERS][BUFFERS];
    int avoid_count;
    avoid avoids[AVOIDS];
    spad_plan_place previous[BUFFERS];
    spad_soft_constraints constraints;
    int64_t capacity;
    spad_plan_goal goal;
    int64_t place[BUFFERS];
    int64_t limit;
    int64_t lowest; /* INT64_MAX: nothing fits */
    int64_t least;
} oracle;

static bool in_use(const spad_plan_buffer *b, int64_t time) {
    if (time < b->lower || time >= b->upper) return false;
    return b->gap_count == 0 || time < b->gaps[0].lower || time >= b->gaps[0].upper;
}

static bool meet(const oracle *o, int i, int j) {
    for (int64_t t = 0; t < 8; t++)
        if (in_use(&o->buffer[i], t) && in_use(&o->buffer[j], t)) return true;
    return false;
}

static bool overlap(const oracle *o, int i, int j) {
    if (o->buffer[i].size == 0 || o->buffer[j].size == 0) return false;
    return o->place[i] < o->place[j] + o->buffer[j].size &&
           o->place[j] < o->place[i] + o->buffer[i].size;
}

static bool in_place(const oracle *o, int output, int input) {
    const spad_plan_buffer *x = &o->buffer[output];
    const spad_plan_buffer *y = &o->buffer[input];
    return o->input[output] == input && y->upper <= x->lower + 1 && y->lower <= x->lower;
}

static bool legal(const oracle *o, int i) {
    const spad_plan_buffer *b = &o->buffer[i];
    if (b->pinned && o->place[i] != b->offset) return false;
    if (o->alias[i] != i && o->place[i] != o->place[o->alias[i]] + o->at[i]) return false;
    for (int j = 0; j < i; j++) {
        if (!overlap(o, i, j) || o->alias[i] == o->alias[j]) continue;
        if (o->apart[i][j]) return false;
        if (!meet(o, i, j)) continue;
        const bool may = in_place(o, i, j) || in_place(o, j, i);
        if (!may || o->place[i] != o->place[j]) return false;
    }
    return true;
}

static int64_t cost_of(const oracle *o) {
    const spad_soft_constraints *w = &o->constraints;
    int64_t cost = 0;
    for (int i = 0; i < o->count; i++) {
        const spad_plan_buffer *b = &o->buffer[i];
        if (w->previous != NULL && !b->pinned && b->size > 0 && o->previous[i].offset >= 0 &&
            o->place[i] != o->previous[i].offset)
            cost += w->move_cost + b->size * w->move_byte_cost;
        for (int j = 0; j < o->count; j++) {
            const int64_t steps = o->buffer[j].lower - b->upper;
            if (i == j || steps < 0 || steps >= w->reuse_steps || o->alias[i] == o->alias[j] ||
                o->input[j] == i || o->input[i] == j || b->size == 0 || o->buffer[j].size == 0)
                continue;
            if (overlap(o, i, j)) cost += w->reuse_cost;
        }
    }
    for (int k = 0; k < o->avoid_count; k++) {
        const avoid *v = &o->avoids[k];
        const spad_plan_buffer *x = &o->buffer[v->a];
        const spad_plan_buffer *y = &o->buffer[v->b];
        if (o->alias[v->a] == o->alias[v->b] || x->size == 0 || y->size == 0) continue;
        if (x->gap_count == 0 && y->gap_count == 0 && x->lower < y->upper && y->lower < x->upper)
            continue;
        if (overlap(o, v->a, v->b)) cost += v->cost;
    }
    return cost;
}

static void try_offsets(oracle *o, int i, bool heights) {
    if (i == o->count) {
        int64_t height = 0;
        for (int k = 0; k < o->count; k++)
            if (o->place[k] + o->buffer[k].size > height) height = o->place[k] + o->buffer[k].size;
        if (heights && height < o->lowest) o->lowest = height;
        if (!heights && cost_of(o) < o->least) o->least = cost_of(o);
        return;
    }
    const int64_t limit = heights && o->lowest <= o->limit ? o->lowest - 1 : o->limit;
    for (int64_t at = 0; at + o->buffer[i].size <= limit; at += o->buffer[i].alignment) {
        o->place[i] = at;
        if (legal(o, i)) try_offsets(o, i + 1, heights);
    }
}

/* ---- random problems --------------------------------------------------------------- */

static void random_buffer(spad__random *random, oracle *o, int i) {
    spad_plan_buffer *b = &o->buffer[i];
    const int64_t lower = spad__random_in(random, 0, 6);
    *b = (spad_plan_buffer){.lower = lower,
                            .upper = spad__random_in(random, lower + 1, 8),
                            .size = spad__random_in(random, 0, 4),
                            .alignment = spad__random_below(random, 4) == 0 ? 2 : 1};
    if (b->upper - b->lower > 2 && spad__random_below(random, 6) == 0) {
        o->gap[i] = (spad_plan_gap){.lower = b->lower + 1, .upper = b->upper - 1};
        b->gap_count = 1;
        b->gaps = &o->gap[i];
    }
    if (spad__random_below(random, 10) == 0) {
        b->pinned = true;
        b->offset = b->alignment * spad__random_in(random, 0, 2);
    }
    o->alias[i] = i;
    o->input[i] = -1;
    o->previous[i] =
        (spad_plan_place){.offset = (int64_t)spad__random_below(random, 9) - 1, .lane = 0};
}

static void random_slice(spad__random *random, oracle *o, int i, int whole) {
    const spad_plan_buffer *b = &o->buffer[i];
    const int64_t room = o->buffer[whole].size - b->size;
    if (b->pinned || o->alias[whole] != whole || room < 0) return;
    o->alias[i] = whole;
    o->slice[i] = true;
    o->at[i] =
        (int64_t)spad__random_below(random, (uint64_t)room + 1) / b->alignment * b->alignment;
}

static void random_rules(spad__random *random, oracle *o) {
    for (int i = 1; i < o->count; i++) {
        const int j = (int)spad__random_below(random, (uint64_t)i);
        switch (spad__random_below(random, 12)) {
        case 0:
            if (!o->buffer[i].pinned && o->alias[j] == j) o->alias[i] = j;
            break;
        case 1:
        case 2: o->input[i] = j; break;
        case 3: o->apart[i][j] = o->apart[j][i] = true; break;
        case 4: random_slice(random, o, i, j); break;
        default: break;
        }
    }
    o->avoid_count = o->count > 1 ? (int)spad__random_below(random, AVOIDS + 1) : 0;
    for (int k = 0; k < o->avoid_count; k++) {
        avoid *v = &o->avoids[k];
        v->a = (int)spad__random_in(random, 1, o->count - 1);
        v->b = (int)spad__random_below(random, (uint64_t)v->a);
        v->cost = spad__random_in(random, 0, 5);
    }
}

static void random_soft_constraints(spad__random *random, oracle *o) {
    spad_soft_constraints *w = &o->constraints;
    if (spad__random_below(random, 4) > 0) {
        w->previous = o->previous;
        w->move_cost = spad__random_in(random, 0, 2);
        w->move_byte_cost = spad__random_in(random, 0, 2);
    }
    if (spad__random_below(random, 2) > 0) {
        w->reuse_steps = spad__random_in(random, 0, 3);
        w->reuse_cost = spad__random_in(random, 0, 3);
    }
    if (spad__random_below(random, 3) == 0) w->slack = spad__random_in(random, 0, 4);
    o->capacity = SPAD_UNBOUNDED;
    if (spad__random_below(random, 3) == 0) o->capacity = spad__random_in(random, 4, 12);
    o->goal = spad__random_below(random, 2) == 0 ? SPAD_PLAN_DECIDE : SPAD_PLAN_MINIMIZE;
}

/* Adds the problem with all times later by `later`. */
static void add_copy(spad_plan *plan, const oracle *o, int64_t later) {
    spad_error error;
    const size_t first = spad_plan_count(plan);
    for (int i = 0; i < o->count; i++) {
        spad_plan_buffer b = o->buffer[i];
        spad_plan_gap gap = o->gap[i];
        b.lower += later;
        b.upper += later;
        gap.lower += later;
        gap.upper += later;
        b.gaps = &gap;
        assert_ok(spad_plan_add(NULL, plan, &b, &error), &error);
    }
    for (int i = 0; i < o->count; i++) {
        const size_t n = first + (size_t)i;
        const size_t other = first + (size_t)o->alias[i];
        if (o->slice[i])
            assert_ok(spad_plan_slice(plan, n, other, o->at[i], &error), &error);
        else if (o->alias[i] != i)
            assert_ok(spad_plan_alias(plan, other, n, &error), &error);
        if (o->input[i] >= 0)
            assert_ok(spad_plan_in_place(plan, n, first + (size_t)o->input[i], &error), &error);
        for (int j = 0; j < i; j++)
            if (o->apart[i][j])
                assert_ok(spad_plan_apart(plan, n, first + (size_t)j, &error), &error);
    }
    for (int k = 0; k < o->avoid_count; k++) {
        const avoid *v = &o->avoids[k];
        assert_ok(
            spad_plan_avoid(plan, first + (size_t)v->a, first + (size_t)v->b, v->cost, &error),
            &error);
    }
}

static spad_plan *build(const oracle *o, int64_t copies) {
    spad_error error;
    spad_plan *plan;
    assert_ok(spad_plan_create(&plan, NULL, &error), &error);
    for (int64_t n = 0; n < copies; n++) add_copy(plan, o, n * BETWEEN);
    return plan;
}

/* Pins that are above a capacity are refused, so it is set last. */
static bool bound_plan(const oracle *o, spad_plan *plan) {
    spad_error error;
    for (int i = 0; i < o->count; i++)
        if (o->buffer[i].pinned && o->buffer[i].offset + o->buffer[i].size > o->capacity)
            return false;
    assert_ok(spad_plan_set_capacity(plan, o->capacity, &error), &error);
    return true;
}

typedef struct tally {
    int64_t costly, free, none, copies;
} tally;

static void compare(oracle *o, const spad_plan *plan, tally *sum) {
    spad_error error;
    spad_soft_result *r;
    const spad_plan_options options = {.goal = o->goal};
    assert_ok(spad_plan_solve_soft(&r, plan, &o->constraints, &options, &error), &error);
    o->limit = o->capacity < TOP ? o->capacity : TOP;
    o->lowest = o->least = INT64_MAX;
    try_offsets(o, 0, true);
    if (o->lowest == INT64_MAX) {
        assert_true(r->plan->verdict > SPAD_PLAN_FEASIBLE && r->cost == SPAD_UNBOUNDED);
        sum->none++;
    } else {
        const bool decide = o->goal == SPAD_PLAN_DECIDE && o->capacity != SPAD_UNBOUNDED;
        o->limit = decide ? o->capacity : o->lowest + o->constraints.slack;
        if (o->limit > o->capacity) o->limit = o->capacity;
        try_offsets(o, 0, false);
        assert_int_equal(r->limit, o->limit);
        assert_true(r->plan->height <= o->limit);
        for (int i = 0; i < o->count; i++) o->place[i] = r->plan->places[i].offset;
        assert_int_equal(cost_of(o), r->cost);
        assert_int_equal(r->cost, o->least);
        assert_int_equal(r->bound, o->least);
        assert_int_equal(r->violated_count, r->moved_count + r->shared_count);
        *(o->least > 0 ? &sum->costly : &sum->free) += 1;
    }
    spad_soft_result_destroy(r);
}

/* Copies of the problem, one after the other, are too many for a proof by search: the least cost is
 * that of one times their number, the bound is not above it, the plan not below. */
static void compare_copies(oracle *o, tally *sum) {
    spad_error error;
    spad_soft_result *r;
    spad_plan_place places[COPIES * BUFFERS];
    spad_soft_constraints constraints = o->constraints;
    spad_plan *plan = build(o, COPIES);
    for (int i = 0; i < COPIES * o->count; i++) places[i] = o->previous[i % o->count];
    if (constraints.previous != NULL) constraints.previous = places;
    assert_true(bound_plan(o, plan));
    const spad_plan_options options = {.goal = o->goal, .node_limit = 2000};
    assert_ok(spad_plan_solve_soft(&r, plan, &constraints, &options, &error), &error);
    if (r->limit == o->limit) {
        assert_true(r->bound <= COPIES * o->least && COPIES * o->least <= r->cost);
        sum->copies += r->bound > 0;
    }
    spad_soft_result_destroy(r);
    spad_plan_destroy(plan);
}

static void soft_constraints_agree_with_brute_force(void **state) {
    (void)state;
    spad__random random = {seed};
    tally sum = {0};
    for (int64_t n = 0; n < problems; n++) {
        oracle o = {.count = (int)spad__random_in(&random, 1, BUFFERS)};
        for (int i = 0; i < o.count; i++) random_buffer(&random, &o, i);
        random_rules(&random, &o);
        random_soft_constraints(&random, &o);
        spad_plan *plan = build(&o, 1);
        if (bound_plan(&o, plan)) {
            compare(&o, plan, &sum);
            if (n % 20 == 0 && o.lowest != INT64_MAX) compare_copies(&o, &sum);
        }
        spad_plan_destroy(plan);
    }
    assert_true(problems < 1000 || (sum.costly > problems / 10 && sum.free > problems / 10 &&
                                    sum.none > problems / 50 && sum.copies > problems / 200));
}

int main(int argc, char **argv) {
    if (argc > 1) problems = strtoll(argv[1], NULL, 10);
    if (argc > 2) seed = strtoull(argv[2], NULL, 10);
    const struct CMUnitTest tests[] = {cmocka_unit_test(soft_constraints_agree_with_brute_force)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
