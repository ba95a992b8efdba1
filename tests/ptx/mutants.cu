// SPDX-License-Identifier: Apache-2.0
// Small kernels with the synchronisation of real ones, on integers: a study removes, weakens and moves each of its
// instructions (tests/python/ptx_mutants.py).
//     nvcc -ptx -arch=sm_90a mutants.cu -o mutants.ptx
#include <cstdint>

#define INLINE __device__ __forceinline__
INLINE uint32_t place(const void *p) { return static_cast<uint32_t>(__cvta_generic_to_shared(p)); }
INLINE void init(uint64_t *b, int n) { asm volatile("mbarrier.init.shared::cta.b64 [%0], %1;" ::"r"(place(b)), "r"(n)); }
INLINE void init_fence() { asm volatile("fence.mbarrier_init.release.cluster;" ::: "memory"); }
INLINE void wait(uint64_t *b, uint32_t parity) {
    asm volatile("{\n.reg .pred done;\nAGAIN:\nmbarrier.try_wait.parity.shared::cta.b64 done, [%0], %1;\n"
                 "@!done bra AGAIN;\n}" ::"r"(place(b)), "r"(parity) : "memory");
}
INLINE void arrive(uint64_t *b) { asm volatile("mbarrier.arrive.shared::cta.b64 _, [%0];" ::"r"(place(b)) : "memory"); }
INLINE void expect(uint64_t *b, int n) {
    asm volatile("mbarrier.arrive.expect_tx.shared::cta.b64 _, [%0], %1;" ::"r"(place(b)), "r"(n) : "memory");
}
INLINE void arrive_at(uint64_t *b, uint32_t cta) {
    asm volatile("{\n.reg .b32 there;\nmapa.shared::cluster.u32 there, %0, %1;\n"
                 "mbarrier.arrive.release.cluster.shared::cluster.b64 _, [there];\n}" ::"r"(place(b)), "r"(cta) : "memory");
}
INLINE void cluster_arrive() { asm volatile("barrier.cluster.arrive.release.aligned;" ::: "memory"); }
INLINE void cluster_wait() { asm volatile("barrier.cluster.wait.acquire.aligned;" ::: "memory"); }
INLINE void proxy_fence() { asm volatile("fence.proxy.async.shared::cta;" ::: "memory"); }
INLINE uint32_t rank() {
    uint32_t r;
    asm("mov.u32 %0, %%cluster_ctarank;" : "=r"(r));
    return r;
}

// A sum of a block, of warps first, that every thread reads; shared memory is used again for the next row.
extern "C" __global__ void block_sum(const int *in, int *out, int rows) {
    __shared__ int part[5];
    for (int row = 0; row < rows; row++) {
        int x = in[row * 128 + threadIdx.x];
#pragma unroll
        for (int step = 16; step; step /= 2) x += __shfl_xor_sync(~0u, x, step);
        if (threadIdx.x % 32 == 0) part[threadIdx.x / 32] = x;
        __syncthreads();
        if (threadIdx.x == 0) part[4] = part[0] + part[1] + part[2] + part[3];
        __syncthreads();
        out[row * 128 + threadIdx.x] = part[4] * static_cast<int>(threadIdx.x + 1);
    }
}

// Copies of 4 bytes, two buffers: the next tile arrives while this one is read, by other threads than copied it.
extern "C" __global__ void double_buffer(const int *in, int *out, int tiles) {
    __shared__ int tile[2][128];
    const int t = threadIdx.x;
    auto copy = [&](int n) {
        asm volatile("cp.async.ca.shared.global [%0], [%1], 4;" ::"r"(place(&tile[n % 2][t])), "l"(in + n * 128 + t) : "memory");
    };
    copy(0);
    asm volatile("cp.async.commit_group;" ::: "memory");
    int sum = 0;
#pragma unroll 1
    for (int n = 0; n < tiles; n++) {
        if (n + 1 < tiles) copy(n + 1);
        asm volatile("cp.async.commit_group;" ::: "memory");
        asm volatile("cp.async.wait_group 1;" ::: "memory");
        __syncthreads();
        sum = sum * 3 + tile[n % 2][127 - t];
        __syncthreads();
    }
    out[t] = sum;
}

