/* SPDX-License-Identifier: Apache-2.0
 *
 * Placing a tensor by its mode, and the rules of a space that a place has to
 * obey.
 *
 * Tables are evaluated tile by tile; equal places are joined with a hash table:
 * O(logical tiles) expected. Rings are checked without visiting the tiles: their
 * corners bound lanes, banks and bytes; alignment is linear in the index, so one
 * look per dim does; and the start-lane table is tried for each different start,
 * of which no more than the table has can be right. So O(block dims + rows of the
 * start-lane table), whatever the block dims are.
 *
 * Reference: AWS Neuron SDK 2.26, NKI direct allocation guide and the reference
 * of nki.compiler.sbuf and nki.compiler.psum.
 */
#include "alloc/direct/direct.h"

#include <stdio.h>
#include <string.h>

#include "alloc/direct/ring.h"
#include "base/checked.h"
#include "base/error.h"
#include "base/index.h"

/* ---- messages ---------------------------------------------------------------------- */

static void show_index(char *field, size_t size, size_t rank, const int64_t *index) {
    char text[24 * SPAD_RANK_MAX + 4];
    size_t used = (size_t)snprintf(text, sizeof text, "(");
    for (size_t d = 0; d < rank; d++) {
        used += (size_t)snprintf(text + used, sizeof text - used, d == 0 ? "%lld" : ", %lld",
                                 (long long)index[d]);
    }
    snprintf(text + used, sizeof text - used, rank == 1 ? ",)" : ")");
    spad__copy_cut(field, size, text);
}

void spad__direct_who(char who[DIRECT_WHO_MAX], const char *name, size_t rank,
                      const int64_t *index) {
    char shown[SPAD_NAME_FACT_MAX + 2] = "an unnamed tensor";
    if (name != NULL) spad__copy_cut(shown, SPAD_NAME_FACT_MAX, name);
    char place[96] = "";
    if (index != NULL) show_index(place, sizeof place, rank, index);
    snprintf(who, DIRECT_WHO_MAX, "%s%s%s%s%s", name != NULL ? "tensor '" : "", shown,
             name != NULL ? "'" : "", index != NULL ? ", tile " : "", place);
}

/* What the checks below need. */
typedef struct direct_check {
    const direct_tensor *tensor;
    const spad_space *space;
    const char *chip;
    int64_t banks; /* a space without banks is one; the last may be cut by the reserve */
    int64_t bank_bytes;
    int64_t usable;
} direct_check;

static direct_check start_check(const direct_tensor *tensor, const spad_target *target) {
    const spad_space *space = &target->spaces[tensor->space];
    const int64_t usable = spad_space_get_usable(space);
    const bool banked = space->bank_bytes > 0;
    return (direct_check){
        .tensor = tensor,
        .space = space,
        .chip = target->name,
        .banks = banked ? usable / space->bank_bytes + (usable % space->bank_bytes != 0) : 1,
        .bank_bytes = banked ? space->bank_bytes : usable,
        .usable = usable,
    };
}

/* Fails with a message about the tensor, or about the tile at `index`. */
static spad_status refuse_spot(const direct_check *check, const int64_t *index, spad_status code,
                               spad_error *error, const char *format, ...) SPAD_PRINTF(5, 6);

static spad_status refuse_spot(const direct_check *check, const int64_t *index, spad_status code,
                               spad_error *error, const char *format, ...) {
    char who[DIRECT_WHO_MAX];
    spad__direct_who(who, check->tensor->name, check->tensor->block.rank, index);
    char what[SPAD_MESSAGE_MAX];
    va_list arguments;
    va_start(arguments, format);
    spad__format_cut(what, sizeof what, format, arguments);
    va_end(arguments);
    spad__fail(error, code, "%s: %s", who, what);
    spad__fact_names(error, check->tensor->name, check->space->name);
    return code;
}

/* ---- rules of one place ------------------------------------------------------------ */

