/* SPDX-License-Identifier: Apache-2.0
 *
 * Threads that access one another's bytes (`spread`), against two agents. A random program of two
 * threads is written twice: as one list of statements whose accesses state which thread makes
 * them, and as two agents that run the same statements, each with its part of every tile. The
 * check of the first must find an error iff that of the second does, for each number of
 * iterations, and what is proved for all N must be right for the agents. Some programs have a
 * tile in tensor memory, of whose lanes each thread has a half, or an mbarrier in the bytes of a
 * tile, which one thread initialises and invalidates.
 */
#include "support/claims.h"
#include "support/random_page.h"

#include <stdlib.h>
#include <string.h>

enum { STATEMENTS = 12, ROUNDS = 5 };

typedef enum kind { ACCESS, COPY, WAIT, SYNC, FILL, PASS, LIFE } kind;

/* Which half of a tile each thread has: p and q are divisions. */
typedef enum spread { P, Q, ONE, ALL, LANES } spread;

typedef struct step {
    kind kind;
    spread spread;
    bool writes;
    int tile;      /* of `tiles` */
    int pending;   /* LIFE: in bits, whether the threads meet before it, and after it */
    int condition; /* 0: none */
} step;

typedef struct program {
    step steps[3][STATEMENTS]; /* before the loop, in it, after it */
    int counts[3];
    bool lanes; /* has tiles in tensor memory */
    bool held;  /* has an mbarrier at the start of y */
} program;

enum { Y = 2, TILES = 3, ALL_TILES = 5 }; /* from TILES on they are in tensor memory */

static const char *const tiles[3][ALL_TILES] = {{"x[0]", "x[1]", "y", "t", "t"},
                                                {"x[i % 2]", "x[(i + 1) % 2]", "y", "t", "t"},
                                                {"x[0]", "x[1]", "y", "t", "t"}};
static const char *const conditions[] = {"", "if i % 2 == 0 { ", "if i > 1 { ", "if i < N - 1 { "};

static void make_steps(page *p, program *m, int part, bool fills) {
    m->counts[part] = part == 1 ? 3 + pick(p, STATEMENTS - 4) : pick(p, 4);
    for (int i = 0; i < m->counts[part]; i++) {
        static const kind often[] = {ACCESS, ACCESS, ACCESS, COPY, WAIT, SYNC, SYNC, SYNC};
        step *s = &m->steps[part][i];
        *s = (step){.kind = often[pick(p, 8)],
                    .writes = pick(p, 3) == 0,
                    .tile = pick(p, 3),
                    .pending = pick(p, 3) == 0 ? 1 : 0};
        s->spread = (spread)pick(p, 4);
        if (s->kind == COPY) s->writes = true;
        if (m->lanes && s->kind == ACCESS && pick(p, 2) == 0) s->tile = TILES + pick(p, 2);
        if (m->held && pick(p, 5) == 0)
            *s = (step){.kind = LIFE, .pending = pick(p, 4) | pick(p, 4)};
        if (s->tile >= TILES && s->spread < ONE) s->spread = LANES;
        if (s->writes && s->spread == ALL) { /* both would write the same bytes */
            s->spread = s->tile >= TILES ? LANES : P;
        }
        /* which thread has the bytes of the mbarrier is known of these */
        if (m->held && s->tile == Y) s->spread = s->writes || s->spread == ONE ? ONE : ALL;
        if (part == 1 && s->kind != COPY) s->condition = pick(p, 5) == 0 ? 1 + pick(p, 3) : 0;
    }
    if (m->held) return;
    if (fills && pick(p, 2) == 0) {
        m->steps[part][m->counts[part]++] = (step){.kind = PASS,
                                                   .spread = (spread)pick(p, 3),
                                                   .tile = pick(p, 3),
                                                   .writes = pick(p, 2) == 0};
    } else if (fills) {
        m->steps[part][m->counts[part]++] = (step){.kind = FILL, .spread = ONE, .tile = pick(p, 3)};
    }
}

/* The part of thread 0 or 1 in an access; thread -1: as a spread. */
static void put_part(page *p, const step *s, int part, int thread) {
    static const char *const words[] = {"p", "q", "one", "all", "lanes"};
    put(p, "%s", tiles[part][s->tile]);
    if (s->tile >= TILES) { /* all columns, or some of them */
        const bool half = s->spread == LANES && thread >= 0;
        put(p, "(%d..%d, 0..%d)", half ? 64 * thread : 0, half ? 64 * thread + 64 : 128,
            s->tile == TILES ? 8 : 4);
    }
    if (thread < 0) {
        put(p, " spread %s", words[s->spread]);
    } else if (s->spread == P || s->spread == Q) {
        const int half = (thread + (s->spread == Q ? 1 : 0)) % 2;
        put(p, "(%d, ..)", half);
    }
}

