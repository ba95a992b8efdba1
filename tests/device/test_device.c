/* SPDX-License-Identifier: Apache-2.0
 * The device suite: the same tests on any device, whose name is the argument ("host" without
 * one). A device that is not there skips the suite (exit code 77). */
#include <dlfcn.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/random.h"
#include "device/faulty.h"
#include "spad/stream.h"
#include "support/support.h"

static const char *device_name = "host";

static spad_device *open_device(const spad_device_options *options) {
    spad_error error;
    spad_device *device;
    assert_ok(spad_device_open(&device, device_name, options, &error), &error);
    return device;
}

static void close_device(spad_device *device) {
    test_text text;
    test_text_init(&text);
    assert_int_equal(spad_device_close(device, &text.sink), 0);
    assert_string_equal(text.bytes, "");
    test_text_free(&text);
}

static spad_device_buffer new_buffer(spad_device *device, spad_shape shape, spad_dtype dtype) {
    spad_error error;
    spad_device_buffer buffer;
    const spad_buffer_spec spec = {.shape = shape, .dtype = dtype};
    assert_ok(spad_buffer_alloc(&buffer, device, &spec, &error), &error);
    return buffer;
}

static void free_buffer(spad_device_buffer buffer) {
    spad_error error;
    assert_ok(spad_buffer_free(buffer, &error), &error);
}

static spad_buffer_info info_of(spad_device_buffer buffer) {
    spad_error error;
    spad_buffer_info info;
    assert_ok(spad_buffer_get_info(&info, buffer, &error), &error);
    return info;
}

static spad_stream new_stream(spad_device *device) {
    spad_error error;
    spad_stream stream;
    assert_ok(spad_stream_open(&stream, device, &error), &error);
    return stream;
}

/* ---- devices ----------------------------------------------------------------------------- */

static void the_device_is_in_the_list(void **state) {
    (void)state;
    spad_device_info infos[64];
    const size_t count = spad_device_list(infos, 64, NULL, NULL, NULL);
    bool found = false;
    assert_string_equal(infos[0].name, "host");
    for (size_t i = 0; i < count && i < 64; i++) {
        found |= strcmp(infos[i].name, device_name) == 0;
    }
    assert_true(found);
    assert_int_equal(spad_device_list(infos, 0, NULL, NULL, NULL), count);
    spad_device *device = open_device(NULL);
    const spad_device_info *info = spad_device_get_info(device);
    assert_string_equal(info->name, device_name);
    assert_true(info->alignment >= 64);
    assert_true(info->about[0] != '\0' && info->driver[0] != '\0');
    close_device(device);
}

static void devices_that_are_not_there_are_refused(void **state) {
    (void)state;
    static const struct {
        const char *name;
        spad_status status;
        const char *message;
    } cases[] = {
        {"hosts", SPAD_ERR_UNKNOWN,
         "'hosts' is not the name of a device; there are host, cuda:N and opencl:N"},
        {"cuda:", SPAD_ERR_UNKNOWN, NULL},
        {"cuda:-1", SPAD_ERR_UNKNOWN, NULL},
        {"", SPAD_ERR_UNKNOWN, NULL},
        {"host:1", SPAD_ERR_NO_DEVICE, "there is no host:1; host has 1 device"},
        {"opencl:99999", SPAD_ERR_NO_DEVICE, NULL},
        {"cuda:99999999999", SPAD_ERR_UNKNOWN, NULL},
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        spad_error error;
        spad_device *device;
        assert_int_equal(spad_device_open(&device, cases[i].name, NULL, &error), cases[i].status);
        assert_null(device);
        if (cases[i].message != NULL) assert_string_equal(error.message, cases[i].message);
    }
    spad_error error;
    spad_device *device;
    spad_backend other = *spad_backend_at(0);
    other.version = 2;
    assert_int_equal(spad_device_open_on(&device, &other, 0, NULL, &error), SPAD_ERR_ARGUMENT);
    assert_string_equal(error.message, "the back end has version 2; this library wants 1");
    spad_device_options options = {.shared_space = "nowhere"};
    assert_int_equal(spad_device_open(&device, "host", &options, &error), SPAD_ERR_UNKNOWN);
    options = (spad_device_options){.pool = {.block_bytes = 48}};
    assert_int_equal(spad_device_open(&device, "host", &options, &error), SPAD_ERR_ALIGNMENT);
}

/* ---- buffers ------------------------------------------------------------------------------ */

static void buffers_have_shape_type_and_address(void **state) {
    (void)state;
    spad_error error;
    int64_t address;
    spad_device *device = open_device(NULL);
    const int64_t n = 77; /* known at run time */
    const spad_buffer_spec spec = {.shape = SPAD_SHAPE(n, 128),
                                   .dtype = SPAD_FLOAT16,
                                   .alignment = 4096,
                                   .name = "activations"};
    spad_device_buffer buffer;
    assert_ok(spad_buffer_alloc(&buffer, device, &spec, &error), &error);
    assert_ok(spad_buffer_address(&address, buffer, &error), &error);
    assert_true(spad_is_aligned(address, 4096));
    const spad_buffer_info info = info_of(buffer);
    assert_int_equal(info.bytes, n * 128 * 2);
    assert_int_equal(info.address, address);
    assert_int_equal(info.alignment, 4096);
    assert_int_equal(info.dims[0], n);
    assert_string_equal(info.name, "activations");
    assert_false(info.is_alias);
    spad_device_buffer empty = new_buffer(device, SPAD_SHAPE(0, 3), SPAD_INT8);
    assert_int_equal(info_of(empty).bytes, 0);
    free_buffer(empty);
    free_buffer(buffer);
    free_buffer((spad_device_buffer){0});
    close_device(device);
}

static void bad_buffers_are_refused(void **state) {
    (void)state;
    static const int64_t many[17] = {0};
    static const int64_t huge[] = {INT64_MAX, 2};
    static const int64_t negative[] = {4, -1};
    static const int64_t autos[] = {SPAD_AUTO, SPAD_AUTO};
    static const int64_t fine[] = {4};
    static const struct {
        spad_buffer_spec spec;
        spad_status status;
        const char *message;
    } cases[] = {
        {{.shape = {1, fine}}, SPAD_ERR_DTYPE, "the buffer has no element type"},
        {{.shape = {2, negative}, .dtype = SPAD_INT8},
         SPAD_ERR_SHAPE,
         "dimension 1 of the shape is -1; extents cannot be negative"},
        {{.shape = {17, many}, .dtype = SPAD_INT8},
         SPAD_ERR_SHAPE,
         "a shape of 17 dimensions; 16 are the most"},
        {{.shape = {2, autos}, .dtype = SPAD_INT8},
         SPAD_ERR_SHAPE,
         "two extents are automatic; one can be"},
        {{.shape = {2, huge}, .dtype = SPAD_INT8}, SPAD_ERR_OVERFLOW, NULL},
        {{.shape = {1, huge}, .dtype = SPAD_INT8}, SPAD_ERR_OVERFLOW, NULL},
        {{.shape = {1, fine}, .dtype = SPAD_INT8, .alignment = 48},
         SPAD_ERR_ALIGNMENT,
         "alignment 48 is not a power of two; use 0 for that of the memory"},
        {{.shape = {1, fine}, .dtype = SPAD_INT8, .scope = SPAD_SCOPE_COUNT},
         SPAD_ERR_ARGUMENT,
         "3 is no memory scope"},
    };
    spad_device *device = open_device(NULL);
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        spad_error error;
        spad_device_buffer buffer;
        assert_int_equal(spad_buffer_alloc(&buffer, device, &cases[i].spec, &error),
                         cases[i].status);
        if (cases[i].message != NULL) assert_string_equal(error.message, cases[i].message);
        assert_null(buffer.device);
    }
    const int64_t absurd[] = {INT64_C(1) << 60};
    spad_error error;
    spad_device_buffer buffer;
    const spad_buffer_spec spec = {.shape = {1, absurd}, .dtype = SPAD_INT8, .name = "absurd"};
    assert_int_equal(spad_buffer_alloc(&buffer, device, &spec, &error), SPAD_ERR_NO_FIT);
    assert_int_equal(error.needed, INT64_C(1) << 60);
    assert_string_equal(error.subject, "absurd");
    close_device(device);
}

