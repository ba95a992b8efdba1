/* SPDX-License-Identifier: Apache-2.0
 *
 * device: real memory of a machine, and everything that lives in it.
 *
 *     spad_device_open(&gpu, "cuda:0", NULL, &error);
 *     spad_buffer_alloc(&x, gpu, &spec, &error);          buffer.h
 *     spad_buffer_copy_async(x, y, stream, &error);              stream.h
 *     spad_device_close(gpu, &report);
 *
 * Devices are "host", always there, and "cuda:N", "opencl:N", "ascend:N" (also "npu:N") and
 * "neuron:N", whose drivers are opened at run time. The last two follow the public headers and have
 * not run on the hardware. Global memory comes from a pool over the device's own. The scopes shared
 * and local are scratchpads of a chip, the target of the device: each is a region of
 * the size that the chip has, backed by device memory, so that programs run
 * anywhere and meet the limits of the chip.
 *
 * A device and all it holds may be used by several threads at once. Its address is
 * its identity: do not use it after it was closed. Buffers, streams and events are handles
 * with a generation: using one that is gone is an error, not a fault.
 */
#ifndef SPAD_DEVICE_MEMORY_H
#define SPAD_DEVICE_MEMORY_H

#include "spad/device/backend.h"
#include "spad/device/memory.h"
#include "spad/device/pool.h"
#include "spad/dtype.h"
#include "spad/target.h"
#include "spad/trace.h"

#ifdef __cplusplus
extern "C" {
#endif

typedef struct spad_device spad_device;

/** Where a buffer lives. */
typedef enum spad_memory_scope {
    SPAD_GLOBAL, /**< device memory */
    SPAD_SHARED, /**< the scratchpad of a core: UB, SBUF, shared memory */
    SPAD_LOCAL,  /**< the memory nearest to the arithmetic: L0C, PSUM, registers */
    SPAD_SCOPE_COUNT
} spad_memory_scope;

/** "global", "shared", "local"; "?" for an invalid scope. Static storage. */
SPAD_API const char *spad_memory_scope_name(spad_memory_scope scope);

/** A scope by name; "cpu", "npu", "gpu" and "hbm" are global memory, "ub" is shared.
 * SPAD_ERR_UNKNOWN. */
SPAD_API spad_status spad_memory_scope_parse(spad_memory_scope *out, const char *name,
                                             spad_error *error);

/** Zeroed is the default. */
typedef struct spad_device_options {
    size_t struct_size;            /**< see SPAD_OPTIONS_INIT */
    const spad_target *target;     /**< the chip whose scratchpads shared and local are; borrowed;
                                        NULL: 910b, the Ascend of the scopes' names */
    const char *shared_space;      /**< space of the target; NULL: ub, sbuf, shared, l1 */
    const char *local_space;       /**< NULL: l0c, psum, registers, local */
    const spad_pool_options *pool; /**< of global memory, for this call only; block_bytes 0: the
                                        device's alignment */
    spad_trace *trace;             /**< records every buffer, see spad_device_set_trace; borrowed */
    const spad_host *host;         /**< called by all threads that use the device, at any time */
} spad_device_options;

/** Opens a device by name. SPAD_ERR_NO_DEVICE: no such driver or device; the message names it.
 *  SPAD_ERR_UNKNOWN: not the name of a device. */
SPAD_API spad_status spad_device_open(spad_device **out, const char *name,
                                      const spad_device_options *options, spad_error *error);

/** The same with a back end of the caller. */
SPAD_API spad_status spad_device_open_on(spad_device **out, const spad_backend *backend, int index,
                                         const spad_device_options *options, spad_error *error);

/**
 * Waits for all streams, frees everything and closes. Returns the number of buffers that were
 * still there and writes a line for each to the sink (NULL: none), largest first:
 *
 *     leak: 'activations' of 32768 B in global memory, (128, 128) float16
 *
 * Aliases are not leaks of their own. NULL is fine.
 */
SPAD_API size_t spad_device_close(spad_device *device, const spad_sink *report);

/** Name, driver, memory and alignment of the device. Borrowed. */
SPAD_API const spad_device_info *spad_device_get_info(const spad_device *device);

/** The chip whose scratchpads shared and local memory are. Borrowed. */
SPAD_API const spad_target *spad_device_get_target(const spad_device *device);

/** Called for a driver that is absent, or fails, with the reason. */
typedef void (*spad_device_absent)(void *context, const char *backend, const spad_error *why);

/** Writes the list of devices as a table. */
SPAD_API spad_status spad_device_write_list(const spad_sink *sink, const spad_host *host,
                                            spad_error *error);

/** Writes the list as JSON: {"devices": [...], "absent": [{"backend", "reason"}]}. */
SPAD_API spad_status spad_device_write_list_json(const spad_sink *sink, const spad_host *host,
                                                 spad_error *error);

/* ---- memory ------------------------------------------------------------------------ */

/** The pool of a scope, borrowed; a scratchpad's pool is made at first use.
 *  SPAD_ERR_SPACE: the target has no such scratchpad, or one without a size. */
SPAD_API spad_status spad_device_get_pool(spad_pool **out, spad_device *device,
                                          spad_memory_scope scope, spad_error *error);

/** The device's own memory, without a pool: every call is one of the driver's, and blocks are
 *  not checked. */
SPAD_API spad_memory spad_device_get_memory(spad_device *device);

/** Host memory that the driver allocates for copies: page-locked on CUDA and Ascend, a host tensor
 *  on Neuron, ordinary memory on the host device. Only copies from and to such memory run
 *  asynchronously on a stream. Addresses are pointers. Every call is one of the driver's;
 *  spad_pool_create makes it fast. SPAD_ERR_CAPABILITY from spad_memory_alloc: the driver has none
 *  (OpenCL). */
SPAD_API spad_memory spad_device_get_host_memory(spad_device *device);

/** An object of the driver for memory of the program, which must stay valid until the view is
 *  closed: on Neuron a tensor with the memory attached. SPAD_ERR_CAPABILITY: the driver has
 *  addresses, or is OpenCL. spad_buffer_open_view does the same for a buffer. */
SPAD_API spad_status spad_device_open_view(void **out, spad_device *device, void *memory,
                                           int64_t bytes, spad_error *error);

/** Closes a view of a buffer or of memory; before the device is closed. NULL is fine. */
SPAD_API void spad_device_close_view(spad_device *device, void *view);

/** Statistics of the buffers of a scope: exact, in bytes as requested. SPAD_SCOPE_COUNT: all
 *  scopes together. */
SPAD_API spad_memory_stats spad_device_get_stats(spad_device *device, spad_memory_scope scope);

/** Starts (or, with NULL, ends) the recording of every allocation and free of a buffer in a
 *  trace. Its target is the device's, or one without scratchpads such as "host", in which only
 *  buffers of global memory are recorded; SPAD_ERR_ARGUMENT: another one. A buffer in global memory
 *  has its place in the memory that the pool holds, chunk after chunk from 0 on. Live buffers are
 * not recorded afterwards; those that the old trace has stay open in it. Returns the trace that was
 *  recorded until now. */
SPAD_API spad_status spad_device_set_trace(spad_trace **before, spad_device *device,
                                           spad_trace *trace, spad_error *error);

#ifdef __cplusplus
}
#endif
#endif
