/* SPDX-License-Identifier: Apache-2.0
 *
 * Changes that make a kernel fit, of all kinds side by side: alignments, several memories, rings
 * and parameters, and those that are wrong. */
#include "support/kernels.h"
#include "support/support.h"

#include <string.h>

#include "spad/spad.h"

static void expect(const char *kernel_text, const char *expected) {
    spad_kernel *kernel = test_parse(kernel_text);
    spad_layout *layout;
    spad_fit *fit;
    spad_error error;
    test_text text;
    test_text_init(&text);
    assert_ok(spad_layout_create(&layout, kernel, NULL, &error), &error);
    assert_ok(spad_fit_create(&fit, layout, NULL, &error), &error);
    assert_ok(spad_fit_write(fit, layout, SPAD_FORMAT_TEXT, &text.sink, &error), &error);
    assert_string_equal(text.bytes, expected);
    test_text_free(&text);
    spad_fit_destroy(fit);
    spad_layout_destroy(layout);
    spad_kernel_destroy(kernel);
}

#define ALIGNED                                                                   \
    "kernel k on sm_90\ntensor x : shared u8 (1000) align 131072\n"               \
    "tensor y : shared u8 (120000) align 131072\ntensor z : shared u8 (110000)\n" \
    "simt w writes x, y, z\nsimt r reads x, y, z\n"

static void a_lower_alignment_may_help(void **state) {
    (void)state;
    expect(ALIGNED,
           "shared is 9,624 B (9.4 KiB) too small: 231,000 B are needed together (proved)\n"
           "  fits if 'x' is aligned to 2,048 B instead of 131,072\n"
           "  fits if 'y' is aligned to 2,048 B instead of 131,072\n"
           "  fits if 'x' is moved to another memory, which saves 1,000 B\n"
           "  fits if 'z' is moved to another memory, which saves 110,000 B\n"
           "  fits if 'y' is moved to another memory, which saves 120,000 B\n");
}

#define TWO_MEMORIES                                                                          \
    "kernel k on trn2\nparam N = 9\nparam S = 4\n"                                            \
    "tensor p : psum fp32 [N] (128, 512) ring 9\ntensor q : psum fp32 (128, 512)\n"           \
    "tensor a : sbuf u8 [N] (128, 60000) ring S\ntensor b : sbuf u8 [N] (128, 1000) ring 4\n" \
    "for i in 0..N {\ndma load writes a[i]\nvector e reads a[i] writes b[i]\n"                \
    "tensor m reads b[i] writes p[i]\nvector f reads p[i] writes q\n}\n"

static void every_memory_has_its_changes(void **state) {
    (void)state;
    expect(TWO_MEMORIES,
           "sbuf is 31,016 B (30.3 KiB) too small: 244,000 B are needed together (proved)\n"
           "  fits with -D S=3 instead of 4, which saves 60,000 B\n"
           "  fits with -D S=3 --ring b=3, which saves 61,000 B\n"
           "  fits if 'a' is moved to another memory, which saves 240,000 B\n"
           "psum is 4,096 B (4 KiB) too small: 20,480 B are needed together (proved)\n"
           "  fits with --ring p=7 instead of 9, which saves 4,096 B\n");
}

/* The reader of b is one tile after its writer. */
static void what_is_wrong_comes_last(void **state) {
    (void)state;
    expect("kernel k on sm_90\nparam N = 4\nparam S = 2\n"
           "tensor a : shared u8 [N] (120000) ring S\ntensor b : shared u8 [N] (110000) ring 2\n"
           "for i in 0..N {\nsimt e writes a[i]\nsimt r reads a[i]\nsimt e writes b[i]\n"
           "if i > 0 { simt r reads b[i - 1] }\n}\n",
           "shared is 227,552 B (222.2 KiB) too small: 460,000 B are needed together (proved)\n"
           "  fits if 'a' is moved to another memory, which saves 240,000 B\n"
           "  fits with -D S=1 --ring b=1, which saves 230,000 B, but is wrong then: "
           "SPAD-LIFETIME-CONFLICT\n");
}

static spad_status scenario(const spad_host *host, void *layout) {
    const spad_fit_options options = {.host = host};
    spad_fit *fit;
    const spad_status status = spad_fit_create(&fit, layout, &options, NULL);
    spad_fit_destroy(fit);
    return status;
}

static void every_allocation_may_fail(void **state) {
    (void)state;
    static const char *const texts[] = {ALIGNED, TWO_MEMORIES};
    for (size_t i = 0; i < sizeof texts / sizeof texts[0]; i++) {
        spad_kernel *kernel = test_parse(texts[i]);
        spad_layout *layout;
        assert_int_equal(spad_layout_create(&layout, kernel, NULL, NULL), SPAD_OK);
        test_fail_each_allocation(scenario, layout);
        spad_layout_destroy(layout);
        spad_kernel_destroy(kernel);
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_lower_alignment_may_help),
        cmocka_unit_test(every_memory_has_its_changes),
        cmocka_unit_test(what_is_wrong_comes_last),
        cmocka_unit_test(every_allocation_may_fail),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
