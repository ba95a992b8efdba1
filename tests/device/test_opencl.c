/* SPDX-License-Identifier: Apache-2.0
 *
 * OpenCL on the library of our own (fake/opencl.c): lists of platforms that no machine of ours
 * has, and what is reported when a call of the driver fails. The back end's table is called
 * directly, so that each call of the driver is one of the test.
 */
#include <string.h>

#include "base/memory.h"
#include "device/backend.h"
#include "device/device.h"
#include "device/stand_in.h"
#include "spad/device.h"
#include "support/support.h"

static stand_in fake;
static void (*set_devices)(uint32_t platforms, const uint32_t *devices);
static void (*set_event_state)(int32_t state);

static const spad_backend *const cl = &spad__backend_opencl;

static int open_fake(void **state) {
    (void)state;
    assert_true(stand_in_open(&fake, "libOpenCL.so.1"));
    assert_true(stand_in_find(&set_devices, fake.library, "fake_opencl_set_devices"));
    assert_true(stand_in_find(&set_event_state, fake.library, "fake_opencl_set_event_state"));
    return 0;
}

static int close_fake(void **state) {
    (void)state;
    return dlclose(fake.library);
}

/* Nothing of the last test is left, neither memory nor what it made the library do. */
static int reset(void **state) {
    (void)state;
    fake.fail_at(0);
    set_event_state(1);
    set_devices(1, (const uint32_t[]){2});
    assert_int_equal(fake.live(), 0);
    return 0;
}

static void *new_driver(void) {
    spad_error error;
    void *driver;
    const spad_host host = spad__host_or_default(NULL);
    assert_ok(cl->load(&driver, &host, &error), &error);
    return driver;
}

static void *new_device(void *driver) {
    spad_error error;
    void *device;
    assert_ok(cl->open(&device, driver, 0, &error), &error);
    return device;
}

/* ---- platforms and devices --------------------------------------------------------- */

static void devices_are_numbered_through_the_platforms(void **state) {
    (void)state;
    static const struct {
        uint32_t platforms;
        uint32_t devices[20];
        int count;
    } cases[] = {
        {0, {0}, 0},             /* the loader's error "no platform" */
        {2, {0, 0}, 0},          /* platforms without a device */
        {3, {0, 2, 1}, 3},       /* one without is passed over */
        {3, {40, 20, 4}, 64},    /* exactly as many as are kept */
        {4, {1, 40, 40, 7}, 64}, /* more devices than are kept */
        {20, {1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1}, 16}, /* platforms */
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        spad_error error;
        int count = -1;
        set_devices(cases[i].platforms, cases[i].devices);
        void *driver = new_driver();
        assert_ok(cl->count(&count, driver, &error), &error);
        assert_int_equal(count, cases[i].count);
        for (int d = 0; d < count; d++) {
            spad_device_info info = {0};
            assert_ok(cl->describe(&info, driver, d, &error), &error);
            assert_string_equal(info.about, "a device for tests");
        }
        cl->unload(driver);
    }
}

static void a_device_is_described(void **state) {
    (void)state;
    spad_error error;
    spad_device_info info = {0};
    void *driver = new_driver();
    assert_ok(cl->describe(&info, driver, 0, &error), &error);
    assert_string_equal(info.driver, "a platform for tests 1.2");
    assert_int_equal(info.total_bytes, 1 << 30);
    assert_int_equal(info.alignment, 256); /* 128 are asked for */
    assert_ok(cl->describe(&info, driver, 1, &error), &error);
    assert_int_equal(info.alignment, 1024);
    cl->unload(driver);
}

static void note_reason(void *context, const char *backend, const spad_error *why) {
    if (strcmp(backend, "opencl") == 0) *(spad_error *)context = *why;
}

