/* SPDX-License-Identifier: Apache-2.0
 *
 * Every two rules of a CSV file meet: random problems with the rules of rule_problem.h, as text,
 * against brute force (rule_oracle.h). Heights, verdicts and costs are right, plans obey all rules;
 * and every pair of rules that can be combined was in at least one problem of a thousand, on one
 * buffer or on buffers that are tied to it. Pairs that cannot be combined are refused.
 *
 *     test_plan_rules [PROBLEMS [SEED [table]]]
 *
 * With `table` each rule's rarest partner is printed, as in docs/pairs.md.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/checked.h"
#include "base/error.h"
#include "spad/experimental/spaces.h"
#include "support/rarest_pairs.h"
#include "support/rule_oracle.h"
#include "support/support.h"

enum { LEAST_TO_COUNT = 10000, PER_PAIR = 1000 };

static int64_t problems = 10000;
static uint64_t seed = 2026;
static bool table;

static int64_t met[RULES][RULES]; /* problems in which two rules meet */
static int64_t compared, impossible, costly, refused, too_tall;

/* ---- counting ---------------------------------------------------------------------- */

static void count_pairs(const rule_oracle *o) {
    const rule_problem *p = o->p;
    bool both[RULES][RULES] = {{0}};
    for (int g = 0; g < p->count; g++) {
        uint32_t set = rule_problem_of_all(p);
        for (int i = g; i < p->count; i++)
            if (o->group[i] == g) set |= rule_problem_of_buffer(p, o->group, i);
        for (int a = 0; a < RULES; a++)
            for (int b = 0; b < a; b++)
                if ((set & RULE_BIT(a)) != 0 && (set & RULE_BIT(b)) != 0) both[a][b] = true;
    }
    for (int a = 0; a < RULES; a++)
        for (int b = 0; b < a; b++) met[a][b] += both[a][b];
}

static int64_t rules_met(int a, int b, const void *context) {
    (void)context;
    const int high = a > b ? a : b;
    const int low = a > b ? b : a;
    return rule_obstacle((rule)high, (rule)low) != NULL ? -1 : met[high][low];
}

/* ---- comparing --------------------------------------------------------------------- */

/* A problem, what is right about it, and what the planner has found. */
typedef struct subject {
    rule_problem p;
    rule_oracle o;
    int64_t lowest;
} subject;

static bool fits(const subject *s) {
    return s->lowest >= 0 && s->lowest <= s->p.capacity;
}

/* The plan of a result obeys the rules, and has the height that is claimed. */
static int64_t cost_of_plan(subject *s, const spad_plan *plan, const spad_plan_result *r) {
    spad_error error;
    int64_t height, top, cost;
    assert_ok(spad_plan_check(&height, plan, r->places, r->count, &error), &error);
    assert_int_equal(height, r->height);
    assert_true(rule_oracle_accepts(&s->o, r->places, &top, &cost));
    assert_int_equal(top, height);
    return cost;
}

static void compare_result(subject *s, const spad_plan *plan, const spad_plan_result *r,
                           spad_plan_goal goal) {
    assert_int_equal(r->count, s->p.count);
    assert_true((r->clash != SPAD_PLAN_NO_CLASH) == (s->lowest == RULE_IMPOSSIBLE));
    if (!fits(s)) {
        assert_int_equal(r->verdict, SPAD_PLAN_INFEASIBLE);
        return;
    }
    assert_true(r->verdict <= SPAD_PLAN_FEASIBLE && r->bound <= s->lowest);
    assert_true(r->height >= s->lowest && r->height <= s->p.capacity);
    if (goal == SPAD_PLAN_MINIMIZE) {
        assert_int_equal(r->verdict, SPAD_PLAN_OPTIMAL);
        assert_int_equal(r->height, s->lowest);
    }
    if (r->verdict == SPAD_PLAN_OPTIMAL) assert_int_equal(r->height, s->lowest);
    (void)cost_of_plan(s, plan, r);
}

