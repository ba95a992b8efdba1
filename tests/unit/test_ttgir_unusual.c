/* SPDX-License-Identifier: Apache-2.0
 *
 * TTGIR that a printer rarely writes: unusual tokens, modules, types, views, barriers, partitions
 * and locations, each with the statements it becomes or with the message of its fault.
 */
#include <stdio.h>
#include <string.h>

#include "layout/occupancy.h"
#include "spad/spad.h"
#include "support/support.h"
#include "support/ttgir.h"

typedef test_ttgir_sample sample;
typedef test_ttgir_fault fault;

static spad_status read_one(spad_kernel **kernel, const char *text, spad_ttgir_info *info,
                            spad_diagnostics *faults, spad_error *error) {
    const spad_status status =
        spad_kernel_read_ttgir(kernel, info, text, strlen(text), "k", NULL, faults, error);
    assert_int_equal(status == SPAD_OK, *kernel != NULL);
    return status;
}

/* ---- tokens --------------------------------------------------------------------------- */

static void tokens(void **state) {
    (void)state;
    static const sample list[] = {
        /* with a mark of its encoding before it, and ends of lines of another system */
        {"\xEF\xBB\xBF" HEAD("90") ALLOC_S "    ttg.local_store %p, %x : " S2 "\r\n" CLOSE,
         {"simt store writes x\n"}},
        {"// a comment\r\n" HEAD(
             "90") "\t%n$1 = foo.bar %K {x = \"a\\\"b\", y = 1.5E+10, z = 1.0e-3, "
                   "q = 1.2f+3, h = {- 1}} : i32\r\n" ALLOC_S "    ttg.local_store %p, %x : " S2
                   "\n" CLOSE "{-#\n  a: # b #- c\n#-}\n// the end",
         {"kernel f on sm_90", "simt store writes x\n"}},
        /* a number that is too large is data */
        {HEAD("90") "    %n = arith.constant 99999999999999999999 : i64\n"
                    "    %o = arith.constant 9223372036854775808 : i64\n"
                    "    %q = arith.constant dense<0> : tensor<4xi32>\n" ALLOC_S
                    "    ttg.local_store %n, %x : " S2 "\n" CLOSE,
         {"writes x\n"}},
        {HEAD("90") ALLOC_S "    %u:2 = foo.bar %K : i32\n    ttg.local_store %u#1, %x : " S2
                            "\n    ttg.local_store %u#0, %x : " S2 "\n" CLOSE,
         {"writes x\n"}},
    };
    static const fault faults[] = {
        {HEAD("90") "    foo.bar \"a\\\n" CLOSE, "a string that does not end on its line"},
        {HEAD("90") "    foo.bar \"a\\", "a string that does not end on its line"},
        {HEAD("90") "    %0:5000 = foo.bar\n" CLOSE, "expected a number of results"},
        {HEAD("90") "    %0:x = foo.bar\n" CLOSE, "expected a number of results"},
        {HEAD("90") "    foo.bar %u#7", "a value that no operation before it defines"},
        {HEAD("90") "    %u:2 = foo.bar\n    foo.bar %u#99999999999\n" CLOSE,
         "a value that no operation before it defines"},
        {HEAD("90") "    foo.bar (\n", "the text ends inside of this operation"},
        {HEAD("90") "    %0\n" CLOSE, "expected '=' after the results of an operation"},
        {"@", "expected the name of an operation"},
        {"module {\n  ^bb0(%a: i32, %b):\n  foo.bar %a\n}\n", "a module without a function"},
    };
    CHECK_SAMPLES(list);
    CHECK_FAULTS(faults);
}

static void texts_of_other_kinds(void **state) {
    (void)state;
    static const char *const yes[] = {"\t \rmodule {", "//\n#a=1\nmodule"};
    static const char *const no[] = {"/",     "/x",      "#",  "# = 1",  "#\nmodule {",
                                     " \t\r", "//",      "#=", "tt.fun", "\"builtin.modulo\"",
                                     "\"x",   "modula {"};
    for (size_t i = 0; i < sizeof yes / sizeof *yes; i++) {
        assert_true(spad_ttgir_detect(yes[i], strlen(yes[i])));
    }
    for (size_t i = 0; i < sizeof no / sizeof *no; i++) {
        assert_false(spad_ttgir_detect(no[i], strlen(no[i])));
    }
}

/* ---- modules -------------------------------------------------------------------------- */

#define MODULE(attributes) \
    "module attributes {" attributes "} {\n  tt.func @f() {\n    tt.return\n  }\n}\n"

#define OPEN_80 "module attributes {ttg.target = \"cuda:80\"} {\n"
#define FUNCTION(name) "  tt.func " name "() {\n    tt.return\n  }\n"

