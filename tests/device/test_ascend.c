/* SPDX-License-Identifier: Apache-2.0
 *
 * Ascend on the library of our own (fake/ascend.c): what is reported when a call fails, and the
 * rules of AscendCL that the device suite does not show. The back end's table is called directly
 * where each call of the library is one of the test. */
#include <stdlib.h>

#include "device/driver.h"
#include "spad/device/stream.h"

static struct {
    void (*set_version)(int major, int minor);
    void (*set_words)(const char *words);
    void (*set_soc)(const char *name);
    void (*set_restless)(bool restless);
    long (*misuses)(void);
    long (*stream_waits)(void);
    long (*initializations)(void);
    int (*set_device)(int32_t device);
    int (*reset_device)(int32_t device);
    int (*get_context)(void **context);
} more;

static const spad_backend *const ascend = &spad__backend_ascend;

static int open_library(void **state) {
    (void)state;
    open_fake("libascendcl.so");
    load(&more.set_version, "fake_ascend_set_version");
    load(&more.set_words, "fake_ascend_set_words");
    load(&more.set_soc, "fake_ascend_set_soc");
    load(&more.set_restless, "fake_ascend_set_restless");
    load(&more.misuses, "fake_ascend_misuses");
    load(&more.stream_waits, "fake_ascend_stream_waits");
    load(&more.initializations, "fake_ascend_initializations");
    load(&more.set_device, "aclrtSetDevice");
    load(&more.reset_device, "aclrtResetDevice");
    load(&more.get_context, "aclrtGetCurrentContext");
    return 0;
}

static void *load_driver(void) {
    spad_error error;
    void *driver;
    const spad_host host = spad__host_or_default(NULL);
    assert_ok(ascend->load(&driver, &host, &error), &error);
    return driver;
}

typedef struct scene {
    void *driver;
    void *devices[2];
    int64_t blocks[2]; /* of 4096 B */
    void *stream;
} scene;

static scene new_scene(void) {
    spad_error error;
    scene s = {.driver = load_driver()};
    for (int i = 0; i < 2; i++) {
        assert_ok(ascend->open(&s.devices[i], s.driver, i, &error), &error);
        assert_ok(ascend->alloc(&s.blocks[i], s.devices[i], 4096, &error), &error);
    }
    assert_ok(ascend->stream_open(&s.stream, s.devices[0], &error), &error);
    return s;
}

static void free_scene(scene *s) {
    spad_error error;
    ascend->stream_close(s->devices[0], s->stream);
    for (int i = 0; i < 2; i++) {
        assert_ok(ascend->free(s->devices[i], s->blocks[i], &error), &error);
        ascend->close(s->devices[i]);
    }
    ascend->unload(s->driver);
    assert_int_equal(fake.live(), 0);
    assert_int_equal(more.initializations(), 0);
}

/* ---- errors ------------------------------------------------------------------------ */

static void errors_have_the_words_of_the_library(void **state) {
    (void)state;
    static const struct {
        int code;
        const char *words;
        spad_status status;
        const char *message;
    } cases[] = {
        {507899, "E1: broken\nTraceBack", SPAD_ERR_DEVICE,
         "aclrtMalloc failed with error 507899: E1: broken"},
        {507899, NULL, SPAD_ERR_DEVICE, "aclrtMalloc failed with error 507899"},
        {507899, "", SPAD_ERR_DEVICE, "aclrtMalloc failed with error 507899"},
        {207004, NULL, SPAD_ERR_NO_DEVICE, "ascend has no device (error 207004)"},
        {207001, "", SPAD_ERR_NO_FIT, "the ascend device has no 1000 B left; request less"},
        {207018, "", SPAD_ERR_NO_FIT, "the ascend device has no 1000 B left; request less"},
        {200000, "", SPAD_ERR_NO_FIT, "the ascend device has no 1000 B left; request less"},
        {100000, "", SPAD_ERR_NO_FIT, "the ascend device has no 1000 B left; request less"},
        {107000, "", SPAD_ERR_NO_FIT, "the ascend device has no 1000 B left; request less"},
    };
    scene s = new_scene();
    /* the context is made current first: then aclrtMalloc is the second call */
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        spad_error error = {0};
        int64_t address;
        fake.set_code(cases[i].code);
        more.set_words(cases[i].words);
        assert_int_equal(more.set_device(0), 0);
        fake.fail_at(2);
        assert_int_equal(ascend->alloc(&address, s.devices[0], 1000, &error), cases[i].status);
        fake.fail_at(0);
        assert_int_equal(more.reset_device(0), 0);
        assert_int_equal(address, 0);
        assert_string_equal(error.message, cases[i].message);
    }
    spad_error error = {0};
    int64_t address;
    assert_int_equal(ascend->host_alloc(&address, s.devices[0], INT64_C(1) << 40, &error),
                     SPAD_ERR_NO_FIT);
    assert_string_equal(error.message,
                        "ascend has no 1099511627776 B of host memory left; request less");
    fake.set_code(507000);
    free_scene(&s);
}

