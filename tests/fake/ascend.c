/* SPDX-License-Identifier: Apache-2.0
 *
 * A libascendcl.so for tests: what backend_ascend.c calls, on host memory, with the rules of the
 * public header and manual: contexts belong to threads, every call needs one, addresses of copies
 * on a stream are multiples of 64, rows are between host and device, sizes have limits, memory
 * that is not page-locked is copied before the call returns. Work on a stream is put off
 * (later.h); a program that uses memory too early or too late reads wrong bytes, or is stopped by
 * AddressSanitizer. Any one call can be made to fail.
 *
 * FAKE_OLD: without the functions that older libraries lack. FAKE_BARE: without one that is needed.
 */
typedef int result;
enum {
    INVALID_PARAM = 100000,
    REPEAT_INITIALIZE = 100002,
    CONTEXT_NULL = 107002,
    ADDR_UNALIGNED = 107008,
    MEMORY_ALLOCATION = 207001,
    INTERNAL_ERROR = 507000
};
enum { DEFAULT_CODE = INTERNAL_ERROR };

/* live: devices that are set, blocks, streams, events */
#include "fake.h"

enum { DEVICES = 2, ALIGNMENT = 64, PADDING = 32 };
enum { HOST_TO_HOST, HOST_TO_DEVICE, DEVICE_TO_HOST, DEVICE_TO_DEVICE };
static const size_t MOST_BYTES = (size_t)1 << 30;

/* More functions of our own. */

/* The version of the interface; at first 1.17.0. */
void fake_ascend_set_version(int major, int minor);
/* What aclGetRecentErrMsg gives; at first two lines; NULL: nothing. */
void fake_ascend_set_words(const char *words);
/* Other code of the thread makes a context of its own current before every question for it. */
void fake_ascend_set_restless(bool restless);
/* What aclrtGetSocName gives. */
void fake_ascend_set_soc(const char *name);
/* Events that were destroyed while streams had work, which the header forbids. */
long fake_ascend_misuses(void);
/* Calls of aclInit that were not taken back. */
long fake_ascend_initializations(void);
/* Calls of aclrtSynchronizeStream so far. */
long fake_ascend_stream_waits(void);

static char contexts[DEVICES]; /* their addresses count */
static long set_count[DEVICES];
static long init_count;
static long misuses;
static long stream_waits;
static int version[2] = {1, 17};
static const char *recent_words = "EE9999: a fault for tests\n        TraceBack: none";
static const char *soc = "Ascend910B4";
static bool is_restless;
static char other_context;
static _Thread_local void *current;
static _Thread_local bool was_set; /* a device, and nothing was asked since then */

/* A block that was given out. */
typedef struct block {
    struct block *next;
    char *bytes;
    size_t size;
    bool in_host;
} block;
static block *blocks;

void fake_ascend_set_version(int major, int minor) {
    version[0] = major;
    version[1] = minor;
}
void fake_ascend_set_words(const char *words) {
    recent_words = words;
}
void fake_ascend_set_soc(const char *name) {
    soc = name;
}
void fake_ascend_set_restless(bool restless) {
    is_restless = restless;
    current = NULL;
}
long fake_ascend_misuses(void) {
    return misuses;
}
long fake_ascend_initializations(void) {
    return init_count;
}
long fake_ascend_stream_waits(void) {
    return stream_waits;
}

/* ---- the process and its devices --------------------------------------------------- */

result aclInit(const char *config);
result aclInit(const char *config) {
    (void)config;
    CALL(init_count++; if (init_count > 1) call_result = REPEAT_INITIALIZE);
}
#ifndef FAKE_OLD
result aclFinalizeReference(uint64_t *count);
result aclFinalizeReference(uint64_t *count) {
    (void)count;
    CLOSING_CALL(init_count--);
}
#endif
result aclrtGetVersion(int32_t *major, int32_t *minor, int32_t *patch);
result aclrtGetVersion(int32_t *major, int32_t *minor, int32_t *patch) {
    CALL(*major = version[0]; *minor = version[1]; *patch = 0);
}
const char *aclGetRecentErrMsg(void);
const char *aclGetRecentErrMsg(void) {
    return recent_words;
}
const char *aclrtGetSocName(void);
const char *aclrtGetSocName(void) {
    return soc;
}
result aclrtGetDeviceCount(uint32_t *count);
result aclrtGetDeviceCount(uint32_t *count) {
    CALL(*count = DEVICES);
}
result aclrtSetDevice(int32_t device);
result aclrtSetDevice(int32_t device) {
    CALL(
        if (device < 0 || device >= DEVICES) { call_result = INVALID_PARAM; } else {
            set_count[device]++;
            live++;
            current = &contexts[device];
            was_set = true;
        });
}
result aclrtResetDevice(int32_t device);
result aclrtResetDevice(int32_t device) {
    CLOSING_CALL(live--;
                 if (--set_count[device] == 0 && current == &contexts[device]) current = NULL);
}
result aclrtGetCurrentContext(void **context);
result aclrtGetCurrentContext(void **context) {
    CALL(if (is_restless && !was_set) current = &other_context; was_set = false; *context = current;
         if (current == NULL) call_result = CONTEXT_NULL);
}
result aclrtSetCurrentContext(void *context);
result aclrtSetCurrentContext(void *context) {
    CALL(
        if (context == NULL) { call_result = INVALID_PARAM; } else { current = context; });
}
result aclrtSynchronizeDevice(void);
result aclrtSynchronizeDevice(void) {
    CALL(if (current == NULL) call_result = CONTEXT_NULL; later_finish_all());
}
result aclrtGetMemInfo(int attribute, size_t *free_bytes, size_t *total);
result aclrtGetMemInfo(int attribute, size_t *free_bytes, size_t *total) {
    CALL(*free_bytes = MOST_BYTES; *total = attribute == 1 ? MOST_BYTES : 0;
         if (current == NULL) call_result = CONTEXT_NULL);
}

