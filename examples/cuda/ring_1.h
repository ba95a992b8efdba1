/* Places of buffers for "ring_1" on "sm_90".
 * Made by spad 0.2.0; do not edit.
 *
 * identifier <- name
 *   X <- "x" (line 16)
 *   V <- "v" (agent "warps_0", line 19)
 */
/* clang-format off */
#ifndef RING_1_PLACES_H
#define RING_1_PLACES_H

#ifndef RING_1_INLINE
#if defined(__CUDACC__)
#define RING_1_INLINE static __host__ __device__ __forceinline__
#else
#define RING_1_INLINE static inline
#endif
#endif

/* "shared" */
#define RING_1_SHARED_TOTAL 16384
#ifndef RING_1_SHARED_LIMIT
#define RING_1_SHARED_LIMIT 232448
#endif
#if RING_1_SHARED_TOTAL > RING_1_SHARED_LIMIT
#error "SHARED: the buffers need more bytes than the memory has"
#endif

/* "registers" */
#define RING_1_REGISTERS_TOTAL 16384
#ifndef RING_1_REGISTERS_LIMIT
#define RING_1_REGISTERS_LIMIT 262144
#endif
#if RING_1_REGISTERS_TOTAL > RING_1_REGISTERS_LIMIT
#error "REGISTERS: the buffers need more bytes than the memory has"
#endif

/* "x" in "shared": (4096,) float32 */
#define RING_1_X_OFFSET 0
#define RING_1_X_BYTES 16384
#define RING_1_X_LANE 0
#define RING_1_X_LANES 1
#define RING_1_X_ALIGN 128
#define RING_1_X_RING 1
#define RING_1_X_STRIDE 16384
#if RING_1_X_OFFSET % RING_1_X_ALIGN != 0 || RING_1_X_LANE + RING_1_X_LANES > 1
#error "X: not aligned, or outside the lanes"
#endif
RING_1_INLINE long long ring_1_x_at(long long i) {
    (void)i;
    return RING_1_X_OFFSET;
}
#if defined(__CUDACC__)
RING_1_INLINE float *ring_1_x_ptr(void *base, long long i) {
    return (float *)((char *)base + ring_1_x_at(i));
}
#endif

/* "v" in "registers": (4096,) float32 */
#define RING_1_V_OFFSET 0
#define RING_1_V_BYTES 16384
#define RING_1_V_LANE 0
#define RING_1_V_LANES 1
#define RING_1_V_ALIGN 4
#define RING_1_V_RING 1
#define RING_1_V_STRIDE 16384
#if RING_1_V_OFFSET % RING_1_V_ALIGN != 0 || RING_1_V_LANE + RING_1_V_LANES > 1
#error "V: not aligned, or outside the lanes"
#endif
RING_1_INLINE long long ring_1_v_at(long long i) {
    (void)i;
    return RING_1_V_OFFSET;
}
#if defined(__CUDACC__)
RING_1_INLINE float *ring_1_v_ptr(void *base, long long i) {
    return (float *)((char *)base + ring_1_v_at(i));
}
#endif

#endif
