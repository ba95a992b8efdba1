/* SPDX-License-Identifier: Apache-2.0
 *
 * The map of last writers: bands of lanes, in each a sorted list of pieces of bytes, in
 * chunks.
 *
 * Almost all tiles of a kernel begin and end at a few lanes, so there are few bands, most
 * often one. A new border between lanes copies a band and stays. A write replaces the
 * pieces under it by one, so what many small writes have cut one large write joins; one
 * that meets a piece of exactly its bytes, as in every lap of a ring, only changes its
 * writer. Reads cut nothing.
 *
 * Cost per band and run: O(log pieces) to find it, O(1) where an access like it ended, and
 * O(pieces touched); a write that cuts a piece moves those after it in its chunk, and one in
 * CHUNK_MAX / 2 of them moves the list of chunks.
 * Invariants: bands and pieces are sorted without gaps and cover the map; no chunk is empty;
 * the count of a writer is the number of pieces that show it.
 */
#include "check/last_writers.h"

#include <string.h>

#include "base/assert.h"

enum { CHUNK_MAX = 256 };

/* ---- create and free -------------------------------------------------------------- */

static void free_band(spad__band *band, const spad_host *host) {
    for (size_t i = 0; i < band->chunks.count; i++) {
        spad__array_free(host, &band->chunks.items[i].pieces);
    }
    spad__array_free(host, &band->chunks);
}

/* A chunk with room for some pieces after the others of a band; NULL: no memory. */
static spad__chunk *add_chunk(spad__band *band, const spad_host *host, size_t room) {
    if (!spad__array_reserve(host, &band->chunks, 1)) return NULL;
    spad__chunk *chunk = &band->chunks.items[band->chunks.count];
    *chunk = (spad__chunk){0};
    if (!spad__array_reserve(host, &chunk->pieces, room)) return NULL;
    band->chunks.count++;
    return chunk;
}

bool spad__bytemap_init(spad__bytemap *map, const spad_host *host, int64_t lane, int64_t lane_end,
                        int64_t byte, int64_t byte_end) {
    spad__assert(lane < lane_end && byte < byte_end);
    *map = (spad__bytemap){.lane_end = lane_end, .byte_end = byte_end};
    spad__band band = {.lane = lane};
    spad__chunk *chunk = add_chunk(&band, host, 1);
    if (chunk == NULL || !spad__array_reserve(host, &map->bands, 1)) {
        free_band(&band, host);
        return false;
    }
    chunk->pieces.items[chunk->pieces.count++] = (spad__map_piece){.byte = byte};
    map->bands.items[map->bands.count++] = band;
    return true;
}

void spad__bytemap_free(spad__bytemap *map, const spad_host *host) {
    for (size_t i = 0; i < map->bands.count; i++) free_band(&map->bands.items[i], host);
    spad__array_free(host, &map->bands);
}

/* One band of one chunk is cheap to walk after every write; larger maps count as valid. For
 * assertions. */
static bool small_map_is_valid(const spad__bytemap *map) {
    const bool small = map->bands.count == 1 && map->bands.items[0].chunks.count == 1 &&
                       map->bands.items[0].chunks.items[0].pieces.count <= SPAD__FEW;
    return !small || spad__bytemap_is_valid(map);
}

size_t spad__band_pieces(const spad__band *band) {
    size_t count = 0;
    for (size_t i = 0; i < band->chunks.count; i++) count += band->chunks.items[i].pieces.count;
    return count;
}

/* ---- writers ----------------------------------------------------------------------- */

static void take(spad__writers *writers, spad__writer writer) {
    if (writer != 0) writers->rows[writer].pieces++;
}

static void drop(spad__writers *writers, spad__writer writer) {
    spad__assert(writer == 0 || writers->rows[writer].pieces > 0);
    if (writer == 0 || --writers->rows[writer].pieces > 0) return;
    writers->rows[writer].next = writers->over;
    writers->over = writer;
}

/* ---- searching --------------------------------------------------------------------- */

static spad__map_piece *piece_at(const spad__band *band, spad__spot spot) {
    spad__assert(spot.chunk < band->chunks.count);
    spad__assert(spot.piece < band->chunks.items[spot.chunk].pieces.count);
    return &band->chunks.items[spot.chunk].pieces.items[spot.piece];
}

/* Where the bytes of chunk end. */
static int64_t chunk_end(const spad__bytemap *map, const spad__band *band, size_t chunk) {
    spad__assert(chunk < band->chunks.count && band->chunks.items[chunk].pieces.count > 0);
    return chunk + 1 < band->chunks.count ? band->chunks.items[chunk + 1].pieces.items[0].byte
                                          : map->byte_end;
}

