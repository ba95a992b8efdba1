/* SPDX-License-Identifier: Apache-2.0
 *
 * The map of last writers: bands of lanes, in each a sorted list of pieces of bytes.
 *
 * Almost all tiles of a kernel begin and end at a few lanes, so there are few bands, most
 * often one. A new border between lanes copies a band and stays. A write replaces the
 * pieces under it by one, so what many small writes have cut one large write joins; one
 * that meets a piece of exactly its bytes, as in every lap of a ring, only changes its
 * writer. Reads cut nothing.
 *
 * Cost per band and run: O(log pieces) to find it, O(1) where the last search ended, and
 * O(pieces touched); a write that changes the number of pieces moves those behind it.
 * Invariants: bands and pieces are sorted without gaps and cover the map; the count of a
 * writer is the number of pieces that show it.
 */
#include "check/bytemap.h"

#include <string.h>

/* ---- life ------------------------------------------------------------------------- */

bool spad__bytemap_init(spad__bytemap *map, const spad_host *host, int64_t lane, int64_t lane_end,
                        int64_t byte, int64_t byte_end) {
    *map = (spad__bytemap){.lane_end = lane_end, .byte_end = byte_end};
    spad__band band = {.lane = lane};
    if (!spad__array_reserve(host, &map->bands, 1)) return false;
    if (!spad__array_reserve(host, &band.pieces, 1)) {
        spad__array_free(host, &map->bands);
        return false;
    }
    band.pieces.items[band.pieces.count++] = (spad__piece){.byte = byte};
    map->bands.items[map->bands.count++] = band;
    return true;
}

void spad__bytemap_free(spad__bytemap *map, const spad_host *host) {
    for (size_t i = 0; i < map->bands.count; i++) {
        spad__array_free(host, &map->bands.items[i].pieces);
    }
    spad__array_free(host, &map->bands);
}

/* ---- writers ---------------------------------------------------------------------- */

static void take(spad__writers *writers, spad__writer writer) {
    if (writer != 0) writers->rows[writer].pieces++;
}

static void drop(spad__writers *writers, spad__writer writer) {
    if (writer == 0 || --writers->rows[writer].pieces > 0) return;
    writers->rows[writer].next = writers->over;
    writers->over = writer;
}

/* ---- searching -------------------------------------------------------------------- */

static int64_t piece_end(const spad__bytemap *map, const spad__band *band, size_t piece) {
    return piece + 1 < band->pieces.count ? band->pieces.items[piece + 1].byte : map->byte_end;
}

static int64_t band_end(const spad__bytemap *map, size_t band) {
    return band + 1 < map->bands.count ? map->bands.items[band + 1].lane : map->lane_end;
}

/* The piece that has a byte: where the last search ended or next to it, or by halves. */
static size_t find_piece(const spad__bytemap *map, const spad__band *band, int64_t byte,
                         size_t *last) {
    const spad__piece *pieces = band->pieces.items;
    size_t low = 0;
    size_t high = band->pieces.count;
    const size_t hint = *last;
    if (hint < high && pieces[hint].byte <= byte) {
        low = hint;
        if (piece_end(map, band, hint) > byte) {
            high = hint + 1;
        } else if (hint + 1 < high && piece_end(map, band, hint + 1) > byte) {
            low = hint + 1;
            high = hint + 2;
        }
    }
    while (high - low > 1) {
        const size_t middle = low + (high - low) / 2;
        if (pieces[middle].byte <= byte) {
            low = middle;
        } else {
            high = middle;
        }
    }
    return *last = low;
}

static size_t find_band(const spad__bytemap *map, int64_t lane) {
    size_t band = 0;
    while (band + 1 < map->bands.count && map->bands.items[band + 1].lane <= lane) band++;
    return band;
}

/* ---- writing ---------------------------------------------------------------------- */

/* Makes a border between bands at a lane. *out: the band that starts there. */
static bool cut_lane(spad__bytemap *map, const spad_host *host, spad__writers *writers,
                     int64_t lane, size_t *out) {
    const size_t at = find_band(map, lane);
    *out = at;
    if (map->bands.items[at].lane == lane) return true;
    spad__band copy = {.lane = lane};
    const size_t count = map->bands.items[at].pieces.count;
    if (!spad__array_reserve(host, &copy.pieces, count)) return false;
    if (!spad__array_reserve(host, &map->bands, 1)) {
        spad__array_free(host, &copy.pieces);
        return false;
    }
    spad__band *band = &map->bands.items[at];
    memcpy(copy.pieces.items, band->pieces.items, count * sizeof copy.pieces.items[0]);
    copy.pieces.count = count;
    for (size_t i = 0; i < count; i++) take(writers, copy.pieces.items[i].writer);
    memmove(band + 2, band + 1, (map->bands.count - at - 1) * sizeof *band);
    band[1] = copy;
    map->bands.count++;
    *out = at + 1;
    return true;
}