/* ---- memory ------------------------------------------------------------------------ */

static bool has_context(void) {
    return current != NULL && current != &other_context;
}

static result new_block(void **out, size_t size, bool in_host) {
    block *added = NULL;
    if (!has_context()) return CONTEXT_NULL;
    if (size == 0) return INVALID_PARAM;
    if (size <= MOST_BYTES) added = calloc(1, sizeof *added);
    if (added == NULL) return MEMORY_ALLOCATION;
    /* rounded to 32 bytes and 32 more, which AddressSanitizer takes for the block's */
    const size_t padded = (size + PADDING - 1) / PADDING * PADDING + PADDING;
    added->bytes = aligned_alloc(ALIGNMENT, (padded + ALIGNMENT - 1) / ALIGNMENT * ALIGNMENT);
    if (added->bytes == NULL) {
        free(added);
        return MEMORY_ALLOCATION;
    }
    added->size = size;
    added->in_host = in_host;
    added->next = blocks;
    blocks = added;
    live++;
    *out = added->bytes;
    return SUCCESS;
}

/* Does not wait for the device. */
static result drop_block(const void *bytes, bool in_host) {
    for (block **at = &blocks; *at != NULL; at = &(*at)->next) {
        block *found = *at;
        if (found->bytes != bytes || found->in_host != in_host) continue;
        *at = found->next;
        free(found->bytes);
        free(found);
        live--;
        return SUCCESS;
    }
    return INVALID_PARAM;
}

static const block *find_block(const void *bytes) {
    for (const block *each = blocks; each != NULL; each = each->next) {
        if ((const char *)bytes >= each->bytes && (const char *)bytes < each->bytes + each->size)
            return each;
    }
    return NULL;
}

static bool is_device(const void *bytes) {
    const block *found = find_block(bytes);
    return found != NULL && !found->in_host;
}

#ifndef FAKE_BARE
result aclrtMalloc(void **address, size_t size, int policy);
result aclrtMalloc(void **address, size_t size, int policy) {
    (void)policy;
    CALL(call_result = new_block(address, size, false));
}
#endif
result aclrtFree(void *address);
result aclrtFree(void *address) {
    pthread_mutex_lock(&mutex);
    const bool failed = fails();
    const result dropped = drop_block(address, false);
    pthread_mutex_unlock(&mutex);
    return failed ? fail_code : dropped;
}
result aclrtMallocHost(void **address, size_t size);
result aclrtMallocHost(void **address, size_t size) {
    CALL(call_result = new_block(address, size, true));
}
result aclrtFreeHost(void *address);
result aclrtFreeHost(void *address) {
    pthread_mutex_lock(&mutex);
    const bool failed = fails();
    const result dropped = drop_block(address, true);
    pthread_mutex_unlock(&mutex);
    return failed ? fail_code : dropped;
}

/* ---- copies ------------------------------------------------------------------------ */

static later_queue *stream_of(void *opaque) {
    return opaque != NULL ? opaque : &later_first;
}

/* Are both sides where the kind says they are? */
static result check_copy(const void *to, const void *from, int kind) {
    if (!has_context()) return CONTEXT_NULL;
    const bool to_device = kind == HOST_TO_DEVICE || kind == DEVICE_TO_DEVICE;
    const bool from_device = kind == DEVICE_TO_HOST || kind == DEVICE_TO_DEVICE;
    return kind == HOST_TO_HOST || is_device(to) != to_device || is_device(from) != from_device
               ? INVALID_PARAM
               : SUCCESS;
}

/* Page-locked memory is copied later, other memory before the call returns. */
static result start(void *stream, later_work work, int kind) {
    const void *host = kind == HOST_TO_DEVICE ? work.from : work.to;
    const bool at_once = kind != DEVICE_TO_DEVICE && find_block(host) == NULL;
    if (!later_start(stream_of(stream), work)) return MEMORY_ALLOCATION;
    if (at_once) later_finish(stream_of(stream));
    return SUCCESS;
}