static void modules(void **state) {
    (void)state;
    static const fault faults[] = {
        {MODULE("ttg.target = 90"), "no chip: 'ttg.target' is missing"},
        {MODULE("ttg.target"), "no chip: 'ttg.target' is missing"},
        {MODULE("ttg.target : \"cuda:90\""), "no chip: 'ttg.target' is missing"},
        {MODULE("ttg.target = \"\""), "a target of another vendor"},
        {MODULE("ttg.target = \"cuda:90000000000000000000000000000000\""),
         "a target of another vendor"},
        {"module {\n  tt.func private @f()\n}\n", "a module without a function of Triton"},
        {OPEN_80 FUNCTION("public @a") FUNCTION("private @b") FUNCTION("public @c") "}\n",
         "2 public functions (@a, @c): a text with one kernel is read; leave the others out, or "
         "make "
         "them private"},
        {OPEN_80 FUNCTION("@a") FUNCTION("") FUNCTION("@c") FUNCTION("@d") FUNCTION("@e") "}\n",
         "5 public functions (@a, tt.func, @c, @d, ...): a text with one kernel is read"},
    };
    static const sample list[] = {
        {MODULE("ttg.target = \"cuda:90\", \"ttg.num-warps\" = 0 : i32"), {"kernel f on sm_90"}},
        {MODULE("ttg.target = \"cuda:90\", \"ttg.num-warps\" = 65 : i32"), {"kernel f on sm_90"}},
        {MODULE("ttg.target = \"cuda:90\", \"ttg.num-warps\" = x"), {"kernel f on sm_90"}},
        {"\"builtin.module\"() ({\n  tt.func @a() {\n  }\n  tt.func @b() {\n  }\n  tt.func public "
         "@c() {\n  }\n}) {ttg.target = \"cuda:80\"} : () -> ()\n",
         {"kernel c on sm_80"}},
        {"foo.bar\nmodule attributes {ttg.target = \"cuda:80\"} {\n  tt.func private @a() {\n  }\n"
         "  tt.func @b() {\n  }\n}\n",
         {"kernel b on sm_80"}},
        {"module attributes {ttg.target = \"cuda:80\"} {\n  \"tt.func\"() "
         "<{sym_name = \"a\", sym_visibility = \"private\"}> ({\n  }) : () -> ()\n"
         "  tt.func @b() {\n  }\n}\n",
         {"kernel b on sm_80"}},
        {"module attributes {ttg.target = \"cuda:80\"} {\n  tt.func private @a() {\n  }\n"
         "  tt.func private @b() {\n  }\n}\n",
         {"kernel a on sm_80"}},
        {"module attributes {ttg.target = \"cuda:80\"} {\n  tt.func {\n  }\n}\n",
         {"kernel kernel_of_triton on sm_80"}},
        {"module attributes {ttg.target = \"cuda:80\"} {\n  tt.func @\"1\" {\n  }\n}\n",
         {"kernel kernel_of_triton on sm_80"}},
    };
    CHECK_FAULTS(faults);
    CHECK_SAMPLES(list);
}

/* The registers of a kernel are counted for the warps of its module, with other sizes as well. */
static void threads_of_kernels(void **state) {
    (void)state;
    static const struct {
        const char *text;
        int64_t threads;
    } cases[] = {{MODULE("ttg.target = \"cuda:90\", \"ttg.num-warps\" = 8 : i32"), 256},
                 {MODULE("ttg.target = \"cuda:90\", \"ttg.num-warps\" = 1 : i32"), 32},
                 {MODULE("ttg.target = \"cuda:90\", \"ttg.num-warps\" = 65 : i32"), 0},
                 {MODULE("ttg.target = \"cuda:90\""), 0}};
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        spad_kernel *kernel, *again;
        spad_error error;
        assert_ok(read_one(&kernel, cases[i].text, NULL, NULL, &error), &error);
        assert_ok(spad_kernel_reshape(&again, kernel, NULL, &error), &error);
        assert_int_equal(spad__occupancy_get_agent(kernel, 0).threads, cases[i].threads);
        assert_int_equal(spad__occupancy_get_agent(again, 0).threads, cases[i].threads);
        assert_int_equal(spad_kernel_get_agent(kernel, 0)->threads.value, cases[i].threads);
        spad_kernel_destroy(kernel);
        spad_kernel_destroy(again);
    }
}

