/* SPDX-License-Identifier: Apache-2.0
 * The pool and the wrappers: what they refuse, what they say, and threads. */
#define _POSIX_C_SOURCE 200809L
#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/random.h"
#include "spad/device/pool.h"
#include "support/support.h"

/* Memory of the C library, counted: 64-byte aligned, a limit, and faults on request. */
typedef struct source {
    spad_memory memory;
    int64_t live;
    int64_t calls;
    int64_t most; /* larger requests are refused */
    bool free_fails;
} source;

static spad_status source_alloc(void *context, spad_allocation *out, int64_t bytes, int64_t align,
                                spad_error *error) {
    source *s = context;
    (void)align;
    s->calls++;
    if (bytes > s->most) {
        if (error != NULL) *error = (spad_error){.code = SPAD_ERR_NO_FIT, .message = "too large"};
        return SPAD_ERR_NO_FIT;
    }
    void *block = aligned_alloc(64, (size_t)(bytes + 63) / 64 * 64);
    assert_non_null(block);
    s->live++;
    *out = (spad_allocation){(int64_t)(uintptr_t)block, bytes, (uint64_t)(uintptr_t)block};
    return SPAD_OK;
}

static spad_status source_free(void *context, const spad_allocation *block, spad_error *error) {
    source *s = context;
    if (s->free_fails) {
        if (error != NULL) *error = (spad_error){.code = SPAD_ERR_DEVICE, .message = "no"};
        return SPAD_ERR_DEVICE;
    }
    s->live--;
    free((void *)(uintptr_t)block->handle);
    return SPAD_OK;
}

static void source_init(source *s) {
    static const spad_memory_calls calls = {.alloc = source_alloc, .free = source_free};
    *s = (source){.memory = {.calls = &calls, .context = s}, .most = INT64_MAX};
}

static spad_pool *new_pool(const spad_memory *below, spad_pool_options options) {
    spad_error error;
    spad_pool *pool;
    assert_ok(below != NULL ? spad_pool_create(&pool, below, &options, &error)
                            : spad_pool_create_over(&pool, 0, options.max_bytes, &options, &error),
              &error);
    return pool;
}

static spad_allocation get(spad_pool *pool, int64_t bytes, int64_t align) {
    spad_error error;
    spad_allocation block;
    assert_ok(spad_pool_alloc(&block, pool, bytes, align, &error), &error);
    return block;
}

static void put(spad_pool *pool, spad_allocation block) {
    spad_error error;
    assert_ok(spad_pool_free(pool, &block, &error), &error);
}

/* ---- what is refused --------------------------------------------------------------- */

static void bad_options_are_refused(void **state) {
    (void)state;
    static const struct {
        spad_pool_options options;
        spad_status status;
        const char *message;
    } cases[] = {
        {{.max_bytes = -1}, SPAD_ERR_ARGUMENT, "a pool with a negative size"},
        {{.max_bytes = 64, .block_bytes = 48},
         SPAD_ERR_ALIGNMENT,
         "blocks of 48 B; the size has to be a power of two"},
        {{.max_bytes = 64, .initial_bytes = 65},
         SPAD_ERR_ARGUMENT,
         "the pool begins with 65 B, which is more than its limit of 64 B"},
        {{.max_bytes = 63}, SPAD_ERR_ARGUMENT, "a pool over 63 B has no room for a block of 64 B"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        spad_error error;
        spad_pool *pool;
        assert_int_equal(
            spad_pool_create_over(&pool, 0, cases[i].options.max_bytes, &cases[i].options, &error),
            cases[i].status);
        assert_string_equal(error.message, cases[i].message);
        assert_null(pool);
    }
    spad_error error;
    spad_pool *pool;
    assert_int_equal(spad_pool_create_over(&pool, 1, INT64_MAX, NULL, &error), SPAD_ERR_OVERFLOW);
    assert_string_equal(error.message, "the end of the pool does not fit 64 bits");
}

static void bad_requests_are_refused(void **state) {
    (void)state;
    static const struct {
        int64_t bytes, align;
        spad_status status;
        const char *message;
    } cases[] = {
        {-1, 1, SPAD_ERR_ARGUMENT, "a block of -1 B; sizes cannot be negative"},
        {1, 0, SPAD_ERR_ALIGNMENT, "alignment 0 is not a power of two; use 1 for none"},
        {1, 48, SPAD_ERR_ALIGNMENT, "alignment 48 is not a power of two; use 1 for none"},
        {1, -8, SPAD_ERR_ALIGNMENT, "alignment -8 is not a power of two; use 1 for none"},
        {1, INT64_MIN, SPAD_ERR_ALIGNMENT, NULL},
        {INT64_MAX, 1, SPAD_ERR_OVERFLOW,
         "a block of 9223372036854775807 B, rounded up to blocks of 64 B, does not fit 64 bits"},
        {INT64_MAX - 63, 1, SPAD_ERR_NO_FIT,
         "9223372036854775744 B at alignment 1 do not fit: 4096 of 4096 B are free, the largest "
         "hole is 4096 B (fragmentation 0 %); free something or request less"},
        {1, INT64_C(1) << 62, SPAD_ERR_NO_FIT, NULL},
    };
    spad_pool *pool = new_pool(NULL, (spad_pool_options){.max_bytes = 4096});
    put(pool, get(pool, 1, 1)); /* so that address 0 is in a list */
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        spad_error error;
        spad_allocation block;
        spad_allocation far;
        if (cases[i].align == INT64_C(1) << 62) far = get(pool, 1, 1); /* takes address 0 */
        assert_int_equal(spad_pool_alloc(&block, pool, cases[i].bytes, cases[i].align, &error),
                         cases[i].status);
        if (cases[i].message != NULL) assert_string_equal(error.message, cases[i].message);
        assert_int_equal(block.handle, 0);
        if (cases[i].align == INT64_C(1) << 62) put(pool, far);
    }
    assert_int_equal(spad_pool_get_stats(pool).blocks.failures, 2);
    spad_pool_destroy(pool);
}

