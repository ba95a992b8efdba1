/* SPDX-License-Identifier: Apache-2.0
 *
 * Threads inside an agent: what all of them do and what one of them does need a sync between.
 */
#include <stdio.h>
#include <string.h>

#include "spad/spad.h"
#include "support/executor.h"
#include "support/kernels.h"
#include "support/support.h"

#define HEAD                                                                                     \
    "kernel k on sm_90\nunit tma on copy free proxy\nunit cp on copy free\ngroup g\n"            \
    "group st\nbarrier b count 128\n"                                                            \
    "mbarrier m count 128\nmbarrier full count 1\ninit m\ninit full\nfence\n"                    \
    "tensor in : global f32 (256) input\ntensor o : global f32 (256) output\n"                   \
    "tensor x : shared f32 (256)\ntensor y : shared f32 (256)\ntensor r : registers f32 (256)\n" \
    "agent c of 128 threads {\n"
#define STORE "tma store reads x writes o elected in g\ncommit g\n"
#define FILL "simt fill writes x\nfence\n"
#define COPY HEAD "cp load reads in writes x in g\ncommit g\nfence\n"
#define KEEP "fence\ntma store reads x writes o elected in st\ncommit st\nwait st pending 0\n}\n"
#define LAST "wait g pending 0\n}\n"