static int64_t piece_end(const spad__bytemap *map, const spad__band *band, spad__spot spot) {
    const spad__chunk *chunk = &band->chunks.items[spot.chunk];
    return spot.piece + 1 < chunk->pieces.count ? chunk->pieces.items[spot.piece + 1].byte
                                                : chunk_end(map, band, spot.chunk);
}

static int64_t band_end(const spad__bytemap *map, size_t band) {
    return band + 1 < map->bands.count ? map->bands.items[band + 1].lane : map->lane_end;
}

static bool chunk_has(const spad__bytemap *map, const spad__band *band, size_t chunk,
                      int64_t byte) {
    return chunk < band->chunks.count && band->chunks.items[chunk].pieces.items[0].byte <= byte &&
           chunk_end(map, band, chunk) > byte;
}

static uint32_t find_chunk(const spad__band *band, int64_t byte) {
    spad__assert(band->chunks.count > 0 && band->chunks.items[0].pieces.items[0].byte <= byte);
    size_t low = 0;
    size_t high = band->chunks.count;
    while (high - low > 1) {
        const size_t middle = low + (high - low) / 2;
        if (band->chunks.items[middle].pieces.items[0].byte <= byte) {
            low = middle;
        } else {
            high = middle;
        }
    }
    return (uint32_t)low;
}

/* The piece of a chunk that has a byte: at the hint or after it, or by halves. */
static uint32_t find_in_chunk(const spad__chunk *chunk, int64_t byte, uint32_t hint) {
    spad__assert(chunk->pieces.count > 0 && chunk->pieces.items[0].byte <= byte);
    const spad__map_piece *pieces = chunk->pieces.items;
    const size_t count = chunk->pieces.count;
    size_t low = 0;
    size_t high = count;
    if (hint < count && pieces[hint].byte <= byte) {
        low = hint;
        if (hint + 1 >= count || pieces[hint + 1].byte > byte) return hint;
        if (hint + 2 >= count || pieces[hint + 2].byte > byte) return hint + 1;
    }
    while (high - low > 1) {
        const size_t middle = low + (high - low) / 2;
        if (pieces[middle].byte <= byte) {
            low = middle;
        } else {
            high = middle;
        }
    }
    return (uint32_t)low;
}

static spad__spot find_piece(const spad__bytemap *map, const spad__band *band, int64_t byte,
                             spad__spot *hint) {
    if (!chunk_has(map, band, hint->chunk, byte)) *hint = (spad__spot){find_chunk(band, byte), 0};
    hint->piece = find_in_chunk(&band->chunks.items[hint->chunk], byte, hint->piece);
    spad__assert(piece_at(band, *hint)->byte <= byte && byte < piece_end(map, band, *hint));
    return *hint;
}

static size_t find_band(const spad__bytemap *map, int64_t lane) {
    spad__assert(map->bands.count > 0 && map->bands.items[0].lane <= lane && lane < map->lane_end);
    size_t band = 0;
    while (band + 1 < map->bands.count && map->bands.items[band + 1].lane <= lane) band++;
    return band;
}

/* ---- cutting ----------------------------------------------------------------------- */

static bool copy_band(spad__band *copy, const spad__band *band, const spad_host *host,
                      spad__writers *writers) {
    for (size_t c = 0; c < band->chunks.count; c++) {
        const spad__chunk *from = &band->chunks.items[c];
        spad__chunk *to = add_chunk(copy, host, from->pieces.count);
        if (to == NULL) return false;
        to->pieces.count = from->pieces.count;
        memcpy(to->pieces.items, from->pieces.items, from->pieces.count * sizeof(spad__map_piece));
        for (size_t i = 0; i < to->pieces.count; i++) take(writers, to->pieces.items[i].writer);
    }
    return true;
}

/* Makes a border between bands at a lane. *out: the band that starts there. */
static bool cut_lane(spad__bytemap *map, const spad_host *host, spad__writers *writers,
                     int64_t lane, size_t *out) {
    const size_t at = find_band(map, lane);
    *out = at;
    if (map->bands.items[at].lane == lane) return true;
    spad__band copy = {.lane = lane};
    if (!spad__array_reserve(host, &map->bands, 1) ||
        !copy_band(&copy, &map->bands.items[at], host, writers)) {
        free_band(&copy, host);
        return false;
    }
    spad__band *band = &map->bands.items[at];
    memmove(band + 2, band + 1, (map->bands.count - at - 1) * sizeof *band);
    band[1] = copy;
    map->bands.count++;
    *out = at + 1;
    return true;
}

