// SPDX-License-Identifier: Apache-2.0
//
// The figures of a Hopper GPU that the cost model of a target needs, each measured alone: rates
// and latencies of wgmma, of bulk copies by size and depth, of arithmetic, barriers and stores.
// One line per figure: name,parameters,value,unit,spread (of the middle half of the runs, in %).
// `spad calibrate` compiles and runs this, and fits a target file to it.
#include <algorithm>
#include <vector>

#include "hopper.h"

using bf16 = __nv_bfloat16;
constexpr int WARPGROUP = 128;

static int multiprocessors;

static void report(const char *name, const char *parameters, std::vector<double> values,
                   const char *unit) {
    std::sort(values.begin(), values.end());
    const size_t n = values.size();
    const double middle = values[n / 2];
    const double spread = 100.0 * (values[3 * n / 4] - values[n / 4]) / middle;
    std::printf("%s,%s,%.4g,%s,%.1f\n", name, parameters, middle, unit, spread);
    std::fflush(stdout);
}

__device__ __forceinline__ long long now() {
    long long ns;
    asm volatile("mov.u64 %0, %globaltimer;" : "=l"(ns));
    return ns;
}

// What one block measured: cycles of its multiprocessor and nanoseconds.
struct span {
    long long cycles, ns;
};

template <typename Launch> static std::vector<span> spans_of(int blocks, Launch launch) {
    span *device;
    CHECK(cudaMalloc(&device, blocks * sizeof(span)));
    std::vector<span> all;
    for (int run = 0; run < 9; run++) {
        launch(device);
        CHECK(cudaGetLastError());
        CHECK(cudaDeviceSynchronize());
        std::vector<span> some(blocks);
        CHECK(cudaMemcpy(some.data(), device, blocks * sizeof(span), cudaMemcpyDeviceToHost));
        if (run > 1) all.insert(all.end(), some.begin(), some.end());
    }
    CHECK(cudaFree(device));
    return all;
}

static std::vector<double> cycles_of(const std::vector<span> &all, double over) {
    std::vector<double> values;
    for (const span &s : all) values.push_back(static_cast<double>(s.cycles) / over);
    return values;
}

static std::vector<double> ns_of(const std::vector<span> &all, double over) {
    std::vector<double> values;
    for (const span &s : all) values.push_back(static_cast<double>(s.ns) / over);
    return values;
}

__device__ __forceinline__ uint32_t mixed(uint32_t x) {
    x ^= x >> 16, x *= 0x7feb352du, x ^= x >> 15, x *= 0x846ca68bu;
    return x ^ x >> 16;
}

// ---- wgmma ---------------------------------------------------------------------------------

// Each warpgroup multiplies the same random tiles: `group` products, then a wait for all but one
// group (or for all). The results go to memory so that they are computed.
template <int N, bool ONE_BY_ONE>
__global__ void __launch_bounds__(256, 1) products(span *out, float *sink, int rounds) {
    extern __shared__ __align__(1024) unsigned char shared[];
    uint32_t *words = reinterpret_cast<uint32_t *>(shared);
    for (int i = threadIdx.x; i < (64 + N) * 64 / 2; i += blockDim.x) { // bfloat16 around 1
        const uint32_t x = mixed(i + 7919 * blockIdx.x);
        words[i] = (x & 0x807F807Fu) | 0x3F803F80u;
    }
    asm volatile("fence.proxy.async.shared::cta;" ::: "memory");
    __syncthreads();
    const uint32_t base = hopper::address_of(shared);
    const uint64_t a = hopper::descriptor(base), b = hopper::descriptor(base + 64 * 64 * 2);
    float d[N / 2];
#pragma unroll
    for (int i = 0; i < N / 2; i++) d[i] = 0.0f;
    const long long ns = now(), cycles = clock64();
    for (int r = 0; r < rounds; r++) {
        hopper::start_products();
        if (ONE_BY_ONE) {
            hopper::multiply<N>(d, a, b);
            hopper::commit_products();
            hopper::wait_products<0>();
        } else {
#pragma unroll
            for (int kk = 0; kk < 4; kk++) hopper::multiply<N>(d, a + 2 * kk, b + 2 * kk);
            hopper::commit_products();
            hopper::wait_products<1>();
        }
    }
    hopper::wait_products<0>();
    if (threadIdx.x == 0) out[blockIdx.x] = {clock64() - cycles, now() - ns};
    float sum = 0.0f;
#pragma unroll
    for (int i = 0; i < N / 2; i++) sum += d[i];
    sink[blockIdx.x * blockDim.x + threadIdx.x] = sum;
}

