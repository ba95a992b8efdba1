/* SPDX-License-Identifier: Apache-2.0
 *
 * What a check is given from outside: the faults of a text, layouts that do not fit, errors of a
 * layout; kernels without a file; and counters whose sums are at the end of 64 bits. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "induction/induction.h"
#include "kernel/kernel.h"
#include "spad/spad.h"
#include "support/kernels.h"
#include "support/support.h"
#include "verify/verify.h"

/* ---- faults of a text -------------------------------------------------------------- */

static const char broken[] = "kernel k on trn2\ntensor x : nowhere u8 (4)\nvector w writes\n";

static spad_status from_faults(const spad_host *host, void *context) {
    spad_check *check;
    const spad_status status = spad_check_create_from_faults(&check, context, NULL, host, NULL);
    assert_true((status == SPAD_OK) == (check != NULL));
    spad_check_destroy(check);
    return status;
}

static void faults_need_no_file(void **state) {
    (void)state;
    spad_diagnostics *faults;
    spad_kernel *kernel;
    spad_check *check;
    spad_error error;
    test_text text;
    test_text_init(&text);
    assert_ok(spad_diagnostics_create(&faults, NULL, &error), &error);
    assert_int_equal(spad_kernel_parse(&kernel, broken, strlen(broken), NULL, NULL, faults, &error),
                     SPAD_ERR_SYNTAX);
    assert_ok(spad_check_create_from_faults(&check, faults, NULL, NULL, &error), &error);
    assert_int_equal(spad_check_finding_count(check), 2);
    assert_string_equal(spad_check_get_finding(check, 0)->file, "");
    assert_int_equal(spad_check_get_finding(check, 0)->line, 2);
    assert_ok(spad_check_write_text(check, NULL, NULL, 0, &text.sink, &error), &error);
    assert_non_null(strstr(text.bytes, ": 2 errors: the text cannot be read\n"));
    const spad_check *const checks[] = {check};
    test_text_clear(&text);
    assert_ok(spad_check_write_sarif(checks, 1, &text.sink, &error), &error);
    assert_null(strstr(text.bytes, "artifactLocation")); /* there is nothing to point at */
    spad_check_destroy(check);
    test_fail_each_allocation(from_faults, faults);
    spad_diagnostics_destroy(faults);
    test_text_free(&text);
}

/* No fault at all: a text that was not read for another reason. */
static void there_may_be_no_fault(void **state) {
    (void)state;
    spad_diagnostics *faults;
    spad_check *check;
    spad_error error;
    test_text text;
    test_text_init(&text);
    assert_ok(spad_diagnostics_create(&faults, NULL, &error), &error);
    assert_ok(spad_check_create_from_faults(&check, faults, "k.spad", NULL, &error), &error);
    assert_ok(spad_check_write_text(check, NULL, NULL, 0, &text.sink, &error), &error);
    assert_string_equal(text.bytes, "wrong: the text cannot be read\n");
    spad_check_destroy(check);
    spad_diagnostics_destroy(faults);
    test_text_free(&text);
}

/* What is not plain in a path is written as %XX. */
static void paths_become_uris(void **state) {
    (void)state;
    spad_diagnostics *faults;
    spad_kernel *kernel;
    spad_check *check;
    spad_error error;
    test_text text;
    test_text_init(&text);
    assert_ok(spad_diagnostics_create(&faults, NULL, &error), &error);
    assert_int_equal(spad_kernel_parse(&kernel, broken, strlen(broken), NULL, NULL, faults, &error),
                     SPAD_ERR_SYNTAX);
    assert_ok(spad_check_create_from_faults(&check, faults, "A-z_0~9/{a b}[`@:.spad", NULL, &error),
              &error);
    const spad_check *const checks[] = {check};
    assert_ok(spad_check_write_sarif(checks, 1, &text.sink, &error), &error);
    assert_non_null(strstr(text.bytes, "\"A-z_0~9/%7Ba%20b%7D%5B%60%40%3A.spad\""));
    spad_check_destroy(check);
    spad_diagnostics_destroy(faults);
    test_text_free(&text);
}