static spad_status open_and_close(void *context, spad_error *error) {
    (void)context;
    const spad_host host = spad__host_or_default(NULL);
    void *driver;
    void *device;
    int count;
    spad_device_info info;
    spad_status status = ascend->load(&driver, &host, error);
    if (status != SPAD_OK) return status;
    status = ascend->count(&count, driver, error);
    if (status == SPAD_OK) status = ascend->open(&device, driver, 1, error);
    if (status == SPAD_OK) {
        status = ascend->describe(&info, driver, 1, error);
        ascend->close(device);
    }
    ascend->unload(driver);
    return status;
}

static void opening_may_fail_at_each_call(void **state) {
    (void)state;
    for (int i = 0; i < 2; i++) { /* the second time other code has a context of its own */
        more.set_restless(i == 1);
        assert_true(fail_each_call(open_and_close, NULL) >= 6 + i);
    }
    more.set_restless(false);
    assert_int_equal(more.initializations(), 0);
}

static spad_status copy_all_ways(void *context, spad_error *error) {
    const scene *s = context;
    char bytes[256] = {0};
    int64_t pinned = 0;
    spad_transfer t = {.direction = SPAD_TO_DEVICE,
                       .to = s->blocks[0],
                       .to_pitch = 64,
                       .from = (int64_t)(uintptr_t)bytes,
                       .from_pitch = 32,
                       .width = 16,
                       .rows = 4};
    spad_status status = ascend->copy(s->devices[0], NULL, &t, error);
    if (status == SPAD_OK) status = ascend->copy(s->devices[0], s->stream, &t, error);
    t.direction = SPAD_ON_DEVICE;
    t.from = s->blocks[0] + 1024 + 8; /* rows that are not aligned: with a wait each */
    if (status == SPAD_OK) status = ascend->copy(s->devices[0], s->stream, &t, error);
    if (status == SPAD_OK) status = ascend->copy(s->devices[0], NULL, &t, error);
    if (status == SPAD_OK)
        status = ascend->fill(s->devices[0], s->stream, s->blocks[0], 64, 1, error);
    if (status == SPAD_OK) status = ascend->fill(s->devices[0], NULL, s->blocks[0], 64, 1, error);
    if (status == SPAD_OK) status = ascend->host_alloc(&pinned, s->devices[0], 64, error);
    if (status == SPAD_OK) status = ascend->host_free(s->devices[0], pinned, error);
    if (status == SPAD_OK) status = ascend->stream_wait(s->devices[0], s->stream, error);
    return status;
}

static void copies_may_fail_at_each_call(void **state) {
    (void)state;
    scene s = new_scene();
    for (int i = 0; i < 2; i++) {
        more.set_restless(i == 1);
        assert_true(fail_each_call(copy_all_ways, &s) >= (i == 0 ? 15 : 23));
    }
    more.set_restless(false);
    free_scene(&s);
}

