/* SPDX-License-Identifier: Apache-2.0
 *
 * The free lists of a range, with few bins: PIECES pieces of any sizes, any of which are put into
 * their bins, and any one taken out again. Afterwards the lists, their links and both levels of
 * bits are right, the sums are, and looking for a bin finds the lowest that is not empty.
 */
#include "device/range.c"
#include "proof.h"

enum { PIECES = 2 };

static spad__range_piece memory[PIECES + 1];

/* Not called: the array of pieces has its memory from the start. */
bool spad__array_grow(const spad_host *host, void *items_slot, size_t *capacity, size_t count,
                      size_t extra, size_t item_size) {
    (void)host, (void)items_slot, (void)capacity, (void)count, (void)extra, (void)item_size;
    return false;
}

void spad__free(const spad_host *host, void *block, size_t size) {
    (void)host, (void)block, (void)size;
}

int main(void) {
    static spad__range range; /* as spad__range_init makes it, with granules of one byte */
    bool in[PIECES + 1] = {false};
    int64_t bytes = 0;
    int64_t holes = 0;
    range.granule = 1;
    range.pieces.items = memory;
    range.pieces.count = range.pieces.capacity = PIECES + 1;
    for (uint32_t n = 1; n <= PIECES; n++) {
        memory[n].bytes = ANY_BITS(3);
        in[n] = nondet_bool();
        if (in[n]) bin_insert(&range, n, &memory[n]);
    }
    const uint32_t gone = 1 + (nondet_uint8() & 1);
    if (nondet_bool() && in[gone]) {
        bin_remove(&range, &memory[gone]);
        in[gone] = false;
    }
    int64_t binned = 0;
    PROVE(bin_violation(&range, &binned) == NULL);
    uint32_t lowest = SPAD__BINS;
    const uint32_t from = (uint32_t)ANY_BITS(3);
    for (uint32_t n = 1; n <= PIECES; n++) {
        const uint32_t bin = spad__bin_of((uint64_t)memory[n].bytes);
        PROVE(memory[n].is_free == in[n]);
        if (!in[n]) continue;
        bytes += memory[n].bytes;
        holes++;
        if (bin >= from && bin < lowest) lowest = bin;
    }
    PROVE(range.free_bytes == bytes && range.holes == holes && binned == holes);
    const uint32_t found = first_from(&range, from);
    PROVE((found == 0) == (lowest == SPAD__BINS));
    if (found != 0) PROVE(in[found] && spad__bin_of((uint64_t)memory[found].bytes) == lowest);
    return 0;
}