// Bulk copies in a ring of three, by a warp of its own.
extern "C" __global__ void bulk_ring(const int *in, int *out, int tiles) {
    __shared__ alignas(128) int tile[3][64];
    __shared__ uint64_t full[3], empty[3];
    if (threadIdx.x == 0) {
        for (int s = 0; s < 3; s++) init(&full[s], 1), init(&empty[s], 2);
        init_fence();
    }
    __syncthreads();
    const int warp = threadIdx.x / 32, lane = threadIdx.x % 32;
    int s = 0, phase = 0, sum = 0;
    if (warp == 2) {
        if (lane == 0) {
#pragma unroll 1
            for (int n = 0; n < tiles; n++) {
                wait(&empty[s], phase ^ 1);
                expect(&full[s], 256);
                asm volatile("cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes [%0], [%1], 256, [%2];" ::"r"(
                                 place(tile[s])), "l"(in + n * 64), "r"(place(&full[s])) : "memory");
                if (++s == 3) s = 0, phase ^= 1;
            }
        }
    } else {
#pragma unroll 1
        for (int n = 0; n < tiles; n++) {
            wait(&full[s], phase);
            sum = sum * 3 + tile[s][63 - threadIdx.x];
            __syncwarp();
            if (lane == 0) arrive(&empty[s]);
            if (++s == 3) s = 0, phase ^= 1;
        }
        out[threadIdx.x] = sum;
    }
}

// Two warps write what two others read, with mbarriers in both directions.
extern "C" __global__ void specialised(const int *in, int *out, int tiles) {
    __shared__ int tile[2][64];
    __shared__ uint64_t full[2], empty[2];
    if (threadIdx.x == 0) {
        for (int s = 0; s < 2; s++) init(&full[s], 64), init(&empty[s], 64);
    }
    __syncthreads();
    const int t = threadIdx.x % 64;
    int sum = 0;
    if (threadIdx.x < 64) {
#pragma unroll 1
        for (int n = 0; n < tiles; n++) {
            wait(&empty[n % 2], (n / 2 & 1) ^ 1);
            tile[n % 2][t] = in[n * 64 + t] + n;
            arrive(&full[n % 2]);
        }
    } else {
#pragma unroll 1
        for (int n = 0; n < tiles; n++) {
            wait(&full[n % 2], n / 2 & 1);
            sum = sum * 3 + tile[n % 2][63 - t];
            arrive(&empty[n % 2]);
        }
        out[t] = sum;
    }
}

// Each block of a pair copies half of a tile to both; a stage is free when both have read it.
extern "C" __global__ void __cluster_dims__(2, 1, 1) multicast_ring(const int *in, int *out, int tiles) {
    __shared__ alignas(128) int tile[2][64];
    __shared__ uint64_t full[2], empty[2];
    const uint32_t me = rank();
    if (threadIdx.x == 0) {
        for (int s = 0; s < 2; s++) init(&full[s], 1), init(&empty[s], 2);
        init_fence();
    }
    cluster_arrive();
    cluster_wait();
    int sum = 0;
    if (threadIdx.x >= 32) {
        if (threadIdx.x == 32) {
#pragma unroll 1
            for (int n = 0; n < tiles; n++) {
                const int s = n % 2;
                wait(&empty[s], (n / 2 & 1) ^ 1);
                expect(&full[s], 256);
                asm volatile("cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes.multicast::cluster [%0], [%1], "
                             "128, [%2], %3;" ::"r"(place(tile[s] + me * 32)), "l"(in + n * 64 + me * 32),
                             "r"(place(&full[s])), "h"(static_cast<uint16_t>(3)) : "memory");
            }
        }
    } else {
#pragma unroll 1
        for (int n = 0; n < tiles; n++) {
            const int s = n % 2;
            wait(&full[s], n / 2 & 1);
            sum = sum * 3 + tile[s][threadIdx.x] + tile[s][63 - threadIdx.x];
            __syncwarp();
            if (threadIdx.x < 2) arrive_at(&empty[s], threadIdx.x);
        }
        out[me * 32 + threadIdx.x] = sum;
    }
    __syncwarp();
    cluster_arrive();
    cluster_wait();
}

