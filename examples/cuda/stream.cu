// SPDX-License-Identifier: Apache-2.0
//
// out = exp(in), streamed through shared memory at the places that spad emitted: ring depths 1
// to 6, each against a device-to-device copy measured in the same run. examples/cuda/run builds
// and runs it; docs/emit.md says how the headers are made.
//
// One block per multiprocessor takes every gridDim-th tile. A thread copies 16 bytes at a time
// into its own part of a slot (cp.async), commits one group per tile, waits until at most
// depth - 1 groups are pending, and reads back only what it has copied itself.
#include <cuda_runtime.h>

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <vector>

#include "ring_1.h"
#include "ring_2.h"
#include "ring_3.h"
#include "ring_4.h"
#include "ring_5.h"
#include "ring_6.h"

#define CHECK(call)                                                                        \
    do {                                                                                   \
        const cudaError_t status_ = (call);                                                \
        if (status_ != cudaSuccess) {                                                      \
            std::fprintf(stderr, "stream: %s: %s\n", #call, cudaGetErrorString(status_));  \
            std::exit(3);                                                                  \
        }                                                                                  \
    } while (0)

constexpr int THREADS = 512;
constexpr int VECTOR = 16; // bytes of one asynchronous copy
constexpr int RUNS = 20;

// ---- the kernel ---------------------------------------------------------------------------

__device__ __forceinline__ void copy_async(void *to, const void *from) {
    const unsigned address = static_cast<unsigned>(__cvta_generic_to_shared(to));
    asm volatile("cp.async.cg.shared.global.L2::256B [%0], [%1], 16;" ::"r"(address), "l"(from)
                 : "memory");
}

__device__ __forceinline__ void commit() {
    asm volatile("cp.async.commit_group;" ::: "memory");
}

template <int PENDING>
__device__ __forceinline__ void wait_for_all_but() {
    asm volatile("cp.async.wait_group %0;" ::"n"(PENDING) : "memory");
}

__device__ __forceinline__ float4 exp4(float4 v) {
    return make_float4(expf(v.x), expf(v.y), expf(v.z), expf(v.w));
}

// Places is one of the emitted tables, as constants.
template <typename Places>
__global__ void __launch_bounds__(THREADS) stream(const float4 *in, float4 *out, long long tiles) {
    extern __shared__ __align__(128) unsigned char shared[];
    constexpr int per_tile = Places::bytes / VECTOR;
    constexpr int per_thread = per_tile / THREADS;
    static_assert(per_thread * THREADS * VECTOR == Places::bytes, "threads divide a tile");

    const auto slot = [&](long long k) { return shared + Places::at(k) + threadIdx.x * VECTOR; };
    const auto start = [&](long long k) { // the k-th tile of this block, or an empty group
        const long long tile = blockIdx.x + k * gridDim.x;
        if (tile < tiles) {
            const float4 *from = in + tile * per_tile + threadIdx.x;
            for (int j = 0; j < per_thread; j++) {
                copy_async(slot(k) + j * THREADS * VECTOR, from + j * THREADS);
            }
        }
        commit();
    };

    for (int k = 0; k < Places::ring; k++) start(k);
    long long k = 0;
    for (long long tile = blockIdx.x; tile < tiles; tile += gridDim.x, k++) {
        wait_for_all_but<Places::ring - 1>();
        float4 v[per_thread];
#pragma unroll
        for (int j = 0; j < per_thread; j++) {
            v[j] = *reinterpret_cast<const float4 *>(slot(k) + j * THREADS * VECTOR);
        }
        float4 *to = out + tile * per_tile + threadIdx.x;
#pragma unroll
        for (int j = 0; j < per_thread; j++) to[j * THREADS] = exp4(v[j]);
        start(k + Places::ring);
    }
}

// The constants of an emitted header.
#define PLACES(name, PREFIX)                                                               \
    struct name {                                                                          \
        static constexpr int ring = PREFIX##_X_RING;                                       \
        static constexpr int bytes = PREFIX##_X_BYTES;                                     \
        static constexpr int total = PREFIX##_SHARED_TOTAL;                                \
        static __device__ __forceinline__ long long at(long long i) {                      \
            return name##_x_at(i);                                                         \
        }                                                                                  \
    }
PLACES(ring_1, RING_1);
PLACES(ring_2, RING_2);
PLACES(ring_3, RING_3);
PLACES(ring_4, RING_4);
PLACES(ring_5, RING_5);
PLACES(ring_6, RING_6);

// ---- measuring ---------------------------------------------------------------------------------

// The least milliseconds of RUNS calls.
template <typename Call>
static float best_of(Call call) {
    cudaEvent_t begin, end;
    CHECK(cudaEventCreate(&begin));
    CHECK(cudaEventCreate(&end));
    float best = 1e30f;
    for (int i = 0; i < RUNS + 2; i++) { // the first two warm up
        CHECK(cudaEventRecord(begin));
        call();
        CHECK(cudaEventRecord(end));
        CHECK(cudaEventSynchronize(end));
        float took;
        CHECK(cudaEventElapsedTime(&took, begin, end));
        if (i >= 2 && took < best) best = took;
    }
    CHECK(cudaEventDestroy(begin));
    CHECK(cudaEventDestroy(end));
    return best;
}

struct data {
    float4 *in;
    float4 *out;
    long long floats;
    std::vector<float> host;
    std::vector<float> back;
};

// How many results are further than 2 units in the last place from exp on the host. Every float of
// the input repeats with the length of the host's copy, so that is all there is to compare.
static long long wrong_results(data &d) {
    long long wrong = 0;
    const long long period = static_cast<long long>(d.host.size());
    for (long long at = 0; at < d.floats; at += period) {
        const long long count = std::min(period, d.floats - at);
        CHECK(cudaMemcpy(d.back.data(), reinterpret_cast<float *>(d.out) + at,
                         count * sizeof(float), cudaMemcpyDeviceToHost));
        for (long long i = 0; i < count; i++) {
            const float right = std::exp(d.host[i]);
            wrong += !(std::fabs(d.back[i] - right) <= 2.4e-7f * right);
        }
    }
    return wrong;
}

template <typename Places>
static bool run(data &d, int blocks, double copy_rate) {
    const long long tiles = d.floats * (long long)sizeof(float) / Places::bytes;
    CHECK(cudaFuncSetAttribute(stream<Places>, cudaFuncAttributeMaxDynamicSharedMemorySize,
                               Places::total));
    CHECK(cudaMemset(d.out, 0xFF, d.floats * sizeof(float)));
    const float ms =
        best_of([&] { stream<Places><<<blocks, THREADS, Places::total>>>(d.in, d.out, tiles); });
    CHECK(cudaGetLastError());
    const double rate = 2.0 * (double)d.floats * sizeof(float) / (ms * 1e6);
    const long long wrong = wrong_results(d);
    std::printf("%5d  %9d B  %9.3f ms  %8.0f GB/s  %6.1f %% of the copy  %s\n", Places::ring,
                Places::total, ms, rate, 100.0 * rate / copy_rate,
                wrong == 0 ? "right" : "WRONG");
    return wrong == 0;
}

int main(int argc, char **argv) {
    const long long mebibytes = argc > 1 ? std::atoll(argv[1]) : 1024;
    const int per_sm = argc > 2 ? std::atoi(argv[2]) : 1;
    if (mebibytes < 1 || mebibytes > (1 << 20) || per_sm < 1 || per_sm > 8) {
        std::fprintf(stderr, "usage: stream [MEBIBYTES [BLOCKS PER MULTIPROCESSOR]]\n");
        return 2;
    }
    cudaDeviceProp device;
    CHECK(cudaGetDeviceProperties(&device, 0));
    data d;
    d.floats = mebibytes * (1 << 20) / (long long)sizeof(float);
    const size_t bytes = d.floats * sizeof(float);
    CHECK(cudaMalloc(&d.in, bytes));
    CHECK(cudaMalloc(&d.out, bytes));
    const long long period = std::min<long long>(d.floats, 1 << 22);
    d.host.resize(period);
    d.back.resize(period);
    for (long long i = 0; i < period; i++) d.host[i] = -8.0f + 16.0f * (float)((i * 40503) % 65536) / 65536.0f;
    for (long long at = 0; at < d.floats; at += period) {
        const long long count = std::min(period, d.floats - at);
        CHECK(cudaMemcpy(reinterpret_cast<float *>(d.in) + at, d.host.data(),
                         count * sizeof(float), cudaMemcpyHostToDevice));
    }

    const float copy_ms =
        best_of([&] { CHECK(cudaMemcpyAsync(d.out, d.in, bytes, cudaMemcpyDeviceToDevice)); });
    const double copy_rate = 2.0 * (double)bytes / (copy_ms * 1e6);
    const int blocks = device.multiProcessorCount * per_sm;
    std::printf("%s, %lld MiB in and out, %d blocks of %d threads, best of %d\n", device.name,
                mebibytes, blocks, THREADS, RUNS);
    std::printf(" copy               %9.3f ms  %8.0f GB/s\n", copy_ms, copy_rate);
    std::printf("depth    shared\n");
    bool right = run<ring_1>(d, blocks, copy_rate);
    right = run<ring_2>(d, blocks, copy_rate) && right;
    right = run<ring_3>(d, blocks, copy_rate) && right;
    right = run<ring_4>(d, blocks, copy_rate) && right;
    right = run<ring_5>(d, blocks, copy_rate) && right;
    right = run<ring_6>(d, blocks, copy_rate) && right;
    CHECK(cudaFree(d.in));
    CHECK(cudaFree(d.out));
    return right ? 0 : 1;
}
