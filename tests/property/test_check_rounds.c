/* SPDX-License-Identifier: Apache-2.0
 *
 * Proofs for all trip counts of kernels in which a loop grows inside of another one that grows, as
 * in causal attention: how many blocks a tile has depends on the tile and on T. What is proved for
 * every T, or for all T from some value on, must be right for each T of a row, run alone. Many
 * kernels have a condition or an index that shows at one block, one tile or one length only, and
 * some of these are mistakes that small T do not have.
 */
#include "support/claims.h"
#include "support/random_page.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "base/random.h"
#include "spad/check.h"

/* ---- agents ---------------------------------------------------------------------------- */

/* Ranges of blocks: those of one row have the same length. */
static const char *const ranges[][3] = {
    {"0..T - t", "t..T", "1..T - t + 1 step -1"},
    {"0..t + 1", "T - t..T + 1", "0..t + 1 step -1"},
    {"0..T - t - 1", "1..T - t step -1", "t + 1..T"},
    {"0..t", "T - t..T step -1", "2..t + 2"},
    {"0..t + 3", "T - t..T + 3", "t..2 * t + 3"},
    {"0..T - t + 2 step -1", "t..T + 2", "0..T - t + 2"},
    {"0..T - 2 * t", "2 * t..T", "0..T - 2 * t step -1"},
    {"0..2 * T - t", "t..2 * T", "T - t..3 * T - 2 * t"},
};
enum { RANGES = sizeof ranges / sizeof ranges[0] };

/* The same lengths. */
static const char *const lengths[RANGES] = {"T - t", "t + 1",     "T - t - 1", "t",
                                            "t + 3", "T - t + 2", "T - 2 * t", "2 * T - t"};

typedef struct scheme {
    int range;
    int begin; /* of the outer loop */
    int slots;
    int before; /* blocks of a tile in front of its loop, and after it */
    int after;
    int several; /* blocks in an iteration */
    bool kept;   /* a tile of the outer loop, too, with its own barriers */
    bool copies; /* a unit fills the slots */
    bool late;   /* the consumer frees a slot one block later, when a unit has read it */
} scheme;

/* A condition that few iterations have, or all after some, or every second. */
static void put_condition(page *p, bool inner) {
    const int number = 1 + pick(p, 16);
    const int other = 1 + pick(p, 30);
    switch (pick(p, inner ? 12 : 4)) {
    case 10: put(p, "if n == %d and t != %d or T == %d ", number, other, other + 3); break;
    case 11: put(p, "if n > %d and t > %d ", number, other); break;
    case 0: put(p, "if t == %d ", number); break;
    case 1: put(p, "if T - t == %d ", number); break;
    case 2: put(p, "if t %% %d == 1 ", 2 + pick(p, 2)); break;
    case 3: put(p, "if t > %d ", number); break;
    case 4: put(p, "if n == %d ", number); break;
    case 5: put(p, "if n + t == %d ", number); break;
    case 6: put(p, "if n == T - t - 1 "); break;
    case 7: put(p, "if n > %d ", number); break;
    case 8: put(p, "if n %% 2 == %d ", pick(p, 2)); break;
    default: put(p, "if T - n == %d ", number); break;
    }
}

/* Something that is out of the ordinary, and wrong more often than not. */
static void put_oddity(page *p, const scheme *s, bool consumer, bool inner) {
    put_condition(p, inner);
    switch (pick(p, 4)) {
    case 0: put(p, "{ simt late reads x[%d] }\n", pick(p, s->slots)); break;
    case 1: put(p, "{ simt late writes x[%d] }\n", pick(p, s->slots)); break;
    case 2: put(p, "{ arrive %s[s] }\n", consumer ? "empty" : "full"); break;
    default: put(p, "{ simt own reads mine_%d writes mine_%d }\n", consumer, consumer); break;
    }
}

/* Reads off the chip, most of them inside. */
static void put_far_read(page *p) {
    static const char *const indices[] = {"g[n]",     "g[n + t]", "g[T - t - 1]",
                                          "g[t]",     "h[n + t]", "h[2 * T - 1 - n]",
                                          "g[T - n]", "h[T - n]", "h[2 * t]"};
    put(p, "simt far reads %s writes mine_0\n", indices[pick(p, 9)]);
}

