/* SPDX-License-Identifier: Apache-2.0
 *
 * How long a check goes on without looking at the clock, over kernels that are made to be slow.
 * Time is work here, not seconds: the check and the kernel are compiled for this test so that every
 * basic block calls a counter, which is also the clock. A deadline of D "nanoseconds" is one of D
 * blocks, the same on every run and every machine. The caller's watch is asked at every look: the
 * most blocks between two of them, or after the last one, is what Ctrl-C has to wait for.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "spad/check.h"
#include "support/kernels.h"
#include "support/support.h"

/* ---- the clock --------------------------------------------------------------------- */

static int64_t blocks;

void __sanitizer_cov_trace_pc(void);
void __sanitizer_cov_trace_pc(void) {
    blocks++;
}

int __wrap_clock_gettime(clockid_t clock, struct timespec *now);
int __wrap_clock_gettime(clockid_t clock, struct timespec *now) {
    (void)clock;
    *now = (struct timespec){.tv_sec = blocks / 1000000000, .tv_nsec = blocks % 1000000000};
    return 0;
}

/* ---- kernels ----------------------------------------------------------------------- */

typedef struct text {
    char *bytes;
    size_t used;
    size_t room;
} text;

static void SPAD_PRINTF(2, 3) put(text *t, const char *format, ...) {
    va_list arguments;
    if (t->room - t->used < 1024) {
        t->room = 2 * t->room + 4096;
        t->bytes = realloc(t->bytes, t->room);
        assert_non_null(t->bytes);
    }
    va_start(arguments, format);
    t->used += (size_t)vsnprintf(t->bytes + t->used, t->room - t->used, format, arguments);
    va_end(arguments);
    assert_true(t->used < t->room);
}

/* Conditions with long periods, in loops of four trip counts. */
static void put_conditions(text *t, int count) {
    put(t,
        "kernel k on trn2\nparam A = 50\nparam B = 51\nparam C = 52\nparam D = 53\n"
        "tensor a : hbm u8 [A, B] (128, 8) input\ntensor x : sbuf u8 [A, B] (128, 8) ring [3, 2]\n"
        "for i in 0..A { for j in 0..B { for k in 0..C { for l in 0..D {\nif i >= 0");
    for (int n = 0; n < count; n++) {
        put(t, " and (i * %d + j * %d + k + l) %% %d < %d", n + 3, n + 5, n + 11, n + 10);
    }
    put(t, " { dma ld reads a[i, j] writes x[i, j]\nvector v updates x[i, j] } } } } }\n");
}

/* A whole tile in many pieces, again and again. */
static void put_pieces(text *t, int count) {
    put(t, "kernel k on trn2\ntensor a : sbuf u8 (128, 64, 64, 32)\n"
           "tensor b : sbuf u8 (128, 32, 32, 32)\nfor i in 0..32 { for j in 0..32 {\n");
    for (int n = 0; n < count; n++) {
        put(t, "vector v reads a(.., i, j, 0..32) writes b(.., j, i, 0..32 by %d)\n", 2 + n % 3);
    }
    put(t, "} }\n");
}

/* Large rings and many tiles that are there from the start. */
static void put_tiles(text *t, int count) {
    put(t,
        "kernel k on trn2\nparam N = %d\ntensor a : hbm u8 [N, 64] (128, 8) input\n"
        "tensor x : sbuf u8 [N] (128, 8) ring 977\ntensor o : hbm u8 [N, 64] (128, 8) output\n"
        "for i in 0..N {\ndma l reads a[i, 3] writes x[i]\n"
        "dma s reads x[i] writes o[i, i %% 64]\n}\n",
        count);
}

/* Many statements about many tensors. */
static void put_statements(text *t, int count) {
    put(t, "kernel k on trn2\nparam N = 3\n");
    for (int n = 0; n < count; n++) put(t, "tensor x%d : sbuf u8 [N] (128, 1)\n", n);
    put(t, "for i in 0..N {\n");
    for (int n = 0; n < count; n++)
        put(t, "vector v reads x%d[i] writes x%d[i]\n", (n * 7) % count, n);
    put(t, "}\n");
}

/* A chain of agents, each ahead of the next one. */
static void put_chain(text *t, int count) {
    put(t, "kernel k on sm_90\nparam N = 6\ncounter c[%d]\ntensor x : shared u8 [%d, N] (16)\n",
        count, count);
    for (int n = 0; n < count; n++) {
        put(t, "agent a%d { for i in 0..N {\n", n);
        if (n > 0) put(t, "take c[%d]\nsimt r reads x[%d, i]\n", n - 1, n - 1);
        put(t, "simt w writes x[%d, i]\nsignal c[%d]\n} }\n", n, n);
    }
}