template <int N> static void measure_products(float *sink) {
    const int rounds = 4096, bytes = (64 + N) * 64 * 2;
    char text[64];
    CHECK(cudaFuncSetAttribute(products<N, false>, cudaFuncAttributeMaxDynamicSharedMemorySize,
                               bytes));
    CHECK(cudaFuncSetAttribute(products<N, true>, cudaFuncAttributeMaxDynamicSharedMemorySize,
                               bytes));
    for (int groups = 1; groups <= 2; groups++) {
        const auto all = spans_of(multiprocessors, [&](span *out) {
            products<N, false><<<multiprocessors, WARPGROUP * groups, bytes>>>(out, sink, rounds);
        });
        std::snprintf(text, sizeof text, "n=%d warpgroups=%d", N, groups);
        report("wgmma_rate", text, cycles_of(all, 4.0 * rounds * groups), "cycles");
        std::vector<double> clock;
        for (const span &s : all) clock.push_back(static_cast<double>(s.cycles) / s.ns);
        report("clock", text, clock, "GHz");
    }
    const auto alone = spans_of(
        1, [&](span *out) { products<N, true><<<1, WARPGROUP, bytes>>>(out, sink, rounds); });
    std::snprintf(text, sizeof text, "n=%d", N);
    report("wgmma_latency", text, cycles_of(alone, rounds), "cycles");
}

// ---- bulk copies --------------------------------------------------------------------------------

// One thread keeps `depth` boxes of rows x 64 bfloat16 in flight. Row blocks are taken every
// `stride`, from `first` on, modulo `blocks`.
__global__ void copies(span *out, const __grid_constant__ CUtensorMap map, int rows, int depth,
                       int count, int first, int stride, int blocks) {
    extern __shared__ __align__(1024) unsigned char shared[];
    const uint32_t base = hopper::address_of(shared);
    const int bytes = rows * 128;
    const uint32_t barriers = base + depth * bytes;
    if (threadIdx.x != 0) return;
    for (int s = 0; s < depth; s++) hopper::init(barriers + 8 * s, 1);
    hopper::fence_init();
    int block = blockIdx.x * first % blocks;
    const auto start = [&](int s) {
        hopper::arrive_expect(barriers + 8 * s, bytes);
        hopper::load_box(base + s * bytes, map, 0, block * rows, barriers + 8 * s);
        block += stride;
        if (block >= blocks) block -= blocks;
    };
    const long long ns = now(), cycles = clock64();
    for (int s = 0; s < depth; s++) start(s);
    for (int i = 0, s = 0, parity = 0; i < count; i++) {
        hopper::wait(barriers + 8 * s, parity);
        if (i + depth < count) start(s);
        if (++s == depth) s = 0, parity ^= 1;
    }
    out[blockIdx.x] = {clock64() - cycles, now() - ns};
}

static void measure_copies(const bf16 *memory, long long bytes, const char *name, bool apart) {
    char text[64];
    CHECK(cudaFuncSetAttribute(copies, cudaFuncAttributeMaxDynamicSharedMemorySize, 227 << 10));
    for (int rows : {8, 32, 64, 128, 256}) {
        const int size = rows * 128;
        const CUtensorMap map = hopper::boxes_of(memory, bytes / 128, 64, rows);
        const int blocks = static_cast<int>(bytes / size);
        for (int depth : {1, 2, 3, 4, 6, 8, 12}) {
            if (depth * (size + 8) > 227 << 10) continue;
            for (int grid : {1, multiprocessors}) {
                if (grid == 1 && depth > 4) continue;
                const int count = 768;
                const auto all = spans_of(grid, [&](span *out) {
                    copies<<<grid, 32, depth *(size + 8)>>>(
                        out, map, rows, depth, count, apart ? 1 : 37, apart ? grid : 1, blocks);
                });
                std::snprintf(text, sizeof text, "bytes=%d depth=%d blocks=%d", size, depth, grid);
                report(name, text, ns_of(all, count), "ns");
            }
        }
    }
}

