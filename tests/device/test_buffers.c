/* SPDX-License-Identifier: Apache-2.0
 * Devices, buffers, scopes, statistics, traces and leaks. */
#include <string.h>

#include "device/backend.h"
#include "device/device.h"
#include "device/suite.h"

/* ---- devices ----------------------------------------------------------------------- */

static void the_device_is_in_the_list(void **state) {
    (void)state;
    spad_device_info infos[64];
    const size_t count = spad__device_list(infos, 64, NULL, NULL, NULL);
    bool found = false;
    assert_string_equal(infos[0].name, "host");
    for (size_t i = 0; i < count && i < 64; i++) {
        found |= strcmp(infos[i].name, device_name) == 0;
    }
    assert_true(found);
    assert_int_equal(spad__device_list(infos, 0, NULL, NULL, NULL), count);
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
         "'hosts' is not the name of a device; there are host, cuda:N, opencl:N, ascend:N (or "
         "npu:N) "
         "and neuron:N"},
        {"npus:0", SPAD_ERR_UNKNOWN, NULL},
        {"asc", SPAD_ERR_UNKNOWN, NULL},
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
    assert_non_null(spad__backend_get(spad__backend_count() - 1));
    assert_int_equal(spad__backend_count(), 5);
    assert_null(spad__backend_get(spad__backend_count()));
    spad_backend other = *spad__backend_get(0);
    other.version = SPAD_BACKEND_VERSION + 1;
    assert_int_equal(spad_device_open_on(&device, &other, 0, NULL, &error), SPAD_ERR_ARGUMENT);
    assert_string_equal(error.message, "the back end has version 3; this library requires 2");
    spad_device_options options = {.shared_space = "nowhere"};
    assert_int_equal(spad_device_open(&device, "host", &options, &error), SPAD_ERR_UNKNOWN);
    options = (spad_device_options){.pool = &(spad_pool_options){.block_bytes = 48}};
    assert_int_equal(spad_device_open(&device, "host", &options, &error), SPAD_ERR_ALIGNMENT);
}

/* ---- buffers ----------------------------------------------------------------------- */

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
    spad_buffer buffer;
    assert_ok(spad_buffer_alloc(&buffer, device, &spec, &error), &error);
    assert_ok(spad_buffer_get_address(&address, buffer, &error), &error);
    assert_true(spad_is_aligned(address, 4096));
    const spad_buffer_info info = info_of(buffer);
    assert_int_equal(info.bytes, n * 128 * 2);
    assert_int_equal(info.address, address);
    assert_int_equal(info.alignment, 4096);
    assert_int_equal(info.dims[0], n);
    assert_string_equal(info.name, "activations");
    assert_false(info.is_alias);
    spad_buffer empty = new_buffer(device, SPAD_SHAPE(0, 3), SPAD_INT8);
    assert_int_equal(info_of(empty).bytes, 0);
    free_buffer(empty);
    free_buffer(buffer);
    free_buffer((spad_buffer){0});
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
         "a shape of 17 dimensions; at most 16 are allowed"},
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
         "3 is not a memory scope"},
    };
    spad_device *device = open_device(NULL);
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        spad_error error;
        spad_buffer buffer;
        assert_int_equal(spad_buffer_alloc(&buffer, device, &cases[i].spec, &error),
                         cases[i].status);
        if (cases[i].message != NULL) assert_string_equal(error.message, cases[i].message);
        assert_null(buffer.device);
    }
    const int64_t absurd[] = {INT64_C(1) << 60};
    spad_error error;
    spad_buffer buffer;
    const spad_buffer_spec spec = {.shape = {1, absurd}, .dtype = SPAD_INT8, .name = "absurd"};
    assert_int_equal(spad_buffer_alloc(&buffer, device, &spec, &error), SPAD_ERR_NO_FIT);
    const spad_device_info *about = spad_device_get_info(device);
    assert_int_equal(error.needed,
                     absurd[0] + (about->guard_bytes > 0 ? about->alignment : 0)); /* in blocks */
    assert_string_equal(error.subject, "absurd");
    close_device(device);
}