static void blocks_that_are_not_there_cannot_be_freed(void **state) {
    (void)state;
    spad_error error;
    spad_pool *pool = new_pool(NULL, (spad_pool_options){.max_bytes = 4096});
    spad_pool *other = new_pool(NULL, (spad_pool_options){.max_bytes = 4096});
    const spad_allocation a = get(pool, 100, 1);
    const spad_allocation foreign = get(other, 100, 1);
    spad_allocation moved = a;
    moved.address += 64;
    const spad_allocation garbage = {.address = 1, .bytes = 1, .handle = UINT64_MAX};
    put(pool, (spad_allocation){0});
    put(pool, a);
    const spad_allocation bad[] = {a, foreign, moved, garbage};
    for (size_t i = 0; i < sizeof bad / sizeof bad[0]; i++) {
        assert_int_equal(spad_pool_free(pool, &bad[i], &error), SPAD_ERR_STALE);
    }
    assert_string_equal(error.message,
                        "the block at 0x1 of 1 B is not allocated in this pool: it was freed "
                        "before, or belongs to another pool");
    const spad_allocation again = get(pool, 100, 1); /* the same bytes, another block */
    assert_int_equal(again.address, a.address);
    assert_int_equal(spad_pool_free(pool, &a, &error), SPAD_ERR_STALE);
    put(pool, again);
    put(other, foreign);
    assert_int_equal(spad_pool_get_stats(pool).blocks.live_blocks, 0);
    spad_pool_destroy(other);
    spad_pool_destroy(pool);
}

/* A host that gives the same addresses again after it is emptied. */
typedef struct fixed_host {
    spad_host host;
    size_t used;
    max_align_t bytes[1 << 14];
} fixed_host;

static void *fixed_resize(void *context, void *block, size_t old_size, size_t new_size) {
    fixed_host *h = context;
    if (new_size == 0) return NULL;
    const size_t units = (new_size + sizeof h->bytes[0] - 1) / sizeof h->bytes[0];
    assert_true(units <= sizeof h->bytes / sizeof h->bytes[0] - h->used);
    void *made = &h->bytes[h->used];
    h->used += units;
    if (block != NULL) memcpy(made, block, old_size < new_size ? old_size : new_size);
    return made;
}

/* A block of a pool that was destroyed is stale in another at its address. */
static void blocks_of_a_pool_that_is_gone_are_stale(void **state) {
    (void)state;
    static fixed_host fixed;
    fixed.host = (spad_host){.resize = fixed_resize, .context = &fixed};
    const spad_pool_options options = {.max_bytes = 4096, .host = &fixed.host};
    spad_allocation old = {0};
    const spad_pool *first = NULL;
    for (int i = 0; i < 200; i++) {
        spad_error error;
        fixed.used = 0;
        spad_pool *pool = new_pool(NULL, options);
        if (i == 0) first = pool;
        assert_ptr_equal(pool, first);
        const spad_allocation block = get(pool, 100, 1);
        if (i > 0) {
            assert_int_equal(block.address, old.address);
            assert_int_equal(spad_pool_free(pool, &old, &error), SPAD_ERR_STALE);
            assert_int_equal(spad_pool_get_stats(pool).blocks.live_blocks, 1);
        }
        old = block;
        spad_pool_destroy(pool);
    }
}

/* ---- what is promised -------------------------------------------------------------- */

