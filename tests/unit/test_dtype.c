/* SPDX-License-Identifier: Apache-2.0
 * Element types: sizes, spellings, bytes of shapes. */
#include "support/support.h"

#include <string.h>

#include "base/random.h"
#include "spad/dtype.h"

static void sizes_are_those_of_the_manuals(void **state) {
    (void)state;
    /* nki.language and nki-library's sizeinbytes(); TileLang storage_size.h */
    static const struct {
        spad_dtype dtype;
        int64_t bytes;
    } rows[] = {
        {SPAD_BOOL, 1},
        {SPAD_INT8, 1},
        {SPAD_UINT8, 1},
        {SPAD_INT16, 2},
        {SPAD_UINT16, 2},
        {SPAD_INT32, 4},
        {SPAD_UINT32, 4},
        {SPAD_INT64, 8},
        {SPAD_UINT64, 8},
        {SPAD_FLOAT16, 2},
        {SPAD_BFLOAT16, 2},
        {SPAD_FLOAT32, 4},
        {SPAD_TFLOAT32, 4},
        {SPAD_FLOAT64, 8},
        {SPAD_FLOAT8_E4M3, 1},
        {SPAD_FLOAT8_E4M3FN, 1},
        {SPAD_FLOAT8_E5M2, 1},
        {SPAD_FLOAT8_E8M0FNU, 1},
        {SPAD_FLOAT8_E4M3FN_X4, 4},
        {SPAD_FLOAT8_E5M2_X4, 4},
        {SPAD_FLOAT4_E2M1FN_X4, 2},
        {SPAD_FLOAT32R, 4},
        {SPAD_FLOAT8_E3M4, 1},
    };
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        assert_int_equal(spad_dtype_bytes(rows[i].dtype), rows[i].bytes);
    }
    assert_int_equal(spad_dtype_bits(SPAD_INT4), 4);
    assert_int_equal(spad_dtype_bits(SPAD_FLOAT4_E2M1FN), 4);
    assert_int_equal(spad_dtype_bits(SPAD_DTYPE_NONE), 0);
    assert_string_equal(spad_dtype_name(SPAD_DTYPE_COUNT), "?");
}

static void every_canonical_name_reads_back(void **state) {
    (void)state;
    for (int d = 1; d < SPAD_DTYPE_COUNT; d++) {
        spad_dtype out;
        spad_error error;
        assert_ok(spad_dtype_parse(&out, spad_dtype_name((spad_dtype)d), &error), &error);
        assert_int_equal(out, d);
    }
}

static void spellings_of_the_front_ends(void **state) {
    (void)state;
    static const struct {
        const char *name;
        spad_dtype dtype;
    } rows[] = {
        {"nl.bfloat16", SPAD_BFLOAT16},
        {"nki.language.float8_e4m3", SPAD_FLOAT8_E4M3},
        {"np.float32", SPAD_FLOAT32},
        {"torch.float16", SPAD_FLOAT16},
        {"bool_", SPAD_BOOL},
        {"float8e4", SPAD_FLOAT8_E4M3},
        {"float8e5", SPAD_FLOAT8_E5M2},
        {"e4m3_float8", SPAD_FLOAT8_E4M3},
        {"BF16", SPAD_BFLOAT16},
        {"half", SPAD_FLOAT16},
        {"u8", SPAD_UINT8},
        {"tf32", SPAD_TFLOAT32},
        {"nl.float4_e2m1fn_x4", SPAD_FLOAT4_E2M1FN_X4},
    };
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        spad_dtype out;
        spad_error error;
        assert_ok(spad_dtype_parse(&out, rows[i].name, &error), &error);
        assert_int_equal(out, rows[i].dtype);
    }
}

static void unknown_names_list_close_ones(void **state) {
    (void)state;
    spad_dtype out = SPAD_INT8;
    spad_error error;
    assert_int_equal(spad_dtype_parse(&out, "nl.bfloat61", &error), SPAD_ERR_DTYPE);
    assert_int_equal(out, SPAD_DTYPE_NONE);
    assert_string_equal(error.message, "unknown element type 'nl.bfloat61'; did you mean "
                                       "'bfloat16', 'float64' or 'tfloat32'?");
    assert_string_equal(error.subject, "nl.bfloat61");
    assert_string_equal(error.other, "bfloat16");
    assert_int_equal(spad_dtype_parse(&out, "quaternion", &error), SPAD_ERR_DTYPE);
    assert_string_equal(error.message, "unknown element type 'quaternion'");
    assert_int_equal(spad_dtype_parse(&out, "", &error), SPAD_ERR_DTYPE);
    assert_string_equal(error.message, "no element type was given");
    assert_int_equal(spad_dtype_parse(&out, NULL, NULL), SPAD_ERR_DTYPE);
}

