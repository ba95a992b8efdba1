/* SPDX-License-Identifier: Apache-2.0
 *
 * The pool: a range (range.h) protected by a mutex, and above it caches, lists of
 * freed pieces by size class, one cache for each of a few threads.
 *
 * A thread is known by the address of its control block, hashed to a cache; two threads that
 * meet in one cache wait for each other and nothing else happens. A handle leads to a ticket,
 * half a line of the processor's cache, which is all that the quick paths touch. A block
 * belongs to the cache of the thread that allocated it and goes back there when it is freed,
 * by whichever thread, so the lock of its home makes freeing twice visible: the
 * generation is compared and advanced under it.
 *
 * The common case, a block into a list or out of it, is in spad_pool_alloc and
 * spad_pool_free themselves, short and without a call; everything else, even a lock that
 * another thread has, goes through alloc_slowly and free_slowly, which start over.
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
 * the length of a list and its room add up to its limit.
 */
#define _DEFAULT_SOURCE 1 /* getentropy */
#include "spad/device/pool.h"

#include <string.h>
#include <time.h>

#include "base/assert.h"
#include "base/checked.h"
#include "base/hash.h"
#include "base/options.h"
#include "device/pool.h"
#include "device/request.h"

#if defined(__has_include)
#if __has_include(<sys/random.h>)
#include <sys/random.h>
#define SPAD__HAS_ENTROPY
#endif
#endif

enum {
    CACHE_OCTAVES = SPAD__CACHE_BINS / SPAD__BIN_SUB,
    CACHE_BLOCKS = 64,             /* most in one list */
    CACHE_LIST_GRANULES = 1 << 14, /* and most bytes, in blocks of the smallest size */
    REFILL_PART = 1024,            /* of the free bytes that an empty list may take at once */
    BLOCK_BYTES = 64,
    GROW_LEAST = 1 << 20,
    GROW_MOST = 1 << 30
};

/* ---- tickets ----------------------------------------------------------------------- */

/* A zeroed block of `bytes` bytes at the beginning of a line; *block is the one to give back. */
static void *new_lines(void **block, const spad_host *host, size_t bytes) {
    char *start = spad__new(host, bytes + SPAD__LINE);
    *block = start;
    return start != NULL ? start + (-(uintptr_t)start & (SPAD__LINE - 1)) : NULL;
}

static void free_lines(void *block, const spad_host *host, size_t bytes) {
    spad__free(host, block, bytes + SPAD__LINE);
}

static size_t segment_bytes(unsigned segment) {
    return sizeof(spad__ticket) << segment;
}

static bool add_segment(spad_pool *pool, unsigned segment) {
    spad__ticket *tickets =
        new_lines(&pool->segment_blocks[segment], &pool->host, segment_bytes(segment));
    if (tickets == NULL) return false;
    for (size_t i = 0; i < (size_t)1 << segment; i++) {
        atomic_init(&tickets[i].handle, pool->first_handle);
    }
    atomic_store_explicit(&pool->segments[segment], tickets, memory_order_release);
    return true;
}

/* Makes tickets for all pieces that `holds` holds may return. Under the mutex. */
static bool reserve_tickets(spad_pool *pool, uint32_t holds) {
    if (!spad__range_reserve(&pool->range, holds)) return false;
    const uint64_t last = pool->range.pieces.count - 1 + (1u << SPAD__SEGMENT_BITS);
    const unsigned segment = spad__top_bit(last);
    if (segment >= SPAD__SEGMENTS - 1) return false; /* 2^32 pieces */
    for (unsigned s = SPAD__SEGMENT_BITS; s <= segment; s++) {
        if (pool->segment_blocks[s] == NULL && !add_segment(pool, s)) return false;
    }
    return true;
}

/* ---- caches ------------------------------------------------------------------------ */

/* A number that no two threads share while both run. */
static uint64_t thread_number(void) {
#if defined(__has_builtin)
#if __has_builtin(__builtin_thread_pointer)
    return (uint64_t)(uintptr_t)
        __builtin_thread_pointer(); /* the same number without a call of pthread_self */
#define SPAD__HAS_THREAD_POINTER
#endif
#endif
#if !defined(SPAD__HAS_THREAD_POINTER)
    return (uint64_t)(uintptr_t)pthread_self();
#endif
}

