/* SPDX-License-Identifier: Apache-2.0
 *
 * TTGIR that a printer rarely writes: odd tokens, types, views, masks, loops and conditions, each
 * with the statements it becomes or with the message of its fault.
 */
#include <stdio.h>
#include <string.h>

#include "spad/spad.h"
#include "support/support.h"

#define HEAD(chip)                                                                              \
    "#shared = #ttg.nvmma_shared<{swizzlingByteWidth = 64, transposed = false}>\n"              \
    "#wide = #ttg.nvmma_shared<{swizzlingByteWidth = 256, transposed = false}>\n"               \
    "#bare = #ttg.nvmma_shared<{order, transposed = false}>\n"                                  \
    "#flat = #ttg.swizzled_shared<{order, order [0], order = [0]}>\n"                           \
    "#cut = #ttg.swizzled_shared<{order = [1, 0\n"                                              \
    "#tmem = #ttng.tensor_memory_encoding<blockM = 128, blockN = 64, colStride = 1>\n"          \
    "#smem = #ttg.shared_memory\n"                                                              \
    "module attributes {\"ttg.num-warps\" = 4 : i32, ttg.target = \"cuda:" chip                 \
    "\"} {\n  tt.func public @f(%p: !tt.ptr<f16>, %d: !tt.tensordesc<64x64xf16, #shared>, %K: " \
    "i32, %c: i1, %f: f32, %L: i64, %s: i16, %t: i8) {\n"                                       \
    "    %c0 = arith.constant 0 : i32\n    %c1 = arith.constant 1 : i32\n"                      \
    "    %c2 = arith.constant 2 : i32\n    %c3 = arith.constant 3 : i32\n"                      \
    "    %m1 = arith.constant -1 : i32\n    %true = arith.constant true\n"                      \
    "    %v = tt.load %p : !tt.ptr<i32>\n    %w = tt.load %p : !tt.ptr<i1>\n"
#define CLOSE "    tt.return\n  }\n}\n"
#define S2 "!ttg.memdesc<64x64xf16, #shared, #smem, mutable>"
#define S3 "!ttg.memdesc<3x64x64xf16, #shared, #smem, mutable>"
#define B1 "!ttg.memdesc<1xi64, #flat, #smem, mutable>"
#define B2 "!ttg.memdesc<2x1xi64, #flat, #smem, mutable>"
#define T2 "!ttg.memdesc<128x64xf32, #tmem, #ttng.tensor_memory, mutable>"
#define ALLOC_S "    %x = ttg.local_alloc : () -> " S2 "\n"
#define ALLOC_R "    %x = ttg.local_alloc : () -> " S3 "\n"
#define ALLOC_B "    %b = ttg.local_alloc : () -> " B1 "\n    ttng.init_barrier %b, 1 : " B1 "\n"
#define ALLOC_T "    %a = ttng.tmem_alloc : () -> " T2 "\n"
#define AT(stage)                                              \
    "    %y = ttg.memdesc_index %x[" stage "] : " S3 " -> " S2 \
    "\n    ttg.local_store %p, %y : " S2 "\n"
#define LOOP "    scf.for %i = %c0 to %K step %c1  : i32 {\n"

typedef struct sample {
    const char *text;
    const char *wanted[4];
} sample;

static spad_status read_one(spad_kernel **kernel, const char *text, spad_ttgir_info *info,
                            spad_diagnostics *faults, spad_error *error) {
    const spad_status status =
        spad_kernel_read_ttgir(kernel, info, text, strlen(text), "k", NULL, faults, error);
    assert_int_equal(status == SPAD_OK, *kernel != NULL);
    return status;
}

static void read_sample(const sample *s) {
    spad_kernel *kernel;
    spad_error error;
    test_text shown;
    test_text_init(&shown);
    const spad_status status = read_one(&kernel, s->text, NULL, NULL, &error);
    if (status != SPAD_OK) print_error("%s\nof %s", error.message, strstr(s->text, "tt.func"));
    assert_ok(status, &error);
    assert_ok(spad_kernel_write_text(kernel, &shown.sink, &error), &error);
    for (size_t i = 0; i < 4 && s->wanted[i] != NULL; i++) {
        if (strstr(shown.bytes, s->wanted[i]) == NULL) {
            print_error("no '%s' in\n%s", s->wanted[i], shown.bytes);
        }
        assert_non_null(strstr(shown.bytes, s->wanted[i]));
    }
    spad_kernel_destroy(kernel);
    test_text_free(&shown);
}

#define CHECK_SAMPLES(list) \
    for (size_t i = 0; i < sizeof(list) / sizeof *(list); i++) read_sample(&(list)[i])

typedef struct fault {
    const char *text;
    const char *message;
} fault;

