/* SPDX-License-Identifier: Apache-2.0
 *
 * Neuron on the library of our own (fake/neuron.c): what is reported when a call fails, and what
 * the device suite does not show: slices, attached memory, work that fails later. The back end's
 * table is called directly where each call of the library is one of the test. */
#include "device/driver.h"
#include "spad/device/stream.h"

static struct {
    void (*set_version)(int major, int minor);
    void (*fail_work_at)(long piece);
    void (*set_without_pointers)(bool without);
    void (*set_architecture)(const char *name);
    void (*set_descriptor)(int descriptor);
    void (*reset)(void);
    long (*pieces)(void);
    int (*init)(int framework, const char *version, const char *layer_version);
    int (*read)(const void *tensor, void *to, size_t offset, size_t bytes);
    int (*write)(void *tensor, const void *from, size_t offset, size_t bytes);
} more;

static const spad_backend *const neuron = &spad__backend_neuron;

static int open_library(void **state) {
    (void)state;
    open_fake("libnrt.so.1");
    load(&more.set_version, "fake_neuron_set_version");
    load(&more.fail_work_at, "fake_neuron_fail_work_at");
    load(&more.set_without_pointers, "fake_neuron_set_without_pointers");
    load(&more.set_architecture, "fake_neuron_set_architecture");
    load(&more.set_descriptor, "fake_neuron_set_descriptor");
    load(&more.reset, "fake_neuron_reset");
    load(&more.pieces, "fake_neuron_pieces");
    load(&more.init, "nrt_init");
    load(&more.read, "nrt_tensor_read");
    load(&more.write, "nrt_tensor_write");
    return 0;
}

typedef struct scene {
    void *driver;
    void *devices[2];
    int64_t blocks[2]; /* of 4096 B */
    void *stream;
} scene;

static scene new_scene(void) {
    spad_error error;
    const spad_host host = spad__host_or_default(NULL);
    scene s = {0};
    assert_ok(neuron->load(&s.driver, &host, &error), &error);
    for (int i = 0; i < 2; i++) {
        assert_ok(neuron->open(&s.devices[i], s.driver, i, &error), &error);
        assert_ok(neuron->alloc(&s.blocks[i], s.devices[i], 4096, &error), &error);
    }
    assert_ok(neuron->stream_open(&s.stream, s.devices[0], &error), &error);
    return s;
}

static void free_scene(scene *s) {
    spad_error error;
    neuron->stream_close(s->devices[0], s->stream);
    assert_ok(neuron->free(s->devices[0], s->blocks[0], &error), &error);
    neuron->close(s->devices[0]);
    neuron->close(s->devices[1]); /* with its block */
    neuron->unload(s->driver);
    assert_int_equal(fake.live(), 0);
}

/* ---- errors ------------------------------------------------------------------------ */

static void errors_have_the_names_of_the_header(void **state) {
    (void)state;
    static const struct {
        int code;
        spad_status status;
        const char *message;
    } cases[] = {
        {6, SPAD_ERR_DEVICE, "nrt_tensor_allocate failed with NRT_HW_ERROR (6)"},
        {13, SPAD_ERR_DEVICE, "nrt_tensor_allocate failed with NRT_UNINITIALIZED (13)"},
        {4711, SPAD_ERR_DEVICE, "nrt_tensor_allocate failed with an unknown error (4711)"},
        {4, SPAD_ERR_NO_FIT, "the neuron device has no 1000 B left; request less"},
        {2, SPAD_ERR_NO_FIT, "the neuron device has no 1000 B left; request less"},
    };
    spad_error error = {0};
    int64_t address;
    scene s = new_scene();
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        fake.set_code(cases[i].code);
        fake.fail_at(1);
        assert_int_equal(neuron->alloc(&address, s.devices[0], 1000, &error), cases[i].status);
        assert_int_equal(address, 0);
        assert_string_equal(error.message, cases[i].message);
        fake.fail_at(1);
        assert_int_equal(neuron->host_alloc(&address, s.devices[0], 1000, &error), cases[i].status);
        assert_int_equal(address, 0);
        if (cases[i].status == SPAD_ERR_DEVICE) {
            assert_string_equal(error.message, cases[i].message);
        } else {
            assert_string_equal(error.message,
                                "neuron has no 1000 B of host memory left; request less");
        }
    }
    fake.fail_at(0);
    fake.set_code(6);
    more.set_without_pointers(true);
    assert_int_equal(neuron->host_alloc(&address, s.devices[0], 1000, &error), SPAD_ERR_DEVICE);
    assert_string_equal(error.message, "nrt_tensor_get_va failed for a host tensor");
    more.set_without_pointers(false);
    free_scene(&s);
}

