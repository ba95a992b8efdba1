/* SPDX-License-Identifier: Apache-2.0
 *
 * zstd: unpacks with the libzstd of the system, which is opened at run time. nvcc packs the PTX of
 * fatbins so: spad_ptx_image_options.unpack_zstd takes this function.
 */
#ifndef SPAD_ZSTD_H
#define SPAD_ZSTD_H

#include <stddef.h>

#include "spad/api.h"
#include "spad/status.h"

#ifdef __cplusplus
extern "C" {
#endif

/** Unpacks a frame into exactly `to_bytes`. SPAD_ERR_CAPABILITY: libzstd.so.1 is not there;
 *  SPAD_ERR_ARGUMENT: a damaged frame, or one of another size. Thread-safe. */
SPAD_API spad_status spad_zstd_unpack(void *to, size_t to_bytes, const void *from,
                                      size_t from_bytes, spad_error *error);

#ifdef __cplusplus
}
#endif
#endif
