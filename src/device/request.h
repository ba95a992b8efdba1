/* SPDX-License-Identifier: Apache-2.0
 *
 * Checks that hold for every request for a block of memory: bytes that are not negative, and an
 * alignment that is a power of two.
 */
#ifndef SPAD_DEVICE_REQUEST_H
#define SPAD_DEVICE_REQUEST_H

#include "base/checked.h"
#include "base/error.h"

static inline spad_status spad__check_request(int64_t bytes, int64_t align, spad_error *error) {
    if (bytes < 0) {
        return spad__fail(error, SPAD_ERR_ARGUMENT, "a block of %lld B; sizes cannot be negative",
                          (long long)bytes);
    }
    if (!spad__is_pow2(align)) {
        return spad__fail(error, SPAD_ERR_ALIGNMENT,
                          "alignment %lld is not a power of two; use 1 for none", (long long)align);
    }
    return SPAD_OK;
}

#endif
