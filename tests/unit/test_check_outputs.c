/* SPDX-License-Identifier: Apache-2.0
 *
 * What is missing of outputs, in large shapes that are judged by small ones, with several trip
 * counts, and through other names; and what is said where small ones do not show it. */
#include <string.h>

#include "spad/check.h"
#include "support/kernels.h"
#include "support/support.h"

typedef struct output_case {
    const char *text;
    spad_verdict verdict;
    const char *reason;  /* in that of the verdict */
    const char *missing; /* in the message about an output; NULL: there is none */
} output_case;

static void run_case_with(const output_case *c, const spad_check_options *options) {
    spad_kernel *kernel = test_parse(c->text);
    spad_check *check;
    spad_error error;
    assert_ok(spad_check_create(&check, kernel, options, &error), &error);
    const char *missing = NULL;
    for (size_t i = 0; i < spad_check_finding_count(check); i++) {
        const spad_finding *finding = spad_check_get_finding(check, i);
        if (finding->code == SPAD_FINDING_UNWRITTEN_OUTPUT) missing = finding->message;
    }
    const char *reason = spad_check_get_reason(check);
    const bool same = spad_check_get_verdict(check) == c->verdict &&
                      strstr(reason, c->reason) != NULL &&
                      (missing == NULL) == (c->missing == NULL) &&
                      (missing == NULL || strstr(missing, c->missing) != NULL);
    if (!same) {
        fail_msg("%s%s: %s; %s", c->text, spad_verdict_name(spad_check_get_verdict(check)), reason,
                 missing != NULL ? missing : "nothing is missing");
    }
    spad_check_destroy(check);
    spad_kernel_destroy(kernel);
}

static void run_case(const output_case *c) {
    run_case_with(c, NULL);
}

/* Few events of the given shape are run: what is found is found in small shapes. */
static void run_small(const output_case *c) {
    run_case_with(c, &(spad_check_options){.event_limit = 2000, .no_advice = true});
}

#define IN "tensor x : sbuf u8 (128, 8) input\n"
#define LARGE(size, body)                                                                      \
    "kernel k on trn2\nparam N = 200000\n" IN "tensor out : hbm u8 " size " (128, 8) output\n" \
    "for i in 0..N {\n" body "}\n"
#define TWO(rest) "kernel k on trn2\nparam N = 200000\nparam M = 100000\n" IN rest
#define PUT(index) "dma a reads x writes out" index "\n"

