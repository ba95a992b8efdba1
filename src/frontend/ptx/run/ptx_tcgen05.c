/* SPDX-License-Identifier: Apache-2.0
 *
 * Tensor memory of sm_100: allocation, products, copies, loads and stores; cluster launch control.
 *
 * A place in tensor memory is a lane (0 to 127) and a column (0 to 511) of 4 bytes. What follows of
 * shapes is where CUTLASS puts fragments (tmem_frg, Copy_Traits of tcgen05.ld).
 *
 * Reference: PTX ISA 9.0, sections 9.7.16 (tcgen05), 9.7.13.16 (clusterlaunchcontrol).
 */
#include "frontend/ptx/run/ptx_tcgen05.h"

#include "base/checked.h"

enum {
    TCGEN05_COLUMN = 4,
    TCGEN05_LANES = 128,
    TCGEN05_COLUMNS = 512,
    TCGEN05_LEAST_COLUMNS = 32,
    TCGEN05_WARP = 32,
    TCGEN05_PLACE = 0x3fffffff
};

void spad__ptx_add_columns(spad__ptx_machine *m, uint32_t address, int64_t lane, int64_t lanes,
                           int64_t column, int64_t columns) {
    const int64_t first = (int64_t)(address >> 16) + lane;
    const int64_t from = (int64_t)(address & 0xffff) + column;
    const int64_t end = spad__min(from + columns, TCGEN05_COLUMNS);
    if (first >= TCGEN05_LANES) return;
    spad__ptx_add_lanes_run(m, from * TCGEN05_COLUMN, end * TCGEN05_COLUMN, (int32_t)first,
                            (int32_t)spad__min(lanes, TCGEN05_LANES - first));
}

bool spad__ptx_tensor_address(spad__ptx_machine *m, spad__ptx_warp *w,
                              const spad__ptx_operand *operand, uint32_t lanes, uint32_t *out) {
    spad__ptx_value value;
    uint64_t address = 0;
    if (operand == NULL) return false;
    spad__ptx_get(m, w, operand, SPAD__PTX_NO_TYPE, &value);
    if (!spad__ptx_same(&value, lanes, &address)) {
        spad__ptx_remark_at(m, w, SPAD__PTX_LEFT_OUT, spad__ptx_first_lane(lanes), 0, 0,
                            "an address of tensor memory is not known: what the instruction does "
                            "is left out");
        return false;
    }
    address &= TCGEN05_PLACE; /* the highest two bits say which bytes of a scale factor */
    *out = (uint32_t)address;
    if (address >> 16 < TCGEN05_LANES && (address & 0xffff) < TCGEN05_COLUMNS) return true;
    spad__ptx_remark_at(m, w, SPAD__PTX_BAD_DESCRIPTOR, spad__ptx_first_lane(lanes), address, 0,
                        "lane %d, column %d: tensor memory has 128 lanes and 512 columns",
                        (int)(address >> 16 & 0xffff), (int)(address & 0xffff));
    return false;
}

/* The CTAs that an instruction works on: of a pair both. */
uint32_t spad__ptx_tensor_ctas(const spad__ptx_machine *m, const spad__ptx_warp *w,
                               const spad__ptx_instruction *i) {
    const uint32_t own = UINT32_C(1) << w->cta;
    if (!spad__ptx_has(i, SPAD__PTX_WORD_CTA_GROUP_2) || (w->cta ^ 1) >= m->cta_count) return own;
    return own | UINT32_C(1) << (w->cta ^ 1);
}

/* ---- allocation ------------------------------------------------------------------------------ */

static bool tcgen05_is_used(const spad__ptx_cta *cta, int64_t column) {
    return (cta->tensor_used[column / 32] >> column % 32 & 1) != 0;
}

/* The first place for a number of columns; -1: none. */
static int64_t tcgen05_find_columns(const spad__ptx_cta *cta, int64_t columns) {
    int64_t free = 0;
    for (int64_t at = 0; at < TCGEN05_COLUMNS; at++) {
        free = tcgen05_is_used(cta, at) ? 0 : free + 1;
        if (free == columns) return at + 1 - columns;
    }
    return -1;
}

static void tcgen05_mark_columns(spad__ptx_cta *cta, int64_t from, int64_t columns, bool used) {
    for (int64_t at = from; at < from + columns && at < TCGEN05_COLUMNS; at++) {
        const uint32_t bit = UINT32_C(1) << at % 32;
        cta->tensor_used[at / 32] =
            used ? cta->tensor_used[at / 32] | bit : cta->tensor_used[at / 32] & ~bit;
    }
}

