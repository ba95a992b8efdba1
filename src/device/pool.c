/* SPDX-License-Identifier: Apache-2.0
 *
 * The pool: a range (range.h) behind a mutex, and in front of it caches, lists of
 * freed pieces by size class, one cache for each of a few threads.
 *
 * A thread is known by the address of its control block, hashed to a cache; two threads that
 * meet in one cache wait for each other and nothing else happens. A handle leads to a ticket,
 * half a line of the processor's cache, which is all that the quick paths touch. A block
 * belongs to the cache of the thread that allocated it and goes back there when it is freed,
 * by whichever thread, so the lock of its home is what makes freeing twice visible: the
 * generation is compared and advanced under it.
 *
 * In the caches sizes are rounded up to the lower border of a bin, at most a
 * sixteenth. When the range has no room the caches are emptied into it, large blocks
 * first and no further than needed, and in the end the exact size is tried, so rounding and
 * caching never make a request fail. A pool that is nearly full thus gives up the few blocks
 * that hold most of the bytes and keeps the many small ones.
 *
 * Locks: the mutex may be held while a cache is locked, never the other way round.
 *
 * Invariants: a piece is held in the range from the moment it is handed out until
 * it leaves the caches; its generation is odd exactly while a user has it;
 * counts[b] is the length of the list heads[b], and not above limits[b].
 */
#include "spad/pool.h"

#include <pthread.h>
#include <stdalign.h>
#include <string.h>

#include "base/checked.h"
#include "device/lock.h"
#include "device/pool.h"
#include "device/range.h"

enum {
    CACHES = 32,      /* a power of two */
    CACHE_BINS = 192, /* classes up to 31744 blocks: 2 MiB of 64 bytes */
    CACHE_OCTAVES = CACHE_BINS / SPAD__BIN_SUB,
    CACHE_BLOCKS = 64,          /* most in one list */
    CACHE_LIST_BYTES = 1 << 20, /* and most bytes */
    REFILL_PART = 1024,         /* of the free bytes that an empty list may take at once */
    BLOCK_BYTES = 64,
    GROW_LEAST = 1 << 20,
    GROW_MOST = 1 << 30
};

/* What the handle of a block leads to: one for every piece of the range, with the same number.
 * It belongs to the user of the block, to a list, or to nobody. */
typedef struct ticket {
    alignas(32) int64_t address;
    int64_t asked;               /* bytes its user wanted */
    _Atomic uint32_t generation; /* odd while a user has it; only ever grows */
    uint32_t next;               /* in its list */
    _Atomic uint16_t home;       /* the cache whose lock guards it */
    uint16_t size_class;         /* bin of its piece */
    bool listed;                 /* it goes to a list when it is freed: of the exact class size */
} ticket;

enum { LINE = 64 }; /* of the processor's caches */

typedef struct cache {
    spad__spin lock;
    _Atomic int32_t blocks; /* in the lists; written under the lock */
    int64_t allocations;    /* so far */
    int64_t frees;
    int64_t failures;
    int64_t allocated_bytes; /* now */
    int64_t peak_bytes;
    int64_t peak_blocks;
    int64_t freed_bytes; /* so far */
    uint32_t heads[CACHE_BINS];
    uint8_t counts[CACHE_BINS];
    char apart[LINE]; /* from the next one, which is another thread's */
} cache;

typedef struct chunk {
    spad_allocation block; /* of the memory below */
    int64_t bytes;         /* in whole blocks */
    uint32_t first;        /* piece */
} chunk;

/* Tickets live in segments, each twice as long as the one before, so that they never move
 * and can be read while more are made. */
enum { SEGMENT_BITS = 10, SEGMENTS = 32 - SEGMENT_BITS };

struct spad_pool {
    /* read by everyone */
    uint32_t cache_mask; /* number of caches - 1 */
    int granule_bits;
    int64_t granule;
    int64_t cache_most; /* largest request that the caches serve; -1: none */
    _Atomic uint32_t ticket_count;
    _Atomic(ticket *) segments[SEGMENTS];
    uint8_t limits[CACHE_BINS];
    char apart[LINE]; /* from what changes */

    pthread_mutex_t mutex; /* guards what follows, and the host */
    spad__range range;
    spad_host host;
    spad_memory below; /* no calls: a fixed range */
    spad_pool_options options;
    SPAD_ARRAY(chunk) chunks;
    int64_t capacity;
    uint32_t first_generation;
    void *segment_blocks[SEGMENTS]; /* what the segments lie in */
    char apart_too[LINE];

    cache caches[]; /* one more than the mask */
};

/* ---- tickets --------------------------------------------------------------------------- */

