// SPDX-License-Identifier: Apache-2.0
//
// Attention forward in bfloat16 on Hopper, head dimension 128, at the places that spad emitted from
// attention.spad: tiles of 64 or 128 rows of K and V and one ring depth per header. A sample of the
// rows is computed again by a plain kernel in single precision. examples/cuda/validate builds and
// runs it.
#include <algorithm>
#include <cmath>

#include "hopper.h" // cli/cuda

#include "attention_places.h" // the emitted tables, and SHAPES(X): X(name, BN, S)

using bf16 = __nv_bfloat16;
constexpr int D = 128;    // of a head: two halves of 64 columns, the width of the swizzle
constexpr int ROWS = 128; // of Q in a block
constexpr int WARPGROUP = 128;
constexpr int HALF = 64;

// ---- the kernel ---------------------------------------------------------------------------

// Both halves of `rows` rows, one after the other.
__device__ __forceinline__ void load_rows(uint32_t to, const CUtensorMap &map, int row, int rows,
                                          uint32_t barrier) {
    hopper::arrive_expect(barrier, rows * D * 2);
    hopper::load_box(to, map, 0, row, barrier);
    hopper::load_box(to + rows * HALF * 2, map, HALF, row, barrier);
}

template <typename Places>
__device__ __forceinline__ void produce(uint32_t base, const CUtensorMap &q, const CUtensorMap &k,
                                        const CUtensorMap &v, int length) {
    const int head = blockIdx.y * length;
    int stage = 0, phase = 0;
    load_rows(base + Places::sq, q, head + blockIdx.x * ROWS, ROWS, base + Places::q_full);
    for (int row = 0; row < length; row += Places::BN) {
        hopper::wait(base + Places::k_empty + 8 * stage, 1 - phase);
        load_rows(base + Places::sk + stage * Places::stride, k, head + row, Places::BN,
                  base + Places::k_full + 8 * stage);
        hopper::wait(base + Places::v_empty + 8 * stage, 1 - phase);
        load_rows(base + Places::sv + stage * Places::stride, v, head + row, Places::BN,
                  base + Places::v_full + 8 * stage);
        if (++stage == Places::S) stage = 0, phase ^= 1;
    }
}

__device__ __forceinline__ float exp2_of(float x) {
    float y;
    asm("ex2.approx.ftz.f32 %0, %1;" : "=f"(y) : "f"(x));
    return y;
}

__device__ __forceinline__ float over_row(float x, bool largest) { // the four threads of a row
#pragma unroll
    for (int lane = 1; lane <= 2; lane *= 2) {
        const float y = __shfl_xor_sync(0xFFFFFFFFu, x, lane);
        x = largest ? fmaxf(x, y) : x + y;
    }
    return x;
}

__device__ __forceinline__ uint32_t pair_of(float low, float high) {
    const __nv_bfloat162 two = __floats2bfloat162_rn(low, high);
    return *reinterpret_cast<const uint32_t *>(&two);
}

// s becomes exp2 of its distance from the largest of its row so far; sums and results so far are
// scaled to the new largest. Element 4 j + 2 r + c of a thread is in its row r (0 or 1).
template <int BN>
__device__ __forceinline__ void softmax(float (&s)[BN / 2], float (&o)[D / 2], float (&top)[2],
                                        float (&sum)[2], float scale) {
#pragma unroll
    for (int r = 0; r < 2; r++) {
        float largest = top[r];
#pragma unroll
        for (int j = 0; j < BN / 8; j++) {
            largest = fmaxf(largest, fmaxf(s[4 * j + 2 * r], s[4 * j + 2 * r + 1]));
        }
        largest = over_row(largest, true);
        const float rescale = exp2_of((top[r] - largest) * scale);
        top[r] = largest;
        sum[r] *= rescale;
#pragma unroll
        for (int j = 0; j < BN / 8; j++) {
#pragma unroll
            for (int c = 0; c < 2; c++) {
                float &x = s[4 * j + 2 * r + c];
                x = exp2_of(x * scale - largest * scale);
                sum[r] += x;
            }
        }
#pragma unroll
        for (int j = 0; j < D / 8; j++) {
            o[4 * j + 2 * r] *= rescale;
            o[4 * j + 2 * r + 1] *= rescale;
        }
    }
}

template <int BN>
__device__ __forceinline__ void scores(float (&s)[BN / 2], uint32_t q, uint32_t k) {
#pragma unroll
    for (int i = 0; i < BN / 2; i++) s[i] = 0.0f;
    hopper::start_products();
#pragma unroll
    for (int half = 0; half < 2; half++) {
        const uint64_t a = hopper::descriptor(q + half * ROWS * HALF * 2);
        const uint64_t b = hopper::descriptor(k + half * BN * HALF * 2);
#pragma unroll
        for (int kk = 0; kk < 4; kk++) hopper::multiply<BN>(s, a + 2 * kk, b + 2 * kk);
    }
    hopper::commit_products();
    hopper::wait_products<0>();
}

