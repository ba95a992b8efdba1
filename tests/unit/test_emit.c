/* SPDX-License-Identifier: Apache-2.0
 *
 * Emitting: identifiers, strides, every language, refusals and failing host memory.
 * tests/check_emit compiles what comes out. */
#include "emit/emit.h"
#include "support/kernels.h"
#include "support/support.h"

#include <stdio.h>
#include <string.h>

#include "spad/spad.h"

static const spad_space spaces[] = {
    {.name = "pad",
     .about = "",
     .lanes = 4,
     .bytes = 4096,
     .reserved = 96,
     .alignment = 1,
     .granule = 1},
    {.name = "far", .about = "", .lanes = 1, .bytes = SPAD_UNBOUNDED, .alignment = 1, .granule = 1},
};
static const spad_target target = {.name = "toy", .about = "", .space_count = 2, .spaces = spaces};

static spad_emit *make(const char *name) {
    spad_emit *table;
    spad_error error;
    assert_ok(spad_emit_create(&table, &target, name, NULL, &error), &error);
    return table;
}

static spad_emit_buffer one(const char *name, const spad_emit_place *places, size_t count) {
    return (spad_emit_buffer){
        .name = name, .lanes = 2, .bytes = 64, .alignment = 4, .count = count, .places = places};
}

static void add(spad_emit *table, const char *name) {
    const spad_emit_place place = {0, 128};
    const spad_emit_buffer buffer = one(name, &place, 1);
    spad_error error;
    assert_ok(spad_emit_add(table, &buffer, &error), &error);
}

static void expect(const spad_emit *table, spad_emit_lang lang, const char *piece) {
    test_text text;
    spad_error error;
    test_text_init(&text);
    assert_ok(spad_emit_write(table, lang, &text.sink, &error), &error);
    if (strstr(text.bytes, piece) == NULL)
        print_error("not found: %s\nin: %s\n", piece, text.bytes);
    assert_non_null(strstr(text.bytes, piece));
    test_text_free(&text);
}

static void identifiers_are_different_words(void **state) {
    (void)state;
    static const struct {
        const char *name;
        const char *identifier;
    } cases[] = {{"x", "X"},       {"X", "X_2"},
                 {"x_2", "X_2_2"}, {"a.b", "A_B"},
                 {"a b", "A_B_2"}, {"a..b[3]", "A_B_3"},
                 {"pad", "PAD_2"}, {"", "B"},
                 {NULL, "B_2"},    {"\xE2\x82\xAC", "B_3"},
                 {"3d", "3D"},     {"*/ #error", "ERROR"}};
    spad_emit *table = make("7 kernels!");
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) add(table, cases[i].name);
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        assert_string_equal(table->rows.items[i].identifier, cases[i].identifier);
    }
    expect(table, SPAD_EMIT_C, "#ifndef K7_KERNELS_PLACES_H\n");
    expect(table, SPAD_EMIT_C, " *   ERROR <- \"*\\u{2f} #error\"\n");
    expect(table, SPAD_EMIT_C, "#define K7_KERNELS_3D_OFFSET 128\n");
    spad_emit_destroy(table);
}

static void long_names_stay_short_identifiers(void **state) {
    (void)state;
    char name[10240];
    memset(name, 'n', sizeof name - 1);
    name[sizeof name - 1] = '\0';
    spad_emit *table = make(NULL);
    add(table, name);
    add(table, name);
    assert_int_equal(strlen(table->rows.items[0].identifier), 64);
    assert_int_equal(strlen(table->rows.items[1].identifier), 66);
    spad_emit_destroy(table);
}

/* Places at both ends of 64 bits: C has no literal for the least one. */
static void extreme_places_are_expressions(void **state) {
    (void)state;
    static const spad_emit_place far[] = {{0, INT64_MIN}, {0, INT64_MAX - 64}, {0, INT64_MIN + 64}};
    spad_emit *table = make("k");
    spad_error error;
    const spad_emit_buffer buffer = one("edge", far, 3);
    assert_ok(spad_emit_add(table, &buffer, &error), &error);
    expect(table, SPAD_EMIT_C, "#define K_EDGE_OFFSET (-9223372036854775807 - 1)\n");
    expect(table, SPAD_EMIT_C,
           "    case 1: return 9223372036854775743;\n"
           "    case 2: return (-9223372036854775744);\n"
           "    default: return (-9223372036854775807 - 1);\n");
    spad_emit_destroy(table);
}