// ---- tiles that blocks share --------------------------------------------------------------------

// As a matrix product loads, without the product: a stage has one box of A and one of B, blocks in
// a column of `group` share B, every group-th shares A. After `steps` boxes along a row the next
// rows are taken, `shift` boxes on: 0 takes the same ones again.
__global__ void tiles(span *out, const __grid_constant__ CUtensorMap map, int rows, int depth,
                      int count, int steps, int group, int shift) {
    extern __shared__ __align__(1024) unsigned char shared[];
    const uint32_t base = hopper::address_of(shared);
    const int bytes = rows * 128;
    const uint32_t barriers = base + depth * 2 * bytes;
    if (threadIdx.x != 0) return;
    for (int s = 0; s < depth; s++) hopper::init(barriers + 8 * s, 1);
    hopper::fence_init();
    int a = blockIdx.x % group, b = group + blockIdx.x / group, k = 0;
    const auto start = [&](int s) {
        hopper::arrive_expect(barriers + 8 * s, 2 * bytes);
        hopper::load_box(base + 2 * s * bytes, map, k * 64, a * rows, barriers + 8 * s);
        hopper::load_box(base + (2 * s + 1) * bytes, map, k * 64, b * rows, barriers + 8 * s);
        if (++k == steps) k = 0, a += shift, b += shift;
    };
    const long long ns = now(), cycles = clock64();
    for (int s = 0; s < depth; s++) start(s);
    for (int i = 0, s = 0, parity = 0; i < count; i++) {
        hopper::wait(barriers + 8 * s, parity);
        if (i + depth < count) start(s);
        if (++s == depth) s = 0, parity ^= 1;
    }
    out[blockIdx.x] = {clock64() - cycles, now() - ns};
}

static void measure_tiles(const bf16 *memory, const char *name, bool apart) {
    const int columns = 4096, steps = columns / 64, count = 8 * steps, group = 16;
    char text[64];
    CHECK(cudaFuncSetAttribute(tiles, cudaFuncAttributeMaxDynamicSharedMemorySize, 227 << 10));
    for (int rows : {64, 128}) {
        const CUtensorMap map = hopper::boxes_of(memory, 1 << 16, columns, rows);
        for (int depth : {1, 2, 3, 4, 6}) {
            const int size = 2 * rows * 128;
            const auto all = spans_of(multiprocessors, [&](span *out) {
                tiles<<<multiprocessors, 32, depth *(size + 8)>>>(out, map, rows, depth, count,
                                                                  steps, group, apart ? 32 : 0);
            });
            std::snprintf(text, sizeof text, "bytes=%d depth=%d group=%d", size, depth, group);
            report(name, text, ns_of(all, count), "ns");
        }
    }
}

// ---- arithmetic, shared memory, barriers
// -----------------------------------------------------------

enum work { FMA, EXP2, CONVERT, ADD, SHUFFLE, LOAD_SHARED, STORE_SHARED };

template <int WORK>
__global__ void __launch_bounds__(1024) arithmetic(span *out, float *sink, int rounds) {
    __shared__ float4 room[1024];
    float x[8];
#pragma unroll
    for (int i = 0; i < 8; i++) x[i] = 0.001f * static_cast<float>(threadIdx.x + i);
    room[threadIdx.x] = make_float4(x[0], x[1], x[2], x[3]);
    __syncthreads();
    const long long ns = now(), cycles = clock64();
#pragma unroll 8
    for (int r = 0; r < rounds; r++) {
#pragma unroll
        for (int i = 0; i < 8; i++) {
            if (WORK == FMA) x[i] = __fmaf_rn(x[i], 0.999f, 0.5f);
            if (WORK == ADD) x[i] = __fadd_rn(x[i], 0.5f);
            if (WORK == EXP2) asm volatile("ex2.approx.ftz.f32 %0, %0;" : "+f"(x[i]));
            if (WORK == CONVERT) {
                uint32_t two;
                asm volatile("cvt.rn.bf16x2.f32 %0, %1, %1;" : "=r"(two) : "f"(x[i]));
                x[i] = __uint_as_float(two);
            }
            if (WORK == SHUFFLE) x[i] = __shfl_xor_sync(0xFFFFFFFFu, x[i], 1);
            if (WORK == LOAD_SHARED) {
                float4 v;
                asm volatile("ld.volatile.shared.v4.f32 {%0, %1, %2, %3}, [%4];"
                             : "=f"(v.x), "=f"(v.y), "=f"(v.z), "=f"(v.w)
                             : "r"(hopper::address_of(&room[threadIdx.x])));
                x[i] += v.x;
            }
            if (WORK == STORE_SHARED) {
                asm volatile("st.volatile.shared.v4.f32 [%0], {%1, %1, %1, %1};" ::"r"(
                                 hopper::address_of(&room[threadIdx.x])),
                             "f"(x[i])
                             : "memory");
            }
        }
    }
    __syncthreads();
    if (threadIdx.x == 0) out[blockIdx.x] = {clock64() - cycles, now() - ns};
    float sum = 0.0f;
#pragma unroll
    for (int i = 0; i < 8; i++) sum += x[i];
    sink[blockIdx.x * blockDim.x + threadIdx.x] = sum + room[threadIdx.x].x;
}