static spad_status use_events(void *context, spad_error *error) {
    const scene *s = context;
    void *event;
    bool done;
    spad_status status = ascend->event_open(&event, s->devices[0], error);
    if (status != SPAD_OK) {
        assert_null(event);
        return status;
    }
    status = ascend->fill(s->devices[0], s->stream, s->blocks[0], 64, 1, error);
    if (status == SPAD_OK) status = ascend->event_record(s->devices[0], event, s->stream, error);
    if (status == SPAD_OK) status = ascend->event_done(&done, s->devices[0], event, error);
    if (status == SPAD_OK) assert_false(done); /* the first answer of our library */
    if (status == SPAD_OK) status = ascend->event_wait(s->devices[0], event, error);
    if (status == SPAD_OK)
        status = ascend->stream_wait_event(s->devices[0], s->stream, event, error);
    ascend->event_close(s->devices[0], event);
    return status;
}

/* The first time an event is made; from then on it is used again. */
static void events_are_used_again(void **state) {
    (void)state;
    spad_error error;
    scene s = new_scene();
    fake.fail_at(2); /* aclrtSetCurrentContext or aclrtCreateEventExWithFlag */
    assert_int_equal(use_events(&s, &error), SPAD_ERR_DEVICE);
    fake.fail_at(0);
    const long live = fake.live();
    assert_ok(use_events(&s, &error), &error);
    assert_int_equal(fake.live(), live + 1);
    for (int i = 0; i < 2; i++) {
        more.set_restless(i == 1);
        assert_true(fail_each_call(use_events, &s) >= (i == 0 ? 5 : 10));
    }
    more.set_restless(true);
    void *events[2];
    assert_ok(ascend->event_open(&events[0], s.devices[0], &error), &error); /* the one there is */
    for (long n = 2; n <= 3; n++) { /* the context, and the event itself */
        fake.fail_at(n);
        assert_int_equal(ascend->event_open(&events[1], s.devices[0], &error), SPAD_ERR_DEVICE);
        assert_null(events[1]);
    }
    fake.fail_at(2);
    void *stream;
    assert_int_equal(ascend->stream_open(&stream, s.devices[0], &error), SPAD_ERR_DEVICE);
    fake.fail_at(2);
    int64_t address;
    assert_int_equal(ascend->alloc(&address, s.devices[0], 64, &error), SPAD_ERR_DEVICE);
    fake.fail_at(0);
    ascend->event_close(s.devices[0], events[0]);
    more.set_restless(false);
    assert_int_equal(fake.live(), live + 1);
    free_scene(&s);
}

/* ---- rules ------------------------------------------------------------------------- */

static void other_versions_are_refused(void **state) {
    (void)state;
    static const int majors[] = {0, 2};
    const spad_host host = spad__host_or_default(NULL);
    for (int i = 0; i < 2; i++) {
        char message[SPAD_MESSAGE_MAX];
        spad_error error = {0};
        void *driver;
        more.set_version(majors[i], 5);
        assert_int_equal(ascend->load(&driver, &host, &error), SPAD_ERR_NO_DEVICE);
        assert_null(driver);
        snprintf(message, sizeof message,
                 "libascendcl.so has version %d.5.0 of its interface; version 1 is known",
                 majors[i]);
        assert_string_equal(error.message, message);
        assert_int_equal(more.initializations(), 0);
    }
    more.set_version(1, 17);
}

/* aclInit counts: a process that has called it before keeps what it has. */
static void initializations_are_counted(void **state) {
    (void)state;
    void *first = load_driver();
    void *second = load_driver();
    assert_int_equal(more.initializations(), 2);
    ascend->unload(first);
    assert_int_equal(more.initializations(), 1);
    ascend->unload(second);
    assert_int_equal(more.initializations(), 0);
}

static void the_thread_keeps_its_context(void **state) {
    (void)state;
    spad_error error;
    void *before;
    void *after;
    int64_t address;
    assert_int_equal(more.set_device(1), 0);
    assert_int_equal(more.get_context(&before), 0);
    void *driver = load_driver();
    void *device;
    assert_ok(ascend->open(&device, driver, 0, &error), &error);
    assert_int_equal(more.get_context(&after), 0);
    assert_ptr_equal(after, before);
    assert_ok(ascend->alloc(&address, device, 100, &error), &error);
    assert_int_equal(more.get_context(&after), 0);
    assert_ptr_equal(after, before);
    assert_ok(ascend->free(device, address, &error), &error);
    ascend->close(device);
    assert_int_equal(more.get_context(&after), 0);
    assert_ptr_equal(after, before);
    ascend->unload(driver);
    assert_int_equal(more.reset_device(1), 0);
    assert_int_equal(fake.live(), 0);
}