/* What no table can hold: one field wrong at a time, and nothing is added. */
static void bad_buffers_are_refused(void **state) {
    (void)state;
    static const spad_emit_place place = {0, 0};
    const spad_emit_buffer good = one("x", &place, 1);
    spad_emit_buffer bad[7];
    for (size_t i = 0; i < 7; i++) bad[i] = good;
    bad[0].space = 2;
    bad[1].count = 0;
    bad[2].lanes = -1;
    bad[3].bytes = -1;
    bad[4].alignment = 0;
    bad[5].shape.rank = SPAD_RANK_MAX + 1;
    bad[6].alignment = -4;
    spad_emit *table = make("k");
    spad_error error;
    for (size_t i = 0; i < 7; i++) {
        char message[256];
        snprintf(message, sizeof message,
                 "a buffer of %zu copies of %lld lanes x %lld bytes, alignment %lld, in space "
                 "number %zu cannot be emitted",
                 bad[i].count, (long long)bad[i].lanes, (long long)bad[i].bytes,
                 (long long)bad[i].alignment, bad[i].space);
        assert_int_equal(spad_emit_add(table, &bad[i], &error), SPAD_ERR_ARGUMENT);
        assert_string_equal(error.message, message);
        assert_string_equal(error.subject, "x");
        assert_int_equal(table->rows.count, 0);
    }
    assert_ok(spad_emit_add(table, &good, &error), &error);
    spad_emit_destroy(table);
}

/* A gap at the 64th character leaves no '_' without something after it, and '_' is not doubled. */
static void gaps_in_long_names(void **state) {
    (void)state;
    char name[80];
    char identifier[80];
    memset(name, 'n', sizeof name);
    memset(identifier, 'N', sizeof identifier);
    strcpy(name + 63, ".m");
    strcpy(identifier + 63, "M");
    spad_emit *table = make("k");
    add(table, name);
    add(table, "a_.b");
    add(table, "{a}");
    assert_string_equal(table->rows.items[0].identifier, identifier);
    assert_string_equal(table->rows.items[1].identifier, "A_B");
    assert_string_equal(table->rows.items[2].identifier, "A");
    spad_emit_destroy(table);
}

/* Distances that do not fit 64 bits, or go back: no stride, each place for itself. */
static void uneven_copies_have_no_stride(void **state) {
    (void)state;
    static const spad_emit_place far[] = {{0, -100}, {0, INT64_MAX - 64}};
    static const spad_emit_place back[] = {{0, 64}, {0, 0}};
    static const spad_emit_place late[] = {{0, INT64_MIN + 20}, {0, -100}, {0, INT64_MAX - 64}};
    spad_emit *table = make("k");
    spad_error error;
    spad_emit_buffer buffer = one("far", far, 2);
    buffer.dtype = SPAD_BFLOAT16;
    assert_ok(spad_emit_add(table, &buffer, &error), &error);
    buffer = one("back", back, 2);
    assert_ok(spad_emit_add(table, &buffer, &error), &error);
    buffer = one("late", late, 3);
    assert_ok(spad_emit_add(table, &buffer, &error), &error);
    expect(table, SPAD_EMIT_JSON, "\"places\": [[0, -100], [0, 9223372036854775743]]}");
    expect(table, SPAD_EMIT_JSON, "\"places\": [[0, 64], [0, 0]]}");
    test_text text;
    test_text_init(&text);
    assert_ok(spad_emit_write(table, SPAD_EMIT_JSON, &text.sink, &error), &error);
    assert_null(strstr(text.bytes, "stride"));
    test_text_free(&text);
    spad_emit_destroy(table);
}

