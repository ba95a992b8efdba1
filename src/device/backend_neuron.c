/* SPDX-License-Identifier: Apache-2.0
 *
 * Neuron cores through the Neuron runtime, libnrt.so, opened at run time. A device is a (virtual)
 * Neuron core; its memory is the core's HBM.
 *
 * Memory has objects (tensors), not addresses: they are made up (spad__objects). The runtime has no
 * call for rows, so each row is a call.
 *
 * Streams. The runtime has three queues for tensors of a core: reads, writes, and copies within
 * the device. Work on one of them is in order and has a number that can be waited for; nothing on
 * the device waits for another queue. So a stream remembers the last number; when its next piece
 * of work belongs to another queue, the call waits for that number first, and a stream that must
 * wait for an event waits in the call. A library without the asynchronous functions, which the
 * vendor calls experimental, does everything within the call.
 *
 * The runtime is initialized at the first open, because that takes the cores away from other
 * processes, and never closed: nrt_close would end it for the whole process.
 *
 * The declarations are our own, after src/libnrt/include/nrt of the Neuron SDK
 * (aws-neuron/aws-neuron-sdk): nrt.h, nrt_status.h, nrt_version.h, nrt_async.h. It has not run
 * on the hardware; the tests have a library of their own.
 */
#include <errno.h>
#include <poll.h>
#include <pthread.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/assert.h"
#include "base/memory.h"
#include "device/backend.h"

/* ---- the library ------------------------------------------------------------------- */

typedef int nrt_result; /* 0: success */
enum { NRT_FAILURE = 1, NRT_INVALID = 2, NRT_RESOURCE = 4, NRT_QUEUE_FULL = 7 };
enum { NRT_MAJOR = 2, NRT_NO_FRAMEWORK = 1, NRT_ON_DEVICE = 0, NRT_ON_HOST = 1 };
enum { NEURON_QUEUE = 0 }; /* of each unit: how many more there are is not public */

typedef struct nrt_version {
    uint64_t major, minor, patch, maintenance;
    char detail[128];
    char hash[64];
} nrt_version;

typedef struct nrt_instance {
    uint32_t family;
    uint32_t size;
    char architecture[16];
    char revision[8];
} nrt_instance;

typedef struct nrt_memory {
    size_t used;
    size_t limit;
} nrt_memory;

typedef struct nrt_failure {
    uint64_t sequence;
    uint64_t code;
} nrt_failure;

typedef struct nrt_calls {
    nrt_result (*version)(nrt_version *version, size_t bytes);
    nrt_result (*count)(uint32_t *count);
    nrt_result (*instance)(nrt_instance *info, size_t bytes);
    nrt_result (*memory)(uint32_t core, nrt_memory *stats, size_t bytes, size_t *written);
    nrt_result (*init)(int framework, const char *version, const char *layer_version);
    nrt_result (*allocate)(int placement, int core, size_t bytes, const char *name, void **tensor);
    void (*free)(void **tensor);
    void *(*pointer)(const void *tensor);
    nrt_result (*read)(const void *tensor, void *to, size_t offset, size_t bytes);
    nrt_result (*write)(void *tensor, const void *from, size_t offset, size_t bytes);
    nrt_result (*copy)(const void *from, size_t from_offset, void *to, size_t to_offset,
                       size_t bytes);
    nrt_result (*fill)(void *tensor, uint64_t offset, int value, size_t bytes);
    nrt_result (*allocate_empty)(const char *name, void **tensor);
    nrt_result (*attach)(void *tensor, void *memory, size_t bytes);
    nrt_result (*slice)(const void *tensor, size_t offset, size_t bytes, const char *name,
                        void **slice);
    /* the asynchronous ones: all or none */
    nrt_result (*start_write)(void *tensor, const void *from, uint64_t offset, uint64_t bytes,
                              int queue, void *tracker, uint64_t *sequence);
    nrt_result (*start_read)(void *to, void *tensor, uint64_t offset, uint64_t bytes, int queue,
                             void *tracker, uint64_t *sequence);
    nrt_result (*start_copy)(void *from, uint64_t from_offset, void *to, uint64_t to_offset,
                             uint64_t bytes, int queue, void *tracker, uint64_t *sequence);
    nrt_result (*is_completed)(uint64_t sequence, bool *completed);
    nrt_result (*completion)(uint64_t sequence, int *descriptor);
    nrt_result (*tracker_create)(uint32_t core, void **tracker);
    void (*tracker_destroy)(void *tracker);
    nrt_result (*tracker_list)(void *tracker, const nrt_failure **list, size_t *count);
} nrt_calls;

