// SPDX-License-Identifier: Apache-2.0
// Kernels on integers whose outputs are compared between spad's executor and a GPU (pack.py): what the small kernels of
// tests/ptx do not have. Each takes `in` with 4096 numbers, and writes up to 4096 numbers.
//     nvcc -ptx -std=c++17 -arch=sm_90a kernels.cu -o kernels.ptx
#include <cooperative_groups.h>
#include <cooperative_groups/memcpy_async.h>
#include <cooperative_groups/reduce.h>
#include <cooperative_groups/scan.h>
#include <cub/block/block_exchange.cuh>
#include <cub/block/block_histogram.cuh>
#include <cub/block/block_radix_sort.cuh>
#include <cub/block/block_reduce.cuh>
#include <cub/block/block_scan.cuh>
#include <cuda/barrier>
#include <cuda_bf16.h>
#include <cuda_fp16.h>
#include <cstdint>

namespace cg = cooperative_groups;
using u32 = uint32_t;
using u64 = uint64_t;
#define KERNEL(name) extern "C" __global__ void name(const u32 *__restrict__ in, u32 *out)
#define CLUSTER(name, n) extern "C" __global__ void __cluster_dims__(n, 1, 1) name(const u32 *__restrict__ in, u32 *out)
#define INLINE __device__ __forceinline__
#define T threadIdx.x

INLINE u32 place(const void *p) { return static_cast<u32>(__cvta_generic_to_shared(p)); }
INLINE void wait(u64 *b, u32 parity) {
    asm volatile("{\n.reg .pred done;\nAGAIN:\nmbarrier.try_wait.parity.shared::cta.b64 done, [%0], %1;\n"
                 "@!done bra AGAIN;\n}" ::"r"(place(b)), "r"(parity) : "memory");
}

// ---- CUB and cooperative groups, 128 threads --------------------------------------------------

KERNEL(cub_scan) {
    using scan = cub::BlockScan<u32, 128>;
    __shared__ typename scan::TempStorage storage;
    u32 x[4], total;
    for (int i = 0; i < 4; i++) x[i] = in[4 * T + i];
    scan(storage).ExclusiveSum(x, x, total);
    __syncthreads();
    scan(storage).InclusiveScan(x, x, [](u32 a, u32 b) { return a > b ? a : b; });
    for (int i = 0; i < 4; i++) out[4 * T + i] = x[i] + total;
}

KERNEL(cub_sort) {
    using sort = cub::BlockRadixSort<u32, 128, 4, u32>;
    __shared__ typename sort::TempStorage storage;
    u32 keys[4], values[4];
    for (int i = 0; i < 4; i++) keys[i] = in[4 * T + i] % 5000, values[i] = 4 * T + i;
    sort(storage).SortBlockedToStriped(keys, values);
    for (int i = 0; i < 4; i++) out[T + 128 * i] = keys[i], out[512 + T + 128 * i] = values[i];
}

KERNEL(cub_histogram) {
    using histogram = cub::BlockHistogram<unsigned char, 128, 8, 64, cub::BLOCK_HISTO_ATOMIC>;
    __shared__ typename histogram::TempStorage storage;
    __shared__ u32 bins[64];
    unsigned char x[8];
    for (int i = 0; i < 8; i++) x[i] = in[8 * T + i] % 64;
    histogram(storage).Histogram(x, bins);
    __syncthreads();
    if (T < 64) out[T] = bins[T];
}

KERNEL(cub_exchange) {
    using exchange = cub::BlockExchange<u32, 128, 4>;
    using reduce = cub::BlockReduce<u32, 128, cub::BLOCK_REDUCE_RAKING>;
    __shared__ typename exchange::TempStorage storage;
    __shared__ typename reduce::TempStorage sums;
    u32 x[4];
    for (int i = 0; i < 4; i++) x[i] = in[4 * T + i];
    exchange(storage).BlockedToStriped(x, x);
    __syncthreads();
    exchange(storage).StripedToBlocked(x, x);
    const u32 sum = reduce(sums).Sum(x);
    for (int i = 0; i < 4; i++) out[4 * T + i] = x[i] * 3;
    if (T == 0) out[512] = sum;
}