static ticket *ticket_at(const spad_pool *pool, uint32_t number) {
    const uint32_t place = number + (1u << SEGMENT_BITS);
    const int top = spad__top_bit(place);
    return atomic_load_explicit(&pool->segments[top - SEGMENT_BITS], memory_order_relaxed) +
           (place - (1u << top));
}

/* Bytes of the block of a segment, with room to align it. */
static size_t segment_bytes(int segment) {
    return (sizeof(ticket) << (segment + SEGMENT_BITS)) + LINE;
}

static bool add_segment(spad_pool *pool, int segment) {
    char *block = spad__new(&pool->host, segment_bytes(segment));
    if (block == NULL) return false;
    ticket *tickets = (ticket *)(void *)(block + (-(uintptr_t)block & (LINE - 1)));
    for (size_t i = 0; i < (size_t)1 << (segment + SEGMENT_BITS); i++) {
        atomic_init(&tickets[i].generation, pool->first_generation);
    }
    pool->segment_blocks[segment] = block;
    atomic_store_explicit(&pool->segments[segment], tickets, memory_order_relaxed);
    return true;
}

/* Tickets for all pieces that so many holds may return. Under the mutex. */
static bool reserve_tickets(spad_pool *pool, uint32_t holds) {
    if (!spad__range_reserve(&pool->range, holds)) return false;
    const uint32_t count = (uint32_t)pool->range.pieces.count;
    if (count == atomic_load_explicit(&pool->ticket_count, memory_order_relaxed)) return true;
    const uint32_t last = count - 1 + (1u << SEGMENT_BITS);
    if (last < count) return false; /* 2^32 pieces */
    const int segment = spad__top_bit(last) - SEGMENT_BITS;
    for (int s = 0; s <= segment; s++) {
        if (pool->segment_blocks[s] == NULL && !add_segment(pool, s)) return false;
    }
    atomic_store_explicit(&pool->ticket_count, count, memory_order_release);
    return true;
}

/* ---- caches ---------------------------------------------------------------------------- */

/* A number that no two threads share while both run. */
static uint64_t thread_number(void) {
#if defined(__has_builtin)
#if __has_builtin(__builtin_thread_pointer)
    return (uint64_t)(uintptr_t)__builtin_thread_pointer(); /* what pthread_self calls for */
#define SPAD__HAS_THREAD_POINTER
#endif
#endif
#if !defined(SPAD__HAS_THREAD_POINTER)
    return (uint64_t)(uintptr_t)pthread_self();
#endif
}

/* Thread numbers are addresses of blocks of memory: far apart, with equal low bits. */
static uint32_t my_cache(const spad_pool *pool) {
    return (uint32_t)((thread_number() >> 6) * UINT64_C(0x9E3779B97F4A7C15) >> 59) &
           pool->cache_mask;
}

/* The block's new owner is the user. Under the lock of the cache. */
static void hand_out(spad_allocation *out, cache *home, ticket *t, uint32_t number, int64_t bytes) {
    const uint32_t generation = atomic_load_explicit(&t->generation, memory_order_relaxed) + 1;
    atomic_store_explicit(&t->generation, generation, memory_order_relaxed);
    t->asked = bytes;
    *out = (spad_allocation){
        .address = t->address, .bytes = bytes, .handle = (uint64_t)generation << 32 | number};
    home->allocations++;
    home->allocated_bytes += bytes;
    home->peak_bytes = spad__max(home->peak_bytes, home->allocated_bytes);
    home->peak_blocks = spad__max(home->peak_blocks, home->allocations - home->frees);
}

/* Under the lock. */
static void count_blocks(cache *c, int32_t change) {
    const int32_t blocks = atomic_load_explicit(&c->blocks, memory_order_relaxed);
    atomic_store_explicit(&c->blocks, blocks + change, memory_order_relaxed);
}

/* Puts a block into its list. Under the lock. */
static void push(cache *c, ticket *t, uint32_t number) {
    const uint32_t bin = t->size_class;
    t->next = c->heads[bin];
    c->heads[bin] = number;
    c->counts[bin]++;
    count_blocks(c, 1);
}

/* Takes the first block of a list that is not empty. Under the lock. */
static uint32_t pop(const spad_pool *pool, cache *from, uint32_t bin) {
    const uint32_t number = from->heads[bin];
    from->heads[bin] = ticket_at(pool, number)->next;
    from->counts[bin]--;
    count_blocks(from, -1);
    return number;
}

/* Moves up to `count` blocks of a list out of the cache and onto a chain. Under the lock. */
SPAD__RARE static uint32_t cut_list(const spad_pool *pool, cache *from, uint32_t bin, int count,
                                    uint32_t chain) {
    for (; count > 0 && from->heads[bin] != 0; count--) {
        const uint32_t number = pop(pool, from, bin);
        ticket_at(pool, number)->next = chain;
        chain = number;
    }
    return chain;
}

