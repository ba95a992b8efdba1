/* SPDX-License-Identifier: Apache-2.0
 *
 * Host memory that ends, over the kernels that we ship: those in `wrong` reach every finding of the
 * check. A run without memory says so and leaves nothing; the run that has all it needs gives what
 * a run with the memory of the process gives. */
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "spad/spad.h"
#include "support/files.h"
#include "support/kernels.h"
#include "support/support.h"

/* What a scenario came to: a number that another run has to repeat. */
typedef struct subject {
    const spad_kernel *kernel;
    int64_t result;
} subject;

typedef spad_status (*scenario)(const spad_host *host, subject *s);

static spad_status check_it(const spad_host *host, subject *s) {
    const spad_check_options options = {.host = host};
    spad_check *check;
    const spad_status status = spad_check_create(&check, s->kernel, &options, NULL);
    if (status == SPAD_OK) {
        s->result = (int64_t)spad_check_finding_count(check) * 4;
        s->result += spad_check_get_verdict(check);
    }
    spad_check_destroy(check);
    return status;
}

static spad_status simulate_it(const spad_host *host, subject *s) {
    const spad_sim_options options = {.repeat_after = 1, .host = host};
    spad_sim *sim;
    const spad_status status = spad_sim_create(&sim, s->kernel, &options, NULL);
    if (status == SPAD_OK) s->result = spad_sim_get_totals(sim).makespan;
    spad_sim_destroy(sim);
    return status;
}

static spad_status tune_it(const spad_host *host, subject *s) {
    const spad_tune_options options = {.depth_most = 2, .steps = true, .host = host};
    spad_tune *tune;
    const spad_status status = spad_tune_create(&tune, s->kernel, &options, NULL);
    if (status == SPAD_OK) s->result = spad_tune_get_totals(tune).planned;
    spad_tune_destroy(tune);
    return status;
}

/* What a memory without room says goes without a fact that there is no memory to find, the largest
 * hole; that is no failure. */
static bool lacks_only_a_fact(spad_status status, spad_status expected, const subject *part,
                              const subject *whole, const char *name) {
    return status == expected && part->result == whole->result &&
           strcmp(name, "16_does_not_fit.spad") == 0;
}

/* At most about `runs` of the allocations fail, the first one and others at even distances. */
static void sweep(scenario run, const spad_kernel *kernel, long runs, const char *name) {
    subject whole = {kernel, 0};
    subject part = {kernel, 0};
    test_host host;
    const spad_status expected = run(NULL, &whole);
    test_host_init(&host);
    assert_int_equal(run(&host.host, &part), expected);
    assert_int_equal(part.result, whole.result);
    test_host_assert_clean(&host);
    const long calls = host.calls;
    assert_true(calls > 0);
    for (long n = 1; n <= calls; n += 1 + calls / test_effort(runs)) {
        test_host_init(&host);
        host.fail_at = n;
        host.once = true; /* what comes after it meets the failure and nothing else */
        const spad_status status = run(&host.host, &part);
        test_host_assert_clean(&host);
        if (lacks_only_a_fact(status, expected, &part, &whole, name)) continue;
        if (status != SPAD_ERR_HOST_MEMORY) print_error("%s: allocation %ld\n", name, n);
        assert_int_equal(status, SPAD_ERR_HOST_MEMORY);
    }
}

/* The kernel of a file; NULL: it cannot be read, which is what is wrong with it. */
static spad_kernel *read_kernel(const char *folder, const char *name) {
    char path[512];
    spad_kernel *kernel;
    snprintf(path, sizeof path, "%s/%s", folder, name);
    char *text = test_read_file(path);
    const spad_status status =
        spad_kernel_parse(&kernel, text, strlen(text), path, NULL, NULL, NULL);
    assert_true(status == SPAD_OK || kernel == NULL);
    free(text);
    return kernel;
}

static void wrong_kernels_without_memory(void **state) {
    (void)state;
    test_files files;
    size_t read = 0;
    test_list_kernels(&files, TEST_KERNELS "/wrong");
    for (size_t i = 0; i < files.count; i++) {
        spad_kernel *kernel = read_kernel(TEST_KERNELS "/wrong", files.names[i]);
        if (kernel == NULL) continue;
        read++;
        /* one check of this takes as long as those of all the others: 190 MB in all */
        const bool large = strcmp(files.names[i], "76_half_on_the_other_core.spad") == 0;
        sweep(check_it, kernel, large ? 100 : 700, files.names[i]);
        sweep(simulate_it, kernel, 700, files.names[i]);
        sweep(tune_it, kernel, large ? 100 : 300, files.names[i]);
        spad_kernel_destroy(kernel);
    }
    assert_true(read >= 50);
}

