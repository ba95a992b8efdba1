/* SPDX-License-Identifier: Apache-2.0
 *
 * A libOpenCL.so.1 for tests: what backend_opencl.c calls, on host memory. Work on a queue is
 * put off (later.h); a program that uses memory too early or too late reads wrong bytes, or is
 * stopped by AddressSanitizer. Any one call can be made to fail, and the platforms and devices
 * are the test's to choose.
 */
#include <stdint.h>

typedef int32_t result;
enum {
    DEVICE_NOT_FOUND = -1,
    OUT_OF_HOST_MEMORY = -6,
    INVALID_VALUE = -30,
    INVALID_COMMAND_QUEUE = -36,
    INVALID_OPERATION = -59,
    INVALID_BUFFER_SIZE = -61,
    NO_PLATFORM = -1001
};
enum { DEFAULT_CODE = INVALID_OPERATION };

#include "fake.h" /* live: contexts, queues, buffers, events */

enum { PLATFORMS_MAX = 20, DEVICES_MAX = 40 };

/* More functions of our own. */

/* So many platforms with so many devices each; at first one with two. */
void fake_opencl_set_devices(uint32_t platforms, const uint32_t *devices);
/* What the events report from now on; 1: whether their work is done. */
void fake_opencl_set_event_state(int32_t state);

enum { COMPLETE = 0, BY_WORK = 1, QUEUED = 3 };
static const size_t MOST_BYTES = (size_t)1 << 30;

static uint32_t platform_count = 1;
static uint32_t device_counts[PLATFORMS_MAX] = {2};
static result event_state = BY_WORK;
/* Their addresses are the handles. */
static char platform_ids[PLATFORMS_MAX];
static char device_ids[PLATFORMS_MAX][DEVICES_MAX];
static char context_id;

/* The buffer whose release has failed, until it is tried again; it goes with the context. */
static void *left;

static void drop_buffer(void *buffer) {
    later_finish_all();
    free(buffer);
    live--;
}

void fake_opencl_set_devices(uint32_t platforms, const uint32_t *devices) {
    platform_count = platforms;
    for (uint32_t i = 0; i < platforms && i < PLATFORMS_MAX; i++) device_counts[i] = devices[i];
}

void fake_opencl_set_event_state(int32_t state) {
    event_state = state;
}

/* A call that returns what it makes. */
#define MAKING_CALL(out, body)              \
    void *made = NULL;                      \
    pthread_mutex_lock(&mutex);             \
    *(out) = fails() ? fail_code : SUCCESS; \
    if (*(out) == SUCCESS) {                \
        body;                               \
        live += made != NULL;               \
    }                                       \
    pthread_mutex_unlock(&mutex);           \
    return made

/* ---- platforms and devices --------------------------------------------------------- */

result clGetPlatformIDs(uint32_t capacity, void **platforms, uint32_t *count);
result clGetPlatformIDs(uint32_t capacity, void **platforms, uint32_t *count) {
    CALL(*count = platform_count;
         for (uint32_t i = 0; i < *count && i < capacity; i++) platforms[i] = &platform_ids[i];
         if (*count == 0) call_result = NO_PLATFORM);
}

/* Of both kinds of questions: the answer, if there is room for it. */
static result answer(const void *value, size_t bytes, size_t size, void *out, size_t *got) {
    *got = bytes;
    if (size < bytes) return INVALID_VALUE;
    memcpy(out, value, bytes);
    return SUCCESS;
}

result clGetPlatformInfo(void *platform, uint32_t name, size_t size, void *out, size_t *got);
result clGetPlatformInfo(void *platform, uint32_t name, size_t size, void *out, size_t *got) {
    static const char text[] = "a platform for tests";
    (void)platform;
    (void)name;
    CALL(call_result = answer(text, sizeof text, size, out, got));
}

result clGetDeviceIDs(void *platform, uint64_t type, uint32_t capacity, void **devices,
                      uint32_t *count);
