/* SPDX-License-Identifier: Apache-2.0
 *
 * Element types: the table, the spellings, and the bytes of a shape.
 */
#include "spad/dtype.h"

#include <string.h>

#include "base/checked.h"
#include "base/error.h"
#include "base/text.h"

typedef struct dtype_row {
    const char *name;
    int bits;
} dtype_row;

static const dtype_row dtype_rows[SPAD_DTYPE_COUNT] = {
#define DTYPE_ROW(id, spelling, width) [SPAD_##id] = {.name = spelling, .bits = width},
    SPAD_DTYPE_LIST(DTYPE_ROW)
#undef DTYPE_ROW
};

/* Spellings beside the canonical ones. */
static const struct {
    const char *name;
    spad_dtype dtype;
} dtype_aliases[] = {
    {"bool_", SPAD_BOOL}, /* nki.language, numpy */
    {"boolean", SPAD_BOOL},
    /* short forms: kernel text, Triton, MLIR */
    {"i4", SPAD_INT4},
    {"i8", SPAD_INT8},
    {"i16", SPAD_INT16},
    {"i32", SPAD_INT32},
    {"i64", SPAD_INT64},
    {"u4", SPAD_UINT4},
    {"u8", SPAD_UINT8},
    {"u16", SPAD_UINT16},
    {"u32", SPAD_UINT32},
    {"u64", SPAD_UINT64},
    {"f16", SPAD_FLOAT16},
    {"fp16", SPAD_FLOAT16},
    {"half", SPAD_FLOAT16},
    {"bf16", SPAD_BFLOAT16},
    {"tf32", SPAD_TFLOAT32},
    {"f32", SPAD_FLOAT32},
    {"fp32", SPAD_FLOAT32},
    {"float", SPAD_FLOAT32},
    {"f64", SPAD_FLOAT64},
    {"fp64", SPAD_FLOAT64},
    {"double", SPAD_FLOAT64},
    {"fp32r", SPAD_FLOAT32R},
    /* fp8: nki-library ("float8e4"), KLR ("float8e3"), Triton ("fp8e4nv"), TileLang */
    {"float8e3", SPAD_FLOAT8_E3M4},
    {"float8e4", SPAD_FLOAT8_E4M3},
    {"float8e5", SPAD_FLOAT8_E5M2},
    {"e3m4", SPAD_FLOAT8_E3M4},
    {"e4m3", SPAD_FLOAT8_E4M3},
    {"e4m3fn", SPAD_FLOAT8_E4M3FN},
    {"e5m2", SPAD_FLOAT8_E5M2},
    {"e8m0", SPAD_FLOAT8_E8M0FNU},
    {"e8m0fnu", SPAD_FLOAT8_E8M0FNU},
    {"float8_e8m0", SPAD_FLOAT8_E8M0FNU},
    {"ue8m0", SPAD_FLOAT8_E8M0FNU},
    {"fp8", SPAD_FLOAT8_E4M3},
    {"fp8_e3m4", SPAD_FLOAT8_E3M4},
    {"fp8_e4m3", SPAD_FLOAT8_E4M3},
    {"fp8_e4m3fn", SPAD_FLOAT8_E4M3FN},
    {"fp8_e5m2", SPAD_FLOAT8_E5M2},
    {"fp8e4nv", SPAD_FLOAT8_E4M3FN},
    {"fp8e5", SPAD_FLOAT8_E5M2},
    {"e4m3_float8", SPAD_FLOAT8_E4M3},
    {"e5m2_float8", SPAD_FLOAT8_E5M2},
    /* fp4 */
    {"fp4", SPAD_FLOAT4_E2M1FN},
    {"float4", SPAD_FLOAT4_E2M1FN},
    {"e2m1", SPAD_FLOAT4_E2M1FN},
    {"float4_e2m1", SPAD_FLOAT4_E2M1FN},
    {"fp4_e2m1", SPAD_FLOAT4_E2M1FN},
    /* packed units */
    {"fp8x4", SPAD_FLOAT8_E4M3FN_X4},
    {"float8_e4m3_x4", SPAD_FLOAT8_E4M3FN_X4},
    {"fp4x4", SPAD_FLOAT4_E2M1FN_X4},
    {"float4_e2m1_x4", SPAD_FLOAT4_E2M1FN_X4},
};

enum { ALIAS_COUNT = sizeof dtype_aliases / sizeof dtype_aliases[0] };

static bool is_dtype(spad_dtype dtype) {
    return dtype > SPAD_DTYPE_NONE && dtype < SPAD_DTYPE_COUNT;
}

const char *spad_dtype_name(spad_dtype dtype) {
    return is_dtype(dtype) ? dtype_rows[dtype].name : "?";
}

int spad_dtype_bits(spad_dtype dtype) {
    return is_dtype(dtype) ? dtype_rows[dtype].bits : 0;
}

int64_t spad_dtype_bytes(spad_dtype dtype) {
    return (spad_dtype_bits(dtype) + 7) / 8;
}

/* ---- names ------------------------------------------------------------------------- */

static bool same_word(const char *a, const char *b) {
    while (*a != '\0' && spad__lower(*a) == spad__lower(*b)) a++, b++;
    return *a == *b;
}

