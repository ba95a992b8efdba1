/* Places of buffers for "ring_6" on "sm_90".
 * Made by spad 0.2.0; do not edit.
 *
 * identifier <- name
 *   X <- "x" (line 16)
 *   V <- "v" (agent "warps_0", line 19)
 */
/* clang-format off */
#ifndef RING_6_PLACES_H
#define RING_6_PLACES_H

#ifndef RING_6_INLINE
#if defined(__CUDACC__)
#define RING_6_INLINE static __host__ __device__ __forceinline__
#else
#define RING_6_INLINE static inline
#endif
#endif

/* "shared" */
#define RING_6_SHARED_TOTAL 98304
#ifndef RING_6_SHARED_LIMIT
#define RING_6_SHARED_LIMIT 232448
#endif
#if RING_6_SHARED_TOTAL > RING_6_SHARED_LIMIT
#error "SHARED: the buffers need more bytes than the memory has"
#endif

/* "registers" */
#define RING_6_REGISTERS_TOTAL 16384
#ifndef RING_6_REGISTERS_LIMIT
#define RING_6_REGISTERS_LIMIT 262144
#endif
#if RING_6_REGISTERS_TOTAL > RING_6_REGISTERS_LIMIT
#error "REGISTERS: the buffers need more bytes than the memory has"
#endif

/* "x" in "shared": (4096,) float32 */
#define RING_6_X_OFFSET 0
#define RING_6_X_BYTES 16384
#define RING_6_X_LANE 0
#define RING_6_X_LANES 1
#define RING_6_X_ALIGN 128
#define RING_6_X_RING 6
#define RING_6_X_STRIDE 16384
#if RING_6_X_OFFSET % RING_6_X_ALIGN != 0 || RING_6_X_STRIDE % RING_6_X_ALIGN != 0 || RING_6_X_LANE + RING_6_X_LANES > 1
#error "X: not aligned, or outside the lanes"
#endif
RING_6_INLINE long long ring_6_x_at(long long i) {
    const long long rest = i % RING_6_X_RING;
    const long long k = rest < 0 ? rest + RING_6_X_RING : rest;
    return RING_6_X_OFFSET + k * RING_6_X_STRIDE;
}
#if defined(__CUDACC__)
RING_6_INLINE float *ring_6_x_ptr(void *base, long long i) {
    return (float *)((char *)base + ring_6_x_at(i));
}
#endif

/* "v" in "registers": (4096,) float32 */
#define RING_6_V_OFFSET 0
#define RING_6_V_BYTES 16384
#define RING_6_V_LANE 0
#define RING_6_V_LANES 1
#define RING_6_V_ALIGN 4
#define RING_6_V_RING 1
#define RING_6_V_STRIDE 16384
#if RING_6_V_OFFSET % RING_6_V_ALIGN != 0 || RING_6_V_LANE + RING_6_V_LANES > 1
#error "V: not aligned, or outside the lanes"
#endif
RING_6_INLINE long long ring_6_v_at(long long i) {
    (void)i;
    return RING_6_V_OFFSET;
}
#if defined(__CUDACC__)
RING_6_INLINE float *ring_6_v_ptr(void *base, long long i) {
    return (float *)((char *)base + ring_6_v_at(i));
}
#endif

#endif
