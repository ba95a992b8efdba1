/* SPDX-License-Identifier: Apache-2.0
 *
 * The findings of a kernel as lines of text, with whole messages. */
#ifndef SPAD_TEST_CHECK_LIFE_FIXTURE_H
#define SPAD_TEST_CHECK_LIFE_FIXTURE_H

#include "support/support.h"

#include <stdio.h>
#include <string.h>

#include "spad/check.h"
#include "support/kernels.h"

/* Of the prelude `out` most kernels here write a tile or two. */
static inline bool is_left_out(const spad_finding *f) {
    return f->code == SPAD_FINDING_UNWRITTEN_OUTPUT && strcmp(f->subject, "out") == 0;
}

/* "line:column CODE xcount: message", and notes after it, one per line. */
static inline void describe(const spad_check *check, char *text, size_t size) {
    size_t used = 0;
    text[0] = '\0';
    for (size_t i = 0; i < spad_check_finding_count(check); i++) {
        const spad_finding *f = spad_check_get_finding(check, i);
        if (is_left_out(f)) continue;
        used +=
            (size_t)snprintf(text + used, size - used, "%d:%d %s x%lld: %s\n", f->line, f->column,
                             spad_finding_name(f->code), (long long)f->count, f->message);
        for (size_t n = 0; n < f->note_count; n++) {
            used += (size_t)snprintf(text + used, size - used, "  %d:%d %s\n", f->notes[n].line,
                                     f->notes[n].column, f->notes[n].message);
        }
    }
    assert_true(used < size);
}

static inline void expect_kernel(const spad_kernel *kernel, const spad_check_options *options,
                                 const char *expectation) {
    char found[8192];
    spad_check *check;
    spad_error error;
    assert_ok(spad_check_create(&check, kernel, options, &error), &error);
    describe(check, found, sizeof found);
    assert_string_equal(found, expectation);
    const spad_check_counts counts = spad_check_get_counts(check);
    assert_int_equal(spad_check_get_verdict(check),
                     counts.errors > 0 ? SPAD_VERDICT_WRONG : SPAD_VERDICT_PROVED_SHAPE);
    spad_check_destroy(check);
}

static inline void expect_with(const char *text, const spad_check_options *options,
                               const char *expectation) {
    spad_kernel *kernel = test_parse(text);
    expect_kernel(kernel, options, expectation);
    spad_kernel_destroy(kernel);
}

static inline void expect(const char *text, const char *expectation) {
    expect_with(text, NULL, expectation);
}

#define IN_OUT                                     \
    "kernel k on trn2\n"                           \
    "tensor in  : hbm bf16 [8] (128, 512) input\n" \
    "tensor out : hbm bf16 [8] (128, 512) output\n"

#endif
