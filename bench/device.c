/* SPDX-License-Identifier: Apache-2.0
 *
 * Memory of a device: bench_device [NAME], "host" without one.
 *
 * One allocate+free pair of the pool and of a stream of the device, beside the driver's own
 * allocator and, on CUDA, beside its stream-ordered one (cuMemAllocAsync, what
 * cudaMallocAsync calls); then copies beside the driver's own calls on the same memory; then
 * reuse in the order of streams under load, with every byte verified.
 */
#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/random.h"
#include "bench.h"
#include "spad/device.h"
#include "spad/spad.h"

enum { LIVE = 64, RUNS = 7 };

static void *checked(void *block) {
    if (block != NULL) return block;
    fprintf(stderr, "bench_device: out of memory\n");
    exit(1);
}

static void must(spad_status status, const spad_error *error) {
    if (status == SPAD_OK) return;
    fprintf(stderr, "bench_device: %s\n", error->message);
    exit(1);
}

/* ---- the driver of CUDA ------------------------------------------------------------ */

typedef struct cuda {
    int (*alloc)(uint64_t *, size_t);
    int (*free)(uint64_t);
    int (*alloc_async)(uint64_t *, size_t, void *);
    int (*free_async)(uint64_t, void *);
    int (*to_device)(uint64_t, const void *, size_t);
    int (*from_device)(void *, uint64_t, size_t);
    int (*on_device)(uint64_t, uint64_t, size_t, void *);
    int (*synchronize)(void *);
    int (*retain)(void **, int);
    int (*set_current)(void *);
} cuda;

static bool load(void *out, void *library, const char *name) {
    void *symbol = dlsym(library, name);
    memcpy(out, &symbol, sizeof symbol);
    return symbol != NULL;
}

static bool open_cuda(cuda *cu, const char *device) {
    if (strncmp(device, "cuda", 4) != 0) return false;
    void *library = dlopen("libcuda.so.1", RTLD_NOW);
    void *context;
    return library != NULL && load(&cu->alloc, library, "cuMemAlloc_v2") &&
           load(&cu->free, library, "cuMemFree_v2") &&
           load(&cu->alloc_async, library, "cuMemAllocAsync") &&
           load(&cu->free_async, library, "cuMemFreeAsync") &&
           load(&cu->to_device, library, "cuMemcpyHtoD_v2") &&
           load(&cu->from_device, library, "cuMemcpyDtoH_v2") &&
           load(&cu->on_device, library, "cuMemcpyDtoDAsync_v2") &&
           load(&cu->synchronize, library, "cuStreamSynchronize") &&
           load(&cu->retain, library, "cuDevicePrimaryCtxRetain") &&
           load(&cu->set_current, library, "cuCtxSetCurrent") && cu->retain(&context, 0) == 0 &&
           cu->set_current(context) == 0;
}

/* ---- pairs ------------------------------------------------------------------------- */

typedef enum allocator { POOL, STREAM, DRIVER, DRIVER_ASYNC } allocator;

typedef struct job {
    allocator kind;
    spad_pool *pool;
    spad_memory raw;
    spad_stream stream;
    void *native;
    const cuda *cu;
    int pairs;
    int live;
    int64_t sizes[1024];
    spad_allocation blocks[LIVE];
} job;

static void get(job *j, spad_allocation *out, int64_t bytes) {
    spad_error error;
    uint64_t address = 0;
    switch (j->kind) {
    case POOL: must(spad_pool_alloc(out, j->pool, bytes, 256, &error), &error); break;
    case STREAM: must(spad_stream_alloc(out, j->stream, bytes, 256, &error), &error); break;
    case DRIVER: must(spad_memory_alloc(out, &j->raw, bytes, 256, &error), &error); break;
    case DRIVER_ASYNC:
        if (j->cu->alloc_async(&address, (size_t)bytes, j->native) != 0) exit(1);
        out->address = (int64_t)address;
        break;
    }
}

static void put(job *j, const spad_allocation *block) {
    spad_error error;
    switch (j->kind) {
    case POOL: must(spad_pool_free(j->pool, block, &error), &error); break;
    case STREAM: must(spad_stream_free(j->stream, block, &error), &error); break;
    case DRIVER: must(spad_memory_free(&j->raw, block, &error), &error); break;
    case DRIVER_ASYNC:
        if (j->cu->free_async((uint64_t)block->address, j->native) != 0) exit(1);
        break;
    }
}

static void run_pairs(void *context) {
    job *j = context;
    spad__random random = {1};
    for (int i = 0; i < j->pairs; i++) {
        spad_allocation *block = &j->blocks[spad__random_below(&random, (uint64_t)j->live)];
        put(j, block);
        get(j, block, j->sizes[i % 1024]);
    }
}