static const struct {
    const char *text;
    int64_t count; /* of findings */
} cases[] = {
    /* all write, one stores */
    {HEAD FILL "sync b by 128\n" STORE LAST, 0},
    {HEAD FILL STORE LAST, 1},
    {HEAD "sync b by 128\n" FILL STORE LAST, 1},
    {HEAD FILL "arrive m by 128\nwait m parity 0\n" STORE LAST, 0},
    {HEAD "arrive m by 128\n" FILL "wait m parity 0\n" STORE LAST, 1},
    /* without `elected` it is an operation of all, and without threads there is one */
    {HEAD FILL "tma store reads x writes o in g\ncommit g\n" LAST, 0},
    /* other bytes, and bytes that both read */
    {HEAD "simt fill writes y\n" FILL "sync b by 128\nsimt fill writes y(0..8)\n" STORE LAST, 0},
    {HEAD FILL "sync b by 128\nsimt look reads x\n" STORE LAST, 0},
    /* one waits for its store, then all write again */
    {HEAD FILL "sync b by 128\n" STORE "wait g pending 0 reads\nsync b by 128\n" FILL LAST, 0},
    {HEAD FILL "sync b by 128\n" STORE "wait g pending 0 reads\n" FILL LAST, 1},
    {HEAD FILL "sync b by 128\n" STORE "sync b by 128\nwait g pending 0 reads\n" FILL LAST, 1},
    /* the store before the last one is over, not the last */
    {HEAD FILL "sync b by 128\n" STORE "tma store reads y elected in g\ncommit g\n"
               "wait g pending 1 reads\nsync b by 128\n" FILL LAST,
     0},
    {HEAD FILL "sync b by 128\ntma store reads y elected in g\ncommit g\n" STORE
               "wait g pending 1 reads\nsync b by 128\n" FILL LAST,
     1},
    /* what tells its end to an mbarrier is waited for by all */
    {HEAD "arrive full expect 1024\ntma load reads in writes x elected delivers full\n"
          "wait full parity 0\nsimt use reads x writes r\n" LAST,
     0},
    /* one thread computes */
    {HEAD "simt first writes y elected\nsimt use reads y writes r\n" LAST, 1},
    {HEAD "simt first writes y elected\nsync b by 128\nsimt use reads y writes r\n" LAST, 0},
    /* registers are of a thread */
    {HEAD "simt clear writes r\nsimt first reads r writes y elected\n" LAST, 0},
    /* sums in any order */
    {HEAD "simt add adds y\nsimt add adds y elected\n" LAST, 0},
    {HEAD "simt add adds y\nsimt first updates y elected\n" LAST, 1},
    /* a sync of some threads is not one of all */
    {HEAD FILL "sync b by 64\n" STORE LAST "agent d { sync b by 64 }\n", 1},
    /* the elected thread arrives after its write, and all wait for that */
    {HEAD "simt first writes y elected\narrive full\nwait full parity 0\n"
          "simt use reads y writes r\n" LAST,
     0},
    {HEAD "arrive full\nsimt first writes y elected\nwait full parity 0\n"
          "simt use reads y writes r\n" LAST,
     1},
    /* so does a unit when its copy is done */
    {HEAD "tma load reads in writes x elected\narrive full on tma\nwait full parity 0\n"
          "simt use reads x writes r\n" LAST,
     0},
    /* all read and arrive, another agent waits for that and lets the elected thread go on */
    {HEAD "simt use reads x\nfence\narrive m by 128\nwait full parity 0\n"
          "tma load reads in writes x elected in g\ncommit g\n" LAST
          "agent d {\nwait m parity 0\narrive full\n}\n",
     0},
    {HEAD "simt use reads x\nfence\narrive m by 127\nwait full parity 0\n"
          "tma load reads in writes x elected in g\ncommit g\n" LAST
          "agent d {\narrive m\nwait m parity 0\narrive full\n}\n",
     1},
    /* the second phase, and a thread that has not waited for the first may take it for that */
    {HEAD "arrive full\nsimt first writes y elected\narrive full\nwait full parity 1\n"
          "simt use reads y writes r\n" LAST,
     1},
    {HEAD "arrive full\nwait full parity 0\nsimt first writes y elected\narrive full\n"
          "wait full parity 1\nsimt use reads y writes r\n" LAST,
     0},
    /* each thread waits for its own part of a copy, and then they meet */
    {COPY "sync b by 128\nwait g pending 0\n" KEEP, 1},
    {COPY "wait g pending 0\nsync b by 128\n" KEEP, 0},
    {COPY "wait g pending 0\n" KEEP, 1},
    {COPY "wait g pending 1\nsync b by 128\n" KEEP, 1},
    {COPY "drain all\nsync b by 128\n" KEEP, 0},
    {COPY "sync b by 128\ndrain all\n" KEEP, 1},
    {COPY "wait g pending 0\narrive m by 128\nwait m parity 0\n" KEEP, 0},
    {COPY "arrive m by 128\nwait g pending 0\nwait m parity 0\n" KEEP, 1},
    /* or arrives when it is over */
    {COPY "arrive m by 128 on cp\nwait m parity 0\n" KEEP, 0},
    {COPY "arrive full on cp\nwait full parity 0\n" KEEP, 1},
    {COPY "arrive m by 128 on tma\nwait m parity 0\nwait g pending 0\n" KEEP, 1},
    {HEAD "cp load reads in writes x\narrive m by 128 on cp\nwait m parity 0\nfence\n" KEEP, 0},
    {HEAD FILL "arrive m by 128 on cp\nwait m parity 0\n" KEEP, 0},
    /* bytes are delivered by all parts */
    {HEAD "arrive full expect 1024\ncp load reads in writes x delivers full\n"
          "wait full parity 0\nfence\n" KEEP,
     0},
    /* sums by threads and by copies */
    {HEAD "simt add adds o\ntma add reads in adds o elected in g\ncommit g\n" LAST, 1},
};

/* A ring of one stage: a producer fills it, 128 threads read it, and something says that it is
 * free. */
#define RING(count, read, release)                                                                 \
    "kernel k on sm_90\nparam N = 3\nunit tma on copy free proxy\nunit mma on tensor same proxy\n" \
    "group g\nbarrier b count 128\nmbarrier full count 1\nmbarrier empty count " count "\n"        \
    "mbarrier m count 128\ncounter n\ninit full\ninit empty\ninit m\nfence\n"                      \
    "tensor in : global f32 [N] (256) input\ntensor x : shared f32 (256)\n"                        \
    "tensor r : registers f32 (256)\nagent p {\nfor i in 0..N {\n"                                 \
    "wait empty parity (i + 1) % 2\narrive full expect 1024\n"                                     \
    "tma load reads in[i] writes x delivers full\n}\n}\nagent c of 128 threads {\n"                \
    "for i in 0..N {\n" read release "}\ndrain all\n}\n"
#define WAIT "wait full parity i % 2\n"
#define USE WAIT "simt use reads x writes r\nfence\n"
#define MULTIPLY WAIT "mma multiply reads x writes r in g\ncommit g\n"

