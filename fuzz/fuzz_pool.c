/* SPDX-License-Identifier: Apache-2.0
 *
 * Any sequence of calls of a pool, beside a map with one entry for every byte:
 * no two blocks share a byte, a refused request really has no room anywhere, a block
 * that was freed is recognised, and when all is freed all is one hole again.
 *
 * Input: three bytes of configuration, then calls of four bytes: operation and
 * alignment, size (two bytes), which block.
 */
#include "fuzz.h"
#include "spad/device/pool.h"

enum { REGION = 4096, BLOCKS = 64, BASE = 1 << 20 };

/* The memory below: chunks of one region, handed out upwards and all different. */
typedef struct below {
    int64_t next;
    int64_t live;
} below;

typedef struct model {
    spad_pool *pool;
    below below;
    bool chunked;
    bool exact;
    int64_t granule;
    uint8_t owner[REGION * 4];   /* per byte from BASE on: number + 1 of its block */
    uint8_t present[REGION * 4]; /* it belongs to a chunk */
    spad_allocation blocks[BLOCKS];
    int64_t held[BLOCKS]; /* bytes of a block in whole granules */
} model;

static spad_status below_alloc(void *context, spad_allocation *out, int64_t bytes, int64_t align,
                               spad_error *error) {
    model *m = context;
    (void)align;
    (void)error;
    const int64_t gap = m->granule; /* chunks do not touch */
    if (m->below.next + bytes > (int64_t)sizeof m->owner) {
        *out = (spad_allocation){0};
        return SPAD_ERR_NO_FIT;
    }
    *out = (spad_allocation){.address = BASE + m->below.next, .bytes = bytes, .handle = 1};
    memset(m->present + m->below.next, 1, (size_t)bytes);
    m->below.next += bytes + gap;
    m->below.live++;
    return SPAD_OK;
}

static spad_status below_free(void *context, const spad_allocation *block, spad_error *error) {
    model *m = context;
    (void)error;
    for (int64_t i = 0; i < block->bytes; i++) {
        REQUIRE(m->present[block->address - BASE + i] != 0);
        REQUIRE(m->owner[block->address - BASE + i] == 0); /* it was not in use */
    }
    memset(m->present + (block->address - BASE), 0, (size_t)block->bytes);
    m->below.live--;
    return SPAD_OK;
}

/* Is there a run of so many bytes that are free, at the alignment? */
static bool has_room(const model *m, int64_t bytes, int64_t align) {
    const int64_t step = align > m->granule ? align : m->granule;
    for (int64_t at = 0; at + bytes <= (int64_t)sizeof m->owner; at += step) {
        int64_t run = 0;
        while (run < bytes && m->present[at + run] != 0 && m->owner[at + run] == 0) run++;
        if (run == bytes) return true;
    }
    return false;
}

static void call_alloc(model *m, int which, int64_t bytes, int64_t align) {
    spad_error error;
    if (m->blocks[which].handle != 0) return;
    const spad_status status = spad_pool_alloc(&m->blocks[which], m->pool, bytes, align, &error);
    int64_t needed = (bytes + m->granule - 1) / m->granule * m->granule;
    if (needed == 0) needed = m->granule;
    if (status == SPAD_ERR_NO_FIT) {
        REQUIRE(error.needed == needed);
        REQUIRE(error.largest_hole <= error.available);
        /* Sizes are rounded up where there are lists, so the map shows room that is taken. */
        REQUIRE(!m->exact || !has_room(m, needed, align));
        return;
    }
    REQUIRE(status == SPAD_OK);
    const spad_allocation *block = &m->blocks[which];
    REQUIRE(block->bytes == bytes);
    REQUIRE(block->address % align == 0 && block->address % m->granule == 0);
    const int64_t at = block->address - BASE;
    REQUIRE(at >= 0 && at + needed <= (int64_t)sizeof m->owner);
    for (int64_t i = 0; i < needed; i++) {
        REQUIRE(m->present[at + i] != 0 && m->owner[at + i] == 0);
        m->owner[at + i] = (uint8_t)(which + 1);
    }
    m->held[which] = needed;
}

static void call_free(model *m, int which) {
    const spad_allocation block = m->blocks[which];
    if (block.handle == 0) return;
    memset(m->owner + (block.address - BASE), 0, (size_t)m->held[which]);
    REQUIRE(spad_pool_free(m->pool, &block, NULL) == SPAD_OK);
    REQUIRE(spad_pool_free(m->pool, &block, NULL) == SPAD_ERR_STALE);
    m->blocks[which] = (spad_allocation){0};
}

static void check(const model *m) {
    REQUIRE(spad_pool_check(m->pool, NULL) == SPAD_OK);
    const spad_pool_stats stats = spad_pool_get_stats(m->pool);
    int64_t asked = 0;
    int64_t live = 0;
    for (int i = 0; i < BLOCKS; i++) {
        asked += m->blocks[i].bytes;
        live += m->blocks[i].handle != 0;
    }
    REQUIRE(stats.blocks.allocated_bytes == asked && stats.blocks.live_blocks == live);
    REQUIRE(stats.held_bytes + stats.free_bytes == stats.capacity_bytes);
    REQUIRE(stats.chunks == (m->chunked ? m->below.live : 1));
}

static void call(model *m, const uint8_t *bytes) {
    const int which = bytes[3] % BLOCKS;
    const int64_t size = (bytes[1] | bytes[2] << 8) % (REGION + 64);
    switch (bytes[0] % 8) {
    case 0:
    case 1: call_alloc(m, which, size % 300, 1); break;
    case 2: call_alloc(m, which, size, 1); break;
    case 3: call_alloc(m, which, size % 300, INT64_C(1) << (bytes[0] / 8 % 11)); break;
    case 4:
    case 5:
    case 6: call_free(m, which); break;
    default: REQUIRE(spad_pool_trim(NULL, m->pool, size, NULL) == SPAD_OK); break;
    }
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    static const spad_memory_calls calls = {.alloc = below_alloc, .free = below_free};
    static model m;
    if (size < 3 || size > 1 << 14) return 0;
    memset(&m, 0, sizeof m);
    m.chunked = data[0] % 2 != 0;
    m.exact = data[0] / 2 % 2 != 0;
    m.granule = INT64_C(1) << (data[1] % 7);
    const spad_pool_options options = {.max_bytes = m.chunked ? 3 * REGION : REGION,
                                       .block_bytes = m.granule,
                                       .grow_bytes = 64 + data[2] * 8,
                                       .initial_bytes = data[2],
                                       .exact = m.exact};
    const spad_memory memory = {.calls = &calls, .context = &m};
    if (m.chunked) {
        REQUIRE(spad_pool_create(&m.pool, &memory, &options, NULL) == SPAD_OK);
    } else {
        REQUIRE(spad_pool_create_over(&m.pool, BASE, REGION, &options, NULL) == SPAD_OK);
        memset(m.present, 1, REGION);
    }
    for (size_t i = 3; i + 4 <= size; i += 4) {
        call(&m, data + i);
        if (i / 4 % 8 == 0) check(&m);
    }
    for (int i = 0; i < BLOCKS; i++) call_free(&m, i);
    REQUIRE(spad_pool_trim(NULL, m.pool, 0, NULL) == SPAD_OK);
    check(&m);
    const spad_pool_stats stats = spad_pool_get_stats(m.pool);
    REQUIRE(stats.held_bytes == 0 && stats.free_bytes == (m.chunked ? 0 : REGION));
    REQUIRE(stats.holes == !m.chunked);
    spad_pool_destroy(m.pool);
    return 0;
}
