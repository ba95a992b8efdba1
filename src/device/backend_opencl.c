/* SPDX-License-Identifier: Apache-2.0
 *
 * OpenCL devices (1.2 and later) through the loader, libOpenCL.so.1, opened at run time.
 *
 * OpenCL memory has objects, not addresses: they are made up (spad__objects).
 * Devices are numbered through all platforms, in the loader's order.
 *
 * The declarations are our own, after the OpenCL 1.2 specification and its registry
 * of numbers.
 */
#include <pthread.h>
#include <stdio.h>
#include <string.h>

#include "base/checked.h"
#include "base/memory.h"
#include "device/backend.h"

/* ---- the loader's library ---------------------------------------------------------- */

typedef int32_t cl_result; /* 0: success */
enum {
    CL_DEVICE_NOT_FOUND = -1,
    CL_MEM_OBJECT_ALLOCATION_FAILURE = -4,
    CL_OUT_OF_RESOURCES = -5,
    CL_INVALID_BUFFER_SIZE = -61,
    CL_NO_PLATFORM = -1001
};
enum { CL_PLATFORM_NAME = 0x0902 };
enum {
    CL_DEVICE_GLOBAL_MEM_SIZE = 0x101F,
    CL_DEVICE_MEM_BASE_ADDR_ALIGN = 0x1019,
    CL_DEVICE_NAME = 0x102B,
    CL_DRIVER_VERSION = 0x102D
};
enum { CL_EVENT_COMMAND_EXECUTION_STATUS = 0x11D3, CL_MEM_READ_WRITE = 1 };
static const uint64_t CL_DEVICE_TYPE_ALL = 0xFFFFFFFF;

typedef struct cl_calls {
    cl_result (*platforms)(uint32_t capacity, void **platforms, uint32_t *count);
    cl_result (*platform_info)(void *platform, uint32_t name, size_t size, void *out, size_t *got);
    cl_result (*devices)(void *platform, uint64_t type, uint32_t capacity, void **devices,
                         uint32_t *count);
    cl_result (*device_info)(void *device, uint32_t name, size_t size, void *out, size_t *got);
    void *(*context_create)(const intptr_t *properties, uint32_t count, void *const *devices,
                            void *notify, void *user, cl_result *result);
    cl_result (*context_release)(void *context);
    void *(*queue_create)(void *context, void *device, uint64_t properties, cl_result *result);
    cl_result (*queue_release)(void *queue);
    cl_result (*finish)(void *queue);
    cl_result (*flush)(void *queue);
    void *(*buffer_create)(void *context, uint64_t flags, size_t size, void *host,
                           cl_result *result);
    cl_result (*buffer_release)(void *buffer);
    cl_result (*read)(void *queue, void *buffer, uint32_t blocking, size_t offset, size_t size,
                      void *to, uint32_t waits, void *const *wait_for, void **event);
    cl_result (*write)(void *queue, void *buffer, uint32_t blocking, size_t offset, size_t size,
                       const void *from, uint32_t waits, void *const *wait_for, void **event);
    cl_result (*copy)(void *queue, void *from, void *to, size_t from_offset, size_t to_offset,
                      size_t size, uint32_t waits, void *const *wait_for, void **event);
    cl_result (*read_rows)(void *queue, void *buffer, uint32_t blocking, const size_t *origin,
                           const size_t *host_origin, const size_t *region, size_t row_pitch,
                           size_t slice_pitch, size_t host_row_pitch, size_t host_slice_pitch,
                           void *to, uint32_t waits, void *const *wait_for, void **event);
    cl_result (*write_rows)(void *queue, void *buffer, uint32_t blocking, const size_t *origin,
                            const size_t *host_origin, const size_t *region, size_t row_pitch,
                            size_t slice_pitch, size_t host_row_pitch, size_t host_slice_pitch,
                            const void *from, uint32_t waits, void *const *wait_for, void **event);
    cl_result (*copy_rows)(void *queue, void *from, void *to, const size_t *from_origin,
                           const size_t *to_origin, const size_t *region, size_t from_row_pitch,
                           size_t from_slice_pitch, size_t to_row_pitch, size_t to_slice_pitch,
                           uint32_t waits, void *const *wait_for, void **event);
    cl_result (*fill)(void *queue, void *buffer, const void *pattern, size_t pattern_size,
                      size_t offset, size_t size, uint32_t waits, void *const *wait_for,
                      void **event);
    cl_result (*marker)(void *queue, uint32_t waits, void *const *wait_for, void **event);
    cl_result (*barrier)(void *queue, uint32_t waits, void *const *wait_for, void **event);
    cl_result (*events_wait)(uint32_t count, void *const *events);
    cl_result (*event_info)(void *event, uint32_t name, size_t size, void *out, size_t *got);
    cl_result (*event_release)(void *event);
} cl_calls;