KERNEL(cg_tiles) {
    auto block = cg::this_thread_block();
    auto warp = cg::tiled_partition<32>(block);
    auto part = cg::tiled_partition<8>(warp);
    const u32 x = in[T];
    out[T] = cg::reduce(warp, x, cg::plus<u32>());
    out[128 + T] = cg::inclusive_scan(part, x, cg::plus<u32>());
    out[256 + T] = cg::exclusive_scan(warp, x & 255, cg::bit_xor<u32>());
    if (x % 3 == 0) {
        auto some = cg::coalesced_threads();
        out[384 + T] = some.thread_rank() * 100 + some.size() + some.shfl(x, 0) % 7;
    } else {
        out[384 + T] = cg::labeled_partition(cg::coalesced_threads(), x % 5).num_threads();
    }
}

KERNEL(cg_copy) {
    __shared__ alignas(16) u32 tile[512];
    auto block = cg::this_thread_block();
    for (int n = 0; n < 3; n++) {
        cg::memcpy_async(block, tile, in + 512 * n, cuda::aligned_size_t<16>(sizeof tile));
        cg::wait(block);
        out[512 * n + T] = tile[511 - T] ^ tile[(T * 5 + n) % 512];
        block.sync();
    }
}

KERNEL(split_barrier) {
    using barrier = cuda::barrier<cuda::thread_scope_block>;
#pragma nv_diag_suppress static_var_with_dynamic_init
    __shared__ barrier ready[2];
    __shared__ u32 tile[2][128];
    if (T < 2) init(&ready[T], 128);
    __syncthreads();
    u32 sum = 0;
    for (int n = 0; n < 8; n++) {
        tile[n % 2][T] = in[128 * n + T];
        auto token = ready[n % 2].arrive();
        sum = sum * 5 + n;
        ready[n % 2].wait(std::move(token));
        sum += tile[n % 2][127 - T];
    }
    out[T] = sum;
}

// ---- clusters: distributed shared memory, asynchronous stores, multicast ----------------------

CLUSTER(cluster_histogram, 4) {
    __shared__ u32 bins[64];
    auto cluster = cg::this_cluster();
    const u32 rank = cluster.block_rank();
    if (T < 64) bins[T] = 0;
    cluster.sync();
    for (int n = 0; n < 8; n++) {
        const u32 x = in[rank * 1024 + n * 128 + T] % 256;
        atomicAdd(cluster.map_shared_rank(bins, x / 64) + x % 64, x + 1);
    }
    cluster.sync();
    if (T < 64) out[rank * 64 + T] = bins[T];
}

CLUSTER(cluster_ring, 4) {
    __shared__ u32 part[2][128];
    auto cluster = cg::this_cluster();
    const u32 rank = cluster.block_rank();
    u32 x = in[rank * 128 + T];
    for (int n = 0; n < 4; n++) {
        cluster.map_shared_rank(part[n % 2], (rank + 1) % 4)[T] = x;
        cluster.sync();
        x = x * 3 + part[n % 2][127 - T];
    }
    cluster.sync();
    out[rank * 128 + T] = x;
}

CLUSTER(async_stores, 2) {
    __shared__ u32 got[128];
    __shared__ u64 full;
    const u32 rank = cg::this_cluster().block_rank();
    if (T == 0) {
        asm volatile("mbarrier.init.shared::cta.b64 [%0], 1;" ::"r"(place(&full)));
        asm volatile("mbarrier.arrive.expect_tx.shared::cta.b64 _, [%0], 512;" ::"r"(place(&full)) : "memory");
        asm volatile("fence.mbarrier_init.release.cluster;" ::: "memory");
    }
    cg::this_cluster().sync();
    asm volatile("{\n.reg .b32 to, bar;\nmapa.shared::cluster.u32 to, %0, %2;\nmapa.shared::cluster.u32 bar, %1, %2;\n"
                 "st.async.shared::cluster.mbarrier::complete_tx::bytes.u32 [to], %3, [bar];\n}" ::"r"(place(&got[127 - T])),
                 "r"(place(&full)), "r"(rank ^ 1), "r"(in[rank * 128 + T]) : "memory");
    wait(&full, 0);
    out[rank * 128 + T] = got[T] + rank;
    cg::this_cluster().sync();
}

