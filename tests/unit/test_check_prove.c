/* SPDX-License-Identifier: Apache-2.0
 * Verdicts: proved for this shape or for all trip counts, wrong, unknown, and the reasons
 * about them; a cost that does not depend on the trip count. */
#include "prove_fixture.h"

#include <stdio.h>

static const char *const pipeline = "kernel k on trn2\nparam N = 16\n"
                                    "tensor g : hbm bf16 [N] (128, 512) input\n"
                                    "tensor x : sbuf bf16 [N] (128, 512) ring 2\n"
                                    "tensor out : hbm bf16 [N] (128, 512) output\n"
                                    "for i in 0..N {\n"
                                    "dma load reads g[i] writes x[i]\n"
                                    "dma store reads x[i] writes out[i]\n}\n";

static const char *const agents = "kernel k on sm_90\nparam N = 5\n"
                                  "counter full\ncounter empty = 3\n"
                                  "tensor x : shared f32 [N] (64) ring 3\n"
                                  "agent a { for i in 0..N { take empty\nsimt w writes x[i]\n"
                                  "signal full } }\n"
                                  "agent b { for i in 0..N { wait full >= i + 1\n"
                                  "simt r reads x[i]\nsignal empty } }\n";

static void all_trip_counts(void **state) {
    (void)state;
    assert_answer(pipeline, SPAD_VERDICT_PROVED_ALL, "for all N >= 1");
    assert_answer(agents, SPAD_VERDICT_PROVED_ALL, "for all N >= 1");
    assert_answer(
        "kernel k on trn2\nparam M = 3\nparam N = 4\n"
        "tensor x : sbuf bf16 [M, N] (128, 8) ring [2, 2]\n"
        "for i in 0..M { for j in 0..N { vector w writes x[i, j]\nvector r reads x[i, j] } }\n",
        SPAD_VERDICT_PROVED_ALL, "for all M >= 1 and all N >= 1");
}

/* Agents that share nothing need not be in step: each set of them repeats itself. */
#define SPLIT(first, second)                                                        \
    "kernel k on sm_90\nparam N = 4\ncounter full[2]\ncounter empty[2] = 2\n"       \
    "tensor a : global f32 [N] (64) input\ntensor o : global f32 [2] (64) output\n" \
    "tensor sums : shared f32 [2] (64)\ntensor x : shared f32 [N] (64) ring 2\n"    \
    "agent p { for n in 0..N {\ntake empty[0]\nsimt l reads a[n] writes x[n]\n"     \
    "signal full[0]\n} }\n"                                                         \
    "agent c {\nsimt z writes sums[0]\nfor n in 0..N {\ntake full[0]\n"             \
    "simt m reads x[n] updates sums[0]\nsignal empty[0]\n}\n"                       \
    "simt s reads sums[0] writes o[0]\n}\n"                                         \
    "agent e {\nsimt z writes sums[" first "]\nfor n in 0..N {\n" second            \
    "simt m reads a[n] updates sums[" first "]\n}\nsimt s reads sums[" first "] writes o[1]\n}\n"

static void agents_that_share_nothing(void **state) {
    (void)state;
    assert_answer(SPLIT("1", ""), SPAD_VERDICT_PROVED_ALL, "for all N >= 1");
    /* an object or a tile in common: they have to be in step, or are wrong */
    assert_answer(SPLIT("1", "signal full[1]\n"), SPAD_VERDICT_PROVED_SHAPE,
                  "N is fixed at 4: its loop did not return to the same state; "
                  "N = 1, 2, 3, 5, 6 are right, too");
    assert_answer(SPLIT("1", "signal full[n - n]\n"), SPAD_VERDICT_WRONG, "");
    assert_answer(SPLIT("0", ""), SPAD_VERDICT_WRONG, "");
}

/* The events that are examined for 10 and for 10^9 iterations. */
static void cost(void **state) {
    (void)state;
    for (size_t i = 0; i < 2; i++) {
        const spad_define few = {"N", 10};
        const spad_define many = {"N", 1000000000};
        const answer a = ask(i == 0 ? pipeline : agents, &few, 1, NULL);
        const answer b = ask(i == 0 ? pipeline : agents, &many, 1, NULL);
        assert_int_equal(a.verdict, SPAD_VERDICT_PROVED_ALL);
        assert_int_equal(b.verdict, SPAD_VERDICT_PROVED_ALL);
        assert_true(b.counts.events < 2 * a.counts.events);
    }
}

static void one_shape(void **state) {
    (void)state;
    const spad_check_options how = {.one_shape = true};
    const answer a = ask(pipeline, NULL, 0, &how);
    assert_int_equal(a.verdict, SPAD_VERDICT_PROVED_SHAPE);
    assert_string_equal(a.reason, "every event of the kernel was checked");
    assert_int_equal(a.counts.runs, 1);
}

static void parts_of_shapes(void **state) {
    (void)state;
    assert_answer("kernel k on trn2\nparam M = 3\nparam N = 4\n"
                  "tensor x : sbuf bf16 [N] (128, 8)\ntensor y : sbuf bf16 (128, 8)\n"
                  "for i in 0..M { vector w writes y\nvector r reads y }\n"
                  "for j in 0..N { vector w writes x[j]\nvector r reads x[j] }\n",
                  SPAD_VERDICT_PROVED_SHAPE,
                  "for all M; N is fixed at 4: 'x' has a place of its own for every tile, so its "
                  "memory grows; N = 1, 2, 3, 5, 6 are right, too");
    assert_answer(
        "kernel k on trn2\nparam N = 4\n"
        "tensor x : sbuf bf16 [N] (128, 8)\n"
        "for j in 0..N { vector w writes x[j]\nvector r reads x[j] }\n",
        SPAD_VERDICT_PROVED_SHAPE,
        "N is fixed at 4: 'x' has a place of its own for every tile, so its memory grows; "
        "N = 1, 2, 3, 5, 6 are right, too");
}