static void shapes_that_do_not_show_it(void **state) {
    (void)state;
    static const output_case cases[] = {
        {LARGE("[N / 2 + 2]", PUT("[0]")), SPAD_VERDICT_PROVED_ALL, "for all N",
         "nothing writes 'out[1]', and 2 more of its 4 tiles are incomplete (with N = 4)"},
        {LARGE("[N / 3 + 1]", PUT("[i / 3]")), SPAD_VERDICT_PROVED_ALL,
         "but with N = 0: 'out' is an output, and nothing writes 'out[0]'", NULL},
        {LARGE("[N]", PUT("[N - 1 - i]")), SPAD_VERDICT_PROVED_ALL,
         "outputs were checked with small values only", NULL},
        {LARGE("[N]", PUT("[i]") "dma b reads out[i]\n"), SPAD_VERDICT_UNKNOWN,
         "an output has more tiles than the check distinguishes", NULL},
        {LARGE("[N]", "if i >= 3 {\nif i < 5 {\n" PUT("[i]") "}\n}\n"), SPAD_VERDICT_PROVED_ALL,
         "for all N", "nothing writes 'out[0]', and 5 more of its 8 tiles are incomplete"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) run_case(&cases[i]);
}

static void two_trip_counts(void **state) {
    (void)state;
    static const output_case cases[] = {
        {TWO("tensor out : hbm u8 [N] (128, 8) output\ntensor up : hbm u8 [M] (128, 8) output\n"
             "for i in 0..N {\n" PUT("[i]") "}\nfor j in 0..M { dma b reads x writes up[j] }\n"),
         SPAD_VERDICT_PROVED_ALL, "for all N >= 1 and all M >= 1", NULL},
        {TWO("tensor out : hbm u8 [N] (128, 8) output\ntensor up : hbm u8 [M] (128, 8) output\n"
             "for i in 0..N {\n" PUT("[i]") "}\nfor j in 0..M { dma b reads x writes up[0] }\n"),
         SPAD_VERDICT_PROVED_ALL, "for all N", "nothing writes 'up[1]'"},
        /* one depends on the other, so that none can be examined alone */
        {TWO("tensor out : hbm u8 [N + M] (128, 8) output\nfor i in 0..N + M {\n" PUT("[i]") "}\n"),
         SPAD_VERDICT_PROVED_ALL, "outputs were checked with small values only", NULL},
        {TWO("tensor out : hbm u8 [N + M] (128, 8) output\nfor i in 0..N {\n" PUT(
             "[i]") "}\nfor j in 0..M { dma b reads x writes out[N + j] }\n"),
         SPAD_VERDICT_PROVED_ALL, "outputs were checked with small values only", NULL},
        {TWO("tensor out : hbm u8 [N] (128, 8) output\nfor i in 0..N {\n" PUT(
             "[i]") "if M > 9 { vector b reads x }\n}\nfor j in 0..M { vector b reads x }\n"),
         SPAD_VERDICT_PROVED_ALL, "for all", NULL},
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) run_case(&cases[i]);
}

static void outputs_by_other_names(void **state) {
    (void)state;
    static const output_case cases[] = {
        /* a row of the home is 8 bytes and one of the view 4 */
        {"kernel k on trn2\n" IN "tensor home : hbm u8 [4] (128, 8)\n"
         "tensor v : hbm u8 [2] (128, 4) alias of home[1] output\n"
         "dma a reads x writes home[0]\ndma a reads x writes home[1](.., 0..4)\n"
         "dma c reads x writes home[2]\n",
         SPAD_VERDICT_PROVED_SHAPE, "every event",
         "nothing writes bytes [4, 8) of 'v[0]', and 1 more of its 2 tiles are incomplete"},
        {"kernel k on trn2\n" IN "tensor home : hbm u8 [4] (128, 8)\n"
         "tensor v : hbm u8 [2] (128, 4) alias of home[1] output\n"
         "dma a reads x writes home[0]\ndma a reads x writes home[1](0..64, ..)\n",
         SPAD_VERDICT_PROVED_SHAPE, "every event", "nothing writes 'v[1]'"},
        {"kernel k on trn2\n" IN "tensor home : hbm u8 [4] (128, 8)\n"
         "tensor v : hbm u8 [4] (128, 8) alias of home output\n"
         "tensor w : hbm u8 [4] (128, 4) alias of home\n"
         "for i in 0..4 { dma a reads x writes w[i] }\n",
         SPAD_VERDICT_PROVED_SHAPE, "every event", "'v[0]', and 3 more of its 4 tiles"},
        {"kernel k on trn2\nfor i in 0..3 { tensor t : sbuf u8 (128, 8) output\n"
         "vector a writes t(0..64, ..) }\n",
         SPAD_VERDICT_PROVED_SHAPE, "every event", NULL}, /* one per iteration */
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) run_case(&cases[i]);
}

/* Outputs that grow in one dimension, in several, or not at all; writes that stay, that move as the
 * output grows, and that do not. */
static void ways_to_grow(void **state) {
    (void)state;
#define ONE(rest) "kernel k on trn2\nparam N = 1000000\n" IN rest
    static const output_case cases[] = {
        /* the number of tiles is no even step: nothing is known of smaller shapes */
        {LARGE("[N * N]", PUT("[i]")), SPAD_VERDICT_UNKNOWN,
         "the kernel has more events than the limit", NULL},
        {LARGE("[N, N]", PUT("[i, i]")), SPAD_VERDICT_PROVED_ALL, "for all N >= 1",
         "nothing writes 'out[0, 1]', and 1 more of its 4 tiles are incomplete (with N = 2)"},
        {LARGE("[N, 2]", PUT("[i, 0]") PUT("[i, 1]")), SPAD_VERDICT_PROVED_ALL, "for all N >= 1",
         NULL},
        {LARGE("[N, 4]", "for j in 0..4 {\n" PUT("[i, j]") "}\n"), SPAD_VERDICT_PROVED_ALL,
         "for all N >= 1", NULL},
        {LARGE("[4, N + 2]", PUT("[i % 4, 0]") PUT("[0, i]")), SPAD_VERDICT_PROVED_ALL, "for all N",
         "nothing writes 'out[0, 2]', and 12 more of its 16 tiles are incomplete"},
        /* always the last tile: it moves with the count, inside of the loop */
        {LARGE("[N]", PUT("[N - 1]") PUT("[i]")), SPAD_VERDICT_PROVED_ALL,
         "for all N >= 1; outputs were checked with small values only", NULL},
        {LARGE("[2 * N]", PUT("[i]") PUT("[2 * i]")), SPAD_VERDICT_PROVED_ALL,
         "but with N = 1: 'out' is an output, and nothing writes 'out[1]'", NULL},
        {LARGE("[2 * N]", PUT("[2 * i]")), SPAD_VERDICT_PROVED_ALL, "for all N >= 1",
         "nothing writes 'out[1]', and 1 more of its 4 tiles are incomplete (with N = 2)"},
        {LARGE("[N + 3]", PUT("[i]") PUT("[i + 3]")), SPAD_VERDICT_PROVED_ALL,
         "but with N = 0: 'out' is an output, and nothing writes 'out[0]'", NULL},
        {LARGE("[N + 2]", PUT("[i]") "}\nif N > 0 {\n" PUT("[N]") PUT("[N + 1]")),
         SPAD_VERDICT_PROVED_ALL, "but with N = 0", NULL},
        {LARGE("[N]", PUT("[i % 4]") "}\nfor j in 0..N {\n" PUT("[j]")), SPAD_VERDICT_PROVED_ALL,
         "for all N >= 1", NULL},
        {ONE("tensor out : hbm u8 [5] (128, 8) output\nfor i in 0..5 {\n" PUT(
             "[i]") "}\nfor i in 0..N { vector b reads x }\n"),
         SPAD_VERDICT_PROVED_ALL, "for all N", NULL},
        /* another name may write it */
        {ONE("tensor out : hbm u8 [N] (128, 8) output\n"
             "tensor w : hbm u8 [N] (128, 8) alias of out\n"
             "for i in 0..N { dma a reads x writes w[i] }\n"),
         SPAD_VERDICT_UNKNOWN, "the kernel has more events than the limit", NULL},
    };
#undef ONE
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) run_small(&cases[i]);
}

