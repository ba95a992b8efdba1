/* SPDX-License-Identifier: Apache-2.0
 *
 * Texts that look like TTGIR and are something else, each with its message.
 */
#include <string.h>

#include "spad/spad.h"
#include "support/support.h"
#include "support/ttgir.h"

typedef test_ttgir_sample sample;

#define MODULE(attributes) \
    "module attributes {" attributes "} {\n  tt.func @f() {\n    tt.return\n  }\n}\n"
#define OLD \
    "a text of Triton before 3.3, whose operations are not known; compile with 3.3 or a later"
#define TTIR                                                                                 \
    "this is TTIR, in which no layout and no shared memory is decided: give the TTGIR that " \
    "Triton "                                                                                \
    "makes of it (kernel.asm[\"ttgir\"])"
#define RANGE "  tt.func @f() {\n    %0 = tt.make_range {end = 128 : i32} : tensor<128xi32"

/* With a chip of the caller as without: what they do to memory would not be seen. */
static void other_dialects(void **state) {
    (void)state;
    static const struct {
        const char *text, *message;
        int32_t line, column;
    } cases[] = {
        {MODULE("\"triton_gpu.num-warps\" = 4 : i32"), "\"triton_gpu.num-warps\": " OLD, 1, 20},
        {MODULE("triton_gpu.target = \"cuda:80\""), "triton_gpu.target: " OLD, 1, 20},
        {"#b = #triton_gpu.blocked<{}>\n" MODULE("ttg.target = \"cuda:80\""),
         "#triton_gpu.blocked: " OLD, 1, 6},
        {"module attributes {ttg.target = \"cuda:80\"} {\n  tt.func @f(%p: !tt.ptr<f16>) {\n"
         "    triton_nvidia_gpu.fence_async_shared {bCluster = false}\n  }\n}\n",
         "triton_nvidia_gpu.fence_async_shared: " OLD, 3, 5},
        {"module attributes {ttg.target = \"cuda:80\"} {\n  tt.func @f(%p: !tt.ptr<f16>) {\n"
         "    %0 = \"triton_gpu.local_alloc\"() : () -> i32\n  }\n}\n",
         "\"triton_gpu.local_alloc\": " OLD, 3, 10},
        {"module attributes {ttg.target = \"cuda:80\"} {\n"
         "  tt.func @f(%m: !tt.memdesc<64x64xf16>) {\n  }\n}\n",
         "!tt.memdesc: " OLD, 2, 18},
        {MODULE(""), TTIR, 2, 3},
        {"module {\n" RANGE ">\n  }\n}\n", TTIR, 2, 3},
        /* attributes alone make no TTGIR of it */
        {"module attributes {ttg.maxnreg = 64 : i32, ttg.target = \"cuda:80\"} {\n" RANGE
         ">\n  }\n}\n",
         TTIR, 2, 3},
    };
    spad_kernel_options with = {0};
    assert_int_equal(spad_target_find(&with.target, "sm_90", NULL), SPAD_OK);
    for (size_t i = 0; i < 2 * (sizeof cases / sizeof *cases); i++) {
        const char *text = cases[i / 2].text;
        spad_kernel *kernel;
        spad_error error;
        assert_int_equal(spad_kernel_read_ttgir(&kernel, NULL, text, strlen(text), "k",
                                                i % 2 == 0 ? NULL : &with, NULL, &error),
                         SPAD_ERR_SYNTAX);
        assert_null(kernel);
        if (strstr(error.message, cases[i / 2].message) == NULL) print_error("%s\n", error.message);
        assert_non_null(strstr(error.message, cases[i / 2].message));
        assert_int_equal(error.line, cases[i / 2].line);
        assert_int_equal(error.column, cases[i / 2].column);
    }
}

/* One layout, or one operation on memory, makes it TTGIR; a name of a file means nothing. */
static void small_texts(void **state) {
    (void)state;
    static const sample list[] = {
        {"#b = #ttg.blocked<{}>\nmodule attributes {ttg.target = \"cuda:80\"} {\n" RANGE
         ", #b> loc(\"triton_gpu.py\":1:1)\n  }\n}\n",
         {"kernel f on sm_80"}},
        {"module attributes {ttg.target = \"cuda:80\"} {\n" RANGE
         "> loc(\"triton_gpu.x\"(\"triton_gpu.py\":1:1))\n"
         "    \"ttg.async_commit_group\"() : () -> i32\n  }\n}\n",
         {"kernel f on sm_80"}},
    };
    CHECK_SAMPLES(list);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(other_dialects),
        cmocka_unit_test(small_texts),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