static void exhaustion_tells_what_is_left(void **state) {
    (void)state;
    spad_error error;
    spad_allocation blocks[8];
    spad_allocation block;
    spad_pool *pool =
        new_pool(NULL, (spad_pool_options){.max_bytes = 8 * 1024, .block_bytes = 1024});
    for (int i = 0; i < 8; i++) blocks[i] = get(pool, 1024, 1);
    for (int i = 0; i < 8; i += 2) put(pool, blocks[i]);
    put(pool, blocks[1]);
    assert_int_equal(spad_pool_alloc(&block, pool, 4000, 1, &error), SPAD_ERR_NO_FIT);
    assert_int_equal(error.needed, 4096);
    assert_int_equal(error.available, 5 * 1024);
    assert_int_equal(error.largest_hole, 3 * 1024);
    assert_string_equal(error.message,
                        "4096 B at alignment 1 do not fit: 5120 of 8192 B are free, the largest "
                        "hole is 3072 B (fragmentation 40 %); free something or request less");
    assert_int_equal(get(pool, 3000, 1).address, 0); /* the smaller size does */
    spad_pool_destroy(pool);
}

static bool free_one(void *context, spad_pool *pool, int64_t needed) {
    spad_allocation *block = context;
    assert_int_equal(needed, 4096);
    if (block->handle == 0) return false;
    put(pool, *block);
    *block = (spad_allocation){0};
    return true;
}

/* A hole of exactly the size of the request, padding included, is taken. 33 blocks are no whole
 * size class, so that the bins above have nothing and the hole is found by looking. */
static void the_last_hole_is_taken_whole(void **state) {
    (void)state;
    static const struct {
        int64_t base, bytes, align, address;
    } cases[] = {{0, 33 * 64, 1, 0},
                 {64, 33 * 64, 64, 64},
                 {64, 33 * 64, 128, 128},
                 {64, 31 * 64, 256, 256}};
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        spad_error error;
        spad_pool *pool;
        spad_allocation block;
        const int64_t pad = cases[i].address - cases[i].base;
        const spad_pool_options options = {.max_bytes = pad + cases[i].bytes, .exact = true};
        assert_ok(spad_pool_create_over(&pool, cases[i].base, options.max_bytes, &options, &error),
                  &error);
        assert_int_equal(spad_pool_alloc(&block, pool, cases[i].bytes + 64, cases[i].align, &error),
                         SPAD_ERR_NO_FIT);
        block = get(pool, cases[i].bytes, cases[i].align);
        assert_int_equal(block.address, cases[i].address);
        assert_int_equal(spad_pool_get_stats(pool).free_bytes, pad);
        put(pool, block);
        assert_int_equal(spad_pool_get_stats(pool).largest_hole, pad + cases[i].bytes);
        assert_ok(spad_pool_check(pool, &error), &error);
        spad_pool_destroy(pool);
    }
}
static void a_callback_can_make_room(void **state) {
    (void)state;
    spad_error error;
    spad_allocation block;
    spad_allocation held = {0};
    spad_pool *pool = new_pool(
        NULL, (spad_pool_options){.max_bytes = 4096, .retry = free_one, .retry_context = &held});
    held = get(pool, 64, 1);
    block = get(pool, 4096, 1);
    assert_int_equal(held.handle, 0);
    put(pool, block);
    held = get(pool, 64, 1);
    const spad_allocation pin = get(pool, 64, 1);
    assert_int_equal(spad_pool_alloc(&block, pool, 4096, 1, &error), SPAD_ERR_NO_FIT);
    put(pool, pin);
    spad_pool_destroy(pool);
}

static void chunks_come_from_below_and_go_back(void **state) {
    (void)state;
    source s;
    source_init(&s);
    int64_t released;
    spad_error error;
    spad_pool *pool = new_pool(
        &s.memory,
        (spad_pool_options){.max_bytes = 1 << 20, .initial_bytes = 1000, .grow_bytes = 4096});
    assert_int_equal(s.live, 1);
    const spad_allocation a = get(pool, 1024, 1);
    const spad_allocation b = get(pool, 1, 1); /* the first chunk is full */
    const spad_allocation c = get(pool, 100000, 4096);
    assert_true(spad_is_aligned(c.address, 4096));
    assert_int_equal(spad_pool_get_stats(pool).chunks, 3);
    put(pool, b);
    put(pool, c);
    assert_ok(spad_pool_trim(&released, pool, 0, &error), &error);
    assert_true(released > 100000);
    assert_int_equal(s.live, 1);
    put(pool, a);
    assert_ok(spad_pool_trim(&released, pool, 1024, &error), &error);
    assert_int_equal(released, 0);
    assert_ok(spad_pool_trim(&released, pool, INT64_MAX, &error), &error);
    assert_int_equal(released, 0);
    s.free_fails = true;
    assert_int_equal(spad_pool_trim(&released, pool, INT64_MIN, &error), SPAD_ERR_DEVICE);
    assert_ok(spad_pool_check(pool, &error), &error);
    s.free_fails = false;
    spad_pool_destroy(pool);
    assert_int_equal(s.live, 0);
}