static void other_versions_are_refused(void **state) {
    (void)state;
    const spad_host host = spad__host_or_default(NULL);
    spad_error error = {0};
    void *driver;
    more.set_version(3, 1);
    assert_int_equal(neuron->load(&driver, &host, &error), SPAD_ERR_NO_DEVICE);
    assert_null(driver);
    assert_string_equal(error.message,
                        "libnrt.so has version 3.1 of its interface; version 2 is known");
    more.set_version(2, 32);
}

static spad_status open_and_close(void *context, spad_error *error) {
    (void)context;
    const spad_host host = spad__host_or_default(NULL);
    void *driver;
    void *device;
    int count;
    spad_device_info info;
    more.reset();
    spad_status status = neuron->load(&driver, &host, error);
    if (status != SPAD_OK) return status;
    status = neuron->count(&count, driver, error);
    if (status == SPAD_OK) status = neuron->open(&device, driver, 1, error);
    if (status == SPAD_OK) {
        status = neuron->describe(&info, driver, 1, error);
        neuron->close(device);
    }
    neuron->unload(driver);
    return status;
}

static void opening_may_fail_at_each_call(void **state) {
    (void)state;
    assert_true(fail_each_call(open_and_close, NULL) >= 4);
}

static spad_status do_everything(void *context, spad_error *error) {
    const scene *s = context;
    void *d = s->devices[0];
    char bytes[256] = {0};
    int64_t other;
    int64_t pinned = 0;
    void *event = NULL;
    void *views[2] = {NULL, NULL};
    bool done;
    spad_status status = neuron->alloc(&other, d, 1000, error);
    if (status != SPAD_OK) return status;
    const spad_transfer ways[] = {
        {SPAD_TO_DEVICE, s->blocks[0], 64, (int64_t)(uintptr_t)bytes, 32, 16, 3},
        {SPAD_FROM_DEVICE, (int64_t)(uintptr_t)bytes, 32, s->blocks[0], 64, 16, 3},
        {SPAD_ON_DEVICE, other, 64, s->blocks[0], 64, 16, 3},
        {SPAD_ON_DEVICE, other, 64, other + 512, 64, 16, 3},
    };
    for (int i = 0; i < 8 && status == SPAD_OK; i++) {
        status = neuron->copy(d, i < 4 ? NULL : s->stream, &ways[i % 4], error);
    }
    if (status == SPAD_OK) status = neuron->fill(d, s->stream, other + 8, 64, 1, error);
    if (status == SPAD_OK) status = neuron->host_alloc(&pinned, d, 64, error);
    if (status == SPAD_OK) status = neuron->copy(d, s->stream, &ways[0], error);
    if (status == SPAD_OK) status = neuron->event_open(&event, d, error);
    if (status == SPAD_OK) status = neuron->event_record(d, event, s->stream, error);
    if (status == SPAD_OK) status = neuron->event_done(&done, d, event, error);
    if (status == SPAD_OK) status = neuron->event_wait(d, event, error);
    if (status == SPAD_OK) status = neuron->stream_wait_event(d, s->stream, event, error);
    if (status == SPAD_OK) status = neuron->view_open(&views[0], d, false, other + 8, 64, error);
    if (status == SPAD_OK)
        status = neuron->view_open(&views[1], d, true, (int64_t)(uintptr_t)bytes, 64, error);
    for (int i = 0; i < 2; i++) {
        if (views[i] != NULL) neuron->view_close(d, views[i]);
    }
    if (event != NULL) neuron->event_close(d, event);
    const spad_status waited = neuron->stream_wait(d, s->stream, NULL);
    if (waited != SPAD_OK && status == SPAD_OK)
        status = neuron->stream_wait(d, s->stream, error) == SPAD_OK
                     ? spad__fail(error, SPAD_ERR_DEVICE, "the wait failed")
                     : SPAD_ERR_DEVICE;
    if (pinned != 0) neuron->host_free(d, pinned, error);
    neuron->free(d, other, error);
    return status;
}