static void even_copies_have_a_stride(void **state) {
    (void)state;
    static const spad_emit_place even[] = {{0, 0}, {0, 64}, {0, 128}};
    static const spad_emit_place odd[] = {{0, 256}, {0, 384}, {0, 400}};
    static const spad_emit_place lanes[] = {{0, 512}, {2, 512}};
    spad_emit *table = make("k");
    spad_error error;
    spad_emit_buffer buffer = one("even", even, 3);
    assert_ok(spad_emit_add(table, &buffer, &error), &error);
    buffer = one("odd", odd, 3);
    assert_ok(spad_emit_add(table, &buffer, &error), &error);
    buffer = one("lanes", lanes, 2);
    assert_ok(spad_emit_add(table, &buffer, &error), &error);
    expect(table, SPAD_EMIT_C, "#define K_EVEN_STRIDE 64\n");
    expect(table, SPAD_EMIT_C,
           "long long k_even_at(long long i) {\n"
           "    const long long rest = i % K_EVEN_RING;\n"
           "    const long long k = rest < 0 ? rest + K_EVEN_RING : rest;\n"
           "    return K_EVEN_OFFSET + k * K_EVEN_STRIDE;\n");
    expect(table, SPAD_EMIT_C,
           "    switch (k) {\n"
           "    case 1: return 384;\n"
           "    case 2: return 400;\n"
           "    default: return 256;\n"
           "    }\n"
           "}\n");
    expect(table, SPAD_EMIT_C,
           "long long k_lanes_lane(long long i) {\n"
           "    const long long rest = i % K_LANES_RING;\n"
           "    const long long k = rest < 0 ? rest + K_LANES_RING : rest;\n"
           "    switch (k) {\n"
           "    case 1: return 2;\n"
           "    default: return 0;\n");
    expect(table, SPAD_EMIT_C,
           "#define K_PAD_TOTAL 576\n#ifndef K_PAD_LIMIT\n#define K_PAD_LIMIT "
           "4000\n#endif\n#if K_PAD_TOTAL > K_PAD_LIMIT\n#error");
    expect(table, SPAD_EMIT_NKI, "\"addresses\": [(0, 512), (2, 512)],\n");
    expect(table, SPAD_EMIT_NKI, "    \"pad\": (576, 4000),\n");
    expect(table, SPAD_EMIT_JSON,
           "\"ring\": 3, \"stride\": 64, \"places\": [[0, 0], [0, 64], [0, 128]]}");
    expect(table, SPAD_EMIT_CSV, "odd,ODD,pad,1,3,0,2,384,64,4,,\n");
    spad_emit_destroy(table);
}

/* An agent may be called anything, and end no comment, string or field. */
static void rows_say_who_declared_them(void **state) {
    (void)state;
    static const spad_emit_place place = {0, 0};
    spad_emit *table = make("k");
    spad_error error;
    spad_emit_buffer buffer = one("x", &place, 1);
    buffer.agent = "a*/,\"";
    buffer.line = 7;
    assert_ok(spad_emit_add(table, &buffer, &error), &error);
    buffer.line = 0;
    assert_ok(spad_emit_add(table, &buffer, &error), &error);
    expect(table, SPAD_EMIT_C, "X <- \"x\" (agent \"a*\\u{2f},\\\"\", line 7)\n");
    expect(table, SPAD_EMIT_C, "X_2 <- \"x\" (agent \"a*\\u{2f},\\\"\")\n");
    expect(table, SPAD_EMIT_NKI, "\"agent\": \"a*/,\\\"\",\n        \"line\": 7,\n");
    expect(table, SPAD_EMIT_JSON, "\"agent\": \"a*/,\\\"\", \"line\": 7, ");
    expect(table, SPAD_EMIT_CSV, ",\"a*/,\"\"\",7\n");
    expect(table, SPAD_EMIT_CSV, ",\"a*/,\"\"\",\n");
    spad_emit_destroy(table);
}

