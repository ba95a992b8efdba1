/* SPDX-License-Identifier: Apache-2.0
 *
 * Matrices of a warp: ldmatrix, stmatrix, wmma.load, wmma.store as exact accesses; of mma, wmma.mma
 * and movmatrix only that their results are not known.
 *
 * Reference: PTX ISA 9.0, sections 9.7.14.3 (wmma), 9.7.14.5 (mma, ldmatrix, stmatrix, movmatrix).
 */
#include "frontend/ptx/run/ptx_async.h"

enum { MATRIX_ROW_BYTES = 16 };

/* Rows of all matrices of an ldmatrix or stmatrix: lane n has the address of row n. */
typedef struct matrix_rows {
    spad__ptx_places places;
    uint32_t lanes; /* whose addresses count */
    uint8_t data[SPAD__PTX_LANES][MATRIX_ROW_BYTES];
    uint8_t known[SPAD__PTX_LANES][MATRIX_ROW_BYTES];
} matrix_rows;

static int matrix_count(const spad__ptx_instruction *i) {
    if (spad__ptx_has(i, SPAD__PTX_WORD_X4)) return 4;
    return spad__ptx_has(i, SPAD__PTX_WORD_X2) ? 2 : 1;
}

static void matrix_get_rows(spad__ptx_machine *m, spad__ptx_warp *w, const spad__ptx_instruction *i,
                            const spad__ptx_operand *address, uint32_t lanes, matrix_rows *out) {
    const bool large = i->op == SPAD__PTX_OP_LDMATRIX && spad__ptx_has(i, SPAD__PTX_WORD_M16N16);
    const int count = matrix_count(i) * (large ? 16 : 8);
    out->lanes = lanes & (count >= SPAD__PTX_LANES ? UINT32_MAX : (UINT32_C(1) << count) - 1);
    spad__ptx_get_shared(m, w, address, (spad__ptx_space)i->space, out->lanes, MATRIX_ROW_BYTES,
                         &out->places);
    for (uint32_t left = out->places.known; left != 0; left &= left - 1) {
        const int lane = spad__ptx_first_lane(left);
        if (out->places.at[lane].offset % MATRIX_ROW_BYTES == 0) continue;
        spad__ptx_remark_at(m, w, SPAD__PTX_MISALIGNED, lane, (uint64_t)out->places.at[lane].offset,
                            MATRIX_ROW_BYTES, "a row of a matrix is not at a multiple of 16 bytes");
    }
}

/* One access for each CTA whose memory has rows: nearly always one. */
static spad__ptx_outcome matrix_rows_event(spad__ptx_machine *m, spad__ptx_warp *w, uint32_t lanes,
                                           unsigned kind, const matrix_rows *r) {
    (void)spad__ptx_begin_event(m, w, lanes, SPAD__PTX_ACCESS);
    for (int32_t cta = 0; cta < m->cta_count; cta++) {
        bool begun = false;
        for (uint32_t left = r->places.known; left != 0; left &= left - 1) {
            const spad__ptx_place *place = &r->places.at[spad__ptx_first_lane(left)];
            if (place->cta != cta) continue;
            if (!begun) spad__ptx_add_access(m, kind, false, cta);
            begun = true;
            spad__ptx_add_place(m, *place, MATRIX_ROW_BYTES);
        }
    }
    return spad__ptx_end_event(m);
}

/* Byte k of the register that a lane has of matrix `number`: its row and its place there. */
static int matrix_row_of(bool trans, int number, int lane, int k, int *byte) {
    if (trans) {
        *byte = lane / 4 * 2 + k % 2;
        return number * 8 + lane % 4 * 2 + k / 2;
    }
    *byte = lane % 4 * 4 + k;
    return number * 8 + lane / 4;
}

static bool matrix_is_plain(const spad__ptx_instruction *i) {
    return i->types[0] == SPAD__PTX_B16;
}

