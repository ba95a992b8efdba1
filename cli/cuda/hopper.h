// SPDX-License-Identifier: Apache-2.0
//
// What our kernels need of Hopper: mbarriers, bulk tensor copies, wgmma on bfloat16, tensor
// maps, and a clock. The instructions are those of NVIDIA's PTX ISA (sections mbarrier,
// cp.async.bulk.tensor, wgmma); names are ours.
#ifndef SPAD_CUDA_HOPPER_H
#define SPAD_CUDA_HOPPER_H

#include <cuda.h>
#include <cuda_bf16.h>
#include <cuda_runtime.h>

#include <cstdint>
#include <cstdio>
#include <cstdlib>

#define CHECK(call)                                                               \
    do {                                                                          \
        const cudaError_t status_ = (call);                                       \
        if (status_ != cudaSuccess) {                                             \
            std::fprintf(stderr, "%s: %s\n", #call, cudaGetErrorString(status_)); \
            std::exit(3);                                                         \
        }                                                                         \
    } while (0)

namespace hopper {

// ---- mbarriers ----------------------------------------------------------------------------

__device__ __forceinline__ uint32_t address_of(const void *shared) {
    return static_cast<uint32_t>(__cvta_generic_to_shared(shared));
}

__device__ __forceinline__ void init(uint32_t barrier, int count) {
    asm volatile("mbarrier.init.shared::cta.b64 [%0], %1;" ::"r"(barrier), "r"(count));
}

// Barriers that were just initialised become visible to the copy engine and to other blocks.
__device__ __forceinline__ void fence_init() {
    asm volatile("fence.mbarrier_init.release.cluster;" ::: "memory");
    asm volatile("fence.proxy.async.shared::cta;" ::: "memory");
}

__device__ __forceinline__ void arrive(uint32_t barrier) {
    asm volatile("mbarrier.arrive.shared::cta.b64 _, [%0];" ::"r"(barrier) : "memory");
}

__device__ __forceinline__ void arrive_expect(uint32_t barrier, int bytes) {
    asm volatile("mbarrier.arrive.expect_tx.shared::cta.b64 _, [%0], %1;" ::"r"(barrier), "r"(bytes)
                 : "memory");
}

__device__ __forceinline__ void wait(uint32_t barrier, int parity) {
    asm volatile("{\n"
                 ".reg .pred done;\n"
                 "again:\n"
                 "mbarrier.try_wait.parity.shared::cta.b64 done, [%0], %1;\n"
                 "@!done bra again;\n"
                 "}\n" ::"r"(barrier),
                 "r"(parity)
                 : "memory");
}

// ---- copies --------------------------------------------------------------------------------

// One box of a two-dimensional tensor, columns first, into shared memory.
__device__ __forceinline__ void load_box(uint32_t to, const CUtensorMap &map, int column, int row,
                                         uint32_t barrier) {
    asm volatile("cp.async.bulk.tensor.2d.shared::cluster.global.tile.mbarrier::complete_tx::bytes "
                 "[%0], [%1, {%2, %3}], [%4];" ::"r"(to),
                 "l"(&map), "r"(column), "r"(row), "r"(barrier)
                 : "memory");
}

// A run of bytes, a multiple of 16.
__device__ __forceinline__ void load_bytes(uint32_t to, const void *from, int bytes,
                                           uint32_t barrier) {
    asm volatile(
        "cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes [%0], [%1], %2, [%3];" ::
            "r"(to),
        "l"(from), "r"(bytes), "r"(barrier)
        : "memory");
}

// ---- wgmma -----------------------------------------------------------------------------------

// The descriptor of rows of 128 bytes with the 128-byte swizzle: `group` bytes from 8 rows to the
// next 8, `leading` between blocks of 64 columns of a transposed operand.
__device__ __forceinline__ uint64_t descriptor(uint32_t shared, int group = 1024,
                                               int leading = 16) {
    return static_cast<uint64_t>((shared & 0x3FFFF) >> 4) |
           static_cast<uint64_t>(leading >> 4) << 16 | static_cast<uint64_t>(group >> 4) << 32 |
           1ull << 62;
}

__device__ __forceinline__ void start_products() {
    asm volatile("wgmma.fence.sync.aligned;" ::: "memory");
}

__device__ __forceinline__ void commit_products() {
    asm volatile("wgmma.commit_group.sync.aligned;" ::: "memory");
}

template <int PENDING> __device__ __forceinline__ void wait_products() {
    asm volatile("wgmma.wait_group.sync.aligned %0;" ::"n"(PENDING) : "memory");
}

// The registers of 32, 64 or 128 sums, in the text of an instruction and as its operands.
#define HOPPER_SUMS_32                                                       \
    "%0, %1, %2, %3, %4, %5, %6, %7, %8, %9, %10, %11, %12, %13, %14, %15, " \
    "%16, %17, %18, %19, %20, %21, %22, %23, %24, %25, %26, %27, %28, %29, %30, %31"
#define HOPPER_SUMS_64                                                                 \
    HOPPER_SUMS_32                                                                     \
    ", %32, %33, %34, %35, %36, %37, %38, %39, %40, %41, %42, %43, %44, %45, %46, %47" \
    ", %48, %49, %50, %51, %52, %53, %54, %55, %56, %57, %58, %59, %60, %61, %62, %63"
#define HOPPER_SUMS_128                                                                            \
    HOPPER_SUMS_64                                                                                 \
    ", %64, %65, %66, %67, %68, %69, %70, %71, %72, %73, %74, %75, %76, %77, %78, %79"             \
    ", %80, %81, %82, %83, %84, %85, %86, %87, %88, %89, %90, %91, %92, %93, %94, %95"             \
    ", %96, %97, %98, %99, %100, %101, %102, %103, %104, %105, %106, %107, %108, %109, %110, %111" \
    ", %112, %113, %114, %115, %116, %117, %118, %119, %120, %121, %122, %123, %124, %125, %126, " \
    "%127"
#define HOPPER_OF_8(d, i)                                                                       \
    "+f"(d[i]), "+f"(d[i + 1]), "+f"(d[i + 2]), "+f"(d[i + 3]), "+f"(d[i + 4]), "+f"(d[i + 5]), \
        "+f"(d[i + 6]), "+f"(d[i + 7])
#define HOPPER_OF_32(d, i) \
    HOPPER_OF_8(d, i), HOPPER_OF_8(d, i + 8), HOPPER_OF_8(d, i + 16), HOPPER_OF_8(d, i + 24)
#define HOPPER_OF_64(d, i) HOPPER_OF_32(d, i), HOPPER_OF_32(d, i + 32)

// NAME<N>(d, a, b): d += a x b for 64 x N results and 16 products each, a and b in shared memory.
// TYPES are those of a and b; BY_COLUMN is "1" if b has its columns in a row. SUMS and the last
// arguments are the sums, A and B the numbers of the operands after them.
#define HOPPER_PRODUCT(NAME, TYPES, BY_COLUMN, N, SUMS, A, B, ...)                               \
    template <>                                                                                  \
    __device__ __forceinline__ void NAME<N>(float(&d)[N / 2], uint64_t a, uint64_t b) {          \
        asm volatile("wgmma.mma_async.sync.aligned.m64n" #N "k16.f32." TYPES " {" SUMS "}, %" #A \
                     ", %" #B ", 1, 1, 1, 0, " BY_COLUMN ";"                                     \
                     : __VA_ARGS__                                                               \
                     : "l"(a), "l"(b));                                                          \
    }
#define HOPPER_PRODUCTS(NAME, TYPES, BY_COLUMN)                                                \
    template <int N> __device__ void NAME(float(&d)[N / 2], uint64_t a, uint64_t b);           \
    HOPPER_PRODUCT(NAME, TYPES, BY_COLUMN, 64, HOPPER_SUMS_32, 32, 33, HOPPER_OF_32(d, 0))     \
    HOPPER_PRODUCT(NAME, TYPES, BY_COLUMN, 128, HOPPER_SUMS_64, 64, 65, HOPPER_OF_64(d, 0))    \
    HOPPER_PRODUCT(NAME, TYPES, BY_COLUMN, 256, HOPPER_SUMS_128, 128, 129, HOPPER_OF_64(d, 0), \
                   HOPPER_OF_64(d, 64))

HOPPER_PRODUCTS(multiply, "bf16.bf16", "0")

// d += a x b with the 64 x 16 of a in registers and b, 16 rows of N columns, transposed.
template <int N>
__device__ void multiply_registers(float (&d)[N / 2], const uint32_t (&a)[4], uint64_t b);

template <>
__device__ __forceinline__ void multiply_registers<64>(float (&d)[32], const uint32_t (&a)[4],
                                                       uint64_t b) {
    asm volatile("wgmma.mma_async.sync.aligned.m64n64k16.f32.bf16.bf16 {" HOPPER_SUMS_32
                 "}, {%32, %33, %34, %35}, %36, 1, 1, 1, 1;"
                 : HOPPER_OF_32(d, 0)
                 : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "l"(b));
}

template <>
__device__ __forceinline__ void multiply_registers<128>(float (&d)[64], const uint32_t (&a)[4],
                                                        uint64_t b) {
    asm volatile("wgmma.mma_async.sync.aligned.m64n128k16.f32.bf16.bf16 {" HOPPER_SUMS_64
                 "}, {%64, %65, %66, %67}, %68, 1, 1, 1, 1;"
                 : HOPPER_OF_64(d, 0)
                 : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "l"(b));
}

template <int REGISTERS> __device__ __forceinline__ void more_registers() {
    asm volatile("setmaxnreg.inc.sync.aligned.u32 %0;" ::"n"(REGISTERS));
}

template <int REGISTERS> __device__ __forceinline__ void fewer_registers() {
    asm volatile("setmaxnreg.dec.sync.aligned.u32 %0;" ::"n"(REGISTERS));
}

// ---- host ------------------------------------------------------------------------------------

// Boxes of box_rows x 64 bfloat16 of a row-major matrix, with the 128-byte swizzle.
inline CUtensorMap boxes_of(const void *matrix, long long rows, long long columns, int box_rows) {
    static decltype(&cuTensorMapEncodeTiled) encode = nullptr;
    if (encode == nullptr) {
        void *found = nullptr;
        cudaDriverEntryPointQueryResult result;
        CHECK(cudaGetDriverEntryPointByVersion("cuTensorMapEncodeTiled", &found, 12000,
                                               cudaEnableDefault, &result));
        encode = reinterpret_cast<decltype(encode)>(found);
    }
    CUtensorMap map;
    const cuuint64_t sizes[2] = {static_cast<cuuint64_t>(columns), static_cast<cuuint64_t>(rows)};
    const cuuint64_t strides[1] = {static_cast<cuuint64_t>(columns) * sizeof(__nv_bfloat16)};
    const cuuint32_t box[2] = {64, static_cast<cuuint32_t>(box_rows)};
    const cuuint32_t steps[2] = {1, 1};
    const CUresult status =
        encode(&map, CU_TENSOR_MAP_DATA_TYPE_BFLOAT16, 2, const_cast<void *>(matrix), sizes,
               strides, box, steps, CU_TENSOR_MAP_INTERLEAVE_NONE, CU_TENSOR_MAP_SWIZZLE_128B,
               CU_TENSOR_MAP_L2_PROMOTION_L2_256B, CU_TENSOR_MAP_FLOAT_OOB_FILL_NONE);
    if (status != CUDA_SUCCESS) {
        std::fprintf(stderr, "cuTensorMapEncodeTiled: error %d\n", static_cast<int>(status));
        std::exit(3);
    }
    return map;
}

// The median milliseconds of `runs` calls after two that warm up.
template <typename Call> float median_of(int runs, Call call) {
    cudaEvent_t begin, end;
    CHECK(cudaEventCreate(&begin));
    CHECK(cudaEventCreate(&end));
    float took[64];
    if (runs > 64) runs = 64;
    for (int i = -2; i < runs; i++) {
        CHECK(cudaEventRecord(begin));
        call();
        CHECK(cudaEventRecord(end));
        CHECK(cudaEventSynchronize(end));
        float ms;
        CHECK(cudaEventElapsedTime(&ms, begin, end));
        int at = i;
        for (; at > 0 && took[at - 1] > ms; at--) took[at] = took[at - 1];
        if (i >= 0) took[at] = ms;
    }
    CHECK(cudaEventDestroy(begin));
    CHECK(cudaEventDestroy(end));
    return took[runs / 2];
}

} // namespace hopper

#endif