/* The message is among the faults of the text. */
static void read_fault(const fault *f) {
    spad_kernel *kernel;
    spad_error error;
    spad_diagnostics *faults;
    bool found = false;
    assert_ok(spad_diagnostics_create(&faults, NULL, &error), &error);
    const spad_status status = read_one(&kernel, f->text, NULL, faults, &error);
    if (status == SPAD_OK) print_error("no fault in %s", strstr(f->text, "tt.func"));
    assert_int_equal(status, SPAD_ERR_SYNTAX);
    for (size_t i = 0; i < spad_diagnostics_count(faults); i++) {
        if (strstr(spad_diagnostics_get(faults, i)->message, f->message) != NULL) found = true;
    }
    if (!found) print_error("'%s', not '%s'\n", error.message, f->message);
    assert_true(found);
    spad_diagnostics_destroy(faults);
}

#define CHECK_FAULTS(list) \
    for (size_t i = 0; i < sizeof(list) / sizeof *(list); i++) read_fault(&(list)[i])

/* ---- tokens --------------------------------------------------------------------------- */

static void tokens(void **state) {
    (void)state;
    static const sample list[] = {
        {"// a comment\r\n" HEAD(
             "90") "\t%n$1 = foo.bar %K {x = \"a\\\"b\", y = 1.5E+10, z = 1.0e-3, "
                   "q = 1.2f+3, h = {- 1}} : i32\r\n" ALLOC_S "    ttg.local_store %p, %x : " S2
                   "\n" CLOSE "{-#\n  a: # b #- c\n#-}\n// the end",
         {"kernel f on sm_90", "simt store_buffer writes x\n"}},
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
    static const char *const yes[] = {"\t \rmodule {", "/\nmodule {" + 2, "//\n#a=1\nmodule"};
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
    };
    static const sample list[] = {
        {MODULE("ttg.target = \"cuda:90\", \"ttg.num-warps\" = 0 : i32"), {"kernel f on sm_90"}},
        {MODULE("ttg.target = \"cuda:90\", \"ttg.num-warps\" = 65 : i32"), {"kernel f on sm_90"}},
        {MODULE("ttg.target = \"cuda:90\", \"ttg.num-warps\" = x"), {"kernel f on sm_90"}},
        {"\"builtin.module\"() ({\n  tt.func @a() {\n  }\n  tt.func @b() {\n  }\n  tt.func public "
         "@c() {\n  }\n}) {ttg.target = \"cuda:80\"} : () -> ()\n",
         {"kernel c on sm_80"}},
        {"foo.bar\nmodule attributes {ttg.target = \"cuda:80\"} {\n  tt.func @a() {\n  }\n  "
         "tt.func "
         "@b() {\n  }\n}\n",
         {"kernel a on sm_80"}},
        {"module attributes {ttg.target = \"cuda:80\"} {\n  tt.func {\n  }\n}\n",
         {"kernel kernel_of_triton on sm_80"}},
        {"module attributes {ttg.target = \"cuda:80\"} {\n  tt.func @\"1\" {\n  }\n}\n",
         {"kernel kernel_of_triton on sm_80"}},
    };
    CHECK_FAULTS(faults);
    CHECK_SAMPLES(list);
}