static void handles_that_are_gone_are_noticed(void **state) {
    (void)state;
    spad_error error;
    spad_device *device = open_device(NULL);
    spad_buffer_info info;
    spad_device_buffer x = new_buffer(device, SPAD_SHAPE(16), SPAD_FLOAT32);
    spad_device_buffer view;
    assert_ok(spad_buffer_alias(&view, x, 32, SPAD_SHAPE(8), SPAD_FLOAT32, "view", &error), &error);
    free_buffer(x);
    assert_int_equal(spad_buffer_free(x, &error), SPAD_ERR_STALE);
    assert_string_equal(error.message,
                        "the buffer was freed before; an alias ends with its buffer");
    assert_int_equal(spad_buffer_get_info(&info, view, &error), SPAD_ERR_STALE);
    assert_int_equal(spad_copy(view, x, &error), SPAD_ERR_STALE);
    spad_device_buffer y = new_buffer(device, SPAD_SHAPE(16), SPAD_FLOAT32); /* the same slot */
    assert_int_equal(spad_buffer_free(x, &error), SPAD_ERR_STALE);
    const spad_device_buffer garbage = {.device = device, .slot = 12345, .generation = 1};
    assert_int_equal(spad_buffer_free(garbage, &error), SPAD_ERR_STALE);
    assert_int_equal(spad_buffer_get_info(&info, (spad_device_buffer){0}, &error),
                     SPAD_ERR_ARGUMENT);
    assert_int_equal(spad_copy(y, (spad_device_buffer){0}, &error), SPAD_ERR_ARGUMENT);
    free_buffer(y);

    spad_stream stream = new_stream(device);
    spad_fence fence;
    bool done;
    assert_ok(spad_fence_record(&fence, stream, &error), &error);
    assert_ok(spad_fence_free(fence, &error), &error);
    assert_int_equal(spad_fence_free(fence, &error), SPAD_ERR_STALE);
    assert_string_equal(error.message, "the fence was freed before");
    assert_int_equal(spad_fence_wait(fence, &error), SPAD_ERR_STALE);
    assert_int_equal(spad_fence_done(&done, fence, &error), SPAD_ERR_STALE);
    assert_int_equal(spad_stream_wait_fence(stream, fence, &error), SPAD_ERR_STALE);
    assert_int_equal(spad_fence_wait((spad_fence){0}, &error), SPAD_ERR_ARGUMENT);
    assert_ok(spad_stream_close(stream, &error), &error);
    assert_int_equal(spad_stream_close(stream, &error), SPAD_ERR_STALE);
    assert_string_equal(error.message, "the stream was closed before");
    assert_int_equal(spad_stream_wait(stream, &error), SPAD_ERR_STALE);
    assert_int_equal(spad_fence_record(&fence, stream, &error), SPAD_ERR_STALE);
    spad_allocation block;
    assert_int_equal(spad_stream_alloc(&block, stream, 1, 1, &error), SPAD_ERR_STALE);
    assert_int_equal(spad_stream_free(stream, &block, &error), SPAD_ERR_STALE);
    assert_int_equal(spad_stream_wait((spad_stream){0}, &error), SPAD_ERR_ARGUMENT);
    x = new_buffer(device, SPAD_SHAPE(16), SPAD_FLOAT32);
    y = new_buffer(device, SPAD_SHAPE(16), SPAD_FLOAT32);
    assert_int_equal(spad_copy_async(x, y, stream, &error), SPAD_ERR_STALE);
    free_buffer(x);
    free_buffer(y);
    close_device(device);
}

static void extents_are_inferred_from_data(void **state) {
    (void)state;
    spad_error error;
    int64_t address;
    float data[24];
    float back[24];
    for (int i = 0; i < 24; i++) data[i] = (float)i;
    spad_device *device = open_device(NULL);
    spad_device_buffer x = new_buffer(device, SPAD_SHAPE(SPAD_AUTO, 6), SPAD_FLOAT32);
    assert_int_equal(spad_buffer_address(&address, x, &error), SPAD_ERR_NO_ADDRESS);
    assert_string_equal(error.message,
                        "the buffer has an automatic extent and no data is bound to it yet");
    assert_int_equal(spad_buffer_bind(x, data, 20, &error), SPAD_ERR_SHAPE);
    assert_string_equal(error.message,
                        "20 B are not a whole number of float32 elements for the other extents");
    assert_int_equal(spad_buffer_bind(x, data, -1, &error), SPAD_ERR_ARGUMENT);
    assert_int_equal(spad_read(back, x, 0, 4, NULL, &error), SPAD_ERR_NO_ADDRESS);
    assert_ok(spad_buffer_bind(x, data, sizeof data, &error), &error);
    assert_int_equal(info_of(x).dims[0], 4);
    assert_ok(spad_buffer_bind(x, data, sizeof data, &error), &error); /* the same size again */
    assert_int_equal(spad_buffer_bind(x, data, 48, &error), SPAD_ERR_BOUNDS);
    spad_device_buffer y = new_buffer(device, SPAD_SHAPE(SPAD_AUTO), SPAD_FLOAT32);
    spad_device_buffer z = new_buffer(device, SPAD_SHAPE(SPAD_AUTO), SPAD_UINT8);
    assert_ok(spad_copy(y, x, &error), &error); /* takes the shape over */
    assert_int_equal(info_of(y).rank, 2);
    assert_int_equal(info_of(y).dims[1], 6);
    assert_ok(spad_copy(z, x, &error), &error); /* another type: as many bytes */
    assert_int_equal(info_of(z).rank, 1);
    assert_int_equal(info_of(z).dims[0], sizeof data);
    assert_ok(spad_read(back, y, 0, sizeof back, NULL, &error), &error);
    assert_memory_equal(back, data, sizeof data);
    spad_device_buffer never = new_buffer(device, SPAD_SHAPE(SPAD_AUTO), SPAD_FLOAT32);
    free_buffer(never);
    free_buffer(x);
    free_buffer(y);
    free_buffer(z);
    assert_int_equal(spad_device_stats(device, SPAD_GLOBAL).allocated_bytes, 0);
    close_device(device);
}

