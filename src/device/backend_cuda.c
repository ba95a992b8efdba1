/* SPDX-License-Identifier: Apache-2.0
 *
 * CUDA devices through the driver's library, libcuda.so.1, opened at run time.
 *
 * A device uses its primary context, the one that the CUDA runtime and with it other
 * libraries of the process use, so that addresses and streams can be shared with them.
 * The context is made current around every call and the caller's restored.
 *
 * The declarations are our own, after the CUDA driver API manual: opaque pointers,
 * a 64-bit device pointer, and the layout of CUDA_MEMCPY2D, which is part of the ABI.
 */
#include <stdio.h>
#include <string.h>

#include "base/memory.h"
#include "device/backend.h"

/* ---- the driver's library ---------------------------------------------------------- */

typedef int cu_result; /* 0: success */
enum { CU_INVALID_VALUE = 1, CU_OUT_OF_MEMORY = 2, CU_NO_DEVICE = 100, CU_NOT_READY = 600 };
enum { CU_STREAM_NON_BLOCKING = 1, CU_EVENT_DISABLE_TIMING = 2 };
enum { CU_MEMORYTYPE_HOST = 1, CU_MEMORYTYPE_DEVICE = 2 };
typedef uint64_t cu_address;

typedef struct cu_memcpy_2d {
    size_t src_x, src_y;
    int src_type;
    const void *src_host;
    cu_address src_device;
    void *src_array;
    size_t src_pitch;
    size_t dst_x, dst_y;
    int dst_type;
    void *dst_host;
    cu_address dst_device;
    void *dst_array;
    size_t dst_pitch;
    size_t width;
    size_t height;
} cu_memcpy_2d;

typedef struct cu_calls {
    cu_result (*init)(unsigned flags);
    cu_result (*driver_version)(int *version);
    cu_result (*error_name)(cu_result error, const char **name);
    cu_result (*device_count)(int *count);
    cu_result (*device_get)(int *device, int ordinal);
    cu_result (*device_name)(char *name, int length, int device);
    cu_result (*device_total)(size_t *bytes, int device);
    cu_result (*context_retain)(void **context, int device);
    cu_result (*context_release)(int device);
    cu_result (*context_current)(void **context);
    cu_result (*context_push)(void *context);
    cu_result (*context_pop)(void **context);
    cu_result (*alloc)(cu_address *address, size_t bytes);
    cu_result (*free)(cu_address address);
    cu_result (*host_alloc)(void **pointer, size_t bytes, unsigned flags);
    cu_result (*host_free)(void *pointer);
    cu_result (*fill_async)(cu_address address, unsigned char value, size_t bytes, void *stream);
    cu_result (*to_device)(cu_address to, const void *from, size_t bytes);
    cu_result (*from_device)(void *to, cu_address from, size_t bytes);
    cu_result (*to_device_async)(cu_address to, const void *from, size_t bytes, void *stream);
    cu_result (*from_device_async)(void *to, cu_address from, size_t bytes, void *stream);
    cu_result (*on_device_async)(cu_address to, cu_address from, size_t bytes, void *stream);
    cu_result (*copy_2d_async)(const cu_memcpy_2d *copy, void *stream);
    cu_result (*peer_async)(cu_address to, void *to_context, cu_address from, void *from_context,
                            size_t bytes, void *stream);
    cu_result (*stream_create)(void **stream, unsigned flags);
    cu_result (*stream_destroy)(void *stream);
    cu_result (*stream_synchronize)(void *stream);
    cu_result (*stream_wait_event)(void *stream, void *event, unsigned flags);
    cu_result (*event_create)(void **event, unsigned flags);
    cu_result (*event_destroy)(void *event);
    cu_result (*event_record)(void *event, void *stream);
    cu_result (*event_query)(void *event);
    cu_result (*event_synchronize)(void *event);
} cu_calls;

#define CUDA_SYMBOL(member, function) \
    { function, offsetof(cu_calls, member), false }
