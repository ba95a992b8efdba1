// SPDX-License-Identifier: Apache-2.0
//
// C = A x B in bfloat16 on Hopper, A and B with rows of K, at the places that spad emitted from
// gemm.spad: one tile shape and one ring depth per header, each measured beside cuBLAS in the same
// run and compared with it. gemm.spad describes the kernel; examples/cuda/run_gemm builds and
// runs it.
#include <cublas_v2.h>

#include <algorithm>

#include "hopper.h" // cli/cuda

#include "gemm_places.h" // the emitted tables, and SHAPES(X): X(name, NAME, BM, BN, S, C)

using bf16 = __nv_bfloat16;
constexpr int BK = 64; // columns of a stage: 128 bytes, the width of the swizzle
constexpr int WARPGROUP = 128;

// ---- the kernel ---------------------------------------------------------------------------

struct tile_at {
    int row, column;
};

// Tiles in groups of `group` rows of tiles, column by column, so that they share B in L2.
__device__ __forceinline__ tile_at tile_of(int index, int rows, int columns, int group) {
    const int per_group = group * columns;
    const int first = index / per_group * group;
    const int height = min(rows - first, group);
    const int rest = index % per_group;
    return {first + rest % height, rest / height};
}

// Places gives the constants of one emitted table.
template <typename Places>
__device__ __forceinline__ void produce(unsigned char *shared, const CUtensorMap &a,
                                        const CUtensorMap &b, int rows, int columns, int steps,
                                        int group) {
    const uint32_t base = hopper::address_of(shared);
    int stage = 0, phase = 0;
    for (int t = blockIdx.x; t < rows * columns; t += gridDim.x) {
        const tile_at at = tile_of(t, rows, columns, group);
        for (int k = 0; k < steps; k++) {
            const uint32_t full = base + Places::full + 8 * stage;
            hopper::wait(base + Places::empty + 8 * stage, 1 - phase);
            hopper::arrive_expect(full, 2 * (Places::BM + Places::BN) * BK);
            hopper::load_box(base + Places::sa + stage * Places::sa_stride, a, k * BK,
                             at.row * Places::BM, full);
            hopper::load_box(base + Places::sb + stage * Places::sb_stride, b, k * BK,
                             at.column * Places::BN, full);
            if (++stage == Places::S) stage = 0, phase ^= 1;
        }
    }
}

// Turns the 4 x 4 words of four threads around: word k of thread q becomes word q of thread k.
__device__ __forceinline__ void turn(uint32_t (&v)[4]) {
#pragma unroll
    for (int distance = 1; distance <= 2; distance *= 2) {
        const bool upper = (threadIdx.x & distance) != 0;
#pragma unroll
        for (int i = 0; i < 4; i++) {
            if ((i & distance) != 0) continue;
            uint32_t &low = v[i], &high = v[i + distance];
            const uint32_t got = __shfl_xor_sync(0xFFFFFFFFu, upper ? low : high, distance);
            (upper ? low : high) = got;
        }
    }
}

__device__ __forceinline__ uint32_t pair_of(float low, float high) {
    const __nv_bfloat162 two = __floats2bfloat162_rn(low, high);
    return *reinterpret_cast<const uint32_t *>(&two);
}

// The results of one warpgroup: 16 rows a warp, two neighbouring columns of every eight a thread.
// Four threads exchange what they have, so that each stores 16 bytes and all four 64.
template <int N>
__device__ __forceinline__ void store(const float (&d)[N / 2], bf16 *c, int row, int column,
                                      int width) {
    const int thread = threadIdx.x % WARPGROUP;
    const int top = row + thread / 32 * 16 + thread % 32 / 4;
    bf16 *to = c + static_cast<long long>(top) * width + column + thread % 4 * 8;
#pragma unroll
    for (int j = 0; j < N / 32; j++) {
#pragma unroll
        for (int r = 0; r < 2; r++) { // the rows `top` and `top` + 8
            uint32_t v[4];
#pragma unroll
            for (int i = 0; i < 4; i++) {
                v[i] = pair_of(d[16 * j + 4 * i + 2 * r], d[16 * j + 4 * i + 2 * r + 1]);
            }
            turn(v);
            *reinterpret_cast<uint4 *>(to + 32 * j + 8ll * r * width) =
                make_uint4(v[0], v[1], v[2], v[3]);
        }
    }
}

