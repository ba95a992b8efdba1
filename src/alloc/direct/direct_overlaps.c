/* SPDX-License-Identifier: Apache-2.0
 *
 * Questions about the tensors of a kernel: tables, sharing, overlaps, findings.
 *
 * Overlaps are found by a sweep along the bytes of each space. Tiles are visited
 * in order of their first byte; those that have not ended yet are kept in lists,
 * one for each different range of lanes. A new tile examines the lists whose
 * lanes it overlaps: everything live in them shares bytes with it, and what has
 * ended is dropped on the way. So each look either finds a pair or drops a tile.
 */
#include "alloc/direct/direct.h"
#include "base/compare.h"

#include <stdlib.h>
#include <string.h>

#include "alloc/direct/ring.h"
#include "base/checked.h"
#include "base/error.h"
#include "base/finding.h"
#include "base/largest.h"
#include "base/text.h"

size_t spad_direct_count(const spad_direct *direct) {
    return direct->tensors.count;
}

static spad_status get_tensor(const direct_tensor **out, const spad_direct *direct, size_t number,
                              spad_error *error) {
    *out = NULL;
    if (number >= direct->tensors.count) {
        return spad__fail(error, SPAD_ERR_ARGUMENT, "the kernel has no tensor number %zu, only %zu",
                          number, direct->tensors.count);
    }
    *out = &direct->tensors.items[number];
    return SPAD_OK;
}

spad_status spad_direct_get(spad_direct_info *out, const spad_direct *direct, size_t number,
                            spad_error *error) {
    memset(out, 0, sizeof *out);
    const direct_tensor *tensor;
    const spad_status status = get_tensor(&tensor, direct, number, error);
    if (status != SPAD_OK) return status;
    *out = (spad_direct_info){
        .name = tensor->name,
        .space = tensor->space,
        .dtype = tensor->dtype,
        .block = tensor->block,
        .tile = tensor->tile,
        .mode = tensor->mode,
        .output = tensor->output,
        .implicit_of = tensor->implicit_of,
        .lanes = tensor->lanes,
        .bytes = tensor->bytes,
        .tiles = tensor->tiles,
        .physical = tensor->physical,
        .footprint = tensor->footprint,
        .traced = tensor->traced,
    };
    return SPAD_OK;
}

spad_status spad_direct_find(size_t *out, const spad_direct *direct, const char *name,
                             spad_error *error) {
    *out = SIZE_MAX;
    if (name == NULL)
        return spad__fail(error, SPAD_ERR_ARGUMENT, "find needs the name of a tensor");
    spad__nearest nearest;
    spad__nearest_start(&nearest, name);
    for (size_t i = 0; i < direct->tensors.count; i++) {
        const char *candidate = direct->tensors.items[i].name;
        if (candidate == NULL) continue;
        if (strcmp(candidate, name) == 0) {
            *out = i;
            return SPAD_OK;
        }
        spad__nearest_offer(&nearest, candidate);
    }
    char hint[128], shown[SPAD_NAME_FACT_MAX];
    spad__nearest_phrase(&nearest, hint, sizeof hint);
    spad__copy_cut(shown, sizeof shown, name);
    spad__fail(error, SPAD_ERR_UNKNOWN, "the kernel has no tensor '%s'%s", shown, hint);
    spad__fact_names(error, name, NULL);
    return SPAD_ERR_UNKNOWN;
}

/* ---- tiles ------------------------------------------------------------------------- */