result clGetDeviceIDs(void *platform, uint64_t type, uint32_t capacity, void **devices,
                      uint32_t *count) {
    const ptrdiff_t p = (char *)platform - platform_ids;
    (void)type;
    CALL(*count = device_counts[p];
         for (uint32_t i = 0; i < *count && i < capacity; i++) devices[i] = &device_ids[p][i];
         if (*count == 0) call_result = DEVICE_NOT_FOUND);
}

/* The second device of a platform wants its buffers at multiples of 1024 bytes. */
static result about_device(const char *device, uint32_t name, size_t size, void *out, size_t *got) {
    static const char text[] = "a device for tests";
    static const char version[] = "1.2";
    const uint64_t bytes = MOST_BYTES;
    const bool second = (device - &device_ids[0][0]) % DEVICES_MAX == 1;
    const uint32_t align_bits = second ? 8192 : 1024;
    switch (name) {
    case 0x101F: return answer(&bytes, sizeof bytes, size, out, got);
    case 0x1019: return answer(&align_bits, sizeof align_bits, size, out, got);
    case 0x102B: return answer(text, sizeof text, size, out, got);
    case 0x102D: return answer(version, sizeof version, size, out, got);
    default: return INVALID_VALUE;
    }
}

result clGetDeviceInfo(void *device, uint32_t name, size_t size, void *out, size_t *got);
result clGetDeviceInfo(void *device, uint32_t name, size_t size, void *out, size_t *got) {
    CALL(call_result = about_device(device, name, size, out, got));
}

void *clCreateContext(const intptr_t *properties, uint32_t count, void *const *devices,
                      void *notify, void *user, result *out);
void *clCreateContext(const intptr_t *properties, uint32_t count, void *const *devices,
                      void *notify, void *user, result *out) {
    (void)properties;
    (void)count;
    (void)devices;
    (void)notify;
    (void)user;
    MAKING_CALL(out, made = &context_id);
}
result clReleaseContext(void *context);
result clReleaseContext(void *context) {
    (void)context;
    CLOSING_CALL(if (left != NULL) drop_buffer(left); left = NULL; live--);
}

/* ---- memory ------------------------------------------------------------------------ */

void *clCreateBuffer(void *context, uint64_t flags, size_t size, void *host, result *out);
void *clCreateBuffer(void *context, uint64_t flags, size_t size, void *host, result *out) {
    (void)context;
    (void)flags;
    (void)host;
    MAKING_CALL(out, if (size <= MOST_BYTES) made = malloc(size);
                if (made == NULL) *out = INVALID_BUFFER_SIZE);
}
/* Commands that use it are still done. A release that fails leaves the buffer as it is. */
result clReleaseMemObject(void *buffer);
result clReleaseMemObject(void *buffer) {
    pthread_mutex_lock(&mutex);
    const bool failed = fails();
    if (failed) left = buffer;
    if (!failed && left == buffer) left = NULL;
    if (!failed) drop_buffer(buffer);
    pthread_mutex_unlock(&mutex);
    return failed ? fail_code : SUCCESS;
}

static result start(void *queue, uint32_t blocking, later_work work) {
    if (queue == NULL) return INVALID_COMMAND_QUEUE;
    if (!later_start(queue, work)) return OUT_OF_HOST_MEMORY;
    if (blocking != 0) later_finish(queue);
    return SUCCESS;
}

result clEnqueueReadBuffer(void *queue, void *buffer, uint32_t blocking, size_t offset, size_t size,
                           void *to, uint32_t waits, void *const *wait_for, void **event);
result clEnqueueReadBuffer(void *queue, void *buffer, uint32_t blocking, size_t offset, size_t size,
                           void *to, uint32_t waits, void *const *wait_for, void **event) {
    const later_work w = {.to = to, .from = (char *)buffer + offset, .width = size, .rows = 1};
    (void)waits;
    (void)wait_for;
    (void)event;
    CALL(call_result = start(queue, blocking, w));
}
result clEnqueueWriteBuffer(void *queue, void *buffer, uint32_t blocking, size_t offset,
                            size_t size, const void *from, uint32_t waits, void *const *wait_for,
                            void **event);