static double measure(job *j, allocator kind, int live, int pairs) {
    j->kind = kind;
    j->live = live;
    j->pairs = pairs;
    for (int i = 0; i < live; i++) get(j, &j->blocks[i], j->sizes[i]);
    const double ns = bench_best(RUNS, pairs, run_pairs, j);
    for (int i = 0; i < live; i++) put(j, &j->blocks[i]);
    return ns;
}

/* Sizes evenly over their logarithm; one size for least == most. */
static void set_sizes(job *j, int64_t least, int octaves) {
    spad__random random = {5};
    for (int i = 0; i < 1024; i++) {
        j->sizes[i] = octaves == 0 ? least
                                   : spad__random_in(&random, least, 2 * least - 1)
                                         << spad__random_below(&random, (uint64_t)octaves);
    }
}

static void bench_pairs(spad_device *device, const cuda *cu) {
    static job j;
    spad_error error;
    must(spad_device_get_pool(&j.pool, device, SPAD_GLOBAL, &error), &error);
    must(spad_stream_open(&j.stream, device, &error), &error);
    must(spad_stream_get_native(&j.native, j.stream, &error), &error);
    j.raw = spad_device_get_memory(device);
    j.cu = cu;
    static const struct {
        const char *name;
        int64_t least;
        int octaves, live;
    } mixes[] = {{"one block of 64 KiB", 65536, 0, 1},
                 {"64 live, 512 B to 1 MiB", 512, 11, 64},
                 {"64 live, 64 KiB to 16 MiB", 65536, 8, 64}};
    printf("ns per free+allocate pair%*s%10s %10s %10s %10s\n", 3, "", "pool", "stream", "driver",
           "driver's");
    printf("%*s%10s %10s %10s %10s\n", 28, "", "", "of ours", "", "async");
    for (size_t m = 0; m < sizeof mixes / sizeof mixes[0]; m++) {
        set_sizes(&j, mixes[m].least, mixes[m].octaves);
        const double pool = measure(&j, POOL, mixes[m].live, 200000);
        const double stream = measure(&j, STREAM, mixes[m].live, 200000);
        const double driver = measure(&j, DRIVER, mixes[m].live, 300);
        printf("%-28s%10.1f %10.1f %10.1f", mixes[m].name, pool, stream, driver);
        if (cu != NULL) {
            const double async = measure(&j, DRIVER_ASYNC, mixes[m].live, 5000);
            printf(" %10.1f   driver/pool %.0fx, async/pool %.0fx, async/stream %.0fx", async,
                   driver / pool, async / pool, async / stream);
        }
        printf("\n");
    }
    must(spad_stream_close(j.stream, &error), &error);
}

/* ---- copies ------------------------------------------------------------------------ */

typedef struct copy_job {
    spad_buffer a, b;
    char *host;
    int64_t bytes;
    int direction; /* 0: to, 1: from, 2: on the device */
    const cuda *cu;
    uint64_t a_address, b_address;
    int repeats;
} copy_job;

static void run_ours(void *context) {
    copy_job *c = context;
    spad_error error;
    for (int i = 0; i < c->repeats; i++) {
        if (c->direction == 0)
            must(spad_buffer_write(c->a, 0, c->host, c->bytes, NULL, &error), &error);
        if (c->direction == 1)
            must(spad_buffer_read(c->host, c->a, 0, c->bytes, NULL, &error), &error);
        if (c->direction == 2) must(spad_buffer_copy(c->b, c->a, &error), &error);
    }
}

static void run_driver(void *context) {
    copy_job *c = context;
    const size_t bytes = (size_t)c->bytes;
    for (int i = 0; i < c->repeats; i++) {
        int result = 0;
        if (c->direction == 0) result = c->cu->to_device(c->a_address, c->host, bytes);
        if (c->direction == 1) result = c->cu->from_device(c->host, c->a_address, bytes);
        if (c->direction == 2) {
            result = c->cu->on_device(c->b_address, c->a_address, bytes, NULL);
            if (result == 0) result = c->cu->synchronize(NULL);
        }
        if (result != 0) exit(1);
    }
}

