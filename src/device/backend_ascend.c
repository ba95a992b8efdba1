/* SPDX-License-Identifier: Apache-2.0
 *
 * Ascend NPUs through AscendCL, libascendcl.so, opened at run time.
 *
 * A device uses its default context, the one that aclrtSetDevice makes and that other libraries
 * of the process share. It is made current around every call and the caller's is restored.
 *
 * The rules that shape this file, from the header and the manual of the CANN runtime:
 *   - aclInit may be called again and says so with a code of its own; newer libraries count the
 *     calls (aclFinalizeReference). aclFinalize would end it for the whole process: it is not used.
 *   - aclrtMalloc gives addresses that are multiples of 64; the size is rounded to 32 bytes and 32
 *     more are added, which kernels may touch. aclrtFree does not wait for the device.
 *   - On a stream, copies within a device need addresses that are multiples of 64. Others wait for
 *     the stream and are made by the call that waits.
 *   - Copies of rows are between host and device only, with limits.
 *   - An event must not be destroyed before the streams that wait for it got there: events go to
 *     a list and are used again, the purpose of aclrtCreateEventExWithFlag.
 *
 * The declarations are our own, after include/external/acl/acl_rt.h, acl_base_rt.h and
 * error_codes/rt_error_codes.h of the CANN runtime (hicann/runtime), interface version 1.17.
 * It has not run on the hardware; the tests have a library of their own.
 */
#include <pthread.h>
#include <stdio.h>
#include <string.h>

#include "base/assert.h"
#include "base/memory.h"
#include "device/backend.h"

/* ---- the library ------------------------------------------------------------------- */

typedef int acl_result; /* 0: success */
enum {
    ACL_INVALID_PARAM = 100000,
    ACL_REPEAT_INITIALIZE = 100002,
    ACL_RT_PARAM_INVALID = 107000,
    ACL_BAD_ALLOC = 200000,
    ACL_RT_MEMORY_ALLOCATION = 207001,
    ACL_RT_NO_DEVICE = 207004,
    ACL_RT_DEVICE_OOM = 207018
};
enum { ACL_MAJOR = 1, ACL_MEM_MALLOC_HUGE_FIRST = 0, ACL_HBM_MEM = 1, ACL_EVENT_SYNC = 1 };
enum { ACL_HOST_TO_DEVICE = 1, ACL_DEVICE_TO_HOST = 2, ACL_DEVICE_TO_DEVICE = 3 };
enum { ACL_EVENT_COMPLETE = 1 };
enum { ASCEND_ALIGNMENT = 64, ASCEND_GUARD_BYTES = 32 };
enum { ROW_BYTES_MAX = 5000000, ROWS_MAX = 5 * 1024 * 1024 }; /* of aclrtMemcpy2dAsync */

typedef struct acl_calls {
    acl_result (*init)(const char *config);
    acl_result (*finalize_reference)(uint64_t *count);
    acl_result (*version)(int32_t *major, int32_t *minor, int32_t *patch);
    const char *(*recent_error)(void);
    acl_result (*device_count)(uint32_t *count);
    acl_result (*device_set)(int32_t device);
    acl_result (*device_reset)(int32_t device);
    acl_result (*device_synchronize)(void);
    const char *(*soc_name)(void);
    acl_result (*memory_info)(int attribute, size_t *free, size_t *total);
    acl_result (*context_get)(void **context);
    acl_result (*context_set)(void *context);
    acl_result (*alloc)(void **address, size_t bytes, int policy);
    acl_result (*free)(void *address);
    acl_result (*host_alloc)(void **address, size_t bytes);
    acl_result (*host_free)(void *address);
    acl_result (*copy)(void *to, size_t most, const void *from, size_t bytes, int kind);
    acl_result (*copy_async)(void *to, size_t most, const void *from, size_t bytes, int kind,
                             void *stream);
    acl_result (*copy_rows)(void *to, size_t to_pitch, const void *from, size_t from_pitch,
                            size_t width, size_t height, int kind);
    acl_result (*copy_rows_async)(void *to, size_t to_pitch, const void *from, size_t from_pitch,
                                  size_t width, size_t height, int kind, void *stream);
    acl_result (*fill)(void *address, size_t most, int32_t value, size_t bytes);
    acl_result (*fill_async)(void *address, size_t most, int32_t value, size_t bytes, void *stream);
    acl_result (*stream_create)(void **stream);
    acl_result (*stream_destroy)(void *stream);
    acl_result (*stream_synchronize)(void *stream);
    acl_result (*stream_wait_event)(void *stream, void *event);
    acl_result (*event_create)(void **event, uint32_t flags);
    acl_result (*event_destroy)(void *event);
    acl_result (*event_record)(void *event, void *stream);
    acl_result (*event_query)(void *event, int *status);
    acl_result (*event_synchronize)(void *event);
} acl_calls;

