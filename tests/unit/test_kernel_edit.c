/* SPDX-License-Identifier: Apache-2.0
 *
 * Edits of kernels: an edit of nothing gives the same kernel with the same locations, and what
 * moves takes its location along.
 */
#include "support/support.h"

#include <string.h>

#include "kernel/edit.h"
#include "spad/spad.h"
#include "support/kernels.h"

static void assert_same_text(const spad_kernel *a, const spad_kernel *b) {
    test_text one;
    test_text two;
    spad_error error;
    test_text_init(&one);
    test_text_init(&two);
    assert_ok(spad_kernel_write_text(a, &one.sink, &error), &error);
    assert_ok(spad_kernel_write_text(b, &two.sink, &error), &error);
    assert_string_equal(one.bytes, two.bytes);
    test_text_free(&one);
    test_text_free(&two);
}

static const char scoped[] = "kernel k on trn2\n\n\nparam N = 4\nregion sbuf 0..4 KiB as exact\n"
                             "tensor in : hbm u8 [N] (128, 8) input\n\nfor i in 0..N {\n"
                             "scope s {\ntensor x : sbuf u8 (128, 8) stack\n"
                             "dma l reads in[i] writes x\nvector r reads x\n}\n}\n";
static const char agents[] =
    "kernel k on sm_90\nparam N = 4\n\nunknown full[2] in 0..3 = [1, 1]\nunit tma on copy free\n"
    "mbarrier m count 1\n\ntensor w : global u8 (64) input\ntensor s : shared u8 (64)\ninit m\n"
    "agent a {\ncursor stage, phase mod 2\nfor n in 0..N {\narrive m expect 64\n"
    "tma l reads w writes s delivers m\nwait m parity n % 2\nif full[n % 2] > 0 { fence }\n"
    "advance stage\n} }\n";

static void nothing_changes(void **state) {
    (void)state;
    static const char *const texts[] = {scoped, agents};
    for (size_t t = 0; t < 2; t++) {
        spad_kernel *kernel = test_parse(texts[t]);
        const spad__edit edit = spad__edit_of_nothing();
        spad_kernel *same;
        spad_error error;
        assert_ok(spad__kernel_edit(&same, kernel, &edit, NULL, &error), &error);
        assert_same_text(kernel, same);
        for (size_t i = 0; i < spad_kernel_statement_count(kernel); i++) {
            assert_int_equal(spad_kernel_get_statement(same, i)->location.line,
                             spad_kernel_get_statement(kernel, i)->location.line);
        }
        for (size_t i = 0; i < spad_kernel_param_count(kernel); i++) {
            assert_int_equal(spad_kernel_get_param(same, i)->location.line,
                             spad_kernel_get_param(kernel, i)->location.line);
        }
        spad_kernel_destroy(same);
        spad_kernel_destroy(kernel);
    }
}

static void statements_move(void **state) {
    (void)state;
    spad_kernel *kernel = test_parse("kernel k on trn2\ntensor x : sbuf u8 (128, 8)\n"
                                     "vector w writes x\nvector r reads x\n");
    spad_kernel *edited = kernel;
    int64_t to[4] = {SPAD__STAYS, SPAD__STAYS, SPAD__STAYS, SPAD__STAYS};
    spad__edit edit = spad__edit_of_nothing();
    spad_error error;
    edit.to = to;
    to[2] = 0; /* in front of the declaration of what it reads */
    assert_int_equal(spad__kernel_edit(&edited, kernel, &edit, NULL, &error), SPAD_ERR_UNKNOWN);
    assert_null(edited);
    to[2] = 1; /* the read before the write */
    assert_ok(spad__kernel_edit(&edited, kernel, &edit, NULL, &error), &error);
    assert_string_equal(spad_kernel_get_statement(edited, 1)->name, "r");
    assert_int_equal(spad_kernel_get_statement(edited, 1)->location.line, 4);
    spad_kernel_destroy(edited);
    spad_kernel_destroy(kernel);
}

static spad_status edit_nothing(const spad_host *host, void *context) {
    const spad__edit edit = spad__edit_of_nothing();
    spad_kernel *same;
    const spad_status status = spad__kernel_edit(&same, context, &edit, host, NULL);
    spad_kernel_destroy(same);
    return status;
}

static void every_allocation_may_fail(void **state) {
    (void)state;
    spad_kernel *kernel = test_parse(agents);
    test_fail_each_allocation(edit_nothing, kernel);
    spad_kernel_destroy(kernel);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(nothing_changes),
        cmocka_unit_test(statements_move),
        cmocka_unit_test(every_allocation_may_fail),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