#define OPENCL_SYMBOL(member, function) \
    { function, offsetof(cl_calls, member), false }
static const spad__driver_symbol opencl_symbols[] = {
    OPENCL_SYMBOL(platforms, "clGetPlatformIDs"),
    OPENCL_SYMBOL(platform_info, "clGetPlatformInfo"),
    OPENCL_SYMBOL(devices, "clGetDeviceIDs"),
    OPENCL_SYMBOL(device_info, "clGetDeviceInfo"),
    OPENCL_SYMBOL(context_create, "clCreateContext"),
    OPENCL_SYMBOL(context_release, "clReleaseContext"),
    OPENCL_SYMBOL(queue_create, "clCreateCommandQueue"),
    OPENCL_SYMBOL(queue_release, "clReleaseCommandQueue"),
    OPENCL_SYMBOL(finish, "clFinish"),
    OPENCL_SYMBOL(flush, "clFlush"),
    OPENCL_SYMBOL(buffer_create, "clCreateBuffer"),
    OPENCL_SYMBOL(buffer_release, "clReleaseMemObject"),
    OPENCL_SYMBOL(read, "clEnqueueReadBuffer"),
    OPENCL_SYMBOL(write, "clEnqueueWriteBuffer"),
    OPENCL_SYMBOL(copy, "clEnqueueCopyBuffer"),
    OPENCL_SYMBOL(read_rows, "clEnqueueReadBufferRect"),
    OPENCL_SYMBOL(write_rows, "clEnqueueWriteBufferRect"),
    OPENCL_SYMBOL(copy_rows, "clEnqueueCopyBufferRect"),
    OPENCL_SYMBOL(fill, "clEnqueueFillBuffer"),
    OPENCL_SYMBOL(marker, "clEnqueueMarkerWithWaitList"),
    OPENCL_SYMBOL(barrier, "clEnqueueBarrierWithWaitList"),
    OPENCL_SYMBOL(events_wait, "clWaitForEvents"),
    OPENCL_SYMBOL(event_info, "clGetEventInfo"),
    OPENCL_SYMBOL(event_release, "clReleaseEvent"),
};

enum { DEVICES_MAX = 64, PLATFORMS_MAX = 16 };

typedef struct cl_driver {
    spad_host host;
    void *library;
    cl_calls cl;
    int count;
    void *devices[DEVICES_MAX];
    void *platforms[DEVICES_MAX]; /* of each device */
} cl_driver;

typedef struct cl_device {
    cl_driver *driver;
    void *id; /* the driver's */
    void *context;
    void *queue;           /* for copies that are on no stream */
    pthread_mutex_t mutex; /* guards the table, and the host */
    spad__objects buffers;
} cl_device;

/* An event of ours: a marker of OpenCL's once it is recorded. */
typedef struct cl_mark {
    void *event; /* NULL: not recorded yet */
} cl_mark;

static spad_status check_opencl(cl_result result, const char *function, spad_error *error) {
    if (result == 0) return SPAD_OK;
    return spad__fail(error, SPAD_ERR_DEVICE, "%s failed with error %d", function, (int)result);
}

/* ---- driver ------------------------------------------------------------------------ */

static void cl_unload(void *opaque) {
    cl_driver *driver = opaque;
    const spad_host host = driver->host;
    spad__library_close(driver->library);
    spad__free(&host, driver, sizeof *driver);
}

