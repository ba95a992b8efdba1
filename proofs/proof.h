/* SPDX-License-Identifier: Apache-2.0
 *
 * What the harnesses share: values of any kind, what is assumed and what is proved.
 */
#ifndef SPAD_PROOF_H
#define SPAD_PROOF_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Any value; CBMC knows functions without a body by their name. */
int64_t nondet_int64(void);
uint64_t nondet_uint64(void);
uint32_t nondet_uint32(void);
uint8_t nondet_uint8(void);
size_t nondet_size(void);
bool nondet_bool(void);

#define ASSUME(condition) __CPROVER_assume(condition)
#define PROVE(condition) __CPROVER_assert(condition, #condition)

/* A value of [0, 2^bits), bits <= 8. Its other bits are constants, which keeps circuits small. */
#define ANY_BITS(bits) ((int64_t)(nondet_uint8() & ((1u << (bits)) - 1)))

#endif
