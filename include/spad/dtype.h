/* SPDX-License-Identifier: Apache-2.0
 *
 * dtype: element types, and shape: how many elements, in how many bytes.
 */
#ifndef SPAD_DTYPE_H
#define SPAD_DTYPE_H

#include <stddef.h>
#include <stdint.h>

#include "spad/status.h"

#ifdef __cplusplus
extern "C" {
#endif

/* X(name, canonical spelling, bits of one element).
 * Sizes: nki.language and KLR for the Neuron types, TileLang's storage_size.h
 * for the rest. A bool takes a byte. An x4 type is one unit of four packed
 * values, so its shape counts units, not values. */
#define SPAD_DTYPE_LIST(X)                         \
    X(BOOL, "bool", 8)                             \
    X(INT4, "int4", 4)                             \
    X(INT8, "int8", 8)                             \
    X(INT16, "int16", 16)                          \
    X(INT32, "int32", 32)                          \
    X(INT64, "int64", 64)                          \
    X(UINT4, "uint4", 4)                           \
    X(UINT8, "uint8", 8)                           \
    X(UINT16, "uint16", 16)                        \
    X(UINT32, "uint32", 32)                        \
    X(UINT64, "uint64", 64)                        \
    X(FLOAT16, "float16", 16)                      \
    X(BFLOAT16, "bfloat16", 16)                    \
    X(TFLOAT32, "tfloat32", 32)                    \
    X(FLOAT32, "float32", 32)                      \
    X(FLOAT32R, "float32r", 32)                    \
    X(FLOAT64, "float64", 64)                      \
    X(FLOAT8_E3M4, "float8_e3m4", 8)               \
    X(FLOAT8_E4M3, "float8_e4m3", 8)               \
    X(FLOAT8_E4M3FN, "float8_e4m3fn", 8)           \
    X(FLOAT8_E4M3FNUZ, "float8_e4m3fnuz", 8)       \
    X(FLOAT8_E4M3B11FNUZ, "float8_e4m3b11fnuz", 8) \
    X(FLOAT8_E5M2, "float8_e5m2", 8)               \
    X(FLOAT8_E5M2FNUZ, "float8_e5m2fnuz", 8)       \
    X(FLOAT8_E8M0FNU, "float8_e8m0fnu", 8)         \
    X(FLOAT4_E2M1FN, "float4_e2m1fn", 4)           \
    X(FLOAT8_E4M3FN_X4, "float8_e4m3fn_x4", 32)    \
    X(FLOAT8_E5M2_X4, "float8_e5m2_x4", 32)        \
    X(FLOAT4_E2M1FN_X4, "float4_e2m1fn_x4", 16)

typedef enum spad_dtype {
    SPAD_DTYPE_NONE = 0, /**< no element type was given */
#define SPAD_DTYPE_ENUM(name, spelling, bits) SPAD_##name,
    SPAD_DTYPE_LIST(SPAD_DTYPE_ENUM)
#undef SPAD_DTYPE_ENUM
        SPAD_DTYPE_COUNT
} spad_dtype;

/** The canonical spelling; "?" for an invalid dtype. Static storage. */
SPAD_API const char *spad_dtype_name(spad_dtype dtype);

/** Bits of one element; 0 for an invalid dtype. */
SPAD_API int spad_dtype_bits(spad_dtype dtype);

/** Bytes of one element on its own: bits rounded up to a whole byte; 0 for an
 *  invalid dtype. Also the default alignment of the type. */
SPAD_API int64_t spad_dtype_bytes(spad_dtype dtype);

/**
 * The dtype of a name, in any spelling that the common front ends use:
 * canonical ("bfloat16"), short ("bf16", "fp16", "f32", "i8", "u8", "half"),
 * with a module in front ("nl.bfloat16", "np.float32", "torch.float16"), NKI's
 * "bool_", "float8e4", TileLang's "e4m3_float8" and so on. Letter case does
 * not matter. SPAD_ERR_DTYPE: unknown; the message lists the closest names.
 */
SPAD_API spad_status spad_dtype_parse(spad_dtype *out, const char *name, spad_error *error);

/** Extents of a tensor. Borrowed: dims must live as long as the call. */
typedef struct spad_shape {
    size_t rank;
    const int64_t *dims;
} spad_shape;

/** A shape in place, for C callers: SPAD_SHAPE(128, 512). */
#define SPAD_SHAPE(...)                                                     \
    ((spad_shape){sizeof((const int64_t[]){__VA_ARGS__}) / sizeof(int64_t), \
                  (const int64_t[]){__VA_ARGS__}})

/** More dimensions than any front end uses; a larger rank is SPAD_ERR_SHAPE. */
#define SPAD_RANK_MAX 16

/**
 * Bytes of a dense array: elements x bits, rounded up to a whole byte, so that
 * 4-bit types pack two to a byte. No dims: one element. A zero extent is legal
 * and gives 0. SPAD_ERR_SHAPE: negative extent, rank too large. SPAD_ERR_OVERFLOW: the
 * bytes do not fit. SPAD_ERR_DTYPE: no such dtype.
 */
SPAD_API spad_status spad_shape_bytes(int64_t *out, spad_shape shape, spad_dtype dtype,
                                      spad_error *error);

/**
 * The same for a tile whose first extent runs across lanes: *lanes = dims[0]
 * and *bytes_per_lane = bytes of the remaining dims, packed within the lane.
 * SPAD_ERR_SHAPE also for rank 0.
 */
SPAD_API spad_status spad_tile_bytes(int64_t *lanes, int64_t *bytes_per_lane, spad_shape shape,
                                     spad_dtype dtype, spad_error *error);

#ifdef __cplusplus
}
#endif
#endif