static void names_are_quoted(void **state) {
    (void)state;
    spad_emit *table = make("k\n*/");
    add(table, "a,\"b\"\n\xE2\x80\xAE");
    expect(table, SPAD_EMIT_CSV, "\"a,\"\"b\"\"\n\xE2\x80\xAE\",A_B,pad,");
    expect(table, SPAD_EMIT_NKI, "\"name\": \"a,\\\"b\\\"\\U0000000a\\U0000202e\",\n");
    expect(table, SPAD_EMIT_JSON, "{\"name\": \"a,\\\"b\\\"\\u000a\\u202e\", ");
    expect(table, SPAD_EMIT_C, "/* Places of buffers for \"k\\u{a}*\\u{2f}\" on \"toy\".\n");
    expect(table, SPAD_EMIT_C, " *   A_B <- \"a,\\\"b\\\"\\u{a}\\u{202e}\"\n");
    spad_emit_destroy(table);
}

static void a_layout_gives_its_places(void **state) {
    (void)state;
    spad_kernel *kernel = test_parse("kernel ring on trn2\n"
                                     "tensor x   : sbuf bf16 [6] (128, 512) ring 2\n"
                                     "tensor in  : hbm bf16 [6] (128, 512) input\n"
                                     "tensor out : hbm bf16 [6] (128, 512) output\n"
                                     "for i in 0..6 {\n"
                                     "    dma load  reads in[i] writes x[i]\n"
                                     "    dma store reads x[i] writes out[i]\n"
                                     "}\n");
    spad_layout *layout;
    spad_emit *table;
    spad_error error;
    assert_ok(spad_layout_create(&layout, kernel, NULL, &error), &error);
    assert_ok(spad_emit_create(&table, spad_kernel_get_target(kernel), "ring", NULL, &error),
              &error);
    assert_ok(spad_emit_add_layout(table, layout, &error), &error);
    assert_int_equal(table->rows.count, 1);
    const spad_emit_buffer *x = &table->rows.items[0].buffer;
    assert_string_equal(x->name, "x");
    assert_int_equal(x->count, 2);
    assert_int_equal(x->shape.dims[1], 512);
    for (int64_t s = 0; s < 2; s++) {
        spad_rect rect;
        assert_true(spad_layout_get_place(&rect, layout, 0, s));
        assert_int_equal(x->places[s].byte, rect.byte);
        assert_int_equal(x->places[s].lane, rect.lane);
    }
    spad_emit_destroy(table);
    table = make("other");
    assert_int_equal(spad_emit_add_layout(table, layout, &error), SPAD_ERR_ARGUMENT);
    assert_string_equal(error.message, "the kernel is for another target than 'toy'");
    spad_emit_destroy(table);
    spad_layout_destroy(layout);
    spad_kernel_destroy(kernel);

    kernel = test_parse("kernel big on trn2\n"
                        "tensor x  : sbuf u8 [3] (128, 100000)\n"
                        "tensor in : hbm u8 [3] (128, 100000) input\n"
                        "for i in 0..3 { dma load reads in[i] writes x[i] }\n"
                        "for i in 0..3 { vector use updates x[i] }\n");
    assert_ok(spad_layout_create(&layout, kernel, NULL, &error), &error);
    assert_ok(spad_emit_create(&table, spad_kernel_get_target(kernel), "big", NULL, &error),
              &error);
    assert_int_equal(spad_emit_add_layout(table, layout, &error), SPAD_ERR_NO_FIT);
    assert_string_equal(error.message,
                        "kernel 'big' does not fit, so it has no places to emit; see spad fit");
    assert_int_equal(table->rows.count, 0);
    spad_emit_destroy(table);
    spad_layout_destroy(layout);
    spad_kernel_destroy(kernel);
}