/* Lists the devices of all platforms; a platform without any is skipped. */
static spad_status find_devices(cl_driver *driver, spad_error *error) {
    void *platforms[PLATFORMS_MAX];
    uint32_t platform_count = 0;
    cl_result result = driver->cl.platforms(PLATFORMS_MAX, platforms, &platform_count);
    if (result == CL_NO_PLATFORM) return SPAD_OK;
    if (result != 0) return check_opencl(result, "clGetPlatformIDs", error);
    for (uint32_t p = 0; p < platform_count && p < PLATFORMS_MAX; p++) {
        uint32_t found = 0;
        const uint32_t room = (uint32_t)(DEVICES_MAX - driver->count);
        if (room == 0) break;
        result = driver->cl.devices(platforms[p], CL_DEVICE_TYPE_ALL, room,
                                    driver->devices + driver->count, &found);
        if (result == CL_DEVICE_NOT_FOUND) continue;
        if (result != 0) return check_opencl(result, "clGetDeviceIDs", error);
        for (uint32_t i = 0; i < found && i < room; i++) {
            driver->platforms[driver->count++] = platforms[p];
        }
    }
    return SPAD_OK;
}

static spad_status cl_load(void **out, const spad_host *host, spad_error *error) {
    *out = NULL;
    cl_driver *driver = spad__new(host, sizeof *driver);
    if (driver == NULL) return spad__fail_host_memory(error);
    driver->host = *host;
    spad_status status =
        spad__library_open(&driver->library, &driver->cl, "libOpenCL.so.1", opencl_symbols,
                           sizeof opencl_symbols / sizeof opencl_symbols[0], error);
    if (status == SPAD_OK) status = find_devices(driver, error);
    if (status != SPAD_OK) {
        cl_unload(driver);
        return status;
    }
    *out = driver;
    return SPAD_OK;
}

static spad_status cl_count(int *count, void *opaque, spad_error *error) {
    (void)error;
    *count = ((const cl_driver *)opaque)->count;
    return SPAD_OK;
}

static spad_status cl_describe(spad_device_info *out, void *opaque, int index, spad_error *error) {
    cl_driver *driver = opaque;
    void *device = driver->devices[index];
    char platform[48] = "";
    char version[48] = "";
    uint64_t total = 0;
    uint32_t align_bits = 0;
    size_t got;
    spad_status status = check_opencl(
        driver->cl.device_info(device, CL_DEVICE_NAME, sizeof out->about, out->about, &got),
        "clGetDeviceInfo", error);
    if (status == SPAD_OK)
        status = check_opencl(
            driver->cl.device_info(device, CL_DEVICE_GLOBAL_MEM_SIZE, sizeof total, &total, &got),
            "clGetDeviceInfo", error);
    if (status == SPAD_OK)
        status = check_opencl(driver->cl.device_info(device, CL_DEVICE_MEM_BASE_ADDR_ALIGN,
                                                     sizeof align_bits, &align_bits, &got),
                              "clGetDeviceInfo", error);
    if (status != SPAD_OK) return status;
    /* these two are for people; longer ones than we keep are left out */
    driver->cl.platform_info(driver->platforms[index], CL_PLATFORM_NAME, sizeof platform, platform,
                             &got);
    driver->cl.device_info(device, CL_DRIVER_VERSION, sizeof version, version, &got);
    snprintf(out->driver, sizeof out->driver, "%s %s", platform, version);
    out->total_bytes = (int64_t)total;
    out->alignment = 256; /* of made-up addresses; sub-buffers ask for no more on any device */
    if (align_bits / 8 > 256) out->alignment = align_bits / 8;
    out->host_reads = false;
    return SPAD_OK;
}

/* ---- device ------------------------------------------------------------------------ */

static void cl_close(void *opaque) {
    cl_device *device = opaque;
    const cl_calls *cl = &device->driver->cl;
    for (size_t i = 0; i < device->buffers.items.count; i++) {
        cl->buffer_release(device->buffers.items.items[i].native);
    }
    if (device->queue != NULL) cl->queue_release(device->queue);
    if (device->context != NULL) cl->context_release(device->context);
    const spad_host host = device->driver->host;
    pthread_mutex_destroy(&device->mutex);
    spad__array_free(&host, &device->buffers.items);
    spad__free(&host, device, sizeof *device);
}

static spad_status cl_open(void **out, void *opaque, int index, spad_error *error) {
    cl_driver *driver = opaque;
    cl_result result;
    *out = NULL;
    cl_device *device = spad__new(&driver->host, sizeof *device);
    if (device == NULL) return spad__fail_host_memory(error);
    if (pthread_mutex_init(&device->mutex, NULL) != 0) {
        spad__free(&driver->host, device, sizeof *device);
        return spad__fail_host_memory(error);
    }
    device->driver = driver;
    device->id = driver->devices[index];
    device->context = driver->cl.context_create(NULL, 1, &device->id, NULL, NULL, &result);
    spad_status status = check_opencl(result, "clCreateContext", error);
    if (status == SPAD_OK) {
        device->queue = driver->cl.queue_create(device->context, device->id, 0, &result);
        status = check_opencl(result, "clCreateCommandQueue", error);
    }
    if (status == SPAD_OK) {
        *out = device;
    } else {
        cl_close(device);
    }
    return status;
}