/* A device that is not open says what it is, and not how much memory it has. */
static void descriptions(void **state) {
    (void)state;
    spad_error error;
    spad_device_info info;
    void *device;
    void *driver = load_driver();
    assert_ok(ascend->describe(&info, driver, 0, &error), &error);
    assert_string_equal(info.about, "Ascend910B4");
    assert_string_equal(info.driver, "AscendCL 1.17.0");
    assert_int_equal(info.total_bytes, 0);
    assert_int_equal(info.alignment, 64);
    assert_int_equal(info.guard_bytes, 32);
    more.set_soc(NULL);
    assert_ok(ascend->open(&device, driver, 0, &error), &error);
    assert_ok(ascend->describe(&info, driver, 0, &error), &error);
    assert_string_equal(info.about, "an Ascend device");
    assert_int_equal(info.total_bytes, 1 << 30);
    assert_ok(ascend->describe(&info, driver, 1, &error), &error);
    assert_int_equal(info.total_bytes, 0);
    more.set_soc("Ascend910B4");
    ascend->close(device);
    ascend->unload(driver);
}

/* Within the device and on a stream addresses are multiples of 64, or the call waits. */
static void copies_that_are_not_aligned_wait(void **state) {
    (void)state;
    spad_error error;
    spad_device *device;
    spad_buffer a, b;
    spad_stream stream;
    uint8_t in[512];
    uint8_t out[512];
    const spad_buffer_spec spec = {.shape = SPAD_SHAPE(512), .dtype = SPAD_UINT8};
    for (int i = 0; i < 512; i++) in[i] = (uint8_t)(i * 3);
    assert_ok(spad_device_open(&device, "npu:0", NULL, &error), &error);
    assert_string_equal(spad_device_get_info(device)->name, "ascend:0");
    assert_ok(spad_stream_open(&stream, device, &error), &error);
    assert_ok(spad_buffer_alloc(&a, device, &spec, &error), &error);
    assert_ok(spad_buffer_alloc(&b, device, &spec, &error), &error);
    int64_t addresses[2];
    assert_ok(spad_buffer_get_address(&addresses[0], a, &error), &error);
    assert_ok(spad_buffer_get_address(&addresses[1], b, &error), &error);
    const int64_t apart = addresses[1] - addresses[0];
    assert_true(apart >= 512 + 32 || apart <= -512 - 32); /* the bytes that kernels may touch */
    assert_ok(spad_buffer_write(a, 0, in, 512, &stream, &error), &error);
    const long waits = more.stream_waits();
    const spad_copy_range fine = {.to_offset = 64, .from_offset = 128, .width = 100};
    assert_ok(spad_buffer_copy_part(b, a, &fine, &stream, &error), &error);
    assert_int_equal(more.stream_waits(), waits);
    const spad_copy_range odd = {.to_offset = 256, .from_offset = 8, .width = 100};
    assert_ok(spad_buffer_copy_part(b, a, &odd, &stream, &error), &error);
    assert_int_equal(more.stream_waits(), waits + 1);
    assert_ok(spad_buffer_read(out, b, 0, 512, NULL, &error), &error);
    assert_memory_equal(out + 64, in + 128, 100);
    assert_memory_equal(out + 256, in + 8, 100);
    assert_ok(spad_buffer_free(a, &error), &error);
    assert_ok(spad_buffer_free(b, &error), &error);
    assert_int_equal(spad_device_close(device, NULL), 0);
    assert_int_equal(fake.live(), 0);
    assert_int_equal(more.misuses(), 0);
}

