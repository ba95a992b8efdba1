/* SPDX-License-Identifier: Apache-2.0
 *
 * Claims for all trip counts against an oracle that shares nothing with the library
 * (support/loop_program.h), on random kernels whose indices meet late: in far iterations, with far
 * values of one parameter, or of several together. What is claimed must hold at every shape that is
 * tried; and the check of one shape must say what the oracle says.
 *
 *   test_check_loops [KERNELS [SEED]]
 *
 * The summary has the numbers of kernels, claims, shapes, wrong claims, missed errors and false
 * alarms. The program needs no files, and of shared libraries cmocka alone.
 */
#include "support/claims.h"

#include <stdlib.h>
#include <string.h>

#include "base/random.h"
#include "support/loop_program.h"

enum { SHAPES = 60, SINGLES = 3, SHOWN = 12 };

static long kernels = 1500;
static uint64_t first_seed = 1;

typedef struct tally {
    long refused, right, wrong, unknown;
    long claims, shapes, singles;
    long wrong_claims, missed, alarms;
    long shown;
} tally;

typedef struct subject {
    uint64_t seed;
    loop_program p;
    char text[LOOP_TEXT];
    spad__random random;
} subject;

static answer ask(const subject *k, const int64_t *values, bool one_shape) {
    spad_define defines[LOOP_PARAMS];
    for (int i = 0; i < k->p.params; i++) defines[i] = (spad_define){loop_params[i], values[i]};
    return answer_for(k->text, strlen(k->text), defines, (size_t)k->p.params, one_shape);
}

static void show(tally *t, const char *what, const subject *k, const int64_t *values,
                 const char *reason) {
    if (t->shown++ >= SHOWN) return;
    print_message("---- %s, seed %llu", what, (unsigned long long)k->seed);
    for (int i = 0; i < k->p.params; i++) print_message(" %s = %d", loop_params[i], (int)values[i]);
    print_message(": %s\n%s", reason, k->text);
}

static int64_t some_value(subject *k) {
    const loop_program *p = &k->p;
    const int64_t kind = spad__random_in(&k->random, 0, 9);
    if (kind < 4 || p->threshold_count == 0) return spad__random_in(&k->random, 0, 12);
    if (kind == 9) return spad__random_in(&k->random, 0, 160);
    const int64_t one = p->thresholds[spad__random_in(&k->random, 0, p->threshold_count - 1)];
    const int64_t two = p->thresholds[spad__random_in(&k->random, 0, p->threshold_count - 1)];
    const int64_t near = spad__random_in(&k->random, -2, 3);
    const int64_t value = (kind < 7    ? one
                           : kind == 7 ? one + two
                                       : one * spad__random_in(&k->random, 2, 3)) +
                          near;
    return value < 0 ? 0 : value > 400 ? 400 : value;
}

static bool is_wrong(loop_answer a) {
    return a == LOOPS_RACE || a == LOOPS_STUCK || a == LOOPS_STALE || a == LOOPS_OUTSIDE;
}

/* The check of one shape against the oracle. */
static bool compare_single(subject *k, const int64_t *values, tally *t) {
    const loop_answer oracle = loop_program_run(&k->p, values);
    const answer one = ask(k, values, true);
    if (oracle == LOOPS_TOO_LONG || !one.possible || one.verdict == SPAD_VERDICT_UNKNOWN)
        return true;
    const bool wrong = is_wrong(oracle);
    t->singles++;
    const bool says_wrong = one.verdict == SPAD_VERDICT_WRONG;
    if (says_wrong == wrong) return true;
    t->missed += wrong;
    t->alarms += says_wrong;
    show(t, wrong ? "missed" : "false alarm", k, values, one.reason);
    return false;
}

/* A shape that a claim is about: the oracle, and the check of it alone, must find no error. */
static bool holds_at(subject *k, const int64_t *values, const char *reason, tally *t) {
    const loop_answer oracle = loop_program_run(&k->p, values);
    if (oracle == LOOPS_RIGHT || oracle == LOOPS_TOO_LONG) return true;
    const answer one = ask(k, values, true);
    const bool refused = !one.possible && strstr(reason, "there is no kernel with") != NULL;
    if (refused || one.verdict == SPAD_VERDICT_UNKNOWN) return true;
    t->wrong_claims++;
    t->missed += one.possible && one.verdict != SPAD_VERDICT_WRONG;
    show(t, "wrong claim", k, values, reason);
    return false;
}