static int64_t tcgen05_get_columns(spad__ptx_machine *m, spad__ptx_warp *w,
                                   const spad__ptx_instruction *i, uint32_t lanes) {
    const int64_t columns = spad__ptx_number(m, w, spad__ptx_operand_at(m, i, 1), lanes,
                                             TCGEN05_LEAST_COLUMNS, "the number of columns");
    if (columns >= TCGEN05_LEAST_COLUMNS && columns <= TCGEN05_COLUMNS &&
        (columns & (columns - 1)) == 0) {
        return columns;
    }
    spad__ptx_remark_at(m, w, SPAD__PTX_BAD_DESCRIPTOR, spad__ptx_first_lane(lanes), 0, columns,
                        "%lld columns of tensor memory: use 32, 64, 128, 256 or 512",
                        (long long)columns);
    return TCGEN05_LEAST_COLUMNS;
}

static spad__ptx_outcome tcgen05_columns_event(spad__ptx_machine *m, spad__ptx_warp *w,
                                               uint32_t lanes, spad__ptx_event_kind kind,
                                               int64_t from, int64_t columns) {
    (void)spad__ptx_begin_event(m, w, lanes, kind);
    spad__ptx_add_access(m, SPAD__PTX_WRITE, true, w->cta);
    spad__ptx_add_columns(m, (uint32_t)from, 0, TCGEN05_LANES, 0, columns);
    return spad__ptx_end_event(m);
}

static spad__ptx_outcome tcgen05_run_alloc(spad__ptx_machine *m, spad__ptx_warp *w,
                                           const spad__ptx_instruction *i, uint32_t lanes) {
    static const uint8_t known[4] = {1, 1, 1, 1};
    spad__ptx_cta *cta = &m->ctas[w->cta];
    spad__ptx_places places;
    const int64_t columns = tcgen05_get_columns(m, w, i, lanes);
    int64_t from = tcgen05_find_columns(cta, columns);
    if (from < 0 && !m->endless) return SPAD__PTX_BLOCKED;
    if (spad__ptx_gather(m, w, lanes) == SPAD__PTX_BLOCKED) return SPAD__PTX_BLOCKED;
    if (from < 0 || cta->tensor_permit_gone) {
        spad__ptx_remark_at(m, w, SPAD__PTX_BAD_DESCRIPTOR, 0, 0, columns,
                            cta->tensor_permit_gone
                                ? "an allocation after relinquish_alloc_permit"
                                : "no %lld columns of tensor memory ever become free",
                            (long long)columns);
        if (from < 0) m->ended = true;
        if (from < 0) from = 0;
    }
    tcgen05_mark_columns(cta, from, columns, true);
    if (tcgen05_columns_event(m, w, lanes, SPAD__PTX_TENSOR_ALLOC, from, columns) !=
        SPAD__PTX_DONE) {
        return SPAD__PTX_FAILED;
    }
    spad__ptx_get_shared(m, w, spad__ptx_operand_at(m, i, 0), (spad__ptx_space)i->space, lanes, 4,
                         &places);
    if (places.known == 0) return SPAD__PTX_DONE;
    const spad__ptx_place place = places.at[spad__ptx_first_lane(places.known)];
    const uint8_t bytes[4] = {(uint8_t)from, (uint8_t)(from >> 8), 0, 0};
    (void)spad__ptx_poke_bytes(m, w, place, bytes, known, 4);
    (void)spad__ptx_begin_event(m, w, lanes, SPAD__PTX_ACCESS);
    spad__ptx_add_access(m, SPAD__PTX_WRITE, false, place.cta);
    spad__ptx_add_place(m, place, 4);
    return spad__ptx_end_event(m);
}

static spad__ptx_outcome tcgen05_run_dealloc(spad__ptx_machine *m, spad__ptx_warp *w,
                                             const spad__ptx_instruction *i, uint32_t lanes) {
    uint32_t address;
    if (spad__ptx_gather(m, w, lanes) == SPAD__PTX_BLOCKED) return SPAD__PTX_BLOCKED;
    if (!spad__ptx_tensor_address(m, w, spad__ptx_operand_at(m, i, 0), lanes, &address)) {
        return SPAD__PTX_DONE;
    }
    const int64_t from = address & 0xffff;
    const int64_t columns = tcgen05_get_columns(m, w, i, lanes);
    if (from + columns > TCGEN05_COLUMNS || !tcgen05_is_used(&m->ctas[w->cta], from)) {
        spad__ptx_remark_at(m, w, SPAD__PTX_BAD_DESCRIPTOR, 0, address, columns,
                            "columns of tensor memory are freed that are not allocated");
    }
    tcgen05_mark_columns(&m->ctas[w->cta], from, columns, false);
    m->progress++;
    return tcgen05_columns_event(m, w, lanes, SPAD__PTX_TENSOR_FREE, from, columns);
}