static void aliases_share_bytes(void **state) {
    (void)state;
    spad_error error;
    spad_device *device = open_device(NULL);
    uint8_t bytes[64];
    uint32_t word;
    for (int i = 0; i < 64; i++) bytes[i] = (uint8_t)i;
    spad_device_buffer x = new_buffer(device, SPAD_SHAPE(4, 16), SPAD_UINT8);
    spad_device_buffer words, inner, bad;
    assert_ok(spad_write(x, 0, bytes, 64, NULL, &error), &error);
    assert_ok(spad_buffer_alias(&words, x, 16, SPAD_SHAPE(8), SPAD_UINT32, "words", &error),
              &error);
    assert_ok(spad_buffer_alias(&inner, words, 4, SPAD_SHAPE(1), SPAD_UINT32, NULL, &error),
              &error);
    assert_int_equal(info_of(inner).address, info_of(x).address + 20);
    assert_true(info_of(inner).is_alias);
    assert_ok(spad_read(&word, inner, 0, 4, NULL, &error), &error);
    assert_int_equal(word, 0x17161514);
    assert_int_equal(spad_buffer_alias(&bad, x, 48, SPAD_SHAPE(5), SPAD_UINT32, NULL, &error),
                     SPAD_ERR_BOUNDS);
    assert_string_equal(error.message, "a view of 20 B at 48 does not lie in a buffer of 64 B");
    assert_int_equal(spad_buffer_alias(&bad, x, -4, SPAD_SHAPE(1), SPAD_UINT32, NULL, &error),
                     SPAD_ERR_BOUNDS);
    assert_int_equal(spad_buffer_alias(&bad, x, 2, SPAD_SHAPE(1), SPAD_UINT32, NULL, &error),
                     SPAD_ERR_ALIGNMENT);
    assert_string_equal(error.message,
                        "a view of uint32 at byte 2; it has to begin at a multiple of 4");
    assert_int_equal(spad_copy(inner, inner, &error), SPAD_ERR_OVERLAP);
    assert_string_equal(error.message,
                        "a copy from a buffer to a buffer reads bytes that it writes");
    assert_int_equal(spad_device_stats(device, SPAD_GLOBAL).live_blocks, 1);
    free_buffer(words); /* the other two stay */
    assert_ok(spad_read(&word, inner, 0, 4, NULL, &error), &error);
    free_buffer(x);
    assert_int_equal(spad_read(&word, inner, 0, 4, NULL, &error), SPAD_ERR_STALE);
    close_device(device);
}

static void buffers_free_themselves(void **state) {
    (void)state;
    spad_error error;
    spad_device *device = open_device(NULL);
    const spad_buffer_spec spec = {
        .shape = SPAD_SHAPE(256), .dtype = SPAD_FLOAT32, .scope = SPAD_SHARED, .name = "temp"};
    {
        SPAD_BUFFER_SCOPE(temp, device, &spec, &error);
        assert_ok(temp.status, &error);
        assert_int_equal(spad_device_stats(device, SPAD_SHARED).allocated_bytes, 1024);
        SPAD_BUFFER_SCOPE(by_hand, device, &spec, &error);
        free_buffer(by_hand.buffer);
    }
    assert_int_equal(spad_device_stats(device, SPAD_SHARED).allocated_bytes, 0);
    assert_int_equal(spad_device_stats(device, SPAD_SHARED).peak_bytes, 2048);
    close_device(device);
}

/* ---- scopes -------------------------------------------------------------------------------- */

/* The scratchpads are those of the chip: 192 KiB of UB, and what is too large can be made
 * smaller. */
static void scratchpads_have_the_size_of_the_chip(void **state) {
    (void)state;
    spad_error error;
    spad_device_buffer a, b, c;
    spad_device *device = open_device(NULL);
    const spad_buffer_spec large = {.shape = SPAD_SHAPE(256, 256),
                                    .dtype = SPAD_FLOAT16,
                                    .scope = SPAD_SHARED,
                                    .name = "large"};
    const spad_buffer_spec small = {
        .shape = SPAD_SHAPE(128, 256), .dtype = SPAD_FLOAT16, .scope = SPAD_SHARED};
    const spad_buffer_spec local = {
        .shape = SPAD_SHAPE(128, 128), .dtype = SPAD_FLOAT32, .scope = SPAD_LOCAL};
    assert_ok(spad_buffer_alloc(&a, device, &large, &error), &error);
    assert_int_equal(spad_buffer_alloc(&b, device, &large, &error), SPAD_ERR_NO_FIT);
    assert_string_equal(error.message,
                        "131072 B at alignment 1 do not fit: 65536 of 196608 B are free, the "
                        "largest hole is 65536 B (fragmentation 0 %); free something, ask for "
                        "less or raise max_bytes");
    assert_int_equal(error.needed, 131072);
    assert_int_equal(error.largest_hole, 65536);
    assert_string_equal(error.subject, "large");
    assert_ok(spad_buffer_alloc(&b, device, &small, &error), &error);
    assert_ok(spad_buffer_alloc(&c, device, &local, &error), &error);
    assert_int_equal(info_of(a).address, 0);
    assert_int_equal(info_of(b).address, 131072);
    assert_int_equal(info_of(c).address, 0);
    int value = 42;
    int got = 0;
    assert_ok(spad_write(b, 65532, &value, 4, NULL, &error), &error); /* it is real memory */
    assert_ok(spad_read(&got, b, 65532, 4, NULL, &error), &error);
    assert_int_equal(got, 42);
    assert_int_equal(spad_device_stats(device, SPAD_SHARED).failures, 1);
    free_buffer(a);
    free_buffer(b);
    free_buffer(c);
    close_device(device);
}

/* On a chip with lanes the first extent runs across them. */
static void scratchpads_with_lanes(void **state) {
    (void)state;
    spad_error error;
    spad_device_buffer a, b;
    spad_device_options options = {0};
    assert_ok(spad_target_find(&options.target, "trn2", &error), &error);
    spad_device *device = open_device(&options);
    spad_buffer_spec spec = {
        .shape = SPAD_SHAPE(128, 512), .dtype = SPAD_BFLOAT16, .scope = SPAD_SHARED};
    assert_ok(spad_buffer_alloc(&a, device, &spec, &error), &error);
    assert_ok(spad_buffer_alloc(&b, device, &spec, &error), &error);
    assert_int_equal(info_of(b).address, 1024);
    assert_ok(spad_copy(b, a, &error), &error);
    free_buffer(a);
    free_buffer(b);
    spec.shape = SPAD_SHAPE(129, 512);
    assert_int_equal(spad_buffer_alloc(&a, device, &spec, &error), SPAD_ERR_LANES);
    close_device(device);
    assert_ok(spad_target_find(&options.target, "host", &error), &error);
    device = open_device(&options);
    spec.shape = SPAD_SHAPE(1, 1);
    assert_int_equal(spad_buffer_alloc(&a, device, &spec, &error), SPAD_ERR_SPACE);
    assert_string_equal(error.message, "target 'host' has no shared memory of a known size; name "
                                       "a space with the options of the device");
    close_device(device);
}