/* ---- memory ------------------------------------------------------------------------ */

/* The object that an address is in. */
static spad_status find_object(spad__object *out, cl_device *device, int64_t address,
                               spad_error *error) {
    pthread_mutex_lock(&device->mutex);
    const spad__object *found = spad__objects_find(&device->buffers, address);
    *out = found != NULL ? *found : (spad__object){0};
    pthread_mutex_unlock(&device->mutex);
    if (found != NULL) return SPAD_OK;
    return spad__fail(error, SPAD_ERR_DEVICE, "no opencl buffer has the address 0x%llx",
                      (unsigned long long)address);
}

static spad_status fail_alloc(cl_result result, int64_t bytes, spad_error *error) {
    if (result != CL_MEM_OBJECT_ALLOCATION_FAILURE && result != CL_OUT_OF_RESOURCES &&
        result != CL_INVALID_BUFFER_SIZE) {
        return check_opencl(result, "clCreateBuffer", error);
    }
    spad__fail(error, SPAD_ERR_NO_FIT, "the opencl device has no %lld B in one piece; request less",
               (long long)bytes);
    spad__fact_amounts(error, bytes, SPAD_NO_FACT, SPAD_NO_FACT);
    return SPAD_ERR_NO_FIT;
}

static spad_status cl_alloc(int64_t *address, void *opaque, int64_t bytes, spad_error *error) {
    cl_device *device = opaque;
    int64_t made_up;
    *address = 0;
    pthread_mutex_lock(&device->mutex);
    spad_status status =
        spad__objects_reserve(&made_up, &device->buffers, &device->driver->host, bytes, error);
    if (status == SPAD_OK) {
        cl_result result;
        void *buffer = device->driver->cl.buffer_create(device->context, CL_MEM_READ_WRITE,
                                                        (size_t)bytes, NULL, &result);
        if (result != 0) status = fail_alloc(result, bytes, error);
        if (status == SPAD_OK) spad__objects_add(&device->buffers, bytes, buffer);
    }
    if (status == SPAD_OK) *address = made_up;
    pthread_mutex_unlock(&device->mutex);
    return status;
}

static spad_status cl_free(void *opaque, int64_t address, spad_error *error) {
    cl_device *device = opaque;
    pthread_mutex_lock(&device->mutex);
    const spad__object *found = spad__objects_find(&device->buffers, address);
    spad_status status;
    if (found == NULL || found->address != address) {
        status = spad__fail(error, SPAD_ERR_DEVICE, "no opencl buffer begins at 0x%llx",
                            (unsigned long long)address);
    } else {
        /* the driver keeps it until the commands that use it are done */
        status = check_opencl(device->driver->cl.buffer_release(found->native),
                              "clReleaseMemObject", error);
    }
    if (status == SPAD_OK) spad__objects_remove(&device->buffers, found);
    pthread_mutex_unlock(&device->mutex);
    return status;
}

static spad_status cl_native(void **out, int64_t *offset, void *opaque, int64_t address,
                             spad_error *error) {
    spad__object o;
    const spad_status status = find_object(&o, opaque, address, error);
    if (status != SPAD_OK) return status;
    *out = o.native;
    *offset = address - o.address;
    return SPAD_OK;
}

/* ---- copies ------------------------------------------------------------------------ */

static cl_result copy_row(const cl_calls *cl, void *queue, uint32_t blocking,
                          const spad__object *from, const spad__object *to,
                          const spad_transfer *t) {
    const size_t bytes = (size_t)t->width;
    const size_t from_offset = (size_t)(t->from - from->address);
    const size_t to_offset = (size_t)(t->to - to->address);
    switch (t->direction) {
    case SPAD_TO_DEVICE:
        return cl->write(queue, to->native, blocking, to_offset, bytes,
                         (const void *)(uintptr_t)t->from, 0, NULL, NULL);
    case SPAD_FROM_DEVICE:
        return cl->read(queue, from->native, blocking, from_offset, bytes, (void *)(uintptr_t)t->to,
                        0, NULL, NULL);
    case SPAD_ON_DEVICE: break;
    }
    return cl->copy(queue, from->native, to->native, from_offset, to_offset, bytes, 0, NULL, NULL);
}