/* Thread numbers are addresses of blocks of memory: far apart, with equal low bits. The thread that
 * made the pool is often the only one; it need not wait for the product. */
static inline uint32_t home_of_caller(const spad_pool *pool) {
    const uint64_t thread = thread_number();
    if (thread == pool->maker) return 0;
    return (uint32_t)(thread * SPAD__HASH_FACTOR >> 59) & pool->cache_mask;
}

static inline void count_alloc(spad__cache *home, int64_t bytes) {
    spad__assert(bytes >= 0 && home->bytes_below >= 0 && home->blocks_below >= 0);
    home->bytes_below -= bytes;
    if (home->bytes_below < 0) {
        home->peak_bytes -= home->bytes_below;
        home->bytes_below = 0;
    }
    home->blocks_below--;
    if (home->blocks_below < 0) {
        home->peak_blocks++;
        home->blocks_below = 0;
    }
}

/* The block's new owner is the user. Under the lock of the cache. */
static inline void hand_out(spad_allocation *out, spad__cache *home, spad__ticket *t,
                            uint32_t number, int64_t bytes) {
    t->asked = bytes;
    *out = (spad_allocation){
        .address = t->address, .bytes = bytes, .handle = spad__ticket_give(t, number)};
    count_alloc(home, bytes);
}

/* The block has no owner any more. Under the lock of the cache. */
static inline void take_back(spad__cache *home, spad__ticket *t, uint64_t handle) {
    spad__assert(t->asked >= 0 && home->blocks_below < home->peak_blocks);
    spad__assert(t->asked <= home->peak_bytes - home->bytes_below);
    spad__ticket_end(t, handle);
    home->bytes_below += t->asked;
    home->blocks_below++;
    home->frees++;
    if (!spad__add(home->freed_bytes, t->asked, &home->freed_bytes)) home->freed_bytes = INT64_MAX;
}

/* Puts a block into a list that has room. Under the lock. */
static inline void push(spad__list *list, spad__ticket *t, uint32_t number) {
    spad__assert(list->room > 0 && number != 0);
    t->next = list->first;
    list->first = number;
    list->room--;
}

/* Takes the first block of a list that is not empty. Under the lock. */
static inline spad__ticket *pop(const spad_pool *pool, spad__list *list) {
    spad__assert(list->first != 0 && list->room < UINT16_MAX);
    spad__ticket *t = spad__ticket_at(pool, list->first);
    list->first = t->next;
    list->room++;
    return t;
}

/* Moves up to `count` blocks of a list out of the cache and onto a chain. Under the lock. */
static uint32_t cut_list(const spad_pool *pool, spad__list *list, int count, uint32_t chain) {
    for (; count > 0 && list->first != 0; count--) {
        const uint32_t number = list->first;
        pop(pool, list)->next = chain;
        chain = number;
    }
    return chain;
}

/* Gives the pieces of a chain back to the range. Under the mutex. */
static void free_chain(spad_pool *pool, uint32_t chain) {
    while (chain != 0) {
        const uint32_t next = spad__ticket_at(pool, chain)->next;
        spad__range_free(&pool->range, chain);
        chain = next;
    }
}

static void lock_and_free_chain(spad_pool *pool, uint32_t chain) {
    pthread_mutex_lock(&pool->mutex);
    free_chain(pool, chain);
    pthread_mutex_unlock(&pool->mutex);
}

/* Gives the blocks of one octave, the classes between two powers of two, back to the range.
 * Were there any? Under the mutex. */
static bool empty_octave(spad_pool *pool, uint32_t octave) {
    spad__assert(octave < CACHE_OCTAVES);
    const uint32_t first = octave * SPAD__BIN_SUB;
    bool any = false;
    for (uint32_t used = pool->used_caches; used != 0; used &= used - 1) {
        spad__cache *c = pool->caches[__builtin_ctz(used)];
        uint32_t chain = 0;
        spad__spin_lock(&c->lock);
        for (uint32_t bin = first; bin < first + SPAD__BIN_SUB; bin++) {
            chain = cut_list(pool, &c->lists[bin], CACHE_BLOCKS, chain);
        }
        spad__spin_unlock(&c->lock);
        any = any || chain != 0;
        free_chain(pool, chain);
    }
    return any;
}

