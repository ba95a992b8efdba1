// SPDX-License-Identifier: Apache-2.0
// Flags, locks and counts in shared memory that order accesses, and kernels where one word of that is missing.
//     nvcc -ptx -lineinfo -arch=sm_80 flags.cu -o flags.ptx

#include <cuda/atomic>

using cuda::memory_order_acq_rel;
using cuda::memory_order_acquire;
using cuda::memory_order_relaxed;
using cuda::memory_order_release;
typedef cuda::atomic_ref<int, cuda::thread_scope_block> shared_int;

// Warp 0 hands 32 values to warp 1.
template <cuda::memory_order SET, cuda::memory_order SEE, bool WAITS> __device__ void hand_over(const int *in, int *out) {
    __shared__ int data[32];
    __shared__ int flag;
    const int lane = threadIdx.x % 32;
    if (threadIdx.x == 0) flag = 0;
    __syncthreads();
    if (threadIdx.x < 32) {
        data[lane] = in[lane];
        __syncwarp();
        if (lane == 0) shared_int(flag).store(1, SET);
    } else {
        if (WAITS) {
            while (shared_int(flag).load(SEE) == 0) {}
        } else {
            out[32] = shared_int(flag).load(SEE);
        }
        out[lane] = data[lane];
    }
}

extern "C" __global__ void flag(const int *in, int *out) { hand_over<memory_order_release, memory_order_acquire, true>(in, out); }
// Nothing makes the stores visible before the flag.
extern "C" __global__ void flag_relaxed(const int *in, int *out) { hand_over<memory_order_relaxed, memory_order_relaxed, true>(in, out); }
// The flag is read, and nobody waits for it.
extern "C" __global__ void flag_not_awaited(const int *in, int *out) { hand_over<memory_order_release, memory_order_acquire, false>(in, out); }

// A volatile flag with fences, as before C++11.
template <bool FENCED> __device__ void hand_over_volatile(const int *in, int *out) {
    __shared__ int data[32];
    __shared__ volatile int flag;
    const int lane = threadIdx.x % 32;
    if (threadIdx.x == 0) flag = 0;
    __syncthreads();
    if (threadIdx.x < 32) {
        data[lane] = in[lane];
        if (FENCED) __threadfence_block();
        __syncwarp();
        if (lane == 0) flag = 1;
    } else {
        while (flag == 0) {}
        if (FENCED) __threadfence_block();
        out[lane] = data[lane];
    }
}

extern "C" __global__ void flag_volatile(const int *in, int *out) { hand_over_volatile<true>(in, out); }
extern "C" __global__ void flag_unfenced(const int *in, int *out) { hand_over_volatile<false>(in, out); }

// Each warp adds to a sum under a lock.
template <bool LOCKED> __device__ void add_under_lock(const int *in, int *out) {
    __shared__ int lock, sum;
    if (threadIdx.x == 0) lock = sum = 0;
    __syncthreads();
    if (threadIdx.x % 32 == 0) {
        while (LOCKED && atomicCAS(&lock, 0, 1) != 0) {}
        __threadfence_block();
        sum += in[threadIdx.x / 32];
        __threadfence_block();
        if (LOCKED) atomicExch(&lock, 0);
    }
    __syncthreads();
    if (threadIdx.x == 0) *out = sum;
}

extern "C" __global__ void lock(const int *in, int *out) { add_under_lock<true>(in, out); }
extern "C" __global__ void lock_missing(const int *in, int *out) { add_under_lock<false>(in, out); }

// The last warp that arrives sums what all have written.
template <cuda::memory_order ORDER, bool ASKS> __device__ void sum_by_last(const int *in, int *out) {
    __shared__ int part[32];
    __shared__ int arrived;
    const int warps = blockDim.x / 32, warp = threadIdx.x / 32;
    if (threadIdx.x == 0) arrived = 0;
    __syncthreads();
    if (threadIdx.x % 32 != 0) return;
    part[warp] = in[warp];
    const int before = shared_int(arrived).fetch_add(1, ORDER);
    if (ASKS ? before != warps - 1 : warp != warps - 1) return;
    int sum = 0;
    for (int w = 0; w < warps; w++) sum += part[w];
    *out = sum;
}

extern "C" __global__ void last(const int *in, int *out) { sum_by_last<memory_order_acq_rel, true>(in, out); }
extern "C" __global__ void last_relaxed(const int *in, int *out) { sum_by_last<memory_order_relaxed, true>(in, out); }
extern "C" __global__ void last_not_asked(const int *in, int *out) { sum_by_last<memory_order_acq_rel, false>(in, out); }

// Every warp stores the same number, or its own.
template <bool SAME> __device__ void mark(const int *in, int *out) {
    __shared__ int found;
    if (threadIdx.x == 0) found = 0;
    __syncthreads();
    if (in[threadIdx.x / 32] > 0) found = SAME ? 1 : threadIdx.x / 32;
    __syncthreads();
    if (threadIdx.x == 0) *out = found;
}

extern "C" __global__ void same_value(const int *in, int *out) { mark<true>(in, out); }
extern "C" __global__ void other_value(const int *in, int *out) { mark<false>(in, out); }
