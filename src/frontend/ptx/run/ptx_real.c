/* SPDX-License-Identifier: Apache-2.0
 *
 * Floating-point arithmetic on integers.
 *
 * A sum or product is computed with 127 bits; the lowest one stands for everything below it
 * (it is set if any lost bit was), and rounded once. That is exact: sources have at most 53 bits,
 * so a product has 106, and where the smaller term of a sum loses bits, the sum has lost at most
 * one leading bit to cancellation and is rounded far above the lowest one.
 *
 * Reference: IEEE 754-2019, sections 4.3 and 5.4; J. Hauser, Berkeley SoftFloat (the jammed bit).
 */
#include "frontend/ptx/run/ptx_real.h"

__extension__ typedef unsigned __int128 wide;

/* ---- formats -----------------------------------------------------------------------------------
 */

static const spad__ptx_format f16 = {16, 10, 0, true, 0x7fff};
static const spad__ptx_format bf16 = {16, 7, 0, true, 0x7fff};
static const spad__ptx_format tf32 = {19, 10, 13, true, 0x3ffff};
static const spad__ptx_format f32 = {32, 23, 0, true, 0x7fffffff};
static const spad__ptx_format f64 = {64, 52, 0, true, UINT64_C(0x7ff8000000000000)};
static const spad__ptx_format e4m3 = {8, 3, 0, false, 0x7f};
static const spad__ptx_format e5m2 = {8, 2, 0, true, 0x7f};
static const spad__ptx_format e2m1 = {4, 1, 0, false, 0};
static const spad__ptx_format e2m3 = {6, 3, 0, false, 0};
static const spad__ptx_format e3m2 = {6, 2, 0, false, 0};

static const spad__ptx_format *const float_formats[SPAD__PTX_TYPE_COUNT] = {
    [SPAD__PTX_F16] = &f16,     [SPAD__PTX_F16X2] = &f16,   [SPAD__PTX_BF16] = &bf16,
    [SPAD__PTX_BF16X2] = &bf16, [SPAD__PTX_TF32] = &tf32,   [SPAD__PTX_F32] = &f32,
    [SPAD__PTX_F32X2] = &f32,   [SPAD__PTX_F64] = &f64,     [SPAD__PTX_E4M3] = &e4m3,
    [SPAD__PTX_E4M3X2] = &e4m3, [SPAD__PTX_E4M3X4] = &e4m3, [SPAD__PTX_E5M2] = &e5m2,
    [SPAD__PTX_E5M2X2] = &e5m2, [SPAD__PTX_E5M2X4] = &e5m2, [SPAD__PTX_E2M1] = &e2m1,
    [SPAD__PTX_E2M1X2] = &e2m1, [SPAD__PTX_E2M1X4] = &e2m1, [SPAD__PTX_E2M3] = &e2m3,
    [SPAD__PTX_E2M3X2] = &e2m3, [SPAD__PTX_E3M2] = &e3m2,   [SPAD__PTX_E3M2X2] = &e3m2,
};

const spad__ptx_format *spad__ptx_format_of(spad__ptx_type type) {
    return float_formats[type];
}

static int32_t exponent_limit(const spad__ptx_format *f) {
    return (INT32_C(1) << (f->bits - 1 - f->fraction)) - 1;
}

static int32_t bias_of(const spad__ptx_format *f) {
    return exponent_limit(f) >> 1;
}

static uint64_t format_sign(const spad__ptx_format *f) {
    return UINT64_C(1) << (f->bits - 1);
}

static uint64_t infinity_of(const spad__ptx_format *f) {
    return (uint64_t)exponent_limit(f) << f->fraction;
}

static uint64_t largest_of(const spad__ptx_format *f) {
    if (f->infinite) return infinity_of(f) - 1;
    return f->nan != 0 ? f->nan - 1 : format_sign(f) - 1;
}

/* ---- packing -----------------------------------------------------------------------------------
 */