/* Gives the pieces of a chain back to the range. Under the mutex. */
static void free_chain(spad_pool *pool, uint32_t chain) {
    while (chain != 0) {
        const uint32_t next = ticket_at(pool, chain)->next;
        spad__range_free(&pool->range, chain);
        chain = next;
    }
}

SPAD__APART static void lock_and_free_chain(spad_pool *pool, uint32_t chain) {
    pthread_mutex_lock(&pool->mutex);
    free_chain(pool, chain);
    pthread_mutex_unlock(&pool->mutex);
}

/* Gives the blocks of one octave, the classes between two powers of two, back to the range.
 * Were there any? Under the mutex. */
static bool empty_octave(spad_pool *pool, uint32_t octave) {
    const uint32_t first = octave * SPAD__BIN_SUB;
    bool any = false;
    for (uint32_t i = 0; i <= pool->cache_mask; i++) {
        cache *c = &pool->caches[i];
        uint32_t chain = 0;
        if (atomic_load_explicit(&c->blocks, memory_order_relaxed) == 0) continue;
        spad__spin_lock(&c->lock);
        for (uint32_t bin = first; bin < first + SPAD__BIN_SUB; bin++) {
            chain = cut_list(pool, c, bin, CACHE_BLOCKS, chain);
        }
        spad__spin_unlock(&c->lock);
        any = any || chain != 0;
        free_chain(pool, chain);
    }
    return any;
}

/* Under the mutex. */
static void empty_caches(spad_pool *pool) {
    for (uint32_t octave = CACHE_OCTAVES; octave-- > 0;) empty_octave(pool, octave);
}

/* ---- the range, under the mutex ------------------------------------------------------------ */

static int64_t chunk_bytes_wanted(const spad_pool *pool) {
    if (pool->options.grow_bytes > 0) return pool->options.grow_bytes;
    return spad__min(spad__max(pool->capacity / 2, GROW_LEAST), GROW_MOST);
}

/* Adds a chunk of so many bytes, a multiple of the block. */
static spad_status add_chunk(spad_pool *pool, int64_t bytes, spad_error *error) {
    if (!spad__array_reserve(&pool->host, &pool->chunks, 1)) return spad__fail_host_memory(error);
    chunk added = {.bytes = bytes};
    const spad_status status =
        spad_memory_alloc(&added.block, &pool->below, bytes, pool->range.granule, error);
    if (status != SPAD_OK) return status;
    added.first = spad__range_add(&pool->range, added.block.address, bytes);
    if (added.first == 0) {
        spad_memory_free(&pool->below, &added.block, NULL);
        return spad__fail_host_memory(error);
    }
    pool->chunks.items[pool->chunks.count++] = added;
    pool->capacity += bytes;
    return SPAD_OK;
}

/* Grows by a chunk with room for `bytes` at `align`: as large as usual if there is
 * that much, else as small as possible. SPAD_ERR_NO_FIT without a message: at the limit. */
static spad_status grow(spad_pool *pool, int64_t bytes, int64_t align, spad_error *error) {
    const int64_t granule = pool->range.granule;
    const int64_t room = pool->options.max_bytes > 0 ? pool->options.max_bytes - pool->capacity
                                                     : INT64_MAX - pool->capacity;
    int64_t least = bytes;
    int64_t usual;
    if (pool->below.calls == NULL) return SPAD_ERR_NO_FIT;
    if (align > granule && !spad__add(bytes, align - granule, &least)) return SPAD_ERR_NO_FIT;
    if (!spad__align_up(chunk_bytes_wanted(pool), granule, &usual)) usual = least;
    usual = spad__max(spad__min(usual, room & -granule), least);
    if (least > room) return SPAD_ERR_NO_FIT;
    spad_status status = add_chunk(pool, usual, error);
    if (status == SPAD_ERR_NO_FIT && usual > least) status = add_chunk(pool, least, error);
    return status;
}

/* A piece from the range: of the rounded size if possible, else of the exact one. There are
 * tickets for as many more as a list may be given. */
