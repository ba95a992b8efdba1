/* SPDX-License-Identifier: Apache-2.0
 *
 * Work that a kernel of Triton does in registers: the reader names it, because no statement stands
 * for it, and simulated times say that they leave it out.
 */
#include "kernel/kernel.h"
#include "support/kernels.h"
#include "ttgir_fixture.h"

#define TENSOR "tensor<1024xf32, #row>"
#define INTS "tensor<1024xi32, #row>"
#define POINTERS "tensor<1024x!tt.ptr<i32>, #row>"
#define ADD "    %s = arith.addf %x, %x : " TENSOR "\n"
#define INDEX                                                                 \
    "    %r = tt.make_range {end = 1024 : i32, start = 0 : i32} : " INTS "\n" \
    "    %m = arith.muli %r, %r : " INTS "\n    %k = arith.cmpi slt, %m, %r : " INTS "\n"
#define LOAD \
    "    %q = tt.splat %p : !tt.ptr<i32> -> " POINTERS "\n    %l = tt.load %q : " POINTERS "\n"
#define IN_LOOP(body)                                                      \
    "    %c0 = arith.constant 0 : i32\n    %c1 = arith.constant 1 : i32\n" \
    "    scf.for %i = %c0 to %K step %c1  : i32 {\n" body "    }\n"

static void element_wise_work_is_named(void **state) {
    (void)state;
    static const struct {
        const char *body, *uncounted;
    } cases[] = {
        {"", ""},
        {ADD, "1 element-wise operation of threads (arith.addf)"},
        {ADD "    %t = arith.addf %s, %x : " TENSOR "\n",
         "2 element-wise operations of threads (arith.addf)"},
        {IN_LOOP("  " ADD), "1 element-wise operation of threads in loops (arith.addf)"},
        {IN_LOOP("      %e = math.exp2 %x : " TENSOR "\n") ADD,
         "2 element-wise operations of threads, 1 in loops (math.exp2, arith.addf)"},
        /* the names that take longest first, those in loops before others, and not all of them */
        {ADD "    %a = arith.subf %x, %x : " TENSOR "\n    %b = arith.negf %x : " TENSOR
             "\n" IN_LOOP("      %m = arith.mulf %x, %x : " TENSOR
                          "\n      %e = math.exp %x : " TENSOR "\n"),
         "5 element-wise operations of threads, 2 in loops (math.exp, arith.mulf, arith.addf and "
         "others)"},
        {SUM("0", "", TENSOR), "1 element-wise operation of threads (tt.reduce)"},
        {"    %h = arith.truncf %x : " TENSOR " to tensor<1024xf16, #row>\n",
         "1 element-wise operation of threads (arith.truncf)"},
        {"    %b = arith.cmpf ogt, %x, %x : " TENSOR "\n    %v = arith.select %b, %x, %x : "
         "tensor<1024xi1, #row>, " TENSOR "\n",
         "2 element-wise operations of threads (arith.cmpf, arith.select)"},
        /* addresses and masks are part of the copies */
        {INDEX, ""},
        {INDEX LOAD, ""},
        {IN_LOOP("  " INDEX), ""},
        /* integers that were loaded */
        {LOAD "    %n = arith.shrui %l, %l : " INTS "\n",
         "1 element-wise operation of threads (arith.shrui)"},
        {LOAD "    %n = arith.shrui %l, %l : " INTS "\n    %o = arith.andi %n, %n : " INTS "\n",
         "2 element-wise operations of threads (arith.shrui, arith.andi)"},
        /* what computes nothing, and numbers of the program */
        {"    %c = arith.constant dense<0.0> : " TENSOR "\n    %e = tt.expand_dims %x {axis = 1 : "
         "i32} : " TENSOR " -> tensor<1024x1xf32, #row>\n    %n = arith.addi %K, %K : i32\n",
         ""},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        char text[4096];
        spad_ttgir_info info;
        snprintf(text, sizeof text, "%s%s%s", RAW, cases[i].body, CLOSE);
        spad_kernel *kernel = read_with(text, &info);
        assert_string_equal(spad__kernel_get_uncounted(kernel), cases[i].uncounted);
        spad_kernel_destroy(kernel);
    }
}

/* The text of the kernel has it, and so do times of what is read again from that. */
static void times_say_what_they_leave_out(void **state) {
    (void)state;
    spad_ttgir_info info;
    spad_kernel *kernel = read_with(RAW ADD CLOSE, &info), *again;
    spad_sim *sim;
    spad_error error;
    char field[SPAD_BADGE_TEXT];
    test_text out;
    test_text_init(&out);
    assert_ok(spad_kernel_write_text(kernel, &out.sink, &error), &error);
    assert_non_null(
        strstr(out.bytes, "uncounted \"1 element-wise operation of threads (arith.addf)\"\n"));
    again = test_parse(out.bytes);
    assert_ok(spad_sim_create(&sim, again, NULL, &error), &error);
    const spad_sim_totals totals = spad_sim_get_totals(sim);
    assert_string_equal(totals.uncounted, "1 element-wise operation of threads (arith.addf)");
    assert_non_null(strstr(spad_sim_badge_text(&totals, field),
                           "not counted: 1 element-wise operation of threads (arith.addf)"));
    spad_sim_destroy(sim);
    spad_kernel_destroy(again);
    spad_kernel_destroy(kernel);
    test_text_free(&out);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(element_wise_work_is_named),
        cmocka_unit_test(times_say_what_they_leave_out),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