/* Agents that all meet at one barrier, with a count that is wrong. */
static void put_barrier(text *t, int count) {
    put(t, "kernel k on sm_90\nparam N = 40\nbarrier b count %d\ntensor x : shared u8 [%d] (16)\n",
        count - 1, count);
    for (int n = 0; n < count; n++) {
        put(t,
            "agent a%d { for i in 0..N {\nsimt w writes x[%d]\nsync b\nsimt r reads x[%d]\nsync "
            "b\n} }\n",
            n, n, (n + 1) % count);
    }
}

/* Agents that meet in every iteration of a long loop, whose state has all that is under way. */
static void put_meetings(text *t, int count) {
    put(t,
        "kernel k on sm_90\nparam N = 2000\nbarrier b count %d\ntensor x : shared u8 [%d] (64)\n",
        count, count);
    for (int n = 0; n < count; n++) {
        put(t,
            "agent a%d { for i in 0..N {\nsimt w writes x[%d]\nsync b\nsimt r reads x[(i + %d) %% "
            "%d]\nsync b\n} }\n",
            n, n, n, count);
    }
}

/* Two agents and a long loop: as many events as are kept. */
static void put_long(text *t, int count) {
    put(t,
        "kernel k on sm_90\nparam N = %d\ncounter full\ncounter empty = 3\n"
        "tensor x : shared u8 [N] (16) ring 3\n"
        "agent p { for i in 0..N {\ntake empty\nsimt w writes x[i]\nsignal full\n} }\n"
        "agent c { for i in 0..N {\ntake full\nsimt r reads x[i]\nsignal empty\n} }\n",
        count);
}

/* The same with bytes that are delivered, by operations on a unit. */
static void put_deliveries(text *t, int count) {
    put(t,
        "kernel k on sm_90\nparam N = %d\nunit tma on copy free\nmbarrier full[4] count 1\n"
        "mbarrier empty[4] count 1\ntensor x : shared u8 [N] (16) ring 4\n",
        count);
    for (int n = 0; n < 4; n++) put(t, "init full[%d]\ninit empty[%d]\n", n, n);
    put(t, "fence\nagent p { for i in 0..N {\nif i >= 4 { wait empty[i %% 4] parity (i / 4 + 1) %% "
           "2 }\n"
           "arrive full[i %% 4] expect 16\ntma w writes x[i] delivers full[i %% 4]\n} }\n"
           "agent c { for i in 0..N {\nwait full[i %% 4] parity i / 4 %% 2\nsimt r reads x[i]\n"
           "arrive empty[i %% 4]\n} }\n");
}

/* Values that nobody knows, each of which is a kernel of its own. */
static void put_unknowns(text *t, int count) {
    put(t,
        "kernel k on trn2\nparam N = 200\nunknown u[%d] in 0..3\ntensor x : sbuf u8 [N] (128, 8) "
        "ring 3\n",
        count);
    put(t, "for i in 0..N {\nvector w writes x[i]\n");
    for (int n = 0; n < count; n++) put(t, "if u[%d] == %d { vector r reads x[i] }\n", n, n % 3);
    put(t, "}\n");
}

/* A parallel loop whose iterations must be compared one by one. */
static void put_parallel(text *t, int count) {
    put(t,
        "kernel k on trn2\nparam N = %d\ntensor x : hbm u8 [70000] (128, 8)\n"
        "for i in 0..N parallel { dma w writes x[i %% 70000] }\n",
        count);
}

typedef struct slow {
    const char *name;
    void (*put)(text *t, int count);
    int count;
} slow;

static const slow kernels[] = {
    {"conditions", put_conditions, 10},
    {"pieces", put_pieces, 120},
    {"tiles", put_tiles, 200000},
    {"statements", put_statements, 4000},
    {"chain", put_chain, 900},
    {"barrier", put_barrier, 250},
    {"meetings", put_meetings, 60},
    {"long", put_long, 90000},
    {"deliveries", put_deliveries, 100000},
    {"unknowns", put_unknowns, 12},
    {"parallel", put_parallel, 3000000},
};

/* ---- looks at the clock ------------------------------------------------------------ */

typedef struct looks {
    int64_t last;
    int64_t worst; /* blocks between two */
} looks;

