/* SPDX-License-Identifier: Apache-2.0
 * Proofs for all trip counts against every trip count: random kernels with a parameter N.
 * What is proved for all N must be right for all N of a long row, each examined alone; and
 * a large N must get the verdict of the shape itself, although only a small one is run. So it is
 * with what is missing of outputs. The same with two parameters: every pair is examined; and with
 * rings that return to the same state together only after very many iterations.
 *
 *   test_check_trips [KERNELS [SEED]] */
#include "support/support.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "base/random.h"
#include "spad/check.h"

/* A large shape has more events than are examined where all shapes are asked for: it must be
 * judged by small ones, which have fewer. */
enum { ROW = 26, LARGE = 193, EVENTS = 600, PAIRS = 12 };

/* The same for long rings. */
enum { LONG_ROW = 90, LONG_LARGE = 2003, LONG_EVENTS = 5000 };

/* ---- random kernels ---------------------------------------------------------------- */

typedef struct page {
    char text[8192];
    size_t used;
    spad__random random;
    bool long_rings; /* 5 to 13 slots, so that all come round after up to 45045 iterations */
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

static const char *const names[] = {"x", "y", "z"};

static void put_tensor(page *p, const char *name) {
    put(p, "tensor %s : sbuf bf16 [N + 4] (128, 8) ", name);
    if (p->long_rings) {
        static const int depths[] = {5, 7, 9, 11, 13, 2};
        put(p, "%s %d\n", pick(p, 5) == 0 ? "mod base 0 free" : "ring", depths[pick(p, 6)]);
        return;
    }
    switch (pick(p, 4)) {
    case 0:
        put(p, "mod base %lld free %lld\n", (long long)pick(p, 4) * 16, (long long)pick(p, 3) + 1);
        break;
    default: put(p, "ring %lld\n", (long long)pick(p, 4) + 1); break;
    }
}

/* An index inside the loop, or outside of it. */
static void put_tile(page *p, bool inside) {
    const char *name = names[pick(p, 3)];
    if (pick(p, 8) == 0) {
        put(p, "c[%lld]", (long long)pick(p, 2));
    } else if (inside) {
        put(p, "%s[%s + %lld]", name, pick(p, 10) == 0 ? "i / 2" : "i", (long long)pick(p, 3));
    } else if (pick(p, 2) == 0) {
        put(p, "%s[%lld]", name, (long long)pick(p, 3));
    } else {
        put(p, "%s[N + %lld]", name, (long long)pick(p, 3));
    }
}

static void put_operation(page *p, bool inside) {
    static const char *const kinds[] = {"writes", "reads", "updates"};
    const int64_t kind = pick(p, 5);
    put(p, "vector op %s ", kinds[kind < 2 ? 0 : kind < 4 ? 1 : 2]);
    put_tile(p, inside);
    put(p, "\n");
}

static void put_guarded(page *p) {
    const long long n = (long long)pick(p, 3);
    switch (pick(p, 12)) {
    case 10:
        put(p, "if i < %lld and i != %lld or N < %lld {\n", (long long)pick(p, 30),
            (long long)pick(p, 30), (long long)pick(p, 30));
        break;
    case 11:
        put(p, "if N != %lld and i < %lld {\n", (long long)pick(p, 30), (long long)pick(p, 30));
        break;
    case 0: put(p, "if i == %lld {\n", n); break;
    case 1: put(p, "if i > %lld {\n", n); break;
    case 2: put(p, "if i < N - %lld {\n", n); break;
    case 3: put(p, "if i == N - %lld {\n", n + 1); break;
    case 4: put(p, "if i %% 2 == %lld {\n", n % 2); break;
    case 5: put(p, "if i == %lld or i == N - 1 {\n", n); break;
    case 6: put(p, "if i < %lld or i > N - 3 and i %% 2 == 0 {\n", n); break;
    default: put_operation(p, true); return;
    }
    put_operation(p, true);
    put(p, "}\n");
}

/* The usual pipeline, so that many kernels are right: load ahead, use, maybe too late. */
static void put_pipeline(page *p) {
    const char *name = names[pick(p, 3)];
    const long long ahead = (long long)pick(p, 3);
    put(p, "vector load writes %s[i + %lld]\n", name, ahead);
    if (pick(p, 3) == 0) put_guarded(p);
    const long long used = (long long)pick(p, 2);
    if (ahead > used) {
        put(p, "if i > %lld { vector use reads %s[i + %lld] }\n", ahead - used - 1, name, used);
    } else {
        put(p, "vector use reads %s[i + %lld]\n", name, ahead);
    }
}

/* All of an output, or nearly. */
static void put_outputs(page *p, bool twice, long long more) {
    static const char *const parts[] = {"", "(0..64, ..)", "(64..128, ..)", "(.., 2..8)"};
    const char *index = twice ? "2 * i" : "i";
    const long long ahead = pick(p, 2) == 0 ? 0 : (long long)pick(p, more + 1);
    for (int64_t i = twice + (pick(p, 3) == 0); i >= 0; i--) {
        const long long n = (long long)pick(p, 4);
        const bool guarded = pick(p, 4) == 0;
        if (guarded) put(p, pick(p, 2) == 0 ? "if i >= %lld { " : "if i < %lld { ", n);
        put(p, "dma put writes out[%s + %lld]%s", index,
            pick(p, 8) == 0 ? ahead
            : twice         ? i % 2
                            : 0,
            parts[pick(p, 3) == 0 ? pick(p, 4) : 0]);
        put(p, guarded ? " }\n" : "\n");
    }
}

static void make_kernel(page *p) {
    p->used = 0;
    put(p, "kernel k on trn2\nparam N = 3\n");
    for (int i = 0; i < 3; i++) put_tensor(p, names[i]);
    const long long more = (long long)pick(p, 4);
    const bool twice = pick(p, 4) == 0;
    put(p, "tensor out : hbm u8 [%sN + %lld] (128, 8) output\n", twice ? "2 * " : "", more);
    put(p, "tensor c : sbuf bf16 [2] (128, 8)\n");
    if (pick(p, 8) > 0) put(p, "vector first writes c[0]\nvector first writes c[1]\n");
    if (pick(p, 4) == 0) put_operation(p, false);
    const bool outer = pick(p, p->long_rings ? 16 : 4) == 0;
    if (outer) put(p, "for o in 0..2 {\n");
    if (outer && pick(p, 2) == 0) put_operation(p, false);
    static const char *const ranges[] = {"0..N / 2", "0..N step 2", "0..N step -1", "0..N + o",
                                         "o..N",     "0..N - o",    "o..N step 2",  "o..N step -1"};
    const int64_t range = pick(p, 30);
    put(p, "for i in %s {\n", range < (outer ? 8 : 3) ? ranges[range] : "0..N");
    for (int64_t i = pick(p, 2) + 1; i > 0; i--) put_pipeline(p);
    if (pick(p, 3) == 0) put_guarded(p);
    put_outputs(p, twice, more);
    put(p, "}\n");
    if (outer) put(p, "}\n");
    if (pick(p, 4) == 0) put_operation(p, false);
    if (more > 0 && pick(p, 2) == 0) {
        for (int64_t i = pick(p, more) + 1; i > 0; i--) {
            put(p, "dma end writes out[%s%lld]\n",
                pick(p, 3) == 0 ? ""
                : twice         ? "2 * N + "
                                : "N + ",
                (long long)more - i);
        }
    }
}

/* ---- agents: pipelines that are right, or nearly ----------------------------------- */

/* `usual`, or now and then something else. */
static long long nearly(page *p, int64_t usual, int64_t other) {
    return (long long)(pick(p, 6) == 0 ? other : usual);
}

static void put_two_lines(page *p, const char *first, const char *second) {
    const bool swapped = pick(p, 10) == 0;
    put(p, "%s\n%s\n", swapped ? second : first, swapped ? first : second);
}

/* Producer and consumer with counters. */
static void make_counters(page *p) {
    const int64_t slots = pick(p, 3) + 1;
    const bool takes = pick(p, 2) == 0;
    put(p, "counter full\ncounter empty = %lld\n", nearly(p, slots, slots + 1));
    put(p, "tensor x : shared f32 [N + 4] (64) ring %lld\n", (long long)slots);
    put(p, "agent a {\nfor i in 0..N {\ntake empty\n");
    put_two_lines(p, "simt put writes x[i]", "signal full");
    put(p, "}\n}\nagent b {\nfor i in 0..N {\n");
    if (takes) {
        put(p, "take full\n");
    } else {
        put(p, "wait full >= i + %lld\n", nearly(p, 1, pick(p, 3)));
    }
    put_two_lines(p, "simt get reads x[i]", "signal empty");
    put(p, "}\n}\n");
}

/* The same with mbarriers and asynchronous copies. */
static void make_mbarriers(page *p) {
    const long long slots = (long long)pick(p, 3) + 1;
    put(p, "unit tma on copy free\nmbarrier full[%lld] count 1\nmbarrier empty[%lld] count 1\n",
        slots, slots);
    put(p, "tensor g : global f32 [N + 4] (64) input\n");
    put(p, "tensor x : shared f32 [N + 4] (64) ring %lld\n", nearly(p, slots, slots + 1));
    put(p, "for s in 0..%lld {\ninit full[s]\ninit empty[s]\n}\n", slots);
    put(p, "agent a {\nfor i in 0..N {\nwait empty[i %% %lld] parity (i / %lld + %lld) %% 2\n",
        slots, slots, nearly(p, 1, 0));
    put(p, "arrive full[i %% %lld] expect %lld\n", slots, nearly(p, 256, 128));
    put(p, "tma load reads g[i] writes x[i] delivers full[i %% %lld]\n}\n}\n", slots);
    put(p, "agent b {\nfor i in 0..N {\nwait full[i %% %lld] parity (i / %lld + %lld) %% 2\n",
        slots, slots, nearly(p, 0, 1));
    if (pick(p, 3) == 0) {
        put(p, "simt get reads x[i]\nif i > 0 { arrive empty[(i - 1) %% %lld] }\n", slots);
        put(p, "}\nif N > 0 { arrive empty[(N + %lld) %% %lld] }\n}\n", slots - 1, slots);
    } else {
        put(p, "simt get reads x[i]\narrive empty[i %% %lld]\n}\n}\n", slots);
    }
}

/* Commit groups, one agent or two after a barrier. */
static void make_groups(page *p) {
    const int64_t slots = pick(p, 3) + 2;
    const bool two = pick(p, 2) == 0;
    put(p, "unit cp on copy free\ngroup loads\nbarrier cta count %d\n", two ? 2 : 1);
    put(p, "tensor g : global f32 [N + 4] (64) input\n");
    put(p, "tensor x : shared f32 [N + 4] (64) ring %lld\n", (long long)slots);
    const long long pending = nearly(p, slots - 2, pick(p, 3));
    for (int agent = 0; agent < (two ? 2 : 1); agent++) {
        const char *part = !two ? "(..)" : agent == 0 ? "(0..32)" : "(32..64)";
        put(p, "agent a%d {\nfor s in 0..%lld {\n", agent, (long long)slots - 1);
        put(p, "if s < N { cp load reads g[s]%s writes x[s]%s in loads }\ncommit loads\n}\n", part,
            part);
        put(p, "wait loads pending %lld\nsync cta\n", pending);
        put(p,
            "for i in 0..N {\nif i + %lld < N { cp load reads g[i + %lld]%s writes x[i + %lld]%s "
            "in loads }\n",
            (long long)slots - 1, (long long)slots - 1, part, (long long)slots - 1, part);
        put(p, "commit loads\nsimt get reads x[i]\nwait loads pending %lld\n", pending);
        put(p, "sync cta\n}\n}\n");
    }
}

static void make_agents(page *p) {
    p->used = 0;
    put(p, "kernel k on sm_90\nparam N = 3\n");
    switch (pick(p, 3)) {
    case 0: make_counters(p); break;
    case 1: make_mbarriers(p); break;
    default: make_groups(p); break;
    }
}

/* ---- tensors off the chip: indices that may leave them at some N --------------------- */

/* What is about as large as i, or as N. */
static void put_amount(page *p, const char *name, int64_t depth) {
    const long long n = (long long)pick(p, 5) + 1;
    const char *plus = pick(p, 4) == 0 ? "-" : "+";
    switch (pick(p, depth > 0 ? 9 : 3)) {
    case 0: put(p, "%s", name); break;
    case 1: put(p, "(%s %s %lld)", name, plus, n); break;
    case 2: put(p, "%lld", (long long)pick(p, 12)); break;
    case 3: put(p, "%s / %lld", name, n); break;
    case 4: put(p, "(%s + %lld) / %lld", name, n - 1, n); break;
    case 5: put(p, "%s %% %lld", name, 2 * n); break;
    case 6:
    case 7:
        put(p, pick(p, 2) == 0 ? "min(" : "max(");
        put_amount(p, name, depth - 1);
        put(p, ", ");
        put_amount(p, name, depth - 1);
        put(p, ")");
        break;
    default:
        put_amount(p, name, depth - 1);
        put(p, " + ");
        put_amount(p, name, depth - 1);
        break;
    }
}

static void make_tables(page *p) {
    static const char *const ends[] = {"N", "N", "N / 2", "2 * N", "N + 3", "40 - N"};
    const int64_t tables = pick(p, 2) + 1;
    p->used = 0;
    put(p, "kernel k on trn2\nparam N = 3\ntensor x : sbuf u8 [N + 1] (128, 8) ring 2\n");
    for (int64_t i = 0; i < tables; i++) {
        put(p, "tensor g%lld : hbm u8 [", (long long)i);
        put_amount(p, "N", pick(p, 3));
        put(p, " + %lld] (128, 8) input\n", (long long)pick(p, 60));
    }
    put(p, "for i in 0..%s {\n", ends[pick(p, 6)]);
    for (int64_t i = 0; i < tables; i++) {
        put(p, "dma l reads g%lld[", (long long)i);
        put_amount(p, pick(p, 8) == 0 ? "N" : "i", pick(p, 3));
        put(p, "]\n");
    }
    put(p, "}\n");
}

/* ---- two trip counts --------------------------------------------------------------- */

enum { TILES = 11 }; /* of what is written once */

/* What is used once, at a place that depends on both. */
static void put_between(page *p) {
    static const char *const places[] = {"N + M",         "N * M",       "N * M + N",
                                         "N * M + M",     "N * (M % 3)", "M * (N % 2) + N",
                                         "N / 2 + M / 2", "N - M + 6"};
    static const int rests[] = {2, 3, 5, TILES};
    put(p, "vector op reads c[(%s + %lld) %% %d]\n", places[pick(p, 8)], (long long)pick(p, 4),
        rests[pick(p, 2) == 0 ? 3 : pick(p, 4)]);
}

static void put_loop_body(page *p, const char *name, const char *index, const char *other) {
    put(p, "vector load writes %s[%s]\n", name, index);
    if (pick(p, 10) == 0) put(p, "if %s < %s { vector op reads c[0] }\n", index, other);
    if (pick(p, 4) == 0) put(p, "if %s %% 2 == %s %% 2 { vector op reads c[1] }\n", index, other);
    if (pick(p, 6) == 0) {
        put(p, "if %s %s %lld %s %s %s %lld { vector op reads c[%lld] }\n",
            pick(p, 2) == 0 ? index : "N", pick(p, 2) == 0 ? "<" : ">", (long long)pick(p, 30) + 1,
            pick(p, 2) == 0 ? "or" : "and", pick(p, 2) == 0 ? other : "M",
            pick(p, 2) == 0 ? "<" : ">", (long long)pick(p, 30) + 1, (long long)pick(p, TILES));
    }
    put(p, "vector use reads %s[%s%s]\n", name, index, pick(p, 12) == 0 ? " + 1" : "");
}

/* One loop in the other. */
static void put_nested(page *p) {
    const long long more = pick(p, 3) == 0;
    put(p, "tensor out : hbm u8 [M, N + %lld] (128, 8) output\nfor j in 0..M {\n", more);
    if (pick(p, 2) == 0) put_loop_body(p, "y", "j", "N");
    put(p, "for i in 0..N {\n");
    put_loop_body(p, "x", "i", pick(p, 2) == 0 ? "j" : "M");
    put(p, "dma put writes out[j, i + %lld]\n}\n", more * pick(p, 2));
    if (more == 1 && pick(p, 2) == 0) put(p, "dma end writes out[j, N]\n");
    put(p, "}\n");
}

/* One loop after the other; `out` has the tiles of both, or each has its own. */
static void put_in_turn(page *p) {
    const bool joined = pick(p, 2) == 0;
    const long long more = pick(p, 3) == 0;
    if (joined) {
        put(p, "tensor out : hbm u8 [N + M + %lld] (128, 8) output\n", more);
    } else {
        put(p, "tensor out : hbm u8 [N + %lld] (128, 8) output\n", more);
        put(p, "tensor low : hbm u8 [M] (128, 8) output\n");
    }
    put(p, "for i in 0..N {\n");
    put_loop_body(p, "x", "i", "M");
    put(p, "dma put writes out[i]\n}\nfor j in 0..M {\n");
    put_loop_body(p, "y", "j", "N");
    if (pick(p, 8) > 0) put(p, "dma put writes %s\n", joined ? "out[N + j]" : "low[j]");
    put(p, "}\n");
    if (more == 1 && pick(p, 2) == 0) put(p, "dma end writes out[N%s]\n", joined ? " + M" : "");
}

static void make_two(page *p) {
    p->used = 0;
    put(p, "kernel k on trn2\nparam N = 3\nparam M = 2\n");
    for (int i = 0; i < 2; i++) {
        put(p, "tensor %s : sbuf bf16 [%s + 2] (128, 8) mod base %d free %lld\n", names[i],
            i == 0 ? "N" : "M", i * 64, (long long)pick(p, 3) + 1);
    }
    put(p, "tensor c : sbuf bf16 [%d] (128, 8) at 256\n", TILES);
    const int64_t left_out = pick(p, 2 * TILES) - TILES / 2;
    for (int64_t i = 0; i < TILES; i++) {
        if (i != left_out) put(p, "vector first writes c[%lld]\n", (long long)i);
    }
    if (pick(p, 2) == 0) {
        put_nested(p);
    } else {
        put_in_turn(p);
    }
    if (pick(p, 4) > 0) put_between(p);
}

/* ---- both ways --------------------------------------------------------------------- */

typedef struct answer {
    bool possible;
    spad_verdict verdict;
    char reason[SPAD_MESSAGE_MAX];
    int64_t events;
    bool lacking; /* something of an output */
} answer;

/* m: -1, or the value of M. */
static answer ask(const page *p, int64_t n, int64_t m, bool one_shape) {
    const spad_define defines[] = {{"N", n}, {"M", m}};
    const spad_kernel_options options = {.defines = defines, .define_count = m < 0 ? 1 : 2};
    const spad_check_options how = {.one_shape = one_shape,
                                    .no_advice = true,
                                    .event_limit = one_shape       ? 0
                                                   : p->long_rings ? LONG_EVENTS
                                                   : m < 0         ? EVENTS
                                                                   : 8 * EVENTS};
    spad_error error;
    spad_kernel *kernel;
    spad_check *check;
    answer a = {.possible = false};
    if (spad_kernel_parse(&kernel, p->text, p->used, "k", &options, NULL, &error) != SPAD_OK) {
        return a;
    }
    assert_ok(spad_check_create(&check, kernel, &how, &error), &error);
    a.possible = true;
    a.verdict = spad_check_get_verdict(check);
    a.events = spad_check_get_counts(check).events;
    snprintf(a.reason, sizeof a.reason, "%s", spad_check_get_reason(check));
    for (size_t i = 0; i < spad_check_finding_count(check); i++) {
        a.lacking |= spad_check_get_finding(check, i)->code == SPAD_FINDING_UNWRITTEN_OUTPUT;
    }
    spad_check_destroy(check);
    spad_kernel_destroy(kernel);
    return a;
}

static void fail_with(const page *p, const char *what, int64_t n) {
    print_error("%s, N = %lld:\n%s", what, (long long)n, p->text);
    fail();
}

typedef struct counts {
    int64_t unknown;
    int64_t proved;
    int64_t wrong;
    int64_t lacking;  /* the large shape alone lacks something of an output */
    int64_t reported; /* and the proof says so */
} counts;

/* Is there no kernel with N, and does the reason not say so? */
static bool is_left_out(const page *p, const char *reason, int64_t n) {
    const spad_define define = {"N", n};
    const spad_kernel_options options = {.defines = &define, .define_count = 1};
    spad_error error;
    spad_kernel *kernel;
    long long from = 0;
    if (spad_kernel_parse(&kernel, p->text, p->used, "k", &options, NULL, &error) == SPAD_OK) {
        spad_kernel_destroy(kernel);
        return false;
    }
    if (sscanf(reason, "for all N >= %lld", &from) == 1 && n < from) return false;
    const char *named = strstr(reason, "there is no kernel with");
    if (named == NULL) return true;
    char text[32];
    snprintf(text, sizeof text, " N = %lld ", (long long)n);
    char list[SPAD_MESSAGE_MAX + 1];
    snprintf(list, sizeof list, "%s ", named);
    return strstr(list, text) == NULL && strstr(list, "and so on") == NULL;
}

/* What is proved for all N is about kernels that there are. */
static void look_at_tables(const page *p, counts *c) {
    const answer all = ask(p, 3, -1, false);
    if (!all.possible) return;
    c->wrong += all.verdict != SPAD_VERDICT_PROVED_ALL;
    if (all.verdict != SPAD_VERDICT_PROVED_ALL) return;
    c->proved++;
    for (int64_t n = 0; n < LARGE; n++) {
        if (is_left_out(p, all.reason, n)) fail_with(p, all.reason, n);
    }
}

static void look_at(const page *p, counts *c) {
    const int64_t large = p->long_rings ? LONG_LARGE : LARGE;
    const answer all = ask(p, large, -1, false);
    if (!all.possible) return;
    if (all.verdict == SPAD_VERDICT_UNKNOWN) { /* no small shape represents it */
        c->unknown++;
        return;
    }
    const answer alone = ask(p, large, -1, true);
    if ((all.verdict == SPAD_VERDICT_WRONG) != (alone.verdict == SPAD_VERDICT_WRONG)) {
        fail_with(p, "the small shape does not represent the large one", large);
    }
    c->wrong += all.verdict == SPAD_VERDICT_WRONG;
    if (all.verdict != SPAD_VERDICT_PROVED_ALL) return;
    if (all.lacking && !alone.lacking) fail_with(p, "outputs lack nothing", large);
    c->lacking += alone.lacking;
    c->reported += all.lacking;
    c->proved++;
    for (int64_t n = 0; n < (p->long_rings ? LONG_ROW : ROW); n++) {
        const answer one = ask(p, n, -1, true);
        if (one.possible && one.verdict == SPAD_VERDICT_WRONG) fail_with(p, "proved, and wrong", n);
    }
}

/* A proof for all pairs against every small pair, and against some with one large value. */
static void look_at_pairs(const page *p, int64_t n, int64_t m, counts *c) {
    const answer all = ask(p, n, m, false);
    if (!all.possible) return;
    if (all.verdict == SPAD_VERDICT_UNKNOWN) {
        c->unknown++;
        return;
    }
    const answer alone = ask(p, n, m, true);
    if ((all.verdict == SPAD_VERDICT_WRONG) != (alone.verdict == SPAD_VERDICT_WRONG)) {
        fail_with(p, "the small shape does not represent the large one", n * 1000 + m);
    }
    c->wrong += all.verdict == SPAD_VERDICT_WRONG;
    if (all.verdict != SPAD_VERDICT_PROVED_ALL) return;
    if (all.lacking && !alone.lacking) fail_with(p, "outputs lack nothing", n * 1000 + m);
    const bool silent = strstr(all.reason, "; ") == NULL; /* no word about other values */
    if (silent && !all.lacking && alone.lacking) {
        fail_with(p, "outputs lack something", n * 1000 + m);
    }
    c->lacking += alone.lacking;
    c->reported += all.lacking;
    c->proved++;
    static const int64_t beyond[][2] = {{LARGE / 5, LARGE / 5}, {31, 33}, {18, 25}, {27, 14}};
    for (size_t i = 0; i < sizeof beyond / sizeof beyond[0]; i++) { /* both thresholds */
        const answer one = ask(p, beyond[i][0], beyond[i][1], true);
        if (one.possible && one.verdict == SPAD_VERDICT_WRONG) {
            fail_with(p, "proved, and wrong", beyond[i][0] * 1000 + beyond[i][1]);
        }
    }
    for (int64_t i = 0; i < PAIRS * PAIRS + 2 * PAIRS; i++) {
        const int64_t low = i < PAIRS * PAIRS ? i / PAIRS : (i - PAIRS * PAIRS) / 2;
        const int64_t high = i < PAIRS * PAIRS ? i % PAIRS : LARGE / 5;
        const answer one =
            i >= PAIRS * PAIRS && i % 2 == 0 ? ask(p, high, low, true) : ask(p, low, high, true);
        if (one.possible && one.verdict == SPAD_VERDICT_WRONG) {
            fail_with(p, "proved, and wrong", low * 1000 + high);
        }
    }
}

static int64_t most = 500;
static uint64_t seed = 7;

static void look_at_many(void (*make)(page *p), bool long_rings) {
    page p = {.long_rings = long_rings};
    counts c = {0};
    const int64_t kernels = long_rings ? most / 4 : most; /* their rows are longer */
    p.random.state = seed;
    for (int64_t i = 0; i < kernels; i++) {
        make(&p);
        look_at(&p, &c);
    }
    print_message("%lld kernels: %lld unknown, %lld proved for all N, %lld wrong; %lld proved lack "
                  "something of an output, %lld are reported\n",
                  (long long)kernels, (long long)c.unknown, (long long)c.proved, (long long)c.wrong,
                  (long long)c.lacking, (long long)c.reported);
    assert_true(c.unknown * (long_rings ? 2 : 4) < kernels);
    assert_true(c.proved * 20 > kernels);
    assert_true(c.wrong * 20 > kernels);
    assert_true(c.reported * 20 >= c.lacking * 19);
}

static void one_program(void **state) {
    (void)state;
    look_at_many(make_kernel, false);
}

static void long_rings(void **state) {
    (void)state;
    look_at_many(make_kernel, true);
}

static void tables(void **state) {
    (void)state;
    page p = {.used = 0};
    counts c = {0};
    p.random.state = seed - 2;
    for (int64_t i = 0; i < most; i++) {
        make_tables(&p);
        look_at_tables(&p, &c);
    }
    print_message("%lld kernels: %lld proved for all N, %lld not\n", (long long)most,
                  (long long)c.proved, (long long)c.wrong);
    assert_true(c.proved * 20 > most);
    assert_true(c.wrong * 20 > most);
}

static void agents(void **state) {
    (void)state;
    look_at_many(make_agents, false);
}

static void two_trip_counts(void **state) {
    (void)state;
    page p = {.used = 0};
    counts c = {0};
    p.random.state = seed + 4;
    const int64_t count = most / 2;
    /* values with the rest 0 give the shortest steps where one is multiplied by the other */
    static const int64_t given[] = {TILES, 2 * TILES, 10 * TILES, 3 * TILES, LARGE};
    for (int64_t i = 0; i < count; i++) {
        make_two(&p);
        const int64_t n = given[pick(&p, 5)];
        look_at_pairs(&p, n, given[pick(&p, 5)], &c);
    }
    print_message(
        "%lld kernels: %lld unknown, %lld proved for all N and M, %lld wrong; %lld proved "
        "lack something of an output, %lld are reported\n",
        (long long)count, (long long)c.unknown, (long long)c.proved, (long long)c.wrong,
        (long long)c.lacking, (long long)c.reported);
    assert_true(c.proved * 20 > count);
    assert_true(c.wrong * 20 > count);
    assert_true(c.lacking > 0 && c.reported > 0);
}

int main(int count, char **words) {
    if (count > 1) most = atoll(words[1]);
    if (count > 2) seed = strtoull(words[2], NULL, 10);
    const struct CMUnitTest tests[] = {cmocka_unit_test(one_program), cmocka_unit_test(long_rings),
                                       cmocka_unit_test(tables), cmocka_unit_test(agents),
                                       cmocka_unit_test(two_trip_counts)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