spad_status spad_direct_tile_number(int64_t *out, const spad_direct *direct, size_t number,
                                    const int64_t *index, spad_error *error) {
    *out = -1;
    const direct_tensor *tensor;
    const spad_status status = get_tensor(&tensor, direct, number, error);
    if (status != SPAD_OK) return status;
    for (size_t d = 0; d < tensor->block.rank; d++) {
        if (index[d] >= 0 && index[d] < tensor->block.dims[d]) continue;
        char who[DIRECT_WHO_MAX];
        spad__direct_who(who, tensor->name, 0, NULL);
        spad__fail(error, SPAD_ERR_ARGUMENT, "%s: index %lld in block dim %zu, which has %lld", who,
                   (long long)index[d], d, (long long)tensor->block.dims[d]);
        spad__fact_names(error, tensor->name, NULL);
        return SPAD_ERR_ARGUMENT;
    }
    *out = spad__ring_line(tensor->block.rank, tensor->block.dims, index);
    return SPAD_OK;
}

/* The tensor, if it has that tile: `kind` is "logical" or "physical". */
static spad_status get_tile(const direct_tensor **out, const spad_direct *direct, size_t number,
                            int64_t tile, const char *kind, spad_error *error) {
    const spad_status status = get_tensor(out, direct, number, error);
    if (status != SPAD_OK) return status;
    const int64_t count = *kind == 'l' ? (*out)->tiles : (*out)->physical;
    if (tile >= 0 && tile < count) return SPAD_OK;
    char who[DIRECT_WHO_MAX];
    spad__direct_who(who, (*out)->name, 0, NULL);
    spad__fail(error, SPAD_ERR_ARGUMENT, "%s: no %s tile number %lld, there are %lld", who, kind,
               (long long)tile, (long long)count);
    spad__fact_names(error, (*out)->name, NULL);
    return SPAD_ERR_ARGUMENT;
}

spad_status spad_direct_tile_index(int64_t *index, const spad_direct *direct, size_t number,
                                   int64_t tile, spad_error *error) {
    const direct_tensor *tensor;
    const spad_status status = get_tile(&tensor, direct, number, tile, "logical", error);
    if (status == SPAD_OK) {
        spad__index_of(tensor->block.rank, tensor->block.dims, tile, index);
    }
    return status;
}

int64_t spad__direct_first(const direct_tensor *tensor, int64_t physical) {
    if (tensor->logical != NULL) return tensor->places.items[physical].first;
    int64_t index[SPAD_RANK_MAX] SPAD__FILLED_BY_LOOP; /* of the box of extents: also the first tile
                                                          with it */
    spad__index_of(tensor->block.rank, tensor->extent, physical, index);
    return spad__ring_line(tensor->block.rank, tensor->block.dims, index);
}

spad_rect spad__direct_rect(const direct_tensor *tensor, const spad_space *space, int64_t tile) {
    spad_rect rect = {0, tensor->lanes, SPAD_NO_BYTE, tensor->bytes};
    if (tensor->logical != NULL) {
        const direct_place *place = &tensor->places.items[tensor->logical[tile].physical];
        rect.lane = place->lane;
        rect.byte = place->byte;
    } else if (tensor->mode == SPAD_MODE_MOD) {
        const size_t rank = tensor->block.rank;
        int64_t index[SPAD_RANK_MAX] SPAD__FILLED_BY_LOOP;
        spad__index_of(rank, tensor->block.dims, tile, index);
        const int64_t bank =
            tensor->base.bank + spad__ring_line(rank, tensor->counts[DIRECT_BANK], index);
        rect.lane = tensor->base.lane +
                    spad__ring_line(rank, tensor->counts[DIRECT_LANE], index) * tensor->lanes;
        rect.byte = bank * space->bank_bytes + tensor->base.byte +
                    spad__ring_line(rank, tensor->counts[DIRECT_FREE], index) * tensor->bytes;
    }
    return rect;
}

/* The next tile whose index agrees with that of `tile` modulo the extents: the
 * odometer with steps of extent[d]. */
static int64_t next_in_ring(const direct_tensor *tensor, const int64_t *index) {
    const size_t rank = tensor->block.rank;
    int64_t next[SPAD_RANK_MAX];
    for (size_t d = 0; d < rank; d++) next[d] = index[d];
    for (size_t d = rank; d-- > 0;) {
        if (next[d] < tensor->block.dims[d] - tensor->extent[d]) {
            next[d] += tensor->extent[d];
            return spad__ring_line(rank, tensor->block.dims, next);
        }
        next[d] %= tensor->extent[d];
    }
    return -1;
}

