/* SPDX-License-Identifier: Apache-2.0
 *
 * Streams, the memory in their order, and fences.
 *
 * Records of streams stay where they are until the device is closed, so that finding one
 * takes no lock: the hot path of stream-ordered allocation is a look at its generation
 * and at the lists of its lane.
 */
#include "spad/device/stream.h"

#include "device/device.h"

/* ---- streams ----------------------------------------------------------------------- */

spad__stream_record *spad__stream_find(spad_stream stream, spad_error *error) {
    if (stream.device == NULL) {
        spad__fail(error, SPAD_ERR_ARGUMENT, "there is no stream");
        return NULL;
    }
    spad__stream_record *record = NULL;
    if (stream.slot < SPAD_STREAMS_MAX)
        record = atomic_load_explicit(&stream.device->streams[stream.slot], memory_order_acquire);
    if (record == NULL || stream.generation % 2 == 0 ||
        atomic_load_explicit(&record->generation, memory_order_acquire) != stream.generation) {
        spad__fail(error, SPAD_ERR_STALE, "the stream was closed before");
        return NULL;
    }
    return record;
}

/* A record that is not open, made if need be; SPAD_STREAMS_MAX: none. Under streams_mutex. */
static uint32_t find_closed(spad_device *device, spad_error *error) {
    for (uint32_t slot = 0; slot < SPAD_STREAMS_MAX; slot++) {
        spad__stream_record *record =
            atomic_load_explicit(&device->streams[slot], memory_order_relaxed);
        if (record == NULL) {
            pthread_mutex_lock(&device->mutex);
            record = spad__new(&device->host, sizeof *record);
            pthread_mutex_unlock(&device->mutex);
            if (record == NULL) {
                spad__fail_host_memory(error);
                return SPAD_STREAMS_MAX;
            }
            atomic_store_explicit(&device->streams[slot], record, memory_order_release);
            return slot;
        }
        if (atomic_load_explicit(&record->generation, memory_order_relaxed) % 2 == 0) return slot;
    }
    spad__fail(error, SPAD_ERR_NO_FIT, "%d streams are open; close one", SPAD_STREAMS_MAX);
    return SPAD_STREAMS_MAX;
}

static spad_status open_stream(spad_stream *out, spad_device *device, bool wrapped, void *native,
                               spad_error *error) {
    spad_error reason = {.code = SPAD_ERR_HOST_MEMORY};
    spad_status status = SPAD_OK;
    *out = (spad_stream){0};
    pthread_mutex_lock(&device->streams_mutex);
    const uint32_t slot = find_closed(device, &reason);
    if (slot == SPAD_STREAMS_MAX) {
        if (error != NULL) *error = reason;
        status = reason.code;
    } else {
        spad__stream_record *record =
            atomic_load_explicit(&device->streams[slot], memory_order_relaxed);
        if (!wrapped) status = device->backend->stream_open(&native, device->native, error);
        if (status == SPAD_OK) {
            record->native = native;
            record->wrapped = wrapped;
            spad__lane_open(&record->lane, device->pool);
            const uint32_t generation =
                atomic_fetch_add_explicit(&record->generation, 1, memory_order_release) + 1;
            *out = (spad_stream){.device = device, .slot = slot, .generation = generation};
        }
    }
    pthread_mutex_unlock(&device->streams_mutex);
    return status;
}

spad_status spad_stream_open(spad_stream *out, spad_device *device, spad_error *error) {
    return open_stream(out, device, false, NULL, error);
}

spad_status spad_stream_wrap(spad_stream *out, spad_device *device, void *native,
                             spad_error *error) {
    return open_stream(out, device, true, native, error);
}

spad_status spad_stream_get_native(void **out, spad_stream stream, spad_error *error) {
    const spad__stream_record *record = spad__stream_find(stream, error);
    *out = record != NULL ? record->native : NULL;
    if (record == NULL) return stream.device == NULL ? SPAD_ERR_ARGUMENT : SPAD_ERR_STALE;
    return SPAD_OK;
}

spad_status spad_stream_wait(spad_stream stream, spad_error *error) {
    const spad__stream_record *record = spad__stream_find(stream, error);
    if (record == NULL) return stream.device == NULL ? SPAD_ERR_ARGUMENT : SPAD_ERR_STALE;
    return stream.device->backend->stream_wait(stream.device->native, record->native, error);
}