static spad_status hold(uint32_t *number, spad_pool *pool, int64_t rounded, int64_t exact,
                        int64_t align, spad_error *error) {
    spad__range *range = &pool->range;
    if (!reserve_tickets(pool, 1 + CACHE_BLOCKS / 2)) return spad__fail_host_memory(error);
    *number = spad__range_hold(range, rounded, align);
    for (uint32_t octave = CACHE_OCTAVES; *number == 0 && octave-- > 0;) {
        if (empty_octave(pool, octave)) *number = spad__range_hold(range, rounded, align);
    }
    if (*number == 0 && exact < rounded) *number = spad__range_hold(range, exact, align);
    if (*number != 0) return SPAD_OK;
    const spad_status status = grow(pool, rounded, align, error);
    if (status != SPAD_OK) return status;
    if (!reserve_tickets(pool, 1 + CACHE_BLOCKS / 2)) return spad__fail_host_memory(error);
    *number = spad__range_hold(range, rounded, align);
    return SPAD_OK;
}

static int fragmentation(int64_t free_bytes, int64_t largest) {
    if (free_bytes == 0) return 0;
    return (int)((double)(free_bytes - largest) * 100.0 / (double)free_bytes);
}

static spad_status fail_no_fit(spad_pool *pool, int64_t needed, int64_t align, spad_error *error) {
    pthread_mutex_lock(&pool->mutex);
    const int64_t free_bytes = pool->range.free_bytes;
    const int64_t largest = spad__range_largest(&pool->range);
    const int64_t capacity = pool->capacity;
    pthread_mutex_unlock(&pool->mutex);
    spad__fail(error, SPAD_ERR_NO_FIT,
               "%lld B at alignment %lld do not fit: %lld of %lld B are free, the largest hole is "
               "%lld B (fragmentation %d %%); free something, ask for less or raise max_bytes",
               (long long)needed, (long long)align, (long long)free_bytes, (long long)capacity,
               (long long)largest, fragmentation(free_bytes, largest));
    spad__fact_amounts(error, needed, free_bytes, largest);
    return SPAD_ERR_NO_FIT;
}

/* ---- allocation ---------------------------------------------------------------------------- */

/* Granules of a request of bytes >= 0: at least one. */
static uint64_t granules_of(const spad_pool *pool, int64_t bytes) {
    return ((uint64_t)(bytes - (bytes > 0)) >> pool->granule_bits) + 1;
}

static spad_status check_request(const spad_pool *pool, int64_t bytes, int64_t align,
                                 spad_error *error) {
    if (bytes < 0) {
        return spad__fail(error, SPAD_ERR_ARGUMENT, "a block of %lld B; sizes cannot be negative",
                          (long long)bytes);
    }
    if (!spad__is_pow2(align)) {
        return spad__fail(error, SPAD_ERR_ALIGNMENT,
                          "alignment %lld is not a power of two; use 1 for none", (long long)align);
    }
    int64_t rounded;
    if (!spad__align_up(bytes, pool->range.granule, &rounded)) {
        return spad__fail(error, SPAD_ERR_OVERFLOW,
                          "a block of %lld B, rounded up to blocks of %lld B, does not fit 64 bits",
                          (long long)bytes, (long long)pool->range.granule);
    }
    return SPAD_OK;
}

static void count_failure(spad_pool *pool) {
    cache *c = &pool->caches[my_cache(pool)];
    spad__spin_lock(&c->lock);
    c->failures++;
    spad__spin_unlock(&c->lock);
}

/* Fills in the ticket of a piece that was just held. Under the mutex. */
static void write_ticket(spad_pool *pool, uint32_t number, uint32_t home, bool rounds) {
    const spad__piece *piece = spad__range_at(&pool->range, number);
    const uint64_t granules = (uint64_t)piece->bytes >> pool->granule_bits;
    ticket *t = ticket_at(pool, number);
    t->address = piece->address;
    t->size_class = (uint16_t)spad__bin_of(granules);
    t->listed = rounds && spad__bin_lower(t->size_class) == granules;
    atomic_store_explicit(&t->home, (uint16_t)home, memory_order_relaxed);
}

/* More blocks for a list that was empty: half of what it may hold, so that neither its end nor
 * its limit is near, but no more than a small part of what is free, lest a pool that is nearly
 * full carves blocks only to give them back. Returns a chain. Under the mutex, behind hold,
 * which made sure of the tickets. */
static uint32_t refill(spad_pool *pool, int64_t bytes, uint32_t home) {
    const int half = pool->limits[spad__bin_of((uint64_t)bytes >> pool->granule_bits)] / 2;
    const int64_t most = spad__min(half, pool->range.free_bytes / REFILL_PART / bytes);
    uint32_t chain = 0;
    for (int64_t i = 0; i < most; i++) {
        const uint32_t number = spad__range_hold(&pool->range, bytes, 1);
        if (number == 0) break;
        write_ticket(pool, number, home, true);
        ticket_at(pool, number)->next = chain;
        chain = number;
    }
    return chain;
}

/* Puts the blocks of a chain into a list, as far as they have room. Returns the others. Under
 * the lock. */