#define NEURON_SYMBOL(member, function) \
    { function, offsetof(nrt_calls, member), false }
#define NEURON_OPTIONAL(member, function) \
    { function, offsetof(nrt_calls, member), true }
static const spad__driver_symbol neuron_symbols[] = {
    NEURON_SYMBOL(version, "nrt_get_version"),
    NEURON_SYMBOL(count, "nrt_get_visible_vnc_count"),
    NEURON_OPTIONAL(instance, "nrt_get_instance_info"),
    NEURON_OPTIONAL(memory, "nrt_get_vnc_memory_stats"),
    NEURON_SYMBOL(init, "nrt_init"),
    NEURON_SYMBOL(allocate, "nrt_tensor_allocate"),
    NEURON_SYMBOL(free, "nrt_tensor_free"),
    NEURON_SYMBOL(pointer, "nrt_tensor_get_va"),
    NEURON_SYMBOL(read, "nrt_tensor_read"),
    NEURON_SYMBOL(write, "nrt_tensor_write"),
    NEURON_SYMBOL(copy, "nrt_tensor_copy"),
    NEURON_SYMBOL(fill, "nrt_tensor_memset"),
    NEURON_SYMBOL(allocate_empty, "nrt_tensor_allocate_empty"),
    NEURON_SYMBOL(attach, "nrt_tensor_attach_buffer"),
    NEURON_SYMBOL(slice, "nrt_tensor_allocate_slice"),
    NEURON_OPTIONAL(start_write, "nrta_tensor_write"),
    NEURON_OPTIONAL(start_read, "nrta_tensor_read"),
    NEURON_OPTIONAL(start_copy, "nrta_tensor_copy"),
    NEURON_OPTIONAL(is_completed, "nrta_is_completed"),
    NEURON_OPTIONAL(completion, "nrta_get_completion_handle"),
    NEURON_OPTIONAL(tracker_create, "nrta_error_tracker_create"),
    NEURON_OPTIONAL(tracker_destroy, "nrta_error_tracker_destroy"),
    NEURON_OPTIONAL(tracker_list, "nrta_error_tracker_get_list"),
};

typedef struct neuron_driver {
    spad_host host;
    void *library;
    nrt_calls nrt;
    bool has_async;
} neuron_driver;

/* Work up to a number of one of the queues. */
typedef struct progress {
    bool some; /* false: none exists */
    uint64_t sequence;
} progress;

typedef struct neuron_device {
    neuron_driver *driver;
    int core;
    pthread_mutex_t mutex; /* guards the next fields, and the host */
    spad__objects tensors;
    progress last[3]; /* of each queue, by direction */
} neuron_device;

/* The mutex is taken before the device's, and held while waiting for the stream's work. */
typedef struct neuron_stream {
    pthread_mutex_t mutex;
    progress last;
    spad_direction queue; /* of the last: all earlier work is done */
    void *tracker;        /* of failures since the last that was reported; NULL: not made yet */
} neuron_stream;

typedef struct neuron_event {
    progress until;
} neuron_event;

static const char *result_name(nrt_result result) {
    static const struct {
        nrt_result result;
        const char *name;
    } names[] = {{1, "NRT_FAILURE"},        {2, "NRT_INVALID"},
                 {3, "NRT_INVALID_HANDLE"}, {4, "NRT_RESOURCE"},
                 {5, "NRT_TIMEOUT"},        {6, "NRT_HW_ERROR"},
                 {7, "NRT_QUEUE_FULL"},     {9, "NRT_LOAD_NOT_ENOUGH_NC"},
                 {13, "NRT_UNINITIALIZED"}, {14, "NRT_CLOSED"},
                 {1005, "NRT_EXEC_NC_BUSY"}};
    for (size_t i = 0; i < sizeof names / sizeof names[0]; i++) {
        if (names[i].result == result) return names[i].name;
    }
    return "an unknown error";
}

