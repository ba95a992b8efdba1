/* SPDX-License-Identifier: Apache-2.0
 *
 * What a device makes of its options: the spaces of a chip that stand for its scopes, sizes of
 * pools, and buffers whose extent comes from their data. On the host device. */
#include <stdio.h>
#include <string.h>

#include "device/backend.h"
#include "spad/device/stream.h"
#include "support/support.h"

static const spad_space odd_spaces[] = {
    {.name = "near", .lanes = 2, .bytes = 4096, .alignment = 24, .granule = 1},
    {.name = "wide",
     .lanes = INT64_C(1) << 40,
     .bytes = INT64_C(1) << 40,
     .alignment = 1,
     .granule = 1},
    {.name = "endless", .lanes = 1, .bytes = SPAD_UNBOUNDED, .alignment = 1, .granule = 1},
    {.name = "away",
     .lanes = 1,
     .bytes = SPAD_UNBOUNDED,
     .alignment = 1,
     .granule = 1,
     .off_chip = true},
};
static const spad_target odd = {.name = "odd", .about = "", .space_count = 4, .spaces = odd_spaces};
static const spad_target near_only = {
    .name = "near_only", .about = "", .space_count = 1, .spaces = odd_spaces};

static spad_device *open_with(const spad_device_options *options) {
    spad_error error;
    spad_device *device;
    assert_ok(spad_device_open(&device, "host", options, &error), &error);
    return device;
}

/* ---- scopes ------------------------------------------------------------------------ */

static void scopes_are_spaces_of_the_chip(void **state) {
    (void)state;
    static const struct {
        const char *shared;
        const char *local;
        spad_status opened;  /* SPAD_OK, or why not */
        spad_status scratch; /* of a pool of local memory */
        const char *message;
    } cases[] = {
        {NULL, NULL, SPAD_OK, SPAD_ERR_SPACE, "target 'odd' has no local memory of a known size"},
        {NULL, "endless", SPAD_OK, SPAD_ERR_SPACE,
         "target 'odd' has no local memory of a known size"},
        {NULL, "near", SPAD_OK, SPAD_OK, NULL}, /* an alignment that is no power of two */
        {NULL, "wide", SPAD_OK, SPAD_ERR_OVERFLOW, "the bytes of all lanes do not fit 64 bits"},
        {"nowhere", NULL, SPAD_ERR_UNKNOWN, SPAD_OK, NULL},
        {"near", "nowhere", SPAD_ERR_UNKNOWN, SPAD_OK, NULL},
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        spad_error error = {0};
        spad_device *device;
        spad_pool *pool;
        const spad_device_options options = {
            .target = &odd, .shared_space = cases[i].shared, .local_space = cases[i].local};
        assert_int_equal(spad_device_open(&device, "host", &options, &error), cases[i].opened);
        if (cases[i].opened != SPAD_OK) {
            assert_null(device);
            continue;
        }
        assert_int_equal(spad_device_get_pool(&pool, device, SPAD_LOCAL, &error), cases[i].scratch);
        assert_int_equal(pool != NULL, cases[i].scratch == SPAD_OK);
        if (cases[i].message != NULL) assert_non_null(strstr(error.message, cases[i].message));
        spad_device_close(device, NULL);
    }
}

/* Global memory of a trace is the space off chip, or the first of all. */
static void global_memory_has_a_space_of_the_trace(void **state) {
    (void)state;
    static const struct {
        const spad_target *target;
        size_t space;
    } cases[] = {{&odd, 3}, {&near_only, 0}};
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        spad_error error = {0};
        spad_trace *trace;
        spad_buffer buffer;
        const spad_buffer_spec spec = {.shape = SPAD_SHAPE(64), .dtype = SPAD_UINT8, .name = "x"};
        const spad_device_options options = {.target = cases[i].target};
        spad_device *device = open_with(&options);
        assert_ok(spad_trace_create(&trace, cases[i].target, NULL, &error), &error);
        assert_ok(spad_device_set_trace(NULL, device, trace, &error), &error);
        assert_ok(spad_buffer_alloc(&buffer, device, &spec, &error), &error);
        assert_int_equal(spad_trace_get_tensor(trace, 0)->space, cases[i].space);
        spad_device_close(device, NULL);
        spad_trace_destroy(trace);
    }
}