#define ASCEND_SYMBOL(member, function) \
    { function, offsetof(acl_calls, member), false }
static const spad__driver_symbol ascend_symbols[] = {
    ASCEND_SYMBOL(init, "aclInit"),
    {"aclFinalizeReference", offsetof(acl_calls, finalize_reference), true},
    ASCEND_SYMBOL(version, "aclrtGetVersion"),
    ASCEND_SYMBOL(recent_error, "aclGetRecentErrMsg"),
    ASCEND_SYMBOL(device_count, "aclrtGetDeviceCount"),
    ASCEND_SYMBOL(device_set, "aclrtSetDevice"),
    ASCEND_SYMBOL(device_reset, "aclrtResetDevice"),
    ASCEND_SYMBOL(device_synchronize, "aclrtSynchronizeDevice"),
    ASCEND_SYMBOL(soc_name, "aclrtGetSocName"),
    ASCEND_SYMBOL(memory_info, "aclrtGetMemInfo"),
    ASCEND_SYMBOL(context_get, "aclrtGetCurrentContext"),
    ASCEND_SYMBOL(context_set, "aclrtSetCurrentContext"),
    ASCEND_SYMBOL(alloc, "aclrtMalloc"),
    ASCEND_SYMBOL(free, "aclrtFree"),
    ASCEND_SYMBOL(host_alloc, "aclrtMallocHost"),
    ASCEND_SYMBOL(host_free, "aclrtFreeHost"),
    ASCEND_SYMBOL(copy, "aclrtMemcpy"),
    ASCEND_SYMBOL(copy_async, "aclrtMemcpyAsync"),
    ASCEND_SYMBOL(copy_rows, "aclrtMemcpy2d"),
    ASCEND_SYMBOL(copy_rows_async, "aclrtMemcpy2dAsync"),
    ASCEND_SYMBOL(fill, "aclrtMemset"),
    ASCEND_SYMBOL(fill_async, "aclrtMemsetAsync"),
    ASCEND_SYMBOL(stream_create, "aclrtCreateStream"),
    ASCEND_SYMBOL(stream_destroy, "aclrtDestroyStream"),
    ASCEND_SYMBOL(stream_synchronize, "aclrtSynchronizeStream"),
    ASCEND_SYMBOL(stream_wait_event, "aclrtStreamWaitEvent"),
    ASCEND_SYMBOL(event_create, "aclrtCreateEventExWithFlag"),
    ASCEND_SYMBOL(event_destroy, "aclrtDestroyEvent"),
    ASCEND_SYMBOL(event_record, "aclrtRecordEvent"),
    ASCEND_SYMBOL(event_query, "aclrtQueryEventStatus"),
    ASCEND_SYMBOL(event_synchronize, "aclrtSynchronizeEvent"),
};

typedef struct ascend_device ascend_device;

typedef struct ascend_driver {
    spad_host host;
    void *library;
    acl_calls acl;
    bool initialized;
    ascend_device *opened; /* the last one that was opened and is still open */
} ascend_driver;

