/* Places of buffers for "ring_4" on "sm_90".
 * Made by spad 0.2.0; do not edit.
 *
 * identifier <- name
 *   X <- "x" (line 16)
 *   V <- "v" (agent "warps_0", line 19)
 */
/* clang-format off */
#ifndef RING_4_PLACES_H
#define RING_4_PLACES_H

#ifndef RING_4_INLINE
#if defined(__CUDACC__)
#define RING_4_INLINE static __host__ __device__ __forceinline__
#else
#define RING_4_INLINE static inline
#endif
#endif

/* "shared" */
#define RING_4_SHARED_TOTAL 65536
#ifndef RING_4_SHARED_LIMIT
#define RING_4_SHARED_LIMIT 232448
#endif
#if RING_4_SHARED_TOTAL > RING_4_SHARED_LIMIT
#error "SHARED: the buffers need more bytes than the memory has"
#endif

/* "registers" */
#define RING_4_REGISTERS_TOTAL 16384
#ifndef RING_4_REGISTERS_LIMIT
#define RING_4_REGISTERS_LIMIT 262144
#endif
#if RING_4_REGISTERS_TOTAL > RING_4_REGISTERS_LIMIT
#error "REGISTERS: the buffers need more bytes than the memory has"
#endif

/* "x" in "shared": (4096,) float32 */
#define RING_4_X_OFFSET 0
#define RING_4_X_BYTES 16384
#define RING_4_X_LANE 0
#define RING_4_X_LANES 1
#define RING_4_X_ALIGN 128
#define RING_4_X_RING 4
#define RING_4_X_STRIDE 16384
#if RING_4_X_OFFSET % RING_4_X_ALIGN != 0 || RING_4_X_STRIDE % RING_4_X_ALIGN != 0 || RING_4_X_LANE + RING_4_X_LANES > 1
#error "X: not aligned, or outside the lanes"
#endif
RING_4_INLINE long long ring_4_x_at(long long i) {
    const long long rest = i % RING_4_X_RING;
    const long long k = rest < 0 ? rest + RING_4_X_RING : rest;
    return RING_4_X_OFFSET + k * RING_4_X_STRIDE;
}
#if defined(__CUDACC__)
RING_4_INLINE float *ring_4_x_ptr(void *base, long long i) {
    return (float *)((char *)base + ring_4_x_at(i));
}
#endif

/* "v" in "registers": (4096,) float32 */
#define RING_4_V_OFFSET 0
#define RING_4_V_BYTES 16384
#define RING_4_V_LANE 0
#define RING_4_V_LANES 1
#define RING_4_V_ALIGN 4
#define RING_4_V_RING 1
#define RING_4_V_STRIDE 16384
#if RING_4_V_OFFSET % RING_4_V_ALIGN != 0 || RING_4_V_LANE + RING_4_V_LANES > 1
#error "V: not aligned, or outside the lanes"
#endif
RING_4_INLINE long long ring_4_v_at(long long i) {
    (void)i;
    return RING_4_V_OFFSET;
}
#if defined(__CUDACC__)
RING_4_INLINE float *ring_4_v_ptr(void *base, long long i) {
    return (float *)((char *)base + ring_4_v_at(i));
}
#endif

#endif
