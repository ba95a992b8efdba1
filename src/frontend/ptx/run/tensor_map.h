/* SPDX-License-Identifier: Apache-2.0
 *
 * Tensor maps: what a CUtensorMap says, as far as on-chip memory is concerned.
 *
 * Reference: CUDA driver API, cuTensorMapEncodeTiled; PTX ISA, section 5.5 (tensors).
 */
#ifndef SPAD_FRONTEND_PTX_TENSOR_MAP_H
#define SPAD_FRONTEND_PTX_TENSOR_MAP_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum { SPAD__TENSOR_MAP_DIMS = 5, SPAD__TENSOR_MAP_BYTES = 128 };

typedef enum spad__tensor_map_swizzle {
    SPAD__SWIZZLE_NONE,
    SPAD__SWIZZLE_32,
    SPAD__SWIZZLE_64,
    SPAD__SWIZZLE_128,
    SPAD__SWIZZLE_128_ATOM_32
} spad__tensor_map_swizzle;

typedef struct spad__tensor_map {
    int dims;
    int element_bits;
    uint64_t address;                      /* of the tensor, in global memory */
    int64_t size[SPAD__TENSOR_MAP_DIMS];   /* elements, innermost first */
    int64_t stride[SPAD__TENSOR_MAP_DIMS]; /* bytes; [0] is not used */
    int64_t box[SPAD__TENSOR_MAP_DIMS];    /* elements */
    spad__tensor_map_swizzle swizzle;
    bool interleaved; /* 16 B or 32 B */
} spad__tensor_map;

typedef void spad__tensor_map_add(void *context, int64_t begin, int64_t end);
/* Bytes [begin, end) of shared memory, and the address of the first one in global memory. */
typedef void spad__tensor_map_add_piece(void *context, int64_t begin, int64_t end,
                                        uint64_t address);

/* Bytes of the swizzle's rows; 0: no swizzle. */
int64_t spad__tensor_map_span(const spad__tensor_map *map);
/* Bytes that a copy of one box moves and delivers: also for elements outside of the tensor. */
int64_t spad__tensor_map_box_bytes(const spad__tensor_map *map);
/* What makes a copy with the map fail, after "the tensor map"; NULL: nothing. */
const char *spad__tensor_map_fault(const spad__tensor_map *map);
/* Runs of shared memory that a box at a byte occupies: all of it, or from NULL replaced by its
 * coordinates in the tensor, the elements that the tensor has. O(1) for a whole box without
 * padding, else O(its chunks of 16 bytes). */
void spad__tensor_map_runs(const spad__tensor_map *map, int64_t at, const int64_t *from,
                           spad__tensor_map_add *add, void *context);
/* The same from known coordinates on, in pieces that lie together in both memories. */
void spad__tensor_map_pieces(const spad__tensor_map *map, int64_t at, const int64_t *from,
                             spad__tensor_map_add_piece *add, void *context);

#endif