static uint32_t push_chain(const spad_pool *pool, cache *c, uint32_t chain) {
    while (chain != 0) {
        ticket *t = ticket_at(pool, chain);
        const uint32_t next = t->next;
        if (c->counts[t->size_class] == pool->limits[t->size_class]) break;
        push(c, t, chain);
        chain = next;
    }
    return chain;
}

/* Everything that the caches do not serve. */
SPAD__APART static spad_status alloc_slowly(spad_allocation *out, spad_pool *pool, int64_t bytes,
                                            int64_t align, spad_error *error) {
    *out = (spad_allocation){0};
    spad_status status = check_request(pool, bytes, align, error);
    if (status != SPAD_OK) return status;
    const uint64_t granules = granules_of(pool, bytes);
    const int64_t exact = (int64_t)(granules << pool->granule_bits);
    const bool rounds = bytes <= pool->cache_most;
    const uint64_t rounded = rounds ? spad__bin_lower(spad__bin_above(granules)) : granules;
    const uint32_t home = my_cache(pool);
    const int64_t class_bytes = (int64_t)(rounded << pool->granule_bits);
    uint32_t number = 0;
    uint32_t more = 0;
    do {
        pthread_mutex_lock(&pool->mutex);
        status = hold(&number, pool, class_bytes, exact, align, error);
        if (status == SPAD_OK) write_ticket(pool, number, home, rounds);
        if (status == SPAD_OK && rounds) more = refill(pool, class_bytes, home);
        pthread_mutex_unlock(&pool->mutex);
    } while (status == SPAD_ERR_NO_FIT && pool->options.retry != NULL &&
             pool->options.retry(pool->options.retry_ctx, pool, exact));
    if (status != SPAD_OK) {
        count_failure(pool);
        return status == SPAD_ERR_NO_FIT ? fail_no_fit(pool, exact, align, error) : status;
    }
    cache *c = &pool->caches[home];
    spad__spin_lock(&c->lock);
    hand_out(out, c, ticket_at(pool, number), number, bytes);
    more = push_chain(pool, c, more);
    spad__spin_unlock(&c->lock);
    if (more != 0) lock_and_free_chain(pool, more);
    return SPAD_OK;
}

spad_status spad_pool_alloc(spad_allocation *out, spad_pool *pool, int64_t bytes, int64_t align,
                            spad_error *error) {
    if (bytes >= 0 && bytes <= pool->cache_most && align <= pool->granule && spad__is_pow2(align)) {
        const uint32_t bin = spad__bin_above(granules_of(pool, bytes));
        cache *c = &pool->caches[my_cache(pool)];
        spad__spin_lock(&c->lock);
        if (c->heads[bin] != 0) {
            const uint32_t number = pop(pool, c, bin);
            hand_out(out, c, ticket_at(pool, number), number, bytes);
            spad__spin_unlock(&c->lock);
            return SPAD_OK;
        }
        spad__spin_unlock(&c->lock);
    }
    return alloc_slowly(out, pool, bytes, align, error);
}

SPAD__RARE static spad_status fail_stale(const spad_allocation *block, spad_error *error) {
    return spad__fail(error, SPAD_ERR_STALE,
                      "the block at 0x%llx of %lld B is not allocated in this pool: it was freed "
                      "before, or is of another one",
                      (unsigned long long)block->address, (long long)block->bytes);
}

/* Puts a block into its list. Returns a chain that has to leave the cache: the block itself
 * if it has no list, and half of a list that is full. Under the lock. */
static uint32_t keep(const spad_pool *pool, cache *c, ticket *t, uint32_t number) {
    const uint32_t bin = t->size_class;
    uint32_t chain = 0;
    if (!t->listed) {
        t->next = 0;
        return number;
    }
    if (c->counts[bin] == pool->limits[bin])
        chain = cut_list(pool, c, bin, pool->limits[bin] / 2 + 1, 0);
    push(c, t, number);
    return chain;
}

/* The ticket of a block, with the lock of its home taken; NULL if the block is not live. */
static inline ticket *lock_ticket(spad_pool *pool, const spad_allocation *block, cache **home) {
    const uint32_t number = (uint32_t)block->handle;
    const uint32_t generation = (uint32_t)(block->handle >> 32);
    if (number >= atomic_load_explicit(&pool->ticket_count, memory_order_acquire)) return NULL;
    ticket *t = ticket_at(pool, number);
    *home = &pool->caches[atomic_load_explicit(&t->home, memory_order_relaxed)];
    spad__spin_lock(&(*home)->lock);
    if (atomic_load_explicit(&t->generation, memory_order_relaxed) == generation &&
        generation % 2 != 0 && t->address == block->address) {
        return t;
    }
    spad__spin_unlock(&(*home)->lock);
    return NULL;
}

