/* SPDX-License-Identifier: Apache-2.0
 *
 * Constants of element types, and the operators that reduce them.
 *
 * Every floating-point type is one row of a table: a sign, e exponent bits, m
 * fraction bits, a bias, and what its highest codes mean. One routine rounds a
 * number into any of them, and the identities of max and min come from the same
 * rows, so there is nothing to keep in step.
 *
 * Formats: IEEE 754; the OCP 8-bit and microscaling specifications (e4m3fn,
 * e5m2, e2m1, e8m0); the ml_dtypes package for the fnuz, b11fnuz and IEEE-like
 * 8-bit ones. Identities: TileLang src/op/reducer.cc.
 */
#include "spad/value.h"

#include <string.h>

#include "base/assert.h"
#include "base/error.h"
#include "base/text.h"

/* What the highest codes of a format mean. */
typedef enum specials {
    NOT_A_FLOAT,
    IEEE,    /* the highest exponent is infinity and NaN */
    FN,      /* only the code of all ones is NaN; no infinity */
    FNUZ,    /* NaN is the code of -0; no infinity */
    FINITE,  /* every code is a number */
    UNSIGNED /* e8m0: powers of two, no sign, no zero; all ones is NaN */
} specials;

typedef struct float_format {
    specials specials;
    int exponent_bits;
    int fraction_bits;
    int bias;
} float_format;

static const float_format formats[SPAD_DTYPE_COUNT] = {
    [SPAD_FLOAT64] = {IEEE, 11, 52, 1023},
    [SPAD_FLOAT32] = {IEEE, 8, 23, 127},
    [SPAD_FLOAT32R] = {IEEE, 8, 23, 127},
    [SPAD_TFLOAT32] = {IEEE, 8, 23, 127}, /* stored as float32 */
    [SPAD_FLOAT16] = {IEEE, 5, 10, 15},
    [SPAD_BFLOAT16] = {IEEE, 8, 7, 127},
    [SPAD_FLOAT8_E3M4] = {IEEE, 3, 4, 3},
    [SPAD_FLOAT8_E4M3] = {IEEE, 4, 3, 7},
    [SPAD_FLOAT8_E4M3FN] = {FN, 4, 3, 7},
    [SPAD_FLOAT8_E4M3FNUZ] = {FNUZ, 4, 3, 8},
    [SPAD_FLOAT8_E4M3B11FNUZ] = {FNUZ, 4, 3, 11},
    [SPAD_FLOAT8_E5M2] = {IEEE, 5, 2, 15},
    [SPAD_FLOAT8_E5M2FNUZ] = {FNUZ, 5, 2, 16},
    [SPAD_FLOAT8_E8M0FNU] = {UNSIGNED, 8, 0, 127},
    [SPAD_FLOAT4_E2M1FN] = {FINITE, 2, 1, 1},
};

/* The integers: bits, and whether there is a sign. bool is one of 0 and 1. */
typedef struct integer_format {
    int bits;
    bool is_signed;
} integer_format;

static integer_format integer_of(spad_dtype dtype) {
    const int bits = spad_dtype_bits(dtype);
    switch (dtype) {
    case SPAD_INT4:
    case SPAD_INT8:
    case SPAD_INT16:
    case SPAD_INT32:
    case SPAD_INT64: return (integer_format){bits, true};
    case SPAD_UINT4:
    case SPAD_UINT8:
    case SPAD_UINT16:
    case SPAD_UINT32:
    case SPAD_UINT64: return (integer_format){bits, false};
    case SPAD_BOOL: return (integer_format){1, false};
    default: return (integer_format){0, false};
    }
}

static const float_format *float_of(spad_dtype dtype) {
    if ((unsigned)dtype >= SPAD_DTYPE_COUNT || formats[dtype].specials == NOT_A_FLOAT) return NULL;
    return &formats[dtype];
}

static uint64_t low_ones(int bits) {
    return bits >= 64 ? UINT64_MAX : (UINT64_C(1) << bits) - 1;
}

/* ---- encoding ---------------------------------------------------------------------- */

static uint64_t sign_bit(const float_format *f) {
    return f->specials == UNSIGNED ? 0 : UINT64_C(1) << (f->exponent_bits + f->fraction_bits);
}

/* The code of infinity, or 0. */
static uint64_t infinity_code(const float_format *f) {
    return f->specials == IEEE ? low_ones(f->exponent_bits) << f->fraction_bits : 0;
}

/* The code of the largest finite number. */
static uint64_t largest_code(const float_format *f) {
    const uint64_t ones = low_ones(f->exponent_bits + f->fraction_bits);
    switch (f->specials) {
    case IEEE: return infinity_code(f) - 1;
    case FN:
    case UNSIGNED: return ones - 1;
    default: return ones;
    }
}

/* The code of a NaN, or 0 in a format that has none. */
static uint64_t nan_code(const float_format *f) {
    const uint64_t ones = low_ones(f->exponent_bits + f->fraction_bits);
    switch (f->specials) {
    case IEEE: return infinity_code(f) | UINT64_C(1) << (f->fraction_bits - 1);
    case FN:
    case UNSIGNED: return ones;
    case FNUZ: return sign_bit(f);
    default: return 0;
    }
}

