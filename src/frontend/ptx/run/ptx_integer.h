/* SPDX-License-Identifier: Apache-2.0
 *
 * The sources of one integer operation in all lanes, and the operations on bits (ptx_bits.c).
 */
#ifndef SPAD_FRONTEND_PTX_INTEGER_H
#define SPAD_FRONTEND_PTX_INTEGER_H

#include "frontend/ptx/run/ptx_arithmetic.h"

typedef struct spad__ptx_integers {
    const spad__ptx_instruction *i;
    const uint64_t *a;
    const uint64_t *b;
    const uint64_t *c;
    const uint64_t *d;
    uint64_t *out;
    bool is_signed;
    unsigned bits; /* of the type */
    unsigned out_bits;
    uint64_t mask;
    uint64_t out_mask;
} spad__ptx_integers;

typedef void spad__ptx_integer_operation(const spad__ptx_integers *x);

spad__ptx_integer_operation spad__ptx_shf;
spad__ptx_integer_operation spad__ptx_prmt;
spad__ptx_integer_operation spad__ptx_lop3;
spad__ptx_integer_operation spad__ptx_bfe_u;
spad__ptx_integer_operation spad__ptx_bfe_s;
spad__ptx_integer_operation spad__ptx_bfi;
spad__ptx_integer_operation spad__ptx_bfind;
spad__ptx_integer_operation spad__ptx_clz;
spad__ptx_integer_operation spad__ptx_popc;
spad__ptx_integer_operation spad__ptx_brev;
spad__ptx_integer_operation spad__ptx_fns;
spad__ptx_integer_operation spad__ptx_bmsk;
spad__ptx_integer_operation spad__ptx_szext;
spad__ptx_integer_operation spad__ptx_dp4a;
spad__ptx_integer_operation spad__ptx_dp2a;

/* The upper half of a product. */
uint64_t spad__ptx_product_high(const spad__ptx_integers *x, uint64_t a, uint64_t b);

#endif
