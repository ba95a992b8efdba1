/* SPDX-License-Identifier: Apache-2.0
 *
 * Small arithmetic that the searches share.
 */
#ifndef SPAD_PLAN_PROBLEM_UNITS_H
#define SPAD_PLAN_PROBLEM_UNITS_H

#include <stdint.h>

#include "base/assert.h"

/* log2(value) in 1/256 for value > 0: exact at powers of two, linear between
 * them. Integers, so that every machine orders alike. */
static inline int32_t spad__log2(int64_t value) {
    spad__assert(value > 0);
    const int32_t bits = 63 - __builtin_clzll((unsigned long long)value);
    const int64_t rest = value - (INT64_C(1) << bits);
    const int64_t fraction = bits >= 8 ? rest >> (bits - 8) : rest << (8 - bits);
    return bits * 256 + (int32_t)fraction;
}

#endif
