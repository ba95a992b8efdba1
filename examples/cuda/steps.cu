// SPDX-License-Identifier: Apache-2.0
//
// Steps of a GEMM in the order in which Triton's compiler writes them, by tile, stages and blocks
// of an SM: wait for copies, products, wait for the products of the step before, copies; with one
// stage both tiles are loaded into registers and stored to shared memory. As in its machine code,
// the address of a copy is one addition. No results stored.
//
// A line: what,bm,bn,bk,warpgroups,stages,blocks,from,random,spread_ns,ns_a_step,parts
// ns_a_step is of all blocks of the SM together: what six tiles of a block take longer than two, by
// the steps of four, so that the launch is not in it, and the start of a tile is. random 1: factors
// with random bits instead of all the same. spread: each SM begins up to so much later. Lines
// `parts`: cycles of the parts of a step of the first warp: wait for copies, barrier, products and
// their wait, barrier, copies; with one stage loads, barrier, stores and fence, barrier, products.
//
//     nvcc -O3 -std=c++17 -gencode=arch=compute_90a,code=sm_90a -Icli/cuda
//     examples/cuda/steps.cu -lcuda -o steps
#include <cstdio>
#include <cstdlib>

#include "by_threads.h"
#include "hopper.h"

static const int UNITS = 132, M = 8192, N = 8192, K = 4096;

struct work {
    const char *a, *b;
    long long step_a, step_b; // bytes from a step to the next
    int steps, tiles, spread; // spread: cycles
    float *sink;
    unsigned *parts;
};

__device__ __forceinline__ int now() {
    int t;
    asm volatile("mov.u32 %0, %%clock;" : "=r"(t)::"memory");
    return t;
}

// The pieces of A and B that a thread copies: bytes from where the tile begins.
template <int BM, int BN, int BK, int WG> struct pieces {
    using Z = tile_of<BM, BN, BK, WG>;
    static constexpr int T = Z::T, ACROSS = BK / 8, BACROSS = BN / 8;
    long long of_a[Z::NA], of_b[Z::NB];
    uint32_t to_a, to_b;
    const char *a, *b;
    __device__ __forceinline__ void begin(const work &w, uint32_t base, int tile) {
        const int t = threadIdx.x;
        const int ra = t / ACROSS, ca = t % ACROSS, kb = t / BACROSS, cb = t % BACROSS;
        const int width = 8 * (N / BN), first = tile / width * 8, size = min(M / BM - first, 8);
        const int row = first + tile % width % size, col = tile % width / size;
        to_a = base + ra * BK * 2 + ((ca ^ (BK == 64 ? ra % 8 : ra / 2 % 4)) * 16);
        to_b = base + BM * BK * 2 + cb / 8 * (BK * 128) + kb * 128 + ((cb % 8 ^ kb % 8) * 16);
        a = w.a, b = w.b;
#pragma unroll
        for (int i = 0; i < Z::NA; i++) {
            of_a[i] = (long long)(row * BM + ra + i * (T / ACROSS)) * K * 2 + ca * 16;
            asm volatile("" : "+l"(of_a[i])); // kept, not computed again from the first one
        }
#pragma unroll
        for (int i = 0; i < Z::NB; i++) {
            of_b[i] = (long long)(kb + i * (T / BACROSS)) * N * 2 + col * BN * 2 + cb * 16;
            asm volatile("" : "+l"(of_b[i]));
        }
    }
    __device__ __forceinline__ void next(const work &w) {
        a += w.step_a, b += w.step_b;
    }
    __device__ __forceinline__ void copy(const work &w, int s) {
#pragma unroll
        for (int i = 0; i < Z::NA; i++)
            copy16(to_a + s * Z::STAGE + i * (T / ACROSS) * BK * 2, a + of_a[i]);
#pragma unroll
        for (int i = 0; i < Z::NB; i++)
            copy16(to_b + s * Z::STAGE + i * (T / BACROSS) * 128, b + of_b[i]);
        next(w);
    }
};

template <int BM, int BN, int BK, int WG> using accumulators = float[BM / 64 / WG][BN / 2];