spad_status spad_pool_free(spad_pool *pool, const spad_allocation *block, spad_error *error) {
    if (block->handle == 0) return SPAD_OK;
    cache *c;
    ticket *t = lock_ticket(pool, block, &c);
    if (t == NULL) return fail_stale(block, error);
    atomic_store_explicit(&t->generation, (uint32_t)(block->handle >> 32) + 1,
                          memory_order_relaxed);
    c->frees++;
    c->allocated_bytes -= t->asked;
    if (!spad__add(c->freed_bytes, t->asked, &c->freed_bytes)) c->freed_bytes = INT64_MAX;
    const uint32_t chain = keep(pool, c, t, (uint32_t)block->handle);
    spad__spin_unlock(&c->lock);
    if (chain != 0) lock_and_free_chain(pool, chain);
    return SPAD_OK;
}

/* ---- parking -----------------------------------------------------------------------------------
 */

uint32_t spad__pool_class(const spad_pool *pool, int64_t bytes) {
    return spad__bin_above(granules_of(pool, bytes));
}

int64_t spad__pool_class_bytes(const spad_pool *pool, uint32_t size_class) {
    return (int64_t)(spad__bin_lower(size_class) << pool->granule_bits);
}

int64_t spad__pool_granule(const spad_pool *pool) {
    return pool->granule;
}

spad_status spad__pool_park(uint32_t *number, uint32_t *size_class, spad_pool *pool,
                            const spad_allocation *block, spad_error *error) {
    cache *c;
    ticket *t = lock_ticket(pool, block, &c);
    if (t == NULL) return fail_stale(block, error);
    atomic_store_explicit(&t->generation, (uint32_t)(block->handle >> 32) + 2,
                          memory_order_relaxed);
    *size_class = t->size_class;
    spad__spin_unlock(&c->lock);
    *number = (uint32_t)block->handle;
    return SPAD_OK;
}

uint32_t *spad__pool_link(spad_pool *pool, uint32_t number) {
    return &ticket_at(pool, number)->next;
}

spad_allocation spad__pool_unpark(spad_pool *pool, uint32_t number, int64_t bytes) {
    const ticket *t = ticket_at(pool, number);
    const uint64_t generation = atomic_load_explicit(&t->generation, memory_order_relaxed);
    return (spad_allocation){
        .address = t->address, .bytes = bytes, .handle = generation << 32 | number};
}

/* ---- creation ----------------------------------------------------------------------------------
 */

static spad_status check_options(const spad_pool_options *o, spad_error *error) {
    if (o->max_bytes < 0 || o->initial_bytes < 0 || o->grow_bytes < 0) {
        return spad__fail(error, SPAD_ERR_ARGUMENT, "a pool with a negative size");
    }
    if (!spad__is_pow2(o->block_bytes)) {
        return spad__fail(error, SPAD_ERR_ALIGNMENT,
                          "blocks of %lld B; the size has to be a power of two",
                          (long long)o->block_bytes);
    }
    if (o->max_bytes > 0 && o->initial_bytes > o->max_bytes) {
        return spad__fail(error, SPAD_ERR_ARGUMENT,
                          "the pool begins with %lld B, which is more than its limit of %lld B",
                          (long long)o->initial_bytes, (long long)o->max_bytes);
    }
    return SPAD_OK;
}

/* A list keeps at most so many blocks of its class. */
static void set_limits(spad_pool *pool) {
    const int64_t granule = pool->granule;
    for (uint32_t bin = 1; bin < CACHE_BINS; bin++) {
        const int64_t bytes = (int64_t)spad__bin_lower(bin);
        if (granule > CACHE_LIST_BYTES / bytes) break;
        pool->limits[bin] = (uint8_t)spad__min(CACHE_LIST_BYTES / (bytes * granule), CACHE_BLOCKS);
        pool->cache_most = bytes * granule;
    }
}

static size_t pool_bytes(const spad_pool *pool) {
    return sizeof *pool + (pool->cache_mask + 1) * sizeof(cache);
}