template <typename Places>
__device__ __forceinline__ void consume(unsigned char *shared, int w, bf16 *c, int rows,
                                        int columns, int steps, int group) {
    constexpr int BLOCKS = Places::BM / Places::C / 64; // of 64 rows
    const uint32_t base = hopper::address_of(shared);
    const bool leader = threadIdx.x % WARPGROUP == 0;
    float d[BLOCKS][Places::BN / 2];
    int stage = 0, phase = 0;
    for (int t = blockIdx.x; t < rows * columns; t += gridDim.x) {
        const tile_at at = tile_of(t, rows, columns, group);
#pragma unroll
        for (int m = 0; m < BLOCKS; m++) {
#pragma unroll
            for (int i = 0; i < Places::BN / 2; i++) d[m][i] = 0.0f;
        }
        int before = 0;
        for (int k = 0; k < steps; k++) {
            hopper::wait(base + Places::full + 8 * stage, phase);
            hopper::start_products();
            const uint64_t b = hopper::descriptor(base + Places::sb + stage * Places::sb_stride);
            const uint64_t a = hopper::descriptor(base + Places::sa + stage * Places::sa_stride +
                                                  w * BLOCKS * 64 * BK * 2);
#pragma unroll
            for (int kk = 0; kk < BK / 16; kk++) { // 32 bytes on, in units of 16
#pragma unroll
                for (int m = 0; m < BLOCKS; m++) {
                    hopper::multiply<Places::BN>(d[m], a + 2 * kk + m * (64 * BK * 2 / 16),
                                                 b + 2 * kk);
                }
            }
            hopper::commit_products();
            if (Places::S == 1) {
                hopper::wait_products<0>();
                if (leader) hopper::arrive(base + Places::empty);
            } else if (k > 0) {
                hopper::wait_products<1>();
                if (leader) hopper::arrive(base + Places::empty + 8 * before);
            }
            before = stage;
            if (++stage == Places::S) stage = 0, phase ^= 1;
        }
        if (Places::S > 1) {
            hopper::wait_products<0>();
            if (leader) hopper::arrive(base + Places::empty + 8 * before);
        }
#pragma unroll
        for (int m = 0; m < BLOCKS; m++) {
            store<Places::BN>(d[m], c, at.row * Places::BM + (w * BLOCKS + m) * 64,
                              at.column * Places::BN, columns * Places::BN);
        }
    }
}

template <typename Places>
__global__ void __launch_bounds__(WARPGROUP *(Places::C + 1), 1)
    gemm(const __grid_constant__ CUtensorMap a, const __grid_constant__ CUtensorMap b, bf16 *c,
         int rows, int columns, int steps, int group) {
    extern __shared__ __align__(1024) unsigned char shared[];
    if (threadIdx.x == 0) {
        for (int s = 0; s < Places::S; s++) {
            hopper::init(hopper::address_of(shared) + Places::full + 8 * s, 1);
            hopper::init(hopper::address_of(shared) + Places::empty + 8 * s, Places::C);
        }
        hopper::fence_init();
    }
    __syncthreads();
    const int role = threadIdx.x / WARPGROUP;
    if (role == Places::C) {
        if (Places::C > 1) hopper::fewer_registers<40>();
        if (threadIdx.x % WARPGROUP == 0)
            produce<Places>(shared, a, b, rows, columns, steps, group);
    } else {
        if (Places::C > 1) hopper::more_registers<232>();
        consume<Places>(shared, role, c, rows, columns, steps, group);
    }
}

// ---- measuring ---------------------------------------------------------------------------------

struct problem {
    int m, n, k;
    bf16 *a, *b, *c, *right;
    int multiprocessors, group;
    double cublas_ms;
};

__global__ void fill(bf16 *to, long long count, uint32_t seed) {
    for (long long i = blockIdx.x * 256ll + threadIdx.x; i < count; i += gridDim.x * 256ll) {
        uint32_t x = static_cast<uint32_t>(i) * 2654435761u ^ seed;
        x ^= x >> 16, x *= 0x7feb352du, x ^= x >> 15, x *= 0x846ca68bu, x ^= x >> 16;
        to[i] = __float2bfloat16(static_cast<float>(x >> 8) / 8388608.0f - 1.0f);
    }
}

// Elements that differ by more than rounding from the product of cuBLAS.
__global__ void compare(const bf16 *c, const bf16 *right, long long count, int k,
                        unsigned long long *wrong) {
    for (long long i = blockIdx.x * 256ll + threadIdx.x; i < count; i += gridDim.x * 256ll) {
        const float x = __bfloat162float(c[i]), y = __bfloat162float(right[i]);
        if (!(fabsf(x - y) <= 0.01f * fabsf(y) + 2e-4f * sqrtf(static_cast<float>(k)))) {
            atomicAdd(wrong, 1);
        }
    }
}

static unsigned long long wrong_results(const problem &p) {
    unsigned long long *wrong, count;
    CHECK(cudaMalloc(&wrong, sizeof *wrong));
    CHECK(cudaMemset(wrong, 0, sizeof *wrong));
    compare<<<1024, 256>>>(p.c, p.right, static_cast<long long>(p.m) * p.n, p.k, wrong);
    CHECK(cudaMemcpy(&count, wrong, sizeof count, cudaMemcpyDeviceToHost));
    CHECK(cudaFree(wrong));
    return count;
}

