// SPDX-License-Identifier: Apache-2.0
// Tensor memory: each warp stores its lanes, waits, loads them, waits, and one warp frees the
// columns.
//     nvcc -ptx -lineinfo -arch=sm_100a tensor_memory.cu -o tensor_memory.ptx

#include <cstdint>

static __device__ uint32_t shared_address(const void *p) {
    return static_cast<uint32_t>(__cvta_generic_to_shared(p));
}

template <bool waits> static __device__ void pass(const uint32_t *in, uint32_t *out) {
    __shared__ uint32_t columns;
    if (threadIdx.x < 32)
        asm volatile("tcgen05.alloc.cta_group::1.sync.aligned.shared::cta.b32 [%0], 32;" ::"r"(
                         shared_address(&columns))
                     : "memory");
    __syncthreads();
    const uint32_t at = columns + (threadIdx.x / 32 << 21);
    uint32_t value = in[threadIdx.x];
    asm volatile("tcgen05.st.sync.aligned.32x32b.x1.b32 [%0], {%1};" ::"r"(at), "r"(value)
                 : "memory");
    asm volatile("tcgen05.wait::st.sync.aligned;" ::: "memory");
    asm volatile("tcgen05.ld.sync.aligned.32x32b.x1.b32 {%0}, [%1];"
                 : "=r"(value)
                 : "r"(at)
                 : "memory");
    if (waits) asm volatile("tcgen05.wait::ld.sync.aligned;" ::: "memory");
    out[threadIdx.x] = value;
    asm volatile("tcgen05.fence::before_thread_sync;" ::: "memory");
    __syncthreads();
    asm volatile("tcgen05.fence::after_thread_sync;" ::: "memory");
    if (threadIdx.x < 32)
        asm volatile("tcgen05.dealloc.cta_group::1.sync.aligned.b32 %0, 32;" ::"r"(columns)
                     : "memory");
}

extern "C" __global__ void keep(const uint32_t *in, uint32_t *out) {
    pass<true>(in, out);
}
extern "C" __global__ void keep_early(const uint32_t *in, uint32_t *out) {
    pass<false>(in, out);
}
