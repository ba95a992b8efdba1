/* SPDX-License-Identifier: Apache-2.0
 *
 * Matrix descriptors: which bytes of shared memory wgmma and tcgen05.mma read for an operand.
 *
 * An operand is a matrix of `mn` rows (M of A, N of B) and `k` columns. Its unit is a chunk of 16
 * bytes: along K in a K-major matrix, along MN in an MN-major one. Where chunk (i, j) is, by
 * CUTLASS (make_gmma_desc), before the swizzle, with w = 1, 2, 4, 8 chunks in a row of the pattern:
 *
 *   K-major, i: row, j: chunk of K       (i % 8) * 16 w + i / 8 * stride + j * (w == 1 ? leading :
 * 16) MN-major, i: chunk of MN, j: column  (i % w) * 16 + i / w * leading + (j % 8) * 16 w + j / 8
 * * stride MN-major, w == 1                     i * stride + (j % 8) * 16 + j / 8 * leading
 *
 * The swizzle exchanges chunks in a row of 16 w bytes by the row's address.
 *
 * Reference: PTX ISA 9.0, sections 9.7.15.5 (wgmma) and 9.7.16.5 (tcgen05): matrix descriptors and
 * canonical layouts.
 */
#ifndef SPAD_FRONTEND_PTX_DESCRIPTOR_H
#define SPAD_FRONTEND_PTX_DESCRIPTOR_H

#include <stdbool.h>
#include <stdint.h>

/* Start addresses have 14 bits, in units of 16 bytes. */
enum { SPAD__PTX_CHUNK = 16, SPAD__PTX_CHUNKS = 1 << 14 };

typedef struct spad__ptx_descriptor {
    int64_t start;   /* bytes */
    int64_t leading; /* bytes: "leading dimension byte offset" */
    int64_t stride;  /* bytes: "stride dimension byte offset" */
    int base_offset; /* of the swizzle's pattern, in its rows of 128 bytes */
    int row_bytes;   /* of the pattern: 16 (none), 32, 64, 128 */
    int moved_bytes; /* what the swizzle exchanges: 16, or 32 (tcgen05 only) */
} spad__ptx_descriptor;

typedef struct spad__ptx_operand_shape {
    int64_t mn; /* rows */
    int64_t k;  /* columns, as stored */
    int bits;   /* of an element, as stored */
    bool mn_major;
} spad__ptx_operand_shape;

/* Chunks of shared memory, one bit each. */
typedef struct spad__ptx_chunks {
    uint64_t bits[SPAD__PTX_CHUNKS / 64];
} spad__ptx_chunks;

/* False: a swizzle mode that does not exist. */
bool spad__ptx_decode_wgmma(uint64_t bits, spad__ptx_descriptor *out);
bool spad__ptx_decode_tcgen05(uint64_t bits, spad__ptx_descriptor *out);

/* Adds the chunks of an operand. O(chunks). */
void spad__ptx_descriptor_chunks(const spad__ptx_descriptor *d,
                                 const spad__ptx_operand_shape *shape, spad__ptx_chunks *out);

/* The next run of chunks that are set, as bytes [begin, end), from byte `from` on. False: none. */
bool spad__ptx_next_run(const spad__ptx_chunks *chunks, int64_t from, int64_t *begin, int64_t *end);

/* Where the swizzle moves the byte at an address. row_bytes and moved_bytes as in a descriptor. */
int64_t spad__ptx_swizzled(int64_t address, int row_bytes, int moved_bytes, int base_offset);

#endif
