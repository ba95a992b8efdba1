/* SPDX-License-Identifier: Apache-2.0
 * Proofs for all trip counts against every trip count: random kernels with a parameter N.
 * What is proved for all N must be right for every N of a long row, each looked at alone; and
 * a large N must get the verdict of the shape itself, although only a small one is run. */
#include "support/support.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "base/random.h"
#include "spad/check.h"

enum { ROW = 26, LARGE = 97 };

/* ---- random kernels ---------------------------------------------------------------------- */

typedef struct page {
    char text[8192];
    size_t used;
    spad__random random;
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
    switch (pick(p, 8)) {
    case 0: put(p, "if i == %lld {\n", n); break;
    case 1: put(p, "if i > %lld {\n", n); break;
    case 2: put(p, "if i < N - %lld {\n", n); break;
    case 3: put(p, "if i == N - %lld {\n", n + 1); break;
    case 4: put(p, "if i %% 2 == %lld {\n", n % 2); break;
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

static void make_kernel(page *p) {
    p->used = 0;
    put(p, "kernel k on trn2\nparam N = 3\n");
    for (int i = 0; i < 3; i++) put_tensor(p, names[i]);
    put(p, "tensor c : sbuf bf16 [2] (128, 8)\n");
    if (pick(p, 8) > 0) put(p, "vector first writes c[0]\nvector first writes c[1]\n");
    if (pick(p, 4) == 0) put_operation(p, false);
    const bool outer = pick(p, 4) == 0;
    if (outer) put(p, "for o in 0..2 {\n");
    if (outer && pick(p, 2) == 0) put_operation(p, false);
    put(p, "for i in 0..%s {\n", pick(p, 6) == 0 ? "N / 2" : "N");
    for (int64_t i = pick(p, 2) + 1; i > 0; i--) put_pipeline(p);
    if (pick(p, 3) == 0) put_guarded(p);
    put(p, "}\n");
    if (outer) put(p, "}\n");
    if (pick(p, 4) == 0) put_operation(p, false);
}

/* ---- both ways ---------------------------------------------------------------------------- */

typedef struct answer {
    bool possible;
    spad_verdict verdict;
    char reason[SPAD_MESSAGE_MAX];
    int64_t events;
} answer;

static answer ask(const page *p, int64_t n, bool one_shape) {
    const spad_define define = {"N", n};
    const spad_kernel_options options = {.defines = &define, .define_count = 1};
    const spad_check_options how = {.one_shape = one_shape, .no_advice = true};
    spad_error error;
    spad_kernel *kernel;
    spad_check *check;
    answer a = {.possible = false};
    if (spad_kernel_parse(&kernel, p->text, p->used, "k", &options, NULL, &error) != SPAD_OK) {
        return a;
    }
    assert_ok(spad_check_kernel(&check, kernel, &how, &error), &error);
    a.possible = true;
    a.verdict = spad_check_verdict(check);
    a.events = spad_check_get_counts(check).events;
    snprintf(a.reason, sizeof a.reason, "%s", spad_check_reason(check));
    spad_check_destroy(check);
    spad_kernel_destroy(kernel);
    return a;
}

static void fail_with(const page *p, const char *what, int64_t n) {
    print_error("%s, N = %lld:\n%s", what, (long long)n, p->text);
    fail();
}

static void look_at(const page *p, int64_t *proved, int64_t *wrong) {
    const answer all = ask(p, LARGE, false);
    if (!all.possible) return;
    const answer alone = ask(p, LARGE, true);
    if ((all.verdict == SPAD_VERDICT_WRONG) != (alone.verdict == SPAD_VERDICT_WRONG)) {
        fail_with(p, "the small shape does not stand for the large one", LARGE);
    }
    *wrong += all.verdict == SPAD_VERDICT_WRONG;
    if (all.verdict != SPAD_VERDICT_PROVED_ALL) return;
    ++*proved;
    for (int64_t n = 0; n < ROW; n++) {
        const answer one = ask(p, n, true);
        if (one.possible && one.verdict == SPAD_VERDICT_WRONG) fail_with(p, "proved, and wrong", n);
    }
}

static int64_t kernels = 2000;

static void all_trip_counts(void **state) {
    (void)state;
    page p;
    int64_t proved = 0;
    int64_t wrong = 0;
    p.random.state = 7;
    for (int64_t i = 0; i < kernels; i++) {
        make_kernel(&p);
        look_at(&p, &proved, &wrong);
    }
    print_message("%lld kernels: %lld proved for all N, %lld wrong\n", (long long)kernels,
                  (long long)proved, (long long)wrong);
    assert_true(proved * 20 > kernels);
    assert_true(wrong * 20 > kernels);
}

int main(int count, char **words) {
    if (count > 1) kernels = atoll(words[1]);
    const struct CMUnitTest tests[] = {cmocka_unit_test(all_trip_counts)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