/* When the memory below has no usual chunk, one that is just large enough will do. */
static void a_small_chunk_is_better_than_none(void **state) {
    (void)state;
    source s;
    source_init(&s);
    s.most = 100 * 64;
    spad_error error;
    spad_allocation block;
    spad_pool *pool = new_pool(&s.memory, (spad_pool_options){.grow_bytes = 1 << 20});
    put(pool, get(pool, 6000, 1));
    assert_int_equal(s.calls, 2);
    assert_int_equal(spad_pool_alloc(&block, pool, 7000, 1, &error), SPAD_ERR_NO_FIT);
    assert_int_equal(error.needed, 7040);
    assert_string_equal(error.message, "too large"); /* what the memory says, not the pool */
    spad_pool_destroy(pool);
    assert_int_equal(s.live, 0);
    spad_pool_options first = {.initial_bytes = 1 << 20};
    assert_int_equal(spad_pool_create(&pool, &s.memory, &first, &error), SPAD_ERR_NO_FIT);
    assert_null(pool);
}

/* Free bytes in the lists of threads count when they are needed. */
static void lists_give_way(void **state) {
    (void)state;
    spad_allocation blocks[64];
    spad_pool *pool = new_pool(NULL, (spad_pool_options){.max_bytes = 64 * 64});
    for (int i = 0; i < 64; i++) blocks[i] = get(pool, 64, 1);
    for (int i = 0; i < 64; i++) put(pool, blocks[i]);
    assert_true(spad_pool_get_stats(pool).cached_bytes > 0);
    const spad_allocation whole = get(pool, 64 * 64, 1);
    assert_int_equal(whole.address, 0);
    assert_int_equal(spad_pool_get_stats(pool).cached_bytes, 0);
    put(pool, whole);
    spad_pool_destroy(pool);
}

static void *use_and_free(void *context) {
    spad_allocation blocks[64];
    for (int i = 0; i < 64; i++) {
        if (spad_pool_alloc(&blocks[i], context, 64, 1, NULL) != SPAD_OK) abort();
    }
    for (int i = 0; i < 64; i++) {
        if (spad_pool_free(context, &blocks[i], NULL) != SPAD_OK) abort();
    }
    return NULL;
}

/* Those of others too, even of threads that are gone. */
static void lists_of_other_threads_give_way(void **state) {
    (void)state;
    pthread_t threads[4];
    spad_pool *pool = new_pool(NULL, (spad_pool_options){.max_bytes = 5 * 64 * 64});
    for (int i = 0; i < 4; i++) {
        assert_int_equal(pthread_create(&threads[i], NULL, use_and_free, pool), 0);
    }
    for (int i = 0; i < 4; i++) pthread_join(threads[i], NULL);
    assert_true(spad_pool_get_stats(pool).cached_bytes > 0);
    put(pool, get(pool, 5 * 64 * 64, 1));
    spad_pool_destroy(pool);
}

/* Half the pool is in lists as two blocks and a few bytes as small ones: the two make room. */
static void large_blocks_give_way_first(void **state) {
    (void)state;
    spad_error error;
    spad_pool *pool = new_pool(NULL, (spad_pool_options){.max_bytes = 1 << 20});
    const spad_allocation small[] = {get(pool, 64, 1), get(pool, 192, 1), get(pool, 4096, 1)};
    const spad_allocation large[] = {get(pool, 1 << 18, 1), get(pool, 1 << 18, 1)};
    for (size_t i = 0; i < 3; i++) put(pool, small[i]);
    for (size_t i = 0; i < 2; i++) put(pool, large[i]);
    const int64_t cached = spad_pool_get_stats(pool).cached_bytes;
    assert_true(cached > 2 << 18);
    put(pool, get(pool, 3 << 18, 1));
    assert_int_equal(spad_pool_get_stats(pool).cached_bytes, cached - (2 << 18) + (3 << 18));
    assert_ok(spad_pool_check(pool, &error), &error);
    spad_pool_destroy(pool);
}

static void statistics_are_exact_in_one_thread(void **state) {
    (void)state;
    spad_pool *pool = new_pool(NULL, (spad_pool_options){.max_bytes = 1 << 20});
    const spad_allocation a = get(pool, 1000, 1);
    const spad_allocation b = get(pool, 500, 1);
    put(pool, a);
    const spad_allocation c = get(pool, 0, 1);
    const spad_pool_stats stats = spad_pool_get_stats(pool);
    assert_int_equal(stats.blocks.allocated_bytes, 500);
    assert_int_equal(stats.blocks.peak_bytes, 1500);
    assert_int_equal(stats.blocks.freed_bytes, 1000);
    assert_int_equal(stats.blocks.total_bytes, 1500);
    assert_int_equal(stats.blocks.live_blocks, 2);
    assert_int_equal(stats.blocks.peak_blocks, 2);
    assert_int_equal(stats.blocks.allocations, 3);
    assert_int_equal(stats.blocks.frees, 1);
    assert_int_equal(stats.capacity_bytes, 1 << 20);
    put(pool, b);
    put(pool, c);
    spad_pool_destroy(pool);
}