// Two warps take turns with one buffer: one asks, the other one answers, by a named barrier each.
extern "C" __global__ void ping_pong(const int *in, int *out, int rounds) {
    __shared__ int buffer[32];
    const int warp = threadIdx.x / 32, lane = threadIdx.x % 32;
    int sum = 0;
#pragma unroll 1
    for (int n = 0; n < rounds; n++) {
        if (warp == 0) {
            buffer[lane] = in[n * 32 + lane] + sum;
            asm volatile("bar.arrive 1, 64;" ::: "memory");
            asm volatile("bar.sync 2, 64;" ::: "memory");
            sum = sum * 3 + buffer[31 - lane];
            __syncwarp();
        } else {
            asm volatile("bar.sync 1, 64;" ::: "memory");
            sum = sum * 5 + buffer[31 - lane];
            __syncwarp();
            buffer[lane] = sum + n;
            asm volatile("bar.arrive 2, 64;" ::: "memory");
        }
    }
    out[threadIdx.x] = sum;
}

// Results through shared memory to global memory by bulk copies, two buffers, as epilogues do it.
extern "C" __global__ void store_epilogue(int *out, int tiles) {
    __shared__ alignas(1024) uint32_t stage[2][4][64];
    const int warp = threadIdx.x / 32, lane = threadIdx.x % 32;
#pragma unroll 1
    for (int n = 0; n < tiles; n++) {
        if (threadIdx.x == 0) asm volatile("cp.async.bulk.wait_group.read 1;" ::: "memory");
        __syncthreads();
        const uint32_t v = n * 1000 + threadIdx.x;
        asm volatile("stmatrix.sync.aligned.m8n8.x2.shared.b16 [%0], {%1, %2};" ::"r"(
                         place(&stage[n % 2][warp][lane % 16 * 4])), "r"(v), "r"(v * 7) : "memory");
        proxy_fence();
        __syncthreads();
        if (threadIdx.x == 0) {
            asm volatile("cp.async.bulk.global.shared::cta.bulk_group [%0], [%1], 1024;" ::"l"(out + n * 256),
                         "r"(place(stage[n % 2])) : "memory");
            asm volatile("cp.async.bulk.commit_group;" ::: "memory");
        }
    }
    if (threadIdx.x == 0) asm volatile("cp.async.bulk.wait_group 0;" ::: "memory");
}

// Blocks of a cluster add their parts to sums in the first one, which stores them.
extern "C" __global__ void __cluster_dims__(2, 1, 1) split_sum(const int *in, int *out, int parts) {
    __shared__ int sum[64];
    sum[threadIdx.x] = 0;
    cluster_arrive();
    cluster_wait();
#pragma unroll 1
    for (int n = 0; n < parts; n++) {
        asm volatile("{\n.reg .b32 there;\nmapa.shared::cluster.u32 there, %0, 0;\n"
                     "red.relaxed.cluster.shared::cluster.add.u32 [there], %1;\n}" ::"r"(place(&sum[63 - threadIdx.x])),
                     "r"(in[(rank() * parts + n) * 64 + threadIdx.x]) : "memory");
    }
    cluster_arrive();
    cluster_wait();
    if (rank() == 0) out[threadIdx.x] = sum[threadIdx.x];
}

// A tile is copied in, scaled in place, and copied out: both proxies, both directions.
extern "C" __global__ void in_place(const int *in, int *out, int tiles) {
    __shared__ alignas(128) int tile[64];
    __shared__ uint64_t full;
    if (threadIdx.x == 0) init(&full, 1), init_fence();
    __syncthreads();
#pragma unroll 1
    for (int n = 0; n < tiles; n++) {
        if (threadIdx.x == 0) {
            asm volatile("cp.async.bulk.wait_group.read 0;" ::: "memory");
            expect(&full, 256);
            asm volatile("cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes [%0], [%1], 256, [%2];" ::"r"(
                             place(tile)), "l"(in + n * 64), "r"(place(&full)) : "memory");
        }
        wait(&full, n & 1);
        const int x = tile[63 - threadIdx.x];
        __syncthreads();
        tile[threadIdx.x] = 3 * x;
        proxy_fence();
        __syncthreads();
        if (threadIdx.x == 0) {
            asm volatile("cp.async.bulk.global.shared::cta.bulk_group [%0], [%1], 256;\n"
                         "cp.async.bulk.commit_group;" ::"l"(out + n * 64), "r"(place(tile)) : "memory");
        }
    }
    if (threadIdx.x == 0) asm volatile("cp.async.bulk.wait_group 0;" ::: "memory");
}
