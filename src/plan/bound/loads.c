/* SPDX-License-Identifier: Apache-2.0
 *
 * Sums and maxima over the pieces of every section. Weights are added where a piece begins and
 * taken away where it ends, so a running sum over the sections gives the load of each. Aliases may
 * share bytes, so of an alias group only the heaviest piece in a section counts; a heap over the
 * pieces that have begun finds it. Where that has not the bytes of all (slices, windows, lanes),
 * the group is cut into rows of bytes at all ends of pieces, and each row counts for itself:
 * together that is the union of the pieces.
 *
 * O(sections + pieces), and O(pieces log pieces) for alias groups and maxima, times the rows;
 * groups of more than MOST_ROWS pieces are not cut, which only lowers the sum.
 */
#include "plan/bound/loads.h"

#include "base/assert.h"
#include "base/checked.h"
#include "base/heap.h"

bool spad__item_is_group(const spad__model *m, const spad__item *item) {
    for (int32_t k = 1; k < item->piece_count; k++) {
        const spad__piece *before = &m->pieces[item->piece_first + k - 1];
        if (m->pieces[item->piece_first + k].begin < before->end) return true;
    }
    return false;
}

/* A heap of pieces, the heaviest on top: key is the weight, value the end. */
typedef struct heap {
    spad__row *rows;
    size_t count;
} heap;

static bool is_heavier(const heap *h, spad__row a, spad__row b) {
    (void)h;
    return a.key > b.key;
}

SPAD__HEAP(row_heap, const heap *, spad__row, is_heavier, SPAD__HEAP_PUT)

static void heap_push(heap *h, spad__row row) {
    h->rows[h->count] = row;
    row_heap_up(h, h->rows, h->count++);
}

static void heap_pop(heap *h) {
    spad__assert(h->count > 0);
    h->rows[0] = h->rows[--h->count];
    row_heap_down(h, h->rows, h->count, 0);
}

/* Adds the heaviest piece of the heap in every section of [at, until). */
static void add_heaviest(heap *h, int32_t at, int32_t until, int64_t *change) {
    while (at < until) {
        while (h->count > 0 && h->rows[0].value <= at) heap_pop(h);
        if (h->count == 0) return;
        const int32_t stop = h->rows[0].value < until ? h->rows[0].value : until;
        spad__assert(at < stop);
        change[at] += (int64_t)h->rows[0].key;
        change[stop] -= (int64_t)h->rows[0].key;
        at = stop;
    }
}

enum { MOST_ROWS = 128 };

/* Bytes [lo, hi) of pieces. */
typedef struct byte_row {
    int64_t lo;
    int64_t hi;
} byte_row;

/* Adds the heaviest of some pieces in every section: a walk over their begins. row: only the bytes
 * of it, which all of them have; NULL: all bytes.
 * rows: their numbers, and room for three times as many. False: a weight is too large. */
static bool add_largest(const spad__model *m, spad__weigh *weigh, void *context,
                        const byte_row *row, spad__row *rows, size_t n, int64_t *change) {
    heap h = {.rows = rows + 2 * n};
    for (size_t k = 0; k < n; k++) rows[k].key = (uint64_t)m->pieces[rows[k].value].begin;
    spad__sort_rows(rows, rows + n, n);
    for (size_t k = 0; k < n; k++) {
        const spad__piece *piece = &m->pieces[rows[k].value];
        int64_t bytes;
        spad__piece part = *piece;
        if (row != NULL) {
            part.lo = row->lo;
            part.hi = row->hi;
        }
        if (!weigh(context, m, &part, &bytes)) return false;
        heap_push(&h, (spad__row){(uint64_t)bytes, piece->end});
        const int32_t until = k + 1 < n ? m->pieces[rows[k + 1].value].begin : m->section_count;
        add_heaviest(&h, piece->begin, until, change);
    }
    return true;
}

