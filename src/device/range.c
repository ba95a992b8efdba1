/* SPDX-License-Identifier: Apache-2.0
 *
 * The range: pieces, their neighbours and their bins. See range.h.
 *
 * Invariants, which the checks look at:
 *   piece.address + piece.bytes == after.address, and after.before == piece
 *   a free piece has no free neighbour
 *   a piece is in the bin of its size exactly when it is free
 *   a bit is set exactly when its bin (or one of its level) is not empty
 *   free_bytes and held_bytes are the sums over free and held pieces
 *   a piece that is not in use has no bytes and is on the list of spares
 */
#include "device/range.h"

#include <string.h>

#include "base/assert.h"
#include "base/checked.h"

void spad__range_init(spad__range *range, int64_t granule, const spad_host *host) {
    spad__assert(spad__is_pow2(granule));
    memset(range, 0, sizeof *range);
    range->host = *host;
    range->granule = granule;
    range->granule_bits = spad__top_bit((uint64_t)granule);
    spad__assert(INT64_C(1) << range->granule_bits == granule);
}

void spad__range_deinit(spad__range *range) {
    spad__array_free(&range->host, &range->pieces);
}

/* ---- pieces ------------------------------------------------------------------------ */

/* One more spare piece; the first time also number 0. */
static bool add_spare(spad__range *range) {
    if (range->pieces.count >= UINT32_MAX - 1 ||
        !spad__array_reserve(&range->host, &range->pieces, 2)) {
        return false;
    }
    if (range->pieces.count == 0)
        range->pieces.items[range->pieces.count++] = (spad__range_piece){0};
    const uint32_t number = (uint32_t)range->pieces.count++;
    range->pieces.items[number] = (spad__range_piece){.after = range->spare};
    range->spare = number;
    range->spare_count++;
    return true;
}

static bool reserve_spares(spad__range *range, uint32_t count) {
    while (range->spare_count < count) {
        if (!add_spare(range)) return false;
    }
    return true;
}

bool spad__range_reserve(spad__range *range, uint32_t holds) {
    return reserve_spares(range, holds + 1); /* a piece cut off after each, and once in front */
}

static uint32_t take_spare(spad__range *range) {
    spad__assert(range->spare_count > 0 && range->spare != 0); /* it was reserved */
    const uint32_t number = range->spare;
    range->spare = spad__range_at(range, number)->after;
    range->spare_count--;
    return number;
}

static void give_spare(spad__range *range, uint32_t number) {
    spad__assert(!spad__range_at(range, number)->is_free);
    spad__range_piece *piece = spad__range_at(range, number);
    piece->is_free = false;
    piece->bytes = 0;
    piece->after = range->spare;
    range->spare = number;
    range->spare_count++;
}

/* ---- bins -------------------------------------------------------------------------- */

static uint32_t bin_of_bytes(const spad__range *range, int64_t bytes) {
    spad__assert(bytes >= 0 && (bytes & (range->granule - 1)) == 0);
    return spad__bin_of((uint64_t)bytes >> range->granule_bits);
}

static void bin_insert(spad__range *range, uint32_t number, spad__range_piece *piece) {
    spad__assert(!piece->is_free && piece == spad__range_at(range, number));
    const uint32_t bin = bin_of_bytes(range, piece->bytes);
    const uint32_t next = range->bins[bin];
    piece->is_free = true;
    piece->previous = 0;
    piece->next = next;
    if (next != 0) spad__range_at(range, next)->previous = number;
    range->bins[bin] = number;
    range->levels |= UINT64_C(1) << (bin >> SPAD__BIN_BITS);
    range->subs[bin >> SPAD__BIN_BITS] |= (uint16_t)(1u << (bin & (SPAD__BIN_SUB - 1)));
    range->free_bytes += piece->bytes;
    range->holes++;
}