/* A chip that is named is taken, whatever the text names. */
static void named_chips(void **state) {
    (void)state;
    static const char *const texts[] = {MODULE("ttg.target = \"hip:gfx942\""),
                                        MODULE("ttg.target = \"cuda:80\""), MODULE("")};
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
    char line[200];
    spad_kernel *kernel;
    spad_ttgir_info info;
    spad_error error;
    test_text_init(&text);
#define PUT(...) text.sink.write(text.sink.context, line, (size_t)snprintf(line, 200, __VA_ARGS__))
    PUT("module attributes {ttg.target = \"cuda:90\"} {\n  tt.func public @f(%%p: !tt.ptr<f16>");
    for (int i = 0; i < 80; i++) PUT(", %%a_rather_long_name_of_a_size_%d: i32", i);
    PUT(") {\n    %%c0 = arith.constant 0 : i32\n    %%c1 = arith.constant 1 : i32\n");
    PUT("    %%x = ttg.local_alloc : () -> !ttg.memdesc<64xf16, #ttg.shared_memory>\n");
    for (int i = 0; i < 80; i++) {
        PUT("    scf.for %%i = %%c0 to %%a_rather_long_name_of_a_size_%d step %%c1 : i32 {\n", i);
        PUT("      ttg.local_store %%p, %%x : i32\n    }\n");
    }
    PUT("    tt.return\n  }\n}\n");
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
         {"simt store_buffer writes x(35..36, ..)\n"}},
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
         {"simt load_buffer reads x(0..8, ..)\n", "simt store_buffer writes x\n"}},
        {HEAD("90") ALLOC_S "    %y = ttg.memdesc_subslice %p[0, 0] : " S2 " -> " S2
                            "\n    %z = ttg.memdesc_subslice %x[0, 0] : i32\n"
                            "    %u = ttng.tmem_subslice %p {N = 0 : i32} : i32 -> " T2
                            "\n    %w1 = ttng.tmem_subslice %x {N = 0 : i32} : i32\n"
                            "    ttg.local_store %p, %x : i32\n" CLOSE,
         {"simt store_buffer writes x\n"}},
        {HEAD("100") ALLOC_T "    %u = ttng.tmem_subslice %a, 32 : " T2
                             " -> !ttg.memdesc<128x16xf32, #tmem, #ttng.tensor_memory>\n"
                             "    ttng.tmem_store %p, %u : i32\n" CLOSE,
         {"simt store_buffer writes a(.., 32..48)\n"}},
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
        {HEAD("90") ALLOC_S ALLOC_B
         "    ttg.local_load %p : i32\n    ttg.local_store %p, %p : i32\n"
         "    ttg.local_scatter %p[%p], %p : i32\n"
         "    ttg.async_copy_global_to_local %p, %p : i32\n"
         "    ttng.async_tma_copy_global_to_local %d[%c0] %p, %b, %true : i32\n"
         "    ttng.async_tma_copy_global_to_local %d[%c0] %p, %p, %true : i32\n"
         "    ttng.async_tma_copy_local_to_global %d[%c0] %p : i32\n"
         "    ttng.tmem_copy %p, %p : i32\n    ttng.tmem_copy %x, %p : i32\n" CLOSE,
         {"init b_bar count 1\nfence\n"}},
        {HEAD("90") ALLOC_S "    ttg.async_copy_global_to_local %v, %x : i32\n"
                            "    ttg.async_wait\n    ttng.async_tma_store_wait\n"
                            "    %q:2 = ttng.warp_group_dot_wait %p : i32\n" CLOSE,
         {"cp load_buffer writes x in loads\n", "wait loads pending 0\n",
          "wait stores pending 0 reads\n", "wait mmas pending 0\n"}},
    };
    static const fault faults[] = {
        {HEAD("90") ALLOC_S
         "    %y = ttg.memdesc_subslice %x[0] : i32 -> !ttg.memdesc<0xf16>\n" CLOSE,
         BAD},
        {HEAD("100") ALLOC_T "    %y = ttng.tmem_subslice %a {N = 0} : i32 -> "
                             "!ttg.memdesc<0xf16>\n" CLOSE,
         "columns of tensor memory that are not known"},
        {HEAD("100") ALLOC_T "    %y = ttng.tmem_subslice %a : " T2 " -> " T2 "\n" CLOSE,
         "columns of tensor memory that are not known"},
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
         {"if i < 2 {\n", "tc5 dot_buffer reads x, x writes a\n",
          "tc5 dot_buffer reads x, x updates a\n", "arrive b_bar by 1 on tc5\n"}},
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
         "a barrier that is no memory that was allocated"},
        {HEAD("90") "    ttng.inval_barrier\n" CLOSE,
         "a barrier that is no memory that was allocated"},
        {HEAD("90") "    ttng.barrier_expect\n" CLOSE, "expected a number of bytes"},
        {HEAD("90") ALLOC_B "    ttng.barrier_expect %b : i32\n" CLOSE,
         "expected a number of bytes"},
        {HEAD("90") LOOP "      ttng.barrier_expect %p, %K : i32\n    }\n" CLOSE,
         "expected a number of bytes"},
        {HEAD("90") LOOP "      ttng.async_copy_mbarrier_arrive %p : i32\n    }\n" CLOSE,
         "an arrival after copies without 'noIncrement' is not known"},
        {HEAD("90") "    ttng.async_copy_mbarrier_arrive %p {noIncrement} : i32\n" CLOSE,
         "a barrier that is no memory that was allocated"},
        {HEAD("100") ALLOC_S ALLOC_T "    ttng.tc_gen5_mma %x, %x, %a, %true : i32\n" CLOSE,
         "operands of a product that are not known"},
        {HEAD("100") ALLOC_S "    ttng.tc_gen5_mma %x, %true, %true : i32\n" CLOSE,
         "operands of a product that are not known"},
        {HEAD("100") ALLOC_S ALLOC_T
         "    ttng.tc_gen5_mma %x, %x, %a, %x, %true, %true : i32\n" CLOSE,
         "operands of a product that are not known"},
        {HEAD("100") ALLOC_B "    ttng.tc_gen5_commit %p : i32\n" CLOSE,
         "a barrier that is no memory that was allocated"},
        {HEAD("90") ALLOC_B "    ttng.wait_barrier %b, %v : i32\n" CLOSE,
         "the phase of a wait: only a run on the device knows it"},
        {HEAD("90") "    %b = ttg.local_alloc : () -> " B2 "\n    %e = ttg.memdesc_index %b[%v] : "
                    "i32\n    ttng.arrive_barrier %e, 1 : i32\n" CLOSE,
         "which mbarrier: only a run on the device knows it"},
    };
    CHECK_SAMPLES(list);
    CHECK_FAULTS(faults);
}