static const struct {
    const char *text;
    int64_t count;        /* of findings */
    spad_verdict verdict; /* where there are none */
} rings[] = {
    /* the elected thread says that the stage is free, and the others may still read it */
    {RING("1", USE, "arrive empty elected\n"), 1, 0},
    {RING("1", USE, "sync b by 128\narrive empty elected\n"), 0, SPAD_VERDICT_PROVED_ALL},
    {RING("1", USE, "arrive empty elected\nsync b by 128\n"), 1, 0},
    {RING("1", USE, "arrive m by 128\nwait m parity i % 2\narrive empty elected\n"), 0,
     SPAD_VERDICT_PROVED_ALL},
    {RING("1", USE, "if i < 2 { sync b by 128 }\narrive empty elected\n"), 0,
     SPAD_VERDICT_PROVED_SHAPE},
    /* all threads, or one of each warp for its warp; a thread with the count of all is one */
    {RING("128", USE, "arrive empty by 128\nsimt first elected\n"), 0, SPAD_VERDICT_PROVED_ALL},
    {RING("4", USE, "arrive empty by 4\nsimt first elected\n"), 0, SPAD_VERDICT_PROVED_ALL},
    {RING("2", USE, "arrive empty by 2\nsimt first elected\n"), 1, 0},
    {RING("1", USE, "arrive empty\nsimt first elected\n"), 1, 0},
    {RING("128", USE, "arrive empty by 128 elected\n"), 1, 0},
    /* nothing is elected: the arrival stands for the agent */
    {RING("1", USE, "arrive empty\n"), 0, SPAD_VERDICT_PROVED_ALL},
    /* a product on the matrix unit is one operation of all threads */
    {RING("1", MULTIPLY, "wait g pending 0\narrive empty elected\n"), 0, SPAD_VERDICT_PROVED_ALL},
    {RING("1", MULTIPLY, "arrive empty on mma elected\n"), 0, SPAD_VERDICT_PROVED_ALL},
    /* one thread waits, and all read */
    {RING("128", "wait full parity i % 2 elected\nsimt use reads x writes r\n",
          "arrive empty by 128\n"),
     1, 0},
    {RING("128", "wait full parity i % 2 elected\nsync b by 128\nsimt use reads x writes r\n",
          "arrive empty by 128\n"),
     0, SPAD_VERDICT_PROVED_ALL},
};

/* Also races: where the elected thread has not waited for what it did itself. */
static int64_t count_missing(const spad_check *check) {
    int64_t count = 0;
    for (size_t f = 0; f < spad_check_finding_count(check); f++) {
        const spad_finding *finding = spad_check_get_finding(check, f);
        count +=
            (finding->code == SPAD_FINDING_MISSING_SYNC || finding->code == SPAD_FINDING_RACE) &&
            finding->severity == SPAD_SEVERITY_ERROR; /* not those with other values of N */
    }
    return count;
}

static void an_elected_arrival_is_of_one_thread(void **state) {
    (void)state;
    for (size_t i = 0; i < sizeof rings / sizeof rings[0]; i++) {
        spad_kernel *kernel = test_parse(rings[i].text);
        spad_check *check;
        spad_error error;
        assert_ok(spad_check_create(&check, kernel, NULL, &error), &error);
        const int64_t count = count_missing(check);
        const bool fits = count > 0 || spad_check_get_verdict(check) == rings[i].verdict;
        if (count != rings[i].count || !fits) {
            print_error("case %zu:\n%s%s\n", i, rings[i].text, spad_check_get_reason(check));
        }
        assert_int_equal(count, rings[i].count);
        assert_true(fits);
        spad_check_destroy(check);
        const executor_result run = executor_run(kernel, NULL);
        assert_true(run.decided);
        assert_int_equal(run.wrong, count > 0 ? EXECUTOR_SYNC : 0);
        spad_kernel_destroy(kernel);
    }
}

#define SHARED                                                                                     \
    "kernel k on sm_90\nunit cp on copy free\nunit mma on tensor same proxy\ngroup g\n"            \
    "barrier all count 2\nmbarrier full count 1\ncounter n\ninit full\nfence\n"                    \
    "tensor in : global f32 (8) input\ntensor x : shared f32 (8) input\nagent c of 64 threads {\n" \
    "simt first elected\n"