static void bin_remove(spad__range *range, spad__range_piece *piece) {
    spad__assert(piece->is_free && range->holes > 0 && range->free_bytes >= piece->bytes);
    piece->is_free = false;
    range->free_bytes -= piece->bytes;
    range->holes--;
    if (piece->next != 0) spad__range_at(range, piece->next)->previous = piece->previous;
    if (piece->previous != 0) {
        spad__range_at(range, piece->previous)->next = piece->next;
        return;
    }
    const uint32_t bin = bin_of_bytes(range, piece->bytes);
    spad__assert(spad__range_at(range, range->bins[bin]) == piece);
    range->bins[bin] = piece->next;
    if (piece->next != 0) return;
    uint16_t *subs = &range->subs[bin >> SPAD__BIN_BITS];
    *subs &= (uint16_t) ~(1u << (bin & (SPAD__BIN_SUB - 1)));
    if (*subs == 0) range->levels &= ~(UINT64_C(1) << (bin >> SPAD__BIN_BITS));
}

/* A piece of the lowest bin that is not empty and not below `bin`; 0: none. */
static uint32_t first_from(const spad__range *range, uint32_t bin) {
    uint32_t level = bin >> SPAD__BIN_BITS;
    if (level >= SPAD__BIN_LEVELS) return 0;
    unsigned subs = range->subs[level] & (~0u << (bin & (SPAD__BIN_SUB - 1)));
    if (subs == 0) {
        if (level + 1 >= SPAD__BIN_LEVELS) return 0;
        const uint64_t levels = range->levels & (~UINT64_C(0) << (level + 1));
        if (levels == 0) return 0;
        level = (uint32_t)__builtin_ctzll(levels);
        subs = range->subs[level];
    }
    spad__assert(subs != 0); /* a level with a bit has a bin with one */
    return range->bins[(level << SPAD__BIN_BITS) + (uint32_t)__builtin_ctz(subs)];
}

/* Whether the piece has `bytes` bytes at a multiple of align. */
static bool fits(const spad__range_piece *piece, int64_t bytes, int64_t align) {
    spad__assert(bytes > 0 && spad__is_pow2(align));
    const int64_t pad = -piece->address & (align - 1);
    return pad <= piece->bytes && bytes <= piece->bytes - pad;
}

/* Searches the pieces that the quick look may have missed: in bins that also hold smaller ones. */
static uint32_t search(const spad__range *range, int64_t bytes, int64_t align, uint32_t stop) {
    for (uint32_t bin = bin_of_bytes(range, bytes); bin < stop && bin < SPAD__BINS; bin++) {
        for (uint32_t n = range->bins[bin]; n != 0; n = spad__range_at(range, n)->next) {
            if (fits(spad__range_at(range, n), bytes, align)) return n;
        }
    }
    return 0;
}

/* ---- holding and freeing ----------------------------------------------------------- */

/* Leaves the piece its first `bytes` and returns the rest, as a piece that is in no bin.
 * The first piece of a chunk thus keeps its number forever. */
static uint32_t cut(spad__range *range, uint32_t number, int64_t bytes) {
    spad__assert(bytes > 0 && bytes < spad__range_at(range, number)->bytes); /* no empty piece */
    const uint32_t rest_number = take_spare(range);
    spad__range_piece *piece = spad__range_at(range, number);
    spad__range_piece *rest = spad__range_at(range, rest_number);
    rest->address = piece->address + bytes;
    rest->bytes = piece->bytes - bytes;
    rest->before = number;
    rest->after = piece->after;
    if (rest->after != 0) spad__range_at(range, rest->after)->before = rest_number;
    piece->after = rest_number;
    piece->bytes = bytes;
    return rest_number;
}

/* Any piece of `bytes` bytes and the worst padding has room, wherever it begins. */
static uint32_t find(const spad__range *range, int64_t bytes, int64_t align) {
    int64_t padded = bytes;
    uint32_t bin = SPAD__BINS;
    if (align <= range->granule || spad__add(bytes, align - range->granule, &padded)) {
        bin = spad__bin_above((uint64_t)padded >> range->granule_bits);
    }
    const uint32_t number = first_from(range, bin);
    return number != 0 ? number : search(range, bytes, align, bin);
}