/* Kernels with one wrong shape, which is far from the given one: no proof may hide it. The wrong
 * one depends on the rest of a parameter, or on a product of two. */
static void far_shapes_wrong(void **state) {
    (void)state;
#define FAR(left)                                                        \
    "tensor x : sbuf u8 [N + 1] (128, 8) mod base 0 free 1\n"            \
    "tensor z : sbuf u8 [11] (128, 8) at 4096\n"                         \
    "for j in 0..11 { if j != " left " { vector first writes z[j] } }\n" \
    "for i in 0..N { vector w writes x[i]\nvector r reads x[i] }\n"
    static const struct {
        const char *text;
        spad_define wrong[2];
        const char *reason;
    } cases[] = {
        {"kernel k on trn2\nparam N = 11\nparam M = 11\n" FAR(
             "10") "for i in 0..M { vector w writes x[0] }\nvector r reads z[(N * M) % 11]\n",
         {{"N", 2}, {"M", 5}},
         "for all N; not with N = 7, M = 14: r reads 'z[10]'"},
        {"kernel k on trn2\nparam M = 12\nparam N = 12\n" FAR(
             "10") "for i in 0..M { vector w writes x[0] }\nvector r reads z[(N * (M % 3)) % 11]\n",
         {{"N", 10}, {"M", 1}},
         "for all N; not with N = "},
        {"kernel k on trn2\nparam M = 15\nparam N = 15\n" FAR(
             "3") "vector r reads z[(N * (N % 3)) % 5]\n",
         {{"N", 13}, {"M", 1}},
         "right at N = 15, not with N = 14: r reads 'z[3]'"},
        {"kernel k on trn2\nparam N = 15\nparam M = N % 3\n" FAR(
             "3") "vector r reads z[(N * M) % 5]\n",
         {{"N", 13}, {"M", 1}},
         "right at N = 15, not with N = 14: r reads 'z[3]'"},
        {"kernel k on trn2\nparam M = 1\nparam N = 15\n" FAR(
             "3") "for i in 0..N { if i >= 20 * (N % 3) { if N % 3 == 2 { vector r reads z[3] } } "
                  "}\n",
         {{"N", 41}, {"M", 1}},
         "but not with N = 41: r reads 'z[3]' (i = 40)"},
    };
#undef FAR
    const spad_check_options alone = {.one_shape = true};
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        assert_answer_starts(cases[i].text, SPAD_VERDICT_PROVED_SHAPE, cases[i].reason);
        assert_int_equal(ask(cases[i].text, cases[i].wrong, 2, &alone).verdict, SPAD_VERDICT_WRONG);
    }
}

/* The argument for the second step (prove.c). After the loop the last R tiles are in the ring, so
 * the read of tile C is right by coincidence for the R trip counts C < N <= C + R and wrong for all
 * larger ones; smaller ones have no kernel, since `least` would have no tile. The ring
 * gives steps of R, and a run of C + 1 iterations repeats itself: a proof from the shapes below
 * C + 1 + R alone would be for all trip counts, and false. */
static void right_by_coincidence_for_a_step(void **state) {
    (void)state;
    const spad_check_options alone = {.one_shape = true};
    for (int64_t depth = 1; depth <= 5; depth++) {
        for (int64_t tile = 2 * depth; tile < 3 * depth; tile++) {
            char text[512];
            char reason[64];
            snprintf(text, sizeof text,
                     "kernel k on trn2\nparam N = %lld\n"
                     "tensor least : hbm u8 [N - %lld] (128, 8)\n"
                     "tensor x : sbuf u8 [N] (128, 8) mod base 0 free %lld\n"
                     "for i in 0..N { vector w writes x[i]\nvector r reads x[i] }\n"
                     "vector last reads x[%lld]\n",
                     (long long)tile + 1, (long long)tile, (long long)depth, (long long)tile);
            snprintf(reason, sizeof reason,
                     "but not with N = %lld: ", (long long)(tile + 1 + depth));
            const answer all = ask(text, NULL, 0, NULL);
            if (strncmp(all.reason, reason, strlen(reason)) != 0) print_error("%s\n", text);
            assert_memory_equal(all.reason, reason, strlen(reason));
            assert_int_equal(all.verdict, SPAD_VERDICT_PROVED_SHAPE);
            for (int64_t n = tile + 1; n <= tile + 3 * depth; n++) {
                const answer one = ask(text, &(spad_define){"N", n}, 1, &alone);
                assert_int_equal(one.verdict, n <= tile + depth ? SPAD_VERDICT_PROVED_SHAPE
                                                                : SPAD_VERDICT_WRONG);
            }
        }
    }
}
/* An index that moves more slowly than the tiles would be right for more than one step; the proof
 * depends on such kernels being left alone. Two tiles an iteration, and the read is of tile N + C:
 * right for N = C + 1 and C + 2. */
static void indices_that_move_apart(void **state) {
    (void)state;
    const spad_check_options alone = {.one_shape = true};
    const char *text = "kernel k on trn2\nparam N = 7\n"
                       "tensor least : hbm u8 [N - 6] (128, 8)\n"
                       "tensor x : sbuf u8 [3 * N] (128, 8) mod base 0 free 2\n"
                       "for i in 0..N { vector a writes x[2 * i]\nvector b writes x[2 * i + 1]\n"
                       "vector r reads x[2 * i] }\n"
                       "vector last reads x[N + 6]\n";
    assert_answer_starts(text, SPAD_VERDICT_PROVED_SHAPE,
                         "right at N = 7, not with N = 9: last reads 'x[15]', but bytes [8, 16)");
    for (int64_t n = 7; n < 12; n++) {
        assert_int_equal(ask(text, &(spad_define){"N", n}, 1, &alone).verdict,
                         n <= 8 ? SPAD_VERDICT_PROVED_SHAPE : SPAD_VERDICT_WRONG);
    }
}
/* The depth of a ring by a rest of the trip count: each depth asks for steps of its own. */
static void rings_by_rests(void **state) {
    (void)state;
    assert_answer("kernel k on trn2\nparam N = 15\n"
                  "tensor x : sbuf u8 [N + 1] (128, 8) mod base 0 free N % 3 + 1\n"
                  "for i in 0..N { vector w writes x[i]\nvector r reads x[i] }\n",
                  SPAD_VERDICT_PROVED_SHAPE,
                  "N is fixed at 15: an index does not advance in even steps; N = 0, 1, 2, 13, 14, "
                  "16, 17 are right, too");
    assert_answer("kernel k on trn2\nparam N = 15\n" /* whatever the rest decides, all repeat */
                  "tensor x : sbuf u8 [N + 1] (128, 8) mod base 0 free 3\n"
                  "for i in 0..N { vector w writes x[i]\n"
                  "if i >= 4 * (N % 3) { vector r reads x[i] } }\n",
                  SPAD_VERDICT_PROVED_ALL, "for all N");
}