static void describe_tile(spad_direct_tile *out, const spad_direct *direct,
                          const direct_tensor *tensor, int64_t tile) {
    const spad_space *space = &direct->target->spaces[tensor->space];
    out->tile = tile;
    out->rect = spad__direct_rect(tensor, space, tile);
    out->spot = (spad_direct_spot){.bank = 0, .lane = out->rect.lane, .byte = out->rect.byte};
    if (space->bank_bytes > 0 && out->rect.byte != SPAD_NO_BYTE) {
        out->spot.bank = out->rect.byte / space->bank_bytes;
        out->spot.byte = out->rect.byte % space->bank_bytes;
    }
    if (tensor->logical != NULL) {
        const direct_logical *row = &tensor->logical[tile];
        out->physical = row->physical;
        out->next = row->next != DIRECT_NO_NEXT ? (int64_t)row->next : -1;
    } else {
        int64_t index[SPAD_RANK_MAX] SPAD__FILLED_BY_LOOP;
        spad__index_of(tensor->block.rank, tensor->block.dims, tile, index);
        out->physical = spad__ring_line(tensor->block.rank, tensor->extent, index);
        out->next = next_in_ring(tensor, index);
    }
}

static const spad_direct_tile no_tile = {.tile = -1, .physical = -1, .next = -1};

spad_status spad_direct_get_tile(spad_direct_tile *out, const spad_direct *direct, size_t number,
                                 int64_t tile, spad_error *error) {
    *out = no_tile;
    const direct_tensor *tensor;
    const spad_status status = get_tile(&tensor, direct, number, tile, "logical", error);
    if (status == SPAD_OK) describe_tile(out, direct, tensor, tile);
    return status;
}

spad_status spad_direct_get_physical(spad_direct_tile *out, const spad_direct *direct,
                                     size_t number, int64_t physical, spad_error *error) {
    *out = no_tile;
    const direct_tensor *tensor;
    const spad_status status = get_tile(&tensor, direct, number, physical, "physical", error);
    if (status == SPAD_OK) describe_tile(out, direct, tensor, spad__direct_first(tensor, physical));
    return status;
}

/* ---- overlaps ---------------------------------------------------------------------- */

typedef struct sweep_tile {
    size_t space;
    size_t tensor;
    int64_t tile; /* first logical one */
    spad_rect rect;
    size_t band; /* number of its range of lanes */
} sweep_tile;

/* The tiles of one range of lanes that the sweep has not passed yet. */
typedef struct sweep_band {
    int64_t lane;
    int64_t lanes;
    SPAD_ARRAY(size_t) live; /* numbers of tiles */
} sweep_band;

typedef struct tile_sweep {
    const spad_host *host;
    SPAD_ARRAY(sweep_tile) tiles;
    SPAD_ARRAY(sweep_band) bands;
    spad__largest found;
    size_t count;
} tile_sweep;

/* Bands together, for numbering them. */
static int by_lanes(const void *left, const void *right) {
    const sweep_tile *a = left, *b = right;
    const int lane = spad__compare(a->rect.lane, b->rect.lane);
    return lane != 0 ? lane : spad__compare(a->rect.lanes, b->rect.lanes);
}

static int by_address(const void *left, const void *right) {
    const sweep_tile *a = left, *b = right;
    int order = spad__compare((int64_t)a->space, (int64_t)b->space);
    if (order == 0) order = spad__compare(a->rect.byte, b->rect.byte);
    if (order == 0) order = spad__compare((int64_t)a->tensor, (int64_t)b->tensor);
    return order != 0 ? order : spad__compare(a->tile, b->tile);
}

