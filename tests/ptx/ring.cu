// SPDX-License-Identifier: Apache-2.0
// A ring of mbarriers between a warp that copies and one that reads, in inline assembly as libraries write it: each copy
// of a wait has the same labels and the same predicate, in braces of its own.
#include <cstdint>

constexpr int STAGES = 3, FLOATS = 256;

struct alignas(64) TensorMap {
    uint64_t words[16];
};

__device__ __forceinline__ uint32_t shared_address(const void *p) {
    return static_cast<uint32_t>(__cvta_generic_to_shared(p));
}

__device__ __forceinline__ void wait(uint32_t barrier, uint32_t parity) {
    asm volatile("{\n"
                 "  .reg .pred P1;\n"
                 "LAB_WAIT:\n"
                 "  mbarrier.try_wait.parity.shared::cta.b64 P1, [%0], %1;\n"
                 "  @P1 bra DONE;\n"
                 "  bra LAB_WAIT;\n"
                 "DONE:\n"
                 "}" ::"r"(barrier),
                 "r"(parity));
}

extern "C" __global__ void __cluster_dims__(2, 1, 1) __launch_bounds__(64)
    ring(const __grid_constant__ TensorMap map, float *out, int tiles) {
    extern __shared__ __align__(128) float tile[];
    __shared__ __align__(8) uint64_t full[STAGES], empty[STAGES];
    if (threadIdx.x == 0) {
        for (int i = 0; i < STAGES; i++) {
            asm volatile("mbarrier.init.shared::cta.b64 [%0], 1;" ::"r"(shared_address(&full[i])));
            asm volatile("mbarrier.init.shared::cta.b64 [%0], %1;" ::"r"(shared_address(&empty[i])), "r"(32));
        }
        asm volatile("fence.mbarrier_init.release.cluster;");
    }
    __syncthreads();
    asm volatile("barrier.cluster.arrive.release.aligned;\nbarrier.cluster.wait.acquire.aligned;");
    if (threadIdx.x == 32) {
        for (int i = 0; i < tiles; i++) {
            const uint32_t barrier = shared_address(&full[i % STAGES]);
            wait(shared_address(&empty[i % STAGES]), (i / STAGES & 1) ^ 1);
            asm volatile("mbarrier.arrive.expect_tx.shared::cta.b64 _, [%0], %1;" ::"r"(barrier), "r"(FLOATS * 4));
            asm volatile("cp.async.bulk.tensor.2d.shared::cluster.global.tile.mbarrier::complete_tx::bytes"
                         ".L2::cache_hint [%0], [%1, {%3, %4}], [%2], %5;" ::"r"(
                             shared_address(tile + i % STAGES * FLOATS)),
                         "l"(&map), "r"(barrier), "r"(0), "r"(i), "l"(0x1000000000000000LL)
                         : "memory");
        }
    } else if (threadIdx.x < 32) {
        float sum = 0;
        for (int i = 0; i < tiles; i++) {
            wait(shared_address(&full[i % STAGES]), i / STAGES & 1);
            for (int k = threadIdx.x; k < FLOATS; k += 32) sum += tile[i % STAGES * FLOATS + k];
            asm volatile("{ .reg .b32 remote;\n"
                         "mapa.shared::cluster.u32 remote, %0, 0;\n"
                         "mbarrier.arrive.release.cluster.shared::cluster.b64 _, [remote];}" ::"r"(
                             shared_address(&empty[i % STAGES])));
        }
        out[threadIdx.x] = __shfl_xor_sync(~0u, sum, 1);
    }
}