CLUSTER(multicast, 4) {
    __shared__ alignas(128) u32 tile[4][64];
    __shared__ u64 full;
    const u32 rank = cg::this_cluster().block_rank();
    if (T == 0) {
        asm volatile("mbarrier.init.shared::cta.b64 [%0], 1;" ::"r"(place(&full)));
        asm volatile("mbarrier.arrive.expect_tx.shared::cta.b64 _, [%0], 1024;" ::"r"(place(&full)) : "memory");
        asm volatile("fence.mbarrier_init.release.cluster;" ::: "memory");
    }
    cg::this_cluster().sync();
    if (T == 0)
        asm volatile("cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes.multicast::cluster [%0], [%1], 256, "
                     "[%2], %3;" ::"r"(place(tile[rank])), "l"(in + rank * 64), "r"(place(&full)),
                     "h"(static_cast<uint16_t>(15)) : "memory");
    wait(&full, 0);
    out[rank * 128 + T] = tile[T / 32][T % 64] * (rank + 1) + tile[3 - T / 32][63 - T % 64];
    cg::this_cluster().sync();
}

// ---- shared memory, copies, matrices ----------------------------------------------------------

KERNEL(bitonic) {
    __shared__ u32 x[512];
    for (int i = T; i < 512; i += 128) x[i] = in[i];
    for (u32 size = 2; size <= 512; size *= 2) {
        for (u32 step = size / 2; step > 0; step /= 2) {
            __syncthreads();
            for (u32 i = T; i < 512; i += 128) {
                const u32 j = i ^ step;
                if (j > i && (x[i] > x[j]) == ((i & size) == 0)) {
                    const u32 y = x[i];
                    x[i] = x[j], x[j] = y;
                }
            }
        }
    }
    __syncthreads();
    for (int i = T; i < 512; i += 128) out[i] = x[i];
}

KERNEL(transposed_matrices) {
    __shared__ alignas(128) u32 tile[4][4][32];
    const int warp = T / 32, lane = T % 32;
    for (int i = 0; i < 4; i++) tile[warp][i][lane] = in[(warp * 4 + i) * 32 + lane];
    __syncwarp();
    u32 a, b, c, d;
    asm volatile("ldmatrix.sync.aligned.m8n8.x4.trans.shared.b16 {%0, %1, %2, %3}, [%4];"
                 : "=r"(a), "=r"(b), "=r"(c), "=r"(d) : "r"(place(&tile[warp][0][lane * 4])) : "memory");
    out[T * 4] = a, out[T * 4 + 1] = b, out[T * 4 + 2] = c, out[T * 4 + 3] = d;
    __syncwarp();
    asm volatile("stmatrix.sync.aligned.m8n8.x2.trans.shared.b16 [%0], {%1, %2};" ::"r"(place(&tile[warp][lane % 16 / 8][lane % 8 * 4])),
                 "r"(d), "r"(a) : "memory");
    __syncwarp();
    for (int i = 0; i < 4; i++) out[512 + (warp * 4 + i) * 32 + lane] = tile[warp][i][lane];
}

KERNEL(dot_products) {
    __shared__ alignas(16) u32 a[2][16][8], b[2][16][8];
    const int row = T / 8, column = T % 8;
    int sum[2] = {};
    auto copy = [&](int n) {
        if (T < 32) asm volatile("cp.async.cg.shared.global [%0], [%1], 16;" ::"r"(place(&a[n % 2][T / 2][T % 2 * 4])),
                                 "l"(in + n * 128 + T * 4) : "memory");
        else if (T < 64) asm volatile("cp.async.ca.shared.global [%0], [%1], 16, %2;" ::"r"(place(&b[n % 2][T / 2 - 16][T % 2 * 4])),
                                      "l"(in + 2048 + n * 128 + T * 4 - 128), "r"(n == 3 ? 8 : 16) : "memory");
        asm volatile("cp.async.commit_group;" ::: "memory");
    };
    copy(0);
    for (int n = 0; n < 4; n++) {
        copy(n + 1);
        asm volatile("cp.async.wait_group 1;" ::: "memory");
        __syncthreads();
        for (int k = 0; k < 8; k++) {
            sum[0] = __dp4a(static_cast<int>(a[n % 2][row][k]), static_cast<int>(b[n % 2][column][k]), sum[0]);
            sum[1] += static_cast<int>(__dp2a_lo(a[n % 2][row][k], b[n % 2][column + 8][k], 0u));
        }
        __syncthreads();
    }
    asm volatile("cp.async.wait_all;" ::: "memory");
    out[T] = sum[0], out[128 + T] = sum[1];
}

