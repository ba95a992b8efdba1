/* SPDX-License-Identifier: Apache-2.0
 *
 * The check against an executor that visits all executions (support/executor.h), on random
 * kernels (support/random_kernel.h): errors are reported if and only if some execution goes
 * wrong. Warnings and advice are no errors; the one about outputs that are not written is compared
 * as well. Left out of the comparison and counted: kernels that
 * the reader refuses, that break a rule of the chip or of the language (one taker for a
 * counter), that cannot be run to the end, and those too large to visit.
 *
 *   test_check_brute [COUNT [SEED [FAMILY]]]
 */
#include "support/kernels.h"
#include "support/places.h"
#include "support/support.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/random.h"
#include "spad/check.h"
#include "spad/experimental/kernel_rows.h"
#include "support/executor.h"
#include "support/random_kernel.h"

enum {
    SHOWN = 12,
    CONTENTS = EXECUTOR_STALE | EXECUTOR_UNWRITTEN | EXECUTOR_OUTPUT | EXECUTOR_FREED
};

static long kernels = 10000;
static uint64_t first_seed = 1;
static const char *only = "";

typedef struct tally {
    long made;
    long refused; /* by the reader */
    long rules;   /* errors that the executor knows nothing of */
    long large;
    long right; /* both say so */
    long wrong;
    long missed; /* the executor finds something and the check does not */
    long alarms; /* the reverse */
    long unknown;
    long lacking; /* both say that an output lacks something */
    long outputs; /* only one of them does */
} tally;

/* What the check says about a kernel. */
typedef struct verdict {
    bool rules;
    bool errors;
    bool others; /* errors that are not about the end of the block */
    bool unknown;
    bool unwritten; /* an output lacks something */
    char first[512];
} verdict;

/* Rules of the chip and of the language, not of what happens to bytes. */
static bool is_rule(spad_finding_code code) {
    return (int)code < 20 || code == SPAD_FINDING_ALLOCATION_ORDER;
}

/* Rules that change nothing of what happens: addresses that an engine needs, and what a chip can
 * count. The check goes on after them. */
static bool is_aside(spad_finding_code code) {
    return code == SPAD_FINDING_MISALIGNED || ((int)code >= 70 && (int)code < 80);
}

/* A planner that does not care: slots are in each other's way. Every second kernel has it. */
typedef struct planner {
    const spad_kernel *kernel;
    uint64_t seed;
} planner;

static bool place(void *context, int64_t tensor, int64_t slot, spad_rect *rect) {
    const planner *p = context;
    const spad_kernel_tensor *t = spad_kernel_get_tensor(p->kernel, (size_t)tensor);
    const spad_space *space = &spad_kernel_get_target(p->kernel)->spaces[t->space];
    if (space->off_chip) return false;
    spad__random random = {p->seed + (uint64_t)tensor * 97 + (uint64_t)slot};
    const int64_t spread = p->seed % 3 == 0 ? 4 : 64;
    rect->lane = 0;
    const int64_t room = (space->bytes - space->reserved) / t->tile_bytes;
    rect->byte = spad__random_in(&random, 0, spread) * 4 % room * t->tile_bytes;
    return true;
}

static verdict check(const spad_kernel *kernel, const spad_layout *layout) {
    const spad_check_options options = {.one_shape = true, .no_advice = true, .layout = layout};
    spad_check *result;
    spad_error error;
    verdict v = {0};
    assert_ok(spad_check_create(&result, kernel, &options, &error), &error);
    v.unknown = spad_check_get_verdict(result) == SPAD_VERDICT_UNKNOWN;
    for (size_t i = 0; i < spad_check_finding_count(result); i++) {
        const spad_finding *f = spad_check_get_finding(result, i);
        if (f->code == SPAD_FINDING_UNWRITTEN_OUTPUT) v.unwritten = true;
        if (f->severity != SPAD_SEVERITY_ERROR || is_aside(f->code)) continue;
        if (is_rule(f->code)) v.rules = true;
        if (!v.errors) {
            snprintf(v.first, sizeof v.first, "%s line %d: %s", spad_finding_name(f->code), f->line,
                     f->message);
        }
        v.errors = true;
        v.others |= f->code != SPAD_FINDING_UNFINISHED;
    }
    if (!v.errors) snprintf(v.first, sizeof v.first, "%s", spad_check_get_reason(result));
    spad_check_destroy(result);
    return v;
}