static void counts_that_meet(void **state) {
    (void)state;
#define OUT "tensor out : hbm u8 [N] (128, 8) output\n"
    static const output_case cases[] = {
        {TWO("tensor out : hbm u8 [N, M] (128, 8) output\nfor i in 0..N {\nfor j in 0..M {\n" PUT(
             "[i, j]") "}\n}\n"),
         SPAD_VERDICT_PROVED_ALL, "for all N >= 1 and all M >= 1", NULL},
        {TWO(OUT "for i in 0..N {\nif i < M {\n" PUT(
             "[i]") "}\n}\nfor j in 0..M { vector b reads x }\n"),
         SPAD_VERDICT_UNKNOWN, "the kernel has more events than the limit", NULL},
        {TWO(OUT "for i in 0..N {\n" PUT("[i]") "}\nfor j in 0..M {\n" PUT("[j % 2]") "}\n"),
         SPAD_VERDICT_PROVED_ALL, "there is no kernel with N = 1, M = 2", NULL},
        {TWO(OUT
             "for i in 0..N {\n" PUT("[i]") "}\nfor j in 0..M {\nif j < 3 { vector b reads x }\n"
                                            "if N > 3 { vector b reads x }\n}\n"),
         SPAD_VERDICT_PROVED_ALL, "for all M and all N >= 1", NULL},
    };
#undef OUT
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) run_small(&cases[i]);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(shapes_that_do_not_show_it), cmocka_unit_test(two_trip_counts),
        cmocka_unit_test(outputs_by_other_names),     cmocka_unit_test(ways_to_grow),
        cmocka_unit_test(counts_that_meet),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
