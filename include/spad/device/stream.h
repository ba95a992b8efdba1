/* SPDX-License-Identifier: Apache-2.0
 *
 * stream: an order of work on a device, fence: a point in that order (an event in CUDA
 * and OpenCL), and copy: bytes between any two memories.
 *
 * A copy on a stream starts when everything before it on the stream is done and the call
 * returns at once. Work on a stream is ordered with the lifetime of memory: a
 * buffer can be freed right after the call that starts a copy of it, and its bytes
 * are used again only by work that comes later on the same stream, or once the
 * stream is done with it. A buffer that was last used on one stream and is now used on
 * another makes the second wait for what is on the first. Handles may be used by
 * several threads; one buffer by streams of one thread at a time.
 */
#ifndef SPAD_STREAM_H
#define SPAD_STREAM_H

#include "spad/device/buffer.h"

#ifdef __cplusplus
extern "C" {
#endif

typedef struct spad_stream {
    spad_device *device; /**< NULL: no stream */
    uint32_t slot;
    uint32_t generation;
} spad_stream;

/** Most streams of a device at one time. */
#define SPAD_STREAMS_MAX 1024

/** A new stream of the device. SPAD_ERR_NO_FIT: SPAD_STREAMS_MAX are open. */
SPAD_API spad_status spad_stream_open(spad_stream *out, spad_device *device, spad_error *error);

/** Wraps a stream of the driver that the caller owns, such as a cudaStream_t (NULL for the
 *  default stream). Closing does not close the driver's stream. */
SPAD_API spad_status spad_stream_wrap(spad_stream *out, spad_device *device, void *native,
                                      spad_error *error);

/** The driver's stream. */
SPAD_API spad_status spad_stream_get_native(void **out, spad_stream stream, spad_error *error);

/** Waits for the stream and closes it. SPAD_ERR_STALE: closed before. */
SPAD_API spad_status spad_stream_close(spad_stream stream, spad_error *error);

/** Returns when everything on the stream is done. */
SPAD_API spad_status spad_stream_wait(spad_stream stream, spad_error *error);

/* ---- memory in the order of a stream ----------------------------------------------- */

/** A block of global memory for work on this stream. When memory runs out, streams are waited for
 *  and the blocks that were given back to them are taken. Otherwise as spad_pool_alloc. */
SPAD_API spad_status spad_stream_alloc(spad_allocation *out, spad_stream stream, int64_t bytes,
                                       int64_t align, spad_error *error);

/** Gives a block back in the order of the stream: it can be reused at once by the same stream, and
 * by others when this one is done. It stays with the stream until that is closed, or until memory
 *  runs out. SPAD_ERR_STALE: given back before. */
SPAD_API spad_status spad_stream_free(spad_stream stream, const spad_allocation *block,
                                      spad_error *error);

/* ---- fences ------------------------------------------------------------------------ */

typedef struct spad_fence {
    spad_device *device;
    uint32_t slot;
    uint32_t generation;
} spad_fence;

/** A fence that is passed when everything that is on the stream now is done. */
SPAD_API spad_status spad_fence_record(spad_fence *out, spad_stream stream, spad_error *error);

/** *done: has the stream passed the fence? Does not wait. SPAD_ERR_STALE. */
SPAD_API spad_status spad_fence_done(bool *done, spad_fence fence, spad_error *error);

/** Returns when the stream has passed the fence. SPAD_ERR_STALE. */
SPAD_API spad_status spad_fence_wait(spad_fence fence, spad_error *error);

/** Later work on the stream waits for the fence. If that is of another device the caller
 *  waits. */
SPAD_API spad_status spad_stream_wait_fence(spad_stream stream, spad_fence fence,
                                            spad_error *error);

/** Frees a fence, passed or not. SPAD_ERR_STALE: freed before. */
SPAD_API spad_status spad_fence_free(spad_fence fence, spad_error *error);

/* ---- copies
 * -------------------------------------------------------------------------------------- Between
 * any two buffers, of the same or of different devices. Between two devices other than the host the
 * bytes go through host memory, in pieces, and the call waits. */

/** All bytes of `from` into `to`, which has as many: SPAD_ERR_BOUNDS otherwise. A destination with
 *  a SPAD_AUTO extent gets the shape of the source. SPAD_ERR_OVERLAP: they share bytes. Waits. */
SPAD_API spad_status spad_buffer_copy(spad_buffer to, spad_buffer from, spad_error *error);

/** The same on a stream of either device. */
SPAD_API spad_status spad_buffer_copy_async(spad_buffer to, spad_buffer from, spad_stream stream,
                                            spad_error *error);

/** `rows` rows of `width` bytes. A pitch is the distance of rows, at least the width; 0: the
 *  width. Zeroed rows: 1. */
typedef struct spad_copy_range {
    int64_t to_offset; /**< bytes from the beginning of the buffer */
    int64_t to_pitch;
    int64_t from_offset;
    int64_t from_pitch;
    int64_t width;
    int64_t rows;
} spad_copy_range;

/** A part. stream: NULL to wait. SPAD_ERR_BOUNDS: it is not inside a buffer. */
SPAD_API spad_status spad_buffer_copy_part(spad_buffer to, spad_buffer from,
                                           const spad_copy_range *range, const spad_stream *stream,
                                           spad_error *error);

/** A tile of a matrix: buffers of two or more dims are rows of the product of all but the first. */
typedef struct spad_copy_tile {
    int64_t to_row;
    int64_t to_column;
    int64_t from_row;
    int64_t from_column;
    int64_t rows;
    int64_t columns;
} spad_copy_tile;

/** Both have the same element type, of whole bytes (SPAD_ERR_DTYPE). */
SPAD_API spad_status spad_buffer_copy_matrix(spad_buffer to, spad_buffer from,
                                             const spad_copy_tile *tile, const spad_stream *stream,
                                             spad_error *error);

/** Copies memory of the program into a buffer, from byte `offset` on. stream: NULL to wait; on a
 *  stream the memory must not change until the stream is done. SPAD_ERR_BOUNDS. */
SPAD_API spad_status spad_buffer_write(spad_buffer to, int64_t offset, const void *from,
                                       int64_t bytes, const spad_stream *stream, spad_error *error);

/** Sets bytes of a buffer, from byte `offset` on, to a value. stream: NULL to wait. On Neuron,
 * which has no such call for streams, it waits for the stream. SPAD_ERR_BOUNDS. */
SPAD_API spad_status spad_buffer_fill(spad_buffer to, int64_t offset, int64_t bytes, uint8_t value,
                                      const spad_stream *stream, spad_error *error);

/** Copies bytes of a buffer, from byte `offset` on, to memory of the program. stream: NULL to
 *  wait; on a stream the memory is filled when the stream is done. SPAD_ERR_BOUNDS. */
SPAD_API spad_status spad_buffer_read(void *to, spad_buffer from, int64_t offset, int64_t bytes,
                                      const spad_stream *stream, spad_error *error);

#ifdef __cplusplus
}
#endif
#endif