static void what_has_no_place_is_refused(void **state) {
    (void)state;
    spad_emit *table = make("k");
    spad_error error;
    const spad_emit_place far = {0, INT64_MAX - 3};
    spad_emit_buffer buffer = one("b", &far, 1);
    assert_int_equal(spad_emit_add(table, &buffer, &error), SPAD_ERR_OVERFLOW);
    assert_string_equal(error.message, "the end of a buffer does not fit 64 bits");
    buffer.count = 0;
    assert_int_equal(spad_emit_add(table, &buffer, &error), SPAD_ERR_ARGUMENT);
    assert_string_equal(error.message,
                        "a buffer of 0 copies of 2 lanes x 64 bytes, alignment 4, in "
                        "space number 0 cannot be emitted");
    test_text text;
    test_text_init(&text);
    assert_int_equal(spad_emit_write(table, SPAD_EMIT_LANGS, &text.sink, &error),
                     SPAD_ERR_ARGUMENT);
    assert_string_equal(error.message, "no language has number 6");
    test_text_free(&text);
    assert_string_equal(spad_emit_lang_name(SPAD_EMIT_CUDA), "cuda");
    assert_string_equal(spad_emit_lang_name(SPAD_EMIT_LANGS), "?");
    assert_int_equal(table->rows.count, 0);
    spad_emit_destroy(table);
    spad_emit_destroy(NULL);
}

static spad_status emit_all(const spad_host *host, void *context) {
    static const spad_emit_place places[] = {{0, 0}, {0, 64}};
    const spad_plan *plan = context;
    spad_plan_place at[] = {{0, 0}, {8, 0}};
    const spad_plan_result result = {
        .count = 2, .fingerprint = spad_plan_get_fingerprint(plan), .places = at};
    spad_emit *table;
    spad_error error;
    spad_status status = spad_emit_create(&table, &target, "k", host, &error);
    if (status != SPAD_OK) return status;
    spad_emit_buffer buffer = one("x", places, 2);
    buffer.shape = SPAD_SHAPE(2, 64);
    status = spad_emit_add(table, &buffer, &error);
    if (status == SPAD_OK) status = spad_emit_add_plan(table, plan, &result, 1, &error);
    if (status != SPAD_OK) assert_true(table->rows.count <= 1);
    spad_emit_destroy(table);
    return status;
}

static void every_allocation_may_fail(void **state) {
    (void)state;
    static const char csv[] = "id,lower,upper,size\na,0,4,8\nb,2,6,8\n";
    spad_plan *plan;
    spad_error error;
    assert_ok(spad_plan_create(&plan, NULL, &error), &error);
    assert_ok(spad_plan_read_csv(plan, csv, strlen(csv), "x.csv", NULL, &error), &error);
    test_fail_each_allocation(emit_all, plan);
    spad_plan_destroy(plan);
}

/* Tiles in a ring, all tiles in one tile of it, a stack, and memory off chip. */
static const char views[] = "kernel views on trn2\n"
                            "tensor g     : sbuf u8 [6] (128, 64) ring 3\n"
                            "tensor each  : sbuf u8 [6] (128, 32) alias of g + 16\n"
                            "tensor inner : sbuf u8 [40] (128, 1) alias of g[1] + 16\n"
                            "tensor fixed : sbuf u8 [2] (128, 64) at 4096\n"
                            "tensor same  : sbuf u8 [2] (128, 64) alias of fixed\n"
                            "tensor far   : hbm u8 [6] (128, 64) input\n"
                            "tensor away  : hbm u8 [6] (128, 64) alias of far\n"
                            "for i in 0..6 {\n"
                            "    dma load reads away[i] writes g[i]\n"
                            "    vector use reads each[i], fixed[i % 2] writes same[i % 2]\n"
                            "}\n"
                            "vector end reads inner[3] writes fixed[0]\n";

