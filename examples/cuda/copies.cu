// SPDX-License-Identifier: Apache-2.0
//
// Parts of a GEMM on their own, as compilers make them for threads that copy: loads by cp.async in
// a ring of stages, loads through registers (`single`), products, and both together; by tile,
// stages and blocks of an SM, from the cache and from memory. Nanoseconds of a k-step of 64, as
// CSV. `issue` lines have cycles: after the issue of each of twelve products in a row, and of the
// last result.
//
//     nvcc -O3 -std=c++17 -gencode=arch=compute_90a,code=sm_90a -Icli/cuda examples/cuda/copies.cu
//     -lcuda -o copies
#include <cstdio>
#include <cstdlib>

#include "by_threads.h"
#include "hopper.h"

static const int UNITS = 132;

struct place {
    const char *a, *b;
};
template <int BM, int BN, int WG>
__device__ __forceinline__ place begin(const char *a, const char *b, int m, int n, int k, int group,
                                       int tile) {
    const int width = group * (n / BN), first = tile / width * group;
    const int size = min(m / BM - first, group);
    const int row = first + tile % width % size, col = tile % width / size, t = threadIdx.x;
    return {a + (size_t)(row * BM + t / 8) * k * 2 + t % 8 * 16,
            b + (size_t)(t / (BN / 8)) * n * 2 + col * BN * 2 + t % (BN / 8) * 16};
}

template <int N, int R>
__device__ __forceinline__ void products(float (&acc)[R][N / 2], uint32_t stage, int bm, int wg) {
    const uint64_t b = hopper::descriptor(stage + bm * 128);
#pragma unroll
    for (int r = 0; r < R; r++) {
        const uint64_t a = hopper::descriptor(stage + (wg * R + r) * 8192);
#pragma unroll
        for (int kk = 0; kk < 4; kk++) hopper::multiply<N>(acc[r], a + 2 * kk, b + 2 * kk);
    }
}

template <int R, int N> __device__ __forceinline__ void clear(float (&acc)[R][N]) {
#pragma unroll
    for (int r = 0; r < R; r++)
#pragma unroll
        for (int i = 0; i < N; i++) acc[r][i] = 0.0f;
}

// What is never read would not be computed.
template <int R, int N>
__device__ __forceinline__ void keep(const float (&acc)[R][N], float *sink) {
    float sum = 0;
#pragma unroll
    for (int r = 0; r < R; r++)
#pragma unroll
        for (int i = 0; i < N; i++) sum += acc[r][i];
    if (sum == 1.2345f) *sink = sum;
}

template <int STAGES, int BM, int BN, int WG, bool LOADS, bool PRODUCTS>
__global__ void __launch_bounds__(128 * WG) step(const char *a, const char *b, int m, int n, int k,
                                                 int wrap, int group, int tiles, float *sink) {
    extern __shared__ __align__(1024) unsigned char sh[];
    using S = tile_of<BM, BN, 64, WG>;
    constexpr int T = S::T;
    const uint32_t base = hopper::address_of(sh), own = base + threadIdx.x * 16;
    float acc[S::R][BN / 2];
    clear(acc);
    const int steps = k / 64;
    for (int tile = blockIdx.x; tile < tiles; tile += gridDim.x) {
        const place p = begin<BM, BN, WG>(a, b, m, n, k, group, tile);
        auto load = [&](int kk, int s) {
            const int off = kk * 64 % wrap;
            if (LOADS) {
#pragma unroll
                for (int i = 0; i < S::NA; i++)
                    copy16(own + s * S::STAGE + i * T * 16,
                           p.a + (size_t)i * (T / 8) * k * 2 + off * 2);
#pragma unroll
                for (int i = 0; i < S::NB; i++)
                    copy16(own + s * S::STAGE + BM * 128 + i * T * 16,
                           p.b + (size_t)(off + i * (T / (BN / 8))) * n * 2);
            }
            commit();
        };
#pragma unroll
        for (int s = 0; s < STAGES - 1; s++) load(s, s);
        int at = 0, to = STAGES - 1;
        for (int kk = 0; kk < steps; kk++) {
            wait_copies<STAGES - 2>();
            __syncthreads();
            if (PRODUCTS) {
                hopper::start_products();
                products<BN>(acc, base + at * S::STAGE, BM, threadIdx.x / 128);
                hopper::commit_products();
                hopper::wait_products<1>();
            }
            __syncthreads();
            if (kk + STAGES - 1 < steps)
                load(kk + STAGES - 1, to);
            else
                commit();
            at = at + 1 == STAGES ? 0 : at + 1, to = to + 1 == STAGES ? 0 : to + 1;
        }
        if (PRODUCTS) hopper::wait_products<0>();
        wait_copies<0>();
        __syncthreads();
    }
    keep(acc, sink);
}

