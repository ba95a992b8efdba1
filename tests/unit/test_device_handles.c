/* SPDX-License-Identifier: Apache-2.0
 *
 * Handles of buffers, streams, fences and workspaces that lead nowhere: none at all, one that was
 * ended, and one that no device has given. Every call that takes one, on the host device. */
#include <string.h>

#include "device/backend.h"
#include "spad/device/stream.h"
#include "support/support.h"

static spad_device *open_host(void) {
    spad_error error;
    spad_device *device;
    assert_ok(spad_device_open(&device, "host", NULL, &error), &error);
    return device;
}

static spad_buffer new_buffer(spad_device *device, spad_shape shape, spad_dtype dtype) {
    spad_error error;
    spad_buffer buffer;
    const spad_buffer_spec spec = {.shape = shape, .dtype = dtype, .name = "a buffer"};
    assert_ok(spad_buffer_alloc(&buffer, device, &spec, &error), &error);
    return buffer;
}

/* ---- streams and fences ------------------------------------------------------------ */

typedef spad_status (*stream_call)(spad_stream, spad_error *);

static spad_status native(spad_stream stream, spad_error *error) {
    void *out = &out;
    const spad_status status = spad_stream_get_native(&out, stream, error);
    if (status != SPAD_OK) assert_null(out);
    return status;
}
static spad_status allocate(spad_stream stream, spad_error *error) {
    spad_allocation block = {.handle = 7};
    const spad_status status = spad_stream_alloc(&block, stream, 8, 1, error);
    if (status != SPAD_OK) assert_int_equal(block.handle, 0);
    return status;
}
static spad_status give_back(spad_stream stream, spad_error *error) {
    const spad_allocation block = {.handle = 7};
    return spad_stream_free(stream, &block, error);
}
static spad_status record(spad_stream stream, spad_error *error) {
    spad_fence fence = {.slot = 7};
    const spad_status status = spad_fence_record(&fence, stream, error);
    if (status != SPAD_OK) assert_null(fence.device);
    return status;
}
static spad_status wait_fence(spad_stream stream, spad_error *error) {
    return spad_stream_wait_fence(stream, (spad_fence){0}, error);
}

static void streams_that_lead_nowhere(void **state) {
    (void)state;
    static const stream_call calls[] = {native, allocate,   give_back,
                                        record, wait_fence, spad_stream_wait};
    spad_error error = {0};
    spad_device *device = open_host();
    spad_stream closed;
    assert_ok(spad_stream_open(&closed, device, &error), &error);
    assert_ok(spad_stream_close(closed, &error), &error);
    const struct {
        spad_stream stream;
        spad_status status;
        const char *message;
    } cases[] = {
        {{0}, SPAD_ERR_ARGUMENT, "there is no stream"},
        {closed, SPAD_ERR_STALE, "the stream was closed before"},
        {{.device = device, .slot = 3, .generation = 1},
         SPAD_ERR_STALE,
         "the stream was closed before"}, /* a slot that was never open */
        {{.device = device, .slot = UINT32_MAX, .generation = 1},
         SPAD_ERR_STALE,
         "the stream was closed before"}, /* one that no device has */
        {{.device = device, .slot = closed.slot, .generation = closed.generation + 1},
         SPAD_ERR_STALE,
         "the stream was closed before"}, /* the generation between two */
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        for (size_t c = 0; c < sizeof calls / sizeof calls[0]; c++) {
            assert_int_equal(calls[c](cases[i].stream, &error), cases[i].status);
            assert_int_equal(error.code, cases[i].status);
            assert_string_equal(error.message, cases[i].message);
        }
        /* closing no stream is fine */
        assert_int_equal(spad_stream_close(cases[i].stream, &error),
                         i == 0 ? SPAD_OK : SPAD_ERR_STALE);
    }
    spad_device_close(device, NULL);
}

