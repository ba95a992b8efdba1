/* SPDX-License-Identifier: Apache-2.0
 *
 * torch: the functions that PyTorch's pluggable CUDA allocator needs, so that PyTorch
 * can take its memory from a pool of spad:
 *
 *     allocator = torch.cuda.memory.CUDAPluggableAllocator(
 *         "libspad_device.so", "spad_torch_alloc", "spad_torch_free")
 *     torch.cuda.memory.change_current_allocator(allocator)
 *
 * They work in the order of streams, as spad_stream_alloc does. PyTorch passes no object to
 * them, so this is the one place of the library with state of its own: a device for each
 * number, opened at first use and never closed. Thread-safe.
 */
#ifndef SPAD_TORCH_H
#define SPAD_TORCH_H

#include <stddef.h>

#include "spad/device/device.h"

#ifdef __cplusplus
extern "C" {
#endif

/** Memory for work on a stream of CUDA device number `device`; NULL: the device is full.
 *  PyTorch does not check for NULL, so do not exceed the memory of the device. */
SPAD_API void *spad_torch_alloc(ptrdiff_t bytes, int device, void *stream);

/** Frees memory in the order of the stream. Memory from elsewhere is ignored. */
SPAD_API void spad_torch_free(void *memory, ptrdiff_t bytes, int device, void *stream);

/** Optional, for PyTorch's set_record_stream_fn: the memory is also used on another stream. After
 *  its free it is reused only after the work that was on that stream at the time of the free. If
 *  the stream cannot be recorded, because SPAD_STREAMS_MAX are open or host memory is exhausted,
 *  the memory is never reused. */
SPAD_API void spad_torch_record_stream(void *memory, void *stream);

/** The device with a number, for statistics; NULL: not used yet. Do not close it. */
SPAD_API spad_device *spad_torch_get_device(int device);

#ifdef __cplusplus
}
#endif
#endif