static bool overlap_before(const void *context, const void *left, const void *right) {
    (void)context;
    const spad_direct_overlap *a = left, *b = right;
    int order = spad__compare((int64_t)a->tensor_a, (int64_t)b->tensor_a);
    if (order == 0) order = spad__compare(a->tile_a, b->tile_a);
    if (order == 0) order = spad__compare((int64_t)a->tensor_b, (int64_t)b->tensor_b);
    return order != 0 ? order < 0 : a->tile_b < b->tile_b;
}

static bool gather_tiles(tile_sweep *s, const spad_direct *direct) {
    for (size_t i = 0; i < direct->tensors.count; i++) {
        const direct_tensor *tensor = &direct->tensors.items[i];
        if (tensor->mode == SPAD_MODE_AUTO) continue;
        if (!spad__array_reserve(s->host, &s->tiles, tensor->physical)) return false;
        const spad_space *space = &direct->target->spaces[tensor->space];
        for (int64_t p = 0; p < tensor->physical; p++) {
            const int64_t tile = spad__direct_first(tensor, p);
            s->tiles.items[s->tiles.count++] = (sweep_tile){
                .space = tensor->space,
                .tensor = i,
                .tile = tile,
                .rect = spad__direct_rect(tensor, space, tile),
            };
        }
    }
    return true;
}

/* Sorts the tiles for the sweep, each with the number of its band. */
static bool make_bands(tile_sweep *s) {
    if (s->tiles.count == 0) return true;
    qsort(s->tiles.items, s->tiles.count, sizeof *s->tiles.items, by_lanes);
    for (size_t i = 0; i < s->tiles.count; i++) {
        sweep_tile *tile = &s->tiles.items[i];
        if (i == 0 || by_lanes(tile - 1, tile) != 0) {
            if (!spad__array_reserve(s->host, &s->bands, 1)) return false;
            s->bands.items[s->bands.count++] =
                (sweep_band){.lane = tile->rect.lane, .lanes = tile->rect.lanes};
        }
        tile->band = s->bands.count - 1;
    }
    qsort(s->tiles.items, s->tiles.count, sizeof *s->tiles.items, by_address);
    return true;
}

static spad_rect common(spad_rect a, spad_rect b) {
    const int64_t lane = spad__max(a.lane, b.lane);
    const int64_t byte = spad__max(a.byte, b.byte);
    return (spad_rect){
        .lane = lane,
        .lanes = spad__min(a.lane + a.lanes, b.lane + b.lanes) - lane,
        .byte = byte,
        .bytes = spad__min(a.byte + a.bytes, b.byte + b.bytes) - byte,
    };
}

static void report_pair(tile_sweep *s, const sweep_tile *a, const sweep_tile *b) {
    if (a->tensor > b->tensor || (a->tensor == b->tensor && a->tile > b->tile)) {
        const sweep_tile *held = a;
        a = b;
        b = held;
    }
    const spad_direct_overlap pair = {
        .tensor_a = a->tensor,
        .tensor_b = b->tensor,
        .tile_a = a->tile,
        .tile_b = b->tile,
        .space = a->space,
        .shared = common(a->rect, b->rect),
    };
    s->count++;
    spad__largest_offer(&s->found, &pair);
}

/* Pairs the tile with what is live in a band, and drops what has ended. */
static void pair_in_band(tile_sweep *s, sweep_band *band, const sweep_tile *tile) {
    for (size_t i = 0; i < band->live.count;) {
        const sweep_tile *other = &s->tiles.items[band->live.items[i]];
        if (other->space == tile->space && other->rect.byte + other->rect.bytes > tile->rect.byte) {
            report_pair(s, other, tile);
            i++;
        } else {
            band->live.items[i] = band->live.items[--band->live.count];
        }
    }
}