static spad_status check_lane(const direct_check *check, const int64_t *index, int64_t lane,
                              spad_error *error) {
    spad_error reason;
    const spad_status status =
        spad_space_check_lanes(check->space, lane, check->tensor->lanes, &reason);
    if (status == SPAD_OK) return SPAD_OK;
    refuse_spot(check, index, status, error, "%s", reason.message);
    spad__fact_amounts(error, reason.needed, reason.available, SPAD_NO_FACT);
    return status;
}

static spad_status check_alignment(const direct_check *check, const int64_t *index, int64_t address,
                                   spad_error *error) {
    if (address % check->space->alignment == 0) return SPAD_OK;
    return refuse_spot(check, index, SPAD_ERR_ALIGNMENT, error,
                       "byte %lld of '%s' is not a multiple of its alignment, %lld B",
                       (long long)address, check->space->name, (long long)check->space->alignment);
}

/* A tile has to fit its bank where it may not leave it, and the space anyway. */
static spad_status check_tile_size(const direct_check *check, spad_error *error) {
    const bool one_bank = check->space->banks_exclusive;
    const int64_t most = one_bank ? spad__min(check->bank_bytes, check->usable) : check->usable;
    if (check->tensor->bytes <= most) return SPAD_OK;
    refuse_spot(check, NULL, SPAD_ERR_BOUNDS, error,
                "a tile of %lld B per lane does not fit %s'%s' of %s, which has %lld B",
                (long long)check->tensor->bytes, one_bank ? "a bank of " : "", check->space->name,
                check->chip, (long long)most);
    spad__fact_amounts(error, check->tensor->bytes, most, SPAD_NO_FACT);
    return SPAD_ERR_BOUNDS;
}

/* An exclusive bank holds one tile, which begins where the bank does. */
static spad_status check_spot_bank_start(const direct_check *check, const int64_t *index,
                                         const char *what, int64_t value, spad_error *error) {
    if (!check->space->banks_exclusive || value == 0) return SPAD_OK;
    return refuse_spot(check, index, SPAD_ERR_BANK, error,
                       "%s %lld; a bank of '%s' holds one tile, which starts at byte 0 and lane 0",
                       what, (long long)value, check->space->name);
}

static spad_status check_spot_bank(const direct_check *check, const int64_t *index, int64_t bank,
                                   int64_t count, spad_error *error) {
    if (bank >= 0 && count <= check->banks && bank <= check->banks - count) return SPAD_OK;
    if (check->space->bank_bytes == 0) {
        refuse_spot(
            check, index, SPAD_ERR_BOUNDS, error,
            "%lld banks from bank %lld, but '%s' has no banks; leave bank and bank_tiles out",
            (long long)count, (long long)bank, check->space->name);
    } else {
        refuse_spot(check, index, SPAD_ERR_BOUNDS, error,
                    "%lld banks from bank %lld are outside the %lld banks of '%s'",
                    (long long)count, (long long)bank, (long long)check->banks, check->space->name);
    }
    spad__fact_amounts(error, count, check->banks, SPAD_NO_FACT);
    return SPAD_ERR_BOUNDS;
}

/* [address, address + bytes) in what the space has for tensors. */
static spad_status check_spot_bytes(const direct_check *check, const int64_t *index,
                                    int64_t address, int64_t bytes, spad_error *error) {
    if (address >= 0 && bytes <= check->usable && address <= check->usable - bytes) return SPAD_OK;
    refuse_spot(
        check, index, SPAD_ERR_BOUNDS, error,
        "%lld B per lane at byte %lld are outside [0, %lld), the bytes that '%s' of %s has for "
        "tensors",
        (long long)bytes, (long long)address, (long long)check->usable, check->space->name,
        check->chip);
    spad__fact_amounts(error, bytes, check->usable, SPAD_NO_FACT);
    return SPAD_ERR_BOUNDS;
}

