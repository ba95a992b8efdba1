// SPDX-License-Identifier: Apache-2.0
// A product of matrices as Hopper kernels do it, with the waits, descriptors and multicast copies of libraries: one warp
// copies, two warpgroups multiply 64 x 128 each, three stages, one block or a cluster of two. nvcc -ptx -arch=sm_90a.
#include <cstdint>
#include <cuda.h>
#include <cuda_fp16.h>

#define INLINE __device__ __forceinline__
INLINE uint32_t place(const void *p) { return static_cast<uint32_t>(__cvta_generic_to_shared(p)); }
INLINE void init(uint32_t b, int n) { asm volatile("mbarrier.init.shared::cta.b64 [%0], %1;" ::"r"(b), "r"(n)); }

// One try, as a number: a peek, or a loop around it.
INLINE bool try_wait(uint32_t b, uint32_t parity) {
    uint32_t done;
    asm volatile("{\n.reg .pred P1;\nmbarrier.try_wait.parity.shared::cta.b64 P1, [%1], %2;\nselp.b32 %0, 1, 0, P1;\n}"
                 : "=r"(done)
                 : "r"(b), "r"(parity)
                 : "memory");
    return done != 0;
}
INLINE void spin(uint32_t b, uint32_t parity) {
    while (!try_wait(b, parity)) {}
}
INLINE void wait(uint32_t b, uint32_t parity) {
    asm volatile("{\n.reg .pred P1;\nLAB_WAIT:\nmbarrier.try_wait.parity.shared::cta.b64 P1, [%0], %1;\n@P1 bra DONE;\n"
                 "bra LAB_WAIT;\nDONE:\n}" ::"r"(b),
                 "r"(parity)
                 : "memory");
}
INLINE void expect(uint32_t b, uint32_t bytes) {
    asm volatile("mbarrier.arrive.expect_tx.shared::cta.b64 _, [%0], %1;" ::"r"(b), "r"(bytes));
}
INLINE void arrive_at(uint32_t b, uint32_t cta) {
    asm volatile("{\n.reg .b32 r;\nmapa.shared::cluster.u32 r, %0, %1;\nmbarrier.arrive.shared::cluster.b64 _, [r];\n}" ::
                     "r"(b),
                 "r"(cta));
}
INLINE void load(uint32_t to, const CUtensorMap *map, uint32_t b, int x, int y) {
    asm volatile("cp.async.bulk.tensor.2d.shared::cluster.global.mbarrier::complete_tx::bytes [%0], [%1, {%3, %4}], "
                 "[%2];" ::"r"(to),
                 "l"(map), "r"(b), "r"(x), "r"(y)
                 : "memory");
}
INLINE void load_to_both(uint32_t to, const CUtensorMap *map, uint32_t b, int x, int y) {
    asm volatile("cp.async.bulk.tensor.2d.shared::cluster.global.mbarrier::complete_tx::bytes.multicast::cluster [%0], "
                 "[%1, {%4, %5}], [%2], %3;" ::"r"(to),
                 "l"(map), "r"(b), "h"(static_cast<uint16_t>(3)), "r"(x), "r"(y)
                 : "memory");
}

// K-major, swizzle of 128 bytes: 8 rows are 1024 bytes apart.
INLINE uint64_t matrix(uint32_t at) {
    return static_cast<uint64_t>((at & 0x3ffff) >> 4) | 1ull << 16 | 64ull << 32 | 1ull << 62;
}
// Only the first accumulators are written, which is no product, but reads what one would.
INLINE void multiply(float (&d)[4], uint64_t a, uint64_t b) {
    asm volatile("wgmma.mma_async.sync.aligned.m64n8k16.f32.f16.f16 {%0, %1, %2, %3}, %4, %5, 1, 1, 1, 0, 0;"
                 : "+f"(d[0]), "+f"(d[1]), "+f"(d[2]), "+f"(d[3])
                 : "l"(a), "l"(b));
}

constexpr int STAGES = 3, BK = 64, ROWS = 128, COLUMNS = 16;
struct __align__(1024) memory {
    __half a[STAGES][ROWS * BK];
    __half b[STAGES][COLUMNS * BK];
    __half c[ROWS * 16];
    uint64_t full[STAGES], empty[STAGES];
};