static void scopes_have_names(void **state) {
    (void)state;
    spad_error error;
    spad_memory_scope scope;
    assert_ok(spad_memory_scope_parse(&scope, "shared", &error), &error);
    assert_int_equal(scope, SPAD_SHARED);
    assert_ok(spad_memory_scope_parse(&scope, "npu", &error), &error);
    assert_int_equal(scope, SPAD_GLOBAL);
    assert_int_equal(spad_memory_scope_parse(&scope, "locla", &error), SPAD_ERR_UNKNOWN);
    assert_string_equal(error.message, "no memory scope is called 'locla'; did you mean 'local'?");
    assert_string_equal(spad_memory_scope_name(SPAD_LOCAL), "local");
    assert_string_equal(spad_memory_scope_name(SPAD_SCOPE_COUNT), "?");
}

static void workspaces_are_reused(void **state) {
    (void)state;
    spad_error error;
    spad_workspace ws;
    spad_device_buffer a, b, c;
    spad_buffer_info info;
    spad_device *device = open_device(NULL);
    assert_ok(spad_workspace_open(&ws, device, 4096, SPAD_SHARED, "workspace", &error), &error);
    assert_ok(spad_workspace_take(&a, &ws, SPAD_SHAPE(100), SPAD_FLOAT16, 0, "a", &error), &error);
    assert_ok(spad_workspace_take(&b, &ws, SPAD_SHAPE(100), SPAD_FLOAT16, 128, "b", &error),
              &error);
    assert_int_equal(info_of(b).address - info_of(a).address, 256);
    assert_int_equal(spad_workspace_take(&c, &ws, SPAD_SHAPE(1000), SPAD_FLOAT32, 0, "c", &error),
                     SPAD_ERR_NO_FIT);
    assert_string_equal(error.message, "4000 B do not fit in the workspace: 3640 of 4096 B are "
                                       "left in this phase");
    assert_int_equal(spad_workspace_take(&c, &ws, SPAD_SHAPE(1), SPAD_FLOAT32, 3, "c", &error),
                     SPAD_ERR_ALIGNMENT);
    assert_ok(spad_workspace_next(&ws, &error), &error);
    assert_int_equal(spad_buffer_get_info(&info, a, &error), SPAD_ERR_STALE);
    assert_ok(spad_workspace_take(&c, &ws, SPAD_SHAPE(1000), SPAD_FLOAT32, 0, "c", &error), &error);
    assert_int_equal(ws.peak, 4000);
    assert_ok(spad_workspace_close(&ws, &error), &error);
    assert_int_equal(spad_buffer_get_info(&info, c, &error), SPAD_ERR_STALE);
    assert_int_equal(spad_workspace_next(&ws, &error), SPAD_ERR_ARGUMENT);
    assert_int_equal(spad_workspace_open(&ws, device, -1, SPAD_SHARED, NULL, &error),
                     SPAD_ERR_ARGUMENT);
    close_device(device);
}

/* ---- copies -----------------------------------------------------------------------------------
 */

enum { SIDE = 24 };

static void fill_random(uint16_t *matrix, uint64_t seed) {
    spad__random random = {seed};
    for (int i = 0; i < SIDE * SIDE; i++) matrix[i] = (uint16_t)spad__random_next(&random);
}

/* Random tiles between random devices, on a stream or not, against the same on an array. */
static void tiles_agree_with_plain_loops(void **state) {
    (void)state;
    spad_error error;
    spad_device *devices[3] = {open_device(NULL), open_device(NULL), NULL};
    assert_ok(spad_device_open(&devices[2], "host", NULL, &error), &error);
    spad_stream streams[3];
    spad_device_buffer buffers[6];
    static uint16_t models[6][SIDE * SIDE];
    static uint16_t read[SIDE * SIDE];
    for (int i = 0; i < 3; i++) streams[i] = new_stream(devices[i]);
    for (uint64_t i = 0; i < 6; i++) {
        buffers[i] = new_buffer(devices[i % 3], SPAD_SHAPE(SIDE, SIDE), SPAD_UINT16);
        fill_random(models[i], i);
        assert_ok(spad_write(buffers[i], 0, models[i], sizeof models[i], NULL, &error), &error);
    }
    spad__random random = {1};
    for (int round = 0; round < 300; round++) {
        const uint64_t to = spad__random_below(&random, 6);
        const uint64_t from = spad__random_below(&random, 6);
        const spad_copy_tile tile = {.rows = spad__random_in(&random, 0, SIDE / 2),
                                     .columns = spad__random_in(&random, 0, SIDE / 2),
                                     .to_row = spad__random_in(&random, 0, SIDE / 2),
                                     .to_column = spad__random_in(&random, 0, SIDE / 2),
                                     .from_row = spad__random_in(&random, 0, SIDE / 2),
                                     .from_column = spad__random_in(&random, 0, SIDE / 2)};
        const int64_t down = tile.to_row - tile.from_row;
        const int64_t right = tile.to_column - tile.from_column;
        const bool overlaps = to == from && tile.rows > 0 && tile.columns > 0 &&
                              llabs(down) < tile.rows && llabs(right) < tile.columns;
        const spad_stream *stream = &streams[(spad__random_below(&random, 2) != 0 ? to : from) % 3];
        if (round % 3 == 0) stream = NULL;
        const spad_status status =
            spad_copy_matrix(buffers[to], buffers[from], &tile, stream, &error);
        if (overlaps) {
            assert_int_equal(status, SPAD_ERR_OVERLAP);
            continue;
        }
        assert_ok(status, &error);
        for (int64_t r = 0; r < tile.rows; r++) {
            memcpy(&models[to][(tile.to_row + r) * SIDE + tile.to_column],
                   &models[from][(tile.from_row + r) * SIDE + tile.from_column],
                   (size_t)tile.columns * 2);
        }
    }
    for (int i = 0; i < 6; i++) {
        assert_ok(spad_read(read, buffers[i], 0, sizeof read, NULL, &error), &error);
        assert_memory_equal(read, models[i], sizeof read);
        free_buffer(buffers[i]);
    }
    for (int i = 0; i < 3; i++) {
        assert_ok(spad_stream_close(streams[i], &error), &error);
        close_device(devices[i]);
    }
}