static void a_list_without_devices_has_the_reason(void **state) {
    (void)state;
    static const struct {
        uint32_t platforms; /* without a device */
        long fail_at;
        spad_status code;
        const char *message;
    } cases[] = {
        {0, 0, SPAD_ERR_NO_DEVICE, "opencl has no device"},
        {1, 0, SPAD_ERR_NO_DEVICE, "opencl has no device"},
        {1, 1, SPAD_ERR_DEVICE, "clGetPlatformIDs failed with error -33"},
        {1, 2, SPAD_ERR_DEVICE, "clGetDeviceIDs failed with error -33"},
    };
    fake.set_code(-33);
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        spad_error why = {0};
        spad_device_info info;
        set_devices(cases[i].platforms, (const uint32_t[]){0});
        fake.fail_at(cases[i].fail_at);
        spad__device_list(&info, 1, NULL, note_reason, &why);
        assert_int_equal(why.code, cases[i].code);
        assert_string_equal(why.message, cases[i].message);
    }
}

/* ---- calls that fail --------------------------------------------------------------- */

/* What the calls of one case get to work with. */
typedef struct scene {
    void *driver;
    void *device;
    void *stream;
    void *event; /* recorded */
    int64_t a, b;
    char bytes[256];
} scene;

static scene new_scene(void) {
    spad_error error;
    scene s = {.driver = new_driver()};
    s.device = new_device(s.driver);
    assert_ok(cl->stream_open(&s.stream, s.device, &error), &error);
    assert_ok(cl->event_open(&s.event, s.device, &error), &error);
    assert_ok(cl->event_record(s.device, s.event, s.stream, &error), &error);
    assert_ok(cl->alloc(&s.a, s.device, 256, &error), &error);
    assert_ok(cl->alloc(&s.b, s.device, 256, &error), &error);
    return s;
}

static void free_scene(scene *s) {
    cl->event_close(s->device, s->event);
    cl->stream_close(s->device, s->stream);
    cl->close(s->device);
    cl->unload(s->driver);
}

static spad_status try_name(scene *s, spad_error *error) {
    return cl->describe(&(spad_device_info){0}, s->driver, 0, error);
}
static spad_status try_open(scene *s, spad_error *error) {
    void *device;
    const spad_status status = cl->open(&device, s->driver, 0, error);
    assert_null(device);
    return status;
}
static spad_status try_alloc(scene *s, spad_error *error) {
    int64_t address;
    const spad_status status = cl->alloc(&address, s->device, 1000, error);
    assert_int_equal(address, 0);
    return status;
}
static spad_status try_stream(scene *s, spad_error *error) {
    void *stream;
    return cl->stream_open(&stream, s->device, error);
}
static spad_status try_stream_wait(scene *s, spad_error *error) {
    return cl->stream_wait(s->device, s->stream, error);
}
static spad_status try_record(scene *s, spad_error *error) {
    return cl->event_record(s->device, s->event, s->stream, error);
}
static spad_status try_done(scene *s, spad_error *error) {
    bool done = true;
    const spad_status status = cl->event_done(&done, s->device, s->event, error);
    assert_false(done);
    return status;
}
static spad_status try_wait(scene *s, spad_error *error) {
    return cl->event_wait(s->device, s->event, error);
}
static spad_status try_order(scene *s, spad_error *error) {
    return cl->stream_wait_event(s->device, s->stream, s->event, error);
}
static spad_status copy(scene *s, void *stream, spad_direction direction, int64_t from, int64_t to,
                        int64_t rows, spad_error *error) {
    const spad_transfer t = {.direction = direction,
                             .from = from,
                             .to = to,
                             .width = 8,
                             .rows = rows,
                             .from_pitch = 16,
                             .to_pitch = 32};
    return cl->copy(s->device, stream, &t, error);
}
static spad_status try_write(scene *s, spad_error *error) {
    return copy(s, NULL, SPAD_TO_DEVICE, (int64_t)(intptr_t)s->bytes, s->a, 1, error);
}
static spad_status try_write_later(scene *s, spad_error *error) {
    return copy(s, s->stream, SPAD_TO_DEVICE, (int64_t)(intptr_t)s->bytes, s->a, 1, error);
}
static spad_status try_read_rows(scene *s, spad_error *error) {
    return copy(s, NULL, SPAD_FROM_DEVICE, s->a, (int64_t)(intptr_t)s->bytes, 2, error);
}
static spad_status try_copy_rows(scene *s, spad_error *error) {
    return copy(s, NULL, SPAD_ON_DEVICE, s->a, s->b, 2, error);
}
static spad_status try_copy_within(scene *s, spad_error *error) {
    return copy(s, NULL, SPAD_ON_DEVICE, s->a, s->a + 8, 3, error);
}