INLINE void produce(memory &s, const CUtensorMap *a, const CUtensorMap *b, int steps, uint32_t rank, uint32_t blocks) {
    int stage = 0;
    uint32_t phase = 0;
    bool free = try_wait(place(&s.empty[0]), 1);
    for (int k = 0; k < steps; k++) {
        if (!free) wait(place(&s.empty[stage]), phase ^ 1);
        const uint32_t full = place(&s.full[stage]);
        expect(full, (ROWS + COLUMNS) * BK * 2);
        load(place(s.a[stage]), a, full, k * BK, blockIdx.x * ROWS);
        const uint32_t half = COLUMNS / 2 * BK * 2;
        if (blocks == 2) {
            load_to_both(place(s.b[stage]) + rank * half, b, full, k * BK, rank * COLUMNS / 2);
        } else {
            load(place(s.b[stage]), b, full, k * BK, 0);
            load(place(s.b[stage]) + half, b, full, k * BK, COLUMNS / 2);
        }
        if (++stage == STAGES) stage = 0, phase ^= 1;
        free = k + 1 == steps || try_wait(place(&s.empty[stage]), phase ^ 1);
    }
}

INLINE void consume(memory &s, const CUtensorMap *c, int steps, int group, uint32_t blocks) {
    float d[2][4] = {};
    int stage = 0, before = -1;
    uint32_t phase = 0;
    for (int k = 0; k < steps; k++) {
        spin(place(&s.full[stage]), phase);
        asm volatile("wgmma.fence.sync.aligned;" ::: "memory");
        const uint64_t a = matrix(place(s.a[stage]) + group * 64 * BK * 2), b = matrix(place(s.b[stage]));
#pragma unroll
        for (int j = 0; j < 4; j++) {
            multiply(d[0], a + 2 * j, b + 2 * j);
            multiply(d[1], a + 2 * j, b + 2 * j + 64);
        }
        asm volatile("wgmma.commit_group.sync.aligned;\nwgmma.wait_group.sync.aligned 1;" ::: "memory");
        if (before >= 0 && threadIdx.x % 128 < blocks) arrive_at(place(&s.empty[before]), threadIdx.x % 128);
        before = stage;
        if (++stage == STAGES) stage = 0, phase ^= 1;
    }
    asm volatile("wgmma.wait_group.sync.aligned 0;" ::: "memory");
    const int warp = threadIdx.x / 32 % 4, lane = threadIdx.x % 32;
    uint32_t r[4];
    for (int q = 0; q < 4; q++) {
        const __half2 pair = __floats2half2_rn(d[q / 2][q % 2 * 2], d[q / 2][q % 2 * 2 + 1]);
        r[q] = reinterpret_cast<const uint32_t &>(pair);
    }
    const uint32_t to = place(s.c) + (group * 64 + warp * 16 + lane % 16) * 32 + lane / 16 * 16;
    asm volatile("stmatrix.sync.aligned.m8n8.x4.shared.b16 [%0], {%1, %2, %3, %4};" ::"r"(to), "r"(r[0]), "r"(r[1]),
                 "r"(r[2]), "r"(r[3])
                 : "memory");
    asm volatile("fence.proxy.async.shared::cta;\nbar.sync %0, 128;" ::"r"(group + 1) : "memory");
    if (threadIdx.x % 128 == 0) {
        asm volatile("cp.async.bulk.tensor.2d.global.shared::cta.bulk_group [%0, {%2, %3}], [%1];\n"
                     "cp.async.bulk.commit_group;\ncp.async.bulk.wait_group.read 0;" ::"l"(c),
                     "r"(place(s.c) + group * 64 * 32), "r"(0), "r"(static_cast<int>(blockIdx.x * ROWS + group * 64))
                     : "memory");
    }
}

extern "C" __global__ void __launch_bounds__(288, 1)
    pipeline(const __grid_constant__ CUtensorMap a, const __grid_constant__ CUtensorMap b,
             const __grid_constant__ CUtensorMap c, int steps) {
    extern __shared__ __align__(1024) char raw[];
    memory &s = *reinterpret_cast<memory *>(raw);
    uint32_t rank, blocks;
    asm("mov.u32 %0, %%cluster_ctarank;\nmov.u32 %1, %%cluster_nctarank;" : "=r"(rank), "=r"(blocks));
    if (threadIdx.x == 0) {
        for (int n = 0; n < STAGES; n++) {
            init(place(&s.full[n]), 1);
            init(place(&s.empty[n]), 2 * blocks);
        }
        asm volatile("fence.mbarrier_init.release.cluster;");
    }
    asm volatile("barrier.cluster.arrive.relaxed.aligned;\nbarrier.cluster.wait.acquire.aligned;" ::: "memory");
    if (threadIdx.x == 256) produce(s, &a, &b, steps, rank, blocks);
    if (threadIdx.x < 256) consume(s, &c, steps, threadIdx.x / 128, blocks);
    __syncwarp();
    asm volatile("barrier.cluster.arrive.release.aligned;\nbarrier.cluster.wait.acquire.aligned;" ::: "memory");
}