/* Does the check find what the executor finds? The executor looks at ends last, so an operation
 * that nothing waits for does not stand for another error. */
static bool is_found(const verdict *v, const executor_result *run) {
    return run->wrong == EXECUTOR_UNFINISHED ? v->errors : v->others;
}

static void show(const char *what, uint64_t seed, const char *text, const verdict *v,
                 const executor_result *run, long *shown) {
    if (shown[what[0] == 'm']++ >= SHOWN) return;
    printf("---- %s, seed %llu\n%s", what, (unsigned long long)seed, text);
    printf("  check:    %s\n  executor: %s%s%s\n", v->first, executor_word(run->wrong),
           run->about[0] != '\0' ? ": " : "", run->about);
}

static void compare(uint64_t seed, tally *tallies, long *shown) {
    char text[RANDOM_KERNEL_TEXT];
    const int family = random_kernel(seed, text);
    if (strstr(random_kernel_family(family), only) == NULL) return;
    tally *t = &tallies[family];
    t->made++;
    spad_kernel *kernel;
    if (spad_kernel_parse(&kernel, text, strlen(text), "k", NULL, NULL, NULL) != SPAD_OK) {
        t->refused++;
        return;
    }
    planner plan = {kernel, seed};
    spad_layout *layout = seed % 2 == 0 ? test_layout_with(kernel, place, &plan) : NULL;
    const executor_options options = {.states_max = 20000, .layout = layout};
    const verdict v = check(kernel, layout);
    const executor_result run = executor_run_all_values(kernel, &options);
    spad_layout_destroy(layout);
    spad_kernel_destroy(kernel);
    if (!run.walk_failed && !run.views) {
        t->lacking += v.unwritten && run.unwritten;
        t->outputs += v.unwritten != run.unwritten;
        if (v.unwritten != run.unwritten) show("outputs", seed, text, &v, &run, shown);
    }
    if (v.rules || run.walk_failed || run.takers) {
        t->rules++;
    } else if (!run.decided || run.unmodelled) {
        t->large++;
    } else if (v.unknown && (run.wrong == 0 || (run.wrong & CONTENTS) != 0)) {
        t->unknown++;
    } else if (v.errors && run.wrong == 0) {
        t->alarms++;
        show("false alarm", seed, text, &v, &run, shown);
    } else if (run.wrong != 0 && !is_found(&v, &run)) {
        t->missed++;
        show("missed", seed, text, &v, &run, shown);
    } else if (v.errors) {
        t->wrong++;
    } else {
        t->right++;
    }
}

static void print_tally(const char *name, const tally *t) {
    printf("%-12s %7ld %7ld %7ld %7ld %7ld | %7ld %7ld | %7ld %7ld\n", name, t->made, t->refused,
           t->rules, t->large, t->unknown, t->right, t->wrong, t->missed, t->alarms);
}

static void the_check_agrees_with_all_executions(void **state) {
    (void)state;
    tally tallies[RANDOM_KERNEL_FAMILIES] = {0};
    tally sum = {0};
    long shown[2] = {0};
    for (long i = 0; i < kernels; i++) compare(first_seed + (uint64_t)i, tallies, shown);
    printf("%-12s %7s %7s %7s %7s %7s | %7s %7s | %7s %7s\n", "family", "kernels", "refused",
           "rules", "large", "unknown", "right", "wrong", "missed", "alarms");
    for (int i = 0; i < RANDOM_KERNEL_FAMILIES; i++) {
        const tally *t = &tallies[i];
        print_tally(random_kernel_family(i), t);
        sum.made += t->made;
        sum.refused += t->refused;
        sum.rules += t->rules;
        sum.large += t->large;
        sum.unknown += t->unknown;
        sum.right += t->right;
        sum.wrong += t->wrong;
        sum.missed += t->missed;
        sum.alarms += t->alarms;
        sum.lacking += t->lacking;
        sum.outputs += t->outputs;
    }
    print_tally("all", &sum);
    printf("%ld kernels with outputs that lack something, %ld where only one says so\n",
           sum.lacking, sum.outputs);
    assert_int_equal(sum.missed, 0);
    assert_int_equal(sum.alarms, 0);
    assert_int_equal(sum.outputs, 0);
    assert_int_equal(sum.unknown, 0);
    /* the sample must be worth something */
    if (only[0] == '\0' && kernels >= 1000) {
        assert_true(sum.right > kernels / 10);
        assert_true(sum.wrong > kernels / 5);
        assert_true(sum.lacking > kernels / 20);
    }
}

