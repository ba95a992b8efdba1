/* SPDX-License-Identifier: Apache-2.0
 *
 * The size classes of ranges and pools and the places of tickets, for every number that they can
 * be asked about.
 */
#include "device/pool.h"
#include "proof.h"

enum { GRANULES_BITS = 63 }; /* sizes are 63 bits long at most */

/* A bin holds its own sizes, and no more than a sixteenth above its lower border. */
static void bins_hold_their_sizes(void) {
    const uint64_t granules = nondet_uint64();
    ASSUME(granules < UINT64_C(1) << GRANULES_BITS);
    const uint32_t bin = spad__bin_of(granules);
    PROVE(bin < SPAD__BINS);
    PROVE(spad__bin_lower(bin) <= granules);
    PROVE(granules - spad__bin_lower(bin) <= granules / SPAD__BIN_SUB);
    if (bin + 1 < SPAD__BINS) PROVE(granules < spad__bin_lower(bin + 1));
}

/* Larger sizes are in the same bin or in a higher one. */
static void bins_are_in_order(void) {
    const uint64_t small = nondet_uint64();
    const uint64_t large = nondet_uint64();
    ASSUME(small <= large && large < UINT64_C(1) << GRANULES_BITS);
    PROVE(spad__bin_of(small) <= spad__bin_of(large));
}

/* Lower borders are in their own bins. */
static void borders_are_exact(void) {
    const uint32_t bin = nondet_uint32();
    ASSUME(bin < SPAD__BINS - SPAD__BIN_SUB); /* the others' borders have 64 bits */
    PROVE(spad__bin_of(spad__bin_lower(bin)) == bin);
}

/* The bin above is the least whose pieces all have room. */
static void the_bin_above_has_room(void) {
    const uint64_t granules = nondet_uint64();
    ASSUME(granules >= 1 && granules < UINT64_C(1) << (GRANULES_BITS - 1));
    const uint32_t bin = spad__bin_above(granules);
    PROVE(bin < SPAD__BINS);
    PROVE(spad__bin_lower(bin) >= granules);
    PROVE(spad__bin_lower(bin - 1) < granules);
    PROVE(spad__bin_lower(bin) - granules <= granules / SPAD__BIN_SUB + 1);
}

/* A class of a pool has room for the request; no class below it does. */
static void classes_have_room(void) {
    static spad_pool pool;
    pool.granule_bits = nondet_uint32();
    ASSUME(pool.granule_bits <= 40);
    const int64_t bytes = nondet_int64();
    ASSUME(bytes >= 0 && bytes <= INT64_C(1) << 61);
    const uint32_t size_class = spad__pool_class(&pool, bytes);
    PROVE(size_class >= 1 && size_class < SPAD__BINS);
    PROVE(spad__pool_class_bytes(&pool, size_class) >= bytes);
    PROVE(spad__pool_class_bytes(&pool, size_class) > 0);
    if (bytes > 0) PROVE(spad__pool_class_bytes(&pool, size_class - 1) < bytes);
}

/* Alignments that every block has: the powers of two up to the granule, and no other number. */
static void alignments_are_known(void) {
    static spad_pool pool;
    const uint32_t bits = nondet_uint32();
    ASSUME(bits <= 62);
    pool.granule = INT64_C(1) << bits;
    const int64_t align = nondet_int64();
    const bool has = align > 0 && (align & (align - 1)) == 0 && align <= pool.granule;
    PROVE(spad__pool_has_alignment(&pool, align) == has);
}

/* Every number has a place of its own in its segment. */
static void tickets_have_places(void) {
    const uint32_t one = nondet_uint32();
    const uint32_t two = nondet_uint32();
    const spad__ticket_place a = spad__ticket_place_of(one);
    const spad__ticket_place b = spad__ticket_place_of(two);
    PROVE(a.segment >= SPAD__SEGMENT_BITS && a.segment < SPAD__SEGMENTS);
    PROVE(a.index < UINT64_C(1) << a.segment);
    if (one != two) PROVE(a.segment != b.segment || a.index != b.index);
}

int main(void) {
    bins_hold_their_sizes();
    bins_are_in_order();
    borders_are_exact();
    the_bin_above_has_room();
    classes_have_room();
    alignments_are_known();
    tickets_have_places();
    return 0;
}