template <int S, int BM, int BN, int BK, int WG, bool LOADS, bool PRODUCTS, bool CLOCKS>
__device__ __forceinline__ void ring(const work &w, uint32_t base,
                                     accumulators<BM, BN, BK, WG> &acc, int (&at)[5]) {
    using Z = tile_of<BM, BN, BK, WG>;
    pieces<BM, BN, BK, WG> p;
    for (int tile = blockIdx.x; tile < w.tiles; tile += gridDim.x) {
        p.begin(w, base, tile);
#pragma unroll
        for (int s = 0; s < S - 1; s++) {
            if (LOADS) p.copy(w, s);
            commit();
        }
        int from = 0, to = S - 1;
        for (int kk = 0; kk < w.steps; kk++) {
            int t[6];
            if (CLOCKS) t[0] = now();
            wait_copies<S - 2>();
            if (CLOCKS) t[1] = now();
            __syncthreads();
            if (CLOCKS) t[2] = now();
            if (PRODUCTS) {
                hopper::start_products();
                products<BM, BN, BK, WG>(acc, base + from * Z::STAGE,
                                         __shfl_sync(~0u, threadIdx.x / 128, 0));
                hopper::commit_products();
                hopper::wait_products<1>();
            }
            if (CLOCKS) t[3] = now();
            __syncthreads();
            if (CLOCKS) t[4] = now();
            if (LOADS && kk + S - 1 < w.steps) p.copy(w, to);
            commit();
            if (CLOCKS) {
                t[5] = now();
#pragma unroll
                for (int i = 0; i < 5; i++) at[i] += t[i + 1] - t[i];
            }
            from = from + 1 == S ? 0 : from + 1, to = to + 1 == S ? 0 : to + 1;
        }
        if (PRODUCTS) hopper::wait_products<0>();
        wait_copies<0>();
        __syncthreads();
    }
}

template <int BM, int BN, int BK, int WG, bool LOADS, bool PRODUCTS, bool CLOCKS>
__device__ __forceinline__ void through_registers(const work &w, uint32_t base,
                                                  accumulators<BM, BN, BK, WG> &acc, int (&at)[5]) {
    using Z = tile_of<BM, BN, BK, WG>;
    pieces<BM, BN, BK, WG> p;
    for (int tile = blockIdx.x; tile < w.tiles; tile += gridDim.x) {
        p.begin(w, base, tile);
        for (int kk = 0; kk < w.steps; kk++) {
            int t[6];
            uint4 va[Z::NA], vb[Z::NB];
            if (CLOCKS) t[0] = now();
            if (LOADS) {
#pragma unroll
                for (int i = 0; i < Z::NA; i++)
                    va[i] = __ldcg(reinterpret_cast<const uint4 *>(p.a + p.of_a[i]));
#pragma unroll
                for (int i = 0; i < Z::NB; i++)
                    vb[i] = __ldcg(reinterpret_cast<const uint4 *>(p.b + p.of_b[i]));
                p.next(w);
            }
            if (CLOCKS) t[1] = now();
            __syncthreads();
            if (CLOCKS) t[2] = now();
            if (LOADS) {
#pragma unroll
                for (int i = 0; i < Z::NA; i++)
                    asm volatile("st.shared.v4.u32 [%0], {%1, %2, %3, %4};" ::"r"(
                                     p.to_a + i * (Z::T / (BK / 8)) * BK * 2),
                                 "r"(va[i].x), "r"(va[i].y), "r"(va[i].z), "r"(va[i].w)
                                 : "memory");
#pragma unroll
                for (int i = 0; i < Z::NB; i++)
                    asm volatile("st.shared.v4.u32 [%0], {%1, %2, %3, %4};" ::"r"(
                                     p.to_b + i * (Z::T / (BN / 8)) * 128),
                                 "r"(vb[i].x), "r"(vb[i].y), "r"(vb[i].z), "r"(vb[i].w)
                                 : "memory");
            }
            asm volatile("fence.proxy.async.shared::cta;" ::: "memory");
            if (CLOCKS) t[3] = now();
            __syncthreads();
            if (CLOCKS) t[4] = now();
            if (PRODUCTS) {
                hopper::start_products();
                products<BM, BN, BK, WG>(acc, base, __shfl_sync(~0u, threadIdx.x / 128, 0));
                hopper::commit_products();
                hopper::wait_products<0>();
            }
            if (CLOCKS) {
                t[5] = now();
#pragma unroll
                for (int i = 0; i < 5; i++) at[i] += t[i + 1] - t[i];
            }
        }
    }
}

