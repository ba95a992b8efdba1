/* SPDX-License-Identifier: Apache-2.0
 *
 * Work that a kernel of Triton does in registers: it takes time, or the reader names it where its
 * cost is not known, and simulated times say that they leave it out.
 */
#include "kernel/kernel.h"
#include "support/kernels.h"
#include "ttgir_fixture.h"

#define TENSOR "tensor<1024xf32, #row>"
#define INTS "tensor<1024xi32, #row>"
#define POINTERS "tensor<1024x!tt.ptr<i32>, #row>"
#define ADD "    %s = arith.addf %x, %x : " TENSOR "\n"
#define UNKNOWN "    %s = tt.elementwise_inline_asm \"\" %x : " TENSOR "\n"
#define INDEX                                                                 \
    "    %r = tt.make_range {end = 1024 : i32, start = 0 : i32} : " INTS "\n" \
    "    %m = arith.muli %r, %r : " INTS "\n    %k = arith.cmpi slt, %m, %r : " INTS "\n"
#define LOAD \
    "    %q = tt.splat %p : !tt.ptr<i32> -> " POINTERS "\n    %l = tt.load %q : " POINTERS "\n"
#define IN_LOOP(body)                                                      \
    "    %c0 = arith.constant 0 : i32\n    %c1 = arith.constant 1 : i32\n" \
    "    scf.for %i = %c0 to %K step %c1  : i32 {\n" body "    }\n"

/* The kernel has an operation without accesses for it, or names it. */
static void work_in_registers_is_counted(void **state) {
    (void)state;
    static const struct {
        const char *body, *work;
    } cases[] = {
        {"", NULL},
        {ADD, "work 1024 fma"},
        {ADD "    %t = arith.addf %s, %x : " TENSOR "\n", "work 2048 fma"},
        {IN_LOOP("  " ADD), "    simt compute_s work 1024 fma"},
        /* a product whose only use is a sum is part of it */
        {"    %m = arith.mulf %x, %x : " TENSOR "\n    %s = arith.addf %m, %x : " TENSOR "\n",
         "work 1024 fma"},
        {"    %m = arith.mulf %x, %x : " TENSOR "\n    %s = arith.addf %m, %x : " TENSOR
         "\n    %t = arith.subf %m, %s : " TENSOR "\n",
         "work 3072 fma"},
        {"    %e = math.exp %x : " TENSOR "\n", "work 1024 fma, 1024 exp"},
        {"    %n = arith.negf %x : " TENSOR "\n", NULL},
        {"    %h = arith.truncf %x : " TENSOR " to tensor<1024xf16, #row>\n", "work 512 convert"},
        {"    %b = arith.cmpf ogt, %x, %x : " TENSOR "\n    %v = arith.select %b, %x, %x : "
         "tensor<1024xi1, #row>, " TENSOR "\n",
         "work 2048 reduce"},
        /* 1024 sums in threads, then 5 steps of 128 threads with a shuffle each */
        {SUM("0", "", TENSOR), "work 1664 fma, 1280 reduce"},
        /* addresses and masks are part of the copies */
        {INDEX, NULL},
        {IN_LOOP("  " INDEX), NULL},
        /* integers that were loaded */
        {LOAD "    %n = arith.shrui %l, %l : " INTS "\n", "work 1024 reduce"},
        {LOAD "    %n = arith.shrui %l, %l : " INTS "\n    %o = arith.andi %n, %n : " INTS "\n",
         "work 2048 reduce"},
        /* what computes nothing, and numbers of the program */
        {"    %c = arith.constant dense<0.0> : " TENSOR "\n    %e = tt.expand_dims %x {axis = 1 : "
         "i32} : " TENSOR " -> tensor<1024x1xf32, #row>\n    %n = arith.addi %K, %K : i32\n",
         NULL},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        char text[4096];
        spad_ttgir_info info;
        spad_error error;
        test_text out;
        snprintf(text, sizeof text, "%s%s%s", RAW, cases[i].body, CLOSE);
        spad_kernel *kernel = read_with(text, &info);
        test_text_init(&out);
        assert_ok(spad_kernel_write_text(kernel, &out.sink, &error), &error);
        assert_string_equal(spad__kernel_get_uncounted(kernel), "");
        if (cases[i].work == NULL) {
            assert_null(strstr(out.bytes, " work "));
        } else if (strstr(out.bytes, cases[i].work) == NULL) {
            fail_msg("no '%s' in\n%s", cases[i].work, out.bytes);
        }
        test_text_free(&out);
        spad_kernel_destroy(kernel);
    }
}

/* The text of the kernel has it, and so do times of what is read again from that. */
static void times_say_what_they_leave_out(void **state) {
    (void)state;
    spad_ttgir_info info;
    spad_kernel *kernel = read_with(RAW UNKNOWN CLOSE, &info), *again;
    spad_sim *sim;
    spad_error error;
    char field[SPAD_BADGE_TEXT];
    test_text out;
    test_text_init(&out);
    assert_ok(spad_kernel_write_text(kernel, &out.sink, &error), &error);
    assert_non_null(
        strstr(out.bytes,
               "uncounted \"1 element-wise operation of threads (tt.elementwise_inline_asm)\"\n"));
    again = test_parse(out.bytes);
    assert_ok(spad_sim_create(&sim, again, NULL, &error), &error);
    const spad_sim_totals totals = spad_sim_get_totals(sim);
    assert_string_equal(totals.uncounted,
                        "1 element-wise operation of threads (tt.elementwise_inline_asm)");
    assert_non_null(
        strstr(spad_sim_badge_text(&totals, field),
               "not counted: 1 element-wise operation of threads (tt.elementwise_inline_asm)"));
    spad_sim_destroy(sim);
    spad_kernel_destroy(again);
    spad_kernel_destroy(kernel);
    test_text_free(&out);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(work_in_registers_is_counted),
        cmocka_unit_test(times_say_what_they_leave_out),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
