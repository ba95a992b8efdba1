/* SPDX-License-Identifier: Apache-2.0
 * Trip counts whose loops are inside of each other, and writes off the chip that meet late: what is
 * proved for all values, and what is not. */
#include "prove_fixture.h"

#include <stdio.h>

/* Two agents with a ring of two slots. The ranges of the loops over blocks, and what else is in
 * them. */
#define BLOCKS(outer, range, more, other, rest)                                             \
    "kernel k on sm_90\nparam T = 4\nmbarrier full[2] count 1\nmbarrier empty[2] count 1\n" \
    "tensor g : global f32 [T] (64) input\ntensor out : global f32 [T] (64) output\n"       \
    "tensor far : global f32 [T] (64)\n"                                                    \
    "tensor x : shared f32 [2] (64)\ntensor y : shared f32 (64)\n"                          \
    "for i in 0..2 { init full[i]; init empty[i] }\n"                                       \
    "agent a {\ncursor s, f mod 2\nfor t in " outer " {\nfor n in " range                   \
    " {\nwait empty[s] parity 1 - f\nsimt w writes x[s]\n" more                             \
    "arrive full[s]\nadvance s\n}\n}\n}\n"                                                  \
    "agent b {\ncursor s, f mod 2\nfor t in 0..T {\nsimt clear writes y\nfor n in " other   \
    " {\nwait full[s] parity f\nsimt r reads x[s] updates y\n" rest                         \
    "arrive empty[s]\nadvance s\n}\nsimt store reads y writes out[t]\n}\n}\n"

/* How many of some kernels are looked at: one, unless there is time. */
static size_t some(size_t count) {
    return test_effort(6) == 6 ? count : 1;
}

#define EVERY "for all T >= 1"
#define NESTED "T is fixed at 4: 'n' is a loop inside another one that grows as well"

static void rounds_of_any_length(void **state) {
    (void)state;
    static const char *const texts[] = {
        BLOCKS("0..T", "0..T - t", "", "0..T - t", ""),
        BLOCKS("0..T", "0..T - t step -1", "simt far reads g[n] writes x[s]\n", "t..T", ""),
        BLOCKS("0..T", "0..t + 1", "simt far reads g[T - 1 - n] writes x[s]\n", "T - t..T + 1", ""),
        BLOCKS("0..T", "0..t", "simt far reads g[n + 1] writes x[s]\n", "0..t step -1", ""),
        BLOCKS("0..T", "t..T", "simt far reads g[n - t] writes x[s]\n", "0..T - t",
               "if n >= 3 { simt more updates y }\n"),
        BLOCKS("0..T", "0..T - t", "if n == 0 { simt first writes x[s] }\n", "0..T - t",
               "if t % 3 == 1 { simt more updates y }\n"),
        BLOCKS("0..T", "0..T - t", "for u in 0..2 { simt far reads g[t] writes x[s] }\n",
               "0..T - t", "if T - t == 6 { simt more updates y }\n"),
    };
    for (size_t i = 0; i < some(sizeof texts / sizeof texts[0]); i++) {
        assert_answer(texts[i], SPAD_VERDICT_PROVED_ALL, EVERY);
    }
}

/* A value that is too large to be run. */
static void large_values(void **state) {
    (void)state;
    const spad_define many = {"T", 2000};
    const spad_check_options how = {.event_limit = 20000, .no_advice = true};
    const answer a = ask(BLOCKS("0..T", "0..T - t", "", "0..T - t", ""), &many, 1, &how);
    assert_int_equal(a.verdict, SPAD_VERDICT_PROVED_ALL);
    assert_string_equal(a.reason, EVERY "; outputs were checked with small values only");
}

/* One program: tiles that are read in a later round are those of the last blocks of the one before,
 * so it counts how long that was. */
static void rounds_of_one_program(void **state) {
    (void)state;
    assert_answer("kernel k on trn2\nparam T = 4\ntensor x : sbuf f32 [3] (128, 8)\n"
                  "cursor s mod 3\nfor i in 0..3 { vector first writes x[i] }\n"
                  "for t in 0..T { for n in 0..t + 1 { vector w writes x[s]\nadvance s } }\n"
                  "vector r reads x[0]\n",
                  SPAD_VERDICT_PROVED_ALL, "for all T");
    assert_answer("kernel k on trn2\nparam T = 4\ntensor x : sbuf f32 [3] (128, 8)\n"
                  "for t in 0..T { for n in 0..t + 1 { vector w writes x[n % 3] }\n"
                  "if t == 6 { vector r reads x[2] }\nif t >= 9 { vector r reads x[2] }\n"
                  "if t == 1 { vector r reads x[1] } }\n",
                  SPAD_VERDICT_PROVED_ALL, "for all T");
}