/* ---- numbers and conditions ------------------------------------------------------------- */

#define DATA_STAGE(op) \
    { HEAD("90") ALLOC_R op AT("%z") CLOSE, "a stage of a ring: only a run on the device knows it" }
#define IF(q) "      scf.if " q " {\n" AT("%c0") "      }\n    }\n" CLOSE

static void numbers(void **state) {
    (void)state;
    static const fault faults[] = {
        DATA_STAGE("    %z = arith.andi %K, %K : i32\n"),
        DATA_STAGE("    %z = arith.andi %K, %v : i32\n"),
        DATA_STAGE("    %z = arith.andi %K, %m1 : i32\n"),
        DATA_STAGE("    %n = arith.constant 9223372036854775807 : i64\n"
                   "    %z = arith.andi %K, %n : i64\n"),
        DATA_STAGE("    %z = arith.andi %f, %c1 : i32\n"),
        DATA_STAGE("    %z = arith.andi %c1, %f : i32\n"),
        DATA_STAGE("    %z = arith.shli %c1, %v : i32\n"),
        DATA_STAGE("    %z = arith.shli %c1, %m1 : i32\n"),
        DATA_STAGE("    %n = arith.constant 41 : i32\n    %z = arith.shrui %c1, %n : i32\n"),
        DATA_STAGE("    %z = arith.shli %f, %c1 : i32\n"),
        DATA_STAGE("    %z = arith.shrsi %f, %c1 : i32\n"),
        DATA_STAGE("    %z = arith.ceildivui %f, %c1 : i32\n"),
        DATA_STAGE("    %z = arith.ceildivui %c1, %f : i32\n"),
        DATA_STAGE("    %z = arith.cmpi odd, %c1, %c1 : i32\n"),
        DATA_STAGE("    %z = arith.cmpi ne, %f, %c1 : i32\n"),
        DATA_STAGE("    %z = arith.select %true, %f, %c1 : i32\n"),
        DATA_STAGE("    %z = arith.sitofp %K : f32\n"),
        DATA_STAGE("    %z:2 = arith.mulsi_extended %K, %K : i32\n"),
        DATA_STAGE("    %z = arith.divsi %K, %c0 : i32\n"),
        DATA_STAGE("    %z = arith.divsi %K, %v : i32\n"),
        DATA_STAGE("    %z = arith.remsi %m1, %c2 : i32\n"),
        DATA_STAGE("    %z = arith.ori %c1, %c2 : i32\n"),
        DATA_STAGE("    %z = scf.if %w -> (i32) {\n      scf.yield %c1 : i32\n    } else {\n      "
                   "scf.yield %c0 : i32\n    }\n"),
        DATA_STAGE("    %z = scf.if %w -> (i32) {\n      scf.yield %p : i32\n    } else {\n      "
                   "scf.yield %c0 : i32\n    }\n"),
        DATA_STAGE(
            "    %z = scf.if %w -> (i32) {\n      scf.yield %c0 : i32\n    } else {\n    }\n"),
    };
    static const sample list[] = {
        {HEAD("90") ALLOC_R LOOP "      %e = arith.subi %i, %i : i32\n" AT("%e") "    }\n" CLOSE,
         {"writes x[0]"}},
        {HEAD("90") ALLOC_R LOOP "      %e = arith.subi %K, %i : i32\n"
                                 "      %g = arith.remsi %e, %c3 : i32\n" AT("%g") "    }\n" CLOSE,
         {"writes x["}},
        {HEAD("90") ALLOC_R LOOP "      %e = arith.subi %c2, %i : i32\n"
                                 "      %g = arith.maxsi %e, %c0 : i32\n" AT("%g") "    }\n" CLOSE,
         {"writes x[max(2 - i, 0)]"}},
        {HEAD("90") ALLOC_R LOOP
         "      %e = arith.remsi %i, %c2 : i32\n      %g = arith.shrsi %i, %c1 : i32\n"
         "      %h = arith.remsi %g, %c2 : i32\n      %o = arith.xori %e, %h : i32\n" AT(
             "%o") "    }\n" CLOSE,
         {"% 2]"}},
        /* a number as a condition, its negation, and those with all relations negated */
        {HEAD("90") ALLOC_R LOOP "      %q = arith.remsi %i, %c2 : i32\n" IF("%q"),
         {"if i % 2 != 0 {\n"}},
        {HEAD("90") ALLOC_R LOOP "      %q = arith.remsi %i, %c2 : i32\n"
                                 "      %r = arith.xori %q, %true : i1\n" IF("%r"),
         {"if i % 2 == 0 {\n"}},
        {HEAD("90") ALLOC_R LOOP "      %q = arith.cmpi sle, %i, %c2 : i32\n"
                                 "      %r = arith.xori %q, %true : i1\n" IF("%r"),
         {"if i > 2 {\n"}},
        {HEAD("90") ALLOC_R LOOP
         "      %q = arith.cmpi sle, %i, %c2 : i32\n      %o = arith.cmpi eq, %i, %c3 : i32\n"
         "      %u = arith.ori %q, %o : i1\n      %r = arith.xori %u, %true : i1\n" IF("%r"),
         {"if i > 2 and i != 3 {\n"}},
    };
    CHECK_FAULTS(faults);
    CHECK_SAMPLES(list);
}

