/* SPDX-License-Identifier: Apache-2.0
 * Threads, and drivers and hosts that fail. */
#include <pthread.h>
#include <stdlib.h>
#include <string.h>

#include "base/random.h"
#include "device/backend.h"
#include "device/faulty.h"
#include "device/stand_in.h"
#include "device/suite.h"

/* ---- threads ----------------------------------------------------------------------- */

enum { THREADS = 4 };

typedef struct work {
    spad_device *device;
    spad_buffer shared; /* read by all */
    int seed;
    int rounds;
} work;

static void require(bool holds) {
    if (!holds) abort(); /* cmocka's asserts are for one thread */
}

static void *use_device(void *context) {
    const work *w = context;
    spad__random random = {(uint64_t)w->seed};
    spad_stream stream;
    require(spad_stream_open(&stream, w->device, NULL) == SPAD_OK);
    for (int i = 0; i < w->rounds; i++) {
        uint8_t in[256];
        uint8_t out[256];
        spad_buffer a, b;
        const spad_buffer_spec spec = {.shape = SPAD_SHAPE(spad__random_in(&random, 256, 5000)),
                                       .dtype = SPAD_UINT8,
                                       .name = "a thread's"};
        memset(in, (int)spad__random_next(&random) & 0xFF, sizeof in);
        require(spad_buffer_alloc(&a, w->device, &spec, NULL) == SPAD_OK);
        require(spad_buffer_alias(&b, a, 0, SPAD_SHAPE(256), SPAD_UINT8, NULL, NULL) == SPAD_OK);
        require(spad_buffer_write(a, 0, in, 256, i % 2 != 0 ? &stream : NULL, NULL) == SPAD_OK);
        require(spad_buffer_read(out, b, 0, 256, NULL, NULL) == SPAD_OK);
        require(memcmp(in, out, 256) == 0);
        require(spad_buffer_copy(b, w->shared, NULL) == SPAD_OK);
        require(spad_buffer_read(out, a, 0, 256, NULL, NULL) == SPAD_OK);
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
    spad_buffer shared = new_buffer(device, SPAD_SHAPE(256), SPAD_UINT8);
    uint8_t pattern[256];
    memset(pattern, 0x5A, sizeof pattern);
    assert_ok(spad_buffer_write(shared, 0, pattern, 256, NULL, &error), &error);
    pthread_t threads[THREADS];
    work works[THREADS];
    for (int i = 0; i < THREADS; i++) {
        works[i] = (work){.device = device, .shared = shared, .seed = i, .rounds = 100};
        assert_int_equal(pthread_create(&threads[i], NULL, use_device, &works[i]), 0);
    }
    for (int i = 0; i < THREADS; i++) pthread_join(threads[i], NULL);
    free_buffer(shared);
    assert_int_equal(spad_device_get_stats(device, SPAD_GLOBAL).live_blocks, 0);
    close_device(device);
}

/* ---- faults ------------------------------------------------------------------------ */

/* What a driver need not have. */
static spad_status use_more(spad_device *device, const spad_backend *backend, spad_buffer buffer) {
    const spad_memory memory = spad_device_get_host_memory(device);
    spad_allocation block = {0};
    void *views[2] = {NULL, NULL};
    char bytes[64];
    spad_status status = SPAD_OK;
    if (backend->host_alloc != NULL) status = spad_memory_alloc(&block, &memory, 100, 64, NULL);
    if (backend->view_open != NULL) {
        if (status == SPAD_OK) status = spad_buffer_open_view(&views[0], buffer, NULL);
        if (status == SPAD_OK) status = spad_device_open_view(&views[1], device, bytes, 64, NULL);
        spad_device_close_view(device, views[0]);
        spad_device_close_view(device, views[1]);
    }
    const spad_status freed = spad_memory_free(&memory, &block, NULL);
    return status == SPAD_OK ? freed : status;
}

/* A bit of everything; ends at the first error. before_close: driver calls until then. */
static spad_status use_everything(const spad_backend *backend, const spad_host *host,
                                  long *before_close) {
    spad_device *device = NULL;
    spad_buffer a = {0}, b = {0}, open = {0};
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
    TRY(spad_buffer_write(a, 0, bytes, 64, &one, NULL));
    TRY(spad_buffer_copy_async(b, a, two, NULL));
    TRY(spad_buffer_fill(a, 0, 32, 7, &one, NULL));
    TRY(spad_buffer_fill(a, 32, 32, 7, NULL, NULL));
    TRY(use_more(device, backend, a));
    TRY(spad_buffer_copy_matrix(b, a, &tile, &one, NULL));
    TRY(spad_buffer_copy_matrix(a, b, &tile, NULL, NULL));
    TRY(spad_fence_record(&fence, one, NULL));
    TRY(spad_fence_done(&done, fence, NULL));
    TRY(spad_fence_wait(fence, NULL));
    TRY(spad_stream_wait_fence(two, fence, NULL));
    TRY(spad_stream_alloc(&block, one, 1000, 1, NULL));
    TRY(spad_stream_free(one, &block, NULL));
    TRY(spad_buffer_read(bytes, b, 0, 64, NULL, NULL));
    TRY(spad_fence_free(fence, NULL));
    TRY(spad_buffer_free(a, NULL));
    TRY(spad_buffer_free(b, NULL));
    TRY(spad_stream_close(one, NULL));
#undef TRY
    *before_close = faulty_calls();
    spad_device_close(device, NULL);
    return status;
}

static const spad_backend *backend_under_test(void) {
    const spad_backend *backend = NULL;
    for (size_t i = 0; (backend = spad__backend_get(i)) != NULL; i++) {
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
        /* what fails while all is given up cannot be reported to anyone */
        assert_int_equal(status, n <= before_close ? SPAD_ERR_DEVICE : SPAD_OK);
    }
}

/* The libraries that stand in for the drivers'. */
static const struct {
    const char *device; /* how its devices' names begin */
    const char *file;
    long least; /* calls of use_everything that can fail */
} stand_ins[] = {{"cuda", "libcuda.so.1", 30},
                 {"opencl", "libOpenCL.so.1", 30},
                 {"ascend", "libascendcl.so", 30},
                 {"neuron", "libnrt.so.1", 8}};

/* The one that the device under test is on; false: there is none. */
static bool open_stand_in(stand_in *out, long *least) {
    for (size_t i = 0; i < sizeof stand_ins / sizeof stand_ins[0]; i++) {
        if (strncmp(device_name, stand_ins[i].device, strlen(stand_ins[i].device)) != 0) continue;
        *least = stand_ins[i].least;
        return stand_in_open(out, stand_ins[i].file);
    }
    return false;
}

/* The same one level below, where the library that stands in for the driver's is loaded. */
static void every_call_of_the_library_may_fail(void **state) {
    (void)state;
    stand_in fake = {0};
    long least = 0;
    if (!open_stand_in(&fake, &least)) skip();
    const long before = fake.live();
    long failed = 0;
    for (long n = 1;; n++) {
        long unused;
        fake.fail_at(n);
        const spad_status status = use_everything(backend_under_test(), NULL, &unused);
        const long made = fake.calls();
        fake.fail_at(0);
        assert_int_equal(fake.live(), before);
        if (made < n) break;
        assert_true(status == SPAD_OK || status == SPAD_ERR_DEVICE); /* closing has no status */
        failed += status != SPAD_OK;
    }
    assert_true(failed > least);
    dlclose(fake.library);
}

static spad_status everything_on_a_host(const spad_host *host, void *context) {
    (void)context;
    long unused;
    const spad_status status = use_everything(backend_under_test(), host, &unused);
    /* device memory of the host comes from the hook as well, and lacks in its own words */
    return status == SPAD_ERR_NO_FIT ? SPAD_ERR_HOST_MEMORY : status;
}

static void every_host_allocation_may_fail(void **state) {
    (void)state;
    test_fail_each_with_retries(everything_on_a_host, NULL);
}

/* Buffers until one fails, which must leave the device and its pool as they were. */
static void buffers_until_failure(test_host *host, long n, bool *failed) {
    spad_error error;
    enum { BYTES = 24 << 10 };
    const int64_t bytes = BYTES; /* more than a chunk, so that every one needs another */
    const spad_device_options options = {.pool = &(spad_pool_options){.grow_bytes = bytes / 2},
                                         .host = &host->host};
    spad_device *device = open_device(&options);
    spad_pool *pool;
    assert_ok(spad_device_get_pool(&pool, device, SPAD_GLOBAL, &error), &error);
    const spad_buffer_spec spec = {
        .shape = SPAD_SHAPE(bytes), .dtype = SPAD_UINT8, .name = "a buffer with a name"};
    const spad_buffer_spec automatic = {
        .shape = SPAD_SHAPE(SPAD_AUTO), .dtype = SPAD_UINT8, .name = "a buffer of any size"};
    static char data[BYTES];
    spad_buffer open;
    host->fail_at = host->calls + n;
    for (int i = 0; i < 40 && !*failed; i++) {
        const spad_pool_stats before = spad_pool_get_stats(pool);
        spad_buffer buffer;
        spad_status status;
        if (i % 2 == 0) {
            status = spad_buffer_alloc(&buffer, device, &spec, &error);
        } else {
            status = spad_buffer_alloc(&open, device, &automatic, &error);
            if (status == SPAD_OK) status = spad_buffer_bind(open, data, bytes, &error);
        }
        if (status == SPAD_OK) continue;
        const spad_pool_stats after = spad_pool_get_stats(pool);
        assert_int_equal(after.capacity_bytes, before.capacity_bytes);
        assert_int_equal(after.chunks, before.chunks);
        assert_int_equal(after.free_bytes, before.free_bytes);
        assert_int_equal(after.holes, before.holes);
        assert_int_equal(after.blocks.live_blocks, before.blocks.live_blocks);
        *failed = true;
        host->fail_at = 0;
        assert_ok(spad_buffer_alloc(&buffer, device, &spec, &error), &error);
    }
    host->fail_at = 0;
    spad_device_close(device, NULL); /* says which buffers were left, and ends them */
}

static void a_buffer_without_host_memory_changes_nothing(void **state) {
    (void)state;
    bool failed = true;
    long failures = 0;
    for (long n = 1; failed; n++) {
        test_host host;
        test_host_init(&host);
        failed = false;
        buffers_until_failure(&host, n, &failed);
        test_host_assert_clean(&host);
        failures += failed;
    }
    assert_true(failures > 20);
}

int run_fault_tests(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(threads_share_a_device),
        cmocka_unit_test(every_driver_call_may_fail),
        cmocka_unit_test(every_call_of_the_library_may_fail),
        cmocka_unit_test(every_host_allocation_may_fail),
        cmocka_unit_test(a_buffer_without_host_memory_changes_nothing),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