static spad_status check_neuron(nrt_result result, const char *function, spad_error *error) {
    if (result == 0) return SPAD_OK;
    return spad__fail(error, SPAD_ERR_DEVICE, "%s failed with %s (%d)", function,
                      result_name(result), result);
}

/* ---- driver ------------------------------------------------------------------------ */

static void neuron_unload(void *opaque) {
    neuron_driver *driver = opaque;
    const spad_host host = driver->host;
    spad__library_close(driver->library);
    spad__free(&host, driver, sizeof *driver);
}

static spad_status check_version(const neuron_driver *driver, spad_error *error) {
    nrt_version version = {0};
    const spad_status status =
        check_neuron(driver->nrt.version(&version, sizeof version), "nrt_get_version", error);
    if (status != SPAD_OK || version.major == NRT_MAJOR) return status;
    return spad__fail(error, SPAD_ERR_NO_DEVICE,
                      "libnrt.so has version %llu.%llu of its interface; version %d is known",
                      (unsigned long long)version.major, (unsigned long long)version.minor,
                      NRT_MAJOR);
}

/* The asynchronous functions are used if all are there: the library had others of the same names,
 * with other arguments, before it had those for errors and completion. */
static bool has_async(const nrt_calls *nrt) {
    for (size_t i = 0; i < sizeof neuron_symbols / sizeof neuron_symbols[0]; i++) {
        void *function;
        memcpy(&function, (const char *)nrt + neuron_symbols[i].offset, sizeof function);
        if (function == NULL && strncmp(neuron_symbols[i].name, "nrta_", 5) == 0) return false;
    }
    return true;
}

static spad_status neuron_load(void **out, const spad_host *host, spad_error *error) {
    *out = NULL;
    neuron_driver *driver = spad__new(host, sizeof *driver);
    if (driver == NULL) return spad__fail_host_memory(error);
    driver->host = *host;
    nrt_calls *nrt = &driver->nrt;
    spad_status status =
        spad__library_open(&driver->library, nrt, "libnrt.so.1", neuron_symbols,
                           sizeof neuron_symbols / sizeof neuron_symbols[0], error);
    if (status == SPAD_OK) status = check_version(driver, error);
    if (status != SPAD_OK) {
        neuron_unload(driver);
        return status;
    }
    driver->has_async = has_async(nrt);
    *out = driver;
    return SPAD_OK;
}

static spad_status neuron_count(int *count, void *opaque, spad_error *error) {
    neuron_driver *driver = opaque;
    uint32_t found = 0;
    const spad_status status =
        check_neuron(driver->nrt.count(&found), "nrt_get_visible_vnc_count", error);
    *count = status == SPAD_OK ? (int)found : 0;
    return status;
}

/* The bytes that the core may hold; 0: not known, as before the runtime is initialized. */
static size_t memory_of(const neuron_driver *driver, int core) {
    nrt_memory stats = {0};
    size_t written = 0;
    if (driver->nrt.memory == NULL) return 0;
    const nrt_result result = driver->nrt.memory((uint32_t)core, &stats, sizeof stats, &written);
    return result == 0 ? stats.limit : 0; /* an older one writes less: 0 stays */
}

static spad_status neuron_describe(spad_device_info *out, void *opaque, int index,
                                   spad_error *error) {
    neuron_driver *driver = opaque;
    nrt_version version = {0};
    nrt_instance instance = {0};
    const spad_status status =
        check_neuron(driver->nrt.version(&version, sizeof version), "nrt_get_version", error);
    if (status != SPAD_OK) return status;
    const bool named = driver->nrt.instance != NULL &&
                       driver->nrt.instance(&instance, sizeof instance) == 0 &&
                       instance.architecture[0] != '\0';
    snprintf(out->about, sizeof out->about, "a Neuron core%s%.16s", named ? " of " : "",
             named ? instance.architecture : "");
    snprintf(out->driver, sizeof out->driver, "NRT %llu.%llu.%llu%s",
             (unsigned long long)version.major, (unsigned long long)version.minor,
             (unsigned long long)version.patch, driver->has_async ? "" : ", without streams");
    out->total_bytes = (int64_t)memory_of(driver, index);
    out->alignment = 256; /* of made-up addresses */
    out->host_reads = false;
    out->guard_bytes = 0;
    return SPAD_OK;
}