spad__ptx_real spad__ptx_unpack(uint64_t bits, const spad__ptx_format *format, bool flush) {
    bits >>= format->shift;
    const uint64_t magnitude = bits & (format_sign(format) - 1);
    const uint64_t fraction = magnitude & ((UINT64_C(1) << format->fraction) - 1);
    const int32_t exponent = (int32_t)(magnitude >> format->fraction);
    spad__ptx_real out = {.kind = SPAD__PTX_FINITE, .negative = (bits & format_sign(format)) != 0};
    if (format->infinite ? magnitude > infinity_of(format)
                         : format->nan != 0 && magnitude == format->nan) {
        out.kind = SPAD__PTX_NOT_A_NUMBER;
    } else if (format->infinite && magnitude == infinity_of(format)) {
        out.kind = SPAD__PTX_INFINITY;
    } else if (magnitude == 0 || (exponent == 0 && flush)) {
        out.kind = SPAD__PTX_ZERO;
    } else if (exponent == 0) {
        const int zeros = __builtin_clzll(fraction);
        out.significand = fraction << zeros;
        out.exponent = 1 - bias_of(format) - format->fraction + 63 - zeros;
    } else {
        out.significand = (UINT64_C(1) << 63) | fraction << (63 - format->fraction);
        out.exponent = exponent - bias_of(format);
    }
    return out;
}

/* Does a number round up? odd: the last bit that is kept; half: the next one; more: any after it.
 */
static bool rounds_up(bool odd, bool half, bool more, bool negative, spad__ptx_rounding rounding) {
    switch (rounding) {
    case SPAD__PTX_TO_NEAREST: return half && (more || odd);
    case SPAD__PTX_TO_AWAY: return half;
    case SPAD__PTX_TO_PLUS: return !negative && (half || more);
    case SPAD__PTX_TO_MINUS: return negative && (half || more);
    default: return false;
    }
}

/* Rounds away the lowest `drop` >= 1 bits. */
static uint64_t round_bits(uint64_t bits, bool rest, int32_t drop, bool negative,
                           spad__ptx_rounding rounding) {
    const uint64_t kept = drop >= 64 ? 0 : bits >> drop;
    const bool half = drop <= 64 && (bits >> (drop - 1) & 1) != 0;
    const uint64_t lower = drop > 64 ? bits : bits & ((UINT64_C(1) << (drop - 1)) - 1);
    const bool more = rest || lower != 0;
    return kept + rounds_up((kept & 1) != 0, half, more, negative, rounding);
}

static uint64_t overflowed(bool negative, const spad__ptx_format *format,
                           spad__ptx_rounding rounding) {
    const bool inward = rounding == SPAD__PTX_TO_ZERO ||
                        rounding == (negative ? SPAD__PTX_TO_PLUS : SPAD__PTX_TO_MINUS);
    if (inward) return largest_of(format);
    return format->infinite ? infinity_of(format) : format->nan;
}

/* The magnitude of a finite number; beyond the largest one: *over. */
static uint64_t pack_magnitude(const spad__ptx_real *value, const spad__ptx_format *format,
                               spad__ptx_rounding rounding, bool flush, bool *over) {
    const int32_t exponent = value->exponent + bias_of(format);
    int32_t drop = 63 - format->fraction;
    *over = exponent > exponent_limit(format);
    if (*over) return 0;
    if (exponent < 1) {
        if (flush) return 0;
        drop += 1 - exponent;
    }
    uint64_t bits = round_bits(value->significand, value->rest, drop, value->negative, rounding);
    if (exponent > 1) bits += (uint64_t)(exponent - 1) << format->fraction;
    *over = bits > largest_of(format);
    return bits;
}

uint64_t spad__ptx_pack(spad__ptx_real value, const spad__ptx_format *format,
                        spad__ptx_rounding rounding, bool flush) {
    const uint64_t sign = value.negative ? format_sign(format) : 0;
    uint64_t bits = 0;
    bool over = false;
    switch (value.kind) {
    case SPAD__PTX_NOT_A_NUMBER: return format->nan << format->shift;
    case SPAD__PTX_ZERO: break;
    case SPAD__PTX_INFINITY: bits = format->infinite ? infinity_of(format) : format->nan; break;
    case SPAD__PTX_FINITE:
        bits = pack_magnitude(&value, format, rounding, flush, &over);
        if (over) bits = overflowed(value.negative, format, rounding);
        break;
    }
    return (sign | bits) << format->shift;
}

