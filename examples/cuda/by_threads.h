// SPDX-License-Identifier: Apache-2.0
//
// Copies to shared memory that threads issue (cp.async), as the measurements of blocks that copy
// that way have them: 16 bytes a thread, in groups.
#ifndef SPAD_EXAMPLES_BY_THREADS_H
#define SPAD_EXAMPLES_BY_THREADS_H

#include <cstdint>

__device__ __forceinline__ void copy16(uint32_t to, const char *from) {
    asm volatile("cp.async.cg.shared.global [%0], [%1], 16;" ::"r"(to), "l"(from) : "memory");
}
__device__ __forceinline__ void commit() {
    asm volatile("cp.async.commit_group;" ::: "memory");
}
template <int P> __device__ __forceinline__ void wait_copies() {
    asm volatile("cp.async.wait_group %0;" ::"n"(P) : "memory");
}

#endif
