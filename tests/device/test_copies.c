/* SPDX-License-Identifier: Apache-2.0
 * Copies, streams and fences. */
#include <pthread.h>
#include <stdlib.h>
#include <string.h>

#include "base/random.h"
#include "device/device.h"
#include "device/stand_in.h"
#include "device/suite.h"

/* ---- copies ------------------------------------------------------------------------ */

enum { SIDE = 24 };

static void fill_random(uint16_t *matrix, uint64_t seed) {
    spad__random random = {seed};
    for (int i = 0; i < SIDE * SIDE; i++) matrix[i] = (uint16_t)spad__random_next(&random);
}

/* Another device of the kind under test; the host where there is only one. */
static spad_device *open_other(void) {
    spad_error error;
    spad_device *device;
    spad_device_info infos[64];
    const char *name = "host";
    const size_t count = spad__device_list(infos, 64, NULL, NULL, NULL);
    const size_t kind = strcspn(device_name, ":") + 1;
    for (size_t i = 0; i < count && i < 64; i++) {
        if (strncmp(infos[i].name, device_name, kind) == 0 &&
            strcmp(infos[i].name, device_name) != 0) {
            name = infos[i].name;
        }
    }
    assert_ok(spad_device_open(&device, name, NULL, &error), &error);
    return device;
}

