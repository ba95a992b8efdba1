/* SPDX-License-Identifier: Apache-2.0
 *
 * The tensors of a translated run: connected ranges of bytes that its accesses touch.
 *
 * PTX has addresses and no tensors. Two accesses that share bytes have to be accesses to one
 * tensor, so the ranges of all accesses are joined where they overlap. What remains are the stages
 * of rings, tiles and variables of the source, as far as the program keeps them apart. O(runs log
 * runs).
 */
#ifndef SPAD_FRONTEND_PTX_TENSORS_H
#define SPAD_FRONTEND_PTX_TENSORS_H

#include "frontend/ptx/ptx_log.h"

/* Bytes [begin, end) of the shared memory of a CTA, or of each lane of its tensor memory. */
typedef struct spad__ptx_tensor {
    int32_t cta;
    bool tensor_memory;
    bool atomic; /* some accesses are strong: flags and counters */
    bool remote; /* other CTAs of the cluster access it */
    int64_t begin;
    int64_t end;
    int64_t row; /* in the kernel; -1: not declared yet */
} spad__ptx_tensor;

typedef struct spad__ptx_tensors {
    SPAD_ARRAY(spad__ptx_tensor) items; /* in the order of memory, CTA, bytes */
} spad__ptx_tensors;

/* False: no memory. */
bool spad__ptx_find_tensors(spad__ptx_tensors *out, const spad__ptx_log *log);
void spad__ptx_tensors_free(spad__ptx_tensors *tensors, const spad_host *host);

/* The tensor that has these bytes. O(log tensors). */
spad__ptx_tensor *spad__ptx_tensor_of(const spad__ptx_tensors *tensors, bool tensor_memory,
                                      int32_t cta, int64_t begin);

#endif