uint64_t spad__ptx_pack_finite(spad__ptx_real value, const spad__ptx_format *format,
                               spad__ptx_rounding rounding) {
    bool over = value.kind == SPAD__PTX_INFINITY;
    if (value.kind == SPAD__PTX_NOT_A_NUMBER && format->nan == 0) {
        value.negative = false; /* formats without a NaN give the largest number */
        over = true;
    }
    if (value.kind == SPAD__PTX_FINITE) {
        (void)pack_magnitude(&value, format, rounding, false, &over);
    }
    if (!over) return spad__ptx_pack(value, format, rounding, false);
    return ((value.negative ? format_sign(format) : 0) | largest_of(format)) << format->shift;
}

uint64_t spad__ptx_narrow(uint64_t bits, const spad__ptx_format *format) {
    if (format == &f64) return bits;
    return spad__ptx_pack(spad__ptx_unpack(bits, &f64, false), format, SPAD__PTX_TO_NEAREST, false);
}

/* ---- arithmetic --------------------------------------------------------------------------------
 */

/* significand x 2^(exponent - 126), where bit 126 is set. */
typedef struct term {
    bool negative;
    int32_t exponent;
    wide significand;
} term;

static int top_bit(wide value) {
    const uint64_t high = (uint64_t)(value >> 64);
    return high != 0 ? 127 - __builtin_clzll(high) : 63 - __builtin_clzll((uint64_t)value);
}

/* Shifts right; bits that are lost set the lowest one. */
static wide jam(wide value, int32_t by) {
    if (by == 0) return value;
    if (by > 127) return value != 0;
    const wide lost = value & (((wide)1 << by) - 1);
    return value >> by | (lost != 0);
}

static spad__ptx_real real_of_term(const term *t) {
    const int top = top_bit(t->significand);
    spad__ptx_real out = {
        .kind = SPAD__PTX_FINITE, .negative = t->negative, .exponent = t->exponent + top - 126};
    if (top < 63) {
        out.significand = (uint64_t)t->significand << (63 - top);
    } else {
        out.significand = (uint64_t)(t->significand >> (top - 63));
        out.rest = (t->significand & (((wide)1 << (top - 63)) - 1)) != 0;
    }
    return out;
}

static spad__ptx_real add_terms(term a, term b, spad__ptx_rounding rounding) {
    if (a.exponent < b.exponent) {
        const term swapped = a;
        a = b;
        b = swapped;
    }
    const int64_t distance = (int64_t)a.exponent - b.exponent;
    b.significand = jam(b.significand, distance > 128 ? 128 : (int32_t)distance);
    if (a.negative == b.negative) {
        a.significand += b.significand;
    } else if (a.significand >= b.significand) {
        a.significand -= b.significand;
    } else {
        a.significand = b.significand - a.significand;
        a.negative = b.negative;
    }
    if (a.significand == 0) {
        return (spad__ptx_real){.kind = SPAD__PTX_ZERO, .negative = rounding == SPAD__PTX_TO_MINUS};
    }
    return real_of_term(&a);
}

static term term_of(const spad__ptx_real *a) {
    return (term){a->negative, a->exponent, (wide)a->significand << 63};
}

static term term_product(const spad__ptx_real *a, const spad__ptx_real *b) {
    term out = {a->negative != b->negative, a->exponent + b->exponent,
                (wide)a->significand * b->significand};
    if ((out.significand >> 127) != 0) {
        out.significand = jam(out.significand, 1);
        out.exponent++;
    }
    return out;
}

static const spad__ptx_real not_a_number = {.kind = SPAD__PTX_NOT_A_NUMBER};

