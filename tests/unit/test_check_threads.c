/* SPDX-License-Identifier: Apache-2.0
 *
 * Threads inside an agent: what all of them do and what one of them does need a sync between.
 */
#include <stdio.h>
#include <string.h>

#include "spad/spad.h"
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
    {HEAD FILL "sync b by 128\n" STORE "tma store reads y writes o(0..1) elected in g\ncommit g\n"
               "wait g pending 1 reads\nsync b by 128\n" FILL LAST,
     0},
    {HEAD FILL "sync b by 128\ntma store reads y writes o(0..1) elected in g\ncommit g\n" STORE
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
    /* a sync of some threads is none of all */
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

static void writes_of_all_and_actions_of_one(void **state) {
    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        spad_kernel *kernel = test_parse(cases[i].text);
        spad_check *check;
        spad_error error;
        int64_t count = 0;
        assert_ok(spad_check_create(&check, kernel, NULL, &error), &error);
        for (size_t f = 0; f < spad_check_finding_count(check); f++) {
            count += spad_check_get_finding(check, f)->code == SPAD_FINDING_MISSING_SYNC;
        }
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
        cmocka_unit_test(elected_operations_in_loops),
        cmocka_unit_test(memory_that_runs_out_is_reported),
        cmocka_unit_test(elected_operations_read_back),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