/* Rows that are too long, or too many, for aclrtMemcpy2d go one by one. */
static void long_rows(void **state) {
    (void)state;
    enum { WIDTH = 5000001, ROWS = 2 };
    spad_error error;
    int64_t block;
    scene s = new_scene();
    char *in = malloc(2 * WIDTH);
    char *out = malloc(2 * WIDTH);
    for (int i = 0; i < 2 * WIDTH; i++) in[i] = (char)(i % 251);
    assert_ok(ascend->alloc(&block, s.devices[0], 3 * WIDTH, &error), &error);
    spad_transfer t = {.direction = SPAD_TO_DEVICE,
                       .to = block,
                       .to_pitch = WIDTH + 5,
                       .from = (int64_t)(uintptr_t)in,
                       .from_pitch = WIDTH,
                       .width = WIDTH,
                       .rows = ROWS};
    assert_ok(ascend->copy(s.devices[0], NULL, &t, &error), &error);
    t = (spad_transfer){.direction = SPAD_FROM_DEVICE,
                        .to = (int64_t)(uintptr_t)out,
                        .to_pitch = WIDTH,
                        .from = block,
                        .from_pitch = WIDTH + 5,
                        .width = WIDTH,
                        .rows = ROWS};
    assert_ok(ascend->copy(s.devices[0], s.stream, &t, &error), &error);
    assert_ok(ascend->stream_wait(s.devices[0], s.stream, &error), &error);
    assert_memory_equal(in, out, 2 * WIDTH);
    enum { MOST_ROWS = 5 * 1024 * 1024 };
    t = (spad_transfer){.direction = SPAD_FROM_DEVICE, /* every second byte */
                        .to = (int64_t)(uintptr_t)out,
                        .to_pitch = 1,
                        .from = block,
                        .from_pitch = 2,
                        .width = 1,
                        .rows = MOST_ROWS + 1};
    assert_ok(ascend->copy(s.devices[0], NULL, &t, &error), &error);
    for (int i = 0; i < WIDTH / 2; i++) assert_int_equal(out[i], in[2 * i]);
    assert_ok(ascend->free(s.devices[0], block, &error), &error);
    free(in);
    free(out);
    free_scene(&s);
}

/* A stream that waits for an event which is closed at once, and no event destroyed before. */
static void streams_wait_for_each_other(void **state) {
    (void)state;
    spad_error error;
    spad_device *device;
    spad_stream streams[3];
    spad_buffer a, b;
    uint8_t bytes[64];
    const spad_buffer_spec spec = {.shape = SPAD_SHAPE(64), .dtype = SPAD_UINT8};
    assert_ok(spad_device_open(&device, "ascend", NULL, &error), &error);
    assert_ok(spad_buffer_alloc(&a, device, &spec, &error), &error);
    assert_ok(spad_buffer_alloc(&b, device, &spec, &error), &error);
    for (int i = 0; i < 3; i++) assert_ok(spad_stream_open(&streams[i], device, &error), &error);
    for (int i = 0; i < 30; i++) {
        const spad_stream stream = streams[i % 3];
        assert_ok(spad_buffer_fill(a, 0, 64, (uint8_t)i, &stream, &error), &error);
        assert_ok(spad_buffer_copy_async(b, a, streams[(i + 1) % 3], &error), &error);
    }
    assert_ok(spad_buffer_read(bytes, b, 0, 64, NULL, &error), &error);
    assert_int_equal(bytes[0], 29);
    assert_int_equal(bytes[63], 29);
    assert_ok(spad_buffer_free(a, &error), &error);
    assert_ok(spad_buffer_free(b, &error), &error);
    assert_int_equal(spad_device_close(device, NULL), 0);
    assert_int_equal(more.misuses(), 0);
    assert_int_equal(fake.live(), 0);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(errors_have_the_words_of_the_library),
        cmocka_unit_test(opening_may_fail_at_each_call),
        cmocka_unit_test(copies_may_fail_at_each_call),
        cmocka_unit_test(events_are_used_again),
        cmocka_unit_test(other_versions_are_refused),
        cmocka_unit_test(initializations_are_counted),
        cmocka_unit_test(the_thread_keeps_its_context),
        cmocka_unit_test(descriptions),
        cmocka_unit_test(copies_that_are_not_aligned_wait),
        cmocka_unit_test(long_rows),
        cmocka_unit_test(streams_wait_for_each_other),
    };
    return cmocka_run_group_tests(tests, open_library, close_fake);
}