void spad__pool_empty_caches(spad_pool *pool) {
    for (uint32_t octave = CACHE_OCTAVES; octave-- > 0;) empty_octave(pool, octave);
}

/* ---- the range, under the mutex ---------------------------------------------------- */

static int64_t chunk_bytes_wanted(const spad_pool *pool) {
    if (pool->options.grow_bytes > 0) return pool->options.grow_bytes;
    return spad__min(spad__max(pool->capacity / 2, GROW_LEAST), GROW_MOST);
}

/* Reserves host memory for `holds` holds, and for one more chunk where the pool can grow, before
 * anything changes, so that a pool which has grown never lacks the rest. */
static bool reserve(spad_pool *pool, uint32_t holds) {
    const bool grows = pool->below.calls != NULL;
    return reserve_tickets(pool, holds + (grows ? 1 : 0)) &&
           (!grows || spad__array_reserve(&pool->host, &pool->chunks, 1));
}

/* The lowest place for `bytes` bytes that no other chunk overlaps; SPAD_NO_BYTE: none fits 64 bits.
 */
static int64_t free_position(const spad_pool *pool, int64_t bytes) {
    int64_t position = 0;
    for (size_t i = 0; i < pool->chunks.count;) {
        const spad__pool_chunk *c = &pool->chunks.items[i];
        if (c->position == SPAD_NO_BYTE || c->position >= position + bytes ||
            position >= c->position + c->bytes) {
            i++;
            continue;
        }
        position = c->position + c->bytes;
        if (position > INT64_MAX - bytes) return SPAD_NO_BYTE;
        i = 0;
    }
    return position;
}

/* Adds a chunk of `bytes` bytes, a multiple of the block; `reserve` was called before. */
static spad_status add_chunk(spad_pool *pool, int64_t bytes, spad_error *error) {
    spad__assert(bytes > 0 && (bytes & (pool->range.granule - 1)) == 0);
    spad__assert(pool->chunks.count < pool->chunks.capacity);
    spad__pool_chunk added = {.bytes = bytes, .position = free_position(pool, bytes)};
    /* for a memory that fails without a message */
    spad__fail(error, SPAD_ERR_NO_FIT, "the memory of the pool has no %lld B left; request less",
               (long long)bytes);
    const spad_status status =
        spad_memory_alloc(&added.block, &pool->below, bytes, pool->range.granule, error);
    if (status != SPAD_OK) return status;
    added.first = spad__range_add(&pool->range, added.block.address, bytes);
    spad__assert(added.first != 0); /* its piece was reserved */
    pool->chunks.items[pool->chunks.count++] = added;
    pool->capacity += bytes;
    return SPAD_OK;
}

int spad__pool_fragmentation(int64_t free_bytes, int64_t largest) {
    spad__assert(0 <= largest && largest <= free_bytes);
    if (free_bytes == 0) return 0;
    return (int)((double)(free_bytes - largest) * 100.0 / (double)free_bytes);
}

static void add_amounts(const spad_pool *pool, int64_t needed, spad_error *error) {
    spad__fact_amounts(error, needed, pool->range.free_bytes, spad__range_largest(&pool->range));
}

/* The error of a pool that may not grow. Under the mutex. */
static spad_status fail_no_fit(const spad_pool *pool, int64_t needed, int64_t align,
                               spad_error *error) {
    const int64_t free_bytes = pool->range.free_bytes;
    const int64_t largest = spad__range_largest(&pool->range);
    spad__fail(
        error, SPAD_ERR_NO_FIT,
        "%lld B at alignment %lld do not fit: %lld of %lld B are free, the largest hole is "
        "%lld B (fragmentation %d %%); free something%s",
        (long long)needed, (long long)align, (long long)free_bytes, (long long)pool->capacity,
        (long long)largest, spad__pool_fragmentation(free_bytes, largest),
        pool->below.calls != NULL ? ", request less or raise max_bytes" : " or request less");
    add_amounts(pool, needed, error);
    return SPAD_ERR_NO_FIT;
}