template <int S, int BM, int BN, int BK, int WG, bool LOADS, bool PRODUCTS, bool CLOCKS>
__global__ void __launch_bounds__(128 * WG) gemm(const __grid_constant__ work w) {
    extern __shared__ __align__(1024) unsigned char sh[];
    const uint32_t base = (hopper::address_of(sh) + 1023) & ~1023u;
    float acc[BM / 64 / WG][BN / 2];
    int at[5] = {0, 0, 0, 0, 0};
#pragma unroll
    for (int r = 0; r < BM / 64 / WG; r++)
#pragma unroll
        for (int i = 0; i < BN / 2; i++) acc[r][i] = 0.0f;
    if (w.spread > 0) {
        int unit;
        asm volatile("mov.u32 %0, %%smid;" : "=r"(unit));
        const long long until = clock64() + (unsigned)(unit * 2654435761u) % (unsigned)w.spread;
        while (clock64() < until) {
        }
    }
    if constexpr (S == 1)
        through_registers<BM, BN, BK, WG, LOADS, PRODUCTS, CLOCKS>(w, base, acc, at);
    else
        ring<S, BM, BN, BK, WG, LOADS, PRODUCTS, CLOCKS>(w, base, acc, at);
    float sum = 0;
#pragma unroll
    for (int r = 0; r < BM / 64 / WG; r++)
#pragma unroll
        for (int i = 0; i < BN / 2; i++) sum += acc[r][i];
    if (sum == 1.2345f) *w.sink = sum;
    if (CLOCKS && threadIdx.x == 0)
        for (int i = 0; i < 5; i++) atomicAdd(&w.parts[i], (unsigned)at[i]);
}

// Halves of random sign and size around one.
__global__ void fill(unsigned *words, size_t count) {
    for (size_t i = blockIdx.x * blockDim.x + threadIdx.x; i < count;
         i += (size_t)gridDim.x * blockDim.x) {
        unsigned x = (unsigned)i * 2654435761u + 12345u;
        x ^= x >> 16, x *= 0x85ebca6bu, x ^= x >> 13, x *= 0xc2b2ae35u, x ^= x >> 16;
        words[i] = (x & 0x8fff8fffu) | 0x30003000u;
    }
}

static char *A[2], *B[2]; // all the same, random
static float *SINK;
static unsigned *PARTS;

template <int S, int BM, int BN, int BK, int WG, bool LOADS, bool PRODUCTS, bool CLOCKS = false>
static void run(const char *name, int occupancy, bool cache, int random = 1, int spread = 0) {
    using Z = tile_of<BM, BN, BK, WG>;
    auto f = gemm<S, BM, BN, BK, WG, LOADS, PRODUCTS, CLOCKS>;
    const int bytes = S * Z::STAGE + 1024;
    const int shared = (228 << 10) / occupancy / 1024 * 1024 - 1024; // no more than that many fit
    if (bytes > shared || shared > 232448) {
        if (occupancy > 1 || bytes > 232448) return;
    }
    const int size = shared > 232448 ? 232448 : shared;
    CHECK(cudaFuncSetAttribute(f, cudaFuncAttributeMaxDynamicSharedMemorySize, size));
    int fit = 0;
    CHECK(cudaOccupancyMaxActiveBlocksPerMultiprocessor(&fit, f, 128 * WG, size));
    if (fit < occupancy) return;
    work w = {A[random], B[random], cache ? 0 : BK * 2, cache ? 0 : (long long)BK * N * 2,
              K / BK,    0,         spread * 3 / 2,     SINK,
              PARTS};
    float ms[2];
    unsigned parts[5];
    for (int i = 0; i < 2; i++) {
        const int each = i == 0 ? 2 : 6;
        w.tiles = UNITS * occupancy * each;
        if (w.tiles > M / BM * (N / BN)) return;
        CHECK(cudaMemset(PARTS, 0, sizeof parts));
        ms[i] =
            hopper::median_of(CLOCKS ? 1 : 5, [&] { f<<<UNITS * occupancy, 128 * WG, size>>>(w); });
        CHECK(cudaMemcpy(parts, PARTS, sizeof parts, cudaMemcpyDeviceToHost));
    }
    std::printf("%s,%d,%d,%d,%d,%d,%d,%s,%d,%d,%.1f,", name, BM, BN, BK, WG, S, occupancy,
                cache ? "cache" : "memory", random, spread, (ms[1] - ms[0]) * 1e6 / 4 / (K / BK));
    for (int i = 0; CLOCKS && i < 5; i++) // 3 launches of 6 tiles
        std::printf("%s%.0f", i ? " " : "", parts[i] * 1.0 / UNITS / occupancy / (18.0 * (K / BK)));
    std::printf("\n");
    std::fflush(stdout);
}