/* ---- layouts ----------------------------------------------------------------------- */

static const char too_large[] = "kernel k on trn2\ntensor x : sbuf u8 (128, 300000)\n"
                                "tensor p : psum fp32 [20] (128, 512)\n"
                                "dma load writes x\nfor i in 0..20 { tensor m writes p[i] }\n"
                                "vector r reads x\nvector s reads p[0]\n";

typedef struct laid_out {
    const spad_kernel *kernel;
    const spad_layout *layout;
    spad_error fault;
} laid_out;

static spad_status add_both(const spad_host *host, void *context) {
    const laid_out *given = context;
    const spad_check_options options = {.one_shape = true, .host = host};
    spad_check *check;
    spad_status status = spad_check_create(&check, given->kernel, &options, NULL);
    if (status == SPAD_OK) status = spad__check_add_layout(check, given->layout, NULL);
    if (status == SPAD_OK) status = spad__check_add_fault(check, &given->fault, NULL);
    spad_check_destroy(check);
    return status;
}

static void a_kernel_without_a_file_does_not_fit(void **state) {
    (void)state;
    laid_out given = {.fault = {.code = SPAD_ERR_NO_FIT, .message = "no room for 'x'"}};
    spad_kernel *kernel;
    spad_layout *layout;
    spad_check *check;
    spad_error error;
    assert_ok(spad_kernel_parse(&kernel, too_large, strlen(too_large), NULL, NULL, NULL, &error),
              &error);
    assert_ok(spad_layout_create(&layout, kernel, NULL, &error), &error);
    assert_ok(spad_check_create(&check, kernel, NULL, &error), &error);
    const size_t before = spad_check_finding_count(check);
    assert_ok(spad__check_add_layout(check, layout, &error), &error);
    assert_int_equal(spad_check_finding_count(check), before + 2); /* two memories */
    size_t number = 0;
    while (spad_check_get_finding(check, number)->code != SPAD_FINDING_DOES_NOT_FIT) number++;
    const spad_finding *first = spad_check_get_finding(check, number);
    assert_string_equal(first->file, "<text>");
    assert_string_equal(first->message,
                        "sbuf is too small: 300,000 B per lane are needed at the same time, and it "
                        "has 212,984 B; 'spad fit' shows what would fit");
    assert_ok(spad__check_add_fault(check, &given.fault, &error), &error);
    assert_int_equal(spad_check_finding_count(check), before + 3);
    assert_int_equal(spad_check_get_verdict(check), SPAD_VERDICT_WRONG);
    spad_check_destroy(check);
    given.kernel = kernel;
    given.layout = layout;
    test_fail_each_allocation(add_both, &given);
    spad_layout_destroy(layout);
    spad_kernel_destroy(kernel);
}

/* The first thing that is added to a check without findings needs memory. */
static spad_status add_layout_first(const spad_host *host, void *context) {
    const laid_out *given = context;
    const spad_check_options options = {.one_shape = true, .no_advice = true, .host = host};
    spad_check *check;
    spad_status status = spad_check_create(&check, given->kernel, &options, NULL);
    if (status == SPAD_OK) {
        assert_int_equal(spad_check_finding_count(check), 0);
        status = spad__check_add_layout(check, given->layout, NULL);
        assert_int_equal(spad_check_finding_count(check), status == SPAD_OK);
    }
    spad_check_destroy(check);
    return status;
}

static spad_status add_fault_first(const spad_host *host, void *context) {
    const laid_out *given = context;
    const spad_check_options options = {.one_shape = true, .no_advice = true, .host = host};
    spad_check *check;
    spad_status status = spad_check_create(&check, given->kernel, &options, NULL);
    if (status == SPAD_OK) {
        status = spad__check_add_fault(check, &given->fault, NULL);
        assert_int_equal(spad_check_finding_count(check), status == SPAD_OK);
    }
    spad_check_destroy(check);
    return status;
}

