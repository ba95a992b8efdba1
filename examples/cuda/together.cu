// SPDX-License-Identifier: Apache-2.0
//
// Blocks of an SM that copy by cp.async and multiply by wgmma, side by side: what a step of a GEMM
// takes by tile, stages and blocks of an SM, in the two orders in which compilers write it; with
// blocks that begin later than the others, and with blocks that only copy beside blocks that only
// multiply. No division in the loop, no results stored.
//
// A line: what,order,fence,bm,bn,bk,warpgroups,stages,blocks,delay_ns,from,ns_a_step,note
// order 0: copies before products, all products waited for (TileLang); 1: products, then copies,
// and the products of the step before are waited for (Triton). ns_a_step is of all blocks of the SM
// together: (time - 6 us) / steps of a block. Lines `parts` have cycles of the parts of a step of
// the first warp: barrier, copies, their wait, barrier, fence, products; in order 1 wait, barrier,
// fence, products, barrier, copies. fence 1: fence.proxy.async, 2: fence.proxy.async.shared::cta.
//
//     nvcc -O3 -std=c++17 -gencode=arch=compute_90a,code=sm_90a -Icli/cuda
//     examples/cuda/together.cu -lcuda -o together
#include <cstdio>
#include <cstdlib>

#include "by_threads.h"
#include "hopper.h"

static const int UNITS = 132;

template <int F> __device__ __forceinline__ void fence() {
    if (F == 1) asm volatile("fence.proxy.async;" ::: "memory");
    if (F == 2) asm volatile("fence.proxy.async.shared::cta;" ::: "memory");
}
__device__ __forceinline__ int now() {
    int t;
    asm volatile("mov.u32 %0, %%clock;" : "=r"(t)::"memory");
    return t;
}

struct work {
    const char *a, *b;
    long long step_a, step_b; // bytes from a step to the next
    int m, n, k, steps, tiles, delay;
    int *slots; // of an SM
    float *sink;
    unsigned *parts; // [blocks of an SM][8]
};

template <int S, int BM, int BN, int BK, int WG, int ORDER, int F, bool LOADS, bool PRODUCTS,
          bool CLOCKS>