result aclrtMemcpy(void *to, size_t most, const void *from, size_t count, int kind);
result aclrtMemcpy(void *to, size_t most, const void *from, size_t count, int kind) {
    CALL(call_result = count <= most ? check_copy(to, from, kind) : INVALID_PARAM;
         if (call_result == SUCCESS) memmove(to, from, count));
}
result aclrtMemcpyAsync(void *to, size_t most, const void *from, size_t count, int kind, void *s);
result aclrtMemcpyAsync(void *to, size_t most, const void *from, size_t count, int kind, void *s) {
    const later_work w = {.to = to, .from = from, .width = count, .rows = 1};
    const bool aligned = ((uintptr_t)to | (uintptr_t)from) % ALIGNMENT == 0;
    CALL(call_result = count <= most ? check_copy(to, from, kind) : INVALID_PARAM;
         if (call_result == SUCCESS && kind == DEVICE_TO_DEVICE && !aligned) call_result =
             ADDR_UNALIGNED;
         if (call_result == SUCCESS) call_result = start(s, w, kind));
}

static result check_rows(const later_work *w, int kind) {
    if (kind != HOST_TO_DEVICE && kind != DEVICE_TO_HOST) return INVALID_PARAM;
    if (w->width > w->to_pitch || w->width > w->from_pitch) return INVALID_PARAM;
    if (w->width > 5000000 || w->rows > 5 * 1024 * 1024) return INVALID_PARAM;
    return check_copy(w->to, w->from, kind);
}

result aclrtMemcpy2d(void *to, size_t to_pitch, const void *from, size_t from_pitch, size_t width,
                     size_t height, int kind);
result aclrtMemcpy2d(void *to, size_t to_pitch, const void *from, size_t from_pitch, size_t width,
                     size_t height, int kind) {
    const later_work w = {.to = to,
                          .from = from,
                          .to_pitch = to_pitch,
                          .from_pitch = from_pitch,
                          .width = width,
                          .rows = height};
    CALL(call_result = check_rows(&w, kind); if (call_result == SUCCESS) {
        for (size_t i = 0; i < height; i++) {
            memcpy(w.to + i * to_pitch, w.from + i * from_pitch, width);
        }
    });
}
result aclrtMemcpy2dAsync(void *to, size_t to_pitch, const void *from, size_t from_pitch,
                          size_t width, size_t height, int kind, void *s);
result aclrtMemcpy2dAsync(void *to, size_t to_pitch, const void *from, size_t from_pitch,
                          size_t width, size_t height, int kind, void *s) {
    const later_work w = {.to = to,
                          .from = from,
                          .to_pitch = to_pitch,
                          .from_pitch = from_pitch,
                          .width = width,
                          .rows = height};
    CALL(call_result = check_rows(&w, kind);
         if (call_result == SUCCESS) call_result = start(s, w, kind));
}
result aclrtMemset(void *to, size_t most, int32_t value, size_t count);
result aclrtMemset(void *to, size_t most, int32_t value, size_t count) {
    CALL(
        if (count > most || !is_device(to)) { call_result = INVALID_PARAM; } else {
            memset(to, value, count);
        });
}
result aclrtMemsetAsync(void *to, size_t most, int32_t value, size_t count, void *s);
result aclrtMemsetAsync(void *to, size_t most, int32_t value, size_t count, void *s) {
    const later_work w = {.to = to, .width = count, .fills = true, .value = (unsigned char)value};
    CALL(
        if (count > most || !is_device(to)) {
            call_result = INVALID_PARAM;
        } else if (!later_start(stream_of(s), w)) { call_result = MEMORY_ALLOCATION; });
}

/* ---- streams and events ------------------------------------------------------------ */

result aclrtCreateStream(void **s);
result aclrtCreateStream(void **s) {
    CALL(*s = later_open(); live++);
}
result aclrtDestroyStream(void *s);
result aclrtDestroyStream(void *s) {
    CLOSING_CALL(later_close(s); live--);
}
result aclrtSynchronizeStream(void *s);
result aclrtSynchronizeStream(void *s) {
    CALL(later_finish(stream_of(s)); stream_waits++);
}
result aclrtStreamWaitEvent(void *s, void *event);
result aclrtStreamWaitEvent(void *s, void *event) {
    CALL(if (!later_wait(stream_of(s), event)) call_result = MEMORY_ALLOCATION);
}
result aclrtCreateEventExWithFlag(void **event, uint32_t flags);
result aclrtCreateEventExWithFlag(void **event, uint32_t flags) {
    CALL(
        if (flags != 1) { call_result = INVALID_PARAM; } else {
            *event = calloc(1, sizeof(later_event));
            live++;
        });
}
result aclrtDestroyEvent(void *event);
result aclrtDestroyEvent(void *event) {
    CLOSING_CALL(misuses += later_is_busy(); later_forget(event); free(event); live--);
}
result aclrtRecordEvent(void *event, void *s);
result aclrtRecordEvent(void *event, void *s) {
    CALL(later_record(event, stream_of(s)));
}
result aclrtQueryEventStatus(void *event, int *status);
result aclrtQueryEventStatus(void *event, int *status) {
    CALL(*status = later_is_done(event));
}
result aclrtSynchronizeEvent(void *event);
result aclrtSynchronizeEvent(void *event) {
    CALL(later_reach(event));
}