static void compare_soft_constraints(subject *s, const spad_plan *plan) {
    rule_text text;
    spad_error error;
    spad_plan_place previous[RULE_BUFFERS];
    spad_soft_result *r;
    const spad_plan_options options = {.goal = s->p.goal};
    rule_problem_write_previous(&text, &s->p);
    assert_ok(spad_plan_read_places(previous, (size_t)s->p.count, plan, text.bytes, text.used,
                                    "old.csv", &error),
              &error);
    s->p.constraints.previous = previous;
    assert_ok(spad_plan_solve_soft(&r, plan, &s->p.constraints, &options, &error), &error);
    s->p.constraints.previous = NULL;
    if (fits(s)) {
        const int64_t limit = s->p.goal == SPAD_PLAN_DECIDE
                                  ? s->p.capacity
                                  : spad__min(s->lowest + s->p.constraints.slack, s->p.capacity);
        const int64_t least = rule_oracle_least(&s->o, limit);
        assert_int_equal(r->limit, limit);
        assert_true(r->plan->height <= limit);
        assert_int_equal(cost_of_plan(s, plan, r->plan), r->cost);
        assert_int_equal(r->cost, least);
        assert_int_equal(r->bound, least);
        costly += least > 0;
    } else {
        assert_int_equal(r->plan->verdict, SPAD_PLAN_INFEASIBLE);
    }
    spad_soft_result_destroy(r);
}

static void compare_plan(subject *s, const spad_plan *plan, spad_plan_goal goal) {
    spad_error error;
    spad_plan_result *r;
    const spad_plan_options options = {.goal = goal};
    assert_ok(spad_plan_solve(&r, plan, &options, &error), &error);
    compare_result(s, plan, r, goal);
    spad_plan_result_destroy(r);
}

/* The planner does not take groups whose banks do not nest. */
static bool is_taken(spad_status status, const spad_error *error, const char *text) {
    if (status == SPAD_OK) return true;
    if (status != SPAD_ERR_ALIGNMENT) fail_msg("%s\n%s", error->message, text);
    refused++;
    return false;
}

/* One problem in one memory. False: it is not taken. */
static bool compare_alone(subject *s) {
    rule_text text;
    spad_error error;
    spad_plan *plan;
    spad_plan_result *first = NULL;
    const spad_plan_options one_node = {.node_limit = 1};
    rule_problem_write(&text, &s->p, 1);
    assert_ok(spad_plan_create(&plan, NULL, &error), &error);
    if (s->p.in_space) assert_ok(spad_plan_set_space(plan, &s->p.space, &error), &error);
    spad_status status = spad_plan_read_csv(plan, text.bytes, text.used, "p.csv", NULL, &error);
    if (status == SPAD_OK) status = spad_plan_solve(&first, plan, &one_node, &error);
    const bool taken = is_taken(status, &error, text.bytes);
    if (taken) {
        assert_ok(spad_plan_set_capacity(plan, s->p.capacity, &error), &error);
        compare_plan(s, plan, s->p.goal);
        compare_plan(s, plan, SPAD_PLAN_MINIMIZE);
        compare_soft_constraints(s, plan);
    }
    spad_plan_result_destroy(first);
    spad_plan_destroy(plan);
    return taken;
}

