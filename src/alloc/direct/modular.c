/* SPDX-License-Identifier: Apache-2.0
 *
 * The bump allocator of rings, and the check of a tuple of counts that it
 * shares with direct placement. Every call is O(block dims).
 * Reference: modular_allocator.py of the NKI library, April 2026.
 */
#include "spad/experimental/modular.h"

#include <string.h>

#include "alloc/direct/ring.h"
#include "base/checked.h"
#include "base/error.h"

spad_status spad__ring_tiles(int64_t *tiles, spad_shape counts, size_t rank, const char *what,
                             spad_error *error) {
    *tiles = 1;
    if (counts.rank == 0) return SPAD_OK;
    if (counts.rank != rank) {
        return spad__fail(error, SPAD_ERR_SHAPE,
                          "%s has %zu counts for %zu block dims; give one for each, or none", what,
                          counts.rank, rank);
    }
    for (size_t d = 0; d < rank; d++) {
        if (counts.dims[d] < 1) {
            return spad__fail(error, SPAD_ERR_ARGUMENT, "%s[%zu] is %lld; it must be at least 1",
                              what, d, (long long)counts.dims[d]);
        }
        if (!spad__mul(*tiles, counts.dims[d], tiles)) {
            return spad__fail(error, SPAD_ERR_OVERFLOW, "the product of %s does not fit 64 bits",
                              what);
        }
    }
    return SPAD_OK;
}

/* Lengths and counts; the ring is as the block where none is given. */
static spad_status check_modular_ring(spad_modular_tensor *out, int64_t *tiles,
                                      const spad_modular_request *request, spad_error *error) {
    const spad_shape block = request->block;
    const spad_shape ring = request->free_tiles.rank > 0 ? request->free_tiles : block;
    if (block.rank > SPAD_RANK_MAX) {
        return spad__fail(error, SPAD_ERR_SHAPE, "%zu block dims; at most %d are possible",
                          block.rank, SPAD_RANK_MAX);
    }
    spad_status status = spad__ring_tiles(tiles, block, block.rank, "block", error);
    if (status == SPAD_OK) {
        status = spad__ring_tiles(tiles, ring, block.rank, "free_tiles", error);
    }
    if (status != SPAD_OK || block.rank == 0) return status;
    out->rank = block.rank;
    memcpy(out->block, block.dims, block.rank * sizeof *block.dims);
    memcpy(out->free_tiles, ring.dims, block.rank * sizeof *ring.dims);
    return SPAD_OK;
}

spad_status spad_modular_alloc(spad_modular_tensor *out, spad_modular *modular,
                               const spad_modular_request *request, spad_error *error) {
    memset(out, 0, sizeof *out);
    if (request->align_to < 0) {
        return spad__fail(error, SPAD_ERR_ALIGNMENT,
                          "align_to is %lld B; it must be at least 1, or 0 for none",
                          (long long)request->align_to);
    }
    spad_modular_tensor tensor = {.base = modular->cursor, .base_lane = request->base_lane};
    int64_t tiles;
    spad_status status = check_modular_ring(&tensor, &tiles, request, error);
    if (status != SPAD_OK) return status;
    int64_t lanes;
    status = spad_tile_bytes(&lanes, &tensor.tile_bytes, request->shape, request->dtype, error);
    if (status != SPAD_OK) return status;

    int64_t end;
    if ((request->align_to > 0 && !spad__align_up(tensor.base, request->align_to, &tensor.base)) ||
        !spad__mul(tiles, tensor.tile_bytes, &tensor.bytes) ||
        !spad__add(tensor.base, tensor.bytes, &end)) {
        return spad__fail(
            error, SPAD_ERR_OVERFLOW, "%lld tiles of %lld B from address %lld do not fit 64 bits",
            (long long)tiles, (long long)tensor.tile_bytes, (long long)modular->cursor);
    }
    modular->cursor = end;
    *out = tensor;
    return SPAD_OK;
}

spad_status spad_modular_get_address(int64_t *out, const spad_modular_tensor *tensor,
                                     const int64_t *index, spad_error *error) {
    *out = 0;
    for (size_t d = 0; d < tensor->rank; d++) {
        if (index[d] < 0 || index[d] >= tensor->block[d]) {
            return spad__fail(error, SPAD_ERR_ARGUMENT,
                              "index %lld in block dim %zu, which has %lld", (long long)index[d], d,
                              (long long)tensor->block[d]);
        }
    }
    *out = tensor->base +
           spad__ring_line(tensor->rank, tensor->free_tiles, index) * tensor->tile_bytes;
    return SPAD_OK;
}

spad_direct_rings spad_modular_get_rings(const spad_modular_tensor *tensor) {
    return (spad_direct_rings){
        .base = {.bank = 0, .lane = tensor->base_lane, .byte = tensor->base},
        .free_tiles = {.rank = tensor->rank, .dims = tensor->free_tiles},
    };
}
