/* SPDX-License-Identifier: Apache-2.0
 *
 * Host memory that ends somewhere, over random kernels (support/random_kernel.h): layout, check,
 * simulation and search for depths each meet one request that fails, at a random place. The call
 * says so and leaves nothing; the same call with all its memory gives what a run with the memory
 * of the process gives.
 *
 *   test_memory_model [COUNT [SEED]]
 */
#include "support/kernels.h"
#include "support/support.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/random.h"
#include "spad/spad.h"
#include "support/random_kernel.h"

enum { FAILURES = 6 };

static long kernels = 60;
static uint64_t first_seed = 1;

typedef spad_status (*scenario)(const spad_host *host, const spad_kernel *kernel, int64_t *result);

static spad_status lay_out(const spad_host *host, const spad_kernel *kernel, int64_t *result) {
    const spad_layout_options options = {.host = host};
    spad_layout *layout;
    const spad_status status = spad_layout_create(&layout, kernel, &options, NULL);
    for (size_t i = 0; status == SPAD_OK && i < spad_layout_space_count(layout); i++) {
        *result = *result * 7 + spad_layout_get_space(layout, i)->height;
    }
    spad_layout_destroy(layout);
    return status;
}

static spad_status check(const spad_host *host, const spad_kernel *kernel, int64_t *result) {
    const spad_check_options options = {.host = host};
    spad_check *made;
    const spad_status status = spad_check_create(&made, kernel, &options, NULL);
    if (status == SPAD_OK) {
        *result = (int64_t)spad_check_finding_count(made) * 8 + spad_check_get_verdict(made);
    }
    spad_check_destroy(made);
    return status;
}

static spad_status simulate(const spad_host *host, const spad_kernel *kernel, int64_t *result) {
    const spad_sim_options options = {.repeat_after = 1, .host = host};
    spad_sim *sim;
    const spad_status status = spad_sim_create(&sim, kernel, &options, NULL);
    if (status == SPAD_OK) *result = spad_sim_get_totals(sim).makespan;
    spad_sim_destroy(sim);
    return status;
}

static spad_status tune(const spad_host *host, const spad_kernel *kernel, int64_t *result) {
    const spad_tune_options options = {.depth_most = 2, .steps = true, .host = host};
    spad_tune *made;
    const spad_status status = spad_tune_create(&made, kernel, &options, NULL);
    if (status == SPAD_OK) *result = spad_tune_get_totals(made).planned;
    spad_tune_destroy(made);
    return status;
}

/* A call that fails anyway may keep its reason. A stack without room says so without the largest
 * hole, if there is no memory to find that; it is no failure of the check (docs/reliability.md). */
static bool may_go_on(const spad_kernel *kernel, spad_status status, spad_status expected,
                      bool same) {
    bool scoped = false;
    for (size_t i = 0; i < spad_kernel_tensor_count(kernel); i++) {
        const spad_mode mode = spad_kernel_get_tensor(kernel, i)->mode;
        scoped = scoped || mode == SPAD_MODE_STACK || mode == SPAD_MODE_HEAP;
    }
    return status == expected && (status != SPAD_OK || (scoped && same));
}

static void fail_at_random(scenario run, const spad_kernel *kernel, spad__random *random,
                           const char *text) {
    int64_t whole = 0;
    int64_t part = 0;
    test_host host;
    const spad_status expected = run(NULL, kernel, &whole);
    test_host_init(&host);
    assert_int_equal(run(&host.host, kernel, &part), expected);
    assert_int_equal(part, whole);
    test_host_assert_clean(&host);
    const long calls = host.calls;
    for (int i = 0; i < FAILURES && calls > 0; i++) {
        test_host_init(&host);
        host.fail_at = (long)spad__random_in(random, 1, calls);
        const long at = host.fail_at;
        part = 0;
        host.once = true; /* what comes after it meets the failure and nothing else */
        const spad_status status = run(&host.host, kernel, &part);
        test_host_assert_clean(&host);
        if (status == SPAD_ERR_HOST_MEMORY) continue;
        if (may_go_on(kernel, status, expected, part == whole)) continue;
        print_error("%srequest %ld of %ld\n", text, at, calls);
        assert_int_equal(status, SPAD_ERR_HOST_MEMORY);
    }
}

static void calls_without_memory_say_so(void **state) {
    (void)state;
    static char text[RANDOM_KERNEL_TEXT];
    static const scenario runs[] = {lay_out, check, simulate, tune};
    spad__random random = {first_seed};
    long read = 0;
    for (long i = 0; i < kernels; i++) {
        spad_kernel *kernel;
        random_kernel(first_seed + (uint64_t)i, text);
        if (spad_kernel_parse(&kernel, text, strlen(text), "k", NULL, NULL, NULL) != SPAD_OK) {
            continue;
        }
        read++;
        for (size_t r = 0; r < sizeof runs / sizeof runs[0]; r++) {
            fail_at_random(runs[r], kernel, &random, text);
        }
        spad_kernel_destroy(kernel);
    }
    printf("%ld kernels\n", read);
    assert_true(read > kernels / 2);
}

int main(int argc, char **argv) {
    if (argc > 1) kernels = atol(argv[1]);
    if (argc > 2) first_seed = strtoull(argv[2], NULL, 10);
    const struct CMUnitTest tests[] = {cmocka_unit_test(calls_without_memory_say_so)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