static void four_bit_types_pack(void **state) {
    (void)state;
    /* TileLang test_cuda_shared_memory_alias_codegen.py: 127 fp4 or int4 = 64 B */
    int64_t bytes;
    spad_error error;
    assert_ok(spad_shape_bytes(&bytes, SPAD_SHAPE(127), SPAD_FLOAT4_E2M1FN, &error), &error);
    assert_int_equal(bytes, 64);
    assert_ok(spad_shape_bytes(&bytes, SPAD_SHAPE(127), SPAD_INT4, &error), &error);
    assert_int_equal(bytes, 64);
    /* an x4 type is one unit of four values */
    assert_ok(spad_shape_bytes(&bytes, SPAD_SHAPE(127), SPAD_FLOAT4_E2M1FN_X4, &error), &error);
    assert_int_equal(bytes, 254);
    /* a tile packs within its lane, never across lanes */
    int64_t lanes;
    assert_ok(spad_tile_bytes(&lanes, &bytes, SPAD_SHAPE(128, 3), SPAD_UINT4, &error), &error);
    assert_int_equal(lanes, 128);
    assert_int_equal(bytes, 2);
}

static void shapes_that_are_refused(void **state) {
    (void)state;
    int64_t bytes = 7;
    int64_t lanes = 7;
    spad_error error;
    assert_int_equal(spad_shape_bytes(&bytes, SPAD_SHAPE(4, -1), SPAD_INT8, &error),
                     SPAD_ERR_SHAPE);
    assert_int_equal(bytes, 0);
    assert_string_equal(error.message,
                        "dimension 1 of the shape is -1; extents cannot be negative");
    assert_int_equal(spad_shape_bytes(&bytes, SPAD_SHAPE(INT64_MAX, 2), SPAD_INT8, &error),
                     SPAD_ERR_OVERFLOW);
    assert_int_equal(spad_shape_bytes(&bytes, SPAD_SHAPE(INT64_MAX), SPAD_INT16, &error),
                     SPAD_ERR_OVERFLOW);
    assert_ok(spad_shape_bytes(&bytes, SPAD_SHAPE(INT64_MAX), SPAD_INT4, &error), &error);
    assert_int_equal(bytes, INT64_C(1) << 62);
    assert_ok(spad_shape_bytes(&bytes, SPAD_SHAPE(INT64_MAX, INT64_MAX, 0), SPAD_INT8, &error),
              &error);
    assert_int_equal(bytes, 0);
    assert_int_equal(spad_shape_bytes(&bytes, SPAD_SHAPE(1), (spad_dtype)99, &error),
                     SPAD_ERR_DTYPE);
    assert_int_equal(spad_tile_bytes(&lanes, &bytes, (spad_shape){0, NULL}, SPAD_INT8, &error),
                     SPAD_ERR_SHAPE);
    assert_int_equal(spad_tile_bytes(&lanes, &bytes, SPAD_SHAPE(-3, 2), SPAD_INT8, &error),
                     SPAD_ERR_SHAPE);
    const int64_t many[SPAD_RANK_MAX + 1] = {1};
    assert_int_equal(
        spad_shape_bytes(&bytes, (spad_shape){SPAD_RANK_MAX + 1, many}, SPAD_INT8, &error),
        SPAD_ERR_SHAPE);
}

/* Against a literal count of bits. */
static void bytes_equal_a_count_of_bits(void **state) {
    (void)state;
    spad__random random = {1};
    for (int round = 0; round < 20000; round++) {
        int64_t dims[5];
        const size_t rank = (size_t)spad__random_in(&random, 0, 5);
        const spad_dtype dtype = (spad_dtype)spad__random_in(&random, 1, SPAD_DTYPE_COUNT - 1);
        int64_t bits = spad_dtype_bits(dtype);
        for (size_t i = 0; i < rank; i++) {
            dims[i] = spad__random_in(&random, 0, 40);
            bits *= dims[i];
        }
        int64_t bytes;
        spad_error error;
        assert_ok(spad_shape_bytes(&bytes, (spad_shape){rank, dims}, dtype, &error), &error);
        assert_int_equal(bytes, (bits + 7) / 8);
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(sizes_are_those_of_the_manuals),
        cmocka_unit_test(every_canonical_name_reads_back),
        cmocka_unit_test(spellings_of_the_front_ends),
        cmocka_unit_test(unknown_names_list_close_ones),
        cmocka_unit_test(four_bit_types_pack),
        cmocka_unit_test(shapes_that_are_refused),
        cmocka_unit_test(bytes_equal_a_count_of_bits),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