/* All rules for one spot; *byte is its address in the space. */
static spad_status check_spot(int64_t *byte, const direct_check *check, const int64_t *index,
                              spad_direct_spot spot, spad_error *error) {
    spad_status status = check_spot_bank(check, index, spot.bank, 1, error);
    if (status == SPAD_OK) status = check_spot_bank_start(check, index, "byte", spot.byte, error);
    if (status == SPAD_OK) status = check_spot_bank_start(check, index, "lane", spot.lane, error);
    if (status == SPAD_OK) status = check_lane(check, index, spot.lane, error);
    if (status != SPAD_OK) return status;
    if (spot.byte < 0) {
        *byte = spot.byte;
    } else if (!spad__add(spot.bank * check->bank_bytes, spot.byte, byte)) {
        *byte = INT64_MAX;
    }
    status = check_spot_bytes(check, index, *byte, check->tensor->bytes, error);
    return status == SPAD_OK ? check_alignment(check, index, *byte, error) : status;
}

/* ---- tables ------------------------------------------------------------------------ */

/* Appends logical tile number `tile` to the place; `set` joins equal places. False: no memory. */
static bool join_place(direct_tensor *tensor, spad__index *set, uint32_t tile, int64_t lane,
                       int64_t byte, const spad_host *host) {
    const uint64_t hash = spad__hash_add(spad__hash_add(0, lane), byte);
    spad__probe probe = spad__index_probe(set, hash);
    for (size_t i; (i = spad__probe_next(&probe)) != SPAD__NO_ITEM;) {
        direct_place *place = &tensor->places.items[i];
        if (place->lane != lane || place->byte != byte) continue;
        tensor->logical[place->last].next = tile;
        tensor->logical[tile] = (direct_logical){.physical = (uint32_t)i, .next = DIRECT_NO_NEXT};
        place->last = tile;
        return true;
    }
    if (!spad__array_reserve(host, &tensor->places, 1) || !spad__index_reserve(set, host, 1))
        return false;
    const uint32_t number = (uint32_t)tensor->places.count;
    spad__index_add(set, hash, number);
    tensor->places.items[tensor->places.count++] =
        (direct_place){.lane = lane, .byte = byte, .first = tile, .last = tile};
    tensor->logical[tile] = (direct_logical){.physical = number, .next = DIRECT_NO_NEXT};
    return true;
}

/* The spot of one tile, from the callback or the given table. */
static spad_status get_spot(spad_direct_spot *spot, const direct_check *check,
                            const spad_direct_tensor *request, const int64_t *index, int64_t tile,
                            spad_error *error) {
    *spot = (spad_direct_spot){0};
    if (check->tensor->mode == SPAD_MODE_AT) {
        *spot = request->spots[tile];
        return SPAD_OK;
    }
    spad_error reason;
    reason.message[0] = '\0';
    int64_t copy[SPAD_RANK_MAX] = {0}; /* the callback cannot disturb the walk */
    if (check->tensor->block.rank > 0)
        memcpy(copy, index, check->tensor->block.rank * sizeof *copy);
    const spad_status status = request->func(spot, copy, check->tensor->lanes, check->tensor->bytes,
                                             request->context, &reason);
    if (status == SPAD_OK) return SPAD_OK;
    if (status > SPAD_OK) {
        return refuse_spot(check, index, SPAD_ERR_ARGUMENT, error,
                           "its placement function returned %d, which is not a status",
                           (int)status);
    }
    return refuse_spot(check, index, status, error, "%s",
                       reason.message[0] != '\0' ? reason.message
                                                 : "its placement function failed");
}

static spad_status fill_table(direct_tensor *tensor, spad__index *set, const direct_check *check,
                              const spad_direct_tensor *request, const spad_host *host,
                              spad_error *error) {
    int64_t index[SPAD_RANK_MAX] = {0};
    int64_t tile = 0;
    do {
        spad_direct_spot spot;
        int64_t byte;
        spad_status status = get_spot(&spot, check, request, index, tile, error);
        if (status == SPAD_OK) status = check_spot(&byte, check, index, spot, error);
        if (status != SPAD_OK) return status;
        if (!join_place(tensor, set, (uint32_t)tile, spot.lane, byte, host)) {
            return spad__fail_host_memory(error);
        }
        tile++;
    } while (spad__next_index(tensor->block.rank, tensor->block.dims, index));
    return SPAD_OK;
}