template <int S, int BM, int BN, int BK, int WG> static void stage() {
    for (int o = 1; o <= 4; o++)
        for (int cache = 0; cache < 2; cache++) {
            run<S, BM, BN, BK, WG, true, true>("both", o, cache);
            if constexpr (S <= 4) run<S, BM, BN, BK, WG, true, false>("loads", o, cache);
        }
}
template <int BM, int BN, int BK, int WG> static void tile() {
    for (int o = 1; o <= 4; o++) run<2, BM, BN, BK, WG, false, true>("products", o, true);
    stage<1, BM, BN, BK, WG>();
    stage<2, BM, BN, BK, WG>();
    stage<3, BM, BN, BK, WG>();
    stage<4, BM, BN, BK, WG>();
}
template <int S, int BM, int BN, int BK, int WG> static void details(int o) {
    run<S, BM, BN, BK, WG, true, true, true>("parts", o, false);
    run<S, BM, BN, BK, WG, true, true, true>("parts", o, true);
    run<S, BM, BN, BK, WG, true, true>("both", o, false, 0);
    run<S, BM, BN, BK, WG, true, true>("both", o, false, 1, 1000);
    run<S, BM, BN, BK, WG, true, true>("both", o, false, 1, 5000);
}

int main() {
    const size_t bytes = (size_t)N * K * 2;
    for (int i = 0; i < 2; i++) {
        CHECK(cudaMalloc(&A[i], bytes));
        CHECK(cudaMalloc(&B[i], bytes));
        CHECK(cudaMemset(A[i], 0x3c, bytes));
        CHECK(cudaMemset(B[i], 0x3c, bytes));
    }
    fill<<<1024, 256>>>(reinterpret_cast<unsigned *>(A[1]), bytes / 4);
    fill<<<1024, 256>>>(reinterpret_cast<unsigned *>(B[1]), bytes / 4);
    CHECK(cudaMalloc(&SINK, 4));
    CHECK(cudaMalloc(&PARTS, 64));
    std::printf("what,bm,bn,bk,warpgroups,stages,blocks,from,random,spread_ns,ns_a_step,parts\n");
    tile<128, 128, 64, 1>();
    tile<64, 128, 64, 1>();
    tile<128, 64, 64, 1>();
    tile<64, 64, 64, 1>();
    tile<128, 128, 32, 1>();
    tile<128, 256, 64, 2>();
    tile<256, 128, 64, 2>();
    tile<64, 256, 64, 1>();
    tile<256, 64, 64, 1>();
    details<4, 128, 128, 64, 1>(1);
    details<3, 128, 128, 64, 1>(2);
    details<2, 128, 128, 32, 1>(2);
    details<3, 64, 128, 64, 1>(3);
    details<3, 64, 64, 64, 1>(4);
    details<4, 256, 128, 64, 2>(1);
    details<1, 256, 128, 64, 2>(1);
    return 0;
}