/* Random tiles between random devices, on a stream or not, against the same on an array. */
static void tiles_agree_with_plain_loops(void **state) {
    (void)state;
    spad_error error;
    enum { DEVICES = 4, BUFFERS = 2 * DEVICES };
    spad_device *devices[DEVICES] = {open_device(NULL), open_device(NULL), open_other(), NULL};
    assert_ok(spad_device_open(&devices[3], "host", NULL, &error), &error);
    spad_stream streams[DEVICES];
    spad_buffer buffers[BUFFERS];
    static uint16_t models[BUFFERS][SIDE * SIDE];
    static uint16_t read[SIDE * SIDE];
    for (int i = 0; i < DEVICES; i++) streams[i] = new_stream(devices[i]);
    for (uint64_t i = 0; i < BUFFERS; i++) {
        buffers[i] = new_buffer(devices[i % DEVICES], SPAD_SHAPE(SIDE, SIDE), SPAD_UINT16);
        fill_random(models[i], i);
        assert_ok(spad_buffer_write(buffers[i], 0, models[i], sizeof models[i], NULL, &error),
                  &error);
    }
    spad__random random = {1};
    for (int round = 0; round < 500; round++) {
        const uint64_t to = spad__random_below(&random, BUFFERS);
        const uint64_t from = spad__random_below(&random, BUFFERS);
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
        const spad_stream *stream =
            &streams[(spad__random_below(&random, 2) != 0 ? to : from) % DEVICES];
        if (round % 3 == 0) stream = NULL;
        const spad_status status =
            spad_buffer_copy_matrix(buffers[to], buffers[from], &tile, stream, &error);
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
    for (int i = 0; i < BUFFERS; i++) {
        assert_ok(spad_buffer_read(read, buffers[i], 0, sizeof read, NULL, &error), &error);
        assert_memory_equal(read, models[i], sizeof read);
        free_buffer(buffers[i]);
    }
    for (int i = 0; i < DEVICES; i++) {
        assert_ok(spad_stream_close(streams[i], &error), &error);
        close_device(devices[i]);
    }
}

/* On the target's stream, after which the source may be freed. */
static void devices_of_one_kind_copy_directly(void **state) {
    (void)state;
    enum { BYTES = 100000 };
    spad_error error;
    spad_fence fence;
    bool done;
    spad_device *from = open_device(NULL);
    spad_device *to = open_other();
    const spad_stream stream = new_stream(to);
    spad_buffer a = new_buffer(from, SPAD_SHAPE(BYTES), SPAD_UINT8);
    spad_buffer b = new_buffer(to, SPAD_SHAPE(BYTES), SPAD_UINT8);
    static uint8_t in[BYTES];
    static uint8_t out[BYTES];
    for (int i = 0; i < BYTES; i++) in[i] = (uint8_t)(i * 7);
    assert_ok(spad_buffer_write(a, 0, in, BYTES, NULL, &error), &error);
    assert_ok(spad_buffer_copy_async(b, a, stream, &error), &error);
    assert_ok(spad_fence_record(&fence, stream, &error), &error);
    assert_ok(spad_fence_done(&done, fence, &error), &error);
    stand_in fake;
    if (strncmp(device_name, "cuda", 4) == 0 && stand_in_open(&fake, "libcuda.so.1")) {
        assert_false(done); /* it is on the stream, and that library puts it off */
        dlclose(fake.library);
    }
    free_buffer(a);
    assert_ok(spad_buffer_read(out, b, 0, BYTES, NULL, &error), &error);
    assert_memory_equal(in, out, BYTES);
    free_buffer(b);
    close_device(to); /* with its stream and fence */
    close_device(from);
}

static void bad_copies_are_refused(void **state) {
    (void)state;
    spad_device *device = open_device(NULL);
    spad_buffer x = new_buffer(device, SPAD_SHAPE(8, 8), SPAD_FLOAT32);
    spad_buffer y = new_buffer(device, SPAD_SHAPE(8, 8), SPAD_FLOAT32);
    spad_buffer flat = new_buffer(device, SPAD_SHAPE(64), SPAD_FLOAT32);
    spad_buffer half = new_buffer(device, SPAD_SHAPE(8, 8), SPAD_FLOAT16);
    spad_buffer packed = new_buffer(device, SPAD_SHAPE(8, 8), SPAD_INT4);
    static const struct {
        spad_copy_range range;
        spad_status status;
        const char *message;
    } cases[] = {
        {{.width = 257}, SPAD_ERR_BOUNDS, "1 row of 257 B at byte 0 are outside a buffer of 256 B"},
        {{.width = 32, .rows = 8, .to_pitch = 33},
         SPAD_ERR_BOUNDS,
         "8 rows of 32 B at byte 0 are outside a buffer of 256 B"},
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
        assert_int_equal(spad_buffer_copy_part(x, y, &cases[i].range, NULL, &error),
                         cases[i].status);
        if (cases[i].message != NULL) assert_string_equal(error.message, cases[i].message);
    }
    assert_int_equal(spad_buffer_copy(x, half, &error), SPAD_ERR_BOUNDS);
    assert_string_equal(error.message, "128 B do not fill a buffer of 256 B");
    spad_copy_tile tile = {.rows = 4, .columns = 4, .to_row = 5};
    assert_int_equal(spad_buffer_copy_matrix(x, y, &tile, NULL, &error), SPAD_ERR_BOUNDS);
    assert_string_equal(error.message, "a tile of 4 x 4 at (5, 0) is outside a matrix of 8 x 8");
    tile.to_row = 0;
    assert_int_equal(spad_buffer_copy_matrix(flat, y, &tile, NULL, &error), SPAD_ERR_SHAPE);
    assert_int_equal(spad_buffer_copy_matrix(x, half, &tile, NULL, &error), SPAD_ERR_DTYPE);
    assert_string_equal(error.message, "a tile of float16 into a matrix of float32");
    assert_int_equal(spad_buffer_copy_matrix(packed, packed, &tile, NULL, &error), SPAD_ERR_DTYPE);
    tile.rows = -1;
    assert_int_equal(spad_buffer_copy_matrix(x, y, &tile, NULL, &error), SPAD_ERR_BOUNDS);
    spad_buffer none =
        new_buffer(device, SPAD_SHAPE(0, INT64_C(1) << 40, INT64_C(1) << 40), SPAD_FLOAT32);
    assert_int_equal(spad_buffer_copy_matrix(none, y, &tile, NULL, &error), SPAD_ERR_OVERFLOW);
    free_buffer(none);
    char bytes[8] = {0};
    assert_int_equal(spad_buffer_write(x, 250, bytes, 8, NULL, &error), SPAD_ERR_BOUNDS);
    assert_int_equal(spad_buffer_read(bytes, x, 0, -8, NULL, &error), SPAD_ERR_ARGUMENT);
    assert_int_equal(spad_buffer_write(x, 0, bytes, INT64_MIN, NULL, &error), SPAD_ERR_ARGUMENT);
    assert_ok(spad_buffer_write(x, 256, bytes, 0, NULL, &error), &error);
    spad_device *other;
    assert_ok(spad_device_open(&other, "host", NULL, &error), &error);
    const spad_stream foreign = new_stream(other);
    assert_int_equal(spad_buffer_copy_async(x, y, foreign, &error), SPAD_ERR_ARGUMENT);
    assert_string_equal(error.message, "the stream is of host, and neither side of the copy is");
    spad_device_close(other, NULL); /* closes the stream too */
    free_buffer(x);
    free_buffer(y);
    free_buffer(flat);
    free_buffer(half);
    free_buffer(packed);
    close_device(device);
}

/* ---- streams ----------------------------------------------------------------------- */

/* Buffers are freed right after the copies that use them, and their memory is handed out
 * again at once: every copy must still see its own bytes. */
static void memory_is_reused_in_the_order_of_the_stream(void **state) {
    (void)state;
    enum { ROUNDS = 200, BYTES = 40000 };
    spad_error error;
    const spad_device_options options = {
        .pool = &(spad_pool_options){.max_bytes = 8 * 65536, .grow_bytes = 65536}};
    spad_device *device = open_device(&options);
    spad_stream streams[2] = {new_stream(device), new_stream(device)};
    static uint8_t in[ROUNDS][BYTES];
    static uint8_t out[ROUNDS][BYTES];
    for (int i = 0; i < ROUNDS; i++) {
        memset(in[i], i + 1, BYTES);
        const spad_stream *stream = &streams[i % 2];
        spad_buffer a = new_buffer(device, SPAD_SHAPE(BYTES), SPAD_UINT8);
        spad_buffer b = new_buffer(device, SPAD_SHAPE(BYTES), SPAD_UINT8);
        assert_ok(spad_buffer_write(a, 0, in[i], BYTES, stream, &error), &error);
        assert_ok(spad_buffer_copy_async(b, a, *stream, &error), &error);
        free_buffer(a);
        assert_ok(spad_buffer_read(out[i], b, 0, BYTES, stream, &error), &error);
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
    spad_buffer a = new_buffer(device, SPAD_SHAPE(BYTES), SPAD_UINT8);
    spad_buffer b = new_buffer(device, SPAD_SHAPE(BYTES), SPAD_UINT8);
    memset(in, 7, BYTES);
    for (int i = 0; i < 20; i++) {
        in[i] = (uint8_t)(100 + i);
        assert_ok(spad_buffer_write(a, 0, in, BYTES, &first, &error), &error);
        assert_ok(spad_buffer_copy_async(b, a, second, &error), &error);
        assert_ok(spad_fence_record(&fence, second, &error), &error);
        assert_ok(spad_stream_wait_fence(first, fence, &error), &error);
        assert_ok(spad_buffer_read(out, b, 0, BYTES, &first, &error), &error);
        assert_ok(spad_stream_wait(first, &error), &error);
        assert_memory_equal(in, out, BYTES);
        assert_ok(spad_fence_wait(fence, &error), &error);
        assert_ok(spad_fence_done(&done, fence, &error), &error);
        assert_true(done);
        assert_ok(spad_fence_free(fence, &error), &error);
    }
    /* a copy without a stream waits for those that came before */
    in[0] = 1;
    assert_ok(spad_buffer_write(a, 0, in, BYTES, &first, &error), &error);
    assert_ok(spad_buffer_read(out, a, 0, BYTES, NULL, &error), &error);
    assert_memory_equal(in, out, BYTES);
    assert_ok(spad_fence_record(&fence, second, &error), &error); /* left to the device */
    free_buffer(a);
    free_buffer(b);
    close_device(device);
}

static void bytes_are_filled(void **state) {
    (void)state;
    enum { BYTES = 1000 };
    spad_error error;
    uint8_t in[BYTES];
    uint8_t out[BYTES];
    spad_device *device = open_device(NULL);
    spad_stream one = new_stream(device);
    spad_stream two = new_stream(device);
    spad_buffer a = new_buffer(device, SPAD_SHAPE(BYTES), SPAD_UINT8);
    memset(in, 1, sizeof in);
    assert_ok(spad_buffer_write(a, 0, in, BYTES, &one, &error), &error);
    assert_ok(spad_buffer_fill(a, 100, 300, 0xA5, &two, &error), &error); /* after the write */
    assert_ok(spad_buffer_fill(a, 390, 10, 3, &two, &error), &error);
    assert_ok(spad_buffer_read(out, a, 0, BYTES, &two, &error), &error);
    assert_ok(spad_buffer_fill(a, 0, BYTES, 9, NULL, &error), &error); /* after the read */
    memset(in + 100, 0xA5, 290);
    memset(in + 390, 3, 10);
    assert_ok(spad_stream_wait(two, &error), &error);
    assert_memory_equal(in, out, BYTES);
    assert_ok(spad_buffer_read(out, a, 0, BYTES, NULL, &error), &error);
    memset(in, 9, sizeof in);
    assert_memory_equal(in, out, BYTES);
    assert_ok(spad_buffer_fill(a, BYTES, 0, 1, NULL, &error), &error); /* nothing */
    assert_int_equal(spad_buffer_fill(a, 1, BYTES, 1, NULL, &error), SPAD_ERR_BOUNDS);
    assert_int_equal(spad_buffer_fill(a, 0, -1, 1, NULL, &error), SPAD_ERR_ARGUMENT);
    assert_ok(spad_stream_close(two, &error), &error);
    assert_int_equal(spad_buffer_fill(a, 0, 1, 1, &two, &error), SPAD_ERR_STALE);
    free_buffer(a);
    assert_int_equal(spad_buffer_fill(a, 0, 1, 1, NULL, &error), SPAD_ERR_STALE);
    close_device(device);
}

/* Memory of the host that the driver made, with a pool over it. */
static void host_memory_of_the_driver(void **state) {
    (void)state;
    enum { BYTES = 4096 };
    spad_error error;
    spad_allocation block;
    spad_pool *pool;
    spad_device *device = open_device(NULL);
    const spad_memory memory = spad_device_get_host_memory(device);
    if (strncmp(device_name, "opencl", 6) == 0) {
        assert_int_equal(spad_memory_alloc(&block, &memory, BYTES, 1, &error), SPAD_ERR_CAPABILITY);
        close_device(device);
        return;
    }
    spad_stream stream = new_stream(device);
    spad_buffer a = new_buffer(device, SPAD_SHAPE(BYTES), SPAD_UINT8);
    assert_int_equal(spad_memory_alloc(&block, &memory, INT64_MAX, 2, &error), SPAD_ERR_OVERFLOW);
    assert_int_equal(spad_memory_alloc(&block, &memory, INT64_MAX / 2, 1, &error), SPAD_ERR_NO_FIT);
    assert_int_equal(error.needed, INT64_MAX / 2);
    assert_ok(spad_memory_alloc(&block, &memory, 10, 4096, &error), &error);
    assert_true(spad_is_aligned(block.address, 4096));
    assert_ok(spad_memory_free(&memory, &block, &error), &error);
    assert_ok(spad_pool_create(&pool, &memory, NULL, &error), &error);
    assert_ok(spad_pool_alloc(&block, pool, 2 * BYTES, 256, &error), &error);
    uint8_t *bytes = (uint8_t *)(uintptr_t)block.address;
    for (int i = 0; i < BYTES; i++) bytes[i] = (uint8_t)(i * 7);
    assert_ok(spad_buffer_write(a, 0, bytes, BYTES, &stream, &error), &error);
    assert_ok(spad_buffer_read(bytes + BYTES, a, 0, BYTES, &stream, &error), &error);
    assert_ok(spad_stream_wait(stream, &error), &error);
    assert_memory_equal(bytes, bytes + BYTES, BYTES);
    assert_ok(spad_pool_free(pool, &block, &error), &error);
    spad_pool_destroy(pool);
    free_buffer(a);
    close_device(device);
}

/* Objects of a driver that has no addresses, and the refusal of one that has. */
static void views_are_objects_of_the_driver(void **state) {
    (void)state;
    spad_error error;
    void *view;
    char bytes[64] = {0};
    spad_device *device = open_device(NULL);
    spad_buffer first = new_buffer(device, SPAD_SHAPE(100), SPAD_UINT8);
    spad_buffer a = new_buffer(device, SPAD_SHAPE(64), SPAD_UINT8);
    const bool has_views = strncmp(device_name, "neuron", 6) == 0;
    assert_int_equal(spad_buffer_open_view(&view, a, &error),
                     has_views ? SPAD_OK : SPAD_ERR_CAPABILITY);
    assert_true((view != NULL) == has_views);
    spad_device_close_view(device, view);
    assert_int_equal(spad_device_open_view(&view, device, bytes, sizeof bytes, &error),
                     has_views ? SPAD_OK : SPAD_ERR_CAPABILITY);
    spad_device_close_view(device, view);
    assert_int_equal(spad_device_open_view(&view, device, NULL, 1, &error), SPAD_ERR_ARGUMENT);
    assert_int_equal(spad_device_open_view(&view, device, bytes, 0, &error), SPAD_ERR_ARGUMENT);
    free_buffer(first);
    free_buffer(a);
    assert_int_equal(spad_buffer_open_view(&view, a, &error), SPAD_ERR_STALE);
    assert_null(view);
    close_device(device);
}

static void blocks_in_the_order_of_a_stream(void **state) {
    (void)state;
    spad_error error;
    spad_allocation a, b, c;
    const spad_device_options options = {
        .pool = &(spad_pool_options){.max_bytes = 65536, .grow_bytes = 65536}};
    spad_device *device = open_device(&options);
    spad_stream one = new_stream(device);
    spad_stream two;
    const int64_t alignment = spad_device_get_info(device)->alignment;
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
        assert_ok(spad_stream_alloc(&c, two, 65536, alignment, &error), &error);
        assert_ok(spad_stream_free(two, &c, &error), &error);
        assert_int_equal(spad_stream_alloc(&c, two, 65537, 1, &error), SPAD_ERR_NO_FIT);
        assert_int_equal(spad_stream_alloc(&c, two, -1, 1, &error), SPAD_ERR_ARGUMENT);
        assert_int_equal(spad_stream_alloc(&c, two, 1, 3, &error), SPAD_ERR_ALIGNMENT);
        assert_ok(spad_stream_close(two, &error), &error);
    }
    close_device(device);
}

enum { GIVEN = 100 };

typedef struct gift {
    spad_pool *pool;
    spad_allocation blocks[GIVEN];
} gift;

static void *allocate_gift(void *context) {
    gift *g = context;
    for (int i = 0; i < GIVEN; i++) {
        if (spad_pool_alloc(&g->blocks[i], g->pool, 1000 + 64 * i, 1, NULL) != SPAD_OK) abort();
    }
    return NULL;
}

/* Blocks that one thread allocated and another one frees in the order of its stream. */
static void blocks_of_another_thread_join_the_stream(void **state) {
    (void)state;
    spad_error error;
    pthread_t thread;
    static gift given;
    spad_device *device = open_device(NULL);
    const spad_stream stream = new_stream(device);
    assert_ok(spad_device_get_pool(&given.pool, device, SPAD_GLOBAL, &error), &error);
    assert_int_equal(pthread_create(&thread, NULL, allocate_gift, &given), 0);
    pthread_join(thread, NULL);
    for (int i = 0; i < GIVEN; i++) {
        assert_ok(spad_stream_free(stream, &given.blocks[i], &error), &error);
        assert_int_equal(spad_pool_free(given.pool, &given.blocks[i], &error), SPAD_ERR_STALE);
    }
    assert_ok(spad_pool_check(given.pool, &error), &error);
    assert_int_equal(spad_pool_get_stats(given.pool).blocks.live_blocks, GIVEN); /* they wait */
    for (int i = 0; i < GIVEN; i++) {
        spad_allocation again;
        assert_ok(spad_stream_alloc(&again, stream, 1000 + 64 * i, 1, &error), &error);
        assert_ok(spad_stream_free(stream, &again, &error), &error);
    }
    assert_int_equal(spad_pool_get_stats(given.pool).blocks.live_blocks, GIVEN);
    assert_ok(spad_stream_close(stream, &error), &error);
    const spad_pool_stats stats = spad_pool_get_stats(given.pool);
    assert_int_equal(stats.blocks.live_blocks, 0);
    assert_int_equal(stats.blocks.allocated_bytes, 0);
    assert_int_equal(stats.blocks.frees, GIVEN);
    assert_true(stats.blocks.peak_blocks >= GIVEN);
    assert_ok(spad_pool_check(given.pool, &error), &error);
    /* nothing remains in a list that is never read */
    assert_ok(spad_pool_trim(NULL, given.pool, 0, &error), &error);
    assert_int_equal(spad_pool_get_stats(given.pool).capacity_bytes, 0);
    close_device(device);
}

int run_copy_tests(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(tiles_agree_with_plain_loops),
        cmocka_unit_test(devices_of_one_kind_copy_directly),
        cmocka_unit_test(bad_copies_are_refused),
        cmocka_unit_test(memory_is_reused_in_the_order_of_the_stream),
        cmocka_unit_test(order_goes_along_with_the_buffer),
        cmocka_unit_test(bytes_are_filled),
        cmocka_unit_test(host_memory_of_the_driver),
        cmocka_unit_test(views_are_objects_of_the_driver),
        cmocka_unit_test(blocks_in_the_order_of_a_stream),
        cmocka_unit_test(blocks_of_another_thread_join_the_stream),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