static spad_rect around(const direct_tensor *tensor) {
    const direct_place *first = &tensor->places.items[0];
    int64_t lane = first->lane, byte = first->byte, lane_last = lane, byte_last = byte;
    for (size_t p = 1; p < tensor->places.count; p++) {
        const direct_place *place = &tensor->places.items[p];
        lane = spad__min(lane, place->lane);
        byte = spad__min(byte, place->byte);
        lane_last = spad__max(lane_last, place->lane);
        byte_last = spad__max(byte_last, place->byte);
    }
    return (spad_rect){.lane = lane,
                       .lanes = lane_last - lane + tensor->lanes,
                       .byte = byte,
                       .bytes = byte_last - byte + tensor->bytes};
}

void spad__direct_free_table(direct_tensor *tensor, const spad_host *host) {
    if (tensor->logical == NULL) return;
    spad__free(host, tensor->logical, (size_t)tensor->tiles * sizeof *tensor->logical);
    spad__array_free(host, &tensor->places);
    tensor->logical = NULL;
}

static spad_status too_many_tiles(const direct_check *check, const char *kind, int64_t tiles,
                                  spad_error *error) {
    return refuse_spot(check, NULL, SPAD_ERR_ARGUMENT, error,
                       "%lld %s tiles, more than the %lld that one tensor can have; use rings with "
                       "smaller counts",
                       (long long)tiles, kind, (long long)SPAD_DIRECT_TILES_MAX);
}

static spad_status check_table_request(const direct_check *check, const spad_direct_tensor *request,
                                       spad_error *error) {
    const direct_tensor *tensor = check->tensor;
    if (tensor->mode == SPAD_MODE_FUNC && request->func == NULL) {
        return refuse_spot(check, NULL, SPAD_ERR_ARGUMENT, error, "mode func without a function");
    }
    if (tensor->mode == SPAD_MODE_AT &&
        (request->spots == NULL || (uint64_t)tensor->tiles != request->spot_count)) {
        return refuse_spot(check, NULL, SPAD_ERR_ARGUMENT, error,
                           "%zu spots for %lld tiles; mode at needs one for each",
                           request->spot_count, (long long)tensor->tiles);
    }
    if (tensor->tiles > SPAD_DIRECT_TILES_MAX) {
        return too_many_tiles(check, "logical", tensor->tiles, error);
    }
    return SPAD_OK;
}

static spad_status place_table(direct_tensor *tensor, const direct_check *check,
                               const spad_direct_tensor *request, const spad_host *host,
                               spad_error *error) {
    spad_status status = check_table_request(check, request, error);
    if (status == SPAD_OK) status = check_tile_size(check, error);
    if (status != SPAD_OK) return status;

    const size_t tiles = (size_t)tensor->tiles;
    spad__index set = {0};
    tensor->logical = spad__new_array(host, tiles, sizeof *tensor->logical);
    if (tensor->logical == NULL) {
        status = spad__fail_host_memory(error);
    } else {
        status = fill_table(tensor, &set, check, request, host, error);
    }
    spad__index_free(&set, host);
    if (status != SPAD_OK) {
        spad__direct_free_table(tensor, host);
        return status;
    }
    tensor->physical = (int64_t)tensor->places.count;
    tensor->footprint = around(tensor);
    return SPAD_OK;
}

/* ---- rings ------------------------------------------------------------------------- */

/* physical = product of extent; it is not larger than tiles, which fits. */
static spad_status count_physical(direct_tensor *tensor, const int64_t *extent,
                                  const direct_check *check, spad_error *error) {
    tensor->extent = extent;
    tensor->physical = 1;
    for (size_t d = 0; d < tensor->block.rank; d++) tensor->physical *= extent[d];
    if (tensor->physical <= SPAD_DIRECT_TILES_MAX) return SPAD_OK;
    return too_many_tiles(check, "physical", tensor->physical, error);
}

