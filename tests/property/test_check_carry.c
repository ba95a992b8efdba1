/* SPDX-License-Identifier: Apache-2.0
 * Proofs for two trip counts that depend on each other, as in persistent kernels: random pipelines
 * with the running index t * N + n, right or wrong in one place, at once or only for large values.
 * What is proved for all T and N must be right for every pair of a large part, each examined
 * alone; and a kernel that is wrong for one of the small pairs next to the given one must not pass
 * without a word. */
#include "support/claims.h"
#include "support/support.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "base/random.h"
#include "spad/check.h"

typedef struct page {
    char text[8192];
    size_t used;
    spad__random random;
    int64_t broken; /* the use of the counter that is to be another one; -1: none */
    int64_t uses;
} page;

static int64_t pick(page *p, int64_t count) {
    return spad__random_in(&p->random, 0, count - 1);
}

static void SPAD_PRINTF(2, 3) put(page *p, const char *format, ...) {
    va_list arguments;
    va_start(arguments, format);
    p->used += (size_t)vsnprintf(p->text + p->used, sizeof p->text - p->used, format, arguments);
    va_end(arguments);
    assert_true(p->used < sizeof p->text);
}

/* The running index, or something that is equal to it for a while. */
static const char *counter(page *p) {
    static const char *const others[] = {"t * 3 + n",
                                         "t * 2 + n",
                                         "t + n",
                                         "t * (N + N / 9) + n",
                                         "t * (N + N / 5) + n",
                                         "(t + t / 4) * N + n",
                                         "(t + t / 7) * N + n",
                                         "t * N + n + N / 8",
                                         "t * N + n + T / 6",
                                         "t * N + n % 7",
                                         "t % 5 * N + n",
                                         "t * (N % 6) + n",
                                         "t * N + n + t / 6 * 3",
                                         "(t + 1) * N - n - 1",
                                         "t * (2 * N - 3) + n"};
    enum { OTHERS = sizeof others / sizeof others[0] };
    return p->uses++ == p->broken ? others[pick(p, OTHERS)] : "t * N + n";
}

/* A statement, or one that is left out now and then, at some iteration. */
static void put_under(page *p, const char *statement) {
    static const char *const when[] = {"n < 9",      "t < 6",  "t * N + n != 29", "n != 7",
                                       "n < N - 8",  "T < 8",  "N < 9",           "t * N < 40",
                                       "N % 5 != 4", "t != 5", "n + t != 9",      "t * N + n < 31"};
    enum { WHEN = sizeof when / sizeof when[0] };
    if (p->uses++ == p->broken) {
        put(p, "if %s { %s }\n", when[pick(p, WHEN)], statement);
    } else {
        put(p, "%s\n", statement);
    }
}

static void put_head(page *p, const char *target, long long slots) {
    p->used = 0;
    p->uses = 0;
    put(p, "kernel k on %s\nparam T = %lld\nparam N = %lld\n", target, (long long)pick(p, 3) + 1,
        (long long)pick(p, 3) + 2);
    put(p, "tensor x : %s f32 [T * N + 64] (%s) ring %lld\n",
        strcmp(target, "trn2") == 0 ? "sbuf" : "shared",
        strcmp(target, "trn2") == 0 ? "128, 8" : "64", slots);
}