static void put_block(page *p, const scheme *s, bool consumer, int wrong) {
    for (int i = 0; i < s->several; i++) {
        if (!consumer && s->copies) {
            put(p, "wait empty[s] parity %s\narrive full[s] expect 256\n",
                wrong == 1 ? "f" : "1 - f");
            put(p, "tma put reads k[0] writes x[s] delivers full[s]\n");
        } else if (!consumer) {
            put(p, "wait empty[s] parity %s\nsimt put writes x[s]\nfence\narrive full[s]\n",
                wrong == 1 ? "f" : "1 - f");
        } else if (s->late) {
            put(p, "wait full[s] parity f\ntma get reads x[s] in done\ncommit done\n");
            put(p, "wait done pending %d reads\n", wrong == 3 ? 2 : 1);
            put(p, wrong == 4 ? "if n > 1 " : "if n > 0 ");
            put(p, "{ arrive empty[(s + %d) %% %d] }\n", s->slots - 1, s->slots);
        } else {
            put(p, "wait full[s] parity f\nsimt get reads x[s]\n");
            put(p, wrong == 3 ? "simt put writes x[s]\narrive empty[s]\n" : "arrive empty[s]\n");
        }
        if (wrong == 2 && i == 0) {
            put(p, "advance s by %d\n", s->slots + 1);
        } else {
            put(p, "advance s\n");
        }
    }
}

static void put_role(page *p, const scheme *s, bool consumer) {
    const int wrong = nearly(p, 0, 1 + pick(p, 4), 14);
    const scheme one = {.slots = s->slots, .several = 1, .copies = s->copies};
    const bool late = consumer && s->late;
    const int before = nearly(p, s->before, pick(p, 2), 12);
    const int after = nearly(p, s->after, pick(p, 2), 12);
    put(p, "agent %s {\ncursor s, f mod %d\nsimt first writes mine_%d\n", consumer ? "b" : "a",
        nearly(p, s->slots, s->slots + 1, 16), consumer);
    put(p, "for t in %d..T {\n", s->begin);
    if (s->kept && !consumer) {
        put(p, "wait kept_empty parity (t + %d) %% 2\nsimt put writes kept\narrive kept_full\n",
            nearly(p, 1 + s->begin, s->begin, 16));
    }
    if (s->kept && consumer) put(p, "wait kept_full parity (t + %d) %% 2\n", s->begin);
    for (int i = 0; i < before; i++) put_block(p, &one, consumer, 0);
    const int range = nearly(p, s->range, pick(p, RANGES), 20);
    put(p, "for n in %s {\n", ranges[range][late ? 0 : pick(p, 3)]);
    put_block(p, s, consumer, wrong);
    if (pick(p, 8) == 0) put_oddity(p, s, consumer, true);
    if (!consumer && pick(p, 6) == 0) put_far_read(p);
    if (s->kept && consumer) put(p, "simt use reads kept\n");
    put(p, "}\n");
    if (late) {
        put(p, "wait done pending 0 reads\n");
        put(p, "if %s > 0 ", lengths[range]);
        put(p, "{ arrive empty[(s + %d) %% %d] }\n", s->slots - 1, s->slots);
    }
    if (pick(p, 10) == 0) put_oddity(p, s, consumer, false);
    for (int i = 0; i < after; i++) put_block(p, &one, consumer, 0);
    if (s->kept && consumer) put(p, "arrive kept_empty\n");
    put(p, "}\n}\n");
}

static void make_agents(page *p) {
    const bool late = pick(p, 4) == 0;
    const scheme s = {.range = pick(p, RANGES),
                      .copies = pick(p, 3) == 0,
                      .late = late,
                      .begin = pick(p, 5) == 0 ? 1 : 0,
                      .slots = 1 + pick(p, 3),
                      .before = pick(p, 3) == 0 ? 1 : 0,
                      .after = pick(p, 3) == 0 ? 1 : 0,
                      .several = !late && pick(p, 5) == 0 ? 2 : 1,
                      .kept = pick(p, 3) == 0};
    p->used = 0;
    put(p, "kernel k on sm_90\nparam T = 5\nunit tma on copy free proxy\ngroup done\n");
    put(p, "tensor k : global f32 [1] (64) input\n");
    put(p, "mbarrier full[%d] count 1\nmbarrier empty[%d] count 1\n", s.slots, s.slots);
    put(p, "mbarrier kept_full count 1\nmbarrier kept_empty count 1\n");
    put(p, "tensor x : shared f32 [%d] (64)\ntensor kept : shared f32 (64)\n", s.slots);
    put(p, "tensor mine_0 : shared f32 (64)\ntensor mine_1 : shared f32 (64)\n");
    put(p, "tensor g : global f32 [T] (64) input\ntensor h : global f32 [2 * T] (64) input\n");
    put(p,
        "for i in 0..%d { init full[i]; init empty[i] }\ninit kept_full\ninit kept_empty\nfence\n",
        s.slots);
    put_role(p, &s, false);
    put_role(p, &s, true);
}