static void a_call_that_fails_is_named(void **state) {
    (void)state;
    static const struct {
        spad_status (*call)(scene *, spad_error *);
        long fail_at; /* of the calls of the library */
        const char *name;
    } cases[] = {
        {try_name, 1, "clGetDeviceInfo"},
        {try_name, 2, "clGetDeviceInfo"},
        {try_name, 3, "clGetDeviceInfo"},
        {try_open, 1, "clCreateContext"},
        {try_open, 2, "clCreateCommandQueue"},
        {try_alloc, 1, "clCreateBuffer"},
        {try_stream, 1, "clCreateCommandQueue"},
        {try_stream_wait, 1, "clFinish"},
        {try_record, 1, "clEnqueueMarkerWithWaitList"},
        {try_record, 2, "clFlush"},
        {try_done, 1, "clGetEventInfo"},
        {try_wait, 1, "clWaitForEvents"},
        {try_order, 1, "clEnqueueBarrierWithWaitList"},
        {try_write, 1, "a copy on the opencl device"},
        {try_write, 2, "a copy on the opencl device"}, /* the wait for it */
        {try_write_later, 1, "a copy on the opencl device"},
        {try_write_later, 2, "a copy on the opencl device"}, /* the flush */
        {try_read_rows, 1, "a copy on the opencl device"},
        {try_copy_rows, 1, "a copy on the opencl device"},
        {try_copy_within, 3, "a copy on the opencl device"}, /* its last row */
    };
    fake.set_code(-38);
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        spad_error error = {0};
        char message[SPAD_MESSAGE_MAX];
        scene s = new_scene();
        const long live = fake.live();
        fake.fail_at(cases[i].fail_at);
        assert_int_equal(cases[i].call(&s, &error), SPAD_ERR_DEVICE);
        fake.fail_at(0);
        snprintf(message, sizeof message, "%s failed with error -38", cases[i].name);
        assert_string_equal(error.message, message);
        assert_int_equal(fake.live(), live); /* a failed call changes nothing */
        free_scene(&s);
        assert_int_equal(fake.live(), 0);
    }
}

/* Memory that the driver lacks is another answer than a driver that fails. */
static void a_device_without_memory_says_how_much(void **state) {
    (void)state;
    static const struct {
        int32_t code;
        spad_status status;
    } cases[] = {
        {-4, SPAD_ERR_NO_FIT},  /* no memory for the object */
        {-5, SPAD_ERR_NO_FIT},  /* no resources */
        {-61, SPAD_ERR_NO_FIT}, /* more than the device gives in one piece */
        {-6, SPAD_ERR_DEVICE},
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        spad_error error = {0};
        scene s = new_scene();
        fake.set_code(cases[i].code);
        fake.fail_at(1);
        assert_int_equal(try_alloc(&s, &error), cases[i].status);
        fake.fail_at(0);
        assert_string_equal(error.message,
                            cases[i].status == SPAD_ERR_NO_FIT
                                ? "the opencl device has no 1000 B in one piece; request less"
                                : "clCreateBuffer failed with error -6");
        free_scene(&s);
    }
}