/* Conditions of more than 8 terms, or of terms of more than 8 comparisons, have no `if`: the loop
 * is run. */
static void long_conditions(void **state) {
    (void)state;
    static const char *const operations[] = {"andi", "ori"};
    for (size_t which = 0; which < 4; which++) {
        test_text text;
        char line[200];
        spad_kernel *kernel;
        spad_ttgir_info info;
        spad_error error;
        const spad_define size = {"K", 20};
        const spad_kernel_options options = {.defines = &size, .define_count = 1};
        test_text_init(&text);
        text.sink.write(text.sink.context, HEAD("90") ALLOC_R LOOP,
                        strlen(HEAD("90") ALLOC_R LOOP));
        for (int i = 0; i < 10; i++) {
            PUT("      %%n%d = arith.constant %d : i32\n", i, i + 1);
            PUT("      %%q%d = arith.cmpi ne, %%i, %%n%d : i32\n", i, i);
            if (i == 0) continue;
            if (which < 2) {
                PUT("      %%s%d = arith.%s %s%d, %%q%d : i1\n", i, operations[which],
                    i == 1 ? "%q" : "%s", i - 1, i);
            } else if (which == 2) { /* (a or b) and (c or d) ... */
                PUT("      %%o%d = arith.ori %%q%d, %%q%d : i1\n", i, i, i - 1);
                PUT("      %%s%d = arith.andi %s%d, %%o%d : i1\n", i, i == 1 ? "%q" : "%s", i - 1,
                    i);
            } else {
                PUT("      %%s%d = arith.select %%q%d, %s%d, %%q%d : i1\n", i, i,
                    i == 1 ? "%q" : "%s", i - 1, i - 1);
            }
        }
        PUT("      scf.if %%s9 {\n        %%y = ttg.memdesc_index %%x[%%c0] : i32\n");
        PUT("        ttg.local_store %%p, %%y : i32\n      }\n    }\n    tt.return\n  }\n}\n");
        assert_ok(spad_kernel_read_ttgir(&kernel, &info, text.bytes, strlen(text.bytes), "k",
                                         &options, NULL, &error),
                  &error);
        assert_true(info.unrolled);
        assert_non_null(strstr(info.reason, "a condition, in line "));
        spad_kernel_destroy(kernel);
        test_text_free(&text);
    }
}

/* ---- masks ------------------------------------------------------------------------------ */

static void masks(void **state) {
    (void)state;
#define SPLAT(name, from) "      " name " = tt.splat " from " : i1 -> tensor<64x64xi1>\n"
#define COPY(mask) "      ttg.async_copy_global_to_local %p, %x mask " mask " : i32\n    }\n" CLOSE
#define ASK                                                                                  \
    HEAD("90")                                                                               \
    ALLOC_S LOOP "      %q = arith.cmpi slt, %i, %c2 : i32\n      %o = arith.cmpi slt, %i, " \
                 "%c3 : i32\n" SPLAT("%m", "%q") SPLAT("%n", "%o")
    static const sample list[] = {
        {ASK "      %r = arith.andi %m, %n : tensor<64x64xi1>\n" COPY("%r"),
         {"if i < 2 and i < 3 {\n"}},
        {ASK "      %r = arith.andi %m, %p : tensor<64x64xi1>\n" COPY("%r"), {"if i < 2 {\n"}},
        {ASK "      %r = arith.andi %p, %n : tensor<64x64xi1>\n" COPY("%r"), {"if i < 3 {\n"}},
        {ASK "      %r = ttg.convert_layout %m : tensor<64x64xi1>\n"
             "      %u = tt.broadcast %r : tensor<64x64xi1>\n" COPY("%u"),
         {"if i < 2 {\n"}},
        {ASK "      %r = tt.splat %i : i32 -> tensor<64xi32>\n"
             "      %u = tt.broadcast %p : tensor<64x64xi1>\n"
             "      %k = tt.splat %p : i1 -> tensor<64xi1>\n" COPY("%u"),
         {"cp load_buffer reads p writes x"}},
    };
    CHECK_SAMPLES(list);
}