struct ascend_device {
    ascend_driver *driver;
    int32_t number;
    void *context;
    pthread_mutex_t mutex;     /* guards the next fields, and the host */
    SPAD_ARRAY(void *) events; /* that are not in use; has room for all there are */
    size_t events_made;
};

/* The library's own words are for the thread that failed; its first line is the newest. */
static spad_status check_ascend(const ascend_driver *driver, acl_result result,
                                const char *function, spad_error *error) {
    if (result == 0) return SPAD_OK;
    const char *words = driver->acl.recent_error();
    if (words == NULL) words = "";
    const int length = (int)strcspn(words, "\r\n");
    if (result == ACL_RT_NO_DEVICE)
        return spad__fail(error, SPAD_ERR_NO_DEVICE, "ascend has no device (error %d)", result);
    return spad__fail(error, SPAD_ERR_DEVICE, "%s failed with error %d%s%.*s", function, result,
                      length > 0 ? ": " : "", length, words);
}

static bool ascend_is_full(acl_result result) {
    return result == ACL_RT_MEMORY_ALLOCATION || result == ACL_RT_DEVICE_OOM ||
           result == ACL_BAD_ALLOC || result == ACL_INVALID_PARAM || /* absurd sizes */
           result == ACL_RT_PARAM_INVALID;
}

static void *pointer_of(int64_t address) {
    return (void *)(uintptr_t)address;
}

/* ---- driver ------------------------------------------------------------------------ */

static void ascend_unload(void *opaque) {
    ascend_driver *driver = opaque;
    const spad_host host = driver->host;
    if (driver->initialized && driver->acl.finalize_reference != NULL)
        driver->acl.finalize_reference(NULL);
    spad__library_close(driver->library);
    spad__free(&host, driver, sizeof *driver);
}

static spad_status ascend_initialize(ascend_driver *driver, spad_error *error) {
    int32_t major = 0;
    int32_t minor = 0;
    int32_t patch = 0;
    const acl_result result = driver->acl.init(NULL);
    driver->initialized = result == 0 || result == ACL_REPEAT_INITIALIZE;
    if (!driver->initialized) return check_ascend(driver, result, "aclInit", error);
    const spad_status status =
        check_ascend(driver, driver->acl.version(&major, &minor, &patch), "aclrtGetVersion", error);
    if (status != SPAD_OK || major == ACL_MAJOR) return status;
    return spad__fail(error, SPAD_ERR_NO_DEVICE,
                      "libascendcl.so has version %d.%d.%d of its interface; version %d is known",
                      (int)major, (int)minor, (int)patch, ACL_MAJOR);
}

static spad_status ascend_load(void **out, const spad_host *host, spad_error *error) {
    *out = NULL;
    ascend_driver *driver = spad__new(host, sizeof *driver);
    if (driver == NULL) return spad__fail_host_memory(error);
    driver->host = *host;
    spad_status status =
        spad__library_open(&driver->library, &driver->acl, "libascendcl.so", ascend_symbols,
                           sizeof ascend_symbols / sizeof ascend_symbols[0], error);
    if (status == SPAD_OK) status = ascend_initialize(driver, error);
    if (status != SPAD_OK) {
        ascend_unload(driver);
        return status;
    }
    *out = driver;
    return SPAD_OK;
}

static spad_status ascend_count(int *count, void *opaque, spad_error *error) {
    ascend_driver *driver = opaque;
    uint32_t found = 0;
    const spad_status status =
        check_ascend(driver, driver->acl.device_count(&found), "aclrtGetDeviceCount", error);
    *count = status == SPAD_OK ? (int)found : 0;
    return status;
}

/* ---- the context ------------------------------------------------------------------- */

/* Makes the context current, unless it is; ascend_leave() brings the caller's back. */
typedef struct ascend_visit {
    const ascend_device *device;
    void *before; /* NULL: there was none, or it is the device's */
} ascend_visit;

