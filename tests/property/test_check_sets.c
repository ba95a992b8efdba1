/* SPDX-License-Identifier: Apache-2.0
 *
 * Agents that share nothing are proved set by set: random kernels of two to four teams of agents.
 * A team is one agent with a loop of its own, or a producer and a consumer; some of them have
 * mistakes that show from some iteration on, and some share an object, a tile or a place off the
 * chip with another team. Whatever is proved for all N from K on must be right for each N of a
 * row from there, examined alone.
 *
 *     test_check_sets [KERNELS [SEED]]
 */
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "base/random.h"
#include "support/claims.h"

enum { ROW = 40, TEAMS_MAX = 4 };

static int64_t kernels = 250;
static uint64_t seed = 1;

typedef struct page {
    char text[8192];
    size_t used;
    spad__random random;
    int teams;
} page;

static int64_t pick(page *p, int64_t count) {
    return spad__random_in(&p->random, 0, count - 1);
}

static bool one_in(page *p, int64_t count) {
    return pick(p, count) == 0;
}

static void SPAD_PRINTF(2, 3) put(page *p, const char *format, ...) {
    va_list arguments;
    va_start(arguments, format);
    p->used += (size_t)vsnprintf(p->text + p->used, sizeof p->text - p->used, format, arguments);
    va_end(arguments);
    assert_true(p->used < sizeof p->text);
}

/* The number that a team writes where its own is meant: rarely that of another one. */
static int team(page *p, int own) {
    return one_in(p, 12) ? (int)pick(p, p->teams) : own;
}

/* A condition that is true for small N, or for all. */
static void put_condition(page *p, const char *variable) {
    switch (pick(p, 8)) {
    case 0: put(p, "if %s < %d { ", variable, (int)pick(p, 30)); break;
    case 1: put(p, "if N < %d { ", (int)pick(p, 30)); break;
    default: put(p, "if %s >= 0 { ", variable); break;
    }
}

/* A place off the chip: that of the team, or one that it meets others at. */
static void put_out(page *p, int own, const char *variable) {
    switch (pick(p, 6)) {
    case 0: put(p, "out[%d, %s + %d]", team(p, own), variable, (int)pick(p, 30)); break;
    case 1: put(p, "out[%d, %d]", team(p, own), (int)pick(p, 30)); break;
    case 2: put(p, "flat[%d * %s + %d]", p->teams, variable, team(p, own)); break;
    case 3: put(p, "flat[%s + %d]", variable, 40 * team(p, own)); break;
    default: put(p, "out[%d, %s]", own, variable); break;
    }
}

/* Every few iterations a signal too many: one agent gets further and further ahead of the other. */
static void put_surplus(page *p, const char *counter, int own) {
    if (!one_in(p, 8)) return;
    put(p, "if i %% %d == 0 { signal %s[%d] }\n", 4 + (int)pick(p, 6), counter, team(p, own));
}

/* One agent: a sum over all tiles. */
static void put_alone(page *p, int own) {
    put(p, "agent s%d {\nsimt c writes part[%d]\nfor i in 0..N { ", own, own);
    put_condition(p, "i");
    put(p, "simt m reads a[i] updates part[%d] } }\nsimt s reads part[%d] writes ", team(p, own),
        own);
    put(p, "out[%d, 0]\n}\n", team(p, own));
}

/* A producer and a consumer with a ring and two counters. */
static void put_pair(page *p, int own) {
    put(p, "agent p%d { for i in 0..N {\ntake empty[%d]\nsimt w writes x%d[i]\n", own, own, own);
    if (one_in(p, 4)) {
        put(p, "simt e writes ");
        put_out(p, own, "i");
        put(p, "\n");
    }
    put_surplus(p, "full", own);
    put(p, "signal full[%d]\n} }\nagent c%d { for i in 0..N {\n", team(p, own), own);
    if (!one_in(p, 8)) put(p, "take full[%d]\n", own);
    put_condition(p, "i");
    put(p, "simt r reads x%d[i] writes ", one_in(p, 16) ? (int)pick(p, p->teams) : own);
    put_out(p, own, "i");
    put(p, " }\n");
    put_surplus(p, "empty", own);
    put(p, "signal empty[%d]\n} }\n", own);
}

static void put_kernel(page *p) {
    p->used = 0;
    p->teams = 2 + (int)pick(p, TEAMS_MAX - 1);
    put(p, "kernel k on sm_90\nparam N = %d\n", (int)pick(p, 8));
    put(p, "tensor a : global u8 [N + 1] (64) input\ntensor out : global u8 [%d, N + 40] (64)\n",
        p->teams);
    put(p, "tensor flat : global u8 [4 * N + 200] (64)\ntensor part : shared u8 [%d] (64)\n",
        p->teams);
    put(p, "counter full[%d]\ncounter empty[%d] = %d\n", p->teams, p->teams, 1 + (int)pick(p, 4));
    for (int t = 0; t < p->teams; t++) {
        put(p, "tensor x%d : shared u8 [N + 1] (64) ring %d\n", t, 1 + (int)pick(p, 5));
    }
    for (int t = 0; t < p->teams; t++) {
        if (one_in(p, 3)) {
            put_alone(p, t);
        } else {
            put_pair(p, t);
        }
    }
}

/* The smallest value that a claim is about; -1: it claims nothing. */
static int64_t claimed_from(const answer *a) {
    static const char words[] = "for all N";
    long long from = 0;
    if (a->verdict != SPAD_VERDICT_PROVED_ALL && a->verdict != SPAD_VERDICT_PROVED_SHAPE) return -1;
    if (strncmp(a->reason, words, strlen(words)) != 0) return -1;
    if (sscanf(a->reason + strlen(words), " >= %lld", &from) != 1) from = 0;
    return from;
}

static void claims_of_sets(void **state) {
    (void)state;
    page p = {.random = {seed}};
    int64_t proved = 0;
    int64_t wrong = 0;
    for (int64_t k = 0; k < kernels; k++) {
        put_kernel(&p);
        const answer all = answer_for(p.text, p.used, NULL, 0, false);
        const int64_t from = all.possible ? claimed_from(&all) : -1;
        wrong += all.possible && all.verdict == SPAD_VERDICT_WRONG;
        proved += from >= 0;
        for (int64_t n = from; n >= 0 && n < ROW; n++) {
            const spad_define value = {"N", n};
            const answer one = answer_for(p.text, p.used, &value, 1, true);
            if (!one.possible || one.verdict == SPAD_VERDICT_PROVED_SHAPE) continue;
            print_error("%s%s\nN = %" PRId64 ": %s\n", p.text, all.reason, n, one.reason);
            fail();
        }
    }
    print_message("%" PRId64 " kernels: %" PRId64 " proved for all N, %" PRId64 " wrong\n", kernels,
                  proved, wrong);
    assert_true(proved >= kernels / 20 && wrong >= kernels / 20);
}

int main(int count, char **words) {
    if (count > 1) kernels = atoll(words[1]);
    if (count > 2) seed = (uint64_t)atoll(words[2]);
    const struct CMUnitTest tests[] = {cmocka_unit_test(claims_of_sets)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