template <int WORK>
static void measure_arithmetic(const char *name, float *sink, int per_call, const char *unit) {
    for (int threads : {128, 256, 512, 1024}) {
        const int rounds = 2048;
        const auto all = spans_of(multiprocessors, [&](span *out) {
            arithmetic<WORK><<<multiprocessors, threads>>>(out, sink, rounds);
        });
        std::vector<double> rate;
        for (const span &s : all) {
            rate.push_back(8.0 * per_call * rounds * threads / static_cast<double>(s.cycles));
        }
        char text[64];
        std::snprintf(text, sizeof text, "threads=%d", threads);
        report(name, text, rate, unit);
    }
}

// Two warps hand each other the turn through two mbarriers.
__global__ void ping(span *out, int rounds) {
    __shared__ uint64_t barriers[2];
    const uint32_t mine = hopper::address_of(&barriers[threadIdx.x / 32]);
    const uint32_t other = hopper::address_of(&barriers[1 - threadIdx.x / 32]);
    if (threadIdx.x == 0) {
        hopper::init(mine, 1), hopper::init(other, 1);
        hopper::fence_init();
    }
    __syncthreads();
    const long long ns = now(), cycles = clock64();
    for (int i = 0; i < rounds; i++) {
        if (threadIdx.x == 0) hopper::arrive(other);
        hopper::wait(mine, i % 2);
        if (threadIdx.x == 32) hopper::arrive(other);
    }
    if (threadIdx.x == 0) out[blockIdx.x] = {clock64() - cycles, now() - ns};
}

// Named barriers between two warpgroups.
__global__ void meet(span *out, int rounds) {
    const long long ns = now(), cycles = clock64();
    for (int i = 0; i < rounds; i++) asm volatile("bar.sync 1, 256;" ::: "memory");
    if (threadIdx.x == 0) out[blockIdx.x] = {clock64() - cycles, now() - ns};
}

// ---- stores and launches
// -------------------------------------------------------------------------

// As a product stores its result: 16 rows a warp, 4 bytes a thread; or 16 bytes a thread.
template <bool FRAGMENT> __global__ void stores(bf16 *to, long long width, int rows, int columns) {
    const int thread = threadIdx.x % 32, warp = threadIdx.x / 32;
    const long long tile = blockIdx.x;
    const long long per_row = width / columns;
    bf16 *at = to + tile / per_row * rows * width + tile % per_row * columns;
    if (FRAGMENT) {
        for (int r = warp * 16; r < rows; r += blockDim.x / 32 * 16) {
            for (int j = 0; j < columns / 8; j++) {
                bf16 *p = at + (r + thread / 4) * width + thread % 4 * 2 + 8 * j;
                *reinterpret_cast<__nv_bfloat162 *>(p) = __floats2bfloat162_rn(j, r);
                *reinterpret_cast<__nv_bfloat162 *>(p + 8 * width) = __floats2bfloat162_rn(j, r);
            }
        }
    } else {
        for (int r = warp; r < rows; r += blockDim.x / 32) {
            for (int c = thread * 8; c < columns; c += 256) {
                *reinterpret_cast<uint4 *>(at + r * width + c) = make_uint4(r, c, r, c);
            }
        }
    }
}

__global__ void nothing() {}