/* The context of the thread; NULL: it has none, which the library calls an error. */
static void *current_context(const acl_calls *acl) {
    void *current = NULL;
    if (acl->context_get(&current) == 0) return current;
    acl->recent_error(); /* not one to be reported with a later error */
    return NULL;
}

static spad_status ascend_enter(ascend_visit *v, const ascend_device *device, spad_error *error) {
    const acl_calls *acl = &device->driver->acl;
    *v = (ascend_visit){.device = device};
    void *current = current_context(acl);
    if (current == device->context) return SPAD_OK;
    const spad_status status = check_ascend(device->driver, acl->context_set(device->context),
                                            "aclrtSetCurrentContext", error);
    if (status == SPAD_OK) v->before = current;
    return status;
}

static spad_status ascend_leave(const ascend_visit *v, acl_result result, const char *function,
                                spad_error *error) {
    const spad_status status = check_ascend(v->device->driver, result, function, error);
    if (v->before != NULL) v->device->driver->acl.context_set(v->before);
    return status;
}

/* ---- device ------------------------------------------------------------------------ */

static void ascend_close(void *opaque) {
    ascend_device *device = opaque;
    const acl_calls *acl = &device->driver->acl;
    const spad_host host = device->driver->host;
    ascend_visit v;
    ascend_enter(&v, device, NULL);
    if (device->events_made > 0) acl->device_synchronize(); /* no stream waits for one now */
    for (size_t i = 0; i < device->events.count; i++) acl->event_destroy(device->events.items[i]);
    ascend_leave(&v, 0, "", NULL);
    acl->device_reset(device->number);
    if (device->driver->opened == device) device->driver->opened = NULL;
    pthread_mutex_destroy(&device->mutex);
    spad__array_free(&host, &device->events);
    spad__free(&host, device, sizeof *device);
}

/* aclrtSetDevice makes the default context current; the caller's comes back. */
static spad_status take_context(ascend_device *device, spad_error *error) {
    const acl_calls *acl = &device->driver->acl;
    void *before = current_context(acl);
    spad_status status =
        check_ascend(device->driver, acl->device_set(device->number), "aclrtSetDevice", error);
    if (status != SPAD_OK) return status;
    status = check_ascend(device->driver, acl->context_get(&device->context),
                          "aclrtGetCurrentContext", error);
    if (status != SPAD_OK) acl->device_reset(device->number);
    if (before != NULL && before != device->context) acl->context_set(before);
    return status;
}

static spad_status ascend_open(void **out, void *opaque, int index, spad_error *error) {
    ascend_driver *driver = opaque;
    *out = NULL;
    ascend_device *device = spad__new(&driver->host, sizeof *device);
    if (device == NULL) return spad__fail_host_memory(error);
    device->driver = driver;
    device->number = index;
    if (pthread_mutex_init(&device->mutex, NULL) != 0) {
        spad__free(&driver->host, device, sizeof *device);
        return spad__fail_host_memory(error);
    }
    const spad_status status = take_context(device, error);
    if (status != SPAD_OK) {
        pthread_mutex_destroy(&device->mutex);
        spad__free(&driver->host, device, sizeof *device);
        return status;
    }
    driver->opened = device;
    *out = device;
    return SPAD_OK;
}

/* How much memory there is can be asked of a device that is open; opening one takes seconds,
 * which a list of devices does not do. */