template <int BM, int BN, int WG, bool PRODUCTS>
__global__ void __launch_bounds__(128 * WG)
    single(const char *a, const char *b, int m, int n, int k, int wrap, int group, int tiles,
           float *sink) {
    extern __shared__ __align__(1024) unsigned char sh[];
    using S = tile_of<BM, BN, 64, WG>;
    constexpr int T = S::T;
    uint4 *own = reinterpret_cast<uint4 *>(sh) + threadIdx.x;
    const uint32_t base = hopper::address_of(sh);
    float acc[S::R][BN / 2];
    clear(acc);
    for (int tile = blockIdx.x; tile < tiles; tile += gridDim.x) {
        const place p = begin<BM, BN, WG>(a, b, m, n, k, group, tile);
        for (int kk = 0; kk < k / 64; kk++) {
            const int off = kk * 64 % wrap;
            uint4 va[S::NA], vb[S::NB];
#pragma unroll
            for (int i = 0; i < S::NA; i++)
                va[i] = __ldcg(
                    reinterpret_cast<const uint4 *>(p.a + (size_t)i * (T / 8) * k * 2 + off * 2));
#pragma unroll
            for (int i = 0; i < S::NB; i++)
                vb[i] = __ldcg(reinterpret_cast<const uint4 *>(
                    p.b + (size_t)(off + i * (T / (BN / 8))) * n * 2));
            __syncthreads();
#pragma unroll
            for (int i = 0; i < S::NA; i++) own[i * T] = va[i];
#pragma unroll
            for (int i = 0; i < S::NB; i++) own[BM * 8 + i * T] = vb[i];
            asm volatile("fence.proxy.async.shared::cta;" ::: "memory");
            __syncthreads();
            if (PRODUCTS) {
                hopper::start_products();
                products<BN>(acc, base, BM, threadIdx.x / 128);
                hopper::commit_products();
                hopper::wait_products<0>();
            }
        }
    }
    keep(acc, sink);
}

// Cycles from the first product to after the issue of each.
template <int N> __global__ void issue(long long *out, float *sink) {
    extern __shared__ __align__(1024) unsigned char sh[];
    const uint32_t base = hopper::address_of(sh);
    float d[1][N / 2];
    clear(d);
    long long at[13];
    hopper::start_products();
    at[0] = clock64();
#pragma unroll
    for (int i = 0; i < 12; i++) {
        hopper::multiply<N>(d[0], hopper::descriptor(base), hopper::descriptor(base + 8192));
        asm volatile("mov.u64 %0, %%clock64;" : "=l"(at[i + 1])::"memory");
    }
    hopper::commit_products();
    hopper::wait_products<0>();
    const long long end = clock64();
    keep(d, sink);
    if (threadIdx.x == 0) {
        for (int i = 0; i < 13; i++) out[i] = at[i] - at[0];
        out[13] = end - at[0];
    }
}

static char *A, *B;
static float *SINK;