/* A ring whose counter runs on from tile to tile, so that its slots and phases depend on the trip
 * count. %s: the counter of the consumer. */
#define CARRY(t, n, counter)                                                                       \
    "kernel k on sm_90\nparam T = " t "\nparam N = " n                                             \
    "\nmbarrier full[2] count 1\nmbarrier empty[2] count 1\n"                                      \
    "tensor x : shared f32 [T * N] (64) ring 2\nfor s in 0..2 { init full[s]; init empty[s] }\n"   \
    "agent a { for t in 0..T { for n in 0..N {\n"                                                  \
    "wait empty[(t * N + n) % 2] parity ((t * N + n) / 2 + 1) % 2\nsimt put writes x[t * N + n]\n" \
    "arrive full[(t * N + n) % 2] } } }\n"                                                         \
    "agent b { for t in 0..T { for n in 0..N {\nwait full[(" counter ") % 2] parity (" counter     \
    ") / 2 % 2\n"                                                                                  \
    "simt get reads x[t * N + n]\narrive empty[(t * N + n) % 2] } } }\n"

/* Where there is no proof, other values are tried, and one that is wrong is a warning with its
 * witness: the given shape is right. */
static void neighbours_wrong(void **state) {
    (void)state;
    static const char *const texts[] = {CARRY("2", "3", "t * 3 + n"),
                                        CARRY("2", "3", "t * (2 * N - 3) + n"),
                                        CARRY("3", "3", "t * (N + N / 4) + n")};
    const spad_check_options alone = {.one_shape = true};
    for (size_t i = 0; i < sizeof texts / sizeof texts[0]; i++) {
        const bool given = ask(texts[i], NULL, 0, &alone).verdict == SPAD_VERDICT_PROVED_SHAPE;
        assert_true(given);
        const answer a = ask(texts[i], NULL, 0, NULL);
        static const char start[] = "right at N = 3, not with N = 4: ";
        const char *found = strstr(a.reason, start);
        if (found == NULL) print_error("%s%s\n", texts[i], a.reason);
        assert_non_null(found);
        assert_int_equal(a.verdict, SPAD_VERDICT_PROVED_SHAPE);
        assert_int_equal(a.counts.errors, 0);
        assert_true(a.counts.warnings > 0);
        assert_int_equal(ask(texts[i], &(spad_define){"N", 4}, 1, &alone).verdict,
                         SPAD_VERDICT_WRONG);
    }
}

/* The last step of a slot is meant, and a number is written. */
#define LITERAL(last)                                                                           \
    "kernel k on sm_90\nparam R = 4\nparam N = 3\ncounter full\ncounter empty = 1\n"            \
    "tensor x : shared f32 (R, 64)\n"                                                           \
    "agent a { for n in 0..N { take empty\nfor r in 0..R { simt put writes x(r, ..) }\nsignal " \
    "full } "                                                                                   \
    "}\n"                                                                                       \
    "agent b { for n in 0..N { take full\nfor r in 0..R { simt get reads x(r, ..)\n"            \
    "if r == " last " { signal empty } } } }\n"

/* Sizes have no proof; their neighbours are tried where that is asked for, or where a number in the
 * text is the value of one. */
static void sizes(void **state) {
    (void)state;
    static const char *const names[] = {"R", "Z"};
    const spad_check_options ask_r = {.vary = names, .vary_count = 1};
    const spad_check_options alone = {.vary = names, .vary_count = 1, .one_shape = true};
    const spad_check_options quiet = {.no_advice = true};
    const answer right = ask(LITERAL("R - 1"), NULL, 0, &ask_r);
    assert_string_equal(right.reason, "for all N; R = 2, 3, 5, 6 are right, too");
    assert_int_equal(right.counts.warnings + right.counts.advice, 0);
    const answer one = ask(LITERAL("R - 1"), NULL, 0, &alone);
    assert_string_equal(one.reason,
                        "every event of the kernel was checked; R = 2, 3, 5, 6 are right, too");
    const answer wrong = ask(LITERAL("3"), NULL, 0, &ask_r);
    assert_memory_equal(wrong.reason, "right at R = 4, not with R = 5: ", 32);
    assert_int_equal(wrong.counts.errors, 0);
    assert_true(wrong.counts.warnings > 0);
    const answer unasked = ask(LITERAL("3"), NULL, 0, NULL);
    assert_string_equal(unasked.reason, "for all N; other values of R were not tried");
    assert_true(unasked.counts.advice > 0);
    assert_int_equal(unasked.counts.warnings, 0);
    assert_int_equal(ask(LITERAL("3"), NULL, 0, &quiet).counts.advice, 0);
    assert_int_equal(ask(LITERAL("R - 1"), NULL, 0, NULL).counts.advice, 0);

    spad_kernel *kernel = test_parse(LITERAL("3"));
    const spad_check_options unknown = {.vary = names, .vary_count = 2};
    spad_check *check;
    spad_error error;
    assert_int_equal(spad_check_create(&check, kernel, &unknown, &error), SPAD_ERR_UNKNOWN);
    assert_null(check);
    assert_string_equal(error.message, "kernel 'k' has no parameter 'Z' to vary");
    spad_kernel_destroy(kernel);
}

