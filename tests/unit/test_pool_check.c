/* SPDX-License-Identifier: Apache-2.0
 *
 * spad_pool_check notices every invariant of pool.h and range.h that does not hold: each is broken
 * from outside in a pool that was sound, and mended again. */
#include <string.h>

#include "device/pool.h"
#include "spad/device/pool.h"
#include "support/support.h"

enum { CAPACITY = 16 << 20, LARGE = 4 << 20, PIECES = 1024 };

/* A pool with blocks in use, one in a list of the thread's cache, and two holes. */
static spad_pool *make(void) {
    spad_error error;
    spad_pool *pool;
    spad_allocation blocks[5];
    static const int64_t sizes[5] = {1000, 1000, LARGE, LARGE, 1000};
    assert_ok(spad_pool_create_over(&pool, 0, CAPACITY, NULL, &error), &error);
    for (int i = 0; i < 5; i++) {
        assert_ok(spad_pool_alloc(&blocks[i], pool, sizes[i], 1, &error), &error);
    }
    assert_ok(spad_pool_free(pool, &blocks[1], &error), &error); /* to the list */
    assert_ok(spad_pool_free(pool, &blocks[2], &error), &error); /* a hole */
    assert_ok(spad_pool_check(pool, &error), &error);
    assert_true(spad_pool_get_stats(pool).holes >= 2);
    return pool;
}

/* The bin of a list with a block in it, in the cache of this thread. */
static spad__cache *find_list(const spad_pool *pool, uint32_t *bin) {
    for (uint32_t c = 0; c <= pool->cache_mask; c++) {
        for (*bin = 1; *bin < SPAD__CACHE_BINS; ++*bin) {
            if (pool->caches[c]->lists[*bin].first != 0) return pool->caches[c];
        }
    }
    fail_msg("no list has a block");
    return NULL;
}

static uint32_t listed(const spad_pool *pool) {
    uint32_t bin;
    const spad__cache *cache = find_list(pool, &bin);
    return cache->lists[bin].first;
}

static uint32_t hole_of(const spad_pool *pool) {
    for (uint32_t n = pool->chunks.items[0].first; n != 0;
         n = spad__range_at(&pool->range, n)->after) {
        if (spad__range_at(&pool->range, n)->is_free) return n;
    }
    fail_msg("no piece is free");
    return 0;
}

static spad__range_piece *piece_of(const spad_pool *pool, uint32_t number) {
    return spad__range_at(&pool->range, number);
}

/* Each breaks one thing. */
static void free_a_listed_piece(spad_pool *p) {
    piece_of(p, listed(p))->is_free = true;
}
static void move_a_listed_block(spad_pool *p) {
    spad__ticket_at(p, listed(p))->address += p->granule;
}
static void give_a_listed_block(spad_pool *p) {
    spad__ticket_give(spad__ticket_at(p, listed(p)), listed(p));
}
static void put_a_block_in_another_list(spad_pool *p) {
    spad__ticket_at(p, listed(p))->list++;
}
static void grow_a_listed_piece(spad_pool *p) {
    piece_of(p, listed(p))->bytes += p->granule;
}
static void shorten_a_list(spad_pool *p) {
    uint32_t bin;
    find_list(p, &bin)->lists[bin].first = 0;
}
static void close_a_cache(spad_pool *p) {
    p->used_caches = 0;
}
static void forget_the_neighbour(spad_pool *p) {
    piece_of(p, piece_of(p, p->chunks.items[0].first)->after)->before = 0;
}
static void empty_a_piece(spad_pool *p) {
    piece_of(p, p->chunks.items[0].first)->bytes = 0;
}
static void split_a_granule(spad_pool *p) {
    piece_of(p, p->chunks.items[0].first)->bytes += 1;
}
static void part_neighbours(spad_pool *p) {
    piece_of(p, p->chunks.items[0].first)->bytes += p->granule;
}
static void free_beside_a_hole(spad_pool *p) {
    piece_of(p, piece_of(p, hole_of(p))->after)->is_free = true;
}
static void clear_the_bits_of_bins(spad_pool *p) {
    memset(p->range.subs, 0, sizeof p->range.subs);
}
static void clear_the_bits_of_levels(spad_pool *p) {
    p->range.levels = 0;
}
static void bin_a_held_piece(spad_pool *p) {
    const uint32_t held = p->chunks.items[0].first;
    const uint32_t bin = spad__bin_of((uint64_t)piece_of(p, hole_of(p))->bytes >> p->granule_bits);
    assert_true(p->range.bins[bin] == hole_of(p));
    p->range.bins[bin] = held;
}
static void bin_a_piece_elsewhere(spad_pool *p) {
    const uint32_t hole = hole_of(p);
    const uint32_t bin = spad__bin_of((uint64_t)piece_of(p, hole)->bytes >> p->granule_bits);
    const uint32_t other = bin - 1;
    assert_true(p->range.bins[other] == 0);
    p->range.bins[other] = hole;
    p->range.subs[other >> SPAD__BIN_BITS] |= (uint16_t)(1u << (other & (SPAD__BIN_SUB - 1)));
    p->range.levels |= UINT64_C(1) << (other >> SPAD__BIN_BITS);
}
static void link_a_bin_wrongly(spad_pool *p) {
    piece_of(p, hole_of(p))->previous = p->chunks.items[0].first;
}
static void lose_free_bytes(spad_pool *p) {
    p->range.free_bytes -= p->granule;
}
static void lose_held_bytes(spad_pool *p) {
    p->range.held_bytes -= p->granule;
}
static void lose_a_hole(spad_pool *p) {
    p->range.holes--;
}

