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
// As before Volta: right if the warp runs in step.
extern "C" __global__ void shifted_in_step(const int *in, int *out) { shift<false>(in, out); }