/* Moves the second half of a full chunk to one after it. */
static bool split_chunk(spad__band *band, const spad_host *host, size_t at) {
    spad__assert(band->chunks.items[at].pieces.count >= 2); /* neither half is empty */
    if (add_chunk(band, host, CHUNK_MAX) == NULL) return false;
    const spad__chunk fresh = band->chunks.items[band->chunks.count - 1];
    spad__chunk *chunk = &band->chunks.items[at];
    memmove(chunk + 2, chunk + 1, (band->chunks.count - at - 2) * sizeof *chunk);
    chunk[1] = fresh;
    const size_t half = chunk->pieces.count / 2;
    chunk[1].pieces.count = chunk->pieces.count - half;
    memcpy(chunk[1].pieces.items, chunk->pieces.items + half,
           chunk[1].pieces.count * sizeof(spad__map_piece));
    chunk->pieces.count = half;
    return true;
}

/* Makes a border between pieces at a byte of a band. *hint: the piece that starts there. */
static bool cut_byte(const spad__bytemap *map, spad__band *band, const spad_host *host,
                     spad__writers *writers, int64_t byte, spad__spot *hint) {
    spad__spot spot = find_piece(map, band, byte, hint);
    if (piece_at(band, spot)->byte == byte) return true;
    if (band->chunks.items[spot.chunk].pieces.count == CHUNK_MAX) {
        if (!split_chunk(band, host, spot.chunk)) return false;
        spot = find_piece(map, band, byte, hint);
    }
    spad__chunk *chunk = &band->chunks.items[spot.chunk];
    if (!spad__array_reserve(host, &chunk->pieces, 1)) return false;
    spad__assert(chunk->pieces.count < CHUNK_MAX);
    spad__map_piece *piece = &chunk->pieces.items[spot.piece];
    memmove(piece + 2, piece + 1, (chunk->pieces.count - spot.piece - 1) * sizeof *piece);
    piece[1] = (spad__map_piece){.byte = byte, .writer = piece->writer};
    take(writers, piece->writer);
    chunk->pieces.count++;
    hint->piece = spot.piece + 1;
    return true;
}

/* ---- joining ----------------------------------------------------------------------- */

/* Takes pieces out of a chunk: from number `first` on, those that start in front of `to`. */
static void remove_pieces(spad__chunk *chunk, spad__writers *writers, size_t first, int64_t to) {
    spad__map_piece *pieces = chunk->pieces.items;
    size_t after = first;
    while (after < chunk->pieces.count && pieces[after].byte < to) {
        drop(writers, pieces[after++].writer);
    }
    if (after == first) return;
    memmove(pieces + first, pieces + after, (chunk->pieces.count - after) * sizeof *pieces);
    chunk->pieces.count -= after - first;
}

/* Takes out all pieces after a spot that start in front of `to`. */
static void remove_after(spad__band *band, const spad_host *host, spad__writers *writers,
                         spad__spot spot, int64_t to) {
    spad__chunk *chunks = band->chunks.items;
    remove_pieces(&chunks[spot.chunk], writers, spot.piece + 1, to);
    size_t after = spot.chunk + 1;
    for (; after < band->chunks.count && chunks[after].pieces.items[0].byte < to; after++) {
        remove_pieces(&chunks[after], writers, 0, to);
        if (chunks[after].pieces.count > 0) break;
        spad__array_free(host, &chunks[after].pieces);
    }
    spad__assert(chunks[spot.chunk].pieces.count > 0); /* the spot itself stays */
    const size_t gone = after - spot.chunk - 1;
    if (gone == 0) return;
    memmove(chunks + spot.chunk + 1, chunks + after, (band->chunks.count - after) * sizeof *chunks);
    band->chunks.count -= gone;
}

/* Bytes [from, to) of a band belong to the writer. */
static bool replace(const spad__bytemap *map, spad__band *band, const spad_host *host,
                    spad__writers *writers, int64_t from, int64_t to, spad__writer writer,
                    spad__spot *hint) {
    spad__assert(from < to && to <= map->byte_end);
    const spad__spot spot = find_piece(map, band, from, hint);
    if (piece_at(band, spot)->byte != from || piece_end(map, band, spot) != to) {
        if (to < map->byte_end && !cut_byte(map, band, host, writers, to, hint)) return false;
        if (!cut_byte(map, band, host, writers, from, hint)) return false;
        remove_after(band, host, writers, *hint, to);
    }
    spad__map_piece *piece = piece_at(band, *hint);
    spad__assert(piece->byte == from && piece_end(map, band, *hint) == to);
    take(writers, writer);
    drop(writers, piece->writer);
    piece->writer = writer;
    return true;
}

