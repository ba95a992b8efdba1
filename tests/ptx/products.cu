// SPDX-License-Identifier: Apache-2.0
// Registers of wgmma: a product that is right, and three that access its registers too early.
//     nvcc -ptx -lineinfo -arch=sm_90a products.cu -o products.ptx

#include <cstdint>

struct operands {
    uint64_t b; // a matrix descriptor
    uint32_t a[4];
};

__device__ __forceinline__ void multiply(float (&d)[4], const operands &x) {
    asm volatile("wgmma.mma_async.sync.aligned.m64n8k16.f32.f16.f16 {%0, %1, %2, %3}, {%4, %5, %6, %7}, %8, 1, 1, 1, 0;"
                 : "+f"(d[0]), "+f"(d[1]), "+f"(d[2]), "+f"(d[3])
                 : "r"(x.a[0]), "r"(x.a[1]), "r"(x.a[2]), "r"(x.a[3]), "l"(x.b));
}

__device__ __forceinline__ void fence() { asm volatile("wgmma.fence.sync.aligned;" ::: "memory"); }
__device__ __forceinline__ void commit() { asm volatile("wgmma.commit_group.sync.aligned;" ::: "memory"); }
template <int PENDING> __device__ __forceinline__ void wait() {
    asm volatile("wgmma.wait_group.sync.aligned %0;" ::"n"(PENDING) : "memory");
}
// Not optimised: the register itself is changed.
__device__ __forceinline__ void change(uint32_t &x) { asm volatile("add.u32 %0, %0, 1;" : "+r"(x)); }

// FENCES: 0 none, 1 before the first product, 2 before each. PENDING: groups that may still run when d is read.
template <int FENCES, int PENDING, bool EARLY> __device__ void products(float *out) {
    __shared__ __align__(128) uint32_t tile[64];
    operands x;
    float d[4] = {};
    if (threadIdx.x < 64) tile[threadIdx.x] = threadIdx.x;
    asm volatile("fence.proxy.async;" ::: "memory");
    __syncthreads();
    x.b = static_cast<uint64_t>(static_cast<uint32_t>(__cvta_generic_to_shared(tile)) & 0x3ffff) >> 4 | 8ull << 16 | 8ull << 32;
    for (int i = 0; i < 4; i++) x.a[i] = threadIdx.x + i;
    if (FENCES > 0) fence();
    multiply(d, x);
    commit();
    if (!EARLY) wait<0>();
    for (int i = 0; i < 4; i++) change(x.a[i]);
    if (EARLY) wait<0>();
    if (FENCES > 1) fence();
    multiply(d, x);
    commit();
    wait<PENDING>();
    for (int i = 0; i < 4; i++) out[4 * threadIdx.x + i] = d[i] * 2;
}

extern "C" __global__ void right(float *out) { products<2, 0, false>(out); }
extern "C" __global__ void never_fenced(float *out) { products<0, 0, false>(out); }
extern "C" __global__ void fenced_once(float *out) { products<1, 0, false>(out); }
extern "C" __global__ void read_early(float *out) { products<2, 1, false>(out); }
extern "C" __global__ void changed_early(float *out) { products<2, 0, true>(out); }