static void put_step(page *p, const step *s, int part, int thread) {
    const bool runs = thread < 1 || s->spread != ONE; /* it has something to do */
    put(p, "%s", conditions[s->condition]);
    switch (s->kind) {
    case ACCESS:
        if (!runs) break;
        put(p, "simt op %s ", s->writes ? "writes" : "reads");
        put_part(p, s, part, thread);
        break;
    case COPY:
        if (runs) {
            put(p, "cp load reads in writes ");
            put_part(p, s, part, thread);
            put(p, " in g; ");
        }
        put(p, "commit g");
        break;
    case WAIT: put(p, "wait g pending %d", s->pending); break;
    case SYNC: put(p, "sync b"); break;
    case LIFE: /* the bytes are written again: what was there is gone */
        if ((s->pending & 1) != 0) put(p, "sync b; ");
        if (thread < 1) put(p, "init held; invalidate held; ");
        if ((s->pending & 2) != 0) put(p, "sync b; ");
        if (thread < 1) put(p, "simt again writes y%s", thread < 0 ? " spread one" : "");
        break;
    case PASS: /* both arrive when their copies are done, and wait for that */
        if (runs) {
            put(p, "cp load reads in writes ");
            put_part(p, s, part, thread);
            put(p, s->writes ? "; " : " in g; ");
        }
        put(p, "commit g; arrive done on cp; wait done parity i %% 2");
        break;
    default: /* one thread copies, and both wait for the bytes */
        put(p, "sync b; ");
        if (runs) {
            put(p, "arrive full expect 512; tma load reads in writes ");
            put_part(p, s, part, thread);
            put(p, " delivers full; ");
        }
        put(p, "wait full parity i %% 2");
        break;
    }
    put(p, s->condition != 0 ? " }\n" : "\n");
}

static void put_steps(page *p, const program *m, int thread) {
    for (int part = 0; part < 3; part++) {
        if (part == 1) put(p, "for i in 0..N {\n");
        for (int i = 0; i < m->counts[part]; i++) put_step(p, &m->steps[part][i], part, thread);
        if (part == 1) put(p, "}\n");
    }
    put(p, "wait g pending 0\n");
}

static void put_program(page *p, const program *m, bool agents) {
    p->used = 0;
    put(p,
        "kernel k on sm_100\nparam N = 3\nunit cp on copy free\nunit tma on copy free\ngroup g\n");
    put(p, "barrier b count %d\nmbarrier full count 1\nmbarrier done count %d\n", agents ? 2 : 1,
        agents ? 2 : 1);
    put(p, "tensor in : global f32 (2, 64) input\n");
    put(p, "tensor x : shared f32 [2] (2, 64) input at 4096\n");
    put(p, "tensor y : shared f32 (2, 64) input at 8192\n");
    if (m->lanes) put(p, "tensor t : tmem f32 (128, 8) input\n");
    if (m->held) put(p, "mbarrier held count 1 at 8192\n");
    put(p, "init full\ninit done\n");
    if (!agents) {
        put(p, "sync b\n");
        put_steps(p, m, -1);
        return;
    }
    for (int thread = 0; thread < 2; thread++) {
        put(p, "agent t%d {\nsync b\n", thread);
        put_steps(p, m, thread);
        put(p, "}\n");
    }
}

static answer ask(const page *p, int64_t n, bool one_shape) {
    const spad_define value = {"N", n};
    return answer_for(p->text, p->used, &value, 1, one_shape);
}

static int64_t kernels = 100;
static uint64_t seed = 11;

static void compare(const page *one, const page *two, int64_t n, int64_t *wrong) {
    const answer a = ask(one, n, true), b = ask(two, n, true);
    if (!a.possible || !b.possible) print_error("%s\n%s\n%s\n", a.reason, one->text, b.reason);
    assert_true(a.possible && b.possible);
    const bool first = a.verdict == SPAD_VERDICT_WRONG, second = b.verdict == SPAD_VERDICT_WRONG;
    if (first != second)
        print_error("N = %lld: %s\n%s%s\n%s", (long long)n, a.reason, one->text, b.reason,
                    two->text);
    assert_int_equal(first, second);
    *wrong += first;
}

static void threads_are_like_agents(void **state) {
    (void)state;
    page one = {.random = {seed}}, two = {.random = {seed}};
    int64_t wrong = 0, proved = 0;
    for (int64_t k = 0; k < kernels; k++) {
        program m = {.lanes = pick(&one, 3) == 0, .held = pick(&one, 4) == 0};
        for (int part = 0; part < 3; part++) {
            make_steps(&one, &m, part, part == 1 && pick(&one, 3) == 0);
        }
        put_program(&one, &m, false);
        put_program(&two, &m, true);
        for (int64_t n = 0; n < ROUNDS; n++) compare(&one, &two, n, &wrong);
        const answer all = ask(&one, 3, false);
        if (all.verdict != SPAD_VERDICT_PROVED_ALL) continue;
        proved++;
        for (int64_t n = 0; n < ROUNDS + 4; n++) {
            const bool right = ask(&two, n, true).verdict != SPAD_VERDICT_WRONG;
            if (!right) print_error("%s, and N = %lld:\n%s", all.reason, (long long)n, two.text);
            assert_true(right);
        }
    }
    print_message("%lld programs: %lld of %lld shapes wrong, %lld proved for all N\n",
                  (long long)kernels, (long long)wrong, (long long)kernels * ROUNDS,
                  (long long)proved);
    assert_true(wrong * 5 > kernels * ROUNDS && wrong * 5 < 4 * kernels * ROUNDS);
    assert_true(proved * 20 > kernels);
}

int main(int count, char **words) {
    if (count > 1) kernels = atoll(words[1]);
    if (count > 2) seed = strtoull(words[2], NULL, 10);
    const struct CMUnitTest tests[] = {cmocka_unit_test(threads_are_like_agents)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