uint32_t spad__range_hold(spad__range *range, int64_t bytes, int64_t align) {
    spad__assert(bytes > 0 && (bytes & (range->granule - 1)) == 0 && spad__is_pow2(align));
    spad__assert(range->spare_count >= 2 || align <= range->granule); /* both ends may be cut off */
    uint32_t number = find(range, bytes, align);
    spad__assert(number == 0 || fits(spad__range_at(range, number), bytes, align));
    if (number == 0) return 0;
    spad__range_piece *piece = spad__range_at(range, number);
    bin_remove(range, piece);
    const int64_t pad = -piece->address & (align - 1);
    if (pad != 0) {
        const uint32_t rest = cut(range, number, pad);
        bin_insert(range, number, piece);
        number = rest;
        piece = spad__range_at(range, number);
    }
    if (piece->bytes > bytes) {
        const uint32_t rest = cut(range, number, bytes);
        bin_insert(range, rest, spad__range_at(range, rest));
    }
    spad__assert(piece->bytes == bytes && (piece->address & (align - 1)) == 0 && !piece->is_free);
    range->held_bytes += bytes;
    if (range->held_bytes > range->peak_bytes) range->peak_bytes = range->held_bytes;
    spad__assert_valid(range->pieces.count > SPAD__FEW || spad__range_is_valid(range));
    return number;
}

void spad__range_free(spad__range *range, uint32_t number) {
    spad__assert(!spad__range_at(range, number)->is_free);
    spad__assert(spad__range_at(range, number)->bytes > 0); /* in use */
    spad__assert(range->held_bytes >= spad__range_at(range, number)->bytes);
    spad__range_piece *piece = spad__range_at(range, number);
    range->held_bytes -= piece->bytes;
    const uint32_t before_number = piece->before;
    const uint32_t after_number = piece->after;
    spad__range_piece *before = before_number != 0 ? spad__range_at(range, before_number) : NULL;
    spad__range_piece *after = after_number != 0 ? spad__range_at(range, after_number) : NULL;
    if (after != NULL && after->is_free) {
        bin_remove(range, after);
        piece->bytes += after->bytes;
        piece->after = after->after;
        if (piece->after != 0) spad__range_at(range, piece->after)->before = number;
        give_spare(range, after_number);
    }
    if (before != NULL && before->is_free) {
        bin_remove(range, before);
        before->bytes += piece->bytes;
        before->after = piece->after;
        if (before->after != 0) spad__range_at(range, before->after)->before = before_number;
        give_spare(range, number);
        number = before_number;
        piece = before;
    }
    bin_insert(range, number, piece);
    spad__assert_valid(range->pieces.count > SPAD__FEW || spad__range_is_valid(range));
}

/* ---- chunks ------------------------------------------------------------------------ */

uint32_t spad__range_add(spad__range *range, int64_t address, int64_t bytes) {
    spad__assert(bytes > 0 && (bytes & (range->granule - 1)) == 0);
    if (!reserve_spares(range, 1)) return 0;
    const uint32_t number = take_spare(range);
    spad__range_piece *piece = spad__range_at(range, number);
    piece->address = address;
    piece->bytes = bytes;
    piece->before = piece->after = 0;
    bin_insert(range, number, piece);
    return number;
}

bool spad__range_remove(spad__range *range, uint32_t first) {
    spad__assert(spad__range_at(range, first)->before == 0); /* nothing is in front of it */
    spad__range_piece *piece = spad__range_at(range, first);
    if (!piece->is_free || piece->after != 0) return false;
    bin_remove(range, piece);
    give_spare(range, first);
    return true;
}

/* ---- questions --------------------------------------------------------------------- */

int64_t spad__range_largest(const spad__range *range) {
    if (range->levels == 0) return 0;
    const unsigned level = spad__top_bit(range->levels);
    const unsigned sub = spad__top_bit(range->subs[level]);
    int64_t largest = 0;
    for (uint32_t n = range->bins[(level << SPAD__BIN_BITS) + sub]; n != 0;) {
        const spad__range_piece *piece = spad__range_at(range, n);
        largest = spad__max(largest, piece->bytes);
        n = piece->next;
    }
    return largest;
}

