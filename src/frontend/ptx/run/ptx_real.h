/* SPDX-License-Identifier: Apache-2.0
 *
 * Exact floating-point arithmetic of all formats and rounding modes of PTX, on integers: a result
 * does not depend on the machine that the executor runs on.
 *
 * Reference: IEEE 754-2019; PTX ISA 9.0, sections 5.2.3 (alternate formats), 9.7.3 to 9.7.5.
 */
#ifndef SPAD_FRONTEND_PTX_REAL_H
#define SPAD_FRONTEND_PTX_REAL_H

#include "frontend/ptx/text/ptx_words.h"

typedef struct spad__ptx_format {
    uint8_t bits;
    uint8_t fraction; /* bits after the point */
    uint8_t shift;    /* unused bits below; tf32 */
    bool infinite;    /* has infinities; e4m3 has none, and one NaN */
    uint64_t nan;     /* the NaN that operations give; 0: it has none */
} spad__ptx_format;

/* The format of one item of a (possibly packed) type; NULL: no float, or one that is not handled.
 */
const spad__ptx_format *spad__ptx_format_of(spad__ptx_type type);

typedef enum spad__ptx_rounding {
    SPAD__PTX_TO_NEAREST, /* ties to even */
    SPAD__PTX_TO_ZERO,
    SPAD__PTX_TO_MINUS,
    SPAD__PTX_TO_PLUS,
    SPAD__PTX_TO_AWAY /* nearest, ties away from zero */
} spad__ptx_rounding;

typedef enum spad__ptx_class {
    SPAD__PTX_ZERO,
    SPAD__PTX_FINITE,
    SPAD__PTX_INFINITY,
    SPAD__PTX_NOT_A_NUMBER
} spad__ptx_class;

/* (-1)^negative x significand x 2^(exponent - 63), where bit 63 of the significand is set; rest:
 * something more than that, below its last bit. */
typedef struct spad__ptx_real {
    spad__ptx_class kind;
    bool negative;
    bool rest;
    int32_t exponent;
    uint64_t significand;
} spad__ptx_real;

/* flush: subnormal numbers are zeros. */
spad__ptx_real spad__ptx_unpack(uint64_t bits, const spad__ptx_format *format, bool flush);
uint64_t spad__ptx_pack(spad__ptx_real value, const spad__ptx_format *format,
                        spad__ptx_rounding rounding, bool flush);
/* The same; numbers beyond the largest finite one give that. */
uint64_t spad__ptx_pack_finite(spad__ptx_real value, const spad__ptx_format *format,
                               spad__ptx_rounding rounding);
/* A double in another format, rounded to the nearest. */
uint64_t spad__ptx_narrow(uint64_t bits, const spad__ptx_format *format);

/* A zero sum of opposite numbers has the sign that the rounding mode gives it. */
spad__ptx_real spad__ptx_real_fma(spad__ptx_real a, spad__ptx_real b, spad__ptx_real c,
                                  spad__ptx_rounding rounding);
spad__ptx_real spad__ptx_real_add(spad__ptx_real a, spad__ptx_real b, spad__ptx_rounding rounding);
spad__ptx_real spad__ptx_real_mul(spad__ptx_real a, spad__ptx_real b);
spad__ptx_real spad__ptx_real_div(spad__ptx_real a, spad__ptx_real b);
spad__ptx_real spad__ptx_real_sqrt(spad__ptx_real a);

spad__ptx_real spad__ptx_real_of_integer(uint64_t value, bool is_signed);
/* Rounded to an integer, as a number. */
spad__ptx_real spad__ptx_real_whole(spad__ptx_real a, spad__ptx_rounding rounding);
/* Rounded to an integer of `bits` bits and clamped to its range; a NaN is 0. */
uint64_t spad__ptx_real_to_integer(spad__ptx_real a, spad__ptx_rounding rounding, unsigned bits,
                                   bool is_signed);

/* -1, 0, 1; 2: one of them is a NaN. */
int spad__ptx_compare(uint64_t a, uint64_t b, const spad__ptx_format *format, bool flush);

#endif