/* ---- device ------------------------------------------------------------------------ */

static void neuron_close(void *opaque) {
    neuron_device *device = opaque;
    const spad_host host = device->driver->host;
    for (size_t i = 0; i < device->tensors.items.count; i++) {
        device->driver->nrt.free(&device->tensors.items.items[i].native);
    }
    pthread_mutex_destroy(&device->mutex);
    spad__array_free(&host, &device->tensors.items);
    spad__free(&host, device, sizeof *device);
}

static spad_status neuron_open(void **out, void *opaque, int index, spad_error *error) {
    neuron_driver *driver = opaque;
    *out = NULL;
    neuron_device *device = spad__new(&driver->host, sizeof *device);
    if (device == NULL) return spad__fail_host_memory(error);
    device->driver = driver;
    device->core = index;
    if (pthread_mutex_init(&device->mutex, NULL) != 0) {
        spad__free(&driver->host, device, sizeof *device);
        return spad__fail_host_memory(error);
    }
    spad_status status = SPAD_OK;
    /* a runtime that knows its memory is initialized, perhaps by another library */
    if (memory_of(driver, index) == 0)
        status = check_neuron(driver->nrt.init(NRT_NO_FRAMEWORK, "", ""), "nrt_init", error);
    if (status != SPAD_OK) {
        pthread_mutex_destroy(&device->mutex);
        spad__free(&driver->host, device, sizeof *device);
        return status;
    }
    *out = device;
    return SPAD_OK;
}

/* ---- waiting ----------------------------------------------------------------------- */

static nrt_result wait_for(const neuron_driver *driver, progress until) {
    bool completed = false;
    int descriptor = -1;
    if (!until.some) return 0;
    nrt_result result = driver->nrt.is_completed(until.sequence, &completed);
    if (result != 0 || completed) return result;
    result = driver->nrt.completion(until.sequence, &descriptor);
    if (result != 0) return result;
    if (descriptor < 0) return NRT_FAILURE; /* poll would wait without end */
    struct pollfd readable = {.fd = descriptor, .events = POLLIN};
    while (poll(&readable, 1, -1) < 0 && errno == EINTR) continue;
    close(descriptor);
    return (readable.revents & POLLIN) != 0 ? 0 : NRT_FAILURE;
}

/* Reports the failures since the last report. A tracker is used until it has something to report:
 * whether its list grows or starts over after a read is not documented. Nothing is under way. */
static spad_status report_failures(const neuron_driver *driver, neuron_stream *stream,
                                   spad_error *error) {
    const nrt_failure *list = NULL;
    size_t count = 0;
    spad__assert(stream->tracker != NULL); /* there was work */
    const spad_status status =
        check_neuron(driver->nrt.tracker_list(stream->tracker, &list, &count),
                     "nrta_error_tracker_get_list", error);
    if (status != SPAD_OK || count == 0) return status;
    const nrt_result code = (nrt_result)list[count - 1].code;
    driver->nrt.tracker_destroy(stream->tracker);
    stream->tracker = NULL;
    return check_neuron(code, "a copy on a stream of the neuron device", error);
}

/* Waits for all work of a stream. Under its mutex. */
static spad_status drain(const neuron_driver *driver, neuron_stream *stream, spad_error *error) {
    if (!stream->last.some) return SPAD_OK;
    const spad_status status =
        check_neuron(wait_for(driver, stream->last), "nrta_get_completion_handle", error);
    if (status != SPAD_OK) return status;
    stream->last.some = false;
    return report_failures(driver, stream, error);
}

/* Waits for all work of the device: the last of each queue comes after the others. A wait that
 * fails is ignored, because the memory is given back all the same. */