/* Counters are of the elected thread; agents that meet bring all threads. */
static void counters_and_meetings(void **state) {
    (void)state;
    static const struct {
        const char *text;
        int64_t count;
    } kernels[] = {
        {SHARED "simt look reads x\nsignal n\n}\nagent d {\nwait n >= 1\nsimt fill writes x\n}\n",
         1},
        {SHARED "wait n >= 1\nsimt look reads x\n}\nagent d {\nsimt fill writes x\nsignal n\n}\n",
         1},
        {SHARED "take n\nsimt look reads x\n}\nagent d {\nsimt fill writes x\nsignal n\n}\n", 1},
        {SHARED "simt look reads x\nsync all\n}\nagent d {\nsync all\nsimt fill writes x\n}\n", 0},
        {SHARED "sync all\nsimt look reads x\n}\nagent d {\nsimt fill writes x\nsync all\n}\n", 0},
        {SHARED "mma use reads x signals n\n}\nagent d {\nwait n >= 1\nsimt fill writes x\n}\n", 1},
        /* other things of the elected thread come between its wait, or arrival, and the access */
        {SHARED "take n\nsignal n\nfence\nsimt second\nsimt look reads x\n}\n"
                "agent d {\nsimt fill writes x\nsignal n\n}\n",
         1},
        {SHARED "simt look reads x\nfence\nwait full parity 1\nsimt second\nsignal n\n}\n"
                "agent d {\nwait n >= 1\nsimt fill writes x\n}\n",
         1},
        /* one thread waits for the copies that all have issued */
        {SHARED "cp load reads in writes x\narrive full on cp\nwait full parity 0\n"
                "simt look reads x\n}\n",
         1},
        /* it is let on by something else than an arrival of the elected thread */
        {SHARED "simt look reads x\ncp load reads in elected arrives full\n}\n"
                "agent d {\nwait full parity 0\nsimt fill writes x\n}\n",
         1},
    };
    for (size_t i = 0; i < sizeof kernels / sizeof kernels[0]; i++) {
        spad_kernel *kernel = test_parse(kernels[i].text);
        spad_check *check;
        assert_int_equal(spad_check_create(&check, kernel, NULL, NULL), SPAD_OK);
        if (count_missing(check) != kernels[i].count) print_error("%s\n", kernels[i].text);
        assert_int_equal(count_missing(check), kernels[i].count);
        spad_check_destroy(check);
        spad_kernel_destroy(kernel);
    }
}

/* The message names both accesses, the agent, and what to do. */
static void the_message_says_where_to_sync(void **state) {
    (void)state;
    static const struct {
        size_t ring;
        const char *message;
        const char *note;
        int line; /* of the note */
    } messages[] = {
        {0,
         "load of iteration i = 1 (p) accesses 'x', which use of iteration i = 0 (c) does by all "
         "of "
         "128 threads; it waits for one of them, and the others may not be done",
         "the elected thread arrives at empty for all 128; `sync` before it", 30},
        {13,
         "use of iteration i = 0 (c) accesses 'x' by all of 128 threads, after load of iteration "
         "i = 0 (p), and only one of them has waited for that",
         "the elected thread waits for full for all 128; `sync` after it", 27},
    };
    for (size_t i = 0; i < sizeof messages / sizeof messages[0]; i++) {
        spad_kernel *kernel = test_parse(rings[messages[i].ring].text);
        spad_check *check;
        assert_int_equal(spad_check_create(&check, kernel, NULL, NULL), SPAD_OK);
        const spad_finding *f = spad_check_get_finding(check, 0);
        assert_string_equal(f->message, messages[i].message);
        assert_int_equal(f->note_count, 2);
        assert_string_equal(f->notes[1].message, messages[i].note);
        assert_int_equal(f->notes[1].line, messages[i].line);
        spad_check_destroy(check);
        spad_kernel_destroy(kernel);
    }
}