static const spad__driver_symbol cuda_symbols[] = {
    CUDA_SYMBOL(init, "cuInit"),
    CUDA_SYMBOL(driver_version, "cuDriverGetVersion"),
    CUDA_SYMBOL(error_name, "cuGetErrorName"),
    CUDA_SYMBOL(device_count, "cuDeviceGetCount"),
    CUDA_SYMBOL(device_get, "cuDeviceGet"),
    CUDA_SYMBOL(device_name, "cuDeviceGetName"),
    CUDA_SYMBOL(device_total, "cuDeviceTotalMem_v2"),
    CUDA_SYMBOL(context_retain, "cuDevicePrimaryCtxRetain"),
    CUDA_SYMBOL(context_release, "cuDevicePrimaryCtxRelease_v2"),
    CUDA_SYMBOL(context_current, "cuCtxGetCurrent"),
    CUDA_SYMBOL(context_push, "cuCtxPushCurrent_v2"),
    CUDA_SYMBOL(context_pop, "cuCtxPopCurrent_v2"),
    CUDA_SYMBOL(alloc, "cuMemAlloc_v2"),
    CUDA_SYMBOL(free, "cuMemFree_v2"),
    CUDA_SYMBOL(host_alloc, "cuMemHostAlloc"),
    CUDA_SYMBOL(host_free, "cuMemFreeHost"),
    CUDA_SYMBOL(fill_async, "cuMemsetD8Async"),
    CUDA_SYMBOL(to_device, "cuMemcpyHtoD_v2"),
    CUDA_SYMBOL(from_device, "cuMemcpyDtoH_v2"),
    CUDA_SYMBOL(to_device_async, "cuMemcpyHtoDAsync_v2"),
    CUDA_SYMBOL(from_device_async, "cuMemcpyDtoHAsync_v2"),
    CUDA_SYMBOL(on_device_async, "cuMemcpyDtoDAsync_v2"),
    CUDA_SYMBOL(copy_2d_async, "cuMemcpy2DAsync_v2"),
    CUDA_SYMBOL(peer_async, "cuMemcpyPeerAsync"),
    CUDA_SYMBOL(stream_create, "cuStreamCreate"),
    CUDA_SYMBOL(stream_destroy, "cuStreamDestroy_v2"),
    CUDA_SYMBOL(stream_synchronize, "cuStreamSynchronize"),
    CUDA_SYMBOL(stream_wait_event, "cuStreamWaitEvent"),
    CUDA_SYMBOL(event_create, "cuEventCreate"),
    CUDA_SYMBOL(event_destroy, "cuEventDestroy_v2"),
    CUDA_SYMBOL(event_record, "cuEventRecord"),
    CUDA_SYMBOL(event_query, "cuEventQuery"),
    CUDA_SYMBOL(event_synchronize, "cuEventSynchronize"),
};

typedef struct cuda_driver {
    spad_host host;
    void *library;
    cu_calls cu;
} cuda_driver;

typedef struct cuda_device {
    cuda_driver *driver;
    int device;
    void *context;
} cuda_device;

static spad_status check_cuda(const cuda_driver *driver, cu_result result, const char *function,
                              spad_error *error) {
    if (result == 0) return SPAD_OK;
    const char *name = NULL;
    if (driver->cu.error_name(result, &name) != 0 || name == NULL) name = "an unknown error";
    if (result == CU_NO_DEVICE)
        return spad__fail(error, SPAD_ERR_NO_DEVICE, "cuda has no device (%s)", name);
    return spad__fail(error, SPAD_ERR_DEVICE, "%s failed with %s (%d)", function, name, result);
}

/* ---- driver ------------------------------------------------------------------------ */

static void cuda_unload(void *opaque) {
    cuda_driver *driver = opaque;
    const spad_host host = driver->host;
    spad__library_close(driver->library);
    spad__free(&host, driver, sizeof *driver);
}

static spad_status cuda_load(void **out, const spad_host *host, spad_error *error) {
    *out = NULL;
    cuda_driver *driver = spad__new(host, sizeof *driver);
    if (driver == NULL) return spad__fail_host_memory(error);
    driver->host = *host;
    spad_status status =
        spad__library_open(&driver->library, &driver->cu, "libcuda.so.1", cuda_symbols,
                           sizeof cuda_symbols / sizeof cuda_symbols[0], error);
    if (status == SPAD_OK) status = check_cuda(driver, driver->cu.init(0), "cuInit", error);
    if (status != SPAD_OK) {
        cuda_unload(driver);
        return status;
    }
    *out = driver;
    return SPAD_OK;
}

static spad_status cuda_count(int *count, void *opaque, spad_error *error) {
    cuda_driver *driver = opaque;
    *count = 0;
    return check_cuda(driver, driver->cu.device_count(count), "cuDeviceGetCount", error);
}