const char *spad__range_chunk_violation(const spad__range *range, uint32_t first,
                                        spad__range_sums *sums) {
    uint32_t before = 0;
    for (uint32_t n = first; n != 0;) {
        const spad__range_piece *piece = spad__range_at(range, n);
        const spad__range_piece *last = before != 0 ? spad__range_at(range, before) : NULL;
        if (piece->before != before) return "the link to the previous piece is wrong";
        if (piece->bytes <= 0 || ((piece->address | piece->bytes) & (range->granule - 1)) != 0)
            return "a piece is not made of granules";
        if (last != NULL && last->address + last->bytes != piece->address)
            return "two neighbours do not touch";
        if (last != NULL && last->is_free && piece->is_free) return "two neighbours are free";
        *(piece->is_free ? &sums->free_bytes : &sums->held_bytes) += piece->bytes;
        sums->holes += piece->is_free;
        before = n;
        n = piece->after;
    }
    return NULL;
}

static const char *bin_violation(const spad__range *range, int64_t *holes) {
    for (uint32_t bin = 0; bin < SPAD__BINS; bin++) {
        const uint32_t level = bin >> SPAD__BIN_BITS;
        const bool bit = (range->subs[level] >> (bin & (SPAD__BIN_SUB - 1)) & 1) != 0;
        if (bit != (range->bins[bin] != 0)) return "the bit of a bin is wrong";
        if ((range->levels >> level & 1) != (range->subs[level] != 0))
            return "the bit of a level is wrong";
        uint32_t previous = 0;
        for (uint32_t n = range->bins[bin]; n != 0;) {
            const spad__range_piece *piece = spad__range_at(range, n);
            if (!piece->is_free) return "a held piece is in a bin";
            if (bin_of_bytes(range, piece->bytes) != bin) return "a piece is in the wrong bin";
            if (piece->previous != previous) return "a bin is linked wrongly";
            *holes += 1;
            previous = n;
            n = piece->next;
        }
    }
    return NULL;
}

const char *spad__range_violation(const spad__range *range, const spad__range_sums *sums) {
    int64_t binned = 0;
    const char *violation = bin_violation(range, &binned);
    if (violation != NULL) return violation;
    if (sums->free_bytes != range->free_bytes || sums->held_bytes != range->held_bytes)
        return "the sums of bytes are wrong";
    if (sums->holes != range->holes || sums->holes != binned) return "the number of holes is wrong";
    return NULL;
}

/* The piece and its neighbours; pieces in use are those with bytes. */
static bool piece_is_valid(const spad__range *range, uint32_t number) {
    const spad__range_piece *piece = spad__range_at(range, number);
    if (piece->after == 0) return true;
    const spad__range_piece *after = spad__range_at(range, piece->after);
    return after->before == number && after->bytes > 0 &&
           piece->address + piece->bytes == after->address && !(piece->is_free && after->is_free);
}

bool spad__range_is_valid(const spad__range *range) {
    spad__range_sums sums = {0};
    uint32_t in_use = 0;
    for (uint32_t n = 1; n < range->pieces.count; n++) {
        const spad__range_piece *piece = spad__range_at(range, n);
        if (piece->bytes == 0) continue;
        if (piece->bytes < 0 || !piece_is_valid(range, n)) return false;
        *(piece->is_free ? &sums.free_bytes : &sums.held_bytes) += piece->bytes;
        sums.holes += piece->is_free;
        in_use++;
    }
    uint32_t spares = 0;
    for (uint32_t n = range->spare; n != 0; n = spad__range_at(range, n)->after) {
        if (spad__range_at(range, n)->bytes != 0 || ++spares > range->spare_count) return false;
    }
    if (spares != range->spare_count) return false;
    if (range->pieces.count > 0 && in_use + spares + 1 != range->pieces.count) return false;
    return range->held_bytes <= range->peak_bytes && spad__range_violation(range, &sums) == NULL;
}
