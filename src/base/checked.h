/* SPDX-License-Identifier: Apache-2.0
 *
 * Checked 64-bit arithmetic: the one place where user numbers are added,
 * multiplied or rounded. Each function returns false when the exact result
 * does not fit, and then leaves *out alone.
 *
 * Division is FLOOR division, as in Python: the addresses of the library
 * behaviours of the stack manager can be negative.
 */
#ifndef SPAD_BASE_CHECKED_H
#define SPAD_BASE_CHECKED_H

#include <stdbool.h>
#include <stdint.h>

#include "base/assert.h"

static inline bool spad__add(int64_t a, int64_t b, int64_t *out) {
    int64_t sum;
    if (__builtin_add_overflow(a, b, &sum)) return false;
    *out = sum;
    return true;
}

static inline bool spad__sub(int64_t a, int64_t b, int64_t *out) {
    int64_t difference;
    if (__builtin_sub_overflow(a, b, &difference)) return false;
    *out = difference;
    return true;
}

static inline bool spad__mul(int64_t a, int64_t b, int64_t *out) {
    int64_t product;
    if (__builtin_mul_overflow(a, b, &product)) return false;
    *out = product;
    return true;
}

/* a + b, or the limit of 64 bits that it is beyond. */
static inline int64_t spad__add_clamped(int64_t a, int64_t b) {
    int64_t sum;
    if (spad__add(a, b, &sum)) return sum;
    return b < 0 ? INT64_MIN : INT64_MAX;
}

/* a x b for a, b >= 0, or the limit of 64 bits. */
static inline int64_t spad__mul_clamped(int64_t a, int64_t b) {
    int64_t product;
    return spad__mul(a, b, &product) ? product : INT64_MAX;
}

static inline bool spad__is_pow2(int64_t value) {
    return value > 0 && (value & (value - 1)) == 0;
}

/* floor(a / b) for b > 0; always representable. */
static inline int64_t spad__floor_div(int64_t a, int64_t b) {
    spad__assert(b > 0);
    const int64_t quotient = a / b;
    return quotient - (a % b < 0);
}

/* a mod b in [0, b) for b > 0. */
static inline int64_t spad__floor_mod(int64_t a, int64_t b) {
    spad__assert(b > 0);
    const int64_t rest = a % b;
    return rest < 0 ? rest + b : rest;
}

/* The largest multiple of align that is <= value; align > 0, any value. */
static inline bool spad__align_down(int64_t value, int64_t align, int64_t *out) {
    spad__assert(align > 0);
    const int64_t rest =
        spad__is_pow2(align) ? (value & (align - 1)) : spad__floor_mod(value, align);
    return spad__sub(value, rest, out);
}

/* The smallest multiple of align that is >= value; align > 0, any value. */
static inline bool spad__align_up(int64_t value, int64_t align, int64_t *out) {
    spad__assert(align > 0);
    const int64_t rest =
        spad__is_pow2(align) ? (value & (align - 1)) : spad__floor_mod(value, align);
    return rest == 0 ? spad__add(value, 0, out) : spad__add(value, align - rest, out);
}

/* The same for a power of two, where the caller has made sure that it fits. */
static inline int64_t spad__align_up_fits(int64_t value, int64_t align) {
    spad__assert(spad__is_pow2(align) && value <= INT64_MAX - (align - 1));
    return (value + align - 1) & -align;
}

/* Greatest common divisor of a >= 0 and b >= 0: Euclid. */
static inline int64_t spad__gcd(int64_t a, int64_t b) {
    spad__assert(a >= 0 && b >= 0);
    while (b != 0) {
        const int64_t rest = a % b;
        a = b;
        b = rest;
    }
    return a;
}

/* Least common multiple of a > 0 and b > 0. */
static inline bool spad__lcm(int64_t a, int64_t b, int64_t *out) {
    spad__assert(a > 0 && b > 0);
    return spad__mul(a / spad__gcd(a, b), b, out);
}

/* ceil(value x mul / div) of value >= 0, mul >= 0 and div >= 1. */
static inline bool spad__scale_up(int64_t value, int64_t mul, int64_t div, int64_t *out) {
    spad__assert(value >= 0 && mul >= 0 && div >= 1);
    int64_t whole;
    int64_t rest;
    if (!spad__mul(value / div, mul, &whole) || !spad__mul(value % div, mul, &rest)) return false;
    return spad__add(whole, rest / div + (rest % div != 0), out);
}

static inline int64_t spad__min(int64_t a, int64_t b) {
    return a < b ? a : b;
}
static inline int64_t spad__max(int64_t a, int64_t b) {
    return a > b ? a : b;
}

#endif