/* The sum, if one of the terms is zero, infinite or a NaN. */
static bool special_sum(const spad__ptx_real *a, const spad__ptx_real *b,
                        spad__ptx_rounding rounding, spad__ptx_real *out) {
    if (a->kind == SPAD__PTX_NOT_A_NUMBER || b->kind == SPAD__PTX_NOT_A_NUMBER) {
        *out = not_a_number;
    } else if (a->kind == SPAD__PTX_INFINITY && b->kind == SPAD__PTX_INFINITY) {
        *out = a->negative == b->negative ? *a : not_a_number;
    } else if (a->kind == SPAD__PTX_INFINITY || b->kind == SPAD__PTX_INFINITY) {
        *out = a->kind == SPAD__PTX_INFINITY ? *a : *b;
    } else if (a->kind == SPAD__PTX_ZERO && b->kind == SPAD__PTX_ZERO) {
        *out = *a;
        if (a->negative != b->negative) out->negative = rounding == SPAD__PTX_TO_MINUS;
    } else if (a->kind == SPAD__PTX_ZERO || b->kind == SPAD__PTX_ZERO) {
        *out = a->kind == SPAD__PTX_ZERO ? *b : *a;
    } else {
        return false;
    }
    return true;
}

static bool special_product(const spad__ptx_real *a, const spad__ptx_real *b, spad__ptx_real *out) {
    const bool zero = a->kind == SPAD__PTX_ZERO || b->kind == SPAD__PTX_ZERO;
    const bool infinite = a->kind == SPAD__PTX_INFINITY || b->kind == SPAD__PTX_INFINITY;
    if (a->kind == SPAD__PTX_NOT_A_NUMBER || b->kind == SPAD__PTX_NOT_A_NUMBER ||
        (zero && infinite)) {
        *out = not_a_number;
        return true;
    }
    *out = (spad__ptx_real){.kind = zero ? SPAD__PTX_ZERO : SPAD__PTX_INFINITY,
                            .negative = a->negative != b->negative};
    return zero || infinite;
}

spad__ptx_real spad__ptx_real_add(spad__ptx_real a, spad__ptx_real b, spad__ptx_rounding rounding) {
    spad__ptx_real out;
    if (special_sum(&a, &b, rounding, &out)) return out;
    return add_terms(term_of(&a), term_of(&b), rounding);
}

spad__ptx_real spad__ptx_real_mul(spad__ptx_real a, spad__ptx_real b) {
    spad__ptx_real out;
    if (special_product(&a, &b, &out)) return out;
    const term product = term_product(&a, &b);
    return real_of_term(&product);
}

spad__ptx_real spad__ptx_real_fma(spad__ptx_real a, spad__ptx_real b, spad__ptx_real c,
                                  spad__ptx_rounding rounding) {
    spad__ptx_real product;
    spad__ptx_real out;
    if (special_product(&a, &b, &product)) {
        (void)special_sum(&product, &c, rounding, &out);
        return out;
    }
    const term terms = term_product(&a, &b);
    if (c.kind == SPAD__PTX_FINITE) return add_terms(terms, term_of(&c), rounding);
    product = real_of_term(&terms);
    (void)special_sum(&product, &c, rounding, &out);
    return out;
}

spad__ptx_real spad__ptx_real_div(spad__ptx_real a, spad__ptx_real b) {
    spad__ptx_real inverse = b;
    spad__ptx_real out;
    if (b.kind == SPAD__PTX_ZERO) inverse.kind = SPAD__PTX_INFINITY;
    if (b.kind == SPAD__PTX_INFINITY) inverse.kind = SPAD__PTX_ZERO;
    if (special_product(&a, &inverse, &out)) return out;
    const wide dividend = (wide)a.significand << 64;
    const wide quotient = dividend / b.significand;
    const bool rest = quotient * b.significand != dividend;
    const term t = {a.negative != b.negative, a.exponent - b.exponent - 64 + 126, quotient};
    out = real_of_term(&t);
    out.rest = out.rest || rest;
    return out;
}

/* The root of value >= 2^126, bit by bit. */
static uint64_t wide_root(wide value) {
    uint64_t root = 0;
    for (int bit = 63; bit >= 0; bit--) {
        const uint64_t larger = root | UINT64_C(1) << bit;
        if ((wide)larger * larger <= value) root = larger;
    }
    return root;
}