/* ---- one program ---------------------------------------------------------------------- */

/* Tiles that are read some iterations after they were written, maybe in another round. */
static void make_program(page *p) {
    const int slots = 2 + pick(p, 3);
    const int row = pick(p, RANGES);
    p->used = 0;
    put(p, "kernel k on trn2\nparam T = 5\ntensor x : sbuf f32 [%d] (128, 8)\n", slots);
    put(p, "tensor y : sbuf f32 (128, 8)\ntensor g : hbm f32 [T] (128, 8) input\n");
    put(p, "tensor h : hbm f32 [2 * T] (128, 8) input\ntensor mine_0 : sbuf f32 (128, 8)\n");
    if (pick(p, 3) != 0) put(p, "for i in 0..%d { vector first writes x[i] }\n", slots);
    put(p, "vector first writes y\n");
    if (pick(p, 2) == 0) put(p, "cursor s, f mod %d\n", slots);
    const bool cursor = strstr(p->text, "cursor") != NULL;
    put(p, "for t in 0..T {\nfor n in %s {\n", ranges[row][pick(p, 3)]);
    put(p, cursor ? "vector w writes x[s]\n" : "vector w writes x[n %% %d]\n", slots);
    if (pick(p, 3) == 0)
        put_condition(p, true);
    else
        put(p, "if n >= %d ", pick(p, slots + 1));
    put(p, "{ vector r reads x[(n + %d) %% %d] writes y }\n", pick(p, slots), slots);
    if (cursor) put(p, "advance s\n");
    put(p, "}\n");
    if (pick(p, 3) == 0) put(p, "vector r reads x[%d]\n", pick(p, slots));
    put(p, "vector r reads y\n}\n");
}

/* ---- both ways --------------------------------------------------------------------- */

static answer ask(const page *p, int64_t t, bool one_shape) {
    const spad_define value = {"T", t};
    return answer_for(p->text, p->used, &value, 1, one_shape);
}

typedef struct counts {
    int64_t proved;
    int64_t wrong;
    int64_t refused;
    int64_t left; /* neither */
} counts;

static int64_t row = 40;

static void look_at(const page *p, counts *c) {
    const answer all = ask(p, 5, false);
    const char *claim = strstr(all.reason, "for all T");
    int64_t from = 0;
    c->refused += !all.possible;
    if (!all.possible) return;
    c->wrong += all.verdict == SPAD_VERDICT_WRONG;
    if (all.verdict == SPAD_VERDICT_WRONG) return;
    c->left += claim == NULL;
    if (claim == NULL) return;
    c->proved++;
    if (strncmp(claim, "for all T >= ", 13) == 0) from = atoll(claim + 13);
    for (int64_t t = from; t < row; t++) {
        const answer one = ask(p, t, true);
        if (one.possible && one.verdict == SPAD_VERDICT_PROVED_SHAPE) continue;
        print_error("%s, and %s with T = %lld:\n%s", all.reason,
                    one.possible ? one.reason : "no kernel", (long long)t, p->text);
        fail();
    }
}

static int64_t kernels = 60;
static uint64_t seed = 5;

static void claims_hold_for_each_shape(void **state) {
    (void)state;
    page p = {.random = {seed}};
    counts c = {0};
    for (int64_t i = 0; i < kernels; i++) {
        if (pick(&p, 5) == 0) {
            make_program(&p);
        } else {
            make_agents(&p);
        }
        look_at(&p, &c);
    }
    print_message("%lld kernels: %lld proved for all T, %lld wrong, %lld refused, %lld without a "
                  "proof\n",
                  (long long)kernels, (long long)c.proved, (long long)c.wrong, (long long)c.refused,
                  (long long)c.left);
    assert_true(c.proved * 5 > kernels);
    assert_true(c.wrong * 10 > kernels && c.left * 20 > kernels);
}

int main(int count, char **words) {
    if (count > 1) kernels = atoll(words[1]);
    if (count > 2) seed = strtoull(words[2], NULL, 10);
    if (count > 3) row = atoll(words[3]);
    const struct CMUnitTest tests[] = {cmocka_unit_test(claims_hold_for_each_shape)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