/* ---- loops ------------------------------------------------------------------------------ */

#define FOR(args) "    %r = scf.for %i = %c0 to %K step %c1 iter_args(" args ") -> (i32) : i32 {\n"
#define WHILE                                                                                \
    "    %r = scf.while (%s1 = %c0) : (i32) -> i32 {\n      %g = tt.load %p : !tt.ptr<i1>\n" \
    "      scf.condition(%g) %s1 : i32\n    } do {\n    ^bb0(%s2: i32):\n"

static void loops(void **state) {
    (void)state;
    static const sample list[] = {
        /* views that a condition or a loop chooses */
        {HEAD("90") ALLOC_R LOOP
         "      %q = arith.cmpi slt, %i, %c2 : i32\n"
         "      %y1 = ttg.memdesc_index %x[%c1] : i32\n"
         "      %z = scf.if %q -> (i32) {\n        scf.yield %y1 : i32\n      } else {\n"
         "        scf.yield %y1 : i32\n      }\n      ttg.local_store %p, %z : i32\n    }\n" CLOSE,
         {"writes x[1]\n"}},
        {HEAD("90") ALLOC_R LOOP
         "      %q = arith.cmpi slt, %i, %c2 : i32\n"
         "      %y0 = ttg.memdesc_index %x[%c0] : i32\n      %y1 = ttg.memdesc_index %x[%c1] : "
         "i32\n"
         "      %z = scf.if %q -> (i32) {\n        scf.yield %y1 : i32\n      } else {\n"
         "        scf.yield %y0 : i32\n      }\n      ttg.local_store %p, %z : i32\n    }\n" CLOSE,
         {"writes x[1]\n"}},
        {HEAD("90") ALLOC_R "    %y0 = ttg.memdesc_index %x[%c0] : i32\n" FOR(
             "%u = %y0") "      ttg.local_store %p, %u : i32\n      %j = arith.remsi %i, %c3 : "
                         "i32\n"
                         "      %y1 = ttg.memdesc_index %x[%j] : i32\n      scf.yield %y1 : i32\n  "
                         "  }\n" CLOSE,
         {"writes x["}},
        {HEAD("90") ALLOC_S FOR("%u = %x") "      ttg.local_store %p, %u : i32\n"
                                           "      scf.yield %u : i32\n    }\n"
                                           "    ttg.local_load %r : i32\n" CLOSE,
         {"simt store_buffer writes x\n", "simt load_buffer reads x\n"}},
        /* no round, one round, and rounds without a variable that is used */
        {HEAD("90") ALLOC_S "    scf.for %i = %c3 to %c0 step %c1  : i32 {\n"
                            "      ttg.local_store %p, %x : i32\n    }\n" CLOSE,
         {"for i in 0..0 {\n"}},
        {HEAD("90") ALLOC_S LOOP
         "    }\n    scf.for\n    scf.while\n    scf.if\n"
         "    ttg.warp_specialize\n    ttg.local_store %p, %x : i32\n" CLOSE,
         {"simt store_buffer writes x\n"}},
        {HEAD("90") ALLOC_S "    %n = arith.addi %K, %c2 : i32\n"
                            "    scf.for %i = %c0 to %n step %c1 : i32 {\n"
                            "      ttg.local_store %p, %x : i32\n    }\n" CLOSE,
         {"for i in 0..K_tiles + 2 {\n"}},
        {HEAD("90") ALLOC_S "    %n = arith.subi %K, %c2 : i32\n"
                            "    scf.for %i = %c0 to %n step %c1 : i32 {\n"
                            "      ttg.local_store %p, %x : i32\n    }\n" CLOSE,
         {"for i in 0..K_tiles {\n    if i < K_tiles - 2 {\n"}},
        {HEAD("90") ALLOC_S "    %n = arith.addi %K, %L : i32\n"
                            "    scf.for %i = %c0 to %n step %c1 : i32 {\n"
                            "      ttg.local_store %p, %x : i32\n    }\n" CLOSE,
         {"param trips = 8192\n", "for i in 0..trips {\n"}},
        {HEAD("90") ALLOC_S
         "    %c63 = arith.constant 63 : i32\n"
         "    %c64 = arith.constant 64 : i32\n    %e = arith.addi %K, %c63 : i32\n"
         "    %n = arith.divsi %e, %L : i32\n    %o = arith.divsi %K, %c64 : i32\n"
         "    scf.for %i = %c0 to %n step %c1 : i32 {\n"
         "      ttg.local_store %p, %x : i32\n    }\n"
         "    scf.for %i = %c0 to %o step %c1 : i32 {\n"
         "      ttg.local_store %p, %x : i32\n    }\n"
         "    scf.for %i = %c0 to %K step %c3 : i32 {\n"
         "      ttg.local_store %p, %x : i32\n    }\n" CLOSE,
         {"param trips = 1 fixed\n", "param K_tiles = 64 fixed\n",
          "param K_tiles_2 = 1366 fixed\n"}},
        /* a stage that stays in the last round */
        {HEAD("90") ALLOC_R FOR("%u = %c0") "      %k = arith.subi %K, %c1 : i32\n"
                                            "      %q = arith.cmpi slt, %i, %k : i32\n"
                                            "      %j = arith.addi %u, %c2 : i32\n"
                                            "      %h = arith.remsi %u, %c3 : i32\n" AT(
                                                "%h") "      %n = arith.select %q, %j, %u : i32\n  "
                                                      "    scf.yield %n : i32\n    }\n" CLOSE,
         {"writes x[i * 2 % 3]\n"}},
        /* a while in a for, and in a while */
        {HEAD("90") ALLOC_S LOOP WHILE "      ttg.local_store %p, %x : i32\n"
                                       "      scf.yield %s2 : i32\n    }\n    }\n" CLOSE,
         {"any\n", "simt store_buffer writes x\n"}},
        {HEAD("90") ALLOC_S WHILE "      ttg.local_store %p, %x : i32\n    }\n" CLOSE, {"any\n"}},
    };
    static const fault faults[] = {
        {HEAD("90") "    scf.for %c0 to %K step %c1 {\n    }\n" CLOSE,
         "a loop without a variable and bounds"},
        {HEAD("90") "    scf.for %i = %c0 to %K {\n    }\n" CLOSE,
         "a loop without a variable and bounds"},
        {HEAD("90") "    scf.while (%s1 = %c0) {\n    }\n" CLOSE, "a loop without a body"},
        {HEAD("90") LOOP "    scf.while (%s1 = %c0) {\n    }\n    }\n" CLOSE,
         "a loop without a body"},
        {HEAD("90") ALLOC_S "    scf.for %i = %c0 to %K step %c1  : i32 {\n"
                            "      ttg.local_store %p, %x : i32\n    ^bb1:\n    }\n" CLOSE,
         "blocks with branches are not known"},
        {HEAD("90") ALLOC_S WHILE "      ttg.local_store %p, %x : i32\n    ^bb1:\n    }\n" CLOSE,
         "blocks with branches are not known"},
        {HEAD("90") ALLOC_S LOOP LOOP
         "      ttg.local_store %p, %x : i32\n    ^bb1:\n    }\n    }\n" CLOSE,
         "blocks with branches are not known"},
        {HEAD("90") ALLOC_S WHILE "      ttg.local_secret %x : i32\n    }\n" CLOSE,
         "'ttg.local_secret' is not known"},
        {HEAD("90") ALLOC_S
         "    scf.while (%s1 = %c0) : (i32) -> i32 {\n      ttg.local_secret %x\n"
         "      scf.condition(%w) %s1 : i32\n    } do {\n    }\n" CLOSE,
         "'ttg.local_secret' is not known"},
        {HEAD("90") ALLOC_S "    scf.if %w {\n      ttg.local_secret %x\n    }\n" CLOSE,
         "'ttg.local_secret' is not known"},
        {HEAD("90") ALLOC_S LOOP "    scf.if %w {\n    } else {\n      ttg.local_secret %x\n    }\n"
                                 "    }\n" CLOSE,
         "'ttg.local_secret' is not known"},
        {HEAD("90") ALLOC_S
         "    an.operation_with_a_name_that_is_much_longer_than_any_message_may_be "
         "%x : i32\n" CLOSE,
         "'an.operation_with_a_name_that_is_much_longer_than_any_messag' is not known"},
        {HEAD("90") "    foo.bar {\n      %x = ttg.local_alloc : () -> " S2 "\n    }\n" CLOSE,
         "'foo.bar' is not known"},
        /* buffers that data chooses */
        {HEAD("90") ALLOC_S
         "    %x2 = ttg.local_alloc : () -> " S2
         "\n    %z = scf.if %w -> (i32) {\n      scf.yield %x : i32\n    } else {\n"
         "      scf.yield %x2 : i32\n    }\n    ttg.local_store %p, %z : i32\n" CLOSE,
         "only a run on the device knows it"},
        {HEAD("90") ALLOC_R
         "    %y0 = ttg.memdesc_index %x[%c0] : i32\n"
         "    %z = scf.if %w -> (i32) {\n      scf.yield %x : i32\n    } else {\n"
         "      scf.yield %y0 : i32\n    }\n    ttg.local_store %p, %z : i32\n" CLOSE,
         "only a run on the device knows it"},
    };
    CHECK_SAMPLES(list);
    CHECK_FAULTS(faults);
}