static void handles_that_are_gone_are_noticed(void **state) {
    (void)state;
    spad_error error;
    spad_device *device = open_device(NULL);
    spad_buffer_info info;
    spad_buffer x = new_buffer(device, SPAD_SHAPE(16), SPAD_FLOAT32);
    spad_buffer view;
    assert_ok(spad_buffer_alias(&view, x, 32, SPAD_SHAPE(8), SPAD_FLOAT32, "view", &error), &error);
    free_buffer(x);
    assert_int_equal(spad_buffer_free(x, &error), SPAD_ERR_STALE);
    assert_string_equal(error.message,
                        "the buffer was freed before; an alias ends with its buffer");
    assert_int_equal(spad_buffer_get_info(&info, view, &error), SPAD_ERR_STALE);
    assert_int_equal(spad_buffer_copy(view, x, &error), SPAD_ERR_STALE);
    spad_buffer y = new_buffer(device, SPAD_SHAPE(16), SPAD_FLOAT32); /* the same slot */
    assert_int_equal(spad_buffer_free(x, &error), SPAD_ERR_STALE);
    const spad_buffer garbage = {.device = device, .slot = 12345, .generation = 1};
    assert_int_equal(spad_buffer_free(garbage, &error), SPAD_ERR_STALE);
    assert_int_equal(spad_buffer_get_info(&info, (spad_buffer){0}, &error), SPAD_ERR_ARGUMENT);
    assert_int_equal(spad_buffer_copy(y, (spad_buffer){0}, &error), SPAD_ERR_ARGUMENT);
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
    assert_int_equal(spad_buffer_copy_async(x, y, stream, &error), SPAD_ERR_STALE);
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
    spad_buffer x = new_buffer(device, SPAD_SHAPE(SPAD_AUTO, 6), SPAD_FLOAT32);
    assert_int_equal(spad_buffer_get_address(&address, x, &error), SPAD_ERR_NO_ADDRESS);
    assert_string_equal(error.message,
                        "the buffer has an automatic extent and no data is bound to it yet");
    assert_int_equal(spad_buffer_bind(x, data, 20, &error), SPAD_ERR_SHAPE);
    assert_string_equal(error.message,
                        "20 B are not a whole number of float32 elements for the other extents");
    assert_int_equal(spad_buffer_bind(x, data, -1, &error), SPAD_ERR_ARGUMENT);
    assert_int_equal(spad_buffer_read(back, x, 0, 4, NULL, &error), SPAD_ERR_NO_ADDRESS);
    assert_ok(spad_buffer_bind(x, data, sizeof data, &error), &error);
    assert_int_equal(info_of(x).dims[0], 4);
    assert_ok(spad_buffer_bind(x, data, sizeof data, &error), &error); /* the same size again */
    assert_int_equal(spad_buffer_bind(x, data, 48, &error), SPAD_ERR_BOUNDS);
    spad_buffer y = new_buffer(device, SPAD_SHAPE(SPAD_AUTO), SPAD_FLOAT32);
    spad_buffer z = new_buffer(device, SPAD_SHAPE(SPAD_AUTO), SPAD_UINT8);
    assert_ok(spad_buffer_copy(y, x, &error), &error); /* takes the shape over */
    assert_int_equal(info_of(y).rank, 2);
    assert_int_equal(info_of(y).dims[1], 6);
    assert_ok(spad_buffer_copy(z, x, &error), &error); /* another type: as many bytes */
    assert_int_equal(info_of(z).rank, 1);
    assert_int_equal(info_of(z).dims[0], sizeof data);
    assert_ok(spad_buffer_read(back, y, 0, sizeof back, NULL, &error), &error);
    assert_memory_equal(back, data, sizeof data);
    spad_buffer never = new_buffer(device, SPAD_SHAPE(SPAD_AUTO), SPAD_FLOAT32);
    free_buffer(never);
    free_buffer(x);
    free_buffer(y);
    free_buffer(z);
    assert_int_equal(spad_device_get_stats(device, SPAD_GLOBAL).allocated_bytes, 0);
    close_device(device);
}