spad__ptx_real spad__ptx_real_sqrt(spad__ptx_real a) {
    if (a.kind == SPAD__PTX_ZERO || a.kind == SPAD__PTX_NOT_A_NUMBER) return a;
    if (a.negative) return not_a_number;
    if (a.kind == SPAD__PTX_INFINITY) return a;
    const int32_t by = (a.exponent & 1) == 0 ? 63 : 64;
    const wide radicand = (wide)a.significand << by;
    const uint64_t root = wide_root(radicand);
    return (spad__ptx_real){.kind = SPAD__PTX_FINITE,
                            .rest = (wide)root * root != radicand,
                            .exponent = (a.exponent - 63 - by) / 2 + 63,
                            .significand = root};
}

/* ---- integers ----------------------------------------------------------------------------------
 */

spad__ptx_real spad__ptx_real_of_integer(uint64_t value, bool is_signed) {
    const bool negative = is_signed && (int64_t)value < 0;
    const uint64_t magnitude = negative ? UINT64_C(0) - value : value;
    if (magnitude == 0) return (spad__ptx_real){.kind = SPAD__PTX_ZERO};
    const int zeros = __builtin_clzll(magnitude);
    return (spad__ptx_real){.kind = SPAD__PTX_FINITE,
                            .negative = negative,
                            .exponent = 63 - zeros,
                            .significand = magnitude << zeros};
}

/* The magnitude of a finite number below 2^64, rounded to an integer. */
static uint64_t whole_magnitude(const spad__ptx_real *a, spad__ptx_rounding rounding) {
    const int32_t drop = 63 - a->exponent;
    if (drop <= 0) return a->significand;
    return round_bits(a->significand, a->rest, drop > 65 ? 65 : drop, a->negative, rounding);
}

spad__ptx_real spad__ptx_real_whole(spad__ptx_real a, spad__ptx_rounding rounding) {
    if (a.kind != SPAD__PTX_FINITE || a.exponent >= 63) return a;
    spad__ptx_real out = spad__ptx_real_of_integer(whole_magnitude(&a, rounding), false);
    out.negative = a.negative;
    return out;
}

uint64_t spad__ptx_real_to_integer(spad__ptx_real a, spad__ptx_rounding rounding, unsigned bits,
                                   bool is_signed) {
    if (a.kind == SPAD__PTX_NOT_A_NUMBER || a.kind == SPAD__PTX_ZERO) return 0;
    const uint64_t all = bits >= 64 ? UINT64_MAX : (UINT64_C(1) << bits) - 1;
    const uint64_t most = is_signed ? all >> 1 : all;
    const uint64_t least = is_signed ? (all >> 1) + 1 : 0; /* magnitude of the lowest number */
    const bool huge = a.kind == SPAD__PTX_INFINITY || a.exponent > 63;
    const uint64_t magnitude = huge ? UINT64_MAX : whole_magnitude(&a, rounding);
    if (!a.negative) return magnitude > most ? most : magnitude;
    return (UINT64_C(0) - (magnitude > least ? least : magnitude)) & all;
}

/* ---- comparison --------------------------------------------------------------------------------
 */

/* An integer that orders as the floats do. */
static int64_t ordinal(uint64_t bits, const spad__ptx_format *format, bool flush, bool *nan) {
    const uint64_t magnitude = bits & (format_sign(format) - 1);
    *nan = format->infinite ? magnitude > infinity_of(format)
                            : format->nan != 0 && magnitude == format->nan;
    const bool subnormal = magnitude >> format->fraction == 0;
    const int64_t value = flush && subnormal ? 0 : (int64_t)magnitude;
    return (bits & format_sign(format)) != 0 ? -value : value;
}

int spad__ptx_compare(uint64_t a, uint64_t b, const spad__ptx_format *format, bool flush) {
    bool a_nan;
    bool b_nan;
    const int64_t left = ordinal(a, format, flush, &a_nan);
    const int64_t right = ordinal(b, format, flush, &b_nan);
    if (a_nan || b_nan) return 2;
    return (left > right) - (left < right);
}