/* No tensor is too large here: mbarriers take the memory. */
static void objects_may_not_fit(void **state) {
    (void)state;
    laid_out given = {.fault = {.code = SPAD_ERR_NO_FIT, .message = "no room"}};
    spad_layout *layout;
    spad_check *check;
    spad_error error;
    spad_kernel *kernel = test_parse("kernel k on sm_90\nmbarrier m[40000] count 1\n"
                                     "init m[0] count 1\narrive m[0]\nwait m[0] parity 0\n"
                                     "invalidate m[0]\n");
    assert_ok(spad_layout_create(&layout, kernel, NULL, &error), &error);
    assert_ok(spad_check_create(&check, kernel, NULL, &error), &error);
    assert_ok(spad__check_add_layout(check, layout, &error), &error);
    assert_int_equal(spad_check_finding_count(check), 1);
    const spad_finding *finding = spad_check_get_finding(check, 0);
    assert_int_equal(finding->code, SPAD_FINDING_DOES_NOT_FIT);
    assert_int_equal(finding->line, 0); /* there is no tensor to point at */
    assert_non_null(strstr(finding->message, "shared is too small: 320,000 B"));
    spad_check_destroy(check);
    given.kernel = kernel;
    given.layout = layout;
    test_fail_each_allocation(add_layout_first, &given);
    test_fail_each_allocation(add_fault_first, &given);
    spad_layout_destroy(layout);
    spad_kernel_destroy(kernel);
}

/* A kernel from calls has no file: its findings have none. */
static void findings_of_calls_have_no_file(void **state) {
    (void)state;
    const spad_amount shape[] = {{.value = 128}, {.value = 300000}};
    const spad_target *chip;
    spad__kernel_builder *builder;
    spad_kernel *kernel;
    spad_layout *layout;
    spad_check *check;
    spad_error error;
    assert_ok(spad_target_find(&chip, "trn2", &error), &error);
    spad_kernel_tensor x = {.name = "x", .dtype = SPAD_UINT8, .dims = {2, shape}};
    spad_kernel_access reads = {.kind = SPAD_ACCESS_READ};
    assert_ok(spad_target_find_space(&x.space, chip, "sbuf", &error), &error);
    assert_ok(spad__kernel_builder_create(&builder, "k", NULL, chip, NULL, &error), &error);
    assert_ok(spad__kernel_builder_tensor(&reads.tensor, builder, &x, &error), &error);
    assert_ok(spad__kernel_builder_operation(builder, "vector", "op", &error), &error);
    assert_ok(spad__kernel_builder_access(builder, &reads, &error), &error);
    assert_ok(spad__kernel_builder_finish(&kernel, builder, &error), &error);
    spad__kernel_builder_destroy(builder);
    assert_ok(spad_layout_create(&layout, kernel, NULL, &error), &error);
    assert_ok(spad_check_create(&check, kernel, NULL, &error), &error);
    assert_ok(spad__check_add_layout(check, layout, &error), &error);
    bool read = false;
    bool fits = true;
    for (size_t i = 0; i < spad_check_finding_count(check); i++) {
        const spad_finding *finding = spad_check_get_finding(check, i);
        assert_string_equal(finding->file, "");
        read = read || finding->code == SPAD_FINDING_UNINITIALISED_READ;
        fits = fits && finding->code != SPAD_FINDING_DOES_NOT_FIT;
    }
    assert_true(read && !fits);
    spad_check_destroy(check);
    spad_layout_destroy(layout);
    spad_kernel_destroy(kernel);
}

/* ---- advice ------------------------------------------------------------------------ */