/* A number taken apart: (-1)^negative x mantissa x 2^exponent. The mantissa has
 * at least the bits of every format, or the number is below all normal ones. */
typedef struct number_parts {
    bool negative;
    bool finite;
    uint64_t mantissa; /* of an infinity 0 */
    int exponent;
} number_parts;

static number_parts take_apart(double number) {
    uint64_t code;
    memcpy(&code, &number, sizeof code);
    const int biased = (int)(code >> 52 & 0x7FF);
    const uint64_t fraction = code & low_ones(52);
    return (number_parts){
        .negative = code >> 63 != 0,
        .finite = biased != 0x7FF,
        .mantissa = biased == 0 || biased == 0x7FF ? fraction : fraction | UINT64_C(1) << 52,
        .exponent = (biased == 0 ? 1 : biased) - 1075,
    };
}

static number_parts take_int_apart(int64_t number) {
    number_parts p = {.negative = number < 0, .finite = true};
    p.mantissa = number < 0 ? 0 - (uint64_t)number : (uint64_t)number;
    for (; p.mantissa != 0 && p.mantissa < UINT64_C(1) << 62; p.exponent--) p.mantissa *= 2;
    return p;
}

/* floor(log2(value)), value > 0. */
static int log2_floor(uint64_t value) {
    int log = 0;
    while (value >>= 1) log++;
    return log;
}

/* value / 2^shift, rounded to the nearest, ties to even; shift >= 0. */
static uint64_t round_shift(uint64_t value, int shift) {
    if (shift == 0) return value;
    if (shift > 63) return 0;
    const uint64_t half = UINT64_C(1) << (shift - 1);
    const uint64_t rest = value & low_ones(shift);
    const uint64_t whole = value >> shift;
    return whole + (rest > half || (rest == half && whole % 2 != 0));
}

/* The code of a positive finite number, before the check for overflow: the
 * number in units of its last place, and the exponent on top. Codes grow with
 * the numbers, so a carry out of the fraction lands in the exponent by itself. */
static uint64_t magnitude_code(const float_format *f, number_parts p) {
    const int lowest = 1 - f->bias; /* exponent of the smallest normal number */
    const int log = log2_floor(p.mantissa) + p.exponent;
    const int unit = log < lowest ? lowest : log;
    const uint64_t steps = round_shift(p.mantissa, unit - f->fraction_bits - p.exponent);
    return steps + ((uint64_t)(unit - lowest) << f->fraction_bits);
}

/* e8m0 holds powers of two: the code of the nearest one, ties to even. */
static uint64_t power_code(const float_format *f, number_parts p) {
    const int log = log2_floor(p.mantissa);
    const int64_t code = log + p.exponent + f->bias;
    if (code < 0) return 0;
    const uint64_t rest = p.mantissa - (UINT64_C(1) << log);
    const uint64_t half = (UINT64_C(1) << log) / 2;
    return (uint64_t)code + (rest > half || (log > 0 && rest == half && code % 2 != 0));
}

static spad_status fail_unsupported(spad_dtype dtype, const char *what, spad_error *error) {
    return spad__fail(error, SPAD_ERR_ARGUMENT, "%s has no %s", spad_dtype_name(dtype), what);
}

static spad_status encode(spad_value *out, spad_dtype dtype, number_parts p, spad_error *error) {
    const float_format *f = float_of(dtype);
    spad__assert(f != NULL);
    if (!p.finite && p.mantissa != 0) { /* NaN */
        if (nan_code(f) == 0) return fail_unsupported(dtype, "nan", error);
        *out = (spad_value){dtype, nan_code(f)};
        return SPAD_OK;
    }
    const bool zero = p.finite && p.mantissa == 0;
    if (f->specials == UNSIGNED && (p.negative || zero)) {
        return fail_unsupported(dtype, "zero and no negative numbers", error);
    }
    const uint64_t largest = largest_code(f);
    uint64_t code = p.finite ? 0 : largest + 1;
    if (p.finite && !zero) {
        code = f->specials == UNSIGNED ? power_code(f, p) : magnitude_code(f, p);
    }
    if (code > largest) code = infinity_code(f) != 0 ? infinity_code(f) : largest;
    if (p.negative && !(f->specials == FNUZ && code == 0)) code |= sign_bit(f);
    *out = (spad_value){dtype, code};
    return SPAD_OK;
}

spad_status spad_value_from_real(spad_value *out, spad_dtype dtype, double number,
                                 spad_error *error) {
    *out = (spad_value){SPAD_DTYPE_NONE, 0};
    if (float_of(dtype) != NULL) return encode(out, dtype, take_apart(number), error);
    return spad__fail(error, SPAD_ERR_DTYPE, "%s is not a floating-point type",
                      spad_dtype_name(dtype));
}