static void scopes_are_those_that_exist(void **state) {
    (void)state;
    spad_error error = {0};
    spad_memory_scope scope;
    spad_pool *pool;
    spad_buffer buffer;
    spad_device *device = open_with(NULL);
    const spad_buffer_spec spec = {
        .shape = SPAD_SHAPE(8), .dtype = SPAD_UINT8, .scope = (spad_memory_scope)99};
    assert_int_equal(spad_buffer_alloc(&buffer, device, &spec, &error), SPAD_ERR_ARGUMENT);
    assert_int_equal(spad_device_get_pool(&pool, device, (spad_memory_scope)99, &error),
                     SPAD_ERR_ARGUMENT);
    assert_string_equal(error.message, "99 is not a memory scope");
    assert_int_equal(spad_device_get_stats(device, (spad_memory_scope)99).allocations, 0);
    assert_int_equal(spad_memory_scope_parse(&scope, "globl", &error), SPAD_ERR_UNKNOWN);
    assert_non_null(strstr(error.message, "no memory scope is called 'globl'; "));
    assert_int_equal(spad_memory_scope_parse(&scope, "quite another thing", &error),
                     SPAD_ERR_UNKNOWN);
    assert_non_null(strstr(error.message, "; there are global, shared and local"));
    spad_device_close(device, NULL);
}

static void devices_are_numbers_that_exist(void **state) {
    (void)state;
    spad_error error = {0};
    spad_device *device;
    static const int numbers[] = {-1, 1, 100000};
    for (size_t i = 0; i < sizeof numbers / sizeof numbers[0]; i++) {
        assert_int_equal(
            spad_device_open_on(&device, &spad__backend_host, numbers[i], NULL, &error),
            SPAD_ERR_NO_DEVICE);
        assert_non_null(strstr(error.message, "host has 1 device"));
    }
    /* more digits than a number has, and no digits */
    assert_int_equal(spad_device_open(&device, "host:99999999999999999999", NULL, &error),
                     SPAD_ERR_UNKNOWN);
    assert_int_equal(spad_device_open(&device, "host:", NULL, &error), SPAD_ERR_UNKNOWN);
    assert_int_equal(spad_device_open(&device, "host:1x", NULL, &error), SPAD_ERR_UNKNOWN);
    assert_ok(spad_device_open(&device, "host:0", NULL, &error), &error);
    spad_device_close(device, NULL);
}

/* ---- sizes ------------------------------------------------------------------------- */