__device__ __forceinline__ void loop(const work &w, uint32_t base, int slot) {
    using Z = tile_of<BM, BN, BK, WG>;
    constexpr int T = Z::T, ACROSS = BK / 8, BACROSS = BN / 8;
    const int t = threadIdx.x;
    // places in shared memory of this thread's pieces, swizzled
    const int ra = t / ACROSS, ca = t % ACROSS, kb = t / BACROSS, cb = t % BACROSS;
    const uint32_t to_a = base + ra * BK * 2 + ((ca ^ (BK == 64 ? ra % 8 : ra / 2 % 4)) * 16);
    const uint32_t to_b =
        base + BM * BK * 2 + cb / 8 * (BK * 128) + kb * 128 + ((cb % 8 ^ kb % 8) * 16);
    float acc[Z::R][BN / 2];
#pragma unroll
    for (int r = 0; r < Z::R; r++)
#pragma unroll
        for (int i = 0; i < BN / 2; i++) acc[r][i] = 0.0f;
    int at[6] = {0, 0, 0, 0, 0, 0};
    for (int tile = blockIdx.x; tile < w.tiles; tile += gridDim.x) {
        const int width = 8 * (w.n / BN), first = tile / width * 8, size = min(w.m / BM - first, 8);
        const int row = first + tile % width % size, col = tile % width / size;
        const char *a = w.a + (size_t)(row * BM + ra) * w.k * 2 + ca * 16;
        const char *b = w.b + (size_t)kb * w.n * 2 + col * BN * 2 + cb * 16;
        auto load = [&](int s) {
            if (LOADS) {
#pragma unroll
                for (int i = 0; i < Z::NA; i++)
                    copy16(to_a + s * Z::STAGE + i * (T / ACROSS) * BK * 2,
                           a + (size_t)i * (T / ACROSS) * w.k * 2);
#pragma unroll
                for (int i = 0; i < Z::NB; i++)
                    copy16(to_b + s * Z::STAGE + i * (T / BACROSS) * 128,
                           b + (size_t)i * (T / BACROSS) * w.n * 2);
                a += w.step_a, b += w.step_b;
            }
            commit();
        };
#pragma unroll
        for (int s = 0; s < S - 1; s++) load(s);
        int from = 0, to = S - 1;
        for (int kk = 0; kk < w.steps; kk++) {
            int t0, t1, t2, t3, t4, t5, t6;
            if (CLOCKS) t0 = now();
            if (ORDER == 0) {
                __syncthreads();
                if (CLOCKS) t1 = now();
                if (kk + S - 1 < w.steps)
                    load(to);
                else
                    commit();
                if (CLOCKS) t2 = now();
                wait_copies<S - 1>();
                if (CLOCKS) t3 = now();
                __syncthreads();
                if (CLOCKS) t4 = now();
                fence<F>();
                if (CLOCKS) t5 = now();
                if (PRODUCTS) {
                    hopper::start_products();
                    products<BM, BN, BK, WG>(acc, base + from * Z::STAGE, t / 128);
                    hopper::commit_products();
                    hopper::wait_products<0>();
                }
            } else {
                wait_copies<S - 2>();
                if (CLOCKS) t1 = now();
                __syncthreads();
                if (CLOCKS) t2 = now();
                fence<F>();
                if (CLOCKS) t3 = now();
                if (PRODUCTS) {
                    hopper::start_products();
                    products<BM, BN, BK, WG>(acc, base + from * Z::STAGE, t / 128);
                    hopper::commit_products();
                    hopper::wait_products<1>();
                }
                if (CLOCKS) t4 = now();
                __syncthreads();
                if (CLOCKS) t5 = now();
                if (kk + S - 1 < w.steps)
                    load(to);
                else
                    commit();
            }
            if (CLOCKS) {
                t6 = now();
                at[0] += t1 - t0, at[1] += t2 - t1, at[2] += t3 - t2, at[3] += t4 - t3,
                    at[4] += t5 - t4, at[5] += t6 - t5;
            }
            from = from + 1 == S ? 0 : from + 1, to = to + 1 == S ? 0 : to + 1;
        }
        if (PRODUCTS) hopper::wait_products<0>();
        wait_copies<0>();
        __syncthreads();
    }
    float sum = 0;
#pragma unroll
    for (int r = 0; r < Z::R; r++)
#pragma unroll
        for (int i = 0; i < BN / 2; i++) sum += acc[r][i];
    if (sum == 1.2345f) *w.sink = sum;
    if (CLOCKS && t == 0)
        for (int i = 0; i < 6; i++) atomicAdd(&w.parts[slot * 8 + i], (unsigned)at[i]);
}

// PAIR 0: all blocks do the same. 1: the blocks of even slots of an SM only multiply, those of odd
// ones only copy.
template <int S, int BM, int BN, int BK, int WG, int ORDER, int F, bool LOADS, bool PRODUCTS,
          int PAIR, bool CLOCKS>
__global__ void __launch_bounds__(128 * WG) both(const __grid_constant__ work w) {
    extern __shared__ __align__(1024) unsigned char sh[];
    __shared__ int own;
    int unit, slot;
    asm volatile("mov.u32 %0, %%smid;" : "=r"(unit));
    if (threadIdx.x == 0) own = atomicAdd(&w.slots[unit], 1);
    __syncthreads();
    slot = own % 8;
    __syncthreads();
    const uint32_t base = (hopper::address_of(sh) + 1023) & ~1023u;
    if (w.delay > 0) {
        const long long until = clock64() + (long long)w.delay * slot;
        while (clock64() < until) {
        }
    }
    if (PAIR == 0) {
        loop<S, BM, BN, BK, WG, ORDER, F, LOADS, PRODUCTS, CLOCKS>(w, base, slot);
        return;
    }
    const long long begin = clock64();
    if (slot % 2 == 0)
        loop<S, BM, BN, BK, WG, ORDER, F, false, true, false>(w, base, slot);
    else
        loop<S, BM, BN, BK, WG, ORDER, F, true, false, false>(w, base, slot);
    if (threadIdx.x == 0) atomicAdd(&w.parts[slot * 8], (unsigned)((clock64() - begin) / 128));
}

