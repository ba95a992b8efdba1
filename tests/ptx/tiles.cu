// SPDX-License-Identifier: Apache-2.0
// Tiles of cooperative groups that are larger than a warp: their warps meet at a word of the system's shared memory.
//     nvcc -std=c++17 -ptx -lineinfo -arch=sm_90a tiles.cu -o tiles.ptx

#include <cooperative_groups.h>
#include <cooperative_groups/reduce.h>
namespace cg = cooperative_groups;

// Each tile of 64 threads reverses its part of a block of 128.
template <bool SYNCED, int FAR> __device__ void reverse_parts(int *out) {
    __shared__ cg::block_tile_memory<128> scratch;
    __shared__ int values[128];
    auto tile = cg::tiled_partition<64>(cg::this_thread_block(scratch));
    const int t = threadIdx.x;
    values[t] = out[t];
    tile.sync();
    out[t] = values[t ^ FAR];
    if (SYNCED) tile.sync();
    values[t] = t;
    tile.sync();
    out[t] += values[t ^ 32];
}

extern "C" __global__ void reverse(int *out) { reverse_parts<true, 63>(out); }
// The second warp of a tile may still read what the first one overwrites.
extern "C" __global__ void reverse_unsynced(int *out) { reverse_parts<false, 63>(out); }
// Reads what the other tile has written.
extern "C" __global__ void reverse_across(int *out) { reverse_parts<true, 127>(out); }

// Warps hand partial sums over in the same memory.
extern "C" __global__ void tile_sum(int *out) {
    __shared__ cg::block_tile_memory<128> scratch;
    auto tile = cg::tiled_partition<64>(cg::this_thread_block(scratch));
    const int t = threadIdx.x;
    out[t] = cg::reduce(tile, out[t], cg::plus<int>()) + tile.shfl(t, 3) + tile.any(t == 5);
}