/* ---- wrappers ---------------------------------------------------------------------- */

static void wrappers_stack(void **state) {
    (void)state;
    spad_error error;
    spad_pool *pool = new_pool(NULL, (spad_pool_options){.max_bytes = 1 << 20, .exact = true});
    const spad_memory pooled = spad_pool_get_memory(pool);
    spad_wrapper *limit, *statistics, *log, *fault;
    test_text text;
    test_text_init(&text);
    assert_ok(spad_wrapper_create_limit(&limit, &pooled, 1000, NULL, &error), &error);
    const spad_memory limited = spad_wrapper_get_memory(limit);
    assert_ok(spad_wrapper_create_statistics(&statistics, &limited, NULL, &error), &error);
    const spad_memory counted = spad_wrapper_get_memory(statistics);
    assert_ok(spad_wrapper_create_fault(&fault, &counted, 3, 2, NULL, &error), &error);
    const spad_memory faulty = spad_wrapper_get_memory(fault);
    assert_ok(spad_wrapper_create_log(&log, &faulty, &text.sink, NULL, NULL, &error), &error);
    const spad_memory memory = spad_wrapper_get_memory(log);

    spad_allocation a, b, c;
    assert_ok(spad_memory_alloc(&a, &memory, 900, 64, &error), &error);
    assert_int_equal(spad_memory_alloc(&b, &memory, 101, 1, &error), SPAD_ERR_NO_FIT);
    assert_string_equal(error.message, "101 B are above the limit: 100 of 1000 B are left; free "
                                       "something or raise the limit");
    assert_int_equal(error.available, 100);
    assert_int_equal(spad_memory_alloc(&b, &memory, 1, 1, &error), SPAD_ERR_NO_FIT);
    assert_string_equal(error.message, "allocation number 3 is refused on purpose");
    assert_ok(spad_memory_alloc(&b, &memory, 100, 1, &error), &error);
    assert_int_equal(spad_memory_alloc(&c, &memory, 0, 1, &error), SPAD_ERR_NO_FIT);
    assert_ok(spad_memory_free(&memory, &a, &error), &error);
    assert_int_equal(spad_memory_free(&memory, &a, &error), SPAD_ERR_STALE);
    assert_ok(spad_memory_free(&memory, &b, &error), &error);
    assert_ok(spad_memory_free(&memory, &c, &error), &error); /* no block */
    const spad_memory_stats stats = spad_wrapper_get_stats(statistics);
    assert_int_equal(stats.allocations, 2);
    assert_int_equal(stats.failures, 1);
    assert_int_equal(stats.peak_bytes, 1000);
    assert_int_equal(stats.freed_bytes, 1000);
    assert_int_equal(stats.allocated_bytes, 0);
    assert_string_equal(text.bytes, "Thread,Time,Action,Pointer,Size,Stream\n"
                                    "0,0,allocate,0x0,900,0x0\n"
                                    "0,1,allocate failure,0x0,101,0x0\n"
                                    "0,2,allocate failure,0x0,1,0x0\n"
                                    "0,3,allocate,0x3c0,100,0x0\n"
                                    "0,4,allocate failure,0x0,0,0x0\n"
                                    "0,5,free,0x0,900,0x0\n"
                                    "0,6,free,0x3c0,100,0x0\n");
    text.fail_after = text.count; /* a log that cannot be written */
    assert_ok(spad_memory_alloc(&c, &counted, 10, 1, &error), &error);
    assert_ok(spad_memory_free(&counted, &c, &error), &error);
    assert_int_equal(spad_memory_alloc(&a, &memory, 10, 1, &error), SPAD_ERR_IO);
    assert_int_equal(a.handle, 0);
    assert_int_equal(spad_wrapper_get_stats(statistics).allocated_bytes, 0);
    spad_wrapper_destroy(log);
    spad_wrapper_destroy(fault);
    spad_wrapper_destroy(statistics);
    spad_wrapper_destroy(limit);
    spad_wrapper_destroy(NULL);
    spad_pool_destroy(pool);
    spad_pool_destroy(NULL);
    test_text_free(&text);
}