static void fences_that_lead_nowhere(void **state) {
    (void)state;
    spad_error error = {0};
    bool done = true;
    spad_device *device = open_host();
    spad_device *other = open_host();
    spad_stream stream;
    spad_stream foreign;
    spad_fence freed;
    spad_fence live;
    assert_ok(spad_stream_open(&stream, device, &error), &error);
    assert_ok(spad_stream_open(&foreign, other, &error), &error);
    assert_ok(spad_fence_record(&freed, stream, &error), &error);
    assert_ok(spad_fence_free(freed, &error), &error);
    const struct {
        spad_fence fence;
        spad_status status;
        const char *message;
    } cases[] = {
        {{0}, SPAD_ERR_ARGUMENT, "there is no fence"},
        {freed, SPAD_ERR_STALE, "the fence was freed before"},
        {{.device = device, .slot = 99, .generation = 1},
         SPAD_ERR_STALE,
         "the fence was freed before"},
        {{.device = device, .slot = freed.slot, .generation = freed.generation + 1},
         SPAD_ERR_STALE,
         "the fence was freed before"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        assert_int_equal(spad_fence_done(&done, cases[i].fence, &error), cases[i].status);
        assert_false(done);
        assert_string_equal(error.message, cases[i].message);
        assert_int_equal(spad_fence_wait(cases[i].fence, &error), cases[i].status);
        assert_int_equal(spad_stream_wait_fence(stream, cases[i].fence, &error), cases[i].status);
        assert_int_equal(spad_fence_free(cases[i].fence, &error),
                         i == 0 ? SPAD_OK : cases[i].status);
    }
    /* a live one, from its own device and from another */
    assert_ok(spad_fence_record(&live, stream, &error), &error);
    assert_int_equal(live.slot, freed.slot); /* the place is used again */
    assert_ok(spad_stream_wait_fence(foreign, live, &error), &error);
    assert_ok(spad_stream_wait_fence(stream, live, &error), &error);
    assert_ok(spad_fence_free(live, &error), &error);
    spad_device_close(other, NULL);
    spad_device_close(device, NULL);
}

/* ---- buffers ----------------------------------------------------------------------- */

typedef spad_status (*buffer_call)(spad_buffer, spad_buffer good, spad_error *);

static char memory[64];

static spad_status get_info(spad_buffer b, spad_buffer good, spad_error *error) {
    (void)good;
    return spad_buffer_get_info(&(spad_buffer_info){0}, b, error);
}
static spad_status address(spad_buffer b, spad_buffer good, spad_error *error) {
    (void)good;
    return spad_buffer_get_address(&(int64_t){0}, b, error);
}
static spad_status pointer(spad_buffer b, spad_buffer good, spad_error *error) {
    (void)good;
    return spad_buffer_get_pointer(&(void *){NULL}, b, error);
}
static spad_status object(spad_buffer b, spad_buffer good, spad_error *error) {
    (void)good;
    return spad_buffer_get_native(&(void *){NULL}, &(int64_t){0}, b, error);
}
static spad_status alias(spad_buffer b, spad_buffer good, spad_error *error) {
    (void)good;
    return spad_buffer_alias(&(spad_buffer){0}, b, 0, SPAD_SHAPE(8), SPAD_UINT8, NULL, error);
}
static spad_status bind(spad_buffer b, spad_buffer good, spad_error *error) {
    (void)good;
    return spad_buffer_bind(b, memory, 64, error);
}
static spad_status copy_to(spad_buffer b, spad_buffer good, spad_error *error) {
    return spad_buffer_copy(b, good, error);
}
static spad_status copy_from(spad_buffer b, spad_buffer good, spad_error *error) {
    return spad_buffer_copy(good, b, error);
}
static spad_status part_to(spad_buffer b, spad_buffer good, spad_error *error) {
    return spad_buffer_copy_part(b, good, &(spad_copy_range){.width = 8}, NULL, error);
}
static spad_status part_from(spad_buffer b, spad_buffer good, spad_error *error) {
    return spad_buffer_copy_part(good, b, &(spad_copy_range){.width = 8}, NULL, error);
}
static spad_status tile_to(spad_buffer b, spad_buffer good, spad_error *error) {
    return spad_buffer_copy_matrix(b, good, &(spad_copy_tile){.rows = 1, .columns = 1}, NULL,
                                   error);
}
static spad_status tile_from(spad_buffer b, spad_buffer good, spad_error *error) {
    return spad_buffer_copy_matrix(good, b, &(spad_copy_tile){.rows = 1, .columns = 1}, NULL,
                                   error);
}
static spad_status write(spad_buffer b, spad_buffer good, spad_error *error) {
    (void)good;
    return spad_buffer_write(b, 0, memory, 8, NULL, error);
}
static spad_status read(spad_buffer b, spad_buffer good, spad_error *error) {
    (void)good;
    return spad_buffer_read(memory, b, 0, 8, NULL, error);
}

static void buffers_that_lead_nowhere(void **state) {
    (void)state;
    static const buffer_call calls[] = {get_info, address,   pointer,   object,  alias,
                                        bind,     copy_to,   copy_from, part_to, part_from,
                                        tile_to,  tile_from, write,     read};
    spad_error error = {0};
    spad_device *device = open_host();
    const spad_buffer good = new_buffer(device, SPAD_SHAPE(8, 8), SPAD_UINT8);
    spad_buffer freed = new_buffer(device, SPAD_SHAPE(8, 8), SPAD_UINT8);
    assert_ok(spad_buffer_free(freed, &error), &error);
    for (size_t c = 0; c < sizeof calls / sizeof calls[0]; c++) {
        error = (spad_error){0};
        assert_int_equal(calls[c]((spad_buffer){0}, good, &error), SPAD_ERR_ARGUMENT);
        assert_int_equal(error.code, SPAD_ERR_ARGUMENT);
        assert_int_equal(calls[c](freed, good, &error), SPAD_ERR_STALE);
        assert_int_equal(error.code, SPAD_ERR_STALE);
    }
    assert_ok(spad_buffer_free((spad_buffer){0}, &error), &error);
    assert_int_equal(spad_buffer_free(freed, &error), SPAD_ERR_STALE);
    assert_ok(spad_buffer_free(good, &error), &error);
    spad_device_close(device, NULL);
}

/* ---- copies that are wrong --------------------------------------------------------- */

static void ranges_that_are_wrong(void **state) {
    (void)state;
    spad_error error = {0};
    spad_device *device = open_host();
    const spad_buffer a = new_buffer(device, SPAD_SHAPE(8, 8), SPAD_UINT8);
    const spad_buffer b = new_buffer(device, SPAD_SHAPE(8, 8), SPAD_UINT8);
    static const struct {
        spad_copy_range range;
        spad_status status;
        const char *message;
    } cases[] = {
        {{.width = -1}, SPAD_ERR_ARGUMENT, "a copy of 1 rows of -1 B"},
        {{.width = 8, .rows = -2}, SPAD_ERR_ARGUMENT, "a copy of -2 rows of 8 B"},
        {{.width = 65}, SPAD_ERR_BOUNDS, "1 row of 65 B at byte 0 are outside 'a buffer' of 64 B"},
        {{.width = 8, .to_offset = -1}, SPAD_ERR_BOUNDS, NULL},
        {{.width = 8, .from_offset = 57}, SPAD_ERR_BOUNDS, NULL},
        {{.width = 8, .rows = 2, .to_pitch = 4},
         SPAD_ERR_ARGUMENT,
         "rows of 8 B begin 4 B apart; they would overlap"},
        {{.width = 8, .rows = 2, .from_pitch = 4}, SPAD_ERR_ARGUMENT, NULL},
        {{.width = 8, .rows = 3, .to_pitch = INT64_MAX}, SPAD_ERR_BOUNDS, NULL},
        {{.width = 8, .rows = 2, .to_pitch = INT64_MAX}, SPAD_ERR_BOUNDS, NULL},
        {{.width = 8, .rows = 2, .to_pitch = INT64_MAX - 8, .to_offset = 8}, SPAD_ERR_BOUNDS, NULL},
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        assert_int_equal(spad_buffer_copy_part(a, b, &cases[i].range, NULL, &error),
                         cases[i].status);
        if (cases[i].message != NULL) assert_string_equal(error.message, cases[i].message);
    }
    assert_int_equal(spad_buffer_write(a, 0, memory, -1, NULL, &error), SPAD_ERR_ARGUMENT);
    assert_int_equal(spad_buffer_read(memory, a, 0, -1, NULL, &error), SPAD_ERR_ARGUMENT);
    assert_ok(spad_buffer_copy_part(a, b, &(spad_copy_range){.width = 0, .rows = 3}, NULL, &error),
              &error); /* nothing to do */
    spad_device_close(device, NULL);
}

static void tiles_that_are_wrong(void **state) {
    (void)state;
    spad_error error = {0};
    spad_device *device = open_host();
    const spad_buffer a = new_buffer(device, SPAD_SHAPE(4, 2, 4), SPAD_UINT8);
    const spad_buffer b = new_buffer(device, SPAD_SHAPE(8, 8), SPAD_UINT8);
    const spad_buffer flat = new_buffer(device, SPAD_SHAPE(64), SPAD_UINT8);
    const spad_buffer wide = new_buffer(device, SPAD_SHAPE(8, 8), SPAD_FLOAT32);
    const spad_buffer empty = new_buffer(device, SPAD_SHAPE(0, INT64_MAX, INT64_MAX), SPAD_UINT8);
    const spad_buffer large = new_buffer(device, SPAD_SHAPE(0, INT64_MAX), SPAD_FLOAT32);
    static const spad_copy_tile tiles[] = {
        {.rows = 1, .columns = 1, .to_row = -1},
        {.rows = 1, .columns = 1, .to_column = -1},
        {.rows = -1, .columns = 1},
        {.rows = 1, .columns = -1},
        {.rows = 5, .columns = 1},
        {.rows = 1, .columns = 9},
        {.rows = 4, .columns = 1, .to_row = 1},
        {.rows = 1, .columns = 8, .to_column = 1},
        {.rows = 4, .columns = 1, .from_row = 5},
        {.rows = 1, .columns = 8, .from_column = 1},
        {.rows = 1, .columns = 1, .from_row = -1},
    };
    for (size_t i = 0; i < sizeof tiles / sizeof tiles[0]; i++) {
        assert_int_equal(spad_buffer_copy_matrix(a, b, &tiles[i], NULL, &error), SPAD_ERR_BOUNDS);
        assert_non_null(strstr(error.message, "is outside a matrix of "));
    }
    static const spad_copy_tile one = {.rows = 1, .columns = 1};
    assert_int_equal(spad_buffer_copy_matrix(flat, b, &one, NULL, &error), SPAD_ERR_SHAPE);
    assert_int_equal(spad_buffer_copy_matrix(b, flat, &one, NULL, &error), SPAD_ERR_SHAPE);
    assert_int_equal(spad_buffer_copy_matrix(wide, b, &one, NULL, &error), SPAD_ERR_DTYPE);
    assert_string_equal(error.message, "a tile of uint8 into a matrix of float32");
    assert_int_equal(spad_buffer_copy_matrix(empty, b, &one, NULL, &error), SPAD_ERR_OVERFLOW);
    assert_int_equal(spad_buffer_copy_matrix(large, wide, &one, NULL, &error), SPAD_ERR_OVERFLOW);
    assert_string_equal(error.message, "the bytes of a row do not fit 64 bits");
    assert_ok(
        spad_buffer_copy_matrix(a, b, &(spad_copy_tile){.rows = 0, .columns = 3}, NULL, &error),
        &error);
    assert_ok(
        spad_buffer_copy_matrix(a, b, &(spad_copy_tile){.rows = 3, .columns = 0}, NULL, &error),
        &error);
    spad_device_close(device, NULL);
}

static void streams_of_another_device_are_refused(void **state) {
    (void)state;
    spad_error error = {0};
    spad_device *device = open_host();
    spad_device *other = open_host();
    spad_stream foreign;
    const spad_buffer a = new_buffer(device, SPAD_SHAPE(8, 8), SPAD_UINT8);
    const spad_buffer b = new_buffer(device, SPAD_SHAPE(8, 8), SPAD_UINT8);
    assert_ok(spad_stream_open(&foreign, other, &error), &error);
    assert_int_equal(spad_buffer_copy_async(a, b, foreign, &error), SPAD_ERR_ARGUMENT);
    assert_string_equal(error.message, "the stream is of host, and neither side of the copy is");
    assert_int_equal(spad_buffer_copy_async(a, b, (spad_stream){0}, &error), SPAD_ERR_ARGUMENT);
    assert_ok(spad_stream_close(foreign, &error), &error);
    assert_int_equal(spad_buffer_copy_async(a, b, foreign, &error), SPAD_ERR_STALE);
    spad_device_close(other, NULL);
    spad_device_close(device, NULL);
}

/* ---- libraries and lists ----------------------------------------------------------- */

static void a_library_without_a_function_is_too_old(void **state) {
    (void)state;
    static const spad__driver_symbol symbols[] = {{"malloc", 0, false},
                                                  {"spad_no_such_function", 8, false}};
    spad_error error = {0};
    void *library = &library;
    void *table[2] = {NULL, NULL};
    assert_int_equal(spad__library_open(&library, table, "libc.so.6", symbols, 2, &error),
                     SPAD_ERR_NO_DEVICE);
    assert_string_equal(error.message, "libc.so.6 has no function spad_no_such_function; a newer "
                                       "driver is needed");
    assert_null(library);
    assert_int_equal(spad__library_open(&library, table, "libspad_none.so", symbols, 2, &error),
                     SPAD_ERR_NO_DEVICE);
    assert_string_equal(error.message,
                        "libspad_none.so cannot be opened; is the driver installed?");
}

static void a_list_needs_host_memory(void **state) {
    (void)state;
    spad_error error = {0};
    test_host host;
    test_text text;
    test_host_init(&host);
    test_text_init(&text);
    host.fail_at = 1;
    assert_int_equal(spad_device_write_list(&text.sink, &host.host, &error), SPAD_ERR_HOST_MEMORY);
    assert_string_equal(text.bytes, "");
    /* with memory for the list alone every back end is absent */
    test_host_init(&host);
    host.fail_at = 2;
    assert_ok(spad_device_write_list(&text.sink, &host.host, &error), &error);
    assert_non_null(strstr(text.bytes, "no host: "));
    test_host_assert_clean(&host);
    test_text_free(&text);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(streams_that_lead_nowhere),
        cmocka_unit_test(fences_that_lead_nowhere),
        cmocka_unit_test(buffers_that_lead_nowhere),
        cmocka_unit_test(ranges_that_are_wrong),
        cmocka_unit_test(tiles_that_are_wrong),
        cmocka_unit_test(streams_of_another_device_are_refused),
        cmocka_unit_test(a_library_without_a_function_is_too_old),
        cmocka_unit_test(a_list_needs_host_memory),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