/* A name that needs escapes and no name at all, in a memory without a limit. */
static void odd_rows_in_every_language(void **state) {
    (void)state;
    static const spad_emit_place place = {0, 0};
    spad_emit *table = make("k");
    spad_error error;
    spad_emit_buffer buffer = one(NULL, &place, 1);
    buffer.space = 1;
    buffer.lanes = 1;
    buffer.shape = SPAD_SHAPE(4, 16);
    buffer.dtype = SPAD_BFLOAT16;
    assert_ok(spad_emit_add(table, &buffer, &error), &error);
    buffer.name = "\\ /* \xFF";
    buffer.line = 3;
    assert_ok(spad_emit_add(table, &buffer, &error), &error);
    expect(table, SPAD_EMIT_C, "B_2 <- \"\\\\ /\\u{2a} \\u{fffd}\" (line 3)\n");
    expect(table, SPAD_EMIT_CUDA, "#define K_B_OFFSET 0\n");
    expect(table, SPAD_EMIT_NKI, "\"name\": \"\\\\ /* \\U0000fffd\",\n");
    expect(table, SPAD_EMIT_NKI, "\"name\": \"\",\n");
    expect(table, SPAD_EMIT_NKI, "\"dtype\": \"bfloat16\"");
    expect(table, SPAD_EMIT_JSON, "\"shape\": [4, 16]");
    expect(table, SPAD_EMIT_CSV, "\n,B,far,0,1,0,1,0,64,4,,\n");
    test_text text;
    test_text_init(&text);
    assert_ok(spad_emit_write(table, SPAD_EMIT_C, &text.sink, &error), &error);
    assert_null(strstr(text.bytes, "_FAR_LIMIT"));
    test_text_free(&text);
    spad_emit_destroy(table);
}

static const spad_space chip_spaces[] = {
    {.name = "shared", .about = "", .lanes = 1, .bytes = 4096, .alignment = 1, .granule = 1},
    {.name = "tmem", .about = "", .lanes = 128, .bytes = 2048, .alignment = 1, .granule = 1},
};
static const spad_target chip = {
    .name = "chip", .about = "", .space_count = 2, .spaces = chip_spaces};

/* Pointers have the type of the elements, and a header includes what declares it, once. */
static void pointers_have_types(void **state) {
    (void)state;
    static const struct {
        spad_dtype dtype;
        int64_t arrivals;
        const char *text;
    } cases[] = {{SPAD_FLOAT32, 0, "K_INLINE float *k_x0_ptr("},
                 {SPAD_FLOAT16, 0, "K_INLINE __half *k_x1_ptr("},
                 {SPAD_FLOAT8_E4M3, 0, "K_INLINE __nv_fp8_e4m3 *k_x2_ptr("},
                 {SPAD_FLOAT8_E5M2, 0, "    return (__nv_fp8_e5m2 *)((char *)base + k_x3_at(i));"},
                 {SPAD_DTYPE_NONE, 4, "K_INLINE unsigned long long *k_x4_ptr("},
                 {SPAD_INT4, 0, "K_INLINE void *k_x5_ptr("}};
    static const spad_emit_place place = {0, 0};
    spad_emit *table;
    spad_error error;
    assert_ok(spad_emit_create(&table, &chip, "k", NULL, &error), &error);
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        const char name[] = {'x', (char)('0' + i), '\0'};
        spad_emit_buffer buffer = one(name, &place, 1);
        buffer.lanes = 1;
        buffer.dtype = cases[i].dtype;
        buffer.arrivals = cases[i].arrivals;
        assert_ok(spad_emit_add(table, &buffer, &error), &error);
    }
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++)
        expect(table, SPAD_EMIT_CUDA, cases[i].text);
    expect(table, SPAD_EMIT_CUDA,
           "#if defined(__CUDACC__)\n#include <cuda_fp16.h>\n#include <cuda_fp8.h>\n#endif\n");
    expect(table, SPAD_EMIT_JSON, "\"ring\": 1, \"arrivals\": 4, ");
    spad_emit_destroy(table);
}