static void wrappers_refuse_nonsense(void **state) {
    (void)state;
    spad_error error;
    spad_wrapper *w;
    spad_allocation block = {.handle = 1};
    const spad_memory none = {0};
    source s;
    source_init(&s);
    assert_int_equal(spad_wrapper_create_statistics(&w, &none, NULL, &error), SPAD_ERR_ARGUMENT);
    assert_int_equal(spad_wrapper_create_limit(&w, &s.memory, -1, NULL, &error), SPAD_ERR_ARGUMENT);
    assert_int_equal(spad_wrapper_create_fault(&w, &s.memory, 0, 0, NULL, &error),
                     SPAD_ERR_ARGUMENT);
    assert_int_equal(spad_memory_free(&none, &block, &error), SPAD_ERR_ARGUMENT);
    assert_int_equal(spad_memory_alloc(&block, &none, 1, 1, &error), SPAD_ERR_ARGUMENT);
    assert_int_equal(spad_memory_alloc(&block, &s.memory, -1, 1, &error), SPAD_ERR_ARGUMENT);
    assert_int_equal(spad_memory_alloc(&block, &s.memory, 1, 3, &error), SPAD_ERR_ALIGNMENT);
    assert_string_equal(error.message, "alignment 3 is not a power of two; use 1 for none");
    assert_false(spad_is_aligned(0, 0));
    assert_true(spad_is_aligned(96, 48));
    assert_false(spad_is_aligned(97, 48));
}

/* ---- memory that runs out ---------------------------------------------------------- */

static spad_status scenario(const spad_host *host, void *context) {
    source *s = context;
    spad_pool *pool;
    spad_wrapper *w;
    spad_allocation blocks[3];
    const spad_pool_options options = {.grow_bytes = 4096, .initial_bytes = 64, .host = host};
    spad_status status = spad_pool_create(&pool, &s->memory, &options, NULL);
    if (status != SPAD_OK) return status;
    const spad_memory pooled = spad_pool_get_memory(pool);
    status = spad_wrapper_create_statistics(&w, &pooled, host, NULL);
    for (int i = 0; i < 3 && status == SPAD_OK; i++) {
        status = spad_pool_alloc(&blocks[i], pool, 3000, 1024, NULL);
    }
    for (int i = 0; i < 3 && status == SPAD_OK; i++) {
        status = spad_pool_free(pool, &blocks[i], NULL);
    }
    spad_wrapper_destroy(w);
    spad_pool_destroy(pool);
    return status;
}

static void every_host_allocation_may_fail(void **state) {
    (void)state;
    source s;
    source_init(&s);
    test_fail_each_allocation(scenario, &s);
    assert_int_equal(s.live, 0);
}

/* Requests of many sizes; the first that fails must leave the pool as it was, and succeed later. */
static void request_until_failure(test_host *host, source *s, bool *failed) {
    spad_allocation blocks[160] = {{0}};
    spad_pool *pool;
    const spad_pool_options options = {.grow_bytes = 8192, .host = &host->host};
    *failed = spad_pool_create(&pool, &s->memory, &options, NULL) != SPAD_OK;
    for (int i = 0; i < 160 && !*failed; i++) {
        const spad_pool_stats before = spad_pool_get_stats(pool);
        const int64_t chunks = s->live;
        const int64_t bytes = 64 * (1 + i * 7 % 60);
        if (spad_pool_alloc(&blocks[i], pool, bytes, i % 5 == 0 ? 256 : 1, NULL) == SPAD_OK) {
            if (i % 3 == 0) put(pool, blocks[i]);
            continue;
        }
        spad_pool_stats after = spad_pool_get_stats(pool);
        assert_int_equal(after.blocks.failures, before.blocks.failures + 1);
        after.blocks.failures = before.blocks.failures;
        assert_memory_equal(&after, &before, sizeof before);
        assert_int_equal(s->live, chunks);
        *failed = true;
        host->fail_at = 0;
        put(pool, get(pool, bytes, 1));
    }
    spad_pool_destroy(pool);
}

static void a_request_without_host_memory_changes_nothing(void **state) {
    (void)state;
    bool failed = true;
    long failures = 0;
    for (long n = 1; failed; n++) {
        source s;
        test_host host;
        source_init(&s);
        test_host_init(&host);
        host.fail_at = n;
        request_until_failure(&host, &s, &failed);
        failures += failed;
        test_host_assert_clean(&host);
        assert_int_equal(s.live, 0);
    }
    assert_true(failures > 10);
}

/* ---- threads ----------------------------------------------------------------------- */

enum { THREADS = 4, SLOTS = 64 };

/* Blocks are passed between threads through shared slots, filled with a pattern by
 * the thread that allocates and verified by the one that frees. */
typedef struct shared {
    spad_pool *pool;
    pthread_mutex_t mutex;
    spad_allocation slots[SLOTS];
    int64_t operations; /* of each thread */
    uint64_t next_seed;
    int64_t refused;
} shared;

static unsigned char pattern_of(const spad_allocation *block) {
    return (unsigned char)(block->handle >> 32 ^ block->handle ^ (uint64_t)block->address >> 6);
}

static void verify_and_free(spad_pool *pool, const spad_allocation *block) {
    const unsigned char *bytes = (const unsigned char *)(uintptr_t)block->address;
    for (int64_t i = 0; i < block->bytes; i++) {
        if (bytes[i] != pattern_of(block)) abort(); /* cmocka's asserts are for one thread */
    }
    if (spad_pool_free(pool, block, NULL) != SPAD_OK) abort();
}