static void every_call_may_fail(void **state) {
    (void)state;
    spad_error error;
    scene s = new_scene();
    assert_ok(do_everything(&s, &error), &error); /* the stream has its tracker now */
    assert_true(fail_each_call(do_everything, &s) >= 30);
    free_scene(&s);
}

/* Work that fails after the call that started it returned is reported by the next wait, once. */
static void work_may_fail_later(void **state) {
    (void)state;
    spad_error error = {0};
    scene s = new_scene();
    char bytes[64] = {1};
    const spad_transfer write = {.direction = SPAD_TO_DEVICE,
                                 .to = s.blocks[0],
                                 .from = (int64_t)(uintptr_t)bytes,
                                 .width = 64,
                                 .rows = 1};
    for (int i = 0; i < 3; i++) {
        more.fail_work_at(2);
        for (int n = 0; n < 3; n++) {
            assert_ok(neuron->copy(s.devices[0], s.stream, &write, &error), &error);
        }
        more.fail_work_at(0);
        assert_int_equal(neuron->stream_wait(s.devices[0], s.stream, &error), SPAD_ERR_DEVICE);
        assert_string_equal(error.message,
                            "a copy on a stream of the neuron device failed with NRT_HW_ERROR (6)");
        assert_ok(neuron->stream_wait(s.devices[0], s.stream, &error), &error);
    }
    /* the next queue waits for the last one and reports its failure */
    const spad_transfer read = {.direction = SPAD_FROM_DEVICE,
                                .to = (int64_t)(uintptr_t)bytes,
                                .from = s.blocks[0],
                                .width = 64,
                                .rows = 1};
    more.fail_work_at(1);
    assert_ok(neuron->copy(s.devices[0], s.stream, &write, &error), &error);
    assert_int_equal(neuron->copy(s.devices[0], s.stream, &read, &error), SPAD_ERR_DEVICE);
    more.fail_work_at(0);
    assert_ok(neuron->copy(s.devices[0], s.stream, &read, &error), &error);
    assert_ok(neuron->stream_wait(s.devices[0], s.stream, &error), &error);
    free_scene(&s);
}

/* A descriptor that cannot be waited for is an error, and the wait can be tried again. */
static void a_wait_that_cannot_be(void **state) {
    (void)state;
    static const int descriptors[] = {-1, 987654};
    char bytes[64] = {1};
    for (int i = 0; i < 2; i++) {
        spad_error error = {0};
        scene s = new_scene();
        const spad_transfer write = {.direction = SPAD_TO_DEVICE,
                                     .to = s.blocks[0],
                                     .from = (int64_t)(uintptr_t)bytes,
                                     .width = 64,
                                     .rows = 1};
        assert_ok(neuron->copy(s.devices[0], s.stream, &write, &error), &error);
        more.set_descriptor(descriptors[i]);
        spad_status status = neuron->stream_wait(s.devices[0], s.stream, &error);
        if (status == SPAD_OK) { /* "is it done?" was answered with yes: once more */
            assert_ok(neuron->copy(s.devices[0], s.stream, &write, &error), &error);
            status = neuron->stream_wait(s.devices[0], s.stream, &error);
        }
        assert_int_equal(status, SPAD_ERR_DEVICE);
        assert_string_equal(error.message,
                            "nrta_get_completion_handle failed with NRT_FAILURE (1)");
        more.set_descriptor(0);
        assert_ok(neuron->stream_wait(s.devices[0], s.stream, &error), &error);
        free_scene(&s);
    }
}

/* A queue that is full is waited for. */
static void a_full_queue_is_waited_for(void **state) {
    (void)state;
    spad_error error = {0};
    scene s = new_scene();
    char bytes[64] = {5};
    char out[64] = {0};
    spad_transfer t = {.direction = SPAD_TO_DEVICE,
                       .to = s.blocks[0],
                       .from = (int64_t)(uintptr_t)bytes,
                       .width = 64,
                       .rows = 1};
    assert_ok(neuron->copy(s.devices[0], s.stream, &t, &error), &error);
    bytes[1] = 6;
    fake.set_code(7);
    fake.fail_at(1);
    t.to += 64;
    assert_ok(neuron->copy(s.devices[0], s.stream, &t, &error), &error);
    assert_true(fake.calls() >= 3);
    fake.fail_at(0);
    fake.set_code(6);
    assert_ok(neuron->stream_wait(s.devices[0], s.stream, &error), &error);
    t = (spad_transfer){.direction = SPAD_FROM_DEVICE,
                        .to = (int64_t)(uintptr_t)out,
                        .from = s.blocks[0] + 64,
                        .width = 64,
                        .rows = 1};
    assert_ok(neuron->copy(s.devices[0], NULL, &t, &error), &error);
    assert_memory_equal(bytes, out, 64);
    free_scene(&s);
}