/* Grows by a chunk with room for `bytes` at `align`: as large as usual if there is that much, else
 * as small as possible. Where the memory below has no room, its message is the more useful one.
 * `exact`: the bytes that the caller needs. */
static spad_status grow(spad_pool *pool, int64_t bytes, int64_t exact, int64_t align,
                        spad_error *error) {
    const int64_t granule = pool->range.granule;
    const int64_t room = pool->options.max_bytes > 0 ? pool->options.max_bytes - pool->capacity
                                                     : INT64_MAX - pool->capacity;
    int64_t least = bytes;
    int64_t usual;
    if (pool->below.calls == NULL ||
        (align > granule && !spad__add(bytes, align - granule, &least)) || least > room) {
        return fail_no_fit(pool, exact, align, error);
    }
    if (!spad__align_up(chunk_bytes_wanted(pool), granule, &usual)) usual = least;
    usual = spad__max(spad__min(usual, room & -granule), least);
    spad_status status = add_chunk(pool, usual, error);
    if (status == SPAD_ERR_NO_FIT && usual > least) status = add_chunk(pool, least, error);
    if (status == SPAD_ERR_NO_FIT) add_amounts(pool, exact, error);
    return status;
}

/* A piece from the range: of the rounded size if possible, else of the exact one. There are
 * tickets for as many more as a list may be given. */
static spad_status hold(uint32_t *number, spad_pool *pool, int64_t rounded, int64_t exact,
                        int64_t align, spad_error *error) {
    spad__range *range = &pool->range;
    spad__assert(exact > 0 && exact <= rounded);
    if (!reserve(pool, 1 + CACHE_BLOCKS / 2)) return spad__fail_host_memory(error);
    *number = spad__range_hold(range, rounded, align);
    for (uint32_t octave = CACHE_OCTAVES; *number == 0 && octave-- > 0;) {
        if (empty_octave(pool, octave)) *number = spad__range_hold(range, rounded, align);
    }
    if (*number == 0 && exact < rounded) *number = spad__range_hold(range, exact, align);
    if (*number != 0) return SPAD_OK;
    const spad_status status = grow(pool, rounded, exact, align, error);
    if (status != SPAD_OK) return status;
    *number = spad__range_hold(range, rounded, align);
    spad__assert(*number != 0); /* the new chunk has room, whatever its address */
    return SPAD_OK;
}

/* ---- allocation -------------------------------------------------------------------- */

/* Granules of a request of bytes >= 0: at least one. */
static uint64_t granules_of(const spad_pool *pool, int64_t bytes) {
    return ((uint64_t)(bytes - (bytes > 0)) >> pool->granule_bits) + 1;
}

static spad_status check_request(const spad_pool *pool, int64_t bytes, int64_t align,
                                 spad_error *error) {
    const spad_status status = spad__check_request(bytes, align, error);
    if (status != SPAD_OK) return status;
    int64_t rounded;
    if (!spad__align_up(bytes, pool->range.granule, &rounded)) {
        return spad__fail(error, SPAD_ERR_OVERFLOW,
                          "a block of %lld B, rounded up to blocks of %lld B, does not fit 64 bits",
                          (long long)bytes, (long long)pool->range.granule);
    }
    return SPAD_OK;
}

static void count_pool_failure(spad_pool *pool) {
    spad__cache *c = pool->caches[home_of_caller(pool)];
    spad__spin_lock(&c->lock);
    c->failures++;
    spad__spin_unlock(&c->lock);
}

/* Fills in the ticket of a piece that was just held. Under the mutex. */
static void write_ticket(spad_pool *pool, uint32_t number, uint32_t home, bool rounds) {
    spad__assert(home <= pool->cache_mask);
    const spad__range_piece *piece = spad__range_at(&pool->range, number);
    const uint64_t granules = (uint64_t)piece->bytes >> pool->granule_bits;
    spad__ticket *t = spad__ticket_at(pool, number);
    spad__assert(!piece->is_free);
    t->address = piece->address;
    t->size_class = (uint16_t)spad__bin_of(granules);
    t->list = rounds && spad__bin_lower(t->size_class) == granules ? (uint8_t)t->size_class : 0;
    spad__assert(t->list < SPAD__CACHE_BINS);
    spad__assert(t->list == 0 || pool->limits[t->list] > 0);
    atomic_store_explicit(&t->home, (uint8_t)home, memory_order_relaxed);
    pool->used_caches |= 1u << home;
}