/* Shapes with their rings, tensor memory, mbarriers; what TileLang has no call for is refused. */
static void allocations_for_tilelang(void **state) {
    (void)state;
    static const spad_emit_place places[] = {{0, 0}, {0, 64}};
    spad_emit *table;
    spad_error error;
    assert_ok(spad_emit_create(&table, &chip, "k", NULL, &error), &error);
    spad_emit_buffer buffer = one("x", places, 2);
    buffer.lanes = 1;
    buffer.shape = SPAD_SHAPE(4, 8);
    buffer.dtype = SPAD_BFLOAT16;
    assert_ok(spad_emit_add(table, &buffer, &error), &error);
    buffer.name = NULL;
    buffer.count = 1;
    buffer.shape = SPAD_SHAPE(32);
    buffer.space = 1;
    assert_ok(spad_emit_add(table, &buffer, &error), &error);
    buffer = one("full", places, 2);
    buffer.lanes = 1;
    buffer.arrivals = 3;
    assert_ok(spad_emit_add(table, &buffer, &error), &error);
    expect(table, SPAD_EMIT_TILELANG,
           "\"alloc\": \"alloc_shared\",\n        \"shape\": (2, 4, 8),\n"
           "        \"dtype\": \"bfloat16\",\n        \"align\": 4,\n"
           "        \"offsets\": [0, 64],\n");
    expect(table, SPAD_EMIT_TILELANG, "\"alloc\": \"alloc_tmem\",\n        \"shape\": (32,),\n");
    expect(table, SPAD_EMIT_TILELANG, "\"arrivals\": [3] * 2,\n");
    buffer.arrivals = 0; /* no shape, no element type */
    assert_ok(spad_emit_add(table, &buffer, &error), &error);
    test_text text;
    test_text_init(&text);
    assert_int_equal(spad_emit_write(table, SPAD_EMIT_TILELANG, &text.sink, &error),
                     SPAD_ERR_ARGUMENT);
    assert_string_equal(text.bytes, "");
    assert_non_null(strstr(error.message, "TileLang cannot allocate 'FULL_2' in shared"));
    test_text_free(&text);
    spad_emit_destroy(table);
}

static const spad_emit_buffer *row_of(const spad_emit *table, const char *name) {
    for (size_t i = 0; i < table->rows.count; i++)
        if (strcmp(table->rows.items[i].buffer.name, name) == 0)
            return &table->rows.items[i].buffer;
    return NULL;
}

static spad_layout *layout_of(const spad_kernel *kernel) {
    spad_layout *layout;
    spad_error error;
    assert_ok(spad_layout_create(&layout, kernel, NULL, &error), &error);
    return layout;
}

static void aliases_have_rows_of_their_own(void **state) {
    (void)state;
    spad_kernel *kernel = test_parse(views);
    spad_layout *layout = layout_of(kernel);
    spad_emit *table;
    spad_error error;
    assert_ok(spad_emit_create(&table, spad_kernel_get_target(kernel), "v", NULL, &error), &error);
    assert_ok(spad_emit_add_layout(table, layout, &error), &error);
    const spad_emit_buffer *g = row_of(table, "g");
    const spad_emit_buffer *each = row_of(table, "each");
    const spad_emit_buffer *inner = row_of(table, "inner");
    const spad_emit_buffer *same = row_of(table, "same");
    assert_int_equal(each->count, 3); /* the slots of g */
    assert_int_equal(inner->count, 40);
    for (size_t s = 0; s < 3; s++) assert_int_equal(each->places[s].byte, g->places[s].byte + 16);
    for (size_t s = 0; s < 40; s++)
        assert_int_equal(inner->places[s].byte, g->places[1].byte + 16 + (int64_t)s);
    assert_int_equal(same->places[0].byte, 4096);
    assert_int_equal(same->places[1].byte, 4096 + 64);
    assert_int_equal(inner->line, 4);
    assert_null(row_of(table, "far"));
    assert_null(row_of(table, "away"));
    spad_emit_destroy(table);
    spad_layout_destroy(layout);
    spad_kernel_destroy(kernel);
}