static void bad_copies_are_refused(void **state) {
    (void)state;
    spad_device *device = open_device(NULL);
    spad_device_buffer x = new_buffer(device, SPAD_SHAPE(8, 8), SPAD_FLOAT32);
    spad_device_buffer y = new_buffer(device, SPAD_SHAPE(8, 8), SPAD_FLOAT32);
    spad_device_buffer flat = new_buffer(device, SPAD_SHAPE(64), SPAD_FLOAT32);
    spad_device_buffer half = new_buffer(device, SPAD_SHAPE(8, 8), SPAD_FLOAT16);
    spad_device_buffer packed = new_buffer(device, SPAD_SHAPE(8, 8), SPAD_INT4);
    static const struct {
        spad_copy_range range;
        spad_status status;
        const char *message;
    } cases[] = {
        {{.width = 257},
         SPAD_ERR_BOUNDS,
         "1 row of 257 B at byte 0 do not lie in a buffer of 256 B"},
        {{.width = 32, .rows = 8, .to_pitch = 33},
         SPAD_ERR_BOUNDS,
         "8 rows of 32 B at byte 0 do not lie in a buffer of 256 B"},
        {{.width = 8, .from_offset = 250}, SPAD_ERR_BOUNDS, NULL},
        {{.width = 8, .to_offset = -8}, SPAD_ERR_BOUNDS, NULL},
        {{.width = 8, .to_offset = INT64_MAX}, SPAD_ERR_BOUNDS, NULL},
        {{.width = 8, .rows = INT64_MAX, .to_pitch = INT64_MAX}, SPAD_ERR_BOUNDS, NULL},
        {{.width = -1}, SPAD_ERR_ARGUMENT, "a copy of 1 rows of -1 B"},
        {{.width = 8, .rows = -2}, SPAD_ERR_ARGUMENT, NULL},
        {{.width = 8, .rows = 2, .from_pitch = 4},
         SPAD_ERR_ARGUMENT,
         "rows of 8 B begin 4 B apart; they would overlap"},
    };
    spad_error error;
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        assert_int_equal(spad_copy_part(x, y, &cases[i].range, NULL, &error), cases[i].status);
        if (cases[i].message != NULL) assert_string_equal(error.message, cases[i].message);
    }
    assert_int_equal(spad_copy(x, half, &error), SPAD_ERR_BOUNDS);
    assert_string_equal(error.message, "128 B do not fill a buffer of 256 B");
    spad_copy_tile tile = {.rows = 4, .columns = 4, .to_row = 5};
    assert_int_equal(spad_copy_matrix(x, y, &tile, NULL, &error), SPAD_ERR_BOUNDS);
    assert_string_equal(error.message,
                        "a tile of 4 x 4 at (5, 0) does not lie in a matrix of 8 x 8");
    tile.to_row = 0;
    assert_int_equal(spad_copy_matrix(flat, y, &tile, NULL, &error), SPAD_ERR_SHAPE);
    assert_int_equal(spad_copy_matrix(x, half, &tile, NULL, &error), SPAD_ERR_DTYPE);
    assert_string_equal(error.message, "a tile of float16 into a matrix of float32");
    assert_int_equal(spad_copy_matrix(packed, packed, &tile, NULL, &error), SPAD_ERR_DTYPE);
    tile.rows = -1;
    assert_int_equal(spad_copy_matrix(x, y, &tile, NULL, &error), SPAD_ERR_BOUNDS);
    spad_device_buffer none =
        new_buffer(device, SPAD_SHAPE(0, INT64_C(1) << 40, INT64_C(1) << 40), SPAD_FLOAT32);
    assert_int_equal(spad_copy_matrix(none, y, &tile, NULL, &error), SPAD_ERR_OVERFLOW);
    free_buffer(none);
    char bytes[8] = {0};
    assert_int_equal(spad_write(x, 250, bytes, 8, NULL, &error), SPAD_ERR_BOUNDS);
    assert_int_equal(spad_read(bytes, x, 0, -8, NULL, &error), SPAD_ERR_ARGUMENT);
    assert_int_equal(spad_write(x, 0, bytes, INT64_MIN, NULL, &error), SPAD_ERR_ARGUMENT);
    assert_ok(spad_write(x, 256, bytes, 0, NULL, &error), &error);
    spad_device *other;
    assert_ok(spad_device_open(&other, "host", NULL, &error), &error);
    const spad_stream foreign = new_stream(other);
    assert_int_equal(spad_copy_async(x, y, foreign, &error), SPAD_ERR_ARGUMENT);
    assert_string_equal(error.message, "the stream is of host, which neither side of the copy is");
    spad_device_close(other, NULL); /* closes the stream too */
    free_buffer(x);
    free_buffer(y);
    free_buffer(flat);
    free_buffer(half);
    free_buffer(packed);
    close_device(device);
}

/* ---- streams
 * ------------------------------------------------------------------------------------- */

/* Buffers are freed right behind the copies that use them, and their memory is handed out
 * again at once: every copy must still see its own bytes. */
static void memory_is_reused_in_the_order_of_the_stream(void **state) {
    (void)state;
    enum { ROUNDS = 200, BYTES = 40000 };
    spad_error error;
    const spad_device_options options = {.pool = {.max_bytes = 8 * 65536, .grow_bytes = 65536}};
    spad_device *device = open_device(&options);
    spad_stream streams[2] = {new_stream(device), new_stream(device)};
    static uint8_t in[ROUNDS][BYTES];
    static uint8_t out[ROUNDS][BYTES];
    for (int i = 0; i < ROUNDS; i++) {
        memset(in[i], i + 1, BYTES);
        const spad_stream *stream = &streams[i % 2];
        spad_device_buffer a = new_buffer(device, SPAD_SHAPE(BYTES), SPAD_UINT8);
        spad_device_buffer b = new_buffer(device, SPAD_SHAPE(BYTES), SPAD_UINT8);
        assert_ok(spad_write(a, 0, in[i], BYTES, stream, &error), &error);
        assert_ok(spad_copy_async(b, a, *stream, &error), &error);
        free_buffer(a);
        assert_ok(spad_read(out[i], b, 0, BYTES, stream, &error), &error);
        free_buffer(b);
    }
    for (int i = 0; i < 2; i++) {
        assert_ok(spad_stream_wait(streams[i], &error), &error);
        assert_ok(spad_stream_close(streams[i], &error), &error);
    }
    for (int i = 0; i < ROUNDS; i++) assert_memory_equal(in[i], out[i], BYTES);
    close_device(device);
}

/* What is used on one stream and then on another is in order. */
static void order_goes_along_with_the_buffer(void **state) {
    (void)state;
    enum { BYTES = 1 << 16 };
    spad_error error;
    bool done;
    spad_device *device = open_device(NULL);
    spad_stream first = new_stream(device);
    spad_stream second = new_stream(device);
    spad_fence fence;
    static uint8_t in[BYTES];
    static uint8_t out[BYTES];
    spad_device_buffer a = new_buffer(device, SPAD_SHAPE(BYTES), SPAD_UINT8);
    spad_device_buffer b = new_buffer(device, SPAD_SHAPE(BYTES), SPAD_UINT8);
    memset(in, 7, BYTES);
    for (int i = 0; i < 20; i++) {
        in[i] = (uint8_t)(100 + i);
        assert_ok(spad_write(a, 0, in, BYTES, &first, &error), &error);
        assert_ok(spad_copy_async(b, a, second, &error), &error);
        assert_ok(spad_fence_record(&fence, second, &error), &error);
        assert_ok(spad_stream_wait_fence(first, fence, &error), &error);
        assert_ok(spad_read(out, b, 0, BYTES, &first, &error), &error);
        assert_ok(spad_stream_wait(first, &error), &error);
        assert_memory_equal(in, out, BYTES);
        assert_ok(spad_fence_wait(fence, &error), &error);
        assert_ok(spad_fence_done(&done, fence, &error), &error);
        assert_true(done);
        assert_ok(spad_fence_free(fence, &error), &error);
    }
    /* a copy without a stream waits for those that came before */
    in[0] = 1;
    assert_ok(spad_write(a, 0, in, BYTES, &first, &error), &error);
    assert_ok(spad_read(out, a, 0, BYTES, NULL, &error), &error);
    assert_memory_equal(in, out, BYTES);
    assert_ok(spad_fence_record(&fence, second, &error), &error); /* left to the device */
    free_buffer(a);
    free_buffer(b);
    close_device(device);
}