/* Two problems, each in a memory of its own. */
static bool compare_spaces(subject *both) {
    rule_text text;
    spad_error error;
    spad_spaces *spaces;
    spad_spaces_result *r = NULL;
    rule_problem pair[2] = {both[0].p, both[1].p};
    spad_space rows[2] = {pair[0].space, pair[1].space};
    static const char *const names[2] = {"m0", "m1"};
    const spad_target target = {.name = "test", .space_count = 2, .spaces = rows};
    const spad_plan_options options = {.goal = both->p.goal};
    rule_problem_write(&text, pair, 2);
    assert_ok(spad_spaces_create(&spaces, NULL, &error), &error);
    if (pair[0].in_space) spad_spaces_set_target(spaces, &target);
    for (int m = 0; m < 2; m++) {
        rows[m].name = names[m];
        const spad_tier memory = {names[m], pair[m].capacity, 0};
        assert_ok(spad_spaces_add_memory(NULL, spaces, &memory, &error), &error);
    }
    spad_status status = spad_spaces_read_csv(spaces, text.bytes, text.used, "p.csv", NULL, &error);
    const bool above = status == SPAD_ERR_BOUNDS; /* a pin above the capacity of its memory */
    if (status == SPAD_OK) status = spad_spaces_solve(&r, spaces, &options, &error);
    const bool taken = !above && is_taken(status, &error, text.bytes);
    assert_true(!above || pair[0].capacity != SPAD_UNBOUNDED);
    for (size_t m = 0; taken && m < 2; m++) {
        subject *s = &both[m];
        const spad_plan_goal goal =
            s->p.capacity == SPAD_UNBOUNDED ? SPAD_PLAN_MINIMIZE : s->p.goal;
        const spad_spaces_part *part = &r->parts[m];
        if (s->p.avoid_count == 0 || !fits(s)) compare_result(s, part->plan, part->result, goal);
        if (!fits(s) || s->p.avoid_count == 0) continue;
        const int64_t limit = goal == SPAD_PLAN_DECIDE ? s->p.capacity : s->lowest;
        assert_true(part->result->height <= limit);
        const int64_t cost = cost_of_plan(s, part->plan, part->result);
        assert_int_equal(cost, rule_oracle_least(&s->o, limit));
        costly += cost > 0;
    }
    spad_spaces_result_destroy(r);
    spad_spaces_destroy(spaces);
    return taken;
}

/* False: the oracle cannot say. */
static bool make_subject(subject *s, uint32_t wanted, spad__random *random) {
    rule_problem_make(&s->p, wanted, random);
    rule_oracle_start(&s->o, &s->p);
    s->lowest = rule_oracle_lowest(&s->o);
    const int64_t more = spad__random_in(random, -1, 2);
    if (wanted & RULE_BIT(RULE_CAPACITY)) s->p.capacity = spad__max(s->lowest + more, 0);
    if (wanted & RULE_BIT(RULE_DECIDE)) s->p.goal = SPAD_PLAN_DECIDE;
    return s->lowest != RULE_TOO_TALL;
}

static subject subjects[2]; /* outlive a failed assertion */

static void one_problem(spad__random *random) {
    const uint32_t wanted = rule_choose(random);
    const bool spaces = (wanted & RULE_BIT(RULE_SPACE)) != 0;
    bool known = make_subject(&subjects[0], wanted, random);
    if (spaces) known = make_subject(&subjects[1], wanted, random) && known;
    too_tall += !known;
    if (!known || !(spaces ? compare_spaces(subjects) : compare_alone(&subjects[0]))) return;
    for (int m = 0; m < (spaces ? 2 : 1); m++) {
        compared++;
        impossible += subjects[m].lowest == RULE_IMPOSSIBLE;
        count_pairs(&subjects[m].o);
    }
}

static int show_last(void **state) {
    rule_text text;
    if (*state == NULL) return 0;
    const rule_problem pair[2] = {subjects[0].p, subjects[1].p};
    rule_problem_write(&text, pair, (pair[0].wanted & RULE_BIT(RULE_SPACE)) != 0 ? 2 : 1);
    fprintf(stderr, "problem %lld of seed %llu, lowest %lld, capacity %lld, rules:",
            (long long)*(int64_t *)*state, (unsigned long long)seed, (long long)subjects[0].lowest,
            (long long)pair[0].capacity);
    for (int k = 0; k < RULES; k++)
        if ((pair[0].wanted & RULE_BIT(k)) != 0) fprintf(stderr, " %s;", rule_names[k]);
    fprintf(stderr, "\n%s", text.bytes);
    rule_problem_write_previous(&text, &pair[0]);
    fprintf(stderr, "%s", text.bytes);
    return 0;
}