/* Of any two pieces, has the larger one all bytes of the other? */
static bool are_nested(const spad__model *m, const spad__item *item) {
    const spad__piece *first = &m->pieces[item->piece_first];
    for (int32_t k = 1; k < item->piece_count; k++)
        if (first[k].lo != first->lo || first[k].lanes != first->lanes) return false;
    return true;
}

/* Where pieces of an item begin and end, sorted, each once; their number, or -1: one of them does
 * not fit 64 bits. */
static int32_t find_row_cuts(const spad__model *m, const spad__item *item, int64_t rounding,
                             int64_t *cuts) {
    int32_t count = 0;
    for (int32_t k = 0; k < 2 * item->piece_count; k++) {
        const spad__piece *piece = &m->pieces[item->piece_first + k / 2];
        int64_t cut = piece->lo;
        if (k % 2 == 1 && !spad__align_up(piece->hi, rounding, &cut)) return -1;
        int32_t at = count;
        while (at > 0 && cuts[at - 1] > cut) at--;
        if (at > 0 && cuts[at - 1] == cut) continue;
        for (int32_t j = count++; j > at; j--) cuts[j] = cuts[j - 1];
        cuts[at] = cut;
    }
    return count;
}

static bool add_rows(const spad__model *m, const spad__item *item, spad__weigh *weigh,
                     void *context, int64_t rounding, spad__row *rows, int64_t *change) {
    int64_t cuts[2 * MOST_ROWS];
    const int32_t count = find_row_cuts(m, item, rounding, cuts);
    if (count < 0) return false;
    for (int32_t c = 0; c + 1 < count; c++) {
        const byte_row row = {cuts[c], cuts[c + 1]};
        size_t n = 0;
        for (int32_t k = 0; k < item->piece_count; k++) {
            const spad__piece *piece = &m->pieces[item->piece_first + k];
            if (piece->lo <= row.lo && row.lo < piece->hi) rows[n++].value = item->piece_first + k;
        }
        if (n > 0 && !add_largest(m, weigh, context, &row, rows, n, change)) return false;
    }
    return true;
}

static bool add_group(const spad__model *m, const spad__item *item, spad__weigh *weigh,
                      void *context, int64_t rounding, spad__row *rows, int64_t *change) {
    if (!are_nested(m, item) && item->piece_count <= MOST_ROWS)
        return add_rows(m, item, weigh, context, rounding, rows, change);
    for (int32_t k = 0; k < item->piece_count; k++) rows[k].value = item->piece_first + k;
    return add_largest(m, weigh, context, NULL, rows, (size_t)item->piece_count, change);
}

bool spad__loads_sum(const spad__model *m, spad__weigh *weigh, void *context, int64_t rounding,
                     spad__row *rows, int64_t *loads) {
    int64_t total = 0;
    for (int32_t i = 0; i < m->item_count; i++) {
        const spad__item *item = &m->items[i];
        const bool group = spad__item_is_group(m, item);
        for (int32_t k = 0; k < item->piece_count; k++) {
            const spad__piece *piece = &m->pieces[item->piece_first + k];
            int64_t bytes;
            if (!weigh(context, m, piece, &bytes) || !spad__add(total, bytes, &total)) return false;
            if (group) continue;
            loads[piece->begin] += bytes;
            loads[piece->end] -= bytes;
        }
        if (group && !add_group(m, item, weigh, context, rounding, rows, loads)) return false;
    }
    for (int32_t s = 1; s < m->section_count; s++) loads[s] += loads[s - 1];
    spad__assert(m->section_count == 0 || loads[m->section_count - 1] >= 0);
    return true;
}

bool spad__loads_largest(const spad__model *m, spad__weigh *weigh, void *context, spad__row *rows,
                         size_t n, int64_t *largest) {
    if (!add_largest(m, weigh, context, NULL, rows, n, largest)) return false;
    for (int32_t s = 1; s < m->section_count; s++) largest[s] += largest[s - 1];
    return true;
}