static spad_status ascend_describe(spad_device_info *out, void *opaque, int index,
                                   spad_error *error) {
    ascend_driver *driver = opaque;
    int32_t major = 0;
    int32_t minor = 0;
    int32_t patch = 0;
    size_t unused = 0;
    size_t total = 0;
    spad_status status =
        check_ascend(driver, driver->acl.version(&major, &minor, &patch), "aclrtGetVersion", error);
    if (status == SPAD_OK && driver->opened != NULL && driver->opened->number == index) {
        ascend_visit v;
        status = ascend_enter(&v, driver->opened, error);
        if (status == SPAD_OK)
            status = ascend_leave(&v, driver->acl.memory_info(ACL_HBM_MEM, &unused, &total),
                                  "aclrtGetMemInfo", error);
    }
    if (status != SPAD_OK) return status;
    const char *name = driver->acl.soc_name();
    snprintf(out->about, sizeof out->about, "%s", name != NULL ? name : "an Ascend device");
    snprintf(out->driver, sizeof out->driver, "AscendCL %d.%d.%d", (int)major, (int)minor,
             (int)patch);
    out->total_bytes = (int64_t)total;
    out->alignment = ASCEND_ALIGNMENT;
    out->host_reads = false;
    out->guard_bytes = ASCEND_GUARD_BYTES;
    return SPAD_OK;
}

/* ---- memory ------------------------------------------------------------------------ */

static spad_status ascend_alloc(int64_t *address, void *opaque, int64_t bytes, spad_error *error) {
    ascend_device *device = opaque;
    void *got = NULL;
    *address = 0;
    ascend_visit v;
    const spad_status status = ascend_enter(&v, device, error);
    if (status != SPAD_OK) return status;
    const acl_result result =
        device->driver->acl.alloc(&got, (size_t)bytes, ACL_MEM_MALLOC_HUGE_FIRST);
    if (!ascend_is_full(result)) {
        *address = (int64_t)(uintptr_t)got;
        return ascend_leave(&v, result, "aclrtMalloc", error);
    }
    ascend_leave(&v, result, "", NULL);
    return spad__fail_device_memory(error, "ascend", bytes);
}

/* Giving back is tried whatever happened before. */
static spad_status ascend_free(void *opaque, int64_t address, spad_error *error) {
    ascend_device *device = opaque;
    const acl_calls *acl = &device->driver->acl;
    ascend_visit v;
    ascend_enter(&v, device, NULL);
    const acl_result waited = acl->device_synchronize();
    const acl_result freed = acl->free(pointer_of(address));
    return ascend_leave(&v, freed != 0 ? freed : waited, "aclrtFree", error);
}

/* Page-locked memory: copies on a stream are only then made while the program goes on. */
static spad_status ascend_host_alloc(int64_t *address, void *opaque, int64_t bytes,
                                     spad_error *error) {
    ascend_device *device = opaque;
    void *got = NULL;
    *address = 0;
    ascend_visit v;
    const spad_status status = ascend_enter(&v, device, error);
    if (status != SPAD_OK) return status;
    const acl_result result = device->driver->acl.host_alloc(&got, (size_t)bytes);
    if (!ascend_is_full(result)) {
        *address = (int64_t)(uintptr_t)got;
        return ascend_leave(&v, result, "aclrtMallocHost", error);
    }
    ascend_leave(&v, result, "", NULL);
    return spad__fail_pinned_memory(error, "ascend", bytes);
}

static spad_status ascend_host_free(void *opaque, int64_t address, spad_error *error) {
    ascend_device *device = opaque;
    ascend_visit v;
    ascend_enter(&v, device, NULL);
    return ascend_leave(&v, device->driver->acl.host_free(pointer_of(address)), "aclrtFreeHost",
                        error);
}

/* ---- copies ------------------------------------------------------------------------ */

static acl_result ascend_copy_row(const acl_calls *acl, void *stream, int kind,
                                  const spad_transfer *t, int64_t row) {
    const int64_t to = t->to + row * t->to_pitch;
    const int64_t from = t->from + row * t->from_pitch;
    const size_t bytes = (size_t)t->width;
    if (stream != NULL && kind == ACL_DEVICE_TO_DEVICE &&
        ((to | from) & (ASCEND_ALIGNMENT - 1)) != 0) {
        const acl_result result = acl->stream_synchronize(stream);
        if (result != 0) return result;
        stream = NULL;
    }
    if (stream == NULL) return acl->copy(pointer_of(to), bytes, pointer_of(from), bytes, kind);
    return acl->copy_async(pointer_of(to), bytes, pointer_of(from), bytes, kind, stream);
}

