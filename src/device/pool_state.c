/* SPDX-License-Identifier: Apache-2.0
 *
 * The state of a pool: giving chunks back, statistics, the check of its invariants, and holding
 * still for a fork, all under the mutex, so that they see one moment of the range and of one
 * cache after the other.
 */
#include "base/checked.h"
#include "device/pool.h"

/* The largest chunk that is wholly free and at most `most` bytes; the count for none. */
static size_t largest_free_chunk(const spad_pool *pool, int64_t most) {
    size_t best = pool->chunks.count;
    for (size_t i = 0; i < pool->chunks.count; i++) {
        const spad__pool_chunk *c = &pool->chunks.items[i];
        const spad__range_piece *first = spad__range_at(&pool->range, c->first);
        if (!first->is_free || first->after != 0 || c->bytes > most) continue;
        if (best == pool->chunks.count || c->bytes > pool->chunks.items[best].bytes) best = i;
    }
    return best;
}

spad_status spad_pool_trim(int64_t *released, spad_pool *pool, int64_t keep_bytes,
                           spad_error *error) {
    const int64_t keep_least = spad__max(keep_bytes, 0);
    int64_t gone = 0;
    spad_status status = SPAD_OK;
    pthread_mutex_lock(&pool->mutex);
    spad__pool_empty_caches(pool);
    while (status == SPAD_OK && pool->below.calls != NULL) {
        const size_t i = largest_free_chunk(pool, pool->capacity - keep_least);
        if (i == pool->chunks.count) break;
        const spad__pool_chunk c = pool->chunks.items[i];
        status = spad_memory_free(&pool->below, &c.block, error);
        if (status != SPAD_OK) break;
        spad__range_remove(&pool->range, c.first);
        pool->chunks.items[i] = pool->chunks.items[--pool->chunks.count];
        pool->capacity -= c.bytes;
        gone += c.bytes;
    }
    pthread_mutex_unlock(&pool->mutex);
    if (released != NULL) *released = gone;
    return status;
}

int64_t spad__pool_position(spad_pool *pool, int64_t address) {
    int64_t position = SPAD_NO_BYTE;
    pthread_mutex_lock(&pool->mutex);
    for (size_t i = 0; i < pool->chunks.count; i++) {
        const spad__pool_chunk *c = &pool->chunks.items[i];
        const int64_t start = spad__range_at(&pool->range, c->first)->address;
        if (address < start || address - start >= c->bytes) continue;
        if (c->position != SPAD_NO_BYTE) position = c->position + (address - start);
        break;
    }
    pthread_mutex_unlock(&pool->mutex);
    return position;
}

static void add_stats(spad_memory_stats *sum, const spad__cache *c) {
    sum->frees += c->frees;
    sum->failures += c->failures;
    sum->allocated_bytes += c->peak_bytes - c->bytes_below;
    sum->live_blocks += c->peak_blocks - c->blocks_below;
    sum->peak_bytes += c->peak_bytes;
    sum->peak_blocks += c->peak_blocks;
    sum->allocations = sum->frees + sum->live_blocks;
    if (!spad__add(sum->freed_bytes, c->freed_bytes, &sum->freed_bytes))
        sum->freed_bytes = INT64_MAX;
    if (!spad__add(sum->freed_bytes, sum->allocated_bytes, &sum->total_bytes))
        sum->total_bytes = INT64_MAX;
}

/* Threads need not have had their peaks at one time; but every block was held then, and is a
 * granule at least. */
static void bound_peaks(spad_memory_stats *sum, const spad__range *range) {
    sum->peak_bytes = spad__min(sum->peak_bytes, range->peak_bytes);
    sum->peak_blocks = spad__min(sum->peak_blocks, range->peak_bytes / range->granule);
}

static uint32_t list_length(const spad_pool *pool, const spad__cache *c, uint32_t bin) {
    return pool->limits[bin] - c->lists[bin].room;
}

static int64_t cached_bytes(const spad_pool *pool, const spad__cache *c) {
    int64_t bytes = 0;
    for (uint32_t bin = 0; bin < SPAD__CACHE_BINS; bin++) {
        bytes += list_length(pool, c, bin) * spad__pool_class_bytes(pool, bin);
    }
    return bytes;
}

