/* SPDX-License-Identifier: Apache-2.0
 *
 * LZ4 blocks, as fatbins hold them: no frame, and the unpacked size is known.
 */
#ifndef SPAD_FRONTEND_PTX_LZ4_H
#define SPAD_FRONTEND_PTX_LZ4_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Unpacks a block into exactly `to_bytes`. False: the block is damaged, or has another size.
 * O(bytes). */
bool spad__lz4_unpack(uint8_t *to, size_t to_bytes, const uint8_t *from, size_t from_bytes);

#endif