static spad__ptx_outcome matrix_run_ldmatrix(spad__ptx_machine *m, spad__ptx_warp *w,
                                             const spad__ptx_instruction *i, uint32_t lanes) {
    matrix_rows r = {0};
    if (spad__ptx_gather(m, w, lanes) == SPAD__PTX_BLOCKED) return SPAD__PTX_BLOCKED;
    matrix_get_rows(m, w, i, spad__ptx_operand_at(m, i, 1), lanes, &r);
    const bool trans = spad__ptx_has(i, SPAD__PTX_WORD_TRANS);
    for (uint32_t left = r.places.known; left != 0; left &= left - 1) {
        const int n = spad__ptx_first_lane(left);
        (void)spad__ptx_peek_bytes(m, w, r.places.at[n], r.data[n], r.known[n], MATRIX_ROW_BYTES);
    }
    spad__ptx_forget(m, w, spad__ptx_operand_at(m, i, 0), lanes);
    for (int number = 0; matrix_is_plain(i) && number < matrix_count(i); number++) {
        spad__ptx_value value = {.known = lanes};
        for (int n = 0; n < SPAD__PTX_LANES * 4; n++) {
            int byte;
            const int lane = n / 4;
            const int row = matrix_row_of(trans, number, lane, n % 4, &byte);
            if (r.known[row][byte] == 0) value.known &= ~(UINT32_C(1) << lane);
            value.lanes[lane] |= (uint64_t)r.data[row][byte] << n % 4 * 8;
        }
        for (int lane = 0; lane < SPAD__PTX_LANES; lane++) {
            if ((value.known >> lane & 1) == 0) value.lanes[lane] = 0;
        }
        const spad__ptx_operand *item = spad__ptx_item(m, spad__ptx_operand_at(m, i, 0), number);
        if (item != NULL) spad__ptx_set(m, w, item, lanes, &value);
    }
    return matrix_rows_event(m, w, lanes, SPAD__PTX_READ, &r);
}

static void matrix_fill_rows(spad__ptx_machine *m, spad__ptx_warp *w,
                             const spad__ptx_instruction *i, matrix_rows *r) {
    const bool trans = spad__ptx_has(i, SPAD__PTX_WORD_TRANS);
    for (int number = 0; number < matrix_count(i); number++) {
        spad__ptx_value value;
        const spad__ptx_operand *item = spad__ptx_item(m, spad__ptx_operand_at(m, i, 1), number);
        if (item == NULL) return;
        spad__ptx_get(m, w, item, SPAD__PTX_B32, &value);
        for (int n = 0; n < SPAD__PTX_LANES * 4; n++) {
            int byte;
            const int lane = n / 4;
            const int row = matrix_row_of(trans, number, lane, n % 4, &byte);
            r->data[row][byte] = (uint8_t)(value.lanes[lane] >> n % 4 * 8);
            r->known[row][byte] = (value.known >> lane & 1) != 0;
        }
    }
}

static spad__ptx_outcome matrix_run_stmatrix(spad__ptx_machine *m, spad__ptx_warp *w,
                                             const spad__ptx_instruction *i, uint32_t lanes) {
    matrix_rows r = {0};
    if (spad__ptx_gather(m, w, lanes) == SPAD__PTX_BLOCKED) return SPAD__PTX_BLOCKED;
    matrix_get_rows(m, w, i, spad__ptx_operand_at(m, i, 0), lanes, &r);
    if (matrix_is_plain(i)) matrix_fill_rows(m, w, i, &r);
    for (uint32_t left = r.places.known; left != 0; left &= left - 1) {
        const int n = spad__ptx_first_lane(left);
        (void)spad__ptx_poke_bytes(m, w, r.places.at[n], r.data[n], r.known[n], MATRIX_ROW_BYTES);
    }
    return matrix_rows_event(m, w, lanes, SPAD__PTX_WRITE, &r);
}