/* ---- rules ------------------------------------------------------------------------- */

/* The list of devices leaves the runtime alone; one that another library initialized is used. */
static void the_runtime_is_initialized_once(void **state) {
    (void)state;
    spad_error error;
    const spad_host host = spad__host_or_default(NULL);
    spad_device_info info;
    void *driver;
    void *device;
    more.reset();
    assert_ok(neuron->load(&driver, &host, &error), &error);
    assert_ok(neuron->describe(&info, driver, 0, &error), &error);
    assert_string_equal(info.about, "a Neuron core of trn2");
    assert_string_equal(info.driver, "NRT 2.32.0");
    assert_int_equal(info.total_bytes, 0);
    assert_int_equal(more.init(1, "", ""), 0);
    assert_ok(neuron->open(&device, driver, 0, &error), &error); /* a second one would fail */
    assert_ok(neuron->describe(&info, driver, 0, &error), &error);
    assert_int_equal(info.total_bytes, 1 << 30);
    more.set_architecture("");
    assert_ok(neuron->describe(&info, driver, 0, &error), &error);
    assert_string_equal(info.about, "a Neuron core");
    more.set_architecture("trn2");
    neuron->close(device);
    neuron->unload(driver);
}

static void addresses_of_nothing_are_refused(void **state) {
    (void)state;
    spad_error error = {0};
    void *object;
    int64_t offset;
    char byte = 0;
    scene s = new_scene();
    assert_int_equal(neuron->free(s.devices[0], 4096, &error), SPAD_ERR_DEVICE);
    assert_string_equal(error.message, "no neuron tensor begins at 0x1000");
    assert_int_equal(neuron->free(s.devices[0], s.blocks[0] + 1, &error), SPAD_ERR_DEVICE);
    assert_int_equal(neuron->native(&object, &offset, s.devices[0], 4096, &error), SPAD_ERR_DEVICE);
    assert_string_equal(error.message, "no neuron tensor has the address 0x1000");
    assert_int_equal(neuron->fill(s.devices[0], NULL, s.blocks[0] + 4096, 1, 0, &error),
                     SPAD_ERR_DEVICE);
    assert_int_equal(neuron->view_open(&object, s.devices[0], false, 4096, 1, &error),
                     SPAD_ERR_DEVICE);
    spad_transfer t = {
        .direction = SPAD_ON_DEVICE, .to = s.blocks[0], .from = 4096, .width = 1, .rows = 1};
    assert_int_equal(neuron->copy(s.devices[0], NULL, &t, &error), SPAD_ERR_DEVICE);
    t = (spad_transfer){.direction = SPAD_TO_DEVICE,
                        .to = 4096,
                        .from = (int64_t)(uintptr_t)&byte,
                        .width = 1,
                        .rows = 1};
    assert_int_equal(neuron->copy(s.devices[0], NULL, &t, &error), SPAD_ERR_DEVICE);
    free_scene(&s);
}

/* No stream is one on which everything is done. */
static void no_stream_is_always_done(void **state) {
    (void)state;
    spad_error error;
    void *event;
    bool done = false;
    scene s = new_scene();
    assert_ok(neuron->event_open(&event, s.devices[0], &error), &error);
    assert_ok(neuron->event_record(s.devices[0], event, NULL, &error), &error);
    assert_ok(neuron->event_done(&done, s.devices[0], event, &error), &error);
    assert_true(done);
    assert_ok(neuron->event_wait(s.devices[0], event, &error), &error);
    assert_ok(neuron->stream_wait(s.devices[0], NULL, &error), &error);
    neuron->event_close(s.devices[0], event);
    free_scene(&s);
}