/* Producer and consumer with mbarriers; with or without something once a tile. */
static void make_mbarriers(page *p) {
    const long long slots = (long long)pick(p, 3) + 1;
    const bool tiles = pick(p, 2) == 0;
    const bool guards = pick(p, 3) == 0;
    char line[128];
    put_head(p, "sm_90", slots);
    put(p, "mbarrier full[%lld] count 1\nmbarrier empty[%lld] count 1\n", slots, slots);
    put(p, "mbarrier ready[2] count 1\nmbarrier free[2] count 1\n");
    put(p, "tensor acc : shared f32 [T] (64) ring 2\n");
    put(p, "for s in 0..%lld { init full[s]; init empty[s] }\n", slots);
    put(p, "for s in 0..2 { init ready[s]; init free[s] }\n");
    put(p, "agent a { for t in 0..T {\nfor n in 0..N {\n");
    if (guards) {
        put(p,
            "if t * N + n >= %lld { wait empty[(%s) %% %lld] parity ((t * N + n) / %lld + 1) %% 2 "
            "}\n",
            slots, counter(p), slots, slots);
    } else {
        put(p, "wait empty[(%s) %% %lld] parity ((%s) / %lld + 1) %% 2\n", counter(p), slots,
            counter(p), slots);
    }
    put(p, "simt put writes x[%s]\n", counter(p));
    snprintf(line, sizeof line, "arrive full[(t * N + n) %% %lld]", slots);
    put_under(p, line);
    put(p, "} } }\nagent b { for t in 0..T {\n");
    if (tiles) put(p, "wait free[t %% 2] parity (t / 2 + 1) %% 2\n");
    put(p, "for n in 0..N {\nwait full[(%s) %% %lld] parity (%s) / %lld %% 2\n", counter(p), slots,
        counter(p), slots);
    put(p, "simt get reads x[%s]\n", counter(p));
    snprintf(line, sizeof line, "arrive empty[(t * N + n) %% %lld]", slots);
    put_under(p, line);
    put(p, "}\n");
    if (tiles) put(p, "simt end writes acc[t]\narrive ready[t %% 2]\n");
    put(p, "} }\n");
    if (tiles) {
        put(p, "agent c { for t in 0..T {\nwait ready[t %% 2] parity t / 2 %% 2\n");
        put(p, "simt store reads acc[t]\narrive free[t %% 2]\n} }\n");
    }
}

/* The same with counters that are never taken from. */
static void make_counters(page *p) {
    const long long slots = (long long)pick(p, 3) + 1;
    put_head(p, "sm_90", slots);
    put(p, "counter full\ncounter empty = %lld\n", slots);
    put(p, "agent a { for t in 0..T { for n in 0..N {\nwait empty >= %s + 1\n", counter(p));
    put(p, "simt put writes x[%s]\n", counter(p));
    put_under(p, "signal full");
    put(p, "} } }\nagent b { for t in 0..T { for n in 0..N {\nwait full >= %s + 1\n", counter(p));
    put(p, "simt get reads x[%s]\n", counter(p));
    put_under(p, "signal empty");
    put(p, "} } }\n");
}

/* One program that loads ahead, with something in front of the inner loop and after it. */
static void make_program(page *p) {
    const long long slots = (long long)pick(p, 3) + 1;
    const long long ahead = (long long)pick(p, slots);
    char line[128];
    put_head(p, "trn2", slots);
    for (long long i = 0; i < ahead; i++) put(p, "vector first writes x[%lld]\n", i);
    put(p, "for t in 0..T {\n");
    if (pick(p, 3) == 0) put(p, "vector again updates x[t * N%s]\n", ahead > 0 ? "" : " + 1");
    put(p, "for n in 0..N {\n");
    snprintf(line, sizeof line, "vector load writes x[t * N + n + %lld]", ahead);
    put_under(p, line);
    put(p, "vector use reads x[%s]\n}\n", counter(p));
    if (pick(p, 3) == 0) put(p, "vector last reads x[t * N + N - 1]\n");
    put(p, "}\n");
    if (pick(p, 4) == 0) put(p, "vector end reads x[T * N - 1]\n");
}

/* ---- both ways --------------------------------------------------------------------- */

/* t, n: -1 for the given values. */
static answer ask(const page *p, int64_t t, int64_t n) {
    const spad_define values[] = {{"T", t}, {"N", n}};
    return answer_for(p->text, p->used, values, t < 0 ? 0 : 2, t >= 0);
}

static void fail_with(const page *p, const char *what, int64_t t, int64_t n, const char *reason) {
    print_error("%s, T = %lld, N = %lld (%s):\n%s", what, (long long)t, (long long)n, reason,
                p->text);
    fail();
}

/* The smallest value of a parameter that a claim is about. */
static int64_t from_of(const char *reason, const char *name) {
    char words[32];
    long long from = 0;
    snprintf(words, sizeof words, "%s from ", name);
    const char *found = strstr(reason, words);
    if (found != NULL) from = atoll(found + strlen(words));
    return from;
}

