// SPDX-License-Identifier: Apache-2.0
// Waits for other blocks: a semaphore in global memory, as CUTLASS has it, and loops that look like one.
//     nvcc -ptx -lineinfo -arch=sm_80 semaphore.cu -o semaphore.ptx

__device__ int observed(const int *lock) {
    int state;
    asm volatile("ld.global.acquire.gpu.b32 %0, [%1];" : "=r"(state) : "l"(lock) : "memory");
    return state;
}

// Rows of shared memory are handed over after the block before this one has arrived.
template <bool VOTES, bool SYNCED> __device__ void add_in_turn(const int *lock, const float *in, float *out) {
    __shared__ float row[128];
    const int t = threadIdx.x;
    row[t] = in[t];
    int state = threadIdx.x == 0 ? observed(lock) : 1;
    if (VOTES) {
        while (__syncthreads_and(state != 1)) {
            if (t == 0) state = observed(lock);
        }
    } else {
        while (state != 1) {
            __syncthreads();
            state = observed(lock);
        }
    }
    if (SYNCED) __syncthreads();
    out[t] += row[t ^ 127];
}

extern "C" __global__ void in_turn(const int *lock, const float *in, float *out) { add_in_turn<true, true>(lock, in, out); }
// Each thread leaves by what it has read itself, so they do not meet at one barrier.
extern "C" __global__ void in_turn_apart(const int *lock, const float *in, float *out) { add_in_turn<false, true>(lock, in, out); }
// One thread waits, and no barrier comes after it.
extern "C" __global__ void in_turn_unsynced(const int *lock, const float *in, float *out) {
    __shared__ float row[128];
    const int t = threadIdx.x;
    row[t] = in[t];
    if (t == 0) {
        while (observed(lock) != 1) {}
    }
    out[t] += row[t ^ 127];
}
