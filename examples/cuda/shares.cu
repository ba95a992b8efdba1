// SPDX-License-Identifier: Apache-2.0
//
// What the warps of an SM, and the SMs of a chip, share: the port of shared memory, which products
// read and copies write; the cache, from which SMs read the same bytes or others; and the way of
// results to memory.
//
// Lines `port`: warpgroups that only multiply (64 x n x 16, B their own or the same), beside four
// warps that only write to shared memory: by stores of 16 bytes, cp.async or bulk copies from the
// cache, 16 KiB at a time with a pause after each. `near` SMs in a row copy the same bytes, of
// which the odd ones begin `skew` cycles later. Columns: cycles for a product of one of the
// warpgroups, bytes that the SM writes a cycle. Lines `results`: `units` SMs that store tiles of
// 128 x 128 halves and do nothing else, in pieces of 4 or 16 bytes: nanoseconds for a tile. Lines
// `waves`: blocks that multiply for so many steps of 64 and then store their tile (piece 0:
// nothing), four waves of `blocks` on each SM: nanoseconds for a tile.
//
//     nvcc -O3 -std=c++17 -gencode=arch=compute_90a,code=sm_90a -Icli/cuda
//     examples/cuda/shares.cu -lcuda -o shares
#include <cstdio>
#include <cstdlib>

#include "by_threads.h"
#include "hopper.h"

static const int UNITS = 132, PART = 16 << 10, SPAN = 8; // parts that an SM copies again and again
enum { NOTHING, STORES, COPIES, BULK };

struct port_work {
    const char *from;
    int products, parts, pause, near, skew; // parts: of warps that write where none multiply
    unsigned long long *out;                // cycles of products, bytes written, their cycles
    float *sink;
};

__device__ __forceinline__ void wait_until(int start, int cycles) {
    while ((int)clock() - start < cycles) {
    }
}

// Four warps write parts until the others are done, or so many of them. Returns how many.
template <int MODE>
__device__ int write_parts(const port_work &w, uint32_t to, uint32_t full, volatile int *done,
                           int unit) {
    constexpr int DEPTH = 4; // parts under way
    const int t = threadIdx.x % 128;
    if (MODE == NOTHING || (MODE == BULK && t > 0)) return 0;
    const char *from = w.from + (size_t)(unit / w.near) * SPAN * PART;
    int made = 0;
    for (;; made++) {
        if (w.parts > 0 ? made >= w.parts : *done != 0) break;
        const int start = clock();
        const uint32_t place = to + made % DEPTH * PART;
        const char *source = from + made % SPAN * PART;
        if (MODE == STORES) {
#pragma unroll
            for (int i = 0; i < 8; i++)
                asm volatile(
                    "st.shared.v4.u32 [%0], {%1, %1, %1, %1};" ::"r"(place + i * 2048 + t * 16),
                    "r"(made)
                    : "memory");
        } else if (MODE == COPIES) {
#pragma unroll
            for (int i = 0; i < 8; i++)
                copy16(place + i * 2048 + t * 16, source + i * 2048 + t * 16);
            commit();
            wait_copies<DEPTH - 1>();
        } else if (MODE == BULK) {
            if (made >= DEPTH) hopper::wait(full + made % DEPTH * 8, (made / DEPTH - 1) & 1);
            hopper::arrive_expect(full + made % DEPTH * 8, PART);
            hopper::load_bytes(place, source, PART, full + made % DEPTH * 8);
        }
        if (w.pause > 0) wait_until(start, w.pause);
    }
    if (MODE == COPIES) wait_copies<0>();
    if (MODE == BULK)
        for (int i = made > DEPTH ? made - DEPTH : 0; i < made; i++)
            hopper::wait(full + i % DEPTH * 8, (i / DEPTH) & 1);
    return made;
}