/* Iterations of a parallel loop that are far apart, and the last of millions of them. Where the
 * indices say that none meet there is no limit. */
static void parallel_loops_far(void **state) {
    (void)state;
    static const char *const text =
        "kernel k on trn2\nparam N = 70000\ntensor x : hbm u8 [70000] (1, 1)\n"
        "for i in 0..N parallel { dma w writes x[i % 70000] }\n";
    const spad_check_options alone = {.one_shape = true};
    const spad_define more = {"N", 70001};
    const spad_define last = {"M", 4200001};
    const spad_define many = {"N", 10000000};
    static const char *const millions =
        "kernel k on trn2\nparam M = 4200000\ntensor x : hbm u8 [4200000] (1, 1) output\n"
        "for i in 0..M parallel { dma w writes x[i % 4200000] }\n";
    assert_int_equal(ask(millions, &last, 1, &alone).counts.warnings, 1);
    assert_int_equal(ask(text, NULL, 0, &alone).counts.warnings, 1); /* x is never read */
    assert_int_equal(ask(text, &more, 1, &alone).counts.warnings, 2);
    const char *large = "kernel k on trn2\nparam N = 8\ntensor x : hbm u8 [N] (1, 1) output\n"
                        "for i in 0..N parallel { dma w writes x[i] }\n";
    assert_string_equal(ask(large, &many, 1, NULL).reason, "for all N >= 1");
    char loops[4096] = "kernel k on trn2\ntensor x : hbm u8 [16] (1, 1) output\n"
                       "for i in 0..16 parallel { dma w writes x[i] }\n"; /* more than are solved */
    for (int i = 0; i < 70; i++) strcat(loops, "for j in 0..1 { dma w reads x[0] }\n");
    assert_int_equal(ask(loops, NULL, 0, &alone).counts.warnings, 0);
    const spad_check_options few = {.one_shape = true, .event_limit = 1000};
    const answer cut = ask(text, NULL, 0, &few);
    assert_non_null(strstr(cut.reason,
                           "iterations of parallel loops were compared in the first 1000 "
                           "events"));
}

/* Agents order each other by all rings together: no proof, and the reason before anything long is
 * run. */
static void rings_of_agents(void **state) {
    (void)state;
    static const char *const text =
        "kernel k on sm_90\nparam N = 64\ncounter fa[31]\ncounter ea[31] = 1\n"
        "counter fb[33]\ncounter eb[33] = 1\ntensor x : shared f32 [N] (64) ring 31\n"
        "tensor y : shared f32 [N] (64) ring 33\n"
        "agent a { for i in 0..N {\ntake ea[i % 31]\nsimt w writes x[i]\nsignal fa[i % 31]\n"
        "take eb[i % 33]\nsimt w writes y[i]\nsignal fb[i % 33]\n} }\n"
        "agent b { for i in 0..N {\ntake fa[i % 31]\ntake fb[i % 33]\nsimt r reads x[i], y[i]\n"
        "signal ea[i % 31]\nsignal eb[i % 33]\n} }\n";
    const spad_check_options alone = {.one_shape = true};
    assert_answer_starts(text, SPAD_VERDICT_PROVED_SHAPE,
                         "N is fixed at 64: the kernel repeats itself only when it grows by 1023, "
                         "which would take too many events; N = 1, ");
    const int64_t events = ask(text, NULL, 0, &alone).counts.events;
    assert_true(ask(text, NULL, 0, NULL).counts.events <
                30 * events); /* the values that are tried */
}

/* A loop inside another one with the same trip count, in steps of 2, has no proof: all values up to
 * some number are run, and one that is wrong among them is found, however far away. */
static void rows_of_values(void **state) {
    (void)state;
#define TRIANGLE(more)                                                                    \
    "kernel k on trn2\nparam T = 3\ntensor x : sbuf bf16 [2] (128, 8)\nfor t in 0..T {\n" \
    "vector w writes x[0]\nfor n in 0..T - t step 2 { vector r reads x[0] }\n" more "}\n"
    const answer right = ask(TRIANGLE(""), NULL, 0, NULL);
    int last = 0;
    assert_int_equal(right.verdict, SPAD_VERDICT_PROVED_SHAPE);
    assert_int_equal(sscanf(right.reason,
                            "T is fixed at 3: 'n' is a loop inside another one that grows as well; "
                            "all T from 0 to %d are right",
                            &last),
                     1);
    assert_true(last >= 20);
    const answer wrong = ask(TRIANGLE("if t == 17 { vector r reads x[1] }\n"), NULL, 0, NULL);
    assert_memory_equal(wrong.reason, "right at T = 3, not with T = 18: r reads 'x[1]'", 47);
    assert_int_equal(wrong.counts.warnings, 1);
    const answer low = ask(TRIANGLE("") "vector r reads x[0]\n", NULL, 0, NULL);
    assert_non_null(strstr(low.reason, "all T from 1 to "));
    assert_non_null(strstr(low.reason, "; not with T = 0: r reads 'x[0]'"));
#undef TRIANGLE
}

/* Right as it stands, wrong with another trip count. */
static void other_shapes_wrong(void **state) {
    (void)state;
    assert_answer("kernel k on trn2\nparam N = 4\ntensor x : sbuf bf16 (128, 8)\n"
                  "for i in 0..N { vector w writes x }\nvector r reads x\n",
                  SPAD_VERDICT_PROVED_SHAPE,
                  "for all N >= 1; not with N = 0: r reads 'x', but nothing has written bytes "
                  "[0, 16) of lanes [0, 128) of its slot; write it first, or declare it as input");
}

/* The smallest values are wrong, or have no kernel: the verdict says from where on it holds. One
 * with a hole is a warning. */
