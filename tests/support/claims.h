/* SPDX-License-Identifier: Apache-2.0
 *
 * For tests that compare claims of the check, such as "for all N", with single values: what the
 * check answers about a text. */
#ifndef SPAD_TEST_CLAIMS_H
#define SPAD_TEST_CLAIMS_H

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "spad/check.h"
#include "support/support.h"

typedef struct answer {
    bool possible; /* false: the reader refuses the kernel; the reason is its message */
    spad_verdict verdict;
    char reason[SPAD_MESSAGE_MAX];
} answer;

/* What the check says of a kernel with these values. one_shape: about no others. */
static inline answer answer_for(const char *text, size_t length, const spad_define *values,
                                size_t count, bool one_shape) {
    const spad_kernel_options options = {.defines = values, .define_count = count};
    const spad_check_options how = {
        .one_shape = one_shape, .no_advice = true, .timeout_ns = INT64_MAX}; /* on any machine */
    spad_error error;
    spad_kernel *kernel;
    spad_check *check;
    answer a = {.possible = false};
    if (spad_kernel_parse(&kernel, text, length, "k", &options, NULL, &error) != SPAD_OK) {
        snprintf(a.reason, sizeof a.reason, "%s", error.message);
        return a;
    }
    assert_ok(spad_check_create(&check, kernel, &how, &error), &error);
    a.possible = true;
    a.verdict = spad_check_get_verdict(check);
    snprintf(a.reason, sizeof a.reason, "%s", spad_check_get_reason(check));
    spad_check_destroy(check);
    spad_kernel_destroy(kernel);
    return a;
}

enum { CLAIM_PARAMS = 3 };

/* From which value on a claim holds; -1: it is not about that parameter. */
typedef struct trip_claim {
    int64_t from[CLAIM_PARAMS];
    int count;
} trip_claim;

/* "for all T, N and all M >= 2; ..." of parameters with names of one letter. */
static inline trip_claim read_claim(const char *reason, const char *names) {
    trip_claim c = {.from = {-1, -1, -1}};
    const char *at = reason;
    if (strstr(reason, "with r = ") != NULL) return c; /* of some unknown values only */
    while ((at = strstr(at, "for all ")) != NULL && strchr(names, at[8]) == NULL) at++;
    if (at == NULL) return c;
    at += strlen("for all ");
    for (;;) {
        const char *name = strchr(names, *at);
        int64_t from = 0;
        if (name == NULL || *name == '\0') return c;
        at++;
        if (strncmp(at, " >= ", 4) == 0) {
            char *end;
            from = strtoll(at + 4, &end, 10);
            at = end;
        }
        c.from[name - names] = from;
        c.count++;
        if (strncmp(at, ", ", 2) == 0) {
            at += 2;
        } else if (strncmp(at, " and all ", 9) == 0) {
            at += 9;
        } else {
            return c;
        }
    }
}

#endif