bool spad__bytemap_write(spad__bytemap *map, const spad_host *host, spad__writers *writers,
                         spad_rect rect, int64_t runs, int64_t stride, spad__writer writer,
                         spad__spot *hint) {
    spad__assert(rect.lanes > 0 && rect.bytes > 0 && runs > 0 && writer != 0);
    const int64_t lane_end = rect.lane + rect.lanes;
    size_t first;
    size_t after;
    if (!cut_lane(map, host, writers, rect.lane, &first)) return false;
    if (lane_end >= map->lane_end) {
        after = map->bands.count;
    } else if (!cut_lane(map, host, writers, lane_end, &after)) {
        return false;
    }
    for (size_t b = first; b < after; b++) {
        for (int64_t run = 0; run < runs; run++) {
            const int64_t from = rect.byte + run * stride;
            if (!replace(map, &map->bands.items[b], host, writers, from, from + rect.bytes, writer,
                         hint)) {
                return false;
            }
        }
    }
    spad__assert_valid(small_map_is_valid(map));
    return true;
}

/* ---- reading ----------------------------------------------------------------------- */

spad__byte_cursor spad__bytemap_read(spad__bytemap *map, spad_rect rect, int64_t runs,
                                     int64_t stride, spad__spot *hint) {
    return (spad__byte_cursor){.map = map,
                               .rect = rect,
                               .runs = runs,
                               .stride = stride,
                               .band = find_band(map, rect.lane),
                               .hint = hint};
}

/* On to the next run, or to the first one of the next band. */
static void leave_run(spad__byte_cursor *look) {
    look->inside = false;
    if (++look->run < look->runs) return;
    look->run = 0;
    look->band++;
}

static void next_piece(spad__byte_cursor *look, const spad__band *band) {
    if (++look->spot.piece < band->chunks.items[look->spot.chunk].pieces.count) return;
    look->spot = (spad__spot){look->spot.chunk + 1, 0};
}

bool spad__bytemap_next(spad__byte_cursor *look, spad_rect *part, spad__writer *writer) {
    const int64_t lane_end = look->rect.lane + look->rect.lanes;
    if (look->band >= look->map->bands.count) return false;
    const spad__band *band = &look->map->bands.items[look->band];
    if (band->lane >= lane_end) return false;
    const int64_t from = look->rect.byte + look->run * look->stride;
    const int64_t to = from + look->rect.bytes;
    if (!look->inside) {
        look->spot = find_piece(look->map, band, from, look->hint);
        look->inside = true;
    }
    const spad__map_piece piece = *piece_at(band, look->spot);
    const int64_t end = piece_end(look->map, band, look->spot);
    part->lane = band->lane > look->rect.lane ? band->lane : look->rect.lane;
    const int64_t lanes_to = band_end(look->map, look->band);
    part->lanes = (lanes_to < lane_end ? lanes_to : lane_end) - part->lane;
    part->byte = piece.byte > from ? piece.byte : from;
    part->bytes = (end < to ? end : to) - part->byte;
    *writer = piece.writer;
    spad__assert(part->lanes > 0 && part->bytes > 0);
    if (end >= to) {
        leave_run(look);
    } else {
        next_piece(look, band);
    }
    return true;
}

/* ---- invariants -------------------------------------------------------------------- */

static bool band_is_valid(const spad__bytemap *map, const spad__band *band) {
    int64_t before = 0; /* where the piece before begins; none exists before the first */
    for (size_t c = 0; c < band->chunks.count; c++) {
        const spad__chunk *chunk = &band->chunks.items[c];
        if (chunk->pieces.count == 0 || !spad__array_is_valid(&chunk->pieces)) return false;
        for (size_t i = 0; i < chunk->pieces.count; i++) {
            const int64_t byte = chunk->pieces.items[i].byte;
            if ((c + i > 0 && byte <= before) || byte >= map->byte_end) return false;
            before = byte;
        }
    }
    return band->chunks.count > 0;
}

bool spad__bytemap_is_valid(const spad__bytemap *map) {
    if (map->bands.count == 0) return false;
    const int64_t first_byte = map->bands.items[0].chunks.items[0].pieces.items[0].byte;
    for (size_t b = 0; b < map->bands.count; b++) {
        const spad__band *band = &map->bands.items[b];
        if (!band_is_valid(map, band) || band->lane >= band_end(map, b)) return false;
        if (band->chunks.items[0].pieces.items[0].byte != first_byte) return false;
    }
    return true;
}