template <int BN>
__device__ __forceinline__ void values(float (&o)[D / 2], const float (&p)[BN / 2], uint32_t v) {
    uint32_t a[BN / 16][4];
#pragma unroll
    for (int j = 0; j < BN / 16; j++) {
#pragma unroll
        for (int i = 0; i < 4; i++) a[j][i] = pair_of(p[8 * j + 2 * i], p[8 * j + 2 * i + 1]);
    }
    hopper::start_products();
#pragma unroll
    for (int j = 0; j < BN / 16; j++) { // 16 rows of V, halves of the columns BN * 128 bytes apart
        hopper::multiply_registers<D>(o, a[j],
                                      hopper::descriptor(v + j * 16 * 128, 1024, BN * 128));
    }
    hopper::commit_products();
    hopper::wait_products<0>();
}

template <typename Places>
__device__ __forceinline__ void consume(uint32_t base, int w, bf16 *out, int length, float scale) {
    constexpr int BN = Places::BN;
    const int thread = threadIdx.x % WARPGROUP;
    float s[BN / 2], o[D / 2], top[2] = {-INFINITY, -INFINITY}, sum[2] = {0.0f, 0.0f};
#pragma unroll
    for (int i = 0; i < D / 2; i++) o[i] = 0.0f;
    int stage = 0, phase = 0;
    hopper::wait(base + Places::q_full, 0);
    for (int row = 0; row < length; row += BN) {
        hopper::wait(base + Places::k_full + 8 * stage, phase);
        scores<BN>(s, base + Places::sq + w * 64 * HALF * 2,
                   base + Places::sk + stage * Places::stride);
        if (thread == 0) hopper::arrive(base + Places::k_empty + 8 * stage);
        softmax<BN>(s, o, top, sum, scale);
        hopper::wait(base + Places::v_full + 8 * stage, phase);
        values<BN>(o, s, base + Places::sv + stage * Places::stride);
        if (thread == 0) hopper::arrive(base + Places::v_empty + 8 * stage);
        if (++stage == Places::S) stage = 0, phase ^= 1;
    }
    const long long first = static_cast<long long>(blockIdx.y) * length + blockIdx.x * ROWS;
    const int top_row = w * 64 + thread / 32 * 16 + thread % 32 / 4;
    bf16 *to = out + (first + top_row) * D + thread % 4 * 2;
#pragma unroll
    for (int r = 0; r < 2; r++) {
        const float over = 1.0f / over_row(sum[r], false);
#pragma unroll
        for (int j = 0; j < D / 8; j++) {
            *reinterpret_cast<__nv_bfloat162 *>(to + 8 * r * D + 8 * j) =
                __floats2bfloat162_rn(o[4 * j + 2 * r] * over, o[4 * j + 2 * r + 1] * over);
        }
    }
}

template <typename Places>
__global__ void __launch_bounds__(3 * WARPGROUP, 1)
    attention(const __grid_constant__ CUtensorMap q, const __grid_constant__ CUtensorMap k,
              const __grid_constant__ CUtensorMap v, bf16 *out, int length, float scale) {
    extern __shared__ __align__(1024) unsigned char shared[];
    const uint32_t base = hopper::address_of(shared);
    if (threadIdx.x == 0) {
        hopper::init(base + Places::q_full, 1);
        for (int s = 0; s < Places::S; s++) {
            hopper::init(base + Places::k_full + 8 * s, 1);
            hopper::init(base + Places::v_full + 8 * s, 1);
            hopper::init(base + Places::k_empty + 8 * s, 2);
            hopper::init(base + Places::v_empty + 8 * s, 2);
        }
        hopper::fence_init();
    }
    __syncthreads();
    const int role = threadIdx.x / WARPGROUP;
    if (role == 2) {
        hopper::fewer_registers<24>();
        if (threadIdx.x % WARPGROUP == 0) produce<Places>(base, q, k, v, length);
    } else {
        hopper::more_registers<240>();
        consume<Places>(base, role, out, length, scale);
    }
}

// ---- the same, plainly, for some rows
// ------------------------------------------------------------

__global__ void plain(const bf16 *q, const bf16 *k, const bf16 *v, const bf16 *out, int length,
                      float scale, int every, unsigned long long *wrong) {
    extern __shared__ float room[]; // the scores of one row
    const long long row = static_cast<long long>(blockIdx.x) * every;
    const long long head = row / length * length;
    for (int j = threadIdx.x; j < length; j += blockDim.x) {
        float dot = 0.0f;
        for (int d = 0; d < D; d++) {
            dot += __bfloat162float(q[row * D + d]) * __bfloat162float(k[(head + j) * D + d]);
        }
        room[j] = dot * scale;
    }
    __syncthreads();
    float top = -INFINITY, sum = 0.0f, mine = 0.0f;
    for (int j = 0; j < length; j++) top = fmaxf(top, room[j]);
    for (int j = 0; j < length; j++) {
        const float p = exp2f(room[j] - top);
        sum += p;
        mine += p * __bfloat162float(v[(head + j) * D + threadIdx.x]);
    }
    const float right = mine / sum, ours = __bfloat162float(out[row * D + threadIdx.x]);
    if (!(fabsf(right - ours) <= 0.02f * fabsf(right) + 2e-3f)) atomicAdd(wrong, 1);
}