result clEnqueueWriteBuffer(void *queue, void *buffer, uint32_t blocking, size_t offset,
                            size_t size, const void *from, uint32_t waits, void *const *wait_for,
                            void **event) {
    const later_work w = {.to = (char *)buffer + offset, .from = from, .width = size, .rows = 1};
    (void)waits;
    (void)wait_for;
    (void)event;
    CALL(call_result = start(queue, blocking, w));
}
result clEnqueueCopyBuffer(void *queue, void *from, void *to, size_t from_offset, size_t to_offset,
                           size_t size, uint32_t waits, void *const *wait_for, void **event);
result clEnqueueCopyBuffer(void *queue, void *from, void *to, size_t from_offset, size_t to_offset,
                           size_t size, uint32_t waits, void *const *wait_for, void **event) {
    const later_work w = {
        .to = (char *)to + to_offset, .from = (char *)from + from_offset, .width = size, .rows = 1};
    (void)waits;
    (void)wait_for;
    (void)event;
    CALL(call_result = start(queue, 0, w));
}

result clEnqueueFillBuffer(void *queue, void *buffer, const void *pattern, size_t pattern_size,
                           size_t offset, size_t size, uint32_t waits, void *const *wait_for,
                           void **event);
result clEnqueueFillBuffer(void *queue, void *buffer, const void *pattern, size_t pattern_size,
                           size_t offset, size_t size, uint32_t waits, void *const *wait_for,
                           void **event) {
    const later_work w = {.to = (char *)buffer + offset,
                          .width = size,
                          .fills = true,
                          .value = *(const unsigned char *)pattern};
    (void)waits;
    (void)wait_for;
    (void)event;
    CALL(call_result = pattern_size == 1 ? start(queue, 0, w) : INVALID_VALUE);
}

/* A copy of rows whose slices are never more than one. */
static later_work rows(char *to, const size_t *to_origin, size_t to_pitch, const char *from,
                       const size_t *from_origin, size_t from_pitch, const size_t *region) {
    return (later_work){.to = to + to_origin[1] * to_pitch + to_origin[0],
                        .from = from + from_origin[1] * from_pitch + from_origin[0],
                        .to_pitch = to_pitch,
                        .from_pitch = from_pitch,
                        .width = region[0],
                        .rows = region[1]};
}

result clEnqueueReadBufferRect(void *queue, void *buffer, uint32_t blocking, const size_t *origin,
                               const size_t *host_origin, const size_t *region, size_t row_pitch,
                               size_t slice_pitch, size_t host_row_pitch, size_t host_slice_pitch,
                               void *to, uint32_t waits, void *const *wait_for, void **event);
result clEnqueueReadBufferRect(void *queue, void *buffer, uint32_t blocking, const size_t *origin,
                               const size_t *host_origin, const size_t *region, size_t row_pitch,
                               size_t slice_pitch, size_t host_row_pitch, size_t host_slice_pitch,
                               void *to, uint32_t waits, void *const *wait_for, void **event) {
    const later_work w = rows(to, host_origin, host_row_pitch, buffer, origin, row_pitch, region);
    (void)slice_pitch;
    (void)host_slice_pitch;
    (void)waits;
    (void)wait_for;
    (void)event;
    CALL(call_result = start(queue, blocking, w));
}
result clEnqueueWriteBufferRect(void *queue, void *buffer, uint32_t blocking, const size_t *origin,
                                const size_t *host_origin, const size_t *region, size_t row_pitch,
                                size_t slice_pitch, size_t host_row_pitch, size_t host_slice_pitch,
                                const void *from, uint32_t waits, void *const *wait_for,
                                void **event);