KERNEL(gathered) {
    __shared__ u32 flags[4], at[5];
    const int warp = T / 32, lane = T % 32;
    u32 written = 0;
    for (int n = 0; n < 8; n++) {
        const u32 x = in[128 * n + T];
        const u32 votes = __ballot_sync(~0u, x % 3 == 1);
        if (lane == 0) flags[warp] = __popc(votes);
        __syncthreads();
        if (T == 0) {
            at[0] = written;
            for (int w = 0; w < 4; w++) at[w + 1] = at[w] + flags[w];
        }
        __syncthreads();
        if (x % 3 == 1) out[at[warp] + __popc(votes & ((1u << lane) - 1))] = x;
        written = at[4];
        __syncthreads();
    }
    if (T == 0) out[4095] = written;
}

// Boxes of tensors with swizzles of 128, 64 and 32 bytes and none: their places in shared memory, and back to global
// memory, at the edge of the tensor with half of a box.
struct alignas(64) tensor_map {
    u64 words[16];
};
INLINE void load_box(void *to, const tensor_map &map, u64 *b, int x, int y) {
    asm volatile("cp.async.bulk.tensor.2d.shared::cluster.global.tile.mbarrier::complete_tx::bytes [%0], [%1, {%3, %4}], "
                 "[%2];" ::"r"(place(to)), "l"(&map), "r"(place(b)), "r"(x), "r"(y) : "memory");
}
INLINE void store_box(const tensor_map &map, const void *from, int x, int y) {
    asm volatile("cp.async.bulk.tensor.2d.global.shared::cta.tile.bulk_group [%0, {%2, %3}], [%1];" ::"l"(&map),
                 "r"(place(from)), "r"(x), "r"(y) : "memory");
}
extern "C" __global__ void boxes(const __grid_constant__ tensor_map a, const __grid_constant__ tensor_map b,
                                 const __grid_constant__ tensor_map c, const __grid_constant__ tensor_map d,
                                 const __grid_constant__ tensor_map to, u32 *out) {
    __shared__ alignas(1024) u32 tile[4][1024];
    __shared__ u64 full;
    if (T == 0) {
        asm volatile("mbarrier.init.shared::cta.b64 [%0], 1;" ::"r"(place(&full)));
        asm volatile("mbarrier.arrive.expect_tx.shared::cta.b64 _, [%0], 9216;" ::"r"(place(&full)) : "memory");
        load_box(tile[0], a, &full, 32, 8);
        load_box(tile[1], b, &full, 16, 40);
        load_box(tile[2], c, &full, 8, 0);
        load_box(tile[3], d, &full, 4, 3);
    }
    __syncthreads();
    wait(&full, 0);
    for (int i = T; i < 4096; i += 128) {
        const u32 words = i < 1024 ? 1024 : i < 2048 ? 512 : i < 3072 ? 256 : 512;
        if (i % 1024 < words) out[i] = tile[i / 1024][i % 1024];
    }
    __syncthreads();
    for (int i = T; i < 1024; i += 128) tile[0][i] = tile[0][i] * 3 + i;
    asm volatile("fence.proxy.async.shared::cta;" ::: "memory");
    __syncthreads();
    if (T == 0) {
        store_box(to, tile[0], 0, 16);
        store_box(to, tile[0], 48, 56);
        asm volatile("cp.async.bulk.commit_group;\ncp.async.bulk.wait_group 0;" ::: "memory");
    }
}

// ---- numbers ----------------------------------------------------------------------------------

KERNEL(queens) {
    u32 columns[12], solutions = 0;
    int row = 1;
    columns[0] = T % 8, columns[1] = 0;
    while (row > 0) {
        bool free = columns[row] < 8;
        for (int k = 0; k < row && free; k++)
            free = columns[k] != columns[row] && abs(static_cast<int>(columns[k] - columns[row])) != row - k;
        if (columns[row] >= 8) {
            if (--row > 0) columns[row]++;
        } else if (!free) {
            columns[row]++;
        } else if (row == 5) {
            solutions = solutions * 7 + columns[row]++;
        } else {
            columns[++row] = 0;
        }
    }
    out[T] = solutions + in[T];
}

__device__ __noinline__ u32 ackermann(u32 m, u32 n) { return m == 0 ? n + 1 : ackermann(m - 1, n == 0 ? 1 : ackermann(m, n - 1)); }
KERNEL(recursion) { out[T] = ackermann(T % 3, in[T] % 4); }