static void pools_have_sizes_that_can_be(void **state) {
    (void)state;
    static const struct {
        spad_pool_options options;
        spad_status status;
        const char *message;
    } cases[] = {
        {{.max_bytes = -1}, SPAD_ERR_ARGUMENT, "a pool with a negative size"},
        {{.initial_bytes = -1}, SPAD_ERR_ARGUMENT, "a pool with a negative size"},
        {{.grow_bytes = -1}, SPAD_ERR_ARGUMENT, "a pool with a negative size"},
        {{.block_bytes = 3},
         SPAD_ERR_ALIGNMENT,
         "blocks of 3 B; the size has to be a power of two"},
        {{.initial_bytes = 4096, .max_bytes = 100},
         SPAD_ERR_ARGUMENT,
         "the pool begins with 4096 B, which is more than its limit of 100 B"},
        {{.initial_bytes = INT64_MAX}, SPAD_ERR_OVERFLOW, "the pool's first chunk is too large"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        spad_error error = {0};
        spad_pool *pool;
        spad_device *device = open_with(NULL);
        const spad_memory memory = spad_device_get_memory(device);
        assert_int_equal(spad_pool_create(&pool, &memory, &cases[i].options, &error),
                         cases[i].status);
        assert_string_equal(error.message, cases[i].message);
        assert_null(pool);
        spad_device_close(device, NULL);
    }
}

static spad_status wrap_all(const spad_host *host, void *payload) {
    const spad_sink *sink = payload;
    spad_error error;
    spad_wrapper *made[4] = {NULL, NULL, NULL, NULL};
    spad_device *device = open_with(NULL);
    const spad_memory memory = spad_device_get_memory(device);
    spad_status status = spad_wrapper_create_limit(&made[0], &memory, 100, host, &error);
    if (status == SPAD_OK)
        status = spad_wrapper_create_log(&made[1], &memory, sink, NULL, host, &error);
    if (status == SPAD_OK)
        status = spad_wrapper_create_fault(&made[2], &memory, 1, 0, host, &error);
    if (status == SPAD_OK) status = spad_wrapper_create_statistics(&made[3], &memory, host, &error);
    for (int i = 0; i < 4; i++) spad_wrapper_destroy(made[i]);
    spad_device_close(device, NULL);
    return status;
}

static void wrappers_need_sense_and_host_memory(void **state) {
    (void)state;
    spad_error error = {0};
    spad_wrapper *wrapper;
    test_text text;
    test_text_init(&text);
    spad_device *device = open_with(NULL);
    const spad_memory memory = spad_device_get_memory(device);
    assert_int_equal(spad_wrapper_create_fault(&wrapper, &memory, 0, 1, NULL, &error),
                     SPAD_ERR_ARGUMENT);
    assert_int_equal(spad_wrapper_create_fault(&wrapper, &memory, 1, -1, NULL, &error),
                     SPAD_ERR_ARGUMENT);
    assert_null(wrapper);
    assert_int_equal(spad_wrapper_create_limit(&wrapper, &memory, -1, NULL, &error),
                     SPAD_ERR_ARGUMENT);
    assert_string_equal(error.message, "the limit is negative");
    spad_device_close(device, NULL);
    test_fail_each_allocation(wrap_all, &text.sink);
    test_text_free(&text);
}

/* ---- extents from data ------------------------------------------------------------- */

static void extents_that_no_data_gives(void **state) {
    (void)state;
    static char data[64];
    static const struct {
        int64_t rest; /* the other extent */
        spad_dtype dtype;
        int64_t bytes;
        spad_status status;
    } cases[] = {
        {4, SPAD_FLOAT32, 64, SPAD_OK},
        {3, SPAD_FLOAT32, 64, SPAD_ERR_SHAPE},
        {0, SPAD_FLOAT32, 64, SPAD_ERR_SHAPE}, /* no row has bytes */
        {4, SPAD_FLOAT32, INT64_MAX, SPAD_ERR_SHAPE},
        {INT64_MAX, SPAD_FLOAT32, 64, SPAD_ERR_OVERFLOW},
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        spad_error error = {0};
        spad_buffer buffer;
        spad_device *device = open_with(NULL);
        const spad_buffer_spec spec = {.shape = SPAD_SHAPE(SPAD_AUTO, cases[i].rest),
                                       .dtype = cases[i].dtype};
        spad_status status = spad_buffer_alloc(&buffer, device, &spec, &error);
        if (status == SPAD_OK) status = spad_buffer_bind(buffer, data, cases[i].bytes, &error);
        assert_int_equal(status, cases[i].status);
        spad_device_close(device, NULL);
    }
}

/* A copy into a buffer whose extent is open makes it like the source, or is refused. */
static void an_open_buffer_becomes_like_the_source(void **state) {
    (void)state;
    spad_error error = {0};
    spad_buffer_info info;
    spad_device *device = open_with(NULL);
    spad_buffer source, like, other, open;
    const spad_buffer_spec whole = {.shape = SPAD_SHAPE(4, 3), .dtype = SPAD_UINT8};
    const spad_buffer_spec flat = {.shape = SPAD_SHAPE(SPAD_AUTO), .dtype = SPAD_UINT8};
    const spad_buffer_spec words = {.shape = SPAD_SHAPE(SPAD_AUTO, 5), .dtype = SPAD_FLOAT32};
    assert_ok(spad_buffer_alloc(&source, device, &whole, &error), &error);
    assert_ok(spad_buffer_alloc(&like, device, &flat, &error), &error);
    assert_ok(spad_buffer_alloc(&open, device, &flat, &error), &error);
    assert_ok(spad_buffer_alloc(&other, device, &words, &error), &error);
    assert_ok(spad_buffer_copy(like, source, &error), &error);
    assert_ok(spad_buffer_get_info(&info, like, &error), &error);
    assert_int_equal(info.rank, 2);
    assert_int_equal(info.dims[1], 3);
    assert_int_equal(spad_buffer_copy(other, source, &error),
                     SPAD_ERR_SHAPE); /* 12 B are no rows of 20 */
    assert_int_equal(spad_buffer_copy(source, open, &error), SPAD_ERR_NO_ADDRESS);
    assert_non_null(strstr(error.message, "has an automatic extent and no data is bound to it"));
    const spad_copy_tile tile = {.rows = 1, .columns = 1};
    assert_int_not_equal(spad_buffer_copy_matrix(source, open, &tile, NULL, &error), SPAD_OK);
    spad_device_close(device, NULL);
}

/* ---- streams that have ended ------------------------------------------------------- */

static void a_closed_stream_is_no_longer_waited_for(void **state) {
    (void)state;
    spad_error error = {0};
    spad_device *device = open_with(NULL);
    spad_stream one, two;
    spad_buffer a, b;
    char bytes[64];
    const spad_buffer_spec spec = {.shape = SPAD_SHAPE(64), .dtype = SPAD_UINT8};
    const spad_allocation nothing = {0};
    memset(bytes, 7, sizeof bytes);
    assert_ok(spad_buffer_alloc(&a, device, &spec, &error), &error);
    assert_ok(spad_buffer_alloc(&b, device, &spec, &error), &error);
    assert_ok(spad_stream_open(&one, device, &error), &error);
    assert_ok(spad_stream_open(&two, device, &error), &error);
    assert_ok(spad_buffer_write(a, 0, bytes, 64, &one, &error), &error);
    assert_ok(spad_stream_free(one, &nothing, &error), &error); /* no block is nothing to do */
    assert_ok(spad_stream_close(one, &error), &error);
    assert_ok(spad_buffer_copy_async(b, a, two, &error), &error);
    memset(bytes, 0, sizeof bytes);
    assert_ok(spad_buffer_read(bytes, b, 0, 64, NULL, &error), &error);
    assert_int_equal(bytes[0], 7);
    assert_int_equal(bytes[63], 7);
    spad_device_close(device, NULL);
}

/* Buffers that are left are listed, the largest first and equal ones in their order. */
static void leaks_of_equal_size_stand_in_order(void **state) {
    (void)state;
    spad_error error = {0};
    test_text text;
    spad_device *device = open_with(NULL);
    static const struct {
        const char *name;
        int64_t bytes;
    } leaks[] = {{"small", 8}, {"first", 64}, {"second", 64}, {"third", 64}, {"large", 4096}};
    for (size_t i = 0; i < sizeof leaks / sizeof leaks[0]; i++) {
        spad_buffer buffer;
        const spad_buffer_spec spec = {
            .shape = SPAD_SHAPE(leaks[i].bytes), .dtype = SPAD_UINT8, .name = leaks[i].name};
        assert_ok(spad_buffer_alloc(&buffer, device, &spec, &error), &error);
    }
    test_text_init(&text);
    assert_int_equal(spad_device_close(device, &text.sink), 5);
    const char *at = text.bytes;
    static const char *const order[] = {"large", "first", "second", "third", "small"};
    for (size_t i = 0; i < 5; i++) {
        at = strstr(at, order[i]);
        assert_non_null(at);
    }
    test_text_free(&text);
}

/* ---- back ends ---------------------------------------------------------------------- */

/* What a table leaves out is refused; the rest works. */
static void a_table_may_leave_things_out(void **state) {
    (void)state;
    spad_error error = {0};
    spad_device *device;
    spad_buffer x;
    spad_allocation block;
    void *view;
    char bytes[16] = {0};
    spad_backend small = *spad__backend_get(0);
    small.fill = NULL;
    small.host_alloc = NULL;
    small.host_free = NULL;
    assert_ok(spad_device_open_on(&device, &small, 0, NULL, &error), &error);
    const spad_buffer_spec spec = {.shape = SPAD_SHAPE(16), .dtype = SPAD_UINT8};
    assert_ok(spad_buffer_alloc(&x, device, &spec, &error), &error);
    assert_int_equal(spad_buffer_fill(x, 0, 16, 1, NULL, &error), SPAD_ERR_CAPABILITY);
    assert_string_equal(error.message, "the back end of host has no fill; write the bytes");
    const spad_memory memory = spad_device_get_host_memory(device);
    assert_int_equal(spad_memory_alloc(&block, &memory, 16, 1, &error), SPAD_ERR_CAPABILITY);
    assert_string_equal(error.message,
                        "the driver of host makes no host memory; use memory of the program");
    assert_int_equal(spad_buffer_open_view(&view, x, &error), SPAD_ERR_CAPABILITY);
    assert_string_equal(error.message,
                        "host needs no objects for parts of its memory; use the address");
    assert_ok(spad_buffer_write(x, 0, bytes, 16, NULL, &error), &error);
    assert_ok(spad_buffer_free(x, &error), &error);
    assert_int_equal(spad_device_close(device, NULL), 0);
}

/* Options of a program with newer headers: a field that this library does not know is set. */
static void test_newer_options_are_refused(void **unused) {
    (void)unused;
    struct {
        spad_pool_options known;
        int64_t unknown;
    } pool = {{.struct_size = sizeof pool}, 1};
    struct {
        spad_device_options known;
        int64_t unknown;
    } device = {{.struct_size = sizeof device}, 1};
    spad_error error;
    spad_pool *made;
    spad_device *opened;
    assert_int_equal(spad_pool_create_over(&made, 0, 4096, &pool.known, &error), SPAD_ERR_ARGUMENT);
    assert_non_null(strstr(error.message, "options of a newer version: "));
    assert_null(made);
    assert_int_equal(spad_device_open(&opened, "host", &device.known, &error), SPAD_ERR_ARGUMENT);
    assert_non_null(strstr(error.message, "options of a newer version: "));
    device.unknown = 0;
    device.known.pool = &pool.known;
    assert_int_equal(spad_device_open(&opened, "host", &device.known, &error), SPAD_ERR_ARGUMENT);
    assert_null(opened);
    pool.unknown = 0;
    assert_int_equal(spad_device_open(&opened, "host", &device.known, &error), SPAD_OK);
    spad_device_close(opened, NULL);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_table_may_leave_things_out),
        cmocka_unit_test(scopes_are_spaces_of_the_chip),
        cmocka_unit_test(global_memory_has_a_space_of_the_trace),
        cmocka_unit_test(scopes_are_those_that_exist),
        cmocka_unit_test(devices_are_numbers_that_exist),
        cmocka_unit_test(pools_have_sizes_that_can_be),
        cmocka_unit_test(wrappers_need_sense_and_host_memory),
        cmocka_unit_test(extents_that_no_data_gives),
        cmocka_unit_test(an_open_buffer_becomes_like_the_source),
        cmocka_unit_test(a_closed_stream_is_no_longer_waited_for),
        cmocka_unit_test(leaks_of_equal_size_stand_in_order),
        cmocka_unit_test(test_newer_options_are_refused),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