static void each_broken_invariant_is_named(void **state) {
    (void)state;
    static const struct {
        void (*damage)(spad_pool *);
        const char *what;
    } cases[] = {
        {free_a_listed_piece, "a block in a thread's list is free in the range"},
        {move_a_listed_block, "a block and its piece are elsewhere"},
        {give_a_listed_block, "a block in a thread's list is allocated"},
        {put_a_block_in_another_list, "a block is in a list of another size"},
        {grow_a_listed_piece, "a block is in a list of another size"},
        {shorten_a_list, "the length of a thread's list is wrong"},
        {close_a_cache, "a block is in a list that is not in use"},
        {forget_the_neighbour, "the link to the previous piece is wrong"},
        {empty_a_piece, "a piece is not made of granules"},
        {split_a_granule, "a piece is not made of granules"},
        {part_neighbours, "two neighbours do not touch"},
        {free_beside_a_hole, "two neighbours are free"},
        {clear_the_bits_of_bins, "the bit of a bin is wrong"},
        {clear_the_bits_of_levels, "the bit of a level is wrong"},
        {bin_a_held_piece, "a held piece is in a bin"},
        {bin_a_piece_elsewhere, "a piece is in the wrong bin"},
        {link_a_bin_wrongly, "a bin is linked wrongly"},
        {lose_free_bytes, "the sums of bytes are wrong"},
        {lose_held_bytes, "the sums of bytes are wrong"},
        {lose_a_hole, "the number of holes is wrong"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        spad_error error = {0};
        spad_pool *pool = make();
        uint32_t bin;
        /* what the cases change */
        spad__cache *cache = find_list(pool, &bin);
        const uint32_t number = cache->lists[bin].first;
        const spad__range range = pool->range;
        const uint32_t used_caches = pool->used_caches;
        const spad__ticket *ticket = spad__ticket_at(pool, number);
        const uint64_t handle = atomic_load(&ticket->handle);
        const int64_t address = ticket->address;
        const uint8_t list = ticket->list;
        spad__range_piece pieces[PIECES];
        assert_true(pool->range.pieces.count <= PIECES);
        memcpy(pieces, pool->range.pieces.items, pool->range.pieces.count * sizeof *pieces);
        cases[i].damage(pool);
        assert_int_equal(spad_pool_check(pool, &error), SPAD_ERR_INTERNAL);
        assert_ptr_equal(strstr(error.message, "the pool is broken: "), error.message);
        assert_string_equal(error.message + strlen("the pool is broken: "), cases[i].what);
        pool->range = range;
        pool->used_caches = used_caches;
        cache->lists[bin].first = number;
        memcpy(pool->range.pieces.items, pieces, range.pieces.count * sizeof *pieces);
        atomic_store(&spad__ticket_at(pool, number)->handle, handle);
        spad__ticket_at(pool, number)->address = address;
        spad__ticket_at(pool, number)->list = list;
        assert_ok(spad_pool_check(pool, &error), &error);
        spad_pool_destroy(pool);
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(each_broken_invariant_is_named),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