static void look_at_pair(const page *p, const answer *all, int64_t t, int64_t n) {
    if (t < from_of(all->reason, "T") || n < from_of(all->reason, "N")) return;
    const answer one = ask(p, t, n);
    if (one.possible && one.verdict != SPAD_VERDICT_PROVED_SHAPE) {
        fail_with(p, "proved, and wrong", t, n, all->reason);
    }
}

/* All pairs of a square, long and narrow ones, and a few beyond. */
static void look_at_pairs(const page *p, const answer *all) {
    for (int64_t t = 0; t < 7; t++) {
        for (int64_t n = 0; n < 13; n++) look_at_pair(p, all, t, n);
    }
    for (int64_t far = 13; far < 24; far++) {
        for (int64_t near = 1; near < 4; near++) {
            look_at_pair(p, all, far, near);
            look_at_pair(p, all, near, far);
        }
    }
    for (int64_t t = 7; t < 14; t++) look_at_pair(p, all, t, 20 - t);
}

/* The given values of the parameters. */
static int64_t given_of(const page *p, const char *name) {
    char words[32];
    snprintf(words, sizeof words, "param %s = ", name);
    return atoll(strstr(p->text, words) + strlen(words));
}

typedef struct counts {
    int64_t wrong;
    int64_t proved;
    int64_t warned;
    int64_t open;
} counts;

/* Nothing is said about other values: the ones next to the given ones are right. */
static void look_near(const page *p, const answer *all) {
    const int64_t t = given_of(p, "T");
    const int64_t n = given_of(p, "N");
    const int64_t near[][2] = {{t, n + 1}, {t, n + 2}, {t + 1, n}, {t + 2, n}};
    for (size_t i = 0; i < sizeof near / sizeof near[0]; i++) {
        const answer one = ask(p, near[i][0], near[i][1]);
        if (!one.possible || one.verdict != SPAD_VERDICT_WRONG) continue;
        fail_with(p, "wrong, and nothing is said", near[i][0], near[i][1], all->reason);
    }
}

static void look_at(const page *p, counts *c) {
    const answer all = ask(p, -1, -1);
    if (!all.possible) return;
    c->wrong += all.verdict == SPAD_VERDICT_WRONG;
    const bool other = strstr(all.reason, "not with ") != NULL;
    c->warned += all.verdict == SPAD_VERDICT_PROVED_SHAPE && other;
    c->open += all.verdict == SPAD_VERDICT_PROVED_SHAPE && !other;
    if (all.verdict == SPAD_VERDICT_PROVED_SHAPE && !other) look_near(p, &all);
    if (all.verdict != SPAD_VERDICT_PROVED_ALL) return;
    c->proved++;
    look_at_pairs(p, &all);
}

static int64_t kernels = 20;
static uint64_t seed = 5;

static void look_at_many(void (*make)(page *p)) {
    page p = {.random = {.state = seed}};
    counts c = {0};
    for (int64_t i = 0; i < kernels; i++) {
        p.broken = pick(&p, 3) == 0 ? -1 : pick(&p, 6);
        make(&p);
        look_at(&p, &c);
    }
    print_message("%lld kernels: %lld wrong, %lld proved for all T and N, %lld right but not with "
                  "other values, %lld open\n",
                  (long long)kernels, (long long)c.wrong, (long long)c.proved, (long long)c.warned,
                  (long long)c.open);
    assert_true(c.proved * 8 > kernels);
    assert_true(c.warned + c.wrong > 0);
}

static void mbarriers(void **state) {
    (void)state;
    look_at_many(make_mbarriers);
}

static void counters(void **state) {
    (void)state;
    look_at_many(make_counters);
}

static void one_program(void **state) {
    (void)state;
    look_at_many(make_program);
}

int main(int count, char **words) {
    if (count > 1) kernels = atoll(words[1]);
    if (count > 2) seed = (uint64_t)atoll(words[2]);
    const struct CMUnitTest tests[] = {cmocka_unit_test(mbarriers), cmocka_unit_test(counters),
                                       cmocka_unit_test(one_program)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