/* A loop whose condition is missing has no number of rounds. */
static void loops_without_a_condition(void **state) {
    (void)state;
    static const fault faults[] = {{HEAD("90") ALLOC_S
                                    "    scf.while (%s1 = %c0) : (i32) -> i32 {\n    } do {\n"
                                    "      ttg.local_store %p, %x : i32\n    }\n" CLOSE,
                                    "a loop without a condition"}};
    CHECK_FAULTS(faults);
}

/* More statements than a kernel may have. */
static void too_many_statements(void **state) {
    (void)state;
    static const char text[] = HEAD("90") ALLOC_R FOR("%u = %c0")
        AT("%u") "      %j = arith.muli %u, %i : i32\n      %h = arith.remsi %j, %c3 : i32\n"
                 "      scf.yield %h : i32\n    }\n" CLOSE;
    const spad_define size = {"K", 500000};
    const spad_kernel_options options = {.defines = &size, .define_count = 1};
    spad_kernel *kernel;
    spad_error error;
    assert_int_equal(
        spad_kernel_read_ttgir(&kernel, NULL, text, strlen(text), "k", &options, NULL, &error),
        SPAD_ERR_SYNTAX);
    assert_non_null(strstr(error.message, "more than 400000 statements: give smaller sizes"));
    assert_null(kernel);
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

/* Numbers at the ends of their range are no stages. */
static void far_numbers(void **state) {
    (void)state;
    static const sample list[] = {
        {HEAD("90") ALLOC_R LOOP "      %n = arith.constant -9223372036854775807 : i64\n"
                                 "      %e = arith.addi %i, %n : i64\n"
                                 "      %g = arith.addi %e, %m1 : i64\n"
                                 "      %h = arith.maxsi %g, %c0 : i64\n" AT("%h") "    }\n" CLOSE,
         {"writes x[0]"}},
        /* rings of no stage, and of more than there can be */
        {HEAD("90") ALLOC_R
         "    %r = scf.for %i = %c0 to %c3 step %c1 iter_args(%u = %m1) -> (i32) : "
         "i32 {\n      %e = arith.addi %u, %c1 : i32\n" AT(
             "%e") "      %q = arith.cmpi eq, %e, %c0 : i32\n      %n = arith.select %q, %c0, %e : "
                   "i32\n"
                   "      scf.yield %n : i32\n    }\n" CLOSE,
         {"writes x[0]", "writes x[1]", "writes x[2]"}},
        {HEAD("90") ALLOC_R
         "    %big = arith.constant 9223372036854775807 : i64\n"
         "    %r = scf.for %i = %c0 to %c1 step %c1 iter_args(%u = %c1) -> (i32) : "
         "i32 {\n" AT(
             "%u") "      %e = arith.addi %u, %c1 : i32\n"
                   "      %q = arith.cmpi eq, %e, %big : i32\n      %n = arith.select %q, %c0, %e "
                   ": i32\n"
                   "      scf.yield %n : i32\n    }\n    %y2 = ttg.memdesc_index %x[%r] : i32\n"
                   "    ttg.local_store %p, %y2 : i32\n" CLOSE,
         {"writes x["}},
    };
    CHECK_SAMPLES(list);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(tokens),
        cmocka_unit_test(texts_of_other_kinds),
        cmocka_unit_test(modules),
        cmocka_unit_test(named_chips),
        cmocka_unit_test(chips_without_a_part),
        cmocka_unit_test(too_many_values),
        cmocka_unit_test(many_arguments),
        cmocka_unit_test(types),
        cmocka_unit_test(views),
        cmocka_unit_test(barriers),
        cmocka_unit_test(numbers),
        cmocka_unit_test(long_conditions),
        cmocka_unit_test(masks),
        cmocka_unit_test(loops),
        cmocka_unit_test(loops_without_a_condition),
        cmocka_unit_test(too_many_statements),
        cmocka_unit_test(partitions),
        cmocka_unit_test(locations),
        cmocka_unit_test(locations_at_the_end),
        cmocka_unit_test(far_numbers),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