/* ---- wmma ------------------------------------------------------------------------------------ */

/* A matrix in memory: lines of elements that lie next to each other. */
typedef struct matrix_lines {
    int64_t count;
    int64_t length; /* elements */
    int bits;
} matrix_lines;

static matrix_lines matrix_lines_of(const spad__ptx_instruction *i) {
    const bool is_a = spad__ptx_has(i, SPAD__PTX_WORD_A);
    const bool is_b = spad__ptx_has(i, SPAD__PTX_WORD_B);
    const int64_t height = is_b ? i->shape[2] : i->shape[0];
    const int64_t width = is_a ? i->shape[2] : i->shape[1];
    const bool by_column = spad__ptx_has(i, SPAD__PTX_WORD_COL);
    return (matrix_lines){.count = by_column ? width : height,
                          .length = by_column ? height : width,
                          .bits = spad__ptx_type_bits((spad__ptx_type)i->types[0])};
}

static spad__ptx_outcome matrix_run_wmma_access(spad__ptx_machine *m, spad__ptx_warp *w,
                                                const spad__ptx_instruction *i, uint32_t lanes) {
    const bool loads = i->op == SPAD__PTX_OP_WMMA_LOAD;
    const matrix_lines all = matrix_lines_of(i);
    spad__ptx_places places;
    if (spad__ptx_gather(m, w, lanes) == SPAD__PTX_BLOCKED) return SPAD__PTX_BLOCKED;
    if (loads) spad__ptx_forget(m, w, spad__ptx_operand_at(m, i, 0), lanes);
    spad__ptx_get_places(m, w, spad__ptx_operand_at(m, i, loads ? 1 : 0), (spad__ptx_space)i->space,
                         lanes, &places);
    const int64_t stride =
        spad__ptx_number(m, w, spad__ptx_operand_at(m, i, 2), lanes, all.length, "the stride");
    if (places.known == 0) return SPAD__PTX_DONE;
    spad__ptx_place place = places.at[spad__ptx_first_lane(places.known)];
    const bool is_shared = place.space == SPAD__PTX_SHARED;
    const int64_t bytes = (all.length * all.bits + 7) / 8;
    (void)spad__ptx_begin_event(m, w, lanes, SPAD__PTX_ACCESS);
    spad__ptx_add_access(m, loads ? SPAD__PTX_READ : SPAD__PTX_WRITE, false, place.cta);
    for (int64_t n = 0; n < all.count; n++) {
        spad__ptx_place line = place;
        line.offset += n * (stride * all.bits / 8);
        if (is_shared && !spad__ptx_is_shared(m, line, bytes)) {
            spad__ptx_remark_at(m, w, SPAD__PTX_OUT_OF_SHARED, 0, (uint64_t)line.offset, bytes,
                                "a matrix reaches beyond shared memory");
            continue;
        }
        spad__ptx_add_place(m, line, bytes);
        if (!loads) spad__ptx_forget_bytes(m, line, bytes);
    }
    return is_shared ? spad__ptx_end_event(m) : SPAD__PTX_DONE;
}

spad__ptx_outcome spad__ptx_run_matrix(spad__ptx_machine *m, spad__ptx_warp *w,
                                       const spad__ptx_instruction *i, uint32_t lanes) {
    switch (i->op) {
    case SPAD__PTX_OP_LDMATRIX: return matrix_run_ldmatrix(m, w, i, lanes);
    case SPAD__PTX_OP_STMATRIX: return matrix_run_stmatrix(m, w, i, lanes);
    case SPAD__PTX_OP_WMMA_LOAD:
    case SPAD__PTX_OP_WMMA_STORE: return matrix_run_wmma_access(m, w, i, lanes);
    default: /* mma, wmma.mma, movmatrix: registers only */
        spad__ptx_forget(m, w, spad__ptx_operand_at(m, i, 0), lanes);
        return SPAD__PTX_DONE;
    }
}