/* What is on the stack has a place only while the kernel runs, and so has what is inside it. */
static void an_alias_of_the_stack_has_no_row(void **state) {
    (void)state;
    spad_kernel *kernel = test_parse("kernel scoped on trn2\n"
                                     "tensor x : sbuf u8 (128, 64)\n"
                                     "scope all {\n"
                                     "    tensor s : sbuf u8 (128, 64) stack\n"
                                     "    tensor v : sbuf u8 (128, 32) alias of s\n"
                                     "    vector write writes s\n"
                                     "    vector use reads v writes x\n"
                                     "}\n");
    spad_layout *layout = layout_of(kernel);
    spad_emit *table;
    spad_error error;
    assert_ok(spad_emit_create(&table, spad_kernel_get_target(kernel), "s", NULL, &error), &error);
    assert_ok(spad_emit_add_layout(table, layout, &error), &error);
    assert_null(row_of(table, "v"));
    assert_non_null(row_of(table, "x"));
    test_text text;
    test_text_init(&text);
    assert_ok(spad_layout_write(layout, SPAD_FORMAT_CSV, &text.sink, &error), &error);
    assert_null(strstr(text.bytes, ",v,"));
    assert_non_null(strstr(text.bytes, ",x,"));
    test_text_free(&text);
    spad_emit_destroy(table);
    spad_layout_destroy(layout);
    spad_kernel_destroy(kernel);
}

/* A failed call adds no row. */
static spad_status emit_layout(const spad_host *host, void *context) {
    const spad_layout *layout = context;
    spad_emit *table;
    spad_error error;
    const spad_target *trn2 = spad_kernel_get_target(spad_layout_get_kernel(layout));
    spad_status status = spad_emit_create(&table, trn2, "v", host, &error);
    if (status != SPAD_OK) return status;
    status = spad_emit_add_layout(table, layout, &error);
    assert_int_equal(table->rows.count, status == SPAD_OK ? 5 : 0);
    spad_emit_destroy(table);
    return status;
}

static void every_allocation_of_aliases_may_fail(void **state) {
    (void)state;
    spad_kernel *kernel = test_parse(views);
    spad_layout *layout = layout_of(kernel);
    test_fail_each_allocation(emit_layout, layout);
    spad_layout_destroy(layout);
    spad_kernel_destroy(kernel);
}

/* Names of many lengths, so that each text is once the first of a new block. */
static spad_status emit_long_names(const spad_host *host, void *context) {
    static const spad_emit_place places[] = {{0, 0}, {0, 64}};
    const size_t length = *(const size_t *)context;
    char name[400];
    memset(name, 'n', sizeof name);
    name[length] = '\0';
    spad_emit *table;
    spad_error error;
    spad_status status = spad_emit_create(&table, &target, name, host, &error);
    if (status != SPAD_OK) return status;
    spad_emit_buffer buffer = one(name, places, 2);
    buffer.agent = name;
    buffer.shape = SPAD_SHAPE(2, 64);
    for (size_t i = 0; i < 3 && status == SPAD_OK; i++) {
        assert_int_equal(table->rows.count, i);
        status = spad_emit_add(table, &buffer, &error);
    }
    spad_emit_destroy(table);
    return status;
}

static void every_allocation_of_names_may_fail(void **state) {
    (void)state;
    for (size_t length = 1; length < 400; length += 1 + length / 6)
        test_fail_each_allocation(emit_long_names, &length);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(bad_buffers_are_refused),
        cmocka_unit_test(gaps_in_long_names),
        cmocka_unit_test(uneven_copies_have_no_stride),
        cmocka_unit_test(identifiers_are_different_words),
        cmocka_unit_test(long_names_stay_short_identifiers),
        cmocka_unit_test(even_copies_have_a_stride),
        cmocka_unit_test(rows_say_who_declared_them),
        cmocka_unit_test(extreme_places_are_expressions),
        cmocka_unit_test(names_are_quoted),
        cmocka_unit_test(a_layout_gives_its_places),
        cmocka_unit_test(what_has_no_place_is_refused),
        cmocka_unit_test(every_allocation_may_fail),
        cmocka_unit_test(odd_rows_in_every_language),
        cmocka_unit_test(pointers_have_types),
        cmocka_unit_test(allocations_for_tilelang),
        cmocka_unit_test(aliases_have_rows_of_their_own),
        cmocka_unit_test(an_alias_of_the_stack_has_no_row),
        cmocka_unit_test(every_allocation_of_aliases_may_fail),
        cmocka_unit_test(every_allocation_of_names_may_fail),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