/* Wrong with few values, or with one. What is run shows it, or there is no claim. */
static void mistakes_that_show_late(void **state) {
    (void)state;
    static const struct {
        const char *text;
        int64_t wrong;
    } cases[] = {
        {BLOCKS("0..T", "0..T - t", "if n == 33 { simt late writes y }\n", "0..T - t", ""), 34},
        {BLOCKS("0..T", "0..T - t", "if T - t == 33 { simt late writes y }\n", "0..T - t", ""), 33},
        {BLOCKS("0..T", "0..T - t", "if t + n == 33 { simt late writes y }\n", "0..T - t", ""), 34},
        {BLOCKS("0..T", "0..T - t", "if t == 33 { simt late writes y }\n", "0..T - t", ""), 34},
        {BLOCKS("0..T", "0..t + 1", "if T - n == 33 { simt late writes y }\n", "0..t + 1", ""), 33},
        {BLOCKS("0..T", "0..T - t", "if T - t - n == 33 { simt late writes y }\n", "0..T - t", ""),
         33},
        {BLOCKS("0..T", "0..T - t", "if T == 37 { simt late writes y }\n", "0..T - t", ""), 37},
    };
    const spad_check_options alone = {.one_shape = true};
    for (size_t i = 0; i < some(sizeof cases / sizeof cases[0]); i++) {
        const spad_define wrong = {"T", cases[i].wrong};
        const answer a = ask(cases[i].text, NULL, 0, NULL);
        if (strstr(a.reason, "for all") != NULL) print_error("%d: %s\n", (int)i, a.reason);
        assert_null(strstr(a.reason, "for all"));
        assert_int_equal(ask(cases[i].text, &wrong, 1, &alone).verdict, SPAD_VERDICT_WRONG);
    }
}

/* Right as far as it was run, and no proof: each has one thing that the argument does not cover. */
static void no_proof(void **state) {
    (void)state;
    static const char *const texts[] = {
        /* other indices, and what has no guard, steps of 2, lengths that change by 2 */
        BLOCKS("0..T", "0..T - t", "simt far reads g[n / 2] writes x[s]\n", "0..T - t", ""),
        BLOCKS("0..T", "0..T", "", "0..T", ""),
        BLOCKS("0..T", "0..T - t step 2", "", "0..T - t step 2", ""),
        BLOCKS("0..T", "0..2 * t", "", "0..2 * t", ""),
        /* a condition that counts from the end of a run, a cost that changes */
        BLOCKS("0..T", "0..T - t", "if n == T - t - 1 { simt last writes x[s] }\n", "0..T - t", ""),
        BLOCKS("0..T", "0..T - t", "simt w writes x[s] cost 5 + n ns\n", "0..T - t", ""),
        /* a write off the chip in the inner loop, a third loop, a tensor in it */
        BLOCKS("0..T", "0..T - t", "simt far reads x[s] writes far[n]\n", "0..T - t", ""),
        BLOCKS("0..T", "0..T - t", "for u in 0..n { simt w writes x[s] }\n", "0..T - t", ""),
        BLOCKS("0..T", "0..T - t", "for u in 0..T - n { simt w writes x[s] }\n", "0..T - t", ""),
        BLOCKS("0..T", "0..T - t", "tensor z : shared f32 (64)\nsimt w writes z\n", "0..T - t", ""),
    };
    for (size_t i = 0; i < some(sizeof texts / sizeof texts[0]); i++) {
        answer a = ask(texts[i], NULL, 0, NULL);
        if (strncmp(a.reason, "T is fixed at 4: ", 17) != 0) print_error("%d\n", (int)i);
        a.reason[17] = '\0';
        assert_string_equal(a.reason, "T is fixed at 4: ");
        assert_int_equal(a.verdict, SPAD_VERDICT_PROVED_SHAPE);
    }
    if (some(2) == 1) return;
    /* rounds that differ in length between agents, one block each in front of the loops */
    assert_answer_starts(
        "kernel k on sm_90\nparam T = 4\nmbarrier full count 1\nmbarrier empty count 1\n"
        "tensor x : shared f32 (64)\ninit full\ninit empty\n"
        "agent a { cursor s, f mod 1\nfor t in 0..T { for n in 0..T - t {\n"
        "wait empty parity 1 - f\nsimt w writes x\narrive full\nadvance s } } }\n"
        "agent b { cursor s, f mod 1\nfor t in 0..T {\n"
        "wait full parity f\nsimt r reads x\narrive empty\nadvance s\n"
        "for n in 1..T - t { wait full parity f\nsimt r reads x\narrive empty\nadvance s } } }\n",
        SPAD_VERDICT_PROVED_SHAPE, NESTED);
    /* tiles that move with the blocks, and values of a counter */
    assert_answer_starts("kernel k on trn2\nparam T = 4\ntensor x : sbuf f32 [T] (128, 8) ring 2\n"
                         "for t in 0..T { for n in 0..t + 1 { vector w writes x[n]\n"
                         "vector r reads x[n] } }\n",
                         SPAD_VERDICT_PROVED_SHAPE, NESTED);
    assert_answer_starts("kernel k on sm_90\nparam T = 4\ncounter c\ntensor x : shared f32 (64)\n"
                         "agent a { for t in 0..T { for n in 0..t + 1 { simt w writes x\n"
                         "signal c\nwait c >= n + 1 } } }\n",
                         SPAD_VERDICT_PROVED_SHAPE, NESTED);
    assert_answer_starts(
        "kernel k on trn2\nparam T = 4\ntensor x : sbuf f32 [2] (128, 8)\n"
        "for t in 0..T { for n in 0..t + 1 parallel { vector w writes x[n % 2] } }\n",
        SPAD_VERDICT_PROVED_SHAPE, NESTED);
}