/* Counts of a tuple, or NULL; *tiles is their product. */
static spad_status take_counts(const int64_t **counts, int64_t *tiles, const direct_check *check,
                               spad_shape tuple, const char *what, spad_error *error) {
    spad_error reason;
    const spad_status status =
        spad__ring_tiles(tiles, tuple, check->tensor->block.rank, what, &reason);
    if (status != SPAD_OK) return refuse_spot(check, NULL, status, error, "%s", reason.message);
    *counts = tuple.rank > 0 ? tuple.dims : NULL;
    return SPAD_OK;
}

/* In exclusive banks a ring can only run over the banks. */
static spad_status check_one_per_bank(const direct_check *check, const char *what, int64_t tiles,
                                      spad_error *error) {
    if (!check->space->banks_exclusive || tiles == 1) return SPAD_OK;
    return refuse_spot(
        check, NULL, SPAD_ERR_BANK, error,
        "%s has a product of %lld; a bank of '%s' holds one tile, so only bank_tiles can "
        "be above 1",
        what, (long long)tiles, check->space->name);
}

/* What the ring reserves, used or not, has to be in the space. */
static spad_status check_footprint(direct_tensor *tensor, const direct_check *check,
                                   const int64_t tiles[DIRECT_COORDINATES], spad_error *error) {
    const spad_direct_spot base = tensor->base;
    spad_status status = check_spot_bank(check, NULL, base.bank, tiles[DIRECT_BANK], error);
    if (status != SPAD_OK) return status;
    if (tensor->lanes > check->space->lanes) return check_lane(check, NULL, base.lane, error);
    int64_t lanes;
    if (!spad__mul(tiles[DIRECT_LANE], tensor->lanes, &lanes)) lanes = INT64_MAX;
    if (base.lane < 0 || lanes > check->space->lanes || base.lane > check->space->lanes - lanes) {
        refuse_spot(
            check, NULL, SPAD_ERR_BOUNDS, error,
            "its footprint of %lld x %lld lanes from lane %lld is outside the %lld lanes of "
            "'%s'",
            (long long)tiles[DIRECT_LANE], (long long)tensor->lanes, (long long)base.lane,
            (long long)check->space->lanes, check->space->name);
        spad__fact_amounts(error, lanes, check->space->lanes, SPAD_NO_FACT);
        return SPAD_ERR_BOUNDS;
    }
    /* from the first byte of the first bank to the last of the last */
    const int64_t between = (tiles[DIRECT_BANK] - 1) * check->bank_bytes;
    int64_t byte, bytes;
    if (base.byte < 0 || !spad__mul(tiles[DIRECT_FREE], tensor->bytes, &bytes) ||
        !spad__add(bytes, between, &bytes) ||
        !spad__add(base.byte, base.bank * check->bank_bytes, &byte) || bytes > check->usable ||
        byte > check->usable - bytes) {
        refuse_spot(
            check, NULL, SPAD_ERR_BOUNDS, error,
            "its footprint of %lld x %lld B per lane from byte %lld is outside [0, %lld), the "
            "bytes that "
            "'%s' of %s has for tensors",
            (long long)tiles[DIRECT_FREE], (long long)tensor->bytes, (long long)base.byte,
            (long long)check->usable, check->space->name, check->chip);
        spad__fact_amounts(error, SPAD_NO_FACT, check->usable, SPAD_NO_FACT);
        return SPAD_ERR_BOUNDS;
    }
    /* else its own tiles would meet: the last of one bank and the first of the next */
    if (tiles[DIRECT_BANK] > 1 && base.byte > check->bank_bytes - (bytes - between)) {
        refuse_spot(
            check, NULL, SPAD_ERR_BOUNDS, error,
            "%lld x %lld B per lane from byte %lld leave a bank of '%s', which has %lld B; a "
            "ring over several banks must stay in each",
            (long long)tiles[DIRECT_FREE], (long long)tensor->bytes, (long long)base.byte,
            check->space->name, (long long)check->bank_bytes);
        spad__fact_amounts(error, bytes - between, check->bank_bytes, SPAD_NO_FACT);
        return SPAD_ERR_BOUNDS;
    }
    tensor->footprint =
        (spad_rect){.lane = base.lane, .lanes = lanes, .byte = byte, .bytes = bytes};
    return SPAD_OK;
}

