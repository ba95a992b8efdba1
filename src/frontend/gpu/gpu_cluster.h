/* SPDX-License-Identifier: Apache-2.0
 *
 * Blocks of a cluster that touch each other's memory.
 *
 * Where no block does, the kernel describes one block (`count` 1). Otherwise the front end records
 * the program once for each block, in order. All blocks allocate the same buffers in the same
 * order, so buffer i of one block corresponds to buffer i of another: buffers of block b are
 * [first_buffer[b], first_buffer[b + 1]).
 *
 * Sets of blocks are bit masks over `block`. A bit mask over a block's *number* selects blocks that
 * differ only in these bits; the one with none of the bits set leads them.
 */
#ifndef SPAD_FRONTEND_GPU_GPU_CLUSTER_H
#define SPAD_FRONTEND_GPU_GPU_CLUSTER_H

#include "frontend/gpu/recorded.h"

enum { SPAD__GPU_BLOCKS = 16 }; /* of a cluster */

typedef struct spad__gpu_cluster {
    int64_t declared; /* blocks of a cluster, in the text */
    int count;  /* blocks that the kernel has: `declared` if they touch each other's memory, else 1
                 */
    int block;  /* the one that is recorded or emitted */
    bool pairs; /* products of two blocks */
    bool joint; /* an mbarrier of several blocks is marked as such in the text */
    bool unannounced;   /* mbarriers were initialised, and the blocks have not met since */
    bool init_released; /* a fence makes the initialisation visible to the cluster */
    size_t first_buffer[SPAD__GPU_BLOCKS + 1];
} spad__gpu_cluster;

/* The blocks that differ from this one in these bits of the number only, including itself. */
uint32_t spad__gpu_peers(const spad__gpu *g, uint32_t bits);
/* True if this block acts for all that differ in these bits of the number. */
bool spad__gpu_leads(const spad__gpu *g, uint32_t bits);
/* Adds one access per block, to the memory of each, with the same threads. */
void spad__gpu_add_accesses(spad__gpu *g, int32_t buffer, const spad__gpu_view *view, unsigned kind,
                            uint32_t blocks, int32_t threads);
/* The record is about the mbarriers of these blocks. */
void spad__gpu_set_arrival_blocks(spad__gpu *g, spad__gpu_record *record, uint32_t blocks);
/* A barrier of all blocks. A relaxed one orders no memory, except mbarriers that a fence has
 * released. */
void spad__gpu_add_cluster_barrier(spad__gpu *g, bool relaxed);
/* The buffer of `block` that corresponds to this one of block `of`. */
spad__gpu_buffer *spad__gpu_buffer_in(spad__gpu *g, int32_t buffer, int of, int block);
/* Makes the facts that were recorded for one block's buffer facts of the corresponding buffers of
 * all blocks. */
void spad__gpu_align_blocks(spad__gpu *g);

#endif