static void *stress(void *context) {
    shared *s = context;
    pthread_mutex_lock(&s->mutex);
    spad__random random = {s->next_seed++};
    pthread_mutex_unlock(&s->mutex);
    for (int64_t i = 0; i < s->operations; i++) {
        spad_allocation block = {0};
        const int64_t bytes = (int64_t)spad__random_below(&random, 32)
                              << spad__random_below(&random, 8);
        const int64_t align = INT64_C(1) << spad__random_below(&random, i % 16 == 0 ? 12 : 7);
        if (spad_pool_alloc(&block, s->pool, bytes, align, NULL) == SPAD_OK) {
            if (!spad_is_aligned(block.address, align)) abort();
            memset((void *)(uintptr_t)block.address, pattern_of(&block), (size_t)bytes);
        }
        const uint64_t slot = spad__random_below(&random, SLOTS);
        pthread_mutex_lock(&s->mutex);
        const spad_allocation old = s->slots[slot];
        s->refused += block.handle == 0;
        s->slots[slot] = block;
        pthread_mutex_unlock(&s->mutex);
        if (old.handle != 0) verify_and_free(s->pool, &old);
    }
    return NULL;
}

/* Operations in all: SPAD_STRESS in the environment, or a number that is quick anywhere. */
static int64_t stress_operations(void) {
    const char *text = getenv("SPAD_STRESS");
    return text != NULL ? atoll(text) : 40000;
}

typedef struct relay {
    spad_pool *pool;
    int left;
} relay;

/* One thread after another has a block, and none ends before those after it. */
static void *pass_on(void *context) {
    relay *r = context;
    spad_allocation block;
    pthread_t next;
    if (spad_pool_alloc(&block, r->pool, 1 << 20, 1, NULL) != SPAD_OK) abort();
    if (spad_pool_free(r->pool, &block, NULL) != SPAD_OK) abort();
    if (r->left-- == 0) return NULL;
    if (pthread_create(&next, NULL, pass_on, r) != 0) abort();
    pthread_join(next, NULL);
    return NULL;
}

static void peaks_of_threads_are_not_more_than_was_held(void **state) {
    (void)state;
    source s;
    source_init(&s);
    for (int exact = 0; exact < 2; exact++) {
        relay r = {.left = THREADS};
        r.pool = new_pool(&s.memory, (spad_pool_options){.exact = exact != 0,
                                                         .block_bytes = 1 << 20,
                                                         .max_bytes = 1 << 20,
                                                         .grow_bytes = 1 << 20});
        pass_on(&r);
        const spad_pool_stats stats = spad_pool_get_stats(r.pool);
        assert_int_equal(stats.blocks.allocations, THREADS + 1);
        assert_int_equal(stats.peak_held_bytes, 1 << 20);
        assert_int_equal(stats.blocks.peak_bytes, 1 << 20);
        assert_int_equal(stats.blocks.peak_blocks, 1);
        spad_pool_destroy(r.pool);
    }
}

static void threads_keep_out_of_each_others_blocks(void **state) {
    (void)state;
    source s;
    source_init(&s);
    spad_error error;
    shared all = {.operations = stress_operations() / THREADS, .next_seed = 1};
    /* small enough that it is full now and then */
    all.pool =
        new_pool(&s.memory, (spad_pool_options){.max_bytes = 96 * 1024, .grow_bytes = 16 * 1024});
    pthread_mutex_init(&all.mutex, NULL);
    pthread_t threads[THREADS];
    for (int i = 0; i < THREADS; i++) {
        assert_int_equal(pthread_create(&threads[i], NULL, stress, &all), 0);
    }
    for (int i = 0; i < THREADS; i++) pthread_join(threads[i], NULL);
    assert_ok(spad_pool_check(all.pool, &error), &error);
    for (int i = 0; i < SLOTS; i++) {
        if (all.slots[i].handle != 0) verify_and_free(all.pool, &all.slots[i]);
    }
    const spad_pool_stats stats = spad_pool_get_stats(all.pool);
    assert_int_equal(stats.blocks.live_blocks, 0);
    assert_int_equal(stats.blocks.allocated_bytes, 0);
    assert_int_equal(stats.blocks.failures, all.refused);
    assert_int_equal(stats.blocks.allocations + all.refused, all.operations * THREADS);
    assert_ok(spad_pool_trim(NULL, all.pool, 0, &error), &error);
    assert_int_equal(s.live, 0);
    pthread_mutex_destroy(&all.mutex);
    spad_pool_destroy(all.pool);
}

/* Two threads free the same block: exactly one succeeds. */
typedef struct race {
    spad_pool *pool;
    spad_allocation blocks[256];
    pthread_barrier_t barrier;
} race;

static void *free_all(void *context) {
    race *r = context;
    intptr_t freed = 0;
    for (int i = 0; i < 256; i++) {
        if (i % 16 == 0) pthread_barrier_wait(&r->barrier);
        freed += spad_pool_free(r->pool, &r->blocks[i], NULL) == SPAD_OK;
    }
    return (void *)freed;
}