// ---- measuring
// -----------------------------------------------------------------------------------

struct problem {
    int heads, length;
    bf16 *q, *k, *v, *out;
};

__global__ void fill(bf16 *to, long long count, uint32_t seed) {
    for (long long i = blockIdx.x * 256ll + threadIdx.x; i < count; i += gridDim.x * 256ll) {
        uint32_t x = static_cast<uint32_t>(i) * 2654435761u ^ seed;
        x ^= x >> 16, x *= 0x7feb352du, x ^= x >> 15, x *= 0x846ca68bu, x ^= x >> 16;
        to[i] = __float2bfloat16(static_cast<float>(x >> 8) / 8388608.0f - 1.0f);
    }
}

static unsigned long long wrong_results(const problem &p, float scale) {
    unsigned long long *wrong, count;
    const int every = 509;
    CHECK(cudaMalloc(&wrong, sizeof *wrong));
    CHECK(cudaMemset(wrong, 0, sizeof *wrong));
    plain<<<p.heads * p.length / every, D, p.length * sizeof(float)>>>(
        p.q, p.k, p.v, p.out, p.length, scale, every, wrong);
    CHECK(cudaGetLastError());
    CHECK(cudaMemcpy(&count, wrong, sizeof count, cudaMemcpyDeviceToHost));
    CHECK(cudaFree(wrong));
    return count;
}

template <typename Places> static bool run(const problem &p, int runs) {
    const long long rows = static_cast<long long>(p.heads) * p.length;
    const CUtensorMap q = hopper::boxes_of(p.q, rows, D, ROWS);
    const CUtensorMap k = hopper::boxes_of(p.k, rows, D, Places::BN);
    const CUtensorMap v = hopper::boxes_of(p.v, rows, D, Places::BN);
    const float scale = 1.4426950408889634f / std::sqrt(static_cast<float>(D)); // for exp2
    const dim3 blocks(p.length / ROWS, p.heads);
    CHECK(cudaFuncSetAttribute(attention<Places>, cudaFuncAttributeMaxDynamicSharedMemorySize,
                               Places::total));
    CHECK(cudaMemset(p.out, 0xFF, rows * D * sizeof(bf16)));
    const float ms = hopper::median_of(runs, [&] {
        attention<Places>
            <<<blocks, 3 * WARPGROUP, Places::total>>>(q, k, v, p.out, p.length, scale);
    });
    CHECK(cudaGetLastError());
    const unsigned long long wrong = wrong_results(p, scale);
    std::printf("attention,%d,%d,%d,%d,%d,%.2f,%.1f,%s\n", p.heads, p.length, Places::BN, Places::S,
                static_cast<int>(blocks.x * blocks.y), ms * 1e3, 4e-9 * rows * p.length * D / ms,
                wrong == 0 ? "right" : "WRONG");
    std::fflush(stdout);
    return wrong == 0;
}

// attention RUNS HEADS,LENGTH...
int main(int argc, char **argv) {
    const int runs = argc > 1 ? std::atoi(argv[1]) : 20;
    cudaDeviceProp device;
    CHECK(cudaGetDeviceProperties(&device, 0));
    if (device.major != 9) {
        std::fprintf(stderr, "attention: needs compute capability 9.0; %s has %d.%d\n", device.name,
                     device.major, device.minor);
        return 77;
    }
    std::printf("kernel,heads,length,bn,stages,blocks,us,tflops,result\n");
    bool right = true;
    for (int i = 2; i < argc; i++) {
        problem p;
        if (std::sscanf(argv[i], "%d,%d", &p.heads, &p.length) != 2 || p.length % ROWS != 0) {
            std::fprintf(stderr, "attention: %s is no HEADS,LENGTH\n", argv[i]);
            return 2;
        }
        const long long count = static_cast<long long>(p.heads) * p.length * D;
        bf16 **all[4] = {&p.q, &p.k, &p.v, &p.out};
        for (bf16 **one : all) CHECK(cudaMalloc(one, count * sizeof(bf16)));
        fill<<<1024, 256>>>(p.q, count, 1);
        fill<<<1024, 256>>>(p.k, count, 2);
        fill<<<1024, 256>>>(p.v, count, 3);
#define X(name, BN, S) right = run<name>(p, runs) && right;
        SHAPES(X)
#undef X
        for (bf16 **one : all) CHECK(cudaFree(*one));
    }
    return right ? 0 : 1;
}
