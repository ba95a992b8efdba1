/* SPDX-License-Identifier: Apache-2.0
 *
 * A libcuda.so.1 for tests: what backend_cuda.c calls, on host memory. Work on a stream
 * is put off (later.h); a program that uses memory too early or too late reads wrong bytes, or
 * is stopped by AddressSanitizer. Any one call can be made to fail.
 */
typedef int result;
enum { OUT_OF_MEMORY = 2, NOT_READY = 600, LAUNCH_FAILED = 719 };
enum { DEFAULT_CODE = LAUNCH_FAILED };

#include "fake.h" /* live: blocks, streams, events, contexts, pushed contexts */

static const size_t MOST_BYTES = (size_t)1 << 30;
enum { DEVICES = 2, INVALID_VALUE = 1, NO_DEVICE = 100, INVALID_CONTEXT = 201 };
/* Codes of our own: one that has no name, and one that cannot be asked for. */
enum { NAMELESS = 9001, STRANGE = 9002 };
static char contexts[DEVICES]; /* their addresses count */

static later_queue *stream_of(void *opaque) {
    return opaque != NULL ? opaque : &later_first;
}

static result start(void *opaque, later_work work) {
    return later_start(stream_of(opaque), work) ? SUCCESS : OUT_OF_MEMORY;
}

/* ---- the library ------------------------------------------------------------------- */

result cuInit(unsigned flags);
result cuInit(unsigned flags) {
    (void)flags;
    CALL();
}
result cuDriverGetVersion(int *version);
result cuDriverGetVersion(int *version) {
    CALL(*version = 12040);
}
result cuGetErrorName(result error, const char **name);
result cuGetErrorName(result error, const char **name) {
    *name = error == LAUNCH_FAILED ? "CUDA_ERROR_LAUNCH_FAILED"
            : error == NO_DEVICE   ? "CUDA_ERROR_NO_DEVICE"
            : error == NAMELESS    ? NULL
                                   : "CUDA_ERROR_UNKNOWN";
    return error == STRANGE ? INVALID_VALUE : SUCCESS;
}
result cuDeviceGetCount(int *count);
result cuDeviceGetCount(int *count) {
    CALL(*count = DEVICES);
}
result cuDeviceGet(int *device, int ordinal);
result cuDeviceGet(int *device, int ordinal) {
    CALL(*device = ordinal);
}
result cuDeviceGetName(char *name, int length, int device);
result cuDeviceGetName(char *name, int length, int device) {
    (void)device;
    CALL(strncpy(name, "a device for tests", (size_t)length));
}
result cuDeviceTotalMem_v2(size_t *bytes, int device);
result cuDeviceTotalMem_v2(size_t *bytes, int device) {
    (void)device;
    CALL(*bytes = MOST_BYTES);
}
result cuDevicePrimaryCtxRetain(void **context, int device);
result cuDevicePrimaryCtxRetain(void **context, int device) {
    CALL(*context = &contexts[device]; live++);
}
result cuDevicePrimaryCtxRelease_v2(int device);
result cuDevicePrimaryCtxRelease_v2(int device) {
    (void)device;
    CLOSING_CALL(live--);
}
/* Other code of the thread has a context of its own. */
result cuCtxGetCurrent(void **context);
result cuCtxGetCurrent(void **context) {
    CALL(*context = calls % 2 != 0 ? &contexts[0] : NULL);
}
result cuCtxPushCurrent_v2(void *context);
result cuCtxPushCurrent_v2(void *context) {
    (void)context;
    CALL(live++);
}
result cuCtxPopCurrent_v2(void **context);
result cuCtxPopCurrent_v2(void **context) {
    *context = NULL;
    CLOSING_CALL(live--);
}

result cuMemAlloc_v2(uint64_t *address, size_t bytes);
result cuMemAlloc_v2(uint64_t *address, size_t bytes) {
    CALL(void *block = bytes <= MOST_BYTES ? aligned_alloc(256, (bytes + 255) / 256 * 256) : NULL;
         *address = (uint64_t)(uintptr_t)block; live += block != NULL;
         if (block == NULL) call_result = OUT_OF_MEMORY);
}
result cuMemFree_v2(uint64_t address);
result cuMemFree_v2(uint64_t address) {
    CLOSING_CALL(later_finish(&later_first); free((void *)(uintptr_t)address); live--);
}

result cuMemHostAlloc(void **pointer, size_t bytes, unsigned flags);
result cuMemHostAlloc(void **pointer, size_t bytes, unsigned flags) {
    (void)flags;
    CALL(*pointer = bytes <= MOST_BYTES ? malloc(bytes) : NULL; live += *pointer != NULL;
         if (*pointer == NULL) call_result = OUT_OF_MEMORY);
}
result cuMemFreeHost(void *pointer);
result cuMemFreeHost(void *pointer) {
    CLOSING_CALL(free(pointer); live--);
}
result cuMemsetD8Async(uint64_t to, unsigned char value, size_t bytes, void *s);
result cuMemsetD8Async(uint64_t to, unsigned char value, size_t bytes, void *s) {
    const later_work w = {
        .to = (char *)(uintptr_t)to, .width = bytes, .fills = true, .value = value};
    CALL(call_result = start(s, w));
}