static void try_claim(subject *k, const trip_claim *c, const char *reason, tally *t) {
    t->claims++;
    for (int s = 0; s < SHAPES; s++) {
        int64_t values[LOOP_PARAMS];
        bool inside = true;
        for (int i = 0; i < k->p.params; i++) {
            values[i] = c->from[i] < 0            ? k->p.given[i]
                        : c->count == 1 && s < 40 ? c->from[i] + s
                                                  : some_value(k);
            inside = inside && values[i] >= c->from[i];
        }
        if (!inside) continue;
        t->shapes++;
        if (!holds_at(k, values, reason, t)) return;
    }
}

/* One kernel in LARGE_EACH has a given value of LARGE or more, which the proof replaces by a
 * smaller one (GIVEN_MAX in prove.c). */
enum { LARGE_EACH = 8, LARGE = 64 };

static void choose_given(subject *k) {
    if (k->seed % LARGE_EACH != 0) return;
    const int64_t which = spad__random_in(&k->random, 0, k->p.params - 1);
    k->p.given[which] = spad__random_in(&k->random, LARGE, 3 * LARGE);
}

/* The verdict about the given shape, which need not have been run, against the oracle. */
static void compare_given(subject *k, const answer *all, tally *t) {
    const loop_answer oracle = loop_program_run(&k->p, k->p.given);
    const bool wrong = all->verdict == SPAD_VERDICT_WRONG;
    if (oracle == LOOPS_TOO_LONG) return;
    if (all->verdict == SPAD_VERDICT_UNKNOWN || is_wrong(oracle) == wrong) return;
    if (wrong && k->p.any) return; /* wrong for other values is wrong */
    t->missed += !wrong;
    t->alarms += wrong;
    show(t, wrong ? "false alarm" : "missed", k, k->p.given, all->reason);
}

static void look_at(uint64_t seed, tally *t) {
    static subject k;
    k.seed = seed;
    k.random = (spad__random){seed * 31 + 7};
    random_loops(&k.p, seed);
    choose_given(&k);
    loop_program_print(&k.p, k.text, sizeof k.text);
    const answer all = ask(&k, k.p.given, false);
    if (!all.possible) {
        t->refused++;
        return;
    }
    t->right += all.verdict != SPAD_VERDICT_WRONG;
    t->wrong += all.verdict == SPAD_VERDICT_WRONG;
    t->unknown += all.verdict == SPAD_VERDICT_UNKNOWN;
    compare_given(&k, &all, t);
    for (int i = 0; i < SINGLES; i++) {
        int64_t values[LOOP_PARAMS];
        for (int d = 0; d < k.p.params; d++) values[d] = spad__random_in(&k.random, 0, 9);
        if (!compare_single(&k, values, t)) return;
    }
    const trip_claim c = read_claim(all.reason, "TNM");
    if (all.verdict != SPAD_VERDICT_WRONG && c.count > 0) try_claim(&k, &c, all.reason, t);
}

static void claims_hold(void **state) {
    (void)state;
    tally t = {0};
    for (long i = 0; i < kernels; i++) look_at(first_seed + (uint64_t)i, &t);
    print_message("%ld refused, %ld right, %ld wrong, %ld unknown; %ld single shapes\n", t.refused,
                  t.right, t.wrong, t.unknown, t.singles);
    print_message(
        "summary: kernels %ld, claims %ld, shapes %ld, wrong %ld, missed %ld, false alarms %ld\n",
        kernels, t.claims, t.shapes, t.wrong_claims, t.missed, t.alarms);
    assert_int_equal(t.wrong_claims + t.missed + t.alarms, 0);
    assert_true(t.claims * 8 > kernels && t.wrong * 10 > kernels && t.refused * 10 < kernels);
}

int main(int count, char **words) {
    if (count > 1) kernels = atol(words[1]);
    if (count > 2) first_seed = strtoull(words[2], NULL, 10);
    const struct CMUnitTest tests[] = {cmocka_unit_test(claims_hold)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