/* Tries each start lane at the first tile that has it. */
static spad_status check_ring_lanes(const direct_check *check, spad_error *error) {
    const direct_tensor *tensor = check->tensor;
    const int64_t *counts = tensor->counts[DIRECT_LANE];
    const size_t rank = tensor->block.rank;
    int64_t extent[SPAD_RANK_MAX], index[SPAD_RANK_MAX] = {0};
    for (size_t d = 0; d < rank; d++) {
        extent[d] = counts != NULL ? spad__min(tensor->block.dims[d], counts[d]) : 1;
    }
    do {
        const int64_t line = spad__ring_line(rank, counts, index);
        const spad_status status =
            check_lane(check, index, tensor->base.lane + line * tensor->lanes, error);
        if (status != SPAD_OK) return status;
        if (check->space->lane_rule_count == 0) return SPAD_OK; /* the footprint decides */
    } while (spad__next_index(rank, extent, index));
    return SPAD_OK;
}

/* The address is a sum of one term for each dim, so it is aligned everywhere if
 * the base and all terms are. With ring counts b and c the term of index i is
 * (i mod b) * bank_step + (i mod c) * free_step: it grows by a fixed step, except
 * that the first wraps at b and the second at c. So it is aligned for all i if it
 * is at 1, b and c, and the first of these that is not is the first bad tile. */
static spad_status check_ring_alignment(const direct_check *check, spad_error *error) {
    const direct_tensor *tensor = check->tensor;
    const int64_t base = tensor->footprint.byte;
    int64_t index[SPAD_RANK_MAX] = {0};
    spad_status status = check_alignment(check, index, base, error);
    int64_t bank_step = check->bank_bytes, free_step = tensor->bytes; /* within the footprint */
    for (size_t d = tensor->block.rank; d-- > 0 && status == SPAD_OK;) {
        const int64_t banks = tensor->counts[DIRECT_BANK] ? tensor->counts[DIRECT_BANK][d] : 1;
        const int64_t frees = tensor->counts[DIRECT_FREE] ? tensor->counts[DIRECT_FREE][d] : 1;
        const int64_t turns[] = {1, spad__min(banks, frees), spad__max(banks, frees)};
        for (int t = 0; t < 3 && status == SPAD_OK; t++) {
            if (turns[t] >= tensor->block.dims[d]) break;
            index[d] = turns[t];
            const int64_t term = turns[t] % banks * bank_step + turns[t] % frees * free_step;
            status = check_alignment(check, index, base + term, error);
        }
        index[d] = 0;
        bank_step *= banks;
        free_step *= frees;
    }
    return status;
}

/* Two tiles share a place if their indices agree modulo all three counts. */
static void ring_extents(const direct_tensor *tensor, int64_t *extent) {
    for (size_t d = 0; d < tensor->block.rank; d++) {
        int64_t period = 1;
        for (int c = 0; c < DIRECT_COORDINATES; c++) {
            if (tensor->counts[c] == NULL) continue;
            if (!spad__lcm(period, tensor->counts[c][d], &period)) period = INT64_MAX;
        }
        extent[d] = spad__min(period, tensor->block.dims[d]);
    }
}

static spad_status take_rings(direct_tensor *tensor, int64_t tiles[DIRECT_COORDINATES],
                              const direct_check *check, const spad_direct_rings *rings,
                              spad_error *error) {
    const spad_shape tuples[] = {rings->bank_tiles, rings->lane_tiles, rings->free_tiles};
    static const char *const names[] = {"bank_tiles", "lane_tiles", "free_tiles"};
    spad_status status = SPAD_OK;
    for (int c = 0; c < DIRECT_COORDINATES && status == SPAD_OK; c++) {
        status = take_counts(&tensor->counts[c], &tiles[c], check, tuples[c], names[c], error);
    }
    return status;
}

