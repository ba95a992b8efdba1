/* SPDX-License-Identifier: Apache-2.0
 *
 * Cells of a storage. O(n log n) for n accesses, and the pieces that their different
 * shapes are cut into.
 */
#include "check/cells.h"

#include <stdlib.h>

#include "base/assert.h"
#include "base/compare.h"

/* Pieces of one storage at most. */
#define PIECES_MAX ((size_t)1 << 22)

/* A cell, and the part of it that is in the newest shape that met it. */
typedef struct parted {
    int32_t shape; /* -1: none yet */
    int32_t inside;
} parted;

typedef struct maker {
    const spad_host *host;
    SPAD_ARRAY(spad_walk_access) shapes; /* one access of each */
    SPAD_ARRAY(int64_t) lanes;           /* where shapes begin or end, sorted */
    SPAD_ARRAY(int64_t) bytes;
    int32_t *piece_cell; /* per piece: its cell so far */
    size_t pieces;
    SPAD_ARRAY(parted) parts;
} maker;

/* ---- shapes ------------------------------------------------------------------------ */

static int compare_shapes(const spad_walk_access *a, const spad_walk_access *b) {
    int order = spad__compare(a->rect.byte, b->rect.byte);
    if (order == 0) order = spad__compare(a->rect.bytes, b->rect.bytes);
    if (order == 0) order = spad__compare(a->rect.lane, b->rect.lane);
    if (order == 0) order = spad__compare(a->rect.lanes, b->rect.lanes);
    if (order == 0) order = spad__compare(a->runs, b->runs);
    if (order == 0 && a->runs > 1) order = spad__compare(a->stride, b->stride);
    return order;
}

typedef struct sorted {
    const spad_walk_access *access;
    size_t at;
} sorted;

static int compare_sorted(const void *left, const void *right) {
    const sorted *a = left;
    const sorted *b = right;
    const int order = compare_shapes(a->access, b->access);
    return order != 0 ? order : (a->at > b->at) - (a->at < b->at);
}

/* Gives each access the number of its shape. */
static bool find_shapes(maker *m, const spad_walk_access *accesses, const int32_t *numbers,
                        size_t count, int32_t *shapes) {
    sorted *all = spad__new_array(m->host, count, sizeof *all);
    if (all == NULL) return false;
    bool kept = true;
    for (size_t i = 0; i < count; i++) all[i] = (sorted){&accesses[numbers[i]], i};
    qsort(all, count, sizeof *all, compare_sorted);
    for (size_t i = 0; i < count && kept; i++) {
        if (i == 0 || compare_shapes(all[i - 1].access, all[i].access) != 0) {
            kept = spad__array_reserve(m->host, &m->shapes, 1);
            if (kept) m->shapes.items[m->shapes.count++] = *all[i].access;
        }
        shapes[all[i].at] = (int32_t)m->shapes.count - 1;
    }
    spad__free(m->host, all, count * sizeof *all);
    return kept;
}

/* ---- cuts -------------------------------------------------------------------------- */

static size_t sort_cuts(int64_t *cuts, size_t count) {
    qsort(cuts, count, sizeof *cuts, spad__compare_int64);
    size_t kept = 0;
    for (size_t i = 0; i < count; i++) {
        if (kept == 0 || cuts[kept - 1] != cuts[i]) cuts[kept++] = cuts[i];
    }
    return kept;
}

static size_t find_cut(const int64_t *cuts, size_t count, int64_t value) {
    spad__assert(count > 0 && cuts[0] <= value); /* the ends of every shape are cuts */
    size_t low = 0;
    size_t high = count;
    while (high - low > 1) {
        const size_t middle = low + (high - low) / 2;
        if (cuts[middle] <= value) {
            low = middle;
        } else {
            high = middle;
        }
    }
    spad__assert(cuts[low] == value);
    return low;
}

/* False: no memory, or too many. */
static bool find_cuts(maker *m, bool *too_many) {
    for (size_t i = 0; i < m->shapes.count; i++) {
        const spad_walk_access *s = &m->shapes.items[i];
        *too_many = *too_many || s->runs > (int64_t)PIECES_MAX ||
                    m->bytes.count + 2 * (size_t)s->runs > PIECES_MAX;
        if (*too_many) return false;
        if (!spad__array_reserve(m->host, &m->lanes, 2) ||
            !spad__array_reserve(m->host, &m->bytes, 2 * s->runs)) {
            return false;
        }
        m->lanes.items[m->lanes.count++] = s->rect.lane;
        m->lanes.items[m->lanes.count++] = s->rect.lane + s->rect.lanes;
        for (int64_t run = 0; run < s->runs; run++) {
            const int64_t from = s->rect.byte + run * s->stride;
            m->bytes.items[m->bytes.count++] = from;
            m->bytes.items[m->bytes.count++] = from + s->rect.bytes;
        }
    }
    m->lanes.count = sort_cuts(m->lanes.items, m->lanes.count);
    m->bytes.count = sort_cuts(m->bytes.items, m->bytes.count);
    *too_many = m->lanes.count > PIECES_MAX / m->bytes.count;
    m->pieces = m->lanes.count * m->bytes.count;
    return !*too_many;
}