static void from_some_value_on(void **state) {
    (void)state;
    assert_answer("kernel k on trn2\nparam N = 8\ntensor g : hbm bf16 [N] (128, 8) input\n"
                  "tensor x : sbuf bf16 [N + 3] (128, 8) ring 3\n"
                  "for s in 0..2 { dma load reads g[s] writes x[s] }\n"
                  "for i in 0..N { vector use reads x[i]\nif i + 2 < N {\n"
                  "dma load reads g[i + 2] writes x[i + 2] } }\n",
                  SPAD_VERDICT_PROVED_ALL,
                  "for all N >= 2; smaller ones are refused: index 's' reaches 1 and 'g' "
                  "has only 1");
    assert_answer(
        "kernel k on trn2\nparam N = 8\ntensor x : sbuf bf16 (128, 8)\n"
        "for i in 0..N { if i == 2 { vector w writes x }\nif i > 2 { vector r reads x } }\n"
        "vector r reads x\n",
        SPAD_VERDICT_PROVED_SHAPE,
        "for all N >= 3; not with N = 0: r reads 'x', but nothing has written bytes "
        "[0, 16) of lanes [0, 128) of its slot; write it first, or declare it as input");
    assert_answer("kernel k on trn2\nparam M = 3\nparam N = 8\n"
                  "tensor least : hbm bf16 [M + N] (128, 8) input\ntensor x : sbuf bf16 (128, 8)\n"
                  "for i in 0..N { dma w reads least[0] writes x\nvector r reads x }\n"
                  "for i in 0..M { dma w reads least[0] writes x\nvector r reads x }\n",
                  SPAD_VERDICT_PROVED_ALL, "for all M, N; there is no kernel with M = 0, N = 0");
    assert_answer("kernel k on trn2\nparam N = 3\nparam M = 2\n"
                  "tensor g : hbm bf16 [(N + 1) / 2 - N / 2 + M] (128, 8) input\n"
                  "tensor x : sbuf bf16 (128, 8)\n"
                  "for i in 0..N { dma w reads g[0] writes x\nvector r reads x }\n"
                  "for i in 0..M { dma w reads g[0] writes x\nvector r reads x }\n",
                  SPAD_VERDICT_PROVED_ALL,
                  "for all N, M; there is no kernel with N = 0, M = 0 or N = 2, M = 0 or "
                  "N = 4, M = 0 or N = 6, M = 0, and so on");
    const char *hole = "kernel k on trn2\nparam N = 8\ntensor x : sbuf bf16 (128, 8)\n"
                       "for i in 0..N { if i == 2 { vector v writes x } }\n"
                       "if N != 1 { vector w writes x }\nvector r reads x\n";
    assert_answer(hole, SPAD_VERDICT_PROVED_SHAPE,
                  "but not with N = 1: r reads 'x', but nothing has written bytes [0, 16) of lanes "
                  "[0, 128) of its slot; write it first, or declare it as input");
    assert_int_equal(ask(hole, NULL, 0, NULL).counts.warnings, 2);
}

/* No errors with any trip count, but warnings with some. */
static void other_shapes_warn(void **state) {
    (void)state;
    assert_answer("kernel k on trn2\nparam N = 8\ntensor out : hbm bf16 [N + 1] (128, 8) output\n"
                  "tensor x : sbuf bf16 (128, 8) input\n"
                  "for i in 0..N / 2 + 1 { dma a reads x writes out[i] }\n"
                  "for i in 0..N / 2 { dma b reads x writes out[N / 2 + i + 1] }\n",
                  SPAD_VERDICT_PROVED_ALL,
                  "for all N; but with N = 1: 'out' is an output, and nothing writes 'out[1]'; "
                  "write all of it, or declare less");
    assert_answer("kernel k on trn2\nparam N = 4\ntensor x : sbuf bf16 [7] (128, 8)\n"
                  "for i in 0..N parallel { vector w writes x[i % 7]; vector r reads x[i % 7] }\n",
                  SPAD_VERDICT_PROVED_ALL,
                  "for all N; but with N = 8: w writes 'x[0]' (i = 7), and w writes it in another "
                  "iteration (i = 0) of the parallel loop, which may run before or after; leave "
                  "`parallel` out, or give each iteration a tile of its own");
    const char *backwards = "kernel k on trn2\nparam N = 8\ntensor x : sbuf bf16 (128, 8) input\n"
                            "tensor out : hbm bf16 [N] (128, 8) output\n"
                            "for i in 0..N { dma a reads x writes out[N - 1 - i] }\n";
    assert_answer(backwards, SPAD_VERDICT_PROVED_ALL, "for all N >= 1");
    const spad_define many = {"N", 1000000};
    const answer a = ask(backwards, &many, 1, NULL);
    assert_string_equal(a.reason, "for all N >= 1; outputs were checked with small values only");
    assert_int_equal(a.verdict, SPAD_VERDICT_PROVED_ALL);
}

/* Without the values below 1, where an output has no tiles. */
static void leave_out_from(char *reason) {
    static const char from[] = " >= 1";
    char *found = strstr(reason, from);
    if (found != NULL) memmove(found, found + strlen(from), strlen(found + strlen(from)) + 1);
}

/* What a small shape says of the outputs of a large one: they are whole, they lack something, or
 * small values do not show. */