/* Kernels that the check once took for right, found here. */
static void what_was_missed_is_found(void **state) {
    (void)state;
    static const char *const texts[] = {
        /* a read and a write of one operation, followed by an async write without a fence */
        "kernel k on sm_90\nunit up on simt free proxy\n"
        "tensor y : shared u8 (8) at 71 input\ntensor z : shared u8 (8) at 69 input\n"
        "simt op reads z writes y\nagent a { up op writes z\ndrain all }\n",
        /* a race of two statements that have a warning in an earlier iteration */
        "kernel k on sm_90\nparam N = 4\nunit tma on copy free proxy\n"
        "mbarrier full count 1\nmbarrier empty count 1\n"
        "tensor a : global u8 [N] (8) input\ntensor o : global u8 [N] (8) output\n"
        "tensor x : shared u8 [N] (8) at 32\n"
        "init full\ninit empty\nfence\n"
        "agent p {\nfor i in 0..N {\nwait empty parity (i + 1) % 2\narrive full expect 8\n"
        "if i == 1 { tma load reads a[i] writes x[1] delivers full }\n"
        "if i != 1 { tma load reads a[i] writes x[0] delivers full }\n}\n}\n"
        "agent c {\nfor i in 0..N {\nwait full parity i % 2\narrive empty\n"
        "if i == 1 { simt use reads x[1] writes o[i] }\n"
        "if i != 1 { simt use reads x[0] writes o[i] }\n}\n}\n",
        /* sums, a read after them, and then a copy that adds: the read is ordered only */
        "kernel k on sm_90\nunit tma on copy free proxy\ngroup g\n"
        "tensor x : shared u8 (8) at 64 input\n"
        "simt op adds x\nsimt op reads x\ntma op adds x in g\ndrain all\n",
        "kernel k on sm_90\nunit tma on copy free proxy\ngroup g\n"
        "tensor x : shared u8 (8) at 64 input\n"
        "simt op adds x\nsimt op reads x\ntma op writes x in g\ndrain all\n",
        /* bytes for an mbarrier that has no life: the search for a cause judges such a run */
        "kernel cursors on sm_90\n"
        "param N = 3\n"
        "param S = 3\n"
        "unit tma on copy free\n"
        "mbarrier full[S] count 1\n"
        "mbarrier empty[S] count 1\n"
        "tensor a : global uint8 [N, N + 2] (8) input\n"
        "tensor o : global uint8 [N, N + 2] (8) output\n"
        "tensor x : shared uint8 [S] (8)\n"
        "for s in 0..S {\n"
        "init empty[s] count 1\n"
        "}\n"
        "agent p {\n"
        "cursor stage, phase mod S\n"
        "for t in 0..N {\n"
        "for i in t..2 * t + 1 {\n"
        "if i != 1 or t == 0 {\n"
        "wait empty[stage] parity 1 - phase\n"
        "arrive full[stage] by 1 expect 8\n"
        "tma load reads a[t, i] writes x[stage] delivers full[stage]\n"
        "advance stage by 1\n"
        "}\n"
        "}\n"
        "}\n"
        "}\n"
        "agent c {\n"
        "cursor stage, phase mod S\n"
        "for t in 0..N {\n"
        "for i in t..2 * t + 1 {\n"
        "if i != 1 or t == 0 {\n"
        "simt use reads x[stage] writes o[t, i]\n"
        "arrive empty[stage] by 1\n"
        "advance stage by 1\n"
        "}\n"
        "}\n"
        "}\n"
        "}\n",
    };
    for (size_t i = 0; i < sizeof texts / sizeof texts[0]; i++) {
        spad_kernel *kernel = test_parse(texts[i]);
        assert_int_not_equal(executor_run(kernel, NULL).wrong, 0);
        assert_true(check(kernel, NULL).others);
        spad_kernel_destroy(kernel);
    }
}