static spad_status create(spad_pool **out, const spad_pool_options *options, spad_error *error) {
    spad_pool_options o = options != NULL ? *options : (spad_pool_options){0};
    *out = NULL;
    if (o.block_bytes == 0) o.block_bytes = BLOCK_BYTES;
    const spad_status status = check_options(&o, error);
    if (status != SPAD_OK) return status;
    const spad_host host = spad__host_or_default(o.host);
    const uint32_t caches = o.exact ? 1 : CACHES;
    spad_pool *pool = spad__new(&host, sizeof *pool + caches * sizeof(cache));
    if (pool == NULL) return spad__fail_host_memory(error);
    pool->host = host;
    pool->options = o;
    pool->cache_mask = caches - 1;
    if (pthread_mutex_init(&pool->mutex, NULL) != 0) {
        spad__free(&host, pool, pool_bytes(pool));
        return spad__fail_host_memory(error);
    }
    /* Pools differ in their addresses, so the first handles of two pools do. */
    const uint64_t mixed = (uint64_t)(uintptr_t)pool * UINT64_C(0x9E3779B97F4A7C15);
    pool->first_generation = (uint32_t)(mixed >> 32) & ~1u;
    spad__range_init(&pool->range, o.block_bytes, &host);
    pool->granule = pool->range.granule;
    pool->granule_bits = pool->range.granule_bits;
    pool->cache_most = -1;
    if (!o.exact) set_limits(pool);
    *out = pool;
    return SPAD_OK;
}

spad_status spad_pool_create(spad_pool **out, const spad_memory *below,
                             const spad_pool_options *options, spad_error *error) {
    spad_status status = create(out, options, error);
    if (status != SPAD_OK) return status;
    spad_pool *pool = *out;
    pool->below = *below;
    if (pool->options.initial_bytes == 0) return SPAD_OK;
    int64_t bytes;
    if (!spad__align_up(pool->options.initial_bytes, pool->range.granule, &bytes)) {
        status = spad__fail(error, SPAD_ERR_OVERFLOW, "the pool's first chunk is too large");
    } else {
        status = add_chunk(pool, bytes, error);
    }
    if (status == SPAD_OK) return SPAD_OK;
    spad_pool_destroy(pool);
    *out = NULL;
    return status;
}

spad_status spad_pool_create_over(spad_pool **out, int64_t base, const spad_pool_options *options,
                                  spad_error *error) {
    int64_t first;
    int64_t end;
    spad_status status = create(out, options, error);
    if (status != SPAD_OK) return status;
    spad_pool *pool = *out;
    const int64_t granule = pool->range.granule;
    if (!spad__add(base, pool->options.max_bytes, &end) || !spad__align_up(base, granule, &first)) {
        status = spad__fail(error, SPAD_ERR_OVERFLOW, "the end of the pool does not fit 64 bits");
    } else if (end - spad__floor_mod(end, granule) <= first) {
        status = spad__fail(error, SPAD_ERR_ARGUMENT,
                            "a pool over %lld B has no room for a block of %lld B",
                            (long long)pool->options.max_bytes, (long long)granule);
    } else {
        chunk all = {.bytes = end - spad__floor_mod(end, granule) - first};
        if (!spad__array_reserve(&pool->host, &pool->chunks, 1) ||
            (all.first = spad__range_add(&pool->range, first, all.bytes)) == 0) {
            status = spad__fail_host_memory(error);
        } else {
            pool->chunks.items[pool->chunks.count++] = all;
            pool->capacity = all.bytes;
        }
    }
    if (status == SPAD_OK) return SPAD_OK;
    spad_pool_destroy(pool);
    *out = NULL;
    return status;
}

void spad_pool_destroy(spad_pool *pool) {
    if (pool == NULL) return;
    for (size_t i = 0; i < pool->chunks.count; i++) {
        if (pool->below.calls != NULL)
            spad_memory_free(&pool->below, &pool->chunks.items[i].block, NULL);
    }
    spad__array_free(&pool->host, &pool->chunks);
    spad__range_deinit(&pool->range);
    for (int i = 0; i < SEGMENTS; i++) {
        spad__free(&pool->host, pool->segment_blocks[i], segment_bytes(i));
    }
    pthread_mutex_destroy(&pool->mutex);
    spad__free(&pool->host, pool, pool_bytes(pool));
}

/* ---- as a memory
 * --------------------------------------------------------------------------------- */

static spad_status call_alloc(void *ctx, spad_allocation *out, int64_t bytes, int64_t align,
                              spad_error *error) {
    return spad_pool_alloc(out, ctx, bytes, align, error);
}

static spad_status call_free(void *ctx, const spad_allocation *block, spad_error *error) {
    return spad_pool_free(ctx, block, error);
}

spad_memory spad_pool_memory(spad_pool *pool) {
    static const spad_memory_calls calls = {.alloc = call_alloc, .free = call_free};
    return (spad_memory){.calls = &calls, .ctx = pool};
}

/* ---- trimming and questions ---------------------------------------------------------------------
 */