/* More blocks for a list that was empty: half of what it may hold, so that neither its end nor
 * its limit is near, but no more than a small part of the free bytes, so that a nearly full
 * pool does not carve blocks only to give them back. Returns a chain. Under the mutex, after hold,
 * which made sure of the tickets. */
static uint32_t refill(spad_pool *pool, int64_t bytes, uint32_t home) {
    spad__assert(bytes > 0);
    const int half = pool->limits[spad__bin_of((uint64_t)bytes >> pool->granule_bits)] / 2;
    const int64_t most = spad__min(half, pool->range.free_bytes / REFILL_PART / bytes);
    uint32_t chain = 0;
    for (int64_t i = 0; i < most; i++) {
        const uint32_t number = spad__range_hold(&pool->range, bytes, 1);
        if (number == 0) break;
        write_ticket(pool, number, home, true);
        spad__ticket_at(pool, number)->next = chain;
        chain = number;
    }
    return chain;
}

/* Puts the blocks of a chain into a list, as far as they have room. Returns the others. Under
 * the lock. */
static uint32_t push_chain(const spad_pool *pool, spad__cache *c, uint32_t chain) {
    while (chain != 0) {
        spad__ticket *t = spad__ticket_at(pool, chain);
        const uint32_t next = t->next;
        if (c->lists[t->list].room == 0) break;
        push(&c->lists[t->list], t, chain);
        chain = next;
    }
    return chain;
}

/* A block from a list, if there is one. Under the lock. */
static inline bool alloc_listed(spad_allocation *out, const spad_pool *pool, spad__cache *c,
                                int64_t bytes) {
    spad__list *list = &c->lists[spad__pool_class(pool, bytes)];
    const uint32_t number = list->first;
    if (number == 0) return false;
    hand_out(out, c, pop(pool, list), number, bytes);
    return true;
}

/* Do the caches serve the request? */
static inline bool is_listed(const spad_pool *pool, int64_t bytes, int64_t align) {
    return (uint64_t)bytes < pool->cache_end && spad__pool_has_alignment(pool, align);
}

/* A block from the range, and more of them for the list. */
static spad_status alloc_held(spad_allocation *out, spad_pool *pool, int64_t bytes, int64_t align,
                              spad_error *error) {
    const uint64_t granules = granules_of(pool, bytes);
    const int64_t exact = (int64_t)(granules << pool->granule_bits);
    const bool rounds = (uint64_t)bytes < pool->cache_end;
    const uint64_t rounded = rounds ? spad__bin_lower(spad__bin_above(granules)) : granules;
    const uint32_t home = home_of_caller(pool);
    const int64_t class_bytes = (int64_t)(rounded << pool->granule_bits);
    spad_status status;
    spad_error refused; /* of one attempt: the next one may succeed */
    uint32_t number = 0;
    uint32_t more = 0;
    do {
        pthread_mutex_lock(&pool->mutex);
        status = hold(&number, pool, class_bytes, exact, align, &refused);
        if (status == SPAD_OK) write_ticket(pool, number, home, rounds);
        if (status == SPAD_OK && rounds) more = refill(pool, class_bytes, home);
        pthread_mutex_unlock(&pool->mutex);
    } while (status == SPAD_ERR_NO_FIT && pool->options.retry != NULL &&
             pool->options.retry(pool->options.retry_context, pool, exact));
    if (status != SPAD_OK) {
        count_pool_failure(pool);
        if (error != NULL) *error = refused;
        return status;
    }
    spad__cache *c = pool->caches[home];
    spad__spin_lock(&c->lock);
    hand_out(out, c, spad__ticket_at(pool, number), number, bytes);
    more = push_chain(pool, c, more);
    spad__spin_unlock(&c->lock);
    if (more != 0) lock_and_free_chain(pool, more);
    return SPAD_OK;
}