/* A ring with a number for each dimension counts the tiles of its dimension. */
static void rings_are_too_deep_along_a_dimension(void **state) {
    (void)state;
    spad_kernel *kernel =
        test_parse("kernel k on trn2\ntensor x : sbuf u8 [2, 3] (64, 4) ring [3, 2]\n"
                   "tensor y : sbuf u8 [2, 3] (64, 4) ring 9\n"
                   "tensor z : sbuf u8 [2, 3] (64, 4) ring 5\n"
                   "for i in 0..2 { for j in 0..3 {\nvector w writes x[i, j], y[i, j], z[i, j]\n"
                   "scalar r reads x[i, j], y[i, j], z[i, j] } }\n");
    static const char *const messages[] = {
        "'x' has 3 slots for 2 tiles; the others are never used",
        "'y' has 9 slots for 6 tiles; the others are never used"};
    spad_check *check;
    spad_error error;
    assert_ok(spad_check_create(&check, kernel, NULL, &error), &error);
    size_t found = 0;
    for (size_t i = 0; i < spad_check_finding_count(check); i++) {
        const spad_finding *finding = spad_check_get_finding(check, i);
        if (finding->code != SPAD_FINDING_DEEP_RING) continue;
        assert_true(found < 2);
        assert_string_equal(finding->message, messages[found++]);
    }
    assert_int_equal(found, 2);
    spad_check_destroy(check);
    spad_kernel_destroy(kernel);
}

/* ---- sums -------------------------------------------------------------------------- */

#define MOST "9223372036854775807"

/* The reader waits for `amount`; the writer signals twice before it writes and once after it. */
static spad_verdict wait_for(const char *first, const char *second, const char *other,
                             const char *amount, const char *order) {
    char text[600];
    spad_check *check;
    spad_error error;
    snprintf(text, sizeof text,
             "kernel k on sm_90\ntensor a : shared u8 (4)\ncounter c\n"
             "agent p { signal c by %s %s\nsignal c by %s %s\nsimt w writes a\nsignal c by 10 }\n"
             "agent q { signal c by %s\nwait c >= %s\nsimt r reads a }\n",
             first, order, second, order, other, amount);
    spad_kernel *kernel = test_parse(text);
    assert_ok(spad_check_create(&check, kernel, NULL, &error), &error);
    const spad_verdict verdict = spad_check_get_verdict(check);
    if (verdict == SPAD_VERDICT_WRONG) {
        assert_int_equal(spad_check_get_finding(check, 0)->code, SPAD_FINDING_RACE);
    }
    spad_check_destroy(check);
    spad_kernel_destroy(kernel);
    return verdict;
}

/* A wait that needs every signal orders the agents, one that needs fewer does not. A sum beyond 64
 * bits stays at its limit, and is more than a wait for the limit needs. */
static void a_sum_at_its_limit_orders_nothing(void **state) {
    (void)state;
    static const struct {
        const char *first, *second, *other, *amount, *order;
        spad_verdict verdict;
    } cases[] = {
        {"5", "9", "3", "27", "", SPAD_VERDICT_PROVED_SHAPE},
        {"5", "9", "3", "17", "", SPAD_VERDICT_WRONG},
        {"5", "9", "3", "27", "relaxed", SPAD_VERDICT_PROVED_SHAPE},
        {"5", "9", "3", "14", "relaxed", SPAD_VERDICT_WRONG},
        {"9223372036854775700", "9", "3", "9223372036854775722", "", SPAD_VERDICT_PROVED_SHAPE},
        {"9223372036854775800", "9", "3", MOST, "", SPAD_VERDICT_WRONG},
        {"9223372036854775800", "6", "1", MOST, "", SPAD_VERDICT_WRONG},
        {"9223372036854775800", "7", "3", MOST, "relaxed", SPAD_VERDICT_WRONG},
        {"9223372036854775800", "9", "3", MOST, "relaxed", SPAD_VERDICT_WRONG},
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        const spad_verdict verdict = wait_for(cases[i].first, cases[i].second, cases[i].other,
                                              cases[i].amount, cases[i].order);
        if (verdict != cases[i].verdict) print_error("case %zu\n", i);
        assert_int_equal(verdict, cases[i].verdict);
    }
}

