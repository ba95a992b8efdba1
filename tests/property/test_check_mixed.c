/* SPDX-License-Identifier: Apache-2.0
 *
 * Claims about several trip counts against single shapes, on random kernels whose conditions have
 * thresholds on each of them (support/random_mixed.h). What is claimed for every value must hold at
 * shapes around the thresholds, alone and together, and beyond all of them; a large given shape
 * must get the verdict that it has when it is run alone; and a shape that a warning names must be
 * wrong.
 *
 *   test_check_mixed [KERNELS [SEED [THRESHOLD]]]
 *   test_check_mixed KERNELS SEED table     writes the table of docs/pairs.md instead
 *
 * The last line has the numbers of kernels, claims, wrong claims, missed errors and false alarms.
 */
#include "support/claims.h"

#include <stdlib.h>
#include <string.h>

#include "base/random.h"
#include "support/executor.h"
#include "support/kernel_features.h"
#include "support/kernels.h"
#include "support/random_mixed.h"

enum { SHAPES = 20, SHOWN = 5, PARAMS = 3 };

/* One kernel in LARGE_EACH has given values of LARGE or more, which the proof replaces by smaller
 * ones (GIVEN_MAX in prove.c). */
enum { LARGE_EACH = 16, LARGE = 64 };

static const char *const names[PARAMS] = {"T", "N", "M"};

static long kernels = 400;
static uint64_t first_seed = 1;
static int threshold = 30;
static bool table;

typedef struct tally {
    long refused;
    long right; /* at the given shape */
    long wrong;
    long unknown;
    long claims;
    long claims_of_two; /* or more trip counts */
    long shapes;
    long witnesses;
    long wrong_claims;
    long missed;
    long alarms;
} tally;

static answer ask(const random_mixed *k, const int64_t *values, bool one_shape) {
    spad_define defines[PARAMS];
    for (int i = 0; i < k->params; i++) defines[i] = (spad_define){names[i], values[i]};
    return answer_for(k->text, strlen(k->text), defines, (size_t)k->params, one_shape);
}

static void show(const char *what, uint64_t seed, const random_mixed *k, const int64_t *values,
                 const char *reason, long *shown) {
    if ((*shown)++ >= SHOWN) return;
    print_message("---- %s, seed %llu", what, (unsigned long long)seed);
    for (int i = 0; i < k->params; i++) print_message(" %s = %d", names[i], (int)values[i]);
    print_message(": %s\n%s", reason, k->text);
}

/* The values of the parameters in the text. */
static void given_values(const random_mixed *k, int64_t *values) {
    for (int i = 0; i < k->params; i++) {
        char word[16];
        snprintf(word, sizeof word, "param %s = ", names[i]);
        values[i] = atoll(strstr(k->text, word) + strlen(word));
    }
}

/* A value next to a threshold, or any. */
static int64_t some_value(const random_mixed *k, spad__random *random) {
    const bool near = k->threshold_count > 0 && spad__random_in(random, 0, 4) > 0;
    const int64_t other = spad__random_in(random, 0, threshold + 6);
    if (!near) return other;
    const int64_t number = spad__random_in(random, 0, k->threshold_count - 1);
    return k->thresholds[number] + spad__random_in(random, -1, 3);
}

static void try_claim(const random_mixed *k, const answer *all, uint64_t seed, tally *t,
                      long *shown) {
    const trip_claim c = read_claim(all->reason, "TNM");
    spad__random random = {seed * 31 + 7};
    int64_t given[PARAMS];
    if (c.count == 0) return;
    t->claims++;
    t->claims_of_two += c.count > 1;
    given_values(k, given);
    for (int s = 0; s < SHAPES; s++) {
        int64_t values[PARAMS];
        bool inside = true;
        for (int i = 0; i < k->params; i++) {
            const int64_t value = s == 0 ? threshold + 5 : some_value(k, &random);
            values[i] = c.from[i] < 0 ? given[i] : value;
            inside = inside && (c.from[i] < 0 || value >= c.from[i]);
        }
        if (!inside) continue;
        const answer one = ask(k, values, true);
        t->shapes++;
        if (!one.possible || one.verdict != SPAD_VERDICT_WRONG) continue;
        t->wrong_claims++;
        show("wrong claim", seed, k, values, all->reason, shown);
        return;
    }
}

/* "not with T = 22, N = 13: ..." is about a shape that is wrong. */
static void try_witness(const random_mixed *k, const answer *all, uint64_t seed, tally *t,
                        long *shown) {
    const char *at = strstr(all->reason, "not with ");
    int64_t values[PARAMS];
    if (at == NULL || strstr(all->reason, "with r = ") != NULL) return;
    given_values(k, values);
    at += strlen("not with ");
    for (;;) {
        const char *name = strchr("TNM", *at);
        if (name == NULL || *name == '\0' || strncmp(at + 1, " = ", 3) != 0) return;
        char *end;
        values[name - "TNM"] = strtoll(at + 4, &end, 10);
        if (strncmp(end, ", ", 2) != 0) break;
        at = end + 2;
    }
    const answer one = ask(k, values, true);
    t->witnesses++;
    if (one.possible && one.verdict == SPAD_VERDICT_WRONG) return;
    t->alarms++;
    show("false alarm", seed, k, values, all->reason, shown);
}

/* Beyond all thresholds, and one of them, or each, so large that small shapes may represent it. */
static void large_values(const random_mixed *k, uint64_t seed, int64_t *values) {
    spad__random random = {seed + 99};
    const int64_t chosen = spad__random_in(&random, 0, 2); /* 2: both */
    const int64_t room = chosen == 2 ? 8 : 40;
    for (int i = 0; i < 2; i++) {
        const bool large = chosen == i || chosen == 2;
        const int64_t least = large ? LARGE : threshold + 4;
        values[i] = spad__random_in(&random, least, least + (large ? room : 4));
    }
    if (k->params == 3) values[2] = 5;
}

