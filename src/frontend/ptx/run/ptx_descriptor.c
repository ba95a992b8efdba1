/* SPDX-License-Identifier: Apache-2.0
 *
 * Decodes matrix descriptors and enumerates the chunks of an operand.
 *
 * Reference: PTX ISA 9.0, sections 9.7.15.5 (wgmma) and 9.7.16.5 (tcgen05).
 */
#include "frontend/ptx/run/ptx_descriptor.h"

static int64_t descriptor_field(uint64_t bits, int at) {
    return (int64_t)(bits >> at & 0x3fff) * SPAD__PTX_CHUNK;
}

static void descriptor_decode_offsets(uint64_t bits, spad__ptx_descriptor *out) {
    *out = (spad__ptx_descriptor){
        .start = descriptor_field(bits, 0),
        .leading = descriptor_field(bits, 16),
        .stride = descriptor_field(bits, 32),
        .base_offset = (int)(bits >> 49 & 7),
        .row_bytes = SPAD__PTX_CHUNK,
        .moved_bytes = SPAD__PTX_CHUNK,
    };
}

bool spad__ptx_decode_wgmma(uint64_t bits, spad__ptx_descriptor *out) {
    static const int row_bytes[4] = {16, 128, 64, 32};
    descriptor_decode_offsets(bits, out);
    out->row_bytes = row_bytes[bits >> 62];
    return true;
}

bool spad__ptx_decode_tcgen05(uint64_t bits, spad__ptx_descriptor *out) {
    static const int row_bytes[8] = {16, 128, 128, 0, 64, 0, 32, 0};
    const unsigned mode = (unsigned)(bits >> 61);
    descriptor_decode_offsets(bits, out);
    if (row_bytes[mode] == 0) return false;
    out->row_bytes = row_bytes[mode];
    if (mode == 1) out->moved_bytes = 2 * SPAD__PTX_CHUNK;
    return true;
}

int64_t spad__ptx_swizzled(int64_t address, int row_bytes, int moved_bytes, int base_offset) {
    const int64_t places = row_bytes / moved_bytes; /* a power of two: exchanged with each other */
    const int64_t row = (address >> 7) - base_offset;
    return address ^ ((row & (places - 1)) * moved_bytes);
}

static int64_t descriptor_at_k_major(const spad__ptx_descriptor *d, int64_t row, int64_t chunk) {
    const int64_t across = d->row_bytes == SPAD__PTX_CHUNK ? d->leading : SPAD__PTX_CHUNK;
    return d->start + row % 8 * d->row_bytes + row / 8 * d->stride + chunk * across;
}

static int64_t descriptor_at_mn_major(const spad__ptx_descriptor *d, int64_t chunk,
                                      int64_t column) {
    const int64_t wide = d->row_bytes / SPAD__PTX_CHUNK;
    const int64_t deep = d->moved_bytes == SPAD__PTX_CHUNK ? 8 : 4; /* columns of the pattern */
    const int64_t inner = chunk % wide * SPAD__PTX_CHUNK + column % deep * d->row_bytes;
    if (wide == 1) return d->start + inner + chunk * d->stride + column / deep * d->leading;
    return d->start + inner + chunk / wide * d->leading + column / deep * d->stride;
}

static int64_t descriptor_chunks_for(int64_t elements, int bits) {
    const int64_t each = SPAD__PTX_CHUNK * 8 / bits;
    return (elements + each - 1) / each;
}

void spad__ptx_descriptor_chunks(const spad__ptx_descriptor *d,
                                 const spad__ptx_operand_shape *shape, spad__ptx_chunks *out) {
    const int64_t outer =
        shape->mn_major ? descriptor_chunks_for(shape->mn, shape->bits) : shape->mn;
    const int64_t inner = shape->mn_major ? shape->k : descriptor_chunks_for(shape->k, shape->bits);
    for (int64_t i = 0; i < outer; i++) {
        for (int64_t j = 0; j < inner; j++) {
            const int64_t plain =
                shape->mn_major ? descriptor_at_mn_major(d, i, j) : descriptor_at_k_major(d, i, j);
            const int64_t byte =
                spad__ptx_swizzled(plain, d->row_bytes, d->moved_bytes, d->base_offset);
            const uint64_t chunk = (uint64_t)byte / SPAD__PTX_CHUNK % SPAD__PTX_CHUNKS;
            out->bits[chunk / 64] |= UINT64_C(1) << chunk % 64;
        }
    }
}

static bool descriptor_is_set(const spad__ptx_chunks *chunks, int64_t chunk) {
    return (chunks->bits[chunk / 64] >> chunk % 64 & 1) != 0;
}

/* The first chunk from `at` on that is set, or not set; SPAD__PTX_CHUNKS: none. */
static int64_t descriptor_find(const spad__ptx_chunks *chunks, int64_t at, bool set) {
    while (at < SPAD__PTX_CHUNKS) {
        const uint64_t word = chunks->bits[at / 64];
        if (at % 64 == 0 && word == (set ? 0 : UINT64_MAX)) {
            at += 64;
        } else if (descriptor_is_set(chunks, at) == set) {
            return at;
        } else {
            at++;
        }
    }
    return SPAD__PTX_CHUNKS;
}

bool spad__ptx_next_run(const spad__ptx_chunks *chunks, int64_t from, int64_t *begin,
                        int64_t *end) {
    const int64_t first = descriptor_find(chunks, from / SPAD__PTX_CHUNK, true);
    if (first == SPAD__PTX_CHUNKS) return false;
    *begin = first * SPAD__PTX_CHUNK;
    *end = descriptor_find(chunks, first, false) * SPAD__PTX_CHUNK;
    return true;
}