static acl_result ascend_copy_rows(const acl_calls *acl, void *stream, int kind,
                                   const spad_transfer *t) {
    void *to = pointer_of(t->to);
    const void *from = pointer_of(t->from);
    const size_t to_pitch = (size_t)t->to_pitch;
    const size_t from_pitch = (size_t)t->from_pitch;
    const size_t width = (size_t)t->width;
    const size_t rows = (size_t)t->rows;
    if (stream == NULL) return acl->copy_rows(to, to_pitch, from, from_pitch, width, rows, kind);
    return acl->copy_rows_async(to, to_pitch, from, from_pitch, width, rows, kind, stream);
}

static int kind_of(spad_direction direction) {
    if (direction == SPAD_TO_DEVICE) return ACL_HOST_TO_DEVICE;
    return direction == SPAD_FROM_DEVICE ? ACL_DEVICE_TO_HOST : ACL_DEVICE_TO_DEVICE;
}

static spad_status ascend_copy(void *opaque, void *stream, const spad_transfer *t,
                               spad_error *error) {
    ascend_device *device = opaque;
    const acl_calls *acl = &device->driver->acl;
    const int kind = kind_of(t->direction);
    ascend_visit v;
    const spad_status status = ascend_enter(&v, device, error);
    if (status != SPAD_OK) return status;
    acl_result result = 0;
    if (t->rows > 1 && kind != ACL_DEVICE_TO_DEVICE && t->width <= ROW_BYTES_MAX &&
        t->rows <= ROWS_MAX) {
        result = ascend_copy_rows(acl, stream, kind, t);
    } else {
        for (int64_t row = 0; row < t->rows && result == 0; row++) {
            result = ascend_copy_row(acl, stream, kind, t, row);
        }
    }
    return ascend_leave(&v, result, "a copy on the ascend device", error);
}

static spad_status ascend_fill(void *opaque, void *stream, int64_t address, int64_t bytes,
                               uint8_t value, spad_error *error) {
    ascend_device *device = opaque;
    const acl_calls *acl = &device->driver->acl;
    void *to = pointer_of(address);
    const size_t size = (size_t)bytes;
    ascend_visit v;
    const spad_status status = ascend_enter(&v, device, error);
    if (status != SPAD_OK) return status;
    const acl_result result = stream == NULL ? acl->fill(to, size, value, size)
                                             : acl->fill_async(to, size, value, size, stream);
    return ascend_leave(&v, result, "aclrtMemset", error);
}

/* ---- streams ----------------------------------------------------------------------- */

static spad_status ascend_stream_open(void **stream, void *opaque, spad_error *error) {
    ascend_device *device = opaque;
    *stream = NULL;
    ascend_visit v;
    const spad_status status = ascend_enter(&v, device, error);
    if (status != SPAD_OK) return status;
    return ascend_leave(&v, device->driver->acl.stream_create(stream), "aclrtCreateStream", error);
}

static void ascend_stream_close(void *opaque, void *stream) {
    ascend_device *device = opaque;
    ascend_visit v;
    ascend_enter(&v, device, NULL);
    device->driver->acl.stream_destroy(stream);
    ascend_leave(&v, 0, "", NULL);
}

static spad_status ascend_stream_wait(void *opaque, void *stream, spad_error *error) {
    ascend_device *device = opaque;
    ascend_visit v;
    const spad_status status = ascend_enter(&v, device, error);
    if (status != SPAD_OK) return status;
    return ascend_leave(&v, device->driver->acl.stream_synchronize(stream),
                        "aclrtSynchronizeStream", error);
}

static spad_status ascend_stream_wait_event(void *opaque, void *stream, void *event,
                                            spad_error *error) {
    ascend_device *device = opaque;
    ascend_visit v;
    const spad_status status = ascend_enter(&v, device, error);
    if (status != SPAD_OK) return status;
    return ascend_leave(&v, device->driver->acl.stream_wait_event(stream, event),
                        "aclrtStreamWaitEvent", error);
}