static void look_at(uint64_t seed, tally *t, long *shown) {
    random_mixed k;
    int64_t values[PARAMS];
    const bool large = seed % LARGE_EACH == 0;
    random_mixed_make(&k, seed, threshold);
    given_values(&k, values);
    if (large) large_values(&k, seed, values);
    const answer all = ask(&k, values, false);
    if (!all.possible) {
        t->refused++;
        return;
    }
    const bool any = strstr(k.text, " any\n") != NULL; /* wrong for other values is wrong */
    const answer alone = ask(&k, values, true);
    t->right += alone.verdict != SPAD_VERDICT_WRONG;
    t->wrong += alone.verdict == SPAD_VERDICT_WRONG;
    t->unknown += all.verdict == SPAD_VERDICT_UNKNOWN;
    if (all.verdict == SPAD_VERDICT_WRONG && alone.verdict != SPAD_VERDICT_WRONG && !any) {
        t->alarms++;
        show("false alarm", seed, &k, values, all.reason, shown);
    }
    if (all.verdict != SPAD_VERDICT_WRONG && alone.verdict == SPAD_VERDICT_WRONG) {
        t->missed++;
        show("missed", seed, &k, values, all.reason, shown);
    }
    if (all.verdict == SPAD_VERDICT_WRONG) return;
    if (large) return;
    try_claim(&k, &all, seed, t, shown);
    try_witness(&k, &all, seed, t, shown);
}

static void claims_hold_at_single_shapes(void **state) {
    (void)state;
    tally t = {0};
    long shown = 0;
    for (long i = 0; i < kernels; i++) look_at(first_seed + (uint64_t)i, &t, &shown);
    print_message("%ld kernels: %ld refused, %ld right, %ld wrong, %ld unknown; %ld claims of two "
                  "or more trip counts, %ld shapes, %ld witnesses\n",
                  kernels, t.refused, t.right, t.wrong, t.unknown, t.claims_of_two, t.shapes,
                  t.witnesses);
    print_message("summary: kernels %ld, claims %ld, wrong %ld, missed %ld, false alarms %ld\n",
                  kernels, t.claims, t.wrong_claims, t.missed, t.alarms);
    assert_int_equal(t.wrong_claims, 0);
    assert_int_equal(t.missed, 0);
    assert_int_equal(t.alarms, 0);
    assert_true(t.claims * 8 > kernels && t.claims_of_two * 32 > kernels);
    assert_true(t.wrong * 10 > kernels && t.refused * 20 < kernels);
}

/* The check of one small shape against all executions. */
static void small_shapes_agree_with_all_executions(void **state) {
    (void)state;
    const executor_options limits = {.states_max = 20000};
    long compared = 0;
    long missed = 0;
    long alarms = 0;
    long shown = 0;
    for (long i = 0; i < kernels / 2; i++) {
        const uint64_t seed = first_seed + (uint64_t)i;
        random_mixed k;
        int64_t values[PARAMS];
        spad_kernel *kernel;
        random_mixed_make(&k, seed, 3);
        given_values(&k, values);
        if (spad_kernel_parse(&kernel, k.text, strlen(k.text), "k", NULL, NULL, NULL) != SPAD_OK) {
            continue;
        }
        const executor_result run = executor_run_all_values(kernel, &limits);
        spad_kernel_destroy(kernel);
        if (!run.decided || run.unmodelled || run.walk_failed || run.takers) continue;
        const answer one = ask(&k, values, true);
        if (one.verdict == SPAD_VERDICT_UNKNOWN) continue;
        const bool wrong = one.verdict == SPAD_VERDICT_WRONG;
        compared++;
        missed += !wrong && run.wrong != 0;
        alarms += wrong && run.wrong == 0;
        if (wrong != (run.wrong != 0)) {
            show(wrong ? "false alarm" : run.about, seed, &k, values, one.reason, &shown);
        }
    }
    print_message("summary of all executions: kernels %ld, missed %ld, false alarms %ld\n",
                  compared, missed, alarms);
    assert_int_equal(missed + alarms, 0);
    assert_true(compared * 4 > kernels / 2);
}

static void pairs_of_features_meet(void **state) {
    (void)state;
    feature_pairs pairs = {0};
    char text[RANDOM_KERNEL_TEXT];
    random_mixed k;
    for (long i = 0; i < kernels; i++) {
        const uint64_t seed = first_seed + (uint64_t)i;
        random_mixed_make(&k, seed, threshold);
        feature_pairs_add(&pairs, k.text);
        random_kernel(seed, text);
        feature_pairs_add(&pairs, text);
    }
    if (table) feature_pairs_write(&pairs);
    const long least = kernels >= 100000 ? 100 : kernels / 1000;
    assert_int_equal(feature_pairs_missing(&pairs, least), 0);
}

int main(int count, char **words) {
    if (count > 1) kernels = atol(words[1]);
    if (count > 2) first_seed = strtoull(words[2], NULL, 10);
    table = count > 3 && strcmp(words[3], "table") == 0;
    if (count > 3 && !table) threshold = atoi(words[3]);
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(claims_hold_at_single_shapes),
        cmocka_unit_test(small_shapes_agree_with_all_executions),
        cmocka_unit_test(pairs_of_features_meet),
    };
    const struct CMUnitTest only_table[] = {cmocka_unit_test(pairs_of_features_meet)};
    return table ? cmocka_run_group_tests(only_table, NULL, NULL)
                 : cmocka_run_group_tests(tests, NULL, NULL);
}