static void note_look(looks *l) {
    l->worst = blocks - l->last > l->worst ? blocks - l->last : l->worst;
    l->last = blocks;
}

static int look(void *context) {
    note_look(context);
    return 0;
}

/* A block takes about a nanosecond in an optimised build. The early deadline falls into the
 * replay of "meetings". */
enum { DEADLINE = 300000000, EARLY_DEADLINE = 135000000, WORST = 100000000 };

/* False: too long between two looks, or after the deadline. */
static bool check_in_time(const spad_kernel *kernel, const char *name, int64_t deadline,
                          bool one_shape) {
    looks l = {.last = blocks};
    const int64_t begin = blocks;
    const spad_check_options options = {
        .timeout_ns = deadline, .watch = {look, &l}, .one_shape = one_shape};
    spad_check *check;
    spad_error error;
    assert_ok(spad_check_create(&check, kernel, &options, &error), &error);
    note_look(&l);
    print_message("%-10s %9lld blocks, at most %8lld between two looks: %s\n", name,
                  (long long)(blocks - begin), (long long)l.worst, spad_check_get_reason(check));
    spad_check_destroy(check);
    return l.worst <= WORST && blocks - begin <= deadline + WORST;
}

static void looks_at_the_clock(void **state) {
    (void)state;
    bool fine = true;
    for (size_t i = 0; i < sizeof kernels / sizeof kernels[0]; i++) {
        text t = {NULL, 0, 0};
        kernels[i].put(&t, kernels[i].count);
        spad_kernel *kernel = test_parse(t.bytes);
        fine = check_in_time(kernel, kernels[i].name, DEADLINE, false) && fine;
        fine = check_in_time(kernel, kernels[i].name, EARLY_DEADLINE, false) && fine;
        fine = check_in_time(kernel, kernels[i].name, DEADLINE, true) && fine;
        spad_kernel_destroy(kernel);
        free(t.bytes);
    }
    assert_true(fine);
}

/* ---- what is said about it ----------------------------------------------------------- */

/* Trip counts that depend on each other, one of which may be any number: without the proof for both
 * the verdict is unknown. */
static const char joint_kernel[] =
    "kernel k on sm_90\nparam KB = 3\nparam T = 3 any\ncounter full\ncounter empty = 2\n"
    "tensor a : global u8 [T * KB] (8) input\ntensor x : shared u8 [2] (8)\n"
    "agent p { for t in 0..T { for k in 0..KB {\ntake empty\n"
    "simt w reads a[t * KB + k] writes x[(t * KB + k) % 2]\nsignal full\n} } }\n"
    "agent c { for t in 0..T { for k in 0..KB {\ntake full\nsimt r reads x[(t * KB + k) % 2]\n"
    "signal empty\n} } }\n";

static spad_verdict verdict_in(const spad_kernel *kernel, int64_t deadline, bool *names_time) {
    const spad_check_options options = {.timeout_ns = deadline, .no_advice = true};
    spad_check *check;
    spad_error error;
    assert_ok(spad_check_create(&check, kernel, &options, &error), &error);
    const spad_verdict verdict = spad_check_get_verdict(check);
    *names_time = strstr(spad_check_get_reason(check), "time was up") != NULL;
    if (verdict != SPAD_VERDICT_PROVED_ALL && !*names_time) {
        print_message("deadline %lld: %s\n", (long long)deadline, spad_check_get_reason(check));
    }
    spad_check_destroy(check);
    return verdict;
}

/* With more and more time, until it is enough: a verdict that is weaker for the lack of it says so.
 */
static void weaker_verdicts_name_the_time(void **state) {
    (void)state;
    spad_kernel *kernel = test_parse(joint_kernel);
    spad_verdict verdict = SPAD_VERDICT_UNKNOWN;
    bool names_time;
    bool all = true;
    int weaker = 0;
    for (int64_t deadline = 2000; verdict != SPAD_VERDICT_PROVED_ALL; deadline += deadline / 8) {
        verdict = verdict_in(kernel, deadline, &names_time);
        weaker += verdict != SPAD_VERDICT_PROVED_ALL;
        all = all && (verdict == SPAD_VERDICT_PROVED_ALL || names_time);
    }
    spad_kernel_destroy(kernel);
    assert_true(weaker > 10);
    assert_true(all);
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(looks_at_the_clock),
                                       cmocka_unit_test(weaker_verdicts_name_the_time)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