#define PROGRAM(loops) \
    "kernel k on trn2\nparam T = 4\ntensor x : sbuf f32 [2] (128, 8)\ncursor s mod 40\n" loops
#define ROUND(outer, inner, more) \
    "for t in " outer " { for n in " inner " { vector w writes x[n % 2]\n" more "} }\n"

/* The same for loops of one program. */
static void no_proof_of_programs(void **state) {
    (void)state;
    static const char *const texts[] = {
        PROGRAM(ROUND("0..T", "0..t + 1", "") ROUND("0..T", "0..t + 2", "")),
        PROGRAM(ROUND("0..T", "0..t + 1", "") ROUND("0..T + 1", "0..t + 1", "")),
        PROGRAM(ROUND("0..T", "0..t + 1", "advance s\n")),
        PROGRAM(ROUND("0..T step -1", "0..t + 1", "")),
        PROGRAM(ROUND("0..T", "0..t + 1", "if n == 5 { break }\n")),
    };
    for (size_t i = 0; i < sizeof texts / sizeof texts[0]; i++) {
        const answer a = ask(texts[i], NULL, 0, NULL);
        if (strncmp(a.reason, NESTED, strlen(NESTED)) != 0)
            print_error("%d: %s\n", (int)i, a.reason);
        assert_memory_equal(a.reason, NESTED, strlen(NESTED));
    }
    assert_answer(PROGRAM(ROUND("0..T", "0..t + 1", "")), SPAD_VERDICT_PROVED_ALL, "for all T");
}

static void the_parameter_that_grows_need_not_be_the_first(void **state) {
    (void)state;
    assert_answer(
        "kernel k on trn2\nparam M = 2\nparam T = 4\ntensor x : sbuf f32 [M] (128, 8)\n" ROUND(
            "0..T", "0..t + 1", ""),
        SPAD_VERDICT_PROVED_ALL, "for all T; other values of M were not tried");
}

#define READ(extent, range, index)                                                     \
    "kernel k on trn2\nparam T = 4\ntensor x : sbuf f32 (128, 8)\n"                    \
    "tensor g : hbm f32 [" extent "] (128, 8) input\nfor t in 0..T {\nfor n in " range \
    " {\nfor u in 0..2 {\ndma r reads g[" index "] writes x\n}\n}\n}\n"

/* Indices off the chip that are inside at every value, and some that leave at a large one only. */
static void indices_in_rounds(void **state) {
    (void)state;
    static const char *const inside[] = {
        READ("2 * T", "0..t", "n + t - 1"),         READ("T + 1", "0..T - t - 1", "T - t - 2 + u"),
        READ("2 * T", "0..T - t - 1", "2 * n + u"), READ("T + 2", "0..t + 1", "T - 1 - n + 2 * u"),
        READ("T", "0..T - t - 1", "T - t - 2 - n"),
    };
    static const char *const leaving[] = {
        READ("T + 300", "0..T - t", "2 * n"),       READ("301", "0..t + 1", "300 - n"),
        READ("T + 300", "0..t + 1", "2 * n + u"),   READ("T + 300", "0..T - t", "2 * t + n"),
        READ("T + 300", "0..T - t", "2 * T - n"),   READ("300", "0..T - t", "n % 200 + n / 2"),
        READ("T + 300", "0..T - t", "300 + t - n"),
    };
    for (size_t i = 0; i < sizeof inside / sizeof inside[0]; i++) {
        const answer a = ask(inside[i], NULL, 0, NULL);
        if (a.verdict != SPAD_VERDICT_PROVED_ALL) print_error("%d: %s\n", (int)i, a.reason);
        assert_int_equal(a.verdict, SPAD_VERDICT_PROVED_ALL);
    }
    for (size_t i = 0; i < sizeof leaving / sizeof leaving[0]; i++) {
        const answer a = ask(leaving[i], NULL, 0, NULL);
        if (strstr(a.reason, "for all") != NULL) print_error("%d: %s\n", (int)i, a.reason);
        assert_null(strstr(a.reason, "for all"));
        assert_int_equal(a.verdict, SPAD_VERDICT_PROVED_SHAPE);
    }
}