static void drain_queues(neuron_device *device) {
    progress last[3];
    pthread_mutex_lock(&device->mutex);
    memcpy(last, device->last, sizeof last);
    pthread_mutex_unlock(&device->mutex);
    for (int i = 0; i < 3; i++) wait_for(device->driver, last[i]);
}

/* ---- memory ------------------------------------------------------------------------ */

static spad_status check_alloc(nrt_result result, int64_t bytes, spad_error *error) {
    if (result == NRT_RESOURCE || result == NRT_INVALID) /* the latter: absurd sizes */
        return spad__fail_device_memory(error, "neuron", bytes);
    return check_neuron(result, "nrt_tensor_allocate", error);
}

static spad_status neuron_alloc(int64_t *address, void *opaque, int64_t bytes, spad_error *error) {
    neuron_device *device = opaque;
    int64_t made_up;
    *address = 0;
    pthread_mutex_lock(&device->mutex);
    spad_status status =
        spad__objects_reserve(&made_up, &device->tensors, &device->driver->host, bytes, error);
    if (status == SPAD_OK) {
        void *tensor = NULL;
        status = check_alloc(
            device->driver->nrt.allocate(NRT_ON_DEVICE, device->core, (size_t)bytes, NULL, &tensor),
            bytes, error);
        if (status == SPAD_OK) spad__objects_add(&device->tensors, bytes, tensor);
    }
    if (status == SPAD_OK) *address = made_up;
    pthread_mutex_unlock(&device->mutex);
    return status;
}

/* The tensor that an address is in. */
static spad_status find_tensor(spad__object *out, neuron_device *device, int64_t address,
                               spad_error *error) {
    pthread_mutex_lock(&device->mutex);
    const spad__object *found = spad__objects_find(&device->tensors, address);
    *out = found != NULL ? *found : (spad__object){0};
    pthread_mutex_unlock(&device->mutex);
    if (found != NULL) return SPAD_OK;
    return spad__fail(error, SPAD_ERR_DEVICE, "no neuron tensor has the address 0x%llx",
                      (unsigned long long)address);
}

static spad_status neuron_free(void *opaque, int64_t address, spad_error *error) {
    neuron_device *device = opaque;
    drain_queues(device);
    pthread_mutex_lock(&device->mutex);
    const spad__object *found = spad__objects_find(&device->tensors, address);
    const bool begins = found != NULL && found->address == address;
    void *tensor = begins ? found->native : NULL;
    if (begins) spad__objects_remove(&device->tensors, found);
    pthread_mutex_unlock(&device->mutex);
    if (!begins) {
        return spad__fail(error, SPAD_ERR_DEVICE, "no neuron tensor begins at 0x%llx",
                          (unsigned long long)address);
    }
    device->driver->nrt.free(&tensor);
    return SPAD_OK;
}

static spad_status neuron_native(void **out, int64_t *offset, void *opaque, int64_t address,
                                 spad_error *error) {
    spad__object o;
    const spad_status status = find_tensor(&o, opaque, address, error);
    if (status != SPAD_OK) return status;
    *out = o.native;
    *offset = address - o.address;
    return SPAD_OK;
}

/* Memory of a tensor on the host. The tensor is remembered in front of it. */
enum { HOST_HEAD = 256 };

static spad_status neuron_host_alloc(int64_t *address, void *opaque, int64_t bytes,
                                     spad_error *error) {
    neuron_device *device = opaque;
    const nrt_calls *nrt = &device->driver->nrt;
    void *tensor = NULL;
    *address = 0;
    const nrt_result result =
        nrt->allocate(NRT_ON_HOST, -1, (size_t)bytes + HOST_HEAD, NULL, &tensor);
    if (result == NRT_RESOURCE || result == NRT_INVALID)
        return spad__fail_pinned_memory(error, "neuron", bytes);
    if (result != 0) return check_neuron(result, "nrt_tensor_allocate", error);
    char *memory = nrt->pointer(tensor);
    if (memory == NULL) {
        nrt->free(&tensor);
        return spad__fail(error, SPAD_ERR_DEVICE, "nrt_tensor_get_va failed for a host tensor");
    }
    memory += HOST_HEAD; /* as well aligned as the library's own block, up to 256 */
    memcpy(memory - sizeof tensor, &tensor, sizeof tensor);
    *address = (int64_t)(uintptr_t)memory;
    return SPAD_OK;
}

