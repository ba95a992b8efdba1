/* SPDX-License-Identifier: Apache-2.0
 *
 * modular: a cursor that allocates rings of tiles, one after another.
 *
 * The ModularAllocator of the NKI library, address for address. It keeps no
 * names and checks neither an upper bound nor overlap; declare what it returns as
 * a tensor of a spad_direct (spad_modular_get_rings) to have that checked and
 * written to the trace. What may surprise:
 *   - only the first tile is aligned; the others follow without padding
 *   - a count larger than its block dim reserves bytes that no tile uses
 *   - the cursor can be set anywhere, back over tensors that are in use
 * Unlike the library, counts and block dims below 1 are errors.
 * Plain data; nothing is allocated.
 */
#ifndef SPAD_MODULAR_H
#define SPAD_MODULAR_H

#ifndef SPAD_EXPERIMENTAL
#error "spad/experimental/modular.h may change in any version: define SPAD_EXPERIMENTAL"
#endif

#include <stdint.h>

#include "spad/direct.h"

#ifdef __cplusplus
extern "C" {
#endif

/** Zeroed: starts at address 0. Set the cursor to continue elsewhere. */
typedef struct spad_modular {
    int64_t cursor; /**< where the next tensor goes, before alignment */
} spad_modular;

/** A request. Zeroed apart from shape and dtype: one tile at the cursor. */
typedef struct spad_modular_request {
    spad_shape shape; /**< of a tile: lanes, then free dims */
    spad_dtype dtype;
    spad_shape block;      /**< block_dim */
    spad_shape free_tiles; /**< num_free_tiles: one count for each block dim; rank 0: as block */
    int64_t base_lane;     /**< base_partition; passed on */
    int64_t align_to;      /**< bytes, any number above 0; 0: no alignment */
} spad_modular_request;

/** A tensor that was handed out. */
typedef struct spad_modular_tensor {
    int64_t base; /**< address of the first tile */
    int64_t base_lane;
    int64_t tile_bytes; /**< per lane */
    int64_t bytes;      /**< per lane, of the whole ring */
    size_t rank;        /**< number of block dims */
    int64_t block[SPAD_RANK_MAX];
    int64_t free_tiles[SPAD_RANK_MAX];
} spad_modular_tensor;

/**
 * Takes a ring of product(free_tiles) tiles at the cursor. SPAD_ERR_ALIGNMENT:
 * align_to below 0. SPAD_ERR_SHAPE: block and free_tiles of different length, too
 * many dims. SPAD_ERR_ARGUMENT: a count or block dim below 1. SPAD_ERR_DTYPE,
 * SPAD_ERR_OVERFLOW.
 */
SPAD_API spad_status spad_modular_alloc(spad_modular_tensor *out, spad_modular *modular,
                                        const spad_modular_request *request, spad_error *error);

/** The address of the tile at a block index (`rank` numbers).
 *  SPAD_ERR_ARGUMENT: outside the block dims. */
SPAD_API spad_status spad_modular_get_address(int64_t *out, const spad_modular_tensor *tensor,
                                              const int64_t *index, spad_error *error);

/** The same ring as a placement in a space without banks, for spad_direct_declare
 *  with block dims tensor->block. Borrows from the tensor. */
SPAD_API spad_direct_rings spad_modular_get_rings(const spad_modular_tensor *tensor);

#ifdef __cplusplus
}
#endif
#endif