static char *A, *B;
static float *SINK;
static int *SLOTS;
static unsigned *PARTS;

template <int S, int BM, int BN, int BK, int WG, int ORDER, int F, bool LOADS, bool PRODUCTS,
          int PAIR, bool CLOCKS>
static void run(const char *name, int occupancy, int delay_ns, bool cache) {
    auto f = both<S, BM, BN, BK, WG, ORDER, F, LOADS, PRODUCTS, PAIR, CLOCKS>;
    const int M = 8192, N = 4096, K = 4096;
    const int bytes = S * tile_of<BM, BN, BK, WG>::STAGE + 1024;
    const int shared =
        (228 << 10) / occupancy / 1024 * 1024 - 2048; // no more than that many blocks fit
    if (bytes > shared) return;
    CHECK(cudaFuncSetAttribute(f, cudaFuncAttributeMaxDynamicSharedMemorySize, shared));
    int fit = 0;
    cudaOccupancyMaxActiveBlocksPerMultiprocessor(&fit, f, 128 * WG, shared);
    if (fit < occupancy) return;
    const int per = 2;
    work w = {A,
              B,
              cache ? 0 : BK * 2,
              cache ? 0 : (long long)BK * N * 2,
              M,
              N,
              K,
              K / BK,
              UNITS * occupancy * per,
              (int)(delay_ns * 1.5),
              SLOTS,
              SINK,
              PARTS};
    if (w.tiles > M / BM * (N / BN)) return;
    CHECK(cudaMemset(PARTS, 0, 64 * sizeof(unsigned)));
    float took[9];
    cudaEvent_t begin, end;
    CHECK(cudaEventCreate(&begin));
    CHECK(cudaEventCreate(&end));
    const int runs = CLOCKS || PAIR ? 1 : 5;
    for (int i = -1; i < runs; i++) {
        if (runs == 1) CHECK(cudaMemset(PARTS, 0, 64 * sizeof(unsigned)));
        CHECK(cudaMemset(SLOTS, 0, 256 * sizeof(int)));
        CHECK(cudaEventRecord(begin));
        f<<<UNITS * occupancy, 128 * WG, shared>>>(w);
        CHECK(cudaEventRecord(end));
        CHECK(cudaEventSynchronize(end));
        float ms;
        CHECK(cudaEventElapsedTime(&ms, begin, end));
        int at = i;
        for (; at > 0 && took[at - 1] > ms; at--) took[at] = took[at - 1];
        if (i >= 0) took[at] = ms;
    }
    std::printf("%s,%d,%d,%d,%d,%d,%d,%d,%d,%d,%s,%.1f,", name, ORDER, F, BM, BN, BK, WG, S,
                occupancy, delay_ns, cache ? "cache" : "memory",
                (took[runs / 2] * 1e6 - 6000) / per / w.steps);
    if (CLOCKS || PAIR) { // cycles of a step, by slot of the SM, mean of the units
        unsigned parts[64];
        CHECK(cudaMemcpy(parts, PARTS, sizeof parts, cudaMemcpyDeviceToHost));
        for (int s = 0; s < occupancy; s++) {
            for (int i = 0; i < (PAIR ? 1 : 6); i++)
                std::printf("%s%.0f",
                            i   ? " "
                            : s ? " | "
                                : "",
                            parts[s * 8 + i] * 1.0 / UNITS / (PAIR ? 1 : per * w.steps));
        }
    }
    std::printf("\n");
    std::fflush(stdout);
    CHECK(cudaEventDestroy(begin));
    CHECK(cudaEventDestroy(end));
}