spad_status spad_stream_close(spad_stream stream, spad_error *error) {
    spad_device *device = stream.device;
    if (device == NULL) return SPAD_OK;
    pthread_mutex_lock(&device->streams_mutex);
    spad_status status = spad_stream_wait(stream, error);
    if (status == SPAD_OK) {
        spad__stream_record *record =
            atomic_load_explicit(&device->streams[stream.slot], memory_order_relaxed);
        atomic_fetch_add_explicit(&record->generation, 1, memory_order_release);
        spad__lane_drain(&record->lane, device->pool);
        if (!record->wrapped) device->backend->stream_close(device->native, record->native);
    }
    pthread_mutex_unlock(&device->streams_mutex);
    return status;
}

bool spad__stream_drain_all(spad_device *device) {
    int64_t drained = 0;
    pthread_mutex_lock(&device->streams_mutex);
    for (uint32_t slot = 0; slot < SPAD_STREAMS_MAX; slot++) {
        spad__stream_record *record =
            atomic_load_explicit(&device->streams[slot], memory_order_relaxed);
        if (record == NULL) break; /* slots are used from the lowest on */
        const uint32_t generation = atomic_load_explicit(&record->generation, memory_order_relaxed);
        spad_status status = SPAD_OK;
        if (generation % 2 != 0)
            status = device->backend->stream_wait(device->native, record->native, NULL);
        /* a stream that fails may still use its blocks: they stay */
        if (status == SPAD_OK) drained += spad__lane_drain(&record->lane, device->pool);
    }
    pthread_mutex_unlock(&device->streams_mutex);
    return drained > 0;
}

void spad__stream_destroy_all(spad_device *device) {
    for (size_t i = 0; i < device->fences.count; i++) {
        if (device->fences.items[i].generation % 2 != 0)
            device->backend->event_close(device->native, device->fences.items[i].event);
    }
    spad__array_free(&device->host, &device->fences);
    for (uint32_t slot = 0; slot < SPAD_STREAMS_MAX; slot++) {
        spad__stream_record *record =
            atomic_load_explicit(&device->streams[slot], memory_order_relaxed);
        if (record == NULL) break;
        if (atomic_load_explicit(&record->generation, memory_order_relaxed) % 2 != 0 &&
            !record->wrapped) {
            device->backend->stream_close(device->native, record->native);
        }
        spad__free(&device->host, record, sizeof *record);
    }
}

/* ---- order between streams --------------------------------------------------------- */

bool spad__stream_same(spad_stream a, spad_stream b) {
    return a.device == b.device && a.slot == b.slot && a.generation == b.generation;
}

spad_status spad__stream_follow(spad_stream last, const spad_stream *next, spad_error *error) {
    spad_device *device = last.device;
    if (device == NULL || (next != NULL && spad__stream_same(last, *next))) return SPAD_OK;
    const spad__stream_record *from = spad__stream_find(last, NULL);
    if (from == NULL) return SPAD_OK; /* it was waited for when it was closed */
    if (next == NULL || next->device != device)
        return device->backend->stream_wait(device->native, from->native, error);
    const spad__stream_record *to = spad__stream_find(*next, error);
    if (to == NULL) return SPAD_ERR_STALE;
    const spad_backend *b = device->backend;
    void *event;
    spad_status status = b->event_open(&event, device->native, error);
    if (status != SPAD_OK) return status;
    status = b->event_record(device->native, event, from->native, error);
    if (status == SPAD_OK) status = b->stream_wait_event(device->native, to->native, event, error);
    b->event_close(device->native, event);
    return status;
}

/* ---- memory in the order of a stream ----------------------------------------------- */

spad_status spad_stream_alloc(spad_allocation *out, spad_stream stream, int64_t bytes,
                              int64_t align, spad_error *error) {
    spad__stream_record *record = spad__stream_find(stream, error);
    if (record == NULL) {
        *out = (spad_allocation){0};
        return stream.device == NULL ? SPAD_ERR_ARGUMENT : SPAD_ERR_STALE;
    }
    return spad__lane_alloc(out, &record->lane, stream.device->pool, bytes, align, error);
}

spad_status spad_stream_free(spad_stream stream, const spad_allocation *block, spad_error *error) {
    spad__stream_record *record = spad__stream_find(stream, error);
    if (record == NULL) return stream.device == NULL ? SPAD_ERR_ARGUMENT : SPAD_ERR_STALE;
    return spad__lane_free(&record->lane, stream.device->pool, block, error);
}