static void outputs_of_large_shapes(void **state) {
    (void)state;
#define LARGE(size, body)                                                     \
    "kernel k on trn2\nparam N = 100000\ntensor x : sbuf u8 (128, 8) input\n" \
    "tensor out : hbm u8 " size " (128, 8) output\nfor i in 0..N {\n" body "}\n"
#define PUT(index) "dma a reads x writes out" index "\n"
/* steps of 4: a ring of 4 */
#define RINGS(size, body)                                                                     \
    "kernel k on trn2\nparam N = 100000\ntensor x : sbuf u8 (128, 8) input\n"                 \
    "tensor r : sbuf u8 [N + 4] (128, 8) ring 4\ntensor out : hbm u8 " size                   \
    " (128, 8) output\nfor i in 0..N + 4 {\nvector w writes r[i]\nvector v reads r[i]\n" body \
    "}\n"
    static const char *const known = "for all N";
    static const char *const small = "for all N; outputs were checked with small values only";
    static const char *const one = "for all N; but with N = 1: 'out' is an output, and nothing "
                                   "writes 'out[1]'; write all of "
                                   "it, or declare less";
    static const char *const alias = "an output has more tiles than the check distinguishes";
    static const struct {
        const char *text;
        const char *const *reason;
        bool lacking;
    } cases[] = {
        {LARGE("[N]", PUT("[i]")), &known, false},
        {LARGE("[N + 1]", PUT("[i]")), &known, true},
        {LARGE("[N + 1]", PUT("[i]")) PUT("[N]"), &known, false},
        {LARGE("[N + 2]", PUT("[i]")) PUT("[N]"), &known, true},
        {LARGE("[N]", PUT("[i](0..64, ..)") PUT("[i](64..128, ..)")), &known, false},
        {LARGE("[N]", PUT("[i](0..64, ..)")), &known, true},
        {RINGS("[4]", PUT("[i % 4]")), &known, false},
        {RINGS("[5]", PUT("[i % 4]")), &known, true},
        {RINGS("[3]", PUT("[i % 3]")), &small, false},
        {RINGS("", PUT("")), &known, false},
        {LARGE("[N]", PUT("[0]")), &known, true},
        {LARGE("[2 * N]", PUT("[2 * i]") PUT("[2 * i + 1]")), &known, false},
        {LARGE("[2 * N]", PUT("[2 * i]")), &known, true},
        {LARGE("[2 * N]", PUT("[i]") PUT("[2 * i]")), &one, false},
        {LARGE("[2 * N]", PUT("[i]") PUT("[N + i]")), &small, false},
        {LARGE("[2 * N]", "for j in 0..2 {\n" PUT("[j * N + i]") "}\n"), &small, false},
        {LARGE("[N, N]", PUT("[i, i]")), &known, true},
        {LARGE("[N, N]", PUT("[0, i]") PUT("[N - 1, i]")), &known, true},
        {LARGE("[N, 2]", PUT("[i, 0]") PUT("[i, 1]")), &known, false},
        {LARGE("[N, 2]", PUT("[i, 0]")), &known, true},
        {LARGE("[2, N]", PUT("[0, i]") PUT("[1, i]")), &known, false},
        {"kernel k on trn2\nparam N = 1000000\ntensor x : sbuf u8 (128, 8) input\n"
         "tensor out : hbm u8 [N] (128, 8) output\ntensor o2 : hbm u8 [N] (128, 8) alias of out\n"
         "for i in 0..N { dma a reads x writes out[i] }\n",
         &alias, false},
        {LARGE("[N]", "if i >= 3 {\n" PUT("[i]") "}\n"), &known, true},
        {LARGE("[N]", "if i < N - 3 {\n" PUT("[i]") "}\n"), &known, true},
    };
#undef LARGE
#undef RINGS
#undef PUT
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        spad_kernel *kernel = test_parse(cases[i].text);
        spad_check *check;
        spad_error error;
        assert_ok(spad_check_create(&check, kernel, NULL, &error), &error);
        bool lacking = false;
        for (size_t f = 0; f < spad_check_finding_count(check); f++) {
            const spad_finding *finding = spad_check_get_finding(check, f);
            lacking = lacking || finding->code == SPAD_FINDING_UNWRITTEN_OUTPUT;
        }
        char reason[SPAD_MESSAGE_MAX];
        strcpy(reason, spad_check_get_reason(check));
        leave_out_from(reason);
        const bool same = strcmp(reason, *cases[i].reason) == 0;
        if (!same || lacking != cases[i].lacking) {
            print_error("%s%s, %d\n", cases[i].text, reason, lacking);
        }
        assert_string_equal(reason, *cases[i].reason);
        assert_int_equal(lacking, cases[i].lacking);
        spad_check_destroy(check);
        spad_kernel_destroy(kernel);
    }
}

static void what_was_tried_of_each_trip_count_without_a_proof(void **state) {
    (void)state;
    assert_answer("kernel k on trn2\nparam A = 3\nparam B = 4\n"
                  "tensor x : sbuf u8 [A] (128, 64)\ntensor y : sbuf u8 [B] (128, 64)\n"
                  "for a in 0..A { vector w writes x[a]; vector r reads x[a] }\n"
                  "for b in 0..B { vector w writes y[b]; vector r reads y[b] }\n",
                  SPAD_VERDICT_PROVED_SHAPE,
                  "A is fixed at 3: 'x' has a place of its own for every tile, so its memory "
                  "grows; A = 1, 2, 4, 5 are right, too; values of B that were tried are right, "
                  "too");
}

static void updates_off_chip(void **state) {
    (void)state;
    assert_answer("kernel k on trn2\nparam N = 8\ntensor x : sbuf bf16 (128, 8) input\n"
                  "tensor out : hbm bf16 [N] (128, 8) output\n"
                  "for i in 0..N { dma a reads x writes out[i]; dma b reads x updates out[i] }\n",
                  SPAD_VERDICT_PROVED_SHAPE,
                  "N is fixed at 8: 'out' is read and written off the chip, at one tile after "
                  "another; N = 1, 2, 6, 7, 9, 10 are right, too");
}

static void wrong(void **state) {
    (void)state;
    const char *text =
        "kernel k on trn2\nparam N = 4\ntensor x : sbuf bf16 [N + 2] (128, 8) ring 2\n"
        "vector w writes x[0]\nvector w writes x[1]\n"
        "for i in 0..N { vector w writes x[i + 2]\nvector r reads x[i] }\n";
    assert_answer(text, SPAD_VERDICT_WRONG, "");
    const spad_define many = {"N", 1000000000};
    const answer a = ask(text, &many, 1, NULL);
    assert_int_equal(a.verdict, SPAD_VERDICT_WRONG);
    assert_true(a.counts.events < 1100000);
}