static void blocks_in_the_order_of_a_stream(void **state) {
    (void)state;
    spad_error error;
    spad_allocation a, b, c;
    const spad_device_options options = {.pool = {.max_bytes = 65536, .grow_bytes = 65536}};
    spad_device *device = open_device(&options);
    spad_stream one = new_stream(device);
    spad_stream two;
    assert_ok(spad_stream_wrap(&two, device, NULL, &error), &error); /* the driver's default */
    assert_ok(spad_stream_alloc(&a, one, 30000, 1, &error), &error);
    const int64_t address = a.address;
    assert_ok(spad_stream_free(one, &a, &error), &error);
    assert_int_equal(spad_stream_free(one, &a, &error), SPAD_ERR_STALE);
    assert_ok(spad_stream_alloc(&b, one, 29000, 1, &error), &error); /* at once, the same bytes */
    assert_int_equal(b.address, address);
    assert_int_equal(b.bytes, 29000);
    assert_int_equal(spad_stream_free(one, &a, &error), SPAD_ERR_STALE);
    assert_ok(spad_stream_free(one, &b, &error), &error);
    if (strncmp(device_name, "opencl", 6) != 0) { /* OpenCL has no default queue to wrap */
        assert_ok(spad_stream_alloc(&c, two, 30000, 1, &error), &error); /* other bytes */
        assert_int_not_equal(c.address, address);
        assert_ok(spad_stream_free(two, &c, &error), &error);
        /* nothing is left but what streams hold back: they are waited for */
        assert_ok(spad_stream_alloc(&c, two, 65536, 256, &error), &error);
        assert_ok(spad_stream_free(two, &c, &error), &error);
        assert_int_equal(spad_stream_alloc(&c, two, 65537, 1, &error), SPAD_ERR_NO_FIT);
        assert_int_equal(spad_stream_alloc(&c, two, -1, 1, &error), SPAD_ERR_ARGUMENT);
        assert_int_equal(spad_stream_alloc(&c, two, 1, 3, &error), SPAD_ERR_ALIGNMENT);
        assert_ok(spad_stream_close(two, &error), &error);
    }
    close_device(device);
}

/* ---- statistics, trace, leaks
 * -------------------------------------------------------------------- */

static void statistics_are_exact(void **state) {
    (void)state;
    spad_error error;
    spad_device *device = open_device(NULL);
    const spad_buffer_spec shared = {
        .shape = SPAD_SHAPE(10), .dtype = SPAD_FLOAT32, .scope = SPAD_SHARED};
    spad_device_buffer a = new_buffer(device, SPAD_SHAPE(1000), SPAD_FLOAT32);
    spad_device_buffer b;
    assert_ok(spad_buffer_alloc(&b, device, &shared, &error), &error);
    free_buffer(a);
    a = new_buffer(device, SPAD_SHAPE(10), SPAD_FLOAT32);
    const spad_memory_stats global = spad_device_stats(device, SPAD_GLOBAL);
    const spad_memory_stats all = spad_device_stats(device, SPAD_SCOPE_COUNT);
    assert_int_equal(global.allocated_bytes, 40);
    assert_int_equal(global.peak_bytes, 4000);
    assert_int_equal(global.freed_bytes, 4000);
    assert_int_equal(global.total_bytes, 4040);
    assert_int_equal(global.allocations, 2);
    assert_int_equal(global.frees, 1);
    assert_int_equal(all.allocated_bytes, 80);
    assert_int_equal(all.peak_bytes, 4040);
    assert_int_equal(all.live_blocks, 2);
    free_buffer(a);
    free_buffer(b);
    close_device(device);
}

static void everything_is_in_the_trace(void **state) {
    (void)state;
    spad_error error;
    const spad_target *target;
    spad_trace *trace, *before, *other;
    assert_ok(spad_target_find(&target, "910b", &error), &error);
    assert_ok(spad_trace_create(&trace, target, NULL, &error), &error);
    const spad_device_options options = {.target = target, .trace = trace};
    spad_device *device = open_device(&options);
    const spad_buffer_spec spec = {
        .shape = SPAD_SHAPE(64), .dtype = SPAD_FLOAT32, .scope = SPAD_SHARED, .name = "ub"};
    spad_device_buffer a, b, view;
    assert_ok(spad_buffer_alloc(&a, device, &spec, &error), &error);
    assert_ok(spad_buffer_alloc(&b, device, &spec, &error), &error);
    assert_ok(spad_buffer_alias(&view, b, 128, SPAD_SHAPE(4), SPAD_UINT8, "view", &error), &error);
    spad_device_buffer global = new_buffer(device, SPAD_SHAPE(5), SPAD_UINT8);
    free_buffer(b);
    assert_int_equal(spad_trace_tensor_count(trace), 4);
    const spad_tensor *second = spad_trace_tensor(trace, 1);
    assert_string_equal(second->name, "ub");
    assert_int_equal(second->rect.byte, 256);
    assert_int_equal(second->rect.bytes, 256);
    assert_int_equal(second->mode, SPAD_MODE_POOL);
    assert_true(second->t_end != SPAD_OPEN_END);
    const spad_tensor *third = spad_trace_tensor(trace, 2);
    assert_int_equal(third->rect.byte, 256 + 128);
    assert_int_equal(third->mode, SPAD_MODE_ALIAS);
    assert_true(third->t_end < second->t_end);
    assert_int_equal(spad_trace_tensor(trace, 3)->rect.byte, SPAD_NO_BYTE);
    assert_int_equal(spad_trace_tensor(trace, 0)->t_end, SPAD_OPEN_END);
    assert_ok(spad_device_trace(&before, device, NULL, &error), &error);
    assert_ptr_equal(before, trace);
    free_buffer(a); /* no longer recorded */
    free_buffer(global);
    assert_int_equal(spad_trace_event_count(trace), 6);
    assert_ok(spad_target_find(&target, "trn2", &error), &error);
    assert_ok(spad_trace_create(&other, target, NULL, &error), &error);
    assert_int_equal(spad_device_trace(NULL, device, other, &error), SPAD_ERR_ARGUMENT);
    assert_string_equal(error.message, "the trace is of target 'trn2', the device's is '910b'");
    spad_trace_destroy(other);
    close_device(device);
    spad_trace_destroy(trace);
}

