/* SPDX-License-Identifier: Apache-2.0
 *
 * buffer: a typed, shaped piece of a device's memory, with aliases of it and workspaces
 * that are reused.
 *
 * A handle is plain data. Once its buffer is freed every use is SPAD_ERR_STALE. All
 * functions may be called by several threads.
 */
#ifndef SPAD_BUFFER_H
#define SPAD_BUFFER_H

#include "spad/device/device.h"

#ifdef __cplusplus
extern "C" {
#endif

typedef struct spad_buffer {
    spad_device *device; /**< NULL: no buffer */
    uint32_t slot;
    uint32_t generation;
} spad_buffer;

/** An extent that is not known yet; one of a shape. */
#define SPAD_AUTO INT64_MIN

/** What to allocate. Zeroed fields are defaults. */
typedef struct spad_buffer_spec {
    spad_shape shape; /**< fixed or computed at run time; with one SPAD_AUTO extent the buffer
                           gets its memory when data is bound to it (spad_buffer_bind) */
    spad_dtype dtype; /**< needed */
    spad_memory_scope scope; /**< default: global */
    int64_t alignment;       /**< a power of two; 0: the memory's own */
    const char *name;        /**< for reports; copied; NULL: unnamed */
} spad_buffer_spec;

/**
 * SPAD_ERR_NO_FIT: see spad_pool_alloc; a smaller request may succeed. SPAD_ERR_SHAPE,
 * SPAD_ERR_DTYPE, SPAD_ERR_ALIGNMENT, SPAD_ERR_OVERFLOW, SPAD_ERR_SPACE (the target
 * has no such scratchpad).
 */
SPAD_API spad_status spad_buffer_alloc(spad_buffer *out, spad_device *device,
                                       const spad_buffer_spec *spec, spad_error *error);

/** Frees it; its aliases become stale with it. After copies on a stream the memory goes back
 *  when they are done. No buffer is fine. SPAD_ERR_STALE: freed before. */
SPAD_API spad_status spad_buffer_free(spad_buffer buffer, spad_error *error);

/** Gives a buffer with a SPAD_AUTO extent its shape and memory, from the bytes of the data, and
 *  copies the data in. Binding again needs the same size. SPAD_ERR_SHAPE: the
 *  bytes are not a whole number of elements or rows. */
SPAD_API spad_status spad_buffer_bind(spad_buffer buffer, const void *data, int64_t bytes,
                                      spad_error *error);

/** Describes a buffer. dims are a copy in place. */
typedef struct spad_buffer_info {
    spad_dtype dtype;
    spad_memory_scope scope;
    int64_t address;   /**< SPAD_NO_BYTE: no memory yet */
    int64_t bytes;     /**< 0: no memory yet */
    int64_t alignment; /**< as requested */
    bool is_alias;
    size_t rank;
    int64_t dims[SPAD_RANK_MAX]; /**< SPAD_AUTO: not known yet */
    char name[SPAD_NAME_FACT_MAX];
} spad_buffer_info;

/** Describes the buffer. SPAD_ERR_STALE: it was freed. */
SPAD_API spad_status spad_buffer_get_info(spad_buffer_info *out, spad_buffer buffer,
                                          spad_error *error);

/** Its address on the device; within a scratchpad, its address in there. SPAD_ERR_NO_ADDRESS:
 *  no memory yet. */
SPAD_API spad_status spad_buffer_get_address(int64_t *out, spad_buffer buffer, spad_error *error);

/** A pointer to the bytes, for devices whose memory the processor reads; valid until it is
 *  freed. SPAD_ERR_CAPABILITY: another device. */
SPAD_API spad_status spad_buffer_get_pointer(void **out, spad_buffer buffer, spad_error *error);

/** The driver's own object, such as a cl_mem or a Neuron tensor, and the distance of the buffer
 *  from its beginning. SPAD_ERR_CAPABILITY: the driver has addresses only. */
SPAD_API spad_status spad_buffer_get_native(void **object, int64_t *offset, spad_buffer buffer,
                                            spad_error *error);

/** An object of the driver for the bytes of this buffer only, to pass to the driver: on Neuron a
 *  slice of a tensor. Close it with spad_device_close_view before the buffer is freed. It does not
 *  wait for streams that use the buffer. SPAD_ERR_CAPABILITY: the driver has addresses, or is
 * OpenCL (use spad_buffer_get_native). */
SPAD_API spad_status spad_buffer_open_view(void **out, spad_buffer buffer, spad_error *error);

/** Another view of the same bytes, from `offset` bytes on: another shape, another type. It ends
 *  with the buffer, or when it is freed itself. SPAD_ERR_BOUNDS: it is larger.
 *  SPAD_ERR_ALIGNMENT: the offset is not a multiple of the element. */
SPAD_API spad_status spad_buffer_alias(spad_buffer *out, spad_buffer of, int64_t offset,
                                       spad_shape shape, spad_dtype dtype, const char *name,
                                       spad_error *error);

/**
 * A buffer that is freed when its guard goes out of (C) scope, with compilers that have the
 * cleanup attribute:
 *
 *     SPAD_BUFFER_SCOPE(temp, device, &spec, &error);
 *     if (temp.status != SPAD_OK) return temp.status;
 *     ... temp.buffer ...
 */
typedef struct spad_buffer_guard {
    spad_status status;
    spad_buffer buffer;
} spad_buffer_guard;

/** Allocates the buffer of a guard; used by SPAD_BUFFER_SCOPE. */
SPAD_API spad_buffer_guard spad_buffer_enter(spad_device *device, const spad_buffer_spec *spec,
                                             spad_error *error);

/** Frees the buffer of a guard. One that was freed before is ignored. */
SPAD_API void spad_buffer_leave(spad_buffer_guard *guard);

#define SPAD_BUFFER_SCOPE(guard, device, spec, error)                     \
    __attribute__((cleanup(spad_buffer_leave))) spad_buffer_guard guard = \
        spad_buffer_enter(device, spec, error)

/* ---- workspaces -------------------------------------------------------------------- */

/**
 * Bytes that are allocated once and used by the phases of a computation in turn. A phase
 * takes buffers from the bottom up; when the next phase begins, they end and
 * their bytes are reused. Plain data; the fields are to be read only. Externally synchronised.
 */
typedef struct spad_workspace {
    spad_buffer whole;
    int64_t bytes;
    int64_t used;
    int64_t peak; /**< most bytes of a phase so far */
} spad_workspace;

/** Allocates the bytes of a workspace, as spad_buffer_alloc does. Its first phase begins. */
SPAD_API spad_status spad_workspace_open(spad_workspace *out, spad_device *device, int64_t bytes,
                                         spad_memory_scope scope, const char *name,
                                         spad_error *error);

/** Ends the phase: what it took becomes stale. */
SPAD_API spad_status spad_workspace_next(spad_workspace *workspace, spad_error *error);

/** A buffer for this phase. alignment: a power of two; 0: 32, or more for larger elements.
 *  SPAD_ERR_NO_FIT: the workspace is too small. */
SPAD_API spad_status spad_workspace_take(spad_buffer *out, spad_workspace *workspace,
                                         spad_shape shape, spad_dtype dtype, int64_t alignment,
                                         const char *name, spad_error *error);

/** Frees the bytes; what its phases took becomes stale. Closing again does nothing. */
SPAD_API spad_status spad_workspace_close(spad_workspace *workspace, spad_error *error);

#ifdef __cplusplus
}
#endif
#endif
