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

#define F8(d, i)                                                                                \
    "+f"(d[i]), "+f"(d[i + 1]), "+f"(d[i + 2]), "+f"(d[i + 3]), "+f"(d[i + 4]), "+f"(d[i + 5]), \
        "+f"(d[i + 6]), "+f"(d[i + 7])
template <int N> __device__ void product(float (&d)[N / 2], uint64_t a, uint64_t b);
template <> __device__ __forceinline__ void product<64>(float (&d)[32], uint64_t a, uint64_t b) {
    asm volatile("wgmma.mma_async.sync.aligned.m64n64k16.f32.f16.f16 {"
                 "%0, %1, %2, %3, %4, %5, %6, %7, %8, %9, %10, %11, %12, %13, %14, %15, "
                 "%16, %17, %18, %19, %20, %21, %22, %23, %24, %25, %26, %27, %28, %29, %30, %31"
                 "}, %32, %33, 1, 1, 1, 0, 1;"
                 : F8(d, 0), F8(d, 8), F8(d, 16), F8(d, 24)
                 : "l"(a), "l"(b));
}
template <> __device__ __forceinline__ void product<128>(float (&d)[64], uint64_t a, uint64_t b) {
    asm volatile("wgmma.mma_async.sync.aligned.m64n128k16.f32.f16.f16 {"
                 "%0, %1, %2, %3, %4, %5, %6, %7, %8, %9, %10, %11, %12, %13, %14, %15, "
                 "%16, %17, %18, %19, %20, %21, %22, %23, %24, %25, %26, %27, %28, %29, %30, %31, "
                 "%32, %33, %34, %35, %36, %37, %38, %39, %40, %41, %42, %43, %44, %45, %46, %47, "
                 "%48, %49, %50, %51, %52, %53, %54, %55, %56, %57, %58, %59, %60, %61, %62, %63"
                 "}, %64, %65, 1, 1, 1, 0, 1;"
                 : F8(d, 0), F8(d, 8), F8(d, 16), F8(d, 24), F8(d, 32), F8(d, 40), F8(d, 48),
                   F8(d, 56)
                 : "l"(a), "l"(b));
}
template <> __device__ __forceinline__ void product<256>(float (&d)[128], uint64_t a, uint64_t b) {
    asm volatile("wgmma.mma_async.sync.aligned.m64n256k16.f32.f16.f16 {"
                 "%0, %1, %2, %3, %4, %5, %6, %7, %8, %9, %10, %11, %12, %13, %14, %15, "
                 "%16, %17, %18, %19, %20, %21, %22, %23, %24, %25, %26, %27, %28, %29, %30, %31, "
                 "%32, %33, %34, %35, %36, %37, %38, %39, %40, %41, %42, %43, %44, %45, %46, %47, "
                 "%48, %49, %50, %51, %52, %53, %54, %55, %56, %57, %58, %59, %60, %61, %62, %63, "
                 "%64, %65, %66, %67, %68, %69, %70, %71, %72, %73, %74, %75, %76, %77, %78, %79, "
                 "%80, %81, %82, %83, %84, %85, %86, %87, %88, %89, %90, %91, %92, %93, %94, %95, "
                 "%96, %97, %98, %99, %100, %101, %102, %103, %104, %105, %106, %107, %108, %109, "
                 "%110, %111, "
                 "%112, %113, %114, %115, %116, %117, %118, %119, %120, %121, %122, %123, %124, "
                 "%125, %126, %127"
                 "}, %128, %129, 1, 1, 1, 0, 1;"
                 : F8(d, 0), F8(d, 8), F8(d, 16), F8(d, 24), F8(d, 32), F8(d, 40), F8(d, 48),
                   F8(d, 56), F8(d, 64), F8(d, 72), F8(d, 80), F8(d, 88), F8(d, 96), F8(d, 104),
                   F8(d, 112), F8(d, 120)
                 : "l"(a), "l"(b));
}

#undef F8

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