static spad_status neuron_host_free(void *opaque, int64_t address, spad_error *error) {
    neuron_device *device = opaque;
    void *tensor;
    (void)error;
    drain_queues(device);
    memcpy(&tensor, (const char *)(uintptr_t)address - sizeof tensor, sizeof tensor);
    device->driver->nrt.free(&tensor);
    return SPAD_OK;
}

/* ---- views ------------------------------------------------------------------------- */

static spad_status attach(void **view, const nrt_calls *nrt, int64_t address, int64_t bytes,
                          spad_error *error) {
    spad_status status =
        check_neuron(nrt->allocate_empty(NULL, view), "nrt_tensor_allocate_empty", error);
    if (status != SPAD_OK) return status;
    status = check_neuron(nrt->attach(*view, (void *)(uintptr_t)address, (size_t)bytes),
                          "nrt_tensor_attach_buffer", error);
    if (status != SPAD_OK) nrt->free(view);
    return status;
}

static spad_status neuron_view_open(void **view, void *opaque, bool in_host, int64_t address,
                                    int64_t bytes, spad_error *error) {
    neuron_device *device = opaque;
    const nrt_calls *nrt = &device->driver->nrt;
    spad__object o;
    *view = NULL;
    if (in_host) return attach(view, nrt, address, bytes, error);
    const spad_status status = find_tensor(&o, device, address, error);
    if (status != SPAD_OK) return status;
    return check_neuron(
        nrt->slice(o.native, (size_t)(address - o.address), (size_t)bytes, NULL, view),
        "nrt_tensor_allocate_slice", error);
}

static void neuron_view_close(void *opaque, void *view) {
    neuron_device *device = opaque;
    device->driver->nrt.free(&view);
}

/* ---- copies ------------------------------------------------------------------------ */

/* A row between two tensors, or one and host memory. */
typedef struct row {
    spad_direction direction;
    void *from; /* a tensor, or the memory */
    void *to;
    size_t from_offset;
    size_t to_offset;
    size_t bytes;
} row;

static nrt_result neuron_copy_row(const nrt_calls *nrt, const row *r) {
    if (r->direction == SPAD_TO_DEVICE)
        return nrt->write(r->to, (const char *)r->from + r->from_offset, r->to_offset, r->bytes);
    if (r->direction == SPAD_FROM_DEVICE)
        return nrt->read(r->from, (char *)r->to + r->to_offset, r->from_offset, r->bytes);
    return nrt->copy(r->from, r->from_offset, r->to, r->to_offset, r->bytes);
}

static nrt_result start_row(const nrt_calls *nrt, const row *r, void *tracker, uint64_t *sequence) {
    if (r->direction == SPAD_TO_DEVICE)
        return nrt->start_write(r->to, (const char *)r->from + r->from_offset, r->to_offset,
                                r->bytes, NEURON_QUEUE, tracker, sequence);
    if (r->direction == SPAD_FROM_DEVICE)
        return nrt->start_read((char *)r->to + r->to_offset, r->from, r->from_offset, r->bytes,
                               NEURON_QUEUE, tracker, sequence);
    return nrt->start_copy(r->from, r->from_offset, r->to, r->to_offset, r->bytes, NEURON_QUEUE,
                           tracker, sequence);
}

/* Puts a row on its queue; a queue that is full is waited for once. Under the stream's mutex. */
static nrt_result enqueue(neuron_device *device, neuron_stream *stream, const row *r) {
    const nrt_calls *nrt = &device->driver->nrt;
    uint64_t sequence = 0;
    nrt_result result = start_row(nrt, r, stream->tracker, &sequence);
    if (result == NRT_QUEUE_FULL) {
        drain_queues(device);
        result = start_row(nrt, r, stream->tracker, &sequence);
    }
    if (result != 0) return result;
    stream->last = (progress){.some = true, .sequence = sequence};
    stream->queue = r->direction;
    pthread_mutex_lock(&device->mutex);
    device->last[r->direction] = stream->last;
    pthread_mutex_unlock(&device->mutex);
    return 0;
}

