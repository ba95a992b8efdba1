/* SPDX-License-Identifier: Apache-2.0
 *
 * The host as a device: memory of the processor, from the host hook. Copies and
 * streams do their work at once, so a stream is always done and its order is the
 * order of the calls.
 */
#include <inttypes.h>
#include <pthread.h>
#include <stdio.h>
#include <string.h>

#include "base/memory.h"
#include "device/backend.h"

enum { HOST_ALIGNMENT = 256 };

typedef struct host_driver {
    spad_host host;
    pthread_mutex_t mutex; /* the hook serves one thread at a time */
} host_driver;

/* In front of every allocation. */
typedef struct head {
    void *block;
    size_t size;
} head;

static spad_status host_load(void **out, const spad_host *host, spad_error *error) {
    host_driver *driver = spad__new(host, sizeof *driver);
    *out = driver;
    if (driver == NULL) return spad__fail_host_memory(error);
    driver->host = *host;
    if (pthread_mutex_init(&driver->mutex, NULL) == 0) return SPAD_OK;
    spad__free(host, driver, sizeof *driver);
    *out = NULL;
    return spad__fail_host_memory(error);
}

static void host_unload(void *opaque) {
    host_driver *driver = opaque;
    const spad_host host = driver->host;
    pthread_mutex_destroy(&driver->mutex);
    spad__free(&host, driver, sizeof *driver);
}

static spad_status host_count(int *count, void *driver, spad_error *error) {
    (void)driver;
    (void)error;
    *count = 1;
    return SPAD_OK;
}

static spad_status host_describe(spad_device_info *out, void *driver, int index,
                                 spad_error *error) {
    (void)driver;
    (void)index;
    (void)error;
    snprintf(out->about, sizeof out->about, "memory of this computer");
    snprintf(out->driver, sizeof out->driver, "spad %s", spad_version());
    out->total_bytes = 0;
    out->alignment = HOST_ALIGNMENT;
    out->host_reads = true;
    return SPAD_OK;
}

static spad_status host_open(void **device, void *driver, int index, spad_error *error) {
    (void)index;
    (void)error;
    *device = driver;
    return SPAD_OK;
}

static void host_close(void *device) {
    (void)device;
}

static spad_status host_alloc(int64_t *address, void *device, int64_t bytes, spad_error *error) {
    host_driver *driver = device;
    const size_t extra = sizeof(head) + HOST_ALIGNMENT;
    *address = 0;
    char *block = NULL;
    if ((uint64_t)bytes <= PTRDIFF_MAX - extra) {
        pthread_mutex_lock(&driver->mutex);
        block = driver->host.resize(driver->host.context, NULL, 0, (size_t)bytes + extra);
        pthread_mutex_unlock(&driver->mutex);
    }
    if (block == NULL) {
        spad__fail(error, SPAD_ERR_NO_FIT, "the host has no %" PRId64 " B; request less", bytes);
        spad__fact_amounts(error, bytes, SPAD_NO_FACT, SPAD_NO_FACT);
        return SPAD_ERR_NO_FIT;
    }
    char *start = block + sizeof(head);
    start += -(uintptr_t)start & (HOST_ALIGNMENT - 1);
    const head h = {.block = block, .size = (size_t)bytes + extra};
    memcpy(start - sizeof h, &h, sizeof h);
    *address = (int64_t)(uintptr_t)start;
    return SPAD_OK;
}

static spad_status host_free(void *device, int64_t address, spad_error *error) {
    host_driver *driver = device;
    head h;
    (void)error;
    memcpy(&h, (const char *)(uintptr_t)address - sizeof h, sizeof h);
    pthread_mutex_lock(&driver->mutex);
    spad__free(&driver->host, h.block, h.size);
    pthread_mutex_unlock(&driver->mutex);
    return SPAD_OK;
}

static spad_status host_copy(void *device, void *stream, const spad_transfer *t,
                             spad_error *error) {
    char *to = (char *)(uintptr_t)t->to;
    const char *from = (const char *)(uintptr_t)t->from;
    (void)device;
    (void)stream;
    (void)error;
    for (int64_t row = 0; row < t->rows; row++) {
        memmove(to + row * t->to_pitch, from + row * t->from_pitch, (size_t)t->width);
    }
    return SPAD_OK;
}

static spad_status host_fill(void *device, void *stream, int64_t address, int64_t bytes,
                             uint8_t value, spad_error *error) {
    (void)device;
    (void)stream;
    (void)error;
    memset((void *)(uintptr_t)address, value, (size_t)bytes);
    return SPAD_OK;
}

/* Streams and events hold nothing: any pointer will do. */
static spad_status host_object(void **out, void *device, spad_error *error) {
    (void)error;
    *out = device;
    return SPAD_OK;
}

static void host_object_close(void *device, void *object) {
    (void)device;
    (void)object;
}

static spad_status host_wait(void *device, void *object, spad_error *error) {
    (void)device;
    (void)object;
    (void)error;
    return SPAD_OK;
}

static spad_status host_two(void *device, void *a, void *b, spad_error *error) {
    (void)a;
    (void)b;
    return host_wait(device, NULL, error);
}

static spad_status host_event_done(bool *done, void *device, void *event, spad_error *error) {
    *done = true;
    return host_wait(device, event, error);
}

const spad_backend spad__backend_host = {
    .version = SPAD_BACKEND_VERSION,
    .name = "host",
    .load = host_load,
    .unload = host_unload,
    .count = host_count,
    .describe = host_describe,
    .open = host_open,
    .close = host_close,
    .alloc = host_alloc,
    .free = host_free,
    .copy = host_copy,
    .stream_open = host_object,
    .stream_close = host_object_close,
    .stream_wait = host_wait,
    .event_open = host_object,
    .event_close = host_object_close,
    .event_record = host_two,
    .event_done = host_event_done,
    .event_wait = host_wait,
    .stream_wait_event = host_two,
    .fill = host_fill,
    .host_alloc = host_alloc,
    .host_free = host_free,
};