/* ---- fences ------------------------------------------------------------------------ */

/* The event of a live fence, or NULL with the error filled. */
static void *find_event(spad_fence fence, spad_error *error) {
    void *event = NULL;
    if (fence.device == NULL) {
        spad__fail(error, SPAD_ERR_ARGUMENT, "there is no fence");
        return NULL;
    }
    pthread_mutex_lock(&fence.device->mutex);
    if (fence.slot < fence.device->fences.count) {
        const spad__fence_record *record = &fence.device->fences.items[fence.slot];
        if (record->generation == fence.generation && fence.generation % 2 != 0)
            event = record->event;
    }
    pthread_mutex_unlock(&fence.device->mutex);
    if (event == NULL) spad__fail(error, SPAD_ERR_STALE, "the fence was freed before");
    return event;
}

/* Puts an event into the table; false: no host memory. */
static bool add_fence(spad_fence *out, spad_device *device, void *event) {
    bool added = false;
    pthread_mutex_lock(&device->mutex);
    if (device->free_fence == 0 && spad__array_reserve(&device->host, &device->fences, 1)) {
        device->fences.items[device->fences.count] = (spad__fence_record){.generation = 0};
        device->free_fence = (uint32_t)++device->fences.count;
    }
    if (device->free_fence != 0) {
        const uint32_t slot = device->free_fence - 1;
        spad__fence_record *record = &device->fences.items[slot];
        device->free_fence = record->next;
        record->generation++;
        record->event = event;
        *out = (spad_fence){.device = device, .slot = slot, .generation = record->generation};
        added = true;
    }
    pthread_mutex_unlock(&device->mutex);
    return added;
}

spad_status spad_fence_record(spad_fence *out, spad_stream stream, spad_error *error) {
    *out = (spad_fence){0};
    const spad__stream_record *record = spad__stream_find(stream, error);
    if (record == NULL) return stream.device == NULL ? SPAD_ERR_ARGUMENT : SPAD_ERR_STALE;
    spad_device *device = stream.device;
    void *event;
    spad_status status = device->backend->event_open(&event, device->native, error);
    if (status != SPAD_OK) return status;
    status = device->backend->event_record(device->native, event, record->native, error);
    if (status == SPAD_OK && !add_fence(out, device, event)) status = spad__fail_host_memory(error);
    if (status != SPAD_OK) device->backend->event_close(device->native, event);
    return status;
}

static spad_status fence_status(spad_fence fence) {
    return fence.device == NULL ? SPAD_ERR_ARGUMENT : SPAD_ERR_STALE;
}

spad_status spad_fence_done(bool *done, spad_fence fence, spad_error *error) {
    *done = false;
    void *event = find_event(fence, error);
    if (event == NULL) return fence_status(fence);
    return fence.device->backend->event_done(done, fence.device->native, event, error);
}

spad_status spad_fence_wait(spad_fence fence, spad_error *error) {
    void *event = find_event(fence, error);
    if (event == NULL) return fence_status(fence);
    return fence.device->backend->event_wait(fence.device->native, event, error);
}

spad_status spad_stream_wait_fence(spad_stream stream, spad_fence fence, spad_error *error) {
    const spad__stream_record *record = spad__stream_find(stream, error);
    if (record == NULL) return stream.device == NULL ? SPAD_ERR_ARGUMENT : SPAD_ERR_STALE;
    if (fence.device != stream.device) return spad_fence_wait(fence, error);
    void *event = find_event(fence, error);
    if (event == NULL) return fence_status(fence);
    return stream.device->backend->stream_wait_event(stream.device->native, record->native, event,
                                                     error);
}

spad_status spad_fence_free(spad_fence fence, spad_error *error) {
    spad_device *device = fence.device;
    if (device == NULL) return SPAD_OK;
    void *event = find_event(fence, error);
    if (event == NULL) return SPAD_ERR_STALE;
    pthread_mutex_lock(&device->mutex);
    spad__fence_record *record = &device->fences.items[fence.slot];
    const bool ours = record->generation == fence.generation;
    if (ours) {
        record->generation++;
        record->event = NULL;
        record->next = device->free_fence;
        device->free_fence = fence.slot + 1;
    }
    pthread_mutex_unlock(&device->mutex);
    if (!ours) return spad__fail(error, SPAD_ERR_STALE, "the fence was freed before");
    device->backend->event_close(device->native, event);
    return SPAD_OK;
}