/* The stream is ready for work on a queue. Under its mutex. */
static spad_status turn_to(neuron_device *device, neuron_stream *stream, spad_direction queue,
                           spad_error *error) {
    const neuron_driver *driver = device->driver;
    if (stream->queue != queue) {
        const spad_status status = drain(driver, stream, error);
        if (status != SPAD_OK) return status;
    }
    if (stream->tracker != NULL) return SPAD_OK;
    return check_neuron(driver->nrt.tracker_create((uint32_t)device->core, &stream->tracker),
                        "nrta_error_tracker_create", error);
}

static spad_status neuron_copy_rows(neuron_device *device, neuron_stream *stream, row r,
                                    const spad_transfer *t, spad_error *error) {
    nrt_result result = 0;
    for (int64_t i = 0; i < t->rows && result == 0; i++) {
        result = stream != NULL ? enqueue(device, stream, &r)
                                : neuron_copy_row(&device->driver->nrt, &r);
        r.from_offset += (size_t)t->from_pitch;
        r.to_offset += (size_t)t->to_pitch;
    }
    return check_neuron(result, "a copy on the neuron device", error);
}

static spad_status neuron_copy(void *opaque, void *opaque_stream, const spad_transfer *t,
                               spad_error *error) {
    neuron_device *device = opaque;
    neuron_stream *stream = device->driver->has_async ? opaque_stream : NULL;
    /* host memory is taken for an object that begins at the address */
    spad__object from = {.address = t->from, .native = (void *)(uintptr_t)t->from};
    spad__object to = {.address = t->to, .native = (void *)(uintptr_t)t->to};
    spad_status status = SPAD_OK;
    if (t->direction != SPAD_TO_DEVICE) status = find_tensor(&from, device, t->from, error);
    if (status == SPAD_OK && t->direction != SPAD_FROM_DEVICE)
        status = find_tensor(&to, device, t->to, error);
    if (status != SPAD_OK) return status;
    const row first = {.direction = t->direction,
                       .from = from.native,
                       .to = to.native,
                       .from_offset = (size_t)(t->from - from.address),
                       .to_offset = (size_t)(t->to - to.address),
                       .bytes = (size_t)t->width};
    if (stream == NULL) return neuron_copy_rows(device, NULL, first, t, error);
    pthread_mutex_lock(&stream->mutex);
    status = turn_to(device, stream, t->direction, error);
    if (status == SPAD_OK) status = neuron_copy_rows(device, stream, first, t, error);
    pthread_mutex_unlock(&stream->mutex);
    return status;
}

/* The runtime has no asynchronous fill: waits for the work on the stream first. */
static spad_status neuron_fill(void *opaque, void *opaque_stream, int64_t address, int64_t bytes,
                               uint8_t value, spad_error *error) {
    neuron_device *device = opaque;
    neuron_stream *stream = opaque_stream;
    spad__object o;
    spad_status status = find_tensor(&o, device, address, error);
    if (status == SPAD_OK && stream != NULL) {
        pthread_mutex_lock(&stream->mutex);
        status = drain(device->driver, stream, error);
        pthread_mutex_unlock(&stream->mutex);
    }
    if (status != SPAD_OK) return status;
    return check_neuron(
        device->driver->nrt.fill(o.native, (uint64_t)(address - o.address), value, (size_t)bytes),
        "nrt_tensor_memset", error);
}

/* ---- streams and events ------------------------------------------------------------ */

static void *new_part(neuron_device *device, size_t bytes) {
    pthread_mutex_lock(&device->mutex);
    void *part = spad__new(&device->driver->host, bytes);
    pthread_mutex_unlock(&device->mutex);
    return part;
}

static void free_part(neuron_device *device, void *part, size_t bytes) {
    pthread_mutex_lock(&device->mutex);
    spad__free(&device->driver->host, part, bytes);
    pthread_mutex_unlock(&device->mutex);
}

