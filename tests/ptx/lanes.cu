// SPDX-License-Identifier: Apache-2.0
// Lanes of one warp exchange words of shared memory: with __syncwarp, and without.
//     nvcc -ptx -lineinfo -arch=sm_80 lanes.cu -o lanes.ptx

// The first lane computes for all.
template <bool SYNC> __device__ void first_for_all(const int *in, int *out) {
    __shared__ int value;
    if (threadIdx.x == 0) value = in[0] + in[1];
    if (SYNC) __syncwarp();
    out[threadIdx.x] = value;
}

extern "C" __global__ void first(const int *in, int *out) { first_for_all<true>(in, out); }
extern "C" __global__ void first_unsynced(const int *in, int *out) { first_for_all<false>(in, out); }

// Half of the warp reads what the other half may not have written.
template <bool SYNC> __device__ void halves(const int *in, int *out) {
    __shared__ int values[16];
    if (threadIdx.x < 16) values[threadIdx.x] = in[threadIdx.x];
    if (SYNC) __syncwarp();
    if (threadIdx.x >= 16) out[threadIdx.x] = values[threadIdx.x - 16];
}

extern "C" __global__ void half(const int *in, int *out) { halves<true>(in, out); }
extern "C" __global__ void half_unsynced(const int *in, int *out) { halves<false>(in, out); }

// A shift by one lane: the whole warp reads, then it writes.
template <bool SYNC> __device__ void shift(const int *in, int *out) {
    __shared__ int values[33];
    values[threadIdx.x] = in[threadIdx.x];
    if (threadIdx.x == 0) values[32] = 0;
    __syncwarp();
    for (int n = 0; n < 3; n++) {
        const int next = values[threadIdx.x + 1];
        if (SYNC) __syncwarp();
        values[threadIdx.x] = next;
        if (SYNC) __syncwarp();
    }
    out[threadIdx.x] = values[threadIdx.x];
}

extern "C" __global__ void shifted(const int *in, int *out) { shift<true>(in, out); }
// As before Volta. nvcc knows of no other lane, and makes one round of the three.
extern "C" __global__ void shifted_in_step(const int *in, int *out) { shift<false>(in, out); }

__device__ __forceinline__ unsigned place(const void *p) { return static_cast<unsigned>(__cvta_generic_to_shared(p)); }
__device__ __forceinline__ void init(unsigned b) { asm volatile("mbarrier.init.shared.b64 [%0], 1;" ::"r"(b)); }
__device__ __forceinline__ void arrive(unsigned b) {
    asm volatile("{\n.reg .b64 state;\nmbarrier.arrive.shared.b64 state, [%0];\n}" ::"r"(b) : "memory");
}
__device__ __forceinline__ void wait(unsigned b, int parity) {
    asm volatile("{\n.reg .pred done;\nAGAIN:\nmbarrier.test_wait.parity.shared.b64 done, [%0], %1;\n@!done bra AGAIN;\n}" ::"r"(b), "r"(parity) : "memory");
}

// One warp fills and another one uses; the first lane arrives for its warp. Lanes: how many of them have data.
template <int LANES, bool FILLED, bool USED> __device__ void hand_on(const int *in, int *out, int steps) {
    __shared__ int values[32];
    __shared__ long long full, empty;
    if (threadIdx.x == 0) init(place(&full)), init(place(&empty));
    __syncthreads();
    const int lane = threadIdx.x % 32;
#pragma unroll 1
    for (int n = 0; n < steps; n++) {
        if (threadIdx.x < 32) {
            if (n > 0) wait(place(&empty), (n - 1) & 1);
            if (lane < LANES) values[lane] = in[n * 32 + lane];
            if (FILLED) __syncwarp();
            if (lane == 0) arrive(place(&full));
        } else {
            wait(place(&full), n & 1);
            if (lane < LANES) out[n * 32 + lane] = values[lane ^ 1];
            if (USED) __syncwarp();
            if (lane == 0) arrive(place(&empty));
        }
    }
}

extern "C" __global__ void handed(const int *in, int *out, int steps) { hand_on<16, true, true>(in, out, steps); }
extern "C" __global__ void filled_unsynced(const int *in, int *out, int steps) { hand_on<16, false, true>(in, out, steps); }
extern "C" __global__ void used_unsynced(const int *in, int *out, int steps) { hand_on<16, true, false>(in, out, steps); }
// Right if the warp runs in step.
extern "C" __global__ void filled_in_step(const int *in, int *out, int steps) { hand_on<32, false, true>(in, out, steps); }
