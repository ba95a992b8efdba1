/* SPDX-License-Identifier: Apache-2.0
 *
 * What a check answers for a text: its verdict, its reason, and its counts. */
#ifndef SPAD_TEST_PROVE_FIXTURE_H
#define SPAD_TEST_PROVE_FIXTURE_H

#include "support/support.h"

#include <string.h>

#include "spad/check.h"
#include "support/kernels.h"

typedef struct answer {
    spad_verdict verdict;
    char reason[SPAD_MESSAGE_MAX];
    spad_check_counts counts;
} answer;

static inline answer ask(const char *text, const spad_define *defines, size_t count,
                         const spad_check_options *how) {
    const spad_kernel_options options = {.defines = defines, .define_count = count};
    spad_check *check;
    spad_error error;
    spad_kernel *kernel = test_parse_with(text, &options);
    assert_ok(spad_check_create(&check, kernel, how, &error), &error);
    answer a = {.verdict = spad_check_get_verdict(check), .counts = spad_check_get_counts(check)};
    strcpy(a.reason, spad_check_get_reason(check));
    spad_check_destroy(check);
    spad_kernel_destroy(kernel);
    return a;
}

static inline void assert_answer(const char *text, spad_verdict verdict, const char *reason) {
    const answer a = ask(text, NULL, 0, NULL);
    assert_string_equal(a.reason, reason);
    assert_int_equal(a.verdict, verdict);
}

/* The same for a reason that goes on with values that were tried. */
static inline void assert_answer_starts(const char *text, spad_verdict verdict,
                                        const char *reason) {
    answer a = ask(text, NULL, 0, NULL);
    assert_true(strlen(a.reason) > strlen(reason));
    a.reason[strlen(reason)] = '\0';
    assert_string_equal(a.reason, reason);
    assert_int_equal(a.verdict, verdict);
}

#endif