/* Only arrivals and waits at mbarriers are of one thread. */
static void what_cannot_be_elected_is_refused(void **state) {
    (void)state;
    static const char *const statements[] = {
        "sync b elected\n",        "arrive b elected\n",         "signal n elected\n",
        "commit g elected\n",      "wait n >= 1 elected\n",      "init m elected\n",
        "expect m by 8 elected\n", "wait g pending 0 elected\n", "take n elected\n",
    };
    for (size_t i = 0; i < sizeof statements / sizeof statements[0]; i++) {
        char text[512];
        spad_kernel *kernel;
        spad_error error;
        snprintf(text, sizeof text,
                 "kernel k on sm_90\ngroup g\nbarrier b count 32\nmbarrier m count 1\ncounter n\n"
                 "agent c of 32 threads {\n%s}\n",
                 statements[i]);
        assert_int_not_equal(
            spad_kernel_parse(&kernel, text, strlen(text), "k", NULL, NULL, &error), SPAD_OK);
        assert_non_null(strstr(error.message, "has no 'elected'"));
    }
}

static void writes_of_all_and_actions_of_one(void **state) {
    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        spad_kernel *kernel = test_parse(cases[i].text);
        spad_check *check;
        spad_error error;
        assert_ok(spad_check_create(&check, kernel, NULL, &error), &error);
        const int64_t count = count_missing(check);
        if (count != cases[i].count) print_error("case %zu:\n%s", i, cases[i].text);
        assert_int_equal(count, cases[i].count);
        spad_check_destroy(check);
        spad_kernel_destroy(kernel);
    }
}

/* A sync that is missing only when a loop is long enough is no proof for all trip counts. */
static void elected_operations_in_loops(void **state) {
    (void)state;
#define LOOP(ring, guard)                                                                       \
    "kernel k on sm_90\nparam N = 2\ntensor x : shared f32 [N] (8) ring " ring                  \
    "\nbarrier b count 128\nagent c of 128 threads {\nfor i in 0..N {\nsimt fill writes x[i]\n" \
    "sync b by 128\nsimt look reads x[i] elected\nif " guard " { sync b by 128 }\n}\n}\n"
#define WAITS(guard)                                                                    \
    "kernel k on sm_90\nparam N = 2\ntensor x : shared f32 (8)\nmbarrier m count 1\n"   \
    "mbarrier r count 128\ninit m\ninit r\nagent c of 128 threads {\nfor i in 0..N {\n" \
    "simt fill writes x elected\narrive m\n" guard " { wait m parity i % 2 }\n"         \
    "simt look reads x\narrive r by 128\nwait r parity i % 2\n}\n}\n"
    static const struct {
        const char *text;
        spad_verdict verdict;
    } loops[] = {
        {LOOP("1", "i >= 0"), SPAD_VERDICT_PROVED_ALL},
        {LOOP("1", "i < 20"), SPAD_VERDICT_PROVED_SHAPE},
        {LOOP("1", "i % 2 == 0"), SPAD_VERDICT_PROVED_SHAPE},
        {LOOP("2", "i < 0"), SPAD_VERDICT_PROVED_ALL}, /* they meet before the ring comes round */
        {WAITS("if i >= 0"), SPAD_VERDICT_PROVED_ALL},
        {WAITS("if i < 9"), SPAD_VERDICT_PROVED_SHAPE},
        {WAITS("if i != 9"), SPAD_VERDICT_PROVED_SHAPE},
    };
    for (size_t i = 0; i < sizeof loops / sizeof loops[0]; i++) {
        spad_kernel *kernel = test_parse(loops[i].text);
        spad_check *check;
        spad_error error;
        assert_ok(spad_check_create(&check, kernel, NULL, &error), &error);
        if (spad_check_get_verdict(check) != loops[i].verdict) {
            print_error("%s%s\n", loops[i].text, spad_check_get_reason(check));
        }
        assert_int_equal(spad_check_get_verdict(check), loops[i].verdict);
        spad_check_destroy(check);
        spad_kernel_destroy(kernel);
    }
#undef LOOP
#undef WAITS
}

/* Some of the allocations of a proof fail, each alone. */
static void prove_without_memory(const spad_kernel *kernel, long step) {
    spad_status status = SPAD_ERR_HOST_MEMORY;
    for (long n = 1; status == SPAD_ERR_HOST_MEMORY; n += step) {
        test_host host;
        test_host_init(&host);
        host.fail_at = n;
        const spad_check_options options = {.host = &host.host, .no_advice = true};
        spad_check *check;
        status = spad_check_create(&check, kernel, &options, NULL);
        spad_check_destroy(check);
        test_host_assert_clean(&host);
    }
    assert_int_equal(status, SPAD_OK);
}