static bool run_sweep(tile_sweep *s) {
    for (size_t i = 0; i < s->tiles.count; i++) {
        const sweep_tile *tile = &s->tiles.items[i];
        for (size_t b = 0; b < s->bands.count; b++) {
            sweep_band *band = &s->bands.items[b];
            if (band->lane < tile->rect.lane + tile->rect.lanes &&
                tile->rect.lane < band->lane + band->lanes) {
                pair_in_band(s, band, tile);
            }
        }
        sweep_band *own = &s->bands.items[tile->band];
        if (!spad__array_reserve(s->host, &own->live, 1)) return false;
        own->live.items[own->live.count++] = i;
    }
    return true;
}

spad_status spad_direct_list_overlaps(size_t *count, spad_direct_overlap *out, size_t capacity,
                                      const spad_direct *direct, spad_error *error) {
    *count = 0;
    tile_sweep s = {
        .host = &direct->host,
        .found = {.items = (char *)out,
                  .item_size = sizeof *out,
                  .capacity = capacity,
                  .before = overlap_before},
    };
    const bool done = gather_tiles(&s, direct) && make_bands(&s) && run_sweep(&s);
    if (done) {
        spad__largest_finish(&s.found);
        *count = s.count;
    }
    for (size_t b = 0; b < s.bands.count; b++) {
        spad__array_free(&direct->host, &s.bands.items[b].live);
    }
    spad__array_free(&direct->host, &s.bands);
    spad__array_free(&direct->host, &s.tiles);
    return done ? SPAD_OK : spad__fail_host_memory(error);
}

/* ---- findings ---------------------------------------------------------------------- */

/* The first tensor that is placed directly, or NULL. */
static const direct_tensor *first_placed_tensor(const spad_direct *direct) {
    for (size_t i = 0; i < direct->tensors.count; i++) {
        if (direct->tensors.items[i].mode != SPAD_MODE_AUTO) return &direct->tensors.items[i];
    }
    return NULL;
}

static void describe_mixed_placement(spad_finding *out, const spad_direct *direct,
                                     const direct_tensor *tensor, const direct_tensor *placed) {
    const spad_space *space = &direct->target->spaces[tensor->space];
    char who[DIRECT_WHO_MAX], other[DIRECT_WHO_MAX];
    spad__direct_who(who, tensor->name, 0, NULL);
    spad__direct_who(other, placed->name, 0, NULL);
    if (space->off_chip) {
        spad__finding_init(
            out, SPAD_FINDING_OFF_CHIP_NOT_OUTPUT,
            "%s in '%s' is not an output, while %s is placed directly; return it from the "
            "kernel, or keep it on chip",
            who, space->name, other);
    } else if (tensor->implicit_of != NULL) {
        char operation[SPAD_NAME_FACT_MAX];
        spad__copy_cut(operation, sizeof operation, tensor->implicit_of);
        spad__finding_init(
            out, SPAD_FINDING_IMPLICIT_TENSOR,
            "%s in '%s' is made by %s, so it cannot be placed, while %s is placed directly; "
            "declare and place a tensor for it, or use another operation",
            who, space->name, operation, other);
    } else {
        spad__finding_init(
            out, SPAD_FINDING_MIXED_PLACEMENT,
            "%s in '%s' is placed automatically, while %s is placed directly; place all "
            "tensors or none",
            who, space->name, other);
    }
    spad__finding_set_names(out, tensor->name, placed->name);
    out->number = tensor - direct->tensors.items;
    if (tensor->traced >= 0) {
        out->time = spad_trace_get_tensor(direct->trace, (size_t)tensor->traced)->t_begin;
    }
}

size_t spad_direct_list_findings(spad_finding *out, size_t capacity, const spad_direct *direct) {
    const direct_tensor *placed = first_placed_tensor(direct);
    size_t count = 0;
    for (size_t i = 0; i < direct->tensors.count && placed != NULL; i++) {
        const direct_tensor *tensor = &direct->tensors.items[i];
        if (tensor->mode != SPAD_MODE_AUTO || tensor->output) continue;
        if (count < capacity) describe_mixed_placement(&out[count], direct, tensor, placed);
        count++;
    }
    return count;
}
