// SPDX-License-Identifier: Apache-2.0
// Copies of 4 bytes that arrive at an mbarrier when they are complete, two buffers.
//     nvcc -ptx -lineinfo -arch=sm_90a arrivals.cu -o arrivals.ptx
#include <cstdint>

static __device__ uint32_t shared_address(const void *p) {
    return static_cast<uint32_t>(__cvta_generic_to_shared(p));
}

static __device__ void wait(uint64_t *bar, int parity) {
    asm volatile("{\n.reg .pred done;\nAGAIN:\nmbarrier.try_wait.parity.shared::cta.b64 done, "
                 "[%0], %1;\n@!done bra AGAIN;\n}" ::"r"(shared_address(bar)),
                 "r"(parity)
                 : "memory");
}

template <bool announced> static __device__ void copy(float *to, const float *from, uint64_t *bar) {
    asm volatile("cp.async.ca.shared.global [%0], [%1], 4;" ::"r"(shared_address(to)), "l"(from)
                 : "memory");
    if (announced)
        asm volatile("cp.async.mbarrier.arrive.shared::cta.b64 [%0];" ::"r"(shared_address(bar))
                     : "memory");
}

// The last phase of a buffer has no copy.
template <bool announced> static __device__ void reverse(const float *in, float *out, int rounds) {
    __shared__ float buffer[2][128];
    __shared__ uint64_t full[2];
    if (threadIdx.x < 2)
        asm volatile(
            "mbarrier.init.shared::cta.b64 [%0], 128;" ::"r"(shared_address(&full[threadIdx.x]))
            : "memory");
    __syncthreads();
    copy<announced>(&buffer[0][threadIdx.x], in + threadIdx.x, &full[0]);
    for (int r = 0; r < rounds; r++) {
        const int next = r + 1;
        if (next < rounds)
            copy<announced>(&buffer[next % 2][threadIdx.x], in + next * 128 + threadIdx.x,
                            &full[next % 2]);
        asm volatile("mbarrier.arrive.shared::cta.b64 _, [%0];" ::"r"(shared_address(&full[r % 2]))
                     : "memory");
        wait(&full[r % 2], r / 2 % 2);
        out[r * 128 + threadIdx.x] = buffer[r % 2][127 - threadIdx.x];
        __syncthreads();
    }
    asm volatile("mbarrier.arrive.shared::cta.b64 _, [%0];" ::"r"(shared_address(&full[0]))
                 : "memory");
    wait(&full[0], (rounds + 1) / 2 % 2);
}

extern "C" __global__ void reverse_rows(const float *in, float *out, int rounds) {
    reverse<true>(in, out, rounds);
}
extern "C" __global__ void reverse_rows_early(const float *in, float *out, int rounds) {
    reverse<false>(in, out, rounds);
}