static void aliases_share_bytes(void **state) {
    (void)state;
    spad_error error;
    spad_device *device = open_device(NULL);
    uint8_t bytes[64];
    uint32_t word;
    for (int i = 0; i < 64; i++) bytes[i] = (uint8_t)i;
    spad_buffer x = new_buffer(device, SPAD_SHAPE(4, 16), SPAD_UINT8);
    spad_buffer words, inner, bad;
    assert_ok(spad_buffer_write(x, 0, bytes, 64, NULL, &error), &error);
    assert_ok(spad_buffer_alias(&words, x, 16, SPAD_SHAPE(8), SPAD_UINT32, "words", &error),
              &error);
    assert_ok(spad_buffer_alias(&inner, words, 4, SPAD_SHAPE(1), SPAD_UINT32, NULL, &error),
              &error);
    assert_int_equal(info_of(inner).address, info_of(x).address + 20);
    assert_true(info_of(inner).is_alias);
    assert_ok(spad_buffer_read(&word, inner, 0, 4, NULL, &error), &error);
    assert_int_equal(word, 0x17161514);
    assert_int_equal(spad_buffer_alias(&bad, x, 48, SPAD_SHAPE(5), SPAD_UINT32, NULL, &error),
                     SPAD_ERR_BOUNDS);
    assert_string_equal(error.message, "a view of 20 B at 48 is outside a buffer of 64 B");
    assert_int_equal(spad_buffer_alias(&bad, x, -4, SPAD_SHAPE(1), SPAD_UINT32, NULL, &error),
                     SPAD_ERR_BOUNDS);
    assert_int_equal(
        spad_buffer_alias(&bad, x, INT64_MIN, SPAD_SHAPE(1), SPAD_UINT32, NULL, &error),
        SPAD_ERR_BOUNDS);
    assert_int_equal(error.available, 0);
    assert_int_equal(spad_buffer_alias(&bad, x, 2, SPAD_SHAPE(1), SPAD_UINT32, NULL, &error),
                     SPAD_ERR_ALIGNMENT);
    assert_string_equal(error.message,
                        "a view of uint32 at byte 2; it has to begin at a multiple of 4");
    assert_int_equal(spad_buffer_copy(inner, inner, &error), SPAD_ERR_OVERLAP);
    assert_string_equal(error.message,
                        "a copy from a buffer to a buffer reads bytes that it writes");
    assert_int_equal(spad_device_get_stats(device, SPAD_GLOBAL).live_blocks, 1);
    free_buffer(words); /* the other two stay */
    assert_ok(spad_buffer_read(&word, inner, 0, 4, NULL, &error), &error);
    free_buffer(x);
    assert_int_equal(spad_buffer_read(&word, inner, 0, 4, NULL, &error), SPAD_ERR_STALE);
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
        assert_int_equal(spad_device_get_stats(device, SPAD_SHARED).allocated_bytes, 1024);
        SPAD_BUFFER_SCOPE(by_hand, device, &spec, &error);
        free_buffer(by_hand.buffer);
    }
    assert_int_equal(spad_device_get_stats(device, SPAD_SHARED).allocated_bytes, 0);
    assert_int_equal(spad_device_get_stats(device, SPAD_SHARED).peak_bytes, 2048);
    close_device(device);
}

/* ---- scopes ------------------------------------------------------------------------ */

/* The scratchpads are those of the chip: 192 KiB of UB, and what is too large can be made
 * smaller. */