static void every_two_rules_agree_with_brute_force(void **state) {
    static int64_t number;
    spad__random random = {seed};
    *state = &number;
    for (number = 0; number < problems; number++) one_problem(&random);
    *state = NULL;
    if (table) {
        write_rarest_pairs("rule", rule_names, RULES, rules_met, NULL);
        printf("%lld problems compared, %lld impossible, %lld with costs, %lld refused, %lld too "
               "tall\n",
               (long long)compared, (long long)impossible, (long long)costly, (long long)refused,
               (long long)too_tall);
    }
    if (problems < LEAST_TO_COUNT) return;
    for (int a = 0; a < RULES; a++)
        for (int b = 0; b < a; b++)
            if (rule_obstacle((rule)a, (rule)b) == NULL && met[a][b] < problems / PER_PAIR)
                fail_msg("%s and %s meet in %lld problems", rule_names[a], rule_names[b],
                         (long long)met[a][b]);
    assert_true(impossible > problems / 50 && costly > problems / 20);
    assert_true(too_tall < problems / 50 && refused < problems / 20);
}

/* ---- what cannot be combined ------------------------------------------------------- */

static void pairs_that_cannot_be_combined_are_refused(void **state) {
    (void)state;
    static const struct {
        rule a, b;
        const char *csv;
    } cases[] = {
        {RULE_END, RULE_CLOCK, "id,lower,end,size\na,0:0,1:1,4\n"},
        {RULE_CLOCK, RULE_GAP, "id,lower,upper,size,gaps\na,0:0,4:4,4,1-2\n"},
        {RULE_CLOCK, RULE_WINDOW, "id,lower,upper,size,gaps\na,0:0,4:4,4,1-2@0:2\n"},
        {RULE_CLOCK, RULE_IN_PLACE, "id,lower,upper,size,in_place\na,0:0,1:1,4,\nb,1:0,2:1,4,a\n"},
        {RULE_CLOCK, RULE_REUSE, "id,lower,upper,size\na,0:0,1:1,4\nb,1:1,2:2,4\n"},
    };
    for (size_t k = 0; k < sizeof cases / sizeof *cases; k++) {
        spad_error error;
        spad_plan *plan;
        spad_soft_result *r = NULL;
        const spad_soft_constraints constraints = {.reuse_steps = 1, .reuse_cost = 1};
        assert_non_null(rule_obstacle(cases[k].a, cases[k].b));
        assert_ok(spad_plan_create(&plan, NULL, &error), &error);
        spad_status status =
            spad_plan_read_csv(plan, cases[k].csv, strlen(cases[k].csv), "c.csv", NULL, &error);
        if (cases[k].b == RULE_REUSE)
            status = spad_plan_solve_soft(&r, plan, &constraints, NULL, &error);
        assert_true(status == SPAD_ERR_ARGUMENT || status == SPAD_ERR_SYNTAX);
        spad_soft_result_destroy(r);
        spad_plan_destroy(plan);
    }
}

/* The search over several memories knows none of these; property.tiers_exact has what it knows. */
static void rules_of_one_memory_are_refused_where_rows_choose(void **state) {
    (void)state;
    static const char *const columns[][2] = {{"hint", "4"},     {"gaps", "1-2"}, {"offset", "0"},
                                             {"lane", "0"},     {"lanes", "2"},  {"bank", "8"},
                                             {"alias", "g"},    {"apart", "b"},  {"slice", "b@0"},
                                             {"in_place", "b"}, {"avoid", "b:1"}};
    for (size_t k = 0; k < sizeof columns / sizeof *columns; k++) {
        spad_error error;
        spad_spaces *spaces;
        char text[256];
        const int length = snprintf(text, sizeof text,
                                    "id,lower,upper,size,space,%s\na,0,4,2,m|n,%s\nb,0,4,4,m,\n",
                                    columns[k][0], columns[k][1]);
        assert_ok(spad_spaces_create(&spaces, NULL, &error), &error);
        assert_int_equal(spad_spaces_read_csv(spaces, text, (size_t)length, "c.csv", NULL, &error),
                         SPAD_ERR_ARGUMENT);
        spad_spaces_destroy(spaces);
    }
}

int main(int argc, char **argv) {
    if (argc > 1) problems = strtoll(argv[1], NULL, 10);
    if (argc > 2) seed = strtoull(argv[2], NULL, 10);
    table = argc > 3 && strcmp(argv[3], "table") == 0;
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_teardown(every_two_rules_agree_with_brute_force, show_last),
        cmocka_unit_test(pairs_that_cannot_be_combined_are_refused),
        cmocka_unit_test(rules_of_one_memory_are_refused_where_rows_choose)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