/* The beginning is given as bytes in a row, rows and slices: all of it in bytes, because
 * it may be beyond the first row. */
static cl_result copy_rows(const cl_calls *cl, void *queue, uint32_t blocking,
                           const spad__object *from, const spad__object *to,
                           const spad_transfer *t) {
    const size_t from_pitch = (size_t)t->from_pitch;
    const size_t to_pitch = (size_t)t->to_pitch;
    const size_t from_offset = (size_t)(t->from - from->address);
    const size_t to_offset = (size_t)(t->to - to->address);
    const size_t from_origin[3] = {from_offset % from_pitch, from_offset / from_pitch, 0};
    const size_t to_origin[3] = {to_offset % to_pitch, to_offset / to_pitch, 0};
    const size_t host_origin[3] = {0, 0, 0};
    const size_t region[3] = {(size_t)t->width, (size_t)t->rows, 1};
    switch (t->direction) {
    case SPAD_TO_DEVICE:
        return cl->write_rows(queue, to->native, blocking, to_origin, host_origin, region, to_pitch,
                              0, from_pitch, 0, (const void *)(uintptr_t)t->from, 0, NULL, NULL);
    case SPAD_FROM_DEVICE:
        return cl->read_rows(queue, from->native, blocking, from_origin, host_origin, region,
                             from_pitch, 0, to_pitch, 0, (void *)(uintptr_t)t->to, 0, NULL, NULL);
    case SPAD_ON_DEVICE: break;
    }
    return cl->copy_rows(queue, from->native, to->native, from_origin, to_origin, region,
                         from_pitch, 0, to_pitch, 0, 0, NULL, NULL);
}

/* Rows within one buffer object: OpenCL wants equal pitches there and takes some tiles that
 * are adjacent for overlapping ones, so each row is copied separately. */
static cl_result copy_within(const cl_calls *cl, void *queue, const spad__object *o,
                             const spad_transfer *t) {
    cl_result result = 0;
    for (int64_t row = 0; row < t->rows && result == 0; row++) {
        spad_transfer one = *t;
        one.from += row * t->from_pitch;
        one.to += row * t->to_pitch;
        result = copy_row(cl, queue, 0, o, o, &one);
    }
    return result;
}

static cl_result copy_any(const cl_calls *cl, void *queue, uint32_t blocking,
                          const spad__object *from, const spad__object *to,
                          const spad_transfer *t) {
    if (t->rows == 1) return copy_row(cl, queue, blocking, from, to, t);
    if (t->direction == SPAD_ON_DEVICE && from->native == to->native)
        return copy_within(cl, queue, from, t);
    return copy_rows(cl, queue, blocking, from, to, t);
}

static spad_status cl_copy(void *opaque, void *stream, const spad_transfer *t, spad_error *error) {
    cl_device *device = opaque;
    const cl_calls *cl = &device->driver->cl;
    spad__object from = {.address = t->from};
    spad__object to = {.address = t->to};
    spad_status status = SPAD_OK;
    if (t->direction != SPAD_TO_DEVICE) status = find_object(&from, device, t->from, error);
    if (status == SPAD_OK && t->direction != SPAD_FROM_DEVICE)
        status = find_object(&to, device, t->to, error);
    if (status != SPAD_OK) return status;
    void *queue = stream != NULL ? stream : device->queue;
    const uint32_t blocking = stream == NULL;
    cl_result result = copy_any(cl, queue, blocking, &from, &to, t);
    if (result == 0) result = blocking ? cl->finish(queue) : cl->flush(queue);
    return check_opencl(result, "a copy on the opencl device", error);
}

static spad_status cl_fill(void *opaque, void *stream, int64_t address, int64_t bytes,
                           uint8_t value, spad_error *error) {
    cl_device *device = opaque;
    const cl_calls *cl = &device->driver->cl;
    spad__object o;
    const spad_status status = find_object(&o, device, address, error);
    if (status != SPAD_OK) return status;
    void *queue = stream != NULL ? stream : device->queue;
    cl_result result = cl->fill(queue, o.native, &value, 1, (size_t)(address - o.address),
                                (size_t)bytes, 0, NULL, NULL);
    if (result == 0) result = stream == NULL ? cl->finish(queue) : cl->flush(queue);
    return check_opencl(result, "clEnqueueFillBuffer", error);
}