SPAD__APART static spad_status alloc_slowly(spad_allocation *out, spad_pool *pool, int64_t bytes,
                                            int64_t align, spad_error *error) {
    *out = (spad_allocation){0};
    const spad_status status = check_request(pool, bytes, align, error);
    if (status != SPAD_OK) return status;
    if (is_listed(pool, bytes, align)) {
        spad__cache *c = pool->caches[home_of_caller(pool)];
        spad__spin_lock(&c->lock);
        const bool done = alloc_listed(out, pool, c, bytes);
        spad__spin_unlock(&c->lock);
        if (done) return SPAD_OK;
    }
    return alloc_held(out, pool, bytes, align, error);
}

spad_status spad_pool_alloc(spad_allocation *out, spad_pool *pool, int64_t bytes, int64_t align,
                            spad_error *error) {
    if (is_listed(pool, bytes, align)) {
        spad__cache *c = pool->caches[home_of_caller(pool)];
        if (spad__spin_try(&c->lock)) {
            const bool done = alloc_listed(out, pool, c, bytes);
            spad__spin_unlock(&c->lock);
            if (done) return SPAD_OK;
        }
    }
    return alloc_slowly(out, pool, bytes, align, error);
}

SPAD__RARE static spad_status fail_stale(const spad_allocation *block, spad_error *error) {
    return spad__fail(error, SPAD_ERR_STALE,
                      "the block at 0x%llx of %lld B is not allocated in this pool: it was freed "
                      "before, or belongs to another pool",
                      (unsigned long long)block->address, (long long)block->bytes);
}

/* The ticket that a handle leads to, whether it is of a live block or not; NULL: none exists. */
static inline spad__ticket *find_ticket(const spad_pool *pool, uint64_t handle) {
    const spad__ticket_place p = spad__ticket_place_of((uint32_t)handle);
    spad__ticket *segment = atomic_load_explicit(&pool->segments[p.segment], memory_order_acquire);
    return segment != NULL ? segment + p.index : NULL;
}

/* The cache whose lock guards a ticket. */
static inline spad__cache *home_of(spad_pool *pool, const spad__ticket *t) {
    return pool->caches[atomic_load_explicit(&t->home, memory_order_relaxed)];
}

/* Does the block have its user? Under the lock of its home. */
static inline bool is_live(const spad__ticket *t, uint64_t handle, int64_t address) {
    return atomic_load_explicit(&t->handle, memory_order_relaxed) == handle &&
           t->address == address;
}

/* The ticket of a block, with the lock of its home taken; NULL if the block is not live. */
static spad__ticket *lock_ticket(spad_pool *pool, const spad_allocation *block,
                                 spad__cache **home) {
    spad__ticket *t = (uint32_t)block->handle != 0 ? find_ticket(pool, block->handle) : NULL;
    if (t == NULL) return NULL;
    *home = home_of(pool, t);
    spad__spin_lock(&(*home)->lock);
    if (is_live(t, block->handle, block->address)) return t;
    spad__spin_unlock(&(*home)->lock);
    return NULL;
}

/* Puts a block into its list. Returns a chain that must leave the cache: the block itself
 * if it has no list, and half of a list that is full. Under the lock. */
static uint32_t keep(const spad_pool *pool, spad__cache *c, spad__ticket *t, uint32_t number) {
    spad__assert(t->list < SPAD__CACHE_BINS && c->lists[0].room == 0); /* list 0 takes nothing */
    spad__list *list = &c->lists[t->list];
    uint32_t chain = 0;
    if (t->list == 0) {
        t->next = 0;
        return number;
    }
    if (list->room == 0) chain = cut_list(pool, list, pool->limits[t->list] / 2 + 1, 0);
    spad__assert(list->room > 0); /* a list has a limit of at least 1 */
    push(list, t, number);
    return chain;
}

SPAD__APART static spad_status free_slowly(spad_pool *pool, const spad_allocation *block,
                                           spad_error *error) {
    spad__cache *c;
    if (block->handle == 0) return SPAD_OK;
    spad__ticket *t = lock_ticket(pool, block, &c);
    if (t == NULL) return fail_stale(block, error);
    take_back(c, t, block->handle);
    const uint32_t chain = keep(pool, c, t, (uint32_t)block->handle);
    spad__spin_unlock(&c->lock);
    if (chain != 0) lock_and_free_chain(pool, chain);
    return SPAD_OK;
}