/* The executor leaves executions out that cannot show anything new; here it does not. */
static void the_executor_leaves_nothing_out(void **state) {
    (void)state;
    const executor_options reduced = {.states_max = 20000};
    const executor_options plain = {.states_max = 5000, .plain = true};
    long compared = 0;
    for (uint64_t seed = first_seed; seed < first_seed + 1500; seed++) {
        char text[RANDOM_KERNEL_TEXT];
        spad_kernel *kernel;
        random_kernel(seed, text);
        if (spad_kernel_parse(&kernel, text, strlen(text), "k", NULL, NULL, NULL) != SPAD_OK) {
            continue;
        }
        const executor_result fast = executor_run(kernel, &reduced);
        const executor_result slow = executor_run(kernel, &plain);
        spad_kernel_destroy(kernel);
        if (!fast.decided || !slow.decided) continue;
        if ((fast.wrong == 0) != (slow.wrong == 0)) {
            print_error("%s\n%s (%s), all executions: %s (%s)\n", text, executor_word(fast.wrong),
                        fast.about, executor_word(slow.wrong), slow.about);
        }
        assert_int_equal(fast.wrong == 0, slow.wrong == 0);
        compared++;
    }
    assert_true(compared > 500);
}

/* Is the kernel right for N iterations? Too large, or no such shape: nothing speaks against it. */
static bool holds(const char *text, int64_t n, executor_result *run) {
    const spad_define define = {"N", n};
    const spad_kernel_options options = {.defines = &define, .define_count = 1};
    const executor_options limits = {.states_max = 20000};
    spad_kernel *other;
    if (spad_kernel_parse(&other, text, strlen(text), "k", &options, NULL, NULL) != SPAD_OK) {
        return true;
    }
    *run = executor_run_all_values(other, &limits);
    spad_kernel_destroy(other);
    return !run->decided || run->unmodelled || run->wrong == 0;
}

/* "Proved for all trip counts": so every other trip count is right, too. */
static void proofs_hold_for_other_trip_counts(void **state) {
    (void)state;
    long proved = 0;
    long wrong = 0;
    for (uint64_t seed = first_seed; seed < first_seed + (uint64_t)kernels / 5; seed++) {
        char text[RANDOM_KERNEL_TEXT];
        spad_kernel *kernel;
        spad_check *result;
        const int family = random_kernel(seed, text);
        if (strstr(random_kernel_family(family), only) == NULL) continue;
        if (strstr(text, "param N") == NULL) continue;
        if (spad_kernel_parse(&kernel, text, strlen(text), "k", NULL, NULL, NULL) != SPAD_OK) {
            continue;
        }
        assert_int_equal(spad_check_create(&result, kernel, NULL, NULL), SPAD_OK);
        const bool all = spad_check_get_verdict(result) == SPAD_VERDICT_PROVED_ALL;
        proved += all;
        for (int64_t n = 0; all && n <= 9; n++) {
            executor_result run = {0};
            if (holds(text, n, &run)) continue;
            wrong++;
            printf(
                "---- proved for all, and wrong with N = %lld, seed %llu\n%s  executor: %s: %s\n",
                (long long)n, (unsigned long long)seed, text, executor_word(run.wrong), run.about);
            break;
        }
        spad_check_destroy(result);
        spad_kernel_destroy(kernel);
    }
    printf("%ld kernels are proved for all trip counts, %ld of them are wrong for some\n", proved,
           wrong);
    assert_true(only[0] != '\0' || kernels < 1000 || proved > kernels / 100);
    assert_int_equal(wrong, 0);
}

int main(int argc, char **argv) {
    if (argc > 1) kernels = atol(argv[1]);
    if (argc > 2) first_seed = strtoull(argv[2], NULL, 10);
    if (argc > 3) only = argv[3];
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(what_was_missed_is_found),
        cmocka_unit_test(the_executor_leaves_nothing_out),
        cmocka_unit_test(the_check_agrees_with_all_executions),
        cmocka_unit_test(proofs_hold_for_other_trip_counts),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
