/* SPDX-License-Identifier: Apache-2.0
 *
 * value: one constant of an element type, kept as the bits that the chip
 * stores; and the operators that reduce many of them to one.
 */
#ifndef SPAD_VALUE_H
#define SPAD_VALUE_H

#include <stdbool.h>
#include <stdint.h>

#include "spad/dtype.h"

#ifdef __cplusplus
extern "C" {
#endif

/** A constant. Zeroed: no value. Two values are the same if both fields are. */
typedef struct spad_value {
    spad_dtype dtype; /**< SPAD_DTYPE_NONE: no value */
    uint64_t bits;    /**< its encoding, in the low bits */
} spad_value;

/** A whole number as a value of any type; a floating-point type rounds it once, as below.
 *  SPAD_ERR_ARGUMENT: an integer type cannot hold it. SPAD_ERR_DTYPE: the type has no single values
 * (x4 types). */
SPAD_API spad_status spad_value_from_int(spad_value *out, spad_dtype dtype, int64_t number,
                                         spad_error *error);

/**
 * A real number as a value of a floating-point type, rounded to the nearest,
 * ties to even. Too large: infinity where the type has one, otherwise its
 * largest number. SPAD_ERR_DTYPE: not a floating-point type.
 * SPAD_ERR_ARGUMENT: the type cannot represent it (NaN in a type without one, a
 * negative number in one without a sign).
 */
SPAD_API spad_status spad_value_from_real(spad_value *out, spad_dtype dtype, double number,
                                          spad_error *error);

/* X(name, spelling) */
#define SPAD_REDUCE_LIST(X) \
    X(SUM, "sum")           \
    X(MAX, "max")           \
    X(MIN, "min")           \
    X(BITAND, "bitand")     \
    X(BITOR, "bitor")       \
    X(BITXOR, "bitxor")

typedef enum spad_reduce {
#define SPAD_REDUCE_ENUM(name, spelling) SPAD_REDUCE_##name,
    SPAD_REDUCE_LIST(SPAD_REDUCE_ENUM)
#undef SPAD_REDUCE_ENUM
        SPAD_REDUCE_COUNT
} spad_reduce;

/** "sum" and so on; "?" for an invalid operator. Static storage. */
SPAD_API const char *spad_reduce_name(spad_reduce op);

/** The operator of a name. SPAD_ERR_UNKNOWN: none; the message lists them. */
SPAD_API spad_status spad_reduce_parse(spad_reduce *out, const char *name, spad_error *error);

/**
 * The value that changes nothing: 0 for sum, bitor and bitxor; the lowest value
 * for max and the highest for min (infinities where the type has them); all
 * ones for bitand. SPAD_ERR_DTYPE: the operator does not work on the type;
 * bitwise ones need an integer or bool.
 */
SPAD_API spad_status spad_reduce_identity(spad_value *out, spad_reduce op, spad_dtype dtype,
                                          spad_error *error);

#ifdef __cplusplus
}
#endif
#endif