template <typename Places> static bool run(const problem &p, int runs) {
    if (p.m % Places::BM != 0 || p.n % Places::BN != 0 || p.k % BK != 0) return true;
    const CUtensorMap a = hopper::boxes_of(p.a, p.m, p.k, Places::BM);
    const CUtensorMap b = hopper::boxes_of(p.b, p.n, p.k, Places::BN);
    const int rows = p.m / Places::BM, columns = p.n / Places::BN;
    const int blocks = std::min(p.multiprocessors, rows * columns);
    CHECK(cudaFuncSetAttribute(gemm<Places>, cudaFuncAttributeMaxDynamicSharedMemorySize,
                               Places::total));
    CHECK(cudaMemset(p.c, 0xFF, sizeof(bf16) * p.m * p.n));
    const float ms = hopper::median_of(runs, [&] {
        gemm<Places><<<blocks, WARPGROUP *(Places::C + 1), Places::total>>>(
            a, b, p.c, rows, columns, p.k / BK, p.group);
    });
    CHECK(cudaGetLastError());
    const unsigned long long wrong = wrong_results(p);
    std::printf("gemm,%d,%d,%d,%d,%d,%d,%d,%d,%.2f,%.1f,%.3f,%s\n", p.m, p.n, p.k, Places::BM,
                Places::BN, Places::C, Places::S, blocks, ms * 1e3, 2e-9 * p.m * p.n * p.k / ms,
                p.cublas_ms / ms, wrong == 0 ? "right" : "WRONG");
    std::fflush(stdout);
    return wrong == 0;
}

static double time_of_cublas(const problem &p, int runs) {
    cublasHandle_t handle;
    if (cublasCreate(&handle) != CUBLAS_STATUS_SUCCESS) std::exit(3);
    const float one = 1.0f, zero = 0.0f;
    const auto call = [&] { // column-major: the transposed product
        cublasGemmEx(handle, CUBLAS_OP_T, CUBLAS_OP_N, p.n, p.m, p.k, &one, p.b, CUDA_R_16BF, p.k,
                     p.a, CUDA_R_16BF, p.k, &zero, p.right, CUDA_R_16BF, p.n, CUBLAS_COMPUTE_32F,
                     CUBLAS_GEMM_DEFAULT);
    };
    const float ms = hopper::median_of(runs, call);
    cublasDestroy(handle);
    return ms;
}

static bool measure(int m, int n, int k, int runs, int group, int multiprocessors) {
    problem p = {m, n, k, nullptr, nullptr, nullptr, nullptr, multiprocessors, group, 0};
    const auto bytes = [](long long x, long long y) { return sizeof(bf16) * x * y; };
    CHECK(cudaMalloc(&p.a, bytes(m, k)));
    CHECK(cudaMalloc(&p.b, bytes(n, k)));
    CHECK(cudaMalloc(&p.c, bytes(m, n)));
    CHECK(cudaMalloc(&p.right, bytes(m, n)));
    fill<<<1024, 256>>>(p.a, static_cast<long long>(m) * k, 1);
    fill<<<1024, 256>>>(p.b, static_cast<long long>(n) * k, 2);
    p.cublas_ms = time_of_cublas(p, runs);
    std::printf("cublas,%d,%d,%d,,,,,,%.2f,%.1f,1.000,\n", m, n, k, p.cublas_ms * 1e3,
                2e-9 * m * n * k / p.cublas_ms);
    bool right = true;
#define X(name, BM, BN, S, C) right = run<name>(p, runs) && right;
    SHAPES(X)
#undef X
    CHECK(cudaFree(p.a));
    CHECK(cudaFree(p.b));
    CHECK(cudaFree(p.c));
    CHECK(cudaFree(p.right));
    return right;
}

// gemm RUNS GROUP M,N,K...
int main(int argc, char **argv) {
    const int runs = argc > 1 ? std::atoi(argv[1]) : 20;
    const int group = argc > 2 ? std::atoi(argv[2]) : 16;
    cudaDeviceProp device;
    CHECK(cudaGetDeviceProperties(&device, 0));
    if (device.major != 9) {
        std::fprintf(stderr, "gemm: needs compute capability 9.0; %s has %d.%d\n", device.name,
                     device.major, device.minor);
        return 77;
    }
    std::printf("kernel,m,n,k,bm,bn,consumers,stages,blocks,us,tflops,of_cublas,result\n");
    bool right = true;
    for (int i = 3; i < argc; i++) {
        int m, n, k;
        if (std::sscanf(argv[i], "%d,%d,%d", &m, &n, &k) != 3) {
            std::fprintf(stderr, "gemm: %s is no M,N,K\n", argv[i]);
            return 2;
        }
        right = measure(m, n, k, runs, group, device.multiProcessorCount) && right;
    }
    return right ? 0 : 1;
}
