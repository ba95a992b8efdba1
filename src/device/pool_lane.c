/* SPDX-License-Identifier: Apache-2.0
 *
 * Lanes. See pool_lane.h.
 */
#include "device/pool_lane.h"

#include "base/assert.h"
#include "base/checked.h"

/* Classes, of a sixteenth each, by which a block may be larger than its request before a new one
 * is taken from the pool: memory that waits is better used than kept. */
enum { CLASSES_ABOVE = 3 };

void spad__lane_open(spad__lane *lane, spad_pool *pool) {
    if (lane->has_home) return;
    lane->home = spad__pool_home(pool);
    lane->has_home = true;
}

static spad__spin *lock_of(const spad__lane *lane, const spad_pool *pool) {
    return &pool->caches[lane->home]->lock;
}

/* A parked block of one of the classes; 0: none. */
static inline uint32_t take(spad__lane *lane, const spad_pool *pool, uint32_t first,
                            uint32_t last) {
    spad__assert(lane->has_home && first <= last);
    uint32_t number = 0;
    spad__spin_lock(lock_of(lane, pool));
    for (uint32_t c = first; c <= last && c < SPAD__BINS && number == 0; c++) {
        number = lane->heads[c];
        if (number != 0) lane->heads[c] = spad__ticket_at(pool, number)->next;
    }
    spad__spin_unlock(lock_of(lane, pool));
    return number;
}

/* From the pool: of the size of a whole class, if it has that, so that others can use it later. */
SPAD__APART static spad_status alloc_pooled(spad_allocation *out, spad_pool *pool, int64_t bytes,
                                            int64_t align, spad_error *error) {
    spad_status status = SPAD_ERR_NO_FIT;
    if (bytes >= 0 && spad__is_pow2(align)) {
        const uint32_t size_class = spad__pool_class(pool, bytes);
        const int64_t rounded =
            size_class < SPAD__BINS ? spad__pool_class_bytes(pool, size_class) : 0;
        if (rounded >= bytes) status = spad_pool_alloc(out, pool, rounded, align, NULL);
    }
    if (status != SPAD_OK) status = spad_pool_alloc(out, pool, bytes, align, error);
    if (status == SPAD_OK) out->bytes = bytes;
    return status;
}

spad_status spad__lane_alloc(spad_allocation *out, spad__lane *lane, spad_pool *pool, int64_t bytes,
                             int64_t align, spad_error *error) {
    if (bytes >= 0 && spad__pool_has_alignment(pool, align)) {
        const uint32_t size_class = spad__pool_class(pool, bytes);
        const uint32_t number = take(lane, pool, size_class, size_class + CLASSES_ABOVE);
        if (number != 0) {
            *out = spad__pool_unpark(spad__ticket_at(pool, number), number, bytes);
            return SPAD_OK;
        }
    }
    return alloc_pooled(out, pool, bytes, align, error);
}

spad_status spad__lane_free(spad__lane *lane, spad_pool *pool, const spad_allocation *block,
                            spad_error *error) {
    spad__ticket *t;
    if (block->handle == 0) return SPAD_OK;
    spad__assert(lane->has_home);
    const spad_status status = spad__pool_park(&t, pool, block, lane->home, error);
    if (status != SPAD_OK) return status;
    spad__assert(t->size_class < SPAD__BINS);
    t->next = lane->heads[t->size_class];
    lane->heads[t->size_class] = (uint32_t)block->handle;
    spad__spin_unlock(lock_of(lane, pool));
    return SPAD_OK;
}

int64_t spad__lane_drain(spad__lane *lane, spad_pool *pool) {
    int64_t drained = 0;
    if (!lane->has_home) return 0; /* its stream never opened, so nothing was parked */
    for (uint32_t c = 0; c < SPAD__BINS; c++) {
        uint32_t number;
        while ((number = take(lane, pool, c, c)) != 0) {
            const spad_allocation block =
                spad__pool_unpark(spad__ticket_at(pool, number), number, 0);
            spad_pool_free(pool, &block, NULL); /* cannot fail: no other thread knows the block */
            drained++;
        }
    }
    return drained;
}
