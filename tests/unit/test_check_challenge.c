/* SPDX-License-Identifier: Apache-2.0
 * Challenges: kernels that are right at small shapes and wrong where conditions on several
 * parameters, or an index, change together. The shapes alone must find it, without a proof. */
#include "support/support.h"

#include <string.h>

#include "base/limit.h"
#include "prove/challenge.h"
#include "support/kernels.h"

#define PARAMS "param T = 3\nparam N = 4\n"
#define LOOPS(body) "{ for t in 0..T { for n in 0..N { " body " } } }\n"

/* One agent signals under a condition, and the other takes each time. */
#define SIGNALS(condition)       \
    "kernel k on sm_90\n" PARAMS \
    "counter c\nagent a " LOOPS("if " condition " { signal c }") "agent b " LOOPS("take c")
#define BREAKS(condition)        \
    "kernel k on sm_90\n" PARAMS \
    "counter c\nagent a " LOOPS("if " condition " { break }\nsignal c") "agent b " LOOPS("take c")
#define NESTED(outer, inner)     \
    "kernel k on sm_90\n" PARAMS \
    "counter c\nagent a " LOOPS("if " outer " { if " inner " { take c } }") "agent b { }\n"

/* No agents: a tile is loaded under a condition, and then read. */
#define LOADS(condition)                                                                     \
    "kernel k on trn2\n" PARAMS "tensor x : sbuf bf16 [N] (128, 64) ring 2\n"                \
    "tensor g : hbm bf16 [N] (128, 64) input\ntensor o : hbm bf16 [T, N] (128, 64) output\n" \
    "for t in 0..T { for n in 0..N {\nif " condition " { dma l reads g[n] writes x[n] }\n"   \
    "dma s reads x[n] writes o[t, n]\n} }\n"

/* A tile that is too far back for its ring, from some iteration on. */
#define READS(index)                                                             \
    "kernel k on trn2\nparam N = 6\ntensor x : sbuf bf16 [N] (128, 64) ring 2\n" \
    "tensor g : hbm bf16 [N] (128, 64) input\nfor i in 0..N {\n"                 \
    "dma l reads g[i] writes x[i]\nvector r reads x[" index "]\n}\n"

/* A ring with cursors, whose slot is given back before the last use of it. */
#define RING(early, late)                                                                        \
    "kernel k on sm_90\n" PARAMS "param S = 2\nmbarrier full[S] count 1\n"                       \
    "mbarrier empty[S] count 1\ntensor x : shared f32 [S] (64, 64)\n"                            \
    "tensor o : global f32 [T, N] (64, 64) output\nfor s in 0..S { init full[s]; init empty[s] " \
    "}\n"                                                                                        \
    "agent p { cursor s, h mod S\nfor t in 0..T { for n in 0..N {\n"                             \
    "wait empty[s] parity 1 - h\nsimt w writes x[s]\narrive full[s]\nadvance s\n} } }\n"         \
    "agent c { cursor s, h mod S\nfor t in 0..T { for n in 0..N {\nwait full[s] parity h\n"      \
    "if " early " { simt r reads x[s] writes o[t, n] }\narrive empty[s]\n"                       \
    "if " late " { simt r reads x[s] writes o[t, n] }\nadvance s\n} } }\n"

/* Two agents that write one tensor off the chip in no order. */
#define WRITES(range, one, other)                                                             \
    "kernel k on sm_90\nparam N = 4\ntensor out : global u8 [150 * N + 15000, 101 * N + 90] " \
    "(64)\nagent a { for i in " range " { simt v writes out[" one                             \
    "] } }\nagent b { for i in 0..N { simt w writes out[" other "] } }\n"

static spad__challenge list; /* too large for a stack */