/* A slice is the bytes of its buffer and no others; attached memory is the program's. */
static void views_are_tensors(void **state) {
    (void)state;
    spad_error error;
    spad_device *device;
    spad_buffer first, x;
    void *view;
    uint8_t in[100];
    uint8_t out[100] = {0};
    const spad_buffer_spec spec = {.shape = SPAD_SHAPE(100), .dtype = SPAD_UINT8};
    for (int i = 0; i < 100; i++) in[i] = (uint8_t)i;
    assert_ok(spad_device_open(&device, "neuron:0", NULL, &error), &error);
    assert_ok(spad_buffer_alloc(&first, device, &spec, &error), &error);
    assert_ok(spad_buffer_alloc(&x, device, &spec, &error), &error);
    assert_ok(spad_buffer_write(x, 0, in, 100, NULL, &error), &error);
    assert_ok(spad_buffer_open_view(&view, x, &error), &error);
    assert_int_equal(more.read(view, out, 1, 99), 0);
    assert_memory_equal(out, in + 1, 99);
    assert_int_equal(more.read(view, out, 1, 100), 2); /* one byte too many */
    in[7] = 99;
    assert_int_equal(more.write(view, in, 0, 100), 0);
    spad_device_close_view(device, view);
    assert_ok(spad_buffer_read(out, x, 0, 100, NULL, &error), &error);
    assert_memory_equal(out, in, 100);
    assert_ok(spad_device_open_view(&view, device, in, sizeof in, &error), &error);
    out[3] = 77;
    assert_int_equal(more.write(view, out, 0, 100), 0);
    assert_int_equal(in[3], 77);
    spad_device_close_view(device, view);
    assert_ok(spad_buffer_free(first, &error), &error);
    assert_ok(spad_buffer_free(x, &error), &error);
    assert_int_equal(spad_device_close(device, NULL), 0);
    assert_int_equal(fake.live(), 0);
}

/* Copies of one kind on a stream are started and not waited for. */
static void copies_are_started(void **state) {
    (void)state;
    spad_error error;
    spad_device *device;
    spad_stream stream;
    spad_buffer x;
    spad_fence fence;
    bool done;
    uint8_t in[64] = {1};
    const spad_buffer_spec spec = {.shape = SPAD_SHAPE(64), .dtype = SPAD_UINT8};
    assert_ok(spad_device_open(&device, "neuron:1", NULL, &error), &error);
    assert_ok(spad_stream_open(&stream, device, &error), &error);
    assert_ok(spad_buffer_alloc(&x, device, &spec, &error), &error);
    more.fail_work_at(0);
    assert_ok(spad_buffer_write(x, 0, in, 64, &stream, &error), &error);
    assert_ok(spad_buffer_write(x, 0, in, 64, &stream, &error), &error);
    assert_int_equal(more.pieces(), 2);
    assert_ok(spad_fence_record(&fence, stream, &error), &error);
    in[0] = 42; /* seen: nothing was copied yet */
    assert_ok(spad_fence_done(&done, fence, &error), &error);
    assert_false(done);
    assert_ok(spad_fence_wait(fence, &error), &error);
    in[0] = 43; /* not seen */
    assert_ok(spad_fence_done(&done, fence, &error), &error);
    assert_true(done);
    assert_ok(spad_buffer_read(in, x, 0, 1, NULL, &error), &error);
    assert_int_equal(in[0], 42);
    assert_ok(spad_fence_free(fence, &error), &error);
    assert_ok(spad_buffer_free(x, &error), &error);
    assert_int_equal(spad_device_close(device, NULL), 0);
    assert_int_equal(fake.live(), 0);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(errors_have_the_names_of_the_header),
        cmocka_unit_test(other_versions_are_refused),
        cmocka_unit_test(opening_may_fail_at_each_call),
        cmocka_unit_test(every_call_may_fail),
        cmocka_unit_test(work_may_fail_later),
        cmocka_unit_test(a_wait_that_cannot_be),
        cmocka_unit_test(a_full_queue_is_waited_for),
        cmocka_unit_test(the_runtime_is_initialized_once),
        cmocka_unit_test(addresses_of_nothing_are_refused),
        cmocka_unit_test(no_stream_is_always_done),
        cmocka_unit_test(views_are_tensors),
        cmocka_unit_test(copies_are_started),
    };
    return cmocka_run_group_tests(tests, open_library, close_fake);
}
