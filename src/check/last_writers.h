/* SPDX-License-Identifier: Apache-2.0
 *
 * Who wrote which bytes of which lanes last.
 *
 * A map covers a rectangle: a memory space, or one slot of a tensor that has no place.
 * Writers are numbers of the caller; the table that goes with the maps counts in how
 * many pieces each of them is still to be seen.
 */
#ifndef SPAD_CHECK_LAST_WRITERS_H
#define SPAD_CHECK_LAST_WRITERS_H

#include <stdbool.h>
#include <stdint.h>

#include "base/memory.h"
#include "spad/target.h"

/* 0: no writer. */
typedef uint32_t spad__writer;

/* How many pieces show a writer, and its neighbour in the list it is in: of those that are
 * over (no piece is left), or one of the caller's. */
typedef struct spad__writer_row {
    uint32_t pieces;
    spad__writer next;
} spad__writer_row;

typedef struct spad__writers {
    spad__writer_row *rows; /* by number */
    spad__writer over;      /* the caller empties it; 0: none */
} spad__writers;

/* Bytes from `byte` to the next piece, or to the end of the map. */
typedef struct spad__map_piece {
    int64_t byte;
    spad__writer writer;
} spad__map_piece;

/* Pieces in order, at least one. */
typedef struct spad__chunk {
    SPAD_ARRAY(spad__map_piece) pieces;
} spad__chunk;

/* Lanes from `lane` to the next band: the same in all of them. */
typedef struct spad__band {
    int64_t lane;
    SPAD_ARRAY(spad__chunk) chunks;
} spad__band;

/* How many pieces a band has. */
size_t spad__band_pieces(const spad__band *band);

typedef struct spad__bytemap {
    int64_t lane_end;
    int64_t byte_end;
    SPAD_ARRAY(spad__band) bands;
} spad__bytemap;

/* Lanes [lane, lane_end) x bytes [byte, byte_end), never written. False: no memory. */
bool spad__bytemap_init(spad__bytemap *map, const spad_host *host, int64_t lane, int64_t lane_end,
                        int64_t byte, int64_t byte_end);
void spad__bytemap_free(spad__bytemap *map, const spad_host *host);

/* For assertions: bands, chunks and pieces cover the map in order and without gaps. O(pieces). */
bool spad__bytemap_is_valid(const spad__bytemap *map);
/* Where a piece is in its band. Searches start at *hint, where an earlier one ended: any place
 * is right, an access like this one is decided fast. */
typedef struct spad__spot {
    uint32_t chunk;
    uint32_t piece;
} spad__spot;

/* The rectangle, and with runs > 1 its copies `stride` bytes further each, now belong to the
 * writer. Inside the map; not empty. False: no memory, and the map can only be freed. */
bool spad__bytemap_write(spad__bytemap *map, const spad_host *host, spad__writers *writers,
                         spad_rect rect, int64_t runs, int64_t stride, spad__writer writer,
                         spad__spot *hint);

/* Goes through the pieces of such a rectangle. Filled in by spad__bytemap_read. */
typedef struct spad__byte_cursor {
    spad__bytemap *map;
    spad_rect rect;
    int64_t runs;
    int64_t stride;
    size_t band;
    int64_t run;
    spad__spot spot;
    spad__spot *hint;
    bool inside; /* of a run: `spot` is the next piece to report */
} spad__byte_cursor;

spad__byte_cursor spad__bytemap_read(spad__bytemap *map, spad_rect rect, int64_t runs,
                                     int64_t stride, spad__spot *hint);

/* The next part of the rectangle that has one writer; false: that was all. */
bool spad__bytemap_next(spad__byte_cursor *look, spad_rect *part, spad__writer *writer);

#endif