static spad__challenged challenge(const char *text, int64_t work) {
    spad_error error;
    spad_kernel *kernel = test_parse(text);
    const spad_host host = spad__host_or_default(NULL);
    const spad_check_options options = {.event_limit = SPAD_CHECK_EVENTS,
                                        .finding_limit = SPAD_CHECK_FINDINGS};
    spad_check check = {.host = host};
    spad__limit limit;
    spad__challenged found;
    spad__challenge_param params[SPAD__CHALLENGE_PARAMS];
    assert_ok(spad__limit_start(&limit, 0, (spad_watch){0}, &error), &error);
    spad__run run = {.kernel = kernel, .options = &options, .check = &check, .limit = &limit};
    size_t count = spad__challenge_trip_counts(params, kernel, 1);
    for (size_t i = 0; i < count; i++) { /* rings are no trip counts */
        const char *name = spad_kernel_get_param(kernel, params[i].param)->name;
        if (strcmp(name, "S") == 0) params[i--] = params[--count];
    }
    assert_ok(spad__challenge_list(&list, kernel, params, count, &host, &error), &error);
    assert_ok(spad__challenge_run(&found, &list, &run, work, &error), &error);
    assert_int_equal(check.found.count, 0);
    spad_kernel_destroy(kernel);
    return found;
}

static void what_small_shapes_hide_is_found(void **state) {
    (void)state;
    static const char *const texts[] = {
        SIGNALS("n < 10 or T < 20"),
        SIGNALS("n < 10 or t < 20"),
        SIGNALS("N < 10 or t < 20"),
        SIGNALS("N < 10 or T < 20"),
        SIGNALS("n != 12 or t != 17"),
        SIGNALS("N != 12 or T != 17"),
        SIGNALS("n < 10 and t < 99 or T < 20"),
        SIGNALS("n + t < 40"),
        SIGNALS("2 * n + t < 40 or t + 2 * n < 30"),
        SIGNALS("n / 4 < 3 or t / 5 < 4"),
        SIGNALS("n % 31 < 30 or t < 7"),
        SIGNALS("min(n, t) < 25"),
        SIGNALS("max(n, 20) < 21 or t != 9"),
        SIGNALS("N - n < 18 or t > 15"),
        SIGNALS("t * N + n < 400"),
        SIGNALS("n == 7 or n == 14 or n == 21 or t == 8 or t == 16 or t == 24 or "
                "N < 30 or T < 31 or N > 50 or T > 55"),
        BREAKS("n == 12 and t == 17"),
        BREAKS("N > 12 and t > 17"),
        NESTED("n == 12", "t == 17"),
        LOADS("n < 10 or T < 20"),
        LOADS("N < 10 or t < 20"),
        LOADS("n < 1000 or t < 2"),
        READS("min(i, max(i - 3, 40))"),
        READS("max(i - i / 30 * 2, 0)"),
        READS("i - i % 40 / 38 * 2"),
        RING("n < 10 or t < 20", "n >= 10 and t >= 20"),
        "kernel k on trn2\nparam N = 4 any\ntensor x : sbuf u8 (128, 64)\n"
        "for n in 0..N { if n < 28 { vector w writes x }\nvector r reads x\n"
        "if n > 26 { scope s { tensor y : sbuf u8 (128, 64) stack\nvector r reads y } } }\n",
    };
    for (size_t i = 0; i < sizeof texts / sizeof texts[0]; i++) {
        const spad__challenged found = challenge(texts[i], SPAD__CHALLENGE_WORK);
        if (!found.failed) print_error("%d: not found\n%s", (int)i, texts[i]);
        assert_true(found.failed);
        assert_int_not_equal(found.message[0], 0);
    }
}

static void what_is_right_stays_right(void **state) {
    (void)state;
    static const char *const texts[] = {SIGNALS("n < N or T < 20"), SIGNALS("n + t < T + N"),
                                        LOADS("n / 30 >= 0"), READS("max(i - 1, 0)"),
                                        RING("t < T or n == 3", "n == N and t == T")};
    for (size_t i = 0; i < sizeof texts / sizeof texts[0]; i++) {
        const spad__challenged found = challenge(texts[i], SPAD__CHALLENGE_WORK);
        if (found.failed) print_error("%d: %s\n", (int)i, found.message);
        assert_false(found.failed);
        assert_true(found.right > 0);
    }
}