/* The largest chunk that is wholly free and at most `most` bytes; the count for none. */
static size_t largest_free_chunk(const spad_pool *pool, int64_t most) {
    size_t best = pool->chunks.count;
    for (size_t i = 0; i < pool->chunks.count; i++) {
        const chunk *c = &pool->chunks.items[i];
        const spad__piece *first = spad__range_at(&pool->range, c->first);
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
    empty_caches(pool);
    while (status == SPAD_OK && pool->below.calls != NULL) {
        const size_t i = largest_free_chunk(pool, pool->capacity - keep_least);
        if (i == pool->chunks.count) break;
        const chunk c = pool->chunks.items[i];
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

static void add_stats(spad_memory_stats *sum, const cache *c) {
    sum->allocations += c->allocations;
    sum->frees += c->frees;
    sum->failures += c->failures;
    sum->allocated_bytes += c->allocated_bytes;
    sum->peak_bytes += c->peak_bytes;
    sum->peak_blocks += c->peak_blocks;
    sum->live_blocks = sum->allocations - sum->frees;
    if (!spad__add(sum->freed_bytes, c->freed_bytes, &sum->freed_bytes))
        sum->freed_bytes = INT64_MAX;
    if (!spad__add(sum->freed_bytes, sum->allocated_bytes, &sum->total_bytes))
        sum->total_bytes = INT64_MAX;
}

static int64_t cached_bytes(const spad_pool *pool, const cache *c) {
    int64_t bytes = 0;
    for (uint32_t bin = 0; bin < CACHE_BINS && c->blocks > 0; bin++) {
        bytes += c->counts[bin] * spad__pool_class_bytes(pool, bin);
    }
    return bytes;
}

spad_pool_stats spad_pool_get_stats(spad_pool *pool) {
    spad_pool_stats stats = {0};
    pthread_mutex_lock(&pool->mutex);
    for (uint32_t i = 0; i <= pool->cache_mask; i++) {
        cache *c = &pool->caches[i];
        spad__spin_lock(&c->lock);
        add_stats(&stats.blocks, c);
        stats.cached_bytes += cached_bytes(pool, c);
        spad__spin_unlock(&c->lock);
    }
    stats.capacity_bytes = pool->capacity;
    stats.held_bytes = pool->range.held_bytes;
    stats.peak_held_bytes = pool->range.peak_bytes;
    stats.free_bytes = pool->range.free_bytes;
    stats.largest_hole = spad__range_largest(&pool->range);
    stats.holes = pool->range.holes;
    stats.chunks = (int64_t)pool->chunks.count;
    stats.fragmentation = fragmentation(stats.free_bytes, stats.largest_hole);
    pthread_mutex_unlock(&pool->mutex);
    return stats;
}

/* The lists of one cache: blocks of their class that nobody has. */
static const char *cache_fault(const spad_pool *pool, const cache *c) {
    int32_t blocks = 0;
    for (uint32_t bin = 0; bin < CACHE_BINS; bin++) {
        int count = 0;
        for (uint32_t n = c->heads[bin]; n != 0; n = ticket_at(pool, n)->next) {
            const ticket *t = ticket_at(pool, n);
            const spad__piece *piece = spad__range_at(&pool->range, n);
            if (piece->is_free) return "a block in a thread's list is free in the range";
            if (piece->address != t->address) return "a block and its piece are elsewhere";
            if (atomic_load_explicit(&t->generation, memory_order_relaxed) % 2 != 0)
                return "a block in a thread's list is allocated";
            if (piece->bytes != spad__pool_class_bytes(pool, bin))
                return "a block is in a list of another size";
            count++;
        }
        if (count != c->counts[bin]) return "the length of a thread's list is wrong";
        blocks += count;
    }
    return blocks == c->blocks ? NULL : "the number of blocks in a thread's lists is wrong";
}

spad_status spad_pool_check(spad_pool *pool, spad_error *error) {
    const char *fault = NULL;
    spad__range_sums sums = {0};
    pthread_mutex_lock(&pool->mutex);
    for (uint32_t i = 0; i <= pool->cache_mask && fault == NULL; i++) {
        spad__spin_lock(&pool->caches[i].lock);
        fault = cache_fault(pool, &pool->caches[i]);
        spad__spin_unlock(&pool->caches[i].lock);
    }
    for (size_t i = 0; i < pool->chunks.count && fault == NULL; i++) {
        fault = spad__range_chunk_fault(&pool->range, pool->chunks.items[i].first, &sums);
    }
    if (fault == NULL) fault = spad__range_fault(&pool->range, &sums);
    pthread_mutex_unlock(&pool->mutex);
    if (fault == NULL) return SPAD_OK;
    return spad__fail(error, SPAD_ERR_INTERNAL, "the pool is broken: %s", fault);
}
