/* SPDX-License-Identifier: Apache-2.0
 *
 * Element sizes without a call, for hot paths.
 */
#ifndef SPAD_BASE_DTYPE_H
#define SPAD_BASE_DTYPE_H

#include "spad/dtype.h"

/* Bytes of one element, always a power of two; 0 for packed types, which have
 * no size of their own, and for numbers that are no dtype. */
static inline int64_t spad__dtype_whole_bytes(spad_dtype dtype) {
    static const uint8_t bytes[SPAD_DTYPE_COUNT] = {
#define SPAD_DTYPE_BYTES(name, spelling, bits) [SPAD_##name] = (bits) / 8,
        SPAD_DTYPE_LIST(SPAD_DTYPE_BYTES)
#undef SPAD_DTYPE_BYTES
    };
    return (unsigned)dtype < SPAD_DTYPE_COUNT ? bytes[dtype] : 0;
}

#endif
