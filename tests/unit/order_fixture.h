/* SPDX-License-Identifier: Apache-2.0
 *
 * Kernels as text and what the order check finds in them, for its tests. */
#ifndef SPAD_TEST_ORDER_FIXTURE_H
#define SPAD_TEST_ORDER_FIXTURE_H

#include "support/kernels.h"
#include "support/support.h"

#include "spad/check.h"

static inline spad_check *check_with(const char *text, const spad_check_options *options) {
    spad_kernel *kernel = test_parse(text);
    spad_check *check;
    spad_error error;
    assert_ok(spad_check_create(&check, kernel, options, &error), &error);
    spad_kernel_destroy(kernel);
    return check;
}

static inline spad_check *check_text(const char *text) {
    return check_with(text, NULL);
}

static inline bool is_order(spad_finding_code code) {
    return code >= SPAD_FINDING_RACE && code <= SPAD_FINDING_FREE_IN_USE;
}

static const spad_finding *find(const spad_check *check, spad_finding_code code) {
    for (size_t i = 0; i < spad_check_finding_count(check); i++) {
        const spad_finding *finding = spad_check_get_finding(check, i);
        if (finding->code == code) return finding;
    }
    return NULL;
}

static inline void print_findings(const spad_check *check) {
    for (size_t i = 0; i < spad_check_finding_count(check); i++) {
        const spad_finding *f = spad_check_get_finding(check, i);
        print_error("%d: %s: %s\n", f->line, spad_finding_name(f->code), f->message);
    }
}

static inline void assert_no_order_finding(const spad_check *check, const char *name) {
    bool clean = true;
    for (size_t i = 0; i < spad_check_finding_count(check); i++) {
        clean = clean && !is_order(spad_check_get_finding(check, i)->code);
    }
    if (!clean) print_error("%s:\n", name);
    if (!clean) print_findings(check);
    assert_true(clean);
}

static inline void assert_clean(const char *text) {
    spad_check *check = check_text(text);
    assert_no_order_finding(check, text);
    spad_check_destroy(check);
}

/* The first finding of a code has that message (NULL: any), and its notes begin with these. */
static inline void assert_finds(const char *text, spad_finding_code code, const char *message,
                                const char *note, const char *second) {
    spad_check *check = check_text(text);
    const spad_finding *finding = find(check, code);
    if (finding == NULL) print_findings(check);
    assert_non_null(finding);
    if (message != NULL) assert_string_equal(finding->message, message);
    assert_true(finding->line > 0);
    if (note != NULL) {
        assert_true(finding->note_count >= 1);
        assert_string_equal(finding->notes[0].message, note);
        assert_true(finding->notes[0].line > 0);
    }
    if (second != NULL) {
        assert_true(finding->note_count >= 2);
        assert_string_equal(finding->notes[1].message, second);
    }
    spad_check_destroy(check);
}

#define RING                            \
    "kernel k on sm_90\n"               \
    "unit tma on copy free\n"           \
    "group g\n"                         \
    "counter c\n"                       \
    "barrier b count 2\n"               \
    "mbarrier m count 1\n"              \
    "tensor a : global u8 (64) input\n" \
    "tensor x : shared u8 [4] (64) ring 2\n"

#define BYTES "kernel k on sm_90\nmbarrier m count 1\ntensor x : shared u8 (64) input\ninit m\n"

#endif