static void bench_copies(spad_device *device, const cuda *cu) {
    static const char *const names[] = {"to the device", "from the device", "on the device"};
    static const int64_t sizes[] = {4096, 1 << 20, 64 << 20, 1 << 30};
    spad_error error;
    int64_t address;
    printf("\ncopies that wait, GB/s%*s%10s %10s\n", 18, "", "ours", "driver's");
    for (size_t s = 0; s < sizeof sizes / sizeof sizes[0]; s++) {
        copy_job c = {.bytes = sizes[s], .cu = cu, .host = checked(malloc((size_t)sizes[s]))};
        memset(c.host, 1, (size_t)c.bytes);
        const spad_buffer_spec spec = {.shape = {1, &sizes[s]}, .dtype = SPAD_UINT8};
        must(spad_buffer_alloc(&c.a, device, &spec, &error), &error);
        must(spad_buffer_alloc(&c.b, device, &spec, &error), &error);
        must(spad_buffer_get_address(&address, c.a, &error), &error);
        c.a_address = (uint64_t)address;
        must(spad_buffer_get_address(&address, c.b, &error), &error);
        c.b_address = (uint64_t)address;
        const int64_t fitting = (256 << 20) / sizes[s];
        for (c.direction = 0; c.direction < 3; c.direction++) {
            const int64_t least = c.direction == 2 ? 50 : 1; /* these are a hundred times as fast */
            c.repeats = (int)(fitting < least ? least : fitting > 2000 ? 2000 : fitting);
            /* in turns, so that both meet the same state of the machine */
            double ours = 1e99;
            double driver = 1e99;
            for (int turn = 0; turn < 4; turn++) {
                const double o = bench_best(2, c.repeats, run_ours, &c);
                if (o < ours) ours = o;
                if (cu == NULL) continue;
                const double d = bench_best(2, c.repeats, run_driver, &c);
                if (d < driver) driver = d;
            }
            printf("%-16s %12lld B %20.2f", names[c.direction], (long long)c.bytes,
                   (double)c.bytes / ours);
            if (cu != NULL)
                printf(" %10.2f   time %.3fx, +%.0f ns", (double)c.bytes / driver, ours / driver,
                       ours - driver);
            printf("\n");
        }
        must(spad_buffer_free(c.a, &error), &error);
        must(spad_buffer_free(c.b, &error), &error);
        free(c.host);
    }
}

/* ---- load -------------------------------------------------------------------------- */

/* Blocks are written, copied and read back on four streams and freed at once after that, so
 * the same addresses are in flight over and over; every byte that comes back is checked. */
static void load_streams(spad_device *device) {
    enum { STREAMS = 4, ROUNDS = 20000, WORDS = 4096, SLOTS = 256 };
    spad_error error;
    spad_stream streams[STREAMS];
    uint32_t *in = checked(malloc(SLOTS * WORDS * sizeof *in));
    uint32_t *out = checked(calloc(SLOTS * WORDS, sizeof *out));
    long wrong = 0;
    for (int s = 0; s < STREAMS; s++) must(spad_stream_open(&streams[s], device, &error), &error);
    const double start = bench_seconds();
    for (int i = 0; i < ROUNDS; i++) {
        const spad_stream *stream = &streams[i % STREAMS];
        uint32_t *source = in + (size_t)(i % SLOTS) * WORDS;
        uint32_t *target = out + (size_t)(i % SLOTS) * WORDS;
        if (i >= SLOTS && i % SLOTS == 0) {
            for (int s = 0; s < STREAMS; s++) must(spad_stream_wait(streams[s], &error), &error);
            for (int w = 0; w < SLOTS * WORDS; w++) wrong += in[w] != out[w];
        }
        for (int w = 0; w < WORDS; w++) source[w] = (uint32_t)i * 2654435761u ^ (uint32_t)w;
        const spad_buffer_spec spec = {.shape = SPAD_SHAPE(WORDS), .dtype = SPAD_UINT32};
        spad_buffer a, b;
        must(spad_buffer_alloc(&a, device, &spec, &error), &error);
        must(spad_buffer_alloc(&b, device, &spec, &error), &error);
        must(spad_buffer_write(a, 0, source, WORDS * 4, stream, &error), &error);
        must(spad_buffer_copy_async(b, a, *stream, &error), &error);
        must(spad_buffer_free(a, &error), &error);
        must(spad_buffer_read(target, b, 0, WORDS * 4, stream, &error), &error);
        must(spad_buffer_free(b, &error), &error);
    }
    for (int s = 0; s < STREAMS; s++) must(spad_stream_close(streams[s], &error), &error);
    for (int w = 0; w < SLOTS * WORDS; w++) wrong += in[w] != out[w];
    const spad_memory_stats stats = spad_device_get_stats(device, SPAD_GLOBAL);
    printf("\nreuse in the order of streams: %d rounds on %d streams in %.2f s, %ld wrong words, "
           "%lld buffers left\n",
           ROUNDS, STREAMS, bench_seconds() - start, wrong, (long long)stats.live_blocks);
    free(in);
    free(out);
    if (wrong != 0) exit(1);
}

int main(int argc, char **argv) {
    const char *name = argc > 1 ? argv[1] : "host";
    cuda cu;
    spad_device *device;
    spad_error error;
    must(spad_device_open(&device, name, NULL, &error), &error);
    const bool has_cuda = open_cuda(&cu, name);
    const spad_device_info *info = spad_device_get_info(device);
    printf("%s: %s, %s\n", info->name, info->about, info->driver);
    bench_pairs(device, has_cuda ? &cu : NULL);
    bench_copies(device, has_cuda ? &cu : NULL);
    load_streams(device);
    spad_device_close(device, NULL);
    return 0;
}