/* Bytes [from, to) of a band belong to the writer. */
static bool replace(const spad__bytemap *map, spad__band *band, const spad_host *host,
                    spad__writers *writers, int64_t from, int64_t to, spad__writer writer,
                    size_t *hint) {
    const size_t first = find_piece(map, band, from, hint);
    spad__piece *pieces = band->pieces.items;
    take(writers, writer);
    if (pieces[first].byte == from && piece_end(map, band, first) == to) {
        drop(writers, pieces[first].writer);
        pieces[first].writer = writer;
        return true;
    }
    if (!spad__array_reserve(host, &band->pieces, 2)) return false;
    pieces = band->pieces.items;
    size_t behind = first + 1; /* the first piece that is not touched */
    while (behind < band->pieces.count && pieces[behind].byte < to) behind++;
    const spad__piece left = pieces[first];
    const spad__piece right = {.byte = to, .writer = pieces[behind - 1].writer};
    const bool keep_left = left.byte < from;
    const bool keep_right = piece_end(map, band, behind - 1) > to;
    if (keep_left) take(writers, left.writer);
    if (keep_right) take(writers, right.writer);
    for (size_t i = first; i < behind; i++) drop(writers, pieces[i].writer);

    const size_t kept = (size_t)keep_left + 1 + (size_t)keep_right;
    memmove(pieces + first + kept, pieces + behind,
            (band->pieces.count - behind) * sizeof pieces[0]);
    band->pieces.count = band->pieces.count - (behind - first) + kept;
    size_t at = first;
    if (keep_left) pieces[at++] = left;
    *hint = at;
    pieces[at++] = (spad__piece){.byte = from, .writer = writer};
    if (keep_right) pieces[at] = right;
    return true;
}

bool spad__bytemap_write(spad__bytemap *map, const spad_host *host, spad__writers *writers,
                         spad_rect rect, int64_t runs, int64_t stride, spad__writer writer,
                         size_t *hint) {
    const int64_t lane_end = rect.lane + rect.lanes;
    size_t first;
    size_t behind = map->bands.count;
    if (!cut_lane(map, host, writers, rect.lane, &first)) return false;
    if (lane_end < map->lane_end && !cut_lane(map, host, writers, lane_end, &behind)) return false;
    if (lane_end >= map->lane_end) behind = map->bands.count;
    for (size_t b = first; b < behind; b++) {
        for (int64_t run = 0; run < runs; run++) {
            const int64_t from = rect.byte + run * stride;
            if (!replace(map, &map->bands.items[b], host, writers, from, from + rect.bytes, writer,
                         hint)) {
                return false;
            }
        }
    }
    return true;
}

/* ---- reading ---------------------------------------------------------------------- */

spad__look spad__look_at(spad__bytemap *map, spad_rect rect, int64_t runs, int64_t stride,
                         size_t *hint) {
    return (spad__look){.map = map,
                        .rect = rect,
                        .runs = runs,
                        .stride = stride,
                        .band = find_band(map, rect.lane),
                        .hint = hint};
}

/* On to the next run, or to the first one of the next band. */
static void leave_run(spad__look *look) {
    look->inside = false;
    if (++look->run < look->runs) return;
    look->run = 0;
    look->band++;
}

bool spad__look_next(spad__look *look, spad_rect *part, spad__writer *writer) {
    const int64_t lane_end = look->rect.lane + look->rect.lanes;
    if (look->band >= look->map->bands.count) return false;
    const spad__band *band = &look->map->bands.items[look->band];
    if (band->lane >= lane_end) return false;
    const int64_t from = look->rect.byte + look->run * look->stride;
    const int64_t to = from + look->rect.bytes;
    if (!look->inside) {
        look->piece = find_piece(look->map, band, from, look->hint);
        look->inside = true;
    }
    const spad__piece piece = band->pieces.items[look->piece];
    const int64_t end = piece_end(look->map, band, look->piece);
    part->lane = band->lane > look->rect.lane ? band->lane : look->rect.lane;
    const int64_t lanes_to = band_end(look->map, look->band);
    part->lanes = (lanes_to < lane_end ? lanes_to : lane_end) - part->lane;
    part->byte = piece.byte > from ? piece.byte : from;
    part->bytes = (end < to ? end : to) - part->byte;
    *writer = piece.writer;
    look->piece++;
    if (end >= to) leave_run(look);
    return true;
}
