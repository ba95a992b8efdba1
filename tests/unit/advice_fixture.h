/* SPDX-License-Identifier: Apache-2.0
 *
 * Advice for a text, with the promise that nothing is lost by it, and the changes as short words.
 */
#ifndef SPAD_TEST_ADVICE_FIXTURE_H
#define SPAD_TEST_ADVICE_FIXTURE_H

#include "support/support.h"

#include <stdio.h>
#include <string.h>

#include "spad/spad.h"
#include "support/kernels.h"

typedef struct proof {
    spad_verdict verdict;
    char reason[1024];
    int64_t makespan;
    int64_t warnings;
} proof;

static proof prove(const spad_kernel *kernel) {
    spad_error error;
    spad_analysis *analysis;
    proof p = {0};
    assert_ok(spad_analysis_create(&analysis, kernel, NULL, &error), &error);
    assert_true(spad_analysis_is_fine(analysis));
    const spad_check *check = spad_analysis_get_check(analysis);
    p.verdict = spad_check_get_verdict(check);
    snprintf(p.reason, sizeof p.reason, "%s", spad_check_get_reason(check));
    p.makespan = spad_sim_get_totals(spad_analysis_get_sim(analysis)).makespan;
    p.warnings = spad_check_get_counts(check).warnings;
    spad_analysis_destroy(analysis);
    return p;
}

/* What is offered has the proof of the kernel that was given, also when its text is read again. */
static void assert_nothing_lost(const spad_advice *advice, const spad_kernel *given) {
    const proof before = prove(given);
    test_text text;
    spad_error error;
    test_text_init(&text);
    assert_ok(spad_kernel_write_text(spad_advice_get_kernel(advice), &text.sink, &error), &error);
    spad_kernel *read = test_parse(text.bytes);
    const proof after = prove(read);
    assert_true(after.verdict == before.verdict || after.verdict == SPAD_VERDICT_PROVED_ALL);
    if (before.verdict == SPAD_VERDICT_PROVED_ALL) assert_string_equal(after.reason, before.reason);
    assert_true(after.makespan <= before.makespan);
    assert_true(after.warnings <= before.warnings);
    spad_kernel_destroy(read);
    test_text_free(&text);
}

static spad_advice *advise(const spad_kernel *kernel, const spad_advice_options *options) {
    spad_advice *advice;
    spad_error error;
    assert_ok(spad_advice_create(&advice, kernel, options, &error), &error);
    if (spad_advice_get_totals(advice).proved) assert_nothing_lost(advice, kernel);
    return advice;
}

/* The changes of one kind, as "name>other" or "name:from>to", and the text of the result. */
static void expect_kind(const char *text, spad_advice_kind kind, const char *expected) {
    const unsigned others = ((1u << SPAD_ADVICE_KINDS) - 1) & ~(1u << kind);
    const spad_advice_options options = {.skip = others, .steps = true};
    spad_kernel *kernel = test_parse(text);
    spad_advice *advice = advise(kernel, &options);
    char found[512] = "";
    assert_true(spad_advice_get_totals(advice).proved); /* else nothing is tried */
    for (size_t i = 0; i < spad_advice_count(advice); i++) {
        const spad_advice_change *c = spad_advice_get(advice, i);
        char one[160];
        assert_int_equal(c->kind, kind);
        assert_true(c->location.line > 0);
        if (kind == SPAD_ADVICE_LOAD || kind == SPAD_ADVICE_ALIAS) {
            snprintf(one, sizeof one, "%s>%s ", c->name, c->other);
        } else {
            snprintf(one, sizeof one, "%s:%lld>%lld ", c->name, (long long)c->from,
                     (long long)c->to);
        }
        strcat(found, one);
    }
    assert_string_equal(found, expected);
    spad_advice_destroy(advice);
    spad_kernel_destroy(kernel);
}

/* A load of each tile, and of a scale `s`, on Trainium. */
#define HEAD                                                                    \
    "kernel k on trn2\nparam N = 6\ntensor in : hbm bf16 [N] (128, 64) input\n" \
    "tensor w : hbm bf16 [2] (128, 64) input\n"                                 \
    "tensor out : hbm bf16 [N] (128, 64) output\n"                              \
    "tensor x : sbuf bf16 [N] (128, 64) ring 2\n"
#define S "tensor s : sbuf bf16 (128, 64)\n"
#define X                                                            \
    "dma l reads in[i] writes x[i]\nvector m reads s updates x[i]\n" \
    "dma o reads x[i] writes out[i]\n"

#endif
