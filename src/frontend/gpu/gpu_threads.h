/* SPDX-License-Identifier: Apache-2.0
 *
 * Which warps of an agent touch which bytes of an access.
 *
 * Where each element lives is linear over bits: the elements of warp 0 form a space of bit vectors,
 * and those of warp w are the same space moved by the sum (exclusive or) of one vector for each bit
 * of w. So two layouts give every element to the same warp iff their spaces are equal and each pair
 * of vectors differs by an element of the space. A thread map is the canonical form of that: equal
 * maps are equal bytes of the structure.
 */
#ifndef SPAD_FRONTEND_GPU_GPU_THREADS_H
#define SPAD_FRONTEND_GPU_GPU_THREADS_H

#include "frontend/gpu/memory_objects.h"

enum {
    SPAD__GPU_WARP = 32,      /* threads of a warp */
    SPAD__GPU_MAP_BITS = 32,  /* of an element's number */
    SPAD__GPU_WARP_BITS = 6,  /* of a warp's number */
    SPAD__GPU_BASES = 16,     /* vectors of a part of a layout */
    SPAD__GPU_GROUP_WARPS = 4 /* warps of a warpgroup */
};

/* `threads` of an access: one of these, or the position + 1 of a thread map. */
enum {
    SPAD__GPU_THREADS_NONE = 0, /* not stated */
    SPAD__GPU_THREADS_ALL = -1,
    SPAD__GPU_THREADS_ONE = -2,
    SPAD__GPU_THREADS_TOGETHER = -3,
    SPAD__GPU_THREADS_UNKNOWN = -4,
    SPAD__GPU_THREADS_REPEATED = -5, /* by a layout: several warps have the same elements */
    SPAD__GPU_THREADS_LANES = -6     /* each lane of tensor memory belongs to one warp */
};

/* Vectors: how far each bit of a number moves in each dimension. */
typedef struct spad__gpu_bases {
    size_t count;
    int64_t rows[SPAD__GPU_BASES][SPAD__GPU_RANK];
} spad__gpu_bases;

/* A layout of a tensor in registers. Extents are powers of two. */
typedef struct spad__gpu_layout {
    int rank;
    int64_t shape[SPAD__GPU_RANK];
    spad__gpu_bases warps; /* by bits of a warp's number */
    spad__gpu_bases
        own[2]; /* by bits of a register's and a lane's; empty: all that no warp bit moves */
} spad__gpu_layout;

typedef struct spad__gpu_thread_map {
    int bits;
    int own_count;
    uint64_t own[SPAD__GPU_MAP_BITS]; /* the space of warp 0, reduced rows from high to low */
    int warp_bits;
    uint64_t warps[SPAD__GPU_WARP_BITS]; /* reduced by `own` */
    bool repeats;                        /* several warps have the same elements */
} spad__gpu_thread_map;

/* Fills the map of a layout; order[d] is the dimension of the memory that dimension d of the tensor
 * is. False: the order is not a permutation, or the tensor is too large. */
bool spad__gpu_map_of_layout(const spad__gpu_layout *layout, const int *order,
                             spad__gpu_thread_map *map);
/* `threads` of an access by this map, for the warps of the stream that is recorded. */
int32_t spad__gpu_threads_of_map(spad__gpu *g, const spad__gpu_thread_map *map);
/* `threads` of a wgmma: its warpgroup together, or all where the stream has several groups. */
int32_t spad__gpu_threads_of_groups(const spad__gpu *g);
/* True if each of the four warps of the stream has its own lanes of the buffer, whatever the
 * layout. */
bool spad__gpu_is_by_lanes(const spad__gpu *g, int32_t buffer);

#endif