static void a_race_to_free_has_one_winner(void **state) {
    (void)state;
    race r;
    pthread_t threads[2];
    void *freed[2];
    r.pool = new_pool(NULL, (spad_pool_options){.max_bytes = 1 << 24});
    pthread_barrier_init(&r.barrier, NULL, 2);
    for (int i = 0; i < 256; i++) r.blocks[i] = get(r.pool, 100 * i, 1);
    for (int i = 0; i < 2; i++) {
        assert_int_equal(pthread_create(&threads[i], NULL, free_all, &r), 0);
    }
    for (int i = 0; i < 2; i++) pthread_join(threads[i], &freed[i]);
    assert_int_equal((intptr_t)freed[0] + (intptr_t)freed[1], 256);
    assert_int_equal(spad_pool_get_stats(r.pool).blocks.live_blocks, 0);
    pthread_barrier_destroy(&r.barrier);
    spad_pool_destroy(r.pool);
}

/* ---- fork -------------------------------------------------------------------------- */

typedef struct busy {
    spad_pool *pool;
    atomic_bool stop;
} busy;

/* Sizes beyond the lists too, so that both kinds of locks are taken. Twice the same sizes need no
 * more host memory, so no thread is in malloc while another forks. */
static bool use_sizes(spad_pool *pool) {
    static const int64_t sizes[] = {64, 1000, 3 << 20};
    for (size_t i = 0; i < 3; i++) {
        spad_allocation block;
        if (spad_pool_alloc(&block, pool, sizes[i], 1, NULL) != SPAD_OK) return false;
        if (spad_pool_free(pool, &block, NULL) != SPAD_OK) return false;
    }
    return true;
}

static void *keep_busy(void *context) {
    busy *b = context;
    while (!atomic_load(&b->stop)) {
        if (!use_sizes(b->pool)) abort();
    }
    return NULL;
}

/* A child continues to use a pool that other threads of its parent are using. */
static void a_child_can_use_the_pool(void **state) {
    (void)state;
    enum { CHILDREN = 100 };
    busy b = {.pool = new_pool(NULL, (spad_pool_options){.max_bytes = 1 << 26})};
    pthread_t threads[THREADS];
    for (int i = 0; i < 64; i++) assert_true(use_sizes(b.pool));
    for (int i = 0; i < THREADS; i++) {
        assert_int_equal(pthread_create(&threads[i], NULL, keep_busy, &b), 0);
    }
    int done = 0;
    for (int i = 0; i < CHILDREN && done == i; i++) {
        spad_pool_fork_begin(b.pool);
        const pid_t child = fork();
        spad_pool_fork_end(b.pool);
        if (child == 0) {
            alarm(30); /* ends a child that waits for a lock without an owner */
            _exit(use_sizes(b.pool) && spad_pool_check(b.pool, NULL) == SPAD_OK ? 0 : 1);
        }
        int status = 1;
        assert_true(child > 0);
        assert_int_equal(waitpid(child, &status, 0), child);
        done += WIFEXITED(status) && WEXITSTATUS(status) == 0;
    }
    atomic_store(&b.stop, true);
    for (int i = 0; i < THREADS; i++) pthread_join(threads[i], NULL);
    assert_int_equal(done, CHILDREN);
    assert_int_equal(spad_pool_get_stats(b.pool).blocks.live_blocks, 0);
    spad_pool_destroy(b.pool);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(bad_options_are_refused),
        cmocka_unit_test(bad_requests_are_refused),
        cmocka_unit_test(blocks_that_are_not_there_cannot_be_freed),
        cmocka_unit_test(blocks_of_a_pool_that_is_gone_are_stale),
        cmocka_unit_test(exhaustion_tells_what_is_left),
        cmocka_unit_test(the_last_hole_is_taken_whole),
        cmocka_unit_test(a_callback_can_make_room),
        cmocka_unit_test(chunks_come_from_below_and_go_back),
        cmocka_unit_test(a_small_chunk_is_better_than_none),
        cmocka_unit_test(lists_give_way),
        cmocka_unit_test(lists_of_other_threads_give_way),
        cmocka_unit_test(large_blocks_give_way_first),
        cmocka_unit_test(statistics_are_exact_in_one_thread),
        cmocka_unit_test(wrappers_stack),
        cmocka_unit_test(wrappers_refuse_nonsense),
        cmocka_unit_test(every_host_allocation_may_fail),
        cmocka_unit_test(a_request_without_host_memory_changes_nothing),
        cmocka_unit_test(peaks_of_threads_are_not_more_than_was_held),
        cmocka_unit_test(threads_keep_out_of_each_others_blocks),
        cmocka_unit_test(a_race_to_free_has_one_winner),
        cmocka_unit_test(a_child_can_use_the_pool),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