static spad_status nested_scenario(const spad_host *host, void *context) {
    const spad_check_options options = {.host = host, .no_advice = true};
    spad_check *check;
    const spad_status status = spad_check_create(&check, context, &options, NULL);
    spad_check_destroy(check);
    return status;
}

/* The runs of all shapes ask for memory many times: some of them fail. */
static void memory(void **state) {
    (void)state;
    static const char *const texts[] = {
        "kernel k on trn2\nparam T = 1\ntensor x : sbuf f32 (1, 8)\ncursor s mod 1\n"
        "for t in 0..T { for n in 0..t { vector w writes x\nadvance s } }\n",
        "kernel k on sm_90\nparam T = 1\ntensor x : shared f32 (64)\n"
        "agent a { cursor s mod 1\nfor t in 0..T { for n in 0..t { simt w writes x\n"
        "advance s } } }\n"};
    for (size_t i = 0; i < 2; i++) {
        spad_kernel *kernel = test_parse(texts[i]);
        test_host host;
        long n = 1;
        do {
            test_host_init(&host);
            host.fail_at = n;
            const spad_status status = nested_scenario(&host.host, kernel);
            test_host_assert_clean(&host);
            assert_int_equal(status, host.calls < n ? SPAD_OK : SPAD_ERR_HOST_MEMORY);
            n += 1 + n / test_effort(36);
        } while (host.calls >= host.fail_at);
        spad_kernel_destroy(kernel);
    }
}

/* ---- breaks ---------------------------------------------------------------------------- */

#define BROKEN(range, how, other)                                                           \
    "kernel k on sm_90\nparam N = 3\nmbarrier full[2] count 1\nmbarrier empty[2] count 1\n" \
    "tensor x : shared f32 [2] (64)\nfor i in 0..2 { init full[i]; init empty[i] }\n"       \
    "agent a {\ncursor s, f mod 2\nfor t in 0..3 { for n in " range " {\n"                  \
    "wait empty[s] parity 1 - f\nsimt w writes x[s]\narrive full[s]\nadvance s\n" how       \
    "} }\n}\nagent b {\ncursor s, f mod 2\nfor t in 0..3 { for n in " range " {\n"          \
    "wait full[s] parity f\nsimt r reads x[s]\narrive empty[s]\nadvance s\n" other "} }\n}\n"

/* A growing loop with a break: all runs end with it, or none does, or some do. */
static void breaks(void **state) {
    (void)state;
    static const char *const proved[] = {
        BROKEN("0..N", "if n == 6 { break }\n", "if n >= 6 { break }\n"),
        BROKEN("0..N", "if n + t == 6 { break }\n", "if n + t == 6 { break }\n"),
        BROKEN("0..N", "if N < 0 { break }\n", "if t == 5 { break }\n"),
        ("kernel k on trn2\nparam N = 3\ntensor x : sbuf bf16 (128, 8)\nfor i in 0..N {\n"
         "vector w writes x\nvector r reads x\nif i == 4 { break }\n}\n"),
        ("kernel k on trn2\nparam N = 3\ntensor x : sbuf bf16 [N] (128, 8) ring 2\n"
         "for i in 0..N {\nvector w writes x[i]\nvector r reads x[i]\nif i < 0 { break }\n}\n"),
    };
    for (size_t i = 0; i < sizeof proved / sizeof proved[0]; i++) {
        const answer a = ask(proved[i], NULL, 0, NULL);
        if (a.verdict != SPAD_VERDICT_PROVED_ALL) print_error("%d: %s\n", (int)i, a.reason);
        assert_int_equal(a.verdict, SPAD_VERDICT_PROVED_ALL);
        assert_memory_equal(a.reason, "for all N", 9);
    }
    /* one agent has a block more, from some N on; some runs end with the break, some with N */
    assert_answer_starts(BROKEN("0..N", "if n == 6 { break }\n", "if n == 5 { break }\n"),
                         SPAD_VERDICT_PROVED_SHAPE, "but not with N = 7: ");
    assert_answer_starts(BROKEN("0..N", "if t == 1 { break }\n", "if t == 1 { break }\n"),
                         SPAD_VERDICT_PROVED_SHAPE, "N is fixed at 3: ");
}