/* Every allocation fails once. */
static void memory_that_runs_out_is_reported(void **state) {
    (void)state;
    spad_kernel *kernel = test_parse(HEAD FILL STORE LAST);
    test_check_without_memory(kernel);
    spad_kernel_destroy(kernel);
    kernel = test_parse("kernel k on sm_90\nparam N = 2\ntensor x : shared f32 (8)\n"
                        "barrier b count 64\nagent c of 64 threads {\nfor i in 0..N {\n"
                        "simt fill writes x\nsync b by 64\nsimt look reads x elected\n"
                        "sync b by 64\n}\n}\n");
    prove_without_memory(kernel, 7);
    spad_kernel_destroy(kernel);
    /* two agents, a product of all threads, a relaxed wait: both orders have the other threads */
    kernel = test_parse(
        "kernel k on sm_90\nunit mma on tensor same proxy\ngroup g\nbarrier b count 64\n"
        "mbarrier m count 1\nmbarrier n count 64\ninit m\ninit n\nfence\n"
        "tensor x : shared f32 (8) input\ntensor y : shared f32 (8)\nagent c of 64 threads {\n"
        "mma multiply reads x in g\ncommit g\nwait g pending 0\narrive m elected\n"
        "wait n parity 0\nsimt look reads y\n}\nagent d of 64 threads {\n"
        "wait m parity 0 elected\nsimt fill writes y\narrive n by 64 relaxed\n}\n");
    test_check_without_memory(kernel);
    spad_kernel_destroy(kernel);
}

static spad_status order_tensors(const spad_host *host, void *context) {
    const spad_tensor_order_options options = {.host = host};
    spad_tensor_order *order;
    const spad_status status = spad_tensor_order_create(&order, context, &options, NULL);
    spad_tensor_order_destroy(order);
    return status;
}

/* What may share bytes follows the order of all threads. */
static void tensors_share_bytes_where_all_threads_are_in_order(void **state) {
    (void)state;
#define HANDOVER(release)                                                               \
    "kernel k on sm_90\nbarrier b count 64\nmbarrier m count 1\ninit m\n"               \
    "tensor x : shared f32 (64)\ntensor y : shared f32 (64)\nagent c of 64 threads {\n" \
    "simt fill writes x\nsimt look reads x\n" release "}\nagent d {\nwait m parity 0\n" \
    "simt fill writes y\nsimt look reads y\n}\n"
    static const struct {
        const char *text;
        bool share;
    } kernels[] = {
        {HANDOVER("sync b by 64\narrive m elected\n"), true},
        {HANDOVER("arrive m elected\n"), false},
    };
    for (size_t i = 0; i < sizeof kernels / sizeof kernels[0]; i++) {
        spad_kernel *kernel = test_parse(kernels[i].text);
        spad_tensor_order *order;
        spad_error error;
        assert_ok(spad_tensor_order_create(&order, kernel, NULL, &error), &error);
        assert_int_equal(spad_tensor_order_may_share(order, 0, 1), kernels[i].share);
        spad_tensor_order_destroy(order);
        test_fail_each_allocation(order_tensors, kernel);
        spad_kernel_destroy(kernel);
    }
#undef HANDOVER
}

static void elected_operations_read_back(void **state) {
    (void)state;
    spad_kernel *kernel = test_parse(cases[0].text);
    test_text page;
    spad_error error;
    test_text_init(&page);
    assert_ok(spad_kernel_write_text(kernel, &page.sink, &error), &error);
    assert_non_null(strstr(page.bytes, "tma store reads x writes o elected in g"));
    spad_kernel *again = test_parse(page.bytes);
    spad_kernel_destroy(again);
    test_text_free(&page);
    spad_kernel_destroy(kernel);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(writes_of_all_and_actions_of_one),
        cmocka_unit_test(an_elected_arrival_is_of_one_thread),
        cmocka_unit_test(counters_and_meetings),
        cmocka_unit_test(the_message_says_where_to_sync),
        cmocka_unit_test(what_cannot_be_elected_is_refused),
        cmocka_unit_test(elected_operations_in_loops),
        cmocka_unit_test(memory_that_runs_out_is_reported),
        cmocka_unit_test(elected_operations_read_back),
        cmocka_unit_test(tensors_share_bytes_where_all_threads_are_in_order),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
