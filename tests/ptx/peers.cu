// SPDX-License-Identifier: Apache-2.0
// Two blocks of a cluster read each other's shared memory: with a barrier before the end, and without.
//     nvcc -ptx -lineinfo -arch=sm_90 -std=c++17 peers.cu -o peers.ptx

#include <cooperative_groups.h>

template <bool STAYS> __device__ __forceinline__ void swap(float *out) {
    __shared__ float part[64];
    cooperative_groups::cluster_group cluster = cooperative_groups::this_cluster();
    part[threadIdx.x] = threadIdx.x;
    cluster.sync();
    out[threadIdx.x] = cluster.map_shared_rank(part, cluster.block_rank() ^ 1)[threadIdx.x];
    if (STAYS) cluster.sync();
}

extern "C" __global__ void __cluster_dims__(2, 1, 1) swap_parts(float *out) {
    swap<true>(out);
}

extern "C" __global__ void __cluster_dims__(2, 1, 1) swap_parts_and_leave(float *out) {
    swap<false>(out);
}
