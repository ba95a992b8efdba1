// SPDX-License-Identifier: Apache-2.0
// cuda::pipeline of a block: the last thread that is done with it, by an atomic count, ends its mbarriers.
//     nvcc -ptx -lineinfo -arch=sm_80 shared_pipeline.cu -o shared_pipeline.ptx

#include <cooperative_groups.h>
#include <cuda/pipeline>

template <bool EARLY> __device__ void sum_tiles(const int *in, int *out, int tiles) {
    constexpr int STAGES = 2, THREADS = 128;
    __shared__ int tile[STAGES][THREADS];
#pragma nv_diag_suppress static_var_with_dynamic_init
    __shared__ cuda::pipeline_shared_state<cuda::thread_scope_block, STAGES> state;
    const auto block = cooperative_groups::this_thread_block();
    auto pipe = cuda::make_pipeline(block, &state);
    int sum = 0;
    for (int t = 0, filled = 0; t < tiles; t++) {
        for (; filled < tiles && filled < t + STAGES; filled++) {
            pipe.producer_acquire();
            cuda::memcpy_async(block, tile[filled % STAGES], in + filled * THREADS, cuda::aligned_size_t<16>(sizeof tile[0]), pipe);
            pipe.producer_commit();
        }
        pipe.consumer_wait();
        if (EARLY) pipe.consumer_release();
        sum += tile[t % STAGES][THREADS - 1 - threadIdx.x];
        if (!EARLY) pipe.consumer_release();
    }
    out[threadIdx.x] = sum;
}

extern "C" __global__ void pipeline(const int *in, int *out, int tiles) { sum_tiles<false>(in, out, tiles); }
// The stage is given back before it is read.
extern "C" __global__ void pipeline_early(const int *in, int *out, int tiles) { sum_tiles<true>(in, out, tiles); }
