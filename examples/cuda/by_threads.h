// SPDX-License-Identifier: Apache-2.0
//
// Copies to shared memory that threads issue (cp.async), as the measurements of blocks that copy
// that way have them: 16 bytes a thread, in groups; and products of such tiles on fp16, B with its
// columns in a row, as compilers write them for row-major matrices.
#ifndef SPAD_EXAMPLES_BY_THREADS_H
#define SPAD_EXAMPLES_BY_THREADS_H

#include <cstdint>

#include "hopper.h"

__device__ __forceinline__ void copy16(uint32_t to, const char *from) {
    asm volatile("cp.async.cg.shared.global [%0], [%1], 16;" ::"r"(to), "l"(from) : "memory");
}
__device__ __forceinline__ void commit() {
    asm volatile("cp.async.commit_group;" ::: "memory");
}
template <int P> __device__ __forceinline__ void wait_copies() {
    asm volatile("cp.async.wait_group %0;" ::"n"(P) : "memory");
}

HOPPER_PRODUCTS(product, "f16.f16", "1")

// T threads, each with NA and NB pieces of A and B, and R times 64 rows for each warpgroup.
template <int BM, int BN, int BK, int WG> struct tile_of {
    static constexpr int T = 128 * WG, NA = BM * BK / 8 / T, NB = BN * BK / 8 / T, R = BM / 64 / WG,
                         STAGE = (BM + BN) * BK * 2;
};

// A stage: A is BM rows of BK with the swizzle of its width, B is BN / 64 parts of BK rows of 128
// bytes.
template <int BM, int BN, int BK, int WG>
__device__ __forceinline__ void products(float (&acc)[tile_of<BM, BN, BK, WG>::R][BN / 2],
                                         uint32_t stage, int wg) {
    constexpr int R = tile_of<BM, BN, BK, WG>::R, ROW = BK * 2;
    const uint64_t kind = BK == 64 ? 1ull << 62 : 2ull << 62;
    const uint64_t b = hopper::descriptor(stage + BM * ROW, 1024, BK * 128);
#pragma unroll
    for (int r = 0; r < R; r++) {
        const uint64_t a =
            static_cast<uint64_t>(((stage + (wg * R + r) * 64 * ROW) & 0x3FFFF) >> 4) | 1ull << 16 |
            static_cast<uint64_t>(ROW * 8 >> 4) << 32 | kind;
#pragma unroll
        for (int kk = 0; kk < BK / 16; kk++) product<BN>(acc[r], a + 2 * kk, b + 128 * kk);
    }
}

#endif