template <int N, int WG, bool OWN, int MODE>
__global__ void __launch_bounds__(128 * (WG + 1)) port(const __grid_constant__ port_work w) {
    extern __shared__ __align__(1024) unsigned char sh[];
    __shared__ __align__(8) unsigned long long full[4];
    __shared__ volatile int done;
    const uint32_t base = (hopper::address_of(sh) + 1023) & ~1023u;
    const int group = __shfl_sync(~0u, threadIdx.x / 128, 0);
    constexpr int TILE = N / 64 * 8192;
    const uint32_t tiles = base + WG * 8192, to = tiles + (OWN ? WG : 1) * TILE;
    int unit;
    asm volatile("mov.u32 %0, %%smid;" : "=r"(unit));
    if (threadIdx.x == 0) {
        done = 0;
        for (int i = 0; i < 4; i++) hopper::init(hopper::address_of(&full[i]), 1);
        hopper::fence_init();
    }
    __syncthreads();
    if (w.skew > 0 && unit % 2 == 1) wait_until(clock(), w.skew);
    const long long start = clock64();
    if (group == WG) {
        const int made = write_parts<MODE>(w, to, hopper::address_of(full), &done, unit);
        if (threadIdx.x % 128 == 0) {
            atomicAdd(&w.out[1], (unsigned long long)made * PART);
            atomicAdd(&w.out[2], (unsigned long long)(clock64() - start));
        }
        return;
    }
    float acc[N / 2];
#pragma unroll
    for (int i = 0; i < N / 2; i++) acc[i] = 0.0f;
    const uint64_t a = hopper::descriptor(base + group * 8192),
                   b = hopper::descriptor(tiles + (OWN ? group * TILE : 0), 1024, 8192);
    for (int i = 0; i < w.products; i += 8) {
        hopper::start_products();
#pragma unroll
        for (int kk = 0; kk < 8; kk++) product<N>(acc, a + 2 * (kk % 4), b + 128 * (kk % 4));
        hopper::commit_products();
        hopper::wait_products<1>();
    }
    hopper::wait_products<0>();
    if (threadIdx.x % 128 == 0) {
        done = 1;
        atomicAdd(&w.out[0], (unsigned long long)(clock64() - start));
    }
    float sum = 0;
#pragma unroll
    for (int i = 0; i < N / 2; i++) sum += acc[i];
    if (sum == 1.2345f) *w.sink = sum;
}

static char *FROM;
static float *SINK;
static unsigned long long *OUT;

static const char *const NAMES[] = {"nothing", "stores", "copies", "bulk"};

template <int N, int WG, bool OWN, int MODE>
static void run_port(int pause, int near, int skew, int units = UNITS) {
    auto f = port<N, WG, OWN, MODE>;
    const int bytes = WG * 8192 + (OWN ? WG : 1) * (N / 64 * 8192) + 4 * PART + 1024;
    const int shared = bytes < (116 << 10) ? 116 << 10 : bytes; // one block on an SM
    CHECK(cudaFuncSetAttribute(f, cudaFuncAttributeMaxDynamicSharedMemorySize, shared));
    const int many = 8192 * 64 / N;
    const port_work w = {FROM, WG > 0 ? many : 0, WG > 0 ? 0 : 512, pause, near, skew, OUT, SINK};
    unsigned long long out[3];
    for (int i = 0; i < 2; i++) {
        CHECK(cudaMemset(OUT, 0, sizeof out));
        f<<<units, 128 * (WG + 1), shared>>>(w);
        CHECK(cudaDeviceSynchronize());
    }
    CHECK(cudaMemcpy(out, OUT, sizeof out, cudaMemcpyDeviceToHost));
    std::printf("port,%d,%d,%d,%s,%d,%d,%d,%d,%.2f,%.2f\n", N, WG, OWN ? 1 : 0, NAMES[MODE], pause,
                near, skew, units, WG > 0 ? (double)out[0] / units / WG / many : 0.0,
                out[2] > 0 ? (double)out[1] / out[2] : 0.0);
    std::fflush(stdout);
}

template <int N, int WG, bool OWN> static void ports() {
    run_port<N, WG, OWN, NOTHING>(0, 1, 0);
    for (int pause = 0; pause <= 1024; pause = pause == 0 ? 128 : pause * 2) {
        run_port<N, WG, OWN, STORES>(pause, 1, 0);
        run_port<N, WG, OWN, COPIES>(pause, 1, 0);
        run_port<N, WG, OWN, BULK>(pause, 1, 0);
    }
}

// Copies alone: who reads the same bytes, and how many SMs copy.
template <int MODE> static void sharing() {
    for (int near = 1; near <= 16; near *= 2)
        for (int skew = 0; skew <= 4000; skew = skew == 0 ? 250 : skew * 4)
            if (near > 1 || skew == 0) run_port<64, 0, false, MODE>(0, near, skew);
    run_port<64, 0, false, MODE>(0, UNITS, 0);
    for (int units = 1; units < UNITS; units = units * 2 + 1)
        run_port<64, 0, false, MODE>(0, 1, 0, units);
}

// ---- results ---------------------------------------------------------------------------------

struct result_work {
    char *c;
    int steps, times, columns;
    float *sink;
};