/* ---- writes off the chip ----------------------------------------------------------------- */

/* A kernel that is right at its given N, and the first N at which it is wrong. */
typedef struct late_case {
    const char *text;
    int64_t wrong;
} late_case;

/* Nothing is claimed for all N: each kernel is wrong at one value, and right at its neighbour. */
static void no_claim_for_all(const late_case *cases, size_t count, int64_t neighbour) {
    const spad_check_options alone = {.one_shape = true};
    for (size_t i = 0; i < count; i++) {
        const spad_define wrong = {"N", cases[i].wrong};
        const spad_define right = {"N", cases[i].wrong + neighbour};
        const answer a = ask(cases[i].text, NULL, 0, NULL);
        const bool all =
            a.verdict == SPAD_VERDICT_PROVED_ALL || strncmp(a.reason, "for all", 7) == 0;
        if (all) print_error("%d: %s\n", (int)i, a.reason);
        assert_false(all);
        assert_int_equal(ask(cases[i].text, &wrong, 1, &alone).verdict, SPAD_VERDICT_WRONG);
        assert_int_equal(ask(cases[i].text, &right, 1, &alone).verdict, SPAD_VERDICT_PROVED_SHAPE);
    }
}

/* Two agents in step, each with a store whose end it does not wait for. */
#define STORES(extent, one, other)                                                               \
    "kernel k on sm_90\nparam N = 4\nunit tma on copy free proxy\ngroup ga\ngroup gb\n"          \
    "mbarrier full count 1\nmbarrier empty count 1\n"                                            \
    "tensor out : global fp16 " extent " (8, 8) output\n"                                        \
    "tensor sa : shared fp16 (8, 8)\ntensor sb : shared fp16 (8, 8)\ninit full\ninit empty\n"    \
    "agent a {\nsimt f writes sa\nfence\nfor i in 0..N {\nwait empty parity (i + 1) % 2\n"       \
    "tma store reads sa writes " one " in ga\narrive full\n}\ncommit ga\nwait ga pending 0\n}\n" \
    "agent b {\nsimt f writes sb\nfence\nfor i in 0..N {\nwait full parity i % 2\n"              \
    "tma store reads sb writes " other " in gb\narrive empty\n}\ncommit gb\n"                    \
    "wait gb pending 0\n}\n"

static void writes_that_meet_late(void **state) {
    (void)state;
    static const late_case cases[] = {
        {STORES("[N + 60]", "out[i]", "out[i + 60]"), 61},
        {STORES("[N + 60]", "out[i + 60]", "out[i]"), 61},
        {STORES("[2 * N + 45]", "out[i]", "out[2 * i + 45]"), 46},
        {STORES("[N, 70]", "out[i, 3]", "out[i % 2, i % 70]"), 4},
        {STORES("[N + 71]", "out[i % 70]", "out[N + 70]"), 2},
        {STORES("[N + 50]", "out[i]", "out[N + 49 - i]"), 51},
    };
    no_claim_for_all(cases, sizeof cases / sizeof cases[0], -1);
    assert_answer(STORES("[2 * N]", "out[2 * i]", "out[2 * i + 1]"), SPAD_VERDICT_PROVED_ALL,
                  "for all N >= 1");
}

/* Places that move at different rates meet in late iterations, and an agent may be ahead of the
 * other one by then: all of it is in the shapes that are run, or there is no proof. */
#define PAIR(extent, one, ahead, other)                                                     \
    "kernel k on sm_90\nparam N = 5\ncounter full\ncounter empty = 16\n"                    \
    "tensor out : global f32 [" extent "] (64)\n"                                           \
    "agent b { for j in 0..N {\ntake empty\nsimt v writes out[" one "]\nsignal full\n} }\n" \
    "agent a {\n" ahead "simt w writes out[" other "]\nsignal empty\n} }\n"