/* Addresses are made up; they end where the numbers do. */
static void addresses_run_out_as_memory_does(void **state) {
    (void)state;
    spad_error error = {0};
    int64_t address;
    scene s = new_scene();
    for (int64_t less = 0; less < 3; less++) {
        const int64_t bytes = INT64_MAX - less * (INT64_C(1) << 32);
        assert_int_equal(cl->alloc(&address, s.device, bytes, &error), SPAD_ERR_NO_FIT);
        assert_int_equal(error.needed, bytes);
    }
    free_scene(&s);
}

static void addresses_of_nothing_are_refused(void **state) {
    (void)state;
    spad_error error = {0};
    void *object;
    int64_t offset;
    scene s = new_scene();
    assert_int_equal(cl->free(s.device, 4096, &error), SPAD_ERR_DEVICE);
    assert_string_equal(error.message, "no opencl buffer begins at 0x1000");
    assert_int_equal(cl->free(s.device, s.a + 1, &error), SPAD_ERR_DEVICE);
    assert_int_equal(copy(&s, NULL, SPAD_ON_DEVICE, 4096, s.a, 1, &error), SPAD_ERR_DEVICE);
    assert_string_equal(error.message, "no opencl buffer has the address 0x1000");
    assert_int_equal(copy(&s, NULL, SPAD_ON_DEVICE, s.a, s.b + 256, 1, &error), SPAD_ERR_DEVICE);
    assert_int_equal(copy(&s, NULL, SPAD_TO_DEVICE, s.a, 4096, 1, &error), SPAD_ERR_DEVICE);
    assert_int_equal(cl->native(&object, &offset, s.device, 4096, &error), SPAD_ERR_DEVICE);
    assert_ok(cl->native(&object, &offset, s.device, s.b + 255, &error), &error);
    assert_int_equal(offset, 255);
    /* the first of two that is freed moves the other one down */
    assert_ok(cl->free(s.device, s.a, &error), &error);
    assert_int_equal(cl->free(s.device, s.a, &error), SPAD_ERR_DEVICE);
    assert_ok(cl->free(s.device, s.b, &error), &error);
    free_scene(&s);
}

/* ---- events ------------------------------------------------------------------------ */

static void an_event_reports_what_its_commands_do(void **state) {
    (void)state;
    spad_error error = {0};
    bool done;
    void *fresh;
    scene s = new_scene();
    set_event_state(2); /* submitted */
    assert_ok(cl->event_done(&done, s.device, s.event, &error), &error);
    assert_false(done);
    set_event_state(0);
    assert_ok(cl->event_done(&done, s.device, s.event, &error), &error);
    assert_true(done);
    set_event_state(-14); /* a command in front of it failed */
    assert_int_equal(cl->event_done(&done, s.device, s.event, &error), SPAD_ERR_DEVICE);
    assert_true(done);
    assert_string_equal(error.message, "a command before an event failed with error -14");
    /* an event that is not recorded has nothing to wait for */
    assert_ok(cl->event_open(&fresh, s.device, &error), &error);
    assert_ok(cl->event_done(&done, s.device, fresh, &error), &error);
    assert_true(done);
    assert_ok(cl->event_wait(s.device, fresh, &error), &error);
    assert_ok(cl->stream_wait_event(s.device, s.stream, fresh, &error), &error);
    cl->event_close(s.device, fresh);
    free_scene(&s);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_teardown(devices_are_numbered_through_the_platforms, reset),
        cmocka_unit_test_teardown(a_device_is_described, reset),
        cmocka_unit_test_teardown(a_list_without_devices_has_the_reason, reset),
        cmocka_unit_test_teardown(a_call_that_fails_is_named, reset),
        cmocka_unit_test_teardown(a_device_without_memory_says_how_much, reset),
        cmocka_unit_test_teardown(addresses_run_out_as_memory_does, reset),
        cmocka_unit_test_teardown(addresses_of_nothing_are_refused, reset),
        cmocka_unit_test_teardown(an_event_reports_what_its_commands_do, reset),
    };
    return cmocka_run_group_tests(tests, open_fake, close_fake);
}