template <int PIECE>
__device__ __forceinline__ void store_tile(char *c, int stride, const float (&acc)[2][64]) {
    const int warp = threadIdx.x / 32, lane = threadIdx.x % 32;
    if (PIECE == 4) { // as products leave them
#pragma unroll
        for (int r = 0; r < 2; r++)
#pragma unroll
            for (int j = 0; j < 64; j += 2) {
                const int row = r * 64 + warp * 16 + lane / 4 + (j / 2 % 2) * 8;
                const int column = j / 4 * 8 + lane % 4 * 2;
                unsigned pair;
                asm volatile("cvt.rn.f16x2.f32 %0, %1, %2;"
                             : "=r"(pair)
                             : "f"(acc[r][j + 1]), "f"(acc[r][j]));
                *reinterpret_cast<unsigned *>(c + (size_t)row * stride + column * 2) = pair;
            }
    }
    if (PIECE == 16) { // rows of 256 bytes by 16 threads
#pragma unroll
        for (int i = 0; i < 16; i++) {
            const int row = i * 8 + threadIdx.x / 16;
            unsigned pair;
            asm volatile("cvt.rn.f16x2.f32 %0, %1, %2;"
                         : "=r"(pair)
                         : "f"(acc[i / 8][i % 8]), "f"(acc[i / 8][i % 8 + 8]));
            *reinterpret_cast<uint4 *>(c + (size_t)row * stride + threadIdx.x % 16 * 16) =
                make_uint4(pair, pair, pair, pair);
        }
    }
}

template <int PIECE>
__global__ void __launch_bounds__(128) results(const __grid_constant__ result_work w) {
    extern __shared__ __align__(1024) unsigned char sh[];
    const uint32_t base = (hopper::address_of(sh) + 1023) & ~1023u;
    float acc[2][64];
#pragma unroll
    for (int r = 0; r < 2; r++)
#pragma unroll
        for (int i = 0; i < 64; i++) acc[r][i] = threadIdx.x + i;
    for (int k = 0; k < w.steps; k++) {
        hopper::start_products();
        products<128, 128, 64, 1>(acc, base, 0);
        hopper::commit_products();
        hopper::wait_products<1>();
    }
    hopper::wait_products<0>();
    for (int i = 0; i < w.times; i++) {
        const int tile = blockIdx.x + i * gridDim.x, across = w.columns / 128;
        store_tile<PIECE>(
            w.c + ((size_t)(tile / across % 64) * 128 * w.columns + tile % across * 128) * 2,
            w.columns * 2, acc);
    }
    float sum = 0;
#pragma unroll
    for (int i = 0; i < 64; i++) sum += acc[0][i] + acc[1][i];
    if (sum == 1.2345f) *w.sink = sum;
}

template <int PIECE> static float run_results(int grid, int occupancy, int steps, int times) {
    const int shared = (228 << 10) / occupancy / 1024 * 1024 - 2048;
    CHECK(
        cudaFuncSetAttribute(results<PIECE>, cudaFuncAttributeMaxDynamicSharedMemorySize, shared));
    const result_work w = {FROM, steps, times, 4096, SINK};
    const float ms = hopper::median_of(5, [&] { results<PIECE><<<grid, 128, shared>>>(w); });
    CHECK(cudaDeviceSynchronize());
    return ms;
}

template <int PIECE> static void stored() {
    for (int units = 1; units <= UNITS; units = units == 64 ? 99 : units == 99 ? 132 : units * 2) {
        const float few = run_results<PIECE>(units, 1, 0, 4),
                    many = run_results<PIECE>(units, 1, 0, 20);
        std::printf("results,%d,%d,1,0,%.1f\n", PIECE, units, (many - few) * 1e6 / 16);
    }
    for (int blocks = 1; blocks <= 2; blocks++)
        for (int steps = 4; steps <= 128; steps *= 2) {
            const float few = run_results<PIECE>(UNITS * blocks, blocks, steps, PIECE > 0),
                        many = run_results<PIECE>(4 * UNITS * blocks, blocks, steps, PIECE > 0);
            std::printf("waves,%d,%d,%d,%d,%.1f\n", PIECE, UNITS, blocks, steps,
                        (many - few) * 1e6 / 3 / blocks);
        }
    std::fflush(stdout);
}

int main() {
    const size_t bytes = (size_t)128 << 20;
    CHECK(cudaMalloc(&FROM, bytes));
    CHECK(cudaMemset(FROM, 0, bytes));
    CHECK(cudaMalloc(&SINK, 4));
    CHECK(cudaMalloc(&OUT, 3 * sizeof *OUT));
    std::printf("port,n,warpgroups,own,beside,pause,near,skew,units,cycles,bytes_a_cycle\n");
    ports<64, 1, false>();
    ports<64, 2, false>();
    ports<64, 2, true>();
    ports<128, 1, false>();
    ports<128, 2, false>();
    ports<128, 2, true>();
    ports<256, 1, false>();
    ports<256, 2, false>();
    run_port<64, 0, false, STORES>(0, 1, 0);
    sharing<COPIES>();
    sharing<BULK>();
    std::printf("results,piece,units,blocks,steps,ns_a_tile\n");
    stored<0>();
    stored<4>();
    stored<16>();
    return 0;
}