static void unknown(void **state) {
    (void)state;
    const spad_check_options how = {.one_shape = true, .event_limit = 20};
    const answer a = ask(pipeline, NULL, 0, &how);
    assert_int_equal(a.verdict, SPAD_VERDICT_UNKNOWN);
    assert_string_equal(a.reason, "the kernel has more events than the limit");
    const answer b = ask(agents, NULL, 0, &how);
    assert_int_equal(b.verdict, SPAD_VERDICT_UNKNOWN);
    assert_string_equal(b.reason,
                        "there are more events than the limit; define a smaller parameter");
}

static void bad_options(void **state) {
    (void)state;
    spad_check *check;
    spad_error error;
    spad_kernel *kernel = test_parse(pipeline);
    const spad_check_options how = {.event_limit = -1};
    assert_int_equal(spad_check_create(&check, kernel, &how, &error), SPAD_ERR_ARGUMENT);
    assert_null(check);
    assert_string_equal(error.message, "event limit -1 is negative");
    spad_kernel_destroy(kernel);
}

static spad_status memory_scenario(const spad_host *host, void *context) {
    const spad_check_options how = {.host = host};
    spad_check *check;
    const spad_status status = spad_check_create(&check, context, &how, NULL);
    spad_check_destroy(check);
    return status;
}

/* Shapes are cut short: the tables of a proof with each ring alone. */
static spad_status apart_scenario(const spad_host *host, void *context) {
    const spad_check_options how = {.event_limit = 3, .host = host};
    spad_check *check;
    const spad_status status = spad_check_create(&check, context, &how, NULL);
    spad_check_destroy(check);
    return status;
}

/* Parts of tiles, in lives one after another. */
static const char *const pieces =
    "kernel k on sm_80\ntensor t : shared u8 [2] (8) persistent\n"
    "for o in 0..2 { for i in 0..3 parallel {\nsimt a writes t[o](i % 3..i % 3 + 2)\n"
    "simt b reads t[o]\nsimt c updates t[o](0..2)\n} }\n";

static void memory(void **state) {
    (void)state;
    spad_kernel *rings = test_parse("kernel k on trn2\nparam N = 3\n"
                                    "tensor x : sbuf bf16 [N] (128, 8) ring 8\n"
                                    "tensor y : sbuf bf16 [N] (128, 8) ring 9\n"
                                    "for i in 0..N { vector w writes x[i], y[i] }\n");
    test_fail_each_allocation(apart_scenario, rings);
    spad_kernel_destroy(rings);
    spad_kernel *parts = test_parse(pieces);
    test_fail_each_allocation(memory_scenario, parts);
    spad_kernel_destroy(parts);
    static const char *const texts[] = {
        "kernel k on trn2\nparam N = 3\n"
        "tensor x : sbuf bf16 [N] (128, 8) ring 1\n"
        "for i in 0..N { vector w writes x[i]\nvector r reads x[i] }\n",
        "kernel k on sm_90\nparam N = 2\ncounter full\ncounter empty = 1\n"
        "tensor x : shared f32 [N] (64) ring 1\n"
        "agent a { for i in 0..N { take empty\nsimt w writes x[i]\n"
        "signal full } }\n"
        "agent b { for i in 0..N { take full\nsimt r reads x[i]\n"
        "signal empty } }\n",
        /* trip counts that depend on each other; values that are tried, one of them wrong */
        "kernel k on trn2\nparam T = 1\nparam N = 1\n"
        "tensor x : sbuf bf16 [T * N] (128, 8) ring 1\n"
        "for t in 0..T { for i in 0..N { vector w writes x[t * N + i] } }\n",
        ("kernel k on trn2\nparam N = 1\ntensor x : sbuf bf16 [2] (128, 8)\n"
         "vector w writes x[0]\nfor i in 0..N { vector r reads x[i * N % 2] }\n")};
    for (size_t i = 0; i < sizeof texts / sizeof texts[0]; i++) {
        spad_kernel *kernel = test_parse(texts[i]);
        test_fail_each_allocation(memory_scenario, kernel);
        spad_kernel_destroy(kernel);
    }
}

/* Values are tried around numbers that indices come round at: the smallest ones, if there are many;
 * and where no other value makes a kernel, that is said. */
static void values_that_are_tried(void **state) {
    (void)state;
    assert_answer("kernel k on trn2\nparam N = 11\n"
                  "tensor a : sbuf u8 [N] (128, 8) ring 2\ntensor b : sbuf u8 [N] (128, 8) ring 3\n"
                  "tensor c : sbuf u8 [N] (128, 8) ring 4\ntensor d : sbuf u8 [N] (128, 8) ring 5\n"
                  "tensor e : sbuf u8 [N] (128, 8) ring 6\ntensor f : sbuf u8 [N] (128, 8) ring 9\n"
                  "tensor g : sbuf u8 [N] (128, 8) ring 8\ntensor h : sbuf u8 [N] (128, 8) ring 3\n"
                  "tensor o : sbuf u8 [N] (128, 8)\n"
                  "for i in 0..N { vector w writes a[i], b[i], c[i], d[i], e[i], f[i], g[i], h[i]\n"
                  "vector v reads a[i], b[i], c[i], d[i], e[i], f[i], g[i], h[i] writes o[i]\n"
                  "vector r reads o[i] }\n",
                  SPAD_VERDICT_PROVED_SHAPE,
                  "N is fixed at 11: 'o' has a place of its own for every tile, so its memory "
                  "grows; N = 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 12, 13, 16, 17 are right, too");
    static const char *const names[] = {"L"};
    const spad_check_options vary = {.vary = names, .vary_count = 1};
    const answer a = ask("kernel k on trn2\nparam L = 32\ntensor a : sbuf u8 (32, 8) at 0 lane L\n"
                         "vector w writes a\nvector r reads a\n",
                         NULL, 0, &vary);
    assert_int_equal(a.verdict, SPAD_VERDICT_PROVED_SHAPE);
    assert_string_equal(
        a.reason,
        "every event of the kernel was checked; there is no kernel with L = 30, 31, 33, 34");
}