static void writes_that_drift(void **state) {
    (void)state;
    static const late_case cases[] = {
        {PAIR("101 * N", "100 * j", "for i in 0..N {\ntake full\n", "101 * i"), 102},
        {PAIR("101 * N", "100 * j + 1", "for i in 0..N {\ntake full\n", "101 * i"), 103},
        {PAIR("N + 61", "60",
              "for m in 0..4 { take full }\nfor i in 0..N {\nif i < N - 4 { take full }\n", "i"),
         66},
    };
    no_claim_for_all(cases, sizeof cases / sizeof cases[0], -1);
}

/* Two agents that meet at a barrier in front of each iteration. */
#define IN_STEP(extent, range, one, other, end)                                                \
    "kernel k on sm_90\nparam N = 4\nbarrier both count 2\ntensor out : global f32 [" extent   \
    "] (64)\nagent a { for i in 0.." range " {\nsync both\nsimt v writes out[" one "]\n} " end \
    "}\nagent b { for i in 0.." range " {\nsync both\nsimt w writes out[" other "]\n} " end "}\n"

/* The parameter moves indices apart, or one index says in which iterations another one meets: two
 * agents in step write one tile with some values of N, or in some iterations only. */
static void writes_that_meet_with_some_values_only(void **state) {
    (void)state;
    static const late_case cases[] = {
        {IN_STEP("11 * N + 60", "N", "10 * i + N", "10 * i + 60", ""), 60},
        {IN_STEP("3 * N + 60", "N", "2 * i + N", "2 * i + 60", ""), 60},
        {IN_STEP("2 * N + 60", "N", "i + N / 2", "i + 60", ""), 120},
        {IN_STEP("12 * N + 60", "2 { for t in 0..N", "10 * t + i * N", "10 * t + 60", "}"), 60},
        {IN_STEP("2 * N + 60, N", "N", "i + N, i", "60, i", ""), 31},
        {IN_STEP("101 * N, N", "N", "100 * i + 60, i", "101 * i, i", ""), 61},
        {IN_STEP("100 * N + 47, N", "N", "100 * i, i", "N + 47 - i, i", ""), 54},
        {IN_STEP("3 * N + 32, N", "N", "3 * i + 32, i", "N + 1 + i, i", ""), 31},
        {IN_STEP("N, 70", "N", "i, i % 70", "i, 69", ""), 70},
        {IN_STEP("N, 61", "N", "i, min(i, 60)", "i, 60", ""), 61},
    };
    no_claim_for_all(cases, sizeof cases / sizeof cases[0], -1);
    static const char *const proved[] = {
        IN_STEP("2 * N", "N", "i + N", "i", ""),
        IN_STEP("3 * N + 61", "N", "i + 2 * N", "i + 61", ""),
        IN_STEP("N, N + 1", "N", "i, N", "i, 0", ""),
        IN_STEP("4 * N", "2 { for t in 0..N", "t + i * N", "t + i * N + 2 * N", "}"),
        IN_STEP("N, 7", "N", "i, i % 7", "i, (i + 1) % 7", ""),
    };
    for (size_t i = 0; i < sizeof proved / sizeof proved[0]; i++) {
        const answer a = ask(proved[i], NULL, 0, NULL);
        if (a.verdict != SPAD_VERDICT_PROVED_ALL) print_error("%d: %s\n", (int)i, a.reason);
        assert_int_equal(a.verdict, SPAD_VERDICT_PROVED_ALL);
    }
}

/* One index meets near the begin of a loop, the other one near its end: both do with one N. */
static void writes_that_meet_between_begin_and_end(void **state) {
    (void)state;
#define BETWEEN(extents, one, other)                                              \
    "kernel k on sm_90\nparam N = 4\ntensor out : global u8 [" extents "] (64)\n" \
    "agent a { for j in 0..2 { simt v writes out[" one                            \
    "] } }\nagent b { for i in 0..N { simt w writes out[" other "] } }\n"
    static const late_case cases[] = {
        {BETWEEN("N + 60, 2 * N + 60", "36, 30", "i, N - i"), 66},
        {BETWEEN("N + 90, 2 * N + 60", "36 + 17 * j, 30", "i, N - i + 1"), 65},
        {BETWEEN("N + 60, N + 60, 2 * N + 60", "25, 26, 30", "i, i + 1, N - i"), 55},
    };
    no_claim_for_all(cases, sizeof cases / sizeof cases[0], 1);
    assert_answer(BETWEEN("N + 2, N + 2", "j, 0", "i, 1"), SPAD_VERDICT_PROVED_ALL, "for all N");
}