/* ---- loads and stores ------------------------------------------------------------------------ */

static int64_t tcgen05_repeats(const spad__ptx_instruction *i) {
    static const spad__ptx_word words[] = {
        SPAD__PTX_WORD_X1,  SPAD__PTX_WORD_X2,  SPAD__PTX_WORD_X4,  SPAD__PTX_WORD_X8,
        SPAD__PTX_WORD_X16, SPAD__PTX_WORD_X32, SPAD__PTX_WORD_X64, SPAD__PTX_WORD_X128};
    for (int n = 0; n < 8; n++) {
        if (spad__ptx_has(i, words[n])) return INT64_C(1) << n;
    }
    return 1;
}

/* Columns of one repetition of a shape. */
static int64_t tcgen05_shape_columns(const spad__ptx_instruction *i) {
    if (spad__ptx_has(i, SPAD__PTX_WORD_T16X64B)) return 2;
    if (spad__ptx_has(i, SPAD__PTX_WORD_T16X128B)) return 4;
    return spad__ptx_has(i, SPAD__PTX_WORD_T16X256B) ? 8 : 1;
}

/* A warp reaches a quarter of the lanes, by its number in the warpgroup. An address without lanes
 * means these as well: the epilogues of DeepGEMM load so in all warps. */
static void select_own_lanes(spad__ptx_machine *m, const spad__ptx_warp *w, uint32_t *address) {
    const int32_t quarter = w->number % 4;
    const int32_t named = (int32_t)(*address >> 16 & 127) / TCGEN05_WARP;
    if (named == 0) {
        *address |= (uint32_t)(quarter * TCGEN05_WARP) << 16;
    } else if (named != quarter) {
        spad__ptx_remark_at(m, w, SPAD__PTX_BAD_DESCRIPTOR, 0, *address, 0,
                            "warp %d of its warpgroup reaches lanes %d to %d of tensor memory only",
                            quarter, quarter * TCGEN05_WARP,
                            quarter * TCGEN05_WARP + TCGEN05_WARP - 1);
    }
}

static spad__ptx_outcome tcgen05_run_transfer(spad__ptx_machine *m, spad__ptx_warp *w,
                                              const spad__ptx_instruction *i, uint32_t lanes) {
    const bool loads = i->op == SPAD__PTX_OP_TCGEN05_LD;
    const bool halves = spad__ptx_has(i, SPAD__PTX_WORD_T16X32BX2);
    const bool narrow =
        spad__ptx_has(i, SPAD__PTX_WORD_PACK_16B) || spad__ptx_has(i, SPAD__PTX_WORD_UNPACK_16B);
    const int64_t columns = tcgen05_shape_columns(i) * tcgen05_repeats(i) * (narrow ? 2 : 1);
    const int64_t rows = spad__ptx_has(i, SPAD__PTX_WORD_T32X32B) ? TCGEN05_WARP : TCGEN05_WARP / 2;
    uint32_t address;
    if (spad__ptx_gather(m, w, lanes) == SPAD__PTX_BLOCKED) return SPAD__PTX_BLOCKED;
    if (loads) spad__ptx_forget(m, w, spad__ptx_operand_at(m, i, 0), lanes);
    if (!spad__ptx_tensor_address(m, w, spad__ptx_operand_at(m, i, loads ? 1 : 0), lanes,
                                  &address)) {
        return SPAD__PTX_DONE;
    }
    select_own_lanes(m, w, &address);
    spad__ptx_begin_event(m, w, lanes, SPAD__PTX_ACCESS)->unit = SPAD__PTX_TCGEN05;
    spad__ptx_add_access(m, loads ? SPAD__PTX_READ : SPAD__PTX_WRITE, true, w->cta);
    spad__ptx_add_columns(m, address, 0, rows, 0, columns);
    if (halves) {
        const int64_t apart = spad__ptx_number(m, w, spad__ptx_operand_at(m, i, loads ? 2 : 1),
                                               lanes, 0, "the distance of the halves");
        spad__ptx_add_columns(m, address, rows, rows, apart, columns);
    }
    return spad__ptx_end_event(m);
}