spad_status spad_value_from_int(spad_value *out, spad_dtype dtype, int64_t number,
                                spad_error *error) {
    *out = (spad_value){SPAD_DTYPE_NONE, 0};
    if (float_of(dtype) != NULL) return encode(out, dtype, take_int_apart(number), error);
    const integer_format format = integer_of(dtype);
    if (format.bits == 0) {
        return spad__fail(error, SPAD_ERR_DTYPE, "%s has no single values", spad_dtype_name(dtype));
    }
    const uint64_t highest = low_ones(format.bits - format.is_signed);
    const int64_t lowest = format.is_signed ? -(int64_t)highest - 1 : 0;
    if (number < lowest || (number > 0 && (uint64_t)number > highest)) {
        return spad__fail(error, SPAD_ERR_ARGUMENT, "%s cannot hold %lld; it holds %lld to %llu",
                          spad_dtype_name(dtype), (long long)number, (long long)lowest,
                          (unsigned long long)highest);
    }
    *out = (spad_value){dtype, (uint64_t)number & low_ones(format.bits)};
    return SPAD_OK;
}

/* ---- operators --------------------------------------------------------------------- */

static const char *const reduce_names[SPAD_REDUCE_COUNT] = {
#define SPAD_REDUCE_NAME(name, spelling) [SPAD_REDUCE_##name] = spelling,
    SPAD_REDUCE_LIST(SPAD_REDUCE_NAME)
#undef SPAD_REDUCE_NAME
};

const char *spad_reduce_name(spad_reduce op) {
    return (unsigned)op < SPAD_REDUCE_COUNT ? reduce_names[op] : "?";
}

spad_status spad_reduce_parse(spad_reduce *out, const char *name, spad_error *error) {
    *out = SPAD_REDUCE_SUM;
    spad__nearest nearest;
    spad__nearest_start(&nearest, name);
    for (int i = 0; i < SPAD_REDUCE_COUNT; i++) {
        if (strcmp(name, reduce_names[i]) == 0) {
            *out = (spad_reduce)i;
            return SPAD_OK;
        }
        spad__nearest_offer(&nearest, reduce_names[i]);
    }
    char hint[128];
    char shown[SPAD_NAME_FACT_MAX];
    spad__nearest_phrase(&nearest, hint, sizeof hint);
    spad__copy_cut(shown, sizeof shown, name);
    spad__fail(
        error, SPAD_ERR_UNKNOWN,
        "no reduce operator is called '%s'%s; there are sum, max, min, bitand, bitor, bitxor",
        shown, hint);
    spad__fact_names(error, name, NULL);
    return SPAD_ERR_UNKNOWN;
}

static bool is_bitwise(spad_reduce op) {
    return op == SPAD_REDUCE_BITAND || op == SPAD_REDUCE_BITOR || op == SPAD_REDUCE_BITXOR;
}

/* The end of the number line that max (the low end) or min starts from. */
static uint64_t far_end(spad_dtype dtype, bool low) {
    const float_format *f = float_of(dtype);
    if (f != NULL) {
        if (f->specials == UNSIGNED && low) return 0; /* 2^-127 */
        const uint64_t code = infinity_code(f) != 0 ? infinity_code(f) : largest_code(f);
        return low ? code | sign_bit(f) : code;
    }
    const integer_format format = integer_of(dtype);
    if (!format.is_signed) return low ? 0 : low_ones(format.bits);
    return low ? UINT64_C(1) << (format.bits - 1) : low_ones(format.bits - 1);
}

spad_status spad_reduce_identity(spad_value *out, spad_reduce op, spad_dtype dtype,
                                 spad_error *error) {
    *out = (spad_value){SPAD_DTYPE_NONE, 0};
    if ((unsigned)op >= SPAD_REDUCE_COUNT) {
        return spad__fail(error, SPAD_ERR_ARGUMENT, "number %d is not a reduce operator", (int)op);
    }
    const integer_format integer = integer_of(dtype);
    if (is_bitwise(op) && integer.bits == 0) {
        return spad__fail(error, SPAD_ERR_DTYPE, "%s works on integers and bool, not on %s",
                          spad_reduce_name(op), spad_dtype_name(dtype));
    }
    if (integer.bits == 0 && float_of(dtype) == NULL) {
        return spad__fail(error, SPAD_ERR_DTYPE, "%s does not work on %s", spad_reduce_name(op),
                          spad_dtype_name(dtype));
    }
    if (op == SPAD_REDUCE_SUM && dtype == SPAD_FLOAT8_E8M0FNU) {
        return spad__fail(error, SPAD_ERR_DTYPE,
                          "sum does not work on float8_e8m0fnu, which has no zero");
    }
    out->dtype = dtype;
    if (op == SPAD_REDUCE_MAX) out->bits = far_end(dtype, true);
    if (op == SPAD_REDUCE_MIN) out->bits = far_end(dtype, false);
    if (op == SPAD_REDUCE_BITAND) out->bits = low_ones(integer.bits);
    return SPAD_OK;
}