static void scratchpads_have_the_size_of_the_chip(void **state) {
    (void)state;
    spad_error error;
    spad_buffer a, b, c;
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
                        "largest hole is 65536 B (fragmentation 0 %); free something or request "
                        "less");
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
    assert_ok(spad_buffer_write(b, 65532, &value, 4, NULL, &error), &error); /* it is real memory */
    assert_ok(spad_buffer_read(&got, b, 65532, 4, NULL, &error), &error);
    assert_int_equal(got, 42);
    assert_int_equal(spad_device_get_stats(device, SPAD_SHARED).failures, 1);
    free_buffer(a);
    free_buffer(b);
    free_buffer(c);
    close_device(device);
}

/* On a chip with lanes the first extent runs across them. */
static void scratchpads_with_lanes(void **state) {
    (void)state;
    spad_error error;
    spad_buffer a, b;
    spad_device_options options = {0};
    assert_ok(spad_target_find(&options.target, "trn2", &error), &error);
    spad_device *device = open_device(&options);
    spad_buffer_spec spec = {
        .shape = SPAD_SHAPE(128, 512), .dtype = SPAD_BFLOAT16, .scope = SPAD_SHARED};
    assert_ok(spad_buffer_alloc(&a, device, &spec, &error), &error);
    assert_ok(spad_buffer_alloc(&b, device, &spec, &error), &error);
    assert_int_equal(info_of(b).address, 1024);
    assert_ok(spad_buffer_copy(b, a, &error), &error);
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
    spad_buffer a, b, c;
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

/* ---- statistics, trace, leaks ------------------------------------------------------ */

static void statistics_are_exact(void **state) {
    (void)state;
    spad_error error;
    spad_device *device = open_device(NULL);
    const spad_buffer_spec shared = {
        .shape = SPAD_SHAPE(10), .dtype = SPAD_FLOAT32, .scope = SPAD_SHARED};
    spad_buffer a = new_buffer(device, SPAD_SHAPE(1000), SPAD_FLOAT32);
    spad_buffer b;
    assert_ok(spad_buffer_alloc(&b, device, &shared, &error), &error);
    free_buffer(a);
    a = new_buffer(device, SPAD_SHAPE(10), SPAD_FLOAT32);
    const spad_memory_stats global = spad_device_get_stats(device, SPAD_GLOBAL);
    const spad_memory_stats all = spad_device_get_stats(device, SPAD_SCOPE_COUNT);
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
    spad_buffer a, b, view;
    assert_ok(spad_buffer_alloc(&a, device, &spec, &error), &error);
    assert_ok(spad_buffer_alloc(&b, device, &spec, &error), &error);
    assert_ok(spad_buffer_alias(&view, b, 128, SPAD_SHAPE(4), SPAD_UINT8, "view", &error), &error);
    spad_buffer global = new_buffer(device, SPAD_SHAPE(5), SPAD_UINT8);
    free_buffer(b);
    assert_int_equal(spad_trace_tensor_count(trace), 4);
    const spad_tensor *second = spad_trace_get_tensor(trace, 1);
    assert_string_equal(second->name, "ub");
    assert_int_equal(second->rect.byte, 256);
    assert_int_equal(second->rect.bytes, 256);
    assert_int_equal(second->mode, SPAD_MODE_POOL);
    assert_true(second->t_end != SPAD_OPEN_END);
    const spad_tensor *third = spad_trace_get_tensor(trace, 2);
    assert_int_equal(third->rect.byte, 256 + 128);
    assert_int_equal(third->mode, SPAD_MODE_ALIAS);
    assert_true(third->t_end < second->t_end);
    assert_int_equal(spad_trace_get_tensor(trace, 3)->rect.byte, 0); /* in the pool */
    assert_int_equal(spad_trace_get_tensor(trace, 0)->t_end, SPAD_OPEN_END);
    assert_ok(spad_device_set_trace(&before, device, NULL, &error), &error);
    assert_ptr_equal(before, trace);
    free_buffer(a); /* no longer recorded */
    free_buffer(global);
    assert_int_equal(spad_trace_event_count(trace), 6);
    assert_ok(spad_target_find(&target, "trn2", &error), &error);
    assert_ok(spad_trace_create(&other, target, NULL, &error), &error);
    assert_int_equal(spad_device_set_trace(NULL, device, other, &error), SPAD_ERR_ARGUMENT);
    assert_string_equal(error.message, "the trace is of target 'trn2', the device's is '910b'");
    spad_trace_destroy(other);
    close_device(device);
    spad_trace_destroy(trace);
}

/* Copies between buffers and with the program, whole, in parts and on a stream, one event each. */
static void copies_are_in_the_trace(void **state) {
    (void)state;
    spad_error error;
    const spad_target *target;
    spad_trace *trace;
    assert_ok(spad_target_find(&target, "910b", &error), &error);
    assert_ok(spad_trace_create(&trace, target, NULL, &error), &error);
    const spad_device_options options = {.target = target};
    spad_device *device = open_device(&options);
    spad_buffer old = new_buffer(device, SPAD_SHAPE(64), SPAD_UINT8);
    assert_ok(spad_device_set_trace(NULL, device, trace, &error), &error);
    spad_buffer a = new_buffer(device, SPAD_SHAPE(8, 8), SPAD_UINT8);
    spad_buffer b = new_buffer(device, SPAD_SHAPE(8, 8), SPAD_UINT8);
    char bytes[64] = "data of the program";
    spad_stream stream;
    assert_ok(spad_stream_open(&stream, device, &error), &error);
    assert_ok(spad_buffer_write(a, 0, bytes, 64, NULL, &error), &error);
    assert_ok(spad_buffer_copy(b, a, &error), &error);
    const spad_copy_tile tile = {.rows = 2, .columns = 3, .to_row = 4};
    assert_ok(spad_buffer_copy_matrix(b, a, &tile, &stream, &error), &error);
    assert_ok(spad_buffer_copy(old, b, &error), &error);
    assert_ok(spad_buffer_read(bytes, b, 0, 5, NULL, &error), &error);
    assert_int_equal(spad_buffer_copy(a, a, &error), SPAD_ERR_OVERLAP); /* not done */
    assert_ok(spad_buffer_write(a, 0, bytes, 0, NULL, &error), &error); /* nothing moves */
    static const struct {
        int64_t to, from, bytes, count;
    } events[] = {{0, -1, 64, 0}, {1, 0, 64, 0}, {1, 0, 6, 1}, {-1, 1, 64, 0}, {-1, 1, 5, 0}};
    assert_int_equal(spad_trace_event_count(trace), 2 + 5);
    for (size_t i = 0; i < 5; i++) {
        const spad_event *event = spad_trace_get_event(trace, 2 + i);
        assert_int_equal(event->kind, SPAD_EVENT_COPY);
        assert_int_equal(event->tensor, events[i].to);
        assert_int_equal(event->source, events[i].from);
        assert_int_equal(event->bytes, events[i].bytes);
        assert_int_equal(event->count, events[i].count);
    }
    assert_ok(spad_stream_close(stream, &error), &error);
    free_buffer(a);
    free_buffer(b);
    free_buffer(old);
    close_device(device);
    spad_trace_destroy(trace);
}

/* Places in global memory count from 0, chunk after chunk, wherever the driver has the chunks. */
static void global_buffers_have_places_in_the_trace(void **state) {
    (void)state;
    spad_error error;
    const spad_target *target;
    spad_trace *trace;
    spad_pool *pool;
    int64_t released;
    assert_ok(spad_target_find(&target, "host", &error), &error);
    assert_ok(spad_trace_create(&trace, target, NULL, &error), &error);
    const spad_device_options options = {
        .trace = trace,
        .pool = &(spad_pool_options){.block_bytes = 64, .grow_bytes = 4096, .exact = true}};
    spad_device *device = open_device(&options);
    const int64_t guard =
        spad_device_get_info(device)->guard_bytes; /* blocks are that much larger */
    spad_buffer a = new_buffer(device, SPAD_SHAPE(64 - guard), SPAD_UINT8);
    spad_buffer b =
        new_buffer(device, SPAD_SHAPE(4096 - guard), SPAD_UINT8); /* a chunk of its own */
    spad_buffer c = new_buffer(device, SPAD_SHAPE(64 - guard), SPAD_UINT8);
    spad_buffer view, shared;
    assert_ok(spad_buffer_alias(&view, b, 100, SPAD_SHAPE(4), SPAD_UINT8, NULL, &error), &error);
    const spad_buffer_spec scratch = {
        .shape = SPAD_SHAPE(64), .dtype = SPAD_UINT8, .scope = SPAD_SHARED};
    assert_ok(spad_buffer_alloc(&shared, device, &scratch, &error), &error);
    static const int64_t places[] = {0, 4096, 64, 4096 + 100};
    assert_int_equal(spad_trace_tensor_count(trace), 4); /* plain memory has no scratchpads */
    for (size_t i = 0; i < 4; i++)
        assert_int_equal(spad_trace_get_tensor(trace, i)->rect.byte, places[i]);
    const size_t events = spad_trace_event_count(trace);
    assert_ok(spad_buffer_copy(c, a, &error), &error);
    assert_int_equal(spad_trace_get_event(trace, events)->space, 0); /* of its own target */
    assert_ok(spad_buffer_write(shared, 0, "a", 1, NULL, &error), &error);
    free_buffer(a);
    free_buffer(c);
    assert_ok(spad_device_get_pool(&pool, device, SPAD_GLOBAL, &error), &error);
    assert_ok(spad_pool_trim(&released, pool, 0, &error), &error);
    assert_int_equal(released, 4096);
    spad_buffer d = new_buffer(device, SPAD_SHAPE(4096 - guard), SPAD_UINT8);
    assert_int_equal(spad_trace_get_tensor(trace, 4)->rect.byte, 0); /* the place that is free */
    free_buffer(b);
    free_buffer(d);
    free_buffer(shared);
    close_device(device);
    spad_trace_destroy(trace);
}

static void leaks_are_reported_by_name(void **state) {
    (void)state;
    spad_error error;
    test_text text;
    spad_buffer view;
    test_text_init(&text);
    spad_device *device = open_device(NULL);
    static const char *const names[] = {"small", "activations", NULL};
    static const int64_t sizes[] = {10, 128, 64};
    for (int i = 0; i < 3; i++) {
        spad_buffer buffer;
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
    spad_buffer first = new_buffer(device, SPAD_SHAPE(256), SPAD_UINT8);
    spad_buffer x = new_buffer(device, SPAD_SHAPE(16), SPAD_UINT8);
    if (spad_device_get_info(device)->host_reads) {
        uint8_t value = 9;
        assert_ok(spad_buffer_get_pointer(&pointer, x, &error), &error);
        ((uint8_t *)pointer)[3] = 9;
        assert_ok(spad_buffer_read(&value, x, 3, 1, NULL, &error), &error);
        assert_int_equal(value, 9);
    } else {
        assert_int_equal(spad_buffer_get_pointer(&pointer, x, &error), SPAD_ERR_CAPABILITY);
        assert_null(pointer);
    }
    if (strncmp(device_name, "opencl", 6) == 0 || strncmp(device_name, "neuron", 6) == 0) {
        assert_ok(spad_buffer_get_native(&pointer, &offset, x, &error), &error);
        assert_non_null(pointer);
        assert_true(offset % 256 == 0);
    } else {
        assert_int_equal(spad_buffer_get_native(&pointer, &offset, x, &error), SPAD_ERR_CAPABILITY);
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
    const spad_memory raw = spad_device_get_memory(device);
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
    assert_ok(spad_device_get_pool(&pool, device, SPAD_GLOBAL, &error), &error);
    assert_ok(spad_pool_alloc(&block, pool, 1000, 8192, &error), &error);
    assert_true(spad_is_aligned(block.address, 8192));
    assert_ok(spad_pool_free(pool, &block, &error), &error);
    assert_int_equal(spad_device_get_pool(&pool, device, SPAD_SCOPE_COUNT, &error),
                     SPAD_ERR_ARGUMENT);
    assert_int_equal(spad_device_get_stats(device, (spad_memory_scope)9).allocations, 0);
    close_device(device);
}

/* ---- what goes wrong --------------------------------------------------------------- */

static void extents_that_make_no_sense_are_refused(void **state) {
    (void)state;
    spad_error error;
    spad_device *device = open_device(NULL);
    spad_buffer buffer;
    const spad_buffer_spec negative = {.shape = SPAD_SHAPE(SPAD_AUTO, -3), .dtype = SPAD_UINT8};
    assert_int_equal(spad_buffer_alloc(&buffer, device, &negative, &error), SPAD_ERR_SHAPE);
    assert_string_equal(error.message,
                        "dimension 1 of the shape is -3; extents cannot be negative");
    const spad_buffer_spec huge = {.shape = SPAD_SHAPE(SPAD_AUTO, INT64_MAX, 4),
                                   .dtype = SPAD_FLOAT32};
    assert_ok(spad_buffer_alloc(&buffer, device, &huge, &error), &error);
    assert_int_equal(spad_buffer_bind(buffer, "abc", 3, &error), SPAD_ERR_OVERFLOW);
    assert_int_equal(spad_buffer_bind(buffer, "abc", -3, &error), SPAD_ERR_ARGUMENT);
    assert_string_equal(error.message, "data of -3 B");
    spad_buffer alias;
    assert_int_equal(spad_buffer_alias(&alias, buffer, 0, SPAD_SHAPE(1), SPAD_UINT8, NULL, &error),
                     SPAD_ERR_NO_ADDRESS);
    free_buffer(buffer);
    assert_int_equal(spad_buffer_bind(buffer, "abc", 3, &error), SPAD_ERR_STALE);
    assert_int_equal(spad_buffer_alias(&alias, buffer, 0, SPAD_SHAPE(1), SPAD_UINT8, NULL, &error),
                     SPAD_ERR_STALE);
    const spad_buffer_spec scalar = {.shape = {0, NULL}, .dtype = SPAD_FLOAT32, .name = ""};
    assert_ok(spad_buffer_alloc(&buffer, device, &scalar, &error), &error);
    assert_int_equal(info_of(buffer).bytes, 4);
    assert_int_equal(
        spad_buffer_alias(&alias, buffer, INT64_MAX, SPAD_SHAPE(1), SPAD_UINT8, NULL, &error),
        SPAD_ERR_BOUNDS);
    free_buffer(buffer);
    close_device(device);
}

/* A trace that has no host memory: buffers that it cannot record are not created. */
static void a_trace_without_host_memory_stops_buffers(void **state) {
    (void)state;
    spad_error error;
    const spad_target *target;
    spad_trace *trace;
    test_host host;
    test_host_init(&host);
    assert_ok(spad_target_find(&target, "trn2", &error), &error);
    assert_ok(spad_trace_create(&trace, target, &host.host, &error), &error);
    const spad_device_options options = {.target = target, .trace = trace};
    spad_device *device = open_device(&options);
    spad_buffer open, buffer;
    const spad_buffer_spec automatic = {.shape = SPAD_SHAPE(SPAD_AUTO), .dtype = SPAD_UINT8};
    const spad_buffer_spec lanes = {.shape = SPAD_SHAPE(128, 16),
                                    .dtype = SPAD_UINT8,
                                    .scope = SPAD_SHARED,
                                    .name = "in lanes"};
    assert_ok(spad_buffer_alloc(&open, device, &automatic, &error), &error);
    host.fail_at = host.calls + 1;
    assert_int_equal(spad_buffer_alloc(&buffer, device, &lanes, &error), SPAD_ERR_HOST_MEMORY);
    assert_int_equal(spad_buffer_bind(open, "abc", 3, &error), SPAD_ERR_HOST_MEMORY);
    assert_int_equal(spad_device_get_stats(device, SPAD_SHARED).live_blocks, 0);
    assert_int_equal(spad_device_get_stats(device, SPAD_GLOBAL).live_blocks, 0);
    assert_int_equal(spad_trace_tensor_count(trace), 0);
    host.fail_at = 0;
    assert_ok(spad_buffer_bind(open, "abc", 3, &error), &error);
    assert_ok(spad_buffer_alloc(&buffer, device, &lanes, &error), &error);
    const spad_tensor *traced = spad_trace_get_tensor(trace, 1);
    assert_int_equal(traced->rect.lanes, 128);
    assert_int_equal(traced->rect.bytes, 16);
    spad_buffer alias;
    host.fail_at = host.calls + 1;
    spad_status status = SPAD_OK;
    size_t aliases = 0;
    while (aliases < 100 && status == SPAD_OK) { /* until the trace needs more memory */
        status = spad_buffer_alias(&alias, buffer, 0, SPAD_SHAPE(129), SPAD_UINT8, "part", &error);
        aliases += status == SPAD_OK;
    }
    assert_int_equal(status, SPAD_ERR_HOST_MEMORY);
    assert_int_equal(spad_trace_tensor_count(trace), 2 + aliases);
    host.fail_at = 0;
    assert_ok(spad_buffer_alias(&alias, buffer, 0, SPAD_SHAPE(129), SPAD_UINT8, "part", &error),
              &error);
    assert_int_equal(spad_trace_get_tensor(trace, 2 + aliases)->rect.bytes, 2);
    host.fail_at = host.calls + 1; /* a copy that cannot be recorded is not made */
    char content = 'a';
    while (status != SPAD_OK || content < 'z') {
        status = spad_buffer_write(open, 0, &content, 1, NULL, &error);
        if (status != SPAD_OK) break;
        content = content == 'y' ? 'a' : (char)(content + 1);
    }
    assert_int_equal(status, SPAD_ERR_HOST_MEMORY);
    host.fail_at = 0;
    const size_t events = spad_trace_event_count(trace);
    char found;
    assert_ok(spad_buffer_read(&found, open, 0, 1, NULL, &error), &error);
    assert_int_equal(found, content == 'a' ? 'y' : content - 1);
    assert_int_equal(spad_trace_event_count(trace), events + 1);
    free_buffer(buffer);
    free_buffer(open);
    close_device(device);
    spad_trace_destroy(trace);
    test_host_assert_clean(&host);
}

int run_buffer_tests(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_device_is_in_the_list),
        cmocka_unit_test(devices_that_are_not_there_are_refused),
        cmocka_unit_test(buffers_have_shape_type_and_address),
        cmocka_unit_test(extents_that_make_no_sense_are_refused),
        cmocka_unit_test(a_trace_without_host_memory_stops_buffers),
        cmocka_unit_test(bad_buffers_are_refused),
        cmocka_unit_test(handles_that_are_gone_are_noticed),
        cmocka_unit_test(extents_are_inferred_from_data),
        cmocka_unit_test(aliases_share_bytes),
        cmocka_unit_test(buffers_free_themselves),
        cmocka_unit_test(scratchpads_have_the_size_of_the_chip),
        cmocka_unit_test(scratchpads_with_lanes),
        cmocka_unit_test(scopes_have_names),
        cmocka_unit_test(workspaces_are_reused),
        cmocka_unit_test(statistics_are_exact),
        cmocka_unit_test(everything_is_in_the_trace),
        cmocka_unit_test(global_buffers_have_places_in_the_trace),
        cmocka_unit_test(copies_are_in_the_trace),
        cmocka_unit_test(leaks_are_reported_by_name),
        cmocka_unit_test(pointers_and_objects),
        cmocka_unit_test(memory_with_and_without_a_pool),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