static spad_verdict verdict_of(const char *text) {
    spad_check *check;
    spad_error error;
    spad_kernel *kernel = test_parse(text);
    assert_ok(spad_check_create(&check, kernel, NULL, &error), &error);
    const spad_verdict verdict = spad_check_get_verdict(check);
    spad_check_destroy(check);
    spad_kernel_destroy(kernel);
    return verdict;
}

/* Several signals of one operation happen at the same point. */
static void signals_of_one_operation_are_added(void **state) {
    (void)state;
#define SIGNALS(c, d)                                                                            \
    "kernel k on sm_90\ntensor a : shared u8 (4)\ntensor b : shared u8 (4)\ncounter c\n"         \
    "counter d\nagent p { simt w writes a signals c signals d signals c by 2 signals d by 3 }\n" \
    "agent r { simt w writes b signals d signals c by 2 signals c by 2 }\n"                      \
    "agent q { wait c >= " c "\nwait d >= " d "\nsimt r reads a, b }\n"
    assert_int_equal(verdict_of(SIGNALS("7", "5")), SPAD_VERDICT_PROVED_SHAPE);
    assert_int_equal(verdict_of(SIGNALS("5", "1")), SPAD_VERDICT_PROVED_SHAPE);
    assert_int_equal(verdict_of(SIGNALS("4", "1")), SPAD_VERDICT_WRONG);
    assert_int_equal(verdict_of(SIGNALS("4", "4")), SPAD_VERDICT_PROVED_SHAPE);
    assert_int_equal(verdict_of(SIGNALS("1", "5")), SPAD_VERDICT_PROVED_SHAPE);
}

/* ---- memory of the proof ----------------------------------------------------------- */

static spad_status prepare_growth(const spad_host *host, void *kernel) {
    spad__induction induction;
    const spad_status status = spad__induction_init(&induction, kernel, 0, 1, NULL, host, NULL);
    if (status == SPAD_OK) spad__induction_free(&induction);
    return status;
}

/* So many of one kind that each table is a block of its own. */
static void fail_tables(int params, int tensors, int loops) {
    enum { TEXT = 1 << 21 };
    char *source = malloc(TEXT);
    assert_non_null(source);
    size_t used = (size_t)snprintf(source, TEXT, "kernel k on sm_90\nparam N = 3\n");
    for (int i = 0; i < params; i++) {
        used += (size_t)snprintf(source + used, TEXT - used, "param P%d = 1\n", i);
    }
    for (int i = 0; i < tensors; i++) {
        used += (size_t)snprintf(source + used, TEXT - used, "tensor t%d : global u8 [1] (1)\n", i);
    }
    for (int i = 0; i < loops; i++) {
        used += (size_t)snprintf(source + used, TEXT - used, "for i%d in 0..N { simt op }\n", i);
    }
    assert_true(used < TEXT - 1);
    spad_kernel *kernel = test_parse(source);
    test_fail_each_allocation(prepare_growth, kernel);
    spad_kernel_destroy(kernel);
    free(source);
}

static void every_table_of_a_proof_may_fail(void **state) {
    (void)state;
    fail_tables(0, 1200, 1200);
    fail_tables(20000, 20000, 2);
    fail_tables(0, 0, 9000);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(faults_need_no_file),
        cmocka_unit_test(there_may_be_no_fault),
        cmocka_unit_test(paths_become_uris),
        cmocka_unit_test(a_kernel_without_a_file_does_not_fit),
        cmocka_unit_test(objects_may_not_fit),
        cmocka_unit_test(findings_of_calls_have_no_file),
        cmocka_unit_test(rings_are_too_deep_along_a_dimension),
        cmocka_unit_test(a_sum_at_its_limit_orders_nothing),
        cmocka_unit_test(signals_of_one_operation_are_added),
        cmocka_unit_test(every_table_of_a_proof_may_fail),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