/* No decision changes where two writes meet: the first N with a tile of both is found. */
static void where_writes_meet_is_found(void **state) {
    (void)state;
    static const struct {
        const char *text;
        int64_t wrong; /* the first value */
    } cases[] = {
        {WRITES("0..2", "36, 30", "i, N - i"), 66},
        {WRITES("0..2", "36 + 17 * i, 30", "i, N - i + 1"), 65},
        {WRITES("0..N + 40", "101 * i, 0", "150 * N + 90, 0"), 60},
        {WRITES("0..N / 2 + 40", "101 * i, 0", "150 * (N / 2) + 90, 0"), 120},
        {WRITES("0..N", "61 * (N / 7) + 81 - 20 * ((i + N) / 7), i",
                "40 * (N / 7) + 80 - 20 * (i / 7), i"),
         134},
        {WRITES("0..N", "N % 7 * 20 + i, 0", "i + 40, 1 - (N + 1) % 7 / 6"), 61},
        {WRITES("0..N", "i / 7, 100 * i", "i / 7, 101 * i + 1"), 101},
        {WRITES("0..N", "i / 9 + 20, 80 * i", "i / 9 + 20, 81 * i + 1"), 81},
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        const spad__challenged found = challenge(cases[i].text, SPAD__CHALLENGE_WORK);
        if (!found.failed) print_error("%d: not found\n%s", (int)i, cases[i].text);
        assert_true(found.failed);
        assert_int_equal(found.shape.values[0], cases[i].wrong);
    }
    assert_false(challenge(WRITES("0..N", "i, 0", "i, 1"), SPAD__CHALLENGE_WORK).failed);
}

/* Values without an iteration cost something as well. */
static void the_search_for_meetings_ends(void **state) {
    (void)state;
    spad_error error;
    spad_kernel *kernel =
        test_parse("kernel k on sm_90\nparam T = 0\nparam N = 1\ntensor out : global u8 [31] (64)\n"
                   "agent a { for t in 0..T { simt v writes out[30] } }\n"
                   "agent b { for t in 0..T { for n in 0..N { simt w writes out[20] } } }\n");
    const spad_host host = spad__host_or_default(NULL);
    const spad__challenge_param any = {1, 1, INT64_MAX, 8};
    assert_ok(spad__challenge_list(&list, kernel, &any, 1, &host, &error), &error);
    spad_kernel_destroy(kernel);
}

/* The budget holds, and what it does not reach is counted. */
static void shapes_that_cost_too_much_are_skipped(void **state) {
    (void)state;
    const spad__challenged none = challenge(SIGNALS("n < 10 or T < 20"), 0);
    assert_int_equal(none.skipped, list.shape_count);
    const spad__challenged some = challenge(SIGNALS("n + t < 90 or n < t"), 40000);
    assert_true(some.skipped > 0);
    assert_true(list.shape_count > 0 && list.shape_count <= SPAD__CHALLENGE_SHAPES);
}

/* Shapes whose values are all known to be right are left out. */
static void what_was_seen_is_left_out(void **state) {
    (void)state;
    spad_error error;
    spad_kernel *kernel = test_parse(SIGNALS("n < 10 or T < 20"));
    const spad_host host = spad__host_or_default(NULL);
    const spad__challenge_param params[] = {{0, 1, 100, 30}, {1, 1, INT64_MAX, 8}};
    assert_ok(spad__challenge_list(&list, kernel, params, 2, &host, &error), &error);
    assert_true(list.shape_count > 0);
    for (size_t i = 0; i < list.shape_count; i++) {
        const int64_t *v = list.shapes[i].values;
        assert_true(v[0] >= 1 && v[0] <= 100 && v[1] >= 1);
        assert_true(v[0] >= 30 || v[1] >= 8);
        for (size_t j = 0; j < i; j++) {
            assert_true(v[0] != list.shapes[j].values[0] || v[1] != list.shapes[j].values[1]);
        }
    }
    spad_kernel_destroy(kernel);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(what_small_shapes_hide_is_found),
        cmocka_unit_test(what_is_right_stays_right),
        cmocka_unit_test(where_writes_meet_is_found),
        cmocka_unit_test(the_search_for_meetings_ends),
        cmocka_unit_test(shapes_that_cost_too_much_are_skipped),
        cmocka_unit_test(what_was_seen_is_left_out),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