result clEnqueueWriteBufferRect(void *queue, void *buffer, uint32_t blocking, const size_t *origin,
                                const size_t *host_origin, const size_t *region, size_t row_pitch,
                                size_t slice_pitch, size_t host_row_pitch, size_t host_slice_pitch,
                                const void *from, uint32_t waits, void *const *wait_for,
                                void **event) {
    const later_work w = rows(buffer, origin, row_pitch, from, host_origin, host_row_pitch, region);
    (void)slice_pitch;
    (void)host_slice_pitch;
    (void)waits;
    (void)wait_for;
    (void)event;
    CALL(call_result = start(queue, blocking, w));
}
result clEnqueueCopyBufferRect(void *queue, void *from, void *to, const size_t *from_origin,
                               const size_t *to_origin, const size_t *region, size_t from_row_pitch,
                               size_t from_slice_pitch, size_t to_row_pitch, size_t to_slice_pitch,
                               uint32_t waits, void *const *wait_for, void **event);
result clEnqueueCopyBufferRect(void *queue, void *from, void *to, const size_t *from_origin,
                               const size_t *to_origin, const size_t *region, size_t from_row_pitch,
                               size_t from_slice_pitch, size_t to_row_pitch, size_t to_slice_pitch,
                               uint32_t waits, void *const *wait_for, void **event) {
    const later_work w =
        rows(to, to_origin, to_row_pitch, from, from_origin, from_row_pitch, region);
    (void)from_slice_pitch;
    (void)to_slice_pitch;
    (void)waits;
    (void)wait_for;
    (void)event;
    CALL(call_result = start(queue, 0, w));
}

/* ---- queues and events ------------------------------------------------------------- */

void *clCreateCommandQueue(void *context, void *device, uint64_t properties, result *out);
void *clCreateCommandQueue(void *context, void *device, uint64_t properties, result *out) {
    (void)context;
    (void)device;
    (void)properties;
    MAKING_CALL(out, made = later_open());
}
result clReleaseCommandQueue(void *queue);
result clReleaseCommandQueue(void *queue) {
    CLOSING_CALL(later_close(queue); live--);
}
result clFinish(void *queue);
result clFinish(void *queue) {
    CALL(
        if (queue == NULL) { call_result = INVALID_COMMAND_QUEUE; } else { later_finish(queue); });
}
result clFlush(void *queue);
result clFlush(void *queue) {
    (void)queue;
    CALL();
}

result clEnqueueMarkerWithWaitList(void *queue, uint32_t waits, void *const *wait_for,
                                   void **event);
result clEnqueueMarkerWithWaitList(void *queue, uint32_t waits, void *const *wait_for,
                                   void **event) {
    (void)waits;
    (void)wait_for;
    CALL(
        later_event *made = calloc(1, sizeof *made);
        if (made == NULL) { call_result = OUT_OF_HOST_MEMORY; } else {
            later_record(made, queue);
            *event = made;
            live++;
        });
}
result clEnqueueBarrierWithWaitList(void *queue, uint32_t waits, void *const *wait_for,
                                    void **event);
result clEnqueueBarrierWithWaitList(void *queue, uint32_t waits, void *const *wait_for,
                                    void **event) {
    (void)event;
    CALL(for (uint32_t i = 0; i < waits; i++) {
        if (!later_wait(queue, wait_for[i])) call_result = OUT_OF_HOST_MEMORY;
    });
}
result clWaitForEvents(uint32_t count, void *const *events);
result clWaitForEvents(uint32_t count, void *const *events) {
    CALL(for (uint32_t i = 0; i < count; i++) later_reach(events[i]));
}

static result state_of(later_event *event) {
    if (event_state != BY_WORK) return event_state;
    return later_is_done(event) ? COMPLETE : QUEUED;
}

result clGetEventInfo(void *event, uint32_t name, size_t size, void *out, size_t *got);
result clGetEventInfo(void *event, uint32_t name, size_t size, void *out, size_t *got) {
    (void)name;
    CALL(const result state = state_of(event);
         call_result = answer(&state, sizeof state, size, out, got));
}
result clReleaseEvent(void *event);
result clReleaseEvent(void *event) {
    CLOSING_CALL(later_forget(event); free(event); live--);
}