static void measure_stores(bf16 *memory, long long bytes) {
    const long long width = 8192, rows = bytes / 2 / width;
    for (bool fragment : {true, false}) {
        std::vector<double> rate;
        for (int run = 0; run < 5; run++) {
            const int grid = static_cast<int>(rows / 128 * (width / 256));
            const float ms = hopper::median_of(9, [&] {
                if (fragment) {
                    stores<true><<<grid, 256>>>(memory, width, 128, 256);
                } else {
                    stores<false><<<grid, 256>>>(memory, width, 128, 256);
                }
            });
            rate.push_back(static_cast<double>(bytes) / ms * 1e-6);
        }
        report("store", fragment ? "4 bytes a thread" : "16 bytes a thread", rate, "GB/s");
    }
}

// Reads and writes at the same time.
__global__ void both_ways(const uint4 *from, uint4 *to, long long count) {
    const long long step = static_cast<long long>(gridDim.x) * blockDim.x;
    for (long long i = static_cast<long long>(blockIdx.x) * blockDim.x + threadIdx.x; i < count;
         i += 4 * step) {
        uint4 v[4];
#pragma unroll
        for (int j = 0; j < 4; j++) v[j] = i + j * step < count ? from[i + j * step] : uint4{};
#pragma unroll
        for (int j = 0; j < 4; j++) {
            if (i + j * step < count) to[i + j * step] = v[j];
        }
    }
}

// A thread reads and adds; or writes.
__global__ void one_way(const uint4 *from, uint4 *to, long long count, bool writes) {
    const long long step = static_cast<long long>(gridDim.x) * blockDim.x;
    uint32_t sum = 0;
    for (long long i = static_cast<long long>(blockIdx.x) * blockDim.x + threadIdx.x; i < count;
         i += 4 * step) {
#pragma unroll
        for (int j = 0; j < 4; j++) {
            if (i + j * step >= count) continue;
            if (writes) {
                to[i + j * step] = make_uint4(i, i, i, i);
            } else {
                sum += from[i + j * step].x;
            }
        }
    }
    if (sum == 12345) to[0].x = sum;
}

// Bytes that cross the memory per second: reads alone, writes alone, as many of both.
static void measure_directions(bf16 *memory, long long bytes) {
    uint4 *from = reinterpret_cast<uint4 *>(memory), *to = from + bytes / sizeof(uint4);
    const long long count = bytes / sizeof(uint4);
    const char *const names[] = {"reads", "writes", "both"};
    for (int kind = 0; kind < 3; kind++) {
        std::vector<double> rate;
        for (int run = 0; run < 5; run++) {
            const float ms = hopper::median_of(9, [&] {
                if (kind == 2) {
                    both_ways<<<16 * multiprocessors, 256>>>(from, to, count);
                } else {
                    one_way<<<16 * multiprocessors, 256>>>(from, to, count, kind == 1);
                }
            });
            rate.push_back(static_cast<double>(kind == 2 ? 2 * bytes : bytes) / ms * 1e-6);
        }
        report("memory", names[kind], rate, "GB/s");
    }
}

// The work of a block that starts, brings one box and ends.
__global__ void short_block(const __grid_constant__ CUtensorMap map, uint32_t *to, int boxes) {
    extern __shared__ __align__(1024) unsigned char shared[];
    const uint32_t base = hopper::address_of(shared), barrier = base + (192 << 10);
    if (threadIdx.x == 0) {
        hopper::init(barrier, 1);
        hopper::fence_init();
    }
    __syncthreads();
    for (int i = 0; i < boxes; i++) {
        if (threadIdx.x == 0) {
            hopper::arrive_expect(barrier, 16384);
            hopper::load_box(base, map, 0, (blockIdx.x % 64) * 128, barrier);
        }
        hopper::wait(barrier, i % 2);
        __syncthreads();
    }
    to[blockIdx.x * blockDim.x + threadIdx.x] = reinterpret_cast<uint32_t *>(shared)[threadIdx.x];
}