template <typename F>
static void run(const char *name, F f, int bm, int bn, int wg, int stages, int occupancy, int bytes,
                int wrap, int m, int n, int k) {
    const int most = 227 << 10;
    int shared = most / occupancy - 1024; // no more than that many blocks fit
    if (bytes > shared) return;
    if (cudaFuncSetAttribute(f, cudaFuncAttributeMaxDynamicSharedMemorySize, shared) !=
        cudaSuccess) {
        cudaGetLastError();
        return;
    }
    int fit = 0;
    cudaOccupancyMaxActiveBlocksPerMultiprocessor(&fit, f, 128 * wg, shared);
    if (fit < occupancy) return;
    const int per = occupancy == 1 ? 4 : 2, tiles = UNITS * occupancy * per;
    if (tiles > m / bm * (n / bn)) return;
    const float ms = hopper::median_of(5, [&] {
        f<<<UNITS * occupancy, 128 * wg, shared>>>(A, B, m, n, k, wrap, 8, tiles, SINK);
    });
    cudaError_t e = cudaDeviceSynchronize();
    std::printf("%s,%d,%d,%d,%d,%d,%s,%.1f,%s\n", name, bm, bn, wg, stages, occupancy,
                wrap < k ? "cache" : "memory", (ms * 1e6 - 6000) / per / (k / 64),
                e == cudaSuccess ? "" : cudaGetErrorString(e));
    std::fflush(stdout);
}

template <int BM, int BN, int WG> static void tile() {
    using S = tile_of<BM, BN, 64, WG>;
    const int M = 8192, N = 8192, K = 4096;
    for (int o = 1; o <= 4; o++) {
        run("products", step<2, BM, BN, WG, false, true>, BM, BN, WG, 2, o, 2 * S::STAGE, K, M, N,
            K);
        for (int wrap = 512; wrap <= K; wrap += K - 512) {
            run("single_loads", single<BM, BN, WG, false>, BM, BN, WG, 1, o, S::STAGE, wrap, M, N,
                K);
            run("single_both", single<BM, BN, WG, true>, BM, BN, WG, 1, o, S::STAGE, wrap, M, N, K);
            run("loads", step<2, BM, BN, WG, true, false>, BM, BN, WG, 2, o, 2 * S::STAGE, wrap, M,
                N, K);
            run("loads", step<3, BM, BN, WG, true, false>, BM, BN, WG, 3, o, 3 * S::STAGE, wrap, M,
                N, K);
            run("loads", step<4, BM, BN, WG, true, false>, BM, BN, WG, 4, o, 4 * S::STAGE, wrap, M,
                N, K);
            run("both", step<2, BM, BN, WG, true, true>, BM, BN, WG, 2, o, 2 * S::STAGE, wrap, M, N,
                K);
            run("both", step<3, BM, BN, WG, true, true>, BM, BN, WG, 3, o, 3 * S::STAGE, wrap, M, N,
                K);
            run("both", step<4, BM, BN, WG, true, true>, BM, BN, WG, 4, o, 4 * S::STAGE, wrap, M, N,
                K);
        }
    }
}

template <int N> static void issues() {
    long long *out, host[14];
    cudaMalloc(&out, sizeof host);
    for (int i = 0; i < 3; i++) issue<N><<<1, 128, 48 << 10>>>(out, SINK);
    cudaMemcpy(host, out, sizeof host, cudaMemcpyDeviceToHost);
    std::printf("issue,64,%d", N);
    for (int i = 0; i < 14; i++) std::printf(",%lld", host[i]);
    std::printf("\n");
}

int main() {
    cudaMalloc(&A, (size_t)8192 * 8192 * 2);
    cudaMalloc(&B, (size_t)8192 * 8192 * 2);
    cudaMalloc(&SINK, 4);
    cudaMemset(A, 0x3c, (size_t)8192 * 8192 * 2);
    cudaMemset(B, 0x3c, (size_t)8192 * 8192 * 2);
    std::printf("what,bm,bn,warpgroups,stages,blocks,from,ns_a_step,note\n");
    issues<64>();
    issues<128>();
    issues<256>();
    tile<128, 128, 1>();
    tile<64, 128, 1>();
    tile<128, 256, 2>();
    tile<256, 128, 2>();
    tile<128, 128, 2>();
    tile<64, 64, 1>();
    return 0;
}
