// SPDX-License-Identifier: Apache-2.0
// Sums of rows by shared memory, right and with faults: what `spad cuda check` says of each.
//     nvcc -ptx -lineinfo -arch=sm_80 reduce.cu -o reduce.ptx

__device__ __forceinline__ float sum_of(float *part, float x) {
    part[threadIdx.x] = x;
    __syncthreads();
    for (int step = blockDim.x / 2; step > 0; step /= 2) {
        if (threadIdx.x < step) part[threadIdx.x] += part[threadIdx.x + step];
        __syncthreads();
    }
    return part[0];
}

extern "C" __global__ void sums(const float *in, float *out, int rows) {
    __shared__ float part[128];
    for (int row = blockIdx.x; row < rows; row += gridDim.x) {
        const float sum = sum_of(part, in[row * blockDim.x + threadIdx.x]);
        if (threadIdx.x == 0) out[row] = sum;
        __syncthreads();
    }
}

// Part of the next row is written while a thread still reads the sum of this one.
extern "C" __global__ void sums_reused(const float *in, float *out, int rows) {
    __shared__ float part[128];
    for (int row = blockIdx.x; row < rows; row += gridDim.x) {
        const float sum = sum_of(part, in[row * blockDim.x + threadIdx.x]);
        if (threadIdx.x == 96) out[row] = sum;
    }
}

// The barrier is in a branch that one warp does not take.
extern "C" __global__ void sums_stuck(const float *in, float *out) {
    __shared__ float part[128];
    if (threadIdx.x < 96) out[threadIdx.x] = sum_of(part, in[threadIdx.x]);
    else part[threadIdx.x] = 0;
    asm volatile("bar.sync 1, 128;");
    if (threadIdx.x >= 96) asm volatile("bar.sync 1, 128;");
}

// Beyond the end of the array.
extern "C" __global__ void sums_beyond(const float *in, float *out) {
    extern __shared__ float part_of_row[];
    part_of_row[threadIdx.x + 1] = in[threadIdx.x];
    __syncthreads();
    out[threadIdx.x] = part_of_row[threadIdx.x];
}

// Data decides whether the row is summed.
extern "C" __global__ void sums_some(const float *in, const int *wanted, float *out) {
    __shared__ float part[128];
    if (*wanted != 0) out[threadIdx.x] = sum_of(part, in[threadIdx.x]);
}