static spad_status place_rings(direct_tensor *tensor, int64_t *extent, const direct_check *check,
                               const spad_direct_rings *rings, spad_error *error) {
    int64_t tiles[DIRECT_COORDINATES];
    tensor->base = rings->base;
    spad_status status = take_rings(tensor, tiles, check, rings, error);
    if (status == SPAD_OK) status = check_tile_size(check, error);
    if (status == SPAD_OK) {
        status = check_spot_bank_start(check, NULL, "base byte", rings->base.byte, error);
    }
    if (status == SPAD_OK) {
        status = check_spot_bank_start(check, NULL, "base lane", rings->base.lane, error);
    }
    if (status == SPAD_OK) {
        status = check_one_per_bank(check, "lane_tiles", tiles[DIRECT_LANE], error);
    }
    if (status == SPAD_OK) {
        status = check_one_per_bank(check, "free_tiles", tiles[DIRECT_FREE], error);
    }
    if (status == SPAD_OK) status = check_footprint(tensor, check, tiles, error);
    if (status == SPAD_OK) status = check_ring_lanes(check, error);
    if (status == SPAD_OK) status = check_ring_alignment(check, error);
    if (status != SPAD_OK) return status;
    ring_extents(tensor, extent);
    return count_physical(tensor, extent, check, error);
}

/* ---- automatic and off chip -------------------------------------------------------- */

/* Some lane where a tile of that many may start; else why none exists. */
static spad_status check_any_lane(const direct_check *check, spad_error *error) {
    const spad_space *space = check->space;
    for (size_t r = 0; r < space->lane_rule_count; r++) {
        for (size_t s = 0; s < space->lane_rules[r].start_count; s++) {
            const int64_t lane = space->lane_rules[r].starts[s];
            if (spad_space_check_lanes(space, lane, check->tensor->lanes, NULL) == SPAD_OK) {
                return SPAD_OK;
            }
        }
    }
    return check_lane(check, NULL, 0, error);
}

/* What is modulo and forced to be automatic keeps the number of its physical
 * tiles, if its counts make sense; they are not checked otherwise. */
static bool keep_ring(int64_t *extent, const direct_check *check,
                      const spad_direct_tensor *request) {
    direct_tensor as_rings = *check->tensor;
    int64_t tiles[DIRECT_COORDINATES];
    if (request->mode != SPAD_MODE_MOD ||
        take_rings(&as_rings, tiles, check, &request->rings, NULL) != SPAD_OK) {
        return false;
    }
    ring_extents(&as_rings, extent);
    return true;
}

static spad_status place_auto(direct_tensor *tensor, int64_t *extent, const direct_check *check,
                              const spad_direct_tensor *request, spad_error *error) {
    const int64_t *counts = NULL;
    int64_t tiles;
    spad_status status = take_counts(&counts, &tiles, check, request->ring, "ring", error);
    if (status == SPAD_OK) status = check_tile_size(check, error);
    if (status == SPAD_OK) status = check_any_lane(check, error);
    if (status != SPAD_OK) return status;
    if (keep_ring(extent, check, request)) return count_physical(tensor, extent, check, error);
    for (size_t d = 0; d < tensor->block.rank; d++) {
        const int64_t dim = tensor->block.dims[d];
        extent[d] = counts != NULL ? spad__min(dim, counts[d]) : dim;
    }
    return count_physical(tensor, extent, check, error);
}

spad_status spad__direct_place(direct_tensor *tensor, int64_t *extent, const spad_target *target,
                               const spad_direct_tensor *request, const spad_host *host,
                               spad_error *error) {
    const direct_check check = start_check(tensor, target);
    tensor->footprint = (spad_rect){0, tensor->lanes, SPAD_NO_BYTE, tensor->bytes};
    if (check.space->off_chip) {
        if (tensor->block.rank > 0) {
            memcpy(extent, tensor->block.dims, tensor->block.rank * sizeof *extent);
        }
        tensor->extent = extent;
        tensor->physical = tensor->tiles;
        return SPAD_OK;
    }
    switch (tensor->mode) {
    case SPAD_MODE_FUNC:
    case SPAD_MODE_AT: return place_table(tensor, &check, request, host, error);
    case SPAD_MODE_MOD: return place_rings(tensor, extent, &check, &request->rings, error);
    default: return place_auto(tensor, extent, &check, request, error);
    }
}