/* A loop that is longer than the parameter reaches, in its last iterations, what moves away. */
static void writes_in_loops_longer_than_the_parameter(void **state) {
    (void)state;
#define LONGER(range, one, other)                                                             \
    "kernel k on sm_90\nparam N = 4\nparam M = 40\ntensor out : global u8 [150 * N + 15000] " \
    "(64)\n"                                                                                  \
    "agent a { for i in " range " { simt v writes out[" one                                   \
    "] } }\nagent b { simt w writes out[" other "] }\n"
    static const late_case cases[] = {
        {LONGER("0..N + 40", "101 * i", "150 * N + 90"), 60},
        {LONGER("0..N + M", "101 * i", "150 * N + 90"), 60},
        {LONGER("40..N + 80", "101 * i", "150 * N + 4130"), 60},
        {LONGER("0..N / 2 + 40", "101 * i", "150 * (N / 2) + 90"), 120},
    };
    no_claim_for_all(cases, sizeof cases / sizeof cases[0], -1);
}

/* How far apart places are depends on the rest of N by the step, which the given value has alone.
 */
static void writes_that_meet_with_other_rests(void **state) {
    (void)state;
#define RESTS(given, one, other)                                                                  \
    "kernel k on sm_90\nparam N = " given "\ntensor out : global u8 [70 * N + 500, N + 2] (64)\n" \
    "agent a { for i in 0..N { simt v writes out[" one "] } }\n"                                  \
    "agent b { for i in 0..N { simt w writes out[" other "] } }\n"
#define CARRIED(given) \
    RESTS(given, "61 * (N / 7) + 81 - 20 * ((i + N) / 7), i", "40 * (N / 7) + 80 - 20 * (i / 7), i")
#define PADDED(given) RESTS(given, "N % 7 * 20 + i, 0", "i + 40, 1 - (N + 1) % 7 / 6")
    static const late_case cases[] = {
        {CARRIED("7"), 134}, {CARRIED("8"), 134}, {CARRIED("70"), 134},
        {PADDED("9"), 61},   {PADDED("7"), 61},
    };
    no_claim_for_all(cases, sizeof cases / sizeof cases[0], -1);
    assert_answer(RESTS("9", "N % 7 * 20 + i, 0", "N % 7 * 20 + i, 1"), SPAD_VERDICT_PROVED_ALL,
                  "for all N");
}

/* Which iterations of one loop meet those of another depends on how many that has. */
static void writes_in_loops_of_two_parameters(void **state) {
    (void)state;
    static const char text[] = "kernel k on sm_90\nparam N = 6\nparam M = 4\n"
                               "tensor out : global f32 [N + 2 * M + 6, M + 43] (64)\n"
                               "agent a { for i in 0..M { simt v writes out[2 * i + 5, i] } }\n"
                               "agent b { for i in 0..N { simt w writes out[i, 42] } }\n";
    const spad_check_options alone = {.one_shape = true};
    const spad_define wrong[] = {{"N", 90}, {"M", 43}};
    const spad_define right[] = {{"N", 89}, {"M", 43}};
    const answer a = ask(text, NULL, 0, NULL);
    assert_null(strstr(a.reason, "for all N, M"));
    assert_int_equal(ask(text, wrong, 2, &alone).verdict, SPAD_VERDICT_WRONG);
    assert_int_equal(ask(text, right, 2, &alone).verdict, SPAD_VERDICT_PROVED_SHAPE);
}

/* One agent with stores whose end it does not wait for. */
#define UNWAITED(extent, range, stores)                                      \
    "kernel k on sm_90\nparam N = 4\nunit tma on copy free proxy\ngroup g\n" \
    "tensor out : global fp16 [" extent "] (8, 8) output\n"                  \
    "tensor s : shared fp16 (8, 8)\nagent a {\nsimt f writes s\nfence\n"     \
    "for i in 0.." range " {\n" stores "}\ncommit g\nwait g pending 0\n}\n"
#define STORE(place) "tma store reads s writes out[" place "] in g\n"

/* Indices that return, that stray while they move on, that inner loops move, and loops that get
 * longer more slowly than the parameter: the first N with two writes of one tile is far. */
