/* SPDX-License-Identifier: Apache-2.0
 *
 * Proofs for all trip counts of kernels whose cursors advance unevenly: bounds that change from
 * tile to tile, tiles that are left out, loops that end with a break, and a stage more or less
 * after a tile. What is proved for all N, or for all N from some value on, must be right for
 * each N of a row, run alone. Most kernels are right; some have a small mistake, and some of those
 * are right at small N only.
 */
#include "support/claims.h"
#include "support/random_page.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "base/random.h"
#include "spad/check.h"

enum { ROW = 30 };

/* What all agents have in common. */
typedef struct scheme {
    int tiles;  /* how the loops around the blocks are made */
    int number; /* in them */
    int slots;
    int extra;   /* stages that are passed over after a tile; 0: none */
    int several; /* blocks in an iteration */
    bool late;   /* the growing loop begins with one block in front of it */
    int range;   /* of the growing loop */
    bool ends_first;
    int ends; /* how the growing loop is left early; 0: not */
} scheme;

/* Opens the loops around the blocks of a tile; returns how many braces close them. */
static int open_tiles(page *p, const scheme *s) {
    switch (s->tiles) {
    case 0: put(p, "for t in 0..3 {\nfor j in 0..t + 1 {\n"); return 2;
    case 1: put(p, "for t in 0..4 {\nif t %% 3 != %d {\n", s->number % 3); return 2;
    case 2: put(p, "for t in 0..5 {\n"); return 1;
    case 3: put(p, "for t in 0..3 {\nfor j in 0..rows[t] {\n"); return 2;
    case 4: put(p, "for t in 0..3 {\nfor j in t..3 step 2 {\n"); return 2;
    default: put(p, "for t in 0..3 {\n"); return 1;
    }
}

static void close_tiles(page *p, const scheme *s, int braces) {
    if (s->tiles == 2) put(p, "if t == %d { break }\n", s->number);
    for (int i = 0; i < braces; i++) put(p, "}\n");
}

static void put_pass(page *p, const scheme *s) {
    for (int i = 0; i < s->extra; i++) {
        put(p, "wait full[s] parity f\narrive empty[s]\nadvance s\n");
    }
}

/* A block of the producer, or of the consumer. */
static void put_block(page *p, const scheme *s, bool consumer, int wrong) {
    for (int i = 0; i < s->several; i++) {
        if (!consumer) {
            put(p, "wait empty[s] parity %s\nsimt put writes x[s]\narrive full[s]\n",
                wrong == 1 ? "f" : "1 - f");
        } else {
            put(p, "wait full[s] parity f\nsimt get reads x[s]\narrive empty[s]\n");
        }
        if (wrong == 2 && i == 0) {
            put(p, "advance s by %d\n", s->slots + 1);
        } else {
            put(p, "advance s\n");
        }
    }
}

/* A break of the growing loop, after a block or in front of it: in one iteration, in one that
 * depends on the tile, in those from some N on, or never. */
static void put_break(page *p, const scheme *s) {
    const int number = nearly(p, 2 + s->number, 3 + s->number, 16);
    switch (s->ends) {
    case 1: put(p, "if n == %d { break }\n", number); break;
    case 2: put(p, "if n + t == %d { break }\n", number); break;
    case 3: put(p, "if n == N - %d { break }\n", number); break;
    case 4: put(p, "if n >= %d { break }\n", 4 * number); break;
    case 5: put(p, "if N < 0 { break }\n"); break;
    default: break;
    }
}

static void put_role(page *p, const scheme *s, bool consumer) {
    const int wrong = nearly(p, 0, 1 + pick(p, 2), 12);
    const int tail = nearly(p, s->extra, pick(p, 2), 8);
    put(p, "agent %s {\ncursor s, f mod %d\n", consumer ? "b" : "a",
        nearly(p, s->slots, s->slots + 1, 16));
    const int braces = open_tiles(p, s);
    if (s->late) put_block(p, s, consumer, 0);
    static const char *const ranges[] = {"0..N",     "0..N + t", "t..N",           "0..N - t",
                                         "0..2 * N", "1..N",     "t..N + t step 2"};
    put(p, "for n in %s %s{\n", ranges[s->range],
        pick(p, 6) == 0 && s->range < 6 ? "step -1 " : "");
    if (s->ends_first) put_break(p, s);
    put_block(p, s, consumer, wrong);
    if (!s->ends_first) put_break(p, s);
    if (pick(p, 8) == 0) { /* shows at larger N only, or not at all */
        put(p, "if n == %d { simt late %s x[%d] }\n", 3 + pick(p, 8),
            pick(p, 2) == 0 ? "reads" : "writes", pick(p, s->slots));
    }
    put(p, "}\n");
    const scheme own = {.extra = tail, .slots = s->slots, .several = 1};
    if (consumer) put_pass(p, &own);
    for (int i = 0; !consumer && i < s->extra; i++) put_block(p, &own, false, 0);
    close_tiles(p, s, braces);
    put(p, "}\n");
}

