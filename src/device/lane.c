/* SPDX-License-Identifier: Apache-2.0
 *
 * Lanes. See lane.h.
 */
#include "device/lane.h"

#include "base/checked.h"

/* A block may be larger than its request by so many classes of a sixteenth each, before a
 * new one is taken from the pool: memory that waits is better used than kept. */
enum { CLASSES_ABOVE = 3 };

/* A parked block of a class or a little above it; 0: none. Under the lock. */
static uint32_t take(spad__lane *lane, const spad_pool *pool, uint32_t size_class) {
    for (uint32_t c = size_class; c <= size_class + CLASSES_ABOVE && c < SPAD__BINS; c++) {
        const uint32_t number = lane->heads[c];
        if (number == 0) continue;
        lane->heads[c] = spad__ticket_at(pool, number)->next;
        return number;
    }
    return 0;
}

spad_status spad__lane_alloc(spad_allocation *out, spad__lane *lane, spad_pool *pool, int64_t bytes,
                             int64_t align, spad_error *error) {
    *out = (spad_allocation){0};
    if (bytes < 0 || !spad__is_pow2(align))
        return spad_pool_alloc(out, pool, bytes, align, error); /* says what is wrong */
    const uint32_t size_class = spad__pool_class(pool, bytes);
    if (spad__pool_has_alignment(pool, align)) {
        spad__spin_lock(&lane->lock);
        const uint32_t number = take(lane, pool, size_class);
        spad__spin_unlock(&lane->lock);
        if (number != 0) {
            *out = spad__pool_unpark(spad__ticket_at(pool, number), number, bytes);
            return SPAD_OK;
        }
    }
    const int64_t rounded = size_class < SPAD__BINS ? spad__pool_class_bytes(pool, size_class) : 0;
    spad_status status = SPAD_ERR_NO_FIT;
    if (rounded >= bytes) status = spad_pool_alloc(out, pool, rounded, align, NULL);
    if (status != SPAD_OK) status = spad_pool_alloc(out, pool, bytes, align, error);
    if (status == SPAD_OK) out->bytes = bytes;
    return status;
}

spad_status spad__lane_free(spad__lane *lane, spad_pool *pool, const spad_allocation *block,
                            spad_error *error) {
    spad__ticket *t;
    if (block->handle == 0) return SPAD_OK;
    const spad_status status = spad__pool_park(&t, pool, block, error);
    if (status != SPAD_OK) return status;
    spad__spin_lock(&lane->lock);
    t->next = lane->heads[t->size_class];
    lane->heads[t->size_class] = (uint32_t)block->handle;
    spad__spin_unlock(&lane->lock);
    return SPAD_OK;
}

/* A parked block of exactly this class; 0: none. */
static uint32_t take_any(spad__lane *lane, const spad_pool *pool, uint32_t size_class) {
    spad__spin_lock(&lane->lock);
    const uint32_t number = lane->heads[size_class];
    if (number != 0) lane->heads[size_class] = spad__ticket_at(pool, number)->next;
    spad__spin_unlock(&lane->lock);
    return number;
}

int64_t spad__lane_drain(spad__lane *lane, spad_pool *pool) {
    int64_t drained = 0;
    for (uint32_t c = 0; c < SPAD__BINS; c++) {
        uint32_t number;
        while ((number = take_any(lane, pool, c)) != 0) {
            const spad_allocation block =
                spad__pool_unpark(spad__ticket_at(pool, number), number, 0);
            spad_pool_free(pool, &block, NULL); /* cannot fail: nobody else knows the block */
            drained++;
        }
    }
    return drained;
}
