// SPDX-License-Identifier: Apache-2.0
// A ring of tiles that a bulk copy fills: mbarriers, phases, proxies.
//     nvcc -ptx -lineinfo -arch=sm_90a copies.cu -o copies.ptx

#include <cstdint>

enum { STAGES = 2, FLOATS = 256, BYTES = FLOATS * 4 };

struct ring {
    float tile[STAGES][FLOATS];
    uint64_t full[STAGES];
    uint64_t empty[STAGES];
};

__device__ __forceinline__ uint32_t address_of(const void *p) {
    return static_cast<uint32_t>(__cvta_generic_to_shared(p));
}

__device__ __forceinline__ void init(uint64_t *barrier, uint32_t count) {
    asm volatile("mbarrier.init.shared::cta.b64 [%0], %1;" ::"r"(address_of(barrier)), "r"(count));
}

__device__ __forceinline__ void wait(uint64_t *barrier, uint32_t parity) {
    asm volatile("{\n"
                 ".reg .pred done;\n"
                 "again:\n"
                 "mbarrier.try_wait.parity.shared::cta.b64 done, [%0], %1;\n"
                 "@!done bra again;\n"
                 "}\n" ::"r"(address_of(barrier)),
                 "r"(parity));
}

__device__ __forceinline__ void arrive(uint64_t *barrier) {
    asm volatile("mbarrier.arrive.shared::cta.b64 _, [%0];" ::"r"(address_of(barrier)) : "memory");
}

__device__ __forceinline__ void load(float *to, const float *from, uint64_t *barrier) {
    asm volatile("mbarrier.arrive.expect_tx.shared::cta.b64 _, [%0], %1;" ::"r"(address_of(barrier)),
                 "r"(BYTES)
                 : "memory");
    asm volatile(
        "cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes [%0], [%1], %2, [%3];" ::"r"(
            address_of(to)),
        "l"(from), "r"(BYTES), "r"(address_of(barrier))
        : "memory");
}

// Warp 0 copies, warps 1 to 4 read. EARLY: a stage is released before it is read.
template <bool EARLY> __device__ __forceinline__ void run(const float *in, float *out, int tiles) {
    __shared__ alignas(128) ring r;
    if (threadIdx.x == 0) {
        for (int s = 0; s < STAGES; s++) {
            init(&r.full[s], 1);
            init(&r.empty[s], 128);
        }
        asm volatile("fence.mbarrier_init.release.cluster;" ::: "memory");
    }
    __syncthreads();
    uint32_t phase = 0;
    int stage = 0;
    if (threadIdx.x == 0) {
        for (int t = 0; t < tiles; t++) {
            wait(&r.empty[stage], phase ^ 1);
            load(r.tile[stage], in + t * FLOATS, &r.full[stage]);
            if (++stage == STAGES) stage = 0, phase ^= 1;
        }
    } else if (threadIdx.x >= 32) {
        const int lane = threadIdx.x - 32;
        float sum = 0;
        for (int t = 0; t < tiles; t++) {
            wait(&r.full[stage], phase);
            if (EARLY) arrive(&r.empty[stage]);
            sum += r.tile[stage][lane] + r.tile[stage][lane + 128];
            if (!EARLY) arrive(&r.empty[stage]);
            if (++stage == STAGES) stage = 0, phase ^= 1;
        }
        out[lane] = sum;
    }
}

extern "C" __global__ void ring_sum(const float *in, float *out, int tiles) {
    run<false>(in, out, tiles);
}

extern "C" __global__ void ring_sum_early(const float *in, float *out, int tiles) {
    run<true>(in, out, tiles);
}

// Threads write a tile that a bulk copy stores: FENCE: with the proxy fence that it needs.
template <bool FENCE> __device__ __forceinline__ void scale(float *out, float by) {
    __shared__ alignas(128) float tile[FLOATS];
    tile[threadIdx.x] = by * threadIdx.x;
    tile[threadIdx.x + 128] = by * threadIdx.x;
    if (FENCE) asm volatile("fence.proxy.async.shared::cta;" ::: "memory");
    __syncthreads();
    if (threadIdx.x == 0) {
        asm volatile("cp.async.bulk.global.shared::cta.bulk_group [%0], [%1], %2;" ::"l"(out),
                     "r"(address_of(tile)), "r"(BYTES)
                     : "memory");
        asm volatile("cp.async.bulk.commit_group;");
        asm volatile("cp.async.bulk.wait_group.read 0;" ::: "memory");
    }
}

extern "C" __global__ void store(float *out, float by) {
    scale<true>(out, by);
}

extern "C" __global__ void store_unfenced(float *out, float by) {
    scale<false>(out, by);
}
