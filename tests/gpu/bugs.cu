// SPDX-License-Identifier: Apache-2.0
// Published synchronisation bugs, each as small as it gets: `name` is right, `name_wrong` has the bug. pack.py compares
// what spad, compute-sanitizer and a GPU see of them. Each takes `in` with 4096 numbers, and has 128 threads.
//     nvcc -ptx -std=c++17 -arch=sm_90a bugs.cu -o bugs.ptx
#include <cub/block/block_reduce.cuh>
#include <cub/block/block_scan.cuh>
#include <cstdint>

using u32 = uint32_t;
using u64 = uint64_t;
#define BUG(name)                                                                                        \
    extern "C" __global__ void name(const u32 *in, u32 *out) { name##_of<true>(in, out); }               \
    extern "C" __global__ void name##_wrong(const u32 *in, u32 *out) { name##_of<false>(in, out); }
#define INLINE __device__ __forceinline__
#define T threadIdx.x

INLINE u32 place(const void *p) { return static_cast<u32>(__cvta_generic_to_shared(p)); }
INLINE void init(u64 *b, int n) { asm volatile("mbarrier.init.shared::cta.b64 [%0], %1;" ::"r"(place(b)), "r"(n)); }
INLINE void arrive(u64 *b) { asm volatile("mbarrier.arrive.shared::cta.b64 _, [%0];" ::"r"(place(b)) : "memory"); }
INLINE void wait(u64 *b, u32 parity) {
    asm volatile("{\n.reg .pred done;\nAGAIN:\nmbarrier.try_wait.parity.shared::cta.b64 done, [%0], %1;\n"
                 "@!done bra AGAIN;\n}" ::"r"(place(b)), "r"(parity) : "memory");
}
INLINE void load(void *to, const u32 *from, u64 *b, int bytes) {
    asm volatile("mbarrier.arrive.expect_tx.shared::cta.b64 _, [%0], %1;" ::"r"(place(b)), "r"(bytes) : "memory");
    asm volatile("cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes [%0], [%1], %2, [%3];" ::"r"(place(to)),
                 "l"(from), "r"(bytes), "r"(place(b)) : "memory");
}
INLINE u32 sum_of_warp(u32 x) {
    for (int step = 16; step; step /= 2) x += __shfl_xor_sync(~0u, x, step);
    return x;
}
template <bool WAITS> INLINE u32 sum_of_block(u32 *part, u32 x) {
    if (WAITS) __syncthreads();
    x = sum_of_warp(x);
    if (T % 32 == 0) part[T / 32] = x;
    __syncthreads();
    return part[0] + part[1] + part[2] + part[3];
}

// llama.cpp 18448, cumsum.cu: the carry is updated before all threads have read it.
template <bool RIGHT> INLINE void carry_of(const u32 *in, u32 *out) {
    __shared__ u32 sums[4], carry;
    if (T == 0) carry = 0;
    for (int n = 0; n < 8; n++) {
        u32 x = in[128 * n + T];
        for (int step = 1; step < 32; step *= 2) {
            const u32 other = __shfl_up_sync(~0u, x, step);
            if (T % 32 >= step) x += other;
        }
        if (T % 32 == 31) sums[T / 32] = x;
        __syncthreads();
        for (int w = 0; w < T / 32; w++) x += sums[w];
        x += carry;
        out[128 * n + T] = x;
        if (RIGHT) __syncthreads();
        if (T == 127) carry = x;
        __syncthreads();
    }
}
BUG(carry)

// llama.cpp 26385, norm.cu and softmax.cu: two reductions of a block in one buffer.
template <bool RIGHT> INLINE void two_sums_of(const u32 *in, u32 *out) {
    __shared__ u32 part[4];
    const u32 x = in[T];
    const u32 mean = sum_of_block<true>(part, x) / 128;
    out[T] = sum_of_block<RIGHT>(part, (x - mean) * (x - mean)) + mean;
}
BUG(two_sums)

// llama.cpp 24360, ssm-scan.cu: the rows of the next step overwrite those that warps still read.
template <bool RIGHT> INLINE void rows_of(const u32 *in, u32 *out) {
    __shared__ u32 row[128];
    u32 state = 0;
    for (int n = 0; n < 8; n++) {
        row[T] = in[128 * n + T];
        __syncthreads();
        for (int k = 0; k < 16; k++) state = state * 3 + row[(T + k * 8) % 128];
        if (RIGHT) __syncthreads();
    }
    out[T] = state;
}
BUG(rows)

// flashinfer 3624, sampling.cuh: storage of one block collective is used by the next one.
template <bool RIGHT> INLINE void collectives_of(const u32 *in, u32 *out) {
    using reduce = cub::BlockReduce<u32, 128>;
    using scan = cub::BlockScan<u32, 128>;
    __shared__ union {
        typename reduce::TempStorage reduce;
        typename scan::TempStorage scan;
    } storage;
    __shared__ u32 most;
    u32 x = in[T] % 1000, before;
    scan(storage.scan).ExclusiveSum(x, before);
    if (RIGHT) __syncthreads();
    const u32 sum = reduce(storage.reduce).Sum(x);
    if (T == 0) most = sum / 2;
    __syncthreads();
    out[T] = before + most;
}
BUG(collectives)

// flashinfer 3630, tinygemm2.cu: a path that is left early waits for a phase that nothing completes.
template <bool RIGHT> INLINE void stale_phase_of(const u32 *in, u32 *out) {
    __shared__ alignas(128) u32 tile[2][128];
    __shared__ u64 full[2];
    if (T < 2) init(&full[T], 1);
    asm volatile("fence.mbarrier_init.release.cluster;" ::: "memory");
    __syncthreads();
    u32 sum = 0;
    for (int n = 0; n < 5; n++) {
        if (T == 0) load(tile[n % 2], in + 128 * n, &full[n % 2], 512);
        wait(&full[n % 2], n / 2 & 1);
        sum = sum * 3 + tile[n % 2][127 - T];
        __syncthreads();
    }
    wait(&full[RIGHT ? 0 : 1], 0);
    out[T] = sum;
}
BUG(stale_phase)

// FlashKDA 24, fwd_kernel2.cuh: stores, then a bulk store, without a proxy fence.
template <bool RIGHT> INLINE void unfenced_store_of(const u32 *in, u32 *out) {
    __shared__ alignas(128) u32 tile[128];
    for (int n = 0; n < 8; n++) {
        tile[T] = in[128 * n + T] + n;
        if (RIGHT) asm volatile("fence.proxy.async.shared::cta;" ::: "memory");
        __syncthreads();
        if (T == 0)
            asm volatile("cp.async.bulk.global.shared::cta.bulk_group [%0], [%1], 512;\ncp.async.bulk.commit_group;\n"
                         "cp.async.bulk.wait_group.read 0;" ::"l"(out + 128 * n), "r"(place(tile)) : "memory");
        __syncthreads();
    }
    if (T == 0) asm volatile("cp.async.bulk.wait_group 0;" ::: "memory");
}
BUG(unfenced_store)

// TransformerEngine 2695, hadamard_transform.cu: reads, then a bulk load into the same buffer, without a proxy fence.
template <bool RIGHT> INLINE void unfenced_load_of(const u32 *in, u32 *out) {
    __shared__ alignas(128) u32 tile[128];
    __shared__ u64 full;
    if (T == 0) init(&full, 1);
    asm volatile("fence.mbarrier_init.release.cluster;" ::: "memory");
    __syncthreads();
    for (int n = 0; n < 8; n++) {
        if (T == 0) load(tile, in + 128 * n, &full, 512);
        wait(&full, n & 1);
        out[128 * n + T] = tile[127 - T];
        if (RIGHT) asm volatile("fence.proxy.async.shared::cta;" ::: "memory");
        __syncthreads();
    }
}
BUG(unfenced_load)

// HeCBench 133, dxtc2: lanes of a warp exchange data without __syncwarp, some of them later than others.
template <bool RIGHT> INLINE void lanes_of(const u32 *in, u32 *out) {
    __shared__ u32 values[128];
    u32 x = in[T];
    for (int n = 0; n < 8; n++) {
        if (x % 2) x = x * 3 + 1;
        else x = x / 2 + values[T ^ 1] * 0;
        values[T] = x;
        if (RIGHT) __syncwarp();
        if (T % 32 < 16) x += values[T + 16];
        if (RIGHT) __syncwarp();
    }
    out[T] = x;
}
BUG(lanes)

// FlashKDA 25: no fence after mbarrier.init. A bulk copy accesses it through the generic proxy, so this is right.
template <bool RIGHT> INLINE void init_unfenced_of(const u32 *in, u32 *out) {
    __shared__ alignas(128) u32 tile[128];
    __shared__ u64 full;
    if (T == 0) {
        init(&full, 1);
        if (RIGHT) asm volatile("fence.mbarrier_init.release.cluster;" ::: "memory");
        load(tile, in, &full, 512);
    }
    __syncthreads();
    wait(&full, 0);
    out[T] = tile[127 - T];
}
BUG(init_unfenced)

// A stage of a ring is given back before it is read (Triton 3.6 and 3.9, with products: docs/found.md).
template <bool RIGHT> INLINE void released_early_of(const u32 *in, u32 *out) {
    __shared__ alignas(128) u32 tile[2][128];
    __shared__ u64 full[2], empty[2];
    if (T == 0) for (int s = 0; s < 2; s++) init(&full[s], 1), init(&empty[s], 96);
    asm volatile("fence.mbarrier_init.release.cluster;" ::: "memory");
    __syncthreads();
    u32 sum = 0;
    if (T == 0) {
        for (int n = 0; n < 12; n++) {
            wait(&empty[n % 2], (n / 2 & 1) ^ 1);
            load(tile[n % 2], in + 128 * n, &full[n % 2], 512);
        }
    } else if (T >= 32) {
        for (int n = 0; n < 12; n++) {
            wait(&full[n % 2], n / 2 & 1);
            if (!RIGHT) arrive(&empty[n % 2]);
            sum = sum * 3 + tile[n % 2][T - 32] + tile[n % 2][T];
            if (RIGHT) arrive(&empty[n % 2]);
        }
        out[T] = sum;
    }
}
BUG(released_early)