// Microseconds from one wave of blocks to the next: with nothing to do, with one box, with nine.
static void measure_blocks(const bf16 *memory, float *sink) {
    const CUtensorMap map = hopper::boxes_of(memory, 1 << 16, 64, 128);
    const int room = 200 << 10;
    CHECK(cudaFuncSetAttribute(short_block, cudaFuncAttributeMaxDynamicSharedMemorySize, room));
    for (int boxes : {0, 1, 9}) {
        std::vector<double> us;
        for (int run = 0; run < 9; run++) {
            const auto time_of = [&](int waves) {
                return 1e3 * hopper::median_of(21, [&] {
                           short_block<<<waves * multiprocessors, 384, room>>>(
                               map, reinterpret_cast<uint32_t *>(sink), boxes);
                       });
            };
            us.push_back((time_of(17) - time_of(1)) / 16);
        }
        char text[64];
        std::snprintf(text, sizeof text, "boxes=%d", boxes);
        report("block", text, us, "us");
    }
}

static void measure_launch() {
    std::vector<double> us, both;
    CHECK(cudaFuncSetAttribute(nothing, cudaFuncAttributeMaxDynamicSharedMemorySize, 200 << 10));
    for (int run = 0; run < 9; run++) {
        us.push_back(1e3 *
                     hopper::median_of(21, [] { nothing<<<multiprocessors, 384, 200 << 10>>>(); }));
        both.push_back(1e3 * hopper::median_of(21, [] {
                           nothing<<<multiprocessors, 384, 200 << 10>>>();
                           nothing<<<multiprocessors, 384, 200 << 10>>>();
                       }));
    }
    for (size_t i = 0; i < us.size(); i++) both[i] -= us[i];
    report("launch", "first", us, "us");
    report("launch", "next", both, "us");
}

static void measure_all(float *sink, bf16 *memory, long long bytes) {
    measure_products<64>(sink);
    measure_products<128>(sink);
    measure_products<256>(sink);
    measure_copies(memory, 8 << 20, "copy_cache", false);
    measure_copies(memory, bytes, "copy_memory", true);
    measure_tiles(memory, "tiles_cache", false);
    measure_tiles(memory, "tiles_memory", true);
    measure_arithmetic<FMA>("fma", sink, 1, "per cycle");
    measure_arithmetic<ADD>("add", sink, 1, "per cycle");
    measure_arithmetic<EXP2>("exp", sink, 1, "per cycle");
    measure_arithmetic<CONVERT>("convert", sink, 1, "per cycle");
    measure_arithmetic<SHUFFLE>("shuffle", sink, 1, "per cycle");
    measure_arithmetic<LOAD_SHARED>("load_shared", sink, 16, "bytes per cycle");
    measure_arithmetic<STORE_SHARED>("store_shared", sink, 16, "bytes per cycle");
    const auto turns = spans_of(1, [](span *out) { ping<<<1, 64>>>(out, 4096); });
    report("mbarrier", "a turn", cycles_of(turns, 2 * 4096), "cycles");
    const auto meetings = spans_of(1, [](span *out) { meet<<<1, 256>>>(out, 4096); });
    report("named_barrier", "threads=256", cycles_of(meetings, 4096), "cycles");
    measure_stores(memory, 1ll << 30);
    measure_directions(memory, 1ll << 30);
    measure_blocks(memory, sink);
    measure_launch();
}

// figures [DEVICE]
int main(int argc, char **argv) {
    const int number = argc > 1 ? std::atoi(argv[1]) : 0;
    cudaDeviceProp device;
    CHECK(cudaSetDevice(number));
    CHECK(cudaGetDeviceProperties(&device, number));
    if (device.major != 9) {
        std::fprintf(stderr, "%s has compute capability %d.%d; these measurements need 9.0\n",
                     device.name, device.major, device.minor);
        return 77;
    }
    multiprocessors = device.multiProcessorCount;
    std::printf("name,parameters,value,unit,spread\n");
    std::printf("units,%s,%d,multiprocessors,0\n", device.name, multiprocessors);
    std::printf("cache,L2,%d,bytes,0\n", device.l2CacheSize);
    float *sink;
    bf16 *memory;
    const long long bytes = 4ll << 30;
    CHECK(cudaMalloc(&sink, 1 << 24));
    CHECK(cudaMalloc(&memory, bytes));
    CHECK(cudaMemset(memory, 0x3F, bytes));
    measure_all(sink, memory, bytes);
    CHECK(cudaFree(sink));
    CHECK(cudaFree(memory));
    return 0;
}