/* ---- refining ---------------------------------------------------------------------- */

/* Calls `each` for all pieces of a shape. */
static bool over_pieces(maker *m, spad__cells *cells, size_t shape,
                        bool (*each)(maker *, spad__cells *, size_t shape, size_t piece)) {
    const spad_walk_access *s = &m->shapes.items[shape];
    const size_t first = find_cut(m->lanes.items, m->lanes.count, s->rect.lane);
    const size_t last = find_cut(m->lanes.items, m->lanes.count, s->rect.lane + s->rect.lanes);
    spad__assert(first < last);
    for (int64_t run = 0; run < s->runs; run++) {
        const int64_t byte = s->rect.byte + run * s->stride;
        const size_t from = find_cut(m->bytes.items, m->bytes.count, byte);
        const size_t to = find_cut(m->bytes.items, m->bytes.count, byte + s->rect.bytes);
        spad__assert(from < to);
        for (size_t lane = first; lane < last; lane++) {
            for (size_t b = from; b < to; b++) {
                if (!each(m, cells, shape, lane * m->bytes.count + b)) return false;
            }
        }
    }
    return true;
}

static bool add_cell(maker *m) {
    if (!spad__array_reserve(m->host, &m->parts, 1)) return false;
    m->parts.items[m->parts.count++] = (parted){-1, -1};
    return true;
}

/* A piece of a cell that a shape touches goes to the part inside the shape. */
static bool refine(maker *m, spad__cells *cells, size_t shape, size_t piece) {
    (void)cells;
    const int32_t cell = m->piece_cell[piece];
    spad__assert(piece < m->pieces && (size_t)cell < m->parts.count);
    if (m->parts.items[cell].shape != (int32_t)shape) {
        const int32_t inside = (int32_t)m->parts.count;
        if (!add_cell(m)) return false;
        m->parts.items[cell] = (parted){(int32_t)shape, inside};
    }
    m->piece_cell[piece] = m->parts.items[cell].inside;
    return true;
}

/* Lists the cells of a shape, each once. */
static bool list(maker *m, spad__cells *cells, size_t shape, size_t piece) {
    const int32_t cell = m->piece_cell[piece];
    const int32_t mark = (int32_t)(m->shapes.count + shape);
    if (m->parts.items[cell].shape == mark) return true;
    if (!spad__array_reserve(m->host, &cells->touched, 1)) return false;
    m->parts.items[cell].shape = mark;
    cells->touched.items[cells->touched.count++] = cell;
    return true;
}

static bool make(maker *m, spad__cells *cells, bool *too_many) {
    if (!find_cuts(m, too_many)) return *too_many;
    m->piece_cell = spad__new_array(m->host, m->pieces, sizeof *m->piece_cell);
    if (m->piece_cell == NULL || !add_cell(m)) return false;
    if (!spad__array_reserve(m->host, &cells->ends, m->shapes.count)) return false;
    for (size_t i = 0; i < m->shapes.count; i++) {
        if (!over_pieces(m, cells, i, refine)) return false;
    }
    for (size_t i = 0; i < m->shapes.count; i++) {
        if (!over_pieces(m, cells, i, list)) return false;
        cells->ends.items[cells->ends.count++] = cells->touched.count;
    }
    cells->count = (int32_t)m->parts.count;
    return true;
}

spad_status spad__cells_make(spad__cells *cells, const spad_host *host,
                             const spad_walk_access *accesses, const int32_t *numbers, size_t count,
                             int32_t *shapes, bool *too_many, spad_error *error) {
    *cells = (spad__cells){0};
    *too_many = false;
    maker m = {.host = host};
    const bool made =
        find_shapes(&m, accesses, numbers, count, shapes) && make(&m, cells, too_many);
    spad__free(host, m.piece_cell, m.pieces * sizeof *m.piece_cell);
    spad__array_free(host, &m.shapes);
    spad__array_free(host, &m.lanes);
    spad__array_free(host, &m.bytes);
    spad__array_free(host, &m.parts);
    return made ? SPAD_OK : spad__fail_host_memory(error);
}

void spad__cells_free(spad__cells *cells, const spad_host *host) {
    spad__array_free(host, &cells->touched);
    spad__array_free(host, &cells->ends);
}
