/* SPDX-License-Identifier: Apache-2.0
 *
 * The kernels that we ship are right: in their own sizes, and in others with laps, tails, and fewer
 * steps than slots.
 *
 * With the argument "short" those of which a check takes long are left out; each of them is then
 * checked in other sizes only, or by the replay of the fuzzers' corpus, which cuts the check.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "spad/check.h"
#include "spad/experimental/kernel_rows.h"
#include "support/files.h"
#include "support/kernels.h"
#include "support/support.h"

static bool only_short;

/* Kernels with long checks: four fifths of the time of all. */
static const char *const large[] = {"10_gemm_sm100.spad", "12_flash_attention.spad",
                                    "14_flash_attention_3_causal.spad", "17_gemm_clc.spad"};

static bool is_large(const char *name) {
    for (size_t i = 0; i < sizeof large / sizeof large[0]; i++) {
        if (strcmp(name, large[i]) == 0) return true;
    }
    return false;
}

static void print_findings(const char *name, const spad_check *check) {
    print_error("%s:\n", name);
    for (size_t i = 0; i < spad_check_finding_count(check); i++) {
        const spad_finding *f = spad_check_get_finding(check, i);
        print_error("  %d:%d %s: %s\n", f->line, f->column, spad_finding_name(f->code), f->message);
    }
}

/* No error, and no warning about order. */
static bool is_right(const spad_check *check) {
    for (size_t i = 0; i < spad_check_finding_count(check); i++) {
        const spad_finding_code code = spad_check_get_finding(check, i)->code;
        if (code >= SPAD_FINDING_RACE && code <= SPAD_FINDING_FREE_IN_USE) return false;
    }
    return spad_check_get_counts(check).errors == 0;
}

static void check_file(const char *name, const spad_kernel_options *options) {
    char path[512];
    spad_check *check;
    spad_error error;
    snprintf(path, sizeof path, TEST_KERNELS "/%s", name);
    char *text = test_read_file(path);
    spad_kernel *kernel = test_parse_with(text, options);
    assert_ok(spad_check_create(&check, kernel, NULL, &error), &error);
    if (!is_right(check)) print_findings(name, check);
    assert_true(is_right(check));
    if (spad_kernel_is_implicit(kernel)) {
        assert_true(spad_check_get_verdict(check) == SPAD_VERDICT_PROVED_SHAPE ||
                    spad_check_get_verdict(check) == SPAD_VERDICT_PROVED_ALL);
    }
    spad_check_destroy(check);
    spad_kernel_destroy(kernel);
    free(text);
}

static void shipped_kernels_have_no_errors(void **state) {
    (void)state;
    test_files files;
    size_t found = 0;
    test_list_kernels(&files, TEST_KERNELS);
    assert_true(files.count >= 24);
    for (size_t i = 0; i < files.count; i++) {
        const bool long_check = is_large(files.names[i]);
        found += long_check;
        if (!long_check || !only_short) check_file(files.names[i], NULL);
    }
    assert_int_equal(found, sizeof large / sizeof large[0]); /* none has another name now */
}

static void shipped_kernels_in_other_sizes(void **state) {
    (void)state;
    static const struct {
        const char *name;
        spad_define defines[2];
        bool large;
    } cases[] = {
        {"07_gemm_sm80.spad", {{"S", 2}, {"KT", 9}}, false},
        {"07_gemm_sm80.spad", {{"S", 4}, {"KT", 2}}, false},
        {"08_gemm_sm90.spad", {{"S", 2}, {"KT", 5}}, false},
        {"08_gemm_sm90.spad", {{"S", 3}, {"KT", 17}}, false},
        {"08_gemm_sm90.spad", {{"S", 4}, {"KT", 1}}, false},
        {"09_flash_attention_3.spad", {{"T", 3}, {"N", 4}}, false},
        {"10_gemm_sm100.spad", {{"TILES", 5}, {"KB", 3}}, true},
        {"14_flash_attention_3_causal.spad", {{"T", 5}, {"S", 2}}, false},
        {"14_flash_attention_3_causal.spad", {{"T", 1}, {"S", 3}}, true},
        {"15_split_k.spad", {{"P", 3}, {"KT", 9}}, false},
        {"15_split_k.spad", {{"S", 3}, {"KT", 8}}, false},
        {"16_gemm_grouped.spad", {{"S", 2}, {"KB", 1}}, false},
        {"16_gemm_grouped.spad", {{"S", 3}, {"KB", 4}}, false},
        {"17_gemm_clc.spad", {{"C", 3}, {"T", 7}}, false},
        {"11_add_flags.spad", {{"STEPS", 9}, {"ROWS", 16}}, false},
        {"11_add_queues.spad", {{"TILES", 7}, {"DEPTH", 3}}, false},
        {"12_gemm_cube.spad", {{"KB", 3}, {"R", 2}}, false},
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        if (cases[i].large && only_short) continue;
        const spad_kernel_options options = {.defines = cases[i].defines, .define_count = 2};
        check_file(cases[i].name, &options);
    }
}

int main(int argc, char **argv) {
    only_short = argc > 1 && strcmp(argv[1], "short") == 0;
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(shipped_kernels_have_no_errors),
        cmocka_unit_test(shipped_kernels_in_other_sizes),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
