/* SPDX-License-Identifier: Apache-2.0
 *
 * Calls that try things which fail on the way, such as a smaller shape that does not exist, and
 * succeed: the error of the caller is left alone.
 */
#include "spad/spad.h"
#include "support/kernels.h"
#include "support/support.h"

#include <string.h>

enum { UNTOUCHED = 0x5A };

static void touch_nothing(spad_error *error) {
    memset(error, UNTOUCHED, sizeof *error);
}

static void assert_untouched(const spad_error *error) {
    const unsigned char *bytes = (const unsigned char *)error;
    for (size_t i = 0; i < sizeof *error; i++) assert_int_equal(bytes[i], UNTOUCHED);
}

static spad_kernel *read_kernel(const char *text) {
    spad_kernel *kernel = test_parse(text);
    return kernel;
}

/* A shape without iterations has no tile, so it does not exist. */
static const char no_smaller_shape[] = "kernel k on trn2\n"
                                       "param N = 4\n"
                                       "tensor x : sbuf bf16 [N] (128, 512) ring 2\n"
                                       "for i in 0..N {\n"
                                       "    dma load writes x[i]\n"
                                       "    scalar exp reads x[i]\n"
                                       "}\n";

static void test_check(void **state) {
    (void)state;
    spad_kernel *kernel = read_kernel(no_smaller_shape);
    spad_check *check;
    spad_error error;
    touch_nothing(&error);
    assert_int_equal(spad_check_create(&check, kernel, NULL, &error), SPAD_OK);
    assert_untouched(&error);
    spad_check_destroy(check);
    spad_kernel_destroy(kernel);
}

/* An agent whose walk ends at an index: the order of agents is then not looked at. */
static void test_check_of_agents(void **state) {
    (void)state;
    spad_kernel *kernel = read_kernel("kernel k on sm_90\n"
                                      "tensor x : shared u8 [2] (64)\n"
                                      "agent p { for i in 0..3 { if i > 1 { simt fill writes "
                                      "x[i + 1 - i % 2] } } }\n"
                                      "agent q { simt use writes x[0] }\n");
    spad_check *check;
    spad_error error;
    touch_nothing(&error);
    assert_int_equal(spad_check_create(&check, kernel, NULL, &error), SPAD_OK);
    assert_true(spad_check_get_counts(check).errors > 0);
    assert_untouched(&error);
    spad_check_destroy(check);
    spad_kernel_destroy(kernel);
}

static void test_tune(void **state) {
    (void)state;
    spad_kernel *kernel = read_kernel(no_smaller_shape);
    const spad_tune_options options = {.depth_most = 3};
    spad_tune *tune;
    spad_error error;
    touch_nothing(&error);
    assert_int_equal(spad_tune_create(&tune, kernel, &options, &error), SPAD_OK);
    assert_untouched(&error);
    spad_tune_destroy(tune);
    spad_kernel_destroy(kernel);
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_check),
                                       cmocka_unit_test(test_check_of_agents),
                                       cmocka_unit_test(test_tune)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