static spad_status cuda_describe(spad_device_info *out, void *opaque, int index,
                                 spad_error *error) {
    cuda_driver *driver = opaque;
    int device;
    int version;
    size_t total;
    spad_status status =
        check_cuda(driver, driver->cu.device_get(&device, index), "cuDeviceGet", error);
    if (status == SPAD_OK)
        status = check_cuda(driver, driver->cu.device_name(out->about, sizeof out->about, device),
                            "cuDeviceGetName", error);
    if (status == SPAD_OK)
        status =
            check_cuda(driver, driver->cu.device_total(&total, device), "cuDeviceTotalMem", error);
    if (status == SPAD_OK)
        status =
            check_cuda(driver, driver->cu.driver_version(&version), "cuDriverGetVersion", error);
    if (status != SPAD_OK) return status;
    snprintf(out->driver, sizeof out->driver, "CUDA %d.%d", version / 1000, version % 1000 / 10);
    out->total_bytes = (int64_t)total;
    out->alignment = 256; /* cuMemAlloc, CUDA programming guide */
    out->host_reads = false;
    return SPAD_OK;
}

/* ---- device ------------------------------------------------------------------------ */

static spad_status cuda_open(void **out, void *opaque, int index, spad_error *error) {
    cuda_driver *driver = opaque;
    *out = NULL;
    cuda_device *device = spad__new(&driver->host, sizeof *device);
    if (device == NULL) return spad__fail_host_memory(error);
    device->driver = driver;
    spad_status status =
        check_cuda(driver, driver->cu.device_get(&device->device, index), "cuDeviceGet", error);
    if (status == SPAD_OK)
        status = check_cuda(driver, driver->cu.context_retain(&device->context, device->device),
                            "cuDevicePrimaryCtxRetain", error);
    if (status != SPAD_OK) {
        spad__free(&driver->host, device, sizeof *device);
        return status;
    }
    *out = device;
    return SPAD_OK;
}

static void cuda_close(void *opaque) {
    cuda_device *device = opaque;
    device->driver->cu.context_release(device->device);
    spad__free(&device->driver->host, device, sizeof *device);
}

/* Makes the context current, unless it is; leave() brings the caller's back. */
typedef struct visit {
    const cuda_device *device;
    bool pushed;
} visit;

static spad_status enter(visit *v, const cuda_device *device, spad_error *error) {
    const cu_calls *cu = &device->driver->cu;
    void *current = NULL;
    *v = (visit){.device = device};
    spad_status status =
        check_cuda(device->driver, cu->context_current(&current), "cuCtxGetCurrent", error);
    if (status != SPAD_OK || current == device->context) return status;
    status =
        check_cuda(device->driver, cu->context_push(device->context), "cuCtxPushCurrent", error);
    v->pushed = status == SPAD_OK;
    return status;
}

static spad_status leave(const visit *v, cu_result result, const char *function,
                         spad_error *error) {
    void *context;
    if (v->pushed) v->device->driver->cu.context_pop(&context);
    return check_cuda(v->device->driver, result, function, error);
}

static spad_status cuda_alloc(int64_t *address, void *opaque, int64_t bytes, spad_error *error) {
    cuda_device *device = opaque;
    cu_address got = 0;
    *address = 0;
    visit v;
    const spad_status status = enter(&v, device, error);
    if (status != SPAD_OK) return status;
    const cu_result result = device->driver->cu.alloc(&got, (size_t)bytes);
    leave(&v, 0, "", NULL);
    if (result == CU_OUT_OF_MEMORY || result == CU_INVALID_VALUE) { /* the latter: absurd sizes */
        return spad__fail_device_memory(error, "cuda", bytes);
    }
    *address = (int64_t)got;
    return check_cuda(device->driver, result, "cuMemAlloc", error);
}

static spad_status cuda_free(void *opaque, int64_t address, spad_error *error) {
    cuda_device *device = opaque;
    visit v;
    enter(&v, device, NULL); /* giving back is tried all the same */
    const cu_result result = device->driver->cu.free((cu_address)address);
    leave(&v, 0, "", NULL);
    return check_cuda(device->driver, result, "cuMemFree", error);
}

/* Page-locked memory: copies on a stream are only then made while the program goes on. */
static spad_status cuda_host_alloc(int64_t *address, void *opaque, int64_t bytes,
                                   spad_error *error) {
    cuda_device *device = opaque;
    void *got = NULL;
    *address = 0;
    visit v;
    const spad_status status = enter(&v, device, error);
    if (status != SPAD_OK) return status;
    const cu_result result = device->driver->cu.host_alloc(&got, (size_t)bytes, 0);
    leave(&v, 0, "", NULL);
    if (result == CU_OUT_OF_MEMORY || result == CU_INVALID_VALUE)
        return spad__fail_pinned_memory(error, "cuda", bytes);
    *address = (int64_t)(uintptr_t)got;
    return check_cuda(device->driver, result, "cuMemHostAlloc", error);
}