/* ---- streams and events ------------------------------------------------------------ */

static spad_status cl_stream_open(void **stream, void *opaque, spad_error *error) {
    cl_device *device = opaque;
    cl_result result;
    *stream = device->driver->cl.queue_create(device->context, device->id, 0, &result);
    return check_opencl(result, "clCreateCommandQueue", error);
}

static void cl_stream_close(void *opaque, void *stream) {
    cl_device *device = opaque;
    device->driver->cl.queue_release(stream);
}

static spad_status cl_stream_wait(void *opaque, void *stream, spad_error *error) {
    cl_device *device = opaque;
    return check_opencl(device->driver->cl.finish(stream), "clFinish", error);
}

static spad_status cl_event_open(void **event, void *opaque, spad_error *error) {
    cl_device *device = opaque;
    pthread_mutex_lock(&device->mutex);
    *event = spad__new(&device->driver->host, sizeof(cl_mark));
    pthread_mutex_unlock(&device->mutex);
    return *event != NULL ? SPAD_OK : spad__fail_host_memory(error);
}

static void cl_event_close(void *opaque, void *event) {
    cl_device *device = opaque;
    cl_mark *mark = event;
    if (mark->event != NULL) device->driver->cl.event_release(mark->event);
    pthread_mutex_lock(&device->mutex);
    spad__free(&device->driver->host, mark, sizeof *mark);
    pthread_mutex_unlock(&device->mutex);
}

static spad_status cl_event_record(void *opaque, void *event, void *stream, spad_error *error) {
    cl_device *device = opaque;
    cl_mark *mark = event;
    void *marker = NULL;
    const cl_calls *cl = &device->driver->cl;
    spad_status status =
        check_opencl(cl->marker(stream, 0, NULL, &marker), "clEnqueueMarkerWithWaitList", error);
    if (status != SPAD_OK) return status;
    status = check_opencl(cl->flush(stream), "clFlush", error);
    if (status != SPAD_OK) {
        cl->event_release(marker);
        return status;
    }
    if (mark->event != NULL) cl->event_release(mark->event);
    mark->event = marker;
    return SPAD_OK;
}

static spad_status cl_event_done(bool *done, void *opaque, void *event, spad_error *error) {
    cl_device *device = opaque;
    const cl_mark *mark = event;
    cl_result state = 0; /* complete; negative: ended with an error */
    size_t got;
    *done = false;
    if (mark->event != NULL) {
        const spad_status status = check_opencl(
            device->driver->cl.event_info(mark->event, CL_EVENT_COMMAND_EXECUTION_STATUS,
                                          sizeof state, &state, &got),
            "clGetEventInfo", error);
        if (status != SPAD_OK) return status;
    }
    *done = state <= 0;
    return state < 0 ? check_opencl(state, "a command before an event", error) : SPAD_OK;
}

static spad_status cl_event_wait(void *opaque, void *event, spad_error *error) {
    cl_device *device = opaque;
    const cl_mark *mark = event;
    if (mark->event == NULL) return SPAD_OK;
    return check_opencl(device->driver->cl.events_wait(1, &mark->event), "clWaitForEvents", error);
}

static spad_status cl_stream_wait_event(void *opaque, void *stream, void *event,
                                        spad_error *error) {
    cl_device *device = opaque;
    const cl_mark *mark = event;
    if (mark->event == NULL) return SPAD_OK;
    return check_opencl(device->driver->cl.barrier(stream, 1, &mark->event, NULL),
                        "clEnqueueBarrierWithWaitList", error);
}

const spad_backend spad__backend_opencl = {
    .version = SPAD_BACKEND_VERSION,
    .name = "opencl",
    .load = cl_load,
    .unload = cl_unload,
    .count = cl_count,
    .describe = cl_describe,
    .open = cl_open,
    .close = cl_close,
    .alloc = cl_alloc,
    .free = cl_free,
    .copy = cl_copy,
    .stream_open = cl_stream_open,
    .stream_close = cl_stream_close,
    .stream_wait = cl_stream_wait,
    .event_open = cl_event_open,
    .event_close = cl_event_close,
    .event_record = cl_event_record,
    .event_done = cl_event_done,
    .event_wait = cl_event_wait,
    .stream_wait_event = cl_stream_wait_event,
    .native = cl_native,
    .fill = cl_fill,
};