/* Values of arguments have to fit their types. */
static void ranges(void **state) {
    (void)state;
    static const struct {
        const char *name;
        int64_t value;
        const char *message; /* NULL: it fits */
    } cases[] = {
        {"K", 2147483647, NULL},
        {"K", -2147483648, NULL},
        {"K", 4000000000, "K is i32: 4000000000 is outside its range"},
        {"K", -2147483649, "K is i32: -2147483649 is outside its range"},
        {"L", INT64_MAX, NULL},
        {"L", INT64_MIN, NULL},
        {"s", 32767, NULL},
        {"s", 32768, "s is i16: 32768 is outside its range"},
        {"t", -128, NULL},
        {"t", -129, "t is i8: -129 is outside its range"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        const spad_define define = {cases[i].name, cases[i].value};
        const spad_kernel_options options = {.defines = &define, .define_count = 1};
        const char *text = HEAD("90") CLOSE;
        spad_kernel *kernel;
        spad_error error;
        const spad_status status =
            spad_kernel_read_ttgir(&kernel, NULL, text, strlen(text), "k", &options, NULL, &error);
        spad_kernel_destroy(kernel);
        assert_int_equal(status, cases[i].message == NULL ? SPAD_OK : SPAD_ERR_ARGUMENT);
        if (cases[i].message != NULL) assert_string_equal(error.message, cases[i].message);
    }
}

/* A chip that is named is taken, whatever the text names. */
static void named_chips(void **state) {
    (void)state;
    static const char *const texts[] = {MODULE("ttg.target = \"hip:gfx942\""),
                                        MODULE("ttg.target = \"cuda:80\""),
                                        MODULE("\"ttg.num-warps\" = 4 : i32")};
    static const char *const chips[] = {"sm_90", "host", "trn1"};
    for (size_t i = 0; i < sizeof texts / sizeof *texts; i++) {
        for (size_t k = 0; k < sizeof chips / sizeof *chips; k++) {
            spad_kernel_options options = {0};
            spad_kernel *kernel;
            spad_error error;
            if (spad_target_find(&options.target, chips[k], NULL) != SPAD_OK) continue;
            assert_ok(spad_kernel_read_ttgir(&kernel, NULL, texts[i], strlen(texts[i]), NULL,
                                             &options, NULL, &error),
                      &error);
            assert_string_equal(spad_kernel_get_target(kernel)->name, options.target->name);
            assert_string_equal(spad_kernel_get_file(kernel), "<text>");
            spad_kernel_destroy(kernel);
        }
    }
}

/* What a chip does not have is an error, not a fault of the text. */
static void chips_without_a_part(void **state) {
    (void)state;
    static const char *const texts[] = {
        HEAD("90") ALLOC_S "    ttg.local_store %p, %x : " S2 "\n" CLOSE,
        HEAD("90") "    %r = tt.dot %p, %p, %p : tensor<64x64xf16> * tensor<64x64xf16> -> "
                   "tensor<64x64xf32>\n    ttg.async_commit_group\n" CLOSE,
        HEAD("90") ALLOC_S "    ttng.async_tma_copy_local_to_global %d[%c0, %c0] %x : i32\n" CLOSE};
    spad_kernel_options options = {0};
    spad_kernel *kernel;
    spad_error error;
    assert_ok(spad_target_find(&options.target, "host", &error), &error);
    for (size_t i = 0; i < 3; i++) {
        const spad_status status = spad_kernel_read_ttgir(&kernel, NULL, texts[i], strlen(texts[i]),
                                                          "k", &options, NULL, &error);
        assert_int_equal(status, i == 1 ? SPAD_OK : SPAD_ERR_UNKNOWN);
        spad_kernel_destroy(kernel);
    }
}

static void too_many_values(void **state) {
    (void)state;
    static spad_define defines[300];
    static const char text[] = HEAD("90") CLOSE;
    const spad_kernel_options options = {.defines = defines, .define_count = 300};
    spad_kernel *kernel;
    spad_error error;
    for (size_t i = 0; i < 300; i++) defines[i] = (spad_define){"K", 1};
    assert_int_equal(
        spad_kernel_read_ttgir(&kernel, NULL, text, strlen(text), "k", &options, NULL, &error),
        SPAD_ERR_ARGUMENT);
    assert_non_null(strstr(error.message, "more than 256 values"));
    assert_null(kernel);
}

/* Sizes beyond the 63rd are all one; a list that has no room for a name ends before it. */
static void many_arguments(void **state) {
    (void)state;
    test_text text;
    spad_kernel *kernel;
    spad_ttgir_info info;
    spad_error error;
    test_text_init(&text);
    test_text_put(
        &text,
        "module attributes {ttg.target = \"cuda:90\"} {\n  tt.func public @f(%%p: !tt.ptr<f16>");
    for (int i = 0; i < 80; i++)
        test_text_put(&text, ", %%a_rather_long_name_of_a_size_%d: i32", i);
    test_text_put(&text,
                  ") {\n    %%c0 = arith.constant 0 : i32\n    %%c1 = arith.constant 1 : i32\n");
    test_text_put(&text,
                  "    %%x = ttg.local_alloc : () -> !ttg.memdesc<64xf16, #ttg.shared_memory>\n");
    for (int i = 0; i < 80; i++) {
        test_text_put(
            &text,
            "    scf.for %%i = %%c0 to %%a_rather_long_name_of_a_size_%d step %%c1 : i32 {\n", i);
        test_text_put(&text, "      ttg.local_store %%p, %%x : i32\n    }\n");
    }
    test_text_put(&text, "    tt.return\n  }\n}\n");
    assert_ok(read_one(&kernel, text.bytes, &info, NULL, &error), &error);
    assert_int_equal(spad_kernel_param_count(kernel), 80);
    assert_int_equal(spad_kernel_loop_count(kernel), 80);
    assert_non_null(strstr(info.assumed, "a_rather_long_name_of_a_size_0 = 4096, a_rather"));
    assert_null(strstr(info.assumed, "size_70"));
    spad_kernel_destroy(kernel);
    test_text_free(&text);
}

/* ---- types ---------------------------------------------------------------------------- */

#define TYPED(type) \
    HEAD("90") "    %x = ttg.local_alloc %p : (i32) -> !ttg.memdesc<" type ">\n" CLOSE

static void types(void **state) {
    (void)state;
    static const sample list[] = {
        {TYPED("4x32xi1, #flat, #smem"), {"tensor x : shared uint8 [4] (32)"}},
        {TYPED("32x32xf8E5M2, #wide, #smem"), {"tensor x : shared float8_e5m2 (32, 32)\n"}},
        {TYPED("2x32x32xf8E4M3FN, #bare, #smem"),
         {"tensor x : shared float8_e4m3fn [2] (32, 32)\n"}},
        {TYPED("32x32xf8E8M0FNU, #cut, #smem"), {"tensor x : shared uint8 (32, 32)\n"}},
        {TYPED("2x32x32xindex, #unknown, #smem"), {"tensor x : shared int64 [2] (32, 32)\n"}},
        {TYPED("32x32xf16"), {"tensor x : shared float16 (32, 32)\n"}},
        {HEAD("90") "    %x = ttg.local_alloc %p {allocation.offset = -4 : i32} : (i32) -> " S2
                    "\n" CLOSE,
         {"tensor x : shared float16 (64, 64) align 512\n"}},
        {HEAD("100") "    %x = ttng.tmem_alloc %p {allocation.offset = 64 : i32} : (i32) -> " T2
                     "\n" CLOSE,
         {"tensor x : tmem float32 (128, 64)\n"}},
    };
#define BAD "a type of memory that is not known"
    static const fault faults[] = {
        {TYPED("99999999999999999999x4xf16"), BAD},
        {TYPED("9223372036854775808x4xf16"), BAD},
        {TYPED("2x2x2x2x2x2x2x4xf16"), BAD},
        {TYPED("64"), BAD},
        {TYPED("64y"), BAD},
        {TYPED("64x.zz"), BAD},
        {TYPED("64.5xf16"), BAD},
        {TYPED("64x"), BAD},
        {TYPED("64x0xf16"), BAD},
        {TYPED("64xa_type_with_a_name_that_has_no_end"), BAD},
        {TYPED("f16"), BAD},
        {HEAD("90") "    %x = ttg.local_alloc %p : i32\n" CLOSE, BAD},
        {HEAD("90") LOOP "      %x = ttg.local_alloc %p : i32\n    }\n" CLOSE, BAD},
    };
    CHECK_SAMPLES(list);
    CHECK_FAULTS(faults);
}

/* ---- views ---------------------------------------------------------------------------- */

static void views(void **state) {
    (void)state;
#define ROW "!ttg.memdesc<32x64xf16, #shared, #smem, mutable>"
    static const sample list[] = {
        /* a row of a part; a stage of a stage; parts of parts */
        {HEAD("90") ALLOC_S "    %y = ttg.memdesc_subslice %x[32, 0] : " S2 " -> " ROW
                            "\n    %z = ttg.memdesc_index %y[%c3] : i32\n"
                            "    ttg.local_store %p, %z : i32\n" CLOSE,
         {"simt store writes x(35..36, ..)\n"}},
        {HEAD("90") ALLOC_R "    %y = ttg.memdesc_index %x[%c2] : i32\n"
                            "    %z = ttg.memdesc_index %y[%c3] : i32\n"
                            "    ttg.local_store %p, %z : i32\n" CLOSE,
         {"writes x[2](3..4, ..)\n"}},
        {HEAD("90") "    %x = ttg.local_alloc : () -> " B1 "\n    %y = ttg.memdesc_index %x[%c0] : "
                    "i32\n    ttg.local_store %p, %y : i32\n" CLOSE,
         {"tensor x : shared int64 (1)", "writes x\n"}},
        {HEAD("90") ALLOC_S "    %y = ttg.memdesc_subslice %x[0] : " S2 " -> " ROW
                            "\n    %z = ttg.memdesc_subslice %y[%c0, 1] : " S2 " -> " ROW
                            "\n    %w1 = ttg.memdesc_subslice %z[0, 0] : " ROW
                            " -> !ttg.memdesc<8xf16, #flat, #smem>\n    ttg.local_load %w1 : i32\n"
                            "    %w2 = ttg.memdesc_subslice %x[0, 0] : " S2 " -> " S2
                            "\n    ttg.local_store %p, %w2 : i32\n" CLOSE,
         {"simt load reads x(0..8, ..)\n", "simt store writes x\n"}},
        {HEAD("100") ALLOC_T "    %u = ttng.tmem_subslice %a {offset = 32 : i32} : " T2
                             " -> !ttg.memdesc<128x16xf32, #tmem, #ttng.tensor_memory>\n"
                             "    ttng.tmem_store %p, %u, %true : i32\n" CLOSE,
         {"simt store writes a(.., 32..48)\n"}},
        {HEAD("100") ALLOC_T
         "    %u = ttng.tmem_subslice %a {dim = 0 : i32, offset = 64 : i32} : " T2
         " -> !ttg.memdesc<64x64xf32, #tmem, #ttng.tensor_memory>\n"
         "    ttng.tmem_store %p, %u, %true : i32\n" CLOSE,
         {"simt store writes a(64..128, ..)\n"}},
        {HEAD("100") ALLOC_T "    %u = ttng.tmem_subslice %a, 32 : " T2
                             " -> !ttg.memdesc<128x16xf32, #tmem, #ttng.tensor_memory>\n"
                             "    ttng.tmem_store %p, %u : i32\n" CLOSE,
         {"simt store writes a(.., 32..48)\n"}},
        {HEAD("100") "    %a = ttng.tmem_alloc : () -> !ttg.memdesc<64xf32, #tmem, "
                     "#ttng.tensor_memory>\n    %u = ttng.tmem_subslice %a, 32 : i32 -> "
                     "!ttg.memdesc<16xf32, #tmem, #ttng.tensor_memory>\n"
                     "    ttng.tmem_store %p, %u : i32\n" CLOSE,
         {"tensor a : tmem float32 (64)\n", "writes a\n"}},
        {HEAD("90") ALLOC_S "    %y = ttg.memdesc_trans %x {order = array<i32: 7, -1, 1>} : " S2
                            "\n    %z = ttg.memdesc_trans %y : " S2
                            "\n    %u = ttg.memdesc_trans %z {order = array<i32: 1, 0, 1>} : " S2
                            "\n    ttg.local_store %p, %u : i32\n" CLOSE,
         {"writes x\n"}},
        {HEAD("90") ALLOC_S "    %y = ttg.memdesc_trans %x {order = [7]} : i32 -> i32\n"
                            "    ttg.async_wait num\n"
                            "    ttg.async_copy_global_to_local %p, %y : i32\n" CLOSE,
         {"wait loads pending 0\n", "cp load reads p writes x in loads\n"}},
        {HEAD("90") ALLOC_S "    ttg.async_copy_global_to_local %v, %x : i32\n"
                            "    ttg.async_wait\n    ttng.async_tma_store_wait\n"
                            "    %q:2 = ttng.warp_group_dot_wait %p : i32\n" CLOSE,
         {"cp load writes x in loads\n", "wait loads pending 0\n", "wait stores pending 0 reads\n",
          "wait mmas pending 0\n"}},
    };
    static const fault faults[] = {
        {HEAD("90") ALLOC_S
         "    %y = ttg.memdesc_subslice %x[0] : i32 -> !ttg.memdesc<0xf16>\n" CLOSE,
         BAD},
        {HEAD("100") ALLOC_T "    %y = ttng.tmem_subslice %a {N = 0} : i32 -> "
                             "!ttg.memdesc<0xf16>\n" CLOSE,
         "a type of memory that is not known"},
        {HEAD("100") ALLOC_T "    %y = ttng.tmem_subslice %a {offset = 0, dim = 2} : " T2 " -> " T2
                             "\n" CLOSE,
         "a part of tensor memory in dimension 2"},
        {HEAD("100") ALLOC_T "    %y = ttng.tmem_subslice %a : " T2 " -> " T2 "\n" CLOSE,
         "columns of tensor memory that are not known"},
        {HEAD("100") ALLOC_T "    ttng.tmem_store %p, %a, %w : i32\n" CLOSE,
         "a condition: only a run on the device knows it"},
        {HEAD("90") ALLOC_S LOOP "    %y = ttg.memdesc_subslice %x[0] : i32 -> "
                                 "!ttg.memdesc<0xf16>\n    }\n" CLOSE,
         BAD},
        {HEAD("100") ALLOC_T LOOP "    %y = ttng.tmem_subslice %a : " T2 " -> " T2
                                  "\n    }\n" CLOSE,
         "columns of tensor memory that are not known"},
        {HEAD("90") ALLOC_S "    %y = ttg.memdesc_index %x[%v] : i32\n"
                            "    ttg.local_store %p, %y : i32\n" CLOSE,
         "a part of a buffer: only a run on the device knows it"},
        {HEAD("100") ALLOC_T "    %y = ttng.tmem_subslice %a, %K : " T2 " -> " T2 "\n" CLOSE,
         "columns of tensor memory that are not known"},
    };
    CHECK_SAMPLES(list);
    CHECK_FAULTS(faults);
}

/* ---- barriers and products ------------------------------------------------------------- */

static void barriers(void **state) {
    (void)state;
    static const sample list[] = {
        {HEAD("90") "    %b = ttg.local_alloc : () -> " B2 "\n    ttng.init_barrier %b : " B2
                    "\n    ttng.arrive_barrier %b : " B2 "\n" CLOSE,
         {"mbarrier b_bar[2] count 1\n", "init b_bar[0] count 1\n", "arrive b_bar[0]"}},
        {HEAD("90") ALLOC_B LOOP "      %q = arith.cmpi slt, %i, %c2 : i32\n"
                                 "      ttng.arrive_barrier %b, 1, %q : i32\n"
                                 "      ttng.arrive_barrier %b, 1, %q : i32\n"
                                 "      ttng.barrier_expect %b, 64, %q : i32\n"
                                 "      ttng.wait_barrier %b, %c0, %q : i32\n    }\n" CLOSE,
         {"    if i < 2 {\n        arrive b_bar by 1\n        arrive b_bar by 1\n        arrive "
          "b_bar by 1 expect 64\n        wait b_bar parity 0\n    }\n"}},
        /* an `else` and a loop are not continued */
        {HEAD("90") ALLOC_B LOOP
         "      %q = arith.cmpi slt, %i, %c2 : i32\n"
         "      scf.if %q {\n        ttng.arrive_barrier %b, 1 : i32\n      } else {\n"
         "        ttng.arrive_barrier %b, 2 : i32\n      }\n"
         "      ttng.arrive_barrier %b, 3, %q : i32\n"
         "      scf.for %j = %c0 to %c3 step %c1  : i32 {\n        ttng.arrive_barrier %b, 4, %q : "
         "i32\n      }\n      ttng.arrive_barrier %b, 5, %q : i32\n    }\n" CLOSE,
         {"    } else {\n        arrive b_bar by 2\n    }\n    if i < 2 {\n        arrive b_bar by "
          "3\n    }\n",
          "    if i < 2 {\n        arrive b_bar by 5\n    }\n"}},
        {HEAD("100") ALLOC_S ALLOC_B ALLOC_T LOOP "      %q = arith.cmpi slt, %i, %c2 : i32\n"
                                                  "      ttng.tc_gen5_mma %x, %x, %a, %q, %q, %b, "
                                                  "%p, %b[%q] {is_async} : i32\n    }\n" CLOSE,
         {"if i < 2 {\n", "tc5 dot reads x, x writes a\n", "tc5 dot reads x, x updates a\n",
          "arrive b_bar by 1 on tc5\n"}},
        {HEAD("90") ALLOC_S "    %r = ttng.warp_group_dot %x, %x, %p : " S2 " * " S2
                            " -> tensor<64x64xf32>\n" CLOSE,
         {"commit mmas\nwait mmas pending 0\n"}},
        {HEAD("90") "    %r = tt.dot %p, %p, %p : tensor<0xf16> * tensor<64x64xf16> -> "
                    "tensor<64x64xf32>\n    %q = tt.dot %p, %p, %p : i32\n"
                    "    %u = tt.dot %p, %p, %p {a : 5} : "
                    "tensor<9223372036854775807x9xf16> * tensor<64x64xf16> -> "
                    "tensor<64x64xf32>\n" CLOSE,
         {"tensor dot_r "}},
    };
    static const fault faults[] = {
        {HEAD("90") LOOP "      ttng.init_barrier %p, 1 : i32\n    }\n" CLOSE,
         "a barrier that is not in allocated memory"},
        {HEAD("90") "    ttng.inval_barrier\n" CLOSE, "a barrier that is not in allocated memory"},
        {HEAD("90") "    ttng.barrier_expect\n" CLOSE, "expected a number of bytes"},
        {HEAD("90") ALLOC_B "    ttng.barrier_expect %b : i32\n" CLOSE,
         "expected a number of bytes"},
        {HEAD("90") LOOP "      ttng.barrier_expect %p, %K : i32\n    }\n" CLOSE,
         "expected a number of bytes"},
        {HEAD("90") LOOP "      ttng.async_copy_mbarrier_arrive %p : i32\n    }\n" CLOSE,
         "an arrival after copies without 'noIncrement' is not known"},
        {HEAD("90") "    ttng.async_copy_mbarrier_arrive %p {noIncrement} : i32\n" CLOSE,
         "a barrier that is not in allocated memory"},
        {HEAD("100") ALLOC_S ALLOC_T "    ttng.tc_gen5_mma %x, %x, %a, %true : i32\n" CLOSE,
         "operands of a product that are not known"},
        {HEAD("100") ALLOC_S "    ttng.tc_gen5_mma %x, %true, %true : i32\n" CLOSE,
         "operands of a product that are not known"},
        {HEAD("100") ALLOC_S ALLOC_T
         "    ttng.tc_gen5_mma %x, %x, %a, %x, %true, %true : i32\n" CLOSE,
         "operands of a product that are not known"},
        {HEAD("100") ALLOC_B "    ttng.tc_gen5_commit %p : i32\n" CLOSE,
         "a barrier that is not in allocated memory"},
        {HEAD("90") ALLOC_B "    ttng.wait_barrier %b, %v : i32\n" CLOSE,
         "the phase of a wait: only a run on the device knows it"},
        {HEAD("90") "    %b = ttg.local_alloc : () -> " B2 "\n    %e = ttg.memdesc_index %b[%v] : "
                    "i32\n    ttng.arrive_barrier %e, 1 : i32\n" CLOSE,
         "which mbarrier: only a run on the device knows it"},
    };
    CHECK_SAMPLES(list);
    CHECK_FAULTS(faults);
}

/* ---- partitions and locations ------------------------------------------------------------- */

static void partitions(void **state) {
    (void)state;
#define WS(attributes, warps)                                                             \
    "    ttg.warp_specialize(%x) attributes {" attributes "}\n    default {\n"            \
    "      ttg.local_store %p, %x : i32\n    }\n    partition0(%q: " S2 ") " warps " {\n" \
    "      ttg.local_load %q : i32\n      ttg.warp_return\n    } : (" S2 ") -> ()\n"
    static const sample list[] = {
        {HEAD("90") ALLOC_S WS("actualRegisters = array<i32: 200, 40>", "num_warps(2)") CLOSE,
         {"agent default_warps of 128 threads {", "agent partition0 of 64 threads registers 40 {"}},
        {HEAD("90") ALLOC_S WS("requestedRegisters = array<i32>", "num_warps(x)") CLOSE,
         {"agent partition0 of 32 threads {"}},
        {HEAD("90") ALLOC_S WS("a = 1", "num_warps(0)") CLOSE,
         {"agent partition0 of 32 threads {"}},
        {HEAD("90") ALLOC_S
         "    %q = arith.cmpi slt, %K, %c2 : i32\n"
         "    ttg.warp_specialize(%x, %q)\n    default {\n"
         "      scf.if %q {\n        ttg.local_store %p, %x : i32\n      }\n    }\n"
         "    partition0(%z: i32, %o: i1) {\n      %b = ttg.local_alloc : () -> " B1
         "\n      ttng.arrive_barrier %b, 1, %o : i32\n    }\n" CLOSE,
         {"agent partition0"}},
        {HEAD("90") ALLOC_S WS("a = 1", "b(2)") CLOSE, {"agent partition0 of 32 threads {"}},
        {HEAD("90") ALLOC_S WS("a = 1", "num_warps(9223372036854775807)") CLOSE,
         {"agent partition0 of 32 threads {"}},
    };
    static const fault faults[] = {
        {HEAD("90") ALLOC_S
         "    ttg.warp_specialize(%x)\n    default {\n      ttg.local_secret %x\n"
         "    }\n" CLOSE,
         "'ttg.local_secret' is not known"},
        {HEAD("90") ALLOC_S "    ttg.warp_specialize(%x)\n    default {\n    }\n"
                            "    partition0(%q: i32) {\n      ttg.local_secret %q\n    }\n" CLOSE,
         "'ttg.local_secret' is not known"},
    };
    CHECK_SAMPLES(list);
    CHECK_FAULTS(faults);
}

#define PLACED(at) HEAD("90") "    %x = ttg.local_alloc %p : (i32) -> " S2 " loc(" at ")\n" CLOSE

static void locations(void **state) {
    (void)state;
    static const sample list[] = {
        {PLACED("#a") "#a = loc(#b)\n#b = loc(#a)\n", {"tensor x : shared"}},
        {PLACED("#a") "#a = loc\n", {"tensor x : shared"}},
        {PLACED("#none"), {"tensor x : shared"}},
        {PLACED("fused<\"x\">"), {"tensor x : shared"}},
        {PLACED("\"only\""), {"tensor x : shared"}},
        {PLACED("\"\":1:2"), {"tensor x : shared"}},
        {PLACED("\"f.py\":99999999999:2"), {"source 0 \"f.py\" 0\n"}},
        {PLACED("\"f.py\":-1:2"), {"source 0 \"f.py\" 0\n"}},
        {PLACED("\"a{b}~_name_that_is_longer_than_any_kept_one\"(\"f.py\":1:2)"),
         {"tensor ab_name_that_is_longer_t"}},
        {PLACED("\"cp\"(\"f.py\":1:2)"), {"tensor cp_2 : shared"}},
        {PLACED("#a") "#a = loc(callsite(\n#b = x\n", {"tensor x : shared"}},
        {HEAD("90") ALLOC_S "    ttg.local_store %p, %x : i32 loc(\"f.py\":1:2)\n"
                            "    ttg.local_store %p, %x : i32 loc(\"g.py\":1:2)\n"
                            "    ttg.local_store %p, %x : i32 loc(\"f.py\":1:2)\n" CLOSE,
         {"source 0 \"f.py\" 1\nsource 1 \"g.py\" 1\n", "writes x from 1\n"}},
        {PLACED("\"f.py\":x:2"), {"source 0 \"f.py\" 0\n"}},
        {PLACED("callsite(\"f.py\":1:2 by \"g.py\":3:4)"), {"source 0 \"f.py\" 1\n"}},
        {PLACED("\"1\"(\"f.py\":1:2)"), {"tensor x : shared"}},
        {PLACED("#a") "#a = loc(callsite(\"f.py\":1:2", {"source 0 \"f.py\" 1\n"}},
        {PLACED("#a") "#a = loc(callsite(\"f.py\":1:2\n#b = loc(\"at\")\n",
         {"source 0 \"f.py\" 1\n"}},
        {PLACED("#a") "#a = loc(callsite(\"f.py\":1:2 at\n", {"source 0 \"f.py\" 1\n"}},
        {PLACED("#a") "#a = loc(callsite(\"f.py\":1:2 at #a))\n", {"\"f.py\" 1 from "}},
        {PLACED("#a") "#a = loc(callsite(", {"tensor x : shared"}},
        {PLACED("#a") "#a = loc(callsite", {"tensor x : shared"}},
        {PLACED("#a") "#a = loc(fused", {"tensor x : shared"}},
        {PLACED("#a") "#a = loc(fused[", {"tensor x : shared"}},
    };
    CHECK_SAMPLES(list);
}

/* A size whose name has no letter, and a file whose name is too long. */
static void unusual_names(void **state) {
    (void)state;
    static const sample list[] = {
        {"module attributes {ttg.target = \"cuda:90\"} {\n  tt.func @f(%p: !tt.ptr<f16>, %0: i32) "
         "{\n"
         "    %c0 = arith.constant 0 : i32\n    %c1 = arith.constant 1 : i32\n" ALLOC_S
         "    scf.for %i = %c0 to %0 step %c1 : i32 {\n      ttg.local_store %p, %x : i32\n    "
         "}\n" CLOSE,
         {"param size_tiles = 4096\n", "for i in 0..size_tiles {\n"}}};
    CHECK_SAMPLES(list);
    char text[4096], name[601];
    memset(name, 'n', 600);
    name[600] = '\0';
    snprintf(text, sizeof text, "%s#a = loc(\"%s\":1:2)\n", PLACED("#a"), name);
    const sample placed = {text, {"tensor x : shared"}};
    test_ttgir_read(&placed);
}

/* The token after the last one of the text is never looked at, whatever its number. */
static void locations_at_the_end(void **state) {
    (void)state;
    for (int fill = 0; fill < 80; fill++) {
        test_text text;
        spad_kernel *kernel;
        spad_error error;
        test_text_init(&text);
        text.sink.write(text.sink.context, PLACED("#a"), strlen(PLACED("#a")));
        for (int i = 0; i < fill; i++) text.sink.write(text.sink.context, "#b = x\n", 7);
        text.sink.write(text.sink.context, "#a = loc(callsite", 17);
        assert_ok(read_one(&kernel, text.bytes, NULL, NULL, &error), &error);
        spad_kernel_destroy(kernel);
        test_text_free(&text);
    }
}

/* ---- registers ------------------------------------------------------------------------- */

#define LOAD(type) "    %l = tt.load %p : tensor<" type ", #row>\n"

/* A tile in registers for each shape; not where threads of agents share them. */
static void tiles_in_registers(void **state) {
    (void)state;
#define POINTERS(shape) LOAD(shape "x!tt.ptr<f16>")
    test_text text;
    test_text_init(&text);
    test_text_put(&text,
                  "module attributes {\"ttg.num-warps\" = 4 : i32, ttg.target = \"cuda:90\"} {\n");
    test_text_put(&text, "  tt.func public @f(%%p0: !tt.ptr<f16>");
    for (int i = 1; i < 24; i++) test_text_put(&text, ", %%p%d: !tt.ptr<f16>", i);
    test_text_put(&text, ") {\n");
    for (int i = 0; i < 24; i++) {
        test_text_put(&text, "    %%l%d = tt.load %%p%d : tensor<%dx!tt.ptr<f16>, #row>\n", i, i,
                      16 * (i / 2 + 1));
    }
    test_text_put(&text, "    tt.return\n  }\n}\n");
    const sample many = {text.bytes,
                         {"tensor tile_r : registers float16 (16)",
                          "tensor tile_r_12 : registers float16 (192)",
                          " reads p23 writes tile_r_12\n"}};
    test_ttgir_read(&many); /* also with no memory for each of them */
    test_text_free(&text);
    static const sample list[] = {
        {HEAD("90") "    ttg.warp_specialize(%p)\n    default {\n" POINTERS(
             "64") "      ttg.warp_yield\n    }\n"
                   "    partition0(%p: !tt.ptr<f16>) num_warps(2) {\n" POINTERS(
                       "64") "      ttg.warp_return\n    } : (!tt.ptr<f16>) -> ()\n" POINTERS("64")
                       CLOSE,
         {"agent partition0 of 64 threads {\n"}},
    };
    CHECK_SAMPLES(list);
    static const char large[] = HEAD("90") POINTERS("4611686018427387904") CLOSE;
    spad_kernel *kernel;
    spad_error error;
    assert_int_equal(read_one(&kernel, large, NULL, NULL, &error), SPAD_ERR_OVERFLOW);
    assert_non_null(strstr(error.message, "do not fit 64 bits"));
}

/* ---- operations without their parts ----------------------------------------------------- */

static void parts_that_are_missing(void **state) {
    (void)state;
    static const sample list[] = {
        {HEAD("100") "    %n = arith.constant\n    %o = arith.constant {a = 1}\n"
                     "    %g = tt.get_program_id\n"
                     "    %x = ttng.tmem_alloc %p : (i32) -> !ttg.memdesc<128x64xf32, none, "
                     "#ttng.tensor_memory>\n" CLOSE,
         {"tensor x : tmem float32 (128, 64)"}},
        {"module attributes {ttg.target = \"cuda:90\", ttg.shared = -1 : i32} {\n  tt.func @f() "
         "{\n    tt.return\n  }\n}\n",
         {"kernel f on sm_90"}},
    };
    CHECK_SAMPLES(list);
#define TMEM_LOOP(attributes)                                                \
    HEAD("100")                                                              \
    ALLOC_T LOOP "    %u = ttng.tmem_subslice %a {" attributes "} : " T2     \
                 " -> !ttg.memdesc<64x64xf32, #tmem, #ttng.tensor_memory>\n" \
                 "    }\n" CLOSE
    static const fault faults[] = {
        {TMEM_LOOP("offset = 0 : i32, dim = 5 : i32"), "a part of tensor memory in dimension 5"},
        {TMEM_LOOP("offset = 0 : i32, dim = -1 : i32"), "a part of tensor memory in dimension -1"},
        {HEAD("100") ALLOC_T LOOP "    %u = ttng.tmem_subslice %a {N = 0 : i32} : " T2
                                  " -> !ttg.memdesc<64xnone, #tmem, #ttng.tensor_memory>\n"
                                  "    }\n" CLOSE,
         "a type of memory that is not known"},
        {HEAD("90") LOOP "    ttng.init_barrier %p, 1 : i32\n    }\n" CLOSE,
         "a barrier that is not in allocated memory"},
        {HEAD("90") "    ttng.init_barrier 1 : i32\n" CLOSE,
         "a barrier that is not in allocated memory"},
        {HEAD("100") ALLOC_S ALLOC_T "    ttng.tc_gen5_mma %x, %x, %a, %true, %b : i32\n" CLOSE,
         "a value that no operation before it defines"},
        {HEAD("100") ALLOC_S ALLOC_T "    ttng.tc_gen5_mma %x, %true, %x : i32\n" CLOSE,
         "operands of a product that are not known"},
        {HEAD("100") ALLOC_S ALLOC_T "    ttng.tc_gen5_mma %x, %true, %true : i32\n" CLOSE,
         "operands of a product that are not known"},
    };
    CHECK_FAULTS(faults);
}

/* A loop of data inside of a loop is said. A copy that data masks writes its tile in any case,
 * zeros where it does not copy: nothing is approximated. */
static void a_masked_copy_is_no_approximation(void **state) {
    (void)state;
    static const char text[] = HEAD("90") ALLOC_S
        "    %e = arith.cmpi eq, %v, %K : i32\n    %z = tt.splat %e : i1 -> tensor<64xi1>\n" LOOP
        "    scf.for %j = %c0 to %v step %c1  : i32 {\n"
        "    %k = ttg.async_copy_global_to_local %p, %x mask %z : tensor<64x64x!tt.ptr<f16>> -> " S2
        "\n    %k2 = ttg.async_copy_global_to_local %p, %x mask %z : tensor<64x64x!tt.ptr<f16>> "
        "-> " S2 "\n    %g = ttg.async_commit_group\n    %h = ttg.async_wait {num = 0 : i32}\n"
        "    }\n    }\n" CLOSE;
    spad_kernel *kernel;
    spad_ttgir_info info;
    spad_error error;
    assert_ok(read_one(&kernel, text, &info, NULL, &error), &error);
    assert_string_equal(info.approximated,
                        "the loop in line 22 has the same number of rounds each time");
    spad_kernel_destroy(kernel);
}

/* The sizes that decide something are listed up to the 63rd. */
static void many_short_arguments(void **state) {
    (void)state;
    test_text text;
    spad_kernel *kernel;
    spad_ttgir_info info;
    spad_error error;
    test_text_init(&text);
    test_text_put(
        &text,
        "module attributes {ttg.target = \"cuda:90\"} {\n  tt.func public @f(%%p: !tt.ptr<f16>");
    for (int i = 0; i < 70; i++) test_text_put(&text, ", %%n%d: i32", i);
    test_text_put(&text,
                  ") {\n    %%c0 = arith.constant 0 : i32\n    %%c1 = arith.constant 1 : i32\n");
    test_text_put(&text,
                  "    %%x = ttg.local_alloc : () -> !ttg.memdesc<64xf16, #ttg.shared_memory>\n");
    test_text_put(&text, "    scf.for %%i = %%c0 to %%n3 step %%c1 : i32 {\n");
    test_text_put(&text, "      ttg.local_store %%p, %%x : i32\n    }\n    tt.return\n  }\n}\n");
    assert_ok(read_one(&kernel, text.bytes, &info, NULL, &error), &error);
    assert_string_equal(info.assumed, "n3 = 4096");
    spad_kernel_destroy(kernel);
    test_text_free(&text);
}

static spad_status read_sized(spad_kernel **kernel, const char *text, spad_ttgir_info *info,
                              const spad_kernel_options *options, spad_error *error) {
    return spad_kernel_read_ttgir(kernel, info, text, strlen(text), "f", options, NULL, error);
}

/* `rounds = K` gives the value of the argument K the name of the variable. */
static void arguments_have_their_own_names(void **state) {
    (void)state;
#define NAMED(argument)                                                                           \
    "#loc = loc(unknown)\n#loc1 = loc(\"K\"(#loc))\n#loc2 = loc(\"first\"(#loc1))\n#loc3 = loc\n" \
    "module attributes {ttg.target = \"cuda:90\"} {\n  tt.func public @f(%p: !tt.ptr<f16> {a = "  \
    "[1, 2]} loc(\"p\"(#loc)), " argument ") attributes {noinline = false} {\n"                   \
    "    %c0 = arith.constant 0 : i32\n    %c1 = arith.constant 1 : i32\n" ALLOC_S                \
    "    scf.for %i = %c0 to %rounds step %c1  : i32 {\n      ttg.local_store %p, %x : i32\n"     \
    "    }\n" CLOSE
    static const char *const texts[] = {
        NAMED("%rounds: i32 {tt.divisibility = 16 : i32} loc(\"rounds\"(#loc2))"),
        NAMED("%rounds: i32 loc(\"rounds\"(\"first\"(\"K\"(#loc))))"),
        NAMED("%rounds: i32 loc(\"K\"(\"kernels.py\":1:2))"),
    };
    static const char *const plain[] = {
        NAMED("%rounds: i32"),
        NAMED("%rounds: i32 loc(#loc3)"),
        NAMED("%rounds: i32 loc(#loc9)"),
        NAMED("%rounds: i32 {a = {b = 1}}, %q: i32 loc(\"K\"(#loc))"),
    };
    static const spad_define sizes[] = {{"K", 8}, {"rounds", 8}, {"k", 8}};
    const spad_kernel_options options[] = {{.defines = &sizes[0], .define_count = 1},
                                           {.defines = &sizes[1], .define_count = 1},
                                           {.defines = &sizes[2], .define_count = 1}};
    spad_kernel *kernel;
    spad_ttgir_info info;
    spad_error error;
    for (size_t i = 0; i < sizeof texts / sizeof *texts; i++) {
        assert_ok(read_sized(&kernel, texts[i], &info, &options[0], &error), &error);
        assert_string_equal(info.assumed, "");
        spad_kernel_destroy(kernel);
    }
    for (size_t i = 0; i < sizeof plain / sizeof *plain; i++) {
        assert_ok(read_sized(&kernel, plain[i], &info, &options[1], &error), &error);
        assert_string_equal(info.assumed, "");
        spad_kernel_destroy(kernel);
    }
    assert_int_equal(read_sized(&kernel, texts[0], &info, &options[2], &error), SPAD_ERR_UNKNOWN);
    assert_string_equal(error.message, "no parameter 'k' here; sizes of the function are K");
    assert_int_equal(read_sized(&kernel, texts[0], &info, &options[2], NULL), SPAD_ERR_UNKNOWN);
    assert_int_equal(read_sized(&kernel, NAMED("%rounds: i1"), &info, &options[2], &error),
                     SPAD_ERR_UNKNOWN);
    assert_string_equal(error.message, "no parameter 'k' here");
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(tokens),
        cmocka_unit_test(texts_of_other_kinds),
        cmocka_unit_test(modules),
        cmocka_unit_test(threads_of_kernels),
        cmocka_unit_test(ranges),
        cmocka_unit_test(named_chips),
        cmocka_unit_test(chips_without_a_part),
        cmocka_unit_test(too_many_values),
        cmocka_unit_test(many_arguments),
        cmocka_unit_test(types),
        cmocka_unit_test(views),
        cmocka_unit_test(barriers),
        cmocka_unit_test(partitions),
        cmocka_unit_test(locations),
        cmocka_unit_test(unusual_names),
        cmocka_unit_test(locations_at_the_end),
        cmocka_unit_test(tiles_in_registers),
        cmocka_unit_test(parts_that_are_missing),
        cmocka_unit_test(a_masked_copy_is_no_approximation),
        cmocka_unit_test(arguments_have_their_own_names),
        cmocka_unit_test(many_short_arguments),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