static void right_kernels_without_memory(void **state) {
    (void)state;
    static const struct {
        const char *name;
        long check, sim, tune; /* runs that fail; 0: none at all */
    } cases[] = {
        {"01_exp_rows.spad", 500, 100, 500},       {"01_tensor_add.spad", 300, 100, 100},
        {"02_matmul_0_basic.spad", 500, 200, 300}, {"07_gemm_sm80.spad", 100, 100, 200},
        {"08_gemm_sm90.spad", 50, 100, 200},       {"09_flash_attention_2.spad", 50, 100, 300},
        {"11_add_flags.spad", 200, 100, 300},      {"11_add_queues.spad", 200, 100, 200},
        {"11_online_softmax.spad", 200, 100, 200}, {"13_dirk_step.spad", 100, 100, 200},
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        spad_kernel *kernel = read_kernel(TEST_KERNELS, cases[i].name);
        assert_non_null(kernel);
        sweep(check_it, kernel, cases[i].check, cases[i].name);
        sweep(simulate_it, kernel, cases[i].sim, cases[i].name);
        sweep(tune_it, kernel, cases[i].tune, cases[i].name);
        spad_kernel_destroy(kernel);
    }
}

/* Proofs: of outputs of a large shape, of several trip counts, together and each alone, with values
 * that are tried, with unknown values, and with a shape that is wrong. */
static void proofs_without_memory(void **state) {
    (void)state;
#define LARGE "kernel k on trn2\nparam N = 100000\ntensor x : sbuf u8 (128, 8) input\n"
    static const char *const texts[] = {
        LARGE "tensor out : hbm u8 [N] (128, 8) output\n"
              "for i in 0..N { dma a reads x writes out[i] }\n",
        LARGE "param M = 70000\ntensor out : hbm u8 [N] (128, 8) output\n"
              "tensor up : hbm u8 [M] (128, 8) output\n"
              "for i in 0..N { dma a reads x writes out[i] }\n"
              "for j in 0..M { dma b reads x writes up[j] }\n",
        LARGE "param M = 3\ntensor r : sbuf u8 [M * N] (128, 8) ring 2\n"
              "for j in 0..M { for i in 0..N { vector w writes r[j * N + i]\n"
              "vector v reads r[j * N + i] } }\n",
        "kernel k on trn2\nparam N = 5\nparam W = 40\nunknown u[2] in 0..3\n"
        "tensor x : sbuf u8 [N] (128, W) ring 2\ntensor y : sbuf u8 (128, W)\n"
        "for i in 0..N { vector w writes x[i]\nif u[0] < u[1] { vector v reads x[i] writes y }\n"
        "else { vector v reads x[i] } }\n",
        "kernel k on sm_90\nparam N = 6 any\ncounter full\ncounter empty = 2\n"
        "tensor x : shared u8 [N] (64) ring 2\n"
        "agent a { for i in 0..N { take empty; simt w writes x[i]; signal full } }\n"
        "agent b { for i in 0..N { take full; simt r reads x[i]; if i < 7 { signal empty } } }\n",
    };
#undef LARGE
    for (size_t i = 0; i < sizeof texts / sizeof texts[0]; i++) {
        spad_kernel *kernel = test_parse(texts[i]);
        sweep(check_it, kernel, 400, "proof");
        spad_kernel_destroy(kernel);
    }
}

/* A search that hoists, one that finds no room for it, and one in which nothing fits. */
#define TUNABLE(columns)                                   \
    "kernel k on trn2\n"                                   \
    "tensor x : sbuf bf16 [6] (128, " columns ") ring 1\n" \
    "for i in 0..6 {\n"                                    \
    "    tensor t : sbuf bf16 (128, " columns ")\n"        \
    "    tensor u : sbuf bf16 (128, 16)\n"                 \
    "    dma load writes x[i] cost 4 ns\n"                 \
    "    scalar exp reads x[i] writes t cost 10 ns\n"      \
    "    vector mul reads t writes u cost 10 ns\n"         \
    "    gpsimd add reads u cost 10 ns\n"                  \
    "}\n"

static void searches_without_memory(void **state) {
    (void)state;
    static const char *const texts[] = {TUNABLE("16"), TUNABLE("40000"), TUNABLE("60000")};
    for (size_t i = 0; i < sizeof texts / sizeof texts[0]; i++) {
        spad_kernel *kernel = test_parse(texts[i]);
        sweep(tune_it, kernel, 2500, "search");
        spad_kernel_destroy(kernel);
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(wrong_kernels_without_memory),
        cmocka_unit_test(right_kernels_without_memory),
        cmocka_unit_test(searches_without_memory),
        cmocka_unit_test(proofs_without_memory),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