static void make_kernel(page *p) {
    scheme s = {.tiles = pick(p, 6),
                .number = pick(p, 4),
                .slots = 1 + pick(p, 3),
                .extra = pick(p, 3) == 0 ? 1 : 0,
                .several = pick(p, 4) == 0 ? 2 : 1,
                .late = pick(p, 4) == 0,
                .range = pick(p, 2) == 0 ? 0 : pick(p, 7),
                .ends = pick(p, 3) == 0 ? 1 + pick(p, 5) : 0,
                .ends_first = pick(p, 2) == 0};
    p->used = 0;
    put(p, "kernel k on sm_90\nparam N = 3\n");
    if (s.tiles == 3) put(p, "unknown rows[3] in 0..3 = [1, 2, 0]\n");
    put(p, "mbarrier full[%d] count 1\nmbarrier empty[%d] count 1\n", s.slots, s.slots);
    put(p, "tensor x : shared f32 [%d] (64)\n", s.slots);
    put(p, "for i in 0..%d { init full[i]; init empty[i] }\n", s.slots);
    put_role(p, &s, false);
    put_role(p, &s, true);
}

/* ---- both ways --------------------------------------------------------------------- */

static answer ask(const page *p, int64_t n, bool one_shape) {
    const spad_define value = {"N", n};
    const answer a = answer_for(p->text, p->used, &value, 1, one_shape);
    if (!a.possible && n == 3) print_message("%s\n%s\n", a.reason, p->text);
    return a;
}

typedef struct counts {
    int64_t proved; /* for all N */
    int64_t from;   /* for all N from some value on, and smaller ones are wrong */
    int64_t wrong;
    int64_t left; /* neither */
} counts;

static void look_at(const page *p, counts *c) {
    const answer all = ask(p, 3, false);
    assert_true(all.possible);
    const char *claim = strstr(all.reason, "for all N");
    int64_t from = 0;
    if (all.verdict == SPAD_VERDICT_WRONG) {
        c->wrong++;
        return;
    }
    const bool given_only =
        strstr(all.reason, "; with rows = ") != NULL; /* others have their own */
    if (claim == NULL || all.verdict == SPAD_VERDICT_UNKNOWN || given_only) {
        c->left++;
        return;
    }
    c->proved += all.verdict == SPAD_VERDICT_PROVED_ALL;
    c->from += all.verdict != SPAD_VERDICT_PROVED_ALL;
    if (strncmp(claim, "for all N >= ", 13) == 0) from = atoll(claim + 13);
    for (int64_t n = from; n < ROW; n++) {
        const answer one = ask(p, n, true);
        if (!one.possible || one.verdict != SPAD_VERDICT_WRONG) continue;
        print_error("%s, and wrong with N = %lld:\n%s", all.reason, (long long)n, p->text);
        fail();
    }
}

static int64_t kernels = 120;
static uint64_t seed = 23;

static void claims_hold_for_each_shape(void **state) {
    (void)state;
    page p = {.random = {seed}};
    counts c = {0};
    for (int64_t i = 0; i < kernels; i++) {
        make_kernel(&p);
        look_at(&p, &c);
    }
    print_message("%lld kernels: %lld proved for all N, %lld from some N on, %lld wrong, %lld "
                  "without a proof\n",
                  (long long)kernels, (long long)c.proved, (long long)c.from, (long long)c.wrong,
                  (long long)c.left);
    assert_true(c.proved * 3 > kernels);
    assert_true(c.wrong * 10 > kernels && c.left * 20 > kernels);
}

int main(int count, char **words) {
    if (count > 1) kernels = atoll(words[1]);
    if (count > 2) seed = strtoull(words[2], NULL, 10);
    const struct CMUnitTest tests[] = {cmocka_unit_test(claims_hold_for_each_shape)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