static void unwaited_writes_of_one_agent_meet_late(void **state) {
    (void)state;
    static const late_case cases[] = {
        {UNWAITED("70", "N", STORE("i % 70")), 71},
        {UNWAITED("10, 14", "N", STORE("i % 10, i % 14")), 71},
        {UNWAITED("30", "N / 4", STORE("i % 30")), 124},
        {UNWAITED("N + 500", "N", STORE("11 * (i % 7) + 6 * (i / 7)")), 78},
        {UNWAITED("N + 500", "N", STORE("11 * (i % 7) - 6 * (i / 7) + 2 * N")), 84},
        {UNWAITED("N + 61, 7", "N", STORE("i / 7, i % 7") STORE("i / 7 + 60, i % 7")), 421},
        {UNWAITED("N + 60", "N", "for j in 0..2 {\n" STORE("i + 60 * j") "}\n"), 61},
        {UNWAITED("N + 120", "3 { for t in 0..N", STORE("t + 60 * i") "}\n"), 61},
        {UNWAITED("N + 60", "N", STORE("i") "for j in 0..2 {\n" STORE("i + 30 * j + 30") "}\n"),
         31},
        {UNWAITED("N + 60", "N / 4", STORE("i") STORE("i + 60")), 244},
        {UNWAITED("20, N + 1", "3 { for t in 0..N",
                  STORE("(-2 * t + t + i * N + 3) % 20, t") "}\n"),
         10},
    };
    no_claim_for_all(cases, sizeof cases / sizeof cases[0], -1);
}

/* Writes in the same window of one index may be iterations apart, which counts for the others. */
static void writes_that_meet_inside_a_window(void **state) {
    (void)state;
#define WINDOWS(one, other)                                                               \
    "kernel k on sm_90\nparam N = 4\ntensor out : global u8 [N + 61, 101 * N + 2] (64)\n" \
    "agent a { for i in 0..N { simt v writes out[" one "] } }\n"                          \
    "agent b { for i in 0..N { simt w writes out[" other "] } }\n"
    static const late_case cases[] = {
        {WINDOWS("i / 7, 100 * i", "i / 7, 101 * i + 1"), 101},
        {WINDOWS("i / 9 + 20, 80 * i", "i / 9 + 20, 81 * i + 1"), 81},
        {UNWAITED("N + 61, 61", "N", STORE("i / 7, min(i, 60)")), 62},
    };
    no_claim_for_all(cases, sizeof cases / sizeof cases[0], -1);
}

#define WAITED "commit g\nwait g pending 0\n"

/* What never meets, or is ordered where it does, is proved however its indices are written. */
static void writes_that_never_meet_or_are_ordered_are_proved(void **state) {
    (void)state;
    static const char *const proved[] = {
        UNWAITED("N", "N", STORE("i")),
        UNWAITED("2 * N", "N", STORE("2 * i") STORE("2 * i + 1")),
        UNWAITED("8 * N", "N", "for j in 0..8 {\n" STORE("8 * i + j") "}\n"),
        UNWAITED("N, 7", "N", STORE("i / 7, i % 7")),
        UNWAITED("3 * N", "3 { for t in 0..N", STORE("i * N + t") "}\n"),
        UNWAITED("3, N", "3 { for t in 0..N", STORE("i, t") "}\n"),
        UNWAITED("3 * N", "3 { for t in 0..N", STORE("3 * t + i") "}\n"),
        UNWAITED("N + 1, 3", "N", STORE("i, i % 3")),
        UNWAITED("N + 60", "N", STORE("i") WAITED STORE("i + 60") WAITED),
        UNWAITED("70", "N", STORE("i % 70") WAITED),
    };
    for (size_t i = 0; i < sizeof proved / sizeof proved[0]; i++) {
        const answer a = ask(proved[i], NULL, 0, NULL);
        if (a.verdict != SPAD_VERDICT_PROVED_ALL) print_error("%d: %s\n", (int)i, a.reason);
        assert_int_equal(a.verdict, SPAD_VERDICT_PROVED_ALL);
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(writes_that_drift),
        cmocka_unit_test(rounds_of_any_length),
        cmocka_unit_test(large_values),
        cmocka_unit_test(rounds_of_one_program),
        cmocka_unit_test(mistakes_that_show_late),
        cmocka_unit_test(no_proof),
        cmocka_unit_test(memory),
        cmocka_unit_test(writes_that_meet_late),
        cmocka_unit_test(writes_that_meet_with_some_values_only),
        cmocka_unit_test(writes_that_meet_between_begin_and_end),
        cmocka_unit_test(writes_in_loops_longer_than_the_parameter),
        cmocka_unit_test(writes_that_meet_with_other_rests),
        cmocka_unit_test(writes_in_loops_of_two_parameters),
        cmocka_unit_test(unwaited_writes_of_one_agent_meet_late),
        cmocka_unit_test(writes_that_meet_inside_a_window),
        cmocka_unit_test(writes_that_never_meet_or_are_ordered_are_proved),
        cmocka_unit_test(breaks),
        cmocka_unit_test(indices_in_rounds),
        cmocka_unit_test(no_proof_of_programs),
        cmocka_unit_test(the_parameter_that_grows_need_not_be_the_first),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