static void leaks_are_reported_by_name(void **state) {
    (void)state;
    spad_error error;
    test_text text;
    spad_device_buffer view;
    test_text_init(&text);
    spad_device *device = open_device(NULL);
    static const char *const names[] = {"small", "activations", NULL};
    static const int64_t sizes[] = {10, 128, 64};
    for (int i = 0; i < 3; i++) {
        spad_device_buffer buffer;
        const spad_buffer_spec spec = {.shape = SPAD_SHAPE(sizes[i], sizes[i]),
                                       .dtype = SPAD_FLOAT16,
                                       .scope = i == 0 ? SPAD_SHARED : SPAD_GLOBAL,
                                       .name = names[i]};
        assert_ok(spad_buffer_alloc(&buffer, device, &spec, &error), &error);
        assert_ok(spad_buffer_alias(&view, buffer, 0, SPAD_SHAPE(1), SPAD_INT8, "no leak", &error),
                  &error);
    }
    assert_int_equal(spad_device_close(device, &text.sink), 3);
    assert_string_equal(text.bytes,
                        "leak: 'activations' of 32768 B in global memory, (128, 128) float16\n"
                        "leak: an unnamed buffer of 8192 B in global memory, (64, 64) float16\n"
                        "leak: 'small' of 200 B in shared memory, (10, 10) float16\n");
    test_text_free(&text);
    assert_int_equal(spad_device_close(NULL, NULL), 0);
}

static void pointers_and_objects(void **state) {
    (void)state;
    spad_error error;
    void *pointer;
    int64_t offset;
    spad_device *device = open_device(NULL);
    spad_device_buffer first = new_buffer(device, SPAD_SHAPE(256), SPAD_UINT8);
    spad_device_buffer x = new_buffer(device, SPAD_SHAPE(16), SPAD_UINT8);
    if (spad_device_get_info(device)->host_reads) {
        uint8_t value = 9;
        assert_ok(spad_buffer_pointer(&pointer, x, &error), &error);
        ((uint8_t *)pointer)[3] = 9;
        assert_ok(spad_read(&value, x, 3, 1, NULL, &error), &error);
        assert_int_equal(value, 9);
    } else {
        assert_int_equal(spad_buffer_pointer(&pointer, x, &error), SPAD_ERR_CAPABILITY);
        assert_null(pointer);
    }
    if (strncmp(device_name, "opencl", 6) == 0) {
        assert_ok(spad_buffer_native(&pointer, &offset, x, &error), &error);
        assert_non_null(pointer);
        assert_true(offset % 256 == 0);
    } else {
        assert_int_equal(spad_buffer_native(&pointer, &offset, x, &error), SPAD_ERR_CAPABILITY);
    }
    free_buffer(first);
    free_buffer(x);
    close_device(device);
}

/* The pool on the device's own memory, and that memory without a pool. */
static void memory_with_and_without_a_pool(void **state) {
    (void)state;
    spad_error error;
    spad_allocation block;
    spad_pool *pool;
    spad_device *device = open_device(NULL);
    const spad_memory raw = spad_device_memory(device);
    const int64_t alignment = spad_device_get_info(device)->alignment;
    assert_ok(spad_memory_alloc(&block, &raw, 1000, alignment, &error), &error);
    assert_true(spad_is_aligned(block.address, alignment));
    assert_ok(spad_memory_free(&raw, &block, &error), &error);
    assert_ok(spad_memory_alloc(&block, &raw, 1000, 16 * alignment, &error), &error);
    assert_true(spad_is_aligned(block.address, 16 * alignment));
    assert_ok(spad_memory_free(&raw, &block, &error), &error);
    assert_int_equal(spad_memory_alloc(&block, &raw, INT64_MAX, 1, &error), SPAD_ERR_NO_FIT);
    assert_int_equal(spad_memory_alloc(&block, &raw, INT64_MAX, INT64_C(1) << 40, &error),
                     SPAD_ERR_OVERFLOW);
    assert_ok(spad_device_pool(&pool, device, SPAD_GLOBAL, &error), &error);
    assert_ok(spad_pool_alloc(&block, pool, 1000, 8192, &error), &error);
    assert_true(spad_is_aligned(block.address, 8192));
    assert_ok(spad_pool_free(pool, &block, &error), &error);
    assert_int_equal(spad_device_pool(&pool, device, SPAD_SCOPE_COUNT, &error), SPAD_ERR_ARGUMENT);
    assert_int_equal(spad_device_stats(device, (spad_memory_scope)9).allocations, 0);
    close_device(device);
}

/* ---- threads
 * ---------------------------------------------------------------------------------------- */

enum { THREADS = 4 };

typedef struct work {
    spad_device *device;
    spad_device_buffer shared; /* read by all */
    int seed;
    int rounds;
} work;

static void require(bool holds) {
    if (!holds) abort(); /* cmocka's asserts are for one thread */
}

static void *use_device(void *payload) {
    const work *w = payload;
    spad__random random = {(uint64_t)w->seed};
    spad_stream stream;
    require(spad_stream_open(&stream, w->device, NULL) == SPAD_OK);
    for (int i = 0; i < w->rounds; i++) {
        uint8_t in[256];
        uint8_t out[256];
        spad_device_buffer a, b;
        const spad_buffer_spec spec = {.shape = SPAD_SHAPE(spad__random_in(&random, 256, 5000)),
                                       .dtype = SPAD_UINT8,
                                       .name = "a thread's"};
        memset(in, (int)spad__random_next(&random) & 0xFF, sizeof in);
        require(spad_buffer_alloc(&a, w->device, &spec, NULL) == SPAD_OK);
        require(spad_buffer_alias(&b, a, 0, SPAD_SHAPE(256), SPAD_UINT8, NULL, NULL) == SPAD_OK);
        require(spad_write(a, 0, in, 256, i % 2 != 0 ? &stream : NULL, NULL) == SPAD_OK);
        require(spad_read(out, b, 0, 256, NULL, NULL) == SPAD_OK);
        require(memcmp(in, out, 256) == 0);
        require(spad_copy(b, w->shared, NULL) == SPAD_OK);
        require(spad_read(out, a, 0, 256, NULL, NULL) == SPAD_OK);
        require(out[0] == 0x5A && out[255] == 0x5A);
        require(spad_buffer_free(a, NULL) == SPAD_OK);
    }
    require(spad_stream_close(stream, NULL) == SPAD_OK);
    return NULL;
}

static void threads_share_a_device(void **state) {
    (void)state;
    spad_error error;
    spad_device *device = open_device(NULL);
    spad_device_buffer shared = new_buffer(device, SPAD_SHAPE(256), SPAD_UINT8);
    uint8_t pattern[256];
    memset(pattern, 0x5A, sizeof pattern);
    assert_ok(spad_write(shared, 0, pattern, 256, NULL, &error), &error);
    pthread_t threads[THREADS];
    work works[THREADS];
    for (int i = 0; i < THREADS; i++) {
        works[i] = (work){.device = device, .shared = shared, .seed = i, .rounds = 100};
        assert_int_equal(pthread_create(&threads[i], NULL, use_device, &works[i]), 0);
    }
    for (int i = 0; i < THREADS; i++) pthread_join(threads[i], NULL);
    free_buffer(shared);
    assert_int_equal(spad_device_stats(device, SPAD_GLOBAL).live_blocks, 0);
    close_device(device);
}

/* ---- faults
 * -------------------------------------------------------------------------------------------- */