static spad_status neuron_stream_open(void **out, void *opaque, spad_error *error) {
    neuron_device *device = opaque;
    neuron_stream *stream = new_part(device, sizeof *stream);
    *out = stream;
    if (stream == NULL) return spad__fail_host_memory(error);
    if (pthread_mutex_init(&stream->mutex, NULL) == 0) return SPAD_OK;
    free_part(device, stream, sizeof *stream);
    *out = NULL;
    return spad__fail_host_memory(error);
}

static void neuron_stream_close(void *opaque, void *opaque_stream) {
    neuron_device *device = opaque;
    neuron_stream *stream = opaque_stream;
    drain(device->driver, stream, NULL); /* its work has the tracker */
    if (stream->tracker != NULL) device->driver->nrt.tracker_destroy(stream->tracker);
    pthread_mutex_destroy(&stream->mutex);
    free_part(device, stream, sizeof *stream);
}

/* No stream (NULL) is one on which all work is done within the call. */
static spad_status neuron_stream_wait(void *opaque, void *opaque_stream, spad_error *error) {
    neuron_device *device = opaque;
    neuron_stream *stream = opaque_stream;
    if (stream == NULL) return SPAD_OK;
    pthread_mutex_lock(&stream->mutex);
    const spad_status status = drain(device->driver, stream, error);
    pthread_mutex_unlock(&stream->mutex);
    return status;
}

static spad_status neuron_event_open(void **event, void *opaque, spad_error *error) {
    *event = new_part(opaque, sizeof(neuron_event));
    return *event != NULL ? SPAD_OK : spad__fail_host_memory(error);
}

static void neuron_event_close(void *opaque, void *event) {
    free_part(opaque, event, sizeof(neuron_event));
}

static spad_status neuron_event_record(void *opaque, void *opaque_event, void *opaque_stream,
                                       spad_error *error) {
    neuron_event *event = opaque_event;
    neuron_stream *stream = opaque_stream;
    (void)opaque;
    (void)error;
    event->until = (progress){0};
    if (stream == NULL) return SPAD_OK;
    pthread_mutex_lock(&stream->mutex);
    event->until = stream->last;
    pthread_mutex_unlock(&stream->mutex);
    return SPAD_OK;
}

static spad_status neuron_event_done(bool *done, void *opaque, void *opaque_event,
                                     spad_error *error) {
    neuron_device *device = opaque;
    const neuron_event *event = opaque_event;
    *done = !event->until.some;
    if (*done) return SPAD_OK;
    return check_neuron(device->driver->nrt.is_completed(event->until.sequence, done),
                        "nrta_is_completed", error);
}

static spad_status neuron_event_wait(void *opaque, void *opaque_event, spad_error *error) {
    neuron_device *device = opaque;
    const neuron_event *event = opaque_event;
    return check_neuron(wait_for(device->driver, event->until), "nrta_get_completion_handle",
                        error);
}

static spad_status neuron_stream_wait_event(void *opaque, void *stream, void *event,
                                            spad_error *error) {
    (void)stream;
    return neuron_event_wait(opaque, event, error);
}

const spad_backend spad__backend_neuron = {
    .version = SPAD_BACKEND_VERSION,
    .name = "neuron",
    .load = neuron_load,
    .unload = neuron_unload,
    .count = neuron_count,
    .describe = neuron_describe,
    .open = neuron_open,
    .close = neuron_close,
    .alloc = neuron_alloc,
    .free = neuron_free,
    .copy = neuron_copy,
    .stream_open = neuron_stream_open,
    .stream_close = neuron_stream_close,
    .stream_wait = neuron_stream_wait,
    .event_open = neuron_event_open,
    .event_close = neuron_event_close,
    .event_record = neuron_event_record,
    .event_done = neuron_event_done,
    .event_wait = neuron_event_wait,
    .stream_wait_event = neuron_stream_wait_event,
    .native = neuron_native,
    .fill = neuron_fill,
    .host_alloc = neuron_host_alloc,
    .host_free = neuron_host_free,
    .view_open = neuron_view_open,
    .view_close = neuron_view_close,
};
