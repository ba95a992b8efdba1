/* SPDX-License-Identifier: Apache-2.0
 * The back end that fails. See faulty.h. */
#include "device/faulty.h"

#include "support/support.h"

static const spad_backend *below;
static long fail_at;
static long calls;
static long drivers, devices, blocks, streams, events, views; /* open now */

/* True: this call fails. */
static bool fails(spad_error *error) {
    if (++calls != fail_at) return false;
    if (error != NULL) *error = (spad_error){.code = SPAD_ERR_DEVICE, .message = "on purpose"};
    return true;
}

/* Passes a call on and counts what it opens or closes. */
#define PASS(count, step, call)                    \
    do {                                           \
        if (fails(error)) return SPAD_ERR_DEVICE;  \
        const spad_status pass_status = (call);    \
        if (pass_status == SPAD_OK) count += step; \
        return pass_status;                        \
    } while (0)

static long nothing;

static spad_status f_load(void **driver, const spad_host *host, spad_error *error) {
    PASS(drivers, 1, below->load(driver, host, error));
}
static void f_unload(void *driver) {
    drivers--;
    below->unload(driver);
}
static spad_status f_count(int *count, void *driver, spad_error *error) {
    PASS(nothing, 0, below->count(count, driver, error));
}
static spad_status f_describe(spad_device_info *out, void *driver, int index, spad_error *error) {
    PASS(nothing, 0, below->describe(out, driver, index, error));
}
static spad_status f_open(void **device, void *driver, int index, spad_error *error) {
    PASS(devices, 1, below->open(device, driver, index, error));
}
static void f_close(void *device) {
    devices--;
    below->close(device);
}
static spad_status f_alloc(int64_t *address, void *device, int64_t bytes, spad_error *error) {
    PASS(blocks, 1, below->alloc(address, device, bytes, error));
}
/* The only one that goes wrong after the deed: nothing can be done about memory that a
 * driver does not take back, and the test wants to see that nothing else is lost. */
static spad_status f_free(void *device, int64_t address, spad_error *error) {
    const bool wrong = fails(error);
    const spad_status status = below->free(device, address, error);
    if (status == SPAD_OK) blocks--;
    return wrong ? SPAD_ERR_DEVICE : status;
}
static spad_status f_copy(void *device, void *stream, const spad_transfer *transfer,
                          spad_error *error) {
    PASS(nothing, 0, below->copy(device, stream, transfer, error));
}
static spad_status f_stream_open(void **stream, void *device, spad_error *error) {
    PASS(streams, 1, below->stream_open(stream, device, error));
}
static void f_stream_close(void *device, void *stream) {
    streams--;
    below->stream_close(device, stream);
}
static spad_status f_stream_wait(void *device, void *stream, spad_error *error) {
    PASS(nothing, 0, below->stream_wait(device, stream, error));
}
static spad_status f_event_open(void **event, void *device, spad_error *error) {
    PASS(events, 1, below->event_open(event, device, error));
}
static void f_event_close(void *device, void *event) {
    events--;
    below->event_close(device, event);
}
static spad_status f_event_record(void *device, void *event, void *stream, spad_error *error) {
    PASS(nothing, 0, below->event_record(device, event, stream, error));
}
static spad_status f_event_done(bool *done, void *device, void *event, spad_error *error) {
    PASS(nothing, 0, below->event_done(done, device, event, error));
}
static spad_status f_event_wait(void *device, void *event, spad_error *error) {
    PASS(nothing, 0, below->event_wait(device, event, error));
}
static spad_status f_stream_wait_event(void *device, void *stream, void *event, spad_error *error) {
    PASS(nothing, 0, below->stream_wait_event(device, stream, event, error));
}

static spad_status f_fill(void *device, void *stream, int64_t address, int64_t bytes, uint8_t value,
                          spad_error *error) {
    PASS(nothing, 0, below->fill(device, stream, address, bytes, value, error));
}
static spad_status f_host_alloc(int64_t *address, void *device, int64_t bytes, spad_error *error) {
    PASS(blocks, 1, below->host_alloc(address, device, bytes, error));
}
static spad_status f_host_free(void *device, int64_t address, spad_error *error) {
    const bool wrong = fails(error);
    const spad_status status = below->host_free(device, address, error);
    if (status == SPAD_OK) blocks--;
    return wrong ? SPAD_ERR_DEVICE : status;
}
static spad_status f_view_open(void **view, void *device, bool in_host, int64_t address,
                               int64_t bytes, spad_error *error) {
    PASS(views, 1, below->view_open(view, device, in_host, address, bytes, error));
}
static void f_view_close(void *device, void *view) {
    views--;
    below->view_close(device, view);
}

const spad_backend *faulty_backend(const spad_backend *over, long fail_at_call) {
    static spad_backend faulty = {
        .version = SPAD_BACKEND_VERSION,
        .name = "faulty",
        .load = f_load,
        .unload = f_unload,
        .count = f_count,
        .describe = f_describe,
        .open = f_open,
        .close = f_close,
        .alloc = f_alloc,
        .free = f_free,
        .copy = f_copy,
        .stream_open = f_stream_open,
        .stream_close = f_stream_close,
        .stream_wait = f_stream_wait,
        .event_open = f_event_open,
        .event_close = f_event_close,
        .event_record = f_event_record,
        .event_done = f_event_done,
        .event_wait = f_event_wait,
        .stream_wait_event = f_stream_wait_event,
    };
    /* what is optional is there if it is there below */
    faulty.fill = over->fill != NULL ? f_fill : NULL;
    faulty.host_alloc = over->host_alloc != NULL ? f_host_alloc : NULL;
    faulty.host_free = over->host_free != NULL ? f_host_free : NULL;
    faulty.view_open = over->view_open != NULL ? f_view_open : NULL;
    faulty.view_close = over->view_close != NULL ? f_view_close : NULL;
    below = over;
    fail_at = fail_at_call;
    calls = 0;
    return &faulty;
}

long faulty_calls(void) {
    return calls;
}

void faulty_assert_clean(void) {
    assert_int_equal(drivers, 0);
    assert_int_equal(devices, 0);
    assert_int_equal(blocks, 0);
    assert_int_equal(streams, 0);
    assert_int_equal(events, 0);
    assert_int_equal(views, 0);
}