/* ---- time -------------------------------------------------------------------------- */

static void a_timeout_leaves_it_open(void **state) {
    (void)state;
    static const char *const texts[] = {
        "kernel k on trn2\nparam N = 100000\ntensor x : sbuf u8 [N] (128, 8)\n"
        "for i in 0..N { vector w writes x[i]; vector r reads x[i] }\n",
        "kernel k on trn2\nparam N = 20000\ntensor x : sbuf u8 [N] (128, 8)\ncounter c\n"
        "agent a { for i in 0..N { vector w writes x[i]; signal c } }\n"
        "agent b { for i in 0..N { wait c >= i + 1; vector r reads x[i] } }\n"};
    for (size_t i = 0; i < sizeof texts / sizeof texts[0]; i++) {
        const spad_check_options options = {.timeout_ns = 1};
        const spad_check_options negative = {.timeout_ns = -1};
        spad_check *check;
        spad_error error;
        spad_kernel *kernel = test_parse(texts[i]);
        assert_ok(spad_check_create(&check, kernel, &options, &error), &error);
        assert_int_equal(spad_check_get_verdict(check), SPAD_VERDICT_UNKNOWN);
        assert_string_equal(
            spad_check_get_reason(check),
            "time was up before everything was checked; allow more (--timeout, timeout_ns)");
        spad_check_destroy(check);
        assert_int_equal(spad_check_create(&check, kernel, &negative, &error), SPAD_ERR_ARGUMENT);
        assert_string_equal(error.message, "a timeout of -1 ns is negative");
        spad_kernel_destroy(kernel);
    }
}

/* An mbarrier that begins and ends in each round has no state between its lives. Phases count from
 * its init: in the middle of a life, and where it loses arrivals, it is not the same again. */
static void barriers_that_begin_in_loops(void **state) {
    (void)state;
    assert_answer("kernel k on sm_90\nparam N = 4\nmbarrier m count 1\n"
                  "tensor x : shared u8 [N] (8) ring 2\nagent a { for i in 0..N {\ninit m\n"
                  "simt w writes x[i]\narrive m\nwait m parity 0\nsimt r reads x[i]\n"
                  "invalidate m\n} }\n",
                  SPAD_VERDICT_PROVED_ALL, "for all N >= 1");
    assert_answer("kernel k on sm_90\nparam N = 4\nunit cp on copy free\nmbarrier m count 1\n"
                  "for i in 0..N {\ninit m\narrive m on cp\nwait m parity 0\narrive m\n"
                  "wait m parity 1\nif i < N - 1 {\ninvalidate m\n} }\n",
                  SPAD_VERDICT_PROVED_ALL, "for all N");
    assert_answer_starts("kernel k on sm_90\nparam N = 4\nmbarrier m count 1\n"
                         "for i in 0..N {\nif i > 0 {\ninvalidate m\n}\ninit m\narrive m\n"
                         "wait m parity 0\n}\n",
                         SPAD_VERDICT_PROVED_SHAPE,
                         "N is fixed at 4: its loop did not return to the same state");
    assert_answer_starts("kernel k on sm_90\nparam N = 4\nmbarrier m count 1\n"
                         "for i in 0..N {\ninit m\narrive m\nwait m parity 0\n"
                         "if i != 9 {\ninvalidate m\n} }\n",
                         SPAD_VERDICT_PROVED_SHAPE,
                         "but not with N = 11: init m of iteration i = 10 finds m in use");
    assert_answer_starts("kernel k on sm_90\nparam N = 4\nmbarrier m count 2\n"
                         "for i in 0..N {\ninit m count 2\narrive m\ninvalidate m\n}\n",
                         SPAD_VERDICT_PROVED_SHAPE, "N is fixed at 4: its loop did not return");
    assert_answer_starts("kernel k on sm_90\nparam N = 4\nmbarrier m count 8\ninit m\n"
                         "tensor x : shared u8 [N] (8) ring 2\nagent a { for i in 0..N {\n"
                         "simt w writes x[i]\narrive m drop\nsimt r reads x[i]\n} }\n",
                         SPAD_VERDICT_PROVED_SHAPE,
                         "but not with N = 8: arrive m of iteration i = 7 (a) leaves no arrivals");
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(all_trip_counts),
        cmocka_unit_test(agents_that_share_nothing),
        cmocka_unit_test(cost),
        cmocka_unit_test(one_shape),
        cmocka_unit_test(parts_of_shapes),
        cmocka_unit_test(far_shapes_wrong),
        cmocka_unit_test(right_by_coincidence_for_a_step),
        cmocka_unit_test(indices_that_move_apart),
        cmocka_unit_test(rings_by_rests),
        cmocka_unit_test(neighbours_wrong),
        cmocka_unit_test(sizes),
        cmocka_unit_test(parallel_loops_far),
        cmocka_unit_test(rings_of_agents),
        cmocka_unit_test(rows_of_values),
        cmocka_unit_test(other_shapes_wrong),
        cmocka_unit_test(from_some_value_on),
        cmocka_unit_test(other_shapes_warn),
        cmocka_unit_test(outputs_of_large_shapes),
        cmocka_unit_test(what_was_tried_of_each_trip_count_without_a_proof),
        cmocka_unit_test(updates_off_chip),
        cmocka_unit_test(wrong),
        cmocka_unit_test(unknown),
        cmocka_unit_test(bad_options),
        cmocka_unit_test(memory),
        cmocka_unit_test(values_that_are_tried),
        cmocka_unit_test(a_timeout_leaves_it_open),
        cmocka_unit_test(barriers_that_begin_in_loops),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
