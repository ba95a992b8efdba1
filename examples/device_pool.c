/* SPDX-License-Identifier: Apache-2.0
 *
 * A pool with a largest size, a block size and a scope (T.memory_pool), and what to do when it
 * is full: the error has the facts, a smaller request may do, and a callback can make room.
 */
#include <stdio.h>

#include "spad/device.h"
#include "spad/spad.h"

/* Something that can be dropped when memory is short. */
typedef struct cache {
    spad_allocation block;
} cache;

static bool drop_cache(void *context, spad_pool *pool, int64_t needed) {
    cache *c = context;
    if (c->block.handle == 0) return false; /* nothing left to drop: refuse */
    printf("%lld B are needed: dropping %lld B\n", (long long)needed, (long long)c->block.bytes);
    spad_pool_free(pool, &c->block, NULL);
    c->block = (spad_allocation){0};
    return true;
}

int main(void) {
    spad_device *device;
    spad_pool *pool;
    spad_error error;
    spad_allocation buffer;
    cache c = {0};
    if (spad_device_open(&device, "host", NULL, &error) != SPAD_OK) return 1;
    const spad_memory memory = spad_device_get_memory(device);
    const spad_pool_options options = {.max_bytes = 1024 * 1024,
                                       .initial_bytes = 1024 * 1024,
                                       .block_bytes = 4096,
                                       .retry = drop_cache,
                                       .retry_context = &c};
    if (spad_pool_create(&pool, &memory, &options, &error) != SPAD_OK) return 1;

    spad_pool_alloc(&buffer, pool, 256 * 256 * 2, SPAD_ALIGN_ANY, &error);
    spad_pool_free(pool, &buffer, &error);
    if (spad_pool_free(pool, &buffer, &error) != SPAD_OK)
        printf("freeing twice: %s\n", spad_status_code(error.code));

    spad_pool_alloc(&c.block, pool, 600 * 1024, SPAD_ALIGN_ANY, &error);
    if (spad_pool_alloc(&buffer, pool, 900 * 1024, SPAD_ALIGN_ANY, &error) == SPAD_OK)
        printf("%lld B after all\n", (long long)buffer.bytes);

    spad_allocation more; /* T.MemoryError: try a smaller one */
    if (spad_pool_alloc(&more, pool, 512 * 1024, SPAD_ALIGN_ANY, &error) != SPAD_OK) {
        printf("%s\n", error.message);
        if (spad_pool_alloc(&more, pool, error.largest_hole, SPAD_ALIGN_ANY, &error) == SPAD_OK)
            printf("%lld B instead\n", (long long)more.bytes);
    }
    const spad_pool_stats stats = spad_pool_get_stats(pool);
    printf("allocated %lld B, peak %lld B, freed %lld B, %lld refused\n",
           (long long)stats.blocks.allocated_bytes, (long long)stats.blocks.peak_bytes,
           (long long)stats.blocks.freed_bytes, (long long)stats.blocks.failures);
    spad_pool_destroy(pool);
    spad_device_close(device, NULL);
    return 0;
}