/* A bit of everything; ends at the first error. before_close: driver calls until then. */
static spad_status use_everything(const spad_backend *backend, const spad_host *host,
                                  long *before_close) {
    spad_device *device = NULL;
    spad_device_buffer a = {0}, b = {0}, open = {0};
    spad_stream one = {0}, two = {0};
    spad_fence fence = {0};
    spad_allocation block;
    bool done;
    char bytes[64] = {0};
    const spad_device_options options = {.host = host};
    const spad_buffer_spec spec = {.shape = SPAD_SHAPE(4, 16), .dtype = SPAD_UINT8, .name = "spec"};
    const spad_buffer_spec shared = {
        .shape = SPAD_SHAPE(4, 16), .dtype = SPAD_UINT8, .scope = SPAD_SHARED};
    const spad_buffer_spec automatic = {.shape = SPAD_SHAPE(SPAD_AUTO), .dtype = SPAD_UINT8};
    const spad_copy_tile tile = {.rows = 2, .columns = 3};
#define TRY(call) \
    if (status == SPAD_OK) status = (call)
    spad_status status = spad_device_open_on(&device, backend, 0, &options, NULL);
    TRY(spad_buffer_alloc(&a, device, &spec, NULL));
    TRY(spad_buffer_alloc(&b, device, &shared, NULL));
    TRY(spad_buffer_alloc(&open, device, &automatic, NULL));
    TRY(spad_buffer_bind(open, bytes, 64, NULL));
    TRY(spad_stream_open(&one, device, NULL));
    TRY(spad_stream_open(&two, device, NULL));
    TRY(spad_write(a, 0, bytes, 64, &one, NULL));
    TRY(spad_copy_async(b, a, two, NULL));
    TRY(spad_copy_matrix(b, a, &tile, &one, NULL));
    TRY(spad_copy_matrix(a, b, &tile, NULL, NULL));
    TRY(spad_fence_record(&fence, one, NULL));
    TRY(spad_fence_done(&done, fence, NULL));
    TRY(spad_fence_wait(fence, NULL));
    TRY(spad_stream_wait_fence(two, fence, NULL));
    TRY(spad_stream_alloc(&block, one, 1000, 1, NULL));
    TRY(spad_stream_free(one, &block, NULL));
    TRY(spad_read(bytes, b, 0, 64, NULL, NULL));
    TRY(spad_fence_free(fence, NULL));
    TRY(spad_buffer_free(a, NULL));
    TRY(spad_buffer_free(b, NULL));
    TRY(spad_stream_close(one, NULL));
#undef TRY
    *before_close = faulty_calls();
    spad_device_close(device, NULL);
    return status;
}

/* dlsym's pointer to data as one to a function. */
static void load(void *out, void *library, const char *name) {
    void *symbol = dlsym(library, name);
    memcpy(out, &symbol, sizeof symbol);
}

static const spad_backend *backend_under_test(void) {
    const spad_backend *backend = NULL;
    for (size_t i = 0; (backend = spad_backend_at(i)) != NULL; i++) {
        if (strncmp(device_name, backend->name, strlen(backend->name)) == 0) return backend;
    }
    return NULL;
}

static void every_driver_call_may_fail(void **state) {
    (void)state;
    for (long n = 1;; n++) {
        const spad_backend *backend = faulty_backend(backend_under_test(), n);
        long before_close;
        const spad_status status = use_everything(backend, NULL, &before_close);
        faulty_assert_clean();
        if (faulty_calls() < n) {
            assert_int_equal(status, SPAD_OK);
            assert_true(n > 20);
            return;
        }
        /* what fails while all is given up has no one to be told to */
        assert_int_equal(status, n <= before_close ? SPAD_ERR_DEVICE : SPAD_OK);
    }
}

/* The same one level below, where the library that stands in for the driver's is loaded. */
static void every_call_of_the_library_may_fail(void **state) {
    (void)state;
    void *library = dlopen("libcuda.so.1", RTLD_NOW);
    if (library == NULL || dlsym(library, "fake_cuda_fail_at") == NULL ||
        strncmp(device_name, "cuda", 4) != 0) {
        skip();
    }
    void (*fail_at)(long);
    long (*calls)(void);
    long (*live)(void);
    load(&fail_at, library, "fake_cuda_fail_at");
    load(&calls, library, "fake_cuda_calls");
    load(&live, library, "fake_cuda_live");
    const long before = live();
    long failed = 0;
    for (long n = 1;; n++) {
        long unused;
        fail_at(n);
        const spad_status status = use_everything(backend_under_test(), NULL, &unused);
        const long made = calls();
        fail_at(0);
        assert_int_equal(live(), before);
        if (made < n) break;
        assert_true(status == SPAD_OK || status == SPAD_ERR_DEVICE); /* closing has no status */
        failed += status != SPAD_OK;
    }
    assert_true(failed > 60);
    dlclose(library);
}

static spad_status everything_on_a_host(const spad_host *host, void *payload) {
    (void)payload;
    long unused;
    const spad_status status = use_everything(backend_under_test(), host, &unused);
    /* device memory of the host comes from the hook as well, and lacks in its own words */
    return status == SPAD_ERR_NO_FIT ? SPAD_ERR_HOST_MEMORY : status;
}

static void every_host_allocation_may_fail(void **state) {
    (void)state;
    test_fail_each_allocation(everything_on_a_host, NULL);
}

int main(int argc, char **argv) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_device_is_in_the_list),
        cmocka_unit_test(devices_that_are_not_there_are_refused),
        cmocka_unit_test(buffers_have_shape_type_and_address),
        cmocka_unit_test(bad_buffers_are_refused),
        cmocka_unit_test(handles_that_are_gone_are_noticed),
        cmocka_unit_test(extents_are_inferred_from_data),
        cmocka_unit_test(aliases_share_bytes),
        cmocka_unit_test(buffers_free_themselves),
        cmocka_unit_test(scratchpads_have_the_size_of_the_chip),
        cmocka_unit_test(scratchpads_with_lanes),
        cmocka_unit_test(scopes_have_names),
        cmocka_unit_test(workspaces_are_reused),
        cmocka_unit_test(tiles_agree_with_plain_loops),
        cmocka_unit_test(bad_copies_are_refused),
        cmocka_unit_test(memory_is_reused_in_the_order_of_the_stream),
        cmocka_unit_test(order_goes_along_with_the_buffer),
        cmocka_unit_test(blocks_in_the_order_of_a_stream),
        cmocka_unit_test(statistics_are_exact),
        cmocka_unit_test(everything_is_in_the_trace),
        cmocka_unit_test(leaks_are_reported_by_name),
        cmocka_unit_test(pointers_and_objects),
        cmocka_unit_test(memory_with_and_without_a_pool),
        cmocka_unit_test(threads_share_a_device),
        cmocka_unit_test(every_driver_call_may_fail),
        cmocka_unit_test(every_call_of_the_library_may_fail),
        cmocka_unit_test(every_host_allocation_may_fail),
    };
    spad_error error;
    spad_device *device;
    if (argc > 1) device_name = argv[1];
    if (spad_device_open(&device, device_name, NULL, &error) == SPAD_ERR_NO_DEVICE) {
        fprintf(stderr, "skipped: %s\n", error.message);
        return 77;
    }
    /* open all the time: a driver that starts anew for every test takes long */
    const int failures = cmocka_run_group_tests(tests, NULL, NULL);
    spad_device_close(device, NULL);
    return failures;
}