/* Puts a live block into its list, if it has one with room. Under the lock of its home. */
static inline bool free_listed(spad__cache *c, spad__ticket *t, uint64_t handle, int64_t address) {
    if (!is_live(t, handle, address)) return false;
    spad__list *list = &c->lists[t->list];
    if (list->room == 0) return false;
    take_back(c, t, handle);
    push(list, t, (uint32_t)handle);
    return true;
}

spad_status spad_pool_free(spad_pool *pool, const spad_allocation *block, spad_error *error) {
    const uint64_t handle = block->handle;
    const uint32_t home = home_of_caller(pool);
    spad__cache *c = pool->caches[home];
    spad__ticket *t = find_ticket(pool, handle);
    if (t != NULL && atomic_load_explicit(&t->home, memory_order_relaxed) == home &&
        spad__spin_try(&c->lock)) {
        const bool done = free_listed(c, t, handle, block->address);
        spad__spin_unlock(&c->lock);
        if (done) return SPAD_OK;
    }
    return free_slowly(pool, block, error);
}

/* ---- parking ----------------------------------------------------------------------- */

uint32_t spad__pool_home(spad_pool *pool) {
    const uint32_t home = home_of_caller(pool);
    pthread_mutex_lock(&pool->mutex);
    pool->used_caches |= 1u << home;
    pthread_mutex_unlock(&pool->mutex);
    return home;
}

/* Under the lock of the old home; returns under that of the new one. No other thread knows the
 * block.
 */
static void change_home(spad_pool *pool, spad__ticket *t, uint32_t home) {
    spad__assert(home <= pool->cache_mask);
    spad__cache *old = home_of(pool, t);
    old->bytes_below += t->asked;
    old->blocks_below++;
    atomic_store_explicit(&t->home, (uint8_t)home, memory_order_relaxed);
    spad__spin_unlock(&old->lock);
    spad__spin_lock(&pool->caches[home]->lock);
    count_alloc(pool->caches[home], t->asked);
}

spad_status spad__pool_park(spad__ticket **parked, spad_pool *pool, const spad_allocation *block,
                            uint32_t home, spad_error *error) {
    spad__cache *c;
    spad__ticket *t = lock_ticket(pool, block, &c);
    if (t == NULL) return fail_stale(block, error);
    spad__ticket_end(t, block->handle);
    if (c != pool->caches[home]) change_home(pool, t, home);
    *parked = t;
    return SPAD_OK;
}

/* ---- creation ---------------------------------------------------------------------- */

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

/* Sets the most blocks that the list of each class keeps. */
static void set_limits(spad_pool *pool) {
    for (uint32_t bin = 1; bin < SPAD__CACHE_BINS; bin++) {
        const int64_t granules = (int64_t)spad__bin_lower(bin);
        int64_t bytes;
        if (granules > CACHE_LIST_GRANULES || !spad__mul(granules, pool->granule, &bytes)) break;
        pool->limits[bin] = (uint8_t)spad__min(CACHE_LIST_GRANULES / granules, CACHE_BLOCKS);
        pool->cache_end = (uint64_t)bytes + 1;
        for (uint32_t i = 0; i <= pool->cache_mask; i++) {
            pool->caches[i]->lists[bin].room = pool->limits[bin];
        }
    }
}

static size_t cache_bytes(const spad_pool *pool) {
    return (pool->cache_mask + 1) * sizeof(spad__cache);
}

static bool add_caches(spad_pool *pool) {
    pool->cache_mask = pool->options.exact ? 0 : SPAD__CACHES - 1;
    spad__cache *caches = new_lines(&pool->cache_block, &pool->host, cache_bytes(pool));
    if (caches == NULL) return false;
    for (uint32_t i = 0; i <= pool->cache_mask; i++) pool->caches[i] = &caches[i];
    return true;
}

/* Where the generations of a pool's handles begin. Pools differ in it even if one takes the
 * address of another that is gone, so that blocks of the old one are stale in the new one. It is
 * random, the one value here that is not the same in every run: handles are compared for equality
 * and nothing else, never ordered, printed or written to a log, so no output depends on it. The
 * system's random numbers first; the clock and the address do where it has none. */