spad_pool_stats spad_pool_get_stats(spad_pool *pool) {
    spad_pool_stats stats = {0};
    pthread_mutex_lock(&pool->mutex);
    for (uint32_t i = 0; i <= pool->cache_mask; i++) {
        spad__cache *c = pool->caches[i];
        spad__spin_lock(&c->lock);
        add_stats(&stats.blocks, c);
        if ((pool->used_caches >> i & 1) != 0) stats.cached_bytes += cached_bytes(pool, c);
        spad__spin_unlock(&c->lock);
    }
    bound_peaks(&stats.blocks, &pool->range);
    stats.capacity_bytes = pool->capacity;
    stats.held_bytes = pool->range.held_bytes;
    stats.peak_held_bytes = pool->range.peak_bytes;
    stats.free_bytes = pool->range.free_bytes;
    stats.largest_hole = spad__range_largest(&pool->range);
    stats.holes = pool->range.holes;
    stats.chunks = (int64_t)pool->chunks.count;
    stats.fragmentation = spad__pool_fragmentation(stats.free_bytes, stats.largest_hole);
    pthread_mutex_unlock(&pool->mutex);
    return stats;
}

/* The blocks of one list: of its class, and not in use. */
static const char *list_violation(const spad_pool *pool, const spad__cache *c, uint32_t bin) {
    uint32_t length = 0;
    for (uint32_t n = c->lists[bin].first; n != 0; n = spad__ticket_at(pool, n)->next) {
        const spad__ticket *t = spad__ticket_at(pool, n);
        const spad__range_piece *piece = spad__range_at(&pool->range, n);
        if (piece->is_free) return "a block in a thread's list is free in the range";
        if (piece->address != t->address) return "a block and its piece are elsewhere";
        if ((uint32_t)atomic_load_explicit(&t->handle, memory_order_relaxed) != 0)
            return "a block in a thread's list is allocated";
        if (t->list != bin || piece->bytes != spad__pool_class_bytes(pool, bin))
            return "a block is in a list of another size";
        length++;
    }
    return length == list_length(pool, c, bin) ? NULL : "the length of a thread's list is wrong";
}

/* Caches that are not in use are skipped by searches for free bytes. */
static const char *cache_violation(const spad_pool *pool, const spad__cache *c, bool used) {
    const char *violation = NULL;
    for (uint32_t bin = 0; bin < SPAD__CACHE_BINS && violation == NULL; bin++) {
        if (used) {
            violation = list_violation(pool, c, bin);
        } else if (c->lists[bin].first != 0) {
            violation = "a block is in a list that is not in use";
        }
    }
    return violation;
}

spad_status spad_pool_check(spad_pool *pool, spad_error *error) {
    const char *violation = NULL;
    spad__range_sums sums = {0};
    pthread_mutex_lock(&pool->mutex);
    for (uint32_t i = 0; i <= pool->cache_mask && violation == NULL; i++) {
        spad__spin_lock(&pool->caches[i]->lock);
        violation = cache_violation(pool, pool->caches[i], (pool->used_caches >> i & 1) != 0);
        spad__spin_unlock(&pool->caches[i]->lock);
    }
    for (size_t i = 0; i < pool->chunks.count && violation == NULL; i++) {
        violation = spad__range_chunk_violation(&pool->range, pool->chunks.items[i].first, &sums);
    }
    if (violation == NULL) violation = spad__range_violation(&pool->range, &sums);
    pthread_mutex_unlock(&pool->mutex);
    if (violation == NULL) return SPAD_OK;
    return spad__fail(error, SPAD_ERR_INTERNAL, "the pool is broken: %s", violation);
}

/* ---- fork -------------------------------------------------------------------------- */

/* The mutex before the caches, as everywhere; no other code has two caches at once. */
void spad_pool_fork_begin(spad_pool *pool) {
    pthread_mutex_lock(&pool->mutex);
    for (uint32_t i = 0; i <= pool->cache_mask; i++) spad__spin_lock(&pool->caches[i]->lock);
}

void spad_pool_fork_end(spad_pool *pool) {
    for (uint32_t i = 0; i <= pool->cache_mask; i++) spad__spin_unlock(&pool->caches[i]->lock);
    pthread_mutex_unlock(&pool->mutex);
}