template <int S, int BM, int BN, int BK, int WG, int ORDER, int F> static void kinds() {
    for (int o = 1; o <= 4; o++) {
        for (int cache = 0; cache < 2; cache++) {
            run<S, BM, BN, BK, WG, ORDER, F, true, true, 0, false>("both", o, 0, cache);
            run<S, BM, BN, BK, WG, ORDER, F, true, false, 0, false>("loads", o, 0, cache);
        }
        run<S, BM, BN, BK, WG, ORDER, F, false, true, 0, false>("products", o, 0, true);
        run<S, BM, BN, BK, WG, ORDER, F, true, true, 0, true>("parts", o, 0, false);
    }
}
template <int S, int BM, int BN, int BK, int WG, int ORDER, int F> static void delays(int o) {
    for (int d = 0; d <= 700; d += 100)
        run<S, BM, BN, BK, WG, ORDER, F, true, true, 0, false>("delayed", o, d, false);
    for (int d = 0; d <= 700; d += 175)
        run<S, BM, BN, BK, WG, ORDER, F, false, true, 0, false>("delayed_products", o, d, true);
}
template <int S, int BM, int BN, int BK, int WG, int ORDER, int F> static void pairs() {
    for (int o = 2; o <= 4; o += 2)
        for (int cache = 0; cache < 2; cache++)
            run<S, BM, BN, BK, WG, ORDER, F, true, true, 1, false>("pair", o, 0, cache);
}

int main() {
    CHECK(cudaMalloc(&A, (size_t)8192 * 4096 * 2));
    CHECK(cudaMalloc(&B, (size_t)4096 * 4096 * 2));
    CHECK(cudaMalloc(&SINK, 4));
    CHECK(cudaMalloc(&SLOTS, 256 * sizeof(int)));
    CHECK(cudaMalloc(&PARTS, 64 * sizeof(unsigned)));
    CHECK(cudaMemset(A, 0x3c, (size_t)8192 * 4096 * 2));
    CHECK(cudaMemset(B, 0x3c, (size_t)4096 * 4096 * 2));
    std::printf(
        "what,order,fence,bm,bn,bk,warpgroups,stages,blocks,delay_ns,from,ns_a_step,note\n");
    kinds<2, 128, 128, 64, 1, 0, 1>();
    kinds<3, 128, 128, 64, 1, 0, 1>();
    kinds<4, 128, 128, 64, 1, 0, 1>();
    kinds<3, 128, 128, 64, 1, 0, 0>();
    kinds<3, 128, 128, 64, 1, 0, 2>();
    kinds<3, 128, 128, 64, 1, 1, 0>();
    kinds<4, 128, 128, 64, 1, 1, 0>();
    kinds<2, 64, 128, 64, 1, 0, 1>();
    kinds<3, 64, 128, 64, 1, 0, 1>();
    kinds<4, 64, 128, 64, 1, 0, 1>();
    kinds<3, 64, 128, 64, 1, 1, 0>();
    kinds<4, 64, 128, 64, 1, 1, 0>();
    kinds<2, 128, 128, 32, 1, 0, 1>();
    kinds<3, 128, 128, 32, 1, 0, 1>();
    kinds<4, 128, 128, 32, 1, 0, 1>();
    kinds<3, 128, 128, 32, 1, 1, 0>();
    kinds<3, 128, 256, 64, 2, 0, 1>();
    kinds<3, 128, 256, 64, 2, 1, 0>();
    kinds<1, 128, 128, 64, 1, 0, 2>();
    kinds<2, 128, 128, 64, 1, 0, 2>();
    kinds<1, 64, 128, 64, 1, 0, 2>();
    kinds<2, 64, 128, 64, 1, 0, 2>();
    kinds<3, 64, 128, 64, 1, 0, 2>();
    kinds<1, 64, 64, 64, 1, 0, 2>();
    kinds<2, 64, 64, 64, 1, 0, 2>();
    kinds<1, 128, 128, 32, 1, 0, 2>();
    kinds<2, 128, 128, 32, 1, 0, 2>();
    kinds<3, 128, 128, 32, 1, 0, 2>();
    kinds<1, 64, 128, 32, 1, 0, 2>();
    kinds<2, 64, 128, 32, 1, 0, 2>();
    kinds<1, 128, 256, 64, 2, 0, 2>();
    kinds<2, 128, 256, 64, 2, 0, 2>();
    delays<3, 128, 128, 64, 1, 0, 1>(2);
    delays<2, 128, 128, 64, 1, 0, 1>(3);
    delays<3, 64, 128, 64, 1, 0, 1>(3);
    delays<3, 128, 128, 64, 1, 1, 0>(2);
    pairs<3, 128, 128, 64, 1, 0, 1>();
    pairs<2, 64, 128, 64, 1, 0, 1>();
    return 0;
}