result cuMemcpyHtoD_v2(uint64_t to, const void *from, size_t bytes);
result cuMemcpyHtoD_v2(uint64_t to, const void *from, size_t bytes) {
    CALL(later_finish(&later_first); memcpy((void *)(uintptr_t)to, from, bytes));
}
result cuMemcpyDtoH_v2(void *to, uint64_t from, size_t bytes);
result cuMemcpyDtoH_v2(void *to, uint64_t from, size_t bytes) {
    CALL(later_finish(&later_first); memcpy(to, (const void *)(uintptr_t)from, bytes));
}
result cuMemcpyHtoDAsync_v2(uint64_t to, const void *from, size_t bytes, void *s);
result cuMemcpyHtoDAsync_v2(uint64_t to, const void *from, size_t bytes, void *s) {
    const later_work w = {.to = (char *)(uintptr_t)to, .from = from, .width = bytes, .rows = 1};
    CALL(call_result = start(s, w));
}
result cuMemcpyDtoHAsync_v2(void *to, uint64_t from, size_t bytes, void *s);
result cuMemcpyDtoHAsync_v2(void *to, uint64_t from, size_t bytes, void *s) {
    const later_work w = {
        .to = to, .from = (const char *)(uintptr_t)from, .width = bytes, .rows = 1};
    CALL(call_result = start(s, w));
}
result cuMemcpyDtoDAsync_v2(uint64_t to, uint64_t from, size_t bytes, void *s);
result cuMemcpyDtoDAsync_v2(uint64_t to, uint64_t from, size_t bytes, void *s) {
    const later_work w = {.to = (char *)(uintptr_t)to,
                          .from = (const char *)(uintptr_t)from,
                          .width = bytes,
                          .rows = 1};
    CALL(call_result = start(s, w));
}

result cuMemcpyPeerAsync(uint64_t to, void *to_context, uint64_t from, void *from_context,
                         size_t bytes, void *s);
result cuMemcpyPeerAsync(uint64_t to, void *to_context, uint64_t from, void *from_context,
                         size_t bytes, void *s) {
    const later_work w = {.to = (char *)(uintptr_t)to,
                          .from = (const char *)(uintptr_t)from,
                          .width = bytes,
                          .rows = 1};
    const bool known = to_context != from_context &&
                       (to_context == &contexts[0] || to_context == &contexts[1]) &&
                       (from_context == &contexts[0] || from_context == &contexts[1]);
    CALL(call_result = known ? start(s, w) : INVALID_CONTEXT);
}

/* The manual's CUDA_MEMCPY2D. */
typedef struct memcpy_2d {
    size_t src_x, src_y;
    unsigned src_type;
    const void *src_host;
    uint64_t src_device;
    void *src_array;
    size_t src_pitch;
    size_t dst_x, dst_y;
    unsigned dst_type;
    void *dst_host;
    uint64_t dst_device;
    void *dst_array;
    size_t dst_pitch;
    size_t width;
    size_t height;
} memcpy_2d;

result cuMemcpy2DAsync_v2(const memcpy_2d *c, void *s);
result cuMemcpy2DAsync_v2(const memcpy_2d *c, void *s) {
    const later_work w = {.to = c->dst_type == 1 ? c->dst_host : (char *)(uintptr_t)c->dst_device,
                          .from = c->src_type == 1 ? c->src_host
                                                   : (const char *)(uintptr_t)c->src_device,
                          .to_pitch = c->dst_pitch,
                          .from_pitch = c->src_pitch,
                          .width = c->width,
                          .rows = c->height};
    CALL(call_result = start(s, w));
}

result cuStreamCreate(void **s, unsigned flags);
result cuStreamCreate(void **s, unsigned flags) {
    (void)flags;
    CALL(*s = later_open(); live++);
}
result cuStreamDestroy_v2(void *s);
result cuStreamDestroy_v2(void *s) {
    CLOSING_CALL(later_close(s); live--);
}
result cuStreamSynchronize(void *s);
result cuStreamSynchronize(void *s) {
    CALL(later_finish(stream_of(s)));
}
result cuStreamWaitEvent(void *s, void *event, unsigned flags);
result cuStreamWaitEvent(void *s, void *event, unsigned flags) {
    (void)flags;
    CALL(if (!later_wait(stream_of(s), event)) call_result = OUT_OF_MEMORY);
}
result cuEventCreate(void **event, unsigned flags);
result cuEventCreate(void **event, unsigned flags) {
    (void)flags;
    CALL(*event = calloc(1, sizeof(later_event)); live++);
}
result cuEventDestroy_v2(void *event);
result cuEventDestroy_v2(void *event) {
    CLOSING_CALL(later_forget(event); free(event); live--);
}
result cuEventRecord(void *event, void *s);
result cuEventRecord(void *event, void *s) {
    CALL(later_record(event, stream_of(s)));
}
result cuEventQuery(void *event);
result cuEventQuery(void *event) {
    CALL(if (!later_is_done(event)) call_result = NOT_READY);
}
result cuEventSynchronize(void *event);
result cuEventSynchronize(void *event) {
    CALL(later_reach(event));
}