KERNEL(sha256) {
    u32 w[64], s[8] = {0x6a09e667, 0xbb67ae85, 0x3c6ef372, 0xa54ff53a, 0x510e527f, 0x9b05688c, 0x1f83d9ab, 0x5be0cd19};
    for (int i = 0; i < 16; i++) w[i] = in[T * 16 + i];
    for (int i = 16; i < 64; i++)
        w[i] = w[i - 16] + w[i - 7] + (__funnelshift_r(w[i - 15], w[i - 15], 7) ^ __funnelshift_r(w[i - 15], w[i - 15], 18) ^ w[i - 15] >> 3) +
               (__funnelshift_r(w[i - 2], w[i - 2], 17) ^ __funnelshift_r(w[i - 2], w[i - 2], 19) ^ w[i - 2] >> 10);
    for (int i = 0; i < 64; i++) {
        const u32 t = s[7] + ((s[4] & s[5]) ^ (~s[4] & s[6])) + w[i] + i * 0x9e3779b9u +
                      (__funnelshift_r(s[4], s[4], 6) ^ __funnelshift_r(s[4], s[4], 11) ^ __funnelshift_r(s[4], s[4], 25));
        const u32 v = (__funnelshift_r(s[0], s[0], 2) ^ __funnelshift_r(s[0], s[0], 13) ^ __funnelshift_r(s[0], s[0], 22)) +
                      ((s[0] & s[1]) ^ (s[0] & s[2]) ^ (s[1] & s[2]));
        for (int k = 7; k > 0; k--) s[k] = s[k - 1];
        s[4] += t, s[0] = t + v;
    }
    for (int k = 0; k < 8; k++) out[T * 8 + k] = s[k];
}

// Multiplies two numbers of 256 bits.
KERNEL(long_numbers) {
    u64 a[4], b[4], c[8] = {};
    for (int i = 0; i < 4; i++) {
        a[i] = static_cast<u64>(in[T * 8 + 2 * i]) << 32 | in[T * 8 + 2 * i + 1];
        b[i] = static_cast<u64>(in[1024 + T * 8 + 2 * i]) << 32 | in[1024 + T * 8 + 2 * i + 1];
    }
    for (int i = 0; i < 4; i++) {
        u64 carry = 0;
        for (int j = 0; j < 4; j++) {
            asm("{\n.reg .u64 lo, hi;\nmul.lo.u64 lo, %2, %3;\nmul.hi.u64 hi, %2, %3;\nadd.cc.u64 lo, lo, %1;\n"
                "addc.u64 hi, hi, 0;\nadd.cc.u64 %0, %0, lo;\naddc.u64 %1, hi, 0;\n}" : "+l"(c[i + j]), "+l"(carry) : "l"(a[i]), "l"(b[j]));
        }
        c[i + 4] = carry;
    }
    for (int i = 0; i < 8; i++) reinterpret_cast<u64 *>(out)[T * 8 + i] = c[i] ^ (c[i] % (a[0] | 1));
}

// Floats, halves and doubles that are exact.
KERNEL(exact_floats) {
    float sum = 0;
    double product = 1;
    __half2 h = __floats2half2_rn(0, 0);
    __nv_bfloat162 g = __floats2bfloat162_rn(0, 0);
    for (int i = 0; i < 8; i++) {
        const int x = static_cast<int>(in[T * 8 + i] % 16) - 8;
        sum = fmaf(static_cast<float>(x), 0.25f, sum);
        product = product * (x == 0 ? 0.5 : x) - 3.0;
        h = __hfma2(__floats2half2_rn(x, 2 * x), __floats2half2_rn(0.5f, 1), h);
        g = __hadd2(g, __floats2bfloat162_rn(x, -x));
    }
    out[T] = __float_as_uint(sum);
    reinterpret_cast<double *>(out + 128)[T] = product;
    out[384 + T] = reinterpret_cast<u32 &>(h), out[512 + T] = reinterpret_cast<u32 &>(g);
    out[640 + T] = __half_as_ushort(__float2half_rn(sum * 1.0009765f)) | __bfloat16_as_ushort(__float2bfloat16_rn(sum * 1.001f)) << 16;
}

KERNEL(global_atomics) {
    const u32 x = in[T];
    atomicAdd(&out[x % 16], x);
    atomicXor(&out[16 + x % 16], x);
    atomicMax(reinterpret_cast<int *>(&out[32 + x % 4]), static_cast<int>(x));
    atomicMin(&out[36 + x % 4], x);
    atomicInc(&out[40], 100), atomicDec(&out[41], 50);
    atomicAdd(reinterpret_cast<unsigned long long *>(&out[42]), static_cast<unsigned long long>(x) << 20);
    atomicAdd(reinterpret_cast<float *>(&out[44]), 1.0f);
    atomicAnd(&out[45], x | 0xff), atomicOr(&out[46], x & 0xff00);
}