/* ---- events ------------------------------------------------------------------------ */

/* Room in the list for one more event, and one from the list if there is one. */
static spad_status reuse_event(void **event, ascend_device *device, spad_error *error) {
    spad_status status = SPAD_OK;
    *event = NULL;
    pthread_mutex_lock(&device->mutex);
    if (device->events.count > 0) {
        *event = device->events.items[--device->events.count];
    } else if (!spad__array_reserve(&device->driver->host, &device->events,
                                    device->events_made + 1)) {
        status = spad__fail_host_memory(error);
    } else {
        device->events_made++;
    }
    pthread_mutex_unlock(&device->mutex);
    return status;
}

static spad_status ascend_event_open(void **event, void *opaque, spad_error *error) {
    ascend_device *device = opaque;
    spad_status status = reuse_event(event, device, error);
    if (status != SPAD_OK || *event != NULL) return status;
    ascend_visit v;
    status = ascend_enter(&v, device, error);
    if (status == SPAD_OK)
        status = ascend_leave(&v, device->driver->acl.event_create(event, ACL_EVENT_SYNC),
                              "aclrtCreateEventExWithFlag", error);
    if (status == SPAD_OK) return SPAD_OK;
    *event = NULL;
    pthread_mutex_lock(&device->mutex);
    device->events_made--;
    pthread_mutex_unlock(&device->mutex);
    return status;
}

static void ascend_event_close(void *opaque, void *event) {
    ascend_device *device = opaque;
    pthread_mutex_lock(&device->mutex);
    spad__assert(device->events.count < device->events_made);
    device->events.items[device->events.count++] = event;
    pthread_mutex_unlock(&device->mutex);
}

static spad_status ascend_event_record(void *opaque, void *event, void *stream, spad_error *error) {
    ascend_device *device = opaque;
    ascend_visit v;
    const spad_status status = ascend_enter(&v, device, error);
    if (status != SPAD_OK) return status;
    return ascend_leave(&v, device->driver->acl.event_record(event, stream), "aclrtRecordEvent",
                        error);
}

static spad_status ascend_event_done(bool *done, void *opaque, void *event, spad_error *error) {
    ascend_device *device = opaque;
    int state = 0;
    *done = false;
    ascend_visit v;
    spad_status status = ascend_enter(&v, device, error);
    if (status != SPAD_OK) return status;
    status = ascend_leave(&v, device->driver->acl.event_query(event, &state),
                          "aclrtQueryEventStatus", error);
    *done = status == SPAD_OK && state == ACL_EVENT_COMPLETE;
    return status;
}

static spad_status ascend_event_wait(void *opaque, void *event, spad_error *error) {
    ascend_device *device = opaque;
    ascend_visit v;
    const spad_status status = ascend_enter(&v, device, error);
    if (status != SPAD_OK) return status;
    return ascend_leave(&v, device->driver->acl.event_synchronize(event), "aclrtSynchronizeEvent",
                        error);
}

const spad_backend spad__backend_ascend = {
    .version = SPAD_BACKEND_VERSION,
    .name = "ascend",
    .load = ascend_load,
    .unload = ascend_unload,
    .count = ascend_count,
    .describe = ascend_describe,
    .open = ascend_open,
    .close = ascend_close,
    .alloc = ascend_alloc,
    .free = ascend_free,
    .copy = ascend_copy,
    .stream_open = ascend_stream_open,
    .stream_close = ascend_stream_close,
    .stream_wait = ascend_stream_wait,
    .event_open = ascend_event_open,
    .event_close = ascend_event_close,
    .event_record = ascend_event_record,
    .event_done = ascend_event_done,
    .event_wait = ascend_event_wait,
    .stream_wait_event = ascend_stream_wait_event,
    .fill = ascend_fill,
    .host_alloc = ascend_host_alloc,
    .host_free = ascend_host_free,
};