static uint32_t new_salt(const spad_pool *pool) {
    uint32_t salt;
#if defined(SPAD__HAS_ENTROPY)
    if (getentropy(&salt, sizeof salt) == 0) return salt;
#endif
    struct timespec now = {0};
    timespec_get(&now, TIME_UTC);
    const uint64_t mixed =
        ((uint64_t)now.tv_sec * UINT64_C(1000000000) + (uint64_t)now.tv_nsec + (uintptr_t)pool) *
        SPAD__HASH_FACTOR;
    salt = (uint32_t)(mixed >> 32);
    return salt;
}

static spad_status create(spad_pool **out, const spad_pool_options *options, spad_error *error) {
    spad_pool_options o;
    *out = NULL;
    spad_status status = SPAD__COPY_OPTIONS(&o, options, error);
    if (o.block_bytes == 0) o.block_bytes = BLOCK_BYTES;
    if (status == SPAD_OK) status = check_options(&o, error);
    if (status != SPAD_OK) return status;
    const spad_host host = spad__host_or_default(o.host);
    spad_pool *pool = spad__new(&host, sizeof *pool);
    if (pool == NULL) return spad__fail_host_memory(error);
    pool->host = host;
    pool->options = o;
    const bool has_caches = add_caches(pool);
    if (!has_caches || pthread_mutex_init(&pool->mutex, NULL) != 0) {
        if (has_caches) free_lines(pool->cache_block, &host, cache_bytes(pool));
        spad__free(&host, pool, sizeof *pool);
        return spad__fail_host_memory(error);
    }
    pool->first_handle = (uint64_t)new_salt(pool) << 32;
    spad__range_init(&pool->range, o.block_bytes, &host);
    pool->maker = thread_number();
    pool->granule = pool->range.granule;
    pool->granule_bits = pool->range.granule_bits;
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
    } else if (!reserve(pool, 0)) {
        status = spad__fail_host_memory(error);
    } else {
        status = add_chunk(pool, bytes, error);
    }
    if (status == SPAD_OK) return SPAD_OK;
    spad_pool_destroy(pool);
    *out = NULL;
    return status;
}

spad_status spad_pool_create_over(spad_pool **out, int64_t base, int64_t bytes,
                                  const spad_pool_options *options, spad_error *error) {
    int64_t first;
    int64_t end;
    spad_pool_options sized;
    *out = NULL;
    spad_status status = SPAD__COPY_OPTIONS(&sized, options, error);
    sized.max_bytes = bytes;
    if (status == SPAD_OK) status = create(out, &sized, error);
    if (status != SPAD_OK) return status;
    spad_pool *pool = *out;
    const int64_t granule = pool->range.granule;
    if (!spad__add(base, bytes, &end) || !spad__align_up(base, granule, &first)) {
        status = spad__fail(error, SPAD_ERR_OVERFLOW, "the end of the pool does not fit 64 bits");
    } else if (end - spad__floor_mod(end, granule) <= first) {
        status = spad__fail(error, SPAD_ERR_ARGUMENT,
                            "a pool over %lld B has no room for a block of %lld B",
                            (long long)bytes, (long long)granule);
    } else {
        spad__pool_chunk all = {.bytes = end - spad__floor_mod(end, granule) - first};
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
    for (unsigned s = 0; s < SPAD__SEGMENTS; s++) {
        if (pool->segment_blocks[s] != NULL)
            free_lines(pool->segment_blocks[s], &pool->host, segment_bytes(s));
    }
    free_lines(pool->cache_block, &pool->host, cache_bytes(pool));
    pthread_mutex_destroy(&pool->mutex);
    const spad_host host = pool->host;
    spad__free(&host, pool, sizeof *pool);
}

/* ---- as a memory ------------------------------------------------------------------- */

static spad_status call_alloc(void *context, spad_allocation *out, int64_t bytes, int64_t align,
                              spad_error *error) {
    return spad_pool_alloc(out, context, bytes, align, error);
}

static spad_status call_free(void *context, const spad_allocation *block, spad_error *error) {
    return spad_pool_free(context, block, error);
}

spad_memory spad_pool_get_memory(spad_pool *pool) {
    static const spad_memory_calls calls = {.alloc = call_alloc, .free = call_free};
    return (spad_memory){.calls = &calls, .context = pool};
}