/* What stands after the last dot: "nl.bfloat16" and "ml_dtypes.int4" name the
 * module as well. */
static const char *without_module(const char *name) {
    const char *dot = strrchr(name, '.');
    return dot != NULL ? dot + 1 : name;
}

static spad_status unknown_dtype(const char *name, const char *word, spad_error *error) {
    spad__nearest nearest;
    spad__nearest_start(&nearest, word);
    for (int d = 1; d < SPAD_DTYPE_COUNT; d++) spad__nearest_offer(&nearest, dtype_rows[d].name);
    for (int a = 0; a < ALIAS_COUNT; a++) spad__nearest_offer(&nearest, dtype_aliases[a].name);
    char hint[128];
    spad__nearest_phrase(&nearest, hint, sizeof hint);
    char shown[SPAD_NAME_FACT_MAX];
    spad__copy_cut(shown, sizeof shown, name);
    spad__fail(error, SPAD_ERR_DTYPE, "unknown element type '%s'%s", shown, hint);
    spad__fact_names(error, name, nearest.count > 0 ? nearest.name[0] : NULL);
    return SPAD_ERR_DTYPE;
}

spad_status spad_dtype_parse(spad_dtype *out, const char *name, spad_error *error) {
    *out = SPAD_DTYPE_NONE;
    if (name == NULL || *name == '\0') {
        return spad__fail(error, SPAD_ERR_DTYPE, "no element type was given");
    }
    const char *word = without_module(name);
    for (int d = 1; d < SPAD_DTYPE_COUNT; d++) {
        if (same_word(word, dtype_rows[d].name)) {
            *out = (spad_dtype)d;
            return SPAD_OK;
        }
    }
    for (int a = 0; a < ALIAS_COUNT; a++) {
        if (same_word(word, dtype_aliases[a].name)) {
            *out = dtype_aliases[a].dtype;
            return SPAD_OK;
        }
    }
    return unknown_dtype(name, word, error);
}

/* ---- bytes of shapes --------------------------------------------------------------- */

static spad_status check_dims(spad_shape shape, spad_error *error) {
    if (shape.rank > SPAD_RANK_MAX) {
        return spad__fail(error, SPAD_ERR_SHAPE,
                          "a shape of %zu dimensions; at most %d are allowed", shape.rank,
                          SPAD_RANK_MAX);
    }
    for (size_t i = 0; i < shape.rank; i++) {
        if (shape.dims[i] < 0) {
            return spad__fail(error, SPAD_ERR_SHAPE,
                              "dimension %zu of the shape is %lld; extents cannot be negative", i,
                              (long long)shape.dims[i]);
        }
    }
    return SPAD_OK;
}

/* A zero extent makes the whole product zero, however large the others are. */
static bool has_zero(spad_shape shape) {
    for (size_t i = 0; i < shape.rank; i++) {
        if (shape.dims[i] == 0) return true;
    }
    return false;
}

/* The bytes of dims that have been checked. */
static spad_status count_bytes(int64_t *out, spad_shape shape, spad_dtype dtype,
                               spad_error *error) {
    *out = 0;
    if (has_zero(shape)) return SPAD_OK;
    int64_t elements = 1;
    for (size_t i = 0; i < shape.rank; i++) {
        if (!spad__mul(elements, shape.dims[i], &elements)) goto overflow;
    }
    const int bits = dtype_rows[dtype].bits;
    if (bits % 8 == 0) {
        if (!spad__mul(elements, bits / 8, out)) goto overflow;
        return SPAD_OK;
    }
    const int per_byte = 8 / bits; /* packed types: two 4-bit values in a byte */
    *out = elements / per_byte + (elements % per_byte != 0);
    return SPAD_OK;

overflow:
    return spad__fail(error, SPAD_ERR_OVERFLOW,
                      "the bytes of an array of %s of this shape do not fit 64 bits",
                      dtype_rows[dtype].name);
}

static spad_status check_array(spad_shape shape, spad_dtype dtype, spad_error *error) {
    if (!is_dtype(dtype)) {
        return spad__fail(error, SPAD_ERR_DTYPE, "%d is not an element type", (int)dtype);
    }
    return check_dims(shape, error);
}

spad_status spad_shape_bytes(int64_t *out, spad_shape shape, spad_dtype dtype, spad_error *error) {
    *out = 0;
    const spad_status status = check_array(shape, dtype, error);
    return status == SPAD_OK ? count_bytes(out, shape, dtype, error) : status;
}

spad_status spad_tile_bytes(int64_t *lanes, int64_t *bytes_per_lane, spad_shape shape,
                            spad_dtype dtype, spad_error *error) {
    *lanes = *bytes_per_lane = 0;
    if (shape.rank == 0) {
        return spad__fail(error, SPAD_ERR_SHAPE,
                          "a tile needs a shape of at least one dimension, the lanes");
    }
    spad_status status = check_array(shape, dtype, error);
    const spad_shape free_dims = {.rank = shape.rank - 1, .dims = shape.dims + 1};
    if (status == SPAD_OK) status = count_bytes(bytes_per_lane, free_dims, dtype, error);
    if (status == SPAD_OK) *lanes = shape.dims[0];
    return status;
}