static spad_status cuda_host_free(void *opaque, int64_t address, spad_error *error) {
    cuda_device *device = opaque;
    visit v;
    enter(&v, device, NULL); /* giving back is tried all the same */
    const cu_result result = device->driver->cu.host_free((void *)(uintptr_t)address);
    leave(&v, 0, "", NULL);
    return check_cuda(device->driver, result, "cuMemFreeHost", error);
}

/* ---- copies ------------------------------------------------------------------------ */

static cu_result cuda_copy_row(const cu_calls *cu, void *stream, const spad_transfer *t) {
    const size_t bytes = (size_t)t->width;
    switch (t->direction) {
    case SPAD_TO_DEVICE:
        if (stream == NULL)
            return cu->to_device((cu_address)t->to, (const void *)(uintptr_t)t->from, bytes);
        return cu->to_device_async((cu_address)t->to, (const void *)(uintptr_t)t->from, bytes,
                                   stream);
    case SPAD_FROM_DEVICE:
        if (stream == NULL)
            return cu->from_device((void *)(uintptr_t)t->to, (cu_address)t->from, bytes);
        return cu->from_device_async((void *)(uintptr_t)t->to, (cu_address)t->from, bytes, stream);
    case SPAD_ON_DEVICE: break;
    }
    return cu->on_device_async((cu_address)t->to, (cu_address)t->from, bytes, stream);
}

static cu_result cuda_copy_rows(const cu_calls *cu, void *stream, const spad_transfer *t) {
    const bool from_host = t->direction == SPAD_TO_DEVICE;
    const bool to_host = t->direction == SPAD_FROM_DEVICE;
    const cu_memcpy_2d copy = {
        .src_type = from_host ? CU_MEMORYTYPE_HOST : CU_MEMORYTYPE_DEVICE,
        .src_host = from_host ? (const void *)(uintptr_t)t->from : NULL,
        .src_device = from_host ? 0 : (cu_address)t->from,
        .src_pitch = (size_t)t->from_pitch,
        .dst_type = to_host ? CU_MEMORYTYPE_HOST : CU_MEMORYTYPE_DEVICE,
        .dst_host = to_host ? (void *)(uintptr_t)t->to : NULL,
        .dst_device = to_host ? 0 : (cu_address)t->to,
        .dst_pitch = (size_t)t->to_pitch,
        .width = (size_t)t->width,
        .height = (size_t)t->rows,
    };
    return cu->copy_2d_async(&copy, stream);
}

static spad_status cuda_copy(void *opaque, void *stream, const spad_transfer *t,
                             spad_error *error) {
    cuda_device *device = opaque;
    const cu_calls *cu = &device->driver->cu;
    visit v;
    const spad_status status = enter(&v, device, error);
    if (status != SPAD_OK) return status;
    const bool one_row = t->rows == 1;
    cu_result result = one_row ? cuda_copy_row(cu, stream, t) : cuda_copy_rows(cu, stream, t);
    /* the driver itself waits for a row to or from host memory that is on no stream */
    if (result == 0 && stream == NULL && (!one_row || t->direction == SPAD_ON_DEVICE))
        result = cu->stream_synchronize(NULL);
    return leave(&v, result, "a copy on the cuda device", error);
}

/* Row by row: no call for rows is as widely known. Two handles of one device share a
 * context, in which this is an ordinary copy. */
static spad_status cuda_copy_between(void *to_opaque, void *from_opaque, void *stream,
                                     const spad_transfer *t, spad_error *error) {
    const cuda_device *to = to_opaque;
    const cuda_device *from = from_opaque;
    const cu_calls *cu = &to->driver->cu;
    if (to->context == from->context) return cuda_copy(to_opaque, stream, t, error);
    visit v;
    const spad_status status = enter(&v, to, error);
    if (status != SPAD_OK) return status;
    cu_result result = 0;
    for (int64_t row = 0; row < t->rows && result == 0; row++) {
        result = cu->peer_async((cu_address)(t->to + row * t->to_pitch), to->context,
                                (cu_address)(t->from + row * t->from_pitch), from->context,
                                (size_t)t->width, stream);
    }
    if (result == 0 && stream == NULL) result = cu->stream_synchronize(NULL);
    return leave(&v, result, "a copy between cuda devices", error);
}