/* ---- synchronisation ------------------------------------------------------------------------- */

static spad__ptx_outcome tcgen05_arrive_at(spad__ptx_machine *m, spad__ptx_warp *w, int lane,
                                           spad__ptx_place place) {
    spad__ptx_mbarrier *b = spad__ptx_find_mbarrier(m, place.cta, place.offset);
    if (b != NULL) spad__ptx_arrive(m, b, 1);
    spad__ptx_event *event =
        spad__ptx_begin_event(m, w, UINT32_C(1) << lane, SPAD__PTX_MBARRIER_ARRIVE);
    event->object = spad__ptx_object_at(place);
    event->unit = SPAD__PTX_TCGEN05;
    event->amount = 1;
    return spad__ptx_end_event(m);
}

/* The object is in shared memory. Triton leaves out the space and gives the shared address, so of a
 * generic address the offset in its window counts. */
static spad__ptx_outcome tcgen05_run_commit(spad__ptx_machine *m, spad__ptx_warp *w,
                                            const spad__ptx_instruction *i, uint32_t lanes) {
    spad__ptx_places places;
    spad__ptx_get_shared(m, w, spad__ptx_operand_at(m, i, 0), SPAD__PTX_SHARED_CLUSTER, lanes, 8,
                         &places);
    for (uint32_t left = places.known; left != 0; left &= left - 1) {
        const int lane = spad__ptx_first_lane(left);
        spad__ptx_place place = places.at[lane];
        uint32_t ctas =
            spad__ptx_copy_ctas(m, w, i, spad__ptx_operand_at(m, i, 1), lane, place.cta);
        for (; ctas != 0; ctas &= ctas - 1) {
            place.cta = spad__ptx_first_lane(ctas);
            if (tcgen05_arrive_at(m, w, lane, place) != SPAD__PTX_DONE) return SPAD__PTX_FAILED;
        }
    }
    return SPAD__PTX_DONE;
}

static spad__ptx_outcome tcgen05_run_fence(spad__ptx_machine *m, spad__ptx_warp *w,
                                           const spad__ptx_instruction *i, uint32_t lanes) {
    if (i->op == SPAD__PTX_OP_TCGEN05_WAIT) {
        if (spad__ptx_gather(m, w, lanes) == SPAD__PTX_BLOCKED) return SPAD__PTX_BLOCKED;
        return spad__ptx_fence_event(m, w, lanes,
                                     spad__ptx_has(i, SPAD__PTX_WORD_LD_WORD)
                                         ? SPAD__PTX_WAIT_TCGEN05_LOADS
                                         : SPAD__PTX_WAIT_TCGEN05_STORES);
    }
    return spad__ptx_fence_event(m, w, lanes,
                                 spad__ptx_has(i, SPAD__PTX_WORD_BEFORE_THREAD_SYNC)
                                     ? SPAD__PTX_FENCE_TCGEN05_BEFORE
                                     : SPAD__PTX_FENCE_TCGEN05_AFTER);
}

spad__ptx_outcome spad__ptx_run_tcgen05(spad__ptx_machine *m, spad__ptx_warp *w,
                                        const spad__ptx_instruction *i, uint32_t lanes) {
    switch (i->op) {
    case SPAD__PTX_OP_TCGEN05_ALLOC: return tcgen05_run_alloc(m, w, i, lanes);
    case SPAD__PTX_OP_TCGEN05_DEALLOC: return tcgen05_run_dealloc(m, w, i, lanes);
    case SPAD__PTX_OP_TCGEN05_RELINQUISH:
        m->ctas[w->cta].tensor_permit_gone = true;
        return SPAD__PTX_DONE;
    case SPAD__PTX_OP_TCGEN05_LD:
    case SPAD__PTX_OP_TCGEN05_ST: return tcgen05_run_transfer(m, w, i, lanes);
    case SPAD__PTX_OP_TCGEN05_COMMIT: return tcgen05_run_commit(m, w, i, lanes);
    case SPAD__PTX_OP_TCGEN05_FENCE:
    case SPAD__PTX_OP_TCGEN05_WAIT: return tcgen05_run_fence(m, w, i, lanes);
    default: return spad__ptx_unsupported(m, i, "it is not known");
    }
}
