// SPDX-License-Identifier: Apache-2.0
// Kernels that are wrong in ways that one statement for a whole warp, or for an unknown operand, could hide.
//     nvcc -ptx -lineinfo -arch=sm_90a -std=c++17 claims.cu
#include <cstdint>

__device__ inline uint32_t place(const void *p) { return (uint32_t)__cvta_generic_to_shared(p); }

// The thread that waits is not the one whose copy reads the tile.
extern "C" __global__ void other_thread_waits(const int *in, int *out) {
    __shared__ alignas(128) int tile[64];
    for (int k = 0; k < 3; k++) {
        tile[threadIdx.x] = in[threadIdx.x] + k;
        asm volatile("fence.proxy.async.shared::cta;" ::: "memory");
        __syncthreads();
        if (threadIdx.x == 0)
            asm volatile("cp.async.bulk.global.shared::cta.bulk_group [%0], [%1], 256;\n"
                         "cp.async.bulk.commit_group;" ::"l"(out), "r"(place(tile)) : "memory");
        if (threadIdx.x == 1) asm volatile("cp.async.bulk.wait_group.read 0;" ::: "memory");
        __syncthreads();
    }
    if (threadIdx.x == 0) asm volatile("cp.async.bulk.wait_group 0;" ::: "memory");
}

// Nothing orders the warps: `volatile` is no synchronisation.
extern "C" __global__ void volatile_data(const int *in, int *out) {
    __shared__ volatile int data[64];
    data[threadIdx.x] = in[threadIdx.x];
    out[threadIdx.x] = data[63 - threadIdx.x];
}

// The second warp waits for what comes after a barrier of the cluster, at which it has to arrive.
extern "C" __global__ void __cluster_dims__(2, 1, 1) cluster_barrier_skipped(int *out) {
    __shared__ uint64_t done;
    if (threadIdx.x == 0) asm volatile("mbarrier.init.shared.b64 [%0], 1;" ::"r"(place(&done)) : "memory");
    __syncthreads();
    if (threadIdx.x < 32) {
        asm volatile("barrier.cluster.arrive.aligned;\nbarrier.cluster.wait.aligned;" ::: "memory");
        if (threadIdx.x == 0) asm volatile("mbarrier.arrive.shared.b64 _, [%0];" ::"r"(place(&done)) : "memory");
    } else {
        asm volatile("{\n.reg .pred p;\nL:\nmbarrier.try_wait.parity.shared.b64 p, [%0], 0;\n@!p bra L;\n}" ::"r"(place(&done))
                     : "memory");
    }
    out[threadIdx.x] = 1;
}

// Two warps wait at one barrier only if the data says so.
extern "C" __global__ void barrier_from_data(const int *in, int *out) {
    __shared__ int data[64];
    data[threadIdx.x] = in[threadIdx.x];
    asm volatile("bar.sync %0, 64;" ::"r"(in[threadIdx.x / 32]) : "memory");
    out[threadIdx.x] = data[63 - threadIdx.x];
}

// The reader looks at another byte of the word than the one that the writer sets.
extern "C" __global__ void flag_of_another_warp(const int *in, int *out) {
    __shared__ alignas(4) unsigned char flags[4];
    __shared__ int data[32];
    if (threadIdx.x < 4) flags[threadIdx.x] = 0;
    __syncthreads();
    const int warp = threadIdx.x / 32;
    if (warp == 0) {
        if (threadIdx.x == 0) asm volatile("st.release.cta.shared.u8 [%0], 1;" ::"r"(place(&flags[0])) : "memory");
    } else if (warp == 1) {
        data[threadIdx.x - 32] = in[threadIdx.x];
        __syncwarp();
        if (threadIdx.x == 32) asm volatile("st.release.cta.shared.u8 [%0], 1;" ::"r"(place(&flags[1])) : "memory");
    } else {
        uint32_t seen = 0;
        while (seen == 0) asm volatile("ld.acquire.cta.shared.u8 %0, [%1];" : "=r"(seen) : "r"(place(&flags[0])) : "memory");
        out[threadIdx.x] = data[threadIdx.x - 64];
    }
}