static spad_status cuda_fill(void *opaque, void *stream, int64_t address, int64_t bytes,
                             uint8_t value, spad_error *error) {
    cuda_device *device = opaque;
    const cu_calls *cu = &device->driver->cu;
    visit v;
    const spad_status status = enter(&v, device, error);
    if (status != SPAD_OK) return status;
    cu_result result = cu->fill_async((cu_address)address, value, (size_t)bytes, stream);
    if (result == 0 && stream == NULL) result = cu->stream_synchronize(NULL);
    return leave(&v, result, "cuMemsetD8Async", error);
}

/* ---- streams and events ------------------------------------------------------------ */

static spad_status cuda_stream_open(void **stream, void *opaque, spad_error *error) {
    cuda_device *device = opaque;
    *stream = NULL;
    visit v;
    const spad_status status = enter(&v, device, error);
    if (status != SPAD_OK) return status;
    return leave(&v, device->driver->cu.stream_create(stream, CU_STREAM_NON_BLOCKING),
                 "cuStreamCreate", error);
}

static void cuda_stream_close(void *opaque, void *stream) {
    cuda_device *device = opaque;
    visit v;
    enter(&v, device, NULL);
    device->driver->cu.stream_destroy(stream);
    leave(&v, 0, "", NULL);
}

static spad_status cuda_stream_wait(void *opaque, void *stream, spad_error *error) {
    cuda_device *device = opaque;
    visit v;
    const spad_status status = enter(&v, device, error);
    if (status != SPAD_OK) return status;
    return leave(&v, device->driver->cu.stream_synchronize(stream), "cuStreamSynchronize", error);
}

static spad_status cuda_event_open(void **event, void *opaque, spad_error *error) {
    cuda_device *device = opaque;
    *event = NULL;
    visit v;
    const spad_status status = enter(&v, device, error);
    if (status != SPAD_OK) return status;
    return leave(&v, device->driver->cu.event_create(event, CU_EVENT_DISABLE_TIMING),
                 "cuEventCreate", error);
}

static void cuda_event_close(void *opaque, void *event) {
    cuda_device *device = opaque;
    visit v;
    enter(&v, device, NULL);
    device->driver->cu.event_destroy(event);
    leave(&v, 0, "", NULL);
}

static spad_status cuda_event_record(void *opaque, void *event, void *stream, spad_error *error) {
    cuda_device *device = opaque;
    visit v;
    const spad_status status = enter(&v, device, error);
    if (status != SPAD_OK) return status;
    return leave(&v, device->driver->cu.event_record(event, stream), "cuEventRecord", error);
}

static spad_status cuda_event_done(bool *done, void *opaque, void *event, spad_error *error) {
    cuda_device *device = opaque;
    *done = false;
    visit v;
    const spad_status status = enter(&v, device, error);
    if (status != SPAD_OK) return status;
    const cu_result result = device->driver->cu.event_query(event);
    *done = result == 0;
    return leave(&v, result == CU_NOT_READY ? 0 : result, "cuEventQuery", error);
}

static spad_status cuda_event_wait(void *opaque, void *event, spad_error *error) {
    cuda_device *device = opaque;
    visit v;
    const spad_status status = enter(&v, device, error);
    if (status != SPAD_OK) return status;
    return leave(&v, device->driver->cu.event_synchronize(event), "cuEventSynchronize", error);
}

static spad_status cuda_stream_wait_event(void *opaque, void *stream, void *event,
                                          spad_error *error) {
    cuda_device *device = opaque;
    visit v;
    const spad_status status = enter(&v, device, error);
    if (status != SPAD_OK) return status;
    return leave(&v, device->driver->cu.stream_wait_event(stream, event, 0), "cuStreamWaitEvent",
                 error);
}

const spad_backend spad__backend_cuda = {
    .version = SPAD_BACKEND_VERSION,
    .name = "cuda",
    .load = cuda_load,
    .unload = cuda_unload,
    .count = cuda_count,
    .describe = cuda_describe,
    .open = cuda_open,
    .close = cuda_close,
    .alloc = cuda_alloc,
    .free = cuda_free,
    .copy = cuda_copy,
    .copy_between = cuda_copy_between,
    .stream_open = cuda_stream_open,
    .stream_close = cuda_stream_close,
    .stream_wait = cuda_stream_wait,
    .event_open = cuda_event_open,
    .event_close = cuda_event_close,
    .event_record = cuda_event_record,
    .event_done = cuda_event_done,
    .event_wait = cuda_event_wait,
    .stream_wait_event = cuda_stream_wait_event,
    .fill = cuda_fill,
    .host_alloc = cuda_host_alloc,
    .host_free = cuda_host_free,
};
